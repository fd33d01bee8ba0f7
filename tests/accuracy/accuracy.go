// Package accuracy measures how far the functions of compiled kernels are from the truth: our PTX runs on the emulator, and every result is
// compared with a reference that runtime/exact stands behind. docs/accuracy.md is its table, which `make accuracy` writes; its tests
// hold the promises on a sample.
package accuracy

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"tileiras/internal/driver"
	"tileiras/ir/float"
	"tileiras/runtime/emu"
	"tileiras/runtime/exact"
)

// Row is a function in one format.
type Row struct {
	Op      string // as Tile IR spells it
	Variant string // attributes of the operation
	Format  *float.Format
	Arity   int
	// Integer says that the second operand is an i32.
	Integer bool
	// Promise is the largest error that is allowed, in units of the last place of the exact result.
	Promise float64
	// Flush says that inputs and results below the normal range count as zeros.
	Flush bool
	// directed says that results beyond the range may be its end.
	directed bool
	// huge says that divisors beyond 2^126 are left out: their reciprocals are 0 (PTX ISA, div.approx).
	huge bool
	// exact judges what is reported; nil where the reference itself is exact enough.
	exact     *exact.Func
	reference reference
	near      [][2]float64 // ranges of x that deserve more points; of arity 2, see pairs
	pairs     func(r *source) (x, y float64)
}

func (r *Row) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Op, r.Variant, r.Format))
}

// Result is what a sweep found.
type Result struct {
	Points int
	Worst  float64
	X, Y   float64 // where
	Got    float64
	Wrong  int // results that are infinite, NaN or zero where the exact one is not, or the other way round
}

// gpu is what the kernels are compiled for: the recipes are the same for all.
const gpu = "sm_80"

// tile is the elements of a tile block.
const tile = 2048

// text is a kernel that applies the function to whole arrays.
func (r *Row) text() string {
	f := r.Format.Name()
	var b strings.Builder
	b.WriteString("cuda_tile.module @m { entry @k(")
	names := []string{"x", "y", "z"}
	elems := []string{f, f}
	if r.Integer {
		elems[1] = "i32"
	}
	for i := range r.Arity {
		fmt.Fprintf(&b, "%%%s: tile<ptr<%s>>, ", names[i], elems[i])
	}
	fmt.Fprintf(&b, "%%o: tile<ptr<%s>>) {\n  %%b, %%by, %%bz = get_tile_block_id : tile<i32>\n", f)
	tileOf := func(elem string) string { return fmt.Sprintf("tile<%dx%s>", tile, elem) }
	open := func(name, elem string) (view string) {
		array := fmt.Sprintf("tensor_view<%dx%s, strides=[1]>", chunk, elem)
		view = fmt.Sprintf("partition_view<tile=(%d), %s>", tile, array)
		fmt.Fprintf(&b, "  %%v%[1]s = make_tensor_view %%%[1]s, shape = [%[2]d], strides = [1] : %[3]s\n  %%p%[1]s = make_partition_view %%v%[1]s : %[4]s\n",
			name, chunk, array, view)
		return view
	}
	var operands, types []string
	for i := range r.Arity {
		view := open(names[i], elems[i])
		fmt.Fprintf(&b, "  %%t%[1]s, %%k%[1]s = load_view_tko weak %%p%[1]s[%%b] : %[2]s, tile<i32> -> %[3]s, token\n", names[i], view, tileOf(elems[i]))
		operands = append(operands, "%t"+names[i])
		if i == 0 || r.Integer {
			types = append(types, tileOf(elems[i]))
		}
	}
	view := open("o", f)
	fmt.Fprintf(&b, "  %%r = %s %s %s : %s\n", r.Op, strings.Join(operands, ", "), r.Variant, strings.Join(types, ", "))
	fmt.Fprintf(&b, "  %%s = store_view_tko weak %%r, %%po[%%b] : %s, %s, tile<i32> -> token\n  return\n} }\n", tileOf(f), view)
	return b.String()
}

// chunk is the points of one launch.
const chunk = 1 << 18

// compile makes the kernel.
func (r *Row) compile(ctx context.Context) (*emu.Module, error) {
	res, err := driver.Compile(ctx, r.String(), []byte(r.text()), driver.Options{GPU: gpu, Code: driver.Code{Opt: 3}, Emit: driver.EmitPTX})
	if err != nil {
		return nil, err
	}
	return emu.Parse("accuracy.ptx", string(res.Output))
}

// Measure evaluates the function at n points, or at every number of a format of 16 bits.
func (r *Row) Measure(ctx context.Context, n int) (*Result, error) {
	m, err := r.compile(ctx)
	if err != nil {
		return nil, err
	}
	return r.measure(ctx, m, n)
}

func (r *Row) measure(ctx context.Context, m *emu.Module, n int) (*Result, error) {
	res := &Result{}
	points := r.points(n)
	for done := false; !done; {
		xs := make([][]uint64, r.Arity)
		count := 0
		for ; count < chunk; count++ {
			p, ok := points()
			if !ok {
				done = true
				break
			}
			for i := range xs {
				xs[i] = append(xs[i], p[i])
			}
		}
		if count == 0 {
			break
		}
		got, err := r.launch(ctx, m, xs)
		if err != nil {
			return nil, err
		}
		for i := range count {
			var y uint64
			if r.Arity == 2 {
				y = xs[1][i]
			}
			r.judge(res, xs[0][i], y, got[i])
		}
	}
	return res, nil
}

// launch runs the kernel over up to chunk points.
func (r *Row) launch(ctx context.Context, m *emu.Module, xs [][]uint64) ([]uint64, error) {
	size := r.Format.StorageBits() / 8
	mem := emu.NewMemory()
	var args []emu.Arg
	var at uint64
	for i := range r.Arity + 1 {
		size, store := size, r.Format.ToStorage
		if i == 1 && r.Integer {
			size, store = 4, func(bits uint64) uint64 { return bits }
		}
		data := make([]byte, chunk*size)
		if i < r.Arity {
			for j, v := range xs[i] {
				put(data[j*size:], store(v), size)
			}
		}
		at = mem.Alloc(fmt.Sprint("argument ", i), data, 256)
		args = append(args, binary.LittleEndian.AppendUint64(nil, at))
	}
	n := len(xs[0])
	if _, err := m.Run(ctx, "k", mem, args, emu.Options{Grid: [3]int{(n + tile - 1) / tile, 1, 1}}); err != nil {
		return nil, err
	}
	out, data := make([]uint64, n), mem.Bytes(at)
	for i := range out {
		var w [8]byte
		copy(w[:], data[i*size:(i+1)*size])
		out[i] = r.Format.FromStorage(binary.LittleEndian.Uint64(w[:]))
	}
	return out, nil
}

func put(to []byte, v uint64, size int) {
	var w [8]byte
	binary.LittleEndian.PutUint64(w[:], v)
	copy(to[:size], w[:])
}

// judge compares one result with the reference.
func (r *Row) judge(res *Result, x, y, bits uint64) {
	f := r.Format
	if r.Flush {
		x = f.FlushSubnormal(x)
	}
	a, b, got := f.Decode(x), f.Decode(y), f.Decode(bits)
	if r.Integer {
		b = float64(int32(y))
	}
	if r.huge && math.Abs(b) > 0x1p126 {
		return
	}
	res.Points++
	want, low := r.reference(a, b)
	u := r.ulps(got, want, low)
	if u > res.Worst && r.exact != nil { // the quick reference is not trusted with what is reported
		want, low = slow(r.exact)(a, b)
		u = r.ulps(got, want, low)
	}
	if math.IsInf(u, 1) {
		res.Wrong++
	}
	if u > res.Worst {
		res.Worst, res.X, res.Y, res.Got = u, a, b, got
	}
}

// ulps is |got - (want + low)| in units of the last place of a result of this size; infinite where the kinds of numbers differ, signs
// of zeros among them.
func (r *Row) ulps(got, want, low float64) float64 {
	f := r.Format
	wrong := math.Inf(1)
	switch {
	case math.IsNaN(got) || math.IsNaN(want):
		if math.IsNaN(got) && math.IsNaN(want) {
			return 0
		}
		return wrong
	case got == want:
		if want == 0 && math.Signbit(got) != math.Signbit(want) {
			return wrong
		}
		return math.Abs(low) / r.unit(want)
	case math.IsInf(want, 0):
		return wrong
	case math.IsInf(got, 0): // as if the exponents went on
		if math.Signbit(got) != math.Signbit(want) {
			return wrong
		}
		top := f.Decode(f.Max())
		got = math.Copysign(top, got) + math.Copysign(r.unit(top), got)
		if math.Abs(want) >= math.Abs(got) || math.IsInf(got, 0) {
			return 0
		}
	case r.directed && math.Abs(got) == f.Decode(f.Max()) && math.Abs(want) > math.Abs(got) && math.Signbit(got) == math.Signbit(want):
		return 0
	case r.Flush && got == 0 && math.Abs(want) < math.Ldexp(1, 1-f.Bias()):
		return 0
	}
	return math.Abs((got-want)-low) / r.unit(want)
}

// unit is the last place of a number of the size of x.
func (r *Row) unit(x float64) float64 {
	_, e := math.Frexp(x)
	if x == 0 {
		e = math.MinInt32
	}
	return math.Ldexp(1, max(e-1, 1-r.Format.Bias())-r.Format.MantissaBits())
}
