package overlap

import (
	"maps"

	"tileiras/codegen/cost"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// PipelineLoops lets the copies of later iterations run while this one computes. Buffers that a loop fills become rings of S slots, and
// copies are begun S-1 iterations ahead:
//
//	for %i = %lo to %hi {                 %r = alloc_ring                           (S = 3)
//	  %b = alloc_shared                   async_copy %x[%lo], slot 0, when %lo < %hi; async_commit
//	  async_copy %x[%i], %b               async_copy %x[%lo+1], slot 1, when ..;      async_commit
//	  async_commit                        for %i = %lo to %hi inits(%p = 0) {
//	  async_wait 0                   =>     async_wait 1
//	  .. buffer_load %b ..                  async_copy %x[%i+2], slot %p+2, when %i+2 < %hi; async_commit
//	  continue                              .. buffer_load (slot %p) ..
//	}                                       continue (ring_next %p)
//	                                      }
//
// The wait stands where it lets one barrier order everything: the copies of this iteration are visible to all threads after it, and all
// have read the slot that is filled next. insert-barriers proves that, or puts in what is missing. Groups are committed whether their
// copies run or not, so that their number says which ones have landed. There is no loop after the loop: copies that no iteration
// reads are never begun.
//
// What an address follows from is computed S-1 iterations ahead: the counter, and values that the loop carries, which it carries twice
// then; what is loaded for it, one iteration earlier. How many slots there are decides codegen/cost; shared memory that is needed after
// the loop does not grow with them.
func PipelineLoops(s *pass.State) error {
	for _, entry := range s.Entries() {
		for _, loop := range countedLoops(s, entry) {
			if _, rows := kernel.RowLoopOf(s, loop, tileaa.WarpsOf(entry)); rows {
				if p, ok := pipelined(loop); ok {
					prefetchOtherLoads(s, p)
				}
			}
		}
		most, alone, list := 1, false, choices(s, entry)
		for _, c := range list {
			if !c.rings() {
				continue
			}
			if p, ok := pipelined(c.loop); ok {
				p.expand(s, c)
				most, alone = max(most, c.slots), alone || c.blocks == 1
			}
		}
		sumInPlace(s, entry)
		plan := *tileaa.PlanOf(entry)
		plan.Stages = max(plan.Stages, most)
		if alone && plan.MaxReg == 0 { // unasked, ptxas leaves room for more blocks, which there are not
			plan.MaxReg = cost.RegisterLimit(s.Target, plan.Threads(), 1)
		}
		if limit, blocks := registerBound(s, &plan, list); limit > 0 && plan.MaxReg != plan.Registers(limit) {
			plan.MaxReg = limit
			s.Remark(entry.Loc(), "at most %d registers a thread, for %d blocks of a multiprocessor", limit, blocks)
		}
		ir.Cast[tileaa.Entry](entry).SetPlan(&plan)
	}
	return nil
}

// registerShares are the shares of a register limit, in sixths, from which a resident block is in danger of being lost without the limit, by the
// number of blocks that it allows: ptxas takes a fifth more registers than estimated, and half as many again in gradients of attention. A
// second block hides most of what threads wait for; a third hides what two do not; a fourth hides little more, and is not worth spills.
var registerShares = map[int]int{2: 4, 3: 5}

// registerBound is the register limit that keeps the second or third resident block which the loops' choices count on; 0 if they do not, or
// the block is not in danger.
func registerBound(s *pass.State, plan *tileaa.PlanAttr, list []choice) (limit, blocks int) {
	most := 0
	blocks = 3
	for _, c := range list {
		most, blocks = max(most, c.registers), min(blocks, c.blocks)
	}
	if blocks < 2 {
		return 0, blocks
	}
	limit = cost.RegisterLimit(s.Target, plan.Threads(), blocks)
	if limit >= s.Target.RegistersPerThread || 6*most <= registerShares[blocks]*limit {
		return 0, blocks
	}
	return limit, blocks
}

// countedLoops are the loops of an entry that count, those in others first.
func countedLoops(s *pass.State, entry *ir.Op) (loops []*ir.Op) {
	s.Walk(entry, ir.PostOrder, func(op *ir.Op) {
		if op.Code() == tileaa.OpFor {
			loops = append(loops, op)
		}
	})
	return loops
}

// aheadLoop is a loop, and what of it is computed iterations ahead.
type aheadLoop struct {
	loop        tileaa.For // unless it is not counted
	flow        ir.Flow
	allowLoads  bool            // addresses may depend on loads and tiles
	slice       map[*ir.Op]bool // backward slice of the addresses that are computed ahead
	carriedArgs []*ir.Value     // loop-carried arguments that the slice depends on
	order       tokenOrder      // nil until somebody asks
	place       map[*ir.Op]int  // of the ops of the body; nil until somebody asks
}

func newAheadLoop(op *ir.Op, allowLoads bool) *aheadLoop {
	a := &aheadLoop{allowLoads: allowLoads, slice: map[*ir.Op]bool{}}
	a.flow, _ = ir.LoopOf(op)
	a.loop, _ = ir.As[tileaa.For](op)
	return a
}

// attempt is a copy whose slice may grow without that of a.
func (a *aheadLoop) attempt() *aheadLoop {
	with := *a
	with.slice = maps.Clone(a.slice)
	return &with
}

// pipeline is a loop whose copies can be software-pipelined.
type pipeline struct {
	*aheadLoop
	copies []tileaa.AsyncCopy
	tokens [][]*ir.Value // by copy: the tokens from outside of the loop that it comes after
}

// pipelined reports whether every copy of a loop can be begun iterations ahead: it is directly in the body, fills a buffer of the iteration
// that is otherwise only read afterwards, its address is computable ahead from the induction variable and loop-carried values, and nothing
// that the loop writes comes before it.
func pipelined(op *ir.Op) (p *pipeline, ok bool) {
	p = &pipeline{aheadLoop: newAheadLoop(op, true)}
	if len(p.flow.Continues()) != 1 {
		return nil, false
	}
	nested := false
	ir.Walk(op, ir.PreOrder, func(o *ir.Op) {
		switch o.Code() {
		case tileaa.OpAsyncCopy:
			p.copies = append(p.copies, ir.Cast[tileaa.AsyncCopy](o))
			fallthrough
		case tileaa.OpAsyncCommit, tileaa.OpAsyncWait:
			nested = nested || o.Block() != op.Body()
		}
	})
	if nested {
		return nil, false
	}
	for _, c := range p.copies {
		tokens, free := p.comesAfter(c.Token())
		if !free || !p.filledOnce(c.Op, c.Buffer()) || !p.computable(c.Block()) || !p.computable(c.When()) {
			return nil, false
		}
		p.tokens = append(p.tokens, tokens)
	}
	return p, len(p.copies) > 0
}

// filledOnce reports whether a buffer is allocated in the loop's body and only read after fill, the one op that writes it.
func (p *aheadLoop) filledOnce(fill *ir.Op, buffer *ir.Value) bool {
	alloc := buffer.DefiningOp()
	body := p.loop.Op.Body()
	if alloc == nil || alloc.Block() != body || alloc.Code() != tileaa.OpAllocShared || fill.Block() != body {
		return false
	}
	if p.place == nil {
		p.place = map[*ir.Op]int{}
		for n, op := range body.Ops() {
			p.place[op] = n
		}
	}
	for _, user := range tileaa.BufferUsers(buffer) {
		if user == fill {
			continue
		}
		if tileaa.Touches(user, ir.Write, tileaa.SharedSpace) {
			return false
		}
		if p.place[user.AncestorIn(body)] < p.place[fill] {
			return false
		}
	}
	return true
}

// computable reports whether a value can be computed iterations ahead, and adds what computes it to the slice.
func (p *aheadLoop) computable(v *ir.Value) bool {
	a := kernel.NewAheadSlice(p.flow.Op)
	a.AllowLoads, a.Ops, a.CarriedArgs = p.allowLoads, p.slice, p.carriedArgs
	ok := a.Computable(v)
	p.carriedArgs = a.CarriedArgs
	return ok
}
