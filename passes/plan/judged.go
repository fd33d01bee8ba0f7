package plan

import (
	"fmt"

	"tileiras/dialects/tileaa"
	"tileiras/passes/slice"
)

// judged is the candidate of a plan that cuts tiles, judged by a copy of the entry that is cut; ok is false where nothing is cut.
func judged(whole *prices, plan *tileaa.PlanAttr, how string) (c candidate, ok bool) {
	cut := slice.Cut(whole.s, whole.entry, plan)
	if cut == nil {
		return candidate{}, false
	}
	defer cut.Erase()
	return judgedBy(newPrices(whole.s, cut, slice.ProductsOf(whole.s, cut)), plan, how), true
}

// judgedBy is the candidate of a plan by the prices of a copy that is cut as it says.
func judgedBy(costs *prices, plan *tileaa.PlanAttr, how string) candidate {
	s, d := costs.s, costs.products.Demands
	c := candidate{name: fmt.Sprintf("%d warps, %s%s", plan.Warps, how, costs.overlap(plan.Warps)), cost: costs.whole(plan.Warps), prices: costs}
	if c.why = misfit(s, costs.entry, d, plan.Warps, nil, false, costs.takesTurns(plan.Warps)); c.why == "" {
		c.why = operandsMisfit(s, costs.entry, costs.products, plan.Warps)
	}
	if c.why == "" {
		c.plan = plan
	}
	return c
}
