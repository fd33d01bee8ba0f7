package kernel

import (
	"slices"

	"tileiras/codegen/cost"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// Work is what a kernel without products does, each operation taken once: its tiles are what cost.Tile is about.
type Work struct {
	Loaded, Stored int   // bytes of arrays that no other tile block touches
	Issue          int   // warp instructions
	apart          []int // of each reduction, how many of them run side by side: so many warps need not tell each other anything
	passes         int   // over tiles in pieces: what follows from a reduction of a tile waits for all of it
	scans          bool
}

// WorkOf takes time linear in the entry.
func WorkOf(s *pass.State, entry *ir.Op) (w Work) {
	behind := map[*ir.Value]int{} // how many reductions, one after the other
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		n := 0
		for _, v := range op.Operands() {
			n = max(n, behind[v])
		}
		if op.Code() == tileaa.OpReduce {
			n++
		}
		for _, r := range op.Results() {
			behind[r] = n
		}
		switch {
		case op.Code() == tileaa.OpTiledLoad || op.Code() == tileaa.OpLoad:
			if tileaa.IsRanked(op.Result(0)) && !everywhereAlike(op) {
				w.Loaded += loaded(op)
			}
		case op.Code() == tileaa.OpTiledStore || op.Code() == tileaa.OpStore:
			if v := tileaa.StoredValue(op); tileaa.IsRanked(v) {
				w.Stored, w.passes = w.Stored+bitsOf(v)/8, max(w.passes, n+1)
			}
		case op.Code() == tileaa.OpScan:
			w.scans = true
		case op.Code() == tileaa.OpReduce:
			shape := tileaa.ShapeOf(op.Operand(0))
			w.Issue += TileRegisters(op.Operand(0)) / 32
			w.passes = max(w.passes, n)
			w.apart = append(w.apart, int(tileaa.AsTile(op.Operand(0)).NumElements()/shape[tileaa.DimOf(op)]))
		case op.Traits().Has(ir.Elementwise) && op.NumResults() == 1:
			w.Issue += TileRegisters(op.Result(0)) / 32 * max(1, slowIssue[op.Code()])
		}
	})
	return w
}

// everywhereAlike reports whether all tile blocks load the same block of an array, as the weights of a normalization: it comes from the caches.
func everywhereAlike(load *ir.Op) bool {
	block, ok := tileaa.BlockOf(load)
	return ok && !slices.ContainsFunc(block.Indices(), func(v *ir.Value) bool { return v.DefiningOp() == nil || v.DefiningOp().Code() != tileaa.OpConstant })
}

// Tile is the work of so many warps, as cost sees it; meets is false where no values pass between them, or pass from one to the next, as in a scan.
func (w Work) Tile(warps int) (t cost.Tile, meets bool) {
	t = cost.Tile{Loaded: w.Loaded, Stored: w.Stored, Issue: w.Issue, Passes: w.passes, Pieces: 1, Warps: warps}
	for _, n := range w.apart {
		if n < warps {
			t.Meets++
		}
	}
	return t, t.Meets > 0 && !w.scans
}
