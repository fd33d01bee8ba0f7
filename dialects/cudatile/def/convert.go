package def

import "tileiras/ir"

// conversion is a row from one tile to another of the same shape.
func conversion(name string, opcode uint32, from, to ir.ArgDef, summary string, attrs ...ir.ArgDef) *ir.OpDef {
	return &ir.OpDef{Name: name, Opcode: opcode, Since: V131,
		Args:    append(attrs, from),
		Results: results(res(to.Name, to.Constraint)),
		Same:    rules(sameShape(from.Name, to.Name)),
		Traits:  elementwise,
		Format:  "$" + from.Name + " attr-dict `:` type($" + from.Name + ") `->` type($" + to.Name + ")",
		Summary: summary,
	}
}

func formatted(d *ir.OpDef, format string) *ir.OpDef { d.Format = format; return d }

// packing rows do not keep the shape.
func packing(name string, opcode uint32, from, to, summary string) *ir.OpDef {
	d := at(V133, conversion(name, opcode, in("source", from), in("result", to), summary))
	d.Same, d.Traits = rules(sameRank("source", "result")), movement
	return d
}

func convertOps() []*ir.OpDef {
	const fromTo = " attr-dict `:` type($from) `->` type($to)"
	signed := of("signedness", &SignednessEnum)
	nearest := ofDefault("rounding_mode", &RoundingEnum, RoundNearestEven)
	return []*ir.OpDef{
		conversion("bitcast", 0x09, in("source", "Num"), in("result", "Num"),
			"Reads the bits as another type of the same width."),
		formatted(conversion("exti", 0x25, in("from", "Int4"), in("to", "Int4"),
			"Extends integers to a wider type with zeros or the sign.", signed), "$from $signedness"+fromTo),
		formatted(conversion("trunci", 0x6B, in("from", "Int4"), in("to", "Int4"),
			"Drops the high bits of integers.", overflowArg()), "$from"+overflowText+fromTo),
		formatted(conversion("ftof", 0x2A, in("from", "Float"), in("to", "Float"),
			"Converts floats to another format.", nearest), "$from custom<Rounding>($rounding_mode)"+fromTo),
		formatted(conversion("ftoi", 0x2B, in("from", "Float"), in("to", "Int"),
			"Truncates floats to integers; a value out of range is undefined unless saturating.",
			since(V134, unit("saturating")), signed, ofDefault("rounding_mode", &RoundingEnum, RoundNearestIntToZero)),
			"$from $signedness custom<Rounding>($rounding_mode) (`saturating` $saturating^)?"+fromTo),
		formatted(conversion("itof", 0x3B, in("from", "Int"), in("to", "Float"),
			"Converts integers to the nearest floats.", signed, nearest),
			"$from $signedness custom<Rounding>($rounding_mode)"+fromTo),
		conversion("int_to_ptr", 0x33, in("source", "I64"), in("result", "Ptr"),
			"Makes pointers of unsigned 64-bit addresses."),
		conversion("ptr_to_int", 0x56, in("source", "Ptr"), in("result", "I64"),
			"The addresses that pointers hold."),
		conversion("ptr_to_ptr", 0x57, in("source", "Ptr"), in("result", "Ptr"),
			"Changes what pointers point to."),
		packing("pack", 0x6F, "Packable", "I8", "Reads a whole rank-1 tile as bytes; the low nibble is the lower index."),
		packing("unpack", 0x70, "I8", "Packable", "The inverse of pack."),
	}
}
