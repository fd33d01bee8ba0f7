package cost

import (
	"tileiras/codegen/layout"
	"tileiras/codegen/target"
)

// RowLoop is an iteration of a loop without products that reduces across warps, as over the rows of a norm: all warps of a block wait for
// what it loads, and no load is in flight while they compute, unless copies run ahead.
type RowLoop struct {
	CopiedBytes, StoredBytes int   // bytes
	Issue                    int   // warp instructions
	Exchanges                int   // between all warps of the block, each with a barrier
	Registers                int   // of a thread
	Warps                    int   // of a thread block
	LaunchedBlocks           int   // thread blocks that a launch has for a multiprocessor; 0 is not known
	SharedBytes              []int // bytes of a thread block with one slot for what is copied, with two, ..
}

// Slots is the number of slots with which a block that is alone on its multiprocessor never waits for a copy, as one of a persistent
// kernel. It is 1 where copies do not pay in company: where two slots would cost a resident block, or where the loop may be bound by
// instructions, to which copies add some.
func (r RowLoop) Slots(t *target.Target) int {
	blocks, _ := Occupancy(t, layout.WarpSize*r.Warps, r.Registers, 0)
	blocks = capByLaunch(blocks, r.LaunchedBlocks)
	issue, memory := r.Issue/instrsPerCycle, (r.CopiedBytes+r.StoredBytes)*100/t.DRAM
	if blocks > 1 && issue*instrsPerFourCounted > memory*4 {
		return 1
	}
	iteration := max(issue, memory) + r.Exchanges*barrierStall
	slots := 1
	for slots < len(r.SharedBytes) && (slots-1)*iteration < memoryLatencies[len(memoryLatencies)-1] {
		if room, _ := Occupancy(t, layout.WarpSize*r.Warps, r.Registers, r.SharedBytes[slots]+exchangeBytes); room < blocks {
			break
		}
		slots++
	}
	return slots
}

// instrsPerFourCounted is how many instructions a loop has, with copies, for every four that Issue counts, which leaves out addresses,
// masks and conversions (machine code of norms and their gradients).
const instrsPerFourCounted = 9
