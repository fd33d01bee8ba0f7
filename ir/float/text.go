package float

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// The decimal text of MLIR attributes, as LLVM's APFloat writes it. APFloat
// estimates binary digits from decimal ones by 196/59, a little above log2(10).
const (
	log2of10Num = 196
	log2of10Den = 59
)

// FormatMLIR prints bits as MLIR prints a float attribute: with six decimals
// and an exponent (1.000000e-01) if that reads back to the same bits, else
// with as many digits as the format needs (0.333333343, 9.99999997E-7), else,
// and for infinities and NaN, as the hexadecimal bit pattern (0x7F800000).
func (f *Format) FormatMLIR(b uint64) string {
	b &= f.mask()
	if f.IsFinite(b) {
		neg, mag := f.Sign(b), f.Decode(f.Abs(b))
		if s := signed(neg, decimalOf(mag, 6).scientific(6)); f.readsBack(s, b) {
			return s
		}
		digits := 2 + f.precision()*log2of10Den/log2of10Num
		if s := decimalOf(mag, digits).shortest(digits); strings.Contains(s, ".") {
			return signed(neg, s)
		}
	}
	return fmt.Sprintf("0x%0*X", (f.Bits()+3)/4, b)
}

func signed(neg bool, s string) string {
	if neg {
		return "-" + s
	}
	return s
}

func (f *Format) readsBack(s string, b uint64) bool {
	got, ok := f.ParseDecimal(s)
	return ok && got == b
}

// decimal is digits * 10^exp, without trailing zeros; zero is the digit 0.
type decimal struct {
	digits string
	exp    int
}

// decimalOf cuts the exact decimal expansion of v >= 0 to at most places
// digits in APFloat's two steps: superfluous digits (estimated from the bits)
// are truncated, the few left over are rounded half up.
func decimalOf(v float64, places int) decimal {
	if v == 0 {
		return decimal{"0", 0}
	}
	frac, exp2 := math.Frexp(v)
	n, exp2 := big.NewInt(int64(math.Ldexp(frac, 53))), exp2-53
	if tz := int(n.TrailingZeroBits()); tz > 0 {
		n.Rsh(n, uint(tz))
		exp2 += tz
	}
	exp := 0
	if exp2 >= 0 {
		n.Lsh(n, uint(exp2))
	} else { // n * 2^-k = n * 5^k * 10^-k
		n.Mul(n, new(big.Int).Exp(big.NewInt(5), big.NewInt(int64(-exp2)), nil))
		exp = exp2
	}
	needed := (places*log2of10Num + log2of10Den - 1) / log2of10Den
	if excess := n.BitLen() - needed; excess > 0 {
		drop := excess * log2of10Den / log2of10Num
		n.Quo(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(drop)), nil))
		exp += drop
	}
	return decimal{n.String(), exp}.trim().roundTo(places)
}

func (d decimal) trim() decimal {
	t := strings.TrimRight(d.digits, "0")
	return decimal{t, d.exp + len(d.digits) - len(t)}
}

func (d decimal) roundTo(places int) decimal {
	if len(d.digits) <= places {
		return d
	}
	exp := d.exp + len(d.digits) - places
	kept := []byte(d.digits[:places])
	if d.digits[places] < '5' {
		return decimal{string(kept), exp}.trim()
	}
	for i := places - 1; i >= 0; i-- {
		if kept[i] != '9' {
			kept[i]++
			return decimal{string(kept[:i+1]), exp + places - 1 - i}
		}
	}
	return decimal{"1", exp + places}
}

// scientific prints d.ddd e±XX with exactly decimals digits after the point.
func (d decimal) scientific(decimals int) string {
	exp := d.exp + len(d.digits) - 1
	pad := strings.Repeat("0", max(0, decimals+1-len(d.digits)))
	return fmt.Sprintf("%s.%s%se%+03d", d.digits[:1], d.digits[1:], pad, exp)
}

// shortest prints without padding, positionally if that takes at most three
// zeros beyond the digits.
func (d decimal) shortest(places int) string {
	const maxPadding = 3
	n, lead := len(d.digits), d.exp+len(d.digits)-1
	var scientific bool
	if d.exp >= 0 {
		scientific = d.exp > maxPadding || n+d.exp > places
	} else {
		scientific = lead < -maxPadding
	}
	switch {
	case scientific:
		rest := d.digits[1:]
		if rest == "" {
			rest = "0"
		}
		return fmt.Sprintf("%s.%sE%+d", d.digits[:1], rest, lead)
	case d.exp >= 0:
		return d.digits + strings.Repeat("0", d.exp)
	case lead >= 0:
		return d.digits[:lead+1] + "." + d.digits[lead+1:]
	}
	return "0." + strings.Repeat("0", -lead-1) + d.digits
}

// maxDigits is more than the 767 significant digits that can decide the
// rounding of a decimal to f64; later ones count only as "not zero".
const maxDigits = 800

// ParseDecimal reads [+-] digits [. digits] [(e|E) [+-] digits] and rounds it
// once, to nearest even; what is out of range becomes what Encode makes of it.
// ok is false if s has another form. Time and memory are bounded whatever the
// length and exponent of s.
func (f *Format) ParseDecimal(s string) (b uint64, ok bool) {
	neg := strings.HasPrefix(s, "-")
	if neg || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	mantissa, expText := s, ""
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, expText = s[:i], s[i+1:]
		if expText == "" {
			return 0, false
		}
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	if whole == "" || !allDigits(whole) || !allDigits(frac) {
		return 0, false
	}
	exp, ok := parseExponent(expText)
	if !ok {
		return 0, false
	}
	digits := strings.TrimLeft(whole+frac, "0")
	exp -= len(frac)
	if len(digits) > maxDigits {
		exp += len(digits) - maxDigits - 1
		sticky := "0"
		if strings.Trim(digits[maxDigits:], "0") != "" {
			sticky = "1"
		}
		digits = digits[:maxDigits] + sticky
	}
	return f.pack(decimalNumber(neg, digits, exp), NearestEven), true
}

func allDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// parseExponent reads a decimal exponent, clamped far outside every format.
func parseExponent(s string) (int, bool) {
	if s == "" {
		return 0, true
	}
	digits := strings.TrimLeft(s, "+-")
	if digits == "" || len(s)-len(digits) > 1 || !allDigits(digits) {
		return 0, false
	}
	v, err := strconv.Atoi(s)
	const limit = 1 << 40
	if err != nil { // too long for an int
		v = limit
		if s[0] == '-' {
			v = -limit
		}
	}
	return min(max(v, -limit), limit), true
}

// decimalNumber is digits * 10^exp with 128 bits and a sticky bit.
func decimalNumber(neg bool, digits string, exp int) number {
	n, _ := new(big.Int).SetString("0"+digits, 10)
	// Powers of ten beyond every format, with room to spare.
	const huge, tiny = 400, -400
	switch lead := len(digits) + exp; {
	case n.Sign() == 0:
		return number{class: zero, neg: neg}
	case lead > huge:
		return number{finite, neg, 1 << 20, 1 << 63, 0}
	case lead < tiny:
		return number{finite, neg, -1 << 20, 1 << 63, 0}
	}
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exp, -exp))), nil)
	shift, sticky := 0, false
	if exp >= 0 {
		n.Mul(n, power)
	} else {
		shift = max(0, 129+power.BitLen()-n.BitLen())
		rem := new(big.Int)
		n.QuoRem(n.Lsh(n, uint(shift)), power, rem)
		sticky = rem.Sign() != 0
	}
	if extra := n.BitLen() - 128; extra > 0 {
		sticky = sticky || int(n.TrailingZeroBits()) < extra
		n.Rsh(n, uint(extra))
		shift -= extra
	}
	lo := new(big.Int).And(n, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	hi := n.Rsh(n, 64).Uint64()
	return normalize(neg, 127-shift, hi, lo|uint64(b2i(sticky)))
}
