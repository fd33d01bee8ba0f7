// Package def is the rows of the TileAA dialect: data only, so that generators can import it.
//
// It may import ir only.
package def

import "tileiras/ir"

// in is an operand; opt and many are optional and variadic ones.
func in(names ...string) []ir.ArgDef   { return operands(ir.Single, names) }
func opt(names ...string) []ir.ArgDef  { return operands(ir.Optional, names) }
func many(names ...string) []ir.ArgDef { return operands(ir.Variadic, names) }

func operands(m ir.Mode, names []string) []ir.ArgDef {
	var as []ir.ArgDef
	for _, n := range names {
		as = append(as, ir.ArgDef{Name: n, Mode: m})
	}
	return as
}

// attr is a required attribute, optAttr one that may be absent.
func attr(name string, k ir.AttrKind) []ir.ArgDef { return []ir.ArgDef{{Name: name, Attr: k}} }
func optAttr(name string, k ir.AttrKind) []ir.ArgDef {
	return []ir.ArgDef{{Name: name, Attr: k, Mode: ir.Optional}}
}

// of is an attribute of an enumeration; it defaults to the enumeration's first case unless dflt says otherwise.
func of(name string, e *ir.EnumDef, dflt uint32) []ir.ArgDef {
	return []ir.ArgDef{{Name: name, Attr: ir.EnumKind, Enum: e, Default: e.Of(dflt), Mode: ir.Optional}}
}

func unit(names ...string) []ir.ArgDef {
	var as []ir.ArgDef
	for _, n := range names {
		as = append(as, ir.ArgDef{Name: n, Attr: ir.UnitKind, Mode: ir.Optional})
	}
	return as
}

func args(parts ...[]ir.ArgDef) []ir.ArgDef {
	var as []ir.ArgDef
	for _, p := range parts {
		as = append(as, p...)
	}
	return as
}

func res(names ...string) []ir.ResultDef {
	var rs []ir.ResultDef
	for _, n := range names {
		rs = append(rs, ir.ResultDef{Name: n})
	}
	return rs
}

var manyResults = []ir.ResultDef{{Name: "results", Mode: ir.Variadic}}

func regions(names ...string) []ir.RegionDef {
	var rs []ir.RegionDef
	for _, n := range names {
		rs = append(rs, ir.RegionDef{Name: n})
	}
	return rs
}

const (
	elementwise = ir.Pure | ir.Speculatable | ir.Elementwise | ir.Replicable
	// trapping ops are undefined for some operands (division by zero), so they do not move above branches.
	trapping = ir.Pure | ir.Elementwise | ir.Replicable
	shape    = ir.Pure | ir.Speculatable | ir.Replicable
)

func row(name string, a []ir.ArgDef, r []ir.ResultDef, t ir.Traits, summary string) *ir.OpDef {
	return &ir.OpDef{Name: name, NoOpcode: true, Args: a, Results: r, Traits: t, Summary: summary}
}

func with(d *ir.OpDef, rs []ir.RegionDef) *ir.OpDef { d.Regions = rs; return d }

func same(d *ir.OpDef, names ...string) *ir.OpDef {
	d.Same = append(d.Same, ir.SameRule{What: ir.SameType, Names: names})
	return d
}

func sameShape(d *ir.OpDef, names ...string) *ir.OpDef {
	d.Same = append(d.Same, ir.SameRule{What: ir.SameShape, Names: names})
	return d
}

func unary(name, summary string, attrs ...[]ir.ArgDef) *ir.OpDef {
	return same(row(name, args(append([][]ir.ArgDef{in("source")}, attrs...)...), res("result"), elementwise, summary), "source", "result")
}

func binary(name string, t ir.Traits, summary string, attrs ...[]ir.ArgDef) *ir.OpDef {
	return same(row(name, args(append([][]ir.ArgDef{in("lhs", "rhs")}, attrs...)...), res("result"), t, summary), "lhs", "rhs", "result")
}

func cast(name, summary string, attrs ...[]ir.ArgDef) *ir.OpDef {
	return sameShape(row(name, args(append([][]ir.ArgDef{in("source")}, attrs...)...), res("result"), elementwise, summary), "source", "result")
}

var (
	rounding = of("rounding", Rounding, RoundNearestEven)
	full     = of("rounding", Rounding, RoundFull)
	ftz      = unit("flush_to_zero")
	overflow = of("overflow", Overflow, 0)
	sign     = of("signedness", Signedness, Signed)
	order    = of("order", MemOrder, Weak)
	scope    = []ir.ArgDef{{Name: "scope", Attr: ir.EnumKind, Enum: Scope, Mode: ir.Optional}}
	mode     = of("mode", AtomicMode, ModeAdd)
	// access is what select-atoms decides about a memory access: codegen asks no facts.
	//   vec     elements per instruction and thread
	//   narrow  byte offsets from the base fit in signed 32 bits
	//   fast    the dimension of the tile along which memory runs
	//   masked  per dimension of the tile, whether a bounds check is needed (tiled accesses only)
	//   coordinate_bits
	//           per dimension of the tile, the bits that hold its start and the extent, unsigned: 31, 32 or 64 (tiled accesses only)
	access = args(optAttr("vec", ir.I64Kind), optAttr("fast", ir.I64Kind), unit("narrow"), optAttr("masked", ir.BoolArrayKind),
		optAttr("coordinate_bits", ir.I64ArrayKind))
	// latency is the frontend's hint, 1 to 10.
	latency = optAttr("latency", ir.I64Kind)
)

const commutative = elementwise | ir.Commutative

// Ops are the rows of the dialect. "tile" below means a tile of any rank; a rank-0 tile is one value that all threads of
// the tile block hold, and never has a layout.
var Ops = []*ir.OpDef{
	// Module items.
	with(row("module", args(attr("sym_name", ir.SymbolNameKind), optAttr("producer", ir.StringKind)), nil,
		ir.Isolated|ir.SymbolTable, "A compilation unit: entries and globals."), regions("body")),
	with(row("entry", args(attr("sym_name", ir.SymbolNameKind), optAttr("hints", ir.HintsKind),
		optAttr("plan", ir.AnyKind), optAttr("shared_bytes", ir.I64Kind)), nil,
		ir.Isolated|ir.Symbol, "A kernel; its parameters, rank-0 tiles, are the arguments of its only block."), regions("body")),
	row("global", args(attr("sym_name", ir.SymbolNameKind), attr("value", ir.DenseKind), optAttr("alignment", ir.I64Kind),
		unit("constant", "private")), nil, ir.Symbol, "Device memory with initial content; value is a rank-1 tile constant."),

	// Float arithmetic. Meaning and rounding as the Tile IR op of the same name.
	binary("addf", commutative, "x + y.", rounding, ftz),
	binary("subf", elementwise, "x - y.", rounding, ftz),
	binary("mulf", commutative, "x * y.", rounding, ftz),
	binary("divf", elementwise, "x / y; rounding approx and full are the 2-ulp forms.", rounding, ftz),
	binary("remf", elementwise, "x - trunc(x/y)*y, sign of x."),
	binary("maxf", commutative, "The larger; +0 > -0; NaN only if both are, or with propagate_nan either is.", unit("propagate_nan"), ftz),
	binary("minf", commutative, "The smaller; -0 < +0; NaN as maxf.", unit("propagate_nan"), ftz),
	same(row("fma", args(in("lhs", "rhs", "acc"), rounding, ftz), res("result"), elementwise, "x*y + z with one rounding."), "lhs", "rhs", "acc", "result"),
	unary("negf", "Flips the sign."),
	unary("absf", "Clears the sign."),
	unary("ceil", "Smallest integer not below x."),
	unary("floor", "Largest integer not above x."),
	unary("sqrt", "Square root.", rounding, ftz),
	unary("rsqrt", "1/sqrt(x).", ftz),
	unary("exp", "e^x; rounding full or approx.", full),
	unary("exp2", "2^x.", ftz),
	unary("log", "ln x."),
	unary("log2", "log2 x."),
	unary("sin", "Sine of radians."),
	unary("cos", "Cosine of radians."),
	unary("tan", "Tangent of radians."),
	unary("sinh", "Hyperbolic sine."),
	unary("cosh", "Hyperbolic cosine."),
	unary("tanh", "Hyperbolic tangent; rounding full or approx.", full),
	binary("pow", elementwise, "x^y."),
	binary("atan2", elementwise, "The angle of x / y (first over second operand)."),
	sameShape(same(row("powi", in("source", "exponent"), res("result"), elementwise, "x^n with a signed integer n."), "source", "result"), "source", "exponent"),
	same(sameShape(row("cmpf", args(in("lhs", "rhs"), of("predicate", Predicate, 0), of("ordering", Ordering, Ordered)), res("result"),
		elementwise, "Compares; ordered is false and unordered true if either is NaN."), "lhs", "result"), "lhs", "rhs"),

	// Integer arithmetic: wraps; overflow flags are promises.
	binary("addi", commutative, "x + y.", overflow),
	binary("subi", elementwise, "x - y.", overflow),
	binary("muli", commutative, "Low half of x * y.", overflow),
	binary("mulhii", commutative, "High half of the unsigned product."),
	binary("divi", trapping, "Quotient, rounded to zero, down or up.", sign, of("rounding", Rounding, RoundZero)),
	binary("remi", trapping, "Remainder of truncated division, sign of lhs.", sign),
	binary("maxi", commutative, "The larger.", sign),
	binary("mini", commutative, "The smaller.", sign),
	binary("andi", commutative, "Bitwise and."),
	binary("ori", commutative, "Bitwise or."),
	binary("xori", commutative, "Bitwise exclusive or."),
	binary("shli", elementwise, "Shift left, zero fill; the amount is unsigned, amounts of the width or more give 0.", overflow),
	binary("shri", elementwise, "Shift right, sign or zero fill.", sign),
	unary("absi", "Absolute value; the minimum stays."),
	unary("negi", "Two's complement.", overflow),
	same(sameShape(row("cmpi", args(in("lhs", "rhs"), of("predicate", Predicate, 0), sign), res("result"), elementwise, "Compares."), "lhs", "result"), "lhs", "rhs"),
	same(row("select", in("cond", "true_value", "false_value"), res("result"), elementwise, "Picks per element by an i1 tile of the same shape."), "true_value", "false_value", "result"),

	// Conversions.
	cast("bitcast", "Same bits, other element type of the same width."),
	cast("exti", "Widens an integer by sign or zeros.", sign),
	cast("trunci", "Drops high bits.", overflow),
	cast("ftof", "Float to float; out of range as the Tile IR conversion table.", rounding),
	cast("ftoi", "Truncates; undefined out of range unless saturating. To i1: x != 0, also for NaN.", sign, unit("saturating")),
	cast("itof", "Nearest even.", sign),
	cast("int_to_ptr", "i64 to pointer."),
	cast("ptr_to_int", "Pointer to i64."),
	cast("ptr_cast", "Pointer to pointer of another element type."),
	row("pack", in("source"), res("result"), shape, "Reinterprets a rank-1 tile as bytes (i8), low nibble first."),
	row("unpack", in("source"), res("result"), shape, "The inverse of pack."),

	// Construction and shape.
	row("constant", attr("value", ir.DenseKind), res("result"), shape|ir.ConstantLike, "A constant tile."),
	row("iota", nil, res("result"), shape, "0 .. n-1 in a rank-1 integer tile."),
	row("splat", in("source"), res("result"), shape, "Every element is the rank-0 source."),
	row("broadcast", in("source"), res("result"), shape, "Repeats dimensions of size 1; the ranks are equal."),
	row("reshape", in("source"), res("result"), shape, "Row-major reinterpretation."),
	row("permute", args(in("source"), attr("permutation", ir.I32ArrayKind)), res("result"), shape, "Result dimension i is source dimension permutation[i]."),
	row("cat", args(in("lhs", "rhs"), attr("dim", ir.I64Kind)), res("result"), shape, "Concatenates along dim."),
	row("extract", args(in("source"), many("indices")), res("result"), shape, "The slice with these slice numbers (rank-0 i32)."),
	row("insert", args(in("source", "dest"), many("indices")), res("result"), shape, "dest with one slice replaced."),
	row("pad", args(in("source"), opt("value")), res("result"), shape, "Enlarges dimensions at their ends; new elements are the rank-0 value, or 0."),
	same(row("assume", args(in("value"), attr("predicate", ir.PredicateKind)), res("result"), elementwise, "Passes the value with a promise about it."), "value", "result"),
	sameShape(row("offset", in("ptr", "offset"), res("result"), elementwise, "Pointer plus signed offset in elements."), "ptr", "offset"),

	// Contraction and reduction.
	row("dot", args(in("lhs", "rhs", "acc"), of("signedness_lhs", Signedness, Signed), of("signedness_rhs", Signedness, Signed),
		unit("fast_acc"), optAttr("atom", ir.StringKind)), res("result"), ir.Pure|ir.Speculatable,
		"acc + lhs * rhs per batch; shapes [B]MxK, [B]KxN, [B]MxN. atom names a row of codegen/atom after select-atoms."),
	row("dot_scaled", args(in("lhs", "rhs", "acc", "lhs_scale", "rhs_scale"), optAttr("atom", ir.StringKind)), res("result"), ir.Pure|ir.Speculatable,
		"Multiplies blocks along K by their scales, then as dot."),
	with(row("reduce", args(attr("dim", ir.I64Kind), attr("identities", ir.ArrayKind), many("operands")), manyResults, ir.Pure,
		"Combines along dim; the region maps pairs (what came before, what comes next)... to what both make; associative, order free."), regions("combine")),
	with(row("scan", args(attr("dim", ir.I64Kind), attr("identities", ir.ArrayKind), unit("reverse"), many("operands")), manyResults, ir.Pure,
		"Inclusive scan along dim; the region as that of reduce, in order."), regions("combine")),

	// Memory.
	row("make_memref", args(in("base"), many("shape"), many("strides")), res("result"), ir.Pure|ir.Speculatable,
		"A strided array in memory: a pointer with one rank-0 integer, unsigned, per dynamic extent and stride (in elements)."),
	row("block_tile", args(in("memref"), many("indices"), attr("traversal", ir.I64ArrayKind), attr("dim_map", ir.I32ArrayKind),
		[]ir.ArgDef{{Name: "padding", Attr: ir.EnumKind, Enum: Padding, Mode: ir.Optional}},
		optAttr("sparse_dim", ir.I64Kind), optAttr("inbounds", ir.BoolArrayKind), unit("anywhere")), res("result"), ir.Pure|ir.Speculatable,
		"One tile of an array: tile element k of dimension d lies at coordinate indices[d]*traversal[d] + k of array dimension dim_map[d]. "+
			"With sparse_dim s, indices[s] is a rank-1 tile of coordinates and the other indices are element offsets (traversal 1). "+
			"Indices are unsigned. With anywhere, they may lie outside the index space by less than the largest tile."),
	row("tiled_load", args(in("block"), opt("token"), order, scope, latency, access), res("result", "result_token"), ir.Ordered|ir.Reads,
		"Loads a block; elements outside the array are the block's padding, else unspecified."),
	row("tiled_store", args(in("value", "block"), opt("token"), order, scope, access), res("result_token"), ir.Ordered|ir.Writes,
		"Stores a block; elements outside the array are dropped."),
	row("tiled_atomic", args(in("block", "value"), opt("token"), mode, order, scope, access), res("result_token"), ir.Ordered|ir.Reads|ir.Writes,
		"Reduces a tile into a block, element by element; relaxed."),
	row("multimem_store", args(in("value", "block"), opt("token"), order, scope, access), res("result_token"), ir.Ordered|ir.Writes,
		"Stores a block to every copy of multicast memory; elements outside the array are dropped."),
	row("multimem_reduce", args(in("value", "block"), opt("token"), mode, order, scope, access), res("result_token"), ir.Ordered|ir.Reads|ir.Writes,
		"Reduces a tile into every copy of a block of multicast memory, element by element; never weak."),
	row("multimem_load", args(in("block"), opt("token"), mode, order, scope, access), res("result", "result_token"), ir.Ordered|ir.Reads,
		"Loads a block from every copy of multicast memory and combines what they hold; mode min and max take floats too."),
	row("load", args(in("ptr"), opt("mask", "padding", "token"), order, scope, latency, access), res("result", "result_token"), ir.Ordered|ir.Reads,
		"Loads through a tile of pointers; masked elements are padding, else unspecified."),
	row("store", args(in("ptr", "value"), opt("mask", "token"), order, scope, access), res("result_token"), ir.Ordered|ir.Writes,
		"Stores through a tile of pointers where the mask is set."),
	row("atomic_rmw", args(in("ptr", "arg"), opt("mask", "token"), mode, order, scope), res("result", "result_token"), ir.Ordered|ir.Reads|ir.Writes,
		"Read-modify-write per element; returns the old value."),
	row("atomic_cas", args(in("ptr", "cmp", "value"), opt("mask", "token"), order, scope), res("result", "result_token"), ir.Ordered|ir.Reads|ir.Writes,
		"Compare-and-swap of bits per element; returns the old value, masked elements cmp."),
	row("create_mem_token", nil, res("result"), ir.Pure|ir.Speculatable, "A token that nothing precedes."),
	row("join_mem_token", many("tokens"), res("result"), ir.Pure|ir.Speculatable, "After all of the tokens."),
	row("fence_alias", opt("token"), res("result"), ir.Ordered|ir.Reads|ir.Writes, "Orders accesses to one location through different virtual aliases."),
	row("gdc_wait", opt("token"), res("result"), ir.Ordered|ir.Reads|ir.Writes, "Waits for the stores of the preceding grids; nothing below sm_90."),
	row("gdc_launch_dependents", opt("token"), res("result"), ir.Ordered|ir.Writes, "Lets dependent grids start; nothing below sm_90."),
	row("get_global", attr("name", ir.SymbolRefKind), res("result"), ir.Pure|ir.Speculatable, "Pointer to element 0 of a global."),
	row("alloca", args(attr("num_elem", ir.I64Kind), attr("alignment", ir.I64Kind), unit("global")), res("result"), ir.Ordered|ir.Writes,
		"A slot of the tile block's memory that lives until the end of its block."),

	// The grid.
	row("program_id", attr("axis", ir.I64Kind), res("result"), shape, "Index of this tile block, rank-0 i32."),
	row("num_programs", attr("axis", ir.I64Kind), res("result"), shape, "Tile blocks of the grid, rank-0 i32."),

	// Control flow.
	with(row("for", args(in("lower", "upper", "step"), many("inits"), unit("unsigned")), manyResults, ir.Traits(0),
		"Counts from lower below upper; the region's arguments are the induction variable and the carried values; ends in continue."), regions("body")),
	with(row("loop", many("inits"), manyResults, ir.Traits(0), "Repeats until break; results are the operands of break."), regions("body")),
	with(row("if", in("cond"), manyResults, ir.Traits(0), "One of two regions; a branch may end in yield, break, continue or return."),
		[]ir.RegionDef{{Name: "then"}, {Name: "else", Optional: true}}),
	row("yield", many("values"), nil, ir.Terminator, "Results of an if, a reduce or a scan."),
	row("break", many("values"), nil, ir.Terminator, "Leaves the innermost loop with its results."),
	row("continue", many("values"), nil, ir.Terminator, "Next iteration of the innermost for or loop."),
	row("return", nil, nil, ir.Terminator, "Ends the tile block."),

	// Debugging.
	row("print", args(attr("format", ir.StringKind), many("values"), opt("token")), res("result_token"), ir.Ordered|ir.Writes,
		"Prints with C conversions; a tile prints as a list."),
	row("assert", args(in("cond"), attr("message", ir.StringKind)), nil, ir.Ordered|ir.Writes, "Reports and traps where an element is false."),

	// After selection. Tile values of rank > 0 have layouts in their types from assign-layouts on.
	row("convert_layout", in("source"), res("result"), ir.Pure|ir.Speculatable, "The same tile in another layout."),
	row("alloc_shared", optAttr("offset", ir.I64Kind), res("result"), ir.Ordered,
		"A buffer in shared memory; allocate-shared gives its byte offset."),
	row("buffer_store", args(in("value", "buffer"), optAttr("atom", ir.StringKind)), nil, ir.Ordered|ir.Writes,
		"Writes a tile to a buffer; each element by its owner thread only."),
	row("buffer_load", args(in("buffer"), optAttr("atom", ir.StringKind)), res("result"), ir.Ordered|ir.Reads,
		"Reads a tile in the layout of the result; atom names the instruction (ld.shared, ldmatrix)."),
	row("buffer_extract", args(in("buffer"), many("indices")), res("result"), ir.Ordered|ir.Reads,
		"Reads the slice with these slice numbers (rank-0 i32) in the layout of the result."),
	row("buffer_insert", args(in("value", "buffer"), many("indices")), nil, ir.Ordered|ir.Writes,
		"Writes a tile over the slice with these slice numbers."),
	row("async_copy", args(in("block", "buffer"), opt("token"), attr("layout", ir.AnyKind), access), nil, ir.Ordered|ir.Reads|ir.Writes,
		"Copies a block to a buffer with cp.async; layout is the copy map; elements outside the array become zero."),
	row("async_commit", nil, nil, ir.Ordered, "Ends a group of copies of this thread."),
	row("async_wait", attr("pending", ir.I64Kind), nil, ir.Ordered, "Waits until at most so many groups of this thread are pending."),
	row("barrier", args(optAttr("id", ir.I64Kind), optAttr("threads", ir.I64Kind), unit("warp")), nil, ir.Ordered|ir.Reads|ir.Writes,
		"All threads of the block (or, with warp, of each warp) meet; memory is ordered."),
}
