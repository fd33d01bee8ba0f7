package nvvm

import (
	"math"
	"slices"

	"github.com/llir/llvm/ir/enum"

	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/ir/float"
)

// Mathematical functions. f16 and bf16 are computed in f32. docs/accuracy.md has the errors of the recipes. Polynomials are given by the
// bits of their coefficients, lowest power first; they interpolate at the Chebyshev nodes of the interval, which is close to the best
// approximation.

func init() {
	register(ir.Table[lowering]{
		tileaa.OpExp & ir.Place:   expTile,
		tileaa.OpExp2 & ir.Place:  func(f *fn, op *ir.Op) { f.unary(op, func(m real, x reg) reg { return m.exp2(x, ftz(op)) }) },
		tileaa.OpRsqrt & ir.Place: func(f *fn, op *ir.Op) { f.unary(op, func(m real, x reg) reg { return m.rsqrt(x, ftz(op)) }) },
		tileaa.OpLog & ir.Place:   func(f *fn, op *ir.Op) { f.logTile(op, real.log) },
		tileaa.OpLog2 & ir.Place:  func(f *fn, op *ir.Op) { f.logTile(op, real.log2) },
		tileaa.OpSin & ir.Place: func(f *fn, op *ir.Op) {
			f.unary(op, func(m real, x reg) reg { s, _ := m.sincos(x, true, false); return s })
		},
		tileaa.OpCos & ir.Place: func(f *fn, op *ir.Op) {
			f.unary(op, func(m real, x reg) reg { _, c := m.sincos(x, false, true); return c })
		},
		tileaa.OpTan & ir.Place:   func(f *fn, op *ir.Op) { f.unary(op, real.tan) },
		tileaa.OpSinh & ir.Place:  func(f *fn, op *ir.Op) { f.unary(op, real.sinh) },
		tileaa.OpCosh & ir.Place:  func(f *fn, op *ir.Op) { f.unary(op, real.cosh) },
		tileaa.OpTanh & ir.Place:  tanhTile,
		tileaa.OpPow & ir.Place:   func(f *fn, op *ir.Op) { f.binary(op, real.pow) },
		tileaa.OpAtan2 & ir.Place: func(f *fn, op *ir.Op) { f.binary(op, real.atan2) },
		tileaa.OpRemf & ir.Place:  func(f *fn, op *ir.Op) { f.binary(op, real.remainder) },
		tileaa.OpPowi & ir.Place:  powiTile,
	})
}

// real is arithmetic in one of the two float kinds: k is kF32 or kF64.
type real struct {
	*fn
	k kind
	*constants
}

func (f *fn) real(k kind) real {
	if k == kF64 {
		return real{f, k, &double}
	}
	return real{f, k, &single}
}

// logTile computes logarithms. f16 has no numbers below the normal range of f32.
func (f *fn) logTile(op *ir.Op, log func(m real, x reg, normal bool) reg) {
	normal := ir.IsFloat(elemOf(op.Result(0)), float.F16) || aboveSubnormal(op.Operand(0))
	f.unary(op, func(m real, x reg) reg { return log(m, x, normal) })
}

// aboveSubnormal reports whether no element is a positive number below the normal range: a maximum with one that is not.
func aboveSubnormal(v *ir.Value) bool {
	m, ok := ir.DefinedBy[tileaa.Maxf](v)
	if !ok {
		return false
	}
	format := elemOf(v).(*ir.FloatType).Format
	return slices.ContainsFunc(m.Op.Operands(), func(x *ir.Value) bool {
		bits, ok := tileaa.SplatValue(x)
		return ok && format.Decode(bits) >= math.Ldexp(1, 1-format.Bias())
	})
}

func (f *fn) unary(op *ir.Op, g func(m real, x reg) reg) {
	f.set(op, f.mathTile(elemOf(op.Result(0)), func(x []reg) reg { return g(f.real(x[0].k), x[0]) }, f.source(op)))
}

func (f *fn) binary(op *ir.Op, g func(m real, x, y reg) reg) {
	x, y := f.tileFor(op.Operand(0)), f.tileFor(op.Operand(1))
	f.set(op, f.mathTile(elemOf(op.Result(0)), func(r []reg) reg { return g(f.real(r[0].k), r[0], r[1]) }, x, y))
}

// num is a constant that the kind holds exactly.
func (m real) num(v float64) reg {
	if m.k == kF64 {
		return f64(math.Float64bits(v))
	}
	return f32(math.Float32bits(float32(v)))
}

// bits is a constant by its bits.
func (m real) bits(b uint64) reg { return con(m.k, b) }

func (m real) row(name string) string { return name + "." + floatSuffix[m.k] }

func (m real) fma(x, y, z reg) reg { return m.op1(m.row("fma.rn"), x, y, z) }

// poly evaluates c[0] + c[1]*x + ... by Horner's rule.
func (m real) poly(x reg, c []uint64) reg {
	p := m.bits(c[len(c)-1])
	for i := len(c) - 2; i >= 0; i-- {
		p = m.fma(p, x, m.bits(c[i]))
	}
	return p
}

// width is the number of bits, mantissa those of the fraction.
func (m real) width() int    { return m.k.bits() }
func (m real) mantissa() int { return map[kind]int{kF32: 23, kF64: 52}[m.k] }
func (m real) bias() int     { return map[kind]int{kF32: 127, kF64: 1023}[m.k] }

// raw is the bits of x, float the number with bits x.
func (m real) raw(x reg) reg   { return m.cast(x, m.k.asInt()) }
func (m real) float(x reg) reg { return m.cast(x, m.k) }

func (m real) infinity() reg { return m.num(math.Inf(1)) }
func (m real) nan() reg      { return m.num(math.NaN()) }

func (m real) isNaN(x, y reg) reg { return m.fcmp(enum.FPredUNO, x, y) }
func (m real) less(x, y reg) reg  { return m.fcmp(enum.FPredOLT, x, y) }
func (m real) equal(x, y reg) reg { return m.fcmp(enum.FPredOEQ, x, y) }
func (m real) max(x, y reg) reg   { return m.op1(m.row("max"), x, y) }
func (m real) min(x, y reg) reg   { return m.op1(m.row("min"), x, y) }

// withSign is |x| with the sign of y; x is not negative.
func (m real) withSign(x, y reg) reg {
	sign := con(m.k.asInt(), 1<<(m.width()-1))
	return m.float(m.or(m.raw(x), m.and(m.raw(y), sign)))
}

// powerOfTwo is 2^n for an i32 n in the range of normal numbers.
func (m real) powerOfTwo(n reg) reg {
	e := m.add(n, i32(int64(m.bias())))
	if m.k == kF64 {
		return m.float(m.shl(m.zext(e, kI64), 52))
	}
	return m.float(m.shl(e, 23))
}

// scale is x * 2^n in two steps, so that results below the normal range round once.
func (m real) scale(x, n reg) reg {
	half := m.ashr(n, 1)
	return m.fmul(m.fmul(x, m.powerOfTwo(half)), m.powerOfTwo(m.sub(n, half)))
}

// nearest is x rounded to an integer, as a float and as an i32, for |x| below 2^21: adding 1.5*2^mantissa leaves the integer in the
// low bits.
func (m real) nearest(x, by reg) (n, i reg) {
	magic := m.num(math.Ldexp(1.5, m.mantissa()))
	t := m.fma(x, by, magic)
	i = m.raw(t)
	if m.k == kF64 {
		i = m.trunc(i, kI32)
	} else {
		i = m.sub(i, i32(int64(math.Float32bits(float32(math.Ldexp(1.5, 23))))))
	}
	return m.fsub(t, magic), i
}

func expTile(f *fn, op *ir.Op) {
	if ir.Cast[tileaa.RoundedOp](op).Rounding() == def.RoundApprox {
		f.unary(op, func(m real, x reg) reg { return m.op1("ex2.approx.f32", m.fmul(x, m.bits(m.log2e))) })
		return
	}
	f.unary(op, real.exp)
}

func tanhTile(f *fn, op *ir.Op) {
	if ir.Cast[tileaa.RoundedOp](op).Rounding() == def.RoundApprox && f.has("tanh.approx.f32") {
		f.unary(op, func(m real, x reg) reg { return m.op1("tanh.approx.f32", x) })
		return
	}
	f.unary(op, real.tanh)
}

// powiTile: |x|^n by pow, whose error does not grow with n; the sign is that of x when n is odd.
func powiTile(f *fn, op *ir.Op) {
	p := ir.Cast[tileaa.Powi](op)
	x, n := f.tileFor(p.Source()), f.tileFor(p.Exponent())
	elem := elemOf(op.Result(0))
	apply := func(r []reg) reg {
		m := f.real(r[0].k)
		i := r[1]
		if i.k.bits() < 32 {
			i = f.sext(i, kI32)
		}
		y := f.op1("cvt.rn."+floatSuffix[m.k]+"."+intSuffix[i.k][1], i)
		ylow := m.num(0)
		if r[1].k.bits() > m.mantissa()+1 {
			rounded := f.op1("cvt.rzi."+intSuffix[i.k][1]+"."+floatSuffix[m.k], y)
			ylow = f.op1("cvt.rn."+floatSuffix[m.k]+"."+intSuffix[i.k][1], f.sub(i, rounded))
		}
		p := m.powPair(f.fabs(r[0]), y, ylow)
		odd := f.icmp(ne, f.and(i, con(i.k, 1)), con(i.k, 0))
		return f.sel(odd, m.withSign(p, r[0]), p)
	}
	if kindOf(elem).float() {
		f.set(op, f.each(elem, apply, x, n))
		return
	}
	out := f.each(f.ctx.Float(float.F32), apply, f.widened(x), n)
	f.set(op, f.narrowed(elem, f.all(out), ".rn"))
}

func (m real) rsqrt(x reg, ftz string) reg {
	if m.k == kF32 {
		return m.op1("rsqrt.approx"+ftz+".f32", x)
	}
	return m.fdiv(m.num(1), m.op1("sqrt.rn.f64", x))
}

// remainder is x - trunc(x/y)*y, exactly, by long division in f64: a digit of up to 52 bits a turn,
//
//	q = trunc(r / (y*2^n)),  r = r - q*(y*2^n)       with n such that q < 2^52
//
// The quotient is rounded toward zero, so q is right, and the difference is a multiple of the smaller operand's last place below
// y*2^n, so the fma is exact. f32 numbers are normal f64 numbers; f64 numbers below the normal range are first scaled.
func (m real) remainder(x, y reg) reg {
	bad := m.or(m.isNaN(x, y), m.or(m.equal(y, m.num(0)), m.equal(m.fabs(x), m.infinity())))
	ax, ay := m.fabs(x), m.fabs(y)
	d := m.real(kF64)
	r, by := ax, ay
	if m.k == kF32 {
		r, by = m.op1("cvt.f64.f32", ax), m.op1("cvt.f64.f32", ay)
	}
	more := m.and(m.not(bad), d.fcmp(enum.FPredOGE, r, by))
	// Infinite y leaves x as it is: r >= y is false.
	r = m.ifThen(more, []reg{r}, func() []reg {
		ey := d.exponent(by)
		return d.loopWhile([]reg{r}, func(s []reg) ([]reg, reg) {
			n := d.minmax(d.sub(d.sub(d.exponent(s[0]), ey), i32(51)), i32(0), true, true)
			step := d.ldexp(by, n)
			q := d.op1("cvt.rzi.f64.f64", d.op1("div.rz.f64", s[0], step))
			next := d.fma(d.fneg(q), step, s[0])
			return []reg{next}, d.fcmp(enum.FPredOGE, next, by)
		})
	})[0]
	if m.k == kF32 {
		r = m.op1("cvt.rn.f32.f64", r)
	}
	return m.sel(bad, m.nan(), m.withSign(r, x))
}

// exponent is the exponent of a positive f64, below the normal range too.
func (m real) exponent(x reg) reg {
	bits := m.raw(x)
	field := m.trunc(m.lshr(bits, 52), kI32)
	small := m.sub(i32(12), m.op1("clz.b64", bits)) // bit 51 leads when the count is 12
	return m.sel(m.icmp(eq, field, i32(0)), small, field)
}

// ldexp is x * 2^n for n >= 0, in steps of factors that are numbers.
func (m real) ldexp(x, n reg) reg {
	for range 3 {
		part := m.minmax(n, i32(1000), true, false)
		x = m.fmul(x, m.powerOfTwo(part))
		n = m.sub(n, part)
	}
	return x
}
