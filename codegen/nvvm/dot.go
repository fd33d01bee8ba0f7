package nvvm

import (
	"tileiras/codegen/atom"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/ir/float"
)

func init() { register(map[ir.Code]lowering{tileaa.OpDot: dot}) }

func dot(f *fn, op *ir.Op) {
	d := ir.Cast[tileaa.Dot](op)
	switch m := d.Atom(); {
	case m == nil:
		f.bug("the product has no atom")
	case m.Atom.Scalar():
		f.set(op, f.multiplyAdd(d, m.Atom))
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
	return f.getWords(o.tile, upTo(first, n))
}

// matrixProduct issues the instructions of a product: K outermost, so that the accumulators of one step are independent; columns
// run back and forth under rows, so that neighbours share an operand.
func (f *fn) matrixProduct(op tileaa.Dot, a *atom.MMA, swap bool) *tile {
	left, right := f.operandTile(op.Lhs()), f.operandTile(op.Rhs())
	acc := f.operandTile(op.Acc())
	ls, rs := left.l.Shape(), right.l.Shape()
	rank := len(ls)
	batches, m, k, n := 1, ls[rank-2], ls[rank-1], rs[rank-1]
	if rank == 3 {
		batches = ls[0]
	}
	stepM, stepN, stepK := a.Shape.M, a.Shape.N, a.Shape.K
	if swap {
		stepM, stepN = stepN, stepM
	}
	at := func(b, i, j int) []int {
		if rank == 3 {
			return []int{b, i, j}
		}
		return []int{i, j}
	}
	// The accumulators in machine registers, by the first element register of each fragment.
	ec := a.LayoutC.Regs()
	accs := map[int][]reg{}
	for b := range batches {
		for kk := 0; kk < k; kk += stepK {
			row := 0
			for mm := 0; mm < m; mm += stepM {
				first, ok := left.register(at(b, mm, kk)...)
				if !ok {
					continue // another warp's rows
				}
				for nn := range n / stepN {
					if row%2 == 1 {
						nn = n/stepN - 1 - nn
					}
					nn *= stepN
					second, ok := right.register(at(b, kk, nn)...)
					third, held := acc.register(at(b, mm, nn)...)
					if !ok || !held {
						continue
					}
					c := accs[third]
					if c == nil {
						c = f.fragment(acc, third, ec)
					}
					atomA, atomB := left, right
					if swap {
						atomA, atomB, first, second = right, left, second, first
					}
					x, y := f.fragment(atomA, first, a.LayoutA.Regs()), f.fragment(atomB, second, a.LayoutB.Regs())
					if swap {
						first = second
					}
					args := append(append(append([]reg(nil), x...), y...), c...)
					accs[third] = f.op(a.Op.Name, args...)
				}
				row++
			}
		}
	}
	out := f.newTile(elemOf(op.Result()), acc.len())
	for first := 0; first < acc.len(); first += ec {
		c := accs[first]
		if c == nil {
			f.bug("no instruction of %s makes register %d", a.Name, first)
		}
		if out.per == 1 {
			copy(out.regs[first:], c)
		} else {
			f.putWords(out, upTo(first, ec), c)
		}
	}
	f.fitResult(op.Op, out)
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

// dotOperand makes the operand for instructions that take width elements along K.
func (f *fn) dotOperand(v *ir.Value, isLeft bool, signedness def.Signedness, acc layout.Layout, width int) scalarOperand {
	sign := signedness == def.Signed
	var shape []int
	b := f.buffers[v]
	if b != nil {
		shape = ints(b.Shape)
	} else {
		shape = ints(tileaa.AsTile(v).Shape)
	}
	rank := len(shape)
	dim := rank - 1 // K
	if !isLeft {
		dim = rank - 2
	}
	steps := shape[dim] / width
	// The coordinates of the operand that element c of the result needs at place k.
	place := func(c []int, k int) []int {
		at := append([]int(nil), c...)
		at[dim] = k
		return at
	}
	// What the instruction takes of the elements of a tile of one step.
	taken := func(t *tile) reg {
		if width == 1 {
			return f.toSum(t, 0, sign)
		}
		return f.word(t, 0)
	}
	if b == nil {
		t, l := f.tileFor(v), f.tileLayout(v)
		span := layout.NewSpan(l.Column(layout.Reg)...)
		return scalarOperand{steps, func(r, step int) reg {
			part := f.newTile(t.elem, width)
			for j := range width {
				i, ok := span.Solve(l.Flat(place(acc.Coords(acc.Apply(r, 0, 0, 0)), step*width+j)))
				if !ok {
					f.bug("a thread does not hold the factor it needs")
				}
				part.regs[j] = f.reg(t, int(i))
			}
			return taken(part)
		}}
	}
	// In shared memory: the offset is linear in the coordinates of the result and in k.
	flat := func(at []int) uint64 {
		var n uint64
		for d, x := range at {
			n = n*uint64(shape[d]) + uint64(x)
		}
		return n
	}
	cols := f.columns(acc)
	for i := range cols {
		cols[i] = b.Mem.Linear(flat(place(acc.Coords(cols[i]), 0)))
	}
	at := func(r, k int) uint64 { return b.Mem.Linear(flat(place(acc.Coords(acc.Apply(r, 0, 0, 0)), k))) }
	load := func(t *tile, part uint64, regs []int) {
		one := run{regs: regs, guard: boolean(true)}
		one.base, one.offset = f.sharedAddress(b, cols, part, reg{})
		f.loadRun("ld.shared", one, t, nil)
	}
	loaded := map[uint64]*tile{}
	return scalarOperand{steps, func(r, step int) reg {
		parts := make([]uint64, width)
		for j := range parts {
			parts[j] = at(r, step*width+j)
		}
		t := loaded[parts[0]]
		if t == nil {
			t = f.newTile(b.Elem, width)
			if neighbours(b, cols, parts) {
				load(t, parts[0], upTo(0, width))
			} else {
				for j, part := range parts {
					load(t, part, []int{j})
				}
			}
			loaded[parts[0]] = t
		}
		return taken(t)
	}}
}

// neighbours reports whether the elements of a buffer at these offsets lie side by side, the first at a multiple of their number,
// wherever the thread's part of the offset (cols) leads.
func neighbours(b *buffer, cols, parts []uint64) bool {
	pad, _ := b.Mem.Padding()
	low := parts[0] | uint64(pad)
	for _, c := range cols {
		low |= c
	}
	for j, part := range parts {
		if part != parts[0]+uint64(j) {
			return false
		}
	}
	return low&uint64(len(parts)-1) == 0
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
