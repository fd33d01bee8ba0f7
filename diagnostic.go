package tileiras

import (
	"errors"
	"fmt"
	"strings"

	"tileiras/internal/driver"
	"tileiras/ir"
)

// Severity of a diagnostic.
type Severity string

const (
	SeverityError   Severity = "error"   // there is no result
	SeverityWarning Severity = "warning" // there is one, and this is likely not what was meant
	SeverityRemark  Severity = "remark"  // a fact
	SeverityNote    Severity = "note"    // belongs to another diagnostic
)

// Kind of what went wrong.
type Kind string

const (
	KindOption      = Kind(driver.KindOption)      // a value of Options does not exist, or does not fit the others or the input; of warnings: it has nothing to do
	KindBytecode    = Kind(driver.KindBytecode)    // the input is no bytecode
	KindText        = Kind(driver.KindText)        // the input is no text
	KindVerify      = Kind(driver.KindVerify)      // the input breaks a rule of the dialect
	KindTarget      = Kind(driver.KindTarget)      // the program is right, but not for this GPU
	KindUnsupported = Kind(driver.KindUnsupported) // this compiler cannot do it yet
	KindTool        = Kind(driver.KindTool)        // ptxas is not there, too old, or does not work
	KindCanceled    = Kind(driver.KindCanceled)    // the context ended
	KindDeadline    = Kind(driver.KindDeadline)    // the context's deadline, or Options.TimeLimit
	KindMemory      = Kind(driver.KindMemory)      // Options.MemoryLimit
	KindBug         = Kind(driver.KindBug)         // a fault of the compiler
	KindCache       = Kind(driver.KindCache)       // of warnings: Options.Cache cannot be used, or can be again
)

// Place is a place in a source; the zero Place is not known. Of bytecode with debug information it lies in the program that the
// bytecode was made from, of text in the text.
type Place struct {
	File         string // as the frontend, or Options.Name, writes it
	Line, Column int    // from 1; columns are those that the frontend wrote
}

// String is "file:line:column", without a column that is not known, or "" when the place is not.
func (p Place) String() string {
	switch {
	case p == Place{}:
		return ""
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Diagnostic is one thing that the compiler has to say.
type Diagnostic struct {
	Severity Severity     // how bad it is
	Kind     Kind         // what went wrong, for programs; "" of notes
	Place    Place        // where in the source
	Message  string       // without the place
	Notes    []Diagnostic // the calls that inlined code came through, and what else belongs to it: their severity is note
}

// String is the diagnostic as a person reads it, "file:line:column: error: message", with its notes on lines of their own.
func (d Diagnostic) String() string {
	var b strings.Builder
	if s := d.Place.String(); s != "" {
		b.WriteString(s + ": ")
	}
	fmt.Fprintf(&b, "%s: %s", d.Severity, d.Message)
	for _, n := range d.Notes {
		b.WriteString("\n" + n.String())
	}
	return b.String()
}

// ErrMemory is in the chain of the error of a compile that reached its MemoryLimit.
var ErrMemory = driver.ErrMemory

// Error is every error of Compile, and to errors.As every one of executor.Load.
type Error struct {
	// Diagnostics say what is wrong: at least one, errors all of them.
	Diagnostics []Diagnostic
	// Code is the exit code of the command for such an error: 1 and 2 wrong options, 3 the input is not acceptable, 5 it cannot be
	// compiled, 70 a fault of the compiler.
	Code int

	lines []string
	err   error
}

// Error is what the command prints, and of an Error that was not made here its diagnostics.
func (e *Error) Error() string {
	lines := e.lines
	if lines == nil {
		for _, d := range e.Diagnostics {
			lines = append(lines, d.String())
		}
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the cause, where there is one: the error of the context, ErrMemory.
func (e *Error) Unwrap() error { return e.err }

func newError(code int, d Diagnostic) *Error {
	d.Severity = SeverityError
	return &Error{Diagnostics: []Diagnostic{d}, Code: code, lines: []string{d.String()}}
}

// errorOf is an error of internal/driver, or of Options.driver, as Compile returns it.
func errorOf(err error) *Error {
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	return newError(driver.ExitUnsupported, Diagnostic{Kind: KindUnsupported, Message: err.Error()})
}

func errorFrom(f *driver.Failure) *Error {
	e := &Error{Code: f.Code, lines: f.Lines, err: f.Err}
	kind := Kind(f.Kind)
	for _, d := range f.Diags {
		e.Diagnostics = append(e.Diagnostics, diagnosticFrom(d, kind))
	}
	if len(e.Diagnostics) > 0 {
		return e
	}
	// Lines without places: the first says what is wrong, the others what could not be done because of it.
	d := Diagnostic{Severity: SeverityError, Kind: kind}
	for i, line := range f.Lines {
		text := strings.TrimPrefix(strings.TrimPrefix(line, "error: "), "note: ")
		if i == 0 {
			d.Message = text
		} else {
			d.Notes = append(d.Notes, Diagnostic{Severity: SeverityNote, Message: text})
		}
	}
	e.Diagnostics = []Diagnostic{d}
	return e
}

func diagnosticFrom(d *ir.Diagnostic, kind Kind) Diagnostic {
	out := Diagnostic{Severity: Severity(d.Severity.String()), Kind: kind, Place: placeFrom(d.Loc), Message: d.Msg}
	for _, n := range d.AllNotes() {
		out.Notes = append(out.Notes, diagnosticFrom(&n, ""))
	}
	return out
}

func placeFrom(l ir.Location) Place {
	file, line, column, ok := ir.FileLine(l)
	if !ok {
		return Place{}
	}
	return Place{file, int(line), int(column)}
}
