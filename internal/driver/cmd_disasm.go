package driver

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/bytecode"
	"tileiras/ir"
)

// previewFlag switches on what is not part of the language yet. There is nothing behind it so far: a file may say that it holds
// previews, and what it holds is refused.
var previewFlag = Flag{Name: "preview", Kind: ListFlag, Meta: "feature[,feature...]", Values: []Value{{"simt", "Functions of single threads (not supported yet)"}},
	Field: func(o *Options) any { return &o.Read.Preview }, Help: "Enable one or more named preview features"}

// strictFlag selects the reader that does as the tools of 13.1 did.
var strictFlag = Flag{Name: "strict-13.1", Kind: BoolFlag, Hidden: true, Field: func(o *Options) any { return &o.Read.Strict131 }, Help: "Read bytecode of version 13.1 only, with the checks and messages of its tools"}

// TileIRDisasmCommand is the table of the flags of tileirdisasm, which are those of NVIDIA's and one of our own.
var TileIRDisasmCommand = sync.OnceValue(func() *Command {
	return &Command{
		Name:     "tileirdisasm",
		Usage:    "[options] <tile bytecode file>",
		Overview: "tileirdisasm prints CUDA Tile IR bytecode as text",
		MaxArgs:  1,
		Flags: slices.Concat([]Flag{
			{Name: "print-debug-info", Aliases: []string{"g"}, Kind: BoolFlag, Field: func(o *Options) any { return &o.DebugInfo }, Help: "Annotate disassembly with debugging information, if present"},
			previewFlag, strictFlag,
		}, CommonFlags),
	}
})

// genericDisasm is the line that tileirdisasm prints last.
const genericDisasm = "error: failed to read provided Tile IR bytecode"

// TileIRDisasm is the command tileirdisasm: text, messages and exit codes are those of NVIDIA's.
func TileIRDisasm(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return Arriving(disasm)(args, stdin, stdout, stderr)
}

func disasm(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	line, err := TileIRDisasmCommand().Parse(args)
	if err != nil {
		return Report(err, stderr)
	}
	if done := Information(line, stdout, stderr); done {
		return ExitOK
	}
	if len(line.Args) == 0 {
		io.WriteString(stdout, TileIRDisasmCommand().help(false))
		return unreadable(stderr, "error: no input file provided")
	}
	src, err := ReadInput(line.Args[0], stdin)
	if err != nil {
		return unreadable(stderr, "error: "+err.Error())
	}
	o := line.Options()
	out, err := disassemble(src, o.Read, o.DebugInfo)
	if err == nil {
		err = WriteOutput("-", []byte(out), stdout)
	}
	if err != nil {
		return Report(err, stderr)
	}
	return ExitOK
}

// unreadable reports an input that is not there. NVIDIA's tool leaves a line empty after that.
func unreadable(stderr io.Writer, message string) int {
	io.WriteString(stderr, message+"\n\n")
	return ExitOptions
}

// disassemble is the text of bytecode.
func disassemble(src []byte, o bytecode.ReadOptions, debugInfo bool) (string, error) {
	if !isBytecode(src) {
		return "", &Failure{Code: ExitInput, Kind: KindBytecode, Lines: []string{genericInput}}
	}
	c := ir.NewContext(cudatile.Dialect)
	m, _, err := bytecode.Read(c, src, o)
	refused := func(lines []string, why ...string) error {
		return &Failure{Code: ExitInput, Kind: KindBytecode, Lines: append(append(lines, errorLines(why)...), genericDisasm)}
	}
	switch {
	case err != nil:
		return "", refused(nil, strings.Split(err.Error(), "\n")...)
	case !ir.Verify(c, m):
		return "", refused(diagnosticsOf(c), bytecode.VerificationFailed)
	case !cudatile.VerifyKernels(c, m):
		return "", refused(diagnosticsOf(c), bytecode.KernelsFailed)
	}
	var b strings.Builder
	if o.Strict131 { // the spellings of 13.1, which had no producer
		err = ir.Print(&b, m, ir.PrintOptions{DebugInfo: debugInfo, Unwrapped: true, Release: bytecode.Oldest})
	} else {
		err = cudatile.Print(&b, m, ir.PrintOptions{DebugInfo: debugInfo})
	}
	return b.String(), err
}

// diagnosticsOf are the errors with their locations written out as attributes, as NVIDIA's tool prints them.
func diagnosticsOf(c *ir.Context) []string {
	var lines []string
	add := func(d *ir.Diagnostic) {
		place := ""
		if a, ok := d.Loc.(ir.DialectAttr); ok {
			place = ir.AttrText(a) + ": "
		} else if !ir.IsUnknown(d.Loc) {
			place = ir.LocText(d.Loc) + ": "
		}
		lines = append(lines, fmt.Sprintf("%s%s: %s", place, d.Severity, d.Msg))
	}
	for _, d := range c.Diags.List {
		if d.Severity != ir.Error {
			continue
		}
		add(d)
		for i := range d.Notes {
			add(&d.Notes[i])
		}
	}
	return lines
}
