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
	if !loadsLate(r.s, loop) {
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

// loadsLate reports whether loads that begin an iteration ahead come late in a loop with products of warpgroups or the tensor unit.
func loadsLate(s *pass.State, loop *ir.Op) bool {
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

// rankScalars has loops in which loads come late load single floats as tiles of one element, which copies can bring.
func rankScalars(s *pass.State) {
	var loads []tileaa.Load
	late := map[*ir.Op]bool{}
	s.Walk(s.Module, ir.PreOrder, func(op *ir.Op) {
		l, ok := ir.As[tileaa.Load](op)
		if !ok || tileaa.IsRanked(l.Result()) || tileaa.IsStrong(op) || !ir.IsFloat(tileaa.AsTile(l.Result()).Elem, float.F32) || !kernel.CanPrefetch(op) || !tileaa.ZeroFilled(op) {
			return
		}
		loop := op.ParentOp()
		if _, known := late[loop]; !known {
			late[loop] = loadsLate(s, loop)
		}
		if late[loop] {
			loads = append(loads, l)
		}
	})
	for _, l := range loads {
		rankScalar(s, l)
	}
}

// rankScalar puts in the place of a load of a scalar one of a tile that every thread holds.
func rankScalar(s *pass.State, l tileaa.Load) {
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
