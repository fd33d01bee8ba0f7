package slice

import (
	"slices"

	"tileiras/codegen/atom"
	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/codegen/target"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/facts"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// This file cuts matrix products: into pieces of the result when its accumulators are too many for the registers, and along K when
// its operands are too big for shared memory.
//
//	%d = dot %a, %b, %c : 64x1024 * 1024x64        %d = for %p = 0 to 4, inits(%c) {
//	                                        =>       %a' = tiled_load (piece %p of %a along K)      : 64x256
//	                                                 %b' = tiled_load (piece %p of %b along K)      : 256x64
//	                                                 continue (dot %a', %b', %acc) }

// productDim is the rule of a product whose result [B]MxN is cut along dim: rows are those of the left operand and of its scales,
// columns those of the right one; the other operand is whole.
func productDim(op *ir.Op, i, dim int) (int, bool) {
	rank := len(tileaa.ShapeOf(op.Result(0)))
	left, right := i == 0 || i == 3, i == 1 || i == 4
	if left && dim == rank-1 || right && dim == rank-2 {
		return whole, true
	}
	return dim, true
}

// FeedsProducts caches, by value, whether it is only used by operands of products: it is loaded or computed in pieces then, and need not
// exist whole.
type FeedsProducts map[*ir.Value]bool

// Of reports whether a value is such an operand, or only goes into them.
func (f FeedsProducts) Of(v *ir.Value) bool {
	if known, ok := f[v]; ok {
		return known
	}
	f[v] = false // what comes round a loop does more
	ok := tileaa.ShapeOf(v) != nil && v.HasUses()
	for u := v.FirstUse(); u != nil && ok; u = u.Next() {
		op := u.Owner()
		if tileaa.IsProduct(op) {
			ok = u.Index() != 2
		} else {
			ok = op.Code() != tileaa.OpReduce && op.Code() != tileaa.OpScan && ruleOf(op) != nil && f.Of(op.Result(0))
		}
	}
	f[v] = ok
	return ok
}

// accumulatorsOf is the registers that all threads together need for the pieces of products that outputs of one loop make: those of a
// block are alive together.
func accumulatorsOf(outputs ...*output) int {
	most := 0
	together := map[*ir.Block]int{}
	seen := map[cut]bool{}
	for _, o := range outputs {
		for _, k := range o.cuts {
			op := k.v.DefiningOp()
			if o.kind == sum || !tileaa.IsProduct(op) || o.how[k] != inPieces || seen[k] {
				continue
			}
			seen[k] = true
			regs := kernel.TileRegisters(k.v)
			if k.dim != whole {
				regs /= int(o.pieces)
			}
			together[op.Block()] += regs
			most = max(most, together[op.Block()])
		}
	}
	return most
}

// cutSteps cuts the products of an entry along K whose operands take more shared memory than the plan gives them; changed reports whether there are
// some.
func cutSteps(s *pass.State, entry *ir.Op) (changed bool, err error) {
	c, err := decided(func() *slicer {
		c := newSlicer(s, entry)
		c.steps, c.limit, c.productDemands = true, kernel.WholeRegisters, ProductsOf(c.s, c.entry)
		return c
	})
	if err != nil {
		return false, &pass.ErrPlan{Entry: pass.SymbolName(entry), Reason: err.Error(), Cause: err}
	}
	c.build()
	return len(c.groups) > 0, nil
}

// stepPieces is the number of pieces along K in which the operands of a product fit into the plan's bytes, or as many as there can be.
func (c *slicer) stepPieces(op *ir.Op) int64 {
	r := c.productDemands.Room(c.threads/layout.WarpSize, tileaa.PlanOf(c.entry).OperandBytes)
	p := c.productDemands.Of(op, c.threads/layout.WarpSize)
	pieces := int64(1)
	for p.TooBig(r) && p.Extent.K > 1 {
		half := p.half(c.s, op, c.threads/layout.WarpSize)
		if a, b := p.Atom.Atom, half.Atom.Atom; p.OK && (a.Scalar() != b.Scalar() || tileaa.IsScaled(op) && a.Scaled() != b.Scaled()) {
			break // too short for the matrix unit
		}
		p, pieces = half, 2*pieces
	}
	return pieces
}

// stepOutput cuts a product along K; nil when that does not help: where neither operand can be made in pieces.
func (c *slicer) stepOutput(op *ir.Op, pieces int64) *output {
	if pieces < 2 {
		return nil
	}
	rank := len(tileaa.ShapeOf(op.Operand(0)))
	p := &prober{c: c, pieces: pieces, place: op, how: map[cut]method{}}
	var roots []cut
	for i, v := range op.Operands() {
		switch i {
		case 0, 3:
			roots = append(roots, cut{v, rank - 1})
		case 1, 4:
			roots = append(roots, cut{v, rank - 2})
		}
	}
	if !p.needAll(roots) || !slices.ContainsFunc(roots, func(k cut) bool { return p.how[k] == inPieces }) {
		return nil
	}
	r, ok := p.recipe(roots)
	if !ok {
		return nil
	}
	r.wholes = append(r.wholes, op.Operand(2))
	return &output{op: op, kind: sum, dim: rank - 1, pieces: pieces, recipe: r}
}

// step is the product of the pieces along K, added to what the loop carries.
func (l *loopBuilder) step(op *ir.Op, acc *ir.Value) *ir.Value {
	rank := len(tileaa.ShapeOf(op.Operand(0)))
	c := l.clone(op)
	for i, v := range op.Operands() {
		switch i {
		case 0, 3:
			c.SetOperand(i, l.value(v, rank-1))
		case 1, 4:
			c.SetOperand(i, l.value(v, rank-2))
		case 2:
			c.SetOperand(i, acc)
		}
	}
	return l.b.Insert(c).Result(0)
}

// Product is what one product asks of the plan.
type Product struct {
	Extent        atom.Extent
	Atom          atom.Candidate
	OK            bool // some instruction computes it
	SharedBytes   int  // of the operands in shared memory
	RegisterBytes int  // of operands that reach shared memory through registers
	UncopiedBytes int  // the same without reshaped and permuted tiles, which asynchronous copies can bring
	accs          int  // accumulators of a thread
}

// Products answers what the products of an entry ask of its plan, as long as the entry stays as it is.
type Products struct {
	kernel.Demands
	s     *pass.State
	known *facts.Facts
	cache map[productKey]Product
	// Copied are loads through pointers that copies bring to shared memory, as they bring blocks.
	Copied map[*ir.Op]bool
	fit    map[*ir.Op]bool // kernel.RingsFit, by the op around a product
	turns  map[*ir.Op]bool // kernel.StaggersOperands of those of which they do not
}

type productKey struct {
	op    *ir.Op
	warps int
}

// ProductsOf takes time linear in the entry, and so do all its answers together.
func ProductsOf(s *pass.State, entry *ir.Op) *Products {
	return &Products{Demands: kernel.DemandsOf(s, entry), s: s, known: facts.New(s.Ctx, entry), cache: map[productKey]Product{}, fit: map[*ir.Op]bool{}, turns: map[*ir.Op]bool{}}
}

// Of looks at a product for so many warps.
func (ps *Products) Of(op *ir.Op, warps int) Product {
	q := productKey{op, warps}
	p, old := ps.cache[q]
	if !old {
		p = ps.product(op, warps)
		ps.cache[q] = p
	}
	return p
}

func (ps *Products) product(op *ir.Op, warps int) Product {
	s := ps.s
	p := Product{Extent: kernel.ExtentOf(op), accs: kernel.TileRegisters(op.Result(0)) / (layout.WarpSize * warps)}
	p.Atom, p.OK = kernel.ChooseAtom(s, op, p.Extent, warps)
	types := kernel.OperandTypes(op)[0]
	if tileaa.IsScaled(op) && p.OK && p.Atom.Atom.Scaled() {
		for _, scale := range op.Operands()[3:] {
			p.SharedBytes += int(tileaa.AsTile(scale).NumElements()) * tileaa.ElemBytes(tileaa.AsTile(scale).Elem)
		}
	}
	for i, elem := range []atom.Elem{p.Atom.A, p.Atom.B} {
		v := op.Operand(i)
		if p.OK && p.Atom.Atom.Scalar() || !kernel.DerivedFromProduct(v) {
			p.SharedBytes += int(tileaa.AsTile(v).NumElements()) * max(elem.Bits(), 8) / 8
		}
		scaled := tileaa.IsScaled(op) && !(p.OK && p.Atom.Atom.Scaled()) // on its way, which may take more than what is loaded
		load, _, copied := tileaa.FactorLoad(v)
		_, _, alone := tileaa.LoadOf(v)
		shared := p.OK && p.Atom.Atom.Group > 0 // a unit reads it there, in several loops as in one
		// What threads multiply by in several loops stays in registers from one to the next.
		copied = copied && ps.copies(load) && (alone || shared || load.Block() == op.Block())
		inUnit := p.OK && p.Atom.Atom.Tensor != nil && copied // its copies pass by registers in any shape
		own := [2]atom.Elem{types.A, types.B}[i]
		held := elem != own && elem != atom.TF32 || !target.CpAsync.On(s.Target) || scaled || !copied
		read := p.OK && p.Atom.Atom.Group > 0 && !(p.Atom.Atom.ReadsShared(i, p.Atom.Swap) && kernel.CopiesSuit(v, p.Atom.Atom, i == 1)) // by threads
		if d := v.DefiningOp(); read || (d == nil || (!ps.copies(d) || ps.staggersOperands(op)) && (held || !ps.ringsFit(op)) || !target.CpAsync.On(s.Target) || scaled) && !inUnit {
			n := ps.loadedBytes(v, map[*ir.Value]bool{})
			if n > 0 && scaled {
				n = max(n, int(tileaa.AsTile(v).NumElements())*elem.Bits()/8)
			}
			p.RegisterBytes += n
		}
		if held {
			p.UncopiedBytes += ps.loadedBytes(v, map[*ir.Value]bool{})
		}
	}
	return p
}

// copies reports whether copies bring what an op loads.
func (ps *Products) copies(op *ir.Op) bool { return op.Code() == tileaa.OpTiledLoad || ps.Copied[op] }

// ringsFit reports whether copies bring what a product takes past the registers, in whatever shape it takes it.
func (ps *Products) ringsFit(product *ir.Op) bool {
	around := product.ParentOp()
	fit, old := ps.fit[around]
	if !old {
		fit = kernel.RingsFit(ps.s, product)
		ps.fit[around] = fit
	}
	return fit
}

// staggersOperands is kernel.StaggersOperands of the loop around a product if its rings do not fit.
func (ps *Products) staggersOperands(product *ir.Op) bool {
	loop := product.ParentOp()
	if loop.Code() != tileaa.OpFor || ps.ringsFit(product) {
		return false
	}
	turns, old := ps.turns[loop]
	if !old {
		turns = kernel.StaggersOperands(loop)
		ps.turns[loop] = turns
	}
	return turns
}

// half is the product with half as much of K.
func (p Product) half(s *pass.State, op *ir.Op, warps int) Product {
	p.Extent.K, p.SharedBytes, p.RegisterBytes = p.Extent.K/2, p.SharedBytes/2, p.RegisterBytes/2
	p.Atom, p.OK = kernel.ChooseAtom(s, op, p.Extent, warps)
	return p
}

// Facts are those of the entry.
func (ps *Products) Facts() *facts.Facts { return ps.known }

// Pointers is what the accesses of a load need: it is ragged where fewer than 16 bytes are known to lie in the array together.
func (ps *Products) Pointers(load *ir.Op) int {
	block, ok := tileaa.BlockOf(load)
	ragged := ok && ps.known.BlockMaskVector(block, ps.known.FastDim(block))*int64(tileaa.ElemBytes(tileaa.AsTile(load.Result(0)).Elem)) < 16
	return kernel.RegistersPerAccess(load, ragged)
}

// loadedBytes is what is loaded into registers for a value. Elements that lie alone in memory have a register each.
func (ps *Products) loadedBytes(v *ir.Value, seen map[*ir.Value]bool) int {
	op := v.DefiningOp()
	if op == nil || seen[v] || !tileaa.IsRanked(v) || tileaa.IsProduct(op) {
		return 0
	}
	seen[v] = true
	switch {
	case op.Code() == tileaa.OpTiledLoad:
		return int(tileaa.AsTile(v).NumElements()) * tileaa.ElemBytes(tileaa.AsTile(v).Elem)
	case op.Code() == tileaa.OpLoad:
		bytes, ptr := tileaa.ElemBytes(tileaa.AsTile(v).Elem), ir.Cast[tileaa.Load](op).Ptr()
		alone := true // in memory
		for d := range tileaa.ShapeOf(ptr) {
			alone = alone && ps.known.PointerVector(ptr, d) < 2
		}
		if alone {
			bytes = max(4, bytes)
		}
		return int(tileaa.AsTile(v).NumElements()) * bytes
	case ruleOf(op) == nil || op.Code() == tileaa.OpReduce || op.Code() == tileaa.OpScan:
		return 0
	}
	n := 0
	for _, o := range op.Operands() {
		n += ps.loadedBytes(o, seen)
	}
	return n
}

// Room is what a kernel has for the operands of one product.
type Room struct {
	sharedBytes   int // bytes of shared memory
	registerBytes int // bytes of registers, of all threads
}

// Room is what a kernel of so many warps has, given so much shared memory.
func (ps *Products) Room(warps, shared int) Room {
	return Room{shared, cost.OperandRoom(ps.s.Target, warps, ps.Accumulators(warps))}
}

// TooBig reports whether a product takes more room than there is for its operands, or too much code.
func (p Product) TooBig(r Room) bool {
	return p.SharedBytes > r.sharedBytes || p.RegisterBytes > r.registerBytes ||
		p.OK && p.Atom.Atom.Scalar() && p.accs*p.Extent.K/p.Atom.Atom.Shape.K > cost.ScalarInstructions
}
