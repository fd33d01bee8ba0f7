package nvvm

import (
	"math/bits"
	"slices"

	"tileiras/codegen/atom"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/ir/float"
)

func init() {
	register(ir.Table[lowering]{tileaa.OpDot & ir.Place: dot})
}

func dot(f *fn, op *ir.Op) {
	d := ir.Cast[tileaa.Dot](op)
	switch m := d.Atom(); {
	case m == nil:
		f.bug("the product has no atom")
	case m.Atom.Scalar():
		f.set(op, f.multiplyAdd(d, m.Atom))
	case m.Atom.Tensor != nil:
		f.set(op, f.tensorProduct(d))
	case m.Atom.Group > 0:
		f.set(op, f.warpgroupProduct(d, m))
	default:
		f.set(op, f.matrixProduct(d, m.Atom, m.Swap))
	}
}

// operandTile is a matrix operand: its registers and the map from elements to them.
type operandTile struct {
	*tile
	l    layout.Layout
	span *layout.Span
}

func (f *fn) operandTile(v *ir.Value) *operandTile {
	l := f.tileLayout(v)
	return &operandTile{tile: f.tileFor(v), l: l, span: layout.NewSpan(l.Column(layout.Reg)...)}
}

// register finds the register that holds the element at these coordinates in the thread that holds element 0.
func (o *operandTile) register(at ...int) (int, bool) {
	r, ok := o.span.Solve(o.l.Flat(at))
	return int(r), ok
}

// fragment is the machine registers of n element registers from first on: words of packed types.
func (f *fn) fragment(o *operandTile, first, n int) []reg {
	if o.per == 1 {
		out := make([]reg, n)
		for i := range out {
			out[i] = f.reg(o.tile, first+i)
		}
		return out
	}
	return f.getWords(o.tile, f.upTo(first, n))
}

// A product is the instructions of a matrix product: its operands in registers and the accumulators so far.
type product struct {
	*fn
	*atom.MMA
	swap             bool // the instruction computes the transposed product
	readsAsyncCopies bool // a matrix unit reads what copies have brought
	left, right, acc *operandTile
	scales           *scales // nil without
	sums             [][]reg // the accumulators in machine registers, by the first element register of each fragment
}

// matrixProduct issues the instructions of a product: K outermost, so that the accumulators of one step are independent; columns
// run back and forth under rows, or rows beside columns, so that neighbours share an operand.
func (f *fn) matrixProduct(op tileaa.Dot, a *atom.MMA, swap bool) *tile {
	p := &product{fn: f, MMA: a, swap: swap, left: f.operandTile(op.Lhs()), right: f.operandTile(op.Rhs()), acc: f.operandTile(op.Acc())}
	p.sums = make([][]reg, p.acc.len())
	if a.HoldsScales() {
		p.scales = f.scalesOf(op, a, swap)
	}
	left := p.left.l.Shape()
	rank := len(left)
	batches := 1
	if rank == 3 {
		batches = left[0]
	}
	from, to := p.depths(op)
	ofRows, ofColumns := a.LayoutA.Regs(), a.LayoutB.Regs()
	if swap {
		ofRows, ofColumns = ofColumns, ofRows
	}
	rows, columns := parts(p.left.l, ofRows, rank-2), parts(p.right.l, ofColumns, rank-1)
	for b := range batches {
		for k := from; k < to; k += a.Shape.K {
			p.step(b, k, rows[depth{b, k}], columns[depth{b, k}])
		}
	}
	out := p.result(elemOf(op.Result()))
	f.fitResult(op.Op, out)
	return out
}

// part is a fragment of an operand that this warp has: where it begins along its dimension, and its first element register.
type part struct{ at, reg int }

// depth is a step along K of a batch.
type depth struct{ batch, k int }

// parts lists the fragments of an operand, of so many registers each, along dimension side, for every step along K.
func parts(l layout.Layout, regs, side int) map[depth][]part {
	along := 2*l.Rank() - 3 - side // the other one of the last two
	all := map[depth][]part{}
	for r, same := range l.RegReps() {
		if r%regs != 0 || same != r {
			continue
		}
		at, d := l.Coords(l.Apply(r, 0, 0, 0)), depth{}
		if d.k = at[along]; l.Rank() == 3 {
			d.batch = at[0]
		}
		list := all[d]
		i, _ := slices.BinarySearchFunc(list, at[side], func(p part, at int) int { return p.at - at })
		all[d] = slices.Insert(list, i, part{at[side], r})
	}
	return all
}

// step issues the instructions of one step along K. The operand of more registers is the outer one: each of its fragments is done with when
// the next one comes, and only those of the other stay.
func (p *product) step(batch, k int, rows, columns []part) {
	wordsOfRows, wordsOfColumns := p.WordsA, p.WordsB
	if p.swap {
		wordsOfRows, wordsOfColumns = p.WordsB, p.WordsA
	}
	outer, inner, byColumns := rows, columns, len(columns)*wordsOfColumns > len(rows)*wordsOfRows
	if byColumns {
		outer, inner = columns, rows
	}
	for n, x := range outer {
		for i := range inner {
			if n%2 == 1 {
				i = len(inner) - 1 - i
			}
			row, column := x, inner[i]
			if byColumns {
				row, column = column, row
			}
			if sum, ok := p.acc.register(p.place(batch, row.at, column.at)...); ok {
				p.issue(row.reg, column.reg, sum, p.scales.of(batch, row.at, k, column.at))
			}
		}
	}
}

// place is the coordinates of an element of an operand or of the result.
func (p *product) place(batch, i, j int) []int {
	if len(p.acc.l.Shape()) == 3 {
		return []int{batch, i, j}
	}
	return []int{i, j}
}

// issue issues one instruction; its fragments begin at these element registers, and these are the arguments for scales.
func (p *product) issue(left, right, sum int, scales []reg) {
	c := p.sums[sum]
	if c == nil {
		c = p.fragment(p.acc, sum, p.LayoutC.Regs())
	}
	a, b := p.left, p.right
	if p.swap {
		a, b, left, right = b, a, right, left
	}
	x, y := p.fragment(a, left, p.LayoutA.Regs()), p.fragment(b, right, p.LayoutB.Regs())
	args := p.regs.Take(len(x) + len(y) + len(c) + len(scales))[:0]
	for _, list := range [...][]reg{x, y, c, scales} {
		args = append(args, list...)
	}
	p.sums[sum] = p.rowOp(p.Op, args...)
}

// result is the tile of the accumulators, in their layout.
func (p *product) result(elem ir.Type) *tile {
	n := p.LayoutC.Regs()
	out := p.newTile(elem, p.acc.len())
	for first := 0; first < p.acc.len(); first += n {
		c := p.sums[first]
		switch {
		case c == nil:
			p.bug("no instruction of %s makes register %d", p.Name, first)
		case out.per == 1:
			copy(out.regs[first:], c)
		default:
			p.putWords(out, p.upTo(first, n), c)
		}
	}
	return out
}

// fitResult checks that the accumulator and the result are in one layout.
func (f *fn) fitResult(op *ir.Op, out *tile) {
	if n := numRegs(tileaa.AsTile(op.Result(0))); n != out.len() {
		f.bug("the accumulator has %d registers, the result %d", out.len(), n)
	}
}

// multiplyAdd computes each element of the result in its own thread, in the order of K. The operands lie in shared memory, or in
// registers that hold all of K for the rows and columns of the thread's elements.
func (f *fn) multiplyAdd(op tileaa.Dot, a *atom.MMA) *tile {
	acc := f.tileLayout(op.Acc())
	c := f.tileFor(op.Acc())
	elem := elemOf(op.Result())
	left, right := f.dotOperand(op.Lhs(), true, op.SignednessLhs(), acc, a.Shape.K), f.dotOperand(op.Rhs(), false, op.SignednessRhs(), acc, a.Shape.K)
	out := f.newTile(elem, c.len())
	ownOf := acc.RegReps()
	// f16 accumulators are kept in f32 until the end.
	sums := make([]reg, c.len())
	wide := f.accumulators(c)
	copy(sums, wide)
	for step := range left.steps {
		for r := range sums {
			if ownOf[r] != r {
				continue
			}
			x, y := left.at(r, step), right.at(r, step)
			sums[r] = f.fused(a, x, y, sums[r])
		}
	}
	for r := range sums {
		sums[r] = sums[ownOf[r]]
	}
	if out.k == kI16 {
		return f.narrowed(elem, sums, ".rn")
	}
	copy(out.regs, sums)
	out.home = f.cur
	return out
}

func (f *fn) accumulators(c *tile) []reg {
	if c.k == kI16 {
		return f.all(f.widened(c))
	}
	return f.all(c)
}

// fused is x*y + z in the type of z; for dp4a x and y are words, whose products are summed.
func (f *fn) fused(a *atom.MMA, x, y, z reg) reg {
	if a.Op != nil {
		return f.op1(a.Op.Name, x, y, z)
	}
	switch z.k {
	case kI32:
		return f.op1("mad.lo.s32", x, y, z)
	case kF64:
		return f.op1("fma.rn.f64", x, y, z)
	}
	return f.op1("fma.rn.f32", x, y, z)
}

// scalarOperand gives, for register r of the result and a step along K, what an instruction takes of an operand: an element in the
// type of the sum, or a word of neighbours along K.
type scalarOperand struct {
	steps int
	at    func(r, step int) reg
}

// A factor is an operand of which scalar instructions take width elements along K, its dimension dim.
type factor struct {
	*fn
	shape      []int
	dim, width int
	signed     bool
	acc        layout.Layout // of the result
}

// dotOperand makes the operand for instructions that take width elements along K.
func (f *fn) dotOperand(v *ir.Value, isLeft bool, signedness def.Signedness, acc layout.Layout, width int) scalarOperand {
	b := f.buffers[v]
	var shape []int
	if b != nil {
		shape = layout.Dims(b.Shape)
	} else {
		shape = layout.Dims(tileaa.AsTile(v).Shape)
	}
	o := factor{fn: f, shape: shape, dim: len(shape) - 2, width: width, signed: signedness == def.Signed, acc: acc}
	if isLeft {
		o.dim++
	}
	at := o.inRegisters
	if b != nil {
		at = o.inBuffer
	}
	return scalarOperand{shape[o.dim] / width, at(v)}
}

// place is the coordinates of the element that element c of the result needs at place k along K.
func (o factor) place(c []int, k int) []int {
	at := slices.Clone(c)
	at[o.dim] = k
	return at
}

// taken is what an instruction takes of a tile, where the elements of its step begin at i.
func (o factor) taken(t *tile, i int) reg {
	if o.width == 1 {
		return o.toSum(t, i, o.signed)
	}
	return o.word(t, i/o.width)
}

// inRegisters reads a factor that each thread holds for its rows and columns.
func (o factor) inRegisters(v *ir.Value) func(r, step int) reg {
	t, l := o.tileFor(v), o.tileLayout(v)
	span := layout.NewSpan(l.Column(layout.Reg)...)
	return func(r, step int) reg {
		part := o.newTile(t.elem, o.width)
		for j := range o.width {
			i, ok := span.Solve(l.Flat(o.place(o.acc.Coords(o.acc.Apply(r, 0, 0, 0)), step*o.width+j)))
			if !ok {
				o.bug("a thread does not hold the factor it needs")
			}
			part.regs[j] = o.reg(t, int(i))
		}
		return o.taken(part, 0)
	}
}

// inBuffer reads a factor in shared memory, each element once: with it comes what lies beside it, if the thread needs all of that.
func (o factor) inBuffer(v *ir.Value) func(r, step int) reg {
	b := o.buffers[v]
	needed := o.acc.RemoveDim(o.dim).ExpandDim(o.dim).Repeat(layout.Reg, o.dim, bits.TrailingZeros(uint(o.shape[o.dim])))
	vectors, _ := b.Mem.Vectors(needed, b.Mem.MaxVec(needed, 16/b.bytes))
	cols := o.threadOffsets(vectors.Lane, vectors.Warp)
	loaded := map[uint64]*tile{}
	element := func(at uint64) (t *tile, i int) {
		first := at &^ uint64(vectors.Vec-1)
		if t = loaded[first]; t == nil {
			one := run{regs: o.upTo(0, vectors.Vec), guard: boolean(true)}
			one.base, one.offset = o.sharedAddress(b, cols, first, corner{})
			t = o.newTile(b.Elem, vectors.Vec)
			o.loadRun("ld.shared", one, t, nil)
			loaded[first] = t
		}
		return t, int(at - first)
	}
	return func(r, step int) reg {
		c := o.acc.Coords(o.acc.Apply(r, 0, 0, 0))
		at := make([]uint64, o.width)
		for j := range at {
			at[j] = b.Mem.Linear(needed.Flat(o.place(c, step*o.width+j)))
		}
		if t, i := element(at[0]); vectors.Vec >= o.width && neighbours(at) {
			return o.taken(t, i)
		}
		part := o.newTile(b.Elem, o.width)
		for j := range at {
			t, i := element(at[j])
			part.regs[j] = o.reg(t, i)
		}
		return o.taken(part, 0)
	}
}

// neighbours reports whether elements at these offsets lie side by side, the first at a multiple of their number.
func neighbours(at []uint64) bool {
	for j, x := range at {
		if x != at[0]+uint64(j) {
			return false
		}
	}
	return at[0]%uint64(len(at)) == 0
}

// toSum is element i of an operand in the type in which products are summed.
func (f *fn) toSum(t *tile, i int, sign bool) reg {
	if ft, ok := t.elem.(*ir.FloatType); ok {
		if ft.Format == float.F32 || ft.Format == float.F64 {
			return f.reg(t, i)
		}
		return f.toF32(t, i, ft.Format)
	}
	return f.resize(f.reg(t, i), kI32, sign)
}
