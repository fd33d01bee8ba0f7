package sync

import (
	"cmp"
	"slices"

	"tileiras/codegen/atom"
	"tileiras/codegen/planted"
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
		var factors []tileaa.FactorStore
		s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
			if d, ok := onTensorUnit(op); ok {
				products = append(products, d)
			}
			if o, ok := ir.As[tileaa.SumsOp](op); ok {
				others = append(others, o)
			}
			if f, ok := ir.As[tileaa.FactorStore](op); ok {
				factors = append(factors, f)
			}
		})
		if len(products) == 0 {
			continue
		}
		columns := assignColumns(s, products, factors)
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
		for _, f := range factors {
			f.SetMemory(memory)
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

// assignColumns gives products and factors their columns, and says how many there are. First come products of which nothing is left when the next one begins, and
// beside each other those that a loop or an iteration lands, which keep their columns from its first iteration to its last, whatever is computed in it; where those
// leave room what waits for a dot_land while others are computed, and factors.
func assignColumns(s *pass.State, products []tileaa.Dot, factors []tileaa.FactorStore) int64 {
	landed := map[*ir.Block]int64{} // columns of what the loop of a block lands
	for _, d := range products {
		if d.InFlight() && !isSkewed(d) {
			landed[d.Op.Block()] += tileaa.TensorColumnsOf(d)
		}
	}
	given := map[*ir.Block]int64{} // of those, the columns that products have
	var used occupied
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
		used = append(used, stretch{block, from, from + tileaa.TensorColumnsOf(d)})
	}
	type carried struct {
		loop   *ir.Op
		number int
	}
	held := map[carried]int64{} // the first column of what a loop holds for a dot_land
	for _, d := range products {
		if !isSkewed(d) {
			continue
		}
		loop, i := carrier(d)
		at, placed := held[carried{loop, i}]
		if !placed {
			at = used.place(loop.Body(), tileaa.TensorColumnsOf(d))
			held[carried{loop, i}] = at
		}
		d.SetColumn(s.Ctx, at)
	}
	for _, f := range factors {
		if f.Over() == nil {
			at := used.place(f.Op.Block(), factorColumns(f.Value()))
			if planted.On("factor-among-sums") {
				at = 0
			}
			f.SetColumn(s.Ctx, at)
		} else {
			f.SetColumn(s.Ctx, columnOf(f.Over()))
		}
	}
	return used.end()
}

// columnOf is the first column of the product that has given a value.
func columnOf(v *ir.Value) int64 {
	d, ok := ir.DefinedBy[tileaa.Dot](v)
	if land, landed := ir.DefinedBy[tileaa.DotLand](v); landed {
		d, ok = tileaa.InTensorMemory(land.Source())
	}
	if !ok {
		panic("BUG: a factor takes the columns of what is no product")
	}
	column, _ := d.Column()
	return column
}

// factorColumns is the columns of tensor memory that a factor takes.
func factorColumns(v *ir.Value) int64 {
	t := tileaa.AsTile(v)
	return int64(atom.FactorColumns(int(t.Shape[0]), int(t.Shape[1]), tileaa.ElemBits(t.Elem)))
}

// stretch is columns that are in use in a block.
type stretch struct {
	block    *ir.Block
	from, to int64
}

// occupied is what is in use.
type occupied []stretch

// place takes the lowest free columns, so many, for a block: those that are in use neither there nor in a block around it or inside of it.
func (o *occupied) place(b *ir.Block, n int64) (from int64) {
	var list []stretch
	for _, u := range *o {
		if within(u.block, b) || within(b, u.block) {
			list = append(list, u)
		}
	}
	slices.SortFunc(list, func(x, y stretch) int { return cmp.Compare(x.from, y.from) })
	for _, u := range list {
		if u.from-from >= n {
			break
		}
		from = max(from, u.to)
	}
	*o = append(*o, stretch{b, from, from + n})
	return from
}

// within reports whether a block is another one, or in it.
func within(b, outer *ir.Block) bool {
	for ; b != nil; b = b.ParentOp().Block() {
		if b == outer {
			return true
		}
	}
	return false
}

// end is the first column behind all.
func (o occupied) end() (n int64) {
	for _, u := range o {
		n = max(n, u.to)
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
