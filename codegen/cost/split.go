package cost

import "tileiras/codegen/atom"

// AccumulatorTarget is the most accumulators of a thread, in 32-bit registers, with which the compiler of PTX does not spill.
const AccumulatorTarget = 128

// SplitScore ranks a way to share a product among warps, lower is better: the quarter cycles of its products, instructions and
// operand loads, and for every accumulator register above the target what spilling it in each step along K costs, a store and a load.
func SplitScore(t atom.Tiling) int {
	c, tensor := Product(t)
	acc := Registers(t.Held().C, t.Atom.C.Bits())
	spill := max(0, acc-AccumulatorTarget)
	s := Cost{Instrs: 2 * spill * t.Repeat.K, Waves: 2 * spill * t.Repeat.K}.Times(t.Split.Warps())
	return c.Plus(s).Quarters() + instrsPerCycle*tensor
}

// BestSplit is the tiling with the best score among the splits that keep accepts (nil: all). Equal scores go to the split with
// fewer warps along the batch and M. ok is false when no split fits.
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
