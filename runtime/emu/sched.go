package emu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
)

// launch is one grid while it runs.
type launch struct {
	entry        *Entry
	opt          Options
	mem          *Memory
	grid, block  [3]int
	cluster      [3]int
	ctas         int
	warpsPerCTA  int
	idsPerCTA    int // warps and agents of a CTA
	sharedSize   int
	consts       [][]vec // by rank in the cluster
	params       *region
	globals      map[*variable]*region
	joins        joinCosts
	uses         map[int32]*useSet // of loads that have raced, by place
	agents       []*mbarAgent
	tcgen        tcgenScratch
	steps        int64
	lastProgress int64 // warp instructions at the last store, arrival or exit, for which others may wait
	heap         int64 // bytes that malloc gave
	stats        counters
	round        int
	notes        []Report
	noted        map[noteKey]int
	rng          *rand.Rand
	idle         []*cta // finished CTAs, for reuse
	resident     []*cta
	next         int           // next cluster to admit
	supply       *atomic.Int64 // of a part of a launch: the next cluster, a counter that all parts share
}

// Limits of a launch (PTX ISA and the CUDA programming guide's table of compute capabilities).
const (
	maxThreads    = 1024
	maxGridYZ     = 65535
	maxLocal      = 512 << 10
	maxIDs        = 1<<(idBits-1) - 1 // of warps and agents; mbarriers have the other half
	initialCTAs   = 4                 // resident at first
	timeSlice     = 1024              // warp instructions that a warp runs in a round
	admitAfter    = 64                // rounds without a finished CTA after which one more is admitted
	idleRounds    = 1024              // rounds without progress in which all ready warps poll mbarriers: a deadlock
	ctxEvery      = 64                // rounds between checks of the context
	defaultSteps  = 1 << 32
	livelockLimit = 1 << 28 // warp instructions without a store, an arrival or an exit: all warps poll
)

// sharedLimits are the kilobytes of shared memory that a CTA can have, by .target without its suffix.
var sharedLimits = map[string]int{"sm_75": 64, "sm_80": 163, "sm_86": 99, "sm_87": 163, "sm_88": 99, "sm_89": 99, "sm_90": 227, "sm_100": 227,
	"sm_103": 227, "sm_107": 327, "sm_110": 227, "sm_120": 99, "sm_121": 99}

func atLeast1(t [3]int) [3]int {
	for i := range t {
		if t[i] == 0 {
			t[i] = 1
		}
	}
	return t
}

func newLaunch(e *Entry, mem *Memory, args []Arg, o Options) (*launch, error) {
	l := &launch{entry: e, opt: o, mem: mem, grid: atLeast1(o.Grid), noted: map[noteKey]int{}}
	if err := l.shape(); err != nil {
		return nil, err
	}
	l.sharedSize = e.Shared
	if o.DynShared < 0 || o.DynShared > maxVar {
		return nil, fmt.Errorf("bad launch: %d bytes of dynamic shared memory", o.DynShared)
	}
	if o.DynShared > 0 {
		l.sharedSize = e.prog.dynBase + o.DynShared
	}
	limit, ok := sharedLimits[strings.TrimRight(e.mod.target, "af")]
	if !ok {
		return nil, fmt.Errorf("the emulator does not know the shared memory of %s", e.mod.target)
	}
	if l.sharedSize > limit<<10 {
		return nil, fmt.Errorf("%d bytes of shared memory, a CTA on %s has at most %d", l.sharedSize, e.mod.target, limit<<10)
	}
	if e.Local > maxLocal {
		return nil, fmt.Errorf("%d bytes of local memory a thread, the machine has %d", e.Local, maxLocal)
	}
	if l.opt.MaxSteps == 0 {
		l.opt.MaxSteps = defaultSteps
	}
	if err := l.arguments(args); err != nil {
		return nil, err
	}
	for _, r := range mem.regions {
		r.shadow, r.released = r.newShadow(), nil
	}
	var err error
	if l.globals, err = mem.load(e.mod); err != nil {
		return nil, err
	}
	if err := l.constants(); err != nil {
		return nil, err
	}
	l.stats.init(e.prog, o.Stats)
	l.rng = rand.New(rand.NewPCG(o.Seed, 0x9e3779b97f4a7c15))
	return l, nil
}

// shape settles the extents of the launch: grid, block, cluster.
func (l *launch) shape() error {
	e := l.entry
	switch l.block = atLeast1(l.opt.Block); {
	case e.ReqNTID == [3]int{} && l.opt.Block == [3]int{}:
		return fmt.Errorf("%s has no .reqntid, so a launch must say how many threads a block has", e.Name)
	case l.opt.Block == [3]int{}:
		l.block = atLeast1(e.ReqNTID)
	case e.ReqNTID != [3]int{} && l.block != e.ReqNTID:
		return fmt.Errorf("block %v, but %s has .reqntid %v", l.block, e.Name, e.ReqNTID)
	}
	if l.cluster = l.opt.Cluster; l.cluster == [3]int{} {
		l.cluster = e.Cluster
	}
	l.cluster = atLeast1(l.cluster)
	threads, ctas, most := 1, 1, 1
	for i := range 3 {
		n := 1
		if e.BlocksAreClusters {
			n = l.cluster[i]
		}
		if l.grid[i] < 0 || l.grid[i] > maxIDs/n || l.block[i] < 0 || l.block[i] > maxThreads || l.grid[i]*n%l.cluster[i] != 0 {
			return fmt.Errorf("bad launch: grid %v, block %v, cluster %v", l.grid, l.block, l.cluster)
		}
		if l.grid[i] *= n; i > 0 && l.grid[i] > maxGridYZ {
			return fmt.Errorf("bad launch: grid %v, y and z have at most %d CTAs", l.grid, maxGridYZ)
		}
		threads *= l.block[i]
		most = min(most*e.MaxNTID[i], maxThreads)
		if ctas *= l.grid[i]; ctas > maxIDs {
			return fmt.Errorf("bad launch: grid %v, more than %d CTAs", l.grid, maxIDs)
		}
	}
	l.warpsPerCTA = (threads + 31) / 32
	l.ctas, l.idsPerCTA = ctas, l.warpsPerCTA*int(e.prog.agents)
	if threads > maxThreads {
		return fmt.Errorf("bad launch: %d threads a block, a block has at most %d", threads, maxThreads)
	}
	if most := maxIDs / l.idsPerCTA; ctas > most {
		return fmt.Errorf("bad launch: %d CTAs of %d threads, the emulator runs at most %d of that size", ctas, threads, most)
	}
	if e.MaxNTID != [3]int{} && threads > most {
		return fmt.Errorf("%d threads a block, but %s has .maxntid %v: at most %d", threads, e.Name, e.MaxNTID, most)
	}
	return nil
}

// constants puts addresses into the constants of the program, for every rank in a cluster.
func (l *launch) constants() error {
	p := l.entry.prog
	for rank := range l.cluster[0] * l.cluster[1] * l.cluster[2] {
		consts := p.consts
		if len(p.relocs) > 0 {
			consts = append([]vec(nil), consts...)
		}
		for _, r := range p.relocs {
			g := l.globals[r.v]
			if g == nil && r.v.space != spShared {
				return fmt.Errorf("'%s' has no definition", r.v.name)
			}
			for i := range consts[r.index] {
				if g != nil {
					consts[r.index][i] = g.base + uint64(r.add)
				} else {
					consts[r.index][i] += uint64(rank) << rankShift
				}
			}
		}
		l.consts = append(l.consts, consts)
	}
	return nil
}

// arguments lays out the parameter bank.
func (l *launch) arguments(args []Arg) error {
	ps := l.entry.Params
	if len(args) != len(ps) {
		return fmt.Errorf("%s has %d parameters, %d given", l.entry.Name, len(ps), len(args))
	}
	size := 0
	if n := len(ps); n > 0 {
		size = ps[n-1].offset + ps[n-1].Size
	}
	bank := make([]byte, size)
	for i, p := range ps {
		if len(args[i]) != p.Size {
			return fmt.Errorf("parameter %d (%s) has %d bytes, %d given", i, p.Name, p.Size, len(args[i]))
		}
		copy(bank[p.offset:], args[i])
	}
	l.params = &region{name: "parameters", space: spParam, data: bank, readonly: true}
	return nil
}

// ctaID gives the coordinates of a CTA.
func (l *launch) ctaID(i int) [3]int {
	return [3]int{i % l.grid[0], i / l.grid[0] % l.grid[1], i / l.grid[0] / l.grid[1]}
}

// run interleaves the CTAs. A few are resident at a time. When none finishes for a while, they may be waiting for others, so one
// more is admitted, in the end all of them.
func (l *launch) run(ctx context.Context) error {
	waited, quiet := 0, 0
	clusters := l.ctas / len(l.consts)
	for round := 0; ; round++ {
		for len(l.resident) < initialCTAs && l.admitNext(clusters) {
		}
		if len(l.resident) == 0 {
			return nil
		}
		if round%ctxEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		before, event := l.steps, l.lastProgress
		l.round = round
		for _, i := range l.order(len(l.resident), false) { // admitted in the order of the schedule
			l.runSlice(l.resident[i])
		}
		if err := l.overLimits(); err != nil {
			return err
		}
		if l.retire() {
			waited = 0
			continue
		}
		if quiet++; event != l.lastProgress || !l.allStalled() {
			quiet = 0
		}
		progress := l.steps > before
		if waited++; !progress || waited > admitAfter {
			if l.admitNext(clusters) {
				quiet, waited = 0, 0
			} else if !progress {
				return l.hangReport(Deadlock, "no warp can run")
			}
		}
		if quiet > idleRounds {
			return l.hangReport(Deadlock, "all warps that run wait for mbarriers at which nobody arrives")
		}
	}
}

// overLimits reports a launch that has run for too long.
func (l *launch) overLimits() error {
	switch {
	case l.steps > l.opt.MaxSteps:
		return l.hangReport(StepLimit, fmt.Sprintf("more than %d warp instructions", l.opt.MaxSteps))
	case l.stats.warpInstrs-l.lastProgress > livelockLimit:
		return l.hangReport(Deadlock, fmt.Sprintf("for %d warp instructions no thread has stored, arrived or exited", livelockLimit))
	}
	return nil
}

// retire removes the clusters of which all CTAs have exited, and tells whether there were any.
func (l *launch) retire() bool {
	stay := l.resident[:0]
	for _, c := range l.resident {
		if c.running > 0 || c.cluster.live() {
			stay = append(stay, c)
		} else {
			l.idle = append(l.idle, c)
		}
	}
	done := len(l.resident) - len(stay)
	if done > 0 && l.opt.Done != nil {
		l.opt.Done.Add(int64(done))
	}
	l.resident = stay
	return done > 0
}

// admitNext makes the next cluster resident, if there is one.
func (l *launch) admitNext(clusters int) bool {
	i := l.next
	if i >= clusters {
		return false
	}
	l.next++
	if l.supply != nil {
		l.next = int(l.supply.Add(1) - 1)
	}
	if l.opt.Schedule == Reverse {
		i = clusters - 1 - i
	}
	l.admit(i)
	return true
}

// allStalled tells whether every ready warp has lately found the phase of an mbarrier incomplete. The slices of the random
// schedule may be too short for each of them to test it in every round.
func (l *launch) allStalled() bool {
	for _, c := range l.resident {
		for _, w := range c.warps {
			if w.ready != 0 && (w.stalledRound == 0 || w.stalledRound+admitAfter < l.round) {
				return false
			}
		}
	}
	return true
}

// admit makes the CTAs of a cluster resident. Clusters are numbered like CTAs, x first.
func (l *launch) admit(i int) {
	n := l.cluster
	wide, high := l.grid[0]/n[0], l.grid[1]/n[1]
	first := [3]int{i % wide * n[0], i / wide % high * n[1], i / wide / high * n[2]}
	all := &cluster{}
	for rank := range len(l.consts) {
		id := [3]int{first[0] + rank%n[0], first[1] + rank/n[0]%n[1], first[2] + rank/n[0]/n[1]}
		all.ctas = append(all.ctas, l.newCTA(id[0]+l.grid[0]*(id[1]+l.grid[1]*id[2]), rank, all))
	}
	for _, i := range l.order(len(all.ctas), l.opt.Schedule == Reverse) {
		l.resident = append(l.resident, all.ctas[i])
	}
}

// order gives the order of a scheduling round over n things, first or last first unless it is random.
func (l *launch) order(n int, lastFirst bool) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = i
		if lastFirst {
			p[i] = n - 1 - i
		}
	}
	if l.opt.Schedule == Random {
		l.rng.Shuffle(n, func(i, j int) { p[i], p[j] = p[j], p[i] })
	}
	return p
}

// runSlice lets every warp of a CTA run for a time slice.
func (l *launch) runSlice(c *cta) {
	for _, i := range l.order(len(c.warps), l.opt.Schedule == Reverse) {
		w := c.warps[i]
		n := timeSlice
		if l.opt.Schedule == Random {
			n = 1 + l.rng.IntN(200)
		}
		if w.ready != 0 {
			l.steps += int64(w.runWatched(n))
		}
	}
}

// hangReport makes the report of a launch that cannot end, with the pc of every warp, up to a limit.
func (l *launch) hangReport(k Kind, msg string) *Report {
	r := &Report{Kind: k, Msg: msg, Entry: l.entry.Name, Count: 1}
	const most = 64
	for _, c := range l.resident {
		for _, w := range c.warps {
			if w.live == 0 {
				continue
			}
			if len(r.Places) == most {
				r.Places = append(r.Places, "...")
				return r
			}
			r.Places = append(r.Places, w.places()...)
		}
	}
	return r
}

// places says where the live lanes of a warp are, one line for each pc.
func (w *warp) places() (out []string) {
	left := w.live
	for left != 0 {
		i := firstLane(left)
		var m uint32
		lanes(left, func(k int) {
			if w.pc[k] == w.pc[i] {
				m |= 1 << k
			}
		})
		left &^= m
		state := "waits"
		if w.ready&m != 0 {
			state = "runs"
		}
		in := &w.prog.code[w.pc[i]]
		what := oneLine(in.text)
		if w.stalled != nil && state == "runs" {
			what += w.describeStall()
		}
		if w.wantedRegs > 0 {
			what += w.describeWant()
		}
		out = append(out, fmt.Sprintf("CTA (%d,%d,%d) warp %d lanes %#08x %s at line %d: %s",
			w.cta.id[0], w.cta.id[1], w.cta.id[2], w.idx, m, state, in.line, what))
	}
	return out
}

// cta is a block of threads with its shared memory and barriers.
type cta struct {
	launch             *launch
	block              [3]int // threads
	index              int
	id                 [3]int
	firstID            uint32 // of its warps and agents
	warps              []*warp
	shared             *region
	cluster            *cluster
	tmem               *tmem // nil before the first tcgen05.alloc
	barriers           [16]barrier
	warpgroups         []warpgroup
	wgmmaScratch       *wgmmaScratch
	freeRegs           int          // registers that setmaxnreg.dec has released
	waitingForRegs     []*warp      // blocked at setmaxnreg.inc
	pendingCompletions []completion // of asynchronous operations, not delivered to their mbarriers yet
	running            int          // warps that have live lanes
	threads            int          // live threads
}

// reused is a CTA of an earlier launch of the entry, if there is one of the same size.
func (l *launch) reused() *cta {
	c, _ := l.entry.spare.Get().(*cta)
	if c == nil || c.block != l.block || len(c.shared.data) != l.sharedSize {
		return nil
	}
	c.launch = l
	clear(c.shared.data) // undefined bits are the same in every run
	for _, w := range c.warps {
		w.launch = l
		clear(w.regs)
		clear(w.preds)
		if w.local != nil {
			clear(w.local.data)
		}
	}
	return c
}

// recycleCTAs gives the CTAs of a launch that has ended normally to later launches; they keep no reference to it.
func (l *launch) recycleCTAs() {
	for _, c := range l.idle {
		c.launch, c.cluster = nil, nil
		for _, w := range c.warps {
			w.launch, w.consts, w.lastGlobal = nil, nil, nil
		}
		l.entry.spare.Put(c)
	}
	l.idle = nil
}

// newCTA makes a CTA ready to run, from a finished one if there is one.
func (l *launch) newCTA(index, rank int, all *cluster) *cta {
	var c *cta
	if n := len(l.idle); n > 0 {
		c, l.idle = l.idle[n-1], l.idle[:n-1]
	} else if c = l.reused(); c == nil {
		c = &cta{launch: l, block: l.block, shared: &region{name: "shared memory", space: spShared,
			data: make([]byte, l.sharedSize), undef: make([]byte, l.sharedSize)}}
		for i := range l.warpsPerCTA {
			c.warps = append(c.warps, newWarp(l, c, i))
		}
		c.warpgroups = make([]warpgroup, (l.warpsPerCTA+3)/4)
	}
	c.index, c.id = index, l.ctaID(index)
	c.firstID = uint32(index * l.idsPerCTA)
	c.pendingCompletions = c.pendingCompletions[:0]
	c.tmem = nil
	for i := range c.shared.undef {
		c.shared.undef[i] = 0xff
	}
	c.shared.shadow.reset()
	c.cluster, c.shared.owner, c.shared.base = all, c, uint64(rank)<<rankShift
	clear(c.shared.released)
	clear(c.shared.barriers)
	for i := range c.barriers {
		c.barriers[i] = barrier{}
	}
	c.running, c.threads = len(c.warps), l.block[0]*l.block[1]*l.block[2]
	for _, w := range c.warps {
		w.consts = l.consts[rank]
		w.start()
	}
	for i := range c.warpgroups {
		c.warpgroups[i] = warpgroup{}
	}
	c.freeRegs, c.waitingForRegs = 0, c.waitingForRegs[:0]
	return c
}

func newWarp(l *launch, c *cta, idx int) *warp {
	p := l.entry.prog
	w := &warp{launch: l, cta: c, prog: p, idx: idx,
		regs: make([]vec, p.regs), undef: make([]uint32, p.regs), ubits: make([]*vec, p.regs),
		preds: make([]uint32, p.preds), pundef: make([]uint32, p.preds), ret: make([][32]int32, p.frames)}
	if p.agents > 1 {
		w.agents = make([]agentWork, p.agents)
	}
	threads := l.block[0] * l.block[1] * l.block[2]
	for i := range 32 {
		t := idx*32 + i
		if t < threads {
			w.exist |= 1 << i
		}
		w.tid[0][i] = uint64(t % l.block[0])
		w.tid[1][i] = uint64(t / l.block[0] % l.block[1])
		w.tid[2][i] = uint64(t / l.block[0] / l.block[1])
	}
	if p.local > 0 {
		n := 32 * p.local
		w.local = &region{name: "local memory", space: spLocal, data: make([]byte, n), undef: make([]byte, n)}
	}
	return w
}

// start puts all lanes at the first instruction, with all registers and local memory undefined.
func (w *warp) start() {
	w.id = w.cta.firstID + uint32(w.idx)
	for i := range w.undef {
		w.undef[i] = fullMask
	}
	clear(w.ubits)
	for i := range w.pundef {
		w.pundef[i] = fullMask
	}
	if w.local != nil {
		for i := range w.local.undef {
			w.local.undef[i] = 0xff
		}
	}
	p := w.prog
	w.setPC(fullMask, p.start)
	w.live, w.ready, w.parked, w.group, w.starvation = w.exist, w.exist, 0, 0, 0
	w.carry, w.lastGlobal = 0, nil
	for i := range w.agents {
		w.agents[i].reset()
	}
	w.wgmmas = wgmmaState{regs: make([]wgmmaReg, len(p.pinnedNames))}
	w.registers, w.wantedRegs = w.launch.initialRegs(), 0
	w.stalled, w.stalledRound, w.clusterAt = nil, 0, [32]int{}
	w.watch, w.executed, w.nextWatch = nil, 0, watchAfter
	w.tmemLoads, w.mbarInitClocks = tmemLoads{}, [32]*sparseClock{}
	w.sawCompletion = false
	w.raced, w.seen = nil, nil
	if o := &w.launch.opt; o.Foreign && !o.Checks.NoRaces && w.launch.warpsPerCTA > 1 {
		w.seen = make([]uint64, len(p.code))
	}
	w.clockState.start(w.launch.idsPerCTA, p.visibilities)
}
