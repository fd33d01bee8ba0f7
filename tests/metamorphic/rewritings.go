package metamorphic

// Rewriting is a way to write a program otherwise.
type Rewriting struct {
	Name  string
	Does  string
	Free  bool // it adds no work: the code must be as good
	apply func(*rewriter) bool
}

// Rewritings are all there are.
var Rewritings = []Rewriting{
	{"for-as-while", "a for is a loop that counts, with its test at the start", true, forAsWhile},
	{"for-as-do-while", "a for is a loop that counts, with its test at the end, in an if", true, forAsDoWhile},
	{"split-range", "the first iterations of a for have a for of their own", false, splitRange},
	{"peel-first", "the first iteration of a for stands before it", false, peelFirst},
	{"peel-last", "the last iteration of a for stands behind it", false, peelLast},
	{"unroll-by-two", "an iteration of a for does the work of two", false, unrollByTwo},
	{"loop-that-breaks", "statements stand in a loop that they leave", false, loopThatBreaks},
	{"for-of-one", "statements stand in a for of one iteration", false, forOfOne},
	{"statements-in-if", "statements stand in an if that is always taken", false, statementsInIf},
	{"kernel-in-if", "the kernel stands in an if that is always taken", true, kernelInIf},
	{"early-return", "the kernel returns under a condition that never holds", true, earlyReturn},
	{"swap-branches", "an if asks for the opposite", true, swapBranches},
	{"second-counter", "a for carries a second counter that some users take", true, secondCounter},
	{"carry-twice", "a loop carries a value twice, and some users take the second", true, carryTwice},
	{"carry-invariant", "a loop carries what it could take from outside", true, carryInvariant},
	{"swap-carried", "a loop carries two values in another order", true, swapCarried},
	{"carry-tokens", "an access waits for that of the iteration before", false, carryTokens},
	{"permute-twice", "a tile is permuted and permuted back", true, permuteTwice},
	{"reshape-twice", "a tile is reshaped and reshaped back", true, reshapeTwice},
	{"bitcast-twice", "a tile is bitcast to another type and back", true, bitcastTwice},
	{"halves", "a tile is put together of its halves", true, halves},
	{"select-itself", "a tile is selected under a condition that always holds", false, selectItself},
	{"add-zero", "a zero that only the launch knows is added to integers", false, addZero},
	{"add-and-subtract", "a constant is added to integers and subtracted", true, addAndSubtract},
	{"commute", "the operands of a commutative operation are exchanged", true, commute},
	{"turn-product", "the transposed product of transposed factors is transposed", true, turnProduct},
	{"batch-of-one", "a product is a batch of one", true, batchOfOne},
	{"split-depth", "a product is the sum of two of half the depth", true, splitDepth},
	{"split-rows", "a product is made in two halves of its rows", true, splitRows},
	{"wait-for-nothing", "an access waits for a token of nothing", true, waitForNothing},
	{"wait-for-earlier", "an access waits for an earlier one", false, waitForEarlier},
	{"load-twice", "some users of a load take another of the same", true, loadTwice},
	{"rename-dims", "the dimensions of an array have another order", true, renameDims},
	{"turn-tile", "a tile is accessed turned", true, turnTile},
	{"access-bits", "elements are accessed as another type of as many bits", true, accessBits},
	{"view-as-pointers", "a tile of a view is accessed by pointers under a mask", false, viewAsPointers},
	{"offset-twice", "a pointer is moved in two steps", false, offsetTwice},
}
