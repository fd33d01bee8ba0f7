package overlap

import (
	"slices"

	"tileiras/codegen/cost"
	"tileiras/codegen/planted"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/memory"
	"tileiras/passes/pass"
)

// PipelineNests keeps copies coming from one tile to the next. Where an inner loop ends, the slots of its rings are free, and nothing would come while its results
// are stored: the first copies of the next inner loop begin there, an iteration of the outer loop ahead.
//
//	for %t = %lo to %hi {                 %r = alloc_ring
//	  %r = alloc_ring                     async_copy %x[%lo, 0], slot 0, when %lo < %hi; async_commit
//	  async_copy %x[%t, 0], slot 0        for %t = %lo to %hi {
//	  async_commit                          for %k { .. }
//	  for %k { .. }                  =>     async_copy %x[%t+1, 0], slot 0, when %t+1 < %hi; async_commit
//	  store                                 store
//	}                                     }
//
// Between an inner loop and the next as many groups are committed as before, so the waits find what they found. The rings live from tile to tile, and what is
// stored by way of shared memory takes other bytes than theirs: where there are none, the nest stays as it is. So it does where a multiprocessor has several blocks,
// of which others compute meanwhile.
func PipelineNests(s *pass.State) error {
	for _, entry := range s.Entries() {
		copying := copiesIn(s, entry)
		var nests []*nest
		s.Walk(entry, ir.PostOrder, func(op *ir.Op) {
			if n, ok := nestOf(op, copying); ok {
				nests = append(nests, n)
			}
		})
		if len(nests) == 0 {
			continue
		}
		list, at := memory.LiveIntervals(s, entry)
		if !alone(s, entry, list) {
			continue
		}
		for _, n := range nests {
			if longer, ok := n.fits(s, list, at); ok {
				list = longer
				n.expand(s)
			}
		}
	}
	return nil
}

// copiesIn are the ops in whose regions copies begin, end or are waited for.
func copiesIn(s *pass.State, entry *ir.Op) map[*ir.Op]bool {
	in := map[*ir.Op]bool{}
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		switch op.Code() {
		case tileaa.OpAsyncCopy, tileaa.OpAsyncCommit, tileaa.OpAsyncWait:
			for op = op.ParentOp(); !in[op] && op != entry; op = op.ParentOp() {
				in[op] = true
			}
		}
	})
	return in
}

// nest is a loop around one whose copies run ahead.
type nest struct {
	rewriting        // of the outer loop; what is computed ahead in it is what the first copies follow from
	exit      *ir.Op // of an outer loop that does not count: the branch at whose condition it ends
	inner     *ir.Op
	rings     []*ir.Op // of the inner loop
	first     []*ir.Op // copies that begin before it and their commits, in order
}

// nestOf reports whether an op is a loop in which only copies of one inner loop are under way, and whether the places of those that begin before that are known an
// iteration ahead.
func nestOf(op *ir.Op, copying map[*ir.Op]bool) (n *nest, ok bool) {
	flow, ok := ir.LoopOf(op)
	if !ok || !copying[op] {
		return nil, false
	}
	n = &nest{rewriting: rewriting{aheadLoop: newAheadLoop(op, true)}}
	if ways := flow.Continues(); len(ways) != 1 || ways[0] != op.Body().Terminator() {
		return nil, false
	}
	if flow.Kind != ir.CountedFlow {
		if n.exit = exitOf(flow); n.exit == nil {
			return nil, false
		}
	}
	for op := op.Body().First(); op != nil; op = op.Next() {
		switch {
		case op.Code() == tileaa.OpAllocRing:
			n.rings = append(n.rings, op)
		case op.Code() == tileaa.OpAsyncCopy, op.Code() == tileaa.OpAsyncCommit:
			if n.inner != nil {
				return nil, false // in flight beside what would begin
			}
			n.first = append(n.first, op)
		case op.Code() == tileaa.OpAsyncWait:
			return nil, false
		case copying[op]:
			if n.inner != nil || op.Code() != tileaa.OpFor {
				return nil, false
			}
			n.inner = op
		}
	}
	return n, n.inner != nil && len(n.rings) > 0 && n.known() && !slices.ContainsFunc(n.rings, n.leaks)
}

// exitOf is the branch at the head of a loop that goes on with its first way or breaks in its second, and does nothing else; nil if the loop ends in another way.
func exitOf(loop ir.Flow) *ir.Op {
	breaks := loop.Terminators(ir.BreakFlow)
	returns := false
	ir.Walk(loop.Op, ir.PreOrder, func(op *ir.Op) { returns = returns || op.Code() == tileaa.OpReturn })
	if len(breaks) != 1 || returns {
		return nil
	}
	exit := breaks[0].ParentOp()
	if exit.Code() != tileaa.OpIf || exit.Block() != loop.Op.Body() || exit.NumRegions() != 2 {
		return nil
	}
	for i, r := range exit.Regions() {
		first := r.Front().First()
		if first != r.Front().Terminator() || (first == breaks[0]) != (i == 1) {
			return nil
		}
	}
	for op := loop.Op.Body().First(); op != exit; op = op.Next() {
		if !op.Traits().Has(ir.Pure) {
			return nil
		}
	}
	return exit
}

// known reports whether all that the first copies need is known an iteration of the outer loop ahead, without what that loads.
func (n *nest) known() bool {
	if n.exit != nil && !n.computable(ir.Cast[tileaa.If](n.exit).Cond()) {
		return false
	}
	for _, op := range n.first {
		c, ok := ir.As[tileaa.AsyncCopy](op)
		if !ok {
			continue
		}
		slot, inRing := ir.DefinedBy[tileaa.RingSlot](c.Buffer())
		if !inRing || c.ResultToken().HasUses() || c.Token() != nil && !ir.DefinedOutside(c.Token(), n.flow.Op) {
			return false
		}
		for _, v := range []*ir.Value{slot.Position(), c.Block(), c.When()} {
			if !n.computable(v) {
				return false
			}
		}
	}
	for op := range n.slice { // any of them: the order cannot matter
		if kernel.IsPlainLoad(op) {
			return false
		}
	}
	return true
}

// leaks reports whether others than the first copies and the inner loop use a ring.
func (n *nest) leaks(ring *ir.Op) bool {
	return slices.ContainsFunc(tileaa.MemoryUsers(ring.Result(0)), func(user *ir.Op) bool {
		return user.AncestorIn(n.flow.Op.Body()) != n.inner && user.Code() != tileaa.OpRingSlot && !slices.Contains(n.first, user)
	})
}

// fits gives the lives of buffers where the rings live as long as the outer loop, if shared memory has room for them.
func (n *nest) fits(s *pass.State, list []*memory.LiveInterval, at map[*ir.Op]memory.Extent) (longer []*memory.LiveInterval, ok bool) {
	for _, iv := range list {
		s.Step()
		changed := *iv
		if slices.Contains(n.rings, iv.Op) {
			changed.First, changed.Last = at[n.flow.Op].First, at[n.flow.Op].Last
		}
		longer = append(longer, &changed)
	}
	_, err := memory.PlaceBuffers(s, longer)
	return longer, err == nil
}

// alone reports whether a multiprocessor has one block of an entry: no other one computes while this one stores.
func alone(s *pass.State, entry *ir.Op, list []*memory.LiveInterval) bool {
	plan := tileaa.PlanOf(entry)
	if plan.Launched == 1 {
		return true
	}
	bytes, err := memory.PlaceBuffers(s, list)
	blocks, _ := cost.Occupancy(s.Target, plan.Threads(), plan.MaxReg, bytes)
	return err == nil && blocks == 1
}

// expand begins the first copies of all inner loops but the first where the one before has ended, and those of the first before the outer loop.
func (n *nest) expand(s *pass.State) {
	n.b = ir.NewBuilder(s.Ctx).Before(n.flow.Op)
	for _, ring := range n.rings {
		ring.MoveBefore(n.flow.Op)
	}
	first := ir.Mapping{}
	for _, v := range n.carriedArgs {
		i, _ := n.flow.CarriedIndex(v)
		first[v] = n.flow.Init(i)
	}
	if n.exit == nil {
		first[n.flow.InductionVar()] = n.loop.Lower()
	}
	n.begin(first, n.hasIteration)

	tiles := n.coordinates()
	this, that := n.pass(tiles)
	n.b.After(n.inner)
	next := n.after(ir.Mapping{})
	for i, v := range tiles {
		next[v] = that[i]
	}
	if planted.On("tile-behind") {
		next = ir.Mapping{}
	}
	n.begin(next, func() *ir.Value { return n.moreThan(n.flow.InductionVar(), n.loop.Step()) })
	for _, op := range slices.Backward(n.first) {
		op.Erase()
	}
	if len(tiles) > 0 {
		n.b.Before(n.flow.Op)
		n.compute(first, tiles...)
		second := n.after(first)
		n.compute(second, tiles...)
		end := n.flow.Continues()[0]
		n.b.Before(end)
		third := n.after(next)
		n.compute(third, tiles...)
		inits, passed := []*ir.Value(nil), end.Operands()
		for i, v := range tiles {
			v.ReplaceAllUsesWith(this[i])
			inits, passed = append(inits, first[v]), append(passed, that[i])
		}
		for _, v := range tiles {
			inits, passed = append(inits, second[v]), append(passed, third[v])
		}
		end.SetOperandGroup(0, passed)
		n.flow.Carry(inits)
	}
	for _, op := range slices.Backward(n.inner.Block().Ops()) {
		if (n.slice[op] || op.Code() == tileaa.OpRingSlot) && !op.HasUses() {
			op.Erase()
		}
	}
}

// coordinates are the numbers that took divisions to compute, which tile this is: the outer loop carries those of two iterations, and computes them beside what it
// stores, where they do not hold up the copies.
func (n *nest) coordinates() (list []*ir.Value) {
	divides := map[*ir.Op]bool{}
	for _, op := range n.flow.Op.Body().Ops() {
		if !n.slice[op] {
			continue
		}
		v := op.Result(0)
		divides[op] = op.Code() == tileaa.OpDivi || op.Code() == tileaa.OpRemi ||
			slices.ContainsFunc(op.Operands(), func(v *ir.Value) bool { return divides[v.DefiningOp()] })
		beside := slices.ContainsFunc(v.Uses(), func(u *ir.Use) bool { return !n.slice[u.Owner()] || tileaa.AsTile(u.Owner().Result(0)) == nil })
		if t := tileaa.AsTile(v); divides[op] && t != nil && len(t.Shape) == 0 && beside {
			list = append(list, v)
		}
	}
	return list
}

// pass has the outer loop carry what some values are in this iteration and in the next one.
func (n *nest) pass(values []*ir.Value) (this, next []*ir.Value) {
	body := n.flow.Op.Body()
	for _, v := range values {
		this = append(this, body.AddArg(v.Type()))
	}
	for _, v := range values {
		next = append(next, body.AddArg(v.Type()))
	}
	return this, next
}

// after is the counter of the outer loop in the iteration after another one, and what it carries there.
func (n *nest) after(now ir.Mapping) ir.Mapping {
	next := ir.Mapping{}
	end := n.flow.Continues()[0]
	for _, v := range n.carriedArgs {
		i, _ := n.flow.CarriedIndex(v)
		n.compute(now, end.Operand(i))
		next[v] = now.Lookup(end.Operand(i))
	}
	if n.exit == nil {
		counter := n.flow.InductionVar()
		next[counter] = tileaa.NewAddi(n.b, now.Lookup(counter), n.loop.Step(), tileaa.AddiOptions{}).Result()
	}
	return next
}

// compute makes again what values follow from, as far as a mapping does not have it.
func (n *nest) compute(m ir.Mapping, values ...*ir.Value) {
	n.cloneAll(dependencies(n.slice, mapped(m), values...), m, nil)
}

// begin makes the first copies of the inner loop of an iteration with these values, if it exists: a loop that does not count says that at its exit.
func (n *nest) begin(m ir.Mapping, counted func() *ir.Value) {
	var values []*ir.Value
	if n.exit != nil {
		values = append(values, ir.Cast[tileaa.If](n.exit).Cond())
	}
	for _, op := range n.first {
		if c, ok := ir.As[tileaa.AsyncCopy](op); ok {
			slot, _ := ir.DefinedBy[tileaa.RingSlot](c.Buffer())
			values = append(values, slot.Position(), c.Block())
			if when := c.When(); when != nil {
				values = append(values, when)
			}
		}
	}
	n.compute(m, values...)
	var exists *ir.Value
	if n.exit != nil {
		exists = m.Lookup(values[0])
	} else {
		exists = counted()
	}
	for _, op := range n.first {
		n.b.Loc = op.Loc()
		c, ok := ir.As[tileaa.AsyncCopy](op)
		if !ok {
			tileaa.NewAsyncCommit(n.b)
			continue
		}
		old, _ := ir.DefinedBy[tileaa.RingSlot](c.Buffer())
		slot := tileaa.NewRingSlot(n.b, c.Buffer().Type(), old.Ring(), m.Lookup(old.Position()), old.Ahead()).Result()
		copyAhead(n.b, c, m, slot, c.Token(), exists)
	}
}
