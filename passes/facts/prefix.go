package facts

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// This file recognizes prefix masks, the bounds checks that programs write for tiles of pointers:
//
//	column < n                       8  9 10 11 | 12 13 14 15    n = 14:   1 1 1 1 | 1 1 0 0
//
// Of every group of neighbours the mask is true for a prefix, whose length is n - column of the first.

// MaskEnd is the comparison of a prefix mask: lhs < rhs, or with Inclusive lhs <= rhs, where lhs is contiguous along a dimension and rhs is
// constant. Via lists the broadcasts and reshapes between it and the mask, the last of them first.
type MaskEnd struct {
	Compare   *ir.Op
	Lhs, Rhs  *ir.Value
	Inclusive bool
	Via       []*ir.Op
}

// maxMaskParts bounds how many operations of a mask are looked at: parts may be shared.
const maxMaskParts = 32

// MaskEnds lists the comparisons of whose conjunction a mask consists, as far as they may differ within an aligned group of n neighbours along
// dimension d; ok is false where the mask is no such conjunction.
func (f *Facts) MaskEnds(mask *ir.Value, d int, n int64) (ends []MaskEnd, ok bool) {
	left := maxMaskParts
	var visit func(v *ir.Value, d int, via []*ir.Op) bool
	visit = func(v *ir.Value, d int, via []*ir.Op) bool {
		if left--; left < 0 {
			return false
		}
		if f.MaskVector(v, d) >= n {
			return true
		}
		op := v.DefiningOp()
		if op == nil {
			return false
		}
		through := append(slices.Clone(via), op)
		switch op.Code() {
		case tileaa.OpAndi:
			return visit(op.Operand(0), d, via) && visit(op.Operand(1), d, via)
		case tileaa.OpBroadcast:
			return visit(op.Operand(0), d, through)
		case tileaa.OpReshape:
			d, ok := sameDim(op, d)
			return ok && visit(op.Operand(0), d, through)
		case tileaa.OpCmpi:
			end, ok := f.endOf(ir.Cast[tileaa.Cmpi](op), d, n)
			end.Via = via
			ends = append(ends, end)
			return ok
		}
		return false
	}
	ok = visit(mask, d, nil)
	return ends, ok
}

// sameDim is the dimension of the operand of a reshape that has the size and the row-major stride of dimension d of the result.
func sameDim(reshape *ir.Op, d int) (int, bool) {
	from, to := tileaa.ShapeOf(reshape.Operand(0)), tileaa.ShapeOf(reshape.Result(0))
	strides, stride := tileaa.RowMajorStrides(from), tileaa.RowMajorStrides(to)[d]
	for e := range from {
		if from[e] == to[d] && strides[e] == stride {
			return e, true
		}
	}
	return 0, false
}

// endOf reads a comparison as a prefix mask of groups of n neighbours along d.
func (f *Facts) endOf(c tileaa.Cmpi, d int, n int64) (end MaskEnd, ok bool) {
	small, large, inclusive, ok := tileaa.AsLess(c)
	if !ok {
		return end, false
	}
	end = MaskEnd{Compare: c.Op, Lhs: small, Rhs: large, Inclusive: inclusive}
	x, y := f.Of(end.Lhs), f.Of(end.Rhs)
	return end, x.Width > 0 && x.unwrappedContig(d, c.Signedness() == def.Signed) >= n && y.Const[d] >= n
}

// unwrappedContig is the largest group along d that counts up without wrapping, as signed or as unsigned numbers.
func (x Fact) unwrappedContig(d int, signed bool) int64 {
	if !signed && x.UMax < maxU(x.Width) || signed && x.SMax < maxS(x.Width) {
		return x.Contig[d]
	}
	return min(x.alignedContig(d), maxGroup(x.Width, signed))
}

// Outside reports whether pointers cannot point to local memory (alloca).
func (f *Facts) Outside(ptr *ir.Value) bool { return !f.hasAlloca || f.Of(ptr).Space == Global }
