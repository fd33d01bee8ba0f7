package random

import (
	"strings"
	"testing"
)

func TestControlMeansTheSame(t *testing.T) { meanTheSame(t, Control, 100, 0) }

// wantedOfControl is what programs of control flow must have within the first wantedOfControlWithin seeds; most of it counts only where it runs.
var wantedOfControl = []string{
	"assumption", "atomic sum", "comparison with an end of what may be", "comparison: equal", "comparison: greater_than", "comparison: greater_than_or_equal",
	"comparison: less_than", "comparison: less_than_or_equal", "comparison: not_equal", "counter far from 0 in i32", "counter far from 0 in i64",
	"counter that goes on from another counter", "division", "division by a number that is not seen", "division in a loop without a round where it is undefined",
	"division in an if where it is defined", "entry", "entry at a place that numbers say", "for from a number on", "for from the tile block on",
	"for of a bound from a number", "for of rounds: 0", "for of rounds: 1", "for of rounds: 2 or more", "for that compares its counter",
	"for up to the counter of a loop around", "for up to the largest number", "for with a bound from memory", "for with a bound from the tile block",
	"guard by a bound from in front of a loop", "guard by a bound from memory", "guard by a bound from where the loop begins", "if that a counter decides", "if that only computes", "journal that is read",
	"load through pointers of a value", "load under a mask", "loop behind an if", "loop from a number on", "loop in a loop", "loop near the largest or the least number",
	"loop of rounds: 1", "loop of rounds: 2", "loop of rounds: 3 or more", "loop over an array", "loop over an array up to an index", "loop that counts down",
	"loop that counts the other way round", "loop that ends at once", "loop that ends in an if", "loop that ends in an if within an if",
	"loop that goes on by one side and ends behind it", "loop that goes on by one side and ends by the other", "loop that only a return ends",
	"loop with a bound from a number", "loop with a bound from memory", "loop with a bound from the counter of a loop around", "loop with a bound from the tile block",
	"loop with the test at its foot", "loop with the test at its head", "mask of a comparison with a tile", "negation", "number between two others", "number of an element",
	"number that grows as the counter does", "number that is a remainder", "operation on one number", "permute", "place of a difference", "place of a quotient",
	"place of a quotient and a remainder", "place of a remainder", "place of a row and a column", "place of a selection", "pointers that a loop carries", "reduction",
	"remainder of the sign of the divisor", "reshape", "result that is a carried value", "result that is the counter", "result that the next round would begin with",
	"round that steps otherwise", "scan", "selection that a counter decides", "shift", "statement behind two sides that leave", "store by round", "store under a mask",
	"store without order", "test of a sum with another number", "tile of an array that is read", "tile of an array that is written", "value that begins again",
	"value that grows by a number", "value that is passed on unchanged", "values that change places",
}

const wantedOfControlWithin = 400

func TestControlHasWhatIsWanted(t *testing.T) {
	list := wantedOfControl
	for _, then := range []string{yields, returns, breaks, goesOn} {
		list = append(list, "if: "+then+", no else")
		for _, otherwise := range []string{yields, returns, breaks, goesOn} {
			list = append(list, "if: "+then+", else: "+otherwise)
		}
	}
	for _, elem := range integers {
		for _, word := range []string{"for", "loop"} {
			list = append(list, word+" that counts in "+elem, word+" that counts in unsigned "+elem)
		}
	}
	for _, s := range strings.Fields("i1 i8 i16 i32 i64 tile pointers token") {
		list = append(list, "carried value: "+s, "result of an if: "+s)
	}
	haveWhatIsWanted(t, Control, wantedOfControlWithin, list, func(what string) int {
		if strings.HasPrefix(what, "if: ") && !strings.Contains(what, yields) { // of those that leave by either side few run
			return 1
		}
		return enoughPrograms
	})
}
