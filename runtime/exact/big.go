package exact

import (
	"math"
	"math/big"
	"sync"
)

func flt(p uint) *big.Float           { return new(big.Float).SetPrec(p) }
func of(x float64, p uint) *big.Float { return flt(p).SetFloat64(x) }

func add(p uint, x, y *big.Float) *big.Float { return flt(p).Add(x, y) }
func sub(p uint, x, y *big.Float) *big.Float { return flt(p).Sub(x, y) }
func mul(p uint, x, y *big.Float) *big.Float { return flt(p).Mul(x, y) }
func quo(p uint, x, y *big.Float) *big.Float { return flt(p).Quo(x, y) }

// times is x * 2^n.
func times(x *big.Float, n int) *big.Float { return flt(x.Prec()).SetMantExp(x, n) }

// vanished reports whether term is below the last of p bits of sum.
func vanished(term, sum *big.Float, p uint) bool {
	return term.Sign() == 0 || sum.Sign() != 0 && term.MantExp(nil) < sum.MantExp(nil)-int(p)
}

// constant is a number that is computed with as many bits as were ever asked for.
type constant struct {
	sync.Mutex
	compute func(p uint) *big.Float
	known   *big.Float
}

func (c *constant) get(p uint) *big.Float {
	c.Lock()
	defer c.Unlock()
	if c.known == nil || c.known.Prec() < p+32 {
		c.known = c.compute(max(p, 1024) + 32)
	}
	return c.known
}

var (
	ln2 = &constant{compute: func(p uint) *big.Float { return times(atanhOfInverse(3, p+32), 1) }}
	// Machin: pi = 16 atan(1/5) - 4 atan(1/239).
	pi = &constant{compute: func(p uint) *big.Float {
		q := p + 32
		return sub(q, times(atanOfInverse(5, q), 4), times(atanOfInverse(239, q), 2))
	}}
)

func atanhOfInverse(n float64, p uint) *big.Float { return inverseSeries(n, 1, p) }
func atanOfInverse(n float64, p uint) *big.Float  { return inverseSeries(n, -1, p) }

// inverseSeries is the sum of sign^k / ((2k+1) n^(2k+1)).
func inverseSeries(n, sign float64, p uint) *big.Float {
	power := quo(p, of(1, p), of(n, p))
	square := of(n*n*sign, p)
	sum := flt(p).Set(power)
	for k := 3.0; ; k += 2 {
		power = quo(p, power, square)
		term := quo(p, power, of(k, p))
		if vanished(term, sum, p) {
			return sum
		}
		sum = add(p, sum, term)
	}
}

// expSmall is e^r for |r| < 1: the series at r / 2^h, squared h times.
func expSmall(r *big.Float, p uint) *big.Float {
	h := int(math.Sqrt(float64(p))) / 2
	p += uint(2*h) + 8
	s := times(flt(p).Set(r), -h)
	sum, term := of(1, p), of(1, p)
	for k := 1.0; ; k++ {
		term = quo(p, mul(p, term, s), of(k, p))
		if vanished(term, sum, p) {
			break
		}
		sum = add(p, sum, term)
	}
	for range h {
		sum = mul(p, sum, sum)
	}
	return sum
}

// beyond is far more than any exponent of f64.
const beyond = 1 << 14

// exp is e^x.
func exp(x *big.Float, p uint) *big.Float {
	if x.Sign() != 0 && x.MantExp(nil) > 13 { // |x| > 4096: past every range
		if x.Sign() > 0 {
			return times(of(1, p), beyond)
		}
		return times(of(1, p), -beyond)
	}
	q := p + 32
	n, _ := quo(64, x, ln2.get(64)).Float64()
	n = math.RoundToEven(n)
	r := sub(q, x, mul(q, of(n, q), ln2.get(q)))
	return times(expSmall(r, p), int(n))
}

// log is ln x for a positive x: that of the exponent, and 2 atanh((m-1)/(m+1)) of the mantissa.
func log(x *big.Float, p uint) *big.Float {
	q := p + 32
	m := flt(max(q, x.Prec()))
	e := x.MantExp(m)
	if m.Cmp(big.NewFloat(math.Sqrt2/2)) < 0 {
		m, e = times(m, 1), e-1
	}
	one := of(1, m.Prec())
	wide := m.Prec() + 2
	s := quo(q, sub(wide, m, one), add(wide, m, one))
	sum := oddSeries(s, q, func(k float64) float64 { return k }, 1)
	sum = times(sum, 1)
	if e != 0 {
		sum = add(q, sum, mul(q, of(float64(e), q), ln2.get(q)))
	}
	return sum
}

// oddSeries is the sum of sign^k s^(2k+1) / divisor(2k+1).
func oddSeries(s *big.Float, p uint, divisor func(k float64) float64, sign float64) *big.Float {
	if s.Sign() == 0 {
		return flt(p)
	}
	z := mul(p, s, s)
	if sign < 0 {
		z.Neg(z)
	}
	power, sum := flt(p).Set(s), flt(p).Set(s)
	for k := 3.0; ; k += 2 {
		power = mul(p, power, z)
		term := quo(p, power, of(divisor(k), p))
		if vanished(term, sum, p) {
			return sum
		}
		sum = add(p, sum, term)
	}
}

// factorial is the sum of sign^k s^(2k+first) / (2k+first)! for first 0 (cosine) or 1 (sine).
func factorial(s *big.Float, p uint, first, sign float64) *big.Float {
	z := mul(p, s, s)
	if sign < 0 {
		z.Neg(z)
	}
	term := of(1, p)
	if first == 1 {
		term = flt(p).Set(s)
	}
	sum := flt(p).Set(term)
	for k := first + 1; ; k += 2 {
		term = quo(p, mul(p, term, z), of(k*(k+1), p))
		if vanished(term, sum, p) {
			return sum
		}
		sum = add(p, sum, term)
	}
}

// quadrant is x - n pi/2 with |r| <= pi/4, and n modulo 4.
func quadrant(x float64, p uint) (r *big.Float, n int64) {
	// No f64 comes closer to a multiple of pi/2 than 2^-62.
	q := p + 96 + uint(max(math.Ilogb(x), 0))
	half := times(pi.get(q), -1)
	turns := quo(q, of(x, q), half)
	whole, _ := add(q, turns, of(math.Copysign(0.5, x), q)).Int(nil)
	r = sub(q, of(x, q), mul(q, flt(q).SetInt(whole), half))
	return r, new(big.Int).And(whole, big.NewInt(3)).Int64()
}

// sincos is the sine of x + quarter*pi/2.
func sincos(x float64, quarter int64, p uint) *big.Float {
	r, n := quadrant(x, p)
	n += quarter
	var v *big.Float
	if n&1 == 0 {
		v = factorial(r, p+32, 1, -1)
	} else {
		v = factorial(r, p+32, 0, -1)
	}
	if n&2 != 0 {
		v.Neg(v)
	}
	return v
}

// atan is the arc tangent of a positive q, halved until its series is fast.
func atan(q *big.Float, p uint) *big.Float {
	w := p + 64
	one := of(1, w)
	if q.Cmp(one) > 0 {
		return sub(w, times(pi.get(w), -1), atan(quo(w, one, q), p))
	}
	halvings := 0
	for ; q.Sign() != 0 && q.MantExp(nil) > -6; halvings++ {
		root := flt(w).Sqrt(add(w, one, mul(w, q, q)))
		q = quo(w, q, add(w, one, root))
	}
	return times(oddSeries(q, w, func(k float64) float64 { return k }, -1), halvings)
}
