// Package regress reads kernels that carry their launch and what it must leave behind in comments, one file a fault that was once
// found. testdata/*.tileir run on the interpreter and, compiled for several GPUs in several ways, on the emulator.
//
//	//! grid=2 p0=iota:128 p1=zero:512 p2=12
//	//! expect p1=hex:7,0x10*3;iota:124,5
//	//! stdout 12;
//
// The first kind of line gives the grid (x, y, z; 1 where it says nothing) and every parameter: a number for a scalar, contents for
// a pointer. The second gives the whole content of a buffer after the launch; a buffer without one must stay as it is. The third is
// text that the kernel must print. Further words of the first kind: targets=sm_80,sm_90 (where not every GPU can run the kernel).
//
// Contents are pieces joined by ";", whose elements have the type that the parameter points to:
//
//	hex:A,B,..      bit patterns, decimal or 0x..; A*N is N times A
//	values:A,B,..   numbers, -1.5 for a float; A*N is N times A
//	iota:N          N elements 0, 1, ..; iota:N,START,STEP  START, START+STEP, .. (STEP is 1 if left out)
//	zero:BYTES
//	gap:BYTES       bytes that do not exist: arrays may be bigger than any memory (in multiples of 256, and after as many)
//
// What is there afterwards must have the expected bits, but for NaN: any NaN is as good as another.
//
// Expected values come from arithmetic by hand or from another implementation, never from our interpreter or compiler.
package regress

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tileiras/dialects/cudatile"
	"tileiras/internal/driver"
	"tileiras/ir"
	"tileiras/runtime/cases"
)

// Targets are the GPUs that a kernel is compiled for, unless it names others.
var Targets = []string{"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"}

// Test is one file.
type Test struct {
	*cases.Case
	Targets []string
}

// Files gives the paths of all kernels below the folder of this package.
func Files(folder string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "testdata", "*.tileir"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s/testdata holds no kernels", folder)
	}
	return files, err
}

// Load reads a kernel of one entry with its launch.
func Load(path string) (*Test, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t, err := parse(strings.TrimSuffix(filepath.Base(path), ".tileir"), text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

func parse(name string, text []byte) (*Test, error) {
	t := &Test{Case: &cases.Case{Name: name, Bytecode: text, Grid: [3]int{1, 1, 1}}, Targets: Targets}
	entry, err := readEntry(name, text)
	if err != nil {
		return nil, err
	}
	t.Kernel = entry.SymName()
	args := entry.Body().Args()
	t.Params = make([]cases.Param, len(args))
	for line := range strings.Lines(string(text)) {
		line, ok := strings.CutPrefix(strings.TrimSpace(line), "//! ")
		if !ok {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "expect":
			err = t.words(rest, func(key, value string) error { return t.expect(key, value) })
		case "stdout":
			t.StdoutContains = append(t.StdoutContains, rest)
		default:
			err = t.words(line, func(key, value string) error { return t.launch(args, key, value) })
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
	}
	for i, p := range t.Params {
		if p.Buffer == "" && p.Type == nil {
			return nil, fmt.Errorf("nothing says what p%d is", i)
		}
	}
	changes := func(x cases.Expect) bool { return !slices.Equal(x.Data, t.Buffer(x.Buffer).Data) }
	if !slices.ContainsFunc(t.Expect, changes) && t.StdoutContains == nil {
		return nil, errors.New("a kernel that does nothing would pass: no expectation differs from what is there before the launch")
	}
	return t, nil
}

// readEntry gives the one entry of a module.
func readEntry(name string, text []byte) (entry cudatile.Entry, err error) {
	in, err := driver.Read(driver.NewContext(), name, text)
	if err != nil {
		return entry, err
	}
	entries := ir.OpsOf[cudatile.Entry](in.Module.Body())
	if len(entries) > 1 {
		return entry, errors.New("the module has several entries")
	}
	if len(entries) == 0 {
		return entry, errors.New("the module has no entry")
	}
	return entries[0], nil
}

// words takes "key=value" words apart.
func (t *Test) words(line string, take func(key, value string) error) error {
	for _, w := range strings.Fields(line) {
		key, value, ok := strings.Cut(w, "=")
		if !ok {
			return fmt.Errorf("%q is not key=value", w)
		}
		if err := take(key, value); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// launch takes a word of a line about the launch.
func (t *Test) launch(args []*ir.Value, key, value string) error {
	switch key {
	case "grid":
		for i, n := range strings.Split(value, ",") {
			v, err := strconv.Atoi(n)
			if err != nil || i > 2 {
				return fmt.Errorf("%q is no grid", value)
			}
			t.Grid[i] = v
		}
		return nil
	case "targets":
		t.Targets = strings.Split(value, ",")
		return nil
	}
	number, ok := strings.CutPrefix(key, "p")
	i, err := strconv.Atoi(number)
	if !ok || err != nil || i < 0 || i >= len(args) {
		return errors.New("no parameter of this name")
	}
	elem := args[i].Type().(*cudatile.TileType).Elem
	p, pointer := elem.(*cudatile.PtrType)
	if pointer {
		elem = p.Elem
	}
	dtype, err := dtypeOf(elem)
	if err != nil {
		return err
	}
	if pointer {
		data, gaps, err := contents(dtype, value)
		t.Buffers = append(t.Buffers, &cases.Buffer{Name: key, DType: dtype, Shape: []int{len(data) / dtype.Size}, Data: data, Gaps: gaps})
		t.Params[i] = cases.Param{Buffer: key}
		return err
	}
	read := pattern
	if dtype.Format != nil && !strings.HasPrefix(value, "0x") {
		read = dtype.Parse
	}
	bits, err := read(value)
	t.Params[i] = cases.Param{Type: dtype, Bits: bits & (1<<(8*dtype.Size) - 1)}
	return err
}

// expect takes a word of a line about what is there afterwards.
func (t *Test) expect(key, value string) error {
	b := t.Buffer(key)
	if b == nil {
		return errors.New("no buffer of this name")
	}
	data, _, err := contents(b.DType, value)
	if err != nil {
		return err
	}
	if len(data) != len(b.Data) {
		return fmt.Errorf("%d bytes are expected in a buffer of %d", len(data), len(b.Data))
	}
	t.Expect = append(t.Expect, cases.Expect{Buffer: key, Data: data})
	return nil
}

// dtypeOf is how the elements of an IR type lie in memory.
func dtypeOf(t ir.Type) (*cases.DType, error) {
	name := ir.TypeString(t)
	if name == "i1" {
		name = "bool"
	}
	name = strings.ToLower(name)
	return cases.DTypeByName(name)
}

// contents reads the pieces of a buffer.
func contents(d *cases.DType, text string) (data []byte, gaps []cases.Gap, err error) {
	for piece := range strings.SplitSeq(text, ";") {
		kind, rest, _ := strings.Cut(piece, ":")
		fields := strings.Split(rest, ",")
		switch kind {
		case "gap":
			var n uint64
			if n, err = strconv.ParseUint(rest, 0, 63); err == nil && (n%256 != 0 || len(data)%256 != 0 || len(data) == 0) {
				err = errors.New("a gap is a multiple of 256 bytes, at a multiple of 256")
			}
			gaps = append(gaps, cases.Gap{At: len(data), Size: n})
		case "hex":
			data, err = list(data, d, fields, pattern)
		case "values":
			data, err = list(data, d, fields, d.Parse)
		case "iota":
			data, err = iota_(data, d, fields)
		case "zero":
			var n int
			n, err = strconv.Atoi(rest)
			data = append(data, make([]byte, max(n, 0))...)
		default:
			err = errors.New("unknown kind of contents")
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%q: %w", piece, err)
		}
		if len(data)%d.Size != 0 {
			return nil, nil, fmt.Errorf("%q: no whole number of elements", piece)
		}
	}
	return data, gaps, nil
}

// list appends elements "A" and "A*N".
func list(data []byte, d *cases.DType, fields []string, read func(string) (uint64, error)) ([]byte, error) {
	for _, f := range fields {
		f, times, repeated := strings.Cut(f, "*")
		n := 1
		if repeated {
			var err error
			if n, err = strconv.Atoi(times); err != nil {
				return nil, err
			}
		}
		bits, err := read(f)
		if err != nil {
			return nil, err
		}
		for range n {
			data = d.Append(data, bits)
		}
	}
	return data, nil
}

// iota_ appends N, START and STEP of an arithmetic sequence.
func iota_(data []byte, d *cases.DType, fields []string) ([]byte, error) {
	v := []int64{0, 0, 1}
	if len(fields) > len(v) {
		return nil, errors.New("iota takes N, START, STEP")
	}
	for i, f := range fields {
		var err error
		if v[i], err = strconv.ParseInt(f, 0, 64); err != nil {
			return nil, err
		}
	}
	for i := range v[0] {
		data = d.Append(data, d.FromInt(v[1]+i*v[2]))
	}
	return data, nil
}

// pattern reads bits: 0x.., or a decimal integer, negative ones in two's complement.
func pattern(s string) (uint64, error) {
	if v, err := strconv.ParseInt(s, 0, 64); err == nil {
		return uint64(v), nil
	}
	return strconv.ParseUint(s, 0, 64)
}
