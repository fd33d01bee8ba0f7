package random

import "slices"

// fused is a loop along K with one or two products of the same left tiles, as big as those of users, and what kernels do behind it: a row is added, one sum gates the
// other, rows are summed, and the result, made small, is multiplied once more. Every sum is of small integers.
func (g *generator) fused() {
	elem := choose(g, "f16", "f16", "bf16", "f8E4M3FN")
	if !g.elemEnabled(elem) {
		elem = "f16"
	}
	m, n, k, rounds := choose(g, 64, 128, 128, 256), choose(g, 32, 64, 128, 256), choose(g, 32, 64, 128), choose(g, 0, 1, 2, 3, 4, 5, 8)
	for m*n > elements/grid {
		m /= 2
	}
	for max(m, n)*(max(rounds, 1)*k+8)+4*64 > elements { // rows may be wider, and pages begin later
		k, rounds = max(k/2, 16), rounds*3/4
	}
	twice := g.chance(40)
	deep := k * max(rounds, 1)
	end := func() int { return deep - choose(g, 0, 0, g.r.IntN(k)) }
	read := []*matrix{g.matrix(elem, []int{m, k}, []int{m, end()}, 1), g.matrix(elem, []int{k, n}, []int{end(), n}, 0)}
	g.tally.Products++
	if twice {
		read = append(read, g.matrix(elem, []int{k, n}, []int{end(), n}, 0))
		g.tally.Products++
	}
	t := typ{"f32", []int{m, n}}
	inits := []value{g.number(t, 0)}
	if twice {
		inits = append(inits, g.number(t, 0))
	}
	column := typ{"f32", []int{m, 1}}
	squared := elem != "f8E4M3FN" && m*k <= elements/grid && g.chance(30) // as where a norm is fused to the product
	if squared {
		inits = append(inits, g.number(column, 0))
	}
	sums := g.sumsOverMatrices(read, rounds, inits, func(tiles []value, sums []string) []string {
		next := []string{g.addProduct(tiles[0], tiles[1], sums[0], t).name}
		if twice {
			next = append(next, g.addProduct(tiles[0], tiles[2], sums[1], t).name)
		}
		if squared {
			x := g.convert(tiles[0], "f32")
			row := g.combined("reduce", "", g.define(x.typ, "mulf %s, %s : %s", x.name, x.name, x.typ), []int{m}, 1, sum)
			row = g.define(column, "reshape %s : %s -> %s", row.name, row.typ, column)
			next = append(next, g.define(column, "addf %s, %s : %s", sums[len(sums)-1], row.name, column).name)
		}
		return next
	})
	if squared {
		g.sums, sums = append(g.sums, sums[len(sums)-1]), sums[:len(sums)-1]
	}
	g.epilogue(elem, sums)
	g.values = slices.DeleteFunc(g.values, func(v value) bool { return v.n() > maxElements }) // other statements know of none
}

// sum adds floats.
var sum = combine{"addf %s, %s", func(string) string { return "0.0" }}

// epilogue is what comes after the loop.
func (g *generator) epilogue(elem string, sums []value) {
	x := sums[0]
	t := x.typ
	m, n := t.shape[0], t.shape[1]
	if g.chance(40) {
		row := g.readMatrix(g.matrix("f32", []int{1, n}, []int{1, n}, 1), g.number(scalar("i32"), 0).name)
		x = g.define(t, "addf %s, %s : %s", x.name, g.define(t, "broadcast %s : %s -> %s", row.name, row.typ, t).name, t)
	}
	x = g.clamped(x, -4, 4)
	if len(sums) > 1 {
		x = g.define(t, "mulf %s, %s : %s", x.name, sums[1].name, t)
	}
	if g.chance(30) {
		g.sums = append(g.sums, g.combined("reduce", "", x, []int{m}, 1, floatCombines[g.r.IntN(2)]))
	}
	if g.chance(40) {
		width := choose(g, 32, 64, 128)
		for m*width > elements/grid || n*(width+8)+4*64 > elements {
			width /= 2
		}
		g.tally.Products++
		small := t.with(elem)
		h := g.define(small, "ftof %s : %s -> %s", g.clamped(x, -4, 4).name, t, small)
		w := g.readMatrix(g.matrix(elem, []int{n, width}, []int{n, width}, 0), g.number(scalar("i32"), 0).name)
		u := typ{"f32", []int{m, width}}
		g.sums = append(g.sums, g.addProduct(h, w, g.number(u, 0).name, u))
		if g.chance(50) {
			return
		}
	}
	g.sums = append(g.sums, x)
}
