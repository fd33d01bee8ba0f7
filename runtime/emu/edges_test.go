package emu

import (
	"fmt"
	"math/big"
	"slices"
	"testing"
)

// Integer arithmetic on all pairs of numbers at which signs, carries and the middle of products change, against math/big.
func TestIntegerArithmeticOfEdges(t *testing.T) {
	type test struct {
		text   string
		w      int // bits of a and b
		out    int // of the result
		signed bool
		want   func(z, a, b, c *big.Int) *big.Int
	}
	product := func(z, a, b, _ *big.Int) *big.Int { return z.Mul(a, b) }
	high := func(w uint) func(z, a, b, c *big.Int) *big.Int {
		return func(z, a, b, _ *big.Int) *big.Int { return z.Rsh(z.Mul(a, b), w) }
	}
	highAdd := func(w uint) func(z, a, b, c *big.Int) *big.Int {
		return func(z, a, b, c *big.Int) *big.Int { return z.Add(z.Rsh(z.Mul(a, b), w), c) }
	}
	saturated := func(f func(z, a, b, c *big.Int) *big.Int) func(z, a, b, c *big.Int) *big.Int {
		return func(z, a, b, c *big.Int) *big.Int {
			z = f(z, a, b, c)
			for _, bound := range []int64{-1 << 31, 1<<31 - 1} {
				if x := big.NewInt(bound); z.Cmp(x)*x.Sign() > 0 {
					z.Set(x)
				}
			}
			return z
		}
	}
	tests := []test{
		{"mul.hi.s64 D, A, B", 64, 64, true, high(64)}, {"mul.hi.u64 D, A, B", 64, 64, false, high(64)},
		{"mul.hi.s32 d, a, b", 32, 32, true, high(32)}, {"mul.hi.u32 d, a, b", 32, 32, false, high(32)},
		{"mul.hi.s16 hd, ha, hb", 16, 16, true, high(16)}, {"mul.hi.u16 hd, ha, hb", 16, 16, false, high(16)},
		{"mul.wide.s32 D, a, b", 32, 64, true, product}, {"mul.wide.u32 D, a, b", 32, 64, false, product},
		{"mul.wide.s16 d, ha, hb", 16, 32, true, product},
		{"mad.hi.s64 D, A, B, C", 64, 64, true, highAdd(64)}, {"mad.hi.u64 D, A, B, C", 64, 64, false, highAdd(64)},
		{"mad.hi.s32 d, a, b, c", 32, 32, true, highAdd(32)}, {"mad.hi.u32 d, a, b, c", 32, 32, false, highAdd(32)},
		{"mad.hi.sat.s32 d, a, b, c", 32, 32, true, saturated(highAdd(32))},
		{"add.sat.s32 d, a, b", 32, 32, true, saturated(func(z, a, b, _ *big.Int) *big.Int { return z.Add(a, b) })},
		{"sub.sat.s32 d, a, b", 32, 32, true, saturated(func(z, a, b, _ *big.Int) *big.Int { return z.Sub(a, b) })},
	}
	for _, c := range tests {
		top := uint64(1) << (c.w - 1)
		edges := []uint64{0, 1, 2, 5, top - 1, top, top + 1, top >> 1, 3 << (c.w / 2), ^uint64(0), ^uint64(0) - 1, ^uint64(4), 0x0123456789abcdef}
		read := func(x uint64) *big.Int {
			v := new(big.Int).SetUint64(x << (64 - c.w) >> (64 - c.w))
			if c.signed && v.Bit(c.w-1) == 1 {
				v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(c.w)))
			}
			return v
		}
		var in [][3]uint64
		for _, a := range edges {
			for i, b := range edges {
				in = append(in, [3]uint64{a, b, edges[(3*i+1)%len(edges)]})
			}
		}
		for piece := range slices.Chunk(in, 32) {
			for i, got := range eval(t, c.text, piece) {
				x := piece[i]
				v := c.want(new(big.Int), read(x[0]), read(x[1]), read(x[2]))
				mask := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(c.out)), big.NewInt(1))
				if want := v.And(v, mask).Uint64(); got != want {
					t.Errorf("%s with %#x: got %#x, want %#x", c.text, x, got, want)
				}
			}
		}
	}
}

// Sums and differences of 96 bits, of three words each: a carry, or a borrow, goes through a middle word that makes none by itself.
func TestCarriesThroughWords(t *testing.T) {
	words := []uint64{0, 1, 0x7fffffff, 0x80000000, minus1}
	of := func(x [3]uint64) *big.Int {
		v := new(big.Int)
		for i := range 3 {
			v.Or(v, new(big.Int).Lsh(new(big.Int).SetUint64(x[i]), uint(32*i)))
		}
		return v
	}
	for _, op := range []string{"add", "sub"} {
		for _, low := range words {
			for _, middle := range words {
				for part := range 3 {
					// a, b and c are the words of one number; the other one is 1, the middle word that of the first, 0
					other := [3]uint64{1, middle, 0}
					text := fmt.Sprintf("%s.cc.u32 a, a, %d; %sc.cc.u32 b, b, %d; %sc.u32 c, c, %d; mov.b32 d, %c", op, other[0], op, other[1], op, other[2], "abc"[part])
					var in [][3]uint64
					for _, high := range words {
						for _, own := range words {
							in = append(in, [3]uint64{low, own, high})
						}
					}
					for i, got := range eval(t, "mov.b32 d, a; "+text, in) {
						v := new(big.Int).Add(of(in[i]), of(other))
						if op == "sub" {
							v.Sub(of(in[i]), of(other))
						}
						v.And(v, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 96), big.NewInt(1)))
						if want := uint64(uint32(new(big.Int).Rsh(v, uint(32*part)).Uint64())); got != want {
							t.Fatalf("word %d of %#x %s %#x is %#x, want %#x", part, in[i], op, other, got, want)
						}
					}
				}
			}
		}
	}
}

// Halves of packed integers are undefined each by itself, also the upper one beside a lower one that might carry.
func TestPackedIntegersAreUndefinedByHalves(t *testing.T) {
	for _, instr := range []string{"add.u16x2 %r4, %r4, %r0", "add.s16x2 %r4, %r4, %r0", "max.s16x2 %r4, %r4, %r0", "min.u16x2 %r4, %r4, %r0"} {
		for _, upper := range []bool{false, true} {
			pair := "{%h1, %h2}"
			defined, undefined := "%h3", "%h4"
			if upper {
				pair, defined, undefined = "{%h2, %h1}", undefined, defined
			}
			body := func(stored string) string {
				text := kernel("mov.b16 %h1, 7; mov.b32 %r4, " + pair + "; " + instr + "; mov.b32 {%h3, %h4}, %r4; cvt.u32.u16 %r5, " + stored + "; st.global.b32 [%rd1], %r5;")
				return on("sm_90", text)
			}
			if r := report(t, body(defined), Options{}); r != nil {
				t.Errorf("%s, upper half defined %v: %v", instr, upper, r)
			}
			if r := report(t, body(undefined), Options{}); r == nil || r.Kind != Undefined {
				t.Errorf("%s, upper half defined %v: the undefined half is reported as %v", instr, upper, r)
			}
		}
	}
}

// Accesses to memory of devices are relaxed ones.
func TestAccessesToDevicesAreRelaxed(t *testing.T) {
	for access, good := range map[string]bool{
		"ld.mmio.relaxed.sys.global.u32 %r1, [%rd1]": true, "st.mmio.relaxed.sys.global.u32 [%rd1], %r0": true,
		"ld.mmio.acquire.sys.global.u32 %r1, [%rd1]": false, "ld.mmio.global.u32 %r1, [%rd1]": false, "st.mmio.release.sys.global.u32 [%rd1], %r0": false,
	} {
		_, err := Parse("test.ptx", on("sm_90", kernel(access+";")))
		if (err == nil) != good {
			t.Errorf("%s: %v", access, err)
		}
	}
}
