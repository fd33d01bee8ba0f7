package def

import "tileiras/ir"

func controlOps() []*ir.OpDef {
	terminator := func(name string, opcode uint32, kind ir.FlowKind, summary string) *ir.OpDef {
		return &ir.OpDef{Name: name, Opcode: opcode, Since: V131,
			Args:    args(many("operands", "Any")),
			Traits:  ir.Terminator,
			Flow:    ir.FlowDef{Kind: kind},
			Format:  "attr-dict ($operands^ `:` type($operands))?",
			Summary: summary,
		}
	}
	return []*ir.OpDef{
		{Name: "module", Opcode: 0x4B, Since: V131,
			Args:    args(attr("sym_name", ir.SymbolNameKind), since(V133, optAttr("producer", ir.StringKind))),
			Regions: regions("body"),
			Traits:  ir.Isolated | ir.SymbolTable,
			Summary: "The compilation unit: globals and entries."},
		{Name: "entry", Opcode: 0x16, Since: V131,
			Args: args(attr("sym_name", ir.SymbolNameKind), attr("function_type", ir.TypeKind),
				optAttr("arg_attrs", ir.ArrayKind), optAttr("res_attrs", ir.ArrayKind),
				optAttr("optimization_hints", ir.HintsKind)),
			Regions: regions("body"),
			Traits:  ir.Isolated | ir.Symbol | ir.Function | ir.ImplicitTerminator | ir.Ordered,
			Summary: "A kernel, run once for each tile block of a grid."},
		{Name: "global", Opcode: 0x31, Since: V131,
			Args: args(attr("sym_name", ir.SymbolNameKind), attr("value", ir.DenseKind),
				ir.ArgDef{Name: "alignment", Attr: ir.I64Kind, Default: ir.IntegerAttr{}},
				since(V133, ofDefault("symbol_visibility", &VisibilityEnum, Public)),
				since(V133, unit("constant"))),
			Traits:  ir.Symbol | ir.Ordered,
			Summary: "Device memory that is initialised when the module is loaded."},
		{Name: "get_global", Opcode: 0x2C, Since: V131,
			Args:    args(attr("name", ir.SymbolRefKind)),
			Results: results(res("result", "ScalarPtr")),
			Traits:  movement,
			Format:  "$name attr-dict `:` type($result)",
			Summary: "The pointer to the first element of a global."},
		terminator("return", 0x5C, ir.ReturnFlow, "Ends the kernel."),
		{Name: "if", Opcode: 0x32, Since: V131,
			Args:    args(in("condition", "ScalarI1")),
			Results: results(manyRes("results", "Any")),
			Regions: []ir.RegionDef{{Name: "thenRegion"}, {Name: "elseRegion", Optional: true}},
			Flow:    ir.FlowDef{Kind: ir.BranchFlow},
			Traits:  ir.ImplicitTerminator,
			Summary: "Runs one of two regions; its results are what the region yields."},
		{Name: "for", Opcode: 0x29, Since: V131,
			Args: args(since(V132, unit("unsignedCmp")), in("lowerBound", "ScalarInt"), in("upperBound", "ScalarInt"),
				in("step", "ScalarInt"), many("initValues", "Any")),
			Results: results(manyRes("resultValues", "Any")),
			Regions: regions("region"),
			Same:    rules(sameType("lowerBound", "upperBound", "step")),
			Flow:    ir.FlowDef{Kind: ir.CountedFlow, Inits: "initValues", Own: 1},
			Traits:  ir.ImplicitTerminator,
			Summary: "Counts from lowerBound to below upperBound by a positive step and carries values along."},
		{Name: "loop", Opcode: 0x41, Since: V131,
			Args:    args(many("initValues", "Any")),
			Results: results(manyRes("resultValues", "Any")),
			Regions: regions("region"),
			Flow:    ir.FlowDef{Kind: ir.LoopFlow, Inits: "initValues"},
			Traits:  ir.ImplicitTerminator,
			Summary: "Repeats its region until a break, whose operands are the results."},
		terminator("break", 0x0A, ir.BreakFlow, "Leaves the innermost loop."),
		terminator("continue", 0x11, ir.ContinueFlow, "Goes to the next iteration of the innermost loop or for."),
		terminator("yield", 0x6D, ir.YieldFlow, "Ends a branch of an if, or the body of a reduce or scan, with its values."),
		{Name: "assert", Opcode: 0x05, Since: V131,
			Args:    args(attr("message", ir.StringKind), in("condition", "I1")),
			Traits:  ir.Ordered,
			Format:  "$condition `,` $message attr-dict `:` type($condition)",
			Summary: "Reports each element that is false to the host."},
		{Name: "assume", Opcode: 0x06, Since: V131,
			Args:    args(attr("predicate", ir.PredicateKind), in("value", "Any")),
			Results: results(res("result", "Any")),
			Same:    rules(sameType("value", "result")),
			Traits:  ir.Pure | ir.Replicable,
			Format:  "custom<AssumePredicate>($predicate) `,` $value attr-dict `:` type($value)",
			Summary: "Passes a value on and promises something about it."},
		{Name: "print_tko", OldNames: []ir.OldName{{Name: "print", Until: V132}}, Opcode: 0x55, Since: V131,
			Args: args(attr("str", ir.StringKind), many("args", "Tile"),
				since(V132, opt("token", "Token"))),
			Results: []ir.ResultDef{{Name: "result_token", Constraint: "Token", Since: V132}},
			Traits:  ir.Ordered | ir.Segmented,
			Format: "$str (`,` $args^)? (`token` `` `=` `` $token^)? attr-dict (`:` type($args)^)? " +
				"`->` type($result_token)",
			Summary: "Prints to the host's output, for debugging."},
	}
}

func queryOps() []*ir.OpDef {
	grid := func(name string, opcode uint32, prefix, summary string) *ir.OpDef {
		x, y, z := prefix+"_x", prefix+"_y", prefix+"_z"
		return &ir.OpDef{Name: name, Opcode: opcode, Since: V131,
			Results: results(res(x, "ScalarI32"), res(y, "ScalarI32"), res(z, "ScalarI32")),
			Same:    rules(sameType(x, y, z)),
			Traits:  movement,
			Format:  "attr-dict `:` type($" + x + ")",
			Summary: summary,
		}
	}
	extents := func(name string, opcode uint32, view, summary string) *ir.OpDef {
		return &ir.OpDef{Name: name, Opcode: opcode, Since: V131,
			Args:    args(in("src", view)),
			Results: results(manyRes("results", "ScalarInt")),
			Traits:  movement,
			Summary: summary,
		}
	}
	return []*ir.OpDef{
		grid("get_tile_block_id", 0x30, "blockId", "The place of this tile block in the grid."),
		grid("get_num_tile_blocks", 0x2E, "gridSize", "The extents of the grid."),
		extents("get_tensor_shape", 0x2F, "TensorView", "The extents of a tensor view."),
		extents("get_index_space_shape", 0x2D, "TileView", "How many tiles a view has along each dimension."),
	}
}
