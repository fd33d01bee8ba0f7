package facts

import (
	"math/bits"

	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
)

// This file has the transfer functions of intervals and zero bits, which work element by element; axis.go has those of
// contiguity. A function gets the facts of the operands and sets SMin, SMax, UMin, UMax and ZeroBits of r, which comes
// as top and whose other fields are filled in later.

// clampSigned intersects the signed interval of r with the exact bounds of the result. Where they do not fit the width the
// result may wrap, and nothing is learned, unless noWrap says that a wrap is undefined.
func (r *Fact) clampSigned(lo, hi wide, noWrap bool) {
	least, most := fromInt(minS(r.Width)), fromInt(maxS(r.Width))
	if lo.less(least) || most.less(hi) {
		if !noWrap {
			return
		}
		lo, hi = minWide(maxWide(lo, least), most), maxWide(minWide(hi, most), least)
	}
	r.SMin, r.SMax = max(r.SMin, int64(lo.lo)), min(r.SMax, int64(hi.lo))
}

// clampUnsigned is clampSigned for the unsigned interval.
func (r *Fact) clampUnsigned(lo, hi wide, noWrap bool) {
	most := fromUint(maxU(r.Width))
	if lo.hi < 0 || most.less(hi) {
		if !noWrap {
			return
		}
		lo, hi = minWide(maxWide(lo, wide{}), most), maxWide(minWide(hi, most), wide{})
	}
	r.UMin, r.UMax = max(r.UMin, lo.lo), min(r.UMax, hi.lo)
}

// noWrapFlags says in which interpretations, signed and unsigned, an overflow is undefined.
func noWrapFlags(overflow def.Overflow) (s, u bool) {
	return overflow&def.NoSignedWrap != 0, overflow&def.NoUnsignedWrap != 0
}

func add(r *Fact, x, y Fact, overflow def.Overflow) {
	s, u := noWrapFlags(overflow)
	r.clampSigned(fromInt(x.SMin).add(fromInt(y.SMin)), fromInt(x.SMax).add(fromInt(y.SMax)), s)
	r.clampUnsigned(fromUint(x.UMin).add(fromUint(y.UMin)), fromUint(x.UMax).add(fromUint(y.UMax)), u)
	r.ZeroBits = min(x.ZeroBits, y.ZeroBits)
}

func sub(r *Fact, x, y Fact, overflow def.Overflow) {
	s, u := noWrapFlags(overflow)
	r.clampSigned(fromInt(x.SMin).sub(fromInt(y.SMax)), fromInt(x.SMax).sub(fromInt(y.SMin)), s)
	r.clampUnsigned(fromUint(x.UMin).sub(fromUint(y.UMax)), fromUint(x.UMax).sub(fromUint(y.UMin)), u)
	r.ZeroBits = min(x.ZeroBits, y.ZeroBits)
}

func mul(r *Fact, x, y Fact, overflow def.Overflow) {
	s, u := noWrapFlags(overflow)
	a, b, c, d := mulInt(x.SMin, y.SMin), mulInt(x.SMin, y.SMax), mulInt(x.SMax, y.SMin), mulInt(x.SMax, y.SMax)
	r.clampSigned(minWide(a, b, c, d), maxWide(a, b, c, d), s)
	r.clampUnsigned(mulUint(x.UMin, y.UMin), mulUint(x.UMax, y.UMax), u)
	r.ZeroBits = min(x.ZeroBits+y.ZeroBits, r.Width)
}

func mulHigh(r *Fact, x, y Fact) {
	high := func(a, b uint64) uint64 {
		hi, lo := bits.Mul64(a, b)
		if r.Width == 64 {
			return hi
		}
		return lo >> r.Width
	}
	r.UMin, r.UMax = high(x.UMin, y.UMin), high(x.UMax, y.UMax)
}

// shiftLeft is a multiplication by a power of two; amounts of the width or more give 0.
func shiftLeft(r *Fact, x, y Fact, overflow def.Overflow) {
	w := uint64(r.Width)
	r.ZeroBits = int(min(uint64(x.ZeroBits)+min(y.UMin, w), w))
	if y.UMax >= w {
		return
	}
	s, u := noWrapFlags(overflow)
	small, large := uint64(1)<<y.UMin, uint64(1)<<y.UMax
	r.clampUnsigned(mulUint(x.UMin, small), mulUint(x.UMax, large), u)
	if y.UMax < 63 {
		lo, hi := mulInt(x.SMin, int64(large)), mulInt(x.SMax, int64(large))
		lo, hi = minWide(lo, mulInt(x.SMin, int64(small))), maxWide(hi, mulInt(x.SMax, int64(small)))
		r.clampSigned(lo, hi, s)
	}
}

func shiftRight(r *Fact, x, y Fact, signed bool) {
	if x.ZeroBits == r.Width {
		r.ZeroBits = r.Width
	} else {
		r.ZeroBits = max(0, x.ZeroBits-int(min(y.UMax, 64)))
	}
	if !signed {
		r.UMin, r.UMax = x.UMin>>y.UMax, x.UMax>>y.UMin
		return
	}
	least, most := min(y.UMin, 63), min(y.UMax, 63)
	r.SMin, r.SMax = min(x.SMin>>least, x.SMin>>most), max(x.SMax>>least, x.SMax>>most)
}

func and(r *Fact, x, y Fact) {
	r.UMax = min(x.UMax, y.UMax)
	r.ZeroBits = max(x.ZeroBits, y.ZeroBits)
	if x.SMax < 0 && y.SMax < 0 {
		r.SMax = min(x.SMax, y.SMax)
	}
}

// lowMask is the largest number with as many significant bits as x.
func lowMask(x uint64) uint64 { return 1<<bits.Len64(x) - 1 }

func or(r *Fact, x, y Fact) {
	r.UMin, r.UMax = max(x.UMin, y.UMin), lowMask(max(x.UMax, y.UMax))
	r.ZeroBits = min(x.ZeroBits, y.ZeroBits)
}

func xor(r *Fact, x, y Fact) {
	r.UMax = lowMask(max(x.UMax, y.UMax))
	r.ZeroBits = min(x.ZeroBits, y.ZeroBits)
}

func maximum(r *Fact, x, y Fact, signed bool) {
	joinRanges(r, x, y)
	if signed {
		r.SMin, r.SMax = max(x.SMin, y.SMin), max(x.SMax, y.SMax)
	} else {
		r.UMin, r.UMax = max(x.UMin, y.UMin), max(x.UMax, y.UMax)
	}
}

func minimum(r *Fact, x, y Fact, signed bool) {
	joinRanges(r, x, y)
	if signed {
		r.SMin, r.SMax = min(x.SMin, y.SMin), min(x.SMax, y.SMax)
	} else {
		r.UMin, r.UMax = min(x.UMin, y.UMin), min(x.UMax, y.UMax)
	}
}

// joinRanges is the join of the intervals and zero bits of two operands, of which the result is one.
func joinRanges(r *Fact, x, y Fact) {
	r.SMin, r.SMax = min(x.SMin, y.SMin), max(x.SMax, y.SMax)
	r.UMin, r.UMax = min(x.UMin, y.UMin), max(x.UMax, y.UMax)
	r.ZeroBits = min(x.ZeroBits, y.ZeroBits)
}

// divide evaluates the corners of the two intervals: for divisors of one sign the quotient is monotone in each operand.
func divide(r *Fact, x, y Fact, signed bool, rounding def.Rounding) {
	w := r.Width
	if x.ZeroBits == w {
		r.ZeroBits = w
	} else if d, ok := y.Constant(); ok && d != 0 && d&(d-1) == 0 && (!signed || y.SMin > 0) {
		r.ZeroBits = max(0, x.ZeroBits-bits.TrailingZeros64(d))
	}
	if !signed {
		if y.UMax == 0 {
			return
		}
		lo, _, _ := tileaa.DivideInts(w, x.UMin, y.UMax, false, rounding)
		hi, _, _ := tileaa.DivideInts(w, x.UMax, max(y.UMin, 1), false, rounding)
		r.UMin, r.UMax = lo, hi
		return
	}
	lo, hi, any := maxS(w), minS(w), false
	corner := func(a, b int64) {
		any = true
		q, _, ok := tileaa.DivideInts(w, uint64(a), uint64(b), true, rounding)
		v := tileaa.SignExtend(q, w)
		if !ok {
			v = maxS(w) // the least number by -1 is undefined; its neighbour gives this
		}
		lo, hi = min(lo, v), max(hi, v)
	}
	divisors := func(least, most int64) {
		if least > most {
			return
		}
		for _, b := range [2]int64{least, most} {
			corner(x.SMin, b)
			corner(x.SMax, b)
		}
	}
	divisors(y.SMin, min(y.SMax, -1))
	divisors(max(y.SMin, 1), y.SMax)
	if any {
		r.SMin, r.SMax = lo, hi
	}
}

// remainder bounds the result by its properties: it has the sign of x, and its magnitude is below that of y and at most that of x.
func remainder(r *Fact, x, y Fact, signed bool) {
	r.ZeroBits = min(x.ZeroBits, y.ZeroBits)
	if !signed {
		if x.UMax < y.UMin {
			r.UMin, r.UMax = x.UMin, x.UMax
		} else if y.UMax > 0 {
			r.UMax = min(x.UMax, y.UMax-1)
		}
		return
	}
	// |r| < |y|; the bound -(|y|-1) is computed without negating the least number
	below := max(y.SMax-1, -(y.SMin + 1))
	if below < 0 {
		return // y is 0
	}
	r.SMin, r.SMax = max(min(x.SMin, 0), -below), min(max(x.SMax, 0), below)
	if x.SMin >= 0 && x.SMax < y.SMin {
		r.SMin, r.SMax = x.SMin, x.SMax
	}
}

// absolute reads the result as unsigned: the least number keeps its bits.
func absolute(r *Fact, x Fact) {
	r.ZeroBits = x.ZeroBits
	magnitude := func(v int64) uint64 {
		if v < 0 {
			return uint64(-v)
		}
		return uint64(v)
	}
	a, b := magnitude(x.SMin), magnitude(x.SMax)
	r.UMin, r.UMax = min(a, b), max(a, b)
	if x.SMin < 0 && x.SMax > 0 {
		r.UMin = 0
	}
}

func negate(r *Fact, x Fact, overflow def.Overflow) {
	s, _ := noWrapFlags(overflow)
	r.clampSigned(fromInt(x.SMax).neg(), fromInt(x.SMin).neg(), s)
	r.ZeroBits = x.ZeroBits
}

func extend(r *Fact, x Fact, signed bool) {
	if signed {
		r.SMin, r.SMax = x.SMin, x.SMax
	} else {
		r.UMin, r.UMax = x.UMin, x.UMax
	}
	r.ZeroBits = x.ZeroBits
	if x.ZeroBits == x.Width {
		r.ZeroBits = r.Width
	}
}

func truncateRange(r *Fact, x Fact, overflow def.Overflow) {
	s, u := noWrapFlags(overflow)
	r.clampSigned(fromInt(x.SMin), fromInt(x.SMax), s)
	r.clampUnsigned(fromUint(x.UMin), fromUint(x.UMax), u)
	r.ZeroBits = min(x.ZeroBits, r.Width)
}

// compareRanges is the outcome of a comparison; ok is false unless it is the same for all values of both intervals.
func compareRanges(x, y Fact, predicate def.Predicate, signed bool) (outcome, ok bool) {
	less, more := x.UMax < y.UMin, x.UMin > y.UMax // always
	atMost, atLeast := x.UMax <= y.UMin, x.UMin >= y.UMax
	if signed {
		less, more = x.SMax < y.SMin, x.SMin > y.SMax
		atMost, atLeast = x.SMax <= y.SMin, x.SMin >= y.SMax
	}
	unequal := x.UMax < y.UMin || x.UMin > y.UMax || x.SMax < y.SMin || x.SMin > y.SMax
	_, cx := x.Constant()
	_, cy := y.Constant()
	same := cx && cy && x.UMin == y.UMin
	switch predicate {
	case def.PredEqual:
		return same, same || unequal
	case def.PredNotEqual:
		return unequal, same || unequal
	case def.PredLess:
		return less, less || atLeast
	case def.PredLessEqual:
		return atMost, atMost || more
	case def.PredGreater:
		return more, more || atMost
	}
	return atLeast, atLeast || less
}
