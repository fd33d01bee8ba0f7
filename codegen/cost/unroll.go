package cost

import (
	"tileiras/codegen/layout"
	"tileiras/codegen/target"
)

// Loads is what an iteration of a loop without products loads before it computes.
type Loads struct {
	Bytes          int // of a thread
	Registers      int // of a thread, that hold it
	OtherRegisters int // registers of a thread for loop-carried values and temporaries
	Issue          int // instructions of a warp
	Warps          int // of a thread block
	Limit          int // registers of a thread that the plan allows; 0: what the target allows for the warps
	Trips          int // iterations, -1: not known
}

// The most iterations that are unrolled into one, and the most instructions of an unrolled loop: they fit the instruction cache.
const (
	maxUnroll     = 8
	maxLoopInstrs = 1024
)

// Unroll is how many iterations of a loop load together, a power of two: enough for a thread, and for all threads of a multiprocessor, to
// have the bytes in flight that hide the latency of memory, as far as registers allow.
func (l Loads) Unroll(t *target.Target) int {
	limit := l.Limit
	if limit == 0 {
		limit = ThreadRegisters(t, l.Warps)
	}
	factor := 1
	for l.Bytes > 0 && factor < maxUnroll {
		next := 2 * factor
		more := factor*l.Bytes < bytesToHideLatency || l.bytesInFlight(t, factor) < min(l.bytesInFlight(t, next), bytesForLatency(t))
		if !more || l.RegistersWith(next) > limit || next*l.Issue > maxLoopInstrs || l.Trips >= 0 && next > l.Trips {
			break
		}
		factor = next
	}
	return factor
}

// bytesInFlight is the bytes in flight on a multiprocessor when all its threads have issued the loads of so many iterations.
func (l Loads) bytesInFlight(t *target.Target, factor int) int {
	blocks, _ := Occupancy(t, layout.WarpSize*l.Warps, l.RegistersWith(factor), 0)
	return blocks * layout.WarpSize * l.Warps * factor * l.Bytes
}

// bytesForLatency is the bytes in flight that hide the latency of busy memory (Little's law), if loads are in flight half of the time.
func bytesForLatency(t *target.Target) int { return 2 * t.DRAM * memoryLatencies[1] / 100 }

// RegistersWith is the registers of a thread that loads so many iterations together.
func (l Loads) RegistersWith(factor int) int { return l.OtherRegisters + factor*l.Registers }

// UnrolledRegisters is the register limit of a kernel with unrolled loops whose threads ask for so many registers: the limit at which the
// blocks fill half of a multiprocessor, if a quarter of it is left for what is not counted, else all there are.
func UnrolledRegisters(t *target.Target, warps, asked int) int {
	blocks := (t.WarpsPerSM/2 + warps - 1) / warps
	if few := RegisterLimit(t, layout.WarpSize*warps, blocks); 4*asked <= 3*few {
		return few
	}
	return ThreadRegisters(t, warps)
}

// ThreadBytes is the bytes of a tile that a thread holds.
func ThreadBytes(l layout.Layout, elemBits int) int { return l.Regs() * Bytes(elemBits) }
