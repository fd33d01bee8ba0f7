package def

import "tileiras/ir"

// comparedText is what comparisons say of their shapes.
const comparedText = "failed to verify that Result type has i1 element type and same shape as operands"

func floatUnary(name string, opcode uint32, summary string) *ir.OpDef {
	return &ir.OpDef{Name: name, Opcode: opcode, Since: V131,
		Args:    args(in("source", "Base")),
		Results: results(res("result", "Base")),
		Same:    rules(sameType("source", "result")),
		Traits:  elementwise,
		Format:  "$source attr-dict `:` type($result)",
		Summary: summary,
	}
}

// floatUnaryFlush has the flag flush_to_zero.
func floatUnaryFlush(name string, opcode uint32, summary string) *ir.OpDef {
	d := floatUnary(name, opcode, summary)
	d.Args = args(unit("flush_to_zero"), in("source", "Base"))
	d.Format = "$source (`flush_to_zero` $flush_to_zero^)? attr-dict `:` type($result)"
	return d
}

func floatUnaryRounded(name string, opcode uint32, rounding ir.ArgDef, summary string) *ir.OpDef {
	d := floatUnary(name, opcode, summary)
	d.Args = args(rounding, in("source", "Base"))
	d.Format = "$source custom<Rounding>($rounding_mode) attr-dict `:` type($result)"
	return d
}

// floatBinary takes the names of its operands from a and b.
func floatBinary(name string, opcode uint32, a, b string, traits ir.Traits, summary string) *ir.OpDef {
	return &ir.OpDef{Name: name, Opcode: opcode, Since: V131,
		Args:    args(in(a, "Base"), in(b, "Base")),
		Results: results(res("result", "Base")),
		Same:    rules(sameType(a, b, "result")),
		Traits:  traits,
		Format:  "$" + a + " `,` $" + b + " attr-dict `:` type($result)",
		Summary: summary,
	}
}

// floatRounded is an arithmetic op with a rounding mode and flush_to_zero.
func floatRounded(name string, opcode uint32, traits ir.Traits, summary string, operands ...string) *ir.OpDef {
	d := &ir.OpDef{Name: name, Opcode: opcode, Since: V131,
		Args:    args(ofDefault("rounding_mode", &RoundingEnum, RoundNearestEven), unit("flush_to_zero")),
		Results: results(res("result", "Base")),
		Same:    rules(sameType(append(append([]string(nil), operands...), "result")...)),
		Traits:  traits,
		Summary: summary,
	}
	for i, o := range operands {
		d.Args = append(d.Args, in(o, "Base"))
		if i > 0 {
			d.Format += "`,` "
		}
		d.Format += "$" + o + " "
	}
	d.Format += "custom<Rounding>($rounding_mode) (`flush_to_zero` $flush_to_zero^)? attr-dict `:` type($result)"
	return d
}

func floatMinMax(name string, opcode uint32, summary string) *ir.OpDef {
	d := floatBinary(name, opcode, "lhs", "rhs", elementwise|ir.Commutative, summary)
	d.Args = append(args(unit("propagate_nan"), unit("flush_to_zero")), d.Args...)
	d.Format = "$lhs `,` $rhs oilist(`flush_to_zero` $flush_to_zero | `propagate_nan` $propagate_nan) " +
		"attr-dict `:` type($result)"
	return d
}

// at moves a row to a later version.
func at(v ir.Version, d *ir.OpDef) *ir.OpDef { d.Since = v; return d }

func floatOps() []*ir.OpDef {
	pow := floatBinary("fpowf", 0x54, "source", "exponent", elementwise, "Raises source to the power of exponent.")
	pow.OldNames = []ir.OldName{{Name: "pow", Until: V134}}
	return []*ir.OpDef{
		floatUnary("absf", 0x00, "Clears the sign bit."),
		floatRounded("addf", 0x02, elementwise|ir.Commutative, "Adds two floats.", "lhs", "rhs"),
		floatRounded("subf", 0x67, elementwise, "Subtracts the second float from the first.", "lhs", "rhs"),
		floatRounded("mulf", 0x4C, elementwise|ir.Commutative, "Multiplies two floats.", "lhs", "rhs"),
		floatRounded("divf", 0x14, elementwise, "Divides the first float by the second.", "lhs", "rhs"),
		floatRounded("fma", 0x28, elementwise, "Computes lhs * rhs + acc with one rounding.", "lhs", "rhs", "acc"),
		floatUnary("negf", 0x4F, "Flips the sign bit."),
		floatBinary("remf", 0x59, "lhs", "rhs", elementwise,
			"The remainder of a truncated division, with the sign of lhs."),
		floatMinMax("maxf", 0x45, "The larger of two floats; NaN only if both are NaN, or either with propagate_nan."),
		floatMinMax("minf", 0x47, "The smaller of two floats; NaN only if both are NaN, or either with propagate_nan."),
		{Name: "cmpf", Opcode: 0x0E, Since: V131,
			Args: args(of("comparison_predicate", &PredicateEnum), of("comparison_ordering", &OrderingEnum),
				in("lhs", "Base"), in("rhs", "Base")),
			Results: results(res("result", "I1")),
			Same:    rules(sameType("lhs", "rhs"), says(comparedText, sameShape("lhs", "rhs", "result"))),
			Traits:  elementwise,
			Format: "$comparison_predicate $comparison_ordering $lhs `,` $rhs attr-dict " +
				"`:` type($lhs) `->` type($result)",
			Summary: "Compares two floats; with a NaN an ordered comparison is false and an unordered one true."},
		floatUnary("ceil", 0x0D, "The smallest integer that is not less."),
		floatUnary("floor", 0x27, "The largest integer that is not greater."),
		floatRounded("sqrt", 0x64, elementwise, "The square root.", "source"),
		floatUnaryFlush("rsqrt", 0x5D, "The reciprocal of the square root."),
		floatUnaryRounded("exp", 0x17, since(V133, ofDefault("rounding_mode", &RoundingEnum, RoundFull)),
			"e to the power of source."),
		floatUnaryFlush("exp2", 0x18, "2 to the power of source."),
		floatUnary("log", 0x3F, "The natural logarithm."),
		floatUnary("log2", 0x40, "The logarithm to base 2."),
		pow,
		{Name: "fpowi", Opcode: 0x79, Since: V134,
			Args:    args(in("source", "Base"), in("exponent", "Power")),
			Results: results(res("result", "Base")),
			Same:    rules(sameType("source", "result"), sameShape("source", "exponent", "result")),
			Traits:  elementwise,
			Format:  "$source `,` $exponent attr-dict `:` type($source) `,` type($exponent)",
			Summary: "Raises source to the power of a signed integer."},
		floatUnary("sin", 0x62, "The sine of an angle in radians."),
		floatUnary("cos", 0x12, "The cosine of an angle in radians."),
		floatUnary("tan", 0x69, "The tangent of an angle in radians."),
		floatUnary("sinh", 0x63, "The hyperbolic sine."),
		floatUnary("cosh", 0x13, "The hyperbolic cosine."),
		floatUnaryRounded("tanh", 0x6A, since(V132, ofDefault("rounding_mode", &RoundingEnum, RoundFull)),
			"The hyperbolic tangent."),
		at(V132, floatBinary("atan2", 0x6E, "x", "y", elementwise,
			"The angle of the first operand over the second, in the quadrant that their signs give.")),
	}
}
