package def

import "tileiras/ir"

func viewOps() []*ir.OpDef {
	ofView := func(v ir.Version, name string, opcode uint32, constraint, summary string) *ir.OpDef {
		return &ir.OpDef{Name: name, Opcode: opcode, Since: v,
			Args:    args(in("tensor_view", "TensorView")),
			Results: results(res("result", constraint)),
			Traits:  movement,
			Summary: summary,
		}
	}
	return []*ir.OpDef{
		{Name: "make_tensor_view", Opcode: 0x43, Since: V131,
			Args: args(in("base", "ScalarPtr"), many("dynamicShape", "ScalarInt"),
				many("dynamicStrides", "ScalarInt")),
			Results: results(res("result", "TensorView")),
			Traits:  movement | ir.Segmented,
			Summary: "A strided array in memory; extents and strides are part of the type or operands."},
		ofView(V131, "make_partition_view", 0x42, "PartitionView", "An array cut into tiles that do not overlap."),
		ofView(V133, "make_gather_scatter_view", 0x73, "GatherScatterView",
			"An array whose tiles take their places along one dimension from an index tile."),
		ofView(V133, "make_strided_view", 0x74, "StridedView",
			"An array cut into tiles that start at multiples of the traversal strides."),
	}
}

func memoryOps() []*ir.OpDef {
	var (
		ordering = of("memory_ordering_semantics", &MemOrderEnum)
		scope    = optOf("memory_scope", &ScopeEnum)
		mustHave = of("memory_scope", &ScopeEnum)
		hints    = optAttr("optimization_hints", ir.HintsKind)
		token    = opt("token", "Token")
		index    = many("index", "IndexTile")
		newToken = res("result_token", "Token")
	)
	inbounds := func(v ir.Version) ir.ArgDef { return since(v, attr("inbounds", ir.BoolArrayKind)) }
	const (
		sync      = "$memory_ordering_semantics ($memory_scope^)? "
		tokenText = "(`token` `` `=` `` $token^)? "
		hintsText = "(`optimization_hints` `=` $optimization_hints^)? "
	)
	dependency := func(name string, opcode uint32, summary string) *ir.OpDef {
		return &ir.OpDef{Name: name, Opcode: opcode, Since: V134,
			Args:    args(token),
			Results: results(newToken),
			Traits:  ir.Ordered,
			Format:  "(`token` `=` $token^)? attr-dict `->` type($result_token)",
			Summary: summary,
		}
	}
	return []*ir.OpDef{
		{Name: "alloca", Opcode: 0x71, Since: V133,
			Args:    args(unit("global"), attr("num_elem", ir.I64Kind), attr("alignment", ir.I64Kind)),
			Results: results(res("result", "ScalarPtr")),
			Traits:  ir.Ordered,
			Format: "`num_elem` `=` $num_elem `,` `alignment` `=` $alignment (`global` $global^)? attr-dict " +
				"`:` type($result)",
			Summary: "Memory that lives until the end of its block."},
		{Name: "make_token", Opcode: 0x44, Since: V131,
			Results: results(res("result", "Token")),
			Traits:  movement,
			Format:  "attr-dict `:` type($result)",
			Summary: "A token that waits for nothing."},
		{Name: "join_tokens", Opcode: 0x3C, Since: V131,
			Args:    args(many("tokens", "Token")),
			Results: results(res("result", "Token")),
			Traits:  movement,
			Format:  "$tokens attr-dict `:` type($result)",
			Summary: "A token that waits for all of its operands."},
		{Name: "load_view_tko", Opcode: 0x3E, Since: V131,
			Args:    args(ordering, scope, hints, inbounds(V134), in("view", "TileView"), index, token),
			Results: results(res("tile", "Tile"), newToken),
			Traits:  reads | ir.Segmented,
			Summary: "Loads a tile of a view; elements outside the array are the view's padding."},
		{Name: "store_view_tko", Opcode: 0x66, Since: V131,
			Args:    args(ordering, scope, hints, inbounds(V134), in("tile", "Tile"), in("view", "TileView"), index, token),
			Results: results(newToken),
			Traits:  writes | ir.Segmented,
			Summary: "Stores a tile of a view; elements outside the array are dropped."},
		{Name: "load_ptr_tko", Opcode: 0x3D, Since: V131,
			Args: args(ordering, scope, hints, in("source", "Ptr"), opt("mask", "I1"), opt("paddingValue", "Tile"),
				token),
			Results: results(res("result", "Tile"), newToken),
			Same: rules(says("failed to verify that shape of 'mask' must match the shape of 'source'", sameShape("source", "mask")),
				says("failed to verify that type of 'paddingValue' must match the type of 'result'", sameType("paddingValue", "result"))),
			Traits: reads | ir.Segmented,
			Format: sync + "$source (`,` $mask^)? (`,` $paddingValue^)? " + tokenText + hintsText + "attr-dict " +
				"`:` type($source) (`,` type($mask)^)? (`,` type($paddingValue)^)? " +
				"`->` type($result) `,` type($result_token)",
			Summary: "Loads through a tile of pointers; where the mask is false the result is the padding value."},
		{Name: "store_ptr_tko", Opcode: 0x65, Since: V131,
			Args: args(ordering, scope, hints, in("destination", "Ptr"), in("value", "Tile"), opt("mask", "I1"),
				token),
			Results: results(newToken),
			Same:    rules(says("failed to verify that shape of 'destination' must match the shape of 'mask'", sameShape("destination", "mask"))),
			Traits:  writes | ir.Segmented,
			Format: sync + "$destination `,` $value (`,` $mask^)? " + tokenText + hintsText + "attr-dict " +
				"`:` type($destination) `,` type($value) (`,` type($mask)^)? `->` type($result_token)",
			Summary: "Stores through a tile of pointers where the mask is not false."},
		{Name: "atomic_cas_tko", Opcode: 0x07, Since: V131,
			Args: args(ordering, mustHave, in("pointers", "Ptr"), in("cmp", "Tile"), in("val", "Tile"),
				opt("mask", "I1"), token),
			Results: results(res("result", "Tile"), newToken),
			Same:    rules(sameType("cmp", "val", "result"), sameShape("pointers", "cmp", "val", "result"), sameShape("pointers", "cmp", "val", "mask")),
			Traits:  reads | writes | ir.Segmented,
			Format: "$memory_ordering_semantics $memory_scope $pointers `,` $cmp `,` $val (`,` $mask^)? " + tokenText +
				"attr-dict `:` type($pointers) `,` type($val) (`,` type($mask)^)? " +
				"`->` type($result) `,` type($result_token)",
			Summary: "Replaces elements in memory that hold cmp, bit by bit, and returns the old ones."},
		{Name: "atomic_rmw_tko", Opcode: 0x08, Since: V131,
			Args: args(ordering, mustHave, of("mode", &AtomicModeEnum), in("pointers", "Ptr"), in("arg", "Tile"),
				opt("mask", "I1"), token),
			Results: results(res("result", "Tile"), newToken),
			Same:    rules(sameType("arg", "result"), sameShape("pointers", "arg", "result"), sameShape("pointers", "arg", "mask")),
			Traits:  reads | writes | ir.Segmented,
			Format: "$memory_ordering_semantics $memory_scope $pointers `,` $mode `,` $arg (`,` $mask^)? " + tokenText +
				"attr-dict `:` type($pointers) `,` type($arg) (`,` type($mask)^)? " +
				"`->` type($result) `,` type($result_token)",
			Summary: "Combines elements in memory with arg and returns the old ones."},
		{Name: "atomic_red_view_tko", Opcode: 0x75, Since: V133,
			Args: args(ordering, mustHave, of("mode", &AtomicModeEnum), inbounds(V135), in("view", "TileView"), index,
				in("value", "Tile"), token),
			Results: results(newToken),
			Traits:  reads | writes | ir.Segmented,
			Summary: "Combines a tile of a view in memory with value."},
		dependency("gdc_launch_dependents_tko", 0x77, "Lets the kernels that depend on this one start."),
		dependency("gdc_wait_tko", 0x78, "Waits for the stores of the kernels that this one depends on."),
		{Name: "memory_fence_alias_tko", Opcode: 0x7A, Since: V134,
			Args:    args(in("token", "Token")),
			Results: results(newToken),
			Traits:  ir.Ordered,
			Format:  "$token attr-dict",
			Summary: "Orders accesses to one place in memory through different addresses."},
		{Name: "multimem_load_reduce_view_tko", Opcode: 0x7B, Since: V135,
			Args: args(ordering, scope, of("reduction", &MultimemEnum), inbounds(V135), in("view", "PartitionView"), index,
				token),
			Results: results(res("reduced_values", "Tile"), newToken),
			Traits:  reads | ir.Segmented,
			Summary: "Loads a tile from the copies of multicast memory and combines them."},
		{Name: "multimem_reduce_view_tko", Opcode: 0x7C, Since: V135,
			Args: args(ordering, mustHave, of("reduction", &MultimemEnum), inbounds(V135), in("view", "PartitionView"),
				in("tile", "Tile"), index, token),
			Results: results(newToken),
			Traits:  reads | writes | ir.Segmented,
			Summary: "Combines a tile into every copy of multicast memory."},
		{Name: "multimem_store_view_tko", Opcode: 0x7D, Since: V135,
			Args: args(ordering, scope, inbounds(V135), in("view", "PartitionView"), in("tile", "Tile"), index,
				token),
			Results: results(newToken),
			Traits:  writes | ir.Segmented,
			Summary: "Stores a tile to every copy of multicast memory."},
	}
}
