package plan

import (
	"tileiras/codegen/atom"
	"tileiras/codegen/cost"
	"tileiras/ir"
	"tileiras/passes/kernel"
)

// bestTiling shares a product over warps. Warps split rows alone where a thread must keep whole rows of the result for itself and its
// neighbours: where the result becomes the left operand of another dot, which then needs no other warp (attention), or is reduced.
// Otherwise the split that reads the least of both operands wins.
func bestTiling(op *ir.Op, k atom.Candidate, warps int) (atom.Tiling, bool) {
	var keep func(atom.Split) bool
	if kernel.WantsRows(op) {
		keep = fewestColumns(k, warps)
	}
	return cost.BestSplit(k, warps, keep)
}

// fewestColumns keeps the splits in which as few warps as possible share a row.
func fewestColumns(k atom.Candidate, warps int) func(atom.Split) bool {
	least := warps
	for _, s := range atom.Splits(k.Atom, k.Extent, warps, k.Swap) {
		least = min(least, s.N)
	}
	return func(s atom.Split) bool { return s.N == least }
}
