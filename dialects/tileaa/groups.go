package tileaa

import "tileiras/ir"

// TakesMaps reports whether one thread copies for all in front of a commit: some copy in its block since the one before takes a tensor map.
func TakesMaps(commit *ir.Op) bool {
	for op := commit.Prev(); op != nil && op.Code() != commit.Code(); op = op.Prev() {
		if c, ok := ir.As[AsyncCopy](op); ok && c.Maps() != nil {
			return true
		}
	}
	return false
}

// Groups is what an entry, outside of its roles, has committed of copies and not waited for.
type Groups struct {
	Before  map[*ir.Op]int // the most before each wait
	Most    int            // anywhere
	Growing []Growing      // outermost last; their numbers above are those of one iteration

	left map[*ir.Op]int // by the loop that a continue or a break of it leaves behind
}

// Growing is a loop of which every iteration may leave more groups than it has found. So many were pending before the first one.
type Growing struct {
	Loop    *ir.Op
	Pending int
}

// PendingGroups finds the groups that may be pending.
func PendingGroups(entry *ir.Op) *Groups {
	g := &Groups{Before: map[*ir.Op]int{}, left: map[*ir.Op]int{}}
	g.block(entry.Body(), 0)
	return g
}

// block is how many are pending behind a block, of those before it.
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
	for range 2 { // the second time with what an iteration leaves, which the next one does, too
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
