package overlap

import (
	"slices"

	"tileiras/codegen/atom"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// This file lets the products of an iteration go on while the next one begins its own. Instructions of groups of warps work by themselves, and those that
// add to the same accumulators do so in order, so nobody has to wait for them before the end:
//
//	for .. (%c) {                         for .. (%c) {
//	  %d = dot %a, %b, %c                   %d = dot %a, %b, %c {in_flight}
//	  continue %d                 =>        dot_wait {pending = 1}: that of the iteration before is over
//	}                                       continue %d
//	                                      } that lands %d
//
// What the products of an iteration read is free two iterations later, so a slot is filled again an iteration later than it would be otherwise: with S slots,
// copies are begun S-2 iterations ahead.

// summands are the products of a loop that only add to what it carries, each sum of them to something of its own, if all its products do.
func summands(loop *ir.Op) (list []tileaa.Dot) {
	products := 0
	ir.Walk(loop, ir.PreOrder, func(op *ir.Op) {
		if !tileaa.IsProduct(op) {
			return
		}
		products++
		d, ok := ir.As[tileaa.Dot](op)
		if !ok || !d.Atom().Atom.SharedA || ir.Is[tileaa.FactorStore](d.Lhs().DefiningOp()) {
			return // nobody may touch the registers of a factor, nor what stands for it in tensor memory
		}
		if canStayInFlight(d) && op.Block() == loop.Body() {
			list = append(list, d)
		}
	})
	if products == 0 || len(list) < products || list[0].Atom().Atom.Tensor != nil && (!hasColumns(loop) || 2*len(list) > tileaa.ProductMbarriers) {
		return nil
	}
	return list
}

// hasColumns reports whether tensor memory has columns for the sums and scales of all products of a loop, beside what the loops around it sum there.
func hasColumns(loop *ir.Op) bool {
	columns := int64(0)
	ir.Walk(loop, ir.PreOrder, func(op *ir.Op) {
		d, ok := tileaa.OnTensorUnit(op)
		if ok && tileaa.LastOfSum(d) == d {
			columns += tileaa.TensorColumnsOf(d)
		}
		if ok && d.Atom().Atom.Scaled() {
			columns += int64(atom.WholeColumns(int(tileaa.ScaleColumnsOf(d.LhsScale()) + tileaa.ScaleColumnsOf(d.RhsScale()))))
		}
	})
	for outer := ir.EnclosingLoop(loop); outer != nil; outer = ir.EnclosingLoop(outer) {
		for _, op := range outer.Body().Ops() {
			if d, ok := tileaa.OnTensorUnit(op); ok && d.InFlight() && tileaa.LastOfSum(d) == d {
				columns += tileaa.TensorColumnsOf(d)
			}
		}
	}
	return columns <= atom.TensorColumns
}

// multipliesWithin reports whether there are products in loops or branches of a block. How many begin there is not known, so none of the tensor unit goes on
// around them: waits for it count what has begun since.
func multipliesWithin(b *ir.Block) bool { return slices.ContainsFunc(b.Ops(), kernel.Multiplies) }

// canStayInFlight reports whether a product works by itself and only adds to what a loop carries. Nobody may touch registers that narrow elements share, nor the
// columns of scales that each iteration brings to tensor memory from the same place.
func canStayInFlight(d tileaa.Dot) bool {
	a := d.Atom().Atom
	if a.Group == 0 || tileaa.AddsApart(d.Op, a) || tileaa.ElemBits(tileaa.AsTile(d.Result()).Elem) != 32 {
		return false
	}
	for _, scale := range []*ir.Value{d.LhsScale(), d.RhsScale()} {
		if a.Tensor != nil && scale != nil && ir.DefinedOutside(tileaa.ViewedBuffer(scale), d.Op.ParentOp()) {
			return false
		}
	}
	_, alone := tileaa.OnlyAdds(d.Op)
	return alone
}

// slotsInFlight is the least number of slots with which products stay in flight: one that they read, one that is read next, and two for copies.
const slotsInFlight = 4

// carryInFlight lets the summands of a loop go on. It gives the numbers of the carried values that they add to.
func carryInFlight(flow ir.Flow, list []tileaa.Dot) (lands ir.I64Array) {
	begin(list)
	for _, d := range list {
		if i, carried := flow.CarriedIndex(d.Acc()); carried {
			lands = append(lands, int64(i))
		}
	}
	return lands
}

// inTensorMemory are the products of the tensor unit of a loop that sumInPlace lets go on.
func inTensorMemory(op *ir.Op) []tileaa.Dot {
	loop, ok := ir.As[tileaa.For](op)
	if !ok || len(loop.Lands()) > 0 {
		return nil
	}
	flow, _ := ir.LoopOf(op)
	list := summands(op)
	if len(list) == 0 || len(flow.Continues()) != 1 || list[0].Atom().Atom.Tensor == nil || multipliesWithin(op.Body()) {
		return nil
	}
	return list
}

// releases reports whether threads tell other roles that a slot may be filled again.
func releases(op *ir.Op) bool {
	r, ok := ir.As[tileaa.ConsumerRelease](op)
	return ok && !r.Unit()
}

// sumInPlace leaves what products of the tensor unit sum in a loop where it is until the loop is over, where they go on until the end of
// an iteration, or until others may overwrite what those before have read.
func sumInPlace(s *pass.State, entry *ir.Op) {
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		list := inTensorMemory(op)
		if len(list) == 0 {
			return
		}
		loop := ir.Cast[tileaa.For](op)
		flow, _ := ir.LoopOf(op)
		loop.SetLands(carryInFlight(flow, list))
		begun := false
		for _, op := range loop.Body().Ops() {
			if begun && (op.Traits().Has(ir.Terminator) || releases(op)) {
				tileaa.NewDotWait(ir.NewBuilder(s.Ctx).Before(op), 0)
				begun = false
			}
			begun = begun || tileaa.IsProduct(op)
		}
	})
}
