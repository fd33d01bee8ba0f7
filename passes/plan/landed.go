package plan

import (
	"slices"

	"tileiras/passes/kernel"
)

// landedRegisters is the registers of a thread for a piece of the sums that the tensor unit has kept.
const landedRegisters = 64

// landedPlans are the plans that leave in tensor memory what products add up, where none of those that keep all whole can be, where threads bring factors, and where
// each element of a sum has an address of its own: with the registers of the sums a multiprocessor runs another block, which multiplies meanwhile.
func landedPlans(whole *prices, plans []candidate, warps []int) (list []candidate) {
	if !whole.s.Target.Has("tcgen05") || whole.s.Opt == 0 {
		return nil
	}
	can := slices.ContainsFunc(plans, func(c candidate) bool { return c.plan != nil })
	addresses := addressedSingly(whole.s, whole.entry, whole.products.Demands)
	for _, w := range warps {
		if can && !addresses && !whole.passed(w) {
			continue
		}
		registers := landedRegisters
		if addresses {
			registers /= 2 // as many as addresses take
		}
		if c, ok := landedPlan(whole, w, registers); ok {
			list = append(list, c)
		}
	}
	return list
}

// landedPlan is the plan of so many warps that leaves in tensor memory what products add up, and makes what comes behind their loops in pieces of so many registers.
// It is judged by a copy of the entry that is cut; ok is false where the tensor unit keeps nothing.
func landedPlan(whole *prices, warps, registers int) (c candidate, ok bool) {
	s, entry := whole.s, whole.entry
	if !kernel.KeepsSums(s, entry, warps) {
		return candidate{}, false
	}
	plan := boundedPlan(s, entry, kernel.Demands{AccumulatorBits: 32 * registers * 32 * warps}, warps)
	plan.Sliced, plan.PieceRegs, plan.Landed = true, registers, true
	c, ok = judged(whole, plan, "sums in tensor memory")
	return c, ok && c.prices.products.AccumulatorBits < whole.products.AccumulatorBits
}
