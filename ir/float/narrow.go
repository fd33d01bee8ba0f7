package float

import "math"

// narrow makes the common cases of a format with few bits quick: f64 has more than twice its precision and two bits, so that a sum, a product, a
// quotient or a root of its numbers that is rounded to f64 first and then to the format is rounded as if once (Figueroa 1995). Its subnormal numbers
// do no harm: sums of them are exact, and no quotient lies so close to the middle of two of them.
type narrow struct {
	mag, sign uint64  // masks of a pattern
	codes     uint64  // magnitudes below are numbers
	cut       int     // mantissa bits that f64 has more
	scale     float64 // brings an exponent field of f64 to the meaning of one of the format
	rebias    uint64  // what the magnitude's bits have more in f64
	normal    uint64  // bits of the smallest normal number in f64
	unit      float64 // the last place of which is that of the subnormal numbers
	largest   uint64  // code of the largest number
}

func init() {
	for _, f := range formats {
		if f.noZero || 2*f.precision()+2 > F64.precision() || f == F32 {
			continue
		}
		n := &narrow{mag: f.magMask(), sign: f.signBit(), codes: f.magMask() + 1, cut: F64.manBits - f.manBits, largest: f.maxMag()}
		if f.inf || f.nan != nanNone {
			n.codes = f.maxMag() + 1
		}
		n.scale = math.Ldexp(1, F64.bias-f.bias)
		n.rebias = uint64(F64.bias-f.bias) << F64.manBits
		n.normal = n.rebias + 1<<F64.manBits
		n.unit = math.Ldexp(1, 1-f.bias-f.manBits+F64.manBits)
		f.narrow = n
	}
}

// decode is Decode of numbers.
func (n *narrow) decode(b uint64) (float64, bool) {
	mag := b & n.mag
	if mag >= n.codes {
		return 0, false
	}
	v := math.Float64frombits(mag<<n.cut) * n.scale
	if b&n.sign != 0 {
		v = -v
	}
	return v, true
}

// encode rounds to nearest even where the result is a number.
func (n *narrow) encode(v float64) (uint64, bool) {
	b := math.Float64bits(v)
	mag := b &^ (1 << 63)
	var code uint64
	if mag < n.normal {
		code = math.Float64bits(math.Float64frombits(mag)+n.unit) - math.Float64bits(n.unit)
	} else {
		code = mag - n.rebias
		code = (code + 1<<(n.cut-1) - 1 + code>>n.cut&1) >> n.cut
	}
	if code > n.largest {
		return 0, false
	}
	if b>>63 != 0 {
		code |= n.sign
	}
	return code, true
}
