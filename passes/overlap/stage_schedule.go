package overlap

import (
	"maps"
	"slices"

	"tileiras/codegen/cost"
	"tileiras/codegen/planted"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// This file is what stage-loads does in a loop with several products, where registers cannot hold all loads of an iteration at once: the loads are scheduled so that
// they use the registers one after the other. Each is issued behind a store that has freed some, of this iteration or of the one before:
//
//	for %i = %lo to %hi {                     %k0 = tiled_load %x[%lo]
//	  %k = tiled_load %x[%i]                  for %i = %lo to %hi inits(%k0) (%k) {
//	  buffer_store %k, %b                       buffer_store %k, %b
//	  .. dot (buffer_load %b) ..         =>     %v = tiled_load %y[%i]
//	  %v = tiled_load %y[%i]                    .. dot (buffer_load %b) ..
//	  buffer_store %v, %c                       buffer_store %v, %c
//	  .. dot (buffer_load %c) ..                %j = %i+1 < %hi ? %i+1 : %i
//	  continue                                  %k1 = tiled_load %x[%j]
//	}                                           .. dot (buffer_load %c) ..
//	                                            continue %k1
//	                                          }
//
// Buffers stay as they are: two tiles with disjoint live ranges share their place in shared memory.

// maxScheduledStores bounds the stores of a loop whose loads are scheduled, maxDistance how many gaps before its store a load may be
// issued: the search takes time in the product of both.
const maxScheduledStores, maxDistance = 16, 8

// loadSchedule is the schedule of the loads for the stores of a loop. Gap i lies between store i and the next one; the last gap wraps
// around to the first store of the next iteration.
type loadSchedule struct {
	*staging
	at        map[*ir.Op]int // position of each op in the body
	number    map[*ir.Op]int // index of each store
	sizes     []int          // by store: registers of its loads
	held      []int          // by gap: registers of other live tiles
	distances []int          // by store: how many gaps earlier its loads are issued; 0: they stay
	products  []cost.Loop    // by gap: work that hides latency
}

// scheduleLoads schedules the loads of a loop for the occupancy that codegen/cost finds best, and rewrites the loop if any load moves.
func (g *staging) scheduleLoads(s *pass.State, entry *ir.Op, r *resources) bool {
	n := len(g.stores)
	t := &loadSchedule{staging: g, at: map[*ir.Op]int{}, number: map[*ir.Op]int{}, held: make([]int, n), products: make([]cost.Loop, n)}
	for i, op := range g.body {
		t.at[op] = i
	}
	slices.SortFunc(g.stores, func(a, b *stagedStore) int { return t.at[a.BufferStore.Op] - t.at[b.BufferStore.Op] })
	for i, st := range g.stores {
		t.number[st.BufferStore.Op] = i
		t.sizes = append(t.sizes, st.registers())
	}
	t.measure()
	plan := tileaa.PlanOf(entry)
	held := slices.Max(t.held) + kernel.StagingReserve
	l := loopDemandOf(s, plan, g.loop, 0)
	schedules := map[int][]int{} // by blocks
	blocks, _ := bestOccupancy(s, plan, l, held, r.bytes, func(blocks, limit int) (wait int) {
		schedules[blocks] = t.schedule(s, limit-kernel.StagingReserve)
		return t.stallCycles(s, schedules[blocks])
	})
	t.distances = schedules[blocks]
	if !slices.ContainsFunc(t.distances, func(gaps int) bool { return gaps > 0 }) {
		return false
	}
	t.rewrite(s)
	return true
}

// bestOccupancy is the best number of resident blocks for a loop, and the register limit of a thread with it; 0 if a thread cannot have the
// held registers. More blocks hide stalls, too, but leave fewer registers for loads in flight: waits gives the stall of an iteration for a
// number of blocks and its register limit. A block takes shared bytes.
func bestOccupancy(s *pass.State, plan *tileaa.PlanAttr, l cost.Loop, held, shared int, waits func(blocks, limit int) (wait int)) (best, registers int) {
	most, _ := cost.Occupancy(s.Target, plan.Threads(), min(held, s.Target.RegistersPerThread), shared)
	if plan.Launched > 0 {
		most = min(most, plan.Launched)
	}
	least := 0
	for blocks := max(most, 1); blocks > 0; blocks-- {
		limit := plan.Registers(cost.RegisterLimit(s.Target, plan.Threads(), blocks))
		if held > limit {
			continue
		}
		if cycles := l.CyclesWithStall(s.Target, blocks, waits(blocks, limit)); best == 0 || cycles < least {
			best, registers, least = blocks, limit, cycles
		}
	}
	return best, registers
}

// registers is the registers of a thread that hold the loads of a store.
func (st *stagedStore) registers() (n int) {
	for _, l := range st.loads {
		n += loadedRegisters(l)
	}
	return n
}

// measure finds, for each gap, the work of its products and the register pressure of its live tiles, without loads in flight and without
// operand fragments, which are read from shared memory step by step.
func (t *loadSchedule) measure() {
	last, dead := map[*ir.Value]int{}, len(t.body)
	now := 0
	for i, op := range t.body {
		for _, v := range ir.Taken(op) {
			if _, seen := last[v]; !seen && (v.DefiningOp() == nil || ir.DefinedOutside(v, t.loop.Op)) { // there when an iteration begins
				now += t.registersOf(v)
			}
			last[v] = i
		}
	}
	gap := len(t.stores) - 1
	for i, op := range t.body {
		for _, v := range op.Results() {
			if _, used := last[v]; used {
				now += t.registersOf(v)
			}
		}
		for _, v := range ir.Taken(op) {
			if last[v] == i && !ir.DefinedOutside(v, t.loop.Op) {
				now, last[v] = now-t.registersOf(v), dead
			}
		}
		if k, ok := t.number[op]; ok {
			gap = k
		}
		t.held[gap] = max(t.held[gap], now)
		if tiling, ok := kernel.TilingOf(op); tileaa.IsProduct(op) && ok {
			t.products[gap].Multiply(tiling)
		}
	}
}

// registersOf is the registers of a thread for a tile over its live range.
func (t *loadSchedule) registersOf(v *ir.Value) int {
	op := v.DefiningOp()
	switch {
	case kernel.IsRematerialized(v):
		return 0
	case op == nil || op.Block() != t.loop.Op.Body():
	case op.Code() == tileaa.OpBufferLoad && tileaa.OnlyProductsTake(v):
		return 0
	case slices.ContainsFunc(t.stores, func(st *stagedStore) bool { return st.early[op] || st.late[op] && op.Code() != tileaa.OpFtof }):
		return 0
	}
	return kernel.RegistersOf(v)
}

// schedule moves loads earlier, gap by gap, as long as registers last and the products in between do not yet hide the latency of memory.
func (t *loadSchedule) schedule(s *pass.State, room int) (ahead []int) {
	n := len(t.stores)
	ahead = make([]int, n)
	used := make([]int, n)
	for again := true; again; {
		again = false
		for i := range t.stores {
			s.Step()
			gap := (i - ahead[i] - 1 + 2*n) % n
			if ahead[i] == min(n, maxDistance) || t.held[gap]+used[gap]+t.sizes[i] > room || cost.ExposedLoadCycles(s.Target, t.productsBetween(i, ahead[i])) == 0 {
				continue
			}
			ahead[i]++
			used[gap] += t.sizes[i]
			again = true
		}
	}
	return ahead
}

// productsBetween is the work of the products in so many gaps before a store.
func (t *loadSchedule) productsBetween(i, gaps int) (l cost.Loop) {
	n := len(t.stores)
	for k := 1; k <= gaps; k++ {
		c := t.products[(i-k+n)%n]
		l.MatrixCycles, l.Issue, l.Waves = l.MatrixCycles+c.MatrixCycles, l.Issue+c.Issue, l.Waves+c.Waves
	}
	return l
}

// stallCycles is the latency of loads that an iteration does not hide.
func (t *loadSchedule) stallCycles(s *pass.State, ahead []int) (cycles int) {
	for i := range t.stores {
		cycles += cost.ExposedLoadCycles(s.Target, t.productsBetween(i, ahead[i]))
	}
	return cycles
}

// rewrite moves the loads, and makes those of the next iteration loop-carried.
func (t *loadSchedule) rewrite(s *pass.State) {
	t.b = ir.NewBuilder(s.Ctx).Before(t.loop.Op)
	t.b.Loc = t.loop.Op.Loc()
	t.untie()
	n := len(t.stores)
	behind := make([]*ir.Op, n) // what stands behind the loads that begin in a gap
	for i, st := range t.stores {
		behind[i] = st.BufferStore.Op.Next()
	}
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	slices.SortStableFunc(list, func(a, b int) int { return (a - t.distances[a]) - (b - t.distances[b]) })
	var carried []int
	moved := map[*ir.Op]bool{}
	for _, i := range list {
		switch gap := i - t.distances[i]; {
		case t.distances[i] == 0:
		case gap < 0:
			carried = append(carried, i)
		default:
			t.move(i, gap, behind, moved)
		}
	}
	if len(carried) == 0 {
		return
	}
	inits := t.prologue(carried)
	t.steadyState(carried, behind)
	t.eraseMoved(carried)
	t.flow.Carry(inits)
}

// needs is the backward slice of the loads of store i within the body, loads included, up to ops that are given.
func (t *loadSchedule) needs(i int, given func(op *ir.Op) bool) map[*ir.Op]bool {
	may := maps.Clone(t.slice)
	maps.Copy(may, t.stores[i].early)
	var loaded []*ir.Value
	for _, l := range t.stores[i].loads {
		loaded = append(loaded, l.Result(0))
	}
	return dependencies(may, given, loaded...)
}

// move puts the loads for a store, with their slice, behind the store of a gap, unless they have moved there already.
func (t *loadSchedule) move(i, gap int, behind []*ir.Op, moved map[*ir.Op]bool) {
	needs := t.needs(i, nothing)
	from := t.at[t.stores[gap].BufferStore.Op]
	for _, op := range t.body[from+1:] {
		if !needs[op] || moved[op] {
			continue
		}
		moved[op] = true
		to := behind[gap]
		for k := range behind {
			if behind[k] == op {
				behind[k] = op.Next()
			}
		}
		if to != op {
			op.MoveBefore(to)
		}
	}
}

// prologue issues, in front of the loop, the loads for what its first iteration stores, if there is one.
func (t *loadSchedule) prologue(carried []int) (inits []*ir.Value) {
	m, runs := t.initial(), t.hasIteration()
	for _, i := range carried {
		t.cloneAll(t.needs(i, mapped(m)), m, runs)
		for _, l := range t.stores[i].loads {
			inits = append(inits, m.Lookup(l.Result(0)))
		}
	}
	return inits
}

// steadyState makes an iteration issue the loads for what the next one stores, and store what the one before loaded.
func (t *loadSchedule) steadyState(carried []int, behind []*ir.Op) {
	body := t.loop.Op.Body()
	end := body.Terminator()
	t.b.AtStart(body)
	m := t.following()
	if planted.On("late-turn") { // it stores what was loaded for this iteration
		m = ir.Mapping{}
	}
	n := len(t.stores)
	for _, i := range carried {
		t.b.Before(behind[i-t.distances[i]+n])
		t.cloneAll(t.needs(i, mapped(m)), m, nil)
		for _, l := range t.stores[i].loads {
			end.SetOperandGroup(0, append(end.Operands(), m.Lookup(l.Result(0))))
			l.Result(0).ReplaceAllUsesWith(body.AddArg(l.Result(0).Type()))
		}
	}
}

// eraseMoved erases the original loads that are now loop-carried, and their addresses.
func (t *loadSchedule) eraseMoved(carried []int) {
	moved := map[*ir.Op]bool{}
	for _, i := range carried {
		maps.Copy(moved, t.needs(i, nothing))
	}
	for _, op := range slices.Backward(t.body) {
		if moved[op] && !op.HasUses() {
			op.Erase()
		}
	}
}
