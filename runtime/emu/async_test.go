package emu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// Descriptors that compilers of others made: fields by the words that stand in their code.
func TestMatrixDescriptors(t *testing.T) {
	for _, c := range []struct {
		high, low uint32
		want      smemTile
	}{
		{0x40000040, 0x00010000 | 0x2000>>4, smemTile{start: 0x2000, leading: 16, stride: 1024, span: 128}}, // Triton and NVIDIA, 128 bytes
		{0x80000020, 0x00010000 | 0x400>>4, smemTile{start: 0x400, leading: 16, stride: 512, span: 64}},
		{0xc0000010, 0x00010000, smemTile{leading: 16, stride: 256, span: 32}},
		{0x40000040, 0x02000000 | 0x8000>>4, smemTile{start: 0x8000, leading: 8192, stride: 1024, span: 128}}, // Triton, transposed B of two pieces
		{0x00000040, 0x00080000, smemTile{leading: 128, stride: 1024}},                                        // no swizzle: cores of 128 bytes
	} {
		got, wrong := wgmmaTile(uint64(c.high)<<32|uint64(c.low), false, 0)
		if got != c.want || wrong != "" {
			t.Errorf("%#x %#x: %+v (%s), want %+v", c.high, c.low, got, wrong, c.want)
		}
	}
	for _, bad := range []uint64{1 << 14, 1 << 31, 1 << 46, 1 << 52, 1 << 61, 3 << 49} {
		if _, wrong := wgmmaTile(bad, false, 2); wrong == "" {
			t.Errorf("%#x is accepted", bad)
		}
	}
}

// Swizzles permute pieces of 16 bytes: the examples of the layouts in section 5.5.6, and that they are their own inverse.
func TestSwizzle(t *testing.T) {
	for _, c := range []struct{ span, addr, want int }{
		{0, 0x3f0, 0x3f0}, {32, 0x80, 0x90}, {32, 0x100, 0x100}, {64, 0x80, 0x90}, {64, 0x180, 0x1b0}, {64, 0x200, 0x200},
		{128, 0x80, 0x90}, {128, 0x380, 0x3f0}, {128, 0x3f0, 0x380}, {128, 0x400, 0x400}, {128, 0x48c, 0x49c},
	} {
		if got := swizzle(c.addr, c.span); got != c.want {
			t.Errorf("span %d: %#x goes to %#x, want %#x", c.span, c.addr, got, c.want)
		}
	}
	for _, span := range []int{0, 32, 64, 128} {
		for a := range 4096 {
			if b := swizzle(a, span); swizzle(b, span) != a || b>>7 != a>>7 || b&15 != a&15 {
				t.Fatalf("span %d: %#x goes to %#x", span, a, b)
			}
		}
	}
}

// A map that tensormap.replace builds field by field is the one that Encode gives. The values are those of a product of Triton:
// bf16, K = 320, boxes of 64 x 128.
func TestTensorMapFields(t *testing.T) {
	want := TensorMap{Address: 0x7f0000000100, Rank: 2, Dims: [5]uint32{320, 256}, Strides: [4]uint64{640}, Box: [5]uint16{64, 128},
		Steps: [5]uint8{1, 1}, Type: 10, Swizzle: 3, Fill: 1}
	body := `
	.shared .align 128 .b8 map[128];
	setp.eq.u32 %p1, %r0, 0; mov.u32 %r3, map; shl.b32 %r4, %r0, 2; add.u32 %r4, %r4, %r3; mov.b32 %r5, 0;
	st.shared.b32 [%r4], %r5;
	bar.warp.sync -1;
	mov.b64 %rd5, 0x7f0000000100; mov.b32 %r6, 320;
	@!%p1 bra END;
	tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r3], %rd5;
	tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r3 + 0], 0x1;
	tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r3], 0x0, 64;
	tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r3], 0x1, 128;
	tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r3], 0x0, %r6;
	tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r3], 0x1, 256;
	tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r3], 0x0, 640;
	tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r3], 0x0, 1;
	tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r3], 0x1, 1;
	tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r3], 0xa;
	tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%r3], 0x0;
	tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r3], 0x3;
	tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%r3], 0x1;
END:
	bar.warp.sync -1;
	ld.shared.b32 %r7, [%r4];
	st.global.b32 [%rd1], %r7;
`
	out, err := runText(t, strings.Replace(kernel(body), "sm_80", "sm_90a", 1), 32, make([]byte, 128), Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeMap(out)
	if err != nil || got != want {
		t.Fatalf("%+v (%v), want %+v", got, err, want)
	}
	if back, err := decodeMap(want.Encode()); err != nil || back != want {
		t.Errorf("%+v (%v), want %+v", back, err, want)
	}
	if n := want.boxBytes(); n != 64*128*2 {
		t.Errorf("a box of %d bytes", n)
	}
	for _, change := range []func(m *TensorMap){
		func(m *TensorMap) { m.Rank = 6 }, func(m *TensorMap) { m.Type = 13 }, func(m *TensorMap) { m.Interleave = 1 },
		func(m *TensorMap) { m.Address += 8 }, func(m *TensorMap) { m.Box[1] = 257 }, func(m *TensorMap) { m.Box[0] = 128 },
		func(m *TensorMap) { m.Strides[0] = 648 }, func(m *TensorMap) { m.Steps[1] = 9 }, func(m *TensorMap) { m.Type = 2 },
		func(m *TensorMap) { m.Pixels = 8 }, func(m *TensorMap) { m.Pixels, m.Rank, m.Dims[2], m.Steps[2] = 2000, 3, 1, 1 },
	} {
		bad := want
		change(&bad)
		if _, err := decodeMap(bad.Encode()); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	if _, err := decodeMap(make([]byte, 128)); err == nil {
		t.Error("zeros are a tensor map")
	}
}

// Boxes of every swizzle, rank and edge: what a tensor load leaves in shared memory and a store brings back elsewhere, element by element.
func TestTensorCopies(t *testing.T) {
	for _, c := range []struct {
		name  string
		m     TensorMap
		coord []int
	}{
		{"1d", TensorMap{Rank: 1, Dims: [5]uint32{100}, Box: [5]uint16{64}}, []int{32}},
		{"1d past both ends", TensorMap{Rank: 1, Dims: [5]uint32{40}, Box: [5]uint16{64}}, []int{-8}},
		{"2d 32 bytes", TensorMap{Rank: 2, Dims: [5]uint32{32, 12}, Strides: [4]uint64{64}, Box: [5]uint16{16, 16}, Swizzle: 1}, []int{16, -2}},
		{"2d 64 bytes", TensorMap{Rank: 2, Dims: [5]uint32{32, 12}, Strides: [4]uint64{64}, Box: [5]uint16{32, 8}, Swizzle: 2}, []int{8, 6}},
		{"2d 128 bytes, NaN", TensorMap{Rank: 2, Dims: [5]uint32{64, 12}, Strides: [4]uint64{128}, Box: [5]uint16{64, 16}, Swizzle: 3, Fill: 1}, []int{-3, 2}},
		{"3d with a step", TensorMap{Rank: 3, Dims: [5]uint32{16, 6, 4}, Strides: [4]uint64{32, 192}, Box: [5]uint16{16, 5, 2}, Steps: [5]uint8{1, 2, 1}}, []int{0, 1, 3}},
		{"5d", TensorMap{Rank: 5, Dims: [5]uint32{8, 3, 2, 2, 2}, Strides: [4]uint64{16, 48, 96, 192}, Box: [5]uint16{8, 2, 2, 2, 2}}, []int{0, 2, 0, 0, 1}},
	} {
		t.Run(c.name, func(t *testing.T) { tensorCopies(t, c.m, c.coord) })
	}
}

func tensorCopies(t *testing.T, m TensorMap, coord []int) {
	m.Type = 10 // bf16
	for i := range m.Rank {
		if m.Steps[i] == 0 {
			m.Steps[i] = 1
		}
	}
	list := make([]string, len(coord))
	for i, x := range coord {
		list[i] = strconv.Itoa(x)
	}
	at := "{" + strings.Join(list, ", ") + "}"
	rank := strconv.Itoa(m.Rank) + "d"
	raw, data, back := tensorTrip(t, m, m.boxBytes(), rank+".shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, "+at+"], [%r2]",
		rank+".global.shared::cta.tile.bulk_group [%rd2, "+at+"], [%r1]")
	// By the rules of section 5.5, one element at a time.
	n := m.counts()
	want := make([]byte, 4096)
	linear := 0
	for j4 := range n[4] {
		for j3 := range n[3] {
			for j2 := range n[2] {
				for j1 := range n[1] {
					for j0 := range n[0] {
						v, off, inside := uint16(0), 0, true
						for i, j := range []int{j0, j1, j2, j3, j4}[:m.Rank] {
							x := coord[i] + j*int(m.Steps[i])
							inside = inside && x >= 0 && x < int(m.Dims[i])
							if i == 0 {
								off += 2 * x
							} else {
								off += x * int(m.Strides[i-1])
							}
						}
						if inside {
							v = binary.LittleEndian.Uint16(data[off:])
							binary.LittleEndian.PutUint16(want[off:], v)
						} else if m.Fill == 1 {
							v = 0x7fff
						}
						if got := uint16(readBytes(raw, swizzle(2*linear, m.span()), 2)); got != v {
							t.Fatalf("element %d,%d,%d,%d,%d is %#x, want %#x", j0, j1, j2, j3, j4, got, v)
						}
						linear++
					}
				}
			}
		}
	}
	if string(back) != string(want) {
		t.Error("the tensor store brings something else back")
	}
}

// wgmmaCase is one wgmma whose result is held against plain sums.
type wgmmaCase struct {
	d, ab    string
	n, k     int
	regs     bool // A in registers
	flags    string
	acrossA  bool
	acrossB  bool
	signA, b float64
	span     int
	add      bool
}

// TestWgmma: shapes, types, operand forms, negations and transposed operands on random small numbers.
func TestWgmma(t *testing.T) {
	for _, c := range []wgmmaCase{
		{d: "f32", ab: "f16.f16", n: 8, k: 16, flags: ", 1, 1, 0, 0", signA: 1, b: 1, span: 128},
		{d: "f32", ab: "bf16.bf16", n: 24, k: 16, flags: ", -1, 1, 0, 0", signA: -1, b: 1, span: 128, add: true},
		{d: "f32", ab: "bf16.bf16", n: 256, k: 16, flags: ", -1, -1, 0, 1", signA: -1, b: -1, span: 128, acrossB: true, add: true},
		{d: "f32", ab: "f16.f16", n: 64, k: 16, flags: ", 1, 1, 1, 1", signA: 1, b: 1, span: 64, acrossA: true, acrossB: true},
		{d: "f32", ab: "f16.f16", n: 32, k: 16, flags: ", 1, -1, 1, 0", signA: 1, b: -1, span: 32, acrossA: true, add: true},
		{d: "f32", ab: "f16.f16", n: 16, k: 16, flags: ", 1, 1, 0, 0", signA: 1, b: 1, add: true},
		{d: "f32", ab: "f16.f16", n: 16, k: 16, flags: ", 1, 1, 1, 1", signA: 1, b: 1, acrossA: true, acrossB: true},
		{d: "f32", ab: "f16.f16", n: 40, k: 16, regs: true, flags: ", 1, 1, 1", signA: 1, b: 1, span: 128, acrossB: true, add: true},
		{d: "f16", ab: "f16.f16", n: 32, k: 16, flags: ", 1, 1, 0, 0", signA: 1, b: 1, span: 64, add: true},
		{d: "f32", ab: "tf32.tf32", n: 16, k: 8, flags: ", 1, -1", signA: 1, b: -1, span: 32, add: true},
		{d: "f32", ab: "tf32.tf32", n: 8, k: 8, regs: true, flags: ", 1, 1", signA: 1, b: 1, span: 128},
		{d: "f32", ab: "e4m3.e5m2", n: 32, k: 32, flags: ", 1, 1", signA: 1, b: 1, span: 64, add: true},
		{d: "f16", ab: "e5m2.e4m3", n: 16, k: 32, regs: true, flags: ", -1, 1", signA: -1, b: 1, span: 128, add: true},
		{d: "s32", ab: "s8.u8", n: 48, k: 32, signA: 1, b: 1, span: 128, add: true},
		{d: "s32", ab: "u8.s8", n: 8, k: 32, regs: true, signA: 1, b: 1, span: 32},
	} {
		name := "m64n" + strconv.Itoa(c.n) + "k" + strconv.Itoa(c.k) + "." + c.d + "." + c.ab + c.flags
		t.Run(name, func(t *testing.T) { c.run(t) })
	}
}

// smallNumber is a random number that every type of the matrices holds: 0 to 3, with a sign if the type has one.
func smallNumber(r *rand.Rand, t typ) float64 {
	v := float64(r.IntN(4))
	if (t.isFloat() || t.isSigned()) && r.IntN(2) == 0 {
		v = -v
	}
	return v
}

// encodeSmall gives the bits of a small number.
func encodeSmall(t typ, v float64) uint64 {
	if t.isFloat() {
		return uint64(t.fmt.round(v, rn, false))
	}
	return uint64(int64(v)) & t.mask()
}

func (c *wgmmaCase) run(t *testing.T) {
	r := rand.New(rand.NewPCG(uint64(c.n), uint64(c.k)))
	name := strings.Split(c.ab, ".")
	ta, tb, td := types[name[0]], types[name[1]], types[c.d]
	per := 32 / td.bits
	nd := c.n / 2 / per
	// Data: A at 0, B at 16384 of shared memory, by descriptors whose strides leave room; registers of A and D by thread after them.
	const offB, offA2, offD, size = 16384, 65536, 69632, 69632 + 128*128*4
	data := make([]byte, size)
	var a [64][64]float64
	var b [256][64]float64
	tile := func(start int, across bool, esz int) smemTile {
		x := smemTile{start: start, span: c.span, mnMajor: across, size: esz, leading: 16, stride: 8 * c.span}
		switch {
		case c.span == 0 && across:
			x.stride, x.leading = 128, 4096
		case c.span == 0:
			x.leading, x.stride = 128, 256
		case across:
			x.leading = 2 * 8 * c.span
		}
		return x
	}
	fill := func(x smemTile, rows int, ty typ, put func(r, k int, v float64)) {
		x.pieces(rows, c.k, func(row, k, at int) {
			for j := range 16 / x.size {
				v := smallNumber(r, ty)
				writeBytes(data, at+j*x.size, x.size, encodeSmall(ty, v))
				if x.mnMajor {
					put(row+j, k, v)
				} else {
					put(row, k+j, v)
				}
			}
		})
	}
	xa, xb := tile(0, c.acrossA, ta.bits/8), tile(offB, c.acrossB, tb.bits/8)
	fill(xb, c.n, tb, func(r, k int, v float64) { b[r][k] = v })
	if c.regs {
		e := 32 / ta.bits
		for th := range 128 {
			for i := range 4 {
				var word uint64
				for j := range e {
					v := smallNumber(r, ta)
					row, k := indexA(th%32, i, j, e)
					a[16*(th/32)+row][k] = v
					word |= encodeSmall(ta, v) << (j * ta.bits)
				}
				writeBytes(data, offA2+th*16+4*i, 4, word)
			}
		}
	} else {
		fill(xa, 64, ta, func(r, k int, v float64) { a[r][k] = v })
	}
	var old [64][256]float64
	for th := range 128 {
		for i := range nd {
			var word uint64
			for j := range per {
				v := float64(r.IntN(64))
				row, col := indexD(th/32, th%32, i*per+j)
				old[row][col] = v
				word |= encodeSmall(td, v) << (j * td.bits)
			}
			writeBytes(data, offD+th*512+4*i, 4, word)
		}
	}
	desc := func(x smemTile) uint64 {
		mode := map[int]uint64{0: 0, 128: 1, 64: 2, 32: 3}[x.span]
		return uint64(x.start>>4) | uint64(x.leading>>4)<<16 | uint64(x.stride>>4)<<32 | mode<<62
	}
	regs := make([]string, nd)
	var load, store strings.Builder
	for i := range regs {
		regs[i] = "%r" + strconv.Itoa(20+i)
		load.WriteString("ld.global.b32 " + regs[i] + ", [%rd3+" + strconv.Itoa(4*i) + "];\n")
		store.WriteString("st.global.b32 [%rd3+" + strconv.Itoa(4*i) + "], " + regs[i] + ";\n")
	}
	opA := "%rd4"
	if c.regs {
		opA = "{%r10, %r11, %r12, %r13}"
	}
	src := strings.Replace(header, "sm_80", "sm_90a", 1) + `.visible .entry k(.param .u64 p)
.reqntid 128
{
	.reg .pred %p<4>; .reg .b32 %r<160>; .reg .b64 %rd<9>;
	.shared .align 1024 .b8 tiles[65536];
	ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 16; add.u64 %rd2, %rd2, %rd1; mov.u32 %r2, tiles; shl.b32 %r3, %r1, 4; add.u32 %r2, %r2, %r3;
	ld.global.v4.b32 {%r10, %r11, %r12, %r13}, [%rd2+65536];
	mul.wide.u32 %rd3, %r1, 512; add.u64 %rd3, %rd3, %rd1; add.u64 %rd3, %rd3, 69632;
	mov.u32 %r4, 0;
COPY:
	ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%rd2];
	st.shared.v4.b32 [%r2], {%r5, %r6, %r7, %r8};
	add.u64 %rd2, %rd2, 2048; add.u32 %r2, %r2, 2048; add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 32;
	@%p1 bra COPY;
	fence.proxy.async.shared::cta;
	bar.sync 0;
	mov.b64 %rd4, ` + strconv.FormatUint(desc(xa), 10) + `; mov.b64 %rd5, ` + strconv.FormatUint(desc(xb), 10) + `;
	setp.eq.u32 %p2, 1, ` + strconv.Itoa(b2i(c.add)) + `;
` + load.String() + `	wgmma.fence.sync.aligned;
	wgmma.mma_async.sync.aligned.m64n` + strconv.Itoa(c.n) + "k" + strconv.Itoa(c.k) + "." + c.d + "." + c.ab + " {" + strings.Join(regs, ", ") + "}, " + opA + ", %rd5, %p2" + c.flags + `;
	wgmma.commit_group.sync.aligned;
	wgmma.wait_group.sync.aligned 0;
` + store.String() + `	ret;
}
`
	out, err := runText(t, src, 128, data, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for th := range 128 {
		for i := range nd {
			for j := range per {
				row, col := indexD(th/32, th%32, i*per+j)
				want := 0.0
				for k := range c.k {
					want += c.signA * a[row][k] * c.b * b[col][k]
				}
				if c.add {
					want += old[row][col]
				}
				bits := readBytes(out, offD+th*512+4*i, 4) >> (j * td.bits) & td.mask()
				got := float64(int32(bits))
				if td.isFloat() {
					got = td.fmt.value(uint32(bits))
				}
				if got != want {
					t.Fatalf("row %d column %d is %v, want %v", row, col, got, want)
				}
			}
		}
	}
}

// TestWgmmaFollowsAllWarps: what each warp has stored, each warp of the group must know of: a fence of the proxy is no barrier. A has its 64 rows of 16 numbers at 0,
// B its 8 columns at 2048, in pieces of eight rows of 16 bytes, 128 bytes apart along K and 256 across.
func TestWgmmaFollowsAllWarps(t *testing.T) {
	for _, meet := range []string{"bar.sync 0;", ""} {
		_, err := runText(t, strings.Replace(header, "sm_80", "sm_90a", 1)+`.visible .entry k(.param .u64 p)
.reqntid 128
{
	.reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .f32 %f<4>;
	.shared .align 1024 .b8 tiles[4096];
	mov.u32 %r0, %tid.x; shl.b32 %r0, %r0, 5; mov.u32 %r1, tiles; add.u32 %r1, %r1, %r0; mov.b32 %r2, 0;
	st.shared.v4.b32 [%r1], {%r2, %r2, %r2, %r2};
	st.shared.v4.b32 [%r1+16], {%r2, %r2, %r2, %r2};
	fence.proxy.async.shared::cta;
	`+meet+`
	mov.b64 %rd1, 0x1000080000; mov.b64 %rd2, 0x1000080080;
	mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
	wgmma.fence.sync.aligned;
	wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd1, %rd2, 1, 1, 1, 0, 0;
	wgmma.commit_group.sync.aligned;
	wgmma.wait_group.sync.aligned 0;
	ret;
}
`, 128, make([]byte, 16), Options{})
		var r *Report
		if found := errors.As(err, &r) && r.Kind == Race; found != (meet == "") || meet != "" && err != nil {
			t.Errorf("%q: got %v", meet, err)
		}
	}
}

// A product of bits counts the places where both are 1.
func TestWgmmaOfBits(t *testing.T) {
	var w wgmmaScratch
	op := &wgmmaOp{n: 8, k: 256, a: typ{clsBits, 1, 1, nil, "b1"}}
	w.ba[3*8+1], w.bb[5*8+1] = 0xff0f, 0x0fff
	w.c[0][3][5] = 2
	if op.rows(&w, 0); w.c[0][3][5] != 2+12-4 || math.Signbit(w.c[0][3][4]) {
		t.Errorf("got %v", w.c[0][3][5])
	}
}

// A proxy fence of a state space says nothing of accesses to another one.
func TestProxyFencesOfOneSpace(t *testing.T) {
	const load = `
	setp.ne.u32 %p1, %r0, 0; @%p1 ret;
	mbarrier.init.shared.b64 [%r3+512], 1;
	fence.proxy.async.shared::cta;
	st.global.u32 [%rd0], 7;
	FENCE;
	mbarrier.arrive.expect_tx.shared.b64 %rd5, [%r3+512], 128;
	cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd0], 128, [%r3+512];
L:	mbarrier.try_wait.parity.shared.b64 %p2, [%r3+512], 0;
	@!%p2 bra L;`
	const storeShared = `
	setp.ne.u32 %p1, %r0, 0; @%p1 ret;
	st.shared.v4.u32 [%r3], {%r0,%r0,%r0,%r0};
	FENCE;
	cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r3], 16;
	cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;`
	const storeOver = `
	setp.ne.u32 %p1, %r0, 0; @%p1 ret;
	st.shared.v4.u32 [%r3], {%r0,%r0,%r0,%r0};
	fence.proxy.async.shared::cta;
	st.global.u32 [%rd0], 7;
	FENCE;
	cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r3], 16;
	cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;`
	const all, global, cta, cluster, other = "fence.proxy.async", "fence.proxy.async.global", "fence.proxy.async.shared::cta", "fence.proxy.async.shared::cluster",
		"is of another state space"
	for _, c := range []struct{ body, fence, says string }{
		{load, all, ""}, {load, global, ""}, {load, cta, other}, {load, cluster, other}, {load, "", "no fence.proxy.async"},
		{storeShared, all, ""}, {storeShared, global, other}, {storeShared, cta, ""}, {storeShared, cluster, ""}, {storeShared, "", "no fence.proxy.async"},
		{storeOver, all, ""}, {storeOver, global, ""}, {storeOver, cta, other}, {storeOver, "", "no fence.proxy.async"},
		{storeShared, "fence.proxy.async.local", "not supported"},
	} {
		src := strings.Replace(sharedKernel(strings.Replace(c.body, "FENCE;", strings.TrimPrefix(c.fence+";", ";"), 1)), "sm_80", "sm_90", 1)
		_, err := runText(t, src, 32, make([]byte, 256), Options{})
		if said := fmt.Sprint(err); (err != nil) != (c.says != "") || !strings.Contains(said, c.says) {
			t.Errorf("%q: %s, expected %q%s", c.fence, said, c.says, c.body)
		}
	}
}

// What PTX of others does is noted and runs on; in our own it is a fault.
func TestNotesOnForeignPTX(t *testing.T) {
	for _, c := range []struct {
		name, body string
		kind       Kind
		msg        string
	}{
		{"inval of what was never initialised", sharedKernel("mbarrier.inval.shared.b64 [%r3];"), Invalid, "where no mbarrier has been initialised"},
		{"an undefined guard", kernel("@%p7 bra END; mov.b32 %r9, 1;\nEND:"), Undefined, "the guard depends on undefined bits"},
		{"a bulk store without a proxy fence", sharedKernel(`setp.eq.u32 %p1, %r0, 0;
	@%p1 st.shared.v4.b32 [%r3], {%r0, %r0, %r0, %r0};
	@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r3], 16;
	cp.async.bulk.commit_group;
	cp.async.bulk.wait_group 0;`), ProxyFence, "no fence.proxy.async stands between"},
		{"a proxy fence by another thread than the one that stored", sharedKernel(`setp.eq.u32 %p1, %r0, 0;
	setp.eq.u32 %p2, %r0, 1;
	@%p2 st.shared.v4.b32 [%r3], {%r0, %r0, %r0, %r0};
	bar.warp.sync -1;
	@%p1 fence.proxy.async.shared::cta;
	@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r3], 16;
	cp.async.bulk.commit_group;
	cp.async.bulk.wait_group 0;`), ProxyFence, "did not execute the fence.proxy.async"},
	} {
		for _, foreign := range []bool{false, true} {
			m, err := Parse("t.ptx", on("sm_90", c.body))
			if err != nil {
				t.Fatal(err)
			}
			mem := NewMemory()
			a := mem.Alloc("buf", make([]byte, 256), 256)
			res, err := m.Run(t.Context(), "k", mem, []Arg{le64(a)}, Options{Block: [3]int{32, 1, 1}, Foreign: foreign})
			switch {
			case foreign && (err != nil || len(res.Notes) != 1 || res.Notes[0].Kind != c.kind || !strings.Contains(res.Notes[0].Msg, c.msg)):
				t.Errorf("%s: notes of others: %+v, %v", c.name, res, err)
			case !foreign && (err == nil || !strings.Contains(err.Error(), c.kind.String()+": ") || !strings.Contains(err.Error(), c.msg)):
				t.Errorf("%s: our own: %v", c.name, err)
			}
		}
	}
}

func TestMapsOfTF32RoundToEven(t *testing.T) {
	for _, c := range []struct{ bits, want uint32 }{
		{0x3f801000, 0x3f800000}, {0x3f803000, 0x3f804000}, {0xbf803000, 0xbf804000}, // ties
		{0x3f801001, 0x3f802000}, {0x3fffffff, 0x40000000}, {0x7f7fffff, 0x7f800000}, {0x00001000, 0}, {0x00003000, 0x00004000},
		{0x7f800000, 0x7f800000}, {0xff800000, 0xff800000}, {0x7f800001, 0x7f800001}, {0xffc12345, 0xffc12345},
	} {
		if got := tf32OnTheWay(c.bits); got != c.want {
			t.Errorf("%#x becomes %#x, want %#x", c.bits, got, c.want)
		}
	}
}
