package tileaa

import (
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// branchOf is the block of an if that runs for a condition, or nil when there is none.
func branchOf(op *ir.Op, cond bool) *ir.Block {
	if cond {
		return op.Region(0).Front()
	}
	if op.NumRegions() < 2 {
		return nil
	}
	return op.Region(1).Front()
}

// constantIf puts the branch that runs in the place of the if, when it goes on behind the if.
func constantIf(_ *ir.Builder, op *ir.Op) bool {
	c, ok := SplatValue(op.OperandNamed("cond"))
	if !ok {
		return false
	}
	branch := branchOf(op, c != 0)
	if branch == nil {
		op.Erase()
		return true
	}
	end := branch.Terminator()
	if end == nil || end.Def != rows["yield"] {
		return false
	}
	for _, o := range branch.Ops() {
		if o != end {
			o.MoveBefore(op)
		}
	}
	for i, r := range op.Results() {
		r.ReplaceAllUsesWith(end.Operand(i))
	}
	op.Erase()
	return true
}

// keepValues rebuilds an op without some of its results and returns the new one; the regions move over. The terminators
// and arguments are the caller's care.
func keepValues(b *ir.Builder, op *ir.Op, keep []bool, operands []*ir.Value, groups []int32) *ir.Op {
	var types []ir.Type
	for i, r := range op.Results() {
		if keep[i] {
			types = append(types, r.Type())
		}
	}
	n := b.Create(ir.State{Def: op.Def, Operands: operands, Groups: groups, Types: types, Attrs: op.Attrs(),
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

// keepOperands drops operands of a terminator.
func keepOperands(end *ir.Op, keep []bool) {
	var vs []*ir.Value
	for i, v := range end.Operands() {
		if keep[i] {
			vs = append(vs, v)
		}
	}
	end.SetOperands(vs, []int32{int32(len(vs))})
}

// yields lists the terminators of the branches of an if that go on behind it.
func yields(op *ir.Op) []*ir.Op {
	var ends []*ir.Op
	for _, r := range op.Regions() {
		if b := r.Front(); b != nil {
			if end := b.Terminator(); end != nil && end.Def == rows["yield"] {
				ends = append(ends, end)
			}
		}
	}
	return ends
}

// unusedIfResults drops results that nobody uses.
func unusedIfResults(b *ir.Builder, op *ir.Op) bool {
	keep, all := make([]bool, op.NumResults()), true
	for i, r := range op.Results() {
		keep[i] = r.HasUses()
		all = all && keep[i]
	}
	if all {
		return false
	}
	for _, end := range yields(op) {
		keepOperands(end, keep)
	}
	keepValues(b, op, keep, op.Operands(), op.Groups())
	return true
}

// equalYields replaces a result by the value that every branch yields for it.
func equalYields(_ *ir.Builder, op *ir.Op) bool {
	ends := yields(op)
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

// tripCount is how often a for of constant bounds runs; ok is false when they are not known. The difference of the bounds
// is taken as an unsigned number, which it is when lower is below upper.
func tripCount(op *ir.Op) (n uint64, ok bool) {
	lower, upper := op.OperandNamed("lower"), op.OperandNamed("upper")
	if lower == upper {
		return 0, true
	}
	lo, ok := SplatValue(lower)
	hi, yes := SplatValue(upper)
	w := elemWidth(lower)
	if !ok || !yes {
		return 0, false
	}
	if !CompareInts(w, lo, hi, def.PredLess, !op.BoolNamed("unsigned")) {
		return 0, true
	}
	step, ok := SplatValue(op.OperandNamed("step"))
	if !ok || step == 0 {
		return 0, false
	}
	return (truncate(hi-lo, w)-1)/step + 1, true
}

// shortFor: a for without iterations gives its first values; one iteration takes the place of the for.
func shortFor(_ *ir.Builder, op *ir.Op) bool {
	n, ok := tripCount(op)
	inits := op.OperandGroupNamed("inits")
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
	if len(ends(op, "continue")) != 1 {
		return false
	}
	body := op.Body()
	body.Arg(0).ReplaceAllUsesWith(op.OperandNamed("lower"))
	for i, v := range inits {
		body.Arg(i + 1).ReplaceAllUsesWith(v)
	}
	end := body.Terminator()
	for _, o := range body.Ops() {
		if o != end {
			o.MoveBefore(op)
		}
	}
	for i, r := range op.Results() {
		r.ReplaceAllUsesWith(end.Operand(i))
	}
	op.Erase()
	return true
}

// carriedArgs are the arguments of a loop that carry values.
func carriedArgs(op *ir.Op) []*ir.Value {
	args := op.Body().Args()
	if op.Def == rows["for"] {
		return args[1:]
	}
	return args
}

// ends lists the terminators of this name that belong to a loop, in its own body and in ifs.
func ends(loop *ir.Op, name string) []*ir.Op {
	var found []*ir.Op
	var in func(b *ir.Block)
	in = func(b *ir.Block) {
		for op := b.First(); op != nil; op = op.Next() {
			if op.Def == rows[name] {
				found = append(found, op)
			} else if op.Def == rows["if"] {
				for _, r := range op.Regions() {
					for _, inner := range r.Blocks() {
						in(inner)
					}
				}
			}
		}
	}
	in(loop.Body())
	return found
}

// invariantCarried: a carried value that every continue passes on as it is, or as its first value, is its first value.
func invariantCarried(_ *ir.Builder, op *ir.Op) bool {
	changed := false
	continues := ends(op, "continue")
	inits := op.OperandGroupNamed("inits")
	for i, a := range carriedArgs(op) {
		same := true
		for _, c := range continues {
			same = same && (c.Operand(i) == a || c.Operand(i) == inits[i])
		}
		result := op.Def == rows["for"] && op.Result(i).HasUses()
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

// unusedCarried drops what a for carries when nobody uses the result, and the argument only to compute its own next
// value by ops that do nothing else.
func unusedCarried(b *ir.Builder, op *ir.Op) bool {
	args := carriedArgs(op)
	next := op.Body().Terminator()
	if next == nil || next.Def != rows["continue"] {
		return false
	}
	keep := make([]bool, len(args))
	dropped := false
	for i, a := range args {
		keep[i] = op.Result(i).HasUses() || !feedsOnly(a, next, i)
		dropped = dropped || !keep[i]
	}
	if !dropped || len(ends(op, "continue")) != 1 {
		return false
	}
	operands, groups := op.Operands()[:3:3], []int32{1, 1, 1, 0}
	for i, v := range op.OperandGroupNamed("inits") {
		if keep[i] {
			operands = append(operands, v)
			groups[3]++
		}
	}
	n := keepValues(b, op, keep, operands, groups)
	values := next.Operands()
	keepOperands(next, keep)
	body := n.Body()
	for i := len(keep) - 1; i >= 0; i-- {
		if keep[i] {
			continue
		}
		eraseChain(values[i], body)
		body.EraseArg(i + 1)
	}
	return true
}

// feedsOnly reports whether an argument is used by nothing, or by pure ops of the same block, each used once, that end
// in operand i of the continue.
func feedsOnly(a *ir.Value, next *ir.Op, i int) bool {
	for v := a; ; {
		u := v.FirstUse()
		if u == nil {
			return v == a && next.Operand(i) != a
		}
		if u.Next() != nil {
			return false
		}
		if u.Owner() == next {
			return u.Index() == i
		}
		o := u.Owner()
		if o.Block() != next.Block() || !o.Traits().Has(ir.Pure) || o.NumRegions() > 0 || o.NumResults() != 1 {
			return false
		}
		v = o.Result(0)
	}
}

// eraseChain erases the pure ops of a block that made a value which nobody uses any more.
func eraseChain(v *ir.Value, body *ir.Block) {
	op := v.DefiningOp()
	if op == nil || v.HasUses() || op.Block() != body || !op.Traits().Has(ir.Pure) || op.NumRegions() > 0 {
		return
	}
	operands := op.Operands()
	op.Erase()
	for _, o := range operands {
		eraseChain(o, body)
	}
}
