package emu

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync/atomic"
)

// launch is one grid while it runs.
type launch struct {
	entry       *Entry
	opt         Options
	mem         *Memory
	grid, block [3]int
	cluster     [3]int
	ctas        int
	warpsPerCTA int
	ids         int // warps and agents of a CTA
	sharedSize  int
	consts      [][]vec // by rank in the cluster
	params      *region
	globals     map[*variable]*region
	syncs       map[syncKey]*knowledge
	mbars       map[syncKey]*mbarrier
	agents      []*barrierAgent
	tcgen       tcgenScratch
	steps       int64
	event       int64 // step at which something last happened that others can wait for
	heap        int64 // bytes that malloc gave
	stats       counters
	round       int
	notes       []Report
	noted       map[noteKey]int
	rng         *rand.Rand
	idle        []*cta // finished CTAs, to be used again
	resident    []*cta
	next        int           // cluster to be admitted
	from        *atomic.Int64 // of a part of a launch: the next cluster of all parts
}

// Limits of a launch (PTX ISA and the CUDA programming guide's table of compute capabilities).
const (
	maxThreads   = 1024
	maxShared    = 334848 // the largest of any target: sm_107
	maxLocal     = 512 << 10
	maxIDs       = 1<<(idBits-1) - 1 // of warps and agents; mbarriers have the other half
	firstCTAs    = 4                 // resident at first
	turn         = 1024              // warp instructions of a turn
	patience     = 64                // rounds without a finished CTA after which one more is admitted
	shortTurns   = 8                 // turns in which a warp that polls an mbarrier certainly comes to it
	vain         = 1024              // rounds in which all warps poll mbarriers and nothing happens
	ctxEvery     = 64                // rounds between looks at the context
	defaultSteps = 1 << 32
	silence      = 1 << 28 // warp instructions without a store, an arrival or an exit: everybody polls
)

func atLeast1(t [3]int) [3]int {
	for i := range t {
		if t[i] == 0 {
			t[i] = 1
		}
	}
	return t
}

func newLaunch(e *Entry, mem *Memory, args []Arg, o Options) (*launch, error) {
	l := &launch{entry: e, opt: o, mem: mem, grid: atLeast1(o.Grid), syncs: map[syncKey]*knowledge{},
		mbars: map[syncKey]*mbarrier{}, noted: map[noteKey]int{}}
	if err := l.shape(); err != nil {
		return nil, err
	}
	l.sharedSize = e.Shared
	if o.DynShared > 0 {
		l.sharedSize = e.prog.dynBase + o.DynShared
	}
	if l.sharedSize > maxShared {
		return nil, fmt.Errorf("%d bytes of shared memory, the largest machine has %d", l.sharedSize, maxShared)
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
		r.shadow = shadow{}
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
	if l.block = l.opt.Block; l.block == [3]int{} {
		l.block = e.ReqNTID
	} else if l.block = atLeast1(l.block); e.ReqNTID != [3]int{} && l.block != e.ReqNTID {
		return fmt.Errorf("block %v, but %s has .reqntid %v", l.block, e.Name, e.ReqNTID)
	}
	l.block = atLeast1(l.block)
	if l.cluster = l.opt.Cluster; l.cluster == [3]int{} {
		l.cluster = e.Cluster
	}
	l.cluster = atLeast1(l.cluster)
	if e.BlocksAreClusters {
		for i := range l.grid {
			l.grid[i] *= l.cluster[i]
		}
	}
	threads, ctas := 1, 1
	for i := range 3 {
		if l.grid[i] < 0 || l.grid[i] > 1<<31 || l.block[i] < 0 || l.block[i] > maxThreads || l.grid[i]%max(1, l.cluster[i]) != 0 {
			return fmt.Errorf("bad launch: grid %v, block %v, cluster %v", l.grid, l.block, l.cluster)
		}
		threads *= l.block[i]
		ctas *= l.grid[i]
	}
	l.warpsPerCTA = (threads + 31) / 32
	l.ctas, l.ids = ctas, l.warpsPerCTA*int(e.prog.agents)
	if threads > maxThreads || ctas > maxIDs/l.ids {
		return fmt.Errorf("bad launch: %d CTAs of %d threads", ctas, threads)
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

// arguments lays the parameter bank out.
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

// ctaID gives the coordinates of a CTA: clusters are neighbours in numbering too.
func (l *launch) ctaID(i int) [3]int {
	return [3]int{i % l.grid[0], i / l.grid[0] % l.grid[1], i / l.grid[0] / l.grid[1]}
}

// run interleaves the CTAs. A few are resident at a time; when none finishes for a while, because they
// wait for others, one more is admitted, in the end all of them.
func (l *launch) run(ctx context.Context) error {
	waited, quiet := 0, 0
	clusters := l.ctas / len(l.consts)
	for round := 0; ; round++ {
		for len(l.resident) < firstCTAs && l.admitNext(clusters) {
		}
		if len(l.resident) == 0 {
			return nil
		}
		if round%ctxEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		before, event := l.steps, l.event
		l.round = round
		for _, i := range l.order(len(l.resident)) {
			l.turn(l.resident[i])
		}
		if err := l.overLimits(); err != nil {
			return err
		}
		if l.retire() {
			waited = 0
			continue
		}
		if quiet++; event != l.event || !l.allSpin() {
			quiet = 0
		}
		progress := l.steps > before
		if waited++; !progress || waited > patience {
			if l.admitNext(clusters) {
				quiet, waited = 0, 0
			} else if !progress {
				return l.stuck(Deadlock, "no warp can run")
			}
		}
		if quiet > vain {
			return l.stuck(Deadlock, "all warps that run wait for mbarriers at which nobody arrives")
		}
	}
}

// overLimits reports a launch that has run for too long.
func (l *launch) overLimits() error {
	switch {
	case l.steps > l.opt.MaxSteps:
		return l.stuck(StepLimit, fmt.Sprintf("more than %d warp instructions", l.opt.MaxSteps))
	case l.stats.warpInstrs-l.event > silence:
		return l.stuck(Deadlock, fmt.Sprintf("for %d warp instructions no thread has stored, arrived or exited", silence))
	}
	return nil
}

// retire takes the CTAs that have finished, with the others of their cluster, and tells whether there were any.
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
	if l.from != nil {
		l.next = int(l.from.Add(1) - 1)
	}
	if l.opt.Schedule == Reverse {
		i = clusters - 1 - i
	}
	l.admit(i)
	return true
}

// allSpin tells whether every warp that can run found an mbarrier not complete of late: the turns of the random schedule
// may be too short for each of them to ask in every round.
func (l *launch) allSpin() bool {
	for _, c := range l.resident {
		for _, w := range c.warps {
			if w.ready != 0 && (w.spun == 0 || w.spun+patience < l.round) {
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
	l.resident = append(l.resident, all.ctas...)
}

// order gives the order of a round over n things.
func (l *launch) order(n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = i
		if l.opt.Schedule == Reverse {
			p[i] = n - 1 - i
		}
	}
	if l.opt.Schedule == Random {
		l.rng.Shuffle(n, func(i, j int) { p[i], p[j] = p[j], p[i] })
	}
	return p
}

// turn lets every warp of a CTA run for a while.
func (l *launch) turn(c *cta) {
	for _, i := range l.order(len(c.warps)) {
		w := c.warps[i]
		n := turn
		if l.opt.Schedule == Random {
			n = 1 + l.rng.IntN(200)
		}
		if w.ready != 0 {
			l.steps += int64(w.run(n))
		}
	}
}

// stuck makes the report of a launch that cannot end: the place of every warp, up to a limit.
func (l *launch) stuck(k Kind, msg string) *Report {
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

// places says where the live lanes of a warp stand.
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
		if w.wants > 0 {
			what += w.describeWant()
		}
		out = append(out, fmt.Sprintf("CTA (%d,%d,%d) warp %d lanes %#08x %s at line %d: %s",
			w.cta.id[0], w.cta.id[1], w.cta.id[2], w.idx, m, state, in.line, what))
	}
	return out
}

// cta is a block of threads with its shared memory and barriers.
type cta struct {
	launch   *launch
	block    [3]int // threads
	index    int
	id       [3]int
	firstID  uint32 // of its warps and agents
	warps    []*warp
	shared   *region
	cluster  *cluster
	tmem     *tmem // nil: nothing has been allocated yet
	barriers [16]barrier
	groups   []warpgroup
	matrix   *matrixWork
	pool     int          // registers that setmaxnreg may give
	wanting  []*warp      // that wait for some
	queue    []completion // completions that no mbarrier has heard of
	running  int          // warps that have live lanes
	threads  int          // live threads
}

// reused is a CTA of a launch of the entry that has ended, if there is one of the same size.
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

// leave gives the CTAs of a launch that has ended well to later ones; they hold nothing of it.
func (l *launch) leave() {
	for _, c := range l.idle {
		c.launch, c.cluster = nil, nil
		for _, w := range c.warps {
			w.launch, w.consts, w.last = nil, nil, nil
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
		c.groups = make([]warpgroup, (l.warpsPerCTA+3)/4)
	}
	c.index, c.id = index, l.ctaID(index)
	c.firstID = uint32(index * l.ids)
	c.queue = c.queue[:0]
	c.tmem = nil
	for i := range c.shared.undef {
		c.shared.undef[i] = 0xff
	}
	c.shared.shadow.reset()
	c.cluster, c.shared.owner, c.shared.base = all, c, uint64(rank)<<rankShift
	ours := func(k syncKey) bool { return k.r == c.shared }
	maps.DeleteFunc(l.syncs, func(k syncKey, _ *knowledge) bool { return ours(k) })
	maps.DeleteFunc(l.mbars, func(k syncKey, _ *mbarrier) bool { return ours(k) })
	for i := range c.barriers {
		c.barriers[i] = barrier{}
	}
	c.running, c.threads = len(c.warps), l.block[0]*l.block[1]*l.block[2]
	for _, w := range c.warps {
		w.consts = l.consts[rank]
		w.start()
	}
	for i := range c.groups {
		c.groups[i] = warpgroup{}
	}
	c.pool, c.wanting = 0, c.wanting[:0]
	return c
}

func newWarp(l *launch, c *cta, idx int) *warp {
	p := l.entry.prog
	w := &warp{launch: l, cta: c, prog: p, idx: idx,
		regs: make([]vec, p.regs), undef: make([]uint32, p.regs), ubits: make([]*vec, p.regs),
		preds: make([]uint32, p.preds), pundef: make([]uint32, p.preds), ret: make([][32]int32, p.frames)}
	if p.agents > 1 {
		w.work = make([]laneWork, p.agents)
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

// start puts all lanes at the first instruction, with everything undefined.
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
	w.spread(fullMask, p.start)
	w.live, w.ready, w.parked, w.group, w.kept = w.exist, w.exist, 0, 0, 0
	w.carry, w.last = 0, nil
	for i := range w.work {
		w.work[i].reset()
	}
	w.matrix = matrixState{regs: make([]matrixReg, len(p.pinned))}
	w.registers, w.wants = w.launch.firstRegs(), 0
	w.stalled, w.spun, w.clusterAt = nil, 0, [32]int{}
	w.tensor, w.inits = tensorState{}, [32]*knowledge{}
	w.observed = false
	w.clockState.start(w.launch.ids, p.levels)
}
