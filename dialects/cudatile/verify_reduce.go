package cudatile

import (
	"slices"

	"tileiras/ir"
)

func reduceRules() {
	rule(func(c *ir.Context, op *ir.Op) bool {
		return verifyCombining(c, op) && reduceResults(c, op)
	}, OpReduce)
	rule(func(c *ir.Context, op *ir.Op) bool {
		if !verifyCombining(c, op) {
			return false
		}
		for i, r := range op.Results() {
			if r.Type() != op.Operand(i).Type() {
				return c.Error(op, "expect same type for operand at index: %d and result at index: %d", i, i)
			}
		}
		return true
	}, OpScan)
}

// verifyCombining checks what reduce and scan share: operands of one shape, an identity and a pair of block arguments for
// each, and a pure body that yields as many values.
func verifyCombining(c *ir.Context, op *ir.Op) bool {
	n := op.NumOperands()
	switch ids := (AggregateOp{op}).Identities(); {
	case n == 0:
		return c.Error(op, "expect at least 1 operand")
	case op.NumResults() != n:
		return c.Error(op, "expect same number of operands and results")
	case len(ids) != n:
		return c.Error(op, "expect identities to match the number of operands but got: %d operands and %d identities", n, len(ids))
	}
	first := tile(op.Operand(0))
	for i := range n {
		if !slices.Equal(tile(op.Operand(i)).Shape, first.Shape) {
			return c.Error(op, "requires the same shape for all operands")
		}
	}
	if !identitiesFit(c, op, AggregateOp{op}.Identities()) {
		return false
	}
	dim := AggregateOp{op}.Dim()
	if dim < 0 {
		return c.Error(op, "attribute 'dim' failed to satisfy constraint: 32-bit signless integer attribute whose value is non-negative")
	}
	if dim >= int64(first.Rank()) {
		return c.Error(op, "dimension (%d) is out of bound [0, %d)", dim, first.Rank())
	}
	return combiner(c, op)
}

// identitiesFit checks the types of the identities. Floats of one width pass for each other: an f16 identity of a bf16 tile
// occurs in files that the official tools accept, and no identity is used as data.
func identitiesFit(c *ir.Context, op *ir.Op, ids ir.ArrayAttr) bool {
	for i, id := range ids {
		want := elem(op.Operand(i))
		var got ir.Type
		switch id := id.(type) {
		case ir.IntegerAttr:
			got = id.Type
		case ir.FloatAttr:
			got = id.Type
		case ir.BoolAttr:
			got = c.Int(1)
		default:
			return c.Error(op, "expect identity at index: %d to be an integer or a float", i)
		}
		if got != want && !(ir.IsFloat(got) && ir.IsFloat(want) && ir.BitWidth(got) == ir.BitWidth(want)) {
			return c.Error(op, "expect same type for operand at index: %d and identity at index: %d but got: %s and %s",
				i, i, quoted(want), quoted(got))
		}
	}
	return true
}

// combiner checks the body: (element, accumulator) for each operand in, as many values out.
func combiner(c *ir.Context, op *ir.Op) bool {
	n, b := op.NumOperands(), op.Body()
	if b == nil {
		return c.Error(op, "region #0 ('body') failed to verify constraint: region with 1 blocks")
	}
	if b.NumArgs() != 2*n {
		return c.Error(op, "expect %d block arguments but got: %d", 2*n, b.NumArgs())
	}
	for i, a := range b.Args() {
		if t, ok := a.Type().(*TileType); !ok || t.Rank() != 0 {
			return c.Error(op, "expect 0-rank tile type at index: %d but got: %s", i, quoted(a.Type()))
		}
	}
	for i := range n {
		x, acc, want := elem(b.Arg(2*i)), elem(b.Arg(2*i+1)), elem(op.Operand(i))
		if x != acc {
			return c.Error(op, "expect same element type for block argument at index: %d and %d but got: %s and %s",
				2*i, 2*i+1, quoted(x), quoted(acc))
		}
		if x != want {
			return c.Error(op, "expect same type for operand at index: %d and block argument at index: %d but got: %s and %s",
				i, 2*i, quoted(want), quoted(x))
		}
	}
	yield := b.Last()
	if yield == nil || yield.Code() != OpYield {
		return c.Error(op, "expect the body to end in 'cuda_tile.yield'")
	}
	if yield.NumOperands() != n {
		return c.Error(op, "expect number of terminators operands (%d) to match number of operands (%d)", yield.NumOperands(), n)
	}
	for i := range n {
		t, ok := yield.Operand(i).Type().(*TileType)
		if !ok || t.Rank() != 0 || t.Elem != elem(op.Operand(i)) {
			got := yield.Operand(i).Type()
			if ok {
				got = t.Elem
			}
			return c.Error(op, "expect same type for operand at index: %d and terminator argument at index: %d but got: %s and %s",
				i, i, quoted(elem(op.Operand(i))), quoted(got))
		}
	}
	return onlyPure(c, op, b)
}

// onlyPure checks that nothing in a block has an effect. An if is as pure as what is inside it.
func onlyPure(c *ir.Context, op *ir.Op, b *ir.Block) bool {
	for o := b.First(); o != nil; o = o.Next() {
		t := o.Traits()
		if !t.Has(ir.Pure) && !t.Has(ir.Terminator) && len(o.Regions()) == 0 {
			return c.Error(o, "only pure operations are allowed inside '%s'", op.Name())
		}
		for inner := range o.Blocks() {
			if !onlyPure(c, op, inner) {
				return false
			}
		}
	}
	return true
}

// reduceResults checks that the results lose the reduced dimension.
func reduceResults(c *ir.Context, op *ir.Op) bool {
	dim := int(AggregateOp{op}.Dim())
	ok := true
	text := ""
	for i, r := range op.Results() {
		shape := slices.Delete(slices.Clone(tile(op.Operand(i)).Shape), dim, dim+1)
		t, err := Tile(c, elem(op.Operand(i)), shape)
		if err != nil {
			return c.Error(op, "%v", err)
		}
		ok = ok && r.Type() == ir.Type(t)
		if i > 0 {
			text += ", "
		}
		text += quoted(t)
	}
	if !ok {
		c.Error(op, "inferred type(s) %s are incompatible with return type(s) of operation %s", text, quotedAll(op.Results()))
		return c.Error(op, "failed to infer returned types")
	}
	return true
}
