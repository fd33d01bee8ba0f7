package random

import (
	"fmt"
	"slices"
	"strings"
)

// parameter adds a buffer and returns its name.
func (g *generator) parameter(elem string) string {
	g.params = append(g.params, "ptr<"+elem+">")
	return fmt.Sprintf("%%p%d", len(g.params)-1)
}

// input is the buffer from which a type is read; matrices of small integers have their own.
func (g *generator) input(elem, use string) string {
	i, ok := g.inputs[elem+use]
	if !ok {
		g.parameter(elem)
		i = len(g.params) - 1
		g.inputs[elem+use] = i
	}
	return fmt.Sprintf("%%p%d", i)
}

// smallInput is a buffer of small integers that nobody writes.
func (g *generator) smallInput(elem string) string { return g.smallBuffer(elem, "small") }

// smallBuffer is a buffer of small integers: which parameters those are, launch.go says.
func (g *generator) smallBuffer(elem, use string) string {
	if _, ok := g.inputs[elem+use]; !ok {
		for !isSmallBuffer(len(g.params)) {
			g.params = append(g.params, "i32")
		}
	}
	return g.input(elem, use)
}

// scalarParameter is a scalar whose value launch.go decides, with that value.
func (g *generator) scalarParameter() (value, int) {
	i, ok := g.inputs["scalar"]
	if !ok || g.chance(40) {
		g.params = append(g.params, "i32")
		i = len(g.params) - 1
		g.inputs["scalar"] = i
	}
	return value{name: fmt.Sprintf("%%p%d", i), typ: scalar("i32")}, int(scalarValue(i))
}

// pointers is a tile of pointers: the buffer's address plus an index per element.
func (g *generator) pointers(buffer, elem string, index value) (name, t string) {
	ptr := "ptr<" + elem + ">"
	at := buffer
	if g.chance(30) {
		at = g.fresh()
		g.emit("%s = assume div_by<16>, %s : tile<%s>", at, buffer, ptr)
	}
	if len(index.shape) > 0 {
		ones := make([]int, len(index.shape))
		for d := range ones {
			ones[d] = 1
		}
		single, all := "tile<"+dims(ones)+ptr+">", "tile<"+dims(index.shape)+ptr+">"
		a, b := g.fresh(), g.fresh()
		g.emit("%s = reshape %s : tile<%s> -> %s", a, at, ptr, single)
		at = a
		if single != all {
			g.emit("%s = broadcast %s : %s -> %s", b, a, single, all)
			at = b
		}
	}
	t = "tile<" + dims(index.shape) + ptr + ">"
	at = g.detour(at, elem, index.shape)
	name = g.fresh()
	g.emit("%s = offset %s, %s : %s, %s -> %s", name, at, index.name, t, index.typ, t)
	return name, t
}

// detour takes pointers through integers, or through pointers to something else, and back.
func (g *generator) detour(p, elem string, shape []int) string {
	if !g.chance(24) {
		return p
	}
	via, there, back := "i64", "ptr_to_int", "int_to_ptr"
	if g.chance(50) {
		via, there, back = "ptr<"+choose(g, "i8", "f32", "i64")+">", "ptr_to_ptr", "ptr_to_ptr"
		if via == "ptr<"+elem+">" {
			return p
		}
	}
	t, u := "tile<"+dims(shape)+"ptr<"+elem+">>", "tile<"+dims(shape)+via+">"
	q, r := g.fresh(), g.fresh()
	g.emit("%s = %s %s : %s -> %s", q, there, p, t, u)
	g.emit("%s = %s %s : %s -> %s", r, back, q, u, t)
	return r
}

// ownPart moves an index into the part of a buffer that belongs to this tile block; a part has maxElements elements, or as many as there can be.
func (g *generator) ownPart(index value) value {
	n := maxElements
	if index.n() > n {
		n = elements / grid
	}
	part := g.define(scalar("i32"), "muli %s, %s : %s", g.block.name, g.number(scalar("i32"), n).name, scalar("i32"))
	return g.define(index.typ, "addi %s, %s : %s", index.name, g.broadcast(part, index.shape).name, index.typ)
}

// readIndex is an index into an input: rows, rows with a distance, backwards, or anywhere.
func (g *generator) readIndex(shape []int) value {
	t := typ{"i32", shape}
	v := g.linear("i32", shape)
	way := g.r.IntN(6)
	if t.n() > maxElements {
		way = 0 // more than a part of a buffer
	}
	switch way {
	case 0:
		return v
	case 5: // a piece that a number chooses, in a loop perhaps its counter
		s := scalar("i32")
		i := g.define(s, "andi %s, %s : %s", g.exact(s).name, g.number(s, 3).name, s)
		i = g.define(s, "muli %s, %s : %s", i.name, g.number(s, t.n()).name, s)
		return g.define(t, "addi %s, %s : %s", v.name, g.broadcast(i, shape).name, t)
	case 1:
		return g.define(t, "addi %s, %s : %s", v.name, g.number(t, g.r.IntN(64)).name, t)
	case 2:
		return g.define(t, "muli %s, %s : %s", v.name, g.number(t, 1+g.r.IntN(3)).name, t)
	case 3:
		return g.define(t, "subi %s, %s : %s", g.number(t, maxElements-1).name, v.name, t)
	}
	return g.define(t, "andi %s, %s : %s", g.exact(t).name, g.number(t, elements-1).name, t)
}

func (g *generator) loading() {
	if elem := choose(g, g.anyElem(), g.anyElem(), choose(g, g.small()...)); inMemory(elem) {
		g.load(typ{elem, g.shape()})
	}
}

// load reads an input in one of several ways.
func (g *generator) load(t typ) value {
	if len(t.shape) > 0 && g.chance(50) {
		return g.loadView(g.input(t.elem, ""), t, choose(g, paddings[isInt(t.elem) || slices.Contains(small, t.elem)]...))
	}
	return g.loadPointers(g.input(t.elem, ""), "", t, g.readIndex(t.shape))
}

// loadMatrix reads small integers.
func (g *generator) loadMatrix(t typ) value {
	in := g.smallInput(t.elem)
	var v value
	if g.chance(60) {
		v = g.loadView(in, t, "zero")
	} else {
		p, pt := g.pointers(in, t.elem, g.linear("i32", t.shape))
		v = value{name: g.fresh(), typ: t}
		g.emit("%s, %s = load_ptr_tko %s %s : %s -> %s, token", v.name, g.fresh(), g.order("acquire", t.elem), p, pt, t)
		g.values = append(g.values, v)
	}
	v.bound = 4
	return g.mark(v)
}

// tokenClause is " token=%t", or nothing.
func tokenClause(token string) string {
	if token == "" {
		return ""
	}
	return " token=" + token
}

// order is weak, or at times what a strong access of a type may have; strong is acquire for loads, release for stores.
func (g *generator) order(strong, elem string) string {
	if elem == "i1" || !g.chance(20) {
		return "weak"
	}
	return choose(g, "relaxed", strong) + " " + choose(g, "tl_blk", "device", "sys")
}

// mask chooses elements: the first ones, as the end of an array does, or any.
func (g *generator) mask(shape []int) value {
	if t := (typ{"i32", shape}); g.chance(50) {
		end := value{name: g.knownI32(g.r.IntN(t.n() + 1)), typ: scalar("i32")}
		return g.define(t.with("i1"), "cmpi less_than %s, %s, signed : %s -> %s", g.linear("i32", shape).name, g.broadcast(end, shape).name, t, t.with("i1"))
	}
	return g.exact(typ{"i1", shape})
}

// loadPointers reads through pointers, perhaps under a mask; token orders it.
func (g *generator) loadPointers(buffer, token string, t typ, index value) value {
	operands, types := "", ""
	if g.chance(40) {
		mask, padding := g.mask(t.shape), g.exact(t)
		operands, types = fmt.Sprintf(", %s, %s", mask.name, padding.name), fmt.Sprintf(", %s, %s", mask.typ, t)
	}
	p, pt := g.pointers(buffer, t.elem, index)
	v := value{name: g.fresh(), typ: t}
	after := g.fresh()
	g.emit("%s, %s = load_ptr_tko %s %s%s%s : %s%s -> %s, token", v.name, after, g.order("acquire", t.elem), p, operands, tokenClause(token), pt, types, t)
	if token != "" {
		g.token = after
	}
	g.values = append(g.values, v)
	return v
}

// tensorView makes a view of a buffer, extents and strides static or, with dynamic, sometimes not.
func (g *generator) tensorView(buffer, elem string, shape, strides []int, dynamic bool) (name, t string) {
	var sizes, steps, sizeTypes, stepTypes []string
	types := ""
	number := g.unsigned(slices.Concat(shape, strides))
	for d := range shape {
		size, step := fmt.Sprint(shape[d]), fmt.Sprint(strides[d])
		sizeType, stepType := size, step
		if dynamic && g.chance(50) {
			size, sizeType = g.knownAs(number, shape[d]), "?"
		}
		if dynamic && g.chance(50) && (strides[d] != 1 || g.chance(30)) || strides[d] == 0 {
			step, stepType = g.knownAs(number, strides[d]), "?"
		}
		sizes, steps = append(sizes, size), append(steps, step)
		sizeTypes, stepTypes = append(sizeTypes, sizeType), append(stepTypes, stepType)
	}
	if slices.Contains(sizeTypes, "?") || slices.Contains(stepTypes, "?") {
		types = "tile<" + number + "> -> "
	}
	t = fmt.Sprintf("tensor_view<%sx%s, strides=[%s]>", strings.Join(sizeTypes, "x"), elem, strings.Join(stepTypes, ","))
	if g.chance(50) {
		promised := g.fresh()
		g.emit("%s = assume div_by<%d>, %s : tile<ptr<%s>>", promised, choose(g, 16, 16, 8, 64), buffer, elem)
		buffer = promised
	}
	name = g.fresh()
	g.emit("%s = make_tensor_view %s, shape = [%s], strides = [%s] : %s%s", name, buffer, strings.Join(sizes, ", "), strings.Join(steps, ", "), types, t)
	return name, t
}

// unsigned is an integer type that holds numbers as unsigned ones, mostly i32.
func (g *generator) unsigned(list []int) string {
	elem := choose(g, "i32", "i32", "i32", "i64", "i16", "i8")
	if w := widths[elem]; w < 32 && (slices.Max(list) >= 1<<w || !g.enabled(Narrow)) {
		return "i32"
	}
	return elem
}

// knownAs is a number of an integer type, unsigned, that is n; the compiler may or may not see it.
func (g *generator) knownAs(elem string, n int) string {
	x := g.knownI32(n)
	switch w := widths[elem]; {
	case w > 32:
		return g.define(scalar(elem), "exti %s unsigned : tile<i32> -> tile<%s>", x, elem).name
	case w < 32:
		return g.define(scalar(elem), "trunci %s : tile<i32> -> tile<%s>", x, elem).name
	}
	return x
}

// indices are numbers for a view, of one type, with that type.
func (g *generator) indices(at []int) (names []string, t string) {
	elem := g.unsigned(append(slices.Clone(at), 0))
	for _, n := range at {
		names = append(names, g.knownAs(elem, n))
	}
	return names, "tile<" + elem + ">"
}

// knownI32 is an i32 that is n, which the compiler may or may not see.
func (g *generator) knownI32(n int) string {
	t := scalar("i32")
	if g.chance(40) {
		return g.number(t, n).name
	}
	p, value := g.scalarParameter()
	v := g.define(t, "addi %s, %s : %s", p.name, g.number(t, n-value).name, t)
	if g.chance(40) { // promises that hold
		v = g.define(t, "assume bounded<%d, %s>, %s : %s", min(n, choose(g, 0, n)), choose(g, "?", fmt.Sprint(n), fmt.Sprint(n+100)), v.name, t)
	}
	if g.chance(40) && n > 0 {
		v = g.define(t, "assume div_by<%d>, %s : %s", choose(g, 1, n&-n), v.name, t)
	}
	return v.name
}

// arrayFor is an array of about a few tiles along each dimension, with strides, that fits into limit elements.
func (g *generator) arrayFor(tile []int, limit int) (shape, strides []int) {
	shape, strides = make([]int, len(tile)), make([]int, len(tile))
	stride := 1
	for d := len(tile) - 1; d >= 0; d-- {
		shape[d] = max(1, tile[d]*(1+g.r.IntN(2))-g.r.IntN(1+tile[d]/2)*g.r.IntN(2))
		if g.chance(15) && tile[d] <= 32 { // so many tiles that a number of 8 bits shows its sign
			shape[d] = tile[d] * (100 + g.r.IntN(200))
		}
		for shape[d]*stride > limit {
			shape[d] = max(1, limit/stride)
		}
		strides[d] = stride
		if pad := g.r.IntN(5); g.chance(20) && shape[d]*(stride+pad) <= limit {
			stride += pad
		}
		stride *= shape[d]
	}
	return shape, strides
}

var paddings = map[bool][]string{true: {"zero"}, false: {"zero", "neg_zero", "nan", "pos_inf", "neg_inf"}}

// loadView reads a tile of a view; what lies outside is padding.
func (g *generator) loadView(buffer string, t typ, padding string) value {
	shape, strides := g.arrayFor(t.shape, elements)
	view, vt := g.tensorView(buffer, t.elem, shape, strides, true)
	kind := fmt.Sprintf("partition_view<tile=(%s), padding_value = %s, %s>", strings.TrimSuffix(dims(t.shape), "x"), padding, vt)
	op := "make_partition_view"
	steps := slices.Clone(t.shape)
	if g.chance(25) {
		op = "make_strided_view"
		for d := range steps {
			steps[d] = 1 + g.r.IntN(t.shape[d])
		}
		kind = fmt.Sprintf("strided_view<tile=(%s), traversal_strides=[%s], padding_value = %s, %s>", strings.TrimSuffix(dims(t.shape), "x"), strings.ReplaceAll(commas(steps), " ", ""), padding, vt)
	}
	at := make([]int, len(t.shape))
	for d := range at {
		blocks := (shape[d] + steps[d] - 1) / steps[d] // no tile lies wholly outside
		at[d] = g.r.IntN(blocks)
		if blocks > 128 && g.chance(50) {
			at[d] = 128 + g.r.IntN(blocks-128)
		}
	}
	names, it := g.indices(at)
	for d := range at {
		if blocks := (shape[d] + steps[d] - 1) / steps[d]; it == "tile<i32>" && blocks >= grid && g.chance(30) {
			names[d] = g.block.name
		}
	}
	p := g.fresh()
	g.emit("%s = %s %s : %s", p, op, view, kind)
	v := value{name: g.fresh(), typ: t}
	g.emit("%s, %s = load_view_tko %s %s[%s] : %s, %s -> %s, token", v.name, g.fresh(), g.order("acquire", t.elem), p, joined(names), kind, it, t)
	g.values = append(g.values, v)
	return v
}

// mostResults bounds the buffers of a module.
const mostResults = 24

// results stores the sums of products in loops, then what nothing is made of, which compilers drop, newer values first, and some others, each into a
// buffer of its own.
func (g *generator) results() {
	left := mostResults
	put := func(v value) {
		if left > 0 && inMemory(v.elem) {
			g.used[v.name] = true
			g.store(v)
			left--
		}
	}
	vals := slices.Clone(g.values) // stores make more
	for _, v := range g.sums {
		put(v)
	}
	for _, v := range slices.Backward(vals) {
		if !g.used[v.name] {
			put(v)
		}
	}
	for range 1 + g.r.IntN(3) {
		if v, ok := g.find(func(v value) bool { return inMemory(v.elem) }); ok {
			put(v)
		}
	}
}

// store writes a value into a new buffer.
func (g *generator) store(v value) {
	out := g.parameter(v.elem)
	if len(v.shape) == 0 || g.chance(60) {
		g.storePointers(out, "", v, g.ownPart(g.linear("i32", v.shape)))
		return
	}
	kind, view, at, it := g.partView(out, v.typ)
	g.emit("%s = store_view_tko weak %s, %s[%s] : %s, %s, %s -> token", g.fresh(), v.name, view, at, v.typ, kind, it)
}

// partView is a view of a buffer in which every tile block has a tile of its own, the last perhaps not whole, and its indices.
func (g *generator) partView(buffer string, t typ) (kind, view, at, it string) {
	shape := slices.Clone(t.shape)
	shape[0] = shape[0]*grid - g.r.IntN(2)*g.r.IntN(shape[0])
	strides := make([]int, len(shape))
	stride := 1
	for d := len(shape) - 1; d >= 0; d-- {
		strides[d] = stride
		stride *= shape[d]
	}
	array, vt := g.tensorView(buffer, t.elem, shape, strides, true)
	kind = fmt.Sprintf("partition_view<tile=(%s), %s>", strings.TrimSuffix(dims(t.shape), "x"), vt)
	view = g.fresh()
	g.emit("%s = make_partition_view %s : %s", view, array, kind)
	elem := g.unsigned([]int{grid})
	block := g.block
	switch w := widths[elem]; {
	case w > 32:
		block = g.define(scalar(elem), "exti %s unsigned : tile<i32> -> tile<%s>", block.name, elem)
	case w < 32:
		block = g.define(scalar(elem), "trunci %s : tile<i32> -> tile<%s>", block.name, elem)
	}
	indices := []string{block.name}
	for range t.shape[1:] {
		indices = append(indices, g.number(scalar(elem), 0).name)
	}
	return kind, view, joined(indices), scalar(elem).String()
}

// storePointers writes through pointers, perhaps under a mask; token orders it.
func (g *generator) storePointers(buffer, token string, v, index value) {
	mask, maskType := "", ""
	if g.chance(25) {
		m := g.mask(v.shape)
		mask, maskType = ", "+m.name, ", "+m.String()
	}
	p, pt := g.pointers(buffer, v.elem, index)
	after := g.fresh()
	g.emit("%s = store_ptr_tko %s %s, %s%s%s : %s, %s%s -> token", after, g.order("release", v.elem), p, v.name, mask, tokenClause(token), pt, v.typ, maskType)
	if token != "" {
		g.token = after
	}
}

// roundTrip writes a value to memory and reads it back in another order: tokens alone say that this works.
func (g *generator) roundTrip() {
	if g.token == "" {
		return
	}
	t := typ{choose(g, slices.Concat(ints, floats)...), g.shape()}
	v := g.exact(t)
	buffer := g.input(t.elem, "scratch")
	if g.chance(50) && g.enabled(Alloca) { // the tile block's own memory, all of it written first
		buffer = g.fresh()
		g.emit("%s = alloca num_elem = %d, alignment = %d : tile<ptr<%s>>", buffer, t.n(), choose(g, 16, 64), t.elem)
		p, pt := g.pointers(buffer, t.elem, g.linear("i32", t.shape))
		after := g.fresh()
		g.emit("%s = store_ptr_tko weak %s, %s token=%s : %s, %s -> token", after, p, v.name, g.token, pt, t)
		g.token = after
		g.loadPointers(buffer, g.token, t, g.permutedIndex(t.shape))
		return
	}
	g.storePointers(buffer, g.token, v, g.ownPart(g.linear("i32", t.shape)))
	g.loadPointers(buffer, g.token, t, g.ownPart(g.permutedIndex(t.shape)))
}

// permutedIndex numbers the elements of a shape in another order.
func (g *generator) permutedIndex(shape []int) value {
	i := g.linear("i32", shape)
	if g.chance(40) {
		return i
	}
	return g.define(i.typ, "xori %s, %s : %s", i.name, g.number(i.typ, g.r.IntN(i.n())).name, i.typ)
}

// atomicElems adds bf16 to elements of atomic operations.
func (g *generator) atomicElems(elems ...string) []string {
	if g.enabled(HalfAtomics) {
		elems = append(elems, "bf16")
	}
	return elems
}

// atomic updates memory; the old values are known where every element has a place of its own.
func (g *generator) atomic() {
	elem := choose(g, g.atomicElems("i32", "i64", "f32", "i32", "f64", "f16")...)
	t := typ{elem, g.shape()}
	buffer := g.parameter(elem)
	mode := "addf"
	if isInt(elem) {
		mode = choose(g, "and", "or", "xor", "add", "max", "min", "umax", "umin")
	}
	alone := g.chance(50)
	if alone && widths[elem] >= 32 && g.chance(20) {
		mode = "xchg"
	}
	x := g.exact(t)
	index := g.linear("i32", t.shape)
	if alone {
		index = g.ownPart(index)
	} else {
		index = g.define(index.typ, "andi %s, %s : %s", g.exact(index.typ).name, g.number(index.typ, 15).name, index.typ)
		if !isInt(elem) {
			x = g.integers(t)
		}
	}
	mask, maskType := "", ""
	if g.chance(30) {
		m := g.mask(t.shape)
		mask, maskType = ", "+m.name, ", "+m.String()
	}
	p, pt := g.pointers(buffer, elem, index)
	v := value{name: g.fresh(), typ: t}
	if alone && g.chance(60) && widths[elem] >= 32 {
		old := g.exact(t)
		if !isInt(elem) {
			old = g.integers(t) // bits are compared, and those of a NaN that is computed are nobody's promise
		}
		g.emit("%s, %s = atomic_cas_tko relaxed device %s, %s, %s%s : %s, %s%s -> %s, token", v.name, g.fresh(), p, old.name, x.name, mask, pt, t, maskType, t)
		if g.depth == 0 { // where the mask is false, what was compared with
			g.values = append(g.values, v)
		}
		return
	}
	g.emit("%s, %s = atomic_rmw_tko relaxed %s %s, %s, %s%s : %s, %s%s -> %s, token", v.name, g.fresh(), choose(g, "device", "sys"), p, mode, x.name, mask, pt, t, maskType, t)
	if alone && mask == "" && g.depth == 0 {
		g.values = append(g.values, v)
	}
}
