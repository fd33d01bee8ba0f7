package nvvm

import (
	"fmt"
	"slices"

	"tileiras/codegen/layout"
	"tileiras/codegen/planted"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

func init() { register(ir.Table[lowering]{tileaa.OpDotWait & ir.Place: dotWait}) }

// groupProduct issues the instructions of a product that groups of four warps compute together, and waits for them, unless they stay in flight. Factors in shared memory are named by
// descriptors; what wrote them there, copies or stores, is made known to the unit that reads them by a fence behind the barrier (PTX ISA, "Async Proxy").
func (f *fn) groupProduct(op tileaa.ContractionOp, m *tileaa.MMAAttr) *tile {
	p := &product{f, m.Atom, m.Swap, nil, nil, f.operandTile(op.Acc()), nil, map[int][]reg{}}
	left, right := f.factor(op.Lhs(), p, true), f.factor(op.Rhs(), p, false)
	if m.Swap {
		left, right = right, left
	}
	k := int(tileaa.FactorShape(op.Lhs())[len(p.acc.l.Shape())-1])
	from := 0
	if part := op.Depths(); len(part) == 2 {
		from, k = int(part[0]), int(part[1])
	}
	fragment := m.Atom.LayoutC.Regs()
	type step struct {
		first   int // accumulator
		factors []reg
	}
	var steps []step
	for depth := from; depth < k; depth += m.Atom.Shape.K {
		for first := 0; first < p.acc.len(); first += fragment {
			if p.sums[first] == nil {
				p.sums[first] = p.fragment(p.acc, first, fragment)
			}
			at := p.acc.l.Coords(p.acc.l.Apply(first, 0, 0, 0))
			steps = append(steps, step{first, slices.Concat(left.at(at, depth), right.at(at, depth), left.turned(), right.turned())})
		}
	}
	if !planted.On("drop-proxy-fence") {
		f.op("fence.proxy.async")
	}
	f.op("wgmma.fence") // behind what makes registers of the factors and of the accumulators
	for _, s := range steps {
		p.addGroup(s.first, s.factors)
	}
	f.op("wgmma.commit_group")
	if d, ok := ir.As[tileaa.Dot](op.Op); !ok || !d.InFlight() {
		p.land(fragment)
	}
	out := p.result(elemOf(op.Result()))
	f.fitResult(op.Op, out)
	return out
}

// addGroup issues one instruction on the accumulators from a register on. Where they are 0 it does not read them.
func (p *product) addGroup(first int, factors []reg) {
	c, row := p.sums[first], p.Op
	if zero := func(r reg) bool { return r.isConst() && r.bits == 0 }; !slices.ContainsFunc(c, func(r reg) bool { return !zero(r) }) {
		row, c = p.First, nil
	}
	p.sums[first] = p.op(row.Name, slices.Concat(c, factors)...)
}

// land waits for the products so far; from here on the accumulators hold what they gave.
func (p *product) land(fragment int) {
	var all []reg
	for first := 0; first < p.acc.len(); first += fragment {
		all = append(all, p.sums[first]...)
	}
	landed := p.landed(all)
	for first := 0; first < p.acc.len(); first += fragment {
		n := len(p.sums[first])
		p.sums[first], landed = landed[:n:n], landed[n:]
	}
}

func dotWait(f *fn, op *ir.Op) {
	pending := ir.Cast[tileaa.DotWait](op).Pending()
	if planted.On("early-product-wait") {
		pending++
	}
	f.op("wgmma.wait_group", i32(pending))
}

// landed waits for all products under way, and gives registers with what they have put into them.
func (f *fn) landed(regs []reg) []reg {
	letter := "r"
	if regs[0].k == kF32 {
		letter = "f"
	}
	return f.op(fmt.Sprintf("wgmma.wait_group.%s%d", letter, len(regs)), append(slices.Clone(regs), i32(0))...)
}

// groupFactor is a factor of a product of groups of warps.
type groupFactor struct {
	*fn
	p          *product
	held       *operandTile // nil: it lies in shared memory
	buffer     *buffer
	form       layout.Descriptor
	cols       []uint64 // where the part of a group begins, by the bits of its threads
	row, depth int      // dimensions: that which the result has, and K
}

// factor is the left or right factor of a product.
func (f *fn) factor(v *ir.Value, p *product, left bool) *groupFactor {
	rank := len(p.acc.l.Shape())
	x := &groupFactor{fn: f, p: p, buffer: f.buffers[v], row: rank - 1, depth: rank - 2}
	rows := p.Shape.N
	if left {
		x.row, x.depth = x.depth, x.row
	}
	if left != p.swap {
		rows = p.Shape.M
	}
	if x.buffer == nil {
		x.held = f.operandTile(v)
		return x
	}
	form, ok := x.buffer.Mem.Describe(x.row, x.depth, rows, p.Shape.K, x.buffer.bytes)
	if !ok {
		f.bug("no descriptor says how %s lies", x.buffer.Mem)
	}
	x.form = form
	x.cols = make([]uint64, laneBits+f.warpBits())
	for i, c := range p.acc.l.Column(layout.Warp)[groupBits:] {
		x.cols[laneBits+groupBits+i] = x.offset(p.acc.l.Coords(c), 0)
	}
	return x
}

// groupBits is the bits of a warp's number in its group.
const groupBits = 2

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

// at is the arguments for the factor of the fragment of the result that begins at an element, from a depth on: registers, or a descriptor.
func (x *groupFactor) at(at []int, depth int) []reg {
	if x.held != nil {
		place := slices.Clone(at)
		place[x.depth] = depth
		first, ok := x.held.register(place...)
		if !ok {
			x.bug("a group of warps does not hold its factor")
		}
		return x.fragment(x.held, first, x.p.LayoutA.Regs())
	}
	base, bytes := x.sharedAddress(x.buffer, x.cols, x.offset(at, depth), reg{})
	low := x.add(x.lshr(base, 4), i32(bytes/descriptorUnit+int64(x.form.Lead)/descriptorUnit<<leadShift))
	high := con(kI32, uint64(uint32(int64(x.form.Stride)/descriptorUnit|swizzleCode[x.form.Width]<<swizzleShift)))
	return []reg{x.op1("mov.pack.b64", low, high)}
}

// turned is the argument for a factor in shared memory that says which way it lies.
func (x *groupFactor) turned() []reg {
	switch {
	case x.held != nil:
		return nil
	case x.form.Turned:
		return []reg{i32(1)}
	}
	return []reg{i32(0)}
}
