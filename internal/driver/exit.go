package driver

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tileiras/codegen/nvvm"
	"tileiras/dialects/cudatile/bytecode"
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

// Failure is an error with the exit code that it means and its lines as the user sees them.
type Failure struct {
	Code  int
	Lines []string // printed as they are, without a final newline each
	Err   error
	// Diags are the diagnostics that Lines print, where there are some.
	Diags []*ir.Diagnostic
}

func (f *Failure) Error() string { return strings.Join(f.Lines, "\n") }
func (f *Failure) Unwrap() error { return f.Err }

// fail makes a failure whose one line starts with "error: ".
func fail(code int, format string, args ...any) *Failure {
	return &Failure{Code: code, Lines: []string{"error: " + fmt.Sprintf(format, args...)}}
}

// placed is an error of a stage that knows where in the source its cause stands.
type placed interface {
	error
	Place() ir.Location
	Message() string // without the place
}

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
		d := &ir.Diagnostic{Loc: misplaced.Loc, Msg: misplaced.Text}
		return &Failure{Code: ExitInput, Lines: in.message(d), Err: err, Diags: []*ir.Diagnostic{d}}
	case errors.As(err, &misplaced):
		return &Failure{Code: ExitInput, Lines: []string{"error: " + misplaced.Text}, Err: err}
	case stopped(err):
		return stopFailure(err)
	case errors.As(err, &f):
		return f
	case errors.As(err, &b):
		lines := []string{b.Error()}
		return &Failure{Code: ExitBug, Lines: lines, Err: b}
	case errors.As(err, &at):
		d := &ir.Diagnostic{Loc: at.Place(), Msg: at.Message()}
		return &Failure{Code: ExitUnsupported, Lines: in.message(d), Err: err, Diags: []*ir.Diagnostic{d}}
	case errors.Is(err, pass.ErrInvalid):
		return &Failure{Code: ExitUnsupported, Lines: in.errors(), Err: err, Diags: worst(in.Ctx)}
	}
	return &Failure{Code: ExitUnsupported, Lines: []string{"error: " + err.Error()}, Err: err}
}

// stopped reports whether an error is that of a compile which was asked to end, or which ran out of what it may take.
func stopped(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, budget.ErrMemory)
}

func stopFailure(err error) *Failure {
	f := fail(ExitUnsupported, "%s", stopReason(err))
	f.Err = err
	return f
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

// ID is what kind of failure it is, one word for programs.
func (f *Failure) ID() string {
	var b *bytecode.Error
	switch {
	case errors.Is(f.Err, budget.ErrMemory):
		return "memory"
	case errors.Is(f.Err, context.DeadlineExceeded):
		return "deadline"
	case f.Err != nil && stopped(f.Err):
		return "canceled"
	case f.Code == ExitInput && len(f.Diags) == 0, errors.As(f.Err, &b):
		return "bytecode"
	case f.Code == ExitInput && f.Err != nil:
		return "text"
	case f.Code == ExitInput:
		return "verify"
	case f.Code == ExitBug:
		return "bug"
	case errors.Is(f.Err, pass.ErrInvalid):
		return "target"
	case f.Code == ExitUnsupported:
		return "unsupported"
	}
	return "option"
}

// Loc is the place that a failure without diagnostics is about, where one is known.
func (f *Failure) Loc() ir.Location {
	var middle *pass.NotSupported
	var back *nvvm.NotSupported
	switch {
	case errors.As(f.Err, &middle):
		return middle.Loc
	case errors.As(f.Err, &back):
		return back.Loc
	}
	return ir.UnknownLoc{}
}

// ErrMemory is in the chain of the failure of a compile that reached its memory limit.
var ErrMemory = budget.ErrMemory
