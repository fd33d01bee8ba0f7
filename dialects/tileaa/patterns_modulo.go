package tileaa

import (
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// impliedComparison: x < 0 and x != 0 => x < 0.
func impliedComparison(_ *ir.Builder, op *ir.Op) bool {
	for i := range 2 {
		less, other := op.Operand(i), op.Operand(1-i)
		x, ok := comparedWithZero(less, def.PredLess)
		if y, differs := comparedWithZero(other, def.PredNotEqual); ok && differs && x == y {
			return replace(op, less)
		}
	}
	return false
}

// comparedWithZero is what a value compares with zero by a predicate, as a signed number.
func comparedWithZero(v *ir.Value, p def.Predicate) (x *ir.Value, ok bool) {
	c, ok := ir.DefinedBy[Cmpi](v)
	if !ok || c.Predicate() != p || c.Signedness() != def.Signed || !IsSplatOf(c.Rhs(), 0) {
		return nil, false
	}
	return c.Lhs(), true
}

// floorModulo: frontends write the floored modulo of Python, x % c, as r < 0 ? r + c : r, where r is the remainder of a truncated division. For c = 2^k it becomes a
// mask. For a tile and any other positive constant it becomes x - floor(x / c) * c, whose contiguity passes/facts knows where the quotient is constant, and whose quotient
// CSE often finds.
func floorModulo(b *ir.Builder, op *ir.Op) bool {
	s := Select{op}
	r, ok := ir.DefinedBy[Remi](s.FalseValue())
	if !ok || r.Signedness() != def.Signed {
		return false
	}
	of, negative := comparedWithZero(s.Cond(), def.PredLess)
	sum, ok := ir.DefinedBy[Addi](s.TrueValue())
	if !ok || !negative || of != r.Result() || sum.Lhs() != r.Result() || sum.Rhs() != r.Rhs() {
		return false
	}
	c, ok := SplatInt(r.Rhs())
	if !ok || c <= 0 {
		return false
	}
	x, t := r.Lhs(), AsTile(op.Result(0))
	if c&(c-1) == 0 {
		return replace(op, NewAndi(b, x, Const(b, t, c-1)).Result())
	}
	if !IsRanked(op.Result(0)) {
		return false
	}
	q := NewDivi(b, x, r.Rhs(), def.Signed, def.RoundNegInf).Result()
	return replace(op, NewSubi(b, x, NewMuli(b, q, r.Rhs(), MuliOptions{}).Result(), SubiOptions{}).Result())
}
