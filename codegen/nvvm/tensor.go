package nvvm

import (
	"slices"

	"tileiras/codegen/atom"
	"tileiras/codegen/layout"
	"tileiras/codegen/planted"
	"tileiras/codegen/ptxop"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// This file lowers products of the tensor unit (PTX ISA, "Tensorcore 5th Generation Family Instructions"). One thread begins them, the unit sums in tensor
// memory, and all threads wait at an mbarrier before they read there. Products are counted: that of number n arrives at mbarrier n mod 8, whose phase is
// n/8. Loops and branches carry the count.

func init() {
	register(ir.Table[lowering]{
		tileaa.OpAllocTensor & ir.Place:   func(*fn, *ir.Op) {}, // those that use it know it
		tileaa.OpTensorAcquire & ir.Place: tensorAcquire,
		tileaa.OpTensorAddress & ir.Place: tensorAddress,
		tileaa.OpTensorRelease & ir.Place: tensorRelease,
		tileaa.OpDotLand & ir.Place:       dotLand,
		tileaa.OpSumsStore & ir.Place:     sumsStore,
		tileaa.OpSumsScale & ir.Place:     sumsScale,
		tileaa.OpFactorStore & ir.Place:   factorStore,
	})
}

// tensorMemory is a kernel's part of tensor memory.
type tensorMemory struct {
	*counter       // of products
	offset   int64 // of its words in shared memory
	columns  int64
	base     reg            // address of the first column
	pending  map[*ir.Op]int // at each wait, at most so many products have not been waited for
}

// tensorOf is the tensor memory of an op.
func (f *fn) tensorOf(op *ir.Op) *tensorMemory {
	v := ir.Cast[tileaa.TensorOp](op).Memory()
	alloc, ok := ir.DefinedBy[tileaa.AllocTensor](v)
	if !ok {
		f.bug("tensor memory has no alloc_tensor")
	}
	if f.tensor == nil {
		offset, _ := alloc.Offset()
		c := f.counting(productsOf(v), offset+tileaa.ProductMbarrier(0), tileaa.ProductMbarriers)
		pending := tileaa.PendingProducts(tileaa.EntryOf(op))
		if len(pending.Over) > 0 {
			f.bug("more products of the tensor unit have not been waited for than there are mbarriers")
		}
		f.tensor = &tensorMemory{counter: c, offset: offset, columns: v.Type().(*tileaa.TensorMemoryType).Columns, pending: pending.Before}
	}
	return f.tensor
}

// productsOf are the products that sum in tensor memory.
func productsOf(memory *ir.Value) (list []*ir.Op) {
	for _, u := range memory.Uses() {
		if ir.Is[tileaa.Dot](u.Owner()) {
			list = append(list, u.Owner())
		}
	}
	return list
}

// byFirstWarp runs make in the first warp of the role.
func (f *fn) byFirstWarp(make func()) {
	if f.warps == 1 {
		make()
		return
	}
	f.inWarps(f.inFirstWarp(), make)
}

// inFirstWarp holds in the first warp.
func (f *fn) inFirstWarp() reg {
	if f.first.absent() {
		f.in(f.top, func() {
			warp := f.op1("shfl.sync.idx.b32", f.lshr(f.thread(), layout.LaneBits), i32(0), i32(31), con(kI32, fullMask))
			f.first = f.icmp(eq, warp, i32(0))
		})
	}
	return f.first
}

// inWarps runs make in the warps in which a condition holds, the same in all lanes.
func (f *fn) inWarps(c reg, make func()) {
	in, after := f.newBlock(), f.newBlock()
	f.condBr(c, in, after)
	f.enterBlock(in)
	make()
	f.br(after)
	f.enterBlock(after)
}

// byElected runs make in one elected thread of the warp.
func (f *fn) byElected(make func()) { f.ifThenDo(f.op1(electSync, con(kI32, fullMask)), make) }

// electSync elects one thread of the warp. It stands where bulk copies are issued: there ptxas sees that one thread issues them, and
// otherwise makes a loop over all threads that might.
const electSync = "elect.sync"

// oneThread is a predicate that holds in one thread of the first warp.
func (f *fn) oneThread() reg {
	elected := f.op1(electSync, con(kI32, fullMask))
	if f.warps == 1 {
		return elected
	}
	return f.and(f.inFirstWarp(), elected)
}

// byOneThread runs make in one thread of the first warp.
func (f *fn) byOneThread(make func()) {
	f.byFirstWarp(func() { f.byElected(make) })
}

// tensorAcquire takes columns, and makes the mbarriers, which the tensor unit must see.
func tensorAcquire(f *fn, op *ir.Op) {
	m := f.tensorOf(op)
	f.byFirstWarp(func() {
		f.op("tcgen05.alloc.cta_group::1.shared::cta.b32", f.smem, i32(m.offset), i32(m.columns))
		f.op("tcgen05.relinquish_alloc_permit.cta_group::1")
		first := f.op1(electSync, con(kI32, fullMask))
		for i := range int64(tileaa.ProductMbarriers) {
			f.op("@mbarrier.init", first, f.smem, i32(m.offset+tileaa.ProductMbarrier(i)), i32(1))
		}
		f.op("fence.mbarrier_init.release.cluster")
	})
}

func tensorAddress(f *fn, op *ir.Op) {
	m := f.tensorOf(op)
	m.base = f.op1("ld.shared.b32", f.smem, i32(m.offset))
}

func tensorRelease(f *fn, op *ir.Op) {
	m := f.tensorOf(op)
	f.byFirstWarp(func() { f.op("tcgen05.dealloc.cta_group::1.b32", m.base, i32(m.columns)) })
}

// waitAllBut waits, at an op, for all products but the newest pending ones, each at its own mbarrier, because mbarriers may complete in any order. What a
// wait before has waited for is complete.
func (m *tensorMemory) waitAllBut(f *fn, op *ir.Op, pending int64) {
	oldest := int64(m.pending[op])
	if planted.On("product-forgotten") && oldest > pending+1 {
		oldest--
	}
	for n := pending; n < oldest; n++ {
		base, offset, parity := m.mbarrierOf(f, f.sub(m.begun, i32(1+n)))
		f.await(base, offset, parity)
	}
}

// began counts a product.
func (m *tensorMemory) began(f *fn) { m.begun = f.add(m.begun, i32(1)) }

// tensorProduct is a product of the tensor unit.
type tensorProduct struct {
	*product
	dot    tileaa.Dot
	memory *tensorMemory
	column int64 // and the lane above it, as in an address
}

func (f *fn) tensorProductOf(d tileaa.Dot) *tensorProduct {
	m := d.Atom()
	at, _ := d.Column()
	lane, _ := d.Lane()
	acc := &operandTile{l: f.tileLayout(d.Acc())}
	return &tensorProduct{&product{fn: f, MMA: m.Atom, swap: m.Swap, acc: acc}, d, f.tensorOf(d.Op), lane<<tensorLaneShift | at}
}

// tensorProduct begins a product. Unless it stays in flight, it waits for it, and adds what was there before.
func (f *fn) tensorProduct(d tileaa.Dot) *tile {
	p := f.tensorProductOf(d)
	p.begin()
	if d.InFlight() {
		return nil // until its loop lands it
	}
	p.memory.waitAllBut(f, d.Op, 0)
	first := d // of those that have begun
	for prev, ok := begunBefore(first); ok; prev, ok = begunBefore(first) {
		first = prev
	}
	return p.sum(f.tileFor(first.Acc()))
}

// begunBefore is the product in flight to whose sums another one adds.
func begunBefore(d tileaa.Dot) (prev tileaa.Dot, ok bool) {
	prev, ok = tileaa.PrevInSum(d)
	return prev, ok && prev.InFlight()
}

// begin issues the instructions: K outermost. The first ones of a sum do not read what is there.
func (p *tensorProduct) begin() {
	f, m := p.fn, p.memory
	left, right := f.factor(p.dot.Lhs(), p.product, true), f.factor(p.dot.Rhs(), p.product, false)
	if p.swap {
		left, right = right, left
	}
	from, to := p.depths(p.dot)
	columns := min(p.acc.l.Shape()[right.row], atom.MostColumns)
	name := p.Op.Name
	if left.tensorOperand != nil {
		name = p.Tensor.FromTensor()
	}
	describe := p.Tensor.Describe(columns, left.form.MNMajor, right.form.MNMajor)
	scales := p.scaled()
	add := con(kI1, 0)
	_, scaled := ir.DefinedBy[tileaa.SumsScale](p.dot.Acc())
	_, further := begunBefore(p.dot)
	if scaled || further && !planted.On("sum-begun-again") {
		add = con(kI1, 1)
	}
	if carried, adds := tileaa.OnlyAdds(p.dot.Op); adds && !further && tileaa.LastOfSum(p.dot).InFlight() {
		loop := ir.Cast[tileaa.For](p.dot.Op.ParentOp())
		add = con(kI1, 1)
		if slices.Contains(loop.Lands(), int64(carried)) && !planted.On("sum-not-begun") {
			add = f.icmp(ne, f.scalar(loop.Op.Body().Arg(0)), f.scalar(loop.Lower()))
		}
	}
	when := con(kI1, 1)
	if v := p.dot.When(); v != nil {
		when = f.scalar(v)
	}
	f.byOneThread(func() {
		if f.readsCopies(p.dot) && !planted.On("product-unfenced") {
			f.op(proxyFence)
		}
		f.op("tcgen05.fence::after_thread_sync")
		f.ifThenDo(when, func() {
			for _, x := range scales {
				x.copyToTensor()
			}
			for depth := from; depth < to; depth += p.Shape.K {
				for at := range (1 << p.acc.l.OutBits()) / (p.Shape.M * columns) {
					corner := p.corner(at, columns, left.row, right.row)
					args := []reg{f.add(m.base, i32(p.columnOf(corner))), left.descriptor(corner, depth)[0], right.descriptor(corner, depth)[0], i32(int64(describe))}
					for _, x := range scales {
						column, first := x.at(corner, depth/p.Scale.Block)
						args[3] = i32(int64(describe | ptxop.ScaleBytes(first)))
						args = append(args, column)
					}
					f.op(name, append(args, add)...)
				}
				add = con(kI1, 1)
			}
		})
		m.commitNext(f)
	})
	m.began(f)
}

// commitNext makes the next product arrive at its mbarrier when it completes (tcgen05.commit).
func (m *tensorMemory) commitNext(f *fn) {
	base, offset, _ := m.mbarrierOf(f, m.begun)
	f.arriveAfterProducts(base, offset)
}

// arrive counts an op that is no product as one that completes with those before it.
func (m *tensorMemory) arrive(f *fn) {
	f.byOneThread(func() { m.commitNext(f) })
	m.began(f)
}

// arriveAfterProducts has the tensor unit arrive at an mbarrier when it has ended what this thread began.
func (f *fn) arriveAfterProducts(base, offset reg) {
	f.op("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64", base, offset)
}

// corner is the coordinates in the result of the first element of an instruction of so many columns.
func (p *tensorProduct) corner(n, columns, row, column int) []int {
	shape := p.acc.l.Shape()
	at := make([]int, len(shape))
	across, down := shape[column]/columns, shape[row]/p.Shape.M
	at[column], n = n%across*columns, n/across
	at[row], n = n%down*p.Shape.M, n/down
	if len(shape) == 3 {
		at[0] = n
	}
	return at
}

// columnOf is the column of tensor memory of an element of the result: rows of an instruction lie in its lanes, what is below them and further batches
// in further columns.
func (p *tensorProduct) columnOf(at []int) int64 {
	shape := p.acc.l.Shape()
	rank := len(shape)
	row, column := rank-2, rank-1
	if p.swap {
		row, column = column, row
	}
	n := at[row] / p.Shape.M
	if rank == 3 {
		n += at[0] * (shape[row] / p.Shape.M)
	}
	return p.column + int64(n*shape[column]+at[column])
}

// inTensor reports whether a value is what the tensor unit goes on with.
func (f *fn) inTensor(v *ir.Value) bool {
	if f.tensor == nil {
		return false
	}
	_, ok := tileaa.InTensorMemory(v)
	return ok
}

// carriedTypes are the types of values that an op carries in registers, nil for those that it does not, and of counts.
func (f *fn) carriedTypes(op *ir.Op, vs []*ir.Value) []ir.Type {
	types := ir.TypesOf(vs)
	for i, v := range vs {
		if f.inTensor(v) {
			types[i] = nil
		}
	}
	for _, c := range f.counters {
		if c.around[op] {
			types = append(types, tileaa.Tile(f.ctx, f.ctx.Int(32)))
		}
	}
	return types
}
