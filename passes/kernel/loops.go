package kernel

import (
	"math"
	"slices"

	"tileiras/codegen/atom"
	"tileiras/codegen/cost"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// BesideProducts is the registers of a thread for addresses, bounds and counters of a loop that multiplies.
const BesideProducts = 32

// StagingReserve is the registers of a thread beside accumulators and what is on its way through registers to shared memory: the operands of a step,
// addresses.
const StagingReserve = 64

// slowIssue is the warp instructions of an elementwise operation for a register of results, where it is not one.
var slowIssue = map[ir.Code]int{
	tileaa.OpExp: 10, tileaa.OpExp2: 8, tileaa.OpLog: 10, tileaa.OpLog2: 10, tileaa.OpDivf: 10, tileaa.OpSqrt: 10, tileaa.OpRsqrt: 8, tileaa.OpTanh: 12,
	tileaa.OpDivi: 16, tileaa.OpRemi: 16,
}

// copyIssue is the warp instructions of a copy of 16 bytes a lane: its address, whether it happens, and itself.
const copyIssue = 3

// usualSlots is the slots of rings from which scales come to columns of their own in tensor memory.
const usualSlots = 3

// Loop is what an iteration of a loop asks of a multiprocessor when so many warps run it. Accumulators are the registers of a thread that
// are alive together, tiling says how warps share a product, pointers is Pointers of a load. Shared memory is the caller's to say.
func Loop(s *pass.State, loop *ir.Op, warps, accumulators int, tiling func(product *ir.Op) (atom.Tiling, bool), pointers func(load *ir.Op) int) cost.Loop {
	l := cost.Loop{Warps: warps}
	var p multiplied
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
				addresses += pointers(op) * LoadedBytes(op) / (16 * 32 * warps)
			case op.Code() == tileaa.OpReduce:
				l.Issue += TileRegisters(op.Operand(0)) / 32
				reductions = append(reductions, op)
			case op.Traits().Has(ir.Elementwise):
				l.Issue += TileRegisters(op.Result(0)) / 32 * max(1, slowIssue[op.Code()])
			}
		}
	}
	visit(loop.Body())
	l.TensorColumns += max(p.widest, (p.halves+1)/2)
	if p.sharedRows && len(reductions) > 0 {
		computed := followProducts(s, loop)
		for _, r := range reductions {
			if computed[r.Operand(0)] {
				l.Exchanges++
			}
		}
	}
	l.Waves, l.Issue = l.Waves+l.CopiedBytes/128, l.Issue+copyIssue*l.CopiedBytes/(16*32)
	l.Registers = accumulators + p.apart + BesideProducts
	if p.landed > 0 && p.inUnit == p.n { // sums stay in tensor memory, threads compute with what comes from there
		l.Registers = p.landed + p.apart + cost.NonAccumulatorRegisters
	} else if p.inMemory < p.n || p.n > mostInMemory { // a loop over copies reads scales and the first fragments of the next iteration under the last products of this one
		l.Registers += 2*(p.fragments+p.scales) + addresses
	}
	l.Registers = min(l.Registers, s.Target.RegistersPerThread)
	stage(s, &l, loop, accumulators+p.apart+StagingReserve, tiling)
	return l
}

// followProducts are the values of an iteration that follow from products, its own or those of the one before: of these, warps that share rows have a part each.
func followProducts(s *pass.State, loop *ir.Op) map[*ir.Value]bool {
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
				add(forwardedTo(u))
			}
		}
	}
	return found
}

// mostInMemory is the most products of a loop that take no registers besides accumulators where all read memory: those of an attention. Its gradients have
// more, and more arrays whose places they know.
const mostInMemory = 2

// multiplied is what the products of a loop ask for: registers of a thread, and how they share rows.
type multiplied struct {
	n, inMemory, inUnit      int // products, those of readInMemory, and those of the tensor unit
	widest, halves           int // columns of tensor memory of those that take half of its lanes, the most and all
	fragments, scales, apart int
	landed                   int // of a product of the tensor unit that no loop sums up
	sharedRows               bool
}

// add adds a product to those of a loop.
func (p *multiplied) add(l *cost.Loop, op *ir.Op, t atom.Tiling) {
	l.Multiply(t)
	adds := tileaa.AddsApart(op, t.Atom)
	if adds {
		l.Issue += TileRegisters(op.Result(0)) / 32
		p.apart = max(p.apart, t.Atom.LayoutC.Regs())
	}
	if _, only := tileaa.OnlyAdds(op); t.Atom.ByWarpgroup() && (adds || !only) {
		l.Warpgroups = l.Warps / t.Atom.Group
	}
	if _, further := tileaa.PrevInSum(ir.Cast[tileaa.Dot](op)); t.Atom.Tensor != nil && !further {
		n := t.Atom.Tensor.ColumnsOf(t.Extent.Rows()*t.Extent.N) + atom.WholeColumns(usualSlots*t.Atom.ScaleColumnsOf(t.Extent))
		if t.Atom.Tensor.Parts() > 1 { // two such lie side by side
			p.widest, p.halves = max(p.widest, n), p.halves+n
		} else {
			l.TensorColumns += n
		}
	}
	p.n++
	if t.Atom.Tensor != nil {
		p.inUnit++
		if tileaa.AddsToNothing(ir.Cast[tileaa.Dot](op)) {
			p.landed = max(p.landed, TileRegisters(op.Result(0))/(32*l.Warps))
		}
	}
	if readInMemory(op, t) {
		p.inMemory++
	}
	held := t.Held()
	p.fragments = max(p.fragments, (cost.Registers(held.A, t.Atom.A.Bits())+cost.Registers(held.B, t.Atom.B.Bits()))/max(1, t.Repeat.K))
	if tileaa.IsScaled(op) && t.Atom.HoldsScales() { // those of all steps
		p.scales = max(p.scales, cost.Registers(held.SA, t.Atom.Scale.Elem.Bits())+cost.Registers(held.SB, t.Atom.Scale.Elem.Bits()))
	}
	p.sharedRows = p.sharedRows || t.Split.N > 1
	l.Exchanges += toldColumns(op, t)
}

// readInMemory reports whether a warpgroup multiplies what copies have brought to shared memory, and A may take the place of accumulators from which it is computed.
// It needs next to no registers besides: its instructions find both by a descriptor.
func readInMemory(product *ir.Op, t atom.Tiling) bool {
	if !t.Atom.ByWarpgroup() {
		return false
	}
	a, b := product.Operand(0), product.Operand(1)
	if t.Swap {
		a, b = b, a
	}
	return (ComesByCopies(a, t.Atom, t.Swap) || madeOfProduct(a)) && ComesByCopies(b, t.Atom, !t.Swap)
}

// toldColumns is how often warps tell each other what a product multiplies: once if threads have computed it and a warp has not all of its columns.
func toldColumns(product *ir.Op, t atom.Tiling) int {
	if t.Split.N > 1 && t.Atom.Group == 0 && madeOfProduct(product.Operand(0)) {
		return 1
	}
	return 0
}

// stage gives a loop the registers that hold what is loaded for its products while it is on its way to shared memory: factors that are rounded. They are
// beside others, and where there are not so many, loads are not begun ahead.
func stage(s *pass.State, l *cost.Loop, loop *ir.Op, beside int, tiling func(product *ir.Op) (atom.Tiling, bool)) {
	staged := 0
	ir.Walk(loop, ir.PreOrder, func(op *ir.Op) {
		if !tileaa.IsProduct(op) {
			return
		}
		for i, v := range op.Operands()[:2] {
			load, between, ok := tileaa.LoadOf(v)
			if !ok || OnlyNamed(between) {
				continue
			}
			if t, ok := tiling(op); ok && t.Atom.ReadsShared(i, t.Swap) {
				staged += TileRegisters(load.Result(0)) / (32 * l.Warps)
			}
		}
	})
	l.ViaRegisters = staged > 0
	switch {
	case !l.ViaRegisters:
	case beside+staged > cost.RegisterLimit(s.Target, 32*l.Warps, 1):
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

// Pointers is the registers that a thread needs for each of its accesses by a load: none where the distance to the first is a constant, one
// for a distance, and one for how much of a ragged access lies in the array.
func Pointers(load *ir.Op, ragged bool) int {
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

// TakeTurns reports whether products of a loop do: some of what is loaded for them is read first when what the first one takes has been read last.
func TakeTurns(loop *ir.Op) bool {
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

// RingsFit reports whether shared memory has room for what the loop around an op loads, twice: copies of the next iteration run while
// this one computes. Once is enough where products take turns: what one takes is copied while the other is computed. Where there is no
// room, what is reshaped on its way to the product is loaded into registers early instead.
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
