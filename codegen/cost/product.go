package cost

import (
	"cmp"
	"slices"

	"tileiras/codegen/atom"
	"tileiras/codegen/layout"
	"tileiras/codegen/target"
)

// Products lists the ways to compute a product, cheapest first, of equals the first in the table. Arguments are those of atom.SelectMMA.
func Products(t *target.Target, types atom.Types, e atom.Extent) []atom.Candidate {
	list := atom.SelectMMA(t, types, e)
	slices.SortStableFunc(list, func(x, y atom.Candidate) int {
		return cmp.Compare(ProductCycles(t, x, types.A, types.B, e), ProductCycles(t, y, types.A, types.B, e))
	})
	return list
}

// ProductCycles is the time of a quarter of a multiprocessor that computes a product of types a and b and extent e all alone: for every
// instruction the time of the unit and one issue slot, and the conversion of the operands. The multiply-add also moves operands, about
// half an instruction for each in blocks of 4x4, and its warps are not full below 32 elements of C. Where the unit does not take the
// types, ptxas converts the operands of every single instruction, two elements at a time, and multiplies what is twice as wide.
func ProductCycles(t *target.Target, k atom.Candidate, a, b atom.Elem, e atom.Extent) int {
	m, padded := k.Atom, k.Extent
	convert := convertCycles(a, k.A, e.Rows()*e.K) + convertCycles(b, k.B, e.K*e.Columns())
	if m.Scalar() {
		waves := max(1, padded.Rows()*padded.N/layout.WarpSize) * padded.K
		return max(1, waves*layout.WarpSize*3/(m.Rate*2)) + convert
	}
	products := m.Shape.M * m.Shape.N * m.Shape.K / m.Warps() // of a warp
	issue, rate := 1, m.Rate
	if m.Unit&^t.Families != 0 {
		issue += 2 * (m.WordsA + m.WordsB)
		rate /= 2
	}
	return padded.Products()/products*(max(1, products/rate)+issue) + convert
}

// convertCycles is the time to convert n elements: an instruction converts a pair in each lane.
func convertCycles(from, to atom.Elem, n int) int {
	if from == to {
		return 0
	}
	return max(1, n/(2*layout.WarpSize))
}
