package cudatile

import (
	"slices"

	"tileiras/ir"
	"tileiras/ir/float"
)

// The patterns of if. A region of it ends in a yield, or it jumps: return, continue and break go elsewhere, and what is
// after the if runs only after a region that yields. A region that is left out yields nothing.

// yieldOf is the yield that ends a block, or nil if there is none.
func yieldOf(b *ir.Block) *ir.Op {
	if b != nil && b.Last() != nil && b.Last().Code() == OpYield {
		return b.Last()
	}
	return nil
}

// onlyYields reports whether a region does nothing else.
func onlyYields(b *ir.Block) bool { return b == nil || b.First() == yieldOf(b) && b.First() != nil }

func setYield(yield *ir.Op, vs []*ir.Value) { yield.SetOperands(vs, []int32{int32(len(vs))}) }

// newIf makes an if whose regions are empty, with the location and the discardable attributes of another.
func newIf(b *ir.Builder, like *ir.Op, condition *ir.Value, results []*ir.Value) *ir.Op {
	n := b.Create(ir.State{Def: like.Def, Loc: like.Loc(), Operands: []*ir.Value{condition}, Types: ir.TypesOf(results),
		Extra: slices.Clone(like.Extra()), NumRegions: 2})
	for i, r := range results {
		n.Result(i).NameHint = r.NameHint
	}
	return n
}

// emptyRegion erases the blocks of a region.
func emptyRegion(r *ir.Region) {
	for _, block := range r.Blocks() {
		for block.Last() != nil {
			block.Last().Erase()
		}
	}
	new(ir.Region).TakeBlocks(r)
}

// eraseAfter erases the ops after op, which are never reached.
func eraseAfter(op *ir.Op) {
	for last := op.Block().Last(); last != op; last = op.Block().Last() {
		last.Erase()
	}
}

// keepResults rebuilds an if with some of its results.
func keepResults(b *ir.Builder, op *ir.Op, keep []bool) {
	kept := func(vs []*ir.Value) []*ir.Value {
		var some []*ir.Value
		for i, v := range vs {
			if keep[i] {
				some = append(some, v)
			}
		}
		return some
	}
	results := kept(op.Results())
	n := newIf(b, op, op.Operand(0), results)
	for i, r := range op.Regions() {
		n.Region(i).TakeBlocks(r)
		if y := yieldOf(n.Region(i).Front()); y != nil {
			setYield(y, kept(y.Operands()))
		}
	}
	for i, r := range results {
		r.ReplaceAllUsesWith(n.Result(i))
	}
	op.Erase()
}

// invertedIf: if (not c) {A} else {B} => if c {B} else {A}.
func invertedIf(_ *ir.Builder, op *ir.Op) bool {
	c := inverted(op.Operand(0))
	if c == nil || op.Region(1).Empty() {
		return false
	}
	op.SetOperand(0, c)
	var then ir.Region
	then.TakeBlocks(op.Region(0))
	op.Region(0).TakeBlocks(op.Region(1))
	op.Region(1).TakeBlocks(&then)
	return true
}

// unusedResults drops results that nobody uses.
func unusedResults(b *ir.Builder, op *ir.Op) bool {
	keep := make([]bool, op.NumResults())
	for i, r := range op.Results() {
		keep[i] = r.HasUses()
	}
	if !slices.Contains(keep, false) || yieldOf(op.Region(0).Front()) == nil && yieldOf(op.Region(1).Front()) == nil {
		return false
	}
	keepResults(b, op, keep)
	return true
}

// knownResults: a result that is the same after both regions is that value; true and false are the condition, false and
// true its opposite.
func knownResults(b *ir.Builder, op *ir.Op) bool {
	then, otherwise := yieldOf(op.Region(0).Front()), yieldOf(op.Region(1).Front())
	if then == nil || otherwise == nil {
		return false
	}
	c := op.Operand(0)
	changed := false
	for i, r := range op.Results() {
		t, f := then.Operand(i), otherwise.Operand(i)
		var known *ir.Value
		switch {
		case !r.HasUses():
			continue
		case t == f:
			known = t
		case r.Type() != c.Type():
			continue
		case areBools(t, f, true):
			known = c
		case areBools(t, f, false):
			known = not(b, c)
		default:
			continue
		}
		r.ReplaceAllUsesWith(known)
		changed = true
	}
	return changed
}

// constantIf puts the region that runs in the place of the if.
func constantIf(_ *ir.Builder, op *ir.Op) bool {
	c, ok := boolOf(op.Operand(0))
	if ok {
		InlineBranch(op, c)
	}
	return ok
}

// InlineBranch puts the region that an if runs for a condition in the place of the if. If the region jumps, all that is
// after is never reached and goes.
func InlineBranch(op *ir.Op, condition bool) {
	taken := op.Region(0).Front()
	if !condition {
		taken = op.Region(1).Front()
	}
	if taken != nil {
		inline(taken, op)
	}
	op.Erase()
}

// inline moves the ops of a region of an if in front of it.
func inline(b *ir.Block, op *ir.Op) {
	yield := yieldOf(b)
	if yield == nil {
		eraseAfter(op)
	}
	for _, o := range b.Ops() {
		if o != yield {
			o.MoveBefore(op)
		}
	}
	if yield != nil {
		for i, r := range op.Results() {
			r.ReplaceAllUsesWith(yield.Operand(i))
		}
	}
}

// selectedResults: a result that both regions yield from outside is a select; if one region jumps it is the other's value.
// Nothing happens if there is a result that no select takes, as a token.
func selectedResults(b *ir.Builder, op *ir.Op) bool {
	for _, r := range op.Results() {
		if !selectable(r.Type()) {
			return false
		}
	}
	then, otherwise := yieldOf(op.Region(0).Front()), yieldOf(op.Region(1).Front())
	changed := false
	for i, r := range op.Results() {
		var from []*ir.Value
		for _, yield := range []*ir.Op{then, otherwise} {
			if yield != nil {
				from = append(from, yield.Operand(i))
			}
		}
		inside := func(v *ir.Value) bool { return !ir.DefinedOutside(v, op) }
		if !r.HasUses() || len(from) == 0 || slices.ContainsFunc(from, inside) {
			continue
		}
		v := from[0]
		if len(from) == 2 && v != from[1] {
			v = selectOf(b, op.Operand(0), v, from[1])
		}
		r.ReplaceAllUsesWith(v)
		changed = true
	}
	return changed
}

// selectable reports whether a select takes values of a type: tiles, but of floats of 4 bits.
func selectable(t ir.Type) bool {
	tile, ok := t.(*TileType)
	return ok && !ir.IsFloat(tile.Elem, float.F4E2M1FN)
}

// emptyElse drops an else that does nothing.
func emptyElse(_ *ir.Builder, op *ir.Op) bool {
	if op.NumResults() > 0 || op.Region(1).Empty() || !onlyYields(op.Region(1).Front()) {
		return false
	}
	emptyRegion(op.Region(1))
	return true
}

// repeatedIf merges an if with the one right before it, if that asks for the same condition or for its opposite:
//
//	%x = if c {A; yield a} else {B; yield b}          %x, %y = if c {A; C; yield a, c} else {B; D; yield b, d}
//	%y = if c {C; yield c} else {D; yield d}     =>
//
// What C and D use of %x is a and b. A region of the first that jumps stays as it is.
func repeatedIf(b *ir.Builder, op *ir.Op) bool {
	first := op.Prev()
	if first == nil || first.Def != op.Def {
		return false
	}
	c, d := first.Operand(0), op.Operand(0)
	opposite := inverted(c) == d || inverted(d) == c
	if c != d && !opposite {
		return false
	}
	results := slices.Concat(first.Results(), op.Results())
	n := newIf(b, first, c, results)
	for k, r := range n.Regions() {
		after := op.Region(k)
		if opposite {
			after = op.Region(1 - k)
		}
		chain(first, r, first.Region(k), after)
	}
	for i, r := range results {
		r.ReplaceAllUsesWith(n.Result(i))
	}
	op.Erase()
	first.Erase()
	return true
}

// chain moves two regions, of which the second uses what the first yields as results of an op, one after the other.
func chain(firstIf *ir.Op, to, first, second *ir.Region) {
	if first.Empty() {
		to.TakeBlocks(second)
		return
	}
	to.TakeBlocks(first)
	yield := yieldOf(to.Front())
	if second.Empty() || yield == nil {
		return
	}
	values := yield.Operands()
	for i, r := range firstIf.Results() {
		for _, u := range r.Uses() {
			if inRegion(u.Owner(), second) {
				u.Owner().SetOperand(u.Index(), values[i])
			}
		}
	}
	end := second.Front().Last()
	for _, o := range second.Front().Ops() {
		o.MoveBefore(yield)
	}
	if end.Def != yield.Def {
		yield.Erase()
		return
	}
	setYield(yield, append(values, end.Operands()...))
	end.Erase()
}

// inRegion reports whether an op lies in a region, at any depth.
func inRegion(op *ir.Op, r *ir.Region) bool {
	for ; op != nil && op.Block() != nil; op = op.ParentOp() {
		if op.Block().Region() == r {
			return true
		}
	}
	return false
}

// nestedIf merges an if with the only op inside it, which is an if too, when no else does anything:
//
//	if a { if b {A} }    =>    if (andi a, b) {A}
//
// A result that comes from the inner if must be the same in both elses; another one becomes a select by a. The inner then
// may jump if nothing needs an else.
func nestedIf(b *ir.Builder, op *ir.Op) bool {
	end := yieldOf(op.Region(0).Front())
	if end == nil || end.Prev() == nil || end.Prev().Prev() != nil || end.Prev().Def != op.Def {
		return false
	}
	inner := end.Prev()
	outerElse, innerElse := op.Region(1).Front(), inner.Region(1).Front()
	yield := yieldOf(inner.Region(0).Front())
	if !onlyYields(outerElse) || !onlyYields(innerElse) || yield == nil && (outerElse != nil || innerElse != nil) {
		return false
	}
	keep := make([]bool, op.NumResults()) // the results that come from the inner if
	var then, otherwise []*ir.Value       // and what they are in the merged regions
	for i, r := range op.Results() {
		v, e := end.Operand(i), yieldOf(outerElse).Operand(i)
		if v.DefiningOp() != inner {
			if !selectable(r.Type()) {
				return false
			}
			continue
		}
		if yieldOf(innerElse).Operand(v.Index()) != e {
			return false
		}
		keep[i] = true
		then, otherwise = append(then, yield.Operand(v.Index())), append(otherwise, e)
	}
	for i, r := range op.Results() {
		if !keep[i] {
			r.ReplaceAllUsesWith(selectOf(b, op.Operand(0), end.Operand(i), yieldOf(outerElse).Operand(i)))
		}
	}
	var results []*ir.Value
	for i, r := range op.Results() {
		if keep[i] {
			results = append(results, r)
		}
	}
	both := NewAndi(b, op.Operand(0), inner.Operand(0)).Result()
	n := newIf(b, op, both, results)
	n.Region(0).TakeBlocks(inner.Region(0))
	if yield != nil {
		setYield(yield, then)
	}
	if len(results) > 0 {
		setYield(yieldOf(outerElse), otherwise)
		n.Region(1).TakeBlocks(op.Region(1))
	}
	for i, r := range results {
		r.ReplaceAllUsesWith(n.Result(i))
	}
	op.Erase()
	return true
}

// bothJump: nothing after the if is ever reached, and the else needs no region.
func bothJump(b *ir.Builder, op *ir.Op) bool {
	otherwise := op.Region(1).Front()
	if otherwise == nil || yieldOf(op.Region(0).Front()) != nil || yieldOf(otherwise) != nil {
		return false
	}
	n := newIf(b, op, op.Operand(0), nil)
	n.Region(0).TakeBlocks(op.Region(0))
	inline(otherwise, op)
	op.Erase()
	return true
}
