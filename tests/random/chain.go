package random

// chain is a loop in which one product takes what is computed with the result of another, as in attention: the first multiplies what is the same in all rounds
// by tiles that lie beside each other, the second adds. Those tiles, transposed, may be what the second multiplies by, as in the gradient of attention, where
// a third product has its say in what the second one takes.
func (g *generator) chain() {
	if g.depth >= g.maxNesting {
		return
	}
	elem := choose(g, "f16", "bf16")
	m, n, k, width := 16<<g.r.IntN(3), 16<<g.r.IntN(3), 16<<g.r.IntN(2), 16<<g.r.IntN(2)
	if g.chance(35) {
		m = tensorRows
	}
	both := g.chance(30)
	if both {
		width = k
	}
	rounds := choose(g, 0, 1, 2, 3, 4, 5, 8)
	whole := max(rounds, 1) * n
	end := whole - choose(g, 0, g.r.IntN(n))
	same := g.matrix(elem, []int{m, k}, []int{m, k}, 1)
	read := []*matrix{g.matrix(elem, []int{k, n}, []int{k, end}, 1)}
	if both {
		g.tally.Both++
	} else {
		read = append(read, g.matrix(elem, []int{n, width}, []int{end, width}, 0))
	}
	g.tally.Chains++
	g.tally.Products += 2

	scores, sums := typ{"f32", []int{m, n}}, typ{"f32", []int{m, width}}
	x := g.readMatrix(same, g.number(scalar("i32"), 0).name)
	third, thrice := value{}, g.chance(40)
	if thrice {
		third = g.readMatrix(g.matrix(elem, []int{m, k}, []int{m, k}, 1), g.number(scalar("i32"), 0).name)
		g.tally.Products++
	}
	zero := g.number(scores, 0)
	bound := 2 * 16 * k // of a score less another
	g.overMatrices(read, rounds, g.number(sums, 0), func(read []value, sum string) string {
		s := g.addProduct(x, read[0], zero.name, scores)
		if g.chance(70) {
			row := g.combined("reduce", "", s, []int{m}, 1, floatCombines[0])
			column := typ{"f32", []int{m, 1}}
			r := g.define(column, "reshape %s : %s -> %s", row.name, row.typ, column)
			if g.chance(60) {
				sum = g.signFlipped(sum, r, choose(g, 0, 0, -bound), sums)
			}
			b := g.define(scores, "broadcast %s : %s -> %s", r.name, column, scores)
			s = g.define(scores, "subf %s, %s : %s", s.name, b.name, scores)
		}
		if thrice {
			s = g.where(g.addProduct(third, read[0], zero.name, scores), s, zero)
		}
		p := g.define(scores.with(elem), "ftof %s : %s -> %s", s.name, scores, scores.with(elem))
		if both {
			read = append(read, g.transposed(read[0]))
		}
		return g.addProduct(p, read[1], sum, sums).name
	})
	g.values[len(g.values)-1].bound = bound * 4 * n * max(rounds, 1)
	g.shapes = append(g.shapes, sums.shape)
}

// signFlipped is a tile whose rows change their sign where a column is not beyond a limit.
func (g *generator) signFlipped(sum string, column value, limit int, sums typ) string {
	most, minus, plus := g.number(column.typ, limit), g.number(column.typ, -1), g.number(column.typ, 1)
	c := g.define(column.typ.with("i1"), "cmpf greater_than ordered %s, %s : %s -> %s", column.name, most.name, column.typ, column.typ.with("i1"))
	f := g.define(column.typ, "select %s, %s, %s : %s, %s", c.name, plus.name, minus.name, c.typ, column.typ)
	wide := g.define(sums, "broadcast %s : %s -> %s", f.name, column.typ, sums)
	return g.define(sums, "mulf %s, %s : %s", sum, wide.name, sums).name
}

// where is s where c is more than zero, and zero elsewhere.
func (g *generator) where(c, s, zero value) value {
	more := g.define(c.typ.with("i1"), "cmpf greater_than ordered %s, %s : %s -> %s", c.name, zero.name, c.typ, c.typ.with("i1"))
	return g.define(s.typ, "select %s, %s, %s : %s, %s", more.name, s.name, zero.name, more.typ, s.typ)
}
