package tileaa

import (
	"encoding/binary"

	"tileiras/ir"
)

// MaxFold is the number of elements up to which a constant with unequal elements is computed at compile time.
const MaxFold = 4096

// ConstantOf is the constant that a value is, or nil.
func ConstantOf(v *ir.Value) *ir.DenseAttr {
	c, ok := ir.DefinedBy[Constant](v)
	if !ok {
		return nil
	}
	return c.Value()
}

// SplatValue is the bits that every element of a constant has (integers zero-extended); ok is false if they differ or
// if v is no constant.
func SplatValue(v *ir.Value) (bits uint64, ok bool) { return SplatBits(ConstantOf(v)) }

// IsSplat reports whether all elements of a value are one, constant or not.
func IsSplat(v *ir.Value) bool {
	_, constant := SplatValue(v)
	return constant || v.DefiningOp() != nil && v.DefiningOp().Code() == OpSplat
}

// IsZero reports whether every element of a value is the constant zero; of floats, the positive one.
func IsZero(v *ir.Value) bool {
	bits, splat := SplatValue(v)
	return splat && bits == 0
}

// SplatInt is SplatValue of an integer, sign-extended.
func SplatInt(v *ir.Value) (int64, bool) {
	x, ok := SplatValue(v)
	if !ok {
		return 0, false
	}
	t := AsTile(v)
	if t == nil || !ir.IsInt(t.Elem) {
		return 0, false
	}
	return ir.IntegerAttr{Type: t.Elem, Bits: x}.SInt(), true
}

// SplatBits is SplatValue of an attribute, which may be nil.
func SplatBits(d *ir.DenseAttr) (bits uint64, ok bool) {
	if d == nil {
		return 0, false
	}
	n := ir.DenseElementBytes(d.Type.(*TileType).Elem)
	if n == 0 || len(d.Data) < n {
		return 0, false
	}
	if !d.Splat {
		for i := n; i < len(d.Data); i++ {
			if d.Data[i] != d.Data[i-n] {
				return 0, false
			}
		}
	}
	return ElementBits(d, 0), true
}

// ElementBits is the bits of element i in row-major order.
func ElementBits(d *ir.DenseAttr, i int) uint64 {
	n := ir.DenseElementBytes(d.Type.(*TileType).Elem)
	if d.Splat {
		i = 0
	}
	var word [8]byte
	copy(word[:], d.Data[i*n:i*n+n])
	return binary.LittleEndian.Uint64(word[:])
}

// SplatOf is the constant tile whose elements all have these bits; bits beyond the element's width are ignored.
func SplatOf(t *TileType, bits uint64) *ir.DenseAttr {
	return &ir.DenseAttr{Type: t, Data: appendElement(nil, t.Elem, bits), Splat: true}
}

// DenseOf is the constant tile with these elements in row-major order; equal elements make a splat.
func DenseOf(t *TileType, elems []uint64) *ir.DenseAttr {
	equal := true
	for _, e := range elems {
		equal = equal && e == elems[0]
	}
	if equal {
		return SplatOf(t, elems[0])
	}
	data := make([]byte, 0, len(elems)*ir.DenseElementBytes(t.Elem))
	for _, e := range elems {
		data = appendElement(data, t.Elem, e)
	}
	return &ir.DenseAttr{Type: t, Data: data}
}

func appendElement(data []byte, elem ir.Type, bits uint64) []byte {
	if w := ir.BitWidth(elem); w < 64 {
		bits &= 1<<w - 1
	}
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], bits)
	return append(data, word[:ir.DenseElementBytes(elem)]...)
}

// retyped is the same constant as another type of as many elements of the same kind.
func retyped(d *ir.DenseAttr, t *TileType) *ir.DenseAttr {
	return &ir.DenseAttr{Type: t, Data: d.Data, Splat: d.Splat}
}
