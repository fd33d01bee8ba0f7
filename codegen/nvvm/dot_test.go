package nvvm_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tileiras/codegen/atom"
	"tileiras/codegen/layout"
	"tileiras/ir/float"
)

// sharedLoad is a load from shared memory: how many registers it fills, and their bits.
var sharedLoad = regexp.MustCompile(`ld\.shared\.(?:v(\d)\.)?[a-z](\d+)`)

// tileIO is a kernel that loads tiles of the given shapes and layouts, runs a body on %v0, %v1, ... and stores %r.
type tileIO struct {
	warps   int
	shared  int
	aliases string
	in      []ioTile
	out     ioTile
	body    string
}

type ioTile struct {
	elem   string
	layout layout.Layout
}

func (o ioTile) typ() string {
	return fmt.Sprintf("tile<%sx%s, #tileaa.layout<%s>>", strings.Trim(strings.ReplaceAll(fmt.Sprint(o.layout.Shape()), " ", "x"), "[]"), o.elem, o.layout)
}

func (k tileIO) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\ntileaa.module @m {\n  entry @k attributes {plan = #tileaa.plan<warps = %d>, shared_bytes = %d} (", k.aliases, k.warps, k.shared)
	for i, t := range k.in {
		fmt.Fprintf(&b, "%%p%d: tile<ptr<%s>>, ", i, t.elem)
	}
	fmt.Fprintf(&b, "%%po: tile<ptr<%s>>) {\n    %%zero = constant <i32: 0> : tile<i32>\n", k.out.elem)
	block := func(name string, t ioTile) string {
		shape := t.layout.Shape()
		dims := strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", "x"), "[]")
		strides, index, kinds, trav, dimMap := make([]string, len(shape)), []string{}, []string{}, []string{}, []string{}
		n := 1
		for d := len(shape) - 1; d >= 0; d-- {
			strides[d] = fmt.Sprint(n)
			n *= shape[d]
		}
		for d := range shape {
			index, kinds, trav, dimMap = append(index, "%zero"), append(kinds, "tile<i32>"), append(trav, "1"), append(dimMap, fmt.Sprint(d))
		}
		ref := fmt.Sprintf("memref<%sx%s, strides=[%s]>", dims, t.elem, strings.Join(strides, ","))
		bt := fmt.Sprintf("block<%sx%s>", dims, t.elem)
		fmt.Fprintf(&b, "    %%m%[1]s = make_memref %%p%[1]s : (tile<ptr<%[2]s>>) -> %[3]s\n", name, t.elem, ref)
		fmt.Fprintf(&b, "    %%b%[1]s = block_tile %%m%[1]s, indices(%[2]s) {traversal = [%[3]s], dim_map = [%[4]s]} : (%[5]s, %[6]s) -> %[7]s\n",
			name, strings.Join(index, ", "), strings.Join(trav, ", "), strings.Join(dimMap, ", "), ref, strings.Join(kinds, ", "), bt)
		return bt
	}
	for i, t := range k.in {
		bt := block(fmt.Sprint(i), t)
		fmt.Fprintf(&b, "    %%v%[1]d, %%t%[1]d = tiled_load %%b%[1]d {vec = 1, fast = 0} : (%[2]s) -> (%[3]s, token)\n", i, bt, t.typ())
	}
	fmt.Fprintf(&b, "%s\n", k.body)
	bt := block("o", k.out)
	fmt.Fprintf(&b, "    %%tk = tiled_store %%r, %%bo {vec = 1, fast = 0} : (%s, %s) -> token\n    return\n  }\n}\n", k.out.typ(), bt)
	return b.String()
}

// Every matrix atom, normal and transposed, over four warps, computes the product of small integers exactly; so does the
// multiply-add with its operands in shared memory, and groups of warps with rows or K side by side there.
func TestDot(t *testing.T) {
	elems := map[atom.Elem]string{atom.S8: "i8", atom.U8: "i8", atom.S32: "i32", atom.F4x2: "i8"}
	name := func(e atom.Elem) string {
		if n := elems[e]; n != "" {
			return n
		}
		return string(e)
	}
	for _, a := range atom.MMAs() {
		if a.Group > 0 && (a.Shape.N == 128 && !a.Scaled() || a.Shape.N == 256 && a.Scaled() || a.Shape.N == 32) {
			continue // as 256, 128, 64 and 16
		}
		if testing.Short() && a.Shape.N > 64 {
			continue
		}
		for _, form := range []struct{ swap, unit, mnMajor bool }{{false, false, false}, {true, false, false}, {false, true, false}, {false, false, true}, {true, false, true}} {
			swap := form.swap
			if form.unit && !(a.HoldsScales() && a.Scale.Elem == atom.E8M0 && a.A != atom.F4x2) || form.mnMajor && (!a.TakesMNMajor || a.Shape.N*a.A.Bits() < 8*32) { // the shortest rows of a descriptor

				continue
			}
			sm := "sm_80"
			switch {
			case a.HoldsScales():
				sm = "sm_120"
			case a.Tensor != nil:
				sm = "sm_100"
			case a.Group > 0:
				sm = "sm_90"
			}
			for _, s := range []string{"sm_75", "sm_80", "sm_89", "sm_90"} {
				if a.Need.Arch == 0 && a.Need.SM <= map[string]int{"sm_75": 75, "sm_80": 80, "sm_89": 89, "sm_90": 90}[s] {
					sm = s
					break
				}
			}
			e := atom.Extent{M: 2 * max(a.Shape.M, a.Shape.N), N: 2 * max(a.Shape.M, a.Shape.N), K: 2 * a.Shape.K}
			switch {
			case a.Scalar():
				e = atom.Extent{M: 16, N: 16, K: 8}
			case a.Group > 0 && swap:
				e = atom.Extent{M: a.Shape.N, N: 2 * a.Shape.M, K: 2 * a.Shape.K}
			case a.Group > 0:
				e = atom.Extent{M: 2 * a.Shape.M, N: a.Shape.N, K: 2 * a.Shape.K}
			}
			if a.Scaled() {
				e.K = max(e.K, 4*a.Scale.Block) // a word of scales
			}
			list := atom.Splits(a, e, 4, swap)
			if len(list) == 0 || swap && a.Scalar() {
				continue
			}
			tiling, ok := atom.Tile(a, e, list[len(list)/2], swap)
			if !ok {
				t.Fatalf("%s does not tile", a.Name)
			}
			l := tiling.Layouts()
			ta, tb := a.A, a.B
			atomName, swapped := a.Name, ""
			if swap {
				ta, tb = tb, ta
				atomName, swapped = a.Name+" swapped", ", swapped"
			}
			if form.unit {
				atomName += " without scales"
			}
			if form.mnMajor {
				atomName += " MN-major"
			}
			split := list[len(list)/2]
			t.Run(atomName, func(t *testing.T) {
				k := tileIO{warps: 4, in: []ioTile{{name(ta), l.A}, {name(tb), l.B}, {name(a.C), l.C}}, out: ioTile{name(a.C), l.C}}
				sign := func(e atom.Elem) string {
					if e == atom.U8 {
						return "unsigned"
					}
					return "signed"
				}
				x, y, tx, ty := "%v0", "%v1", k.in[0].typ(), k.in[1].typ()
				if a.Scalar() {
					// The operands go through shared memory, in layouts of their own.
					flat := func(shape ...int) layout.Layout { return layout.Blocked(shape, 1, []int{1, 0}, 4) }
					k.in[0].layout, k.in[1].layout, k.shared = flat(e.M, e.K), flat(e.K, e.N), 8192
					tx = fmt.Sprintf("buffer<%dx%dx%s, #tileaa.mem<%s>>", e.M, e.K, name(ta), layout.Strided([]int{e.M, e.K}, []int{1, 0}))
					ty = fmt.Sprintf("buffer<%dx%dx%s, #tileaa.mem<%s>>", e.K, e.N, name(tb), layout.Padded([]int{e.K, e.N}, []int{1, 0}, 4))
					x, y = "%s0", "%s1"
					k.body = fmt.Sprintf("    %%s0 = alloc_shared {offset = 0} : %s\n    %%s1 = alloc_shared {offset = 4096} : %s\n    buffer_store %%v0, %%s0 : (%s, %s)\n    buffer_store %%v1, %%s1 : (%s, %s)\n    \"tileaa.barrier\"() : () -> ()\n",
						tx, ty, k.in[0].typ(), tx, k.in[1].typ(), ty)
				}
				for i, shared := range []bool{l.A.IsZero(), l.B.IsZero()} {
					if !shared {
						continue
					}
					shape := [][]int{{e.M, e.K}, {e.K, e.N}}[i]
					order := []int{1 - i, i} // K side by side
					if form.mnMajor {
						order = []int{i, 1 - i}
					}
					bytes := elemBytes(k.in[i].elem)
					mem := layout.Swizzled(shape, order, bytes, min(128, bytes*shape[order[0]]))
					typ := fmt.Sprintf("buffer<%dx%dx%s, #tileaa.mem<%s>>", shape[0], shape[1], k.in[i].elem, mem)
					k.in[i].layout = layout.Blocked(shape, 1, []int{1, 0}, 4)
					k.body += fmt.Sprintf("    %%s%d = alloc_shared {offset = %d} : %s\n    buffer_store %%v%d, %%s%d : (%s, %s)\n", i, 32768*i, typ, i, i, k.in[i].typ(), typ)
					k.shared = 65536
					if i == 0 {
						x, tx = "%s0", typ
					} else {
						y, ty = "%s1", typ
					}
				}
				scales, scaleTypes := "", ""
				if a.Scaled() && !form.unit {
					blocks := e.K / a.Scale.Block
					for i, l := range []layout.Layout{l.SA, l.SB} {
						name, typ, shape := fmt.Sprintf("%%v%d", i+3), "", [][]int{{e.M, blocks}, {blocks, e.N}}[i]
						if a.Tensor != nil {
							l = layout.Blocked(shape, 1, []int{1, 0}, 4)
						}
						k.in = append(k.in, ioTile{string(a.Scale.Elem), l})
						if typ = k.in[i+3].typ(); a.Tensor != nil {
							tile := typ
							name, typ = fmt.Sprintf("%%s%d", i+3), fmt.Sprintf("buffer<%dx%dx%s, #tileaa.mem<%s>>", shape[0], shape[1], a.Scale.Elem, atom.ScalesIn(shape, 1-i))
							k.body += fmt.Sprintf("    %s = alloc_shared {offset = %d} : %s\n    buffer_store %%v%d, %s : (%s, %s)\n", name, 66560+4096*i, typ, i+3, name, tile, typ)
							k.shared = 66560 + 8192
						}
						scales += ", " + []string{"lhs_scale", "rhs_scale"}[i] + "(" + name + ")"
						scaleTypes += ", " + typ
					}
				}
				if a.Group > 0 {
					k.body += meet
				}
				memory, memoryType := "", ""
				if a.Tensor != nil {
					k.shared += 128
					k.body += acquired
					memory, memoryType = ", memory(%m)", ", tensor_memory<512>"
				}
				signs := fmt.Sprintf("signedness_lhs = %s, signedness_rhs = %s, ", sign(ta), sign(tb))
				if a.Tensor != nil && a.Scaled() {
					signs += "scale_column = 480, "
				}
				sa, sb := func(i, k int) float64 { return 1 }, func(k, j int) float64 { return 1 }
				blocks, args := 1, []any(nil)
				if a.Scaled() && !form.unit {
					blocks = e.K / a.Scale.Block
					sa = func(i, k int) float64 { return math.Ldexp(1, (i*5+k/a.Scale.Block*3)%7-3) }
					sb = func(k, j int) float64 { return math.Ldexp(1, (j*3+k/a.Scale.Block*5)%5-2) }
					args = []any{
						encode(string(a.Scale.Elem), e.M*blocks, func(i int) float64 { return sa(i/blocks, i%blocks*a.Scale.Block) }),
						encode(string(a.Scale.Elem), blocks*e.N, func(i int) float64 { return sb(i/e.N*a.Scale.Block, i%e.N) }),
					}
				}
				k.body += fmt.Sprintf("    %%r = dot %s, %s, %%v2%s%s {%satom = #tileaa.mma<%q, warps = [%d, %d, %d, %d]%s>} : (%s, %s, %s%s%s) -> %s",
					x, y, scales, memory, signs, a.Name, split.Batch, split.M, split.N, split.Copies, swapped, tx, ty, k.in[2].typ(), scaleTypes, memoryType, k.out.typ())
				if a.Tensor != nil {
					k.body += released
				}
				va := func(i int) float64 { return float64(i*5%7 - 3) }
				vb := func(i int) float64 { return float64(i*3%5 - 2) }
				if ta == atom.U8 {
					va = func(i int) float64 { return float64(i * 5 % 251) }
				}
				if tb == atom.U8 {
					vb = func(i int) float64 { return float64(i * 3 % 251) }
				}
				vc := func(i int) float64 { return float64(i % 11) }
				if a.Scalar() && a.Shape.K == 1 {
					rows, cols := map[int]bool{}, map[int]bool{}
					for r := range 1 << len(l.C.Column(layout.Reg)) {
						at := l.C.Coords(l.C.Apply(r, 0, 0, 0))
						rows[at[0]], cols[at[1]] = true, true
					}
					got := 0
					for _, load := range sharedLoad.FindAllStringSubmatch(lowered(t, sm, k.text()), -1) {
						n, _ := strconv.Atoi("0" + load[1])
						bits, _ := strconv.Atoi(load[2])
						got += max(1, n) * bits / 8
					}
					if want := (len(rows)*elemBytes(name(ta)) + len(cols)*elemBytes(name(tb))) * e.K; got != want {
						t.Errorf("%d bytes from shared memory for %d rows, %d columns and %d steps, want each factor once: %d", got, len(rows), len(cols), e.K, want)
					}
				}
				codes := func(f func(i int) float64) func(i int) float64 { return f }
				if a.A == atom.F4x2 {
					codes = func(f func(i int) float64) func(i int) float64 {
						code := func(i int) uint64 { return float.F4E2M1FN.Encode(f(i), float.NearestEven) }
						return func(i int) float64 { return float64(code(2*i) | code(2*i+1)<<4) }
					}
				}
				args = append([]any{encode(k.in[0].elem, e.M*e.K, codes(va)), encode(k.in[1].elem, e.K*e.N, codes(vb)), encode(name(a.C), e.M*e.N, vc)}, args...)
				out, _ := launch(t, sm, k.text(), 1, append(args, make([]byte, e.M*e.N*elemBytes(name(a.C))))...)
				for i := range e.M {
					for j := range e.N {
						want := vc(i*e.N + j)
						for k := range e.K {
							for h := range a.A.Packed() {
								x, y := (i*e.K+k)*a.A.Packed()+h, (k*e.N+j)*a.A.Packed()+h
								want += va(x) * sa(i, k) * vb(y) * sb(k, j)
							}
						}
						if got := decode(name(a.C), out[len(out)-1], i*e.N+j); got != want {
							t.Fatalf("element %d,%d is %v, want %v", i, j, got, want)
						}
					}
				}
			})
		}
	}
}

// What stands before and behind a product of the tensor unit.
const (
	meet     = "    \"tileaa.barrier\"() : () -> ()\n"
	memoryOf = " %m : (tensor_memory<512>)\n"
	acquired = "    %m = alloc_tensor {offset = 65536} : tensor_memory<512>\n    tensor_acquire" + memoryOf + meet + "    tensor_address" + memoryOf
	released = "\n" + meet + "    tensor_release" + memoryOf
)

// encode makes n elements of a type, of values that it holds exactly.
func encode(elem string, n int, f func(i int) float64) []byte {
	var out []byte
	for i := range n {
		bits := uint64(int64(f(i)))
		if format := float.ByName(elem); format != nil {
			bits = format.ToStorage(format.Encode(f(i), float.NearestEven))
		}
		var w [8]byte
		binary.LittleEndian.PutUint64(w[:], bits)
		out = append(out, w[:elemBytes(elem)]...)
	}
	return out
}

func decode(elem string, b []byte, i int) float64 {
	n := elemBytes(elem)
	bits := element(b, i, n)
	if format := float.ByName(elem); format != nil {
		return format.Decode(format.FromStorage(bits))
	}
	return float64(sext(bits, 8*n))
}

// Groups of warps multiply batches: each its own, or one after the other.
func TestBatchesOfWarpgroups(t *testing.T) {
	testBatches(t, "sm_90", atom.MMAByName("wgmma.m64n32k16.f32.f16.f16"))
	testBatches(t, "sm_100", atom.MMAByName("tcgen05.m128n32k16.f32.f16.f16"))
}

func testBatches(t *testing.T, sm string, a *atom.MMA) {
	e := atom.Extent{Batch: 2, M: a.Shape.M, N: 32, K: 32}
	for _, split := range []atom.Split{{Batch: 1, M: 4, N: 1, Copies: 1}, {Batch: 2, M: 4, N: 1, Copies: 1}} {
		warps := split.Warps()
		tiling, ok := atom.Tile(a, e, split, false)
		if !ok {
			t.Fatal(split)
		}
		k := tileIO{warps: warps, shared: 65536, out: ioTile{"f32", tiling.Layouts().C}}
		types := make([]string, 2)
		for i, shape := range [][]int{{e.Batch, e.M, e.K}, {e.Batch, e.K, e.N}} {
			mem := layout.Swizzled(shape, []int{2, 1, 0}, 2, min(128, 2*shape[2]))
			types[i] = fmt.Sprintf("buffer<%dx%dx%dxf16, #tileaa.mem<%s>>", shape[0], shape[1], shape[2], mem)
			k.in = append(k.in, ioTile{"f16", layout.Blocked(shape, 1, []int{2, 1, 0}, warps)})
			k.body += fmt.Sprintf("    %%s%d = alloc_shared {offset = %d} : %s\n    buffer_store %%v%d, %%s%d : (%s, %s)\n", i, 16384*i, types[i], i, i, k.in[i].typ(), types[i])
		}
		k.in = append(k.in, k.out)
		memory, memoryType := "", ""
		k.body += meet
		if a.Tensor != nil {
			k.shared += 128
			k.body += acquired
			memory, memoryType = ", memory(%m)", ", tensor_memory<512>"
		}
		k.body += fmt.Sprintf("    %%r = dot %%s0, %%s1, %%v2%s {atom = #tileaa.mma<%q, warps = [%d, %d, %d, %d]>} : (%s, %s, %s%s) -> %s",
			memory, a.Name, split.Batch, split.M, split.N, split.Copies, types[0], types[1], k.out.typ(), memoryType, k.out.typ())
		if a.Tensor != nil {
			k.body += released
		}
		va, vb, vc := func(i int) float64 { return float64(i*5%7 - 3) }, func(i int) float64 { return float64(i*3%5 - 2) }, func(i int) float64 { return float64(i % 11) }
		out, _ := launch(t, sm, k.text(), 1, encode("f16", e.Batch*e.M*e.K, va), encode("f16", e.Batch*e.K*e.N, vb), encode("f32", e.Batch*e.M*e.N, vc), make([]byte, 4*e.Batch*e.M*e.N))
		for n := range e.Batch * e.M * e.N {
			b, i, j := n/(e.M*e.N), n/e.N%e.M, n%e.N
			want := vc(n)
			for k := range e.K {
				want += va((b*e.M+i)*e.K+k) * vb((b*e.K+k)*e.N+j)
			}
			if got := decode("f32", out[len(out)-1], n); got != want {
				t.Fatalf("%s: element %d,%d,%d is %v, want %v", split, b, i, j, got, want)
			}
		}
	}
}
