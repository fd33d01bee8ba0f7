package tileaa

import "tileiras/ir"

// TakesMaps reports whether the group that a commit ends has a copy by a tensor map, which one thread issues for all: one since the previous commit of the block.
func TakesMaps(commit *ir.Op) bool {
	for op := commit.Prev(); op != nil && op.Code() != commit.Code(); op = op.Prev() {
		if c, ok := ir.As[AsyncCopy](op); ok && c.Maps() != nil {
			return true
		}
	}
	return false
}

// Groups bounds the number of pending groups of asynchronous copies of an entry, outside of its roles: committed and not waited for.
type Groups struct {
	Before  map[*ir.Op]int // the most before each wait
	Most    int            // the most anywhere
	Growing []Growing      // loops without a bound, outermost last; the numbers above count one iteration of them

	left map[*ir.Op]int // for each loop, the most at a continue or break
}

// Growing is a loop of which every iteration may leave more groups pending than it found. Pending is their number before the first iteration.
type Growing struct {
	Loop    *ir.Op
	Pending int
}

// PendingGroups is a dataflow analysis of the pending groups of an entry.
func PendingGroups(entry *ir.Op) *Groups {
	g := &Groups{Before: map[*ir.Op]int{}, left: map[*ir.Op]int{}}
	g.block(entry.Body(), 0)
	return g
}

// block is the number of pending groups after a block, given that before it.
func (g *Groups) block(b *ir.Block, n int) int {
	for op := b.First(); op != nil; op = op.Next() {
		n = g.op(op, n)
		g.Most = max(g.Most, n)
	}
	return n
}

func (g *Groups) op(op *ir.Op, n int) int {
	wait := func(pending int) int {
		g.Before[op] = max(g.Before[op], n)
		return min(n, pending)
	}
	switch op.Code() {
	case OpAsyncCommit:
		return n + 1
	case OpAsyncWait:
		return wait(int(ir.Cast[AsyncWait](op).Pending()))
	case OpMapsRelease:
		return wait(0)
	case OpContinue, OpBreak:
		loop := ir.Target(op)
		g.left[loop] = max(g.left[loop], n)
		return n
	case OpIf:
		out := n
		for b := range op.Blocks() {
			out = max(out, g.block(b, n))
		}
		return out
	}
	if _, loop := ir.LoopOf(op); !loop {
		return n
	}
	first := n
	for range 2 { // the fixpoint: one round finds what an iteration leaves, the next whether that is stable
		out := max(n, g.block(op.Body(), n), g.left[op])
		if out == n {
			return n
		}
		n = out
	}
	if out := max(g.block(op.Body(), n), g.left[op]); out > n {
		g.Growing = append(g.Growing, Growing{op, first})
	}
	return n
}
