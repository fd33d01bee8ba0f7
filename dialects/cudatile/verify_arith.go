package cudatile

import (
	"slices"
	"strings"

	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
	"tileiras/ir/float"
)

var ieeeRounding = []uint32{def.RoundNearestEven, def.RoundZero, def.RoundNegInf, def.RoundPosInf}

// floatRules are those of float arithmetic: which roundings an op knows, and what is for f32 only.
func floatRules() {
	rounded := func(allowed []uint32, f32Only ...uint32) func(*ir.Context, *ir.Op) bool {
		return func(c *ir.Context, op *ir.Op) bool {
			mode, t := op.EnumNamed("rounding_mode"), elem(op.Result(0))
			if !slices.Contains(allowed, mode) {
				return c.Error(op, "invalid rounding mode specified, expect one of [%s]", keywords(def.Rounding, allowed))
			}
			if !flushIsForF32(c, op) {
				return false
			}
			if slices.Contains(f32Only, mode) && !ir.IsFloat(t, float.F32) {
				return c.Error(op, "%s modifier only supported for f32 data type, but got: %s", def.Rounding.Keyword(mode), quoted(t))
			}
			return true
		}
	}
	const approx, full = def.RoundApprox, def.RoundFull
	rule(rounded(ieeeRounding), "addf", "subf", "mulf", "fma")
	rule(rounded(append(slices.Clone(ieeeRounding), approx, full), approx, full), "divf")
	rule(rounded(append(slices.Clone(ieeeRounding), approx), approx), "sqrt")
	rule(rounded([]uint32{approx, full}, approx), "exp", "tanh")
	rule(flushIsForF32, "maxf", "minf", "rsqrt", "exp2")
}

func flushIsForF32(c *ir.Context, op *ir.Op) bool {
	if t := elem(op.Result(0)); op.BoolNamed("flush_to_zero") && !ir.IsFloat(t, float.F32) {
		return c.Error(op, "flush_to_zero modifier only supported for f32 data type, but got: %s", quoted(t))
	}
	return true
}

func integerRules() {
	rule(func(c *ir.Context, op *ir.Op) bool {
		if op.EnumNamed("overflow") == def.NoUnsignedWrap {
			return c.Error(op, "'no_unsigned_wrap' overflow flag is not supported")
		}
		return true
	}, "negi")
	rule(func(c *ir.Context, op *ir.Op) bool {
		allowed := []uint32{def.RoundZero, def.RoundNegInf, def.RoundPosInf}
		mode := op.EnumNamed("rounding")
		if !slices.Contains(allowed, mode) {
			return c.Error(op, "invalid rounding mode specified, expect one of [%s]", keywords(def.Rounding, allowed))
		}
		if mode == def.RoundNegInf && op.EnumNamed("signedness") == def.Unsigned {
			return c.Error(op, "rounding mode 'negative_inf' is not allowed with 'unsigned' flag")
		}
		return true
	}, "divi")
}

// mmaAccumulators lists, by input element, what a matrix product may be accumulated in.
var mmaAccumulators = map[string][]string{
	"f8E4M3FN": {"f16", "f32"}, "f8E5M2": {"f16", "f32"}, "f16": {"f16", "f32"},
	"bf16": {"f32"}, "tf32": {"f32"}, "f32": {"f32"}, "f64": {"f64"},
}

func mmaRules() {
	rule(func(c *ir.Context, op *ir.Op) bool {
		return mmaShapes(c, op) && mmaElements(c, op)
	}, "mmaf")
	rule(mmaShapes, "mmai")
	rule(func(c *ir.Context, op *ir.Op) bool {
		return mmaShapes(c, op) && mmaScales(c, op)
	}, "mmaf_scaled")
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
	in, acc := ir.ShortType(elem(op.Operand(0))), ir.ShortType(elem(op.Operand(2)))
	if allowed := mmaAccumulators[in]; !slices.Contains(allowed, acc) {
		return c.Error(op, "unsupported combination of element types. Input type '%s' expects accumulator/result type to be one of {'%s'}, but got '%s'",
			in, strings.Join(allowed, "', '"), acc)
	}
	return true
}

// mmaScales checks the scales: [B]xMxK/V and [B]xK/VxN, where V elements along K share a scale.
func mmaScales(c *ir.Context, op *ir.Op) bool {
	lhs, rhs := tile(op.Operand(0)), tile(op.Operand(1))
	ls, rs := tile(op.Operand(3)), tile(op.Operand(4))
	rank := lhs.Rank()
	m, n := rank-2, rank-1
	in, scale := ir.ShortType(lhs.Elem), ir.ShortType(ls.Elem)
	if scale == "f8E4M3FN" && in != "f4E2M1FN" {
		return c.Error(op, "unsupported combination of element types. Scale type 'f8E4M3FN' expects input type 'f4E2M1FN', but got '%s'", in)
	}
	agree := func(a string, ta *TileType, i int, b string, tb *TileType, j int) bool {
		if ta.Shape[i] == tb.Shape[j] {
			return true
		}
		return c.Error(op, "shape error: dim %d of %s (%d) and dim %d of %s (%d) must match", i, a, ta.Shape[i], j, b, tb.Shape[j])
	}
	if rank == 3 && !(agree("lhs", lhs, 0, "lhs_scale", ls, 0) && agree("rhs", rhs, 0, "rhs_scale", rs, 0)) {
		return false
	}
	if !(agree("lhs", lhs, m, "lhs_scale", ls, m) && agree("rhs", rhs, n, "rhs_scale", rs, n) &&
		agree("lhs_scale", ls, n, "rhs_scale", rs, m)) {
		return false
	}
	blocks := []int64{32}
	switch {
	case in == "f4E2M1FN" && scale == "f8E4M3FN":
		blocks = []int64{16}
	case in == "f4E2M1FN":
		blocks = []int64{16, 32}
	}
	k, count := lhs.Shape[n], ls.Shape[n]
	if k%count != 0 || !slices.Contains(blocks, k/count) {
		return c.Error(op, "shape error: dim %d of lhs (%d) must be a multiple of dim %d of lhs_scale (%d) by a block size of %s",
			n, k, n, count, strings.ReplaceAll(list(blocks), ", ", " or "))
	}
	return true
}
