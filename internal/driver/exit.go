package driver

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tileiras/ir"
	"tileiras/ir/budget"
	"tileiras/passes/pass"
)

// Exit codes of the commands. 0 to 5 are those of NVIDIA's tileiras; 70 (EX_SOFTWARE) is a fault of our own code.
const (
	ExitOK          = 0
	ExitUsage       = 1  // bad option or value, too many inputs, no input, unreadable input, write failure
	ExitOptions     = 2  // options that do not fit together; missing --gpu-name; output cannot be opened
	ExitInput       = 3  // the input is not acceptable
	ExitUnsupported = 5  // compilation failed: not on this architecture, not supported yet
	ExitBug         = 70 // our own code failed
)

// Kind is what kind of failure it is, one word for programs; docs/library.md explains them.
type Kind string

const (
	KindOption      Kind = "option"      // a value of the options, alone or beside the others or the input
	KindBytecode    Kind = "bytecode"    // the input is no bytecode
	KindText        Kind = "text"        // the input is no text of ours
	KindVerify      Kind = "verify"      // the input breaks a rule
	KindTarget      Kind = "target"      // right, but not for this GPU
	KindUnsupported Kind = "unsupported" // the compiler cannot do it yet
	KindTool        Kind = "tool"        // ptxas is not there, too old, or does not work
	KindCanceled    Kind = "canceled"
	KindDeadline    Kind = "deadline"
	KindMemory      Kind = "memory"
	KindBug         Kind = "bug"
	KindCache       Kind = "cache" // of warnings: trouble with a cache
)

// Failure is an error with the exit code that it means and its lines as the user sees them. One of KindUnsupported is errors.ErrUnsupported.
type Failure struct {
	Code  int
	Kind  Kind
	Lines []string // printed as they are, without a final newline each
	Err   error
	// Diags are the diagnostics that Lines print, where there are some.
	Diags []*ir.Diagnostic
}

func (f *Failure) Error() string { return strings.Join(f.Lines, "\n") }
func (f *Failure) Unwrap() error { return f.Err }

// AsLibrary gives a failure as an error of package tileiras, if target is one; nil in programs without that package, which sets it.
var AsLibrary func(f *Failure, target any) bool

// As has errors.As find the *tileiras.Error that a failure is.
func (f *Failure) As(target any) bool { return AsLibrary != nil && AsLibrary(f, target) }

// Is tells what is not supported.
func (f *Failure) Is(target error) bool {
	return target == errors.ErrUnsupported && f.Kind == KindUnsupported
}

// fail makes a failure of options, or of what is not supported, whose one line starts with "error: ".
func fail(code int, format string, args ...any) *Failure {
	kind := KindOption
	if code == ExitUnsupported {
		kind = KindUnsupported
	}
	return &Failure{Code: code, Kind: kind, Lines: []string{"error: " + fmt.Sprintf(format, args...)}}
}

// refuse makes the failure of an input that breaks a rule at a place.
func (in *Input) refuse(at ir.Location, err error, format string, args ...any) *Failure {
	d := &ir.Diagnostic{Loc: at, Msg: fmt.Sprintf(format, args...)}
	return &Failure{Code: ExitInput, Kind: KindVerify, Lines: in.message(d), Err: err, Diags: []*ir.Diagnostic{d}}
}

// placed is an error of a stage that knows where in the source its cause stands.
type placed interface {
	error
	Place() ir.Location
	Message() string // without the place
}

// Refuse is the failure of what somebody else could not do with the module.
func (in *Input) Refuse(err error) error { return in.classify(err) }

// classify turns what a stage returned into a failure: the user's fault, ours, or something that is not supported.
func (in *Input) classify(err error) error {
	if err == nil {
		return nil
	}
	var f *Failure
	var at placed
	var b *pass.Bug
	var misplaced *pass.ErrMisplaced
	switch {
	case errors.As(err, &misplaced) && misplaced.Loc != nil:
		return in.refuse(misplaced.Loc, err, "%s", misplaced.Text)
	case errors.As(err, &misplaced):
		return &Failure{Code: ExitInput, Kind: KindVerify, Lines: []string{"error: " + misplaced.Text}, Err: err}
	case stopped(err):
		return stopFailure(err)
	case errors.As(err, &f):
		return f
	case errors.As(err, &b):
		lines := []string{b.Error()}
		return &Failure{Code: ExitBug, Kind: KindBug, Lines: lines, Err: b}
	case errors.As(err, &at):
		d := &ir.Diagnostic{Loc: at.Place(), Msg: at.Message()}
		return &Failure{Code: ExitUnsupported, Kind: KindUnsupported, Lines: in.message(d), Err: err, Diags: []*ir.Diagnostic{d}}
	case errors.Is(err, pass.ErrInvalid):
		return &Failure{Code: ExitUnsupported, Kind: KindTarget, Lines: in.errors(), Err: err, Diags: worst(in.Ctx)}
	}
	return &Failure{Code: ExitUnsupported, Kind: KindUnsupported, Lines: []string{"error: " + err.Error()}, Err: err}
}

// stopped reports whether an error is that of a compile which was asked to end, or which ran out of what it may take.
func stopped(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, budget.ErrMemory)
}

func stopFailure(err error) *Failure {
	kind := KindCanceled
	switch {
	case errors.Is(err, budget.ErrMemory):
		kind = KindMemory
	case errors.Is(err, context.DeadlineExceeded):
		kind = KindDeadline
	}
	if f := (*Failure)(nil); errors.As(err, &f) && f.Kind == kind {
		return f
	}
	return &Failure{Code: ExitUnsupported, Kind: kind, Lines: []string{"error: " + stopReason(err)}, Err: err}
}

func stopReason(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "time limit exceeded: the compile was not over in time"
	case errors.Is(err, context.Canceled):
		return "the compile was canceled"
	}
	return err.Error()
}

// worst are the collected errors.
func worst(c *ir.Context) []*ir.Diagnostic {
	var out []*ir.Diagnostic
	for _, d := range c.Diags.List {
		if d.Severity == ir.Error {
			out = append(out, d)
		}
	}
	return out
}

// ErrMemory is in the chain of the failure of a compile that reached its memory limit.
var ErrMemory = budget.ErrMemory
