package overlap

import (
	"slices"

	"tileiras/codegen/cost"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// choice is how the copies of a loop are software-pipelined: the slots of its rings (1 in a single group: no ring), the groups of copies
// with a wait of their own, the resident blocks that result, and the registers of a thread (0: not estimated).
type choice struct {
	loop         *ir.Op
	slots        int
	groups       []*group
	blocks       int
	registers    int
	registersFit bool // the estimated registers are within the limit, so a thread may hold more
}

// rings reports whether the loop is pipelined: copies begin iterations ahead, or wait in groups.
func (c choice) rings() bool { return c.slots > 1 || len(c.groups) > 1 }

// choices are the choices for the loops of an entry that can be pipelined, inner loops first. A loop that left shared memory to more
// resident blocks is asked once more if another one takes that memory: then a single block is resident anyway.
func choices(s *pass.State, entry *ir.Op) (list []choice) {
	var r *resources
	choose := func(p *pipeline) choice {
		c := chooseFor(s, entry, r, p)
		if c.rings() {
			r.made(s, p.loop.Op, p.filled(), c.slots)
		}
		return c
	}
	var pipelines []*pipeline
	for _, loop := range countedLoops(s, entry) {
		if p, ok := pipelined(loop); ok {
			if r == nil {
				r = resourcesOf(s, entry)
			}
			list, pipelines = append(list, choose(p)), append(pipelines, p)
		}
	}
	if slices.ContainsFunc(list, choice.rings) {
		r.sort(s)
		for i, p := range pipelines {
			if !list[i].rings() {
				list[i] = choose(p)
			}
		}
	}
	return list
}

// chooseFor is the choice that codegen/cost finds best for a loop, among those that fit shared memory.
func chooseFor(s *pass.State, entry *ir.Op, r *resources, p *pipeline) choice {
	plan, l := tileaa.PlanOf(entry), p.loopDemand(s, entry, r.accumulators)
	c := choice{loop: p.loop.Op, slots: 1, groups: p.singleGroup(), registersFit: l.Registers <= plan.Registers(s.Target.RegistersPerThread)}
	switch {
	case plan.MaxReg == 0:
	case plan.Occupancy > 1: // a hint: threads may take fewer
		l.Registers = plan.Registers(l.Registers)
	default: // long code takes all that it may
		l.Registers = plan.Registers(s.Target.RegistersPerThread)
	}
	rings, buffers := p.filled(), []*ir.Value(nil)
	for slots := 1; slots <= cost.MaxSlots; slots++ {
		bytes, err := r.with(s, p.loop.Op, buffers, slots)
		if err != nil {
			break
		}
		l.SharedBytes = append(l.SharedBytes, bytes)
		buffers = rings // from two slots on
	}
	if rows, ok := kernel.RowLoopOf(s, p.loop.Op, plan.Warps); ok && len(l.SharedBytes) > 0 {
		rows.CopiedBytes, rows.SharedBytes = l.CopiedBytes, l.SharedBytes
		c.slots = rows.Slots(s.Target)
		c.blocks = l.Blocks(s.Target, c.slots)
		return c
	}
	c.registers = l.Registers
	if groups := p.groupsByProduct(); len(groups) > 1 {
		bytes, err := r.with(s, p.loop.Op, rings, 1)
		if err == nil {
			if _, best := l.StaggeredCycles(s.Target, len(groups), bytes); best {
				l.SharedBytes = []int{bytes}
				c.groups, c.blocks = groups, l.Blocks(s.Target, 1)
				return c
			}
		}
	}
	if len(l.SharedBytes) > 0 { // else allocate-shared says what has no room
		c.slots = l.Slots(s.Target)
		c.blocks = l.Blocks(s.Target, c.slots)
	}
	return c
}

// loopDemand is what an iteration asks of a multiprocessor, but for shared memory.
func (p *aheadLoop) loopDemand(s *pass.State, entry *ir.Op, accumulators int) cost.Loop {
	return loopDemandOf(s, tileaa.PlanOf(entry), p.loop, accumulators)
}

// loopDemandOf is the same for any loop under the plan of its entry.
func loopDemandOf(s *pass.State, plan *tileaa.PlanAttr, loop tileaa.For, accumulators int) cost.Loop {
	l := kernel.Loop(s, loop.Op, plan.Warps, accumulators, kernel.TilingOf, pointersOf)
	l.LaunchedBlocks = plan.Launched
	return l
}

// filled lists the buffers of the copies.
func (p *pipeline) filled() (list []*ir.Value) {
	for _, c := range p.copies {
		list = append(list, c.Buffer())
	}
	return list
}

// accumulatorsOf is the accumulator registers of a thread at the entry's point of most pressure.
func accumulatorsOf(s *pass.State, entry *ir.Op) int {
	return kernel.DemandsOf(s, entry).Accumulators(tileaa.PlanOf(entry).Warps)
}

// pointersOf is what the accesses of a load need, as its copy says.
func pointersOf(op *ir.Op) int {
	c, ok := ir.As[tileaa.AsyncCopy](op)
	return kernel.RegistersPerAccess(op, ok && c.Ragged())
}
