package kernel_test

import (
	"testing"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/passtest"
)

// TestGridStrideLoops: a loop shares its iterations among blocks if it begins at the block's number and goes by what may be how many blocks
// there are, be the number a value that a loop around carries on by the same steps.
func TestGridStrideLoops(t *testing.T) {
	const numbers = "%zero = constant <i32: 0> : tile<i32>\n%one = constant <i32: 1> : tile<i32>\n%four = constant <i32: 4> : tile<i32>\n" +
		"%many = constant <i32: 132> : tile<i32>\n%pid = program_id {axis = 0} : tile<i32>\n%blocks = num_programs {axis = 0} : tile<i32>\n"
	loop := func(from, by string) string {
		return "for %" + from + ", %x, %" + by + " : (tile<i32>, tile<i32>, tile<i32>) (%i: tile<i32>) {\ncontinue\n}\n"
	}
	around := func(init, next, body string) string {
		return "%last = for %zero, %x, %one, inits(%" + init + ") : (tile<i32>, tile<i32>, tile<i32>, tile<i32>) -> tile<i32> (%k: tile<i32>, %at: tile<i32>) {\n" +
			body + "%further = addi %at, %many : tile<i32>\ncontinue %" + next + " : (tile<i32>)\n}\n"
	}
	for _, c := range []struct {
		says, body string
		want       bool
	}{
		{"by the number of blocks", loop("pid", "blocks"), true},
		{"by a constant for it", loop("pid", "many"), true},
		{"by a parameter", loop("pid", "x"), true},
		{"from the number with a promise", "%low = assume %pid {predicate = bounded<0, 1000>} : tile<i32>\n" + loop("low", "many"), true},
		{"by one", loop("pid", "one"), false},
		{"a part of its own", "%mine = muli %pid, %four : tile<i32>\n" + loop("mine", "four"), false},
		{"the same in all blocks", loop("zero", "many"), false},
		{"from where a loop has come to", around("pid", "further", "") + loop("last", "many"), true},
		{"from where a loop around is", around("pid", "further", loop("at", "many")), true},
		{"from what a loop begins elsewhere", around("zero", "further", loop("at", "many")), false},
		{"from what a loop sets to something else", around("pid", "k", loop("at", "many")), false},
	} {
		s := passtest.Parse(t, passtest.TileAAKernel(numbers+c.body))
		var last *ir.Op
		ir.Walk(s.Entries()[0], ir.PreOrder, func(op *ir.Op) {
			if op.Code() == tileaa.OpFor && op.NumResults() == 0 {
				last = op
			}
		})
		if got := kernel.IsGridStride(last); got != c.want {
			t.Errorf("%s: %v", c.says, got)
		}
	}
}
