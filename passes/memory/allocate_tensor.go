package memory

import (
	"slices"

	"tileiras/codegen/atom"
	"tileiras/codegen/planted"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// AllocateTensor gives products of the tensor unit columns of tensor memory to sum in, and the kernel its part of it:
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
		if err := readSumsInPieces(s, entry); err != nil {
			return err
		}
		var products []tileaa.Dot
		var others []tileaa.SumsOp
		var factors []tileaa.FactorStore
		s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
			if d, ok := tileaa.OnTensorUnit(op); ok {
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
		owner := tileaa.OwnerOf(products[0].Op)
		if owner != entry {
			b.AtStart(owner.Body())
		}
		tileaa.NewTensorAddress(b, memory)
		for _, d := range products {
			d.SetMemory(memory)
		}
		for _, o := range others {
			d, ok := tileaa.ProductOf(o)
			if !ok {
				continue // a dot_land of warpgroups
			}
			column, _ := d.Column()
			o.SetMemory(memory)
			o.SetColumn(s.Ctx, column)
			if lane, ok := d.Lane(); ok {
				o.SetLane(s.Ctx, lane)
			}
		}
		for _, f := range factors {
			f.SetMemory(memory)
		}
		beforeEnds(s, b, owner, func() { tileaa.NewTensorRelease(b, memory) })
	}
	return nil
}

// beforeEnds inserts before each op that ends an entry or a role.
func beforeEnds(s *pass.State, b *ir.Builder, owner *ir.Op, insert func()) {
	s.Walk(owner, ir.PreOrder, func(op *ir.Op) {
		if op.Code() == tileaa.OpReturn || op.ParentOp() == owner && op.Traits().Has(ir.Terminator) {
			b.Before(op)
			insert()
		}
	})
}

// assignColumns gives products and factors their columns, and says how many there are. What a loop or an iteration lands keeps its columns from the first iteration to
// the last, whatever is computed in it; what comes in pieces, as long as the block around the loop runs; so does what waits for a dot_land while others are computed.
// Products of which nothing is left when the next one begins take the same.
func assignColumns(s *pass.State, products []tileaa.Dot, factors []tileaa.FactorStore) int64 {
	var used OccupiedColumns
	products = slices.DeleteFunc(slices.Clone(products), func(d tileaa.Dot) bool { return tileaa.LastOfSum(d) != d }) // which share the region of the last
	for _, d := range products {
		if d.InFlight() && !isSkewed(d) {
			setRegion(s, d, used.Place(heldIn(d), SumsSize(d)))
		}
	}
	type carried struct {
		loop   *ir.Op
		number int
	}
	held := map[carried]TensorRegion{} // what a loop holds for a dot_land
	for _, d := range products {
		if !isSkewed(d) {
			continue
		}
		loop, i := carrier(d)
		at, placed := held[carried{loop, i}]
		if !placed {
			at = used.Place(loop.Body(), SumsSize(d))
			held[carried{loop, i}] = at
		}
		setRegion(s, d, at)
	}
	for _, f := range factors {
		if f.Over() != nil {
			continue
		}
		at := used.Place(f.Op.Block(), FactorSize(f.Value()))
		if planted.On("factor-among-sums") {
			at.From = 0
		}
		f.SetColumn(s.Ctx, at.From)
	}
	used.placeScales(s, products)
	var waited []tileaa.Dot // for, of which nothing is left behind them
	for _, d := range products {
		switch _, over := tileaa.StoreOver(d.Result()); {
		case d.InFlight():
		case over, len(tileaa.SumOf(d)) > 1:
			setRegion(s, d, used.Place(d.Op.Block(), SumsSize(d)))
		default:
			waited = append(waited, d)
		}
	}
	n := used.End()
	for _, d := range waited {
		at := used.free(SumsSize(d), func(b *ir.Block) bool { return within(d.Op.Block(), b) })
		setRegion(s, d, at)
		n = max(n, at.To)
	}
	for _, f := range factors {
		if d, below := tileaa.SumsBelow(f); below {
			column, _ := d.Column()
			f.SetColumn(s.Ctx, column)
		}
	}
	return n
}

// placeScales gives the scales of products columns in which they stay until the next ones come. Those that sum into one region have scales of their own.
func (o *OccupiedColumns) placeScales(s *pass.State, sums []tileaa.Dot) {
	for _, last := range sums {
		for _, d := range tileaa.SumOf(last) {
			if tileaa.IsScaled(d.Op) {
				n := tileaa.ScaleColumnsOf(d.LhsScale()) + tileaa.ScaleColumnsOf(d.RhsScale())
				d.SetScaleColumn(s.Ctx, o.Place(d.Op.Block(), TensorRegion{0, int64(atom.WholeColumns(int(n))), AllLanes}).From)
			}
		}
	}
}

// heldIn is the block during which a product in flight occupies its columns: its own, or that of its loop if threads read its sum in pieces
// behind the loop.
func heldIn(d tileaa.Dot) *ir.Block {
	if carried, adds := tileaa.OnlyAdds(d.Op); adds {
		loop := d.Op.ParentOp()
		for u := loop.Result(carried).FirstUse(); u != nil; u = u.Next() {
			if land, ok := ir.As[tileaa.DotLand](u.Owner()); ok && len(land.Indices()) > 0 {
				return loop.Block()
			}
		}
	}
	return d.Op.Block()
}

// setRegion sets the columns of a product, and of those before it in its accumulation chain.
func setRegion(s *pass.State, d tileaa.Dot, at TensorRegion) {
	for _, x := range tileaa.SumOf(d) {
		x.SetColumn(s.Ctx, at.From)
		if at.Lanes == upperLanes {
			x.SetLane(s.Ctx, laneOfUpper)
		}
	}
}

// isSkewed reports whether a product stays in flight until a dot_land of the next iteration.
func isSkewed(d tileaa.Dot) bool {
	_, adds := tileaa.OnlyAdds(d.Op)
	return d.InFlight() && !adds && !ir.Is[tileaa.DotLand](d.Result().FirstUse().Owner())
}

// carrier is the loop that carries the result of such a product, and its index there.
func carrier(d tileaa.Dot) (loop *ir.Op, index int) {
	use := d.Result().FirstUse()
	if loop = use.Owner(); loop.Code() != tileaa.OpFor {
		return d.Op.ParentOp(), use.Index()
	}
	flow, _ := ir.LoopOf(loop)
	index, _ = flow.InitIndex(use.Index())
	return loop, index
}
