package nvvm

import (
	"math"

	"github.com/llir/llvm/ir/enum"
)

// exp in f32 is the hardware's exp2 of what the multiples of ln 2 leave:
//
//	n = rint(x log2 e),  f = x log2 e - n by two fmas, the first exact,  2^n * ex2(f)
//
// n is held within the exponents of normal numbers, from -126 to 127, by an instruction that holds its result between 0 and 1; f takes what is
// beyond: ex2 of it overflows or vanishes by itself. In f64
// e^r = 1 + r + r^2 q(r) with r = x - n ln 2.
func (m real) exp(x reg) reg { return m.expDown(x, 0) }

// expDown is e^x / 2^down, which overflows that much later.
func (m real) expDown(x reg, down int) reg {
	if m.k == kF64 {
		n, i := m.nearest(x, m.bits(m.log2e))
		r := m.fma(n, m.fneg(m.bits(m.ln2)), x)
		low := m.fmul(n, m.fneg(m.bits(m.ln2low)))
		return m.expBounds(x, m.scale(m.expReduced(r, low), m.sub(i, i32(int64(down)))), 709.8+float64(down), -745.2)
	}
	e, _ := m.expLost(x, down)
	return e
}

// expLost is expDown in f32, and what its argument's rounding took from it.
func (m real) expLost(x reg, down int) (e, lost reg) {
	const least, span = -126, 253 // of n without down
	part := m.op1("fma.rn.sat.f32", x, m.num(math.Log2E/span), m.num(float64(-least-down)/span))
	magic := math.Ldexp(1.5, 23)
	t := m.fma(part, m.num(span), m.num(magic+float64(least+down)))
	n := m.fsub(t, m.num(magic))
	rest := m.num(math.Log2E - log2eShort)
	first := m.fma(x, m.num(log2eShort), m.fneg(n)) // exact
	f := m.fma(x, rest, first)
	e = m.op1("ex2.approx.ftz.f32", f)
	e = m.fmul(e, m.float(m.add(m.shl(m.raw(t), 23), i32(int64(127-down)<<23))))
	return e, m.fmul(e, m.fmul(m.fma(x, rest, m.fsub(first, f)), m.bits(m.ln2)))
}

// log2eShort is log2 e in 5 bits, so that its product with an f32 is exact.
const log2eShort = 1.4375

// expReduced is e^(r + low) for |r| <= ln 2 / 2.
func (m real) expReduced(r, low reg) reg { return m.fadd(m.num(1), m.expTail(r, low)) }

// expTail is e^(r + low) - 1. First the sum of both is rounded to r; the rest of low is small enough to be added.
func (m real) expTail(r, low reg) reg {
	sum := m.fadd(r, low)
	rest := m.fsub(low, m.fsub(sum, r))
	return m.fadd(sum, m.fma(m.fmul(sum, sum), m.poly(sum, m.expq), rest))
}

// expBounds replaces what lies beyond the range; NaN stays.
func (m real) expBounds(x, y reg, high, low float64) reg {
	y = m.sel(m.less(m.num(high), x), m.infinity(), y)
	return m.sel(m.less(x, m.num(low)), m.num(0), y)
}

func (m real) exp2(x reg, ftz string) reg {
	if m.k == kF32 {
		return m.op1("ex2.approx"+ftz+".f32", x)
	}
	n, i := m.nearest(x, m.num(1))
	f := m.fsub(x, n)
	r := m.fmul(f, m.bits(m.ln2))
	low := m.fma(f, m.bits(m.ln2low), m.fma(f, m.bits(m.ln2), m.fneg(r)))
	return m.expBounds(x, m.scale(m.expReduced(r, low), i), 1024, -1080)
}

// sinh: x + x^3 S(x^2) near 0; else E - 1/(4E) with E = e^|x| / 2, which overflows where sinh does.
func (m real) sinh(x reg) reg {
	a := m.fabs(x)
	z := m.fmul(x, x)
	small := m.fma(m.fmul(x, z), m.poly(z, m.sinhS), x)
	var big reg
	if m.k == kF32 {
		e, lost := m.expLost(a, 1)
		big = m.fsub(e, m.fsub(m.fdiv(m.num(0.25), e), lost))
		big = m.sel(m.less(a, m.num(20)), big, e) // lost is no number where e is infinite
	} else {
		e := m.expDown(a, 1)
		big = m.fsub(e, m.fdiv(m.num(0.25), e))
		big = m.sel(m.equal(a, m.infinity()), a, big)
	}
	near := m.num(map[kind]float64{kF32: 1.5, kF64: 1}[m.k])
	return m.sel(m.less(a, near), small, m.sel(m.isNaN(x, x), x, m.withSign(big, x)))
}

func (m real) cosh(x reg) reg {
	e := m.expDown(m.fabs(x), 1)
	return m.fadd(e, m.fdiv(m.num(0.25), e))
}

// tanh: x + x^3 T(x^2) near 0, else 1 - 2 / (e^2x + 1), which is 1 from where the quotient is less than half a last place.
func (m real) tanh(x reg) reg {
	a := m.fabs(x)
	z := m.fmul(x, x)
	small := m.fma(m.fmul(a, z), m.poly(z, m.tanhT), a)
	near := 0.55
	var big reg
	if m.k == kF32 {
		// A quarter of e^2x: its exponent is near 0 where its rounding counts most. What the hardware rounds is at most half of the result.
		near = 0.57
		quarter := m.op1("ex2.approx.ftz.f32", m.fma(a, m.num(2*math.Log2E), m.num(-2)))
		big = m.fma(m.op1("rcp.approx.ftz.f32", m.fadd(quarter, m.num(0.25))), m.num(-0.5), m.num(1))
	} else {
		big = m.sel(m.less(m.num(19.1), a), m.num(1), m.tanhBig(a))
	}
	return m.withSign(m.sel(m.less(a, m.num(near)), small, big), x)
}

// tanhBig is 1 - 2/d with d = e^2a + 1 in two parts, for 0.55 <= a < 20: the quotient q with what its rounding and d's lower part
// lost, so that only the last subtraction rounds.
func (m real) tanhBig(a reg) reg {
	e, elow := m.expPair(m.fadd(a, a))
	d := m.fadd(e, m.num(1))
	dlow := m.fadd(m.fsub(m.num(1), m.fsub(d, e)), elow) // e > 1
	q := m.fdiv(m.num(2), d)
	rest := m.fma(m.fneg(q), dlow, m.fma(m.fneg(q), d, m.num(2)))
	qlow := m.fmul(m.fmul(rest, q), m.num(0.5)) // rest / d
	t := m.fsub(m.num(1), q)
	return m.fadd(t, m.fsub(m.fsub(m.fsub(m.num(1), t), q), qlow))
}

// expPair is e^x as a sum of two for moderate x, by the f64 recipe.
func (m real) expPair(x reg) (high, low reg) {
	n, i := m.nearest(x, m.bits(m.log2e))
	r := m.fma(n, m.fneg(m.bits(m.ln2)), x)
	one, rest := m.num(1), m.expTail(r, m.fmul(n, m.fneg(m.bits(m.ln2low))))
	sum := m.fadd(one, rest)
	low = m.fadd(rest, m.fsub(one, sum))
	p := m.powerOfTwo(i)
	return m.fmul(sum, p), m.fmul(low, p)
}

// split takes a positive number apart: x = mant * 2^e with mant from the number with bits first up to twice that. Numbers below the
// normal range are scaled first, unless normal says that there are none. e is an i32.
func (m real) split(x reg, first uint64, normal bool) (mant, e reg) {
	if !normal {
		tiny, up := m.less(x, m.num(math.Ldexp(1, 1-m.bias()))), m.mantissa()+1
		mant, e = m.split(m.sel(tiny, m.fmul(x, m.num(math.Ldexp(1, up))), x), first, true)
		return mant, m.sub(e, m.sel(tiny, i32(int64(up)), i32(0)))
	}
	bits := m.raw(x)
	exponent := m.ashr(m.sub(bits, con(bits.k, first)), m.mantissa())
	mant = m.float(m.sub(bits, m.shl(exponent, m.mantissa())))
	return mant, m.trunc(exponent, kI32)
}

// logParts is ln of the mantissa and the exponent as a float, for f32 as f + f^2 (f q(f) - 1/2) of f = mant - 1.
func (m real) logParts(x reg, normal bool) (ln, k reg) {
	mant, e := m.split(x, m.logFirst, normal)
	k = m.op1("cvt.rn."+floatSuffix[m.k]+".s32", e)
	f := m.fsub(mant, m.num(1))
	if m.k == kF32 {
		q := m.poly(f, m.logq)
		return m.fma(m.fma(q, f, m.num(-0.5)), m.fmul(f, f), f), k
	}
	// f64: with s = f/(2+f), ln(1+f) = f - (f^2/2 - s (f^2/2 + s^2 R(s^2))).
	s := m.fdiv(f, m.fadd(f, m.num(2)))
	z := m.fmul(s, s)
	half := m.fmul(m.fmul(f, f), m.num(0.5))
	r := m.fmul(z, m.poly(z, m.logq))
	return m.fsub(f, m.fsub(half, m.fmul(s, m.fadd(half, r)))), k
}

// logSpecial replaces the logarithm of what is not a positive number. In f32 one comparison finds it: by bits, less 1, as unsigned numbers, positive ones come first.
// The hardware's approximation is exact for the others.
func (m real) logSpecial(x, y reg) reg {
	if m.k == kF32 {
		positive := m.icmp(enum.IPredULT, m.sub(m.raw(x), i32(1)), i32(0x7F7FFFFF))
		return m.sel(positive, y, m.op1("lg2.approx.f32", x))
	}
	y = m.sel(m.equal(x, m.infinity()), x, y)
	y = m.sel(m.equal(x, m.num(0)), m.num(math.Inf(-1)), y)
	return m.sel(m.fcmp(enum.FPredULT, x, m.num(0)), m.nan(), y) // NaN too
}

func (m real) log(x reg, normal bool) reg {
	ln, k := m.logParts(x, normal)
	if m.k == kF32 {
		return m.logSpecial(x, m.fma(k, m.bits(m.ln2), ln))
	}
	return m.logSpecial(x, m.fadd(m.fma(k, m.bits(m.ln2), m.fmul(k, m.bits(m.ln2low))), ln))
}

// log2 = ln * log2 e + k, the product with its error, so that nothing is lost where k is 0.
func (m real) log2(x reg, normal bool) reg {
	ln, k := m.logParts(x, normal)
	log2e := m.bits(m.log2e)
	p := m.fmul(ln, log2e)
	low := m.fma(ln, m.bits(m.log2eLow), m.fma(ln, log2e, m.fneg(p)))
	s := m.fadd(k, p)
	return m.logSpecial(x, m.fadd(s, m.fadd(m.fsub(p, m.fsub(s, k)), low)))
}

// log2Pair is log2 of a positive number as a sum of two: with s = (mant-1)/(mant+1) and its error, ln mant = 2s + s^3 R(s^2).
func (m real) log2Pair(x reg) (high, low reg) {
	mant, e := m.split(x, m.sqrtHalf, false)
	k := m.op1("cvt.rn."+floatSuffix[m.k]+".s32", e)
	d := m.fadd(mant, m.num(1))
	dlow := m.fsub(mant, m.fsub(d, m.num(1)))
	n := m.fsub(mant, m.num(1))
	inv := m.fdiv(m.num(1), d)
	s := m.fmul(n, inv)
	rest := m.fma(m.fneg(s), dlow, m.fma(m.fneg(s), d, n))
	slow := m.fmul(rest, inv)
	z := m.fmul(s, s)
	l := m.fadd(s, s)
	llow := m.fadd(slow, slow)
	// The term in s^3 needs more bits than the kind has: (2/3) s^3 as a product of pairs.
	zlow := m.fma(s, s, m.fneg(z))
	zlow = m.fma(m.fadd(s, s), slow, zlow)
	c := m.fmul(s, z)
	clow := m.fma(s, z, m.fneg(c))
	clow = m.fma(s, zlow, m.fma(slow, z, clow))
	two3 := m.bits(m.twoThirds)
	t := m.fmul(c, two3)
	tlow := m.fma(c, m.bits(m.twoThirdsLow), m.fma(c, two3, m.fneg(t)))
	tlow = m.fma(clow, two3, tlow)
	tlow = m.fma(m.fmul(c, z), m.poly(z, m.powR), tlow)
	sum := m.fadd(l, t)
	llow = m.fadd(m.fadd(m.fsub(t, m.fsub(sum, l)), tlow), llow)
	l = sum
	log2e := m.bits(m.log2e)
	p := m.fmul(l, log2e)
	plow := m.fma(l, m.bits(m.log2eLow), m.fma(l, log2e, m.fneg(p)))
	plow = m.fma(llow, log2e, plow)
	high = m.fadd(k, p)
	return high, m.fadd(m.fsub(p, m.fsub(high, k)), plow)
}

// pow is 2^(y log2 |x|) with the product in two parts. An infinite or zero |x| has an infinite logarithm, and the rest follows;
// infinite powers saturate.
func (m real) pow(x, y reg) reg { return m.powPair(x, y, m.num(0)) }

// powPair is x^(y + ylow), where ylow is what y was rounded by: it counts only as far as it changes the product.
func (m real) powPair(x, y, ylow reg) reg {
	a := m.fabs(x)
	high, low := m.log2Pair(a)
	inf := m.infinity()
	high = m.sel(m.equal(a, m.num(0)), m.fneg(inf), m.sel(m.equal(a, inf), inf, high))
	t := m.fmul(y, high)
	tlow := m.fma(y, low, m.fma(y, high, m.fneg(t)))
	if !ylow.is(0) {
		tlow = m.fma(ylow, high, tlow)
	}
	limit := m.num(map[kind]float64{kF32: 200, kF64: 1200}[m.k])
	tlow = m.sel(m.less(m.fabs(t), limit), tlow, m.num(0))
	t = m.min(m.max(t, m.fneg(limit)), limit)
	n, i := m.nearest(m.fadd(t, tlow), m.num(1)) // the second part is as much as 1/5 where y is large
	f := m.fadd(m.fsub(t, n), tlow)
	var e reg
	if m.k == kF32 {
		e = m.poly(f, m.exp2p)
	} else {
		r := m.fmul(f, m.bits(m.ln2))
		e = m.expReduced(r, m.fma(f, m.bits(m.ln2low), m.fma(f, m.bits(m.ln2), m.fneg(r))))
	}
	p := m.scale(e, i)

	// Negative x: an integer power has a sign, another is not real.
	whole := m.equal(m.roundTo("rzi", y), y)
	halved := m.fmul(y, m.num(0.5))
	odd := m.and(whole, m.not(m.equal(m.roundTo("rzi", halved), halved)))
	p = m.sel(odd, m.withSign(p, x), p)
	negative := m.and(m.less(x, m.num(0)), m.not(m.equal(a, inf)))
	p = m.sel(m.and(negative, m.not(whole)), m.nan(), p)
	p = m.sel(m.isNaN(x, y), m.nan(), p)
	one := m.or(m.equal(y, m.num(0)), m.equal(x, m.num(1)))
	one = m.or(one, m.and(m.equal(x, m.num(-1)), m.equal(m.fabs(y), inf)))
	return m.sel(one, m.num(1), p)
}
