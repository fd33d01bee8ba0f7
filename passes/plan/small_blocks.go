package plan

import (
	"fmt"

	"tileiras/codegen/cost"
	"tileiras/dialects/tileaa"
)

// fewWarps leave room for another block on a multiprocessor, whatever registers their threads take.
const fewWarps = 4

// smallBlocks puts the plan that makes results in pieces by so few warps that a multiprocessor runs two blocks in front of out, the plans that keep tiles
// whole, where it costs less than they: one block multiplies while the other waits, or computes with what it has multiplied. It is worth a thought where
// the best of them has a multiprocessor for itself, and is judged by a copy of the entry that is cut.
func smallBlocks(whole *prices, out, not []candidate) (o, n []candidate) {
	s := whole.s
	regs := cost.AccumulatorLimit(s.Target, fewWarps)
	if len(out) == 0 || whole.products.Accumulators(fewWarps) <= regs || !whole.alone(out[0].plan.Warps) {
		return out, not
	}
	plan := &tileaa.PlanAttr{Warps: fewWarps, Stages: 1, MaxReg: cost.ThreadRegisters(s.Target, fewWarps), Sliced: true, PieceRegs: regs}
	c, ok := judged(whole, plan, fmt.Sprintf("pieces of %d registers", regs))
	switch {
	case !ok:
		return out, not
	case c.why != "":
	case c.prices.alone(fewWarps):
		c.why = "a multiprocessor runs one block of them as well"
	case c.cost.quarters >= out[0].cost.quarters:
		c.why = c.cost.String()
	}
	if c.why != "" {
		c.plan = nil
		return out, append(not, c)
	}
	return append([]candidate{c}, out...), not
}
