package random

import (
	"fmt"
	"slices"
	"strings"
)

// integers are the element types of numbers.
var integers = []string{"i8", "i16", "i32", "i64"}

func isPointer(elem string) bool { return strings.HasPrefix(elem, "ptr<") }

func isNumber(v value) bool { return slices.Contains(integers, v.elem) }

// constant is a tile of one number, as its type has it.
func (f *flow) constant(t typ, n int64) value {
	n = wrapped(t.elem, n)
	text := fmt.Sprint(n)
	if t.elem == "i1" {
		text = choose(f.generator, "false", "true")
		if n = 0; text == "true" {
			n = 1
		}
	}
	return f.makes(t, 0, nil, func(_ [][]int64, out []int64) {
		for i := range out {
			out[i] = n
		}
	}, "constant <%s: %s> : %s", t.elem, text, t)
}

// truth is a constant condition.
func (f *flow) truth(n int64) value {
	word := map[int64]string{0: "false", 1: "true"}[n]
	return f.makes(scalar("i1"), 0, nil, func(_ [][]int64, out []int64) { out[0] = n }, "constant <i1: %s> : tile<i1>", word)
}

// someNumber is a small number, or one at an end of its type.
func (f *flow) someNumber(elem string) int64 {
	if elem == "i1" {
		return int64(f.r.IntN(2))
	}
	if f.chance(8) {
		return choose(f.generator, leastOf(elem), greatestOf(elem), greatestOf(elem)-2)
	}
	return int64(f.r.IntN(10) - 3)
}

// boundary is a scalar that is n, which the compiler may or may not see; it sees what aligns accesses.
func (f *flow) boundary(elem string, n int) value {
	if n >= 0 && !f.aligned && f.chance(50) {
		return f.known(elem, n)
	}
	return f.constant(scalar(elem), int64(n))
}

// want is a value of a type: a visible one or one that is made.
func (f *flow) want(t typ) value {
	if v, ok := f.found(func(v value) bool { return v.is(t) }); ok && f.chance(80) {
		return v
	}
	if isPointer(t.elem) {
		j := f.pointee(t.elem)
		return f.keep(f.placesAt(j, f.combine(added, f.below(f.someScalar(), 64), f.constant(scalar("i32"), 64)), t.shape))
	}
	switch f.r.IntN(4) {
	case 0:
		if v, ok := f.found(func(v value) bool { return isNumber(v) && slices.Equal(v.shape, t.shape) }); ok && t.elem != "i1" {
			return f.keep(f.cast(v, t.elem))
		}
	case 1:
		if v, ok := f.found(func(v value) bool { return v.elem == t.elem && len(v.shape) == 0 }); ok && len(t.shape) > 0 {
			return f.keep(f.widened(v, t.shape))
		}
	case 2:
		if isNumber(value{typ: t}) && len(t.shape) == 1 && (t.elem != "i8" || t.n() <= 128) {
			return f.keep(f.numbers(t, 0))
		}
	}
	return f.keep(f.constant(t, f.someNumber(t.elem)))
}

// someScalar is a visible scalar of any type of integers; counters come first.
func (f *flow) someScalar() value {
	if v, ok := f.found(func(v value) bool { return isNumber(v) && len(v.shape) == 0 }); ok {
		return v
	}
	return f.want(scalar("i32"))
}

// cast is a value of integers with other bits.
func (f *flow) cast(x value, elem string) value {
	t := x.typ.with(elem)
	switch from, to := widths[x.elem], widths[elem]; {
	case from > to:
		return f.elementwise(t, 0, []value{x}, func(x []int64) int64 { return wrapped(elem, x[0]) }, "trunci %s : %s -> %s", x.name, x.typ, t)
	case from == to:
		return x
	}
	if x.elem == "i1" || f.chance(30) {
		return f.elementwise(t, 0, []value{x}, func(v []int64) int64 { return int64(unsignedOf(x.elem, v[0])) }, "exti %s unsigned : %s -> %s", x.name, x.typ, t)
	}
	return f.elementwise(t, 0, []value{x}, func(x []int64) int64 { return x[0] }, "exti %s signed : %s -> %s", x.name, x.typ, t)
}

// combine is an operation on two values.
func (f *flow) combine(op integerOp, x, y value) value {
	mark, see := "", func(a, b int64) {}
	if op.wraps && x.elem != "i1" {
		p := &promise{}
		mark, see = f.promised(p), func(a, b int64) { p.wraps(op, x.elem, a, b) }
	}
	return f.elementwise(x.typ, 0, []value{x, y}, func(v []int64) int64 {
		if op.fails != nil && op.fails(x.elem, v[0], v[1]) {
			f.long = true
			return 0
		}
		see(v[0], v[1])
		return wrapped(x.elem, op.f(x.elem, v[0], v[1]))
	}, "%s%s : %s", fmt.Sprintf(op.text, x.name, y.name), mark, x.typ)
}

// wraps takes notice of numbers that are added, subtracted or multiplied.
func (p *promise) wraps(op integerOp, elem string, a, b int64) {
	if widths[elem] == 64 { // only of numbers with which nothing wraps
		p.signed = p.signed || max(a, -a, b, -b) >= 1<<30 || min(a, b) == leastOf(elem)
		p.unsigned = p.unsigned || p.signed || a < 0 || b < 0 || op.f(elem, a, b) < 0
		return
	}
	n := op.f(elem, a, b)
	p.signed = p.signed || n != wrapped(elem, n)
	n = op.f(elem, int64(unsignedOf(elem, a)), int64(unsignedOf(elem, b)))
	p.unsigned = p.unsigned || n < 0 || uint64(n) != unsignedOf(elem, n)
}

// predicate compares numbers.
type predicate struct {
	word, mirrored, inverse string
	f                       func(order int) bool
}

var predicates = []predicate{
	{"equal", "equal", "not_equal", func(o int) bool { return o == 0 }},
	{"not_equal", "not_equal", "equal", func(o int) bool { return o != 0 }},
	{"less_than", "greater_than", "greater_than_or_equal", func(o int) bool { return o < 0 }},
	{"less_than_or_equal", "greater_than_or_equal", "greater_than", func(o int) bool { return o <= 0 }},
	{"greater_than", "less_than", "less_than_or_equal", func(o int) bool { return o > 0 }},
	{"greater_than_or_equal", "less_than_or_equal", "less_than", func(o int) bool { return o >= 0 }},
}

func predicateOf(word string) predicate {
	return predicates[slices.IndexFunc(predicates, func(p predicate) bool { return p.word == word })]
}

// compared is how two values of a type compare, whichever stands first, said plainly or by a negation.
func (f *flow) compared(word string, x, y value, unsigned bool) value {
	if f.chance(35) {
		return f.not(f.plainly(predicateOf(word).inverse, x, y, unsigned))
	}
	return f.plainly(word, x, y, unsigned)
}

func (f *flow) plainly(word string, x, y value, unsigned bool) value {
	p := predicateOf(word)
	if f.chance(40) {
		x, y, p = y, x, predicateOf(p.mirrored)
	}
	f.note("comparison: " + p.word)
	sign, order := "signed", func(v []int64) int { return compareNumbers(v[0], v[1]) }
	if unsigned {
		sign, order = "unsigned", func(v []int64) int { return compareNumbers(unsignedOf(x.elem, v[0]), unsignedOf(x.elem, v[1])) }
	}
	t := x.typ.with("i1")
	return f.elementwise(t, 0, []value{x, y}, func(v []int64) int64 { return flag(p.f(order(v))) }, "cmpi %s %s, %s, %s : %s -> %s", p.word, x.name, y.name, sign, x.typ, t)
}

func compareNumbers[T int64 | uint64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// not is the opposite of a condition.
func (f *flow) not(c value) value {
	f.note("negation")
	ones := f.makes(c.typ, 0, nil, func(_ [][]int64, out []int64) {
		for i := range out {
			out[i] = 1
		}
	}, "constant <i1: true> : %s", c.typ)
	if f.chance(30) {
		c, ones = ones, c
	}
	return f.combine(xored, c, ones)
}

// condition is a scalar of i1.
func (f *flow) condition() value {
	switch {
	case f.chance(8):
		return f.truth(int64(f.r.IntN(2)))
	case f.chance(15):
		if v, ok := f.found(func(v value) bool { return v.is(scalar("i1")) }); ok {
			return v
		}
	case f.chance(12):
		return f.combine(choose(f.generator, anded, ored, xored), f.condition(), f.condition())
	case f.chance(25):
		return f.compared("equal", f.block, f.boundary("i32", f.r.IntN(2)), false)
	}
	x := f.someScalar()
	if f.chance(30) { // odd or even
		one := f.constant(x.typ, 1)
		return f.compared(choose(f.generator, "equal", "not_equal"), f.combine(anded, x, one), choose(f.generator, one, f.constant(x.typ, 0)), false)
	}
	y := f.want(x.typ)
	if f.chance(60) {
		y = f.boundary(x.elem, f.r.IntN(6))
	}
	return f.compared(choose(f.generator, predicates...).word, x, y, f.chance(30))
}

// computing makes a value.
func (f *flow) computing() {
	t := scalar(choose(f.generator, "i32", "i32", "i64", "i8", "i16", "i1"))
	if f.chance(35) {
		t.shape = choose(f.generator, f.shapes...)
	}
	if v, ok := f.found(func(v value) bool { return isInt(v.elem) }); ok && f.chance(70) {
		t = v.typ
	}
	x, y := f.want(t), f.want(t)
	switch f.r.IntN(8) {
	case 0:
		if t.elem != "i1" {
			f.keep(f.compared(choose(f.generator, predicates...).word, x, y, f.chance(30)))
			return
		}
	case 1:
		f.keep(f.selected(f.want(t.with("i1")), x, y))
		return
	case 2:
		if t.elem != "i1" {
			f.keep(f.cast(x, choose(f.generator, integers...)))
			return
		}
	case 3:
		if t.elem != "i1" {
			f.keep(f.shifted(x, y))
			return
		}
	}
	op := choose(f.generator, integerOps...)
	if t.elem == "i1" {
		op = choose(f.generator, integerOps[4:7]...)
	}
	f.keep(f.combine(op, x, y))
}

// selected is x where c holds and y elsewhere.
func (f *flow) selected(c, x, y value) value {
	return f.elementwise(x.typ, 0, []value{c, x, y}, func(v []int64) int64 { return v[2-v[0]] }, "select %s, %s, %s : %s, %s", c.name, x.name, y.name, c.typ, x.typ)
}

// assuming promises of a number what turns out to hold.
func (f *flow) assuming() {
	x := f.someScalar()
	if f.chance(20) {
		x = f.want(typ{choose(f.generator, integers...), choose(f.generator, f.shapes...)})
	}
	f.keep(f.assumed(x))
}

func (f *flow) assumed(x value) value {
	p := &promise{elem: x.elem, none: "div_by<1>"}
	f.shows("assumption")
	return f.elementwise(x.typ, 0, []value{x}, func(v []int64) int64 {
		p.see(v[0])
		return v[0]
	}, "assume %s, %s : %s", f.promised(p), x.name, x.typ)
}

// tile is a visible tile, or a new one.
func (f *flow) tile() (v value, ok bool) {
	suits := func(v value) bool { return isNumber(v) && len(v.shape) > 0 }
	if v, ok = f.found(suits); !ok || f.chance(20) {
		v = f.want(typ{choose(f.generator, integers...), choose(f.generator, f.shapes...)})
	}
	return v, suits(v)
}

// folding is a reduction or a scan: threads wait for each other.
func (f *flow) folding() {
	if x, ok := f.tile(); ok {
		f.folded(x)
	}
}

// folded folds a tile along a dimension, or along several, one after the other.
func (f *flow) folded(x value) {
	for {
		dim := f.r.IntN(len(x.shape))
		op := choose(f.generator, pairOps[0], pairOps[0], pairOps[3], pairOps[4])
		c := combine{op.in(x.elem), same(f.neutral(op, x.elem))}
		whole, backwards := f.chance(75), f.chance(40)
		var v value
		if whole {
			f.shows("reduction")
			v = f.combined("reduce", "", x, slices.Concat(x.shape[:dim], x.shape[dim+1:]), dim, c)
		} else {
			f.shows("scan")
			v = f.combined("scan", fmt.Sprintf(" reverse=%v", backwards), x, x.shape, dim, c)
		}
		f.folds(v, x, dim, op, backwards && !whole, whole)
		f.do(func(m *machine) {
			for i, n := range m.tiles[v.name] {
				m.tiles[v.name][i] = wrapped(v.elem, n)
			}
		})
		if x = f.keep(v); len(v.shape) == 0 || f.chance(40) {
			return
		}
	}
}

// turning puts elements at other places.
func (f *flow) turning() {
	x, ok := f.tile()
	switch {
	case !ok:
	case len(x.shape) > 1:
		f.shows("permute")
		f.keep(f.permuted(x, f.r.Perm(len(x.shape))))
	case x.n() > 2:
		f.shows("reshape")
		f.keep(f.permuted(f.reshaped(x, []int{2, x.n() / 2}), []int{1, 0}))
	}
}
