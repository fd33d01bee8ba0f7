package nvvm

import (
	"math/bits"

	"tileiras/codegen/atom"
	"tileiras/codegen/ptxop"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// This file brings the scales of products of the tensor unit from shared memory to tensor memory, where instructions find them (atom.ScalesIn). Copies and products
// that one thread begins come one after another, but no copy waits for a product before it, so each slot of a ring has columns of its own: when it is
// filled again, all that has read it is over.

// tensorScales are the scales of a factor.
type tensorScales struct {
	*fn
	*buffer
	columns reg // where they lie in tensor memory
	row     int // the dimension that the factor has, and the result
}

// tensorScalesOf are those of the left or right factor, in columns from first on.
func (p *tensorProduct) tensorScalesOf(v *ir.Value, left bool, first int64) *tensorScales {
	x := &tensorScales{fn: p.fn, buffer: p.buffers[v], row: 1}
	if left {
		x.row = 0
	}
	at := first + int64(atom.ScaleColumns(int(x.offset-x.first)))
	x.columns = p.add(p.memory.base, i32(at))
	if !x.slot.absent() {
		x.columns = p.add(x.columns, p.lshr(x.slot, bits.TrailingZeros(ptxop.ScaleBlock/ptxop.ScaleColumns)))
	}
	return x
}

// scaled finds the scales of both factors, those of the instruction's A first; nil without.
func (p *tensorProduct) scaled() []*tensorScales {
	if !p.Scaled() {
		return nil
	}
	first, _ := p.dot.ScaleColumn()
	left := p.tensorScalesOf(p.dot.LhsScale(), true, first)
	right := p.tensorScalesOf(p.dot.RhsScale(), false, first+tileaa.ScaleColumnsOf(p.dot.LhsScale()))
	if p.swap {
		left, right = right, left
	}
	return []*tensorScales{left, right}
}

// copyToTensor copies the scales to tensor memory, block by block.
func (x *tensorScales) copyToTensor() {
	base, bytes := x.sharedAddress(x.buffer, nil, 0, corner{})
	for at := 0; at < x.Bytes(); at += ptxop.ScaleBlock {
		low := x.add(x.lshr(base, 4), i32((bytes+int64(at))/descriptorUnit))
		high := con(kI32, uint64(scaleRows/descriptorUnit|tensorDescriptor))
		x.op(ptxop.CopyScales, x.add(x.columns, i32(int64(atom.ScaleColumns(at)))), x.op1("mov.pack.b64", low, high))
	}
}

// scaleRows is the bytes of eight lanes of a block, which a descriptor names together.
const scaleRows = 8 * 16

// at is where the scales of the block of number block along K lie, for rows or columns from a corner of the result on: the column, and the byte of its words.
func (x *tensorScales) at(corner []int, block int) (column reg, byteOf int) {
	rows := int(x.Shape[x.row]) / ptxop.ScaleLanes // columns of a word along K
	return x.add(x.columns, i32(int64(block/ptxop.ScaleWord*rows+corner[x.row]/ptxop.ScaleLanes))), block % ptxop.ScaleWord
}
