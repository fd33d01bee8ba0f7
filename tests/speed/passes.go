package main

import (
	"math"
	"slices"
)

// traffic is a loop that reads or writes global memory, with the bytes of a warp and iteration.
type traffic struct {
	numbers           []int
	load, store       float64
	accesses, guarded float64 // guarded: by a predicate, but for copies, or behind a branch
}

// launchCycles is the least time between two blocks that a multiprocessor begins: an H200 took 81 ns for each block of seven kernels with short blocks.
const launchCycles = 142

// memoryTime is the seconds of a launch without matrix instructions that moves so many bytes, of which it writes some; known is false where the code
// does not show what it moves, and DRAM, the begin of blocks and one run of the code are all that bounds it. A loop with stores runs until the outputs are written, one without until the inputs are read once. footprint is
// the bytes that the blocks of a multiprocessor read: where they fit in L1, passes after the first find them there. grid is the blocks, 0 if that is not known.
func (m *model) memoryTime(bytes, writes, footprint, grid float64) (seconds float64, known bool) {
	cycles, known := m.memoryCycles(bytes, min(writes, bytes), footprint, grid)
	return max(cycles, m.onceCycles(bytes-writes, writes, grid), bytes/m.dram(), grid*launchCycles) / m.count / m.clock / 1e9, known
}

// onceCycles is the cycles that blocks take which run once what all of them run, of roles what the one runs that has most to do. What they move beyond what the launch must they find in L1, and what
// TMA copies is there.
func (m *model) onceCycles(reads, writes, grid float64) float64 {
	if grid == 0 {
		return 0
	}
	numbers, h := m.flow.always(), conditions{near: map[int]int{}}
	if m.roles {
		numbers = m.flow.longest()
	}
	if len(numbers) == 0 {
		return 0
	}
	for _, n := range numbers {
		left := &reads
		switch m.code[n].class {
		case classStore:
			left = &writes
		case classLoad, classCopy:
		default:
			continue
		}
		if *left -= grid * 32 * float64(m.code[n].width()*m.workers()); *left < 0 {
			h.near[n] = nearL1
		}
	}
	once := *m
	once.mbarrierFed = false
	if cycles := once.run(numbers, h).cycles; !math.IsInf(cycles, 1) { // warps of different roles may not be seen to end
		return cycles * grid
	}
	return 0
}

// memoryCycles is the cycles of a multiprocessor that its code asks for.
func (m *model) memoryCycles(bytes, writes, footprint, grid float64) (cycles float64, known bool) {
	if m.bulk || slices.ContainsFunc(m.reachable, func(n int) bool { return m.code[n].class == classTMA }) {
		return 0, false
	}
	loops := m.passes()
	if len(loops) < 2 {
		numbers := m.reachable
		if len(loops) == 1 {
			numbers = loops[0].numbers
		}
		r := m.run(numbers, conditions{})
		if r.global == 0 {
			return 0, false
		}
		return r.cycles * bytes / r.global, true
	}
	cached := nearL2
	if footprint > 0 && footprint <= float64(m.l1KB<<10-m.blocks*(m.shared+systemShared)) {
		cached = nearL1
	}
	return m.passesCycles(loops, bytes-writes, writes, grid, cached), true
}

// passesCycles is the cycles of a multiprocessor for loops that pass over the same data: the shorter of two replays, which are
// too long for different reasons.
func (m *model) passesCycles(loops []traffic, reads, writes, grid float64, cached int) float64 {
	trips := make([]float64, len(loops)) // of the whole launch
	for n, l := range loops {
		trips[n] = reads / (l.load * float64(m.workers()))
		if l.store > 0 {
			trips[n] = writes / (l.store * float64(m.workers()))
		}
	}
	return min(m.lockstep(loops, trips, cached), m.interleaved(loops, trips, grid, cached))
}

// lockstep replays loops as if all blocks were in the same one: too long where loops have different bottlenecks.
func (m *model) lockstep(loops []traffic, trips []float64, cached int) (cycles float64) {
	for n, l := range loops {
		near := cached
		switch {
		case n == 0 && m.blocks == 1:
			near = nearDRAM
		case n == 0: // with several blocks, one waits for DRAM while others run their later passes
			near = nearL2
		}
		h := conditions{near: map[int]int{}}
		for _, i := range l.numbers {
			h.near[i] = near
		}
		cycles += trips[n] * m.run(l.numbers, h).cycles
	}
	return cycles
}

// interleaved replays blocks that do one loop after the other, with the code between them, while other blocks are in other loops:
// too long where ptxas peeled the first iterations of a loop, which count twice.
func (m *model) interleaved(loops []traffic, trips []float64, grid float64, cached int) float64 {
	if grid == 0 {
		grid = slices.Min(trips)
	}
	h := conditions{near: map[int]int{}}
	var numbers []int
	between := m.flow.dominatingCode(loops[len(loops)-1].numbers[0])
	for n, l := range loops {
		for len(between) > 0 && between[0] < l.numbers[0] {
			numbers, between = append(numbers, between[0]), between[1:]
		}
		for range int(max(1, math.Round(trips[n]/grid))) {
			numbers = append(numbers, l.numbers...)
		}
		for _, i := range l.numbers {
			if n > 0 && m.code[i].class != classStore {
				h.near[i] = cached
			}
		}
	}
	return m.run(numbers, h).cycles * grid
}

// passes are the loops with traffic, in the order of the code. One whose loads and stores are the same fraction of another's is its remainder;
// so is one right behind one that moves as much with fewer guards, or stores as much: it only runs where an array ends.
func (m *model) passes() (out []traffic) {
	sorted := slices.Clone(m.loops)
	slices.SortFunc(sorted, slices.Compare)
	var all []traffic
	for _, l := range sorted {
		t := traffic{numbers: l}
		for _, n := range l {
			i := &m.code[n]
			switch i.class {
			case classLoad, classCopy:
				t.load += 32 * float64(i.width())
			case classStore:
				t.store += 32 * float64(i.width())
			default:
				continue
			}
			t.accesses++
			if i.class != classCopy && i.guarded || m.flow.skipped(n) { // copies of iterations that there are not are left out in all loops
				t.guarded++
			}
		}
		if t.load+t.store > 0 {
			all = append(all, t)
		}
	}
	for n, t := range all {
		remainder := n > 0 && t.load <= all[n-1].load && t.load*all[n-1].store == all[n-1].load*t.store &&
			(t.store > 0 || t.guarded*all[n-1].accesses > all[n-1].guarded*t.accesses)
		remainder = remainder || slices.ContainsFunc(all, func(o traffic) bool {
			return max(o.load, o.store) >= 2*max(t.load, t.store) && o.load*t.store == o.store*t.load && math.Mod(o.load+o.store, t.load+t.store) == 0
		})
		if !remainder {
			out = append(out, t)
		}
	}
	return out
}
