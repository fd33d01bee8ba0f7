package float

import "math"

// The processor's own arithmetic is correctly rounded to nearest even in f32
// and f64. The native functions use it; they report false for any other format
// or mode, and tests hold them against the exact path. Explicit conversions
// stop the Go compiler from contracting a product and a sum.

func (f *Format) nativeEncode(v float64, r Rounding) (uint64, bool) {
	switch {
	case f == F64:
		return from64(v), true
	case r != NearestEven:
	case f == F32:
		return from32(float32(v)), true
	case f.narrow != nil:
		return f.narrow.encode(v)
	}
	return 0, false
}

func (f *Format) nativeAdd(x, y uint64, r Rounding) (uint64, bool) {
	switch {
	case r != NearestEven:
		return 0, false
	case f == F32:
		return from32(float32(to32(x) + to32(y))), true
	case f == F64:
		return from64(float64(to64(x) + to64(y))), true
	case f.narrow != nil:
		return f.narrow.encode(float64(f.Decode(x) + f.Decode(y)))
	}
	return 0, false
}

func (f *Format) nativeMul(x, y uint64, r Rounding) (uint64, bool) {
	switch {
	case r != NearestEven:
		return 0, false
	case f == F32:
		return from32(float32(to32(x) * to32(y))), true
	case f == F64:
		return from64(float64(to64(x) * to64(y))), true
	case f.narrow != nil:
		return f.narrow.encode(float64(f.Decode(x) * f.Decode(y)))
	}
	return 0, false
}

func (f *Format) nativeDiv(x, y uint64, r Rounding) (uint64, bool) {
	switch {
	case r != NearestEven:
		return 0, false
	case f == F32:
		return from32(float32(to32(x) / to32(y))), true
	case f == F64:
		return from64(float64(to64(x) / to64(y))), true
	case f.narrow != nil:
		return f.narrow.encode(float64(f.Decode(x) / f.Decode(y)))
	}
	return 0, false
}

func (f *Format) nativeSqrt(x uint64, r Rounding) (uint64, bool) {
	switch {
	case r != NearestEven:
		return 0, false
	case f == F32: // 53 >= 2*24+2 bits: rounding twice is harmless (Figueroa 1995)
		return from32(float32(math.Sqrt(float64(to32(x))))), true
	case f == F64:
		return from64(math.Sqrt(to64(x))), true
	case f.narrow != nil:
		return f.narrow.encode(math.Sqrt(f.Decode(x)))
	}
	return 0, false
}

func (f *Format) nativeFMA(x, y, z uint64, r Rounding) (uint64, bool) {
	switch {
	case r != NearestEven:
		return 0, false
	case f == F32:
		return from32(FMA32(to32(x), to32(y), to32(z))), true
	case f == F64:
		return from64(math.FMA(to64(x), to64(y), to64(z))), true
	case f.narrow != nil: // the product is exact
		return f.narrow.encode(oddSum(float64(f.Decode(x)*f.Decode(y)), f.Decode(z)))
	}
	return 0, false
}

// FMA32 is x*y + z in f32, rounded once to nearest even.
//
// float32(math.FMA(x, y, z)) rounds twice and is wrong when the sum in f64
// falls on a tie of f32. Here the product is exact in f64, and the sum is
// rounded to odd: if it is inexact, the last bit is made 1, towards the lost
// part. Rounding to odd and then to at least two bits fewer is rounding once
// (Boldo, Melquiond 2008).
func FMA32(x, y, z float32) float32 {
	return float32(oddSum(float64(float64(x)*float64(y)), float64(z)))
}

// oddSum is p + c rounded to odd.
func oddSum(p, c float64) float64 {
	s := float64(p + c)
	// Knuth's TwoSum: p + c == s + e exactly.
	t := float64(s - p)
	e := float64(float64(p-float64(s-t)) + float64(c-t))
	if b := math.Float64bits(s); e != 0 && b&1 == 0 && !math.IsInf(s, 0) && !math.IsNaN(e) {
		if (e > 0) == (s > 0) {
			b++
		} else {
			b--
		}
		s = math.Float64frombits(b)
	}
	return s
}

func to32(b uint64) float32 { return math.Float32frombits(uint32(b)) }
func to64(b uint64) float64 { return math.Float64frombits(b) }

func from32(v float32) uint64 {
	if v != v {
		return F32.NaN()
	}
	return uint64(math.Float32bits(v))
}

func from64(v float64) uint64 {
	if v != v {
		return F64.NaN()
	}
	return math.Float64bits(v)
}
