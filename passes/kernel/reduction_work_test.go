package kernel_test

import (
	"testing"

	"tileiras/passes/kernel"
	"tileiras/passes/passtest"
)

// TestWhatMeets: two reductions, the second of what the first is subtracted from, and a store of what follows.
func TestWhatMeets(t *testing.T) {
	reduce := func(result, of string) string {
		return "%" + result + " = reduce %" + of + " attributes {dim = 1, identities = [0.0 : f32]} : (tile<8x512xf32>) -> tile<8xf32> (%x" + result +
			": tile<f32>, %y" + result + ": tile<f32>) {\n%b" + result + " = addf %x" + result + ", %y" + result + " : tile<f32>\nyield %b" + result + " : (tile<f32>)\n}\n" +
			"%r" + result + " = reshape %" + result + " : (tile<8xf32>) -> tile<8x1xf32>\n%w" + result + " = broadcast %r" + result + " : (tile<8x1xf32>) -> tile<8x512xf32>\n"
	}
	const (
		load = "%zero = constant <i32: 0> : tile<i32>\n%pid = program_id {axis = 0} : tile<i32>\n%tok = create_mem_token : token\n" +
			"%mem = make_memref %p : (tile<ptr<f32>>) -> memref<64x512xf32, strides=[512,1]>\n" +
			"%block = block_tile %mem, indices(%pid, %zero) {traversal = [8, 512], dim_map = [0, 1]} : (memref<64x512xf32, strides=[512,1]>, tile<i32>, tile<i32>) -> block<8x512xf32>\n" +
			"%same = block_tile %mem, indices(%zero, %zero) {traversal = [8, 512], dim_map = [0, 1]} : (memref<64x512xf32, strides=[512,1]>, tile<i32>, tile<i32>) -> block<8x512xf32>\n" +
			"%v, %t1 = tiled_load %block, token(%tok) : (block<8x512xf32>, token) -> (tile<8x512xf32>, token)\n" +
			"%weights, %t2 = tiled_load %same, token(%tok) : (block<8x512xf32>, token) -> (tile<8x512xf32>, token)\n"
		store = "%t3 = tiled_store %d, %block, token(%tok) : (tile<8x512xf32>, block<8x512xf32>, token) -> token\n"
	)
	body := load + reduce("m", "v") + "%d = subf %v, %wm : tile<8x512xf32>\n" + reduce("s", "d") + "%q = divf %d, %ws : tile<8x512xf32>\n"
	for _, c := range []struct {
		says, body           string
		warps, meets, passes int
		held                 int // tiles
	}{
		{"rows of 8 warps meet in none", body, 8, 0, 2, 1},
		{"rows of 16 warps", body, 16, 2, 2, 1},
		{"what is stored follows from both", body + "%t3 = tiled_store %q, %block, token(%tok) : (tile<8x512xf32>, block<8x512xf32>, token) -> token\n", 16, 2, 3, 1},
		{"what is stored follows from the first", body + store, 16, 2, 2, 1},
		{"what is needed again after a reduction is held", body + "%e = addf %d, %weights : tile<8x512xf32>\n", 16, 2, 2, 2},
	} {
		s := passtest.Parse(t, passtest.TileAAKernel(c.body))
		w := kernel.ReductionWorkOf(s, s.Entries()[0], nil)
		if tile, meets := w.Tile(c.warps); tile.Exchanges != c.meets || meets != (c.meets > 0) || tile.Passes != c.passes {
			t.Errorf("%s: %+v", c.says, tile)
		}
		if w.HeldBits != c.held*8*512*32 {
			t.Errorf("%s: %d bits are held", c.says, w.HeldBits)
		}
		if w.Loaded != 8*512*4 {
			t.Errorf("%s: %d bytes are loaded, want those of a block", c.says, w.Loaded)
		}
	}
}
