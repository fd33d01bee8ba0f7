package tileaa

import (
	"slices"

	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// truncOfWide: what was extended, computed and truncated again is computed as narrow as it was, where the bits that go decide none of those
// that stay. (Triton's backend for Tile IR computes all of i1 and i8 in i16.)
//
//	trunci (andi (exti x), (exti y)) => andi x, y        trunci (shri (exti x), 4) => shri x, 4
func truncOfWide(b *ir.Builder, op *ir.Op) bool {
	in, t := op.Operand(0).DefiningOp(), AsTile(op.Result(0))
	if in == nil || t.Layout != nil || !op.Operand(0).HasOneUse() || !staysNarrow(in, elemWidth(op.Result(0))) {
		return false
	}
	operands := make([]*ir.Value, in.NumOperands())
	for i, v := range in.Operands() {
		operands[i] = NewTrunci(b, AsTile(v).WithElem(b.Ctx, t.Elem), v, TrunciOptions{}).Result()
	}
	narrow := ir.State{Def: in.Def, Operands: operands, Types: []ir.Type{t}}
	if ir.Is[SignedOp](in) {
		narrow.Attrs = in.Attrs() // what else has attributes says that it does not wrap, as wide as it was
	}
	return replace(op, b.Create(narrow).Result(0))
}

// staysNarrow reports whether the low w bits of a result follow from those of the operands, which were extended from as many or are constant.
func staysNarrow(op *ir.Op, w int) bool {
	extended := func(v *ir.Value) bool {
		x, ok := repeatedExti(v)
		return ok && elemWidth(x.Source()) <= w
	}
	alike := func(v *ir.Value) bool { // as the operation reads the sign
		x, ok := repeatedExti(v)
		return ok && elemWidth(x.Source()) == w && x.Signedness() == SignedOp{op}.Signedness()
	}
	switch op.Code() {
	case OpAndi, OpOri, OpXori, OpAddi, OpSubi, OpMuli:
		return slices.ContainsFunc(op.Operands(), extended) && !slices.ContainsFunc(op.Operands(), func(v *ir.Value) bool { return !extended(v) && !isConstant(v) })
	case OpMaxi, OpMini:
		return alike(op.Operand(0)) && alike(op.Operand(1))
	case OpShli, OpShri:
		n, ok := SplatInt(op.Operand(1))
		return ok && n >= 0 && n < int64(w) && (op.Code() == OpShli && extended(op.Operand(0)) || op.Code() == OpShri && alike(op.Operand(0)))
	}
	return false
}

// repeatedExti is the extension that makes a value, or the tile that the value repeats.
func repeatedExti(v *ir.Value) (Exti, bool) {
	for op := v.DefiningOp(); op != nil && (op.Code() == OpBroadcast || op.Code() == OpSplat); op = v.DefiningOp() {
		v = op.Operand(0)
	}
	return ir.DefinedBy[Exti](v)
}

// compareExtended: numbers compare as they did before both were extended, if they were as the comparison reads the sign; to be equal it does not matter how.
func compareExtended(b *ir.Builder, op *ir.Op) bool {
	c := Cmpi{op}
	x, ok := ir.DefinedBy[Exti](c.Lhs())
	if !ok || x.Signedness() != c.Signedness() && c.Predicate() != def.PredEqual && c.Predicate() != def.PredNotEqual {
		return false
	}
	rhs := c.Rhs()
	if y, ok := ir.DefinedBy[Exti](rhs); ok && y.Source().Type() == x.Source().Type() && y.Signedness() == x.Signedness() {
		rhs = y.Source()
	} else if n, ok := SplatInt(rhs); ok && fits(n, elemWidth(x.Source()), elemWidth(rhs), x.Signedness()) {
		rhs = NewTrunci(b, x.Source().Type().(*TileType), rhs, TrunciOptions{}).Result()
	} else {
		return false
	}
	return replace(op, NewCmpi(b, op.Result(0).Type(), x.Source(), rhs, c.Signedness(), CmpiOptions{Predicate: c.Predicate()}).Result())
}

// fits reports whether a number of wide bits is one of narrow bits that was extended.
func fits(n int64, narrow, wide int, s def.Signedness) bool {
	if s == def.Signed {
		return SignExtend(uint64(n), wide) == SignExtend(uint64(n), narrow)
	}
	return Truncate(uint64(n), wide) == Truncate(uint64(n), narrow)
}
