package kernel

import (
	"slices"

	"tileiras/codegen/cost"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// Work is what a kernel without products does whose tiles are reduced, each operation taken once: its tiles are what cost.ReducedTile is about. Of other kernels, and
// of those with scans, in which values pass from one warp to the next, it says nothing.
type Work struct {
	Loaded, Stored int   // bytes of arrays that no other tile block touches
	Widest         int   // bytes of the biggest tile that is loaded or stored
	Issue          int   // warp instructions
	HeldBits       int   // of the tiles that are needed again after a reduction, at most
	Launched       int   // thread blocks for a multiprocessor, of which a loop shares its iterations; 0 where none does
	Holds          bool  // a loop holds tiles from one iteration to the next
	apart          []int // of each reduction, how many of them run side by side: so many warps need not tell each other anything
	passes         int   // over tiles in pieces: what follows from a reduction of a tile waits for all of it
}

// WorkOf takes time linear in the entry.
func WorkOf(s *pass.State, entry *ir.Op) (w Work) {
	ops, scans := 0, 0
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		ops++
		if _, loop := ir.LoopOf(op); loop {
			w.Holds = w.Holds || HoldsTiles(op)
		}
		switch op.Code() {
		case tileaa.OpScan:
			scans++
		case tileaa.OpFor:
			if Distributes(op) {
				w.Launched = beside(s, entry)
			}
		}
	})
	if scans > 0 {
		return w
	}
	at := make(map[*ir.Op]int, ops) // places
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) { at[op] = len(at) })
	behind := make(map[*ir.Value]int, ops) // how many reductions, one after the other
	freed := make([]int, ops)              // bits of the tiles that an operation needs as the last one
	held := 0
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		n := 0
		for _, v := range op.Operands() {
			n = max(n, behind[v])
		}
		if op.Code() == tileaa.OpReduce {
			n++
		}
		held -= freed[at[op]]
		if op.Code() == tileaa.OpReduce {
			w.HeldBits = max(w.HeldBits, held)
		}
		for _, r := range op.Results() {
			behind[r] = n
			if tileaa.IsRanked(r) && r.HasUses() && !MadeAgain(r) {
				held += bitsOf(r)
				freed[lastUse(r, at)] += bitsOf(r)
			}
		}
		w.add(op, n)
	})
	return w
}

// MadeAgain reports whether each use of a value has its own, made for it in its layout.
func MadeAgain(v *ir.Value) bool {
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

// add counts an operation behind so many reductions, itself included.
func (w *Work) add(op *ir.Op, behind int) {
	switch {
	case IsPlainLoad(op):
		if tileaa.IsRanked(op.Result(0)) {
			w.Widest = max(w.Widest, LoadedBytes(op))
			if !everywhereAlike(op) {
				w.Loaded += LoadedBytes(op)
			}
		}
	case op.Code() == tileaa.OpTiledStore || op.Code() == tileaa.OpStore:
		if v := tileaa.StoredValue(op); tileaa.IsRanked(v) {
			w.Widest = max(w.Widest, bitsOf(v)/8)
			w.Stored, w.passes = w.Stored+bitsOf(v)/8, max(w.passes, behind+1)
		}
	case op.Code() == tileaa.OpReduce:
		shape := tileaa.ShapeOf(op.Operand(0))
		w.Issue += TileRegisters(op.Operand(0)) / 32
		w.passes = max(w.passes, behind)
		w.apart = append(w.apart, int(tileaa.AsTile(op.Operand(0)).NumElements()/shape[tileaa.DimOf(op)]))
	case op.Traits().Has(ir.Elementwise) && op.NumResults() == 1:
		w.Issue += TileRegisters(op.Result(0)) / 32 * max(1, slowIssue[op.Code()])
	}
}

// everywhereAlike reports whether all tile blocks load the same block of an array, as the weights of a normalization: it comes from the caches.
func everywhereAlike(load *ir.Op) bool {
	block, ok := tileaa.BlockOf(load)
	return ok && !slices.ContainsFunc(block.Indices(), func(v *ir.Value) bool { return v.DefiningOp() == nil || v.DefiningOp().Code() != tileaa.OpConstant })
}

// Tile is the work of so many warps, as cost sees it; meets is false where no values pass between them.
func (w Work) Tile(warps int) (t cost.ReducedTile, meets bool) {
	t = cost.ReducedTile{Loaded: w.Loaded, Stored: w.Stored, Issue: w.Issue, Passes: w.passes, Pieces: 1, Warps: warps, Prefetches: w.Launched > 0}
	for _, n := range w.apart {
		if n < warps {
			t.Exchanges++
		}
	}
	return t, t.Exchanges > 0
}
