package cleanup

import (
	"fmt"
	"strings"
	"testing"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/facts"
	"tileiras/passes/passtest"
)

func TestCanonicalizeIntegers(t *testing.T) {
	passtest.Check(t, Canonicalize, []passtest.Rewriting{
		{Says: "constants fold to one, at the start", In: `
			use %x : tile<i32>
			%a = constant <i32: 2> : tile<i32>
			%b = constant <i32: 3> : tile<i32>
			%r = muli %a, %b : tile<i32>
			%s = addi %a, %a : tile<i32>
			%q = addi %s, %a : tile<i32>
			use %r : tile<i32>
			use %q : tile<i32>`, Out: `
			%r = constant <i32: 6> : tile<i32>
			use %x : tile<i32>
			use %r : tile<i32>
			use %r : tile<i32>`},
		{Says: "equal constants of other types stay apart", In: `
			%a = constant <i32: 1> : tile<i32>
			%b = constant <i64: 1> : tile<i64>
			%d = constant <i32: 1> : tile<8xi32>
			use %a : tile<i32>
			use %b : tile<i64>
			use %d : tile<8xi32>`, Out: `
			%a = constant <i32: 1> : tile<i32>
			%b = constant <i64: 1> : tile<i64>
			%d = constant <i32: 1> : tile<8xi32>
			use %a : tile<i32>
			use %b : tile<i64>
			use %d : tile<8xi32>`},
		{Says: "neutral elements on either side go", In: `
			%zero = constant <i32: 0> : tile<i32>
			%one = constant <i32: 1> : tile<i32>
			%all = constant <i32: -1> : tile<i32>
			%0 = addi %zero, %x : tile<i32>
			%1 = muli %one, %0 : tile<i32>
			%2 = andi %all, %1 : tile<i32>
			%3 = ori %2, %zero : tile<i32>
			%4 = xori %3, %zero : tile<i32>
			%5 = shli %4, %zero : tile<i32>
			%6 = divi %5, %one : tile<i32>
			%7 = subi %6, %zero : tile<i32>
			use %7 : tile<i32>`, Out: `
			use %x : tile<i32>`},
		{Says: "what gives zero is zero", In: `
			%zero = constant <i32: 0> : tile<i32>
			%one = constant <i32: 1> : tile<i32>
			%0 = subi %x, %x : tile<i32>
			%1 = xori %x, %x : tile<i32>
			%2 = muli %zero, %x : tile<i32>
			%3 = andi %x, %zero : tile<i32>
			%4 = remi %x, %one : tile<i32>
			use %0 : tile<i32>
			use %1 : tile<i32>
			use %2 : tile<i32>
			use %3 : tile<i32>
			use %4 : tile<i32>`, Out: `
			%zero = constant <i32: 0> : tile<i32>
			use %zero : tile<i32>
			use %zero : tile<i32>
			use %zero : tile<i32>
			use %zero : tile<i32>
			use %zero : tile<i32>`},
		{Says: "division by zero stays", In: `
			%zero = constant <i32: 0> : tile<i32>
			%a = constant <i32: -5> : tile<i32>
			%0 = divi %a, %zero : tile<i32>
			use %0 : tile<i32>`, Out: `
			%zero = constant <i32: 0> : tile<i32>
			%a = constant <i32: -5> : tile<i32>
			%0 = divi %a, %zero : tile<i32>
			use %0 : tile<i32>`},
		{Says: "constants gather, and flags go with the order of additions", In: `
			%a = constant <i32: 2> : tile<i32>
			%b = constant <i32: 3> : tile<i32>
			%0 = addi %x, %a {overflow = no_wrap} : tile<i32>
			%1 = addi %0, %b {overflow = no_wrap} : tile<i32>
			%2 = subi %1, %b {overflow = no_wrap} : tile<i32>
			use %1 : tile<i32>
			use %2 : tile<i32>`, Out: `
			%d = constant <i32: 5> : tile<i32>
			%a = constant <i32: 2> : tile<i32>
			%1 = addi %x, %d : tile<i32>
			%2 = addi %x, %a : tile<i32>
			use %1 : tile<i32>
			use %2 : tile<i32>`},
		{Says: "unsigned division by a power of two is a shift, its remainder a mask; signed truncation stays", In: `
			%a = constant <i32: 8> : tile<i32>
			%0 = divi %x, %a {signedness = unsigned} : tile<i32>
			%1 = remi %x, %a {signedness = unsigned} : tile<i32>
			%2 = divi %x, %a {rounding = negative_inf} : tile<i32>
			%3 = divi %x, %a : tile<i32>
			use %0 : tile<i32>
			use %1 : tile<i32>
			use %2 : tile<i32>
			use %3 : tile<i32>`, Out: `
			%a = constant <i32: 8> : tile<i32>
			%d = constant <i32: 3> : tile<i32>
			%e = constant <i32: 7> : tile<i32>
			%0 = shri %x, %d {signedness = unsigned} : tile<i32>
			%1 = andi %x, %e : tile<i32>
			%2 = shri %x, %d : tile<i32>
			%3 = divi %x, %a : tile<i32>
			use %0 : tile<i32>
			use %1 : tile<i32>
			use %2 : tile<i32>
			use %3 : tile<i32>`},
		{Says: "comparisons have the constant on the right, and a negation inside", In: `
			%a = constant <i32: 8> : tile<i32>
			%t = constant <i1: true> : tile<i1>
			%0 = cmpi %a, %x {predicate = less_than} : (tile<i32>, tile<i32>) -> tile<i1>
			%1 = xori %0, %t : tile<i1>
			use %1 : tile<i1>`, Out: `
			%a = constant <i32: 8> : tile<i32>
			%1 = cmpi %x, %a {predicate = less_than_or_equal} : (tile<i32>, tile<i32>) -> tile<i1>
			use %1 : tile<i1>`},
		{Says: "the negation of an ordered comparison is unordered", In: `
			%t = constant <i1: true> : tile<i1>
			%0 = cmpf %f, %f {predicate = less_than} : (tile<f32>, tile<f32>) -> tile<i1>
			%1 = xori %t, %0 : tile<i1>
			use %1 : tile<i1>`, Out: `
			%1 = cmpf %f, %f {predicate = greater_than_or_equal, ordering = unordered} : (tile<f32>, tile<f32>) -> tile<i1>
			use %1 : tile<i1>`},
		{Says: "extensions and truncations compose", In: `
			%0 = exti %byte {signedness = unsigned} : (tile<i8>) -> tile<i16>
			%1 = exti %0 : (tile<i16>) -> tile<i64>
			%2 = trunci %1 : (tile<i64>) -> tile<i32>
			%3 = trunci %1 : (tile<i64>) -> tile<i8>
			%4 = exti %byte : (tile<i8>) -> tile<i16>
			%5 = exti %4 {signedness = unsigned} : (tile<i16>) -> tile<i32>
			use %2 : tile<i32>
			use %3 : tile<i8>
			use %5 : tile<i32>`, Out: `
			%2 = exti %byte {signedness = unsigned} : (tile<i8>) -> tile<i32>
			%4 = exti %byte : (tile<i8>) -> tile<i16>
			%5 = exti %4 {signedness = unsigned} : (tile<i16>) -> tile<i32>
			use %2 : tile<i32>
			use %byte : tile<i8>
			use %5 : tile<i32>`},
		{Says: "selects of constants, of equals and of negations", In: `
			%t = constant <i1: true> : tile<i1>
			%e = constant <i1: false> : tile<i1>
			%n = xori %c, %t : tile<i1>
			%0 = select %t, %x, %y : (tile<i1>, tile<i32>, tile<i32>) -> tile<i32>
			%1 = select %c, %x, %x : (tile<i1>, tile<i32>, tile<i32>) -> tile<i32>
			%2 = select %n, %x, %y : (tile<i1>, tile<i32>, tile<i32>) -> tile<i32>
			%3 = select %c, %t, %e : (tile<i1>, tile<i1>, tile<i1>) -> tile<i1>
			use %0 : tile<i32>
			use %1 : tile<i32>
			use %2 : tile<i32>
			use %3 : tile<i1>`, Out: `
			%2 = select %c, %y, %x : (tile<i1>, tile<i32>, tile<i32>) -> tile<i32>
			use %x : tile<i32>
			use %x : tile<i32>
			use %2 : tile<i32>
			use %c : tile<i1>`},
	})
}

func TestCanonicalizeFloatsWithoutChangingABit(t *testing.T) {
	passtest.Check(t, Canonicalize, []passtest.Rewriting{
		{Says: "constants round once, in the mode of the op", In: `
			%a = constant <f32: 1.0> : tile<f32>
			%b = constant <f32: 3.0> : tile<f32>
			%0 = divf %a, %b : tile<f32>
			%1 = divf %a, %b {rounding = negative_inf} : tile<f32>
			%2 = divf %a, %b {rounding = approx} : tile<f32>
			use %0 : tile<f32>
			use %1 : tile<f32>
			use %2 : tile<f32>`, Out: `
			%a = constant <f32: 1.0> : tile<f32>
			%b = constant <f32: 3.0> : tile<f32>
			%0 = constant <f32: 0x3EAAAAAB> : tile<f32>
			%1 = constant <f32: 0x3EAAAAAA> : tile<f32>
			%2 = divf %a, %b {rounding = approx} : tile<f32>
			use %0 : tile<f32>
			use %1 : tile<f32>
			use %2 : tile<f32>`},
		{Says: "x + -0, x - 0, x * 1 and x / 1 are x; x + 0 is not, nor with flush_to_zero", In: `
			%zero = constant <f32: 0.0> : tile<f32>
			%neg = constant <f32: 0x80000000> : tile<f32>
			%one = constant <f32: 1.0> : tile<f32>
			%0 = addf %f, %neg : tile<f32>
			%1 = subf %0, %zero : tile<f32>
			%2 = mulf %one, %1 : tile<f32>
			%3 = divf %2, %one : tile<f32>
			%4 = addf %f, %zero : tile<f32>
			%5 = mulf %f, %one {flush_to_zero} : tile<f32>
			%6 = addf %f, %neg {rounding = negative_inf} : tile<f32>
			use %3 : tile<f32>
			use %4 : tile<f32>
			use %5 : tile<f32>
			use %6 : tile<f32>`, Out: `
			%zero = constant <f32: 0.0> : tile<f32>
			%neg = constant <f32: 0x80000000> : tile<f32>
			%one = constant <f32: 1.0> : tile<f32>
			%4 = addf %f, %zero : tile<f32>
			%5 = mulf %f, %one {flush_to_zero} : tile<f32>
			%6 = addf %f, %neg {rounding = negative_inf} : tile<f32>
			use %f : tile<f32>
			use %4 : tile<f32>
			use %5 : tile<f32>
			use %6 : tile<f32>`},
		{Says: "a NaN result is left to the machine", In: `
			%zero = constant <f32: 0.0> : tile<f32>
			%0 = divf %zero, %zero : tile<f32>
			use %0 : tile<f32>`, Out: `
			%zero = constant <f32: 0.0> : tile<f32>
			%0 = divf %zero, %zero : tile<f32>
			use %0 : tile<f32>`},
		{Says: "narrowing undoes an exact widening only", In: `
			%0 = ftof %h : (tile<f16>) -> tile<f32>
			%1 = ftof %0 : (tile<f32>) -> tile<f16>
			%2 = ftof %f : (tile<f32>) -> tile<f16>
			%3 = ftof %2 : (tile<f16>) -> tile<f32>
			use %1 : tile<f16>
			use %3 : tile<f32>`, Out: `
			%2 = ftof %f : (tile<f32>) -> tile<f16>
			%3 = ftof %2 : (tile<f16>) -> tile<f32>
			use %h : tile<f16>
			use %3 : tile<f32>`},
		{Says: "signs cancel", In: `
			%0 = negf %f : tile<f32>
			%1 = negf %0 : tile<f32>
			%2 = absf %0 : tile<f32>
			%3 = absf %2 : tile<f32>
			use %1 : tile<f32>
			use %3 : tile<f32>`, Out: `
			%2 = absf %f : tile<f32>
			use %f : tile<f32>
			use %2 : tile<f32>`},
	})
}

func TestCanonicalizeShapes(t *testing.T) {
	passtest.Check(t, Canonicalize, []passtest.Rewriting{
		{Says: "one element in any shape is a splat", In: `
			%0 = reshape %f : (tile<f32>) -> tile<1x1xf32>
			%1 = broadcast %0 : (tile<1x1xf32>) -> tile<4x8xf32>
			%2 = permute %1 {permutation = array<i32: 1, 0>} : (tile<4x8xf32>) -> tile<8x4xf32>
			use %2 : tile<8x4xf32>`, Out: `
			%2 = splat %f : (tile<f32>) -> tile<8x4xf32>
			use %2 : tile<8x4xf32>`},
		{Says: "what is equal in all elements is computed once", In: `
			%0 = splat %x : (tile<i32>) -> tile<8xi32>
			%a = constant <i32: 7> : tile<8xi32>
			%1 = addi %0, %a : tile<8xi32>
			%2 = cmpi %1, %0 {predicate = less_than} : (tile<8xi32>, tile<8xi32>) -> tile<8xi1>
			use %2 : tile<8xi1>`, Out: `
			%a = constant <i32: 7> : tile<i32>
			%1 = addi %x, %a : tile<i32>
			%2 = cmpi %1, %x {predicate = less_than} : (tile<i32>, tile<i32>) -> tile<i1>
			%3 = splat %2 : (tile<i1>) -> tile<8xi1>
			use %3 : tile<8xi1>`},
		{Says: "what is equal along a dimension is computed before it is repeated", In: `
			%0 = reshape %vf : (tile<8xf32>) -> tile<1x8xf32>
			%1 = broadcast %0 : (tile<1x8xf32>) -> tile<4x8xf32>
			%2 = splat %f : (tile<f32>) -> tile<4x8xf32>
			%3 = mulf %1, %2 : tile<4x8xf32>
			%4 = addf %3, %mf : tile<4x8xf32>
			use %4 : tile<4x8xf32>`, Out: `
			%0 = reshape %vf : (tile<8xf32>) -> tile<1x8xf32>
			%s = splat %f : (tile<f32>) -> tile<1x8xf32>
			%1 = mulf %0, %s : tile<1x8xf32>
			%3 = broadcast %1 : (tile<1x8xf32>) -> tile<4x8xf32>
			%4 = addf %3, %mf : tile<4x8xf32>
			use %4 : tile<4x8xf32>`},
		{Says: "tiles of one element are computed as scalars", In: `
			%0 = reduce %mf attributes {dim = 1, identities = [0.0 : f32]} : (tile<4x8xf32>) -> tile<4xf32> (%a: tile<f32>, %acc: tile<f32>) {
				%s = addf %a, %acc : tile<f32>
				yield %s : (tile<f32>)
			}
			%1 = extract %0, indices(%x) : (tile<4xf32>, tile<i32>) -> tile<1xf32>
			%2 = splat %f : (tile<f32>) -> tile<1xf32>
			%3 = mulf %1, %2 : tile<1xf32>
			%4 = reshape %1 : (tile<1xf32>) -> tile<1x1xf32>
			%7 = broadcast %4 : (tile<1x1xf32>) -> tile<4x8xf32>
			use %7 : tile<4x8xf32>
			%8 = reshape %3 : (tile<1xf32>) -> tile<1x1xf32>
			%5 = broadcast %8 : (tile<1x1xf32>) -> tile<4x8xf32>
			%6 = mulf %mf, %5 : tile<4x8xf32>
			use %6 : tile<4x8xf32>`, Out: `
			%0 = reduce %mf attributes {dim = 1, identities = [0.0 : f32]} : (tile<4x8xf32>) -> tile<4xf32> (%a: tile<f32>, %acc: tile<f32>) {
				%s = addf %a, %acc : tile<f32>
				yield %s : (tile<f32>)
			}
			%1 = extract %0, indices(%x) : (tile<4xf32>, tile<i32>) -> tile<1xf32>
			%2 = reshape %1 : (tile<1xf32>) -> tile<f32>
			%3 = mulf %2, %f : tile<f32>
			%4 = reshape %1 : (tile<1xf32>) -> tile<f32>
			%7 = splat %4 : (tile<f32>) -> tile<4x8xf32>
			use %7 : tile<4x8xf32>
			%5 = splat %3 : (tile<f32>) -> tile<4x8xf32>
			%6 = mulf %mf, %5 : tile<4x8xf32>
			use %6 : tile<4x8xf32>`},
		{Says: "permutations compose, and to nothing", In: `
			%0 = permute %mf {permutation = array<i32: 1, 0>} : (tile<4x8xf32>) -> tile<8x4xf32>
			%1 = permute %0 {permutation = array<i32: 1, 0>} : (tile<8x4xf32>) -> tile<4x8xf32>
			%2 = reshape %mf : (tile<4x8xf32>) -> tile<32xf32>
			%3 = reshape %2 : (tile<32xf32>) -> tile<4x8xf32>
			use %1 : tile<4x8xf32>
			use %3 : tile<4x8xf32>`, Out: `
			use %mf : tile<4x8xf32>
			use %mf : tile<4x8xf32>`},
		{Says: "a transposed constant moves its elements", In: `
			%0 = constant <i32: [[1, 2], [3, 4]]> : tile<2x2xi32>
			%1 = permute %0 {permutation = array<i32: 1, 0>} : (tile<2x2xi32>) -> tile<2x2xi32>
			use %1 : tile<2x2xi32>`, Out: `
			%0 = constant <i32: [[1, 3], [2, 4]]> : tile<2x2xi32>
			use %0 : tile<2x2xi32>`},
		{Says: "nothing is reduced along one element", In: `
			%0 = reshape %vf : (tile<8xf32>) -> tile<8x1xf32>
			%1 = reduce %0 attributes {dim = 1, identities = [0.0 : f32]} : (tile<8x1xf32>) -> tile<8xf32> (%a: tile<f32>, %acc: tile<f32>) {
				%s = addf %a, %acc : tile<f32>
				yield %s : (tile<f32>)
			}
			use %1 : tile<8xf32>`, Out: `
			use %vf : tile<8xf32>`},
	})
}

func TestCanonicalizeMemory(t *testing.T) {
	passtest.Check(t, Canonicalize, []passtest.Rewriting{
		{Says: "a mask that is true is none, and an access that never happens is gone", In: `
			%t = constant <i1: true> : tile<8xi1>
			%e = constant <i1: false> : tile<8xi1>
			%k = create_mem_token : token
			%0, %k0 = load %vp, mask(%t), padding(%vf), token(%k) : (tile<8xptr<f32>>, tile<8xi1>, tile<8xf32>, token) -> (tile<8xf32>, token)
			%1, %k1 = load %vp, mask(%e), padding(%vf), token(%k0) : (tile<8xptr<f32>>, tile<8xi1>, tile<8xf32>, token) -> (tile<8xf32>, token)
			%k2 = store %vp, %1, mask(%e), token(%k1) : (tile<8xptr<f32>>, tile<8xf32>, tile<8xi1>, token) -> token
			%k3 = store %vp, %0, mask(%t), token(%k2) : (tile<8xptr<f32>>, tile<8xf32>, tile<8xi1>, token) -> token
			use %1 : tile<8xf32>`, Out: `
			%k = create_mem_token : token
			%0, %k0 = load %vp, token(%k) : (tile<8xptr<f32>>, token) -> (tile<8xf32>, token)
			%k3 = store %vp, %0, token(%k0) : (tile<8xptr<f32>>, tile<8xf32>, token) -> token
			use %vf : tile<8xf32>`},
		{Says: "a weak load whose value is unused passes its token; an acquiring one stays", In: `
			%k = create_mem_token : token
			%0, %k0 = load %vp, token(%k) : (tile<8xptr<f32>>, token) -> (tile<8xf32>, token)
			%1, %k1 = load %vp, token(%k0) {order = acquire, scope = device} : (tile<8xptr<f32>>, token) -> (tile<8xf32>, token)
			%k2 = join_mem_token %k, %k0, %k1 : (token, token, token) -> token
			%k3 = store %vp, %vf, token(%k2) : (tile<8xptr<f32>>, tile<8xf32>, token) -> token`, Out: `
			%k = create_mem_token : token
			%1, %k1 = load %vp, token(%k) {order = acquire, scope = device} : (tile<8xptr<f32>>, token) -> (tile<8xf32>, token)
			%k3 = store %vp, %vf, token(%k1) : (tile<8xptr<f32>>, tile<8xf32>, token) -> token`},
	})
}

func TestCanonicalizeControlFlow(t *testing.T) {
	passtest.Check(t, Canonicalize, []passtest.Rewriting{
		{Says: "an if with a known condition is its branch", In: `
			%t = constant <i1: true> : tile<i1>
			%0 = if %t : (tile<i1>) -> tile<i32> {
				%1 = addi %x, %y : tile<i32>
				yield %1 : (tile<i32>)
			} else {
				yield %y : (tile<i32>)
			}
			use %0 : tile<i32>`, Out: `
			%1 = addi %x, %y : tile<i32>
			use %1 : tile<i32>`},
		{Says: "results that nobody uses or that are equal in both branches go", In: `
			%0, %1, %2 = if %c : (tile<i1>) -> (tile<i32>, tile<i32>, tile<i32>) {
				%3 = addi %x, %y : tile<i32>
				yield %x, %3, %x : (tile<i32>, tile<i32>, tile<i32>)
			} else {
				yield %x, %y, %y : (tile<i32>, tile<i32>, tile<i32>)
			}
			use %0 : tile<i32>
			use %2 : tile<i32>`, Out: `
			%2 = if %c : (tile<i1>) -> tile<i32> {
				yield %x : (tile<i32>)
			} else {
				yield %y : (tile<i32>)
			}
			use %x : tile<i32>
			use %2 : tile<i32>`},
		{Says: "a for without iterations gives its first values; an empty one goes", In: `
			%a = constant <i32: 4> : tile<i32>
			%one = constant <i32: 1> : tile<i32>
			%0 = for %a, %a, %one, inits(%x) : (tile<i32>, tile<i32>, tile<i32>, tile<i32>) -> tile<i32> (%i: tile<i32>, %v: tile<i32>) {
				%1 = addi %v, %i : tile<i32>
				continue %1 : (tile<i32>)
			}
			%2 = for %x, %y, %one, inits(%x) : (tile<i32>, tile<i32>, tile<i32>, tile<i32>) -> tile<i32> (%i: tile<i32>, %v: tile<i32>) {
				%1 = addi %v, %i : tile<i32>
				continue %1 : (tile<i32>)
			}
			use %0 : tile<i32>`, Out: `
			use %x : tile<i32>`},
		{Says: "one iteration takes the place of the for, two do not", In: `
			%five = constant <i32: 5> : tile<i32>
			%a = constant <i32: 9> : tile<i32>
			%e = constant <i32: 10> : tile<i32>
			%0 = for %five, %a, %five, inits(%x) : (tile<i32>, tile<i32>, tile<i32>, tile<i32>) -> tile<i32> (%i: tile<i32>, %v: tile<i32>) {
				%1 = muli %v, %i : tile<i32>
				continue %1 : (tile<i32>)
			}
			%2 = for %five, %e, %a, inits(%x) : (tile<i32>, tile<i32>, tile<i32>, tile<i32>) -> tile<i32> (%i: tile<i32>, %v: tile<i32>) {
				%1 = muli %v, %y : tile<i32>
				continue %1 : (tile<i32>)
			}
			%3 = for %five, %e, %five, inits(%x) : (tile<i32>, tile<i32>, tile<i32>, tile<i32>) -> tile<i32> (%i: tile<i32>, %v: tile<i32>) {
				%1 = muli %v, %i : tile<i32>
				continue %1 : (tile<i32>)
			}
			%four = constant <i32: 4> : tile<i32>
			%4 = for %five, %e, %four, inits(%x) : (tile<i32>, tile<i32>, tile<i32>, tile<i32>) -> tile<i32> (%i: tile<i32>, %v: tile<i32>) {
				%1 = muli %v, %i : tile<i32>
				continue %1 : (tile<i32>)
			}
			use %0 : tile<i32>
			use %2 : tile<i32>
			use %3 : tile<i32>
			use %4 : tile<i32>`, Out: `
			%five = constant <i32: 5> : tile<i32>
			%e = constant <i32: 10> : tile<i32>
			%four = constant <i32: 4> : tile<i32>
			%0 = muli %x, %five : tile<i32>
			%2 = muli %x, %y : tile<i32>
			%3 = muli %x, %five : tile<i32>
			%4 = for %five, %e, %four, inits(%x) : (tile<i32>, tile<i32>, tile<i32>, tile<i32>) -> tile<i32> (%i: tile<i32>, %v: tile<i32>) {
				%1 = muli %v, %i : tile<i32>
				continue %1 : (tile<i32>)
			}
			use %0 : tile<i32>
			use %2 : tile<i32>
			use %3 : tile<i32>
			use %4 : tile<i32>`},
	})
}

func TestCanonicalizeUsesFacts(t *testing.T) {
	passtest.Check(t, Canonicalize, []passtest.Rewriting{
		{Says: "the remainder of a tile block number by a positive number needs no correction of its sign", In: `
			%zero = constant <i32: 0> : tile<i32>
			%n = assume %x {predicate = bounded<1, 64>} : tile<i32>
			%pid = program_id {axis = 0} : tile<i32>
			%r = remi %pid, %n : tile<i32>
			%a = cmpi %r, %zero {predicate = less_than} : (tile<i32>, tile<i32>) -> tile<i1>
			%b1 = cmpi %n, %zero {predicate = less_than} : (tile<i32>, tile<i32>) -> tile<i1>
			%d = xori %a, %b1 : tile<i1>
			%e = cmpi %r, %zero {predicate = not_equal} : (tile<i32>, tile<i32>) -> tile<i1>
			%g = andi %d, %e : tile<i1>
			%s = addi %r, %n : tile<i32>
			%m = select %g, %s, %r : (tile<i1>, tile<i32>, tile<i32>) -> tile<i32>
			use %m : tile<i32>`, Out: `
			%n = assume %x {predicate = bounded<1, 64>} : tile<i32>
			%pid = program_id {axis = 0} : tile<i32>
			%r = remi %pid, %n {signedness = unsigned} : tile<i32>
			use %r : tile<i32>`},
		{Says: "the number of blocks is a shift where the sum does not wrap, and a division where it may", In: `
			%a = constant <i32: 128> : tile<i32>
			%n = assume %x {predicate = bounded<0, ?>} : tile<i32>
			%0 = divi %n, %a {signedness = unsigned, rounding = positive_inf} : tile<i32>
			%1 = divi %y, %a {signedness = unsigned, rounding = positive_inf} : tile<i32>
			use %0 : tile<i32>
			use %1 : tile<i32>`, Out: `
			%a = constant <i32: 128> : tile<i32>
			%d = constant <i32: 127> : tile<i32>
			%e = constant <i32: 7> : tile<i32>
			%n = assume %x {predicate = bounded<0, ?>} : tile<i32>
			%s = addi %n, %d {overflow = no_unsigned_wrap} : tile<i32>
			%0 = shri %s, %e {signedness = unsigned} : tile<i32>
			%1 = divi %y, %a {signedness = unsigned, rounding = positive_inf} : tile<i32>
			use %0 : tile<i32>
			use %1 : tile<i32>`},
		{Says: "an extremum that is always the same operand is that operand", In: `
			%a = constant <i32: 100> : tile<i32>
			%n = assume %x {predicate = bounded<0, 64>} : tile<i32>
			%0 = mini %n, %a : tile<i32>
			%1 = maxi %n, %a : tile<i32>
			use %0 : tile<i32>
			use %1 : tile<i32>`, Out: `
			%a = constant <i32: 100> : tile<i32>
			%n = assume %x {predicate = bounded<0, 64>} : tile<i32>
			use %n : tile<i32>
			use %a : tile<i32>`},
	})
}

func TestLongSumsTakeOneSweepAndDeepFactsAnswer(t *testing.T) {
	var b strings.Builder
	b.WriteString("%one = constant <i32: 1> : tile<i32>\n%s0 = addi %x, %one : tile<i32>\n")
	const n = 20000
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, "%%s%d = addi %%s%d, %%one : tile<i32>\n", i, i-1)
	}
	fmt.Fprintf(&b, "use %%s%d : tile<i32>\n", n-1)
	s := passtest.Parse(t, passtest.TileAAKernel(b.String()))
	last := s.Module.Body().First().Body().Last().Prev().Operand(0)
	facts.New(s.Ctx, s.Module).Of(last) // from the end backwards, without a value on the way known
	if err := Canonicalize(s); err != nil {
		t.Fatal(err)
	}
	want := passtest.Parse(t, passtest.TileAAKernel(fmt.Sprintf("%%n = constant <i32: %d> : tile<i32>\n%%r = addi %%x, %%n : tile<i32>\nuse %%r : tile<i32>", n)))
	if got, want := ir.Text(s.Module, ir.PrintOptions{}), ir.Text(want.Module, ir.PrintOptions{}); got != want {
		t.Errorf("got\n%.2000s\nwant\n%s", got, want)
	}
}

// A pattern that changes nothing is asked once about an operation.
func TestSimpleModulesAreSweptOnce(t *testing.T) {
	s := passtest.Parse(t, passtest.TileAAKernel(`
		%0 = addi %x, %y : tile<i32>
		use %0 : tile<i32>`))
	asked := 0
	NewCanonicalizer(s, func(_ *ir.Builder, op *ir.Op) bool {
		if ir.Is[tileaa.Addi](op) {
			asked++
		}
		return false
	}).ToFixpoint(s.Module)
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}
