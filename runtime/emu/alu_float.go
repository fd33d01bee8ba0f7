package emu

import "math"

// fopt are the modifiers of float arithmetic.
type fopt struct {
	mode             rnd
	ftz, sat, relu   bool
	nan, xorsign, ab bool
	approx           bool
}

func f32(v uint64) float32     { return math.Float32frombits(uint32(v)) }
func f64(v uint64) float64     { return math.Float64frombits(v) }
func bits32(f float32) uint64  { return uint64(math.Float32bits(f)) }
func isNaN32(f float32) bool   { return f != f }
func canonNaN32() float32      { return math.Float32frombits(0x7fffffff) }
func canonNaN64() float64      { return math.Float64frombits(0x7fffffffffffffff) }
func canon64(f float64) uint64 { return math.Float64bits(fixNaN64(f)) }

func fixNaN64(f float64) float64 {
	if f != f {
		return canonNaN64()
	}
	return f
}

// ftz32 flushes a subnormal to a zero of its sign.
func ftz32(f float32) float32 {
	if b := math.Float32bits(f); b&0x7f800000 == 0 {
		return math.Float32frombits(b & 0x80000000)
	}
	return f
}

// sat32 clamps to [0, 1]; NaN becomes 0.
func sat32(f float32) float32 {
	if !(f > 0) {
		return 0
	}
	return min(f, 1)
}

// finish32 applies .ftz, .sat and the canonical NaN to a result.
func (o *fopt) finish32(f float32) uint64 {
	if o.ftz {
		f = ftz32(f)
	}
	if o.sat {
		return bits32(sat32(f))
	}
	if isNaN32(f) {
		return 0x7fffffff
	}
	return bits32(f)
}

func (o *fopt) in32(v uint64) float32 {
	if o.ftz {
		return ftz32(f32(v))
	}
	return f32(v)
}

// minmax32 is min or max: -0 < +0; one NaN gives the other operand unless nan.
func minmax32(a, b float32, isMax, nan bool) float32 {
	if isNaN32(a) || isNaN32(b) {
		switch {
		case nan || isNaN32(a) && isNaN32(b):
			return canonNaN32()
		case isNaN32(a):
			return b
		}
		return a
	}
	if isMax {
		return max(a, b)
	}
	return min(a, b)
}

func minmax64(a, b float64, isMax bool) float64 {
	switch {
	case a != a && b != b:
		return canonNaN64()
	case a != a:
		return b
	case b != b:
		return a
	case isMax:
		return max(a, b)
	}
	return min(a, b)
}

// exact gives a op b rounded to odd in f64, for operands of f32 or narrower.
func exact(op string, a, b float64) float64 {
	switch op {
	case "add":
		return addOdd(a, b)
	case "sub":
		return addOdd(a, -b)
	case "mul":
		return float64(a * b)
	}
	return divOdd(a, b)
}

// zeroSum gives the sign of an exact zero sum in a mode: zeros of one sign keep it, others give -0 only towards minus infinity.
func zeroSum(r float64, mode rnd, sameSign bool) float64 {
	if r == 0 && !sameSign && mode == rm {
		return math.Copysign(0, -1)
	}
	return r
}

// decodeFloat2: add sub mul div min max on floats.
func decodeFloat2(d *decoder, _ typ) {
	var o fopt
	o.mode, _ = d.rounding()
	approx := d.oneOf("approx", "full")
	o.approx = approx == "approx"
	o.ftz, o.sat, o.nan = d.flag("ftz"), d.flag("sat"), d.flag("NaN")
	o.xorsign = d.flag("xorsign")
	o.ab = d.flag("abs")
	ts := d.types()
	if mixedOperand(ts) {
		d.decodeMixed(ts[1], o)
		return
	}
	if len(ts) != 1 {
		d.lacks("mixed types")
		return
	}
	t := ts[0]
	op := d.base
	minmax := op == "min" || op == "max"
	if minmax && len(d.st.args) == 4 {
		d.decodeMinMax3(t, o)
		return
	}
	if o.xorsign != o.ab {
		d.malformed(".xorsign needs .abs")
	}
	d.needArithmetic(t)
	if (o.nan || o.xorsign) && !minmax || op == "div" && approx == "" && o.mode == rn && t.bits < 32 {
		d.lacks("%s on %s", op, t.named)
		return
	}
	d.dst()
	d.src(1, t)
	d.src(2, t)
	switch {
	case t.named == "f64":
		d.in.vec = float2x64(op, o)
	case t.named == "f32":
		d.in.vec = float2x32(op, o)
	case t.fmt == fmtF32 && t.n == 2:
		d.in.vec = lift2(packed64(half2(op, fmtF32, o)))
		d.in.rule = rulePacked(32)
	default:
		d.in.vec = lift2(packed(t, half2(op, t.fmt, o)))
		d.in.rule = rulePacked(16)
	}
}

// needArithmetic refuses formats that only conversions and matrix instructions know.
func (d *decoder) needArithmetic(t typ) {
	if t.bits < 16 || t.fmt == fmtTF32 {
		d.lacks("%s on %s", d.base, t.named)
	}
}

// packed applies a lane function to each 16-bit element.
func packed(t typ, f func(a, b uint32) uint32) func(a, b uint64) uint64 {
	if t.n == 1 {
		return func(a, b uint64) uint64 { return uint64(f(uint32(a), uint32(b))) }
	}
	return func(a, b uint64) uint64 {
		return uint64(f(uint32(a&0xffff), uint32(b&0xffff))) | uint64(f(uint32(a>>16&0xffff), uint32(b>>16&0xffff)))<<16
	}
}

func packed64(f func(a, b uint32) uint32) func(a, b uint64) uint64 {
	return func(a, b uint64) uint64 {
		return uint64(f(uint32(a), uint32(b))) | uint64(f(uint32(a>>32), uint32(b>>32)))<<32
	}
}

// half2 is a two-operand operation of a format of at most 32 bits, through f64 rounded to odd.
func half2(op string, f *format, o fopt) func(a, b uint32) uint32 {
	return func(a, b uint32) uint32 {
		if o.ftz {
			a, b = f.flush(a), f.flush(b)
		}
		if op == "min" || op == "max" {
			return halfMinMax(op == "max", f, o, a, b)
		}
		x, y := f.value(a), f.value(b)
		r := exact(op, x, y)
		if op == "add" || op == "sub" {
			r = zeroSum(r, o.mode, (math.Signbit(x) == math.Signbit(y)) == (op == "add"))
		}
		return o.finishHalf(f, r)
	}
}

func (o *fopt) finishHalf(f *format, r float64) uint32 {
	if o.sat {
		if !(r > 0) {
			return 0
		}
		r = min(r, 1)
	}
	if o.relu && r < 0 {
		return 0
	}
	v := f.round(r, o.mode, false)
	if o.relu && v == f.signMask() {
		return 0
	}
	if o.ftz {
		v = f.flush(v)
	}
	return v
}

func halfMinMax(isMax bool, f *format, o fopt, a, b uint32) uint32 {
	sign := f.signMask()
	var flip uint32
	if o.xorsign {
		flip = (a ^ b) & sign
		a, b = a&^sign, b&^sign
	}
	x, y := f.value(a), f.value(b)
	switch {
	case x != x && y != y, o.nan && (x != x || y != y):
		return f.nan
	case x != x:
		return b ^ flip
	case y != y:
		return a ^ flip
	}
	less := x < y || x == y && a&sign != 0 && b&sign == 0
	if less == isMax {
		return b ^ flip
	}
	return a ^ flip
}

// float2x32 makes the vector function of a two-operand f32 operation.
func float2x32(op string, o fopt) vecFn {
	if o.mode == rn && !o.ftz && !o.sat && !o.xorsign && !o.approx {
		switch op {
		case "add":
			return func(d, a, b, _ *vec) {
				for i := range d {
					d[i] = o.finish32(f32(a[i]) + f32(b[i]))
				}
			}
		case "sub":
			return func(d, a, b, _ *vec) {
				for i := range d {
					d[i] = o.finish32(f32(a[i]) - f32(b[i]))
				}
			}
		case "mul":
			return func(d, a, b, _ *vec) {
				for i := range d {
					d[i] = o.finish32(f32(a[i]) * f32(b[i]))
				}
			}
		case "div":
			return func(d, a, b, _ *vec) {
				for i := range d {
					d[i] = o.finish32(f32(a[i]) / f32(b[i]))
				}
			}
		}
	}
	if op == "min" || op == "max" {
		return lift2(o.extreme32(op == "max"))
	}
	return lift2(func(a, b uint64) uint64 {
		x, y := o.in32(a), o.in32(b)
		if o.mode == rn {
			var r float32
			switch op {
			case "add":
				r = x + y
			case "sub":
				r = x - y
			case "mul":
				r = x * y
			default:
				r = x / y
				if o.approx && outsideReciprocal(y) {
					r = x * float32(math.Copysign(0, float64(y)))
				}
			}
			return o.finish32(r)
		}
		r := exact(op, float64(x), float64(y))
		if op == "add" || op == "sub" {
			r = zeroSum(r, o.mode, (math.Signbit(float64(x)) == math.Signbit(float64(y))) == (op == "add"))
		}
		return o.finish32(f32(uint64(fmtF32.round(r, o.mode, false))))
	})
}

// outsideReciprocal tells whether div.approx takes 0 for the reciprocal of y: for magnitudes between 2^126 and 2^128 "if a is infinity,
// div.approx.f32 delivers NaN, otherwise it delivers 0" (section 9.7.3.8).
func outsideReciprocal(y float32) bool {
	m := math.Abs(float64(y))
	return m > 0x1p126 && m < 0x1p128
}

// extreme32 is min or max, with .xorsign of the magnitudes and with the product of the signs.
func (o fopt) extreme32(isMax bool) func(a, b uint64) uint64 {
	return func(a, b uint64) uint64 {
		x, y := o.in32(a), o.in32(b)
		var flip uint64
		if o.xorsign {
			flip = (a ^ b) & (1 << 31)
			x, y = f32(bits32(x)&^(1<<31)), f32(bits32(y)&^(1<<31))
		}
		r := minmax32(x, y, isMax, o.nan)
		if isNaN32(r) {
			return 0x7fffffff
		}
		return bits32(r) ^ flip
	}
}

func float2x64(op string, o fopt) vecFn {
	mode := o.mode
	switch op {
	case "add":
		return lift2(func(a, b uint64) uint64 { return canon64(add64(f64(a), f64(b), mode)) })
	case "sub":
		return lift2(func(a, b uint64) uint64 { return canon64(add64(f64(a), -f64(b), mode)) })
	case "mul":
		return lift2(func(a, b uint64) uint64 { return canon64(mul64(f64(a), f64(b), mode)) })
	case "div":
		return lift2(func(a, b uint64) uint64 { return canon64(div64(f64(a), f64(b), mode)) })
	}
	return lift2(func(a, b uint64) uint64 { return canon64(minmax64(f64(a), f64(b), op == "max")) })
}

// decodeFma: fma and float mad of every type.
func decodeFma(d *decoder) {
	var o fopt
	o.mode, _ = d.rounding()
	o.ftz, o.sat, o.relu = d.flag("ftz"), d.flag("sat"), d.flag("relu")
	if d.flag("oob") {
		d.lacks("modifier .oob")
	}
	ts := d.types()
	if mixedOperand(ts) {
		d.decodeMixed(ts[1], o)
		return
	}
	if len(ts) != 1 {
		d.lacks("mixed types")
		return
	}
	t := ts[0]
	d.needArithmetic(t)
	d.dst()
	for i := 1; i <= 3; i++ {
		d.src(i, t)
	}
	switch {
	case t.named == "f64":
		d.in.vec = lift3(func(a, b, c uint64) uint64 { return canon64(fma64(f64(a), f64(b), f64(c), o.mode)) })
	case t.named == "f32" && o.mode == rn && !o.ftz && !o.sat:
		d.in.vec = func(d, a, b, c *vec) {
			for i := range d {
				r := fma32(f32(a[i]), f32(b[i]), f32(c[i]))
				if r != r {
					r = canonNaN32()
				}
				d[i] = bits32(r)
			}
		}
	case t.named == "f32":
		d.in.vec = lift3(func(a, b, c uint64) uint64 {
			x, y, z := o.in32(a), o.in32(b), o.in32(c)
			if o.mode == rn {
				return o.finish32(fma32(x, y, z))
			}
			p := float64(x) * float64(y)
			r := zeroSum(addOdd(p, float64(z)), o.mode, math.Signbit(p) == math.Signbit(float64(z)))
			return o.finish32(f32(uint64(fmtF32.round(r, o.mode, false))))
		})
	default:
		f := t.fmt
		one := func(a, b, c uint32) uint32 {
			if o.ftz {
				a, b, c = f.flush(a), f.flush(b), f.flush(c)
			}
			p := f.value(a) * f.value(b)
			z := f.value(c)
			return o.finishHalf(f, zeroSum(addOdd(p, z), o.mode, math.Signbit(p) == math.Signbit(z)))
		}
		d.in.vec = lift3(elements(t, one))
		d.in.rule = rulePacked(t.bits)
	}
}

// elements applies a three-operand function to each packed element.
func elements(t typ, f func(a, b, c uint32) uint32) func(a, b, c uint64) uint64 {
	m := widthMask(t.bits)
	return func(a, b, c uint64) uint64 {
		var r uint64
		for k := range t.n {
			s := k * t.bits
			r |= uint64(f(uint32(a>>s&m), uint32(b>>s&m), uint32(c>>s&m))) << s
		}
		return r
	}
}

// floatSign decodes what changes only the signs of floats.
func (d *decoder) floatSign(change func(a, sign uint64) uint64) {
	ftz := d.flag("ftz")
	t := d.typ1()
	d.needArithmetic(t)
	if ftz && t.fmt != fmtF32 {
		d.lacks(".ftz on %s", t.named)
		return
	}
	d.dst()
	d.src(1, t)
	var sign uint64
	for k := range t.n {
		sign |= 1 << (t.bits*(k+1) - 1)
	}
	f := func(a uint64) uint64 { return change(a, sign) }
	constant := sign &^ (change(sign, sign) ^ change(0, sign)) // a sign that does not depend on the operand's
	d.in.rule = rule1(func(u uint64) uint64 { return u &^ constant })
	d.in.vec = lift1(f)
	if ftz {
		one := elements(t, func(a, _, _ uint32) uint32 { return uint32(f(uint64(t.fmt.flush(a)))) & uint32(widthMask(t.bits)) })
		d.in.vec = lift1(func(a uint64) uint64 { return one(a, 0, 0) })
		d.in.rule = ruleAny
	}
}

func decodeCopysign(d *decoder) {
	t := d.typ1()
	d.dst()
	d.src(1, t)
	d.src(2, t)
	sign := uint64(1) << (t.bits - 1)
	d.in.vec = lift2(func(a, b uint64) uint64 { return b&^sign | a&sign })
}
