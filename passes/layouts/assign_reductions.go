package layouts

import (
	"slices"

	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
)

// reducedIn is the layout in which a reduction takes its operands: theirs, unless warps hold the parts of so many lines that a thread would hold too many where they
// meet. They meet in the threads then that want the result, in layout wanted. Operands without a layout are computed where that takes least.
func (a *assigner) reducedIn(op *ir.Op, wanted func() layout.Layout) anchor {
	n := a.strongest(op)
	if n.none() {
		return anchor{a.computedLayout(op), cost.LeaveDefault}
	}
	if !mergesTooMany(op, n.l) {
		return n
	}
	dim := tileaa.DimOf(op)
	return anchor{wanted().ExpandDim(dim).Repeat(layout.Reg, dim, axisBits(op)), cost.LeaveDefault}
}

// computedLayout is the layout of operands of a reduction that are computed from rows and columns, such as the distances between all pairs of two sets. What a
// thread reads of both, and what it tells other lanes of its lines, takes the same unit. Beginning with a thread that has no more lines than it must, it
// takes over the nearest lines of one dimension after the other, and the layout that takes least is the one.
func (a *assigner) computedLayout(op *ir.Op) layout.Layout {
	if l, known := a.computed[op]; known {
		return l
	}
	t, dim := tileaa.AsTile(op.Operand(0)), tileaa.DimOf(op)
	var own []uint64
	best := a.reducedLayout(t, dim)
	least := a.reductionCost(op, best)
	for range layout.Log2(best.Regs()) {
		var next layout.Layout
		var with uint64
		costs := -1
		for d := range t.Shape {
			bits := layout.DimBits(layout.Dims(t.Shape), d)
			k := slices.IndexFunc(bits, func(b uint64) bool { return !slices.Contains(own, b) })
			if d == dim || k < 0 {
				continue
			}
			l := a.reducedLayout(t, dim, append(slices.Clone(own), bits[k])...)
			if c := a.reductionCost(op, l); costs < 0 || c < costs {
				next, with, costs = l, bits[k], c
			}
		}
		if costs < 0 {
			break
		}
		if own = append(own, with); costs < least {
			best, least = next, costs
		}
	}
	a.computed[op] = best
	return best
}

// reductionCost is how many words a thread reads of what the operands of a reduction in layout l are computed from, and exchanges for it.
func (a *assigner) reductionCost(op *ir.Op, l layout.Layout) (words int) {
	seen := map[*ir.Value]bool{}
	for _, v := range op.Operands() {
		words += a.wordsRead(v, l, seen)
	}
	return words + wordsExchanged(op, l)
}

// wordsExchanged is how many words a thread exchanges with other lanes and warps for a reduction in layout l: one for each of its lines in each step of lanes, and
// those that it stores for the threads of other warps and loads of theirs.
func wordsExchanged(op *ir.Op, l layout.Layout) (words int) {
	dim := tileaa.DimOf(op)
	lines := compact(l.RemoveDim(dim)).Regs() * op.NumOperands()
	parts := 1
	for b := range axisBits(op) {
		if bit := layout.Bit(l.Shape(), dim, b); movedBy(l, layout.Lane, bit) {
			words += lines
		} else if movedBy(l, layout.Warp, bit) {
			parts *= 2
		}
	}
	if parts > 1 {
		words += (1 + parts) * lines
	}
	return words
}

// maxSources bounds how many values wordsRead looks at.
const maxSources = 64

// wordsRead is how many words a thread reads to compute a value in layout l that has no layout of its own.
func (a *assigner) wordsRead(v *ir.Value, l layout.Layout, seen map[*ir.Value]bool) (words int) {
	if seen[v] || len(seen) == maxSources || !tileaa.IsRanked(v) {
		return 0
	}
	seen[v] = true
	a.s.Step()
	if l = compact(l); !a.infer(v).none() {
		return cost.Registers(l.Regs(), tileaa.ElemBits(tileaa.AsTile(v).Elem))
	}
	if op := v.DefiningOp(); op != nil {
		for _, o := range op.Operands() {
			words += a.wordsRead(o, operandLayout(op, o, l), seen)
		}
	}
	return words
}

// reducedKey is accesses of one type and width whose values meet.
type reducedKey struct {
	root      *ir.Value
	tile      *tileaa.TileType // without a layout
	fast, vec int
}

// reducedAccess is the layout of an access of vec elements along dimension fast, if its elements, or what is computed with them, are reduced. Warps beside each other
// along a line have parts of few lines, so that columns need not meet; warps above each other have whole lines. Threads with longer runs exchange less, but move
// sectors in parts. What takes least is the layout: words that are exchanged, and accesses, of which narrower vectors make more.
func (a *assigner) reducedAccess(op *ir.Op, t *tileaa.TileType, fast, vec int) (best layout.Layout, ok bool) {
	root, m := a.widths.meetingOf(op)
	if m == nil || len(m.reductions) == 0 {
		return best, false
	}
	t = tileaa.Tile(a.s.Ctx, t.Elem, t.Shape...)
	key := reducedKey{root, t, fast, vec}
	if l, known := a.reduced[key]; known {
		return l, !l.IsZero()
	}
	accesses := 0
	for _, v := range m.accesses {
		if a.s.Step(); slices.Equal(tileaa.ShapeOf(v), t.Shape) {
			accesses++
		}
	}
	var reductions []*ir.Op
	for _, r := range m.reductions {
		if a.s.Step(); slices.Equal(tileaa.ShapeOf(r.Operand(0)), t.Shape) {
			reductions = append(reductions, r)
		}
	}
	if len(reductions) > 0 {
		best = a.leastExchanged(key, reductions, accesses)
	}
	a.reduced[key] = best
	return best, !best.IsZero()
}

// leastExchanged looks for the layout of so many accesses, and of reductions of what they move.
func (a *assigner) leastExchanged(c reducedKey, reductions []*ir.Op, accesses int) (best layout.Layout) {
	shape, bytes := layout.Dims(c.tile.Shape), tileaa.ElemBytes(c.tile.Elem)
	own := max(1, int(c.tile.NumElements())/(layout.WarpSize*a.warps))
	vec := min(c.vec, shape[c.fast], own)
	least := -1
	try := func(run, beside int) {
		l := layout.BlockedSpan(shape, run, run*layout.WarpSize*beside, layout.FastestFirst(c.fast, len(shape)), a.warps)
		words := accessWords * accesses * l.Regs() / min(run, vec)
		if run > vec { // sectors are moved in parts
			words *= 2 * max(1, min(run/vec, cost.SectorBytes/(vec*bytes)))
		}
		for _, r := range reductions {
			a.s.Step()
			words += wordsExchanged(r, l)
		}
		if least < 0 || words < least {
			best, least = l, words
		}
	}
	for beside := 1; beside <= a.warps; beside *= 2 {
		for run := vec; run == vec || run*bytes >= minVector; run /= 2 {
			try(run, beside)
		}
		for run := 2 * vec; run <= min(own, shape[c.fast]); run *= 2 {
			try(run, beside)
		}
	}
	return best
}

// accessWords is how many exchanged words take as long as an access.
const accessWords = 2

// reducedAlong is the one dimension along which a loop reduces a value that it carries; ok is false where there is none, or several.
func reducedAlong(v *ir.Value) (dim int, ok bool) {
	loop := v.ParentBlock().ParentOp()
	if !v.IsArg() || loop.Code() != tileaa.OpFor && loop.Code() != tileaa.OpLoop {
		return 0, false
	}
	for i, op := range kernel.ReductionsOf(loop, v) {
		d := tileaa.DimOf(op)
		if i > 0 && d != dim {
			return 0, false
		}
		dim, ok = d, true
	}
	return dim, ok
}

// warpsShare reports whether several warps have elements of one line along a dimension.
func warpsShare(l layout.Layout, dim int) bool {
	return slices.ContainsFunc(l.Column(layout.Warp), func(c uint64) bool { return l.Coords(c)[dim] != 0 })
}

// reducedLayout keeps a dimension inside a warp as far as the others are enough for warps: but for bits own, which choose lines of a thread, warps take these from
// the far end, lanes what is left of them, then the far end of the dimension, of which each thread has a run.
func (a *assigner) reducedLayout(t *tileaa.TileType, dim int, own ...uint64) layout.Layout {
	shape := layout.Dims(t.Shape)
	axis, others := bitsApart(shape, dim)
	others = slices.DeleteFunc(others, func(b uint64) bool { return slices.Contains(own, b) })
	far := func(from *[]uint64, n int) (out []uint64) {
		at := max(0, len(*from)-n)
		out, *from = slices.Clone((*from)[at:]), (*from)[:at]
		return out
	}
	warp := far(&others, layout.Log2(a.warps))
	near := min(layout.LaneBits, len(others))
	lane := slices.Clone(others[:near])
	others = others[near:]
	lane = append(lane, far(&axis, layout.LaneBits-len(lane))...)
	warp = append(warp, far(&axis, layout.Log2(a.warps)-len(warp))...)
	return layout.Replicated(shape, slices.Concat(axis, own, others), lane, warp, a.warps)
}
