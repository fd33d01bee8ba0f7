package cprintf

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// float writes a double.
func (p *Piece) float(b uint64) string {
	x := math.Float64frombits(b)
	sign, size := p.sign(math.Signbit(x)), math.Abs(x)
	var digits string
	finite := false
	switch {
	case math.IsNaN(x):
		digits = "nan"
	case math.IsInf(x, 0):
		digits = "inf"
	default:
		finite = true
		digits = p.magnitude(size)
	}
	if after, ok := strings.CutPrefix(digits, "0x"); ok { // zeros stand behind it
		sign, digits = sign+"0x", after
	}
	if p.Verb < 'a' {
		sign, digits = strings.ToUpper(sign), strings.ToUpper(digits)
	}
	return p.pad(sign, digits, finite)
}

// magnitude writes a number that is finite and not negative, in small letters.
func (p *Piece) magnitude(x float64) string {
	precision := p.Precision
	if precision < 0 {
		precision = 6
	}
	switch p.Verb {
	case 'f', 'F':
		return p.pointed(strconv.FormatFloat(x, 'f', precision, 64))
	case 'e', 'E':
		return p.pointed(strconv.FormatFloat(x, 'e', precision, 64))
	case 'a', 'A':
		return p.hexadecimal(x)
	}
	precision = max(precision, 1)
	s := strconv.FormatFloat(x, 'e', precision-1, 64)
	if exponent, _ := strconv.Atoi(s[strings.IndexByte(s, 'e')+1:]); exponent >= -4 && exponent < precision {
		s = strconv.FormatFloat(x, 'f', precision-1-exponent, 64)
	}
	if p.Alt {
		return p.pointed(s)
	}
	mantissa, exponent := parts(s)
	if strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	return mantissa + exponent
}

// pointed is a number with the point that the flag # asks for.
func (p *Piece) pointed(s string) string {
	mantissa, exponent := parts(s)
	if p.Alt && !strings.Contains(mantissa, ".") {
		mantissa += "."
	}
	return mantissa + exponent
}

// parts cuts a number at its exponent.
func parts(s string) (mantissa, exponent string) {
	at := strings.IndexByte(s, 'e')
	if at < 0 {
		at = len(s)
	}
	return s[:at], s[at:]
}

// hexadecimal writes a double with the bits that it has: one before the point, or zero of one that is subnormal, and 52 behind it.
func (p *Piece) hexadecimal(x float64) string {
	const fraction, bias = 52, 1023
	b := math.Float64bits(x)
	m, exponent := b&(1<<fraction-1), int(b>>fraction)-bias
	switch {
	case exponent > -bias:
		m |= 1 << fraction
	case m != 0:
		exponent++
	default:
		exponent = 0
	}
	digits := p.Precision
	if digits < 0 {
		digits = (fraction - min(bits.TrailingZeros64(m), fraction) + 3) / 4
	}
	if drop := 4 * (fraction/4 - digits); drop > 0 { // to the nearest, of two the even one
		half, rest := uint64(1)<<(drop-1), m&(1<<drop-1)
		if m >>= drop; rest > half || rest == half && m&1 != 0 {
			m++
		}
		m <<= drop
	}
	s := fmt.Sprintf("%013x", m&(1<<fraction-1))
	s = (s + strings.Repeat("0", max(digits-len(s), 0)))[:digits]
	if digits > 0 || p.Alt {
		s = "." + s
	}
	return fmt.Sprintf("0x%d%sp%+d", m>>fraction, s, exponent)
}
