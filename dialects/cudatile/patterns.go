package cudatile

import (
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
)

// A pattern rewrites an op where the builder stands, right before it. It may change the op, or replace and erase it, and
// make ops before it. Of other ops it erases no more than the one before it and all that are after it in the block. It
// returns whether it did anything.
type pattern = func(b *ir.Builder, op *ir.Op) bool

// patterns are the rewrites of canonicalization on cuda_tile, by the code of the op, tried in their order: what NVIDIA's cuda-tile-opt
// does (README and tests of NVIDIA/cuda-tile 13.3), and no more, so that texts compare. The compiler itself does not need
// them: it converts to TileAA first, which has its own.
var patterns = ir.Table[[]pattern]{
	OpAddf & ir.Place:   {ProductLeft},
	OpAssume & ir.Place: {assumedBefore},
	OpSelect & ir.Place: {equalValues, constantCondition, conditionItself, comparedValues, invertedSelect, repeatedSelect,
		invertedCondition, constantSelect, extendedCondition},
	OpIf & ir.Place: {invertedIf, unusedResults, knownResults, constantIf, selectedResults, emptyElse, repeatedIf, nestedIf,
		bothJump},
}

// Simplify applies the first pattern of an op that does anything.
func Simplify(b *ir.Builder, op *ir.Op) bool {
	for _, p := range patterns.Of(op.Code()) {
		if p(b, op) {
			return true
		}
	}
	return false
}

// ProductLeft: x + a*b => a*b + x, unless both are products. That is where fuse-fma looks for it.
func ProductLeft(_ *ir.Builder, op *ir.Op) bool {
	l, r := op.Operand(0), op.Operand(1)
	if ir.Is[Mulf](l.DefiningOp()) || !ir.Is[Mulf](r.DefiningOp()) {
		return false
	}
	op.SetOperand(0, r)
	op.SetOperand(1, l)
	return true
}

// assumedBefore: what is assumed already is not assumed again.
func assumedBefore(_ *ir.Builder, op *ir.Op) bool {
	in, ok := ir.DefinedBy[Assume](Assume{op}.Value())
	return ok && ir.AttrEqual(in.Predicate(), Assume{op}.Predicate()) && replace(op, in.Result())
}

// equalValues: select c, x, x => x.
func equalValues(_ *ir.Builder, op *ir.Op) bool {
	return op.Operand(1) == op.Operand(2) && replace(op, op.Operand(1))
}

// constantCondition: select true, x, y => x.
func constantCondition(_ *ir.Builder, op *ir.Op) bool {
	c, ok := boolOf(op.Operand(0))
	if !ok {
		return false
	}
	if c {
		return replace(op, op.Operand(1))
	}
	return replace(op, op.Operand(2))
}

// conditionItself: select c, true, false => c.
func conditionItself(_ *ir.Builder, op *ir.Op) bool {
	return areBools(op.Operand(1), op.Operand(2), true) && replace(op, op.Operand(0))
}

// comparedValues: select (x == y), x, y => y and select (x != y), x, y => x.
func comparedValues(_ *ir.Builder, op *ir.Op) bool {
	t, f := op.Operand(1), op.Operand(2)
	cmp, ok := ir.DefinedBy[Cmpi](op.Operand(0))
	if !ok {
		return false
	}
	if l, r := cmp.Lhs(), cmp.Rhs(); (l != t || r != f) && (l != f || r != t) {
		return false
	}
	switch cmp.ComparisonPredicate() {
	case def.PredEqual:
		return replace(op, f)
	case def.PredNotEqual:
		return replace(op, t)
	}
	return false
}

// invertedSelect: select (not c), x, y => select c, y, x.
func invertedSelect(_ *ir.Builder, op *ir.Op) bool {
	c := inverted(op.Operand(0))
	if c == nil {
		return false
	}
	op.SetOperands([]*ir.Value{c, op.Operand(2), op.Operand(1)}, op.Groups())
	return true
}

// repeatedSelect: select c, (select c, x, _), y => select c, x, y, and the same on the other side.
func repeatedSelect(_ *ir.Builder, op *ir.Op) bool {
	for i := 1; i <= 2; i++ {
		if in, ok := ir.DefinedBy[Select](op.Operand(i)); ok && in.Cond() == op.Operand(0) {
			op.SetOperand(i, in.Op.Operand(i))
			return true
		}
	}
	return false
}

// invertedCondition: select c, false, true => not c.
func invertedCondition(b *ir.Builder, op *ir.Op) bool {
	return areBools(op.Operand(1), op.Operand(2), false) && replace(op, not(b, op.Operand(0)))
}

// constantSelect computes a select of constants.
func constantSelect(b *ir.Builder, op *ir.Op) bool {
	c, t, f := constantOf(op.Operand(0)), constantOf(op.Operand(1)), constantOf(op.Operand(2))
	if c == nil || t == nil || f == nil {
		return false
	}
	typ := op.Result(0).Type().(*TileType)
	size := ir.DenseElementBytes(typ.Elem)
	value := &ir.DenseAttr{Type: typ, Data: make([]byte, 0, int(typ.NumElements())*size)}
	for i := 0; i < int(typ.NumElements()); i++ {
		from := t
		if element(c, i, 1)[0] == 0 {
			from = f
		}
		value.Data = append(value.Data, element(from, i, size)...)
	}
	return replace(op, materialize(b, b.Loc, value, typ).Result(0))
}

// extendedCondition: for integers wider than i1, select c, 1, 0 => exti c, and select c, 0, 1 => exti (not c).
func extendedCondition(b *ir.Builder, op *ir.Op) bool {
	typ := op.Result(0).Type().(*TileType)
	t, ok := SplatOf(op.Operand(1))
	f, yes := SplatOf(op.Operand(2))
	if !ok || !yes || !ir.IsInt(typ.Elem) || ir.IsInt(typ.Elem, 1) || t > 1 || f != 1-t {
		return false
	}
	c := op.Operand(0)
	if t == 0 {
		c = not(b, c)
	}
	return replace(op, NewExti(b, typ, c, def.Unsigned).To())
}
