package tileaa

import (
	"slices"

	"tileiras/ir"
)

// TakesMaps reports whether the group that a commit ends has a copy by a tensor map, which one thread issues for all: one since the previous commit of the block.
func TakesMaps(commit *ir.Op) bool {
	for op := commit.Prev(); op != nil && op.Code() != commit.Code(); op = op.Prev() {
		if c, ok := ir.As[AsyncCopy](op); ok && c.Maps() != nil {
			return true
		}
	}
	return false
}

// Groups bounds the number of pending groups of asynchronous work of an entry: begun and not waited for.
type Groups struct {
	Before  map[*ir.Op]int // the most before each wait
	Most    int            // the most anywhere
	Growing []Growing      // loops without a bound, outermost last; the numbers above count one iteration of them
	Over    []*ir.Op       // ops that begin more than the limit; the numbers above are as if a wait for all stood before them

	limit  int // 0: none
	events func(*ir.Op) groupEvents
	roles  bool           // in them, too
	left   map[*ir.Op]int // for each loop, the most at a continue or break
	behind map[loopAt]int // what was found for loops: a nest is walked again for each number before it, not for each walk of what is around it
}

// loopAt is a loop with the number of pending groups before it.
type loopAt struct {
	loop *ir.Op
	n    int
}

// Growing is a loop of which every iteration may leave more groups pending than it found. Pending is their number before the first iteration.
type Growing struct {
	Loop    *ir.Op
	Pending int
}

// groupEvents is what an op does: it begins so many groups, and then, a loop when its last iteration is over, waits for all but the newest pending ones.
type groupEvents struct {
	begins, pending int
	waits           bool
}

// PendingGroups is a dataflow analysis of the pending groups of copies of an entry, outside of its roles.
func PendingGroups(entry *ir.Op) *Groups {
	return new(Groups).find(entry, func(op *ir.Op) groupEvents {
		switch op.Code() {
		case OpAsyncCommit:
			return groupEvents{begins: 1}
		case OpAsyncWait:
			return groupEvents{waits: true, pending: int(ir.Cast[AsyncWait](op).Pending())}
		case OpMapsRelease:
			return groupEvents{waits: true}
		}
		return groupEvents{}
	})
}

// PendingProducts is the same of products of the tensor unit, each a group, and of what counts as one, in whatever role. ProductMbarriers is the limit.
func PendingProducts(entry *ir.Op) *Groups {
	g := &Groups{roles: true, limit: ProductMbarriers}
	return g.find(entry, func(op *ir.Op) groupEvents {
		switch op.Code() {
		case OpDotWait:
			return groupEvents{waits: true, pending: int(ir.Cast[DotWait](op).Pending())}
		case OpFor:
			return groupEvents{waits: len(ir.Cast[For](op).Lands()) > 0}
		case OpSumsStore:
			return groupEvents{begins: CountsAs(ir.Cast[SumsStore](op))}
		}
		d, ok := OnTensorUnit(op)
		if !ok {
			return groupEvents{}
		}
		return groupEvents{begins: 1, waits: !d.InFlight()}
	})
}

func (g *Groups) find(entry *ir.Op, events func(*ir.Op) groupEvents) *Groups {
	g.Before, g.events, g.left, g.behind = map[*ir.Op]int{}, events, map[*ir.Op]int{}, map[loopAt]int{}
	g.block(entry.Body(), 0)
	return g
}

// block is the number of pending groups after a block, given that before it.
func (g *Groups) block(b *ir.Block, n int) int {
	for op := b.First(); op != nil; op = op.Next() {
		n = g.op(op, n)
	}
	return n
}

func (g *Groups) op(op *ir.Op, n int) int {
	e, before := g.events(op), n
	n = g.inside(op, n)
	if e.begins > 0 && g.over(op, n+e.begins) {
		n = 0
	}
	n += e.begins
	g.Most = max(g.Most, n)
	if !e.waits {
		return n
	}
	g.Before[op] = max(g.Before[op], n)
	if _, loop := ir.LoopOf(op); loop {
		return max(before, e.pending) // it may have no iteration, and then does not wait
	}
	return min(n, e.pending)
}

// grows notes a loop without a bound.
func (g *Groups) grows(loop *ir.Op, pending int) {
	for i, known := range g.Growing {
		if known.Loop == loop {
			g.Growing[i].Pending = max(known.Pending, pending)
			return
		}
	}
	g.Growing = append(g.Growing, Growing{loop, pending})
}

// over notes the ops that begin more than the limit.
func (g *Groups) over(op *ir.Op, n int) bool {
	known := slices.Contains(g.Over, op)
	if !known && g.limit > 0 && n > g.limit {
		g.Over = append(g.Over, op)
		return true
	}
	return known
}

// inside is the number after the regions of an op.
func (g *Groups) inside(op *ir.Op, n int) int {
	switch c := op.Code(); {
	case c == OpContinue || c == OpBreak:
		loop := ir.Target(op)
		g.left[loop] = max(g.left[loop], n)
		return n
	case c == OpIf || g.roles && (c == OpRoles || c == OpRole): // one way or another
		out := n
		for b := range op.Blocks() {
			out = max(out, g.block(b, n))
		}
		return out
	}
	if _, loop := ir.LoopOf(op); !loop {
		return n
	}
	at := loopAt{op, n}
	out, known := g.behind[at]
	if !known {
		out = g.loop(op, n)
		g.behind[at] = out
	}
	return out
}

// loop is the number after a loop.
func (g *Groups) loop(op *ir.Op, n int) int {
	first := n
	for range 2 + g.limit { // the fixpoint: one round finds what an iteration leaves, the next whether that is stable; a limit makes it so
		out := max(n, g.block(op.Body(), n), g.left[op])
		if out == n {
			return n
		}
		n = out
	}
	if out := max(g.block(op.Body(), n), g.left[op]); out > n {
		g.grows(op, first)
	}
	return n
}
