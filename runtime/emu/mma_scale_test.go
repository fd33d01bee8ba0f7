package emu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tileiras/ir/float"
)

// decodeSmall is the value of a float of few bits: from ir/float where that knows the format, else by the
// formula of the OCP MX specification (e3m2 has bias 3, e2m3 has bias 1, neither has infinities or NaN).
func decodeSmall(name string, b uint64) float64 {
	if f := map[string]*float.Format{"e4m3": float.F8E4M3FN, "e5m2": float.F8E5M2, "e2m1": float.F4E2M1FN, "ue8m0": float.F8E8M0FNU}[name]; f != nil {
		return f.Decode(b)
	}
	if name == "ue4m3" {
		return float.F8E4M3FN.Decode(b & 0x7f)
	}
	mbits, bias := 2, 3
	if name == "e2m3" {
		mbits, bias = 3, 1
	}
	e, m := int(b>>mbits&(1<<(5-mbits)-1)), float64(b&(1<<mbits-1))/float64(int(1)<<mbits)
	x := math.Ldexp(1+m, e-bias)
	if e == 0 {
		x = math.Ldexp(m, 1-bias)
	}
	if b>>5&1 != 0 {
		return -x
	}
	return x
}

// smallBits is the width of a format without padding.
func smallBits(name string) int {
	switch name {
	case "e2m1":
		return 4
	case "e2m3", "e3m2":
		return 6
	}
	return 8
}

// kindCase is one form of mma.sync with a kind.
type kindCase struct {
	mods, a, b, acc, scale string
	k, blocks              int
	byteA, tidA, byteB     int
	tidB                   int
}

func (c *kindCase) name() string {
	s := fmt.Sprintf("m16n8k%d.row.col.%s.%s.%s.%s.%s", c.k, c.mods, c.acc, c.a, c.b, c.acc)
	if c.blocks > 0 {
		s += "." + c.scale
	}
	return s
}

// TestKindsOfProducts compares every kind, type and selector with a plain product of decoded values. The values
// are small enough for sums to be exact in any order.
func TestKindsOfProducts(t *testing.T) {
	var cases []kindCase
	small := strings.Fields("e4m3 e5m2 e2m3 e3m2 e2m1")
	for _, a := range small {
		for _, b := range small {
			cases = append(cases, kindCase{mods: "kind::f8f6f4", a: a, b: b, acc: "f32", k: 32})
		}
	}
	cases = append(cases, kindCase{mods: "kind::f8f6f4", a: "e2m3", b: "e2m1", acc: "f16", k: 32})
	for id := range 4 {
		for tidA := range 2 {
			for tidB := range 4 {
				cases = append(cases, kindCase{mods: "kind::mxf8f6f4.block_scale.scale_vec::1X", a: small[id], b: small[4-id], acc: "f32", scale: "ue8m0",
					k: 32, blocks: 1, byteA: id, tidA: tidA, byteB: 3 - id, tidB: tidB})
			}
		}
	}
	cases = append(cases, kindCase{mods: "kind::mxf8f6f4.block_scale", a: "e5m2", b: "e3m2", acc: "f32", scale: "ue8m0", k: 32, blocks: 1, byteA: 2})
	for _, k := range []string{"mxf4", "mxf4nvf4"} {
		for id := range 2 {
			cases = append(cases, kindCase{mods: "kind::" + k + ".block_scale.scale_vec::2X", a: "e2m1", b: "e2m1", acc: "f32", scale: "ue8m0",
				k: 64, blocks: 2, byteA: 2 * id, tidA: id, byteB: 2 - 2*id, tidB: 3 - id})
		}
	}
	for _, s := range []string{"ue4m3", "ue8m0"} {
		cases = append(cases, kindCase{mods: "kind::mxf4nvf4.block_scale.scale_vec::4X", a: "e2m1", b: "e2m1", acc: "f32", scale: s, k: 64, blocks: 4, tidA: 1, tidB: 2})
	}
	for i, c := range cases {
		t.Run(fmt.Sprintf("%s_%d%d%d%d", c.name(), c.byteA, c.tidA, c.byteB, c.tidB), func(t *testing.T) {
			c.check(t, rand.New(rand.NewPCG(11, uint64(i))))
		})
	}
}

// bitsOf gives random bits of a format: no NaN, and exponents near the bias so that sums are exact.
func bitsOf(r *rand.Rand, name string) uint64 {
	for {
		b := r.Uint64() & widthMask(smallBits(name))
		if name == "ue8m0" {
			b = 125 + r.Uint64()%5
		}
		if x := math.Abs(decodeSmall(name, b)); x == 0 || x >= 0x1p-4 && x <= 8 {
			return b
		}
	}
}

func (c *kindCase) check(t *testing.T, r *rand.Rand) {
	fragA, fragB, per, width := a16x32, b32b8, 4, 8
	if c.k == 64 {
		fragA, fragB, per, width = a16x64, b64b4, 8, 4
	}
	var a [16][64]float64
	var b [64][8]float64
	var regs [6][32]uint64 // A, B
	fill := func(first, n int, name string, f fragment, set func(row, col int, x float64)) {
		for lane := range 32 {
			for i := range n * per {
				v := bitsOf(r, name)
				row, col := f(i, lane>>2, lane&3)
				set(row, col, decodeSmall(name, v))
				if name == "e2m1" && width == 8 {
					v <<= 2
				}
				regs[first+i/per][lane] |= v << (i % per * width)
			}
		}
	}
	fill(0, 4, c.a, fragA, func(i, k int, x float64) { a[i][k] = x })
	fill(4, 2, c.b, fragB, func(k, j int, x float64) { b[k][j] = x })
	sa, sb := c.scales(r)
	var want [16][8]float64
	C := matrix(r, 16, 8, types["f32"])
	for i := range want {
		for j := range want[i] {
			want[i][j] = C[i][j]
			for k := range c.k {
				x := a[i][k] * b[k][j]
				if c.blocks > 0 {
					blk := k * c.blocks / c.k
					x *= decodeSmall(c.scale, sa[4*(i%8)+2*c.tidA+i/8]>>(8*(c.byteA+blk))&0xff)
					x *= decodeSmall(c.scale, sb[4*j+c.tidB]>>(8*(c.byteB+blk))&0xff)
				}
				want[i][j] += x
			}
		}
	}
	got := c.run(t, regs, C, sa, sb)
	for lane := range 32 {
		for i := range 4 {
			row, col := c16(i, lane>>2, lane&3)
			w := uint64(math.Float32bits(float32(want[row][col])))
			v := got[i][lane]
			if c.acc == "f16" {
				w, v = float.F16.Encode(want[row][col], float.NearestEven), got[i/2][lane]>>(16*(i&1))&0xffff
			}
			if v != w {
				t.Fatalf("row %d column %d: got %#x, want %#x (%v)", row, col, v, w, want[row][col])
			}
		}
	}
}

// scales gives the scale registers of A and B: all bytes of all lanes differ in what they mean.
func (c *kindCase) scales(r *rand.Rand) (a, b [32]uint64) {
	for lane := range 32 {
		for k := range 4 {
			a[lane] |= bitsOf(r, c.scaleOr()) << (8 * k)
			b[lane] |= bitsOf(r, c.scaleOr()) << (8 * k)
		}
	}
	return
}

func (c *kindCase) scaleOr() string {
	if c.scale == "" {
		return "ue8m0"
	}
	return c.scale
}

// run executes the instruction and gives the registers of D.
func (c *kindCase) run(t *testing.T, regs [6][32]uint64, C [][]float64, sa, sb [32]uint64) (d [4][32]uint64) {
	nc := 4
	if c.acc == "f16" {
		nc = 2
	}
	words := append([][32]uint64{}, regs[:]...)
	for i := range nc {
		var x [32]uint64
		for lane := range 32 {
			if nc == 4 {
				row, col := c16(i, lane>>2, lane&3)
				x[lane] = fb(float32(C[row][col]))
				continue
			}
			for j := range 2 {
				row, col := c16(2*i+j, lane>>2, lane&3)
				x[lane] |= float.F16.Encode(C[row][col], float.NearestEven) << (16 * j)
			}
		}
		words = append(words, x)
	}
	words = append(words, sa, sb)
	buf := make([]byte, 128*(len(words)+nc))
	for i, x := range words {
		for lane := range 32 {
			writeBytes(buf, 128*i+4*lane, 4, x[lane])
		}
	}
	var text strings.Builder
	for i := range words {
		fmt.Fprintf(&text, "ld.global.b32 %%r%d, [%%rd1+%d];\n", i+1, 128*i)
	}
	list := func(first, n int) string {
		var l []string
		for i := range n {
			l = append(l, fmt.Sprintf("%%r%d", first+i))
		}
		return "{" + strings.Join(l, ",") + "}"
	}
	fmt.Fprintf(&text, "mma.sync.aligned.%s %s, %s, %s, %s", c.name(), list(30, nc), list(1, 4), list(5, 2), list(7, nc))
	if c.blocks > 0 {
		fmt.Fprintf(&text, ", %%r%d, {%d, %d}, %%r%d, {%d, %d}", 7+nc, c.byteA, c.tidA, 8+nc, c.byteB, c.tidB)
	}
	text.WriteString(";\n")
	for i := range nc {
		fmt.Fprintf(&text, "st.global.b32 [%%rd1+%d], %%r%d;\n", 128*(len(words)+i), 30+i)
	}
	out, err := runText(t, kernel(text.String()), 32, buf, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range nc {
		for lane := range 32 {
			d[i][lane] = readBytes(out, 128*(len(words)+i)+4*lane, 4)
		}
	}
	return d
}

// TestKindsRefuseWhatDoesNotExist: types, scales and selectors that the ISA does not have.
func TestKindsRefuseWhatDoesNotExist(t *testing.T) {
	args := " {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, {%r1,%r2}, {%r1,%r2,%r3,%r4}"
	for op, want := range map[string]string{
		"m16n8k64.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0":               "shape m16n8k64",
		"m16n8k32.row.col.kind::mxf8f6f4.f32.e4m3.e4m3.f32.ue8m0":                           "needs .block_scale",
		"m16n8k64.row.col.kind::mxf4nvf4.block_scale.f32.e2m1.e2m1.f32.ue4m3":               "scales of .ue4m3",
		"m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3":     "scales of .ue4m3",
		"m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e4m3.e2m1.f32.ue4m3": "type .e4m3",
		"m16n8k32.row.col.kind::f8f6f4.f32.f16.f16.f32":                                     "type .f16",
		"m16n8k32.row.col.kind::f8f6f4.s32.e4m3.e4m3.s32":                                   "type .s32",
	} {
		m, err := Parse("t", kernel("mma.sync.aligned."+op+args+", %r1, {0, 0}, %r1, {0, 0};"))
		if err != nil {
			t.Fatal(err)
		}
		if u := m.Entry("k").Unsupported; len(u) != 1 || !strings.Contains(u[0], want) {
			t.Errorf("%s: got %v, want %q", op, u, want)
		}
	}
	sel := "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0" + args + ", %r1, {1, 0}, %r1, {0, 0};"
	init := "mov.b32 %r1, 0; mov.b32 %r2, 0; mov.b32 %r3, 0; mov.b32 %r4, 0;"
	if r := report(t, kernel(init+sel), Options{Block: [3]int{32, 1, 1}}); r == nil || r.Kind != Invalid || !strings.Contains(r.Msg, "byte-id 1") {
		t.Errorf("got %v", r)
	}
}

// TestUndefinedScalesReachTheirRowsOnly: undefined bits in the scale of row 9 make that row undefined, and in a
// byte that is not chosen they do nothing.
func TestUndefinedScalesReachTheirRowsOnly(t *testing.T) {
	text := func(byteA int, row string) string {
		return kernel(`
	mov.b32 %r1, 0; mov.b32 %r2, 0x7f7f7f7f;
	setp.eq.u32 %p1, %r0, 5;
	mov.b16 %h1, 0x7f7f;
	mov.b32 %r3, {%h1, %h2};
	selp.b32 %r2, %r3, %r2, %p1;
	mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0
		{%r10,%r11,%r12,%r13}, {%r1,%r1,%r1,%r1}, {%r1,%r1}, {%r1,%r1,%r1,%r1}, %r2, {` + itoa(byteA) + `, 0}, %r1, {0, 0};
	st.global.b32 [%rd1], ` + row + `;`)
	}
	// lane 5 holds the scale of row 8*(5&1) + 5/4 = 9: register 2 of lanes 4 to 7
	one := Options{Block: [3]int{32, 1, 1}}
	if r := report(t, text(2, "%r12"), one); r == nil || r.Kind != Undefined || r.Lane != 4 {
		t.Errorf("the scale of row 9: %v", r)
	}
	if r := report(t, text(2, "%r10"), one); r != nil {
		t.Errorf("rows 0 to 7 have scales of their own: %v", r)
	}
	if r := report(t, text(1, "%r12"), one); r != nil {
		t.Errorf("byte 1 is defined: %v", r)
	}
}
