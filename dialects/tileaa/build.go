package tileaa

import (
	"slices"

	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// Const makes an integer constant; every element of a tile is v.
func Const(b *ir.Builder, t *TileType, v int64) *ir.Value {
	return NewConstant(b, t, SplatOf(t, uint64(v))).Result()
}

// I64 is an i64 attribute.
func I64(c *ir.Context, v int64) ir.Attribute {
	return ir.IntegerAttr{Type: c.Int(64), Bits: uint64(v)}
}

// CombineAlong makes a reduce or scan again, with its region, of other values along another dimension.
func CombineAlong(b *ir.Builder, op *ir.Op, values []*ir.Value, types []ir.Type, dim int) []*ir.Value {
	c := ir.NewOp(ir.State{Def: op.Def, Loc: op.Loc(), Operands: values, Groups: []int32{int32(len(values))}, Types: types, Attrs: op.Attrs()})
	ir.Cast[DimOp](c).SetDim(b.Ctx, int64(dim))
	b.Ctx.CloneRegion(op.Region(0), c.Region(0), ir.Mapping{})
	return slices.Clone(b.Insert(c).Results())
}

// CoordinateMask is a tile<shape x i1> of the elements whose coordinate along dimension d compares so, as signed numbers of type elem, with what number makes:
// a tile of the type of the coordinates, which is one element long along the other dimensions.
func CoordinateMask(b *ir.Builder, shape []int64, d int, elem ir.Type, is def.Predicate, number func(coordinates *TileType) *ir.Value) *ir.Value {
	line := slices.Repeat([]int64{1}, len(shape))
	line[d] = shape[d]
	t, i1 := Tile(b.Ctx, elem, line...), b.Ctx.Int(1)
	at := NewReshape(b, t, NewIota(b, Tile(b.Ctx, elem, shape[d])).Result()).Result()
	mask := NewCmpi(b, Tile(b.Ctx, i1, line...), at, number(t), def.Signed, CmpiOptions{Predicate: is}).Result()
	return NewBroadcast(b, Tile(b.Ctx, i1, shape...), mask).Result()
}

// ElseOf is the block that an if runs when its condition is false; one that has none gets an empty one. The builder may stand elsewhere afterwards.
func ElseOf(b *ir.Builder, f If) *ir.Block {
	if f.Else() == nil {
		NewYield(b.AtEnd(f.Op.Region(1).AddBlock()), nil)
	}
	return f.Else()
}
