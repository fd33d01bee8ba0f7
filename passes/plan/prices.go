package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tileiras/codegen/atom"
	"tileiras/codegen/cost"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
	"tileiras/passes/slice"
)

// prices asks codegen/cost what the products of an entry cost under a plan, and keeps the answers: a kernel may have many that are alike.
type prices struct {
	s        *pass.State
	entry    *ir.Op
	products *slice.Products
	cut      map[cutProduct]int
	tilings  map[tilingOf]tiled
	loops    map[int][]weighted // of so many warps
	bits     int                // of the biggest tile, once somebody has asked
	launched int                // kernel.LaunchedBlocks
}

func newPrices(s *pass.State, entry *ir.Op, products *slice.Products) *prices {
	return &prices{s: s, entry: entry, products: products, cut: map[cutProduct]int{}, tilings: map[tilingOf]tiled{}, loops: map[int][]weighted{},
		launched: kernel.LaunchedBlocks(s, entry)}
}

type cutProduct struct {
	atom   atom.Candidate
	warps  int
	cut    cost.Cut
	staged int
}

type tilingOf struct {
	atom  atom.Candidate
	warps int
	rows  bool
}

type tiled struct {
	atom.Tiling
	ok bool
}

// biggest is the bits of the biggest tile that threads hold.
func (p *prices) biggest() int {
	if p.bits == 0 {
		p.bits = p.products.TileBits
		if pointersAreCopied(p.s, p.products.Facts(), p.entry) {
			p.bits = p.products.ValueBits // a thread has a pointer for an access, not one for each element that it loads
		}
	}
	return p.bits
}

// one is cost.CutProduct, -1 where that has no answer.
func (p *prices) one(k cutProduct) int {
	n, old := p.cut[k]
	if !old {
		var ok bool
		if n, ok = cost.CutProduct(k.atom, k.warps, k.cut, k.staged); !ok {
			n = -1
		}
		p.cut[k] = n
	}
	return n
}

// tiling is how so many warps share a product.
func (p *prices) tiling(op *ir.Op, warps int) (atom.Tiling, bool) {
	product := p.products.Of(op, warps)
	if !product.OK {
		return atom.Tiling{}, false
	}
	k := tilingOf{product.Atom, warps, kernel.WantsRows(op)}
	t, old := p.tilings[k]
	if !old {
		t.Tiling, t.ok = bestTiling(op, k.atom, warps)
		p.tilings[k] = t
	}
	return t.Tiling, t.ok
}

// price is what a plan costs, in quarter cycles of a multiprocessor, but for products and loops of which nobody knows what they cost.
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

// inPieces is the cost of products whose results are made in so many pieces, with so many bytes of shared memory for operands; each as often
// as it is assumed to run.
func (p *prices) inPieces(warps, pieces, bytes int) (total price) {
	r := p.products.Room(warps, bytes)
	p.s.Walk(p.entry, ir.PreOrder, func(op *ir.Op) {
		if tileaa.IsProduct(op) {
			total.add(p.product(op, warps, pieces, func(q slice.Product) bool { return q.TooBig(r) }))
		}
	})
	return total
}

// product is the cost of one product, cut along K until it is no longer too big; 0 where that is not known.
func (p *prices) product(op *ir.Op, warps, pieces int, tooBig func(slice.Product) bool) (quarters int, known bool) {
	q := p.products.Of(op, warps)
	if !q.OK {
		return 0, false
	}
	k := cutProduct{q.Atom, warps, cost.Cut{Pieces: pieces, Steps: 1}, q.Staged}
	n := p.one(k)
	if n < 0 {
		return 0, false
	}
	for ; tooBig(q) && q.Extent.K > 1; k.cut.Steps *= 2 {
		q.Extent.K, q.Staged, q.Passed = q.Extent.K/2, q.Staged/2, q.Passed/2
	}
	if m := p.one(k); m >= 0 {
		n = m
	}
	return n * runs(op), true
}

// whole is the cost of products whose operands and results stay whole: of every loop that multiplies, the time of a multiprocessor that runs
// as many blocks as it can; of products outside of loops, their own.
func (p *prices) whole(warps int) (total price) {
	priced := map[*ir.Op]bool{}
	for _, l := range p.loopsOf(warps) {
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
		total.add(p.product(op, warps, 1, func(slice.Product) bool { return false }))
	})
	return total
}

// mostRuns bounds how often an op is assumed to run.
const mostRuns = 1000000

// runs is how often an op is assumed to run: as often as the loops around it do.
func runs(op *ir.Op) int {
	n := 1
	for loop := ir.EnclosingLoop(op); loop != nil && n < mostRuns; loop = ir.EnclosingLoop(loop) {
		n *= int(min(trips(loop), mostRuns))
	}
	return min(n, mostRuns)
}

// trips is how often a loop is assumed to run where nobody knows: ten times, or ten times the part that is known.
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
			return unknown * uint64(min(n, mostRuns))
		}
	}
	return unknown
}

// atoms are the instructions of the dots, and how so many warps share them; a dot without is left to select-atoms, which says why.
func (p *prices) atoms(warps int) (list []product) {
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

// overlap says for people how many slots the loop with most to do needs for what it loads, and how many blocks a multiprocessor runs then;
// "" without a loop that multiplies. pipeline-loops has the last word: it knows all of shared memory.
func (p *prices) overlap(warps int) string {
	l, ok := p.busiest(warps)
	if !ok {
		return ""
	}
	return fmt.Sprintf(", %d slots, %d blocks", l.slots, l.Blocks(p.s.Target, l.slots))
}

// busiest is the loop with most to do, the first of equals; ok is false without a loop that multiplies.
func (p *prices) busiest(warps int) (most weighted, ok bool) {
	for _, l := range p.loopsOf(warps) {
		if !ok || l.cycles > most.cycles {
			most, ok = l, true
		}
	}
	return most, ok
}

// alone reports whether a multiprocessor has room for one block of so many warps only, in every loop in which they multiply.
func (p *prices) alone(warps int) bool {
	return !slices.ContainsFunc(p.loopsOf(warps), func(l weighted) bool { return l.MultipliesAsync() || l.Blocks(p.s.Target, l.slots) > 1 })
}

// takesTurns reports whether loads of some loop take turns in one place of shared memory.
func (p *prices) takesTurns(warps int) bool {
	return slices.ContainsFunc(p.loopsOf(warps), func(l weighted) bool { return l.SharedSlot })
}

// blocks is how many blocks of so many warps a multiprocessor has room for in shared memory, with one slot for what loops load, or for the biggest of it where
// products take turns.
func (p *prices) blocks(warps int) int {
	most := math.MaxInt
	for _, l := range p.loopsOf(warps) {
		bytes := l.SharedBytes[0]
		if !l.SharedSlot && kernel.TakeTurns(l.op) {
			bytes += biggestFactor(l.op) - l.CopiedBytes
		}
		n, _ := cost.Occupancy(p.s.Target, 32*warps, 1, bytes)
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

// registers is the most registers of a thread in a loop that multiplies.
func (p *prices) registers(warps int) (most int) {
	for _, l := range p.loopsOf(warps) {
		most = max(most, l.Registers)
	}
	return cmp.Or(most, p.s.Target.RegistersPerThread)
}

// passed reports whether threads bring a factor of some product of so many warps.
func (p *prices) passed(warps int) (some bool) {
	p.s.Walk(p.entry, ir.PreOrder, func(op *ir.Op) {
		some = some || tileaa.IsProduct(op) && p.products.Of(op, warps).Passed > 0
	})
	return some
}

// crowded reports whether shared memory has no room for what two iterations of a loop load that so many warps run.
func (p *prices) crowded(warps int) bool {
	return slices.ContainsFunc(p.loopsOf(warps), func(l weighted) bool { return l.CopiedBytes > 0 && len(l.SharedBytes) == 1 })
}

// weighted is a loop with the slots that are best for it, and its time with them, as often as an iteration is assumed to run.
type weighted struct {
	cost.Loop
	op            *ir.Op
	slots, cycles int
	between       bool // threads compute between products
}

// loopsOf are the innermost loops around products, but for those that shared memory has no room for: nothing is known of what it takes to
// load in parts.
func (p *prices) loopsOf(warps int) []weighted {
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
	list := []weighted{}
	for _, loop := range loops {
		l := p.loop(loop, warps)
		if l.Warpgroups > 0 { // one loop keeps what another knows the places of its copies by
			l.Registers = min(l.Registers+(len(loops)-1)*kernel.BesideProducts/2, p.s.Target.RegistersPerThread)
		}
		if len(l.SharedBytes) > 0 {
			slots, cycles := p.fastest(l, loop, products[loop], len(loops))
			list = append(list, weighted{l, loop, slots, cycles * runs(loop.Body().First()), l.TensorColumns > 0 && computesBetween(p.s, loop)})
		}
	}
	p.loops[warps] = list
	return list
}

// fastest is the time of an iteration with the slots that are best for a loop of so many products, or with one for each whose copies have a wait of their own.
// That takes registers, which a kernel with several such loops does not have beside the most accumulators.
func (p *prices) fastest(l cost.Loop, loop *ir.Op, products, loops int) (slots, cycles int) {
	t := p.s.Target
	if l.SharedSlot {
		return 1, l.SharedSlotCycles(t, products)
	}
	if products > 1 && t.Has("cp.async") && kernel.TakeTurns(loop) && (loops == 1 || p.products.Accumulators(l.Warps) <= cost.AccumulatorLimit(t, l.Warps)) {
		if cycles, best := l.StaggeredCycles(t, products, l.SharedBytes[0]); best {
			return 1, cycles
		}
	}
	slots = l.Slots(t)
	return slots, l.CyclesWith(t, slots)
}

// spillAccesses is how often an iteration stores or loads a register that is spilled: what products take is loaded for more than one of them.
const spillAccesses = 3

// loop is what a loop asks of a multiprocessor, with rings for what it loads where the GPU copies to shared memory.
func (p *prices) loop(op *ir.Op, warps int) cost.Loop {
	accumulators := p.products.Accumulators(warps)
	l := kernel.Loop(p.s, op, warps, accumulators, func(op *ir.Op) (atom.Tiling, bool) { return p.tiling(op, warps) }, p.products.Pointers)
	l.LaunchedBlocks = p.launched
	most := 1
	if p.s.Target.Has("cp.async") {
		most = cost.MaxSlots
	}
	held := 0
	p.s.Walk(op, ir.PreOrder, func(op *ir.Op) {
		if tileaa.IsProduct(op) {
			held += p.products.Of(op, warps).Held
		}
	})
	switch {
	case held > 0: // a slot is loaded while the other is read
		most = 2
	case l.ViaRegisters:
		most = min(most, cost.MaxStagedSlots)
	}
	l.Registers += held / (4 * 32 * warps)
	limit := cost.RegisterLimit(p.s.Target, 32*warps, 1)
	spilled := max(0, l.Registers+cost.RegisterMargin(p.s.Target, warps)-limit)
	l.Registers = min(l.Registers, limit)
	l.Issue += spillAccesses * spilled * warps
	l.Waves += spillAccesses * spilled * warps
	factors := kernel.FactorsInShared(p.s, op, warps)
	for slots := 1; slots <= most && slots*l.CopiedBytes+factors <= p.s.Target.SharedOptIn; slots++ {
		l.SharedBytes = append(l.SharedBytes, slots*l.CopiedBytes+factors)
	}
	if len(l.SharedBytes) == 0 {
		p.inTurns(&l, op, accumulators, factors)
	}
	return l
}

// inTurns is what a loop asks for if shared memory has no room for all that its products take, but for what one of them does: loads take turns there, and in
// registers if these have room. factors is the bytes of kernel.FactorsInShared.
func (p *prices) inTurns(l *cost.Loop, loop *ir.Op, accumulators, factors int) {
	if !kernel.TakeTurns(loop) {
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
	registers := accumulators + stay + kernel.StagingReserve + most/(4*32*l.Warps)
	l.LoadsExposed = registers > cost.RegisterLimit(p.s.Target, 32*l.Warps, 1)
	l.Registers = min(max(l.Registers, registers), cost.RegisterLimit(p.s.Target, 32*l.Warps, 1))
}
