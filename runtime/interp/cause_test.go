package interp_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"tileiras/runtime/interp"
)

// An undefined value is reported where it matters; the report says what made it undefined.
func TestReportsNameWhatMadeAValueUndefined(t *testing.T) {
	const view = `
		%v = make_tensor_view %out, shape = [4], strides = [1] : tensor_view<4xi64, strides=[1]>
		%p = make_partition_view %v : partition_view<tile=(2), tensor_view<4xi64, strides=[1]>>
		%zero = constant <i32: 0> : tile<i32>
		%i = constant <i32: INDEX> : tile<i32>
`
	const load = view + `
		%x, %t = load_view_tko weak %p[%i] : partition_view<tile=(2), tensor_view<4xi64, strides=[1]>>, tile<i32> -> tile<2xi64>, token
`
	const ragged = view + `
		%r = make_tensor_view %out, shape = [3], strides = [1] : tensor_view<3xi64, strides=[1]>
		%rp = make_partition_view %r : partition_view<tile=(2), tensor_view<3xi64, strides=[1]>>
		%x, %t = load_view_tko weak %rp[%i] : partition_view<tile=(2), tensor_view<3xi64, strides=[1]>>, tile<i32> -> tile<2xi64>, token
		%ones = constant <i64: 1> : tile<2xi64>
		%first = constant <i1: [true, false]> : tile<2xi1>
`
	for _, tt := range []struct{ name, index, ops, want string }{
		{"a stored value", "-1", load + `
		%s = addi %x, %x : tile<2xi64>
		%u = store_view_tko weak %s, %p[%zero] token = %t : tile<2xi64>, partition_view<tile=(2), tensor_view<4xi64, strides=[1]>>, tile<i32> -> token`,
			"test.tileir:11:8: 'cuda_tile.store_view_tko' [tile block 0 0 0, element 0]: undefined value: the stored value is undefined; it depends on " +
				"'cuda_tile.load_view_tko' at test.tileir:8:12, whose index [-1] lies outside the index space [2] of the view of 'out': " +
				"-1, along dimension 0, is negative"},
		{"an index to store at", "-1", view + `
		%s = constant <i64: 0> : tile<2xi64>
		%u = store_view_tko weak %s, %p[%i] : tile<2xi64>, partition_view<tile=(2), tensor_view<4xi64, strides=[1]>>, tile<i32> -> token`,
			"undefined behaviour: the index [-1] lies outside the index space [2] of the view of 'out': -1, along dimension 0, is negative"},
		{"an array of a list", "2", load + `
		%half = extract %x[%zero] : tile<2xi64> -> tile<1xi64>
		%one = reshape %half : tile<1xi64> -> tile<i64>
		%q = int_to_ptr %one : tile<i64> -> tile<ptr<i32>>
		%a = make_tensor_view %q, shape = [4], strides = [1] : tensor_view<4xi32, strides=[1]>`,
			"the base address is undefined; it depends on 'cuda_tile.load_view_tko' at test.tileir:8:12, whose index [2] lies outside the index space [2] " +
				"of the view of 'out'"},
		{"a sum in a loop", "7", view + `
		%one = constant <i32: 1> : tile<i32>
		%start = constant <i64: 0> : tile<2xi64>
		%sum = for %k in (%zero to %one, step %one) : tile<i32> iter_values(%acc = %start) -> (tile<2xi64>) {
			%x, %t = load_view_tko weak %p[%i] : partition_view<tile=(2), tensor_view<4xi64, strides=[1]>>, tile<i32> -> tile<2xi64>, token
			%s = addi %acc, %x : tile<2xi64>
			continue %s : tile<2xi64>
		}
		%u = store_view_tko weak %sum, %p[%zero] : tile<2xi64>, partition_view<tile=(2), tensor_view<4xi64, strides=[1]>>, tile<i32> -> token`,
			"whose index [7] lies outside the index space [2]"},
		{"a slice", "-1", view + `
		%x, %t = load_view_tko weak %p[%zero] : partition_view<tile=(2), tensor_view<4xi64, strides=[1]>>, tile<i32> -> tile<2xi64>, token
		%half = extract %x[%i] : tile<2xi64> -> tile<1xi64>
		%both = cat %half, %half dim = 0 : tile<1xi64>, tile<1xi64> -> tile<2xi64>
		%u = store_view_tko weak %both, %p[%zero] : tile<2xi64>, partition_view<tile=(2), tensor_view<4xi64, strides=[1]>>, tile<i32> -> token`,
			"the stored value is undefined; it depends on 'cuda_tile.extract' at test.tileir:9:11, whose slice does not exist"},
		{"an element without padding", "1", ragged + `
		%s = muli %x, %x : tile<2xi64>
		%u = store_view_tko weak %s, %p[%i] : tile<2xi64>, partition_view<tile=(2), tensor_view<4xi64, strides=[1]>>, tile<i32> -> token`,
			"it depends on 'cuda_tile.load_view_tko' at test.tileir:10:12, whose element [1] lies outside 'out', and which names no padding"},
		{"an element that a helper divides", "1", ragged + `
		%none = constant <i64: [1, 0]> : tile<2xi64>
		%s = divi %ones, %none signed : tile<2xi64> loc(callsite("helper.py":3:9 at "kernel.py":20:7))
		%u = store_view_tko weak %s, %p[%i] : tile<2xi64>, partition_view<tile=(2), tensor_view<4xi64, strides=[1]>>, tile<i32> -> token`,
			"it depends on 'cuda_tile.divi' at helper.py:3:9, called from kernel.py:20:7, whose element [1] divides by 0"},
		{"an element without padding divides", "1", ragged + `
		%s = divi %ones, %x signed : tile<2xi64>
		%u = store_view_tko weak %s, %p[%i] : tile<2xi64>, partition_view<tile=(2), tensor_view<4xi64, strides=[1]>>, tile<i32> -> token`,
			"it depends on 'cuda_tile.load_view_tko' at test.tileir:10:12, whose element [1] lies outside 'out', and which names no padding"},
		{"a quotient beside what select leaves out", "1", ragged + `
		%sel = select %first, %x, %ones : tile<2xi1>, tile<2xi64>
		%none = constant <i64: [1, 0]> : tile<2xi64>
		%q = divi %ones, %none signed : tile<2xi64>
		%s = addi %sel, %q : tile<2xi64>
		%u = store_view_tko weak %s, %p[%i] : tile<2xi64>, partition_view<tile=(2), tensor_view<4xi64, strides=[1]>>, tile<i32> -> token`,
			"it depends on 'cuda_tile.divi' at test.tileir:16:8, whose element [1] divides by 0"},
		{"of two operands that whose element it is", "1", ragged + `
		%none = constant <i64: [0, 1]> : tile<2xi64>
		%q = divi %ones, %none signed : tile<2xi64>
		%s = addi %x, %q : tile<2xi64>
		%u = store_view_tko weak %s, %p[%i] : tile<2xi64>, partition_view<tile=(2), tensor_view<4xi64, strides=[1]>>, tile<i32> -> token`,
			"element 0]: undefined value: the stored value is undefined; it depends on 'cuda_tile.divi' at test.tileir:15:8, whose element [0] divides by 0"},
		{"the first of two iterations", "0", view + `
		%one = constant <i32: 1> : tile<i32>
		%two = constant <i32: 2> : tile<i32>
		%start = constant <i32: 7> : tile<i32>
		%sum = for %k in (%zero to %two, step %one) : tile<i32> iter_values(%acc = %start) -> (tile<i32>) {
			%q = remi %one, %k signed : tile<i32>
			%s = addi %acc, %q : tile<i32>
			continue %s : tile<i32>
		}
		%x, %t = load_view_tko weak %p[%sum] : partition_view<tile=(2), tensor_view<4xi64, strides=[1]>>, tile<i32> -> tile<2xi64>, token`,
			"an index of the view is undefined; it depends on 'cuda_tile.remi' at test.tileir:12:9, which divides by 0"},
		{"a NaN as an integer", "0", view + `
		%nan = constant <f32: 0x7FC00000> : tile<2xf32>
		%n = ftoi %nan signed : tile<2xf32> -> tile<2xi8>
		%none = constant <i8: 0> : tile<2xi8>
		%m = cmpi equal %n, %none, signed : tile<2xi8> -> tile<2xi1>
		%r = reshape %out : tile<ptr<i64>> -> tile<1xptr<i64>>
		%b = broadcast %r : tile<1xptr<i64>> -> tile<2xptr<i64>>
		%x, %t = load_ptr_tko weak %b, %m : tile<2xptr<i64>>, tile<2xi1> -> tile<2xi64>, token`,
			"the mask is undefined; it depends on 'cuda_tile.ftoi' at test.tileir:9:8, whose element [0] converts a NaN"},
		{"a big number as an integer", "0", view + `
		%big = constant <f32: 1.0e9> : tile<f32>
		%n = ftoi %big signed : tile<f32> -> tile<i8>
		%x, %t = load_view_tko weak %p[%n] : partition_view<tile=(2), tensor_view<4xi64, strides=[1]>>, tile<i8> -> tile<2xi64>, token`,
			"it depends on 'cuda_tile.ftoi' at test.tileir:9:8, which is out of range of i8"},
		{"a sum that wraps in a reduction", "0", view + `
		%n = constant <i8: [100, 100]> : tile<2xi8>
		%s = reduce %n dim=0 identities=[0 : i8] : tile<2xi8> -> tile<i8>
		(%acc: tile<i8>, %e: tile<i8>) {
			%t = addi %e, %acc overflow<no_signed_wrap> : tile<i8>
			yield %t : tile<i8>
		}
		%x, %t = load_view_tko weak %p[%s] : partition_view<tile=(2), tensor_view<4xi64, strides=[1]>>, tile<i8> -> tile<2xi64>, token`,
			"it depends on 'cuda_tile.addi' at test.tileir:11:9, which wraps, which it promises not to do"},
		{"memory of nothing", "0", view + `
		%m = alloca num_elem = 1, alignment = 16 : tile<ptr<i32>>
		%w, %t = load_ptr_tko weak %m : tile<ptr<i32>> -> tile<i32>, token
		%x, %c = load_view_tko weak %p[%w] : partition_view<tile=(2), tensor_view<4xi64, strides=[1]>>, tile<i32> -> tile<2xi64>, token`,
			"it depends on 'cuda_tile.load_ptr_tko' at test.tileir:9:12, which reads bytes of an alloca that nothing was stored to"},
		{"what a masked atomic found", "0", view + `
			%no = constant <i1: false> : tile<i1>
			%one = constant <i64: 1> : tile<i64>
			%w, %t = atomic_rmw_tko relaxed device %out, add, %one, %no : tile<ptr<i64>>, tile<i64>, tile<i1> -> tile<i64>, token
			%u = store_ptr_tko weak %out, %w : tile<ptr<i64>>, tile<i64> -> token`,
			"it depends on 'cuda_tile.atomic_rmw_tko' at test.tileir:10:13, which is masked out"},
		{"a masked element", "0", view + `
		%no = constant <i1: false> : tile<i1>
		%w, %t = load_ptr_tko weak %out, %no : tile<ptr<i64>>, tile<i1> -> tile<i64>, token
		%u = store_ptr_tko weak %out, %w : tile<ptr<i64>>, tile<i64> -> token`,
			"it depends on 'cuda_tile.load_ptr_tko' at test.tileir:9:12, which is masked out, and which names no padding"},
	} {
		text := "entry @k(%out: tile<ptr<i64>>) {" + strings.ReplaceAll(tt.ops, "INDEX", tt.index) + "\n return\n}"
		mem := interp.NewMemory()
		addr := mem.Alloc("out", bytes.Repeat([]byte{1}, 32), 256)
		_, err := program(t, text).Run(context.Background(), "k", mem, []uint64{addr}, interp.Options{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
}
