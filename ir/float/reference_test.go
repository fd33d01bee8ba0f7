package float

import (
	"math/big"
	"testing"
)

// The second implementation: rationals over math/big and rounding by integer
// division. It shares only the rows of the format table with the package.

// exact is num/den with den > 0, or a special value.
type exact struct {
	num, den *big.Int
	special  class // infinite or notANumber; finite otherwise
	neg      bool  // the sign, also of zero and infinity
}

func pow2(n int) *big.Int { return new(big.Int).Lsh(big.NewInt(1), uint(n)) }

// scaled is m * 2^e.
func scaled(m *big.Int, e int, neg bool) exact {
	num, den := new(big.Int).Set(m), big.NewInt(1)
	if e >= 0 {
		num.Lsh(num, uint(e))
	} else {
		den = pow2(-e)
	}
	if neg {
		num.Neg(num)
	}
	return exact{num: num, den: den, special: finite, neg: neg}
}

// refDecode reads the fields of a pattern as the definition of the format says.
func refDecode(f *Format, b uint64) exact {
	total := f.expBits + f.manBits
	neg := f.signed && b>>total&1 == 1
	e := int(b >> f.manBits & (1<<f.expBits - 1))
	m := int64(b & (1<<f.manBits - 1))
	allOnes := e == 1<<f.expBits-1
	switch {
	case f.nan == nanIEEE && allOnes && m != 0, f.nan == nanAllOnes && allOnes && m == 1<<f.manBits-1:
		return exact{special: notANumber}
	case f.inf && allOnes:
		return exact{special: infinite, neg: neg}
	case e == 0 && !f.noZero:
		return scaled(big.NewInt(m), 1-f.bias-f.manBits, neg)
	}
	return scaled(big.NewInt(m+1<<f.manBits), e-f.bias-f.manBits, neg)
}

// refRound encodes x in every rounding mode.
func refRound(f *Format, x exact) (codes [5]uint64) {
	neg := x.neg && f.signed
	all := func(v uint64) [5]uint64 { return [5]uint64{v, v, v, v, v} }
	sign := uint64(0)
	if neg {
		sign = 1 << (f.expBits + f.manBits)
	}
	nan := uint64(1)<<(f.expBits+f.manBits) - 1
	if f.nan == nanIEEE {
		nan = nan >> (f.manBits - 1) << (f.manBits - 1)
	}
	maxMag := nan
	switch f.nan {
	case nanIEEE:
		maxMag = nan>>f.manBits<<f.manBits - 1
	case nanAllOnes:
		maxMag = nan - 1
	}
	over := maxMag + 1 // infinity, only used with ToInf, which has it
	if f.overflow == Saturate {
		over = maxMag
	}
	switch x.special {
	case notANumber:
		if f.nanToMax {
			return all(maxMag)
		}
		return all(nan)
	case infinite:
		return all(over | sign)
	}
	if x.num.Sign() == 0 {
		return all(sign)
	}
	abs := new(big.Int).Abs(x.num)
	minExp := 1 - f.bias
	if f.noZero {
		minExp = -f.bias
	}
	// e = floor(log2 |x|): one of two candidates by length.
	e := abs.BitLen() - x.den.BitLen()
	if cmpScaled(abs, x.den, e) < 0 {
		e--
	}
	e = max(e, minExp)
	// |x| = q * 2^(e-manBits) + rest
	unit := e - f.manBits
	num, den := new(big.Int).Set(abs), new(big.Int).Set(x.den)
	if unit >= 0 {
		den.Lsh(den, uint(unit))
	} else {
		num.Lsh(num, uint(-unit))
	}
	q, rest := new(big.Int).QuoRem(num, den, new(big.Int))
	half := rest.Lsh(rest, 1).Cmp(den) // compares the rest with one half
	exactly := rest.Sign() == 0
	for _, r := range roundings {
		v := new(big.Int).Set(q)
		var away bool
		switch r {
		case NearestEven:
			// Even means an even code. A format without mantissa bits has
			// the exponent as its code; below its smallest value, code -1.
			odd := v.Bit(0) == 1
			if f.manBits == 0 {
				odd = v.Sign() == 0 || (e+f.bias)%2 != 0
			}
			away = half > 0 || half == 0 && odd
		case NearestAway:
			away = half >= 0
		case TowardPositive:
			away = !exactly && !neg
		case TowardNegative:
			away = !exactly && neg
		}
		if away {
			v.Add(v, big.NewInt(1))
		}
		mag := refEncode(f, v, e)
		if mag > maxMag {
			mag = over
			if r == TowardZero || r == TowardPositive && neg || r == TowardNegative && !neg {
				mag = maxMag
			}
		}
		codes[r] = mag | sign
	}
	return codes
}

// cmpScaled compares a/b with 2^e.
func cmpScaled(a, b *big.Int, e int) int {
	if e >= 0 {
		return a.Cmp(new(big.Int).Lsh(b, uint(e)))
	}
	return new(big.Int).Lsh(a, uint(-e)).Cmp(b)
}

// refEncode writes v * 2^(e-manBits), 0 <= v <= 2^(manBits+1), as fields.
func refEncode(f *Format, v *big.Int, e int) uint64 {
	if v.BitLen() > f.manBits+1 {
		v, e = new(big.Int).Rsh(v, 1), e+1
	}
	m := v.Uint64()
	if m < 1<<f.manBits {
		return m // subnormal or zero
	}
	if e+f.bias >= 1<<f.expBits {
		return 1 << 63 // beyond every magnitude
	}
	return uint64(e+f.bias)<<f.manBits | (m - 1<<f.manBits)
}

func refNeg(x exact) exact {
	x.neg = !x.neg
	if x.num != nil {
		x.num = new(big.Int).Neg(x.num)
	}
	return x
}

func (x exact) isZero() bool { return x.special == finite && x.num.Sign() == 0 }

var refNaN = exact{special: notANumber}

// refAdd's zero sign depends on the mode, so it returns two results: for
// TowardNegative and for the others.
func refAdd(x, y exact) (other, down exact) {
	switch {
	case x.special == notANumber || y.special == notANumber:
		return refNaN, refNaN
	case x.special == infinite && y.special == infinite && x.neg != y.neg:
		return refNaN, refNaN
	case x.special == infinite:
		return x, x
	case y.special == infinite:
		return y, y
	}
	num := new(big.Int).Mul(x.num, y.den)
	num.Add(num, new(big.Int).Mul(y.num, x.den))
	s := exact{num: num, den: new(big.Int).Mul(x.den, y.den), special: finite, neg: num.Sign() < 0}
	if num.Sign() != 0 {
		return s, s
	}
	other, down = s, s
	other.neg = x.neg && y.neg && x.isZero() && y.isZero()
	down.neg = x.neg || y.neg || !x.isZero()
	if x.isZero() && y.isZero() && !x.neg && !y.neg {
		down.neg = false
	}
	return other, down
}

func refMul(x, y exact) exact {
	neg := x.neg != y.neg
	switch {
	case x.special == notANumber || y.special == notANumber,
		x.special == infinite && y.isZero(), y.special == infinite && x.isZero():
		return refNaN
	case x.special == infinite || y.special == infinite:
		return exact{special: infinite, neg: neg}
	}
	return exact{num: new(big.Int).Mul(x.num, y.num), den: new(big.Int).Mul(x.den, y.den), special: finite, neg: neg}
}

func refDiv(x, y exact) exact {
	neg := x.neg != y.neg
	switch {
	case x.special == notANumber || y.special == notANumber,
		x.special == infinite && y.special == infinite, x.isZero() && y.isZero():
		return refNaN
	case x.special == infinite || y.isZero():
		return exact{special: infinite, neg: neg}
	case y.special == infinite:
		return exact{num: big.NewInt(0), den: big.NewInt(1), special: finite, neg: neg}
	}
	num, den := new(big.Int).Mul(x.num, y.den), new(big.Int).Mul(x.den, y.num)
	if den.Sign() < 0 {
		num.Neg(num)
		den.Neg(den)
	}
	return exact{num: num, den: den, special: finite, neg: neg}
}

// refSqrt gives the root to 200 bits, and half a unit more when it is not exact.
func refSqrt(x exact) exact {
	switch {
	case x.special == notANumber, x.neg && !x.isZero():
		return refNaN
	case x.special == infinite, x.isZero():
		return x
	}
	const extra = 1400
	n := new(big.Int).Lsh(x.num, 2*extra)
	n.Mul(n, x.den) // sqrt(num/den) = sqrt(num*den)/den
	root := new(big.Int).Sqrt(n)
	exactly := new(big.Int).Mul(root, root).Cmp(n) == 0
	root.Lsh(root, 1)
	if !exactly {
		root.Add(root, big.NewInt(1))
	}
	return exact{num: root, den: new(big.Int).Lsh(x.den, extra+1), special: finite}
}

// check compares the results of one operation in every mode.
func check(t *testing.T, f *Format, what string, want [5]uint64, got func(Rounding) uint64) {
	t.Helper()
	for _, r := range roundings {
		if g := got(r); g != want[r] {
			t.Fatalf("%s %s rounded %s: got %#x, want %#x", f, what, r, g, want[r])
		}
	}
}
