package random

import "slices"

// factors are the types and the extents of a product that is summed over so many rounds.
type factors struct {
	elem, memory string // of the factors in the instruction, and where they lie
	sum          typ
	m, n, k      int
	rounds       int
}

// factors chooses them, so that no sum rounds; false if this module has none.
func (p *program) factors() (factors, bool) {
	g := p.generator
	pair := choose(g, products...)
	f := factors{elem: pair[0], memory: pair[0], m: 16 << g.r.IntN(3), n: 8 << g.r.IntN(4), k: 16 << g.r.IntN(3), rounds: choose(g, 0, 1, 2, 3, 4, 5, 7, 9)}
	if p.chance(15) {
		f.m = tensorRows
	}
	if p.chance(12) {
		f.n = 1 << g.r.IntN(3)
	}
	if f.elem == "tf32" {
		f.memory = choose(g, "f32", "f32", "bf16", "f16")
	}
	f.sum = typ{pair[1], []int{f.m, f.n}}
	for f.rounds > 1 && !f.fits() {
		f.rounds--
	}
	return f, p.elemEnabled(f.elem) && f.fits()
}

func (f factors) fits() bool {
	rounds := max(1, f.rounds)
	return smallest*smallest*f.k*rounds*2 <= most(f.sum.elem) && max(f.m, f.n)*f.k*rounds <= half/2
}

// factorIn is memory for a factor, which the program may write elsewhere.
func (p *program) factorIn(elem string) *area {
	if a := p.areaOf(elem, false); a != nil && p.chance(75) {
		if a.written {
			p.note("factor from memory that is written")
		}
		return a
	}
	return p.area(elem, false, smallest)
}

// asFactor is what is read, as an operand of the instruction; at times threads compute it first.
func (p *program) asFactor(x value, f factors) value {
	if slices.Contains(floats, x.elem) && p.chance(15) {
		p.note("factor that threads compute")
		x = p.combine(pairOps[choose(p.generator, 3, 4)], x, p.constantOf(x.typ, p.r.IntN(3)-1))
	}
	return p.cast(p.within(x, smallest), f.elem)
}

// product is one product, of anything of the right types.
func (p *program) product() {
	f, ok := p.factors()
	if !ok {
		return
	}
	batch := []int{}
	if p.chance(20) && max(f.m*f.n, f.m*f.k, f.k*f.n) <= maxElements/4 {
		batch = []int{2}
	}
	in := func(rows, columns int) value {
		t := typ{f.memory, slices.Concat(batch, []int{rows, columns})}
		if p.chance(25) && len(batch) == 0 {
			t.shape = []int{columns, rows}
			return p.asFactor(p.permuted(p.operandOf(t), []int{1, 0}), f)
		}
		return p.asFactor(p.operandOf(t), f)
	}
	f.sum.shape = slices.Concat(batch, f.sum.shape)
	acc := p.constantOf(f.sum, 0)
	if p.chance(50) {
		acc = p.within(p.operandOf(f.sum), smallest)
	}
	p.note("product of " + f.elem + " in " + f.sum.elem)
	p.keep(p.productOf(in(f.m, f.k), in(f.k, f.n), acc))
}

// scaledOf is how many elements along K have one scale, and the format of scales, for an element type.
type scaledOf struct {
	elem, format string
	block        int
}

var scaledTypes = []scaledOf{{"f8E4M3FN", "f8E8M0FNU", 32}, {"f8E5M2", "f8E8M0FNU", 32}, {"f4E2M1FN", "f8E8M0FNU", 32}, {"f4E2M1FN", "f8E8M0FNU", 16}, {"f4E2M1FN", "f8E4M3FN", 16}}

// scaledProduct is a sum of one or more products with scales, alone or in a loop.
func (p *program) scaledProduct() {
	if !p.enabled(F8) || !p.enabled(F4) {
		return
	}
	g := p.generator
	s := choose(g, scaledTypes...)
	f := factors{elem: s.elem, memory: s.elem, m: choose(g, 16, 64, tensorRows, tensorRows), n: choose(g, 8, 32, 64, tensorRows), k: choose(g, 32, 64, 128), rounds: choose(g, 1, 2, 3)}
	for max(f.m, f.n)*f.k*f.rounds > half/2 {
		if f.rounds--; f.rounds == 0 {
			f.k, f.rounds = f.k/2, 1
		}
	}
	f.sum = typ{"f32", []int{f.m, f.n}}
	terms := 1 + g.r.IntN(2)
	if terms > 1 {
		p.note("sum of several scaled products")
	}
	p.note("scaled product of " + s.elem)
	var read [][]*layer
	for range terms {
		read = append(read, p.scaledLayers(s, f))
	}
	limit := terms * smallest * smallest * 2 * 2 * f.k * f.rounds
	sums := p.repeat(span{elem: "i32", step: 1, times: f.rounds}, []value{p.constantOf(f.sum, 0)}, []int{limit}, func(round value, args []value) []value {
		acc, zero := args[0], p.known("i32", 0)
		for _, l := range read {
			if slices.ContainsFunc(l, func(l *layer) bool { return l.hidden }) {
				continue
			}
			x, y := p.load(l[0], []value{zero, round}), p.load(l[1], []value{round, zero})
			a, b := p.load(l[2], []value{zero, round}), p.load(l[3], []value{round, zero})
			acc = p.productOf(p.cast(x, s.elem), p.cast(y, s.elem), acc, p.scalesOf(a, s.format), p.scalesOf(b, s.format))
			acc.bound = limit
		}
		return []value{acc}
	})
	p.pool = append(p.pool, sums...)
}

// scaledLayers are the factors of a scaled product, and the codes of their scales.
func (p *program) scaledLayers(s scaledOf, f factors) (list []*layer) {
	memory := s.elem
	if !inMemory(memory) {
		memory = "f16"
	}
	for _, x := range []struct {
		elem    string
		m, n, k int
	}{{memory, f.m, f.n, f.k}, {"i8", f.m, f.n, f.k / s.block}} {
		list = append(list, p.layer(p.factorIn(x.elem), typ{x.elem, []int{x.m, x.k}}, []int{1, f.rounds}), p.layer(p.factorIn(x.elem), typ{x.elem, []int{x.k, x.n}}, []int{f.rounds, 1}))
	}
	return list
}

// scalesOf are scales of 1 or 2.
func (p *program) scalesOf(x value, format string) value {
	one, step := 127, 1 // the code of 1, and how much further that of 2 is
	if format == "f8E4M3FN" {
		one, step = 0x38, 8
	}
	mask, base := p.constantOf(x.typ, step), p.constantOf(x.typ, one)
	if step == 8 { // bit 3 of a small number is its sign
		p.note("scales of f8E4M3FN")
	}
	v := p.elementwise(x.typ, step, []value{x, mask}, func(x []int64) int64 { return x[0] & x[1] }, "andi %s, %s : %s", x.name, mask.name, x.typ)
	v = p.elementwise(x.typ, one+step, []value{v, base}, func(x []int64) int64 { return x[0] + x[1] }, "addi %s, %s : %s", v.name, base.name, x.typ)
	t := x.typ.with(format)
	return p.elementwise(t, 2, []value{v}, func(x []int64) int64 { return 1 + flag(x[0] != int64(one)) }, "bitcast %s : %s -> %s", v.name, v.typ, t)
}

// prepared is arrays that are made at the beginning, for sums anywhere.
type prepared struct {
	factors
	x, y *layer
}

func (p *program) prepare() {
	if f, ok := p.factors(); ok {
		x, y := p.layersOf(f, p.chance(80))
		p.prepared = append(p.prepared, prepared{f, x, y})
	}
}

// layersOf are arrays for the factors of a sum.
func (p *program) layersOf(f factors, plain bool) (x, y *layer) {
	rounds := max(1, f.rounds)
	x = p.layerAs(plain, p.factorIn(f.memory), typ{f.memory, []int{f.m, f.k}}, []int{1, rounds})
	return x, p.layerAs(plain, p.factorIn(f.memory), typ{f.memory, []int{f.k, f.n}}, []int{rounds, 1})
}

// alongK is a sum of products in a loop along K.
func (p *program) alongK() {
	if p.depth > maxDepth {
		return
	}
	f, ok := p.factors()
	var x, y *layer
	switch {
	case len(p.prepared) > 0 && p.chance(60):
		p.note("arrays made at the beginning")
		made := choose(p.generator, p.prepared...)
		f, x, y = made.factors, made.x, made.y
	case !ok:
		return
	default:
		x, y = p.layersOf(f, p.chance(60))
	}
	zero := p.known("i32", 0)
	p.pool = append(p.pool, p.sumAlong(f, x, y, zero, zero)...)
	if p.chance(30) && p.depth <= 1 {
		p.note("two loops over the same arrays")
		p.pool = append(p.pool, p.sumAlong(f, x, y, zero, zero)...)
	}
}

// sumAlong is a loop along K that sums up products of the tiles of a row and a column, in one of many forms.
func (p *program) sumAlong(f factors, x, y *layer, row, column value) []value {
	if x.hidden || y.hidden {
		return nil
	}
	g := p.generator
	n := 1 + g.r.IntN(2)*g.r.IntN(2)
	limit := smallest * smallest * f.k * max(1, f.rounds)
	acc := p.constantOf(f.sum, 0)
	if p.chance(20) && limit+smallest <= most(f.sum.elem) {
		p.note("sum that begins with a tile")
		acc, limit = p.within(p.operandOf(f.sum), smallest), limit+smallest
	}
	inits, limits := slices.Repeat([]value{acc}, n), slices.Repeat([]int{limit}, n)
	w := &sumLoop{program: p, factors: f, x: x, y: y, row: row, column: column, limit: limit, sums: n, branched: p.chance(15), swapped: n == 2 && p.chance(60),
		flipped: p.chance(20), ahead: p.chance(20), made: y.named == nil && p.chance(15)}
	if p.chance(15) {
		w.chain()
	}
	if w.ahead {
		inits, limits = append(inits, w.readLeft(p.known("i32", 0))), append(limits, smallest)
	}
	p.tally.Products++
	p.note("sum of products of " + f.elem + " in " + f.sum.elem)
	s := span{elem: "i32", step: 1, times: f.rounds}
	if p.chance(35) {
		s = p.spanOf(f.rounds)
	}
	return p.repeat(s, inits, limits, w.round)[:n]
}

// sumLoop is the form of one such loop.
type sumLoop struct {
	*program
	factors
	x, y        *layer
	row, column value
	limit, sums int
	branched    bool // in some rounds there is no product
	swapped     bool // sums change places from round to round
	flipped     bool // rows change their sign
	ahead       bool // a round has its left tile from the one before
	made        bool // a round makes the right array
	scores      func(left, round value) value
}

// chain makes the left factor what comes of the left tile by another product, as in attention.
func (w *sumLoop) chain() {
	f := w.factors
	if f.elem != f.memory || !slices.Contains(floats, f.elem) || f.k*f.k*max(1, f.rounds) > half/2 {
		return
	}
	between := factors{elem: f.elem, memory: f.memory, sum: typ{"f32", []int{f.m, f.k}}, m: f.m, n: f.k, k: f.k}
	if f.elem == "f64" {
		between.sum.elem = "f64"
	}
	keys := w.layer(w.factorIn(f.memory), typ{f.memory, []int{f.k, f.k}}, []int{1, max(1, f.rounds)})
	zero, none := w.known("i32", 0), w.constantOf(between.sum, 0)
	w.scores = func(left, round value) value {
		if keys.hidden {
			return left
		}
		w.note("product of a product")
		s := w.productOf(w.asFactor(left, between), w.asFactor(w.load(keys, []value{zero, round}), between), none)
		if w.chance(40) {
			row := w.reduced(s, 1)
			s = w.combine(pairOps[1], s, w.widened(w.reshaped(row, []int{f.m, 1}), s.shape))
		}
		return w.cast(w.within(s, smallest), f.memory)
	}
}

func (w *sumLoop) readLeft(round value) value { return w.load(w.x, []value{w.row, round}) }

// round is one; the arrays may be hidden in it, which makes it a round without a product.
func (w *sumLoop) round(round value, args []value) []value {
	sums := slices.Clone(args[:w.sums])
	if w.x.hidden || w.y.hidden {
		w.note("loop that may not read")
		return args
	}
	if w.chance(15) {
		w.early()
	}
	var left value
	if left = args[len(args)-1]; !w.ahead {
		left = w.readLeft(round)
	}
	y, factor := w.y, left
	if w.made {
		w.note("array made in a loop")
		y = w.layer(y.area, y.tile, []int{max(1, w.rounds), y.tiles(1)})
	}
	if w.scores != nil {
		factor = w.scores(left, round)
	}
	a, b := w.asFactor(factor, w.factors), w.asFactor(w.load(y, []value{round, w.column}), w.factors)
	for i := range sums {
		add := func(to value) value {
			v := w.productOf(a, b, to)
			v.bound = w.limit
			return v
		}
		switch {
		case i > 0 && w.chance(50):
			continue
		case w.branched:
			w.note("product in a branch")
			to := sums[i]
			sums[i] = w.either(w.condition(), []typ{to.typ}, []int{w.limit}, func() []value { return []value{add(to)} }, func() []value { return []value{to} })[0]
		default:
			sums[i] = add(sums[i])
		}
	}
	if w.flipped {
		w.note("sums that are rescaled")
		sums[0] = w.flip(sums[0])
	}
	if w.swapped {
		w.note("sums that change places")
		sums[0], sums[1] = sums[1], sums[0]
	}
	if w.chance(25) {
		w.statements(1 + w.r.IntN(2))
	}
	if !w.ahead {
		return sums
	}
	return append(sums, w.readAhead(round, left))
}

// readAhead is the left tile of the next round, where there is one.
func (w *sumLoop) readAhead(round, otherwise value) value {
	if w.x.hidden {
		return otherwise
	}
	w.note("load ahead under a condition")
	one, last := w.constantOf(round.typ, 1), w.constantOf(round.typ, max(w.rounds-1, 0))
	more := w.elementwise(scalar("i1"), 1, []value{round, last}, func(x []int64) int64 { return flag(x[0] < x[1]) }, "cmpi less_than %s, %s, signed : %s -> tile<i1>",
		round.name, last.name, round.typ)
	return w.either(more, []typ{w.x.tile}, []int{smallest}, func() []value {
		if w.x.hidden {
			return []value{otherwise}
		}
		next := w.elementwise(round.typ, max(w.rounds-1, 0), []value{round, one}, func(x []int64) int64 { return x[0] + x[1] }, "addi %s, %s : %s", round.name, one.name, round.typ)
		return []value{w.readLeft(next)}
	}, func() []value { return []value{otherwise} })[0]
}

// flip changes the sign of rows, or of all.
func (w *sumLoop) flip(sum value) value {
	t := typ{sum.elem, []int{sum.shape[0], 1}}
	odd := w.numbered(t)
	signs := w.chosenBy(w.comparison(odd, w.constantOf(t, 2)), w.constantOf(t, -1), w.constantOf(t, 1))
	sum = w.combine(pairOps[2], sum, w.widened(signs, sum.shape))
	sum.bound = w.limit
	return sum
}

// tilesInTurn is a product whose tiles the blocks share: each makes every second one, and stores it.
func (p *program) tilesInTurn() {
	if p.depth > 0 {
		return
	}
	f, ok := p.factors()
	if !ok || f.rounds == 0 {
		return
	}
	g := p.generator
	rows, columns := 1+g.r.IntN(3), 1+g.r.IntN(2)
	for f.m*rows*max(f.k*f.rounds, f.n*columns) > half/2 {
		f.m /= 2
	}
	for f.n*columns*f.k*f.rounds > half/2 {
		f.n /= 2
	}
	f.sum.shape = []int{f.m, f.n}
	out := p.area(f.sum.elem, false, most(f.sum.elem))
	x, y := p.layer(p.factorIn(f.memory), typ{f.memory, []int{f.m, f.k}}, []int{rows, f.rounds}), p.layer(p.factorIn(f.memory), typ{f.memory, []int{f.k, f.n}}, []int{f.rounds, columns})
	z := p.layer(out, f.sum, []int{rows, columns})
	p.note("tiles in turn")
	s := scalar("i32")
	p.repeat(span{elem: "i32", shared: rows * columns, endless: p.chance(40)}, nil, nil, func(t value, _ []value) []value {
		across := p.known("i32", columns)
		row := p.elementwise(s, rows-1, []value{t, across}, func(x []int64) int64 { return x[0] / x[1] }, "divi %s, %s signed : tile<i32>", t.name, across.name)
		column := p.elementwise(s, columns-1, []value{t, across}, func(x []int64) int64 { return x[0] % x[1] }, "remi %s, %s signed : tile<i32>", t.name, across.name)
		if sums := p.sumAlong(f, x, y, row, column); sums != nil {
			p.storeApart(sums[0], z, []value{row, column})
		}
		return nil
	})
}

// storeApart writes a tile to memory that nothing else accesses.
func (p *program) storeApart(v value, l *layer, index []value) {
	after, reads := l.after, l.reads
	l.after = p.start
	p.store(v, l, index)
	l.after, l.reads = after, reads
}

// listed is a loop over problems whose matrices a table of addresses in memory names, as a group of products has them.
func (p *program) listed() {
	if p.depth > 0 {
		return
	}
	f, ok := p.factors()
	if !ok || f.rounds == 0 {
		return
	}
	sources := []*area{p.area(f.memory, false, smallest), p.area(f.memory, false, smallest)}
	table := p.area("i64", true, sumLimit)
	it := scalar("i64")
	place := func(n value) (string, string) { return p.generator.pointers(table.pointer, "i64", n) }
	write := func(n int, address value) {
		at, pt := place(p.number(scalar("i32"), n))
		after := p.fresh()
		p.emit("%s = store_ptr_tko weak %s, %s token=%s : %s, %s -> token", after, at, address.name, p.join(table.all()...), pt, it)
		table.after, table.reads = after, nil
	}
	for n, a := range sources {
		write(n, p.define(it, "ptr_to_int %s : tile<ptr<%s>> -> %s", a.pointer, a.elem, it))
	}
	p.finally = append(p.finally, func() {
		for n := range sources {
			write(n, p.number(it, 0))
		}
		p.do(func(m *machine) {
			for n := range sources {
				m.memory[table.param][int(m.block)*half+n] = 0
			}
		})
	})
	y := p.layer(p.factorIn(f.memory), typ{f.memory, []int{f.k, f.n}}, []int{f.rounds, 1})
	out := p.area(f.sum.elem, true, most(f.sum.elem))
	z := p.layer(out, f.sum, []int{len(sources), 1})
	p.note("addresses from memory")
	zero := p.known("i32", 0)
	p.repeat(span{elem: "i32", step: 1, times: len(sources)}, nil, nil, func(round value, _ []value) []value {
		if table.hidden || out.hidden || y.hidden {
			return nil
		}
		at, pt := place(round)
		address, after, pointer := p.fresh(), p.fresh(), p.fresh()
		p.emit("%s, %s = load_ptr_tko weak %s token=%s : %s -> %s, token", address, after, at, table.after, pt, it)
		table.reads = append(table.reads, after)
		p.emit("%s = int_to_ptr %s : %s -> tile<ptr<%s>>", pointer, address, it, f.memory)
		source := &area{elem: f.memory, pointer: pointer, length: elements, limit: smallest, first: func(*machine) int { return 0 }}
		x := p.layer(source, typ{f.memory, []int{f.m, f.k}}, []int{1, f.rounds})
		source.named = func(m *machine) int { return sources[m.one(round)].param }
		if sums := p.sumAlong(f, x, y, zero, zero); sums != nil && !out.hidden && !out.readOnly {
			p.store(sums[0], z, []value{round, zero})
		}
		return nil
	})
}
