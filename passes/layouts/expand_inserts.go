package layouts

import (
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
			here := tileaa.CoordinateMask(b, whole.Shape, d, tileaa.AsTile(i).Elem, def.PredEqual, func(t *tileaa.TileType) *ir.Value { return tileaa.NewSplat(b, t, i).Result() })
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
