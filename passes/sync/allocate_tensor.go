package sync

import (
	"math/bits"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// allocate-tensor gives products of the tensor unit columns of tensor memory to sum in, and the kernel its part of it:
//
//	                                      %m = alloc_tensor : tensor_memory<256>
//	                                      tensor_acquire %m
//	                                      tensor_address %m
//	for .. (%c) {                         for .. (%c) {
//	  %d = dot %a, %b, %c            =>     %d = dot %a, %b, %c memory(%m) {column = 0}
//	  continue %d                           continue %d
//	}                                     }
//	return                                tensor_release %m
//	                                      return
//
// What a product has summed is brought to registers behind it, or where its loop lands it, so only products that are in flight together need columns of
// their own.
func AllocateTensor(s *pass.State) error {
	for _, entry := range s.Entries() {
		var products []tileaa.Dot
		columns := int64(0)
		s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
			d, ok := ir.As[tileaa.Dot](op)
			if !ok || d.Atom() == nil || d.Atom().Atom.Tensor == nil {
				return
			}
			from := int64(0)
			if last := len(products) - 1; last >= 0 && d.InFlight() && products[last].InFlight() && products[last].Op.Block() == op.Block() {
				before, _ := products[last].Column()
				from = before + tileaa.TensorColumnsOf(products[last])
			}
			d.SetColumn(s.Ctx, from)
			products = append(products, d)
			columns = max(columns, from+tileaa.TensorColumnsOf(d))
		})
		if len(products) == 0 {
			continue
		}
		if columns > tileaa.TensorColumns {
			return &pass.ErrPlan{Entry: pass.SymbolName(entry), Reason: "products need more tensor memory than there is", Loc: products[0].Op.Loc()}
		}
		b := ir.NewBuilder(s.Ctx).AtStart(entry.Body())
		b.Loc = products[0].Op.Loc()
		memory := tileaa.NewAllocTensor(b, tileaa.TensorMemory(s.Ctx, roundUp(columns)), tileaa.AllocTensorOptions{}).Result()
		tileaa.NewTensorAcquire(b, memory)
		owner := ownerOf(products[0].Op)
		if owner != entry {
			b.AtStart(owner.Body())
		}
		tileaa.NewTensorAddress(b, memory)
		for _, d := range products {
			d.SetMemory(memory)
		}
		s.Walk(owner, ir.PreOrder, func(op *ir.Op) {
			if op.Code() == tileaa.OpReturn || op.ParentOp() == owner && op.Traits().Has(ir.Terminator) {
				b.Before(op)
				tileaa.NewTensorRelease(b, memory)
			}
		})
	}
	return nil
}

// roundUp is the columns that a block can ask for.
func roundUp(columns int64) int64 {
	return max(tileaa.LeastTensorColumns, int64(1)<<bits.Len64(uint64(columns-1)))
}

// ownerOf is the role or the entry whose warps compute an op.
func ownerOf(op *ir.Op) *ir.Op {
	for op.Code() != tileaa.OpRole && op.Code() != tileaa.OpEntry {
		op = op.ParentOp()
	}
	return op
}
