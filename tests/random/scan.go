package random

import (
	"fmt"
	"strings"
)

// combiner combines what stands in before with what comes after, element by element, and names the results.
type combiner func(before, after []string) []string

// multiOperand writes a reduction or a scan of several tiles at once.
func (g *generator) multiOperand(op, reverse string, xs []value, out []int, dim int, identities []string, step combiner) {
	name := g.fresh()
	var operands, ids, from, to, params, scalars, before, after []string
	for i, x := range xs {
		s := scalar(x.elem).String()
		operands, ids = append(operands, x.name), append(ids, identity(identities[i], x.elem))
		from, to, scalars = append(from, x.String()), append(to, typ{x.elem, out}.String()), append(scalars, s)
		b, a := g.fresh(), g.fresh()
		before, after = append(before, b), append(after, a)
		params = append(params, b+": "+s, a+": "+s)
	}
	g.emit("%s = %s %s dim=%d%s identities=[%s] : %s -> %s", binder(name, len(xs)), op, joined(operands), dim, reverse, joined(ids), joined(from), joined(to))
	g.emit("(%s) {", joined(params))
	g.indent++
	results := step(before, after)
	g.emit("yield %s : %s", joined(results), joined(scalars))
	g.indent--
	g.emit("}")
	for i, x := range xs {
		r := name
		if len(xs) > 1 {
			r = fmt.Sprintf("%s#%d", name, i)
		}
		g.values = append(g.values, value{name: r, typ: typ{x.elem, out}})
	}
}

// identity is the text of an identity of an element type.
func identity(text, elem string) string {
	if elem == "i1" {
		return text
	}
	return text + " : " + elem
}

// op writes one operation on scalars in a combine region and names its result.
func (g *generator) op(format string, args ...any) string {
	r := g.fresh()
	g.emit("%s = %s", r, fmt.Sprintf(format, args...))
	return r
}

// largest finds the largest element and something that stands beside it; of equal ones, the smallest such.
func (g *generator) largest(op, reverse string, shape, out []int, dim int) {
	x, y := g.exact(typ{choose(g, ints...), shape}), g.exact(typ{choose(g, "i16", "i32"), shape})
	s, t := scalar(x.elem), scalar(y.elem)
	g.multiOperand(op, reverse, []value{x, y}, out, dim, []string{lowest(x.elem), highest(y.elem)}, func(b, a []string) []string {
		more := g.op("cmpi greater_than %s, %s, signed : %s -> tile<i1>", b[0], a[0], s)
		same := g.op("cmpi equal %s, %s, signed : %s -> tile<i1>", b[0], a[0], s)
		less := g.op("cmpi less_than %s, %s, signed : %s -> tile<i1>", b[1], a[1], t)
		win := g.op("ori %s, %s : tile<i1>", more, g.op("andi %s, %s : tile<i1>", same, less))
		return []string{g.op("select %s, %s, %s : tile<i1>, %s", win, b[0], a[0], s), g.op("select %s, %s, %s : tile<i1>, %s", win, b[1], a[1], t)}
	})
}

// several reduces up to three tiles at once, in ways that do not depend on each other.
func (g *generator) several(shape, out []int, dim int) {
	var xs []value
	var cs []combine
	var ids []string
	for range 2 + g.r.IntN(2) {
		elem, list := choose(g, ints...), intCombines
		switch g.r.IntN(4) {
		case 0:
			elem, list = choose(g, floats...), floatCombines
		case 1:
			elem, list = "i1", boolCombines
		}
		x, c := g.exact(typ{elem, shape}), list[g.r.IntN(len(list))]
		xs, cs, ids = append(xs, x), append(cs, c), append(ids, c.identity(elem))
	}
	g.multiOperand("reduce", "", xs, out, dim, ids, func(b, a []string) []string {
		var rs []string
		for i, c := range cs {
			rs = append(rs, g.op("%s : %s", fmt.Sprintf(c.op, b[i], a[i]), scalar(xs[i].elem)))
		}
		return rs
	})
}

// ordered is a scan whose combination is associative but does not commute, so only the order of the elements gives it a meaning.
func (g *generator) ordered(reverse string, shape []int, dim int) {
	switch g.r.IntN(5) {
	case 0:
		g.maps(reverse, shape, dim)
	case 1, 4:
		g.latest(reverse, shape, dim)
	case 2:
		g.segments(reverse, shape, dim)
	case 3: // matrices of two rows (a b; c d) modulo 2^n
		elem := choose(g, "i8", "i16", "i32", "i64")
		t, s := typ{elem, shape}, scalar(elem)
		g.multiOperand("scan", reverse, []value{g.exact(t), g.exact(t), g.exact(t), g.exact(t)}, shape, dim, strings.Fields("1 0 0 1"), func(b, a []string) []string {
			var rs []string
			for i := range 4 {
				row, column := i/2*2, i%2
				p := g.op("muli %s, %s : %s", b[row], a[column], s)
				q := g.op("muli %s, %s : %s", b[row+1], a[column+2], s)
				rs = append(rs, g.op("addi %s, %s : %s", p, q, s))
			}
			return rs
		})
	}
}

// maps combines pairs (a, b) that stand for x -> a*x + b, one map after the other.
func (g *generator) maps(reverse string, shape []int, dim int) {
	t := typ{choose(g, "i8", "i16", "i32", "i64"), shape}
	s := scalar(t.elem)
	g.multiOperand("scan", reverse, []value{g.exact(t), g.exact(t)}, shape, dim, []string{"1", "0"}, func(b, a []string) []string {
		p := g.op("muli %s, %s : %s", b[0], a[0], s)
		q := g.op("muli %s, %s : %s", a[0], b[1], s)
		return []string{p, g.op("addi %s, %s : %s", q, a[1], s)}
	})
}

// latest takes the latest element whose flag is set.
func (g *generator) latest(reverse string, shape []int, dim int) {
	elem := choose(g, g.anyElem(), choose(g, g.small()...))
	if widths[elem] == 4 || elem == scaleElem {
		elem = "i1"
	}
	x, valid := g.exact(typ{elem, shape}), g.exact(typ{"i1", shape})
	id := "0"
	if elem == "i1" {
		id = "false"
	} else if !isInt(elem) {
		id = "0.0"
	}
	g.multiOperand("scan", reverse, []value{x, valid}, shape, dim, []string{id, "false"}, func(b, a []string) []string {
		return []string{g.op("select %s, %s, %s : tile<i1>, %s", a[1], a[0], b[0], scalar(x.elem)), g.op("ori %s, %s : tile<i1>", a[1], b[1])}
	})
}

// segments adds up from the latest element whose flag is set, and counts the elements.
func (g *generator) segments(reverse string, shape []int, dim int) {
	x, first := g.exact(typ{choose(g, ints...), shape}), g.exact(typ{"i1", shape})
	s := scalar(x.elem)
	n := g.exact(typ{"i32", shape})
	g.multiOperand("scan", reverse, []value{x, first, n}, shape, dim, []string{"0", "false", "0"}, func(b, a []string) []string {
		sum := g.op("addi %s, %s : %s", b[0], a[0], s)
		return []string{
			g.op("select %s, %s, %s : tile<i1>, %s", a[1], a[0], sum, s), g.op("ori %s, %s : tile<i1>", a[1], b[1]),
			g.op("addi %s, %s : tile<i32>", b[2], a[2]),
		}
	})
}
