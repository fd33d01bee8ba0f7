package main

import (
	"regexp"
	"strconv"
	"strings"
)

// effect is what an instruction does besides occupying pipes.
type effect int8

const (
	effectNone            effect = iota
	effectWgmma                  // wgmma.mma_async: DEPBAR waits for it
	effectTcgen05                // tcgen05.mma, on the one such pipe of the multiprocessor
	effectReadTensor             // waits for all products issued before
	effectLoad                   // global memory to registers, or back
	effectCopy                   // global memory to shared memory
	effectCommitCopies           // cp.async.commit_group
	effectWaitCopies             // until at most n groups are open
	effectWaitWgmma              // the same of wgmma
	effectBarrier                // waits for n warps, 0: all
	effectArrive                 // bar.arrive
	effectWarpgroupSync          // waits for the other warps of the warpgroup
	effectWaitFull               // a full mbarrier: for part n of an iteration's copies
	effectWaitAllProducts        // an mbarrier: for the products of the last iteration
	effectCommitProducts         // tcgen05.commit of the products issued so far
	effectWaitProduct            // an mbarrier: for commit n counted from the beginning of the iteration, before it if negative
	effectReleaseSlot            // an arrival at an empty mbarrier: frees the slot of part n of an iteration's copies
	effectBulkCopy               // a bulk copy, which completes on an mbarrier
)

// step is the resources that one instruction takes. Times are cycles.
type step struct {
	effect  effect
	pipe    pipe
	busy    float64 // of its scheduler's pipe
	shared  float64 // of shared memory
	global  float64 // bytes
	near    int     // where they are
	latency float64
	n, id   int
	begun   int // copies that mbarriers announce which the iteration has begun before a wait
	control
}

// Latencies that are not in the stall counts.
const (
	latencyShared  = 30
	latencyShuffle = 24
	latencySpecial = 24
	latencyBarrier = 20
	latencyGroup   = 30 // of wgmma after its last product
	latencyUniform = 30
	latencyTensor  = 20 // of tensor memory
	latencyUnit    = 40 // of tcgen05
	latencyMMA     = 33
	latencySpill   = 40
	latencyDouble  = 20
)

// trace is the steps of one iteration.
type trace struct {
	steps    []step
	waits    int  // on mbarriers, for copies
	bulk     int  // copies that mbarriers announce
	commits  int  // how often the ends of products are announced
	released bool // the code frees what it has read; else the end of the iteration does
}

var (
	hexNumber = regexp.MustCompile(`0x[0-9a-f]+`)
	lastHex   = regexp.MustCompile(`,\s*(0x[0-9a-f]+)`)
	times     = regexp.MustCompile(`\.x(\d+)`)
)

// bulkCopies are the instructions that copy from global to shared memory and arrive at an mbarrier.
var bulkCopies = map[string]bool{"UTMALDG": true, "UBLKCP": true}

// traceOf makes the steps of instructions. fed: mbarriers announce copies, so waits on them are for copies, except on those at
// which products arrive.
func (c *chip) traceOf(code []instruction, numbers []int, fed bool) trace {
	var t trace
	var releases []int
	mbarriers, products := 0, productWaitsOf(code, numbers)
	t.commits = products.commits
	for _, n := range numbers {
		i := &code[n]
		s := step{control: i.control}
		switch i.class {
		case classMMA:
			c.multiply(&s, code, n)
		case classSync:
			synchronize(&s, i)
			switch {
			case i.op == "SYNCS" && strings.Contains(i.mods, "TRYWAIT"):
				turn, known := products.waits[n]
				switch {
				case known:
					s.effect, s.n = effectWaitProduct, turn
				case fed && !products.offsets[hexNumber.FindString(i.args)]:
					s.effect, s.n, s.begun = effectWaitFull, mbarriers, t.bulk
					mbarriers++
				default:
					s.effect = effectWaitAllProducts
				}
			case i.op == "SYNCS" && strings.Contains(i.mods, "ARRIVE"), products.commits > 0 && i.op == "UTCBAR" && !products.commitsAt[n]:
				releases = append(releases, len(t.steps))
			}
		default:
			c.moveOrCompute(&s, i)
			switch {
			case s.effect == effectReadTensor && products.complete:
				s.effect = effectNone
			case bulkCopies[i.op]:
				s.effect = effectBulkCopy
				t.bulk++
			}
		}
		if products.commitsAt[n] {
			s.effect = effectCommitProducts
		}
		t.steps = append(t.steps, s)
	}
	t.waits = mbarriers
	if len(releases) > 0 && len(releases) == mbarriers {
		t.released = true
		for n, at := range releases {
			t.steps[at].effect, t.steps[at].n = effectReleaseSlot, n
		}
	}
	return t
}

func (c *chip) multiply(s *step, code []instruction, n int) {
	i, p := &code[n], c.productOf(code, n)
	s.pipe, s.busy, s.shared = pipeTensor, 4*p.tensor, p.operand/128
	switch {
	case strings.HasPrefix(i.op, "UTC"):
		s.effect, s.busy = effectTcgen05, max(p.tensor, s.shared)
	case strings.HasSuffix(i.op, "GMMA"):
		s.effect = effectWgmma
		if strings.Contains(i.args, "gsb0") {
			s.n = 1 // closes a group
		}
	default:
		s.latency = latencyMMA
	}
}

func synchronize(s *step, i *instruction) {
	last := func() int {
		if m := lastHex.FindStringSubmatch(i.args); m != nil {
			n, _ := strconv.ParseInt(m[1], 0, 64)
			return int(n)
		}
		return 0
	}
	switch {
	case i.op == "LDGDEPBAR":
		s.effect = effectCommitCopies
	case i.op == "DEPBAR" && strings.Contains(i.mods, ".LE"):
		s.effect, s.n = effectWaitCopies, last()
	case i.op == "WARPGROUP" && strings.Contains(i.mods, "DEPBAR"):
		s.effect, s.n = effectWaitWgmma, last()
	case i.op == "WARPGROUP" && strings.Contains(i.mods, "ARRIVE"):
		s.effect = effectWarpgroupSync
	case i.op == "BAR":
		s.effect = effectBarrier
		if strings.Contains(i.mods, "ARV") {
			s.effect = effectArrive
		}
		words := hexNumber.FindAllString(i.args, -1)
		word := func(n int) int { v, _ := strconv.ParseInt(words[n], 0, 64); return int(v) }
		if len(words) > 0 {
			s.id = word(0)
		}
		if len(words) > 1 {
			s.n = word(1) / 32
		}
	}
}

func (c *chip) moveOrCompute(s *step, i *instruction) {
	switch {
	case i.op == "LDTM" || i.op == "STTM":
		s.pipe, s.busy, s.latency = pipeTensorMemory, 1, latencyTensor
		if m := times.FindStringSubmatch(i.mods); m != nil {
			n, _ := strconv.Atoi(m[1])
			s.busy = float64(n)
		}
		if i.op == "LDTM" {
			s.effect = effectReadTensor
		}
		return
	case i.class == classMatrix || i.class == classShared:
		s.shared, s.latency = i.sharedCycles(), latencyShared
		return
	case i.class == classLoad || i.class == classStore || i.class == classCopy:
		s.effect, s.shared, s.global = effectLoad, i.sharedCycles(), 32*float64(i.width())
		if i.class == classCopy {
			s.effect = effectCopy
		}
		return
	case i.class == classSpill:
		s.shared, s.latency = i.sharedCycles(), latencySpill
		return
	case i.class == classShuffle:
		s.shared, s.latency = 1, latencyShuffle
		return
	case i.class == classConst:
		s.latency = latencyUniform
		return
	}
	s.pipe, s.busy = c.pipeOf(i)
	switch {
	case s.pipe == pipeSpecial:
		s.latency = latencySpecial
	case i.class == classDouble:
		s.latency = latencyDouble
	case s.pipe == pipeUniform && (i.op == "S2R" || i.op == "R2UR" || i.op == "S2UR"):
		s.latency = latencyUniform
	}
}
