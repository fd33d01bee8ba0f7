package tileaa

import (
	"slices"

	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// constantIf replaces an if with a constant condition by the branch that runs, if that branch ends in a yield.
func constantIf(_ *ir.Builder, op *ir.Op) bool {
	c, ok := SplatValue(If{op}.Cond())
	if !ok {
		return false
	}
	branch := If{op}.Then()
	if c == 0 {
		branch = If{op}.Else()
	}
	if branch == nil {
		op.Erase()
		return true
	}
	if end := branch.Terminator(); end == nil || end.Code() != OpYield {
		return false
	}
	replaceByBlock(op, branch)
	return true
}

// replaceByBlock puts the ops of a block, which runs once, in place of the op around it.
func replaceByBlock(op *ir.Op, b *ir.Block) {
	for i, v := range b.MoveBefore(op) {
		op.Result(i).ReplaceAllUsesWith(v)
	}
	op.Erase()
}

// dropResults rebuilds an op with the results of keep only and returns the new one; the regions move over. The operands, terminators
// and arguments are up to the caller.
func dropResults(b *ir.Builder, op *ir.Op, keep []bool) *ir.Op {
	var types []ir.Type
	for i, r := range op.Results() {
		if keep[i] {
			types = append(types, r.Type())
		}
	}
	n := b.Create(ir.State{Def: op.Def, Operands: op.Operands(), Groups: op.Groups(), Types: types, Attrs: op.Attrs(),
		Extra: op.Extra(), NumRegions: op.NumRegions()})
	for i, r := range op.Regions() {
		n.Region(i).TakeBlocks(r)
	}
	k := 0
	for i, r := range op.Results() {
		if keep[i] {
			n.Result(k).NameHint = r.NameHint
			r.ReplaceAllUsesWith(n.Result(k))
			k++
		}
	}
	op.Erase()
	return n
}

// kept are the values of keep.
func kept(vs []*ir.Value, keep []bool) []*ir.Value {
	var list []*ir.Value
	for i, v := range vs {
		if keep[i] {
			list = append(list, v)
		}
	}
	return list
}

// keepOperands drops operands of a terminator.
func keepOperands(end *ir.Op, keep []bool) { end.SetOperandGroup(0, kept(end.Operands(), keep)) }

// exitsOf are the terminators whose operands become the results of an op with regions.
func exitsOf(op *ir.Op) []*ir.Op {
	f, _ := ir.FlowOf(op)
	return f.Exits()
}

// unusedIfResults drops results of an if without uses.
func unusedIfResults(b *ir.Builder, op *ir.Op) bool {
	keep := used(op.Results())
	if !slices.Contains(keep, false) {
		return false
	}
	for _, end := range exitsOf(op) {
		keepOperands(end, keep)
	}
	dropResults(b, op, keep)
	return true
}

// equalYields replaces a result by the value that every branch yields for it.
func equalYields(_ *ir.Builder, op *ir.Op) bool {
	ends := exitsOf(op)
	changed := false
	for i, r := range op.Results() {
		if !r.HasUses() || len(ends) == 0 {
			continue
		}
		v, same := ends[0].Operand(i), true
		for _, e := range ends {
			same = same && e.Operand(i) == v
		}
		if same && ir.DefinedOutside(v, op) {
			r.ReplaceAllUsesWith(v)
			changed = true
		}
	}
	return changed
}

// TripCount is how often a for of constant bounds runs; ok is false when they are not known, and of any other loop. The difference of the bounds
// is taken as an unsigned number, which it is when lower is below upper.
func TripCount(op *ir.Op) (n uint64, ok bool) {
	f, counted := ir.As[For](op)
	if !counted {
		return 0, false
	}
	lower, upper := f.Lower(), f.Upper()
	if lower == upper {
		return 0, true
	}
	lo, ok := SplatValue(lower)
	hi, yes := SplatValue(upper)
	w := elemWidth(lower)
	if !ok || !yes {
		return 0, false
	}
	if !compareInts(w, lo, hi, def.PredLess, !f.Unsigned()) {
		return 0, true
	}
	step, ok := SplatValue(f.Step())
	if !ok || step == 0 {
		return 0, false
	}
	return (Truncate(hi-lo, w)-1)/step + 1, true
}

// shortFor: a for without iterations is replaced by its initial values, one with a single iteration by its body.
func shortFor(_ *ir.Builder, op *ir.Op) bool {
	n, ok := TripCount(op)
	f := For{op}
	flow, _ := ir.LoopOf(op)
	inits := f.Inits()
	switch {
	case !ok || n > 1:
		return false
	case n == 0:
		for i, v := range inits {
			op.Result(i).ReplaceAllUsesWith(v)
		}
		op.Erase()
		return true
	}
	if len(flow.Continues()) != 1 {
		return false
	}
	body := f.Body()
	flow.InductionVar().ReplaceAllUsesWith(f.Lower())
	for i, v := range flow.Carried() {
		v.ReplaceAllUsesWith(inits[i])
	}
	replaceByBlock(op, body)
	return true
}

// loopOnce: a loop that breaks in its first iteration is its body.
//
//	%r = loop inits(%x) (%v) {                .. %x ..
//	  .. %v ..                        =>      (users of %r use %y)
//	  break %y
//	}
func loopOnce(_ *ir.Builder, op *ir.Op) bool {
	f, _ := ir.LoopOf(op)
	if end := op.Body().Terminator(); !ir.Is[Break](end) || len(f.Terminators(ir.BreakFlow, ir.ContinueFlow)) != 1 {
		return false
	}
	for i, v := range f.Carried() {
		v.ReplaceAllUsesWith(f.Init(i))
	}
	replaceByBlock(op, op.Body())
	return true
}

// earlyReturn: what stands behind a branch that returns, where nothing comes before the end of the kernel, is in a branch of its own. So all threads end in one place.
//
//	if %c {return}            if not %c {
//	..                =>        ..
//	return                    }
//	                          return
func earlyReturn(b *ir.Builder, op *ir.Op) bool {
	branch, end := If{op}, op.Block().Terminator()
	otherwise := branch.Else()
	if !ir.Is[Return](branch.Then().First()) || otherwise != nil && !ir.Is[Yield](otherwise.First()) || op.NumResults() > 0 || op.Next() == end || !endsKernel(op.Block(), maxGuards) {
		return false
	}
	not := NewXori(b, branch.Cond(), Const(b, AsTile(branch.Cond()), -1)).Result()
	rest := NewIf(b, nil, not).Op.Region(0).AddBlock()
	for o := op.Next(); o != end; {
		next := o.Next()
		o.Remove()
		rest.Append(o)
		o = next
	}
	NewYield(b.AtEnd(rest), nil)
	op.Erase()
	return true
}

// maxGuards bounds how deep branches of earlyReturn lie in each other.
const maxGuards = 8

// endsKernel reports whether the kernel ends where a block does, which is the entry's or that of a branch, at most so deep, behind which nothing comes.
func endsKernel(block *ir.Block, deep int) bool {
	end, parent := block.Terminator(), block.ParentOp()
	switch {
	case ir.Is[Entry](parent):
		return ir.Is[Return](end)
	case deep == 0 || !ir.Is[If](parent) || !ir.Is[Yield](end):
		return false
	}
	return parent.NumResults() == 0 && parent.Next() == parent.Block().Terminator() && endsKernel(parent.Block(), deep-1)
}

// invariantCarried: a carried value that every continue passes on unchanged, or as its initial value, is its initial value.
func invariantCarried(_ *ir.Builder, op *ir.Op) bool {
	changed := false
	f, _ := ir.LoopOf(op)
	continues := f.Continues()
	inits := f.Inits()
	for i, a := range f.Carried() {
		same := true
		for _, c := range continues {
			same = same && (c.Operand(i) == a || c.Operand(i) == inits[i])
		}
		result := f.Kind == ir.CountedFlow && op.Result(i).HasUses()
		if !same || !result && usedOnlyBy(a, continues) {
			continue
		}
		a.ReplaceAllUsesWith(inits[i])
		if result {
			op.Result(i).ReplaceAllUsesWith(inits[i])
		}
		changed = true
	}
	return changed
}

// usedOnlyBy reports whether all users are among these ops.
func usedOnlyBy(v *ir.Value, ops []*ir.Op) bool {
	for u := v.FirstUse(); u != nil; u = u.Next() {
		found := false
		for _, o := range ops {
			found = found || u.Owner() == o
		}
		if !found {
			return false
		}
	}
	return true
}

// unusedCarried drops what is dead of the carried values and results of a loop: results that are not used, and carried values that only dead ones need.
func unusedCarried(b *ir.Builder, op *ir.Op) bool {
	f, _ := ir.LoopOf(op)
	counted := f.Kind == ir.CountedFlow
	if counted && !slices.ContainsFunc(op.Results(), unusedValue) {
		return false
	}
	needed := ir.NeededIn(f)
	args, results := f.Carried(), used(op.Results())
	carried := make([]bool, len(args))
	for i, a := range args {
		carried[i] = needed[a] || counted && results[i]
	}
	if counted {
		results = carried
	}
	if !slices.Contains(carried, false) && !slices.Contains(results, false) {
		return false
	}
	inits := f.Inits()
	for _, next := range f.Continues() {
		keepOperands(next, carried)
	}
	if !counted {
		for _, end := range f.Exits() {
			keepOperands(end, results)
		}
	}
	f.SetInits(kept(inits, carried))
	for i, a := range slices.Backward(args) {
		if !carried[i] {
			a.ReplaceAllUsesWith(inits[i]) // in what is dead, too
			op.Body().EraseArg(a.Index())
		}
	}
	dropResults(b, op, results)
	return true
}

func unusedValue(v *ir.Value) bool { return !v.HasUses() }

// used says of each value whether it has uses.
func used(vs []*ir.Value) []bool {
	list := make([]bool, len(vs))
	for i, v := range vs {
		list[i] = v.HasUses()
	}
	return list
}
