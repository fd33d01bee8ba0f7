package slice

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// This file cuts loops of the program with branches that give tiles, such as a mask of attention that is made where it bites. Both ways stand in the loop
// while it is cut, and its pieces have branches again; what one of them alone needs is moved into it by assign-layouts.
//
//	%y = if %c { %m = cmpi ..; yield (select %m, %low, %x) }         %m = cmpi ..; %z = select %m, %low, %x
//	     else { yield %x }                                     =>    %y = select (splat %c), %z, %x               =>   pieces of it

// branchesToSelects turns branches that only compute tiles into selects (if-conversion), in loops with products.
func branchesToSelects(s *pass.State, entry *ir.Op) {
	b := ir.NewBuilder(s.Ctx)
	for _, op := range inProductLoops(s, entry, tileaa.OpIf) {
		f := ir.Cast[tileaa.If](op)
		if !onlyComputes(f) {
			continue
		}
		b.Before(op)
		b.Loc = op.Loc()
		then, other := f.Then().MoveBefore(op), f.Else().MoveBefore(op)
		for i, r := range op.Results() {
			cond := tileaa.NewSplat(b, tileaa.AsTile(r).WithElem(s.Ctx, s.Ctx.Int(1)), f.Cond()).Result()
			r.ReplaceAllUsesWith(tileaa.NewSelect(b, cond, then[i], other[i]).Result())
		}
		op.Erase()
	}
}

// inProductLoops lists the operations of a code in the bodies of loops with products.
func inProductLoops(s *pass.State, entry *ir.Op, code ir.Code) (list []*ir.Op) {
	s.Walk(entry, ir.PostOrder, func(op *ir.Op) {
		if op.Code() != tileaa.OpFor {
			return
		}
		if ops := op.Body().Ops(); slices.ContainsFunc(ops, tileaa.IsProduct) {
			list = append(list, slices.DeleteFunc(ops, func(o *ir.Op) bool { return o.Code() != code })...)
		}
	})
	return list
}

// onlyComputes reports whether both branches do nothing but compute tiles, without branches and loops of their own.
func onlyComputes(f tileaa.If) bool {
	if f.Else() == nil || f.Op.NumResults() == 0 || slices.ContainsFunc(f.Op.Results(), func(v *ir.Value) bool { return !tileaa.IsRanked(v) }) {
		return false
	}
	for _, branch := range []*ir.Block{f.Then(), f.Else()} {
		for _, o := range branch.Ops() {
			if o.Code() != tileaa.OpYield && (!o.Traits().Has(ir.Pure|ir.Speculatable) || o.NumRegions() > 0) {
				return false
			}
		}
	}
	return true
}

// selectsToBranches turns selects with a scalar condition back into branches, in such loops.
func selectsToBranches(s *pass.State, entry *ir.Op) {
	b := ir.NewBuilder(s.Ctx)
	for _, op := range inProductLoops(s, entry, tileaa.OpSelect) {
		sel := ir.Cast[tileaa.Select](op)
		cond, ok := ir.DefinedBy[tileaa.Splat](sel.Cond())
		if !ok {
			continue
		}
		b.Before(op)
		b.Loc = op.Loc()
		f := tileaa.NewIf(b, []ir.Type{sel.Result().Type()}, cond.Source())
		for i, v := range []*ir.Value{sel.TrueValue(), sel.FalseValue()} {
			b.AtEnd(f.Op.Region(i).AddBlock())
			tileaa.NewYield(b, []*ir.Value{v})
		}
		sel.Result().ReplaceAllUsesWith(f.Op.Result(0))
		op.Erase()
		if !cond.Result().HasUses() {
			cond.Op.Erase()
		}
	}
}
