package cleanup

import (
	"testing"

	"tileiras/passes/passtest"
)

func TestCanonicalizeCarriedValues(t *testing.T) {
	passtest.Check(t, Canonicalize, []passtest.Rewriting{
		{Says: "carried values that do not change or that nobody needs go", In: `
			%one = constant <i32: 1> : tile<i32>
			%0, %1, %2 = for %x, %y, %one, inits(%x, %y, %x) : (tile<i32>, tile<i32>, tile<i32>, tile<i32>, tile<i32>, tile<i32>) -> (tile<i32>, tile<i32>, tile<i32>) (%i: tile<i32>, %u: tile<i32>, %v: tile<i32>, %w: tile<i32>) {
				%3 = addi %u, %v : tile<i32>
				%4 = addi %w, %one : tile<i32>
				continue %3, %v, %4 : (tile<i32>, tile<i32>, tile<i32>)
			}
			use %0 : tile<i32>
			use %1 : tile<i32>`, Out: `
			%one = constant <i32: 1> : tile<i32>
			%0 = for %x, %y, %one, inits(%x) : (tile<i32>, tile<i32>, tile<i32>, tile<i32>) -> tile<i32> (%i: tile<i32>, %u: tile<i32>) {
				%3 = addi %u, %y : tile<i32>
				continue %3 : (tile<i32>)
			}
			use %0 : tile<i32>
			use %y : tile<i32>`},
		{Says: "carried values that only need each other go, with a loop between them", In: `
			%one = constant <i32: 1> : tile<i32>
			%0, %1, %2 = for %x, %y, %one, inits(%x, %y, %x) : (tile<i32>, tile<i32>, tile<i32>, tile<i32>, tile<i32>, tile<i32>) -> (tile<i32>, tile<i32>, tile<i32>) (%i: tile<i32>, %u: tile<i32>, %v: tile<i32>, %w: tile<i32>) {
				%3 = addi %u, %i : tile<i32>
				%4 = for %x, %y, %one, inits(%w) : (tile<i32>, tile<i32>, tile<i32>, tile<i32>) -> tile<i32> (%j: tile<i32>, %s: tile<i32>) {
					%5 = muli %s, %v : tile<i32>
					continue %5 : (tile<i32>)
				}
				%6 = addi %v, %4 : tile<i32>
				continue %3, %4, %6 : (tile<i32>, tile<i32>, tile<i32>)
			}
			use %0 : tile<i32>`, Out: `
			%one = constant <i32: 1> : tile<i32>
			%0 = for %x, %y, %one, inits(%x) : (tile<i32>, tile<i32>, tile<i32>, tile<i32>) -> tile<i32> (%i: tile<i32>, %u: tile<i32>) {
				%3 = addi %u, %i : tile<i32>
				continue %3 : (tile<i32>)
			}
			use %0 : tile<i32>`},
		{Says: "values that a loop carries for nobody, and results of it that nobody takes, go, whatever lies between them", In: `
			%one = constant <i32: 1> : tile<i32>
			%0, %1 = loop %x, %y, %x : (tile<i32>, tile<i32>, tile<i32>) -> (tile<i32>, tile<i32>) (%u: tile<i32>, %v: tile<i32>, %w: tile<i32>) {
				%2 = addi %u, %one : tile<i32>
				%3 = cmpi %2, %y {predicate = less_than, signedness = signed} : (tile<i32>, tile<i32>) -> tile<i1>
				if %3 : (tile<i1>) -> () {
					break %2, %v : (tile<i32>, tile<i32>)
				}
				%4 = for %x, %y, %one, inits(%v) : (tile<i32>, tile<i32>, tile<i32>, tile<i32>) -> tile<i32> (%j: tile<i32>, %s: tile<i32>) {
					use %j : tile<i32>
					%5 = muli %s, %w : tile<i32>
					continue %5 : (tile<i32>)
				}
				%6 = addi %w, %4 : tile<i32>
				continue %2, %4, %6 : (tile<i32>, tile<i32>, tile<i32>)
			}
			use %0 : tile<i32>`, Out: `
			%one = constant <i32: 1> : tile<i32>
			%0 = loop %x : (tile<i32>) -> tile<i32> (%u: tile<i32>) {
				%2 = addi %u, %one : tile<i32>
				%3 = cmpi %2, %y {predicate = greater_than_or_equal, signedness = signed} : (tile<i32>, tile<i32>) -> tile<i1>
				if %3 : (tile<i1>) -> () {
					yield
				} else {
					break %2 : (tile<i32>)
				}
				for %x, %y, %one : (tile<i32>, tile<i32>, tile<i32>) (%j: tile<i32>) {
					use %j : tile<i32>
					continue
				}
				continue %2 : (tile<i32>)
			}
			use %0 : tile<i32>`},
		{Says: "a for that goes on in several places loses what it carries for nobody; what decides whether an effect happens stays", In: `
			%one = constant <i32: 1> : tile<i32>
			%0, %1, %2 = for %x, %y, %one, inits(%x, %y, %x) : (tile<i32>, tile<i32>, tile<i32>, tile<i32>, tile<i32>, tile<i32>) -> (tile<i32>, tile<i32>, tile<i32>) (%i: tile<i32>, %u: tile<i32>, %v: tile<i32>, %w: tile<i32>) {
				%3 = addi %v, %i : tile<i32>
				%4 = cmpi %v, %y {predicate = less_than, signedness = signed} : (tile<i32>, tile<i32>) -> tile<i1>
				if %4 : (tile<i1>) -> () {
					%5 = muli %w, %i : tile<i32>
					continue %u, %3, %5 : (tile<i32>, tile<i32>, tile<i32>)
				}
				use %i : tile<i32>
				%6 = addi %u, %i : tile<i32>
				continue %6, %3, %w : (tile<i32>, tile<i32>, tile<i32>)
			}
			use %0 : tile<i32>`, Out: `
			%one = constant <i32: 1> : tile<i32>
			%0, %1 = for %x, %y, %one, inits(%x, %y) : (tile<i32>, tile<i32>, tile<i32>, tile<i32>, tile<i32>) -> (tile<i32>, tile<i32>) (%i: tile<i32>, %u: tile<i32>, %v: tile<i32>) {
				%3 = addi %v, %i : tile<i32>
				%4 = cmpi %v, %y {predicate = less_than, signedness = signed} : (tile<i32>, tile<i32>) -> tile<i1>
				if %4 : (tile<i1>) -> () {
					continue %u, %3 : (tile<i32>, tile<i32>)
				}
				use %i : tile<i32>
				%6 = addi %u, %i : tile<i32>
				continue %6, %3 : (tile<i32>, tile<i32>)
			}
			use %0 : tile<i32>`},
		{Says: "a carried value stays that another one, or an effect, needs", In: `
			%one = constant <i32: 1> : tile<i32>
			%0, %1, %2 = for %x, %y, %one, inits(%x, %y, %x) : (tile<i32>, tile<i32>, tile<i32>, tile<i32>, tile<i32>, tile<i32>) -> (tile<i32>, tile<i32>, tile<i32>) (%i: tile<i32>, %u: tile<i32>, %v: tile<i32>, %w: tile<i32>) {
				%3 = addi %u, %v : tile<i32>
				%4 = addi %v, %i : tile<i32>
				%5 = muli %w, %i : tile<i32>
				use %5 : tile<i32>
				continue %3, %4, %5 : (tile<i32>, tile<i32>, tile<i32>)
			}
			use %0 : tile<i32>`, Out: `
			%one = constant <i32: 1> : tile<i32>
			%0, %1, %2 = for %x, %y, %one, inits(%x, %y, %x) : (tile<i32>, tile<i32>, tile<i32>, tile<i32>, tile<i32>, tile<i32>) -> (tile<i32>, tile<i32>, tile<i32>) (%i: tile<i32>, %u: tile<i32>, %v: tile<i32>, %w: tile<i32>) {
				%3 = addi %u, %v : tile<i32>
				%4 = addi %v, %i : tile<i32>
				%5 = muli %w, %i : tile<i32>
				use %5 : tile<i32>
				continue %3, %4, %5 : (tile<i32>, tile<i32>, tile<i32>)
			}
			use %0 : tile<i32>`},
	})
}
