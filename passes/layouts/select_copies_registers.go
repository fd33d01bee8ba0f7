package layouts

import (
	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/ir/float"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// This file gives a ring to loads of few elements of a thread that threads compute with beside wgmma or the tensor unit, as block scales are. Otherwise stage-loads
// prefetches them by one iteration, into registers; a longer distance would take moves between registers, which wait for the loads. Where an iteration is shorter than
// the latency of memory, copies begin earlier, with those for the products:
//
//	for %i {                                     for %i {
//	  %s = tiled_load %scale[%i]                   %b = alloc_shared; async_copy %scale[%i], %b; async_commit
//	  %d = dot ..                          =>      async_wait 0
//	  .. fma %d, %s, %sum ..                       %s = buffer_load %b
//	}                                              %d = dot ..
//	                                               .. fma %d, %s, %sum ..
//	                                             }

// maxCopiedRegisters is the registers of a thread up to which such a load becomes a copy: reading it back from shared memory costs as many
// loads again.
const maxCopiedRegisters = 2

// registerCopies are the loads of a loop that become such copies.
func (r *rowLoops) registerCopies(loop *ir.Op) (list []rowLoad) {
	if list, known := r.registers[loop]; known {
		return list
	}
	defer func() { r.registers[loop] = list }()
	if !loadsStall(r.s, loop) {
		return nil
	}
	for op := loop.Body().First(); op != nil; op = op.Next() {
		r.s.Step()
		if !kernel.IsPlainLoad(op) || kernel.RegistersOf(op.Result(0)) > maxCopiedRegisters {
			continue
		}
		if l, ok := r.copied(op, minStagedCopy); ok {
			list = append(list, l)
		}
	}
	return list
}

// loadsStall reports whether a prefetch by one iteration does not hide the latency of loads in a loop with products of warpgroups or the
// tensor unit.
func loadsStall(s *pass.State, loop *ir.Op) bool {
	f, counts := ir.As[tileaa.For](loop)
	if !counts || f.Remainder() || !kernel.Multiplies(loop) {
		return false
	}
	if flow, _ := ir.LoopOf(loop); len(flow.Continues()) != 1 {
		return false
	}
	l := kernel.Loop(s, loop, tileaa.WarpsOf(loop), 0, kernel.TilingOf, func(op *ir.Op) int { return kernel.RegistersPerAccess(op, false) })
	return l.MultipliesAsync() && cost.ExposedLoadCycles(s.Target, l) > 0
}

// scalarsToTiles turns scalar f32 loads of loops where loads stall into loads of one-element tiles, which copies can bring.
func scalarsToTiles(s *pass.State) {
	var loads []tileaa.Load
	late := map[*ir.Op]bool{}
	s.WalkRoots(ir.PreOrder, func(op *ir.Op) {
		l, ok := ir.As[tileaa.Load](op)
		if !ok || tileaa.IsRanked(l.Result()) || tileaa.IsStrong(op) || !ir.IsFloat(tileaa.AsTile(l.Result()).Elem, float.F32) || !tileaa.ZeroFilled(op) {
			return
		}
		loop := op.ParentOp()
		if _, known := late[loop]; !known {
			late[loop] = loadsStall(s, loop)
		}
		if late[loop] && kernel.CanPrefetch(op) {
			loads = append(loads, l)
		}
	})
	for _, l := range loads {
		scalarToTile(s, l)
	}
}

// scalarToTile replaces a scalar load by a load of a one-element tile that every thread holds.
func scalarToTile(s *pass.State, l tileaa.Load) {
	b := ir.NewBuilder(s.Ctx).Before(l.Op)
	b.Loc = l.Op.Loc()
	ranked := func(v *ir.Value) *ir.Value {
		t := tileaa.Tile(s.Ctx, tileaa.AsTile(v).Elem, 1).WithLayout(s.Ctx, layout.Uniform([]int{1}, tileaa.WarpsOf(l.Op)))
		return tileaa.NewSplat(b, t, v).Result()
	}
	one, first := int64(1), int64(0)
	ptr := ranked(l.Ptr())
	t := tileaa.AsTile(ptr).WithElem(s.Ctx, tileaa.AsTile(l.Result()).Elem)
	options := tileaa.LoadOptions{Token: l.Token(), Vec: &one, Fast: &first}
	if l.Mask() != nil {
		options.Mask, options.Padding = ranked(l.Mask()), tileaa.NewConstant(b, t, tileaa.SplatOf(t, 0)).Result()
	}
	loaded := tileaa.NewLoad(b, t, ptr, options)
	l.Result().ReplaceAllUsesWith(tileaa.NewReshape(b, l.Result().Type(), loaded.Result()).Result())
	l.ResultToken().ReplaceAllUsesWith(loaded.ResultToken())
	l.Op.Erase()
}
