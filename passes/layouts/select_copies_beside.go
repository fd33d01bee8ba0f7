package layouts

import (
	"tileiras/codegen/cost"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
)

// This file gives a ring to the few elements of a thread that it computes with beside products of warpgroups or the tensor unit, as the scales of blocks are. stage-loads
// would begin their loads an iteration ahead, into registers; from further ahead they would have to be moved there, and moves wait. Where an iteration is shorter than
// the way to memory, copies begin earlier, with those for the products:
//
//	for %i {                                     for %i {
//	  %s = tiled_load %scale[%i]                   %b = alloc_shared; async_copy %scale[%i], %b; async_commit
//	  %d = dot ..                          =>      async_wait 0
//	  .. fma %d, %s, %sum ..                       %s = buffer_load %b
//	}                                              %d = dot ..
//	                                               .. fma %d, %s, %sum ..
//	                                             }

// fewBeside is the registers of a thread up to which a load becomes such a copy: it reads them once more.
const fewBeside = 2

// besideOf are the loads of a loop that become such copies.
func (r *rowLoops) besideOf(loop *ir.Op) (list []rowLoad) {
	if list, known := r.beside[loop]; known {
		return list
	}
	defer func() { r.beside[loop] = list }()
	f, counts := ir.As[tileaa.For](loop)
	if !counts || f.Remainder() || !kernel.Multiplies(loop) {
		return nil
	}
	if flow, _ := ir.LoopOf(loop); len(flow.Continues()) != 1 {
		return nil
	}
	l := kernel.Loop(r.s, loop, tileaa.WarpsOf(loop), 0, kernel.TilingOf, func(op *ir.Op) int { return kernel.Pointers(op, false) })
	if !l.InUnit() || cost.LoadCycles(r.s.Target, l) == 0 {
		return nil
	}
	for op := loop.Body().First(); op != nil; op = op.Next() {
		r.s.Step()
		if !kernel.IsPlainLoad(op) || kernel.RegistersOf(op.Result(0)) > fewBeside {
			continue
		}
		if l, ok := r.copied(op, leastStaged); ok {
			list = append(list, l)
		}
	}
	return list
}
