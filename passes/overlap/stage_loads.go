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

// StageLoads lets loads of the next iteration run while this one computes, where what they bring goes to shared memory through the
// registers: it is converted on the way, or the target has no asynchronous copies.
//
//	for %i = %lo to %hi {                 %r = alloc_ring                           (2 slots)
//	  %t = tiled_load %x[%i]              if %lo < %hi { %t = tiled_load %x[%lo]; buffer_store (ftof %t), slot 0 }
//	  %b = alloc_shared                   for %i = %lo to %hi inits(%p = 0) {
//	  buffer_store (ftof %t), %b     =>     %j = %i+1 < %hi ? %i+1 : %i
//	  .. dot (buffer_load %b) ..            %t = tiled_load %x[%j]
//	  continue                              .. dot (buffer_load (slot %p)) ..
//	}                                       buffer_store (ftof %t), slot %p+1
//	                                        continue (ring_next %p)
//	                                      }
//
// The last iteration loads its own tile again, so that every address is one that the loop has; nobody reads the slot that it fills. Behind a release it loads nothing,
// since whoever acquires may write there.
// Where shared memory has no room for two slots, there is one, and threads meet once more in an iteration. With two, a product that goes on by itself is
// waited for behind the stores; with three, a product of warpgroups is waited for an iteration later, when nobody stores to what it reads:
//
//	dot %i in flight; buffer_store, slot %p+1; dot_wait {pending = 1}: that of the iteration before
//
// What threads compute with is loaded an iteration ahead into registers, where there are enough (prefetch_loads.go). So is what a loop without products loads for a
// tile that it carries and reduces: the few loads of a token would else pass the latency of memory each.
func StageLoads(s *pass.State) error {
	for _, entry := range s.Entries() {
		var r *resources
		var alive *kernel.Pressure
		most := 0 // thread blocks of a multiprocessor that loads ahead leave room for
		for _, loop := range countedLoops(s, entry) {
			g, waits := newStaging(s, loop), stallingLoads(s, loop)
			if held := kernel.RecurrenceRegisters(loop); held > 0 {
				limit := tileaa.PlanOf(entry).Registers(s.Target.RegistersPerThread)
				prefetchLoads(s, loop, func(*ir.Op) bool { return false }, limit-held)
				continue
			}
			if g == nil && len(waits) == 0 {
				continue
			}
			if r == nil {
				r = resourcesOf(s, entry)
			}
			held := kernel.StagingReserve
			if len(waits) > 0 {
				if alive == nil {
					alive = kernel.PressureIn(s, entry)
				}
				held += alive.During(loop, tileaa.WarpsOf(loop))
			}
			switch {
			case g == nil:
			case g.stage(s, entry, r):
				waits = slices.DeleteFunc(waits, g.prefetches)
			default:
				held += kernel.StagingReserve / 2 // what is stored is computed first
			}
			most = max(most, prefetchStallingLoads(s, waits, held, r.bytes))
		}
		if plan := *tileaa.PlanOf(entry); most > 1 && plan.SumsInTensor { // whose sums are in tensor memory for the sake of other blocks
			plan.MaxReg = plan.Registers(cost.RegisterLimit(s.Target, plan.Threads(), 2))
			ir.Cast[tileaa.Entry](entry).SetPlan(&plan)
		}
	}
	return nil
}

// prefetches reports whether a load belongs to one of the staged stores.
func (g *staging) prefetches(load *ir.Op) bool {
	return slices.ContainsFunc(g.stores, func(st *stagedStore) bool { return slices.Contains(st.loads, load) })
}

// stage rewrites the loop if that pays, and reports whether it did.
func (g *staging) stage(s *pass.State, entry *ir.Op, r *resources) bool {
	if all, _ := g.registersInFlight(); !g.onlyProduct && all > maxPrefetchBeside {
		return len(g.stores) <= maxScheduledStores && g.scheduleLoads(s, entry, r)
	}
	slots := g.choose(s, entry, r)
	if slots > 0 {
		r.made(s, g.loop.Op, g.filled(), slots)
		g.expand(s, slots)
	}
	return slots > 0
}

// staging is a loop that loads tiles and stores them to shared memory by way of registers, for its products.
type staging struct {
	rewriting
	product      tileaa.Dot // the last one of the body
	onlyProduct  bool       // product is the only one
	stores       []*stagedStore
	rings        []*ir.Value // by store
	slots        int64
	splitProduct bool // the product is split along K into as many parts as there are stores
	body         []*ir.Op
	exists       *ir.Value // whether there is another iteration
	releases     bool      // the loop does
}

// stagedStore is a store and its backward slice within the body.
type stagedStore struct {
	tileaa.BufferStore
	loads []*ir.Op
	early map[*ir.Op]bool // the loads and the slice of their addresses
	late  map[*ir.Op]bool // what is computed from the loads
}

// newStaging finds the staged stores of a loop with products on a matrix unit; nil without any.
func newStaging(s *pass.State, op *ir.Op) *staging {
	g := &staging{rewriting: rewriting{aheadLoop: newAheadLoop(op, false)}, body: op.Body().Ops()}
	products := slices.DeleteFunc(slices.Clone(g.body), func(o *ir.Op) bool { return !tileaa.IsProduct(o) })
	if len(g.flow.Continues()) != 1 || len(products) == 0 {
		return nil
	}
	g.product = ir.Cast[tileaa.Dot](products[len(products)-1])
	g.onlyProduct = len(products) == 1
	if g.product.Atom() == nil || g.product.Atom().Atom.Scalar() {
		return nil
	}
	for _, o := range g.body {
		s.Step()
		if st, ok := ir.As[tileaa.BufferStore](o); ok && g.filledOnce(o, st.Buffer()) {
			if g.order == nil {
				g.order = tokenOrderOf(g.flow)
			}
			c := collector{g.attempt(), &stagedStore{st, nil, map[*ir.Op]bool{}, map[*ir.Op]bool{}}}
			if c.collect(st.Value()) && len(c.loads) > 0 && c.closed() {
				g.stores, g.aheadLoop = append(g.stores, c.stagedStore), c.aheadLoop
			}
		}
	}
	if len(g.stores) == 0 {
		return nil
	}
	return g
}

// maxPrefetchBeside is the registers of a thread for loads in flight up to which a loop with several products, which hold more than one
// does, loads a whole iteration ahead. Above it the loads are scheduled one by one (stage_schedule.go).
const maxPrefetchBeside = 8

// collector finds what one store needs.
type collector struct {
	*aheadLoop
	*stagedStore
}

// collect finds the backward slice of a stored tile: weak loads that nothing in the loop orders, addresses that are computable ahead, and
// pure operations.
func (g *collector) collect(v *ir.Value) bool {
	if ir.DefinedOutside(v, g.loop.Op) {
		return true
	}
	if !tileaa.IsRanked(v) {
		return g.computable(v)
	}
	op := v.DefiningOp()
	if op == nil || op.Block() != g.loop.Op.Body() || op.NumRegions() > 0 {
		return false
	}
	if g.early[op] || g.late[op] {
		return true
	}
	load := kernel.IsPlainLoad(op)
	switch {
	case load && !tileaa.IsStrong(op):
		if _, free := g.comesAfter(tileaa.TokenBefore(op)); !free || op.Result(1).HasUses() {
			return false
		}
		g.loads = append(g.loads, op)
	case load || !op.Traits().Has(ir.Pure):
		return false
	}
	after := load
	for _, o := range op.Operands() {
		if !tileaa.IsToken(o) && !g.collect(o) {
			return false
		}
		from := o.DefiningOp()
		after = after || from != nil && (g.late[from] || slices.Contains(g.loads, from))
	}
	if after && !load {
		g.late[op] = true
	} else {
		g.early[op] = true
	}
	return true
}

// closed reports whether the loads of a store have no other users.
func (g *collector) closed() bool {
	for _, op := range slices.AppendSeq(slices.Clone(g.loads), maps.Keys(g.late)) { // asks the same of each: the order cannot matter
		for _, u := range op.Result(0).Uses() {
			if user := u.Owner(); user != g.BufferStore.Op && !g.late[user] {
				return false
			}
		}
	}
	return true
}

// choose is the number of slots of the loop's rings that codegen/cost finds best among those that fit registers and shared memory, 0 if
// loads stay where they are.
func (g *staging) choose(s *pass.State, entry *ir.Op, r *resources) int {
	plan := tileaa.PlanOf(entry)
	limit := plan.Registers(cost.RegisterLimit(s.Target, plan.Threads(), 1))
	sums := kernel.RegistersOf(g.product.Result()) // of the tensor unit they are in registers behind the loop
	if plan.SumsInTensor {
		sums = 0 // a piece of them
	}
	held := max(r.accumulators, sums) + kernel.StagingReserve
	all, most := g.registersInFlight()
	if !g.cuttable() {
		most = all
	}
	l := loopDemandOf(s, plan, g.loop, 0)
	l.Registers = min(held, limit)
	var room [cost.MaxStagedSlots + 1]int
	for slots, registers := range []int{0, held + all, held + most, held + all} {
		bytes, err := r.with(s, g.loop.Op, g.filled(), max(slots, 1))
		if err != nil || slots > 0 && registers > limit || slots == cost.MaxStagedSlots && !g.productSpansIterations() {
			bytes = 0
		}
		room[slots] = bytes
	}
	return l.StagedSlots(s.Target, room)
}

// productSpansIterations reports whether the only product, a wgmma, may stay in flight into the next iteration: it accumulates to a
// loop-carried sum, and its operands are all stored by the loop. A factor in registers would be overwritten for the next one meanwhile.
func (g *staging) productSpansIterations() bool {
	d := g.product
	if !g.onlyProduct || !d.Atom().Atom.ByWarpgroup() || !d.Atom().Atom.SharedA || !canStayInFlight(d) {
		return false
	}
	return !slices.ContainsFunc(tileaa.FactorsOf(d), func(v *ir.Value) bool {
		return !slices.ContainsFunc(g.stores, func(st *stagedStore) bool { return st.Buffer() == tileaa.ViewedBuffer(v) })
	})
}

// filled lists the buffers of the stores.
func (g *staging) filled() (list []*ir.Value) {
	for _, st := range g.stores {
		list = append(list, st.Buffer())
	}
	return list
}

// registersInFlight is the registers of the loads of all stores together, and the most of one store.
func (g *staging) registersInFlight() (all, most int) {
	for _, st := range g.stores {
		n := st.registers()
		all, most = all+n, max(most, n)
	}
	return all, most
}

// loadedRegisters is the registers of a thread that a load fills: at least one for each access.
func loadedRegisters(load *ir.Op) int {
	t := tileaa.AsTile(load.Result(0))
	vec, ok := ir.Cast[tileaa.AccessOp](load).Vec()
	if bytes := int(vec) * tileaa.ElemBytes(t.Elem); ok && bytes < 4 {
		return t.Layout.Regs() / int(vec)
	}
	return kernel.RegistersOf(load.Result(0))
}

// cuttable reports whether the product can be split along K into as many parts as there are stores, so that the loads of one store are in
// flight during one part only and share registers. Products of the tensor unit need no registers meanwhile.
func (g *staging) cuttable() bool {
	if !g.onlyProduct || g.product.Atom().Atom.Tensor != nil {
		return false
	}
	if n := len(g.stores); n < 2 || kernel.ExtentOf(g.product.Op).K/g.product.Atom().Atom.Shape.K%n != 0 {
		return false
	}
	return !slices.ContainsFunc(tileaa.FactorsOf(g.product), func(v *ir.Value) bool {
		op := v.DefiningOp()
		return op == nil || op.Block() == g.loop.Op.Body() && op.Code() != tileaa.OpBufferLoad
	})
}

// expand rewrites the loop with rings of so many slots.
func (g *staging) expand(s *pass.State, slots int) {
	g.b, g.slots = ir.NewBuilder(s.Ctx).Before(g.loop.Op), int64(slots)
	g.splitProduct = slots > 1 && g.cuttable() // one slot cannot be filled before all of it is read
	g.b.Loc = g.loop.Op.Loc()
	g.untie()
	for _, st := range g.stores {
		t := tileaa.Ring(s.Ctx, g.slots, st.Buffer().Type().(*tileaa.BufferType))
		g.rings = append(g.rings, tileaa.NewAllocRing(g.b, t, tileaa.AllocRingOptions{}).Result())
	}
	start := tileaa.Const(g.b, g.positions(), 0)
	g.prologue(start)
	g.steadyState(start)
}

// untie removes the order between staged loads and other weak loads of the loop, so that they can move above them.
func (g *staging) untie() {
	for _, st := range g.stores {
		for _, l := range st.loads {
			before := tileaa.TokenBefore(l)
			if before == nil || ir.DefinedOutside(before, g.loop.Op) {
				continue
			}
			tokens, _ := g.comesAfter(before)
			ir.Cast[tileaa.TokenOp](l).SetToken(tileaa.JoinTokens(g.b, tokens))
		}
	}
}

// prologue loads and stores what the first iteration reads, if there is one.
func (g *staging) prologue(start *ir.Value) {
	then := tileaa.NewIf(g.b, nil, g.hasIteration()).Op
	m := g.initial()
	g.b.AtEnd(then.Region(0).AddBlock())
	for _, st := range g.stores {
		g.load(m, st)
	}
	for i := range g.stores {
		g.store(m, i, start, 0)
	}
	tileaa.NewYield(g.b, nil)
	g.b.After(then)
}

// steadyState makes an iteration issue the next one's loads at its start, and store them at its end.
func (g *staging) steadyState(start *ir.Value) {
	body := g.loop.Op.Body()
	position := body.AddArg(start.Type())
	g.b.AtStart(body)
	m := g.following()
	for i, st := range g.stores {
		st.Buffer().ReplaceAllUsesWith(tileaa.NewRingSlot(g.b, st.Buffer().Type(), g.rings[i], position, 0).Result())
	}
	end := body.Terminator()
	if g.splitProduct {
		g.interleave(m, position)
	} else {
		for _, st := range g.stores {
			g.load(m, st)
		}
		g.b.Before(end)
		all := make([]int, len(g.stores))
		for i := range all {
			all[i] = i
		}
		g.storeIf(m, all, position)
	}
	if g.slots > 1 {
		g.keepProductInFlight()
	}
	g.b.Before(end)
	passed := tileaa.NewRingNext(g.b, position, g.slots).Result()
	end.SetOperandGroup(0, append(end.Operands(), passed))
	g.erase()
	g.flow.Carry([]*ir.Value{start})
}

// keepProductInFlight leaves the accumulating product in flight while the next iteration's operands are stored to another slot. One of the
// tensor unit stays in flight until the next one has begun: what is stored meanwhile was read by the product before. Results that each
// iteration reads are waited for there.
func (g *staging) keepProductInFlight() {
	d := g.product
	if !g.onlyProduct || g.splitProduct || !g.readsOwn(d) || ir.Is[tileaa.FactorStore](d.Lhs().DefiningOp()) {
		return
	}
	if len(g.loop.Lands()) > 0 {
		for _, op := range g.loop.Op.Body().Ops() {
			if w, ok := ir.As[tileaa.DotWait](op); ok {
				w.SetPending(g.b.Ctx, 1)
				return
			}
		}
	} else if canStayInFlight(d) && hasColumns(g.loop.Op) {
		g.loop.SetLands(carryInFlight(g.flow, []tileaa.Dot{d}))
		tileaa.NewDotWait(g.b, g.slots-2)
	}
}

// readsOwn reports whether all that a product reads in shared memory is stored by the loop itself, so that no other role waits for its
// slots to be released.
func (g *staging) readsOwn(d tileaa.Dot) bool {
	if !slices.ContainsFunc(g.loop.Op.Body().Ops(), releases) {
		return true
	}
	for _, v := range tileaa.FactorsOf(d) {
		if _, shared := v.Type().(*tileaa.BufferType); !shared {
			continue
		}
		slot, ok := ir.DefinedBy[tileaa.RingSlot](tileaa.ViewedBuffer(v))
		if !ok || !slices.Contains(g.rings, slot.Ring()) {
			return false
		}
	}
	return true
}

// initial maps the counter and the loop-carried arguments of the slice to their values in the first iteration.
func (g *staging) initial() ir.Mapping {
	m := ir.Mapping{g.flow.InductionVar(): g.loop.Lower()}
	for _, v := range g.carriedArgs {
		i, _ := g.flow.CarriedIndex(v)
		m[v] = g.loop.Inits()[i]
	}
	return m
}

// following maps them to their values in the next iteration; in the last one, to its own.
func (g *staging) following() ir.Mapping {
	counter := g.flow.InductionVar()
	var next *ir.Value
	next, g.exists = g.laterCounter(counter, 1, nil)
	g.releases = kernel.OrdersAllWithin(g.loop.Op)
	m := ir.Mapping{}
	if len(g.carriedArgs) > 0 {
		g.clone(m, g.slice)
	}
	following := ir.Mapping{counter: tileaa.NewSelect(g.b, g.exists, next, counter).Result()}
	for _, v := range g.carriedArgs {
		i, _ := g.flow.CarriedIndex(v)
		following[v] = tileaa.NewSelect(g.b, g.exists, m.Lookup(g.flow.Continues()[0].Operand(i)), v).Result()
	}
	return following
}

// interleave splits the product along K: in front of each part stand the loads of one store, behind it that store.
func (g *staging) interleave(m ir.Mapping, position *ir.Value) {
	d := g.product
	lhs, rhs, acc, depth := d.Lhs(), d.Rhs(), d.Acc(), int64(kernel.ExtentOf(d.Op).K)
	n := int64(len(g.stores))
	g.b.Before(d.Op)
	for i, st := range g.stores {
		g.load(m, st)
		p := ir.Cast[tileaa.Dot](g.b.Clone(d.Op, ir.Mapping{d.Acc(): acc, lhs: g.read(lhs), rhs: g.read(rhs)}))
		p.SetDepths([]int64{int64(i) * depth / n, int64(i+1) * depth / n})
		acc = p.Result()
		g.storeIf(m, []int{i}, position)
	}
	d.Result().ReplaceAllUsesWith(acc)
	d.Op.Erase()
	for _, v := range []*ir.Value{lhs, rhs} {
		if op := v.DefiningOp(); op.Block() == g.loop.Op.Body() && !op.HasUses() {
			op.Erase()
		}
	}
}

// read reads a factor again, behind the stores so far.
func (g *staging) read(v *ir.Value) *ir.Value {
	op := v.DefiningOp()
	if op.Block() != g.loop.Op.Body() {
		return v
	}
	return g.b.Clone(op, ir.Mapping{}).Result(0)
}

// clone makes copies of operations of the body of which there are none.
func (g *staging) clone(m ir.Mapping, which map[*ir.Op]bool) {
	for _, op := range g.body {
		if which[op] && m[op.Result(0)] == nil {
			if later := g.b.Clone(op, m); g.releases && kernel.IsPlainLoad(later) {
				g.onlyIf(later, g.exists)
			}
		}
	}
}

// load issues the loads of a store.
func (g *staging) load(m ir.Mapping, st *stagedStore) {
	g.clone(m, g.slice)
	g.clone(m, st.early)
}

// store computes the value of store i and stores it in the slot ahead of position.
func (g *staging) store(m ir.Mapping, i int, position *ir.Value, ahead int64) {
	st := g.stores[i]
	g.clone(m, st.late)
	g.b.WithLoc(st.BufferStore.Op.Loc(), func() {
		slot := tileaa.NewRingSlot(g.b, st.Buffer().Type(), g.rings[i], position, ahead%g.slots).Result()
		tileaa.NewBufferStore(g.b, m.Lookup(st.Value()), slot, tileaa.BufferStoreOptions{Atom: st.Atom()})
	})
}

// storeIf does some of the next iteration's stores, if there is one. The branch keeps what waits for the loads behind the product: without
// it ptxas hoists it to where it expects the loads to be complete, much too early. One branch for all needs one barrier.
func (g *staging) storeIf(m ir.Mapping, which []int, position *ir.Value) {
	then := tileaa.NewIf(g.b, nil, g.exists).Op
	g.b.AtEnd(then.Region(0).AddBlock())
	ahead := int64(1)
	if planted.On("staged-slot") {
		ahead = 0 // it overwrites what the rest of the product reads
	}
	m = maps.Clone(m)
	for _, i := range which {
		g.store(m, i, position, ahead)
	}
	tileaa.NewYield(g.b, nil)
	g.b.After(then)
}

// erase erases the original stores with their buffers, values and addresses.
func (g *staging) erase() {
	moved := maps.Clone(g.slice)
	for _, st := range g.stores {
		st.BufferStore.Op.Erase()
		maps.Copy(moved, st.early)
		maps.Copy(moved, st.late)
	}
	for _, op := range slices.Backward(g.body) {
		if g.prefetches(op) || op.Code() == tileaa.OpAllocShared && !op.HasUses() || moved[op] && ir.IsDead(op) {
			op.Erase()
		}
	}
}
