package layout

import "slices"

// Boxes says how bulk copies through a tensor map (PTX ISA, "Tensor Data Movement") fill a buffer: each copies a box, which is dense in shared memory, the first
// of its dimensions being the one that is contiguous in global memory.
//
//	64x256 elements of 2 bytes, in rows of 128 bytes with the 128-byte swizzle:
//	Dims 1 0, Box 64 64, Swizzle 128, Parts (0,0) at 0, (0,64) at 8192, (0,128) at 16384, (0,192) at 24576
type Boxes struct {
	Dims    []int // of the tile, as the box has them
	Box     []int // elements along each of them
	Swizzle int   // bytes: 0, 32, 64 or 128
	Parts   []BoxPart
}

// BoxPart is where one copy takes its box from and puts it.
type BoxPart struct {
	Corner []int // in the tile
	Offset int   // in the buffer, in bytes
}

// MostBox is the most elements of a box along a dimension, BoxSwizzles the bytes of rows with a swizzle, or none (CUDA driver API, cuTensorMapEncodeTiled).
const MostBox = 256

var BoxSwizzles = [...]int{WidestSwizzle, WidestSwizzle / 2, WidestSwizzle / 4, 0}

// partAlign is the bytes that a part is aligned to without a swizzle (CUDA programming guide, "Using TMA to transfer multi-dimensional arrays"), mostBoxParts how many
// a tile has: each is an instruction.
const (
	partAlign    = 128
	mostBoxParts = 16
)

// Boxes finds the boxes that fill a buffer of a tile that is contiguous in global memory along dimension fast. ok is false where the memory layout is not that of
// a few boxes.
func (m MemLayout) Boxes(fast, elemBytes int) (b Boxes, ok bool) {
	if m.every != 0 {
		return b, false
	}
	for _, width := range BoxSwizzles {
		if b, ok = m.boxes(fast, elemBytes, width); ok {
			break
		}
	}
	return b, ok
}

// boxes is Boxes for a swizzle of width bytes, which asks for boxes with rows of just that size.
func (m MemLayout) boxes(fast, elemBytes, width int) (b Boxes, ok bool) {
	if m.Size()*elemBytes < swizzledRows*width {
		return b, false // the swizzle follows from the address, and a buffer is aligned to no more than its size
	}
	b.Swizzle = width
	place := m.withoutSwizzle(elemBytes, width)
	n := 0 // offset bits in the box
	take := func(d, most int) {
		size := 1
		for n < len(place) && size < min(most, m.shape[d]) && place[n] == Bit(m.shape, d, Log2(size)) {
			size, n = 2*size, n+1
		}
		b.Dims, b.Box = append(b.Dims, d), append(b.Box, size)
	}
	most := MostBox
	if width > 0 {
		most = width / elemBytes
	}
	take(fast, most)
	if b.Box[0]*elemBytes%chunkBytes != 0 || width > 0 && b.Box[0] != most {
		return b, false
	}
	for n < len(place) && place[n] != 0 {
		d := slices.IndexFunc(coords(m.shape, place[n]), func(x int) bool { return x == 1 })
		if d < 0 || slices.Contains(b.Dims, d) { // not the lowest bit of a coordinate, or a second time
			break
		}
		take(d, MostBox)
	}
	align := partAlign
	if width > 0 {
		align = swizzledRows * width
	}
	rest := place[n:]
	if len(rest) > 0 && elemBytes<<n < align || 1<<len(rest) > mostBoxParts || slices.Contains(rest, 0) {
		return b, false
	}
	for d := range m.shape { // the box has one element along the other dimensions
		if !slices.Contains(b.Dims, d) {
			take(d, 1)
		}
	}
	for part := range 1 << len(rest) {
		corner := coords(m.shape, Matrix{Cols: rest}.apply(uint64(part)))
		b.Parts = append(b.Parts, BoxPart{corner, part << n * elemBytes})
	}
	return b, true
}

// withoutSwizzle is the basis of m with the swizzle of width bytes undone: the element that each offset bit selects, 0 where that is not one bit of one coordinate.
func (m MemLayout) withoutSwizzle(elemBytes, width int) []uint64 {
	place := slices.Clone(m.bases)
	chunk, row := Log2(chunkBytes/elemBytes), Log2(WidestSwizzle/elemBytes)
	for i := 0; width > 0 && i < Log2(width/chunkBytes) && row+i < len(place); i++ {
		place[row+i] ^= m.bases[chunk+i]
	}
	for i, x := range place {
		if x&(x-1) != 0 {
			place[i] = 0
		}
	}
	return place
}
