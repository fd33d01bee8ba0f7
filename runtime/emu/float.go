package emu

import (
	"math"
	"math/big"
	"math/bits"
)

// rnd is a rounding mode of PTX.
type rnd uint8

const (
	rn  rnd = iota // nearest, ties to even
	rz             // towards zero
	rm             // towards minus infinity
	rp             // towards plus infinity
	rna            // nearest, ties away from zero
)

// format is a binary float format of at most 32 bits: sign, ebits exponent, mbits fraction.
//
//	value = (-1)^s * 1.f * 2^(e-bias), subnormal when the exponent field is 0
type format struct {
	name         string
	store        int // bits it occupies in a register
	ebits, mbits int
	bias         int
	max          uint32 // bits of the largest finite value
	inf          uint32 // bits of infinity, 0: has none
	nan          uint32 // canonical NaN of the ISA, 0: has none
	low          int    // zero bits below the fraction (tf32 lives in the top of 32 bits)
}

// formats: PTX ISA section 5.2.3 (alternate floating point) and 9.7.9 (canonical NaNs of cvt).
var formats = map[string]*format{
	"f32":   {"f32", 32, 8, 23, 127, 0x7f7fffff, 0x7f800000, 0x7fffffff, 0},
	"tf32":  {"tf32", 32, 8, 10, 127, 0x3fbff, 0x3fc00, 0x3ffff, 13},
	"f16":   {"f16", 16, 5, 10, 15, 0x7bff, 0x7c00, 0x7fff, 0},
	"bf16":  {"bf16", 16, 8, 7, 127, 0x7f7f, 0x7f80, 0x7fff, 0},
	"e5m2":  {"e5m2", 8, 5, 2, 15, 0x7b, 0x7c, 0x7f, 0},
	"e4m3":  {"e4m3", 8, 4, 3, 7, 0x7e, 0, 0x7f, 0},
	"e3m2":  {"e3m2", 8, 3, 2, 3, 0x1f, 0, 0, 0},
	"e2m3":  {"e2m3", 8, 2, 3, 1, 0x1f, 0, 0, 0},
	"e2m1":  {"e2m1", 4, 2, 1, 1, 0x7, 0, 0, 0},
	"ue8m0": {"ue8m0", 8, 8, 0, 127, 0xfe, 0, 0xff, 0},
}

var (
	fmtF32  = formats["f32"]
	fmtTF32 = formats["tf32"]
	fmtF16  = formats["f16"]
	fmtBF16 = formats["bf16"]
)

// value decodes bits exactly.
func (f *format) value(b uint32) float64 {
	switch f {
	case fmtF32:
		return float64(math.Float32frombits(b))
	case fmtF16:
		return float64(math.Float32frombits(f16to32(b)))
	case fmtBF16:
		return float64(math.Float32frombits(b << 16))
	}
	b >>= f.low
	if f.name == "ue8m0" {
		if b == f.nan {
			return math.NaN()
		}
		return math.Ldexp(1, int(b)-f.bias)
	}
	sign := b >> (f.ebits + f.mbits) & 1
	mag := b & (1<<(f.ebits+f.mbits) - 1)
	if f.nan != 0 && mag > f.max && mag != f.inf {
		return math.NaN()
	}
	var x float64
	if f.inf != 0 && mag == f.inf {
		x = math.Inf(1)
	} else if e := int(mag >> f.mbits); e == 0 {
		x = math.Ldexp(float64(mag), 1-f.bias-f.mbits)
	} else {
		x = math.Ldexp(float64(mag&(1<<f.mbits-1)|1<<f.mbits), e-f.bias-f.mbits)
	}
	if sign != 0 {
		return -x
	}
	return x
}

// f16to32 widens f16 bits to f32 bits.
func f16to32(h uint32) uint32 {
	sign, e, m := h&0x8000<<16, h>>10&31, h&0x3ff
	switch {
	case e == 31:
		return sign | 0x7f800000 | m<<13
	case e > 0:
		return sign | (e+112)<<23 | m<<13
	case m == 0:
		return sign
	}
	s := uint32(bits.LeadingZeros32(m)) - 21 // shift that brings the leading one to bit 10
	return sign | (113-s)<<23 | m<<s&0x3ff<<13
}

// round encodes x, which is exact or rounded to odd in f64, in the format. sat clamps what overflows
// (and infinities) to the largest finite value.
func (f *format) round(x float64, mode rnd, sat bool) uint32 {
	if x != x {
		if f.nan == 0 { // 9.7.9.21: NaN becomes the largest positive value
			return f.max
		}
		if f == fmtTF32 {
			return 0x7fffffff
		}
		return f.nan
	}
	if f.name == "ue8m0" {
		return f.roundScale(x, mode)
	}
	u := math.Float64bits(x)
	neg := u>>63 != 0
	var sign uint32
	if neg {
		sign = 1 << (f.ebits + f.mbits)
	}
	mag := u &^ (1 << 63)
	if mag == 0 {
		return sign << f.low
	}
	over := f.inf
	if f.inf == 0 || sat || mode == rz || mode == rm && !neg || mode == rp && neg {
		over = f.max
	}
	if mag>>52 == 0x7ff {
		if !sat && f.inf != 0 {
			return (sign | f.inf) << f.low
		}
		return (sign | f.max) << f.low
	}
	e := int(mag>>52) - 1023
	sig := mag&(1<<52-1) | 1<<52
	if mag>>52 == 0 { // an f64 subnormal is far below every format's smallest value
		sig, e = 1<<52|1, -1022
	}
	emin := 1 - f.bias
	shift, field := 52-f.mbits, 0
	if e >= emin {
		field = e - emin
	} else {
		shift += emin - e
	}
	if shift > 60 {
		shift, sig = 60, 1
	}
	q := shifted(sig, shift, mode, neg)
	if field > 1<<f.ebits {
		return (sign | over) << f.low
	}
	r := uint32(field)<<f.mbits + uint32(q)
	if r > f.max {
		r = over
	}
	return (sign | r) << f.low
}

// shifted is a significand without its low bits, rounded.
func shifted(sig uint64, shift int, mode rnd, neg bool) uint64 {
	q, rem, half := sig>>shift, sig&(1<<shift-1), uint64(1)<<(shift-1)
	up := false
	switch mode {
	case rn:
		up = rem > half || rem == half && q&1 == 1
	case rna:
		up = rem >= half
	case rm:
		up = neg && rem != 0
	case rp:
		up = !neg && rem != 0
	}
	if up {
		q++
	}
	return q
}

// roundScale encodes a power of two: rz takes the one below, rp the one above (9.7.9.21).
func (f *format) roundScale(x float64, mode rnd) uint32 {
	switch x = math.Abs(x); {
	case x == 0:
		return 0
	case math.IsInf(x, 1):
		return f.max
	}
	fr, e := math.Frexp(x) // x = fr * 2^e, fr in [0.5, 1)
	e--
	if mode == rp && fr != 0.5 {
		e++
	}
	return uint32(min(max(e+f.bias, 0), int(f.max)))
}

// subnormal tells whether bits hold a subnormal.
func (f *format) subnormal(b uint32) bool {
	mag := b >> f.low & (1<<(f.ebits+f.mbits) - 1)
	return mag != 0 && mag>>f.mbits == 0
}

// signMask is the sign bit.
func (f *format) signMask() uint32 { return 1 << (f.ebits + f.mbits + f.low) }

// flush replaces a subnormal by a zero of its sign.
func (f *format) flush(b uint32) uint32 {
	if f.subnormal(b) {
		return b & f.signMask()
	}
	return b
}

// --- results rounded to odd: f64 values that round correctly again to any format of 24 bits or fewer ---

// odd gives the rounded-to-odd value of s + err, where s is the nearest f64 and err the sign of the rest.
func odd(s, err float64) float64 {
	if err == 0 || err != err {
		return s
	}
	u := math.Float64bits(s)
	if u&1 != 0 || u&^(1<<63) == 0x7ff<<52 {
		return s
	}
	if (err > 0) == (u>>63 == 0) {
		return math.Float64frombits(u + 1)
	}
	if u&^(1<<63) == 0 {
		return s
	}
	return math.Float64frombits(u - 1)
}

func addOdd(a, b float64) float64 {
	s := a + b
	bb := s - a // two-sum (Knuth)
	err := (a - (s - bb)) + (b - bb)
	return odd(s, err)
}

func divOdd(a, b float64) float64 {
	q := a / b
	if q == 0 || math.IsInf(q, 0) || q != q {
		return q
	}
	r := math.FMA(-q, b, a)
	if b < 0 {
		r = -r
	}
	return odd(q, r)
}

func sqrtOdd(a float64) float64 {
	s := math.Sqrt(a)
	if s == 0 || math.IsInf(s, 0) || s != s {
		return s
	}
	return odd(s, math.FMA(-s, s, a))
}

// fma32 is the correctly rounded a*b+c. float32(math.FMA) would round twice; here the f64 sum is only
// wrong where it lies on a midpoint of f32 (or among the subnormals), and there it is rounded to odd.
func fma32(a, b, c float32) float32 {
	p := float64(a) * float64(b)
	s := p + float64(c)
	u := math.Float64bits(s)
	if u&(1<<29-1) == 1<<28 || u<<1 < (1023-125)<<53 {
		return math.Float32frombits(fmtF32.round(addOdd(p, float64(c)), rn, false))
	}
	return float32(s)
}

// --- f64 in a directed mode: exact in math/big, then one rounding ---

const bigPrec = 4400 // any sum of an f64 and a product of two is exact

func bigOf(x float64) *big.Float { return new(big.Float).SetPrec(bigPrec).SetFloat64(x) }

// round64 rounds to f64.
func round64(x *big.Float, mode rnd) float64 {
	f, acc := x.Float64()
	down := mode == rm || mode == rz && x.Sign() > 0
	up := mode == rp || mode == rz && x.Sign() < 0
	switch {
	case down && acc == big.Above:
		return math.Nextafter(f, math.Inf(-1))
	case up && acc == big.Below:
		return math.Nextafter(f, math.Inf(1))
	}
	return f
}

func finite(x ...float64) bool {
	for _, v := range x {
		if math.IsInf(v, 0) || v != v {
			return false
		}
	}
	return true
}

// fma64 is a*b+c in any mode.
func fma64(a, b, c float64, mode rnd) float64 {
	near := math.FMA(a, b, c)
	if mode == rn || !finite(a, b, c) {
		return near
	}
	x := new(big.Float).SetPrec(bigPrec).Mul(bigOf(a), bigOf(b))
	x.Add(x, bigOf(c))
	if x.Sign() == 0 {
		if p := float64(a * b); p == 0 && c == 0 && math.Signbit(p) == math.Signbit(c) {
			return c
		}
		if mode == rm {
			return math.Copysign(0, -1)
		}
		return 0
	}
	return round64(x, mode)
}

func add64(a, b float64, mode rnd) float64 {
	if mode == rn {
		return a + b
	}
	return fma64(a, 1, b, mode)
}

func mul64(a, b float64, mode rnd) float64 {
	if mode == rn || !finite(a, b) || a == 0 || b == 0 {
		return a * b
	}
	return round64(new(big.Float).SetPrec(bigPrec).Mul(bigOf(a), bigOf(b)), mode)
}

// div64 keeps 2200 bits of the quotient and marks the rest, so that one rounding stays correct.
func div64(a, b float64, mode rnd) float64 {
	if mode == rn || !finite(a, b) || a == 0 || b == 0 {
		return a / b
	}
	q := new(big.Float).SetPrec(2200).SetMode(big.ToZero).Quo(bigOf(a), bigOf(b))
	return round64(q, mode)
}

func sqrt64(a float64, mode rnd) float64 {
	if mode == rn || !finite(a) || a <= 0 {
		return math.Sqrt(a)
	}
	q := new(big.Float).SetPrec(2200).Sqrt(new(big.Float).SetPrec(2200).SetFloat64(a))
	return round64(q, mode)
}

// floatLiteral gives the bits of a literal in type t: 0f and 0d literals keep their value.
func floatLiteral(a arg, t typ) uint64 {
	if a.hex32 {
		if t.width() == 64 && t.isFloat() {
			return math.Float64bits(float64(math.Float32frombits(uint32(a.val))))
		}
		if t.fmt != nil && t.bits < 32 {
			return uint64(t.fmt.round(float64(math.Float32frombits(uint32(a.val))), rn, false))
		}
		return a.val
	}
	if t.width() == 64 {
		return a.val
	}
	x := math.Float64frombits(a.val)
	if t.fmt != nil && t.bits < 32 {
		return uint64(t.fmt.round(x, rn, false))
	}
	return uint64(math.Float32bits(float32(x)))
}
