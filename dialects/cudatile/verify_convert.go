package cudatile

import (
	"slices"

	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
	"tileiras/ir/float"
)

func convertRules() {
	rule(func(c *ir.Context, op *ir.Op) bool {
		from, to := elem(op.Operand(0)), elem(op.Result(0))
		if ir.BitWidth(from) != ir.BitWidth(to) {
			return c.Error(op, "types must be equal width, cannot convert %s to %s", quoted(from), quoted(to))
		}
		return true
	}, OpBitcast)
	rule(func(c *ir.Context, op *ir.Op) bool {
		if ir.BitWidth(elem(op.Result(0))) <= ir.BitWidth(elem(op.Operand(0))) {
			return c.Error(op, "extending to smaller or identical integer")
		}
		return true
	}, OpExti)
	rule(func(c *ir.Context, op *ir.Op) bool {
		if ir.BitWidth(elem(op.Result(0))) >= ir.BitWidth(elem(op.Operand(0))) {
			return c.Error(op, "truncating to larger or identical integer")
		}
		return true
	}, OpTrunci)
	rule(verifyFtof, OpFtof)
	rule(func(c *ir.Context, op *ir.Op) bool {
		if (Ftoi{op}).RoundingMode() != def.RoundNearestIntToZero {
			return c.Error(op, "invalid rounding mode specified. Only 'nearest_int_to_zero' is supported")
		}
		return true
	}, OpFtoi)
	rule(func(c *ir.Context, op *ir.Op) bool {
		if ir.IsFloat(elem(op.Result(0)), float.F8E8M0FNU) {
			return c.Error(op, "integer to f8E8M0FNU conversion is not supported, please first convert to another float type")
		}
		if (Itof{op}).RoundingMode() != def.RoundNearestEven {
			return c.Error(op, "%s", onlyNearest)
		}
		return true
	}, OpItof)
	rule(verifyPacking, OpPack, OpUnpack)
}

// onlyNearest is what conversions say that know one rounding.
const onlyNearest = "invalid rounding mode specified. Only 'nearest_even' is supported"

// ftofRow says which roundings a conversion knows.
type ftofRow struct {
	applies func(from, to *float.Format) bool
	allowed []def.Rounding
	message string
}

const (
	rne, rtz = def.RoundNearestEven, def.RoundZero
	rna      = def.RoundNearestAway
)

// ftofRows, first matching row.
var ftofRows = []ftofRow{
	{func(_, to *float.Format) bool { return to == float.F8E8M0FNU }, []def.Rounding{rtz, def.RoundPosInf},
		"invalid rounding mode specified for conversion to f8E8M0FNU. Only 'zero' and 'positive_inf' are supported"},
	{func(_, to *float.Format) bool { return to.Bits() <= 8 }, []def.Rounding{rne},
		"invalid rounding mode specified for conversion to low-precision type. Only 'nearest_even' is supported"},
	{widens, append(slices.Clone(ieeeRounding), rna),
		"invalid rounding mode specified for widening conversion. Only IEEE float rounding modes are supported: " +
			"'nearest_even', 'zero', 'negative_inf', 'positive_inf', 'nearest_away'"},
	{func(from, to *float.Format) bool { return from == float.F64 && to == float.F32 }, ieeeRounding,
		"invalid rounding mode specified for conversion from f64 to f32. Only 'nearest_even', 'zero', 'negative_inf' and 'positive_inf' are supported"},
	{func(from, to *float.Format) bool { return from == float.F32 && to == float.TF32 }, []def.Rounding{rne, rtz, rna},
		"invalid rounding mode specified for conversion from f32 to tf32. Only 'nearest_even', 'zero' and 'nearest_away' are supported"},
	{func(_, _ *float.Format) bool { return true }, []def.Rounding{rne, rtz},
		"invalid rounding mode specified. Only 'nearest_even' and 'zero' are supported for narrowing conversions to standard types"},
}

// widens reports whether every normal number of a format is one of another: exponents and precision both fit. The scale
// formats have no sign and count as narrowing, except f8E8M0FNU to f64.
func widens(from, to *float.Format) bool {
	switch {
	case from == float.F8E8M0FNU:
		return to == float.F64
	case from == float.F8E5M3FNU && to == float.F16:
		return false
	}
	return from.ExponentBits() <= to.ExponentBits() && from.MantissaBits() <= to.MantissaBits()
}

func verifyFtof(c *ir.Context, op *ir.Op) bool {
	from, to := elem(op.Operand(0)).(*ir.FloatType), elem(op.Result(0)).(*ir.FloatType)
	if from == to {
		return c.Error(op, "converting tiles must not be a no-op")
	}
	mode := Ftof{op}.RoundingMode()
	if old := c.Release != (ir.Version{}) && c.Release.Before(def.V134); old && to.Format != float.F8E8M0FNU && mode != rne {
		return c.Error(op, "%s", onlyNearest)
	}
	for _, r := range ftofRows {
		if r.applies(from.Format, to.Format) {
			return slices.Contains(r.allowed, mode) || c.Error(op, "%s", r.message)
		}
	}
	return true
}

// verifyPacking checks that both sides are rank 1 and the same number of whole bytes.
func verifyPacking(c *ir.Context, op *ir.Op) bool {
	from, to := tile(op.Operand(0)), tile(op.Result(0))
	if from.Rank() != 1 || to.Rank() != 1 {
		return c.Error(op, "expects source and result to be rank-1 tiles")
	}
	fw, tw := storageBits(from.Elem), storageBits(to.Elem)
	if fw == tw {
		return c.Error(op, "expects source and result to have different element type widths")
	}
	fb, tb := from.Shape[0]*fw, to.Shape[0]*tw
	if fb%8 != 0 {
		return c.Error(op, "expects source tile to be byte-aligned")
	}
	if tb%8 != 0 {
		return c.Error(op, "expects result tile to be byte-aligned")
	}
	if fb != tb {
		return c.Error(op, "expects source and result to have the same size in bytes, but got source tile size %d bytes and result tile size %d bytes",
			fb/8, tb/8)
	}
	return true
}

// storageBits is the size of an element in memory.
func storageBits(t ir.Type) int64 {
	if f, ok := t.(*ir.FloatType); ok {
		return int64(f.Format.StorageBits())
	}
	return int64(ir.BitWidth(t))
}
