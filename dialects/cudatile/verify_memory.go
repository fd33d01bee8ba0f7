package cudatile

import (
	"slices"

	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
	"tileiras/ir/float"
)

func memoryRules() {
	load, store := ordering("load", def.Acquire), ordering("store", def.Release)
	view := viewOf

	rule(func(c *ir.Context, op *ir.Op) bool {
		return load(c, op) && verifyIndices(c, op, view(op)) && tileFits(c, op, view(op), op.Result(0).Type())
	}, OpLoadViewTko)
	rule(func(c *ir.Context, op *ir.Op) bool {
		return store(c, op) && verifyIndices(c, op, view(op)) && tileFits(c, op, view(op), StoreViewTko{op}.Tile().Type())
	}, OpStoreViewTko)
	rule(func(c *ir.Context, op *ir.Op) bool {
		return pointsTo(c, op, "source", LoadPtrTko{op}.Source(), "result", op.Result(0)) && load(c, op)
	}, OpLoadPtrTko)
	rule(func(c *ir.Context, op *ir.Op) bool {
		return pointsTo(c, op, "destination", StorePtrTko{op}.Destination(), "value", StorePtrTko{op}.Value()) && store(c, op)
	}, OpStorePtrTko)
	rule(func(c *ir.Context, op *ir.Op) bool {
		a := AtomicCasTko{op}
		t := elem(a.Val())
		if !atomicOrdering(c, op) || !pointeeFits(c, op, a.Pointers(), "val", a.Val()) {
			return false
		}
		if !wordSized(t) {
			return c.Error(op, "expect only float or integer types with 32 or 64 bit")
		}
		return true
	}, OpAtomicCasTko)
	rule(func(c *ir.Context, op *ir.Op) bool {
		a := AtomicRmwTko{op}
		return atomicOrdering(c, op) && pointeeFits(c, op, a.Pointers(), "arg", a.Arg()) && modeFits(c, op, a.Mode(), elem(a.Arg()))
	}, OpAtomicRmwTko)
	rule(func(c *ir.Context, op *ir.Op) bool {
		return verifyViewReduction(c, op, view(op))
	}, OpAtomicRedViewTko)
	rule(func(c *ir.Context, op *ir.Op) bool {
		if op.NumOperands() < 2 {
			return c.Error(op, "expect two or more tokens")
		}
		return true
	}, OpJoinTokens)
	rule(verifyAlloca, OpAlloca)
}

// ordering makes the rule for loads and stores: weak without a scope, the others with one.
func ordering(what string, strong def.MemOrder) func(*ir.Context, *ir.Op) bool {
	return func(c *ir.Context, op *ir.Op) bool {
		order := MemoryOp{op}.MemoryOrderingSemantics()
		_, scoped := MemoryOp{op}.MemoryScope()
		word := def.MemOrderEnum.Keyword(order)
		switch {
		case order != def.Weak && order != def.Relaxed && order != strong:
			return c.Error(op, "expect one of: weak, relaxed, or %s, but got: %s", def.MemOrderEnum.Keyword(strong), word)
		case order == def.Weak && scoped:
			return c.Error(op, "weak %s must not have memory scope", what)
		case order != def.Weak && !scoped:
			return c.Error(op, "memory scope is required for %s %s", word, what)
		}
		return true
	}
}

func atomicOrdering(c *ir.Context, op *ir.Op) bool {
	if (MemoryOp{op}).MemoryOrderingSemantics() == def.Weak {
		return c.Error(op, "memory ordering semantics must be one of: relaxed, acquire, release, acq_rel")
	}
	return true
}

// pointsTo checks that a tile of pointers has the shape of what is loaded or stored and points to its elements.
func pointsTo(c *ir.Context, op *ir.Op, ptr string, p *ir.Value, what string, v *ir.Value) bool {
	if pointee(p) != elem(v) || !slices.Equal(tile(p).Shape, tile(v).Shape) {
		return c.Error(op, "failed to verify that `%s` type is expected a pointer type of `%s` type", ptr, what)
	}
	return true
}

// pointeeFits checks that pointers point to what is loaded or stored.
func pointeeFits(c *ir.Context, op *ir.Op, ptr *ir.Value, what string, v *ir.Value) bool {
	if p, e := pointee(ptr), elem(v); p != e {
		return c.Error(op, "expected pointee type (%s) to match element type of '%s' (%s)", quoted(p), what, quoted(e))
	}
	return true
}

// wordSized: integers and floats of 32 or 64 bits. tf32 takes 32 bits of memory and is none of them.
func wordSized(t ir.Type) bool {
	return ir.IsInt(t, 32, 64) || ir.IsFloat(t, float.F32, float.F64)
}

// modeFits checks the element type of an atomic operation against its mode.
func modeFits(c *ir.Context, op *ir.Op, mode def.AtomicMode, t ir.Type) bool {
	word := def.AtomicModeEnum.Keyword(mode)
	switch mode {
	case def.ModeAddF:
		if !ir.IsFloat(t, float.F16, float.BF16, float.F32, float.F64) {
			return c.Error(op, "'%s' works only with floats f16, bf16, f32, and f64", word)
		}
	case def.ModeXchg:
		if !wordSized(t) {
			return c.Error(op, "'%s' works only with integers or float of 32 or 64 bitwidth", word)
		}
	default:
		if !ir.IsInt(t, 32, 64) {
			return c.Error(op, "'%s' works only with integers i32 and i64", word)
		}
	}
	return true
}

func verifyViewReduction(c *ir.Context, op *ir.Op, view ViewFacts) bool {
	r := AtomicRedViewTko{op}
	value, indices := r.Value(), r.Index()
	scope, scoped := MemoryOp{op}.MemoryScope()
	_, padded := view.Padding.Get()
	switch old := c.Release != (ir.Version{}) && c.Release.Before(def.V134); {
	case view.SparseDim >= 0:
		return c.Error(op, "gather_scatter_view is not supported; use partition_view instead")
	case padded && old:
		return c.Error(op, "views with padding_value are not supported for atomic reductions")
	case view.Tile.Elem != elem(value):
		return c.Error(op, "view element type (%s) must match value element type (%s)", quoted(view.Tile.Elem), quoted(elem(value)))
	case !slices.Equal(view.Tile.Shape, tile(value).Shape):
		return c.Error(op, "view tile shape %s must match value shape %s for element-wise atomic operations", shapeText(view.Tile), shapeText(tile(value)))
	case r.Mode() == def.ModeXchg:
		return c.Error(op, "atomic_red_view_tko op cannot use xchg operation")
	case !modeFits(c, op, r.Mode(), elem(value)):
		return false
	case r.MemoryOrderingSemantics() != def.Relaxed:
		return c.Error(op, "only 'relaxed' memory ordering is supported for view-based atomic reductions")
	case scoped && scope == def.ScopeSys:
		return c.Error(op, "memory scope 'sys' is not supported for view-based atomic reductions; use 'tl_blk' or 'device' for TMA compatibility")
	case len(indices) != view.NumIndices():
		return c.Error(op, "expected %d index operand(s) for view with tile rank %d, got %d", view.NumIndices(), view.NumIndices(), len(indices))
	}
	for i, v := range indices {
		if t := tile(v); t.Rank() != 0 {
			return c.Error(op, "index operand %d must be a scalar tile (rank 0), got shape %s", i, shapeText(t))
		}
	}
	return verifyIndices(c, op, view)
}

// leastZero is what MLIR says of a negative attribute.
const leastZero = "attribute '%s' failed to satisfy constraint: 64-bit signless integer attribute whose minimum value is 0"

func verifyAlloca(c *ir.Context, op *ir.Op) bool {
	n, align := Alloca{op}.NumElem(), Alloca{op}.Alignment()
	natural := max(storageBits(pointee(op.Result(0))), 8) / 8
	switch {
	case n < 0:
		return c.Error(op, leastZero, "num_elem")
	case align < 0:
		return c.Error(op, leastZero, "alignment")
	case align == 0 || align&(align-1) != 0:
		return c.Error(op, "'alignment' must be power of two")
	case align < natural:
		return c.Error(op, "'alignment' (%d) must be at least the natural size (%d bytes) for element type %s", align, natural, quoted(pointee(op.Result(0))))
	}
	return true
}
