package sync

import (
	"fmt"
	"slices"
	"strings"

	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/memory"
	"tileiras/passes/pass"
)

// CheckSync is a judge of what the passes before it have made: buffers, rings, pipelines, waits and barriers. It asks no analysis of theirs but
// runs the skeleton of an entry (check_sync_run.go) with loops that run no time, once, twice, as often as there are slots and once more, and with
// both sides of branches, and looks at what every thread does about shared memory:
//
//   - what is read of a buffer has been written, and of a ring it is what was filled for this iteration: the n-th iteration reads the n-th copy, or between
//     roles what the other's n-th iteration filled;
//   - a copy was waited for, and the wait leaves no group pending that is needed; so was a product in flight before what it reads is written, and before what it
//     sums is taken;
//   - between two accesses to the same bytes of which one writes all threads meet; the lanes of warps, where each warp touches its own elements;
//   - all threads meet between two accesses to slots of the tile block's memory (alloca) of two iterations, unless each byte that both touch is one thread's;
//   - between roles an access comes after the other's if the slot has passed from one to the other since;
//   - roles count slots alike and none waits for ever; at the end every slot that was filled was received and released.
//
// Roles are deterministic programs that block on queues, so one order of their steps stands for all of them (Kahn, 1974).
//
// For a kernel with loops in loops there are so many runs that they take longer than a compile: the pass runs where somebody names it, and in tests.
func CheckSync(s *pass.State) error {
	for _, entry := range s.Entries() {
		k := newSkeleton(s, entry)
		if k == nil {
			continue
		}
		alone, parts := map[[2]*layout.Layout]bool{}, map[[2]*ir.Op]bool{}
		for n := 0; n < 2*manyRuns; n++ {
			t := k.run()
			if f := newJudge(s, t, alone, parts).judge(); f != nil {
				f.report(s, k)
				return pass.ErrInvalid
			}
			if n >= manyRuns {
				k.again(uint64(n))
			} else if !k.next() {
				break
			}
		}
	}
	return nil
}

// manyRuns is how many runs are made with choices in turn. Where that was not all, as many follow with choices at random.
const manyRuns = 150

// fault is what is wrong in a run.
type fault struct {
	op   *ir.Op
	text string
	with *ir.Op // what it is in conflict with
}

// report says where a fault is, and in which run.
func (f *fault) report(s *pass.State, k *skeleton) {
	d := s.Ctx.Diags.Add(ir.Error, f.op.Loc(), "%s %s", f.op.Def.Name, f.text)
	if f.with != nil {
		d.Note(f.with.Loc(), "here is the %s", f.with.Def.Name)
	}
	var ways []string
	for _, c := range k.choices {
		if !c.seen {
			continue
		}
		switch bits := c.options[c.taken]; c.op.Code() {
		case tileaa.OpIf:
			ways = append(ways, fmt.Sprintf("a branch goes its %s way", map[bool]string{true: "first", false: "second"}[bits != 0]))
		case tileaa.OpFor:
			ways = append(ways, fmt.Sprintf("a loop has the bound %d", bits))
		default:
			ways = append(ways, fmt.Sprintf("%s is given %d", c.op.Def.Name, bits))
		}
	}
	if len(ways) > 0 {
		d.Note(f.op.Loc(), "this happens where %s", strings.Join(ways, ", "))
	}
}

// judge looks at a run.
type judge struct {
	s      *pass.State
	actors []*actor // the entry up to its roles, then the roles
	cells  []*cell
	queues []*queue
	slots  map[*ir.Op][]*slotAccess   // by the alloca
	alone  map[[2]*layout.Layout]bool // whether each warp reads of a buffer what it has stored there
	parts  map[[2]*ir.Op]bool         // whether warps store a factor only where they have taken sums
	cut    bool                       // the run did not come to its end
}

// actor is the threads of a role, or of the entry. Times are the numbers of its events, from 1.
type actor struct {
	number, warps int
	role          bool
	trace         []event
	time          int
	met, lanesMet int   // when all its threads, and the lanes of each warp, met last
	inits         int   // when it made mbarriers last
	knows         []int // of each actor, up to when its events come before what this one does now
	open          []*access
	groups        [][]*access // of copies that are pending, the oldest first
	products      [][]*access // products in flight and what they read, the oldest first
}

// access is a touch of bytes.
type access struct {
	op     *ir.Op
	by     *actor
	time   int
	done   int            // when that was over for its thread, a copy or a product when it was waited for; 0: not yet
	seen   *actor         // who waited for a copy at a pipeline, at the time done
	known  uint64         // the actors, by number, to whom a pipeline has said that it is over
	layout *layout.Layout // in which all of a buffer is stored or loaded; nil: another access
}

// cell is bytes of shared memory: those of a buffer or a slot.
type cell struct {
	lo, hi int
	holds  *ir.Value // the buffer or ring of which it holds what was written last; nil: other bytes were written over it
	number int       // of the copies into the ring, from 0
	write  *access
	reads  []*access
}

// queue is the order of a ring or a pipeline.
type queue struct {
	made    *ir.Value
	slots   int
	fills   int // of a ring: the copies into it,
	rounds  int // and the iterations that read it
	counts  map[ir.Code]int
	full    []passed // of a pipeline: the commits,
	emptied []passed // and the releases
}

// passed is what a commit or a release passes on: its vector clock, and the copies that must complete, or what products in flight read.
type passed struct {
	clock []int
	after []*access
}

func newJudge(s *pass.State, t *thread, alone map[[2]*layout.Layout]bool, parts map[[2]*ir.Op]bool) *judge {
	j := &judge{s: s, slots: map[*ir.Op][]*slotAccess{}, alone: alone, parts: parts}
	for i, u := range append([]*thread{t}, t.roles...) {
		j.actors = append(j.actors, &actor{number: i, warps: tileaa.RunningWarps(u.role), role: i > 0, trace: u.trace, knows: make([]int, len(t.roles)+1)})
		j.cut = j.cut || u.cut
	}
	return j
}

// judge gives what is wrong first, or nil.
func (j *judge) judge() *fault {
	entry, roles := j.actors[0], j.actors[1:]
	if f := j.advance(entry); f != nil {
		return f
	}
	if len(roles) > 0 && entry.inits > entry.met {
		return &fault{op: entry.trace[len(entry.trace)-1].op, text: "begins before all threads see the mbarriers"}
	}
	for at := -1; at != j.events(); {
		at = j.events()
		for _, a := range roles {
			a.knows[0] = entry.time
			if f := j.advance(a); f != nil {
				return f
			}
		}
	}
	if j.cut {
		return nil
	}
	var waiting []*ir.Op
	for _, a := range roles {
		if a.time < len(a.trace) {
			waiting = append(waiting, a.trace[a.time].op)
		}
	}
	if len(waiting) > 0 {
		return &fault{waiting[0], "waits for ever", waiting[len(waiting)-1]}
	}
	for _, q := range j.queues {
		if f := q.end(); f != nil {
			return f
		}
	}
	return nil
}

// events is how many events there were.
func (j *judge) events() (n int) {
	for _, a := range j.actors {
		n += a.time
	}
	return n
}

// advance runs an actor until it ends or blocks.
func (j *judge) advance(a *actor) *fault {
	for a.time < len(a.trace) {
		e := &a.trace[a.time]
		j.s.Step()
		if !j.ready(e) {
			return nil
		}
		a.time++
		if f := j.step(a, e); f != nil {
			return f
		}
	}
	return nil
}

// ready reports whether an event can happen now.
func (j *judge) ready(e *event) bool {
	p, ok := ir.As[tileaa.PipelineOp](e.op)
	if !ok {
		return true
	}
	q := j.queue(p.Pipeline())
	switch n := q.counts[e.op.Code()]; e.op.Code() {
	case tileaa.OpProducerAcquire:
		return n-q.slots < len(q.emptied)
	case tileaa.OpConsumerWait:
		return n < len(q.full)
	}
	return true
}

// step has an actor do what an event says.
func (j *judge) step(a *actor, e *event) *fault {
	switch op := e.op; op.Code() {
	case tileaa.OpAllocPipeline:
		a.inits = a.time
		j.queues = append(j.queues, &queue{made: op.Result(0), slots: int(op.Result(0).Type().(*tileaa.PipelineType).Slots), counts: map[ir.Code]int{}})
	case tileaa.OpAllocRing:
		var f *fault
		if q := j.queue(op.Result(0)); q != nil {
			f = q.end()
			j.queues = slices.DeleteFunc(j.queues, func(o *queue) bool { return o == q })
		}
		j.queues = append(j.queues, &queue{made: op.Result(0), slots: int(op.Result(0).Type().(*tileaa.RingType).Slots)})
		return f
	case tileaa.OpRingSlot:
		p := e.touches[0]
		q := j.queue(p.alloc)
		if p.slot >= q.slots {
			return &fault{op: op, text: fmt.Sprintf("names slot %d of %d", p.slot, q.slots)}
		}
		if readInside(op) {
			q.rounds = max(q.rounds, p.step+1)
		}
	case tileaa.OpAlloca:
		for _, x := range j.slots[op] {
			x.old = true
		}
	case tileaa.OpAsyncCommit:
		a.groups, a.open = append(a.groups, a.open), nil
	case tileaa.OpAsyncWait:
		a.groups = a.retire(a.groups, int(ir.Cast[tileaa.AsyncWait](op).Pending()))
	case tileaa.OpDotWait:
		a.products = a.retire(a.products, int(ir.Cast[tileaa.DotWait](op).Pending()))
	case tileaa.OpBarrier:
		return a.meet(ir.Cast[tileaa.Barrier](op))
	case tileaa.OpProducerAcquire, tileaa.OpProducerCommit, tileaa.OpConsumerWait, tileaa.OpConsumerRelease:
		return j.pass(a, e)
	default:
		if op.Code() == tileaa.OpFor {
			a.products = a.retire(a.products, 0)
		}
		if f := a.tooEarly(op); f != nil {
			return f
		}
		for range counted(op) {
			a.products = append(a.products, []*access{{op: op, by: a, time: a.time}})
		}
		if f := j.touchSlot(a, e); f != nil {
			return f
		}
		for _, t := range e.touches {
			if f := j.touch(a, e.op, t); f != nil {
				return f
			}
		}
		if tileaa.EndsProducts(op) {
			a.products = a.retire(a.products, 0)
		}
	}
	return nil
}

// readInside reports whether only loops or branches within an iteration read its slot: they may run no time.
func readInside(slot *ir.Op) bool {
	inside := false
	for _, user := range tileaa.BufferUsers(slot.Result(0)) {
		if user.Code() == tileaa.OpAsyncCopy || user.Block() == slot.Block() {
			return false
		}
		inside = true
	}
	return inside
}

// tooEarly says that a product in flight still sums in columns of tensor memory that an op takes, scales or stores, or still reads what is there, where an op or
// another product writes.
func (a *actor) tooEarly(op *ir.Op) *fault {
	var touches memory.TensorRegion
	d, begins := tileaa.OnTensorUnit(op) // the unit sums in the order of its products
	if begins {
		touches = memory.TensorRegionOf(d)
	} else if sums, ok := ir.As[tileaa.SumsOp](op); ok {
		d, inTensor := tileaa.ProductOf(sums)
		if !inTensor {
			return nil
		}
		touches = memory.TensorRegionOf(d)
	} else if s, ok := ir.As[tileaa.FactorStore](op); ok {
		touches = memory.FactorRegionOf(s)
	}
	for _, g := range a.products {
		d, ok := tileaa.OnTensorUnit(g[0].op)
		if !ok {
			continue
		}
		if !begins && memory.TensorRegionOf(d).Overlaps(touches) {
			return &fault{op, "takes columns of a product that was not waited for", d.Op}
		}
		if s, ok := ir.DefinedBy[tileaa.FactorStore](d.Lhs()); ok && memory.FactorRegionOf(s).Overlaps(touches) {
			return &fault{op, "writes to columns that a product reads which was not waited for", d.Op}
		}
	}
	return nil
}

// queue is that of a ring or a pipeline.
func (j *judge) queue(made *ir.Value) *queue {
	if i := slices.IndexFunc(j.queues, func(q *queue) bool { return q.made == made }); i >= 0 {
		return j.queues[i]
	}
	return nil
}

// retire waits for all groups but the newest n, which it returns.
func (a *actor) retire(groups [][]*access, n int) [][]*access {
	for len(groups) > n {
		for _, x := range groups[0] {
			x.done = a.time
		}
		groups = groups[1:]
	}
	return groups
}

// meet is a barrier.
func (a *actor) meet(b tileaa.Barrier) *fault {
	a.lanesMet = a.time
	threads, some := b.Threads()
	id, _ := b.Id()
	switch {
	case b.Warp() && a.warps > 1:
		return nil
	case a.role && !b.Warp() && (id == 0 || !some || int(threads) != layout.WarpSize*a.warps):
		return &fault{op: b.Op, text: fmt.Sprintf("is for other threads than the %d of its role", layout.WarpSize*a.warps)}
	case !some || int(threads) == layout.WarpSize*a.warps:
		a.met = a.time
	}
	return nil
}

// pass is an event at a pipeline: number n of each kind is about copy n.
func (j *judge) pass(a *actor, e *event) *fault {
	p := ir.Cast[tileaa.PipelineOp](e.op)
	q := j.queue(p.Pipeline())
	alloc := ir.Cast[tileaa.AllocPipeline](p.Pipeline().DefiningOp())
	code := e.op.Code()
	n := q.counts[code]
	q.counts[code]++
	if int(e.position) != n%q.slots {
		return &fault{e.op, fmt.Sprintf("names slot %d where slot %d is next", e.position, n%q.slots), alloc.Op}
	}
	if phaseOf(e.op) != nil && e.phase != (n/q.slots%2 == 1) {
		return &fault{e.op, fmt.Sprintf("names the wrong phase in round %d of the slots", n/q.slots), alloc.Op}
	}
	clock := slices.Clone(a.knows)
	clock[a.number] = a.time
	switch code {
	case tileaa.OpProducerAcquire:
		if n >= q.slots {
			a.receive(q.emptied[n-q.slots])
		}
	case tileaa.OpConsumerWait:
		a.receive(q.full[n])
	case tileaa.OpProducerCommit:
		threads := layout.WarpSize * a.warps
		if tileaa.TakesMaps(e.op) {
			threads = 1 // copies for all
		}
		q.full, a.open = append(q.full, passed{clock, a.open}), nil
		return arrive(e, threads, alloc, alloc.Producers())
	case tileaa.OpConsumerRelease:
		released := passed{clock: clock}
		if ir.Cast[tileaa.ConsumerRelease](e.op).Unit() {
			released.after = slices.Concat(a.products...)
		}
		q.emptied = append(q.emptied, released)
		return arrive(e, a.warps, alloc, alloc.Consumers())
	}
	return nil
}

// receive joins the clock of what was passed on: an acquire.
func (a *actor) receive(p passed) {
	a.learn(p.clock)
	for _, x := range p.after {
		if x.known |= 1 << a.number; x.done == 0 && !tileaa.RunsAsync(x.op) {
			x.done, x.seen = a.time, a
		}
	}
}

// arrive holds how many arrive at an mbarrier against how many it waits for.
func arrive(e *event, n int, alloc tileaa.AllocPipeline, want int64) *fault {
	if int64(n) == want {
		return nil
	}
	return &fault{e.op, fmt.Sprintf("arrives %d times where %d are waited for", n, want), alloc.Op}
}

// learn joins a vector clock.
func (a *actor) learn(clock []int) {
	for i, t := range clock {
		a.knows[i] = max(a.knows[i], t)
	}
}

// end says what is wrong when a ring or a pipeline is over.
func (q *queue) end() *fault {
	op := q.made.DefiningOp()
	if q.fills != q.rounds {
		return &fault{op: op, text: fmt.Sprintf("was filled %d times for %d iterations", q.fills, q.rounds)}
	}
	for _, c := range []ir.Code{tileaa.OpProducerCommit, tileaa.OpConsumerWait, tileaa.OpConsumerRelease} {
		if q.counts[c] != q.counts[tileaa.OpProducerAcquire] {
			return &fault{op: op, text: fmt.Sprintf("had %d slots acquired, %d committed, %d received and %d released", q.counts[tileaa.OpProducerAcquire],
				q.counts[tileaa.OpProducerCommit], q.counts[tileaa.OpConsumerWait], q.counts[tileaa.OpConsumerRelease])}
		}
	}
	return nil
}

// touch looks at an access, and notes it.
func (j *judge) touch(a *actor, op *ir.Op, t touch) *fault {
	now := &access{op: op, by: a, time: a.time, done: a.time, layout: bufferLayout(op)}
	switch last := len(a.products) - 1; {
	case op.Code() == tileaa.OpAsyncCopy:
		now.done = 0
		a.open = append(a.open, now)
	case tileaa.RunsAsync(op) && !isTensorMemory(t.alloc):
		now.done = 0
		a.products[last] = append(a.products[last], now)
	}
	own := j.cell(t.location)
	for _, c := range j.cells {
		if c.hi <= t.lo || t.hi <= c.lo {
			continue
		}
		if c.write != nil && !lands(op) {
			if why := j.unordered(c.write, now, c == own); why != "" {
				return &fault{op, fmt.Sprintf("%s %s, %s", map[bool]string{false: "reads", true: "writes"}[t.write], t, why), c.write.op}
			}
		}
		if !t.write {
			continue
		}
		var parts []*access // of others, which go on
		for _, r := range c.reads {
			switch {
			case j.unordered(r, now, c == own) == "":
			case !lands(op) || !lands(r.op) || !j.ownPart(op, r.op):
				return &fault{op, fmt.Sprintf("writes %s, which may still be read", t), r.op}
			default:
				parts = append(parts, r)
			}
		}
		c.holds, c.reads = nil, parts
	}
	if !t.write {
		if t.ring {
			q := j.queue(t.alloc)
			q.rounds = max(q.rounds, t.step+1)
		}
		own.reads = slices.DeleteFunc(own.reads, func(r *access) bool { return r.by == a && r.layout == now.layout && (r.op == op || !lands(op)) })
		own.reads = append(own.reads, now)
		return wrongContents(op, t, own)
	}
	own.holds, own.write = t.alloc, now
	if t.ring {
		q := j.queue(t.alloc)
		if own.number = q.fills; t.passed {
			own.number = t.step
		}
		q.fills = own.number + 1
	}
	return nil
}

func (p *location) String() string {
	if p.ring {
		return fmt.Sprintf("slot %d of a ring, byte %d", p.slot, p.lo)
	}
	return fmt.Sprintf("the buffer at byte %d", p.lo)
}

// cell is that of a place.
func (j *judge) cell(p *location) *cell {
	for _, c := range j.cells {
		if c.lo == p.lo && c.hi == p.hi {
			return c
		}
	}
	c := &cell{lo: p.lo, hi: p.hi}
	j.cells = append(j.cells, c)
	return c
}

// counted is how many of the products that waits count an op begins, or stands for.
func counted(op *ir.Op) int {
	if s, ok := ir.As[tileaa.SumsStore](op); ok {
		return tileaa.CountsAs(s)
	}
	if tileaa.RunsAsync(op) {
		return 1
	}
	return 0
}

// wrongContents says what is wrong with the contents of a place that is read; nil if nothing is.
func wrongContents(op *ir.Op, t touch, c *cell) *fault {
	switch {
	case c.holds != t.alloc:
		return &fault{op: op, text: fmt.Sprintf("reads %s, where nothing is", t)}
	case t.ring && t.step >= 0 && c.number != t.step:
		return &fault{op, fmt.Sprintf("reads %s in iteration %d, where copy %d is", t, t.step, c.number), c.write.op}
	}
	return nil
}

// lands reports whether an op takes what products left in tensor memory, for which its threads have waited: a loop does at its end.
func lands(op *ir.Op) bool {
	switch op.Code() {
	case tileaa.OpDotLand, tileaa.OpSumsScale, tileaa.OpFactorStore, tileaa.OpFor:
		return true
	}
	return false
}

// unordered says why an access does not happen before a later one to the same bytes; "" if it does.
func (j *judge) unordered(first, then *access, same bool) string {
	a := then.by
	switch {
	case first.by != a && (first.time > a.knows[first.by.number] || tileaa.RunsAsync(first.op) && first.known>>a.number&1 == 0 && (first.done == 0 || first.done > a.knows[first.by.number])):
		return "which another role has not passed on"
	case first.by != a:
		return ""
	case first.done == 0, first.seen != nil && first.done > a.knows[first.seen.number]:
		return "where a copy is in flight"
	case first.seen != nil, tileaa.ReadByUnit(first.op):
		return ""
	case first.done <= a.met, same && first.done <= a.lanesMet && j.ownWarps(first.layout, then.layout):
		return ""
	}
	return "and no barrier stands between"
}
