package layouts

import (
	"tileiras/codegen/atom"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
)

// This file brings factors of products to shared memory, where threads that multiply alone and instructions of groups of warps read them.

// toScalarBuffer stores factor i of a product of which each thread computes its elements alone, a place along K after another. Copies keep their
// width. Instructions that take several neighbours along K from a word want those side by side.
func (a *assigner) toScalarBuffer(op *ir.Op, i int, d dotTiling) *ir.Value {
	v := op.Operand(i)
	least := 1
	if load, between, ok := tileaa.LoadOf(v); ok && len(between) == 0 {
		if width, ok := copyWidth(a.s, load, tileaa.LayoutOf(load.Result(0))); ok {
			least = width
		}
	}
	v = a.inOwnLayout(v)
	src, k := *tileaa.LayoutOf(v), d.C.Rank()-1-i
	if d.words {
		return a.store(op, v, layout.Strided(src.Shape(), layout.FastestFirst(k, src.Rank())))
	}
	return a.store(op, v, layout.FactorLayout(src, d.C.RemoveDim(k).ExpandDim(k), k, tileaa.ElemBytes(tileaa.AsTile(v).Elem), least))
}

// toMatrixBuffer stores factor i of a product in rows as an instruction of a group of warps reads them: along the dimension where memory runs, so that
// copies can take the way, or along K where the instruction wants that; operand i of scales as they come to tensor memory. What comes from outside of a loop is
// stored there.
// Products that take a factor in the same rows share it.
func (a *assigner) toMatrixBuffer(op *ir.Op, i int) *ir.Value {
	v := op.Operand(i)
	x, between := v, []*ir.Op(nil)
	if load, names, ok := tileaa.FactorLoad(v); ok && kernel.OnlyViews(names) {
		x, between = load.Result(0), names
	}
	x = a.inOwnLayout(x)
	t := tileaa.AsTile(v)
	mem := matrixMem(op, i, layoutAfter(between, *tileaa.LayoutOf(x)))
	key := matrix{v, mem.Key()}
	if buf, ok := a.matrices[key]; ok && op.AncestorIn(buf.DefiningOp().Block()) != nil {
		return buf
	}
	own := mem // as the tile that is stored names the elements
	for _, op := range between {
		own = operandMem(op, own)
	}
	a.b.Loc = op.Loc()
	buf := a.bufferOf(x, own, op)
	if buf != nil {
		a.b.Before(op)
	} else {
		a.before(op, x)
		stored := tileaa.AsTile(x)
		buf = tileaa.NewAllocShared(a.b, tileaa.Buffer(a.s.Ctx, stored.Elem, own, stored.Shape...), tileaa.AllocSharedOptions{}).Result()
		tileaa.NewBufferStore(a.b, x, buf, tileaa.BufferStoreOptions{})
	}
	if len(between) > 0 {
		buf = tileaa.NewBufferView(a.b, tileaa.Buffer(a.s.Ctx, t.Elem, mem, t.Shape...), buf).Result()
	}
	a.matrices[key] = buf
	return buf
}

// matrixMem is the memory layout in which a product reads factor i, or operand i of scales, that threads hold in a layout.
func matrixMem(op *ir.Op, i int, l layout.Layout) layout.MemLayout {
	t := tileaa.AsTile(op.Operand(i))
	shape, rank := layout.Dims(t.Shape), len(t.Shape)
	if scale := i - 3; scale >= 0 {
		return atom.ScalesIn(shape, rank-1-scale)
	}
	fast := fastDim(l)
	short := fast >= rank-2 && shape[fast]*tileaa.ElemBytes(t.Elem) < minSwizzle
	if depth := rank - 1 - i; fast < rank-2 || short || !ir.Cast[tileaa.Dot](op).Atom().Atom.TakesMNMajor {
		fast = depth
	}
	return matrixRows(shape, fast, tileaa.ElemBytes(t.Elem))
}

// before goes to the place where a factor x of a product is stored.
func (a *assigner) before(op *ir.Op, x *ir.Value) {
	if x.ParentBlock() == op.Block() {
		a.b.Before(op)
	} else {
		a.b.AfterValue(x)
	}
}

// bufferOf is a buffer in front of a product that holds a tile in a memory layout already, for another product; nil without one.
func (a *assigner) bufferOf(x *ir.Value, mem layout.MemLayout, op *ir.Op) *ir.Value {
	for u := x.FirstUse(); u != nil; u = u.Next() {
		store, ok := ir.As[tileaa.BufferStore](u.Owner())
		if ok && store.Buffer().Type().(*tileaa.BufferType).Mem.Equal(mem) && op.AncestorIn(store.Op.Block()) != nil {
			return store.Buffer()
		}
	}
	return nil
}

// matrix is a factor as it lies in memory.
type matrix struct {
	v   *ir.Value
	mem string // its layout's key
}

// minSwizzle is the bytes of the shortest rows that a descriptor can say.
const minSwizzle = 32

// operandMem is the memory layout of the operand of a reshape or a permute whose result lies as m says.
func operandMem(op *ir.Op, m layout.MemLayout) layout.MemLayout {
	if op.Code() == tileaa.OpReshape {
		return m.Reshape(layout.Dims(tileaa.ShapeOf(op.Operand(0))))
	}
	return m.Permute(layout.Inverse(tileaa.PermutationOf(op)))
}

// matrixRows is the swizzled memory layout of a matrix in rows along a dimension.
func matrixRows(shape []int, fast, elemBytes int) layout.MemLayout {
	return layout.Swizzled(shape, layout.FastestFirst(fast, len(shape)), elemBytes, min(swizzleWidth, shape[fast]*elemBytes))
}
