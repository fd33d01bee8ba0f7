package cost

import (
	"fmt"

	"tileiras/codegen/layout"
	"tileiras/codegen/target"
)

// Allocation granularity of a multiprocessor (CUDA occupancy calculator): registers go to a warp by 256, from those of its scheduler, which
// are a quarter of all, and the schedulers share the warps evenly; shared memory goes to a block by 128 bytes, and the system takes 1 KB of
// every block's shared memory from sm_80 on, where a block's most is less than the multiprocessor's.
const (
	warpRegisterGranule = 256
	registerGranule     = 8 // a thread's registers come in eights: 256 / 32
	schedulers          = 4
	sharedGranule       = 128
	systemSharedBytes   = 1024
)

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

// Occupancy is the number of thread blocks that a multiprocessor runs at once, and what limits it. 0 means that not one fits. Of a thread
// whose registers are unknown, 0, registers limit nothing.
func Occupancy(t *target.Target, threads, registers, sharedBytes int) (blocks int, limit string) {
	if threads < 1 || threads > target.ThreadsPerBlock {
		return 0, fmt.Sprintf("%d threads, a block has at most %d", threads, target.ThreadsPerBlock)
	}
	if registers > t.RegistersPerThread {
		return 0, fmt.Sprintf("%d registers a thread, the most is %d", registers, t.RegistersPerThread)
	}
	if sharedBytes > t.SharedOptIn {
		return 0, fmt.Sprintf("%d bytes of shared memory, a block has at most %d", sharedBytes, t.SharedOptIn)
	}
	warps := roundUp(threads, layout.WarpSize) / layout.WarpSize
	blocks, limit = t.BlocksPerSM, "blocks"
	lower := func(n int, what string) {
		if n < blocks {
			blocks, limit = n, what
		}
	}
	lower(t.WarpsPerSM/warps, "warps")
	lower(t.Registers/schedulers/roundUp(max(1, registers)*layout.WarpSize, warpRegisterGranule)*schedulers/warps, "registers")
	if reserved := min(systemSharedBytes, t.SharedPerSM-t.SharedOptIn); sharedBytes+reserved > 0 {
		lower(t.SharedPerSM/roundUp(sharedBytes+reserved, sharedGranule), "shared memory")
	}
	return blocks, limit
}

// RegisterLimit is the most registers a thread may use for so many blocks at once: a multiple of 8, at most 255.
func RegisterLimit(t *target.Target, threads, blocks int) int {
	warps := roundUp(roundUp(threads, layout.WarpSize)/layout.WarpSize*blocks, schedulers)
	return min(t.Registers/(layout.WarpSize*warps)/registerGranule*registerGranule, t.RegistersPerThread)
}
