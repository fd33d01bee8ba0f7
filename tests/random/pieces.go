package random

import "slices"

// pieces is a loop whose rounds have a piece each of an array that is written. What a round reads comes after nothing that another one writes, so that it may move ahead, and what
// it writes comes after its reads, after most of them by the tokens of others alone.
type pieces struct {
	*program
	*area
	size, rounds int  // elements of a piece; pieces that the loop has
	skip         int  // pieces in front of them
	simple       bool // views of whole arrays, weak reads, no branches
}

// tiled is a layer over pieces, with how many of its tiles a piece has along each dimension.
type tiled struct {
	*layer
	by    int // the dimension along which pieces lie
	tiles []int
}

// writable is a type of memory that may be written here; false if there is none.
func (p *program) writable() (*area, bool) {
	var list []*area
	for _, a := range p.areas {
		if a.written && !a.hidden && !a.readOnly && a.limit <= smallest {
			list = append(list, a)
		}
	}
	if len(list) == 0 {
		return nil, false
	}
	return choose(p.generator, list...), true
}

// tiledAs lays a view or tiles of pointers over the pieces: in rows of any length that a piece has, from any multiple of shifts on, along any dimension.
func (w *pieces) tiledAs(t typ) tiled {
	p, rank := w.program, len(t.shape)
	turned := rank == 2 && p.chance(25)
	order := []int{rank - 1, 0}[:rank] // of the dimensions, from the one whose elements lie side by side
	if turned {
		order = []int{0, 1}
	}
	side, row := order[0], w.size
	if rank == 2 {
		for row = t.shape[side]; row*2*t.shape[order[1]] <= w.size && p.chance(50); {
			row *= 2
		}
	}
	l := &layer{area: w.area, tile: t, shape: make([]int, rank), strides: make([]int, rank), steps: slices.Clone(t.shape), sparse: -1}
	v := tiled{layer: l, by: order[rank-1], tiles: make([]int, rank)}
	if room := (row - t.shape[side]) / shifts; room > 0 && p.chance(40) {
		p.note("shifted view of a piece")
		l.shift = shifts * (1 + p.r.IntN(room))
	}
	l.pointer = p.shifted(w.area, l.shift)
	l.shape[side], l.strides[side], v.tiles[side] = row-l.shift, 1, (row-l.shift)/t.shape[side]
	if rank == 2 {
		d := order[1]
		l.shape[d], l.strides[d], v.tiles[d] = (w.skip+w.rounds)*w.size/row, row, w.size/row/t.shape[d]
	} else {
		l.shape[0] = (w.skip+w.rounds)*w.size - l.shift
	}
	l.look(p, turned, w.simple || p.chance(60))
	return v
}

// shifts are in so many elements: what is promised of pointers stays true.
const shifts = 64

// shifted points so many elements further.
func (p *program) shifted(a *area, by int) string {
	if by == 0 {
		return a.pointer
	}
	pointer, s := p.fresh(), scalar("i32")
	p.emit("%s = offset %s, %s : tile<ptr<%s>>, %s -> tile<ptr<%s>>", pointer, a.pointer, p.number(s, by).name, a.elem, s, a.elem)
	return pointer
}

// indexIn is one of the tiles of a piece: that of a round, or the first one that the loop does not have.
func (w *pieces) indexIn(v tiled, round *value) (index []value) {
	p := w.program
	for d, n := range v.tiles {
		at := p.r.IntN(n)
		if d != v.by {
			index = append(index, p.known("i32", at))
			continue
		}
		of := w.size / v.steps[d]
		if len(v.tiles) == 2 {
			of = w.size / v.strides[d] / v.steps[d]
		}
		if round == nil {
			index = append(index, p.known("i32", at))
			continue
		}
		s := scalar("i32")
		i := p.unsignedAs(*round, "i32")
		if of > 1 {
			i = p.combine(pairOps[2], i, p.constantOf(s, of))
		}
		if first := w.skip*of + at; first > 0 {
			i = p.combine(pairOps[0], i, p.constantOf(s, first))
		}
		index = append(index, i)
	}
	return index
}

// shape is that of a tile which a piece has.
func (w *pieces) shape() []int {
	n := w.size >> w.r.IntN(3)
	if w.simple {
		n = w.size >> (w.r.IntN(2) * w.r.IntN(2))
	}
	if w.chance(40) {
		return []int{n}
	}
	rows := 1
	for rows < n && w.chance(75) {
		rows *= 2
	}
	return []int{rows, n / rows}
}

// reading is something that each round reads.
type reading struct {
	from   tiled
	sum    value // what the loop adds up with it begins with
	limit  int
	use    func(x, sum value) value
	factor bool
}

// reads chooses what rounds read, and what they do with it.
func (w *pieces) reads() reading {
	p := w.program
	if r, ok := w.factorOf(); ok && p.chance(60) {
		return r
	}
	t := typ{w.elem, w.shape()}
	sum := t
	if smallest*w.rounds > most(t.elem) || !arithmetical(value{typ: t}) {
		sum = t.with("f32")
	}
	r := reading{from: w.tiledAs(t), limit: smallest * w.rounds}
	dim := p.r.IntN(len(t.shape))
	folded := p.chance(30) && smallest*t.shape[dim]*w.rounds <= most(sum.elem)
	if folded {
		r.limit *= t.shape[dim]
		sum.shape = slices.Concat(t.shape[:dim], t.shape[dim+1:])
	}
	r.sum = p.constantOf(sum, 0)
	r.use = func(x, to value) value {
		x = p.cast(x, sum.elem)
		if folded {
			x = p.reduced(x, dim)
		}
		v := p.combine(pairOps[0], to, x)
		v.bound = r.limit
		return v
	}
	return r
}

// factorOf is a read of a factor of a product.
func (w *pieces) factorOf() (reading, bool) {
	p := w.program
	var pairs [][2]string
	for _, pair := range products {
		if pair[0] == w.elem || pair[0] == "tf32" && w.elem == "f32" {
			pairs = append(pairs, pair)
		}
	}
	if len(pairs) == 0 || w.size < 128 {
		return reading{}, false
	}
	pair := choose(p.generator, pairs...)
	k := 16 << p.r.IntN(3)
	other := w.size / k >> p.r.IntN(2) // the extent of the read tile across K
	for ; other > tensorRows; other /= 2 {
	}
	limit := smallest * smallest * k * w.rounds
	if other < 8 || limit > most(pair[1]) || !p.elemEnabled(pair[0]) {
		return reading{}, false
	}
	f := factors{elem: pair[0], memory: w.elem, m: 16 << p.r.IntN(3), n: other, k: k, rounds: w.rounds}
	left := other >= 16 && p.chance(50)
	t, with := typ{w.elem, []int{k, other}}, typ{w.elem, []int{f.m, k}}
	if left {
		f.m, f.n = other, 8<<p.r.IntN(4)
		t.shape, with.shape = []int{other, k}, []int{k, f.n}
	}
	f.sum = typ{pair[1], []int{f.m, f.n}}
	r := reading{from: w.tiledAs(t), sum: p.constantOf(f.sum, 0), limit: limit, factor: true}
	var constant value
	from := (*layer)(nil)
	if p.chance(40) {
		constant = p.asFactor(p.within(p.numbered(with), smallest), f)
	} else {
		from = p.layer(p.factorIn(w.elem), with, []int{1, 1})
	}
	r.use = func(x, to value) value {
		a, b := p.asFactor(x, f), constant
		if from != nil && from.area != w.area && !from.hidden {
			b = p.asFactor(p.load(from, p.indexOf([]int{0, 0})), f)
		} else if from != nil {
			b = p.asFactor(p.constantOf(with, 1), f)
		}
		if !left {
			a, b = b, a
		}
		v := p.productOf(a, b, to)
		v.bound = limit
		return v
	}
	return r, true
}

// inPieces is such a loop. At times a piece that the loop does not have is read in front of it, and written behind it, after that read alone.
func (p *program) inPieces() {
	a, ok := p.writable()
	if !ok || p.depth > maxDepth {
		return
	}
	w := &pieces{program: p, area: a, rounds: choose(p.generator, 1, 2, 3, 4, 4, 5, 8, 9), skip: p.r.IntN(2), size: 64 << p.r.IntN(7), simple: p.chance(60)}
	for (w.skip+w.rounds)*w.size > half {
		w.size /= 2
	}
	p.note("loop over pieces")
	var list []reading
	waits := w.skip > 0 && p.chance(35) // for what stands in front, and for other threads
	if !waits {
		for range choose(p.generator, 1, 2, 2, 3) {
			list = append(list, w.reads())
		}
	}
	var writes []tiled
	for range 1 + p.r.IntN(2)*p.r.IntN(2) {
		writes = append(writes, w.tiledAs(typ{w.elem, w.shape()}))
	}
	outer, first := *a, value{}
	var behind reading
	if w.skip > 0 {
		behind = w.reads()
		first = p.load(behind.from.layer, w.indexIn(behind.from, nil))
		outer = *a
		if waits && p.chance(70) {
			writes = []tiled{w.tiledAs(behind.from.tile)}
		}
	}
	var inits []value
	var limits []int
	for _, r := range list {
		inits, limits = append(inits, r.sum), append(limits, r.limit)
	}
	s := span{elem: "i32", step: 1, times: w.rounds}
	if !w.simple || p.chance(25) {
		s = p.spanOf(w.rounds)
	}
	s.pieces, s.readsMeet = a, p.chance(20)
	sums := p.repeat(s, inits, limits, func(round value, args []value) []value { return w.round(round, args, list, writes, waits) })
	if w.skip > 0 {
		p.note("store behind a loop that does not wait for it")
		inner := *a
		a.after, a.reads = outer.after, outer.reads
		l := w.tiledAs(typ{w.elem, w.shape()})
		p.store(p.within(p.operandFor(a, l.tile), a.limit), l.layer, w.indexIn(l, nil))
		a.after, a.reads = p.join(append(inner.all(), a.after)...), nil
		p.keep(behind.use(first, behind.sum))
	}
	p.pool = append(p.pool, sums...)
}

// operandFor is a tile to write; an area is not read for it.
func (p *program) operandFor(a *area, t typ) value {
	hidden := a.hidden
	a.hidden = true
	v := p.operandOf(t)
	a.hidden = hidden
	return v
}

// round is one.
func (w *pieces) round(round value, args []value, list []reading, writes []tiled, waits bool) []value {
	p, a := w.program, w.area
	sums := slices.Clone(args)
	if !a.apart { // the loop is not the one that has them
		return sums
	}
	if !w.simple && p.chance(15) {
		p.early()
	}
	if w.simple {
		p.simple = true
		defer func() { p.simple = false }()
	}
	if waits || p.chance(10) {
		p.note("acquire load in a loop over pieces")
		p.acquired()
	}
	var read, later []value
	var left []int
	use := func(i int, x value) { sums[i] = list[i].use(x, sums[i]) }
	for i, r := range list {
		x := w.read(r.from, round)
		if read = append(read, x); p.chance(50) {
			use(i, x)
		} else {
			left, later = append(left, i), append(later, x)
		}
	}
	if !w.simple && p.chance(25) {
		p.statements(1)
	}
	for _, l := range writes {
		w.write(l, round, read)
		if len(list) > 0 && p.chance(10) {
			p.note("read behind a write of the piece")
			i := p.r.IntN(len(list))
			if x := w.read(list[i].from, round); !list[i].factor {
				p.keep(x)
			}
		}
	}
	for j, i := range left {
		use(i, later[j])
	}
	return sums
}

// acquired is an element that is read by an acquire load.
func (p *program) acquired() {
	p.acquires = true
	p.keep(p.loaded(typ{choose(p.generator, "i32", "f32", "f16"), []int{1}}))
	p.acquires = false
}

// read is a tile of the round's piece, at times only under a condition.
func (w *pieces) read(l tiled, round value) value {
	p, index := w.program, w.indexIn(l, &round)
	if w.simple || !p.chance(20) {
		return p.load(l.layer, index)
	}
	return p.either(p.condition(), []typ{l.tile}, []int{smallest}, func() []value {
		if !l.apart {
			return []value{p.constantOf(l.tile, 1)}
		}
		p.note("read of a piece in a branch")
		return []value{p.load(l.layer, index)}
	}, func() []value { return []value{p.constantOf(l.tile, 2)} })[0]
}

// write stores a tile in the round's piece, or changes one atomically.
func (w *pieces) write(l tiled, round value, read []value) {
	p, index := w.program, w.indexIn(l, &round)
	v, ok := value{}, false
	for _, x := range read {
		if x.is(l.tile) && p.chance(50) {
			if v, ok = x, true; arithmetical(x) {
				v = p.combine(pairOps[0], x, p.constantOf(x.typ, 1))
			}
		}
	}
	if !ok {
		v = p.operandOf(l.tile)
	}
	v = p.within(v, l.limit)
	write := func() {
		if l.pointers && changesAtomically(l.elem) && p.chance(60) {
			p.note("atomic behind reads of the piece")
			p.update(v, l.layer, index)
			return
		}
		p.note("store behind reads of the piece")
		p.store(v, l.layer, index)
	}
	if w.simple || !p.chance(15) {
		write()
		return
	}
	p.either(p.condition(), []typ{v.typ}, []int{v.bound}, func() []value {
		if l.apart && !l.readOnly {
			p.note("write of a piece in a branch")
			write()
		}
		return []value{v}
	}, func() []value { return []value{v} })
}

// overwritten is a tile that is read in front of a loop which overwrites it, with what follows from it.
func (p *program) overwritten() {
	a, ok := p.writable()
	if p.depth > 1 || !ok && p.depth > 0 {
		return
	}
	if p.depth == 0 && (!ok || p.chance(50)) { // a wide type, whose tiles take many registers
		a = p.area(choose(p.generator, "f32", "i32", "f64"), true, smallest)
	}
	n := half >> (p.r.IntN(3) * p.r.IntN(2))
	p.fewWarps = true
	t := typ{a.elem, []int{n}}
	if p.chance(60) {
		t.shape = []int{n >> 6, 64}
	}
	whole := p.layerAs(true, a, t, slices.Repeat([]int{1}, len(t.shape)))
	x := p.load(whole, p.indexOf(make([]int, len(t.shape))))
	p.note("tile of before a loop that overwrites it")
	elem := a.elem
	if !arithmetical(x) {
		elem = "f32"
	}
	p.repeat(p.spanOf(choose(p.generator, 2, 2, 3)), nil, nil, func(round value, _ []value) []value {
		if a.hidden || a.readOnly {
			return nil
		}
		if p.chance(30) {
			p.keep(p.loaded(typ{a.elem, p.shapeOfTiles()}))
		}
		next := p.combine(pairOps[0], p.unsignedAs(round, "i32"), p.constantOf(scalar("i32"), 1)) // no round stores what was there
		by := p.widened(p.cast(next, elem), t.shape)
		y := p.cast(p.combine(pairOps[p.r.IntN(2)], p.cast(x, elem), by), elem)
		y = p.cast(p.within(y, a.limit), a.elem)
		if p.chance(30) {
			dim := p.r.IntN(len(t.shape))
			y = p.partOf(y, dim, t.shape[dim]/max(1, t.shape[dim]/2), p.known("i32", 0))
		}
		l := whole
		if !y.is(t) || p.chance(30) {
			l = p.layerAs(p.chance(60), a, y.typ, slices.Repeat([]int{1}, len(y.shape)))
		}
		p.store(y, l, p.indexOf(make([]int, len(y.shape))))
		return nil
	})
	if n <= maxElements && p.chance(30) {
		p.keep(x)
	}
}
