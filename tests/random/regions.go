package random

import (
	"fmt"
	"slices"
	"strings"
)

// crossing is a token that goes into a region and comes out of it, for some areas.
type crossing struct {
	areas   []*area
	carried carried
	collect bool // the region only reads them: the token collects its reads
	apart   bool // each round has a piece of its own: the token collects what rounds do
	meet    bool // so it is, and this token is that of reads, which those of the next round come after
}

// crossings chooses what a region may access.
func (p *program) crossings() (list []*crossing) {
	var ordered []*area
	for _, a := range p.areas {
		switch {
		case !a.written || a.hidden && !a.apart || p.chance(30):
		case a.readOnly || p.chance(25):
			p.note("region that only reads memory that is written")
			list = append(list, &crossing{areas: []*area{a}, collect: true})
		default:
			ordered = append(ordered, a)
		}
	}
	if len(ordered) > 1 && !slices.ContainsFunc(ordered, func(a *area) bool { return a.apart }) && p.chance(40) {
		p.note("one token for several arrays")
		list, ordered = append(list, &crossing{areas: ordered}), nil
	}
	for _, a := range ordered {
		list = append(list, &crossing{areas: []*area{a}})
	}
	for _, c := range list {
		c.begin(p)
	}
	return list
}

// begin is the token after what has accessed the areas in front of the region.
func (c *crossing) begin(p *program) {
	var before []string
	for _, a := range c.areas {
		before = append(before, a.all()...)
	}
	c.carried = carried{init: value{name: p.join(before...)}, arg: value{name: p.fresh()}, token: true}
}

// inLoop chooses what a loop may access. The rounds of some have a piece each of an area: reads of a round come after what was before the loop, or after those of the round
// before as well.
func (p *program) inLoop(s span) (list []*crossing) {
	a := s.pieces
	if a == nil {
		return p.crossings()
	}
	a.hidden = true
	list = append(p.crossings(), &crossing{areas: []*area{a}, apart: true})
	if s.readsMeet {
		p.note("reads of a round after those of the one before")
		list = append(list, &crossing{areas: []*area{a}, apart: true, meet: true})
	}
	for _, c := range list {
		if c.apart {
			c.begin(p)
		}
	}
	a.hidden = false
	return list
}

// token is that after everything that this program has done with the areas so far.
func (c *crossing) token(p *program) string {
	a := c.areas[0]
	switch {
	case c.collect:
		return p.join(a.reads...)
	case c.meet:
		return p.join(slices.Concat([]string{c.carried.arg.name}, a.latest)...)
	case c.apart:
		return p.join(slices.Concat([]string{c.carried.arg.name}, a.all())...)
	}
	var list []string
	for _, a := range c.areas {
		list = append(list, a.all()...)
	}
	return p.join(list...)
}

// enter makes the areas of crossings, and no others, accessible after their tokens of these names.
func (p *program) enter(list []*crossing, name func(c *crossing) string) {
	apart := map[*area]bool{}
	for _, a := range p.areas {
		apart[a] = a.apart
		a.hidden, a.apart = true, false
	}
	for _, c := range list {
		for _, a := range c.areas {
			a.apart = c.apart || apart[a]
			a.hidden, a.reads, a.latest = a.apart, nil, nil
			if a.readOnly = c.collect; c.apart && !c.meet {
				a.after = c.carried.init.name
			} else if c.collect {
				a.reads = []string{name(c)}
			} else {
				a.after = name(c)
			}
		}
	}
	for _, a := range p.areas {
		a.hidden = a.hidden && a.written
	}
}

// leave goes on behind the region.
func (p *program) leave(list []*crossing, name func(i int) string) {
	for i, c := range list {
		for _, a := range c.areas {
			if c.collect || c.meet {
				a.reads = append(a.reads, name(i))
			} else {
				a.after, a.reads = name(i), nil
			}
		}
	}
}

// region writes what stands in one, and gives what it does. What it defines, and what it does to tokens, ends with it.
func (p *program) region(f func()) []action {
	steps, pool, counters, layers := p.steps, len(p.pool), len(p.counters), len(p.layers)
	var areas []area
	for _, a := range p.areas {
		areas = append(areas, *a)
	}
	p.steps = nil
	p.scope(f)
	made := p.steps
	p.steps, p.pool, p.counters, p.layers = steps, p.pool[:pool:pool], p.counters[:counters:counters], p.layers[:layers:layers]
	for i, a := range areas {
		*p.areas[i] = a
	}
	return made
}

// ends writes the terminator of a region with values and tokens.
func (p *program) ends(word string, how signal, vals []value, tokens []string, types string) {
	p.emit("%s %s : %s", word, joined(append(namesOf(vals), tokens...)), types)
	p.steps = append(p.steps, func(m *machine) signal {
		m.out = m.many(vals)
		return how
	})
}

func (p *program) tokensOf(list []*crossing) (names []string) {
	for _, c := range list {
		names = append(names, c.token(p))
	}
	return names
}

// frame is a loop that statements inside of it may leave, or end a round of.
type frame struct {
	now    []value // what its next round begins with, but for the counter
	cross  []*crossing
	types  string
	next   value // the counter of the next round, of a loop without one of its own
	breaks bool  // it is a loop that breaks end
	again  bool  // any statement may go on with the next round, as it is not its foot that ends the loop
}

// span is how a loop counts.
type span struct {
	elem               string
	first, step, times int
	endless, unsigned  bool
	shared             int   // so many rounds that the tile blocks take in turn, if not 0
	pieces             *area // of which each round has a piece of its own; nil: none
	readsMeet          bool  // reads of a round come after those of the one before
}

// repeat writes a loop. The body takes the number of the round, what the loop carries, and gives what the next one begins with, of elements of at most limit.
func (p *program) repeat(s span, inits []value, limits []int, body func(round value, args []value) []value) []value {
	t := scalar(s.elem)
	list := carriedValues(p.generator, inits)
	for i := range list {
		list[i].arg.bound = limits[i]
	}
	args := argsOf(list)
	f := &frame{cross: p.inLoop(s), now: args, breaks: s.endless}
	first, last, step := s.bounds(p, t)
	if s.endless {
		list = append(list, carried{init: first, arg: value{name: p.fresh(), typ: t}})
	}
	for _, c := range f.cross {
		list = append(list, c.carried)
	}
	i, result := value{name: p.fresh(), typ: t}, p.fresh()
	f.types = joined(typesOf(list))
	if s.endless {
		i = list[len(args)].arg
	}
	p.emit("%s {", s.head(result, i, [3]value{first, last, step}, list))
	steps := p.region(func() {
		p.enter(f.cross, func(c *crossing) string { return c.carried.arg.name })
		p.frames = append(p.frames, f)
		p.round(s, f, i, first, step, last, func(round value) {
			p.pool = append(p.pool, args...)
			if next := body(round, args); next != nil {
				f.now = next
			}
			for j, v := range f.now {
				f.now[j] = p.within(v, limits[j])
			}
		})
		p.frames = p.frames[:len(p.frames)-1]
	})
	p.emit("}")
	var results []value
	for j, v := range resultsNamed(result, len(list), args) {
		v.bound = limits[j]
		results = append(results, v)
	}
	p.leave(f.cross, func(j int) string {
		if len(list) == 1 {
			return result
		}
		return fmt.Sprintf("%s#%d", result, len(list)-len(f.cross)+j)
	})
	p.do(func(m *machine) { s.run(m, steps, i, args, results, inits) })
	return results
}

// bounds are where the loop begins to count, where it ends, and its step.
func (s span) bounds(p *program, t typ) (first, last, step value) {
	if s.shared > 0 {
		return p.block, p.known(s.elem, s.shared), p.known(s.elem, grid)
	}
	return p.knownNumber(t, s.first), p.knownNumber(t, s.end(p)), p.knownNumber(t, s.step)
}

// number is what the loop counts in a round, and whether there is such a round.
func (s span) number(m *machine, round int) (n int64, ok bool) {
	if s.shared > 0 {
		n = m.block + int64(round)*grid
		return n, n < int64(s.shared)
	}
	return int64(s.first) + int64(round)*int64(s.step), round < s.times
}

// head is the text in front of the body.
func (s span) head(result string, i value, bounds [3]value, list []carried) string {
	types := joined(typesOf(list))
	if s.endless {
		return fmt.Sprintf("%s = loop iter_values(%s) : %s -> %s", binder(result, len(list)), bindings(list), types, types)
	}
	left, right, word := "", "", ""
	if s.unsigned {
		word = "unsigned "
	}
	if len(list) > 0 {
		left, right = binder(result, len(list))+" = ", fmt.Sprintf(" iter_values(%s) -> (%s)", bindings(list), types)
	}
	return fmt.Sprintf("%sfor %s%s in (%s to %s, step %s) : %s%s", left, word, i.name, bounds[0].name, bounds[1].name, bounds[2].name, i.typ, right)
}

// end is an upper bound after which there is no further round.
func (s span) end(p *program) int {
	ahead := s.times * s.step
	if s.times > 0 && s.step > 1 {
		ahead -= p.r.IntN(s.step)
	}
	if s.first > 0 {
		ahead = min(ahead, topOf(s.elem)-s.first)
	}
	return s.first + ahead
}

func topOf(elem string) int { return 1<<(widths[elem]-1) - 1 }

// run goes through the rounds.
func (s span) run(m *machine, steps []action, i value, args, results, inits []value) {
	now := m.many(inits)
	for round := 0; ; round++ {
		n, ok := s.number(m, round)
		if !ok && !s.endless {
			break
		}
		m.tiles[i.name] = []int64{n}
		m.bind(args, now)
		how := m.run(steps)
		now = m.out[:len(args)]
		if how == broken {
			break
		}
	}
	m.bind(results, now)
}

// round writes the body of a loop: what the loop has to do to count, and what comes in between.
func (p *program) round(s span, f *frame, i, first, step, last value, body func(round value)) {
	t := i.typ
	limit := max(s.times, 1) - 1
	less := func(x value) value {
		return p.elementwise(scalar("i1"), 1, []value{x, last}, func(x []int64) int64 { return flag(x[0] >= x[1]) },
			"cmpi greater_than_or_equal %s, %s, signed : %s -> tile<i1>", x.name, last.name, t)
	}
	if s.endless {
		i.bound = s.first + s.times*s.step
		f.next = p.elementwise(t, i.bound+s.step, []value{i, step}, func(x []int64) int64 { return x[0] + x[1] }, "addi %s, %s : %s", i.name, step.name, t)
	}
	head := s.endless && (s.times == 0 || s.shared > 0 || p.chance(50))
	f.again = head || !s.endless
	if head {
		p.note("loop that ends at its head")
		p.leaveIf(less(i), func() { p.ends("break", broken, append(slices.Clone(f.now), i), p.tokensOf(f.cross), f.types) })
	}
	round := i
	if round.bound = limit; s.shared > 0 {
		round.bound = s.shared - 1
	} else if s.first != 0 || s.step != 1 {
		round = p.elementwise(t, limit*s.step, []value{i, first}, func(x []int64) int64 { return x[0] - x[1] }, "subi %s, %s : %s", i.name, first.name, t)
		round = p.elementwise(t, limit, []value{round, step}, func(x []int64) int64 { return x[0] / x[1] }, "divi %s, %s signed : %s", round.name, step.name, t)
	}
	p.counters = append(p.counters, round)
	body(round)
	if s.endless && !head {
		p.note("loop that ends at its foot")
		p.leaveIf(less(f.next), func() { p.ends("break", broken, append(slices.Clone(f.now), i), p.tokensOf(f.cross), f.types) })
	}
	p.next(f, s.endless)
}

// next ends a round.
func (p *program) next(f *frame, counted bool) {
	vals := slices.Clone(f.now)
	if counted {
		vals = append(vals, f.next)
	}
	tokens := p.tokensOf(f.cross)
	if len(vals)+len(tokens) == 0 {
		p.emit("continue")
		p.steps = append(p.steps, func(m *machine) signal { m.out = nil; return continued })
		return
	}
	p.ends("continue", continued, vals, tokens, f.types)
}

// leaveIf writes an if without results whose region leaves the loop, or ends the round.
func (p *program) leaveIf(c value, f func()) {
	p.emit("if %s {", c.name)
	steps := p.region(f)
	p.emit("}")
	p.steps = append(p.steps, func(m *machine) signal {
		if m.one(c) != 0 {
			return m.run(steps)
		}
		return onward
	})
}

// early ends a round, or the loop, where a condition holds.
func (p *program) early() {
	if len(p.frames) == 0 {
		return
	}
	f := p.frames[len(p.frames)-1]
	if !f.breaks && !f.again {
		return
	}
	c := p.condition()
	p.leaveIf(c, func() {
		p.statements(p.r.IntN(2))
		if f.breaks && (!f.again || p.chance(50)) {
			p.note("break under a condition")
			p.ends("break", broken, append(slices.Clone(f.now), f.next), p.tokensOf(f.cross), f.types)
			return
		}
		p.note("continue under a condition")
		p.next(f, f.breaks)
	})
}

// either writes an if of which both sides give tiles of these types and at most these bounds.
func (p *program) either(c value, types []typ, limits []int, then, otherwise func() []value) []value {
	cross := p.crossings()
	result := p.fresh()
	var list []string
	for _, t := range types {
		list = append(list, t.String())
	}
	list = append(list, slices.Repeat([]string{"token"}, len(cross))...)
	text := strings.Join(list, ", ")
	side := func(f func() []value) []action {
		return p.region(func() {
			p.enter(cross, func(c *crossing) string { return c.carried.init.name })
			vals := f()
			for i, v := range vals {
				vals[i] = p.within(v, limits[i])
			}
			p.ends("yield", yielded, vals, p.tokensOf(cross), text)
		})
	}
	p.emit("%s = if %s -> (%s) {", binder(result, len(list)), c.name, text)
	yes := side(then)
	p.emit("} else {")
	no := side(otherwise)
	p.emit("}")
	var like []value
	for i, t := range types {
		like = append(like, value{typ: t, bound: limits[i]})
	}
	results := resultsNamed(result, len(list), like)
	for i := range results {
		results[i].bound = limits[i]
	}
	p.leave(cross, func(j int) string {
		if len(list) == 1 {
			return result
		}
		return fmt.Sprintf("%s#%d", result, len(types)+j)
	})
	p.steps = append(p.steps, runSide(c, yes, no, results))
	return results
}

// runSide runs one side of an if; without a second there is nothing to run. What it yields are the results.
func runSide(c value, yes, no []action, results []value) action {
	return func(m *machine) signal {
		taken := no
		if m.one(c) != 0 {
			taken = yes
		}
		how := m.run(taken)
		if how == yielded {
			m.bind(results, m.out)
			return onward
		}
		return how
	}
}
