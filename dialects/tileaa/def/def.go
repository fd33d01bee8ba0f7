// Package def is the rows of the TileAA dialect: data only, so that generators can import it.
package def

import (
	"slices"
	"strings"

	"tileiras/ir"
)

// in is an operand; opt and many are optional and variadic ones. A name is followed by the set of its types: "lhs:float".
func in(names ...string) []ir.ArgDef   { return operands(ir.Single, names) }
func opt(names ...string) []ir.ArgDef  { return operands(ir.Optional, names) }
func many(names ...string) []ir.ArgDef { return operands(ir.Variadic, names) }

func operands(m ir.Mode, names []string) []ir.ArgDef {
	as := make([]ir.ArgDef, len(names))
	for i, n := range names {
		name, set := typed(n)
		as[i] = ir.ArgDef{Name: name, Constraint: set, Mode: m}
	}
	return as
}

// typed splits a name from the set of its types.
func typed(s string) (name, set string) {
	name, set, ok := strings.Cut(s, ":")
	if !ok {
		panic("BUG: " + s + " names no set of types")
	}
	return name, set
}

// attr is a required attribute, optAttr one that may be absent.
func attr(name string, k ir.AttrKind) []ir.ArgDef { return []ir.ArgDef{{Name: name, Attr: k}} }
func optAttr(name string, k ir.AttrKind) []ir.ArgDef {
	return []ir.ArgDef{{Name: name, Attr: k, Mode: ir.Optional}}
}

// class is an attribute of a Go type of package tileaa; optional makes it one that may be absent.
func class(name, goType string) []ir.ArgDef {
	return []ir.ArgDef{{Name: name, Attr: ir.AnyKind, Class: goType}}
}
func optional(as []ir.ArgDef) []ir.ArgDef { as[0].Mode = ir.Optional; return as }

// of is an attribute of an enumeration; it defaults to the enumeration's first case unless dflt says otherwise.
func of[E ~uint32](name string, e *ir.Enum[E], dflt E) []ir.ArgDef {
	return []ir.ArgDef{{Name: name, Attr: ir.EnumKind, Enum: &e.EnumDef, Default: e.Of(dflt), Mode: ir.Optional}}
}

// optOf is an attribute of an enumeration that may be absent.
func optOf[E ~uint32](name string, e *ir.Enum[E]) []ir.ArgDef {
	return []ir.ArgDef{{Name: name, Attr: ir.EnumKind, Enum: &e.EnumDef, Mode: ir.Optional}}
}

func unit(names ...string) []ir.ArgDef {
	var as []ir.ArgDef
	for _, n := range names {
		as = append(as, ir.ArgDef{Name: n, Attr: ir.UnitKind, Mode: ir.Optional})
	}
	return as
}

func args(parts ...[]ir.ArgDef) []ir.ArgDef { return slices.Concat(parts...) }

func res(names ...string) []ir.ResultDef {
	rs := make([]ir.ResultDef, len(names))
	for i, n := range names {
		name, set := typed(n)
		rs[i] = ir.ResultDef{Name: name, Constraint: set}
	}
	return rs
}

// tiles are the results of reduce and scan, values those of control flow.
var (
	tiles  = []ir.ResultDef{{Name: "results", Constraint: "tile", Mode: ir.Variadic}}
	values = []ir.ResultDef{{Name: "results", Constraint: "value", Mode: ir.Variadic}}
)

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

func sameElem(d *ir.OpDef, names ...string) *ir.OpDef {
	d.Same = append(d.Same, ir.SameRule{What: ir.SameElem, Names: names})
	return d
}

// costly ops take about so many instructions for an element, and are not made again in another layout: their results are converted.
func costly(instrs int, d *ir.OpDef) *ir.OpDef { d.Instrs = instrs; return d }

// flow says how control passes through an op; its operands inits are what it carries.
func flow(d *ir.OpDef, f ir.FlowDef) *ir.OpDef { d.Flow = f; return d }

// effects says what an op does with memory.
func effects(d *ir.OpDef, es ...ir.EffectDef) *ir.OpDef {
	d.Effects = append(d.Effects, es...)
	return d
}

func reads(on string) ir.EffectDef   { return ir.EffectDef{Kind: ir.Read, On: on} }
func writes(on string) ir.EffectDef  { return ir.EffectDef{Kind: ir.Write, On: on} }
func updates(on string) ir.EffectDef { return ir.EffectDef{Kind: ir.Read | ir.Write, On: on} }

// factor is the effect of an operand of a product, which is a tile or a buffer that is read.
func factor(on string) ir.EffectDef { return ir.EffectDef{Kind: ir.Read, On: on, IfMemory: true} }

var (
	// ordersAll is the effect of an op that orders all accesses before it and after it.
	ordersAll = ir.EffectDef{Kind: ir.Read | ir.Write | ir.Fence}
	// sums is the effect of a product on the memory where it sums, if that is not registers.
	sums = ir.EffectDef{Kind: ir.Read | ir.Write, On: "memory", IfMemory: true}
	// ordersCopies is the effect of an op that orders the asynchronous copies of its thread.
	ordersCopies = ir.EffectDef{Kind: ir.Fence}
	// tells is the effect of an op that tells the host or other grids something.
	tells = ir.EffectDef{Kind: ir.Write}
	// allocates is the effect of an op whose result is new memory.
	allocates = ir.EffectDef{Kind: ir.Allocate}
)

// unary, binary and cast are element-wise ops on tiles of a set of types.
func unary(name, set, summary string, attrs ...[]ir.ArgDef) *ir.OpDef {
	return same(row(name, args(append([][]ir.ArgDef{in("source:" + set)}, attrs...)...), res("result:"+set), elementwise, summary), "source", "result")
}

func binary(name, set string, t ir.Traits, summary string, attrs ...[]ir.ArgDef) *ir.OpDef {
	return same(row(name, args(append([][]ir.ArgDef{in("lhs:"+set, "rhs:"+set)}, attrs...)...), res("result:"+set), t, summary), "lhs", "rhs", "result")
}

func cast(name, from, to, summary string, attrs ...[]ir.ArgDef) *ir.OpDef {
	return sameShape(row(name, args(append([][]ir.ArgDef{in("source:" + from)}, attrs...)...), res("result:"+to), elementwise, summary), "source", "result")
}

const commutative = elementwise | ir.Commutative

// Ops makes the rows of the dialect. "tile" below means a tile of any rank; a rank-0 tile is one value that all threads of
// the tile block hold, and never has a layout.
func Ops() []*ir.OpDef {
	var (
		rounding = of("rounding", &RoundingEnum, RoundNearestEven)
		full     = of("rounding", &RoundingEnum, RoundFull)
		ftz      = unit("flush_to_zero")
		overflow = of("overflow", &OverflowEnum, NoOverflow)
		sign     = of("signedness", &SignednessEnum, Signed)
		order    = of("order", &MemOrderEnum, Weak)
		scope    = optOf("scope", &ScopeEnum)
		mode     = of("mode", &AtomicModeEnum, ModeAdd)
		// predicate is the comparison; the text leaves equal out.
		predicate = of("predicate", &PredicateEnum, PredEqual)
		// access is what select-atoms decides about a memory access: codegen asks no facts.
		//   vec     elements per instruction and thread
		//   narrow  byte offsets from the base fit in signed 32 bits
		//   fast    the dimension of the tile along which memory runs
		//   masked  per dimension of the tile, whether a bounds check is needed (tiled accesses only)
		//   coordinate_bits
		//           per dimension of the tile, the bits that hold its start and the extent, unsigned: 31, 32 or 64 (tiled accesses only)
		//   ragged  the end of the array may lie between the elements of an instruction: asynchronous copies take those before it; of
		//           other accesses, a thread with elements on both sides makes its own one by one
		access = args(optAttr("vec", ir.I64Kind), optAttr("fast", ir.I64Kind), unit("narrow"), optAttr("masked", ir.BoolArrayKind),
			optAttr("coordinate_bits", ir.I64ArrayKind), unit("ragged"))
		// latency is the frontend's hint, 1 to 10.
		latency = optAttr("latency", ir.I64Kind)
	)
	return []*ir.OpDef{
		// Module items.
		with(row("module", args(attr("sym_name", ir.SymbolNameKind), optAttr("producer", ir.StringKind), optAttr("after", ir.StringKind)), nil,
			ir.Isolated|ir.SymbolTable, "A compilation unit: entries and globals; after is the pass whose output a text is, behind which a compile of it goes on."), regions("body")),
		with(row("entry", args(attr("sym_name", ir.SymbolNameKind), optAttr("hints", ir.HintsKind),
			optional(class("plan", "*PlanAttr")), optAttr("shared_bytes", ir.I64Kind)), nil,
			ir.Isolated|ir.Symbol, "A kernel; its parameters, rank-0 tiles, are the arguments of its only block."), regions("body")),
		row("global", args(attr("sym_name", ir.SymbolNameKind), attr("value", ir.DenseKind), optAttr("alignment", ir.I64Kind),
			unit("constant", "private")), nil, ir.Symbol, "Device memory with initial content; value is a rank-1 tile constant."),

		// Float arithmetic. Meaning and rounding as the Tile IR op of the same name.
		binary("addf", "float", commutative, "x + y.", rounding, ftz),
		binary("subf", "float", elementwise, "x - y.", rounding, ftz),
		binary("mulf", "float", commutative, "x * y.", rounding, ftz),
		costly(10, binary("divf", "float", elementwise, "x / y; rounding approx and full are the 2-ulp forms.", rounding, ftz)),
		costly(20, binary("remf", "float", elementwise, "x - trunc(x/y)*y, sign of x.")),
		binary("maxf", "float", commutative, "The larger; +0 > -0; NaN only if both are, or with propagate_nan either is.", unit("propagate_nan"), ftz),
		binary("minf", "float", commutative, "The smaller; -0 < +0; NaN as maxf.", unit("propagate_nan"), ftz),
		same(row("fma", args(in("lhs:float", "rhs:float", "acc:float"), rounding, ftz), res("result:float"), elementwise, "x*y + z with one rounding."), "lhs", "rhs", "acc", "result"),
		unary("negf", "float", "Flips the sign."),
		unary("absf", "float", "Clears the sign."),
		unary("ceil", "float", "Smallest integer not below x."),
		unary("floor", "float", "Largest integer not above x."),
		costly(10, unary("sqrt", "float", "Square root.", rounding, ftz)),
		costly(8, unary("rsqrt", "float", "1/sqrt(x).", ftz)),
		costly(10, unary("exp", "float", "e^x; rounding full or approx.", full)),
		costly(8, unary("exp2", "float", "2^x.", ftz)),
		costly(10, unary("log", "float", "ln x.")),
		costly(10, unary("log2", "float", "log2 x.")),
		costly(30, unary("sin", "float", "Sine of radians.")),
		costly(30, unary("cos", "float", "Cosine of radians.")),
		costly(40, unary("tan", "float", "Tangent of radians.")),
		costly(32, unary("sinh", "float", "Hyperbolic sine.")),
		costly(16, unary("cosh", "float", "Hyperbolic cosine.")),
		costly(12, unary("tanh", "float", "Hyperbolic tangent; rounding full or approx.", full)),
		costly(100, binary("pow", "float", elementwise, "x^y.")),
		costly(35, binary("atan2", "float", elementwise, "The angle of x / y (first over second operand).")),
		costly(20, sameShape(same(row("powi", in("source:float", "exponent:int"), res("result:float"), elementwise, "x^n with a signed integer n."), "source", "result"), "source", "exponent")),
		same(sameShape(row("cmpf", args(in("lhs:float", "rhs:float"), predicate, of("ordering", &OrderingEnum, Ordered)), res("result:i1"),
			elementwise, "Compares; ordered is false and unordered true if either is NaN."), "lhs", "result"), "lhs", "rhs"),

		// Integer arithmetic: wraps; overflow flags are promises.
		binary("addi", "int", commutative, "x + y.", overflow),
		binary("subi", "int", elementwise, "x - y.", overflow),
		binary("muli", "int", commutative, "Low half of x * y.", overflow),
		binary("mulhii", "int", commutative, "High half of the unsigned product."),
		costly(16, binary("divi", "int", trapping, "Quotient, rounded to zero, down or up.", sign, of("rounding", &RoundingEnum, RoundZero))),
		costly(16, binary("remi", "int", trapping, "Remainder of truncated division, sign of lhs.", sign)),
		binary("maxi", "int", commutative, "The larger.", sign),
		binary("mini", "int", commutative, "The smaller.", sign),
		binary("andi", "int", commutative, "Bitwise and."),
		binary("ori", "int", commutative, "Bitwise or."),
		binary("xori", "int", commutative, "Bitwise exclusive or."),
		binary("shli", "int", elementwise, "Shift left, zero fill; the amount is unsigned, amounts of the width or more give 0.", overflow),
		binary("shri", "int", elementwise, "Shift right, sign or zero fill.", sign),
		unary("absi", "int", "Absolute value; the minimum stays."),
		unary("negi", "int", "Two's complement.", overflow),
		same(sameShape(row("cmpi", args(in("lhs:int", "rhs:int"), predicate, sign), res("result:i1"), elementwise, "Compares."), "lhs", "result"), "lhs", "rhs"),
		sameShape(same(row("select", in("cond:i1", "true_value:tile", "false_value:tile"), res("result:tile"), elementwise, "Picks per element by an i1 tile of the same shape."), "true_value", "false_value", "result"), "cond", "result"),

		// Conversions.
		cast("bitcast", "tile", "tile", "Same bits, other element type of the same width."),
		cast("exti", "int", "int", "Widens an integer by sign or zeros.", sign),
		cast("trunci", "int", "int", "Drops high bits.", overflow),
		cast("ftof", "float", "float", "Float to float; out of range as the Tile IR conversion table.", rounding),
		cast("ftoi", "float", "int", "Truncates; undefined out of range unless saturating. To i1: x != 0, also for NaN.", sign, unit("saturating")),
		cast("itof", "int", "float", "Nearest even.", sign),
		cast("int_to_ptr", "i64", "ptr", "i64 to pointer."),
		cast("ptr_to_int", "ptr", "i64", "Pointer to i64."),
		cast("ptr_cast", "ptr", "ptr", "Pointer to pointer of another element type."),
		row("pack", in("source:tile"), res("result:tile"), shape, "Reinterprets a rank-1 tile as bytes (i8), low nibble first."),
		row("unpack", in("source:tile"), res("result:tile"), shape, "The inverse of pack."),

		// Construction and shape.
		row("constant", attr("value", ir.DenseKind), res("result:tile"), shape|ir.ConstantLike, "A constant tile."),
		row("iota", nil, res("result:int"), shape, "0 .. n-1 in a rank-1 integer tile."),
		sameElem(row("splat", in("source:scalar"), res("result:tile"), shape, "Every element is the rank-0 source."), "source", "result"),
		row("broadcast", in("source:tile"), res("result:tile"), shape, "Repeats dimensions of size 1; the ranks are equal."),
		row("reshape", in("source:tile"), res("result:tile"), shape, "Row-major reinterpretation."),
		row("permute", args(in("source:tile"), attr("permutation", ir.I32ArrayKind)), res("result:tile"), shape, "Result dimension i is source dimension permutation[i]."),
		row("cat", args(in("lhs:tile", "rhs:tile"), attr("dim", ir.I64Kind)), res("result:tile"), shape, "Concatenates along dim."),
		row("extract", args(in("source:tile"), many("indices:scalar_int")), res("result:tile"), shape, "The slice with these slice numbers (rank-0 i32)."),
		row("insert", args(in("source:tile", "dest:tile"), many("indices:scalar_int")), res("result:tile"), shape, "dest with one slice replaced."),
		same(row("assume", args(in("value:tile"), attr("predicate", ir.PredicateKind)), res("result:tile"), elementwise, "Passes the value with a promise about it."), "value", "result"),
		same(sameShape(row("offset", args(in("ptr:ptr", "offset:int"), unit("nonnegative")), res("result:ptr"), elementwise,
			"Pointer plus signed offset in elements. nonnegative: no offset is below 0, as select-atoms says."), "ptr", "offset"), "ptr", "result"),

		// Contraction and reduction.
		effects(row("dot", args(in("lhs:factor", "rhs:factor", "acc:tile"), opt("lhs_scale:factor", "rhs_scale:factor", "memory:tensor_memory", "when:scalar_i1"), of("signedness_lhs", &SignednessEnum, Signed), of("signedness_rhs", &SignednessEnum, Signed),
			unit("fast_acc", "in_flight"), optional(class("atom", "*MMAAttr")), optAttr("depths", ir.I64ArrayKind), optAttr("column", ir.I64Kind), optAttr("lane", ir.I64Kind), optAttr("scale_column", ir.I64Kind)), res("result:tile"), ir.Pure|ir.Speculatable,
			"acc + lhs * rhs per batch; shapes [B]MxK, [B]KxN, [B]MxN. With scales, [B]MxS and [B]SxN, blocks of K/S along K are multiplied by them first, "+
				"and factors of i8 are pairs of f4E2M1FN along K, the first in the low half. atom is the instruction and how warps share it, after select-atoms; depths = [from, to] "+
				"takes a part of K only. In flight, it begins only: its result is for a further product in the next iteration of a loop, which lands it, and "+
				"its factors are read until a dot_wait; or, without accumulators or with those of a sums_scale, for a dot_land. One of the tensor unit sums in memory, from a column and a lane of each warp on, and "+
				"only if when holds; it brings scales from buffers to columns from scale_column on, those of each slot of a ring to columns of their own; of warpgroups, nobody takes what it gives unless when holds."),
			factor("lhs"), factor("rhs"), factor("lhs_scale"), factor("rhs_scale"), sums),
		effects(row("dot_land", args(in("source:tile"), many("indices:scalar_int"), opt("memory:tensor_memory"), optAttr("column", ir.I64Kind), optAttr("lane", ir.I64Kind)), res("result:tile"), 0,
			"What a product in flight has put into tensor memory, behind the dot_wait for it; or the slice of it with these slice numbers, constants, which is in registers of its own."), factor("memory")),
		effects(same(row("sums_store", args(in("source:tile"), opt("memory:tensor_memory"), optAttr("column", ir.I64Kind), optAttr("lane", ir.I64Kind)), res("result:tile"), 0,
			"Puts a tile into tensor memory, for products in flight to add to. It counts as those of an iteration."), "source", "result"), sums),
		effects(same(row("sums_scale", args(in("source:tile", "factor:tile"), opt("memory:tensor_memory"), optAttr("column", ir.I64Kind), optAttr("lane", ir.I64Kind)), res("result:tile"), 0,
			"source * factor, element by element, where source is in tensor memory and stays there, behind the dot_wait for the product that gave it."), "source", "factor", "result"),
			sums),
		effects(same(row("factor_store", args(in("value:tile"), opt("over:tile", "memory:tensor_memory"), optAttr("column", ir.I64Kind)), res("result:tile"), 0,
			"Puts the left factor of products of the tensor unit into tensor memory, a row to a lane; in columns of its own, or in those of a product that has given over."),
			"value", "result"), sums),
		flow(with(row("reduce", args(attr("dim", ir.I64Kind), attr("identities", ir.ArrayKind), unit("commutative"), many("operands:tile")), tiles, ir.Pure,
			"Combines along dim; the region maps pairs (what came before, what comes next)... to what both make; associative, order free. commutative: of a pair that changes places it makes the same bits."), regions("combine")), ir.FlowDef{Kind: ir.CombineFlow}),
		flow(with(row("scan", args(attr("dim", ir.I64Kind), attr("identities", ir.ArrayKind), unit("reverse"), many("operands:tile")), tiles, ir.Pure,
			"Inclusive scan along dim; the region as that of reduce, in order."), regions("combine")), ir.FlowDef{Kind: ir.CombineFlow}),

		// Memory.
		row("make_memref", args(in("base:scalar_ptr"), many("shape:scalar_int"), many("strides:scalar_int")), res("result:memref"), ir.Pure|ir.Speculatable,
			"A strided array in memory: a pointer with one rank-0 integer, unsigned, per dynamic extent and stride (in elements)."),
		row("block_tile", args(in("memref:memref"), many("indices:int"), attr("traversal", ir.I64ArrayKind), attr("dim_map", ir.I32ArrayKind),
			optOf("padding", &PaddingEnum),
			optAttr("sparse_dim", ir.I64Kind), optAttr("inbounds", ir.BoolArrayKind), optAttr("anywhere", ir.BoolArrayKind), unit("mapless")), res("result:block"), ir.Pure|ir.Speculatable,
			"One tile of an array: tile element k of dimension d lies at coordinate indices[d]*traversal[d] + k of array dimension dim_map[d]. "+
				"With sparse_dim s, indices[s] is a rank-1 tile of coordinates and the other indices are element offsets (traversal 1). "+
				"Indices are unsigned. Where anywhere says so, they may lie outside the index space by less than the largest tile. With mapless it is not copied by a tensor map."),
		row("pointer_block", args(in("ptr:ptr"), opt("mask:i1", "left:int")), res("result:block"), ir.Pure|ir.Speculatable,
			"The tile to which pointers point, without the elements of which the mask is not set; left is as in load."),
		effects(row("tiled_load", args(in("block:block"), opt("token:token", "when:scalar_i1"), order, scope, latency, access), res("result:tile", "result_token:token"), 0,
			"Loads a block; elements outside the array are the block's padding, else unspecified. Unless when holds, it reads nothing and all are unspecified."), reads("block")),
		effects(row("tiled_store", args(in("value:tile", "block:block"), opt("token:token"), order, scope, access), res("result_token:token"), 0,
			"Stores a block; elements outside the array are dropped."), writes("block")),
		effects(row("tiled_atomic", args(in("block:block", "value:tile"), opt("token:token"), mode, order, scope, access), res("result_token:token"), 0,
			"Reduces a tile into a block, element by element; relaxed."), updates("block")),
		effects(row("multimem_store", args(in("value:tile", "block:block"), opt("token:token"), order, scope, access), res("result_token:token"), 0,
			"Stores a block to every copy of multicast memory; elements outside the array are dropped."), writes("block")),
		effects(row("multimem_reduce", args(in("value:tile", "block:block"), opt("token:token"), mode, order, scope, access), res("result_token:token"), 0,
			"Reduces a tile into every copy of a block of multicast memory, element by element; never weak."), updates("block")),
		effects(row("multimem_load", args(in("block:block"), opt("token:token"), mode, order, scope, access), res("result:tile", "result_token:token"), 0,
			"Loads a block from every copy of multicast memory and combines what they hold; mode min and max take floats too."), reads("block")),
		effects(row("load", args(in("ptr:ptr"), opt("mask:i1", "padding:tile", "token:token", "left:int"), order, scope, latency, access), res("result:tile", "result_token:token"), 0,
			"Loads through a tile of pointers; masked elements are padding, else unspecified. Of a ragged load the mask may cut the elements of an access: "+
				"where it is set for the first one it is for as many as left, 1 to vec, says there."), reads("ptr")),
		effects(row("store", args(in("ptr:ptr", "value:tile"), opt("mask:i1", "token:token", "left:int"), order, scope, access), res("result_token:token"), 0,
			"Stores through a tile of pointers where the mask is set; left is as in load."), writes("ptr")),
		effects(row("atomic_rmw", args(in("ptr:ptr", "arg:tile"), opt("mask:i1", "token:token"), mode, order, scope, access), res("result:tile", "result_token:token"), 0,
			"Read-modify-write per element; returns the old value."), updates("ptr")),
		effects(row("atomic_cas", args(in("ptr:ptr", "cmp:tile", "value:tile"), opt("mask:i1", "token:token"), order, scope), res("result:tile", "result_token:token"), 0,
			"Compare-and-swap of bits per element; returns the old value, masked elements cmp."), updates("ptr")),
		row("create_mem_token", nil, res("result:token"), ir.Pure|ir.Speculatable, "A token that nothing precedes."),
		row("join_mem_token", many("tokens:token"), res("result:token"), ir.Pure|ir.Speculatable, "After all of the tokens."),
		effects(row("fence_alias", opt("token:token"), res("result_token:token"), 0, "Orders accesses to one location through different virtual aliases."), ordersAll),
		effects(row("gdc_wait", opt("token:token"), res("result_token:token"), 0, "Waits for the stores of the preceding grids; nothing below sm_90."), ordersAll),
		effects(row("gdc_launch_dependents", opt("token:token"), res("result_token:token"), 0, "Lets dependent grids start; nothing below sm_90."), tells),
		row("get_global", attr("name", ir.SymbolRefKind), res("result:scalar_ptr"), ir.Pure|ir.Speculatable, "Pointer to element 0 of a global."),
		effects(row("alloca", args(attr("num_elem", ir.I64Kind), attr("alignment", ir.I64Kind), unit("global"), optAttr("offset", ir.I64Kind)), res("result:scalar_ptr"),
			ir.Writes, "A slot of the tile block's memory that lives until the end of its block; allocate-shared gives its byte offset."), allocates),

		// The grid.
		row("program_id", attr("axis", ir.I64Kind), res("result:scalar_int"), shape, "Index of this tile block, rank-0 i32."),
		row("num_programs", attr("axis", ir.I64Kind), res("result:scalar_int"), shape, "Tile blocks of the grid, rank-0 i32."),

		// Control flow.
		flow(with(same(row("for", args(in("lower:scalar_int", "upper:scalar_int", "step:scalar_int"), many("inits:value"),
			unit("unsigned", "remainder", "expanded"), optAttr("lands", ir.I64ArrayKind)), values, 0,
			"Counts from lower below upper; the region's arguments are the induction variable and the carried values; ends in continue. "+
				"A remainder goes on where another loop ends, seldom for long. Behind its last iteration it waits for all products in flight, of which it carries "+
				"the results that lands numbers. Expanded, it has its body twice in machine code, so that what it carries alternates between two sets of registers "+
				"(modulo variable expansion; Lam, PLDI 1988)."),
			"lower", "upper", "step"), regions("body")), ir.FlowDef{Kind: ir.CountedFlow, Inits: "inits", Own: 1}),
		flow(with(row("loop", many("inits:value"), values, 0, "Repeats until break; results are the operands of break."), regions("body")),
			ir.FlowDef{Kind: ir.LoopFlow, Inits: "inits"}),
		flow(with(row("if", in("cond:scalar_i1"), values, 0, "One of two regions; a branch may end in yield, break, continue or return."),
			[]ir.RegionDef{{Name: "then"}, {Name: "else", Optional: true}}), ir.FlowDef{Kind: ir.BranchFlow}),
		flow(with(row("roles", nil, nil, 0,
			"The warps of the tile block take roles, which run side by side: the body is one role after another, each for the warps after those of the one "+
				"before. Before it all warps do the same; after it there is nothing but the return."), regions("body")), ir.FlowDef{Kind: ir.BranchFlow}),
		flow(with(row("role", args(attr("name", ir.StringKind), attr("warps", ir.I64Kind)), nil, 0,
			"What so many warps do. Layouts and barriers inside count the lanes and warps of the role alone."), regions("body")), ir.FlowDef{Kind: ir.BranchFlow}),
		flow(row("yield", many("values:value"), nil, ir.Terminator, "Results of an if, a reduce or a scan; the end of roles and of a role."), ir.FlowDef{Kind: ir.YieldFlow}),
		flow(row("break", many("values:value"), nil, ir.Terminator, "Leaves the innermost loop with its results."), ir.FlowDef{Kind: ir.BreakFlow}),
		flow(row("continue", many("values:value"), nil, ir.Terminator, "Next iteration of the innermost for or loop."), ir.FlowDef{Kind: ir.ContinueFlow}),
		flow(row("return", nil, nil, ir.Terminator, "Ends the tile block."), ir.FlowDef{Kind: ir.ReturnFlow}),

		// Debugging.
		effects(row("print", args(attr("format", ir.StringKind), many("values:tile"), opt("token:token")), res("result_token:token"), 0,
			"Prints with C conversions; a tile prints as a list."), tells),
		effects(row("assert", args(in("cond:i1"), attr("message", ir.StringKind)), nil, 0, "Reports and traps where an element is false."), tells),

		// After selection. Tile values of rank > 0 have layouts in their types from assign-layouts on.
		row("convert_layout", in("source:tile"), res("result:tile"), ir.Pure|ir.Speculatable, "The same tile in another layout."),
		effects(row("alloc_shared", optAttr("offset", ir.I64Kind), res("result:buffer"), 0,
			"A buffer in shared memory; allocate-shared gives its byte offset."), allocates),
		effects(row("buffer_store", args(in("value:tile", "buffer:buffer"), optAttr("atom", ir.StringKind)), nil, 0,
			"Writes a tile to a buffer; each element by its owner thread only."), writes("buffer")),
		effects(row("buffer_load", args(in("buffer:buffer"), opt("when:scalar_i1"), optAttr("atom", ir.StringKind)), res("result:tile"), 0,
			"Reads a tile in the layout of the result; atom names the instruction (ld.shared, ldmatrix). Unless when holds, it may be anything."), reads("buffer")),
		effects(row("buffer_extract", args(in("buffer:buffer"), many("indices:scalar_int")), res("result:tile"), 0,
			"Reads the slice with these slice numbers (rank-0 i32) in the layout of the result."), reads("buffer")),
		effects(row("buffer_insert", args(in("value:tile", "buffer:buffer"), many("indices:scalar_int")), nil, 0,
			"Writes a tile over the slice with these slice numbers."), writes("buffer")),
		effects(row("buffer_store_slice", args(in("value:tile", "buffer:buffer"), many("indices:scalar_int")), nil, 0,
			"Writes the slice of a tile with these slice numbers to a buffer of the slice's shape; each element by its owner thread only."), writes("buffer")),
		row("buffer_view", in("buffer:buffer"), res("result:buffer"), ir.Pure|ir.Speculatable,
			"The same memory as a buffer of another shape, whose layout says where each of its elements lies."),
		effects(row("alloc_ring", optAttr("offset", ir.I64Kind), res("result:ring"), 0,
			"A ring of equal buffers in shared memory, slots; allocate-shared gives its byte offset."), allocates),
		row("ring_slot", args(in("ring:ring", "position:scalar_int"), attr("ahead", ir.I64Kind)), res("result:buffer"), ir.Pure|ir.Speculatable,
			"The slot of a ring that is so many ahead of a position, modulo the number of slots; a position is the number of a slot."),
		same(row("ring_next", args(in("position:scalar_int"), attr("slots", ir.I64Kind)), res("result:scalar_int"), ir.Pure|ir.Speculatable,
			"The position after this one in rings of so many slots."), "position", "result"),
		effects(row("async_copy", args(in("block:block", "buffer:buffer"), opt("token:token", "when:scalar_i1", "maps:map_memory"), class("layout", "*LayoutAttr"), access, optAttr("map", ir.I64Kind)), res("result_token:token"), 0,
			"Copies a block to a buffer with cp.async, if when holds; layout is the copy map; elements outside the array become zero. "+
				"With a tensor map, by its number, one thread copies for all. What comes after its token comes after its wait."),
			reads("block"), writes("buffer")),
		effects(row("alloc_pipeline", args(attr("producers", ir.I64Kind), attr("consumers", ir.I64Kind), optAttr("offset", ir.I64Kind)), res("result:pipeline"), 0,
			"Two mbarriers for each slot of the rings that one role fills for another: full, at which so many producer threads arrive when their copies "+
				"have landed, and empty, at which so many consumer warps arrive when they have read. allocate-shared gives its byte offset."), allocates),
		effects(row("producer_acquire", in("pipeline:pipeline", "position:scalar_int", "phase:scalar_i1"), nil, 0,
			"Waits until the consumers have released the slot at a position; nobody holds one in the first round. phase is false in the first round of the "+
				"slots, true in the second, and so on."), ordersAll),
		effects(row("producer_commit", in("pipeline:pipeline", "position:scalar_int"), nil, 0,
			"The slot at a position is full when all copies that this thread has begun have landed."), ordersAll),
		effects(row("consumer_wait", in("pipeline:pipeline", "position:scalar_int", "phase:scalar_i1"), nil, 0,
			"Waits until the slot at a position is full; phase as in producer_acquire."), ordersAll),
		effects(row("consumer_release", args(in("pipeline:pipeline", "position:scalar_int"), unit("unit")), nil, 0,
			"The warp has read the slot at a position; with unit, the tensor unit has, which arrives for the first warp as soon as all products end that were begun."), ordersAll),
		effects(row("alloc_tensor", optAttr("offset", ir.I64Kind), res("result:tensor_memory"), 0,
			"Part of tensor memory, where products of the tensor unit sum. allocate-shared gives the byte offset of the words of shared memory that belong to it."),
			allocates),
		effects(row("tensor_acquire", in("memory:tensor_memory"), nil, 0,
			"Takes columns of tensor memory for the tile block; waits until there are some."), writes("memory")),
		effects(row("tensor_address", in("memory:tensor_memory"), nil, 0, "Every thread finds where the columns begin."), reads("memory")),
		effects(row("tensor_release", in("memory:tensor_memory"), nil, 0, "Gives the columns back."), updates("memory")),
		effects(row("alloc_maps", optAttr("offset", ir.I64Kind), res("result:map_memory"), 0,
			"Where a tile block makes its tensor maps, with the mbarriers at which groups of copies arrive that take them. allocate-shared gives its byte offset."), allocates),
		effects(row("maps_acquire", in("maps:map_memory"), nil, 0, "Makes the mbarriers, and takes global memory for the maps of the tile block."), writes("maps")),
		effects(row("tensor_map", args(in("memref:memref", "maps:map_memory"), attr("map", ir.I64Kind), attr("dims", ir.I64ArrayKind), attr("box", ir.I64ArrayKind), attr("swizzle", ir.I64Kind)), nil, 0,
			"Makes the map of this number, of an array: dims are its dimensions, that of neighbours first, box how many elements of each a copy takes, swizzle the bytes of a row "+
				"in which a copy exchanges chunks of 16 bytes, or 0."), ordersCopies),
		effects(row("maps_address", in("maps:map_memory"), nil, 0, "Every thread finds where the maps are, which are complete."), reads("maps")),
		effects(row("maps_release", in("maps:map_memory"), nil, 0, "Gives the memory of the maps back, when the copies are over that take them."), reads("maps")),
		effects(row("async_commit", nil, nil, 0, "Ends a group of copies of this thread."), ordersCopies),
		effects(row("async_wait", attr("pending", ir.I64Kind), nil, 0, "Waits until at most so many groups of this thread are pending."), ordersCopies),
		effects(row("dot_wait", attr("pending", ir.I64Kind), nil, 0, "Waits until at most so many of the latest products in flight go on."), ordersCopies),
		effects(row("barrier", args(optAttr("id", ir.I64Kind), optAttr("threads", ir.I64Kind), unit("warp")), nil, 0,
			"All threads of the block (or, with warp, of each warp) meet; memory is ordered."), ordersAll),
	}
}
