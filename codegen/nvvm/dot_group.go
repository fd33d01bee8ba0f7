package nvvm

import (
	"fmt"
	"math/bits"
	"slices"

	"tileiras/codegen/layout"
	"tileiras/codegen/planted"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

func init() { register(ir.Table[lowering]{tileaa.OpDotWait & ir.Place: dotWait}) }

// warpgroupProduct issues the instructions of a product that a warpgroup computes (wgmma), and waits for them, unless they stay in flight.
// Factors in shared memory are named by descriptors.
func (f *fn) warpgroupProduct(op tileaa.Dot, m *tileaa.MMAAttr) *tile {
	p := &product{fn: f, MMA: m.Atom, swap: m.Swap, readsAsyncCopies: f.readsCopies(op), acc: f.operandTile(op.Acc())}
	p.sums = make([][]reg, p.acc.len())
	left, right := f.factor(op.Lhs(), p, true), f.factor(op.Rhs(), p, false)
	if m.Swap {
		left, right = right, left
	}
	from, k := p.depths(op)
	if tileaa.AddsApart(op.Op, m.Atom) {
		p.addSeparately(left, right, from, k)
	} else {
		p.begin(left, p.steps(left, right, p.fragments(), from, k))
		if !op.InFlight() {
			p.waitSums(p.fragments())
		}
	}
	out := p.result(elemOf(op.Result()))
	f.fitResult(op.Op, out)
	return out
}

// depths is the part of K that a product takes.
func (p *product) depths(d tileaa.Dot) (from, to int) {
	if part := d.Depths(); len(part) == 2 {
		return int(part[0]), int(part[1])
	}
	return 0, int(tileaa.FactorShape(d.Lhs())[len(p.acc.l.Shape())-1])
}

// warpgroupInstr is one instruction: the first registers of its accumulators and of a fragment in registers (-1 without one), and its
// descriptors with the arguments that follow.
type warpgroupInstr struct {
	accumulators, fragment int
	descriptors            []reg
}

// fragments are the first accumulator registers of each instruction.
func (p *product) fragments() (list []int) {
	for first := 0; first < p.acc.len(); first += p.LayoutC.Regs() {
		list = append(list, first)
	}
	return list
}

// steps lists the instructions for the accumulators from some registers on, K outermost.
func (p *product) steps(left, right *warpgroupOperand, firsts []int, from, to int) (list []warpgroupInstr) {
	for depth := from; depth < to; depth += p.Shape.K {
		for _, first := range firsts {
			at := p.acc.l.Coords(p.acc.l.Apply(first, 0, 0, 0))
			described := slices.Concat(left.descriptor(at, depth), right.descriptor(at, depth), left.transposeArg(), right.transposeArg())
			list = append(list, warpgroupInstr{first, left.register(at, depth), described})
		}
	}
	return list
}

// begin issues instructions. Their registers pass through the fence in front of them, so that nothing accesses them behind it.
func (p *product) begin(left *warpgroupOperand, steps []warpgroupInstr) {
	held := map[int][]reg{} // fragments of the factor in registers
	var sums, parts []int   // which accumulators and which of those, in order
	zero := true
	for _, s := range steps {
		if p.sums[s.accumulators] == nil {
			p.sums[s.accumulators] = p.fragment(p.acc, s.accumulators, p.LayoutC.Regs())
		}
		if !slices.Contains(sums, s.accumulators) {
			sums = append(sums, s.accumulators)
			zero = zero && allZero(p.sums[s.accumulators])
		}
		if s.fragment >= 0 && held[s.fragment] == nil {
			held[s.fragment] = p.fragment(left.fragments, s.fragment, p.LayoutA.Regs())
			parts = append(parts, s.fragment)
		}
	}
	if zero {
		sums = nil // nobody reads them
	}
	if p.readsAsyncCopies {
		p.fenceCopies()
	}
	p.fenced(sums, held, parts)
	for _, s := range steps {
		p.addGroup(s.accumulators, slices.Concat(held[s.fragment], s.descriptors))
	}
	p.op("wgmma.commit_group")
}

// fenced puts the fence that wgmma needs between other accesses to its registers and the first instruction (PTX ISA, "wgmma.fence"), and
// redefines these registers there: whatever computes or moves them stands in front of it.
func (p *product) fenced(sums []int, held map[int][]reg, parts []int) {
	var all []reg
	for _, i := range sums {
		all = append(all, p.sums[i]...)
	}
	for _, i := range parts {
		all = append(all, held[i]...)
	}
	all = p.op("wgmma.fence"+registersOf(all), all...)
	for _, i := range sums {
		n := len(p.sums[i])
		p.sums[i], all = all[:n:n], all[n:]
	}
	for _, i := range parts {
		n := len(held[i])
		held[i], all = all[:n:n], all[n:]
	}
}

// registersOf is the part of a row's name that says through which registers it passes: .f64.r32.
func registersOf(list []reg) (name string) {
	floats := 0
	for _, r := range list {
		if r.k == kF32 {
			floats++
		}
	}
	if floats > 0 {
		name = fmt.Sprintf(".f%d", floats)
	}
	if others := len(list) - floats; others > 0 {
		name += fmt.Sprintf(".r%d", others)
	}
	return name
}

// allZero reports whether accumulators are known to be 0.
func allZero(list []reg) bool {
	return !slices.ContainsFunc(list, func(r reg) bool { return !r.isConst() || r.bits != 0 })
}

// addSeparately sums as far along K as the instruction keeps its precision, waits, and adds that to the accumulators in registers; one
// instruction's columns after the other's, so that few registers hold sums beside them.
func (p *product) addSeparately(left, right *warpgroupOperand, from, to int) {
	for _, first := range p.fragments() {
		total := slices.Clone(p.fragment(p.acc, first, p.LayoutC.Regs()))
		for depth := from; depth < to; depth += p.Depth {
			p.sums[first] = slices.Repeat([]reg{con(kF32, 0)}, len(total))
			p.begin(left, p.steps(left, right, []int{first}, depth, min(depth+p.Depth, to)))
			p.waitSums([]int{first})
			if allZero(total) {
				copy(total, p.sums[first])
				continue
			}
			for i, x := range p.sums[first] {
				total[i] = p.fadd(total[i], x)
			}
		}
		p.sums[first] = total
	}
}

// addGroup issues one instruction on the accumulators from a register on. It does not read them where they are 0.
func (p *product) addGroup(first int, factors []reg) {
	c, row := p.sums[first], p.Op
	if allZero(c) {
		row, c = p.First, nil
	}
	p.sums[first] = p.rowOp(row, slices.Concat(c, factors)...)
}

// waitSums waits for all products so far, and redefines these accumulators as their results.
func (p *product) waitSums(firsts []int) {
	var all []reg
	for _, first := range firsts {
		all = append(all, p.sums[first]...)
	}
	landed := p.waitProducts(all)
	for _, first := range firsts {
		n := len(p.sums[first])
		p.sums[first], landed = landed[:n:n], landed[n:]
	}
}

func dotWait(f *fn, op *ir.Op) {
	pending := ir.Cast[tileaa.DotWait](op).Pending()
	if planted.On("early-product-wait") {
		pending++
	}
	if f.tensor != nil {
		f.tensor.waitAllBut(f, op, pending)
		return
	}
	if land := op.Next(); pending == 0 && land.Code() == tileaa.OpDotLand {
		return // which waits itself, with the registers
	}
	f.op("wgmma.wait_group", i32(pending))
}

// waitProducts waits for all products in flight, and returns registers with their results.
func (f *fn) waitProducts(regs []reg) []reg {
	return f.op("wgmma.wait_group"+registersOf(regs), append(slices.Clone(regs), i32(0))...)
}

// landed is a tile of sums of warpgroups when all products in flight have ended. Nothing takes its words apart before that.
func (f *fn) landed(t *tile) *tile {
	return f.carried(t.elem, t.len(), f.waitProducts(f.carrier(t)))
}

// warpgroupOperand is a factor of a product of warpgroups or the tensor unit: fragments in registers, a buffer in shared memory, or columns
// of tensor memory.
type warpgroupOperand struct {
	*fn
	p             *product
	fragments     *operandTile // in registers; nil: it lies in memory
	buffer        *buffer
	tensorOperand *tensorFactor // in tensor memory; nil: it does not
	form          layout.Descriptor
	cols          []uint64 // by bit of the thread number: the offset of the part of that bit's warpgroups
	row, depth    int      // dimensions: the one that the result has, and K
}

// factor is the left or right factor of a product.
func (f *fn) factor(v *ir.Value, p *product, left bool) *warpgroupOperand {
	rank := len(p.acc.l.Shape())
	x := &warpgroupOperand{fn: f, p: p, buffer: f.buffers[v], row: rank - 1, depth: rank - 2}
	if left {
		x.row, x.depth = x.depth, x.row
	}
	if there, ok := f.tensorFactorOf(v); ok {
		x.tensorOperand = &there
		return x
	}
	if x.buffer == nil {
		x.fragments = f.operandTile(v)
		return x
	}
	rows := p.MatrixRows(left, p.swap, p.acc.l.Shape()[x.row])
	form, ok := x.buffer.Mem.Describe(x.row, x.depth, rows, p.Shape.K, x.buffer.bytes)
	if !ok || form.MNMajor && !p.TakesMNMajor {
		f.bug("no descriptor says how %s lies", x.buffer.Mem)
	}
	x.form = form
	if p.Tensor != nil {
		return x // one thread begins the product of all
	}
	x.cols = make([]uint64, layout.LaneBits+f.warpBits())
	own := bits.TrailingZeros(uint(p.Warps())) // of a warp's number in its group
	for i, c := range p.acc.l.Column(layout.Warp)[own:] {
		x.cols[layout.LaneBits+own+i] = x.offset(p.acc.l.Coords(c), 0)
	}
	return x
}

// offset is the element of the buffer for the row or column of an element of the result, and a depth along K.
func (x *warpgroupOperand) offset(at []int, depth int) uint64 {
	var n uint64
	for d, size := range x.buffer.Shape {
		c := at[d]
		if d == x.depth {
			c = depth
		}
		n = n*uint64(size) + uint64(c)
	}
	return x.buffer.Mem.Linear(n)
}

// Fields of a descriptor in two words (PTX ISA, "Matrix Descriptor"): addresses and distances are in units of 16 bytes.
const (
	descriptorUnit = 16
	leadShift      = 16
	swizzleShift   = 30
)

// swizzleCode is the number of a swizzle in a descriptor, by its width in bytes.
var swizzleCode = map[int]int64{128: 1, 64: 2, 32: 3}

// Those of the tensor unit: bit 46 is set, and swizzles have other numbers in three bits (PTX ISA, "Shared memory descriptor").
const tensorDescriptor, tensorSwizzleShift = 1 << 14, 29

var tensorSwizzleCode = map[int]int64{128: 2, 64: 4, 32: 6}

// register is the first register of the fragment for an instruction whose result begins at an element, from a depth on; -1 if the factor
// lies in memory.
func (x *warpgroupOperand) register(at []int, depth int) int {
	if x.fragments == nil {
		return -1
	}
	place := slices.Clone(at)
	place[x.depth] = depth
	first, ok := x.fragments.register(place...)
	if !ok {
		x.bug("a group of warps does not hold its factor")
	}
	return first
}

// descriptor names the factor in shared or tensor memory for the same.
func (x *warpgroupOperand) descriptor(at []int, depth int) []reg {
	switch {
	case x.fragments != nil:
		return nil
	case x.tensorOperand != nil:
		return []reg{x.add(x.tensorOperand.memory.base, i32(x.tensorOperand.columnOf(at[x.row], depth)))}
	}
	base, bytes := x.sharedAddress(x.buffer, x.cols, x.offset(at, depth), corner{})
	low := x.add(x.lshr(base, 4), i32(bytes/descriptorUnit+int64(x.form.Lead)/descriptorUnit<<leadShift))
	fields := swizzleCode[x.form.Width] << swizzleShift
	if x.p.Tensor != nil {
		fields = tensorDescriptor | tensorSwizzleCode[x.form.Width]<<tensorSwizzleShift
	}
	high := con(kI32, uint64(uint32(int64(x.form.Stride)/descriptorUnit|fields)))
	return []reg{x.op1("mov.pack.b64", low, high)}
}

// transposeArg is the immediate that says whether a factor in shared memory is transposed.
func (x *warpgroupOperand) transposeArg() []reg {
	switch {
	case x.fragments != nil, !x.p.TakesMNMajor:
		return nil
	case x.form.MNMajor:
		return []reg{i32(1)}
	}
	return []reg{i32(0)}
}
