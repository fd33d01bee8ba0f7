package tilerun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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
	out, err := own(line, stdin, stdout)
	if out != nil {
		io.WriteString(said, out.Stdout)
		for _, n := range out.Notes {
			fmt.Fprintln(stderr, "note:", n)
		}
		if line.Bool("stats") && out.Stats != nil {
			fmt.Fprintln(said, strings.TrimSpace(fmt.Sprint(out.Stats)))
		}
	}
	var wrong usage
	switch {
	case errors.As(err, &wrong):
		fmt.Fprintln(stderr, "error:", strings.TrimPrefix(err.Error(), "error: "))
		return driver.ExitUsage
	case err != nil:
		fmt.Fprintln(stderr, "error:", strings.TrimPrefix(err.Error(), "error: "))
		return 1
	}
	return driver.ExitOK
}

// usage is an error of the command line.
type usage struct{ error }

func wrong(format string, args ...any) error { return usage{fmt.Errorf(format, args...)} }

// output is an array to write: which buffer, and where.
type output struct {
	buffer int
	file   string
}

func own(line *driver.Line, stdin io.Reader, stdout io.Writer) (*cases.Outcome, error) {
	if len(line.Args) != 1 {
		return nil, wrong("--grid, --arg and --out run one kernel file, got %d", len(line.Args))
	}
	if err := line.CheckFiles(); err != nil {
		return nil, usage{err}
	}
	file := line.Args[0]
	source, err := driver.ReadInput(file, stdin)
	if err != nil {
		return nil, usage{err}
	}
	l := &cases.Launch{Kernel: line.String("kernel")}
	if !line.Given("grid") {
		return nil, wrong("how many tile blocks? --grid X,Y,Z says it")
	}
	if l.Grid, err = extents(line.String("grid")); err != nil {
		return nil, wrong("--grid: %v", err)
	}
	if err := own1(l, line, file, source); err != nil {
		return nil, err
	}
	var types []*cases.DType
	for i, text := range line.List("arg") {
		d, err := argument(l, text)
		if err != nil {
			return nil, wrong("--arg %s (parameter %d): %v", text, i, err)
		}
		types = append(types, d)
	}
	shapes, err := shapesOf(l, line.List("arg"))
	if err != nil {
		return nil, err
	}
	outs, err := outputs(l, line.List("out"))
	if err != nil {
		return nil, err
	}
	machines, err := machinesFor(line)
	if err != nil {
		return nil, usage{err}
	}
	last, err := launchOn(machines, l, file)
	if err != nil {
		return last, err
	}
	for _, o := range outs {
		k := slices.IndexFunc(l.Params, func(p cases.LaunchParam) bool { return p.Type == nil && p.Buffer == o.buffer })
		array := &cases.Array{Descr: types[k].Npy(), Shape: shapes[o.buffer], Data: last.Buffers[o.buffer]}
		if err := driver.WriteOutput(o.file, cases.WriteNpy(array), stdout); err != nil {
			return last, err
		}
	}
	return last, nil
}

// launchOn runs a launch on machines. Every schedule of the emulator finds its own races; the last one's outcome counts.
func launchOn(machines []cases.Machine, l *cases.Launch, file string) (last *cases.Outcome, err error) {
	for _, m := range machines {
		if in, ok := m.(*Interpreter); ok {
			in.Name = file
		}
		if last, err = m.Launch(context.Background(), l); err != nil {
			return last, err
		}
	}
	if last.AssertFailed {
		return last, fmt.Errorf("assertion failed: %s", strings.TrimSpace(last.Message))
	}
	return last, nil
}

// own1 reads the kernel, checks the arguments against its parameters, and finds the one that is meant.
func own1(l *cases.Launch, line *driver.Line, file string, source []byte) error {
	args := line.List("arg")
	var kernels []executor.Kernel
	if filepath.Ext(file) == ".ptx" {
		if line.String("on") == "interp" {
			return wrong("the interpreter runs Tile IR, not PTX: --on emu or --on gpu")
		}
		l.PTX = &cases.PTX{Text: string(source), Shared: line.Int("shared")}
		if line.Given("block") {
			var err error
			if l.PTX.Block, err = extents(line.String("block")); err != nil {
				return wrong("--block: %v", err)
			}
		}
		p, err := executor.LoadPTX(string(source), [3]int{}, [3]int{}, 0, executor.Options{Name: file})
		if err != nil {
			return err
		}
		kernels = p.Kernels()
	} else {
		l.Bytecode = source
		p, err := executor.Load(context.Background(), source, executor.Options{Name: file})
		if err != nil {
			return err
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
		return wrong("%s has the kernels %s: --kernel names one", file, strings.Join(names, ", "))
	case i < 0:
		return wrong("%s has no kernel %s, but %s", file, l.Kernel, strings.Join(names, ", "))
	}
	k := kernels[i]
	if l.Kernel = k.Name; len(args) != len(k.Params) {
		return wrong("kernel %s has %d parameters, got %d --arg: %s", k.Name, len(k.Params), len(args), signature(k))
	}
	if l.PTX == nil {
		for i, p := range k.Params {
			if err := fits(p, args[i]); err != nil {
				return wrong("--arg %s (parameter %d): %v", args[i], i, err)
			}
		}
	}
	return nil
}

// fits tells whether an argument may be given for a parameter.
func fits(p executor.Param, arg string) error {
	typ, _, scalar := scalarText(arg)
	switch {
	case p.Pointer && scalar && typ != "i64" && typ != "u64":
		return fmt.Errorf("the parameter is a %s: give an array, FILE.npy or TYPE[SHAPE], or an address as u64:N", p.Type)
	case p.Pointer:
		return nil
	case !scalar:
		return fmt.Errorf("the parameter is a %s: give a scalar, %s:VALUE", p.Type, p.Type)
	}
	if unsigned := strings.Replace(typ, "u", "i", 1); unsigned != p.Type && !(typ == "bool" && p.Type == "i1") {
		return fmt.Errorf("the parameter is a %s, not a %s", p.Type, typ)
	}
	return nil
}

func signature(k executor.Kernel) string {
	var types []string
	for _, p := range k.Params {
		types = append(types, p.Type)
	}
	return k.Name + "(" + strings.Join(types, ", ") + ")"
}

// extents reads 4,1,1 or 4: what is left out is 1.
func extents(text string) (out [3]int, err error) {
	out = [3]int{1, 1, 1}
	parts := strings.Split(text, ",")
	if len(parts) > 3 {
		return out, fmt.Errorf("%q has more than three extents", text)
	}
	for i, p := range parts {
		if out[i], err = strconv.Atoi(strings.TrimSpace(p)); err != nil || out[i] < 1 {
			return out, fmt.Errorf("%q is no number of 1 or more", p)
		}
	}
	return out, nil
}

var (
	scalarArg = regexp.MustCompile(`^([a-z]+\d*[a-z0-9]*):(.+)$`)
	zerosArg  = regexp.MustCompile(`^([a-z]+\d*[a-z0-9]*)\[(\d+(?:x\d+)*)\]$`)
)

// scalarText splits i32:64.
func scalarText(arg string) (typ, value string, ok bool) {
	m := scalarArg.FindStringSubmatch(arg)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// argument adds a parameter to a launch, with its buffer if it is an array, and gives the type of it or of its elements.
func argument(l *cases.Launch, text string) (*cases.DType, error) {
	if typ, value, ok := scalarText(text); ok {
		d, err := cases.DTypeByName(typ)
		if err != nil {
			return nil, err
		}
		bits, err := scalarBits(d, value)
		l.Params = append(l.Params, cases.LaunchParam{Type: d, Bits: bits})
		return d, err
	}
	d, _, data, err := array(text)
	if err != nil {
		return nil, err
	}
	l.Params = append(l.Params, cases.LaunchParam{Buffer: len(l.Buffers)})
	l.Buffers = append(l.Buffers, cases.LaunchBuffer{Name: strings.TrimSuffix(filepath.Base(text), ".npy"), Bytes: data, Align: cases.Align})
	return d, nil
}

// scalarBits reads a value: a number, and inf, -inf or nan of a float, true or false of an i1.
func scalarBits(d *cases.DType, value string) (uint64, error) {
	if d.Format != nil {
		switch strings.ToLower(strings.TrimPrefix(strings.TrimPrefix(value, "+"), "-")) {
		case "inf", "infinity":
			if !d.Format.HasInf() {
				return 0, fmt.Errorf("%s has no infinity", d.Name)
			}
			return d.Format.Inf(strings.HasPrefix(value, "-")), nil
		case "nan":
			return d.Format.NaN(), nil
		}
	}
	if d.Name == "i1" || d.Name == "bool" {
		switch value {
		case "0", "false":
			return 0, nil
		case "1", "true":
			return 1, nil
		}
		return 0, fmt.Errorf("%q is no truth value: 0, 1, true or false", value)
	}
	bits, err := d.Parse(value)
	if err != nil {
		return 0, fmt.Errorf("%q is no %s", value, d.Name)
	}
	return bits, nil
}

// array reads FILE.npy, or makes TYPE[SHAPE] of zeros.
func array(text string) (d *cases.DType, shape []int, data []byte, err error) {
	if m := zerosArg.FindStringSubmatch(text); m != nil {
		if d, err = cases.DTypeByName(m[1]); err != nil {
			return nil, nil, nil, err
		}
		n := d.Size
		for _, s := range strings.Split(m[2], "x") {
			e, err := strconv.Atoi(s)
			if err != nil || e > maxZeros || n*e > maxZeros {
				return nil, nil, nil, fmt.Errorf("more than %d bytes", maxZeros)
			}
			n *= e
			shape = append(shape, e)
		}
		return d, shape, make([]byte, n), nil
	}
	content, err := cases.ReadFile(text)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("%w (an argument is FILE.npy, TYPE[SHAPE] or TYPE:VALUE)", err)
	}
	a, err := cases.ReadNpy(content)
	if err != nil {
		return nil, nil, nil, err
	}
	if d = cases.OfNpy(a.Descr); d == nil {
		return nil, nil, nil, fmt.Errorf("elements of type %s are not known here", a.Descr)
	}
	return d, a.Shape, bytes.Clone(a.Data), nil
}

// maxZeros bounds a new array.
const maxZeros = 1 << 34

// shapesOf are the shapes of the buffers.
func shapesOf(l *cases.Launch, args []string) (out [][]int, err error) {
	for i, p := range l.Params {
		if p.Type != nil {
			continue
		}
		_, shape, _, err := array(args[i])
		if err != nil {
			return nil, err
		}
		out = append(out, shape)
	}
	return out, nil
}

// outputs finds the arrays that are to be written.
func outputs(l *cases.Launch, texts []string) (out []output, err error) {
	for _, text := range texts {
		k, file := outputFile(text)
		if k < 0 {
			if len(l.Buffers) == 0 {
				return nil, wrong("--out %s: no argument is an array", text)
			}
			out = append(out, output{len(l.Buffers) - 1, file})
			continue
		}
		if k >= len(l.Params) || l.Params[k].Type != nil {
			return nil, wrong("--out %s: parameter %d is no array", text, k)
		}
		out = append(out, output{l.Params[k].Buffer, file})
	}
	return out, nil
}

// outputFile reads a value of --out: N:FILE is the array of parameter N, FILE the last one, -1.
func outputFile(text string) (param int, file string) {
	n, file, numbered := strings.Cut(text, ":")
	if k, err := strconv.ParseUint(n, 10, 31); numbered && err == nil {
		return int(k), file
	}
	return -1, text
}

// outputFiles are the files that --out names.
func outputFiles(line *driver.Line) []string {
	var files []string
	for _, text := range line.List("out") {
		_, file := outputFile(text)
		files = append(files, file)
	}
	return files
}

// argumentFiles are the arrays that --arg names.
func argumentFiles(line *driver.Line) []string {
	var files []string
	for _, text := range line.List("arg") {
		if _, _, scalar := scalarText(text); !scalar && !zerosArg.MatchString(text) {
			files = append(files, text)
		}
	}
	return files
}
