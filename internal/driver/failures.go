package driver

import (
	"errors"
	"strings"

	"tileiras/dialects/cudatile/bytecode"
	"tileiras/ir"
)

// genericInput is the line that NVIDIA's tileiras prints last for everything that is wrong with a bytecode file.
const genericInput = "error: input does not correspond to Tile IR bytecode"

// readFailure is a file that the bytecode reader refused: its messages, innermost first, and for what is wrong behind a good header
// the generic line.
func readFailure(err error) error {
	f := &Failure{Code: ExitInput, Err: err}
	var e *bytecode.Error
	if !errors.As(err, &e) {
		f.Lines = []string{"error: " + err.Error(), genericInput}
		return f
	}
	for _, l := range e.Lines {
		f.Lines = append(f.Lines, "error: "+l)
	}
	if e.Kind == bytecode.Malformed {
		f.Lines = append(f.Lines, genericInput)
	}
	return f
}

// textFailure is a text that does not parse: the parser's diagnostics.
func textFailure(c *ir.Context, err error) error {
	lines := diagnosticLines(c, ir.Error)
	if len(lines) == 0 {
		lines = []string{"error: " + err.Error()}
	}
	return &Failure{Code: ExitInput, Lines: lines, Err: err}
}

// verifyFailure is a module that was read and does not verify; why is the line that follows for bytecode.
func verifyFailure(in *Input, why string) error {
	f := &Failure{Code: ExitInput, Lines: diagnosticLines(in.Ctx, ir.Error)}
	if in.Origin != nil {
		f.Lines = append(f.Lines, "error: "+why, genericInput)
	}
	if len(f.Lines) == 0 {
		f.Lines = []string{"error: the module does not verify"}
	}
	return f
}

// text is the lines of an error for a terminal.
func text(err error) string { return strings.TrimRight(err.Error(), "\n") + "\n" }
