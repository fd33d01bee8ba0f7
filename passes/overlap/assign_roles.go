package overlap

import (
	"fmt"
	"slices"

	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/memory"
	"tileiras/passes/pass"
)

// AssignRoles gives the copies of loops to warps that do nothing else, where the plan has such warps:
//
//	                                      %p = alloc_pipeline; %r = alloc_ring           (S slots)
//	for %i {                              roles {
//	  %b = alloc_shared                     role producer {                  role consumer {
//	  async_copy %x[%i], %b                   for %i (%n = 0, %phase) {        for %i (%n = 0, %phase) {
//	  async_commit                  =>          producer_acquire %p[%n]          consumer_wait %p[%n]
//	  async_wait 0                              async_copy %x[%i], %r[%n]        .. buffer_load %r[%n] ..
//	  .. buffer_load %b ..                      producer_commit %p[%n]           consumer_release %p[%n]
//	}                                           continue ring_next %n          }
//	                                          }                              }
//	                                        }
//	                                      }
//
// Both roles count slots by themselves: each runs the loops, and the branches around them, that lead to its slots, with the same conditions,
// so the n-th slot that one fills is the n-th that the other reads. Loops one after the other that fill slots of the same kind fill the same ones, and go on
// counting where the one before ends. First everything is written as one program; a role is the part of it that its own effects need (assign_roles_slice.go).
// What a copy's address follows from is computed by both.
//
// Nothing else passes from one role to the other. So a copy must come after no write of the kernel, and the conditions and addresses of the
// producer must follow from parameters, constants and the grid alone. Where that is not so, the kernel has one role.
func AssignRoles(s *pass.State) error {
	for _, entry := range s.Entries() {
		plan := *tileaa.PlanOf(entry)
		if plan.Producers == 0 || len(ir.OpsOf[tileaa.Roles](entry.Body())) > 0 { // or it has its roles already
			continue
		}
		if why := assignRoles(s, entry, &plan); why != "" {
			plan.Producers = 0
			s.Remark(entry.Loc(), "no roles: %s", why)
		}
		ir.Cast[tileaa.Entry](entry).SetPlan(&plan)
	}
	return nil
}

// roleLoop is a loop whose copies producer warps issue.
type roleLoop struct {
	*pipeline
	stages []*stage
	demand cost.Loop   // what it asks of a multiprocessor, with all of shared memory
	first  *roleLoop   // the loop whose rings it uses: an earlier one that fillsAlike, else itself
	later  []*roleLoop // loops behind it that use its rings
}

// stage is copies that arrive together in one slot, and the ops of the loop's body between which consumers hold the slot.
type stage struct {
	copies         []tileaa.AsyncCopy
	first, last    *ir.Op
	rings          []*ir.Value // by copy
	pipeline       *ir.Value   // the mbarriers of its slots
	releasedByUnit bool        // only the tensor unit reads the slot, and releases it when the last product is complete
}

// assignRoles splits an entry into roles, or says why it cannot.
func assignRoles(s *pass.State, entry *ir.Op, plan *tileaa.PlanAttr) (why string) {
	loops, why := roleLoops(s, entry)
	if why != "" {
		return why
	}
	slots := roleSlots(s, entry, plan, loops)
	if slots == 0 {
		return "shared memory has no room for the slots"
	}
	allStagger := !slices.ContainsFunc(loops, func(l *roleLoop) bool { return !l.staggersReleases() })
	if slots == 1 && !allStagger && !s.AsksForRoles() { // a copy would begin no earlier than those who compute can begin it
		return "shared memory has no room for two slots"
	}
	limit := cost.RegisterLimit(s.Target, plan.Threads(), 1)
	for _, l := range loops {
		if l.demand.Registers > limit {
			return fmt.Sprintf("%d threads have %d registers each, a loop takes %d", plan.Threads(), limit, l.demand.Registers)
		}
	}
	var copies []*ir.Op
	for _, l := range loops {
		for _, c := range l.copies {
			copies = append(copies, c.Op)
		}
	}
	if why := whyNotSeparable(entry, copies); why != "" {
		return why
	}
	blocks := blocksAsked(s, plan, loops, slots)
	for _, l := range loops {
		if l.first == l {
			l.addPipelines(s, entry, plan, int64(slots))
		}
	}
	split(s, entry, plan)
	plan.Stages = slots
	if limit := plan.Registers(cost.RegisterLimit(s.Target, plan.Threads(), blocks)); limit < s.Target.RegistersPerThread {
		plan.MaxReg = limit
	}
	return ""
}

// blocksAsked is the number of resident blocks to aim at: what the frontend hints at, or two where each loop has but one slot, if shared
// memory has room for them and their threads, producers included, get the registers of the loops; else 1.
func blocksAsked(s *pass.State, plan *tileaa.PlanAttr, loops []*roleLoop, slots int) int {
	wanted := plan.Occupancy
	if slots == 1 { // while the copies of one come, another computes
		wanted = max(wanted, 2)
	}
	if wanted < 2 {
		return 1
	}
	limit := cost.RegisterLimit(s.Target, plan.Threads(), wanted)
	places := 0
	for _, l := range loops {
		if l.first == l {
			places++
		}
	}
	for _, l := range loops {
		c := l.demand
		if c.Registers+(places-1)*kernel.AddressRegisters > limit {
			return 1
		}
		c.Registers = limit
		if c.Blocks(s.Target, slots) < wanted {
			return 1
		}
	}
	return wanted
}

// staggersReleases reports whether slots are released at different times of an iteration, some of them by products of the tensor unit:
// copies begin there while other products are in flight and threads compute.
func (l *roleLoop) staggersReleases() bool {
	return len(l.stages) > 1 && slices.ContainsFunc(l.stages, func(st *stage) bool { return st.releasedByUnit })
}

// roleLoops are the loops of an entry whose copies producers can issue, or why there are none.
func roleLoops(s *pass.State, entry *ir.Op) (loops []*roleLoop, why string) {
	s.Walk(entry, ir.PostOrder, func(op *ir.Op) {
		if op.Code() == tileaa.OpReturn && op.Next() == nil && op.ParentOp() != entry {
			why = "a branch leaves the kernel"
		}
		if op.Code() != tileaa.OpFor {
			return
		}
		p, ok := pipelined(op)
		if !ok {
			return
		}
		for _, tokens := range p.tokens {
			for _, t := range tokens {
				if !kernel.AfterReads(t) {
					why = "a copy comes after what the kernel writes"
				}
			}
		}
		if loaded, copied := broughtBy(p); loaded > copied && !s.AsksForRoles() { // those who compute wait for memory anyhow
			why = "threads load more in a loop than what can be copied"
		}
		groups := p.groupsByProduct()
		if len(groups) == 0 {
			groups = p.singleGroup()
		}
		l := &roleLoop{pipeline: p}
		for _, st := range stagesOf(p, groups) {
			st.first, st.last = l.readers(s, st)
			st.releasedByUnit = onlyUnitReads(st.copies[0]) && (tileaa.RunsAsync(st.last) || slices.ContainsFunc(inTensorMemory(p.loop.Op), func(d tileaa.Dot) bool { return d.Op == st.last }))
			if !st.releasedByUnit && !st.releaseAfterLand(op.Body()) {
				why = "the tensor unit reads a slot beside threads, and beyond the iteration"
			}
			l.stages = append(l.stages, st)
		}
		l.first = l
		if i := slices.IndexFunc(loops, func(o *roleLoop) bool { return o.first == o && o.fillsAlike(l) }); i >= 0 {
			l.first, loops[i].later = loops[i], append(loops[i].later, l)
		}
		loops = append(loops, l)
	})
	if why == "" && len(loops) == 0 {
		why = "no loop has copies that can run ahead"
	}
	return loops, why
}

// broughtBy is the bytes that loads of threads and that copies bring in an iteration.
func broughtBy(p *pipeline) (loaded, copied int) {
	for _, op := range p.loop.Op.Body().Ops() {
		if kernel.IsPlainLoad(op) && tileaa.IsRanked(op.Result(0)) {
			loaded += kernel.LoadedBytes(op)
		}
	}
	for _, c := range p.copies {
		copied += kernel.LoadedBytes(c.Op)
	}
	return loaded, copied
}

// stagesOf are the stages of groups of copies. What only the tensor unit reads is a stage of its own: the unit releases it, threads release
// the rest.
func stagesOf(p *pipeline, groups []*group) (stages []*stage) {
	for _, g := range groups {
		for _, unit := range []bool{true, false} {
			st := &stage{}
			for _, i := range g.copies {
				if onlyUnitReads(p.copies[i]) == unit {
					st.copies = append(st.copies, p.copies[i])
				}
			}
			if len(st.copies) > 0 {
				stages = append(stages, st)
			}
		}
	}
	return stages
}

// fillsAlike reports whether a later loop, not one around this, fills slots of the same types, so that both can use one ring.
func (l *roleLoop) fillsAlike(later *roleLoop) bool {
	return !ir.IsProperAncestor(later.loop.Op, l.loop.Op) && slices.EqualFunc(l.stages, later.stages, func(a, b *stage) bool {
		return a.releasedByUnit == b.releasedByUnit && slices.EqualFunc(a.copies, b.copies, func(x, y tileaa.AsyncCopy) bool { return x.Buffer().Type() == y.Buffer().Type() })
	})
}

// beforeReads reports whether only weak reads come after the tokens among some values.
func beforeReads(values []*ir.Value, seen map[*ir.Value]bool) bool {
	for _, v := range values {
		if !tileaa.IsToken(v) || seen[v] {
			continue
		}
		seen[v] = true
		for _, u := range v.Uses() {
			op := u.Owner()
			next := ir.ForwardedTo(op, u.Index())
			if _, flow := ir.FlowOf(op); !flow && !op.Traits().Has(ir.Terminator) {
				next = op.Results()
			}
			if op.NumRegions() == 0 && kernel.AccessKindsOf(op)&^kernel.WeakRead != 0 || !beforeReads(next, seen) {
				return false
			}
		}
	}
	return true
}

// roleSlots is the slots of the rings of all loops, 0 without room: two, or one where products are staggered, or more where codegen/cost
// finds that better. If possible they leave room for blocksAsked blocks.
func roleSlots(s *pass.State, entry *ir.Op, plan *tileaa.PlanAttr, loops []*roleLoop) (slots int) {
	var shared []int
	least := 1
	for n := 1; n <= cost.MaxSlots; n++ {
		bytes, err := roleMemory(s, entry, loops, int64(n))
		if err != nil {
			break
		}
		shared = append(shared, bytes)
	}
	accumulators := accumulatorsOf(s, entry)
	for _, l := range loops {
		l.demand = l.loopDemand(s, entry, accumulators)
		l.demand.Producers, l.demand.SharedBytes = plan.Producers, shared
		if len(l.stages) == 1 {
			least = 2
		}
	}
	for _, l := range loops {
		c := l.demand
		c.Registers = min(c.Registers, cost.RegisterLimit(s.Target, plan.Threads(), 1))
		for n := len(shared); n >= least; n-- {
			if c.Blocks(s.Target, n) >= plan.Occupancy {
				c.SharedBytes = shared[:n]
				break
			}
		}
		if len(shared) > 0 {
			n := c.ProducerSlots(s.Target)
			if l.staggersReleases() && c.StaggerBeatsRing(s.Target, len(l.stages), n, shared[0]) {
				n = 1
			}
			slots = max(slots, n)
		}
	}
	if slots = max(slots, least); slots > len(shared) {
		return 0
	}
	return slots
}

// roleMemory is the shared memory of a kernel whose loops have pipelines and rings of so many slots.
func roleMemory(s *pass.State, entry *ir.Op, loops []*roleLoop, slots int64) (bytes int, err error) {
	list, at := memory.LiveIntervals(s, entry)
	for _, l := range loops {
		filled := func(iv *memory.LiveInterval) bool {
			return slices.ContainsFunc(l.copies, func(c tileaa.AsyncCopy) bool { return c.Buffer() == iv.Op.Result(0) })
		}
		if l.first != l {
			list = slices.DeleteFunc(list, filled)
			continue
		}
		end := l.loop.Op.AncestorIn(entry.Body())
		if n := len(l.later); n > 0 {
			end = l.later[n-1].loop.Op.AncestorIn(entry.Body())
		}
		for _, iv := range list {
			if filled(iv) {
				iv.Size, iv.Align = tileaa.SharedMemory(tileaa.Ring(s.Ctx, slots, iv.Op.Result(0).Type().(*tileaa.BufferType)))
				iv.First, iv.Last = at[entry].First, at[end].Last
			}
		}
		for range l.stages {
			list = append(list, &memory.LiveInterval{Op: l.copies[0].Buffer().DefiningOp(), First: at[entry].First, Last: at[entry].Last,
				Size: tileaa.Pipeline(s.Ctx, slots).Bytes(), Align: tileaa.MbarrierBytes})
		}
	}
	return memory.PlaceBuffers(s, list)
}

// addPipelines allocates the rings and pipelines of a loop at the top of the entry, and makes the loop fill and read their slots.
func (l *roleLoop) addPipelines(s *pass.State, entry *ir.Op, plan *tileaa.PlanAttr, slots int64) {
	top := ir.NewBuilder(s.Ctx).AtStart(entry.Body())
	top.Loc = l.loop.Op.Loc()
	i1 := tileaa.Tile(s.Ctx, s.Ctx.Int(1))
	start := []*ir.Value{tileaa.Const(top, tileaa.Tile(s.Ctx, s.Ctx.Int(32)), 0), tileaa.Const(top, i1, 0)}
	for _, st := range l.stages {
		st.pipeline = tileaa.NewAllocPipeline(top, tileaa.Pipeline(s.Ctx, slots), int64(layout.WarpSize*plan.Producers), int64(plan.Warps), tileaa.AllocPipelineOptions{}).Result()
		for _, c := range st.copies {
			t := tileaa.Ring(s.Ctx, slots, c.Buffer().Type().(*tileaa.BufferType))
			st.rings = append(st.rings, tileaa.NewAllocRing(top, t, tileaa.AllocRingOptions{}).Result())
		}
	}
	all := append([]*roleLoop{l}, l.later...)
	state := &stateThreading{s: s, next: func(b *ir.Builder, state []*ir.Value) []*ir.Value {
		position := tileaa.NewRingNext(b, state[0], slots).Result()
		first := tileaa.NewCmpi(b, i1, position, tileaa.Const(b, tileaa.AsTile(position), 0), def.Unsigned, tileaa.CmpiOptions{Predicate: def.PredEqual}).Result()
		return []*ir.Value{position, tileaa.NewXori(b, state[1], first).Result()}
	}, within: func(loop *ir.Op, b *ir.Builder, state []*ir.Value) {
		i := slices.IndexFunc(all, func(o *roleLoop) bool { return o.loop.Op == loop })
		all[i].rewrite(b, plan, state)
	}}
	for _, o := range all {
		for i, st := range o.stages {
			st.pipeline, st.rings = l.stages[i].pipeline, l.stages[i].rings
		}
		state.loops = append(state.loops, o.loop.Op)
	}
	state.through(entry, start)
}

// rewrite has the loop fill and read the slots at a position.
func (l *roleLoop) rewrite(b *ir.Builder, plan *tileaa.PlanAttr, state []*ir.Value) {
	for _, st := range l.stages {
		st.rewrite(b, plan, state[0], state[1])
	}
	for _, op := range l.loop.Op.Body().Ops() {
		if c := op.Code(); c == tileaa.OpAsyncCommit || c == tileaa.OpAsyncWait {
			op.Erase()
		}
	}
}

// readers are the first op of the body that reads a stage's copies, or comes after them, and the last one that reads them: a product where
// the reads feed products, because code generation sinks such reads to their products.
func (l *roleLoop) readers(s *pass.State, st *stage) (first, last *ir.Op) {
	body := l.loop.Op.Body()
	before, after, seen := map[*ir.Op]bool{}, map[*ir.Op]bool{}, map[*ir.Value]bool{}
	var feeds func(v *ir.Value)
	feeds = func(v *ir.Value) {
		if seen[v] {
			return
		}
		seen[v] = true
		for u := v.FirstUse(); u != nil; u = u.Next() {
			s.Step()
			op := u.Owner()
			switch {
			case op.Block() != body:
			case tileaa.IsProduct(op):
				after[op] = true
			case op.MovesFreely() && op.NumResults() == 1:
				feeds(op.Result(0))
			}
		}
	}
	for _, c := range st.copies {
		for _, user := range tileaa.BufferUsers(c.Buffer()) {
			if op := user.AncestorIn(body); op != c.Op {
				before[op], after[op] = true, true
				if d, ok := ir.As[tileaa.Dot](op); ok && d.InFlight() && d.Atom().Atom.ByWarpgroup() {
					after[tileaa.WaitBehind(d)] = true
				}
				if tileaa.IsProduct(op) {
					continue // which has read it when it is over
				}
				for _, r := range op.Results() {
					feeds(r)
				}
			}
		}
		for _, op := range comesAfterCopy(c, map[*ir.Op]bool{}) {
			before[op.AncestorIn(body)] = true
		}
	}
	begun := false
	for _, op := range body.Ops() {
		begun = begun || slices.ContainsFunc(st.copies, func(c tileaa.AsyncCopy) bool { return c.Op == op })
		if first == nil && (before[op] || begun && kernel.OrdersAllWithin(op)) {
			first = op
		}
		if after[op] {
			last = op
		}
	}
	return first, last
}

// comesAfterCopy are the ops that come after a copy by its token, but copies: they are of the role that copies, and what comes after them is not.
func comesAfterCopy(c tileaa.AsyncCopy, seen map[*ir.Op]bool) (list []*ir.Op) {
	for _, u := range c.ResultToken().Uses() {
		switch next, ok := ir.As[tileaa.AsyncCopy](u.Owner()); {
		case !ok:
			list = append(list, u.Owner())
		case !seen[next.Op]:
			seen[next.Op] = true
			list = append(list, comesAfterCopy(next, seen)...)
		}
	}
	return list
}

// onlyUnitReads reports whether only products of the tensor unit read what a copy writes.
func onlyUnitReads(c tileaa.AsyncCopy) bool {
	return !slices.ContainsFunc(tileaa.BufferUsers(c.Buffer()), func(user *ir.Op) bool {
		_, unit := tileaa.OnTensorUnit(user)
		return !unit && user != c.Op
	})
}

// releaseAfterLand moves the threads' release of a slot behind the dot_lands of the products in flight that read it; false if a product
// stays in flight beyond the iteration.
func (st *stage) releaseAfterLand(body *ir.Block) bool {
	for _, c := range st.copies {
		for _, user := range tileaa.BufferUsers(c.Buffer()) {
			d, ok := tileaa.OnTensorUnit(user)
			if !ok || !d.InFlight() || d.Op.Block() != body {
				continue
			}
			land := landing(d, body)
			if land == nil {
				return false
			}
			for op := st.last.Next(); op != nil; op = op.Next() {
				if op == land {
					st.last = land
				}
			}
		}
	}
	return true
}

// landing is the dot_land of a block that is the first to read a product's sum; nil without one.
func landing(d tileaa.Dot, body *ir.Block) *ir.Op {
	sum := tileaa.LastOfSum(d).Result()
	for op := body.First(); op != nil; op = op.Next() {
		if land, ok := ir.As[tileaa.DotLand](op); ok && land.Source() == sum {
			return op
		}
	}
	return nil
}

// rewrite makes a stage fill and read the slot at a position of its rings. All its copies begin where its last one did: a commit is for those
// since the one before, which may be another stage's.
func (st *stage) rewrite(b *ir.Builder, plan *tileaa.PlanAttr, position, phase *ir.Value) {
	fill := ir.NewBuilder(b.Ctx).After(st.copies[len(st.copies)-1].Op)
	fill.Loc = st.copies[0].Op.Loc()
	tileaa.NewProducerAcquire(fill, st.pipeline, position, phase)
	for i, c := range st.copies {
		b.Loc, fill.Loc = c.Op.Loc(), c.Op.Loc()
		slot := tileaa.NewRingSlot(fill, c.Buffer().Type(), st.rings[i], position, 0).Result()
		copyLike(fill, c, c.Block(), slot, &tileaa.LayoutAttr{Layout: c.Layout().Layout.OfWarps(plan.Producers)}, nil, c.When())
		if i == len(st.copies)-1 {
			tileaa.NewProducerCommit(fill, st.pipeline, position)
		}
		b.AtStart(c.Op.Block())
		read := tileaa.NewRingSlot(b, c.Buffer().Type(), st.rings[i], position, 0).Result()
		alloc := c.Buffer().DefiningOp()
		before := c.Token()
		if before == nil {
			before = tileaa.NewCreateMemToken(b).Result()
		}
		c.ResultToken().ReplaceAllUsesWith(before)
		c.Op.Erase()
		alloc.Result(0).ReplaceAllUsesWith(read)
		alloc.Erase()
	}
	b.Before(st.first)
	tileaa.NewConsumerWait(b, st.pipeline, position, phase)
	b.After(st.last)
	tileaa.NewConsumerRelease(b, st.pipeline, position, tileaa.ConsumerReleaseOptions{Unit: st.releasedByUnit})
}
