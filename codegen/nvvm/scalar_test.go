package nvvm_test

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"tileiras/ir/float"
)

func sext(x uint64, w int) int64 { return int64(x<<(64-w)) >> (64 - w) }

func lowBits(x uint64, w int) uint64 {
	if w == 64 {
		return x
	}
	return x & (1<<w - 1)
}

// Integer operations on every width equal Go's arithmetic on 64 bits, cut to the width.
func TestIntegerOperations(t *testing.T) {
	b2i := func(b bool) uint64 {
		if b {
			return 1
		}
		return 0
	}
	for _, c := range []struct {
		op, attrs, result string
		want              func(x, y uint64, w int) uint64
		noZero            bool
	}{
		{"addi", "", "", func(x, y uint64, w int) uint64 { return x + y }, false},
		{"subi", "", "", func(x, y uint64, w int) uint64 { return x - y }, false},
		{"muli", "", "", func(x, y uint64, w int) uint64 { return x * y }, false},
		{"mulhii", "", "", func(x, y uint64, w int) uint64 {
			hi, lo := bits.Mul64(x, y)
			if w == 64 {
				return hi
			}
			return lo >> w
		}, false},
		{"andi", "", "", func(x, y uint64, w int) uint64 { return x & y }, false},
		{"xori", "", "", func(x, y uint64, w int) uint64 { return x ^ y }, false},
		{"divi", "signedness = signed, rounding = zero", "", func(x, y uint64, w int) uint64 { return uint64(sext(x, w) / sext(y, w)) }, true},
		{"divi", "signedness = unsigned, rounding = zero", "", func(x, y uint64, w int) uint64 { return x / y }, true},
		{"divi", "signedness = unsigned, rounding = positive_inf", "", func(x, y uint64, w int) uint64 { return x/y + b2i(x%y != 0) }, true},
		{"divi", "signedness = signed, rounding = negative_inf", "", func(x, y uint64, w int) uint64 {
			a, b := sext(x, w), sext(y, w)
			q := a / b
			if a%b != 0 && (a < 0) != (b < 0) {
				q--
			}
			return uint64(q)
		}, true},
		{"divi", "signedness = signed, rounding = positive_inf", "", func(x, y uint64, w int) uint64 {
			a, b := sext(x, w), sext(y, w)
			q := a / b
			if a%b != 0 && (a < 0) == (b < 0) {
				q++
			}
			return uint64(q)
		}, true},
		{"remi", "signedness = signed", "", func(x, y uint64, w int) uint64 { return uint64(sext(x, w) % sext(y, w)) }, true},
		{"remi", "signedness = unsigned", "", func(x, y uint64, w int) uint64 { return x % y }, true},
		{"maxi", "signedness = signed", "", func(x, y uint64, w int) uint64 { return uint64(max(sext(x, w), sext(y, w))) }, false},
		{"mini", "signedness = unsigned", "", func(x, y uint64, w int) uint64 { return min(x, y) }, false},
		{"shli", "", "", func(x, y uint64, w int) uint64 {
			if y >= uint64(w) {
				return 0
			}
			return x << y
		}, false},
		{"shri", "signedness = signed", "", func(x, y uint64, w int) uint64 { return uint64(sext(x, w) >> min(y, 63)) }, false},
		{"shri", "signedness = unsigned", "", func(x, y uint64, w int) uint64 {
			if y >= uint64(w) {
				return 0
			}
			return x >> y
		}, false},
		{"cmpi", "predicate = less_than, signedness = signed", "i1", func(x, y uint64, w int) uint64 { return b2i(sext(x, w) < sext(y, w)) }, false},
		{"cmpi", "predicate = greater_than_or_equal, signedness = unsigned", "i1", func(x, y uint64, w int) uint64 { return b2i(x >= y) }, false},
		{"cmpi", "predicate = not_equal", "i1", func(x, y uint64, w int) uint64 { return b2i(x != y) }, false},
	} {
		for i, width := range []int{1, 8, 16, 32, 64} {
			elem := fmt.Sprintf("i%d", width)
			result := c.result
			if result == "" {
				result = elem
			}
			name := []string{"vectors", "strided"}[i%2]
			t.Run(fmt.Sprintf("%s %s %s", c.op, c.attrs, elem), func(t *testing.T) {
				top := uint64(1) << (width - 1)
				x, y := data(1, width, 0, 1, top, top-1, 5, 63), data(2, width, 0, 1, top, top-1, 3, 32)
				n := max(1, width/8)
				if c.noZero {
					for i := range numElements {
						if element(y, i, n) == 0 || sext(element(y, i, n), width) == -1 {
							y[i*n] = byte(1 + 2*min(width-1, 1))
							if width == 1 {
								y[i*n] = 1
							}
						}
					}
					if width == 1 && strings.Contains(c.attrs, "= signed") {
						return // -1 by -1 is 1, which one bit does not hold
					}
				}
				out, _ := launch(t, "sm_80", elementwise(testLayouts[name], opText(c.op, c.attrs, elem, result, 2), result, elem, elem), 1, x, y, make([]byte, numElements*elemBytes(result)))
				w := width
				if c.result == "i1" {
					w = 1
				}
				for i := range numElements {
					a, b := element(x, i, n), element(y, i, n)
					want := lowBits(c.want(a, b, width), w)
					if got := element(out[2], i, elemBytes(result)); got != want {
						t.Fatalf("element %d: %s(%#x, %#x) = %#x, want %#x", i, c.op, a, b, got, want)
					}
				}
			})
		}
	}
}

// Opposites and absolute values, which are the number itself where it is the least one.
func TestIntegerOperationsOfOneOperand(t *testing.T) {
	for _, width := range []int{1, 8, 16, 32, 64} {
		elem, n := fmt.Sprintf("i%d", width), max(1, width/8)
		top := uint64(1) << (width - 1)
		x := data(1, width, 0, 1, top, top-1, top|1)
		for _, name := range []string{"absi", "negi"} {
			out, _ := launch(t, "sm_80", elementwise(testLayouts["vectors"], opText(name, "", elem, elem, 1), elem, elem), 1, x, make([]byte, numElements*n))
			for i := range numElements {
				v := element(x, i, n)
				want := lowBits(-v, width)
				if name == "absi" && sext(v, width) >= 0 {
					want = v
				}
				if got := element(out[1], i, n); got != want {
					t.Fatalf("%s of %s %#x is %#x, want %#x", name, elem, v, got, want)
				}
			}
		}
	}
}

// Shifts by a constant, of which those by the width and more shift all bits out.
func TestShiftsByConstants(t *testing.T) {
	for _, width := range []int{8, 16, 32, 64} {
		elem, n := fmt.Sprintf("i%d", width), width/8
		top := uint64(1) << (width - 1)
		x := data(1, width, 0, 1, top, top-1, top|1)
		for _, count := range []int{1, width - 1, width, width + 1, 127} {
			for name, want := range map[string]func(x uint64) uint64{
				"shli":                         func(x uint64) uint64 { return x << count },
				"shri {signedness = unsigned}": func(x uint64) uint64 { return x >> count },
				"shri {signedness = signed}":   func(x uint64) uint64 { return uint64(sext(x, width) >> count) },
			} {
				op, attrs, _ := strings.Cut(name, " ")
				body := fmt.Sprintf("%%c = constant <%s: %d> : tile<512x%s, #L>\n%%r = %s %%v0, %%c %s : tile<512x%s, #L>", elem, count, elem, op, attrs, elem)
				out, _ := launch(t, "sm_80", elementwise(testLayouts["strided"], body, elem, elem), 1, x, make([]byte, numElements*n))
				for i := range numElements {
					v := element(x, i, n)
					if got, want := element(out[1], i, n), lowBits(want(v), width); got != want {
						t.Fatalf("%s of %s %#x by %d is %#x, want %#x", name, elem, v, count, got, want)
					}
				}
			}
		}
	}
}

// A number of one bit is compared with a constant without a comparison where that is the bit itself, or its opposite.
func TestComparisonsOfOneBitWithConstants(t *testing.T) {
	x := data(1, 8)
	for _, signedness := range []string{"signed", "unsigned"} {
		for predicate, holds := range map[string]func(x, y int) bool{
			"equal":                 func(x, y int) bool { return x == y },
			"not_equal":             func(x, y int) bool { return x != y },
			"less_than":             func(x, y int) bool { return x < y },
			"greater_than_or_equal": func(x, y int) bool { return x >= y },
		} {
			for y, constant := range []string{"false", "true"} {
				body := fmt.Sprintf(`%%b = trunci %%v0 : (tile<512xi8, #L>) -> tile<512xi1, #L>
					%%c = constant <i1: %s> : tile<512xi1, #L>
					%%d = cmpi %%b, %%c {predicate = %s, signedness = %s} : (tile<512xi1, #L>, tile<512xi1, #L>) -> tile<512xi1, #L>
					%%r = exti %%d {signedness = unsigned} : (tile<512xi1, #L>) -> tile<512xi8, #L>`, constant, predicate, signedness)
				out, _ := launch(t, "sm_80", elementwise(testLayouts["strided"], body, "i8", "i8"), 1, x, make([]byte, numElements))
				for i, b := range x[:numElements] {
					left, right := int(b&1), y
					if signedness == "signed" {
						left, right = -left, -right
					}
					if got := out[1][i]; got != map[bool]byte{true: 1}[holds(left, right)] {
						t.Fatalf("%s: bit %d %s %s is %d", signedness, b&1, predicate, constant, got)
					}
				}
			}
		}
	}
}

var floatRounding = map[string]float.Rounding{"nearest_even": float.NearestEven, "zero": float.TowardZero, "negative_inf": float.TowardNegative, "positive_inf": float.TowardPositive,
	"nearest_away": float.NearestAway}

func floatSpecials(f *float.Format) []uint64 {
	one := f.Encode(1, float.NearestEven)
	return []uint64{0, f.Zero(true), one, f.Neg(one), f.Inf(false), f.Inf(true), f.NaN(), f.Max(), 1, f.Encode(1.5, float.NearestEven)}
}

// sameFloat compares bits; any NaN equals any NaN.
func sameFloat(f *float.Format, x, y uint64) bool { return x == y || f.IsNaN(x) && f.IsNaN(y) }

// Float arithmetic is correctly rounded in every format and mode, on old targets (f32 on the way) as on new ones (pairs of f32).
func TestFloatArithmetic(t *testing.T) {
	for _, c := range []struct {
		op   string
		n    int
		want func(f *float.Format, x []uint64, r float.Rounding) uint64
	}{
		{"addf", 2, func(f *float.Format, x []uint64, r float.Rounding) uint64 { return f.Add(x[0], x[1], r) }},
		{"subf", 2, func(f *float.Format, x []uint64, r float.Rounding) uint64 { return f.Sub(x[0], x[1], r) }},
		{"mulf", 2, func(f *float.Format, x []uint64, r float.Rounding) uint64 { return f.Mul(x[0], x[1], r) }},
		{"divf", 2, func(f *float.Format, x []uint64, r float.Rounding) uint64 { return f.Div(x[0], x[1], r) }},
		{"sqrt", 1, func(f *float.Format, x []uint64, r float.Rounding) uint64 { return f.Sqrt(x[0], r) }},
		{"fma", 3, func(f *float.Format, x []uint64, r float.Rounding) uint64 { return f.FMA(x[0], x[1], x[2], r) }},
	} {
		for _, f := range []*float.Format{float.F16, float.BF16, float.F32, float.F64} {
			for i, rounding := range []string{"nearest_even", "zero", "negative_inf", "positive_inf"} {
				sm := []string{"sm_80", "sm_90", "sm_75", "sm_90"}[i]
				if f == float.F32 && i != 1 {
					sm = "sm_100" // takes two at a time
				}
				if c.op == "fma" && f.StorageBits() == 16 && rounding != "nearest_even" {
					continue // through f32: rounded twice
				}
				name := []string{"vectors", "strided"}[i%2]
				t.Run(fmt.Sprintf("%s %s %s %s", c.op, f, rounding, sm), func(t *testing.T) {
					var args []any
					var operands []string
					for k := range c.n {
						args = append(args, data(uint64(k+1), f.StorageBits(), floatSpecials(f)...))
						operands = append(operands, f.Name())
					}
					n := f.StorageBits() / 8
					text := elementwise(testLayouts[name], opText(c.op, "rounding = "+rounding, f.Name(), f.Name(), c.n), f.Name(), operands...)
					out, _ := launch(t, sm, text, 1, append(args, make([]byte, numElements*n))...)
					for i := range numElements {
						var x []uint64
						for k := range c.n {
							x = append(x, element(args[k].([]byte), i, n))
						}
						want := c.want(f, x, floatRounding[rounding])
						if got := element(out[c.n], i, n); !sameFloat(f, got, want) {
							t.Fatalf("element %d: %s%#x = %#x, want %#x", i, c.op, x, got, want)
						}
					}
				})
			}
		}
	}
}
