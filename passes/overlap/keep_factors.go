package overlap

import (
	"slices"

	"tileiras/codegen/atom"
	"tileiras/codegen/cost"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/memory"
	"tileiras/passes/pass"
)

// KeepFactors leaves in tensor memory what threads compute for a product of the tensor unit, instead of storing it to shared memory, where it has a row of the
// factor in each thread already. In attention these are the weights:
//
//	%s = dot %q, %k, 0                    %s = dot %q, %k, 0
//	%p = .. exp %s ..                     %p = .. exp %s ..
//	%b = alloc_shared              =>     %f = factor_store %p
//	buffer_store %p, %b
//	%d = dot %b, %v, %c                   %d = dot %f, %v, %c
//
// It takes columns of its own if that costs none of the blocks of a multiprocessor that share tensor memory. Otherwise it takes those of the product from which it
// has been computed, which then begins no iteration ahead, if the multiprocessor runs more blocks with so much less of shared memory.
func KeepFactors(s *pass.State) error {
	for _, entry := range s.Entries() {
		var kept []factor
		var used memory.OccupiedColumns
		s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
			if d, ok := tileaa.OnTensorUnit(op); ok && used.End() <= atom.TensorColumns {
				if tileaa.LastOfSum(d) == d {
					used.Place(op.Block(), memory.SumsSize(d))
				}
				if f, ok := storedFactor(d); ok {
					kept = append(kept, f)
				}
			}
		})
		if len(kept) == 0 {
			continue
		}
		sums := atom.TensorColumnsFor(int(used.End()))
		for _, f := range kept {
			used.Place(f.store.Op.Block(), memory.FactorSize(f.store.Value()))
		}
		b := ir.NewBuilder(s.Ctx)
		switch {
		case atom.TensorColumnsFor(int(used.End())) == sums:
			for _, f := range kept {
				f.keep(b, nil)
			}
		case canLieOver(kept) && moreBlocks(s, entry, kept, sums):
			for _, f := range kept {
				f.keep(b, f.over)
			}
		}
	}
	return nil
}

// canLieOver reports whether each factor has a sum of its own over which it can be stored: a product that reads one of them may be in flight when another one is
// stored.
func canLieOver(kept []factor) bool {
	taken := map[*ir.Value]bool{nil: true}
	for _, f := range kept {
		if taken[f.over] {
			return false
		}
		taken[f.over] = true
	}
	return true
}

// factor is the left factor of a product of the tensor unit that threads store to shared memory for it alone.
type factor struct {
	product tileaa.Dot
	store   tileaa.BufferStore
	over    *ir.Value // what products before it in its block have added up from nothing, in as many columns at least
}

// storedFactor is that of a product, if it could lie in tensor memory as well. There is a product in front of it that adds to nothing: of loops with such ones
// overlap-products sees to the waits.
func storedFactor(d tileaa.Dot) (f factor, ok bool) {
	alloc, ok := ir.DefinedBy[tileaa.AllocShared](d.Lhs())
	if !ok || d.Atom().Swap || tileaa.IsScaled(d.Op) {
		return f, false
	}
	f.product = d
	for _, user := range tileaa.BufferUsers(alloc.Result()) {
		store, stores := ir.As[tileaa.BufferStore](user)
		switch {
		case user == d.Op:
		case stores && f.store.Op == nil && user.Block() == d.Op.Block():
			f.store = store
		default:
			return f, false
		}
	}
	if f.store.Op == nil {
		return f, false
	}
	v := f.store.Value()
	if !d.Atom().Atom.Tensor.HoldsRows(*tileaa.LayoutOf(v), tileaa.ElemBits(tileaa.AsTile(v).Elem)) {
		return f, false
	}
	fresh, before := false, map[*ir.Op]bool{}
	for op := f.store.Op.Prev(); op != nil && f.over == nil; op = op.Prev() {
		before[op] = true
		if o, ok := tileaa.OnTensorUnit(op); ok && isZeroInit(o) {
			fresh = true
			if sums := memory.SumsSize(o); sums.Lanes == memory.AllLanes && sums.To >= memory.FactorSize(v).To && before[tileaa.LastOfSum(o).Op] {
				f.over = tileaa.LastOfSum(o).Result()
			}
		}
	}
	return f, fresh
}

// keep replaces the store to shared memory by one to tensor memory.
func (f factor) keep(b *ir.Builder, over *ir.Value) {
	b.Before(f.store.Op)
	b.Loc = f.store.Op.Loc()
	there := tileaa.NewFactorStore(b, f.store.Value(), tileaa.FactorStoreOptions{Over: over}).Result()
	alloc := f.product.Lhs().DefiningOp()
	f.store.Op.Erase()
	f.product.SetLhs(there)
	alloc.Erase()
}

// moreBlocks reports whether shared memory without the buffers of the kept factors, and tensor memory with so many columns for each block,
// hold more resident blocks.
func moreBlocks(s *pass.State, entry *ir.Op, kept []factor, columns int) bool {
	list, at := memory.LiveIntervals(s, entry)
	for _, iv := range list { // what copies fill while others are read lives as long as the loop
		for _, user := range tileaa.BufferUsers(iv.Op.Result(0)) {
			if loop := ir.EnclosingLoop(user); loop != nil && ir.Is[tileaa.AsyncCopy](user) {
				iv.First, iv.Last = min(iv.First, at[loop].First), max(iv.Last, at[loop].Last)
			}
		}
	}
	blocks := func(list []*memory.LiveInterval) int {
		bytes, err := memory.PlaceBuffers(s, list)
		if err != nil {
			return 0
		}
		n, _ := cost.Occupancy(s.Target, tileaa.PlanOf(entry).Threads(), 1, bytes)
		return min(n, atom.TensorColumns/columns)
	}
	before := blocks(list)
	list = slices.DeleteFunc(list, func(iv *memory.LiveInterval) bool {
		return slices.ContainsFunc(kept, func(f factor) bool { return f.product.Lhs() == iv.Op.Result(0) })
	})
	return blocks(list) > before
}
