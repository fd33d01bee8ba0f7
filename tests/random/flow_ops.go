package random

import "slices"

// integerOp is an operation on one or two numbers of a type.
type integerOp struct {
	text  string
	f     func(elem string, a, b int64) int64
	wraps bool                               // it may promise that it does not
	fails func(elem string, a, b int64) bool // where it is undefined; nil: nowhere
}

func signedOf[T any](f func(a, b int64) T) func(elem string, a, b int64) T {
	return func(_ string, a, b int64) T { return f(a, b) }
}

// unsignedIn is an operation on numbers without a sign.
func unsignedIn(f func(a, b uint64) uint64) func(elem string, a, b int64) int64 {
	return func(elem string, a, b int64) int64 { return int64(f(unsignedOf(elem, a), unsignedOf(elem, b))) }
}

var (
	added      = integerOp{"addi %s, %s", signedOf(func(a, b int64) int64 { return a + b }), true, nil}
	subtracted = integerOp{"subi %s, %s", signedOf(func(a, b int64) int64 { return a - b }), true, nil}
	multiplied = integerOp{"muli %s, %s", signedOf(func(a, b int64) int64 { return a * b }), true, nil}
	anded      = integerOp{"andi %s, %s", signedOf(func(a, b int64) int64 { return a & b }), false, nil}
	ored       = integerOp{"ori %s, %s", signedOf(func(a, b int64) int64 { return a | b }), false, nil}
	xored      = integerOp{"xori %s, %s", signedOf(func(a, b int64) int64 { return a ^ b }), false, nil}
	greater    = integerOp{"maxi %s, %s signed", signedOf(func(a, b int64) int64 { return max(a, b) }), false, nil}
	lesser     = integerOp{"mini %s, %s signed", signedOf(func(a, b int64) int64 { return min(a, b) }), false, nil}
	remaining  = integerOp{"remi %s, %s unsigned", unsignedIn(func(a, b uint64) uint64 { return a % b }), false, byZero}
	divided    = integerOp{"divi %s, %s unsigned", unsignedIn(func(a, b uint64) uint64 { return a / b }), false, byZero}
)

// integerOps are those on two numbers that are defined everywhere.
var integerOps = []integerOp{
	added, added, subtracted, multiplied, anded, ored, xored, greater, lesser,
	{"maxi %s, %s unsigned", unsignedIn(func(a, b uint64) uint64 { return max(a, b) }), false, nil},
	{"mini %s, %s unsigned", unsignedIn(func(a, b uint64) uint64 { return min(a, b) }), false, nil},
}

func byZero(_ string, _, b int64) bool { return b == 0 }

// divisions are quotients and remainders.
var divisions = []integerOp{
	divided, divided,
	{"divi %s, %s signed", signedOf(func(a, b int64) int64 { return a / b }), false, overflows},
	{"divi %s, %s signed", signedOf(func(a, b int64) int64 { return a / b }), false, overflows},
	{"divi %s, %s signed rounding<positive_inf>", signedOf(func(a, b int64) int64 {
		if r := a % b; r != 0 && (r > 0) == (b > 0) {
			return a/b + 1
		}
		return a / b
	}), false, overflows},
	{"divi %s, %s signed rounding<negative_inf>", signedOf(func(a, b int64) int64 {
		if r := a % b; r != 0 && (r > 0) != (b > 0) {
			return a/b - 1
		}
		return a / b
	}), false, overflows},
	{"divi %s, %s unsigned rounding<positive_inf>", unsignedIn(func(a, b uint64) uint64 {
		if a%b != 0 {
			return a/b + 1
		}
		return a / b
	}), false, byZero},
	{"remi %s, %s signed", signedOf(func(a, b int64) int64 { return a % b }), false, byZero},
	{"remi %s, %s signed", signedOf(func(a, b int64) int64 { return a % b }), false, byZero},
	remaining,
}

// overflows is where a quotient of signed numbers is undefined.
func overflows(elem string, a, b int64) bool { return b == 0 || b == -1 && a == leastOf(elem) }

// shiftings are by fewer bits than there are.
var shiftings = []integerOp{
	{"shli %s, %s", signedOf(func(a, b int64) int64 { return a << b }), false, tooFar},
	{"shri %s, %s signed", signedOf(func(a, b int64) int64 { return a >> b }), false, tooFar},
	{"shri %s, %s unsigned", unsignedIn(func(a, b uint64) uint64 { return a >> b }), false, tooFar},
}

func tooFar(elem string, _, b int64) bool { return b < 0 || b >= int64(widths[elem]) }

// ofOne are operations on the first number.
var ofOne = []integerOp{
	{"negi %[1]s", signedOf(func(a, _ int64) int64 { return -a }), false, nil},
	{"absi %[1]s", signedOf(func(a, _ int64) int64 { return max(a, -a) }), false, nil},
}

// shifted is a number that is shifted by some bits, or turned.
func (f *flow) shifted(x, y value) value {
	if f.chance(25) {
		f.shows("operation on one number")
		return f.combine(choose(f.generator, ofOne...), x, x)
	}
	f.shows("shift")
	bits := f.constant(x.typ, int64(f.r.IntN(widths[x.elem])))
	if f.chance(50) {
		bits = f.combine(anded, y, f.constant(x.typ, int64(widths[x.elem]-1)))
	}
	return f.combine(choose(f.generator, shiftings...), x, bits)
}

// dividing divides by a number, or takes the rest.
func (f *flow) dividing() {
	x := f.someScalar()
	if f.chance(30) {
		x = f.want(typ{choose(f.generator, integers...), choose(f.generator, f.shapes...)})
	}
	op := choose(f.generator, divisions...)
	switch f.r.IntN(4) {
	case 0:
		f.protecting(op, x)
		return
	case 1:
		f.shows("division by a number that is not seen")
		f.keep(f.combine(op, x, f.positive(x.typ)))
		return
	}
	if f.chance(20) {
		f.uses(f.keep(f.floored(f.narrow(x.typ).value)))
		return
	}
	f.shows("division")
	f.keep(f.combine(op, x, f.constant(x.typ, int64(choose(f.generator, 1, 2, 3, 4, 8, 16, 7, -2, -3, 100)))))
}

// floored is a remainder of the sign of the divisor, as frontends write it, or nearly so.
func (f *flow) floored(x value) value {
	f.shows("remainder of the sign of the divisor")
	by := f.constant(x.typ, int64(choose(f.generator, 2, 3, 4, 7, 8, 16)))
	rest, asked := f.combine(divisions[len(divisions)-2], x, by), value{}
	if asked = rest; f.chance(25) {
		asked = x
	}
	negative := f.compared("less_than", asked, f.constant(x.typ, 0), false)
	if f.chance(40) {
		negative = f.combine(anded, negative, f.compared("not_equal", asked, f.constant(x.typ, 0), false))
	}
	return f.selected(negative, f.combine(added, rest, by), rest)
}

// positive is any number that is made positive.
func (f *flow) positive(t typ) value {
	y := f.combine(anded, f.want(t), f.constant(t, choose(f.generator, 1, 3, 7, greatestOf(t.elem)>>1)))
	switch f.r.IntN(3) {
	case 0:
		return f.combine(ored, y, f.constant(t, 1))
	case 1:
		return f.combine(greater, y, f.constant(t, 1))
	}
	return f.combine(added, y, f.constant(t, 1))
}

// protecting divides where an if, or a loop that has no round otherwise, says that it can be done.
func (f *flow) protecting(op integerOp, x value) {
	if !f.nests() || len(x.shape) > 0 {
		return
	}
	y := f.combine(anded, f.want(x.typ), f.constant(x.typ, choose[int64](f.generator, 1, 3, 7)))
	does := func() { f.uses(f.keep(f.combine(op, x, y))) }
	if f.chance(50) {
		f.shows("division in a loop without a round where it is undefined")
		f.rounds(f.constant(x.typ, 0), y, f.constant(x.typ, 1), f.chance(25), f.slotsOf(f.someJournals(80), 1), func(*round) { does() })
		return
	}
	f.shows("division in an if where it is defined")
	c := f.compared(choose(f.generator, "not_equal", "greater_than"), y, f.constant(x.typ, 0), false)
	f.either(c, f.slotsOf(f.someJournals(80), f.r.IntN(2)), way{yields, does}, &way{yields, func() {}})
}

// ranged is a value of which it is known what it may be.
type ranged struct {
	value
	all []int64
}

// image is what becomes of two values; ok is false where that is undefined for some numbers, or there are too many.
func image(op integerOp, x, y ranged) (all []int64, ok bool) {
	for _, a := range x.all {
		for _, b := range y.all {
			if op.fails != nil && op.fails(x.elem, a, b) {
				return nil, false
			}
			all = append(all, wrapped(x.elem, op.f(x.elem, a, b)))
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all, len(all) <= 600
}

// end is an end of what a value may be, or a number near it.
func (x ranged) end(f *flow) int64 {
	return wrapped(x.elem, choose(f.generator, x.all[0], x.all[len(x.all)-1], x.all[f.r.IntN(len(x.all))])+int64(f.r.IntN(3)-1))
}

// lone is a value of one number.
func (f *flow) lone(t typ, n int64) ranged { return ranged{f.constant(t, n), []int64{n}} }

// narrow is a value of a few numbers.
func (f *flow) narrow(t typ) ranged {
	least := choose(f.generator, 0, 0, 0, 1, -1, -2, -5, -5, -8, 3, greatestOf(t.elem)-16, leastOf(t.elem), leastOf(t.elem)/2)
	n := choose(f.generator, int64(1), 3, 7, 15)
	x := ranged{f.scattered(t), nil}
	for k := least; k <= least+n; k++ {
		x.all = append(x.all, k)
	}
	switch f.r.IntN(4) {
	case 0:
		f.shows("number between two others")
		x.value = f.combine(lesser, f.combine(greater, x.value, f.constant(t, least)), f.constant(t, least+n))
		return x
	case 1:
		f.shows("number that is a remainder")
		x.value, x.all = f.combine(choose(f.generator, divisions[len(divisions)-3:]...), x.value, f.constant(t, n+1)), nil
		for k := -n; k <= n; k++ {
			x.all = append(x.all, k)
		}
		return x
	case 2:
		if len(t.shape) == 1 && t.n() <= 64 {
			f.shows("number of an element")
			x.value, x.all = f.numbers(t, 0), nil
			for k := range int64(t.n()) {
				x.all = append(x.all, k)
			}
			return x
		}
	}
	x.value = f.combine(anded, x.value, f.constant(t, n))
	if least != 0 {
		x.value = f.combine(added, x.value, f.constant(t, least))
	}
	return x
}

// scattered is a value whose elements differ, mostly, if it is a tile.
func (f *flow) scattered(t typ) value {
	if len(t.shape) == 0 || f.chance(40) || t.elem == "i8" && t.n() > 128 { // no iota has so many
		return f.want(t)
	}
	return f.combine(multiplied, f.numbers(t, int64(f.r.IntN(20)-10)), f.constant(t, int64(2*f.r.IntN(8)-7)))
}

// numbers are those of elements in row-major order, from a first one on.
func (f *flow) numbers(t typ, first int64) value {
	line := typ{t.elem, []int{t.n()}}
	x := f.makes(line, 0, nil, func(_ [][]int64, out []int64) {
		for i := range out {
			out[i] = wrapped(t.elem, int64(i))
		}
	}, "iota : %s", line)
	if x = f.reshaped(x, t.shape); first != 0 {
		x = f.combine(added, x, f.constant(t, first))
	}
	return x
}

// edging compares what follows from a few numbers with the ends of what that may be.
func (f *flow) edging() {
	t := typ{choose(f.generator, integers...), choose(f.generator, nil, nil, []int{4}, []int{8}, []int{16}, []int{64})}
	x := f.narrow(t)
	for range 1 + f.r.IntN(3) {
		ops := choose(f.generator, integerOps, integerOps, divisions, divisions, shiftings, ofOne, ofOne)
		op, y := choose(f.generator, ops...), f.lone(t, f.someNumber(t.elem))
		switch f.r.IntN(5) {
		case 0:
			y = f.lone(t, x.end(f))
		case 1:
			y = f.narrow(t)
		case 2: // none of them is zero
			y = f.narrow(t)
			one := f.lone(t, 1)
			odd, _ := image(ored, y, one)
			y = ranged{f.combine(ored, y.value, one.value), odd}
		}
		if f.chance(30) {
			x, y = y, x
		}
		if all, ok := image(op, x, y); ok {
			x = ranged{f.combine(op, x.value, y.value), all}
		}
	}
	if f.chance(25) { // as a number of other bits
		elem, all := choose(f.generator, integers...), []int64(nil)
		if widths[elem] < widths[t.elem] {
			for _, n := range x.all {
				all = append(all, wrapped(elem, n))
			}
			slices.Sort(all)
			x = ranged{f.cast(x.value, elem), all}
		}
	}
	f.keep(x.value)
	for range 1 + f.r.IntN(3) {
		f.atEnd(x)
	}
}

// atEnd compares a value with an end of what it may be, or near it.
func (f *flow) atEnd(x ranged) {
	c := f.compared(choose(f.generator, predicates...).word, x.value, f.constant(x.typ, x.end(f)), f.chance(35))
	f.shows("comparison with an end of what may be")
	if len(x.shape) == 0 && f.nests() && f.chance(30) {
		f.either(c, f.slotsOf(f.someJournals(80), f.r.IntN(2)), f.doing(yields), &way{yields, func() { f.uses(x.value) }})
		return
	}
	f.uses(f.keep(f.selected(c, x.value, f.constant(x.typ, f.someNumber(x.elem)))))
}
