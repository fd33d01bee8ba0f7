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
	}, "load_view_tko")
	rule(func(c *ir.Context, op *ir.Op) bool {
		return store(c, op) && verifyIndices(c, op, view(op)) && tileFits(c, op, view(op), op.OperandNamed("tile").Type())
	}, "store_view_tko")
	rule(func(c *ir.Context, op *ir.Op) bool {
		return pointsTo(c, op, "source", "result", op.Result(0)) && load(c, op)
	}, "load_ptr_tko")
	rule(func(c *ir.Context, op *ir.Op) bool {
		return pointsTo(c, op, "destination", "value", op.OperandNamed("value")) && store(c, op)
	}, "store_ptr_tko")
	rule(func(c *ir.Context, op *ir.Op) bool {
		t := elem(op.OperandNamed("val"))
		if !atomicOrdering(c, op) || !pointeeFits(c, op, "pointers", "val", op.OperandNamed("val")) {
			return false
		}
		if !wordSized(t) {
			return c.Error(op, "expect only float or integer types with 32 or 64 bit")
		}
		return true
	}, "atomic_cas_tko")
	rule(func(c *ir.Context, op *ir.Op) bool {
		return atomicOrdering(c, op) && pointeeFits(c, op, "pointers", "arg", op.OperandNamed("arg")) &&
			modeFits(c, op, elem(op.OperandNamed("arg")))
	}, "atomic_rmw_tko")
	rule(func(c *ir.Context, op *ir.Op) bool {
		return verifyViewReduction(c, op, view(op))
	}, "atomic_red_view_tko")
	rule(func(c *ir.Context, op *ir.Op) bool {
		if op.NumOperands() < 2 {
			return c.Error(op, "expect two or more tokens")
		}
		return true
	}, "join_tokens")
	rule(verifyAlloca, "alloca")
}

// ordering makes the rule for loads and stores: weak without a scope, the others with one.
func ordering(what string, strong uint32) func(*ir.Context, *ir.Op) bool {
	return func(c *ir.Context, op *ir.Op) bool {
		order, scoped := op.EnumNamed("memory_ordering_semantics"), op.AttrNamed("memory_scope") != nil
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
	if op.EnumNamed("memory_ordering_semantics") == def.Weak {
		return c.Error(op, "memory ordering semantics must be one of: relaxed, acquire, release, acq_rel")
	}
	return true
}

// pointsTo checks that a tile of pointers has the shape of what is loaded or stored and points to its elements.
func pointsTo(c *ir.Context, op *ir.Op, ptr, what string, v *ir.Value) bool {
	p := op.OperandNamed(ptr)
	if pointee(p) != elem(v) || !slices.Equal(tile(p).Shape, tile(v).Shape) {
		return c.Error(op, "failed to verify that `%s` type is expected a pointer type of `%s` type", ptr, what)
	}
	return true
}

// pointeeFits checks that pointers point to what is loaded or stored.
func pointeeFits(c *ir.Context, op *ir.Op, ptr, what string, v *ir.Value) bool {
	if p, e := pointee(op.OperandNamed(ptr)), elem(v); p != e {
		return c.Error(op, "expected pointee type (%s) to match element type of '%s' (%s)", quoted(p), what, quoted(e))
	}
	return true
}

// wordSized: integers and floats of 32 or 64 bits. tf32 takes 32 bits of memory and is none of them.
func wordSized(t ir.Type) bool {
	return ir.IsInt(t, 32, 64) || ir.IsFloat(t, float.F32, float.F64)
}

// modeFits checks the element type of an atomic operation against its mode.
func modeFits(c *ir.Context, op *ir.Op, t ir.Type) bool {
	mode := op.EnumNamed("mode")
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
	value := op.OperandNamed("value")
	indices := op.OperandGroupNamed("index")
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
	case op.EnumNamed("mode") == def.ModeXchg:
		return c.Error(op, "atomic_red_view_tko op cannot use xchg operation")
	case !modeFits(c, op, elem(value)):
		return false
	case op.EnumNamed("memory_ordering_semantics") != def.Relaxed:
		return c.Error(op, "only 'relaxed' memory ordering is supported for view-based atomic reductions")
	case op.EnumNamed("memory_scope") == def.ScopeSys:
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
	n, align := op.IntNamed("num_elem"), op.IntNamed("alignment")
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
