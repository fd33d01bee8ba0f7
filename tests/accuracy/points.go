package accuracy

import (
	"math"
	"math/rand/v2"

	"tileiras/ir/float"
)

// source is a stream of random numbers, the same in every run.
type source struct {
	*rand.Rand
	reach float64 // how much wider the exponents of the format are than those of f32
}

// between is uniform, power is uniform in the exponent, given for f32.
func (s *source) between(low, high float64) float64 { return low + (high-low)*s.Float64() }

func (s *source) power(low, high float64) float64 {
	return math.Copysign(math.Exp2(s.between(low, high)*s.reach), s.Float64()-0.5)
}

// powers are x and y with x^y about in the range of the format, and some beside it.
func powers(s *source) (x, y float64) {
	switch s.IntN(8) {
	case 0:
		return s.power(-150, 128), s.power(-150, 128)
	case 1: // whole exponents
		return s.power(-8, 8), float64(s.IntN(81) - 40)
	case 2: // next to 1
		x = 1 + s.power(-24, -3)
	default:
		x = math.Abs(s.power(-140, 128))
	}
	return x, s.between(-152, 130) * s.reach / log2(x)
}

// planes are points of the plane whose angles are not trivial, and some others.
func planes(s *source) (y, x float64) {
	switch s.IntN(4) {
	case 0:
		return s.power(-149, 128), s.power(-149, 128)
	case 1:
		return s.between(-1, 1), s.between(-1, 1)
	}
	x = s.power(-100, 100)
	return x * s.power(-26, 26), x
}

func quotients(s *source) (x, y float64) {
	if s.IntN(4) == 0 {
		return s.power(-149, 128), s.power(-149, 128)
	}
	y = s.power(-126, 126)
	return s.power(-20, 20) * y, y
}

// points gives the bits of one operand tuple after the other. Formats of 16 bits: all numbers, or random pairs. Others: three fifths
// spread evenly over all bit patterns, so over all exponents, the rest over the ranges that deserve more.
func (r *Row) points(n int) func() ([2]uint64, bool) {
	s := &source{rand.New(rand.NewPCG(1, uint64(r.Format.StorageBits()))), 1}
	if r.Format == float.F64 {
		s.reach = 8
	}
	bits, i := r.Format.Bits(), 0
	special := []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 2, 0.5, -3}
	encode := func(x float64) uint64 { return r.Format.Encode(x, float.NearestEven) }
	second := encode
	if r.Integer {
		second = func(y float64) uint64 {
			if y-y != 0 {
				y = math.MinInt32
			}
			return uint64(uint32(int32(max(min(y, math.MaxInt32), math.MinInt32))))
		}
	}
	if r.Arity == 2 {
		return func() (p [2]uint64, ok bool) {
			if i++; i > n {
				return p, false
			}
			if k := i - 1; k < len(special)*len(special) {
				return [2]uint64{encode(special[k/len(special)]), second(special[k%len(special)])}, true
			}
			x, y := r.pairs(s)
			return [2]uint64{encode(x), second(y)}, true
		}
	}
	if bits == 16 {
		return func() (p [2]uint64, ok bool) {
			i++
			return [2]uint64{uint64(i - 1)}, i <= 1<<16
		}
	}
	even := n * 3 / 5
	step := math.Exp2(float64(bits)) / float64(even)
	return func() (p [2]uint64, ok bool) {
		switch i++; {
		case i > n:
			return p, false
		case i <= len(special):
			return [2]uint64{encode(special[i-1])}, true
		case i <= even:
			v := uint64((float64(i-1) + s.Float64()) * step)
			return [2]uint64{v ^ s.Uint64()&255&(1<<bits-1)}, true
		}
		at := r.near[s.IntN(len(r.near))]
		return [2]uint64{encode(s.between(at[0], at[1]))}, true
	}
}
