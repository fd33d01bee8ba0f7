package cost

import "tileiras/codegen/atom"

// Accumulator limits, in 32-bit registers a thread: with more than the first the compiler of PTX begins to spill, the second never
// fits beside operands and addresses.
const (
	AccumulatorTarget = 128
	AccumulatorMost   = 160
)

// SplitScore ranks a way to share a product among warps, lower is better: the quarter cycles of its products, instructions and
// operand loads, and for every accumulator register above the target what spilling it in each step along K costs, a store and a load.
func SplitScore(t atom.Tiling) int {
	c, tensor := Product(t)
	acc := Registers(t.C, t.Atom.C.Bits())
	spill := max(0, acc-AccumulatorTarget)
	s := Cost{Instrs: 2 * spill * t.Repeat.K, Waves: 2 * spill * t.Repeat.K}.Times(t.Split.Warps())
	return c.Plus(s).Quarters() + instrsPerCycle*tensor
}

// BestSplit is the tiling with the best score among the splits that keep accepts (nil: all). Equal scores go to the split with more
// warps along M: rows of C then stay in fewer warps. ok is false when no split fits.
func BestSplit(c atom.Candidate, warps int, keep func(atom.Split) bool) (best atom.Tiling, ok bool) {
	score := 0
	for _, s := range atom.Splits(c.Atom, c.Extent, warps, c.Swap) {
		if keep != nil && !keep(s) {
			continue
		}
		t, fits := atom.Tile(c.Atom, c.Extent, s, c.Swap)
		if !fits {
			continue
		}
		if n := SplitScore(t); !ok || n < score {
			best, score, ok = t, n, true
		}
	}
	return best, ok
}

// Warps is the number of warps for a product that keeps its accumulators within the target: the smallest of 4, 8, 16 with at most
// AccumulatorTarget registers a thread, of extra others that are alive with it, or 16.
func Warps(c atom.Candidate, extra int) int {
	e := c.Extent
	total := max(1, e.Batch) * e.M * e.N * max(c.Atom.C.Bits(), 16) / 32
	for _, w := range []int{4, 8} {
		if total/(w*warpLanes)+extra <= AccumulatorTarget {
			return w
		}
	}
	return 16
}
