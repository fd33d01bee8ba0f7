package tileaa

import (
	"fmt"
	"slices"

	"tileiras/codegen/layout"
	"tileiras/codegen/target"
	"tileiras/ir"
)

// This file verifies tensor maps, and copies that take them.

// MapCoordinateBits is how many bits coordinates and extents of arrays have that are copied by tensor maps, unsigned: a map takes them as signed numbers of 32.
const MapCoordinateBits = 31

// MapStrideEnd is more than any stride of a map has, in bytes. Strides are multiples of 16 bytes (PTX ISA, "tensormap.replace").
const MapStrideEnd = 1 << 40

// AnyMapStride is the stride in a map, in bytes, of a dimension along which nothing follows the first element.
const AnyMapStride = 16

// HasMapStride reports whether a map takes the stride of a dimension from the array: along a dimension of one element it means nothing.
func HasMapStride(t *MemrefType, a int) bool { return t.Shape[a] != 1 }

// canBeMapStride reports whether a map can have the stride of a dimension, as far as the type says it.
func canBeMapStride(t *MemrefType, a int) bool {
	stride, bytes := t.Strides[a], int64(ElemBytes(t.Elem))
	return !HasMapStride(t, a) || stride == Dynamic || stride < MapStrideEnd/bytes && stride*bytes%16 == 0
}

// MostMaps is the most tensor maps of a tile block: as kernels have arrays, with room to spare. All blocks that may run have memory for theirs.
const MostMaps = 16

func verifyAllocMaps(a AllocMaps) string {
	for op := a.Op.Prev(); op != nil; op = op.Prev() {
		if op.Code() == OpAllocMaps {
			return "is the second one of its kernel"
		}
	}
	return ""
}

func verifyTensorMap(m TensorMap) string {
	t := m.Memref().Type().(*MemrefType)
	dims, box, maps := m.Dims(), m.Box(), m.Maps().Type().(*MapMemoryType).Maps
	seen := map[int64]bool{}
	for _, d := range dims {
		if d < 0 || int(d) >= len(t.Shape) || seen[d] {
			return fmt.Sprintf("has dimensions %v, which are not those of an array of rank %d", dims, len(t.Shape))
		}
		seen[d] = true
	}
	switch n := m.Map(); {
	case n < 0 || n >= maps:
		return fmt.Sprintf("makes map %d of %d", n, maps)
	case len(dims) != len(t.Shape) || len(dims) == 0 || len(dims) > target.MostMapDims:
		return fmt.Sprintf("has %d dimensions of an array of rank %d, and a map has at most %d", len(dims), len(t.Shape), target.MostMapDims)
	case len(box) != len(dims) || slices.ContainsFunc(box, func(n int64) bool { return n < 1 || n > layout.MostBox }):
		return fmt.Sprintf("has a box of %v elements, where each of %d dimensions has 1 to %d", box, len(dims), layout.MostBox)
	case t.Strides[dims[0]] != 1:
		return fmt.Sprintf("begins with dimension %d, along which elements are no neighbours", dims[0])
	case slices.ContainsFunc(dims[1:], func(d int64) bool { return !canBeMapStride(t, int(d)) }):
		return fmt.Sprintf("has an array with strides %v, and those of a map are multiples of 16 bytes below 2^40", t.Strides)
	case !slices.Contains(layout.BoxSwizzles[:], int(m.Swizzle())):
		return fmt.Sprintf("has a swizzle of %d bytes", m.Swizzle())
	case box[0]*int64(ElemBytes(t.Elem))%16 != 0:
		return "has a box whose rows are no multiple of 16 bytes"
	}
	return ""
}

// MapOf is the map that a copy takes: of those of its number the one whose array it reads.
func MapOf(c AsyncCopy) (m TensorMap, ok bool) {
	n, some := c.Map()
	if c.Maps() == nil || !some {
		return m, false
	}
	for _, u := range c.Maps().Uses() {
		if t, is := ir.As[TensorMap](u.Owner()); is && t.Map() == n {
			return t, true
		}
	}
	return m, false
}

// BoxesOf is how a copy by a map that has its dimensions of an array in this order fills its buffer.
func BoxesOf(c AsyncCopy) (b layout.Boxes, block BlockTile, ok bool) {
	block, ok = ir.DefinedBy[BlockTile](c.Block())
	if !ok {
		return b, block, false
	}
	t, buffer := block.Memref().Type().(*MemrefType), c.Buffer().Type().(*BufferType)
	if _, sparse := block.SparseDim(); sparse || len(t.Shape) != len(buffer.Shape) || len(t.Shape) > target.MostMapDims {
		return b, block, false
	}
	for d, a := range block.DimMap() { // of several along which elements are neighbours, the one in whose direction the tile has some
		if t.Strides[a] == 1 && buffer.Shape[d] > 1 {
			b, ok = buffer.Mem.Boxes(d, ElemBytes(buffer.Elem))
			return b, block, ok
		}
	}
	return b, block, false
}

// MapShape is what a tensor map says of its boxes: dimensions of the array and elements along them, the one of neighbours first, and the bytes of the swizzle.
type MapShape struct {
	Dims, Box []int64
	Swizzle   int64
}

// MapShapeOf is that of the map that copies a block in boxes.
func MapShapeOf(b layout.Boxes, block BlockTile) MapShape {
	s := MapShape{Swizzle: int64(b.Swizzle)}
	for i, d := range b.Dims {
		s.Dims, s.Box = append(s.Dims, int64(block.DimMap()[d])), append(s.Box, int64(b.Box[i]))
	}
	return s
}

func (s MapShape) Equal(x MapShape) bool {
	return slices.Equal(s.Dims, x.Dims) && slices.Equal(s.Box, x.Box) && s.Swizzle == x.Swizzle
}

// SameArray reports whether two memrefs are made alike.
func SameArray(a, b *ir.Value) bool {
	x, y := a.DefiningOp(), b.DefiningOp()
	return x == y || x != nil && y != nil && x.Code() == y.Code() && a.Type() == b.Type() && slices.Equal(x.Operands(), y.Operands())
}

func verifyMapped(c AsyncCopy) string {
	_, numbered := c.Map()
	if c.Maps() == nil && !numbered {
		return ""
	}
	m, ok := MapOf(c)
	if !ok {
		return "takes a tensor map that nobody makes"
	}
	b, block, ok := BoxesOf(c)
	bits := c.CoordinateBits()
	switch {
	case !ok:
		return "takes a tensor map, and no boxes fill its buffer"
	case len(bits) == 0 || slices.ContainsFunc(bits, func(n int64) bool { return n > MapCoordinateBits }):
		return fmt.Sprintf("takes a tensor map, and its coordinates do not fit %d bits", MapCoordinateBits)
	case !SameArray(block.Memref(), m.Memref()):
		return "takes a tensor map of another array"
	case !MapShapeOf(b, block).Equal(MapShape{m.Dims(), m.Box(), m.Swizzle()}):
		return fmt.Sprintf("takes a tensor map of boxes %v with a swizzle of %d, and its buffer has boxes %v with one of %d", m.Box(), m.Swizzle(), b.Box, b.Swizzle)
	}
	return ""
}
