package layouts

import (
	"slices"

	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// OrderDepths takes the places along K of a product in another order, which gives the same sums: in the one in which threads hold a factor that they have
// computed from another product, as the probabilities of attention. A thread has two neighbours of a result, and needs four of a factor of 8 bits:
//
//	%f = ftof %p                     %p1 = reshape %p : 128x128 -> 128x8x2x2x2x2                 %v1 = reshape %v : 128x64 -> 8x2x2x2x2x64
//	dot %f, %v                =>     %p2 = permute %p1 [0, 1, 3, 4, 2, 5]                        %v2 = permute %v1 [0, 2, 3, 1, 4, 5]
//	                                 %p3 = reshape %p2; %f = ftof %p3                            %v3 = reshape %v2
//	                                 dot %f, %v3
//
// All of this only names elements anew: %p stays where it is, and rows of %v lie in shared memory in that order. So the other factor must come from memory, and
// memory must not run along K there: asynchronous copies bring several places along K at a time, in the order of memory.
func OrderDepths(s *pass.State) error {
	for _, entry := range s.Entries() {
		var products []*ir.Op
		s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
			if tileaa.IsProduct(op) {
				products = append(products, op)
			}
		})
		if len(products) < 2 {
			continue
		}
		a := newAssigner(s, entry)
		for _, op := range products {
			s.Step()
			depth := len(tileaa.ShapeOf(op.Operand(0))) - 1
			for i := range 2 {
				if order := a.depthOrder(op, i); order != nil {
					a.takeInOrder(op, 0, depth, order)
					a.takeInOrder(op, 1, depth-1, order)
				}
			}
		}
	}
	return nil
}

// depthOrder is the order of the bits of K in which threads hold factor i of a product, which they have computed from another one; nil where they hold it as the
// instruction wants it, where no order will do, and where the other factor cannot come in that order.
func (a *assigner) depthOrder(op *ir.Op, i int) []int {
	if op.Code() != tileaa.OpDot || !loadedAcross(op.Operand(1-i), len(tileaa.ShapeOf(op.Operand(0)))-2+i) {
		return nil
	}
	d := a.dotLayouts(op)
	want := []layout.Layout{d.A, d.B}[i]
	if d.alone || want.IsZero() {
		return nil
	}
	has := a.infer(op.Operand(i))
	if has.weight != cost.LeaveDot || layout.Convert(has.l, want).Kind <= layout.RegRename {
		return nil
	}
	order, ok := has.l.Reorder(want.Rank()-1-i, want)
	if !ok {
		return nil
	}
	return order
}

// loadedAcross reports whether a factor is a load with no other user, from memory that is not contiguous along a dimension.
func loadedAcross(v *ir.Value, dim int) bool {
	load, between, ok := tileaa.LoadOf(v)
	if !ok {
		return false
	}
	fast, known := ir.Cast[tileaa.AccessOp](load).Fast()
	shape := layout.Dims(tileaa.ShapeOf(load.Result(0)))
	if !known || shape[fast] == 1 {
		return false
	}
	l := layoutAfter(between, layout.Must(shape, layout.Bases{Reg: []uint64{layout.Bit(shape, int(fast), 0)}}))
	return l.Coords(l.Basis(layout.Reg, 0))[dim] == 0
}

// takeInOrder makes an op take an operand with the bits of a dimension in another order. Conversions for it alone stay next to it.
func (a *assigner) takeInOrder(op *ir.Op, i, dim int, order []int) {
	v := op.Operand(i)
	for v.HasOneUse() && v.DefiningOp() != nil && v.DefiningOp().Code() == tileaa.OpFtof {
		op, i = v.DefiningOp(), 0
		v = op.Operand(0)
	}
	a.b.Before(op).Loc = op.Loc()
	op.SetOperand(i, ordered(a.b, v, dim, order))
}

// ordered is a tile with the bits of a dimension in another order.
func ordered(b *ir.Builder, v *ir.Value, dim int, order []int) *ir.Value {
	t := tileaa.AsTile(v)
	n := len(order) // of those that move
	for order[n-1] == n-1 {
		n--
	}
	apart := slices.Insert(slices.Clone(t.Shape), dim+1, slices.Repeat([]int64{2}, n)...)
	apart[dim] >>= n
	permutation := make(ir.I32Array, len(apart))
	for i := range permutation {
		permutation[i] = int32(i)
	}
	for i, from := range order[:n] {
		permutation[dim+n-i] = int32(dim + n - from)
	}
	cut := tileaa.Tile(b.Ctx, t.Elem, apart...)
	v = tileaa.NewReshape(b, cut, v).Result()
	v = tileaa.NewPermute(b, cut, v, permutation).Result()
	return tileaa.NewReshape(b, t, v).Result()
}
