package layout

// Descriptor is the shared memory descriptor of a matrix (PTX ISA, "Matrix Descriptor", "Canonical Layouts"). Chunks of 16 bytes lie in rows of Width
// bytes, permuted by the swizzle of Swizzled. The matrix is K-major, with its depth along these rows:
//
//	row%8 * Width + row/8 * Stride + depth
//
// or, with MNMajor, with the rows of the matrix along these rows:
//
//	row % Width + row / Width * Lead + depth%8 * Width + depth/8 * Stride
type Descriptor struct {
	Width        int // bytes: 128, 64 or 32
	MNMajor      bool
	Lead, Stride int // bytes
}

// swizzledRows is the period of a swizzle, in rows.
const swizzledRows = 8

// WidestSwizzle is the longest row of a swizzle, in bytes: longer rows of a tile are cut into several.
const WidestSwizzle = 128

// chunkBytes is what a swizzle permutes.
const chunkBytes = 16

// Describe finds the descriptor of matrices of rows x deep elements in a buffer, for an instruction whose matrix has its rows along dimension row of
// the buffer and its depth along dimension depth. ok is false where the memory layout is no canonical one.
func (m MemLayout) Describe(row, depth int, rows, deep, elemBytes int) (d Descriptor, ok bool) {
	if m.every != 0 {
		return d, false
	}
	for _, mnMajor := range []bool{false, true} {
		for width := WidestSwizzle; width >= 32; width /= 2 {
			c := descriptorFit{m, Descriptor{Width: width, MNMajor: mnMajor}, elemBytes}
			inner, outer, in, out := depth, row, deep, rows
			if mnMajor {
				inner, outer, in, out = row, depth, rows, deep
			}
			if c.fits(inner, outer, in, out) {
				return c.Descriptor, true
			}
		}
	}
	return d, false
}

// descriptorFit is a memory layout that is compared with the canonical layout of a descriptor.
type descriptorFit struct {
	MemLayout
	Descriptor
	elemBytes int
}

// offset is the bytes that a bit of a coordinate adds.
func (c *descriptorFit) offset(dim, bit int) int {
	return int(c.Linear(Bit(c.shape, dim, bit))) * c.elemBytes
}

// fits compares the offset of every coordinate bit with the canonical layout, of which an instruction reads in x out elements, and finds Lead and Stride.
func (c *descriptorFit) fits(inner, outer, in, out int) bool {
	side := Log2(c.Width / c.elemBytes) // bits of the inner dimension in a row
	for i := range side {
		if c.offset(inner, i) != c.elemBytes<<i {
			return false
		}
	}
	chunks := c.Width/chunkBytes - 1 // as a mask
	for i := range Log2(swizzledRows) {
		at := c.Width << i
		if c.offset(outer, i) != at|at>>7&chunks*chunkBytes {
			return false
		}
	}
	if !c.constantStride(inner, side, Log2(in), &c.Lead) || !c.constantStride(outer, Log2(swizzledRows), Log2(out), &c.Stride) {
		return false
	}
	for d := range c.shape {
		if d != inner && d != outer && !c.constantStride(d, 0, 0, nil) {
			return false
		}
	}
	return true
}

// constantStride checks the bits of a dimension from one on: each must step by whole periods of the swizzle, and within an instruction they must have one
// stride, which is stored in distance.
func (c *descriptorFit) constantStride(dim, from, instruction int, distance *int) bool {
	for i := from; i < Log2(c.shape[dim]); i++ {
		switch at := c.offset(dim, i); {
		case at < swizzledRows*c.Width || at&(at-1) != 0: // the instruction adds, and sums of single bits are what exclusive ors are
			return false
		case i >= instruction:
		case i == from:
			*distance = at
		case at != *distance<<(i-from):
			return false
		}
	}
	return true
}
