package cleanup

import (
	"testing"
	"tileiras/passes/passtest"
)

func TestTileCanonicalizeValues(t *testing.T) {
	passtest.CheckTile(t, Canonicalize, []passtest.Rewriting{
		{Says: "equal constants are one, at the start; those that move come first", In: `
			%a = constant <i32: 2> : tile<i32>
			use %a : tile<i32>
			%b = constant <i32: 3> : tile<i32>
			if %c {
				%e = constant <i32: 2> : tile<i32>
				use %e : tile<i32>
			}
			use %b : tile<i32>`, Out: `
			%b = constant <i32: 3> : tile<i32>
			%a = constant <i32: 2> : tile<i32>
			use %a : tile<i32>
			if %c {
				use %a : tile<i32>
			}
			use %b : tile<i32>`},
		{Says: "no arithmetic is done, and no loop or shape changes", In: `
			%a = constant <i32: 2> : tile<i32>
			%0 = addi %a, %a : tile<i32>
			%1 = broadcast %x : tile<i32> -> tile<i32>
			use %0 : tile<i32>
			use %1 : tile<i32>`, Out: `
			%a = constant <i32: 2> : tile<i32>
			%0 = addi %a, %a : tile<i32>
			%1 = broadcast %x : tile<i32> -> tile<i32>
			use %0 : tile<i32>
			use %1 : tile<i32>`},
		{Says: "a product comes first in a sum, with its rounding, unless both sides are products", In: `
			%0 = mulf %f, %g : tile<f32>
			%1 = addf %f, %0 rounding<zero> flush_to_zero : tile<f32>
			%2 = mulf %g, %g : tile<f32>
			%3 = addf %0, %2 : tile<f32>
			use %1 : tile<f32>
			use %3 : tile<f32>`, Out: `
			%0 = mulf %f, %g : tile<f32>
			%1 = addf %0, %f rounding<zero> flush_to_zero : tile<f32>
			%2 = mulf %g, %g : tile<f32>
			%3 = addf %0, %2 : tile<f32>
			use %1 : tile<f32>
			use %3 : tile<f32>`},
		{Says: "what is assumed already is not assumed again", In: `
			%0 = assume div_by<8>, %x : tile<i32>
			%1 = assume div_by<8>, %0 : tile<i32>
			%2 = assume div_by<4>, %1 : tile<i32>
			use %2 : tile<i32>`, Out: `
			%0 = assume div_by<8>, %x : tile<i32>
			%2 = assume div_by<4>, %0 : tile<i32>
			use %2 : tile<i32>`},
		{Says: "a select whose answer is known is that value", In: `
			%t = constant <i1: true> : tile<i1>
			%n = constant <i1: false> : tile<i1>
			%0 = select %c, %x, %x : tile<i1>, tile<i32>
			%1 = select %t, %x, %y : tile<i1>, tile<i32>
			%2 = select %n, %x, %y : tile<i1>, tile<i32>
			%3 = select %c, %t, %n : tile<i1>, tile<i1>
			use %0 : tile<i32>
			use %1 : tile<i32>
			use %2 : tile<i32>
			use %3 : tile<i1>`, Out: `
			use %x : tile<i32>
			use %x : tile<i32>
			use %y : tile<i32>
			use %c : tile<i1>`},
		{Says: "of two values that are compared for equality, a select knows which it takes, in either order", In: `
			%e = cmpi equal %x, %y, signed : tile<i32> -> tile<i1>
			%n = cmpi not_equal %y, %x, signed : tile<i32> -> tile<i1>
			%l = cmpi less_than %x, %y, signed : tile<i32> -> tile<i1>
			%0 = select %e, %x, %y : tile<i1>, tile<i32>
			%1 = select %n, %x, %y : tile<i1>, tile<i32>
			%2 = select %l, %x, %y : tile<i1>, tile<i32>
			use %0 : tile<i32>
			use %1 : tile<i32>
			use %2 : tile<i32>`, Out: `
			%l = cmpi less_than %x, %y, signed : tile<i32> -> tile<i1>
			%2 = select %l, %x, %y : tile<i1>, tile<i32>
			use %y : tile<i32>
			use %x : tile<i32>
			use %2 : tile<i32>`},
		{Says: "a negated condition exchanges the values, and nested selects on one condition are one", In: `
			%t = constant <i1: true> : tile<i1>
			%a = constant <i32: 5> : tile<i32>
			%n = xori %c, %t : tile<i1>
			%0 = select %n, %x, %y : tile<i1>, tile<i32>
			%1 = select %c, %0, %a : tile<i1>, tile<i32>
			%2 = select %c, %a, %0 : tile<i1>, tile<i32>
			use %1 : tile<i32>
			use %2 : tile<i32>`, Out: `
			%a = constant <i32: 5> : tile<i32>
			%1 = select %c, %y, %a : tile<i1>, tile<i32>
			%2 = select %c, %a, %x : tile<i1>, tile<i32>
			use %1 : tile<i32>
			use %2 : tile<i32>`},
		{Says: "false and true are the negated condition; one and zero are the condition as a number", In: `
			%t = constant <i1: true> : tile<i1>
			%n = constant <i1: false> : tile<i1>
			%one = constant <i32: 1> : tile<i32>
			%zero = constant <i32: 0> : tile<i32>
			%0 = select %c, %n, %t : tile<i1>, tile<i1>
			%1 = select %c, %one, %zero : tile<i1>, tile<i32>
			%2 = select %c, %zero, %one : tile<i1>, tile<i32>
			use %0 : tile<i1>
			use %1 : tile<i32>
			use %2 : tile<i32>`, Out: `
			%t = constant <i1: true> : tile<i1>
			%0 = xori %c, %t : tile<i1>
			%1 = exti %c unsigned : tile<i1> -> tile<i32>
			%3 = xori %c, %t : tile<i1>
			%2 = exti %3 unsigned : tile<i1> -> tile<i32>
			use %0 : tile<i1>
			use %1 : tile<i32>
			use %2 : tile<i32>`},
		{Says: "a select of constants is a constant", In: `
			%m = constant <i1: [1, 0, 0, 1]> : tile<4xi1>
			%a = constant <i32: [1, 2, 3, 4]> : tile<4xi32>
			%b = constant <i32: 9> : tile<4xi32>
			%0 = select %m, %a, %b : tile<4xi1>, tile<4xi32>
			use %0 : tile<4xi32>`, Out: `
			%0 = constant <i32: [1, 9, 9, 4]> : tile<4xi32>
			use %0 : tile<4xi32>`},
	})
}

func TestTileCanonicalizeIf(t *testing.T) {
	passtest.CheckTile(t, Canonicalize, []passtest.Rewriting{
		{Says: "a negated condition exchanges the regions, if there are two", In: `
			%t = constant <i1: true> : tile<i1>
			%n = xori %c, %t : tile<i1>
			if %n {
				use %x : tile<i32>
			} else {
				use %y : tile<i32>
			}
			if %n {
				use %f : tile<f32>
			}`, Out: `
			if %c {
				use %y : tile<i32>
			} else {
				use %x : tile<i32>
				use %f : tile<f32>
			}`},
		{Says: "results that nobody uses, that are known or the condition go", In: `
			%t = constant <i1: true> : tile<i1>
			%n = constant <i1: false> : tile<i1>
			%0:4 = if %c -> (tile<i32>, tile<i32>, tile<i1>, tile<i1>) {
				%1 = addi %x, %x : tile<i32>
				use %1 : tile<i32>
				yield %1, %y, %t, %n : tile<i32>, tile<i32>, tile<i1>, tile<i1>
			} else {
				yield %x, %y, %n, %t : tile<i32>, tile<i32>, tile<i1>, tile<i1>
			}
			use %0#1 : tile<i32>
			use %0#2 : tile<i1>
			use %0#3 : tile<i1>`, Out: `
			%t = constant <i1: true> : tile<i1>
			%2 = xori %c, %t : tile<i1>
			if %c {
				%1 = addi %x, %x : tile<i32>
				use %1 : tile<i32>
			}
			use %y : tile<i32>
			use %c : tile<i1>
			use %2 : tile<i1>`},
		{Says: "the region of a constant condition takes the place of the if", In: `
			%t = constant <i1: true> : tile<i1>
			%n = constant <i1: false> : tile<i1>
			%0 = if %t -> (tile<i32>) {
				%1 = addi %x, %y : tile<i32>
				yield %1 : tile<i32>
			} else {
				yield %x : tile<i32>
			}
			if %n {
				use %x : tile<i32>
			}
			use %0 : tile<i32>`, Out: `
			%1 = addi %x, %y : tile<i32>
			use %1 : tile<i32>`},
		{Says: "after a region that jumps, nothing is reached", In: `
			%t = constant <i1: true> : tile<i1>
			loop {
				if %t {
					use %x : tile<i32>
					break
				}
				use %y : tile<i32>
				continue
			}`, Out: `
			loop {
				use %x : tile<i32>
				break
			}`},
		{Says: "values from outside are selected, of tiles by a tile of conditions; others stay", In: `
			%v = iota : tile<4xi32>
			%w = constant <i32: 7> : tile<4xi32>
			%0:3 = if %c -> (tile<i32>, tile<4xi32>, tile<i32>) {
				%1 = addi %x, %y : tile<i32>
				yield %x, %v, %1 : tile<i32>, tile<4xi32>, tile<i32>
			} else {
				yield %y, %w, %x : tile<i32>, tile<4xi32>, tile<i32>
			}
			use %0#0 : tile<i32>
			use %0#1 : tile<4xi32>
			use %0#2 : tile<i32>`, Out: `
			%w = constant <i32: 7> : tile<4xi32>
			%v = iota : tile<4xi32>
			%2 = select %c, %x, %y : tile<i1>, tile<i32>
			%3 = reshape %c : tile<i1> -> tile<1xi1>
			%4 = broadcast %3 : tile<1xi1> -> tile<4xi1>
			%5 = select %4, %v, %w : tile<4xi1>, tile<4xi32>
			%0 = if %c -> (tile<i32>) {
				%1 = addi %x, %y : tile<i32>
				yield %1 : tile<i32>
			} else {
				yield %x : tile<i32>
			}
			use %2 : tile<i32>
			use %5 : tile<4xi32>
			use %0 : tile<i32>`},
		{Says: "nothing is selected when a token is among the results", In: `
			%a = make_token : token
			%0:2 = if %c -> (token, tile<i32>) {
				%1 = print_tko "a" -> token
				yield %1, %x : token, tile<i32>
			} else {
				yield %a, %y : token, tile<i32>
			}
			%2 = store_ptr_tko weak %p, %0#1 token=%0#0 : tile<ptr<i32>>, tile<i32> -> token`, Out: `
			%a = make_token : token
			%0:2 = if %c -> (token, tile<i32>) {
				%1 = print_tko "a" -> token
				yield %1, %x : token, tile<i32>
			} else {
				yield %a, %y : token, tile<i32>
			}
			%2 = store_ptr_tko weak %p, %0#1 token=%0#0 : tile<ptr<i32>>, tile<i32> -> token`},
		{Says: "if one region jumps, the values of the other are the results", In: `
			%0 = if %c -> (tile<i32>) {
				yield %x : tile<i32>
			} else {
				return
			}
			use %0 : tile<i32>`, Out: `
			if %c {
			} else {
				return
			}
			use %x : tile<i32>`},
		{Says: "ifs side by side on one condition, or its opposite, are one", In: `
			%t = constant <i1: true> : tile<i1>
			%n = xori %c, %t : tile<i1>
			%0 = if %c -> (tile<i32>) {
				%1 = addi %x, %y : tile<i32>
				yield %1 : tile<i32>
			} else {
				%1 = subi %x, %y : tile<i32>
				yield %1 : tile<i32>
			}
			if %n {
				use %0 : tile<i32>
			}
			%2 = if %c -> (tile<i32>) {
				%3 = muli %0, %y : tile<i32>
				yield %3 : tile<i32>
			} else {
				return
			}
			use %2 : tile<i32>`, Out: `
			%2 = if %c -> (tile<i32>) {
				%1 = addi %x, %y : tile<i32>
				%3 = muli %1, %y : tile<i32>
				yield %3 : tile<i32>
			} else {
				%1 = subi %x, %y : tile<i32>
				use %1 : tile<i32>
				return
			}
			use %2 : tile<i32>`},
		{Says: "a region that jumps takes nothing of the next if", In: `
			if %c {
				use %x : tile<i32>
				return
			} else {
				use %y : tile<i32>
			}
			if %c {
				use %f : tile<f32>
			} else {
				use %g : tile<f32>
			}`, Out: `
			if %c {
				use %x : tile<i32>
				return
			} else {
				use %y : tile<i32>
				use %g : tile<f32>
			}`},
		{Says: "an if alone in an if is one if on both conditions, also when it jumps", In: `
			if %c {
				if %d {
					use %x : tile<i32>
					return
				}
			}
			use %y : tile<i32>`, Out: `
			%0 = andi %c, %d : tile<i1>
			if %0 {
				use %x : tile<i32>
				return
			}
			use %y : tile<i32>`},
		{Says: "results of nested ifs stay together when both elses yield the same", In: `
			%0:2 = if %c -> (tile<i32>, tile<i32>) {
				%1 = if %d -> (tile<i32>) {
					%2 = addi %x, %y : tile<i32>
					use %2 : tile<i32>
					yield %2 : tile<i32>
				} else {
					yield %x : tile<i32>
				}
				yield %1, %x : tile<i32>, tile<i32>
			} else {
				yield %x, %y : tile<i32>, tile<i32>
			}
			use %0#0 : tile<i32>
			use %0#1 : tile<i32>`, Out: `
			%3 = select %c, %x, %y : tile<i1>, tile<i32>
			%4 = andi %c, %d : tile<i1>
			%0 = if %4 -> (tile<i32>) {
				%2 = addi %x, %y : tile<i32>
				use %2 : tile<i32>
				yield %2 : tile<i32>
			} else {
				yield %x : tile<i32>
			}
			use %0 : tile<i32>
			use %3 : tile<i32>`},
		{Says: "and apart when they do not", In: `
			%0 = if %c -> (tile<i32>) {
				%1 = if %d -> (tile<i32>) {
					%2 = addi %x, %y : tile<i32>
					use %2 : tile<i32>
					yield %2 : tile<i32>
				} else {
					yield %x : tile<i32>
				}
				yield %1 : tile<i32>
			} else {
				yield %y : tile<i32>
			}
			use %0 : tile<i32>`, Out: `
			%0 = if %c -> (tile<i32>) {
				%1 = if %d -> (tile<i32>) {
					%2 = addi %x, %y : tile<i32>
					use %2 : tile<i32>
					yield %2 : tile<i32>
				} else {
					yield %x : tile<i32>
				}
				yield %1 : tile<i32>
			} else {
				yield %y : tile<i32>
			}
			use %0 : tile<i32>`},
		{Says: "after an if that jumps both ways nothing is reached, and no else is needed", In: `
			%0 = if %c -> (tile<i32>) {
				use %x : tile<i32>
				return
			} else {
				use %y : tile<i32>
				return
			}
			use %0 : tile<i32>`, Out: `
			if %c {
				use %x : tile<i32>
				return
			}
			use %y : tile<i32>`},
	})
}
