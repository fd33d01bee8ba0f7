package sync

import (
	"fmt"
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// This file takes from a program the part that some of its effects need: the ops that compute their operands, and the loops and branches around
// them with all that decides how these run.

// programSlice is a slice of the program of an entry: the ops that some roots need, with the loops and branches around them.
type programSlice struct {
	entry  *ir.Op
	shared map[*ir.Op]bool // is before the roles and belongs to all
	ops    map[*ir.Op]bool
	values map[*ir.Value]bool
}

// sliceOf is the backward slice of the roots.
func sliceOf(entry *ir.Op, shared map[*ir.Op]bool, roots []*ir.Op) *programSlice {
	p := &programSlice{entry, shared, map[*ir.Op]bool{}, map[*ir.Value]bool{}}
	for _, op := range roots {
		p.needOp(op)
	}
	return p
}

func (p *programSlice) needOp(op *ir.Op) {
	if op == p.entry || p.shared[op] || p.ops[op] {
		return
	}
	p.ops[op] = true
	p.needOp(op.ParentOp())
	f, _ := ir.FlowOf(op)
	switch {
	case op.Traits().Has(ir.Terminator): // who takes a value that it passes says so
	case f.Kind.IsLoop():
		inits := f.Inits()
		for _, v := range op.Operands()[:op.NumOperands()-len(inits)] {
			p.need(v)
		}
		for _, t := range f.Terminators(ir.ContinueFlow, ir.BreakFlow) {
			p.needOp(t)
		}
	case f.Kind == ir.BranchFlow:
		for _, v := range op.Operands() {
			p.need(v)
		}
		for _, t := range f.Terminators(ir.YieldFlow) {
			p.needOp(t)
		}
	default:
		for _, v := range op.Operands() {
			p.need(v)
		}
		for _, v := range ir.Captures(op) {
			p.need(v)
		}
	}
}

func (p *programSlice) need(v *ir.Value) {
	if p.values[v] {
		return
	}
	p.values[v] = true
	op := v.DefiningOp()
	if op == nil {
		op = v.Block().ParentOp()
	}
	p.needOp(op)
	in, _ := ir.Incoming(v)
	for _, w := range in {
		p.need(w)
	}
	if f, _ := ir.LoopOf(op); f.Kind == ir.CountedFlow { // what it carries at its end is the result
		if i, ok := f.CarriedIndex(v); ok {
			p.need(op.Result(i))
		} else if v.DefiningOp() == op {
			p.need(f.Carried()[slices.Index(op.Results(), v)])
		}
	}
}

// sliceCopier clones a slice into another block.
type sliceCopier struct {
	*programSlice
	s     *pass.State
	warps int // of the role
	m     ir.Mapping
}

// block clones the ops of a block that are in the slice.
func (c *sliceCopier) block(from, to *ir.Block) {
	b := ir.NewBuilder(c.s.Ctx).AtEnd(to)
	for _, op := range from.Ops() {
		c.s.Step()
		if !c.ops[op] {
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
			n := b.Insert(op.Clone(c.m))
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
		if c.values[say[i]] {
			kept = append(kept, c.m.Lookup(v))
		}
	}
	return kept
}

// lands renumbers a loop's lands attribute for the carried values that are in the slice.
func (c *sliceCopier) lands(list ir.I64Array, carried []*ir.Value) (kept ir.I64Array) {
	at := int64(0)
	for i, v := range carried {
		if c.values[v] {
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
	n := op.Clone(c.m)
	n.SetOperandGroup(0, c.kept(op.Operands(), takers))
	b.Insert(n)
}

// flow clones a loop or a branch with those of its values that are in the slice.
func (c *sliceCopier) flow(b *ir.Builder, op *ir.Op, f ir.Flow) {
	var types []ir.Type
	for _, r := range op.Results() {
		if c.values[r] {
			types = append(types, r.Type())
		}
	}
	var to *ir.Op
	if f.Kind.IsLoop() {
		to = newLoop(b, f, types, c.kept(f.Inits(), f.Carried()))
		if loop, ok := ir.As[tileaa.For](to); ok {
			loop.SetLands(c.lands(loop.Lands(), f.Carried()))
		}
		for i := range to.Operands()[:to.NumOperands()-len(c.kept(f.Inits(), f.Carried()))] {
			to.SetOperand(i, c.m.Lookup(op.Operand(i)))
		}
	} else {
		to = tileaa.NewIf(b, types, c.m.Lookup(op.Operand(0))).Op
	}
	for i, r := range op.Regions() {
		for _, from := range r.Blocks() {
			block := to.Region(i).AddBlock()
			for _, a := range from.Args() {
				if _, carried := f.CarriedIndex(a); !carried || c.values[a] {
					c.m[a] = block.AddArg(a.Type())
				}
			}
			c.block(from, block)
		}
	}
	k := 0
	for _, r := range op.Results() {
		if c.values[r] {
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
		case op.Traits().Has(ir.Pure) && op.NumRegions() == 0 && known && !slices.ContainsFunc(op.Results(), func(v *ir.Value) bool { return !isSingle(v) }):
			shared[op] = true
		}
	}
	return shared
}

// isSingle reports whether a value is a scalar, which all threads hold, or a token.
func isSingle(v *ir.Value) bool {
	t := tileaa.AsTile(v)
	return t != nil && len(t.Shape) == 0 || tileaa.IsToken(v)
}

// manyElements reports whether a value is a tile whose elements are distributed over threads.
func manyElements(v *ir.Value) bool { t := tileaa.AsTile(v); return t != nil && t.NumElements() > 1 }

// whyNotSeparable says why copies cannot be issued by warps that see only what they compute themselves; "" if they can.
func whyNotSeparable(entry *ir.Op, copies []*ir.Op) (why string) {
	p := sliceOf(entry, sharedOps(entry), nil)
	for _, c := range copies {
		p.needOp(c.ParentOp())
		for _, v := range c.Operands() {
			if !tileaa.IsToken(v) && v != ir.Cast[tileaa.AsyncCopy](c).Buffer() {
				p.need(v)
			}
		}
	}
	var list []*ir.Op
	ir.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		if p.ops[op] {
			list = append(list, op)
		}
	})
	for _, op := range list {
		f, isFlow := ir.FlowOf(op)
		switch {
		case isFlow && f.Kind != ir.CombineFlow, op.Traits().Has(ir.Terminator):
		case slices.ContainsFunc(op.Results(), manyElements), slices.ContainsFunc(op.Operands(), manyElements):
			return fmt.Sprintf("the place of a copy follows from a tile, by %s", op.Def.Name)
		case op.Traits().Has(ir.Pure) && op.NumRegions() == 0:
		case kindOf(op) == weakRead && afterReads(tileaa.TokenBefore(op), map[*ir.Value]bool{nil: true}):
			if !beforeReads(op.Results(), map[*ir.Value]bool{}) { // one role would write while the other still loads
				return fmt.Sprintf("the place of a copy follows from %s, after which the kernel writes", op.Def.Name)
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
		c := &sliceCopier{sliceOf(entry, shared, r.roots), s, r.warps, ir.Mapping{}}
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
