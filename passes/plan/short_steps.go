package plan

import (
	"fmt"
	"slices"

	"tileiras/codegen/layout"
	"tileiras/codegen/target"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
	"tileiras/passes/slice"
)

// shortSteps puts the plan that cuts products along K in front of the viable plans that keep tiles whole, where it costs less: shorter
// steps fit a ring of several slots, or leave shared memory for another block. It is worth a try where shared memory cannot hold two whole
// steps, or not even one, and where rows are longer than the widest swizzle. It is priced on copies of the entry that are cut. A step must
// be an iteration of the loop that was there: an inner loop would have nothing to copy ahead in its last iteration.
func shortSteps(whole *pricing, warps []int, viable, rejected []candidate) (o, n []candidate) {
	s, entry := whole.s, whole.entry
	if !target.CpAsync.On(s.Target) {
		return viable, rejected
	}
	var limits []int
	if len(viable) == 0 || whole.cannotDoubleBuffer(viable[0].plan.Warps) {
		limits = append(limits, s.Target.SharedOptIn/2)
	}
	if bytes := whole.rowBytes(warps[0]); bytes > 0 {
		limits = append(limits, bytes)
	}
	if len(limits) == 0 || gathers(s, entry) {
		return viable, rejected
	}
	var list []candidate
	deep := loopDepths(s, entry)
	for _, bytes := range limits {
		for _, w := range warps {
			if c, ok := shortPlan(s, entry, deep, w, bytes); ok {
				list = append(list, c)
			}
		}
	}
	best, rest := cheapestOf(list, 0, nil, nil)
	for _, c := range best {
		if len(viable) > 0 && c.cost.quarters >= viable[0].cost.quarters {
			c.why, c.plan = c.cost.String(), nil
			rest = append(rest, c)
			continue
		}
		viable = append([]candidate{c}, viable...)
	}
	return viable, append(rejected, rest...)
}

// shortPlan is the plan of so many warps and so many bytes of operands, if each step is an iteration of the loop around its product.
func shortPlan(s *pass.State, entry *ir.Op, deep []int, warps, bytes int) (c candidate, ok bool) {
	cut := slice.Cut(s, entry, &tileaa.PlanAttr{Warps: warps, Stages: 1, OperandBytes: bytes})
	if cut == nil {
		return candidate{}, false
	}
	defer cut.Erase()
	if !slices.Equal(loopDepths(s, cut), deep) {
		return candidate{}, false
	}
	costs := newPricing(s, cut, productsOf(s, cut))
	c = wholePlan(costs, warps)
	c.name, c.products, c.pricing = fmt.Sprintf("%s, steps of %d bytes", c.name, bytes), nil, costs
	if c.plan != nil {
		c.plan.OperandBytes = bytes
	}
	return c, true
}

// rowBytes is the shared memory of a step's operands when their rows are cut to the width of the widest swizzle, if the only product of an
// entry has longer rows; else 0.
func (p *pricing) rowBytes(warps int) int {
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
	return q.SharedBytes * layout.WidestSwizzle / row
}

// gathers reports whether products in loops multiply what is loaded through pointers that are loaded themselves: a shorter step waits for
// both latencies as a whole one does.
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

// loopDepths are the loop depths of the products of an entry.
func loopDepths(s *pass.State, entry *ir.Op) (list []int) {
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
