package nvvm

import "github.com/llir/llvm/ir/enum"

// extension says what an integer was made of, so that what is made of it follows from there: ptxas extends an operand of 8 or 16 bits at every
// use of its sign or of its high bits, because what is above it in its register is not known.
//
//	a = zext i8 x to i16                  a' = zext i8 x to i32
//	b = zext i8 y to i16                  b' = zext i8 y to i32
//	m = min.s16 a, b              =>      m' = min.s32 a', b'
//	c = icmp slt i16 m, z                 c  = icmp slt i32 m', z'
type extension struct {
	source     reg  // what it was extended from or cut off
	bySign     bool // how the source becomes wider
	sign, zero bool // extended by its sign, or by zeros, the integer is the source made as wide
}

// extended remembers the extension of an integer.
func (b *builder) extended(x reg, e extension) reg {
	if !x.isConst() {
		b.extensions[x.id] = e
	}
	return x
}

// extensionOf is what an integer was made of, as far as extending it by its sign or by zeros asks for. That of a constant is itself.
func (b *builder) extensionOf(x reg, bySign bool) (e extension, ok bool) {
	if x.isConst() {
		small := x.sint() >= 0
		return extension{source: x, bySign: bySign, sign: bySign || small, zero: !bySign || small}, true
	}
	e, ok = b.extensions[x.id]
	return e, ok && (bySign && e.sign || !bySign && e.zero)
}

// extend is zext or sext of an integer that is narrower and no constant, which make makes of what is not known otherwise.
func (b *builder) extend(x reg, to kind, bySign bool, make func() reg) reg {
	if e, ok := b.extensionOf(x, bySign); ok {
		r := b.resize(e.source, to, e.bySign)
		if r.k.bits() < e.source.k.bits() {
			b.extended(r, e)
		}
		return r
	}
	return b.extended(make(), extension{source: x, bySign: bySign, sign: true, zero: !bySign})
}

// minmaxNarrow is the smaller or larger integer of 8 or 16 bits: computed in 32 bits, but where the GPU has instructions for 16 bits and
// an operand is not there in 32.
func (f *fn) minmaxNarrow(name string, x, y reg, bySign, larger bool) reg {
	ex, knownX := f.extensionOf(x, bySign)
	ey, knownY := f.extensionOf(y, bySign)
	if x.k == kI16 && f.has("min.s16x2") && !(knownX && knownY) {
		return f.op1(name+"16", x, y)
	}
	smallX, smallY := knownX && ex.sign && ex.zero, knownY && ey.sign && ey.zero // not negative, read as signed
	small := smallX && smallY || (smallX || smallY) && larger == bySign
	wide := f.op1(name+"32", f.resize(x, kI32, bySign), f.resize(y, kI32, bySign))
	return f.extended(f.trunc(wide, x.k), extension{source: wide, bySign: bySign, sign: bySign || small, zero: !bySign || small})
}

// compareNarrow compares integers of 8 or 16 bits in 32, if they are there in 32.
func (f *fn) compareNarrow(p enum.IPred, x, y reg, bySign bool) (r reg, ok bool) {
	_, knownX := f.extensionOf(x, bySign)
	_, knownY := f.extensionOf(y, bySign)
	if !knownX || !knownY {
		return r, false
	}
	return f.icmp(p, f.resize(x, kI32, bySign), f.resize(y, kI32, bySign)), true
}
