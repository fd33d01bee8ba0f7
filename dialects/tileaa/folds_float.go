package tileaa

import (
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/ir/float"
)

type (
	format   = float.Format
	rounding = float.Rounding
)

// FloatFormat is the format of a tile's elements, nil if they are no floats.
func FloatFormat(v *ir.Value) *format {
	if t := AsTile(v); t != nil {
		if f, ok := t.Elem.(*ir.FloatType); ok {
			return f.Format
		}
	}
	return nil
}

// roundingOf is the rounding of an op in terms of ir/float; ok is false for the modes that hardware approximates.
func roundingOf(op *ir.Op) (r rounding, ok bool) {
	rounded, ok := ir.As[RoundedOp](op)
	if !ok {
		return float.NearestEven, true
	}
	switch mode := rounded.Rounding(); mode {
	case def.RoundNearestEven, def.RoundZero, def.RoundNegInf, def.RoundPosInf:
		return rounding(mode), true
	case def.RoundNearestAway:
		return float.NearestAway, true
	}
	return 0, false
}

// flushes reports whether an op flushes subnormal numbers to zero.
func flushes(op *ir.Op) bool {
	f, ok := ir.As[FlushingOp](op)
	return ok && f.FlushToZero()
}

// floats makes an evaluator of correctly rounded arithmetic. It leaves alone what is not fixed to the bit: NaN results,
// approximate modes, and directed rounding of 16-bit formats, which is emulated.
func floats(f func(f *format, x []uint64, r rounding) uint64) evaluator {
	return func(op *ir.Op, x []uint64) (uint64, bool) {
		ft := FloatFormat(op.Operand(0))
		r, ok := roundingOf(op)
		if ft == nil || !ok || ft.Bits() < 32 && r != float.NearestEven {
			return 0, false
		}
		ftz := flushes(op)
		if ftz {
			for i := range x {
				x[i] = ft.FlushSubnormal(x[i])
			}
		}
		v := f(ft, x, r)
		if ftz {
			v = ft.FlushSubnormal(v)
		}
		return v, !ft.IsNaN(v)
	}
}

// lessFloat compares numbers that are not NaN; equal is true for the two zeros.
func lessFloat(f *format, x, y uint64) (less, equal bool) {
	a, b := f.Decode(x), f.Decode(y)
	return a < b, a == b
}

// extremum is maxf or minf: +0 is above -0, and a NaN gives way to a number unless it propagates.
func extremum(max bool) evaluator {
	return func(op *ir.Op, x []uint64) (uint64, bool) {
		f := FloatFormat(op.Operand(0))
		if f == nil {
			return 0, false
		}
		a, b := x[0], x[1]
		if flushes(op) {
			a, b = f.FlushSubnormal(a), f.FlushSubnormal(b)
		}
		if f.IsNaN(a) || f.IsNaN(b) {
			if (NaNOp{op}).PropagateNan() || f.IsNaN(a) && f.IsNaN(b) {
				return 0, false
			}
			if f.IsNaN(a) {
				return b, true
			}
			return a, true
		}
		less, equal := lessFloat(f, a, b)
		if equal {
			less = f.Sign(a) && !f.Sign(b)
		}
		if less == max {
			return b, true
		}
		return a, true
	}
}

func compareFloats(op *ir.Op, x []uint64) (uint64, bool) {
	f := FloatFormat(op.Operand(0))
	if f == nil {
		return 0, false
	}
	if f.IsNaN(x[0]) || f.IsNaN(x[1]) {
		return b2u(Cmpf{op}.Ordering() == def.Unordered), true
	}
	less, equal := lessFloat(f, x[0], x[1])
	return b2u(Cmpf{op}.Predicate().Holds(less, equal)), true
}

func convertFloat(op *ir.Op, x []uint64) (uint64, bool) {
	from, to := FloatFormat(op.Operand(0)), FloatFormat(op.Result(0))
	r, ok := roundingOf(op)
	if from == nil || to == nil || !ok || from.IsNaN(x[0]) {
		return 0, false
	}
	return float.Convert(from, to, x[0], r), true
}

func floatToInt(op *ir.Op, x []uint64) (uint64, bool) {
	from, w := FloatFormat(op.Operand(0)), elemWidth(op.Result(0))
	if from == nil || w == 0 {
		return 0, false
	}
	if w == 1 {
		return b2u(!from.IsZero(x[0])), true
	}
	v, inRange := from.ToInt(x[0], w, signed(op), float.TowardZero)
	return v, inRange || Ftoi{op}.Saturating()
}

func intToFloat(op *ir.Op, x []uint64) (uint64, bool) {
	w, to := elemWidth(op.Operand(0)), FloatFormat(op.Result(0))
	if to == nil || w == 0 {
		return 0, false
	}
	if signed(op) {
		return to.FromInt(SignExtend(x[0], w), float.NearestEven), true
	}
	return to.FromUint(x[0], float.NearestEven), true
}

// neutralFloat is x + -0, x - +0, x * 1 and x / 1, where they change no bit of x that is not a NaN:
//
//	+0 + -0 is -0 when rounding down, and flush_to_zero changes subnormal x
func neutralFloat(op *ir.Op) *ir.Value {
	r, ok := roundingOf(op)
	if !ok || flushes(op) {
		return nil
	}
	y, yes := op.Operand(1), false
	switch op.Code() {
	case OpAddf:
		yes = isFloat(y, negativeZero) && r != float.TowardNegative
	case OpSubf:
		yes = isFloat(y, 0) && r != float.TowardNegative
	default:
		yes = isFloat(y, 1)
	}
	if yes {
		return op.Operand(0)
	}
	return nil
}

// absOfAbs is absf(absf x).
func absOfAbs(op *ir.Op) *ir.Value {
	if _, ok := ir.DefinedBy[Absf](op.Operand(0)); ok {
		return op.Operand(0)
	}
	return nil
}

// narrowOfWiden is ftof(ftof x) back to the format of x when the format in between holds all of it.
func narrowOfWiden(op *ir.Op) *ir.Value {
	inner, ok := ir.DefinedBy[Ftof](op.Operand(0))
	if !ok {
		return nil
	}
	from, mid := FloatFormat(inner.Source()), FloatFormat(inner.Result())
	if from == nil || from.Bits() < 16 || mid == nil { // 8-bit formats turn NaN into a number
		return nil
	}
	if mid.Holds(from) {
		return inner.Source()
	}
	return nil
}
