package layouts

import (
	"slices"

	"tileiras/codegen/cost"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/facts"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// This file sends through shared memory what loops without products load for tiles whose elements meet, as the rows of a norm: copies can begin iterations ahead,
// where a load makes all warps wait for memory in each.
//
//	for %i {                                     for %i {
//	  %t = tiled_load %x[%i]                       %b = alloc_shared; async_copy %x[%i], %b; async_commit
//	  .. reduce %t ..; tiled_store           =>    async_wait 0
//	}                                              %t = buffer_load %b
//	                                               .. reduce %t ..; tiled_store
//	                                             }
//
// A thread reads what it has copied itself, in the layout of the load.

// rowLoops are the loops of which loads become such copies.
type rowLoops struct {
	s         *pass.State
	known     *facts.Facts
	order     ir.Order
	loads     map[*ir.Op][]rowLoad // by loop
	staged    map[*ir.Op][]rowLoad // of loops with one product: loads that a factor is computed from
	registers map[*ir.Op][]rowLoad // of loops with products: small loads that threads read back into registers
}

// rowLoad is a load, and how it is copied.
type rowLoad struct {
	load *ir.Op
	way  copyWay
}

// of are the loads of a loop that become copies: those that can be begun iterations ahead, in accesses that are not too narrow, if shared memory has room for two
// slots of all of them.
func (r *rowLoops) of(loop *ir.Op) (list []rowLoad) {
	f, counts := ir.As[tileaa.For](loop)
	if !counts || f.Remainder() { // few iterations, if any
		return nil
	}
	if list, known := r.loads[loop]; known {
		return list
	}
	defer func() { r.loads[loop] = list }()
	flow, _ := ir.LoopOf(loop)
	if len(flow.Continues()) != 1 {
		return nil
	}
	rows, ok := kernel.RowLoopOf(r.s, loop, tileaa.WarpsOf(loop))
	if !ok {
		return nil
	}
	for op := loop.Body().First(); op != nil; op = op.Next() {
		r.s.Step()
		if l, ok := r.copied(op, minCopy); ok {
			list = append(list, l)
			rows.CopiedBytes += kernel.LoadedBytes(op)
		}
	}
	for n := 1; n <= cost.MaxSlots; n++ {
		rows.SharedBytes = append(rows.SharedBytes, n*rows.CopiedBytes)
	}
	slots := rows.Slots(r.s.Target)
	if trips, known := tileaa.TripCount(loop); slots == 1 || known && trips < uint64(2*slots) { // most of the time they would begin
		return nil
	}
	return list
}

// copied is how a load can become a copy, of at least so many bytes at a time.
func (r *rowLoops) copied(load *ir.Op, least int) (l rowLoad, ok bool) {
	if !kernel.IsPlainLoad(load) || !tileaa.IsRanked(load.Result(0)) || !load.Result(0).HasUses() || !kernel.CanCopyAsync(r.known, load) || !kernel.CanPrefetch(load) {
		return l, false
	}
	src := *tileaa.LayoutOf(load.Result(0))
	width, wide := copyWidth(r.s, load, &src)
	bytes := tileaa.ElemBytes(tileaa.AsTile(load.Result(0)).Elem)
	l = rowLoad{load, copyWay{src, width, rowBuffer(src, bytes, 0, 0, 0)}}
	return l, wide && l.way.mem.MaxVec(src, width) == width && width*bytes >= least
}

// minCopy is the fewest bytes at a time that are worth the instructions of a copy, minStagedCopy the fewest that cp.async can move.
const minCopy, minStagedCopy = 8, 4

// find is how a load becomes such a copy, if it is one of them.
func (r *rowLoops) find(c *copiedLoad) (l rowLoad, ok bool) {
	list := r.stagedOf(c.load.ParentOp())
	if c.asItIs() {
		list = slices.Concat(list, r.of(c.load.ParentOp()), r.registerCopies(c.load.ParentOp()))
	}
	i := slices.IndexFunc(list, func(l rowLoad) bool { return l.load == c.load })
	if i < 0 {
		return l, false
	}
	return list[i], true
}

// copy makes the load a copy.
func (l rowLoad) copy(s *pass.State, order ir.Order) {
	c := copiedLoad{load: l.load, order: order}
	for _, u := range order.Uses(l.load.Result(0)) {
		c.otherUsers = append(c.otherUsers, u.Owner())
	}
	c.copy(s, l.way)
}
