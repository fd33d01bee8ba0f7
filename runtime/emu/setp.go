package emu

import "math"

// cmpFn compares all lanes and gives those where it holds.
type cmpFn func(a, b *vec) uint32

// relations of the comparison operators (section 9.3): on less, equal, greater and unordered.
var relations = map[string]struct{ lt, eq, gt, un bool }{
	"eq": {eq: true}, "ne": {lt: true, gt: true}, "lt": {lt: true}, "le": {lt: true, eq: true},
	"gt": {gt: true}, "ge": {gt: true, eq: true},
	"lo": {lt: true}, "ls": {lt: true, eq: true}, "hi": {gt: true}, "hs": {gt: true, eq: true},
	"equ": {eq: true, un: true}, "neu": {lt: true, gt: true, un: true}, "ltu": {lt: true, un: true},
	"leu": {lt: true, eq: true, un: true}, "gtu": {gt: true, un: true}, "geu": {gt: true, eq: true, un: true},
	"num": {lt: true, eq: true, gt: true}, "nan": {un: true},
}

var cmpNames = []string{"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"}

// compare makes the comparison of type t.
func compare(op string, t typ, ftz bool) cmpFn {
	rel := relations[op]
	pick := func(lt, eq bool) bool {
		if lt {
			return rel.lt
		}
		if eq {
			return rel.eq
		}
		return rel.gt
	}
	each := func(f func(a, b uint64) bool) cmpFn {
		return func(a, b *vec) (m uint32) {
			for i := range a {
				if f(a[i], b[i]) {
					m |= 1 << i
				}
			}
			return m
		}
	}
	switch {
	case t.isFloat():
		val := comparedValue(t, ftz)
		return each(func(a, b uint64) bool {
			x, y := val(a), val(b)
			if x != x || y != y {
				return rel.un
			}
			return pick(x < y, x == y)
		})
	case rel.lt == rel.gt: // eq, ne
		want := rel.eq
		return func(a, b *vec) (m uint32) {
			for i := range a {
				if (a[i] == b[i]) == want {
					m |= 1 << i
				}
			}
			return m
		}
	case t.isSigned() && op[0] == 'l' && op != "lo" && op != "ls":
		n := t.bits
		return func(a, b *vec) (m uint32) {
			for i := range a {
				if x, y := sx(a[i], n), sx(b[i], n); x < y || rel.eq && x == y {
					m |= 1 << i
				}
			}
			return m
		}
	case t.isSigned() && op != "lo" && op != "ls" && op != "hi" && op != "hs":
		return each(func(a, b uint64) bool {
			x, y := sx(a, t.bits), sx(b, t.bits)
			return pick(x < y, x == y)
		})
	}
	return each(func(a, b uint64) bool { return pick(a < b, a == b) })
}

// comparedValue is the value of a float type; .ftz flushes all types here.
func comparedValue(t typ, ftz bool) func(v uint64) float64 {
	if ftz && t.bits < 32 {
		return func(v uint64) float64 { return t.fmt.value(t.fmt.flush(uint32(v))) }
	}
	return floatValue(t, ftz)
}

// boolOp combines a comparison with a predicate.
func boolOp(op string, a, b uint32) uint32 {
	switch op {
	case "and":
		return a & b
	case "or":
		return a | b
	case "xor":
		return a ^ b
	}
	return a
}

// decodeSetp: setp.cmp{.bool}{.ftz}.type p|q, a, b, {!}c; packed forms give p for the low half, q for the
// high one.
func decodeSetp(d *decoder) {
	cmp := d.oneOf(cmpNames...)
	combine := d.oneOf("and", "or", "xor")
	ftz := d.flag("ftz")
	t := d.typ1()
	if cmp == "" {
		d.malformed("no comparison")
		return
	}
	d.predDst(&d.st.args[0])
	if q := d.st.args[0].pair; q != nil {
		d.predDst(q)
	}
	d.src(1, t)
	d.src(2, t)
	if combine != "" {
		d.predSrc(d.arg(3))
	} else {
		d.nargs(3, 3)
	}
	d.in.kind = kExec
	if t.n == 2 {
		d.setpPacked(cmp, combine, t, ftz)
		return
	}
	f := compare(cmp, t, ftz)
	d.in.exec = func(w *warp, in *inst, m uint32) {
		v := f(w.src(in.src[0]), w.src(in.src[1]))
		u := w.undefLanes(in.src[0]) | w.undefLanes(in.src[1])
		w.setCombined(in, m, v, ^v, u, combine)
	}
}

// setCombined writes p = v op c and q = nv op c.
func (w *warp) setCombined(in *inst, m, v, nv, u uint32, combine string) {
	if combine != "" {
		c, uc := w.pred(in.psrc[0]), w.predUndef(in.psrc[0])
		both := u | uc
		switch combine { // an operand that decides alone keeps the result defined
		case "and":
			u = both & (v | u) & (c | uc)
		case "or":
			u = both & (^v | u) & (^c | uc)
		default:
			u = both
		}
		v, nv = boolOp(combine, v, c), boolOp(combine, nv, c)
		if len(in.pdst) > 1 {
			u = both
		}
	}
	w.setPred(in.pdst[0], m, v, u)
	if len(in.pdst) > 1 {
		w.setPred(in.pdst[1], m, nv, u)
	}
}

func (d *decoder) setpPacked(cmp, combine string, t typ, ftz bool) {
	one := t
	one.n = 1
	f := compare(cmp, one, ftz)
	d.in.exec = func(w *warp, in *inst, m uint32) {
		var a, b [2]vec
		x, y := w.src(in.src[0]), w.src(in.src[1])
		for i := range x {
			a[0][i], a[1][i] = x[i]&0xffff, x[i]>>16
			b[0][i], b[1][i] = y[i]&0xffff, y[i]>>16
		}
		u := w.undefLanes(in.src[0]) | w.undefLanes(in.src[1])
		w.setCombined(in, m, f(&a[0], &b[0]), f(&a[1], &b[1]), u, combine)
	}
}

// decodeSet: set.cmp{.bool}.dtype.stype d, a, b{, c}: all ones or 1.0 where it holds.
func decodeSet(d *decoder) {
	cmp := d.oneOf(cmpNames...)
	combine := d.oneOf("and", "or", "xor")
	ftz := d.flag("ftz")
	ts := d.types()
	if len(ts) != 2 || cmp == "" {
		d.malformed("comparison and two types expected")
		return
	}
	dt, t := ts[0], ts[1]
	d.dst()
	d.src(1, t)
	d.src(2, t)
	if combine != "" {
		d.predSrc(d.arg(3))
	} else {
		d.nargs(3, 3)
	}
	elem, yes := dt, widthMask(dt.bits)
	elem.n = 1
	if elem.isFloat() {
		yes = math.Float64bits(1)
		if elem.fmt != nil {
			yes = uint64(elem.fmt.round(1, rn, false))
		}
	}
	one := t
	one.n = 1
	f := compare(cmp, one, ftz)
	d.in.kind = kExec
	d.in.exec = func(w *warp, in *inst, m uint32) {
		w.propagate(in, m)
		a, b := w.src(in.src[0]), w.src(in.src[1])
		var v vec
		for k := range t.n {
			var x, y vec
			for i := range x {
				x[i], y[i] = a[i]>>(k*t.bits)&one.mask(), b[i]>>(k*t.bits)&one.mask()
			}
			r := f(&x, &y)
			if combine != "" {
				r = boolOp(combine, r, w.pred(in.psrc[0]))
			}
			for i := range v {
				if r>>i&1 != 0 {
					v[i] |= yes << (k * elem.bits)
				}
			}
		}
		blendDefined(w, in.dst[0], m, &v)
	}
}

// decodeSelp: selp.type d, a, b, p.
func decodeSelp(d *decoder) {
	t := d.typ1()
	if t.cls == clsPred {
		d.lacks("selp.pred")
		return
	}
	d.dst()
	d.src(1, t)
	d.src(2, t)
	d.predSrc(&d.st.args[3])
	d.in.kind = kExec
	d.in.exec = func(w *warp, in *inst, m uint32) {
		a, b, p := w.src(in.src[0]), w.src(in.src[1]), w.pred(in.psrc[0])
		un := w.undefLanes(in.src[0]) | w.undefLanes(in.src[1]) | w.predUndef(in.psrc[0])
		o := in.dst[0]
		if o < 0 {
			return
		}
		var u vec
		if un&m != 0 {
			up := w.predUndef(in.psrc[0])
			lanes(m, func(i int) {
				switch {
				case up>>i&1 != 0:
					u[i] = w.ub(in.src[0], i) | w.ub(in.src[1], i) | a[i] ^ b[i]
				case p>>i&1 != 0:
					u[i] = w.ub(in.src[0], i)
				default:
					u[i] = w.ub(in.src[1], i)
				}
			})
		}
		d := &w.regs[o]
		if m == fullMask {
			for i := range d {
				if p>>i&1 != 0 {
					d[i] = a[i]
				} else {
					d[i] = b[i]
				}
			}
		} else {
			lanes(m, func(i int) {
				if p>>i&1 != 0 {
					d[i] = a[i]
				} else {
					d[i] = b[i]
				}
			})
		}
		w.undef[o] &^= m
		if un&m != 0 {
			lanes(m, func(i int) { w.setUB(o, i, u[i]) })
		}
	}
}

// decodeSlct: slct.dtype.{s32,f32} d, a, b, c: a where c >= 0.
func decodeSlct(d *decoder) {
	ftz := d.flag("ftz")
	ts := d.types()
	if len(ts) != 2 {
		d.malformed("two types expected")
		return
	}
	d.dst()
	d.src(1, ts[0])
	d.src(2, ts[0])
	d.src(3, ts[1])
	d.in.vec = lift3(func(a, b, c uint64) uint64 {
		ok := sx(c, 32) >= 0
		if ts[1].isFloat() {
			x := f32(c)
			if ftz {
				x = ftz32(x)
			}
			ok = x >= 0
		}
		if ok {
			return a
		}
		return b
	})
}
