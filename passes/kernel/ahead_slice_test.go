package kernel_test

import (
	"testing"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/passtest"
)

// What cannot be computed ahead cannot when it is asked for again either, nor what depends on it or what a loop carries of it.
func TestWhatCannotBeComputedAhead(t *testing.T) {
	s := passtest.Parse(t, passtest.TileAAKernel(`%lo = constant <i32: 0> : tile<i32>
%one = constant <i32: 1> : tile<i32>
%r = for %lo, %x, %one, inits(%lo) : (tile<i32>, tile<i32>, tile<i32>, tile<i32>) -> tile<i32> (%i: tile<i32>, %s: tile<i32>) {
%known = addi %i, %one : tile<i32>
%carried = muli %s, %one : tile<i32>
%branch = if %c : (tile<i1>) -> tile<i32> {
yield %i : (tile<i32>)
} else {
yield %one : (tile<i32>)
}
%sum = addi %carried, %branch : tile<i32>
%after = addi %sum, %one : tile<i32>
continue %sum : (tile<i32>)
}
use %r : tile<i32>`))
	var loop *ir.Op
	ir.Walk(s.Entries()[0], ir.PreOrder, func(op *ir.Op) {
		if ir.Is[tileaa.For](op) {
			loop = op
		}
	})
	var values []*ir.Value
	for _, op := range loop.Body().Ops() {
		if op.NumResults() > 0 {
			values = append(values, op.Result(0))
		}
	}
	a := kernel.NewAheadSlice(loop)
	for range 2 {
		for i, v := range values {
			if got, want := a.Computable(v), i == 0; got != want {
				t.Errorf("value %d: computable ahead is %t", i, got)
			}
		}
	}
	if len(a.Ops) != 1 || len(a.CarriedArgs) != 0 {
		t.Errorf("the slice has %d operations and %d carried values, expected one and none", len(a.Ops), len(a.CarriedArgs))
	}
}
