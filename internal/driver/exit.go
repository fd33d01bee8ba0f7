package driver

import (
	"errors"
	"fmt"
	"strings"

	"tileiras/codegen/nvvm"
	"tileiras/ir"
	"tileiras/passes"
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
}

func (f *Failure) Error() string { return strings.Join(f.Lines, "\n") }
func (f *Failure) Unwrap() error { return f.Err }

// fail makes a failure whose one line starts with "error: ".
func fail(code int, format string, args ...any) *Failure {
	return &Failure{Code: code, Lines: []string{"error: " + fmt.Sprintf(format, args...)}}
}

// classify turns what a stage returned into a failure: the user's fault, ours, or something that is not supported.
func classify(c *ir.Context, err error) error {
	if err == nil {
		return nil
	}
	var f *Failure
	var middle *passes.NotSupported
	var back *nvvm.NotSupported
	var b *passes.Bug
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &b):
		lines := []string{b.Error()}
		return &Failure{Code: ExitBug, Lines: lines, Err: b}
	case errors.As(err, &middle), errors.As(err, &back):
		return &Failure{Code: ExitUnsupported, Lines: []string{"error: " + err.Error()}, Err: err}
	case errors.Is(err, passes.ErrInvalid):
		return &Failure{Code: ExitUnsupported, Lines: diagnosticLines(c, ir.Error), Err: err}
	}
	return &Failure{Code: ExitUnsupported, Lines: []string{"error: " + err.Error()}, Err: err}
}

// diagnosticLines are the collected diagnostics, those that are at least as bad as the given severity.
func diagnosticLines(c *ir.Context, worst ir.Severity) []string {
	var lines []string
	for _, d := range c.Diags.List {
		if d.Severity <= worst {
			lines = append(lines, strings.Split(strings.TrimRight(d.String(), "\n"), "\n")...)
		}
	}
	return lines
}
