package exact

import (
	"math"
	"math/big"
	"sync"
)

func newFloat(p uint) *big.Float               { return new(big.Float).SetPrec(p) }
func fromFloat64(x float64, p uint) *big.Float { return newFloat(p).SetFloat64(x) }

func add(p uint, x, y *big.Float) *big.Float { return newFloat(p).Add(x, y) }
func sub(p uint, x, y *big.Float) *big.Float { return newFloat(p).Sub(x, y) }
func mul(p uint, x, y *big.Float) *big.Float { return newFloat(p).Mul(x, y) }
func quo(p uint, x, y *big.Float) *big.Float { return newFloat(p).Quo(x, y) }

// scaleByPow2 is x * 2^n.
func scaleByPow2(x *big.Float, n int) *big.Float { return newFloat(x.Prec()).SetMantExp(x, n) }

// series is 1 + z/d(1) + z^2/d(2) + ... for |z| < 1 in fixed point, with p bits after it; growing says that every term is divided by all d
// up to its own, as factorials are. The d are small.
func series(z *big.Float, p uint, growing bool, d func(k int64) int64) *big.Float {
	fixed := func(x *big.Float) *big.Int {
		i, _ := scaleByPow2(newFloat(max(x.Prec(), p)).Set(x), int(p)).Int(nil)
		return i
	}
	f, one := fixed(z), new(big.Int).Lsh(big.NewInt(1), p)
	sum, power, term, by := new(big.Int).Set(one), one, new(big.Int), new(big.Int)
	for k := int64(1); ; k++ {
		power.Mul(power, f).Rsh(power, p)
		by.SetInt64(d(k))
		term.Quo(power, by)
		if growing {
			power.Set(term)
		}
		if term.CmpAbs(big.NewInt(1)) <= 0 {
			break
		}
		sum.Add(sum, term)
	}
	return scaleByPow2(newFloat(p+2).SetInt(sum), -int(p))
}

// lazyConstant is a constant that is computed to the highest precision asked for so far.
type lazyConstant struct {
	sync.Mutex
	compute func(p uint) *big.Float
	known   *big.Float
}

func (c *lazyConstant) get(p uint) *big.Float {
	c.Lock()
	defer c.Unlock()
	if c.known == nil || c.known.Prec() < p+32 {
		c.known = c.compute(max(p, 1024) + 32)
	}
	return c.known
}

var (
	ln2 = &lazyConstant{compute: func(p uint) *big.Float { return scaleByPow2(atanhOfInverse(3, p+32), 1) }}
	// Machin: pi = 16 atan(1/5) - 4 atan(1/239).
	pi = &lazyConstant{compute: func(p uint) *big.Float {
		q := p + 32
		return sub(q, scaleByPow2(atanOfInverse(5, q), 4), scaleByPow2(atanOfInverse(239, q), 2))
	}}
)

func atanhOfInverse(n float64, p uint) *big.Float { return inverseSeries(n, 1, p) }
func atanOfInverse(n float64, p uint) *big.Float  { return inverseSeries(n, -1, p) }

// inverseSeries is the sum of sign^k / ((2k+1) n^(2k+1)).
func inverseSeries(n, sign float64, p uint) *big.Float {
	return oddSeries(quo(p, fromFloat64(1, p), fromFloat64(n, p)), sign, p, func(k int64) int64 { return 2*k + 1 }, false)
}

// oddSeries is s times the series in sign*s^2.
func oddSeries(s *big.Float, sign float64, p uint, d func(k int64) int64, growing bool) *big.Float {
	z := mul(p, s, s)
	if sign < 0 {
		z.Neg(z)
	}
	return mul(p, s, series(z, p+8, growing, d))
}

// expSmall is e^r for |r| < 1: the series at r / 2^h, squared h times.
func expSmall(r *big.Float, p uint) *big.Float {
	h := int(math.Sqrt(float64(p))) / 2
	p += uint(2*h) + 8
	sum := series(scaleByPow2(newFloat(p).Set(r), -h), p, true, func(k int64) int64 { return k })
	for range h {
		sum = mul(p, sum, sum)
	}
	return sum
}

// saturatingExponent is far beyond any exponent of f64.
const saturatingExponent = 1 << 14

// exp is e^x.
func exp(x *big.Float, p uint) *big.Float {
	if x.Sign() != 0 && x.MantExp(nil) > 13 { // |x| > 4096: past every range
		if x.Sign() > 0 {
			return scaleByPow2(fromFloat64(1, p), saturatingExponent)
		}
		return scaleByPow2(fromFloat64(1, p), -saturatingExponent)
	}
	q := p + 32
	n, _ := quo(64, x, ln2.get(64)).Float64()
	n = math.RoundToEven(n)
	r := sub(q, x, mul(q, fromFloat64(n, q), ln2.get(q)))
	return scaleByPow2(expSmall(r, p), int(n))
}

// log is ln x for a positive x: that of the exponent, and 2 atanh((m-1)/(m+1)) of the mantissa.
func log(x *big.Float, p uint) *big.Float {
	q := p + 32
	m := newFloat(max(q, x.Prec()))
	e := x.MantExp(m)
	if m.Cmp(big.NewFloat(math.Sqrt2/2)) < 0 {
		m, e = scaleByPow2(m, 1), e-1
	}
	one := fromFloat64(1, m.Prec())
	wide := m.Prec() + 2
	s := quo(q, sub(wide, m, one), add(wide, m, one))
	sum := scaleByPow2(oddSeries(s, 1, q, func(k int64) int64 { return 2*k + 1 }, false), 1)
	if e != 0 {
		sum = add(q, sum, mul(q, fromFloat64(float64(e), q), ln2.get(q)))
	}
	return sum
}

// sine is the sum of sign^k s^(2k+1) / (2k+1)!, cosine that of sign^k s^2k / (2k)!, for |s| < 1; hyperbolic ones have sign 1.
func sine(s *big.Float, sign float64, p uint) *big.Float {
	return oddSeries(s, sign, p, func(k int64) int64 { return 2 * k * (2*k + 1) }, true)
}

func cosine(s *big.Float, sign float64, p uint) *big.Float {
	z := mul(p, s, s)
	if sign < 0 {
		z.Neg(z)
	}
	return series(z, p+8, true, func(k int64) int64 { return 2 * k * (2*k - 1) })
}

// reduceByHalfPi is the argument reduction: r = x - n pi/2 with |r| <= pi/4, and n modulo 4.
func reduceByHalfPi(x float64, p uint) (r *big.Float, n int64) {
	// No f64 comes closer to a multiple of pi/2 than 2^-62.
	q := p + 96 + uint(max(math.Ilogb(x), 0))
	half := scaleByPow2(pi.get(q), -1)
	turns := quo(q, fromFloat64(x, q), half)
	whole, _ := add(q, turns, fromFloat64(math.Copysign(0.5, x), q)).Int(nil)
	r = sub(q, fromFloat64(x, q), mul(q, newFloat(q).SetInt(whole), half))
	return r, new(big.Int).And(whole, big.NewInt(3)).Int64()
}

// sincos is the sine of x + quarter*pi/2.
func sincos(x float64, quarter int64, p uint) *big.Float {
	r, n := reduceByHalfPi(x, p)
	n += quarter
	var v *big.Float
	if n&1 == 0 {
		v = sine(r, -1, p+32)
	} else {
		v = cosine(r, -1, p+32)
	}
	if n&2 != 0 {
		v.Neg(v)
	}
	return v
}

// atan is the arc tangent of a positive q, halved until its series is fast.
func atan(q *big.Float, p uint) *big.Float {
	w := p + 64
	one := fromFloat64(1, w)
	if q.Cmp(one) > 0 {
		return sub(w, scaleByPow2(pi.get(w), -1), atan(quo(w, one, q), p))
	}
	halvings := 0
	for ; q.Sign() != 0 && q.MantExp(nil) > -6; halvings++ {
		root := newFloat(w).Sqrt(add(w, one, mul(w, q, q)))
		q = quo(w, q, add(w, one, root))
	}
	return scaleByPow2(oddSeries(q, -1, w, func(k int64) int64 { return 2*k + 1 }, false), halvings)
}
