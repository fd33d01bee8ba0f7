// Package scans_test holds scans whose combination does not commute against loops over their elements: the first argument of a
// region is what came before, the second the next element. The sizes make the axis lie in registers, lanes, warps and pieces.
package scans_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tileiras/internal/driver"
	"tileiras/internal/tilerun"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
)

// combination is an associative function of pairs of elements, as a region and in Go; both in the order before, next.
type combination struct {
	name  string
	bits  []int // widths of the operands' integers
	body  string
	apply func(before, next []int64) []int64
}

// In the bodies, %p0 and %n0 are the pair of the first operand, %p1 and %n1 that of the second.
var combinations = []combination{
	{"recurrence", []int{32, 32}, `
    %a = muli %p0, %n0 : tile<i32>
    %q = muli %n0, %p1 : tile<i32>
    %b = addi %q, %n1 : tile<i32>
    yield %a, %b : tile<i32>, tile<i32>`,
		func(p, n []int64) []int64 { return []int64{p[0] * n[0], n[0]*p[1] + n[1]} }},
	{"forward fill", []int{16}, `
    %zero = constant <i16: 0> : tile<i16>
    %c = cmpi not_equal %n0, %zero, signed : tile<i16> -> tile<i1>
    %r = select %c, %n0, %p0 : tile<i1>, tile<i16>
    yield %r : tile<i16>`,
		func(p, n []int64) []int64 {
			if n[0] != 0 {
				return n
			}
			return p
		}},
	{"segmented sum", []int{8, 64}, `
    %zero = constant <i8: 0> : tile<i8>
    %none = constant <i64: 0> : tile<i64>
    %head = cmpi not_equal %n0, %zero, signed : tile<i8> -> tile<i1>
    %f = ori %p0, %n0 : tile<i8>
    %old = select %head, %none, %p1 : tile<i1>, tile<i64>
    %v = addi %old, %n1 : tile<i64>
    yield %f, %v : tile<i8>, tile<i64>`,
		func(p, n []int64) []int64 {
			if n[0] != 0 {
				return []int64{p[0] | n[0], n[1]}
			}
			return []int64{p[0] | n[0], p[1] + n[1]}
		}},
	{"first", []int{32}, "\n    yield %p0 : tile<i32>", func(p, _ []int64) []int64 { return p }},
	{"last", []int{32}, "\n    yield %n0 : tile<i32>", func(_, n []int64) []int64 { return n }},
	{"product of 2x2 matrices", []int{16, 16, 16, 16}, matrices,
		func(p, n []int64) []int64 {
			return []int64{n[0]*p[0] + n[1]*p[2], n[0]*p[1] + n[1]*p[3], n[2]*p[0] + n[3]*p[2], n[2]*p[1] + n[3]*p[3]}
		}},
}

const matrices = `
    %a0 = muli %n0, %p0 : tile<i16>
    %a1 = muli %n1, %p2 : tile<i16>
    %a = addi %a0, %a1 : tile<i16>
    %b0 = muli %n0, %p1 : tile<i16>
    %b1 = muli %n1, %p3 : tile<i16>
    %b = addi %b0, %b1 : tile<i16>
    %c0 = muli %n2, %p0 : tile<i16>
    %c1 = muli %n3, %p2 : tile<i16>
    %c = addi %c0, %c1 : tile<i16>
    %d0 = muli %n2, %p1 : tile<i16>
    %d1 = muli %n3, %p3 : tile<i16>
    %d = addi %d0, %d1 : tile<i16>
    yield %a, %b, %c, %d : tile<i16>, tile<i16>, tile<i16>, tile<i16>`

// shapes with the axis that is scanned; warps is a hint, or 0.
var shapes = []struct {
	shape      []int
	dim, warps int
}{
	{[]int{1}, 0, 0}, {[]int{2}, 0, 0}, {[]int{8}, 0, 1}, {[]int{32}, 0, 4}, {[]int{64}, 0, 0}, {[]int{256}, 0, 4}, {[]int{1024}, 0, 1},
	{[]int{2, 4}, 0, 0}, {[]int{2, 4}, 1, 0}, {[]int{64, 4}, 0, 4}, {[]int{4, 64}, 1, 8}, {[]int{16, 32}, 0, 2}, {[]int{16, 32}, 1, 0},
	{[]int{2, 8, 16}, 1, 4}, {[]int{4, 2, 128}, 2, 0},
	{[]int{1024}, 0, 4}, {[]int{2048}, 0, 0}, {[]int{2, 512}, 1, 4}, {[]int{512, 2}, 0, 8}, {[]int{2, 1024, 2}, 1, 16}, // warps share the axis
	{[]int{8192}, 0, 1}, {[]int{128, 64}, 0, 1}, {[]int{32768}, 0, 4}, // too big for the registers: in pieces
}

var targets = []string{"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"}

func TestScansKeepTheOrder(t *testing.T) {
	n := 0
	for _, c := range combinations {
		for _, s := range shapes {
			for _, reverse := range []bool{false, true} {
				if product(s.shape) > 8192 && (len(c.bits) != 2 || reverse != (c.bits[0] == 8)) {
					continue // the biggest take long, and all pieces are alike
				}
				gpu, opt, schedule := targets[n%len(targets)], n/2%2*3, emu.Schedules[n%len(emu.Schedules)]
				n++
				t.Run(fmt.Sprintf("%s/%v/%d/%v/%s/O%d", c.name, s.shape, s.dim, reverse, gpu, opt), func(t *testing.T) {
					t.Parallel()
					launch, want := c.launch(s.shape, s.dim, s.warps, reverse)
					for _, m := range []cases.Machine{&tilerun.Interpreter{}, &tilerun.Emulator{GPU: gpu, Code: driver.Code{Opt: opt}, Schedule: schedule}} {
						out, err := m.Launch(t.Context(), launch)
						if err != nil {
							t.Fatalf("%s: %v", m, err)
						}
						for k, w := range want {
							if got := out.Buffers[len(c.bits)+k]; !slices.Equal(got, w) {
								t.Errorf("%s: result %d differs: %s", m, k, firstOf(got, w, c.bits[k]/8))
							}
						}
					}
				})
			}
		}
	}
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func firstOf(got, want []byte, size int) string {
	for i := range len(want) / size {
		if g, w := got[i*size:][:size], want[i*size:][:size]; !slices.Equal(g, w) {
			return fmt.Sprintf("element %d is %x, want %x (little endian)", i, g, w)
		}
	}
	return ""
}

// launch makes the module with its inputs, and what the loop over each line along dim gives.
func (c *combination) launch(shape []int, dim, warps int, reverse bool) (*cases.Launch, [][]byte) {
	total, n, inner := product(shape), shape[dim], product(shape[dim+1:])
	values := make([][]int64, total)
	state := uint32(12345)
	for i := range values {
		for range c.bits {
			state = state*1664525 + 1013904223
			values[i] = append(values[i], [...]int64{0, 3, 0, -1, 7, 0, 0, 5}[state>>20%8])
		}
	}
	l := &cases.Launch{Bytecode: []byte(c.module(shape, dim, warps, reverse)), Kernel: "k", Grid: [3]int{1, 1, 1}}
	for k := range c.bits {
		l.Buffers = append(l.Buffers, cases.LaunchBuffer{Name: fmt.Sprintf("x%d", k), Bytes: c.pack(values, k), Align: 256})
	}
	for k := range c.bits {
		l.Buffers = append(l.Buffers, cases.LaunchBuffer{Name: fmt.Sprintf("y%d", k), Bytes: make([]byte, total*c.bits[k]/8), Align: 256})
	}
	for i := range l.Buffers {
		l.Params = append(l.Params, cases.LaunchParam{Buffer: i})
	}
	for first := range total {
		if first/inner%n != 0 {
			continue
		}
		for k := 1; k < n; k++ {
			at, before := first+k*inner, first+(k-1)*inner
			if reverse {
				at, before = first+(n-1-k)*inner, first+(n-k)*inner
			}
			values[at] = c.apply(values[before], values[at])
		}
	}
	var want [][]byte
	for k := range c.bits {
		want = append(want, c.pack(values, k))
	}
	return l, want
}

// pack is operand k in memory.
func (c *combination) pack(values [][]int64, k int) []byte {
	var out []byte
	for _, v := range values {
		out = append(out, binary.LittleEndian.AppendUint64(nil, uint64(v[k]))[:c.bits[k]/8]...)
	}
	return out
}

func (c *combination) module(shape []int, dim, warps int, reverse bool) string {
	var b, params, names, types, args, identities strings.Builder
	join := func(to *strings.Builder, format string, a ...any) {
		if to.Len() > 0 {
			to.WriteString(", ")
		}
		fmt.Fprintf(to, format, a...)
	}
	dims := strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", "x")
	var strides []string
	var zeros []string
	for d := range shape {
		strides, zeros = append(strides, fmt.Sprint(product(shape[d+1:]))), append(zeros, "%z")
	}
	view := func(k int, name string) (string, string) {
		array := fmt.Sprintf("tensor_view<%sxi%d, strides=[%s]>", dims, c.bits[k], strings.Join(strides, ","))
		tile := fmt.Sprintf("partition_view<tile=(%s), %s>", dims, array)
		fmt.Fprintf(&b, "    %%v%s = make_tensor_view %%%s, shape = [%s], strides = [%s] : %s\n", name, name,
			strings.ReplaceAll(dims, "x", ", "), strings.Join(strides, ", "), array)
		fmt.Fprintf(&b, "    %%w%s = make_partition_view %%v%s : %s\n", name, name, tile)
		return tile, fmt.Sprintf("%%w%s[%s]", name, strings.Join(zeros, ", "))
	}
	for _, side := range "xy" {
		for k, bits := range c.bits {
			join(&params, "%%%c%d: tile<ptr<i%d>>", side, k, bits)
		}
	}
	for k, bits := range c.bits {
		tile, at := view(k, fmt.Sprintf("x%d", k))
		fmt.Fprintf(&b, "    %%t%d, %%s%d = load_view_tko weak %s : %s, tile<i32> -> tile<%sxi%d>, token\n", k, k, at, tile, dims, bits)
		join(&names, "%%t%d", k)
		join(&types, "tile<%sxi%d>", dims, bits)
		join(&identities, "0 : i%d", bits)
		join(&args, "%%p%d: tile<i%d>, %%n%d: tile<i%d>", k, bits, k, bits)
	}
	fmt.Fprintf(&b, "    %%r:%d = scan %s dim=%d reverse=%v identities=[%s] : %s -> %s\n    (%s) {%s\n    }\n", len(c.bits), &names, dim, reverse,
		&identities, &types, &types, &args, c.body)
	for k, bits := range c.bits {
		tile, at := view(k, fmt.Sprintf("y%d", k))
		fmt.Fprintf(&b, "    %%u%d = store_view_tko weak %%r#%d, %s : tile<%sxi%d>, %s, tile<i32> -> token\n", k, k, at, dims, bits, tile)
	}
	hint := ""
	if warps > 0 {
		hint = fmt.Sprintf(" optimization_hints=<default = {num_worker_warps_per_cta = %d}>", warps)
	}
	return fmt.Sprintf("cuda_tile.module @m {\n  entry @k(%s)%s {\n    %%z = constant <i32: 0> : tile<i32>\n%s    return\n  }\n}\n", &params, hint, &b)
}
