package emu

import (
	"fmt"
	"slices"
)

// mbarrier is the state of an mbarrier object (section 9.7.13.15): a phase completes when the pending count and
// tx-count are zero. The object occupies 8 bytes of shared memory; its state is kept here.
type mbarrier struct {
	expected, pending    int
	tx                   int
	phase                uint64
	openClock, doneClock mbarClock // of the arrivals in the open phase, and in all complete ones
	agent                *mbarAgent
	initialised          int   // the count of mbarrier.init
	initPC               int32 // its place
	lastArrivalPC        int32 // place of the last arrival, -1: none
	lastArrival          accessStamp
	unseen               []completion // which were performed at once, and whose phase nobody has seen end
}

// see notes that a thread has seen the last phase end.
func (b *mbarrier) see() {
	b.unseen = slices.DeleteFunc(b.unseen, func(a completion) bool { return a.phase < b.phase })
}

// tryCompletePhase completes the open phase when no arrivals and no bytes are pending: waiters acquire the clocks of all that
// arrived in it.
func (b *mbarrier) tryCompletePhase() {
	if b.pending == 0 && b.tx == 0 {
		b.phase++
		b.pending = b.expected
		b.doneClock.join(b.openClock)
		b.openClock = mbarClock{}
	}
}

// mbarClock is what waits acquire. Threads wait at mbarriers of their own CTA, so the scope of a wait matters for what threads of
// other CTAs release alone: a wait of .cluster acquires all, one of .cta not theirs. That an asynchronous operation is complete,
// every wait learns.
type mbarClock struct{ cta, cluster *sparseClock }

func (c *mbarClock) join(k mbarClock) {
	one := c.cta == c.cluster && k.cta == k.cluster
	c.cta = joinClocks(c.cta, k.cta)
	if one {
		c.cluster = c.cta
	} else {
		c.cluster = joinClocks(c.cluster, k.cluster)
	}
}

// acquiredBy is what a wait of a scope acquires.
func (c *mbarClock) acquiredBy(s strength) *sparseClock {
	if s == ctaScope {
		return c.cta
	}
	return c.cluster
}

// releasedTo is what a release of a scope by a thread of a CTA gives to waits at the mbarriers of another, or of its own.
func releasedTo(owner *cta, k *sparseClock, s strength, by *cta) mbarClock {
	switch {
	case owner == by:
		return mbarClock{k, k}
	case s >= clusterScope:
		return mbarClock{cluster: k}
	}
	return mbarClock{}
}

// state describes the open phase for reports.
func (b *mbarrier) state() string {
	return fmt.Sprintf("phase %d (parity %d) is open, %d of %d arrivals and %d bytes are missing", b.phase, b.phase&1, b.pending, b.expected, b.tx)
}

// statePhaseShift is where the phase begins in the state that arrive returns; below it is the pending count before the arrival.
const statePhaseShift = 20

// mbarCount is the largest count of arrivals, and the range of the transaction count.
const mbarCount = 1<<20 - 1

// mbarForm is what the forms of an mbarrier instruction have in common while it is decoded.
type mbarForm struct {
	op       *memOp
	args     []arg
	arrive   arriveOp
	relaxed  bool
	scope    strength // .cta if none is said
	parity   bool
	complete bool // complete_tx rather than expect_tx
}

// mbarForms are the forms by their verb: how many operands there are, and what the instruction does.
var mbarForms = map[string]struct {
	least, most int
	decode      func(d *decoder, f *mbarForm)
}{
	"init":          {2, 2, (*decoder).mbarInit},
	"inval":         {1, 1, (*decoder).mbarInval},
	"arrive":        {1, 3, (*decoder).mbarArrive},
	"arrive_drop":   {1, 3, (*decoder).mbarArrive},
	"expect_tx":     {2, 2, (*decoder).mbarTx},
	"complete_tx":   {2, 2, (*decoder).mbarTx},
	"test_wait":     {3, 4, (*decoder).mbarWait},
	"try_wait":      {3, 4, (*decoder).mbarWait},
	"pending_count": {2, 2, (*decoder).mbarPending},
}

// decodeMbarrier: init inval arrive arrive_drop expect_tx complete_tx test_wait try_wait pending_count.
func decodeMbarrier(d *decoder) {
	verb := d.oneOf("init", "inval", "arrive", "arrive_drop", "expect_tx", "complete_tx", "test_wait", "try_wait", "pending_count")
	f := &mbarForm{arrive: arriveOp{count: -1, drop: verb == "arrive_drop"}, complete: verb == "complete_tx"}
	f.arrive.expect, f.arrive.noComplete = d.flag("expect_tx"), d.flag("noComplete")
	f.parity = d.flag("parity")
	f.relaxed = d.oneOf("relaxed", "acquire", "release") == "relaxed"
	f.scope = max(ctaScope, scopeNames[d.oneOf("cta", "cluster")])
	f.op = &memOp{space: d.decodeSpace(), elem: 8, n: 1}
	d.flag("b64")
	f.args = d.st.args
	form, ok := mbarForms[verb]
	switch {
	case !ok:
		d.lacks("unknown operation")
		return
	case len(f.args) < form.least || len(f.args) > form.most:
		d.malformed("wrong number of operands")
		return
	case f.op.space == spCluster && verb != "arrive" && verb != "arrive_drop" && verb != "expect_tx" && verb != "complete_tx":
		d.lacks("%s on an mbarrier of another CTA", verb)
	}
	d.in.kind = kExec
	form.decode(d, f)
}

func (d *decoder) mbarInit(f *mbarForm) {
	d.srcArg(&f.args[1], types["u32"])
	d.address(&f.args[0], f.op)
	d.in.exec = func(w *warp, in *inst, m uint32) { w.mbarInit(in, f.op, m) }
}

func (d *decoder) mbarInval(f *mbarForm) {
	d.address(&f.args[0], f.op)
	d.in.exec = func(w *warp, in *inst, m uint32) { w.mbarInval(in, f.op, m) }
}

// mbarArrive: [state,] address [, count].
func (d *decoder) mbarArrive(f *mbarForm) {
	args := f.args
	if args[0].kind != argAddr {
		if f.op.space == spCluster && args[0].name != "_" {
			d.malformed("an arrival at another CTA's mbarrier gives no state")
		}
		d.dstArg(&args[0])
		args = args[1:]
	}
	if len(args) < 1 || len(args) > 2 || len(args) == 1 && f.arrive.expect {
		d.malformed("wrong number of operands")
		return
	}
	if len(args) == 2 {
		f.arrive.count = len(d.in.src)
		d.srcArg(&args[1], types["u32"])
	}
	d.address(&args[0], f.op)
	d.in.exec = func(w *warp, in *inst, m uint32) { w.mbarArrive(in, f, m) }
}

func (d *decoder) mbarTx(f *mbarForm) {
	d.srcArg(&f.args[1], types["u32"])
	d.address(&f.args[0], f.op)
	d.in.exec = func(w *warp, in *inst, m uint32) { w.mbarTx(in, f.op, f.complete, m) }
}

// mbarWait: done, address, state or parity [, time limit].
func (d *decoder) mbarWait(f *mbarForm) {
	d.predDst(&f.args[0])
	if f.parity {
		d.srcArg(&f.args[2], types["u32"])
	} else {
		d.srcArg(&f.args[2], types["b64"])
	}
	d.address(&f.args[1], f.op)
	d.in.kind = kSync
	d.in.sync = func(w *warp, in *inst, m uint32) bool {
		w.mbarWait(in, f, m)
		return true
	}
}

func (d *decoder) mbarPending(*mbarForm) {
	d.dst()
	d.src(1, types["b64"])
	d.in.vec = lift1(func(a uint64) uint64 { return a & mbarCount })
	d.in.kind = kVec
}

// mbarAt gives the mbarrier at an address of a lane.
func (w *warp) mbarAt(op *memOp, addr uint64, i int) (syncAddr, *mbarrier) {
	r, at := w.locate(op.space, addr, 8, i, use{"mbarrier operation", Atomic})
	w.recordRead(r, at, 8, i, gpuScope)
	key := syncAddr{r, at}
	b := key.r.barriers[key.off]
	if b == nil {
		w.fail(Invalid, 1<<i, addr, "no mbarrier has been initialised at %#x", addr)
	}
	return key, b
}

// eachMbar visits the mbarriers of the lanes of m.
func (w *warp) eachMbar(in *inst, op *memOp, m uint32, f func(i int, key syncAddr, b *mbarrier)) {
	addr := *w.addresses(in, op, m)
	lanes(m, func(i int) {
		key, b := w.mbarAt(op, addr[i], i)
		f(i, key, b)
	})
}

// eachMbarTogether calls f once if the whole warp is converged and names one mbarrier; else it gives false.
func (w *warp) eachMbarTogether(in *inst, op *memOp, m uint32, f func(key syncAddr, b *mbarrier)) bool {
	addr := w.addresses(in, op, m)
	first := addr[firstLane(m)]
	for mm := m; mm != 0; mm &= mm - 1 {
		if addr[firstLane(mm)] != first {
			return false
		}
	}
	if m != w.live {
		return false
	}
	f(w.mbarAt(op, first, firstLane(m)))
	return true
}

func (w *warp) mbarInit(in *inst, op *memOp, m uint32) {
	addr := *w.addresses(in, op, m)
	w.needDefined(in.src[0], m, "the count")
	lanes(m, func(i int) {
		r, at := w.locate(op.space, addr[i], 8, i, use{"mbarrier.init", Write})
		if r.space != spShared {
			w.fail(Invalid, 1<<i, addr[i], "an mbarrier must lie in shared memory")
		}
		n := int(uint32(w.src(in.src[0])[i]))
		if n < 1 || n > mbarCount {
			w.fail(Invalid, 1<<i, addr[i], "mbarrier count %d", n)
		}
		if b := r.barriers[at]; b != nil {
			w.faultOrNote(Invalid, i, addr[i], "the mbarrier at %#x, initialised at line %d, is initialised again without mbarrier.inval", addr[i], w.prog.code[b.initPC].line)
		}
		w.recordWrite(r, at, 8, i, weak, false)
		r.write(at, 8, 0, 0)
		if r.barriers == nil {
			r.barriers = map[int]*mbarrier{}
		}
		r.barriers[at] = &mbarrier{expected: n, pending: n, initialised: n, agent: w.newAgent(), initPC: w.curPC, lastArrivalPC: -1}
		w.launch.lastProgress = w.launch.stats.warpInstrs
	})
}

// checkNotOverMbar reports a plain store over a live mbarrier.
func (w *warp) checkNotOverMbar(r *region, at, n, lane int) {
	for k := at &^ 7; k < at+n; k += 8 {
		if b := r.barriers[k]; b != nil {
			w.fail(Invalid, 1<<lane, r.genericAddr(at), "a plain store over the mbarrier at %#x, initialised at line %d", k, w.prog.code[b.initPC].line)
		}
	}
}

// mbarInval ends objects. Compilers write it for slots that were never used too, which is an faultOrNote only.
func (w *warp) mbarInval(in *inst, op *memOp, m uint32) {
	addr := *w.addresses(in, op, m)
	lanes(m, func(i int) {
		r, at := w.locate(op.space, addr[i], 8, i, use{"mbarrier.inval", Write})
		key := syncAddr{r, at}
		if key.r.barriers[key.off] == nil {
			w.faultOrNote(Invalid, i, addr[i], "mbarrier.inval at %#x, where no mbarrier has been initialised", addr[i])
			return
		}
		w.recordWrite(r, at, 8, i, weak, false)
		queued := slices.Concat(key.r.barriers[key.off].unseen, w.cta.pendingCompletions)
		for _, a := range queued {
			if a.at == key && !w.laneKnows(i, a.clock) { // a commit is complete if a later one of its thread is known to be
				w.fail(Invalid, 1<<i, addr[i], "mbarrier.inval while the %s of line %d has not completed on the mbarrier", a.what, w.prog.code[a.pc].line)
			}
		}
		w.cta.pendingCompletions = slices.DeleteFunc(w.cta.pendingCompletions, func(a completion) bool { return a.at == key })
		delete(key.r.barriers, key.off)
	})
}

// mbarTx is expect_tx and complete_tx.
func (w *warp) mbarTx(in *inst, op *memOp, complete bool, m uint32) {
	w.needDefined(in.src[0], m, "the byte count")
	w.eachMbar(in, op, m, func(i int, _ syncAddr, b *mbarrier) {
		n := int(uint32(w.src(in.src[0])[i]))
		if complete {
			b.tx -= n
			b.tryCompletePhase()
		} else {
			w.expectTx(b, n, i)
		}
	})
	w.launch.lastProgress = w.launch.stats.warpInstrs
}

func (w *warp) expectTx(b *mbarrier, n, lane int) {
	if b.tx += n; n > mbarCount || b.tx > mbarCount {
		w.fail(Invalid, 1<<lane, 0, "an mbarrier expects %d bytes, above its limit of %d", b.tx, mbarCount)
	}
}

// arriveOp are the forms of arrive.
type arriveOp struct {
	count                    int // index in src, -1: one
	expect, drop, noComplete bool
}

func (w *warp) mbarArrive(in *inst, f *mbarForm, m uint32) {
	a := &f.arrive
	if a.count >= 0 {
		w.needDefined(in.src[a.count], m, "the count")
	}
	var know *sparseClock
	if m == w.live && !f.relaxed {
		know = w.warpSnapshot()
	}
	w.eachMbar(in, f.op, m, func(i int, key syncAddr, b *mbarrier) {
		n := 1
		if a.count >= 0 {
			v := int(uint32(w.src(in.src[a.count])[i]))
			if a.expect {
				w.expectTx(b, v, i)
			} else {
				n = v
			}
		}
		if len(in.dst) > 0 && in.dst[0] >= 0 {
			w.regs[in.dst[0]][i] = b.phase<<statePhaseShift | uint64(b.pending)
			w.setUB(in.dst[0], i, 0)
		}
		if !f.relaxed {
			k := know
			if k == nil {
				k = w.laneSnapshot(i)
			}
			b.openClock.join(releasedTo(key.r.owner, k, f.scope, w.cta))
		}
		if a.noComplete && n == b.pending && b.tx == 0 {
			w.fail(Invalid, 1<<i, 0, "an arrival with .noComplete ends the phase of the mbarrier")
		}
		if a.drop {
			b.expected -= n
		}
		w.arriveAt(b, n, i, w.curPC)
	})
	w.count(&w.epoch)
}

// arriveAt counts n arrivals by a lane, made by the instruction at place.
func (w *warp) arriveAt(b *mbarrier, n, lane int, place int32) {
	if n > b.pending {
		after := ""
		if b.lastArrivalPC >= 0 {
			after = fmt.Sprintf("; the last arrival was by %s at line %d: %s", w.launch.threadName(b.lastArrival), w.prog.code[b.lastArrivalPC].line, oneLine(w.prog.code[b.lastArrivalPC].text))
		}
		w.curPC = place
		w.fail(Invalid, 1<<lane, 0, "%d arrivals at an mbarrier that expects %d more (initialised with %d at line %d)%s",
			n, b.pending, b.initialised, w.prog.code[b.initPC].line, after)
	}
	w.launch.lastProgress = w.launch.stats.warpInstrs
	b.lastArrivalPC, b.lastArrival = place, w.stamp(lane, weak)
	b.pending -= n
	b.tryCompletePhase()
}

// stall is the mbarrier test that a warp last failed, for the report of a deadlock.
type stall struct {
	key    syncAddr
	state  uint64
	parity bool
	pc     int32
}

// phaseComplete tells whether the phase that a state, or a parity, names is complete.
func (b *mbarrier) phaseComplete(state uint64, parity bool) bool {
	if parity {
		return b.phase&1 != state&1
	}
	return b.phase != state>>statePhaseShift
}

// mbarWait is test_wait and try_wait. They do not block; after a failed one other warps run. The state operand names the
// phase to wait for, or its parity.
func (w *warp) mbarWait(in *inst, f *mbarForm, m uint32) {
	op, parity, acquire := f.op, f.parity, !f.relaxed
	w.needDefined(in.src[0], m, "the phase")
	var ok uint32
	var all *sparseClock
	one := true // all lanes acquire the same clock
	var asked syncAddr
	w.stalled = nil
	w.eachMbar(in, op, m, func(i int, key syncAddr, b *mbarrier) {
		state := w.src(in.src[0])[i]
		if !b.phaseComplete(state, parity) && (i == firstLane(m) || key != asked) { // delivered once for all lanes, so that they see the same state
			asked = key
			w.cta.deliverCompletions(key)
		}
		done := b.phaseComplete(state, parity)
		if !done {
			w.stalled, w.stalledRound = &stall{key, state, parity, w.curPC}, w.launch.round+1
			return
		}
		b.see()
		ok |= 1 << i
		if acquire {
			k := b.doneClock.acquiredBy(f.scope)
			one = one && (all == nil || all == k)
			all = k
			if m != w.live {
				w.joinLane(i, k)
			}
		}
	})
	if acquire && m == w.live && ok != 0 {
		if one && ok == m {
			w.joinWarp(all)
		} else {
			w.eachMbar(in, op, ok, func(i int, _ syncAddr, b *mbarrier) { w.joinLane(i, b.doneClock.acquiredBy(f.scope)) })
		}
	}
	w.setPred(in.pdst[0], m, ok, 0)
	if ok != m {
		w.notePolling()
		w.yield = true
	}
}

// describeStall says which phase of which mbarrier a warp waits for.
func (w *warp) describeStall() string {
	s := w.stalled
	b := s.key.r.barriers[s.key.off]
	if b == nil {
		return ""
	}
	want := fmt.Sprintf("the phase after state %#x", s.state)
	if s.parity {
		want = fmt.Sprintf("the phase of parity %d", s.state&1)
	}
	return fmt.Sprintf(", waits since line %d for %s of the mbarrier at %#x, of which %s (initialised at line %d)",
		w.prog.code[s.pc].line, want, s.key.off, b.state(), w.prog.code[b.initPC].line)
}
