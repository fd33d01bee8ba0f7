package emu

import (
	"math/bits"
)

// sx sign-extends the low n bits.
func sx(v uint64, n int) int64 { return int64(v<<(64-n)) >> (64 - n) }

// arithOp is an operation whose result has the type of its two operands, on integers that are zero-extended to 64 bits; for signed types
// it sees them sign-extended. The result is cut to the type's width.
type arithOp struct {
	s      func(a, b int64) int64
	u      func(a, b uint64) uint64
	carry  carryFn // of the form .cc; nil: there is none
	whole  bool    // there is no packed form
	loop32 vecFn   // hand-written loops for what kernels execute most: of 32 bits
	loop64 vecFn   // and of 64
}

var (
	addOp = &arithOp{s: func(a, b int64) int64 { return a + b }, u: func(a, b uint64) uint64 { return a + b }, carry: bits.Add64,
		loop32: func(d, a, b, _ *vec) {
			for i := range d {
				d[i] = uint64(uint32(a[i]) + uint32(b[i]))
			}
		},
		loop64: func(d, a, b, _ *vec) {
			for i := range d {
				d[i] = a[i] + b[i]
			}
		}}
	subOp = &arithOp{s: func(a, b int64) int64 { return a - b }, u: func(a, b uint64) uint64 { return a - b }, carry: bits.Sub64,
		loop32: func(d, a, b, _ *vec) {
			for i := range d {
				d[i] = uint64(uint32(a[i]) - uint32(b[i]))
			}
		},
		loop64: func(d, a, b, _ *vec) {
			for i := range d {
				d[i] = a[i] - b[i]
			}
		}}
	minOp = &arithOp{s: func(a, b int64) int64 { return min(a, b) }, u: func(a, b uint64) uint64 { return min(a, b) }}
	maxOp = &arithOp{s: func(a, b int64) int64 { return max(a, b) }, u: func(a, b uint64) uint64 { return max(a, b) }}
	// Division by zero gives a value that the ISA leaves open; hardware gives all ones.
	divOp = &arithOp{whole: true, s: func(a, b int64) int64 {
		if b == 0 {
			return -1
		}
		return a / b
	}, u: func(a, b uint64) uint64 {
		if b == 0 {
			return ^uint64(0)
		}
		return a / b
	}}
	remOp = &arithOp{whole: true, s: func(a, b int64) int64 {
		if b == 0 {
			return a
		}
		return a % b
	}, u: func(a, b uint64) uint64 {
		if b == 0 {
			return a
		}
		return a % b
	}}
)

// vec makes the vector function.
func (op *arithOp) vec(t typ) vecFn {
	switch {
	case t.n == 1 && t.bits == 32 && op.loop32 != nil:
		return op.loop32
	case t.n == 1 && t.bits == 64 && op.loop64 != nil:
		return op.loop64
	}
	mask := widthMask(t.bits)
	one := func(a, b uint64) uint64 { return op.u(a, b) & mask }
	if t.isSigned() {
		one = func(a, b uint64) uint64 { return uint64(op.s(sx(a, t.bits), sx(b, t.bits))) & mask }
	}
	if t.n == 2 {
		return lift2(func(a, b uint64) uint64 {
			return one(a&0xffff, b&0xffff) | one(a>>16&0xffff, b>>16&0xffff)<<16
		})
	}
	return lift2(one)
}

// decode takes an operation of any type, with .cc where there is a carry.
func (op *arithOp) decode(d *decoder) {
	if t := d.peekType(); t.isFloat() {
		decodeFloat2(d, t)
		return
	}
	if !d.nargs(3, 3) {
		return
	}
	if op.carry != nil && d.flag("cc") {
		d.carryOp(op.carry, false)
		return
	}
	sat := d.flag("sat")
	t := d.typ1()
	if t.n == 2 && op.whole {
		d.lacks("%s on %s", d.base, t.named)
		return
	}
	d.dst()
	d.src(1, t)
	d.src(2, t)
	d.in.vec = op.vec(t)
	if sat {
		if t.named != "s32" {
			d.lacks(".sat needs .s32")
		}
		f := op.s
		d.in.vec = lift2(func(a, b uint64) uint64 {
			return uint64(uint32(min(max(f(sx(a, 32), sx(b, 32)), -1<<31), 1<<31-1)))
		})
	}
	if op.carry != nil && !sat {
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

// decodeMul: mul of any type, that of integers with .lo, .hi or .wide.
func decodeMul(d *decoder) {
	if t := d.peekType(); t.isFloat() {
		decodeFloat2(d, t)
		return
	}
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
		sum = t.twice()
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
	if len(d.st.args) == 4 {
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
func (d *decoder) carryOp(f carryFn, useCarry bool) {
	setCarry := !useCarry || d.flag("cc")
	t := d.typ1()
	d.dst()
	d.src(1, t)
	d.src(2, t)
	d.in.kind = kExec
	d.in.exec = func(w *warp, in *inst, m uint32) {
		w.propagate(in, m)
		a, b := w.src(in.src[0]), w.src(in.src[1])
		w.addCarry(in, m, a, b, t, f, useCarry, setCarry)
	}
}

// carryFn adds or subtracts; of a difference the carry is a borrow.
type carryFn func(x, y, carry uint64) (v, out uint64)

// addCarry adds or subtracts with the carry flag.
func (w *warp) addCarry(in *inst, m uint32, a, b *vec, t typ, f carryFn, use, set bool) {
	var v vec
	var out uint32
	for i := range v {
		var c uint64
		if use {
			c = uint64(w.carry >> i & 1)
		}
		x, y := a[i]<<(64-t.bits), b[i]<<(64-t.bits)
		s, co := f(x, y, 0)
		s, co2 := f(s, c<<(64-t.bits), 0)
		v[i] = s >> (64 - t.bits)
		out |= uint32(co|co2) << i
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

func decodeAddc(d *decoder) { d.carryOp(bits.Add64, true) }

func decodeSubc(d *decoder) { d.carryOp(bits.Sub64, true) }

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
		w.addCarry(in, m, &p, w.src(in.src[2]), t, bits.Add64, useCarry, setCarry)
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

// decodeDp4a: dp4a.atype.btype d, a, b, c: the dot product of four bytes.
func decodeDp4a(d *decoder) {
	ta, tb := d.dotOperands()
	d.in.vec = lift3(func(a, b, c uint64) uint64 {
		s := int64(c)
		for k := range 4 {
			s += dotElement(a, 8*k, 8, ta) * dotElement(b, 8*k, 8, tb)
		}
		return uint64(uint32(s))
	})
}

// decodeDp2a: dp2a.{lo,hi}.atype.btype d, a, b, c: the dot product of two halves and two bytes; the other bytes of b take no part.
func decodeDp2a(d *decoder) {
	shift := 0
	if d.oneOf("lo", "hi") == "hi" {
		shift = 16
	}
	ta, tb := d.dotOperands()
	d.in.rule = func(w *warp, in *inst, m uint32) {
		lanes(m, func(i int) {
			u := w.ub(in.src[0], i) | w.ub(in.src[1], i)&(0xffff<<shift) | w.ub(in.src[2], i)
			if u &= in.dmask; u != 0 {
				u = in.dmask
			}
			w.setUB(in.dst[0], i, u)
		})
	}
	d.in.vec = lift3(func(a, b, c uint64) uint64 {
		s := int64(c)
		for k := range 2 {
			s += dotElement(a, 16*k, 16, ta) * dotElement(b, shift+8*k, 8, tb)
		}
		return uint64(uint32(s))
	})
}

// dotOperands adds the operands of a dot product and gives the types of the elements.
func (d *decoder) dotOperands() (a, b typ) {
	ts := d.types()
	if len(ts) != 2 {
		d.malformed("two types expected")
		return a, b
	}
	d.dst()
	for i := 1; i <= 3; i++ {
		d.src(i, types["b32"])
	}
	return ts[0], ts[1]
}

// dotElement is the element of n bits at a bit.
func dotElement(v uint64, at, n int, t typ) int64 {
	if t.isSigned() {
		return sx(v>>at, n)
	}
	return int64(v >> at & widthMask(n))
}

// decodeAbs: abs of any type.
func decodeAbs(d *decoder) {
	if d.peekType().isFloat() {
		d.floatSign(func(a, sign uint64) uint64 { return a &^ sign })
		return
	}
	t := d.unary()
	mask := t.mask()
	d.in.vec = lift1(func(a uint64) uint64 {
		if s := sx(a, t.bits); s < 0 {
			return uint64(-s) & mask
		}
		return a
	})
}

// decodeNeg: neg of any type.
func decodeNeg(d *decoder) {
	if d.peekType().isFloat() {
		d.floatSign(func(a, sign uint64) uint64 { return a ^ sign })
		return
	}
	mask := d.unary().mask()
	d.in.rule = ruleUp
	d.in.vec = lift1(func(a uint64) uint64 { return -a & mask })
}
