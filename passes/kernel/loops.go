package kernel

import (
	"math"
	"slices"

	"tileiras/codegen/atom"
	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// AddressRegisters is the registers of a thread for addresses, bounds and counters of a loop of products.
const AddressRegisters = 32

// StagingReserve is the registers of a thread beside accumulators and data on its way to shared memory: operand fragments of a step,
// addresses.
const StagingReserve = 64

// issueOf is about the warp instructions of an elementwise op.
func issueOf(op *ir.Op) int {
	return TileRegisters(op.Result(0)) / layout.WarpSize * max(1, op.Def.Instrs)
}

// copyIssue is the warp instructions of a copy of 16 bytes a lane: its address, whether it happens, and itself.
const copyIssue = 3

// assumedSlots is the assumed slots of a ring of scales, each of which has columns of its own in tensor memory.
const assumedSlots = 3

// Loop is what an iteration of a loop asks of a multiprocessor when so many warps run it. accumulators is the registers of a thread for
// accumulators at the point of most pressure, tiling says how warps share a product, registersPerAccess is RegistersPerAccess of a load.
// SharedBytes is the caller's to fill in.
func Loop(s *pass.State, loop *ir.Op, warps, accumulators int, tiling func(product *ir.Op) (atom.Tiling, bool), registersPerAccess func(load *ir.Op) int) cost.Loop {
	l := cost.Loop{Warps: warps}
	var p productTotals
	addresses, reductions := 0, []*ir.Op(nil)
	var visit func(b *ir.Block)
	visit = func(b *ir.Block) {
		for _, op := range b.Ops() {
			s.Step()
			switch {
			case tileaa.IsProduct(op):
				if t, ok := tiling(op); ok {
					p.add(&l, op, t)
				}
			case op.Code() == tileaa.OpIf: // of masks and their like most iterations run the cheaper branch
				before, least := l.Issue, math.MaxInt
				for _, r := range op.Regions() {
					l.Issue = before
					for _, b := range r.Blocks() {
						visit(b)
					}
					least = min(least, l.Issue)
				}
				l.Issue = least
			case IsPlainLoad(op), op.Code() == tileaa.OpAsyncCopy:
				l.CopiedBytes += LoadedBytes(op)
				addresses += registersPerAccess(op) * LoadedBytes(op) / (16 * layout.WarpSize * warps)
			case op.Code() == tileaa.OpReduce:
				l.Issue += TileRegisters(op.Operand(0)) / layout.WarpSize
				reductions = append(reductions, op)
			case op.Traits().Has(ir.Elementwise):
				l.Issue += issueOf(op)
			}
		}
	}
	visit(loop.Body())
	l.TensorColumns += max(p.maxHalfColumns, (p.halfColumns+1)/2)
	if p.sharedRows && len(reductions) > 0 {
		computed := dependentOnProducts(s, loop)
		for _, r := range reductions {
			if computed[r.Operand(0)] {
				l.Exchanges++
			}
		}
	}
	l.Waves, l.Issue = l.Waves+l.CopiedBytes/128, l.Issue+copyIssue*l.CopiedBytes/(16*layout.WarpSize)
	l.Registers = accumulators + p.separate + AddressRegisters
	if p.readBack > 0 && p.onTensorUnit == p.n { // sums stay in tensor memory, threads compute with what comes from there
		l.Registers = p.readBack + p.separate + cost.NonAccumulatorRegisters
	} else if p.fromShared < p.n || p.n > maxFromShared { // a loop over copies reads scales and the first fragments of the next iteration under the last products of this one
		l.Registers += 2*(p.fragments+p.scales) + addresses
	}
	l.Registers = min(l.Registers, s.Target.RegistersPerThread)
	addStagingRegisters(s, &l, loop, accumulators+p.separate+StagingReserve, tiling)
	return l
}

// dependentOnProducts is the forward slice of a loop's products, across iterations: warps that share rows hold only a part of each row of
// these values.
func dependentOnProducts(s *pass.State, loop *ir.Op) map[*ir.Value]bool {
	found := map[*ir.Value]bool{}
	var list []*ir.Value
	add := func(values []*ir.Value) {
		for _, v := range values {
			if !found[v] {
				found[v], list = true, append(list, v)
			}
		}
	}
	s.Walk(loop, ir.PreOrder, func(op *ir.Op) {
		if tileaa.IsProduct(op) {
			add(op.Results())
		}
	})
	for i := 0; i < len(list); i++ {
		s.Step()
		for u := list[i].FirstUse(); u != nil; u = u.Next() {
			if ir.IsProperAncestor(loop, u.Owner()) {
				add(u.Owner().Results())
				add(ir.ForwardedTo(u.Owner(), u.Index()))
			}
		}
	}
	return found
}

// maxFromShared is the most products of a loop that take no registers besides accumulators if all read shared memory: the two of an
// attention. Its gradients have more, and more arrays to keep addresses of.
const maxFromShared = 2

// productTotals sums up what the products of a loop ask for.
type productTotals struct {
	n, fromShared, onTensorUnit int  // products, those of readsOnlyShared, and those of the tensor unit
	maxHalfColumns, halfColumns int  // columns of tensor memory of products that take half of its lanes: the most of one, and all
	fragments, scales, separate int  // registers of a thread: operand fragments, scales, sums apart from the accumulators
	readBack                    int  // registers of a thread for results of the tensor unit that threads read in each iteration
	sharedRows                  bool // several warps hold parts of one row
}

// add adds a product.
func (p *productTotals) add(l *cost.Loop, op *ir.Op, t atom.Tiling) {
	l.Multiply(t)
	adds := tileaa.AddsApart(op, t.Atom)
	if adds {
		l.Issue += TileRegisters(op.Result(0)) / layout.WarpSize
		p.separate = max(p.separate, t.Atom.LayoutC.Regs())
	}
	if _, only := tileaa.OnlyAdds(op); t.Atom.ByWarpgroup() && (adds || !only) {
		l.Warpgroups = l.Warps / t.Atom.Group
	}
	if _, further := tileaa.PrevInSum(ir.Cast[tileaa.Dot](op)); t.Atom.Tensor != nil && !further {
		n := t.Atom.Tensor.ColumnsOf(t.Extent.Rows()*t.Extent.N) + atom.WholeColumns(assumedSlots*t.Atom.ScaleColumnsOf(t.Extent))
		if t.Atom.Tensor.Parts() > 1 { // two such lie side by side
			p.maxHalfColumns, p.halfColumns = max(p.maxHalfColumns, n), p.halfColumns+n
		} else {
			l.TensorColumns += n
		}
	}
	p.n++
	if t.Atom.Tensor != nil {
		p.onTensorUnit++
		if tileaa.AddsToNothing(ir.Cast[tileaa.Dot](op)) {
			p.readBack = max(p.readBack, TileRegisters(op.Result(0))/(layout.WarpSize*l.Warps))
		}
	}
	if readsOnlyShared(op, t) {
		p.fromShared++
	}
	held := t.Held()
	p.fragments = max(p.fragments, (cost.Registers(held.A, t.Atom.A.Bits())+cost.Registers(held.B, t.Atom.B.Bits()))/max(1, t.Repeat.K))
	if tileaa.IsScaled(op) && t.Atom.HoldsScales() { // those of all steps
		p.scales = max(p.scales, cost.Registers(held.SA, t.Atom.Scale.Elem.Bits())+cost.Registers(held.SB, t.Atom.Scale.Elem.Bits()))
	}
	p.sharedRows = p.sharedRows || t.Split.N > 1
	l.Exchanges += operandExchanges(op, t)
}

// readsOnlyShared reports whether a wgmma reads operands that copies bring to shared memory; A may also be computed from accumulators, in
// their registers. Its instructions take descriptors, so it needs next to no registers besides.
func readsOnlyShared(product *ir.Op, t atom.Tiling) bool {
	if !t.Atom.ByWarpgroup() {
		return false
	}
	a, b := product.Operand(0), product.Operand(1)
	if t.Swap {
		a, b = b, a
	}
	return (CopiesSuit(a, t.Atom, t.Swap) || DerivedFromProduct(a)) && CopiesSuit(b, t.Atom, !t.Swap)
}

// operandExchanges is how often warps exchange the operand of a product: once if threads compute it and a warp does not hold all of its
// columns.
func operandExchanges(product *ir.Op, t atom.Tiling) int {
	if t.Split.N > 1 && t.Atom.Group == 0 && DerivedFromProduct(product.Operand(0)) {
		return 1
	}
	return 0
}

// addStagingRegisters adds the registers for loads that are rounded on their way to shared memory and so pass through registers. They come
// on top of so many others; where they do not fit, the loads cannot be issued ahead.
func addStagingRegisters(s *pass.State, l *cost.Loop, loop *ir.Op, beside int, tiling func(product *ir.Op) (atom.Tiling, bool)) {
	staged := 0
	ir.Walk(loop, ir.PreOrder, func(op *ir.Op) {
		if !tileaa.IsProduct(op) {
			return
		}
		for i, v := range op.Operands()[:2] {
			load, between, ok := tileaa.LoadOf(v)
			if !ok || OnlyViews(between) {
				continue
			}
			if t, ok := tiling(op); ok && t.Atom.ReadsShared(i, t.Swap) {
				staged += TileRegisters(load.Result(0)) / (layout.WarpSize * l.Warps)
			}
		}
	})
	l.ViaRegisters = staged > 0
	switch {
	case !l.ViaRegisters:
	case beside+staged > cost.ThreadRegisters(s.Target, l.Warps):
		l.LoadsExposed = true
	default:
		l.Registers = max(l.Registers, beside+staged)
	}
}

// LoadedBytes is the bytes that a load brings.
func LoadedBytes(op *ir.Op) int {
	bytes := func(shape []int64, elem ir.Type) int {
		n := tileaa.ElemBytes(elem)
		for _, x := range shape {
			n *= int(x)
		}
		return n
	}
	if c, ok := ir.As[tileaa.AsyncCopy](op); ok {
		t := c.Block().Type().(*tileaa.BlockType)
		return bytes(t.Shape, t.Elem)
	}
	t := tileaa.AsTile(op.Result(0))
	return bytes(t.Shape, t.Elem)
}

// RegistersPerAccess is the registers that a thread keeps for each access of a load: none where its distance from the first one is
// constant, one for a distance, and one for how much of a ragged access lies in the array.
func RegistersPerAccess(load *ir.Op, ragged bool) int {
	block, ok := tileaa.BlockOf(load)
	if !ok {
		return 2
	}
	n := 0
	if m, ok := block.Memref().Type().(*tileaa.MemrefType); ok && slices.Contains(m.Strides, tileaa.Dynamic) {
		n++
	}
	if ragged {
		n++
	}
	return n
}

// StaggersOperands reports whether the operands of a loop's products have disjoint live ranges: some load is first read after the last read
// of what the first product reads. Then each may be copied while a product that does not read it computes.
func StaggersOperands(loop *ir.Op) bool {
	type reads struct{ first, last int }
	of, list, products := map[*ir.Op]*reads{}, []*reads(nil), 0
	for _, op := range loop.Body().Ops() {
		if !tileaa.IsProduct(op) {
			continue
		}
		for _, v := range op.Operands()[:2] {
			for c, ok := ir.DefinedBy[tileaa.ConvertLayout](v); ok; c, ok = ir.DefinedBy[tileaa.ConvertLayout](v) {
				v = c.Source()
			}
			load, _, ok := tileaa.LoadBehind(v)
			if !ok || load.Block() != loop.Body() {
				continue
			}
			r := of[load]
			if r == nil {
				r = &reads{first: products}
				of[load], list = r, append(list, r)
			}
			r.last = products
		}
		products++
	}
	free := 0 // the product after which what is read first is free
	for _, r := range list {
		if r.first == list[0].first {
			free = max(free, r.last)
		}
	}
	return slices.ContainsFunc(list, func(r *reads) bool { return r.first > free })
}

// RingsFit reports whether shared memory holds two iterations of what the loop around an op loads, so that the copies of one overlap with
// the other. With several products one iteration is enough: the operands of one are copied while another computes. Where rings do not fit,
// tiles that are reshaped on their way to a product are prefetched into registers instead.
func RingsFit(s *pass.State, op *ir.Op) bool {
	loop := op.ParentOp()
	if loop.Code() != tileaa.OpFor {
		return true
	}
	bytes, products := 0, 0
	for _, o := range loop.Body().Ops() {
		switch {
		case tileaa.IsProduct(o):
			products++
		case IsPlainLoad(o):
			bytes += LoadedBytes(o)
		case o.Code() == tileaa.OpAsyncCopy:
			bytes += ir.Cast[tileaa.AsyncCopy](o).Buffer().Type().(*tileaa.BufferType).Bytes()
		}
	}
	if products > 1 {
		return bytes <= s.Target.SharedOptIn
	}
	return 2*bytes <= s.Target.SharedOptIn
}
