// Package tilerun is the command tilerun: it runs cases (runtime/cases) on the interpreter, on the PTX emulator or on a GPU.
package tilerun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	_ "tileiras/internal/cache/remote" // for tileiras, which hands over to tilerun
	"tileiras/internal/driver"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
	"tileiras/runtime/executor"
)

// Command is the table of the flags of tilerun.
var Command = &driver.Command{
	Name:  "tilerun",
	Usage: "[options] <case.json, launch.json or folder>... | --launch launch.json <kernel.ptx> | --grid X,Y,Z [--arg VALUE]... [--out FILE]... <kernel>",
	Overview: "tilerun runs Tile IR kernels, or PTX with a launch record, on given inputs and compares the results: " +
		"without a GPU on the interpreter or, compiled, on the PTX emulator",
	MaxArgs: 1 << 20,
	Flags: slices.Concat([]driver.Flag{
		{Name: "on", Kind: driver.EnumFlag, Default: "interp", Help: "What runs the kernels", Values: []driver.Value{
			{Name: "interp", Help: "The interpreter of Tile IR"}, {Name: "emu", Help: "Our PTX on the PTX emulator, with its checks (--checks)"}, {Name: "gpu", Help: "Our PTX on a GPU"}}},
		{Name: "runs", Kind: driver.IntFlag, Unsigned: true, Meta: "int", Default: "0", Help: "With --on gpu: time so many more launches of every case, one case after the other, and print what benchmarks reach"},
		{Name: "time-limit", Kind: driver.IntFlag, Unsigned: true, Meta: "seconds", Default: "600", Help: "How long a case or a kernel may take, its compilation included; 0 is for ever"},
		{Name: "schedule", Kind: driver.EnumFlag, Default: "all", Help: "In which order the emulator interleaves warps", Values: []driver.Value{
			{Name: "all", Help: "Under each of the three, one after the other"}, {Name: "round-robin", Help: "First warp first"}, {Name: "reverse", Help: "Last warp first"}, {Name: "random", Help: "Any order"}}},
		{Name: "launch", Kind: driver.StringFlag, Meta: "file", Reads: driver.ValueOf("launch"), Help: "Run the PTX file given with the launch record <file>: grid, parameters, buffers, expected output"},
		{Name: "grid", Kind: driver.StringFlag, Meta: "X,Y,Z", Help: "Run the kernel given, Tile IR or PTX, on a grid of tile blocks, with --arg and --out"},
		{Name: "kernel", Kind: driver.StringFlag, Meta: "name", Help: "With --grid: which kernel, where there are several"},
		{Name: "arg", Kind: driver.RepeatFlag, Meta: "value", Reads: argumentFiles, Help: "With --grid: the next parameter: FILE.npy, a new array of zeros f32[10x20], a scalar i32:64, or the bytes of a struct of PTX, bytes:01ff"},
		{Name: "out", Kind: driver.RepeatFlag, Meta: "file", Writes: outputFiles, Help: "With --grid: write an array argument to this .npy file, - is standard output: the last one, or N:FILE that of parameter N, from 0"},
		{Name: "block", Kind: driver.StringFlag, Meta: "X,Y,Z", Help: "With --grid: threads of a block of PTX that does not say it"},
		{Name: "shared", Kind: driver.IntFlag, Unsigned: true, Meta: "int", Default: "0", Help: "With --grid: bytes of dynamic shared memory of PTX"},
		{Name: "notes", Kind: driver.BoolFlag, Help: "Print what the machine noticed and did not count as a failure"},
		{Name: "undefined", Kind: driver.EnumFlag, Default: "error", Help: "What the interpreter loads where a program names no padding", Values: []driver.Value{
			{Name: "error", Help: "An undefined value, which must not be stored or decide anything"}, {Name: "zero", Help: "Zero"}}},
		{Name: "checks", Kind: driver.StringFlag, Meta: "list", Default: "all", Help: "What interpreter and emulator check: all, none, or some of races, undefined, alignment with commas between; bounds always"},
		{Name: "core", Kind: driver.BoolFlag, Help: "Only cases of the core subset"},
		{Name: "stats", Kind: driver.BoolFlag, Help: "Print the machine's counters for every case"},
		{Name: "report", Kind: driver.StringFlag, Meta: "file", Writes: driver.ValueOf("report"), Help: "Write what became of every case, for programs: JSON to a .json, the format of JUnit to a .xml"},
		{Name: "jobs", Aliases: []string{"j"}, Kind: driver.IntFlag, Unsigned: true, Separate: true, Meta: "int", Default: "0", Help: "Cases at a time (0: one a core, on a GPU one)"},
		{Name: "quiet", Aliases: []string{"q"}, Kind: driver.BoolFlag, Help: "Print failures and the summary only"},
		{Name: "gpus", Kind: driver.BoolFlag, Help: "List the GPUs of this machine, with their compute capability"},
	}, compiled(), driver.CommonFlags),
}

// compiled are the flags of the compiler: those that code depends on.
func compiled() []driver.Flag {
	gpu := driver.GPUFlag("GPU to compile for; without it " + driver.DefaultGPU + " on the emulator, and on a GPU its own")
	gpu.Group = "Options of the compiler, with --on emu and --on gpu"
	return slices.Concat([]driver.Flag{gpu, driver.OptFlag("")}, driver.CodeFlags())
}

// Run is the command: PASS or FAIL per case in the order given, then the summary; 1 when a case failed.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 {
		switch args[0] {
		case driver.AsTileiras:
			driver.TidyOnSignals()
			return driver.Tileiras(args[1:], stdin, stdout, stderr)
		case asWorker:
			return work(args[1:], stdin, stdout, stderr)
		}
	}
	return driver.Arriving(command)(args, stdin, stdout, stderr)
}

func command(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	line, err := Command.Parse(args)
	if err != nil {
		return driver.Report(err, stderr)
	}
	if driver.Information(line, stdout, stderr) {
		return driver.ExitOK
	}
	line.PrintOptions(stderr)
	if line.Bool("gpus") {
		if err := listGPUs(stdout); err != nil {
			fmt.Fprintln(stderr, "error:", err)
			return driver.ExitOptions
		}
		return driver.ExitOK
	}
	if err := together(line); err != nil {
		fmt.Fprintln(stderr, "error:", err)
		return driver.ExitUsage
	}
	if err := line.Options().Check(); err != nil {
		return driver.Report(err, stderr)
	}
	if ownKernel(line) {
		return runOwn(line, stdin, stdout, stderr)
	}
	files, err := find(line.Args, line.Given("launch"))
	if err != nil || len(files) == 0 {
		if err == nil {
			err = fmt.Errorf("no case is given; try tilerun --help")
		}
		fmt.Fprintln(stderr, "error:", err)
		return driver.ExitUsage
	}
	if err := line.CheckFiles(); err != nil {
		return driver.Report(err, stderr)
	}
	if line.Given("launch") && len(files) != 1 {
		fmt.Fprintln(stderr, "error: --launch takes one PTX file")
		return driver.ExitUsage
	}
	return runCases(line, args, files, stdout, stderr)
}

// runCases runs cases, those for a GPU in processes of their own.
func runCases(line *driver.Line, args, files []string, stdout, stderr io.Writer) int {
	r := newRunner(line)
	r.out = stdout
	if f, ok := stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		r.progress = f
	}
	jobs, onGPU := line.Int("jobs"), line.String("on") == "gpu"
	switch {
	case onGPU && (jobs <= 0 || line.Int("runs") > 0):
		jobs = 1 // what is timed has the GPU alone
	case jobs <= 0:
		jobs = runtime.NumCPU()
	}
	jobs = min(jobs, len(files))
	var err error
	if onGPU {
		var p *workers
		if p, err = newWorkers(args, jobs, r.limit, stderr); err == nil {
			defer p.end()
			r.run = p.run
		}
	} else {
		r.machines, err = machinesFor(line)
	}
	if err != nil {
		fmt.Fprintln(stderr, "error:", err)
		return driver.ExitOptions
	}
	code := r.all(files, jobs)
	if file := line.String("report"); file != "" {
		if err := driver.WriteOutput(file, r.report.text(file), stdout); err != nil {
			return driver.Report(err, stderr)
		}
	}
	return code
}

// ownKernel reports whether the command line is about one kernel, not about cases.
func ownKernel(line *driver.Line) bool {
	return line.Given("grid") || line.Given("arg") || line.Given("out") || len(line.Args) == 1 && isKernel(line.Args[0]) && !line.Given("launch")
}

// runsPTX reports whether the one kernel of the command line is PTX.
func runsPTX(line *driver.Line) bool {
	return len(line.Args) == 1 && filepath.Ext(line.Args[0]) == ".ptx"
}

// isKernel tells a kernel from a case by the name of its file.
func isKernel(file string) bool {
	return slices.Contains([]driver.Emit{driver.EmitCudaTile, driver.EmitBytecode, driver.EmitPTX}, driver.EmitFor(file))
}

// together refuses flags of which one would not count beside the others.
func together(line *driver.Line) error {
	own := ownKernel(line)
	for _, flag := range []string{"kernel", "block", "shared"} {
		if line.Given(flag) && !own {
			return fmt.Errorf("--%s is of one kernel that --grid X,Y,Z runs", flag)
		}
	}
	for _, f := range Command.Flags {
		switch {
		case f.Field == nil || !line.Given(f.Name):
		case line.String("on") == "interp":
			return fmt.Errorf("--%s is of compiled code, and the interpreter runs Tile IR as it is: add --on emu or --on gpu", f.Name)
		case line.Given("launch") || own && runsPTX(line):
			return fmt.Errorf("--%s is of our compiler, and PTX has been compiled", f.Name)
		}
	}
	_, known := executor.ChecksOf(line.String("checks"))
	switch {
	case line.Given("report") && own:
		return fmt.Errorf("--report is of cases")
	case line.Given("report") && !isReport(line.String("report")):
		return fmt.Errorf("--report=%s: the name of a report ends in .json or .xml", line.String("report"))
	case !known:
		return fmt.Errorf("--checks=%s: it must be all, none, or some of races, undefined, alignment with commas between", line.String("checks"))
	case line.Given("checks") && line.String("on") == "gpu":
		return fmt.Errorf("--checks is of interpreter and emulator: a GPU checks nothing")
	case own && line.Given("launch"):
		return fmt.Errorf("--launch says the grid and the arguments: leave out --grid, --arg and --out")
	case line.Given("runs") && line.String("on") != "gpu":
		return fmt.Errorf("--runs times launches on a GPU: add --on gpu")
	case line.Given("schedule") && line.String("on") != "emu":
		return fmt.Errorf("--schedule is of the emulator: add --on emu")
	case line.Given("undefined") && line.String("on") != "interp":
		return fmt.Errorf("--undefined is of the interpreter: --on interp")
	case line.Given("time-limit") && own && line.String("on") == "gpu":
		return fmt.Errorf("--time-limit on a GPU is of cases: one kernel runs in the process itself")
	}
	return nil
}

// machinesFor makes, for a case, the machines under each of which it must pass.
func machinesFor(line *driver.Line) (func() []cases.Machine, error) {
	checks, _ := executor.ChecksOf(line.String("checks"))
	switch line.String("on") {
	case "interp":
		return only(&Interpreter{ZeroPadding: line.String("undefined") == "zero", Checks: checks}), nil
	case "gpu":
		m, err := newGPU(line)
		return only(m), err
	}
	var schedules []emu.Schedule
	for _, s := range emu.Schedules {
		if name := line.String("schedule"); name == "all" || name == s.String() {
			schedules = append(schedules, s)
		}
	}
	o := line.Options()
	return func() []cases.Machine { return emulators(o, schedules, checks) }, nil
}

// only is one machine for every case.
func only(m cases.Machine) func() []cases.Machine {
	return func() []cases.Machine { return []cases.Machine{m} }
}

// find lists the case files: a file stands for itself, a folder for every case.json, bench.json and
// launch.json below it, sorted. With a launch record a file may be a kernel.
func find(args []string, launch bool) ([]string, error) {
	var files []string
	for _, a := range args {
		st, err := os.Stat(a)
		if err != nil {
			return nil, errors.New(driver.Unreadable(a, err))
		}
		if !st.IsDir() && isKernel(a) && !launch {
			return nil, fmt.Errorf("%s is a kernel, no case: give it alone, with --grid X,Y,Z, or a case.json that names it", a)
		}
		if !st.IsDir() {
			files = append(files, a)
			continue
		}
		var below []string
		err = filepath.WalkDir(a, func(path string, d os.DirEntry, err error) error {
			if err == nil && (d.Name() == "case.json" || d.Name() == "bench.json" || d.Name() == "launch.json") {
				below = append(below, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(below) == 0 {
			return nil, fmt.Errorf("%s holds no case: no case.json, bench.json or launch.json in it or below; --grid X,Y,Z runs a kernel without one", a)
		}
		sort.Strings(below)
		files = append(files, below...)
	}
	return files, nil
}

type runner struct {
	machines                  func() []cases.Machine // of one case
	run                       func(file string) line // runs a case on the machines, or elsewhere
	core, stats, notes, quiet bool
	launch                    string // launch record of the one file, which is PTX
	limit                     time.Duration
	report                    report
	out                       io.Writer
	progress                  *os.File
}

// line is what became of a case.
type line struct {
	Name    string
	Text    string
	Skipped bool
	OK      bool
	Failure failure // of one that is not OK
}

// failing is the line of a case that has failed.
func failing(name string, why failure) line {
	return line{Name: name, Text: fmt.Sprintf("FAIL %s: %s", name, why.Message), Failure: why}
}

// timeLimit is how long a case may take; 0 is for ever.
func timeLimit(line *driver.Line) time.Duration {
	return time.Duration(min(line.Int("time-limit"), 1<<32)) * time.Second
}

// within is a context that ends with the time limit.
func within(limit time.Duration) (context.Context, context.CancelFunc) {
	if limit == 0 {
		return context.WithCancel(context.Background())
	}
	return context.WithTimeoutCause(context.Background(), limit, tooLate(limit))
}

// tooLate is what is wrong with a case that takes longer than the limit.
type tooLate time.Duration

func (l tooLate) Error() string {
	return fmt.Sprintf("it did not end within %v (--time-limit)", time.Duration(l))
}

// newRunner is a runner without machines.
func newRunner(line *driver.Line) *runner {
	r := &runner{core: line.Bool("core"), stats: line.Bool("stats"), notes: line.Bool("notes"), quiet: line.Bool("quiet"), launch: line.String("launch"), limit: timeLimit(line)}
	r.run = r.runCase
	return r
}

// all runs the cases, several at a time, and prints their lines in order.
func (r *runner) all(files []string, jobs int) int {
	began := time.Now()
	results, took := make([]chan line, len(files)), make([]time.Duration, len(files))
	for i := range results {
		results[i] = make(chan line, 1)
	}
	var next sync.Mutex
	at := 0
	for range jobs {
		go func() {
			for {
				next.Lock()
				i := at
				at++
				next.Unlock()
				if i >= len(files) {
					return
				}
				start := time.Now()
				l := r.run(files[i])
				took[i] = time.Since(start)
				results[i] <- l
			}
		}()
	}
	rep := &r.report
	for i := range files {
		if r.progress != nil {
			fmt.Fprintf(r.progress, "\r\033[K%d/%d  %d failed  %s", i, len(files), rep.Failed, filepath.Base(filepath.Dir(files[i])))
		}
		l := <-results[i]
		if r.progress != nil {
			fmt.Fprint(r.progress, "\r\033[K")
		}
		if l.Skipped {
			continue
		}
		if l.OK {
			rep.Passed++
		} else {
			rep.Failed++
		}
		rep.add(files[i], l, took[i])
		if !l.OK || !r.quiet {
			fmt.Fprintln(r.out, l.Text)
		}
	}
	rep.Seconds = time.Since(began).Seconds()
	fmt.Fprintf(r.out, "%d passed, %d failed\n", rep.Passed, rep.Failed)
	if rep.Failed > 0 {
		return 1
	}
	return driver.ExitOK
}

// caseName is what a case is called that may not have been read.
func caseName(file string) string {
	if name := filepath.Base(filepath.Dir(file)); name != "." {
		return name
	}
	return file
}

// runCase runs a case on every machine; the first failure counts.
func (r *runner) runCase(file string) (l line) {
	name := caseName(file)
	defer func() {
		if p := recover(); p != nil {
			l = failing(name, failure{Kind: string(driver.KindBug), Message: fmt.Sprintf("BUG: %v", p)})
		}
	}()
	load := cases.Load
	if r.launch != "" {
		load = func(ptx string) (*cases.Case, error) { return cases.LoadLaunch(ptx, r.launch) }
	}
	c, err := load(file)
	if err != nil {
		return failing(name, failure{Kind: kindCase, Message: err.Error()})
	}
	if r.core && !c.Core {
		return line{Skipped: true}
	}
	text := "PASS " + c.Name
	machines := r.machines()
	ctx, end := within(r.limit)
	defer end()
	for _, m := range machines {
		v := cases.Run(ctx, m, c)
		if v.Status != cases.Pass {
			why := whyFailed(&v)
			if ctx.Err() != nil {
				why = failure{Kind: kindLate, Message: context.Cause(ctx).Error()}
			}
			if len(machines) > 1 && v.Status == cases.Fail {
				why.Message += fmt.Sprintf(" (%v)", m)
			}
			return failing(c.Name, why)
		}
		if r.notes && v.Outcome != nil {
			for _, n := range v.Outcome.Notes {
				text += fmt.Sprintf("\n     note (%v): %s", m, n)
			}
		}
		if v.Outcome != nil && len(v.Outcome.Times) > 0 {
			text += "\n     " + rates(c, v.Outcome.Times)
		}
		if r.stats && v.Outcome != nil && v.Outcome.Stats != nil {
			text += "\n" + indent(fmt.Sprintf("%v: %v", m, v.Outcome.Stats))
		}
	}
	return line{Name: c.Name, Text: text, OK: true}
}

// rates is what the launches of a case took, and what that makes of its work and traffic.
func rates(c *cases.Case, times []time.Duration) string {
	slices.Sort(times)
	median := times[len(times)/2]
	text := fmt.Sprintf("%.3f ms, least %.3f", 1e3*median.Seconds(), 1e3*times[0].Seconds())
	if c.Flops > 0 {
		text += fmt.Sprintf(", %.1f TF/s", float64(c.Flops)/median.Seconds()/1e12)
	}
	if c.Bytes > 0 {
		text += fmt.Sprintf(", %.1f GB/s", float64(c.Bytes)/median.Seconds()/1e9)
	}
	return text
}

func indent(s string) string {
	return "     " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n     ")
}
