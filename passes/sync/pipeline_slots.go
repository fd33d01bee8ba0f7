package sync

import (
	"slices"

	"tileiras/codegen/cost"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// choice is how many slots the rings of a loop have, 1 in a single group for none, which copies are waited for together, and how many
// blocks a multiprocessor runs then.
type choice struct {
	slots  int
	groups []*group
	blocks int
}

// chosen is what codegen/cost finds best for a loop among what shared memory has room for.
func chosen(s *pass.State, entry *ir.Op, p *pipeline) choice {
	plan, l := tileaa.PlanOf(entry), p.asks(s, entry)
	if plan.MaxReg > 0 {
		l.Registers = min(plan.MaxReg, s.Target.RegistersPerThread)
	}
	var rings, buffers []*ir.Value
	for _, c := range p.copies {
		rings = append(rings, c.Buffer())
	}
	list, at := intervals(s, entry)
	loop := at[p.loop.Op]
	for slots := 1; slots <= cost.MostSlots; slots++ {
		bytes, err := sharedWith(s, list, loop, buffers, slots)
		if err != nil {
			break
		}
		l.Shared = append(l.Shared, bytes)
		buffers = rings // from two slots on
	}
	if groups := p.apart(); len(groups) > 1 {
		bytes, err := sharedWith(s, list, loop, rings, 1)
		if err == nil {
			if _, best := l.Apart(s.Target, len(groups), bytes); best {
				l.Shared = []int{bytes}
				return choice{1, groups, l.Blocks(s.Target, 1)}
			}
		}
	}
	if len(l.Shared) == 0 {
		return choice{1, p.together(), 0} // allocate-shared says what has no room
	}
	slots := l.Slots(s.Target)
	return choice{slots, p.together(), l.Blocks(s.Target, slots)}
}

// asks is what an iteration asks of a multiprocessor, but for shared memory.
func (p *pipeline) asks(s *pass.State, entry *ir.Op) cost.Loop {
	warps := tileaa.PlanOf(entry).Warps
	return kernel.Loop(s, p.loop.Op, warps, kernel.DemandsOf(s, entry).Accumulators(warps), kernel.TilingOf, pointersOf)
}

// pointersOf is what the accesses of a load need, as its copy says.
func pointersOf(op *ir.Op) int {
	c, ok := ir.As[tileaa.AsyncCopy](op)
	return kernel.Pointers(op, ok && c.Ragged())
}

// sharedWith is the shared memory of a kernel, of which these are the buffers and rings, when some of a loop are rings of so many slots.
func sharedWith(s *pass.State, list []*interval, loop extent, buffers []*ir.Value, slots int) (bytes int, err error) {
	with := make([]*interval, len(list))
	for i, iv := range list {
		changed := *iv
		if v := iv.op.Result(0); slices.Contains(buffers, v) {
			changed.size, changed.align = sizeOf(tileaa.Ring(s.Ctx, int64(slots), v.Type().(*tileaa.BufferType)))
			changed.first, changed.last = loop.first, loop.last
		}
		with[i] = &changed
	}
	return place(s, with)
}
