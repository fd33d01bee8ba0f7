package overlap

import (
	"slices"
	"sync"

	"tileiras/codegen/cost"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// SkewProducts begins products an iteration ahead where nothing that is computed goes into them, so that the unit multiplies while threads compute with
// what it has multiplied before. In attention these are the scores. With products of the tensor unit, which go on by themselves:
//
//	                                      async_copy %k[%lo], %first; %s0 = dot %q, %first {in_flight}
//	for %i = %lo to %hi {                 for %i = %lo to %hi inits(%s0) (%s) {
//	  async_copy %k[%i], %b                 async_copy %k[%i+1], %b when(%i+1 < %hi)
//	  async_copy %v[%i], %c                 async_copy %v[%i], %c
//	  async_wait 0                          async_wait 0
//	  %s = dot %q, %b                =>     dot_wait 0; %t = dot_land %s
//	                                        %next = dot %q, %b when(%i+1 < %hi) {in_flight}
//	  %p = .. exp %s ..                     %p = .. exp %t ..
//	  %d = dot %p, %c, %acc                 %d = dot %p, %c, %acc
//	  continue %d                           continue %d, %next
//	}                                     }
//
// Warpgroups put the result into registers, so they wait for it at the end of the iteration; what is computed meanwhile and the products that take it are of
// one iteration (arXiv 2407.08608, section 3.2):
//
//	for %i = %lo to %hi inits(%s0) (%s) {
//	  %f = dot %q, %b when(%i+1 < %hi) {in_flight}
//	  %p = .. exp %s ..
//	  %d = dot %p, %c, %acc
//	  dot_wait 0; %next = dot_land %f
//	  continue %d, %next
//	}
//
// Both results are alive at a time, so one would be copied to the registers of the other in each iteration: the loop is expanded where threads have room for that.
//
// Threads that multiply themselves do so in the same order, without waits: their products and what they compute with the ones before are independent.
// Neither asks whether there is a next iteration: the last one multiplies what is in the slot, and nobody uses it. That is what when says of warpgroups.
//
// What comes for a product comes an iteration ahead of the rest; pipeline-loops sees copies that belong together. Barriers, and waits before what the
// product reads is overwritten, are those of any product in flight.
func SkewProducts(s *pass.State) error {
	for _, entry := range s.Entries() {
		k := skewContext{s, entry, sync.OnceValue(func() *kernel.Pressure { return kernel.PressureIn(s, entry) })}
		for _, loop := range countedLoops(s, entry) {
			s.Step()
			if k := k.skewable(loop); k != nil {
				k.skew(s)
				if !k.inFlight() {
					k.alive().Add(loop, k.last().Result())
				}
			}
		}
	}
	return nil
}

// skewContext is the entry whose loops are rewritten, and its register pressure, computed on demand.
type skewContext struct {
	s     *pass.State
	entry *ir.Op
	alive func() *kernel.Pressure
}

// skewCandidate is an accumulation chain of a loop's products that can begin an iteration ahead, with the copies of its operands.
type skewCandidate struct {
	skewContext
	rewriting
	copies []tileaa.AsyncCopy
	tokens [][]*ir.Value // by copy: those from outside of the loop that it comes after
	sum    []tileaa.Dot
	reads  map[*ir.Op]bool // what reads its factors in the loop
	expand bool            // unroll the loop by two, which saves moves and takes registers for more addresses
}

// last is the last product of the chain, whose result is the sum.
func (k *skewCandidate) last() tileaa.Dot { return k.sum[len(k.sum)-1] }

// skewable finds the first such chain of a loop.
func (in skewContext) skewable(op *ir.Op) *skewCandidate {
	k := &skewCandidate{skewContext: in, rewriting: rewriting{aheadLoop: newAheadLoop(op, false)}, reads: map[*ir.Op]bool{}}
	if len(k.flow.Continues()) != 1 {
		return nil
	}
	for _, o := range op.Body().Ops() {
		d, ok := ir.As[tileaa.Dot](o)
		if !ok || !tileaa.AddsToNothing(d) {
			continue
		}
		k.sum = tileaa.SumOf(d)
		if !k.pays(k.last()) {
			continue
		}
		var factors []*ir.Value
		for _, d := range k.sum {
			factors = append(factors, tileaa.FactorsOf(d)...)
		}
		if !slices.ContainsFunc(factors, func(v *ir.Value) bool { return !k.availableAhead(v) }) && len(k.copies) > 0 && len(k.carriedArgs) == 0 {
			return k
		}
		return nil
	}
	return nil
}

// pays reports whether a chain, whose last product d is, can overlap with what threads compute from the previous one. The tensor unit works
// asynchronously. With wgmma both results are live, and threads that issue mma do so between computations for another product: that takes
// registers, and may not reduce the resident blocks to one. Accumulators that the loop holds ahead are free in the next loop, except with
// wgmma: there, addresses of copies stay live in registers that estimates leave out.
func (k *skewCandidate) pays(d tileaa.Dot) bool {
	a, words := d.Atom().Atom, tileaa.ElemBits(tileaa.AsTile(d.Result()).Elem) == 32
	switch {
	case d.InFlight(): // it goes on already
		return false
	case a.Tensor != nil:
		return words && !multipliesWithin(d.Op.Block()) && !slices.ContainsFunc(d.Result().Uses(), func(u *ir.Use) bool { return ir.Is[tileaa.FactorStore](u.Owner()) }) // which takes its columns
	case a.Group > 0 && (tileaa.AddsApart(d.Op, a) || !words):
		return false
	}
	reaches := k.feedsProduct(d.Result(), map[*ir.Op]feeding{})
	if !reaches.feeds {
		return false
	}
	t, plan := k.s.Target, tileaa.PlanOf(k.entry)
	registers := func(accumulators int) int { return k.loopDemand(k.s, k.entry, accumulators).Registers }
	all, here := registers(k.alive().Max(plan.Warps)), registers(k.alive().During(k.loop.Op, plan.Warps))
	if a.Group > 0 {
		here = all
	}
	with := here + kernel.RegistersOf(d.Result())
	if a.Group > 0 && reaches.stored {
		with += storeRegisters
	}
	limit := plan.Registers(t.RegistersPerThread)
	blocks := func(registers int) int {
		n, _ := cost.Occupancy(t, plan.Threads(), registers, 0)
		return n
	}
	before, after := blocks(all), blocks(max(all, with))
	k.expand = a.Group > 0 && with+expandedAddressRegisters <= limit && blocks(max(all, with+expandedAddressRegisters)) == after
	return with <= limit && (after == before || after > 1)
}

// expandedAddressRegisters is the registers of a thread that the second body of an expanded (unrolled by two) loop takes: addresses of
// copies.
const expandedAddressRegisters = 16

// storeRegisters is the registers of a thread that estimates for warpgroups leave out: those with which operands are stored for other
// products.
const storeRegisters = 24

// feedsProduct reports whether a value reaches a product of the same iteration, and whether it does so through a buffer.
func (k *skewCandidate) feedsProduct(v *ir.Value, known map[*ir.Op]feeding) (all feeding) {
	for u := v.FirstUse(); u != nil; u = u.Next() {
		op := u.Owner().AncestorIn(k.loop.Op.Body()) // a branch, if the value is used in one
		if op == nil {
			continue
		}
		f, ok := known[op]
		if !ok {
			known[op] = feeding{} // of itself, through a buffer
			f.feeds = tileaa.IsProduct(op)
			results := op.Results()
			store, buffered := ir.As[tileaa.BufferStore](op)
			if buffered {
				results = []*ir.Value{store.Buffer()}
			}
			for _, r := range results {
				x := k.feedsProduct(r, known)
				f.feeds, f.stored = f.feeds || x.feeds, f.stored || x.stored || x.feeds && buffered
			}
			known[op] = f
		}
		all.feeds, all.stored = all.feeds || f.feeds, all.stored || f.stored
	}
	return all
}

// feeding says whether a value reaches a product, and whether it does so through a buffer.
type feeding struct{ feeds, stored bool }

// inFlight reports whether the chain stays in flight into the next iteration (tensor unit), inWarpgroups whether it does to the end of this
// one (wgmma).
func (k *skewCandidate) inFlight() bool     { return k.sum[0].Atom().Atom.Tensor != nil }
func (k *skewCandidate) inWarpgroups() bool { return k.sum[0].Atom().Atom.ByWarpgroup() }

// multiplies reports whether an op is one of the products.
func (k *skewCandidate) multiplies(op *ir.Op) bool {
	return slices.ContainsFunc(k.sum, func(d tileaa.Dot) bool { return d.Op == op })
}

// availableAhead reports whether a factor is loop-invariant, or comes by a copy that serves it alone, which it notes.
func (k *skewCandidate) availableAhead(factor *ir.Value) bool {
	buffer, ok := k.readFrom(factor)
	if !ok || ir.DefinedOutside(buffer, k.loop.Op) {
		return ok
	}
	var c tileaa.AsyncCopy
	for _, user := range tileaa.BufferUsers(buffer) {
		copies, ok := ir.As[tileaa.AsyncCopy](user)
		switch {
		case k.multiplies(user) || k.reads[user]:
		case ok && c.Op == nil:
			c = copies
		default:
			return false
		}
	}
	if c.Op == nil || c.When() != nil || c.ResultToken().HasUses() || !k.filledOnce(c.Op, c.Buffer()) || !k.computable(c.Block()) {
		return false
	}
	tokens, free := k.comesAfter(c.Token())
	k.copies, k.tokens = append(k.copies, c), append(k.tokens, tokens)
	return free
}

// readFrom is the buffer of the loop, or the loop-invariant value, that a factor is read from, through operations that serve it alone,
// which it notes.
func (k *skewCandidate) readFrom(factor *ir.Value) (buffer *ir.Value, ok bool) {
	for v := factor; ; {
		op := v.DefiningOp()
		switch {
		case ir.DefinedOutside(v, k.loop.Op) || op != nil && ir.Is[tileaa.AllocShared](op):
			return v, true
		case op == nil || op.NumOperands() != 1 || !v.HasOneUse() || op.NumRegions() > 0 || !(ir.Is[tileaa.BufferLoad](op) || op.Traits().Has(ir.Pure)):
			return nil, false
		}
		k.reads[op] = true
		v = op.Operand(0)
	}
}

// skew rewrites the loop.
func (k *skewCandidate) skew(s *pass.State) {
	k.b = ir.NewBuilder(s.Ctx).Before(k.loop.Op)
	k.b.Loc = k.sum[0].Op.Loc()
	first := k.prologue()
	body := k.loop.Op.Body()
	sums := body.AddArg(first.Type())

	k.b.AtStart(body)
	counter, exists := k.laterCounter(k.flow.InductionVar(), 1, nil)
	later := ir.Mapping{k.flow.InductionVar(): counter}
	k.cloneAll(k.slice, later, exists)
	for i, c := range k.copies {
		k.b.Before(c.Op)
		c.SetBlock(later.Lookup(c.Block()))
		c.SetWhen(exists)
		c.SetToken(tileaa.JoinTokens(k.b, k.tokens[i]))
	}
	landed := sums
	if k.inFlight() {
		k.b.Before(k.sum[0].Op)
		tileaa.NewDotWait(k.b, 0)
		landed = tileaa.NewDotLand(k.b, sums.Type(), sums, nil, tileaa.DotLandOptions{}).Result()
	}
	k.guard(k.sum, nil, exists)
	k.last().Result().ReplaceAllUsesWith(landed)
	end, next := k.flow.Continues()[0], k.last().Result()
	if k.inWarpgroups() {
		begin(k.sum)
		k.b.Before(end)
		tileaa.NewDotWait(k.b, 0)
		next = tileaa.NewDotLand(k.b, next.Type(), next, nil, tileaa.DotLandOptions{}).Result()
	}
	end.SetOperandGroup(0, append(end.Operands(), next))
	k.flow.Carry([]*ir.Value{first})
	k.loop.SetExpanded(k.expand)
}

// prologue issues the product of the first iteration in front of the loop, if there is one.
func (k *skewCandidate) prologue() *ir.Value {
	runs := k.hasIteration()
	m := ir.Mapping{k.flow.InductionVar(): k.loop.Lower()}
	k.cloneAll(k.slice, m, runs)
	for i, c := range k.copies {
		buffer := tileaa.NewAllocShared(k.b, c.Buffer().Type(), tileaa.AllocSharedOptions{}).Result()
		copyLike(k.b, c, m.Lookup(c.Block()), buffer, c.Layout(), tileaa.JoinTokens(k.b, k.tokens[i]), runs)
		m[c.Buffer()] = buffer
	}
	tileaa.NewAsyncCommit(k.b)
	tileaa.NewAsyncWait(k.b, 0)
	k.cloneAll(k.reads, m, nil)
	if zero := k.sum[0].Acc(); !ir.DefinedOutside(zero, k.loop.Op) {
		m[zero] = k.b.Clone(zero.DefiningOp(), ir.Mapping{}).Result(0)
	}
	var sum []tileaa.Dot
	for _, d := range k.sum {
		sum = append(sum, ir.Cast[tileaa.Dot](k.b.Clone(d.Op, m)))
		m[d.Result()] = sum[len(sum)-1].Result()
	}
	k.guard(sum, m, runs)
	return m[k.last().Result()]
}

// guard predicates the products of a chain and the reads of their operands, or their clones in a mapping, on the existence of an iteration.
func (k *skewCandidate) guard(sum []tileaa.Dot, m ir.Mapping, exists *ir.Value) {
	for op := range k.reads { // any of them: the order cannot matter
		if l, ok := ir.DefinedBy[tileaa.BufferLoad](m.Lookup(op.Result(0))); ok {
			l.SetWhen(exists)
		}
	}
	if k.inFlight() {
		begin(sum)
	}
	if sum[0].Atom().Atom.Group > 0 {
		for _, d := range sum {
			d.SetWhen(exists)
		}
	}
}
