package overlap

import (
	"slices"

	"tileiras/codegen/cost"
	"tileiras/codegen/planted"
	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// UnrollLoops makes several iterations of a loop without products one, which loads for all of them before it computes, so that enough
// bytes are on their way to hide the latency of memory. What is left over is a loop as before.
//
//	for %i = %lo to %hi step %s {      %n = number of iterations; %m = %n - %n % 4
//	  %t = tiled_load %x[%i]           for %c = 0 to %m step 4 {
//	  %a' = addf %a, %t                  %i0 = %lo + %c * %s; %i1 = %i0 + %s; ..
//	  continue %a'                =>     %t0 = tiled_load %x[%i0]; %t1 = tiled_load %x[%i1]; ..
//	}                                    %a0 = addf %a, %t0; %a1 = addf %a0, %t1; ..
//	                                     continue %a3
//	                                   }
//	                                   for %c = %m to %n step 1 { .. }
//
// A load may go before the rest of the iterations around it when it is weak, comes by its token after nothing that the loop writes, and is
// addressed by pure operations on the counter, on what other such loads bring, and on carried values that follow from the like. All
// iterations that are made one run to their end: the loop has no other exit, and nothing in it can stop the kernel. Without a path of
// tokens two accesses have no order, and paths through the load stay (token_paths.go), so no more is needed.
//
// Iterations are counted from 0, because a counter that goes in steps of four may not fit its type where one in single steps does.
func UnrollLoops(s *pass.State) error {
	for _, entry := range s.Entries() {
		most := 0 // registers that a loop that is unrolled asks for
		for _, loop := range countedLoops(s, entry) {
			if !unrollable(s, loop) {
				continue
			}
			u := newUnrolling(s, loop)
			d := u.demand(s, entry)
			if f := d.Unroll(s.Target); f > 1 {
				u.unroll(s, f)
				most = max(most, d.RegistersWith(f))
			}
		}
		if plan := *tileaa.PlanOf(entry); most > 0 && plan.MaxReg == 0 {
			// Unasked, ptxas takes so few registers that loads wait for what those before them brought.
			if d := kernel.DemandsOf(s, entry); d.AccumulatorBits > 0 { // as other loops ask for
				most = max(most, d.Accumulators(plan.Warps)+kernel.AddressRegisters)
			}
			plan.MaxReg = cost.UnrolledRegisters(s.Target, plan.Warps, most)
			ir.Cast[tileaa.Entry](entry).SetPlan(&plan)
		}
	}
	return nil
}

// unrollable reports whether all iterations of a loop run to their end, one after the other, and it is an innermost one without products
// and copies.
func unrollable(s *pass.State, loop *ir.Op) bool {
	flow, _ := ir.LoopOf(loop)
	ok := !ir.Cast[tileaa.For](loop).Remainder() && len(flow.Continues()) == 1 && flow.Continues()[0].Block() == loop.Body()
	s.Walk(loop, ir.PreOrder, func(op *ir.Op) {
		if op == loop {
			return
		}
		switch op.Code() {
		case tileaa.OpFor, tileaa.OpLoop, tileaa.OpReturn, tileaa.OpAsyncCopy, tileaa.OpAsyncCommit, tileaa.OpAsyncWait, tileaa.OpAlloca:
			ok = false
		}
		outside := slices.ContainsFunc(tileaa.Effects(op), func(e tileaa.Effect) bool { return e.Space == tileaa.Outside })
		ok = ok && !outside && !tileaa.IsProduct(op)
	})
	return ok
}

// unrolling is the work on one loop.
type unrolling struct {
	rewriting
	loads    map[*ir.Op][]*ir.Value // loads to hoist, with the tokens from outside of the loop that they come after
	early    map[*ir.Op]int         // they and their address slices: the length of the chain of loads that each depends on
	maxDepth int                    // the longest such chain
	factor   int
}

// newUnrolling finds the loads that can go first.
func newUnrolling(s *pass.State, op *ir.Op) *unrolling {
	u := &unrolling{rewriting: rewriting{aheadLoop: newAheadLoop(op, false)}, loads: map[*ir.Op][]*ir.Value{}, early: map[*ir.Op]int{}}
	a := addressing{u, u.waiting(s), map[*ir.Value]int{}, map[*ir.Value]bool{}}
	for o := op.Body().First(); o != nil; o = o.Next() {
		s.Step()
		load := kernel.IsPlainLoad(o) && !tileaa.IsStrong(o)
		if !load && !o.MovesFreely() {
			continue
		}
		deep, ok := a.depthOf(o)
		switch {
		case !ok:
		case !load:
			for _, r := range o.Results() {
				a.depth[r] = deep
			}
		default:
			if tokens, free := u.comesAfter(tileaa.TokenBefore(o)); free || planted.On("load-past-store") {
				a.depth[o.Result(0)] = deep + 1
				u.loads[o], u.maxDepth = tokens, max(u.maxDepth, deep)
				a.first(o, deep)
			}
		}
	}
	return u
}

// waiting are the values of the body that follow from more than the counter and other carried values: what goes from one iteration to the next
// may not follow from loads, or those of all iterations would wait for each other.
func (u *unrolling) waiting(s *pass.State) map[*ir.Value]bool {
	waits, body := map[*ir.Value]bool{}, u.loop.Op.Body()
	var work []*ir.Value
	add := func(list ...*ir.Value) {
		for _, v := range list {
			if !waits[v] {
				waits[v] = true
				work = append(work, v)
			}
		}
	}
	for op := body.First(); op != nil; op = op.Next() {
		if !op.MovesFreely() {
			add(op.Results()...)
		}
	}
	for len(work) > 0 {
		v := work[len(work)-1]
		work = work[:len(work)-1]
		for _, use := range v.Uses() {
			s.Step()
			switch op := use.Owner(); {
			case op.Block() != body:
			case op == body.Terminator():
				add(u.flow.Carried()[use.Index()])
			default:
				add(op.Results()...)
			}
		}
	}
	return waits
}

// addressing finds what can be computed before the rest of the body, and after how many loads that wait for each other.
type addressing struct {
	*unrolling
	waits    map[*ir.Value]bool
	depth    map[*ir.Value]int  // of results that can
	followed map[*ir.Value]bool // carried values whose next ones go first
}

// depthOf reports whether the operands of an op but for tokens can be computed before the rest of the body, and after how many loads.
func (a *addressing) depthOf(op *ir.Op) (deep int, ok bool) {
	for _, v := range op.Operands() {
		if tileaa.IsToken(v) || ir.DefinedOutside(v, a.loop.Op) || v == a.flow.InductionVar() {
			continue
		}
		n, known := a.depth[v]
		if _, carried := a.flow.CarriedIndex(v); carried {
			n, known = 0, !a.waits[v]
		}
		if !known {
			return 0, false
		}
		deep = max(deep, n)
	}
	return deep, true
}

// first has an op, and what its operands but for tokens follow from, in this iteration and those before, go first.
func (a *addressing) first(op *ir.Op, deep int) {
	if _, known := a.early[op]; known {
		return
	}
	a.early[op] = deep
	for _, v := range op.Operands() {
		if tileaa.IsToken(v) {
			continue
		}
		for i, carried := a.flow.CarriedIndex(v); carried && !a.followed[v]; i, carried = a.flow.CarriedIndex(v) {
			a.followed[v] = true
			v = a.flow.Continues()[0].Operand(i)
		}
		if from := v.DefiningOp(); from != nil && from.Block() == a.loop.Op.Body() && from.MovesFreely() {
			a.first(from, a.depth[from.Result(0)])
		}
	}
}

// demand is what the loop asks of a thread.
func (u *unrolling) demand(s *pass.State, entry *ir.Op) cost.Loads {
	plan := tileaa.PlanOf(entry)
	l := cost.Loads{Warps: plan.Warps, Limit: plan.MaxReg, OtherRegisters: unrollReserve, Trips: -1}
	if n, ok := tileaa.TripCount(u.loop.Op); ok {
		l.Trips = int(min(n, 1<<16))
	}
	for _, v := range u.flow.Carried() {
		l.OtherRegisters += max(1, kernel.RegistersOf(v))
	}
	for op := range u.loads { // a sum: the order cannot matter
		v := op.Result(0)
		l.Registers += max(1, kernel.RegistersOf(v))
		if t := tileaa.LayoutOf(v); t != nil {
			l.Bytes += cost.ThreadBytes(*t, tileaa.ElemBits(tileaa.AsTile(v).Elem))
		} else {
			l.Bytes += tileaa.ElemBytes(tileaa.AsTile(v).Elem)
		}
	}
	l.Issue = kernel.Loop(s, u.loop.Op, plan.Warps, 0, nil, func(*ir.Op) int { return 0 }).Issue / plan.Warps
	return l
}

// unrollReserve is the registers for addresses, bounds and what an iteration computes.
const unrollReserve = 24

// unroll replaces the loop by one of so many iterations at a time, and one of the rest.
func (u *unrolling) unroll(s *pass.State, factor int) {
	u.factor, u.b = factor, ir.NewBuilder(s.Ctx).Before(u.loop.Op)
	u.b.Loc = u.loop.Op.Loc()
	var loads []*ir.Op
	for _, op := range u.loop.Op.Body().Ops() {
		if _, ok := u.loads[op]; ok {
			loads = append(loads, op)
		}
	}
	keepPaths(s.Ctx, u.loop.Op, loads)
	t := tileaa.AsTile(u.loop.Lower())
	trips := u.trips(t)
	whole := u.wholeRounds(t, trips)
	loop := func(lower, upper *ir.Value, step int, inits []*ir.Value) tileaa.For { // without a body
		return tileaa.NewFor(u.b, ir.TypesOf(inits), lower, upper, tileaa.Const(u.b, t, int64(step)), inits, tileaa.ForOptions{Unsigned: true})
	}
	zero := tileaa.Const(u.b, t, 0)
	main := loop(zero, whole, factor, u.loop.Inits())
	u.fill(main)
	u.b.After(main.Op)
	results := main.Op.Results()
	if after, ok := u.remainder(); ok {
		after.SetLower(u.counter(whole))
		after.SetInits(results)
		u.loop.Op.Erase()
		return
	}
	if n, ok := tileaa.TripCount(u.loop.Op); !ok || n%uint64(factor) != 0 {
		from := whole
		if planted.On("unrolled-rest") {
			from = tileaa.NewAddi(u.b, whole, tileaa.Const(u.b, t, 1), tileaa.AddiOptions{}).Result() // one iteration is left out
		}
		rest := loop(from, trips, 1, results)
		rest.Op.Region(0).TakeBlocks(u.loop.Op.Region(0))
		count := rest.Op.Body().Arg(0)
		u.b.AtStart(rest.Op.Body())
		if i := u.counter(count); i != count {
			count.ReplaceAllUsesWith(i)
			rest.Op.Body().First().SetOperand(0, count)
		}
		results = rest.Op.Results()
	}
	for i, r := range u.loop.Op.Results() {
		results[i].NameHint = r.NameHint
		r.ReplaceAllUsesWith(results[i])
	}
	u.loop.Op.Erase()
}

// remainder is the next loop, if it goes on where this one ends and can do what is left over, too.
func (u *unrolling) remainder() (rest tileaa.For, ok bool) {
	for op := u.loop.Op.Next(); op != nil && !ok; op = op.Next() {
		rest, ok = ir.As[tileaa.For](op)
	}
	ok = ok && rest.Remainder() && rest.Lower() == u.loop.Upper() && slices.Equal(rest.Inits(), u.loop.Op.Results())
	for _, r := range u.loop.Op.Results() {
		ok = ok && r.HasOneUse()
	}
	return rest, ok && tileaa.IsSplatOf(u.loop.Step(), 1) && tileaa.IsSplatOf(rest.Step(), 1)
}

// trips is the number of iterations, a number without sign.
func (u *unrolling) trips(t *tileaa.TileType) *ir.Value {
	if n, ok := tileaa.TripCount(u.loop.Op); ok {
		return tileaa.Const(u.b, t, int64(n))
	}
	one := tileaa.Const(u.b, t, 1)
	zero := tileaa.Const(u.b, t, 0)
	runs := u.hasIteration()
	n := u.loop.Upper()
	if !tileaa.IsSplatOf(u.loop.Lower(), 0) {
		n = tileaa.NewSubi(u.b, n, u.loop.Lower(), tileaa.SubiOptions{}).Result()
	}
	if !tileaa.IsSplatOf(u.loop.Step(), 1) {
		n = tileaa.NewSubi(u.b, n, one, tileaa.SubiOptions{}).Result()
		n = tileaa.NewDivi(u.b, n, u.loop.Step(), def.Unsigned, def.RoundZero).Result()
		n = tileaa.NewAddi(u.b, n, one, tileaa.AddiOptions{}).Result()
	}
	return tileaa.NewSelect(u.b, runs, n, zero).Result()
}

// wholeRounds is the iterations of the unrolled loop.
func (u *unrolling) wholeRounds(t *tileaa.TileType, trips *ir.Value) *ir.Value {
	if n, ok := tileaa.TripCount(u.loop.Op); ok {
		return tileaa.Const(u.b, t, int64(n-n%uint64(u.factor)))
	}
	return tileaa.NewAndi(u.b, trips, tileaa.Const(u.b, t, -int64(u.factor))).Result()
}

// counter is what the loop counts in iteration n.
func (u *unrolling) counter(n *ir.Value) *ir.Value {
	if !tileaa.IsSplatOf(u.loop.Step(), 1) {
		n = tileaa.NewMuli(u.b, n, u.loop.Step(), tileaa.MuliOptions{}).Result()
	}
	if !tileaa.IsSplatOf(u.loop.Lower(), 0) {
		n = tileaa.NewAddi(u.b, n, u.loop.Lower(), tileaa.AddiOptions{}).Result()
	}
	return n
}

// fill makes the body of the unrolled loop: what goes first of all iterations, then the rest of each.
func (u *unrolling) fill(main tileaa.For) {
	old, body := u.loop.Op.Body(), main.Op.Region(0).AddBlock()
	for _, a := range old.Args() {
		body.AddArg(a.Type())
	}
	end := old.Terminator()
	u.b.AtStart(body)
	tokens := map[*ir.Op]*ir.Value{}
	wraps := def.NoSignedWrap // for all iterations of a round there are
	if n, ok := tileaa.SplatInt(u.loop.Lower()); u.loop.Unsigned() {
		wraps = def.NoUnsignedWrap
	} else if ok && n >= 0 {
		wraps = def.NoWrap
	}
	rounds := make([]ir.Mapping, u.factor)
	for k := range rounds {
		rounds[k] = ir.Mapping{}
		if k == 0 {
			rounds[k][old.Arg(0)] = u.counter(body.Arg(0))
		} else {
			rounds[k][old.Arg(0)] = tileaa.NewAddi(u.b, rounds[k-1][old.Arg(0)], u.loop.Step(), tileaa.AddiOptions{Overflow: wraps}).Result()
		}
	}
	insert := func(op *ir.Op, m ir.Mapping) {
		c := u.b.Clone(op, m)
		if before, load := u.loads[op]; load && tileaa.TokenBefore(op) != nil {
			if tokens[op] == nil {
				tokens[op] = u.outside(main, before)
			}
			access, _ := ir.As[tileaa.TokenOp](c)
			access.SetToken(tokens[op])
		}
	}
	for stage := range u.maxDepth + 2 { // the last one is what waits for the rest
		for k, m := range rounds {
			u.enter(body, rounds, k)
			for op := old.First(); op != end; op = op.Next() {
				deep, early := u.early[op]
				if !early {
					deep = u.maxDepth + 1
				}
				if deep == stage {
					insert(op, m)
				}
			}
		}
	}
	u.b.Clone(end, rounds[u.factor-1])
}

// enter maps what iteration k of an unrolled round starts with, as far as it exists: the round's loop-carried values, or what the iteration
// before passes on.
func (u *unrolling) enter(body *ir.Block, rounds []ir.Mapping, k int) {
	end := u.loop.Op.Body().Terminator()
	for i, v := range u.flow.Carried() {
		if k == 0 {
			rounds[0][v] = body.Arg(v.Index())
			continue
		}
		next := end.Operand(i)
		if to, made := rounds[k-1][next]; made || ir.DefinedOutside(next, u.loop.Op) {
			if !made {
				to = next
			}
			rounds[k][v] = to
		}
	}
}

// outside joins tokens in front of the loop.
func (u *unrolling) outside(main tileaa.For, tokens []*ir.Value) *ir.Value {
	block, at := u.b.Place()
	defer u.b.SetPlace(block, at)
	return tileaa.JoinTokens(u.b.Before(main.Op), tokens)
}
