package exact

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"tileiras/ir/float"
)

func byName(t *testing.T, name string) *Func {
	i := slices.IndexFunc(funcs, func(f *Func) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("no function %s", name)
	}
	return funcs[i]
}

// TestAgainstMpmath compares with values that testdata/generate.py made with mpmath.
func TestAgainstMpmath(t *testing.T) {
	file, err := os.Open("testdata/mpmath.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	seen := map[string]int{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var name string
		var x, y, want uint64
		if _, err := fmt.Sscanf(lines.Text(), "%s %x %x %x", &name, &x, &y, &want); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		seen[name]++
		f, a, b, w := byName(t, name), math.Float64frombits(x), math.Float64frombits(y), math.Float64frombits(want)
		if got := f.Round(float.F64, a, b); got != want {
			t.Errorf("%s(%v, %v) = %v, want %v", name, a, b, math.Float64frombits(got), w)
		}
		// The quick way of narrower formats must round alike. Rounding an f64 again differs only next to a midpoint.
		for _, to := range []*float.Format{float.F32, float.F16, float.BF16} {
			if low, high := to.Encode(w*(1-0x1p-52), float.NearestEven), to.Encode(w*(1+0x1p-52), float.NearestEven); low == high {
				if got := f.Round(to, a, b); got != low {
					t.Errorf("%s(%v, %v) in %s = %v, want %v", name, a, b, to, to.Decode(got), to.Decode(low))
				}
			}
		}
	}
	for _, f := range funcs {
		if seen[f.Name] < 100 {
			t.Errorf("%d values of %s", seen[f.Name], f.Name)
		}
	}
}

// Zeros, infinities, NaN and exact results, by C's rules (Annex F).
func TestSpecialValues(t *testing.T) {
	inf, nan, zero := math.Inf(1), math.NaN(), math.Copysign(0, -1)
	for _, c := range []struct {
		name       string
		x, y, want float64
	}{
		{"exp", -inf, 0, 0}, {"exp", inf, 0, inf}, {"exp", 0, 0, 1}, {"exp", 1e308, 0, inf}, {"exp", -1e308, 0, 0}, {"exp", nan, 0, nan},
		{"exp2", -1074, 0, 0x1p-1074}, {"exp2", -1075, 0, 0}, {"exp2", 1024, 0, inf}, {"exp2", 10, 0, 1024},
		{"log", 0, 0, -inf}, {"log", -1, 0, nan}, {"log", 1, 0, 0}, {"log2", 0x1p-1074, 0, -1074}, {"log2", 8, 0, 3}, {"log2", zero, 0, -inf},
		{"rsqrt", 4, 0, 0.5}, {"rsqrt", 0, 0, inf}, {"rsqrt", inf, 0, 0}, {"rsqrt", -1, 0, nan},
		{"sin", inf, 0, nan}, {"sin", zero, 0, zero}, {"cos", 0, 0, 1}, {"tan", zero, 0, zero}, {"sin", 5e-324, 0, 5e-324},
		{"sinh", -inf, 0, -inf}, {"cosh", -inf, 0, inf}, {"tanh", -inf, 0, -1}, {"tanh", 1e300, 0, 1}, {"sinh", 1e4, 0, inf},
		{"atan2", 0, -1, math.Pi}, {"atan2", zero, -1, -math.Pi}, {"atan2", zero, 1, zero}, {"atan2", inf, inf, math.Pi / 4},
		{"atan2", -inf, -inf, -3 * math.Pi / 4}, {"atan2", 0, zero, math.Pi}, {"atan2", 1, 0, math.Pi / 2}, {"atan2", 1, -inf, math.Pi},
		{"atan2", -1e-300, 1e300, -0.0}, {"atan2", nan, 1, nan}, {"atan2", -5e-324, -1e300, -math.Pi},
		{"pow", 0, -1, inf}, {"pow", zero, -3, -inf}, {"pow", nan, 0, 1}, {"pow", 1, nan, 1}, {"pow", -1, inf, 1}, {"pow", -8, 1. / 3, nan},
		{"pow", -2, 3, -8}, {"pow", 9, 0.5, 3}, {"pow", 2, 1e300, inf}, {"pow", 0.5, 1e300, 0}, {"pow", -3, 1e300, inf}, {"pow", 2, -1074, 0x1p-1074},
	} {
		got := math.Float64frombits(byName(t, c.name).Round(float.F64, c.x, c.y))
		if c.name == "atan2" && c.x == -1e-300 {
			c.want = zero
		}
		if got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) || math.Signbit(got) != math.Signbit(c.want) && !math.IsNaN(got) {
			t.Errorf("%s(%v, %v) = %v, want %v", c.name, c.x, c.y, got, c.want)
		}
	}
}

func BenchmarkF64(b *testing.B) {
	for _, f := range funcs {
		b.Run(f.Name, func(b *testing.B) {
			for i := range b.N {
				f.compute(float.F64, 1.25+float64(i%1000)/999, 3.3) // without the memo
			}
		})
	}
}
