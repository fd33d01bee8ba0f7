package cleanup

import (
	"testing"
	"tileiras/passes/passtest"
)

func TestCSE(t *testing.T) {
	passtest.Check(t, CSE, []passtest.Rewriting{
		{Says: "equal pure ops are one, also with operands exchanged where that is the same", In: `
			%0 = addi %x, %y : tile<i32>
			%1 = addi %y, %x : tile<i32>
			%2 = subi %x, %y : tile<i32>
			%3 = subi %y, %x : tile<i32>
			%4 = muli %0, %1 : tile<i32>
			use %4 : tile<i32>
			use %2 : tile<i32>
			use %3 : tile<i32>`, Out: `
			%0 = addi %x, %y : tile<i32>
			%2 = subi %x, %y : tile<i32>
			%3 = subi %y, %x : tile<i32>
			%4 = muli %0, %0 : tile<i32>
			use %4 : tile<i32>
			use %2 : tile<i32>
			use %3 : tile<i32>`},
		{Says: "attributes and result types tell ops apart; a default counts as written", In: `
			%0 = cmpi %x, %y {predicate = less_than} : (tile<i32>, tile<i32>) -> tile<i1>
			%1 = cmpi %x, %y {predicate = less_than, signedness = signed} : (tile<i32>, tile<i32>) -> tile<i1>
			%2 = cmpi %x, %y {predicate = less_than, signedness = unsigned} : (tile<i32>, tile<i32>) -> tile<i1>
			%3 = exti %byte : (tile<i8>) -> tile<i32>
			%4 = exti %byte : (tile<i8>) -> tile<i64>
			use %0 : tile<i1>
			use %1 : tile<i1>
			use %2 : tile<i1>
			use %3 : tile<i32>
			use %4 : tile<i64>`, Out: `
			%0 = cmpi %x, %y {predicate = less_than} : (tile<i32>, tile<i32>) -> tile<i1>
			%2 = cmpi %x, %y {predicate = less_than, signedness = unsigned} : (tile<i32>, tile<i32>) -> tile<i1>
			%3 = exti %byte : (tile<i8>) -> tile<i32>
			%4 = exti %byte : (tile<i8>) -> tile<i64>
			use %0 : tile<i1>
			use %0 : tile<i1>
			use %2 : tile<i1>
			use %3 : tile<i32>
			use %4 : tile<i64>`},
		{Says: "an op replaces those inside branches, not those in the other branch or after", In: `
			if %c : (tile<i1>) -> () {
				%0 = addi %x, %y : tile<i32>
				use %0 : tile<i32>
				yield
			} else {
				%1 = addi %x, %y : tile<i32>
				use %1 : tile<i32>
				yield
			}
			%2 = addi %x, %y : tile<i32>
			if %c : (tile<i1>) -> () {
				%3 = addi %x, %y : tile<i32>
				use %3 : tile<i32>
				yield
			}
			use %2 : tile<i32>`, Out: `
			if %c : (tile<i1>) -> () {
				%0 = addi %x, %y : tile<i32>
				use %0 : tile<i32>
				yield
			} else {
				%1 = addi %x, %y : tile<i32>
				use %1 : tile<i32>
				yield
			}
			%2 = addi %x, %y : tile<i32>
			if %c : (tile<i1>) -> () {
				use %2 : tile<i32>
				yield
			}
			use %2 : tile<i32>`},
		{Says: "weak loads after one token are one; after another, or stronger ones, they are not", In: `
			%t = create_mem_token : token
			%0, %k0 = load %vp, token(%t) : (tile<8xptr<f32>>, token) -> (tile<8xf32>, token)
			%1, %k1 = load %vp, token(%t) : (tile<8xptr<f32>>, token) -> (tile<8xf32>, token)
			%k2 = store %vp, %1, token(%k1) : (tile<8xptr<f32>>, tile<8xf32>, token) -> token
			%3, %k3 = load %vp, token(%k2) : (tile<8xptr<f32>>, token) -> (tile<8xf32>, token)
			%4, %k4 = load %vp, token(%k2) {order = relaxed, scope = device} : (tile<8xptr<f32>>, token) -> (tile<8xf32>, token)
			%5, %k5 = load %vp, token(%k2) {order = relaxed, scope = device} : (tile<8xptr<f32>>, token) -> (tile<8xf32>, token)
			use %0 : tile<8xf32>
			use %3 : tile<8xf32>
			use %4 : tile<8xf32>
			use %5 : tile<8xf32>`, Out: `
			%t = create_mem_token : token
			%0, %k0 = load %vp, token(%t) : (tile<8xptr<f32>>, token) -> (tile<8xf32>, token)
			%k2 = store %vp, %0, token(%k0) : (tile<8xptr<f32>>, tile<8xf32>, token) -> token
			%3, %k3 = load %vp, token(%k2) : (tile<8xptr<f32>>, token) -> (tile<8xf32>, token)
			%4, %k4 = load %vp, token(%k2) {order = relaxed, scope = device} : (tile<8xptr<f32>>, token) -> (tile<8xf32>, token)
			%5, %k5 = load %vp, token(%k2) {order = relaxed, scope = device} : (tile<8xptr<f32>>, token) -> (tile<8xf32>, token)
			use %0 : tile<8xf32>
			use %3 : tile<8xf32>
			use %4 : tile<8xf32>
			use %5 : tile<8xf32>`},
		{Says: "two loads without a token are two loads", In: `
			%0, %k0 = load %vp : (tile<8xptr<f32>>) -> (tile<8xf32>, token)
			%1, %k1 = load %vp : (tile<8xptr<f32>>) -> (tile<8xf32>, token)
			use %0 : tile<8xf32>
			use %1 : tile<8xf32>`, Out: `
			%0, %k0 = load %vp : (tile<8xptr<f32>>) -> (tile<8xf32>, token)
			%1, %k1 = load %vp : (tile<8xptr<f32>>) -> (tile<8xf32>, token)
			use %0 : tile<8xf32>
			use %1 : tile<8xf32>`},
	})
}

func TestLICM(t *testing.T) {
	passtest.Check(t, LICM, []passtest.Rewriting{
		{Says: "what does not change leaves all loops; loads, divisions by unknown numbers and what changes stay", In: `
			%one = constant <i32: 1> : tile<i32>
			%ten = constant <i32: 10> : tile<i32>
			for %x, %y, %one : (tile<i32>, tile<i32>, tile<i32>) (%i: tile<i32>) {
				for %x, %y, %one : (tile<i32>, tile<i32>, tile<i32>) (%j: tile<i32>) {
					%0 = addi %x, %y : tile<i32>
					%1 = muli %0, %0 : tile<i32>
					%2 = addi %1, %i : tile<i32>
					%3 = divi %x, %y : tile<i32>
					%4 = divi %x, %ten : tile<i32>
					%5 = addi %2, %j : tile<i32>
					%6, %k = load %p : (tile<ptr<f32>>) -> (tile<f32>, token)
					use %3 : tile<i32>
					use %4 : tile<i32>
					use %5 : tile<i32>
					use %6 : tile<f32>
					continue
				}
				continue
			}`, Out: `
			%one = constant <i32: 1> : tile<i32>
			%ten = constant <i32: 10> : tile<i32>
			%0 = addi %x, %y : tile<i32>
			%1 = muli %0, %0 : tile<i32>
			%4 = divi %x, %ten : tile<i32>
			for %x, %y, %one : (tile<i32>, tile<i32>, tile<i32>) (%i: tile<i32>) {
				%2 = addi %1, %i : tile<i32>
				for %x, %y, %one : (tile<i32>, tile<i32>, tile<i32>) (%j: tile<i32>) {
					%3 = divi %x, %y : tile<i32>
					%5 = addi %2, %j : tile<i32>
					%6, %k = load %p : (tile<ptr<f32>>) -> (tile<f32>, token)
					use %3 : tile<i32>
					use %4 : tile<i32>
					use %5 : tile<i32>
					use %6 : tile<f32>
					continue
				}
				continue
			}`},
		{Says: "a reduction leaves with its region", In: `
			%one = constant <i32: 1> : tile<i32>
			for %x, %y, %one : (tile<i32>, tile<i32>, tile<i32>) (%i: tile<i32>) {
				%0 = reduce %vf attributes {dim = 0, identities = [0.0 : f32]} : (tile<8xf32>) -> tile<f32> (%a: tile<f32>, %acc: tile<f32>) {
					%s = addf %a, %acc : tile<f32>
					yield %s : (tile<f32>)
				}
				use %0 : tile<f32>
				continue
			}`, Out: `
			%one = constant <i32: 1> : tile<i32>
			%0 = reduce %vf attributes {dim = 0, identities = [0.0 : f32]} : (tile<8xf32>) -> tile<f32> (%a: tile<f32>, %acc: tile<f32>) {
				%s = addf %a, %acc : tile<f32>
				yield %s : (tile<f32>)
			}
			for %x, %y, %one : (tile<i32>, tile<i32>, tile<i32>) (%i: tile<i32>) {
				use %0 : tile<f32>
				continue
			}`},
	})
}

func TestDCE(t *testing.T) {
	passtest.Check(t, DCE, []passtest.Rewriting{
		{Says: "chains of unused ops go at once, loops and branches with nothing in them too; stores and endless loops stay", In: `
			%one = constant <i32: 1> : tile<i32>
			%0 = addi %x, %y : tile<i32>
			%1 = muli %0, %0 : tile<i32>
			for %x, %y, %one : (tile<i32>, tile<i32>, tile<i32>) (%i: tile<i32>) {
				%2 = muli %1, %i : tile<i32>
				continue
			}
			if %c : (tile<i1>) -> () {
				%3 = muli %1, %1 : tile<i32>
				yield
			}
			loop {
				continue
			}
			%k = store %vp, %vf : (tile<8xptr<f32>>, tile<8xf32>) -> token`, Out: `
			loop {
				continue
			}
			%k = store %vp, %vf : (tile<8xptr<f32>>, tile<8xf32>) -> token`},
		{Says: "a branch that leaves the kernel stays", In: `
			if %c : (tile<i1>) -> () {
				return
			}
			%k = store %vp, %vf : (tile<8xptr<f32>>, tile<8xf32>) -> token`, Out: `
			if %c : (tile<i1>) -> () {
				return
			}
			%k = store %vp, %vf : (tile<8xptr<f32>>, tile<8xf32>) -> token`},
	})
}
