// Package sync gives buffers their place in shared memory and puts accesses in order.
package sync

import (
	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/internal/planted"
	"tileiras/ir"
	"tileiras/passes/facts"
	"tileiras/passes/pass"
)

// insert-barriers owns every barrier. One stands
//
//   - between two accesses to overlapping bytes of shared memory of which one writes; a barrier of each warp alone is enough when
//     every warp touches its own part of a buffer on both sides;
//   - on a token edge between two accesses to global memory of which one writes, unless it is proven that every byte is touched by
//     the same thread on both sides (barrier_proofs.go);
//   - after an acquire and before a release, which act for the whole tile block and are executed by one thread.
//
// A copy in flight reads its source and writes its buffer until its thread has waited for it; where something that must come after
// it does not find a wait, one is put there.
//
// The pass is a walk in program order with the state of what happened since the last barrier (barrier_state.go); after an if it is
// the union of both ways. The walk of a loop begins with nothing, and is repeated with what the end of its body leaves, so that the
// end meets the beginning; barriers are put in by a last one. What is around the loop sees its summary only: the accesses before the first barrier in it, whose
// conflicts with what came before are settled by one barrier before the loop, and what its end leaves. So a loop in loops is not
// walked again for each of them, and time is linear in the length of the kernel.
func InsertBarriers(s *pass.State) error {
	known := facts.New(s.Module)
	for _, entry := range s.Entries() {
		w := &fencer{s: s, b: ir.NewBuilder(s.Ctx), warps: tileaa.PlanOf(entry).Warps, tokens: map[*ir.Value]tokenOf{},
			summaries: map[*ir.Op]*summary{}, proofs: newProofs(s, known, entry)}
		w.level = &level{}
		w.clock++
		w.level.start = w.clock
		w.block(entry.Body(), &pending{met: w.level.start})
	}
	return nil
}

type fencer struct {
	s         *pass.State
	b         *ir.Builder
	warps     int
	dry       bool // nothing is put in: what happens is only found out
	clock     int  // rises with every access and barrier
	level     *level
	tokens    map[*ir.Value]tokenOf
	summaries map[*ir.Op]*summary
	proofs    *proofs
}

// level is the walk of one loop body, or of the entry.
type level struct {
	start   int // when it began
	exposed exposed
	conts   ways // of the continues
	breaks  ways
	yields  []*ways // of the ifs around, innermost last
}

// ways collects what several ways leave behind, as it is seen where they lead to.
type ways struct {
	state  *pending
	after  *pending // of the continues of a counted loop: as it is seen after the loop
	tokens []coverage
}

// tokenOf is what a token covers, in terms of the level where it was made.
type tokenOf struct {
	level *level
	coverage
}

func (w *fencer) tick() int { w.clock++; return w.clock }

// open reports whether some way from the beginning of the level leads here without a barrier.
func (w *fencer) open(p *pending) bool { return p.met <= w.level.start }

// block walks a block with the state at its start and leaves the state at its end in p.
func (w *fencer) block(b *ir.Block, p *pending) {
	for op := b.First(); op != nil; op = op.Next() {
		w.op(op, p)
	}
}

func (w *fencer) op(op *ir.Op, p *pending) {
	w.s.Step()
	switch op.Code() {
	case tileaa.OpBarrier:
		w.barrierMet(ir.Cast[tileaa.Barrier](op), p)
	case tileaa.OpAsyncCommit:
		p.commit()
	case tileaa.OpAsyncWait:
		p.land(int(ir.Cast[tileaa.AsyncWait](op).Pending()))
	case tileaa.OpFor, tileaa.OpLoop:
		w.loop(op, p)
	case tileaa.OpIf:
		w.branch(op, p)
	case tileaa.OpContinue:
		w.leave(&w.level.conts, op, p)
	case tileaa.OpBreak:
		w.leave(&w.level.breaks, op, p)
	case tileaa.OpYield:
		w.leave(w.level.yields[len(w.level.yields)-1], op, p)
	case tileaa.OpReturn:
		p.dead = true
	default:
		w.access(op, p)
	}
}

// barrierMet takes note of a barrier that stands there: of all threads, or of the lanes of each warp. One of some warps orders
// nothing between the others.
func (w *fencer) barrierMet(b tileaa.Barrier, p *pending) {
	switch {
	case b.Warp() && w.warps > 1:
		p.meet()
	case w.ofAll(b):
		p.clear(w.tick())
	}
}

// ofAll reports whether all threads of the block meet at a barrier.
func (w *fencer) ofAll(b tileaa.Barrier) bool {
	threads, some := b.Threads()
	return w.warps == 1 || !b.Warp() && (!some || threads == 0 || int(threads) == 32*w.warps)
}

// leave ends the way at a terminator: what it leaves goes to where the terminator jumps.
func (w *fencer) leave(to *ways, op *ir.Op, p *pending) {
	if !p.dead {
		if to.tokens == nil {
			to.tokens = make([]coverage, op.NumOperands())
		}
		for i, v := range op.Operands() {
			if tileaa.IsToken(v) {
				to.tokens[i] = to.tokens[i].union(w.cover(v, p), w.clock)
			}
		}
		target := ir.Target(op)
		gone := func(v *ir.Value) bool { return w.proofs.inside(v, target) }
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
func joined(state, p *pending, way passage, gone func(*ir.Value) bool) *pending {
	p = p.copy()
	p.through(way, gone)
	if state == nil {
		return p
	}
	state.join(p)
	return state
}

// branch walks both sides of an if.
func (w *fencer) branch(op *ir.Op, p *pending) {
	out := &ways{}
	w.level.yields = append(w.level.yields, out)
	for i := range 2 {
		side := p.copy()
		if i < op.NumRegions() && op.Regions()[i].Front() != nil {
			w.block(op.Regions()[i].Front(), side)
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

// results notes what the tokens cover that an op with regions gives. Tokens of outside, in terms of which the level within speaks,
// are looked up in the state p; with within nil, there is no such level.
func (w *fencer) results(op *ir.Op, tokens []coverage, within *level, p *pending) {
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
func (w *fencer) resolve(c coverage, p *pending) coverage {
	out := coverage{all: c.all}
	for _, e := range c.list {
		if e.outer == nil {
			out = out.union(coverage{list: []covered{e}}, w.clock)
		} else {
			out = out.union(w.cover(e.outer, p), w.clock)
		}
	}
	return out
}

// cover is what a token covers that is still pending.
func (w *fencer) cover(v *ir.Value, p *pending) coverage {
	if v == nil {
		return coverage{}
	}
	if t, ok := w.tokens[v]; ok && t.level == w.level {
		return t.since(p.met)
	}
	if !w.open(p) {
		return coverage{}
	}
	return coverage{list: []covered{{outer: v, when: w.level.start}}}
}

// access puts a barrier before an op that touches memory if one is needed, and notes what it does.
func (w *fencer) access(op *ir.Op, p *pending) {
	spans := accesses(op)
	order := w.ordered(op, p)
	needed := order.requirement
	for _, r := range spans {
		needed = needed.with(p.conflict(r, w.proofs))
	}
	w.settle(op, p, needed)
	if w.open(p) {
		w.expose(op, order.after, spans)
	}
	covers := order.after
	if kind := kindOf(op); kind != 0 {
		p.note(kind, w.tick())
		covers = covers.union(coverage{list: []covered{{op: op, when: w.clock}}}, w.clock)
	}
	for _, r := range op.Results() {
		if tileaa.IsToken(r) {
			w.tokens[r] = tokenOf{w.level, covers}
		}
	}
	for _, r := range spans {
		if op.Code() == tileaa.OpAsyncCopy {
			p.fly(flight{span: r, op: op})
		} else {
			addSpan(&p.shared, r)
		}
	}
	if orders(op, def.Acquire) && !w.followed(op) {
		if w.dry {
			p.clear(w.tick())
			return
		}
		w.b.After(op)
		w.barrier(op.Loc())
	}
}

// followed reports whether a barrier of all threads comes next.
func (w *fencer) followed(op *ir.Op) bool {
	b, ok := ir.As[tileaa.Barrier](op.Next())
	return ok && w.ofAll(b)
}

// ordering is what the token of an op, or its release semantics, ask for.
type ordering struct {
	after coverage // what it comes after
	requirement
}

// ordered finds who must meet before an op because of its order.
func (w *fencer) ordered(op *ir.Op, p *pending) ordering {
	var o ordering
	for _, v := range op.Operands() {
		if tileaa.IsToken(v) {
			o.after = o.after.union(w.cover(v, p), w.clock)
		}
	}
	kind := kindOf(op)
	switch {
	case kind == 0:
	case ordersAll(op):
		o.requirement = p.requireAll(ordered)
	default:
		o.requirement = w.require(o.after, op, p)
	}
	return o
}

// requirement is who must meet before op, which comes after what c covers.
func (w *fencer) require(c coverage, op *ir.Op, p *pending) requirement {
	var d requirement
	if planted.On("lost-token") {
		return d
	}
	kind := kindOf(op)
	if c.all >= p.met && c.all > 0 {
		d = p.requireAll(kind)
	}
	for _, e := range c.list {
		if e.op == nil || !conflicting(kindOf(e.op), kind) {
			continue
		}
		if e.op.Code() == tileaa.OpAsyncCopy {
			d.wait = d.wait.with(p.waitFor(e.op))
		}
		if d.who != everybody && !w.proofs.sameThreads(e, op) {
			d.who = everybody
		}
	}
	return d
}

// settle puts the wait and the barrier that are needed before op.
func (w *fencer) settle(op *ir.Op, p *pending, needed requirement) {
	w.b.Before(op)
	w.b.Loc = op.Loc()
	if needed.wait != noWait {
		groups := int(needed.wait) - 1
		if needed.wait == forUncommitted {
			if !w.dry {
				tileaa.NewAsyncCommit(w.b)
			}
			p.commit()
			groups = 0
		}
		if !w.dry {
			tileaa.NewAsyncWait(w.b, int64(groups))
		}
		p.land(groups)
	}
	drop := needed.who == everybody && (planted.On("drop-barrier") && op.Code() == tileaa.OpBufferLoad ||
		planted.On("drop-ring-barrier") && op.Code() == tileaa.OpAsyncCopy)
	if needed.who != nobody && !w.dry && !drop {
		w.barrier(op.Loc()).SetWarp(needed.who == lanes || w.warps == 1)
	}
	switch needed.who {
	case everybody:
		p.clear(w.tick())
	case lanes:
		p.meet()
	}
}

// barrier makes a barrier of the thread block; one warp alone meets by bar.warp.sync.
func (w *fencer) barrier(loc ir.Location) tileaa.Barrier {
	w.b.Loc = loc
	return tileaa.NewBarrier(w.b, tileaa.BarrierOptions{Warp: w.warps == 1})
}
