package nvvm

import "encoding/binary"

// sincos is sine and cosine of x, each only if wanted. x = n pi/2 + r with |r| <= pi/4; the quadrant n mod 4 exchanges and negates.
func (m real) sincos(x reg, sine, cosine bool) (s, c reg) {
	r, low, n := m.reduceAngle(x, false)
	sinR, _, cosR, _ := m.sincosReduced(r, low)
	swap := m.icmp(ne, m.and(n, i32(1)), i32(0))
	flip := func(v, quadrant reg) reg {
		return m.sel(m.icmp(ne, m.and(quadrant, i32(2)), i32(0)), m.fneg(v), v)
	}
	if sine {
		s = m.sel(m.equal(x, m.num(0)), x, flip(m.sel(swap, cosR, sinR), n)) // the sums lose the sign of -0
	}
	if cosine {
		c = flip(m.sel(swap, sinR, cosR), m.add(n, i32(1)))
	}
	return s, c
}

// sincosReduced is sine and cosine of r + low with |r| <= pi/4; in f64 with what their last additions lost.
func (m real) sincosReduced(r, low reg) (s, slow, c, clow reg) {
	z := m.fmul(r, r)
	if m.k == kF32 {
		s = m.fma(m.fmul(r, z), m.poly(z, m.sinS), r)
		c = m.fma(m.fmul(z, z), m.poly(z, m.cosC), m.fma(z, m.num(-0.5), m.num(1)))
		return s, reg{}, c, reg{}
	}
	// sin(r + low) = sin r + low (1 - z/2), cos(r + low) = cos r - low r; 1 - z/2 with its error.
	half := m.fmul(z, m.num(0.5))
	w := m.fsub(m.num(1), half)
	rest := m.fma(m.fmul(r, z), m.poly(z, m.sinS), m.fmul(low, w))
	s = m.fadd(r, rest)
	slow = m.fsub(rest, m.fsub(s, r))
	rest = m.fsub(m.fsub(m.num(1), w), half)
	rest = m.fadd(rest, m.fma(m.fmul(z, z), m.poly(z, m.cosC), m.fneg(m.fmul(r, low))))
	c = m.fadd(w, rest)
	return s, slow, c, m.fsub(rest, m.fsub(c, w))
}

// tan is the quotient of both: in f64 of the pairs, so that the last rounding is the only one of weight; in f32 with what the angle lost.
func (m real) tan(x reg) reg {
	r, low, n := m.reduceAngle(x, true)
	s, slow, c, clow := m.sincosReduced(r, low)
	swap := m.icmp(ne, m.and(n, i32(1)), i32(0)) // tan(r + pi/2) = -cos r / sin r
	if m.k == kF32 {
		q := m.fdiv(m.sel(swap, m.fneg(c), s), m.sel(swap, s, c))
		return m.sel(m.equal(x, m.num(0)), x, m.fma(low, m.fma(q, q, m.num(1)), q)) // the derivative is 1 + tan^2
	}
	num, numLow := m.sel(swap, m.fneg(c), s), m.sel(swap, m.fneg(clow), slow)
	den, denLow := m.sel(swap, s, c), m.sel(swap, slow, clow)
	q := m.fdiv(num, den)
	lost := m.fadd(m.fma(m.fneg(q), den, num), m.fma(m.fneg(q), denLow, numLow))
	fixed := m.fadd(q, m.fdiv(lost, den))
	fixed = m.sel(m.less(m.fabs(num), m.num(0x1p-900)), q, fixed) // the remainder of small quotients vanishes
	return m.sel(m.equal(x, m.num(0)), x, fixed)
}

// reduceAngle subtracts the nearest multiple of pi/2, which is given in three parts; angles beyond the reach of that take the slow way
// of Payne and Hanek ("Radian reduction for trigonometric functions"), in a branch of its own. Infinite and NaN angles give NaN.
// low is what r lost; in f32 it is 0 unless asked for.
func (m real) reduceAngle(x reg, pair bool) (r, low, n reg) {
	n2, i := m.nearest(x, m.bits(m.twoOverPi))
	p := m.pio2
	r = m.fma(n2, m.fneg(m.bits(p[0])), x)
	low = m.num(0)
	if m.k == kF32 && !pair {
		r = m.fma(n2, m.fneg(m.bits(p[1])), r)
		r = m.fma(n2, m.fneg(m.bits(p[2])), r)
	} else {
		w := m.fmul(n2, m.bits(p[1]))
		wlow := m.fma(n2, m.bits(p[1]), m.fneg(w))
		v := m.fsub(r, w)
		low = m.fsub(m.fsub(m.fsub(r, v), w), wlow)
		low = m.fma(n2, m.fneg(m.bits(p[2])), low)
		r = v
	}
	far := m.not(m.less(m.fabs(x), m.bits(m.angleLimit)))
	out := m.ifThen(far, []reg{r, low, i}, func() []reg {
		var r, low, n reg
		if m.k == kF32 {
			r, low, n = m.payneHanek32(x)
		} else {
			r, low, n = m.payneHanek64(x)
		}
		bad := m.not(m.less(m.fabs(x), m.infinity()))
		return []reg{m.sel(bad, m.nan(), r), low, n}
	})
	return out[0], out[1], out[2]
}

// inverseTau is the first 1280 bits of 1/(2 pi).
var inverseTau = []uint64{
	0x28BE60DB9391054A, 0x7F09D5F47D4D3770, 0x36D8A5664F10E410, 0x7F9458EAF7AEF158, 0x6DC91B8E909374B8,
	0x01924BBA82746487, 0x3F877AC72C4A69CF, 0xBA208D7D4BAED121, 0x3A671C09AD17DF90, 0x4E64758E60D4CE7D,
	0x272117E2EF7E4A0E, 0xC7FE25FFF7816603, 0xFBCBC462D6829B47, 0xDB4D9FB3C9F2C26D, 0xD3D18FD9A797FA8B,
	0x5D49EEB1FAF97C5E, 0xCF41CE7DE294A4BA, 0x9AFED7EC47E35742, 0x1580CC11BF1EDAEA, 0xFC33EF0826BD0D87,
}

// digits is a table of 1/(2 pi) in words of n bytes, after a word of zeros.
func digits(n int) []byte {
	out := make([]byte, n)
	for _, w := range inverseTau {
		if n == 8 {
			out = binary.LittleEndian.AppendUint64(out, w)
			continue
		}
		out = binary.LittleEndian.AppendUint32(out, uint32(w>>32))
		out = binary.LittleEndian.AppendUint32(out, uint32(w))
	}
	return out
}

// window is four words of 1/(2 pi) from the bit that weighs 2^e on, the first word holding the integer bits below it, shifted
// so that x/(2 pi) = mantissa * window: whole turns fall out at the top.
func (m real) window(e reg, width int) []reg {
	k := kI32
	log := 5
	if width == 64 {
		k, log = kI64, 6
	}
	table := m.constantData(digits(width/8), width/8)
	at := m.add(table, m.zext(m.mul(m.lshr(e, log), i32(int64(width/8))), kI64))
	s := m.and(e, i32(int64(width-1)))
	words := make([]reg, 4)
	for i := range words {
		words[i] = m.op1("ld.global.nc."+memoryType(k), at, i32(int64(i*width/8)))
	}
	out := make([]reg, 3)
	for i := range out {
		// PTX shifts by the width give 0, so a shift of 0 needs no case of its own.
		left := m.shift("shl", words[i], s, false)
		right := m.shift("shr", words[i+1], m.sub(i32(int64(width)), s), false)
		out[i] = m.or(left, right)
	}
	return out
}

// payneHanek32: p holds the fraction of a turn in 64 bits; the top two are the quadrant, the rest, read as signed, is r.
func (m real) payneHanek32(x reg) (r, low, n reg) {
	bits := m.raw(x)
	mant := m.or(m.shl(bits, 8), con(kI32, 0x80000000))
	e := m.sub(m.and(m.lshr(bits, 23), i32(0xFF)), i32(126))
	e = m.minmax(e, i32(128), true, false)
	w := m.window(e, 32)
	wide := m.zext(mant, kI64)
	p := m.mul(wide, m.zext(w[2], kI64))
	p = m.add(m.mul(wide, m.zext(w[1], kI64)), m.lshr(p, 32))
	p = m.add(m.shl(m.zext(m.mul(mant, w[0]), kI64), 32), p)
	// Round to the nearest quadrant: add half of one, take the top two bits, keep the signed rest.
	n = m.trunc(m.lshr(m.add(p, con(kI64, 1<<61)), 62), kI32)
	rest := m.sub(p, m.shl(m.zext(n, kI64), 62))
	d := m.op1("cvt.rn.f64.s64", rest)
	d = m.fmul(d, f64(0x3C1921FB54442D18)) // pi/2 * 2^-62
	r = m.op1("cvt.rn.f32.f64", d)
	low = m.op1("cvt.rn.f32.f64", m.fsub(d, m.op1("cvt.f64.f32", r)))
	negative := m.icmp(slt, bits, i32(0))
	return m.sel(negative, m.fneg(r), r), m.sel(negative, m.fneg(low), low), m.sel(negative, m.neg(n), n)
}

// payneHanek64 is the same in 128 bits; the rest is normalised and becomes a pair, then times pi/2 in two parts.
func (m real) payneHanek64(x reg) (r, low, n reg) {
	bits := m.raw(x)
	mant := m.or(m.shl(bits, 11), con(kI64, 1<<63))
	e := m.sub(m.trunc(m.and(m.lshr(bits, 52), con(kI64, 0x7FF)), kI32), i32(1022))
	e = m.minmax(e, i32(1024), true, false)
	w := m.window(e, 64)
	high := m.add(m.mul(mant, w[0]), m.op1("mul.hi.u64", mant, w[1]))
	lo := m.mul(mant, w[1])
	carry := m.op1("mul.hi.u64", mant, w[2])
	sum := m.add(lo, carry)
	high = m.add(high, m.zext(m.icmp(ult, sum, lo), kI64))
	n = m.trunc(m.lshr(m.add(high, con(kI64, 1<<61)), 62), kI32)
	high = m.sub(high, m.shl(m.zext(n, kI64), 62))
	// |rest| in 128 bits.
	minus := m.icmp(slt, high, con(kI64, 0))
	negLow := m.neg(sum)
	negHigh := m.sub(m.not(high), m.neg(m.zext(m.icmp(eq, sum, con(kI64, 0)), kI64)))
	high, sum = m.sel(minus, negHigh, high), m.sel(minus, negLow, sum)
	// Move the leading bit to the top; at most 64 places, for a rest is never that small.
	lead := m.op1("clz.b64", high)
	high = m.or(m.shift("shl", high, lead, false), m.shift("shr", sum, m.sub(i32(64), lead), false))
	sum = m.shift("shl", sum, lead, false)
	// 2^-126 for the place of the lowest bit, 2^64 for the upper word.
	unit := m.powerOfTwo(m.sub(i32(-62), lead))
	top := m.and(high, con(kI64, ^uint64(0x7FF)))
	a := m.fmul(m.op1("cvt.rn.f64.u64", top), unit)
	next := m.or(m.shl(high, 53), m.lshr(sum, 11))
	b := m.fmul(m.fmul(m.op1("cvt.rn.f64.u64", next), f64(0x3CA0000000000000)), unit) // 2^-53: 11 + 53 bits lie in next
	pio2, pio2Low := m.bits(m.pio2[0]), m.bits(m.pio2[1])
	r = m.fmul(a, pio2)
	low = m.fma(b, pio2, m.fma(a, pio2Low, m.fma(a, pio2, m.fneg(r))))
	minus = m.xor(minus, m.icmp(slt, bits, con(kI64, 0)))
	n = m.sel(m.icmp(slt, bits, con(kI64, 0)), m.neg(n), n)
	return m.sel(minus, m.fneg(r), r), m.sel(minus, m.fneg(low), low), n
}

// atan2 is the angle of the point (x, y): atan of the smaller over the larger coordinate, folded at the diagonals, with the sign of y.
func (m real) atan2(y, x reg) reg {
	ax, ay := m.fabs(x), m.fabs(y)
	large, small := m.max(ax, ay), m.min(ax, ay)
	var r reg
	if m.k == kF32 {
		q := m.fdiv(small, large)
		q = m.sel(m.equal(large, m.num(0)), m.num(0), q)
		z := m.fmul(q, q)
		r = m.fma(m.fmul(q, z), m.poly(z, m.atanA), q)
		r = m.sel(m.equal(small, m.infinity()), m.bits(m.pi-1<<24), r) // pi/4, rounded as it should
	} else {
		r = m.atanOfQuotient(small, large)
	}
	// pi - (pi/2 - r) is pi/2 + r, with the low part of pi/2 added once.
	half := uint64(1) << m.mantissa() // pi/2: one less in the exponent
	minus := m.icmp(slt, m.raw(x), con(m.k.asInt(), 0))
	steep := m.fadd(m.fsub(m.bits(m.pi-half), m.sel(minus, m.fneg(r), r)), m.bits(m.piLow-half))
	flat := m.sel(minus, m.fadd(m.fsub(m.bits(m.pi), r), m.bits(m.piLow)), r)
	r = m.sel(m.less(ax, ay), steep, flat)
	return m.sel(m.isNaN(x, y), m.nan(), m.withSign(r, y))
}

// atanOfQuotient is atan(small/large) in f64. Quotients q above tan(pi/8) go to (q-1)/(q+1), of the same numbers:
//
//	t = n/d,  n = small - large,  d = small + large        each with what its rounding lost
func (m real) atanOfQuotient(small, large reg) reg {
	// Scaled, so that neither sums nor remainders leave the range.
	scale := m.sel(m.less(m.num(0x1p900), large), m.num(0x1p-100), m.sel(m.less(large, m.num(0x1p-700)), m.num(0x1p300), m.num(1)))
	a, b := m.fmul(small, scale), m.fmul(large, scale)
	upper := m.less(m.fmul(b, m.bits(m.tanEighth)), a)
	n, d := m.fsub(a, b), m.fadd(a, b)
	nlow, dlow := m.fsub(a, m.fadd(n, b)), m.fsub(a, m.fsub(d, b))
	n, d = m.sel(upper, n, a), m.sel(upper, d, b)
	t := m.fdiv(n, d)
	lost := m.fadd(m.fma(m.fneg(t), d, n), m.sel(upper, m.fma(m.fneg(t), dlow, nlow), m.num(0)))
	tlow := m.fdiv(lost, d)
	z := m.fmul(t, t)
	rest := m.fma(m.fmul(t, z), m.poly(z, m.atanA), tlow)
	quarter, quarterLow := m.bits(m.pi-1<<53), m.bits(m.piLow-1<<53) // pi/4: two less in the exponent
	r := m.sel(upper, m.fadd(quarter, m.fadd(t, m.fadd(rest, quarterLow))), m.fadd(t, rest))
	r = m.sel(m.equal(large, m.num(0)), m.num(0), r)
	r = m.sel(m.equal(large, m.infinity()), m.num(0), r)
	return m.sel(m.equal(small, m.infinity()), quarter, r)
}
