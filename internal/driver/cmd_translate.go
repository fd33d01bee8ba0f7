package driver

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"tileiras/dialects/builtin"
	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/bytecode"
	"tileiras/dialects/cudatile/def"
	"tileiras/dialects/testing"
	"tileiras/ir"
)

// Versions are the bytecode versions that can be read and written, oldest first.
var Versions = sync.OnceValue(func() []string { return versionNames(def.Versions) })

func versionNames(list []ir.Version) []string {
	names := make([]string, len(list))
	for i, v := range list {
		names[i] = v.String()
	}
	return names
}

// TileTranslateCommand is the table of the flags of tile-translate.
var TileTranslateCommand = sync.OnceValue(func() *Command {
	return &Command{
		Name:     "tile-translate",
		Usage:    "[options] [<input file>]",
		Overview: "tile-translate turns Tile IR text into bytecode or bytecode into text, as a flag says",
		MaxArgs:  1,
		Flags: slices.Concat([]Flag{
			{Name: "cudatilebc-to-mlir", Kind: BoolFlag, Help: "Bytecode to text"},
			{Name: "mlir-to-cudatilebc", Kind: BoolFlag, Help: "Text to bytecode"},
			{Name: "test-cudatile-roundtrip", Kind: BoolFlag, Help: "Text to bytecode and back to text"},
			{Name: "bytecode-version", Kind: StringFlag, Meta: "version", Help: "Version of the bytecode to write (default the newest)"},
			{Name: "mlir-print-debuginfo", Kind: BoolFlag, Help: "Print source locations"},
			{Name: "mlir-print-op-generic", Aliases: []string{"generic-form"}, Kind: BoolFlag, Help: "Print the generic form"},
			{Name: "output-file", Aliases: []string{"o"}, Kind: StringFlag, Meta: "filename", Default: "-", Writes: ValueOf("output-file"), Help: "Output file name; - is standard output"},
			{Name: "list-versions", Kind: BoolFlag, Help: "List the bytecode versions that can be written, those of the operations for tests too"},
		}, pieceFlags(), CommonFlags),
	}
})

// TileTranslate is the command tile-translate.
func TileTranslate(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return Arriving(translate)(args, stdin, stdout, stderr)
}

func translate(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	line, err := TileTranslateCommand().Parse(args)
	if err != nil {
		return Report(err, stderr)
	}
	t := &translation{pieceTool: newPieceTool(line),
		options: ir.PrintOptions{DebugInfo: line.Bool("mlir-print-debuginfo"), Generic: line.Bool("mlir-print-op-generic")}}
	if line.Bool("list-versions") {
		io.WriteString(stdout, strings.Join(slices.Concat(t.versions(), testVersions()), "\n")+"\n")
		return ExitOK
	}
	if Information(line, stdout, stderr) {
		return ExitOK
	}
	var process func(*ir.Context, piece) (string, error)
	ways := 0
	for _, way := range []struct {
		flag string
		do   func(*ir.Context, piece) (string, error)
	}{{"cudatilebc-to-mlir", t.toText}, {"mlir-to-cudatilebc", t.toBytes}, {"test-cudatile-roundtrip", t.there}} {
		if line.Bool(way.flag) {
			process = way.do
			ways++
		}
	}
	if ways != 1 {
		return Report(fail(ExitUsage, "give one of --cudatilebc-to-mlir, --mlir-to-cudatilebc and --test-cudatile-roundtrip"), stderr)
	}
	if t.version, err = t.parseVersion(line.String("bytecode-version")); err != nil {
		return Report(err, stderr)
	}
	if err := line.CheckFiles(); err != nil {
		return Report(err, stderr)
	}
	file := "-"
	if len(line.Args) > 0 {
		file = line.Args[0]
	}
	src, err := ReadInput(file, stdin)
	if err != nil {
		return Report(err, stderr)
	}
	t.options.Release = t.release
	out, err := t.run(file, src, stderr, process)
	if err != nil {
		return Report(err, stderr)
	}
	if err := WriteOutput(line.String("output-file"), []byte(out), stdout); err != nil {
		return Report(err, stderr)
	}
	return ExitOK
}

// translation is what tile-translate does with a piece.
type translation struct {
	*pieceTool
	options ir.PrintOptions
	version ir.Version
}

// toText reads bytecode.
func (t *translation) toText(c *ir.Context, p piece) (string, error) {
	if n := len(magic); isBytecode(p.src) && len(p.src) > n+1 {
		c.Release = t.releaseFor(ir.V(p.src[n], p.src[n+1]))
	}
	m, origin, err := bytecode.Read(c, p.src, bytecode.ReadOptions{Newest: newest(c.Release), Extension: testExtension})
	var e *bytecode.Error
	switch {
	case errors.As(err, &e):
		return "", &Failure{Code: ExitInput, Kind: KindBytecode, Lines: append(errorLines(e.Lines), genericInput), Err: err}
	case err != nil:
		return "", readFailure(err)
	}
	if !ir.Verify(c, m) {
		return "", verifyFailure(&Input{Ctx: c, Module: m, Origin: origin}, bytecode.VerificationFailed)
	}
	return ir.Text(m, t.options), nil
}

// toBytes reads text.
func (t *translation) toBytes(c *ir.Context, p piece) (string, error) {
	c.Release = t.releaseFor(t.version)
	m, err := t.parse(c, p)
	if err != nil {
		return "", err
	}
	m = unwrapped(m)
	if !selfContained(c, m) {
		return "", errInvalid
	}
	out, err := bytecode.Write(m, bytecode.WriteOptions{Version: t.target(), Extension: testExtension})
	if err != nil {
		var w *bytecode.WriteError
		if errors.As(err, &w) {
			c.Diags.Add(ir.Error, w.Loc, "%s", w.Msg)
		}
		return "", err
	}
	return string(out), nil
}

// target is the version to write: the one asked for, or the newest.
func (t *translation) target() ir.Version {
	switch {
	case t.version != (ir.Version{}):
		return t.version
	case t.chosen:
		return newest(t.release)
	}
	return bytecode.Newest
}

// versions are those that can be written: of the release that --release chooses, or all.
func (t *translation) versions() []string {
	if !t.chosen {
		return Versions()
	}
	return Versions()[:slices.Index(Versions(), newest(t.release).String())+1]
}

// there goes to bytecode and back.
func (t *translation) there(c *ir.Context, p piece) (string, error) {
	out, err := t.toBytes(c, p)
	if err != nil {
		return "", err
	}
	back := newTestContext()
	back.Release = t.release
	return t.toText(back, piece{src: []byte(out)})
}

// unwrapped is the module of a dialect that stands alone in a module around it.
func unwrapped(m *ir.Op) *ir.Op {
	if items := itemsOf(m); builtin.IsModule(m) && len(items) == 1 && items[0].Traits().Has(ir.SymbolTable) {
		return items[0]
	}
	return m
}

// selfContained checks that bytecode has a place for every op: functions and globals in the module, and ops of the dialect.
func selfContained(c *ir.Context, m *ir.Op) bool {
	refuse := func(op *ir.Op, why string) bool {
		at := m.Loc()
		c.Diags.Add(ir.Error, at, "%s", why)
		c.Diags.Add(ir.Remark, op.Loc(), "invalid op: '%s'", op.Name())
		return false
	}
	for _, op := range itemsOf(m) {
		if op.Def.Dialect == m.Def.Dialect && op.Code() != cudatile.OpEntry && op.Code() != cudatile.OpGlobal {
			return refuse(op, "only function and global ops are allowed in the body")
		}
	}
	good := true
	ir.Walk(m, ir.PreOrder, func(op *ir.Op) {
		if good && op.Def.Dialect != m.Def.Dialect {
			good = refuse(op, "only ops from the '"+m.Def.Dialect+"' dialect are allowed")
		}
	})
	return good
}

// testExtension is what the operations for tests add to bytecode.
var testExtension = &bytecode.Extension{Ops: testing.Extension.Ops, Versions: []ir.Version{testing.V250, testing.V2501}}

func testVersions() []string { return versionNames(testExtension.Versions) }

// ParseVersion reads M.m or M.m.t.
func ParseVersion(s string) (v ir.Version, ok bool) {
	var rest string
	n, _ := fmt.Sscanf(s+" .", "%d.%d%s", &v.Major, &v.Minor, &rest)
	if n >= 2 {
		fmt.Sscanf(strings.TrimPrefix(s, fmt.Sprintf("%d.%d", v.Major, v.Minor)), ".%d", &v.Tag)
	}
	return v, n >= 2
}

// parseVersion reads M.m or M.m.t; "" is the zero version, which means the newest.
func (t *translation) parseVersion(s string) (ir.Version, error) {
	if s == "" {
		return ir.Version{}, nil
	}
	v, ok := ParseVersion(s)
	if ok {
		for _, known := range slices.Concat(t.versions(), testVersions()) {
			if known == fmt.Sprintf("%d.%d", v.Major, v.Minor) {
				return v, nil
			}
		}
	}
	return v, &Failure{Code: ExitUsage, Kind: KindOption, Lines: []string{fmt.Sprintf("Invalid argument '%s': the supported versions are [%s - %s]", s, Versions()[0], t.versions()[len(t.versions())-1])}}
}
