package plan

import (
	"slices"

	"tileiras/codegen/layout"
	"tileiras/codegen/target"
	"tileiras/passes/kernel"
)

// tensorSumPieceRegs is the registers of a thread for one piece of a sum that is read from tensor memory.
const tensorSumPieceRegs = 64

// tensorSumPlans are the plans that leave accumulators in tensor memory until their loop is over and then read them in pieces. They are
// worth a try where no plan with whole tiles fits, where threads write operands, and where each element of a sum has an address of its own:
// the registers that are saved let another block be resident, which multiplies meanwhile.
func tensorSumPlans(whole *pricing, plans []candidate, warps []int) (list []candidate) {
	if !target.Tcgen05.On(whole.s.Target) || !whole.s.Optimizes(whole.entry) {
		return nil
	}
	can := slices.ContainsFunc(plans, func(c candidate) bool { return c.plan != nil })
	addresses := needsElementAddresses(whole.s, whole.entry, whole.products.Demands)
	for _, w := range warps {
		if can && !addresses && !whole.hasRegisterOperands(w) {
			continue
		}
		registers := tensorSumPieceRegs
		if addresses {
			registers /= 2 // as many as addresses take
		}
		if c, ok := tensorSumPlan(whole, w, registers); ok {
			list = append(list, c)
		}
	}
	return list
}

// tensorSumPlan is the one of so many warps, with an epilogue in pieces of so many registers, priced on a copy of the entry that is cut so;
// ok is false where no sum stays in tensor memory.
func tensorSumPlan(whole *pricing, warps, registers int) (c candidate, ok bool) {
	s, entry := whole.s, whole.entry
	if !kernel.HasTensorMemorySum(s, entry, warps) {
		return candidate{}, false
	}
	plan := boundedPlan(s, entry, kernel.Demands{AccumulatorBits: 32 * registers * layout.WarpSize * warps}, warps)
	plan.Sliced, plan.PieceRegs, plan.SumsInTensor = true, registers, true
	c, ok = evaluateCut(whole, plan, "sums in tensor memory")
	return c, ok && c.pricing.products.AccumulatorBits < whole.products.AccumulatorBits
}
