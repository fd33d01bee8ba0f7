package exact

import (
	"math"
	"math/big"

	"tileiras/ir/float"
)

// unary is a function of x. Where known holds, plain, of package math, is exact; where quick holds, it is within the error that
// Func.quick allows.
func unary(name string, plain func(float64) float64, known func(x float64) bool, eval func(x float64, p uint) *big.Float, quick func(x float64) bool) *Func {
	f := &Func{Name: name, eval: func(x, _ float64, p uint) *big.Float { return eval(x, p) }}
	f.special = func(x, _ float64) (float64, bool) {
		if known(x) {
			return plain(x), true
		}
		return 0, false
	}
	if quick != nil {
		f.quick = func(x, _ float64) (float64, bool) { return plain(x), quick(x) }
	}
	return f
}

func notFinite(x float64) bool       { return x-x != 0 }
func zeroOrNotFinite(x float64) bool { return x == 0 || notFinite(x) }
func always(float64) bool            { return true }

// awayFrom1 is for logarithms: Go's lose precision next to 1 and below the normal range.
func awayFrom1(x float64) bool { return math.Abs(x-1) > 0.1 && x > 0x1p-1000 }

func smallAngle(x float64) bool { return math.Abs(x) < 0.7 }
func moderate(x float64) bool   { return math.Abs(x) > 0x1p-20 }

// The functions of Tile IR that are not exact.
var (
	Exp = unary("exp", math.Exp, zeroOrNotFinite, func(x float64, p uint) *big.Float { return exp(fromFloat64(x, 53), p) }, always)

	// Integers have exact powers; Go's Exp2 computes them by scaling.
	Exp2 = unary("exp2", math.Exp2, func(x float64) bool { return notFinite(x) || x == math.Trunc(x) },
		func(x float64, p uint) *big.Float { return exp(mul(p+32, fromFloat64(x, 53), ln2.get(p+32)), p) }, always)

	Log = unary("log", math.Log, func(x float64) bool { return !(x > 0) || x == 1 || math.IsInf(x, 1) },
		func(x float64, p uint) *big.Float { return log(fromFloat64(x, 53), p) }, awayFrom1)

	Log2 = unary("log2", log2, func(x float64) bool {
		fraction, _ := math.Frexp(x)
		return !(x > 0) || fraction == 0.5 || math.IsInf(x, 1)
	}, func(x float64, p uint) *big.Float { return quo(p+16, log(fromFloat64(x, 53), p+16), ln2.get(p+16)) }, awayFrom1)

	Rsqrt = unary("rsqrt", func(x float64) float64 { return 1 / math.Sqrt(x) }, func(x float64) bool {
		fraction, e := math.Frexp(x)
		return !(x > 0) || math.IsInf(x, 1) || fraction == 0.5 && e%2 != 0
	}, func(x float64, p uint) *big.Float {
		return quo(p+8, fromFloat64(1, p), newFloat(p+8).Sqrt(fromFloat64(x, p)))
	}, always)

	Sin = unary("sin", math.Sin, zeroOrNotFinite, func(x float64, p uint) *big.Float { return sincos(x, 0, p) }, smallAngle)
	Cos = unary("cos", math.Cos, zeroOrNotFinite, func(x float64, p uint) *big.Float { return sincos(x, 1, p) }, smallAngle)
	Tan = unary("tan", math.Tan, zeroOrNotFinite, func(x float64, p uint) *big.Float {
		return quo(p+8, sincos(x, 0, p+8), sincos(x, 1, p+8))
	}, smallAngle)

	Sinh = unary("sinh", math.Sinh, zeroOrNotFinite, sinh, moderate)
	Cosh = unary("cosh", math.Cosh, zeroOrNotFinite, cosh, moderate)
	Tanh = unary("tanh", math.Tanh, zeroOrNotFinite, tanh, moderate)

	Atan2 = &Func{Name: "atan2", special: atan2Special, eval: atan2, quick: func(y, x float64) (float64, bool) {
		return math.Atan2(y, x), !notFinite(y) && !notFinite(x) && math.Abs(y) > 0x1p-200 && math.Abs(x) < 0x1p200
	}}
	// Go's Pow squares again and again, which doubles its error.
	Pow = &Func{Name: "pow", special: powSpecial, eval: pow, quick: func(x, y float64) (float64, bool) {
		return math.Pow(x, y), math.Abs(y) < 64 && math.Abs(x) > 0x1p-1000
	}}
)

// funcs lists them.
var funcs = []*Func{Exp, Exp2, Log, Log2, Rsqrt, Sin, Cos, Tan, Sinh, Cosh, Tanh, Atan2, Pow}

// log2 is exact for powers of two, below the normal range too.
func log2(x float64) float64 {
	if fraction, e := math.Frexp(x); fraction == 0.5 {
		return float64(e - 1)
	}
	return math.Log2(x)
}

// expAndInverse are e^x and e^-x.
func expAndInverse(x float64, p uint) (e, inverse *big.Float) {
	e = exp(fromFloat64(x, 53), p)
	return e, quo(p, fromFloat64(1, p), e)
}

func sinh(x float64, p uint) *big.Float {
	if math.Abs(x) < 1 {
		return sine(fromFloat64(x, p+32), 1, p+32)
	}
	e, inverse := expAndInverse(x, p+32)
	return scaleByPow2(sub(p+32, e, inverse), -1)
}

func cosh(x float64, p uint) *big.Float {
	e, inverse := expAndInverse(x, p+32)
	return scaleByPow2(add(p+32, e, inverse), -1)
}

func tanh(x float64, p uint) *big.Float {
	q := p + 32
	if math.Abs(x) < 1 {
		return quo(q, sine(fromFloat64(x, q), 1, q), cosine(fromFloat64(x, q), 1, q))
	}
	if math.Abs(x) > 400 { // 1 - 2^-1154: nearest to 1 in every format
		x = math.Copysign(400, x)
	}
	e, inverse := expAndInverse(x, q)
	return quo(q, sub(q, e, inverse), add(q, e, inverse))
}

func atan2Special(y, x float64) (float64, bool) {
	switch {
	case math.IsNaN(x) || math.IsNaN(y):
		return math.NaN(), true
	case y == 0 && (x > 0 || x == 0 && !math.Signbit(x)):
		return y, true
	}
	return 0, false
}

// atan2 is the angle of the point (x, y), as of limits where coordinates are infinite.
func atan2(y, x float64, p uint) *big.Float {
	q := p + 64
	half := scaleByPow2(pi.get(q), -1)
	var r *big.Float
	switch infX, infY := math.IsInf(x, 0), math.IsInf(y, 0); {
	case infX && infY:
		r = scaleByPow2(half, -1)
	case infX || y == 0:
		r = newFloat(q)
	case infY || x == 0:
		r = newFloat(q).Set(half)
	default:
		r = atan(quo(q, fromFloat64(math.Abs(y), q), fromFloat64(math.Abs(x), q)), q)
	}
	if math.Signbit(x) {
		r = sub(q, pi.get(q), r)
	}
	if math.Signbit(y) {
		r.Neg(r)
	}
	return r
}

func powSpecial(x, y float64) (float64, bool) {
	if x == 0 || y == 0 || x == 1 || notFinite(x) || notFinite(y) || x < 0 && y != math.Trunc(y) || x == -1 {
		return math.Pow(x, y), true
	}
	return 0, false
}

// pow is x^y, exactly for small whole y, else e^(y ln |x|).
func pow(x, y float64, p uint) *big.Float {
	v := powPositive(math.Abs(x), fromFloat64(y, 53), p)
	if x < 0 && math.Mod(y, 2) != 0 {
		v.Neg(v)
	}
	return v
}

// powPositive is x^y for a positive x.
func powPositive(x float64, y *big.Float, p uint) *big.Float {
	if n, acc := y.Int64(); acc == big.Exact && -64 <= n && n <= 64 {
		const wide = 53 * 64
		v := fromFloat64(1, wide)
		for range max(n, -n) {
			v = mul(wide, v, fromFloat64(x, 53))
		}
		if n < 0 {
			v = quo(p, fromFloat64(1, p), v)
		}
		return v
	}
	q := p + 80 // y ln x may have many bits before the point and still be in range: beyond, exp saturates
	return exp(mul(q, y, log(fromFloat64(x, 53), q)), p)
}

// Powi is x^n.
func Powi(to *float.Format, x float64, n int64) uint64 {
	y := newFloat(64).SetInt64(n)
	if f, acc := y.Float64(); acc == big.Exact {
		return Pow.Round(to, x, f)
	}
	odd := &Func{special: func(x, _ float64) (float64, bool) {
		f, _ := y.Float64()
		v, ok := powSpecial(math.Abs(x), f)
		if n&1 != 0 {
			v = math.Copysign(v, x)
		}
		return v, ok
	}, eval: func(x, _ float64, p uint) *big.Float {
		v := powPositive(math.Abs(x), y, p)
		if x < 0 && n&1 != 0 {
			v.Neg(v)
		}
		return v
	}}
	return odd.Round(to, x, 0)
}
