package cudatile_test

import (
	"tileiras/passes/cudatile"

	"strings"
	"testing"

	"tileiras/ir"
	"tileiras/passes/passtest"
)

// loopTest is a loop from %x to %y with counter %i, after constants.
func loopTest(constants, step, body string) string {
	return constants + `
			for %i in (%x to %y, step ` + step + `) : tile<i32> {
` + body + `
			}`
}

const stepOne = `%one = constant <i32: 1> : tile<i32>
			`

func TestSplitLoops(t *testing.T) {
	passtest.CheckTile(t, cudatile.SplitLoops, []passtest.Rewriting{
		{Says: "below a bound the then runs first, from it on the else", In: loopTest(stepOne, "%one", `
				%0 = cmpi less_than %i, %s, signed : tile<i32> -> tile<i1>
				if %0 {
					use %i : tile<i32>
				} else {
					use %f : tile<f32>
				}`), Out: stepOne + `
			%1 = mini %s, %y signed : tile<i32>
			%2 = maxi %s, %x signed : tile<i32>
			for %i in (%x to %1, step %one) : tile<i32> {
				use %i : tile<i32>
			}
			for %i in (%2 to %y, step %one) : tile<i32> {
				use %f : tile<f32>
			}`},
		{Says: "with the counter on the right the comparison is mirrored, and an if without else leaves nothing", In: loopTest(stepOne, "%one", `
				%0 = cmpi less_than_or_equal %s, %i, signed : tile<i32> -> tile<i1>
				if %0 {
					use %i : tile<i32>
				}
				use %f : tile<f32>`), Out: stepOne + `
			%1 = mini %s, %y signed : tile<i32>
			%2 = maxi %s, %x signed : tile<i32>
			for %i in (%x to %1, step %one) : tile<i32> {
				use %f : tile<f32>
			}
			for %i in (%2 to %y, step %one) : tile<i32> {
				use %i : tile<i32>
				use %f : tile<f32>
			}`},
		{Says: "past a constant the split is one after it", In: loopTest(`%ten = constant <i32: 10> : tile<i32>
			`+stepOne, "%one", `
				%0 = cmpi greater_than %i, %ten, signed : tile<i32> -> tile<i1>
				if %0 {
					use %i : tile<i32>
				}`), Out: `%ten = constant <i32: 10> : tile<i32>
			` + stepOne + `
			%a = constant <i32: 1> : tile<i32>
			%b = addi %ten, %a : tile<i32>
			%1 = mini %b, %y signed : tile<i32>
			%2 = maxi %b, %x signed : tile<i32>
			for %i in (%x to %1, step %one) : tile<i32> {
			}
			for %i in (%2 to %y, step %one) : tile<i32> {
				use %i : tile<i32>
			}`},
		{Says: "past a bound that may be the largest number, the sum is guarded", In: loopTest(stepOne, "%one", `
				%0 = cmpi greater_than %i, %s, signed : tile<i32> -> tile<i1>
				if %0 {
					use %i : tile<i32>
				}`), Out: stepOne + `
			%a = constant <i32: 1> : tile<i32>
			%b = subi %y, %a : tile<i32>
			%h = mini %s, %b signed : tile<i32>
			%e = addi %h, %a : tile<i32>
			%1 = mini %e, %y signed : tile<i32>
			%2 = maxi %e, %x signed : tile<i32>
			for %i in (%x to %1, step %one) : tile<i32> {
			}
			for %i in (%2 to %y, step %one) : tile<i32> {
				use %i : tile<i32>
			}`},
		{Says: "with another step and known numbers the bound is rounded up to a value of the counter", In: `
			%lb = constant <i32: 3> : tile<i32>
			%four = constant <i32: 4> : tile<i32>
			%ten = constant <i32: 10> : tile<i32>
			for %i in (%lb to %y, step %four) : tile<i32> {
				%0 = cmpi less_than %i, %ten, signed : tile<i32> -> tile<i1>
				if %0 {
					use %i : tile<i32>
				}
			}`, Out: `
			%lb = constant <i32: 3> : tile<i32>
			%four = constant <i32: 4> : tile<i32>
			%ten = constant <i32: 10> : tile<i32>
			%a = subi %ten, %lb : tile<i32>
			%b = divi %a, %four signed rounding<positive_inf> : tile<i32>
			%e = muli %b, %four : tile<i32>
			%h = addi %lb, %e : tile<i32>
			%1 = mini %h, %y signed : tile<i32>
			%2 = maxi %h, %lb signed : tile<i32>
			for %i in (%lb to %1, step %four) : tile<i32> {
				use %i : tile<i32>
			}
			for %i in (%2 to %y, step %four) : tile<i32> {
			}`},
		{Says: "with unknown numbers everything that may wrap around is guarded", In: loopTest("", "%by", `
				%0 = cmpi less_than %i, %s, signed : tile<i32> -> tile<i1>
				if %0 {
					use %i : tile<i32>
				}`), Out: `
			%a = maxi %s, %x signed : tile<i32>
			%b = subi %a, %x : tile<i32>
			%e = divi %b, %by unsigned rounding<positive_inf> : tile<i32>
			%h = muli %e, %by : tile<i32>
			%j = addi %x, %h : tile<i32>
			%l = cmpi less_than %j, %a, signed : tile<i32> -> tile<i1>
			%m = select %l, %y, %j : tile<i1>, tile<i32>
			%1 = mini %m, %y signed : tile<i32>
			%2 = maxi %m, %x signed : tile<i32>
			for %i in (%x to %1, step %by) : tile<i32> {
				use %i : tile<i32>
			}
			for %i in (%2 to %y, step %by) : tile<i32> {
			}`},
		{Says: "carried values go on into the second loop; a continue ends the body; other uses see a constant", In: stepOne + `
			%r = for %i in (%x to %y, step %one) : tile<i32> iter_values(%k = %x) -> (tile<i32>) {
				%0 = cmpi greater_than_or_equal %i, %s, signed : tile<i32> -> tile<i1>
				use %0 : tile<i1>
				if %0 {
					%1 = addi %k, %k : tile<i32>
					continue %1 : tile<i32>
				}
				%2 = addi %k, %i : tile<i32>
				continue %2 : tile<i32>
			}
			use %r : tile<i32>`, Out: stepOne + `
			%1 = mini %s, %y signed : tile<i32>
			%2 = maxi %s, %x signed : tile<i32>
			%q = for %i in (%x to %1, step %one) : tile<i32> iter_values(%k = %x) -> (tile<i32>) {
				%0 = constant <i1: false> : tile<i1>
				use %0 : tile<i1>
				%3 = addi %k, %i : tile<i32>
				continue %3 : tile<i32>
			}
			%r = for %i in (%2 to %y, step %one) : tile<i32> iter_values(%k = %q) -> (tile<i32>) {
				%0 = constant <i1: true> : tile<i1>
				use %0 : tile<i1>
				%3 = addi %k, %k : tile<i32>
				continue %3 : tile<i32>
			}
			use %r : tile<i32>`},
	})
}

func TestLoopsThatStay(t *testing.T) {
	stay := func(says, body string) passtest.Rewriting { return passtest.Rewriting{Says: says, In: body, Out: body} }
	passtest.CheckTile(t, cudatile.SplitLoops, []passtest.Rewriting{
		stay("equality changes twice", loopTest(stepOne, "%one", `
				%0 = cmpi equal %i, %s, signed : tile<i32> -> tile<i1>
				if %0 {
					use %i : tile<i32>
				}`)),
		stay("a comparison of the other signedness changes elsewhere", loopTest(stepOne, "%one", `
				%0 = cmpi less_than %i, %s, unsigned : tile<i32> -> tile<i1>
				if %0 {
					use %i : tile<i32>
				}`)),
		stay("the bound changes inside", loopTest(stepOne, "%one", `
				%v = addi %i, %s : tile<i32>
				%0 = cmpi less_than %i, %v, signed : tile<i32> -> tile<i1>
				if %0 {
					use %i : tile<i32>
				}`)),
		stay("the loop says so", stepOne+`
			for %i in (%x to %y, step %one) : tile<i32> {
				%0 = cmpi less_than %i, %s, signed : tile<i32> -> tile<i1>
				if %0 {
					use %i : tile<i32>
				}
			} {cuda_tile.loop_split = 0}`),
	})
}

func TestSplitThreshold(t *testing.T) {
	body := passtest.TileKernel(loopTest(stepOne, "%one", `
				%0 = cmpi less_than %i, %s, signed : tile<i32> -> tile<i1>
				if %0 {
					use %i : tile<i32>
					use %x : tile<i32>
				}`))
	named := tilePass(t, "loop-split")
	for threshold, split := range map[string]bool{"0": false, "1": true, "2": true, "3": false} {
		p, err := named.With(map[string]string{"split-threshold": threshold})
		if err != nil {
			t.Fatal(err)
		}
		s := passtest.Parse(t, body)
		if err := p.Run(s); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(ir.Text(s.Module, ir.PrintOptions{}), "for ") == 2; got != split {
			t.Errorf("threshold %s: split %v, want %v", threshold, got, split)
		}
	}
	p, _ := named.With(map[string]string{"split-threshold": "some"})
	if err := p.Run(passtest.Parse(t, body)); err == nil || err.Error() != "option split-threshold: 'some' is no number from 0 on" {
		t.Errorf("got %v", err)
	}
}
