package kernel

import (
	"slices"

	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// ReductionWork is what a kernel without products does, each operation taken once; cost.ReducedTile is made of it. Of kernels with scans,
// in which values pass from one warp to the next, it says nothing.
type ReductionWork struct {
	Loaded, Stored int   // bytes, but for what all thread blocks load
	Widest         int   // bytes of the biggest tile that is loaded or stored
	Issue          int   // warp instructions
	HeldBits       int   // the most bits of tiles that are live across a reduction
	LaunchedBlocks int   // thread blocks for a multiprocessor, of a kernel with a grid-stride loop; 0 without
	CarriesTiles   bool  // some loop has loop-carried tiles
	lines          []int // of each reduction, how many lines it reduces: with no more warps than lines, none crosses warps
	passes         int   // over tiles in pieces: one more for each reduction that something else depends on
}

// ReductionWorkOf takes time linear in the entry. Of places, which are tiles, threads hold next to nothing.
func ReductionWorkOf(s *pass.State, entry *ir.Op, places map[*ir.Value]bool) (w ReductionWork) {
	ops, scans := 0, 0
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		ops++
		if _, loop := ir.LoopOf(op); loop {
			w.CarriesTiles = w.CarriesTiles || carriesTiles(op)
		}
		switch op.Code() {
		case tileaa.OpScan:
			scans++
		case tileaa.OpFor:
			if IsGridStride(op) {
				w.LaunchedBlocks = hintedBlocks(s, entry)
			}
		}
	})
	if scans > 0 {
		return w
	}
	at := make(map[*ir.Op]int, ops) // places
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) { at[op] = len(at) })
	reductionsBefore := make(map[*ir.Value]int, ops) // how many reductions, one after the other
	freed := make([]int, ops)                        // bits of the tiles that an operation needs as the last one
	held := 0
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		n := 0
		for _, v := range op.Operands() {
			n = max(n, reductionsBefore[v])
		}
		if op.Code() == tileaa.OpReduce {
			n++
		}
		held -= freed[at[op]]
		if op.Code() == tileaa.OpReduce {
			w.HeldBits = max(w.HeldBits, held)
		}
		for _, r := range op.Results() {
			reductionsBefore[r] = n
			if tileaa.IsRanked(r) && r.HasUses() && !IsRematerialized(r) && !places[r] {
				held += BitsOf(r)
				freed[lastUse(r, at)] += BitsOf(r)
			}
		}
		w.add(op, n)
	})
	return w
}

// IsRematerialized reports whether a value is rematerialized for each of its uses, in the layout of that use.
func IsRematerialized(v *ir.Value) bool {
	op := v.DefiningOp()
	if op == nil {
		return false
	}
	switch op.Code() {
	case tileaa.OpBroadcast, tileaa.OpSplat, tileaa.OpConstant, tileaa.OpIota:
		return true
	}
	return false
}

// lastUse is the place of the last operation that takes a value.
func lastUse(v *ir.Value, at map[*ir.Op]int) int {
	last := at[v.DefiningOp()]
	for u := v.FirstUse(); u != nil; u = u.Next() {
		last = max(last, at[u.Owner()])
	}
	return last
}

// add counts an operation that depends on a chain of so many reductions, itself included.
func (w *ReductionWork) add(op *ir.Op, behind int) {
	switch {
	case IsPlainLoad(op):
		if tileaa.IsRanked(op.Result(0)) {
			w.Widest = max(w.Widest, LoadedBytes(op))
			if !sameForAllBlocks(op) {
				w.Loaded += LoadedBytes(op)
			}
		}
	case op.Code() == tileaa.OpTiledStore || op.Code() == tileaa.OpStore:
		if v := tileaa.StoredValue(op); tileaa.IsRanked(v) {
			w.Widest = max(w.Widest, BitsOf(v)/8)
			w.Stored, w.passes = w.Stored+BitsOf(v)/8, max(w.passes, behind+1)
		}
	case op.Code() == tileaa.OpReduce:
		shape := tileaa.ShapeOf(op.Operand(0))
		w.Issue += TileRegisters(op.Operand(0)) / layout.WarpSize
		w.passes = max(w.passes, behind)
		w.lines = append(w.lines, int(tileaa.AsTile(op.Operand(0)).NumElements()/shape[tileaa.DimOf(op)]))
	case op.Traits().Has(ir.Elementwise) && op.NumResults() == 1:
		w.Issue += issueOf(op)
	}
}

// sameForAllBlocks reports whether all thread blocks load the same block of an array, as the weights of a normalization: it comes from the
// caches.
func sameForAllBlocks(load *ir.Op) bool {
	block, ok := tileaa.BlockOf(load)
	return ok && !slices.ContainsFunc(block.Indices(), func(v *ir.Value) bool { return v.DefiningOp() == nil || v.DefiningOp().Code() != tileaa.OpConstant })
}

// Tile is the work of so many warps for the cost model; exchanges is false where no reduction crosses warps.
func (w ReductionWork) Tile(warps int) (t cost.ReducedTile, exchanges bool) {
	t = cost.ReducedTile{Loaded: w.Loaded, Stored: w.Stored, Issue: w.Issue, Passes: w.passes, Pieces: 1, Warps: warps, Prefetches: w.LaunchedBlocks > 0}
	for _, n := range w.lines {
		if n < warps {
			t.Exchanges++
		}
	}
	return t, t.Exchanges > 0
}
