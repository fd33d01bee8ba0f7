package cost

import (
	"math"
	"slices"

	"tileiras/codegen/atom"
	"tileiras/codegen/target"
)

// Loop is an iteration of a loop that multiplies what copies bring to shared memory, of one thread block.
type Loop struct {
	Matrix    int   // cycles in which the matrix units of a multiprocessor of sm_80 are busy
	Issue     int   // warp instructions
	Waves     int   // cycles of the shared memory pipe
	Copied    int   // bytes from global memory
	Exchanges int   // of values among the warps
	Warps     int   // of a thread block that compute
	Groups    int   // of these warps, which wait for products of theirs in the iteration; 0 without
	Producers int   // and that only begin copies
	Registers int   // of a thread
	Staged    bool  // some of what is loaded passes through registers on its way to shared memory
	Exposed   bool  // there are none for loads of the next iteration that pass through them
	InTurns   bool  // what its products take has one place in shared memory, by turns
	Columns   int   // of tensor memory of a thread block
	Launched  int   // thread blocks that a launch has for a multiprocessor; 0 is one for each tile
	Shared    []int // bytes of a thread block with one slot for what is copied, with two, ..
}

// Multiply adds a product to what an iteration does.
func (l *Loop) Multiply(t atom.Tiling) {
	c, matrix := Product(t)
	l.Matrix, l.Issue, l.Waves = l.Matrix+matrix, l.Issue+c.Instrs, l.Waves+c.Waves
}

// MostSlots is the most slots that are worth asking for: so many iterations of small tiles are over in the time that a copy takes. MostStaged is the most for
// what loads bring through registers: one is read, one is what a product of the iteration before reads still, one is stored to. Up to fewSlots may cost a block.
const (
	MostSlots  = 8
	MostStaged = 3
	fewSlots   = 4

	exchangeBytes = 1 << 10 // of values that warps tell each other beside a loop
)

// A warp stops between its products: for operands from shared memory and its turn there, for what it tells others, and for copies. Latencies
// are those that microbenchmarks publish (arXiv 1804.06826, 2208.11174): of global memory at rest, busy, and crowded. The weights are those
// with which times are nearest to the times of machine code (testdata of passes/plan).
const (
	meetCycles     = 200 // a barrier
	exchangeCycles = 800 // warps tell each other what they have: an access and a barrier on both sides, for every part of a tile
)

var copyCycles = [...]int{700, 1400, 2100}

// atRest are the latencies of memory that nobody keeps busy, moving those at rest and busy.
var atRest, moving = copyCycles[:1], copyCycles[:2]

// Cycles is the time of a multiprocessor for an iteration with the best number of slots.
func (l Loop) Cycles(t *target.Target) int { return l.CyclesWith(t, l.Slots(t)) }

// Slots is the number of slots with which a multiprocessor has most to do, at least one. A further slot takes instructions to find, so it
// must save more than a part in 32, unless warpgroups multiply, which find theirs by a descriptor, and shared memory has room for as many blocks as before. More
// than a few must leave that room in any case, and some for small exchanges: a thread may take fewer registers than are counted here.
func (l Loop) Slots(t *target.Target) int {
	if l.waitsForCopies(t) {
		return l.slotsOfCopies(t)
	}
	best, least := 1, l.CyclesWith(t, 1)
	for slots := 2; slots <= len(l.Shared) && l.Blocks(t, slots) > 0; slots++ {
		time, besides := l.CyclesWith(t, slots), 0
		if slots > fewSlots {
			besides = exchangeBytes
		}
		room := l.roomFor(t, l.Shared[slots-1]+besides) == l.roomFor(t, l.Shared[best-1])
		if 32*time < 31*least && (room || slots <= fewSlots) || l.Groups > 0 && time < least && room {
			best, least = slots, time
		}
	}
	return best
}

// slotsOfCopies is Slots of a loop that waitsForCopies. What is in flight counts then, in slots of one block or in blocks, and nobody knows how many a
// launch has: it is the number with which a multiprocessor loses least, where it has one block or as many as it can run, and lastAlone without room for a second one.
func (l Loop) slotsOfCopies(t *target.Target) int {
	var all, alone []int
	for slots := 1; slots <= len(l.Shared) && l.Blocks(t, slots) > 0; slots++ {
		all = append(all, l.CyclesWith(t, slots))
		alone = append(alone, l.average(t, slots, 1, 0, l.comes(1)))
	}
	best, least := 1, math.MaxInt
	for i := range all {
		loss := max(1024*all[i]/slices.Min(all), 1024*alone[i]/slices.Min(alone))
		if losesSecond(l.Blocks(t, 1), l.Blocks(t, i+1)) {
			loss *= lastAlone
		}
		if loss < least {
			best, least = i+1, loss
		}
	}
	return best
}

// lastAlone is how many times as long a launch takes of a few blocks more than multiprocessors that have no room for a second one: the last blocks run when all
// others are over.
const lastAlone = 2

// losesSecond reports whether a multiprocessor that had room for so many blocks, and has it for so many now, has none for a second one any more.
func losesSecond(blocks, now int) bool { return now < min(2, blocks) }

// weigh is the most that a choice gains and loses against another one, in hundredths, by the times of each with all blocks that a multiprocessor can run and with one
// that is alone: nobody knows how many a launch has.
func weigh(all, alone, otherAll, otherAlone int) (gain, loss int) {
	return max(100*otherAll/all, 100*otherAlone/alone), max(100*all/otherAll, 100*alone/otherAlone)
}

// fewUses is the multiplications for each byte that is copied, as many as eight rows take of elements of two bytes, up to which a launch has few blocks: those of a
// query of attention, over parts of what it looks at.
const fewUses = 4

// waitsForCopies reports whether nothing has more to do in a loop than the second-level cache, from which copies come, and what they bring has few uses.
func (l Loop) waitsForCopies(t *target.Target) bool {
	return l.Copied/bytesPerCycle >= l.work(t) && l.Matrix*sm80Products <= fewUses*l.Copied
}

// roomFor is how many blocks shared memory has room for that take so many bytes each.
func (l Loop) roomFor(t *target.Target, shared int) int {
	n, _ := Occupancy(t, l.threads(), 1, shared)
	return launched(n, l.Launched)
}

// Blocks is how many blocks a multiprocessor runs at once.
func (l Loop) Blocks(t *target.Target, slots int) int { return l.blocksWith(t, l.Shared[slots-1]) }

// blocksWith is Blocks of so many bytes of shared memory.
func (l Loop) blocksWith(t *target.Target, shared int) int {
	n, _ := Occupancy(t, l.threads(), l.Registers, shared)
	if l.Columns > 0 {
		n = min(n, max(1, atom.TensorColumns/atom.TensorColumnsFor(l.Columns))) // others wait for columns
	}
	return launched(n, l.Launched)
}

// launched is how many of the blocks that a multiprocessor has room for it gets, of so many that a launch has for it; 0 is any.
func launched(room, most int) int {
	if most > 0 {
		return min(room, most)
	}
	return room
}

// threads are those of a block.
func (l Loop) threads() int { return warpLanes * (l.Warps + l.Producers) }

// CyclesWith is the time with so many slots, the average over the latencies of global memory.
func (l Loop) CyclesWith(t *target.Target, slots int) int {
	return l.average(t, slots, l.Blocks(t, slots), 0, copyCycles[:])
}

// average is the time of an iteration of so many blocks with so many slots whose warps stop for so much longer, the average over latencies.
func (l Loop) average(t *target.Target, slots, blocks, longer int, latencies []int) int {
	sum := 0
	for _, latency := range latencies {
		if slots > 1 {
			latency = max(0, latency/(slots-1)-l.own(t)-l.stop(blocks))
		}
		sum += l.cycles(t, blocks, latency+longer)
	}
	return sum / len(latencies)
}

// Apart reports whether it is best that the copies for each of so many products have a wait of their own and one slot each, which takes so many
// bytes, and the time of an iteration then: they fly while the other products are computed, and a warp stops once more for each. It is best where it gains more than
// it loses, lastAlone where a loop that waitsForCopies would lose its second block otherwise.
func (l Loop) Apart(t *target.Target, products, shared int) (cycles int, best bool) {
	blocks := l.blocksWith(t, shared)
	if blocks == 0 {
		return 0, false
	}
	cycles = l.apart(t, products, blocks, true, copyCycles[:])
	if len(l.Shared) == 0 {
		return cycles, true
	}
	slots := l.Slots(t)
	together := l.CyclesWith(t, slots)
	alone, togetherAlone := l.apart(t, products, 1, true, l.comes(products)), l.average(t, slots, 1, 0, l.comes(1))
	gain, loss := weigh(cycles, alone, together, togetherAlone)
	if l.waitsForCopies(t) && losesSecond(blocks, l.Blocks(t, slots)) {
		gain *= lastAlone
	}
	return cycles, 32*loss < 31*gain
}

// ByTurns reports whether it is best that the parts of what warps of their own copy, so many, have one slot each, which takes so many bytes, instead of so many slots
// together: more blocks of a multiprocessor must make up for what each waits longer.
func (l Loop) ByTurns(t *target.Target, parts, slots, shared int) bool {
	blocks := l.blocksWith(t, shared)
	return blocks > l.Blocks(t, slots) && l.apart(t, parts, blocks, true, moving) < l.average(t, slots, l.Blocks(t, slots), 0, moving)
}

// SlotsBesideUnit is Slots where warps of their own copy what the tensor unit multiplies: these are ahead by themselves, so memory is at rest, and a thread may take a
// ninth fewer registers than are counted, which leaves room for one more block. Registers are not bounded for it: where threads make what is multiplied they take more.
func (l Loop) SlotsBesideUnit(t *target.Target) int {
	if l.Columns == 0 || l.waitsForCopies(t) {
		return l.Slots(t)
	}
	best, least := 1, math.MaxInt
	for slots := 1; slots <= len(l.Shared); slots++ {
		with := l
		if limit := RegisterLimit(t, l.threads(), l.Blocks(t, slots)+1); 8*l.Registers <= 9*limit {
			with.Registers = min(l.Registers, limit)
		}
		blocks := with.Blocks(t, slots)
		if blocks == 0 {
			break
		}
		if time := l.average(t, slots, blocks, 0, atRest); least == math.MaxInt || 32*time < 31*least {
			best, least = slots, time
		}
	}
	return best
}

// comes is when the last of each of so many equal parts of what an iteration copies is there, in a block that is alone.
func (l Loop) comes(parts int) []int { return []int{copyCycles[0] + l.Copied/parts/bytesPerCycle} }

// apart is the time of an iteration of so many blocks in which each of so many products, or what is computed between them, waits for its own: what flies comes while
// the other ones are computed.
func (l Loop) apart(t *target.Target, products, blocks int, flies bool, latencies []int) int {
	flying, sum := 0, 0
	if flies {
		flying = max(l.own(t)+l.stop(blocks), blocks*l.work(t)) * (products - 1) / products
	}
	for _, latency := range latencies {
		sum += l.cycles(t, blocks, products*max(0, latency-flying)+(products-1)*meetCycles)
	}
	return sum / len(latencies)
}

// TurnCycles is the time of an iteration whose loads take turns, for so many products: a load flies while another product is computed, or, where it is Exposed,
// each product waits for its own.
func (l Loop) TurnCycles(t *target.Target, products int) int {
	return l.apart(t, products, l.Blocks(t, 1), !l.Exposed, copyCycles[:])
}

// StagedSlots is how many slots of shared memory, at most three, are best for what loads bring through registers: without, they stay
// where they are, and a warp waits for them; with one, the block meets once more. Of equals it is the most: a grid may not fill the
// multiprocessor. shared is the bytes of a block for each, 0 where it cannot be.
func (l Loop) StagedSlots(t *target.Target, shared [MostStaged + 1]int) int {
	best, least := 0, 0
	for slots, bytes := range shared {
		if bytes == 0 {
			continue
		}
		if time := l.cycles(t, max(l.blocksWith(t, bytes), 1), [MostStaged + 1]int{copyCycles[0], meetCycles}[slots]); least == 0 || time <= least {
			best, least = slots, time
		}
	}
	return best
}

// Relieves reports whether it pays that so many more warps begin the copies of a loop: its threads have more than such a part of what the tensor unit multiplies to do,
// which waits for them meanwhile. A second block relieves them more, so it may not be lost for more warps.
func (l Loop) Relieves(t *target.Target, producers, slots, part int) bool {
	with := l
	with.Producers += producers
	return l.Columns > 0 && part*l.Issue/instrsPerCycle > l.Matrix*sm80Products/t.Products && !losesSecond(l.Blocks(t, slots), with.Blocks(t, slots))
}

// slotIssue is the instructions with which a warp finds a slot, asks whether there is a further iteration, and waits for copies.
const slotIssue = 24

// ByRing reports whether it is best that what passes through registers, so many bytes, comes from a ring of its own, of which l has the slots, instead of being
// loaded an iteration ahead, which takes so many bytes of shared memory. It is stored and loaded once more, and the product waits for that and for what it has done:
// it must save a fifth, and more than it loses.
func (l Loop) ByRing(t *target.Target, passed, shared int) bool {
	ring := l
	ring.Waves += 2 * passed / waveBytes
	ring.Issue += slotIssue * l.Warps
	slots := ring.Slots(t)
	blocks := ring.Blocks(t, slots)
	if blocks == 0 {
		return false
	}
	behind := 2 * meetCycles
	if l.InUnit() {
		behind += l.Matrix * sm80Products / t.Products
	}
	if l.Columns > 0 { // the unit tells each thread by itself that it has read what is stored over
		behind -= meetCycles
	}
	all, alone := ring.average(t, slots, blocks, behind, moving), ring.average(t, slots, 1, behind, moving)
	ahead, aheadAlone := l.average(t, 2, max(1, l.blocksWith(t, shared)), 0, moving), l.average(t, 2, 1, 0, moving)
	gain, loss := weigh(all, alone, ahead, aheadAlone)
	return gain >= 125 && gain > loss
}

// work is the cycles of the unit of a multiprocessor that has most to do.
func (l Loop) work(t *target.Target) int {
	return max(l.Matrix*sm80Products/t.Products, l.Issue/instrsPerCycle, l.Waves, l.Copied/bytesPerCycle, 1)
}

// SizesCount reports whether the instructions that find how much is left of each copy count beside products: where threads begin these, and the tensor cores of a
// multiprocessor are as fast as those of sm_80. Others wait for their tensor cores anyway (make speed, grouped products).
func SizesCount(t *target.Target) bool {
	return !t.Has("wgmma") && !t.Has("tcgen05") && t.Products >= sm80Products
}

// LoadCycles is how long a warp waits for a load when it has done some work since it began it, memory being at rest.
func LoadCycles(t *target.Target, meanwhile Loop) int { return max(0, copyCycles[0]-meanwhile.work(t)) }

// CyclesWaiting is the time of an iteration of so many blocks whose warps wait so long for what they load.
func (l Loop) CyclesWaiting(t *target.Target, blocks, wait int) int { return l.cycles(t, blocks, wait) }

// InUnit reports whether warpgroups or the tensor unit multiply, beside what threads do.
func (l Loop) InUnit() bool { return l.Groups > 0 || l.Columns > 0 }

// BoundByShared reports whether nothing has more to do than shared memory, from which warps load what they multiply.
func (l Loop) BoundByShared(t *target.Target) bool { return !l.InUnit() && l.Waves >= l.work(t) }

// own is the part of the work that a warp does by itself, on a quarter of a multiprocessor.
func (l Loop) own(t *target.Target) int { return max(1, l.work(t)*4/l.Warps) }

// stop is the cycles in which a warp does none of it. Where warps load what they multiply, those of so many blocks wait for each other.
func (l Loop) stop(blocks int) int {
	waves := l.Waves * blocks / 4
	if l.InUnit() {
		waves = l.Waves / 3
	}
	cycles := exchangeCycles*l.Exchanges + waves + 3*l.Issue/(5*l.Warps)
	if l.Exposed {
		cycles += copyCycles[0] + 2*meetCycles
	}
	return cycles
}

// cycles is the time of an iteration when warps stop for so much longer: the unit that has most to do is as busy as the warps keep it. Each
// works for a part of its time. Those of a block meet in every iteration, so that they compute with what they have multiplied at the same time; what else
// they do, and what other blocks do, is at times that have nothing to do with each other.
func (l Loop) cycles(t *target.Target, blocks, longer int) int {
	own, stop := l.own(t), l.stop(blocks)+longer
	const unit = 1 << 12
	if l.Warps*blocks <= 4 { // nothing else runs while a warp waits for its own results
		stop += own / 16
	}
	together := l.Issue / (2 * l.Warps) * unit / (own + stop)
	if l.InUnit() {
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
	return l.work(t) * unit / busy
}

// sm80Products is what a multiprocessor of sm_80 does in a cycle, see target.Target; bytesPerCycle is a multiprocessor's share of the second-level
// cache.
const sm80Products, bytesPerCycle = 1024, 48
