package cudatile_test

import (
	"strings"
	"testing"
)

// TestMultimemReducesWhatThereAreInstructionsFor goes through element types and reductions; the answers are those of
// tileirdisasm 13.5.
func TestMultimemReducesWhatThereAreInstructionsFor(t *testing.T) {
	const (
		load = `%a, %b = multimem_load_reduce_view_tko relaxed sys %pv[%n]  attributes {reduction = #cuda_tile.multimem_reduction_kind<RED>} : PV, tile<i32> -> tile<64xE>, token`
		red  = `%b = multimem_reduce_view_tko relaxed sys %pv, %v[%n]  attributes {reduction = #cuda_tile.multimem_reduction_kind<RED>} : PV, tile<64xE>, tile<i32> -> token`
		put  = `%b = multimem_store_view_tko relaxed sys %pv, %v[%n]  : PV, tile<64xE>, tile<i32> -> token`

		words    = "multimem requires 32- or 64-bit integer/index element types; got "
		floats   = "multimem supports only f16, bf16, f32, and f64 floating-point element types"
		integers = "and/or/xor/umin/umax reductions require integer element types"
		short    = "min/max supports f16 and bf16 float types only; got "
		sums     = "supports only add for floating-point element types"
	)
	for _, test := range []struct{ op, elems, reductions, want string }{
		{load, "i32 i64", "add min max and or xor umin umax", ""},
		{load, "f16 bf16", "add min max", ""},
		{load, "f32 f64", "add", ""},
		{load, "f32", "min max", short + "'f32'"},
		{load, "f16 f64", "and or xor umin umax", integers},
		{load, "i8", "add min and", words + "8 bits"},
		{load, "f8E4M3FN tf32", "add min and", floats},
		{red, "i32 i64", "add min and umax", ""},
		{red, "f16 bf16 f32 f64", "add", ""},
		{red, "f16 f32", "min max", sums},
		{red, "bf16", "and umin", integers},
		{red, "i1", "add", words + "1 bits"},
		{put, "i32 i64 f16 bf16 f32 f64", "-", ""},
		{put, "i16", "-", words + "16 bits"},
		{put, "f8E5M2", "-", floats},
	} {
		for _, elem := range strings.Fields(test.elems) {
			for _, kind := range strings.Fields(test.reductions) {
				body := strings.NewReplacer("RED", kind).Replace(`%r = reshape %e : tile<E> -> tile<1xE>
					%v = broadcast %r : tile<1xE> -> tile<64xE>
					%tv = make_tensor_view %p, shape = [%n], strides = [1] : tile<ptr<E, <multicast>>>, tile<i32> -> TV
					%pv = make_partition_view %tv : PV
					` + test.op + "\nreturn")
				view := "tensor_view<?x" + elem + ", strides=[1], #cuda_tile.ptr_attr<multicast>>"
				body = strings.NewReplacer("PV", "partition_view<tile=(64), "+view+">", "TV", view,
					"tile<E>", "tile<"+elem+">", "xE>", "x"+elem+">", "ptr<E,", "ptr<"+elem+",").Replace(body)
				got := refused(t, "%p: tile<ptr<"+elem+", <multicast>>>, %n: tile<i32>, %e: tile<"+elem+">", body)
				if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
					t.Errorf("%s of %s: got %q, want %q", kind, elem, got, test.want)
				}
			}
		}
	}
}
