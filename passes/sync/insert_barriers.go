// Package sync puts accesses to memory in order: the barriers of a tile block, and a judge of them that runs every thread of a small grid.
package sync

import (
	"slices"

	"tileiras/codegen/layout"
	"tileiras/codegen/planted"
	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/passes/facts"
	"tileiras/passes/kernel"
	"tileiras/passes/memory"
	"tileiras/passes/pass"
)

// InsertBarriers owns every barrier. One stands
//
//   - between two accesses to overlapping bytes of shared memory of which one writes; a barrier of each warp alone is enough when
//     every warp touches its own part of a buffer on both sides;
//   - on a token edge between two accesses to global memory of which one writes, unless it is proven that every byte is touched by
//     the same thread on both sides (barrier_proofs.go);
//   - between two accesses to bytes of the tile block's memory that belonged to two slots (barrier_alloca.go);
//   - after an acquire and before a release, which act for the whole tile block and are executed by one thread.
//
// A copy in flight reads its source and writes its buffer until its thread has waited for it; where something that must come after
// it does not find a wait, one is put there.
//
// The pass is a walk in program order with the state of what happened since the last barrier (barrier_state.go); after an if it is
// the union of both ways. The walk of a loop begins with nothing, and is repeated with what the end of its body leaves, so that the
// end meets the beginning; barriers are put in by a last one. What is around the loop sees its summary only: the accesses before the first barrier in it, whose
// conflicts with what came before are resolved by one barrier before the loop, and what its end leaves. So a loop in loops is not
// walked again for each of them, and time is linear in the length of the kernel.
func InsertBarriers(s *pass.State) error {
	known := facts.New(s.Ctx, s.Module)
	for _, entry := range s.Entries() {
		readStoredFirst(s, entry)
		boundProducts(s.Ctx, entry)
		newInserter(s, known, entry).walkBody(entry)
	}
	return nil
}

type inserter struct {
	s         *pass.State
	b         *ir.Builder
	warps     int
	role      *ir.Op // nil: the entry
	id        int    // of the barrier of its threads; 0 is that of the tile block
	dry       bool   // nothing is put in: what happens is only found out
	clock     int    // rises with every access and barrier
	level     *level
	tokens    map[*ir.Value]tokenOf
	summaries map[*ir.Op]*summary
	copyDone  map[*ir.Op]int // when copies were waited for
	tensor    span           // what a wait for products of the tensor unit reads, if there is tensor memory
	proofs    *proofs
}

// newInserter is for an entry or a role, whose warps have accesses and barriers of their own.
func newInserter(s *pass.State, known *facts.Facts, op *ir.Op) *inserter {
	w := &inserter{s: s, b: ir.NewBuilder(s.Ctx), warps: tileaa.RunningWarps(op), tokens: map[*ir.Value]tokenOf{},
		summaries: map[*ir.Op]*summary{}, copyDone: map[*ir.Op]int{}, proofs: newProofs(s, known, op)}
	for _, alloc := range ir.OpsOf[tileaa.AllocTensor](tileaa.EntryOf(op).Body()) {
		w.tensor = bytesOf(alloc.Op, alloc.Result(), false)
	}
	return w
}

// walkBody walks the body of an entry or a role, before which nothing is pending.
func (w *inserter) walkBody(op *ir.Op) {
	w.level = &level{}
	w.clock++
	w.level.start = w.clock
	w.level.yields = []*join{{}}
	w.visitBlock(op.Body(), &pending{synced: w.level.start})
}

// level is the walk of one loop body, of the entry or of a role.
type level struct {
	start   int // when it began
	exposed exposedAccesses
	conts   join // of the continues
	breaks  join
	yields  []*join // of the ifs around, innermost last
}

// join collects what several ways leave behind, as it is seen where they lead to.
type join struct {
	state  *pending
	after  *pending // of the continues of a counted loop: as it is seen after the loop
	tokens []coverage
}

// tokenOf is what a token covers, in terms of the level where it was made.
type tokenOf struct {
	level *level
	coverage
}

func (w *inserter) tick() int { w.clock++; return w.clock }

// open reports whether some way from the beginning of the level leads here without a barrier.
func (w *inserter) open(p *pending) bool { return p.synced <= w.level.start }

// visitBlock walks a block with the state at its start and leaves the state at its end in p.
func (w *inserter) visitBlock(b *ir.Block, p *pending) {
	for op := b.First(); op != nil; op = op.Next() {
		w.visit(op, p)
	}
}

func (w *inserter) visit(op *ir.Op, p *pending) {
	w.s.Step()
	switch op.Code() {
	case tileaa.OpBarrier:
		w.visitBarrier(ir.Cast[tileaa.Barrier](op), p)
	case tileaa.OpAsyncCommit:
		p.commit(copies)
	case tileaa.OpAsyncWait:
		w.retire(p, int(ir.Cast[tileaa.AsyncWait](op).Pending()))
	case tileaa.OpDotWait:
		w.waitProducts(p, int(ir.Cast[tileaa.DotWait](op).Pending()))
	case tileaa.OpFor, tileaa.OpLoop:
		w.visitLoop(op, p)
	case tileaa.OpIf:
		w.visitIf(op, p)
	case tileaa.OpRoles:
		w.visitRoles(ir.Cast[tileaa.Roles](op), p)
	case tileaa.OpContinue:
		w.jump(&w.level.conts, op, p)
	case tileaa.OpBreak:
		w.jump(&w.level.breaks, op, p)
	case tileaa.OpYield:
		w.jump(w.level.yields[len(w.level.yields)-1], op, p)
	case tileaa.OpReturn:
		p.dead = true
	case tileaa.OpAlloca:
		w.visitAlloca(ir.Cast[tileaa.Alloca](op), p)
	default:
		w.visitAccess(op, p)
	}
}

// visitBarrier takes note of a barrier that stands there: of all threads, or of the lanes of each warp. One of some warps orders
// nothing between the others.
func (w *inserter) visitBarrier(b tileaa.Barrier, p *pending) {
	switch {
	case b.Warp() && w.warps > 1:
		p.syncLanes()
	case w.ofAll(b):
		p.syncAll(w.tick())
	}
}

// ofAll reports whether all threads of the block meet at a barrier.
func (w *inserter) ofAll(b tileaa.Barrier) bool {
	threads, some := b.Threads()
	return w.warps == 1 || !b.Warp() && (!some || threads == 0 || int(threads) == layout.WarpSize*w.warps)
}

// jump ends the way at a terminator: what it leaves goes to where the terminator jumps.
func (w *inserter) jump(to *join, op *ir.Op, p *pending) {
	if !p.dead {
		if to.tokens == nil {
			to.tokens = make([]coverage, op.NumOperands())
		}
		for i, v := range op.Operands() {
			if tileaa.IsToken(v) {
				to.tokens[i] = to.tokens[i].union(w.coverageOf(v, p), w.clock)
			}
		}
		target := ir.Target(op)
		gone := func(v *ir.Value) bool { return w.proofs.definedInside(v, target) }
		loop, isLoop := ir.LoopOf(target)
		if isLoop && op.Code() == tileaa.OpContinue {
			if loop.Kind == ir.CountedFlow {
				to.after = joined(to.after, p, leaving(target, op), gone)
			}
			to.state = joined(to.state, p, continuing(loop, op), gone)
		} else {
			to.state = joined(to.state, p, leaving(target, op), gone)
		}
	}
	p.dead = true
}

// joined adds to a state, which may be nil, what p leaves on the way of a passage.
func joined(state, p *pending, way edge, gone func(*ir.Value) bool) *pending {
	p = p.copy()
	p.cross(way, gone)
	if state == nil {
		return p
	}
	state.join(p)
	return state
}

// visitIf walks both sides of an if.
func (w *inserter) visitIf(op *ir.Op, p *pending) {
	out := &join{}
	w.level.yields = append(w.level.yields, out)
	for i := range 2 {
		side := p.copy()
		if i < op.NumRegions() && op.Regions()[i].Front() != nil {
			w.visitBlock(op.Regions()[i].Front(), side)
		}
		switch {
		case side.dead: // it left by its yield or by a jump
		case out.state == nil:
			out.state = side
		default:
			out.state.join(side)
		}
	}
	w.level.yields = w.level.yields[:len(w.level.yields)-1]
	if out.state == nil {
		p.dead = true
		return
	}
	*p = *out.state
	w.results(op, out.tokens, nil, p)
}

// visitRoles lets all threads meet, who have made the mbarriers, and walks the roles. Each works on memory of its own: slots pass from one to
// another at pipelines, which order what both do there.
func (w *inserter) visitRoles(op tileaa.Roles, p *pending) {
	w.b.Before(op.Op)
	tileaa.NewBarrier(w.b, tileaa.BarrierOptions{})
	p.syncAll(w.tick())
	for i, r := range ir.OpsOf[tileaa.Role](op.Body()) {
		of := newInserter(w.s, w.proofs.facts, r.Op)
		of.role, of.id = r.Op, i+1
		of.walkBody(r.Op)
	}
}

// results notes what the tokens cover that an op with regions gives. Tokens of outside, in terms of which the level within speaks,
// are looked up in the state p; with within nil, there is no such level.
func (w *inserter) results(op *ir.Op, tokens []coverage, within *level, p *pending) {
	now := w.tick()
	for i, r := range op.Results() {
		if !tileaa.IsToken(r) || i >= len(tokens) {
			continue
		}
		c := tokens[i]
		if within != nil {
			c = w.resolve(c, p)
		}
		w.tokens[r] = tokenOf{w.level, c.at(now)}
	}
}

// resolve replaces tokens of outside by what they cover in the state p.
func (w *inserter) resolve(c coverage, p *pending) coverage {
	out := coverage{all: c.all}
	for _, e := range c.list {
		if e.outer == nil {
			out = out.union(coverage{list: []covered{e}}, w.clock)
		} else {
			out = out.union(w.coverageOf(e.outer, p), w.clock)
		}
	}
	return out
}

// retire notes which copies a wait for all groups but the newest n ends: they have read now. Until then a barrier does not end them.
func (w *inserter) retire(p *pending, n int) {
	now := w.tick()
	for _, f := range p.inFlight {
		if f.engine == copies && f.age > n {
			w.copyDone[f.op] = now
			p.note(kernel.WeakRead, now)
		}
	}
	p.wait(copies, n)
}

// waitProducts is a wait for all products but the newest n. On the tensor unit each thread looks at the mbarriers of tensor memory for itself: a later
// product may arrive there again when all have looked.
func (w *inserter) waitProducts(p *pending, n int) {
	p.wait(products, n)
	if w.tensor.buffer != nil {
		addSpan(&p.shared, w.tensor)
	}
}

// coverageOf is what a token covers that is still pending.
func (w *inserter) coverageOf(v *ir.Value, p *pending) coverage {
	if v == nil {
		return coverage{}
	}
	if t, ok := w.tokens[v]; ok && t.level == w.level {
		c := t.afterBarrier(p.synced, func(op *ir.Op) int { return w.completedAt(op, p) })
		dropped := func(e covered) bool { return e.outer != nil && e.when < p.synced }
		if t.all > 0 && t.all < p.synced || slices.ContainsFunc(t.list, dropped) { // a barrier ends all that these cover but copies
			c = c.union(w.copiesOf(v, p), w.clock)
		}
		return c
	}
	if !w.open(p) {
		return w.copiesOf(v, p)
	}
	return coverage{list: []covered{{outer: v, when: w.level.start}}}
}

// completedAt is when a copy was waited for; now if it is in flight.
func (w *inserter) completedAt(op *ir.Op, p *pending) int {
	if p.waitFor(op) != noWait {
		return w.clock
	}
	return max(w.copyDone[op], w.copyDone[nil])
}

// copiesOf is the copies that a token of outside covers and that were in flight after the last barrier, which ends nothing else.
func (w *inserter) copiesOf(v *ir.Value, p *pending) (c coverage) {
	seen := map[*ir.Value]bool{}
	var visit func(v *ir.Value)
	visit = func(v *ir.Value) {
		w.s.Step()
		if seen[v] {
			return
		}
		seen[v] = true
		t := w.tokens[v]
		if t.all > 0 && (len(p.inFlight) > 0 || p.hasRead()) {
			c.all = w.clock
		}
		for _, e := range t.list {
			if e.outer != nil {
				visit(e.outer)
			} else if e.op.Code() == tileaa.OpAsyncCopy && w.completedAt(e.op, p) >= p.synced {
				c = c.union(coverage{list: []covered{{op: e.op, carried: e.carried, when: w.clock}}}, w.clock)
			}
		}
	}
	visit(v)
	return c
}

// visitAccess puts a barrier before an op that touches memory if one is needed, and notes what it does.
func (w *inserter) visitAccess(op *ir.Op, p *pending) {
	spans, product := w.own(op), tileaa.RunsAsync(op)
	_, unit := tileaa.OnTensorUnit(op)
	for i, r := range spans {
		spans[i].unit = unit && isTensorMemory(r.buffer)
	}
	order := w.orderOf(op, p)
	needed := order.requirement
	for _, r := range spans {
		if !lands(op) || overOthers(op) {
			needed = needed.and(p.conflict(r, w.proofs))
		}
	}
	slot, reaches := w.reachOf(op)
	if reaches {
		needed = needed.and(p.meet(slot, w.proofs))
	}
	if op.Code() == tileaa.OpAsyncCopy && needed.wait[products] != noWait {
		needed.participants = everybody // who meet here for what other copies have brought, and not when these have begun
	}
	if needed.participants == everybody {
		needed = needed.and(w.copiesBefore(order.after, op, p))
	}
	w.synchronize(op, p, needed)
	if w.open(p) {
		w.expose(op, order.after, spans)
	}
	if reaches {
		w.reach(slot, p)
	}
	covers := order.after
	if kind := kernel.AccessKindsOf(op); kind != 0 {
		p.note(kind, w.tick())
		covers = covers.union(coverage{list: []covered{{op: op, when: w.clock}}}, w.clock)
	}
	for _, r := range op.Results() {
		if tileaa.IsToken(r) {
			w.tokens[r] = tokenOf{w.level, covers}
		}
	}
	for range counted(op) {
		p.commit(products)
	}
	for _, r := range spans {
		p.add(op, r, product)
	}
	if tileaa.EndsProducts(op) {
		w.waitProducts(p, 0)
	}
	if kernel.HasOrder(op, def.Acquire) && !w.followed(op) {
		if w.dry {
			p.syncAll(w.tick())
			return
		}
		w.b.After(op)
		w.barrier(op.Loc(), everybody)
	}
}

// copiesBefore is the waits for copies in flight that tokens of outside cover, for an op that is not exposed, as a barrier stands in front of it.
func (w *inserter) copiesBefore(c coverage, op *ir.Op, p *pending) (d requirement) {
	for _, e := range c.list {
		if e.outer != nil {
			d = d.and(w.require(w.copiesOf(e.outer, p), op, p))
		}
	}
	return d
}

// add notes that an op touches a span: at once, or until it is waited for.
func (p *pending) add(op *ir.Op, r span, product bool) {
	switch {
	case op.Code() == tileaa.OpAsyncCopy:
		p.issue(flight{span: r, op: op})
	case product && !r.unit:
		p.issue(flight{span: r, engine: products, op: op, age: 1})
	default:
		r.unit = r.unit && product // else its threads have waited at its mbarrier
		addSpan(&p.shared, r)
	}
}

// isTensorMemory reports whether a buffer is where the tensor unit sums. It orders what it does there itself; that all have read before a thread begins
// the next product, and wait for the one before no longer, is for a barrier to see to.
func isTensorMemory(buffer *ir.Value) bool {
	if buffer == nil {
		return false
	}
	_, ok := buffer.Type().(*tileaa.TensorMemoryType)
	return ok
}

// overOthers reports whether an op stores a factor over sums that other warps have taken.
func overOthers(op *ir.Op) bool {
	s, ok := ir.As[tileaa.FactorStore](op)
	return ok && !memory.ReplacesOwnSums(s)
}

// own are the spans of an op that nobody else orders. A copy to memory of outside of a role is ordered where that passes to another role; there
// it is read, until it is memory of this role alone again.
func (w *inserter) own(op *ir.Op) []span {
	spans := accesses(op)
	if w.role == nil || op.Code() != tileaa.OpAsyncCopy {
		return spans
	}
	return slices.DeleteFunc(spans, func(s span) bool { return s.buffer != nil && ir.DefinedOutside(s.buffer, w.role) })
}

// followed reports whether a barrier of all threads comes next.
func (w *inserter) followed(op *ir.Op) bool {
	b, ok := ir.As[tileaa.Barrier](op.Next())
	return ok && w.ofAll(b)
}

// ordering is what the token of an op, or its release semantics, ask for.
type ordering struct {
	after coverage // what it comes after
	requirement
}

// orderOf finds who must meet before an op because of its order.
func (w *inserter) orderOf(op *ir.Op, p *pending) ordering {
	var o ordering
	for _, v := range op.Operands() {
		if tileaa.IsToken(v) {
			o.after = o.after.union(w.coverageOf(v, p), w.clock)
		}
	}
	kind := kernel.AccessKindsOf(op)
	switch {
	case kind == 0:
	case kernel.OrdersAll(op):
		o.requirement = p.requireAll(kernel.Ordered)
	default:
		o.requirement = w.require(o.after, op, p)
	}
	return o
}

// require is who must meet before op, which comes after what c covers.
func (w *inserter) require(c coverage, op *ir.Op, p *pending) requirement {
	var d requirement
	if planted.On("lost-token") {
		return d
	}
	kind := kernel.AccessKindsOf(op)
	if c.all >= p.synced && c.all > 0 {
		d = p.requireAll(kind)
	}
	for _, e := range c.list {
		if e.op == nil || !kernel.Conflicting(kernel.AccessKindsOf(e.op), kind) {
			continue
		}
		if e.op.Code() == tileaa.OpAsyncCopy {
			d.wait[copies] = d.wait[copies].and(p.waitFor(e.op))
		}
		if d.participants != everybody && !w.proofs.sameThreads(e, op) {
			d.participants = everybody
		}
	}
	return d
}

// synchronize puts the wait and the barrier that are needed before op.
func (w *inserter) synchronize(op *ir.Op, p *pending, needed requirement) {
	w.b.Before(op)
	w.b.Loc = op.Loc()
	if wait := needed.wait[products]; wait != noWait {
		groups := int(wait) - 1
		if !w.dry {
			tileaa.NewDotWait(w.b, int64(groups))
		}
		w.waitProducts(p, groups)
	}
	if wait := needed.wait[copies]; wait != noWait {
		groups := int(wait) - 1
		if wait == forUncommitted {
			if !w.dry {
				tileaa.NewAsyncCommit(w.b)
			}
			p.commit(copies)
			groups = 0
		}
		if !w.dry {
			tileaa.NewAsyncWait(w.b, int64(groups))
		}
		w.retire(p, groups)
	}
	drop := needed.participants == everybody && (planted.On("drop-barrier") && op.Code() == tileaa.OpBufferLoad ||
		planted.On("drop-ring-barrier") && op.Code() == tileaa.OpAsyncCopy)
	if needed.participants != nobody && !w.dry && !drop {
		w.barrier(op.Loc(), needed.participants)
	}
	switch needed.participants {
	case everybody:
		p.syncAll(w.tick())
	case lanes:
		p.syncLanes()
	}
}

// barrier makes a barrier of the threads of the block, of those of a role, or of the lanes of each warp; one warp alone meets by bar.warp.sync.
func (w *inserter) barrier(loc ir.Location, who participants) {
	w.b.Loc = loc
	o := tileaa.BarrierOptions{Warp: who == lanes || w.warps == 1}
	if id, threads := int64(w.id), int64(layout.WarpSize*w.warps); id > 0 && !o.Warp {
		o.Id, o.Threads = &id, &threads
	}
	tileaa.NewBarrier(w.b, o)
}
