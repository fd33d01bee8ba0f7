package emu

// Asynchronous operations.
//
// An asynchronous instruction (cp.async, bulk and tensor copies, wgmma, tcgen05, st.async) computes its result
// when it is issued, but its accesses are not attributed to the issuing thread. They belong to an agent: an
// execution agent beside the threads that has an entry in the vector clocks like a warp. An access of an agent is
// stamped (agent, lane, sequence number) in shadow memory (race.go). A thread whose clock has not reached that
// number has not waited for the operation, so the bytes are still in flight. That comparison is the whole check,
// for reads of bytes being written and for writes over bytes being read or written, and it does not depend on the
// schedule. Nothing is marked busy and nothing must be cleared.
//
// To add a kind of asynchronous instruction:
//
//  1. Choose the completion mechanism. Operations that the issuing thread waits for (groups: cp.async,
//     bulk copies, wgmma; tcgen05.wait) belong to an agent of the thread: a row of agentKind, and in the
//     decoder d.needs(kind). Operations that complete on an mbarrier belong to the agent of that mbarrier.
//  2. At the instruction: stamp, then an asyncAccess for every span of bytes, reads before writes.
//
//        stamp := w.issue(agentTcgen05, 1<<lane) // or b.agent.issue(w, lane, what) for an mbarrier
//        a := w.access(stamp, lane, asyncProxy)
//        a.read(region, offset, bytes)           // checks order and proxy, and leaves the stamp
//        a.write(region, offset, bytes)
//
//     Then compute and store the result.
//  3. Where the thread waits for completion: w.markCompleted(kind, lane, number) with the number of the newest
//     complete operation; for groups, commitGroup and waitGroup do it all. Later synchronisation of the
//     thread carries this to others by itself.
//  4. Where an mbarrier signals completion: w.cta.queueCompletion(completion{...}) with the bytes to take from the
//     transaction count, or the arrivals, and the clock that waiters acquire. It is delivered when a thread tests the
//     mbarrier (the latest possible moment), in the order of the queue; the Random schedule delays it further, the
//     RoundRobin schedule delivers it at once.
//     tcgen05.commit is an arrival with w.completionClock(agentTcgen05, lane): all operations of the thread so far.
//
// Proxies (section 8.6). A write by the generic proxy becomes visible to the async proxy by fence.proxy.async, executed
// by the writer or anywhere on the synchronisation path to the issue. So beside the happens-before clock there is a
// second one, "happened before and fenced since". A fence joins the first into the second (w.raiseVisibility),
// synchronisation carries both, and an access of the async proxy compares generic writes with the second. A fence may be of one state space,
// so shared and global memory have one each. A further one,
// for reads of shared memory, is stricter: a fence counts for a store only if the storing thread executes it. The memory
// model does not demand that, but the CUDA programming guide has all threads fence before the barrier, and NVIDIA's and
// Triton's code always does. Tensor maps have two more (released, acquired), and one for each narrower scope of a release where a program names one.

// agentKind says who makes an access: the threads of a warp, or a kind of agent. A CTA has one id for each warp and kind.
type agentKind int

const (
	agentThread    agentKind = iota // the threads themselves
	agentCpAsync                    // cp.async of a thread, completed by its groups
	agentBulkRead                   // sources of bulk copies of a thread, completed by cp.async.bulk.wait_group.read
	agentBulkWrite                  // destinations of bulk copies of a thread, completed by cp.async.bulk.wait_group
	agentWgmma                      // wgmma of a warpgroup (the id of its first warp), completed by wgmma.wait_group
	agentTcgen05                    // tcgen05.mma, cp and shift of a thread, completed by the mbarrier of a tcgen05.commit
	agentTcgenLd                    // tcgen05.ld of a warp (its lane 0), completed by tcgen05.wait::ld
	agentTcgenSt                    // tcgen05.st of a warp (its lane 0), completed by tcgen05.wait::st
	agentKinds
)

var agentNames = [agentKinds]string{"access", "cp.async", "bulk copy", "bulk copy", "wgmma", "tcgen05 instruction", "tcgen05.ld", "tcgen05.st"}

// visibility says to whom an access is visible. There is a vector clock for each value.
type visibility int

const (
	happened          visibility = iota // happens-before: visible to the generic proxy
	asyncProxy                          // and fence.proxy.async since; in shared memory, where asyncGlobal is another clock
	fencedByWriter                      // and that by the thread that stored, in shared memory
	asyncGlobal                         // and fence.proxy.async since, in global memory
	tensormapReleased                   // and fence.proxy.tensormap::generic.release since, of a scope that is all
	tensormapAcquired                   // and its .acquire since
	proxyVisibilities

	// Kept if a release or an acquire of the program has a narrower scope.
	releasedToCluster = proxyVisibilities     // as tensormapReleased, of .cluster or wider
	releasedToCTA     = proxyVisibilities + 1 // of .cta or wider
	visibilities      = proxyVisibilities + 2
)

// mapsReleasedTo is the visibility of what a release of tensor maps makes visible to an acquire of the same scope.
var mapsReleasedTo = [strengths]visibility{ctaScope: releasedToCTA, clusterScope: releasedToCluster, gpuScope: tensormapReleased}

// Keys of a sparseClock are ids of warps and agents with the visibility in the bits above.
const idBits = 25

func (v visibility) key(id uint32) uint32 { return uint32(v)<<idBits | id }

// needs notes that the program uses agents of a kind: they get entries in the vector clocks.
func (d *decoder) needs(k agentKind) { d.c.prog.agents = max(d.c.prog.agents, k+1) }

// needsProxies notes that the program uses other proxies than the generic one: clocks are kept for every visibility.
func (d *decoder) needsProxies() {
	d.c.prog.visibilities = max(d.c.prog.visibilities, proxyVisibilities)
}

// tensormapScope takes the scope of a release or an acquire of tensor maps.
func (d *decoder) tensormapScope() strength {
	scope, ok := scopeNames[d.oneOf("cta", "cluster", "gpu", "sys")]
	if !ok {
		d.malformed("a release or an acquire of tensor maps needs a scope")
	}
	if d.needsProxies(); scope != gpuScope {
		d.c.prog.visibilities = visibilities
	}
	return scope
}

// releaseMaps makes what is visible to the lanes of m visible to acquires of tensor maps by threads of a scope.
func (w *warp) releaseMaps(m uint32, scope strength) {
	for s := ctaScope; s <= scope; s++ {
		if mapsReleasedTo[s] < w.prog.visibilities {
			w.raiseVisibility(m, happened, mapsReleasedTo[s])
		}
	}
}

// acquireMaps makes what was released to a scope that includes the lanes of m, by threads that the scope of the acquire includes, visible to
// the proxy of tensor maps.
func (w *warp) acquireMaps(m uint32, scope strength) {
	for s := ctaScope; s <= scope; s++ {
		if mapsReleasedTo[s] < w.prog.visibilities {
			w.raiseVisibility(m, mapsReleasedTo[s], tensormapAcquired)
		}
	}
}

// within is what of a clock concerns the threads of a scope beyond the narrower ones: a release of tensor maps to those does not. A release that
// comes back through another CTA is forgotten.
func (w *warp) within(k *sparseClock, scope strength) *sparseClock {
	if w.prog.visibilities < visibilities || scope == ctaScope || k == nil {
		return k
	}
	out := &sparseClock{}
	for _, e := range k.flatten() {
		if v := visibility(e.key >> idBits); v != releasedToCTA && (v != releasedToCluster || scope == clusterScope) {
			out.raise(e)
		}
	}
	return out
}

// agentWork is what the lanes of a warp have issued to one kind of agent, and how much of it they know to be complete.
type agentWork struct {
	newest    uint32       // sequence number of the newest operation
	issued    [32]uint32   // the newest of each lane
	completed [32]uint32   // each lane knows that all up to this number are complete
	groupEnds [32][]uint32 // newest number at each commit_group of a lane that it has not waited for
	pc        int32        // of the newest
}

func (x *agentWork) reset() {
	x.newest, x.issued, x.completed = 0, [32]uint32{}, [32]uint32{}
	for i := range x.groupEnds {
		x.groupEnds[i] = x.groupEnds[i][:0]
	}
}

// issue gives the stamp of the next operation of an agent of the warp. All lanes of m, which execute one instruction,
// share its sequence number; the caller adds the lane to the stamp.
func (w *warp) issue(k agentKind, m uint32) accessStamp {
	x := &w.agents[k]
	w.count(&x.newest)
	x.pc = w.curPC
	lanes(m, func(i int) { x.issued[i] = x.newest })
	return accessStamp(x.newest)<<34 | accessStamp(w.agentID(k))<<9
}

func (w *warp) agentID(k agentKind) uint32 { return w.id + uint32(int(k)*w.launch.warpsPerCTA) }

// commitGroup is commit_group: it ends the open group of each lane.
func (w *warp) commitGroup(k agentKind, m uint32) {
	x := &w.agents[k]
	lanes(m, func(i int) { x.groupEnds[i] = append(x.groupEnds[i], x.newest) })
}

// waitGroup is wait_group: all groups of the lanes but the n newest are complete; n = -1 is wait_all, which includes open groups.
func (w *warp) waitGroup(k agentKind, m uint32, n int) {
	x := &w.agents[k]
	w.sawCompletion = true
	lanes(m, func(i int) {
		b := x.groupEnds[i]
		switch {
		case n < 0:
			x.completed[i], x.groupEnds[i] = x.newest, b[:0]
		case len(b) > n:
			x.completed[i] = max(x.completed[i], b[len(b)-n-1])
			x.groupEnds[i] = append(b[:0], b[len(b)-n:]...)
		}
	})
}

// markCompleted records that a lane knows its agent's operations up to a number to be complete.
func (w *warp) markCompleted(k agentKind, lane int, number uint32) {
	x := &w.agents[k]
	x.completed[lane] = max(x.completed[lane], number)
	w.sawCompletion = true
}

// completionClock says that all operations that the lane's agent has been issued so far are complete.
func (w *warp) completionClock(k agentKind, lane int) *sparseClock {
	n := &sparseClock{}
	n.raiseLane(w.agentID(k), lane, w.agents[k].newest)
	return n
}

// completedByAll is the number up to which every lane knows its operations to be complete; more are the lanes that know more.
func (x *agentWork) completedByAll() (number uint32, more uint32) {
	number = x.newest
	for i := range 32 {
		if x.completed[i] < x.issued[i] {
			number = min(number, x.completed[i])
		}
	}
	for i := range 32 {
		if x.completed[i] > number {
			more |= 1 << i
		}
	}
	return number, more
}

// shareCompletions adds the completions that single lanes have observed to the clock of the whole warp.
func (w *warp) shareCompletions(v visibility) {
	for k := agentCpAsync; k < w.prog.agents; k++ {
		x := &w.agents[k]
		if x.newest == 0 || k == agentWgmma { // what a warpgroup has waited for is known to its warps already
			continue
		}
		n, more := x.completedByAll()
		at := int(v)*w.idsPerCTA + int(k)*w.launch.warpsPerCTA + w.idx
		w.dense[at] = max(w.dense[at], n)
		if more == 0 {
			continue
		}
		far := &sparseClock{}
		lanes(more, func(i int) { far.raiseLane(v.key(w.agentID(k)), i, x.completed[i]) })
		w.sparse = joinClocks(w.sparse, far)
	}
}

// addCompletions adds the completions that a lane has observed to the clock c.
func (w *warp) addCompletions(k *sparseClock, lane int, v visibility) {
	for a := agentCpAsync; a < w.prog.agents; a++ {
		if n := w.agents[a].completed[lane]; n > 0 {
			k.raiseLane(v.key(w.agentID(a)), lane, n)
		}
	}
}

// raiseVisibility is a proxy fence by the lanes of m: what is visible at one level before it becomes visible at another.
func (w *warp) raiseVisibility(m uint32, from, to visibility) {
	if w.prog.visibilities == 1 {
		return
	}
	if m != w.live {
		lanes(m, func(i int) {
			w.joinLane(i, w.raisedClock(w.laneSnapshot(i), i, from, to))
		})
		w.count(&w.epoch)
		return
	}
	a, b := w.dense[int(from)*w.idsPerCTA:][:w.idsPerCTA], w.dense[int(to)*w.idsPerCTA:][:w.idsPerCTA]
	for i, e := range a {
		if i == w.idx || to != fencedByWriter || i >= w.launch.warpsPerCTA {
			b[i] = max(b[i], e)
		}
	}
	if from == happened {
		b[w.idx] = max(b[w.idx], w.epoch)
		w.shareCompletions(to)
	}
	w.sparse = joinClocks(w.sparse, w.raisedClock(w.sparse, noLane, from, to))
	if w.hasLaneClocks {
		for i, k := range w.laneClocks {
			w.laneClocks[i] = joinClocks(k, w.raisedClock(k, i, from, to))
		}
	}
	w.count(&w.epoch)
}

// noLane is not the lane of any access.
const noLane = 32

// raisedClock is the part of k at one visibility, moved to another by a fence that a lane executes.
func (w *warp) raisedClock(k *sparseClock, lane int, from, to visibility) *sparseClock {
	if k == nil {
		return nil
	}
	r := &sparseClock{}
	for _, e := range k.flatten() {
		if e.key>>idBits != uint32(from) {
			continue
		}
		id := e.key & (1<<idBits - 1)
		kind, dynamic := w.launch.kindOf(accessStamp(id) << 9)
		switch {
		case to != fencedByWriter || dynamic || kind != agentThread:
			r.raise(clockEntry{to.key(id), e.all, e.lanes})
		case id == w.id && lane != noLane:
			r.raiseLane(to.key(id), lane, e.of(lane))
		}
	}
	if len(r.entries) == 0 {
		return nil
	}
	return r
}

// visibleAt tells whether the access r, which happened before, is also visible at v.
func (w *warp) visibleAt(lane int, r accessStamp, v visibility) bool {
	if k := r.warp() - w.cta.firstID; k < uint32(w.idsPerCTA) && w.dense[int(v)*w.idsPerCTA+int(k)] >= r.epoch() {
		return true
	}
	return w.sparse.coversAt(r, v) || w.hasLaneClocks && w.laneClocks[lane].coversAt(r, v)
}

// kindOf says whose access a stamp is. dynamic: that of an mbarrier's agent; these have ids above those of all CTAs.
func (l *launch) kindOf(r accessStamp) (k agentKind, dynamic bool) {
	if r.warp() >= uint32(l.ctas*l.idsPerCTA) {
		return agentKinds, true
	}
	return agentKind(int(r.warp()) % l.idsPerCTA / l.warpsPerCTA), false
}

// viaGenericProxy tells whether an access went through the generic proxy: those of threads and of cp.async.
func (l *launch) viaGenericProxy(r accessStamp) bool {
	k, dynamic := l.kindOf(r)
	return !dynamic && (k == agentThread || k == agentCpAsync)
}

// mbarAgent is the agent of an mbarrier: it makes the accesses of the operations that complete on it.
type mbarAgent struct {
	id      uint32
	newest  uint32
	issuers []uint32 // warp and lane by number-1
	kinds   []string
}

// newAgent makes an agent for an mbarrier.
func (w *warp) newAgent() *mbarAgent {
	l := w.launch
	if len(l.agents) > maxIDs {
		w.fail(StepLimit, w.live, 0, "more than %d initialisations of mbarriers", maxIDs)
	}
	a := &mbarAgent{id: uint32(l.ctas*l.idsPerCTA + len(l.agents))}
	l.agents = append(l.agents, a)
	return a
}

// issue gives the stamp of the next copy that completes on the mbarrier.
func (a *mbarAgent) issue(w *warp, lane int, kind string) accessStamp {
	w.count(&a.newest)
	a.issuers = append(a.issuers, w.id<<5|uint32(lane))
	a.kinds = append(a.kinds, kind)
	return accessStamp(a.newest)<<34 | accessStamp(a.id)<<9
}

// completionClock says that the operations up to a number are complete.
func (a *mbarAgent) completionClock(number uint32) *sparseClock {
	k := &sparseClock{}
	k.raise(clockEntry{key: a.id, all: number})
	return k
}

// --- the queue of completions on mbarriers ---

// completion is the complete-tx or arrive-on operation that an asynchronous operation performs on an mbarrier when it completes.
type completion struct {
	at       syncAddr
	bytes    int          // of the transaction count
	count    int          // arrivals
	clock    *sparseClock // of the operation
	released *sparseClock // of the thread that issued it, where the operation is a release of .cluster
	issuer   *warp
	lane     int
	pc       int32
	what     string
	carries  bool   // bytes are in flight into shared memory of the CTA: it may not exit
	phase    uint64 // in which it was performed, at once
}

// queueCompletion puts a completion in the queue of the CTA whose mbarrier it is. In the RoundRobin schedule operations complete as soon as they are
// issued, so that an mbarrier may end phases before a thread that waits for one has looked.
func (c *cta) queueCompletion(a completion) {
	b := a.at.r.barriers[a.at.off]
	if c.launch.opt.Schedule != RoundRobin || b == nil {
		c.pendingCompletions = append(c.pendingCompletions, a)
		return
	}
	a.phase = b.phase
	b.unseen = append(b.unseen, a)
	a.issuer.complete(b, &a)
}

// deliverCompletions performs what is queued for an mbarrier, because a thread tests it.
func (c *cta) deliverCompletions(key syncAddr) {
	if len(c.pendingCompletions) == 0 {
		return
	}
	l := c.launch
	left := c.pendingCompletions[:0]
	held := false
	for _, a := range c.pendingCompletions {
		if a.at != key || held {
			left = append(left, a)
			continue
		}
		if l.opt.Schedule == Random && l.rng.IntN(2) == 0 {
			held = true // deliver it later, and those after it too
			l.lastProgress = l.stats.warpInstrs
			left = append(left, a)
			continue
		}
		if b := key.r.barriers[key.off]; b != nil {
			a.issuer.complete(b, &a)
		}
	}
	c.pendingCompletions = left
}

// complete performs a completion on its mbarrier.
func (w *warp) complete(b *mbarrier, a *completion) {
	w.launch.lastProgress = w.launch.stats.warpInstrs
	b.openClock.join(mbarClock{a.clock, a.clock})
	b.openClock.join(releasedTo(a.at.r.owner, a.released, clusterScope, w.cta))
	b.tx -= a.bytes
	if a.count > 0 {
		w.arriveAt(b, a.count, a.lane, a.pc)
		return
	}
	b.tryCompletePhase()
}
