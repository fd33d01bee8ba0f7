package nvvm_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"tileiras/codegen/atom"
	"tileiras/codegen/target"
	"tileiras/ir/float"
)

// Every float format converts to every other as ir/float does, on a target with the instructions and on one without.
func TestFloatConversions(t *testing.T) {
	list := []*float.Format{float.F16, float.BF16, float.F32, float.F64, float.TF32, float.F8E4M3FN, float.F8E5M2, float.F8E8M0FNU, float.F8E5M3FNU}
	for _, from := range list {
		for _, to := range list {
			if from == to {
				continue
			}
			for i, sm := range []string{"sm_75", "sm_90"} {
				roundings := []string{"nearest_even", "zero"}
				switch {
				case to == float.F8E8M0FNU:
					roundings = []string{"zero", "positive_inf"}
				case to.StorageBits() == 8:
					roundings = roundings[:1]
				case from == float.F32 && to == float.TF32 && i == 0:
					roundings = []string{"nearest_away"} // no instruction there
				}
				rounding := roundings[i%len(roundings)]
				t.Run(fmt.Sprintf("%s to %s %s %s", from, to, rounding, sm), func(t *testing.T) {
					ties := []uint64{from.Encode(1+math.Ldexp(1, -to.MantissaBits()-1), float.TowardZero), from.Encode(-1-math.Ldexp(3, -to.MantissaBits()-1), float.TowardZero)}
					in := data(1, from.StorageBits(), append(ties, floatSpecials(from)...)...)
					n, m := elemBytes(from.Name()), elemBytes(to.Name())
					for i := range numElements {
						v := element(in, i, n)
						if from == float.TF32 {
							v = from.ToStorage(v)
						} else if from == float.F32 || from == float.F64 {
							// Random bits are mostly far outside small formats: bring half of them near 1.
							if i%2 == 1 {
								v = from.Encode(math.Ldexp(float64(int64(v>>3)%1000003), int(v%40)-40), float.NearestEven)
							}
						}
						for b := range n {
							in[i*n+b] = byte(v >> (8 * b))
						}
					}
					body := fmt.Sprintf("%%r = ftof %%v0 {rounding = %s} : (tile<512x%s, #L>) -> tile<512x%s, #L>", rounding, from, to)
					out, _ := launch(t, sm, elementwise(testLayouts[[]string{"vectors", "strided"}[i]], body, to.Name(), from.Name()), 1, in, make([]byte, numElements*m))
					for i := range numElements {
						x := from.FromStorage(element(in, i, n))
						want := float.Convert(from, to, x, floatRounding[rounding])
						got := to.FromStorage(element(out[1], i, m))
						if from.IsNaN(x) && to == float.F8E4M3FN {
							continue // the instruction gives NaN, the recipe the largest value
						}
						if !sameFloat(to, got, want) {
							t.Fatalf("%#x (%v) becomes %#x (%v), want %#x (%v)", x, from.Decode(x), got, to.Decode(got), want, to.Decode(want))
						}
					}
				})
			}
		}
	}
}

// The 4-bit format, by instructions where there are such: ties, what is too large, infinity and NaN, which is the largest value (PTX ISA, cvt).
func TestFourBitFloats(t *testing.T) {
	x := data(1, 32, floatSpecials(float.F32)...)
	for i := len(floatSpecials(float.F32)); i < numElements; i++ {
		binary.LittleEndian.PutUint32(x[4*i:], math.Float32bits(float32(i%64-32)/8*float32(1+i/256*(i%3))))
	}
	want := func(i int) uint64 {
		return float.Convert(float.F32, float.F4E2M1FN, element(x, i, 4), float.NearestEven)
	}
	for _, sm := range []string{"sm_80", "sm_100", "sm_120"} {
		for _, l := range []string{"vectors", "strided"} {
			body := `%s = ftof %v0 : (tile<512xf32, #L>) -> tile<512xf4E2M1FN, #L>
				%r = ftof %s : (tile<512xf4E2M1FN, #L>) -> tile<512xf32, #L>`
			out, _ := launch(t, sm, elementwise(testLayouts[l], body, "f32", "f32"), 1, x, make([]byte, 4*numElements))
			for i := range numElements {
				if got, want := float64(floatAt(out[1], i)), float.F4E2M1FN.Decode(want(i)); got != want {
					t.Fatalf("%s, %s: %v becomes %v, want %v", sm, l, floatAt(x, i), got, want)
				}
			}
		}
	}
}

// Integers of every width to floats and back, saturating.
func TestIntegerConversions(t *testing.T) {
	for _, f := range []*float.Format{float.F32, float.F64, float.F16, float.BF16} {
		for _, width := range []int{8, 16, 32, 64} {
			for _, sign := range []string{"signed", "unsigned"} {
				elem := fmt.Sprintf("i%d", width)
				t.Run(fmt.Sprintf("%s %s %s", sign, elem, f), func(t *testing.T) {
					n, m := width/8, f.StorageBits()/8
					// Next to half of the last place of a bf16, on the side that f32, on the way, would lose.
					top := uint64(1) << (width - 2)
					in := data(1, width, 0, 1, 1<<(width-1), 1<<(width-1)-1, top+top>>8+1, -(top + top>>8 + 1), top+3*(top>>8)-1, 3*(top>>8)-1-top)
					body := fmt.Sprintf("%%r = itof %%v0 {signedness = %s} : (tile<512x%s, #L>) -> tile<512x%s, #L>", sign, elem, f)
					out, _ := launch(t, "sm_80", elementwise(testLayouts["vectors"], body, f.Name(), elem), 1, in, make([]byte, numElements*m))
					for i := range numElements {
						x := element(in, i, n)
						want := f.FromUint(x, float.NearestEven)
						if sign == "signed" {
							want = f.FromInt(sext(x, width), float.NearestEven)
						}
						if got := element(out[1], i, m); got != want {
							t.Fatalf("%#x becomes %#x, want %#x", x, got, want)
						}
					}

					in = data(1, f.StorageBits(), floatSpecials(f)...)
					for i := range numElements {
						if i%2 == 1 {
							v := f.Encode(float64(i*i*i-1000000)/7, float.NearestEven)
							for b := range m {
								in[i*m+b] = byte(v >> (8 * b))
							}
						}
					}
					body = fmt.Sprintf("%%r = ftoi %%v0 {signedness = %s, saturating} : (tile<512x%s, #L>) -> tile<512x%s, #L>", sign, f, elem)
					out, _ = launch(t, "sm_80", elementwise(testLayouts["vectors"], body, elem, f.Name()), 1, in, make([]byte, numElements*n))
					for i := range numElements {
						want, _ := f.ToInt(element(in, i, m), width, sign == "signed", float.TowardZero)
						if got := element(out[1], i, n); got != want {
							t.Fatalf("%v becomes %#x, want %#x", f.Decode(element(in, i, m)), got, want)
						}
					}
				})
			}
		}
	}
}

// Widening and cutting integers.
func TestIntegerWidths(t *testing.T) {
	widths := []int{1, 8, 16, 32, 64}
	for i, from := range widths {
		for j, to := range widths {
			if from == to {
				continue
			}
			for _, sign := range []string{"signed", "unsigned"} {
				op := "exti"
				attrs := " {signedness = " + sign + "}"
				if to < from {
					op, attrs = "trunci", ""
				}
				body := fmt.Sprintf("%%r = %s %%v0%s : (tile<512xi%d, #L>) -> tile<512xi%d, #L>", op, attrs, from, to)
				in := data(1, from)
				n, m := max(1, from/8), max(1, to/8)
				out, _ := launch(t, "sm_80", elementwise(testLayouts[[]string{"vectors", "strided"}[(i+j)%2]], body, fmt.Sprintf("i%d", to), fmt.Sprintf("i%d", from)), 1, in, make([]byte, numElements*m))
				for k := range numElements {
					x := element(in, k, n)
					want := x
					if sign == "signed" {
						want = uint64(sext(x, from))
					}
					if got := element(out[1], k, m); got != lowBits(want, to) {
						t.Fatalf("%s i%d %#x to i%d is %#x, want %#x", sign, from, x, to, got, lowBits(want, to))
					}
				}
			}
		}
	}
}

// Integers of 4 bits, each in a byte, widen from all their values, and to them everything is cut.
func TestFourBitIntegers(t *testing.T) {
	in := data(1, 8)
	for i, to := range []int{8, 16, 32, 64} {
		for _, sign := range []string{"signed", "unsigned"} {
			body := fmt.Sprintf(`%%h = trunci %%v0 : (tile<512xi8, #L>) -> tile<512xi4, #L>
				%%r = exti %%h {signedness = %s} : (tile<512xi4, #L>) -> tile<512xi%d, #L>`, sign, to)
			out, _ := launch(t, "sm_80", elementwise(testLayouts[[]string{"vectors", "strided"}[i%2]], body, fmt.Sprintf("i%d", to), "i8"), 1, in, make([]byte, numElements*to/8))
			for k, x := range in {
				want := uint64(x & 15)
				if sign == "signed" {
					want = lowBits(uint64(sext(want, 4)), to)
				}
				if got := element(out[1], k, to/8); got != want {
					t.Fatalf("%s %#x to i%d is %#x, want %#x", sign, x&15, to, got, want)
				}
			}
		}
	}
}

// Factors of a product are rounded to tf32 as ir/float rounds, each in its place: multiplied by the unit matrix from the other side, they come out as they
// are. NaN, whatever its bits, makes all of its row, or column, NaN.
func TestRoundedFactors(t *testing.T) {
	const n = 32
	specials := []uint64{0x7fffffff, 0xffffffff, 0x7f800001, 0xff800001, 0x7f800fff, 0x7f801000, 0x7fbfffff, 0x7fc00000, // NaN
		0x7f800000, 0xff800000, 0x7f7fffff, 0xff7ff000, 0x7f7fefff, // infinity and what becomes it
		0x3f800fff, 0x3f801000, 0x3f801001, 0x3f802fff, 0x3f803000, 0xbf803000, 0x3fffefff, 0x3ffff000, // about ties
		0x00000001, 0x00000fff, 0x00001000, 0x80001001, 0x00002fff, 0x00003000, 0x007fefff, 0x807ff000, 0x00800fff, 0x00801000, // subnormal
		0x80000000}
	gpu, _ := target.ByName("sm_80")
	list := atom.SelectMMA(gpu, atom.Types{A: atom.TF32, B: atom.TF32, C: atom.F32}, atom.Extent{M: n, N: n, K: n})
	split := atom.Splits(list[0].Atom, list[0].Extent, 4, false)[0]
	tiling, _ := atom.Tile(list[0].Atom, list[0].Extent, split, false)
	l := tiling.Layouts()
	k := tileIO{warps: 4, in: []ioTile{{"f32", l.A}, {"f32", l.B}, {"f32", l.C}}, out: ioTile{"f32", l.C}}
	ta, tb := ioTile{"tf32", l.A}, ioTile{"tf32", l.B}
	k.body = fmt.Sprintf("    %%a = ftof %%v0 : (%s) -> %s\n    %%b = ftof %%v1 : (%s) -> %s\n", k.in[0].typ(), ta.typ(), k.in[1].typ(), tb.typ()) +
		fmt.Sprintf("    %%r = dot %%a, %%b, %%v2 {atom = #tileaa.mma<%q, warps = [%d, %d, %d, %d]>} : (%s, %s, %s) -> %s",
			list[0].Atom.Name, split.Batch, split.M, split.N, split.Copies, ta.typ(), tb.typ(), k.in[2].typ(), k.out.typ())
	for turn := range n { // where along K the special ones are
		bits := func(row, depth int) uint64 {
			if depth == (row+turn)%n {
				return specials[row]
			}
			return float.F32.Encode(1+float64((row*n+depth)*7919%8191)/8192, float.NearestEven) + uint64(depth%3)
		}
		for side := range 2 {
			factors := [2][]byte{make([]byte, 4*n*n), make([]byte, 4*n*n)}
			for i := range n {
				binary.LittleEndian.PutUint32(factors[1-side][4*(i*n+i):], math.Float32bits(1))
				for depth := range n {
					at := i*n + depth
					if side == 1 {
						at = depth*n + i
					}
					binary.LittleEndian.PutUint32(factors[side][4*at:], uint32(bits(i, depth)))
				}
			}
			out, _ := launch(t, "sm_80", k.text(), 1, factors[0], factors[1], make([]byte, 4*n*n), make([]byte, 4*n*n))
			for i := range n {
				for depth := range n {
					at := i*n + depth
					if side == 1 {
						at = depth*n + i
					}
					got := element(out[3], at, 4)
					want := float.TF32.ToStorage(float.Convert(float.F32, float.TF32, bits(i, depth), float.NearestEven))
					special := float.TF32.FromStorage(float.TF32.ToStorage(float.Convert(float.F32, float.TF32, specials[i], float.NearestEven)))
					switch {
					case float.TF32.IsNaN(special), float.TF32.IsInf(special) && depth != (i+turn)%n:
						want = 0x7fc00000 // infinity times 0 is NaN, too
					case want&0x7fffffff == 0:
						want = 0 // the sum with the other products has no sign
					}
					if !sameFloat(float.F32, got, want) {
						t.Fatalf("factor %d, special one %#x in place %d: place %d is %#x, want %#x", side, specials[i], (i+turn)%n, depth, got, want)
					}
				}
			}
		}
	}
}
