package random

import (
	"fmt"
	"slices"
	"strings"
)

// distinctIndex is an index that gives every element of a shape an address of its own in the first 4n elements: in order,
// backwards, along other dimensions, crossed, moved by a number that a loop may change.
func (g *generator) distinctIndex(shape []int) value {
	t := typ{"i32", shape}
	var v value
	switch g.r.IntN(5) {
	case 0:
		v = g.define(t, "subi %s, %s : %s", g.number(t, t.n()-1).name, g.linear("i32", shape).name, t)
	case 1:
		p := g.r.Perm(len(shape))
		turned := make([]int, len(shape))
		for i, d := range p {
			turned[d] = shape[i]
		}
		x := g.linear("i32", turned)
		if v = x; len(shape) > 1 {
			v = g.define(t, "permute %s [%s] : %s -> %s", x.name, commas(p), x.typ, t)
		}
	case 2:
		v = g.define(t, "xori %s, %s : %s", g.linear("i32", shape).name, g.number(t, g.r.IntN(t.n())).name, t)
	default:
		v = g.linear("i32", shape)
	}
	if !g.chance(40) || 4*t.n() > maxElements {
		return v
	}
	s := scalar("i32")
	i := g.define(s, "andi %s, %s : %s", g.exact(s).name, g.number(s, 3).name, s)
	i = g.define(s, "muli %s, %s : %s", i.name, g.number(s, choose(g, t.n(), 1, (t.n()+1)/2)).name, s)
	return g.define(t, "addi %s, %s : %s", v.name, g.broadcast(i, shape).name, t)
}

// collidingIndex is an index that several elements may share.
func (g *generator) collidingIndex(shape []int) value {
	t := typ{"i32", shape}
	switch g.r.IntN(3) {
	case 0:
		return g.define(t, "andi %s, %s : %s", g.exact(t).name, g.number(t, 1<<g.r.IntN(6)-1).name, t)
	case 1:
		if len(shape) > 0 {
			v, _ := g.along(g.r.IntN(len(shape)), shape)
			return v
		}
	}
	return g.distinctIndex(shape)
}

// along numbers the elements along a dimension.
func (g *generator) along(d int, shape []int) (v value, n int) {
	line := g.define(typ{"i32", []int{shape[d]}}, "iota : tile<%dxi32>", shape[d])
	ones := make([]int, len(shape))
	for i := range ones {
		ones[i] = 1
	}
	ones[d] = shape[d]
	return g.broadcast(g.reshape(line, ones), shape), shape[d]
}

// maskedCollision is an index that elements share, with a mask that enables one of those.
func (g *generator) maskedCollision(shape []int) (index, mask value) {
	d := g.r.IntN(len(shape))
	v, n := g.along(d, shape)
	t, stride := v.typ, 1
	for _, e := range shape[d+1:] {
		stride *= e
	}
	others := t.n() / n
	c := g.r.IntN(others) // the number of one combination of the other dimensions, in row-major order
	rest := g.define(t, "muli %s, %s : %s", v.name, g.number(t, stride).name, t)
	rest = g.define(t, "subi %s, %s : %s", g.linear("i32", shape).name, rest.name, t)
	at := c/stride*stride*n + c%stride
	return v, g.define(t.with("i1"), "cmpi equal %s, %s, signed : %s -> %s", rest.name, g.number(t, at).name, t, t.with("i1"))
}

// tokenChain is several accesses to the same memory, one after the other: only tokens order them.
func (g *generator) tokenChain() {
	if g.token == "" {
		return
	}
	t := typ{choose(g, slices.Concat([]string{"i1"}, ints, ints, floats)...), g.shape()}
	buffer := g.input(t.elem, "scratch")
	for range 2 + g.r.IntN(4) {
		switch g.r.IntN(9) {
		case 0, 1:
			g.storePointers(buffer, g.token, g.exact(t), g.ownPart(g.distinctIndex(t.shape)))
		case 2:
			g.storeOnce(buffer, t)
		case 3:
			g.loadPointers(buffer, g.token, t, g.ownPart(g.collidingIndex(t.shape)))
		case 4: // two reads that nothing orders
			start := g.token
			g.loadPointers(buffer, start, t, g.ownPart(g.collidingIndex(t.shape)))
			left := g.token
			g.loadPointers(buffer, start, t, g.ownPart(g.collidingIndex(t.shape)))
			both := g.fresh()
			g.emit("%s = join_tokens %s, %s : token", both, left, g.token)
			g.token = both
		case 5:
			g.update(buffer, t)
		case 6:
			g.storeView(buffer, t)
		case 7:
			g.readAcross(buffer, t)
		case 8:
			g.passToken()
		}
	}
}

// storeOnce stores through pointers that are the same for many elements, under a mask that one of them passes.
func (g *generator) storeOnce(buffer string, t typ) {
	if len(t.shape) == 0 {
		return
	}
	index, mask := g.maskedCollision(t.shape)
	v := g.exact(t)
	p, pt := g.pointers(buffer, t.elem, g.ownPart(index))
	after := g.fresh()
	g.emit("%s = store_ptr_tko weak %s, %s, %s token=%s : %s, %s, %s -> token", after, p, v.name, mask.name, g.token, pt, t, mask.typ)
	g.token = after
}

// update changes memory by atomic operations; those that collide commute.
func (g *generator) update(buffer string, t typ) {
	if t.elem != "i32" && t.elem != "i64" {
		return
	}
	order := choose(g, "relaxed", "acquire", "release", "acq_rel") + " " + choose(g, "tl_blk", "device", "sys")
	mask, maskType := "", ""
	if g.chance(40) {
		m := g.mask(t.shape)
		mask, maskType = ", "+m.name, ", "+m.String()
	}
	v, after, x := value{name: g.fresh(), typ: t}, g.fresh(), g.exact(t)
	if g.chance(30) {
		y := g.exact(t)
		p, pt := g.pointers(buffer, t.elem, g.ownPart(g.distinctIndex(t.shape)))
		g.emit("%s, %s = atomic_cas_tko %s %s, %s, %s%s%s : %s, %s%s -> %s, token", v.name, after, order, p, y.name, x.name, mask, tokenClause(g.token), pt, t, maskType, t)
		g.token = after
		g.values = append(g.values, v) // where the mask is false, what was compared with
		return
	}
	alone := g.chance(50)
	var index value
	modes := []string{"and", "or", "xor", "add", "max", "min", "umax", "umin"}
	if alone {
		index, modes = g.distinctIndex(t.shape), append(modes, "xchg")
	} else {
		index = g.collidingIndex(t.shape)
	}
	p, pt := g.pointers(buffer, t.elem, g.ownPart(index))
	g.emit("%s, %s = atomic_rmw_tko %s %s, %s, %s%s%s : %s, %s%s -> %s, token", v.name, after, order, p, choose(g, modes...), x.name, mask, tokenClause(g.token), pt, t, maskType, t)
	g.token = after
	if alone && mask == "" {
		g.values = append(g.values, v)
	}
}

// own is the part of a buffer that belongs to this tile block, as a pointer.
func (g *generator) own(buffer, elem string) string {
	s := scalar("i32")
	part := g.define(s, "muli %s, %s : %s", g.block.name, g.number(s, maxElements).name, s)
	p := g.fresh()
	g.emit("%s = offset %s, %s : tile<ptr<%s>>, %s -> tile<ptr<%s>>", p, buffer, part.name, elem, s, elem)
	return p
}

// rowMajor strides of a shape.
func rowMajor(shape []int) []int {
	strides, n := make([]int, len(shape)), 1
	for d := len(shape) - 1; d >= 0; d-- {
		strides[d] = n
		n *= shape[d]
	}
	return strides
}

// storeView stores a tile of a view of the tile block's part.
func (g *generator) storeView(buffer string, t typ) {
	if len(t.shape) == 0 {
		return
	}
	v := g.exact(t)
	shape := slices.Clone(t.shape)
	d := g.r.IntN(len(shape))
	tiles := 1 + g.r.IntN(2)
	if tiles*t.n() > maxElements {
		tiles = 1
	}
	shape[d] = max(1, shape[d]*tiles-g.r.IntN(shape[d])*g.r.IntN(2))
	tiles = (shape[d] + t.shape[d] - 1) / t.shape[d]
	array, vt := g.tensorView(g.own(buffer, t.elem), t.elem, shape, rowMajor(shape), true)
	kind := fmt.Sprintf("partition_view<tile=(%s), %s>", strings.TrimSuffix(dims(t.shape), "x"), vt)
	view := g.fresh()
	g.emit("%s = make_partition_view %s : %s", view, array, kind)
	at := make([]int, len(shape))
	at[d] = g.r.IntN(tiles)
	names, it := g.indices(at)
	after := g.fresh()
	order := g.order("release", t.elem)
	if (t.elem == "i32" || t.elem == "i64") && g.chance(30) {
		g.emit("%s = atomic_red_view_tko relaxed %s %s[%s], %s, %s token=%s : %s, %s, %s -> token", after, choose(g, "tl_blk", "device"), view, joined(names),
			choose(g, "and", "or", "xor", "add", "max", "min", "umax", "umin"), v.name, g.token, t, kind, it)
	} else {
		g.emit("%s = store_view_tko %s %s, %s[%s] token=%s : %s, %s, %s -> token", after, order, v.name, view, joined(names), g.token, t, kind, it)
	}
	g.token = after
}

// readAcross loads a tile of a view of the tile block's part whose rows overlap, or are one row.
func (g *generator) readAcross(buffer string, t typ) {
	if len(t.shape) == 0 {
		return
	}
	v := g.overlapping(g.own(buffer, t.elem), t, maxElements, g.token)
	g.token = v
}

// overlapping loads a tile of an array whose rows overlap or are one row, and names the token.
func (g *generator) overlapping(base string, t typ, limit int, token string) string {
	shape, strides := slices.Clone(t.shape), make([]int, len(t.shape))
	last := len(shape) - 1
	extent := 1
	for d := last; d >= 0; d-- {
		strides[d] = choose(g, 0, 1, 1, 2, max(1, shape[d]/2), extent)
		if reach := extent + (shape[d]-1)*strides[d]; reach > limit {
			strides[d] = 0
		} else {
			extent = reach
		}
	}
	array, vt := g.tensorView(base, t.elem, shape, strides, true)
	kind := fmt.Sprintf("partition_view<tile=(%s), %s>", strings.TrimSuffix(dims(t.shape), "x"), vt)
	view := g.fresh()
	g.emit("%s = make_partition_view %s : %s", view, array, kind)
	names, it := g.indices(make([]int, len(shape)))
	v, after := value{name: g.fresh(), typ: t}, g.fresh()
	g.emit("%s, %s = load_view_tko %s %s[%s]%s : %s, %s -> %s, token", v.name, after, g.order("acquire", t.elem), view, joined(names), tokenClause(token), kind, it, t)
	g.values = append(g.values, v)
	return after
}

// passToken lets the token through an operation that does nothing else here.
func (g *generator) passToken() {
	after := g.fresh()
	g.emit("%s = %s", after, fmt.Sprintf(choose(g, "memory_fence_alias_tko %s", "gdc_wait_tko token = %s -> token", "gdc_launch_dependents_tko token = %s -> token"), g.token))
	g.token = after
}

// pointerLoop carries pointers and a token through a loop: every iteration reads and writes a little further on, over what the
// one before wrote.
func (g *generator) pointerLoop() {
	if g.token == "" || g.depth >= g.maxNesting || !g.enabled(Rounds) {
		return
	}
	t := typ{choose(g, slices.Concat(ints, floats)...), g.shape()}
	rounds, step := 2+g.r.IntN(3), 1+g.r.IntN(max(1, min(t.n(), 64)))
	if t.n()+(rounds+1)*step > maxElements {
		return
	}
	buffer := g.input(t.elem, "scratch")
	p, pt := g.pointers(buffer, t.elem, g.ownPart(g.linear("i32", t.shape)))
	it := typ{"i32", t.shape}
	by := g.number(it, step)
	s := scalar("i32")
	lower, one1, upper := g.number(s, 0), g.number(s, 1), value{name: g.knownI32(rounds), typ: s}
	res, i, q, tok := g.fresh(), g.fresh(), g.fresh(), g.fresh()
	start := g.token
	g.emit("%s:2 = for %s in (%s to %s, step %s) : %s iter_values(%s = %s, %s = %s) -> (%s, token) {", res, i, lower.name, upper.name, one1.name, s, q, p, tok, start, pt)
	g.scope(func() {
		g.token = tok
		next := g.fresh()
		g.emit("%s = offset %s, %s : %s, %s -> %s", next, q, by.name, pt, it, pt)
		from, to := q, next
		if g.chance(50) {
			from, to = next, q
		}
		loaded, after := value{name: g.fresh(), typ: t}, g.fresh()
		g.emit("%s, %s = load_ptr_tko weak %s token=%s : %s -> %s, token", loaded.name, after, from, g.token, pt, t)
		g.token = after
		g.values = append(g.values, loaded)
		if g.chance(40) {
			g.statements(1)
		}
		after = g.fresh()
		g.emit("%s = store_ptr_tko weak %s, %s token=%s : %s, %s -> token", after, to, g.exact(t).name, g.token, pt, t)
		g.token = after
		g.emit("continue %s, %s : %s, token", next, g.token, pt)
	})
	g.emit("}")
	g.token = res + "#1"
}

// writeAfterRead reads a matrix, overwrites it under the token of the read, then multiplies with what it read.
func (g *generator) writeAfterRead() {
	p := products[g.r.IntN(len(products))]
	if g.token == "" || !inMemory(p[0]) || !g.elemEnabled(p[0]) {
		return
	}
	m, n, k := 16<<g.r.IntN(2), 8<<g.r.IntN(3), 16<<g.r.IntN(2)
	t := typ{p[1], []int{m, n}}
	if !holds(p[1], 16*k) {
		return
	}
	kept := g.token
	xs := make([]value, 2)
	for i, shape := range [][]int{{m, k}, {k, n}} {
		base := g.own(g.smallBuffer(p[0], "overwritten"), p[0])
		array, vt := g.tensorView(base, p[0], shape, rowMajor(shape), true)
		kind := fmt.Sprintf("partition_view<tile=(%dx%d), %s>", shape[0], shape[1], vt)
		view := g.fresh()
		g.emit("%s = make_partition_view %s : %s", view, array, kind)
		names, it := g.indices([]int{0, 0})
		xt := typ{p[0], shape}
		xs[i] = value{name: g.fresh(), typ: xt, bound: 4}
		after := g.fresh()
		g.emit("%s, %s = load_view_tko weak %s[%s] token=%s : %s, %s -> %s, token", xs[i].name, after, view, joined(names), kept, kind, it, xt)
		g.values = append(g.values, xs[i])
		if i == 1 && g.chance(50) {
			break
		}
		v := g.integers(xt)
		kept = g.fresh()
		g.emit("%s = store_view_tko weak %s, %s[%s] token=%s : %s, %s, %s -> token", kept, v.name, view, joined(names), after, xt, kind, it)
	}
	g.token = kept
	g.multiply(xs[0], xs[1], g.integers(t), 16*k)
}

// messagePassing is the message-passing litmus test: the first tile block stores a tile and releases a flag, all acquire the flag
// in a polling loop and read the tile. Those acquires of the first block come after its own release, as nothing else keeps a
// compiler from moving them up.
func (g *generator) messagePassing() {
	if g.depth > 0 || g.token == "" {
		return
	}
	t := typ{choose(g, slices.Concat(ints, floats)...), g.shape()}
	data, flag := g.parameter(t.elem), g.parameter("i32")
	s := scalar("i32")
	first := g.define(scalar("i1"), "cmpi equal %s, %s, signed : %s -> tile<i1>", g.block.name, g.number(s, 0).name, s)
	sign := g.define(s, "constant <i32: 7654321> : %s", s)
	start := g.token
	scope := choose(g, "device", "sys")
	released := g.fresh()
	g.emit("%s = if %s -> (token) {", released, first.name)
	g.scope(func() {
		g.token = start
		g.storePointers(data, g.token, g.exact(t), g.distinctIndex(t.shape))
		if g.chance(30) {
			g.passToken()
		}
		after := g.fresh()
		if g.chance(30) {
			g.emit("%s, %s = atomic_rmw_tko %s %s %s, xchg, %s token=%s : tile<ptr<i32>>, %s -> %s, token", g.fresh(), after, choose(g, "release", "acq_rel"), scope, flag, sign.name, g.token, s, s)
		} else {
			g.emit("%s = store_ptr_tko release %s %s, %s token=%s : tile<ptr<i32>>, %s -> token", after, scope, flag, sign.name, g.token, s)
		}
		g.emit("yield %s : token", after)
	})
	g.emit("} else {")
	g.emit("  yield %s : token", start)
	g.emit("}")
	done, round := g.fresh(), g.fresh()
	g.emit("%s = loop iter_values(%s = %s) : token -> token {", done, round, released)
	g.scope(func() {
		v, after := g.fresh(), g.fresh()
		g.emit("%s, %s = load_ptr_tko acquire %s %s token=%s : tile<ptr<i32>> -> %s, token", v, after, scope, flag, round, s)
		c := g.define(scalar("i1"), "cmpi equal %s, %s, signed : %s -> tile<i1>", v, sign.name, s)
		g.emit("if %s {", c.name)
		g.emit("  break %s : token", after)
		g.emit("}")
		g.emit("continue %s : token", after)
	})
	g.emit("}")
	g.token = done
	g.loadPointers(data, g.token, t, g.collidingIndex(t.shape))
}
