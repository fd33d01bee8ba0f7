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
	mostUnrolled = 8
	loopIssue    = 1024
)

// Unroll is how many iterations of a loop load together, a power of two: so many that a thread, and all threads of a multiprocessor, have the bytes under way
// that hide the latency of memory, as far as there are registers.
func (l Loads) Unroll(t *target.Target) int {
	limit := l.Limit
	if limit == 0 {
		limit = RegisterLimit(t, warpLanes*l.Warps, 1)
	}
	factor := 1
	for l.Bytes > 0 && factor < mostUnrolled {
		next := 2 * factor
		more := factor*l.Bytes < bytesPerThread || l.underWay(t, factor) < min(l.underWay(t, next), latencyBytes(t))
		if !more || l.RegistersWith(next) > limit || next*l.Issue > loopIssue || l.Trips >= 0 && next > l.Trips {
			break
		}
		factor = next
	}
	return factor
}

// underWay is the bytes of a multiprocessor that are under way when all its threads have loaded for so many iterations.
func (l Loads) underWay(t *target.Target, factor int) int {
	blocks, _ := Occupancy(t, warpLanes*l.Warps, l.RegistersWith(factor), 0)
	return blocks * warpLanes * l.Warps * factor * l.Bytes
}

// latencyBytes is the bytes of a multiprocessor that hide the latency of a busy memory if they are under way for half of the time (Little's law).
func latencyBytes(t *target.Target) int { return 2 * t.DRAM * copyCycles[1] / 100 }

// RegistersWith is how many registers of a thread so many iterations ask for together.
func (l Loads) RegistersWith(factor int) int { return l.Held + factor*l.Registers }

// UnrolledRegisters is the most registers of a thread of a kernel whose loops load for several iterations together, by the most that they ask for: so few that
// blocks fill half of a multiprocessor, if a quarter of these are left for what nobody has counted, else all there are.
func UnrolledRegisters(t *target.Target, warps, asked int) int {
	blocks := (t.WarpsPerSM/2 + warps - 1) / warps
	if few := RegisterLimit(t, warpLanes*warps, blocks); 4*asked <= 3*few {
		return few
	}
	return ThreadRegisters(t, warps)
}

// LoadedBytes is what a thread loads of a tile.
func LoadedBytes(l layout.Layout, elemBits int) int { return l.Regs() * Bytes(elemBits) }
