package tileaa

import "tileiras/ir"

// Const makes an integer constant; every element of a tile is v.
func Const(b *ir.Builder, t *TileType, v int64) *ir.Value {
	return NewConstant(b, t, SplatOf(t, uint64(v))).Result()
}

// I64 is an i64 attribute.
func I64(c *ir.Context, v int64) ir.Attribute {
	return ir.IntegerAttr{Type: c.Int(64), Bits: uint64(v)}
}
