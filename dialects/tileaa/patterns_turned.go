package tileaa

import (
	"slices"

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
	return turnsElementwise(op) && !slices.ContainsFunc(op.Operands(), func(o *ir.Value) bool { return !isTurned(o) })
}

// turnsElementwise reports whether an op does the same to elements wherever they are.
func turnsElementwise(op *ir.Op) bool {
	if !op.Traits().Has(ir.Elementwise) || op.NumResults() != 1 || op.Code() == OpAssume {
		return false
	}
	t := AsTile(op.Result(0))
	return !slices.ContainsFunc(op.Operands(), func(o *ir.Value) bool { return !sameShape(AsTile(o), t) })
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
	return b.Create(ir.State{Def: op.Def, Operands: operands, Groups: slices.Clone(op.Groups()), Types: []ir.Type{to}, Attrs: op.Attrs(), Extra: op.Extra()}).Result(0)
}

// permuted is a tile type with its dimensions permuted.
func permuted(b *ir.Builder, t *TileType, p ir.I32Array) *TileType {
	shape := make([]int64, len(p))
	for i, k := range p {
		shape[i] = t.Shape[k]
	}
	return Tile(b.Ctx, t.Elem, shape...)
}
