package plan

import (
	"fmt"
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
	"tileiras/passes/slice"
)

// shortSteps puts the plan that cuts products along K in front of out, the plans that keep tiles whole, where it costs less than they: shared memory has room
// for shorter steps of a later iteration, which are copied while this one multiplies. It is worth a thought where it has none for whole ones, or none for a single one, and is judged
// by copies of the entry that are cut. A step must be an iteration of the loop that was there: a loop in a loop has nothing to copy ahead in its last
// iteration.
func shortSteps(whole *prices, warps []int, out, not []candidate) (o, n []candidate) {
	s, entry := whole.s, whole.entry
	if !s.Target.Has("cp.async") || len(out) > 0 && !whole.crowded(out[0].plan.Warps) || gathers(s, entry) {
		return out, not
	}
	var list []candidate
	bytes, deep := s.Target.SharedOptIn/2, depths(s, entry)
	for _, w := range warps {
		cut := slice.Cut(s, entry, &tileaa.PlanAttr{Warps: w, Stages: 1, OperandBytes: bytes})
		if cut == nil {
			continue
		}
		if slices.Equal(depths(s, cut), deep) {
			costs := newPrices(s, cut, slice.ProductsOf(s, cut))
			c := wholePlan(costs, w)
			c.name, c.products, c.prices = fmt.Sprintf("%s, steps", c.name), nil, costs
			if c.plan != nil {
				c.plan.OperandBytes = bytes
			}
			list = append(list, c)
		}
		cut.Erase()
	}
	best, rest := cheapestOf(list, 0, nil, nil)
	for _, c := range best {
		if len(out) > 0 && c.cost >= out[0].cost {
			c.why, c.plan = fmt.Sprintf("cost %d", c.cost), nil
			rest = append(rest, c)
			continue
		}
		out = append([]candidate{c}, out...)
	}
	return out, append(not, rest...)
}

// gathers reports whether products in loops multiply what is read through pointers that follow from what the loop loads: a shorter step waits for both loads
// as long as a whole one.
func gathers(s *pass.State, entry *ir.Op) (found bool) {
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		if tileaa.IsProduct(op) && ir.EnclosingLoop(op) != nil {
			for _, v := range op.Operands()[:2] {
				load, _, ok := tileaa.LoadOf(v)
				found = found || ok && kernel.Gathers(load)
			}
		}
	})
	return found
}

// depths are how many loops stand around each product of an entry.
func depths(s *pass.State, entry *ir.Op) (list []int) {
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		if tileaa.IsProduct(op) {
			n := 0
			for loop := ir.EnclosingLoop(op); loop != nil; loop = ir.EnclosingLoop(loop) {
				n++
			}
			list = append(list, n)
		}
	})
	return list
}
