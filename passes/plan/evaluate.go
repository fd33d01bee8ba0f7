package plan

import (
	"fmt"

	"tileiras/codegen/cost"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/slice"
)

// evaluateCut prices a plan that cuts tiles on a copy of the entry that is cut as it says; ok is false where nothing is cut.
func evaluateCut(whole *pricing, plan *tileaa.PlanAttr, how string) (c candidate, ok bool) {
	cut := slice.Cut(whole.s, whole.entry, plan)
	if cut == nil {
		return candidate{}, false
	}
	defer cut.Erase()
	return evaluate(newPricing(whole.s, cut, productsOf(whole.s, cut)), plan, how), true
}

// evaluate is the candidate of a plan, priced on a copy of the entry that is cut as it says.
func evaluate(costs *pricing, plan *tileaa.PlanAttr, how string) candidate {
	s, d := costs.s, costs.products.Demands
	c := candidate{name: fmt.Sprintf("%s, %s%s", ir.Count(plan.Warps, "warp"), how, costs.overlapNote(plan.Warps)), cost: costs.wholeCost(plan.Warps), pricing: costs}
	if c.why = misfit(s, costs.entry, d, plan.Warps, nil, cost.ProductShape{SharedSlot: costs.sharesSlot(plan.Warps)}); c.why == "" {
		c.why = operandsMisfit(s, costs.entry, costs.products, plan.Warps)
	}
	if c.why == "" {
		c.plan = plan
	}
	return c
}
