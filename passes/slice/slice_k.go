package slice

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/ir/float"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// This file makes batches of products along K, which warps can share (CUTLASS: sliced K). Each warp then computes a bigger part of the result from fewer elements
// of K, and reads less from shared memory for as many products. The sums of the slices are added behind the loops.
//
//	%s = for .. inits(zeros : 128x128) {               %t = for .. inits(zeros : 2x128x128) {
//	                                                     %a' = permute [1, 0, 2] (reshape %a : 128x2x32) : 2x128x32
//	                                                     %b' = reshape %b                                : 2x32x128
//	  continue (dot %a, %b, %acc)               =>       continue (dot %a', %b', %acc')
//	}                                                  }
//	                                                   %s = reduce add %t dim=0
//
// Floats are added in another order then. Tile IR gives mmaf a sum over K and what it adds to, and no rounding, unlike addf: instructions drop bits as each GPU has
// it. Sums of 16 bits, which a part may leave where the whole does not, stay whole.

// sliceK slices the products of an entry that add up what their loops carry, from zeros on, and that nobody sees meanwhile. It reports whether there are any.
func sliceK(s *pass.State, entry *ir.Op, n int64) (sliced bool) {
	var sums []kSum
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		sums = append(sums, kSumsFrom(op, n)...)
	})
	for _, sum := range sums {
		sum.slice(s.Ctx, n)
	}
	return len(sums) > 0
}

// A kSum is a sum of products along loops that follow each other: each begins with what the one before gives, the first with zeros.
type kSum []kLoop

// A kLoop is a loop with the number of the sum among what it carries, and the products that are added to it.
type kLoop struct {
	ir.Flow
	carried int
	dots    []tileaa.Dot
}

// kSumsFrom finds the sums of which a loop is the first one that adds to them.
func kSumsFrom(op *ir.Op, n int64) (sums []kSum) {
	loop, ok := ir.LoopOf(op)
	if !ok {
		return nil
	}
	for i, v := range loop.Inits() {
		if !tileaa.IsZero(v) {
			continue
		}
		sum := kSum{}
		for k, more := kLoopOf(loop, i, n); more; k, more = k.next(n) {
			sum = append(sum, k)
		}
		if len(sum) > 0 {
			sums = append(sums, sum)
		}
	}
	return sums
}

// next is the loop that goes on with a sum, if nobody else takes what comes of this one.
func (k kLoop) next(n int64) (next kLoop, ok bool) {
	r := k.Op.Result(k.carried)
	if !r.HasOneUse() {
		return next, false
	}
	use := r.FirstUse()
	loop, ok := ir.LoopOf(use.Owner())
	if !ok {
		return next, false
	}
	i, ok := loop.InitIndex(use.Index())
	if !ok {
		return next, false
	}
	return kLoopOf(loop, i, n)
}

// kLoopOf is a loop that does nothing with one of the values that it carries but add products to it whose K has so many parts.
func kLoopOf(loop ir.Flow, i int, n int64) (k kLoop, ok bool) {
	if loop.Kind != ir.CountedFlow {
		return k, false
	}
	acc := loop.Carried()[i]
	if !acc.HasOneUse() {
		return k, false
	}
	first, ok := ir.As[tileaa.Dot](acc.FirstUse().Owner())
	if !ok {
		return k, false
	}
	if carried, adds := tileaa.OnlyAdds(first.Op); !adds || carried != i {
		return k, false
	}
	k = kLoop{loop, i, tileaa.SumOf(first)}
	return k, !slices.ContainsFunc(k.dots, func(d tileaa.Dot) bool { return !slicesK(d, n) })
}

// instrDepthBytes is the bytes along K of one matrix instruction.
const instrDepthBytes = 32

// StepsK is how many steps of an instruction a product of matrix units has along K.
func StepsK(product *ir.Op) int {
	return kernel.ExtentOf(product).K * tileaa.ElemBits(tileaa.AsTile(product.Operand(0)).Elem) / (8 * instrDepthBytes)
}

// slicesK reports whether a product of matrix units, of tiles that are loaded as they are multiplied, has n slices along K.
func slicesK(d tileaa.Dot, n int64) bool {
	t := tileaa.AsTile(d.Result())
	if len(t.Shape) != 2 || tileaa.ElemBits(t.Elem) != 32 || tileaa.IsScaled(d.Op) || ir.IsFloat(tileaa.AsTile(d.Rhs()).Elem, float.F32) || StepsK(d.Op) < int(n) {
		return false
	}
	return kernel.LoadedForProductsOnly(d.Lhs()) && kernel.LoadedForProductsOnly(d.Rhs())
}

// slice makes the products of a sum batches of n.
func (sum kSum) slice(c *ir.Context, n int64) {
	b := ir.NewBuilder(c)
	first, last := sum[0], sum[len(sum)-1]
	whole := tileaa.AsTile(first.Inits()[first.carried])
	parts := tileaa.Tile(c, whole.Elem, append([]int64{n}, whole.Shape...)...)
	b.Before(first.Op).Loc = first.Op.Loc()
	use := first.InitUse(first.carried)
	first.Op.SetOperand(use.Index(), tileaa.NewConstant(b, parts, tileaa.SplatOf(parts, 0)).Result())
	for _, k := range sum {
		k.Carried()[k.carried].SetType(parts)
		for _, d := range k.dots {
			b.Before(d.Op).Loc = d.Op.Loc()
			d.Op.SetOperand(0, kSlices(b, d.Lhs(), 1, n))
			d.Op.SetOperand(1, kSlices(b, d.Rhs(), 0, n))
			d.Result().SetType(parts)
		}
		k.Op.Result(k.carried).SetType(parts)
	}
	b.After(last.Op).Loc = last.Op.Loc()
	r := last.Op.Result(last.carried)
	uses := r.Uses()
	added := addUp(b, r, whole)
	for _, u := range uses {
		u.Owner().SetOperand(u.Index(), added)
	}
}

// kSlices is the batch of n slices of a factor along K, its dimension dim.
func kSlices(b *ir.Builder, v *ir.Value, dim int, n int64) *ir.Value {
	t := tileaa.AsTile(v)
	cut := slices.Clone(t.Shape)
	cut[dim] /= n
	cut = slices.Insert(cut, dim, n)
	v = tileaa.NewReshape(b, tileaa.Tile(b.Ctx, t.Elem, cut...), v).Result()
	if dim == 0 {
		return v
	}
	return tileaa.NewPermute(b, tileaa.Tile(b.Ctx, t.Elem, n, cut[0], cut[2]), v, ir.I32Array{1, 0, 2}).Result()
}

// addUp is the sum of a batch of tiles.
func addUp(b *ir.Builder, v *ir.Value, t *tileaa.TileType) *ir.Value {
	scalar := tileaa.Tile(b.Ctx, t.Elem)
	var zero ir.Attribute = ir.IntegerAttr{Type: t.Elem}
	_, isFloat := t.Elem.(*ir.FloatType)
	if isFloat {
		zero = ir.FloatAttr{Type: t.Elem}
	}
	sum := tileaa.NewReduce(b, []ir.Type{t}, []*ir.Value{v}, 0, ir.ArrayAttr{zero}, tileaa.ReduceOptions{})
	block := sum.Op.Region(0).AddBlock()
	x, y := block.AddArg(scalar), block.AddArg(scalar)
	in := ir.NewBuilder(b.Ctx).AtEnd(block)
	in.Loc = b.Loc
	if isFloat {
		tileaa.NewYield(in, []*ir.Value{tileaa.NewAddf(in, x, y, tileaa.AddfOptions{}).Result()})
	} else {
		tileaa.NewYield(in, []*ir.Value{tileaa.NewAddi(in, x, y, tileaa.AddiOptions{}).Result()})
	}
	return sum.Op.Result(0)
}
