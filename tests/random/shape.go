package random

import (
	"fmt"
	"slices"
	"strings"
)

// broadcastable reports whether one shape broadcasts to another: a scalar, or equal extents except for ones.
func broadcastable(from, to []int) bool {
	if len(from) == 0 {
		return true
	}
	if len(from) != len(to) || slices.Equal(from, to) {
		return false
	}
	for d, n := range from {
		if n != 1 && n != to[d] {
			return false
		}
	}
	return true
}

// like makes a value of another shape of one that has the same elements: what is known of it stays.
func (g *generator) like(x value, t typ, format string, args ...any) value {
	v := g.define(t, format, args...)
	v.inexact, v.bound = x.inexact, x.bound
	return g.mark(v)
}

// broadcast repeats a value.
func (g *generator) broadcast(x value, shape []int) value {
	if len(x.shape) == 0 && len(shape) > 0 {
		ones := make([]int, len(shape))
		for d := range ones {
			ones[d] = 1
		}
		x = g.like(x, typ{x.elem, ones}, "reshape %s : %s -> %s", x.name, x.typ, typ{x.elem, ones})
	}
	if slices.Equal(x.shape, shape) {
		return x
	}
	t := typ{x.elem, shape}
	return g.like(x, t, "broadcast %s : %s -> %s", x.name, x.typ, t)
}

// reshape gives a value another shape of as many elements.
func (g *generator) reshape(x value, shape []int) value {
	if slices.Equal(x.shape, shape) {
		return x
	}
	t := typ{x.elem, shape}
	return g.like(x, t, "reshape %s : %s -> %s", x.name, x.typ, t)
}

// iotaAlong numbers the elements along one dimension.
func (g *generator) iotaAlong(t typ) value {
	if len(t.shape) == 0 {
		return g.constant(t)
	}
	d := g.r.IntN(len(t.shape))
	if t.elem == "i8" && t.shape[d] > 64 {
		return g.constant(t)
	}
	line := typ{t.elem, []int{t.shape[d]}}
	v := g.define(line, "iota : %s", line)
	if widths[t.elem] > 8 {
		v.bound = max(1, t.shape[d]-1)
		g.mark(v)
	}
	shape := make([]int, len(t.shape))
	for i := range shape {
		shape[i] = 1
	}
	shape[d] = t.shape[d]
	return g.broadcast(g.reshape(v, shape), t.shape)
}

// linear numbers the elements of a shape in row-major order.
func (g *generator) linear(elem string, shape []int) value {
	t := typ{elem, shape}
	if len(shape) == 0 {
		return g.define(t, "constant <%s: 0> : %s", elem, t)
	}
	line := typ{elem, []int{t.n()}}
	v := g.define(line, "iota : %s", line)
	v.bound = t.n()
	return g.reshape(g.mark(v), shape)
}

func (g *generator) reshaping() {
	x := g.any(g.moved())
	switch g.r.IntN(10) {
	case 0:
		if shape := g.shape(); (typ{"", shape}).n() == x.n() {
			g.reshape(x, shape)
		} else {
			g.reshape(x, []int{x.n()})
		}
	case 1, 6, 7:
		if full, less := g.shapes[0], g.shapes[2]; g.chance(70) {
			g.broadcast(g.any(typ{fits(x.elem, typ{"", less}.n()), less}), full)
		} else if shape := g.shape(); broadcastable(x.shape, shape) {
			g.broadcast(x, shape)
		}
	case 2, 8, 9:
		g.permute(x)
	case 3:
		g.concatenate(x)
	case 4:
		g.extract(x)
	case 5:
		g.insert(x)
	}
}

// packing reads tiles as bytes and bytes as tiles.
func (g *generator) packing() {
	t := g.moved()
	if g.chance(50) {
		t = typ{"i8", g.shape()}
	}
	if len(t.shape) == 0 {
		t.shape = []int{16}
	}
	g.repack(g.exact(t))
}

func (g *generator) permute(x value) {
	if len(x.shape) < 2 {
		return
	}
	p := g.r.Perm(len(x.shape))
	t := typ{x.elem, make([]int, len(p))}
	for i, d := range p {
		t.shape[i] = x.shape[d]
	}
	g.like(x, t, "permute %s [%s] : %s -> %s", x.name, commas(p), x.typ, t)
}

func commas(list []int) string {
	var out []string
	for _, n := range list {
		out = append(out, fmt.Sprint(n))
	}
	return strings.Join(out, ", ")
}

func (g *generator) concatenate(x value) {
	if len(x.shape) == 0 || 2*x.n() > maxElements {
		return
	}
	d := g.r.IntN(len(x.shape))
	y := g.any(x.typ)
	t := typ{x.elem, slices.Clone(x.shape)}
	t.shape[d] *= 2
	v := g.define(t, "cat %s, %s dim = %d : %s, %s -> %s", x.name, y.name, d, x.typ, y.typ, t)
	v.inexact = x.inexact || y.inexact
	g.mark(v)
}

// slices of a value: a shape that divides it and the number of one slice along each dimension.
func (g *generator) slice(x value) (part typ, indices []string) {
	part = typ{x.elem, slices.Clone(x.shape)}
	for d := range part.shape {
		cuts := 1 << g.r.IntN(3)
		for part.shape[d]%cuts != 0 {
			cuts /= 2
		}
		part.shape[d] /= cuts
		i := g.number(scalar("i32"), g.r.IntN(cuts))
		if g.chance(50) && cuts > 1 { // a number that is not constant
			i = g.define(scalar("i32"), "andi %s, %s : %s", g.exact(scalar("i32")).name, g.number(scalar("i32"), cuts-1).name, scalar("i32"))
		}
		indices = append(indices, i.name)
	}
	return part, indices
}

func (g *generator) extract(x value) {
	if len(x.shape) == 0 {
		return
	}
	part, at := g.slice(x)
	if fits(x.elem, part.n()) != x.elem {
		return
	}
	g.like(x, part, "extract %s[%s] : %s -> %s", x.name, strings.Join(at, ", "), x.typ, part)
}

func (g *generator) insert(x value) {
	if len(x.shape) == 0 {
		return
	}
	part, at := g.slice(x)
	if fits(x.elem, part.n()) != x.elem {
		return
	}
	y := g.any(part)
	v := g.define(x.typ, "insert %s, %s[%s] : %s, %s", y.name, x.name, strings.Join(at, ", "), y.typ, x.typ)
	v.inexact = x.inexact || y.inexact
	g.mark(v)
}

// repack reads bytes as other elements.
func (g *generator) repack(x value) {
	if len(x.shape) == 0 {
		return
	}
	x = g.reshape(x, []int{x.n()})
	t := typ{"i8", []int{x.n() * widths[x.elem] / 8}}
	if t.n() > maxElements || t.n() == 0 {
		return
	}
	if widths[x.elem] != 8 {
		v := g.define(t, "pack %s : %s -> %s", x.name, x.typ, t)
		v.inexact = payload(x)
		g.mark(v)
		return
	}
	if x.elem != "i8" {
		return
	}
	to := g.anyElem()
	t = typ{to, []int{x.n() * 8 / widths[to]}}
	if t.n() == 0 || t.n() > maxElements || widths[to] == 8 || to == "tf32" {
		return
	}
	v := g.define(t, "unpack %s : %s -> %s", x.name, x.typ, t)
	v.inexact = !isInt(to) // the payload of a NaN is free
	g.mark(v)
}

// combine is how a reduction or a scan combines.
type combine struct {
	op       string
	identity func(elem string) string
}

func same(s string) func(string) string { return func(string) string { return s } }

// minimum of a signed type.
func lowest(elem string) string { return fmt.Sprint(int64(-1) << (widths[elem] - 1)) }

func highest(elem string) string { return fmt.Sprint(int64(1)<<(widths[elem]-1) - 1) }

var infinities = map[string][2]string{"f16": {"0x7C00", "0xFC00"}, "bf16": {"0x7F80", "0xFF80"}, "f32": {"0x7F800000", "0xFF800000"},
	"f64": {"0x7FF0000000000000", "0xFFF0000000000000"}}

var intCombines = []combine{
	{"addi %s, %s", same("0")}, {"addi %s, %s", same("0")}, {"muli %s, %s", same("1")}, {"andi %s, %s", same("-1")}, {"ori %s, %s", same("0")}, {"xori %s, %s", same("0")},
	{"maxi %s, %s signed", lowest}, {"mini %s, %s signed", highest}, {"maxi %s, %s unsigned", same("0")}, {"mini %s, %s unsigned", same("-1")},
}

var boolCombines = []combine{{"andi %s, %s", same("true")}, {"ori %s, %s", same("false")}, {"xori %s, %s", same("false")}}

var floatCombines = []combine{
	{"maxf %s, %s", func(e string) string { return infinities[e][1] }}, {"minf %s, %s", func(e string) string { return infinities[e][0] }},
	{"maxf %s, %s propagate_nan", func(e string) string { return infinities[e][1] }},
}

// reduction and scanning combine along a dimension.
func (g *generator) reduction() { g.combining("reduce", "") }
func (g *generator) scanning()  { g.combining("scan", " reverse="+choose(g, "false", "true")) }

func (g *generator) combining(op, reverse string) {
	shape := g.shape()
	if len(shape) == 0 {
		return
	}
	dim := g.r.IntN(len(shape))
	out := shape
	if op == "reduce" {
		out = slices.Concat(shape[:dim], shape[dim+1:])
	}
	which := g.r.IntN(6)
	if op == "scan" && g.chance(50) {
		which = 3
	}
	switch which {
	case 0:
		g.largest(op, reverse, shape, out, dim)
	case 1: // a sum of floats that no order rounds
		x, ok := g.find(func(v value) bool {
			return !isInt(v.elem) && slices.Contains(floats, v.elem) && slices.Equal(v.shape, shape) && v.bound > 0 && holds(v.elem, v.bound*shape[dim])
		})
		if !ok {
			elem := choose(g, "f16", "bf16", "f32", "f64")
			if !holds(elem, 4*shape[dim]) {
				elem = "f32"
			}
			x = g.integers(typ{elem, shape})
		}
		v := g.combined(op, reverse, x, out, dim, combine{"addf %s, %s", same("0.0")})
		v.bound = x.bound * shape[dim]
		g.mark(v)
	case 2:
		x := g.exact(typ{choose(g, floats...), shape})
		g.combined(op, reverse, x, out, dim, floatCombines[g.r.IntN(len(floatCombines))])
	case 3:
		if op == "scan" {
			g.ordered(reverse, shape, dim)
		} else {
			g.several(shape, out, dim)
		}
	default:
		x := g.exact(typ{choose(g, ints...), shape})
		c := intCombines[g.r.IntN(len(intCombines))]
		if g.chance(15) {
			x = g.exact(typ{"i1", shape})
			c = boolCombines[g.r.IntN(len(boolCombines))]
		}
		g.combined(op, reverse, x, out, dim, c)
	}
}

func (g *generator) combined(op, reverse string, x value, out []int, dim int, c combine) value {
	t := typ{x.elem, out}
	v := value{name: g.fresh(), typ: t}
	s, a, b, r := scalar(x.elem), g.fresh(), g.fresh(), g.fresh()
	g.emit("%s = %s %s dim=%d%s identities=[%s] : %s -> %s", v.name, op, x.name, dim, reverse, identity(c.identity(x.elem), x.elem), x.typ, t)
	g.emit("(%s: %s, %s: %s) {", a, s, b, s)
	g.emit("  %s = %s : %s", r, fmt.Sprintf(c.op, a, b), s)
	g.emit("  yield %s : %s", r, s)
	g.emit("}")
	g.values = append(g.values, v)
	return v
}

// products lists the element types of matrix products: of both operands and of the accumulator.
var products = [][2]string{
	{"f16", "f32"}, {"f16", "f16"}, {"bf16", "f32"}, {"tf32", "f32"}, {"f32", "f32"}, {"f64", "f64"}, {"f8E4M3FN", "f32"}, {"f8E5M2", "f32"},
	{"f8E4M3FN", "f16"}, {"i8", "i32"},
}

func (g *generator) product() {
	p := products[g.r.IntN(len(products))]
	if !g.elemEnabled(p[0]) {
		return
	}
	m, n, k := 1<<g.r.IntN(8), 1<<g.r.IntN(8), 1<<g.r.IntN(7)
	for limit := choose(g, usualElements, usualElements, maxElements); m*n > limit || m*k > limit || k*n > limit; {
		m, n, k = max(1, m/2), max(1, n/2), max(1, k/2)
	}
	batch := []int{}
	if g.chance(20) && 2*max(m*n, m*k, k*n) <= maxElements {
		batch = []int{2}
	} else if g.chance(15) { // a row or a column, many times
		m, n, k = 1, 1<<g.r.IntN(7), 1<<g.r.IntN(9)
		if g.chance(30) {
			m, n = n, m
		}
		for k > 1 && max(m*k, k*n) > maxElements {
			k /= 2
		}
		b := 1 << g.r.IntN(5)
		for b*max(m*n, m*k, k*n) > maxElements && b > 1 {
			b /= 2
		}
		batch = []int{b}
	}
	in := func(a, b int) typ { return typ{p[0], slices.Concat(batch, []int{a, b})} }
	t := typ{p[1], slices.Concat(batch, []int{m, n})}
	bound := 16 * k
	acc, ok := g.find(func(v value) bool { return v.is(t) && v.bound > 0 })
	if !ok || !holds(p[1], bound+acc.bound) {
		acc = g.integers(t)
	}
	if !holds(p[1], bound+acc.bound) {
		return
	}
	g.multiply(g.operand(in(m, k)), g.operand(in(k, n)), acc, bound)
	g.shapes = append(g.shapes, t.shape)
}

// multiply is a product of matrices of small integers whose elements are at most bound.
func (g *generator) multiply(x, y, acc value, bound int) {
	t := acc.typ
	if x.elem == "i8" {
		g.define(t, "mmai %s, %s, %s %s %s : %s, %s, %s", x.name, y.name, acc.name, choose(g, "signed", "unsigned"), choose(g, "signed", "unsigned"), x.typ, y.typ, t)
		return
	}
	fast := ""
	if strings.HasPrefix(x.elem, "f8") && holds("f16", bound+acc.bound) && g.chance(20) { // sums may be as short as f16
		fast = " fast_acc"
	}
	v := g.define(t, "mmaf %s, %s, %s%s : %s, %s, %s", x.name, y.name, acc.name, fast, x.typ, y.typ, t)
	v.bound = bound + acc.bound
	g.mark(v)
}

// elemEnabled reports whether modules have an element type at all.
func (g *generator) elemEnabled(elem string) bool { f, ok := needs[elem]; return !ok || g.enabled(f) }

// padded is a product of a padded view with any values: infinities and NaN may decide its sums.
func (g *generator) padded() {
	p := products[g.r.IntN(len(products))]
	if !inMemory(p[0]) || !g.elemEnabled(p[0]) {
		return
	}
	m, n, k := 16<<g.r.IntN(3), 8<<g.r.IntN(3), 16<<g.r.IntN(2)
	if !holds(p[1], 32*k) {
		return
	}
	load := func(shape ...int) value {
		v := g.loadView(g.smallInput(p[0]), typ{p[0], shape}, choose(g, paddings[isInt(p[0]) || slices.Contains(small, p[0])]...))
		v.inexact = !isInt(p[0])
		return g.mark(v)
	}
	x, y, acc := load(m, k), load(k, n), g.integers(typ{p[1], []int{m, n}})
	if isInt(p[0]) {
		g.multiply(x, y, acc, 0)
		return
	}
	v := g.define(acc.typ, "mmaf %s, %s, %s : %s, %s, %s", x.name, y.name, acc.name, x.typ, y.typ, acc.typ)
	v.inexact = true
	g.mark(v)
}

// scaled is a product of blocks with scales: powers of two near 1, so that it stays exact.
func (g *generator) scaled() {
	if !g.enabled(F8) || !g.enabled(F4) {
		return
	}
	m, n, k := 8<<g.r.IntN(4), 8<<g.r.IntN(4), 32<<g.r.IntN(3)
	elem, block, format := choose(g, "f8E4M3FN", "f8E5M2", "f4E2M1FN"), 32, "f8E8M0FNU"
	if elem == "f4E2M1FN" {
		if block = choose(g, 16, 32); block == 16 {
			format = choose(g, "f8E8M0FNU", "f8E4M3FN")
		}
	}
	step, least := 1, 126 // a power of two is a step of the code, its half below 1 and 1
	if format == "f8E4M3FN" {
		step, least = 8, 0x30
	}
	scale := func(a, b int) value {
		t := typ{"i8", []int{a, b}}
		v := g.define(t, "andi %s, %s : %s", g.exact(t).name, g.number(t, step).name, t)
		v = g.define(t, "addi %s, %s : %s", v.name, g.number(t, least).name, t)
		e := value{name: g.fresh(), typ: t.with(format)} // of no use to anything else
		g.emit("%s = bitcast %s : %s -> %s", e.name, v.name, t, e.typ)
		return e
	}
	x, y, acc := g.integers(typ{elem, []int{m, k}}), g.integers(typ{elem, []int{k, n}}), g.integers(typ{"f32", []int{m, n}})
	a, b := scale(m, k/block), scale(k/block, n)
	v := g.define(acc.typ, "mmaf_scaled %s, %s, %s, %s, %s : %s, %s, %s, %s, %s", x.name, y.name, acc.name, a.name, b.name, x.typ, y.typ, acc.typ, a.typ, b.typ)
	if g.depth == 0 {
		g.store(v) // few use what it makes
	}
}

// operand is a matrix of small integers: of several kinds, because where a matrix comes from decides how it reaches the
// matrix unit.
func (g *generator) operand(t typ) value {
	if n := len(t.shape); g.chance(30) { // transposed
		p := make([]int, n)
		turned := typ{t.elem, slices.Clone(t.shape)}
		for i := range p {
			p[i] = i
		}
		p[n-1], p[n-2] = n-2, n-1
		turned.shape[n-1], turned.shape[n-2] = t.shape[n-2], t.shape[n-1]
		x := g.operand(turned)
		return g.like(x, t, "permute %s [%s] : %s -> %s", x.name, commas(p), x.typ, t)
	}
	if v, ok := g.find(func(v value) bool { return v.is(t) && v.bound > 0 && v.bound <= 4 }); ok && g.chance(50) {
		return v
	}
	if g.chance(50) && inMemory(t.elem) {
		return g.loadMatrix(t)
	}
	return g.integers(t)
}
