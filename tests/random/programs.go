package random

import (
	"slices"
)

// program is a module of which the generator knows by itself what it leaves in memory: each statement is written twice, as text, and as what it does to numbers. All
// elements are integers, also where types are of floats, and so small that no operation rounds: expected values need no interpreter.
type program struct {
	*generator
	steps    []action
	pool     []value // visible tiles, older first
	counters []value // visible scalars, never negative and at most their bound
	layers   []*layer
	areas    []*area
	prepared []prepared
	frames   []*frame
	start    string   // the token before everything
	finally  []func() // what has to be done before the end
	features map[string]int
	simple   bool // what a loop over pieces does is what overlaps best
	acquires bool // a load acquires
}

// note counts something that the program has.
func (p *program) note(what string) { p.features[what]++ }

// programs writes a program, and gives what must be in memory behind it.
func (g *generator) program(size int) *program {
	p := &program{generator: g, features: map[string]int{}, start: g.token}
	for range 2 + g.r.IntN(3) {
		elem := choose(g, "f16", "f16", "bf16", "f32", "f8E4M3FN", "f8E5M2", "i8", "i32", "f64")
		if g.elemEnabled(elem) {
			p.area(elem, g.chance(65), smallest)
		}
	}
	for range g.r.IntN(3) {
		p.prepare()
	}
	for range size {
		p.statement()
	}
	for _, f := range p.finally {
		f()
	}
	p.outputs()
	return p
}

// outputs stores tiles that nobody has stored, the newest first.
func (p *program) outputs() {
	left := 8
	for _, v := range slices.Backward(slices.Clone(p.pool)) {
		if left == 0 {
			return
		}
		if inMemory(v.elem) && v.n() <= half/2 {
			p.result(v)
			left--
		}
	}
}

// result stores a tile in memory of its own.
func (p *program) result(v value) {
	a := p.area(v.elem, true, most(v.elem))
	if len(v.shape) == 0 {
		v = p.reshaped(v, []int{1})
	}
	p.store(v, p.layer(a, v.typ, slices.Repeat([]int{1}, len(v.shape))), p.indexOf(make([]int, len(v.shape))))
}

// indexOf are these numbers.
func (p *program) indexOf(at []int) (index []value) {
	for _, n := range at {
		index = append(index, p.known("i32", n))
	}
	return index
}

// knownNumber is a number that may be anything.
func (p *program) knownNumber(t typ, n int) value {
	if n < 0 || n >= 100 {
		return p.constantOf(t, n)
	}
	return p.known(t.elem, n)
}

// programKinds are the statements of programs with their weights. It is filled by init, because statements are made of statements.
var programKinds []kind[*program]

func init() {
	programKinds = []kind[*program]{
		{14, (*program).arithmetic}, {6, (*program).selection}, {6, (*program).conversionOf}, {8, (*program).movement}, {6, (*program).folding},
		{10, (*program).loading}, {10, (*program).storing}, {5, (*program).product}, {5, (*program).scaledProduct}, {8, (*program).branching}, {8, (*program).counting},
		{16, (*program).alongK}, {3, (*program).early}, {4, (*program).tilesInTurn}, {3, (*program).listed}, {4, (*program).updating}, {3, (*program).adding}, {22, (*program).inPieces}, {8, (*program).overwritten},
	}
}

func (p *program) statements(n int) {
	for range n {
		p.statement()
	}
}

func (p *program) statement() { statementOf(p, p.r, programKinds) }

// found is a visible tile that suits, with a bias to newer ones.
func (p *program) found(suits func(value) bool) (value, bool) {
	var list []value
	for _, v := range p.pool {
		if suits(v) {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		return value{}, false
	}
	return list[max(p.r.IntN(len(list)), p.r.IntN(len(list)))], true
}

func arithmetical(v value) bool {
	return slices.Contains(ints, v.elem) || slices.Contains(floats, v.elem)
}

// operandOf is a tile of a type: a visible one, one that is read, or one made of the numbers of its elements.
func (p *program) operandOf(t typ) value {
	if v, ok := p.found(func(v value) bool { return v.is(t) }); ok && p.chance(70) {
		return v
	}
	if v, ok := p.found(func(v value) bool { return v.elem == t.elem && broadcastable(v.shape, t.shape) }); ok && p.chance(60) {
		return p.widened(v, t.shape)
	}
	if v, ok := p.found(func(v value) bool { return v.elem != t.elem && slices.Equal(v.shape, t.shape) }); ok && p.chance(60) {
		return p.cast(v, t.elem)
	}
	if inMemory(t.elem) && len(t.shape) > 0 && p.chance(60) {
		return p.loaded(t)
	}
	return p.numbered(t)
}

// numbered is a tile whose elements follow from their places.
func (p *program) numbered(t typ) value {
	if len(t.shape) == 0 {
		return p.constantOf(t, p.r.IntN(5)-2)
	}
	dim := p.r.IntN(len(t.shape))
	n := t.shape[dim]
	line := typ{"i32", []int{n}}
	v := p.makes(line, n-1, nil, func(_ [][]int64, out []int64) {
		for i := range out {
			out[i] = int64(i)
		}
	}, "iota : %s", line)
	mask := p.constantOf(line, 3)
	v = p.elementwise(line, 3, []value{v, mask}, func(x []int64) int64 { return x[0] & x[1] }, "andi %s, %s : %s", v.name, mask.name, line)
	shape := slices.Repeat([]int{1}, len(t.shape))
	shape[dim] = n
	return p.cast(p.widened(p.reshaped(v, shape), t.shape), t.elem)
}

// shapeOfTiles is a shape of a few elements to a few thousand.
func (p *program) shapeOfTiles() []int {
	if p.chance(15) {
		return []int{1 << p.r.IntN(11)}
	}
	if p.chance(10) {
		return []int{1 << p.r.IntN(3), 1 << p.r.IntN(5), 1 << p.r.IntN(5)}
	}
	return []int{1 << p.r.IntN(7), 1 << p.r.IntN(7)}
}

// loaded reads a tile of a type from memory.
func (p *program) loaded(t typ) value { return p.load(p.layerFor(t, false)) }

// layerFor is an array with tiles of a type, and which of them to access now.
func (p *program) layerFor(t typ, write bool) (*layer, []value) {
	suits := func(l *layer) bool {
		return l.tile.is(t) && !l.hidden && l.limit <= smallest && (!write || l.written && !l.readOnly)
	}
	if i := slices.IndexFunc(p.layers, suits); i >= 0 && p.chance(60) {
		p.note("view used again")
		return p.layers[i], p.indexIn(p.layers[i])
	}
	a := p.areaOf(t.elem, write)
	if a == nil {
		a = p.area(t.elem, write, smallest)
	}
	l := p.layer(a, t, p.tilesFor(t, a.length))
	p.layers = append(p.layers, l)
	return l, p.indexIn(l)
}

// tilesFor is how many tiles an array has that fits into so many elements.
func (p *program) tilesFor(t typ, length int) []int {
	tiles := slices.Repeat([]int{1}, len(t.shape))
	d := p.r.IntN(len(tiles))
	tiles[d] = choose(p.generator, 1, 2, 3, 5)
	if p.chance(10) { // so many that a number of 8 bits shows its sign
		tiles[d] = 130 + p.r.IntN(100)
	}
	tiles[d] = max(1, min(tiles[d], length/2/t.n()))
	return tiles
}

// indexIn is an index of a tile: numbers, or what counters say.
func (p *program) indexIn(l *layer) (index []value) {
	for d := range l.tile.shape {
		index = append(index, p.below(l.tiles(d)))
	}
	return index
}

// below is a scalar less than n that is not negative.
func (p *program) below(n int) value {
	if len(p.counters) == 0 || n == 1 && p.chance(80) || p.chance(25) {
		return p.known("i32", p.r.IntN(n))
	}
	v := p.unsignedAs(choose(p.generator, p.counters...), "i32")
	if v.bound < n {
		return v
	}
	return p.elementwise(scalar("i32"), n-1, []value{v, p.constantOf(scalar("i32"), n)}, func(x []int64) int64 { return x[0] % x[1] },
		"remi %s, %s signed : tile<i32>", v.name, p.number(scalar("i32"), n).name)
}
