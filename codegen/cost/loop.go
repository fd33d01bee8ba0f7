package cost

import (
	"math"
	"slices"

	"tileiras/codegen/atom"
	"tileiras/codegen/layout"
	"tileiras/codegen/target"
)

// Loop is what one iteration of a loop of matrix products asks of a multiprocessor, for one thread block: the products' operands are copied
// to shared memory, where slots of a ring buffer the copies of later iterations.
type Loop struct {
	MatrixCycles   int   // busy cycles of the matrix units, in those of an sm_80 multiprocessor
	Issue          int   // warp instructions
	Waves          int   // cycles of the shared memory pipe
	CopiedBytes    int   // from global memory
	Exchanges      int   // of values between warps through shared memory, one after the other
	Warps          int   // consumer warps of a thread block
	Warpgroups     int   // that wait for their wgmma within the iteration; 0 if none do
	Producers      int   // warps that only issue copies
	Registers      int   // of a thread
	ViaRegisters   bool  // some loads reach shared memory through registers
	LoadsExposed   bool  // too few registers to issue the next iteration's loads early: each waits out its latency
	SharedSlot     bool  // the operands of its products share one slot, one after the other
	TensorColumns  int   // columns of tensor memory of a thread block
	LaunchedBlocks int   // resident blocks that a launch has for a multiprocessor; 0 is unbounded
	SharedBytes    []int // of a thread block with one slot of copies, with two, ..
}

// Multiply adds a product to what an iteration does.
func (l *Loop) Multiply(t atom.Tiling) {
	c, matrix := Product(t)
	l.MatrixCycles, l.Issue, l.Waves = l.MatrixCycles+matrix, l.Issue+c.Instrs, l.Waves+c.Waves
}

// MaxSlots bounds the slots of a ring: that many iterations of small tiles are over within the latency of one copy. MaxStagedSlots bounds
// those of loads that reach shared memory through registers: one slot is read, one is still read by a product of the iteration before, one
// is stored to. Up to maxCostlySlots slots may cost a resident block.
const (
	MaxSlots       = 8
	MaxStagedSlots = 3
	maxCostlySlots = 4

	exchangeBytes = 1 << 10 // for small exchanges between warps beside the ring
)

// Stalls of a warp between its products. Latencies of global memory are those of microbenchmarks (arXiv 1804.06826, 2208.11174), for memory
// that is idle, busy and crowded; the weights are fitted to simulated times of machine code (testdata of passes/plan).
const (
	barrierStall   = 200 // waiting at a barrier in a loop
	exchangeCycles = 800 // a store, a barrier, a load and a barrier for every part of a tile
)

var memoryLatencies = [...]int{700, 1400, 2100}

// idleLatency is that of memory with no other traffic, usualLatencies those of idle and of busy memory.
var idleLatency, usualLatencies = memoryLatencies[:1], memoryLatencies[:2]

// Cycles is the time of a multiprocessor for an iteration with the best number of slots.
func (l Loop) Cycles(t *target.Target) int { return l.CyclesWith(t, l.Slots(t)) }

// Slots is the number of slots with the best throughput, at least one. A further slot costs instructions to index, so it must save more
// than one part in 32; warpgroups address slots by a descriptor and need no such margin, as long as shared memory still holds as many
// blocks. More than maxCostlySlots must never cost a block, and must leave room for small exchanges, because a thread may turn out to take
// fewer registers than counted here.
func (l Loop) Slots(t *target.Target) int {
	if l.bandwidthBound(t) {
		return l.bandwidthBoundSlots(t)
	}
	best, least := 1, l.CyclesWith(t, 1)
	for slots := 2; slots <= len(l.SharedBytes) && l.Blocks(t, slots) > 0; slots++ {
		time, besides := l.CyclesWith(t, slots), 0
		if slots > maxCostlySlots {
			besides = exchangeBytes
		}
		room := l.blocksBySharedMemory(t, l.SharedBytes[slots-1]+besides) == l.blocksBySharedMemory(t, l.SharedBytes[best-1])
		if 32*time < 31*least && (room || slots <= maxCostlySlots) || l.Warpgroups > 0 && time < least && room {
			best, least = slots, time
		}
	}
	return best
}

// bandwidthBoundSlots is Slots of a bandwidthBound loop. There the bytes in flight count, whether they belong to slots of one block or to
// several blocks, and the grid size is unknown. So it minimises the worst relative loss over two cases, one resident block and as many as
// fit; a choice without room for a second block pays tailFactor.
func (l Loop) bandwidthBoundSlots(t *target.Target) int {
	var all, alone []int
	for slots := 1; slots <= len(l.SharedBytes) && l.Blocks(t, slots) > 0; slots++ {
		all = append(all, l.CyclesWith(t, slots))
		alone = append(alone, l.averageCycles(t, slots, 1, 0, l.loneArrival(1)))
	}
	best, least := 1, math.MaxInt
	for i := range all {
		loss := max(1024*all[i]/slices.Min(all), 1024*alone[i]/slices.Min(alone))
		if losesSecondBlock(l.Blocks(t, 1), l.Blocks(t, i+1)) {
			loss *= tailFactor
		}
		if loss < least {
			best, least = i+1, loss
		}
	}
	return best
}

// tailFactor is the slowdown of a launch with slightly more blocks than multiprocessors where only one block is resident: the last blocks
// run as a wave of their own.
const tailFactor = 2

// losesSecondBlock reports whether a multiprocessor with room for so many blocks before, and so many now, can no longer run two.
func losesSecondBlock(blocks, now int) bool { return now < min(2, blocks) }

// gainAndLoss compares a choice with another one in hundredths: the most it gains and the most it loses, over two cases, as many resident
// blocks as fit (all) and a single one (alone). The grid size, which decides between them, is unknown.
func gainAndLoss(all, alone, otherAll, otherAlone int) (gain, loss int) {
	return max(100*otherAll/all, 100*otherAlone/alone), max(100*all/otherAll, 100*alone/otherAlone)
}

// lowIntensity is the arithmetic intensity, multiplications per copied byte, up to which a launch is taken to have few blocks: eight rows
// of two-byte elements, as in attention of a single query that is split over the keys.
const lowIntensity = 4

// bandwidthBound reports whether the bandwidth of the second-level cache limits the loop and its arithmetic intensity is low.
func (l Loop) bandwidthBound(t *target.Target) bool {
	return l.CopiedBytes/bytesPerCycle >= l.throughputCycles(t) && l.MatrixCycles*sm80Products <= lowIntensity*l.CopiedBytes
}

// blocksBySharedMemory is how many blocks of so many bytes shared memory holds, whatever their registers.
func (l Loop) blocksBySharedMemory(t *target.Target, shared int) int {
	n, _ := Occupancy(t, l.threads(), 1, shared)
	return capByLaunch(n, l.LaunchedBlocks)
}

// Blocks is how many blocks a multiprocessor runs at once.
func (l Loop) Blocks(t *target.Target, slots int) int { return l.blocksWith(t, l.SharedBytes[slots-1]) }

// blocksWith is Blocks of so many bytes of shared memory.
func (l Loop) blocksWith(t *target.Target, shared int) int {
	n, _ := Occupancy(t, l.threads(), l.Registers, shared)
	if l.TensorColumns > 0 {
		n = min(n, max(1, atom.TensorColumns/atom.TensorColumnsFor(l.TensorColumns))) // blocks queue for columns
	}
	return capByLaunch(n, l.LaunchedBlocks)
}

// capByLaunch bounds the resident blocks by those that a launch has for a multiprocessor; 0 is no bound.
func capByLaunch(room, most int) int {
	if most > 0 {
		return min(room, most)
	}
	return room
}

// threads are those of a block.
func (l Loop) threads() int { return layout.WarpSize * (l.Warps + l.Producers) }

// CyclesWith is the time of an iteration with so many slots, averaged over idle, busy and crowded memory.
func (l Loop) CyclesWith(t *target.Target, slots int) int {
	return l.averageCycles(t, slots, l.Blocks(t, slots), 0, memoryLatencies[:])
}

// averageCycles is the time of an iteration with so many slots and resident blocks, averaged over latencies of memory; each warp stalls for
// extra cycles besides.
func (l Loop) averageCycles(t *target.Target, slots, blocks, extra int, latencies []int) int {
	sum := 0
	for _, latency := range latencies {
		if slots > 1 {
			latency = max(0, latency/(slots-1)-l.warpCycles(t)-l.stallCycles(blocks))
		}
		sum += l.CyclesWithStall(t, blocks, latency+extra)
	}
	return sum / len(latencies)
}

// StaggeredCycles is the time of an iteration in which the operands of each product have a single slot and a wait of their own, shared
// bytes in all: the copies for one product are in flight while the others compute, and a warp waits once for each. best reports whether
// that beats a ring, which it does where it gains more than it loses; keeping a second block resident counts tailFactor in a bandwidthBound
// loop.
func (l Loop) StaggeredCycles(t *target.Target, products, shared int) (cycles int, best bool) {
	blocks := l.blocksWith(t, shared)
	if blocks == 0 {
		return 0, false
	}
	cycles = l.staggeredCycles(t, products, blocks, true, memoryLatencies[:])
	if len(l.SharedBytes) == 0 {
		return cycles, true
	}
	slots := l.Slots(t)
	together := l.CyclesWith(t, slots)
	alone, togetherAlone := l.staggeredCycles(t, products, 1, true, l.loneArrival(products)), l.averageCycles(t, slots, 1, 0, l.loneArrival(1))
	gain, loss := gainAndLoss(cycles, alone, together, togetherAlone)
	if l.bandwidthBound(t) && losesSecondBlock(blocks, l.Blocks(t, slots)) {
		gain *= tailFactor
	}
	return cycles, 32*loss < 31*gain
}

// StaggerBeatsRing is the same question where producer warps copy: whether one slot for each of so many parts, shared bytes in all, beats a
// ring of so many slots. Each wait is longer, so more blocks must be resident to make up for it.
func (l Loop) StaggerBeatsRing(t *target.Target, parts, slots, shared int) bool {
	blocks := l.blocksWith(t, shared)
	return blocks > l.Blocks(t, slots) && l.staggeredCycles(t, parts, blocks, true, usualLatencies) < l.averageCycles(t, slots, l.Blocks(t, slots), 0, usualLatencies)
}

// ProducerSlots is Slots where producer warps copy operands of the tensor unit. They run ahead by themselves, so memory is taken to be
// idle, and a thread may get a ninth fewer registers than counted where that lets one more block be resident. Registers are not bounded for
// the sake of that block: where threads compute operands they take more.
func (l Loop) ProducerSlots(t *target.Target) int {
	if l.TensorColumns == 0 || l.bandwidthBound(t) {
		return l.Slots(t)
	}
	best, least := 1, math.MaxInt
	for slots := 1; slots <= len(l.SharedBytes); slots++ {
		with := l
		if limit := RegisterLimit(t, l.threads(), l.Blocks(t, slots)+1); 8*l.Registers <= 9*limit {
			with.Registers = min(l.Registers, limit)
		}
		blocks := with.Blocks(t, slots)
		if blocks == 0 {
			break
		}
		if time := l.averageCycles(t, slots, blocks, 0, idleLatency); least == math.MaxInt || 32*time < 31*least {
			best, least = slots, time
		}
	}
	return best
}

// loneArrival is the latency, transfer included, of the last of so many equal parts of an iteration's copies when one block is resident.
func (l Loop) loneArrival(parts int) []int {
	return []int{memoryLatencies[0] + l.CopiedBytes/parts/bytesPerCycle}
}

// staggeredCycles is the time of an iteration in which each of so many products waits for its own operands. If overlapped, the copies for
// one are in flight while the others compute.
func (l Loop) staggeredCycles(t *target.Target, products, blocks int, overlapped bool, latencies []int) int {
	hidden, sum := 0, 0
	if overlapped {
		hidden = max(l.warpCycles(t)+l.stallCycles(blocks), blocks*l.throughputCycles(t)) * (products - 1) / products
	}
	for _, latency := range latencies {
		sum += l.CyclesWithStall(t, blocks, products*max(0, latency-hidden)+(products-1)*barrierStall)
	}
	return sum / len(latencies)
}

// SharedSlotCycles is the time of an iteration whose products read their operands from one shared slot, one after the other. The loads for
// one run while another product computes, unless LoadsExposed.
func (l Loop) SharedSlotCycles(t *target.Target, products int) int {
	return l.staggeredCycles(t, products, l.Blocks(t, 1), !l.LoadsExposed, memoryLatencies[:])
}

// StagedSlots is the best number of slots, at most MaxStagedSlots, for loads that reach shared memory through registers. Without any the
// loads stay where they are and a warp waits out their latency; with one, the block meets at one more barrier. Ties go to the most slots: a
// grid may not fill the multiprocessor. shared is the bytes of a block for each number of slots, 0 where that is impossible.
func (l Loop) StagedSlots(t *target.Target, shared [MaxStagedSlots + 1]int) int {
	best, least := 0, 0
	for slots, bytes := range shared {
		if bytes == 0 {
			continue
		}
		if time := l.CyclesWithStall(t, max(l.blocksWith(t, bytes), 1), [MaxStagedSlots + 1]int{memoryLatencies[0], barrierStall}[slots]); least == 0 || time <= least {
			best, least = slots, time
		}
	}
	return best
}

// ProducerPays reports whether a producer warp pays: the consumers' own instructions take more than 1/part of the tensor unit's time,
// which would idle while they also issue copies. A second resident block hides more than that, so the extra warp may not cost it.
func (l Loop) ProducerPays(t *target.Target, slots, part int) bool {
	with := l
	with.Producers++
	return l.TensorColumns > 0 && part*l.Issue/instrsPerCycle > l.MatrixCycles*sm80Products/t.Products && !losesSecondBlock(l.Blocks(t, slots), with.Blocks(t, slots))
}

// slotInstrs is the instructions with which a warp finds a slot, asks whether there is a further iteration, and waits for copies.
const slotInstrs = 24

// RingBeatsPrefetch reports whether loads that pass through registers, so many bytes, should be copied to a ring of raw tiles, whose slots
// l has, rather than prefetched into registers one iteration ahead, which takes shared bytes. The ring stores and loads the data once more,
// and the product waits for that and for the product before it: it must gain a quarter, and more than it loses.
func (l Loop) RingBeatsPrefetch(t *target.Target, passed, shared int) bool {
	ring := l
	ring.Waves += 2 * passed / waveBytes
	ring.Issue += slotInstrs * l.Warps
	slots := ring.Slots(t)
	blocks := ring.Blocks(t, slots)
	if blocks == 0 {
		return false
	}
	behind := 2 * barrierStall
	if l.MultipliesAsync() {
		behind += l.MatrixCycles * sm80Products / t.Products
	}
	if l.TensorColumns > 0 { // an mbarrier tells each thread that the unit has read the slot
		behind -= barrierStall
	}
	all, alone := ring.averageCycles(t, slots, blocks, behind, usualLatencies), ring.averageCycles(t, slots, 1, behind, usualLatencies)
	ahead, aheadAlone := l.averageCycles(t, 2, max(1, l.blocksWith(t, shared)), 0, usualLatencies), l.averageCycles(t, 2, 1, 0, usualLatencies)
	gain, loss := gainAndLoss(all, alone, ahead, aheadAlone)
	return gain >= 125 && gain > loss
}

// throughputCycles is the time of the busiest unit of a multiprocessor: the bound that perfect overlap would reach.
func (l Loop) throughputCycles(t *target.Target) int {
	return max(l.MatrixCycles*sm80Products/t.Products, l.Issue/instrsPerCycle, l.Waves, l.CopiedBytes/bytesPerCycle, 1)
}

// BoundsIssueCounts reports whether the instructions that bound each ragged copy slow down products: where threads issue these themselves
// and the tensor cores are as fast as those of sm_80. Slower ones are the bottleneck anyway (make speed, grouped products).
func BoundsIssueCounts(t *target.Target) bool {
	return !target.ByGroup.On(t) && t.Products >= sm80Products
}

// ExposedLoadCycles is the part of the latency of idle memory that the work done since a load was issued does not hide.
func ExposedLoadCycles(t *target.Target, meanwhile Loop) int {
	return max(0, memoryLatencies[0]-meanwhile.throughputCycles(t))
}

// MultipliesAsync reports whether products run asynchronously, as wgmma or on the tensor unit.
func (l Loop) MultipliesAsync() bool { return l.Warpgroups > 0 || l.TensorColumns > 0 }

// SharedMemoryBound reports whether warps load operands from shared memory and its bandwidth limits the loop.
func (l Loop) SharedMemoryBound(t *target.Target) bool {
	return !l.MultipliesAsync() && l.Waves >= l.throughputCycles(t)
}

// warpCycles is the busy time of one warp, which runs on one of four schedulers.
func (l Loop) warpCycles(t *target.Target) int { return max(1, l.throughputCycles(t)*4/l.Warps) }

// stallCycles is how long a warp stalls in an iteration: exchanges, shared memory, dependent instructions. Where warps load operands
// themselves, those of all resident blocks queue for shared memory.
func (l Loop) stallCycles(blocks int) int {
	waves := l.Waves * blocks / 4
	if l.MultipliesAsync() {
		waves = l.Waves / 3
	}
	cycles := exchangeCycles*l.Exchanges + waves + 3*l.Issue/(5*l.Warps)
	if l.LoadsExposed {
		cycles += memoryLatencies[0] + 2*barrierStall
	}
	return cycles
}

// CyclesWithStall is the time of an iteration of so many resident blocks whose warps stall for extra cycles: the busiest unit is as busy as
// the warps keep it, each of which works for a part of its time. The warps of a block meet at a barrier in every iteration, so they compute
// with their results at the same time; what else they do, and what other blocks do, is taken as independent.
func (l Loop) CyclesWithStall(t *target.Target, blocks, extra int) int {
	own, stop := l.warpCycles(t), l.stallCycles(blocks)+extra
	const unit = 1 << 12
	if l.Warps*blocks <= 4 { // nothing else runs while a warp waits for its own results
		stop += own / 16
	}
	together := l.Issue / (2 * l.Warps) * unit / (own + stop)
	if l.MultipliesAsync() {
		together = 0
	}
	apart := stop*unit/(own+stop) - together
	idle := unit
	for range blocks {
		free := unit - together
		for range max(1, l.Warps/4) {
			free = free * apart / (unit - together)
		}
		idle = idle * (together + free) / unit
	}
	busy := max(1, (unit-idle)*min(l.Warps*blocks, 4)/4)
	return l.throughputCycles(t) * unit / busy
}

// sm80Products is what a multiprocessor of sm_80 does in a cycle, see target.Target; bytesPerCycle is a multiprocessor's share of the second-level
// cache where all read at once.
const sm80Products, bytesPerCycle = 1024, 48
