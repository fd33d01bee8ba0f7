package convert

import (
	"errors"
	"strings"
	"testing"

	"tileiras/codegen/target"
	"tileiras/dialects/cudatile"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// converted converts the text of a cuda_tile module for a target and gives the body of its first entry as lines.
func converted(t *testing.T, src, gpu string) (lines []string, err error) {
	t.Helper()
	ctx := ir.NewContext(cudatile.Dialect, tileaa.Dialect)
	m, err := ir.Parse(ctx, "test", []byte(src))
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	if !ir.Verify(ctx, m) {
		t.Fatalf("%s\n%s", ctx.Diags.String(), src)
	}
	s := &pass.State{Ctx: ctx, Module: m}
	s.Target, _ = target.ByName(gpu)
	if err := ToTileAA(s); err != nil {
		return nil, err
	}
	if !ir.Verify(ctx, s.Module) {
		t.Fatalf("%s\n%s", ctx.Diags.String(), ir.Text(s.Module, ir.PrintOptions{}))
	}
	if err := tileaa.CheckForm(s.Module, tileaa.Explicit); err != nil {
		t.Fatal(err)
	}
	for _, l := range strings.Split(ir.Text(s.Module, ir.PrintOptions{}), "\n") {
		lines = append(lines, strings.TrimSpace(l))
	}
	return lines, nil
}

func TestConversionOfViewsAndHints(t *testing.T) {
	const array = "%v = make_tensor_view %p, shape = [%n, 32], strides = [32, 1] : tile<i32> -> tensor_view<?x32xf32, strides=[32,1]>\n"
	tests := []struct {
		says, body string
		want       []string // lines, in order; others may lie between
	}{
		{"a partition view is the block of each access", array + `
			%w = make_partition_view %v : partition_view<tile=(8x16), padding_value = zero, tensor_view<?x32xf32, strides=[32,1]>>
			%t, %k = load_view_tko weak %w[%i, %i] optimization_hints = <sm_90 = {latency = 3}, default = {latency = 7}> : partition_view<tile=(8x16), padding_value = zero, tensor_view<?x32xf32, strides=[32,1]>>, tile<i32> -> tile<8x16xf32>, token
			%k2 = store_view_tko relaxed device %t, %w[%i, %i] token = %k : tile<8x16xf32>, partition_view<tile=(8x16), padding_value = zero, tensor_view<?x32xf32, strides=[32,1]>>, tile<i32> -> token`,
			[]string{
				"%memref = make_memref %arg0, shape(%arg1) : (tile<ptr<f32>>, tile<i32>) -> memref<?x32xf32, strides=[32,1]>",
				"%block = block_tile %memref, indices(%arg2, %arg2) {traversal = [8, 16], dim_map = [0, 1], padding = zero} : (memref<?x32xf32, strides=[32,1]>, tile<i32>, tile<i32>) -> block<8x16xf32>",
				"%tile, %token = tiled_load %block {latency = 3} : (block<8x16xf32>) -> (tile<8x16xf32>, token)",
				"%token_1 = tiled_store %tile, %block_0, token(%token) {order = relaxed, scope = device} : (tile<8x16xf32>, block<8x16xf32>, token) -> token",
			}},
		{"a strided view, transposed, keeps its traversal strides and dimension map", array + `
			%w = make_strided_view %v : strided_view<tile=(8x16), traversal_strides=[3,5], tensor_view<?x32xf32, strides=[32,1]>, dim_map=[1, 0]>
			%t, %k = load_view_tko weak %w[%i, %i] : strided_view<tile=(8x16), traversal_strides=[3,5], tensor_view<?x32xf32, strides=[32,1]>, dim_map=[1, 0]>, tile<i32> -> tile<8x16xf32>, token`,
			[]string{"%block = block_tile %memref, indices(%arg2, %arg2) {traversal = [3, 5], dim_map = [1, 0]} : (memref<?x32xf32, strides=[32,1]>, tile<i32>, tile<i32>) -> block<8x16xf32>"}},
		{"the number of blocks is a division that rounds up, a static one a constant", array + `
			%w = make_partition_view %v : partition_view<tile=(8x16), tensor_view<?x32xf32, strides=[32,1]>>
			%s:2 = get_index_space_shape %w : partition_view<tile=(8x16), tensor_view<?x32xf32, strides=[32,1]>> -> tile<i64>
			%e:2 = get_tensor_shape %v : tensor_view<?x32xf32, strides=[32,1]> -> tile<i64>`,
			[]string{
				"%cst_8_i32 = constant <i32: 8> : tile<i32>",
				"%0 = divi %arg1, %cst_8_i32 {signedness = unsigned, rounding = positive_inf} : tile<i32>",
				"%1 = exti %0 {signedness = unsigned} : (tile<i32>) -> tile<i64>",
				"%cst_2_i64 = constant <i64: 2> : tile<i64>",
				"%2 = exti %arg1 {signedness = unsigned} : (tile<i32>) -> tile<i64>",
				"%cst_32_i64 = constant <i64: 32> : tile<i64>",
			}},
		{"a promise about a view is one about its base", array + `
			%a = assume div_by<16>, %v : tensor_view<?x32xf32, strides=[32,1]>
			%w = make_partition_view %a : partition_view<tile=(8x16), tensor_view<?x32xf32, strides=[32,1]>>
			%t, %k = load_view_tko weak %w[%i, %i] : partition_view<tile=(8x16), tensor_view<?x32xf32, strides=[32,1]>>, tile<i32> -> tile<8x16xf32>, token`,
			[]string{
				"%assume = assume %arg0 {predicate = div_by<16>} : tile<ptr<f32>>",
				"%memref_0 = make_memref %assume, shape(%arg1) : (tile<ptr<f32>>, tile<i32>) -> memref<?x32xf32, strides=[32,1]>",
				"%block = block_tile %memref_0, indices(%arg2, %arg2) {traversal = [8, 16], dim_map = [0, 1]} : (memref<?x32xf32, strides=[32,1]>, tile<i32>, tile<i32>) -> block<8x16xf32>",
			}},
		{"a gather view has coordinates along one dimension and offsets along the others", array + `
			%r = iota : tile<8xi32>
			%w = make_gather_scatter_view %v : gather_scatter_view<tile=(8x16), tensor_view<?x32xf32, strides=[32,1]>, sparse_dim=0>
			%t, %k = load_view_tko weak %w[%r, %i] : gather_scatter_view<tile=(8x16), tensor_view<?x32xf32, strides=[32,1]>, sparse_dim=0>, tile<8xi32>, tile<i32> -> tile<8x16xf32>, token`,
			[]string{"%block = block_tile %memref, indices(%iota, %arg2) {traversal = [1, 1], dim_map = [0, 1], sparse_dim = 0} : (memref<?x32xf32, strides=[32,1]>, tile<8xi32>, tile<i32>) -> block<8x16xf32>"}},
		{"the grid has one op per dimension", `
			%a, %b, %c = get_tile_block_id : tile<i32>
			%d, %e, %f = get_num_tile_blocks : tile<i32>`,
			[]string{"%pid = program_id {axis = 0} : tile<i32>", "%pid_1 = program_id {axis = 2} : tile<i32>", "%grid_2 = num_programs {axis = 1} : tile<i32>"}},
	}
	for _, tt := range tests {
		t.Run(tt.says, func(t *testing.T) {
			src := "cuda_tile.module @m {\nentry @k(%p: tile<ptr<f32>>, %n: tile<i32>, %i: tile<i32>) {\n" + tt.body + "\nreturn\n}\n}"
			got, err := converted(t, src, "sm_90")
			if err != nil {
				t.Fatal(err)
			}
			at := 0
			for _, want := range tt.want {
				for at < len(got) && got[at] != want {
					at++
				}
				if at == len(got) {
					t.Fatalf("no line\n%s\nin order in\n%s", want, strings.Join(got, "\n"))
				}
			}
		})
	}
}

func TestWhatIsNotSupportedIsNamed(t *testing.T) {
	src := `cuda_tile.module @m {
		entry @k(%p: tile<ptr<f32, <multicast>>>, %i: tile<i32>) {
			%v = make_tensor_view %p, shape = [64], strides = [1] : tile<ptr<f32, <multicast>>> -> tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>
			%w = make_partition_view %v : partition_view<tile=(4), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>
			%x, %t = load_view_tko weak %w[%i] : partition_view<tile=(4), tensor_view<64xf32, strides=[1], #cuda_tile.ptr_attr<multicast>>>, tile<i32> -> tile<4xf32>, token
			return
		}
	}`
	_, err := converted(t, src, "sm_90")
	var missing *ir.NotSupported
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "test:5:") ||
		!strings.Contains(err.Error(), "not supported yet: load_view_tko on multicast memory") {
		t.Errorf("got %v", err)
	}
}

func TestTheTableOfSupportNamesEveryOperationOnce(t *testing.T) {
	rows := Support()
	for i, r := range rows {
		if i > 0 && rows[i-1].Op >= r.Op {
			t.Errorf("%s comes before %s", rows[i-1].Op, r.Op)
		}
		if r.Becomes == "" {
			t.Errorf("%s becomes nothing", r.Op)
		}
	}
}
