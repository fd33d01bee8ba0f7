package tileaa

import (
	"math"
	"slices"

	"tileiras/ir"
)

var negativeZero = math.Copysign(0, -1)

// splatOfConstant is an op that only copies elements of its first operand, applied to equal elements.
func splatOfConstant(op *ir.Op) *ir.DenseAttr {
	if x, ok := SplatValue(op.Operand(0)); ok {
		return SplatOf(AsTile(op.Result(0)), x)
	}
	return nil
}

// reshapeConstant keeps the elements in row-major order.
func reshapeConstant(op *ir.Op) *ir.DenseAttr {
	if d := ConstantOf(op.Operand(0)); d != nil {
		return retyped(d, AsTile(op.Result(0)))
	}
	return nil
}

func reshapeIdentity(op *ir.Op) *ir.Value {
	if v := unchanged(op); v != nil {
		return v
	}
	return twice(op)
}

// intoItself: insert (extract %x, indices(%i, %j)), %x, indices(%i, %j) => %x.
func intoItself(op *ir.Op) *ir.Value {
	in := Insert{op}
	if e, ok := ir.DefinedBy[Extract](in.Source()); ok && e.Source() == in.Dest() && slices.Equal(e.Indices(), in.Indices()) {
		return in.Dest()
	}
	return unchanged(op)
}

// bothHalves: cat (extract %x, indices(0, 0)), (extract %x, indices(0, 1)) along dimension 1 => %x.
func bothHalves(op *ir.Op) *ir.Value {
	c := Cat{op}
	first, ok := ir.DefinedBy[Extract](c.Lhs())
	moves := func(v *ir.Value) bool { return !IsZero(v) }
	if !ok || first.Source().Type() != op.Result(0).Type() || slices.ContainsFunc(first.Indices(), moves) || !halvesOf(c.Lhs(), c.Rhs(), int(c.Dim())) {
		return nil
	}
	return first.Source()
}

func permutation(op *ir.Op) ir.I32Array { return Permute{op}.Permutation() }

func permuteIdentity(op *ir.Op) *ir.Value {
	for i, p := range permutation(op) {
		if int(p) != i {
			return nil
		}
	}
	return op.Operand(0)
}

// RowMajorStrides are those of a row-major array, in elements.
func RowMajorStrides(shape []int64) []int64 {
	s, n := make([]int64, len(shape)), int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		s[i] = n
		n *= shape[i]
	}
	return s
}

// permuteConstant moves the elements of a small constant: result dimension i is source dimension p[i].
func permuteConstant(op *ir.Op) *ir.DenseAttr {
	if d := splatOfConstant(op); d != nil {
		return d
	}
	d, t := ConstantOf(op.Operand(0)), AsTile(op.Result(0))
	if d == nil || t.NumElements() > MaxFold {
		return nil
	}
	from := RowMajorStrides(AsTile(op.Operand(0)).Shape)
	at := make([]int64, len(t.Shape))
	elems := make([]uint64, t.NumElements())
	for i := range elems {
		src := int64(0)
		for k, p := range permutation(op) {
			src += at[k] * from[p]
		}
		elems[i] = ElementBits(d, int(src))
		for k := len(at) - 1; k >= 0; k-- {
			if at[k]++; at[k] < t.Shape[k] {
				break
			}
			at[k] = 0
		}
	}
	return DenseOf(t, elems)
}

// catConstant is a cat of two tiles whose elements are all the same.
func catConstant(op *ir.Op) *ir.DenseAttr {
	x, ok := SplatValue(op.Operand(0))
	y, yes := SplatValue(op.Operand(1))
	if !ok || !yes || x != y {
		return nil
	}
	return SplatOf(AsTile(op.Result(0)), x)
}

// shortIota is the iota of one element.
func shortIota(op *ir.Op) *ir.DenseAttr {
	if t := AsTile(op.Result(0)); t.NumElements() == 1 {
		return SplatOf(t, 0)
	}
	return nil
}

// sameShape reports whether two tile types have equal dimensions.
func sameShape(a, b *TileType) bool { return slices.Equal(a.Shape, b.Shape) }
