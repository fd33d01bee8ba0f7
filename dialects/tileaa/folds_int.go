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
		return truncate(v, w), ok
	}
}

// wraps makes one that is defined for all operands and needs no attribute.
func wraps(f func(x, y uint64) uint64) evaluator {
	return ints(func(_ *ir.Op, _ int, x, y uint64) (uint64, bool) { return f(x, y), true })
}

func signed(op *ir.Op) bool { return op.EnumNamed("signedness") == def.Signed }

// DivideInts is integer division as divi and remi have it. ok is false where it is undefined: a divisor of 0, and the
// least number by -1.
func DivideInts(w int, x, y uint64, signed bool, rounding uint32) (quo, rem uint64, ok bool) {
	if truncate(y, w) == 0 {
		return 0, 0, false
	}
	if !signed {
		x, y = truncate(x, w), truncate(y, w)
		quo, rem = x/y, x%y
		if rounding == def.RoundPosInf && rem != 0 {
			quo++
		}
		return quo, rem, true
	}
	a, b := signExtend(x, w), signExtend(y, w)
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
	return truncate(uint64(exact), w), truncate(uint64(r), w), true
}

// CompareInts is cmpi of one element.
func CompareInts(w int, x, y uint64, predicate uint32, signed bool) bool {
	less := x < y
	if signed {
		less = signExtend(x, w) < signExtend(y, w)
	}
	return ordered(predicate, less, x == y)
}

// ordered reads a predicate off "less" and "equal".
func ordered(predicate uint32, less, equal bool) bool {
	switch predicate {
	case def.PredEqual:
		return equal
	case def.PredNotEqual:
		return !equal
	case def.PredLess:
		return less
	case def.PredLessEqual:
		return less || equal
	case def.PredGreater:
		return !less && !equal
	}
	return !less
}

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func bigger(op *ir.Op, w int, x, y uint64) bool {
	return CompareInts(w, x, y, def.PredGreater, signed(op))
}

func shiftLeft(_ *ir.Op, w int, x, y uint64) (uint64, bool) {
	if y >= uint64(w) {
		return 0, true
	}
	return x << y, true
}

func shiftRight(op *ir.Op, w int, x, y uint64) (uint64, bool) {
	if signed(op) {
		return uint64(signExtend(x, w) >> min(y, 63)), true
	}
	if y >= uint64(w) {
		return 0, true
	}
	return x >> y, true
}

var evaluators = map[string]evaluator{
	"addi": wraps(func(x, y uint64) uint64 { return x + y }),
	"subi": wraps(func(x, y uint64) uint64 { return x - y }),
	"muli": wraps(func(x, y uint64) uint64 { return x * y }),
	"andi": wraps(func(x, y uint64) uint64 { return x & y }),
	"ori":  wraps(func(x, y uint64) uint64 { return x | y }),
	"xori": wraps(func(x, y uint64) uint64 { return x ^ y }),
	"shli": ints(shiftLeft),
	"shri": ints(shiftRight),
	"mulhii": ints(func(_ *ir.Op, w int, x, y uint64) (uint64, bool) {
		hi, lo := bits.Mul64(x, y)
		if w == 64 {
			return hi, true
		}
		return lo >> w, true // both factors have w <= 32 bits, so hi is 0
	}),
	"divi": ints(func(op *ir.Op, w int, x, y uint64) (uint64, bool) {
		q, _, ok := DivideInts(w, x, y, signed(op), op.EnumNamed("rounding"))
		return q, ok
	}),
	"remi": ints(func(op *ir.Op, w int, x, y uint64) (uint64, bool) {
		_, r, ok := DivideInts(w, x, y, signed(op), def.RoundZero)
		return r, ok
	}),
	"maxi": ints(func(op *ir.Op, w int, x, y uint64) (uint64, bool) {
		if bigger(op, w, x, y) {
			return x, true
		}
		return y, true
	}),
	"mini": ints(func(op *ir.Op, w int, x, y uint64) (uint64, bool) {
		if bigger(op, w, x, y) {
			return y, true
		}
		return x, true
	}),
	"absi": func(op *ir.Op, x []uint64) (uint64, bool) {
		if signExtend(x[0], elemWidth(op.Operand(0))) < 0 {
			return -x[0], true
		}
		return x[0], true
	},
	"negi": func(_ *ir.Op, x []uint64) (uint64, bool) { return -x[0], true },
	"cmpi": func(op *ir.Op, x []uint64) (uint64, bool) {
		return b2u(CompareInts(elemWidth(op.Operand(0)), x[0], x[1], op.EnumNamed("predicate"), signed(op))), true
	},
	"exti": func(op *ir.Op, x []uint64) (uint64, bool) {
		if signed(op) {
			return uint64(signExtend(x[0], elemWidth(op.Operand(0)))), true
		}
		return x[0], true
	},
	"trunci": func(_ *ir.Op, x []uint64) (uint64, bool) { return x[0], true },
	"bitcast": func(op *ir.Op, x []uint64) (uint64, bool) {
		return x[0], elemWidth(op.Operand(0)) == elemWidth(op.Result(0))
	},
	"select": func(_ *ir.Op, x []uint64) (uint64, bool) {
		if x[0] != 0 {
			return x[1], true
		}
		return x[2], true
	},

	"negf": func(op *ir.Op, x []uint64) (uint64, bool) { return floatFormat(op.Operand(0)).Neg(x[0]), true },
	"absf": func(op *ir.Op, x []uint64) (uint64, bool) { return floatFormat(op.Operand(0)).Abs(x[0]), true },
	"addf": floats(func(f *format, x []uint64, r rounding) uint64 { return f.Add(x[0], x[1], r) }),
	"subf": floats(func(f *format, x []uint64, r rounding) uint64 { return f.Sub(x[0], x[1], r) }),
	"mulf": floats(func(f *format, x []uint64, r rounding) uint64 { return f.Mul(x[0], x[1], r) }),
	"divf": floats(func(f *format, x []uint64, r rounding) uint64 { return f.Div(x[0], x[1], r) }),
	"fma":  floats(func(f *format, x []uint64, r rounding) uint64 { return f.FMA(x[0], x[1], x[2], r) }),
	"sqrt": floats(func(f *format, x []uint64, r rounding) uint64 { return f.Sqrt(x[0], r) }),
	"maxf": extremum(true),
	"minf": extremum(false),
	"cmpf": compareFloats,
	"ftof": convertFloat,
	"ftoi": floatToInt,
	"itof": intToFloat,
}

func lhs(op *ir.Op) *ir.Value { return op.Operand(0) }
func rhs(op *ir.Op) *ir.Value { return op.Operand(1) }

// neutral is the identity "the right operand is this integer": x op n = x.
func neutral(n int64) identity {
	return func(op *ir.Op) *ir.Value {
		if isInt(rhs(op), n) {
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

var identities = map[string]identity{
	"addi": neutral(0),
	"subi": neutral(0),
	"muli": neutral(1),
	"divi": neutral(1),
	"shli": neutral(0),
	"shri": neutral(0),
	"xori": neutral(0),
	"andi": idempotent(neutral(-1)),
	"ori":  idempotent(neutral(0)),
	"maxi": idempotent(nil),
	"mini": idempotent(nil),
	"negi": twice,
	"negf": twice,
	"addf": neutralFloat,
	"subf": neutralFloat,
	"mulf": neutralFloat,
	"divf": neutralFloat,
	"absf": absOfAbs,
	"offset": func(op *ir.Op) *ir.Value {
		if isInt(op.Operand(1), 0) {
			return op.Operand(0)
		}
		return nil
	},
	"select": func(op *ir.Op) *ir.Value {
		if op.Operand(1) == op.Operand(2) {
			return op.Operand(1)
		}
		if c, ok := SplatValue(op.Operand(0)); ok {
			if c != 0 {
				return op.Operand(1)
			}
			return op.Operand(2)
		}
		if isInt(op.Operand(1), 1) && isInt(op.Operand(2), 0) {
			return op.Operand(0) // of i1; the hook compares the types
		}
		return nil
	},

	"bitcast":        castBack,
	"trunci":         truncOfExt,
	"ftof":           narrowOfWiden,
	"ptr_cast":       castBack,
	"int_to_ptr":     func(op *ir.Op) *ir.Value { return inverse(op, "ptr_to_int") },
	"ptr_to_int":     func(op *ir.Op) *ir.Value { return inverse(op, "int_to_ptr") },
	"pack":           func(op *ir.Op) *ir.Value { return inverse(op, "unpack") },
	"unpack":         func(op *ir.Op) *ir.Value { return inverse(op, "pack") },
	"splat":          unchanged,
	"broadcast":      unchanged,
	"pad":            unchanged,
	"extract":        unchanged, // one slice: its number is 0 or undefined
	"insert":         unchanged,
	"convert_layout": castBack,
	"reshape":        reshapeIdentity,
	"permute":        permuteIdentity,
	"join_mem_token": oneToken,
}

// castBack is the source when it has the result's type, or the source of the same cast of it that has.
func castBack(op *ir.Op) *ir.Value {
	if v := unchanged(op); v != nil {
		return v
	}
	return twice(op)
}

// inverse is the operand of the op of this name that made the source.
func inverse(op *ir.Op, name string) *ir.Value {
	if in, ok := IsOp(op.Operand(0), name); ok {
		return in.Operand(0)
	}
	return nil
}

// truncOfExt is trunci(exti x) of the type of x.
func truncOfExt(op *ir.Op) *ir.Value { return inverse(op, "exti") }

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
		if isInt(rhs(op), n) {
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

var attrFolds = map[string]attrFold{
	"subi":   cancels,
	"xori":   cancels,
	"muli":   absorbing(0),
	"andi":   absorbing(0),
	"ori":    absorbing(-1),
	"mulhii": absorbing(0),
	"remi": func(op *ir.Op) *ir.DenseAttr {
		if isInt(rhs(op), 1) {
			return SplatOf(AsTile(op.Result(0)), 0)
		}
		return nil
	},
	"cmpi": func(op *ir.Op) *ir.DenseAttr {
		if lhs(op) != rhs(op) {
			return nil
		}
		return SplatOf(AsTile(op.Result(0)), b2u(ordered(op.EnumNamed("predicate"), false, true)))
	},
	"splat":          splatOfConstant,
	"broadcast":      splatOfConstant,
	"reshape":        reshapeConstant,
	"permute":        permuteConstant,
	"extract":        splatOfConstant,
	"pad":            padConstant,
	"cat":            catConstant,
	"convert_layout": reshapeConstant,
	"assume":         func(op *ir.Op) *ir.DenseAttr { return ConstantOf(op.Operand(0)) },
	"iota":           shortIota,
}
