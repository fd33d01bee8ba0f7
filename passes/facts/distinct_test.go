package facts

import (
	"testing"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

func TestDistinctAddresses(t *testing.T) {
	const pointers = `
		%i = iota : tile<128xi32>
		%j = iota : tile<16xi32>
		%s = splat %p : (tile<ptr<f32>>) -> tile<128xptr<f32>>
		%two = constant <i32: 2> : tile<128xi32>
		%big = constant <i32: 33554432> : tile<128xi32>
		%three = constant <i32: 3> : tile<16x128xi32>
		%u = splat %n : (tile<i32>) -> tile<128xi32>
		%a = offset %s, %i : (tile<128xptr<f32>>, tile<128xi32>) -> tile<128xptr<f32>>
		%iu = addi %i, %u : tile<128xi32>
		%b = offset %s, %iu : (tile<128xptr<f32>>, tile<128xi32>) -> tile<128xptr<f32>>
		%i2 = muli %i, %two : tile<128xi32>
		%d = offset %a, %i2 : (tile<128xptr<f32>>, tile<128xi32>) -> tile<128xptr<f32>>
		%ib = muli %i, %big : tile<128xi32>
		%e = offset %s, %ib : (tile<128xptr<f32>>, tile<128xi32>) -> tile<128xptr<f32>>
		%in = muli %i, %u : tile<128xi32>
		%f = offset %s, %in : (tile<128xptr<f32>>, tile<128xi32>) -> tile<128xptr<f32>>
		%ix = subi %i2, %i : tile<128xi32>
		%g = offset %s, %ix : (tile<128xptr<f32>>, tile<128xi32>) -> tile<128xptr<f32>>
		%iz = subi %ix, %i : tile<128xi32>
		%h = offset %s, %iz : (tile<128xptr<f32>>, tile<128xi32>) -> tile<128xptr<f32>>
		%r = offset %s, %u : (tile<128xptr<f32>>, tile<128xi32>) -> tile<128xptr<f32>>
		%nu = negi %u : tile<128xi32>
		%inu = addi %i, %nu : tile<128xi32>
		%k = offset %s, %inu : (tile<128xptr<f32>>, tile<128xi32>) -> tile<128xptr<f32>>
		%i4 = iota : tile<4xi32>
		%down = constant <i32: [3, 2, 1, 0]> : tile<4xi32>
		%s4 = splat %p : (tile<ptr<f32>>) -> tile<4xptr<f32>>
		%a4 = offset %s4, %i4 : (tile<4xptr<f32>>, tile<4xi32>) -> tile<4xptr<f32>>
		%l = offset %a4, %down : (tile<4xptr<f32>>, tile<4xi32>) -> tile<4xptr<f32>>`
	f, ops := module(t, pointers)
	for name, want := range map[string]bool{
		"a": true,  // p + i
		"b": true,  // p + i + n, whatever n is and wherever that wraps
		"d": true,  // p + i + 2i
		"e": false, // 2^25 i reaches 2^31: the proof stops there
		"f": false, // p + n i: n may be 0
		"g": true,  // 2i - i
		"h": false, // 0
		"r": false, // all alike
		"k": true,  // p + i - n
		"l": false, // p + 3 four times
	} {
		if got := f.distinctPointers(ops[name].Result(0)); got != want {
			t.Errorf("pointers %s are distinct: %v, want %v", name, got, want)
		}
	}
}

func TestDistinctBlocks(t *testing.T) {
	f, ops := module(t, `
		%dense = make_memref %p : (tile<ptr<f32>>) -> memref<64x64xf32, strides=[64,1]>
		%columns = make_memref %p : (tile<ptr<f32>>) -> memref<64x64xf32, strides=[1,64]>
		%overlap = make_memref %p : (tile<ptr<f32>>) -> memref<64x64xf32, strides=[32,1]>
		%rows = make_memref %p : (tile<ptr<f32>>) -> memref<64x64xf32, strides=[0,1]>
		%pitch = make_memref %p, shape(%n), strides(%m) : (tile<ptr<f32>>, tile<i32>, tile<i32>) -> memref<?x64xf32, strides=[?,1]>
		%line = make_memref %p, shape(%n) : (tile<ptr<f32>>, tile<i32>) -> memref<?xf32, strides=[1]>
		%b1 = block_tile %dense, indices(%n, %m) {traversal = [16, 32], dim_map = [0, 1]} : (memref<64x64xf32, strides=[64,1]>, tile<i32>, tile<i32>) -> block<16x32xf32>
		%b2 = block_tile %overlap, indices(%n, %m) {traversal = [16, 32], dim_map = [0, 1]} : (memref<64x64xf32, strides=[32,1]>, tile<i32>, tile<i32>) -> block<16x32xf32>
		%b3 = block_tile %overlap, indices(%n, %m) {traversal = [16, 64], dim_map = [0, 1]} : (memref<64x64xf32, strides=[32,1]>, tile<i32>, tile<i32>) -> block<16x64xf32>
		%b4 = block_tile %rows, indices(%n, %m) {traversal = [1, 64], dim_map = [0, 1]} : (memref<64x64xf32, strides=[0,1]>, tile<i32>, tile<i32>) -> block<1x64xf32>
		%b5 = block_tile %rows, indices(%n, %m) {traversal = [2, 64], dim_map = [0, 1]} : (memref<64x64xf32, strides=[0,1]>, tile<i32>, tile<i32>) -> block<2x64xf32>
		%b6 = block_tile %pitch, indices(%n, %m) {traversal = [16, 64], dim_map = [0, 1]} : (memref<?x64xf32, strides=[?,1]>, tile<i32>, tile<i32>) -> block<16x64xf32>
		%b7 = block_tile %dense, indices(%n, %m) {traversal = [1, 32], dim_map = [0, 1]} : (memref<64x64xf32, strides=[64,1]>, tile<i32>, tile<i32>) -> block<16x32xf32>`)
	for name, want := range map[string]bool{"dense": true, "columns": true, "overlap": false, "rows": false, "pitch": false, "line": true} {
		memref, _ := ir.As[tileaa.MakeMemref](ops[name])
		if got := f.DistinctArray(memref); got != want {
			t.Errorf("elements of array %s are distinct: %v, want %v", name, got, want)
		}
	}
	for name, want := range map[string][2]bool{ // distinct, of a partition
		"b1": {true, true},
		"b2": {true, true}, // rows of 32 that begin 32 apart
		"b3": {false, true},
		"b4": {true, true},
		"b5": {false, true},
		"b6": {false, true},
		"b7": {true, false},
	} {
		block, _ := ir.As[tileaa.BlockTile](ops[name])
		if got := [2]bool{f.distinctBlock(block), f.IsPartition(block)}; got != want {
			t.Errorf("block %s: distinct and of a partition: %v, want %v", name, got, want)
		}
	}
}
