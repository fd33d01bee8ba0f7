package cost

import "tileiras/codegen/target"

// Tile is what a thread block without products does with a tile whose elements all meet, as a row in a softmax: it loads, meets, computes and stores, one
// after the other, and uses memory for a part of its time only. Other blocks of the multiprocessor use it meanwhile.
type Tile struct {
	Loaded, Stored int // bytes
	Issue          int // warp instructions
	Meets          int // how often all warps of the block tell each other what they have
	Pieces         int // that the tile is made in, each loaded and waited for by itself; 1 where registers hold it whole
	Passes         int // over what is loaded where they do not: once more for each time that what follows needs what has met
	Registers      int // of a thread
	Warps          int
	Ahead          bool // a block goes on with another tile, whose loads may begin before this one is done
}

// HeldBesides is the registers of a thread besides those of the biggest tile that it holds: addresses, bounds, what is computed.
const HeldBesides = 32

// Blocks is how many blocks a multiprocessor runs beside each other.
func (x Tile) Blocks(t *target.Target) int {
	n, _ := Occupancy(t, warpLanes*x.Warps, x.Registers, 0)
	return max(1, n)
}

// Cycles is the time of a multiprocessor for a tile. A block uses memory for a part of its life, and at times none of those beside each other does: the time is
// that for what they move and their share of what each does besides (norms of 8 KB rows on an H200: 62 % of the bandwidth with three blocks, 76 with four or
// five, 84 with six), unless loads run ahead. What is loaded again comes from the second-level cache, as far as that has room for the tiles of all blocks.
func (x Tile) Cycles(t *target.Target) int {
	blocks, passes := x.Blocks(t), 1
	if x.Pieces > 1 {
		passes = x.Passes
	}
	missed := max(0, x.Loaded-t.L2/blocks)
	memory := x.once(t) + (passes-1)*missed*100/t.DRAM
	cached := (passes*x.Loaded + x.Stored) / bytesPerCycle
	issue := (passes + 1) * x.Issue / 2 // one pass computes less than another
	own := max(issue/instrsPerCycle, issue*ownCycles/x.Warps)
	waits := passes*x.Pieces*copyCycles[0] + x.Meets*meetCycles
	if x.Ahead {
		return max(memory, cached, issue/instrsPerCycle, (memory+issue/instrsPerCycle+waits)/blocks)
	}
	return max(memory+(own+waits)/blocks, cached)
}

// ownCycles is how long a warp that nothing interrupts takes for an instruction.
const ownCycles = 2

// once is the time in which DRAM moves all that is loaded and stored.
func (x Tile) once(t *target.Target) int { return (x.Loaded + x.Stored) * 100 / t.DRAM }

// Waits is the cost of a tile beyond that: none where warps do not wait for each other.
func (x Tile) Waits(t *target.Target) Cost {
	return Cost{Instrs: instrsPerCycle * (x.Cycles(t) - x.once(t))}
}
