package random

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// flow is a program of control flow: a tree of ifs, fors and loops of every shape, with jumps out of any of them. What runs, how often and in which order is seen in journals, in
// which it writes entry after entry, and in cells, to which it adds. Numbers are of their width and wrap.
type flow struct {
	*program
	journals []*journal
	place
	left     int // statements that may still be made
	cells    *journal
	free     int // cells that nobody uses
	inputs   []*journal
	promises []*promise
	fuel     int
	aligned  bool // most accesses are, and numbers are seen
	long     bool // it does too much, or what is undefined: it is no program
}

// place is what is known of a place in a program.
type place struct {
	around    []*round // loops, the innermost last
	fors      int      // among them: no return
	dead      bool     // nothing runs here
	staysIn   bool     // no break, which would lose entries of journals
	endsRound bool     // no continue, which would
}

// fuelOfFlows bounds the rounds of loops of a tile block.
const fuelOfFlows = 600

// flow writes a program of control flow. Those that do not end, or do what is undefined, are dropped; promises say what turns out to hold.
func (g *generator) flow(size int) *program {
	for {
		*g = generator{r: g.r, inputs: map[string]int{}, used: map[string]bool{}, disabled: g.disabled, maxNesting: deepNest, shapes: [][]int{nil}}
		g.begin()
		f := &flow{program: &program{generator: g, features: map[string]int{}, start: g.token}, left: 2*size + 4}
		f.write()
		if f.settle() {
			return f.program
		}
	}
}

// write makes the program.
func (f *flow) write() {
	f.steps = append(f.steps, func(*machine) signal { f.fuel = fuelOfFlows; return onward })
	f.keep(f.block)
	for range 1 + f.r.IntN(2) {
		f.shapes = append(f.shapes, choose(f.generator, []int{1}, []int{2}, []int{4}, []int{8}, []int{16}, []int{64}, []int{128}, []int{2, 4}, []int{4, 1}, []int{8, 8}))
	}
	if f.chance(30) { // so big that warps share them
		f.shapes = append(f.shapes, choose(f.generator, []int{16, 32}, []int{64, 8}, []int{256}, []int{1024}, []int{32, 2}))
	}
	f.cells = f.memory("i32", "cells")
	for i := range 1 + f.r.IntN(2) {
		f.keeps(choose(f.generator, "i32", "i32", "i32", "i64", "i8", "i16"), i)
	}
	for _, elem := range []string{"i32", choose(f.generator, "i64", "i8", "i16")} {
		f.inputs = append(f.inputs, f.memory(elem, "input"))
	}
	for range 2 + f.r.IntN(3) {
		f.keep(f.boundary(choose(f.generator, "i32", "i32", "i64", "i8", "i16"), f.r.IntN(8)))
	}
	for f.left > 0 && !f.dead {
		f.statements(1)
	}
	f.ending()
}

// ending writes what is visible into a journal.
func (f *flow) ending() {
	n := 0
	for _, v := range slices.Backward(slices.Clone(f.pool)) {
		if n++; n > 6 {
			break
		}
		for _, j := range f.journals {
			if isInt(v.elem) && f.chance(80) {
				f.enter(j, v)
				break
			}
		}
	}
}

// settle runs the program, and fills in what it promises.
func (f *flow) settle() bool {
	body := f.body.String()
	f.body.Reset()
	f.body.WriteString(f.fill(body, func(p *promise) string { return p.none }) + "    return\n")
	in, err := read(f.text(Mixed))
	f.body.Reset()
	if err == nil {
		params, failed := parameters(in.Module, entry)
		if err = failed; err == nil {
			f.evaluate(params)
		}
	}
	f.body.WriteString(f.fill(body, (*promise).text))
	return err != nil || !f.long // the check shows a text that cannot be read
}

// promise is what a text says of numbers: it is known when the program has run.
type promise struct {
	*flow
	none             string // where it says nothing
	ran              bool
	signed, unsigned bool // sums that wrap
	least, greatest  int64
	elem             string
	multiple         uint64 // of which all numbers are
}

var placeOfPromise = regexp.MustCompile("\x00([0-9]+)\x00")

func (f *flow) promised(p *promise) (mark string) {
	p.flow, f.promises = f, append(f.promises, p)
	return fmt.Sprintf("\x00%d\x00", len(f.promises)-1)
}

func (f *flow) fill(body string, text func(*promise) string) string {
	return placeOfPromise.ReplaceAllStringFunc(body, func(s string) string {
		i, _ := strconv.Atoi(strings.Trim(s, "\x00"))
		return text(f.promises[i])
	})
}

// see takes notice of a number.
func (p *promise) see(n int64) {
	if !p.ran {
		p.ran, p.least, p.greatest = true, n, n
	}
	p.least, p.greatest = min(p.least, n), max(p.greatest, n)
	a, b := p.multiple, uint64(max(n, -n))
	for b != 0 {
		a, b = b, a%b
	}
	p.multiple = a
}

// text is one that holds.
func (p *promise) text() string {
	g := p.generator
	if p.elem == "" {
		var list []string
		if !p.signed {
			list = append(list, "no_signed_wrap")
		}
		if !p.unsigned {
			list = append(list, "no_unsigned_wrap")
		}
		if len(list) == 2 {
			list = append(list, "no_wrap")
		}
		if len(list) == 0 || g.chance(30) {
			return ""
		}
		return " overflow<" + choose(g, list...) + ">"
	}
	if d := int64(p.multiple & -p.multiple); g.chance(40) && d > 0 {
		return fmt.Sprintf("div_by<%d>", min(d, 1<<g.r.IntN(6)))
	}
	low, high := leastOf(p.elem), greatestOf(p.elem)
	least, greatest := max(low, p.least-int64(g.r.IntN(3)*g.r.IntN(3))), min(high, p.greatest+int64(g.r.IntN(3)*g.r.IntN(3)))
	if least > p.least { // it wrapped
		least = low
	}
	if greatest < p.greatest {
		greatest = high
	}
	return fmt.Sprintf("bounded<%s, %s>", choose(g, fmt.Sprint(least), fmt.Sprint(least), "?"), choose(g, fmt.Sprint(greatest), fmt.Sprint(greatest), "?"))
}

func leastOf(elem string) int64    { return -1 << (widths[elem] - 1) }
func greatestOf(elem string) int64 { return 1<<(widths[elem]-1) - 1 }

// wrapped is a number as so many bits have it; one bit is 0 or 1.
func wrapped(elem string, n int64) int64 {
	w := widths[elem]
	if w == 1 {
		return n & 1
	}
	return n << (64 - w) >> (64 - w)
}

// unsignedOf is the number that the bits of another are without a sign.
func unsignedOf(elem string, n int64) uint64 {
	return uint64(n) << (64 - widths[elem]) >> (64 - widths[elem])
}

// flowKinds are the statements with their weights.
var flowKinds []kind[*flow]

func init() {
	flowKinds = []kind[*flow]{
		{22, (*flow).computing}, {14, (*flow).entering}, {8, (*flow).adding}, {6, (*flow).storing}, {3, (*flow).storingByRound}, {5, (*flow).reading}, {3, (*flow).readingBack},
		{5, (*flow).assuming}, {8, (*flow).dividing}, {9, (*flow).edging}, {8, (*flow).touring}, {9, (*flow).gathering}, {4, (*flow).pointing}, {9, (*flow).guarding}, {8, (*flow).checking}, {4, (*flow).deciding}, {4, (*flow).folding}, {3, (*flow).turning}, {12, (*flow).branching}, {10, (*flow).leaving}, {12, (*flow).counting}, {22, (*flow).looping},
	}
}

// statements makes a few, none behind one that never ends but for some that do not run.
func (f *flow) statements(n int) {
	behind := 0
	for range n {
		if f.dead {
			if behind++; behind > 2 {
				return
			}
		}
		f.left--
		statementOf(f, f.r, flowKinds)
	}
}

// few is how many statements a region has.
func (f *flow) few() int {
	if f.left <= 0 || f.depth >= deepNest-1 {
		return f.r.IntN(2)
	}
	return f.r.IntN(4)
}

// nests reports whether another region may be made.
func (f *flow) nests() bool { return f.depth < deepNest-1 && f.left > 0 }

// shows has a run count that it comes by here.
func (f *flow) shows(what string) {
	f.steps = append(f.steps, func(*machine) signal { f.note(what); return onward })
}

// undefined ends a run that is none.
func (f *flow) undefined() signal { f.long = true; return returned }
