package main

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Latencies of global memory in cycles: DRAM and L2 mixed, under load; L2 alone.
const (
	latencyGlobal = 650
	latencyL2     = 300
	latencyL1     = 40 // microbenchmarks of A100 and H100: arXiv 2402.13499
)

// Where global memory is found, and the bytes that a multiprocessor loads from there in a cycle. That of L1 is the width of its way to the registers,
// which shared memory has too.
const (
	nearDRAM = iota // DRAM and L2 mixed, and what is written
	nearL2
	nearL1
	numNear

	bandwidthL2 = 64
	bandwidthL1 = 128
)

// Iterations of each block that are simulated: of loops with products, and of loops that only move memory. Blocks that multiply begin in step and drift
// apart: with 8 iterations two blocks that convert factors reach 140 TF/s on sm_80, with 16, 32 and 64 123, and attention with two blocks 217, 242, 231
// and 231. Loops over memory begin with a burst of all blocks: with 8 a row maximum on sm_80 reaches 97.8 % of the bandwidth, with 24 99.7 %.
const (
	iterations         = 32
	iterationsOfMemory = 24
)

// model is a kernel on a chip.
type model struct {
	*chip
	*kernel
	loops       [][]int // innermost
	reachable   []int
	flow        *controlFlow
	blocks      int  // that fit on a multiprocessor
	tcgen05     bool // products of the multiprocessor's own tensor pipe
	bulk        bool // TMA copies
	mbarrierFed bool // mbarriers announce copies that the loop does not show
	roles       bool // warps have different code
}

func newModel(c *chip, k *kernel) *model {
	f := newControlFlow(k.code)
	m := &model{chip: c, kernel: k, flow: f, loops: f.innermost(), reachable: f.numbers(f.reached())}
	m.blocks = c.blocks(k.registers, k.shared, m.warpsOfBlock())
	for n := range k.code {
		op := k.code[n].op
		if parts := tensorParts(k.code, n); parts > 0 {
			m.blocks = max(1, min(m.blocks, tensorMemory/parts)) // others wait
		}
		m.tcgen05 = m.tcgen05 || strings.HasPrefix(op, "UTC") && strings.HasSuffix(op, "MMA")
		m.bulk = m.bulk || bulkCopies[op]
		m.roles = m.roles || op == "USETMAXREG"
	}
	waits := slices.ContainsFunc(m.products(), func(l []int) bool { return m.has(l, "SYNCS") && !m.copies(l) })
	handed := waits && slices.ContainsFunc(m.loops, m.copies)
	m.roles = m.roles || handed
	m.mbarrierFed = m.bulk || handed
	return m
}

// tensorMemory is the parts of 32 columns that blocks share which sum in tensor memory.
const tensorMemory = 16

// tensorParts is how many of these units an instruction allocates, 0 if none: the constant last moved into the uniform register
// that it names.
func tensorParts(code []instruction, n int) int {
	i := &code[n]
	if i.op != "UTCATOMSWS" || !strings.HasPrefix(i.mods, ".FIND_AND_SET") {
		return 0
	}
	register := i.args[strings.LastIndex(i.args, " ")+1:]
	for j := n - 1; j > max(n-60, -1); j-- {
		if rest, ok := strings.CutPrefix(code[j].args, register+", 0x"); ok && code[j].op == "UMOV" {
			parts, _ := strconv.ParseInt(rest, 16, 32)
			return int(parts)
		}
	}
	return 0
}

func (m *model) warpsOfBlock() int { return (m.threads + 31) / 32 }

// workers is the number of warps that run the hot loop: with warp specialization, those that copy and store do not.
func (m *model) workers() int {
	w := m.warpsOfBlock()
	if !m.roles || w <= 4 {
		return w
	}
	helpers := w % 4
	if helpers == 0 {
		helpers = 4
	}
	return max(4, w-helpers)
}

func (m *model) has(numbers []int, op string) bool {
	return slices.ContainsFunc(numbers, func(n int) bool { return m.code[n].op == op })
}

// copies reports whether instructions copy global to shared memory.
func (m *model) copies(numbers []int) bool {
	return slices.ContainsFunc(numbers, func(n int) bool { return bulkCopies[m.code[n].op] || m.code[n].op == "LDGSTS" })
}

// products are the loops with most flops of matrix instructions, within 10 %, the cheapest first.
func (m *model) products() [][]int {
	most := 0.0
	for _, l := range m.loops {
		most = max(most, m.costOf(m.code, l).flops)
	}
	var out [][]int
	for _, l := range m.loops {
		if most > 0 && m.costOf(m.code, l).flops >= 0.9*most {
			out = append(out, l)
		}
	}
	slices.SortStableFunc(out, func(a, b []int) int {
		x, y := m.costOf(m.code, a).flops, m.costOf(m.code, b).flops
		if x != y {
			return cmpFloat(x, y)
		}
		if x, y = m.costOf(m.code, m.flow.trim(a)).bottleneck, m.costOf(m.code, m.flow.trim(b)).bottleneck; x != y {
			return cmpFloat(x, y)
		}
		return len(a) - len(b)
	})
	return out
}

func cmpFloat(a, b float64) int {
	if a < b {
		return -1
	}
	return 1
}

// conditions is what a region runs under; zero values mean what the kernel and the chip say.
type conditions struct {
	warps, blocks int
	near          map[int]int // where an instruction finds what it loads, if not in DRAM
	fillPerFlop   float64     // bytes copied per flop, in kernels whose copies the loop does not show
	resident      int         // bytes of shared memory that are no part of the ring of copies
}

// rate is what an iteration of a block takes, in cycles of the multiprocessor, and what it does.
type rate struct{ cycles, flops, global float64 }

// run simulates instructions as a loop.
func (m *model) run(numbers []int, h conditions) rate {
	p := m.costOf(m.code, numbers)
	s := &simulation{trace: m.traceOf(m.code, numbers, m.mbarrierFed), warps: m.workers(), blocks: m.blocks, iterations: iterations, stages: 1}
	for n, i := range numbers {
		s.steps[n].near = h.near[i]
	}
	s.memory = [numNear]memoryPath{{m.dram(), latencyGlobal}, {bandwidthL2, latencyL2}, {bandwidthL1, latencyL1}}
	if h.warps > 0 {
		s.warps = h.warps
	}
	if h.blocks > 0 {
		s.blocks = h.blocks
	}
	if p.flops == 0 {
		s.iterations = iterationsOfMemory
	}
	r := rate{flops: p.flops * float64(s.warps), global: p.global * float64(s.warps)}
	tensor := p.tensor * float64(s.warps)
	if m.tcgen05 {
		r.flops, tensor = p.flops, p.tensor
	}
	if m.mbarrierFed && s.waits > 0 {
		s.fillBytes = max(0, h.fillPerFlop*r.flops-r.global) // the rest the loop loads itself
	}
	if s.fillBytes > 0 {
		room := int(math.Floor(float64(m.shared-h.resident) / s.fillBytes))
		s.stages, s.copiesInTrace = max(1, min(8, room)), room < 2 && s.bulk > 0
	}
	if r.flops > 0 {
		s.memory[nearDRAM].bandwidth = m.l2
	}
	ended := s.run()
	if len(ended) == 0 { // warps of different roles meet, which replay each other's code here
		r.cycles = math.Inf(1)
		return r
	}
	last, start := ended[len(ended)-1], len(ended)*3/8
	r.cycles = last
	if len(ended) > start+1 {
		r.cycles = (last - ended[start]) / float64(len(ended)-1-start)
	}
	// A window of few iterations may catch a burst, or the last warps alone where the first ran ahead: never faster than what all blocks share.
	r.cycles = max(r.cycles, s.bandwidthBound(), s.fillBytes/s.memory[nearDRAM].bandwidth, tensor, p.issued*float64(s.warps))
	return r
}

// flopRate is the TF/s of the n-th of the hot loops.
func (m *model) flopRate(n int, h conditions) (float64, error) {
	loops := m.products()
	if len(loops) == 0 {
		return 0, errors.New("no loop with matrix instructions whose shape is in the code")
	}
	numbers := m.flow.trim(loops[min(n, len(loops)-1)])
	// Products that have a loop of their own are issued by one warp, and others read what they make.
	alone := m.tcgen05 && !m.has(numbers, "LDTM") && !m.has(numbers, "UTMALDG") &&
		(m.roles || slices.ContainsFunc(m.loops, func(l []int) bool { return m.has(l, "LDTM") }))
	if alone {
		h.warps = 1
	}
	r := m.run(numbers, h)
	if m.roles { // threads of another role may bring what is multiplied, element by element
		for _, l := range m.feeders() {
			r.cycles = max(r.cycles, m.run(m.flow.trim(l), conditions{warps: max(4, m.workers()), blocks: m.blocks}).cycles)
		}
	}
	if alone {
		readers := m.readers()
		for _, l := range readers {
			// Each role has as many warps, and the four of a group see all rows: with eight in one role, each thread has half of a row.
			reader := m.run(m.flow.trim(l), conditions{warps: max(4, m.workers()/len(readers)), blocks: m.blocks})
			r.cycles = max(r.cycles, reader.cycles)
		}
	}
	return r.flops / r.cycles * m.clock * m.count / 1e3, nil
}

// narrowest is the index of the hot loop with the narrowest loads: of the versions of a loop, the one for unaligned arrays.
func (m *model) narrowest() (best int) {
	width := func(l []int) float64 {
		accesses, bytes := 0, 0
		for _, n := range l {
			if c := m.code[n].class; c == classLoad || c == classCopy {
				accesses, bytes = accesses+1, bytes+m.code[n].width()
			}
		}
		if accesses == 0 {
			return math.Inf(1)
		}
		return float64(bytes) / float64(accesses)
	}
	loops := m.products()
	for n, l := range loops {
		if width(l) < width(loops[best]) {
			best = n
		}
	}
	return best
}

// feeders are the loops without products in which threads copy from global to shared memory through registers.
func (m *model) feeders() [][]int {
	products := m.products()
	return slices.DeleteFunc(slices.Clone(m.loops), func(l []int) bool {
		multiplies := slices.ContainsFunc(products, func(p []int) bool { return slices.Equal(p, l) })
		return multiplies || !m.has(l, "LDG") || !m.has(l, "STS")
	})
}

// readers are the loops that read tensor memory; of those alike only the shortest.
func (m *model) readers() (out [][]int) {
	count := func(l []int, op string) (n int) {
		for _, i := range l {
			if m.code[i].op == op {
				n++
			}
		}
		return n
	}
	at := map[[2]int]int{}
	for _, l := range m.loops {
		if !m.has(l, "LDTM") {
			continue
		}
		key := [2]int{count(l, "LDTM"), count(l, "MUFU")}
		n, ok := at[key]
		switch {
		case !ok:
			at[key] = len(out)
			out = append(out, l)
		case len(l) < len(out[n]):
			out[n] = l
		}
	}
	return out
}
