package sync

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// This file asks whether groups of copies that arrive at mbarriers by turns keep apart: who waits for a group at its mbarrier must have done so before the next one that
// arrives there has arrived, or it takes that one's phase for the wrong one.
//
// All threads have waited for the groups that fill a slot when the slot is filled again, for they meet before. So it is enough that fewer groups than mbarriers begin
// while a ring goes once around:
//
//	for .. {                            4 slots, 2 groups a slot: a group has its mbarrier for itself
//	  async_copy %a, (slot of %r)       until 8 others have begun
//	  async_commit
//	  async_copy %b, ..
//	  async_commit
//	}

// ending is a block that ends groups: how many, and how many slots of each ring it fills.
type ending struct {
	block  *ir.Block
	groups int
	fills  map[*ir.Value]int
}

// takeTurns reports whether the groups that an entry ends outside of its roles keep apart. Each outermost loop that ends some has a ring that all blocks in it fill that
// do; one loop may follow the other at once.
func takeTurns(s *pass.State, entry *ir.Op) bool {
	pending := tileaa.PendingGroups(entry)
	if pending.Most >= tileaa.CopyMbarriers || slices.ContainsFunc(pending.Growing, func(l tileaa.Growing) bool { return l.Loop.Code() != tileaa.OpFor }) {
		return false
	}
	var loops []*ir.Op
	inside := map[*ir.Op][]ending{} // nil: what runs once
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		for b := range op.Blocks() {
			if e := endingOf(b); e.groups > 0 && tileaa.RoleOf(op) == nil {
				loop := outermostLoop(op)
				if inside[loop] == nil {
					loops = append(loops, loop)
				}
				inside[loop] = append(inside[loop], e)
			}
		}
	})
	groups := 0
	for _, loop := range loops {
		groups += groupsAround(inside[loop], loop == nil)
	}
	return groups < tileaa.CopyMbarriers
}

func endingOf(b *ir.Block) ending {
	e := ending{b, 0, map[*ir.Value]int{}}
	for op := b.First(); op != nil; op = op.Next() {
		if op.Code() == tileaa.OpAsyncCommit {
			e.groups++
		} else if c, ok := ir.As[tileaa.AsyncCopy](op); ok {
			if slot, ok := ir.DefinedBy[tileaa.RingSlot](c.Buffer()); ok {
				e.fills[slot.Ring()]++
			}
		}
	}
	return e
}

// outermostLoop is the loop that an op is or is in and that is in no other; nil if there is none.
func outermostLoop(op *ir.Op) (loop *ir.Op) {
	for ; op != nil; op = op.ParentOp() {
		if _, ok := ir.LoopOf(op); ok {
			loop = op
		}
	}
	return loop
}

// groupsAround is how many groups begin in blocks while the ring goes once around with which the fewest do; all of them in what runs once.
func groupsAround(blocks []ending, once bool) int {
	if once {
		sum := 0
		for _, e := range blocks {
			sum += e.groups
		}
		return sum
	}
	least := tileaa.CopyMbarriers
	for ring := range blocks[0].fills { // the least of them: the order cannot matter
		each := 1 // for one slot
		for _, e := range blocks {
			if e.fills[ring] == 0 {
				each = tileaa.CopyMbarriers
				break
			}
			each = max(each, (e.groups+e.fills[ring]-1)/e.fills[ring])
		}
		least = min(least, each*int(ring.Type().(*tileaa.RingType).Slots))
	}
	return least
}
