package sync

import (
	"math"
	"math/bits"
	"slices"

	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
)

// This file is the state of insert-barriers: what happened since the last barrier, and what tokens cover of it. Lists are bounded: what
// no longer fits is remembered without detail, which can only ask for barriers too many.

// maxListed bounds every list of a state but that of what is in flight, which has room for the copies of four rings of the most slots: of each slot those that were
// begun before the loop, and in every round since.
const (
	maxListed   = 32
	maxInFlight = 4 * cost.MaxSlots * cost.MaxSlots / 2
)

// everywhere is the end of a span whose place is not known.
const everywhere = math.MaxInt

// span is a range of bytes of shared memory that was touched.
type span struct {
	buffer      *ir.Value      // a ring for one of its slots; nil: several
	slot        slot           // of a ring
	layout      *layout.Layout // in which all of the buffer is stored or loaded; nil: another access
	lo, hi      int
	write       bool
	lanesSynced bool // the lanes of each warp have met since
	unit        bool // the tensor unit writes there, which keeps the order of what it does
}

// flight is an asynchronous copy in flight, or what a product in flight reads: it is not complete until its thread has waited for it, and
// no barrier before that wait makes it visible.
type flight struct {
	span
	engine engine
	op     *ir.Op // nil: any
	age    int    // groups that were committed since, its own counts; 0: not committed
}

// engine is hardware that works asynchronously: its groups complete in the order in which they begin.
type engine uint8

const (
	copies   engine = iota // whose groups end at a commit
	products               // each of which is a group
	engines
)

// pending is what happened since the last barrier. Times are those of the inserter's clock.
type pending struct {
	shared   []span
	inFlight []flight
	reached  []reach                    // of the tile block's memory
	synced   int                        // when all threads met last, on every way here
	last     [kernel.NumAccessKinds]int // when global memory was accessed last, by kind
	dead     bool                       // no way leads here
}

// requirement is what must stand in front of an access: waits for work in flight, and a barrier.
type requirement struct {
	wait         [engines]waiting
	participants participants
}

// and is the union of both.
func (d requirement) and(e requirement) requirement {
	for q := range d.wait {
		d.wait[q] = d.wait[q].and(e.wait[q])
	}
	d.participants = max(d.participants, e.participants)
	return d
}

// waiting is how many groups of an engine may stay in flight, plus one; noWait asks for nothing. forUncommitted is a wait for a copy that
// is not committed yet: its group is committed first.
type waiting int

const (
	noWait         waiting = 0
	forAll         waiting = 1
	forUncommitted waiting = -1
)

// waitFor is the wait for a copy, by the groups that were committed since, its own included.
func waitFor(f flight) waiting {
	if f.age == 0 {
		return forUncommitted
	}
	return waiting(f.age)
}

// and waits for what either waits for.
func (w waiting) and(v waiting) waiting {
	if w == noWait || v != noWait && v < w {
		return v
	}
	return w
}

// participants is which threads must meet at a barrier.
type participants uint8

const (
	nobody participants = iota
	lanes               // the lanes of each warp
	everybody
)

func (p *pending) copy() *pending {
	q := *p
	q.shared, q.inFlight, q.reached = slices.Clone(p.shared), slices.Clone(p.inFlight), slices.Clone(p.reached)
	return &q
}

// syncAll is a barrier of all threads.
func (p *pending) syncAll(now int) { p.shared, p.reached, p.synced = nil, nil, now }

// syncLanes is a barrier of the lanes of each warp.
func (p *pending) syncLanes() {
	for i := range p.shared {
		p.shared[i].lanesSynced = true
	}
}

// note remembers an access to global memory.
func (p *pending) note(k kernel.AccessKinds, now int) {
	for i := range p.last {
		if k&(1<<i) != 0 {
			p.last[i] = now
		}
	}
}

// requireAll is who must meet before an access of kinds k that comes after everything. Each thread waits for the copies that it has begun.
func (p *pending) requireAll(k kernel.AccessKinds) (d requirement) {
	for i, at := range p.last {
		if at > 0 && at >= p.synced && k != 0 && kernel.Conflicting(k, 1<<i) {
			d.participants = everybody
		}
	}
	if k&(kernel.Write|kernel.Ordered) != 0 {
		for _, f := range p.inFlight {
			if f.engine == copies {
				d.wait[copies] = d.wait[copies].and(min(waitFor(f), forAll))
				d.participants = everybody
			}
		}
	}
	return d
}

// conflict is who must meet before the access r to shared memory.
func (p *pending) conflict(r span, proofs *proofs) (d requirement) {
	for _, f := range p.inFlight {
		if (f.write || r.write) && f.lo < r.hi && r.lo < f.hi && !distinctSlots(f.span, r) {
			d.wait[f.engine] = d.wait[f.engine].and(waitFor(f))
			if f.op == nil || !tileaa.ReadByUnit(f.op) {
				d.participants = everybody
			}
		}
	}
	for _, q := range p.shared {
		if !(q.write || r.write) || q.lo >= r.hi || r.lo >= q.hi || distinctSlots(q, r) || q.unit && r.unit {
			continue
		}
		switch {
		case !proofs.ownParts(q, r):
			d.participants = everybody
			return d
		case !q.lanesSynced:
			d.participants = max(d.participants, lanes)
		}
	}
	return d
}

// issue adds work that begins.
func (p *pending) issue(f flight) { addFlight(&p.inFlight, f) }

// waitFor is the wait for the copies of an op.
func (p *pending) waitFor(op *ir.Op) (w waiting) {
	for _, f := range p.inFlight {
		if f.engine == copies && (f.op == op || f.op == nil) {
			w = w.and(waitFor(f))
		}
	}
	return w
}

// commit ends a group of work.
func (p *pending) commit(e engine) {
	for i, f := range p.inFlight {
		if f.engine == e {
			p.inFlight[i].age = min(f.age+1, math.MaxInt32)
		}
	}
}

// wait turns work of an engine, all but the newest n groups, into accesses that have happened. What the tensor unit alone has read is
// complete for all threads.
func (p *pending) wait(e engine, n int) {
	p.inFlight = slices.DeleteFunc(p.inFlight, func(f flight) bool {
		over := f.engine == e && f.age > n
		if over && (f.op == nil || !tileaa.ReadByUnit(f.op)) {
			addSpan(&p.shared, f.span)
		}
		return over
	})
}

// join merges the state of another path to the same point.
func (p *pending) join(q *pending) {
	for _, r := range q.shared {
		addSpan(&p.shared, r)
	}
	for _, f := range q.inFlight {
		addFlight(&p.inFlight, f)
	}
	for _, r := range q.reached {
		addReach(&p.reached, r)
	}
	for i := range p.last {
		p.last[i] = max(p.pendingAt(i), q.pendingAt(i))
	}
	p.synced = min(p.synced, q.synced)
}

// hasRead reports whether a weak read is pending.
func (p *pending) hasRead() bool { return p.pendingAt(bits.TrailingZeros(uint(kernel.WeakRead))) > 0 }

// pendingAt is when an access of kind i happened that is pending, or 0.
func (p *pending) pendingAt(i int) int {
	if p.last[i] < p.synced {
		return 0
	}
	return p.last[i]
}

// begin is the state at the start of a loop's body when p is the state at its end.
func (p *pending) begin(now int, first []flight) *pending {
	q := p.copy()
	q.synced = now
	for i, at := range p.last {
		q.last[i] = min(at, 1) * now
	}
	for _, f := range first {
		addFlight(&q.inFlight, f)
	}
	return q
}

// afterLoop is the state behind the loop, in whose clock the whole loop is one moment.
func (p *pending) afterLoop() *pending {
	q := p.copy()
	q.synced = 0
	for i := range q.last {
		q.last[i] = min(p.pendingAt(i), 1)
	}
	return q
}

// includes reports whether all that is pending in q is in p, too.
func (p *pending) includes(q *pending) bool {
	for i := range p.last {
		if q.pendingAt(i) > 0 && p.last[i] == 0 {
			return false
		}
	}
	for _, r := range q.shared {
		if !slices.ContainsFunc(p.shared, func(s span) bool { return s.includes(r) }) {
			return false
		}
	}
	for _, r := range q.reached {
		if !slices.ContainsFunc(p.reached, func(s reach) bool { return s.includes(r) }) {
			return false
		}
	}
	return covers(p.inFlight, q.inFlight)
}

// addLoop adds what a loop leaves that ended now.
func (p *pending) addLoop(end *pending, now int) {
	for _, r := range end.shared {
		addSpan(&p.shared, r)
	}
	for _, f := range end.inFlight {
		addFlight(&p.inFlight, f)
	}
	for _, r := range end.reached {
		addReach(&p.reached, r)
	}
	for i := range p.last {
		if end.pendingAt(i) > 0 {
			p.last[i] = now
		}
	}
}

// setTop makes the state the top of the lattice, which includes every other one.
func (p *pending) setTop() {
	p.shared = []span{{hi: everywhere, write: true}}
	p.inFlight = []flight{{span: p.shared[0]}, {span: p.shared[0], engine: products, age: 1}}
	p.reached = []reach{{hi: everywhere, write: true, old: true}}
	p.last = [kernel.NumAccessKinds]int{1, 1, 1}
}

// includes reports whether s says of a conflict all that r says.
func (s span) includes(r span) bool {
	return s == r || s.buffer == nil && s.lo <= r.lo && r.hi <= s.hi && (s.write || !r.write)
}

// addSpan adds a span to a list, which becomes one span without detail when it is full.
func addSpan(list *[]span, r span) {
	if slices.ContainsFunc(*list, func(s span) bool { return s.includes(r) }) {
		return
	}
	if len(*list) < maxListed {
		*list = append(*list, r)
		return
	}
	*list = []span{hull(append(*list, r))}
}

func hull(list []span) span {
	h := span{lo: math.MaxInt}
	for _, s := range list {
		h.lo, h.hi, h.write = min(h.lo, s.lo), max(h.hi, s.hi), h.write || s.write
	}
	return h
}

// covers reports whether all work of want is in have, no older.
func covers(have, want []flight) bool {
	for _, f := range want {
		if !slices.ContainsFunc(have, func(g flight) bool { return g.includes(f) }) {
			return false
		}
	}
	return true
}

func (f flight) includes(g flight) bool {
	return f.engine == g.engine && (f.op == g.op && f.span == g.span || f.op == nil && f.span.includes(g.span)) && f.age <= g.age
}

func addFlight(list *[]flight, f flight) {
	for i, g := range *list {
		if g.op == f.op && g.span == f.span {
			(*list)[i].age = min(g.age, f.age)
			return
		}
	}
	if len(*list) < maxInFlight {
		*list = append(*list, f)
		return
	}
	all := flight{engine: f.engine, age: f.age, span: f.span}
	*list = slices.DeleteFunc(*list, func(g flight) bool {
		if g.engine == f.engine {
			all.age, all.span = min(all.age, g.age), hull([]span{all.span, g.span})
		}
		return g.engine == f.engine
	})
	*list = append(*list, all)
}

// coverage is what a token comes after.
type coverage struct {
	list []covered
	all  int // until when everything may be covered; 0: only what is listed
}

// covered is an access that a token comes after.
type covered struct {
	op      *ir.Op    // nil: what outer covers
	outer   *ir.Value // a token from outside the level
	carried *ir.Op    // the outermost loop of which a later round is meant; nil: the same rounds
	when    int
}

func (e covered) same(f covered) bool {
	return e.op == f.op && e.outer == f.outer && e.carried == f.carried
}

// afterBarrier drops what was complete before the last barrier, at time met. landed says when a copy was waited for.
func (c coverage) afterBarrier(met int, landed func(op *ir.Op) int) coverage {
	if c.all < met {
		c.all = 0
	}
	old := func(e covered) bool { return e.when < met && (e.op == nil || landed(e.op) < met) }
	if slices.ContainsFunc(c.list, old) {
		c.list = slices.DeleteFunc(slices.Clone(c.list), old)
	}
	return c
}

// union never changes the list of c.
func (c coverage) union(d coverage, now int) coverage {
	out := coverage{list: c.list[:len(c.list):len(c.list)], all: max(c.all, d.all)}
	for _, e := range d.list {
		if slices.ContainsFunc(out.list, e.same) {
			continue
		}
		if len(out.list) == maxListed {
			return coverage{all: now}
		}
		out.list = append(out.list, e)
	}
	return out
}

// at says that all happened at one time.
func (c coverage) at(now int) coverage {
	c.list = slices.Clone(c.list)
	for i := range c.list {
		c.list[i].when = now
	}
	c.all = min(c.all, 1) * now
	return c
}

// inNextIteration is the coverage as the next iteration of a loop sees it.
func (c coverage) inNextIteration(loop *ir.Op) coverage {
	c.list = slices.Clone(c.list)
	for i := range c.list {
		if c.list[i].op != nil {
			c.list[i].carried = loop
		}
	}
	return c
}

func (c coverage) includes(d coverage) bool {
	if c.all > 0 {
		return true
	}
	return d.all == 0 && !slices.ContainsFunc(d.list, func(e covered) bool { return !slices.ContainsFunc(c.list, e.same) })
}
