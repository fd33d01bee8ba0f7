package kernel

import (
	"slices"

	"tileiras/codegen/atom"
	"tileiras/codegen/layout"
	"tileiras/codegen/target"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// TensorMemorySum is the result of a loop that accumulates one product in tensor memory, from zeros on, and that no thread ever holds
// whole: its users behind the loop can read it in pieces. ok is false for every other product: one among several, a transposed one, one
// with fewer rows than threads (which then share columns), and one that needs more columns than there are, with those of its scales.
func TensorMemorySum(s *pass.State, op *ir.Op, warps int) (sum *ir.Value, ok bool) {
	d, isDot := ir.As[tileaa.Dot](op)
	if !isDot || !target.Tcgen05.On(s.Target) {
		return nil, false
	}
	carried, adds := tileaa.OnlyAdds(op)
	if !adds || tileaa.ElemBits(tileaa.AsTile(d.Result()).Elem) != 32 || !atMostOneProduct(op.Block()) {
		return nil, false
	}
	if t := tileaa.AsTile(d.Result()); t.Shape[len(t.Shape)-2] < int64(layout.WarpSize*warps) {
		return nil, false
	}
	flow, _ := ir.LoopOf(op.ParentOp())
	if flow.Kind != ir.CountedFlow || !tileaa.IsZero(flow.Init(carried)) {
		return nil, false
	}
	m := d.Atom()
	if m == nil {
		k, chosen := ChooseAtom(s, op, ExtentOf(op), warps)
		if !chosen || scaledInPieces(s, op, k, warps) {
			return nil, false
		}
		m = &tileaa.MMAAttr{Atom: k.Atom, Swap: k.Swap}
	}
	if unit := m.Atom.Tensor; unit == nil || m.Swap || unit.ColumnsOf(int(tileaa.AsTile(d.Result()).NumElements())) > atom.TensorColumns {
		return nil, false
	}
	return flow.Op.Result(carried), true
}

// HasTensorMemorySum reports whether some loop of an entry has a TensorMemorySum.
func HasTensorMemorySum(s *pass.State, entry *ir.Op, warps int) (keeps bool) {
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		if _, ok := TensorMemorySum(s, op, warps); ok {
			keeps = true
		}
	})
	return keeps
}

// Multiplies reports whether there is a product in an op.
func Multiplies(op *ir.Op) bool {
	return slices.ContainsFunc(op.Regions(), func(r *ir.Region) bool {
		return slices.ContainsFunc(r.Blocks(), func(b *ir.Block) bool { return productsIn(b, 1) > 0 })
	})
}

// atMostOneProduct reports whether a block, nested ops included, has no second product.
func atMostOneProduct(b *ir.Block) bool { return productsIn(b, 2) < 2 }

// productsIn counts the products of a block and of what it holds, up to so many.
func productsIn(b *ir.Block, most int) (n int) {
	for op := b.First(); op != nil && n < most; op = op.Next() {
		if tileaa.IsProduct(op) {
			n++
		}
		for in := range op.Blocks() {
			n += productsIn(in, most-n)
		}
	}
	return n
}

// ConstantExtracts lists the extracts with constant indices that are the only users of a value; ok is false if it has other users, or none.
func ConstantExtracts(v *ir.Value) (pieces []tileaa.Extract, ok bool) {
	for _, u := range v.Uses() {
		e, isPiece := ir.As[tileaa.Extract](u.Owner())
		if !isPiece || slices.ContainsFunc(e.Indices(), func(i *ir.Value) bool { return !ir.Is[tileaa.Constant](i.DefiningOp()) }) {
			return nil, false
		}
		pieces = append(pieces, e)
	}
	return pieces, len(pieces) > 0
}
