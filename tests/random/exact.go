package random

import (
	"fmt"
	"slices"
)

// do adds what a statement does.
func (p *program) do(f func(m *machine)) {
	p.steps = append(p.steps, func(m *machine) signal {
		f(m)
		return onward
	})
}

// makes is a value of elements of at most bound, with how they follow from those of others.
func (p *program) makes(t typ, bound int, args []value, f func(args [][]int64, out []int64), format string, a ...any) value {
	v := p.define(t, format, a...)
	v.bound = bound
	p.do(func(m *machine) {
		out := make([]int64, t.n())
		f(m.many(args), out)
		m.tiles[v.name] = out
	})
	return v
}

// elementwise is such a value whose elements follow from those at the same place.
func (p *program) elementwise(t typ, bound int, args []value, f func(x []int64) int64, format string, a ...any) value {
	return p.makes(t, bound, args, func(args [][]int64, out []int64) {
		x := make([]int64, len(args))
		for i := range out {
			for j := range args {
				x[j] = args[j][i]
			}
			out[i] = f(x)
		}
	}, format, a...)
}

// keep makes a value visible to later statements.
func (p *program) keep(v value) value {
	p.pool = append(p.pool, v)
	return v
}

// constantOf is a tile of one number.
func (p *program) constantOf(t typ, n int) value {
	text := fmt.Sprint(n)
	if !isInt(t.elem) {
		text += ".0"
	}
	return p.makes(t, max(n, -n), nil, func(_ [][]int64, out []int64) {
		for i := range out {
			out[i] = int64(n)
		}
	}, "constant <%s: %s> : %s", t.elem, text, t)
}

// known is a scalar that is n, which the compiler may or may not see.
func (p *program) known(elem string, n int) value {
	v := value{name: p.knownAs(elem, n), typ: scalar(elem), bound: n}
	p.do(func(m *machine) { m.tiles[v.name] = []int64{int64(n)} })
	return v
}

// most is the largest number up to which elements of a type are exact here.
func most(elem string) int {
	if isInt(elem) {
		return 1<<(min(widths[elem], 28)-1) - 1
	}
	return 1 << min(precisions[elem], 28)
}

// within is a value whose elements are brought to at most limit.
func (p *program) within(x value, limit int) value {
	if x.bound <= limit {
		return x
	}
	if !isInt(x.elem) && !slices.Contains(floats, x.elem) { // no arithmetic in this type
		return p.cast(p.within(p.cast(x, "f32"), limit), x.elem)
	}
	least, greatest := p.constantOf(x.typ, -limit), p.constantOf(x.typ, limit)
	x = p.combine(pairOps[3], x, least)
	x = p.combine(pairOps[4], x, greatest)
	x.bound = limit
	return x
}

// pairOp is an elementwise operation on floats or signed integers.
type pairOp struct {
	float, int string
	f          func(a, b int64) int64
	bound      func(a, b int) int
}

func sumOf(a, b int) int { return a + b }

var pairOps = []pairOp{
	{"addf %s, %s", "addi %s, %s", func(a, b int64) int64 { return a + b }, sumOf},
	{"subf %s, %s", "subi %s, %s", func(a, b int64) int64 { return a - b }, sumOf},
	{"mulf %s, %s", "muli %s, %s", func(a, b int64) int64 { return a * b }, func(a, b int) int { return a * b }},
	{"maxf %s, %s", "maxi %s, %s signed", func(a, b int64) int64 { return max(a, b) }, func(a, b int) int { return max(a, b) }},
	{"minf %s, %s", "mini %s, %s signed", func(a, b int64) int64 { return min(a, b) }, func(a, b int) int { return max(a, b) }},
}

func (b pairOp) in(elem string) string {
	if isInt(elem) {
		return b.int
	}
	return b.float
}

// combine is an operation on two tiles, whose elements it brings to a few first where the result could not be exact.
func (p *program) combine(op pairOp, x, y value) value {
	if op.bound(x.bound, y.bound) > most(x.elem) {
		x, y = p.within(x, 2), p.within(y, 2)
	}
	return p.elementwise(x.typ, op.bound(x.bound, y.bound), []value{x, y}, func(x []int64) int64 { return op.f(x[0], x[1]) },
		"%s : %s", fmt.Sprintf(op.in(x.elem), x.name, y.name), x.typ)
}

// comparison is where one tile is less than another, or equal.
func (p *program) comparison(x, y value) value {
	word, f := "less_than", func(x []int64) int64 { return flag(x[0] < x[1]) }
	if p.chance(30) {
		word, f = "equal", func(x []int64) int64 { return flag(x[0] == x[1]) }
	}
	t := x.typ.with("i1")
	if isInt(x.elem) {
		return p.elementwise(t, 1, []value{x, y}, f, "cmpi %s %s, %s, signed : %s -> %s", word, x.name, y.name, x.typ, t)
	}
	return p.elementwise(t, 1, []value{x, y}, f, "cmpf %s ordered %s, %s : %s -> %s", word, x.name, y.name, x.typ, t)
}

func flag(c bool) int64 {
	if c {
		return 1
	}
	return 0
}

// chosenBy is x where c holds and y elsewhere.
func (p *program) chosenBy(c, x, y value) value {
	return p.elementwise(x.typ, max(x.bound, y.bound), []value{c, x, y}, func(x []int64) int64 {
		if x[0] != 0 {
			return x[1]
		}
		return x[2]
	}, "select %s, %s, %s : %s, %s", c.name, x.name, y.name, c.typ, x.typ)
}

// cast is a value in another element type, exactly.
func (p *program) cast(x value, elem string) value {
	if x.elem == elem {
		return x
	}
	if x.bound > most(elem) {
		x = p.within(x, most(elem))
	}
	t := x.typ.with(elem)
	text := ""
	switch {
	case isInt(x.elem) && isInt(elem) && widths[x.elem] < widths[elem]:
		text = "exti %s signed"
	case isInt(x.elem) && isInt(elem):
		text = "trunci %s"
	case isInt(x.elem):
		text = "itof %s signed"
	case isInt(elem):
		text = "ftoi %s signed"
	default:
		text = "ftof %s" + p.exactRounding(x.elem, elem)
	}
	return p.elementwise(t, x.bound, []value{x}, func(x []int64) int64 { return x[0] }, "%s : %s -> %s", fmt.Sprintf(text, x.name), x.typ, t)
}

// exponents is how many bits the exponent of a float type has.
var exponents = map[string]int{"f16": 5, "bf16": 8, "tf32": 8, "f32": 8, "f64": 11, "f8E4M3FN": 4, "f8E5M2": 5}

// exactRounding is a rounding that a conversion may name; none has an effect on what is exact.
func (p *program) exactRounding(from, to string) string {
	if !p.chance(40) {
		return ""
	}
	if widths[to] > 8 && exponents[from] <= exponents[to] && precisions[from] <= precisions[to] {
		p.note("exact conversion that names a rounding")
		return " rounding<" + choose(p.generator, "zero", "negative_inf", "positive_inf", "nearest_away") + ">"
	}
	return p.narrowing(from, to)
}

// reduced combines along a dimension.
func (p *program) reduced(x value, dim int) value {
	op, bound := p.combination(&x, dim)
	c := combine{op.in(x.elem), same(p.neutral(op, x.elem))}
	v := p.combined("reduce", "", x, slices.Concat(x.shape[:dim], x.shape[dim+1:]), dim, c)
	v.bound = bound
	p.folds(v, x, dim, op, false, true)
	p.note("reduction")
	return v
}

// scanned combines along a dimension, and keeps what it has in between.
func (p *program) scanned(x value, dim int) value {
	op, bound := p.combination(&x, dim)
	backwards := p.chance(40)
	v := p.combined("scan", fmt.Sprintf(" reverse=%v", backwards), x, x.shape, dim, combine{op.in(x.elem), same(p.neutral(op, x.elem))})
	v.bound = bound
	p.folds(v, x, dim, op, backwards, false)
	p.note("scan")
	return v
}

// combination is a sum, the most or the least of elements that are small enough for it.
func (p *program) combination(x *value, dim int) (op pairOp, bound int) {
	if op = choose(p.generator, pairOps[0], pairOps[3], pairOps[4]); op.float != pairOps[0].float {
		return op, max(x.bound, 0)
	}
	if x.bound*x.shape[dim] > most(x.elem) {
		if limit := most(x.elem) / x.shape[dim]; limit > 0 {
			*x = p.within(*x, limit)
		} else {
			return pairOps[3], x.bound
		}
	}
	return op, x.bound * x.shape[dim]
}

// neutral is the identity of a combination in a type.
func (p *program) neutral(op pairOp, elem string) string {
	switch {
	case op.float == pairOps[0].float && isInt(elem):
		return "0"
	case op.float == pairOps[0].float:
		return "0.0"
	case op.float == pairOps[3].float && isInt(elem):
		return lowest(elem)
	case op.float == pairOps[3].float:
		return infinities[elem][1]
	case isInt(elem):
		return highest(elem)
	}
	return infinities[elem][0]
}

// folds says what a reduction or a scan does.
func (p *program) folds(v, x value, dim int, op pairOp, backwards, whole bool) {
	p.do(func(m *machine) {
		in, out := m.tiles[x.name], make([]int64, v.n())
		n, inner := x.shape[dim], 1
		for _, e := range x.shape[dim+1:] {
			inner *= e
		}
		for line := range x.n() / n {
			start := line/inner*inner*n + line%inner
			var sum int64
			for k := range n {
				at := start + k*inner
				if backwards {
					at = start + (n-1-k)*inner
				}
				if sum = op.f(sum, in[at]); k == 0 {
					sum = in[at]
				}
				if !whole {
					out[at] = sum
				}
			}
			if whole {
				out[line] = sum
			}
		}
		m.tiles[v.name] = out
	})
}

// moves is a value whose elements are those of another at other places.
func (p *program) moves(x value, t typ, from func(at []int) int, format string, a ...any) value {
	return p.makes(t, x.bound, []value{x}, func(args [][]int64, out []int64) {
		over(t.shape, func(i int, at []int) { out[i] = args[0][from(at)] })
	}, format, a...)
}

func (p *program) reshaped(x value, shape []int) value {
	if slices.Equal(x.shape, shape) {
		return x
	}
	t := typ{x.elem, shape}
	return p.moves(x, t, func(at []int) int { return placeOf(shape, at) }, "reshape %s : %s -> %s", x.name, x.typ, t)
}

// widened repeats a value along dimensions of one element; a scalar along all.
func (p *program) widened(x value, shape []int) value {
	if len(x.shape) != len(shape) {
		x = p.reshaped(x, slices.Repeat([]int{1}, len(shape)))
	}
	if slices.Equal(x.shape, shape) {
		return x
	}
	t := typ{x.elem, shape}
	return p.moves(x, t, func(at []int) int {
		from := slices.Clone(at)
		for d, n := range x.shape {
			if n == 1 {
				from[d] = 0
			}
		}
		return placeOf(x.shape, from)
	}, "broadcast %s : %s -> %s", x.name, x.typ, t)
}

func (p *program) permuted(x value, perm []int) value {
	t := typ{x.elem, make([]int, len(perm))}
	for i, d := range perm {
		t.shape[i] = x.shape[d]
	}
	return p.moves(x, t, func(at []int) int {
		from := make([]int, len(at))
		for i, d := range perm {
			from[d] = at[i]
		}
		return placeOf(x.shape, from)
	}, "permute %s [%s] : %s -> %s", x.name, commas(perm), x.typ, t)
}

// part is one of so many equal parts along a dimension.
func (p *program) partOf(x value, dim, parts int, which value) value {
	t := typ{x.elem, slices.Clone(x.shape)}
	t.shape[dim] /= parts
	zero := p.known("i32", 0)
	names := make([]string, len(x.shape))
	for d := range names {
		names[d] = zero.name
	}
	names[dim] = which.name
	return p.makes(t, x.bound, []value{x, which}, func(args [][]int64, out []int64) {
		over(t.shape, func(i int, at []int) {
			from := slices.Clone(at)
			from[dim] += int(args[1][0]) * t.shape[dim]
			out[i] = args[0][placeOf(x.shape, from)]
		})
	}, "extract %s[%s] : %s -> %s", x.name, joined(names), x.typ, t)
}

// beside puts two tiles side by side.
func (p *program) beside(x, y value, dim int) value {
	t := typ{x.elem, slices.Clone(x.shape)}
	t.shape[dim] *= 2
	return p.makes(t, max(x.bound, y.bound), []value{x, y}, func(args [][]int64, out []int64) {
		over(t.shape, func(i int, at []int) {
			from := slices.Clone(at)
			from[dim] %= x.shape[dim]
			out[i] = args[at[dim]/x.shape[dim]][placeOf(x.shape, from)]
		})
	}, "cat %s, %s dim = %d : %s, %s -> %s", x.name, y.name, dim, x.typ, y.typ, t)
}

// productOf adds a product of matrices, or of batches of them, to a sum. Scales, if any, are of blocks along K.
func (p *program) productOf(x, y, acc value, scales ...value) value {
	rank := len(x.shape)
	m, k, n := x.shape[rank-2], x.shape[rank-1], y.shape[rank-1]
	bound, op, signs := acc.bound+x.bound*y.bound*k, "mmaf", ""
	if isInt(x.elem) {
		op, signs = "mmai", " signed signed"
	}
	names, types := []string{x.name, y.name, acc.name}, []string{x.typ.String(), y.typ.String(), acc.typ.String()}
	for _, s := range scales {
		op, bound = "mmaf_scaled", acc.bound+(bound-acc.bound)*s.bound
		names, types = append(names, s.name), append(types, s.typ.String())
	}
	return p.makes(acc.typ, bound, slices.Concat([]value{x, y, acc}, scales), func(args [][]int64, out []int64) {
		for i := range out {
			batch, row, column := i/(m*n), i/n%m, i%n
			out[i] = args[2][i]
			for l := range k {
				term := args[0][(batch*m+row)*k+l] * args[1][(batch*k+l)*n+column]
				if len(scales) > 0 {
					blocks := scales[0].shape[1]
					b := l * blocks / k
					term *= args[3][row*blocks+b] * args[4][b*n+column]
				}
				out[i] += term
			}
		}
	}, "%s %s%s : %s", op, joined(names), signs, joined(types))
}
