package float

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestFormatMLIRPrintsTheKnownTexts(t *testing.T) {
	f32 := func(v float32) uint64 { return uint64(math.Float32bits(v)) }
	f64 := math.Float64bits
	for _, c := range []struct {
		f    *Format
		bits uint64
		want string
	}{
		{F32, f32(0.1), "1.000000e-01"},
		{F32, 0x80000000, "-0.000000e+00"},
		{F32, 0, "0.000000e+00"},
		{F32, f32(1), "1.000000e+00"},
		{F32, f32(-2.5), "-2.500000e+00"},
		{F32, f32(1e-6), "9.99999997E-7"},
		{F32, f32(1e15), "9.99999986E+14"},
		{F32, f32(math.Pi), "3.14159274"},
		{F32, f32(1.0 / 3), "0.333333343"},
		{F32, f32(16777216), "0x4B800000"},
		{F32, f32(123456792), "0x4CEB79A3"},
		{F32, 0x7F800000, "0x7F800000"},
		{F32, 0xFF800000, "0xFF800000"},
		{F32, 0x7FC00000, "0x7FC00000"},
		{F32, f32(65536), "6.553600e+04"},
		{F64, 1, "4.940660e-324"},
		{F64, f64(0.1), "1.000000e-01"},
		{F64, f64(1.0 / 3), "0.33333333333333331"},
		{F16, 0x7C00, "0x7C00"},
		{F16, 0x3C00, "1.000000e+00"},
		{BF16, 0xFF80, "0xFF80"},
		{TF32, 0x7FC00, "0x7FC00"},
		{TF32, 0x1FC00, "1.000000e+00"},
		{F8E8M0FNU, 0x00, "5.877470e-39"},
		{F8E8M0FNU, 0xFF, "0xFF"},
		{F8E4M3FN, 0x7E, "4.480000e+02"},
		{F8E4M3FN, 0x7F, "0x7F"},
		{F4E2M1FN, 0xF, "-6.000000e+00"},
		{F4E2M1FN, 0x1, "5.000000e-01"},
		{F8E5M3FNU, 0xFE, "1.146880e+05"},
	} {
		if got := c.f.FormatMLIR(c.bits); got != c.want {
			t.Errorf("%s %#x: got %s, want %s", c.f, c.bits, got, c.want)
		}
	}
}

func TestPrintedTextReadsBackToTheSameBits(t *testing.T) {
	for _, f := range formats {
		set := samples(f, 5000, 12)
		if f.Bits() <= 16 {
			set = patterns(f)
		}
		for _, b := range set {
			s := f.FormatMLIR(b)
			if hex, ok := strings.CutPrefix(s, "0x"); ok {
				if v, err := strconv.ParseUint(hex, 16, 64); err != nil || v != b {
					t.Fatalf("%s %#x prints %s", f, b, s)
				}
				continue
			}
			if got, ok := f.ParseDecimal(s); !ok || got != b {
				t.Fatalf("%s %#x prints %s, which reads as %#x", f, b, s, got)
			}
		}
	}
}

func TestParseDecimalRoundsOnce(t *testing.T) {
	texts := []string{"0", "0.0", "-0.0", "1", "1.", "1.5", "+2.25", "1e10", "1E-10", "65519.99", "65520.0", "0.1", "448.0", "464.0", "464.0000000001",
		"1.00000005960464477539062500", "1.00000005960464477539062500000000000000000001", "5.877471754111437539843683e-39",
		"2.4703282292062327208299e-324", "2.4703282292062328e-324", "1.7976931348623159e308", "3.4028235677973366e38", "1e-400", "1e400", "1e-46"}
	rng := rand.New(rand.NewPCG(13, 0))
	for range 3000 {
		texts = append(texts, fmt.Sprintf("%d.%de%d", rng.IntN(1000), rng.Uint64()>>rng.IntN(60), rng.IntN(100)-50))
	}
	for _, f := range formats {
		for _, s := range texts {
			r, ok := new(big.Rat).SetString(s)
			if !ok {
				t.Fatal(s)
			}
			x := exact{num: r.Num(), den: r.Denom(), special: finite, neg: strings.HasPrefix(s, "-")}
			if got, ok := f.ParseDecimal(s); !ok || got != refRound(f, x)[NearestEven] {
				t.Fatalf("%s %q: got %#x %v, want %#x", f, s, got, ok, refRound(f, x)[NearestEven])
			}
			if f == F64 {
				v, _ := strconv.ParseFloat(s, 64)
				if got, _ := f.ParseDecimal(s); got != math.Float64bits(v) {
					t.Fatalf("f64 %q: got %#x, strconv reads %#x", s, got, math.Float64bits(v))
				}
			}
		}
	}
}

func TestParseDecimalRejectsOtherText(t *testing.T) {
	for _, s := range []string{"", "-", ".5", "e5", "1e", "1e+", "1.2.3", "0x10", "1 ", "nan", "inf", "--1", "1e--5", "1_0", "1e5.0"} {
		if b, ok := F32.ParseDecimal(s); ok {
			t.Errorf("%q read as %#x", s, b)
		}
	}
}

func TestParseDecimalIsBounded(t *testing.T) {
	start := time.Now()
	for _, c := range []struct {
		s    string
		want uint64
	}{
		{"1e999999999999999999999", 0x7F800000},
		{"-1e-999999999999999999999", 0x80000000},
		{"0e999999999999999999999", 0},
		{strings.Repeat("9", 1<<20), 0x7F800000},
		{"0." + strings.Repeat("0", 1<<20) + "1", 0},
		{"1" + strings.Repeat("0", 1<<20) + "e-1048576", 0x3F800000},
		{"1." + strings.Repeat("0", 2000) + "1", 0x3F800000},
		{"1.00000005960464477539062500" + strings.Repeat("0", 2000) + "1", 0x3F800001},
	} {
		if got, ok := F32.ParseDecimal(c.s); !ok || got != c.want {
			t.Errorf("%.20s… (%d characters): got %#x %v, want %#x", c.s, len(c.s), got, ok, c.want)
		}
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("took %v", d)
	}
}
