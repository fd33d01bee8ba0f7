// Package products writes kernels with a matrix product, of any extent and type, for tests that ask which of them compile and what
// becomes of them.
package products

import (
	"fmt"
	"strings"
)

// A Product is C += A*B on tiles: Batch products of MxK by KxN, 0 for tiles of two dimensions.
type Product struct {
	Types
	Batch, M, N, K int
	Form
}

// Types are the element types of the operands and of the accumulator.
type Types struct{ A, B, C string }

// Form is the way in which a kernel gets at its operands.
type Form uint8

const (
	Once     Form = iota // one product, operands and accumulator loaded through views
	Loop                 // a loop over four steps along K, the accumulator begins as zero
	Pointers             // as Once, through tiles of pointers
	Scatter              // as Loop, and the result is stored through pointers
)

var formNames = [...]string{"once", "loop", "pointers", "scatter"}

func (f Form) String() string { return formNames[f] }

func (p Product) String() string {
	s := fmt.Sprintf("%dx%dx%d", p.M, p.N, p.K)
	if p.Batch > 0 {
		s = fmt.Sprintf("%dx", p.Batch) + s
	}
	return fmt.Sprintf("%s %s*%s+%s %s", s, p.A, p.B, p.C, p.Form)
}

// Steps is the number of steps along K that the kernel takes.
func (p Product) Steps() int {
	if p.InLoop() {
		return loopSteps
	}
	return 1
}

// InLoop reports whether the product is in a loop, whose accumulator begins as zero.
func (p Product) InLoop() bool { return p.Form == Loop || p.Form == Scatter }

const loopSteps = 4

// Shapes are those of the arrays A, B and C, row-major.
func (p Product) Shapes() (a, b, c []int) {
	k := p.K * p.Steps()
	a, b, c = []int{p.M, k}, []int{k, p.N}, []int{p.M, p.N}
	if p.Batch > 0 {
		a, b, c = append([]int{p.Batch}, a...), append([]int{p.Batch}, b...), append([]int{p.Batch}, c...)
	}
	return a, b, c
}

// Text is the kernel as Tile IR: entry @k with pointers to A, B, C and to the result, an array of C's type.
func (p Product) Text() string {
	w := &writer{}
	a, b, c := p.Shapes()
	w.line("cuda_tile.module @m {")
	w.line("entry @k(%%a: tile<ptr<%s>>, %%b: tile<ptr<%s>>, %%c: tile<ptr<%s>>, %%d: tile<ptr<%s>>) {", p.A, p.B, p.C, p.C)
	w.line("%%z = constant <i32: 0> : tile<i32>")
	w.line("%%one = constant <i32: 1> : tile<i32>")
	w.line("%%steps = constant <i32: %d> : tile<i32>", p.Steps())
	ta, tb := slice(a, len(a)-1, p.K), slice(b, len(b)-2, p.K)
	var result string
	switch p.Form {
	case Pointers:
		x, y, z := w.gather("a", p.A, a), w.gather("b", p.B, b), w.gather("c", p.C, c)
		result = w.product(p, x, y, z)
		w.scatter(p, c, result)
	default:
		for _, v := range []struct {
			name, elem  string
			array, tile []int
		}{{"a", p.A, a, ta}, {"b", p.B, b, tb}, {"c", p.C, c, c}, {"d", p.C, c, c}} {
			w.view(v.name, v.elem, v.array, v.tile)
		}
		if p.Form == Once {
			x, y, z := w.load("a", p.A, a, ta, -1), w.load("b", p.B, b, tb, -1), w.load("c", p.C, c, c, -1)
			result = w.product(p, x, y, z)
		} else {
			zero := "0"
			if p.C[0] != 'i' {
				zero = "0.0"
			}
			w.line("%%start = constant <%s: %s> : %s", p.C, zero, tile(c, p.C))
			w.line("%%sum = for %%k in (%%z to %%steps, step %%one) : tile<i32> iter_values(%%s = %%start) -> (%s) {", tile(c, p.C))
			x, y := w.load("a", p.A, a, ta, len(a)-1), w.load("b", p.B, b, tb, len(b)-2)
			w.line("continue %s : %s", w.product(p, x, y, "%s"), tile(c, p.C))
			w.line("}")
			result = "%sum"
		}
		if p.Form == Scatter {
			w.scatter(p, c, result)
			break
		}
		w.line("%%end = store_view_tko weak %s, %%dp[%s] : %s, %s, tile<i32> -> token", result, zeros(len(c), -1), tile(c, p.C), viewType(p.C, c, c))
	}
	w.line("return")
	w.line("}")
	w.line("}")
	return w.String()
}

// scatter stores the result through pointers.
func (w *writer) scatter(p Product, c []int, result string) {
	at := w.pointers("d", p.C, c)
	w.line("%%end = store_ptr_tko weak %s, %s : %s, %s -> token", at, result, tile(c, "ptr<"+p.C+">"), tile(c, p.C))
}

func slice(shape []int, dim, n int) []int {
	out := append([]int(nil), shape...)
	out[dim] = n
	return out
}

type writer struct{ strings.Builder }

func (w *writer) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

func join(shape []int, sep string) string {
	var parts []string
	for _, n := range shape {
		parts = append(parts, fmt.Sprint(n))
	}
	return strings.Join(parts, sep)
}

func tile(shape []int, elem string) string { return "tile<" + join(shape, "x") + "x" + elem + ">" }

func arrayType(elem string, array []int) string {
	strides, n := make([]int, len(array)), 1
	for d := len(array) - 1; d >= 0; d-- {
		strides[d] = n
		n *= array[d]
	}
	return fmt.Sprintf("tensor_view<%sx%s, strides=[%s]>", join(array, "x"), elem, join(strides, ","))
}

func viewType(elem string, array, tile []int) string {
	return fmt.Sprintf("partition_view<tile=(%s), %s>", join(tile, "x"), arrayType(elem, array))
}

// view makes %xp, the partition of array %x into tiles.
func (w *writer) view(x, elem string, array, tile []int) {
	t := arrayType(elem, array)
	_, strides, _ := strings.Cut(t, "strides=")
	w.line("%%%sa = assume div_by<16>, %%%s : tile<ptr<%s>>", x, x, elem)
	w.line("%%%sv = make_tensor_view %%%sa, shape = [%s], strides = %s : %s", x, x, join(array, ", "), strings.TrimSuffix(strides, ">"), t)
	w.line("%%%sp = make_partition_view %%%sv : %s", x, x, viewType(elem, array, tile))
}

// zeros are indices, all 0 but the one of dimension k, which is the loop's counter.
func zeros(rank, k int) string {
	parts := make([]string, rank)
	for d := range parts {
		parts[d] = "%z"
		if d == k {
			parts[d] = "%k"
		}
	}
	return strings.Join(parts, ", ")
}

func (w *writer) load(x, elem string, array, t []int, k int) string {
	w.line("%%%st, %%%sk = load_view_tko weak %%%sp[%s] : %s, tile<i32> -> %s, token", x, x, x, zeros(len(array), k), viewType(elem, array, t), tile(t, elem))
	return "%" + x + "t"
}

// pointers makes a tile of pointers to the elements of array %x.
func (w *writer) pointers(x, elem string, array []int) string {
	n := 1
	ones := make([]int, len(array))
	for d, e := range array {
		n *= e
		ones[d] = 1
	}
	ptr := "ptr<" + elem + ">"
	w.line("%%%si = iota : tile<%dxi32>", x, n)
	w.line("%%%sr = reshape %%%si : tile<%dxi32> -> %s", x, x, n, tile(array, "i32"))
	w.line("%%%sh = reshape %%%s : tile<%s> -> %s", x, x, ptr, tile(ones, ptr))
	w.line("%%%sb = broadcast %%%sh : %s -> %s", x, x, tile(ones, ptr), tile(array, ptr))
	w.line("%%%so = offset %%%sb, %%%sr : %s, %s -> %s", x, x, x, tile(array, ptr), tile(array, "i32"), tile(array, ptr))
	return "%" + x + "o"
}

func (w *writer) gather(x, elem string, array []int) string {
	at := w.pointers(x, elem, array)
	w.line("%%%st, %%%sk = load_ptr_tko weak %s : %s -> %s, token", x, x, at, tile(array, "ptr<"+elem+">"), tile(array, elem))
	return "%" + x + "t"
}

func (w *writer) product(p Product, x, y, z string) string {
	a, b, c := p.Shapes()
	ta, tb := slice(a, len(a)-1, p.K), slice(b, len(b)-2, p.K)
	name := "mmaf"
	sign := ""
	if p.C[0] == 'i' {
		name, sign = "mmai", " signed signed"
	}
	w.line("%%r = %s %s, %s, %s%s : %s, %s, %s", name, x, y, z, sign, tile(ta, p.A), tile(tb, p.B), tile(c, p.C))
	return "%r"
}
