package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tileiras/internal/cache"
	"tileiras/internal/native"
)

// Tool is one of our commands as a function: what main calls, and what tests call without a process.
type Tool func(args []string, stdin io.Reader, stdout, stderr io.Writer) int

// AsTileiras, as the first argument of tilerun, makes it the command tileiras with the arguments after it: it knows servers of caches.
const AsTileiras = "--tileiras"

// Tileiras is the command tileiras.
func Tileiras(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	out := &output{w: stdout}
	return out.arrived(tileiras(args, stdin, out, stderr), stderr)
}

func tileiras(args []string, stdin io.Reader, stdout *output, stderr io.Writer) int {
	line, err := TileirasCommand().Parse(args)
	if err != nil {
		return Report(err, stderr)
	}
	if done := Information(line, stdout, stderr); done {
		return ExitOK
	}
	if len(line.Args) == 0 || line.Args[0] == "" {
		io.WriteString(stdout, TileirasCommand().helpList(false))
		return Report(&Failure{Code: ExitUsage, Kind: KindOption, Lines: []string{"error: no input file provided", ""}}, stderr)
	}
	if cache.OutOfReach(line.String("cache")) {
		if tilerun := native.Tilerun(); tilerun != "" {
			return handOver(tilerun, append([]string{AsTileiras}, args...), stdin, stdout, stderr)
		}
	}
	if err := compileFile(line, stdin, stdout, stderr); err != nil {
		return Report(err, stderr)
	}
	return ExitOK
}

// cannotRun is a tilerun that was found and does not run.
func cannotRun(path string, err error) error {
	return fail(ExitUsage, "cannot run '%s', which speaks to the server of --cache: %s", path, reason(err))
}

// compileFile is the way from the input to the output. What is wrong is said in NVIDIA's order: an input that is none, a GPU that is not
// named, options that do not fit, the rest of the input.
func compileFile(line *Line, stdin io.Reader, stdout *output, stderr io.Writer) error {
	in, out := line.Args[0], line.String("output-file")
	o := line.Options()
	o.Log = stderr
	src, err := ReadInput(in, stdin)
	if err != nil {
		return err
	}
	var refused error
	guess := ""
	if o.Emit == "" && o.StopAfter == "" && EmitFor(out) == "" && out != "-" {
		guess = fmt.Sprintf("the extension of the output file '%s' does not say what to write: it gets a cubin; --emit=ptx writes PTX, and so does a name that ends in .ptx", out)
	}
	if o.Emit == "" {
		o.Emit, refused = emitFor(line, o.StopAfter)
	}
	if err := checkHeader(src, &o, guess); err != nil {
		return err
	}
	if err := o.checkNumbers(); err != nil {
		return err
	}
	if err := checkOptions(line); err != nil {
		return err
	}
	if refused != nil {
		return refused
	}
	_, wanted := selection(line)
	o.Remarks = wanted || line.Bool("explain") || line.Given("metadata") && o.Emit == EmitCubin
	if line.Bool("explain") && !o.choosesAll() {
		return fail(ExitOptions, "--explain says what the passes have chosen for a kernel, and this compile ends before they have: go on to %s or further", EmitTileAA)
	}
	line.PrintOptions(stderr)
	if out == "-" && !Arrives(stdout) {
		return fail(ExitUsage, "standard output is closed: write to a file with -o FILE, or nothing with -o /dev/null")
	}
	if err := line.CheckFiles(); err != nil {
		return err
	}
	remarks, err := remarkFile(line, stdout)
	if err != nil {
		return err
	}
	res, err := Compile(context.Background(), in, src, o)
	if err != nil {
		return err
	}
	if guess != "" {
		fmt.Fprintf(stderr, "warning: %s\n", guess)
	}
	if err := writeSideOutputs(line, res, remarks, stdout, stderr); err != nil {
		return err
	}
	return writeLast(out, res.Output, stdout)
}

// idle says which flags of remarks have nothing to do. NVIDIA's tileiras takes them too, so they are no errors.
func idle(line *Line) (list []string) {
	format, file := line.Given("remark-format"), line.Given("remarks-output-file")
	switch _, remarks := selection(line); {
	case format && !remarks:
		list = append(list, "--remark-format says how remarks are written, and none are asked for: add --remarks=all")
	case file && !remarks:
		list = append(list, "--remarks-output-file says where remarks are written, and none are asked for: add --remarks=all")
	case file && remarkFiles(line) == nil:
		list = append(list, "--remarks-output-file names the file of YAML or JSON, and remarks go to the terminal: add --remark-format=yaml or --remark-format=json")
	}
	return list
}

// writeSideOutputs writes what a compile said besides its output: warnings, remarks, the page, the metadata.
func writeSideOutputs(line *Line, res *Result, remarks io.WriteCloser, stdout *output, stderr io.Writer) error {
	for _, w := range res.Warnings {
		io.WriteString(stderr, w.String())
	}
	for _, w := range idle(line) {
		fmt.Fprintf(stderr, "warning: %s\n", w)
	}
	terminal := io.Writer(stdout)
	if line.writesStandard() {
		terminal = stderr // standard output is the output's
	}
	if err := printRemarks(line, res.Remarks, remarks, terminal); err != nil {
		return err
	}
	if line.Bool("explain") {
		terminal.Write(res.Page())
	}
	if file := line.String("metadata"); file != "" {
		if res.Metadata == nil {
			return fail(ExitOptions, "--metadata says how kernels are launched, which is known of PTX and cubins, not of %s", res.Kind)
		}
		if err := WriteOutput(file, res.Metadata.JSON(), stdout); err != nil {
			return err
		}
	}
	return nil
}

// emitFor is what the name of the output asks for; with --stop-after it may only not ask for something else. A name that does not say is
// that of a cubin, as with NVIDIA's tileiras, which gives nothing else.
func emitFor(line *Line, stop string) (Emit, error) {
	out := line.String("output-file")
	kind := EmitFor(out)
	if stop == "" {
		switch {
		case out == "-":
			return "", fail(ExitOptions, "-o - does not say what to write: add --emit=ptx, or another of %s", strings.Join(namesOf(emits), " "))
		case kind == "":
			return EmitCubin, nil
		}
		return kind, nil
	}
	gives := stopsWith(stop)
	switch {
	case !slices.Contains(StageNames(), stop):
		return "", nil // Compile says so
	case !line.Given("output-file"):
		return "", fail(ExitOptions, "--stop-after=%s writes %s: say where, with -o FILE, or -o - for standard output", stop, gives)
	case kind != "" && kind != gives && filepath.Ext(out) != "" && !(kind == EmitCudaTile && gives == EmitTileAA): // both are Tile IR text
		return "", fail(ExitOptions, "--stop-after=%s writes %s, which a file named '%s' does not hold: give another name with -o", stop, gives, out)
	}
	return gives, nil
}

// checkOptions tells which options do not fit together.
func checkOptions(line *Line) error {
	switch {
	case line.Bool("device-debug") && line.Int("opt-level") != 0:
		return fail(ExitOptions, "optimized debugging is currently not supported, change the optimization level to 0 or disable full debug info")
	case line.Given("apply-controls"):
		return fail(ExitOptions, "--apply-controls is not supported on this platform")
	case line.Given("l") && len(line.List("preview")) == 0:
		return fail(ExitUnsupported, "libraries require the 'simt' preview feature")
	case line.Given("l"):
		return openLibraries(line.List("l"))
	}
	return nil
}

// openLibraries refuses tile libraries: those that are not there as NVIDIA's tool does, the others because what they hold is a
// preview.
func openLibraries(paths []string) error {
	for _, p := range paths {
		if _, err := os.Stat(p); err != nil {
			return fail(ExitUnsupported, "failed to open tile library: %s", reason(err))
		}
	}
	return fail(ExitUnsupported, "not supported yet: tile libraries (-l %s)", paths[0])
}

// Information answers the flags that only print something, after what was wrong on the command line before them.
func Information(line *Line, stdout, stderr io.Writer) bool {
	c := line.command
	for _, p := range line.Problems {
		fmt.Fprintln(stderr, p)
	}
	switch line.Immediate {
	case "help":
		io.WriteString(stdout, c.help(false))
	case "help-hidden":
		io.WriteString(stdout, c.help(true))
	case "help-list":
		io.WriteString(stdout, c.helpList(false))
	case "help-list-hidden":
		io.WriteString(stdout, c.helpList(true))
	case "list-versions":
		io.WriteString(stdout, strings.Join(Versions(), "\n")+"\n")
	case "list-passes":
		io.WriteString(stdout, passList())
	case "version":
		io.WriteString(stdout, versionText(line))
	}
	return line.Immediate != ""
}

// PrintOptions answers --print-options and --print-all-options, on standard error: standard output may be the output.
func (l *Line) PrintOptions(w io.Writer) {
	if !l.Bool("print-options") && !l.Bool("print-all-options") {
		return
	}
	for _, f := range l.command.Flags {
		if l.Given(f.Name) || l.Bool("print-all-options") {
			fmt.Fprintf(w, "  %-32s = %v\n", dashed(f.Name), l.flag(f.Name).Value)
		}
	}
}

// Report prints an error and returns its exit code.
func Report(err error, stderr io.Writer) int {
	var f *Failure
	if errors.As(err, &f) {
		io.WriteString(stderr, f.Error()+"\n")
		return f.Code
	}
	io.WriteString(stderr, strings.TrimRight(err.Error(), "\n")+"\n")
	return ExitUsage
}
