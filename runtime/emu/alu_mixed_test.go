package emu

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestMixedPrecisionAndThreeInputs(t *testing.T) {
	nan, big, tiny := fb(float32(math.NaN())), fb(3), uint64(1)
	checkCases(t, []evalCase{
		{"add.f32.bf16 d, ha, b", 0x4040, fb(0.5), 0, fb(3.5)},
		{"add.rn.f32.f16 d, ha, b", 0x3c00, fb(0x1p-25), 0, fb(1)},
		{"add.rp.f32.f16 d, ha, b", 0x3c00, fb(0x1p-25), 0, fb(1 + 0x1p-23)},
		{"add.rm.f32.f16 d, ha, b", 0x3c00, fb(-1), 0, 0x80000000},
		{"sub.rn.f32.bf16 d, ha, b", 0x4040, fb(5), 0, fb(-2)},
		{"sub.rn.sat.f32.bf16 d, ha, b", 0x4040, fb(5), 0, 0},
		{"sub.rn.sat.f32.bf16 d, ha, b", 0x4040, fb(0.5), 0, fb(1)},
		{"sub.rn.sat.f32.bf16 d, ha, b", 0x7fc0, fb(0.5), 0, 0},
		{"fma.rn.f32.bf16 d, ha, hb, c", 0x4040, 0xbf80, fb(0.25), fb(-2.75)},
		{"fma.rz.f32.f16 d, ha, hb, c", 0x3c01, 0x3c01, fb(0x1p30), fb(0x1p30)},
		{"max.f32 d, a, b, c", fb(1), fb(2), fb(3), fb(3)},
		{"max.f32 d, a, b, c", nan, fb(2), fb(1), fb(2)},
		{"max.f32 d, a, b, c", nan, nan, nan, 0x7fffffff},
		{"max.NaN.f32 d, a, b, c", fb(1), nan, fb(3), 0x7fffffff},
		{"max.NaN.f32 d, a, b, c", fb(1), fb(3), nan, 0x7fffffff},
		{"max.f32 d, a, b, c", 0x80000000, 0, 0x80000000, 0},
		{"max.abs.f32 d, a, b, c", fb(-4), fb(2), big, fb(4)},
		{"max.ftz.f32 d, a, b, c", tiny, 0, 0x80000000, 0},
		{"min.f32 d, a, b, c", fb(3), fb(1), fb(2), fb(1)},
		{"min.f32 d, a, b, c", 0, 0, 0x80000000, 0x80000000},
		{"min.abs.f32 d, a, b, c", fb(-4), fb(2), fb(-1), fb(1)},
		{"add.rn.f32x2 D, A, B", fb(1)<<32 | fb(2), fb(3)<<32 | fb(4), 0, fb(4)<<32 | fb(6)},
		{"add.rz.ftz.f32x2 D, A, B", fb(1)<<32 | tiny, fb(0x1p-30)<<32 | 0, 0, fb(1)<<32 | 0},
		{"mul.rn.f32x2 D, A, B", fb(3)<<32 | fb(2), fb(3)<<32 | fb(4), 0, fb(9)<<32 | fb(8)},
		{"fma.rn.f32x2 D, A, B, C", fb(3)<<32 | fb(2), fb(3)<<32 | fb(4), fb(1)<<32 | fb(-8), fb(10)<<32 | 0},
		{"redux.sync.max.f32 d, a, -1", fb(-5), 0, 0, fb(-5)},
		{"redux.sync.max.abs.f32 d, a, -1", fb(-5), 0, 0, fb(5)},
		{"redux.sync.min.f32 d, a, -1", nan, 0, 0, 0x7fffffff},
	})
}

// TestFloatReduxOverLanes: every lane has its own value; a NaN counts only with .NaN.
func TestFloatReduxOverLanes(t *testing.T) {
	var in [][3]uint64
	for i := range 32 {
		in = append(in, [3]uint64{fb(float32(i*7%32) - 20)})
	}
	in[5][0] = fb(float32(math.NaN()))
	for instr, want := range map[string]uint64{
		"redux.sync.max.f32 d, a, -1":     fb(11),
		"redux.sync.min.f32 d, a, -1":     fb(-20),
		"redux.sync.max.abs.f32 d, a, -1": fb(20),
		"redux.sync.min.NaN.f32 d, a, -1": 0x7fffffff,
	} {
		for lane, got := range eval(t, instr, in) {
			if got != want {
				t.Errorf("%s, lane %d: got %#x, want %#x", instr, lane, got, want)
			}
		}
	}
}

// TestMixedFmaRoundsOnce compares with arithmetic of 400 bits.
func TestMixedFmaRoundsOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 7))
	for instr, f := range map[string]*format{"fma.rn.f32.bf16 d, ha, hb, c": fmtBF16, "fma.rn.f32.f16 d, ha, hb, c": fmtF16} {
		var in [][3]uint64
		for range 32 {
			// exponents near 1, so that the sum straddles the last bits
			a, b := 0x3c00|r.Uint64()&0x83ff, 0x3c00|r.Uint64()&0x83ff
			in = append(in, [3]uint64{a, b, uint64(uint32(r.Uint64())&0x80ffffff | uint32(100+r.IntN(50))<<23)})
		}
		for i, got := range eval(t, instr, in) {
			x := new(big.Float).SetPrec(400).SetFloat64(f.value(uint32(in[i][0])))
			x.Mul(x, new(big.Float).SetFloat64(f.value(uint32(in[i][1])))).Add(x, new(big.Float).SetFloat64(float64(f32(in[i][2]))))
			if want, _ := x.Float32(); got != fb(want) {
				t.Errorf("%s of %#x: got %#x, want %#x", instr, in[i], got, fb(want))
			}
		}
	}
}
