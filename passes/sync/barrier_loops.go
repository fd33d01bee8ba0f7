package sync

import (
	"slices"

	"tileiras/codegen/cost"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
)

// This file is how insert-barriers takes loops: once each, with a summary for what is around.

// exposedAccesses are the upward-exposed accesses of a loop: those that some path from its start reaches without a barrier.
type exposedAccesses struct {
	shared  []span
	reached []reach // of the tile block's memory
	slots   []reach // of it that begin in the loop
	tokens  []exposure
	all     kernel.AccessKinds // of accesses that come after tokens of outside that are too many to list
	order   bool               // one of them comes after everything
}

// exposure is an access that comes after a token from outside of the loop.
type exposure struct {
	outer *ir.Value
	op    *ir.Op
}

// summary is what the walk around a loop must know of it.
type summary struct {
	level       *level
	first       []flight   // copies in flight when it begins, with which it was walked
	back        *pending   // what its end leaves for its beginning
	carried     []coverage // what the tokens that it carries cover then
	transparent bool       // some way leads through it without a barrier
	end         *pending   // what its end leaves; nil: it has none
	waited      []*ir.Op   // of first, the copies that it waits for behind its last barrier
	tokens      []coverage
	exposed     exposedAccesses
	zeroTrip    bool
}

// expose notes an access before the level's first barrier that touches shared memory or comes after tokens from outside.
func (w *inserter) expose(op *ir.Op, after coverage, spans []span) {
	x := &w.level.exposed
	for _, r := range spans {
		addSpan(&x.shared, r)
	}
	kind := kernel.AccessKindsOf(op)
	if kind == 0 {
		return
	}
	x.order = x.order || kernel.OrdersAll(op)
	if after.all > 0 {
		x.all |= kind
	}
	for _, e := range after.list {
		if e.outer != nil {
			x.add(exposure{e.outer, op})
		}
	}
}

func (x *exposedAccesses) add(e exposure) {
	switch {
	case slices.Contains(x.tokens, e):
	case len(x.tokens) < maxListed:
		x.tokens = append(x.tokens, e)
	default:
		x.all |= kernel.AccessKindsOf(e.op)
	}
}

// visitLoop inserts in front of a loop what its upward-exposed accesses need, and goes on behind it.
func (w *inserter) visitLoop(op *ir.Op, p *pending) {
	sum := w.summaryOf(op, p)
	var needed requirement
	need := func(d requirement) { needed = needed.and(d) }
	for _, r := range sum.exposed.shared {
		need(p.conflict(r, w.proofs))
	}
	need(w.meetLoop(&sum.exposed, p))
	need(p.requireAll(sum.exposed.all))
	if sum.exposed.order {
		need(p.requireAll(kernel.Ordered))
	}
	var after []coverage
	for _, e := range sum.exposed.tokens {
		c := w.coverageOf(e.outer, p)
		after = append(after, c)
		need(w.require(c, e.op, p))
	}
	if needed.participants == everybody {
		for i, e := range sum.exposed.tokens {
			need(w.copiesBefore(after[i], e.op, p))
		}
	}
	w.synchronize(op, p, needed)
	if !w.dry {
		outer := w.level
		w.level = &level{}
		w.walk(op, sum.first, sum.back, sum.carried)
		w.level = outer
	}
	if w.open(p) {
		w.exposeLoop(&sum.exposed, after)
	}
	if sum.end == nil && !sum.zeroTrip {
		p.dead = true
		return
	}
	tokens := sum.tokens
	if sum.zeroTrip {
		tokens = w.withInits(op, tokens)
	}
	if !sum.transparent { // before the results: what their tokens cover may come after that barrier
		p.syncAll(w.tick())
		p.inFlight = nil
		if sum.end != nil {
			p.inFlight = slices.Clone(sum.end.inFlight)
		}
		for _, copy := range sum.waited {
			w.copyDone[copy] = p.synced
		}
	}
	w.results(op, tokens, sum.level, p)
	if sum.end != nil {
		p.addLoop(sum.end, w.tick())
	}
	if f, ok := ir.As[tileaa.For](op); ok && len(f.Lands()) > 0 {
		w.waitProducts(p, 0)
		w.readTensorSums(f, p)
	}
}

// exposeLoop exposes what a loop exposes; after is what its tokens of outside cover.
func (w *inserter) exposeLoop(of *exposedAccesses, after []coverage) {
	x := &w.level.exposed
	for _, r := range of.shared {
		addSpan(&x.shared, r)
	}
	for _, r := range of.reached {
		addReach(&x.reached, r)
	}
	for _, r := range of.slots {
		addReach(&x.slots, r)
	}
	x.all |= of.all
	x.order = x.order || of.order
	for i, e := range of.tokens {
		w.expose(e.op, after[i], nil)
	}
}

// readTensorSums notes that a loop with lands reads tensor memory at its end, when it has waited for the products.
func (w *inserter) readTensorSums(loop tileaa.For, p *pending) {
	for _, memory := range tileaa.LandedMemory(loop) {
		r := bytesOf(loop.Op, memory, false)
		if w.open(p) {
			addSpan(&w.level.exposed.shared, r)
		}
		addSpan(&p.shared, r)
	}
}

// withInits adds to the coverage of a loop's result tokens that of their initial values, for the case that the loop has no iteration.
func (w *inserter) withInits(op *ir.Op, tokens []coverage) []coverage {
	tokens = slices.Clone(tokens)
	loop, _ := ir.LoopOf(op)
	for i, v := range loop.Inits() {
		w.s.Step()
		if tileaa.IsToken(v) {
			for len(tokens) <= i {
				tokens = append(tokens, coverage{})
			}
			tokens[i] = tokens[i].union(coverage{list: []covered{{outer: v, when: w.clock}}}, w.clock)
		}
	}
	return tokens
}

// summaryOf walks a loop, unless that was done with the same copies in flight, or with more.
func (w *inserter) summaryOf(op *ir.Op, p *pending) *summary {
	sum := w.summaries[op]
	within := p.copy()
	loop, _ := ir.LoopOf(op)
	within.cross(entering(loop), func(*ir.Value) bool { return false })
	first := within.inFlight
	if sum != nil && covers(sum.first, first) {
		return sum
	}
	if sum != nil {
		for _, f := range sum.first {
			addFlight(&first, f)
		}
	}
	outer, dry := w.level, w.dry
	w.level, w.dry = &level{}, true
	sum = w.summarize(op, first)
	w.level, w.dry = outer, dry
	w.summaries[op] = sum
	return sum
}

// maxWalks bounds the walks of a loop to the fixpoint. Two are enough, unless tokens change places from iteration to iteration or copies
// stay in flight for several, each of which takes a walk to see. The last walks start from the top of the lattice.
const maxWalks = 2 * cost.MaxSlots

// summarize walks the body of a loop without inserting anything, until the state at its start includes what its end leaves: the fixpoint.
func (w *inserter) summarize(op *ir.Op, first []flight) *summary {
	l := w.level
	loop, _ := ir.LoopOf(op)
	back, tokens := &pending{}, make([]coverage, len(loop.Inits()))
	for walk := 1; ; walk++ {
		w.walk(op, first, back, tokens)
		end := l.conts.state
		if end == nil {
			break
		}
		for i := range l.conts.tokens {
			l.conts.tokens[i] = l.conts.tokens[i].inNextIteration(op)
		}
		if back.includes(end) && includesAll(tokens, l.conts.tokens) || walk > maxWalks {
			break
		}
		back.join(end.afterLoop())
		for i, c := range l.conts.tokens {
			w.s.Step()
			tokens[i] = tokens[i].union(c, l.start)
		}
		if walk == maxWalks {
			back.setTop()
			for i := range tokens {
				tokens[i].all = l.start
			}
		}
	}
	sum := &summary{level: l, first: first, back: back, carried: tokens, exposed: l.exposed, zeroTrip: loop.Kind == ir.CountedFlow}
	out := l.breaks
	if sum.zeroTrip {
		out = l.conts
		out.state = out.after
	}
	sum.end, sum.tokens = out.state, out.tokens
	for _, f := range first {
		if f.op != nil && sum.end != nil && w.copyDone[f.op] >= sum.end.synced {
			sum.waited = append(sum.waited, f.op)
		}
	}
	sum.transparent = sum.zeroTrip || out.state != nil && w.open(out.state)
	if l.conts.state == nil || !w.open(l.conts.state) {
		sum.exposed.shared = spansBeforeLoop(sum.exposed.shared, loop)
	}
	sum.exposed.shared = spansOutsideLoop(sum.exposed.shared, func(v *ir.Value) bool { return w.proofs.definedInside(v, op) })
	return sum
}

// walk goes through the body of a loop once.
func (w *inserter) walk(op *ir.Op, first []flight, back *pending, tokens []coverage) {
	l := w.level
	loop, _ := ir.LoopOf(op)
	inits := loop.Inits()
	l.start = w.tick()
	l.exposed, l.conts, l.breaks = exposedAccesses{}, join{}, join{}
	for i, a := range loop.Carried() {
		w.s.Step()
		if tileaa.IsToken(a) {
			c := coverage{list: []covered{{outer: inits[i], when: l.start}}}
			w.tokens[a] = tokenOf{l, c.union(tokens[i].at(l.start), l.start)}
		}
	}
	w.visitBlock(op.Body(), back.begin(l.start, first))
}

func includesAll(have, want []coverage) bool {
	for i, c := range want {
		if !have[i].includes(c) {
			return false
		}
	}
	return true
}
