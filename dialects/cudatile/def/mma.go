package def

import "tileiras/ir"

func mmaOps() []*ir.OpDef {
	const traits = ir.Pure | ir.Speculatable | ir.Replicable
	return []*ir.OpDef{
		{Name: "mmaf", Opcode: 0x49, Since: V131,
			Args: args(since(V133, unit("fast_acc")),
				in("lhs", "MmaInput"), in("rhs", "MmaInput"), in("acc", "MmaAcc")),
			Results: results(res("result", "MmaAcc")),
			Same: rules(sameType("acc", "result"), sameElem("lhs", "rhs"),
				sameRank("lhs", "rhs", "acc")),
			Traits: traits,
			Format: "$lhs `,` $rhs `,` $acc (`fast_acc` $fast_acc^)? attr-dict " +
				"`:` type($lhs) `,` type($rhs) `,` type($acc)",
			Summary: "Multiplies two float matrices, or batches of them, and adds the accumulator."},
		{Name: "mmai", Opcode: 0x4A, Since: V131,
			Args: args(of("signedness_lhs", &SignednessEnum), of("signedness_rhs", &SignednessEnum),
				in("lhs", "MmaiInput"), in("rhs", "MmaiInput"), in("acc", "MmaiAcc")),
			Results: results(res("result", "MmaiAcc")),
			Same: rules(sameType("acc", "result"), sameElem("lhs", "rhs"),
				sameRank("lhs", "rhs", "acc")),
			Traits: traits,
			Format: "$lhs `,` $rhs `,` $acc $signedness_lhs $signedness_rhs attr-dict " +
				"`:` type($lhs) `,` type($rhs) `,` type($acc)",
			Summary: "Multiplies two 8-bit integer matrices, or batches of them, and adds the 32-bit accumulator; it wraps."},
		{Name: "mmaf_scaled", Opcode: 0x72, Since: V133,
			Args: args(in("lhs", "ScaledInput"), in("rhs", "ScaledInput"), in("acc", "F32"),
				in("lhs_scale", "Scale"), in("rhs_scale", "Scale")),
			Results: results(res("result", "F32")),
			Same: rules(sameType("acc", "result"), sameElem("lhs", "rhs"),
				sameElem("lhs_scale", "rhs_scale"), sameRank("lhs", "rhs", "acc", "lhs_scale", "rhs_scale")),
			Traits: traits,
			Format: "$lhs `,` $rhs `,` $acc `,` $lhs_scale `,` $rhs_scale attr-dict " +
				"`:` type($lhs) `,` type($rhs) `,` type($acc) `,` type($lhs_scale) `,` type($rhs_scale)",
			Summary: "As mmaf, after multiplying each block along K by its scale."},
	}
}
