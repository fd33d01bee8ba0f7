package cudatile

import (
	"slices"
	"strings"

	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
	"tileiras/ir/float"
)

var (
	ieeeRounding = []def.Rounding{def.RoundNearestEven, def.RoundZero, def.RoundNegInf, def.RoundPosInf}
	divRounding  = append(slices.Clone(ieeeRounding), def.RoundApprox, def.RoundFull)
	sqrtRounding = append(slices.Clone(ieeeRounding), def.RoundApprox)
	expRounding  = []def.Rounding{def.RoundApprox, def.RoundFull}
	approx       = []def.Rounding{def.RoundApprox}
)

// roundings are the roundings that the form of an op names when another word is there, and those that only f32 has. A strict form
// refuses those of other ops too, which else the verifier does.
var roundings = map[ir.Code]struct {
	modes, f32Only []def.Rounding
	strict         bool
}{
	OpAddf: {ieeeRounding, nil, true}, OpSubf: {ieeeRounding, nil, true}, OpMulf: {ieeeRounding, nil, true}, OpFma: {ieeeRounding, nil, true},
	OpDivf: {divRounding, expRounding, false}, OpSqrt: {sqrtRounding, approx, false},
	OpExp: {expRounding, approx, false}, OpTanh: {expRounding, approx, false},
	OpFtof: {append(slices.Clone(ieeeRounding), def.RoundNearestAway), nil, true},
	OpItof: {ieeeRounding, nil, true}, OpFtoi: {[]def.Rounding{def.RoundNearestIntToZero}, nil, true},
}

// floatRules are those of float arithmetic, for each row that may flush, and for those that round and have no rule of their own.
func floatRules() {
	for _, row := range Dialect.Ops {
		rounds := RoundedOp{}.Matches(row.Code)
		if _, known := roundings[row.Code]; known != rounds {
			panic("BUG: roundings does not say how " + row.Name + " rounds, or it does not round")
		}
		if (FlushingOp{}).Matches(row.Code) || rounds && row.Hooks.Verify == nil {
			rule(verifyFloat, row.Code)
		}
	}
}

// verifyFloat checks the rounding, and what is for f32 only.
func verifyFloat(c *ir.Context, op *ir.Op) bool {
	t, known := elem(op.Result(0)), roundings[op.Code()]
	rounded, rounds := ir.As[RoundedOp](op)
	if rounds && !slices.Contains(known.modes, rounded.RoundingMode()) {
		return c.Error(op, "invalid rounding mode specified, expect one of [%s]", keywords(&def.RoundingEnum, known.modes))
	}
	if ir.IsFloat(t, float.F32) {
		return true
	}
	if f, ok := ir.As[FlushingOp](op); ok && f.FlushToZero() {
		return c.Error(op, "flush_to_zero modifier only supported for f32 data type, but got: %s", quoted(t))
	}
	if rounds && slices.Contains(known.f32Only, rounded.RoundingMode()) {
		return c.Error(op, "%s modifier only supported for f32 data type, but got: %s", def.RoundingEnum.Keyword(rounded.RoundingMode()), quoted(t))
	}
	return true
}

func integerRules() {
	rule(func(c *ir.Context, op *ir.Op) bool {
		if (OverflowOp{op}).Overflow() == def.NoUnsignedWrap {
			return c.Error(op, "'no_unsigned_wrap' overflow flag is not supported")
		}
		return true
	}, OpNegi)
	rule(func(c *ir.Context, op *ir.Op) bool {
		allowed := []def.Rounding{def.RoundZero, def.RoundNegInf, def.RoundPosInf}
		mode := Divi{op}.Rounding()
		if !slices.Contains(allowed, mode) {
			return c.Error(op, "invalid rounding mode specified, expect one of [%s]", keywords(&def.RoundingEnum, allowed))
		}
		if mode == def.RoundNegInf && (Divi{op}).Signedness() == def.Unsigned {
			return c.Error(op, "rounding mode 'negative_inf' is not allowed with 'unsigned' flag")
		}
		return true
	}, OpDivi)
}

// mmaAccumulators lists, by input element, what a matrix product may be accumulated in.
var mmaAccumulators = map[*float.Format][]*float.Format{
	float.F8E4M3FN: {float.F16, float.F32}, float.F8E5M2: {float.F16, float.F32}, float.F16: {float.F16, float.F32},
	float.BF16: {float.F32}, float.TF32: {float.F32}, float.F32: {float.F32}, float.F64: {float.F64},
}

// format is the format of a tile of floats.
func format(v *ir.Value) *float.Format { return elem(v).(*ir.FloatType).Format }

func mmaRules() {
	rule(func(c *ir.Context, op *ir.Op) bool {
		return mmaShapes(c, op) && mmaElements(c, op)
	}, OpMmaf)
	rule(mmaShapes, OpMmai)
	rule(func(c *ir.Context, op *ir.Op) bool {
		return mmaShapes(c, op) && mmaScales(c, op)
	}, OpMmafScaled)
}

// mmaShapes checks [B]xMxK, [B]xKxN, [B]xMxN.
func mmaShapes(c *ir.Context, op *ir.Op) bool {
	lhs, rhs, acc := tile(op.Operand(0)), tile(op.Operand(1)), tile(op.Operand(2))
	rank := lhs.Rank()
	if rank != 2 && rank != 3 || rhs.Rank() != rank || acc.Rank() != rank {
		return c.Error(op, "operands must be 2D or 3D tiles")
	}
	m, n := rank-2, rank-1
	agree := func(space, a string, ta *TileType, i int, b string, tb *TileType, j int) bool {
		if ta.Shape[i] == tb.Shape[j] {
			return true
		}
		return c.Error(op, "%sshape error: dim %d of %s (%d) and dim %d of %s (%d) must match, but got %s shape (%s) and %s shape (%s)",
			space, i, a, ta.Shape[i], j, b, tb.Shape[j], a, shapeText(ta), b, shapeText(tb))
	}
	if rank == 3 && !(agree("", "lhs", lhs, 0, "rhs", rhs, 0) && agree("", "lhs", lhs, 0, "acc", acc, 0)) {
		return false
	}
	return agree(" ", "lhs", lhs, n, "rhs", rhs, m) && agree(" ", "lhs", lhs, m, "acc", acc, m) &&
		agree(" ", "rhs", rhs, n, "acc", acc, n)
}

func mmaElements(c *ir.Context, op *ir.Op) bool {
	in, acc := format(op.Operand(0)), format(op.Operand(2))
	allowed := mmaAccumulators[in]
	if slices.Contains(allowed, acc) {
		return true
	}
	names := make([]string, len(allowed))
	for i, f := range allowed {
		names[i] = f.Name()
	}
	return c.Error(op, "unsupported combination of element types. Input type '%s' expects accumulator/result type to be one of {'%s'}, but got '%s'",
		in.Name(), strings.Join(names, "', '"), acc.Name())
}

// mmaScales checks the scales: [B]xMxK/V and [B]xK/VxN, where V elements along K share a scale.
func mmaScales(c *ir.Context, op *ir.Op) bool {
	lhs, rhs := tile(op.Operand(0)), tile(op.Operand(1))
	ls, rs := tile(op.Operand(3)), tile(op.Operand(4))
	rank := lhs.Rank()
	m, n := rank-2, rank-1
	in, scale := format(op.Operand(0)), format(op.Operand(3))
	agree := func(a string, ta *TileType, i int, b string, tb *TileType, j int) bool {
		if ta.Shape[i] == tb.Shape[j] {
			return true
		}
		return c.Error(op, "shape error: dim %d of %s (%d) and dim %d of %s (%d) must match, but got %s shape (%s) and %s shape (%s)",
			i, a, ta.Shape[i], j, b, tb.Shape[j], a, shapeText(ta), b, shapeText(tb))
	}
	if rank == 3 && !(agree("lhs", lhs, 0, "lhs_scale", ls, 0) && agree("rhs", rhs, 0, "rhs_scale", rs, 0)) {
		return false
	}
	if !(agree("lhs", lhs, m, "lhs_scale", ls, m) && agree("rhs", rhs, n, "rhs_scale", rs, n) &&
		agree("lhs_scale", ls, n, "rhs_scale", rs, m)) {
		return false
	}
	if scale != float.F8E8M0FNU && in != float.F4E2M1FN {
		return c.Error(op, "unsupported combination of element types. Scale type '%s' expects lhs and rhs element types to be 'f4E2M1FN', but got '%s'", scale.Name(), in.Name())
	}
	blocks, what := []int64{32}, "f8 element type"
	switch {
	case scale == float.F8E4M3FN:
		blocks, what = []int64{16}, "f4E2M1FN element type with f8E4M3FN scales"
	case in == float.F4E2M1FN:
		blocks, what = []int64{16, 32}, "f4E2M1FN element type with "+scale.Name()+" scales"
	}
	k, count := lhs.Shape[n], ls.Shape[n]
	if k%count != 0 {
		return c.Error(op, "shape error: dim %d of lhs_scale (%d) must be a divisor of dim %d of lhs (%d), but got lhs_scale shape (%s) and lhs shape (%s)",
			n, count, n, k, shapeText(ls), shapeText(lhs))
	}
	if !slices.Contains(blocks, k/count) {
		return c.Error(op, "shape error: %s requires block scale factor of lhs_scale and rhs_scale to be %s, but got %d",
			what, strings.ReplaceAll(list(blocks), ", ", " or "), k/count)
	}
	return true
}
