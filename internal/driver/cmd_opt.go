package driver

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	llvm "github.com/llir/llvm/ir"

	"tileiras/codegen/options"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/ir/budget"
	"tileiras/passes"
	"tileiras/passes/pass"
)

// TileOptCommand is the table of the flags of tile-opt.
var TileOptCommand = sync.OnceValue(func() *Command {
	return &Command{
		Name:     "tile-opt",
		Usage:    "[options] [<input file>]",
		Overview: "tile-opt runs passes on text and prints the result: with --passes those of the compiler, else those on cuda_tile",
		MaxArgs:  1,
		Flags: slices.Concat([]Flag{
			{Name: "passes", Kind: ListFlag, Meta: "pass,...", Help: "Passes to run, in this order; lower-to-llvm and emit-ptx too"},
			{Name: "from", Kind: EnumFlag, Default: "tile", Help: "What the input is", Values: []Value{{"tile", "cuda_tile or TileAA"}, {"llvm", "LLVM IR"}}},
			GPUFlag("GPU to compile for; without it " + DefaultGPU),
			{Name: "output-file", Aliases: []string{"o"}, Kind: StringFlag, Meta: "filename", Default: "-", Writes: ValueOf("output-file"), Help: "Output file name; - is standard output"},
			OptFlag(""),
			abiFlag(string(options.CUDA), ""),
			lineInfoFlag,
		}, CodeFlags(), tileTextFlags(), showFlags, CommonFlags),
	}
})

// tileTextFlags are what tile-opt does without --passes.
func tileTextFlags() []Flag {
	return slices.Concat([]Flag{{Name: "mlir-print-op-generic", Kind: BoolFlag, Help: "Print the generic form"}}, pieceFlags(), tilePassFlags())
}

// checkWay refuses flags of the other way through tile-opt: they would not count.
func checkWay(line *Line, src []byte) error {
	var other string
	switch {
	case line.String("from") == "llvm":
		other = "with --from=llvm"
	case line.Given("passes"):
		other = "with --passes"
	case isBytecode(src):
		other = "on bytecode: tile-translate turns it into text"
	default:
		return nil
	}
	for _, f := range tileTextFlags() {
		if line.Given(f.Name) {
			return fail(ExitOptions, "%s works on cuda_tile text, not %s", dashed(f.Name), other)
		}
	}
	return nil
}

// TileOpt is the command tile-opt. LLVM IR is read by parseLLVM, which only the command itself links.
func TileOpt(parseLLVM func(name, text string) (*llvm.Module, error)) Tool {
	return Arriving(func(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
		line, err := TileOptCommand().Parse(args)
		if err != nil {
			return Report(err, stderr)
		}
		if Information(line, stdout, stderr) {
			return ExitOK
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
		if err := checkWay(line, src); err != nil {
			return Report(err, stderr)
		}
		o := line.Options()
		o.Log = stderr
		var out string
		switch {
		case line.String("from") == "llvm":
			m, perr := readLLVM(parseLLVM, file, string(src))
			if perr != nil {
				return Report(&Failure{Code: ExitInput, Kind: KindText, Lines: []string{fmt.Sprintf("error: %s: %s", file, strings.TrimSpace(perr.Error()))}, Err: perr}, stderr)
			}
			out, err = runLLVM(m, &Input{Ctx: NewContext(), name: file, source: src}, &o, line.List("passes"))
		case line.Given("passes") || isBytecode(src):
			var res *Result
			if res, err = RunPasses(context.Background(), file, src, o, line.List("passes")); err == nil {
				out = string(res.Output)
			}
		default:
			// The pieces that are right are printed, even if others are not.
			out, err = showText(line, file, src, &o)
		}
		if err != nil {
			if out != "" {
				WriteOutput(line.String("output-file"), []byte(out), stdout)
			}
			return Report(err, stderr)
		}
		if err := WriteOutput(line.String("output-file"), []byte(out), stdout); err != nil {
			return Report(err, stderr)
		}
		return ExitOK
	})
}

// readLLVM parses LLVM IR. On some texts that are wrong the parser of llir panics.
func readLLVM(parse func(name, text string) (*llvm.Module, error), name, text string) (m *llvm.Module, err error) {
	defer func() {
		if r := recover(); r != nil {
			m, err = nil, fmt.Errorf("%v", r)
		}
	}()
	return parse(name, text)
}

// RunPasses runs named passes, in the given order, on text or bytecode. What comes out is a module, LLVM IR or PTX.
func RunPasses(ctx context.Context, name string, src []byte, o Options, names []string) (res *Result, err error) {
	defer budget.Catch(&err)
	if err := o.check(namedPasses()); err != nil {
		return nil, err
	}
	r := newRun(ctx, &o)
	r.named = append([]string{}, names...)
	defer r.reportTiming()
	if o.StopAfter != "" {
		last := slices.Index(names, o.StopAfter)
		if last < 0 {
			return nil, fail(ExitOptions, "--stop-after=%s names none of the passes to run", o.StopAfter)
		}
		names = names[:last+1]
	}
	if err := r.verified(name, src); err != nil {
		return nil, err
	}
	var list []*pass.Pass
	var back []string
	for _, n := range names {
		switch {
		case n == lowerToLLVM || n == emitPTX:
			back = append(back, n)
		case len(back) > 0 || passes.Named(n) == nil:
			return nil, noPass("--passes", n, namedPasses())
		default:
			list = append(list, passes.Named(n))
		}
	}
	t, err := o.target(ctx)
	if err != nil {
		return nil, err
	}
	st := r.state(t)
	if m, ok := ir.As[tileaa.Module](st.Module); ok && len(names) > 0 {
		m.ClearAfter() // it is another pass's output now
	}
	if err := r.passes(st, list); err != nil {
		return nil, r.failure(err)
	}
	if len(back) == 0 {
		return r.result([]byte(r.text(st.Module))), nil
	}
	if err := passes.Named(back[0]).Fits(st.Module); err != nil {
		return nil, r.failure(err)
	}
	o.Emit = stopsWith(back[len(back)-1])
	text, err := newBackend(r, t).lower(st)
	if err != nil {
		return nil, r.failure(err)
	}
	return r.result(text), nil
}

// namedPasses are the passes that RunPasses takes.
func namedPasses() []string {
	list := StageNames()
	for _, p := range passes.Checks() {
		list = append(list, p.Name)
	}
	return list
}

// runLLVM runs emit-ptx, the only pass on LLVM IR.
func runLLVM(m *llvm.Module, in *Input, o *Options, names []string) (string, error) {
	if err := o.check(StageNames()); err != nil {
		return "", err
	}
	switch {
	case len(names) == 0:
		return m.String(), nil
	case len(names) > 1 || names[0] != emitPTX:
		return "", fail(ExitUsage, "on LLVM IR the only pass is %s", emitPTX)
	}
	t, err := o.target(context.Background())
	if err != nil {
		return "", err
	}
	r := &run{opts: o, input: in, named: names, fromLLVM: true}
	defer r.reportTiming()
	text, err := newBackend(r, t).emit(m)
	if err != nil {
		return "", r.failure(err)
	}
	return string(text), nil
}

// passList is the text of --list-passes.
func passList() string {
	var b strings.Builder
	for _, p := range passes.WayDown() {
		fmt.Fprintf(&b, "%-20s %s\n%20s %s\n", p.Name, p.Summary, "", p.Why)
	}
	b.WriteString("\nOn the last module that knows tiles, by name only:\n\n")
	for _, p := range passes.Checks() {
		fmt.Fprintf(&b, "%-20s %s\n%20s %s\n", p.Name, p.Summary, "", p.Why)
	}
	b.WriteString("\nOn cuda_tile, by name only:\n\n")
	for _, p := range passes.OnCudaTile() {
		fmt.Fprintf(&b, "%-20s\n%20s %s\n%20s %s\n", p.Name, "", p.Summary, "", p.Why)
	}
	return b.String()
}
