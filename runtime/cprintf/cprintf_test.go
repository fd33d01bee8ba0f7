package cprintf

import (
	"fmt"
	"math"
	"math/big"
	"math/rand"
	"strconv"
	"strings"
	"testing"
)

// write is what a format of one conversion writes.
func write(t *testing.T, format string, bits uint64) string {
	t.Helper()
	pieces, err := Parse(format)
	if err != nil || len(pieces) != 1 {
		t.Fatalf("%q: %d pieces, %v", format, len(pieces), err)
	}
	return pieces[0].Value(bits)
}

// TestC is a table of what the standard says of flags, widths, precisions, lengths and letters.
func TestC(t *testing.T) {
	f := math.Float64bits
	minus := func(n int64) uint64 { return uint64(-n) }
	for _, tt := range []struct {
		format string
		bits   uint64
		want   string
	}{
		{"%d", minus(65), "-65"}, {"%i", 1 << 31, "-2147483648"}, {"%u", minus(65), "4294967231"}, {"%lld", 1 << 63, "-9223372036854775808"},
		{"%d", 1 << 32, "0"}, {"%zu", math.MaxUint64, "18446744073709551615"}, {"%ld", minus(9000000000), "-9000000000"},
		{"%hhd", minus(3), "-3"}, {"%hhu", minus(3), "253"}, {"%hd", 0x18000, "-32768"}, {"%hx", 0x12345, "2345"},
		{"%5d", 42, "   42"}, {"%-5d", 42, "42   "}, {"%05d", minus(42), "-0042"}, {"%-05d", 42, "42   "}, {"%+d", 42, "+42"}, {"% d", 42, " 42"},
		{"%+ d", 42, "+42"}, {"%+u", 42, "42"}, {"%.3d", minus(5), "-005"}, {"%08.3d", 5, "     005"}, {"%.0d", 0, ""}, {"%+.d", 0, "+"}, {"%.0x", 0, ""},
		{"%x", 255, "ff"}, {"%X", 255, "FF"}, {"%#x", 255, "0xff"}, {"%#X", 255, "0XFF"}, {"%#x", 0, "0"}, {"%#010x", 255, "0x000000ff"}, {"%#.5x", 255, "0x000ff"},
		{"%o", 8, "10"}, {"%#o", 8, "010"}, {"%#o", 0, "0"}, {"%#.0o", 0, "0"}, {"%#.3o", 8, "010"}, {"%#.5o", 8, "00010"},
		{"%c", 0xffbf, "\xbf"}, {"%3c", 'a', "  a"}, {"%-3c", 'a', "a  "},
		{"%p", 0, "(nil)"}, {"%p", 0x7f00, "0x7f00"}, {"%8p", 0x7f00, "  0x7f00"},
		{"%f", f(1.5), "1.500000"}, {"%F", f(1.5), "1.500000"}, {"%.0f", f(0.5), "0"}, {"%.0f", f(1.5), "2"}, {"%#.0f", f(2), "2."}, {"%010.2f", f(-3.14159), "-000003.14"},
		{"%e", f(0), "0.000000e+00"}, {"%.0e", f(15), "2e+01"}, {"%#.0e", f(1), "1.e+00"}, {"%E", f(1e300), "1.000000E+300"},
		{"%g", f(100000), "100000"}, {"%g", f(1000000), "1e+06"}, {"%g", f(999999.5), "1e+06"}, {"%g", f(0.0001), "0.0001"}, {"%g", f(0.00001), "1e-05"}, {"%G", f(1e-10), "1E-10"},
		{"%#g", f(1.5), "1.50000"}, {"%#g", f(999999.5), "1.00000e+06"}, {"%.0g", f(123), "1e+02"}, {"%g", f(math.Copysign(0, -1)), "-0"}, {"%.3g", f(0), "0"},
		{"%a", f(1.5), "0x1.8p+0"}, {"%A", f(1.5), "0X1.8P+0"}, {"%a", f(0), "0x0p+0"}, {"%a", f(-0.1), "-0x1.999999999999ap-4"}, {"%a", 1, "0x0.0000000000001p-1022"},
		{"%.0a", f(1.5), "0x2p+0"}, {"%.1a", f(1.03125), "0x1.0p+0"}, {"%.1a", f(1.09375), "0x1.2p+0"}, {"%.15a", f(1), "0x1.000000000000000p+0"}, {"%#a", f(1), "0x1.p+0"}, {"%012a", f(1), "0x0000001p+0"},
		{"%f", f(math.Inf(1)), "inf"}, {"%F", f(math.Inf(-1)), "-INF"}, {"%06f", f(math.Inf(1)), "   inf"}, {"%+e", f(math.NaN()), "+nan"}, {"%a", f(math.NaN()) | 1<<63, "-nan"},
		{"%-6g", f(math.Inf(1)), "inf   "}, {"%lf", f(2), "2.000000"}, {"%Lf", f(2), "2.000000"},
	} {
		if got := write(t, tt.format, tt.bits); got != tt.want {
			t.Errorf("%s of %#x: got %q, want %q", tt.format, tt.bits, got, tt.want)
		}
	}
}

func TestParse(t *testing.T) {
	pieces, err := Parse("100%% of %5s|%*.*f%c\n")
	if err != nil || len(pieces) != 6 || pieces[0].Text != "100% of " || pieces[1].Verb != 's' || pieces[3].Width != Star || pieces[3].Precision != Star || pieces[5].Text != "\n" {
		t.Errorf("%+v, %v", pieces, err)
	}
	if got := pieces[1].String("abc"); got != "  abc" {
		t.Errorf("%q", got)
	}
	p := pieces[3]
	p.SetWidth(-9)
	p.SetPrecision(-1)
	if got := p.Value(math.Float64bits(1)); got != "1.000000 " {
		t.Errorf("a negative width is a flag, a negative precision none: %q", got)
	}
	for format, want := range map[string]string{
		"%": `"%" is no conversion`, "5%": "no conversion", "%n": `"%n" is no conversion`, "%5%": `"%5%" is no conversion`, "%lw": `"%lw"`,
		"%4096d": "more than 4095", "%.99999999999f": "more than 4095",
	} {
		if _, err := Parse(format); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", format, err)
		}
	}
	if pieces, err := Parse(""); pieces != nil || err != nil {
		t.Error(pieces, err)
	}
}

// TestIntegers reads back what is written of random integers.
func TestIntegers(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	bases := map[byte]int{'d': 10, 'i': 10, 'u': 10, 'o': 8, 'x': 16, 'X': 16}
	widths := map[string]uint{"hh": 8, "h": 16, "": 32, "l": 64, "ll": 64, "j": 64, "z": 64, "t": 64}
	for length, width := range widths {
		for verb, base := range bases {
			for range 200 {
				bits := r.Uint64() >> r.Intn(64)
				precision, field := r.Intn(12), r.Intn(30)
				want := new(big.Int).Mod(new(big.Int).SetUint64(bits), new(big.Int).Lsh(big.NewInt(1), width))
				if (verb == 'd' || verb == 'i') && want.Bit(int(width)-1) == 1 {
					want.Sub(want, new(big.Int).Lsh(big.NewInt(1), width))
				}
				format := fmt.Sprintf("%%%d.%d%s%c", field, precision, length, verb)
				text := write(t, format, bits)
				digits := strings.TrimLeft(text, " -")
				got, ok := new(big.Int).SetString("0"+digits, base)
				if ok && strings.Contains(text, "-") {
					got.Neg(got)
				}
				if !ok || got.Cmp(want) != 0 || len(digits) < precision || len(text) < field || len(text) > field && strings.HasPrefix(text, " ") {
					t.Errorf("%s of %#x: %q, want %v", format, bits, text, want)
				}
			}
		}
	}
}

// TestFloats holds what is written of random doubles against exact arithmetic: nothing is off by more than half of the last digit.
func TestFloats(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for range 20000 {
		bits := r.Uint64()
		if r.Intn(3) == 0 {
			bits = math.Float64bits(float64(r.Intn(1<<20)) / 1024)
		}
		x := math.Float64frombits(bits)
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		verb, precision := "efgEFGaA"[r.Intn(8)], r.Intn(20)
		format := fmt.Sprintf("%%.%d%c", precision, verb)
		text := write(t, format, bits)
		if verb == 'a' || verb == 'A' {
			if got, err := strconv.ParseFloat(write(t, "%"+string(verb), bits), 64); err != nil || got != x {
				t.Errorf("%%%c of %#x is read as %v, want %v", verb, bits, got, x)
			}
			continue
		}
		got, ok := new(big.Rat).SetString(strings.ToLower(text))
		if !ok {
			t.Fatalf("%s of %v: %q", format, x, text)
		}
		exact := new(big.Rat).SetFloat64(x)
		off := new(big.Rat).Sub(got, exact)
		off.Abs(off)
		if off.Cmp(halfDigit(exact, got, verb, precision)) > 0 {
			t.Errorf("%s of %v: %q is off by %v", format, x, text, off)
		}
	}
}

// halfDigit is half of the last digit that a conversion writes of a number.
func halfDigit(exact, got *big.Rat, verb byte, precision int) *big.Rat {
	last := -precision
	if verb != 'f' && verb != 'F' {
		if verb == 'g' || verb == 'G' {
			precision = max(precision, 1) - 1
		}
		x, _ := exact.Float64()
		if y, _ := got.Float64(); math.Abs(y) > math.Abs(x) {
			x = y // it may have become a power of ten
		}
		if x == 0 {
			return new(big.Rat)
		}
		s := strconv.FormatFloat(x, 'e', -1, 64)
		exponent, _ := strconv.Atoi(s[strings.IndexByte(s, 'e')+1:])
		last = exponent - precision
	}
	half, _ := new(big.Rat).SetString(fmt.Sprintf("5e%d", last-1))
	return half
}
