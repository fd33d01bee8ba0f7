package kernel

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// accumulatorBits is the most bits of accumulators that are alive together anywhere in an entry.
//
// Accumulators are values that products make, that elementwise operations make of those, and that loops and branches carry of
// them. A value that takes the place of one that dies there, the result of a product after what it adds to, shares its registers:
//
//	%c1 = dot %a, %b, %c0      %c0, %c1 and %c2 are one accumulator
//	%c2 = dot %d, %e, %c1
//
// Program order is the order of time; a value from before a loop that is used inside lives until the loop ends.
//
// carried is the most bits of them that loops around each other carry: those are alive from the first to the last of what they do. looped is the most that are
// alive together in loops.
func accumulatorBits(s *pass.State, entry *ir.Op) (most, looped, carried int) {
	l := livesOf(s, entry)
	carried = l.carried(entry)
	l.share(entry)
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

// loops lists when the outermost loops in an op run, in order.
func (l *lives) loops(op *ir.Op, list []span) []span {
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

// livesOf finds the accumulators of an entry.
func livesOf(s *pass.State, entry *ir.Op) *lives {
	n := ir.NumOps(entry)
	l := &lives{s: s, at: make(map[*ir.Op]span, n), number: map[*ir.Value]int{}, there: map[*ir.Value]bool{}, late: map[*ir.Op]bool{}, fresh: map[*ir.Block]bool{}}
	l.plan = ir.Cast[tileaa.Entry](entry).Plan()
	l.order(entry)
	l.find(entry)
	return l
}

// Alive is how many bits of accumulators are alive at every moment of an entry.
type Alive struct {
	at   map[*ir.Op]span
	bits []int // by time
	most int
}

// AliveIn takes time linear in the entry.
func AliveIn(s *pass.State, entry *ir.Op) *Alive {
	l := livesOf(s, entry)
	l.share(entry)
	a := &Alive{at: l.at, bits: make([]int, l.time)}
	last, now := 0, 0
	l.sweep(func(time, bits int) {
		for ; last < time; last++ {
			a.bits[last+1] = now
		}
		now = bits
		a.bits[time] = max(a.bits[time], now)
		a.most = max(a.most, now)
	})
	return a
}

// Most is the registers of a thread of so many warps for the most that are alive together, During for those from the beginning of an op to its end.
func (a *Alive) Most(warps int) int { return a.most / 32 / (32 * warps) }

func (a *Alive) During(op *ir.Op, warps int) int {
	at := a.at[op]
	return slices.Max(a.bits[at.begin:at.end+1]) / 32 / (32 * warps)
}

// Add says that an op holds another value all the time.
func (a *Alive) Add(op *ir.Op, v *ir.Value) {
	at := a.at[op]
	for i := at.begin; i <= at.end; i++ {
		a.bits[i] += bitsOf(v)
		a.most = max(a.most, a.bits[i])
	}
}

// carried is the bits of accumulators that loops in an op carry, one loop inside another.
func (l *lives) carried(op *ir.Op) (most int) {
	for b := range op.Blocks() {
		for o := b.First(); o != nil; o = o.Next() {
			most = max(most, l.carried(o))
		}
	}
	if f, ok := ir.LoopOf(op); ok {
		for _, v := range f.Carried() {
			if l.is(v) {
				most += bitsOf(v)
			}
		}
	}
	return most
}

// lives are the accumulators of an entry and when they are alive.
type lives struct {
	s      *pass.State
	at     map[*ir.Op]span
	number map[*ir.Value]int // of the accumulators
	values []*ir.Value
	last   []int // when each is used last
	place  []int // union-find: of a value, another one whose registers it shares, at last itself
	time   int
	there  map[*ir.Value]bool // in tensor memory
	late   map[*ir.Op]bool    // products whose result threads hold when they no longer hold its factors: the tensor unit has both till then
	fresh  map[*ir.Block]bool // blocks with a product that adds to nothing
	plan   *tileaa.PlanAttr   // nil before there is one
}

// span is when an operation begins, and when what is inside of it is over.
type span struct{ begin, end int }

func (l *lives) order(op *ir.Op) {
	begin := l.time
	l.time++
	if d, ok := ir.As[tileaa.Dot](op); ok && tileaa.AddsToNothing(d) {
		l.fresh[op.Block()] = true
	}
	for b := range op.Blocks() {
		for o := b.First(); o != nil; o = o.Next() {
			l.order(o)
		}
	}
	l.at[op] = span{begin, l.time}
	l.time++
}

func (l *lives) add(v *ir.Value) {
	if l.is(v) || l.there[v] || !tileaa.IsRanked(v) {
		return
	}
	l.number[v] = len(l.values)
	l.place = append(l.place, len(l.values))
	l.values = append(l.values, v)
}

func (l *lives) is(v *ir.Value) bool {
	_, ok := l.number[v]
	return ok
}

// find collects the accumulators: from products forward through the uses.
func (l *lives) find(entry *ir.Op) {
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
				if _, streams := streamed(op); !streams {
					l.add(op.Result(0))
				}
			}
			for _, v := range forwardedTo(u) {
				l.add(v)
			}
		}
	}
	for _, v := range l.values {
		l.s.Step()
		l.last = append(l.last, l.lastUse(v))
	}
}

// streamed finds the reduction that alone takes what an elementwise operation makes: elements are made as it takes them, and never all alive.
func streamed(op *ir.Op) (reduce *ir.Op, ok bool) {
	if !op.Traits().Has(ir.Elementwise) || op.NumResults() != 1 || !op.Result(0).HasOneUse() {
		return nil, false
	}
	reduce = op.Result(0).FirstUse().Owner()
	return reduce, ir.Is[tileaa.Reduce](reduce) && reduce.Block() == op.Block()
}

// UnitWarps is the fewest warps of a product of the tensor unit.
const UnitWarps = 4

// addSum adds the result of a product; of one whose sums stay in tensor memory as long as its loop runs, what the loop gives.
func (l *lives) addSum(op *ir.Op) {
	if l.addPieces(op) {
		return
	}
	if d, ok := ir.As[tileaa.Dot](op); ok && l.s.Target.Has("tcgen05") && l.ofTensorUnit(d) {
		l.late[op] = true
		if tileaa.LastOfSum(d) != d {
			return // the next one adds to it where it is
		}
		if carried, ok := l.staysIn(d); ok {
			flow, _ := ir.LoopOf(op.ParentOp())
			l.there[flow.Carried()[carried]] = true
			l.add(flow.Op.Result(carried))
			return
		}
	}
	l.add(op.Result(0))
}

// addPieces adds what is taken of the sums of a product that the tensor unit keeps; ok is false of other products.
func (l *lives) addPieces(op *ir.Op) (ok bool) {
	if l.plan == nil || !l.plan.Landed {
		return false
	}
	sum, ok := SumsInUnit(l.s, op, l.plan.Warps)
	if !ok {
		return false
	}
	pieces, apart := TakenInPieces(sum)
	for _, e := range pieces {
		l.add(e.Result())
	}
	return apart
}

// staysIn finds the value of its loop to which a product adds, if only the loop scales it, or if nobody else takes it and the loop has a product that adds to nothing.
func (l *lives) staysIn(d tileaa.Dot) (carried int, ok bool) {
	if x, ok := tileaa.ScaledSumOf(d); ok {
		return x.Carried, true
	}
	carried, ok = tileaa.OnlyAdds(d.Op)
	return carried, ok && tileaa.ElemBits(tileaa.AsTile(d.Result()).Elem) == 32 && l.fresh[d.Op.Block()]
}

// inTensorMemory reports whether a product in flight leaves its sums to a dot_land, or to the end of its loop.
func inTensorMemory(op *ir.Op) bool {
	d, ok := ir.As[tileaa.Dot](op)
	return ok && d.InFlight() && d.Atom().Atom.Tensor != nil
}

// ofTensorUnit reports whether the tensor unit makes a product, as its atom says, or as it will.
func (l *lives) ofTensorUnit(d tileaa.Dot) bool {
	if a := d.Atom(); a != nil {
		return a.Atom.Tensor != nil
	}
	k, ok := ChooseAtom(l.s, d.Op, ExtentOf(d.Op), UnitWarps)
	return ok && k.Atom.Tensor != nil
}

// forwardedTo lists the values of loops and branches that take the value of an operand.
func forwardedTo(u *ir.Use) []*ir.Value {
	op := u.Owner()
	if f, ok := ir.LoopOf(op); ok {
		if i, ok := f.InitIndex(u.Index()); ok {
			return f.Carried()[i : i+1]
		}
		return nil
	}
	if op.Def.Flow.Kind >= ir.YieldFlow {
		return ir.ForwardedTo(op, u.Index())
	}
	return nil
}

// dies reports whether an operation is the last that uses an accumulator.
func (l *lives) dies(v *ir.Value, op *ir.Op) bool { return l.last[l.number[v]] == l.at[op].begin }

func (l *lives) lastUse(v *ir.Value) int {
	last := l.birth(v)
	for u := v.FirstUse(); u != nil; u = u.Next() {
		if ir.Is[tileaa.FactorStore](u.Owner()) && u.Index() > 0 {
			continue // which takes its columns only
		}
		user := u.Owner()
		if reduce, ok := streamed(user); ok {
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

func (l *lives) birth(v *ir.Value) int {
	op := v.DefiningOp()
	switch {
	case op == nil:
		return l.at[v.ParentBlock().ParentOp()].begin
	case op.NumRegions() > 0 || l.late[op]:
		return l.at[op].end
	}
	return l.at[op].begin
}

// share puts values into the registers of those that they take the place of.
func (l *lives) share(entry *ir.Op) {
	join := func(from, to *ir.Value, op *ir.Op) bool {
		if !l.is(from) || !l.is(to) || !l.dies(from, op) {
			return false
		}
		l.place[l.home(l.number[to])] = l.home(l.number[from])
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
			taken := map[*ir.Value]bool{} // the second that would take the place of a value gets a copy
			for i, v := range op.Operands() {
				for _, to := range forwardedTo(op.OperandUse(i)) {
					if !taken[v] && l.is(v) {
						join(v, to, op)
					}
				}
				if l.is(v) {
					taken[v] = true
				}
			}
		}
	})
}

func (l *lives) home(i int) int {
	for l.place[i] != i {
		l.place[i] = l.place[l.place[i]]
		i = l.place[i]
	}
	return i
}

// sweep goes through time and counts registers that hold values, of those that share some the widest one: so many bits from a time on.
func (l *lives) sweep(count func(time, bits int)) {
	type event struct {
		time, value int
		ends        bool
	}
	events := make([]event, 0, 2*len(l.values))
	for i, v := range l.values {
		events = append(events, event{time: l.birth(v), value: i}, event{time: l.last[i], value: i, ends: true})
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
	alive := l.byHome() // the bits of the values that are alive
	now := 0
	for _, e := range events {
		home, bits := l.home(e.value), bitsOf(l.values[e.value])
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

// byHome is an empty list for each home, with room for all values in it.
func (l *lives) byHome() [][]int {
	members, lists, room := make([]int, len(l.values)), make([][]int, len(l.values)), make([]int, len(l.values))
	for i := range l.values {
		members[l.home(i)]++
	}
	for h, n := range members {
		lists[h], room = room[:0:n], room[n:]
	}
	return lists
}

// widest is the most of bits, 0 without any.
func widest(bits []int) (most int) {
	for _, b := range bits {
		most = max(most, b)
	}
	return most
}
