package cudatile

import "tileiras/ir"

// What patterns and passes on cuda_tile are made of.

// MakeSplat makes a constant of integers, whose elements all have these bits.
func MakeSplat(b *ir.Builder, t *TileType, bits uint64) *ir.Value {
	data := make([]byte, ir.DenseElementBytes(t.Elem))
	for i := range data {
		data[i] = byte(bits >> (8 * i))
	}
	return materialize(b, b.Loc, &ir.DenseAttr{Type: t, Data: data, Splat: true}, t).Result(0)
}

// constantOf is the constant that a value is, or nil.
func constantOf(v *ir.Value) *ir.DenseAttr {
	c, ok := ir.DefinedBy[Constant](v)
	if !ok {
		return nil
	}
	return c.Value()
}

// SplatOf is the bits that all elements of a constant share (integers zero-extended); ok is false if they differ or if v
// is no constant.
func SplatOf(v *ir.Value) (bits uint64, ok bool) {
	d := constantOf(v)
	if d == nil {
		return 0, false
	}
	return splatBits(d)
}

// SplatIntOf is SplatOf of an integer as a signed number.
func SplatIntOf(v *ir.Value) (int64, bool) {
	bits, ok := SplatOf(v)
	t, tile := v.Type().(*TileType)
	if !ok || !tile || !ir.IsInt(t.Elem) {
		return 0, false
	}
	return ir.IntegerAttr{Type: t.Elem, Bits: bits}.SInt(), true
}

// element is the bytes of an element of a constant.
func element(d *ir.DenseAttr, i, size int) []byte {
	if d.Splat {
		i = 0
	}
	return d.Data[i*size : (i+1)*size]
}

// boolOf is the truth value that all elements of an i1 constant share.
func boolOf(v *ir.Value) (value, ok bool) {
	t, tile := v.Type().(*TileType)
	if !tile || !ir.IsInt(t.Elem, 1) {
		return false, false
	}
	bits, ok := SplatOf(v)
	return bits != 0, ok
}

// areBools reports whether t and f are constants, t this truth value and f the other one.
func areBools(t, f *ir.Value, value bool) bool {
	x, ok := boolOf(t)
	y, yes := boolOf(f)
	return ok && yes && x == value && y != value
}

// inverted is x if a value is xori x, true; else nil.
func inverted(v *ir.Value) *ir.Value {
	op, ok := ir.DefinedBy[Xori](v)
	if !ok {
		return nil
	}
	if x, ok := boolOf(op.Rhs()); !ok || !x {
		return nil
	}
	return op.Lhs()
}

// not makes xori v, true.
func not(b *ir.Builder, v *ir.Value) *ir.Value {
	return NewXori(b, v, MakeSplat(b, v.Type().(*TileType), 1)).Result()
}

// selectOf makes a select by a scalar condition, which is widened to the shape of the values.
func selectOf(b *ir.Builder, c, t, f *ir.Value) *ir.Value {
	typ := t.Type().(*TileType)
	if rank := typ.Rank(); rank > 0 {
		ones := make([]int64, rank)
		for i := range ones {
			ones[i] = 1
		}
		i1 := c.Type().(*TileType).Elem
		c = NewReshape(b, MustTile(b.Ctx, i1, ones...), c).Result()
		c = NewBroadcast(b, MustTile(b.Ctx, i1, typ.Shape...), c).Result()
	}
	return NewSelect(b, c, t, f).Result()
}

// replace puts a value in the place of the only result and erases the op.
func replace(op *ir.Op, v *ir.Value) bool {
	op.Result(0).ReplaceAllUsesWith(v)
	op.Erase()
	return true
}
