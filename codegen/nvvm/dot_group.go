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

// groupProduct issues the instructions of a product that groups of four warps compute together, and waits for them, unless they stay in flight. Factors in
// shared memory are named by descriptors.
func (f *fn) groupProduct(op tileaa.Dot, m *tileaa.MMAAttr) *tile {
	p := &product{fn: f, MMA: m.Atom, swap: m.Swap, copied: f.readsCopies(op), acc: f.operandTile(op.Acc())}
	p.sums = make([][]reg, p.acc.len())
	left, right := f.factor(op.Lhs(), p, true), f.factor(op.Rhs(), p, false)
	if m.Swap {
		left, right = right, left
	}
	from, k := p.depths(op)
	if tileaa.AddsApart(op.Op, m.Atom) {
		p.addApart(left, right, from, k)
	} else {
		p.begin(left, p.steps(left, right, p.fragments(), from, k))
		if !op.InFlight() {
			p.land(p.fragments())
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

// groupStep is an instruction: the first registers of its accumulators and of a factor in registers, -1 without one, and its descriptors and what follows.
type groupStep struct {
	first, held int
	described   []reg
}

// fragments are the first registers of the accumulators of each instruction.
func (p *product) fragments() (list []int) {
	for first := 0; first < p.acc.len(); first += p.LayoutC.Regs() {
		list = append(list, first)
	}
	return list
}

// steps lists the instructions for the accumulators from some registers on, K outermost.
func (p *product) steps(left, right *groupFactor, firsts []int, from, to int) (list []groupStep) {
	for depth := from; depth < to; depth += p.Shape.K {
		for _, first := range firsts {
			at := p.acc.l.Coords(p.acc.l.Apply(first, 0, 0, 0))
			described := slices.Concat(left.descriptor(at, depth), right.descriptor(at, depth), left.turned(), right.turned())
			list = append(list, groupStep{first, left.register(at, depth), described})
		}
	}
	return list
}

// begin issues instructions. Their registers pass through the fence in front of them, so that nobody touches them behind it.
func (p *product) begin(left *groupFactor, steps []groupStep) {
	held := map[int][]reg{} // fragments of the factor in registers
	var sums, parts []int   // which accumulators and which of those, in order
	zero := true
	for _, s := range steps {
		if p.sums[s.first] == nil {
			p.sums[s.first] = p.fragment(p.acc, s.first, p.LayoutC.Regs())
		}
		if !slices.Contains(sums, s.first) {
			sums = append(sums, s.first)
			zero = zero && allZero(p.sums[s.first])
		}
		if s.held >= 0 && held[s.held] == nil {
			held[s.held] = p.fragment(left.held, s.held, p.LayoutA.Regs())
			parts = append(parts, s.held)
		}
	}
	if zero {
		sums = nil // nobody reads them
	}
	if p.copied {
		p.fenceCopies()
	}
	p.fenced(sums, held, parts)
	for _, s := range steps {
		p.addGroup(s.first, slices.Concat(held[s.held], s.described))
	}
	p.op("wgmma.commit_group")
}

// fenced puts the fence that products need between accesses to their registers and the first of them (PTX ISA, "wgmma.fence"), and takes these registers
// from there: what makes or moves them stands in front of it.
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

// addApart sums as far along K as the instruction keeps what it should, waits, and adds that to the accumulators; for the columns of one instruction
// after those of the other, so that few registers hold sums beside them.
func (p *product) addApart(left, right *groupFactor, from, to int) {
	for _, first := range p.fragments() {
		total := slices.Clone(p.fragment(p.acc, first, p.LayoutC.Regs()))
		for depth := from; depth < to; depth += p.Depth {
			p.sums[first] = slices.Repeat([]reg{con(kF32, 0)}, len(total))
			p.begin(left, p.steps(left, right, []int{first}, depth, min(depth+p.Depth, to)))
			p.land([]int{first})
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

// addGroup issues one instruction on the accumulators from a register on. Where they are 0 it does not read them.
func (p *product) addGroup(first int, factors []reg) {
	c, row := p.sums[first], p.Op
	if allZero(c) {
		row, c = p.First, nil
	}
	p.sums[first] = p.rowOp(row, slices.Concat(c, factors)...)
}

// land waits for the products so far; from here on these accumulators hold what they gave.
func (p *product) land(firsts []int) {
	var all []reg
	for _, first := range firsts {
		all = append(all, p.sums[first]...)
	}
	landed := p.landed(all)
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
		f.tensor.over(f, pending)
		return
	}
	if land := op.Next(); pending == 0 && land.Code() == tileaa.OpDotLand {
		return // which waits itself, with the registers
	}
	f.op("wgmma.wait_group", i32(pending))
}

// landed waits for all products under way, and gives registers with what they have put into them.
func (f *fn) landed(regs []reg) []reg {
	return f.op("wgmma.wait_group"+registersOf(regs), append(slices.Clone(regs), i32(0))...)
}

// groupFactor is a factor of a product of groups of warps.
type groupFactor struct {
	*fn
	p          *product
	held       *operandTile // nil: it lies in memory
	buffer     *buffer
	there      *tensorFactor // it lies in tensor memory
	form       layout.Descriptor
	cols       []uint64 // where the part of a group begins, by the bits of its threads
	row, depth int      // dimensions: that which the result has, and K
}

// factor is the left or right factor of a product.
func (f *fn) factor(v *ir.Value, p *product, left bool) *groupFactor {
	rank := len(p.acc.l.Shape())
	x := &groupFactor{fn: f, p: p, buffer: f.buffers[v], row: rank - 1, depth: rank - 2}
	if left {
		x.row, x.depth = x.depth, x.row
	}
	if there, ok := f.tensorFactorOf(v); ok {
		x.there = &there
		return x
	}
	if x.buffer == nil {
		x.held = f.operandTile(v)
		return x
	}
	rows := p.MatrixRows(left, p.swap, p.acc.l.Shape()[x.row])
	form, ok := x.buffer.Mem.Describe(x.row, x.depth, rows, p.Shape.K, x.buffer.bytes)
	if !ok || form.Turned && !p.Turns {
		f.bug("no descriptor says how %s lies", x.buffer.Mem)
	}
	x.form = form
	if p.Tensor != nil {
		return x // one thread begins the product of all
	}
	x.cols = make([]uint64, laneBits+f.warpBits())
	own := bits.TrailingZeros(uint(p.Warps())) // of a warp's number in its group
	for i, c := range p.acc.l.Column(layout.Warp)[own:] {
		x.cols[laneBits+own+i] = x.offset(p.acc.l.Coords(c), 0)
	}
	return x
}

// offset is the element of the buffer at the row, or column, of an element of the result.
func (x *groupFactor) offset(at []int, depth int) uint64 {
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

// register is the first register of a factor that is held there, for the fragment of the result that begins at an element, from a depth on; -1 if it
// lies in shared memory.
func (x *groupFactor) register(at []int, depth int) int {
	if x.held == nil {
		return -1
	}
	place := slices.Clone(at)
	place[x.depth] = depth
	first, ok := x.held.register(place...)
	if !ok {
		x.bug("a group of warps does not hold its factor")
	}
	return first
}

// descriptor names a factor in shared or tensor memory for the same.
func (x *groupFactor) descriptor(at []int, depth int) []reg {
	switch {
	case x.held != nil:
		return nil
	case x.there != nil:
		return []reg{x.add(x.there.memory.base, i32(x.there.columnOf(at[x.row], depth)))}
	}
	base, bytes := x.sharedAddress(x.buffer, x.cols, x.offset(at, depth), reg{})
	low := x.add(x.lshr(base, 4), i32(bytes/descriptorUnit+int64(x.form.Lead)/descriptorUnit<<leadShift))
	fields := swizzleCode[x.form.Width] << swizzleShift
	if x.p.Tensor != nil {
		fields = tensorDescriptor | tensorSwizzleCode[x.form.Width]<<tensorSwizzleShift
	}
	high := con(kI32, uint64(uint32(int64(x.form.Stride)/descriptorUnit|fields)))
	return []reg{x.op1("mov.pack.b64", low, high)}
}

// turned is the argument for a factor in shared memory that says which way it lies.
func (x *groupFactor) turned() []reg {
	switch {
	case x.held != nil, !x.p.Turns:
		return nil
	case x.form.Turned:
		return []reg{i32(1)}
	}
	return []reg{i32(0)}
}
