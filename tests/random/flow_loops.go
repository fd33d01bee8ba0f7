package random

import (
	"fmt"
	"slices"
	"strings"
)

// round is a loop that is being written.
type round struct {
	counted              bool // a for
	endless              bool // a loop that only a return ends
	carried, results     []slot
	args                 []value
	counter, lower, step value
	next                 value               // of the counter, where it is known already
	now                  []value             // what the next round begins with, where that is known already
	advance              func(v value) value // makes it
}

// begin makes what a loop carries, and what that begins with.
func (f *flow) begin(list []slot) (inits, args []value) {
	for i, s := range list {
		if s.journal == nil && !s.counter {
			list[i].init = f.want(s.typ)
			list[i].grow = f.growth(s.typ, s.counts)
		}
	}
	inits = f.given(list, func(_ int, s slot) value { return s.init })
	f.showsSlots("carried value", list)
	if len(f.around) > 0 {
		f.shows("loop in a loop")
	}
	for i, s := range list {
		list[i].arg = value{name: f.fresh(), typ: s.typ}
		args = append(args, list[i].arg)
	}
	return inits, args
}

// growth is what some values become in each round: more by a number.
func (f *flow) growth(t typ, surely bool) func(v value) value {
	if t.elem == "i1" || !surely && !f.chance(25) {
		return nil
	}
	by := f.constant(t, int64(f.r.IntN(4)))
	if len(t.shape) == 0 && f.chance(30) {
		by = f.want(t)
	}
	return func(v value) value { return f.combine(added, v, by) }
}

// passedOn is what the next round of the innermost loop begins with.
func (f *flow) passedOn(i int, s slot) value {
	r := f.around[len(f.around)-1]
	if r.now != nil && f.chance(95) {
		return r.now[i]
	}
	if s.counter {
		return f.counterPassedOn(r)
	}
	switch {
	case s.grow != nil && f.chance(85):
		f.shows("value that grows by a number")
		return s.grow(s.arg)
	case f.chance(25):
		f.shows("value that is passed on unchanged")
		return s.arg
	case f.chance(8):
		f.shows("value that begins again")
		return s.init
	case f.chance(25):
		for k, a := range r.args {
			if k != i && a.is(s.typ) && r.carried[k].journal == nil {
				f.shows("values that change places")
				return a
			}
		}
	}
	return f.want(s.typ)
}

// counterPassedOn is what the counter of a loop is in the next round: mostly a step further.
func (f *flow) counterPassedOn(r *round) value {
	t := r.counter.typ
	switch {
	case f.chance(12):
		for _, other := range r.carried {
			if other.grow != nil && other.is(t) {
				f.shows("counter that goes on from another counter")
				return r.advance(other.arg)
			}
		}
	case r.next.name != "" && f.chance(85):
		return r.next
	case f.chance(6):
		f.shows("round that steps otherwise")
		return f.combine(added, r.counter, f.constant(t, int64(1+f.r.IntN(3))))
	case f.chance(4):
		f.shows("counter that goes on from another number")
		return r.advance(f.want(t))
	}
	return r.advance(r.counter)
}

// broken is what a loop gives when it is left here.
func (f *flow) broken(_ int, s slot) value {
	r := f.around[len(f.around)-1]
	for k, a := range r.now {
		if a.is(s.typ) && r.carried[k].journal == nil && f.chance(70) {
			f.shows("result that the next round would begin with")
			return a
		}
	}
	for k, a := range r.args {
		if a.is(s.typ) && r.carried[k].journal == nil && f.chance(40) {
			f.shows("result that is a carried value")
			return a
		}
	}
	if r.counter.is(s.typ) && f.chance(50) {
		f.shows("result that is the counter")
		return choose(f.generator, r.counter, r.advance(r.counter))
	}
	return f.want(s.typ)
}

// spent counts a round.
func (f *flow) spent() bool {
	f.fuel--
	f.long = f.long || f.fuel < 0
	return f.long
}

// bounds are where a for begins and ends, and its step.
func (f *flow) bounds(elem string, unsigned bool) (lower, upper, step value) {
	t, n := scalar(elem), f.r.IntN(6)
	by := choose(f.generator, 1, 1, 1, 1, 2, 3, 5)
	if step = f.constant(t, int64(by)); f.chance(30) {
		step = f.boundary(elem, by)
	}
	first := choose(f.generator, 0, 0, 0, 1, f.r.IntN(5))
	if f.chance(15) {
		first = -f.r.IntN(5)
	}
	top := greatestOf(elem)
	if unsigned {
		top = -1
	}
	switch f.r.IntN(8) {
	case 0:
		f.shows("for up to the largest number")
		from := top - int64(f.r.IntN(7))
		return f.constant(t, from), f.constant(t, top-int64(f.r.IntN(2))), step
	case 1:
		f.shows("for of a bound from a number")
		return f.boundary(elem, first), f.combine(anded, f.cast(f.someScalar(), elem), f.constant(t, 7)), step
	case 2:
		if v, ok := f.found(func(v value) bool { return v.is(t) }); ok {
			f.shows("for from a number on")
			return v, f.combine(added, v, f.boundary(elem, n)), step
		}
	case 3, 6:
		for _, r := range slices.Backward(f.around) {
			if r.counter.is(t) {
				f.shows("for up to the counter of a loop around")
				if f.chance(50) {
					return f.boundary(elem, first), r.counter, step
				}
				return r.counter, f.boundary(elem, n+2), step
			}
		}
	case 4:
		f.shows("for with a bound from the tile block")
		return f.boundary(elem, first), f.combine(added, f.cast(f.block, elem), f.boundary(elem, n)), step
	case 5:
		f.shows("for from the tile block on")
		return f.cast(f.block, elem), f.boundary(elem, n), step
	}
	return f.boundary(elem, first), f.boundary(elem, first+by*n-f.r.IntN(by)), step
}

// counting writes a for.
func (f *flow) counting() {
	if !f.nests() {
		return
	}
	elem := choose(f.generator, "i32", "i32", "i32", "i64", "i8", "i16")
	for _, r := range f.around {
		if f.chance(60) {
			elem = r.counter.elem
		}
	}
	unsigned, word := f.chance(25), ""
	if unsigned {
		word = "unsigned "
	}
	flat := f.chance(45)
	lower, upper, step := f.bounds(elem, unsigned)
	if t := scalar(elem); flat && f.chance(60) {
		lower, upper, step = f.constant(t, int64(f.r.IntN(3))), f.boundary(elem, f.r.IntN(12)), f.constant(t, 1)
	}
	f.shows("for that counts in " + word + elem)
	list := f.slotsOf(f.someJournals(80), f.r.IntN(3))
	inits, args := f.begin(list)
	i, result := value{name: f.fresh(), typ: scalar(elem)}, f.fresh()
	left, right := "", ""
	if len(list) > 0 {
		left, right = binder(result, len(list))+" = ", fmt.Sprintf(" iter_values(%s) -> (%s)", slotBindings(list, inits), slotTypes(list))
	}
	f.emit("%sfor %s%s in (%s to %s, step %s) : %s%s {", left, word, i.name, lower.name, upper.name, step.name, i.typ, right)
	steps := f.inside(func(j *journal) bool { return hasJournal(list, j) }, func() {
		f.enterLoop(&round{counted: true, carried: list, results: list, args: args, counter: i, lower: lower, step: step})
		f.taken(list, args)
		f.keep(i)
		if left := f.left; flat {
			f.shows("for without a region inside")
			f.left = 0
			f.guarding()
			f.statements(1 + f.r.IntN(3))
			f.left += left
		} else {
			f.statements(f.few())
		}
		f.end(goesOn, nil)
	})
	f.emit("}")
	results := f.named(result, list)
	f.steps = append(f.steps, func(m *machine) signal {
		return f.count(m, [3]int64{m.one(lower), m.one(upper), m.one(step)}, i, unsigned, steps, inits, args, results)
	})
	f.taken(list, results)
}

func slotBindings(list []slot, inits []value) string {
	var texts []string
	for i, s := range list {
		texts = append(texts, s.arg.name+" = "+inits[i].name)
	}
	return strings.Join(texts, ", ")
}

// count runs a for, whose counter never wraps.
func (f *flow) count(m *machine, bounds [3]int64, i value, unsigned bool, steps []action, inits, args, results []value) signal {
	now, elem, n := m.many(inits), i.elem, 0
	if bounds[2] <= 0 {
		return f.undefined()
	}
	at, end := bounds[0], bounds[1]
	for ; !unsigned && at < end || unsigned && unsignedOf(elem, at) < unsignedOf(elem, end); n++ {
		if f.spent() {
			return returned
		}
		m.tiles[i.name] = []int64{at}
		m.bind(args, now)
		if how := m.run(steps); how != continued {
			return how
		}
		now = m.out
		if unsignedOf(elem, end-at) <= uint64(bounds[2]) {
			n++
			break
		}
		at = wrapped(elem, at+bounds[2])
	}
	f.note("for of rounds: " + []string{"0", "1", "2 or more"}[min(n, 2)])
	m.bind(results, now)
	return onward
}

// course is how a loop counts, and when it ends.
type course struct {
	elem        string
	first, step value
	bound       value
	word        string // how the counter compares with the bound where the loop ends
	unsigned    bool
	next        bool // compares what the counter is next
}

// course chooses one, of a few rounds if it ends at all.
func (f *flow) course() course {
	g := f.generator
	c := course{elem: choose(g, "i32", "i32", "i32", "i64", "i8", "i16"), unsigned: f.chance(25), next: f.chance(50)}
	for _, r := range f.around {
		if f.chance(60) {
			c.elem = r.counter.elem
		}
	}
	near := f.chance(20)
	if near && f.chance(60) { // whoever wraps comes round
		c.elem = "i8"
	}
	t, by, n := scalar(c.elem), choose(g, 1, 1, 1, 2, 3, 7), f.r.IntN(5)
	first := f.r.IntN(4) - 1
	c.word = choose(g, "greater_than_or_equal", "greater_than_or_equal", "greater_than", "equal")
	least, most := leastOf(c.elem), greatestOf(c.elem)
	if c.unsigned {
		least, most = 0, -1
	}
	end := most - int64(f.r.IntN(4))
	if f.chance(35) {
		f.shows("loop that counts down")
		by, c.word, end = -by, choose(g, "less_than_or_equal", "less_than_or_equal", "less_than", "equal"), least+int64(f.r.IntN(4))
		first += by * -n
	}
	last := wrapped(c.elem, int64(first)+int64(by*n))
	if near {
		f.shows("loop near the largest or the least number")
		first = int(wrapped(c.elem, end-int64(by*n-f.r.IntN(3))))
		last = wrapped(c.elem, choose(g, end, int64(first+by*n)))
	}
	if c.elem == "i8" && f.chance(10) {
		f.shows("loop that counts the other way round")
		by = -by
	}
	c.first, c.step, c.bound = f.fixed(t, int64(first)), f.fixed(t, int64(by)), f.fixed(t, last)
	switch f.r.IntN(8) {
	case 0:
		f.shows("loop with a bound from a number")
		c.bound = f.combine(anded, f.cast(f.someScalar(), c.elem), f.constant(t, 7))
	case 1:
		f.shows("loop with a bound from the tile block")
		c.bound = f.combine(added, f.cast(f.block, c.elem), c.bound)
	case 2, 3, 4:
		for _, r := range f.around {
			if r.counter.is(t) {
				f.shows("loop with a bound from the counter of a loop around")
				c.bound = r.counter
				if f.chance(30) {
					c.first, c.bound = r.counter, f.combine(added, r.counter, f.constant(t, int64(by*n)))
				}
			}
		}
	case 5:
		f.shows("loop from a number on")
		c.first = f.combine(anded, f.cast(f.someScalar(), c.elem), f.constant(t, 3))
	}
	return c
}

// fixed is a scalar that is n.
func (f *flow) fixed(t typ, n int64) value {
	if n >= 0 && n < 100 {
		return f.boundary(t.elem, int(n))
	}
	return f.constant(t, n)
}

// looping writes a loop.
func (f *flow) looping() {
	if !f.nests() {
		return
	}
	c := f.course()
	neat := f.chance(45)
	endless := !neat && f.fors == 0 && f.chance(12)
	f.shows("loop that counts in " + map[bool]string{true: "unsigned "}[c.unsigned] + c.elem)
	journals := f.someJournals(85)
	var given []slot
	if !endless {
		given = f.slotsOf(journals, f.r.IntN(3))
		if f.chance(35) {
			given = append(given, slot{typ: scalar(c.elem)})
		}
	}
	list := f.slotsOf(slices.DeleteFunc(journals, func(*journal) bool { return f.chance(10) }), f.r.IntN(3))
	if f.chance(25) {
		list = append(list, slot{typ: scalar(c.elem), counts: true})
	}
	inits, args := f.begin(list)
	at := f.r.IntN(len(list) + 1)
	counter := value{name: f.fresh(), typ: scalar(c.elem)}
	list, inits, args = slices.Insert(list, at, slot{typ: counter.typ, arg: counter, counter: true}), slices.Insert(inits, at, c.first), slices.Insert(args, at, counter)
	r := &round{carried: list, results: given, args: args, counter: counter, step: c.step, endless: endless}
	r.advance = func(v value) value { return f.stepped(v, c) }
	result, left, right := f.fresh(), "", ""
	if len(given) > 0 {
		left, right = binder(result, len(given))+" = ", " -> "+slotTypes(given)
	}
	f.emit("%sloop iter_values(%s) : %s%s {", left, slotBindings(list, inits), slotTypes(list), right)
	steps := f.inside(func(j *journal) bool { return hasJournal(list, j) }, func() {
		f.enterLoop(r)
		f.taken(list, args)
		if neat {
			f.neatly(r, c)
			return
		}
		f.inRound(r, c)
	})
	f.emit("}")
	results := f.named(result, given)
	f.steps = append(f.steps, func(m *machine) signal { return f.repeat(m, steps, inits, args, results) })
	f.taken(given, results)
	f.dead = f.dead || endless
}

// stepped is the counter in the next round.
func (f *flow) stepped(v value, c course) value {
	if f.chance(10) {
		v = f.assumed(v)
	}
	if f.chance(15) { // the other way round
		return f.combine(added, c.step, v)
	}
	return f.combine(added, v, c.step)
}

// repeat runs a loop.
func (f *flow) repeat(m *machine, steps []action, inits, args, results []value) signal {
	now := m.many(inits)
	for n := 0; ; n++ {
		if f.spent() {
			return returned
		}
		m.bind(args, now)
		switch how := m.run(steps); how {
		case continued:
			now = m.out
		case broken:
			f.note("loop of rounds: " + []string{"1", "2", "3 or more"}[min(n, 2)])
			m.bind(results, m.out)
			return onward
		default:
			return how
		}
	}
}

// inRound writes what a loop does in a round, and where it ends.
func (f *flow) inRound(r *round, c course) {
	before := f.r.IntN(3) * f.r.IntN(2)
	f.statements(before)
	if c.next || f.chance(20) {
		r.next = r.advance(r.counter)
		f.keep(r.next)
	}
	x := f.tested(r, c)
	how := breaks
	if r.endless {
		f.shows("loop that only a return ends")
		how = returns
	}
	ends := func() value { return f.compared(c.word, x, c.bound, c.unsigned) }
	stays := func() value { return f.compared(predicateOf(c.word).inverse, x, c.bound, c.unsigned) }
	if f.dead {
		f.end(choose(f.generator, f.jumps()...), nil)
		return
	}
	switch f.r.IntN(12) {
	case 0:
		f.shows("loop that goes on by one side and ends behind it")
		f.leaveIf(stays(), goesOn)
		f.statements(f.r.IntN(2))
		f.end(how, nil)
	case 1:
		f.shows("loop that goes on by one side and ends by the other")
		on, off := f.doing(goesOn), f.doing(how)
		if f.chance(50) {
			f.either(stays(), nil, on, &off)
		} else {
			f.either(ends(), nil, off, &on)
		}
		f.statements(f.r.IntN(2))
		f.end(choose(f.generator, f.jumps()...), nil)
	case 2:
		f.shows("loop that ends in an if within an if")
		leave := way{how, func() { f.statements(f.r.IntN(2)) }}
		e := ends()
		f.either(f.condition(), nil, way{yields, func() {
			f.either(e, nil, leave, nil)
		}}, nil)
		f.rest(r)
	case 3:
		if f.chance(50) {
			f.atOnce(how)
			return
		}
		fallthrough
	default:
		f.shows("loop that ends in an if")
		f.leaveIf(ends(), how)
		f.rest(r)
	}
}

// atOnce ends a loop in its first round, or that by either side of an if.
func (f *flow) atOnce(how string) {
	f.shows("loop that ends at once")
	f.statements(f.few())
	if !f.dead && f.chance(50) {
		one, other := f.doing(how), f.doing(how)
		f.either(f.condition(), nil, one, &other)
		how = choose(f.generator, f.jumps()...)
	}
	f.end(how, nil)
}

// tested is what a loop compares with its bound.
func (f *flow) tested(r *round, c course) value {
	x := r.counter
	switch {
	case f.chance(4):
		f.shows("test of a sum with another number")
		x = f.combine(added, r.counter, f.constant(r.counter.typ, int64(f.r.IntN(4))))
	case c.next:
		x = r.next
	}
	if f.chance(10) {
		x = f.assumed(x)
	}
	return x
}

// neatly writes a round as loops of frontends have it: the test comes first or last, and nothing else happens where it ends the loop.
func (f *flow) neatly(r *round, c course) {
	leave := func() {
		ends := func() value { return f.compared(c.word, f.tested(r, c), c.bound, c.unsigned) }
		bare, stay := way{breaks, func() {}}, way{yields, func() {}}
		switch f.r.IntN(5) {
		case 0:
			f.either(f.not(ends()), nil, stay, &bare)
		case 1:
			f.either(ends(), nil, bare, &stay)
		default:
			f.either(ends(), nil, bare, nil)
		}
	}
	c.next = c.next && f.chance(30)
	if f.chance(50) {
		f.shows("loop with the test at its head")
		if c.next {
			r.next = r.advance(r.counter)
		}
		leave()
		f.statements(1 + f.r.IntN(3))
		f.end(goesOn, nil)
		return
	}
	f.shows("loop with the test at its foot")
	f.statements(1 + f.r.IntN(3))
	if f.dead {
		f.end(goesOn, nil)
		return
	}
	r.next = r.advance(r.counter)
	c.next = !c.next
	r.now = f.given(r.carried, f.passedOn)
	leave()
	f.statements(f.r.IntN(2) * f.r.IntN(2))
	f.end(goesOn, nil)
}

// rest is what is behind the test of a loop.
func (f *flow) rest(r *round) {
	f.statements(f.few() * f.r.IntN(2))
	if r.next.name == "" && f.chance(50) {
		r.next = r.advance(r.counter)
		f.keep(r.next)
	}
	f.end(goesOn, nil)
}
