package kernel

import (
	"slices"

	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// RecurrenceOf is what the innermost loop of an entry does in an iteration that reduces a tile that it carries; ok is false where there is no such loop, or several,
// or where fewer lines are reduced than there may be warps, so that warps would meet for each.
func RecurrenceOf(s *pass.State, entry *ir.Op) (r cost.Recurrence, ok bool) {
	loops := 0
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		flow, loop := ir.LoopOf(op)
		if !loop || !carriesTiles(op) || !isInnermost(op) {
			return
		}
		loops++
		for _, v := range flow.Carried() {
			if lines := reducedLines(op, v); lines >= cost.MaxWarps {
				r, ok = recurrence(s, op, v), true
			}
		}
	})
	return r, ok && loops == 1
}

// RecurrenceRegisters is the registers that a thread needs for a tile that an innermost loop without products and copies carries, and reduces inside warps, and for
// what it computes from it; 0 for other loops.
func RecurrenceRegisters(loop *ir.Op) int {
	flow, ok := ir.LoopOf(loop)
	if !ok || flow.Kind != ir.CountedFlow || len(flow.Continues()) != 1 || ir.Cast[tileaa.For](loop).Remainder() || !isInnermost(loop) ||
		slices.ContainsFunc(loop.Body().Ops(), func(op *ir.Op) bool { return tileaa.IsProduct(op) || op.Code() == tileaa.OpAsyncCopy }) {
		return 0
	}
	for _, v := range flow.Carried() {
		if reducedLines(loop, v) >= cost.MaxWarps {
			return recurrenceTiles*RegistersOf(v) + cost.OverheadRegisters
		}
	}
	return 0
}

func isInnermost(loop *ir.Op) bool {
	inner := false
	ir.Walk(loop, ir.PreOrder, func(op *ir.Op) {
		_, l := ir.LoopOf(op)
		inner = inner || l && op != loop
	})
	return !inner
}

// reducedLines is the fewest lines in which a loop reduces a carried tile or what it computes from that element by element; 0 if it does not.
func reducedLines(loop *ir.Op, carried *ir.Value) (lines int) {
	for _, op := range ReductionsOf(loop, carried) {
		t := tileaa.AsTile(op.Operand(0))
		if at := int(t.NumElements() / t.Shape[tileaa.DimOf(op)]); lines == 0 || at < lines {
			lines = at
		}
	}
	return lines
}

// ReductionsOf are the reductions, in every iteration of a loop, of a carried tile and of what it becomes element by element.
func ReductionsOf(loop *ir.Op, carried *ir.Value) (list []*ir.Op) {
	seen := map[*ir.Value]bool{}
	var visit func(v *ir.Value)
	visit = func(v *ir.Value) {
		if seen[v] {
			return
		}
		seen[v] = true
		for u := v.FirstUse(); u != nil; u = u.Next() {
			op := u.Owner()
			switch {
			case ir.EnclosingLoop(op) != loop:
			case op.Code() == tileaa.OpReduce:
				list = append(list, op)
			case op.Traits().Has(ir.Elementwise):
				visit(op.Result(0))
			}
		}
	}
	if tileaa.IsRanked(carried) {
		visit(carried)
	}
	return list
}

// recurrence counts the operations of a loop that carries a tile.
func recurrence(s *pass.State, loop *ir.Op, carried *ir.Value) (r cost.Recurrence) {
	n := tileaa.AsTile(carried).NumElements()
	wide := func(v *ir.Value) bool { return tileaa.IsRanked(v) && tileaa.AsTile(v).NumElements() >= n }
	s.Walk(loop, ir.PreOrder, func(op *ir.Op) {
		switch {
		case op.Code() == tileaa.OpReduce && wide(op.Operand(0)):
			r.Issue += TileRegisters(op.Operand(0)) / layout.WarpSize
		case op.Code() == tileaa.OpReduce, ir.Is[tileaa.MemoryOp](op):
			r.Narrow++
		case op.Traits().Has(ir.Elementwise) && slices.ContainsFunc(op.Results(), wide):
			r.Issue += TileRegisters(op.Result(0)) / layout.WarpSize
		}
	})
	r.Registers = recurrenceTiles * TileRegisters(carried)
	return r
}

// recurrenceTiles is how many tiles like the one that it carries an iteration holds: that tile, what it multiplies it by, and the product.
const recurrenceTiles = 3
