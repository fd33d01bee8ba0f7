package sync

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

// This file is what stage-loads does in a loop with several products, where registers have no room for all that an iteration loads: loads take turns in
// them. Each begins behind a store that has made room, of this iteration or of the one before:
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
// Buffers stay as they are: two tiles that are not alive together share their place in shared memory.

// mostTurns bounds how many stores of a loop have loads that take turns, and mostAhead how many gaps before its store a load begins: each of them is looked at
// for all others.
const mostTurns, mostAhead = 16, 8

// turns is the schedule of the loads for the stores of a loop. Gap i is from store i to the next one, the last one to the first of the next iteration.
type turns struct {
	*staging
	at     map[*ir.Op]int // of the body, in order
	number map[*ir.Op]int // of the stores
	sizes  []int          // registers that hold what is loaded, by store
	held   []int          // registers that hold other tiles, by gap
	ahead  []int          // how many gaps before its store a load begins, by store; 0: it stays
	covers []cost.Loop    // what products do, by gap
}

// takeTurns schedules the loads of a loop as codegen/cost finds best for so many blocks as a multiprocessor can run, and rewrites it if any begins early.
func (g *staging) takeTurns(s *pass.State, entry *ir.Op, r *resources) bool {
	n := len(g.stores)
	t := &turns{staging: g, at: map[*ir.Op]int{}, number: map[*ir.Op]int{}, held: make([]int, n), covers: make([]cost.Loop, n)}
	for i, op := range g.body {
		t.at[op] = i
	}
	slices.SortFunc(g.stores, func(a, b *stagedStore) int { return t.at[a.BufferStore.Op] - t.at[b.BufferStore.Op] })
	for i, st := range g.stores {
		t.number[st.BufferStore.Op] = i
		t.sizes = append(t.sizes, st.registers())
	}
	t.survey()
	plan := tileaa.PlanOf(entry)
	held := slices.Max(t.held) + kernel.StagingReserve
	l := asksOf(s, plan, g.loop, 0)
	schedules := map[int][]int{} // by blocks
	blocks, _ := bestBlocks(s, plan, l, held, r.bytes, func(blocks, limit int) (wait int) {
		schedules[blocks] = t.schedule(s, limit-kernel.StagingReserve)
		return t.waits(s, schedules[blocks])
	})
	t.ahead = schedules[blocks]
	if !slices.ContainsFunc(t.ahead, func(gaps int) bool { return gaps > 0 }) {
		return false
	}
	t.rewrite(s)
	return true
}

// bestBlocks is how many thread blocks of a multiprocessor, with so many registers of a thread and bytes of shared memory at least, are best for a loop whose warps wait so
// long for what they load with so many of them, each thread having so many registers; and the registers of a thread then. More of them hide what warps wait for, too.
// It is none where a thread has fewer registers than it holds.
func bestBlocks(s *pass.State, plan *tileaa.PlanAttr, l cost.Loop, held, shared int, waits func(blocks, limit int) (wait int)) (best, registers int) {
	most, _ := cost.Occupancy(s.Target, plan.Threads(), min(held, s.Target.RegistersPerThread), shared)
	if plan.Launched > 0 {
		most = min(most, plan.Launched)
	}
	least := 0
	for blocks := max(most, 1); blocks > 0; blocks-- {
		limit := cost.RegisterLimit(s.Target, plan.Threads(), blocks)
		if plan.MaxReg > 0 {
			limit = min(limit, plan.MaxReg)
		}
		if held > limit {
			continue
		}
		if cycles := l.CyclesWithStall(s.Target, blocks, waits(blocks, limit)); best == 0 || cycles < least {
			best, registers, least = blocks, limit, cycles
		}
	}
	return best, registers
}

// registers is how many hold what is loaded for a store.
func (st *stagedStore) registers() (n int) {
	for _, l := range st.loads {
		n += loadedRegisters(l)
	}
	return n
}

// survey finds, by gap, what products do and the registers of a thread for tiles that are alive, but for those that loads bring and fragments of factors, which
// come from shared memory step by step.
func (t *turns) survey() {
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
			t.covers[gap].Multiply(tiling)
		}
	}
}

// registersOf is the registers of a thread for a tile that it holds from one op to a later one.
func (t *turns) registersOf(v *ir.Value) int {
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

// schedule begins loads earlier, gap by gap, as long as registers have room and the products in between do not take as long as memory.
func (t *turns) schedule(s *pass.State, room int) (ahead []int) {
	n := len(t.stores)
	ahead = make([]int, n)
	used := make([]int, n)
	for again := true; again; {
		again = false
		for i := range t.stores {
			s.Step()
			gap := (i - ahead[i] - 1 + 2*n) % n
			if ahead[i] == min(n, mostAhead) || t.held[gap]+used[gap]+t.sizes[i] > room || cost.ExposedLoadCycles(s.Target, t.covered(i, ahead[i])) == 0 {
				continue
			}
			ahead[i]++
			used[gap] += t.sizes[i]
			again = true
		}
	}
	return ahead
}

// covered is what products do in so many gaps before a store.
func (t *turns) covered(i, gaps int) (l cost.Loop) {
	n := len(t.stores)
	for k := 1; k <= gaps; k++ {
		c := t.covers[(i-k+n)%n]
		l.MatrixCycles, l.Issue, l.Waves = l.MatrixCycles+c.MatrixCycles, l.Issue+c.Issue, l.Waves+c.Waves
	}
	return l
}

// waits is how long an iteration waits for its loads.
func (t *turns) waits(s *pass.State, ahead []int) (cycles int) {
	for i := range t.stores {
		cycles += cost.ExposedLoadCycles(s.Target, t.covered(i, ahead[i]))
	}
	return cycles
}

// rewrite moves the loads of this iteration, and lets the loop carry those of the next one.
func (t *turns) rewrite(s *pass.State) {
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
	slices.SortStableFunc(list, func(a, b int) int { return (a - t.ahead[a]) - (b - t.ahead[b]) })
	var carried []int
	moved := map[*ir.Op]bool{}
	for _, i := range list {
		switch gap := i - t.ahead[i]; {
		case t.ahead[i] == 0:
		case gap < 0:
			carried = append(carried, i)
		default:
			t.move(i, gap, behind, moved)
		}
	}
	if len(carried) == 0 {
		return
	}
	inits := t.begin(carried)
	t.carryOn(carried, behind)
	t.eraseMoved(carried)
	t.replaceLoop(inits)
}

// needs are the ops of the body that the loads for a store follow from, and they themselves, without what is given.
func (t *turns) needs(i int, given func(op *ir.Op) bool) map[*ir.Op]bool {
	may := maps.Clone(t.pipeline.ahead)
	maps.Copy(may, t.stores[i].early)
	var loaded []*ir.Value
	for _, l := range t.stores[i].loads {
		loaded = append(loaded, l.Result(0))
	}
	return follows(may, given, loaded...)
}

// move puts the loads for a store, with what they need, behind that of a gap. Those that begin earlier have been moved.
func (t *turns) move(i, gap int, behind []*ir.Op, moved map[*ir.Op]bool) {
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

// begin loads before the loop what its first iteration stores, if there is one.
func (t *turns) begin(carried []int) (inits []*ir.Value) {
	m, runs := t.initial(), t.runs()
	for _, i := range carried {
		t.cloneAll(t.needs(i, mapped(m)), m, runs)
		for _, l := range t.stores[i].loads {
			inits = append(inits, m.Lookup(l.Result(0)))
		}
	}
	return inits
}

// carryOn makes an iteration begin what the next one stores, and store what the one before began.
func (t *turns) carryOn(carried []int, behind []*ir.Op) {
	body := t.loop.Op.Body()
	end := body.Terminator()
	t.b.AtStart(body)
	m := t.following()
	if planted.On("late-turn") { // it stores what was loaded for this iteration
		m = ir.Mapping{}
	}
	n := len(t.stores)
	for _, i := range carried {
		t.b.Before(behind[i-t.ahead[i]+n])
		t.cloneAll(t.needs(i, mapped(m)), m, nil)
		for _, l := range t.stores[i].loads {
			end.SetOperandGroup(0, append(end.Operands(), m.Lookup(l.Result(0))))
			l.Result(0).ReplaceAllUsesWith(body.AddArg(l.Result(0).Type()))
		}
	}
}

// eraseMoved erases what carried loads and their addresses were.
func (t *turns) eraseMoved(carried []int) {
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
