package emu

import "math"

// decodeMath: rcp sqrt rsqrt sin cos lg2 ex2 tanh. Approximate forms are rounded correctly (the machine
// is allowed to be off by a few units), so results only depend on the input.
func decodeMath(d *decoder) {
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
	f := mathFns[d.base]
	d.dst()
	d.src(1, t)
	switch {
	case t.named == "f64":
		d.in.vec = lift1(math64(d.base, o.mode, f))
	case exactMode && t.named == "f32" && (d.base == "rcp" || d.base == "sqrt"):
		root := d.base == "sqrt"
		d.in.vec = lift1(func(a uint64) uint64 {
			x := float64(o.in32(a))
			var r float64
			if root {
				r = sqrtOdd(x)
			} else {
				r = divOdd(1, x)
			}
			return o.finish32(f32(uint64(fmtF32.round(r, o.mode, false))))
		})
	default:
		one := elements(t, func(a, _, _ uint32) uint32 {
			if o.ftz {
				a = t.fmt.flush(a)
			}
			v := t.fmt.round(f(t.fmt.value(a)), rn, false)
			if o.ftz {
				v = t.fmt.flush(v)
			}
			return v
		})
		d.in.vec = lift1(func(a uint64) uint64 { return one(a, 0, 0) })
		d.in.rule = rulePacked(t.bits)
	}
}

// mathFns are accurate to about an ulp of f64, so rounding them to f32 is correct but for values that are
// within 2^-28 ulp of a midpoint.
var mathFns = map[string]func(x float64) float64{
	"rcp":   func(x float64) float64 { return 1 / x },
	"sqrt":  math.Sqrt,
	"rsqrt": func(x float64) float64 { return 1 / math.Sqrt(x) },
	"sin":   math.Sin,
	"cos":   math.Cos,
	"ex2":   math.Exp2,
	"tanh":  math.Tanh,
	"lg2": func(x float64) float64 {
		if x > 0.7 && x < 1.4 { // math.Log2 cancels near 1
			return math.Log1p(x-1) * math.Log2E
		}
		return math.Log2(x)
	},
}

// math64: rcp and sqrt are exact in any mode. The machine's rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64
// have about 20 good bits; here they have all.
func math64(op string, mode rnd, f func(float64) float64) func(a uint64) uint64 {
	switch op {
	case "rcp":
		return func(a uint64) uint64 { return canon64(div64(1, f64(a), mode)) }
	case "sqrt":
		return func(a uint64) uint64 { return canon64(sqrt64(f64(a), mode)) }
	}
	return func(a uint64) uint64 { return canon64(f(f64(a))) }
}

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
