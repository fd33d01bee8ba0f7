package random

import (
	"fmt"
	"slices"
	"strings"
)

var (
	ints   = []string{"i8", "i16", "i32", "i32", "i64"}
	floats = []string{"f16", "bf16", "f32", "f32", "f64"}
	// storage formats: only conversions, products and data movement know them.
	small = []string{"tf32", "f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN"}
	// features that modules need for storage formats
	needs = map[string]Feature{"f8E4M3FN": F8, "f8E5M2": F8, "f8E8M0FNU": F4, "f4E2M1FN": F4}
)

func isInt(elem string) bool { return elem[0] == 'i' }

// inMemory reports whether buffers hold the type.
func inMemory(elem string) bool {
	return elem != "tf32" && elem != "i4" && elem != "f4E2M1FN" && elem != scaleElem
}

// scaleElem is the format of powers of two, without a sign and without zero.
const scaleElem = "f8E8M0FNU"

// small lists the storage formats that modules have.
func (g *generator) small() []string {
	return slices.DeleteFunc(slices.Clone(small), func(elem string) bool { f, ok := needs[elem]; return ok && !g.enabled(f) })
}

// anyElem is an element type that data movement may have.
func (g *generator) anyElem() string { return choose(g, g.elems()...) }

// elems lists the element types of data movement, common ones twice.
func (g *generator) elems() []string {
	return slices.Concat([]string{"i1", "i4"}, ints, floats, g.small())
}

// fits is an element type that a tile of n elements may have: one of bytes, unless n is even.
func fits(elem string, n int) string {
	if widths[elem] == 4 && n%2 != 0 {
		return "i8"
	}
	return elem
}

// moved is a type that data movement may have.
func (g *generator) moved() typ {
	shape := g.shape()
	return typ{fits(g.anyElem(), typ{"", shape}.n()), shape}
}

var widths = map[string]int{"i1": 1, "i4": 4, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64,
	"f8E4M3FN": 8, "f8E5M2": 8, "f8E8M0FNU": 8, "f4E2M1FN": 4}

// precisions of floats: integers up to 2^p are exact.
var precisions = map[string]int{"f16": 11, "bf16": 8, "tf32": 11, "f32": 24, "f64": 53, "f8E4M3FN": 4, "f8E5M2": 3, "f4E2M1FN": 2, "f8E8M0FNU": 0}

// holds reports whether a float type has every integer up to bound.
func holds(elem string, bound int) bool {
	return isInt(elem) && bound < 1<<(min(widths[elem], 31)-1) || !isInt(elem) && bound <= 1<<precisions[elem]
}

// literal is a constant of an element type.
func (g *generator) literal(elem string) string {
	if isInt(elem) {
		w := widths[elem]
		switch {
		case w == 1:
			return choose(g, "false", "true")
		case g.chance(80):
			return fmt.Sprint(g.r.IntN(19) - 6)
		case g.chance(30):
			return fmt.Sprint(int64(-1) << (w - 1))
		}
		return fmt.Sprint(int64(g.r.Uint64()) >> (64 - w))
	}
	switch {
	case elem == scaleElem:
		return choose(g, "1.0", "2.0", "0.5", "4.0", "0.125")
	case g.chance(70) || slices.Contains(small, elem):
		return choose(g, "0.0", "1.0", "-1.0", "2.0", "3.0", "-4.0", "0.5", "-1.5", "6.0")
	case g.chance(50):
		return fmt.Sprintf("%d.%d", g.r.IntN(200)-100, g.r.IntN(1000))
	}
	// Infinities, a NaN, a negative zero, the smallest subnormal, the largest number.
	special := map[string][]string{
		"f16": {"0x7C00", "0xFC00", "0x7E00", "0x8000", "0x0001", "0x7BFF"}, "bf16": {"0x7F80", "0xFF80", "0x7FC0", "0x8000", "0x0001", "0x7F7F"},
		"f32": {"0x7F800000", "0xFF800000", "0x7FC00000", "0x80000000", "0x00000001", "0x7F7FFFFF"},
		"f64": {"0x7FF0000000000000", "0xFFF0000000000000", "0x7FF8000000000000", "0x8000000000000000", "0x0000000000000001", "0x7FEFFFFFFFFFFFFF"},
	}
	return choose(g, special[elem]...)
}

// constant is a constant: the same number everywhere, or different ones in a small tile.
func (g *generator) constant(t typ) value {
	if t.elem == "i4" {
		return g.convert(g.constant(t.with("i8")), t.elem)
	}
	if len(t.shape) == 1 && t.n() > 1 && t.n() <= 16 && g.chance(40) {
		list := make([]string, t.n())
		for i := range list {
			list[i] = g.literal(t.elem)
		}
		return g.define(t, "constant <%s: [%s]> : %s", t.elem, strings.Join(list, ", "), t)
	}
	return g.define(t, "constant <%s: %s> : %s", t.elem, g.literal(t.elem), t)
}

// number is a constant of integers.
func (g *generator) number(t typ, n int) value {
	text := fmt.Sprint(n)
	if !isInt(t.elem) {
		text += ".0"
	}
	v := g.define(t, "constant <%s: %s> : %s", t.elem, text, t)
	v.bound = max(n, -n, 1)
	return g.mark(v)
}

// intType is an integer type of a shape of the program.
func (g *generator) intType() typ {
	if g.chance(16) {
		return typ{"i1", g.shape()}
	}
	return typ{choose(g, ints...), g.shape()}
}

func (g *generator) floatType() typ { return typ{choose(g, floats...), g.shape()} }

func (g *generator) intBinary() {
	t := g.intType()
	x, y := g.exact(t), g.exact(t)
	sign := choose(g, "signed", "unsigned")
	op := choose(g, "addi", "subi", "muli", "andi", "ori", "xori", "maxi", "mini", "mulhii", "shli", "shri", "divi", "remi")
	if t.elem == "i1" && (op == "divi" || op == "remi") { // the only divisor; a signed one is -1, by which -1 has no quotient
		g.define(t, "%s %s, %s unsigned : %s", op, x.name, g.define(t, "constant <i1: true> : %s", t).name, t)
		return
	}
	switch op {
	case "maxi", "mini":
		g.define(t, "%s %s, %s %s : %s", op, x.name, y.name, sign, t)
	case "shli", "shri":
		if t.elem == "i1" {
			if !g.enabled(Overshift) {
				y = g.define(t, "constant <i1: false> : %s", t)
			}
		} else if g.chance(70) || !g.enabled(Overshift) { // else any amount: one of the width or more shifts everything out
			y = g.define(t, "andi %s, %s : %s", y.name, g.number(t, widths[t.elem]-1).name, t)
		}
		if op == "shri" {
			g.define(t, "shri %s, %s %s : %s", x.name, y.name, sign, t)
		} else {
			g.define(t, "shli %s, %s : %s", x.name, y.name, t)
		}
	case "divi", "remi":
		// A positive divisor: the quotient of the minimum by -1 is undefined too.
		y = g.define(t, "andi %s, %s : %s", y.name, g.number(t, 31).name, t)
		y = g.define(t, "ori %s, %s : %s", y.name, g.number(t, 1<<g.r.IntN(4)).name, t)
		if g.chance(30) {
			y = g.number(t, 1+g.r.IntN(20))
		}
		rounding := ""
		if op == "divi" && g.chance(50) {
			rounding = " rounding<positive_inf>"
			if sign == "signed" && g.chance(60) {
				rounding = " rounding<negative_inf>"
			}
		}
		g.define(t, "%s %s, %s %s%s : %s", op, x.name, y.name, sign, rounding, t)
	case "addi", "subi", "muli":
		bound := x.bound + y.bound
		if op == "muli" {
			bound = x.bound * y.bound
		}
		if x.bound > 0 && y.bound > 0 && bound < 1<<20 && holds(t.elem, bound) && t.elem != "i1" { // a promise that it fits
			v := g.define(t, "%s %s, %s%s : %s", op, x.name, y.name, choose(g, "", " overflow<no_signed_wrap>"), t)
			v.bound = bound
			g.mark(v)
			return
		}
		fallthrough
	default:
		g.define(t, "%s %s, %s : %s", op, x.name, y.name, t)
	}
}

func (g *generator) intUnary() {
	t := g.intType()
	if g.chance(50) || t.elem == "i1" {
		g.define(t, "%s %s : %s", choose(g, "absi", "negi"), g.exact(t).name, t)
		return
	}
	g.smallInts(t)
}

// smallInts is a value of integers from -3 to 4.
func (g *generator) smallInts(t typ) value {
	v := g.define(t, "andi %s, %s : %s", g.exact(t).name, g.number(t, 7).name, t)
	v.bound = 7
	g.mark(v)
	v = g.define(t, "subi %s, %s : %s", v.name, g.number(t, 3).name, t)
	v.bound = 4
	return g.mark(v)
}

func (g *generator) compare() {
	t, predicate := g.intType(), choose(g, "equal", "not_equal", "less_than", "less_than_or_equal", "greater_than", "greater_than_or_equal")
	if g.chance(50) {
		g.define(t.with("i1"), "cmpi %s %s, %s, %s : %s -> %s", predicate, g.exact(t).name, g.exact(t).name, choose(g, "signed", "unsigned"), t, t.with("i1"))
		return
	}
	t = g.floatType()
	g.define(t.with("i1"), "cmpf %s %s %s, %s : %s -> %s", predicate, choose(g, "ordered", "unordered"), g.exact(t).name, g.exact(t).name, t, t.with("i1"))
}

func (g *generator) pick() {
	t := g.moved()
	if widths[t.elem] == 4 {
		t.elem = "i1"
	}
	c, x, y := g.exact(t.with("i1")), g.any(t), g.any(t)
	v := g.define(t, "select %s, %s, %s : %s, %s", c.name, x.name, y.name, c.typ, t)
	v.inexact = x.inexact || y.inexact
	if x.bound > 0 && y.bound > 0 {
		v.bound = max(x.bound, y.bound)
	}
	g.mark(v)
}

// rounding is a rounding mode and perhaps the flushing of subnormals.
func (g *generator) rounding(elem string) string {
	s := ""
	if g.chance(25) && (elem == "f32" || elem == "f64") {
		s = " rounding<" + choose(g, "zero", "negative_inf", "positive_inf") + ">"
	}
	if elem == "f32" && g.chance(15) {
		s += " flush_to_zero"
	}
	return s
}

func (g *generator) floatBinary() {
	t := g.floatType()
	x, y := g.any(t), g.any(t)
	op := choose(g, "addf", "subf", "mulf", "divf", "maxf", "minf", "fma", "remf")
	var v value
	switch op {
	case "maxf", "minf":
		flags := ""
		if g.chance(40) {
			flags += " propagate_nan"
		}
		if t.elem == "f32" && g.chance(15) {
			flags += " flush_to_zero"
		}
		v = g.define(t, "%s %s, %s%s : %s", op, x.name, y.name, flags, t)
	case "fma":
		z := g.any(t)
		v = g.define(t, "fma %s, %s, %s%s : %s", x.name, y.name, z.name, g.rounding(t.elem), t)
		v.inexact = z.inexact
	case "remf": // a small error of an operand makes a big one of the result
		x, y = g.exact(t), g.exact(t)
		v = g.define(t, "remf %s, %s : %s", x.name, y.name, t)
	default:
		v = g.define(t, "%s %s, %s%s : %s", op, x.name, y.name, g.rounding(t.elem), t)
		if b := x.bound + y.bound; x.bound > 0 && y.bound > 0 && (op == "addf" || op == "subf") && holds(t.elem, b) {
			v.bound = b
		}
	}
	v.inexact = v.inexact || x.inexact || y.inexact
	g.mark(v)
}

func (g *generator) floatUnary() {
	t := g.floatType()
	op := choose(g, "negf", "absf", "sqrt", "ceil", "floor")
	x := g.any(t)
	if op == "ceil" || op == "floor" {
		x = g.exact(t)
	}
	rounding := ""
	if op == "sqrt" {
		rounding = g.rounding(t.elem)
	}
	v := g.define(t, "%s %s%s : %s", op, x.name, rounding, t)
	v.inexact = x.inexact
	g.mark(v)
}

// approximate makes values whose bits nobody promises.
func (g *generator) approximate() {
	t := typ{choose(g, "f16", "bf16", "f32", "f64"), g.shape()}
	x := g.any(t)
	op := choose(g, "exp", "exp2", "log", "log2", "rsqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "fpowf", "atan2", "fpowi")
	var v value
	switch op {
	case "fpowf", "atan2":
		v = g.define(t, "%s %s, %s : %s", op, x.name, g.any(t).name, t)
	case "fpowi":
		n := g.exact(typ{choose(g, "i1", "i8", "i16", "i32"), t.shape})
		v = g.define(t, "fpowi %s, %s : %s, %s", x.name, n.name, t, n.typ)
	default:
		mode := ""
		if t.elem == "f32" && g.chance(30) {
			mode = map[string]string{"exp": " rounding<approx>", "tanh": " rounding<approx>", "rsqrt": " flush_to_zero", "exp2": " flush_to_zero"}[op]
		}
		v = g.define(t, "%s %s%s : %s", op, x.name, mode, t)
	}
	v.inexact = true
	g.mark(v)
}

// payload reports whether the bits of a value may be those of a NaN, whose payload is free.
func payload(x value) bool { return !isInt(x.elem) && x.bound == 0 }

func (g *generator) conversion() {
	from := g.moved()
	to := fits(g.anyElem(), from.n())
	if g.chance(35) {
		to = choose(g, slices.DeleteFunc(g.elems(), func(e string) bool { return widths[e] != widths[from.elem] })...)
	}
	if from.elem == to {
		return
	}
	if widths[from.elem] == widths[to] && from.elem != to && from.elem != "tf32" && to != "tf32" && widths[to] != 4 && g.chance(60) { // the same bits
		x := g.exact(from)
		v := g.define(from.with(to), "bitcast %s : %s -> %s", x.name, from, from.with(to))
		v.inexact = payload(x)
		g.mark(v)
		return
	}
	g.convert(g.exact(from), to)
}

// convert makes a value of another element type; the program stays defined.
func (g *generator) convert(x value, elem string) value {
	t := x.with(elem)
	var v value
	switch from := x.elem; {
	case from == "i4" && !isInt(elem):
		return g.convert(g.convert(x, "i8"), elem)
	case elem == "i4" && !isInt(from):
		return g.convert(g.convert(x, "i8"), elem)
	case isInt(from) && isInt(elem) && widths[from] < widths[elem]:
		v = g.define(t, "exti %s %s : %s -> %s", x.name, choose(g, "signed", "unsigned"), x.typ, t)
		return v
	case isInt(from) && isInt(elem):
		v = g.define(t, "trunci %s : %s -> %s", x.name, x.typ, t)
	case isInt(from) && elem == scaleElem:
		return g.convert(g.convert(x, "f32"), elem)
	case isInt(from):
		v = g.define(t, "itof %s %s : %s -> %s", x.name, choose(g, "signed", "signed", "unsigned"), x.typ, t)
		return v
	case elem == "i1" && !g.enabled(Truth):
		if slices.Contains(small, from) {
			return g.convert(g.convert(x, "f32"), elem)
		}
		zero := g.constant(x.typ)
		return g.define(t, "cmpf %s %s %s, %s : %s -> %s", choose(g, "not_equal", "less_than"), choose(g, "ordered", "unordered"), x.name, zero.name, x.typ, t)
	case elem == "i1":
		return g.define(t, "ftoi %s %s%s : %s -> %s", x.name, choose(g, "signed", "unsigned"), choose(g, "", " saturating"), x.typ, t)
	case isInt(elem):
		sign, saturating := "signed", " saturating"
		if x.bound > 0 && holds(elem, x.bound) && g.chance(50) {
			saturating = ""
		} else if g.chance(40) {
			sign = "unsigned"
		}
		v = g.define(t, "ftoi %s %s%s : %s -> %s", x.name, sign, saturating, x.typ, t)
		if sign == "unsigned" {
			return v
		}
	case elem == scaleElem:
		return g.define(t, "ftof %s rounding<%s> : %s -> %s", x.name, choose(g, "zero", "positive_inf"), x.typ, t)
	default:
		v = g.define(t, "ftof %s%s : %s -> %s", x.name, g.narrowing(from, elem), x.typ, t)
	}
	if x.bound > 0 && holds(elem, x.bound) {
		v.bound = x.bound
	}
	return g.mark(v)
}

// narrowing is a rounding that a conversion between two formats may have.
func (g *generator) narrowing(from, to string) string {
	switch {
	case g.chance(60) || from == scaleElem || widths[to] <= 8:
		return ""
	case from == "f64" && to == "f32":
		return " rounding<" + choose(g, "zero", "negative_inf", "positive_inf") + ">"
	case from == "f32" && to == "tf32":
		return " rounding<" + choose(g, "zero", "nearest_away") + ">"
	case precisions[from] > precisions[to]:
		return " rounding<zero>"
	}
	return ""
}

// integers converts small integers to an element type exactly.
func (g *generator) integers(t typ) value {
	from := "i8"
	if isInt(t.elem) {
		from = t.elem
	}
	v := g.smallInts(t.with(from))
	if from == t.elem {
		return v
	}
	f := g.define(t, "itof %s signed : %s -> %s", v.name, v.typ, t)
	f.bound = v.bound
	return g.mark(f)
}
