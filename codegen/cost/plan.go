package cost

import (
	"tileiras/codegen/atom"
	"tileiras/codegen/target"
)

// Shares of a thread's registers and of a block's shared memory. They come from what ptxas does with straight code: with more it spills.
const (
	// MostWarps is the most warps of a block that nobody asked for.
	MostWarps = 16
	// BesideAccumulators is the registers that a kernel with a matrix product needs besides its accumulators: operands of a step, addresses.
	BesideAccumulators = 72
	// bytesPerThread of the biggest tile hide the latency of memory; more only take registers.
	bytesPerThread = 64
	// valueRegs is the most registers that one value takes, valueShare the part of a thread's registers where those are fewer.
	valueRegs, valueShare = 64, 4
	// widestAccess is the bytes that a lane loads or stores at once, at most.
	widestAccess = 16
	// warpStart is the instructions with which a warp finds its place.
	warpStart = 8
)

// ThreadRegisters is the most registers a thread of a block of so many warps can have.
func ThreadRegisters(t *target.Target, warps int) int {
	return min(t.Registers/(warpLanes*warps), t.RegistersPerThread)
}

// AccumulatorLimit is the most accumulators of a thread, in 32-bit registers.
func AccumulatorLimit(t *target.Target, warps int) int {
	return min(AccumulatorTarget, t.Registers/(warpLanes*warps)/2)
}

// AccumulatorsFit reports whether a thread has registers for so many accumulators at most, of which loops carry some. In attention the scores are
// alive from one product to the next, the sums always: as long as these leave room for scores, a thread can have half as many again. That is a quarter of the limit
// less where loads pass through its registers, too, or it has fewer than instructions can name. Not on GPUs with products of warpgroups or tensor memory:
// the compiler of PTX keeps more addresses in registers there, and spills, unless all products are those of warpgroups that have one tile of rows each, which take
// next to no registers besides. What is alive together outside of loops only, where the results of two products meet, may be half as many again anywhere: nothing is
// read ahead there.
func AccumulatorsFit(t *target.Target, warps int, n Accumulators, rows, turns bool) bool {
	limit := AccumulatorLimit(t, warps)
	if n.Most <= limit {
		return true
	}
	room := 2 * limit
	if !turns && t.Has("cp.async") && limit == AccumulatorTarget {
		room += limit / 4
	}
	return n.Most <= limit*3/2 && (rows || n.Looped <= limit || !t.Has("tcgen05") && !t.Has("wgmma") && n.Looped+n.Carried <= room)
}

// Accumulators are registers of a thread: the most that are alive together, those of loops, and those that loops carry.
type Accumulators struct{ Most, Looped, Carried int }

// Doubt is how many more registers than estimated a loop that multiplies may take: ptxas loads fragments early, as far as it believes that registers last,
// and with few of them it finds out too late. It matters where a thread cannot have more. Warpgroups and the tensor unit read shared memory themselves.
func Doubt(t *target.Target, warps int) int {
	if ThreadRegisters(t, warps) == t.RegistersPerThread || t.Has("wgmma") || t.Has("tcgen05") {
		return 0
	}
	return 24
}

// ValueLimit is the most 32-bit registers of a thread for one value.
func ValueLimit(t *target.Target, warps int) int {
	return min(valueRegs, t.Registers/(warpLanes*warps)/valueShare)
}

// OperandRoom is the bytes of all threads' registers through which operands can pass on their way to shared memory: accumulators come
// first, and a quarter is for addresses and what a step takes.
func OperandRoom(t *target.Target, warps, accumulators int) int {
	regs := min(t.Registers/(warpLanes*warps), t.RegistersPerThread+1)
	return max(regs*3/4-min(accumulators, AccumulatorLimit(t, warps)), regs/8) * 4 * warpLanes * warps
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

// Spread is the cost of spreading a tile of so many bytes over warps: each has to start, and what a thread holds beyond its share it moves
// while nothing hides it.
func Spread(bytes, warps int) Cost {
	beyond := max(0, bytes/(warpLanes*warps)-bytesPerThread)
	return Cost{Instrs: warps*warpStart + beyond/4*warps}
}

// Meeting is the cost of adding what warps have of so many bytes of partial sums: they store and load them, and meet twice.
func Meeting(bytes int) Cost {
	return Cost{Instrs: 2*bytes/(widestAccess*warpLanes) + bytes/(4*warpLanes), Waves: 2 * bytes / waveBytes, Barriers: 2}
}

// FillsLanes reports whether one access for each lane of so many warps brings a tile of so many bytes: more warps would only tell each other more.
func FillsLanes(bytes, warps int) bool { return bytes <= widestAccess*warpLanes*warps }

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
	const sector = 32
	again := Cost{Sectors: (cut.Pieces - 1) * operandBytes / 2 / sector, Barriers: 2 * cut.Pieces * (cut.Steps - 1)}
	return SplitScore(t)*cut.Pieces + again.Quarters(), true
}
