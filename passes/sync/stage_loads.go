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

// stage-loads lets loads of the next iteration run while this one computes, where what they bring goes to shared memory through the
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
// The last iteration loads its own tile again, so that every address is one that the loop has; nobody reads the slot that it fills.
// Where shared memory has no room for two slots, there is one, and threads meet once more in an iteration. With two, a product that goes on by itself is
// waited for behind the stores; with three, a product of warpgroups is waited for an iteration later, when nobody stores to what it reads:
//
//	dot %i in flight; buffer_store, slot %p+1; dot_wait {pending = 1}: that of the iteration before
//
// What threads compute with is loaded an iteration ahead into registers, where there are enough (pipeline_fetch.go).
func StageLoads(s *pass.State) error {
	for _, entry := range s.Entries() {
		var r *resources
		var alive *kernel.Pressure
		most := 0 // thread blocks of a multiprocessor that loads ahead leave room for
		for _, loop := range countedLoops(s, entry) {
			g, waits := newStaging(s, loop), waitsFor(s, loop)
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
				waits = slices.DeleteFunc(waits, g.takes)
			default:
				held += kernel.StagingReserve / 2 // what is stored is computed first
			}
			most = max(most, fetchWaiting(s, waits, held, r.bytes))
		}
		if plan := *tileaa.PlanOf(entry); most > 1 && plan.SumsInTensor { // whose sums are in tensor memory for the sake of other blocks
			plan.MaxReg = min(plan.MaxReg, cost.RegisterLimit(s.Target, plan.Threads(), 2))
			ir.Cast[tileaa.Entry](entry).SetPlan(&plan)
		}
	}
	return nil
}

// takes reports whether a load is one of those of the stores.
func (g *staging) takes(load *ir.Op) bool {
	return slices.ContainsFunc(g.stores, func(st *stagedStore) bool { return slices.Contains(st.loads, load) })
}

// stage has the loop load ahead what it stores, if that is best; false if not.
func (g *staging) stage(s *pass.State, entry *ir.Op, r *resources) bool {
	if all, _ := g.underWay(); !g.only && all > mostBeside {
		return len(g.stores) <= mostTurns && g.takeTurns(s, entry, r)
	}
	slots := g.choose(s, entry, r)
	if slots > 0 {
		r.made(s, g.loop.Op, g.filled(), slots)
		g.expand(s, slots)
	}
	return slots > 0
}

// staging is a loop with stores to shared memory of what it loads.
type staging struct {
	rewriting
	product tileaa.Dot // the last
	only    bool       // there is no other
	stores  []*stagedStore
	rings   []*ir.Value // by store
	slots   int64
	parts   bool // the product is cut in as many as there are stores
	body    []*ir.Op
	exists  *ir.Value // whether there is another iteration
}

// stagedStore is a store with what it needs of the body.
type stagedStore struct {
	tileaa.BufferStore
	loads []*ir.Op
	early map[*ir.Op]bool // what loads need, and they themselves
	late  map[*ir.Op]bool // what is computed from them
}

// newStaging finds what can be staged in a loop with products of the matrix unit; nil: nothing.
func newStaging(s *pass.State, op *ir.Op) *staging {
	g := &staging{rewriting: rewriting{pipeline: &pipeline{loop: ir.Cast[tileaa.For](op), ahead: map[*ir.Op]bool{}}}, body: op.Body().Ops()}
	g.flow, _ = ir.LoopOf(op)
	products := slices.DeleteFunc(slices.Clone(g.body), func(o *ir.Op) bool { return !tileaa.IsProduct(o) })
	if len(g.flow.Continues()) != 1 || len(products) == 0 {
		return nil
	}
	g.product = ir.Cast[tileaa.Dot](products[len(products)-1])
	g.only = len(products) == 1
	if g.product.Atom() == nil || g.product.Atom().Atom.Scalar() {
		return nil
	}
	for _, o := range g.body {
		s.Step()
		if st, ok := ir.As[tileaa.BufferStore](o); ok && filledOnce(op, o, st.Buffer()) {
			c := collector{&pipeline{loop: g.loop, flow: g.flow, ahead: maps.Clone(g.ahead), carry: g.carry},
				&stagedStore{st, nil, map[*ir.Op]bool{}, map[*ir.Op]bool{}}}
			if c.collect(st.Value()) && len(c.loads) > 0 && c.closed() {
				g.stores, g.pipeline = append(g.stores, c.stagedStore), c.pipeline
			}
		}
	}
	if len(g.stores) == 0 {
		return nil
	}
	return g
}

// mostBeside is the registers of a thread for what is loaded an iteration ahead in a loop with several products, which hold more than one does. What takes
// more takes turns.
const mostBeside = 8

// collector finds what one store needs.
type collector struct {
	*pipeline
	*stagedStore
}

// collect finds what a tile follows from: weak loads that come after nothing in the loop, addresses that can be computed ahead, and
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
		if _, free := g.comesAfter(tileaa.TokenBefore(op), map[*ir.Value]bool{}); !free || op.Result(1).HasUses() {
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

// closed reports whether what is loaded for a store is used for nothing else.
func (g *collector) closed() bool {
	for _, op := range g.loop.Op.Body().Ops() {
		if !g.late[op] && !slices.Contains(g.loads, op) {
			continue
		}
		for _, u := range op.Result(0).Uses() {
			if user := u.Owner(); user != g.BufferStore.Op && !g.late[user] {
				return false
			}
		}
	}
	return true
}

// choose decides how many slots the rings of a loop have, 0 if loads stay where they are, as codegen/cost finds best among what registers and shared memory have
// room for.
func (g *staging) choose(s *pass.State, entry *ir.Op, r *resources) int {
	plan := tileaa.PlanOf(entry)
	limit := plan.MaxReg
	if limit == 0 {
		limit = cost.RegisterLimit(s.Target, 32*plan.Warps, 1)
	}
	sums := kernel.RegistersOf(g.product.Result()) // of the tensor unit they are in registers behind the loop
	if plan.SumsInTensor {
		sums = 0 // a piece of them
	}
	held := max(r.accumulators, sums) + kernel.StagingReserve
	all, most := g.underWay()
	if !g.cuttable() {
		most = all
	}
	l := asksOf(s, plan, g.loop, 0)
	l.Registers = min(held, limit)
	var room [cost.MaxStagedSlots + 1]int
	for slots, registers := range []int{0, held + all, held + most, held + all} {
		bytes, err := r.with(s, g.loop.Op, g.filled(), max(slots, 1))
		if err != nil || slots > 0 && registers > limit || slots == cost.MaxStagedSlots && !g.keepsStep() {
			bytes = 0
		}
		room[slots] = bytes
	}
	return l.StagedSlots(s.Target, room)
}

// keepsStep reports whether a product of warpgroups that is the only one may go on into the next iteration: it only adds to what the loop carries, and all it reads
// is stored by the loop. Its registers are its accumulators: those of a factor would be given the next one meanwhile.
func (g *staging) keepsStep() bool {
	d := g.product
	if !g.only || !d.Atom().Atom.ByWarpgroup() || !d.Atom().Atom.SharedA || !mayFly(d) {
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

// underWay is the registers that hold what is loaded for all stores together, and the most for one of them.
func (g *staging) underWay() (all, most int) {
	for _, st := range g.stores {
		n := st.registers()
		all, most = all+n, max(most, n)
	}
	return all, most
}

// loadedRegisters is the registers into which a load brings its tile: one for an access of fewer bytes, too.
func loadedRegisters(load *ir.Op) int {
	t := tileaa.AsTile(load.Result(0))
	vec, ok := ir.Cast[tileaa.AccessOp](load).Vec()
	if bytes := int(vec) * tileaa.ElemBytes(t.Elem); ok && bytes < 4 {
		return t.Layout.Regs() / int(vec)
	}
	return kernel.RegistersOf(load.Result(0))
}

// cuttable reports whether the product of the loop can be cut along K in as many parts as there are stores, so that what one of them is given is on
// its way during one part only, and registers hold one at a time. Products of the tensor unit need no registers meanwhile.
func (g *staging) cuttable() bool {
	if !g.only || g.product.Atom().Atom.Tensor != nil {
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

// expand rewrites the loop with so many slots.
func (g *staging) expand(s *pass.State, slots int) {
	g.b, g.slots = ir.NewBuilder(s.Ctx).Before(g.loop.Op), int64(slots)
	g.parts = slots > 1 && g.cuttable() // one slot cannot be filled before all of it is read
	g.b.Loc = g.loop.Op.Loc()
	g.untie()
	for _, st := range g.stores {
		t := tileaa.Ring(s.Ctx, g.slots, st.Buffer().Type().(*tileaa.BufferType))
		g.rings = append(g.rings, tileaa.NewAllocRing(g.b, t, tileaa.AllocRingOptions{}).Result())
	}
	start := tileaa.Const(g.b, g.positions(), 0)
	g.first(start)
	g.rest(start)
}

// untie lets loads come after what those in the loop that they come after do, which are weak: they may stand before them.
func (g *staging) untie() {
	for _, st := range g.stores {
		for _, l := range st.loads {
			before := tileaa.TokenBefore(l)
			if before == nil || ir.DefinedOutside(before, g.loop.Op) {
				continue
			}
			tokens, _ := g.comesAfter(before, map[*ir.Value]bool{})
			ir.Cast[tileaa.TokenOp](l).SetToken(joinTokens(g.b, tokens))
		}
	}
}

// first loads and stores what the first iteration reads, if there is one.
func (g *staging) first(start *ir.Value) {
	then := tileaa.NewIf(g.b, nil, g.runs()).Op
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

// rest makes an iteration load what the next one reads, and store it in its end.
func (g *staging) rest(start *ir.Value) {
	body := g.loop.Op.Body()
	position := body.AddArg(start.Type())
	g.b.AtStart(body)
	m := g.following()
	for i, st := range g.stores {
		st.Buffer().ReplaceAllUsesWith(tileaa.NewRingSlot(g.b, st.Buffer().Type(), g.rings[i], position, 0).Result())
	}
	end := body.Terminator()
	if g.parts {
		g.spread(m, position)
	} else {
		for _, st := range g.stores {
			g.load(m, st)
		}
		g.b.Before(end)
		g.storeIf(m, upTo(len(g.stores)), position)
	}
	if g.slots > 1 {
		g.flyOn()
	}
	g.b.Before(end)
	passed := tileaa.NewRingNext(g.b, position, g.slots).Result()
	end.SetOperandGroup(0, append(end.Operands(), passed))
	g.erase()
	g.replaceLoop([]*ir.Value{start})
}

// flyOn lets a product that the loop lands go on while what the next iteration multiplies is stored in the other slot. The tensor unit's goes on until the next
// one has begun: what is stored meanwhile was read by the one before. What the loop takes from one in each iteration is waited for there.
func (g *staging) flyOn() {
	d := g.product
	if !g.only || g.parts || !g.readsOwn(d) || ir.Is[tileaa.FactorStore](d.Lhs().DefiningOp()) {
		return
	}
	if len(g.loop.Lands()) > 0 {
		for _, op := range g.loop.Op.Body().Ops() {
			if w, ok := ir.As[tileaa.DotWait](op); ok {
				w.SetPending(g.b.Ctx, 1)
				return
			}
		}
	} else if mayFly(d) && hasColumns(g.loop.Op) {
		g.loop.SetLands(letFly(g.flow, []tileaa.Dot{d}))
		tileaa.NewDotWait(g.b, g.slots-2)
	}
}

// readsOwn reports whether a loop tells no other role that what a product reads may be filled again: what it reads in shared memory is only what the loop
// stores there.
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

// initial maps the counter, and the carried values that addresses follow from, to those of the first iteration.
func (g *staging) initial() ir.Mapping {
	m := ir.Mapping{g.flow.InductionVar(): g.loop.Lower()}
	for _, v := range g.carry {
		i, _ := g.flow.CarriedIndex(v)
		m[v] = g.loop.Inits()[i]
	}
	return m
}

// following maps the counter, and the carried values that addresses follow from, to those of the next iteration; of the last one, to
// its own.
func (g *staging) following() ir.Mapping {
	counter := g.flow.InductionVar()
	var next *ir.Value
	next, g.exists = g.later(counter, 1, nil)
	m := ir.Mapping{}
	if len(g.carry) > 0 {
		g.clone(m, g.ahead)
	}
	following := ir.Mapping{counter: tileaa.NewSelect(g.b, g.exists, next, counter).Result()}
	for _, v := range g.carry {
		i, _ := g.flow.CarriedIndex(v)
		following[v] = tileaa.NewSelect(g.b, g.exists, m.Lookup(g.flow.Continues()[0].Operand(i)), v).Result()
	}
	return following
}

// spread cuts the product: before a part of it stand the loads of a store, after it the store.
func (g *staging) spread(m ir.Mapping, position *ir.Value) {
	d := g.product
	lhs, rhs, acc, depth := d.Lhs(), d.Rhs(), d.Acc(), int64(kernel.ExtentOf(d.Op).K)
	n := int64(len(g.stores))
	g.b.Before(d.Op)
	for i, st := range g.stores {
		g.load(m, st)
		part := d.Op.Clone(ir.Mapping{d.Acc(): acc, lhs: g.read(lhs), rhs: g.read(rhs)})
		p := ir.Cast[tileaa.Dot](g.b.Insert(part))
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

// read reads a factor again, after what was stored since.
func (g *staging) read(v *ir.Value) *ir.Value {
	op := v.DefiningOp()
	if op.Block() != g.loop.Op.Body() {
		return v
	}
	return g.b.Insert(op.Clone(ir.Mapping{})).Result(0)
}

// clone makes copies of operations of the body of which there are none.
func (g *staging) clone(m ir.Mapping, which map[*ir.Op]bool) {
	for _, op := range g.body {
		if which[op] && m[op.Result(0)] == nil {
			g.b.Insert(op.Clone(m))
		}
	}
}

// load begins the loads for a store.
func (g *staging) load(m ir.Mapping, st *stagedStore) {
	g.clone(m, g.ahead)
	g.clone(m, st.early)
}

// store computes what store i is given, and stores it in the slot so many ahead of a position.
func (g *staging) store(m ir.Mapping, i int, position *ir.Value, ahead int64) {
	st := g.stores[i]
	g.clone(m, st.late)
	slot := tileaa.NewRingSlot(g.b, st.Buffer().Type(), g.rings[i], position, ahead%g.slots).Result()
	tileaa.NewBufferStore(g.b, m.Lookup(st.Value()), slot, tileaa.BufferStoreOptions{Atom: st.Atom()})
}

// storeIf does some of the stores of what the next iteration reads, if there is one. The branch keeps what waits for the loads after the
// product: without it ptxas moves it up to where it expects them to have come, which is much too early. One branch for all needs one barrier.
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

// erase erases, of what the body was, the stores with their buffers, what they were given, and addresses.
func (g *staging) erase() {
	moved := maps.Clone(g.ahead)
	for _, st := range g.stores {
		st.BufferStore.Op.Erase()
		maps.Copy(moved, st.early)
		maps.Copy(moved, st.late)
	}
	for _, op := range slices.Backward(g.body) {
		if g.takes(op) || op.Code() == tileaa.OpAllocShared && !op.HasUses() || moved[op] && ir.IsDead(op) {
			op.Erase()
		}
	}
}
