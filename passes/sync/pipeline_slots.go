package sync

import (
	"tileiras/codegen/cost"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// slotsFor decides how many slots the rings of a loop have, 1 for none: what codegen/cost finds best among those that shared memory has
// room for.
func slotsFor(s *pass.State, entry *ir.Op, p *pipeline) int {
	plan := tileaa.PlanOf(entry)
	l := cost.Overlap{Warps: plan.Warps, Registers: plan.MaxReg}
	if l.Registers == 0 {
		l.Registers = kernel.DemandsOf(s, entry).AccumulatorBits/32/(32*plan.Warps) + cost.BesideAccumulators
	}
	for _, op := range p.loop.Op.Body().Ops() {
		if tileaa.IsProduct(op) {
			l.Work += productCycles(op, plan.Warps)
		}
	}
	for slots := 1; slots <= cost.MostSlots; slots++ {
		bytes, err := sharedWith(s, entry, p, slots)
		if err != nil {
			break
		}
		l.Shared = append(l.Shared, bytes)
	}
	return l.Slots(s.Target)
}

// productCycles is the cycles of the matrix unit of a product.
func productCycles(op *ir.Op, warps int) int {
	d, ok := ir.As[tileaa.Dot](op)
	if !ok {
		return 0
	}
	e := kernel.ExtentOf(op)
	return max(e.Batch, 1) * e.M * e.N * e.K / (d.Atom().Atom.Rate * min(warps, 4))
}

// sharedWith is the shared memory of a kernel when the buffers of a loop are rings of so many slots.
func sharedWith(s *pass.State, entry *ir.Op, p *pipeline, slots int) (bytes int, err error) {
	list, at := intervals(s, entry)
	for _, iv := range list {
		for _, c := range p.copies {
			if slots > 1 && iv.op.Result(0) == c.Buffer() {
				iv.size, iv.align = sizeOf(tileaa.Ring(s.Ctx, int64(slots), c.Buffer().Type().(*tileaa.BufferType)))
				iv.first, iv.last = at[p.loop.Op].first, at[p.loop.Op].last
			}
		}
	}
	return place(s, list, s.Target.SharedOptIn)
}
