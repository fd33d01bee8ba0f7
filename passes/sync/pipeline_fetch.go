package sync

import (
	"maps"
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

// loadsOf are the loads among what a group computes ahead, in the order of the loop.
func (x *expansion) loadsOf(g *group) (loads []*ir.Op) {
	for _, op := range x.loop.Op.Body().Ops() {
		if g.ahead[op] && kernel.IsPlainLoad(op) {
			loads = append(loads, op)
		}
	}
	return loads
}

// follows are the ops among those computed ahead that values follow from, without what is given and what only that follows from.
func follows(ahead map[*ir.Op]bool, given func(op *ir.Op) bool, values ...*ir.Value) map[*ir.Op]bool {
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

// begins are the ops that copies of a group follow from when what is loaded for them is there, and those that move what the loop carries on.
func (x *expansion) begins(g *group) map[*ir.Op]bool {
	var values []*ir.Value
	for _, i := range g.copies {
		values = append(values, x.copies[i].Block())
		if when := x.copies[i].When(); when != nil {
			values = append(values, when)
		}
	}
	for _, v := range g.carry {
		i, _ := x.flow.CarriedIndex(v)
		values = append(values, x.flow.Continues()[0].Operand(i))
	}
	return follows(g.ahead, kernel.IsPlainLoad, values...)
}

// fetch loads for the next copies that a group begins, those of an iteration with this counter, if it exists.
func (x *expansion) fetch(g *group, counter, exists *ir.Value) {
	m := ir.Mapping{x.flow.InductionVar(): counter}
	for i, v := range g.carry {
		m[v] = g.carried[i]
	}
	var values []*ir.Value
	for _, l := range g.loads {
		values = append(values, l.Result(0))
	}
	x.cloneAll(follows(g.ahead, nothing, values...), m, exists)
	g.fetched = nil
	for _, l := range g.loads {
		g.fetched = append(g.fetched, m.Lookup(l.Result(0)))
	}
}

// cloneAll makes ops of the loop again, in their order, loads only if an iteration exists.
func (r *rewriting) cloneAll(which map[*ir.Op]bool, m ir.Mapping, exists *ir.Value) {
	for _, op := range r.flow.Op.Body().Ops() {
		if !which[op] {
			continue
		}
		later := r.b.Insert(op.Clone(m))
		if kernel.IsPlainLoad(later) && exists != nil && !planted.On("late-load") {
			r.onlyIf(later, exists)
		}
		if p, ok := ir.As[tileaa.PointerBlock](later); ok && planted.On("late-mask") {
			p.SetLeft(nil)
			p.SetMask(nil)
		}
	}
}

// onlyIf makes a load of an iteration that may not exist happen only if it does; of a block, it loads the first one of the array then, as far as there is one.
func (r *rewriting) onlyIf(load *ir.Op, exists *ir.Value) {
	r.b.Before(load)
	if l, ok := ir.As[tileaa.Load](load); ok {
		r.mask(l, exists)
	} else {
		r.redirect(ir.Cast[tileaa.TiledLoad](load), exists)
	}
	r.b.After(load)
}

func (r *rewriting) mask(l tileaa.Load, exists *ir.Value) {
	t := tileaa.AsTile(l.Result())
	if tileaa.IsRanked(l.Result()) {
		exists = tileaa.NewSplat(r.b, t.WithElem(r.b.Ctx, r.b.Ctx.Int(1)), exists).Result()
	}
	if m := l.Mask(); m != nil {
		exists = tileaa.NewAndi(r.b, exists, m).Result()
	}
	l.SetMask(exists)
	if l.Padding() == nil && tileaa.ConstBytes(t.Elem) > 0 {
		l.SetPadding(tileaa.NewConstant(r.b, t, tileaa.SplatOf(t, 0)).Result())
	}
}

func (r *rewriting) redirect(l tileaa.TiledLoad, exists *ir.Value) {
	block, _ := tileaa.BlockOf(l.Op)
	if !block.Result().HasOneUse() { // one of outside, which the loop's own load names too
		l.SetBlock(r.b.Insert(block.Op.Clone(ir.Mapping{})).Result(0))
		block, _ = tileaa.BlockOf(l.Op)
	}
	r.b.Before(block.Op)
	var indices []*ir.Value
	for _, i := range block.Indices() {
		indices = append(indices, tileaa.NewSelect(r.b, exists, i, tileaa.Const(r.b, tileaa.AsTile(i), 0)).Result())
	}
	block.SetIndices(indices)
	masked := slices.Clone(l.Masked())
	for d := range masked {
		masked[d] = true // what is known of the index is known of iterations that there are
	}
	l.SetMasked(masked)
}

// mostFetched is the registers of a thread for what is loaded ahead beside copies.
const mostFetched = 16

// fetchBeside lets a loop whose copies can run ahead load an iteration ahead what it loads besides.
func fetchBeside(s *pass.State, p *pipeline) {
	fetchAhead(s, p.loop.Op, func(op *ir.Op) bool { return p.ahead[op] }, mostFetched)
}

// waitsFor are the loads of a loop with products of the matrix unit of which an iteration uses what they bring.
func waitsFor(s *pass.State, loop *ir.Op) (loads []*ir.Op) {
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

// fetchWaiting lets a loop with products load ahead what its threads wait for, if they have registers for it beside those that hold something else, so many bytes of
// shared memory being taken. It gives the thread blocks of a multiprocessor for which there are registers then; 0 if nothing is loaded ahead.
func fetchWaiting(s *pass.State, loads []*ir.Op, held, shared int) (blocks int) {
	if len(loads) == 0 {
		return 0
	}
	loop, asked, waits := loads[0].ParentOp(), 0, map[*ir.Op]bool{}
	for _, load := range loads {
		waits[load] = true
		asked += max(1, kernel.RegistersOf(load.Result(0)))
	}
	plan := tileaa.PlanOf(tileaa.EntryOf(loop))
	l := asksOf(s, plan, ir.Cast[tileaa.For](loop), 0)
	blocks, registers := bestBlocks(s, plan, l, held, shared, func(_, limit int) (wait int) {
		if held+asked <= limit {
			return cost.ExposedLoadCycles(s.Target, l)
		}
		return cost.ExposedLoadCycles(s.Target, cost.Loop{})
	})
	if !fetchAhead(s, loop, func(op *ir.Op) bool { return !waits[op] }, registers-held) {
		return 0
	}
	return blocks
}

// fetchAhead lets a loop load an iteration ahead, into so many registers of a thread at most, what it computes with, or its threads would wait for that; not what
// others load ahead. The last iteration loads its own again, so that every place is one that the loop has. A load stands behind the last use of what it brings for, into
// the same registers: in front of it, threads would wait for it to move it there.
//
//	for %i {                              %s = load %scale[%lo], if %lo < %hi
//	  async_copy %x[%i]                   for %i inits(%s) (%now) {
//	  %s = load %scale[%i]         =>       async_copy %x[%i]
//	  .. %s ..                              .. %now ..
//	}                                       %next = load %scale[%i+1 < %hi ? %i+1 : %i]
//	                                        continue %next
//	                                      }
func fetchAhead(s *pass.State, loop *ir.Op, others func(op *ir.Op) bool, most int) (some bool) {
	r := &rewriting{&pipeline{loop: ir.Cast[tileaa.For](loop), tiles: true, ahead: map[*ir.Op]bool{}}, ir.NewBuilder(s.Ctx).Before(loop)}
	r.flow, _ = ir.LoopOf(loop)
	r.b.Loc = loop.Loc()
	list := r.beside(others, most)
	if len(list) == 0 {
		return false
	}
	m := ir.Mapping{r.flow.InductionVar(): r.loop.Lower()}
	r.cloneAll(r.ahead, m, r.runs())
	body := r.loop.Op.Body()
	end := body.Terminator()
	r.b.AtStart(body)
	next, exists := r.later(r.flow.InductionVar(), 1, nil)
	if !planted.On("beside-past-end") {
		next = tileaa.NewSelect(r.b, exists, next, r.flow.InductionVar()).Result()
	}
	later := ir.Mapping{r.flow.InductionVar(): next}
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
		r.cloneAll(follows(r.ahead, mapped(later), v), later, nil)
		following = append(following, later.Lookup(v))
	}
	for _, l := range list { // not before, for the place of one load may follow from another
		v := l.load.Result(0)
		v.ReplaceAllUsesWith(body.AddArg(v.Type()))
	}
	for _, op := range slices.Backward(body.Ops()) {
		if r.ahead[op] && !op.HasUses() {
			op.Erase()
		}
	}
	end.SetOperandGroup(0, append(end.Operands(), following...))
	r.replaceLoop(inits)
	return true
}

// besideLoad is a load with the last op of the body that uses what it brings.
type besideLoad struct{ load, last *ir.Op }

// beside lists the loads of a loop, but for those that others do ahead, that can be done an iteration early, by their last use, as far as there are registers.
func (r *rewriting) beside(others func(op *ir.Op) bool, most int) (list []besideLoad) {
	registers, at := 0, map[*ir.Op]int{}
	for n, op := range r.loop.Op.Body().Ops() {
		at[op] = n
		if !kernel.IsPlainLoad(op) || others(op) || tileaa.IsStrong(op) || op.Result(1).HasUses() || !op.Result(0).HasUses() {
			continue
		}
		n, with := max(1, kernel.RegistersOf(op.Result(0))), *r.pipeline
		if registers+n > most || !kernel.CanPrefetch(op) {
			continue
		}
		with.ahead = maps.Clone(r.ahead)
		if with.computable(op.Result(0)) && len(with.carry) == 0 {
			list, registers, r.pipeline = append(list, besideLoad{load: op}), registers+n, &with
		}
	}
	for i := range list {
		list[i].last = list[i].load
		r.lastUse(list[i].load.Result(0), at, &list[i].last)
	}
	slices.SortStableFunc(list, func(a, b besideLoad) int { return at[a.last] - at[b.last] })
	return list
}

// lastUse looks for the last op of the body that uses a value, or what is the same registers.
func (r *rewriting) lastUse(v *ir.Value, at map[*ir.Op]int, last **ir.Op) {
	for _, u := range v.Uses() {
		user := u.Owner()
		if op := user.AncestorIn(r.loop.Op.Body()); at[op] > at[*last] {
			*last = op
		}
		if tileaa.Names(user) || user.NumResults() == 1 && kernel.IsRematerialized(user.Result(0)) {
			r.lastUse(user.Result(0), at, last)
		}
	}
}
