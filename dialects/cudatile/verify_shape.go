package cudatile

import (
	"tileiras/ir"
	"tileiras/ir/float"
)

func shapeRules() {
	rule(func(c *ir.Context, op *ir.Op) bool {
		return denseFits(c, op, Constant{op}.Value(), op.Result(0).Type())
	}, OpConstant)
	rule(func(c *ir.Context, op *ir.Op) bool {
		t := tile(op.Result(0))
		if t.Rank() != 1 {
			return c.Error(op, "expects result type to be 1-d tile")
		}
		if w := ir.BitWidth(t.Elem); w < 63 && t.Shape[0] > 1<<w {
			return c.Error(op, "the number of elements %d exceeds the maximum value of element type %s", t.Shape[0], quoted(t.Elem))
		}
		return true
	}, OpIota)
	rule(func(c *ir.Context, op *ir.Op) bool {
		from, to := tile(op.Operand(0)), tile(op.Result(0))
		for i, d := range from.Shape {
			if d != 1 && d != to.Shape[i] {
				return c.Error(op, "expects the shape of source tile to be compatible with that of the result tile, but got: %s and %s",
					shapeText(from), shapeText(to))
			}
		}
		return true
	}, OpBroadcast)
	rule(func(c *ir.Context, op *ir.Op) bool {
		if tile(op.Operand(0)).NumElements() != tile(op.Result(0)).NumElements() {
			return c.Error(op, "expected source tile and result tile to have the same number of elements")
		}
		return true
	}, OpReshape)
	rule(verifyPermute, OpPermute)
	rule(verifyCat, OpCat)
	rule(func(c *ir.Context, op *ir.Op) bool {
		return verifySlices(c, op, tile(op.Operand(0)), tile(op.Result(0)), Extract{op}.Indices(), "result", "source")
	}, OpExtract)
	rule(func(c *ir.Context, op *ir.Op) bool {
		return verifySlices(c, op, tile(op.Operand(1)), tile(op.Operand(0)), Insert{op}.Indices(), "source", "destination")
	}, OpInsert)
	rule(func(c *ir.Context, op *ir.Op) bool {
		if ir.IsFloat(elem(op.Result(0)), float.F4E2M1FN) {
			return c.Error(op, "cannot operate on sub-byte type F4E2M1FN")
		}
		return true
	}, OpSelect)
}

// ConstantBytes is the number of bytes of one element of a constant of Tile IR; 0 for element types that have none, as i4.
func ConstantBytes(elem ir.Type) int {
	if ir.IsInt(elem, 4) {
		return 0
	}
	return ir.DenseElementBytes(elem)
}

// denseFits checks that a constant has the type of its use and the right number of bytes.
func denseFits(c *ir.Context, op *ir.Op, value *ir.DenseAttr, t ir.Type) bool {
	if value == nil || value.Type != t {
		return c.Error(op, "failed to verify that all of {value, result} have same type")
	}
	tt := t.(*TileType)
	n := int64(1)
	if !value.Splat {
		n = tt.NumElements()
	}
	if size := int64(ConstantBytes(tt.Elem)); size == 0 || int64(len(value.Data)) != n*size {
		return c.Error(op, "failed to validate buffer size and format")
	}
	return true
}

func verifyPermute(c *ir.Context, op *ir.Op) bool {
	from, to := tile(op.Operand(0)), tile(op.Result(0))
	perm := Permute{op}.Permutation()
	if from.Rank() < 2 {
		return c.Error(op, "expects at least rank 2, but got: %d", from.Rank())
	}
	if len(perm) != from.Rank() {
		return c.Error(op, "expect permutation size (%d) to equal the rank of the source (%d)", len(perm), from.Rank())
	}
	seen := map[int32]bool{}
	for _, p := range perm {
		if seen[p] {
			return c.Error(op, "expect permutation elements to be unique")
		}
		seen[p] = true
	}
	for i, p := range perm {
		if p < 0 || int(p) >= len(perm) {
			return c.Error(op, "permutation element at index %d (%d) is out of bound [0, %d)", i, p, len(perm))
		}
	}
	for i, p := range perm {
		if to.Shape[i] != from.Shape[p] {
			return c.Error(op, "result shape invalid at index %d, expected: %d, but got: %d", i, from.Shape[p], to.Shape[i])
		}
	}
	return true
}

func verifyCat(c *ir.Context, op *ir.Op) bool {
	lhs, rhs, to := tile(op.Operand(0)), tile(op.Operand(1)), tile(op.Result(0))
	dim := Cat{op}.Dim()
	if dim < 0 || dim >= int64(to.Rank()) {
		return c.Error(op, "expect dim to be [0, %d), but got: %d", to.Rank(), dim)
	}
	if sum := lhs.Shape[dim] + rhs.Shape[dim]; to.Shape[dim] != sum {
		return c.Error(op, "invalid concat at position %d, expected: %d but got: %d", dim, sum, to.Shape[dim])
	}
	for i := range to.Shape {
		if int64(i) == dim {
			continue
		}
		for _, other := range []struct {
			name string
			t    *TileType
		}{{"rhs", rhs}, {"result", to}} {
			if other.t.Shape[i] != lhs.Shape[i] {
				return c.Error(op, "expect lhs and %s shapes to match at non-concat position %d, expected: %d but got: %d",
					other.name, i, lhs.Shape[i], other.t.Shape[i])
			}
		}
	}
	return true
}

// verifySlices checks extract and insert: the small tile's dimensions divide the large tile's, and each has an index.
func verifySlices(c *ir.Context, op *ir.Op, large, small *TileType, indices []*ir.Value, smallName, largeName string) bool {
	for i, d := range small.Shape {
		if large.Shape[i]%d != 0 {
			return c.Error(op, "%s dimension %d size (%d) must be evenly divisible by %s dimension %d size (%d)",
				largeName, i, large.Shape[i], smallName, i, d)
		}
	}
	if len(indices) != large.Rank() {
		return c.Error(op, "expected %d indices, but got %d", large.Rank(), len(indices))
	}
	return true
}
