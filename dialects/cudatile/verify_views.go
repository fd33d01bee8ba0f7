package cudatile

import (
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
)

func viewRules() {
	rule(verifyMakeTensorView, OpMakeTensorView)
	rule(func(c *ir.Context, op *ir.Op) bool {
		got, want := op.Operand(0).Type(), op.Result(0).Type().(TileView).View().Tensor
		if got != ir.Type(want) {
			return c.Error(op, "expected the type of the provided tensor_view value (%s) to be the same as the view's tensor_view type (%s)",
				quoted(got), quoted(want))
		}
		return true
	}, OpMakePartitionView, OpMakeGatherScatterView, OpMakeStridedView)
	rule(func(c *ir.Context, op *ir.Op) bool {
		return extents(c, op, len(op.Operand(0).Type().(*TensorViewType).Shape), "tensor rank")
	}, OpGetTensorShape)
	rule(func(c *ir.Context, op *ir.Op) bool {
		return extents(c, op, op.Operand(0).Type().(TileView).View().NumIndices(), "view index space rank")
	}, OpGetIndexSpaceShape)
}

// extents checks that a query has one result for each dimension, all of one type.
func extents(c *ir.Context, op *ir.Op, want int, due string) bool {
	if op.NumResults() != want {
		return c.Error(op, "expected %d results due to %s, but got %d", want, due, op.NumResults())
	}
	for _, r := range op.Results() {
		if r.Type() != op.Result(0).Type() {
			return c.Error(op, "expected all results to have the same type, but got %s", quotedAll(op.Results()))
		}
	}
	return true
}

func verifyMakeTensorView(c *ir.Context, o *ir.Op) bool {
	op := MakeTensorView{o}
	view := op.Result().Type().(*TensorViewType)
	base := elem(op.Base()).(*PtrType)
	if base.Elem != view.Elem {
		return c.Error(o, "expected pointer to %s to build tensor_view of this type, got %s", quoted(view.Elem), quoted(base.Elem))
	}
	_, has := base.Attr.Get()
	a, b := attrName(base.Attr), attrName(view.PtrAttr)
	switch {
	case base.Attr == view.PtrAttr:
	case !has:
		return c.Error(o, "pointer base without ptr_attr cannot produce tensor_view with ptr_attr")
	case view.PtrAttr == Absent:
		return c.Error(o, "tensor_view must preserve ptr_attr from base pointer (%s)", a)
	default:
		return c.Error(o, "ptr_attr mismatch between base pointer (%s) and result tensor_view (%s)", a, b)
	}
	var first ir.Type
	for _, g := range []struct {
		what string
		got  []*ir.Value
		dims []int64
	}{{"shape", op.DynamicShape(), view.Shape}, {"stride", op.DynamicStrides(), view.Strides}} {
		if want := dynamicDims(g.dims); len(g.got) != want {
			return c.Error(o, "expected %d dynamic %s operands, got %d", want, g.what, len(g.got))
		}
		for _, v := range g.got {
			if first == nil {
				first = v.Type()
			}
			if v.Type() != first {
				return c.Error(o, "expected all dynamic shape and stride operands to have the same type, got %s and %s",
					quoted(first), quoted(v.Type()))
			}
		}
	}
	return true
}

func attrName(o Optional[def.PtrAttr]) string {
	v, _ := o.Get()
	return def.PtrAttrEnum.Keyword(v)
}

// verifyIndices checks the index operands of an access through a view.
func verifyIndices(c *ir.Context, op *ir.Op, view ViewFacts) bool {
	access := ViewAccess{op}
	indices := access.Index()
	if len(indices) != view.NumIndices() {
		return c.Error(op, "expected %d index operands (based on view type), got %d", view.NumIndices(), len(indices))
	}
	if inbounds := access.Inbounds(); inbounds != nil && len(inbounds) != len(indices) {
		return c.Error(op, "expected %d inbounds values (based on view type), got %d", len(indices), len(inbounds))
	}
	var first ir.Type
	for i, v := range indices {
		t := tile(v)
		switch {
		case i == view.SparseDim:
			if t.Rank() != 1 {
				return c.Error(op, "expected index at sparse_dim position %d to be a 1D tensor for GatherScatterView, got rank %d", i, t.Rank())
			}
			if t.Shape[0] != view.Tile.Shape[i] {
				return c.Error(op, "expected gather/scatter index size (%d) to match tile shape at gather/scatter dimension %d (%d)",
					t.Shape[0], i, view.Tile.Shape[i])
			}
			continue
		case t.Rank() != 0 && view.SparseDim >= 0:
			return c.Error(op, "expected index %d to be a scalar tile for GatherScatterView", i)
		case t.Rank() != 0:
			return c.Error(op, "expected index type to be a scalar tile, got %s", quoted(t))
		}
		if first == nil {
			first = t
		}
		if first != ir.Type(t) {
			return c.Error(op, "expected index type %d to be the same as other index types (%s), got %s", i, quoted(first), quoted(t))
		}
	}
	return true
}

// tileFits checks that the tile of an access is the view's.
func tileFits(c *ir.Context, op *ir.Op, view ViewFacts, t ir.Type) bool {
	if t != ir.Type(view.Tile) {
		return c.Error(op, "expected tile type to be %s (based on view type), got %s", quoted(view.Tile), quoted(t))
	}
	return true
}
