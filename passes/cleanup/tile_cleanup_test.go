package cleanup

import (
	"testing"
	"tileiras/passes/passtest"
)

func TestTileCleanup(t *testing.T) {
	t.Run("cse", func(t *testing.T) {
		passtest.CheckTile(t, CSE, []passtest.Rewriting{{Says: "equal ops are one, with operands in any order; loads are not", In: `
			%0 = addi %x, %y : tile<i32>
			%1 = addi %y, %x : tile<i32>
			%2 = addi %x, %y overflow<no_signed_wrap> : tile<i32>
			%3, %t3 = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
			%4, %t4 = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
			use %1 : tile<i32>
			use %2 : tile<i32>
			use %3 : tile<i32>
			use %4 : tile<i32>`, Out: `
			%0 = addi %x, %y : tile<i32>
			%2 = addi %x, %y overflow<no_signed_wrap> : tile<i32>
			%3, %t3 = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
			%4, %t4 = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
			use %0 : tile<i32>
			use %2 : tile<i32>
			use %3 : tile<i32>
			use %4 : tile<i32>`}})
	})
	t.Run("loop-invariant-code-motion", func(t *testing.T) {
		passtest.CheckTile(t, LICM, []passtest.Rewriting{{Says: "what does not change leaves the loop; divisions only by a constant that is no trap", In: `
			%three = constant <i32: 3> : tile<i32>
			%all = constant <i32: -1> : tile<i32>
			for %i in (%x to %y, step %three) : tile<i32> {
				%0 = muli %x, %y : tile<i32>
				%1 = divi %0, %three signed : tile<i32>
				%2 = divi %0, %all signed : tile<i32>
				%3 = divi %0, %x signed : tile<i32>
				%4 = addi %1, %i : tile<i32>
				use %2 : tile<i32>
				use %3 : tile<i32>
				use %4 : tile<i32>
			}`, Out: `
			%three = constant <i32: 3> : tile<i32>
			%all = constant <i32: -1> : tile<i32>
			%0 = muli %x, %y : tile<i32>
			%1 = divi %0, %three signed : tile<i32>
			for %i in (%x to %y, step %three) : tile<i32> {
				%2 = divi %0, %all signed : tile<i32>
				%3 = divi %0, %x signed : tile<i32>
				%4 = addi %1, %i : tile<i32>
				use %2 : tile<i32>
				use %3 : tile<i32>
				use %4 : tile<i32>
			}`}})
	})
	t.Run("dce", func(t *testing.T) {
		passtest.CheckTile(t, DCE, []passtest.Rewriting{{Says: "chains and branches that only compute go; loads stay", In: `
			%0 = addi %x, %y : tile<i32>
			%1 = muli %0, %0 : tile<i32>
			if %c {
				%2 = subi %1, %y : tile<i32>
			}
			%3, %t3 = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token`, Out: `
			%3, %t3 = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token`}})
	})
}
