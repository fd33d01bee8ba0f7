package tileaa

import (
	"tileiras/ir"
)

// An evaluator computes one element of a result from the elements of the operands, as bits; integers are zero-extended.
// It says false when the value is not defined or not known exactly at compile time.
type evaluator func(op *ir.Op, x []uint64) (uint64, bool)

// An identity is a value that equals the result, found without computing: x + 0 = x.
type identity func(op *ir.Op) *ir.Value

// An attrFold is a constant that equals the result although not all operands are constant: x * 0 = 0.
type attrFold func(op *ir.Op) *ir.DenseAttr

// fold joins what is known about an operation.
//
//	identities first (they keep values), then partial constants, then element by element
func fold(op *ir.Op) []ir.FoldResult {
	if same := identities.Of(op.Code()); same != nil {
		if v := same(op); v != nil && v.Type() == op.Result(0).Type() {
			return []ir.FoldResult{{Value: v}}
		}
	}
	if part := attrFolds.Of(op.Code()); part != nil {
		if a := part(op); a != nil {
			return []ir.FoldResult{{Attr: a}}
		}
	}
	if eval := evaluators.Of(op.Code()); eval != nil {
		if a := evaluate(op, eval); a != nil {
			return []ir.FoldResult{{Attr: a}}
		}
	}
	return nil
}

// evaluate runs an evaluator over all elements of constant operands; splats take one step.
func evaluate(op *ir.Op, eval evaluator) *ir.DenseAttr {
	t := AsTile(op.Result(0))
	if t == nil || ir.DenseElementBytes(t.Elem) == 0 || op.NumOperands() == 0 {
		return nil
	}
	in := make([]*ir.DenseAttr, op.NumOperands())
	splat := true
	for i := range in {
		if in[i] = ConstantOf(op.Operand(i)); in[i] == nil || ir.DenseElementBytes(in[i].Type.(*TileType).Elem) == 0 {
			return nil
		}
		splat = splat && in[i].Splat
	}
	n := t.NumElements()
	if splat {
		n = 1
	} else if n > MaxFold {
		return nil
	}
	x, out := make([]uint64, len(in)), make([]uint64, n)
	for i := range out {
		for k := range in {
			x[k] = ElementBits(in[k], i)
		}
		v, ok := eval(op, x)
		if !ok {
			return nil
		}
		out[i] = v
	}
	return DenseOf(t, out)
}

// EvaluateElement computes an element of the result of a pure operation from those of its operands, as bits; integers are zero-extended. It says
// false where the value is not defined or not known exactly.
func EvaluateElement(op *ir.Op, x []uint64) (bits uint64, ok bool) {
	eval := evaluators.Of(op.Code())
	if eval == nil {
		return 0, false
	}
	bits, ok = eval(op, x)
	if w := elemWidth(op.Result(0)); w > 0 {
		bits = Truncate(bits, w)
	}
	return bits, ok
}

// elemWidth is the width in bits of the elements of a tile value; 0 when it is not a tile of integers or floats.
func elemWidth(v *ir.Value) int {
	if t := AsTile(v); t != nil {
		return ir.BitWidth(t.Elem)
	}
	return 0
}

// SignExtend reads the low w bits as a signed number.
func SignExtend(x uint64, w int) int64 { return int64(x<<(64-w)) >> (64 - w) }

// Truncate keeps the low w bits.
func Truncate(x uint64, w int) uint64 { return x << (64 - w) >> (64 - w) }

// IsSplatOf reports whether every element of a value is this integer constant (compared modulo the width).
func IsSplatOf(v *ir.Value, want int64) bool {
	t := AsTile(v)
	if t == nil || !ir.IsInt(t.Elem) {
		return false
	}
	x, ok := SplatValue(v)
	return ok && x == Truncate(uint64(want), ir.BitWidth(t.Elem))
}

// isFloat reports whether every element of a value has the bits that the format gives a number that it has.
func isFloat(v *ir.Value, want float64) bool {
	t := AsTile(v)
	if t == nil {
		return false
	}
	ft, ok := t.Elem.(*ir.FloatType)
	if !ok {
		return false
	}
	x, ok := SplatValue(v)
	return ok && x == ft.Format.Encode(want, 0)
}
