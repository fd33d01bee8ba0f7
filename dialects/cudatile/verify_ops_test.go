package cudatile_test

import (
	"strings"
	"testing"
)

// What only the general form of an operation can say, and what is wrong in few ways, is refused as well.
func TestTheVerifierSaysOfAnyForm(t *testing.T) {
	const (
		view    = "tensor_view<?x64xf32, strides=[64,1]>"
		part    = "partition_view<tile=(4x8), " + view + ">"
		gather  = "gather_scatter_view<tile=(4x8), " + view + ", sparse_dim=0>"
		cast    = "partition_view<tile=(8), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>"
		gathers = "%gv = make_gather_scatter_view %tv : " + gather + "\n"
		body    = "({\n^bb0(%a: !cuda_tile.tile<f32>, %e: !cuda_tile.tile<f32>):\n\"cuda_tile.yield\"(%a) : (!cuda_tile.tile<f32>) -> ()\n})"
		reduces = "(!cuda_tile.tile<4x8xf32>) -> !cuda_tile.tile<8xf32>"
		bounds  = "(!cuda_tile.tile<i32>, !cuda_tile.tile<i32>, !cuda_tile.tile<i32>) -> ()"
		carries = "(!cuda_tile.tile<i32>, !cuda_tile.tile<i32>, !cuda_tile.tile<i32>, !cuda_tile.tile<f32>) -> "
	)
	tests := []struct{ body, want string }{
		// Matrices.
		{"%x = mmaf %f, %f, %f : tile<f32>, tile<f32>, tile<f32>", "operands must be 2D or 3D tiles"},
		{"%x3 = constant <f32: 0.0> : tile<2x4x8xf32>\n%y3 = constant <f32: 0.0> : tile<4x8x4xf32>\n%z3 = constant <f32: 0.0> : tile<2x4x4xf32>\n" +
			"%x = mmaf %x3, %y3, %z3 : tile<2x4x8xf32>, tile<4x8x4xf32>, tile<2x4x4xf32>", "shape error: dim 0 of lhs (2) and dim 0 of rhs (4) must match"},
		{"%x3 = constant <f32: 0.0> : tile<2x4x8xf32>\n%y3 = constant <f32: 0.0> : tile<2x8x4xf32>\n%z3 = constant <f32: 0.0> : tile<1x4x4xf32>\n" +
			"%x = mmaf %x3, %y3, %z3 : tile<2x4x8xf32>, tile<2x8x4xf32>, tile<1x4x4xf32>", "shape error: dim 0 of lhs (2) and dim 0 of acc (1) must match"},
		{"%la = constant <f8E4M3FN: 0.0> : tile<4x8xf8E4M3FN>\n%ra = constant <f8E4M3FN: 0.0> : tile<8x4xf8E4M3FN>\n%ac = constant <f32: 0.0> : tile<4x4xf32>\n" +
			"%ls = constant <f8E8M0FNU: 1.0> : tile<4x16xf8E8M0FNU>\n%rs = constant <f8E8M0FNU: 1.0> : tile<16x4xf8E8M0FNU>\n" +
			"%x = mmaf_scaled %la, %ra, %ac, %ls, %rs : tile<4x8xf8E4M3FN>, tile<8x4xf8E4M3FN>, tile<4x4xf32>, tile<4x16xf8E8M0FNU>, tile<16x4xf8E8M0FNU>",
			"shape error: dim 1 of lhs_scale (16) must be a divisor of dim 1 of lhs (8), but got lhs_scale shape (4, 16) and lhs shape (4, 8)"},
		// Conversions.
		{`%x = "cuda_tile.ftoi"(%f) <{rounding_mode = #cuda_tile.rounding<zero>, signedness = #cuda_tile.signedness<signed>}> : (!cuda_tile.tile<f32>) -> !cuda_tile.tile<i32>`, "invalid rounding mode specified. Only 'nearest_int_to_zero' is supported"},
		{"%x = ftof %f rounding<zero> : tile<f32> -> tile<f8E5M2>", "invalid rounding mode specified for conversion to low-precision type. Only 'nearest_even' is supported"},
		{`%x = "cuda_tile.ftof"(%h) <{rounding_mode = #cuda_tile.rounding<approx>}> : (!cuda_tile.tile<f16>) -> !cuda_tile.tile<f32>`, "invalid rounding mode specified for widening conversion. Only IEEE float rounding modes are supported: " +
			"'nearest_even', 'zero', 'negative_inf', 'positive_inf', 'nearest_away'"},
		{"%x = ftof %d rounding<nearest_away> : tile<f64> -> tile<f32>",
			"invalid rounding mode specified for conversion from f64 to f32. Only 'nearest_even', 'zero', 'negative_inf' and 'positive_inf' are supported"},
		{"%x = ftof %f rounding<positive_inf> : tile<f32> -> tile<tf32>",
			"invalid rounding mode specified for conversion from f32 to tf32. Only 'nearest_even', 'zero' and 'nearest_away' are supported"},
		{"%x = ftof %f rounding<positive_inf> : tile<f32> -> tile<f16>",
			"invalid rounding mode specified. Only 'nearest_even' and 'zero' are supported for narrowing conversions to standard types"},
		{"%w = constant <i8: 1> : tile<2x8xi8>\n%x = unpack %w : tile<2x8xi8> -> tile<2x4xi16>", "expects source and result to be rank-1 tiles"},
		{"%w = constant <i1: true> : tile<4xi1>\n%x = pack %w : tile<4xi1> -> tile<1xi8>", "expects source tile to be byte-aligned"},
		{"%w = constant <i8: 1> : tile<1xi8>\n%x = unpack %w : tile<1xi8> -> tile<4xi1>", "expects result tile to be byte-aligned"},
		// Assumptions.
		{"%x = assume div_by<4, every 2 along 0>, %tv : " + view, "'cuda_tile.div_by' 'every'/'along' cannot be used if the constrained value is a tensor_view"},
		{"%x = assume div_by<4, every 2 along 0>, %i : tile<i32>", "'cuda_tile.div_by' 'every'/'along' cannot be used if the constrained value is a 0D tile"},
		{"%x = assume div_by<4, every 2 along 1>, %v : tile<8xi32>", "'cuda_tile.div_by' every_dim (1) must be >= 0 and < tile rank (1)"},
		{"%x = assume bounded<0, 1>, %f : tile<f32>", "'cuda_tile.bounded' is valid only for tile of integer values"},
		{"%x = assume bounded<-129, 0>, %b : tile<8xi8>", "'cuda_tile.bounded' expects lower bound to be within [-128, 127]"},
		{`%x = "cuda_tile.assume"(%i) <{predicate = #cuda_tile.di_file<"f.py" in "/d">}> : (!cuda_tile.tile<i32>) -> !cuda_tile.tile<i32>`, "expected assume predicate attribute"},
		{`%x = "cuda_tile.assume"(%i) <{predicate = 1 : i32}> : (!cuda_tile.tile<i32>) -> !cuda_tile.tile<i32>`, "attribute 'predicate' failed to satisfy constraint: assume predicate"},
		// Control flow.
		{"%x = loop iter_values(%y = %pv) : " + part + " -> tile<i32> { break %i : tile<i32> }", "loop-carried value 0 is a tile view, which is not supported"},
		{`"cuda_tile.if"(%c) ({}, {}) : (!cuda_tile.tile<i1>) -> ()`, "region #0 ('thenRegion') failed to verify constraint: region with 1 blocks"},
		{"\"cuda_tile.if\"(%c) ({\n^bb0(%a: !cuda_tile.tile<i32>):\n\"cuda_tile.yield\"() : () -> ()\n}, {}) : (!cuda_tile.tile<i1>) -> ()", "then branch must not have block arguments"},
		{`"cuda_tile.if"(%c) ({ %x = "cuda_tile.make_token"() : () -> !cuda_tile.token }, {}) : (!cuda_tile.tile<i1>) -> ()`, "then branch must end in a terminator"},
		{"%x = if %c -> (tile<i32>) { yield } else { yield %i : tile<i32> }", "has return type of '!cuda_tile.tile<i32>' but then branch does not yield anything"},
		{`"cuda_tile.for"(%i, %i, %i) ({}) : ` + bounds, "region #0 ('region') failed to verify constraint: region with 1 blocks"},
		{`"cuda_tile.for"(%i, %i, %i) ({ "cuda_tile.continue"() : () -> () }) : ` + bounds, "expected induction variable to be same type as bounds"},
		{"\"cuda_tile.for\"(%i, %i, %i) ({\n^bb0(%j: !cuda_tile.tile<i64>):\n\"cuda_tile.continue\"() : () -> ()\n}) : " + bounds, "expected induction variable to be same type as bounds"},
		{"%x = \"cuda_tile.for\"(%i, %i, %i, %f) ({\n^bb0(%j: !cuda_tile.tile<i32>):\n\"cuda_tile.continue\"() : () -> ()\n}) : " + carries + "!cuda_tile.tile<f32>",
			"mismatch in number of region iterator values and loop iterator inits: 0 vs 1"},
		{"%x = \"cuda_tile.for\"(%i, %i, %i, %f) ({\n^bb0(%j: !cuda_tile.tile<i32>, %a: !cuda_tile.tile<i32>):\n\"cuda_tile.continue\"() : () -> ()\n}) : " + carries + "!cuda_tile.tile<f32>",
			"init value 0 and region iter_value 0 have different type: '!cuda_tile.tile<f32>' != '!cuda_tile.tile<i32>'"},
		{"%x = \"cuda_tile.for\"(%i, %i, %i, %f) ({\n^bb0(%j: !cuda_tile.tile<i32>, %a: !cuda_tile.tile<f32>):\n\"cuda_tile.continue\"() : () -> ()\n}) : " + carries + "!cuda_tile.tile<i32>",
			"types of loop-carried values ('!cuda_tile.tile<f32>') do not match the result types ('!cuda_tile.tile<i32>')"},
		{"break", "'cuda_tile.break' op expects parent op to be one of 'cuda_tile.if, cuda_tile.loop'"},
		{"for %j in (%i to %i, step %i) : tile<i32> { if %c { break } }", "'cuda_tile.break' op can only be nested within a ancestor chain of 'cuda_tile.loop', 'cuda_tile.if' operations"},
		{"for %j in (%i to %i, step %i) : tile<i32> { if %c { break } }", "see unexpected ancestor operation"},
		{"loop { yield }", "'cuda_tile.yield' op expects parent op to be one of 'cuda_tile.if, cuda_tile.reduce, cuda_tile.scan'"},
		{`"cuda_tile.module"() <{sym_name = "x"}> ({ "cuda_tile.return"() : () -> () }) : () -> ()`, "expects parent op to be one of 'cuda_tile.entry, cuda_tile.preview$func, cuda_tile.if, cuda_tile.loop'"},
		// Reductions.
		{`"cuda_tile.reduce"() <{dim = 0 : i32, identities = []}> ` + body + " : () -> ()", "expect at least 1 operand"},
		{`"cuda_tile.reduce"(%m) <{dim = 0 : i32, identities = [0.0 : f32]}> ` + body + " : (!cuda_tile.tile<4x8xf32>) -> ()", "expect same number of operands and results"},
		{`%x = "cuda_tile.reduce"(%m) <{dim = 0 : i32, identities = [0.0 : f32, 0.0 : f32]}> ` + body + " : " + reduces, "expect identities to match the number of operands but got: 1 operands and 2 identities"},
		{`%x = "cuda_tile.reduce"(%m) <{dim = -1 : i32, identities = [0.0 : f32]}> ` + body + " : " + reduces, "attribute 'dim' failed to satisfy constraint: 32-bit signless integer attribute whose value is non-negative"},
		{`%x = "cuda_tile.reduce"(%m) <{dim = 0 : i32, identities = ["0"]}> ` + body + " : " + reduces, "expect identity at index: 0 to be an integer or a float"},
		{"%x = \"cuda_tile.reduce\"(%m) <{dim = 0 : i32, identities = [0.0 : f32]}> ({\n^bb0(%a: !cuda_tile.tile<f32>):\n\"cuda_tile.yield\"(%a) : (!cuda_tile.tile<f32>) -> ()\n}) : " + reduces, "expect 2 block arguments but got: 1"},
		{"%x = \"cuda_tile.reduce\"(%m) <{dim = 0 : i32, identities = [0.0 : f32]}> ({\n^bb0(%a: !cuda_tile.tile<f32>, %e: !cuda_tile.tile<2xf32>):\n\"cuda_tile.yield\"(%a) : (!cuda_tile.tile<f32>) -> ()\n}) : " + reduces,
			"expect 0-rank tile type at index: 1 but got: '!cuda_tile.tile<2xf32>'"},
		{"%x = \"cuda_tile.reduce\"(%m) <{dim = 0 : i32, identities = [0.0 : f32]}> ({\n^bb0(%a: !cuda_tile.tile<f32>, %e: !cuda_tile.tile<f32>):\n%y = \"cuda_tile.addf\"(%a, %e) <{rounding_mode = #cuda_tile.rounding<nearest_even>}> : (!cuda_tile.tile<f32>, !cuda_tile.tile<f32>) -> !cuda_tile.tile<f32>\n}) : " + reduces,
			"expect the body to end in 'cuda_tile.yield'"},
		// Elements.
		{"%w = constant <f4E2M1FN: 1.0> : tile<8xf4E2M1FN>\n%x = select %c8, %w, %w : tile<8xi1>, tile<8xf4E2M1FN>", "cannot operate on sub-byte type F4E2M1FN"},
		{"return\n}\nglobal @x <i4: [1, 2]> : tile<2xi4>\nentry @y() {", "failed to validate buffer size and format"},
		{`%x = "cuda_tile.constant"() <{value = dense<0.0> : !cuda_tile.tile<4xf32>}> : () -> !cuda_tile.tile<8xf32>`, "failed to verify that all of {value, result} have same type"},
		// Views.
		{`%x = "cuda_tile.make_partition_view"(%tv) : (!cuda_tile.` + view + `) -> !cuda_tile.partition_view<tile=(4x8), tensor_view<64x64xf32, strides=[64,1]>>`,
			"expected the type of the provided tensor_view value ('!cuda_tile." + view + "') to be the same as the view's tensor_view type ('!cuda_tile.tensor_view<64x64xf32, strides=[64,1]>')"},
		{`%x = "cuda_tile.get_tensor_shape"(%tv) : (!cuda_tile.` + view + `) -> !cuda_tile.tile<i32>`, "expected 2 results due to tensor rank, but got 1"},
		{`%x = "cuda_tile.get_index_space_shape"(%pv) : (!cuda_tile.` + part + `) -> !cuda_tile.tile<i32>`, "expected 2 results due to view index space rank, but got 1"},
		{`%x, %y = "cuda_tile.get_tensor_shape"(%tv) : (!cuda_tile.` + view + `) -> (!cuda_tile.tile<i32>, !cuda_tile.tile<i64>)`,
			"expected all results to have the same type, but got '!cuda_tile.tile<i32>', '!cuda_tile.tile<i64>'"},
		{`%x = "cuda_tile.make_tensor_view"(%p) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (!cuda_tile.tile<ptr<f32>>) -> !cuda_tile.tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>`,
			"pointer base without ptr_attr cannot produce tensor_view with ptr_attr"},
		{`%x = "cuda_tile.make_tensor_view"(%mp) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (!cuda_tile.tile<ptr<f32, <multicast>>>) -> !cuda_tile.tensor_view<64xf32, strides=[1]>`,
			"tensor_view must preserve ptr_attr from base pointer (multicast)"},
		{`%x = "cuda_tile.make_tensor_view"(%mp) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (!cuda_tile.tile<ptr<f32, <multicast>>>) -> !cuda_tile.tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<unicast>>`,
			"ptr_attr mismatch between base pointer (multicast) and result tensor_view (unicast)"},
		{`%x = "cuda_tile.make_tensor_view"(%p) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (!cuda_tile.tile<ptr<f32>>) -> !cuda_tile.tensor_view<?xf32, strides=[1]>`, "expected 1 dynamic shape operands, got 0"},
		{`%x = "cuda_tile.make_tensor_view"(%p, %i, %l) <{operandSegmentSizes = array<i32: 1, 1, 1>}> : (!cuda_tile.tile<ptr<f32>>, !cuda_tile.tile<i32>, !cuda_tile.tile<i64>) -> !cuda_tile.tensor_view<?xf32, strides=[?]>`,
			"expected all dynamic shape and stride operands to have the same type, got '!cuda_tile.tile<i32>' and '!cuda_tile.tile<i64>'"},
		{"%x, %y = load_view_tko weak %pv[%i, %i] inbounds = [true] : " + part + ", tile<i32> -> tile<4x8xf32>, token", "expected 2 inbounds values (based on view type), got 1"},
		{"%x, %y = load_view_tko weak %pv[%v, %v] : " + part + ", tile<8xi32> -> tile<4x8xf32>, token", "expected index type to be a scalar tile, got '!cuda_tile.tile<8xi32>'"},
		{gathers + "%x, %y = load_view_tko weak %gv[%i, %i] : " + gather + ", tile<i32>, tile<i32> -> tile<4x8xf32>, token", "expected index at sparse_dim position 0 to be a 1D tensor for GatherScatterView, got rank 0"},
		{gathers + "%x, %y = load_view_tko weak %gv[%v, %i] : " + gather + ", tile<8xi32>, tile<i32> -> tile<4x8xf32>, token", "expected gather/scatter index size (8) to match tile shape at gather/scatter dimension 0 (4)"},
		{gathers + "%w = iota : tile<4xi32>\n%x, %y = load_view_tko weak %gv[%w, %w] : " + gather + ", tile<4xi32>, tile<4xi32> -> tile<4x8xf32>, token", "expected index 1 to be a scalar tile for GatherScatterView"},
		// Memory.
		{"%g = get_global @g : tile<ptr<f16>>\n%x, %y = atomic_rmw_tko relaxed device %g, xchg, %h : tile<ptr<f16>>, tile<f16> -> tile<f16>, token", "'xchg' works only with integers or float of 32 or 64 bitwidth"},
		{gathers + "%w = iota : tile<4xi32>\n%x = atomic_red_view_tko relaxed device %gv[%w, %i], addf, %m : tile<4x8xf32>, " + gather + ", tile<4xi32>, tile<i32> -> token", "gather_scatter_view is not supported; use partition_view instead"},
		{"%x = atomic_red_view_tko relaxed device %pv[%v, %v], addf, %m : tile<4x8xf32>, " + part + ", tile<8xi32> -> token", "index operand 0 must be a scalar tile (rank 0), got shape 8"},
		{"%tm = make_partition_view %tv : " + part + "\n%x, %y = multimem_load_reduce_view_tko relaxed sys %pv[%i, %i] attributes {reduction = #cuda_tile.multimem_reduction_kind<add>} : " + part + ", tile<i32> -> tile<4x8xf32>, token",
			"expected a multicast pointer, but got none"},
		{"%mv = make_tensor_view %mp, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>\n" +
			"%xv = make_partition_view %mv : " + cast + "\n%x, %y = multimem_load_reduce_view_tko acq_rel sys %xv[%i] attributes {reduction = #cuda_tile.multimem_reduction_kind<add>} : " + cast + ", tile<i32> -> tile<8xf32>, token",
			"expect one of: weak, relaxed, acquire, or release, but got: acq_rel"},
		// Entries.
		{"return\n}\n\"cuda_tile.entry\"() <{sym_name = \"x\", function_type = i32}> ({ \"cuda_tile.return\"() : () -> () }) : () -> ()\nentry @y() {", "requires a function type"},
		{"return\n}\n\"cuda_tile.entry\"() <{sym_name = \"x\", function_type = () -> i32}> ({ \"cuda_tile.return\"() : () -> () }) : () -> ()\nentry @y() {", "entry op must not return values"},
		{"return\n}\n\"cuda_tile.entry\"() <{sym_name = \"x\", function_type = () -> ()}> ({}) : () -> ()\nentry @y() {", "region #0 ('body') failed to verify constraint: region with 1 blocks"},
		{"return\n}\n\"cuda_tile.entry\"() <{sym_name = \"x\", function_type = (!cuda_tile.tile<i32>) -> ()}> ({ \"cuda_tile.return\"() : () -> () }) : () -> ()\nentry @y() {", "has 0 arguments, but its type has 1"},
		{"return\n}\n\"cuda_tile.entry\"() <{sym_name = \"x\", function_type = (!cuda_tile.tile<i32>) -> ()}> ({\n^bb0(%a: !cuda_tile.tile<i64>):\n\"cuda_tile.return\"() : () -> ()\n}) : () -> ()\nentry @y() {",
			"argument 0 is '!cuda_tile.tile<i64>', but the function type says '!cuda_tile.tile<i32>'"},
		{"return\n}\n\"cuda_tile.entry\"() <{sym_name = \"x\", function_type = () -> ()}> ({ %x = \"cuda_tile.make_token\"() : () -> !cuda_tile.token }) : () -> ()\nentry @y() {", "requires a terminator at the end of its body"},
	}
	for _, test := range tests {
		t.Run(test.body, func(t *testing.T) {
			if got := refused(t, scalars+", %mp: tile<ptr<f32, <multicast>>>", tiles+test.body); !strings.Contains(got, test.want) {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
