package layouts

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// expandInserts makes an insert a select where only the running kernel knows the place, and the piece is one element long along every dimension in which
// it has a place: threads keep what they hold, instead of sending the tile through shared memory.
//
//	%r = insert %piece, %whole, indices(%i, 0)     =>     %at = cmpi (iota along dimension 0), %i
//	                                                      %r = select %at, (broadcast %piece), %whole
func expandInserts(s *pass.State, entry *ir.Op) {
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		in, ok := ir.As[tileaa.Insert](op)
		if !ok || !isPlacedByNumber(in) {
			return
		}
		b := ir.NewBuilder(s.Ctx).Before(op)
		b.Loc = op.Loc()
		whole := tileaa.AsTile(in.Dest())
		var at *ir.Value
		for d, i := range in.Indices() {
			if tileaa.AsTile(in.Source()).Shape[d] == whole.Shape[d] {
				continue
			}
			here := coordinateIs(b, whole.Shape, d, i)
			if at != nil {
				here = tileaa.NewAndi(b, at, here).Result()
			}
			at = here
		}
		piece := tileaa.NewBroadcast(b, whole, in.Source()).Result()
		op.Result(0).ReplaceAllUsesWith(tileaa.NewSelect(b, at, piece, in.Dest()).Result())
		op.Erase()
	})
}

// isPlacedByNumber reports whether an insert becomes a select.
func isPlacedByNumber(in tileaa.Insert) bool {
	whole, piece := tileaa.AsTile(in.Dest()), tileaa.AsTile(in.Source())
	if _, pointers := whole.Elem.(*tileaa.PtrType); pointers {
		return false
	}
	known := true
	for d, i := range in.Indices() {
		if piece.Shape[d] == whole.Shape[d] {
			continue
		}
		if piece.Shape[d] != 1 || tileaa.ElemBits(tileaa.AsTile(i).Elem) < 32 {
			return false
		}
		known = known && tileaa.ConstantOf(i) != nil
	}
	return !known
}

// coordinateIs is a mask of the elements of a tile whose coordinate along dimension d is a scalar.
func coordinateIs(b *ir.Builder, shape []int64, d int, i *ir.Value) *ir.Value {
	line := slices.Repeat([]int64{1}, len(shape))
	line[d] = shape[d]
	number, mask := tileaa.AsTile(i).Elem, b.Ctx.Int(1)
	numbers := tileaa.NewReshape(b, tileaa.Tile(b.Ctx, number, line...), tileaa.NewIota(b, tileaa.Tile(b.Ctx, number, shape[d])).Result()).Result()
	here := tileaa.NewCmpi(b, tileaa.Tile(b.Ctx, mask, line...), numbers, tileaa.NewSplat(b, tileaa.Tile(b.Ctx, number, line...), i).Result(), def.Signed,
		tileaa.CmpiOptions{Predicate: def.PredEqual}).Result()
	return tileaa.NewBroadcast(b, tileaa.Tile(b.Ctx, mask, shape...), here).Result()
}
