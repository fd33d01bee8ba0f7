package random

import (
	"fmt"
	"testing"
)

// wanted is what programs must have within the first wantedWithin seeds, besides a sum of products of every pair of types.
var wanted = []string{
	"acquire load in a loop over pieces", "addresses from memory", "array made in a loop", "array of extent 1", "atomic behind reads of the piece",
	"atomic beside loads", "atomic sum", "branch", "break under a condition", "broadcast", "cat", "condition that elements decide", "continue under a condition",
	"elementwise chain", "exact conversion that names a rounding", "extract", "factor from memory that is written", "factor that threads compute", "gather",
	"index of i16", "index of i64", "index of i8", "load ahead under a condition", "load of memory that is written", "loop of negative numbers", "loop over pieces",
	"loop that carries tiles", "loop that ends at its foot", "loop that ends at its head", "loop up to the largest number", "nest of loops", "odd stride",
	"one token for several arrays", "permute", "product in a branch", "product of a product", "read after a read", "read after a read of another array",
	"read behind a write of the piece", "read of a piece in a branch", "reads of a round after those of the one before", "reduction",
	"region that only reads memory that is written", "reshape", "scaled product of f4E2M1FN", "scaled product of f8E4M3FN", "scaled product of f8E5M2",
	"scales of f8E4M3FN", "scan", "selection", "shifted view of a piece", "single element", "store behind a loop that does not wait for it",
	"store behind reads of the piece", "store to memory that is read", "strided view", "sum of several scaled products", "sum that begins with a tile",
	"sums that are rescaled", "sums that change places", "tile of before a loop that overwrites it", "tile of pointers", "tiles in turn", "tiles that change places",
	"two loops over the same arrays", "view used again", "write of a piece in a branch",
}

const wantedWithin = 200

func TestProgramsHaveWhatIsWanted(t *testing.T) {
	list := wanted
	for _, pair := range products {
		list = append(list, fmt.Sprintf("sum of products of %s in %s", pair[0], pair[1]), fmt.Sprintf("product of %s in %s", pair[0], pair[1]))
	}
	haveWhatIsWanted(t, Programs, wantedWithin, list, func(string) int { return enoughPrograms })
}

// haveWhatIsWanted checks that of so many programs of a kind enough have each of a list of features.
func haveWhatIsWanted(t *testing.T, kind Kind, within uint64, list []string, enough func(what string) int) {
	features := map[string]int{}
	for seed := range within {
		_, _, p := moduleAndProgram(kind, seed, sizeOf(seed))
		for what, n := range p.features { // sums: the order cannot matter
			features[what] += min(n, 1)
		}
	}
	text := ""
	for _, what := range sortedKeys(features) {
		text += fmt.Sprintf("\n%5d %s", features[what], what)
	}
	t.Logf("of %d programs have%s", within, text)
	for _, what := range list {
		if features[what] < enough(what) {
			t.Errorf("%d of %d programs have %q, %d are wanted", features[what], within, what, enough(what))
		}
	}
}

// enoughPrograms is how many of them must have each of what is wanted.
const enoughPrograms = 3
