package cost

import (
	"tileiras/codegen/layout"
	"tileiras/codegen/target"
)

// Loads is what an iteration of a loop without products loads before it computes.
type Loads struct {
	Bytes     int // of a thread
	Registers int // of a thread, that hold it
	Held      int // registers of a thread for what the loop carries and computes
	Issue     int // instructions of a warp
	Warps     int // of a thread block
	Limit     int // registers of a thread that the plan allows; 0: what the target allows for the warps
	Trips     int // iterations, -1: not known
}

// The most iterations that are made one, and the most instructions of a loop: the first cache of instructions holds them.
const (
	mostUnrolled = 4
	loopIssue    = 1024
)

// Unroll is how many iterations of a loop load together, a power of two: so many that a thread has the bytes under way that hide the
// latency of memory, as far as there are registers.
func (l Loads) Unroll(t *target.Target) int {
	limit := l.Limit
	if limit == 0 {
		limit = RegisterLimit(t, warpLanes*l.Warps, 1)
	}
	factor := 1
	for l.Bytes > 0 && factor < mostUnrolled && factor*l.Bytes < bytesPerThread {
		next := 2 * factor
		if l.Held+next*l.Registers > limit || next*l.Issue > loopIssue || l.Trips >= 0 && next > l.Trips {
			break
		}
		factor = next
	}
	return factor
}

// LoadedBytes is what a thread loads of a tile.
func LoadedBytes(l layout.Layout, elemBits int) int { return l.Regs() * Bytes(elemBits) }
