package random

import (
	"fmt"
	"slices"
	"strings"
)

// gather reads rows or columns of an array by number.
func (g *generator) gather() {
	t := g.moved()
	if len(t.shape) != 2 || !inMemory(t.elem) {
		return
	}
	sparse := g.r.IntN(2)
	shape := []int{t.shape[0] + g.r.IntN(4), t.shape[1] + g.r.IntN(4)}
	view, vt := g.tensorView(g.input(t.elem, ""), t.elem, shape, []int{shape[1], 1}, true)
	kind := fmt.Sprintf("gather_scatter_view<tile=(%dx%d), padding_value = zero, %s, sparse_dim=%d>", t.shape[0], t.shape[1], vt, sparse)
	v := g.fresh()
	g.emit("%s = make_gather_scatter_view %s : %s", v, view, kind)
	// Numbers of rows that exist; what lies after the array along the other dimension is padding.
	it := typ{g.unsigned([]int{t.shape[sparse] - 1}), []int{t.shape[sparse]}}
	if it.elem == "i64" {
		it.elem = "i32"
	}
	rows := g.define(it, "andi %s, %s : %s", g.exact(it).name, g.number(it, t.shape[sparse]-1).name, it)
	at, types := [2]string{}, [2]string{}
	at[sparse], types[sparse] = rows.name, it.String()
	at[1-sparse], types[1-sparse] = g.number(scalar("i32"), g.r.IntN(3)).name, "tile<i32>"
	r := value{name: g.fresh(), typ: t}
	g.emit("%s, %s = load_view_tko weak %s[%s, %s] : %s, %s, %s -> %s, token", r.name, g.fresh(), v, at[0], at[1], kind, types[0], types[1], t)
	g.values = append(g.values, r)
}

// atomicView adds a tile to a part of a new buffer.
func (g *generator) atomicView() {
	t := typ{choose(g, g.atomicElems("i32", "i64", "f32", "f64", "f16")...), g.shape()}
	if len(t.shape) == 0 || g.depth > 0 {
		return
	}
	mode := "addf"
	if isInt(t.elem) {
		mode = choose(g, "and", "or", "xor", "add", "max", "min", "umax", "umin")
	}
	x := g.exact(t)
	kind, view, at, it := g.partView(g.parameter(t.elem), t)
	g.emit("%s = atomic_red_view_tko relaxed device %s[%s], %s, %s : %s, %s, %s -> token", g.fresh(), view, at, mode, x.name, t, kind, it)
}

// extents asks views and the grid for their sizes.
func (g *generator) extents() {
	s := scalar("i32")
	if g.chance(40) {
		x, y, z := g.fresh(), g.fresh(), g.fresh()
		g.emit("%s, %s, %s = get_num_tile_blocks : tile<i32>", x, y, z)
		g.values = append(g.values, value{name: x, typ: s, bound: grid})
		return
	}
	elem := g.anyElem()
	if !inMemory(elem) {
		return
	}
	shape := []int{1 + g.r.IntN(40), 1 + g.r.IntN(40)}
	view, vt := g.tensorView(g.input(elem, ""), elem, shape, []int{shape[1], 1}, true)
	v := g.fresh()
	if g.chance(50) {
		elem := choose(g, "i32", "i64", "i16", "i8")
		g.emit("%s:2 = get_tensor_shape %s : %s -> tile<%s>", v, view, vt, elem)
		g.values = append(g.values, value{name: v + "#0", typ: scalar(elem), bound: 64}, value{name: v + "#1", typ: scalar(elem), bound: 64})
		return
	}
	kind := fmt.Sprintf("partition_view<tile=(%dx%d), %s>", 1<<g.r.IntN(5), 1<<g.r.IntN(5), vt)
	p := g.fresh()
	g.emit("%s = make_partition_view %s : %s", p, view, kind)
	g.emit("%s:2 = get_index_space_shape %s : %s -> tile<i32>", v, p, kind)
	g.values = append(g.values, value{name: v + "#0", typ: s, bound: 64}, value{name: v + "#1", typ: s, bound: 64})
}

// overlaps reads an array whose rows overlap or are one row.
func (g *generator) overlaps() {
	t := typ{g.anyElem(), g.shape()}
	if len(t.shape) > 0 && inMemory(t.elem) {
		g.overlapping(g.input(t.elem, ""), t, elements, "")
	}
}

// assumes says of values what holds for them, and asserts what is true.
func (g *generator) assumes() {
	t := g.intType()
	x := g.exact(t)
	switch g.r.IntN(4) {
	case 0:
		c := g.define(t.with("i1"), "cmpi equal %s, %s, signed : %s -> %s", x.name, x.name, t, t.with("i1"))
		g.emit("assert %s, \"equal\" : %s", c.name, c.typ)
	case 1:
		if len(t.shape) == 1 { // pieces of equal elements
			v, n := g.along(0, t.shape)
			size := 1 << g.r.IntN(4)
			if size <= n {
				v = g.define(v.typ, "andi %s, %s : %s", v.name, g.number(v.typ, n-size).name, v.typ)
				g.like(v, v.typ, "assume same_elements<[%d]>, %s : %s", size, v.name, v.typ)
			}
		}
	case 2:
		if t.elem != "i1" {
			x = g.smallInts(t)
			g.like(x, t, "assume bounded<-3, 4>, %s : %s", x.name, t)
		}
	case 3:
		if widths[t.elem] > 8 && len(t.shape) == 0 {
			d := 1 << g.r.IntN(5)
			v := g.define(t, "muli %s, %s : %s", x.name, g.number(t, d).name, t)
			g.define(t, "assume div_by<%d>, %s : %s", d, v.name, t)
		}
	}
}

// stores writes a value in the middle of the program: in an if only where it is taken, in a loop the last round counts.
func (g *generator) stores() {
	t := typ{choose(g, slices.Concat(ints, floats)...), g.shape()}
	if g.token == "" {
		return
	}
	buffer := g.parameter(t.elem)
	g.storePointers(buffer, g.token, g.exact(t), g.ownPart(g.linear("i32", t.shape)))
}

// scatter writes rows of a new array by number: each row once, in another order.
func (g *generator) scatter() {
	t := typ{choose(g, slices.Concat(ints, floats)...), g.shape()}
	if len(t.shape) != 2 || g.depth > 0 {
		return
	}
	x := g.any(t)
	rows := t.shape[0] * grid
	view, vt := g.tensorView(g.parameter(t.elem), t.elem, []int{rows, t.shape[1]}, []int{t.shape[1], 1}, true)
	kind := fmt.Sprintf("gather_scatter_view<tile=(%dx%d), %s, sparse_dim=0>", t.shape[0], t.shape[1], vt)
	v := g.fresh()
	g.emit("%s = make_gather_scatter_view %s : %s", v, view, kind)
	i := g.permutedIndex(t.shape[:1])
	first := g.define(scalar("i32"), "muli %s, %s : %s", g.block.name, g.number(scalar("i32"), t.shape[0]).name, scalar("i32"))
	i = g.define(i.typ, "addi %s, %s : %s", i.name, g.broadcast(first, i.shape).name, i.typ)
	g.emit("%s = store_view_tko weak %s, %s[%s, %s] : %s, %s, %s, tile<i32> -> token", g.fresh(), x.name, v, i.name, g.number(scalar("i32"), 0).name, t, kind, i.typ)
}

// joinedTokens writes two pieces of memory that nothing orders, then reads both after a token that joins them.
func (g *generator) joinedTokens() {
	t := typ{choose(g, slices.Concat(ints, floats)...), g.shape()}
	if g.token == "" || 2*t.n() > maxElements {
		return
	}
	start, buffer := g.token, g.input(t.elem, "scratch")
	here := g.linear("i32", t.shape)
	there := g.define(here.typ, "addi %s, %s : %s", here.name, g.number(here.typ, t.n()).name, here.typ)
	g.storePointers(buffer, start, g.exact(t), g.ownPart(here))
	left := g.token
	g.storePointers(buffer, start, g.exact(t), g.ownPart(there))
	both := g.fresh()
	g.emit("%s = join_tokens %s, %s : token", both, left, g.token)
	// Elements of both, crossed.
	i := g.permutedIndex(t.shape)
	side := g.define(i.typ, "muli %s, %s : %s", g.broadcast(g.block, t.shape).name, g.number(i.typ, t.n()).name, i.typ)
	i = g.define(i.typ, "addi %s, %s : %s", i.name, side.name, i.typ)
	g.loadPointers(buffer, both, t, g.ownPart(i))
}

// global reads a table of the module.
func (g *generator) global() {
	t := typ{choose(g, slices.Concat([]string{"i1"}, floats, ints, g.small())...), []int{16}}
	if !inMemory(t.elem) {
		return
	}
	list := make([]string, 16)
	for i := range list {
		list[i] = g.literal(t.elem)
	}
	name := fmt.Sprintf("@g%d", len(g.globals))
	g.globals = append(g.globals, fmt.Sprintf("global %s alignment = 16 <%s: [%s]> : %s", name, t.elem, strings.Join(list, ", "), t))
	p := g.fresh()
	g.emit("%s = get_global %s : tile<ptr<%s>>", p, name, t.elem)
	shape := g.shape()
	it := typ{"i32", shape}
	i := g.define(it, "andi %s, %s : %s", g.exact(it).name, g.number(it, 15).name, it)
	g.loadPointers(p, "", typ{t.elem, shape}, i)
}
