package tileaa

import "tileiras/ir"

// smallPower: x^2 => x * x and x^-1 => 1 / x, which are the nearest floats, and x^1 => x. Zeros, infinities and NaN come out as they do of a power.
func smallPower(b *ir.Builder, op *ir.Op) bool {
	x := op.Operand(0)
	switch t := AsTile(x); {
	case isNumber(op.Operand(1), 2):
		return replace(op, NewMulf(b, x, x, MulfOptions{}).Result())
	case isNumber(op.Operand(1), 1):
		return replace(op, x)
	case isNumber(op.Operand(1), -1):
		one := NewConstant(b, t, SplatOf(t, t.Elem.(*ir.FloatType).Format.Encode(1, 0))).Result()
		return replace(op, NewDivf(b, one, x, DivfOptions{}).Result())
	}
	return false
}

// isNumber reports whether every element of a constant of signed integers or floats is this number.
func isNumber(v *ir.Value, n int64) bool {
	x, ok := SplatInt(v)
	return ok && x == n || isFloat(v, float64(n))
}
