package nvvm

import "math/bits"

// binop is a two-operand integer instruction of LLVM.
type binop uint8

const (
	opAdd binop = iota
	opSub
	opMul
	opUDiv
	opSDiv
	opURem
	opSRem
	opAnd
	opOr
	opXor
	opShl
	opLShr
	opAShr
	opFAdd
	opFSub
	opFMul
	opFDiv
)

func (op binop) commutative() bool {
	switch op {
	case opAdd, opMul, opAnd, opOr, opXor, opFAdd, opFMul:
		return true
	}
	return false
}

// fold evaluates an integer instruction on constants; ok is false for what has no value (division by zero, shifts beyond the
// width) and for floats.
func fold(op binop, x, y uint64, width int) (uint64, bool) {
	sx, sy := signed(x, width), signed(y, width)
	switch op {
	case opAdd:
		return x + y, true
	case opSub:
		return x - y, true
	case opMul:
		return x * y, true
	case opAnd:
		return x & y, true
	case opOr:
		return x | y, true
	case opXor:
		return x ^ y, true
	}
	shift := op == opShl || op == opLShr || op == opAShr
	switch {
	case shift && y >= uint64(width), !shift && y == 0:
		return 0, false
	}
	switch op {
	case opShl:
		return x << y, true
	case opLShr:
		return x >> y, true
	case opAShr:
		return uint64(sx >> y), true
	case opUDiv:
		return x / y, true
	case opURem:
		return x % y, true
	case opSDiv:
		return uint64(sx / sy), sy != -1
	case opSRem:
		return uint64(sx % sy), sy != -1
	}
	return 0, false
}

// simplify finds an existing value or a cheaper instruction for op x, y, where y is a constant.
func (b *builder) simplify(op binop, x, y reg) (reg, bool) {
	width := x.k.bits()
	ones := mask(^uint64(0), width)
	switch op {
	case opAdd, opSub:
		if y.is(0) {
			return x, true
		}
		// (base + c) + y is base + (c + y): address code stays one addition deep.
		if base, c, ok := b.splitAdd(x); ok {
			if op == opSub {
				return b.add(base, con(x.k, c-y.bits)), true
			}
			return b.add(base, con(x.k, c+y.bits)), true
		}
	case opOr, opXor:
		if y.is(0) {
			return x, true
		}
		if op == opOr && y.is(ones) {
			return y, true
		}
	case opAnd:
		switch {
		case y.is(0):
			return y, true
		case y.is(ones):
			return x, true
		}
	case opMul:
		switch {
		case y.is(0):
			return y, true
		case y.is(1):
			return x, true
		case bits.OnesCount64(y.bits) == 1:
			return b.shl(x, bits.TrailingZeros64(y.bits)), true
		}
	case opShl, opLShr, opAShr:
		if y.is(0) {
			return x, true
		}
	case opUDiv:
		if bits.OnesCount64(y.bits) == 1 {
			return b.lshr(x, bits.TrailingZeros64(y.bits)), true
		}
	case opURem:
		if bits.OnesCount64(y.bits) == 1 {
			return b.and(x, con(x.k, y.bits-1)), true
		}
	case opSDiv:
		if y.is(1) {
			return x, true
		}
	}
	return reg{}, false
}

// addExact is x + y of which the program says that it does not wrap as a number without sign. A constant that is added to a sum is added to
// the base of that sum, which may wrap where the sum itself does: that it does not is known if it is known of the sum. Of a value that
// was there before nothing is said here: an operation that may wrap has computed it.
func (b *builder) addExact(x, y reg) reg {
	if x.isConst() {
		x, y = y, x
	}
	before := len(b.values)
	r := b.add(x, y)
	if s, ok := b.sums[r.id]; ok && int(r.id) >= before && (s.base.id == x.id || b.sums[x.id].exact) {
		s.exact = true
		b.sums[r.id] = s
	}
	return r
}

// mayWrap forgets of a sum that it does not wrap: an operation computes it, too, that does not say so.
func (b *builder) mayWrap(x reg) {
	if s, ok := b.sums[x.id]; ok && s.exact {
		s.exact = false
		b.sums[x.id] = s
	}
}

// splitExact takes x apart into a value and constants that were added to it, none of which made it wrap.
func (b *builder) splitExact(x reg) (base reg, c uint64) {
	for {
		s, ok := b.sums[x.id]
		if !ok || !s.exact {
			return x, c
		}
		x, c = s.base, c+s.c
	}
}

// splitAdd takes x apart into a value and a constant that this builder added to it.
func (b *builder) splitAdd(x reg) (base reg, c uint64, ok bool) {
	s, ok := b.sums[x.id]
	return s.base, s.c, ok
}

// addApart is x + y with constants that were added to them added last.
func (b *builder) addApart(x, y reg) reg {
	if _, _, ok := b.splitAdd(y); ok {
		x, y = y, x
	}
	base, c, ok := b.splitAdd(x)
	switch {
	case y.isConst():
		return b.add(x, y)
	case ok:
		return b.add(b.addApart(base, y), con(x.k, c))
	case y.id < x.id: // one sum, whichever of the two a constant was added to
		x, y = y, x
	}
	return b.add(x, y)
}

// multiplyApart is x * y with a constant that was added to one, where the other is constant, added last.
func (b *builder) multiplyApart(x, y reg) reg {
	if x.isConst() {
		x, y = y, x
	}
	base, c, ok := b.splitAdd(x)
	if !ok || !y.isConst() {
		return b.mul(x, y)
	}
	return b.add(b.mul(base, y), con(x.k, c*y.bits))
}
