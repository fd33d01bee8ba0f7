package plan

import (
	"slices"

	"tileiras/codegen/atom"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/ir/float"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// PairElements makes bytes of elements of 4 bits where two share one: in memory, and in products with scales of f4E2M1FN, of which two neighbours along K
// are a byte of an instruction, where the GPU has such an instruction. What memory has as bytes, or the program unpacks, is packed again for a
// product; canonicalize finds that nothing is left to do then, so that bytes are copied and read as those of any product.
//
//	%a = unpack %x : 2048xi8 -> 4096xf4         %a' = reshape %x : 64x32xi8
//	%b = reshape %a : 64x64xf4             =>
//	dot %b, .., lhs_scale(..), ..               dot %a', .., lhs_scale(..), ..
func PairElements(s *pass.State) error {
	for _, entry := range s.Entries() {
		pairMemory(s, entry)
		s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
			if !tileaa.IsScaled(op) || !pairs(s, op) {
				return
			}
			d := ir.Cast[tileaa.Dot](op)
			b := ir.NewBuilder(s.Ctx).Before(op)
			b.Loc = op.Loc()
			rank := len(tileaa.AsTile(d.Lhs()).Shape)
			d.SetLhs(paired(b, d.Lhs(), rank-1))
			d.SetRhs(paired(b, d.Rhs(), rank-2))
		})
	}
	return nil
}

// pairs reports whether an instruction takes a product as pairs of elements.
func pairs(s *pass.State, op *ir.Op) bool {
	types, e := kernel.OperandTypes(op)[0], kernel.ExtentOf(op)
	if types.A != atom.F4 {
		return false
	}
	n := atom.F4x2.Packed()
	types.A, types.B, types.Scale.Block, e.K = atom.F4x2, atom.F4x2, types.Scale.Block/n, e.K/n
	for _, warps := range []int{1, kernel.UnitWarps} {
		if _, ok := kernel.AtomOf(s, types, e, warps, nil); ok {
			return true
		}
	}
	return false
}

// paired is a tile of f4E2M1FN as bytes of two neighbours along dimension k.
func paired(b *ir.Builder, v *ir.Value, k int) *ir.Value {
	return alongLast(b, v, k, func(v *ir.Value) *ir.Value {
		t := tileaa.AsTile(v)
		shape := slices.Clone(t.Shape)
		shape[len(shape)-1] /= 2
		return repacked(b, v, b.Ctx.Int(8), shape, func(to *tileaa.TileType, v *ir.Value) *ir.Value { return tileaa.NewPack(b, to, v).Result() })
	})
}

// single is the inverse of paired.
func single(b *ir.Builder, v *ir.Value, k int) *ir.Value {
	return alongLast(b, v, k, func(v *ir.Value) *ir.Value {
		t := tileaa.AsTile(v)
		shape := slices.Clone(t.Shape)
		shape[len(shape)-1] *= 2
		return repacked(b, v, b.Ctx.Float(float.F4E2M1FN), shape, func(to *tileaa.TileType, v *ir.Value) *ir.Value { return tileaa.NewUnpack(b, to, v).Result() })
	})
}

// repacked brings a tile through rank 1, where elements change their size, to another shape.
func repacked(b *ir.Builder, v *ir.Value, elem ir.Type, shape []int64, pack func(to *tileaa.TileType, v *ir.Value) *ir.Value) *ir.Value {
	from, to := tileaa.AsTile(v), tileaa.Tile(b.Ctx, elem, shape...)
	v = tileaa.NewReshape(b, tileaa.Tile(b.Ctx, from.Elem, from.NumElements()), v).Result()
	v = pack(tileaa.Tile(b.Ctx, elem, to.NumElements()), v)
	return tileaa.NewReshape(b, to, v).Result()
}

// alongLast does something to a tile with dimension k as the last one.
func alongLast(b *ir.Builder, v *ir.Value, k int, do func(v *ir.Value) *ir.Value) *ir.Value {
	turned := func(v *ir.Value) *ir.Value {
		t := tileaa.AsTile(v)
		last := len(t.Shape) - 1
		if k == last {
			return v
		}
		order, shape := make(ir.I32Array, len(t.Shape)), slices.Clone(t.Shape)
		for i := range order {
			order[i] = int32(i)
		}
		order[k], order[last] = order[last], order[k]
		shape[k], shape[last] = shape[last], shape[k]
		return tileaa.NewPermute(b, tileaa.Tile(b.Ctx, t.Elem, shape...), v, order).Result()
	}
	return turned(do(turned(v)))
}
