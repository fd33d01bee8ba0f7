package layouts

import (
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// LowerConversions sends through shared memory what registers and shuffles cannot do:
//
//	%y = convert_layout %x             =>   %b = alloc_shared; buffer_store %x, %b; %y = buffer_load %b
//
// and spreads values that only their owner threads have, the results of atomics and of strong loads, to all threads that the
// layout promises them to:
//
//	%old = atomic_rmw ...              =>   %o = atomic_rmw ...; buffer_store %o, %b; %old = buffer_load %b
//
// Barriers between the store and the load come from insert-barriers.
func LowerConversions(s *pass.State) error {
	buffers := map[[2]*tileaa.TileType]buffer{}
	for _, entry := range s.Entries() {
		var list []*ir.Op
		s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
			if op.Code() == tileaa.OpConvertLayout || ir.Is[tileaa.MemoryOp](op) && tileaa.AsTile(op.Result(0)) != nil {
				list = append(list, op)
			}
		})
		for len(list) > 0 {
			s.Step()
			op := list[0]
			list = list[1:]
			switch {
			case op.Code() == tileaa.OpConvertLayout:
				src, dst := tileaa.AsTile(op.Operand(0)), tileaa.AsTile(op.Result(0))
				if layout.Convert(*src.Layout, *dst.Layout).Kind != layout.Shared {
					continue
				}
				between := [2]*tileaa.TileType{src, dst}
				by, known := buffers[between] // pieces of one tile are alike
				if !known {
					by = bufferBetween(s, src, dst)
					buffers[between] = by
				}
				if by.mem.Size()*tileaa.ElemBytes(src.Elem) > maxConversion(s, op) {
					if halves := splitConversion(s, op); halves != nil {
						list = append(halves, list...)
						continue
					}
				}
				places := readers(s, op)
				load := throughShared(s, op, op.Operand(0), op.Result(0), by.mem)
				if by.atom != "" {
					load.SetAtom(by.atom)
				}
				if tileaa.IsProduct(places[0]) {
					readAt(s, load.Op, places)
				}
				op.Erase()
			case op.Result(0).HasUses() && (tileaa.IsStrong(op) || op.Traits().Has(ir.Writes)) && replicated(op.Result(0)):
				t := tileaa.AsTile(op.Result(0))
				throughShared(s, op, op.Result(0), op.Result(0), layout.Strided(layout.Dims(t.Shape), rowMajor(len(t.Shape))))
			}
		}
	}
	return nil
}

// buffer is the memory that a conversion passes through, and the instruction that reads matrices there; "" without.
type buffer struct {
	mem  layout.MemLayout
	atom string
}

// bufferBetween is the best memory between two layouts of a tile.
func bufferBetween(s *pass.State, src, dst *tileaa.TileType) buffer {
	if mem, atom, ok := matrixBuffer(s, *src.Layout, *dst.Layout, tileaa.ElemBits(src.Elem)); ok {
		return buffer{mem, atom}
	}
	return buffer{mem: layout.SharedLayout(*src.Layout, *dst.Layout, tileaa.ElemBytes(src.Elem)).Mem}
}

// readAt moves a read in front of its users, each of which gets its own.
func readAt(s *pass.State, load *ir.Op, users []*ir.Op) {
	load.MoveBefore(users[0])
	for _, user := range users[1:] {
		take(load, user, ir.NewBuilder(s.Ctx).Before(user).Clone(load, ir.Mapping{}).Result(0))
	}
}

// replicated reports whether several threads hold the same element of v.
func replicated(v *ir.Value) bool {
	l := tileaa.LayoutOf(v)
	return l == nil || repeats(*l)
}

// throughShared stores v after op's place and makes all other users of old read it back in old's layout; it returns the read.
func throughShared(s *pass.State, op *ir.Op, v, old *ir.Value, mem layout.MemLayout) tileaa.BufferLoad {
	b := ir.NewBuilder(s.Ctx).After(op)
	b.Loc = op.Loc()
	t := tileaa.AsTile(v)
	buf := tileaa.NewAllocShared(b, tileaa.Buffer(s.Ctx, t.Elem, mem, t.Shape...), tileaa.AllocSharedOptions{}).Result()
	load := tileaa.NewBufferLoad(b, old.Type(), buf, tileaa.BufferLoadOptions{})
	old.ReplaceAllUsesWith(load.Result())
	b.Before(load.Op)
	tileaa.NewBufferStore(b, v, buf, tileaa.BufferStoreOptions{})
	return load
}
