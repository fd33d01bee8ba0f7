package random

import (
	"fmt"
	"strings"
)

// shared is a product whose tiles the blocks share.
type shared struct {
	left, right, out             *matrix
	elem                         string // of the factors in the instruction
	tiles, across, depth         string // how many there are, of them beside each other, and of steps along K
	zero, one, step, token, none string
	single                       bool // a row of tiles
}

// persistentTiles makes a product of which each block takes every second tile, as persistent kernels do, by a loop that counts or one that ends by a break.
func (g *generator) persistentTiles() {
	p := products[g.r.IntN(len(products))]
	elem := p[0]
	if elem == "tf32" {
		elem = "f32"
	}
	m, n, k := 16<<g.r.IntN(3), 16<<g.r.IntN(3), 16<<g.r.IntN(2)
	rows, columns, rounds := 2+g.r.IntN(2), 1+g.r.IntN(3), choose(g, 0, 1, 2, 3, 4, 5)
	for max(rows*m, columns*n)*(rounds*k+aligned) > elements && rounds > 1 {
		rounds--
	}
	for rows*m*(columns*n+aligned) > elements {
		m, n = m/2, n/2
	}
	if deep := k * max(rounds, 1); !inMemory(elem) || !g.elemEnabled(elem) || !holds(p[1], 16*deep) || max(rows*m, columns*n)*(deep+aligned) > elements {
		return
	}
	end := func(whole, tile int) int { return whole - choose(g, 0, g.r.IntN(tile)) }
	height, width, deep := end(rows*m, m), end(columns*n, n), end(max(rounds, 1)*k, k)
	g.tally.Products++
	s, sum := scalar("i32"), typ{p[1], []int{m, n}}
	x := &shared{elem: p[0], tiles: g.knownI32(rows * columns), across: g.knownI32(columns), depth: g.knownI32(rounds), zero: g.number(s, 0).name, one: g.number(s, 1).name,
		step: g.knownI32(grid), token: g.fresh(), none: g.number(sum, 0).name, single: columns == 1 && g.chance(50)}
	x.left = g.part(g.smallInput(elem), typ{elem, []int{m, k}}, []int{height, deep}, ", padding_value = zero")
	x.right = g.part(g.smallInput(elem), typ{elem, []int{k, n}}, []int{deep, width}, ", padding_value = zero")
	x.out = g.part(g.parameter(p[1]), sum, []int{height, width}, "")
	if g.chance(80) { // which says that there is one block for each multiprocessor
		x.step = g.fresh()
		g.emit("%s, %s, %s = get_num_tile_blocks : tile<i32>", x.step, g.fresh(), g.fresh())
	}
	g.emit("%s = make_token : token", x.token)
	t, stored := g.fresh(), g.fresh()
	if g.chance(60) {
		g.emit("%s = for %s in (%s to %s, step %s) : tile<i32> iter_values(%s = %s) -> (token) {", g.fresh(), t, g.block.name, x.tiles, x.step, stored, x.token)
		g.scope(func() { g.emit("continue %s : token", g.tile(x, t, stored)) })
	} else {
		g.emit("%s:2 = loop iter_values(%s = %s, %s = %s) : tile<i32>, token -> tile<i32>, token {", g.fresh(), t, g.block.name, stored, x.token)
		g.scope(func() {
			more := g.define(scalar("i1"), "cmpi less_than %s, %s, signed : tile<i32> -> tile<i1>", t, x.tiles)
			g.emit("if %s {\n      yield\n    } else {\n      break %s, %s : tile<i32>, token\n    }", more.name, t, stored)
			done := g.tile(x, t, stored)
			g.emit("continue %s, %s : tile<i32>, token", g.define(s, "addi %s, %s : %s", t, x.step, s).name, done)
		})
	}
	g.emit("}")
}

// tile computes a tile and stores it after another one; it gives the token of that.
func (g *generator) tile(x *shared, t, stored string) (done string) {
	s, sum := scalar("i32"), x.out.tile
	row, column := t, x.zero
	if !x.single {
		row = g.define(s, "divi %s, %s signed : %s", t, x.across, s).name
		column = g.define(s, "remi %s, %s signed : %s", t, x.across, s).name
	}
	after := x.token
	if g.chance(20) { // as if a tile read what the one before it has stored
		after = stored
	}
	total, i, acc := g.fresh(), g.fresh(), g.fresh()
	g.emit("%s = for %s in (%s to %s, step %s) : tile<i32> iter_values(%s = %s) -> (%s) {", total, i, x.zero, x.depth, x.one, acc, x.none, sum)
	g.scope(func() {
		a, b := g.readPart(x.left, row, i, after), g.readPart(x.right, i, column, after)
		if a.elem != x.elem {
			a, b = g.convert(a, x.elem), g.convert(b, x.elem)
		}
		g.emit("continue %s : %s", g.addProduct(a, b, acc, sum).name, sum)
	})
	g.emit("}")
	done = g.fresh()
	g.emit("%s = store_view_tko weak %s, %s[%s, %s] token=%s : %s, %s, tile<i32> -> token", done, total, x.out.at, row, column, stored, sum, x.out.kind)
	return done
}

// readPart reads a tile of a view, after a token.
func (g *generator) readPart(x *matrix, row, column, after string) value {
	v := value{name: g.fresh(), typ: x.tile}
	g.emit("%s, %s = load_view_tko weak %s[%s, %s] token=%s : %s, tile<i32> -> %s, token", v.name, g.fresh(), x.at, row, column, after, x.kind, x.tile)
	return v
}

// aligned is how many elements lie from row to row of most arrays, or a multiple.
const aligned = 16

// part is a view of tiles of an array.
func (g *generator) part(buffer string, tile typ, shape []int, padding string) *matrix {
	stride := shape[1]
	if g.chance(70) {
		stride = (stride + aligned - 1) / aligned * aligned
	}
	view, vt := g.tensorView(buffer, tile.elem, shape, []int{stride, 1}, true)
	x := &matrix{tile: tile, at: g.fresh()}
	x.kind = fmt.Sprintf("partition_view<tile=(%s)%s, %s>", strings.TrimSuffix(dims(tile.shape), "x"), padding, vt)
	g.emit("%s = make_partition_view %s : %s", x.at, view, x.kind)
	return x
}
