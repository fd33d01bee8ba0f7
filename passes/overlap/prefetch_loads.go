package overlap

import (
	"slices"

	"tileiras/codegen/cost"
	"tileiras/codegen/planted"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// This file loads what the places of later copies follow from: pages of a cache, rows that a list names. An iteration loads for the copies that the next one
// begins, so that none waits:
//
//	for %i {                              %r = load %list[%lo+2], mask(..)            (3 slots)
//	  %r = load %list[%i]                 for %i inits(%r) (%next) {
//	  async_copy %x[%r]              =>     async_copy %x[%next], slot 2 ahead, when %i+2 < %hi
//	  ..                                    ..
//	}                                       %r = load %list[%i+3], mask(%i+3 < %hi)
//	                                        continue %r
//	                                      }

// loadsOf are the loads in the slice of a group, in the order of the loop.
func (x *expansion) loadsOf(g *group) (loads []*ir.Op) {
	for _, op := range x.loop.Op.Body().Ops() {
		if g.slice[op] && kernel.IsPlainLoad(op) {
			loads = append(loads, op)
		}
	}
	return loads
}

// dependencies is the backward slice of values within the ops computed ahead, up to ops that are given.
func dependencies(ahead map[*ir.Op]bool, given func(op *ir.Op) bool, values ...*ir.Value) map[*ir.Op]bool {
	found := map[*ir.Op]bool{}
	var visit func(v *ir.Value)
	visit = func(v *ir.Value) {
		op := v.DefiningOp()
		if op == nil || !ahead[op] || found[op] || given(op) {
			return
		}
		found[op] = true
		for _, o := range op.Operands() {
			visit(o)
		}
	}
	for _, v := range values {
		visit(v)
	}
	return found
}

// nothing is given where all is computed.
func nothing(*ir.Op) bool { return false }

// mapped is what a mapping has.
func mapped(m ir.Mapping) func(op *ir.Op) bool {
	return func(op *ir.Op) bool { return m[op.Result(0)] != nil }
}

// begins is the slice of a group's copies once its loads are there, and of the loop-carried values that it advances.
func (x *expansion) begins(g *group) map[*ir.Op]bool {
	var values []*ir.Value
	for _, i := range g.copies {
		values = append(values, x.copies[i].Block())
		if when := x.copies[i].When(); when != nil {
			values = append(values, when)
		}
	}
	for _, v := range g.carriedArgs {
		i, _ := x.flow.CarriedIndex(v)
		values = append(values, x.flow.Continues()[0].Operand(i))
	}
	return dependencies(g.slice, kernel.IsPlainLoad, values...)
}

// fetch issues the loads for the copies that a group begins next, in the iteration of a counter, if it exists.
func (x *expansion) fetch(g *group, counter, exists *ir.Value) {
	m := ir.Mapping{x.flow.InductionVar(): counter}
	for i, v := range g.carriedArgs {
		m[v] = g.carriedNext[i]
	}
	var values []*ir.Value
	for _, l := range g.loads {
		values = append(values, l.Result(0))
	}
	x.cloneAll(dependencies(g.slice, nothing, values...), m, exists)
	g.fetched = nil
	for _, l := range g.loads {
		g.fetched = append(g.fetched, m.Lookup(l.Result(0)))
	}
}

// cloneAll clones ops of the loop, in their order; loads are predicated on an iteration's existence.
func (r *rewriting) cloneAll(which map[*ir.Op]bool, m ir.Mapping, exists *ir.Value) {
	for _, op := range r.flow.Op.Body().Ops() {
		if !which[op] {
			continue
		}
		later := r.b.Clone(op, m)
		if kernel.IsPlainLoad(later) && exists != nil && !planted.On("late-load") {
			r.onlyIf(later, exists)
		}
		if p, ok := ir.As[tileaa.PointerBlock](later); ok && planted.On("late-mask") {
			p.SetLeft(nil)
			p.SetMask(nil)
		}
	}
}

// onlyIf predicates a load on the existence of its iteration: of one that there is not, there may be no array either.
func (r *rewriting) onlyIf(load *ir.Op, exists *ir.Value) {
	r.b.Before(load)
	if l, ok := ir.As[tileaa.Load](load); ok {
		r.mask(l, exists)
	} else {
		l := ir.Cast[tileaa.TiledLoad](load)
		l.SetWhen(both(r.b, exists, l.When()))
	}
	r.b.After(load)
}

func (r *rewriting) mask(l tileaa.Load, exists *ir.Value) {
	t := tileaa.AsTile(l.Result())
	if tileaa.IsRanked(l.Result()) {
		exists = tileaa.NewSplat(r.b, t.WithElem(r.b.Ctx, r.b.Ctx.Int(1)), exists).Result()
	}
	l.SetMask(both(r.b, exists, l.Mask()))
	if l.Padding() == nil && ir.DenseElementBytes(t.Elem) > 0 {
		l.SetPadding(tileaa.NewConstant(r.b, t, tileaa.SplatOf(t, 0)).Result())
	}
}

// maxPrefetched is the registers of a thread for loads that are prefetched beside copies.
const maxPrefetched = 16

// prefetchOtherLoads makes a loop with pipelined copies prefetch its other loads by an iteration.
func prefetchOtherLoads(s *pass.State, p *pipeline) {
	prefetchLoads(s, p.loop.Op, func(op *ir.Op) bool { return p.slice[op] }, maxPrefetched)
}

// stallingLoads are the loads of a loop of products whose results are used in the same iteration, so that threads wait out their latency.
func stallingLoads(s *pass.State, loop *ir.Op) (loads []*ir.Op) {
	if flow, _ := ir.LoopOf(loop); len(flow.Continues()) != 1 || ir.Cast[tileaa.For](loop).Remainder() {
		return nil
	}
	products := false
	for op := loop.Body().First(); op != nil; op = op.Next() {
		s.Step()
		if tileaa.IsProduct(op) {
			if t, ok := kernel.TilingOf(op); !ok || t.Atom.Scalar() {
				return nil
			}
			products = true
		}
		if kernel.IsPlainLoad(op) && slices.ContainsFunc(op.Result(0).Uses(), func(u *ir.Use) bool { return !u.Owner().Traits().Has(ir.Terminator) }) {
			loads = append(loads, op)
		}
	}
	if !products {
		return nil
	}
	return loads
}

// prefetchStallingLoads prefetches the stalling loads of a loop, as far as threads have registers beside the held ones, with so many bytes
// of shared memory in use. It returns the resident blocks that these registers leave; 0 if nothing is prefetched.
func prefetchStallingLoads(s *pass.State, loads []*ir.Op, held, shared int) (blocks int) {
	if len(loads) == 0 {
		return 0
	}
	loop, asked, waits := loads[0].ParentOp(), 0, map[*ir.Op]bool{}
	for _, load := range loads {
		waits[load] = true
		asked += max(1, kernel.RegistersOf(load.Result(0)))
	}
	plan := tileaa.PlanOf(tileaa.EntryOf(loop))
	l := loopDemandOf(s, plan, ir.Cast[tileaa.For](loop), 0)
	blocks, registers := bestOccupancy(s, plan, l, held, shared, func(_, limit int) (wait int) {
		if held+asked <= limit {
			return cost.ExposedLoadCycles(s.Target, l)
		}
		return cost.ExposedLoadCycles(s.Target, cost.Loop{})
	})
	if !prefetchLoads(s, loop, func(op *ir.Op) bool { return !waits[op] }, registers-held) {
		return 0
	}
	return blocks
}

// prefetchLoads issues loads of a loop one iteration ahead, into at most so many registers of a thread, so that threads do not wait out their latency; not those that
// others prefetch. The last iteration loads its own tile again, so that every address is one that the loop has; behind a release it loads nothing, since whoever acquires
// may write there. A load stands behind the last use of its previous result, into the same registers: in front of it, a move would be needed, and would wait for the load.
//
//	for %i {                              %s = load %scale[%lo], if %lo < %hi
//	  async_copy %x[%i]                   for %i inits(%s) (%now) {
//	  %s = load %scale[%i]         =>       async_copy %x[%i]
//	  .. %s ..                              .. %now ..
//	}                                       %next = load %scale[%i+1 < %hi ? %i+1 : %i]
//	                                        continue %next
//	                                      }
func prefetchLoads(s *pass.State, loop *ir.Op, others func(op *ir.Op) bool, most int) (some bool) {
	r := &rewriting{newAheadLoop(loop, true), ir.NewBuilder(s.Ctx).Before(loop)}
	r.b.Loc = loop.Loc()
	list := r.prefetchable(others, most)
	if len(list) == 0 {
		return false
	}
	m := ir.Mapping{r.flow.InductionVar(): r.loop.Lower()}
	r.cloneAll(r.slice, m, r.hasIteration())
	body := r.loop.Op.Body()
	end := body.Terminator()
	r.b.AtStart(body)
	next, exists := r.laterCounter(r.flow.InductionVar(), 1, nil)
	if !planted.On("beside-past-end") {
		next = tileaa.NewSelect(r.b, exists, next, r.flow.InductionVar()).Result()
	}
	later := ir.Mapping{r.flow.InductionVar(): next}
	if !kernel.OrdersAllWithin(loop) {
		exists = nil
	}
	var inits, following []*ir.Value
	for i, l := range list {
		v := l.load.Result(0)
		inits = append(inits, m.Lookup(v))
		switch {
		case l.last == end:
			r.b.Before(end)
		case i == 0 || l.last != list[i-1].last: // else behind what the place of the one before follows from
			r.b.After(l.last)
		}
		r.cloneAll(dependencies(r.slice, mapped(later), v), later, exists)
		following = append(following, later.Lookup(v))
	}
	for _, l := range list { // not before, for the place of one load may follow from another
		v := l.load.Result(0)
		v.ReplaceAllUsesWith(body.AddArg(v.Type()))
	}
	for _, op := range slices.Backward(body.Ops()) {
		if r.slice[op] && !op.HasUses() {
			op.Erase()
		}
	}
	end.SetOperandGroup(0, append(end.Operands(), following...))
	r.flow.Carry(inits)
	return true
}

// prefetchedLoad is a load and the last op of the body that uses its result.
type prefetchedLoad struct{ load, last *ir.Op }

// prefetchable lists the loads that can be issued an iteration early, each with its last use, as far as registers last; not those that
// others prefetch.
func (r *rewriting) prefetchable(others func(op *ir.Op) bool, most int) (list []prefetchedLoad) {
	registers, at := 0, map[*ir.Op]int{}
	for n, op := range r.loop.Op.Body().Ops() {
		at[op] = n
		if !kernel.IsPlainLoad(op) || others(op) || tileaa.IsStrong(op) || op.Result(1).HasUses() || !op.Result(0).HasUses() {
			continue
		}
		n := max(1, kernel.RegistersOf(op.Result(0)))
		if registers+n > most || !kernel.CanPrefetch(op) {
			continue
		}
		if with := r.attempt(); with.computable(op.Result(0)) && len(with.carriedArgs) == 0 {
			list, registers, r.aheadLoop = append(list, prefetchedLoad{load: op}), registers+n, with
		}
	}
	for i := range list {
		list[i].last = list[i].load
		r.lastUse(list[i].load.Result(0), at, &list[i].last)
	}
	slices.SortStableFunc(list, func(a, b prefetchedLoad) int { return at[a.last] - at[b.last] })
	return list
}

// lastUse finds the last op of the body that uses a value, or one in the same registers.
func (r *rewriting) lastUse(v *ir.Value, at map[*ir.Op]int, last **ir.Op) {
	for _, u := range v.Uses() {
		user := u.Owner()
		if op := user.AncestorIn(r.loop.Op.Body()); at[op] > at[*last] {
			*last = op
		}
		if tileaa.IsRelabeling(user) || user.NumResults() == 1 && kernel.IsRematerialized(user.Result(0)) {
			r.lastUse(user.Result(0), at, last)
		}
	}
}
