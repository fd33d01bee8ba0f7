package emu

import "math/bits"

// logicOp is and, or, xor: on a register, on the bits of a lane, and on predicates with their undefined bits.
type logicOp struct {
	vec  vecFn
	lane func(a, b, c uint64) uint64
	pred func(a, b, ua, ub uint32) (v, u uint32)
}

// An undefined operand that cannot change the result leaves it defined.
var (
	andOp = &logicOp{func(d, a, b, _ *vec) {
		for i := range d {
			d[i] = a[i] & b[i]
		}
	}, func(a, b, _ uint64) uint64 { return a & b },
		func(a, b, ua, ub uint32) (v, u uint32) { return a & b, (ua | ub) & (a | ua) & (b | ub) }}
	orOp = &logicOp{func(d, a, b, _ *vec) {
		for i := range d {
			d[i] = a[i] | b[i]
		}
	}, func(a, b, _ uint64) uint64 { return a | b },
		func(a, b, ua, ub uint32) (v, u uint32) { return a | b, (ua | ub) & (^a | ua) & (^b | ub) }}
	xorOp = &logicOp{func(d, a, b, _ *vec) {
		for i := range d {
			d[i] = a[i] ^ b[i]
		}
	}, func(a, b, _ uint64) uint64 { return a ^ b },
		func(a, b, ua, ub uint32) (v, u uint32) { return a ^ b, ua | ub }}
)

func (op *logicOp) decode(d *decoder) {
	if d.flag("pred") {
		d.predDst(&d.st.args[0])
		d.predSrc(&d.st.args[1])
		d.predSrc(&d.st.args[2])
		d.in.kind = kExec
		d.in.exec = func(w *warp, in *inst, m uint32) {
			v, u := op.pred(w.pred(in.psrc[0]), w.pred(in.psrc[1]), w.predUndef(in.psrc[0]), w.predUndef(in.psrc[1]))
			w.setPred(in.pdst[0], m, v, u)
		}
		return
	}
	t := d.typ1()
	d.dst()
	d.src(1, t)
	d.src(2, t)
	d.in.vec = op.vec
	d.in.rule = ruleBits(op.lane)
}

func decodeNot(d *decoder) {
	if d.flag("pred") {
		d.predDst(&d.st.args[0])
		d.predSrc(&d.st.args[1])
		d.in.kind = kExec
		d.in.exec = func(w *warp, in *inst, m uint32) {
			w.setPred(in.pdst[0], m, ^w.pred(in.psrc[0]), w.predUndef(in.psrc[0]))
		}
		return
	}
	mask := d.unary().mask()
	d.in.rule = rule1(func(u uint64) uint64 { return u })
	d.in.vec = lift1(func(a uint64) uint64 { return ^a & mask })
}

// decodeCnot: cnot d, a: 1 where a is 0, else 0.
func decodeCnot(d *decoder) {
	d.unary()
	d.in.vec = lift1(func(a uint64) uint64 {
		if a == 0 {
			return 1
		}
		return 0
	})
}

// decodeLop3: lop3.b32 d, a, b, c, immLut: bit i of the table is the result for a,b,c = i (section 9.7.8.7).
func decodeLop3(d *decoder) {
	boolOp := d.oneOf("or", "and")
	d.typ1()
	args := d.st.args
	if args[0].pair != nil || boolOp != "" {
		d.lacks("lop3 with a predicate")
		return
	}
	d.dst()
	for i := 1; i <= 3; i++ {
		d.src(i, types["b32"])
	}
	if args[4].kind != argInt {
		d.malformed("the table of lop3 must be a number")
	}
	lut := args[4].val
	f := func(a, b, c uint64) uint64 {
		var r uint64
		for k := range 8 {
			if lut>>k&1 == 0 {
				continue
			}
			x, y, z := ^a, ^b, ^c
			if k&4 != 0 {
				x = a
			}
			if k&2 != 0 {
				y = b
			}
			if k&1 != 0 {
				z = c
			}
			r |= x & y & z
		}
		return r & widthMask(32)
	}
	d.in.vec = lift3(f)
	d.in.rule = ruleBits(f)
}

// decodeShl: an amount above the width gives 0.
func decodeShl(d *decoder) {
	t := d.typ1()
	n, mask := t.bits, t.mask()
	d.shift(t, func(a, b, _ uint64) uint64 {
		if uint32(b) >= uint32(n) {
			return 0
		}
		return a << uint32(b) & mask
	})
}

// decodeShr: an amount above the width gives 0 or the sign.
func decodeShr(d *decoder) {
	t := d.typ1()
	n, mask := t.bits, t.mask()
	if t.isSigned() {
		d.shift(t, func(a, b, _ uint64) uint64 { return uint64(sx(a, n)>>min(uint32(b), 63)) & mask })
		return
	}
	d.shift(t, func(a, b, _ uint64) uint64 {
		if uint32(b) >= uint32(n) {
			return 0
		}
		return a & mask >> uint32(b)
	})
}

func (d *decoder) shift(t typ, f func(a, b, c uint64) uint64) {
	d.dst()
	d.src(1, t)
	d.src(2, types["b32"])
	d.in.vec = lift2(func(a, b uint64) uint64 { return f(a, b, 0) })
	d.in.rule = ruleThrough(f)
}

// decodeShf: shf.{l,r}.{clamp,wrap}.b32 d, a, b, c: a shift of the pair b:a.
func decodeShf(d *decoder) {
	left := d.oneOf("l", "r") == "l"
	wrap := d.oneOf("clamp", "wrap") == "wrap"
	d.flag("b32")
	d.dst()
	for i := 1; i <= 3; i++ {
		d.src(i, types["b32"])
	}
	f := func(a, b, c uint64) uint64 {
		n := c & 31
		if !wrap {
			n = min(c, 32)
		}
		x := b<<32 | a
		if left {
			return x << n >> 32
		}
		return x >> n & widthMask(32)
	}
	d.in.vec = lift3(f)
	d.in.rule = func(w *warp, in *inst, m uint32) {
		lanes(m, func(i int) {
			u := f(w.ub(in.src[0], i)&widthMask(32), w.ub(in.src[1], i)&widthMask(32), w.src(in.src[2])[i])
			if w.ub(in.src[2], i) != 0 {
				u = in.dmask
			}
			w.setUB(in.dst[0], i, u)
		})
	}
}

// unary adds destination and source of an instruction with one type, and gives that.
func (d *decoder) unary() typ {
	t := d.typ1()
	d.dst()
	d.src(1, t)
	return t
}

func decodePopc(d *decoder) {
	d.unary()
	d.in.vec = lift1(func(a uint64) uint64 { return uint64(bits.OnesCount64(a)) })
}

func decodeClz(d *decoder) {
	n := d.unary().bits
	d.in.vec = lift1(func(a uint64) uint64 { return uint64(bits.LeadingZeros64(a) - (64 - n)) })
}

func decodeBrev(d *decoder) {
	n := d.unary().bits
	f := func(a uint64) uint64 { return bits.Reverse64(a) >> (64 - n) }
	d.in.rule = rule1(f)
	d.in.vec = lift1(f)
}

// decodeBfind: bfind{.shiftamt}: the place of the highest bit that is no sign.
func decodeBfind(d *decoder) {
	amount := d.flag("shiftamt")
	t := d.unary()
	n := t.bits
	d.in.vec = lift1(func(a uint64) uint64 {
		if t.isSigned() && a>>(n-1) != 0 {
			a = ^a & widthMask(n)
		}
		if a == 0 {
			return widthMask(32)
		}
		p := 63 - bits.LeadingZeros64(a)
		if amount {
			p = n - 1 - p
		}
		return uint64(p)
	})
}

// decodeBfe: bfe d, a, pos, len: the field, sign-extended for signed types (section 9.7.1.20).
func decodeBfe(d *decoder) {
	t := d.typ1()
	d.dst()
	d.src(1, t)
	d.src(2, types["u32"])
	d.src(3, types["u32"])
	n := t.bits
	f := func(a, b, c uint64) uint64 {
		pos, length := int(b&0xff), int(c&0xff)
		if length == 0 {
			return 0
		}
		top := min(pos+length-1, n-1)
		if pos > n-1 {
			if t.isSigned() && a>>(n-1)&1 != 0 {
				return widthMask(n)
			}
			return 0
		}
		width := top - pos + 1
		v := a >> pos & widthMask(width)
		if t.isSigned() && a>>top&1 != 0 {
			v |= ^widthMask(width)
		}
		return v & widthMask(n)
	}
	d.in.vec = lift3(f)
	d.in.rule = ruleThrough(f)
}

// decodeBfi: bfi d, a, b, pos, len: a's field is put into b. Four sources, so it executes by itself.
func decodeBfi(d *decoder) {
	t := d.typ1()
	d.dst()
	d.src(1, t)
	d.src(2, t)
	d.src(3, types["u32"])
	d.src(4, types["u32"])
	n := t.bits
	f := func(a, b, p, l uint64) uint64 {
		pos, length := int(p&0xff), int(l&0xff)
		if pos >= n || length == 0 {
			return b
		}
		m := widthMask(min(length, n-pos)) << pos
		return b&^m | a<<pos&m
	}
	d.in.kind = kExec
	d.in.rule = func(w *warp, in *inst, m uint32) {
		lanes(m, func(i int) {
			u := f(w.ub(in.src[0], i)&t.mask(), w.ub(in.src[1], i)&t.mask(), w.src(in.src[2])[i], w.src(in.src[3])[i])
			if w.ub(in.src[2], i)|w.ub(in.src[3], i) != 0 {
				u = t.mask()
			}
			w.setUB(in.dst[0], i, u)
		})
	}
	d.in.exec = func(w *warp, in *inst, m uint32) {
		w.propagate(in, m)
		a, b, p, l := w.src(in.src[0]), w.src(in.src[1]), w.src(in.src[2]), w.src(in.src[3])
		var v vec
		for i := range v {
			v[i] = f(a[i], b[i], p[i], l[i])
		}
		blendDefined(w, in.dst[0], m, &v)
	}
}

// decodeBmsk: bmsk.{clamp,wrap}.b32 d, pos, len; decodeSzext: szext.{clamp,wrap}.type d, a, width.
func decodeBmsk(d *decoder) {
	wrap := d.oneOf("clamp", "wrap") == "wrap"
	d.typ1()
	d.dst()
	d.src(1, types["b32"])
	d.src(2, types["b32"])
	d.in.vec = lift2(func(a, b uint64) uint64 {
		if wrap {
			a, b = a&31, b&31
		}
		if a >= 32 {
			return 0
		}
		return widthMask(int(min(b, 32))) << a & widthMask(32)
	})
}

func decodeSzext(d *decoder) {
	wrap := d.oneOf("clamp", "wrap") == "wrap"
	t := d.typ1()
	d.dst()
	d.src(1, t)
	d.src(2, types["u32"])
	d.in.vec = lift2(func(a, b uint64) uint64 {
		if wrap {
			b &= 31
		}
		n := int(min(b, 32))
		if n == 0 {
			return 0
		}
		if t.isSigned() {
			return uint64(uint32(sx(a, n)))
		}
		return a & widthMask(n)
	})
}

// decodePrmt: prmt.b32{.mode} d, a, b, c: picks bytes of b:a (section 9.7.9.7).
func decodePrmt(d *decoder) {
	d.flag("b32")
	mode := d.oneOf("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")
	d.dst()
	for i := 1; i <= 3; i++ {
		d.src(i, types["b32"])
	}
	f := func(a, b, c uint64) uint64 { return prmt(mode, a, b, c) }
	d.in.vec = lift3(f)
	d.in.rule = func(w *warp, in *inst, m uint32) {
		lanes(m, func(i int) {
			// A replicated sign bit is undefined exactly when its source bit is.
			u := prmt(mode, w.ub(in.src[0], i)&widthMask(32), w.ub(in.src[1], i)&widthMask(32), w.src(in.src[2])[i])
			if w.ub(in.src[2], i) != 0 {
				u = in.dmask
			}
			w.setUB(in.dst[0], i, u)
		})
	}
}

func prmt(mode string, a, b, c uint64) uint64 {
	x := b<<32 | a
	var r uint64
	for k := range 4 {
		n := c & 3
		var sel uint64
		sign := false
		switch mode {
		case "":
			sel = c >> (4 * k) & 7
			sign = c>>(4*k)&8 != 0
		case "f4e":
			sel = n + uint64(k)
		case "b4e":
			sel = (n - uint64(k)) & 7
		case "rc8":
			sel = n
		case "ecl":
			sel = max(n, uint64(k))
		case "ecr":
			sel = min(n, uint64(k))
		case "rc16":
			sel = n&1*2 + uint64(k&1)
		}
		v := x >> (8 * sel) & 0xff
		if sign {
			v = uint64(uint8(int8(v) >> 7))
		}
		r |= v << (8 * k)
	}
	return r
}
