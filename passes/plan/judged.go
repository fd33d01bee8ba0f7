package plan

import (
	"fmt"

	"tileiras/dialects/tileaa"
	"tileiras/passes/slice"
)

// judged is the candidate of a plan that cuts tiles, judged by a copy of the entry that is cut; ok is false where nothing is cut.
func judged(whole *prices, plan *tileaa.PlanAttr, how string) (c candidate, ok bool) {
	s := whole.s
	cut := slice.Cut(s, whole.entry, plan)
	if cut == nil {
		return candidate{}, false
	}
	defer cut.Erase()
	products := slice.ProductsOf(s, cut)
	costs := newPrices(s, cut, products)
	c = candidate{name: fmt.Sprintf("%d warps, %s%s", plan.Warps, how, costs.overlap(plan.Warps)), cost: costs.whole(plan.Warps), prices: costs}
	if plan.SlicesK > 1 {
		c.cost.quarters += costs.meeting(plan.Warps)
	}
	if c.why = misfit(s, cut, products.Demands, plan.Warps, nil, false); c.why == "" {
		c.why = operandsMisfit(s, cut, products, plan.Warps)
	}
	if c.why == "" {
		c.plan = plan
	}
	return c, true
}
