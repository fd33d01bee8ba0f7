package tileaa

import (
	"slices"

	"tileiras/ir"
)

// This file puts products together that a program makes in parts, of the depth, the rows, the columns or the batches. Two parts that lie side by side become one of
// twice the size at a time, so that all powers of two do.

// uncut is the dimension along which what all parts take is cut.
const uncut = -1

// halvesOf reports whether two values are the halves of one along a dimension: parts that lie side by side, or splats of one constant. Halves along no dimension are equal.
func halvesOf(x, y *ir.Value, dim int) bool {
	if x.Type() != y.Type() {
		return false
	}
	if x == y && dim == uncut {
		return true
	}
	if c, ok := SplatValue(x); ok {
		d, too := SplatValue(y)
		return too && c == d && 2*AsTile(x).NumElements() <= MaxTileElements
	}
	first, one := ir.DefinedBy[Extract](x)
	second, two := ir.DefinedBy[Extract](y)
	if !one || !two || first.Source() != second.Source() {
		return false
	}
	for d, v := range first.Indices() {
		w := second.Indices()[d]
		i, known := SplatInt(v)
		j, too := SplatInt(w)
		if d == dim && !(known && too && i >= 0 && i%2 == 0 && j == i+1) || d != dim && !sameNumber(v, w) {
			return false
		}
	}
	return true
}

// ofHalves is the value of which two, of which halvesOf is true, are the halves.
func ofHalves(b *ir.Builder, x *ir.Value, dim int) *ir.Value {
	t := AsTile(x)
	shape := slices.Clone(t.Shape)
	shape[dim] *= 2
	t = Tile(b.Ctx, t.Elem, shape...)
	if bits, splat := SplatValue(x); splat {
		return NewConstant(b, t, SplatOf(t, bits)).Result()
	}
	e := ir.Cast[Extract](x.DefiningOp())
	indices := e.Indices()
	i, _ := SplatInt(indices[dim])
	indices[dim] = Const(b, AsTile(indices[dim]), i/2)
	return NewExtract(b, t, e.Source(), indices).Result()
}

// sameProducts reports whether two products differ in their tiles alone. None has been decided upon.
func sameProducts(x, y Dot) bool {
	undecided := func(d Dot) bool {
		return d.Atom() == nil && AsTile(d.Result()).Layout == nil && d.When() == nil && d.Memory() == nil
	}
	return undecided(x) && undecided(y) && x.SignednessLhs() == y.SignednessLhs() && x.SignednessRhs() == y.SignednessRhs() && x.FastAcc() == y.FastAcc() &&
		(x.LhsScale() == nil) == (y.LhsScale() == nil)
}

// dotOfDepths: a product of half of the depth that adds to the product of the other half is the product.
//
//	%s = dot (extract %x, indices(0, 0)), (extract %y, indices(0, 0)), %acc
//	dot (extract %x, indices(0, 1)), (extract %y, indices(1, 0)), %s               =>      dot %x, %y, %acc
//
// Tile IR says of no product in which order it adds, and what it rounds on the way. The sum of a half has the type of the result: where that is shorter than 32 bits, it
// may overflow or lose what the product keeps, so such halves stay.
func dotOfDepths(b *ir.Builder, op *ir.Op) bool {
	d := Dot{op}
	before, ok := ir.DefinedBy[Dot](d.Acc())
	if !ok || !d.Acc().HasOneUse() || before.Op.Block() != op.Block() || !sameProducts(before, d) || ElemBits(AsTile(d.Result()).Elem) < 32 {
		return false
	}
	alongDepth := func(i, rank int) int { return rank - 1 - i%2 }
	for _, halves := range [][2]Dot{{before, d}, {d, before}} {
		if areHalves(halves, alongDepth) {
			return replace(op, productOfHalves(b, halves[0], before.Acc(), alongDepth))
		}
	}
	return false
}

// catOfDots: the halves of a product, of its rows, its columns or its batches, that are put together are the product.
//
//	%s = dot (extract %x, indices(0, 0)), %y, (extract %acc, indices(0, 0))
//	%t = dot (extract %x, indices(1, 0)), %y, (extract %acc, indices(1, 0))
//	cat %s, %t {dim = 0}                                                           =>      dot %x, %y, %acc
func catOfDots(b *ir.Builder, op *ir.Op) bool {
	c := Cat{op}
	x, one := ir.DefinedBy[Dot](c.Lhs())
	y, two := ir.DefinedBy[Dot](c.Rhs())
	dim := int(c.Dim())
	if !one || !two || !sameProducts(x, y) || !halvesOf(x.Acc(), y.Acc(), dim) {
		return false
	}
	for _, d := range []Dot{x, y} {
		if !d.Result().HasOneUse() || d.Op.Block() != op.Block() {
			return false
		}
	}
	along := func(i, rank int) int {
		if dim < rank-2 || dim == rank-2+i%2 {
			return dim
		}
		return uncut
	}
	return areHalves([2]Dot{x, y}, along) && replace(op, productOfHalves(b, x, ofHalves(b, x.Acc(), dim), along))
}

// areHalves reports whether two products take the halves of factors: factor i, or scale i-2, is cut along the dimension that cut gives.
func areHalves(halves [2]Dot, cut func(i, rank int) int) bool {
	others := FactorsOf(halves[1])
	for i, v := range FactorsOf(halves[0]) {
		if !halvesOf(v, others[i], cut(i, len(AsTile(v).Shape))) {
			return false
		}
	}
	return true
}

// productOfHalves is the product of the factors of which a product takes the first halves.
func productOfHalves(b *ir.Builder, first Dot, acc *ir.Value, cut func(i, rank int) int) *ir.Value {
	b.Loc = first.Op.Loc()
	factors := FactorsOf(first)
	for i, v := range factors {
		if dim := cut(i, len(AsTile(v).Shape)); dim != uncut {
			factors[i] = ofHalves(b, v, dim)
		}
	}
	o := DotOptions{FastAcc: first.FastAcc()}
	if len(factors) == 4 {
		o.LhsScale, o.RhsScale = factors[2], factors[3]
	}
	return NewDot(b, AsTile(acc), factors[0], factors[1], acc, first.SignednessLhs(), first.SignednessRhs(), o).Result()
}
