package random

import (
	"fmt"
	"strings"
)

// Tally counts what a module has of products in loops.
type Tally struct {
	Products int // in loops along K
	Ragged   int // those that run, of which an array ends inside a tile
	Pointers int // those of which an operand is read through a tile of pointers
	Masked   int // and under a mask
	Chains   int // loops in which one product takes what is computed with another
	Both     int // and both multiply by the same tiles
}

// matmul is a product in a loop along K, its operands read there: what most kernels are made of.
func (g *generator) matmul() { g.loopAlongK(false) }

// raggedProduct is a product in a loop whose arrays end inside a tile.
func (g *generator) raggedProduct() { g.loopAlongK(true) }

// tensorRows is M of a product of the tensor unit, with at most maxElements of a result.
const tensorRows = 128

// loopAlongK makes a product in a loop, if ragged one that runs and of which an array ends inside a tile.
func (g *generator) loopAlongK(ragged bool) {
	if g.depth >= g.maxNesting {
		return
	}
	p := products[g.r.IntN(len(products))]
	m, n, k := 16<<g.r.IntN(3), 16<<g.r.IntN(3), 16<<g.r.IntN(2)
	switch g.r.IntN(8) { // as many rows, or columns, as an instruction of the tensor unit has, or a narrow right factor
	case 0:
		m = tensorRows
	case 1:
		n = tensorRows
	case 2:
		n = 1 << g.r.IntN(4)
	}
	rounds := choose(g, 0, 1, 2, 3, 4, 5, 8) // as many as a ring of slots has, one less, one more
	if ragged {
		rounds = max(rounds, 1)
	}
	for max(m, n)*(rounds*k+8) > elements {
		rounds--
	}
	t, elem := typ{p[1], []int{m, n}}, p[0]
	if elem == "tf32" {
		elem = choose(g, "f32", "f32", "bf16", "f16") // in memory; the loop rounds it, or widens it
	}
	if bound := 16 * k * max(rounds, 1); !inMemory(elem) || !g.elemEnabled(elem) || !holds(p[1], bound) {
		return
	}
	end := func(whole, tile int) int { return whole - choose(g, 0, g.r.IntN(tile)) }
	deepLeft, deepRight := end(k*max(rounds, 1), k), end(k*max(rounds, 1), k)
	if ragged {
		deepLeft = k*rounds - 1 - g.r.IntN(k-1)
	}
	rows, columns := end(m, m), end(n, n)
	left, right := g.matrix(elem, []int{m, k}, []int{rows, deepLeft}, 1), g.matrix(elem, []int{k, n}, []int{deepRight, columns}, 0)
	g.tally.Products++
	if rounds > 0 && (rows < m || columns < n || deepLeft < k*rounds || deepRight < k*rounds) {
		g.tally.Ragged++
	}
	g.accumulateAlongK(left, right, p[0], rounds, g.number(t, 0))
	last := &g.values[len(g.values)-1]
	last.bound = 16 * k * max(rounds, 1)
	g.shapes = append(g.shapes, t.shape)
}

// iterated is what a loop carries.
type iterated struct{ name, init, typ, next string }

// accumulateAlongK writes the loop that adds the products of two matrices, as elements of a type.
func (g *generator) accumulateAlongK(left, right *matrix, elem string, rounds int, acc value) {
	g.overMatrices([]*matrix{left, right}, rounds, acc, func(read []value, sum string) string {
		for i, x := range read {
			if x.elem != elem {
				read[i] = g.convert(x, elem)
			}
		}
		return g.addProduct(read[0], read[1], sum, acc.typ).name
	})
}

// addProduct adds a product to a sum.
func (g *generator) addProduct(x, y value, sum string, t typ) value {
	op, signs := "mmaf", ""
	if isInt(x.elem) {
		op, signs = "mmai", " signed signed"
	}
	return g.define(t, "%s %s, %s, %s%s : %s, %s, %s", op, x.name, y.name, sum, signs, x.typ, y.typ, t)
}

// overMatrices writes a loop that reads a tile of each matrix and makes a new sum of them; the last sum is the newest value after it.
func (g *generator) overMatrices(matrices []*matrix, rounds int, acc value, body func(read []value, sum string) string) {
	sums := g.sumsOverMatrices(matrices, rounds, []value{acc}, func(read []value, sums []string) []string { return []string{body(read, sums[0])} })
	g.markSum(sums[0])
}

// sumsOverMatrices does so for several sums.
func (g *generator) sumsOverMatrices(matrices []*matrix, rounds int, accs []value, body func(read []value, sums []string) []string) (sums []value) {
	s := scalar("i32")
	lower, step, upper := g.number(s, 0), g.number(s, 1), value{name: g.knownI32(rounds), typ: s}
	i := g.fresh()
	var list []*iterated
	var names []string
	for _, acc := range accs {
		names = append(names, g.fresh())
		list = append(list, &iterated{name: names[len(names)-1], init: acc.name, typ: acc.typ.String()})
	}
	at := i
	if g.chance(30) { // the index is a value of its own, not the counter
		at = g.fresh()
		list = append(list, &iterated{name: at, init: lower.name, typ: s.String()})
	}
	for _, x := range matrices {
		if x.carried {
			first := x.at
			x.at = g.fresh()
			list = append(list, &iterated{name: x.at, init: first, typ: x.kind})
		}
	}
	column := func(f func(*iterated) string) string { return columnOf(list, f) }
	types := column(func(x *iterated) string { return x.typ })
	v := g.fresh()
	g.emit("%s = for %s in (%s to %s, step %s) : %s iter_values(%s) -> (%s) {", binder(v, len(list)), i, lower.name, upper.name, step.name, s,
		column(func(x *iterated) string { return x.name + " = " + x.init }), types)
	g.scope(func() {
		g.token = "" // none goes through this loop, so nothing would order one round's accesses after those of the round before
		var read []value
		for _, x := range matrices {
			read = append(read, g.readMatrix(x, at))
		}
		for n, next := range body(read, names) {
			list[n].next = next
		}
		if g.chance(30) {
			g.statements(2)
		}
		more := list[len(accs):]
		if at != i {
			more[0].next = g.define(s, "addi %s, %s : %s", at, step.name, s).name
			more = more[1:]
		}
		for _, x := range matrices {
			if x.carried {
				more[0].next = g.move(x, x.at, g.number(s, x.step))
				more = more[1:]
			}
		}
		g.emit("continue %s : %s", column(func(x *iterated) string { return x.next }), types)
	})
	g.emit("}")
	return resultsNamed(v, len(list), accs)
}

// resultsNamed are the first of so many results of an operation, in the types of these.
func resultsNamed(name string, n int, like []value) (vals []value) {
	for i, x := range like {
		r := name
		if n > 1 {
			r = fmt.Sprintf("%s#%d", name, i)
		}
		vals = append(vals, value{name: r, typ: x.typ})
	}
	return vals
}

// columnOf is one of what a loop carries of each value.
func columnOf(list []*iterated, f func(*iterated) string) string {
	var out []string
	for _, x := range list {
		out = append(out, f(x))
	}
	return joined(out)
}

// markSum notes the result of a loop along K, which is always stored.
func (g *generator) markSum(v value) {
	g.values = append(g.values, v)
	if g.depth == 0 {
		g.sums = append(g.sums, v)
	}
}

// matrix is small integers in memory, of which a loop along one dimension reads a tile a round: a view, or a tile of pointers.
type matrix struct {
	tile typ
	deep int    // the dimension along which the loop goes
	at   string // the view, or the pointers of the first tile, or of this round's
	kind string // its type

	pointers bool
	carried  bool   // the loop moves the pointers on
	step     int    // from round to round, in elements
	hidden   bool   // that it is the same for all elements
	list     string // of pages, of which a round reads one; "" for none
	end      string
	inside   *value // mask of the dimension along which the loop does not go
	padding  string
}

// matrix makes rows of a buffer of small integers, or columns, with an array of a shape.
func (g *generator) matrix(elem string, tile, shape []int, deep int) *matrix {
	strides := []int{shape[1], 1}
	if g.chance(25) {
		strides = []int{shape[1] + 8 - shape[1]%8, 1}
	}
	turned := g.chance(25)
	if turned { // the array lies the other way round
		strides = []int{1, shape[0]}
	}
	x := &matrix{tile: typ{elem, tile}, deep: deep}
	if g.chance(40) {
		g.pointerMatrix(x, shape, strides)
		return x
	}
	dimMap := ""
	if turned {
		shape, strides, dimMap = []int{shape[1], shape[0]}, []int{shape[0], 1}, ", dim_map=[1, 0]"
	}
	view, vt := g.tensorView(g.smallInput(elem), elem, shape, strides, true)
	x.kind = fmt.Sprintf("partition_view<tile=(%s), padding_value = zero, %s%s>", strings.TrimSuffix(dims(tile), "x"), vt, dimMap)
	x.at = g.fresh()
	g.emit("%s = make_partition_view %s : %s", x.at, view, x.kind)
	return x
}

// pointerMatrix makes the pointers of the first tile and what of their mask no round changes.
func (g *generator) pointerMatrix(x *matrix, shape, strides []int) {
	x.pointers, x.carried, x.hidden = true, g.chance(60), g.chance(20)
	tile := x.tile.shape
	t := typ{"i32", tile}
	stride := func(d int) string { // known to the compiler or not
		s := scalar("i32")
		return g.broadcast(value{name: g.knownI32(strides[d]), typ: s}, tile).name
	}
	var index value
	for d := range tile {
		v, _ := g.along(d, tile)
		if strides[d] != 1 || g.chance(20) {
			v = g.define(t, "muli %s, %s : %s", v.name, stride(d), t)
		}
		if d > 0 {
			v = g.define(t, "addi %s, %s : %s", index.name, v.name, t)
		}
		index = v
	}
	x.at, x.kind = g.pointers(g.smallInput(x.tile.elem), x.tile.elem, index)
	x.step = tile[x.deep] * strides[x.deep]
	whole := shape[1-x.deep] == tile[1-x.deep]
	if !whole || g.chance(50) {
		m := g.lessThan(1-x.deep, tile, value{name: g.knownI32(shape[1-x.deep]), typ: scalar("i32")})
		x.inside = &m
	}
	if shape[x.deep]%tile[x.deep] != 0 || g.chance(50) {
		x.end = g.knownI32(shape[x.deep])
	}
	n := 0
	if g.chance(20) {
		n = 3
	}
	x.padding = g.number(x.tile, n).name
	if g.chance(20) {
		x.list = g.smallInput("i32")
	}
	g.tally.Pointers++
	if x.inside != nil || x.end != "" {
		g.tally.Masked++
	}
}

// lessThan is a mask of the elements whose place along a dimension is less than a number.
func (g *generator) lessThan(d int, shape []int, end value) value {
	v, _ := g.along(d, shape)
	b := v.typ.with("i1")
	return g.define(b, "cmpi less_than %s, %s, signed : %s -> %s", v.name, g.broadcast(end, shape).name, v.typ, b)
}

// move is pointers so many elements further.
func (g *generator) move(x *matrix, at string, by value) string {
	by = g.broadcast(by, x.tile.shape)
	if x.hidden {
		v, _ := g.along(0, x.tile.shape)
		none := g.define(v.typ, "muli %s, %s : %s", v.name, g.broadcast(value{name: g.knownI32(0), typ: scalar("i32")}, v.shape).name, v.typ)
		by = g.define(by.typ, "addi %s, %s : %s", by.name, none.name, by.typ)
	}
	moved := g.fresh()
	g.emit("%s = offset %s, %s : %s, %s -> %s", moved, at, by.name, x.kind, by.typ, x.kind)
	return moved
}

// readMatrix reads the tile of a round.
func (g *generator) readMatrix(x *matrix, round string) value {
	s := scalar("i32")
	v := value{name: g.fresh(), typ: x.tile, bound: 4}
	if !x.pointers {
		at := []string{g.knownI32(0), g.knownI32(0)}
		at[x.deep] = round
		g.emit("%s, %s = load_view_tko %s %s[%s] : %s, tile<i32> -> %s, token", v.name, g.fresh(), g.order("acquire", x.tile.elem), x.at, joined(at), x.kind, x.tile)
		g.values = append(g.values, v)
		return v
	}
	at := x.at
	if !x.carried {
		at = g.move(x, at, g.define(s, "muli %s, %s : %s", round, g.number(s, x.step).name, s))
	}
	if x.list != "" {
		p, page := g.fresh(), g.fresh()
		g.emit("%s = offset %s, %s : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>", p, x.list, round)
		g.emit("%s, %s = load_ptr_tko %s %s : tile<ptr<i32>> -> tile<i32>, token", page, g.fresh(), g.order("acquire", "i32"), p)
		v := g.define(s, "andi %s, %s : %s", page, g.number(s, 3).name, s)
		at = g.move(x, at, g.define(s, "muli %s, %s : %s", v.name, g.number(s, 64).name, s))
	}
	mask := x.inside
	if x.end != "" {
		done := g.define(s, "muli %s, %s : %s", round, g.number(s, x.tile.shape[x.deep]).name, s)
		m := g.lessThan(x.deep, x.tile.shape, g.define(s, "subi %s, %s : %s", x.end, done.name, s))
		if mask != nil {
			m = g.define(m.typ, "andi %s, %s : %s", m.name, mask.name, m.typ)
		}
		mask = &m
	}
	clause, types := "", ""
	if mask != nil {
		clause, types = ", "+mask.name+", "+x.padding, ", "+mask.String()+", "+x.tile.String()
	}
	g.emit("%s, %s = load_ptr_tko %s %s%s : %s%s -> %s, token", v.name, g.fresh(), g.order("acquire", x.tile.elem), at, clause, x.kind, types, x.tile)
	g.values = append(g.values, v)
	return v
}
