package cost

import "tileiras/codegen/target"

// Overlap is a loop that computes on what copies bring to shared memory, in as many slots as they may have.
type Overlap struct {
	Work      int   // cycles of the matrix unit for an iteration of a thread block
	Warps     int   // of a thread block
	Registers int   // of a thread
	Shared    []int // bytes of a thread block with one slot, with two, ..
}

// MostSlots is the most slots that are worth asking for.
const MostSlots = 4

// An iteration takes longer than the matrix unit is busy: warps meet, and wait for their first operands from shared memory. Copies
// take copyCycles from global memory, and some twice as long when memory is busy. Both are from the instruction latencies of the CUDA
// programming guide's targets as published by microbenchmarks (arXiv 1804.06826, 2208.11174).
const (
	startCycles = 400
	copyCycles  = 700
)

// Slots is the number of slots with which a multiprocessor has most to do; the fewest of those that are equally good.
//
// What one block cannot hide, others do, as many as registers and shared memory leave room for: an iteration of one takes the time of its
// work, or its share of the time from one iteration to the next. With one slot that is waiting, then working; with S, the copy of
// an iteration has S-1 iterations to come.
func (o Overlap) Slots(t *target.Target) int {
	best, least := 1, 0
	for i, bytes := range o.Shared {
		time := o.time(t, i+1, bytes, copyCycles) + o.time(t, i+1, bytes, 2*copyCycles)
		if i == 0 || time < least {
			best, least = i+1, time
		}
	}
	return best
}

// time is the cycles of an iteration of one block.
func (o Overlap) time(t *target.Target, slots, bytes, latency int) int {
	between := o.Work + startCycles + latency
	if slots > 1 {
		between = max(o.Work+startCycles, latency/(slots-1))
	}
	return max(o.Work, between/max(o.blocks(t, bytes), 1))
}

// blocks is how many blocks run at once.
func (o Overlap) blocks(t *target.Target, bytes int) int {
	return min(t.BlocksPerSM, t.WarpsPerSM/o.Warps, t.Registers/(o.Registers*warpLanes*o.Warps), t.SharedPerSM/max(1, bytes+min(systemSharedPer, t.SharedPerSM-t.SharedOptIn)))
}

// Staging is a loop that computes on what loads bring through registers to shared memory.
type Staging struct {
	Work      int    // cycles of the matrix unit for an iteration of a thread block
	Warps     int    // of a thread block
	Registers int    // of a thread, beside what is on its way
	Shared    [3]int // bytes of a thread block when loads stay where they are, with one slot, with two; 0: cannot be
}

// Slots is the number of slots with which a multiprocessor has most to do, 0 for loads that stay where they are: other blocks may
// hide them. Loads an iteration ahead hide their latency; with one slot threads meet twice in an iteration.
func (g Staging) Slots(t *target.Target) int {
	best, least := 0, 0
	for slots, bytes := range g.Shared {
		if bytes == 0 {
			continue
		}
		between := g.Work + []int{startCycles + copyCycles, 2 * startCycles, startCycles}[slots]
		time := max(g.Work, between/max(1, Overlap{Warps: g.Warps, Registers: g.Registers}.blocks(t, bytes)))
		if least == 0 || time < least {
			best, least = slots, time
		}
	}
	return best
}
