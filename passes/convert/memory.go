package convert

import (
	"slices"

	"tileiras/dialects/cudatile"
	cudadef "tileiras/dialects/cudatile/def"
	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// latency is the hint of a load, or nil.
func (c *converter) latency(op *ir.Op) *int64 {
	if v, ok := c.hint(op, "latency").(ir.IntegerAttr); ok {
		return new(v.SInt())
	}
	return nil
}

func (c *converter) hint(op *ir.Op, name string) ir.Attribute {
	return c.Hint(op.Code(), ir.Cast[cudatile.HintedOp](op).OptimizationHints(), name)
}

// access is the token, order and scope that all memory operations have.
type access struct {
	token *ir.Value
	order def.MemOrder
	scope *def.Scope
}

func (c *converter) access(op *ir.Op) access {
	m := ir.Cast[cudatile.MemoryOp](op)
	a := access{token: c.operand(m.Token()), order: def.MemOrder(m.MemoryOrderingSemantics())}
	if s, ok := m.MemoryScope(); ok {
		a.scope = new(def.Scope(s))
	}
	return a
}

func (c *converter) loadPointer(op *ir.Op) {
	l, a := cudatile.LoadPtrTko{Op: op}, c.access(op)
	t := c.typ(op, l.Result().Type())
	if c.err == nil {
		c.results(op, tileaa.NewLoad(c.b, t, c.operand(l.Source()), tileaa.LoadOptions{Mask: c.operand(l.Mask()),
			Padding: c.operand(l.PaddingValue()), Token: a.token, Order: a.order, Scope: a.scope, Latency: c.latency(op)}).Op)
	}
}

// tensorView makes the memref of a tensor view; all views of it map to the same memref.
func (c *converter) tensorView(op *ir.Op) {
	t := op.Result(0).Type().(*cudatile.TensorViewType)
	v := cudatile.MakeTensorView{Op: op}
	m := tileaa.NewMakeMemref(c.b, tileaa.Memref(c.Ctx, t.Elem, t.Shape, t.Strides), c.operand(v.Base()),
		c.operands(v.DynamicShape()), c.operands(v.DynamicStrides()))
	c.result(op.Result(0), m.Result())
}

func (c *converter) tileView(op *ir.Op) { c.values[op.Result(0)] = c.operand(op.Operand(0)) }

// block makes the block_tile that an access of a view reads or writes.
func (c *converter) block(op *ir.Op) *ir.Value {
	access := ir.Cast[cudatile.ViewAccess](op)
	view := access.View()
	t, ok := view.Type().(cudatile.TileView)
	if !ok {
		c.unsupported(op, "with a view of type %s", ir.ShortType(view.Type()))
		return nil
	}
	f := t.View()
	dimMap := make(ir.I32Array, len(f.DimMap))
	for i, d := range f.DimMap {
		dimMap[i] = int32(d)
	}
	var opts tileaa.BlockTileOptions
	if p, ok := f.Padding.Get(); ok {
		opts.Padding = new(def.Padding(p))
	}
	if f.SparseDim >= 0 {
		opts.SparseDim = new(int64(f.SparseDim))
	}
	if in := access.Inbounds(); slices.Contains(in, true) {
		opts.Inbounds = in
	}
	return tileaa.NewBlockTile(c.b, tileaa.Block(c.Ctx, f.Tensor.Elem, f.Tile.Shape...), c.operand(view), c.operands(access.Index()),
		slices.Clone(f.Step), dimMap, opts).Result()
}

func (c *converter) loadView(op *ir.Op) {
	l, a, block := cudatile.LoadViewTko{Op: op}, c.access(op), c.block(op)
	t := c.typ(op, l.Tile().Type())
	if c.err == nil {
		if allowed, said := c.hint(op, "allow_tma").(ir.BoolAttr); said && !bool(allowed) {
			ir.Cast[tileaa.BlockTile](block.DefiningOp()).SetMapless(true)
		}
		c.results(op, tileaa.NewTiledLoad(c.b, t, block, tileaa.TiledLoadOptions{Token: a.token, Order: a.order, Scope: a.scope,
			Latency: c.latency(op)}).Op)
	}
}

func (c *converter) storeView(op *ir.Op) {
	a, block := c.access(op), c.block(op)
	if c.err == nil {
		c.results(op, tileaa.NewTiledStore(c.b, c.operand(cudatile.StoreViewTko{Op: op}.Tile()), block,
			tileaa.TiledStoreOptions{Token: a.token, Order: a.order, Scope: a.scope}).Op)
	}
}

func (c *converter) multimemStore(op *ir.Op) {
	a, block := c.access(op), c.block(op)
	if c.err == nil {
		c.results(op, tileaa.NewMultimemStore(c.b, c.operand(cudatile.MultimemStoreViewTko{Op: op}.Tile()), block,
			tileaa.MultimemStoreOptions{Token: a.token, Order: a.order, Scope: a.scope}).Op)
	}
}

// multimemModes is the mode of every reduction of multicast memory, in the order of the enumeration; sums of floats are addf.
var multimemModes = [...]def.AtomicMode{def.ModeAdd, def.ModeMin, def.ModeMax, def.ModeAnd, def.ModeOr, def.ModeXor, def.ModeUMin, def.ModeUMax}

func multimemMode(reduction cudadef.Multimem, view *ir.Value) def.AtomicMode {
	mode := multimemModes[reduction]
	if ir.IsFloat(view.Type().(cudatile.TileView).View().Tile.Elem) && mode == def.ModeAdd {
		return def.ModeAddF
	}
	return mode
}

func (c *converter) multimemLoad(op *ir.Op) {
	l, a, block := cudatile.MultimemLoadReduceViewTko{Op: op}, c.access(op), c.block(op)
	t := c.typ(op, l.ReducedValues().Type())
	if c.err == nil {
		c.results(op, tileaa.NewMultimemLoad(c.b, t, block, multimemMode(l.Reduction(), l.View()),
			tileaa.MultimemLoadOptions{Token: a.token, Order: a.order, Scope: a.scope}).Op)
	}
}

// multimemReduce: PTX has no weak reduction, and a relaxed one does all that a weak one must.
func (c *converter) multimemReduce(op *ir.Op) {
	r, a, block := cudatile.MultimemReduceViewTko{Op: op}, c.access(op), c.block(op)
	if c.err == nil {
		c.results(op, tileaa.NewMultimemReduce(c.b, c.operand(r.Tile()), block, multimemMode(r.Reduction(), r.View()),
			tileaa.MultimemReduceOptions{Token: a.token, Order: max(a.order, def.Relaxed), Scope: a.scope}).Op)
	}
}

// onMulticast reports whether an operation accesses memory through a pointer or view that is marked as multicast memory.
func onMulticast(op *ir.Op) bool {
	if !op.Traits().Has(ir.Reads) && !op.Traits().Has(ir.Writes) {
		return false
	}
	return slices.ContainsFunc(op.Operands(), func(v *ir.Value) bool {
		switch t := v.Type().(type) {
		case *cudatile.TileType:
			p, ok := t.Elem.(*cudatile.PtrType)
			return ok && p.Attr.Is(cudadef.PtrMulticast)
		case cudatile.TileView:
			return t.View().Tensor.PtrAttr.Is(cudadef.PtrMulticast)
		}
		return false
	})
}

func (c *converter) atomicView(op *ir.Op) {
	r, a, block := cudatile.AtomicRedViewTko{Op: op}, c.access(op), c.block(op)
	if c.err == nil {
		c.results(op, tileaa.NewTiledAtomic(c.b, block, c.operand(r.Value()), def.AtomicMode(r.Mode()),
			tileaa.TiledAtomicOptions{Token: a.token, Order: a.order, Scope: a.scope}).Op)
	}
}

// assume of a tensor view is about its base address: a new memref has the base with the assumption.
func (c *converter) assume(op *ir.Op) {
	from := cudatile.Assume{Op: op}
	v := c.operand(from.Value())
	predicate := c.attribute(op, &ir.ArgDef{Attr: ir.PredicateKind}, from.Predicate())
	promise := func(v *ir.Value) *ir.Value { return tileaa.NewAssume(c.b, v, predicate).Result() }
	if m, ok := ir.DefinedBy[tileaa.MakeMemref](v); ok {
		c.values[op.Result(0)] = tileaa.NewMakeMemref(c.b, v.Type(), promise(m.Base()), m.Shape(), m.Strides()).Result()
		return
	}
	if _, ok := v.Type().(*tileaa.TileType); !ok {
		c.unsupported(op, "of a value of type %s", ir.ShortType(v.Type()))
		return
	}
	c.result(op.Result(0), promise(v))
}

// resized is an unsigned rank-0 integer in another type; a value that does not fit is undefined.
func (c *converter) resized(v *ir.Value, t *tileaa.TileType) *ir.Value {
	from, to := ir.BitWidth(tileaa.AsTile(v).Elem), ir.BitWidth(t.Elem)
	switch {
	case from < to:
		return tileaa.NewExti(c.b, t, v, def.Unsigned).Result()
	case from > to:
		return tileaa.NewTrunci(c.b, t, v, tileaa.TrunciOptions{}).Result()
	}
	return v
}

func (c *converter) tensorShape(op *ir.Op) {
	memref := ir.Cast[tileaa.MakeMemref](c.operand(op.Operand(0)).DefiningOp())
	extents := memref.Result().Type().(*tileaa.MemrefType).Shape
	for a, r := range op.Results() {
		t := c.typ(op, r.Type()).(*tileaa.TileType)
		if v, n := tileaa.SizeOf(extents, memref.Shape(), a); v != nil {
			c.values[r] = c.resized(v, t)
		} else {
			c.values[r] = tileaa.Const(c.b, t, n)
		}
	}
}

// indexSpace is how many blocks fit along each dimension, the last one perhaps partly: ceil(extent / step), unsigned. A step has up to 31 bits, so a
// narrower extent is widened.
func (c *converter) indexSpace(op *ir.Op) {
	f := op.Operand(0).Type().(cudatile.TileView).View()
	memref := ir.Cast[tileaa.MakeMemref](c.operand(op.Operand(0)).DefiningOp())
	extents := memref.Result().Type().(*tileaa.MemrefType).Shape
	for d, r := range op.Results() {
		t := c.typ(op, r.Type()).(*tileaa.TileType)
		v, n := tileaa.SizeOf(extents, memref.Shape(), f.DimMap[d])
		if v == nil {
			c.values[r] = tileaa.Const(c.b, t, n/f.Step[d]+min(n%f.Step[d], 1))
			continue
		}
		if ir.BitWidth(tileaa.AsTile(v).Elem) < 32 {
			v = c.resized(v, tileaa.Tile(c.Ctx, c.Ctx.Int(32)))
		}
		blocks := tileaa.NewDivi(c.b, v, tileaa.Const(c.b, tileaa.AsTile(v), f.Step[d]), def.Unsigned, def.RoundPosInf)
		c.values[r] = c.resized(blocks.Result(), t)
	}
}

// grid makes one op for each of the three dimensions.
func (c *converter) grid(op *ir.Op) {
	for axis, r := range op.Results() {
		t := c.typ(op, r.Type())
		if ir.Is[cudatile.GetTileBlockId](op) {
			c.result(r, tileaa.NewProgramId(c.b, t, int64(axis)).Result())
		} else {
			c.result(r, tileaa.NewNumPrograms(c.b, t, int64(axis)).Result())
		}
	}
}
