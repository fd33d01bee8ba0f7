package sync

import (
	"slices"
	"sync"

	"tileiras/codegen/cost"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// skew-products begins products an iteration ahead where nothing that is computed goes into them, so that the unit multiplies while threads compute with
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
		k := skewing{s, entry, sync.OnceValue(func() *kernel.Pressure { return kernel.PressureIn(s, entry) })}
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

// skewing is what is known of an entry while its loops are rewritten, once a loop asks.
type skewing struct {
	s     *pass.State
	entry *ir.Op
	alive func() *kernel.Pressure
}

// skewed is a sum of products of a loop, or a single one, that can begin an iteration ahead, and the copies that bring what it takes.
type skewed struct {
	skewing
	rewriting
	sum    []tileaa.Dot
	reads  map[*ir.Op]bool // what reads its factors in the loop
	expand bool            // there are registers for more addresses, too
}

// last is the product that gives the sum.
func (k *skewed) last() tileaa.Dot { return k.sum[len(k.sum)-1] }

// skewable finds the first sum of products of a loop that can.
func (in skewing) skewable(op *ir.Op) *skewed {
	k := &skewed{skewing: in, rewriting: rewriting{pipeline: &pipeline{loop: ir.Cast[tileaa.For](op), ahead: map[*ir.Op]bool{}}}, reads: map[*ir.Op]bool{}}
	k.flow, _ = ir.LoopOf(op)
	if len(k.flow.Continues()) != 1 {
		return nil
	}
	for _, o := range op.Body().Ops() {
		d, ok := ir.As[tileaa.Dot](o)
		if !ok || !tileaa.AddsToNothing(d) {
			continue
		}
		k.sum = tileaa.SumOf(d)
		if !k.gains(k.last()) {
			continue
		}
		var factors []*ir.Value
		for _, d := range k.sum {
			factors = append(factors, tileaa.FactorsOf(d)...)
		}
		if !slices.ContainsFunc(factors, func(v *ir.Value) bool { return !k.comesAhead(v) }) && len(k.copies) > 0 && len(k.carry) == 0 {
			return k
		}
		return nil
	}
	return nil
}

// gains reports whether a product, the last of its sum, can go on while threads compute with the one before. The tensor unit multiplies by itself. Warpgroups hold
// both results, and threads that multiply do so between what they compute for another product: there must be registers, and blocks that compute at the same time
// must not come down to one. What a loop holds ahead is free in the next one, but for warpgroups: theirs know the places of copies by registers that estimates
// leave out.
func (k *skewed) gains(d tileaa.Dot) bool {
	a, words := d.Atom().Atom, tileaa.ElemBits(tileaa.AsTile(d.Result()).Elem) == 32
	switch {
	case d.InFlight(): // it goes on already
		return false
	case a.Tensor != nil:
		return words && !multipliesWithin(d.Op.Block()) && !slices.ContainsFunc(d.Result().Uses(), func(u *ir.Use) bool { return ir.Is[tileaa.FactorStore](u.Owner()) }) // which takes its columns
	case a.Group > 0 && (tileaa.AddsApart(d.Op, a) || !words):
		return false
	}
	feeds, stored := k.feedsProduct(d.Result(), map[*ir.Op]bool{})
	if !feeds {
		return false
	}
	t, plan := k.s.Target, tileaa.PlanOf(k.entry)
	registers := func(accumulators int) int { return k.asks(k.s, k.entry, accumulators).Registers }
	all, here := registers(k.alive().Max(plan.Warps)), registers(k.alive().During(k.loop.Op, plan.Warps))
	if a.Group > 0 {
		here = all
	}
	with := here + kernel.RegistersOf(d.Result())
	if a.Group > 0 && stored {
		with += storing
	}
	limit := t.RegistersPerThread
	if plan.MaxReg > 0 {
		limit = min(limit, plan.MaxReg)
	}
	threads := 32 * (plan.Warps + plan.Producers)
	blocks := func(registers int) int {
		n, _ := cost.Occupancy(t, threads, registers, 0)
		return n
	}
	before, after := blocks(all), blocks(max(all, with))
	k.expand = a.Group > 0 && with+expanding <= limit && blocks(max(all, with+expanding)) == after
	return with <= limit && (after == before || after > 1)
}

// expanding is the registers of a thread that the second body of an expanded loop takes: addresses of copies.
const expanding = 16

// storing is the registers of a thread that estimates of warpgroups leave out: of those with which it stores what others multiply by.
const storing = 24

// feedsProduct reports whether a product of the loop takes what is computed with a value in the same iteration, and whether it comes to one by way of a buffer.
func (k *skewed) feedsProduct(v *ir.Value, seen map[*ir.Op]bool) (feeds, stored bool) {
	for _, u := range v.Uses() {
		op := u.Owner().AncestorIn(k.loop.Op.Body()) // a branch, if the value is used in one
		if op == nil || seen[op] {
			continue
		}
		seen[op] = true
		results := op.Results()
		store, buffered := ir.As[tileaa.BufferStore](op)
		if buffered {
			results = []*ir.Value{store.Buffer()}
		}
		feeds = feeds || tileaa.IsProduct(op)
		for _, r := range results {
			f, s := k.feedsProduct(r, seen)
			feeds, stored = feeds || f, stored || s || f && buffered
		}
	}
	return feeds, stored
}

// inFlight reports whether the sum goes on by itself to the next iteration, inGroups whether it does to the end of this one.
func (k *skewed) inFlight() bool { return k.sum[0].Atom().Atom.Tensor != nil }
func (k *skewed) inGroups() bool { return k.sum[0].Atom().Atom.ByWarpgroup() }

// multiplies reports whether an op is one of the products.
func (k *skewed) multiplies(op *ir.Op) bool {
	return slices.ContainsFunc(k.sum, func(d tileaa.Dot) bool { return d.Op == op })
}

// comesAhead reports whether a factor comes from outside of the loop, or by a copy for it alone, and notes the copy.
func (k *skewed) comesAhead(factor *ir.Value) bool {
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
	if c.Op == nil || c.When() != nil || c.ResultToken().HasUses() || !k.buffered(c) || !k.computable(c.Block()) {
		return false
	}
	tokens, free := k.comesAfter(c.Token(), map[*ir.Value]bool{})
	k.copies, k.tokens = append(k.copies, c), append(k.tokens, tokens)
	return free
}

// readFrom is the buffer of the loop, or the value of outside, that a factor is read from, through operations for it alone, which it notes.
func (k *skewed) readFrom(factor *ir.Value) (buffer *ir.Value, ok bool) {
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
func (k *skewed) skew(s *pass.State) {
	k.b = ir.NewBuilder(s.Ctx).Before(k.loop.Op)
	k.b.Loc = k.sum[0].Op.Loc()
	first := k.begin()
	body := k.loop.Op.Body()
	sums := body.AddArg(first.Type())

	k.b.AtStart(body)
	counter, exists := k.later(k.flow.InductionVar(), 1, nil)
	later := ir.Mapping{k.flow.InductionVar(): counter}
	k.cloneAll(k.ahead, later, exists)
	for i, c := range k.copies {
		k.b.Before(c.Op)
		c.SetBlock(later.Lookup(c.Block()))
		c.SetWhen(exists)
		c.SetToken(joinTokens(k.b, k.tokens[i]))
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
	if k.inGroups() {
		begin(k.sum)
		k.b.Before(end)
		tileaa.NewDotWait(k.b, 0)
		next = tileaa.NewDotLand(k.b, next.Type(), next, nil, tileaa.DotLandOptions{}).Result()
	}
	end.SetOperandGroup(0, append(end.Operands(), next))
	k.replaceLoop([]*ir.Value{first}).SetExpanded(k.expand)
}

// begin begins the product of the first iteration before the loop, if there is one.
func (k *skewed) begin() *ir.Value {
	runs := k.runs()
	m := ir.Mapping{k.flow.InductionVar(): k.loop.Lower()}
	k.cloneAll(k.ahead, m, runs)
	for i, c := range k.copies {
		buffer := tileaa.NewAllocShared(k.b, c.Buffer().Type(), tileaa.AllocSharedOptions{}).Result()
		copyLike(k.b, c, m.Lookup(c.Block()), buffer, c.Layout(), joinTokens(k.b, k.tokens[i]), runs)
		m[c.Buffer()] = buffer
	}
	tileaa.NewAsyncCommit(k.b)
	tileaa.NewAsyncWait(k.b, 0)
	k.cloneAll(k.reads, m, nil)
	if zero := k.sum[0].Acc(); !ir.DefinedOutside(zero, k.loop.Op) {
		m[zero] = k.b.Insert(zero.DefiningOp().Clone(ir.Mapping{})).Result(0)
	}
	var sum []tileaa.Dot
	for _, d := range k.sum {
		sum = append(sum, ir.Cast[tileaa.Dot](k.b.Insert(d.Op.Clone(m))))
		m[d.Result()] = sum[len(sum)-1].Result()
	}
	k.guard(sum, m, runs)
	return m[k.last().Result()]
}

// guard says of the products of a sum and of what reads for them, or of what a mapping has in their place, that nobody needs them unless an iteration exists.
func (k *skewed) guard(sum []tileaa.Dot, m ir.Mapping, exists *ir.Value) {
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
