package emu

import "math"

// warp is 32 threads that share one instruction stream while they are converged. Every lane has a pc; the group that
// runs is the lanes at the lowest pc:
//
//	@p bra L    divergence: lanes 0-7 go to L, lanes 8-31 fall through
//	...         only 8-31 run: their pc is less than L
//	L: ...      the limit of that group: here all lanes reconverge
//
// A group that starves others for long (a spin loop) lets them run for a while.
type warp struct {
	launch *launch
	cta    *cta
	prog   *program
	id     uint32 // in the grid
	idx    int    // in the CTA

	regs   []vec
	consts []vec
	undef  []uint32 // lanes of each register that hold undefined bits
	ubits  []*vec   // which bits, nil: all
	preds  []uint32
	pundef []uint32
	tid    [3]vec
	carry  uint32 // CC.CF of every lane
	tmp    vec
	addrs  vec
	trash  vec

	pc         [32]int32 // of the lanes outside the running group
	ret        [][32]int32
	live       uint32 // lanes that have not exited
	ready      uint32 // live lanes that do not wait
	parked     uint32 // lanes that wait for others of the warp at a .sync instruction
	group      uint32 // lanes of the last group
	starvation int    // instructions for which ready lanes of other groups have not run
	lastAtomic vec    // value that the last atomic operation of each lane read
	curPC      int32  // of the instruction being executed
	yield      bool   // nanosleep, a failed try_wait: let others run

	local          *region     // of all lanes, one after the other
	lastGlobal     *region     // the global allocation accessed last
	agents         []agentWork // by agentKind
	tmemLoads      tmemLoads
	mbarInitClocks [32]*sparseClock // clock of each lane at its last fence.mbarrier_init
	clockState

	wgmmas        wgmmaState
	registers     int     // a thread
	wantedRegs    int     // registers a thread that a blocked setmaxnreg asks for
	exitAt        int32   // pc of the last exit
	stalled       *stall  // the mbarrier test that failed last
	stalledRound  int     // 1 + its scheduler round
	clusterAt     [32]int // 1 + the phase of the cluster barrier in which a lane has arrived and not waited yet, or clusterIdle
	watch         *watch
	executed      int64    // instructions
	seen          []uint64 // of foreign PTX, by pc: the lanes that have executed the instruction, and above them those that have reached it
	raced         []racedRead
	nextWatch     int64 // the count of them at which it is watched again
	sawCompletion bool  // a lane has observed a completion since the last syncWarp

	parkMask [32]uint32 // member mask of a parked lane
	atBar    uint32     // parked lanes that stand at a bar.warp.sync
	exist    uint32     // lanes that exist (the last warp of a CTA may be short)
}

const noLimit = math.MaxInt32

// burst is for how many instructions a group may starve other ready lanes of its warp. A strong access that may
// be polling, a load or an atomic operation that changes nothing, counts as pollCost of them.
const (
	burst    = 4096
	pollCost = burst / 8
)

// notePolling notes that the running group may be polling for something that lanes it starves will do.
func (w *warp) notePolling() {
	if w.ready&^w.group != 0 {
		w.starvation += pollCost
	}
}

// src gives the lanes of a source.
func (w *warp) src(o opnd) *vec {
	if o >= 0 {
		return &w.regs[o]
	}
	return &w.consts[^o]
}

// dst gives the lanes of a destination; for the sink "_", a register that nothing reads.
func (w *warp) dst(o opnd) *vec {
	if o >= 0 {
		return &w.regs[o]
	}
	return &w.trash
}

// put stores v to the lanes of m of register o and marks them defined.
func (w *warp) put(o opnd, m uint32, v *vec) {
	if o < 0 {
		return
	}
	blend(&w.regs[o], v, m)
	w.undef[o] &^= m
}

func blend(d, v *vec, m uint32) {
	if m == fullMask {
		*d = *v
		return
	}
	for i := range d {
		if m>>i&1 != 0 {
			d[i] = v[i]
		}
	}
}

// pred gives the lanes in which a predicate operand is true.
func (w *warp) pred(p pref) uint32 {
	v := uint32(0)
	if p.slot >= 0 {
		v = w.preds[p.slot]
	}
	if p.neg {
		v = ^v
	}
	return v
}

func (w *warp) predUndef(p pref) uint32 {
	if p.slot < 0 {
		return 0
	}
	return w.pundef[p.slot]
}

// setPred writes a predicate in the lanes of m.
func (w *warp) setPred(slot int32, m, v, undef uint32) {
	if slot < 0 {
		return
	}
	w.preds[slot] = w.preds[slot]&^m | v&m
	w.pundef[slot] = w.pundef[slot]&^m | undef&m
}

// run executes up to n instructions. It tells how many it did; less than n means that all lanes wait or
// have exited, or that the warp yields.
func (w *warp) run(n int) int {
	left := n
	w.yield = false
	for left > 0 && w.ready != 0 && !w.yield {
		before := left
		left = w.runGroup(left)
		if w.ready&^w.group != 0 {
			w.starvation += before - left
		} else {
			w.starvation = 0
		}
	}
	return n - left
}

// pickGroup chooses the next group: its lanes, its pc, and the next higher pc of other lanes, where it reconverges with them.
func (w *warp) pickGroup() (m uint32, pc, limit int32) {
	c := w.ready
	if w.starvation >= burst {
		w.starvation = 0
		if c&^w.group != 0 {
			c &^= w.group
		}
	}
	pc, limit = noLimit, noLimit
	for i := range 32 {
		if c>>i&1 != 0 && w.pc[i] < pc {
			pc = w.pc[i]
		}
	}
	for i := range 32 {
		if w.ready>>i&1 == 0 {
			continue
		}
		if p := w.pc[i]; p == pc {
			m |= 1 << i
		} else if p > pc && p < limit {
			limit = p
		}
	}
	w.group = m
	return m, pc, limit
}

// setPC sets the pc of the lanes of m.
func (w *warp) setPC(m uint32, pc int32) {
	if m == fullMask {
		for i := range w.pc {
			w.pc[i] = pc
		}
		return
	}
	for i := range w.pc {
		if m>>i&1 != 0 {
			w.pc[i] = pc
		}
	}
}

// runGroup executes one group until it reconverges with others, diverges, blocks or has used its share.
func (w *warp) runGroup(left int) int {
	m, pc, limit := w.pickGroup()
	stop := 0
	others := w.ready &^ m
	if others != 0 {
		stop = max(0, left-max(1, burst-w.starvation))
	}
	code := w.prog.code
	st := &w.launch.stats
	for left > stop {
		if pc >= limit {
			w.setPC(m, pc)
			w.starvation = 0
			return left
		}
		in := &code[pc]
		w.curPC = pc
		left--
		run := m
		if in.guard >= 0 {
			p := w.preds[in.guard]
			if in.guardNeg {
				p = ^p
			}
			if w.pundef[in.guard]&m != 0 {
				w.needGuard(in.guard, m)
			}
			run &= p
		}
		st.count(in, m, run)
		if w.seen != nil {
			w.see(pc, m, run)
		}
		if in.touchesPinned && run != 0 {
			w.touchPinned(in)
		}
		switch in.kind {
		case kVec:
			if run != 0 {
				w.vecOp(in, run)
			}
			pc++
		case kExec:
			if run != 0 {
				in.exec(w, in, run)
			}
			pc++
		case kBranch:
			if pc = w.branch(in, m, run, pc, others); pc < 0 {
				return left
			}
		case kSync:
			if pc = w.synchronize(in, m, run, pc, others); pc < 0 {
				return left
			}
		}
	}
	w.setPC(m, pc)
	return left
}

// branch takes the lanes run of the group m at pc to a target. It returns the pc of the group, or -1 when it diverges or others run
// first.
func (w *warp) branch(in *inst, m, run uint32, pc int32, others uint32) int32 {
	if in.flow == nil { // bra
		if run == m {
			if w.starvation >= burst && others != 0 {
				w.setPC(m, in.target)
				return -1
			}
			return in.target
		}
		if run == 0 {
			return pc + 1
		}
	}
	w.setPC(m, pc+1)
	if in.flow == nil {
		w.setPC(run, in.target)
	} else if run != 0 {
		in.flow(w, in, run)
	}
	return -1
}

// synchronize is branch for an instruction at which lanes may have to wait.
func (w *warp) synchronize(in *inst, m, run uint32, pc int32, others uint32) int32 {
	if run != 0 {
		w.setPC(m, pc+1)
		w.setPC(run, pc)
		if !in.sync(w, in, run) {
			return -1
		}
		if run != m || w.ready != others|m {
			w.setPC(run, pc+1)
			return -1
		}
	}
	if w.yield {
		w.setPC(m, pc+1)
		return -1
	}
	return pc + 1
}

// othersBehind tells whether ready lanes have a lower pc: they may still reconverge here, so an instruction
// that needs the whole warp waits for them instead of reporting divergence.
func (w *warp) othersBehind() bool {
	for i, p := range w.pc {
		if w.ready>>i&1 != 0 && p < w.curPC {
			return true
		}
	}
	return false
}

// warpWide makes an instruction of f that the whole warp must execute converged (.aligned).
func (d *decoder) warpWide(f func(w *warp, in *inst, m uint32)) {
	d.in.kind = kSync
	d.in.sync = func(w *warp, in *inst, m uint32) bool {
		if m != fullMask {
			if w.othersBehind() {
				return false
			}
			w.fail(Divergence, ^m, 0, "%s is executed by lanes %#08x only", splitDots(d.base)[0], m)
		}
		f(w, in, m)
		return true
	}
}

var zeros vec

// vecOp executes one vector function with the undefined bits of its sources.
func (w *warp) vecOp(in *inst, m uint32) {
	d := in.dst[0]
	if d < 0 {
		return
	}
	a, b, c := &zeros, &zeros, &zeros
	var un uint32
	switch len(in.src) {
	case 3:
		c = w.src(in.src[2])
		un = w.undefLanes(in.src[2])
		fallthrough
	case 2:
		b = w.src(in.src[1])
		un |= w.undefLanes(in.src[1])
		fallthrough
	case 1:
		a = w.src(in.src[0])
		un |= w.undefLanes(in.src[0])
	}
	if un&m != 0 {
		in.rule(w, in, m)
	} else {
		w.undef[d] &^= m
	}
	if m == fullMask {
		in.vec(&w.regs[d], a, b, c)
		return
	}
	in.vec(&w.tmp, a, b, c)
	blend(&w.regs[d], &w.tmp, m)
}
