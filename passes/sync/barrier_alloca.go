package sync

import (
	"math"
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
)

// This file orders what one iteration of a loop does with a slot of the tile block's memory (alloca) and what the next one does with its own. The two
// are the same bytes, but no token need lead from one to the other: each slot is new to the program. Tokens order what happens to one slot.
//
//	for ..
//	  %p = alloca         the reads of the iteration before become old
//	  store %p, ..        meets old reads: a barrier
//	  load %p, ..         meets no old access: its token says whether there is a barrier
//	}

// reach is an access to the tile block's memory through pointers.
type reach struct {
	op     *ir.Op // nil: several
	lo, hi int    // bytes of shared memory that it may reach
	write  bool
	old    bool // the slot that it reaches is over, and its bytes are those of another one
}

func (r reach) overlaps(q reach) bool { return r.lo < q.hi && q.lo < r.hi }

// includes reports whether r asks for all that q asks for.
func (r reach) includes(q reach) bool {
	return (r.op == nil || r.op == q.op) && r.lo <= q.lo && q.hi <= r.hi && (r.write || !q.write) && (r.old || !q.old)
}

// addReach adds to a list, which becomes one without detail when it is full.
func addReach(list *[]reach, r reach) {
	if slices.ContainsFunc(*list, func(s reach) bool { return s.includes(r) }) {
		return
	}
	if *list = append(*list, r); len(*list) <= maxListed {
		return
	}
	all := reach{lo: math.MaxInt}
	for _, s := range *list {
		all = reach{lo: min(all.lo, s.lo), hi: max(all.hi, s.hi), write: all.write || s.write, old: all.old || s.old}
	}
	*list = []reach{all}
}

// slotBytes are those of an alloca.
func slotBytes(a tileaa.Alloca) reach {
	offset, _ := a.Offset()
	size, _ := tileaa.PlacedMemory(a.Op)
	return reach{lo: int(offset), hi: int(offset) + size}
}

// reachOf is what an access through pointers may reach of the tile block's memory.
func (w *inserter) reachOf(op *ir.Op) (r reach, ok bool) {
	place, kind := tileaa.AccessedPlace(op), kernel.AccessKindsOf(op)
	if place == nil || kind == 0 {
		return r, false
	}
	ptr := pointerOf(place)
	if w.proofs.facts.Outside(ptr) {
		return r, false
	}
	r = reach{hi: everywhere}
	if a, known := ir.DefinedBy[tileaa.Alloca](ptr); known {
		r = slotBytes(a)
	}
	r.op, r.write = op, kind&kernel.Write != 0
	return r, true
}

// pointerOf is the pointer from which the addresses of an access are computed, as far as that is seen.
func pointerOf(v *ir.Value) *ir.Value {
	for {
		op := v.DefiningOp()
		if op == nil {
			return v
		}
		switch op.Code() {
		case tileaa.OpBlockTile, tileaa.OpPointerBlock, tileaa.OpMakeMemref, tileaa.OpOffset, tileaa.OpReshape, tileaa.OpBroadcast, tileaa.OpSplat,
			tileaa.OpPermute, tileaa.OpConvertLayout, tileaa.OpAssume, tileaa.OpPtrCast:
			v = op.Operand(0)
		default:
			return v
		}
	}
}

// visitAlloca begins a slot. Outside of loops no other had its bytes.
func (w *inserter) visitAlloca(a tileaa.Alloca, p *pending) {
	if ir.EnclosingLoop(a.Op) == nil {
		return
	}
	slot := slotBytes(a)
	p.renew(slot)
	if w.open(p) {
		addReach(&w.level.exposed.slots, slot)
	}
}

// renew makes the pending accesses to the bytes of a slot old.
func (p *pending) renew(slot reach) {
	for _, r := range slices.Clone(p.reached) {
		if !r.old && r.overlaps(slot) {
			r.lo, r.hi, r.old = max(r.lo, slot.lo), min(r.hi, slot.hi), true
			addReach(&p.reached, r)
		}
	}
}

// meet is who must meet before an access to a slot.
func (p *pending) meet(r reach, proofs *proofs) (d requirement) {
	for _, q := range p.reached {
		if q.old && (q.write || r.write) && q.overlaps(r) && (q.op == nil || r.op == nil || !proofs.sameThreadsOfSlots(q.op, r.op)) {
			d.participants = everybody
		}
	}
	return d
}

// sameThreadsOfSlots reports whether two accesses, in whichever iterations, touch every byte by the same thread.
func (p *proofs) sameThreadsOfSlots(a, b *ir.Op) bool {
	return p.sameThreadsWhere(a, b, func(v *ir.Value) bool {
		op := v.DefiningOp()
		if op == nil {
			op = v.Block().ParentOp()
			_, carried := ir.LoopOf(op)
			return !carried && ir.EnclosingLoop(op) == nil
		}
		return op.Code() == tileaa.OpAlloca || ir.EnclosingLoop(op) == nil
	})
}

// reach notes an access to the tile block's memory.
func (w *inserter) reach(r reach, p *pending) {
	if w.open(p) {
		addReach(&w.level.exposed.reached, r)
	}
	addReach(&p.reached, r)
}

// meetLoop is who must meet before the slots of a loop, and what it does with those of outside.
func (w *inserter) meetLoop(x *exposedAccesses, p *pending) (d requirement) {
	for _, slot := range x.slots {
		p.renew(slot)
	}
	for _, r := range x.reached {
		d = d.and(p.meet(r, w.proofs))
	}
	return d
}
