package random

import (
	"slices"
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
	limits               []value             // what stays in the loop, and what grows is compared with
}

// begin makes what a loop carries, and what that begins with.
func (f *flow) begin(list []slot) (inits, args []value) {
	for i, s := range list {
		if s.journal == nil && !s.counter {
			if list[i].init = f.want(s.typ); s.grow == nil {
				list[i].grow = f.growth(s.typ, s.counts)
			}
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
	if isPointer(t.elem) {
		by := f.constant(t.with(choose(f.generator, "i32", "i64")), int64(choose(f.generator, 0, 1, 1, 2, 4, t.n(), t.n(), 64, -1, -8)))
		if f.chance(30) {
			by = f.widened(f.loaded(choose(f.generator, "i8", "i16", "i32")), t.shape)
		}
		return func(v value) value { return f.offset(v, by) }
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
	f.follows(&c, by*n)
	return c
}

// follows has the bound of a loop, or where it begins, follow from other numbers, at most so far from each other.
func (f *flow) follows(c *course, far int) {
	t := scalar(c.elem)
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
					c.first, c.bound = r.counter, f.combine(added, r.counter, f.constant(t, int64(far)))
				}
			}
		}
	case 6:
		if c.word != "equal" {
			f.shows("loop with a bound from memory")
			c.bound = f.combine(added, f.loaded(c.elem), c.bound)
		}
	case 7:
		if from := f.far(c.elem); from.name != "" {
			c.first, c.bound = from, f.combine(added, from, f.fixed(t, int64(far)))
		}
	case 5:
		f.shows("loop from a number on")
		c.first = f.combine(anded, f.cast(f.someScalar(), c.elem), f.constant(t, 3))
	}
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
	if f.depth >= deepNest-2 || f.chance(80) {
		f.loopOf(c, f.chance(55), f.chance(50))
		return
	}
	f.shows("loop behind an if")
	first, bound, unsigned := c.first, c.bound, c.unsigned != f.chance(10)
	if f.chance(8) {
		first = f.combine(added, first, c.step)
	} else if f.chance(8) {
		bound = f.want(bound.typ)
	}
	runs := f.compared(choose(f.generator, predicateOf(c.word).inverse, predicateOf(c.word).inverse, predicateOf(c.word).inverse, "less_than"), first, bound, unsigned)
	given, does, nothing := f.slotsOf(f.someJournals(80), f.r.IntN(2)), way{yields, func() { f.loopOf(c, true, false) }}, way{yields, func() {}}
	if f.chance(30) {
		f.either(f.not(runs), given, nothing, &does)
		return
	}
	f.either(runs, given, does, &nothing)
}

// loopOf writes one of a course; a neat one has its test at its head or its foot.
func (f *flow) loopOf(c course, neat, head bool) {
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
	r := &round{carried: list, results: given, args: args, counter: counter, lower: c.first, step: c.step, endless: endless}
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
			f.neatly(r, c, head)
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
func (f *flow) neatly(r *round, c course, head bool) {
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
	if head {
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
