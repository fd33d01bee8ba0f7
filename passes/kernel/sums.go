package kernel

import (
	"slices"

	"tileiras/codegen/atom"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// SumsInUnit is what a loop gives that no thread ever has as a whole: the tensor unit adds up a product of so many warps in its memory, from zeros on, and who
// takes the sum behind the loop can take it in pieces. ok is false of every other product, of one beside others, of a transposed one and of fewer rows than
// threads, which share columns, and where there are not so many columns.
func SumsInUnit(s *pass.State, op *ir.Op, warps int) (sum *ir.Value, ok bool) {
	d, isDot := ir.As[tileaa.Dot](op)
	if !isDot || !s.Target.Has("tcgen05") {
		return nil, false
	}
	carried, adds := tileaa.OnlyAdds(op)
	if !adds || tileaa.ElemBits(tileaa.AsTile(d.Result()).Elem) != 32 || !aloneIn(op.Block()) {
		return nil, false
	}
	if t := tileaa.AsTile(d.Result()); t.Shape[len(t.Shape)-2] < int64(32*warps) {
		return nil, false
	}
	flow, _ := ir.LoopOf(op.ParentOp())
	if flow.Kind != ir.CountedFlow || !tileaa.IsZero(flow.Inits()[carried]) {
		return nil, false
	}
	m := d.Atom()
	if m == nil {
		k, chosen := ChooseAtom(s, op, ExtentOf(op), warps)
		if !chosen {
			return nil, false
		}
		m = &tileaa.MMAAttr{Atom: k.Atom, Swap: k.Swap}
	}
	if unit := m.Atom.Tensor; unit == nil || m.Swap || unit.ColumnsOf(int(tileaa.AsTile(d.Result()).NumElements())) > atom.TensorColumns {
		return nil, false
	}
	return flow.Op.Result(carried), true
}

// KeepsSums reports whether the tensor unit keeps the sums of a product of an entry.
func KeepsSums(s *pass.State, entry *ir.Op, warps int) (keeps bool) {
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		if _, ok := SumsInUnit(s, op, warps); ok {
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

// aloneIn reports whether a block has no second product, nor what it holds.
func aloneIn(b *ir.Block) bool { return productsIn(b, 2) < 2 }

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

// TakenInPieces lists the pieces of a value whose numbers are constants, if nobody takes anything else of it.
func TakenInPieces(v *ir.Value) (pieces []tileaa.Extract, ok bool) {
	for _, u := range v.Uses() {
		e, isPiece := ir.As[tileaa.Extract](u.Owner())
		if !isPiece || slices.ContainsFunc(e.Indices(), func(i *ir.Value) bool { return !ir.Is[tileaa.Constant](i.DefiningOp()) }) {
			return nil, false
		}
		pieces = append(pieces, e)
	}
	return pieces, len(pieces) > 0
}
