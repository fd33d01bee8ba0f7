package tileaa

import (
	"slices"

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

// ElseOf is the block that an if runs when its condition is false; one that has none gets an empty one. The builder may stand elsewhere afterwards.
func ElseOf(b *ir.Builder, f If) *ir.Block {
	if f.Else() == nil {
		NewYield(b.AtEnd(f.Op.Region(1).AddBlock()), nil)
	}
	return f.Else()
}
