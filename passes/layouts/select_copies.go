package layouts

import (
	"tileiras/codegen/atom"
	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// select-copies sends loads that only feed the matrix unit straight to shared memory, past the registers:
//
//	%t = tiled_load %block                      %b = alloc_shared                       (swizzled)
//	%a = convert_layout %t : -> #mma_a    =>         async_copy %block, %b; async_commit
//	     dot %a, ..                                  async_wait 0
//	                                            %a = buffer_load %b                     (ldmatrix)
//	                                                 dot %a, ..
//
// With one stage, as every plan has today, copies are waited for in front of the dot that reads them. The copy's token takes the place
// of the load's; insert-barriers puts an earlier wait before a write that comes after it.
func SelectCopies(s *pass.State) error {
	var list []*ir.Op
	s.Walk(s.Module, ir.PreOrder, func(op *ir.Op) {
		if op.Code() == tileaa.OpConvertLayout {
			list = append(list, op)
		}
	})
	for _, op := range list {
		copyAsync(s, op)
	}
	return nil
}

// copyAsync rewrites one conversion if its source is a weak load with no other use that cp.async can do: whole vectors of 4, 8 or 16
// bytes, padding with zeros (the instruction's zero fill) or with nothing in particular.
func copyAsync(s *pass.State, conv *ir.Op) {
	load, ok := ir.DefinedBy[tileaa.TiledLoad](conv.Operand(0))
	if !ok || tileaa.IsStrong(load.Op) || !conv.Operand(0).HasOneUse() {
		return
	}
	block, _ := tileaa.BlockOf(load.Op)
	if p, ok := block.Padding(); ok && p != def.PadZero {
		return
	}
	src, dst := tileaa.AsTile(conv.Operand(0)), tileaa.AsTile(conv.Result(0))
	bytes := tileaa.ElemBytes(src.Elem)
	width, _ := load.Vec()
	vec := int(width)
	row := atom.SelectCopy(s.Target, atom.AsyncCopy, vec*bytes)
	if ir.IsInt(src.Elem, 1) || row == nil || row.Bytes != vec*bytes {
		return
	}
	mem, name, ok := matrixBuffer(s, *src.Layout, *dst.Layout, tileaa.ElemBits(src.Elem))
	if !ok || mem.MaxVec(*src.Layout, vec) != vec {
		return
	}
	b := ir.NewBuilder(s.Ctx).Before(load.Op)
	b.Loc = load.Op.Loc()
	buf := tileaa.NewAllocShared(b, tileaa.Buffer(s.Ctx, src.Elem, mem, src.Shape...), tileaa.AllocSharedOptions{}).Result()
	fast, _ := load.Fast()
	c := tileaa.NewAsyncCopy(b, load.Block(), buf, &tileaa.LayoutAttr{Layout: *src.Layout}, tileaa.AsyncCopyOptions{Token: load.Token(),
		Vec: &width, Fast: &fast, Narrow: load.Narrow(), Masked: load.Masked(), CoordinateBits: load.CoordinateBits()})
	tileaa.NewAsyncCommit(b)
	at := reader(s, conv)
	if at.Block() == conv.Block() {
		b.Before(at)
	} else {
		b.Before(conv) // the loop that reads it may not run at all
	}
	if at.Block() != conv.Block() || !waited(at) {
		tileaa.NewAsyncWait(b, 0)
	}
	b.Before(at)
	read := tileaa.NewBufferLoad(b, dst, buf, tileaa.BufferLoadOptions{Atom: name})
	conv.Result(0).ReplaceAllUsesWith(read.Result())
	conv.Erase()
	load.ResultToken().ReplaceAllUsesWith(c.ResultToken())
	load.Op.Erase()
}

// reader is the place to read the buffer of a conversion: in front of its only user, so that the copies of a dot's two operands
// are under way together and nothing is held in registers meanwhile; else where the conversion was. The operand of a dot in an inner
// loop is read in every iteration where the loop has not enough registers for it.
func reader(s *pass.State, conv *ir.Op) *ir.Op {
	v := conv.Result(0)
	if !v.HasOneUse() {
		return conv
	}
	user := v.FirstUse().Owner()
	if user.Block() == conv.Block() || tileaa.IsProduct(user) && heldTooLong(s, user) {
		return user
	}
	return conv
}

// heldTooLong reports whether a loop needs more registers than a thread has for the accumulators of its products and for their
// operands that come from outside of it.
func heldTooLong(s *pass.State, dot *ir.Op) bool {
	loop := dot.ParentOp()
	regs := cost.BesideAccumulators
	for _, op := range loop.Body().Ops() {
		if !tileaa.IsProduct(op) {
			continue
		}
		regs += registersOf(op.Result(0))
		for _, v := range op.Operands()[:2] {
			if ir.DefinedOutside(v, loop) {
				regs += registersOf(v)
			}
		}
	}
	return regs > min(s.Target.Registers/(32*tileaa.WarpsOf(dot)), s.Target.RegistersPerThread)
}

// registersOf is the registers that a thread needs for a tile in its layout.
func registersOf(v *ir.Value) int {
	if l := tileaa.LayoutOf(v); l != nil {
		return cost.Registers(*l, tileaa.ElemBits(tileaa.AsTile(v).Elem))
	}
	return 0
}

// waited reports whether a wait for all copies stands among the reads in front of an op already.
func waited(at *ir.Op) bool {
	for op := at.Prev(); op != nil; op = op.Prev() {
		switch op.Code() {
		case tileaa.OpAsyncWait:
			return true
		case tileaa.OpBufferLoad:
		default:
			return false
		}
	}
	return false
}

// swizzleWidth is the longest row, in bytes, over which 16-byte chunks are permuted: all 32 banks.
const swizzleWidth = 128

// matrixBuffer is a swizzled buffer that the source layout writes in rows and from which ldmatrix reads the destination layout.
func matrixBuffer(s *pass.State, src, dst layout.Layout, elemBits int) (mem layout.MemLayout, name string, ok bool) {
	if elemBits != 8 && elemBits != 16 && elemBits != 32 || src.InBits(layout.Reg) == 0 {
		return
	}
	shape := src.Shape()
	fast := len(shape) - 1
	for d := range shape {
		if shape[d] > 1 && src.Basis(layout.Reg, 0) == layout.Bit(shape, d, 0) {
			fast = d
		}
	}
	mem = layout.Swizzled(shape, fastest(fast, len(shape)), elemBits/8, swizzleWidth)
	for _, trans := range []bool{false, true} {
		if p, can := layout.LdMatrix(mem, dst, elemBits, trans); can {
			if row := atom.SelectMatrix(s.Target, atom.LoadMatrix, p.Num, trans); row != nil {
				return mem, row.Name, true
			}
		}
	}
	return mem, "", false
}
