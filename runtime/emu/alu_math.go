package emu

import "math"

// decode takes a function of one number. Approximate forms are rounded correctly (the machine
// is allowed to be off by a few units), so results only depend on the input.
func (fn *mathFn) decode(d *decoder) {
	var o fopt
	var exactMode bool
	o.mode, exactMode = d.rounding()
	d.flag("approx")
	o.ftz = d.flag("ftz")
	ts := d.types()
	if len(ts) != 1 {
		d.malformed("one type expected")
		return
	}
	t := ts[0]
	d.needArithmetic(t)
	d.dst()
	d.src(1, t)
	switch {
	case t.named == "f64":
		exact := fn.exact64
		if exact == nil {
			exact = func(x float64, _ rnd) float64 { return fn.near(x) }
		}
		d.in.vec = lift1(func(a uint64) uint64 { return canon64(exact(f64(a), o.mode)) })
	case exactMode && t.named == "f32" && fn.odd != nil:
		d.in.vec = lift1(func(a uint64) uint64 {
			return o.finish32(f32(uint64(fmtF32.round(fn.odd(float64(o.in32(a))), o.mode, false))))
		})
	default:
		one := elements(t, func(a, _, _ uint32) uint32 {
			if o.ftz {
				a = t.fmt.flush(a)
			}
			v := t.fmt.round(fn.near(t.fmt.value(a)), rn, false)
			if o.ftz {
				v = t.fmt.flush(v)
			}
			return v
		})
		d.in.vec = lift1(func(a uint64) uint64 { return one(a, 0, 0) })
		d.in.rule = rulePacked(t.bits)
	}
}

// mathFn is a function: near is accurate to about an ulp of f64, so rounding it to f32 is correct but for values that are
// within 2^-28 ulp of a midpoint. Those with exact forms have odd, rounded to odd for f32, and exact64 in any mode. The machine's
// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 have about 20 good bits; here they have all.
type mathFn struct {
	near    func(x float64) float64
	odd     func(x float64) float64
	exact64 func(x float64, mode rnd) float64
}

var (
	rcpFn = &mathFn{func(x float64) float64 { return 1 / x }, func(x float64) float64 { return divOdd(1, x) },
		func(x float64, mode rnd) float64 { return div64(1, x, mode) }}
	sqrtFn  = &mathFn{math.Sqrt, sqrtOdd, sqrt64}
	rsqrtFn = &mathFn{near: func(x float64) float64 { return 1 / math.Sqrt(x) }}
	sinFn   = &mathFn{near: math.Sin}
	cosFn   = &mathFn{near: math.Cos}
	ex2Fn   = &mathFn{near: math.Exp2}
	tanhFn  = &mathFn{near: math.Tanh}
	lg2Fn   = &mathFn{near: func(x float64) float64 {
		if x > 0.7 && x < 1.4 { // math.Log2 cancels near 1
			return math.Log1p(x-1) * math.Log2E
		}
		return math.Log2(x)
	}}
)

// decodeTestp: testp.op.type p, a.
func decodeTestp(d *decoder) {
	op := d.oneOf("finite", "infinite", "number", "notanumber", "normal", "subnormal")
	t := d.typ1()
	d.predDst(&d.st.args[0])
	d.src(1, t)
	d.in.kind = kExec
	test := func(a uint64) bool {
		x := f64(a)
		tiny := a&^(1<<63) < 1<<52
		if t.named == "f32" {
			x = float64(f32(a))
			tiny = a&0x7f800000 == 0
		}
		inf, nan := math.IsInf(x, 0), x != x
		switch op {
		case "finite":
			return !inf && !nan
		case "infinite":
			return inf
		case "number":
			return !nan
		case "notanumber":
			return nan
		case "normal": // zeros are
			return !inf && !nan && (!tiny || x == 0)
		}
		return tiny && x != 0
	}
	d.in.exec = func(w *warp, in *inst, m uint32) {
		a := w.src(in.src[0])
		var v uint32
		for i := range a {
			if test(a[i]) {
				v |= 1 << i
			}
		}
		w.setPred(in.pdst[0], m, v, w.undefLanes(in.src[0]))
	}
}
