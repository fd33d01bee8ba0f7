package metamorphic

import (
	"slices"

	"tileiras/dialects/cudatile"
	"tileiras/ir"
)

func permuteTwice(r *rewriter) bool {
	v := r.pickTile(func(t *cudatile.TileType) bool { return t.Rank() > 1 })
	return r.replaceUses(v, func(v value) value {
		p := r.Perm(tileOf(v).Rank())
		return r.permute(r.permute(v, p), inverse(p))
	})
}

func reshapeTwice(r *rewriter) bool {
	v := r.pickTile(func(*cudatile.TileType) bool { return true })
	return r.replaceUses(v, func(v value) value { return r.reshape(r.reshape(v, r.otherShape(tileOf(v))...), tileOf(v).Shape...) })
}

// otherShape is another shape of as many elements: a row, one with a dimension of 1, or one of which a dimension is split.
func (r *rewriter) otherShape(t *cudatile.TileType) []int64 {
	s := slices.Clone(t.Shape)
	switch d := r.dimension(t); {
	case d < 0 || r.IntN(3) == 0:
		return slices.Insert(s, r.IntN(len(s)+1), 1)
	case r.heads():
		return slices.Replace(s, d, d+1, s[d]/2, 2)
	}
	return []int64{t.NumElements()}
}

// dimension chooses one that is not 1, or gives -1.
func (r *rewriter) dimension(t *cudatile.TileType) int {
	for _, d := range r.Perm(t.Rank()) {
		if t.Shape[d] > 1 {
			return d
		}
	}
	return -1
}

func bitcastTwice(r *rewriter) bool {
	v := r.pickTile(func(t *cudatile.TileType) bool { return !isPointer(t) && r.otherElem(t.Elem) != nil })
	return r.replaceUses(v, func(v value) value {
		elem := tileOf(v).Elem
		return r.bitcast(r.bitcast(v, r.otherElem(elem)), elem)
	})
}

func halves(r *rewriter) bool {
	v := r.pickTile(func(t *cudatile.TileType) bool { return t.NumElements() > 1 })
	return r.replaceUses(v, func(v value) value {
		d := r.dimension(tileOf(v))
		return r.cat(r.half(v, d, 0), r.half(v, d, 1), d)
	})
}

func selectItself(r *rewriter) bool {
	v := r.pickTile(func(t *cudatile.TileType) bool { return !isPointer(t) })
	return r.replaceUses(v, func(v value) value {
		t := tileOf(v)
		return cudatile.NewSelect(r.b, r.spread(r.truth(), 0, t.Shape...), v, r.zeros(t)).Result()
	})
}

func addZero(r *rewriter) bool {
	v := r.pickTile(func(t *cudatile.TileType) bool { return ir.IsInt(t.Elem, 8, 16, 32, 64) })
	return r.replaceUses(v, func(v value) value {
		t := tileOf(v)
		return r.add(v, r.spread(r.zero(t.Elem), 0, t.Shape...))
	})
}

func addAndSubtract(r *rewriter) bool {
	v := r.pickTile(func(t *cudatile.TileType) bool { return ir.IsInt(t.Elem, 8, 16, 32, 64) })
	return r.replaceUses(v, func(v value) value {
		c := cudatile.MakeSplat(r.b, tileOf(v), uint64(r.IntN(128)))
		return r.sub(r.add(v, c), c)
	})
}

func commute(r *rewriter) bool {
	op := r.pick(func(op *ir.Op) bool {
		return op.Traits().Has(ir.Commutative) && op.NumOperands() == 2 && op.Operand(0) != op.Operand(1)
	})
	if op == nil {
		return false
	}
	a, b := op.Operand(0), op.Operand(1)
	op.SetOperand(0, b)
	op.SetOperand(1, a)
	return true
}

func turnProduct(r *rewriter) bool {
	op := r.pick(isProduct)
	if op == nil {
		return false
	}
	r.b.Before(op)
	turn := func(v value) value {
		n := tileOf(v).Rank()
		return r.permute(v, append([]int{0, 1, 2}[:n-2], n-1, n-2))
	}
	w := r.product(op, turn(op.Operand(1)), turn(op.Operand(0)), turn(op.Operand(2)), true)
	return replace(op, turn(w))
}

func batchOfOne(r *rewriter) bool {
	op := r.pick(func(op *ir.Op) bool { return isProduct(op) && tileOf(op.Result(0)).Rank() == 2 })
	if op == nil {
		return false
	}
	r.b.Before(op)
	batch := func(v value) value { return r.reshape(v, append([]int64{1}, tileOf(v).Shape...)...) }
	w := r.product(op, batch(op.Operand(0)), batch(op.Operand(1)), batch(op.Operand(2)), false)
	return replace(op, r.reshape(w, tileOf(op.Result(0)).Shape...))
}

func splitDepth(r *rewriter) bool {
	op := r.pick(func(op *ir.Op) bool { return isProduct(op) && depthOf(op) > 1 })
	if op == nil {
		return false
	}
	r.b.Before(op)
	a, b, sum := op.Operand(0), op.Operand(1), op.Operand(2)
	n := tileOf(a).Rank()
	for k := range int64(2) {
		sum = r.product(op, r.half(a, n-1, k), r.half(b, n-2, k), sum, false)
	}
	return replace(op, sum)
}

// depthOf is the extent along K of a product.
func depthOf(op *ir.Op) int64 {
	s := tileOf(op.Operand(0)).Shape
	return s[len(s)-1]
}

// rowsOf is the extent along M.
func rowsOf(op *ir.Op) int64 {
	s := tileOf(op.Operand(0)).Shape
	return s[len(s)-2]
}

func splitRows(r *rewriter) bool {
	op := r.pick(func(op *ir.Op) bool { return isProduct(op) && rowsOf(op) > 1 })
	if op == nil {
		return false
	}
	r.b.Before(op)
	d := tileOf(op.Result(0)).Rank() - 2
	part := func(k int64) value {
		return r.product(op, r.half(op.Operand(0), d, k), op.Operand(1), r.half(op.Operand(2), d, k), false)
	}
	first, second := part(0), part(1)
	return replace(op, r.cat(first, second, d))
}
