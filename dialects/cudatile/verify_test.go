package cudatile_test

import (
	"strings"
	"testing"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
	"tileiras/ir/float"
)

// refused parses the body of a kernel and gives what the verifier says about it.
func refused(t *testing.T, args, body string) string {
	t.Helper()
	c := ir.NewContext(cudatile.Dialect)
	m, err := ir.Parse(c, "test", []byte("cuda_tile.module @m {\n  global @g <f16: [1.0, 2.0]> : tile<2xf16>\n  entry @k("+args+") {\n"+body+"\n  }\n}\n"))
	if err != nil {
		t.Fatalf("parse: %v\n%s", err, c.Diags.String())
	}
	if ir.Verify(c, m) {
		return ""
	}
	return c.Diags.String()
}

const (
	scalars = "%p: tile<ptr<f32>>, %i: tile<i32>, %l: tile<i64>, %c: tile<i1>, %f: tile<f32>, %d: tile<f64>, %h: tile<f16>, %t: tile<tf32>"
	// tiles makes the values that most tests use out of the scalars.
	tiles = `
    %v = iota : tile<8xi32>
    %m = constant <f32: 0.0> : tile<4x8xf32>
    %n = constant <f32: 0.0> : tile<8x4xf32>
    %b = constant <i8: 0> : tile<8xi8>
    %c8 = constant <i1: true> : tile<8xi1>
    %p1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
    %q = broadcast %p1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
    %k = make_token : token
    %tv = make_tensor_view %p, shape = [%i, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
    %pv = make_partition_view %tv : partition_view<tile=(4x8), tensor_view<?x64xf32, strides=[64,1]>>
`
)

func TestTheVerifierSays(t *testing.T) {
	tests := []struct{ body, want string }{
		// Floats.
		{`%x = "cuda_tile.addf"(%f, %f) <{rounding_mode = #cuda_tile.rounding<approx>}> : (!cuda_tile.tile<f32>, !cuda_tile.tile<f32>) -> !cuda_tile.tile<f32>`, "'cuda_tile.addf' op invalid rounding mode specified, expect one of [nearest_even, zero, negative_inf, positive_inf]"},
		{"%x = addf %d, %d flush_to_zero : tile<f64>", "'cuda_tile.addf' op flush_to_zero modifier only supported for f32 data type, but got: 'f64'"},
		{"%x = divf %d, %d rounding<full> : tile<f64>", "full modifier only supported for f32 data type, but got: 'f64'"},
		{"%x = divf %f, %f rounding<approx> : tile<f32>", ""},
		{"%x = sqrt %f rounding<full> : tile<f32>", "expect one of [nearest_even, zero, negative_inf, positive_inf, approx]"},
		{"%x = exp %f rounding<zero> : tile<f32>", "expect one of [approx, full]"},
		{"%x = tanh %h rounding<approx> : tile<f16>", "approx modifier only supported for f32 data type, but got: 'f16'"},
		{"%x = exp2 %d flush_to_zero : tile<f64>", "flush_to_zero modifier only supported for f32 data type, but got: 'f64'"},
		// Integers.
		{"%x = negi %i overflow<no_unsigned_wrap> : tile<i32>", "'no_unsigned_wrap' overflow flag is not supported"},
		{"%x = divi %i, %i unsigned rounding<negative_inf> : tile<i32>", "'cuda_tile.divi' op rounding mode 'negative_inf' is not allowed with 'unsigned' flag"},
		{"%x = divi %i, %i unsigned rounding<positive_inf> : tile<i32>", ""},
		// Matrices.
		{"%x = mmaf %m, %m, %m : tile<4x8xf32>, tile<4x8xf32>, tile<4x8xf32>", "op  shape error: dim 1 of lhs (8) and dim 0 of rhs (4) must match, but got lhs shape (4, 8) and rhs shape (4, 8)"},
		{"%a = constant <f32: 0.0> : tile<4x4xf32>\n%x = mmaf %m, %n, %a : tile<4x8xf32>, tile<8x4xf32>, tile<4x4xf32>", ""},
		{"%a = constant <f64: 0.0> : tile<4x4xf64>\n%x = mmaf %m, %n, %a : tile<4x8xf32>, tile<8x4xf32>, tile<4x4xf64>",
			"unsupported combination of element types. Input type 'f32' expects accumulator/result type to be one of {'f32'}, but got 'f64'"},
		// Conversions.
		{"%x = bitcast %i : tile<i32> -> tile<f64>", "types must be equal width, cannot convert 'i32' to 'f64'"},
		{"%x = exti %i signed : tile<i32> -> tile<i32>", "extending to smaller or identical integer"},
		{"%x = trunci %i : tile<i32> -> tile<i64>", "truncating to larger or identical integer"},
		{"%x = ftof %f : tile<f32> -> tile<f32>", "converting tiles must not be a no-op"},
		{"%x = ftof %f rounding<positive_inf> : tile<f32> -> tile<f16>", "Only 'nearest_even' and 'zero' are supported for narrowing conversions to standard types"},
		{"%x = ftof %d rounding<positive_inf> : tile<f64> -> tile<f32>", ""},
		{"%x = ftof %f rounding<zero> : tile<f32> -> tile<f8E5M2>", "for conversion to low-precision type. Only 'nearest_even' is supported"},
		{"%x = ftof %f : tile<f32> -> tile<f8E8M0FNU>", "for conversion to f8E8M0FNU. Only 'zero' and 'positive_inf' are supported"},
		{"%x = itof %i signed rounding<zero> : tile<i32> -> tile<f32>", "invalid rounding mode specified. Only 'nearest_even' is supported"},
		{"%x = pack %b : tile<8xi8> -> tile<8xi8>", "expects source and result to have different element type widths"},
		{"%x = unpack %b : tile<8xi8> -> tile<8xf4E2M1FN>", "but got source tile size 8 bytes and result tile size 4 bytes"},
		// Shapes.
		{"%x = iota : tile<i32>", "expects result type to be 1-d tile"},
		{"%x = iota : tile<512xi8>", "the number of elements 512 exceeds the maximum value of element type 'i8'"},
		{"%x = iota : tile<65536xi16>", ""},
		{"%x = iota : tile<131072xi16>", "the number of elements 131072 exceeds the maximum value of element type 'i16'"},
		{"%x = broadcast %m : tile<4x8xf32> -> tile<8x8xf32>", "expects the shape of source tile to be compatible with that of the result tile, but got: 4, 8 and 8, 8"},
		{"%x = reshape %m : tile<4x8xf32> -> tile<8x8xf32>", "expected source tile and result tile to have the same number of elements"},
		{"%x = permute %m [0, 0] : tile<4x8xf32> -> tile<8x4xf32>", "expect permutation elements to be unique"},
		{"%x = permute %m [0, 1] : tile<4x8xf32> -> tile<8x4xf32>", "result shape invalid at index 0, expected: 4, but got: 8"},
		{"%x = cat %m, %m dim = 2 : tile<4x8xf32>, tile<4x8xf32> -> tile<8x8xf32>", "expect dim to be [0, 2), but got: 2"},
		{"%x = cat %m, %m dim = 1 : tile<4x8xf32>, tile<4x8xf32> -> tile<4x8xf32>", "invalid concat at position 1, expected: 16 but got: 8"},
		{"%x = extract %m[%i] : tile<4x8xf32> -> tile<2x8xf32>", "expected 2 indices, but got 1"},
		{"%x = extract %m[%i, %i] : tile<4x8xf32> -> tile<8x8xf32>", "source dimension 0 size (4) must be evenly divisible by result dimension 0 size (8)"},
		{"%x = insert %m, %n[%i, %i] : tile<4x8xf32>, tile<8x4xf32>", "destination dimension 1 size (4) must be evenly divisible by source dimension 1 size (8)"},
		// Reductions.
		{"%x = reduce %m dim=2 identities=[0.0 : f32] : tile<4x8xf32> -> tile<4xf32>\n(%a: tile<f32>, %e: tile<f32>) { yield %a : tile<f32> }", "dimension (2) is out of bound [0, 2)"},
		{"%x = reduce %m dim=0 identities=[0 : i32] : tile<4x8xf32> -> tile<8xf32>\n(%a: tile<f32>, %e: tile<f32>) { yield %a : tile<f32> }", "expect same type for operand at index: 0 and identity at index: 0 but got: 'f32' and 'i32'"},
		{"%x = reduce %m dim=0 identities=[0.0 : f64] : tile<4x8xf32> -> tile<8xf32>\n(%a: tile<f32>, %e: tile<f32>) { yield %a : tile<f32> }", "expect same type for operand at index: 0 and identity at index: 0 but got: 'f32' and 'f64'"},
		{"%x = reduce %m dim=0 identities=[0.0 : f32] : tile<4x8xf32> -> tile<8xf32>\n(%a: tile<f32>, %e: tile<i32>) { yield %a : tile<f32> }", "expect same element type for block argument at index: 0 and 1 but got: 'f32' and 'i32'"},
		{"%x = reduce %m dim=0 identities=[0.0 : f32] : tile<4x8xf32> -> tile<8xf32>\n(%a: tile<f32>, %e: tile<f32>) { assert %c, \"no\" : tile<i1>\n yield %a : tile<f32> }", "only pure operations are allowed inside 'cuda_tile.reduce'"},
		{"%x = scan %m dim=0 reverse=false identities=[0.0 : f32] : tile<4x8xf32> -> tile<8xf32>\n(%a: tile<f32>, %e: tile<f32>) { yield %a : tile<f32> }", "expect same type for operand at index: 0 and result at index: 0"},
		// Control flow.
		{"%x = if %c -> (tile<i32>) { yield %i : tile<i32> } else { yield %l : tile<i64> }", "type does not match yield type, else branch yields '!cuda_tile.tile<i64>' but op result type is '!cuda_tile.tile<i32>'"},
		{"if %c { yield %i : tile<i32> }", "does not return a value, but then branch yields '!cuda_tile.tile<i32>'"},
		{"for %j in (%i to %i, step %i) : tile<i32> { continue %i : tile<i32> }", "`for` is missing a valid terminator. `continue` op should have operand types that match the parent loop return types: (), but found: ('!cuda_tile.tile<i32>')"},
		{"for %j in (%i to %i, step %i) : tile<i32> { if %c { break } }", "can only be nested within a ancestor chain of 'cuda_tile.loop', 'cuda_tile.if' operations"},
		{"for %j in (%i to %i, step %i) : tile<i32> { if %c { return } }", "must be used within a cuda_tile.entry, cuda_tile.if, or cuda_tile.loop operation"},
		{"loop { break %i : tile<i32> }", "operand types must correspond to the parent loop result types"},
		{"loop iter_values(%x = %tv) : tensor_view<?x64xf32, strides=[64,1]> { continue %x : tensor_view<?x64xf32, strides=[64,1]> }", "loop-carried value 0 is a tensor_view, which is not supported"},
		{`%x = print_tko "%d %d", %i : tile<i32> -> token`, "incorrect number of operands: expected 2, found 1"},
		{`%x = print_tko "100%" -> token`, "found unterminated format expression"},
		{`%x = print_tko "100%% %5.2f", %f : tile<f32> -> token`, ""},
		// Assumptions.
		{"%x = assume div_by<7>, %i : tile<i32>", "'cuda_tile.div_by' divisor must be a power of 2"},
		{"%x = assume div_by<4, every 9 along 0>, %v : tile<8xi32>", "expected 'cuda_tile.div_by' every_dim to be within 0 and the size of the respective dimension (8)"},
		{"%x = assume div_by<4, every 2 along 0>, %i : tile<i32>", "cannot be used if the constrained value is a 0D tile"},
		{"%x = assume div_by<4>, %f : tile<f32>", "'cuda_tile.div_by' is valid only for tile of integer/pointer or tensor_view values"},
		{"%x = assume same_elements<[2, 2]>, %v : tile<8xi32>", "expected number of values in 'cuda_tile.same_elements' (2) to match rank of constrained tile (1)"},
		{"%x = assume bounded<0, 128>, %b : tile<8xi8>", "'cuda_tile.bounded' expects upper bound to be within [-128, 127]"},
		{"%x = assume bounded<3, 2>, %b : tile<8xi8>", "expects lower bound to be less than or equal to upper bound"},
		// Memory.
		{"%x = get_global @nothing : tile<ptr<f16>>", "'nothing' does not reference a valid global"},
		{"%x = get_global @g : tile<ptr<f32>>", "pointee type of result type '!cuda_tile.ptr<f32>' does not match type 'f16' of the global @g"},
		{`%x = "cuda_tile.make_tensor_view"(%p) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (!cuda_tile.tile<ptr<f32>>) -> !cuda_tile.tensor_view<64xf16, strides=[1]>`, "expected pointer to 'f16' to build tensor_view of this type, got 'f32'"},
		{"%x, %y = load_view_tko weak %pv[%i] : partition_view<tile=(4x8), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> tile<4x8xf32>, token", "expected 2 index operands (based on view type), got 1"},
		{"%x, %y = load_view_tko weak %pv[%i, %i] : partition_view<tile=(4x8), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> tile<8x4xf32>, token",
			"expected tile type to be '!cuda_tile.tile<4x8xf32>' (based on view type), got '!cuda_tile.tile<8x4xf32>'"},
		{"%x, %y = load_view_tko weak %pv[%i, %l] : partition_view<tile=(4x8), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32>, tile<i64> -> tile<4x8xf32>, token",
			"expected index type 1 to be the same as other index types ('!cuda_tile.tile<i32>'), got '!cuda_tile.tile<i64>'"},
		{"%x, %y = load_ptr_tko release device %q : tile<8xptr<f32>> -> tile<8xf32>, token", "expect one of: weak, relaxed, or acquire, but got: release"},
		{"%x, %y = load_ptr_tko relaxed %q : tile<8xptr<f32>> -> tile<8xf32>, token", "memory scope is required for relaxed load"},
		{"%x, %y = load_ptr_tko weak %q : tile<8xptr<f32>> -> tile<8xi32>, token", "failed to verify that `source` type is expected a pointer type of `result` type"},
		{"%x, %y = load_ptr_tko weak %q : tile<8xptr<f32>> -> tile<4xf32>, token", "failed to verify that `source` type is expected a pointer type of `result` type"},
		{"%z = constant <f32: 0.0> : tile<8xf32>\n%y = store_ptr_tko acquire device %q, %z : tile<8xptr<f32>>, tile<8xf32> -> token", "expect one of: weak, relaxed, or release, but got: acquire"},
		{"%x, %y = atomic_rmw_tko relaxed device %q, addf, %v : tile<8xptr<f32>>, tile<8xi32> -> tile<8xi32>, token", "expected pointee type ('f32') to match element type of 'arg' ('i32')"},
		{"%z = constant <f32: 0.0> : tile<8xf32>\n%x, %y = atomic_rmw_tko relaxed device %q, add, %z : tile<8xptr<f32>>, tile<8xf32> -> tile<8xf32>, token", "'add' works only with integers i32 and i64"},
		{"%g = get_global @g : tile<ptr<f16>>\n%x, %y = atomic_cas_tko relaxed device %g, %h, %h : tile<ptr<f16>>, tile<f16> -> tile<f16>, token", "expect only float or integer types with 32 or 64 bit"},
		{"%z = constant <f32: 0.0> : tile<8xf32>\n%x, %y = atomic_cas_tko weak device %q, %z, %z : tile<8xptr<f32>>, tile<8xf32> -> tile<8xf32>, token", "memory ordering semantics must be one of: relaxed, acquire, release, acq_rel"},
		{"%z = join_tokens %k : token", "expect two or more tokens"},
		{"%z = alloca num_elem = 4, alignment = 2 : tile<ptr<f32>>", "'alignment' (2) must be at least the natural size (4 bytes) for element type 'f32'"},
		{"%z = alloca num_elem = 4, alignment = 3 : tile<ptr<f32>>", "'alignment' must be power of two"},
	}
	for _, test := range tests {
		t.Run(test.body, func(t *testing.T) {
			got := refused(t, scalars, tiles+test.body)
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestEntriesTakeScalars(t *testing.T) {
	want := "'cuda_tile.entry' op entry op must have scalar types (rank 0 !cuda_tile.tile)"
	if got := refused(t, "%a: tile<2xf32>", ""); !strings.Contains(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := refused(t, "%a: tile<f32>, %b: tile<ptr<f8E8M0FNU>>", ""); got != "" {
		t.Errorf("got %s", got)
	}
}

func TestKernelsTakeTiles(t *testing.T) {
	c := ir.NewContext(cudatile.Dialect)
	m, err := ir.Parse(c, "test", []byte("cuda_tile.module @m { entry @k(%a: tensor_view<8xf32, strides=[1]>) { } }"))
	if err != nil || !ir.Verify(c, m) {
		t.Fatalf("the dialect allows views as arguments: %v\n%s", err, c.Diags.String())
	}
	want := "unsupported type in bytecode for entry argument #0: '!cuda_tile.tensor_view<8xf32, strides=[1]>'; expected a rank-0 !cuda_tile.tile type"
	if cudatile.VerifyKernels(c, m) || !strings.Contains(c.Diags.String(), want) {
		t.Errorf("got %s, want %s", c.Diags.String(), want)
	}
	m, err = ir.Parse(c, "test", []byte("cuda_tile.module @m { cuda_tile.module @n { } }"))
	want = "can only hold entries and globals, got 'cuda_tile.module'"
	if err != nil || !ir.Verify(c, m) || cudatile.VerifyKernels(c, m) || !strings.Contains(c.Diags.String(), want) {
		t.Errorf("got %v %s, want %s", err, c.Diags.String(), want)
	}
}

func TestDebugScopesAgreeWithTheirFunction(t *testing.T) {
	const setup = `
#file = #cuda_tile.di_file<"f.py" in "/d">
#unit = #cuda_tile.di_compile_unit<file = #file>
#sub = #cuda_tile.di_subprogram<file = #file, line = 1, name = "k", linkageName = "k", compileUnit = #unit>
#other = #cuda_tile.di_subprogram<file = #file, line = 9, name = "o", linkageName = "o", compileUnit = #unit>
#block = #cuda_tile.di_lexical_block<scope = #sub, file = #file, line = 3>
#in_sub = #cuda_tile.di_loc<loc("f.py":1:2) in #sub>
#in_other = #cuda_tile.di_loc<loc("f.py":9:2) in #other>
#in_block = #cuda_tile.di_loc<loc("f.py":3:2) in #block>
`
	tests := []struct{ op, entry, want string }{
		{"#in_block", "#in_sub", ""},
		{"callsite(#in_other at #in_sub)", "#in_sub", ""},
		{"unknown", "unknown", ""},
		{"#in_sub", "#in_block", ". Function location must have cuda_tile.di_subprogram debug info scope."},
		{"#in_other", "#in_other", `Function name "k" does not match subprogram scope linkage name "o".`},
		{"#in_sub", "unknown", ". Operation has debug info scope, but function debug info scope is undefined."},
		{"#in_other", "#in_sub", ". Operation debug info scope does not match function debug info scope: "},
		{"callsite(#in_sub at #in_other)", "#in_sub", ". Operation debug info scope does not match function debug info scope: "},
		{"unknown", "callsite(#in_sub at #in_sub)", ". Function location must not be a CallSiteLoc."},
	}
	for _, test := range tests {
		c := ir.NewContext(cudatile.Dialect)
		m, err := ir.Parse(c, "test", []byte(setup+"cuda_tile.module @m { entry @k() { return loc("+test.op+") } loc("+test.entry+") }"))
		if err != nil {
			t.Fatalf("%v\n%s", err, c.Diags.String())
		}
		ok := ir.Verify(c, m)
		if ok != (test.want == "") || !strings.Contains(c.Diags.String(), test.want) {
			t.Errorf("%s in %s: got %s, want %s", test.op, test.entry, c.Diags.String(), test.want)
		}
	}
	c := ir.NewContext(cudatile.Dialect)
	m, err := ir.Parse(c, "test", []byte(setup+"cuda_tile.module @m { global @g <i32: [1]> : tile<1xi32> loc(#in_sub) }"))
	if err != nil || ir.Verify(c, m) || !strings.Contains(c.Diags.String(), ". Global variables must not have scope.") {
		t.Errorf("a global in a function: %v %s", err, c.Diags.String())
	}
}

func TestTypesSayWhatIsWrongWithThem(t *testing.T) {
	c := ir.NewContext(cudatile.Dialect)
	f32, i32 := ir.Type(c.Float(mustFormat("f32"))), ir.Type(c.Int(32))
	dyn := int64(cudatile.Dynamic)
	view := func(shape ...int64) *cudatile.TensorViewType {
		strides := make([]int64, len(shape))
		for i := range strides {
			strides[i] = 1
		}
		tv, err := cudatile.TensorView(c, i32, shape, strides, cudatile.Absent)
		if err != nil {
			t.Fatal(err)
		}
		return tv
	}
	errOf := func(_ any, err error) error { return err }
	tests := []struct {
		err  error
		want string
	}{
		{errOf(cudatile.Tile(c, f32, []int64{4, 0})), "all dimensions must be positive constants, got 4, 0"},
		{errOf(cudatile.Tile(c, f32, []int64{3, 4})), "all dimensions must be powers of two, got 3, 4"},
		{errOf(cudatile.Tile(c, f32, []int64{1 << 62, 1 << 62})), "tile would exceed the maximum of 16777216 elements"},
		{errOf(cudatile.Tile(c, f32, []int64{1 << 24})), ""},
		{errOf(cudatile.Tile(c, c.Float(mustFormat("f4E2M1FN")), nil)), "F4E2M1FN tiles must have an even number of elements"},
		{errOf(cudatile.Tile(c, c.Int(28), nil)), "failed to verify 'elementType': f16 or bf16 or f32 or tf32 or f64 or f8E4M3FN or f8E5M2 or f8E8M0FNU or f4E2M1FN or i1 or i8 or i16 or i32 or i64 or Pointer type or i4"},
		{errOf(cudatile.Ptr(c, c.Int(4), cudatile.Absent)), "failed to verify 'pointeeType': f16 or bf16 or f32 or tf32 or f64 or f8E4M3FN or f8E5M2 or f8E8M0FNU or f4E2M1FN or i1 or i8 or i16 or i32 or i64"},
		{errOf(cudatile.TensorView(c, f32, []int64{4}, nil, cudatile.Absent)), "expected shape and stride to be of same rank but got shape of rank 1 and stride of rank 0"},
		{errOf(cudatile.TensorView(c, f32, []int64{0}, []int64{1}, cudatile.Absent)), "dimensions must have strictly positive constant sizes but got [0]"},
		{errOf(cudatile.TensorView(c, f32, []int64{dyn}, []int64{-1}, cudatile.Absent)), "dimensions must have strictly positive constant strides but got [-1]"},
		{errOf(cudatile.PartitionView(c, nil, view(), nil, cudatile.Absent)), "0-dimension tile shape is not supported"},
		{errOf(cudatile.PartitionView(c, []int64{4}, view(8, 8), []int{0}, cudatile.Absent)), "expected tensor_view rank and tile rank to match, got tensor_view of rank 2 and tiles of rank 1"},
		{errOf(cudatile.PartitionView(c, []int64{4, 4}, view(8, 8), []int{0}, cudatile.Absent)), "expected dim_map to map exactly all 2 dimensions of the tile, got 1 mappings"},
		{errOf(cudatile.PartitionView(c, []int64{4, 3}, view(8, 8), []int{0, 1}, cudatile.Absent)), "tile shape dimensions must have power of two length but got [4, 3]"},
		{errOf(cudatile.PartitionView(c, []int64{4, 4}, view(8, 8), []int{1, 1}, cudatile.Absent)), "target dimension 1 mapped at least twice (for tile dimensions 0 and 1)"},
		{errOf(cudatile.PartitionView(c, []int64{4, 4}, view(8, 8), []int{0, 2}, cudatile.Absent)), "target dimension is outside of tensor view dimensions, expected strictly less than 2, got 2"},
		{errOf(cudatile.PartitionView(c, []int64{4}, view(8), []int{0}, cudatile.Some(def.PadNaN))), "padding_value nan can only be used with floating point element types, got i32"},
		{errOf(cudatile.StridedView(c, []int64{4}, []int64{0}, view(8), []int{0}, cudatile.Absent)), "traversal strides must be strictly positive but got [0]"},
		{errOf(cudatile.GatherScatterView(c, []int64{4}, view(8), 1, cudatile.Absent)), "gather dimension is outside of tensor view dimensions, expected strictly less than 1, got 1"},
	}
	for _, test := range tests {
		got := ""
		if test.err != nil {
			got = test.err.Error()
		}
		if got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

func mustFormat(name string) *float.Format {
	f := float.ByName(name)
	if f == nil {
		panic("no format " + name)
	}
	return f
}
