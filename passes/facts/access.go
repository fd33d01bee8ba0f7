package facts

import (
	"math"
	"math/bits"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// This file answers what a memory access wants to know. "Block" is the block_tile op of a tiled access.

// memrefOf is the make_memref of a block.
func memrefOf(block tileaa.BlockTile) tileaa.MakeMemref {
	return ir.Cast[tileaa.MakeMemref](block.Memref().DefiningOp())
}

// Extent is what is known of the extent of array dimension a, Stride of its stride, both in elements and unsigned numbers.
func (f *Facts) Extent(memref tileaa.MakeMemref, a int) Fact {
	t := memref.Result().Type().(*tileaa.MemrefType)
	return f.sizeFact(t.Shape, memref.Shape(), a)
}

func (f *Facts) Stride(memref tileaa.MakeMemref, a int) Fact {
	t := memref.Result().Type().(*tileaa.MemrefType)
	return f.sizeFact(t.Strides, memref.Strides(), a)
}

// sizeFact is the fact of extent or stride a: the static one, or that of the operand that stands for it.
func (f *Facts) sizeFact(sizes []int64, operands []*ir.Value, a int) Fact {
	v, n := tileaa.SizeOf(sizes, operands, a)
	if v == nil {
		return scalar(n)
	}
	return f.Of(v)
}

// scalar is the fact of a 64-bit constant.
func scalar(x int64) Fact {
	return Fact{Width: 64, SMin: x, SMax: x, UMin: uint64(x), UMax: uint64(x), ZeroBits: bits.TrailingZeros64(uint64(x))}
}

// blockDim is one dimension of a block: tile elements k = 0 .. tile-1 lie at coordinates start + k of array dimension a,
// where start = index * traversal; a sparse dimension has a coordinate of its own for each k.
type blockDim struct {
	a         int
	tile      int64
	index     Fact
	traversal int64
	sparse    bool // the index is a tile of coordinates
	offset    bool // the index is an element offset beside a sparse dimension: no number of the index space
	anywhere  bool // the block may start outside the array, by less than the largest tile
	inbounds  bool // the frontend's promise
}

func (f *Facts) dim(block tileaa.BlockTile, d int) blockDim {
	t := block.Result().Type().(*tileaa.BlockType)
	inbounds, anywhere := block.Inbounds(), block.Anywhere()
	b := blockDim{a: int(block.DimMap()[d]), tile: t.Shape[d], traversal: block.Traversal()[d]}
	b.index = f.Of(block.Indices()[d])
	b.inbounds = d < len(inbounds) && inbounds[d]
	b.anywhere = d < len(anywhere) && anywhere[d]
	if s, ok := block.SparseDim(); ok {
		b.sparse = int(s) == d
		b.offset, b.traversal = !b.sparse, 1
	}
	return b
}

// startZeros is the number of known-zero low bits of start.
func (b blockDim) startZeros() int {
	if b.index.Width == 0 {
		return 0
	}
	if b.index.ZeroBits == b.index.Width {
		return 64 // index 0
	}
	return min(64, b.index.ZeroBits+bits.TrailingZeros64(uint64(b.traversal)))
}

// InBounds reports whether no element of a block lies outside the array along tile dimension d, in any defined execution:
//
//   - the frontend promised it (inbounds), or
//   - the largest index * traversal + tile - 1 is below the smallest extent, computed without wrapping, or
//   - the blocks do not overlap and the extent is a multiple of the traversal: the index lies in the index space, so
//     index <= extent / traversal - 1, and the block ends at or before the extent. Programs name block 0 of empty slices all the
//     same, so the extent must not be 0, except along dimensions of 1, where NVIDIA's compiler trusts the index too.
func (f *Facts) InBounds(block tileaa.BlockTile, d int) bool {
	b := f.dim(block, d)
	if b.inbounds {
		return true
	}
	extent := f.Extent(memrefOf(block), b.a)
	if b.index.Width == 0 || extent.Width == 0 {
		return false
	}
	last := mulUint(b.index.UMax, uint64(b.traversal))
	if !b.sparse {
		last = last.add(fromUint(uint64(b.tile - 1)))
	}
	if last.less(fromUint(extent.UMin)) {
		return true
	}
	return !b.sparse && !b.offset && !b.anywhere && b.traversal >= b.tile && divides(b.traversal, extent) && (b.tile == 1 || extent.UMin > 0)
}

// CoordinateBits says in how many bits, 31, 32 or 64, the start of a block along tile dimension d and the extent of the array fit,
// both unsigned, in any defined execution: an index lies in the index space, so the block starts inside the array, or at 0.
func (f *Facts) CoordinateBits(block tileaa.BlockTile, d int) int64 {
	b := f.dim(block, d)
	extent := f.Extent(memrefOf(block), b.a)
	if b.index.Width == 0 || extent.Width == 0 {
		return 64
	}
	start := mulUint(b.index.UMax, uint64(b.traversal))
	if !b.sparse && !b.offset {
		last := fromUint(extent.UMax)
		if b.anywhere {
			last = last.add(fromUint(tileaa.MaxTileElements))
		}
		start = minWide(start, last)
	}
	reach := start // of differences between coordinates, in 31 bits; an offset may lie anywhere beyond the array
	if b.offset {
		reach = start.add(fromUint(tileaa.MaxTileElements))
	}
	switch largest := maxWide(start, fromUint(extent.UMax)); {
	case maxWide(largest, reach).less(fromUint(1 << 31)):
		return 31
	case largest.less(fromUint(1 << 32)):
		return 32
	}
	return 64
}

// LastIndex bounds the index of a block along tile dimension d by the extent of the array, in any defined execution; ok is false where
// that is no better than the interval of the index itself.
func (f *Facts) LastIndex(block tileaa.BlockTile, d int) (last uint64, ok bool) {
	b := f.dim(block, d)
	extent := f.Extent(memrefOf(block), b.a)
	if b.index.Width == 0 || extent.Width == 0 || b.sparse || b.offset || b.anywhere {
		return 0, false
	}
	last = (max(extent.UMax, 1) - 1) / uint64(b.traversal)
	return last, last < b.index.UMax
}

// divides reports whether x is known to be a multiple of n.
func divides(n int64, x Fact) bool {
	if v, ok := x.Constant(); ok {
		return v%uint64(n) == 0
	}
	return n&(n-1) == 0 && x.ZeroBits >= log2(n)
}

// BlockVector is the widest aligned vector access along tile dimension d, in elements, as far as addresses go: so many
// neighbours are contiguous in memory and begin at a multiple of their size in bytes. It is 1 unless the array has stride 1
// along d.
//
// address = base + sum over dimensions of (start + k) * stride * bytes; k is any number below tile.
func (f *Facts) BlockVector(block tileaa.BlockTile, d int) int64 {
	memref := memrefOf(block)
	t := block.Result().Type().(*tileaa.BlockType)
	size := log2(int64(tileaa.ElemBytes(t.Elem)))
	along := f.dim(block, d)
	if stride, ok := f.Stride(memref, along.a).Constant(); !ok || stride != 1 || along.sparse {
		return 1
	}
	zeros := f.Of(memref.Base()).ZeroBits
	for e := range t.Shape {
		zeros = min(zeros, size+f.offsetZeros(block, e, d))
	}
	return powerBelow(along.tile, zeros-size)
}

// offsetZeros is how many low bits of the offset, in elements, at which an access along tile dimension d begins are known to be zero for what dimension e
// adds to it.
func (f *Facts) offsetZeros(block tileaa.BlockTile, e, d int) int {
	b := f.dim(block, e)
	if e == d {
		return b.startZeros()
	}
	zeros := f.Stride(memrefOf(block), b.a).ZeroBits
	switch {
	case b.sparse:
		zeros += b.index.ZeroBits
	case b.tile == 1:
		zeros += b.startZeros()
	}
	return zeros
}

// FastDim is the tile dimension that is contiguous in memory: the last one longer than 1 whose array dimension has stride
// 1, else the last one.
func (f *Facts) FastDim(block tileaa.BlockTile) int {
	shape := block.Result().Type().(*tileaa.BlockType).Shape
	memref := memrefOf(block)
	for d := len(shape) - 1; d >= 0; d-- {
		if stride, ok := f.Stride(memref, f.dim(block, d).a).Constant(); ok && stride == 1 && shape[d] > 1 {
			return d
		}
	}
	return len(shape) - 1
}

// powerBelow is min(n, 2^z), at least 1, for a power of two n.
func powerBelow(n int64, z int) int64 {
	if z >= 62 {
		return n
	}
	return min(n, 1<<max(z, 0))
}

// BlockMaskVector is the largest group along tile dimension d that one predicate serves: its elements are all inside the
// array or all outside.
func (f *Facts) BlockMaskVector(block tileaa.BlockTile, d int) int64 {
	b := f.dim(block, d)
	if f.InBounds(block, d) {
		return b.tile
	}
	if b.sparse {
		return 1
	}
	return powerBelow(b.tile, min(b.startZeros(), f.Extent(memrefOf(block), b.a).ZeroBits))
}

// ExtentOf is the value that says how long the array is along tile dimension d; nil where that is a constant.
func (f *Facts) ExtentOf(block tileaa.BlockTile, d int) *ir.Value {
	m := memrefOf(block)
	v, _ := tileaa.SizeOf(m.Result().Type().(*tileaa.MemrefType).Shape, m.Shape(), f.dim(block, d).a)
	return v
}

// NarrowBlock reports whether every element of the array lies less than 2^31 bytes after its first: the byte offsets of
// all accesses that happen then fit in 32 signed bits.
func (f *Facts) NarrowBlock(block tileaa.BlockTile) bool {
	memref := memrefOf(block)
	t := memref.Result().Type().(*tileaa.MemrefType)
	last := wide{}
	for a := range t.Shape {
		extent, stride := f.Extent(memref, a), f.Stride(memref, a)
		if extent.Width == 0 || stride.Width == 0 || extent.UMax > math.MaxInt32 || stride.UMax > math.MaxInt32 {
			return false
		}
		if extent.UMax > 0 {
			last = last.add(mulUint(extent.UMax-1, stride.UMax))
		}
	}
	bytes := int64(tileaa.ElemBytes(t.Elem))
	// all bytes of the last element count
	return last.add(fromInt(1)).less(fromInt((math.MaxInt32+1)/bytes + 1))
}

// PointerVector is BlockVector of a tile of pointers.
func (f *Facts) PointerVector(ptr *ir.Value, d int) int64 {
	x := f.Of(ptr)
	if x.Width == 0 {
		return 1
	}
	return x.alignedContig(d)
}

// MaskVector is the largest group of a mask along dimension d whose elements are equal.
func (f *Facts) MaskVector(mask *ir.Value, d int) int64 {
	x := f.Of(mask)
	if x.Width == 0 {
		return 1
	}
	return x.Const[d]
}
