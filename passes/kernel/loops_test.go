package kernel_test

import (
	"testing"

	"tileiras/codegen/atom"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/passtest"
)

// Of a branch in a loop the cheaper side counts: masks bite in few iterations.
func TestABranchCountsByItsCheaperSide(t *testing.T) {
	issue := func(body string) int {
		const tile = "tile<64x64xf32>"
		s := passtest.Parse(t, passtest.TileAAKernel("%lo = constant <i32: 0> : tile<i32>\n%one = constant <i32: 1> : tile<i32>\n%z = constant <f32: 0.0> : "+tile+
			"\n%r = for %lo, %x, %one, inits(%z) : (tile<i32>, tile<i32>, tile<i32>, "+tile+") -> "+tile+" (%i: tile<i32>, %s: "+tile+") {\n"+
			body+"continue %n : ("+tile+")\n}\nuse %r : "+tile))
		var loop *ir.Op
		ir.Walk(s.Entries()[0], ir.PreOrder, func(op *ir.Op) {
			if ir.Is[tileaa.For](op) {
				loop = op
			}
		})
		return kernel.Loop(s, loop, 4, 0, func(*ir.Op) (t atom.Tiling, ok bool) { return t, false }, func(*ir.Op) int { return 0 }).Issue
	}
	const (
		once   = "%n = addf %s, %z : tile<64x64xf32>\n"
		masked = `%n = if %c : (tile<i1>) -> tile<64x64xf32> {
			%f2 = addf %s, %z : tile<64x64xf32>
			yield %f2 : (tile<64x64xf32>)
		} else {
			%g = mulf %s, %z : tile<64x64xf32>
			%h2 = addf %g, %z : tile<64x64xf32>
			yield %h2 : (tile<64x64xf32>)
		}
		`
	)
	if got, want := issue(masked), issue(once); got != want || want == 0 {
		t.Errorf("a branch with one operation on one side and two on the other counts %d, one operation %d", got, want)
	}
}
