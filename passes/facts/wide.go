package facts

import "math/bits"

// wide is a 128-bit signed integer: exact sums and products of 64-bit bounds, signed or unsigned.
type wide struct {
	hi int64
	lo uint64
}

func fromInt(x int64) wide   { return wide{x >> 63, uint64(x)} }
func fromUint(x uint64) wide { return wide{0, x} }

func (a wide) add(b wide) wide {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	return wide{a.hi + b.hi + int64(carry), lo}
}

func (a wide) neg() wide {
	lo, borrow := bits.Sub64(0, a.lo, 0)
	return wide{-a.hi - int64(borrow), lo}
}

func (a wide) sub(b wide) wide { return a.add(b.neg()) }

func (a wide) less(b wide) bool { return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo }

// mulInt is the exact product of two signed numbers.
func mulInt(x, y int64) wide {
	hi, lo := bits.Mul64(uint64(x), uint64(y))
	if x < 0 {
		hi -= uint64(y)
	}
	if y < 0 {
		hi -= uint64(x)
	}
	return wide{int64(hi), lo}
}

// mulUint is the product of two unsigned numbers, or the largest wide where it does not fit.
func mulUint(x, y uint64) wide {
	hi, lo := bits.Mul64(x, y)
	if hi >= 1<<63 {
		return wide{1<<63 - 1, 1<<64 - 1}
	}
	return wide{int64(hi), lo}
}

func minWide(first wide, rest ...wide) wide {
	for _, x := range rest {
		if x.less(first) {
			first = x
		}
	}
	return first
}

func maxWide(first wide, rest ...wide) wide {
	for _, x := range rest {
		if first.less(x) {
			first = x
		}
	}
	return first
}
