package passes

import (
	"slices"

	"tileiras/codegen/target"
	"tileiras/dialects/cudatile"
	cudadef "tileiras/dialects/cudatile/def"
	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// lookupHint looks up an optimization hint: the target's own entry first, then the default. ok is false when neither has it.
func lookupHint(hints ir.Attribute, t *target.Target, name string) (a ir.Attribute, ok bool) {
	entries, _ := hints.(ir.DictAttr)
	keys := []string{"default"}
	if t != nil {
		keys = []string{t.Name, "default"}
	}
	for _, key := range keys {
		if e, found := entries.Get(key); found {
			if d, isDict := e.(ir.DictAttr); isDict {
				if a, ok = d.Get(name); ok {
					return a, true
				}
			}
		}
	}
	return nil, false
}

// latency is the hint of a load as an attribute of TileAA, or nil.
func (c *converter) latency(op *ir.Op) any {
	a, _ := lookupHint(op.AttrNamed("optimization_hints"), c.Target, "latency")
	if v, ok := a.(ir.IntegerAttr); ok && v.SInt() >= 1 && v.SInt() <= 10 {
		return v.SInt()
	}
	return nil
}

// access are the arguments that all memory operations share.
func (c *converter) access(op *ir.Op) tileaa.Args {
	args := tileaa.Args{
		"order": op.EnumNamed("memory_ordering_semantics"),
		"token": c.operand(op.OperandNamed("token")),
	}
	if s, ok := op.AttrNamed("memory_scope").(ir.EnumAttr); ok {
		args["scope"] = s.Value
	}
	return args
}

func (c *converter) loadPointer(op *ir.Op) {
	args := c.access(op)
	args["ptr"] = c.operand(op.OperandNamed("source"))
	args["mask"] = c.operand(op.OperandNamed("mask"))
	args["padding"] = c.operand(op.OperandNamed("paddingValue"))
	args["latency"] = c.latency(op)
	c.make(op, "load", args)
}

// make creates an op with the converted types of op's results.
func (c *converter) make(op *ir.Op, name string, args tileaa.Args) {
	types := make([]ir.Type, op.NumResults())
	for i, r := range op.Results() {
		types[i] = c.typ(op, r.Type())
	}
	if c.err == nil {
		c.results(op, tileaa.Create(c.b, name, types, args))
	}
}

// tensorView makes the memref that stands for a tensor view and for all views of it.
func (c *converter) tensorView(op *ir.Op) {
	t := op.Result(0).Type().(*cudatile.TensorViewType)
	base := c.operand(op.OperandNamed("base"))
	m := tileaa.Memref(c.Ctx, t.Elem, t.Shape, t.Strides)
	c.result(op.Result(0), tileaa.One(c.b, "make_memref", m, tileaa.Args{
		"base":    base,
		"shape":   c.operands(op.OperandGroupNamed("dynamicShape")),
		"strides": c.operands(op.OperandGroupNamed("dynamicStrides")),
	}))
}

func (c *converter) tileView(op *ir.Op) { c.values[op.Result(0)] = c.operand(op.Operand(0)) }

// block makes the block of a view that an access names.
func (c *converter) block(op *ir.Op) *ir.Value {
	view := op.OperandNamed("view")
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
	args := tileaa.Args{
		"memref":    c.operand(view),
		"indices":   c.operands(op.OperandGroupNamed("index")),
		"traversal": ir.I64Array(slices.Clone(f.Step)),
		"dim_map":   dimMap,
	}
	if p, ok := f.Padding.Get(); ok {
		args["padding"] = p
	}
	if f.SparseDim >= 0 {
		args["sparse_dim"] = f.SparseDim
	}
	if in, ok := op.AttrNamed("inbounds").(ir.BoolArray); ok && slices.Contains(in, true) {
		args["inbounds"] = in
	}
	return tileaa.One(c.b, "block_tile", tileaa.Block(c.Ctx, f.Tensor.Elem, f.Tile.Shape...), args)
}

func (c *converter) loadView(op *ir.Op) {
	args := c.access(op)
	args["block"] = c.block(op)
	args["latency"] = c.latency(op)
	c.make(op, "tiled_load", args)
}

func (c *converter) storeView(op *ir.Op)     { c.store(op, "tiled_store") }
func (c *converter) multimemStore(op *ir.Op) { c.store(op, "multimem_store") }

func (c *converter) store(op *ir.Op, name string) {
	args := c.access(op)
	args["block"], args["value"] = c.block(op), c.operand(op.OperandNamed("tile"))
	c.make(op, name, args)
}

// multimemModes is the mode of every reduction of multicast memory, in the order of the enumeration; sums of floats are addf.
var multimemModes = [...]uint32{def.ModeAdd, def.ModeMin, def.ModeMax, def.ModeAnd, def.ModeOr, def.ModeXor, def.ModeUMin, def.ModeUMax}

func multimemMode(op *ir.Op) uint32 {
	mode := multimemModes[op.EnumNamed("reduction")]
	if ir.IsFloat(op.OperandNamed("view").Type().(cudatile.TileView).View().Tile.Elem) && mode == def.ModeAdd {
		return def.ModeAddF
	}
	return mode
}

func (c *converter) multimemLoad(op *ir.Op) {
	args := c.access(op)
	args["block"], args["mode"] = c.block(op), multimemMode(op)
	c.make(op, "multimem_load", args)
}

// multimemReduce: PTX has no weak reduction, and a relaxed one does all that a weak one must.
func (c *converter) multimemReduce(op *ir.Op) {
	args := c.access(op)
	args["block"], args["value"], args["mode"] = c.block(op), c.operand(op.OperandNamed("tile")), multimemMode(op)
	args["order"] = max(op.EnumNamed("memory_ordering_semantics"), def.Relaxed)
	c.make(op, "multimem_reduce", args)
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
	args := c.access(op)
	args["block"], args["value"] = c.block(op), c.operand(op.OperandNamed("value"))
	args["mode"] = op.EnumNamed("mode")
	c.make(op, "tiled_atomic", args)
}

// assume of a tensor view speaks about its base address: the promise moves there and a new memref carries it.
func (c *converter) assume(op *ir.Op) {
	v := c.operand(op.OperandNamed("value"))
	predicate := c.attribute(op, &ir.ArgDef{Attr: ir.PredicateKind}, op.AttrNamed("predicate"))
	promise := func(v *ir.Value) *ir.Value {
		return tileaa.One(c.b, "assume", v.Type(), tileaa.Args{"value": v, "predicate": predicate})
	}
	memref := v.DefiningOp()
	if _, ok := v.Type().(*tileaa.MemrefType); ok {
		c.values[op.Result(0)] = tileaa.One(c.b, "make_memref", v.Type(), tileaa.Args{
			"base":    promise(memref.OperandNamed("base")),
			"shape":   memref.OperandGroupNamed("shape"),
			"strides": memref.OperandGroupNamed("strides"),
		})
		return
	}
	if _, ok := v.Type().(*tileaa.TileType); !ok {
		c.unsupported(op, "of a value of type %s", ir.ShortType(v.Type()))
		return
	}
	c.result(op.Result(0), promise(v))
}

// extent is array dimension a of a memref: nil and a number when it is static, else the operand.
func extent(memref *ir.Op, a int) (v *ir.Value, n int64) {
	shape := memref.Result(0).Type().(*tileaa.MemrefType).Shape
	if shape[a] != tileaa.Dynamic {
		return nil, shape[a]
	}
	k := 0
	for _, s := range shape[:a] {
		if s == tileaa.Dynamic {
			k++
		}
	}
	return memref.OperandGroupNamed("shape")[k], 0
}

// resized is an unsigned rank-0 integer in another type; a value that does not fit is undefined.
func (c *converter) resized(v *ir.Value, t *tileaa.TileType) *ir.Value {
	from, to := ir.BitWidth(tileaa.AsTile(v).Elem), ir.BitWidth(t.Elem)
	switch {
	case from < to:
		return tileaa.One(c.b, "exti", t, tileaa.Args{"source": v, "signedness": uint32(def.Unsigned)})
	case from > to:
		return tileaa.One(c.b, "trunci", t, tileaa.Args{"source": v})
	}
	return v
}

func (c *converter) tensorShape(op *ir.Op) {
	memref := c.operand(op.Operand(0)).DefiningOp()
	for a, r := range op.Results() {
		t := c.typ(op, r.Type()).(*tileaa.TileType)
		if v, n := extent(memref, a); v != nil {
			c.values[r] = c.resized(v, t)
		} else {
			c.values[r] = tileaa.Const(c.b, t, n)
		}
	}
}

// indexSpace is how many blocks fit along each dimension, the last one perhaps partly: ceil(extent / step), unsigned.
func (c *converter) indexSpace(op *ir.Op) {
	view, ok := op.Operand(0).Type().(cudatile.TileView)
	if !ok || view.View().SparseDim >= 0 {
		c.unsupported(op, "of a %s", ir.ShortType(op.Operand(0).Type()))
		return
	}
	f := view.View()
	memref := c.operand(op.Operand(0)).DefiningOp()
	for d, r := range op.Results() {
		t := c.typ(op, r.Type()).(*tileaa.TileType)
		v, n := extent(memref, f.DimMap[d])
		if v == nil {
			c.values[r] = tileaa.Const(c.b, t, n/f.Step[d]+min(n%f.Step[d], 1))
			continue
		}
		blocks := tileaa.One(c.b, "divi", v.Type(), tileaa.Args{
			"lhs": v, "rhs": tileaa.Const(c.b, tileaa.AsTile(v), f.Step[d]),
			"signedness": uint32(def.Unsigned), "rounding": uint32(def.RoundPosInf),
		})
		c.values[r] = c.resized(blocks, t)
	}
}

// grid makes one op for each of the three dimensions.
func (c *converter) grid(op *ir.Op) {
	name := conversions[op.Def.Name].to
	for axis, r := range op.Results() {
		c.result(r, tileaa.One(c.b, name, c.typ(op, r.Type()), tileaa.Args{"axis": axis}))
	}
}
