package float

import "math/bits"

// The operations take and return bit patterns of f and round once. NaN results
// are f's canonical NaN. Overflow follows the format (see Encode), so results
// of the narrow formats saturate.

// Add returns x + y.
func (f *Format) Add(x, y uint64, r Rounding) uint64 {
	if v, ok := f.nativeAdd(x, y, r); ok {
		return v
	}
	return f.pack(add(f.unpack(x), f.unpack(y), r), r)
}

// Sub returns x - y.
func (f *Format) Sub(x, y uint64, r Rounding) uint64 {
	if f.signed {
		if v, ok := f.nativeAdd(x, f.Neg(y), r); ok {
			return v
		}
	}
	b := f.unpack(y)
	b.neg = !b.neg
	return f.pack(add(f.unpack(x), b, r), r)
}

// Mul returns x * y.
func (f *Format) Mul(x, y uint64, r Rounding) uint64 {
	if v, ok := f.nativeMul(x, y, r); ok {
		return v
	}
	return f.pack(mul(f.unpack(x), f.unpack(y)), r)
}

// FMA returns x*y + z with one rounding.
func (f *Format) FMA(x, y, z uint64, r Rounding) uint64 {
	if v, ok := f.nativeFMA(x, y, z, r); ok {
		return v
	}
	return f.pack(add(mul(f.unpack(x), f.unpack(y)), f.unpack(z), r), r)
}

// Div returns x / y.
func (f *Format) Div(x, y uint64, r Rounding) uint64 {
	if v, ok := f.nativeDiv(x, y, r); ok {
		return v
	}
	return f.pack(div(f.unpack(x), f.unpack(y)), r)
}

// Sqrt returns the square root of x; of a negative number, NaN; of -0, -0.
func (f *Format) Sqrt(x uint64, r Rounding) uint64 {
	if v, ok := f.nativeSqrt(x, r); ok {
		return v
	}
	return f.pack(sqrt(f.unpack(x)), r)
}

// add is exact up to a sticky bit. Operands have at most 106 significant bits,
// so bits fall out of the 128 only when the operands are at least 22 binary
// places apart; then at most one leading bit cancels, and the sticky bit stays
// far below any rounding position. r decides the sign of an exact zero.
func add(a, b number, r Rounding) number {
	switch {
	case a.class == notANumber || b.class == notANumber,
		a.class == infinite && b.class == infinite && a.neg != b.neg:
		return number{class: notANumber}
	case a.class == infinite:
		return a
	case b.class == infinite:
		return b
	case a.class == zero && b.class == zero:
		if a.neg == b.neg {
			return a
		}
		return number{class: zero, neg: r == TowardNegative}
	case a.class == zero:
		return b
	case b.class == zero:
		return a
	}
	if a.exp < b.exp || a.exp == b.exp && (a.hi < b.hi || a.hi == b.hi && a.lo < b.lo) {
		a, b = b, a
	}
	bhi, blo := shrSticky(b.hi, b.lo, a.exp-b.exp)
	if a.neg != b.neg {
		lo, borrow := bits.Sub64(a.lo, blo, 0)
		hi, _ := bits.Sub64(a.hi, bhi, borrow)
		if hi|lo == 0 {
			return number{class: zero, neg: r == TowardNegative}
		}
		return normalize(a.neg, a.exp, hi, lo)
	}
	lo, carry := bits.Add64(a.lo, blo, 0)
	hi, carry := bits.Add64(a.hi, bhi, carry)
	if carry != 0 {
		hi, lo = shrSticky(hi, lo, 1)
		return number{finite, a.neg, a.exp + 1, hi | 1<<63, lo}
	}
	return number{finite, a.neg, a.exp, hi, lo}
}

// mul multiplies exactly; operands have at most 64 significant bits.
func mul(a, b number) number {
	neg := a.neg != b.neg
	switch {
	case a.class == notANumber || b.class == notANumber,
		a.class == infinite && b.class == zero, a.class == zero && b.class == infinite:
		return number{class: notANumber}
	case a.class == infinite || b.class == infinite:
		return number{class: infinite, neg: neg}
	case a.class == zero || b.class == zero:
		return number{class: zero, neg: neg}
	}
	hi, lo := bits.Mul64(a.hi, b.hi)
	// Two significands in [1,2) with 63 fraction bits each: bit 126 weighs 2^(a.exp+b.exp).
	return normalize(neg, a.exp+b.exp+1, hi, lo)
}

// div gives at least 63 bits of the quotient and a sticky bit.
func div(a, b number) number {
	neg := a.neg != b.neg
	switch {
	case a.class == notANumber || b.class == notANumber,
		a.class == infinite && b.class == infinite, a.class == zero && b.class == zero:
		return number{class: notANumber}
	case a.class == infinite || b.class == zero:
		return number{class: infinite, neg: neg}
	case a.class == zero || b.class == infinite:
		return number{class: zero, neg: neg}
	}
	// q = a.hi * 2^63 / b.hi lies in (2^62, 2^64), and 2^63 weighs 2^(a.exp-b.exp).
	q, rem := bits.Div64(a.hi>>1, a.hi<<63, b.hi)
	return normalize(neg, a.exp-b.exp, q, uint64(b2i(rem != 0)))
}

// sqrt gives 64 bits of the root and a sticky bit.
func sqrt(a number) number {
	switch {
	case a.class == zero || a.class == notANumber:
		return a
	case a.neg:
		return number{class: notANumber}
	case a.class == infinite:
		return a
	}
	// value = s * 2^e with e even and s in [1,4): as a 128-bit integer with 126
	// fraction bits, whose integer root has 63 of them.
	exp, hi, lo := a.exp, a.hi, a.lo
	if exp&1 == 0 {
		hi, lo = shrSticky(hi, lo, 1)
	} else {
		exp--
	}
	root := isqrt(hi, lo)
	sqHi, sqLo := bits.Mul64(root, root)
	return normalize(false, exp/2, root, uint64(b2i(sqHi != hi || sqLo != lo)))
}

// isqrt is the integer square root of hi:lo, bit by bit.
func isqrt(hi, lo uint64) uint64 {
	var root uint64
	for bit := uint64(1) << 63; bit != 0; bit >>= 1 {
		t := root | bit
		th, tl := bits.Mul64(t, t)
		if th < hi || th == hi && tl <= lo {
			root = t
		}
	}
	return root
}
