package tilerun

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"tileiras/internal/driver"
	"tileiras/runtime/cases"
	"tileiras/runtime/executor"
)

// argument is a value of --arg: a scalar, or an array whose address is passed.
type argument struct {
	typ   *cases.DType // of the scalar or of the elements
	bits  uint64       // of the scalar
	bytes []byte       // of a struct
	array *cases.Array // nil: a scalar
}

// forms are those that readArgument knows.
const forms = "an argument is FILE.npy, TYPE[SHAPE] such as f32[10x20], TYPE:VALUE such as i32:64, or the bytes of a struct such as bytes:01ff"

// maxThreads is how many threads a dimension of a block may have.
const maxThreads = 1024

var (
	scalarArg = regexp.MustCompile(`^([a-z]+\d*[a-z0-9]*):(.*)$`)
	zerosArg  = regexp.MustCompile(`^([a-z]+\d*[a-z0-9]*)\[(\d+(?:x\d+)*)\]$`)
)

// arguments gives a launch the parameters of a kernel and its buffers, and returns the arrays in them.
func arguments(l *cases.Launch, k executor.Kernel, texts []string) (arrays []*cases.Array, err error) {
	if len(texts) != len(k.Params) {
		return nil, fmt.Errorf("kernel %s has %d parameters, got %d --arg: %s", k.Name, len(k.Params), len(texts), signature(k))
	}
	for i, text := range texts {
		var a argument
		if l.PTX != nil { // which says sizes only
			a, err = readArgument(text)
		} else {
			a, err = argumentFor(k.Params[i], text)
		}
		if err != nil {
			return nil, fmt.Errorf("--arg %s (parameter %d): %v", text, i, err)
		}
		if a.array == nil {
			l.Params = append(l.Params, cases.LaunchParam{Type: a.typ, Bits: a.bits, Bytes: a.bytes})
			continue
		}
		l.Params = append(l.Params, cases.LaunchParam{Buffer: len(l.Buffers)})
		l.Buffers = append(l.Buffers, cases.LaunchBuffer{Name: nameOf(texts, i), Bytes: a.array.Data, Align: cases.Align})
		arrays = append(arrays, a.array)
	}
	return arrays, nil
}

// nameOf is what reports call an array: its --arg, with the number of the parameter where another array has the same.
func nameOf(texts []string, i int) string {
	short := func(text string) string { return strings.TrimSuffix(filepath.Base(text), ".npy") }
	name := short(texts[i])
	for k, other := range texts {
		if k != i && short(other) == name {
			return fmt.Sprintf("%s (parameter %d)", name, i)
		}
	}
	return name
}

// readArgument reads a value of --arg.
func readArgument(text string) (a argument, err error) {
	if digits, ok := strings.CutPrefix(text, "bytes:"); ok {
		a.typ, a.bytes, err = cases.ParseBytes(digits)
		return a, err
	}
	if m := scalarArg.FindStringSubmatch(text); m != nil {
		if a.typ, err = cases.DTypeByName(m[1]); err == nil {
			a.bits, err = scalarBits(a.typ, m[2])
		}
		return a, err
	}
	if m := zerosArg.FindStringSubmatch(text); m != nil {
		if a.typ, err = cases.DTypeByName(m[1]); err == nil {
			a.array, err = zeros(a.typ, strings.Split(m[2], "x"))
		}
		return a, err
	}
	content, err := cases.ReadFile(text)
	var path *fs.PathError
	switch {
	case errors.As(err, &path):
		return a, fmt.Errorf("%w; %s", path.Err, forms)
	case err != nil:
		return a, err
	}
	if a.array, err = cases.ReadNpy(content); err != nil {
		return a, err
	}
	a.array.Data = bytes.Clone(a.array.Data)
	if a.typ = cases.OfNpy(a.array.Descr); a.typ == nil {
		return a, fmt.Errorf("elements of type %s are not known here", a.array.Descr)
	}
	return a, nil
}

// argumentFor reads a value of --arg that a parameter of Tile IR takes.
func argumentFor(p executor.Param, text string) (a argument, err error) {
	want := strings.ToLower(p.Type)
	if !p.Pointer && !scalarArg.MatchString(text) {
		return a, fmt.Errorf("the parameter is of type %s: give a scalar, %s:VALUE", p.Type, want)
	}
	if a, err = readArgument(text); err != nil {
		return a, err
	}
	switch scalar := a.typ.Name; {
	case p.Pointer && a.array == nil && scalar != "i64" && scalar != "u64":
		return a, fmt.Errorf("the parameter is of type %s: give an array, FILE.npy or TYPE[SHAPE], or an address as u64:N", p.Type)
	case p.Pointer && a.array != nil && !a.typ.Stores(strings.ToLower(p.Elem)):
		return a, fmt.Errorf("the parameter is of type %s, the elements of the array are %s", p.Type, a.typ.Name)
	case !p.Pointer && strings.Replace(scalar, "u", "i", 1) != want && !(scalar == "bool" && want == "i1"):
		return a, fmt.Errorf("the parameter has type %s, not %s", p.Type, scalar)
	}
	return a, nil
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
	return d.Parse(value)
}

// maxZeros bounds a new array.
const maxZeros = 1 << 34

// zeros makes a new array.
func zeros(d *cases.DType, extents []string) (*cases.Array, error) {
	a := &cases.Array{Descr: d.Npy()}
	n := d.Size
	for _, s := range extents {
		e, err := strconv.Atoi(s)
		if err != nil || e > 0 && n > maxZeros/e {
			return nil, fmt.Errorf("an array has %d bytes at most", maxZeros)
		}
		n *= e
		a.Shape = append(a.Shape, e)
	}
	a.Data = make([]byte, n)
	return a, nil
}

// extents reads 4,1,1 or 4: what is left out is 1.
func extents(text string, most int) (out [3]int, err error) {
	out = [3]int{1, 1, 1}
	parts := strings.Split(text, ",")
	if len(parts) > 3 {
		return out, fmt.Errorf("%q has more than three extents", text)
	}
	for i, p := range parts {
		if out[i], err = strconv.Atoi(strings.TrimSpace(p)); err != nil || out[i] < 1 || out[i] > most {
			return out, fmt.Errorf("%q is no number from 1 to %d", p, most)
		}
	}
	return out, nil
}

// outputs finds the arrays that are to be written.
func outputs(l *cases.Launch, texts []string) (out []output, err error) {
	for _, text := range texts {
		k, file, numbered := outputFile(text)
		switch {
		case !numbered && len(l.Buffers) == 0:
			return nil, fmt.Errorf("--out %s: no argument is an array", text)
		case !numbered:
			out = append(out, output{len(l.Buffers) - 1, file})
		case k < 0 || k >= len(l.Params) || l.Params[k].Type != nil:
			return nil, fmt.Errorf("--out %s: parameter %d is no array", text, k)
		default:
			out = append(out, output{l.Params[k].Buffer, file})
		}
	}
	return out, nil
}

// outputFile reads a value of --out: N:FILE is the array of parameter N, FILE the last one.
func outputFile(text string) (param int, file string, numbered bool) {
	n, file, numbered := strings.Cut(text, ":")
	if k, err := strconv.Atoi(n); numbered && err == nil {
		return k, file, true
	}
	return 0, text, false
}

// outputFiles are the files that --out names.
func outputFiles(line *driver.Line) []string {
	var files []string
	for _, text := range line.List("out") {
		_, file, _ := outputFile(text)
		files = append(files, file)
	}
	return files
}

// argumentFiles are the arrays that --arg names.
func argumentFiles(line *driver.Line) []string {
	var files []string
	for _, text := range line.List("arg") {
		if !scalarArg.MatchString(text) && !zerosArg.MatchString(text) {
			files = append(files, text)
		}
	}
	return files
}
