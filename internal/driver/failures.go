package driver

import (
	"errors"

	"tileiras/dialects/cudatile/bytecode"
)

// genericInput is the line that NVIDIA's tileiras prints last for everything that is wrong with a bytecode file.
const genericInput = "error: input does not correspond to Tile IR bytecode"

// readFailure is a file that the bytecode reader refused: its messages, innermost first, then the generic line. Of a version that
// is not known tileiras says nothing else.
func readFailure(err error) error {
	f := &Failure{Code: ExitInput, Kind: KindBytecode, Err: err}
	var e *bytecode.Error
	switch {
	case !errors.As(err, &e):
		f.Lines = []string{"error: " + err.Error(), genericInput}
	case e.Kind == bytecode.BadVersion:
		f.Lines = []string{"error: unsupported Tile IR bytecode version: " + e.Version.String()}
	case e.Kind == bytecode.NotBytecode:
		f.Lines = []string{genericInput}
	default:
		f.Lines = append(errorLines(e.Lines), genericInput)
	}
	return f
}

// errorLines are messages as the user sees them.
func errorLines(messages []string) []string {
	var lines []string
	for _, m := range messages {
		lines = append(lines, "error: "+m)
	}
	return lines
}

// ptxVersion is the line with which PTX begins, behind comments.
var ptxVersion = pattern(`(?m)^\s*\.version\s+\d`)

// maxPTXHeader is how far into a text that does not parse it is searched for, in bytes.
const maxPTXHeader = 1 << 16

// textFailure is a text that does not parse: the parser's diagnostics.
func (in *Input) textFailure(err error) error {
	lines := in.errors()
	if len(lines) == 0 {
		lines = []string{"error: " + err.Error()}
	}
	if ptxVersion().Match(in.source[:min(len(in.source), maxPTXHeader)]) {
		lines = append(lines, "note: this is PTX, which is compiled already; tilerun --on emu runs it")
	}
	return &Failure{Code: ExitInput, Kind: KindText, Lines: lines, Err: err, Diags: worst(in.Ctx)}
}

// verifyFailure is a module that was read and does not verify; why is the line that follows for bytecode.
func verifyFailure(in *Input, why string) error {
	f := &Failure{Code: ExitInput, Kind: KindVerify, Lines: in.errors(), Diags: worst(in.Ctx)}
	if in.Origin != nil {
		f.Lines = append(f.Lines, "error: "+why, genericInput)
	}
	if len(f.Lines) == 0 {
		f.Lines = []string{"error: the module does not verify"}
	}
	return f
}
