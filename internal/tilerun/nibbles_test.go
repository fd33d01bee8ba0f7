package tilerun_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tileiras/ir/float"
)

// Arrays of f4E2M1FN are read and written through views, two elements to a byte: whole and ragged tiles, along rows and across them, of static and of
// dynamic extents, with padding and without.
func TestViewsOfHalfBytes(t *testing.T) {
	const text = `cuda_tile.module @m {
entry @k(%a: tile<ptr<f4E2M1FN>>, %o: tile<ptr<f32>>, %w: tile<ptr<f4E2M1FN>>, %rows0: tile<i32>, %cols0: tile<i32>) {
  %rows = assume bounded<0, 4096>, %rows0 : tile<i32>
  %cols1 = assume bounded<0, 4096>, %cols0 : tile<i32>
  %cols = assume div_by<2>, %cols1 : tile<i32>
  %i, %j, %z = get_tile_block_id : tile<i32>
  %va = make_tensor_view %a, SHAPE tensor_view<DIMSf4E2M1FN, strides=[STRIDE,1]>
  %vo = make_tensor_view %o, SHAPE tensor_view<DIMSf32, strides=[STRIDE,1]>
  %vw = make_tensor_view %w, SHAPE tensor_view<DIMSf4E2M1FN, strides=[STRIDE,1]>
  %pa = make_partition_view %va : partition_view<tile=(TILE)PADDING, tensor_view<DIMSf4E2M1FN, strides=[STRIDE,1]>MAP>
  %po = make_partition_view %vo : partition_view<tile=(TILE), tensor_view<DIMSf32, strides=[STRIDE,1]>MAP>
  %pw = make_partition_view %vw : partition_view<tile=(TILE), tensor_view<DIMSf4E2M1FN, strides=[STRIDE,1]>MAP>
  %x, %t = load_view_tko weak %pa[%i, %j] : partition_view<tile=(TILE)PADDING, tensor_view<DIMSf4E2M1FN, strides=[STRIDE,1]>MAP>, tile<i32> -> tile<TILExf4E2M1FN>, token
  %y = ftof %x : tile<TILExf4E2M1FN> -> tile<TILExf32>
  %u = store_view_tko weak %y, %po[%i, %j] : tile<TILExf32>, partition_view<tile=(TILE), tensor_view<DIMSf32, strides=[STRIDE,1]>MAP>, tile<i32> -> token
  %n = negf %y : tile<TILExf32>
  %f = ftof %n : tile<TILExf32> -> tile<TILExf4E2M1FN>
  %v = store_view_tko weak %f, %pw[%i, %j] : tile<TILExf4E2M1FN>, partition_view<tile=(TILE), tensor_view<DIMSf4E2M1FN, strides=[STRIDE,1]>MAP>, tile<i32> -> token
  return
}
}`
	const rows, cols = 50, 84
	for _, c := range []struct{ name, dims, shape, stride, tile, padding, dimMap, gpus string }{
		{"rows", "50x84x", "shape = [50, 84], strides = [84, 1] :", "84", "16x32", ", padding_value = zero", "", "sm_80 sm_120"},
		{"unpadded", "50x84x", "shape = [50, 84], strides = [84, 1] :", "84", "8x4", "", "", "sm_100"},
		{"columns", "50x84x", "shape = [50, 84], strides = [84, 1] :", "84", "32x16", ", padding_value = zero", ", dim_map=[1, 0]", "sm_80"},
		{"dynamic", "?x?x", "shape = [%rows, %cols], strides = [%cols, 1] : tile<i32> ->", "?", "16x32", ", padding_value = zero", "", "sm_75 sm_120"},
	} {
		for _, gpu := range strings.Fields(c.gpus) {
			t.Run(c.name+" "+gpu, func(t *testing.T) {
				src := strings.NewReplacer("SHAPE", c.shape, "DIMS", c.dims, "STRIDE", c.stride, "TILE", c.tile, "PADDING", c.padding, "MAP", c.dimMap).Replace(text)
				r := rand.New(rand.NewPCG(3, 5))
				a, w := make([]byte, rows*cols/2), make([]byte, rows*cols/2)
				for i := range a {
					a[i] = byte(r.Uint32())
				}
				grid := [3]int{7, 21, 1}
				if c.tile != "8x4" {
					grid = [3]int{4, 3, 1}
				}
				if c.dimMap != "" {
					grid = [3]int{3, 4, 1}
				}
				got := agreeOn(t, gpu, src, grid, [][]byte{a, make([]byte, 4*rows*cols), w}, rows, cols)
				for i := range rows * cols {
					code := uint64(a[i/2]>>(4*(i%2))) & 15
					want := float.F4E2M1FN.Decode(code)
					if x := math.Float32frombits(binary.LittleEndian.Uint32(got[1][4*i:])); float64(x) != want {
						t.Fatalf("element %d is %v, want %v", i, x, want)
					}
					if x := uint64(got[2][i/2]>>(4*(i%2))) & 15; x != code^8 {
						t.Fatalf("element %d is stored as %#x, want %#x", i, x, code^8)
					}
				}
			})
		}
	}
}
