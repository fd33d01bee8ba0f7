package random

import "slices"

// norms is a loop over rows as long as those of users, whose elements meet: what is summed along a row, or the most of it, changes all of it. One round has one
// row or a few; some have a scale of their own. Every sum is of small integers.
func (g *generator) norms() {
	elem := choose(g, "f32", "f32", "f16", "bf16")
	rows, n, rounds := choose(g, 1, 1, 2, 4), choose(g, 256, 512, 1024, 2048), choose(g, 0, 1, 2, 3, 4, 6, 9, 12)
	for rows*n > elements/grid {
		rows /= 2
	}
	for rows*max(rounds, 1)*(n+8)+4*64 > elements { // rows may be wider, and pages begin later
		rounds--
	}
	end, width := rows*max(rounds, 1)-choose(g, 0, 0, g.r.IntN(rows)), n-choose(g, 0, 0, 16, g.r.IntN(n))
	read := []*matrix{g.matrix(elem, []int{rows, n}, []int{end, width}, 0)}
	if g.chance(40) {
		read = append(read, g.matrix(elem, []int{rows, n}, []int{end, width}, 0))
	}
	scaled := g.chance(60)
	if scaled {
		read = append(read, g.matrix("f32", []int{rows, 1}, []int{end, 1}, 0))
	}
	t, column := typ{"f32", []int{rows, n}}, typ{"f32", []int{rows, 1}}
	wide := func(x value) string { return g.define(t, "broadcast %s : %s -> %s", x.name, x.typ, t).name }
	sums := g.sumsOverMatrices(read, rounds, []value{g.number(t, 0), g.number(column, 0)}, func(tiles []value, sums []string) []string {
		for i, x := range tiles {
			if x.elem != "f32" {
				tiles[i] = g.convert(x, "f32")
			}
		}
		x := tiles[0]
		if scaled {
			x = g.define(t, "mulf %s, %s : %s", x.name, wide(tiles[len(tiles)-1]), t)
		}
		if len(tiles) > 2 || len(tiles) == 2 && !scaled {
			x = g.define(t, "%s %s, %s : %s", choose(g, "mulf", "addf"), x.name, tiles[1].name, t)
		}
		met := func(c combine) value {
			row := g.combined("reduce", "", x, []int{rows}, 1, c)
			return g.define(column, "reshape %s : %s -> %s", row.name, row.typ, column)
		}
		total := met(sum)
		change := total
		if g.chance(40) {
			change = met(floatCombines[g.r.IntN(2)])
		}
		out := g.define(t, "subf %s, %s : %s", x.name, wide(change), t)
		return []string{g.define(t, "addf %s, %s : %s", sums[0], out.name, t).name, g.define(column, "addf %s, %s : %s", sums[1], total.name, column).name}
	})
	g.sums = append(g.sums, sums...)
	g.values = slices.DeleteFunc(g.values, func(v value) bool { return v.n() > maxElements }) // other statements know of none
}
