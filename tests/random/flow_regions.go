package random

import (
	"fmt"
	"slices"
	"strings"
)

// slot is a value that goes into a region or comes out of one: any value, or the token of a journal, or the place of its next entry.
type slot struct {
	typ
	journal *journal
	arg     value
	init    value
	grow    func(v value) value // what most rounds make of it
	counter bool
	counts  bool // it grows surely
}

const tokens = "token"

// String is the type.
func (s slot) String() string {
	if s.elem == tokens {
		return tokens
	}
	return s.typ.String()
}

func slotTypes(list []slot) string {
	var names []string
	for _, s := range list {
		names = append(names, s.String())
	}
	return strings.Join(names, ", ")
}

// slotsOf are those of journals, among others of a few types, in any order.
func (f *flow) slotsOf(journals []*journal, others int) (list []slot) {
	for range others {
		t := scalar(choose(f.generator, "i32", "i32", "i64", "i8", "i16", "i1"))
		if f.chance(8) {
			t = typ{"ptr<" + choose(f.generator, f.inputs...).elem + ">", choose(f.generator, f.shapes...)}
		} else if v, ok := f.found(func(v value) bool { return isInt(v.elem) }); ok && f.chance(80) {
			t = v.typ
		}
		list = append(list, slot{typ: t, counts: isPointer(t.elem)})
		if f.chance(25) { // two of a type may change places
			list = append(list, slot{typ: t})
		}
	}
	for _, j := range journals {
		list = append(list, slot{typ: scalar(tokens), journal: j}, slot{typ: j.at.typ, journal: j})
	}
	f.r.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
	return list
}

// some of the journals that take entries here.
func (f *flow) someJournals(percent int) (list []*journal) {
	for _, j := range f.journals {
		if !j.closed && f.chance(percent) {
			list = append(list, j)
		}
	}
	return list
}

func hasJournal(list []slot, j *journal) bool {
	return slices.ContainsFunc(list, func(s slot) bool { return s.journal == j })
}

// given are the values that fill slots.
func (f *flow) given(list []slot, other func(i int, s slot) value) (vals []value) {
	for i, s := range list {
		switch {
		case s.journal != nil && s.elem == tokens:
			vals = append(vals, value{name: s.journal.token})
		case s.journal != nil:
			vals = append(vals, s.journal.at)
		default:
			vals = append(vals, other(i, s))
		}
	}
	return vals
}

// taken makes the values in slots visible.
func (f *flow) taken(list []slot, vals []value) {
	for i, s := range list {
		switch {
		case s.journal != nil && s.elem == tokens:
			s.journal.token = vals[i].name
		case s.journal != nil:
			s.journal.at = vals[i]
		default:
			f.keep(vals[i])
		}
	}
}

// named are the results of an operation.
func (f *flow) named(name string, list []slot) (vals []value) {
	for i, s := range list {
		r := name
		if len(list) > 1 {
			r = fmt.Sprintf("%s#%d", name, i)
		}
		vals = append(vals, value{name: r, typ: s.typ})
	}
	return vals
}

// inside writes a region, in which journals take entries where open says so.
func (f *flow) inside(open func(j *journal) bool, body func()) []action {
	var before []journal
	state := f.place
	for _, j := range f.journals {
		before = append(before, *j)
		opens := open(j)
		if n := len(f.around); opens && j.closed && n > 0 { // what is entered here goes where this region leads, and nowhere else
			f.staysIn = f.staysIn || !hasJournal(f.around[n-1].results, j)
			f.endsRound = f.endsRound || !hasJournal(f.around[n-1].carried, j)
		}
		j.closed = !opens
	}
	steps := f.region(body)
	f.place = state
	for i, j := range f.journals {
		*j = before[i]
	}
	return steps
}

// ends writes a terminator.
func (f *flow) ends(word string, how signal, vals []value, types string) {
	f.shows(word)
	switch {
	case len(vals) > 0:
		f.program.ends(word, how, vals, nil, types)
		return
	case word != "yield" || f.chance(50):
		f.emit("%s", word)
	}
	f.steps = append(f.steps, func(m *machine) signal {
		m.out = nil
		return how
	})
}

// How a region ends.
const (
	yields  = "yield"
	returns = "return"
	breaks  = "break"
	goesOn  = "continue"
)

// jumps are how a region may end here but for a yield.
func (f *flow) jumps() (list []string) {
	if f.fors == 0 && (len(f.around) > 0 || f.depth > 0 || f.chance(50)) {
		list = append(list, slices.Repeat([]string{returns}, 1+min(len(f.around), 1))...)
	}
	n := len(f.around)
	if n > 0 && !f.endsRound {
		list = append(list, goesOn, goesOn)
	}
	if n > 0 && !f.staysIn && !f.around[n-1].counted && !f.around[n-1].endless {
		list = append(list, breaks, breaks)
	}
	return list
}

// enterLoop says that a loop is around what is written from now on.
func (f *flow) enterLoop(r *round) {
	f.around, f.staysIn, f.endsRound = append(slices.Clone(f.around), r), false, false
	if r.counted {
		f.fors++
	}
}

// opens tells which journals take entries in a region that ends so.
func (f *flow) opens(how string, given []slot) func(j *journal) bool {
	switch how {
	case returns:
		return func(*journal) bool { return true }
	case breaks:
		return func(j *journal) bool { return hasJournal(f.around[len(f.around)-1].results, j) }
	case goesOn:
		return func(j *journal) bool { return hasJournal(f.around[len(f.around)-1].carried, j) }
	}
	return func(j *journal) bool { return !j.closed && hasJournal(given, j) }
}

// end writes the terminator of a region that gives values.
func (f *flow) end(how string, given []slot) {
	switch how {
	case yields:
		f.ends(how, yielded, f.given(given, func(_ int, s slot) value { return f.want(s.typ) }), slotTypes(given))
	case returns:
		f.ends(how, returned, nil, "")
	case breaks:
		r := f.around[len(f.around)-1]
		f.ends(how, broken, f.given(r.results, f.broken), slotTypes(r.results))
	case goesOn:
		r := f.around[len(f.around)-1]
		f.ends(how, continued, f.given(r.carried, f.passedOn), slotTypes(r.carried))
	}
}

// way is a side of an if: how it ends, and what it does before.
type way struct {
	how  string
	body func()
}

// either writes an if; without a second way there is no else.
func (f *flow) either(c value, given []slot, then way, otherwise *way) {
	left, result := "", f.fresh()
	f.showsIf(given, then, otherwise)
	if len(given) > 0 {
		left = binder(result, len(given)) + " = "
	}
	f.emit("%sif %s%s {", left, c.name, map[bool]string{true: " -> (" + slotTypes(given) + ")"}[len(given) > 0])
	side := func(w way) []action {
		return f.inside(f.opens(w.how, given), func() {
			w.body()
			f.end(w.how, given)
		})
	}
	yes, no := side(then), []action(nil)
	if otherwise != nil {
		f.emit("} else {")
		no = side(*otherwise)
	}
	f.emit("}")
	results := f.named(result, given)
	f.steps = append(f.steps, runSide(c, yes, no, results))
	f.taken(given, results)
	if then.how != yields && otherwise != nil && otherwise.how != yields {
		f.dead = true
	}
}

// showsIf counts the shape of an if.
func (f *flow) showsIf(given []slot, then way, otherwise *way) {
	if otherwise == nil {
		f.shows("if: " + then.how + ", no else")
	} else {
		f.shows(fmt.Sprintf("if: %s, else: %s", then.how, otherwise.how))
	}
	f.showsSlots("result of an if", given)
}

// showsSlots counts what goes into or comes out of regions.
func (f *flow) showsSlots(what string, list []slot) {
	for _, s := range list {
		switch {
		case s.journal != nil && s.elem != tokens && !isInt(s.elem):
			f.shows(what + ": pointers")
		case len(s.shape) > 0:
			f.shows(what + ": tile")
		default:
			f.shows(what + ": " + s.elem)
		}
	}
}

// doing is a side that does a few things.
func (f *flow) doing(how string) way {
	if f.chance(20) {
		return way{how, func() {}}
	}
	return way{how, func() { f.statements(f.few()) }}
}

// branching writes an if with any sides.
func (f *flow) branching() {
	if !f.nests() {
		return
	}
	c, jumps := f.condition(), f.jumps()
	var given []slot
	if f.chance(60) {
		given = f.slotsOf(f.someJournals(60), f.r.IntN(3))
	}
	then, otherwise := yields, yields
	if len(jumps) > 0 && f.chance(25) {
		then = choose(f.generator, jumps...)
	}
	if len(jumps) > 0 && f.chance(25) && (then == yields || f.depth > 0 || f.chance(30)) {
		otherwise = choose(f.generator, jumps...)
	}
	if len(f.around) > 0 && f.chance(20) {
		each := slices.Compact(jumps)
		then, otherwise = choose(f.generator, each...), choose(f.generator, each...)
	}
	if len(given) == 0 && otherwise == yields && f.chance(50) {
		f.either(c, nil, f.doing(then), nil)
		return
	}
	second := f.doing(otherwise)
	f.either(c, given, f.doing(then), &second)
	if f.dead && f.chance(70) {
		f.note("statement behind two sides that leave")
		f.statements(1 + f.r.IntN(2))
	}
}

// leaving writes an if of which one side leaves.
func (f *flow) leaving() {
	jumps := f.jumps()
	if len(jumps) == 0 || len(f.around) == 0 && f.chance(70) {
		return
	}
	how, c := choose(f.generator, jumps...), f.condition()
	if how == returns && f.chance(60) {
		c = f.compared("equal", f.block, f.boundary("i32", f.r.IntN(2)), false)
	}
	f.leaveIf(c, how)
}

// leaveIf leaves where a condition holds, by one side or the other of an if, perhaps by one within another.
func (f *flow) leaveIf(c value, how string) {
	stay := way{yields, func() { f.statements(f.r.IntN(2)) }}
	leave := way{how, func() { f.statements(f.r.IntN(3) * f.r.IntN(2)) }}
	switch f.r.IntN(6) {
	case 0, 1, 2:
		f.either(c, nil, leave, nil)
	case 3:
		f.either(f.not(c), nil, stay, &leave)
	case 4:
		f.either(c, nil, leave, &stay)
	case 5:
		given := f.slotsOf(f.someJournals(60), 1)
		if f.chance(50) {
			f.either(c, given, leave, &stay)
		} else {
			f.either(f.not(c), given, stay, &leave)
		}
	}
}
