package emu

import (
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
)

// Stats count what a launch executed.
type Stats struct {
	LaneInstrs int64 // instructions of threads, guards that were false included
	WarpInstrs int64 // instructions of warps
	CTAs       int64
	Barriers   int64 // arrivals of groups at barriers
	Mma        int64 // matrix instructions

	// With Options.Stats:

	GlobalRequests        int64 // memory instructions of a warp
	GlobalSectors         int64 // distinct 32-byte sectors of those
	GlobalBytes           int64
	SharedRequests        int64
	SharedWavefronts      int64 // passes over the 32 banks of 4 bytes that those take
	SharedIdealWavefronts int64 // passes that their bytes would take without conflicts
	PerOpcode             map[string]int64
}

type counters struct {
	laneInstrs, warpInstrs, barriers, mma int64
	globalReq, sectors, globalBytes       int64
	sharedReq, waves, ideal               int64
	perOp                                 []int64
	detailed                              bool
}

func (c *counters) init(p *program, on bool) {
	if c.detailed = on; on {
		c.perOp = make([]int64, len(p.ops))
	}
}

// add adds the counters of a part of the launch.
func (c *counters) add(o *counters) {
	c.laneInstrs += o.laneInstrs
	c.warpInstrs += o.warpInstrs
	c.barriers += o.barriers
	c.mma += o.mma
}

// count counts an instruction executed by group m.
func (c *counters) count(in *inst, m, run uint32) {
	c.warpInstrs++
	if m == fullMask {
		c.laneInstrs += 32
	} else {
		c.laneInstrs += int64(bits.OnesCount32(m))
	}
	if c.detailed && run != 0 {
		c.perOp[in.op]++
	}
}

func (c *counters) result(l *launch) Stats {
	s := Stats{LaneInstrs: c.laneInstrs, WarpInstrs: c.warpInstrs, CTAs: int64(l.ctas), Barriers: c.barriers, Mma: c.mma,
		GlobalRequests: c.globalReq, GlobalSectors: c.sectors, GlobalBytes: c.globalBytes,
		SharedRequests: c.sharedReq, SharedWavefronts: c.waves, SharedIdealWavefronts: c.ideal}
	if c.detailed {
		s.PerOpcode = map[string]int64{}
		for i, n := range c.perOp {
			if n > 0 {
				s.PerOpcode[l.entry.prog.ops[i]] += n
			}
		}
	}
	return s
}

// countAccess counts the sectors or bank conflicts of one access of a warp.
func (w *warp) countAccess(op *memOp, addr *vec, m uint32) {
	c := &w.launch.stats
	n := op.bytes()
	sp := op.space
	if a := addr[firstLane(m)]; sp == spGeneric {
		switch {
		case !inWindow(a):
			sp = spGlobal
		case a-sharedWindow < windowSize:
			sp = spShared
		}
	}
	switch sp {
	case spGlobal, spConst:
		c.globalReq++
		c.globalBytes += int64(n * bits.OnesCount32(m))
		c.sectors += int64(sectors(addr, m, n))
	case spShared:
		c.sharedReq++
		waves, ideal := wavefronts(addr, m, n)
		c.waves += int64(waves)
		c.ideal += int64(ideal)
	}
}

// sectors counts the distinct 32-byte sectors of an access.
func sectors(addr *vec, m uint32, n int) int {
	var seen [64]uint64
	k := 0
	for ; m != 0; m &= m - 1 {
		a := addr[firstLane(m)]
	sectors:
		for s := a >> 5; s <= (a+uint64(n)-1)>>5; s++ {
			for j := k - 1; j >= 0; j-- { // neighbours are near
				if seen[j] == s {
					continue sectors
				}
			}
			seen[k] = s
			k++
		}
	}
	return k
}

// wavefronts counts the passes of a shared access: lanes go in groups of 128 bytes (32, 16 or 8 lanes),
// and in a group every bank gives one distinct word a pass. Ideal: the distinct words over 32 banks.
func wavefronts(addr *vec, m uint32, n int) (waves, ideal int) {
	group := min(32, 128/max(n, 4))
	for first := 0; first < 32; first += group {
		var seen [64]uint64 // distinct words
		var passes [32]int8 // of each bank
		total, most := 0, 0
		for i := first; i < first+group; i++ {
			if m>>i&1 == 0 {
				continue
			}
		words:
			for a := addr[i] >> 2; a <= (addr[i]+uint64(n)-1)>>2; a++ {
				if passes[a&31] > 0 {
					for _, x := range seen[:total] {
						if x == a {
							continue words
						}
					}
				}
				seen[total] = a
				total++
				passes[a&31]++
				most = max(most, int(passes[a&31]))
			}
		}
		waves += most
		ideal += (total + 31) / 32
	}
	return waves, ideal
}

// String is the counters as a person reads them, one kind a line; opcodes by count, most first.
func (s Stats) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d instructions of threads, %d of warps, %d blocks, %d barrier arrivals, %d matrix instructions\n",
		s.LaneInstrs, s.WarpInstrs, s.CTAs, s.Barriers, s.Mma)
	if s.PerOpcode == nil {
		return b.String()
	}
	fmt.Fprintf(&b, "global memory: %d requests, %d sectors for %d bytes\n", s.GlobalRequests, s.GlobalSectors, s.GlobalBytes)
	fmt.Fprintf(&b, "shared memory: %d requests, %d wavefronts, %d without bank conflicts\n", s.SharedRequests, s.SharedWavefronts, s.SharedIdealWavefronts)
	ops := slices.Sorted(maps.Keys(s.PerOpcode))
	slices.SortStableFunc(ops, func(x, y string) int { return cmp.Compare(s.PerOpcode[y], s.PerOpcode[x]) })
	for _, op := range ops {
		fmt.Fprintf(&b, "%10d  %s\n", s.PerOpcode[op], op)
	}
	return b.String()
}
