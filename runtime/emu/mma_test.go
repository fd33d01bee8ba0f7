package emu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// fragment is the place of element i of a lane's operand, as the ISA's tables give it (section 9.7.14.5):
// g = lane/4, t = lane%4.
type fragment func(i, g, t int) (row, col int)

// The tables of the ISA, written as they stand there: one branch for every condition on i.
var (
	a16x16f16 = func(i, g, t int) (int, int) {
		row, col := g+8, t*2+i&1
		if i < 2 || 4 <= i && i < 6 {
			row = g
		}
		if i >= 4 {
			col += 8
		}
		return row, col
	}
	a16x8f16 = func(i, g, t int) (int, int) {
		if i < 2 {
			return g, t*2 + i&1
		}
		return g + 8, t*2 + i&1
	}
	a16x8tf32 = func(i, g, t int) (int, int) {
		row, col := g, t
		if i == 1 || i == 3 {
			row = g + 8
		}
		if i >= 2 {
			col = t + 4
		}
		return row, col
	}
	a16x4   = func(i, g, t int) (int, int) { return g + 8*i, t }
	a16x16d = func(i, g, t int) (int, int) { return g + 8*(i%2), t + 4*(i/2) }
	a16x32  = func(i, g, t int) (int, int) {
		row, col := g+8, t*4+i&3
		if i < 4 || 8 <= i && i < 12 {
			row = g
		}
		if i >= 8 {
			col += 16
		}
		return row, col
	}
	a16x16b8 = func(i, g, t int) (int, int) {
		if i < 4 {
			return g, t*4 + i&3
		}
		return g + 8, t*4 + i&3
	}
	a8x16  = func(i, g, t int) (int, int) { return g, t*4 + i&3 }
	a8x32  = func(i, g, t int) (int, int) { return g, t*8 + i&7 }
	a16x64 = func(i, g, t int) (int, int) {
		row, col := g+8, t*8+i&7
		if i < 8 || 16 <= i && i < 24 {
			row = g
		}
		if i >= 16 {
			col += 32
		}
		return row, col
	}
	a16x32b4 = func(i, g, t int) (int, int) {
		if i < 8 {
			return g, t*8 + i&7
		}
		return g + 8, t*8 + i&7
	}
	a8x4 = func(_, g, t int) (int, int) { return g, t }

	b16f16 = func(i, g, t int) (int, int) {
		if i < 2 {
			return t*2 + i&1, g
		}
		return t*2 + i&1 + 8, g
	}
	b8f16 = func(i, g, t int) (int, int) { return t*2 + i, g }
	bone  = func(i, g, t int) (int, int) { return t + 4*i, g } // f64 and tf32
	b32b8 = func(i, g, t int) (int, int) {
		if i < 4 {
			return t*4 + i&3, g
		}
		return t*4 + i&3 + 16, g
	}
	b16b8 = func(i, g, t int) (int, int) { return t*4 + i&3, g }
	b64b4 = func(i, g, t int) (int, int) {
		if i < 8 {
			return t*8 + i&7, g
		}
		return t*8 + i&7 + 32, g
	}
	b32b4 = func(i, g, t int) (int, int) { return t*8 + i&7, g }

	c16 = func(i, g, t int) (int, int) {
		if i < 2 {
			return g, t*2 + i&1
		}
		return g + 8, t*2 + i&1
	}
	c8 = func(i, g, t int) (int, int) { return g, t*2 + i&1 }
)

// TestEveryMatrixShape multiplies random small integers, which every type holds exactly, and compares
// with a plain product. The fragments are packed and unpacked by the tables above.
func TestEveryMatrixShape(t *testing.T) {
	for _, c := range []struct {
		shape   string
		types   string // D A B C
		m, k    int
		a, b, c fragment
	}{
		{"m16n8k16", "f32.f16.f16.f32", 16, 16, a16x16f16, b16f16, c16},
		{"m16n8k16", "f16.f16.f16.f16", 16, 16, a16x16f16, b16f16, c16},
		{"m16n8k16", "f32.bf16.bf16.f32", 16, 16, a16x16f16, b16f16, c16},
		{"m16n8k8", "f32.f16.f16.f32", 16, 8, a16x8f16, b8f16, c16},
		{"m16n8k8", "f16.f16.f16.f16", 16, 8, a16x8f16, b8f16, c16},
		{"m16n8k8", "f32.bf16.bf16.f32", 16, 8, a16x8f16, b8f16, c16},
		{"m16n8k8", "f32.tf32.tf32.f32", 16, 8, a16x8tf32, bone, c16},
		{"m16n8k4", "f32.tf32.tf32.f32", 16, 4, a16x4, bone, c16},
		{"m8n8k4", "f64.f64.f64.f64", 8, 4, a8x4, bone, c8},
		{"m16n8k4", "f64.f64.f64.f64", 16, 4, a16x4, bone, c16},
		{"m16n8k8", "f64.f64.f64.f64", 16, 8, a16x16d, bone, c16},
		{"m16n8k16", "f64.f64.f64.f64", 16, 16, a16x16d, bone, c16},
		{"m16n8k32", "s32.s8.s8.s32", 16, 32, a16x32, b32b8, c16},
		{"m16n8k32", "s32.u8.s8.s32", 16, 32, a16x32, b32b8, c16},
		{"m16n8k16", "s32.s8.u8.s32", 16, 16, a16x16b8, b16b8, c16},
		{"m8n8k16", "s32.s8.u8.s32", 8, 16, a8x16, b16b8, c8},
		{"m16n8k64", "s32.s4.u4.s32", 16, 64, a16x64, b64b4, c16},
		{"m16n8k32", "s32.u4.s4.s32", 16, 32, a16x32b4, b32b4, c16},
		{"m8n8k32", "s32.s4.s4.s32", 8, 32, a8x32, b32b4, c8},
		{"m16n8k32", "f32.e4m3.e5m2.f32", 16, 32, a16x32, b32b8, c16},
		{"m16n8k32", "f16.e4m3.e4m3.f16", 16, 32, a16x32, b32b8, c16},
		{"m16n8k16", "f32.e5m2.e4m3.f32", 16, 16, a16x16b8, b16b8, c16},
	} {
		t.Run(c.shape+"."+c.types, func(t *testing.T) {
			names := strings.Split(c.types, ".")
			var ts [4]typ // D A B C
			for i, n := range names {
				ts[i] = types[n]
				if x, ok := nibbles[n]; ok {
					ts[i] = x
				}
			}
			r := rand.New(rand.NewPCG(5, 6))
			A, B, C := matrix(r, c.m, c.k, ts[1]), matrix(r, c.k, 8, ts[2]), matrix(r, c.m, 8, ts[3])
			mod, err := Parse("t", mmaText(c.shape, c.types, ts, c.m, c.k))
			if err != nil {
				t.Fatal(err)
			}
			if u := mod.Entry("k").Unsupported; u != nil {
				t.Fatal(u)
			}
			mem := NewMemory()
			regs := slices.Concat(packFragment(A, ts[1], c.a), packFragment(B, ts[2], c.b), packFragment(C, ts[3], c.c))
			in := mem.Alloc("in", regs, 256)
			out := mem.AllocUndef("out", len(packFragment(C, ts[0], c.c)), 256)
			if _, err := mod.Run(t.Context(), "k", mem, []Arg{le64(in), le64(out)}, Options{Block: [3]int{32, 1, 1}}); err != nil {
				t.Fatal(err)
			}
			want := make([][]float64, c.m)
			for i := range want {
				want[i] = make([]float64, 8)
				for j := range 8 {
					want[i][j] = C[i][j]
					for k := range c.k {
						want[i][j] += A[i][k] * B[k][j]
					}
				}
			}
			if got, want := mem.Bytes(out), packFragment(want, ts[0], c.c); string(got) != string(want) {
				t.Fatalf("got % x, want % x", got, want)
			}
		})
	}
}

func matrix(r *rand.Rand, rows, cols int, t typ) [][]float64 {
	m := make([][]float64, rows)
	for i := range m {
		m[i] = make([]float64, cols)
		for j := range m[i] {
			v := r.IntN(4)
			if t.cls != clsUint {
				v -= 2
			}
			m[i][j] = float64(v)
		}
	}
	return m
}

// packFragment gives the registers of all lanes, register by register: 32 words each.
func packFragment(m [][]float64, t typ, f fragment) []byte {
	bytesPer := max(4, t.bits/8)
	e := max(1, 32/t.bits)
	n := len(m) * len(m[0]) / 32
	out := make([]byte, n/e*32*bytesPer)
	for lane := range 32 {
		for i := range n {
			row, col := f(i, lane>>2, lane&3)
			v := encodeElement(m[row][col], t)
			reg := i / e
			at := (reg*32 + lane) * bytesPer
			old := readBytes(out, at, bytesPer)
			writeBytes(out, at, bytesPer, old|v<<(i%e*t.bits))
		}
	}
	return out
}

func encodeElement(x float64, t typ) uint64 {
	switch {
	case t.bits == 64:
		return db(x)
	case !t.isFloat():
		return uint64(int64(x)) & t.mask()
	}
	return uint64(t.fmt.round(x, rn, false))
}

// mmaText is a kernel that loads the fragments, multiplies once and stores.
func mmaText(shape, types string, ts [4]typ, m, k int) string {
	count := func(rows, cols int, t typ) int { return rows * cols * t.bits / 32 / max(32, t.bits) }
	n := []int{count(m, 8, ts[0]), count(m, k, ts[1]), count(k, 8, ts[2]), count(m, 8, ts[3])}
	var b strings.Builder
	b.WriteString(header + ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b32 %t; .reg .b64 %in, %out, %l;\n")
	b.WriteString("ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %t, %tid.x;\n")
	at := 0
	var lists []string
	for op, name := range []string{"d", "a", "b", "c"} {
		width := max(32, ts[op].bits)
		var l []string
		for i := range n[op] {
			fmt.Fprintf(&b, ".reg .b%d %%%s%d;\n", width, name, i)
			l = append(l, fmt.Sprintf("%%%s%d", name, i))
			if op > 0 {
				fmt.Fprintf(&b, "mad.wide.u32 %%l, %%t, %d, %%in; ld.global.b%d %%%s%d, [%%l+%d];\n", width/8, width, name, i, at)
				at += 32 * width / 8
			}
		}
		lists = append(lists, "{"+strings.Join(l, ",")+"}")
	}
	fmt.Fprintf(&b, "mma.sync.aligned.%s.row.col.%s %s;\n", shape, types, strings.Join(lists, ", "))
	width := max(32, ts[0].bits)
	for i := range n[0] {
		fmt.Fprintf(&b, "mad.wide.u32 %%l, %%t, %d, %%out; st.global.b%d [%%l+%d], %%d%d;\n", width/8, width, i*32*width/8, i)
	}
	return b.String() + "ret;\n}\n"
}

func TestIntegerProductsWrapOrSaturate(t *testing.T) {
	const sum = 0x7fffff00 + 16*127*127
	for sat, want := range map[string]uint64{"": sum, ".satfinite": 0x7fffffff} {
		body := `
	mov.b32 %r1, 0x7f7f7f7f;
	mov.b32 %r2, 0x7fffff00;
	mma.sync.aligned.m8n8k16.row.col` + sat + `.s32.s8.s8.s32 {%r3,%r4}, {%r1}, {%r1}, {%r2,%r2};
	st.global.u32 [%rd1], %r3;`
		out, err := runText(t, kernel(body), 32, make([]byte, 128), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := readBytes(out, 0, 4); got != want {
			t.Errorf("mma%s: got %#x, want %#x", sat, got, want)
		}
	}
}

// TestMatrixLoadsAndStores moves four 8x8 matrices through shared memory: element (r, c) of matrix q is
// 100q + 10r + c.
func TestMatrixLoadsAndStores(t *testing.T) {
	tile := make([]byte, 512)
	for q := range 4 {
		for r := range 8 {
			for c := range 8 {
				writeBytes(tile, 128*q+16*r+2*c, 2, uint64(100*q+10*r+c))
			}
		}
	}
	load := `
	.shared .align 16 .b8 sm[512];
	mov.u32 %r1, sm;
	mad.lo.s32 %r1, %r0, 16, %r1;
	mad.wide.u32 %rd3, %r0, 16, %rd0;
	ld.global.v4.b32 {%r2,%r3,%r4,%r5}, [%rd3];
	st.shared.v4.b32 [%r1], {%r2,%r3,%r4,%r5};
	bar.warp.sync -1;
	`
	store := "\nst.global.v4.b32 [%rd3], {%r10,%r11,%r12,%r13};"
	run := func(body string) []byte {
		out, err := runText(t, on("sm_90", kernel(load+body+store)), 32, append([]byte(nil), tile...), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, trans := range []bool{false, true} {
		mod := map[bool]string{false: "", true: ".trans"}[trans]
		out := run("ldmatrix.sync.aligned.m8n8.x4" + mod + ".shared.b16 {%r10,%r11,%r12,%r13}, [%r1];")
		for lane := range 32 {
			for q := range 4 {
				for j := range 2 {
					r, c := lane/4, lane%4*2+j
					if trans {
						r, c = c, r
					}
					if got := readBytes(out, 16*lane+4*q+2*j, 2); got != uint64(100*q+10*r+c) {
						t.Fatalf("ldmatrix%s lane %d register %d half %d: %d", mod, lane, q, j, got)
					}
				}
			}
		}
	}
	// Down and up again, transposed both times, and once by movmatrix.
	out := run(`ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r10,%r11,%r12,%r13}, [%r1];
	bar.warp.sync -1;
	stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%r1], {%r10,%r11,%r12,%r13};
	bar.warp.sync -1;
	ld.shared.v4.b32 {%r10,%r11,%r12,%r13}, [%r1];`)
	if string(out) != string(tile) {
		t.Error("ldmatrix.trans and stmatrix.trans do not undo each other")
	}
	out = run(`ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r14}, [%r1];
	movmatrix.sync.aligned.m8n8.trans.b16 %r10, %r14;
	mov.b32 %r11, 0; mov.b32 %r12, 0; mov.b32 %r13, 0;`)
	for lane := range 32 {
		if got := readBytes(out, 16*lane, 2); got != uint64(10*(lane%4*2)+lane/4) {
			t.Fatalf("movmatrix lane %d: %d", lane, got)
		}
	}
}

// TestCountersSeeConflictsAndSectors: a stride of 32 words makes 32 passes, a row of words one.
func TestCountersSeeConflictsAndSectors(t *testing.T) {
	body := func(shift string) string {
		return kernel(`
	.shared .align 16 .b8 sm[4096];
	mov.u32 %r1, sm;
	shl.b32 %r2, %r0, ` + shift + `;
	add.s32 %r1, %r1, %r2;
	st.shared.u32 [%r1], %r0;
	cvt.u64.u32 %rd3, %r2;
	add.s64 %rd3, %rd3, %rd0;
	st.global.u32 [%rd3], %r0;`)
	}
	for shift, want := range map[string]Stats{
		"2": {SharedWavefronts: 1, SharedIdealWavefronts: 1, GlobalSectors: 4},
		"7": {SharedWavefronts: 32, SharedIdealWavefronts: 1, GlobalSectors: 32},
	} {
		m, err := Parse("t", body(shift))
		if err != nil {
			t.Fatal(err)
		}
		mem := NewMemory()
		a := mem.AllocUndef("buf", 4096, 256)
		res, err := m.Run(t.Context(), "k", mem, []Arg{le64(a)}, Options{Block: [3]int{32, 1, 1}, Stats: true})
		if err != nil {
			t.Fatal(err)
		}
		s := res.Stats
		if s.SharedWavefronts != want.SharedWavefronts || s.SharedIdealWavefronts != want.SharedIdealWavefronts || s.GlobalSectors != want.GlobalSectors ||
			s.PerOpcode["st.shared.u32"] != 1 || s.LaneInstrs != 32*s.WarpInstrs {
			t.Errorf("shift %s: %+v", shift, s)
		}
	}
}

// TestCopiesOfNothingReadNoSectors: lanes whose source size is 0 write zeros and read nothing.
func TestCopiesOfNothingReadNoSectors(t *testing.T) {
	for half, want := range map[string]Stats{
		"32": {GlobalRequests: 1, GlobalSectors: 16, SharedWavefronts: 4},
		"8":  {GlobalRequests: 1, GlobalSectors: 4, SharedWavefronts: 4},
		"0":  {SharedWavefronts: 4},
	} {
		m, err := Parse("t", kernel(`
	.shared .align 16 .b8 sm[512];
	mov.u32 %r1, sm;
	shl.b32 %r2, %r0, 4;
	add.s32 %r1, %r1, %r2;
	cvt.u64.u32 %rd3, %r2;
	add.s64 %rd3, %rd3, %rd0;
	setp.lt.u32 %p1, %r0, `+half+`;
	selp.b32 %r3, 16, 0, %p1;
	cp.async.cg.shared.global [%r1], [%rd3], 16, %r3;
	cp.async.wait_all;`))
		if err != nil {
			t.Fatal(err)
		}
		mem := NewMemory()
		a := mem.Alloc("buf", make([]byte, 512), 256)
		res, err := m.Run(t.Context(), "k", mem, []Arg{le64(a)}, Options{Block: [3]int{32, 1, 1}, Stats: true})
		if err != nil {
			t.Fatal(err)
		}
		if s := res.Stats; s.GlobalRequests != want.GlobalRequests || s.GlobalSectors != want.GlobalSectors || s.SharedWavefronts != want.SharedWavefronts {
			t.Errorf("%s lanes: %+v", half, s)
		}
	}
}

// TestMatrixLoadsOfBytes: a register of ldmatrix.m16n16.trans holds four rows of a column, as the operand B of a product of
// bytes wants them.
func TestMatrixLoadsOfBytes(t *testing.T) {
	tile := make([]byte, 512)
	for i := range tile {
		tile[i] = byte(i*7 ^ i>>3)
	}
	out, err := runText(t, kernel(`
	.shared .align 16 .b8 sm[512];
	mov.u32 %r1, sm;
	mad.lo.s32 %r1, %r0, 16, %r1;
	mad.wide.u32 %rd3, %r0, 16, %rd0;
	ld.global.v4.b32 {%r2,%r3,%r4,%r5}, [%rd3];
	st.shared.v4.b32 [%r1], {%r2,%r3,%r4,%r5};
	bar.warp.sync -1;
	ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8 {%r10,%r11,%r12,%r13}, [%r1];
	st.global.v4.b32 [%rd3], {%r10,%r11,%r12,%r13};`), 32, append([]byte(nil), tile...), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for lane := range 32 {
		for q := range 2 {
			for i := range 2 {
				b := readBytes(out, 16*lane+8*q+4*i, 4)
				for e := range 4 {
					k, col := b32b8(e, lane>>2, lane&3)
					if got, want := byte(b>>(8*e)), tile[256*q+16*k+col+8*i]; got != want {
						t.Fatalf("matrix %d lane %d half %d element %d: got %#x, want %#x", q, lane, i, e, got, want)
					}
				}
			}
		}
	}
}

// TestProductsOfTF32IgnoreLowBits: of a factor the low 13 bits do not count (PTX ISA, "Alternate floating-point data formats"): four products of 1 are 4. The sum is undefined
// where the element that it adds to is.
func TestProductsOfTF32IgnoreLowBits(t *testing.T) {
	const text = `
	mov.b32 %r5, 0x3f801fff; CLEAR
	ld.shared.u32 %r6, [%r1];
	mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%r6, %r7, %r8, %r9}, {%r5, %r5}, {%r5}, {%r6, %r6, %r6, %r6};
	setp.eq.u32 %p1, %r9, 0x40800000; @%p1 st.global.u32 [%rd1], %r9;`
	out, err := runText(t, sharedKernel(strings.Replace(text, "CLEAR", "st.shared.u32 [%r1], 0;", 1)), 32, make([]byte, 128), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for lane := range 32 {
		if got := readBytes(out, 4*lane, 4); got != 0x40800000 {
			t.Errorf("lane %d: %#x", lane, got)
		}
	}
	if r := report(t, sharedKernel(strings.Replace(text, "CLEAR", "", 1)), Options{}); r == nil || r.Kind != Undefined {
		t.Errorf("undefined elements of C: got %v", r)
	}
}
