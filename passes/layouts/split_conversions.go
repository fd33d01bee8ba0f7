package layouts

import (
	"math/bits"
	"slices"

	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// maxConversion is the most shared memory, in bytes, that one conversion takes at a time.
func maxConversion(s *pass.State, op *ir.Op) int {
	return cost.ConversionRoom(s.Target, tileaa.IsProduct(readers(s, op)[0]))
}

// splitConversion cuts a conversion that would need too much shared memory along a bit of the coordinates that registers choose on
// both sides, so that the halves can follow each other through the same buffer. The bit becomes a dimension of its own:
//
//	convert_layout %x : 256x256      =>   %r = reshape %x : 8x2x16x256          (registers choose the 2)
//	                                      %a = extract %r[0,0,0,0]; %b = extract %r[0,1,0,0]
//	                                      cat (convert_layout %a), (convert_layout %b)   ... reshape
//
// All but the conversions is choosing registers. The halves are returned, to be cut again if need be.
func splitConversion(s *pass.State, op *ir.Op) []*ir.Op {
	t := tileaa.AsTile(op.Result(0))
	src, dst := *tileaa.LayoutOf(op.Operand(0)), *t.Layout
	both := layout.Intersect(units(src), units(dst))
	if len(both) == 0 {
		return nil
	}
	cut, dim := isolated(t.Shape, slices.Max(both))
	half := slices.Clone(cut)
	half[dim] = 1

	b := ir.NewBuilder(s.Ctx).Before(op)
	b.Loc = op.Loc()
	whole := func(shape []int64, l layout.Layout) ir.Type {
		return tileaa.Tile(s.Ctx, t.Elem, shape...).WithLayout(s.Ctx, l)
	}
	srcCut, dstCut := src.Reshape(layout.Dims(cut)), dst.Reshape(layout.Dims(cut))
	srcHalf, _, ok := srcCut.Extract(layout.Dims(half))
	dstHalf, _, ok2 := dstCut.Extract(layout.Dims(half))
	if !ok || !ok2 || !compact(dstHalf.Cat(dim)).Equal(dstHalf.Cat(dim)) {
		return nil
	}
	x := tileaa.NewReshape(b, whole(cut, srcCut), op.Operand(0)).Result()
	index := func(n uint64) *ir.Value {
		i32 := tileaa.Tile(s.Ctx, s.Ctx.Int(32))
		return tileaa.Const(b, i32, int64(n))
	}
	var halves []*ir.Op
	var parts []*ir.Value
	for n := range uint64(2) {
		var indices []*ir.Value
		for d := range cut {
			k := uint64(0)
			if d == dim {
				k = n
			}
			indices = append(indices, index(k))
		}
		piece := tileaa.NewExtract(b, whole(half, srcHalf), x, indices)
		c := tileaa.NewConvertLayout(b, whole(half, dstHalf), piece.Result())
		halves, parts = append(halves, c.Op), append(parts, c.Result())
	}
	joined := tileaa.NewCat(b, whole(cut, dstHalf.Cat(dim)), parts[0], parts[1], int64(dim))
	back := tileaa.NewReshape(b, whole(t.Shape, dstHalf.Cat(dim).Reshape(layout.Dims(t.Shape))), joined.Result()).Result()
	if back.Type() != op.Result(0).Type() {
		back = tileaa.NewConvertLayout(b, op.Result(0).Type(), back).Result() // registers in another order
	}
	op.Result(0).ReplaceAllUsesWith(back)
	op.Erase()
	return halves
}

// isolated is a shape in which a bit of the element number is dimension dim, of extent 2: rows above it, the bit, rows below.
func isolated(shape []int64, bit uint64) (cut []int64, dim int) {
	at := bits.TrailingZeros64(bit)
	d := len(shape) - 1
	for ; at >= layout.Log2(int(shape[d])); d-- {
		at -= layout.Log2(int(shape[d]))
	}
	low := int64(1) << at
	cut = append(slices.Clone(shape[:d]), shape[d]/(2*low), 2, low)
	return append(cut, shape[d+1:]...), d + 1
}

// units are the bits of the element number that one register bit each chooses.
func units(l layout.Layout) []uint64 {
	var out []uint64
	for _, c := range l.Column(layout.Reg) {
		if c&(c-1) == 0 && c != 0 {
			out = append(out, c)
		}
	}
	return out
}
