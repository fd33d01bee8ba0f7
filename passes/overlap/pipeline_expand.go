package overlap

import (
	"math"
	"slices"

	"tileiras/codegen/planted"
	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// This file rewrites a loop whose copies run ahead.

// rewriting is a loop and the builder that rewrites it.
type rewriting struct {
	*aheadLoop
	b *ir.Builder
}

// expansion is the software pipelining of one loop: a prologue, and a loop that begins the copies of later iterations.
type expansion struct {
	rewriting
	copies         []tileaa.AsyncCopy
	slots          int64
	groups         []*group     // in the order of their waits
	rings          []*ir.Value  // by copy
	inFlight       []tileaa.Dot // products that stay in flight into the next iteration
	oneBlock       bool         // a single block is resident
	spareRegisters bool         // or two, with registers for a product in flight while threads begin copies
	joined         []*ir.Value  // tokens of what each copy comes after; nil: nothing
}

// expand makes rings of so many slots, for groups of copies that are waited for together.
func (p *pipeline) expand(s *pass.State, c choice) {
	x := &expansion{rewriting: rewriting{p.aheadLoop, ir.NewBuilder(s.Ctx).Before(p.loop.Op)}, copies: p.copies, slots: int64(c.slots), groups: c.groups, oneBlock: c.blocks == 1, spareRegisters: c.blocks <= 2 && c.registersFit}
	x.b.Loc = p.loop.Op.Loc()
	copies := make([]*ir.Op, len(p.copies))
	for i, c := range p.copies {
		copies[i] = c.Op
	}
	keepPaths(s.Ctx, p.loop.Op, copies)
	for i, c := range p.copies {
		slots := x.slots
		if planted.On("slot-too-few") && slots > 1 {
			slots-- // the copy of this iteration overwrites what it reads
		}
		t := tileaa.Ring(s.Ctx, slots, c.Buffer().Type().(*tileaa.BufferType))
		x.rings = append(x.rings, tileaa.NewAllocRing(x.b, t, tileaa.AllocRingOptions{}).Result())
		x.joined = append(x.joined, tileaa.JoinTokens(x.b, p.tokens[i]))
	}
	arrange(x.groups, x.slots)
	if list := summands(p.loop.Op); len(x.groups) == 1 && x.slots >= slotsInFlight {
		x.inFlight = list
	}
	if len(x.inFlight) > 0 {
		x.groups[0].distance-- // the slot of the iteration before is read still
	}
	start := tileaa.Const(x.b, x.positions(), 0)
	x.steadyState(start, x.prologue(start))
}

func (r *rewriting) positions() *tileaa.TileType { return tileaa.Tile(r.b.Ctx, r.b.Ctx.Int(32)) }

// prologue begins the copies of the first iterations, and returns their tokens, by copy. Groups are committed in the order
// of the loop, also those of iterations that do not exist: the waits count commits.
func (x *expansion) prologue(start *ir.Value) (begun [][]*ir.Value) {
	runs := x.hasIteration()
	most := int64(0)
	for _, g := range x.groups {
		most = max(most, g.distance)
		for _, v := range g.carriedArgs {
			i, _ := x.flow.CarriedIndex(v)
			g.carriedNext = append(g.carriedNext, x.flow.Init(i))
		}
	}
	begun = make([][]*ir.Value, len(x.copies))
	for t := -most; t < 0; t++ {
		for _, g := range byCommit(x.groups) {
			k := t + g.distance
			if k < 0 {
				if t > -most || g.commit > 0 {
					tileaa.NewAsyncCommit(x.b)
				}
				continue
			}
			counter, exists := x.laterCounter(x.loop.Lower(), k, runs)
			for i, t := range x.copy(g, counter, start, k, exists) {
				begun[g.copies[i]] = append(begun[g.copies[i]], t)
			}
		}
	}
	for _, g := range x.groups {
		if g.loads = x.loadsOf(g); len(g.loads) > 0 {
			counter, exists := x.laterCounter(x.loop.Lower(), g.distance, runs)
			x.fetch(g, counter, exists)
		}
	}
	return begun
}

// hasIteration is the condition that the loop has a first iteration.
func (r *rewriting) hasIteration() *ir.Value {
	signedness := def.Signed
	if r.loop.Unsigned() {
		signedness = def.Unsigned
	}
	return r.compare(r.loop.Lower(), r.loop.Upper(), def.PredLess, signedness)
}

func (r *rewriting) compare(a, b *ir.Value, p def.Predicate, s def.Signedness) *ir.Value {
	i1 := tileaa.Tile(r.b.Ctx, r.b.Ctx.Int(1))
	return tileaa.NewCmpi(r.b, i1, a, b, s, tileaa.CmpiOptions{Predicate: p}).Result()
}

// moreThan is the condition that more than so much of the range is left from a counter, which lies in the range.
func (r *rewriting) moreThan(counter, than *ir.Value) *ir.Value {
	left := tileaa.NewSubi(r.b, r.loop.Upper(), counter, tileaa.SubiOptions{}).Result()
	return r.compare(left, than, def.PredGreater, def.Unsigned)
}

// laterCounter is the counter k iterations later, and the condition that this iteration exists, given that of the counter's own (nil: it
// does). The rest of the range is compared as an unsigned number, which it is where the counter lies in the range, so nothing wraps.
func (r *rewriting) laterCounter(counter *ir.Value, k int64, exists *ir.Value) (*ir.Value, *ir.Value) {
	t := tileaa.AsTile(counter)
	further := func(by *ir.Value) {
		exists = both(r.b, exists, r.moreThan(counter, by))
		counter = tileaa.NewAddi(r.b, counter, by, tileaa.AddiOptions{}).Result()
	}
	if k == 0 {
		return counter, exists
	}
	if step, ok := tileaa.SplatInt(r.loop.Step()); ok && step > 0 && step < math.MaxInt8 && tileaa.ElemBits(t.Elem) >= 32 {
		further(tileaa.Const(r.b, t, k*step))
		return counter, exists
	}
	for range k {
		further(r.loop.Step())
	}
	return counter, exists
}

// copy begins the copies of a group for the iteration of a counter, if that exists, in the slots ahead of position, and advances the
// loop-carried values of the slice to the next iteration. It returns the tokens of the copies.
func (x *expansion) copy(g *group, counter, position *ir.Value, ahead int64, exists *ir.Value) (tokens []*ir.Value) {
	m := ir.Mapping{x.flow.InductionVar(): counter}
	for i, v := range g.carriedArgs {
		m[v] = g.carriedNext[i]
	}
	which := g.slice
	if len(g.fetched) > 0 { // what was loaded for it is there
		which = x.begins(g)
		for i, l := range g.loads {
			m[l.Result(0)] = g.fetched[i]
		}
	}
	x.cloneAll(which, m, exists)
	for _, i := range g.copies {
		c, ring := x.copies[i], x.rings[i]
		slots := ring.Type().(*tileaa.RingType).Slots
		x.b.WithLoc(c.Op.Loc(), func() {
			slot := tileaa.NewRingSlot(x.b, c.Buffer().Type(), ring, position, ahead%slots).Result()
			begun := copyAhead(x.b, c, m, slot, x.joined[i], exists)
			tokens = append(tokens, begun.ResultToken())
		})
	}
	tileaa.NewAsyncCommit(x.b)
	for i, v := range g.carriedArgs {
		k, _ := x.flow.CarriedIndex(v)
		g.carriedNext[i] = m.Lookup(x.flow.Continues()[0].Operand(k))
	}
	return tokens
}

// copyAhead is a copy for another iteration, whose values m has, predicated on its existence.
func copyAhead(b *ir.Builder, c tileaa.AsyncCopy, m ir.Mapping, buffer, token, exists *ir.Value) tileaa.AsyncCopy {
	when := c.When()
	if when != nil {
		when = m.Lookup(when)
	}
	return copyLike(b, c, m.Lookup(c.Block()), buffer, c.Layout(), token, both(b, exists, when))
}

// both is the condition that two conditions hold; nil always does.
func both(b *ir.Builder, p, q *ir.Value) *ir.Value {
	switch {
	case p == nil:
		return q
	case q == nil:
		return p
	}
	return tileaa.NewAndi(b, p, q).Result()
}

// copyLike is an asynchronous copy like another, of another block to another buffer.
func copyLike(b *ir.Builder, c tileaa.AsyncCopy, block, buffer *ir.Value, l *tileaa.LayoutAttr, token, when *ir.Value) tileaa.AsyncCopy {
	width, _ := c.Vec()
	fast, _ := c.Fast()
	return tileaa.NewAsyncCopy(b, block, buffer, l, tileaa.AsyncCopyOptions{Token: token, When: when,
		Vec: &width, Fast: &fast, Narrow: c.Narrow(), Masked: c.Masked(), CoordinateBits: c.CoordinateBits(), Ragged: c.Ragged()})
}

// steadyState rewrites the loop: an iteration reads its own slots and begins the copies of a later one. There is no epilogue, as copies are
// predicated.
func (x *expansion) steadyState(start *ir.Value, begun [][]*ir.Value) {
	body := x.loop.Op.Body()
	end := body.Terminator()
	old := body.Ops()
	inits := []*ir.Value{start}
	for _, g := range x.groups {
		inits = append(append(inits, g.carriedNext...), g.fetched...)
	}
	before := make([]*ir.Value, len(x.copies)) // tokens of what was begun in earlier iterations, of copies after which something comes
	var used []int
	for i, c := range x.copies {
		if c.ResultToken().HasUses() && len(begun[i]) > 0 {
			used = append(used, i)
			inits = append(inits, tileaa.JoinTokens(x.b, begun[i]))
		}
	}
	var args []*ir.Value
	for _, v := range inits {
		args = append(args, body.AddArg(v.Type()))
	}
	position, more := args[0], args[1:]
	for _, g := range x.groups {
		n, all := len(g.carriedNext), len(g.carriedNext)+len(g.fetched)
		g.carriedNext, g.fetched, more = more[:n:n], more[n:all:all], more[all:]
	}
	for k, i := range used {
		before[i] = more[k]
	}

	after := x.insertWaits(position, before)
	x.b.Before(end)
	passed := []*ir.Value{tileaa.NewRingNext(x.b, position, x.rings[0].Type().(*tileaa.RingType).Slots).Result()}
	for _, g := range x.groups {
		if len(g.loads) > 0 {
			counter, exists := x.laterCounter(x.flow.InductionVar(), g.distance+1, nil)
			x.fetch(g, counter, exists)
		}
		passed = append(append(passed, g.carriedNext...), g.fetched...)
	}
	for _, i := range used {
		passed = append(passed, after[i])
	}
	end.SetOperandGroup(0, slices.Concat(end.Operands(), passed))
	x.eraseOld(old)
	if len(x.inFlight) == 0 {
		x.flow.Carry(inits)
		return
	}
	lands := carryInFlight(x.flow, x.inFlight)
	x.b.After(x.inFlight[len(x.inFlight)-1].Op)
	tileaa.NewDotWait(x.b, int64(len(x.inFlight))) // those of the iteration before are over
	x.flow.Carry(inits)
	x.loop.SetLands(lands)
}

// insertWaits puts the wait of each group in the loop, and behind it the copies that begin there. It returns, by copy, the tokens of what
// has begun at the end of an iteration.
func (x *expansion) insertWaits(position *ir.Value, before []*ir.Value) (after []*ir.Value) {
	after = make([]*ir.Value, len(x.copies))
	x.b.AtStart(x.loop.Op.Body())
	begun := x.firstWaitProduct()
	for at, g := range x.groups {
		if at > 0 {
			x.b.Before(g.first)
		}
		tileaa.NewAsyncWait(x.b, staysPending(x.groups, at))
		if at == 0 && begun != nil {
			x.readSlots(position)
			x.b.After(begun)
		}
		for _, h := range byCommit(x.groups) {
			if h.from != at {
				continue
			}
			switch {
			case h.behind != nil:
				x.b.After(h.behind)
			case at > 0:
				x.b.Before(g.first)
			}
			x.beginLater(h, position, before, after)
		}
		if at == 0 && begun == nil {
			x.readSlots(position)
		}
	}
	return after
}

// firstWaitProduct is the product that is issued right behind the first wait, before the copies that begin there: one that is skewed into
// the next iteration, the last of those that the tensor unit sums up until the iteration ends where a single block is resident, or the
// leadingProduct; nil without. Its operands are there at that wait, and the matrix unit would idle while threads begin copies.
func (x *expansion) firstWaitProduct() *ir.Op {
	product, leads := x.candidateProduct()
	if product == nil || x.comesBefore(product) || x.readsLater(product) {
		return nil
	}
	if d := ir.Cast[tileaa.Dot](product); leads && !d.InFlight() {
		x.leaveInFlight(d)
	}
	return product
}

// candidateProduct is that product, whatever stands before it, and whether it leads the iteration.
func (x *expansion) candidateProduct() (product *ir.Op, leads bool) {
	if list := summands(x.loop.Op); x.oneBlock && len(list) > 0 && len(x.inFlight) == 0 && len(x.groups) == 1 && list[0].Atom().Atom.Tensor != nil {
		return list[len(list)-1].Op, false
	}
	for _, op := range x.loop.Op.Body().Ops() {
		if d, ok := ir.As[tileaa.Dot](op); ok && d.When() != nil {
			return tileaa.LastOfSum(d).Op, false
		}
	}
	if d, ok := x.leadingProduct(); ok {
		return d.Op, true
	}
	return nil, false
}

// comesBefore reports whether something that comes after a copy for this iteration, which would begin behind a product, stands in front of that.
func (x *expansion) comesBefore(product *ir.Op) bool {
	body, at := x.loop.Op.Body(), map[*ir.Op]bool{}
	for op := body.First(); op != product; op = op.Next() {
		at[op] = true
	}
	return slices.ContainsFunc(x.groups, func(g *group) bool {
		return g.distance == 0 && slices.ContainsFunc(g.copies, func(i int) bool {
			return slices.ContainsFunc(x.copies[i].ResultToken().Uses(), func(u *ir.Use) bool { return at[u.Owner().AncestorIn(body)] })
		})
	})
}

// readsLater reports whether a sum that ends with a product reads what is not there at the first wait: copies of another group, or those that begin in its own
// iteration, behind that wait. A product that is skewed out of an inner loop is one of an iteration of the outer one.
func (x *expansion) readsLater(product *ir.Op) bool {
	sum := tileaa.SumOf(ir.Cast[tileaa.Dot](product))
	for n, g := range x.groups {
		if n == 0 && g.distance > 0 {
			continue
		}
		for _, i := range g.copies {
			users := tileaa.BufferUsers(x.copies[i].Buffer())
			if slices.ContainsFunc(sum, func(d tileaa.Dot) bool { return slices.Contains(users, d.Op) }) {
				return true
			}
		}
	}
	return false
}

// leadingProduct is the product with which an iteration begins, if only the first wait is for its operands, so that it can be in flight
// while threads begin copies. One of the tensor unit is in flight already. One of warpgroups occupies registers meanwhile, unless it
// accumulates to a loop-carried sum, and no product of the iteration may wait for these copies.
func (x *expansion) leadingProduct() (d tileaa.Dot, ok bool) {
	if len(x.inFlight) > 0 {
		return d, false
	}
	for n, op := range x.loop.Op.Body().Ops() {
		d, ok := ir.As[tileaa.Dot](op)
		switch {
		case ok && len(x.groups) > 1 && x.groups[1].firstAt <= n:
			return d, false
		case ok && d.Atom().Atom.Tensor != nil:
			return d, d.InFlight() && isZeroInit(d) && tileaa.LastOfSum(d) == d
		case ok:
			return d, x.staysInFlight(d)
		case op.NumRegions() > 0 || ir.Is[tileaa.BufferLoad](op) || ir.Is[tileaa.BufferStore](op):
			return d, false // threads have something to do before
		}
	}
	return d, false
}

// staysInFlight reports whether a wgmma may be in flight while threads begin copies.
func (x *expansion) staysInFlight(d tileaa.Dot) bool {
	a := d.Atom().Atom
	if a.Group == 0 || !a.SharedA || d.InFlight() || tileaa.LastOfSum(d) != d || slices.ContainsFunc(x.groups, func(g *group) bool { return g.distance == 0 }) {
		return false
	}
	return canStayInFlight(d) || x.spareRegisters && isZeroInit(d) && !tileaa.AddsApart(d.Op, a)
}

// leaveInFlight makes a product asynchronous, with a wait where its result is first used.
func (x *expansion) leaveInFlight(d tileaa.Dot) {
	d.SetInFlight(true)
	x.b.Before(firstUse(d.Op))
	tileaa.NewDotWait(x.b, 0)
	land(x.b, d.Result())
	x.b.AtStart(x.loop.Op.Body())
}

// readSlots replaces the buffers of copies by this iteration's slots of the rings.
func (x *expansion) readSlots(position *ir.Value) {
	for i, c := range x.copies {
		slot := tileaa.NewRingSlot(x.b, c.Buffer().Type(), x.rings[i], position, 0).Result()
		c.Buffer().ReplaceAllUsesWith(slot)
	}
}

// beginLater begins the copies of a group for a later iteration. An op that came after a copy of this iteration now comes after those that
// had begun when the iteration did, which include it.
func (x *expansion) beginLater(g *group, position *ir.Value, before, after []*ir.Value) {
	counter, exists := x.laterCounter(x.flow.InductionVar(), g.distance, nil)
	if exists == nil { // a predicate all the same: rotation in codegen/nvvm runs one beginning too many, and needs a guard to switch off
		exists = x.moreThan(counter, tileaa.Const(x.b, tileaa.AsTile(counter), 0))
	}
	if planted.On("late-copy") {
		exists = nil
	}
	for k, t := range x.copy(g, counter, position, g.distance, exists) {
		i := g.copies[k]
		after[i] = t
		if before[i] != nil {
			after[i] = tileaa.JoinTokens(x.b, []*ir.Value{before[i], t})
		}
		known := after[i]
		if g.distance > 0 { // this iteration's was begun earlier
			known = before[i]
		}
		if known != nil {
			x.copies[i].ResultToken().ReplaceAllUsesWith(known)
		}
	}
}

// eraseOld erases from the old body the copies, commits, waits, buffers and addresses that are replaced.
func (x *expansion) eraseOld(body []*ir.Op) {
	for _, op := range slices.Backward(body) {
		switch c := op.Code(); {
		case c == tileaa.OpAsyncCopy, c == tileaa.OpAsyncCommit, c == tileaa.OpAsyncWait,
			c == tileaa.OpAllocShared && !op.HasUses():
			op.Erase()
		case x.slice[op] && !op.HasUses(): // also loads, which are weak
			op.Erase()
		}
	}
}
