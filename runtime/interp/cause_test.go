package interp_test

import (
	"context"
	"strings"
	"testing"

	"tileiras/runtime/interp"
)

// An undefined value is reported where it matters; the report says which index made it undefined.
func TestReportsNameTheIndexThatMadeAValueUndefined(t *testing.T) {
	const view = `
		%v = make_tensor_view %out, shape = [4], strides = [1] : tensor_view<4xi64, strides=[1]>
		%p = make_partition_view %v : partition_view<tile=(2), tensor_view<4xi64, strides=[1]>>
		%zero = constant <i32: 0> : tile<i32>
		%i = constant <i32: INDEX> : tile<i32>
`
	const load = view + `
		%x, %t = load_view_tko weak %p[%i] : partition_view<tile=(2), tensor_view<4xi64, strides=[1]>>, tile<i32> -> tile<2xi64>, token
`
	for _, tt := range []struct{ name, index, ops, want string }{
		{"a stored value", "-1", load + `
		%s = addi %x, %x : tile<2xi64>
		%u = store_view_tko weak %s, %p[%zero] token = %t : tile<2xi64>, partition_view<tile=(2), tensor_view<4xi64, strides=[1]>>, tile<i32> -> token`,
			"test.tileir:11:8: 'cuda_tile.store_view_tko' [tile block 0 0 0, element 0]: undefined value: the stored value is undefined; it depends on " +
				"'cuda_tile.load_view_tko' at test.tileir:8:12, whose index [-1] lies outside the index space [2] of the view of 'out' (argument 0): " +
				"-1, along dimension 0, is negative"},
		{"an index to store at", "-1", view + `
		%s = constant <i64: 0> : tile<2xi64>
		%u = store_view_tko weak %s, %p[%i] : tile<2xi64>, partition_view<tile=(2), tensor_view<4xi64, strides=[1]>>, tile<i32> -> token`,
			"undefined behaviour: the index [-1] lies outside the index space [2] of the view of 'out' (argument 0): -1, along dimension 0, is negative"},
		{"an array of a list", "2", load + `
		%half = extract %x[%zero] : tile<2xi64> -> tile<1xi64>
		%one = reshape %half : tile<1xi64> -> tile<i64>
		%q = int_to_ptr %one : tile<i64> -> tile<ptr<i32>>
		%a = make_tensor_view %q, shape = [4], strides = [1] : tensor_view<4xi32, strides=[1]>`,
			"the base address is undefined; it depends on 'cuda_tile.load_view_tko' at test.tileir:8:12, whose index [2] lies outside the index space [2] " +
				"of the view of 'out' (argument 0)"},
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
	} {
		text := "entry @k(%out: tile<ptr<i64>>) {" + strings.ReplaceAll(tt.ops, "INDEX", tt.index) + "\n return\n}"
		mem := interp.NewMemory()
		addr := mem.Alloc("out", make([]byte, 32), 256)
		_, err := program(t, text).Run(context.Background(), "k", mem, []uint64{addr}, interp.Options{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
}
