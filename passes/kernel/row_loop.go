package kernel

import (
	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// RowLoopOf is what an iteration of a loop asks for beside its copies; ok is false if it has products or nothing in it crosses warps.
func RowLoopOf(s *pass.State, loop *ir.Op, warps int) (r cost.RowLoop, ok bool) {
	r.Warps = warps
	products, widest := false, 0
	s.Walk(loop, ir.PreOrder, func(op *ir.Op) {
		switch {
		case tileaa.IsProduct(op):
			products = true
		case op.Code() == tileaa.OpConvertLayout && crossesWarps(op), op.Code() == tileaa.OpBufferStore:
			r.Exchanges++
		case op.Code() == tileaa.OpTiledStore || op.Code() == tileaa.OpStore:
			if v := tileaa.StoredValue(op); tileaa.IsRanked(v) {
				r.StoredBytes += BitsOf(v) / 8
			}
		case op.Traits().Has(ir.Elementwise) && op.NumResults() == 1:
			r.Issue += issueOf(op)
		}
		for _, v := range op.Results() {
			widest = max(widest, TileRegisters(v))
		}
	})
	r.Registers = widest/(layout.WarpSize*warps) + cost.OverheadRegisters
	if IsGridStride(loop) || carriesTiles(loop) { // what a block adds up others add to its like: there are few blocks
		r.LaunchedBlocks = hintedBlocks(s, tileaa.EntryOf(loop))
	}
	return r, !products && r.Exchanges > 0
}

// crossesWarps reports whether a layout conversion moves values between warps.
func crossesWarps(convert *ir.Op) bool {
	p := layout.Convert(*tileaa.LayoutOf(convert.Operand(0)), *tileaa.LayoutOf(convert.Result(0)))
	return p.Kind == layout.Shared && !p.WarpLocal
}
