package nvvm

import (
	"math/bits"

	"github.com/llir/llvm/ir/enum"
)

// bounds are the least and the greatest number that a register can hold, signed. They are known of what is computed from the number of a
// thread, as coordinates are: by them a comparison with the end of an array may always be true, or never. A tile of 16384 of which 11008
// are used costs no instruction for the registers that lie behind all of them.
type bounds struct{ lo, hi int64 }

// bound says that a register holds a number of at least 0 whose bits are some of these.
func (b *builder) bound(r reg, ones uint64) {
	if !r.isConst() {
		b.ranges[r.id] = bounds{0, int64(ones)}
	}
}

func (b *builder) boundsOf(r reg) (bounds, bool) {
	if r.isConst() {
		return bounds{r.sint(), r.sint()}, true
	}
	x, ok := b.ranges[r.id]
	return x, ok
}

// boundsOfBin are the bounds of an operation's result; ok is false where it may wrap, or nothing is known.
func (b *builder) boundsOfBin(op binop, x, y reg) (r bounds, ok bool) {
	if x.k != kI32 {
		return r, false
	}
	p, known := b.boundsOf(x)
	q, also := b.boundsOf(y)
	if !known || !also {
		return r, false
	}
	switch {
	case op == opAdd:
		r = bounds{p.lo + q.lo, p.hi + q.hi}
	case op == opSub:
		r = bounds{p.lo - q.hi, p.hi - q.lo}
	case p.lo < 0 || q.lo < 0:
		return r, false
	case op == opMul:
		r = bounds{p.lo * q.lo, p.hi * q.hi}
	case op == opAnd:
		r.hi = min(p.hi, q.hi)
	case op == opOr, op == opXor:
		r.hi = 1<<bits.Len64(uint64(max(p.hi, q.hi))) - 1
	case op == opShl && q.hi < 31:
		r = bounds{p.lo << q.lo, p.hi << q.hi}
	case op == opLShr, op == opAShr:
		r = bounds{p.lo >> q.hi, p.hi >> q.lo}
	default:
		return r, false
	}
	return r, r.lo >= -1<<31 && r.hi < 1<<31
}

// decided is a comparison of which bounds know the result.
func (b *builder) decided(p enum.IPred, x, y reg) (r, ok bool) {
	s, known := b.boundsOf(x)
	t, also := b.boundsOf(y)
	if !known || !also || s.lo < 0 && unsigned(p) || t.lo < 0 && unsigned(p) {
		return false, false
	}
	switch p {
	case enum.IPredSLT, enum.IPredULT:
		return s.hi < t.lo, s.hi < t.lo || s.lo >= t.hi
	case enum.IPredSLE, enum.IPredULE:
		return s.hi <= t.lo, s.hi <= t.lo || s.lo > t.hi
	case enum.IPredSGT, enum.IPredUGT:
		return b.decided(enum.IPredSLT, y, x)
	case enum.IPredSGE, enum.IPredUGE:
		return b.decided(enum.IPredSLE, y, x)
	}
	return p == enum.IPredNE, s.hi < t.lo || s.lo > t.hi
}

func unsigned(p enum.IPred) bool {
	switch p {
	case enum.IPredULT, enum.IPredULE, enum.IPredUGT, enum.IPredUGE:
		return true
	}
	return false
}
