package float

import (
	"math"
	"math/bits"
)

// Rounding is the direction in which an inexact value is rounded.
type Rounding uint8

// The rounding modes of Tile IR's ftof; the first four are those of IEEE 754
// that arithmetic knows.
const (
	NearestEven Rounding = iota
	TowardZero
	TowardNegative
	TowardPositive
	NearestAway // nearest, ties away from zero
)

// roundings lists every mode.
var roundings = []Rounding{NearestEven, TowardZero, TowardNegative, TowardPositive, NearestAway}

var roundingNames = [...]string{"nearest_even", "zero", "negative_inf", "positive_inf", "nearest_away"}

// String is the mode's name in Tile IR text.
func (r Rounding) String() string {
	if int(r) < len(roundingNames) {
		return roundingNames[r]
	}
	return "invalid rounding"
}

// Overflow says what becomes of a value beyond the range of the format.
type Overflow uint8

const (
	// ToInf is IEEE 754: infinity, or the largest finite value where the
	// rounding mode points towards zero. NaN stays NaN. A format without
	// infinity gives NaN, one without NaN its largest value.
	ToInf Overflow = iota
	// Saturate gives the largest finite value of the sign, for infinities
	// too. NaN stays NaN where the format has one (PTX .satfinite).
	Saturate
)

// number is an exact real number or a special value:
//
//	(-1)^neg * (hi:lo / 2^127) * 2^exp      with the top bit of hi set
//
// The lowest bit of lo may stand for "and something smaller than it" (a sticky
// bit); every user keeps it far below the bits that rounding looks at.
type number struct {
	class  class
	neg    bool
	exp    int
	hi, lo uint64
}

type class uint8

const (
	zero class = iota
	finite
	infinite
	notANumber
)

// normalize makes a finite number of the integer hi:lo scaled so that bit 127
// weighs 2^exp; all zeros give a zero.
func normalize(neg bool, exp int, hi, lo uint64) number {
	switch {
	case hi != 0:
		n := bits.LeadingZeros64(hi)
		hi, lo = shl(hi, lo, n)
		return number{finite, neg, exp - n, hi, lo}
	case lo != 0:
		n := bits.LeadingZeros64(lo)
		return number{finite, neg, exp - 64 - n, lo << n, 0}
	}
	return number{class: zero, neg: neg}
}

func shl(hi, lo uint64, n int) (uint64, uint64) {
	if n >= 64 {
		return lo << (n - 64), 0
	}
	return hi<<n | lo>>(64-n), lo << n
}

// shrSticky shifts right and sets the lowest bit if a set bit fell out.
func shrSticky(hi, lo uint64, n int) (uint64, uint64) {
	var lost uint64
	switch {
	case n == 0:
		return hi, lo
	case n >= 128:
		return 0, uint64(b2i(hi|lo != 0))
	case n >= 64:
		lost = lo | hi<<1<<(127-n)
		hi, lo = 0, hi>>(n-64)
	default:
		lost = lo << (64 - n)
		hi, lo = hi>>n, lo>>n|hi<<(64-n)
	}
	return hi, lo | uint64(b2i(lost != 0))
}

// unpack decodes a bit pattern.
func (f *Format) unpack(b uint64) number {
	neg := f.Sign(b)
	mag := f.mag(b)
	switch {
	case f.IsNaN(b):
		return number{class: notANumber}
	case f.IsInf(b):
		return number{class: infinite, neg: neg}
	}
	field, man := int(mag>>f.manBits), mag&f.manMask()
	if field >= f.minExpField() {
		man |= 1 << f.manBits
	} else {
		field = f.minExpField()
	}
	// man's bit manBits weighs 2^(field-bias); place it at bit 127.
	n := normalize(neg, field-f.bias, man<<(63-f.manBits), 0)
	return n
}

// round encodes a number: its only rounding. Codes of one sign grow with the
// value, so rounding up is adding one to the truncated code, whatever the
// carry passes through.
func (f *Format) round(n number, r Rounding, o Overflow, nanToMax bool) uint64 {
	neg := n.neg && f.signed // an unsigned format takes the magnitude
	switch n.class {
	case notANumber:
		if nanToMax {
			return f.maxMag()
		}
		return f.NaN()
	case infinite:
		if o == Saturate {
			return f.withSign(f.maxMag(), neg)
		}
		return f.Inf(neg)
	case zero:
		return f.Zero(neg)
	}
	field := n.exp + f.bias
	if field > int(f.maxMag()>>f.manBits) {
		return f.beyond(neg, r, o)
	}
	minField := f.minExpField()
	drop := 128 - f.precision()
	if field < minField {
		drop += minField - field
		field = minField
	}
	// code = truncated magnitude; half and rest describe what was cut off.
	var kept uint64
	var half, rest bool
	switch {
	case drop > 128:
		rest = true
	case drop == 128:
		half, rest = true, n.hi<<1|n.lo != 0
	default: // drop >= 128-53 > 64
		kept = n.hi >> (drop - 64)
		cut := n.hi << (128 - drop)
		half, rest = cut>>63 != 0, cut<<1|n.lo != 0
	}
	code := int64(field-1)<<f.manBits + int64(kept)
	if roundsUp(r, neg, code&1 != 0, half, rest) {
		code++
	}
	code = max(code, 0) // below the smallest value of a format without zero
	if uint64(code) > f.maxMag() {
		return f.beyond(neg, r, o)
	}
	return f.withSign(uint64(code), neg)
}

// roundsUp decides whether a truncated magnitude grows by one unit: odd is its
// lowest bit; half is the first bit cut off, rest whether any later one was set.
func roundsUp(r Rounding, neg, odd, half, rest bool) bool {
	switch r {
	case NearestEven:
		return half && (odd || rest)
	case NearestAway:
		return half
	case TowardPositive:
		return !neg && (half || rest)
	case TowardNegative:
		return neg && (half || rest)
	}
	return false
}

// beyond is the result of rounding a finite magnitude larger than Max.
func (f *Format) beyond(neg bool, r Rounding, o Overflow) uint64 {
	towardZero := r == TowardZero || r == TowardPositive && neg || r == TowardNegative && !neg
	if o == Saturate || towardZero {
		return f.withSign(f.maxMag(), neg)
	}
	return f.Inf(neg)
}

// pack rounds with the overflow rule of conversions to f.
func (f *Format) pack(n number, r Rounding) uint64 { return f.round(n, r, f.overflow, f.nanToMax) }

// Decode returns the value of bits. It is exact for every format; the sign and
// payload of NaN are lost.
func (f *Format) Decode(b uint64) float64 {
	switch f {
	case F64:
		if f.IsNaN(b) {
			return math.NaN()
		}
		return math.Float64frombits(b)
	case F32:
		if v := math.Float32frombits(uint32(b)); v == v {
			return float64(v)
		}
		return math.NaN()
	}
	if f.narrow != nil {
		if v, ok := f.narrow.decode(b); ok {
			return v
		}
	}
	mag, sign := f.mag(b), uint64(b2i(f.Sign(b)))<<63
	field, man := int(mag>>f.manBits), mag&f.manMask()
	switch {
	case f.IsNaN(b):
		return math.NaN()
	case f.IsInf(b):
		return math.Inf(1 - 2*int(sign>>63))
	case field < f.minExpField(): // subnormal: normal in f64, which is wider
		if man == 0 {
			return math.Float64frombits(sign)
		}
		n := bits.Len64(man) - 1
		field += n - f.manBits + 1
		man = man << (f.manBits - n) & f.manMask()
	}
	return math.Float64frombits(sign | uint64(field-f.bias+F64.bias)<<52 | man<<(52-f.manBits))
}

// Encode rounds a value to the format by the conversion rules of the format:
// f16, bf16, f32, f64 and tf32 overflow as in IEEE 754; the narrow formats
// saturate, infinities too; NaN becomes NaN, but the largest finite value in
// f8E4M3FN and f4E2M1FN. Unsigned formats take the magnitude.
func (f *Format) Encode(v float64, r Rounding) uint64 {
	if b, ok := f.nativeEncode(v, r); ok {
		return b
	}
	return f.pack(F64.unpack(math.Float64bits(v)), r)
}

// EncodeOverflow is Encode with another overflow rule; NaN becomes f.NaN().
func (f *Format) EncodeOverflow(v float64, r Rounding, o Overflow) uint64 {
	return f.round(F64.unpack(math.Float64bits(v)), r, o, false)
}

// Convert rounds a value of one format to another by the rules of Encode.
func Convert(from, to *Format, b uint64, r Rounding) uint64 { return to.Encode(from.Decode(b), r) }
