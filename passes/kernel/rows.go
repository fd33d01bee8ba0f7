package kernel

import (
	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// RowsOf is what an iteration of a loop asks for beside what it copies; ok is false where it multiplies, or warps tell each other nothing.
func RowsOf(s *pass.State, loop *ir.Op, warps int) (r cost.RowLoop, ok bool) {
	r.Warps = warps
	products, widest := false, 0
	s.Walk(loop, ir.PreOrder, func(op *ir.Op) {
		switch {
		case tileaa.IsProduct(op):
			products = true
		case op.Code() == tileaa.OpConvertLayout && betweenWarps(op), op.Code() == tileaa.OpBufferStore:
			r.Exchanges++
		case op.Code() == tileaa.OpTiledStore || op.Code() == tileaa.OpStore:
			if v := tileaa.StoredValue(op); tileaa.IsRanked(v) {
				r.StoredBytes += bitsOf(v) / 8
			}
		case op.Traits().Has(ir.Elementwise) && op.NumResults() == 1:
			r.Issue += TileRegisters(op.Result(0)) / 32 * max(1, slowIssue[op.Code()])
		}
		for _, v := range op.Results() {
			widest = max(widest, TileRegisters(v))
		}
	})
	r.Registers = widest/(32*warps) + cost.OverheadRegisters
	if Distributes(loop) || HoldsTiles(loop) { // what a block adds up others add to its like: there are few blocks
		r.LaunchedBlocks = beside(s, tileaa.EntryOf(loop))
	}
	return r, !products && r.Exchanges > 0
}

// betweenWarps reports whether a conversion needs values of other warps.
func betweenWarps(convert *ir.Op) bool {
	p := layout.Convert(*tileaa.LayoutOf(convert.Operand(0)), *tileaa.LayoutOf(convert.Result(0)))
	return p.Kind == layout.Shared && !p.WarpLocal
}
