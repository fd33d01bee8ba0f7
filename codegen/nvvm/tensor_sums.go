package nvvm

import (
	"fmt"
	"math/bits"

	"tileiras/codegen/atom"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// This file moves sums of the tensor unit between tensor memory and registers.

// warpColumns is the address of the sums of a thread's warp in tensor memory.
func (p *tensorProduct) warpColumns() reg {
	f := p.fn
	cols := make([]uint64, layout.LaneBits+f.warpBits())
	for i, c := range p.acc.l.Column(layout.Warp) {
		if i < bits.TrailingZeros(uint(p.Group)) {
			cols[layout.LaneBits+i] = 1 << (tensorLaneShift + layout.LaneBits + i)
		} else {
			cols[layout.LaneBits+i] = uint64(p.columnOf(p.acc.l.Coords(c)) - p.column)
		}
	}
	return f.add(p.memory.base, f.linear(cols))
}

// inPieces visits the sums of a thread, at most so many at a time: the number of the first register, how many there are, and their column.
func (p *tensorProduct) inPieces(most int, visit func(first, n int, column reg)) {
	n := min(p.LayoutC.Regs(), most)
	for first := 0; first < p.acc.l.Regs(); first += n {
		visit(first, n, i32(p.columnOf(p.acc.l.Coords(p.acc.l.Apply(first, 0, 0, 0)))))
	}
}

// letter says of which registers the sums are.
func (p *tensorProduct) letter() string {
	if p.C == atom.F32 {
		return "f"
	}
	return "r"
}

func (p *tensorProduct) load(own, column reg, n int) []reg {
	return p.op(fmt.Sprintf("tcgen05.ld.%s.x%d.%s", p.Tensor.Access(), n, p.letter()), p.place(own, column)...)
}

// place is the arguments of an access that say where: its address, and of rows in parts how far apart they are.
func (p *tensorProduct) place(own, column reg) []reg {
	if p.Tensor.Parts() == 1 {
		return []reg{own, column}
	}
	return []reg{own, column, i32(int64(p.LayoutC.Regs()))}
}

func (p *tensorProduct) loaded(regs []reg) []reg {
	return p.op(fmt.Sprintf("tcgen05.wait::ld.%s%d", p.letter(), len(regs)), regs...)
}

func (p *tensorProduct) store(own, column reg, regs []reg) {
	p.op(fmt.Sprintf("tcgen05.st.%s.x%d.%s", p.Tensor.Access(), len(regs), p.letter()), append(p.place(own, column), regs...)...)
}

// storedThere ends stores to tensor memory, which the unit then may see when all have met.
func (f *fn) storedThere() {
	f.op("tcgen05.wait::st")
	f.op("tcgen05.fence::before_thread_sync")
}

// sum brings what the unit has summed to registers, and adds what was there before, if there was something.
func (p *tensorProduct) sum(before *tile) *tile {
	f := p.fn
	t := tileaa.AsTile(p.dot.Result())
	out := f.newTile(t.Elem, numRegs(t))
	if before == nil || allZero(f.all(before)) {
		all := make([]int, out.len())
		for i := range all {
			all[i] = i
		}
		return p.part(all)
	}
	f.op("tcgen05.fence::after_thread_sync")
	own := p.warpColumns()
	p.inPieces(maxAdded, func(first, n int, column reg) {
		for i, x := range p.loaded(p.load(own, column, n)) {
			out.regs[first+i] = p.plus(f.reg(before, first+i), x)
		}
	})
	f.op("tcgen05.fence::before_thread_sync")
	return out
}

// maxAdded is the columns that are loaded at once where they are added to registers, and maxScaled where they are rescaled and stored again
// while threads hold the other values of an iteration: with more, attention loses resident blocks, or spills.
const maxAdded, maxScaled = 32, 16

// plus is the sum of two accumulators.
func (p *tensorProduct) plus(x, y reg) reg {
	switch {
	case x.isConst() && x.bits == 0:
		return y
	case p.C == atom.F32:
		return p.fadd(x, y)
	}
	return p.add(x, y)
}

// tensorLaneShift is where the lane stands in an address of tensor memory; maxTensorLoad is the columns of the widest load.
const tensorLaneShift, maxTensorLoad = 16, 128

// sumsOf is the product of an op on sums.
func (f *fn) sumsOf(op *ir.Op) *tensorProduct {
	d, ok := tileaa.ProductOf(ir.Cast[tileaa.SumsOp](op))
	if !ok {
		f.bug("its operand is in registers")
	}
	return f.tensorProductOf(d)
}

// part brings the sums that whole tiles have in some registers, in order.
func (p *tensorProduct) part(regs []int) *tile {
	f := p.fn
	out := f.newTile(tileaa.AsTile(p.dot.Result()).Elem, len(regs))
	f.op("tcgen05.fence::after_thread_sync")
	own := p.warpColumns()
	var got []reg
	for from := 0; from < len(regs); {
		n := 1 << (bits.Len(uint(min(p.LayoutC.Regs(), maxTensorLoad, len(regs)-from))) - 1)
		for regs[from+n-1] != regs[from]+n-1 {
			n /= 2
		}
		got = append(got, p.load(own, i32(p.columnOf(p.acc.l.Coords(p.acc.l.Apply(regs[from], 0, 0, 0)))), n)...)
		from += n
	}
	copy(out.regs, p.loaded(got))
	f.op("tcgen05.fence::before_thread_sync")
	return out
}

// dotLand brings to registers what a product has put into tensor memory that loops have carried on, or a piece of it, or waits for what one of warpgroups puts into
// them.
func dotLand(f *fn, op *ir.Op) {
	if d, ok := ir.DefinedBy[tileaa.Dot](op.Operand(0)); ok && d.Atom().Atom.ByWarpgroup() {
		f.set(op, f.landed(f.tileFor(op.Operand(0))))
		return
	}
	p := f.sumsOf(op)
	if len(ir.Cast[tileaa.DotLand](op).Indices()) == 0 {
		f.set(op, p.sum(nil))
		return
	}
	regs, _, _ := f.piece(op, tileaa.AsTile(op.Operand(0)), tileaa.AsTile(op.Result(0)))
	f.set(op, p.part(regs))
}

// sumsStore stores a tile, and arrives where products in its place would: waits count it as them.
func sumsStore(f *fn, op *ir.Op) {
	p, t := f.sumsOf(op), f.tileFor(op.Operand(0))
	own := p.warpColumns()
	p.inPieces(maxTensorLoad, func(first, n int, column reg) { p.store(own, column, f.all(t)[first:first+n]) })
	p.storedThere()
	for range tileaa.CountsAs(ir.Cast[tileaa.SumsStore](op)) {
		p.memory.arrive(f)
	}
	f.set(op, nil)
}

// sumsScale multiplies what is in tensor memory, in a straight line also by what may be one: the exponentials of an attention run beside it.
func sumsScale(f *fn, op *ir.Op) {
	p, factor, elem := f.sumsOf(op), f.all(f.tileFor(op.Operand(1))), elemOf(op.Operand(1))
	f.op("tcgen05.fence::after_thread_sync")
	own := p.warpColumns()
	turns := f.interleavedStores(op, p.acc.l.Regs()/min(p.LayoutC.Regs(), maxScaled))
	p.inPieces(maxScaled, func(first, n int, column reg) {
		got := f.tileOf(elem, p.loaded(p.load(own, column, n))...)
		p.store(own, column, f.all(f.floats(elem, "mul", ".rn", "", got, f.tileOf(elem, factor[first:first+n]...))))
		turns()
	})
	if !ir.Is[tileaa.FactorStore](op.Next()) { // which waits for all
		f.storedThere()
	}
	f.set(op, nil)
}

// interleavedStores returns what to do after each of so many pieces of an op: stores of the factor that comes next, if it takes the columns
// of the sums it is computed from. Threads have no registers to hold more of it.
func (f *fn) interleavedStores(op *ir.Op, pieces int) (turn func()) {
	s, ok := ir.As[tileaa.FactorStore](op.Next())
	if !ok || s.Over() == nil {
		return func() {}
	}
	stores := f.storesOf(s)
	all, done := len(stores), 0
	return func() {
		for done++; len(stores) > 0 && all-len(stores) < all*done/pieces; stores = stores[1:] {
			stores[0]()
		}
	}
}
