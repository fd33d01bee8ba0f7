package def

import "tileiras/ir"

func overflowArg() ir.ArgDef { return ofDefault("overflow", &OverflowEnum, NoOverflowFlag) }

const overflowText = " (`overflow` `<` $overflow^ `>`)?"

func intUnary(name string, opcode uint32, summary string) *ir.OpDef {
	return &ir.OpDef{Name: name, Opcode: opcode, Since: V131,
		Args:    args(in("source", "Int")),
		Results: results(res("result", "Int")),
		Same:    rules(sameType("source", "result")),
		Traits:  elementwise,
		Format:  "$source attr-dict `:` type($result)",
		Summary: summary,
	}
}

func intBinary(name string, opcode uint32, a, b string, traits ir.Traits, summary string) *ir.OpDef {
	return &ir.OpDef{Name: name, Opcode: opcode, Since: V131,
		Args:    args(in(a, "Int"), in(b, "Int")),
		Results: results(res("result", "Int")),
		Same:    rules(sameType(a, b, "result")),
		Traits:  traits,
		Format:  "$" + a + " `,` $" + b + " attr-dict `:` type($result)",
		Summary: summary,
	}
}

// withOverflow and withSignedness put an attribute in front of the operands and its text after them.
func withOverflow(d *ir.OpDef) *ir.OpDef {
	d.Args = append(args(overflowArg()), d.Args...)
	d.Format = "$lhs `,` $rhs" + overflowText + " attr-dict `:` type($result)"
	return d
}

func withSignedness(d *ir.OpDef) *ir.OpDef {
	d.Args = append(args(of("signedness", &SignednessEnum)), d.Args...)
	d.Format = "$lhs `,` $rhs $signedness attr-dict `:` type($result)"
	return d
}

func integerOps() []*ir.OpDef {
	const comm = elementwise | ir.Commutative
	negi := intUnary("negi", 0x50, "The two's complement negative.")
	negi.Args = append(args(since(V132, overflowArg())), negi.Args...)
	negi.Format = "$source" + overflowText + " attr-dict `:` type($result)"

	divi := withSignedness(intBinary("divi", 0x15, "lhs", "rhs", trapping,
		"Divides, rounding to zero, down or up; a zero divisor and the signed minimum over -1 are undefined."))
	divi.Args = append(args(divi.Args[0], ofDefault("rounding", &RoundingEnum, RoundZero)), divi.Args[1:]...)
	divi.Format = "$lhs `,` $rhs $signedness (`rounding` `<` $rounding^ `>`)? attr-dict `:` type($result)"

	return []*ir.OpDef{
		intUnary("absi", 0x01, "The absolute value of a signed integer, as an unsigned one."),
		withOverflow(intBinary("addi", 0x03, "lhs", "rhs", comm, "Adds two integers.")),
		withOverflow(intBinary("subi", 0x68, "lhs", "rhs", elementwise, "Subtracts the second integer from the first.")),
		withOverflow(intBinary("muli", 0x4E, "lhs", "rhs", comm, "The low half of the product.")),
		intBinary("mulhii", 0x4D, "x", "y", comm, "The high half of the unsigned product."),
		negi,
		divi,
		withSignedness(intBinary("remi", 0x5A, "lhs", "rhs", trapping,
			"The remainder of a truncated division; a zero divisor is undefined.")),
		withSignedness(intBinary("maxi", 0x46, "lhs", "rhs", comm, "The larger of two integers.")),
		withSignedness(intBinary("mini", 0x48, "lhs", "rhs", comm, "The smaller of two integers.")),
		{Name: "cmpi", Opcode: 0x0F, Since: V131,
			Args: args(of("comparison_predicate", &PredicateEnum), of("signedness", &SignednessEnum),
				in("lhs", "Int"), in("rhs", "Int")),
			Results: results(res("result", "I1")),
			Same:    rules(sameType("lhs", "rhs"), says(comparedText, sameShape("lhs", "rhs", "result"))),
			Traits:  elementwise,
			Format: "$comparison_predicate $lhs `,` $rhs `,` $signedness attr-dict " +
				"`:` type($lhs) `->` type($result)",
			Summary: "Compares two integers."},
		intBinary("andi", 0x04, "lhs", "rhs", comm, "Bitwise and."),
		intBinary("ori", 0x52, "lhs", "rhs", comm, "Bitwise or."),
		intBinary("xori", 0x6C, "lhs", "rhs", comm, "Bitwise exclusive or."),
		withOverflow(intBinary("shli", 0x60, "lhs", "rhs", elementwise,
			"Shifts left by an unsigned amount, filling with zeros.")),
		withSignedness(intBinary("shri", 0x61, "lhs", "rhs", elementwise,
			"Shifts right by an unsigned amount, filling with zeros or with the sign.")),
	}
}
