package random

import "slices"

// some is a visible tile to compute with, or a new one.
func (p *program) some(suits func(value) bool) value {
	if v, ok := p.found(suits); ok {
		return v
	}
	for {
		v := p.operandOf(typ{choose(p.generator, "f32", "f16", "bf16", "i32", "i8"), p.shapeOfTiles()})
		if suits(v) {
			return p.keep(v)
		}
	}
}

// arithmetic is a chain of elementwise operations.
func (p *program) arithmetic() {
	x := p.some(arithmetical)
	for range 1 + p.r.IntN(3) {
		x = p.combine(choose(p.generator, pairOps...), x, p.operandOf(x.typ))
	}
	p.note("elementwise chain")
	p.keep(x)
}

// selection takes elements of one tile or another.
func (p *program) selection() {
	x := p.some(arithmetical)
	c := p.comparison(x, p.operandOf(x.typ))
	p.note("selection")
	p.keep(p.chosenBy(c, p.operandOf(x.typ), x))
}

// conversionOf puts a tile in another element type.
func (p *program) conversionOf() {
	x := p.some(func(v value) bool { return v.bound <= 4 || arithmetical(v) })
	elem := choose(p.generator, slices.DeleteFunc([]string{"f16", "bf16", "f32", "f64", "f8E4M3FN", "f8E5M2", "tf32", "i8", "i16", "i32", "i64"}, func(e string) bool {
		return !p.elemEnabled(e)
	})...)
	p.keep(p.cast(x, elem))
}

// movement puts elements at other places.
func (p *program) movement() {
	x := p.some(func(v value) bool { return len(v.shape) > 0 && v.n() <= maxElements/4 })
	rank := len(x.shape)
	d := p.r.IntN(rank)
	switch p.r.IntN(5) {
	case 0:
		p.note("reshape")
		p.keep(p.reshaped(x, choose(p.generator, []int{x.n()}, []int{1, x.n()}, []int{x.n(), 1}, slices.Concat([]int{1}, x.shape))))
	case 1:
		if rank > 1 {
			p.note("permute")
			p.keep(p.permuted(x, p.r.Perm(rank)))
		}
	case 2:
		if row := slices.Clone(x.shape); x.shape[d] == 1 {
			p.note("broadcast")
			row[d] = 1 << p.r.IntN(6)
			if (typ{"", row}).n() <= maxElements/2 {
				p.keep(p.widened(x, row))
			}
		}
	case 3:
		p.note("cat")
		p.keep(p.beside(x, p.operandOf(x.typ), d))
	case 4:
		if p.chance(40) {
			p.note("single element")
			for d, n := range x.shape {
				x = p.partOf(x, d, n, p.below(n))
			}
			p.keep(x)
		} else if parts := min(x.shape[d], 1<<p.r.IntN(3)); parts > 1 {
			p.note("extract")
			p.keep(p.partOf(x, d, parts, p.below(parts)))
		}
	}
}

// folding is a reduction, whose result may go back to all elements, or a scan.
func (p *program) folding() {
	x := p.some(func(v value) bool { return arithmetical(v) && len(v.shape) > 0 })
	dim := p.r.IntN(len(x.shape))
	if p.chance(40) {
		p.keep(p.scanned(x, dim))
		return
	}
	v := p.keep(p.reduced(x, dim))
	if p.chance(60) {
		shape := slices.Clone(x.shape)
		shape[dim] = 1
		p.note("broadcast")
		p.keep(p.combine(choose(p.generator, pairOps...), x, p.widened(p.reshaped(v, shape), x.shape)))
	}
}

// loading reads a tile.
func (p *program) loading() {
	var list []*area
	for _, a := range p.areas {
		if !a.hidden && a.limit <= smallest {
			list = append(list, a)
		}
	}
	if len(list) > 0 {
		p.keep(p.loaded(typ{choose(p.generator, list...).elem, p.shapeOfTiles()}))
	}
}

// storing writes a tile to memory that other statements read.
func (p *program) storing() {
	var list []*area
	for _, a := range p.areas {
		if a.written && !a.hidden && !a.readOnly && a.limit <= smallest {
			list = append(list, a)
		}
	}
	if len(list) == 0 {
		return
	}
	elem := choose(p.generator, list...).elem
	shape := p.shapeOfTiles()
	if v, ok := p.found(func(v value) bool { return len(v.shape) > 0 && v.n() <= half/4 }); ok {
		shape = v.shape
	}
	v := p.operandOf(typ{elem, shape})
	p.note("store to memory that is read")
	l, index := p.layerFor(v.typ, true)
	p.store(v, l, index)
}

// condition is a scalar of i1: of a counter, of the tile block, or of the elements of a tile.
func (p *program) condition() value {
	s := scalar("i32")
	switch {
	case len(p.counters) > 0 && p.chance(60):
		i := p.unsignedAs(choose(p.generator, p.counters...), "i32")
		if p.chance(50) {
			return p.comparison(i, p.known("i32", p.r.IntN(4)))
		}
		one := p.constantOf(s, 1)
		odd := p.elementwise(s, 1, []value{i, one}, func(x []int64) int64 { return x[0] & x[1] }, "andi %s, %s : tile<i32>", i.name, one.name)
		return p.comparison(odd, one)
	case p.chance(40):
		return p.comparison(p.block, p.known("i32", p.r.IntN(2)))
	case p.chance(50):
		return p.comparison(p.known("i32", p.r.IntN(4)), p.known("i32", p.r.IntN(4)))
	}
	x := p.some(arithmetical)
	for len(x.shape) > 0 {
		x = p.reduced(x, p.r.IntN(len(x.shape)))
	}
	p.note("condition that elements decide")
	return p.comparison(x, p.constantOf(x.typ, p.r.IntN(3)))
}

// branching is an if of which both sides give tiles.
func (p *program) branching() {
	if p.depth > maxDepth {
		return
	}
	var types []typ
	var limits []int
	for range 1 + p.r.IntN(2) {
		v := p.some(func(v value) bool { return len(v.shape) > 0 })
		types, limits = append(types, v.typ), append(limits, min(most(v.elem), 16))
	}
	side := func() (vals []value) {
		p.statements(p.r.IntN(3))
		for _, t := range types {
			vals = append(vals, p.operandOf(t))
		}
		return vals
	}
	p.note("branch")
	p.pool = append(p.pool, p.either(p.condition(), types, limits, side, side)...)
}

// spanOf is how a loop of a few rounds counts.
func (p *program) spanOf(times int) span {
	g := p.generator
	s := span{elem: "i32", step: 1, times: times}
	switch {
	case p.chance(25):
		p.note("loop without a counter of its own")
		s.endless = true
	case p.chance(30):
		s.elem, s.step = choose(g, "i8", "i16", "i32", "i64"), 1+g.r.IntN(3)
		s.first = g.r.IntN(4)
	case p.chance(25):
		p.note("loop up to the largest number")
		s.elem, s.step = choose(g, "i8", "i16", "i32", "i64"), 1+g.r.IntN(3)
		s.first = topOf(s.elem) - max(times, 1)*s.step + g.r.IntN(s.step)
	case p.chance(20):
		p.note("loop of negative numbers")
		s.elem, s.unsigned = choose(g, "i8", "i16", "i32", "i64"), p.chance(50)
		s.first = -100 + g.r.IntN(90)
	}
	return s
}

// counting is a loop that carries tiles, with other statements in it.
func (p *program) counting() {
	if p.depth > maxDepth {
		return
	}
	var inits []value
	var limits []int
	for range p.r.IntN(3) {
		v := p.some(func(v value) bool { return len(v.shape) > 0 && v.n() <= maxElements })
		limit := min(most(v.elem), 16)
		inits, limits = append(inits, p.within(v, limit)), append(limits, limit)
	}
	p.note("loop that carries tiles")
	if len(p.frames) > 0 {
		p.note("nest of loops")
	}
	results := p.repeat(p.spanOf(p.r.IntN(5)), inits, limits, func(_ value, args []value) (next []value) {
		p.statements(1 + p.r.IntN(3))
		for i, v := range args {
			y := p.operandOf(v.typ)
			if arithmetical(v) && p.chance(50) {
				y = p.combine(choose(p.generator, pairOps...), args[i], y)
			}
			next = append(next, y)
		}
		if len(args) == 2 && args[0].is(args[1].typ) && p.chance(50) {
			p.note("tiles that change places")
			next[0] = args[1]
		}
		return next
	})
	p.pool = append(p.pool, results...)
}

// updating changes memory atomically, beside loads and stores of it; each element has a place of its own, so what was there is known.
func (p *program) updating() {
	var list []*area
	for _, a := range p.areas {
		if a.written && !a.hidden && !a.readOnly && a.limit <= smallest && changesAtomically(a.elem) {
			list = append(list, a)
		}
	}
	if len(list) == 0 {
		return
	}
	a := choose(p.generator, list...)
	t := typ{a.elem, []int{1 << p.r.IntN(9)}}
	v := p.within(p.operandOf(t), a.limit)
	l := p.layer(a, t, p.tilesFor(t, a.length))
	for !l.pointers { // until it is one of pointers
		l = p.layer(a, t, p.tilesFor(t, a.length))
	}
	old := p.update(v, l, p.indexIn(l))
	if l.shape[0]%l.tile.shape[0] == 0 { // else some elements are of no meaning
		p.keep(old)
	}
}

func changesAtomically(elem string) bool { return elem == "i32" || elem == "i64" || elem == "f32" }

// update changes a tile atomically, and is what was there.
func (p *program) update(v value, l *layer, index []value) value {
	a, t := l.area, v.typ
	mode, f := "xchg", func(_, x int64) int64 { return x }
	if isInt(a.elem) && p.chance(60) {
		mode, f = "max", func(old, x int64) int64 { return max(old, x) }
	}
	ptr, pt, mask, maskType := p.pointersOf(l, index)
	if mask == "" {
		all := p.constantText("true", t.with("i1"))
		mask, maskType = all, ", "+t.with("i1").String()
	}
	old, after := value{name: p.fresh(), typ: t, bound: a.limit}, p.fresh()
	p.emit("%s, %s = atomic_rmw_tko relaxed device %s, %s, %s, %s token=%s : %s, %s%s -> %s, token", old.name, after, ptr, mode, v.name, mask, p.join(a.all()...), pt, t, maskType, t)
	a.after, a.reads = after, nil
	p.note("atomic beside loads")
	p.do(func(m *machine) {
		out := make([]int64, t.n())
		l.each(m, index, value{}, func(i, address int) {
			out[i] = m.memory[a.param][address]
			m.memory[a.param][address] = f(out[i], m.tiles[v.name][i])
		})
		m.tiles[old.name] = out
	})
	return old
}

func (p *program) constantText(text string, t typ) string {
	return p.define(t, "constant <%s: %s> : %s", t.elem, text, t).name
}

// adding adds to memory that all blocks share, in any order.
func (p *program) adding() {
	elem := choose(p.generator, "i32", "f32")
	i := slices.IndexFunc(p.areas, func(a *area) bool { return a.elem == elem && a.limit == sumLimit })
	if i < 0 {
		i = len(p.areas)
		p.area(elem, false, sumLimit)
	}
	a := p.areas[i]
	t := typ{elem, []int{1 << p.r.IntN(8)}}
	v := p.within(p.operandOf(t), 8)
	n := min(1<<p.r.IntN(5), t.n())
	it := t.with("i32")
	at := p.define(it, "andi %s, %s : %s", p.linear("i32", t.shape).name, p.number(it, n-1).name, it)
	ptr, pt := p.generator.pointers(a.pointer, elem, at)
	mode := "addf"
	if isInt(elem) {
		mode = "add"
	}
	p.emit("%s, %s = atomic_rmw_tko relaxed device %s, %s, %s : %s, %s -> %s, token", p.fresh(), p.fresh(), ptr, mode, v.name, pt, t, t)
	p.note("atomic sum")
	p.do(func(m *machine) {
		for i, x := range m.tiles[v.name] {
			m.memory[a.param][i%n] += x
		}
	})
}

// sumLimit is the limit of areas that are only added to: nobody reads them.
const sumLimit = 1 << 20
