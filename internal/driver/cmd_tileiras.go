package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"tileiras/codegen/target"
)

// Tool is one of our commands as a function: what main calls, and what tests call without a process.
type Tool func(args []string, stdin io.Reader, stdout, stderr io.Writer) int

func gpuValues() []Value {
	var vs []Value
	for _, t := range target.All {
		vs = append(vs, Value{t.Name, fmt.Sprintf("SM %d", t.Number)})
	}
	return vs
}

// showFlags are the flags that show what happens inside; tileiras and tile-opt have them both.
var showFlags = []Flag{
	{Name: "print-after-all", Kind: BoolFlag, Help: "Print the module after every pass, to standard error"},
	{Name: "print-before", Kind: ListFlag, Meta: "pass,...", Help: "Print the module before these passes"},
	{Name: "print-after", Kind: ListFlag, Meta: "pass,...", Help: "Print the module after these passes"},
	{Name: "print-changed", Kind: BoolFlag, Help: "Print what each pass changed, as a diff"},
	{Name: "print-facts", Kind: BoolFlag, Help: "Print what is known of integers and pointers after every TileAA pass"},
	{Name: "print-debug-info", Aliases: []string{"mlir-print-debuginfo"}, Kind: BoolFlag, Help: "Print source locations in modules"},
	{Name: "pass-timing", Kind: BoolFlag, Help: "Print the wall time of every stage, to standard error"},
	{Name: "verify-each", Kind: BoolFlag, Help: "Verify the module after every pass"},
	{Name: "reproducer-dir", Kind: StringFlag, Meta: "dir", Default: ".", Help: "Where a fault of the compiler leaves its input"},
}

var commonFlags = []Flag{
	{Name: "help", Aliases: []string{"h"}, Kind: BoolFlag, Help: "Display available options"},
	{Name: "help-hidden", Kind: BoolFlag, Hidden: true, Help: "Display all available options"},
	{Name: "version", Kind: BoolFlag, Help: "Display the version of this program"},
}

// TileirasCommand is the table of the flags of tileiras.
var TileirasCommand = &Command{
	Name:     "tileiras",
	Usage:    "[options] <input file>",
	Overview: "tileiras compiles CUDA Tile IR, bytecode or text, to PTX",
	MaxArgs:  1,
	Flags: concat([]Flag{
		{Name: "gpu-name", Aliases: []string{"arch"}, Kind: EnumFlag, Values: gpuValues(), Help: "Architecture to compile for"},
		{Name: "output-file", Aliases: []string{"o"}, Kind: StringFlag, Meta: "filename", Default: "elf.o", Help: "Output file name; - is standard output"},
		{Name: "emit", Kind: EnumFlag, Help: "What to write; by default the extension of the output file decides, else cubin", Values: []Value{
			{"cudatile", "The input as Tile IR text"}, {"bytecode", "Tile IR bytecode"}, {"tileaa", "TileAA text after all its passes"},
			{"llvm", "LLVM IR text"}, {"ptx", "PTX"}, {"cubin", "A cubin (not supported yet)"}}},
		{Name: "opt-level", Aliases: []string{"O"}, Kind: IntFlag, Meta: "int", Default: "3", Help: "Optimization level: 0 takes the plan with the most warps and smallest pieces and leaves out optional passes; 1, 2 and 3 are the same"},
		{Name: "abi", Kind: EnumFlag, Help: "Launch convention; cuda is the default of PTX", Values: []Value{
			{"cuda", "An ordinary CUDA kernel, lowest PTX version"}, {"tile", "A Tile IR kernel, block size 1,1,1"}}},
		{Name: "lineinfo", Kind: BoolFlag, Help: "Write source lines into the output"},
		{Name: "device-debug", Aliases: []string{"g"}, Kind: BoolFlag, Help: "Full debug information; needs -O0 (not supported yet)"},
		previewFlag, strictFlag,
		{Name: "stop-after", Kind: StringFlag, Meta: "pass", Help: "Stop after this pass and write its module"},
		{Name: "list-versions", Kind: BoolFlag, Help: "List the bytecode versions that can be read"},
		{Name: "list-passes", Kind: BoolFlag, Help: "List the passes in order, with the reason for each place"},
	}, showFlags, commonFlags),
}

func concat(lists ...[]Flag) []Flag {
	var out []Flag
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

// Tileiras is the command tileiras.
func Tileiras(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	line, err := TileirasCommand.Parse(args)
	if err != nil {
		return report(err, stderr)
	}
	if done := information(TileirasCommand, line, stdout); done {
		return ExitOK
	}
	level := line.Int("opt-level")
	switch {
	case level < 0 || level > 3:
		return report(fail(ExitOptions, "invalid optimization level: %d", level), stderr)
	case line.Bool("device-debug") && level != 0:
		return report(fail(ExitOptions, "optimized debugging is currently not supported, change the optimization level to 0 or disable full debug info"), stderr)
	case line.Bool("device-debug"):
		return report(fail(ExitUnsupported, "not supported yet: --device-debug; use --lineinfo"), stderr)
	case len(line.Args) == 0:
		io.WriteString(stdout, TileirasCommand.Help(false))
		return report(fail(ExitUsage, "no input file provided"), stderr)
	}
	out := line.String("output-file")
	o := optionsFrom(line, stderr)
	o.Emit = EmitFor(out)
	if line.Given("emit") {
		o.Emit = Emit(line.String("emit"))
	}
	src, err := ReadInput(line.Args[0], stdin)
	if err != nil {
		return report(err, stderr)
	}
	res, err := Compile(context.Background(), line.Args[0], src, o)
	if err != nil {
		return report(err, stderr)
	}
	for _, r := range res.Remarks {
		fmt.Fprintln(stderr, r)
	}
	if line.Bool("pass-timing") {
		printTiming(stderr, res.Timing)
	}
	if err := WriteOutput(out, res.Output, stdout); err != nil {
		return report(err, stderr)
	}
	return ExitOK
}

// optionsFrom reads the flags that tileiras and tile-opt share.
func optionsFrom(line *Line, log io.Writer) Options {
	return Options{
		GPU: line.String("gpu-name"), Opt: line.Int("opt-level"), ABI: line.String("abi"), LineInfo: line.Bool("lineinfo"),
		Log: log, PrintAfterAll: line.Bool("print-after-all"), PrintBefore: line.List("print-before"), PrintAfter: line.List("print-after"),
		PrintChanged: line.Bool("print-changed"), PrintFacts: line.Bool("print-facts"), DebugInfo: line.Bool("print-debug-info"),
		PassTiming: line.Bool("pass-timing"), VerifyEach: line.Bool("verify-each"), StopAfter: line.String("stop-after"),
		ReproducerDir: line.String("reproducer-dir"), Read: readOptions(line),
	}
}

// information answers the flags that only print something.
func information(c *Command, line *Line, stdout io.Writer) bool {
	switch {
	case line.Bool("help"):
		io.WriteString(stdout, c.Help(false))
	case line.Bool("help-hidden"):
		io.WriteString(stdout, c.Help(true))
	case line.Bool("version"):
		fmt.Fprintf(stdout, "%s: an open compiler from CUDA Tile IR to PTX\nCuda compilation tools, release 13.5, V13.5.0 (compatible)\n%s\n", c.Name, buildVersion())
	case line.Bool("list-versions"):
		io.WriteString(stdout, strings.Join(Versions, "\n")+"\n")
	case line.Bool("list-passes"):
		io.WriteString(stdout, PassList())
	default:
		return false
	}
	return true
}

// report prints an error and returns its exit code.
func report(err error, stderr io.Writer) int {
	io.WriteString(stderr, text(err))
	var f *Failure
	if errors.As(err, &f) {
		return f.Code
	}
	return ExitUsage
}

func printTiming(w io.Writer, ts []Timing) {
	for _, t := range ts {
		fmt.Fprintf(w, "%9.3f ms  %s\n", float64(t.Time.Microseconds())/1000, t.Stage)
	}
}
