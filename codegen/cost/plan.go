package cost

import (
	"tileiras/codegen/atom"
	"tileiras/codegen/layout"
	"tileiras/codegen/target"
)

// Shares of a thread's registers and of a block's shared memory. They are chosen by what ptxas does with straight-line code: with more it
// spills.
const (
	// MaxWarps is the most warps of a block that no hint asks for.
	MaxWarps = 16
	// NonAccumulatorRegisters is what a thread of a kernel with matrix products needs besides accumulators: operand fragments of a step,
	// addresses.
	NonAccumulatorRegisters = 72
	// bytesToHideLatency of the biggest tile in flight for each thread hide the latency of memory; more only take registers.
	bytesToHideLatency = 64
	// maxValueRegs is the most registers that one value takes, or 1/maxValueShare of a thread's registers where that is less.
	maxValueRegs, maxValueShare = 64, 4
	// warpStartInstrs is the instructions with which a warp computes its indices.
	warpStartInstrs = 8
)

// ThreadRegisters is the register limit of a thread in a block of so many warps, where one block is resident.
func ThreadRegisters(t *target.Target, warps int) int {
	return RegisterLimit(t, layout.WarpSize*warps, 1)
}

// AccumulatorLimit is the most accumulators of a thread, in 32-bit registers.
func AccumulatorLimit(t *target.Target, warps int) int {
	return min(AccumulatorTarget, t.Registers/(layout.WarpSize*warps)/2)
}

// AccumulatorsFit reports whether a thread has registers for its accumulators, some of which are loop-carried. In attention the scores live
// from one product to the next, and the sums throughout: as long as the sums leave room for the scores, a thread may have half as many
// again. The room is a quarter of the limit less where operands share a slot (SharedSlot: loads pass through registers, too) or a thread
// has fewer registers than instructions can name. This does not hold on GPUs with wgmma or tensor memory, where ptxas keeps more addresses
// in registers and spills, unless all products are wgmma of one row tile for each warpgroup (OneRowTile), which take next to no registers
// besides. Accumulators that overlap only outside of loops, where results of two products meet, may be half as many again anywhere: no
// fragments are prefetched there.
func AccumulatorsFit(t *target.Target, warps int, n Accumulators, shape ProductShape) bool {
	limit := AccumulatorLimit(t, warps)
	if n.Max <= limit {
		return true
	}
	room := 2 * limit
	if !shape.SharedSlot && target.CpAsync.On(t) && limit == AccumulatorTarget {
		room += limit / 4
	}
	return n.Max <= limit*3/2 && (shape.OneRowTile || n.InLoops <= limit || !target.ByGroup.On(t) && n.InLoops+n.LoopCarried <= room)
}

// ProductShape is what decides how many registers a thread needs beside its accumulators.
type ProductShape struct {
	OneRowTile bool // all products are wgmma with one tile of rows for each warpgroup
	SharedSlot bool // the operands of a loop's products share one slot, and wait for it in registers
}

// Accumulators are registers of a thread at the points of most register pressure: anywhere, inside loops, and of loop-carried accumulators.
type Accumulators struct{ Max, InLoops, LoopCarried int }

// RegisterMargin is how many more registers than estimated a loop of products may take where a thread cannot have more: ptxas loads
// fragments early as long as it believes that registers last, and with few of them it finds out too late. wgmma and the tensor unit read
// shared memory themselves and need no margin.
func RegisterMargin(t *target.Target, warps int) int {
	if ThreadRegisters(t, warps) == t.RegistersPerThread || target.ByGroup.On(t) {
		return 0
	}
	return 24
}

// ValueLimit is the most 32-bit registers of a thread for one value.
func ValueLimit(t *target.Target, warps int) int {
	return min(maxValueRegs, t.Registers/(layout.WarpSize*warps)/maxValueShare)
}

// OperandRoom is the bytes of all threads' registers through which operands can pass on their way to shared memory: accumulators come
// first, and a quarter is for addresses and the fragments of a step.
func OperandRoom(t *target.Target, warps, accumulators int) int {
	regs := min(t.Registers/(layout.WarpSize*warps), t.RegistersPerThread+1)
	return max(regs*3/4-min(accumulators, AccumulatorLimit(t, warps)), regs/8) * 4 * layout.WarpSize * warps
}

// ConversionRoom is the most shared memory, in bytes, that one conversion takes at a time: a quarter of what a block can have, so that it
// fits beside the buffers of a loop. An operand of a product may take more: it is read from its buffer step by step, and halves that
// follow each other through one buffer would have to be held in registers whole.
func ConversionRoom(t *target.Target, operand bool) int {
	if operand {
		return t.SharedOptIn * 3 / 4
	}
	return max(t.SharedOptIn/4, 16<<10)
}

// SpreadCost is the cost of spreading a tile over warps: each has a start-up cost, and a thread moves what it holds beyond
// bytesToHideLatency with nothing to hide it.
func SpreadCost(bytes, warps int) Cost {
	beyond := max(0, bytes/(layout.WarpSize*warps)-bytesToHideLatency)
	return Cost{Instrs: warps*warpStartInstrs + beyond/4*warps}
}

// CrossWarpSum is the cost of adding the warps' partial sums, so many bytes: a store, a load and two barriers.
func CrossWarpSum(bytes int) Cost {
	return Cost{Instrs: 2*bytes/(layout.WidestAccess*layout.WarpSize) + bytes/(4*layout.WarpSize), Waves: 2 * bytes / waveBytes, Barriers: 2}
}

// FitsOneAccess reports whether one access of each lane of so many warps loads a tile of so many bytes: with more warps, reductions only
// exchange more.
func FitsOneAccess(bytes, warps int) bool { return bytes <= layout.WidestAccess*layout.WarpSize*warps }

// Cut is how a product is cut: into pieces of its result, and into steps along K.
type Cut struct{ Pieces, Steps int }

// CutProduct is the cost of a product that warps share, in quarter cycles: of the best split of a piece, pieces times; of reading half
// of the operands, in bytes, again for each further piece; and of a barrier before and after each further step along K. ok is false when
// the product cannot be shared so.
func CutProduct(c atom.Candidate, warps int, cut Cut, operandBytes int) (quarters int, ok bool) {
	for n := cut.Pieces; n > 1; n /= 2 {
		switch e := &c.Extent; {
		case e.Batch > 1:
			e.Batch /= 2
		case e.M >= e.N && e.M > c.Atom.Shape.M:
			e.M /= 2
		case e.N > c.Atom.Shape.N:
			e.N /= 2
		}
	}
	t, ok := BestSplit(c, warps, nil)
	if !ok {
		return 0, false
	}
	again := Cost{Sectors: (cut.Pieces - 1) * operandBytes / 2 / SectorBytes, Barriers: 2 * cut.Pieces * (cut.Steps - 1)}
	return SplitScore(t)*cut.Pieces + again.Quarters(), true
}
