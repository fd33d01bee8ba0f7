package nvvm_test

import (
	"fmt"
	"testing"

	"tileiras/ir/float"
)

// Four bytes at a time, each is computed as if it were alone: all bytes, beside all others in turn.
func TestBytes(t *testing.T) {
	x, y := make([]byte, numElements), make([]byte, numElements)
	for i := range x {
		x[i], y[i] = byte(i), byte(37*i+i/256*91)
	}
	constant := func(c int) string {
		return fmt.Sprintf("%%c = constant <i8: %d> : tile<512xi8, #L>\n", int8(c))
	}
	type op struct {
		body string
		want func(x, y byte) byte
	}
	ops := []op{
		{`%r = addi %v0, %v1 : tile<512xi8, #L>`, func(x, y byte) byte { return x + y }},
		{`%r = subi %v0, %v1 : tile<512xi8, #L>`, func(x, y byte) byte { return x - y }},
	}
	for _, c := range []int{1, 15, 0x7F, 0x80, 0x81, 0xF8, 0xFF} {
		ops = append(ops,
			op{constant(c) + `%r = addi %v0, %c : tile<512xi8, #L>`, func(x, y byte) byte { return x + byte(c) }},
			op{constant(c) + `%r = subi %v0, %c : tile<512xi8, #L>`, func(x, y byte) byte { return x - byte(c) }},
			op{constant(c) + `%r = andi %v0, %c : tile<512xi8, #L>`, func(x, y byte) byte { return x & byte(c) }})
	}
	for n := range 10 {
		ops = append(ops,
			op{constant(n) + `%r = shli %v0, %c : tile<512xi8, #L>`, func(x, y byte) byte { return x << n }},
			op{constant(n) + `%r = shri %v0, %c {signedness = unsigned} : tile<512xi8, #L>`, func(x, y byte) byte { return x >> n }},
			op{constant(n) + `%r = shri %v0, %c {signedness = signed} : tile<512xi8, #L>`, func(x, y byte) byte { return byte(int8(x) >> n) }})
	}
	for _, o := range ops {
		out, _ := launch(t, "sm_80", elementwise(testLayouts["vectors"], o.body, "i8", "i8", "i8"), 1, x, y, make([]byte, numElements))
		for i := range x {
			if got, want := out[2][i], o.want(x[i], y[i]); got != want {
				t.Fatalf("%s: %#x, %#x becomes %#x, want %#x", o.body, x[i], y[i], got, want)
			}
		}
	}
}

// A byte is compared with a constant where it stands in a word, of four or of two.
func TestBytesCompare(t *testing.T) {
	x := make([]byte, numElements)
	for i := range x {
		x[i] = byte(i*7 + i/256)
	}
	predicates := map[string]func(x, y int) bool{
		"equal": func(x, y int) bool { return x == y }, "not_equal": func(x, y int) bool { return x != y },
		"less_than": func(x, y int) bool { return x < y }, "less_than_or_equal": func(x, y int) bool { return x <= y },
		"greater_than": func(x, y int) bool { return x > y }, "greater_than_or_equal": func(x, y int) bool { return x >= y },
	}
	for _, result := range []string{"i8", "i64"} { // eight bytes at a time, and two
		run := func(operand, mask string, want func(x byte) bool) {
			body := fmt.Sprintf(`%[2]s
				%%one = constant <%[1]s: 1> : tile<512x%[1]s, #L>
				%%zero = constant <%[1]s: 0> : tile<512x%[1]s, #L>
				%%r = select %%m, %%one, %%zero : (tile<512xi1, #L>, tile<512x%[1]s, #L>, tile<512x%[1]s, #L>) -> tile<512x%[1]s, #L>`, result, mask)
			m := elemBytes(result)
			out, _ := launch(t, "sm_80", elementwise(testLayouts["vectors"], body, result, operand), 1, x, make([]byte, numElements*m))
			for i := range x {
				if got := element(out[1], i, m); (got == 1) != want(x[i]) {
					t.Fatalf("%s: %#x gives %d", mask, x[i], got)
				}
			}
		}
		for name, holds := range predicates {
			for _, c := range []int{0, 1, 0x7F, 0x80, 0xFE, 0xFF} {
				for _, sign := range []string{"signed", "unsigned"} {
					mask := fmt.Sprintf("%%c = constant <i8: %d> : tile<512xi8, #L>\n%%m = cmpi %%v0, %%c {predicate = %s, signedness = %s} : (tile<512xi8, #L>, tile<512xi8, #L>) -> tile<512xi1, #L>", int8(c), name, sign)
					run("i8", mask, func(x byte) bool {
						if sign == "signed" {
							return holds(int(int8(x)), int(int8(c)))
						}
						return holds(int(x), c)
					})
				}
			}
		}
		run("i1", "%m = andi %v0, %v0 : tile<512xi1, #L>", func(x byte) bool { return x != 0 })
	}
}

// What is added to bytes of seven bits or fewer is added when they become floats.
func TestFewBitsToFloats(t *testing.T) {
	x := make([]byte, numElements)
	for i := range x {
		x[i] = byte(i)
	}
	for _, gpu := range []string{"sm_75", "sm_80", "sm_90"} {
		for _, f := range []*float.Format{float.F32, float.F16, float.BF16} {
			for _, bits := range []byte{15, 0x7F, 0x55, 0xFF} {
				for _, add := range []int{0, -1, -8, -127, -128, 1, 64, 127} {
					for _, sign := range []string{"signed", "unsigned"} {
						body := fmt.Sprintf(`%%m = constant <i8: %d> : tile<512xi8, #L>
							%%c = constant <i8: %d> : tile<512xi8, #L>
							%%n = andi %%v0, %%m : tile<512xi8, #L>
							%%d = addi %%n, %%c : tile<512xi8, #L>
							%%r = itof %%d {signedness = %s} : (tile<512xi8, #L>) -> tile<512x%s, #L>`, int8(bits), add, sign, f)
						m := f.StorageBits() / 8
						out, _ := launch(t, gpu, elementwise(testLayouts["vectors"], body, f.Name(), "i8"), 1, x, make([]byte, numElements*m))
						for i := range x {
							sum := x[i]&bits + byte(add)
							want := f.FromUint(uint64(sum), float.NearestEven)
							if sign == "signed" {
								want = f.FromInt(int64(int8(sum)), float.NearestEven)
							}
							if got := element(out[1], i, m); got != want {
								t.Fatalf("%s on %s: %#x & %#x + %d, %s, becomes %#x, want %#x", f, gpu, x[i], bits, add, sign, got, want)
							}
						}
					}
				}
			}
		}
	}
}

// Masks of masks take time linear in their number, though each is made of the one before twice.
func TestMasksOfMasks(t *testing.T) {
	x := make([]byte, numElements)
	for i := range x {
		x[i] = byte(i)
	}
	body, last := "", "v0"
	for i := range 64 {
		body += fmt.Sprintf("%%n%d = andi %%%s, %%%s : tile<512xi8, #L>\n", i, last, last)
		last = fmt.Sprintf("n%d", i)
	}
	body += fmt.Sprintf("%%r = itof %%%s {signedness = unsigned} : (tile<512xi8, #L>) -> tile<512xf16, #L>", last)
	out, _ := launch(t, "sm_80", elementwise(testLayouts["vectors"], body, "f16", "i8"), 1, x, make([]byte, 2*numElements))
	for i := range x {
		if got, want := element(out[1], i, 2), float.F16.FromUint(uint64(x[i]), float.NearestEven); got != want {
			t.Fatalf("%#x becomes %#x, want %#x", x[i], got, want)
		}
	}
}
