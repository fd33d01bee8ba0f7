package tileaa

import (
	"fmt"
	"strconv"
	"strings"

	"tileiras/codegen/layout"
	"tileiras/ir"
)

// Dynamic marks an extent or stride of a memref that is known only when the kernel runs.
const Dynamic = int64(-1 << 63)

// TileType is tile<64x64xf32> or, after assign-layouts, tile<64x64xf32, #l0>: which register of which lane of which warp
// holds an element is part of the type. Rank 0 is one value that every thread holds and never has a layout.
type TileType struct {
	Shape  []int64 // powers of two
	Elem   ir.Type // integer, float, or *PtrType
	Layout *layout.Layout
}

// PtrType is the address of an element.
type PtrType struct{ Elem ir.Type }

// MemrefType is a strided array in memory, with a stride for each extent; Dynamic ones are operands of make_memref.
type MemrefType struct {
	Shape, Strides []int64
	Elem           ir.Type
}

// BlockType is one tile of an array, the result of block_tile.
type BlockType struct {
	Shape []int64
	Elem  ir.Type
}

// TokenType orders memory operations.
type TokenType struct{}

// BufferType is a tile's worth of shared memory with the map from coordinates to bytes.
type BufferType struct {
	Shape []int64
	Elem  ir.Type
	Mem   *layout.MemLayout
}

// MostSlots is the most slots of a ring or pipeline, and groups of copies or products in flight: more than shared memory has mbarriers.
const MostSlots = 1 << 16

// RingType is a ring of equal buffers in shared memory.
type RingType struct {
	Slots  int64 // 1 to MostSlots
	Buffer *BufferType
}

// PipelineType synchronizes a producer role, which fills slots, with a consumer role, which reads them: it is two mbarriers a slot, full and empty.
type PipelineType struct {
	Slots int64 // 1 to MostSlots
}

// TensorMemoryType is a tile block's allocation of tensor memory: in shared memory it has the word with its address and the mbarriers at which products that
// write it arrive.
type TensorMemoryType struct {
	Columns int64 // a power of two from 32 to 512
}

// MapMemoryType is the memory in which a tile block makes its tensor maps.
type MapMemoryType struct {
	Maps int64 // at least 1
}

type (
	tileKey struct {
		shape  string
		elem   ir.Type
		layout string
	}
	ptrKey    struct{ elem ir.Type }
	memrefKey struct {
		shape, strides string
		elem           ir.Type
	}
	blockKey struct {
		shape string
		elem  ir.Type
	}
	tokenKey  struct{}
	bufferKey struct {
		shape string
		elem  ir.Type
		mem   string
	}
	ringKey struct {
		slots  int64
		buffer *BufferType
	}
	pipelineKey struct{ slots int64 }
	mapsKey     struct{ maps int64 }
	tensorKey   struct{ columns int64 }
)

// Tile is the type of tiles of a shape; no dimensions mean a rank-0 tile.
func Tile(c *ir.Context, elem ir.Type, shape ...int64) *TileType {
	return ir.Intern(c, tileKey{ir.ShapeKey(shape), elem, ""}, func() *TileType {
		return &TileType{Shape: append([]int64(nil), shape...), Elem: elem}
	})
}

// WithLayout is t with a layout; of a rank-0 tile it is t itself.
func (t *TileType) WithLayout(c *ir.Context, l layout.Layout) *TileType {
	if len(t.Shape) == 0 {
		return t
	}
	return ir.Intern(c, tileKey{ir.ShapeKey(t.Shape), t.Elem, l.Key()}, func() *TileType {
		return &TileType{Shape: t.Shape, Elem: t.Elem, Layout: &l}
	})
}

// WithElem is a tile of the same shape and layout with other elements.
func (t *TileType) WithElem(c *ir.Context, elem ir.Type) *TileType {
	n := Tile(c, elem, t.Shape...)
	if t.Layout != nil {
		return n.WithLayout(c, *t.Layout)
	}
	return n
}

// NumElements is the product of the dimensions.
func (t *TileType) NumElements() int64 { return product(t.Shape) }

// Ptr is the type of pointers to elem.
func Ptr(c *ir.Context, elem ir.Type) *PtrType {
	return ir.Intern(c, ptrKey{elem}, func() *PtrType { return &PtrType{elem} })
}

// Memref is the type of strided arrays.
func Memref(c *ir.Context, elem ir.Type, shape, strides []int64) *MemrefType {
	return ir.Intern(c, memrefKey{ir.ShapeKey(shape), ir.ShapeKey(strides), elem}, func() *MemrefType {
		return &MemrefType{append([]int64(nil), shape...), append([]int64(nil), strides...), elem}
	})
}

// Block is the type of one tile of an array.
func Block(c *ir.Context, elem ir.Type, shape ...int64) *BlockType {
	return ir.Intern(c, blockKey{ir.ShapeKey(shape), elem}, func() *BlockType {
		return &BlockType{append([]int64(nil), shape...), elem}
	})
}

// Token is the token type.
func Token(c *ir.Context) *TokenType {
	return ir.Intern(c, tokenKey{}, func() *TokenType { return &TokenType{} })
}

// Buffer is the type of a buffer in shared memory.
func Buffer(c *ir.Context, elem ir.Type, mem layout.MemLayout, shape ...int64) *BufferType {
	return ir.Intern(c, bufferKey{ir.ShapeKey(shape), elem, mem.Key()}, func() *BufferType {
		return &BufferType{append([]int64(nil), shape...), elem, &mem}
	})
}

// Ring is the type of a ring of so many buffers.
func Ring(c *ir.Context, slots int64, buffer *BufferType) *RingType {
	return ir.Intern(c, ringKey{slots, buffer}, func() *RingType { return &RingType{slots, buffer} })
}

// Pipeline is the type of pipelines of so many slots.
func Pipeline(c *ir.Context, slots int64) *PipelineType {
	return ir.Intern(c, pipelineKey{slots}, func() *PipelineType { return &PipelineType{slots} })
}

// MbarrierBytes is the size of an mbarrier (PTX ISA, "Size and alignment of mbarrier object").
const MbarrierBytes = 8

// Bytes is the size of a pipeline: slot by slot, what says that it is full, then what says that it is empty.
func (t *PipelineType) Bytes() int { return int(t.Slots) * 2 * MbarrierBytes }

// TensorMemory is the type of so many columns of tensor memory.
func TensorMemory(c *ir.Context, columns int64) *TensorMemoryType {
	return ir.Intern(c, tensorKey{columns}, func() *TensorMemoryType { return &TensorMemoryType{columns} })
}

// ProductMbarriers is the number of mbarriers at which products of the tensor unit arrive in turn: so many may be in flight.
const ProductMbarriers = 8

// ProductMbarrier is the offset of an mbarrier of products behind the word that says where tensor memory begins.
func ProductMbarrier(i int64) int64 { return MbarrierBytes * (1 + i) }

// Bytes is the shared memory that belongs to it.
func (t *TensorMemoryType) Bytes() int { return int(ProductMbarrier(ProductMbarriers)) }

// MapMemory is the type of memory for so many tensor maps.
func MapMemory(c *ir.Context, maps int64) *MapMemoryType {
	return ir.Intern(c, mapsKey{maps}, func() *MapMemoryType { return &MapMemoryType{maps} })
}

// MapBytes is the size of a tensor map, and its alignment in shared memory (PTX ISA, "tensormap.cp_fenceproxy"). CopyMbarriers are what groups of copies arrive at by turns.
const (
	MapBytes      = 128
	CopyMbarriers = 32
)

// CopyMbarrier is the offset of an mbarrier of copies behind the maps, PlaceOfMaps that of the word that says where in global memory they are.
func (t *MapMemoryType) CopyMbarrier(i int64) int64 { return t.Maps*MapBytes + MbarrierBytes*i }

func (t *MapMemoryType) PlaceOfMaps() int64 { return t.CopyMbarrier(CopyMbarriers) }

// Bytes is the shared memory that belongs to it.
func (t *MapMemoryType) Bytes() int { return int(t.PlaceOfMaps()) + MbarrierBytes }

// Alignments of buffers: the period of a swizzle is at most swizzleAlign bytes, and at most the size of a buffer that is a power of two.
const smallAlign, swizzleAlign = 128, 1024

// Bytes is the size of a buffer.
func (t *BufferType) Bytes() int { return t.Mem.Size() * ElemBytes(t.Elem) }

// Align is the alignment of a buffer in bytes.
func (t *BufferType) Align() int {
	align := swizzleAlign
	for align > smallAlign && align > t.Bytes() {
		align /= 2
	}
	return align
}

// SlotBytes is the distance in bytes from one slot to the next.
func (t *RingType) SlotBytes() int {
	align := t.Buffer.Align()
	return (t.Buffer.Bytes() + align - 1) / align * align
}

// AsTile is the type of v as a tile, or nil.
func AsTile(v *ir.Value) *TileType { t, _ := v.Type().(*TileType); return t }

// ElemBytes is the number of bytes that an element takes in memory: pointers 8, i1 and sub-byte types 1, tf32 4.
func ElemBytes(t ir.Type) int {
	switch t := t.(type) {
	case *PtrType:
		return 8
	case *ir.IntegerType:
		return (t.Width + 7) / 8
	case *ir.FloatType:
		return (t.Format.StorageBits() + 7) / 8
	}
	return 0
}

// ElemBits is the number of bits that an element takes in a register: i1 counts 1, tf32 32, pointers 64.
func ElemBits(t ir.Type) int {
	switch t := t.(type) {
	case *PtrType:
		return 64
	case *ir.IntegerType:
		return t.Width
	case *ir.FloatType:
		return t.Format.StorageBits()
	}
	return 0
}

func (*TileType) TypeDialect() string         { return "tileaa" }
func (*PtrType) TypeDialect() string          { return "tileaa" }
func (*MemrefType) TypeDialect() string       { return "tileaa" }
func (*BlockType) TypeDialect() string        { return "tileaa" }
func (*TokenType) TypeDialect() string        { return "tileaa" }
func (*BufferType) TypeDialect() string       { return "tileaa" }
func (*RingType) TypeDialect() string         { return "tileaa" }
func (*PipelineType) TypeDialect() string     { return "tileaa" }
func (*TensorMemoryType) TypeDialect() string { return "tileaa" }
func (*MapMemoryType) TypeDialect() string    { return "tileaa" }

func (t *TileType) WriteType(w *strings.Builder) {
	w.WriteString("tile<")
	writeShaped(w, t.Shape, t.Elem)
	if t.Layout != nil {
		w.WriteString(", " + t.Layout.String())
	}
	w.WriteByte('>')
}

func (t *PtrType) WriteType(w *strings.Builder) {
	w.WriteString("ptr<" + ir.ShortType(t.Elem) + ">")
}

func (t *MemrefType) WriteType(w *strings.Builder) {
	w.WriteString("memref<")
	writeShaped(w, t.Shape, t.Elem)
	if len(t.Strides) > 0 {
		w.WriteString(", strides=[")
		for i, s := range t.Strides {
			if i > 0 {
				w.WriteByte(',')
			}
			w.WriteString(extent(s))
		}
		w.WriteByte(']')
	}
	w.WriteByte('>')
}

func (t *BlockType) WriteType(w *strings.Builder) {
	w.WriteString("block<")
	writeShaped(w, t.Shape, t.Elem)
	w.WriteByte('>')
}

func (t *TokenType) WriteType(w *strings.Builder) { w.WriteString("token") }

func (t *BufferType) WriteType(w *strings.Builder) {
	w.WriteString("buffer<")
	writeShaped(w, t.Shape, t.Elem)
	fmt.Fprintf(w, ", %s>", t.Mem)
}

func (t *RingType) WriteType(w *strings.Builder) {
	fmt.Fprintf(w, "ring<%d, ", t.Slots)
	t.Buffer.WriteType(w)
	w.WriteByte('>')
}

func (t *PipelineType) WriteType(w *strings.Builder) { fmt.Fprintf(w, "pipeline<%d>", t.Slots) }

func (t *TensorMemoryType) WriteType(w *strings.Builder) {
	fmt.Fprintf(w, "tensor_memory<%d>", t.Columns)
}

func (t *MapMemoryType) WriteType(w *strings.Builder) { fmt.Fprintf(w, "map_memory<%d>", t.Maps) }

// ShapeAndElem is the shape and the element type of a tile, a block or a buffer; ok is false of other types.
func ShapeAndElem(t ir.Type) (shape []int64, elem ir.Type, ok bool) {
	switch t := t.(type) {
	case *TileType:
		return t.Shape, t.Elem, true
	case *BlockType:
		return t.Shape, t.Elem, true
	case *BufferType:
		return t.Shape, t.Elem, true
	}
	return nil, nil, false
}

// ShapeText is a shape with its element type as types print it, 128x64xf16.
func ShapeText(shape []int64, elem ir.Type) string {
	var b strings.Builder
	writeShaped(&b, shape, elem)
	return b.String()
}

func writeShaped(w *strings.Builder, shape []int64, elem ir.Type) {
	for _, d := range shape {
		w.WriteString(extent(d) + "x")
	}
	w.WriteString(ir.ShortType(elem))
}

func extent(d int64) string {
	if d == Dynamic {
		return "?"
	}
	return strconv.FormatInt(d, 10)
}

func product(dims []int64) int64 {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	return n
}
