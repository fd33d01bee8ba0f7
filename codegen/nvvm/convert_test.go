package nvvm_test

import (
	"fmt"
	"math"
	"testing"

	"tileiras/ir/float"
)

// Every float format converts to every other as ir/float does, on a target with the instructions and on one without.
func TestFloatConversions(t *testing.T) {
	list := []*float.Format{float.F16, float.BF16, float.F32, float.F64, float.TF32, float.F8E4M3FN, float.F8E5M2, float.F8E8M0FNU}
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
				}
				rounding := roundings[i%len(roundings)]
				t.Run(fmt.Sprintf("%s to %s %s %s", from, to, rounding, sm), func(t *testing.T) {
					in := data(1, from.StorageBits(), floatSpecials(from)...)
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

// The 4-bit format, one element in a byte.
func TestFourBitFloats(t *testing.T) {
	body := `%n = bitcast %v0 : (tile<512xi8, #L>) -> tile<512xf8E4M3FN, #L>
	%w = ftof %n : (tile<512xf8E4M3FN, #L>) -> tile<512xf32, #L>
	%s = ftof %w : (tile<512xf32, #L>) -> tile<512xf4E2M1FN, #L>
	%r = ftof %s : (tile<512xf4E2M1FN, #L>) -> tile<512xf32, #L>`
	in := data(1, 8)
	out, _ := launch(t, "sm_80", elementwise(testLayouts["vectors"], body, "f32", "i8"), 1, in, make([]byte, 4*numElements))
	for i := range numElements {
		x := uint64(in[i])
		if float.F8E4M3FN.IsNaN(x) {
			continue
		}
		want := float.F4E2M1FN.Decode(float.Convert(float.F8E4M3FN, float.F4E2M1FN, x, float.NearestEven))
		if got := float64(floatAt(out[1], i)); got != want {
			t.Fatalf("%v becomes %v, want %v", float.F8E4M3FN.Decode(x), got, want)
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
					in := data(1, width, 0, 1, 1<<(width-1), 1<<(width-1)-1)
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
