package plan

import (
	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/ir/float"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// TruncateFactors leaves the conversion of f32 to tf32 to the matrix instructions, which do not look at the bits that tf32 does not have, where
// options ask for it. What is loaded for nothing but such products is loaded as tf32, so that copies bring it as it lies in memory; else the bits
// are taken as they come.
//
//	%m = make_memref %p : 64x128xf32                     %m' = make_memref (ptr_cast %p) : 64x128xtf32
//	%x = tiled_load (block_tile %m) : 64x64xf32    =>    %a  = tiled_load (block_tile %m') : 64x64xtf32
//	%a = ftof %x : 64x64xtf32                            dot %a, ..
//	dot %a, ..
//
// NaN whose only bits are among those that are cut off becomes infinity; the NaN that GPUs make is none of these.
func TruncateFactors(s *pass.State) error {
	if !s.TruncatesTF32() {
		return nil
	}
	for _, entry := range s.Entries() {
		t := &truncation{b: ir.NewBuilder(s.Ctx), f32: s.Ctx.Float(float.F32), tf32: s.Ctx.Float(float.TF32), arrays: map[*ir.Op]*ir.Value{}}
		var loads, conversions []*ir.Op
		s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
			switch {
			case kernel.IsPlainLoad(op):
				loads = append(loads, op)
			case t.converts(op):
				conversions = append(conversions, op)
			}
		})
		if len(conversions) == 0 {
			continue
		}
		for _, op := range loads {
			if v := op.Result(0); tileaa.AsTile(v).Elem == t.f32 && t.onlyConverted(v) && t.loads(op) {
				t.retype(v)
			}
		}
		for _, op := range conversions {
			if c := ir.Cast[tileaa.Ftof](op); op.Block() != nil {
				t.b.Before(op)
				t.b.Loc = op.Loc()
				c.Result().ReplaceAllUsesWith(tileaa.NewBitcast(t.b, c.Result().Type(), c.Source()).Result())
				op.Erase()
			}
		}
	}
	return nil
}

// truncation takes tiles of f32 as tf32.
type truncation struct {
	b         *ir.Builder
	f32, tf32 ir.Type
	arrays    map[*ir.Op]*ir.Value // arrays of tf32 by those of f32
}

// converts reports whether an op makes tf32 of f32 for products alone. Of constants it stays: canonicalize folds it.
func (t *truncation) converts(op *ir.Op) bool {
	c, ok := ir.As[tileaa.Ftof](op)
	if !ok || tileaa.AsTile(c.Source()).Elem != t.f32 || tileaa.AsTile(c.Result()).Elem != t.tf32 {
		return false
	}
	_, constant := ir.DefinedBy[tileaa.Constant](c.Source())
	return !constant && onlyFactors(c.Result())
}

// renames reports whether an op names the elements of a tile anew and leaves their type: what makes f32 of tf32 again wants the numbers of tf32.
func renames(op *ir.Op) bool { return tileaa.IsRelabeling(op) && op.Code() != tileaa.OpFtof }

// onlyFactors reports whether products multiply by a tile, as it is or named anew, and nothing else uses it.
func onlyFactors(v *ir.Value) bool {
	for u := v.FirstUse(); u != nil; u = u.Next() {
		op := u.Owner()
		if tileaa.IsProduct(op) && u.Index() < 2 {
			continue
		}
		if !renames(op) || !onlyFactors(op.Result(0)) {
			return false
		}
	}
	return v.HasUses()
}

// onlyConverted reports whether a tile of f32, as it is or named anew, is nothing but made tf32.
func (t *truncation) onlyConverted(v *ir.Value) bool {
	for u := v.FirstUse(); u != nil; u = u.Next() {
		op := u.Owner()
		if t.converts(op) {
			continue
		}
		if !renames(op) || !t.onlyConverted(op.Result(0)) {
			return false
		}
	}
	return v.HasUses()
}

// retype makes a tile, and what it is named anew, one of tf32, whose conversions go.
func (t *truncation) retype(v *ir.Value) {
	v.SetType(tileaa.AsTile(v).WithElem(t.b.Ctx, t.tf32))
	for _, u := range v.Uses() {
		op := u.Owner()
		if op.Code() != tileaa.OpFtof {
			t.retype(op.Result(0))
			continue
		}
		op.Result(0).ReplaceAllUsesWith(v)
		op.Erase()
	}
}

// loads makes a load bring elements of tf32; its result has its type still.
func (t *truncation) loads(op *ir.Op) bool {
	t.b.Before(op)
	t.b.Loc = op.Loc()
	if l, ok := ir.As[tileaa.Load](op); ok {
		l.SetPtr(tileaa.NewPtrCast(t.b, tileaa.AsTile(l.Ptr()).WithElem(t.b.Ctx, tileaa.Ptr(t.b.Ctx, t.tf32)), l.Ptr()).Result())
		if p := l.Padding(); p != nil {
			l.SetPadding(tileaa.NewFtof(t.b, tileaa.AsTile(p).WithElem(t.b.Ctx, t.tf32), p, tileaa.FtofOptions{Rounding: def.RoundZero}).Result())
		}
		return true
	}
	block, ok := tileaa.BlockOf(op)
	if !ok {
		return false
	}
	memref, ok := ir.As[tileaa.MakeMemref](block.Memref().DefiningOp())
	if !ok {
		return false
	}
	n := t.b.Clone(block.Op, ir.Mapping{block.Memref(): t.array(memref)})
	n.Result(0).SetType(tileaa.Block(t.b.Ctx, t.tf32, block.Result().Type().(*tileaa.BlockType).Shape...))
	ir.Cast[tileaa.TiledLoad](op).SetBlock(n.Result(0))
	if !block.Result().HasUses() {
		block.Op.Erase()
	}
	return true
}

// array is an array of f32 as one of tf32.
func (t *truncation) array(memref tileaa.MakeMemref) *ir.Value {
	if v := t.arrays[memref.Op]; v != nil {
		return v
	}
	b := ir.NewBuilder(t.b.Ctx).Before(memref.Op)
	b.Loc = memref.Op.Loc()
	m := memref.Result().Type().(*tileaa.MemrefType)
	base := tileaa.NewPtrCast(b, tileaa.Tile(b.Ctx, tileaa.Ptr(b.Ctx, t.tf32)), memref.Base()).Result()
	v := tileaa.NewMakeMemref(b, tileaa.Memref(b.Ctx, t.tf32, m.Shape, m.Strides), base, memref.Shape(), memref.Strides()).Result()
	t.arrays[memref.Op] = v
	return v
}
