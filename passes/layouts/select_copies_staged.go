package layouts

import (
	"tileiras/codegen/atom"
	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
)

// This file gives a ring to loads that a product takes by way of registers, because they are converted or transposed there. stage-loads begins such loads an
// iteration ahead, and registers have no room for more: where an iteration is shorter than the way to memory, warps wait. Copies begin as many ahead as they like:
//
//	for %i {                                     for %i {
//	  %t = tiled_load %x[%i]                       %r = alloc_shared; async_copy %x[%i], %r; async_commit
//	  %b = alloc_shared                            async_wait 0
//	  buffer_store (ftof %t), %b             =>    %t = buffer_load %r
//	  .. dot %b ..                                 %b = alloc_shared; buffer_store (ftof %t), %b
//	}                                              .. dot %b ..
//	                                             }
//
// A thread reads what it has copied itself, in the layout of the load. It stores and reads twice what it stored once, and the product waits for it: that must be worth it.

// stagedOf are the loads of a loop with one product that become such copies.
func (r *rowLoops) stagedOf(loop *ir.Op) (list []rowLoad) {
	if list, known := r.staged[loop]; known {
		return list
	}
	defer func() { r.staged[loop] = list }()
	product, tiling, ok := onlyProduct(loop)
	if !ok {
		return nil
	}
	var raw, stored int // bytes of an iteration
	for _, v := range product.Operands()[:2] {
		for _, load := range r.loadsFor(v, loop) {
			c := copiedLoad{load: load, order: r.order}
			if _, ok := c.asyncBuffer(r.s, r.known); ok {
				continue
			}
			l, ok := r.copied(load, minStagedCopy)
			if !ok {
				return nil
			}
			list, raw = append(list, l), raw+kernel.LoadedBytes(load)
			stored += int(tileaa.AsTile(load.Result(0)).NumElements()) * cost.Bytes(tiling.Atom.A.Bits())
		}
	}
	if len(list) == 0 || !r.ringPays(loop, product, raw, stored) {
		return nil
	}
	return list
}

// onlyProduct is the product of a loop that has one, and how warps share it, if the matrix unit computes it.
func onlyProduct(loop *ir.Op) (product *ir.Op, t atom.Tiling, ok bool) {
	if loop.Code() != tileaa.OpFor {
		return nil, t, false
	}
	flow, _ := ir.LoopOf(loop)
	for _, op := range loop.Body().Ops() {
		if tileaa.IsProduct(op) {
			if product != nil {
				return nil, t, false
			}
			product = op
		}
	}
	if product == nil {
		return nil, t, false
	}
	t, ok = kernel.TilingOf(product)
	return product, t, ok && len(flow.Continues()) == 1 && !t.Atom.Scalar()
}

// loadsFor are the loads of a loop that a factor is computed from.
func (r *rowLoops) loadsFor(factor *ir.Value, loop *ir.Op) (list []*ir.Op) {
	seen := map[*ir.Op]bool{}
	var visit func(v *ir.Value)
	visit = func(v *ir.Value) {
		r.s.Step()
		op := v.DefiningOp()
		if op == nil || op.Block() != loop.Body() || seen[op] {
			return
		}
		seen[op] = true
		switch {
		case op.Code() == tileaa.OpAllocShared:
			for _, user := range tileaa.BufferUsers(v) {
				if st, ok := ir.As[tileaa.BufferStore](user); ok {
					visit(st.Value())
				}
			}
		case !kernel.IsPlainLoad(op):
			for _, o := range op.Operands() {
				visit(o)
			}
		case tileaa.IsRanked(op.Result(0)):
			list = append(list, op)
		}
	}
	visit(factor)
	return list
}

// stagedBytes is the bytes of a thread in an iteration from which on a ring is worth its instructions.
const stagedBytes = 16

// ringPays reports whether it pays that loads which pass through registers are first copied to a ring: raw bytes in an iteration, that
// become stored bytes in shared memory.
func (r *rowLoops) ringPays(loop, product *ir.Op, raw, stored int) bool {
	plan := tileaa.PlanOf(tileaa.EntryOf(loop))
	if raw < stagedBytes*layout.WarpSize*plan.Warps {
		return false
	}
	sums := kernel.RegistersOf(product.Result(0))
	l := kernel.Loop(r.s, loop, plan.Warps, sums, kernel.TilingOf, func(op *ir.Op) int { return kernel.RegistersPerAccess(op, false) })
	l.LaunchedBlocks = plan.Launched
	l.Registers = sums + kernel.StagingReserve + raw/(4*layout.WarpSize*plan.Warps)
	for n := 1; n <= cost.MaxSlots; n++ {
		l.SharedBytes = append(l.SharedBytes, n*l.CopiedBytes+stored)
	}
	return l.RingBeatsPrefetch(r.s.Target, raw, 2*(l.CopiedBytes-raw+stored))
}
