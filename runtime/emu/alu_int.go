package emu

import (
	"math/bits"
)

// sx sign-extends the low n bits.
func sx(v uint64, n int) int64 { return int64(v<<(64-n)) >> (64 - n) }

// intFn is an integer operation on values that are zero-extended to 64 bits; for signed types the
// operation sees them sign-extended. The result is cut to the type's width.
type intFn struct {
	s func(a, b int64) int64
	u func(a, b uint64) uint64
}

// intOps are the two-operand integer operations whose result has the type of the operands.
var intOps = map[string]intFn{
	"add": {func(a, b int64) int64 { return a + b }, func(a, b uint64) uint64 { return a + b }},
	"sub": {func(a, b int64) int64 { return a - b }, func(a, b uint64) uint64 { return a - b }},
	"min": {func(a, b int64) int64 { return min(a, b) }, func(a, b uint64) uint64 { return min(a, b) }},
	"max": {func(a, b int64) int64 { return max(a, b) }, func(a, b uint64) uint64 { return max(a, b) }},
	// Division by zero gives a value that the ISA leaves open; hardware gives all ones.
	"div": {func(a, b int64) int64 {
		if b == 0 {
			return -1
		}
		return a / b
	}, func(a, b uint64) uint64 {
		if b == 0 {
			return ^uint64(0)
		}
		return a / b
	}},
	"rem": {func(a, b int64) int64 {
		if b == 0 {
			return a
		}
		return a % b
	}, func(a, b uint64) uint64 {
		if b == 0 {
			return a
		}
		return a % b
	}},
}

// int2 makes the vector function of a two-operand integer operation.
func int2(op string, t typ) vecFn {
	if fast := fastInt[op+"."+itoa(t.bits)]; fast != nil && t.n == 1 {
		return fast
	}
	f := intOps[op]
	mask := widthMask(t.bits)
	one := func(a, b uint64) uint64 { return f.u(a, b) & mask }
	if t.isSigned() {
		one = func(a, b uint64) uint64 { return uint64(f.s(sx(a, t.bits), sx(b, t.bits))) & mask }
	}
	if t.n == 2 {
		return lift2(func(a, b uint64) uint64 {
			return one(a&0xffff, b&0xffff) | one(a>>16&0xffff, b>>16&0xffff)<<16
		})
	}
	return lift2(one)
}

// fastInt are hand-written loops for what kernels execute most.
var fastInt = map[string]vecFn{
	"add.32": func(d, a, b, _ *vec) {
		for i := range d {
			d[i] = uint64(uint32(a[i]) + uint32(b[i]))
		}
	},
	"add.64": func(d, a, b, _ *vec) {
		for i := range d {
			d[i] = a[i] + b[i]
		}
	},
	"sub.32": func(d, a, b, _ *vec) {
		for i := range d {
			d[i] = uint64(uint32(a[i]) - uint32(b[i]))
		}
	},
	"sub.64": func(d, a, b, _ *vec) {
		for i := range d {
			d[i] = a[i] - b[i]
		}
	},
}

// decodeArith: add sub mul div min max of any type, with .cc forms of add and sub.
func decodeArith(d *decoder) {
	if t := d.peekType(); t.isFloat() {
		decodeFloat2(d, t)
		return
	}
	if !d.nargs(3, 3) {
		return
	}
	if d.flag("cc") {
		d.carryOp(false)
		return
	}
	switch d.base {
	case "mul":
		decodeMul(d)
		return
	}
	sat := d.flag("sat")
	t := d.typ1()
	if t.n == 2 && (d.base == "div" || d.base == "rem") || intOps[d.base].u == nil {
		d.lacks("%s on %s", d.base, t.named)
		return
	}
	d.dst()
	d.src(1, t)
	d.src(2, t)
	d.in.vec = int2(d.base, t)
	if sat {
		if t.named != "s32" {
			d.lacks(".sat needs .s32")
		}
		f := intOps[d.base].s
		d.in.vec = lift2(func(a, b uint64) uint64 {
			return uint64(uint32(min(max(f(sx(a, 32), sx(b, 32)), -1<<31), 1<<31-1)))
		})
	}
	if (d.base == "add" || d.base == "sub") && !sat {
		d.in.rule = ruleUp
	}
	if t.n == 2 {
		d.in.rule = rulePacked(16)
	}
}

// peekType gives the last type modifier, which names the type of the operation, without taking it.
func (d *decoder) peekType() (t typ) {
	for _, m := range d.mods {
		if x, ok := types[m]; ok {
			t = x
		}
	}
	return t
}

// decodeMul: mul.{lo,hi,wide}, integer.
func decodeMul(d *decoder) {
	part := d.oneOf("lo", "hi", "wide")
	t := d.typ1()
	d.dst()
	d.src(1, t)
	d.src(2, t)
	d.in.vec = mulFn(part, t)
	if part == "" {
		d.malformed("mul needs .lo, .hi or .wide")
	}
	d.widens(part, t)
	if part == "lo" {
		d.in.rule = ruleUp
	}
}

// widens notes a product of numbers of 32 bits without a sign.
func (d *decoder) widens(part string, t typ) {
	if part == "wide" && t.bits == 32 && !t.isSigned() {
		d.in.widened = 2
	}
}

// mulFn gives the integer product; wide doubles the width.
func mulFn(part string, t typ) vecFn {
	mask := t.mask()
	switch {
	case part == "lo" && t.bits == 32:
		return func(d, a, b, _ *vec) {
			for i := range d {
				d[i] = uint64(uint32(a[i]) * uint32(b[i]))
			}
		}
	case part == "lo":
		return lift2(func(a, b uint64) uint64 { return a * b & mask })
	case part == "wide" && t.isSigned():
		return func(d, a, b, _ *vec) {
			out := widthMask(2 * t.bits)
			for i := range d {
				d[i] = uint64(sx(a[i], t.bits)*sx(b[i], t.bits)) & out
			}
		}
	case part == "wide":
		return func(d, a, b, _ *vec) {
			for i := range d {
				d[i] = a[i] * b[i]
			}
		}
	case t.bits == 64 && t.isSigned():
		return lift2(func(a, b uint64) uint64 { return mulHigh(a, b) })
	case t.bits == 64:
		return lift2(func(a, b uint64) uint64 { h, _ := bits.Mul64(a, b); return h })
	case t.isSigned():
		return lift2(func(a, b uint64) uint64 { return uint64(sx(a, t.bits)*sx(b, t.bits)>>t.bits) & mask })
	}
	return lift2(func(a, b uint64) uint64 { return a * b >> t.bits & mask })
}

// mulHigh is the high half of the signed 64-bit product.
func mulHigh(a, b uint64) uint64 {
	h, _ := bits.Mul64(a, b)
	if int64(a) < 0 {
		h -= b
	}
	if int64(b) < 0 {
		h -= a
	}
	return h
}

// decodeMad: mad.{lo,hi,wide}, mad.hi.sat.s32, mad.cc, and the old float spelling mad.rn.f32.
func decodeMad(d *decoder) {
	if t := d.peekType(); t.isFloat() {
		decodeFma(d)
		return
	}
	if d.flag("cc") {
		d.carryMad(false)
		return
	}
	part := d.oneOf("lo", "hi", "wide")
	sat := d.flag("sat")
	t := d.typ1()
	sum := t
	if part == "wide" {
		sum.bits *= 2
	}
	d.dst()
	d.src(1, t)
	d.src(2, t)
	d.src(3, sum)
	d.widens(part, t)
	mul, mask := mulFn(part, t), sum.mask()
	d.in.vec = func(dst, a, b, c *vec) {
		var p vec
		mul(&p, a, b, nil)
		for i := range dst {
			dst[i] = (p[i] + c[i]) & mask
		}
	}
	if sat {
		d.in.vec = lift3(func(a, b, c uint64) uint64 {
			p := sx(a, 32) * sx(b, 32) >> 32
			return uint64(uint32(min(max(p+sx(c, 32), -1<<31), 1<<31-1)))
		})
	}
	if part == "lo" {
		d.in.rule = ruleUp
	}
}

// decodeMul24: mul24.{lo,hi} and mad24.lo of 24-bit integers in 32-bit registers.
func decodeMul24(d *decoder) {
	part := d.oneOf("lo", "hi")
	t := d.typ1()
	d.dst()
	d.src(1, t)
	d.src(2, t)
	mad := d.base == "mad24"
	if mad {
		d.src(3, t)
	}
	d.in.vec = lift3(func(a, b, c uint64) uint64 {
		var p uint64
		if t.isSigned() {
			p = uint64(sx(a, 24) * sx(b, 24))
		} else {
			p = a & (1<<24 - 1) * (b & (1<<24 - 1))
		}
		if part == "hi" {
			p >>= 16
		}
		return uint64(uint32(p + c))
	})
}

// carryOp: add.cc, addc{.cc}, sub.cc, subc{.cc}: the carry flag is a bit per lane (section 9.7.2).
func (d *decoder) carryOp(useCarry bool) {
	setCarry := !useCarry || d.flag("cc")
	t := d.typ1()
	sub := d.base == "sub" || d.base == "subc"
	d.dst()
	d.src(1, t)
	d.src(2, t)
	d.in.kind = kExec
	d.in.exec = func(w *warp, in *inst, m uint32) {
		w.propagate(in, m)
		a, b := w.src(in.src[0]), w.src(in.src[1])
		w.addCarry(in, m, a, b, t, sub, useCarry, setCarry)
	}
}

// addCarry adds (or subtracts: adds the complement, the flag is then a borrow) with the carry flag.
func (w *warp) addCarry(in *inst, m uint32, a, b *vec, t typ, sub, use, set bool) {
	var v vec
	var out uint32
	for i := range v {
		var c uint64
		if use {
			c = uint64(w.carry >> i & 1)
		}
		x, y := a[i]<<(64-t.bits), b[i]<<(64-t.bits)
		var s, co uint64
		if sub {
			s, co = bits.Sub64(x, y, 0)
			s2, co2 := bits.Sub64(s, c<<(64-t.bits), 0)
			s, co = s2, co|co2
		} else {
			s, co = bits.Add64(x, y, 0)
			s2, co2 := bits.Add64(s, c<<(64-t.bits), 0)
			s, co = s2, co|co2
		}
		v[i] = s >> (64 - t.bits)
		out |= uint32(co) << i
	}
	blendDefined(w, in.dst[0], m, &v)
	if set {
		w.carry = w.carry&^m | out&m
	}
}

// blendDefined stores values without touching what is undefined: the rule has done that.
func blendDefined(w *warp, o opnd, m uint32, v *vec) {
	if o >= 0 {
		blend(&w.regs[o], v, m)
	}
}

// propagate runs the undefined-bits rule of an instruction that executes by itself.
func (w *warp) propagate(in *inst, m uint32) {
	var un uint32
	for _, s := range in.src {
		un |= w.undefLanes(s)
	}
	if un&m != 0 {
		in.rule(w, in, m)
		return
	}
	for _, d := range in.dst {
		w.defined(d, m)
	}
}

func decodeAddc(d *decoder) { d.carryOp(true) }

// carryMad: mad.{lo,hi}.cc, madc.{lo,hi}{.cc}.
func (d *decoder) carryMad(useCarry bool) {
	setCarry := !useCarry || d.flag("cc")
	part := d.oneOf("lo", "hi")
	t := d.typ1()
	d.dst()
	d.src(1, t)
	d.src(2, t)
	d.src(3, t)
	mul := mulFn(part, t)
	d.in.kind = kExec
	d.in.exec = func(w *warp, in *inst, m uint32) {
		w.propagate(in, m)
		var p vec
		mul(&p, w.src(in.src[0]), w.src(in.src[1]), nil)
		w.addCarry(in, m, &p, w.src(in.src[2]), t, false, useCarry, setCarry)
	}
}

func decodeMadc(d *decoder) { d.carryMad(true) }

// decodeSad: sad d, a, b, c: c + |a-b|.
func decodeSad(d *decoder) {
	t := d.typ1()
	d.dst()
	for i := 1; i <= 3; i++ {
		d.src(i, t)
	}
	mask := t.mask()
	d.in.vec = lift3(func(a, b, c uint64) uint64 {
		less := a < b
		if t.isSigned() {
			less = sx(a, t.bits) < sx(b, t.bits)
		}
		if less {
			a, b = b, a
		}
		return (c + a - b) & mask
	})
}

// decodeDp: dp4a.atype.btype and dp2a.{lo,hi}: dot products of bytes.
func decodeDp(d *decoder) {
	half := ""
	if d.base == "dp2a" {
		half = d.oneOf("lo", "hi")
	}
	ts := d.types()
	if len(ts) != 2 {
		d.malformed("two types expected")
		return
	}
	d.dst()
	for i := 1; i <= 3; i++ {
		d.src(i, types["b32"])
	}
	elem := func(v uint64, at, n int, t typ) int64 {
		if t.isSigned() {
			return sx(v>>at, n)
		}
		return int64(v >> at & widthMask(n))
	}
	if used := map[string]uint64{"lo": 0xffff, "hi": 0xffff0000}[half]; used != 0 { // the other bytes of b take no part
		d.in.rule = func(w *warp, in *inst, m uint32) {
			lanes(m, func(i int) {
				u := w.ub(in.src[0], i) | w.ub(in.src[1], i)&used | w.ub(in.src[2], i)
				if u &= in.dmask; u != 0 {
					u = in.dmask
				}
				w.setUB(in.dst[0], i, u)
			})
		}
	}
	d.in.vec = lift3(func(a, b, c uint64) uint64 {
		s := int64(c)
		if d.base == "dp4a" {
			for k := range 4 {
				s += elem(a, 8*k, 8, ts[0]) * elem(b, 8*k, 8, ts[1])
			}
		} else {
			if half == "hi" {
				b >>= 16
			}
			for k := range 2 {
				s += elem(a, 16*k, 16, ts[0]) * elem(b, 8*k, 8, ts[1])
			}
		}
		return uint64(uint32(s))
	})
}

// decodeAbsNeg: abs and neg of any type.
func decodeAbsNeg(d *decoder) {
	t := d.peekType()
	if t.isFloat() {
		decodeFloat1(d, t)
		return
	}
	t = d.typ1()
	d.dst()
	d.src(1, t)
	mask := t.mask()
	if d.base == "neg" {
		d.in.rule = ruleUp
		d.in.vec = lift1(func(a uint64) uint64 { return -a & mask })
		return
	}
	d.in.vec = lift1(func(a uint64) uint64 {
		if s := sx(a, t.bits); s < 0 {
			return uint64(-s) & mask
		}
		return a
	})
}
