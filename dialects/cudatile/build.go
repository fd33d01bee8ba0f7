package cudatile

import "tileiras/ir"

// What patterns and passes on cuda_tile are made of.

// Defining is the op of this short name that defines a value, or nil.
func Defining(v *ir.Value, name string) *ir.Op {
	if op := v.DefiningOp(); op != nil && op.Def.Name == name && op.Def.Dialect == Name {
		return op
	}
	return nil
}

// Make makes an op with one result at the builder's place, all of whose operands are single, and returns the result.
// Attributes are the caller's care.
func Make(b *ir.Builder, name string, t ir.Type, operands ...*ir.Value) *ir.Value {
	return b.Create(ir.State{Def: b.Ctx.OpDef(Name + "." + name), Operands: operands, Types: []ir.Type{t}}).Result(0)
}

// MakeSplat makes a constant of integers, whose elements all have these bits.
func MakeSplat(b *ir.Builder, t *TileType, bits uint64) *ir.Value {
	data := make([]byte, ir.DenseElementBytes(t.Elem))
	for i := range data {
		data[i] = byte(bits >> (8 * i))
	}
	return materialize(b, b.Loc, &ir.DenseAttr{Type: t, Data: data, Splat: true}, t).Result(0)
}

// ConstantOf is the constant that a value is, or nil.
func ConstantOf(v *ir.Value) *ir.DenseAttr {
	op := Defining(v, "constant")
	if op == nil {
		return nil
	}
	d, _ := op.Attr(0).(*ir.DenseAttr)
	return d
}

// SplatOf is the bits that all elements of a constant share (integers zero-extended); ok is false if they differ or if v
// is no constant.
func SplatOf(v *ir.Value) (bits uint64, ok bool) {
	d := ConstantOf(v)
	if d == nil {
		return 0, false
	}
	return SplatBits(d)
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
	op := Defining(v, "xori")
	if op == nil {
		return nil
	}
	if x, ok := boolOf(op.Operand(1)); !ok || !x {
		return nil
	}
	return op.Operand(0)
}

// not makes xori v, true.
func not(b *ir.Builder, v *ir.Value) *ir.Value {
	return Make(b, "xori", v.Type(), v, MakeSplat(b, v.Type().(*TileType), 1))
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
		c = Make(b, "reshape", MustTile(b.Ctx, i1, ones...), c)
		c = Make(b, "broadcast", MustTile(b.Ctx, i1, typ.Shape...), c)
	}
	return Make(b, "select", typ, c, t, f)
}

// replace puts a value in the place of the only result and erases the op.
func replace(op *ir.Op, v *ir.Value) bool {
	op.Result(0).ReplaceAllUsesWith(v)
	op.Erase()
	return true
}
