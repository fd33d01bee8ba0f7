package random

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// typ is a type of tiles: an element type and a shape, whose extents are powers of two.
type typ struct {
	elem  string
	shape []int
}

func (t typ) String() string { return "tile<" + dims(t.shape) + t.elem + ">" }

// dims is "8x16x" for 8, 16.
func dims(shape []int) string {
	var b strings.Builder
	for _, n := range shape {
		fmt.Fprintf(&b, "%dx", n)
	}
	return b.String()
}

func (t typ) n() int {
	n := 1
	for _, d := range t.shape {
		n *= d
	}
	return n
}

func (t typ) is(u typ) bool { return t.elem == u.elem && slices.Equal(t.shape, u.shape) }

func (t typ) with(elem string) typ { return typ{elem, t.shape} }

func scalar(elem string) typ { return typ{elem, nil} }

// value is a value of the program.
type value struct {
	name string
	typ
	// inexact: the interpreter may call elements inexact; only float arithmetic, data movement and stores may use it.
	inexact bool
	// bound, if not 0: every element is an integer, also in a float type, of at most this magnitude.
	bound int
}

// generator is the state of one module under construction.
type generator struct {
	r           *rand.Rand
	body        strings.Builder
	indent      int
	names       int
	values      []value  // visible here, older first
	params      []string // element type of the buffer, or the type of a scalar
	inputs      map[string]int
	shapes      [][]int  // the shapes of this program
	token       string   // what orders accesses to scratch memory here; "" where nothing does
	depth       int      // of regions
	loops       int      // of them
	block       value    // number of the tile block
	globals     []string // of the module
	disabled    []Feature
	maxNesting  int             // nesting of regions
	lastOperand string          // name of the operand that was chosen last
	used        map[string]bool // values that something is made of: what nothing is made of, the compiler drops
	sums        []value         // of loops along K outside of regions: always results, or nothing would be left of the loop
	tally       Tally
	fewWarps    bool // which must cut its biggest tiles
}

// Feature is something that modules have unless it is disabled: what a compiler for a GPU does not accept, or what would show a
// known fault again and again.
type Feature string

// Features.
const (
	F8 Feature = "f8" // floats of 8 bits
	F4 Feature = "f4" // floats of 4 bits and scales
	// Truth is the conversion of floats to i1.
	Truth Feature = "truth"
	// Narrow numbers of views have 8 or 16 bits.
	Narrow Feature = "narrow"
	// Rounds of a loop access places that the rounds before them did.
	Rounds Feature = "rounds"
	// Alloca is memory of a tile block.
	Alloca Feature = "alloca"
	// Overshift is a shift by as many bits as there are or more.
	Overshift Feature = "overshift"
	// HalfAtomics add bf16 atomically.
	HalfAtomics Feature = "bf16 atomics"
)

// knownFaults lists the features that would show a known fault again and again, each with that fault. They are disabled until it
// is fixed.
var knownFaults = map[Feature]string{}

// Kind is what every module of a run has.
type Kind string

// Kinds.
const (
	// Mixed modules have anything.
	Mixed Kind = ""
	// Products: every module has a product in a loop of which an array ends inside a tile.
	Products Kind = "products"
	// Big: every module has attention, or a product with what is fused to it, with tiles as big as those of users, and little else.
	Big Kind = "big"
	// Rows: every module has a loop over rows whose elements meet, and little else.
	Rows Kind = "rows"
	// Tiles: every module has a product whose tiles the blocks share in a loop, and little else.
	Tiles Kind = "tiles"
	// Programs: loops, branches, products and accesses to memory that is written, nested at random, with numbers that the generator knows by itself.
	Programs Kind = "programs"
	// Control: ifs, fors and loops of every shape, with jumps out of any of them, in which every order of what happens is seen; the generator knows it by itself.
	Control Kind = "control"
)

// kindsOfModules lists them.
var kindsOfModules = []Kind{Mixed, Products, Big, Rows, Tiles, Programs, Control}

// Module makes the text of a module from a seed. Size is about how many operations its author thinks of.
func Module(seed uint64, size int, without ...Feature) string {
	text, _ := ModuleOf(Mixed, seed, size, without...)
	return text
}

// ModuleOf makes the text of a module of a kind, and counts its products in loops.
func ModuleOf(kind Kind, seed uint64, size int, without ...Feature) (string, Tally) {
	text, g, _ := moduleAndProgram(kind, seed, size, without...)
	return text, g.tally
}

// moduleAndProgram gives also what was made, and what the module means where its kind is of programs.
func moduleAndProgram(kind Kind, seed uint64, size int, without ...Feature) (string, *generator, *program) {
	g := &generator{r: rand.New(rand.NewPCG(seed, 0x74696c65)), indent: 2, inputs: map[string]int{}, used: map[string]bool{}, disabled: without, maxNesting: maxDepth}
	g.pickShapes()
	if g.chance(10) {
		g.maxNesting = deepNest
	}
	g.begin()
	var p *program
	switch kind {
	case Control:
		p = g.flow(size)
	case Programs:
		p = g.program(size)
	case Big:
		g.statements(size / 8)
		if g.chance(60) {
			g.attention()
		} else {
			g.fused()
		}
		size /= 8
	case Rows:
		g.statements(size / 8)
		g.norms()
		size /= 8
	case Tiles:
		g.statements(size / 8)
		for g.tally.Products == 0 {
			g.persistentTiles()
		}
		size /= 8
	case Products:
		g.statements(size / 8) // what else there is, few operations of it
		for g.tally.Ragged == 0 {
			g.raggedProduct()
		}
		if g.chance(25) {
			g.chain()
		}
		size /= 4
	}
	if p == nil {
		g.statements(size)
		if kind == Mixed {
			g.rowOf(seed)
		}
		g.results()
	}
	g.emit("return")

	return g.text(kind), g, p
}

// begin writes what every entry begins with.
func (g *generator) begin() {
	g.indent = 2
	g.token = g.fresh()
	g.emit("%s = make_token : token", g.token)
	x, y, z := g.fresh(), g.fresh(), g.fresh()
	g.emit("%s, %s, %s = get_tile_block_id : tile<i32>", x, y, z)
	g.block = value{name: x, typ: scalar("i32"), bound: grid}
	g.values = append(g.values, g.block)
}

// text is the module around its body.
func (g *generator) text(kind Kind) string {
	var b strings.Builder
	b.WriteString("cuda_tile.module @random {\n")
	for _, line := range g.globals {
		b.WriteString("  " + line + "\n")
	}
	b.WriteString("  entry @" + entry + "(")
	for i, p := range g.params {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%%p%d: tile<%s>", i, p)
	}
	b.WriteString(")" + g.hints(kind) + " {\n" + g.body.String() + "  }\n}\n")
	return b.String()
}

// hints ask for warps, and for blocks on a multiprocessor, in some modules with products.
func (g *generator) hints(kind Kind) string {
	if likely := map[bool]int{false: 40, true: 75}[g.fewWarps]; kind == Mixed || !g.chance(likely) {
		return ""
	}
	warps := choose(g, 1, 2, 4, 8, 8, 16, 32)
	if g.fewWarps && g.chance(70) {
		warps = choose(g, 1, 2)
	}
	hints := fmt.Sprintf("num_worker_warps_per_cta = %d", warps)
	if g.chance(30) {
		hints += fmt.Sprintf(", occupancy = %d", choose(g, 1, 2, 4, 8))
	}
	return " optimization_hints=<default = {" + hints + "}>"
}

// maxElements bounds tiles.
const maxElements = 8192

// usualElements bounds most tiles: big ones cost time.
const usualElements = 1024

// pickShapes chooses a few related shapes, so that values can be combined.
func (g *generator) pickShapes() {
	rank := choose(g, 1, 2, 2, 2, 3, 3, 4)
	limit := usualElements
	if g.chance(8) {
		limit = maxElements
	}
	full := make([]int, rank)
	n := 1
	for d := range full {
		full[d] = 1 << g.r.IntN(8)
		for n*full[d] > limit {
			full[d] /= 2
		}
		n *= full[d]
	}
	less := slices.Clone(full)
	less[g.r.IntN(rank)] = 1
	g.shapes = [][]int{full, full, less, {n}}
	if rank > 1 {
		d := g.r.IntN(rank)
		g.shapes = append(g.shapes, slices.Concat(full[:d], full[d+1:]))
	}
	g.shapes = append(g.shapes, nil)
}

// enabled reports whether modules have a feature.
func (g *generator) enabled(f Feature) bool {
	return !slices.Contains(g.disabled, f) && knownFaults[f] == ""
}

func (g *generator) shape() []int { return g.shapes[g.r.IntN(len(g.shapes))] }

func (g *generator) chance(percent int) bool { return g.r.IntN(100) < percent }

func choose[T any](g *generator, list ...T) T { return list[g.r.IntN(len(list))] }

func (g *generator) fresh() string {
	g.names++
	return fmt.Sprintf("%%v%d", g.names)
}

// emit writes a line of the body.
func (g *generator) emit(format string, args ...any) {
	g.body.WriteString(strings.Repeat("  ", g.indent))
	fmt.Fprintf(&g.body, format+"\n", args...)
}

// define makes a value from the text of an operation with one result, and makes it visible.
func (g *generator) define(t typ, format string, args ...any) value {
	v := value{name: g.fresh(), typ: t}
	g.emit("%s = %s", v.name, fmt.Sprintf(format, args...))
	g.values = append(g.values, v)
	return v
}

// mark updates what is known of a value.
func (g *generator) mark(v value) value {
	for i := len(g.values) - 1; i >= 0; i-- {
		if g.values[i].name == v.name {
			g.values[i] = v
		}
	}
	return v
}

// find is a random visible value that suits, with a bias to newer ones and to those without a use.
func (g *generator) find(suits func(value) bool) (value, bool) {
	var found, fresh []value
	for _, v := range g.values {
		if suits(v) {
			found = append(found, v)
			if !g.used[v.name] {
				fresh = append(fresh, v)
			}
		}
	}
	if len(found) == 0 {
		return value{}, false
	}
	if len(fresh) > 0 && g.chance(70) {
		found = fresh
	}
	v := found[max(g.r.IntN(len(found)), g.r.IntN(len(found)))]
	g.used[v.name] = true
	return v, true
}

// exact is an exact value of a type, which may be used for anything.
func (g *generator) exact(t typ) value { return g.want(t, func(v value) bool { return !v.inexact }) }

// any is a value of a type that may be used where inexact values may.
func (g *generator) any(t typ) value { return g.want(t, func(value) bool { return true }) }

// want finds or makes a value of a type. What it makes is exact.
func (g *generator) want(t typ, suits func(value) bool) value {
	v, ok := value{}, false
	if g.chance(12) { // the operand that was chosen last, once more
		v, ok = g.find(func(v value) bool { return v.is(t) && suits(v) && v.name == g.lastOperand })
	}
	if !ok && !g.chance(10) {
		v, ok = g.find(func(v value) bool { return v.is(t) && suits(v) })
	}
	if !ok {
		v = g.make(t)
	}
	g.lastOperand = v.name
	return v
}

// make makes an exact value of a type from others, from memory or from nothing.
func (g *generator) make(t typ) value {
	switch g.r.IntN(6) {
	case 0, 1: // the same shape, other elements
		if v, ok := g.find(func(v value) bool { return !v.inexact && v.elem != t.elem && slices.Equal(v.shape, t.shape) }); ok {
			return g.convert(v, t.elem)
		}
	case 2: // the same elements, one of them for all
		if v, ok := g.find(func(v value) bool {
			return !v.inexact && v.elem == t.elem && broadcastable(v.shape, t.shape) && widths[t.elem] != 4
		}); ok {
			return g.broadcast(v, t.shape)
		}
	case 3:
		if isInt(t.elem) && widths[t.elem] >= 8 {
			return g.iotaAlong(t)
		}
	case 4:
		if inMemory(t.elem) {
			return g.load(t)
		}
	}
	return g.constant(t)
}

// statements adds operations.
func (g *generator) statements(n int) {
	for range n {
		g.statement()
	}
}

// kind is a kind of statement that a generator makes.
type kind[G any] struct {
	weight int
	make   func(G)
}

// statementOf makes a statement of one of some kinds.
func statementOf[G any](g G, r *rand.Rand, kinds []kind[G]) {
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	at := r.IntN(total)
	for _, k := range kinds {
		if at -= k.weight; at < 0 {
			k.make(g)
			return
		}
	}
}

// kinds of statements with their weights. It is filled by init, because statements are made of statements.
var kinds []kind[*generator]

func init() {
	kinds = []kind[*generator]{
		{18, (*generator).intBinary}, {6, (*generator).intUnary}, {6, (*generator).compare}, {4, (*generator).pick},
		{12, (*generator).floatBinary}, {6, (*generator).floatUnary}, {12, (*generator).approximate},
		{11, (*generator).conversion}, {41, (*generator).reshaping}, {6, (*generator).reduction}, {7, (*generator).scanning},
		{4, (*generator).product}, {7, (*generator).loading}, {4, (*generator).roundTrip}, {5, (*generator).atomic},
		{6, (*generator).forLoop}, {6, (*generator).branch}, {5, (*generator).breakLoop}, {2, (*generator).matmul}, {1, (*generator).chain}, {1, (*generator).earlyReturn},
		{10, (*generator).gather}, {3, (*generator).atomicView}, {11, (*generator).extents}, {2, (*generator).stores},
		{2, (*generator).scatter}, {2, (*generator).joinedTokens}, {3, (*generator).global}, {1, (*generator).scaled}, {8, (*generator).packing},
		{5, (*generator).tokenChain}, {2, (*generator).pointerLoop}, {2, (*generator).writeAfterRead}, {1, (*generator).messagePassing}, {2, (*generator).padded},
		{2, (*generator).sideEffectIf}, {2, (*generator).overlaps}, {2, (*generator).assumes}, {4, (*generator).rowOperation},
	}
}

func (g *generator) statement() { statementOf(g, g.r, kinds) }

// scope runs f in a region: what f defines is forgotten.
func (g *generator) scope(f func()) {
	n, token, loops := len(g.values), g.token, g.loops
	g.depth++
	g.indent++
	f()
	g.indent--
	g.depth--
	g.values, g.token, g.loops = g.values[:n:n], token, loops
}
