// Package plan decides what later passes realise: the plan of a kernel, the instruction of every product, the width of every access.
package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/codegen/target"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
	"tileiras/passes/slice"
)

// Kernel decides what depends on each other before anything is realised: how many warps a tile block has, how many registers a
// thread may use, and what is cut. It lists candidates and takes the first one that the manager has not ruled out; without optimization the
// last one, against which the others can be held.
//
//	whole    every tile as it is                      fails where a thread has too few registers, or a block too little memory
//	landed   sums stay in tensor memory               the epilogue behind their loops is made in pieces
//	steps    products are cut along K                 their operands need less shared memory
//	pieces   big tiles are made in pieces as well     accumulators and values need fewer registers; each plan less than the one before
//
// Plans are ranked by what they cost (codegen/cost). With products, prices of different ways compare only where a copy of the entry has been cut: what cuts less
// stands in front, but for landed plans, which stand among the whole ones, and for pieces by few warps and short steps where they cost less than these.
// A frontend's hint num_worker_warps_per_cta wins over the cost.
func Kernel(s *pass.State) error {
	for _, entry := range s.Entries() {
		name := pass.SymbolName(entry)
		list := candidates(s, entry)
		viable := slices.DeleteFunc(slices.Clone(list), func(c candidate) bool { return c.plan == nil })
		rejected := slices.DeleteFunc(slices.Clone(list), func(c candidate) bool { return c.plan != nil })
		viable = viable[:min(len(viable), pass.MaxPlans)]
		if !s.Optimizes(entry) {
			slices.Reverse(viable)
		}
		s.Listed(name, choices(viable), choices(rejected))
		k := s.PlanIndex[name]
		if k >= len(viable) {
			return &pass.ErrPlan{Entry: name, Reason: "no plan is left"}
		}
		if wanted, blocks := s.EntryHint(entry, "occupancy"), blocksOf(s, viable[k].plan); k == 0 && blocks < wanted {
			why := "would spill"
			switch {
			case viable[k].sharedLimited:
				why = "has no room in shared memory"
			case kernel.Multiplies(entry):
				why = "would spill the accumulators"
			}
			s.Remark(entry.Loc(), "occupancy %d %s; using %d", wanted, why, blocks)
		}
		viable[k].plan.Launched = kernel.LaunchedBlocks(s, entry)
		viable[k].plan.Remark = explain(list, viable[k])
		ir.Cast[tileaa.Entry](entry).SetPlan(viable[k].plan)
		for _, p := range viable[k].products {
			p.dot.SetAtom(p.atom)
		}
	}
	return nil
}

// blocksOf is how many blocks of a multiprocessor have registers under a plan: those that it counts on, or more.
func blocksOf(s *pass.State, p *tileaa.PlanAttr) int {
	if p.MaxReg == 0 {
		return p.Occupancy
	}
	n, _ := cost.Occupancy(s.Target, p.Threads(), p.MaxReg, 0)
	return max(n, p.Occupancy)
}

// A candidate is a plan and its cost, in quarter cycles of a multiprocessor, or why it does not fit.
type candidate struct {
	name          string
	plan          *tileaa.PlanAttr // nil if it cannot be
	products      []product        // those that stay whole
	cost          price
	why           string
	pricing       *pricing // of the cut entry; nil if nothing is cut
	sharedLimited bool     // shared memory limits occupancy below what the hint asks for
}

// A product is a dot that stays whole, its instruction, and how warps share it.
type product struct {
	dot  tileaa.Dot
	atom *tileaa.MMAAttr
}

// choices are the candidates in the form that remarks take.
func choices(list []candidate) []pass.Candidate {
	out := make([]pass.Candidate, len(list))
	for i, c := range list {
		out[i] = pass.Candidate{Name: c.name, Plan: c.plan, Cost: c.cost.quarters, Partial: c.cost.partial, Failed: c.why}
	}
	return out
}

// explain is the remark of a plan: the chosen one with its cost, then every other candidate with its own, or why it does not fit.
func explain(list []candidate, chosen candidate) string {
	text := fmt.Sprintf("%s %s", chosen.name, chosen.cost)
	for _, c := range list {
		switch {
		case c.plan == nil:
			text += fmt.Sprintf("; not %s: %s", c.name, c.why)
		case c.plan != chosen.plan:
			text += fmt.Sprintf("; %s %s", c.name, c.cost)
		}
	}
	return text
}

// candidates lists the plans of an entry, best first.
func candidates(s *pass.State, entry *ir.Op) []candidate {
	products := productsOf(s, entry)
	d := products.Demands
	if d.TileBits == 0 {
		return []candidate{{name: "1 warp", plan: newPlan(s, entry, d, 1, cost.NonAccumulatorRegisters, math.MaxInt), cost: price{quarters: cost.SpreadCost(0, 1).Quarters()}}}
	}
	warps := []int{4, 8, 16}
	hinted := s.EntryHint(entry, "num_worker_warps_per_cta")
	if hinted > 0 {
		warps = []int{hinted}
		for w := 2 * hinted; w <= cost.MaxWarps; w *= 2 {
			warps = append(warps, w)
		}
	}
	if d.AccumulatorBits > 0 {
		return productPlans(s, entry, products, warps, hinted)
	}
	places := placesOf(s, products, entry)
	d.TileBits = heldBits(s, entry, places)
	return tilePlans(s, entry, d, kernel.ReductionWorkOf(s, entry, places), warps, hinted)
}

// tilePlans lists the plans of a kernel without products.
func tilePlans(s *pass.State, entry *ir.Op, d kernel.Demands, work kernel.ReductionWork, warps []int, hinted int) (list []candidate) {
	if _, exchanges := work.Tile(warps[0]); exchanges && hinted == 0 {
		for w := warps[0] / 2; w > 0 && cost.FitsOneAccess(work.Widest, w); w /= 2 {
			warps = slices.Insert(slices.Clone(warps), 0, w)
		}
	}
	recurrence, recurs := kernel.RecurrenceOf(s, entry)
	alone := !recurs // no block has another one beside it
	passing := work.Loaded+work.Stored > 0 && !work.CarriesTiles
	for _, w := range warps {
		c := candidate{name: ir.Count(w, "warp"), cost: price{quarters: cost.SpreadCost(d.TileBits/8, w).Quarters()}, why: misfit(s, entry, d, w, nil, cost.ProductShape{})}
		if c.why == "" {
			least := cost.NonAccumulatorRegisters
			t, exchanges := work.Tile(w)
			if recurs {
				c.cost.quarters, exchanges = recurrence.Cost(s.Target, w).Quarters(), false
			}
			t.Registers = max(d.TileBits, work.HeldBits)/32/(layout.WarpSize*w) + cost.OverheadRegisters
			if exchanges || passing {
				c.cost.quarters += t.StallCost(s.Target).Quarters()
			}
			if exchanges {
				alone, least = alone && t.Blocks(s.Target) == 1, t.Registers
			}
			c.plan = newPlan(s, entry, d, w, least, math.MaxInt)
		}
		list = append(list, c)
	}
	whole := list[len(list)-1].plan != nil
	cheapestFirst(list, hinted)
	switch {
	case !whole:
		return append(list, tilePieces(s, work, d, warps, hinted)...)
	case alone && hinted == 0:
		list = append(list, smallPieces(s, work, d, warps)...)
		cheapestFirst(list, hinted)
	}
	return list
}

// tilePieces are plans that make big tiles in pieces: small ones, or bigger ones with the most warps, which have the most registers in all.
func tilePieces(s *pass.State, work kernel.ReductionWork, d kernel.Demands, warps []int, hinted int) []candidate {
	list := smallPieces(s, work, d, warps)
	if hinted > 0 {
		slices.Reverse(list)
	}
	most := warps[len(warps)-1]
	limit := cost.ThreadRegisters(s.Target, most)
	if _, exchanges := work.Tile(most); !exchanges && !work.CarriesTiles {
		limit = cost.RegisterLimit(s.Target, layout.WarpSize*most, 2) // one block loads while another computes
	}
	list = append(list, inPieces(s, work, d, most, cost.PieceRegisters, limit))
	cheapestFirst(list, hinted)
	return list
}

// smallPieces are plans for tiles that are reduced across warps, in pieces so small that several blocks are resident: the registers of a
// block do not depend on the tile. The one with the most warps comes first and wins ties: a grid may not fill the multiprocessor. In a
// grid-stride loop the launch bounds the resident blocks, so their threads get the registers of those that are never launched.
func smallPieces(s *pass.State, work kernel.ReductionWork, d kernel.Demands, warps []int) (list []candidate) {
	for _, w := range slices.Backward(warps[:min(len(warps), pass.MaxPlans-1)]) {
		if _, exchanges := work.Tile(w); exchanges {
			limit := cost.PieceRegisters + cost.OverheadRegisters
			if work.LaunchedBlocks > 0 {
				limit = max(limit, cost.RegisterLimit(s.Target, layout.WarpSize*w, work.LaunchedBlocks))
			}
			list = append(list, inPieces(s, work, d, w, cost.PieceRegisters/2, limit))
		}
	}
	return list
}

// inPieces makes big tiles in pieces of so many registers of a thread, which has at most limit. A loop holds what it adds up beside a piece.
func inPieces(s *pass.State, work kernel.ReductionWork, d kernel.Demands, warps, regs, limit int) candidate {
	c := candidate{name: fmt.Sprintf("%s, pieces of %s", ir.Count(warps, "warp"), ir.Count(regs, "register")), cost: price{quarters: cost.SpreadCost(0, cost.MaxWarps).Quarters()}}
	c.plan = &tileaa.PlanAttr{Warps: warps, Stages: 1, MaxReg: limit, Sliced: true, PieceRegs: regs}
	if t, exchanges := work.Tile(warps); exchanges {
		t.Pieces, t.Registers = d.TileBits/32/(layout.WarpSize*warps*regs), 2*regs+cost.OverheadRegisters
		c.cost.quarters += t.StallCost(s.Target).Quarters()
	}
	return c
}

// cheapestFirst sorts candidates by cost, unless the frontend hints at a number of warps: then they stay in order of distance from it.
func cheapestFirst(list []candidate, hinted int) {
	if hinted == 0 {
		slices.SortStableFunc(list, func(a, b candidate) int { return cmp.Compare(a.cost.quarters, b.cost.quarters) })
	}
}

// productPlans lists the plans of a kernel with matrix products: of each way to cut, the cheapest number of warps that can do it.
func productPlans(s *pass.State, entry *ir.Op, products *slice.Products, warps []int, hinted int) []candidate {
	d, feeds := products.Demands, slice.FeedsProducts{}
	costs := newPricing(s, entry, products)
	var viable, rejected, list []candidate
	for _, w := range warps {
		list = append(list, wholePlan(costs, w))
	}
	viable, rejected = cheapestOf(append(list, tensorSumPlans(costs, list, warps)...), hinted, viable, rejected)
	viable, rejected = slicedK(costs, warps, hinted, viable, rejected)
	if hinted == 0 {
		viable, rejected = smallBlocks(costs, viable, rejected)
		viable, rejected = shortSteps(costs, warps, viable, rejected)
	}
	// Each of these gives the operands half as much shared memory, and pieces half as many registers, as the one before.
	for k := range 3 {
		list = nil
		bytes := s.Target.SharedOptIn * 3 / 4 >> k
		if k == 0 {
			for _, w := range warps {
				c := candidate{name: ir.Count(w, "warp") + ", steps", why: misfit(s, entry, d, w, feeds, cost.ProductShape{})}
				if c.why == "" {
					c.plan = boundedPlan(s, entry, d, w)
					c.plan.OperandBytes = bytes
				}
				c.cost = costs.piecesCost(w, 1, bytes)
				list = append(list, c)
			}
		}
		if k > 0 || !slices.ContainsFunc(list, func(c candidate) bool { return c.plan != nil }) {
			list = append(list, piecesPlan(costs, k, hinted))
		}
		viable, rejected = cheapestOf(list, hinted, viable, rejected)
	}
	for _, c := range viable {
		c.plan.Producers = producerWarps(cmp.Or(c.pricing, costs), c.plan.Warps)
	}
	return append(viable, rejected...)
}

// wholePlan is the plan of so many warps that keeps all tiles whole.
func wholePlan(costs *pricing, warps int) candidate {
	s, entry, products := costs.s, costs.entry, costs.products
	rows := oneRowTilePerWarpgroup(products, entry, warps)
	c := candidate{name: ir.Count(warps, "warp"), why: misfit(s, entry, products.Demands, warps, nil, cost.ProductShape{OneRowTile: rows, SharedSlot: costs.sharesSlot(warps)})}
	if c.why == "" && products.TileBits/32/(layout.WarpSize*warps) > cost.AccumulatorTarget {
		c.why = "a tile takes too many registers"
	}
	if c.why == "" {
		c.why = operandsMisfit(s, entry, products, warps)
	}
	c.name, c.cost = c.name+costs.overlapNote(warps), costs.wholeCost(warps)
	if c.why == "" {
		least := productRegisters(products.Demands, warps)
		if rows {
			least = min(least, costs.maxLoopRegisters(warps))
		}
		blocks := costs.mostBlocks(warps)
		c.sharedLimited = blocks < s.EntryHint(entry, "occupancy")
		c.plan, c.products = newPlan(s, entry, products.Demands, warps, least, blocks), costs.dotAtoms(warps)
	}
	return c
}

// cheapestOf adds the cheapest of several candidates that cut in the same way to viable, and the others to rejected.
func cheapestOf(list []candidate, hinted int, viable, rejected []candidate) (o, n []candidate) {
	cheapestFirst(list, hinted)
	taken := false
	for _, c := range list {
		switch {
		case c.plan == nil:
			rejected = append(rejected, c)
		case !taken:
			viable, taken = append(viable, c), true
		default:
			c.why, c.plan = c.cost.String(), nil
			rejected = append(rejected, c)
		}
	}
	return viable, rejected
}

// piecesPlan makes results in pieces, smaller ones with every k: with 8 warps, whose threads have all the registers that one can have, and
// at last with the most warps.
func piecesPlan(costs *pricing, k, hinted int) candidate {
	s, entry, d := costs.s, costs.entry, costs.products.Demands
	w := 8
	if hinted > 0 {
		w = hinted
	}
	if k == 2 {
		w = cost.MaxWarps
	}
	regs := cost.AccumulatorLimit(s.Target, w) >> k
	bytes := s.Target.SharedOptIn * 3 / 4 >> k
	if k == 0 {
		bytes /= 2 // long straight code in a loop over pieces keeps too many addresses
		if needsElementAddresses(s, entry, d) {
			regs /= 2 // addresses need registers too
		}
	}
	plan := boundedPlan(s, entry, kernel.Demands{AccumulatorBits: 32 * regs * layout.WarpSize * w}, w)
	plan.Sliced, plan.PieceRegs, plan.OperandBytes = true, regs, bytes
	pieces := 1
	for d.Accumulators(w*pieces) > regs {
		pieces *= 2
	}
	return candidate{name: fmt.Sprintf("%s, pieces of %s", ir.Count(w, "warp"), ir.Count(regs, "register")), plan: plan, cost: costs.piecesCost(w, pieces, bytes)}
}

// needsElementAddresses reports whether a tile as big as a product's result is loaded, stored or updated through pointers, one address for
// each element.
func needsElementAddresses(s *pass.State, entry *ir.Op, d kernel.Demands) bool {
	found := false
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		if a, ok := ir.As[tileaa.PtrAccess](op); ok {
			found = found || kernel.TileRegisters(a.Ptr()) >= d.ProductBits/32
		}
	})
	return found
}

// productRegisters is the registers of a thread for accumulators and all else that products need.
func productRegisters(d kernel.Demands, warps int) int {
	return d.Accumulators(warps) + cost.NonAccumulatorRegisters
}

// newPlan is the plan of so many warps with all tiles whole. Its occupancy is what the hint asks for, reduced to maxBlocks and until a
// thread has minRegisters.
func newPlan(s *pass.State, entry *ir.Op, d kernel.Demands, warps, minRegisters, maxBlocks int) *tileaa.PlanAttr {
	occupancy := min(s.EntryHint(entry, "occupancy"), maxBlocks)
	for occupancy > 1 && maxRegisters(s, warps, occupancy) < minRegisters {
		occupancy--
	}
	plan := &tileaa.PlanAttr{Warps: warps, Stages: 1, Occupancy: occupancy, MaxReg: maxRegisters(s, warps, occupancy)}
	if all := cost.ThreadRegisters(s.Target, warps); plan.MaxReg == 0 && d.AccumulatorBits > 0 && all < s.Target.RegistersPerThread {
		plan.MaxReg = all // unasked, ptxas takes as few as 32 for a block of 512 threads, and spills
	}
	return plan
}

// boundedPlan is newPlan with a register limit in any case: without one ptxas may choose few for long code, and spill.
func boundedPlan(s *pass.State, entry *ir.Op, d kernel.Demands, warps int) *tileaa.PlanAttr {
	plan := newPlan(s, entry, d, warps, productRegisters(d, warps), math.MaxInt)
	if plan.MaxReg == 0 {
		plan.MaxReg = cost.ThreadRegisters(s.Target, warps)
	}
	return plan
}

// operandsMisfit says why the operands of some product do not fit shared memory or registers; "" if all do.
func operandsMisfit(s *pass.State, entry *ir.Op, products *slice.Products, warps int) (why string) {
	r := products.Room(warps, s.Target.SharedOptIn)
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		if p := (slice.Product{}); why == "" && tileaa.IsProduct(op) {
			if p = products.Of(op, warps); p.TooBig(r) {
				why = fmt.Sprintf("operands of a product take %d bytes", p.SharedBytes)
			}
		}
	})
	return why
}

// oneRowTilePerWarpgroup reports whether all products are wgmma in which each warpgroup has a single tile of rows.
func oneRowTilePerWarpgroup(products *slice.Products, entry *ir.Op, warps int) bool {
	fits := true
	ir.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		if !fits || !tileaa.IsProduct(op) {
			return
		}
		p := products.Of(op, warps)
		rows := p.Extent.M
		if p.Atom.Swap {
			rows = p.Extent.N
		}
		fits = p.OK && p.Atom.Atom.ByWarpgroup() && rows*p.Atom.Atom.Group <= p.Atom.Atom.Shape.M*warps
	})
	return fits
}

// misfit says why the threads of so many warps cannot hold every value of a kernel, but for operands of products that are cut along K
// (except); "" if they can.
func misfit(s *pass.State, entry *ir.Op, d kernel.Demands, warps int, except slice.FeedsProducts, shape cost.ProductShape) (why string) {
	limit := d.ValueLimit(s, warps)
	if n := d.AccumulatorPressure(warps); !cost.AccumulatorsFit(s.Target, warps, n, shape) {
		return fmt.Sprintf("%d accumulators of a thread", n.Max)
	}
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		for _, r := range op.Results() {
			if why == "" && kernel.TileRegisters(r) > limit*layout.WarpSize*warps && !(except != nil && except.Of(r)) {
				why = fmt.Sprintf("%s takes %s of a thread", ir.ShortType(r.Type()), ir.Count(kernel.TileRegisters(r)/(layout.WarpSize*warps), "register"))
			}
		}
		if why == "" && op.Code() == tileaa.OpScan && kernel.ScanRegisters(op, tileaa.ShapeOf(op.Operand(0)), warps) > 2*limit {
			why = "a warp cannot hold the axis of a scan"
		}
	})
	return why
}

// maxRegisters is the .maxnreg that the occupancy hint asks for: registers of the multiprocessor over threads, in steps of 8, 32
// to 256 (driver-abi: entry hints); 0 without a hint.
func maxRegisters(s *pass.State, warps, occupancy int) int {
	if occupancy <= 1 {
		return 0
	}
	threads := max(layout.WarpSize*warps, 128)
	n := s.Target.Registers / (threads * occupancy) / 8 * 8
	return min(max(n, 32), s.Target.RegistersPerThread)
}

// computesBetween reports whether threads of a loop compute with results of its products or with their factors: then products wait for each
// other through the threads.
func computesBetween(s *pass.State, loop *ir.Op) (between bool) {
	s.Walk(loop, ir.PreOrder, func(op *ir.Op) {
		if !tileaa.IsProduct(op) {
			return
		}
		_, adds := tileaa.OnlyAdds(op)
		between = between || !adds
		for _, v := range op.Operands()[:2] {
			_, names, loaded := tileaa.FactorLoad(v)
			between = between || !ir.DefinedOutside(v, loop) && !(loaded && kernel.OnlyViews(names))
		}
	})
	return between
}

// producerWarps is how many warps only issue copies (warp specialization). Unasked there is one, and only where threads have much to do
// beside the tensor unit: warps that run mma or wgmma issue copies about as fast themselves, and have more registers then (measured,
// docs/gpu.md). Asked for, there is at most one for each scheduler of a multiprocessor, and as many as leave the consumers seven eighths of
// their registers. There are none where the consumers are all warps that a block can have, and none without optimization, which gives no roles.
func producerWarps(costs *pricing, warps int) int {
	s := costs.s
	room := target.ThreadsPerBlock/layout.WarpSize - warps
	if !target.CpAsync.On(s.Target) || costs.products.AccumulatorBits == 0 || s.ForbidsRoles() || !s.Optimizes(costs.entry) || room <= 0 {
		return 0
	}
	if slices.ContainsFunc(costs.loopCosts(warps), func(l loopCost) bool {
		part := 2
		if l.computesBetween {
			part = 4
		}
		return l.ProducerPays(s.Target, l.slots, part)
	}) {
		return 1
	}
	if !s.AsksForRoles() {
		return 0
	}
	limit := func(n int) int { return cost.ThreadRegisters(s.Target, warps+n) }
	n := min(4, warps, room)
	for n > 1 && 8*limit(n) < 7*limit(0) {
		n /= 2
	}
	return n
}
