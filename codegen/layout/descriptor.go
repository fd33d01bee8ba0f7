package layout

// Descriptor says how an instruction that takes a matrix from shared memory finds its elements (PTX ISA, "Matrix Descriptor", "Canonical Layouts").
// Chunks of 16 bytes lie in rows of Width bytes, permuted as Swizzled says. With depth along rows, which is what instructions call major:
//
//	row%8 * Width + row/8 * Stride + depth
//
// and with Turned, where the rows of the matrix lie side by side:
//
//	row % Width + row / Width * Lead + depth%8 * Width + depth/8 * Stride
type Descriptor struct {
	Width        int // bytes: 128, 64 or 32
	Turned       bool
	Lead, Stride int // bytes
}

// swizzledRows is the rows after which the pattern of a swizzle comes again.
const swizzledRows = 8

// WidestSwizzle is the longest row that an instruction finds swizzled, in bytes: longer ones lie in pieces.
const WidestSwizzle = 128

// chunkBytes is what a swizzle permutes.
const chunkBytes = 16

// Describe finds the descriptor of matrices of rows x depth elements in a buffer, for an instruction whose matrix has its rows along dimension row of
// the buffer and the depth along dimension depth. ok is false where no descriptor can say how they lie.
func (m MemLayout) Describe(row, depth int, rows, deep, elemBytes int) (d Descriptor, ok bool) {
	if m.every != 0 {
		return d, false
	}
	for _, turned := range []bool{false, true} {
		for width := WidestSwizzle; width >= 32; width /= 2 {
			c := described{m, Descriptor{Width: width, Turned: turned}, elemBytes}
			inner, outer, in, out := depth, row, deep, rows
			if turned {
				inner, outer, in, out = row, depth, rows, deep
			}
			if c.fits(inner, outer, in, out) {
				return c.Descriptor, true
			}
		}
	}
	return d, false
}

type described struct {
	MemLayout
	Descriptor
	elemBytes int
}

// offset is the bytes that a bit of a coordinate adds.
func (c *described) offset(dim, bit int) int {
	return int(c.Linear(Bit(c.shape, dim, bit))) * c.elemBytes
}

// fits compares the offset of every bit with that of the canonical layout, of in x out elements to an instruction, and finds the distances.
func (c *described) fits(inner, outer, in, out int) bool {
	side := log2(c.Width / c.elemBytes) // bits of the inner dimension in a row
	for i := range side {
		if c.offset(inner, i) != c.elemBytes<<i {
			return false
		}
	}
	chunks := c.Width/chunkBytes - 1 // as a mask
	for i := range log2(swizzledRows) {
		at := c.Width << i
		if c.offset(outer, i) != at|at>>7&chunks*chunkBytes {
			return false
		}
	}
	if !c.steps(inner, side, log2(in), &c.Lead) || !c.steps(outer, log2(swizzledRows), log2(out), &c.Stride) {
		return false
	}
	for d := range c.shape {
		if d != inner && d != outer && !c.steps(d, 0, 0, nil) {
			return false
		}
	}
	return true
}

// steps finds the distance that the bits of a dimension from one on multiply within an instruction, if it has any of them. All must leave the pattern of
// the swizzle, and each other, where they are.
func (c *described) steps(dim, from, instruction int, distance *int) bool {
	for i := from; i < log2(c.shape[dim]); i++ {
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
