package kernel

import (
	"slices"

	"tileiras/codegen/layout"
	"tileiras/codegen/target"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// accumulatorBits is the register pressure of accumulators in an entry, in bits of all threads together: most is the maximum anywhere,
// looped the maximum inside loops, carried the most that nested loops carry, which lives throughout the innermost one.
//
// Accumulators are results of products, what elementwise operations compute from them, and what loops and branches carry of them. A value
// is coalesced with one that dies where it is defined, as the result of a product with its accumulator:
//
//	%c1 = dot %a, %b, %c0      %c0, %c1 and %c2 are one accumulator
//	%c2 = dot %d, %e, %c1
//
// Live ranges are intervals of program order; that of a value from outside of a loop that is used inside extends to the loop's end.
func accumulatorBits(s *pass.State, entry *ir.Op) (most, looped, carried int) {
	l := livenessOf(s, entry)
	carried = l.carried(entry)
	l.coalesce(entry)
	loops := l.loops(entry, nil)
	l.sweep(func(time, bits int) {
		most = max(most, bits)
		for len(loops) > 0 && loops[0].end < time {
			loops = loops[1:]
		}
		if len(loops) > 0 && loops[0].begin <= time {
			looped = max(looped, bits)
		}
	})
	return most, looped, carried
}

// loops lists the intervals of the outermost loops in an op, in order.
func (l *liveness) loops(op *ir.Op, list []span) []span {
	for b := range op.Blocks() {
		for o := b.First(); o != nil; o = o.Next() {
			if _, loop := ir.LoopOf(o); loop {
				list = append(list, l.at[o])
			} else {
				list = l.loops(o, list)
			}
		}
	}
	return list
}

// livenessOf computes the live ranges of the accumulators of an entry.
func livenessOf(s *pass.State, entry *ir.Op) *liveness {
	n := ir.NumOps(entry)
	l := &liveness{s: s, at: make(map[*ir.Op]span, n), number: map[*ir.Value]int{}, inTensor: map[*ir.Value]bool{}, late: map[*ir.Op]bool{}, zeroInit: map[*ir.Block]bool{}}
	l.plan = ir.Cast[tileaa.Entry](entry).Plan()
	l.assignTimes(entry)
	l.collect(entry)
	return l
}

// Pressure is the bits of live accumulators at every point of an entry.
type Pressure struct {
	at   map[*ir.Op]span
	bits []int // by time
	max  int
}

// PressureIn takes time linear in the entry.
func PressureIn(s *pass.State, entry *ir.Op) *Pressure {
	l := livenessOf(s, entry)
	l.coalesce(entry)
	a := &Pressure{at: l.at, bits: make([]int, l.time)}
	last, now := 0, 0
	l.sweep(func(time, bits int) {
		for ; last < time; last++ {
			a.bits[last+1] = now
		}
		now = bits
		a.bits[time] = max(a.bits[time], now)
		a.max = max(a.max, now)
	})
	return a
}

// Max is the accumulator registers of a thread, among so many warps, at the point of most pressure.
func (a *Pressure) Max(warps int) int { return a.max / 32 / (layout.WarpSize * warps) }

// During is the same within an op.
func (a *Pressure) During(op *ir.Op, warps int) int {
	at := a.at[op]
	return slices.Max(a.bits[at.begin:at.end+1]) / 32 / (layout.WarpSize * warps)
}

// Add makes a further value live throughout an op.
func (a *Pressure) Add(op *ir.Op, v *ir.Value) {
	at := a.at[op]
	for i := at.begin; i <= at.end; i++ {
		a.bits[i] += BitsOf(v)
		a.max = max(a.max, a.bits[i])
	}
}

// carried is the most bits of loop-carried accumulators of nested loops in an op.
func (l *liveness) carried(op *ir.Op) (most int) {
	for b := range op.Blocks() {
		for o := b.First(); o != nil; o = o.Next() {
			most = max(most, l.carried(o))
		}
	}
	if f, ok := ir.LoopOf(op); ok {
		for _, v := range f.Carried() {
			if l.isAccumulator(v) {
				most += BitsOf(v)
			}
		}
	}
	return most
}

// liveness is the accumulators of an entry and their live ranges.
type liveness struct {
	s        *pass.State
	at       map[*ir.Op]span
	number   map[*ir.Value]int // index in values of each accumulator
	values   []*ir.Value
	lastUses []int // when each value is last used
	parent   []int // union-find over values that share registers
	time     int
	inTensor map[*ir.Value]bool // values that are in tensor memory, not in registers
	late     map[*ir.Op]bool    // products of the tensor unit, whose result occupies registers only after they have completed
	zeroInit map[*ir.Block]bool // blocks with a product whose accumulator is zero
	plan     *tileaa.PlanAttr   // nil before there is one
}

// span is the interval of an operation, nested ones included, in program order.
type span struct{ begin, end int }

// assignTimes numbers the operations in program order.
func (l *liveness) assignTimes(op *ir.Op) {
	begin := l.time
	l.time++
	if d, ok := ir.As[tileaa.Dot](op); ok && tileaa.AddsToNothing(d) {
		l.zeroInit[op.Block()] = true
	}
	for b := range op.Blocks() {
		for o := b.First(); o != nil; o = o.Next() {
			l.assignTimes(o)
		}
	}
	l.at[op] = span{begin, l.time}
	l.time++
}

func (l *liveness) add(v *ir.Value) {
	if l.isAccumulator(v) || l.inTensor[v] || !tileaa.IsRanked(v) {
		return
	}
	l.number[v] = len(l.values)
	l.parent = append(l.parent, len(l.values))
	l.values = append(l.values, v)
}

func (l *liveness) isAccumulator(v *ir.Value) bool {
	_, ok := l.number[v]
	return ok
}

// collect finds the accumulators: forward from products through the uses.
func (l *liveness) collect(entry *ir.Op) {
	l.s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		if op.Code() == tileaa.OpDotLand || tileaa.IsProduct(op) && !inTensorMemory(op) {
			l.addSum(op)
		}
	})
	for i := 0; i < len(l.values); i++ {
		l.s.Step()
		for u := l.values[i].FirstUse(); u != nil; u = u.Next() {
			op := u.Owner()
			if op.Traits().Has(ir.Elementwise) && op.NumResults() == 1 {
				if _, streams := streamedInto(op); !streams {
					l.add(op.Result(0))
				}
			}
			for _, v := range ir.ForwardedTo(u.Owner(), u.Index()) {
				l.add(v)
			}
		}
	}
	for _, v := range l.values {
		l.s.Step()
		l.lastUses = append(l.lastUses, l.lastUse(v))
	}
}

// streamedInto is the reduction that is the only user of an elementwise operation: the elements are computed as it consumes them and are
// never all live.
func streamedInto(op *ir.Op) (reduce *ir.Op, ok bool) {
	if !op.Traits().Has(ir.Elementwise) || op.NumResults() != 1 || !op.Result(0).HasOneUse() {
		return nil, false
	}
	reduce = op.Result(0).FirstUse().Owner()
	return reduce, ir.Is[tileaa.Reduce](reduce) && reduce.Block() == op.Block()
}

// UnitWarps is the fewest warps that a product of the tensor unit takes.
const UnitWarps = 4

// addSum adds the result of a product; if its sum stays in tensor memory while a loop runs, the result of the loop instead.
func (l *liveness) addSum(op *ir.Op) {
	if l.addPieces(op) {
		return
	}
	if d, ok := ir.As[tileaa.Dot](op); ok && target.Tcgen05.On(l.s.Target) && l.ofTensorUnit(d) {
		l.late[op] = true
		if tileaa.LastOfSum(d) != d {
			return // the next one adds to it where it is
		}
		if carried, ok := l.staysIn(d); ok {
			flow, _ := ir.LoopOf(op.ParentOp())
			l.inTensor[flow.Carried()[carried]] = true
			l.add(flow.Op.Result(carried))
			return
		}
	}
	l.add(op.Result(0))
}

// addPieces adds the pieces of a TensorMemorySum that threads read, if the plan leaves sums there; ok is false for other products.
func (l *liveness) addPieces(op *ir.Op) (ok bool) {
	if l.plan == nil || !l.plan.SumsInTensor {
		return false
	}
	sum, ok := TensorMemorySum(l.s, op, l.plan.Warps)
	if !ok {
		return false
	}
	pieces, apart := ConstantExtracts(sum)
	for _, e := range pieces {
		l.add(e.Result())
	}
	return apart
}

// staysIn finds the loop-carried value that a product accumulates to in tensor memory: one that only the loop rescales, or one that nothing
// else reads in a loop that also has a product with zero as its accumulator.
func (l *liveness) staysIn(d tileaa.Dot) (carried int, ok bool) {
	if flow, loop := ir.LoopOf(d.Op.ParentOp()); !loop || flow.Kind != ir.CountedFlow { // others have results of their own
		return 0, false
	}
	if x, ok := tileaa.ScaledSumOf(d); ok {
		return x.Carried, true
	}
	carried, ok = tileaa.OnlyAdds(d.Op)
	return carried, ok && tileaa.ElemBits(tileaa.AsTile(d.Result()).Elem) == 32 && l.zeroInit[d.Op.Block()]
}

// inTensorMemory reports whether a product in flight leaves its sum in tensor memory, for a dot_land or the end of its loop.
func inTensorMemory(op *ir.Op) bool {
	d, ok := ir.As[tileaa.Dot](op)
	return ok && d.InFlight() && d.Atom().Atom.Tensor != nil
}

// ofTensorUnit reports whether a product has an atom of the tensor unit, or will get one.
func (l *liveness) ofTensorUnit(d tileaa.Dot) bool {
	if a := d.Atom(); a != nil {
		return a.Atom.Tensor != nil
	}
	k, ok := ChooseAtom(l.s, d.Op, ExtentOf(d.Op), UnitWarps)
	return ok && k.Atom.Tensor != nil
}

// dies reports whether an operation is the last use of an accumulator.
func (l *liveness) dies(v *ir.Value, op *ir.Op) bool {
	return l.lastUses[l.number[v]] == l.at[op].begin
}

func (l *liveness) lastUse(v *ir.Value) int {
	last := l.birth(v)
	for u := v.FirstUse(); u != nil; u = u.Next() {
		if ir.Is[tileaa.FactorStore](u.Owner()) && u.Index() > 0 {
			continue // which takes its columns only
		}
		user := u.Owner()
		if reduce, ok := streamedInto(user); ok {
			user = reduce
		}
		at := l.at[user].begin
		for b := user.Block(); b != v.ParentBlock(); b = b.ParentOp().Block() {
			if _, loop := ir.LoopOf(b.ParentOp()); loop {
				at = l.at[b.ParentOp()].end
			}
		}
		last = max(last, at)
	}
	return last
}

func (l *liveness) birth(v *ir.Value) int {
	op := v.DefiningOp()
	switch {
	case op == nil:
		return l.at[v.ParentBlock().ParentOp()].begin
	case op.NumRegions() > 0 || l.late[op]:
		return l.at[op].end
	}
	return l.at[op].begin
}

// coalesce unites each value with an operand that dies where it is defined: they share registers.
func (l *liveness) coalesce(entry *ir.Op) {
	join := func(from, to *ir.Value, op *ir.Op) bool {
		if !l.isAccumulator(from) || !l.isAccumulator(to) || !l.dies(from, op) {
			return false
		}
		l.parent[l.root(l.number[to])] = l.root(l.number[from])
		return true
	}
	l.s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		switch {
		case tileaa.IsProduct(op):
			join(op.Operand(2), op.Result(0), op)
		case op.Traits().Has(ir.Elementwise) && op.NumResults() == 1:
			for _, o := range op.Operands() {
				if join(o, op.Result(0), op) {
					break
				}
			}
		default:
			taken := map[*ir.Value]bool{} // only one phi can be coalesced with a value: a second one gets a copy
			for i, v := range op.Operands() {
				for _, to := range ir.ForwardedTo(op, i) {
					if !taken[v] && l.isAccumulator(v) {
						join(v, to, op)
					}
				}
				if l.isAccumulator(v) {
					taken[v] = true
				}
			}
		}
	})
}

func (l *liveness) root(i int) int {
	for l.parent[i] != i {
		l.parent[i] = l.parent[l.parent[i]]
		i = l.parent[i]
	}
	return i
}

// sweep walks the live ranges in order of time and reports the bits of live registers after each change. A coalesced class counts with its
// widest live member.
func (l *liveness) sweep(count func(time, bits int)) {
	type event struct {
		time, value int
		ends        bool
	}
	events := make([]event, 0, 2*len(l.values))
	for i, v := range l.values {
		events = append(events, event{time: l.birth(v), value: i}, event{time: l.lastUses[i], value: i, ends: true})
	}
	slices.SortFunc(events, func(x, y event) int {
		switch {
		case x.time != y.time:
			return x.time - y.time
		case x.ends == y.ends:
			return 0
		case y.ends:
			return -1
		}
		return 1
	})
	alive := l.byRoot() // the bits of the values that are alive
	now := 0
	for _, e := range events {
		home, bits := l.root(e.value), BitsOf(l.values[e.value])
		now -= widest(alive[home])
		if e.ends {
			i := slices.Index(alive[home], bits)
			alive[home] = slices.Delete(alive[home], i, i+1)
		} else {
			alive[home] = append(alive[home], bits)
		}
		now += widest(alive[home])
		count(e.time, now)
	}
}

// byRoot makes an empty list for each class, with room for all its members.
func (l *liveness) byRoot() [][]int {
	members, lists, room := make([]int, len(l.values)), make([][]int, len(l.values)), make([]int, len(l.values))
	for i := range l.values {
		members[l.root(i)]++
	}
	for h, n := range members {
		lists[h], room = room[:0:n], room[n:]
	}
	return lists
}

// widest is the largest number of a list, 0 if empty.
func widest(bits []int) (most int) {
	for _, b := range bits {
		most = max(most, b)
	}
	return most
}
