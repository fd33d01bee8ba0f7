package interp

import (
	"math"
	"math/bits"

	"tileiras/ir/float"
)

// A sum of floats is exact in every order when no partial sum can need more bits than the format has. All terms are
// multiples of 2^low, so is every partial sum, and none is larger than the sum of the magnitudes:
//
//	sum |x| <= 2^(low + p)   with p bits of precision   =>   every partial sum is a number of the format
//
// sumExactness gathers low and the sum of magnitudes.
type sumExactness struct {
	low     int     // exponent of the lowest bit that any term has
	sum     float64 // of the magnitudes
	largest float64 // magnitude
	special bool    // an infinity or NaN is among the terms
}

const noBits = math.MaxInt32 / 4 // low while all terms are zero

func newSumExactness() sumExactness { return sumExactness{low: noBits} }

func (r *sumExactness) add(v float64) {
	if v == 0 {
		return
	}
	v = math.Abs(v)
	if v-v != 0 {
		r.special = true
		return
	}
	r.low = min(r.low, lowestBit(v))
	r.sum += v
	r.largest = max(r.largest, v)
}

// lowestBit is the exponent of the lowest bit of a finite number that is not zero.
func lowestBit(v float64) int {
	b := math.Float64bits(v)
	e, man := int(b>>52&0x7FF), b&(1<<52-1)
	if e == 0 {
		return bits.TrailingZeros64(man) - 1074
	}
	return e - 1075 + bits.TrailingZeros64(man|1<<52)
}

// fits reports whether multiples of 2^low up to sum in magnitude are all numbers of the format, of which only p bits of
// precision count.
func fits(f *float.Format, p, low int, sum float64) bool {
	if sum == 0 {
		return true
	}
	lowest := 1 - f.Bias() - f.MantissaBits()
	return low >= lowest && sum <= f.Decode(f.Max()) && sum < math.Ldexp(1, min(low+p, 1023))
}

func precision(f *float.Format) int { return f.MantissaBits() + 1 }

func (r *sumExactness) exact(f *float.Format) bool {
	return !r.special && fits(f, precision(f), r.low, r.sum)
}

// productExactness decides whether a product of floats is exact in every order: it gathers the product of all factors without their powers of
// two, which no partial product exceeds, and the largest and the smallest partial product.
type productExactness struct {
	odd          float64
	above, below float64 // products of the factors above and below 1
	special      bool
}

func newProductExactness() productExactness { return productExactness{odd: 1, above: 1, below: 1} }

func (s *productExactness) add(v float64) {
	v = math.Abs(v)
	switch {
	case v == 0:
		return
	case v-v != 0:
		s.special = true
		return
	case v > 1:
		s.above *= v
	default:
		s.below *= v
	}
	s.odd *= math.Ldexp(v, -lowestBit(v))
}

func (s *productExactness) exact(f *float.Format) bool {
	smallest := math.Ldexp(1, 1-f.Bias())
	return !s.special && s.odd < math.Ldexp(1, precision(f)) && s.above <= f.Decode(f.Max()) && s.below >= smallest
}
