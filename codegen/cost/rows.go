package cost

import "tileiras/codegen/target"

// Rows is an iteration of a loop without products whose warps tell each other what they have, as over the rows of a norm: all of a thread block wait for what one
// of them loads, and nobody loads while they compute, unless copies run ahead.
type Rows struct {
	Copied, Stored int   // bytes
	Issue          int   // warp instructions
	Meets          int   // how often all warps tell each other what they have
	Registers      int   // of a thread
	Warps          int   // of a thread block
	Launched       int   // thread blocks that a launch has for a multiprocessor; 0 is not known
	Shared         []int // bytes of a thread block with one slot for what is copied, with two, ..
}

// Slots is with how many slots a thread block that is alone on its multiprocessor waits for no copy, as those of a persistent kernel are. It is 1 where copies do
// not pay if it is not alone: where shared memory has not room for two slots in as many blocks as there are, or instructions, to which copies add some, may
// take longer than memory.
func (r Rows) Slots(t *target.Target) int {
	blocks, _ := Occupancy(t, warpLanes*r.Warps, r.Registers, 0)
	blocks = launched(blocks, r.Launched)
	issue, memory := r.Issue/instrsPerCycle, (r.Copied+r.Stored)*100/t.DRAM
	if blocks > 1 && issue*countedPart > memory*4 {
		return 1
	}
	iteration := max(issue, memory) + r.Meets*meetCycles
	slots := 1
	for slots < len(r.Shared) && (slots-1)*iteration < copyCycles[len(copyCycles)-1] {
		if room, _ := Occupancy(t, warpLanes*r.Warps, r.Registers, r.Shared[slots]+exchangeBytes); room < blocks {
			break
		}
		slots++
	}
	return slots
}

// countedPart is how many instructions there are for each four that are counted, with copies: addresses, masks and conversions are not (machine code of norms and
// their gradients).
const countedPart = 9
