package plan

import (
	"fmt"
	"math"
	"slices"

	"tileiras/codegen/cost"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/slice"
)

// usualDepth is how long sums of products are taken to be of which nobody knows.
const usualDepth = 4096

// slicedK puts the plan in which warps share products along K, too, in front of out, the plans that keep tiles whole, where it costs less than they, or who compiles
// asks for it. Each warp has a bigger part of the result then, and reads less from shared memory for as many products; behind the loop warps tell each other their
// sums. Unasked it is worth a thought where nothing has more to do than shared memory. It is judged by copies of the entry that are sliced.
func slicedK(whole *prices, warps []int, hinted int, out, not []candidate) (o, no []candidate) {
	s := whole.s
	asked, numbers := s.AsksForSlices(), s.Slices()
	if len(out) == 0 || s.Opt == 0 || len(numbers) == 0 || !asked && !whole.gainsBySlices(out[0].plan.Warps) {
		return out, not
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
		if c.plan != nil && !asked && (c.cost.quarters >= out[0].cost.quarters || c.plan.Occupancy < out[0].plan.Occupancy) {
			list[i].why, list[i].plan = c.cost.String(), nil
		}
	}
	best, not := cheapestOf(list, 0, nil, not)
	return append(best, out...), not
}

// gainsBySlices reports whether nothing has more to do than shared memory in a loop that so many warps run. Each result with an address of its own would take too
// many registers beside the sums of slices.
func (p *prices) gainsBySlices(warps int) bool {
	bound := func(l weighted) bool { return l.SharedMemoryBound(p.s.Target) }
	return p.s.Target.Has("cp.async") && slices.ContainsFunc(p.loopsOf(warps), bound) && !addressedSingly(p.s, p.entry, p.products.Demands)
}

// leastSteps is the least steps along K of a slice that is worth it: a warp loads the fragments of the second one under the first.
const leastSteps = 2

// shallow reports whether some product has too little of K for n slices.
func (p *prices) shallow(n int) (some bool) {
	p.s.Walk(p.entry, ir.PreOrder, func(op *ir.Op) {
		some = some || tileaa.IsProduct(op) && slice.StepsK(op) < leastSteps*n
	})
	return some
}

// slicedPlans are the plans of n slices whose sums the threads of so many warps have registers for.
func slicedPlans(whole *prices, warps []int, n int) (list []candidate) {
	s, d := whole.s, whole.products.Demands
	warps = slices.DeleteFunc(slices.Clone(warps), func(w int) bool { return n*d.ProductBits/32/(32*w) > cost.AccumulatorLimit(s.Target, w) })
	if len(warps) == 0 {
		return nil
	}
	cut := slice.Cut(s, whole.entry, &tileaa.PlanAttr{Warps: warps[0], Stages: 1, SlicesK: n})
	if cut == nil {
		return nil
	}
	defer cut.Erase()
	costs := newPrices(s, cut, slice.ProductsOf(s, cut))
	for _, w := range warps {
		plan := newPlan(s, whole.entry, costs.products.Demands, w, besideProducts(costs.products.Demands, w), math.MaxInt)
		plan.SlicesK = n
		c := judgedBy(costs, plan, fmt.Sprintf("%d slices of K", n))
		c.cost.quarters += costs.meeting(w)
		list = append(list, c)
	}
	return list
}

// meeting is what it costs, in quarter cycles, that warps tell each other their sums behind the loop with most to do, as often as that is assumed to run.
func (p *prices) meeting(warps int) int {
	most, ok := p.busiest(warps)
	if !ok {
		return 0
	}
	iterations, known := tileaa.TripCount(most.op)
	if !known {
		iterations = uint64(usualDepth / depthOf(most.op))
	}
	return cost.CrossWarpSum(p.products.AccumulatorBits/8).Quarters() * runs(most.op.Body().First()) / int(min(max(iterations, 1), mostRuns))
}

// depthOf is how far along K the products of a loop go in an iteration.
func depthOf(loop *ir.Op) (depth int) {
	for _, op := range loop.Body().Ops() {
		if tileaa.IsProduct(op) {
			e := kernel.ExtentOf(op)
			depth += max(1, e.Batch) * e.K
		}
	}
	return max(1, depth)
}
