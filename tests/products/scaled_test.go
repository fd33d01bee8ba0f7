package products_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"tileiras/internal/driver"
	"tileiras/ir/float"
	"tileiras/runtime/cases"
)

// scaledKind is the types of a product with scales, each for so many elements along K.
type scaledKind struct {
	elem, scale string
	block       int
}

var scaledKinds = []scaledKind{
	{"f8E4M3FN", "f8E8M0FNU", 32}, {"f8E5M2", "f8E8M0FNU", 32},
	{"f4E2M1FN", "f8E4M3FN", 16}, {"f4E2M1FN", "f8E8M0FNU", 16}, {"f4E2M1FN", "f8E8M0FNU", 32},
}

// scaledTile is the tile of a block, and how what it takes lies in memory.
type scaledTile struct {
	m, n, k   int
	rowsOfB   bool // B is KxN in memory, not NxK
	rowsOfSB  bool // and so are its scales
	promised  bool // that pointers and strides are multiples of 16 bytes
	gpu, unit string
	roles     driver.Roles
}

// TestProductsWithScales multiplies by scales in loops of no iteration up to more than rings have slots, the last of them cut by the ends of the arrays, in the
// emulator, under one schedule after another and with all checks on; TILEIRAS_PRODUCTS=all takes every schedule and the interpreter for each. What must come out is
// computed here; all numbers are exact.
func TestProductsWithScales(t *testing.T) {
	tiles := []scaledTile{
		{m: 128, n: 128, k: 128, promised: true, gpu: "sm_100", unit: "tcgen05"},
		{m: 128, n: 256, k: 256, promised: true, gpu: "sm_100", unit: "tcgen05"},
		{m: 256, n: 128, k: 128, promised: true, rowsOfB: true, gpu: "sm_110", unit: "tcgen05"},
		{m: 64, n: 128, k: 256, promised: true, gpu: "sm_100"},
		{m: 128, n: 128, k: 64, promised: true, gpu: "sm_100", unit: "tcgen05"},
		{m: 128, n: 128, k: 128, rowsOfB: true, rowsOfSB: true, gpu: "sm_103", unit: "tcgen05"},
		{m: 128, n: 128, k: 256, promised: true, gpu: "sm_100", unit: "tcgen05", roles: "on"},
		{m: 128, n: 64, k: 128, promised: true, gpu: "sm_120", unit: "mma.sync"},
	}
	for i, kind := range scaledKinds {
		for j, tile := range tiles {
			t.Run(fmt.Sprintf("%s/%s/%d/%dx%dx%d/%s", kind.elem, kind.scale, kind.block, tile.m, tile.n, tile.k, tile.gpu), func(t *testing.T) {
				t.Parallel()
				tile.rowsOfB = tile.rowsOfB && kind.elem != "f4E2M1FN" // of which pairs are neighbours along K
				r := rand.New(rand.NewPCG(uint64(i), uint64(j)))
				text := tile.text(kind)
				res, err := driver.Compile(t.Context(), "scaled.tileir", []byte(text),
					driver.Options{GPU: tile.gpu, Code: driver.Code{Opt: 3, Roles: tile.roles}, Emit: driver.EmitPTX})
				if err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				if by := tile.unit == "mma.sync" || tile.unit != "" && tile.k >= 4*kind.block; by != strings.Contains(string(res.Output), "block_scale") {
					t.Errorf("multiplied by scales: want %v\n%s", by, res.Output)
				}
				machines := everywhere(res)
				for steps := range 6 {
					some := machines
					if os.Getenv("TILEIRAS_PRODUCTS") == "" {
						if some = machines[1+(i+j+steps)%(len(machines)-1):][:1]; steps%5 > 1 && (i+j+steps)%4 > 0 {
							continue
						}
					}
					for _, m := range some {
						c, want := tile.launch(t, r, kind, text, steps)
						if err := outcome(t, m, c, len(c.Buffers)-1, want, 0); err != nil {
							t.Fatalf("%d steps: %v", steps, err)
						}
					}
				}
			})
		}
	}
}

// text is the kernel.
func (x scaledTile) text(kind scaledKind) string {
	elem, packed := kind.elem, 1
	if kind.elem == "f4E2M1FN" {
		elem, packed = "i8", 2
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, "  "+format+"\n", args...) }
	fmt.Fprintf(&b, "entry @scaled(%%a: tile<ptr<%s>>, %%b: tile<ptr<%s>>, %%sa: tile<ptr<%s>>, %%sb: tile<ptr<%s>>, %%c: tile<ptr<f32>>,\n", elem, elem, kind.scale, kind.scale)
	fmt.Fprintf(&b, "    %%m: tile<i32>, %%n: tile<i32>, %%k: tile<i32>, %%s: tile<i32>, %%la: tile<i32>, %%lb: tile<i32>, %%lsa: tile<i32>, %%lsb: tile<i32>, %%lc: tile<i32>, %%steps: tile<i32>) {\n")
	line("%%0 = make_token : token")
	line("%%i0 = constant <i32: 0> : tile<i32>")
	line("%%i1 = constant <i32: 1> : tile<i32>")
	line("%%x, %%y, %%z = get_tile_block_id : tile<i32>")
	name := func(v string) string { return "%" + v }
	if x.promised {
		name = func(v string) string { return "%p" + v }
		for _, v := range []string{"a", "b"} {
			line("%%p%s = assume div_by<16>, %%%s : tile<ptr<%s>>", v, v, elem)
		}
		for _, v := range []string{"sa", "sb"} {
			line("%%p%s = assume div_by<16>, %%%s : tile<ptr<%s>>", v, v, kind.scale)
		}
		for _, v := range []string{"la", "lb", "lsa", "lsb"} {
			line("%%p%s = assume div_by<16>, %%%s : tile<i32>", v, v)
		}
	}
	view := func(v, ptr, rows, columns, stride, elem string, shape string, turned bool) (typ string) {
		tensor := fmt.Sprintf("tensor_view<?x?x%s, strides=[?,1]>", elem)
		line("%%t%s = make_tensor_view %s, shape = [%s, %s], strides = [%s, 1] : tile<i32> -> %s", v, ptr, rows, columns, stride, tensor)
		typ = fmt.Sprintf("partition_view<tile=(%s), padding_value = zero, %s", shape, tensor)
		if turned {
			typ += ", dim_map=[1, 0]"
		}
		typ += ">"
		line("%%v%s = make_partition_view %%t%s : %s", v, v, typ)
		return typ
	}
	turned := func(rows bool, first, second string) (string, string) {
		if rows {
			return second, first
		}
		return first, second
	}
	deep, blocks := x.k/packed, x.k/kind.block
	va := view("a", name("a"), "%m", "%k", name("la"), elem, fmt.Sprintf("%dx%d", x.m, deep), false)
	vsa := view("sa", name("sa"), "%m", "%s", name("lsa"), kind.scale, fmt.Sprintf("%dx%d", x.m, blocks), false)
	r, c := turned(x.rowsOfB, "%n", "%k")
	vb := view("b", name("b"), r, c, name("lb"), elem, fmt.Sprintf("%dx%d", deep, x.n), !x.rowsOfB)
	r, c = turned(x.rowsOfSB, "%n", "%s")
	vsb := view("sb", name("sb"), r, c, name("lsb"), kind.scale, fmt.Sprintf("%dx%d", blocks, x.n), !x.rowsOfSB)
	acc := fmt.Sprintf("tile<%dx%dxf32>", x.m, x.n)
	line("%%zero = constant <f32: 0.0> : %s", acc)
	line("%%sum = for %%i in (%%i0 to %%steps, step %%i1) : tile<i32> iter_values(%%acc = %%zero) -> (%s) {", acc)
	line("%%la0, %%ta0 = load_view_tko weak %%va[%%x, %%i] token = %%0 : %s, tile<i32> -> tile<%dx%dx%s>, token", va, x.m, deep, elem)
	line("%%lb0, %%tb0 = load_view_tko weak %%vb[%%i, %%y] token = %%0 : %s, tile<i32> -> tile<%dx%dx%s>, token", vb, deep, x.n, elem)
	line("%%lsa0, %%tsa0 = load_view_tko weak %%vsa[%%x, %%i] token = %%0 : %s, tile<i32> -> tile<%dx%dx%s>, token", vsa, x.m, blocks, kind.scale)
	line("%%lsb0, %%tsb0 = load_view_tko weak %%vsb[%%i, %%y] token = %%0 : %s, tile<i32> -> tile<%dx%dx%s>, token", vsb, blocks, x.n, kind.scale)
	fa, fb := "%la0", "%lb0"
	if packed > 1 {
		unpack := func(v string, rows int, turn bool) string {
			from := fmt.Sprintf("tile<%dx%dxi8>", rows, deep)
			if turn {
				line("%%%s1 = permute %%%s0 [1, 0] : tile<%dx%dxi8> -> %s", v, v, deep, rows, from)
				v += "1"
			} else {
				v += "0"
			}
			line("%%%s2 = reshape %%%s : %s -> tile<%dxi8>", v, v, from, rows*deep)
			line("%%%s3 = unpack %%%s2 : tile<%dxi8> -> tile<%dxf4E2M1FN>", v, v, rows*deep, rows*x.k)
			line("%%%s4 = reshape %%%s3 : tile<%dxf4E2M1FN> -> tile<%dx%dxf4E2M1FN>", v, v, rows*x.k, rows, x.k)
			if turn {
				line("%%%s5 = permute %%%s4 [1, 0] : tile<%dx%dxf4E2M1FN> -> tile<%dx%dxf4E2M1FN>", v, v, rows, x.k, x.k, rows)
				return "%" + v + "5"
			}
			return "%" + v + "4"
		}
		fa, fb = unpack("la", x.m, false), unpack("lb", x.n, true)
	}
	line("%%d = mmaf_scaled %s, %s, %%acc, %%lsa0, %%lsb0 : tile<%dx%dx%s>, tile<%dx%dx%s>, %s, tile<%dx%dx%s>, tile<%dx%dx%s>", fa, fb,
		x.m, x.k, kind.elem, x.k, x.n, kind.elem, acc, x.m, blocks, kind.scale, blocks, x.n, kind.scale)
	line("continue %%d : %s", acc)
	line("}")
	vc := view("c", "%c", "%m", "%n", "%lc", "f32", fmt.Sprintf("%dx%d", x.m, x.n), false)
	line("%%tc0 = store_view_tko weak %%sum, %%vc[%%x, %%y] token = %%0 : %s, %s, tile<i32> -> token", acc, vc)
	line("return")
	return b.String() + "}\n"
}

// launch makes arrays for so many steps, of which the last is cut, and what must come out.
func (x scaledTile) launch(t *testing.T, r *rand.Rand, kind scaledKind, text string, steps int) (*cases.Case, []byte) {
	m, n, k := x.m-3, x.n+5, steps*x.k
	if k > 0 {
		k -= kind.block
	}
	pad := func(v int) int { return v }
	if x.promised {
		pad = func(v int) int { return (v + 15) / 16 * 16 }
	}
	l := &listed{Case: cases.Case{Name: "scaled.tileir", Kernel: "scaled", Bytecode: []byte(text), Grid: [3]int{1, 2, 1}}, r: r, t: t}
	format := float.ByName(kind.elem)
	packed := 1
	if kind.elem == "f4E2M1FN" {
		packed = 2
	}
	// matrix adds an array of rows of values, so many to a byte, and says what it holds.
	matrix := func(dtype string, rows, columns, packed int, format *float.Format, value func() float64) (func(i, j int) float64, int) {
		stride := pad(max(1, (columns+packed-1)/packed))
		values := make([]float64, rows*stride*packed)
		for i := range values {
			values[i] = value()
		}
		l.buffer(dtype, max(1, rows*stride), func(int) int64 { return 0 })
		data := l.Buffers[len(l.Buffers)-1].Data
		for i, v := range values {
			data[i/packed] |= byte(format.Encode(v, float.NearestEven)) << (i % packed * 4)
		}
		return func(i, j int) float64 { return values[i*stride*packed+j] }, stride
	}
	factor := func() float64 { return []float64{0, 0.5, 1, 1.5, 2, -0.5, -1, -2}[r.IntN(8)] }
	scaleFormat, scale := float.F8E8M0FNU, func() float64 { return math.Ldexp(1, r.IntN(5)-2) }
	if kind.scale == "f8E4M3FN" {
		scaleFormat, scale = float.F8E4M3FN, func() float64 { return []float64{0.5, 1, 1.5, 2}[r.IntN(4)] }
	}
	either := func(rows bool, dtype string, deep, packed int, format *float.Format, value func() float64) (func(k, j int) float64, int) {
		if rows {
			return matrix(dtype, deep, n, 1, format, value)
		}
		at, stride := matrix(dtype, n, deep, packed, format, value)
		return func(k, j int) float64 { return at(j, k) }, stride
	}
	dtype := strings.ToLower(kind.elem)
	if packed > 1 {
		dtype = "u8"
	}
	a, la := matrix(dtype, m, k, packed, format, factor)
	b, lb := either(x.rowsOfB, dtype, k, packed, format, factor)
	sa, lsa := matrix(strings.ToLower(kind.scale), m, k/kind.block, 1, scaleFormat, scale)
	sb, lsb := either(x.rowsOfSB, strings.ToLower(kind.scale), k/kind.block, 1, scaleFormat, scale)
	l.buffer("f32", m*n, func(int) int64 { return -1 })
	for _, v := range []int{m, n, k / packed, k / kind.block, la, lb, lsa, lsb, n, steps} {
		l.number(v)
	}
	out := l.Buffers[len(l.Buffers)-1].DType
	var want []byte
	for i := range m {
		for j := range n {
			sum := 0.0
			for d := range k {
				sum += a(i, d) * sa(i, d/kind.block) * b(d, j) * sb(d/kind.block, j)
			}
			want = out.Append(want, uint64(math.Float32bits(float32(sum))))
		}
	}
	return &l.Case, want
}
