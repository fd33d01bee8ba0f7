package tilerun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tileiras/internal/driver"
	"tileiras/runtime/cases"
	"tileiras/runtime/executor"
)

// runOwn runs one kernel on the arguments of the command line and writes the outputs.
func runOwn(line *driver.Line, stdin io.Reader, stdout, stderr io.Writer) int {
	said := stdout
	if slices.Contains(outputFiles(line), "-") {
		said = stderr // standard output is an array's
	}
	out, err := guarded(func() (*cases.Outcome, error) { return own(line, stdin, stdout) })
	if out != nil {
		io.WriteString(said, out.Stdout)
		for _, n := range out.Notes {
			fmt.Fprintln(stderr, "note:", n)
		}
		if line.Bool("stats") && out.Stats != nil {
			fmt.Fprintln(said, strings.TrimSpace(fmt.Sprint(out.Stats)))
		}
	}
	var f *driver.Failure
	switch {
	case errors.As(err, &f):
		if driver.Report(f, stderr) == driver.ExitBug {
			return driver.ExitBug
		}
		return 1
	case err != nil:
		fmt.Fprintln(stderr, "error:", err)
		return 1
	}
	return driver.ExitOK
}

// guarded runs a kernel; a panic on the way is a fault of ours.
func guarded(run func() (*cases.Outcome, error)) (out *cases.Outcome, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = &driver.Failure{Code: driver.ExitBug, Kind: driver.KindBug, Lines: []string{fmt.Sprintf("BUG: %v", x)}}
		}
	}()
	return run()
}

// output is an array to write: which buffer, and where.
type output struct {
	buffer int
	file   string
}

func own(line *driver.Line, stdin io.Reader, stdout io.Writer) (*cases.Outcome, error) {
	if len(line.Args) != 1 {
		return nil, fmt.Errorf("--grid, --arg and --out run one kernel file, got %d", len(line.Args))
	}
	if err := line.CheckFiles(); err != nil {
		return nil, err
	}
	if slices.Contains(outputFiles(line), "-") && !driver.Arrives(stdout) {
		return nil, errors.New("standard output is closed: write to a file with --out FILE")
	}
	file := line.Args[0]
	source, err := driver.ReadInput(file, stdin)
	if err != nil {
		return nil, err
	}
	l := &cases.Launch{Kernel: line.String("kernel")}
	k, err := own1(l, line, file, source)
	if err != nil {
		return nil, err
	}
	if !line.Given("grid") {
		return nil, fmt.Errorf("%s holds the kernel %s: say how many tile blocks run it, --grid X,Y,Z, and what its parameters are, an --arg each", file, signature(k))
	}
	if l.Grid, err = extents(line.String("grid"), executor.MaxGrid); err != nil {
		return nil, fmt.Errorf("--grid: %v", err)
	}
	arrays, err := arguments(l, k, line.List("arg"))
	if err != nil {
		return nil, err
	}
	outs, err := outputs(l, line.List("out"))
	if err != nil {
		return nil, err
	}
	machines, err := machinesFor(line)
	if err != nil {
		return nil, err
	}
	limit := timeLimit(line)
	if line.String("on") == "gpu" {
		limit = 0
	}
	ctx, end := within(limit)
	defer end()
	last, err := launchOn(ctx, machines(), l)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return last, err
	}
	for _, o := range outs {
		array := *arrays[o.buffer]
		array.Data = last.Buffers[o.buffer]
		if err := driver.WriteOutput(o.file, cases.WriteNpy(&array), stdout); err != nil {
			return last, err
		}
	}
	return last, nil
}

// launchOn runs a launch on machines until something is wrong. Every schedule of the emulator finds its own races; the last one's outcome counts.
func launchOn(ctx context.Context, machines []cases.Machine, l *cases.Launch) (last *cases.Outcome, err error) {
	for _, m := range machines {
		last, err = m.Launch(ctx, l)
		switch {
		case err != nil:
			return last, err
		case last.AssertFailed:
			return last, fmt.Errorf("assertion failed: %s", strings.TrimSpace(last.Message))
		}
	}
	return last, nil
}

// own1 reads the file and finds the kernel that is meant.
func own1(l *cases.Launch, line *driver.Line, file string, source []byte) (k executor.Kernel, err error) {
	var kernels []executor.Kernel
	if runsPTX(line) {
		if line.String("on") == "interp" {
			return k, errNotPTX
		}
		l.PTX = &cases.PTX{Text: string(source), File: file, Shared: line.Int("shared")}
		if line.Given("block") {
			if l.PTX.Block, err = extents(line.String("block"), maxThreads); err != nil {
				return k, fmt.Errorf("--block: %v", err)
			}
		}
		p, err := executor.LoadPTX(string(source), [3]int{}, [3]int{}, 0, executor.Options{Name: file})
		if err != nil {
			return k, err
		}
		kernels = p.Kernels()
	} else {
		for _, flag := range []string{"block", "shared"} {
			if line.Given(flag) {
				return k, fmt.Errorf("--%s is of PTX: the compiler decides it for Tile IR", flag)
			}
		}
		l.Bytecode, l.File = source, file
		p, err := executor.Load(context.Background(), source, executor.Options{Name: file})
		if err != nil {
			return k, err
		}
		kernels = p.Kernels()
	}
	var names []string
	for _, k := range kernels {
		names = append(names, k.Name)
	}
	i := slices.Index(names, l.Kernel)
	switch {
	case l.Kernel == "" && len(kernels) == 1:
		i = 0
	case l.Kernel == "":
		return k, fmt.Errorf("%s has the kernels %s: --kernel names one", file, strings.Join(names, ", "))
	case i < 0:
		return k, fmt.Errorf("%s has no kernel %s, but %s", file, l.Kernel, strings.Join(names, ", "))
	}
	l.Kernel = kernels[i].Name
	return kernels[i], nil
}

func signature(k executor.Kernel) string {
	var types []string
	for _, p := range k.Params {
		types = append(types, p.Type)
	}
	return k.Name + "(" + strings.Join(types, ", ") + ")"
}
