package memory

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// This file asks whether groups of copies can use mbarriers round-robin: every thread must have waited for a group at its mbarrier before the next group that
// arrives there completes, or the wait sees the parity of a later phase.
//
// All threads have waited for a group that fills a slot, and for those before it, when the slot is filled again, for they meet before. So it is enough that fewer groups
// than mbarriers begin before some ring has gone once around. Of several blocks one has begun its share of them by then:
//
//	for .. {                            4 slots, 2 groups a slot: a group has its mbarrier for itself
//	  async_copy %a, (slot of %r)       until 8 others have begun
//	  async_commit
//	  async_copy %b, ..
//	  async_commit
//	}

// mbarrierRoundSuffices reports whether the copy groups outside of an entry's roles can use mbarriers round-robin without a wait mistaking
// one phase for another.
func mbarrierRoundSuffices(s *pass.State, entry *ir.Op, pending *tileaa.Groups) bool {
	if pending.Most >= tileaa.CopyMbarriers || slices.ContainsFunc(pending.Growing, func(l tileaa.Growing) bool { return l.Loop.Code() != tileaa.OpFor }) {
		return false
	}
	groups := 0
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		if tileaa.RoleOf(op) != nil {
			return
		}
		for b := range op.Blocks() {
			groups += groupsPerRound(b)
		}
	})
	return groups < tileaa.CopyMbarriers
}

// groupsPerRound is the most groups that a block commits while one of its rings goes around once, for the ring with the fewest; the number
// of mbarriers where the block may run again and fills no ring.
func groupsPerRound(b *ir.Block) int {
	groups, fills := 0, map[*ir.Value]int{}
	for op := b.First(); op != nil; op = op.Next() {
		if op.Code() == tileaa.OpAsyncCommit {
			groups++
		} else if c, ok := ir.As[tileaa.AsyncCopy](op); ok {
			if slot, ok := ir.DefinedBy[tileaa.RingSlot](c.Buffer()); ok {
				fills[slot.Ring()]++
			}
		}
	}
	parent := b.ParentOp()
	if _, loop := ir.LoopOf(parent); groups == 0 || !loop && ir.EnclosingLoop(parent) == nil {
		return groups
	}
	least := tileaa.CopyMbarriers
	for ring, n := range fills { // the least of them: the order cannot matter
		least = min(least, (groups+n-1)/n*int(ring.Type().(*tileaa.RingType).Slots))
	}
	return least
}
