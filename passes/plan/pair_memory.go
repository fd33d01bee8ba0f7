package plan

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/passes/facts"
	"tileiras/passes/pass"
)

// This file makes accesses to blocks of elements of 4 bits such of bytes: two elements that are neighbours in memory lie in one, the first in the low
// half. Along the dimension of neighbours the array and the block must end with a whole byte, along others every step must be whole bytes.
//
//	%m = make_memref %p : 64x128xf4, strides [128, 1]        %m' = make_memref (ptr_cast %p) : 64x64xi8, strides [64, 1]
//	%x = tiled_load (block_tile %m)  : 64x64xf4         =>   %x  = unpack (tiled_load (block_tile %m') : 64x32xi8)
//
// What does not fit stays, and code generation says that it is not supported.

const perByte = 2

// nibblePacker makes arrays of bytes of arrays of half bytes, each once.
type nibblePacker struct {
	b     *ir.Builder
	known *facts.Facts
	made  map[*ir.Op]*ir.Value // memrefs of bytes by those of elements
}

func pairMemory(s *pass.State, entry *ir.Op) {
	var list []*ir.Op
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		if block, ok := tileaa.BlockOf(op); ok && tileaa.ElemBits(block.Result().Type().(*tileaa.BlockType).Elem) == 4 {
			list = append(list, op)
		}
	})
	if len(list) == 0 {
		return
	}
	h := &nibblePacker{ir.NewBuilder(s.Ctx), facts.New(s.Ctx, entry), map[*ir.Op]*ir.Value{}}
	for _, op := range list {
		block, _ := tileaa.BlockOf(op)
		d, ok := h.neighbours(block)
		if !ok {
			continue
		}
		h.b.Before(op)
		h.b.Loc = op.Loc()
		switch op.Code() {
		case tileaa.OpTiledLoad:
			h.load(ir.Cast[tileaa.TiledLoad](op), block, d)
		case tileaa.OpTiledStore:
			h.store(ir.Cast[tileaa.TiledStore](op), block, d)
		}
	}
}

// neighbours is the dimension of a block along which two elements share a byte; ok is false if some byte is not whole.
func (h *nibblePacker) neighbours(block tileaa.BlockTile) (dim int, ok bool) {
	memref, ok := ir.As[tileaa.MakeMemref](block.Memref().DefiningOp())
	if !ok {
		return 0, false
	}
	if p, padded := block.Padding(); padded && p != def.PadZero {
		return 0, false
	}
	t := memref.Result().Type().(*tileaa.MemrefType)
	along := slices.Index(t.Strides, 1)
	dim = slices.Index(block.DimMap(), int32(along))
	if _, sparse := block.SparseDim(); sparse || along < 0 || dim < 0 {
		return 0, false
	}
	for a := range t.Strides {
		if a != along && h.known.Stride(memref, a).ZeroBits == 0 {
			return 0, false
		}
	}
	shape := block.Result().Type().(*tileaa.BlockType).Shape
	whole := shape[dim]%perByte == 0 && block.Traversal()[dim]%perByte == 0 && h.known.Extent(memref, along).ZeroBits > 0
	return dim, whole
}

// bytes is the array of a block as one of bytes.
func (h *nibblePacker) bytes(memref tileaa.MakeMemref) *ir.Value {
	if v := h.made[memref.Op]; v != nil {
		return v
	}
	b := ir.NewBuilder(h.b.Ctx).Before(memref.Op)
	b.Loc = memref.Op.Loc()
	t := memref.Result().Type().(*tileaa.MemrefType)
	along := slices.Index(t.Strides, 1)
	half := func(sizes []int64, operands []*ir.Value, is func(a int) bool) ([]int64, []*ir.Value) {
		sizes, operands = slices.Clone(sizes), slices.Clone(operands)
		n := 0
		for a, size := range sizes {
			switch {
			case size != tileaa.Dynamic && is(a):
				sizes[a] /= perByte
			case size == tileaa.Dynamic:
				if v := operands[n]; is(a) {
					if t := tileaa.AsTile(v); tileaa.ElemBits(t.Elem) < 8 { // two does not fit
						v = tileaa.NewExti(b, t.WithElem(b.Ctx, b.Ctx.Int(8)), v, def.Unsigned).Result()
					}
					operands[n] = tileaa.NewDivi(b, v, tileaa.Const(b, tileaa.AsTile(v), perByte), def.Unsigned, def.RoundZero).Result()
				}
				n++
			}
		}
		return sizes, operands
	}
	shape, extents := half(t.Shape, memref.Shape(), func(a int) bool { return a == along })
	strides, steps := half(t.Strides, memref.Strides(), func(a int) bool { return a != along })
	elem := b.Ctx.Int(8)
	base := tileaa.NewPtrCast(b, tileaa.Tile(b.Ctx, tileaa.Ptr(b.Ctx, elem)), memref.Base()).Result()
	v := tileaa.NewMakeMemref(b, tileaa.Memref(b.Ctx, elem, shape, strides), base, extents, steps).Result()
	h.made[memref.Op] = v
	return v
}

// block is a block as one of bytes.
func (h *nibblePacker) block(old tileaa.BlockTile, d int) (*ir.Value, []int64) {
	shape, traversal := slices.Clone(old.Result().Type().(*tileaa.BlockType).Shape), slices.Clone(old.Traversal())
	shape[d] /= perByte
	traversal[d] /= perByte
	memref := h.bytes(ir.Cast[tileaa.MakeMemref](old.Memref().DefiningOp()))
	t := tileaa.Block(h.b.Ctx, h.b.Ctx.Int(8), shape...)
	return tileaa.NewBlockTile(h.b, t, memref, old.Indices(), traversal, old.DimMap(), old.Options()).Result(), shape
}

func (h *nibblePacker) load(op tileaa.TiledLoad, old tileaa.BlockTile, d int) {
	block, shape := h.block(old, d)
	o := tileaa.TiledLoadOptions{Token: op.Token(), When: op.When(), Order: op.Order()}
	if scope, ok := op.Scope(); ok {
		o.Scope = &scope
	}
	if latency, ok := op.Latency(); ok {
		o.Latency = &latency
	}
	v := tileaa.NewTiledLoad(h.b, tileaa.Tile(h.b.Ctx, h.b.Ctx.Int(8), shape...), block, o)
	op.Result().ReplaceAllUsesWith(single(h.b, v.Result(), d))
	op.ResultToken().ReplaceAllUsesWith(v.ResultToken())
	op.Op.Erase()
}

func (h *nibblePacker) store(op tileaa.TiledStore, old tileaa.BlockTile, d int) {
	block, _ := h.block(old, d)
	o := tileaa.TiledStoreOptions{Token: op.Token(), Order: op.Order()}
	if scope, ok := op.Scope(); ok {
		o.Scope = &scope
	}
	v := tileaa.NewTiledStore(h.b, paired(h.b, op.Value(), d), block, o)
	op.ResultToken().ReplaceAllUsesWith(v.ResultToken())
	op.Op.Erase()
}
