package tileaa

import (
	"slices"

	"tileiras/codegen/layout"
	"tileiras/ir"
)

// turnedBack: what is computed of turned tiles, which is turned back, is computed of the tiles.
//
//	%d = dot (permute %y), (permute %x), (permute %acc)
//	%e = mulf %d, (splat %s)
//	permute %e                                               =>      mulf (dot %x, %y, %acc), (splat %s)
//
// Of a product, where its sums are not turned but equal, one factor is enough.
func turnedBack(b *ir.Builder, op *ir.Op) bool {
	if p := permutation(op); AsTile(op.Result(0)).Layout != nil || !turns(p) || IsSplat(op.Operand(0)) || !isTurned(op.Operand(0)) {
		return false
	}
	return replace(op, turnBack(b, op.Operand(0), permutation(op)))
}

// turns reports whether a permutation exchanges the last two dimensions.
func turns(p ir.I32Array) bool {
	return slices.Equal(p, ir.I32Array{1, 0}) || slices.Equal(p, ir.I32Array{0, 2, 1})
}

// isTurned reports whether a value is one that takes no permutation to turn back.
func isTurned(v *ir.Value) bool {
	op := v.DefiningOp()
	switch {
	case IsSplat(v):
		return true
	case op == nil:
		return false
	case op.Code() == OpPermute:
		return turns(permutation(op))
	case !v.HasOneUse():
		return false
	case op.Code() == OpDot:
		d := Dot{op}
		return isTurned(d.Acc()) && (!IsSplat(d.Acc()) || ir.Is[Permute](d.Lhs().DefiningOp()) || ir.Is[Permute](d.Rhs().DefiningOp()))
	}
	straight := func(o *ir.Value) bool { return !sameShape(AsTile(o), AsTile(v)) || !isTurned(o) }
	return computesElements(op) && !slices.ContainsFunc(op.Operands(), straight)
}

// turnBack is a value of which isTurned is true with its last two dimensions exchanged.
func turnBack(b *ir.Builder, v *ir.Value, p ir.I32Array) *ir.Value {
	op, to := v.DefiningOp(), permuted(b, AsTile(v), p)
	switch {
	case IsSplat(v) || op.Code() == OpPermute:
		return NewPermute(b, to, v, p).Result()
	case op.Code() == OpDot:
		turn := func(v *ir.Value) *ir.Value {
			if v == nil {
				return nil
			}
			return NewPermute(b, permuted(b, AsTile(v), p), v, p).Result()
		}
		d := Dot{op}
		return NewDot(b, to, turn(d.Rhs()), turn(d.Lhs()), turnBack(b, d.Acc(), p), d.SignednessRhs(), d.SignednessLhs(),
			DotOptions{LhsScale: turn(d.RhsScale()), RhsScale: turn(d.LhsScale()), FastAcc: d.FastAcc()}).Result()
	}
	operands := op.Operands()
	for i, o := range operands {
		operands[i] = turnBack(b, o, p)
	}
	return sameWith(b, op, to, operands)
}

// permuted is a tile type with its dimensions permuted.
func permuted(b *ir.Builder, t *TileType, p ir.I32Array) *TileType {
	return Tile(b.Ctx, t.Elem, Permuted(t.Shape, p)...)
}

// loadedTurned: a tile of an array with its dimensions exchanged that is permuted back is a tile of the array.
//
//	tiled_load (block_tile %m, indices(%j, %i) {dim_map = [1, 0]})
//	permute .. {permutation = [1, 0]}                                  =>      tiled_load (block_tile %m, indices(%i, %j) {dim_map = [0, 1]})
func loadedTurned(b *ir.Builder, op *ir.Op) bool {
	load, ok := ir.DefinedBy[TiledLoad](op.Operand(0))
	if !ok || !load.Result().HasOneUse() || AsTile(op.Result(0)).Layout != nil {
		return false
	}
	block, ok := straightBlock(b, load.Op, PermutationOf(op))
	if ok {
		load.SetBlock(block)
		load.Result().SetType(op.Result(0).Type())
		replace(op, load.Result())
	}
	return ok
}

// storedTurned: a tile that is permuted for an array with its dimensions exchanged is stored as it is.
func storedTurned(b *ir.Builder, op *ir.Op) bool {
	store := TiledStore{op}
	turn, ok := ir.DefinedBy[Permute](store.Value())
	if !ok || AsTile(store.Value()).Layout != nil {
		return false
	}
	block, ok := straightBlock(b, op, layout.Inverse(PermutationOf(turn.Op)))
	if ok {
		store.SetBlock(block)
		store.SetValue(turn.Source())
	}
	return ok
}

// straightBlock is the block of an access with dimension p[i] for dimension i, before the access, if so it has those of the array in their order.
func straightBlock(b *ir.Builder, access *ir.Op, p []int) (v *ir.Value, ok bool) {
	old, ok := BlockOf(access)
	if !ok {
		return nil, false
	}
	if _, sparse := old.SparseDim(); sparse {
		return nil, false
	}
	for i, k := range p {
		if int(old.DimMap()[k]) != i {
			return nil, false
		}
	}
	o := old.Options()
	o.Inbounds, o.Anywhere = Permuted(o.Inbounds, p), Permuted(o.Anywhere, p)
	t := old.Result().Type().(*BlockType)
	b.Before(access).Loc = old.Op.Loc()
	return NewBlockTile(b, Block(b.Ctx, t.Elem, Permuted(t.Shape, p)...), old.Memref(), Permuted(old.Indices(), p),
		Permuted(old.Traversal(), p), Permuted(old.DimMap(), p), o).Result(), true
}
