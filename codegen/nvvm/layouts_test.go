package nvvm_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tileiras/codegen/layout"
	"tileiras/ir/float"
)

// randomLayout is a random one-to-one layout of a shape over 32 lanes and two warps, or one with replicas.
func randomLayout(r *rand.Rand, shape []int, warpBits, replicas int) layout.Layout {
	n := 0
	for _, s := range shape {
		for s > 1 {
			s /= 2
			n++
		}
	}
	order := r.Perm(n)
	var b layout.Bases
	take := func(k, zeros int) []uint64 {
		var out []uint64
		for range k - zeros {
			out = append(out, 1<<order[0])
			order = order[1:]
		}
		for range zeros {
			out = append(out, 0)
		}
		r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		return out
	}
	b.Lane, b.Warp = take(5, replicas), take(warpBits, 0)
	b.Reg = take(len(order), 0)
	return layout.Must(shape, b)
}

// A conversion that lower-conversions leaves moves every element to its place, packed or not; so does the way through shared memory.
func TestLayoutConversions(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	shape := []int{16, 32}
	kinds := map[layout.Kind]int{}
	for trial := 0; trial < 400 && (kinds[layout.Shuffle] < 25 || kinds[layout.RegRename] < 4 || kinds[layout.Shared] < 8); trial++ {
		src := randomLayout(r, shape, 1, trial%2)
		dst := randomLayout(r, shape, 1, trial/2%2)
		if trial%3 == 0 { // exchange few bits, so that shuffles are enough
			b := src.Bases()
			b.Reg, b.Lane = append([]uint64(nil), b.Reg...), append([]uint64(nil), b.Lane...)
			i, j := r.IntN(len(b.Reg)), r.IntN(5)
			b.Reg[i], b.Lane[j] = b.Lane[j], b.Reg[i]
			dst = layout.Must(shape, b)
		} else if trial%3 == 1 {
			b := src.Bases()
			b.Lane, b.Reg = append([]uint64(nil), b.Lane...), append([]uint64(nil), b.Reg...)
			r.Shuffle(5, func(i, j int) { b.Lane[i], b.Lane[j] = b.Lane[j], b.Lane[i] })
			if trial%2 == 0 {
				r.Shuffle(len(b.Reg), func(i, j int) { b.Reg[i], b.Reg[j] = b.Reg[j], b.Reg[i] })
				b.Lane = src.Bases().Lane
			}
			dst = layout.Must(shape, b)
		}
		kind := layout.Convert(src, dst).Kind
		kinds[kind]++
		if kind == layout.Shuffle && kinds[kind] > 25 || kind == layout.Shared && kinds[kind] > 8 {
			continue
		}
		elem := []string{"f32", "f16", "i8", "i64", "i1"}[trial%5]
		k := tileIO{warps: 2, in: []ioTile{{elem, src}}, out: ioTile{elem, dst}}
		k.body = fmt.Sprintf("    %%r = convert_layout %%v0 : (%s) -> %s", k.in[0].typ(), k.out.typ())
		if kind == layout.Shared {
			mem := layout.SharedLayout(src, dst, elemBytes(elem)).Mem
			if trial%2 == 0 {
				mem = layout.Padded(shape, []int{1, 0}, 8)
			}
			buf := fmt.Sprintf("buffer<16x32x%s, #tileaa.mem<%s>>", elem, mem)
			k.shared = 16384
			k.body = fmt.Sprintf("    %%s = alloc_shared {offset = 128} : %[1]s\n    buffer_store %%v0, %%s : (%[2]s, %[1]s)\n    \"tileaa.barrier\"() : () -> ()\n    %%r = buffer_load %%s : (%[1]s) -> %[3]s", buf, k.in[0].typ(), k.out.typ())
		}
		in := data(uint64(trial), 8*elemBytes(elem))
		if elem == "i1" {
			for i := range in {
				in[i] &= 1
			}
		}
		out, _ := launch(t, "sm_80", k.text(), 1, in, make([]byte, len(in)))
		for i := range numElements {
			if got, want := element(out[1], i, elemBytes(elem)), element(in, i, elemBytes(elem)); got != want {
				t.Fatalf("%s %s to %s (%s): element %d is %#x, want %#x", elem, src, dst, kind, i, got, want)
			}
		}
	}
	for _, k := range []layout.Kind{layout.RegRename, layout.Shuffle, layout.Shared} {
		if kinds[k] == 0 {
			t.Errorf("no conversion by %s was tried", k)
		}
	}
}

// What names elements anew finds them in the registers of the source, whatever their order there.
func TestRenamedRegisters(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for trial := range 60 {
		elem := []string{"f32", "f16", "i8", "i64"}[trial%4]
		src := randomLayout(r, []int{16, 32}, 1, trial%2)
		dst, op := src.Permute([]int{1, 0}), "permute %v0 {permutation = [1, 0]}"
		if trial%3 == 0 {
			dst, op = src.Reshape([]int{4, 4, 32}), "reshape %v0"
		}
		b := dst.Bases()
		b.Reg = append([]uint64(nil), b.Reg...)
		r.Shuffle(len(b.Reg), func(i, j int) { b.Reg[i], b.Reg[j] = b.Reg[j], b.Reg[i] })
		b.Reg[0] ^= b.Reg[1]
		dst = layout.Must(dst.Shape(), b)
		k := tileIO{warps: 2, in: []ioTile{{elem, src}}, out: ioTile{elem, dst}}
		k.body = fmt.Sprintf("    %%r = %s : (%s) -> %s", op, k.in[0].typ(), k.out.typ())
		in := data(uint64(trial), 8*elemBytes(elem))
		out, _ := launch(t, "sm_80", k.text(), 1, in, make([]byte, len(in)))
		for i := range numElements {
			from := i
			if trial%3 != 0 {
				from = i%16*32 + i/16
			}
			if got, want := element(out[1], i, elemBytes(elem)), element(in, from, elemBytes(elem)); got != want {
				t.Fatalf("%s %s by %s: element %d is %#x, want %#x", elem, src, dst, i, got, want)
			}
		}
	}
}

// Matrix operands come from swizzled shared memory by ldmatrix, transposed where memory runs the other way.
func TestMatrixLoads(t *testing.T) {
	a := layout.Must([]int{16, 16}, layout.Bases{
		Reg:  []uint64{layout.Bit([]int{16, 16}, 1, 0), layout.Bit([]int{16, 16}, 0, 3), layout.Bit([]int{16, 16}, 1, 3)},
		Lane: []uint64{layout.Bit([]int{16, 16}, 1, 1), layout.Bit([]int{16, 16}, 1, 2), layout.Bit([]int{16, 16}, 0, 0), layout.Bit([]int{16, 16}, 0, 1), layout.Bit([]int{16, 16}, 0, 2)},
	}).Repeat(layout.Reg, 1, 2)
	shape := a.Shape()
	from := layout.Blocked(shape, 8, []int{1, 0}, 1)
	for name, c := range map[string]struct {
		mem  layout.MemLayout
		want string
	}{
		"rows":    {layout.Swizzled(shape, []int{1, 0}, 2, 128), "ldmatrix.sync.aligned.m8n8.x4.shared.b16"},
		"padded":  {layout.Padded(shape, []int{1, 0}, 8), "ldmatrix.sync.aligned.m8n8.x4.shared.b16"},
		"columns": {layout.Swizzled(shape, []int{0, 1}, 2, 32), "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"},
	} {
		k := tileIO{warps: 1, shared: 8192, in: []ioTile{{"bf16", from}}, out: ioTile{"bf16", a}}
		buf := fmt.Sprintf("buffer<16x64xbf16, #tileaa.mem<%s>>", c.mem)
		k.body = fmt.Sprintf("    %%s = alloc_shared {offset = 1024} : %[1]s\n    buffer_store %%v0, %%s : (%[2]s, %[1]s)\n    \"tileaa.barrier\"() : () -> ()\n    %%r = buffer_load %%s : (%[1]s) -> %[3]s", buf, k.in[0].typ(), k.out.typ())
		in := append(data(1, 16), data(2, 16)...)
		out, _ := launch(t, "sm_80", k.text(), 1, in, make([]byte, len(in)))
		if string(out[1]) != string(in) {
			t.Errorf("%s: elements moved", name)
		}
		if code := lowered(t, "sm_80", k.text()); !strings.Contains(code, c.want) {
			t.Errorf("%s: no %s in\n%s", name, c.want, code)
		}
	}
}

// Slices by numbers known when the kernel runs go through shared memory; by constants they are registers.
func TestSlices(t *testing.T) {
	whole := layout.Blocked([]int{16, 32}, 4, []int{1, 0}, 2)
	piece := layout.Blocked([]int{8, 16}, 2, []int{1, 0}, 2)
	mem := layout.Strided([]int{16, 32}, []int{1, 0})
	buf := fmt.Sprintf("buffer<16x32xi32, #tileaa.mem<%s>>", mem)
	k := tileIO{warps: 2, shared: 4096, in: []ioTile{{"i32", whole}, {"i32", piece}}, out: ioTile{"i32", whole}}
	k.body = fmt.Sprintf(`    %%s = alloc_shared {offset = 0} : %[1]s
    buffer_store %%v0, %%s : (%[2]s, %[1]s)
    "tileaa.barrier"() : () -> ()
    %%one = constant <i32: 1> : tile<i32>
    %%pid = program_id {axis = 0} : tile<i32>
    %%e = buffer_extract %%s, indices(%%one, %%pid) : (%[1]s, tile<i32>, tile<i32>) -> %[3]s
    %%n = addi %%e, %%v1 : %[3]s
    "tileaa.barrier"() : () -> ()
    buffer_insert %%n, %%s, indices(%%pid, %%one) : (%[3]s, %[1]s, tile<i32>, tile<i32>)
    "tileaa.barrier"() : () -> ()
    %%r = buffer_load %%s : (%[1]s) -> %[2]s`, buf, k.in[0].typ(), k.in[1].typ())
	x, y := data(1, 32), data(2, 32)[:512]
	out, _ := launch(t, "sm_80", k.text(), 1, x, y, make([]byte, len(x)))
	for i := range 16 {
		for j := range 32 {
			want := wordAt(x, 32*i+j)
			if i < 8 && j >= 16 {
				want = wordAt(x, 32*(i+8)+j-16) + wordAt(y, 16*i+j-16)
			}
			if got := wordAt(out[2], 32*i+j); got != want {
				t.Fatalf("element %d,%d is %d, want %d", i, j, got, want)
			}
		}
	}
}

// A slice is stored by the threads that have it: in lanes, warps and registers, wherever its number is known.
func TestSlicesOfRegisters(t *testing.T) {
	whole := layout.Blocked([]int{16, 32}, 4, []int{1, 0}, 2)
	piece := layout.Blocked([]int{4, 16}, 1, []int{1, 0}, 2)
	for _, mem := range []layout.MemLayout{layout.Strided([]int{4, 16}, []int{1, 0}), layout.Padded([]int{4, 16}, []int{1, 0}, 4), layout.Strided([]int{4, 16}, []int{0, 1})} {
		buf := fmt.Sprintf("buffer<4x16xi32, #tileaa.mem<%s>>", mem)
		k := tileIO{warps: 2, shared: 4096, in: []ioTile{{"i32", whole}}, out: ioTile{"i32", piece}}
		k.body = fmt.Sprintf(`    %%s = alloc_shared {offset = 0} : %[1]s
    %%one = constant <i32: 1> : tile<i32>
    %%pid = program_id {axis = 0} : tile<i32>
    %%three = constant <i32: 3> : tile<i32>
    %%row = subi %%three, %%pid : tile<i32>
    buffer_store_slice %%v0, %%s, indices(%%row, %%one) : (%[2]s, %[1]s, tile<i32>, tile<i32>)
    "tileaa.barrier"() : () -> ()
    %%r = buffer_load %%s : (%[1]s) -> %[3]s`, buf, k.in[0].typ(), k.out.typ())
		x := data(1, 32)
		out, _ := launch(t, "sm_80", k.text(), 1, x, make([]byte, 4*16*4))
		for i := range 4 {
			for j := range 16 {
				if got, want := wordAt(out[1], 16*i+j), wordAt(x, 32*(i+12)+j+16); got != want {
					t.Fatalf("%s: element %d,%d is %d, want %d", mem, i, j, got, want)
				}
			}
		}
	}
}

// cat and constant slices are register lists.
func TestCatAndExtract(t *testing.T) {
	half := layout.Must([]int{8, 32}, layout.Bases{Reg: []uint64{1, 2, 128}, Lane: []uint64{4, 8, 16, 32, 64}})
	whole := half.Cat(0)
	k := tileIO{warps: 1, in: []ioTile{{"f16", half}, {"f16", half}}, out: ioTile{"f16", whole}}
	k.body = fmt.Sprintf(`    %%c = cat %%v0, %%v1 {dim = 0} : (%[1]s, %[1]s) -> %[2]s
    %%one = constant <i32: 1> : tile<i32>
    %%zero2 = constant <i32: 0> : tile<i32>
    %%b = extract %%c, indices(%%one, %%zero2) : (%[2]s, tile<i32>, tile<i32>) -> %[1]s
    %%r = insert %%b, %%c, indices(%%zero2, %%zero2) : (%[1]s, %[2]s, tile<i32>, tile<i32>) -> %[2]s`, k.in[0].typ(), k.out.typ())
	x, y := data(1, 16)[:512], data(2, 16)[:512]
	out, _ := launch(t, "sm_80", k.text(), 1, x, y, make([]byte, 1024))
	if string(out[2][:512]) != string(y) || string(out[2][512:]) != string(y) {
		t.Error("the second half does not stand twice")
	}
	if code := lowered(t, "sm_80", k.text()); strings.Contains(code, ".shared.") {
		t.Errorf("slices by constants use shared memory:\n%s", code)
	}
}

// Gathers take coordinates from a tile; those outside read the padding and write nothing.
func TestGatherAndScatter(t *testing.T) {
	const text = `
#L = #tileaa.layout<{reg=[[0,1],[0,2]], lane=[[0,4],[0,8],[1,0],[2,0],[4,0]]} : 8x16>
#I = #tileaa.layout<{reg=[[0],[0]], lane=[[0],[0],[1],[2],[4]]} : 8>
tileaa.module @m {
  entry @k attributes {plan = #tileaa.plan<warps = 1>} (%in: tile<ptr<f32>>, %rows: tile<ptr<i32>>, %out: tile<ptr<f32>>, %n: tile<i32>) {
    %i = iota : tile<8xi32, #I>
    %s = splat %rows : (tile<ptr<i32>>) -> tile<8xptr<i32>, #I>
    %q = offset %s, %i : (tile<8xptr<i32>, #I>, tile<8xi32, #I>) -> tile<8xptr<i32>, #I>
    %x, %t = load %q {vec = 1} : (tile<8xptr<i32>, #I>) -> (tile<8xi32, #I>, token)
    %four = constant <i32: 4> : tile<i32>
    %a = make_memref %in, shape(%n) : (tile<ptr<f32>>, tile<i32>) -> memref<?x24xf32, strides=[24,1]>
    %b = block_tile %a, indices(%x, %four) {traversal = [1, 1], dim_map = [0, 1], padding = zero, sparse_dim = 0} : (memref<?x24xf32, strides=[24,1]>, tile<8xi32, #I>, tile<i32>) -> block<8x16xf32>
    %v, %u = tiled_load %b {vec = 4, fast = 1, masked = [true, true]} : (block<8x16xf32>) -> (tile<8x16xf32, #L>, token)
    %one = constant <f32: 1.000000e+00> : tile<8x16xf32, #L>
    %w = addf %v, %one : tile<8x16xf32, #L>
    %d = make_memref %out, shape(%n) : (tile<ptr<f32>>, tile<i32>) -> memref<?x24xf32, strides=[24,1]>
    %e = block_tile %d, indices(%x, %four) {traversal = [1, 1], dim_map = [0, 1], sparse_dim = 0} : (memref<?x24xf32, strides=[24,1]>, tile<8xi32, #I>, tile<i32>) -> block<8x16xf32>
    %y = tiled_store %w, %e {vec = 4, fast = 1, masked = [true, true]} : (tile<8x16xf32, #L>, block<8x16xf32>) -> token
    return
  }
}`
	rows := []int32{3, 0, 9, -1, 5, 20, 1, 2}
	in := count(24*10, func(i int) float32 { return float32(i) })
	out, _ := launch(t, "sm_80", text, 1, in, words(rows...), make([]byte, len(in)), int32(10))
	for i := range 240 {
		want := float32(0)
		for _, r := range rows {
			if i/24 == int(r) && i%24 >= 4 && i%24 < 20 {
				want = float32(i) + 1
			}
		}
		if got := floatAt(out[2], i); got != want {
			t.Fatalf("row %d column %d is %v, want %v", i/24, i%24, got, want)
		}
	}
}

// Copies past the registers land where a load from shared memory finds them; what lies outside the array is zero.
func TestAsyncCopy(t *testing.T) {
	shape := []int{16, 32}
	copyMap := layout.Blocked(shape, 4, []int{1, 0}, 2)
	to := layout.Blocked(shape, 2, []int{0, 1}, 2)
	mem := layout.Swizzled(shape, []int{1, 0}, 4, 128)
	k := tileIO{warps: 2, shared: 4096, in: nil, out: ioTile{"f32", to}}
	buf := fmt.Sprintf("buffer<16x32xf32, #tileaa.mem<%s>>", mem)
	text := strings.Replace(k.text(), "(%po", "(%pi: tile<ptr<f32>>, %po", 1)
	text = strings.Replace(text, "    %mo =", fmt.Sprintf(`    %%a = make_memref %%pi : (tile<ptr<f32>>) -> memref<13x32xf32, strides=[32,1]>
    %%b = block_tile %%a, indices(%%zero, %%zero) {traversal = [16, 32], dim_map = [0, 1]} : (memref<13x32xf32, strides=[32,1]>, tile<i32>, tile<i32>) -> block<16x32xf32>
    %%s = alloc_shared {offset = 0} : %[1]s
    %%tc = async_copy %%b, %%s {layout = #tileaa.layout<%[2]s>, vec = 4, fast = 1, masked = [true, false]} : (block<16x32xf32>, %[1]s) -> token
    "tileaa.async_commit"() : () -> ()
    "tileaa.async_wait"() {pending = 0} : () -> ()
    "tileaa.barrier"() : () -> ()
    %%r = buffer_load %%s : (%[1]s) -> %[3]s
    %%mo =`, buf, copyMap, k.out.typ()), 1)
	in := count(13*32, func(i int) float32 { return float32(i + 1) })
	out, _ := launch(t, "sm_80", text, 1, in, make([]byte, 2048))
	for i := range 512 {
		want := float32(0)
		if i < 13*32 {
			want = float32(i + 1)
		}
		if got := floatAt(out[1], i); got != want {
			t.Fatalf("element %d is %v, want %v", i, got, want)
		}
	}
	if code := lowered(t, "sm_80", text); !strings.Contains(code, "cp.async.cg.shared.global") {
		t.Errorf("no 16-byte copies:\n%s", code)
	}
}

// TestOldValuesAreStoredTogether adds to 16-bit floats in a loop of compare-and-swap; the old values are packed where the loop has ended.
func TestOldValuesAreStoredTogether(t *testing.T) {
	const text = `
#L = #tileaa.layout<{reg=[[1]], lane=[[2],[4],[8],[16],[32]]} : 64>
tileaa.module @m {
  entry @k attributes {plan = #tileaa.plan<warps = 1>} (%p: tile<ptr<bf16>>, %q: tile<ptr<bf16>>) {
    %i = iota : tile<64xi32, #L>
    %s = splat %p : (tile<ptr<bf16>>) -> tile<64xptr<bf16>, #L>
    %a = offset %s, %i : (tile<64xptr<bf16>, #L>, tile<64xi32, #L>) -> tile<64xptr<bf16>, #L>
    %x = itof %i : (tile<64xi32, #L>) -> tile<64xbf16, #L>
    %old, %t = atomic_rmw %a, %x {mode = addf, order = relaxed, scope = device} : (tile<64xptr<bf16>, #L>, tile<64xbf16, #L>) -> (tile<64xbf16, #L>, token)
    %u = splat %q : (tile<ptr<bf16>>) -> tile<64xptr<bf16>, #L>
    %b = offset %u, %i : (tile<64xptr<bf16>, #L>, tile<64xi32, #L>) -> tile<64xptr<bf16>, #L>
    %w = store %b, %old {vec = 2, fast = 0} : (tile<64xptr<bf16>, #L>, tile<64xbf16, #L>) -> token
    return
  }
}`
	before, after := make([]byte, 128), make([]byte, 128)
	for i := range 64 {
		binary.LittleEndian.PutUint16(before[2*i:], uint16(float.BF16.Encode(float64(64-i), float.NearestEven)))
		binary.LittleEndian.PutUint16(after[2*i:], uint16(float.BF16.Encode(64, float.NearestEven)))
	}
	out, _ := launch(t, "sm_75", text, 1, bytes.Clone(before), make([]byte, 128))
	if !bytes.Equal(out[0], after) || !bytes.Equal(out[1], before) {
		t.Errorf("%x and %x are left by\n%s", out[0], out[1], lowered(t, "sm_75", text))
	}
}

// Atomic operations happen once for an element that many threads hold; old values and masks are right.
func TestAtomics(t *testing.T) {
	const text = `
#L = #tileaa.layout<{reg=[[1]], lane=[[2],[4],[0],[8],[0]], warp=[[0]]} : 16>
tileaa.module @m {
  entry @k attributes {plan = #tileaa.plan<warps = 2>} (%p: tile<ptr<ELEM>>, %count: tile<ptr<i32>>) {
    %i = iota : tile<16xi32, #L>
    %four = constant <i32: 4> : tile<16xi32, #L>
    %slot = remi %i, %four : tile<16xi32, #L>
    %s = splat %p : (tile<ptr<ELEM>>) -> tile<16xptr<ELEM>, #L>
    %q = offset %s, %slot : (tile<16xptr<ELEM>, #L>, tile<16xi32, #L>) -> tile<16xptr<ELEM>, #L>
    %x = CONVERT %i : (tile<16xi32, #L>) -> tile<16xELEM, #L>
    %twelve = constant <i32: 12> : tile<16xi32, #L>
    %m = cmpi %i, %twelve {predicate = less_than} : (tile<16xi32, #L>, tile<16xi32, #L>) -> tile<16xi1, #L>
    %old, %t = atomic_rmw %q, %x, mask(%m) {mode = MODE, order = relaxed, scope = device} : (tile<16xptr<ELEM>, #L>, tile<16xELEM, #L>, tile<16xi1, #L>) -> (tile<16xELEM, #L>, token)
    %one = constant <i32: 1> : tile<i32>
    %o2, %t2 = atomic_rmw %count, %one {mode = add, order = relaxed, scope = device} : (tile<ptr<i32>>, tile<i32>) -> (tile<i32>, token)
    %mm = make_memref %count : (tile<ptr<i32>>) -> memref<32xi32, strides=[1]>
    %z = constant <i32: 1> : tile<i32>
    %b = block_tile %mm, indices(%z) {traversal = [16], dim_map = [0]} : (memref<32xi32, strides=[1]>, tile<i32>) -> block<16xi32>
    %t3 = tiled_atomic %b, %i {mode = add, order = relaxed, scope = device, vec = 1, fast = 0, masked = [false]} : (block<16xi32>, tile<16xi32, #L>) -> token
    return
  }
}`
	sum := func(start float64, i int, op func(a, b float64) float64) float64 {
		v := start
		for k := i; k < 12; k += 4 {
			v = op(v, float64(k))
		}
		return v
	}
	add := func(a, b float64) float64 { return a + b }
	for _, c := range []struct {
		elem, mode, sm string
		op             func(a, b float64) float64
	}{
		{"i32", "add", "sm_80", add}, {"i64", "add", "sm_80", add}, {"i32", "max", "sm_75", func(a, b float64) float64 { return max(a, b) }},
		{"f32", "addf", "sm_80", add}, {"f64", "addf", "sm_80", add}, {"f16", "addf", "sm_80", add}, {"bf16", "addf", "sm_90", add}, {"bf16", "addf", "sm_80", add},
		{"i64", "umin", "sm_80", func(a, b float64) float64 { return min(a, b) }},
	} {
		convert := "itof"
		if c.elem == "i32" {
			convert = "assume"
		} else if c.elem == "i64" {
			convert = "exti"
		}
		body := strings.NewReplacer("ELEM", c.elem, "MODE", c.mode).Replace(text)
		if convert == "assume" {
			body = strings.Replace(body, "%x = CONVERT %i : (tile<16xi32, #L>) -> tile<16xi32, #L>", "%x = addi %i, %i : tile<16xi32, #L>", 1)
		}
		body = strings.Replace(body, "CONVERT", convert, 1)
		start := encode(c.elem, 4, func(i int) float64 { return float64(5 + i) })
		out, _ := launch(t, c.sm, body, 1, start, make([]byte, 128))
		for i := range 4 {
			want := sum(float64(5+i), i, c.op)
			if convert == "assume" {
				want = float64(5 + i)
				for k := i; k < 12; k += 4 {
					want = c.op(want, float64(2*k))
				}
			}
			if got := decode(c.elem, out[0], i); got != want {
				t.Errorf("%s %s on %s: slot %d is %v, want %v", c.mode, c.elem, c.sm, i, got, want)
			}
		}
		if got := wordAt(out[1], 0); got != 1 {
			t.Errorf("the scalar operation ran %d times", got)
		}
		for i := range 16 {
			if got := wordAt(out[1], 16+i); got != int32(i) {
				t.Errorf("the reduction into a block gave %d at %d", got, i)
			}
		}
	}
}

// Compare-and-swap compares bits and gives masked elements what they were compared with.
func TestCompareAndSwap(t *testing.T) {
	const text = `
#L = #tileaa.layout<{lane=[[1],[2],[4],[8],[16]]} : 32>
tileaa.module @m {
  entry @k attributes {plan = #tileaa.plan<warps = 1>} (%p: tile<ptr<f32>>, %o: tile<ptr<f32>>) {
    %i = iota : tile<32xi32, #L>
    %s = splat %p : (tile<ptr<f32>>) -> tile<32xptr<f32>, #L>
    %q = offset %s, %i : (tile<32xptr<f32>, #L>, tile<32xi32, #L>) -> tile<32xptr<f32>, #L>
    %c = constant <f32: 0.000000e+00> : tile<32xf32, #L>
    %v = itof %i : (tile<32xi32, #L>) -> tile<32xf32, #L>
    %n = constant <i32: 24> : tile<32xi32, #L>
    %m = cmpi %i, %n {predicate = less_than} : (tile<32xi32, #L>, tile<32xi32, #L>) -> tile<32xi1, #L>
    %old, %t = atomic_cas %q, %c, %v, mask(%m) {order = acq_rel, scope = sys} : (tile<32xptr<f32>, #L>, tile<32xf32, #L>, tile<32xf32, #L>, tile<32xi1, #L>) -> (tile<32xf32, #L>, token)
    %so = splat %o : (tile<ptr<f32>>) -> tile<32xptr<f32>, #L>
    %qo = offset %so, %i : (tile<32xptr<f32>, #L>, tile<32xi32, #L>) -> tile<32xptr<f32>, #L>
    %u = store %qo, %old : (tile<32xptr<f32>, #L>, tile<32xf32, #L>) -> token
    return
  }
}`
	in := make([]byte, 128)
	for i := range 32 {
		if i%3 == 1 {
			binary.LittleEndian.PutUint32(in[4*i:], 0x80000000) // -0 is not 0
		}
	}
	out, _ := launch(t, "sm_80", text, 1, in, make([]byte, 128))
	for i := range 32 {
		had := binary.LittleEndian.Uint32(in[4*i:])
		now, old := had, had
		if i < 24 && had == 0 {
			now = uint32(float.F32.Encode(float64(i), float.NearestEven))
		}
		if i >= 24 {
			old = 0
		}
		if got := binary.LittleEndian.Uint32(out[0][4*i:]); got != now {
			t.Errorf("element %d is %#x, want %#x", i, got, now)
		}
		if got := binary.LittleEndian.Uint32(out[1][4*i:]); got != old {
			t.Errorf("old value %d is %#x, want %#x", i, got, old)
		}
	}
}

// print writes scalars and whole tiles once; %% and widths pass through.
func TestPrint(t *testing.T) {
	const text = `
#U = #tileaa.layout<{reg=[[0,1],[1,0],[2,0]], lane=[[0,0],[0,0],[0,0],[0,0],[0,0]], warp=[[0,0]]} : 4x2>
tileaa.module @m {
  entry @k attributes {plan = #tileaa.plan<warps = 2>} (%n: tile<i64>, %h: tile<f16>) {
    %c = constant <i32: [[1, -2], [3, 4], [5, 6], [7, 8]]> : tile<4x2xi32, #U>
    %b = cmpi %c, %c {predicate = equal} : (tile<4x2xi32, #U>, tile<4x2xi32, #U>) -> tile<4x2xi1, #U>
    %t = print values(%n, %c, %h) {format = "n=%lld 100%% c=%3d h=%.2f\0A"} : (tile<i64>, tile<4x2xi32, #U>, tile<f16>) -> token
    %u = print {format = "bye\0A"} : token
    return
  }
}`
	_, printed := launch(t, "sm_80", text, 1, int64(1<<40), uint16(0x3E00))
	if want := "n=1099511627776 100% c=[[  1,  -2], [  3,   4], [  5,   6], [  7,   8]] h=1.50\nbye\n"; printed != want {
		t.Errorf("printed %q, want %q", printed, want)
	}
}
