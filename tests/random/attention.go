package random

import "slices"

// attention is a loop over tiles of keys and values as big as those of users: bigger than registers or operands in shared memory have room for, so that plans
// cut rows, columns and steps, and pieces of what is computed before come from loops of their own. Scores are small integers, so that all sums are exact.
func (g *generator) attention() {
	elem := choose(g, "f16", "f16", "bf16", "f8E5M2")
	if !g.elemEnabled(elem) {
		elem = "f16"
	}
	a := &attention{g: g, elem: elem, m: choose(g, 64, 128, 256, 256), n: choose(g, 32, 64, 128), k: choose(g, 32, 64, 128), width: choose(g, 32, 64, 128)}
	a.rounds = choose(g, 0, 1, 2, 3, 4, 5)
	for a.m*max(a.n, a.k, a.width) > elements/grid {
		a.m /= 2
	}
	for max(a.rounds, grid)*a.n*(max(a.k, a.width)+8)+4*64 > elements { // rows may be wider, and pages begin later
		a.n /= 2
	}
	g.tally.Products += 2

	a.queries = a.matrix([]int{a.m, a.k}, 0, 1)
	a.keys = a.matrix([]int{a.k, a.n}, 1, a.rounds)
	a.values = a.matrix([]int{a.n, a.width}, 0, a.rounds)
	a.first = g.readMatrix(a.queries, g.number(scalar("i32"), 0).name)
	if g.chance(25) { // as latent attention has them
		k := choose(g, 32, min(64, a.k))
		a.place = g.readMatrix(a.matrix([]int{a.m, k}, 0, 1), g.number(scalar("i32"), 0).name)
		a.places = a.matrix([]int{k, a.n}, 1, a.rounds)
		g.tally.Products++
	}
	if g.chance(15) {
		a.others = a.matrix([]int{a.n, a.width}, 0, a.rounds)
		g.tally.Products++
	}
	a.again, a.most, a.turned = g.chance(15), g.chance(75), g.chance(15)
	if g.chance(30) {
		a.causal = g.causal(a.m, a.rounds)
	}
	f32 := func(shape ...int) typ { return typ{"f32", shape} }
	inits := []value{g.number(f32(a.m, a.width), 0), g.number(f32(a.m, 1), -100), g.number(f32(a.m, 1), 0)}
	if g.chance(30) {
		g.tally.Products++
		inits = append(inits, g.number(f32(a.n, a.k), 0))
	}
	g.sums = append(g.sums, a.iterate(inits)...)
	g.values = slices.DeleteFunc(g.values, func(v value) bool { return v.n() > maxElements }) // other statements know of none
}

// attention is the shape of one: m queries of k elements, and in each round n keys and values.
type attention struct {
	g                     *generator
	elem                  string
	m, n, k, width        int
	rounds                int
	queries, keys, values *matrix
	first                 value // the queries
	place                 value // what is multiplied by places, if scores are the sum of two products
	places                *matrix
	others                *matrix // values that are added as well; nil without
	again                 bool    // each round reads them
	most                  bool    // scores are less the most of their row so far
	causal                *causal // which keys of a query count; nil: all
	turned                bool    // queries are the right operand
}

// matrix is tiles side by side along a dimension, of which the last may end early.
func (a *attention) matrix(tile []int, deep, tiles int) *matrix {
	shape := slices.Clone(tile)
	shape[deep] *= max(tiles, 1)
	if tiles > 1 {
		shape[deep] -= choose(a.g, 0, 0, a.g.r.IntN(tile[deep]))
	}
	x := a.g.matrix(a.elem, tile, shape, deep)
	x.carried = false
	return x
}

// iterate writes the loop in one of several forms, and gives its results.
func (a *attention) iterate(inits []value) []value {
	g := a.g
	zero, end := g.number(scalar("i32"), 0), value{name: g.knownI32(a.rounds), typ: scalar("i32")}
	switch g.r.IntN(6) {
	case 0: // one loop goes on where another has ended
		middle := value{name: g.knownI32(g.r.IntN(a.rounds + 1)), typ: scalar("i32")}
		return a.counted(middle, end, a.counted(zero, middle, inits, a.round), a.round)
	case 1: // a round may do nothing
		none := g.knownI32(g.r.IntN(a.rounds + 1))
		return a.counted(zero, end, inits, func(i string, sums []value) []value { return a.unless(i, none, sums) })
	case 2:
		return a.endless(zero, end, inits)
	}
	return a.counted(zero, end, inits, a.round)
}

// counted is a for.
func (a *attention) counted(from, to value, inits []value, body func(i string, sums []value) []value) []value {
	g := a.g
	i, step, result, list, types := g.fresh(), g.number(scalar("i32"), 1), g.fresh(), carriedValues(g, inits), ""
	types = joined(typesOf(list))
	g.emit("%s = for %s in (%s to %s, step %s) : tile<i32> iter_values(%s) -> (%s) {", binder(result, len(list)), i, from.name, to.name, step.name, bindings(list), types)
	g.scope(func() {
		g.token = ""
		g.emit("continue %s : %s", joined(namesOf(body(i, argsOf(list)))), types)
	})
	g.emit("}")
	return resultsNamed(result, len(list), argsOf(list))
}

// endless is a loop that a break ends after its last round, of which there is one at least.
func (a *attention) endless(from, to value, inits []value) []value {
	g := a.g
	s := scalar("i32")
	list, result := carriedValues(g, append(slices.Clone(inits), from)), g.fresh()
	types, n := joined(typesOf(list)), len(inits)
	g.emit("%s = loop iter_values(%s) : %s -> %s {", binder(result, len(list)), bindings(list), types, types)
	g.scope(func() {
		g.token = ""
		i := list[n].arg
		sums := a.round(i.name, argsOf(list)[:n])
		next := g.define(s, "addi %s, %s : %s", i.name, g.number(s, 1).name, s)
		names := joined(append(namesOf(sums), next.name))
		done := g.define(scalar("i1"), "cmpi greater_than_or_equal %s, %s, signed : %s -> %s", next.name, to.name, s, scalar("i1"))
		g.emit("if %s {", done.name)
		g.emit("  break %s : %s", names, types)
		g.emit("}")
		g.emit("continue %s : %s", names, types)
	})
	g.emit("}")
	return resultsNamed(result, len(list), inits)
}

// unless is a round that leaves everything as it is in one iteration.
func (a *attention) unless(i, none string, sums []value) []value {
	g := a.g
	c := g.define(scalar("i1"), "cmpi not_equal %s, %s, signed : tile<i32> -> tile<i1>", i, none)
	list, result := carriedValues(g, sums), g.fresh()
	types := joined(typesOf(list))
	g.emit("%s = if %s -> (%s) {", binder(result, len(list)), c.name, types)
	g.scope(func() { g.emit("yield %s : %s", joined(namesOf(a.round(i, sums))), types) })
	g.emit("} else {")
	g.scope(func() { g.emit("yield %s : %s", joined(namesOf(sums)), types) })
	g.emit("}")
	return resultsNamed(result, len(list), argsOf(list))
}

// round is one iteration: the new sums, the most of each row, its total, and if somebody wants it, the sum for the keys.
func (a *attention) round(i string, sums []value) []value {
	g := a.g
	scores, column := typ{"f32", []int{a.m, a.n}}, typ{"f32", []int{a.m, 1}}
	wide := func(x value, t typ) string { return g.define(t, "broadcast %s : %s -> %s", x.name, x.typ, t).name }
	queries := a.first
	if a.again {
		queries = g.readMatrix(a.queries, g.number(scalar("i32"), 0).name)
	}
	s := a.scores(queries, g.readMatrix(a.keys, i), i)
	acc, most, p := sums[0].name, sums[1], s
	if a.most {
		row := g.combined("reduce", "", s, []int{a.m}, 1, floatCombines[0])
		most = g.define(column, "maxf %s, %s : %s", most.name, g.define(column, "reshape %s : %s -> %s", row.name, row.typ, column).name, column)
		less := g.define(scores, "subf %s, %s : %s", s.name, wide(most, scores), scores)
		p = g.define(scores, "addf %s, %s : %s", less.name, g.number(scores, 4).name, scores)
		acc = g.signFlipped(acc, most, 0, sums[0].typ)
	}
	p = g.clamped(p, 0, 4)
	line := g.combined("reduce", "", p, []int{a.m}, 1, sum)
	total := g.define(column, "addf %s, %s : %s", sums[2].name, g.define(column, "reshape %s : %s -> %s", line.name, line.typ, column).name, column)
	h := g.define(scores.with(a.elem), "ftof %s : %s -> %s", p.name, scores, scores.with(a.elem))
	out := []value{g.addProduct(h, g.readMatrix(a.values, i), acc, sums[0].typ), most, total}
	if a.others != nil {
		out[0] = g.addProduct(h, g.readMatrix(a.others, i), out[0].name, sums[0].typ)
	}
	if len(sums) > 3 {
		out = append(out, g.addProduct(g.transposed(h), queries, sums[3].name, sums[3].typ))
	}
	return out
}

// scores are those of a round, small integers.
func (a *attention) scores(queries, keys value, i string) value {
	g := a.g
	t := typ{"f32", []int{a.m, a.n}}
	var s value
	if a.turned {
		u := typ{"f32", []int{a.n, a.m}}
		s = g.transposed(g.addProduct(g.transposed(keys), g.transposed(queries), g.number(u, 0).name, u))
	} else {
		s = g.addProduct(queries, keys, g.number(t, 0).name, t)
	}
	if a.places != nil {
		s = g.addProduct(a.place, g.readMatrix(a.places, i), s.name, t)
	}
	s = g.clamped(s, -16, 16)
	if a.causal != nil {
		s = a.causal.masked(a, s, i)
	}
	return s
}

// causal is masks of scores: queries do not see the keys behind them, nor those before a window.
type causal struct {
	first  value  // the place of the first query, which may be at the end of what i32 can hold
	window value  // 0 or more keys; nothing: all
	biased bool   // a constant is added to what is not seen
	sign   string // of the comparisons
}

func (g *generator) causal(m, rounds int) *causal {
	s := scalar("i32")
	c := &causal{first: value{name: g.knownI32(g.r.IntN(m*rounds + 1)), typ: s}, biased: g.chance(30), sign: choose(g, "signed", "signed", "unsigned")}
	if g.chance(15) {
		c.first = g.define(s, "addi %s, %s : %s", c.first.name, g.number(s, 1<<31-1-g.r.IntN(2*m)).name, s)
	}
	if g.chance(40) {
		c.window = value{name: g.knownI32(g.r.IntN(m*rounds + 1)), typ: s}
	}
	return c
}

func (c *causal) masked(a *attention, s value, i string) value {
	g, t := a.g, s.typ
	rows, _ := g.along(0, t.shape)
	columns, _ := g.along(1, t.shape)
	index := rows.typ
	compare := func(how string, x, y value) value {
		return g.define(index.with("i1"), "cmpi %s %s, %s, %s : %s -> %s", how, x.name, y.name, c.sign, index, index.with("i1"))
	}
	start := g.define(scalar("i32"), "muli %s, %s : tile<i32>", i, g.number(scalar("i32"), a.n).name)
	at := g.define(index, "addi %s, %s : %s", columns.name, g.broadcast(start, t.shape).name, index)
	row := g.define(index, "addi %s, %s : %s", g.broadcast(c.first, t.shape).name, rows.name, index)
	if c.biased {
		behind := compare("greater_than", at, row)
		bias := g.define(t, "select %s, %s, %s : %s, %s", behind.name, g.number(t, -30).name, g.number(t, 0).name, behind.typ, t)
		return g.define(t, "addf %s, %s : %s", s.name, bias.name, t)
	}
	seen := compare("greater_than_or_equal", row, at)
	if c.window.name != "" {
		since := g.define(index, "subi %s, %s : %s", row.name, g.broadcast(c.window, t.shape).name, index)
		near := compare("less_than", since, at)
		seen = g.define(seen.typ, "%s %s, %s : %s", choose(g, "andi", "andi", "ori"), seen.name, near.name, seen.typ)
	}
	return g.define(t, "select %s, %s, %s : %s, %s", seen.name, s.name, g.number(t, -50).name, seen.typ, t)
}

// clamped is a tile whose elements are brought between two numbers.
func (g *generator) clamped(x value, least, most int) value {
	x = g.define(x.typ, "maxf %s, %s : %s", x.name, g.number(x.typ, least).name, x.typ)
	return g.define(x.typ, "minf %s, %s : %s", x.name, g.number(x.typ, most).name, x.typ)
}

// transposed is a tile with rows for columns.
func (g *generator) transposed(x value) value {
	t := typ{x.elem, []int{x.shape[1], x.shape[0]}}
	return g.define(t, "permute %s [1, 0] : %s -> %s", x.name, x.typ, t)
}

// carriedValues are values that a region takes along.
func carriedValues(g *generator, inits []value) (list []carried) {
	for _, v := range inits {
		list = append(list, carried{init: v, arg: value{name: g.fresh(), typ: v.typ}})
	}
	return list
}

func argsOf(list []carried) (vals []value) {
	for _, c := range list {
		vals = append(vals, c.arg)
	}
	return vals
}

func namesOf(vals []value) (names []string) {
	for _, v := range vals {
		names = append(names, v.name)
	}
	return names
}
