package def

import "tileiras/ir"

func shapeOps() []*ir.OpDef {
	reshaping := func(name string, opcode uint32, same []ir.SameRule, summary string) *ir.OpDef {
		return &ir.OpDef{Name: name, Opcode: opcode, Since: V131,
			Args:    args(in("source", "Tile")),
			Results: results(res("result", "Tile")),
			Same:    same,
			Traits:  movement,
			Format:  "$source attr-dict `:` type($source) `->` type($result)",
			Summary: summary,
		}
	}
	elem := rules(says("requires the same element type for all operands and results", sameElem("source", "result")))
	elemRank := append(rules(sameRank("source", "result")), elem...)

	permute := reshaping("permute", 0x53, rules(sameRank("source", "result"), sameElem("source", "result")), "Dimension i of the result is dimension permutation[i] of the source.")
	permute.Args = append(args(attr("permutation", ir.I32ArrayKind)), permute.Args...)
	permute.Format = "$source $permutation attr-dict `:` type($source) `->` type($result)"

	return []*ir.OpDef{
		{Name: "constant", Opcode: 0x10, Since: V131,
			Args:    args(attr("value", ir.DenseKind)),
			Results: results(res("result", "Num")),
			Traits:  movement | ir.ConstantLike,
			Format:  "custom<Dense>($value, type($result)) attr-dict",
			Summary: "A tile of constants."},
		{Name: "iota", Opcode: 0x3A, Since: V131,
			Results: results(res("result", "Int")),
			Traits:  movement,
			Format:  "attr-dict `:` type($result)",
			Summary: "The integers 0, 1, ... n-1."},
		reshaping("broadcast", 0x0B, elemRank, "Repeats dimensions of size 1."),
		reshaping("reshape", 0x5B, elem, "The same elements in row-major order under another shape."),
		permute,
		{Name: "cat", Opcode: 0x0C, Since: V131,
			Args:    args(attr("dim", ir.I64Kind), in("lhs", "Tile"), in("rhs", "Tile")),
			Results: results(res("result", "Tile")),
			Same:    rules(sameElem("lhs", "rhs", "result"), sameRank("lhs", "rhs", "result")),
			Traits:  movement,
			Format:  "$lhs `,` $rhs `dim` `=` $dim attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)",
			Summary: "Puts two tiles one after the other along a dimension."},
		{Name: "extract", Opcode: 0x26, Since: V131,
			Args:    args(in("source", "Tile"), many("indices", "ScalarI32")),
			Results: results(res("result", "Tile")),
			Same:    rules(sameRank("source", "result"), says("source and result element type do not match", sameElem("source", "result"))),
			Traits:  indexed,
			Format:  "$source `[` $indices `]` attr-dict `:` type($source) `->` type($result)",
			Summary: "A slice of a tile, chosen by its number along each dimension; out of range is undefined."},
		{Name: "insert", Opcode: 0x76, Since: V134,
			Args:    args(in("source", "Tile"), in("destination", "Tile"), many("indices", "ScalarI32")),
			Results: results(res("result", "Tile")),
			Same:    rules(sameType("destination", "result"), sameElem("source", "result"), sameRank("source", "result")),
			Traits:  indexed,
			Format:  "$source `,` $destination `[` $indices `]` attr-dict `:` type($source) `,` type($destination)",
			Summary: "Replaces a slice of a tile, chosen by its number along each dimension; out of range is undefined."},
		{Name: "select", Opcode: 0x5F, Since: V131,
			Args:    args(in("cond", "I1"), in("val_if_true", "Tile"), in("val_if_false", "Tile")),
			Results: results(res("result", "Tile")),
			Same:    rules(sameType("val_if_true", "val_if_false", "result"), sameShape("cond", "val_if_true", "val_if_false", "result")),
			Traits:  elementwise,
			Format:  "$cond `,` $val_if_true `,` $val_if_false attr-dict `:` type($cond) `,` type($result)",
			Summary: "Takes each element from one of two tiles."},
		{Name: "offset", Opcode: 0x51, Since: V131,
			Args:    args(in("ptr", "Ptr"), in("offset", "Int")),
			Results: results(res("result", "Ptr")),
			Same: rules(sameType("result", "ptr"),
				says("requires the same shape for all operands and results", sameShape("ptr", "offset", "result"))),
			Traits:  elementwise,
			Format:  "$ptr `,` $offset attr-dict `:` type($ptr) `,` type($offset) `->` type($result)",
			Summary: "Moves pointers by a signed number of elements."},
	}
}

func reduceOps() []*ir.OpDef {
	const traits = ir.Pure | ir.Replicable
	return []*ir.OpDef{
		{Name: "reduce", Opcode: 0x58, Since: V131,
			Args: args(attr("dim", ir.I32Kind), attr("identities", ir.ArrayKind),
				many("operands", "Num")),
			Results: results(manyRes("results", "Num")),
			Regions: regions("body"),
			Flow:    ir.FlowDef{Kind: ir.CombineFlow},
			Traits:  traits,
			Summary: "Combines the elements along a dimension, in an order that is not specified."},
		{Name: "scan", Opcode: 0x5E, Since: V131,
			Args: args(attr("dim", ir.I32Kind), attr("reverse", ir.BoolKind), attr("identities", ir.ArrayKind),
				many("operands", "Num")),
			Results: results(manyRes("results", "Num")),
			Regions: regions("body"),
			Flow:    ir.FlowDef{Kind: ir.CombineFlow},
			Traits:  traits,
			Summary: "The inclusive prefixes of combining the elements along a dimension: the region takes pairs of the prefix and the next element."},
	}
}
