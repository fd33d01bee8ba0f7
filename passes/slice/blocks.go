package slice

import (
	"math"
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/passes/facts"
)

// A blockCutter makes parts of blocks.
type blockCutter struct {
	b     *ir.Builder
	known *facts.Facts
	value func(v *ir.Value, dim int) *ir.Value // what stands for a value where parts are made, whole or, of a list of coordinates, the part along dim
}

// part is a part of a block, of type t: that of so many along each dimension, of rank 0 and i32, where the whole has several. Along a dimension of number p, with
// step = gcd(traversal, length of the part), it begins at coordinate
//
//	index * traversal + p * length  =  (index * (traversal/step) + p * (length/step)) * step
//
// What is known of the bounds of the whole block holds for its parts. Nothing else does: the part of a block that hangs over the
// edge may lie outside altogether, which no frontend's index would (anywhere).
func (c blockCutter) part(op tileaa.BlockTile, t *tileaa.BlockType, numbers []*ir.Value) *ir.Value {
	traversal := slices.Clone(op.Traversal())
	indices := op.Indices()
	inbounds, anywhere := make(ir.BoolArray, len(indices)), make(ir.BoolArray, len(indices))
	copy(anywhere, op.Anywhere())
	for d, v := range indices {
		inbounds[d] = c.known.InBounds(op, d)
		if numbers[d] == nil {
			indices[d] = c.value(v, whole)
		} else {
			anywhere[d] = !inbounds[d]
		}
	}
	opts := op.Options()
	opts.Inbounds, opts.Anywhere = nil, nil
	if slices.Contains(anywhere, true) {
		opts.Anywhere = anywhere
	}
	if slices.Contains(inbounds, true) {
		opts.Inbounds = inbounds
	}
	memref := c.value(op.Memref(), whole)
	s, sparse := op.SparseDim()
	for d, p := range numbers {
		switch {
		case p == nil:
		case sparse && int(s) == d:
			indices[d] = c.value(indices[d], 0)
		default:
			indices[d], traversal[d] = c.index(op, d, p, t.Shape[d])
		}
	}
	return tileaa.NewBlockTile(c.b, t, memref, indices, traversal, op.DimMap(), opts).Result()
}

// index is the index along dim of the part of a length that has a number, and the step that it counts.
func (c blockCutter) index(op tileaa.BlockTile, dim int, number *ir.Value, length int64) (index *ir.Value, step int64) {
	traversal := op.Traversal()[dim]
	step = gcd(traversal, length)
	index = c.wideIndex(op, dim)
	if _, sparse := op.SparseDim(); sparse {
		index = c.atMostExtent(op, dim, index)
	}
	index = times(c.b, index, traversal/step)
	part := times(c.b, resized(c.b, number, tileaa.AsTile(index).Elem), length/step)
	return plus(c.b, index, part), step
}

// wideIndex is the index of a block along dim, in a type that holds the coordinate at which every part begins, with what the array says of it: that of a
// part says nothing.
func (c blockCutter) wideIndex(op tileaa.BlockTile, dim int) *ir.Value {
	v := c.value(op.Indices()[dim], whole)
	width := 64
	if c.known.CoordinateBits(op, dim) <= 31 {
		width = 32
	}
	if width > ir.BitWidth(tileaa.AsTile(v).Elem) {
		v = resized(c.b, v, c.b.Ctx.Int(width))
	}
	if last, ok := c.known.LastIndex(op, dim); ok && last <= math.MaxInt64 { // of a number with sign, which the index was not
		first, last := int64(0), int64(last)
		v = tileaa.NewAssume(c.b, v, &tileaa.BoundedAttr{Lower: &first, Upper: &last}).Result()
	}
	return v
}

// atMostExtent is an offset, or the extent of the array where that is less: nothing of the tile is inside then, either way, but parts of a tile far
// beyond the array would begin in it again, where the sum wraps.
func (c blockCutter) atMostExtent(op tileaa.BlockTile, dim int, index *ir.Value) *ir.Value {
	t := tileaa.AsTile(index)
	bits := ir.BitWidth(t.Elem)
	if c.known.CoordinateBits(op, dim) < int64(bits) {
		return index
	}
	m := ir.Cast[tileaa.MakeMemref](op.Memref().DefiningOp())
	extent, n := tileaa.SizeOf(m.Result().Type().(*tileaa.MemrefType).Shape, m.Shape(), int(op.DimMap()[dim]))
	if extent == nil {
		extent = tileaa.Const(c.b, t, n)
	} else if extent = c.value(extent, whole); ir.BitWidth(tileaa.AsTile(extent).Elem) < bits {
		extent = resized(c.b, extent, t.Elem)
	}
	return tileaa.NewMini(c.b, index, extent, def.Unsigned).Result()
}

// resized is an unsigned integer in another width, modulo that width.
func resized(b *ir.Builder, v *ir.Value, elem ir.Type) *ir.Value {
	t := tileaa.Tile(b.Ctx, elem)
	from, to := ir.BitWidth(tileaa.AsTile(v).Elem), ir.BitWidth(elem)
	bits, known := tileaa.SplatValue(v)
	switch {
	case from == to:
		return v
	case known:
		return tileaa.Const(b, t, int64(bits))
	case from < to:
		return tileaa.NewExti(b, t, v, def.Unsigned).Result()
	}
	return tileaa.NewTrunci(b, t, v, tileaa.TrunciOptions{}).Result()
}

// times is v * k.
func times(b *ir.Builder, v *ir.Value, k int64) *ir.Value {
	if k == 1 {
		return v
	}
	if n, ok := tileaa.SplatInt(v); ok {
		return tileaa.Const(b, tileaa.AsTile(v), n*k)
	}
	return tileaa.NewMuli(b, v, tileaa.Const(b, tileaa.AsTile(v), k), tileaa.MuliOptions{}).Result()
}

// plus is v + w.
func plus(b *ir.Builder, v, w *ir.Value) *ir.Value {
	x, one := tileaa.SplatInt(v)
	y, two := tileaa.SplatInt(w)
	switch {
	case one && two:
		return tileaa.Const(b, tileaa.AsTile(v), x+y)
	case two && y == 0:
		return v
	}
	return tileaa.NewAddi(b, v, w, tileaa.AddiOptions{}).Result()
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
