package plan

import (
	"fmt"
	"math"
	"slices"

	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/codegen/target"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/slice"
)

// assumedDepth is the length of K where it is not known.
const assumedDepth = 4096

// slicedK puts the plan in which warps split products along K (split-K within a block) in front of the viable plans that keep tiles whole,
// where it costs less than they, or where the user asks for it. Each warp then has a bigger part of the result and reads less from shared
// memory for as many products; behind the loop the warps' partial sums are added. Unasked it is worth a try where shared memory bandwidth
// is the bottleneck. It is priced on copies of the entry that are sliced.
func slicedK(whole *pricing, warps []int, hinted int, viable, rejected []candidate) (o, no []candidate) {
	s := whole.s
	asked, numbers := s.AsksForSlices(), s.Slices()
	if len(viable) == 0 || !s.Optimizes(whole.entry) || len(numbers) == 0 || !asked && !whole.gainsBySlices(viable[0].plan.Warps) {
		return viable, rejected
	}
	if hinted > 0 {
		warps = warps[:1]
	}
	var list []candidate
	for _, n := range numbers {
		if asked || !whole.shallow(n) {
			list = append(list, slicedPlans(whole, warps, n)...)
		}
	}
	for i, c := range list {
		if c.plan != nil && !asked && (c.cost.quarters >= viable[0].cost.quarters || c.plan.Occupancy < viable[0].plan.Occupancy) {
			list[i].why, list[i].plan = c.cost.String(), nil
		}
	}
	best, rejected := cheapestOf(list, 0, nil, rejected)
	return append(best, viable...), rejected
}

// gainsBySlices reports whether shared memory bandwidth limits a loop that so many warps run. A result with an address for each element
// would take too many registers beside the partial sums.
func (p *pricing) gainsBySlices(warps int) bool {
	bound := func(l loopCost) bool { return l.SharedMemoryBound(p.s.Target) }
	return target.CpAsync.On(p.s.Target) && slices.ContainsFunc(p.loopCosts(warps), bound) && !needsElementAddresses(p.s, p.entry, p.products.Demands)
}

// minSteps is the fewest steps along K of a slice: a warp loads the fragments of the second one while it multiplies the first.
const minSteps = 2

// shallow reports whether some product has too few steps along K for n slices.
func (p *pricing) shallow(n int) (some bool) {
	p.s.Walk(p.entry, ir.PreOrder, func(op *ir.Op) {
		some = some || tileaa.IsProduct(op) && slice.StepsK(op) < minSteps*n
	})
	return some
}

// slicedPlans are the plans of n slices for the numbers of warps whose threads have registers for the partial sums.
func slicedPlans(whole *pricing, warps []int, n int) (list []candidate) {
	s, d := whole.s, whole.products.Demands
	warps = slices.DeleteFunc(slices.Clone(warps), func(w int) bool { return n*d.ProductBits/32/(layout.WarpSize*w) > cost.AccumulatorLimit(s.Target, w) })
	if len(warps) == 0 {
		return nil
	}
	cut := slice.Cut(s, whole.entry, &tileaa.PlanAttr{Warps: warps[0], Stages: 1, SlicesK: n})
	if cut == nil {
		return nil
	}
	defer cut.Erase()
	costs := newPricing(s, cut, productsOf(s, cut))
	for _, w := range warps {
		plan := newPlan(s, whole.entry, costs.products.Demands, w, productRegisters(costs.products.Demands, w), math.MaxInt)
		plan.SlicesK = n
		c := evaluate(costs, plan, fmt.Sprintf("%d slices of K", n))
		c.cost.quarters += costs.crossWarpSum(w)
		list = append(list, c)
	}
	return list
}

// crossWarpSum is the cost, in quarter cycles, of adding the warps' partial sums behind the most expensive loop, as often as that is
// assumed to run.
func (p *pricing) crossWarpSum(warps int) int {
	most, ok := p.busiest(warps)
	if !ok {
		return 0
	}
	iterations, known := tileaa.TripCount(most.op)
	if !known {
		iterations = uint64(assumedDepth / depthOf(most.op))
	}
	return cost.CrossWarpSum(p.products.AccumulatorBits/8).Quarters() * runs(most.op.Body().First()) / int(min(max(iterations, 1), maxRuns))
}

// depthOf is the extent along K that the products of a loop cover in one iteration.
func depthOf(loop *ir.Op) (depth int) {
	for _, op := range loop.Body().Ops() {
		if tileaa.IsProduct(op) {
			e := kernel.ExtentOf(op)
			depth += max(1, e.Batch) * e.K
		}
	}
	return max(1, depth)
}
