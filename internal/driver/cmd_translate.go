package driver

import (
	"fmt"
	"io"
	"strings"

	"tileiras/dialects/cudatile/bytecode"
	"tileiras/ir"
)

// Versions are the bytecode versions that can be read and written.
var Versions = []string{"13.1", "13.2", "13.3", "13.4", "13.5"}

// TileTranslateCommand is the table of the flags of tile-translate.
var TileTranslateCommand = &Command{
	Name:     "tile-translate",
	Usage:    "[options] [<input file>]",
	Overview: "tile-translate turns Tile IR text into bytecode and back",
	MaxArgs:  1,
	Flags: concat([]Flag{
		{Name: "cudatilebc-to-mlir", Kind: BoolFlag, Help: "Bytecode to text"},
		{Name: "mlir-to-cudatilebc", Kind: BoolFlag, Help: "Text to bytecode"},
		{Name: "bytecode-version", Kind: StringFlag, Meta: "version", Help: "Version of the bytecode to write (default the newest)"},
		{Name: "mlir-print-debuginfo", Kind: BoolFlag, Help: "Print source locations"},
		{Name: "mlir-print-op-generic", Kind: BoolFlag, Help: "Print the generic form"},
		{Name: "output-file", Aliases: []string{"o"}, Kind: StringFlag, Meta: "filename", Default: "-", Help: "Output file name; - is standard output"},
		{Name: "list-versions", Kind: BoolFlag, Help: "List the bytecode versions that can be written"},
	}, commonFlags),
}

// TileTranslate is the command tile-translate.
func TileTranslate(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	line, err := TileTranslateCommand.Parse(args)
	if err != nil {
		return report(err, stderr)
	}
	if information(TileTranslateCommand, line, stdout) {
		return ExitOK
	}
	toText, toBytes := line.Bool("cudatilebc-to-mlir"), line.Bool("mlir-to-cudatilebc")
	if toText == toBytes {
		return report(fail(ExitUsage, "give one of --cudatilebc-to-mlir and --mlir-to-cudatilebc"), stderr)
	}
	version, err := parseVersion(line.String("bytecode-version"))
	if err != nil {
		return report(err, stderr)
	}
	file := "-"
	if len(line.Args) > 0 {
		file = line.Args[0]
	}
	src, err := ReadInput(file, stdin)
	if err != nil {
		return report(err, stderr)
	}
	if toText && !IsBytecode(src) {
		return report(&Failure{Code: ExitInput, Lines: []string{genericInput}}, stderr)
	}
	in, err := Read(NewContext(), file, src)
	if err != nil {
		return report(err, stderr)
	}
	if !ir.Verify(in.Ctx, in.Module) {
		return report(verifyFailure(in, bytecode.VerificationFailed), stderr)
	}
	var out []byte
	if toText {
		var b strings.Builder
		ir.Print(&b, in.Module, ir.PrintOptions{DebugInfo: line.Bool("mlir-print-debuginfo"), Generic: line.Bool("mlir-print-op-generic")})
		out = []byte(b.String())
	} else if out, err = bytecode.Write(in.Module, bytecode.WriteOptions{Version: version}); err != nil {
		return report(fail(ExitInput, "%s", err), stderr)
	}
	if err := WriteOutput(line.String("output-file"), out, stdout); err != nil {
		return report(err, stderr)
	}
	return ExitOK
}

// parseVersion reads M.m or M.m.t; "" is the zero version, which means the newest.
func parseVersion(s string) (ir.Version, error) {
	if s == "" {
		return ir.Version{}, nil
	}
	var v ir.Version
	var rest string
	n, _ := fmt.Sscanf(s+" .", "%d.%d%s", &v.Major, &v.Minor, &rest)
	if n >= 2 {
		fmt.Sscanf(strings.TrimPrefix(s, fmt.Sprintf("%d.%d", v.Major, v.Minor)), ".%d", &v.Tag)
		for _, known := range Versions {
			if known == fmt.Sprintf("%d.%d", v.Major, v.Minor) {
				return v, nil
			}
		}
	}
	return v, &Failure{Code: ExitUsage, Lines: []string{fmt.Sprintf("Invalid argument '%s': the supported versions are [%s - %s]", s, Versions[0], Versions[len(Versions)-1])}}
}
