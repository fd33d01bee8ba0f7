package emu

// Asynchronous work.
//
// An instruction that starts something and goes on (cp.async, bulk and tensor copies, wgmma, tcgen05, st.async)
// computes its result at once, but its accesses are not made by the thread: they are made by an agent, a line
// of work beside the threads that has a place in the vector clocks like a warp. An access of an agent is
// stamped (agent, lane, sequence number) in the shadow of the memory (race.go). Whoever touches the bytes
// without knowing that the agent has come to that number touches bytes in flight, and that is the whole
// check: for reads of bytes being written, and for writes over bytes being read or written alike, in every
// schedule. Nothing is marked busy and nothing must be cleared.
//
// What there is to do for a new kind of asynchronous instruction:
//
//  1. Choose who tells that the work is done. Work whose completion its thread asks for (groups: cp.async,
//     bulk copies, wgmma; tcgen05.wait) belongs to an agent of the thread: a row of agentKind, and in the
//     decoder d.needs(kind). Work that completes on an mbarrier belongs to the agent of that mbarrier.
//  2. At the instruction: stamp, then an asyncAccess for every span of bytes, reads before writes.
//
//        stamp := w.issue(agTensor, lane)      // or b.agent.issue(w, lane) for an mbarrier
//        a := w.access(stamp, lane, asyncProxy, "tcgen05.mma")
//        a.read(region, offset, bytes)          // checks order and proxy, and leaves the stamp
//        a.write(region, offset, bytes)
//
//     Then compute and store the result. Memory of its own (tensor memory) is a region of its own.
//  3. At completion by the thread: w.seen(kind, lane, number), the number of the newest access that is known
//     to be done; groups count commits (commitGroup, waitGroup do it all). Later synchronisation of the
//     thread carries that knowledge to others by itself.
//  4. At completion by an mbarrier: w.cta.later(completion{...}) with the bytes to take from its transaction
//     count, or the arrivals, and the knowledge that comes with them. It happens when somebody asks for the
//     mbarrier (the latest moment there is), in the order of the queue; the Random schedule delays it further.
//     tcgen05.commit is an arrival whose knowledge is numbered(agTensor, lane): all work of the thread so far.
//
// Proxies. Generic writes become visible to the async proxy by fence.proxy.async, at the writer or anywhere on
// the way to the issue. So beside "known to have happened" there is a second clock, "known and fenced since";
// a fence copies the first to the second (w.raise), synchronisation carries both, and an asyncAccess of the
// async proxy asks the second for generic writes. A third one, which reads of shared memory ask, is stricter: for
// stores a fence counts only if the thread that stored executes it. The memory model does not say so, but the CUDA
// programming guide has all threads fence before they meet, and of NVIDIA's and Triton's code none does otherwise.
// Tensor maps have two more levels (released, acquired).

// agentKind is a block of ids in a CTA: the threads of the warps, or one kind of agent, one id a warp.
type agentKind int

const (
	agThread    agentKind = iota // the threads themselves
	agCopy                       // cp.async of a thread, completed by its groups
	agBulkRead                   // sources of bulk copies of a thread, completed by cp.async.bulk.wait_group.read
	agBulkWrite                  // destinations of bulk copies of a thread, completed by cp.async.bulk.wait_group
	agMatrix                     // wgmma of a warpgroup (the id of its first warp), completed by wgmma.wait_group
	agTensor                     // tcgen05.mma, cp and shift of a thread, completed by the mbarrier of a tcgen05.commit
	agTmemLd                     // tcgen05.ld of a warp (its lane 0), completed by tcgen05.wait::ld
	agTmemSt                     // tcgen05.st of a warp (its lane 0), completed by tcgen05.wait::st
	agKinds
)

var agentNames = [agKinds]string{"access", "cp.async", "bulk copy", "bulk copy", "wgmma", "tcgen05 instruction", "tcgen05.ld", "tcgen05.st"}

// level says what is known of an access: that it happened, and what fences have made of it since.
type level int

const (
	happened level = iota
	asyncProxy
	asyncByWriter
	mapReleased
	mapAcquired
	levels
)

// Keys of knowledge are ids with their level above them.
const idBits = 25

func (v level) key(id uint32) uint32 { return uint32(v)<<idBits | id }

// needs says that the program has agents of a kind.
func (d *decoder) needs(k agentKind) { d.c.prog.agents = max(d.c.prog.agents, k+1) }

// needsProxies says that the program has instructions of the async proxy.
func (d *decoder) needsProxies() { d.c.prog.levels = levels }

// lane work: what the threads of a warp have started with an agent, and seen the end of.
type laneWork struct {
	number uint32       // of the newest access
	issued [32]uint32   // the newest of each lane
	done   [32]uint32   // all up to this number have been seen to be done
	bounds [32][]uint32 // of each lane, its last number when it committed a group, of the groups it has not waited for
	place  int32        // of the newest
}

func (x *laneWork) reset() {
	x.number, x.issued, x.done = 0, [32]uint32{}, [32]uint32{}
	for i := range x.bounds {
		x.bounds[i] = x.bounds[i][:0]
	}
}

// issue gives the stamp of the next access of an agent of the lane. All lanes that execute one instruction may
// share a number: call it once and put the other lanes in with w.also.
func (w *warp) issue(k agentKind, m uint32) rec {
	x := &w.work[k]
	x.number++
	x.place = w.here
	lanes(m, func(i int) { x.issued[i] = x.number })
	return rec(x.number)<<34 | rec(w.agent(k))<<9
}

func (w *warp) agent(k agentKind) uint32 { return w.id + uint32(int(k)*w.launch.warpsPerCTA) }

// commitGroup closes the open groups of the lanes.
func (w *warp) commitGroup(k agentKind, m uint32) {
	x := &w.work[k]
	lanes(m, func(i int) { x.bounds[i] = append(x.bounds[i], x.number) })
}

// waitGroup waits for all groups of the lanes but the n newest; n = -1: for everything, open groups too.
func (w *warp) waitGroup(k agentKind, m uint32, n int) {
	x := &w.work[k]
	w.observed = true
	lanes(m, func(i int) {
		b := x.bounds[i]
		switch {
		case n < 0:
			x.done[i], x.bounds[i] = x.number, b[:0]
		case len(b) > n:
			x.done[i] = max(x.done[i], b[len(b)-n-1])
			x.bounds[i] = append(b[:0], b[len(b)-n:]...)
		}
	})
}

// seen tells that a lane knows that the work of its agent is done up to a number.
func (w *warp) seen(k agentKind, lane int, number uint32) {
	x := &w.work[k]
	x.done[lane] = max(x.done[lane], number)
	w.observed = true
}

// numbered is the knowledge that all work so far of the lane's agent is done.
func (w *warp) numbered(k agentKind, lane int) *knowledge {
	n := newKnowledge()
	n.threads[w.agent(k)<<5|uint32(lane)] = w.work[k].number
	return n
}

// common is the number up to which the work of all lanes is known to be done; the lanes that know more.
func (x *laneWork) common() (number uint32, more uint32) {
	number = x.number
	for i := range 32 {
		if x.done[i] < x.issued[i] {
			number = min(number, x.done[i])
		}
	}
	for i := range 32 {
		if x.done[i] > number {
			more |= 1 << i
		}
	}
	return number, more
}

// sharePast puts what the lanes have seen of their agents where the whole warp knows it, at a level.
func (w *warp) sharePast(v level) {
	for k := agCopy; k < w.prog.agents; k++ {
		x := &w.work[k]
		if x.number == 0 || k == agMatrix { // what a warpgroup has waited for is known to its warps already
			continue
		}
		n, more := x.common()
		at := int(v)*w.ids + int(k)*w.launch.warpsPerCTA + w.idx
		w.vc[at] = max(w.vc[at], n)
		if more == 0 {
			continue
		}
		far := newKnowledge()
		lanes(more, func(i int) { far.threads[v.key(w.agent(k))<<5|uint32(i)] = x.done[i] })
		w.far = merge(w.far, far)
	}
}

// ownPast adds what a lane has seen of its agents to its knowledge.
func (w *warp) ownPast(k *knowledge, lane int, v level) {
	for a := agCopy; a < w.prog.agents; a++ {
		if n := w.work[a].done[lane]; n > 0 {
			k.threads[v.key(w.agent(a))<<5|uint32(lane)] = n
		}
	}
}

// raise is a fence by the lanes of m: what is known at one level is known at another from here on.
func (w *warp) raise(m uint32, from, to level) {
	if w.prog.levels == 1 {
		return
	}
	if m != w.live {
		lanes(m, func(i int) {
			w.learn(i, w.raised(w.snapshot(i), i, from, to))
		})
		w.epoch++
		return
	}
	a, b := w.vc[int(from)*w.ids:][:w.ids], w.vc[int(to)*w.ids:][:w.ids]
	for i, e := range a {
		if i == w.idx || to != asyncByWriter || i >= w.launch.warpsPerCTA {
			b[i] = max(b[i], e)
		}
	}
	if from == happened {
		b[w.idx] = max(b[w.idx], w.epoch)
		w.sharePast(to)
	}
	w.far = merge(w.far, w.raised(w.far, noLane, from, to))
	if w.hasOwn {
		for i, k := range w.lone {
			w.lone[i] = merge(k, w.raised(k, i, from, to))
		}
	}
	w.epoch++
}

// noLane is a lane that no access is of.
const noLane = 32

// raised is the part of k at one level, put on another by a fence of a lane.
func (w *warp) raised(k *knowledge, lane int, from, to level) *knowledge {
	if k == nil {
		return nil
	}
	fences := func(id uint32, of int) bool {
		kind, dynamic := w.launch.kindOf(rec(id) << 9)
		return to != asyncByWriter || dynamic || kind != agThread || id == w.id && of == lane
	}
	r := newKnowledge()
	for key, e := range k.warps { // the result does not depend on the order
		if id := key & (1<<idBits - 1); key>>idBits == uint32(from) && fences(id, -1) {
			r.warps[to.key(id)] = e
		}
	}
	for key, e := range k.threads {
		if id := key >> 5 & (1<<idBits - 1); key>>(idBits+5) == uint32(from) && fences(id, int(key&31)) {
			r.threads[to.key(id)<<5|key&31] = e
		}
	}
	if len(r.warps)+len(r.threads) == 0 {
		return nil
	}
	return r
}

// knownAt tells whether the access r, which is known to have happened, is known at a level too.
func (w *warp) knownAt(lane int, r rec, v level) bool {
	if k := r.warp() - w.cta.firstID; k < uint32(w.ids) && w.vc[int(v)*w.ids+int(k)] >= r.epoch() {
		return true
	}
	return w.far.coversAt(r, v) || w.hasOwn && w.lone[lane].coversAt(r, v)
}

// coversAt is covers at a level.
func (k *knowledge) coversAt(r rec, v level) bool {
	if k == nil {
		return false
	}
	id := v.key(r.warp())
	return k.warps[id] >= r.epoch() || !r.many() && k.threads[id<<5|uint32(r.lane())] >= r.epoch()
}

// kindOf says whose access a stamp is; mbarriers have ids above those of all CTAs.
func (l *launch) kindOf(r rec) (k agentKind, dynamic bool) {
	if r.warp() >= uint32(l.ctas*l.ids) {
		return agKinds, true
	}
	return agentKind(int(r.warp()) % l.ids / l.warpsPerCTA), false
}

// generic tells whether an access went through the generic proxy: those of threads and of cp.async.
func (l *launch) generic(r rec) bool {
	k, dynamic := l.kindOf(r)
	return !dynamic && (k == agThread || k == agCopy)
}

// barrierAgent is the agent of an mbarrier: the copies that complete on it.
type barrierAgent struct {
	id      uint32
	number  uint32
	issuers []uint32 // warp and lane by number-1
	kinds   []string
}

// newAgent makes an agent for an mbarrier.
func (l *launch) newAgent() *barrierAgent {
	a := &barrierAgent{id: uint32(l.ctas*l.ids + len(l.agents))}
	l.agents = append(l.agents, a)
	return a
}

// issue gives the stamp of the next copy that completes on the mbarrier.
func (a *barrierAgent) issue(w *warp, lane int, kind string) rec {
	a.number++
	a.issuers = append(a.issuers, w.id<<5|uint32(lane))
	a.kinds = append(a.kinds, kind)
	return rec(a.number)<<34 | rec(a.id)<<9
}

// done is the knowledge that the copies up to a number are complete.
func (a *barrierAgent) done(number uint32) *knowledge {
	k := newKnowledge()
	k.warps[a.id] = number
	return k
}

// --- the queue of what an mbarrier will be told ---

// completion is what an asynchronous operation does to an mbarrier when it completes.
type completion struct {
	at      syncKey
	bytes   int // of the transaction count
	count   int // arrivals
	know    *knowledge
	by      *warp
	lane    int
	place   int32
	what    string
	carries bool // bytes are in flight into shared memory of the CTA: it may not exit
}

// later puts an arrival in the queue of the CTA whose mbarrier it is.
func (c *cta) later(a completion) { c.queue = append(c.queue, a) }

// ask lets what is queued for an mbarrier happen, because somebody looks at it.
func (c *cta) ask(key syncKey) {
	if len(c.queue) == 0 {
		return
	}
	l := c.launch
	left := c.queue[:0]
	held := false
	for _, a := range c.queue {
		if a.at != key || held {
			left = append(left, a)
			continue
		}
		if l.opt.Schedule == Random && l.rng.IntN(2) == 0 {
			held = true // later still; this one and those after it
			l.event = l.stats.warpInstrs
			left = append(left, a)
			continue
		}
		if b := l.mbars[key]; b != nil {
			a.by.told(b, &a)
		}
	}
	c.queue = left
}

// told is an mbarrier hearing of a completion.
func (w *warp) told(b *mbarrier, a *completion) {
	w.launch.event = w.launch.stats.warpInstrs
	b.next = merge(b.next, a.know)
	b.tx -= a.bytes
	if a.count > 0 {
		w.arriveAt(b, a.count, a.lane, a.place)
		return
	}
	b.settle()
}
