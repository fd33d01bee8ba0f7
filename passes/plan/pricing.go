package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tileiras/codegen/atom"
	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/codegen/target"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
	"tileiras/passes/slice"
)

// pricing asks codegen/cost what the products of an entry cost under a plan, and caches the answers: many products of a kernel are alike.
type pricing struct {
	s        *pass.State
	entry    *ir.Op
	products *slice.Products
	cutCosts map[cutKey]int
	tilings  map[tilingKey]cachedTiling
	loops    map[int][]loopCost // by number of warps
	launched int                // kernel.LaunchedBlocks
}

func newPricing(s *pass.State, entry *ir.Op, products *slice.Products) *pricing {
	return &pricing{s: s, entry: entry, products: products, cutCosts: map[cutKey]int{}, tilings: map[tilingKey]cachedTiling{}, loops: map[int][]loopCost{},
		launched: kernel.LaunchedBlocks(s, entry)}
}

type cutKey struct {
	atom        atom.Candidate
	warps       int
	cut         cost.Cut
	sharedBytes int
}

type tilingKey struct {
	atom  atom.Candidate
	warps int
	rows  bool
}

type cachedTiling struct {
	atom.Tiling
	ok bool
}

// productsOf are the products of an entry, with what is known of the loads that bring their factors.
func productsOf(s *pass.State, entry *ir.Op) *slice.Products {
	ps, all := slice.ProductsOf(s, entry), false
	if ps.Copied, all = copiedPointers(s, ps.Facts(), entry); all {
		ps.TileBits = min(ps.ValueBits, heldBits(s, entry, placesOf(s, ps, entry))) // a thread has a pointer for an access, not one for each element that it loads
	}
	return ps
}

// cutCost is cost.CutProduct, -1 where that has no answer.
func (p *pricing) cutCost(k cutKey) int {
	n, old := p.cutCosts[k]
	if !old {
		var ok bool
		if n, ok = cost.CutProduct(k.atom, k.warps, k.cut, k.sharedBytes); !ok {
			n = -1
		}
		p.cutCosts[k] = n
	}
	return n
}

// tiling is how so many warps share a product.
func (p *pricing) tiling(op *ir.Op, warps int) (atom.Tiling, bool) {
	product := p.products.Of(op, warps)
	if !product.OK {
		return atom.Tiling{}, false
	}
	k := tilingKey{product.Atom, warps, kernel.WantsRows(op)}
	t, old := p.tilings[k]
	if !old {
		t.Tiling, t.ok = bestTiling(op, k.atom, warps)
		p.tilings[k] = t
	}
	return t.Tiling, t.ok
}

// price is the cost of a plan, in quarter cycles of a multiprocessor. It is partial where products or loops are left out whose cost is not
// known.
type price struct {
	quarters int
	partial  bool // there are such
}

func (x price) String() string {
	switch {
	case !x.partial:
		return fmt.Sprintf("cost %d", x.quarters)
	case x.quarters == 0:
		return "of unknown cost"
	}
	return fmt.Sprintf("cost %d and what is not known", x.quarters)
}

// add adds what one more product or loop costs, if that is known.
func (x *price) add(quarters int, known bool) {
	x.quarters += quarters
	x.partial = x.partial || !known
}

// piecesCost is the cost of products whose results are made in so many pieces, with so many bytes of shared memory for operands, each as
// often as it is assumed to run.
func (p *pricing) piecesCost(warps, pieces, bytes int) (total price) {
	r := p.products.Room(warps, bytes)
	p.s.Walk(p.entry, ir.PreOrder, func(op *ir.Op) {
		if tileaa.IsProduct(op) {
			total.add(p.productCost(op, warps, pieces, func(q slice.Product) bool { return q.TooBig(r) }))
		}
	})
	return total
}

// productCost is the cost of one product, cut along K until it is no longer tooBig.
func (p *pricing) productCost(op *ir.Op, warps, pieces int, tooBig func(slice.Product) bool) (quarters int, known bool) {
	q := p.products.Of(op, warps)
	if !q.OK {
		return 0, false
	}
	k := cutKey{q.Atom, warps, cost.Cut{Pieces: pieces, Steps: 1}, q.SharedBytes}
	for ; tooBig(q) && q.Extent.K > 1; k.cut.Steps *= 2 {
		q.Extent.K, q.SharedBytes, q.RegisterBytes = q.Extent.K/2, q.SharedBytes/2, q.RegisterBytes/2
	}
	if n := p.cutCost(k); n >= 0 {
		return n * runs(op), true
	}
	return 0, false
}

// wholeCost is the cost of products whose operands and results stay whole: of a loop of products, its time with as many resident blocks as
// fit; of a product outside of loops, its own.
func (p *pricing) wholeCost(warps int) (total price) {
	priced := map[*ir.Op]bool{}
	for _, l := range p.loopCosts(warps) {
		total.add(4*l.cycles, true)
		priced[l.op] = true
	}
	p.s.Walk(p.entry, ir.PreOrder, func(op *ir.Op) {
		if !tileaa.IsProduct(op) {
			return
		}
		if loop := ir.EnclosingLoop(op); loop != nil {
			total.add(0, priced[loop])
			return
		}
		total.add(p.productCost(op, warps, 1, func(slice.Product) bool { return false }))
	})
	return total
}

// maxRuns bounds how often an op is assumed to run.
const maxRuns = 1000000

// runs is how often an op is assumed to run: as often as the loops around it do.
func runs(op *ir.Op) int {
	n := 1
	for loop := ir.EnclosingLoop(op); loop != nil && n < maxRuns; loop = ir.EnclosingLoop(loop) {
		n *= int(min(trips(loop), maxRuns))
	}
	return min(n, maxRuns)
}

// trips is the assumed trip count of a loop: the constant one, else ten, times the constant factor of its bound if there is one.
func trips(loop *ir.Op) uint64 {
	const unknown = 10
	f, ok := ir.As[tileaa.For](loop)
	if !ok {
		return unknown
	}
	if n, ok := tileaa.TripCount(loop); ok {
		return n
	}
	if m, ok := ir.DefinedBy[tileaa.Muli](f.Upper()); ok {
		if n, ok := tileaa.SplatInt(m.Rhs()); ok && n > 0 {
			return unknown * uint64(min(n, maxRuns))
		}
	}
	return unknown
}

// dotAtoms are the instructions of the dots, and how so many warps share them. A dot without any is left to select-atoms, which reports
// why.
func (p *pricing) dotAtoms(warps int) (list []product) {
	p.s.Walk(p.entry, ir.PreOrder, func(op *ir.Op) {
		dot, ok := ir.As[tileaa.Dot](op)
		if !ok {
			return
		}
		if t, ok := p.tiling(op, warps); ok {
			list = append(list, product{dot, mmaOf(t)})
		}
	})
	return list
}

// overlapNote says for the remark how many slots the most expensive loop has, and how many blocks are resident then; "" without a loop of
// products. pipeline-loops has the last word: it knows all of shared memory.
func (p *pricing) overlapNote(warps int) string {
	l, ok := p.busiest(warps)
	if !ok {
		return ""
	}
	return ", " + ir.Count(l.slots, "slot") + ", " + ir.Count(l.Blocks(p.s.Target, l.slots), "block")
}

// busiest is the most expensive loop, the first of equals; ok is false without a loop of products.
func (p *pricing) busiest(warps int) (most loopCost, ok bool) {
	for _, l := range p.loopCosts(warps) {
		if !ok || l.cycles > most.cycles {
			most, ok = l, true
		}
	}
	return most, ok
}

// oneBlockResident reports whether a multiprocessor has room for a single block of so many warps in every loop of products, none of which
// multiplies asynchronously.
func (p *pricing) oneBlockResident(warps int) bool {
	return !slices.ContainsFunc(p.loopCosts(warps), func(l loopCost) bool { return l.MultipliesAsync() || l.Blocks(p.s.Target, l.slots) > 1 })
}

// sharesSlot reports whether the operands of some loop share one slot of shared memory.
func (p *pricing) sharesSlot(warps int) bool {
	return slices.ContainsFunc(p.loopCosts(warps), func(l loopCost) bool { return l.SharedSlot })
}

// mostBlocks is how many blocks of so many warps shared memory holds, with one slot for the operands of a loop, or for the
// biggest of them if the products can share it.
func (p *pricing) mostBlocks(warps int) int {
	most := math.MaxInt
	for _, l := range p.loopCosts(warps) {
		bytes := l.SharedBytes[0]
		if !l.SharedSlot && kernel.StaggersOperands(l.op) {
			bytes += biggestFactor(l.op) - l.CopiedBytes
		}
		n, _ := cost.Occupancy(p.s.Target, layout.WarpSize*warps, 1, bytes)
		most = min(most, max(n, 1))
	}
	return most
}

// biggestFactor is the most bytes that an iteration of a loop loads for one factor of a product.
func biggestFactor(loop *ir.Op) (bytes int) {
	for _, op := range loop.Body().Ops() {
		if !tileaa.IsProduct(op) {
			continue
		}
		for _, v := range op.Operands()[:2] {
			if load, _, ok := tileaa.LoadBehind(v); ok && load.Block() == loop.Body() {
				bytes = max(bytes, kernel.LoadedBytes(load))
			}
		}
	}
	return bytes
}

// maxLoopRegisters is the most registers of a thread in a loop of products.
func (p *pricing) maxLoopRegisters(warps int) (most int) {
	for _, l := range p.loopCosts(warps) {
		most = max(most, l.Registers)
	}
	return cmp.Or(most, p.s.Target.RegistersPerThread)
}

// hasRegisterOperands reports whether operands of some product reach shared memory through registers.
func (p *pricing) hasRegisterOperands(warps int) (some bool) {
	p.s.Walk(p.entry, ir.PreOrder, func(op *ir.Op) {
		some = some || tileaa.IsProduct(op) && p.products.Of(op, warps).RegisterBytes > 0
	})
	return some
}

// cannotDoubleBuffer reports whether shared memory holds one iteration's operands of some loop, but not two.
func (p *pricing) cannotDoubleBuffer(warps int) bool {
	return slices.ContainsFunc(p.loopCosts(warps), func(l loopCost) bool { return l.CopiedBytes > 0 && len(l.SharedBytes) == 1 })
}

// loopCost is a loop with its best number of slots, and its time with them, times its assumed trip count.
type loopCost struct {
	cost.Loop
	op              *ir.Op
	slots, cycles   int
	computesBetween bool // threads compute between products
}

// loopCosts are the innermost loops around products, but for those whose operands do not fit shared memory at all: the cost of loading in
// parts is not known.
func (p *pricing) loopCosts(warps int) []loopCost {
	if list, old := p.loops[warps]; old {
		return list
	}
	var loops []*ir.Op
	products := map[*ir.Op]int{} // by loop
	p.s.Walk(p.entry, ir.PreOrder, func(op *ir.Op) {
		if !tileaa.IsProduct(op) {
			return
		}
		if loop := ir.EnclosingLoop(op); loop != nil {
			if products[loop]++; products[loop] == 1 {
				loops = append(loops, loop)
			}
		}
	})
	list := []loopCost{}
	for _, loop := range loops {
		l := p.loopDemand(loop, warps)
		if l.Warpgroups > 0 { // addresses of one loop's copies stay live across another loop
			l.Registers = min(l.Registers+(len(loops)-1)*kernel.AddressRegisters/2, p.s.Target.RegistersPerThread)
		}
		if len(l.SharedBytes) > 0 {
			slots, cycles := p.fastest(l, loop, products[loop], len(loops))
			list = append(list, loopCost{l, loop, slots, cycles * runs(loop.Body().First()), l.TensorColumns > 0 && computesBetween(p.s, loop)})
		}
	}
	p.loops[warps] = list
	return list
}

// fastest is the time of an iteration with the best number of slots, or with one staggered slot for each product. The latter takes
// registers, which a kernel with several such loops does not have beside the most accumulators.
func (p *pricing) fastest(l cost.Loop, loop *ir.Op, products, loops int) (slots, cycles int) {
	t := p.s.Target
	if l.SharedSlot {
		return 1, l.SharedSlotCycles(t, products)
	}
	if products > 1 && target.CpAsync.On(t) && kernel.StaggersOperands(loop) && (loops == 1 || p.products.Accumulators(l.Warps) <= cost.AccumulatorLimit(t, l.Warps)) {
		if cycles, best := l.StaggeredCycles(t, products, l.SharedBytes[0]); best {
			return 1, cycles
		}
	}
	slots = l.Slots(t)
	return slots, l.CyclesWith(t, slots)
}

// spillAccesses is how often an iteration stores or loads a spilled register: an operand fragment is reloaded for more than one product.
const spillAccesses = 3

// loopDemand is what a loop asks of a multiprocessor, with rings for its loads where the GPU has asynchronous copies.
func (p *pricing) loopDemand(op *ir.Op, warps int) cost.Loop {
	accumulators := p.products.Accumulators(warps)
	l := kernel.Loop(p.s, op, warps, accumulators, func(op *ir.Op) (atom.Tiling, bool) { return p.tiling(op, warps) }, p.products.Pointers)
	l.LaunchedBlocks = p.launched
	most := 1
	if target.CpAsync.On(p.s.Target) {
		most = cost.MaxSlots
	}
	held := 0
	p.s.Walk(op, ir.PreOrder, func(op *ir.Op) {
		if tileaa.IsProduct(op) {
			held += p.products.Of(op, warps).UncopiedBytes
		}
	})
	switch {
	case held > 0: // double buffering: one slot is filled while the other is read
		most = 2
	case l.ViaRegisters:
		most = min(most, cost.MaxStagedSlots)
	}
	l.Registers += held / (4 * layout.WarpSize * warps)
	limit := cost.ThreadRegisters(p.s.Target, warps)
	spilled := max(0, l.Registers+cost.RegisterMargin(p.s.Target, warps)-limit)
	l.Registers = min(l.Registers, limit)
	l.Issue += spillAccesses * spilled * warps
	l.Waves += spillAccesses * spilled * warps
	factors := kernel.InvariantFactorBytes(p.s, op, warps)
	for slots := 1; slots <= most && slots*l.CopiedBytes+factors <= p.s.Target.SharedOptIn; slots++ {
		l.SharedBytes = append(l.SharedBytes, slots*l.CopiedBytes+factors)
	}
	if len(l.SharedBytes) == 0 {
		p.shareSlot(&l, op, accumulators, factors)
	}
	return l
}

// shareSlot makes the operands of a loop share one slot, if shared memory holds those of one product but not of all: they are loaded one
// after the other, ahead into registers if these have room. factors is the bytes of kernel.InvariantFactorBytes.
func (p *pricing) shareSlot(l *cost.Loop, loop *ir.Op, accumulators, factors int) {
	if !kernel.StaggersOperands(loop) {
		return
	}
	most, stay := biggestFactor(loop), 0
	if most+factors > p.s.Target.SharedOptIn {
		return
	}
	for _, op := range loop.Body().Ops() {
		if !tileaa.IsProduct(op) {
			continue
		}
		t, ok := p.tiling(op, l.Warps)
		if !ok {
			return
		}
		held := t.Held()
		for i, n := range []int{held.A, held.B} {
			if v := op.Operand(i); ir.DefinedOutside(v, loop) {
				stay += cost.Registers(n, tileaa.ElemBits(tileaa.AsTile(v).Elem))
			}
		}
	}
	l.SharedSlot, l.SharedBytes = true, []int{most + factors}
	registers := accumulators + stay + kernel.StagingReserve + most/(4*layout.WarpSize*l.Warps)
	l.LoadsExposed = registers > cost.ThreadRegisters(p.s.Target, l.Warps)
	l.Registers = min(max(l.Registers, registers), cost.ThreadRegisters(p.s.Target, l.Warps))
}
