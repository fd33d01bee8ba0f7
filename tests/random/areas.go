package random

import (
	"fmt"
	"slices"
	"strings"
)

// area is memory of integers, over which views and tiles of pointers lie. Where a program writes, each tile block has a part of its own, and tokens order the accesses.
type area struct {
	elem    string
	param   int
	pointer string // to its first element
	first   func(m *machine) int
	named   func(m *machine) int // the parameter, if memory says which one
	length  int
	limit   int // no element is farther from 0
	written bool

	after    string   // the token of what has been written
	reads    []string // those of what has read it since, but for those that others of them come after
	latest   []string // those of what has read it in this round
	hidden   bool     // here nothing may access it
	apart    bool     // but for a loop whose rounds have a piece of it each
	readOnly bool     // here nothing may write
}

// half is the part of a buffer that belongs to a tile block.
const half = elements / grid

// area makes memory of an element type; what programs read holds small integers.
func (p *program) area(elem string, written bool, limit int) *area {
	pointer := p.smallBuffer(elem, fmt.Sprintf("area %d", len(p.areas)))
	a := &area{elem: elem, param: len(p.params) - 1, pointer: pointer, first: func(*machine) int { return 0 }, length: elements, limit: limit, written: written}
	if written {
		p.ofBlock(a)
	}
	p.areas = append(p.areas, a)
	return a
}

// ofBlock makes an area that of the tile block alone.
func (p *program) ofBlock(a *area) {
	s := scalar("i32")
	pointer, base := p.fresh(), p.define(s, "muli %s, %s : %s", p.block.name, p.number(s, half).name, s)
	p.emit("%s = offset %s, %s : tile<ptr<%s>>, %s -> tile<ptr<%s>>", pointer, a.pointer, base.name, a.elem, s, a.elem)
	a.pointer, a.length, a.first, a.after = pointer, half, func(m *machine) int { return int(m.block) * half }, p.start
}

// areaOf is memory of an element type that may be read here, and written if somebody wants to; nil if there is none.
func (p *program) areaOf(elem string, write bool) *area {
	var list []*area
	for _, a := range p.areas {
		if a.elem == elem && !a.hidden && a.limit <= smallest && (!write || a.written && !a.readOnly) {
			list = append(list, a)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return choose(p.generator, list...)
}

// smallest is the bound of elements of areas that programs read.
const smallest = 4

// join is a token after all of these.
func (p *program) join(tokens ...string) string {
	var list []string
	for _, t := range tokens {
		if t != "" && !slices.Contains(list, t) {
			list = append(list, t)
		}
	}
	if len(list) == 1 {
		return list[0]
	}
	both := p.fresh()
	p.emit("%s = join_tokens %s : token", both, joined(list))
	return both
}

// all is the token after everything that has accessed an area.
func (a *area) all() []string { return append([]string{a.after}, a.reads...) }

// layer is how an array lies over an area, and how a program looks at its tiles.
type layer struct {
	*area
	tile           typ
	shape, strides []int // of the array, by dimensions of the tile
	steps          []int // from tile to tile
	at, kind       string
	pointers       bool
	sparse         int // the dimension whose rows are named one by one; -1: none
	pointer        string
	shift          int // the elements of the area in front of the array
}

// tiles is how many there are along a dimension.
func (l *layer) tiles(d int) int { return (l.shape[d] + l.steps[d] - 1) / l.steps[d] }

// layer makes an array over an area with so many tiles along each dimension, of which the last may not be whole.
func (p *program) layer(a *area, t typ, tiles []int) *layer {
	return p.layerAs(p.chance(60), a, t, tiles)
}

// layerAs does so; rows of a plain array are aligned, and a partition view has its tiles.
func (p *program) layerAs(plain bool, a *area, t typ, tiles []int) *layer {
	l := &layer{area: a, tile: t, shape: make([]int, len(tiles)), strides: make([]int, len(tiles)), steps: slices.Clone(t.shape), sparse: -1, pointer: a.pointer}
	g := p.generator
	for d, n := range tiles {
		l.shape[d] = max(1, n*t.shape[d]-choose(g, 0, 0, g.r.IntN(t.shape[d])))
		if n == 1 && p.chance(12) {
			l.shape[d] = 1
			p.note("array of extent 1")
		}
	}
	order := make([]int, len(tiles)) // of the dimensions, from the one whose elements lie side by side
	for d := range order {
		order[d] = len(tiles) - 1 - d
	}
	turned := len(tiles) == 2 && p.chance(25)
	if turned {
		slices.Reverse(order)
	}
	stride := 1
	for i, d := range order {
		l.strides[d] = stride
		stride *= l.shape[d]
		pad := (aligned - stride%aligned) % aligned
		if !plain {
			pad = choose(g, 0, 0, pad, pad, 1+g.r.IntN(5))
		}
		beyond := 1
		for _, e := range order[i+1:] {
			beyond *= l.shape[e]
		}
		if (stride+pad)*beyond <= a.length {
			stride += pad
		}
		if stride%2 == 1 && i+1 < len(order) {
			p.note("odd stride")
		}
	}
	l.look(p, turned, plain)
	return l
}

// look chooses how the program accesses the tiles.
func (l *layer) look(p *program, turned, plain bool) {
	if l.pointers = !plain && p.chance(40); l.pointers {
		p.note("tile of pointers")
		return
	}
	shape, strides, dimMap := l.shape, l.strides, ""
	if turned {
		shape, strides, dimMap = []int{shape[1], shape[0]}, []int{strides[1], strides[0]}, ", dim_map=[1, 0]"
	}
	dynamic, pointer := p.chance(70) && !(plain && p.chance(50)), l.pointer
	if plain && p.chance(70) {
		pointer = p.fresh()
		p.emit("%s = assume div_by<16>, %s : tile<ptr<%s>>", pointer, l.pointer, l.elem)
	}
	view, vt := p.tensorView(pointer, l.elem, shape, strides, dynamic)
	tile := strings.TrimSuffix(dims(l.tile.shape), "x")
	l.at = p.fresh()
	switch {
	case !plain && !turned && len(shape) == 2 && p.chance(16) && l.shape[0]%l.tile.shape[0] == 0:
		p.note("gather")
		l.sparse = 0
		l.kind = fmt.Sprintf("gather_scatter_view<tile=(%s), padding_value = zero, %s, sparse_dim=0>", tile, vt)
		p.emit("%s = make_gather_scatter_view %s : %s", l.at, view, l.kind)
	case !plain && p.chance(16):
		p.note("strided view")
		l.kind = fmt.Sprintf("strided_view<tile=(%s), traversal_strides=[%s], padding_value = zero, %s%s>", tile, strings.ReplaceAll(commas(l.steps), " ", ""), vt, dimMap)
		p.emit("%s = make_strided_view %s : %s", l.at, view, l.kind)
	default:
		l.kind = fmt.Sprintf("partition_view<tile=(%s), padding_value = zero, %s%s>", tile, vt, dimMap)
		p.emit("%s = make_partition_view %s : %s", l.at, view, l.kind)
	}
}

// address is where an element of a tile lies, and whether the array has it. rows are those of a sparse dimension.
func (l *layer) address(at []int, index []int64, rows []int64) (address int, inside bool) {
	inside = true
	for d, k := range at {
		c := int(index[d])*l.steps[d] + k
		if d == l.sparse {
			c = int(rows[k])
		}
		inside = inside && c < l.shape[d]
		address += c * l.strides[d]
	}
	return address, inside
}

// each calls f for the elements of a tile that the array has.
func (l *layer) each(m *machine, index []value, rows value, f func(i, address int)) {
	var place []int64
	for _, v := range index {
		place = append(place, m.one(v))
	}
	base := l.first(m) + l.shift
	over(l.tile.shape, func(i int, at []int) {
		if address, inside := l.address(at, place, m.tiles[rows.name]); inside {
			f(i, base+address)
		}
	})
}

// before is the token that a read comes after: of what has been written, or of other reads, for which that of this one stands from then on. They may be of other
// areas, which are followed.
func (p *program) before(a *area) (token string, followed []*area) {
	var list []string
	if a.written {
		list = []string{a.after}
	}
	chained := 40
	if p.simple {
		chained = 85
	}
	if n := len(a.reads); a.written && n > 0 && p.chance(chained) {
		p.note("read after a read")
		if list = a.reads; n > 1 && p.chance(70) {
			i := max(p.r.IntN(n), p.r.IntN(n))
			list, a.reads = a.reads[i:i+1:i+1], slices.Concat(a.reads[:i], a.reads[i+1:])
		} else {
			a.reads = nil
		}
	}
	for _, b := range p.areas {
		if b != a && len(b.reads) > 0 && (!b.hidden || b.apart) && p.chance(15) {
			p.note("read after a read of another array")
			list, followed = slices.Concat(list, b.reads), append(followed, b)
			b.reads = nil
		}
	}
	if len(list) == 0 {
		return "", nil
	}
	return p.join(list...), followed
}

// loadOrder is how a load is ordered.
func (p *program) loadOrder(l *layer) string {
	switch {
	case p.acquires:
		p.note("acquire load")
		return "acquire " + choose(p.generator, "tl_blk", "device", "sys")
	case p.simple && p.chance(90):
		return "weak"
	}
	order := p.order("acquire", l.elem)
	if strings.HasPrefix(order, "acquire") {
		p.note("acquire load")
	}
	return order
}

// load reads the tile at an index.
func (p *program) load(l *layer, index []value) value {
	v, after := value{name: p.fresh(), typ: l.tile, bound: l.limit}, p.fresh()
	token, followed := p.before(l.area)
	var rows value
	if l.pointers {
		ptr, pt, mask, maskType := p.pointersOf(l, index)
		clause := ""
		if mask != "" {
			clause = ", " + mask + ", " + p.number(l.tile, 0).name
			maskType += ", " + l.tile.String()
		}
		p.emit("%s, %s = load_ptr_tko %s %s%s%s : %s%s -> %s, token", v.name, after, p.loadOrder(l), ptr, clause, tokenClause(token), pt, maskType, l.tile)
	} else {
		var at, types string
		rows, at, types = p.indexClause(l, index)
		p.emit("%s, %s = load_view_tko %s %s[%s]%s : %s, %s -> %s, token", v.name, after, p.loadOrder(l), l.at, at, tokenClause(token), l.kind, types, l.tile)
	}
	if l.written {
		l.reads, l.latest = append(l.reads, after), append(l.latest, after)
		p.note("load of memory that is written")
	}
	for _, a := range followed {
		a.reads = append(a.reads, after)
	}
	p.do(func(m *machine) {
		out, from := make([]int64, l.tile.n()), m.memory[l.param]
		if l.named != nil {
			from = m.memory[l.named(m)]
		}
		l.each(m, index, rows, func(i, address int) { out[i] = from[address] })
		m.tiles[v.name] = out
	})
	return v
}

// store writes a tile at an index.
func (p *program) store(v value, l *layer, index []value) {
	v = p.within(v, l.limit)
	after := p.fresh()
	var rows value
	before := p.join(l.all()...)
	if l.pointers {
		ptr, pt, mask, maskType := p.pointersOf(l, index)
		if mask != "" {
			mask = ", " + mask
		}
		p.emit("%s = store_ptr_tko %s %s, %s%s token=%s : %s, %s%s -> token", after, p.order("release", l.elem), ptr, v.name, mask, before, pt, v.typ, maskType)
	} else {
		var at, types string
		rows, at, types = p.indexClause(l, index)
		p.emit("%s = store_view_tko %s %s, %s[%s] token=%s : %s, %s, %s -> token", after, p.order("release", l.elem), v.name, l.at, at, before, v.typ, l.kind, types)
	}
	l.after, l.reads = after, nil
	p.do(func(m *machine) {
		in := m.tiles[v.name]
		l.each(m, index, rows, func(i, address int) { m.memory[l.param][address] = in[i] })
	})
}

// indexClause writes an index of a view in one integer type, with the rows of a sparse dimension.
func (p *program) indexClause(l *layer, index []value) (rows value, text, types string) {
	var bounds []int
	for _, v := range index {
		bounds = append(bounds, v.bound)
	}
	elem := p.unsigned(append(bounds, 0))
	if l.sparse >= 0 {
		return p.sparseClause(l, index)
	}
	if elem != "i32" {
		p.note("index of " + elem)
	}
	var names []string
	for _, v := range index {
		names = append(names, p.unsignedAs(v, elem).name)
	}
	return value{}, joined(names), scalar(elem).String()
}

// sparseClause names the rows of a tile one by one, in another order; the other index is that of an element.
func (p *program) sparseClause(l *layer, index []value) (rows value, text, types string) {
	s, n := scalar("i32"), l.tile.shape[0]
	t := typ{"i32", []int{n}}
	line := p.makes(t, n-1, nil, func(_ [][]int64, out []int64) {
		for i := range out {
			out[i] = int64(i)
		}
	}, "iota : %s", t)
	turn := p.r.IntN(n)
	flip := p.constantOf(t, turn)
	rows = p.elementwise(t, n-1, []value{line, flip}, func(x []int64) int64 { return x[0] ^ x[1] }, "xori %s, %s : %s", line.name, flip.name, t)
	start := p.combine(pairOps[2], p.unsignedAs(index[0], "i32"), p.constantOf(s, n))
	rows = p.combine(pairOps[0], rows, p.widened(start, t.shape))
	column := p.combine(pairOps[2], p.unsignedAs(index[1], "i32"), p.constantOf(s, l.tile.shape[1]))
	return rows, rows.name + ", " + column.name, t.String() + ", " + s.String()
}

// unsignedAs is a number, never negative, in another integer type that has it.
func (p *program) unsignedAs(v value, elem string) value {
	text := "trunci %s"
	switch {
	case v.elem == elem:
		return v
	case widths[v.elem] < widths[elem]:
		text = "exti %s unsigned"
	}
	return p.elementwise(scalar(elem), v.bound, []value{v}, func(x []int64) int64 { return x[0] }, "%s : %s -> %s", fmt.Sprintf(text, v.name), v.typ, scalar(elem))
}

// pointersOf are the pointers of a tile, with a mask where the array may end inside of it.
func (p *program) pointersOf(l *layer, index []value) (ptr, kind, mask, maskType string) {
	t := typ{"i32", l.tile.shape}
	var sum value
	for d := range t.shape {
		line, _ := p.along(d, t.shape)
		start := p.define(scalar("i32"), "muli %s, %s : tile<i32>", p.unsignedAs(index[d], "i32").name, p.number(scalar("i32"), l.steps[d]).name)
		c := p.define(t, "addi %s, %s : %s", line.name, p.broadcast(start, t.shape).name, t)
		if l.shape[d]%l.steps[d] != 0 || p.chance(30) {
			end := p.broadcast(value{name: p.knownI32(l.shape[d]), typ: scalar("i32")}, t.shape)
			in := p.define(t.with("i1"), "cmpi less_than %s, %s, signed : %s -> %s", c.name, end.name, t, t.with("i1"))
			if mask != "" {
				in = p.define(in.typ, "andi %s, %s : %s", mask, in.name, in.typ)
			}
			mask, maskType = in.name, ", "+in.typ.String()
		}
		if l.strides[d] != 1 {
			by := p.broadcast(value{name: p.knownI32(l.strides[d]), typ: scalar("i32")}, t.shape)
			c = p.define(t, "muli %s, %s : %s", c.name, by.name, t)
		}
		if d > 0 {
			c = p.define(t, "addi %s, %s : %s", sum.name, c.name, t)
		}
		sum = c
	}
	ptr, kind = p.generator.pointers(l.pointer, l.elem, sum)
	return ptr, kind, mask, maskType
}
