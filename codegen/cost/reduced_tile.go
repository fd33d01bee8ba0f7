package cost

import (
	"tileiras/codegen/layout"
	"tileiras/codegen/target"
)

// ReducedTile is what a thread block without products does with a tile that is reduced across its warps, as a row in a softmax: it loads,
// reduces, computes and stores, one after the other, and so uses memory for a part of its time only. Other resident blocks use it
// meanwhile.
type ReducedTile struct {
	Loaded, Stored int // bytes
	Issue          int // warp instructions
	Exchanges      int // between all warps of the block, each with a barrier
	Pieces         int // in which the tile is processed, each loaded and waited for by itself; 1 where registers hold it whole
	Passes         int // over the loaded data if it is in pieces: one more for each reduction whose result the next pass needs
	Registers      int // of a thread
	Warps          int
	Prefetches     bool // the block goes on with another tile, whose loads may begin before this one is done
}

// OverheadRegisters is the registers of a thread besides those of the biggest tile that it holds: addresses, bounds, temporaries.
const OverheadRegisters = 32

// Blocks is how many blocks are resident on a multiprocessor.
func (x ReducedTile) Blocks(t *target.Target) int {
	n, _ := Occupancy(t, layout.WarpSize*x.Warps, x.Registers, 0)
	return max(1, n)
}

// Cycles is the time of a multiprocessor for a tile. A block uses memory for a part of its life, and at times no resident block does: the
// time is that of the memory traffic plus each block's share of what it does besides (norms of 8 KB rows on an H200: 62 % of the bandwidth
// with three blocks, 76 with four or five, 84 with six), unless loads are prefetched. Later passes over a tile hit the second-level cache
// as far as that holds the tiles of all resident blocks.
func (x ReducedTile) Cycles(t *target.Target) int {
	blocks, passes := x.Blocks(t), 1
	if x.Pieces > 1 {
		passes = x.Passes
	}
	missed := max(0, x.Loaded-t.L2/blocks)
	memory := x.dramCycles(t) + (passes-1)*missed*100/t.DRAM
	cached := (passes*x.Loaded + x.Stored) / bytesPerCycle
	issue := (passes + 1) * x.Issue / 2 // one pass computes less than another
	own := max(issue/instrsPerCycle, issue*issueInterval/x.Warps)
	waits := passes*x.Pieces*memoryLatencies[0] + x.Exchanges*barrierStall
	if x.Prefetches {
		return max(memory, cached, issue/instrsPerCycle, (memory+issue/instrsPerCycle+waits)/blocks)
	}
	return max(memory+(own+waits)/blocks, cached)
}

// issueInterval is the cycles between two instructions of one warp that nothing else delays.
const issueInterval = 2

// dramCycles is the time in which DRAM moves everything once: the bound of a single pass.
func (x ReducedTile) dramCycles(t *target.Target) int { return (x.Loaded + x.Stored) * 100 / t.DRAM }

// StallCost is the time beyond dramCycles, as a Cost: what the reduction's barriers and further passes add.
func (x ReducedTile) StallCost(t *target.Target) Cost {
	return Cost{Instrs: instrsPerCycle * (x.Cycles(t) - x.dramCycles(t))}
}
