package cudatile

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
)

// Dynamic is the extent or stride of a tensor view that is known at run time only; it prints as "?".
const Dynamic = math.MinInt64

// MaxTileElements is the largest number of elements of a tile.
const MaxTileElements = 1 << 24

// Optional is an enumeration value that may be absent: 0 is absent, 1+v is the value v.
type Optional[E ~uint32] uint8

// Absent is no value, of any enumeration.
const Absent = 0

// Some is the value v.
func Some[E ~uint32](v E) Optional[E] { return Optional[E](v + 1) }

// Get is the value and whether there is one.
func (o Optional[E]) Get() (v E, ok bool) { return E(o) - 1, o != Absent }

// Is reports whether the value is there and is v.
func (o Optional[E]) Is(v E) bool { return o == Some(v) }

// TileType is a tile of elements: numbers or pointers. Rank 0 is a scalar.
type TileType struct {
	Shape []int64
	Elem  ir.Type
}

// PtrType is a pointer to numbers in global memory. Attr is a case of def.PtrAttrEnum.
type PtrType struct {
	Elem ir.Type
	Attr Optional[def.PtrAttr]
}

// TensorViewType is an array in memory: element (i, j, ...) lies at i*Strides[0] + j*Strides[1] + ... elements.
type TensorViewType struct {
	Elem           ir.Type
	Shape, Strides []int64 // Dynamic where only the operands know
	PtrAttr        Optional[def.PtrAttr]
}

// PartitionViewType cuts an array into tiles side by side: dimension i of a tile runs along dimension DimMap[i] of the
// array, and tile number n starts at n*Tile.Shape[i].
type PartitionViewType struct {
	Tile    *TileType // what a load gives
	Tensor  *TensorViewType
	DimMap  []int
	Padding Optional[def.Padding]
}

// StridedViewType is a PartitionViewType whose tile number n starts at n*Traversal[i].
type StridedViewType struct {
	Tile      *TileType
	Traversal []int64
	Tensor    *TensorViewType
	DimMap    []int
	Padding   Optional[def.Padding]
}

// GatherScatterViewType takes tiles from an array at an element offset along each dimension but SparseDim, and along
// SparseDim at the places that an index tile lists.
type GatherScatterViewType struct {
	Tile      *TileType
	Tensor    *TensorViewType
	SparseDim int
	Padding   Optional[def.Padding]
}

// TokenType orders memory operations; it carries no data.
type TokenType struct{}

// TileView is a type through which tiles are loaded and stored.
type TileView interface {
	ir.Type
	View() ViewFacts
}

// ViewFacts is what the memory operations need to know of a view.
type ViewFacts struct {
	Tile      *TileType // type of the tile that a load gives; its rank is the number of indices
	Tensor    *TensorViewType
	DimMap    []int   // tile dimension -> dimension of the array
	Step      []int64 // elements from one index to the next, per tile dimension; 1 for element offsets
	SparseDim int     // the dimension whose index is a tile of places, or -1
	Padding   Optional[def.Padding]
}

// NumIndices is the number of index operands.
func (f ViewFacts) NumIndices() int { return len(f.Tile.Shape) }

func (t *PartitionViewType) View() ViewFacts {
	return ViewFacts{Tile: t.Tile, Tensor: t.Tensor, DimMap: t.DimMap, Step: t.Tile.Shape, SparseDim: -1, Padding: t.Padding}
}
func (t *StridedViewType) View() ViewFacts {
	return ViewFacts{Tile: t.Tile, Tensor: t.Tensor, DimMap: t.DimMap, Step: t.Traversal, SparseDim: -1, Padding: t.Padding}
}
func (t *GatherScatterViewType) View() ViewFacts {
	ones := make([]int64, len(t.Tile.Shape))
	for i := range ones {
		ones[i] = 1
	}
	return ViewFacts{Tile: t.Tile, Tensor: t.Tensor, DimMap: identity(len(ones)), Step: ones, SparseDim: t.SparseDim,
		Padding: t.Padding}
}

// Rank is the number of dimensions; NumElements their product.
func (t *TileType) Rank() int { return len(t.Shape) }
func (t *TileType) NumElements() int64 {
	n := int64(1)
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

func (t *TileType) TypeDialect() string              { return Name }
func (t *PtrType) TypeDialect() string               { return Name }
func (t *TensorViewType) TypeDialect() string        { return Name }
func (t *PartitionViewType) TypeDialect() string     { return Name }
func (t *StridedViewType) TypeDialect() string       { return Name }
func (t *GatherScatterViewType) TypeDialect() string { return Name }
func (t *TokenType) TypeDialect() string             { return Name }

func (t *TileType) String() string              { return ir.ShortType(t) }
func (t *PtrType) String() string               { return ir.ShortType(t) }
func (t *TensorViewType) String() string        { return ir.ShortType(t) }
func (t *PartitionViewType) String() string     { return ir.ShortType(t) }
func (t *StridedViewType) String() string       { return ir.ShortType(t) }
func (t *GatherScatterViewType) String() string { return ir.ShortType(t) }
func (t *TokenType) String() string             { return "token" }

// WriteType of a tile is "tile<4x8xf32>".
func (t *TileType) WriteType(w *strings.Builder) {
	w.WriteString("tile<")
	writeShaped(w, t.Shape, t.Elem)
	w.WriteByte('>')
}

// WriteType of a pointer is "ptr<f32>" or "ptr<f32, <multicast>>".
func (t *PtrType) WriteType(w *strings.Builder) {
	w.WriteString("ptr<")
	t.Elem.WriteType(w)
	if v, ok := t.Attr.Get(); ok {
		w.WriteString(", <" + def.PtrAttrEnum.Keyword(v) + ">")
	}
	w.WriteByte('>')
}

// WriteType of a tensor view is "tensor_view<32x?xf32, strides=[?,1]>".
func (t *TensorViewType) WriteType(w *strings.Builder) {
	w.WriteString("tensor_view<")
	writeShaped(w, t.Shape, t.Elem)
	if len(t.Strides) > 0 {
		w.WriteString(", strides=[")
		writeDims(w, t.Strides, ",")
		w.WriteByte(']')
	}
	if v, ok := t.PtrAttr.Get(); ok {
		w.WriteString(", #cuda_tile.ptr_attr<" + def.PtrAttrEnum.Keyword(v) + ">")
	}
	w.WriteByte('>')
}

// WriteType of a partition view is "partition_view<tile=(64x16), padding_value = zero, tensor_view<...>, dim_map=[1, 0]>".
func (t *PartitionViewType) WriteType(w *strings.Builder) {
	w.WriteString("partition_view<tile=(")
	writeDims(w, t.Tile.Shape, "x")
	w.WriteString("), ")
	writePadding(w, t.Padding)
	t.Tensor.WriteType(w)
	writeDimMap(w, t.DimMap)
	w.WriteByte('>')
}

// WriteType of a strided view adds the traversal strides: "strided_view<tile=(4x2), traversal_strides=[4,3], ...>".
func (t *StridedViewType) WriteType(w *strings.Builder) {
	w.WriteString("strided_view<tile=(")
	writeDims(w, t.Tile.Shape, "x")
	w.WriteString("), traversal_strides=[")
	writeDims(w, t.Traversal, ",")
	w.WriteString("], ")
	writePadding(w, t.Padding)
	t.Tensor.WriteType(w)
	writeDimMap(w, t.DimMap)
	w.WriteByte('>')
}

// WriteType of a gather/scatter view is "gather_scatter_view<tile=(8x16), tensor_view<...>, sparse_dim=0>".
func (t *GatherScatterViewType) WriteType(w *strings.Builder) {
	w.WriteString("gather_scatter_view<tile=(")
	writeDims(w, t.Tile.Shape, "x")
	w.WriteString("), ")
	writePadding(w, t.Padding)
	t.Tensor.WriteType(w)
	fmt.Fprintf(w, ", sparse_dim=%d>", t.SparseDim)
}

func (t *TokenType) WriteType(w *strings.Builder) { w.WriteString("token") }

func writeShaped(w *strings.Builder, shape []int64, elem ir.Type) {
	writeDims(w, shape, "x")
	if len(shape) > 0 {
		w.WriteByte('x')
	}
	elem.WriteType(w)
}

func writeDims(w *strings.Builder, dims []int64, sep string) {
	for i, d := range dims {
		if i > 0 {
			w.WriteString(sep)
		}
		if d == Dynamic {
			w.WriteByte('?')
		} else {
			w.WriteString(strconv.FormatInt(d, 10))
		}
	}
}

func writePadding(w *strings.Builder, p Optional[def.Padding]) {
	if v, ok := p.Get(); ok {
		w.WriteString("padding_value = " + def.PaddingEnum.Keyword(v) + ", ")
	}
}

// writeDimMap writes a dimension map that is not the identity.
func writeDimMap(w *strings.Builder, m []int) {
	if isIdentity(m) {
		return
	}
	w.WriteString(", dim_map=[")
	for i, d := range m {
		if i > 0 {
			w.WriteString(", ")
		}
		w.WriteString(strconv.Itoa(d))
	}
	w.WriteByte(']')
}

func identity(n int) []int {
	m := make([]int, n)
	for i := range m {
		m[i] = i
	}
	return m
}

func isIdentity(m []int) bool {
	for i, d := range m {
		if i != d {
			return false
		}
	}
	return true
}
