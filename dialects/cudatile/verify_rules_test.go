package cudatile_test

import (
	"strings"
	"testing"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
)

// Rules that hold at the end of a range, or somewhere inside something else.
func TestRulesAtTheirEnds(t *testing.T) {
	const (
		reduction = "%x = reduce %v dim=0 identities=[0 : i32] : tile<8xi32> -> tile<i32>\n(%a: tile<i32>, %e: tile<i32>) { %q = cmpi less_than %a, %e, signed : tile<i32> -> tile<i1>\n if %q { BODY }\n yield %a : tile<i32> }"
		multicast = `%tv = make_tensor_view %p, shape = [%i], strides = [1] : tile<ptr<f32, <multicast>>>, tile<i32> -> tensor_view<?xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
			%pv = make_partition_view %tv : partition_view<tile=(64), tensor_view<?xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
			%a, %b = multimem_load_reduce_view_tko ORDER %pv[%i]  attributes {reduction = #cuda_tile.multimem_reduction_kind<add>} : partition_view<tile=(64), tensor_view<?xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<64xf32>, token`
	)
	for _, c := range []struct{ args, body, want string }{
		{"%i: tile<i32>", "%x = assume div_by<4611686018427387904>, %i : tile<i32>", ""}, // 2^62
		{"%i: tile<i32>", "%x = assume div_by<9223372036854775808>, %i : tile<i32>", "'cuda_tile.div_by' divisor is too large"},
		{"%i: tile<i32>", "%v = iota : tile<8xi32>\n" + strings.Replace(reduction, "BODY", "%y = addi %a, %e : tile<i32>", 1), ""},
		{"%i: tile<i32>", "%v = iota : tile<8xi32>\n" + strings.Replace(reduction, "BODY", "assert %q, \"no\" : tile<i1>", 1), "only pure operations are allowed inside 'cuda_tile.reduce'"},
		{"%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>", strings.Replace(multicast, "ORDER", "relaxed sys", 1), ""},
		{"%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>", strings.Replace(multicast, "ORDER", "weak", 1), ""},
		{"%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>", strings.Replace(multicast, "ORDER", "relaxed", 1), "memory scope must be given exactly when the access is not weak, and it is relaxed"},
	} {
		got := refused(t, c.args, c.body+"\nreturn")
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.body, got, c.want)
		}
	}
}

// Reductions into views with padding are there from 13.4 on.
func TestReductionsIntoPaddedViews(t *testing.T) {
	const text = `cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>, %i: tile<i32>) {
		%v = iota : tile<8xi32>
		%tv = make_tensor_view %p, shape = [64], strides = [1] : tensor_view<64xi32, strides=[1]>
		%pv = make_partition_view %tv : partition_view<tile=(8), padding_value = zero, tensor_view<64xi32, strides=[1]>>
		%t = atomic_red_view_tko relaxed device %pv[%i], add, %v : tile<8xi32>, partition_view<tile=(8), padding_value = zero, tensor_view<64xi32, strides=[1]>>, tile<i32> -> token
		return
	} }`
	for release, want := range map[ir.Version]string{def.V133: "views with padding_value are not supported for atomic reductions", def.V134: "", {}: ""} {
		c := ir.NewContext(cudatile.Dialect)
		c.Release = release
		m, err := ir.Parse(c, "test", []byte(text))
		if err != nil {
			t.Fatal(c.Diags.String())
		}
		ok := ir.Verify(c, m)
		if got := c.Diags.String(); ok != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%v: got %q, want %q", release, got, want)
		}
	}
}

// No text names every how many elements without a dimension.
func TestGroupsLieAlongADimension(t *testing.T) {
	c, n := ir.NewContext(cudatile.Dialect), int64(2)
	tile, err := cudatile.Tile(c, c.Int(32), []int64{8})
	if err != nil {
		t.Fatal(err)
	}
	const want = "'cuda_tile.div_by' 'every'/'along' must be used in combination"
	for _, a := range []*cudatile.DivBy{{Divisor: 4, Every: &n}, {Divisor: 4, Along: &n}} {
		if got := a.VerifyOn(tile); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
