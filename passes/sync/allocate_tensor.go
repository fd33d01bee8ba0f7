package sync

import (
	"tileiras/codegen/atom"
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
		var others []tileaa.SumsOp
		s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
			if d, ok := onTensorUnit(op); ok {
				products = append(products, d)
			}
			if o, ok := ir.As[tileaa.SumsOp](op); ok {
				others = append(others, o)
			}
		})
		if len(products) == 0 {
			continue
		}
		columns := assignColumns(s, products)
		if columns > atom.TensorColumns {
			return &pass.ErrPlan{Entry: pass.SymbolName(entry), Reason: "products need more tensor memory than there is", Loc: products[0].Op.Loc()}
		}
		b := ir.NewBuilder(s.Ctx).AtStart(entry.Body())
		b.Loc = products[0].Op.Loc()
		memory := tileaa.NewAllocTensor(b, tileaa.TensorMemory(s.Ctx, int64(atom.TensorColumnsFor(int(columns)))), tileaa.AllocTensorOptions{}).Result()
		tileaa.NewTensorAcquire(b, memory)
		owner := ownerOf(products[0].Op)
		if owner != entry {
			b.AtStart(owner.Body())
		}
		tileaa.NewTensorAddress(b, memory)
		for _, d := range products {
			d.SetMemory(memory)
		}
		for _, o := range others {
			d, _ := tileaa.ProductOf(o)
			column, _ := d.Column()
			o.SetMemory(memory)
			o.SetColumn(s.Ctx, column)
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

// assignColumns gives products their columns, and says how many there are. First come those of which nothing is left when the next one begins, and beside each
// other those that a loop or an iteration lands, which keep their columns from its first iteration to its last, whatever is computed in it; behind them what waits
// for a dot_land while others are computed.
func assignColumns(s *pass.State, products []tileaa.Dot) (columns int64) {
	landed := map[*ir.Block]int64{} // columns of what the loop of a block lands
	for _, d := range products {
		if d.InFlight() && !isSkewed(d) {
			landed[d.Op.Block()] += tileaa.TensorColumnsOf(d)
		}
	}
	given := map[*ir.Block]int64{} // of those, the columns that products have
	for _, d := range products {
		if isSkewed(d) {
			continue
		}
		block := d.Op.Block()
		from := landed[block]
		if d.InFlight() {
			from = given[block]
			given[block] += tileaa.TensorColumnsOf(d)
		}
		for outer := block.ParentOp(); outer.Block() != nil; outer = outer.ParentOp() {
			from += landed[outer.Block()]
		}
		d.SetColumn(s.Ctx, from)
		columns = max(columns, from+tileaa.TensorColumnsOf(d))
	}
	held := map[*ir.Op][]int64{} // columns of what a loop holds for a dot_land, by the number of what it carries
	for _, d := range products {
		if isSkewed(d) {
			loop, i := carrier(d)
			for len(held[loop]) <= i {
				held[loop] = append(held[loop], 0)
			}
			held[loop][i] = tileaa.TensorColumnsOf(d)
		}
	}
	first := columns
	for _, d := range products {
		if !isSkewed(d) {
			continue
		}
		loop, i := carrier(d)
		from := first + sum(held[loop][:i])
		for outer := loop.ParentOp(); outer != nil; outer = outer.ParentOp() {
			from += sum(held[outer])
		}
		d.SetColumn(s.Ctx, from)
		columns = max(columns, from+held[loop][i])
	}
	return columns
}

func sum(list []int64) (n int64) {
	for _, x := range list {
		n += x
	}
	return n
}

// isSkewed reports whether a product goes on until a dot_land of the next iteration.
func isSkewed(d tileaa.Dot) bool {
	_, adds := tileaa.OnlyAdds(d.Op)
	return d.InFlight() && !adds && !ir.Is[tileaa.DotLand](d.Result().FirstUse().Owner())
}

// carrier is the loop that carries the result of such a product, and its number there.
func carrier(d tileaa.Dot) (loop *ir.Op, index int) {
	use := d.Result().FirstUse()
	if loop = use.Owner(); loop.Code() != tileaa.OpFor {
		return d.Op.ParentOp(), use.Index()
	}
	flow, _ := ir.LoopOf(loop)
	index, _ = flow.InitIndex(use.Index())
	return loop, index
}

// ownerOf is the role or the entry whose warps compute an op.
func ownerOf(op *ir.Op) *ir.Op {
	for op.Code() != tileaa.OpRole && op.Code() != tileaa.OpEntry {
		op = op.ParentOp()
	}
	return op
}
