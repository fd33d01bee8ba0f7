package plan

import (
	"tileiras/codegen/atom"
	"tileiras/codegen/cost"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// bestTiling shares a product over warps. Warps split rows alone where a thread must keep whole rows of the result for itself and its
// neighbours: where the result becomes the left operand of another dot, which then needs no other warp (attention), or is reduced.
// Otherwise the split that reads the least of both operands wins.
func bestTiling(op *ir.Op, k atom.Candidate, warps int) (atom.Tiling, bool) {
	var keep func(atom.Split) bool
	if wantsRows(op) {
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

// wantsRows looks from a dot to the next dot or reduction, down through the result and up through the left operand.
func wantsRows(op *ir.Op) bool {
	seen := map[*ir.Value]bool{}
	var down func(v *ir.Value) bool
	down = func(v *ir.Value) bool {
		if seen[v] {
			return false
		}
		seen[v] = true
		for u := v.FirstUse(); u != nil; u = u.Next() {
			o := u.Owner()
			switch {
			case o.Code() == tileaa.OpReduce, tileaa.IsProduct(o) && u.Index() == 0:
				return true
			case o.Traits().Has(ir.Elementwise):
				if down(o.Result(0)) {
					return true
				}
			}
		}
		return false
	}
	var up func(v *ir.Value, depth int) bool
	up = func(v *ir.Value, depth int) bool {
		o := v.DefiningOp()
		if o == nil || depth == 0 || tileaa.AsTile(v) == nil {
			return false
		}
		if tileaa.IsProduct(o) {
			return true
		}
		if !o.Traits().Has(ir.Elementwise) {
			return false
		}
		for _, x := range o.Operands() {
			if up(x, depth-1) {
				return true
			}
		}
		return false
	}
	const farEnough = 12 // elementwise steps between the two products of an attention
	return up(op.Operand(0), farEnough) || down(op.Result(0))
}
