package sync

import (
	"slices"

	"tileiras/codegen/planted"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
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

// follows are the ops among those computed ahead that values follow from, without those that only loads follow from if these are given.
func follows(ahead map[*ir.Op]bool, given bool, values ...*ir.Value) map[*ir.Op]bool {
	found := map[*ir.Op]bool{}
	var visit func(v *ir.Value)
	visit = func(v *ir.Value) {
		op := v.DefiningOp()
		if op == nil || !ahead[op] || found[op] || given && kernel.IsPlainLoad(op) {
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
	return follows(g.ahead, true, values...)
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
	x.cloneAll(follows(g.ahead, false, values...), m, exists)
	g.fetched = nil
	for _, l := range g.loads {
		g.fetched = append(g.fetched, m.Lookup(l.Result(0)))
	}
}

// cloneAll makes ops of the loop again, in their order, loads only if an iteration exists.
func (r *rewriting) cloneAll(which map[*ir.Op]bool, m ir.Mapping, exists *ir.Value) {
	for _, op := range r.loop.Op.Body().Ops() {
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
