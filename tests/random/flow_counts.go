package random

import (
	"fmt"
	"slices"
	"strings"
)

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
	switch f.r.IntN(10) {
	case 8:
		f.shows("for with a bound from memory")
		return f.boundary(elem, first), f.combine(added, f.loaded(elem), f.boundary(elem, n)), step
	case 9:
		if from := f.far(elem); from.name != "" {
			return from, f.combine(added, from, f.boundary(elem, by*n)), step
		}
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

// far is a number of many bits, at which narrower numbers wrap or change their sign, or near it; none of few bits.
func (f *flow) far(elem string) (v value) {
	if widths[elem] < 32 {
		return v
	}
	n := choose[int64](f.generator, 1<<15, 1<<16, 1<<24, 1<<30, 1<<31-8)
	if elem == "i64" {
		n = choose[int64](f.generator, 1<<31, 1<<32, 1<<32-2, 1<<33, 1<<40, 1<<40-4, 1<<62, 1<<63-64, 1<<31-2)
	}
	if f.chance(25) {
		n = -n
	}
	f.shows("counter far from 0 in " + elem)
	return f.combine(added, f.constant(scalar(elem), n), f.boundary(elem, f.r.IntN(5)))
}

// loaded is a small number from memory.
func (f *flow) loaded(elem string) value {
	v, _ := f.load(f.inputs[0], f.placesAt(f.inputs[0], f.below(f.someScalar(), 32), nil), "")
	return f.cast(v, elem)
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
	if f.chance(20) {
		f.shows("number that grows as the counter does")
		list = append(list, slot{typ: step.typ, grow: func(v value) value { return f.combine(added, v, step) }})
	}
	limits := []value(nil)
	if flat && f.chance(50) {
		limits = f.limits(lower.typ)
	}
	f.rounds(lower, upper, step, unsigned, list, func(r *round) {
		r.limits = limits
		if left := f.left; flat {
			f.shows("for without a region inside")
			f.left = 0
			f.guarding()
			f.statements(1 + f.r.IntN(3))
			f.left += left
		} else {
			f.statements(f.few())
		}
	})
}

// rounds writes a for that carries a list.
func (f *flow) rounds(lower, upper, step value, unsigned bool, list []slot, body func(r *round)) {
	inits, args := f.begin(list)
	i, result := value{name: f.fresh(), typ: lower.typ}, f.fresh()
	left, right, word := "", "", map[bool]string{true: "unsigned "}[unsigned]
	if len(list) > 0 {
		left, right = binder(result, len(list))+" = ", fmt.Sprintf(" iter_values(%s) -> (%s)", slotBindings(list, inits), slotTypes(list))
	}
	f.emit("%sfor %s%s in (%s to %s, step %s) : %s%s {", left, word, i.name, lower.name, upper.name, step.name, i.typ, right)
	steps := f.inside(func(j *journal) bool { return hasJournal(list, j) }, func() {
		r := &round{counted: true, carried: list, results: list, args: args, counter: i, lower: lower, step: step}
		f.enterLoop(r)
		f.taken(list, args)
		f.keep(i)
		body(r)
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
