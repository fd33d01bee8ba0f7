package tileaa

import (
	"math/bits"

	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// ints makes an evaluator of two-operand integer arithmetic modulo 2^w.
func ints(f func(op *ir.Op, w int, x, y uint64) (uint64, bool)) evaluator {
	return func(op *ir.Op, x []uint64) (uint64, bool) {
		w := elemWidth(op.Operand(0))
		v, ok := f(op, w, x[0], x[1])
		return Truncate(v, w), ok
	}
}

// modular makes one that is defined for all operands and needs no attribute.
func modular(f func(x, y uint64) uint64) evaluator {
	return ints(func(_ *ir.Op, _ int, x, y uint64) (uint64, bool) { return f(x, y), true })
}

func signed(op *ir.Op) bool { return SignedOp{op}.Signedness() == def.Signed }

// DivideInts is integer division as divi and remi have it. ok is false where it is undefined: a divisor of 0, and the
// least number by -1.
func DivideInts(w int, x, y uint64, signed bool, rounding def.Rounding) (quo, rem uint64, ok bool) {
	if Truncate(y, w) == 0 {
		return 0, 0, false
	}
	if !signed {
		x, y = Truncate(x, w), Truncate(y, w)
		quo, rem = x/y, x%y
		if rounding == def.RoundPosInf && rem != 0 {
			quo++
		}
		return quo, rem, true
	}
	a, b := SignExtend(x, w), SignExtend(y, w)
	if b == -1 && a == -1<<(w-1) {
		return 0, 0, false
	}
	q, r := a/b, a%b
	exact := q
	switch {
	case r == 0:
	case rounding == def.RoundNegInf && (r < 0) != (b < 0):
		exact--
	case rounding == def.RoundPosInf && (r < 0) == (b < 0):
		exact++
	}
	return Truncate(uint64(exact), w), Truncate(uint64(r), w), true
}

// compareInts is cmpi of one element.
func compareInts(w int, x, y uint64, predicate def.Predicate, signed bool) bool {
	less := x < y
	if signed {
		less = SignExtend(x, w) < SignExtend(y, w)
	}
	return predicate.Holds(less, x == y)
}

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func bigger(op *ir.Op, w int, x, y uint64) bool {
	return compareInts(w, x, y, def.PredGreater, signed(op))
}

func shiftLeft(_ *ir.Op, w int, x, y uint64) (uint64, bool) {
	if y >= uint64(w) {
		return 0, true
	}
	return x << y, true
}

func shiftRight(op *ir.Op, w int, x, y uint64) (uint64, bool) {
	if signed(op) {
		return uint64(SignExtend(x, w) >> min(y, 63)), true
	}
	if y >= uint64(w) {
		return 0, true
	}
	return x >> y, true
}

var evaluators = ir.Table[evaluator]{
	OpAddi & ir.Place: modular(func(x, y uint64) uint64 { return x + y }),
	OpSubi & ir.Place: modular(func(x, y uint64) uint64 { return x - y }),
	OpMuli & ir.Place: modular(func(x, y uint64) uint64 { return x * y }),
	OpAndi & ir.Place: modular(func(x, y uint64) uint64 { return x & y }),
	OpOri & ir.Place:  modular(func(x, y uint64) uint64 { return x | y }),
	OpXori & ir.Place: modular(func(x, y uint64) uint64 { return x ^ y }),
	OpShli & ir.Place: ints(shiftLeft),
	OpShri & ir.Place: ints(shiftRight),
	OpMulhii & ir.Place: ints(func(_ *ir.Op, w int, x, y uint64) (uint64, bool) {
		hi, lo := bits.Mul64(x, y)
		if w == 64 {
			return hi, true
		}
		return lo >> w, true // both factors have w <= 32 bits, so hi is 0
	}),
	OpDivi & ir.Place: ints(func(op *ir.Op, w int, x, y uint64) (uint64, bool) {
		q, _, ok := DivideInts(w, x, y, signed(op), Divi{op}.Rounding())
		return q, ok
	}),
	OpRemi & ir.Place: ints(func(op *ir.Op, w int, x, y uint64) (uint64, bool) {
		_, r, ok := DivideInts(w, x, y, signed(op), def.RoundZero)
		return r, ok
	}),
	OpMaxi & ir.Place: ints(func(op *ir.Op, w int, x, y uint64) (uint64, bool) {
		if bigger(op, w, x, y) {
			return x, true
		}
		return y, true
	}),
	OpMini & ir.Place: ints(func(op *ir.Op, w int, x, y uint64) (uint64, bool) {
		if bigger(op, w, x, y) {
			return y, true
		}
		return x, true
	}),
	OpAbsi & ir.Place: func(op *ir.Op, x []uint64) (uint64, bool) {
		if SignExtend(x[0], elemWidth(op.Operand(0))) < 0 {
			return -x[0], true
		}
		return x[0], true
	},
	OpNegi & ir.Place: func(_ *ir.Op, x []uint64) (uint64, bool) { return -x[0], true },
	OpCmpi & ir.Place: func(op *ir.Op, x []uint64) (uint64, bool) {
		return b2u(compareInts(elemWidth(op.Operand(0)), x[0], x[1], Cmpi{op}.Predicate(), signed(op))), true
	},
	OpExti & ir.Place: func(op *ir.Op, x []uint64) (uint64, bool) {
		if signed(op) {
			return uint64(SignExtend(x[0], elemWidth(op.Operand(0)))), true
		}
		return x[0], true
	},
	OpTrunci & ir.Place: func(_ *ir.Op, x []uint64) (uint64, bool) { return x[0], true },
	OpBitcast & ir.Place: func(op *ir.Op, x []uint64) (uint64, bool) {
		return x[0], elemWidth(op.Operand(0)) == elemWidth(op.Result(0))
	},
	OpSelect & ir.Place: func(_ *ir.Op, x []uint64) (uint64, bool) {
		if x[0] != 0 {
			return x[1], true
		}
		return x[2], true
	},

	OpNegf & ir.Place: func(op *ir.Op, x []uint64) (uint64, bool) { return FloatFormat(op.Operand(0)).Neg(x[0]), true },
	OpAbsf & ir.Place: func(op *ir.Op, x []uint64) (uint64, bool) { return FloatFormat(op.Operand(0)).Abs(x[0]), true },
	OpAddf & ir.Place: floats(func(f *format, x []uint64, r rounding) uint64 { return f.Add(x[0], x[1], r) }),
	OpSubf & ir.Place: floats(func(f *format, x []uint64, r rounding) uint64 { return f.Sub(x[0], x[1], r) }),
	OpMulf & ir.Place: floats(func(f *format, x []uint64, r rounding) uint64 { return f.Mul(x[0], x[1], r) }),
	OpDivf & ir.Place: floats(func(f *format, x []uint64, r rounding) uint64 { return f.Div(x[0], x[1], r) }),
	OpFma & ir.Place:  floats(func(f *format, x []uint64, r rounding) uint64 { return f.FMA(x[0], x[1], x[2], r) }),
	OpSqrt & ir.Place: floats(func(f *format, x []uint64, r rounding) uint64 { return f.Sqrt(x[0], r) }),
	OpMaxf & ir.Place: extremum(true),
	OpMinf & ir.Place: extremum(false),
	OpCmpf & ir.Place: compareFloats,
	OpFtof & ir.Place: convertFloat,
	OpFtoi & ir.Place: floatToInt,
	OpItof & ir.Place: intToFloat,
}

func lhs(op *ir.Op) *ir.Value { return op.Operand(0) }
func rhs(op *ir.Op) *ir.Value { return op.Operand(1) }

// neutral is the identity "the right operand is this integer": x op n = x.
func neutral(n int64) identity {
	return func(op *ir.Op) *ir.Value {
		if IsSplatOf(rhs(op), n) {
			return lhs(op)
		}
		return nil
	}
}

// idempotent is x op x = x, after another identity.
func idempotent(first identity) identity {
	return func(op *ir.Op) *ir.Value {
		if lhs(op) == rhs(op) {
			return lhs(op)
		}
		if first != nil {
			return first(op)
		}
		return nil
	}
}

// twice is op(op(x)) = x.
func twice(op *ir.Op) *ir.Value {
	if inner := op.Operand(0).DefiningOp(); inner != nil && inner.Def == op.Def {
		return inner.Operand(0)
	}
	return nil
}

// unchanged is the source when the result has its type.
func unchanged(op *ir.Op) *ir.Value {
	if op.Operand(0).Type() == op.Result(0).Type() {
		return op.Operand(0)
	}
	return nil
}

var identities = ir.Table[identity]{
	OpAddi & ir.Place: neutral(0),
	OpSubi & ir.Place: neutral(0),
	OpMuli & ir.Place: neutral(1),
	OpDivi & ir.Place: neutral(1),
	OpShli & ir.Place: neutral(0),
	OpShri & ir.Place: neutral(0),
	OpXori & ir.Place: neutral(0),
	OpAndi & ir.Place: idempotent(neutral(-1)),
	OpOri & ir.Place:  idempotent(neutral(0)),
	OpMaxi & ir.Place: idempotent(nil),
	OpMini & ir.Place: idempotent(nil),
	OpNegi & ir.Place: twice,
	OpNegf & ir.Place: twice,
	OpAddf & ir.Place: neutralFloat,
	OpSubf & ir.Place: neutralFloat,
	OpMulf & ir.Place: neutralFloat,
	OpDivf & ir.Place: neutralFloat,
	OpAbsf & ir.Place: absOfAbs,
	OpOffset & ir.Place: func(op *ir.Op) *ir.Value {
		if IsSplatOf(op.Operand(1), 0) {
			return op.Operand(0)
		}
		return nil
	},
	OpSelect & ir.Place: func(op *ir.Op) *ir.Value {
		if op.Operand(1) == op.Operand(2) {
			return op.Operand(1)
		}
		if c, ok := SplatValue(op.Operand(0)); ok {
			if c != 0 {
				return op.Operand(1)
			}
			return op.Operand(2)
		}
		if IsSplatOf(op.Operand(1), 1) && IsSplatOf(op.Operand(2), 0) {
			return op.Operand(0) // of i1; the hook compares the types
		}
		return nil
	},

	OpBitcast & ir.Place:       castBack,
	OpTrunci & ir.Place:        truncOfExt,
	OpFtof & ir.Place:          narrowOfWiden,
	OpPtrCast & ir.Place:       castBack,
	OpIntToPtr & ir.Place:      func(op *ir.Op) *ir.Value { return inverse[PtrToInt](op) },
	OpPtrToInt & ir.Place:      func(op *ir.Op) *ir.Value { return inverse[IntToPtr](op) },
	OpPack & ir.Place:          func(op *ir.Op) *ir.Value { return inverse[Unpack](op) },
	OpUnpack & ir.Place:        func(op *ir.Op) *ir.Value { return inverse[Pack](op) },
	OpSplat & ir.Place:         unchanged,
	OpBroadcast & ir.Place:     unchanged,
	OpExtract & ir.Place:       unchanged, // one slice: its number is 0 or undefined
	OpInsert & ir.Place:        intoItself,
	OpCat & ir.Place:           bothHalves,
	OpConvertLayout & ir.Place: castBack,
	OpReshape & ir.Place:       reshapeIdentity,
	OpPermute & ir.Place:       permuteIdentity,
	OpJoinMemToken & ir.Place:  oneToken,
}

// castBack is the source when it has the result's type, or the source of the same cast of it that has.
func castBack(op *ir.Op) *ir.Value {
	if v := unchanged(op); v != nil {
		return v
	}
	return twice(op)
}

// inverse is the operand of the op that made the source, when it is a T.
func inverse[T ir.Typed](op *ir.Op) *ir.Value {
	if ir.Is[T](op.Operand(0).DefiningOp()) {
		return op.Operand(0).DefiningOp().Operand(0)
	}
	return nil
}

// truncOfExt is trunci(exti x) of the type of x.
func truncOfExt(op *ir.Op) *ir.Value { return inverse[Exti](op) }

// oneToken is a join of one token.
func oneToken(op *ir.Op) *ir.Value {
	if op.NumOperands() == 1 {
		return op.Operand(0)
	}
	return nil
}

// absorbing is x op n = n.
func absorbing(n int64) attrFold {
	return func(op *ir.Op) *ir.DenseAttr {
		if IsSplatOf(rhs(op), n) {
			return SplatOf(AsTile(op.Result(0)), uint64(n))
		}
		return nil
	}
}

// cancels is x op x = 0.
func cancels(op *ir.Op) *ir.DenseAttr {
	if lhs(op) == rhs(op) {
		return SplatOf(AsTile(op.Result(0)), 0)
	}
	return nil
}

var attrFolds = ir.Table[attrFold]{
	OpSubi & ir.Place:   cancels,
	OpXori & ir.Place:   cancels,
	OpMuli & ir.Place:   absorbing(0),
	OpAndi & ir.Place:   absorbing(0),
	OpOri & ir.Place:    absorbing(-1),
	OpMulhii & ir.Place: absorbing(0),
	OpRemi & ir.Place: func(op *ir.Op) *ir.DenseAttr {
		if IsSplatOf(rhs(op), 1) {
			return SplatOf(AsTile(op.Result(0)), 0)
		}
		return nil
	},
	OpCmpi & ir.Place: func(op *ir.Op) *ir.DenseAttr {
		if lhs(op) != rhs(op) {
			return nil
		}
		return SplatOf(AsTile(op.Result(0)), b2u(Cmpi{op}.Predicate().Holds(false, true)))
	},
	OpSplat & ir.Place:         splatOfConstant,
	OpBroadcast & ir.Place:     splatOfConstant,
	OpReshape & ir.Place:       reshapeConstant,
	OpPermute & ir.Place:       permuteConstant,
	OpExtract & ir.Place:       splatOfConstant,
	OpCat & ir.Place:           catConstant,
	OpConvertLayout & ir.Place: reshapeConstant,
	OpAssume & ir.Place:        func(op *ir.Op) *ir.DenseAttr { return ConstantOf(op.Operand(0)) },
	OpIota & ir.Place:          shortIota,
}
