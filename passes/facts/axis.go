package facts

import (
	"slices"

	"tileiras/dialects/tileaa/def"
)

// This file has the transfer functions of contiguity, constancy and divisibility along the dimensions of a tile (Triton's
// axis analysis). elementwiseAxes comes first and sets what holds of every element-wise op; the others improve on it.

// elementwiseAxes sets what holds of any element-wise op: the result is constant where all operands are, contiguous nowhere.
func (r *Fact) elementwiseAxes(xs ...Fact) {
	r.Contig, r.Const, r.Div = ones(len(r.Contig)), slices.Clone(xs[0].Const), make([]int, len(r.Div))
	for _, x := range xs[1:] {
		for d := range r.Const {
			r.Const[d] = min(r.Const[d], x.Const[d])
		}
	}
}

// setContig records that groups of c along d count up, with z known-zero bits in their first elements.
func (r *Fact) setContig(d int, c int64, z int) {
	if c > 1 {
		r.Contig[d], r.Div[d] = c, min(z, r.Width)
	}
}

// addAxes: contiguous + constant is contiguous. scale is log2 of the weight of y (the bytes of a pointer's element).
//
//	16 17 18 19  +  4 4 4 4  =  20 21 22 23
func (r *Fact) addAxes(x, y Fact, scale int) {
	for d := range r.Contig {
		if c := min(x.Contig[d], y.Const[d]); c >= min(x.Const[d], y.Contig[d]) {
			r.setContig(d, c, min(x.zerosAt(d, c), y.zerosAt(d, c)+scale))
		} else {
			c = min(x.Const[d], y.Contig[d])
			r.setContig(d, c, min(x.zerosAt(d, c), y.zerosAt(d, c)+scale))
		}
	}
}

// subAxes: contiguous - constant is contiguous.
func (r *Fact) subAxes(x, y Fact) {
	for d := range r.Contig {
		c := min(x.Contig[d], y.Const[d])
		r.setContig(d, c, min(x.zerosAt(d, c), y.zerosAt(d, c)))
	}
}

// groupBetweenMultiples is the largest group along d that is contiguous in x and constant in y, and whose size divides both its
// first x and its y: it lies between two neighbouring multiples of y, so x / y is constant in it.
//
//	x   8  9 10 11 | 12 13 14 15     y = 12:  groups of 4
func groupBetweenMultiples(x, y Fact, d int) int64 {
	c := min(x.alignedContig(d), y.Const[d])
	for c > 1 && (x.zerosAt(d, c) < log2(c) || y.zerosAt(d, c) < log2(c)) {
		c /= 2
	}
	return c
}

// divAxes: between two multiples of y the floor of the quotient is constant.
func (r *Fact) divAxes(x, y Fact, signed bool, rounding def.Rounding) {
	floor := !signed && rounding != def.RoundPosInf ||
		signed && rounding == def.RoundNegInf && y.SMin > 0 ||
		signed && rounding != def.RoundPosInf && x.SMin >= 0 && y.SMin > 0
	if !floor {
		return
	}
	for d := range r.Const {
		r.Const[d] = max(r.Const[d], min(groupBetweenMultiples(x, y, d), maxGroup(x.Width, signed)))
	}
}

// remAxes: between two multiples of y the remainder counts up, as that of x that is not negative by -y is that by y.
func (r *Fact) remAxes(x, y Fact, signed bool) {
	if signed && x.SMin < 0 {
		return
	}
	for d := range r.Contig {
		c := min(groupBetweenMultiples(x, y, d), maxGroup(x.Width, signed))
		r.setContig(d, c, min(x.zerosAt(d, c), y.zerosAt(d, c)))
	}
}

// maxGroup is the largest aligned group that cannot wrap from the largest signed number to the least; unsigned numbers need no bound.
func maxGroup(w int, signed bool) int64 {
	if !signed || w > 62 {
		return 1 << 62
	}
	return 1 << (w - 1)
}

// maskAxes: x & (2^k - 1) is x mod 2^k.
func (r *Fact) maskAxes(x Fact, mask uint64) {
	if mask&(mask+1) != 0 || mask == 0 || mask == maxU(r.Width) {
		return
	}
	modulus := constantLike(x, mask+1)
	r.remAxes(x, modulus, false)
}

// shiftAxes: x >> k is a floor division by 2^k.
func (r *Fact) shiftAxes(x, amount Fact, signed bool) {
	k, ok := amount.Constant()
	if !ok || k >= uint64(r.Width)-1 {
		return
	}
	modulus := constantLike(x, 1<<k)
	r.divAxes(x, modulus, signed, def.RoundNegInf)
}

// constantLike is a tile of the shape of x with one value.
func constantLike(x Fact, v uint64) Fact {
	f := x.top()
	f.setConstant(v)
	for d := range f.Const {
		f.Const[d] = 1 << 62 // as long as any dimension
	}
	return f
}

// widenAxes: a group that does not wrap in the narrow type still counts up in the wide one.
func (r *Fact) widenAxes(x Fact, signed bool) {
	for d := range r.Contig {
		c := x.unwrappedContig(d, signed)
		z := x.zerosAt(d, c)
		if z == x.Width { // zero
			z = r.Width
		}
		r.setContig(d, c, z)
	}
}

// copyContig: the result is contiguous where x is.
func (r *Fact) copyContig(x Fact) {
	for d := range r.Contig {
		r.setContig(d, x.Contig[d], x.zerosAt(d, x.Contig[d]))
	}
}

// compareAxes: a group of x between two multiples of y is on one side of y, so the comparison is constant in it.
//
//	x   8  9 10 11 | 12 13 14 15    x < 12:  1 1 1 1 | 0 0 0 0
func (r *Fact) compareAxes(x, y Fact, predicate def.Predicate, signed bool) {
	switch predicate {
	case def.PredLess, def.PredGreaterEqual:
	case def.PredGreater, def.PredLessEqual:
		x, y = y, x
	default:
		return
	}
	for d := range r.Const {
		r.Const[d] = max(r.Const[d], min(groupBetweenMultiples(x, y, d), maxGroup(x.Width, signed)))
	}
}
