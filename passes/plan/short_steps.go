package plan

import (
	"fmt"
	"slices"

	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
	"tileiras/passes/slice"
)

// shortSteps puts the plan that cuts products along K in front of out, the plans that keep tiles whole, where it costs less than they: shared memory has room
// for shorter steps of a later iteration, or of more of them, which are copied while this one multiplies, or for another block. It is worth a thought where there
// is no room for a second whole step, or for one, and where rows are longer than they gain by. It is judged by copies of the entry that are cut. A step must be an
// iteration of the loop that was there: a loop in a loop has nothing to copy ahead in its last iteration.
func shortSteps(whole *prices, warps []int, out, not []candidate) (o, n []candidate) {
	s, entry := whole.s, whole.entry
	if !s.Target.Has("cp.async") {
		return out, not
	}
	var limits []int
	if len(out) == 0 || whole.crowded(out[0].plan.Warps) {
		limits = append(limits, s.Target.SharedOptIn/2)
	}
	if bytes := whole.rowBytes(warps[0]); bytes > 0 {
		limits = append(limits, bytes)
	}
	if len(limits) == 0 || gathers(s, entry) {
		return out, not
	}
	var list []candidate
	deep := depths(s, entry)
	for _, bytes := range limits {
		for _, w := range warps {
			if c, ok := shortPlan(s, entry, deep, w, bytes); ok {
				list = append(list, c)
			}
		}
	}
	best, rest := cheapestOf(list, 0, nil, nil)
	for _, c := range best {
		if len(out) > 0 && c.cost.quarters >= out[0].cost.quarters {
			c.why, c.plan = c.cost.String(), nil
			rest = append(rest, c)
			continue
		}
		out = append([]candidate{c}, out...)
	}
	return out, append(not, rest...)
}

// shortPlan is the plan of so many warps and bytes for operands, if each step is an iteration of the loop around its product.
func shortPlan(s *pass.State, entry *ir.Op, deep []int, warps, bytes int) (c candidate, ok bool) {
	cut := slice.Cut(s, entry, &tileaa.PlanAttr{Warps: warps, Stages: 1, OperandBytes: bytes})
	if cut == nil {
		return candidate{}, false
	}
	defer cut.Erase()
	if !slices.Equal(depths(s, cut), deep) {
		return candidate{}, false
	}
	costs := newPrices(s, cut, slice.ProductsOf(s, cut))
	c = wholePlan(costs, warps)
	c.name, c.products, c.prices = fmt.Sprintf("%s, steps of %d bytes", c.name, bytes), nil, costs
	if c.plan != nil {
		c.plan.OperandBytes = bytes
	}
	return c, true
}

// rowBytes is the shared memory of the operands of a step whose rows are as long as the widest swizzle, if the only product of an entry has longer
// ones; 0 otherwise.
func (p *prices) rowBytes(warps int) int {
	var products []*ir.Op
	p.s.Walk(p.entry, ir.PreOrder, func(op *ir.Op) {
		if tileaa.IsProduct(op) {
			products = append(products, op)
		}
	})
	if len(products) != 1 {
		return 0
	}
	q := p.products.Of(products[0], warps)
	row := q.Extent.K * q.Atom.A.Bits() / 8
	if !q.OK || row <= layout.WidestSwizzle {
		return 0
	}
	return q.Staged * layout.WidestSwizzle / row
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
