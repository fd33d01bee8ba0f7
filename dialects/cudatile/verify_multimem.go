package cudatile

import (
	"slices"

	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
	"tileiras/ir/float"
)

func multimemRules() {
	view := viewOf
	rule(func(c *ir.Context, op *ir.Op) bool {
		return multicast(c, op, view(op)) && verifyIndices(c, op, view(op)) && tileFits(c, op, view(op), op.Result(0).Type()) &&
			multimemElement(c, op, view(op))
	}, OpMultimemLoadReduceViewTko)
	rule(func(c *ir.Context, op *ir.Op) bool {
		return multicast(c, op, view(op)) && verifyIndices(c, op, view(op)) && tileFits(c, op, view(op), stored(op).Type()) &&
			multimemElement(c, op, view(op))
	}, OpMultimemReduceViewTko, OpMultimemStoreViewTko)
}

// viewOf is the view of an operation on one.
func viewOf(op *ir.Op) ViewFacts { return ViewAccess{op}.View().Type().(TileView).View() }

// stored is the tile that a multimem operation stores or reduces.
func stored(op *ir.Op) *ir.Value {
	if r, ok := ir.As[MultimemReduceViewTko](op); ok {
		return r.Tile()
	}
	return MultimemStoreViewTko{op}.Tile()
}

// multicast checks what the multimem operations share: relaxed or weak accesses of multicast memory.
func multicast(c *ir.Context, op *ir.Op, view ViewFacts) bool {
	if !view.Tensor.PtrAttr.Is(def.PtrMulticast) {
		got := "none"
		if v, ok := view.Tensor.PtrAttr.Get(); ok {
			got = def.PtrAttrEnum.Keyword(v)
		}
		return c.Error(op, "expected a multicast pointer, but got %s", got)
	}
	order := MemoryOp{op}.MemoryOrderingSemantics()
	_, scoped := MemoryOp{op}.MemoryScope()
	if allowed := []def.MemOrder{def.Weak, def.Relaxed, def.Release, def.Acquire}; !slices.Contains(allowed, order) {
		return c.Error(op, "expect one of: weak, relaxed, acquire, or release, but got: %s", def.MemOrderEnum.Keyword(order))
	}
	if scoped == (order == def.Weak) && op.Def.Args[1].Mode == ir.Optional {
		return c.Error(op, "memory scope must be given exactly when the access is not weak, and it is %s", def.MemOrderEnum.Keyword(order))
	}
	return true
}

// multimemElement checks that there is such a reduction of such elements: PTX has multimem for words of 32 and 64 bits and the
// floats of 16 bits and more, and of floats only sums, and when loading the least and greatest of the short ones.
func multimemElement(c *ir.Context, op *ir.Op, view ViewFacts) bool {
	elem := view.Tile.Elem
	if t, ok := elem.(*ir.IntegerType); ok {
		if t.Width < 32 {
			return c.Error(op, "multimem requires 32- or 64-bit integer/index element types; got %d bits", t.Width)
		}
		return true
	}
	short := ir.IsFloat(elem, float.F16) || ir.IsFloat(elem, float.BF16)
	if !short && !ir.IsFloat(elem, float.F32) && !ir.IsFloat(elem, float.F64) {
		return c.Error(op, "multimem supports only f16, bf16, f32, and f64 floating-point element types")
	}
	reduce, reduces := ir.As[ReducingOp](op)
	if !reduces { // a store
		return true
	}
	switch kind := reduce.Reduction(); {
	case kind == def.MultimemAdd:
		return true
	case kind != def.MultimemMin && kind != def.MultimemMax:
		return c.Error(op, "and/or/xor/umin/umax reductions require integer element types")
	case op.NumResults() == 1: // only the token: it reduces in memory
		return c.Error(op, "supports only add for floating-point element types")
	case !short:
		return c.Error(op, "min/max supports f16 and bf16 float types only; got %s", quoted(elem))
	}
	return true
}
