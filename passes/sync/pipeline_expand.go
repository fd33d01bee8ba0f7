package sync

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

// rewriting is the work on one loop, and where it puts what is new.
type rewriting struct {
	*pipeline
	b *ir.Builder
}

// expansion is that of pipeline-loops.
type expansion struct {
	rewriting
	slots  int64
	groups []*group     // in the order of their waits
	rings  []*ir.Value  // by copy
	flying []tileaa.Dot // products that go on into the next iteration
	alone  bool         // a multiprocessor runs one block
	idle   bool         // or two, whose threads have registers for a product that goes on while they begin copies
	joined []*ir.Value  // tokens of what each copy comes after; nil: nothing
}

// expand makes rings of so many slots, for groups of copies that are waited for together.
func (p *pipeline) expand(s *pass.State, c choice) {
	x := &expansion{rewriting: rewriting{p, ir.NewBuilder(s.Ctx).Before(p.loop.Op)}, slots: int64(c.slots), groups: c.groups, alone: c.blocks == 1, idle: c.blocks <= 2 && c.room}
	x.b.Loc = p.loop.Op.Loc()
	for i, c := range p.copies {
		slots := x.slots
		if planted.On("slot-too-few") && slots > 1 {
			slots-- // the copy of this iteration overwrites what it reads
		}
		t := tileaa.Ring(s.Ctx, slots, c.Buffer().Type().(*tileaa.BufferType))
		x.rings = append(x.rings, tileaa.NewAllocRing(x.b, t, tileaa.AllocRingOptions{}).Result())
		x.joined = append(x.joined, joinTokens(x.b, p.tokens[i]))
	}
	arrange(x.groups, x.slots)
	if list := summands(p.loop.Op); len(x.groups) == 1 && x.slots >= slotsInFlight {
		x.flying = list
	}
	if len(x.flying) > 0 {
		x.groups[0].distance-- // the slot of the iteration before is read still
	}
	start := tileaa.Const(x.b, x.positions(), 0)
	x.steady(start, x.prologue(start))
}

// joinTokens is a token that comes after all of some, nil after none.
func joinTokens(b *ir.Builder, tokens []*ir.Value) *ir.Value {
	switch len(tokens) {
	case 0:
		return nil
	case 1:
		return tokens[0]
	}
	return tileaa.NewJoinMemToken(b, tokens).Result()
}

func (r *rewriting) positions() *tileaa.TileType { return tileaa.Tile(r.b.Ctx, r.b.Ctx.Int(32)) }

// prologue begins the copies of the first iterations. It gives the tokens of what was begun, by copy. Groups are committed in the order
// of the loop, also those of iterations that there are not: the waits count them.
func (x *expansion) prologue(start *ir.Value) (begun [][]*ir.Value) {
	runs := x.runs()
	most := int64(0)
	for _, g := range x.groups {
		most = max(most, g.distance)
		for _, v := range g.carry {
			i, _ := x.flow.CarriedIndex(v)
			g.carried = append(g.carried, x.loop.Inits()[i])
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
			counter, exists := x.later(x.loop.Lower(), k, runs)
			for i, t := range x.copy(g, counter, start, k, exists) {
				begun[g.copies[i]] = append(begun[g.copies[i]], t)
			}
		}
	}
	for _, g := range x.groups {
		if g.loads = x.loadsOf(g); len(g.loads) > 0 {
			counter, exists := x.later(x.loop.Lower(), g.distance, runs)
			x.fetch(g, counter, exists)
		}
	}
	return begun
}

// runs is whether the loop has a first iteration.
func (r *rewriting) runs() *ir.Value {
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

// more is whether more of the range than this is left from a counter on, which lies in it.
func (r *rewriting) more(counter, than *ir.Value) *ir.Value {
	left := tileaa.NewSubi(r.b, r.loop.Upper(), counter, tileaa.SubiOptions{}).Result()
	return r.compare(left, than, def.PredGreater, def.Unsigned)
}

// later is the counter of the iteration k later, and whether there is one, given whether there is one for this counter (nil: there is).
// What is left of the range is compared as an unsigned number, which it is where the counter lies in it, so nothing wraps.
func (r *rewriting) later(counter *ir.Value, k int64, exists *ir.Value) (*ir.Value, *ir.Value) {
	t := tileaa.AsTile(counter)
	further := func(by *ir.Value) {
		more := r.more(counter, by)
		if exists != nil {
			more = tileaa.NewAndi(r.b, exists, more).Result()
		}
		counter, exists = tileaa.NewAddi(r.b, counter, by, tileaa.AddiOptions{}).Result(), more
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

// copy begins the copies of a group for one iteration, if it exists, of which the counter is given, in the slots so many ahead of a
// position, and moves the carried values that addresses follow from to the next iteration. It gives their tokens.
func (x *expansion) copy(g *group, counter, position *ir.Value, ahead int64, exists *ir.Value) (tokens []*ir.Value) {
	m := ir.Mapping{x.flow.InductionVar(): counter}
	for i, v := range g.carry {
		m[v] = g.carried[i]
	}
	which := g.ahead
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
		slot := tileaa.NewRingSlot(x.b, c.Buffer().Type(), ring, position, ahead%slots).Result()
		begun := copyAhead(x.b, c, m, slot, x.joined[i], exists)
		tokens = append(tokens, begun.ResultToken())
	}
	tileaa.NewAsyncCommit(x.b)
	for i, v := range g.carry {
		k, _ := x.flow.CarriedIndex(v)
		g.carried[i] = m.Lookup(x.flow.Continues()[0].Operand(k))
	}
	return tokens
}

// copyAhead is an asynchronous copy of another iteration, where values are what a mapping says, if it exists.
func copyAhead(b *ir.Builder, c tileaa.AsyncCopy, m ir.Mapping, buffer, token, exists *ir.Value) tileaa.AsyncCopy {
	when := exists
	if own := c.When(); own != nil {
		when = m.Lookup(own)
		if exists != nil {
			when = tileaa.NewAndi(b, exists, when).Result()
		}
	}
	return copyLike(b, c, m.Lookup(c.Block()), buffer, c.Layout(), token, when)
}

// copyLike is an asynchronous copy like another, of another block to another buffer.
func copyLike(b *ir.Builder, c tileaa.AsyncCopy, block, buffer *ir.Value, l *tileaa.LayoutAttr, token, when *ir.Value) tileaa.AsyncCopy {
	width, _ := c.Vec()
	fast, _ := c.Fast()
	return tileaa.NewAsyncCopy(b, block, buffer, l, tileaa.AsyncCopyOptions{Token: token, When: when,
		Vec: &width, Fast: &fast, Narrow: c.Narrow(), Masked: c.Masked(), CoordinateBits: c.CoordinateBits(), Ragged: c.Ragged()})
}

// steady rewrites the loop: it begins copies ahead and reads the slots of its own iteration.
func (x *expansion) steady(start *ir.Value, begun [][]*ir.Value) {
	body := x.loop.Op.Body()
	end := body.Terminator()
	old := body.Ops()
	inits := []*ir.Value{start}
	for _, g := range x.groups {
		inits = append(append(inits, g.carried...), g.fetched...)
	}
	before := make([]*ir.Value, len(x.copies)) // tokens of what was begun in earlier iterations, of copies after which something comes
	var used []int
	for i, c := range x.copies {
		if c.ResultToken().HasUses() && len(begun[i]) > 0 {
			used = append(used, i)
			inits = append(inits, joinTokens(x.b, begun[i]))
		}
	}
	var args []*ir.Value
	for _, v := range inits {
		args = append(args, body.AddArg(v.Type()))
	}
	position, more := args[0], args[1:]
	for _, g := range x.groups {
		n, all := len(g.carried), len(g.carried)+len(g.fetched)
		g.carried, g.fetched, more = more[:n:n], more[n:all:all], more[all:]
	}
	for k, i := range used {
		before[i] = more[k]
	}

	after := x.waits(position, before)
	x.b.Before(end)
	passed := []*ir.Value{tileaa.NewRingNext(x.b, position, x.rings[0].Type().(*tileaa.RingType).Slots).Result()}
	for _, g := range x.groups {
		if len(g.loads) > 0 {
			counter, exists := x.later(x.flow.InductionVar(), g.distance+1, nil)
			x.fetch(g, counter, exists)
		}
		passed = append(append(passed, g.carried...), g.fetched...)
	}
	for _, i := range used {
		passed = append(passed, after[i])
	}
	end.SetOperandGroup(0, slices.Concat(end.Operands(), passed))
	x.eraseOld(old)
	if len(x.flying) == 0 {
		x.replaceLoop(inits)
		return
	}
	lands := letFly(x.flow, x.flying)
	x.b.After(x.flying[len(x.flying)-1].Op)
	tileaa.NewDotWait(x.b, int64(len(x.flying))) // those of the iteration before are over
	x.replaceLoop(inits).SetLands(lands)
}

// waits puts the waits in the loop, and after each the copies that are begun there. It gives, by copy, the tokens of what was begun up to the
// end of an iteration.
func (x *expansion) waits(position *ir.Value, before []*ir.Value) (after []*ir.Value) {
	after = make([]*ir.Value, len(x.copies))
	x.b.AtStart(x.loop.Op.Body())
	begun := x.begun()
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

// begun is the product that begins for the next iteration, or the last of those that the tensor unit adds up until the iteration ends, where no other block multiplies;
// nil without. What it takes is there at the first wait, and the unit has nothing to do until then.
func (x *expansion) begun() *ir.Op {
	if list := summands(x.loop.Op); x.alone && len(list) > 0 && len(x.flying) == 0 && len(x.groups) == 1 && list[0].Atom().Atom.Tensor != nil {
		return list[len(list)-1].Op
	}
	for _, op := range x.loop.Op.Body().Ops() {
		if d, ok := ir.As[tileaa.Dot](op); ok && d.When() != nil {
			return tileaa.LastOfSum(d).Op
		}
	}
	if d, ok := x.first(); ok {
		if !d.InFlight() {
			x.fly(d)
		}
		return d.Op
	}
	return nil
}

// first is the product with which an iteration begins, if it only adds and the first wait is for what it takes: it can go on while threads begin copies. That of the
// tensor unit is in flight already. One of warpgroups takes registers meanwhile, but for sums that a loop carries, and a product of the iteration may not wait for these
// copies.
func (x *expansion) first() (d tileaa.Dot, ok bool) {
	if len(x.flying) > 0 {
		return d, false
	}
	for n, op := range x.loop.Op.Body().Ops() {
		d, ok := ir.As[tileaa.Dot](op)
		switch {
		case ok && len(x.groups) > 1 && x.groups[1].firstAt <= n:
			return d, false
		case ok && d.Atom().Atom.Tensor != nil:
			return d, d.InFlight() && isFresh(d) && tileaa.LastOfSum(d) == d
		case ok:
			return d, x.waitless(d)
		case op.NumRegions() > 0 || ir.Is[tileaa.BufferLoad](op) || ir.Is[tileaa.BufferStore](op):
			return d, false // threads have something to do before
		}
	}
	return d, false
}

// waitless reports whether a product of warpgroups may go on while threads begin copies.
func (x *expansion) waitless(d tileaa.Dot) bool {
	a := d.Atom().Atom
	if a.Group == 0 || !a.SharedA || d.InFlight() || tileaa.LastOfSum(d) != d || slices.ContainsFunc(x.groups, func(g *group) bool { return g.distance == 0 }) {
		return false
	}
	return mayFly(d) || x.idle && isFresh(d) && !tileaa.AddsApart(d.Op, a)
}

// fly lets a product go on until its sum is taken.
func (x *expansion) fly(d tileaa.Dot) {
	d.SetInFlight(true)
	x.b.Before(takenAt(d.Op))
	tileaa.NewDotWait(x.b, 0)
	land(x.b, d.Result())
	x.b.AtStart(x.loop.Op.Body())
}

// readSlots gives those who read what copies brought the slots of this iteration.
func (x *expansion) readSlots(position *ir.Value) {
	for i, c := range x.copies {
		slot := tileaa.NewRingSlot(x.b, c.Buffer().Type(), x.rings[i], position, 0).Result()
		c.Buffer().ReplaceAllUsesWith(slot)
	}
}

// beginLater begins the copies of a group for a later iteration. What comes after a copy of this iteration comes after those begun up to the
// beginning of the loop, which hold it.
func (x *expansion) beginLater(g *group, position *ir.Value, before, after []*ir.Value) {
	counter, exists := x.later(x.flow.InductionVar(), g.distance, nil)
	if exists == nil { // said all the same: what a guard stands before can be begun where it may be one iteration too many
		exists = x.more(counter, tileaa.Const(x.b, tileaa.AsTile(counter), 0))
	}
	if planted.On("late-copy") {
		exists = nil
	}
	for k, t := range x.copy(g, counter, position, g.distance, exists) {
		i := g.copies[k]
		after[i] = t
		if before[i] != nil {
			after[i] = joinTokens(x.b, []*ir.Value{before[i], t})
		}
		known := after[i]
		if g.from > 0 {
			known = before[i]
		}
		if known != nil {
			x.copies[i].ResultToken().ReplaceAllUsesWith(known)
		}
	}
}

// eraseOld erases, of what the body was, the copies with their groups, waits, buffers and addresses.
func (x *expansion) eraseOld(body []*ir.Op) {
	for _, op := range slices.Backward(body) {
		switch c := op.Code(); {
		case c == tileaa.OpAsyncCopy, c == tileaa.OpAsyncCommit, c == tileaa.OpAsyncWait,
			c == tileaa.OpAllocShared && !op.HasUses():
			op.Erase()
		case x.ahead[op] && !op.HasUses(): // also loads, which are weak
			op.Erase()
		}
	}
}

// replaceLoop puts a loop that carries more in the place of the loop, with its body.
func (r *rewriting) replaceLoop(more []*ir.Value) tileaa.For {
	return ir.Cast[tileaa.For](r.replace(more))
}

// replace does so for any loop. One that does not count has the results that it had.
func (r *rewriting) replace(more []*ir.Value) *ir.Op {
	op := r.flow.Op
	r.b.Before(op)
	inits := append(r.flow.Inits(), more...)
	types := ir.TypesOf(op.Results())
	if r.flow.Kind == ir.CountedFlow {
		types = ir.TypesOf(inits)
	}
	loop := newLoop(r.b, r.flow, types, inits)
	op.ReplaceWith(loop)
	return loop
}
