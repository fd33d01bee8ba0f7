package nvvm

import (
	"math/rand"
	"testing"

	"github.com/llir/llvm/ir/enum"
)

// What an operation gives lies within its bounds, and a comparison that bounds decide is so, for numbers at the ends of theirs and between.
func TestBoundsHoldWhatIsComputed(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	ops := []binop{opAdd, opSub, opMul, opAnd, opOr, opXor, opShl, opLShr, opAShr, opUDiv}
	predicates := []enum.IPred{enum.IPredEQ, enum.IPredNE, enum.IPredSLT, enum.IPredSLE, enum.IPredSGT, enum.IPredSGE, enum.IPredULT, enum.IPredULE, enum.IPredUGT, enum.IPredUGE}
	some := func() bounds {
		lo := int64(int32(r.Uint32())) >> r.Intn(33)
		return bounds{lo, min(lo+int64(r.Uint32())>>r.Intn(33), 1<<31-1)}
	}
	within := func(x bounds) int64 {
		switch r.Intn(4) {
		case 0:
			return x.lo
		case 1:
			return x.hi
		}
		return x.lo + r.Int63n(x.hi-x.lo+1)
	}
	x, y := reg{id: 1, k: kI32}, reg{id: 2, k: kI32}
	known, decided := 0, 0
	for range 200000 {
		p, q := some(), some()
		b := &builder{ranges: map[id]bounds{1: p, 2: q}}
		m, n := within(p), within(q)
		op := ops[r.Intn(len(ops))]
		if want, ok := b.boundsOfBin(op, x, y); ok {
			known++
			v, has := fold(op, mask(uint64(m), 32), mask(uint64(n), 32), 32)
			if got := signed(mask(v, 32), 32); has && (got < want.lo || got > want.hi) {
				t.Fatalf("%s of %d in %v and %d in %v is %d, not in %v", binopNames[op], m, p, n, q, got, want)
			}
		}
		pred := predicates[r.Intn(len(predicates))]
		if want, ok := b.decided(pred, x, y); ok {
			decided++
			if got := (&builder{}).icmp(pred, con(kI32, uint64(m)), con(kI32, uint64(n))); got.is(1) != want {
				t.Fatalf("%v of %d in %v and %d in %v is %v", pred, m, p, n, q, !want)
			}
		}
	}
	if known < 10000 || decided < 10000 {
		t.Errorf("%d bounds were known and %d comparisons decided", known, decided)
	}
}
