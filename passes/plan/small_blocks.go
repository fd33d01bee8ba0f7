package plan

import (
	"fmt"

	"tileiras/codegen/cost"
	"tileiras/dialects/tileaa"
)

// twoBlockWarps leave room for a second resident block, whatever registers their threads take.
const twoBlockWarps = 4

// smallBlocks puts a plan in front of the viable ones that keep tiles whole, if it costs less: so few warps, with results made in pieces,
// that two blocks are resident, of which one multiplies while the other waits or runs its epilogue. It is worth a try where the best plan
// has a single resident block, and is priced on a copy of the entry that is cut.
func smallBlocks(whole *pricing, viable, rejected []candidate) (o, n []candidate) {
	s := whole.s
	regs := cost.AccumulatorLimit(s.Target, twoBlockWarps)
	if len(viable) == 0 || whole.products.Accumulators(twoBlockWarps) <= regs || !whole.oneBlockResident(viable[0].plan.Warps) {
		return viable, rejected
	}
	plan := &tileaa.PlanAttr{Warps: twoBlockWarps, Stages: 1, MaxReg: cost.ThreadRegisters(s.Target, twoBlockWarps), Sliced: true, PieceRegs: regs}
	c, ok := evaluateCut(whole, plan, fmt.Sprintf("pieces of %d registers", regs))
	switch {
	case !ok:
		return viable, rejected
	case c.why != "":
	case c.pricing.oneBlockResident(twoBlockWarps):
		c.why = "a multiprocessor runs one block of them as well"
	case c.cost.quarters >= viable[0].cost.quarters:
		c.why = c.cost.String()
	}
	if c.why != "" {
		c.plan = nil
		return viable, append(rejected, c)
	}
	return append([]candidate{c}, viable...), rejected
}
