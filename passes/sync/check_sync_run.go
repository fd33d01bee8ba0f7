package sync

import (
	"maps"
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// This file runs the skeleton of an entry: loops, branches and the integers that they, slots and predicates follow from. What follows from
// data is chosen: how often a loop runs, which way a branch goes. Equal computations have equal names, in every role, and a choice is one for
// a name: roles that ask the same go the same way.

// number is what a run knows of a value.
type number struct {
	known bool
	bits  uint64    // of an integer, zero-extended; where it is not known, its name
	place *location // of a buffer
}

// location is bytes of shared memory: a buffer, or a slot of a ring.
type location struct {
	alloc  *ir.Value
	ring   bool
	slot   int
	step   int  // the iteration of the loops that carry its position, since there is the ring; -1: nothing carries it
	passed bool // of a ring that one role fills and another reads: both count its slots by these iterations
	lo, hi int
}

// event is something that a thread does about shared memory, in the order of its program.
type event struct {
	op       *ir.Op
	touches  []touch
	position uint64 // of a slot of a pipeline,
	phase    bool   // and which phase of it is meant
	threads  *slotThreads
}

// touch is a place that an event reads or writes, or names.
type touch struct {
	*location
	write bool
}

// skeleton is an entry whose runs are checked.
type skeleton struct {
	s       *pass.State
	entry   *ir.Op
	needed  *kernel.ProgramSlice
	slots   uint64 // the most that a ring or pipeline has
	texts   map[*ir.Op]uint64
	choices []*decision // in the order in which they were met
	byName  map[uint64]*decision
	rings   map[*ir.Value]*ringUse
	placed  map[*ir.Op][]*ir.Value // of an access to a slot, the numbers that its addresses are computed from
	touched map[slotKey]*slotThreads
	sample  uint64 // seed of choices at random; 0: the first option of each
}

// decision is one of a number of values for what is not known.
type decision struct {
	name    uint64
	op      *ir.Op // that asked
	options []uint64
	taken   int
	seen    bool // by the run
	used    bool // by some run
}

// newSkeleton finds what decides about shared memory and asynchronous copies; nil where nothing does.
func newSkeleton(s *pass.State, entry *ir.Op) *skeleton {
	k := &skeleton{s: s, entry: entry, needed: kernel.ProgramSliceOf(entry, nil, nil), slots: 1, texts: map[*ir.Op]uint64{}, byName: map[uint64]*decision{},
		rings: map[*ir.Value]*ringUse{}, placed: map[*ir.Op][]*ir.Value{}, touched: map[slotKey]*slotThreads{}}
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		switch t := resultType(op).(type) {
		case *tileaa.RingType:
			k.slots = max(k.slots, uint64(t.Slots))
		case *tileaa.PipelineType:
			k.slots = max(k.slots, uint64(t.Slots))
		}
		if !isEvent(op) {
			return
		}
		k.needed.Ops[op] = true
		k.needed.NeedOp(op.ParentOp())
		for _, v := range op.Operands() {
			if decides(v) {
				k.needed.Need(v)
			}
		}
		if _, ok := slotTouched(op); ok {
			k.needSlot(op)
		}
	})
	if len(k.needed.Ops) == 0 {
		return nil
	}
	return k
}

func resultType(op *ir.Op) ir.Type {
	if op.NumResults() == 0 {
		return nil
	}
	return op.Result(0).Type()
}

// isEvent reports whether the judge must know of an op.
func isEvent(op *ir.Op) bool {
	switch op.Code() {
	case tileaa.OpBarrier, tileaa.OpAsyncCommit, tileaa.OpAsyncWait, tileaa.OpDotWait, tileaa.OpProducerAcquire, tileaa.OpProducerCommit, tileaa.OpConsumerWait,
		tileaa.OpConsumerRelease, tileaa.OpRoles:
		return true
	}
	if _, ok := slotTouched(op); ok || op.Code() == tileaa.OpAlloca {
		return true
	}
	return slices.ContainsFunc(tileaa.Effects(op), func(e tileaa.Effect) bool { return e.Space == tileaa.SharedSpace })
}

// decides reports whether a value decides what an event does: integers and memory, not data.
func decides(v *ir.Value) bool {
	switch t := v.Type().(type) {
	case *tileaa.BufferType, *tileaa.RingType, *tileaa.PipelineType, *tileaa.TensorMemoryType, *tileaa.MapMemoryType:
		return true
	case *tileaa.TileType:
		return len(t.Shape) == 0 && ir.IsInt(t.Elem)
	}
	return false
}

// next goes on to a run with other choices; false when all were made. What was asked and is computed since other choices were made is none.
func (k *skeleton) next() bool {
	for n := len(k.choices) - 1; n >= 0; n-- {
		c := k.choices[n]
		if c.used && c.taken+1 < len(c.options) {
			c.taken++
			return true
		}
		delete(k.byName, c.name)
		k.choices = k.choices[:n]
	}
	return false
}

// again forgets all choices; those of a later run are made at random.
func (k *skeleton) again(seed uint64) {
	k.choices, k.byName, k.sample = nil, map[uint64]*decision{}, seed
}

// add makes a choice for a name.
func (k *skeleton) add(name uint64, op *ir.Op, options []uint64) {
	c := &decision{name: name, op: op, options: options}
	if k.sample != 0 {
		c.taken = int(mix(k.sample, uint64(len(k.choices))) >> 32 % uint64(len(options)))
	}
	k.choices, k.byName[name] = append(k.choices, c), c
}

// mix is a hash of two numbers (the finalizer of SplitMix64).
func mix(a, b uint64) uint64 {
	x := a*0x9e3779b97f4a7c15 + b + 0x632be59bd9b4e019
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// thread is the run of the program of a role, or of the entry up to its roles.
type thread struct {
	*skeleton
	role   *ir.Op // or the entry
	values map[*ir.Value]number
	rounds map[*ir.Block]int               // how many iterations of a loop began
	before map[*ir.Value]map[*ir.Block]int // how many had begun when a ring was made
	trace  []event
	roles  []*thread
	steps  int  // ops that it may still run
	cut    bool // it did not come to its end
	asked  bool // it met something to choose
	fresh  uint64
}

// maxSteps bounds the ops of a run: loops with constant bounds may run for long.
const maxSteps = 1 << 14

// run runs the program once, with more and more choices until there is nothing to choose.
func (k *skeleton) run() *thread {
	for {
		for _, c := range k.choices {
			c.seen = false
		}
		t := &thread{skeleton: k, role: k.entry, values: map[*ir.Value]number{}, rounds: map[*ir.Block]int{},
			before: map[*ir.Value]map[*ir.Block]int{}, steps: maxSteps}
		for i, a := range k.entry.Body().Args() {
			t.values[a] = t.chosen(mix(1, uint64(i)))
		}
		t.block(k.entry.Body())
		if !t.asked {
			for _, c := range k.choices {
				c.used = c.used || c.seen
			}
			return t
		}
	}
}

// block runs a block, and gives the terminator that left it; nil when the run is over.
func (t *thread) block(b *ir.Block) *ir.Op {
	for _, op := range b.Ops() {
		switch {
		case op.Traits().Has(ir.Terminator):
			return op
		case t.needed.Ops[op]:
			if term := t.op(op); term != nil || t.asked || t.cut {
				return term
			}
		}
	}
	return nil
}

// op runs an op. It gives a terminator inside that leaves what is around it.
func (t *thread) op(op *ir.Op) *ir.Op {
	t.s.Step()
	if t.steps--; t.steps < 0 {
		t.cut = true
		return nil
	}
	switch op.Code() {
	case tileaa.OpFor, tileaa.OpLoop:
		return t.loop(op)
	case tileaa.OpIf:
		return t.branch(ir.Cast[tileaa.If](op))
	case tileaa.OpRoles:
		t.split(ir.Cast[tileaa.Roles](op))
		return nil
	}
	if isEvent(op) {
		t.event(op)
	}
	for i, r := range op.Results() {
		t.values[r] = t.compute(op, i)
	}
	return nil
}

// split runs roles, each with what is known before them.
func (t *thread) split(op tileaa.Roles) {
	t.trace = append(t.trace, event{op: op.Op})
	for _, r := range ir.OpsOf[tileaa.Role](op.Body()) {
		u := &thread{skeleton: t.skeleton, role: r.Op, values: maps.Clone(t.values), rounds: maps.Clone(t.rounds), before: t.before, steps: maxSteps}
		u.block(r.Op.Body())
		t.roles = append(t.roles, u)
		t.asked = t.asked || u.asked
	}
}

// event notes what an op does, unless its predicate keeps it from that.
func (t *thread) event(op *ir.Op) {
	e := event{op: op}
	if p, ok := ir.As[tileaa.PipelineOp](op); ok {
		e.position, _ = t.ask(t.value(p.Position()), op, indices(t.slots)...)
		if v := phaseOf(op); v != nil {
			bit, _ := t.ask(t.value(v), op, 0, 1)
			e.phase = bit != 0
		}
	}
	if op.Code() == tileaa.OpAllocRing {
		t.before[op.Result(0)] = maps.Clone(t.rounds)
	}
	if p, ok := ir.As[tileaa.PredicatedOp](op); ok && p.When() != nil {
		if runs, ok := t.ask(t.value(p.When()), op, 1, 0); !ok || runs == 0 {
			if tileaa.RunsAsync(op) {
				t.trace = append(t.trace, e) // waits count it
			}
			return
		}
	}
	for _, x := range tileaa.Effects(op) {
		if x.Space == tileaa.SharedSpace && x.Kind&(ir.Read|ir.Write) != 0 {
			e.touches = append(e.touches, touch{t.value(x.Value).place, x.Kind.Has(ir.Write)})
		}
	}
	if slot, ok := slotTouched(op); ok {
		e.threads = t.threadsOf(op, slot)
	}
	t.trace = append(t.trace, e)
}

// phaseOf is the phase that an op waits for; nil for those that wait for none.
func phaseOf(op *ir.Op) *ir.Value {
	if a, ok := ir.As[tileaa.ProducerAcquire](op); ok {
		return a.Phase()
	}
	if w, ok := ir.As[tileaa.ConsumerWait](op); ok {
		return w.Phase()
	}
	return nil
}

// indices are the numbers from 0 to n-1.
func indices[T int | int64 | uint64](n T) (list []T) {
	for i := T(0); i < n; i++ {
		list = append(list, i)
	}
	return list
}

// value is what is known of a value.
func (t *thread) value(v *ir.Value) number {
	if n, ok := t.values[v]; ok {
		return n
	}
	return t.unknown()
}

// unknown is a value that no other equals.
func (t *thread) unknown() number {
	t.fresh++
	return t.chosen(mix(mix(2, t.textOf(t.role)), t.fresh))
}

// chosen is what has a name, as it was chosen.
func (t *thread) chosen(name uint64) number {
	if c := t.byName[name]; c != nil {
		c.seen = true
		return number{known: true, bits: c.options[c.taken]}
	}
	return number{bits: name}
}

// ask gives a value, which is one of some options. If it is not known, the run is over, and the next one knows it.
func (t *thread) ask(v number, op *ir.Op, options ...uint64) (bits uint64, ok bool) {
	if !v.known && !t.asked {
		t.asked = true
		t.add(v.bits, op, options)
	}
	return v.bits, v.known
}

// textOf names what an op does, apart from its operands.
func (k *skeleton) textOf(op *ir.Op) uint64 {
	if n, ok := k.texts[op]; ok {
		return n
	}
	n := mix(3, uint64(op.Code()))
	for i, a := range op.Attrs() {
		if a == nil {
			continue
		}
		n = mix(n, uint64(i))
		for _, c := range []byte(ir.AttrText(a)) {
			n = mix(n, uint64(c))
		}
	}
	k.texts[op] = n
	return n
}

// compute is result i of an op without regions.
func (t *thread) compute(op *ir.Op, i int) number {
	r := op.Result(i)
	switch op.Code() {
	case tileaa.OpAllocShared, tileaa.OpAllocTensor, tileaa.OpAllocMaps:
		return number{known: true, place: t.buffer(ir.Cast[tileaa.PlacedOp](op))}
	case tileaa.OpBufferView:
		return t.value(ir.Cast[tileaa.BufferView](op).Buffer())
	case tileaa.OpRingSlot:
		p := t.slot(ir.Cast[tileaa.RingSlot](op))
		t.trace = append(t.trace, event{op: op, touches: []touch{{location: p}}})
		return number{known: true, place: p}
	case tileaa.OpAssume:
		return t.value(op.Operand(0))
	case tileaa.OpRingNext:
		n := ir.Cast[tileaa.RingNext](op)
		if at := t.value(n.Position()); at.known {
			return number{known: true, bits: (at.bits + 1) % uint64(n.Slots())}
		}
	}
	if a := tileaa.ConstantOf(r); a != nil && a.Splat && tileaa.IsSingle(r) {
		return number{known: true, bits: tileaa.ElementBits(a, 0)}
	}
	name, known := mix(t.textOf(op), uint64(i)), tileaa.IsSingle(r)
	var bits []uint64
	for _, v := range op.Operands() {
		if !tileaa.IsToken(v) { // what is computed alike from equal values is equal, whenever that is
			n := t.value(v)
			name, known, bits = mix(name, n.bits), known && n.known, append(bits, n.bits)
		}
	}
	if known && len(bits) > 0 {
		if x, ok := tileaa.EvaluateElement(op, bits); ok {
			return number{known: true, bits: x}
		}
	}
	if op.Code() == tileaa.OpAndi && slices.ContainsFunc(op.Operands(), func(v *ir.Value) bool { n := t.value(v); return n.known && n.bits == 0 }) {
		return number{known: true} // whatever the other is: what an iteration asks for that there is not
	}
	if !op.Traits().Has(ir.Pure) && kernel.AccessKindsOf(op) != kernel.WeakRead || op.NumRegions() > 0 {
		return t.unknown()
	}
	return t.chosen(name)
}

// buffer is the place of a buffer.
func (t *thread) buffer(a tileaa.PlacedOp) *location {
	at, _ := a.Offset()
	size, _ := tileaa.SharedMemory(a.Result().Type())
	return &location{alloc: a.Result(), step: -1, lo: int(at), hi: int(at) + size}
}

// slot is the place of a slot of a ring; nil if it is not known yet.
func (t *thread) slot(s tileaa.RingSlot) *location {
	ring := s.Ring().Type().(*tileaa.RingType)
	at, ok := t.ask(t.value(s.Position()), s.Op, indices(uint64(ring.Slots))...)
	if !ok {
		return nil
	}
	offset, _ := ir.Cast[tileaa.AllocRing](s.Ring().DefiningOp()).Offset()
	p := &location{alloc: s.Ring(), ring: true, slot: int(at) + int(s.Ahead()), step: -1}
	if int(at) < int(ring.Slots) && p.slot >= int(ring.Slots) {
		p.slot -= int(ring.Slots)
	}
	p.lo = int(offset) + p.slot*ring.SlotBytes()
	p.hi = p.lo + ring.SlotBytes()
	if v, _ := positionOf(s.Position()); v != nil && v.IsArg() {
		use := t.useOf(s.Ring())
		p.passed = use.passed
		for _, b := range use.loops {
			p.step += t.rounds[b] - t.before[s.Ring()][b]
		}
	}
	return p
}

// ringUse is the bodies of the loops that carry positions of a ring, and whether they belong to several roles.
type ringUse struct {
	loops  []*ir.Block
	passed bool
}

// useOf finds how a ring is used.
func (k *skeleton) useOf(ring *ir.Value) *ringUse {
	if u := k.rings[ring]; u != nil {
		return u
	}
	use := &ringUse{}
	for u := ring.FirstUse(); u != nil; u = u.Next() {
		s, ok := ir.As[tileaa.RingSlot](u.Owner())
		if !ok {
			continue
		}
		if v, _ := positionOf(s.Position()); v != nil && v.IsArg() && !slices.Contains(use.loops, v.Block()) {
			use.loops = append(use.loops, v.Block())
			use.passed = use.passed || tileaa.OwnerOf(v.Block().ParentOp()) != tileaa.OwnerOf(use.loops[0].ParentOp())
		}
	}
	k.rings[ring] = use
	return use
}

// branch runs one side of an if. Of a loop without a counter that has run for longer than slots matter, it is the side that leaves it.
func (t *thread) branch(op tileaa.If) *ir.Op {
	options := []uint64{1, 0}
	loop := op.Op.ParentOp()
	for loop.Code() == tileaa.OpIf {
		loop = loop.ParentOp()
	}
	if loop.Code() == tileaa.OpLoop && t.rounds[loop.Body()] > int(t.slots)+1 {
		switch {
		case leaves(op.Then(), loop):
			options = []uint64{1}
		case leaves(op.Else(), loop):
			options = []uint64{0}
		}
	}
	way, ok := t.ask(t.value(op.Cond()), op.Op, options...)
	if !ok {
		return nil
	}
	side := op.Then()
	if way == 0 {
		side = op.Else()
	}
	if side == nil {
		return nil
	}
	term := t.block(side)
	if term == nil || ir.Target(term) != op.Op {
		return term
	}
	t.pass(term.Operands(), op.Op.Results())
	return nil
}

// leaves reports whether some way through a block leaves a loop.
func leaves(b *ir.Block, loop *ir.Op) (found bool) {
	if b != nil {
		for _, op := range b.Ops() {
			ir.Walk(op, ir.PreOrder, func(o *ir.Op) { found = found || o.Code() == tileaa.OpBreak && ir.Target(o) == loop })
		}
	}
	return found
}

// pass gives values the numbers of others, all at once.
func (t *thread) pass(from, to []*ir.Value) {
	numbers := make([]number, len(from))
	for i, v := range from {
		if t.needed.Values[to[i]] {
			numbers[i] = t.value(v)
		}
	}
	for i, v := range to {
		if t.needed.Values[v] {
			t.values[v] = numbers[i]
		}
	}
}

// loop runs a loop.
func (t *thread) loop(op *ir.Op) *ir.Op {
	f, _ := ir.LoopOf(op)
	at, step, trips := uint64(0), uint64(0), uint64(maxSteps)
	if loop, ok := ir.As[tileaa.For](op); ok {
		at, step, trips = t.count(loop)
	}
	if t.asked || t.cut {
		return nil
	}
	t.pass(f.Inits(), f.Carried())
	for range trips {
		if v := f.InductionVar(); v != nil {
			t.values[v] = number{known: true, bits: at}
			at = tileaa.Truncate(at+step, ir.BitWidth(tileaa.AsTile(v).Elem))
		}
		t.rounds[op.Body()]++
		term := t.block(op.Body())
		switch {
		case term == nil || ir.Target(term) != op:
			return term
		case term.Code() == tileaa.OpBreak:
			t.pass(term.Operands(), op.Results())
			return nil
		}
		t.pass(term.Operands(), f.Carried())
	}
	if loop, ok := ir.As[tileaa.For](op); ok && len(loop.Lands()) > 0 {
		e := event{op: op}
		for _, memory := range tileaa.LandedMemory(loop) {
			if trips > 0 {
				e.touches = append(e.touches, touch{t.value(memory).place, false})
			}
		}
		t.trace = append(t.trace, e)
	}
	t.cut = t.cut || f.Kind == ir.LoopFlow
	t.pass(f.Carried(), op.Results())
	return nil
}

// count is where a loop begins to count, by how much, and how often it runs.
func (t *thread) count(loop tileaa.For) (from, step, trips uint64) {
	width := ir.BitWidth(tileaa.AsTile(loop.Lower()).Elem)
	from, ok := t.ask(t.value(loop.Lower()), loop.Op, 0, 3)
	if !ok {
		return 0, 0, 0
	}
	if step, ok = t.ask(t.value(loop.Step()), loop.Op, 1, 2); !ok {
		return 0, 0, 0
	}
	var ends []uint64
	for _, trips := range t.trips() {
		end := from + trips*step
		if trips > 0 {
			end -= step - 1
		}
		ends = append(ends, tileaa.Truncate(end, width))
	}
	to, ok := t.ask(t.value(loop.Upper()), loop.Op, ends...)
	if !ok {
		return 0, 0, 0
	}
	a, b := tileaa.SignExtend(from, width), tileaa.SignExtend(to, width)
	if tileaa.Truncate(step, width) == 0 { // what was chosen for another number: no program means this loop, nor what stands before it for it
		t.cut = true
		return from, step, 0
	}
	if loop.Unsigned() && from >= to || !loop.Unsigned() && a >= b {
		return from, step, 0
	}
	return from, step, (tileaa.Truncate(to-from, width)-1)/step + 1
}

// trips is how often loops run: the slots are used not at all, in part, once, and in their third round.
func (k *skeleton) trips() []uint64 {
	all := []uint64{k.slots + 1, 0, 1, 2, k.slots, 2*k.slots + 1}
	slices.Sort(all[1:])
	return slices.Compact(all)
}
