package overlap

import (
	"fmt"
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// sliceCopier clones a slice into another block.
type sliceCopier struct {
	*kernel.ProgramSlice
	s     *pass.State
	warps int // of the role
	m     ir.Mapping
}

// block clones the ops of a block that are in the slice.
func (c *sliceCopier) block(from, to *ir.Block) {
	b := ir.NewBuilder(c.s.Ctx).AtEnd(to)
	for _, op := range from.Ops() {
		c.s.Step()
		if !c.Ops[op] {
			continue
		}
		b.Loc = op.Loc()
		f, _ := ir.FlowOf(op)
		switch {
		case op.Traits().Has(ir.Terminator):
			c.terminator(b, op)
		case f.Kind.IsLoop(), f.Kind == ir.BranchFlow:
			c.flow(b, op, f)
		default:
			n := b.Clone(op, c.m)
			for _, r := range n.Results() { // of a producer, single elements
				if t := tileaa.AsTile(r); t != nil && t.Layout != nil && t.Layout.Warps() > c.warps {
					r.SetType(t.WithLayout(c.s.Ctx, t.Layout.OfWarps(c.warps)))
				}
			}
		}
	}
}

// kept are the clones of those values of a list whose counterparts, at the same places in say, are in the slice.
func (c *sliceCopier) kept(list, say []*ir.Value) (kept []*ir.Value) {
	for i, v := range list {
		if c.Values[say[i]] {
			kept = append(kept, c.m.Lookup(v))
		}
	}
	return kept
}

// lands renumbers a loop's lands attribute for the carried values that are in the slice.
func (c *sliceCopier) lands(list ir.I64Array, carried []*ir.Value) (kept ir.I64Array) {
	at := int64(0)
	for i, v := range carried {
		if c.Values[v] {
			if slices.Contains(list, int64(i)) {
				kept = append(kept, at)
			}
			at++
		}
	}
	return kept
}

func (c *sliceCopier) terminator(b *ir.Builder, op *ir.Op) {
	target := ir.Target(op)
	takers := target.Results()
	if loop, ok := ir.LoopOf(target); ok && op.Code() == tileaa.OpContinue {
		takers = loop.Carried()
	}
	b.Clone(op, c.m).SetOperandGroup(0, c.kept(op.Operands(), takers))
}

// flow clones a loop or a branch with those of its values that are in the slice.
func (c *sliceCopier) flow(b *ir.Builder, op *ir.Op, f ir.Flow) {
	var types []ir.Type
	for _, r := range op.Results() {
		if c.Values[r] {
			types = append(types, r.Type())
		}
	}
	var to *ir.Op
	switch inits := c.kept(f.Inits(), f.Carried()); op.Code() {
	case tileaa.OpFor:
		loop := ir.Cast[tileaa.For](op)
		to = tileaa.NewFor(b, types, c.m.Lookup(loop.Lower()), c.m.Lookup(loop.Upper()), c.m.Lookup(loop.Step()), inits, tileaa.ForOptions{
			Unsigned: loop.Unsigned(), Remainder: loop.Remainder(), Expanded: loop.Expanded(), Lands: c.lands(loop.Lands(), f.Carried())}).Op
	case tileaa.OpLoop:
		to = tileaa.NewLoop(b, types, inits).Op
	default:
		to = tileaa.NewIf(b, types, c.m.Lookup(ir.Cast[tileaa.If](op).Cond())).Op
	}
	for i, r := range op.Regions() {
		for _, from := range r.Blocks() {
			block := to.Region(i).AddBlock()
			for _, a := range from.Args() {
				if _, carried := f.CarriedIndex(a); !carried || c.Values[a] {
					c.m[a] = block.AddArg(a.Type())
				}
			}
			c.block(from, block)
		}
	}
	k := 0
	for _, r := range op.Results() {
		if c.Values[r] {
			to.Result(k).NameHint = r.NameHint
			c.m[r] = to.Result(k)
			k++
		}
	}
}

// sharedOps are the ops that stay in front of the roles: rings and pipelines, and scalars computed from parameters by pure operations.
// Arrays do not: what a thread adds to their addresses depends on its role.
func sharedOps(entry *ir.Op) map[*ir.Op]bool {
	shared := map[*ir.Op]bool{}
	for _, op := range entry.Body().Ops() {
		own := func(v *ir.Value) bool { return v.IsArg() || shared[v.DefiningOp()] }
		known := !slices.ContainsFunc(op.Operands(), func(v *ir.Value) bool { return !own(v) })
		switch {
		case op.Code() == tileaa.OpAllocRing, op.Code() == tileaa.OpAllocPipeline:
			shared[op] = true
		case op.MovesFreely() && known && !slices.ContainsFunc(op.Results(), func(v *ir.Value) bool { return !tileaa.IsSingle(v) }):
			shared[op] = true
		}
	}
	return shared
}

// manyElements reports whether a value is a tile whose elements are distributed over threads.
func manyElements(v *ir.Value) bool { t := tileaa.AsTile(v); return t != nil && t.NumElements() > 1 }

// whyNotSeparable says why copies cannot be issued by warps that see only what they compute themselves; "" if they can.
func whyNotSeparable(entry *ir.Op, copies []*ir.Op) (why string) {
	p := kernel.ProgramSliceOf(entry, sharedOps(entry), nil)
	for _, c := range copies {
		p.NeedOp(c.ParentOp())
		for _, v := range c.Operands() {
			if !tileaa.IsToken(v) && v != ir.Cast[tileaa.AsyncCopy](c).Buffer() {
				p.Need(v)
			}
		}
	}
	var list []*ir.Op
	ir.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		if p.Ops[op] {
			list = append(list, op)
		}
	})
	released := kernel.OrdersAllWithin(entry)
	for _, op := range list {
		f, isFlow := ir.FlowOf(op)
		switch {
		case isFlow && f.Kind != ir.CombineFlow, op.Traits().Has(ir.Terminator):
		case slices.ContainsFunc(op.Results(), manyElements), slices.ContainsFunc(op.Operands(), manyElements):
			return fmt.Sprintf("the place of a copy follows from a tile, by %s", op.Def.Name)
		case op.MovesFreely():
		case kernel.AccessKindsOf(op) == kernel.WeakRead && kernel.AfterReads(tileaa.TokenBefore(op)):
			if released || !beforeReads(op.Results(), map[*ir.Value]bool{}) { // one role would write while the other still loads
				return fmt.Sprintf("the place of a copy follows from %s, after which the kernel writes or releases", op.Def.Name)
			}
		default:
			return fmt.Sprintf("the place of a copy follows from %s, which only one role can do", op.Def.Name)
		}
	}
	return ""
}

// split divides an entry into roles.
func split(s *pass.State, entry *ir.Op, plan *tileaa.PlanAttr) {
	shared := sharedOps(entry)
	var fill, rest []*ir.Op
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		switch {
		case op == entry || shared[op] || op.Traits().Has(ir.Terminator):
		case isProducerOp(op):
			fill = append(fill, op)
		case op.NumRegions() == 0 && !op.Traits().Has(ir.Pure), op.Code() == tileaa.OpLoop:
			rest = append(rest, op)
		}
	})
	end := entry.Body().Terminator()
	b := ir.NewBuilder(s.Ctx).Before(end)
	b.Loc = entry.Loc()
	old := entry.Body().Ops()
	roles := tileaa.NewRoles(b)
	body := roles.Op.Region(0).AddBlock()
	for _, r := range []struct {
		name  string
		warps int
		roots []*ir.Op
	}{{"consumer", plan.Warps, rest}, {"producer", plan.Producers, fill}} {
		b.AtEnd(body)
		role := tileaa.NewRole(b, r.name, int64(r.warps))
		block := role.Op.Region(0).AddBlock()
		c := &sliceCopier{kernel.ProgramSliceOf(entry, shared, r.roots), s, r.warps, ir.Mapping{}}
		c.block(entry.Body(), block)
		tileaa.NewYield(b.AtEnd(block), nil)
	}
	tileaa.NewYield(b.AtEnd(body), nil)
	for _, op := range slices.Backward(old) {
		if op != end && !shared[op] {
			op.Erase()
		}
	}
}

// isProducerOp reports whether an op belongs to the producer role: acquires, copies into slots, commits.
func isProducerOp(op *ir.Op) bool {
	switch op.Code() {
	case tileaa.OpProducerAcquire, tileaa.OpProducerCommit:
		return true
	case tileaa.OpAsyncCopy:
		return ir.Is[tileaa.RingSlot](ir.Cast[tileaa.AsyncCopy](op).Buffer().DefiningOp())
	}
	return false
}
