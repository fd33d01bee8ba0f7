package slice

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// This file gives every dimension of a reshaped iota its own numbers, so that it can be cut along each:
//
//	reshape (iota : 64x) : 8x8      =>      (broadcast of iota 8 along rows) * 8 + (broadcast of iota 8 along columns)

// expandIotas replaces reshaped iotas from which operands of products are addressed.
func expandIotas(s *pass.State, entry *ir.Op) {
	feeds := FeedsProducts{}
	uses := map[*ir.Op][]*ir.Use{} // that lead to operands only
	var list []*ir.Op
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		if !isReshapedIota(op) {
			return
		}
		for u := op.Result(0).FirstUse(); u != nil; u = u.Next() {
			if user := u.Owner(); user.NumResults() > 0 && feeds.Of(user.Result(0)) {
				uses[op] = append(uses[op], u)
			}
		}
		if uses[op] != nil {
			list = append(list, op)
		}
	})
	for _, op := range list {
		expandIota(s, op, uses[op])
	}
}

// expandExtractedIotas replaces reshaped iotas of which pieces would be extracted through shared memory; false if there is none.
func (c *slicer) expandExtractedIotas() bool {
	found := map[*ir.Op]bool{}
	for _, o := range c.outputs {
		for k, how := range o.how { // fills a set: the order cannot matter
			if op := k.v.DefiningOp(); how == extracted && op != nil && isReshapedIota(op) {
				found[op] = true
			}
		}
	}
	var list []*ir.Op
	c.s.Walk(c.entry, ir.PreOrder, func(op *ir.Op) {
		if found[op] {
			list = append(list, op)
		}
	})
	for _, op := range list {
		expandIota(c.s, op, op.Result(0).Uses())
	}
	return len(list) > 0
}

func isReshapedIota(op *ir.Op) bool {
	return op.Code() == tileaa.OpReshape && ir.Is[tileaa.Iota](op.Operand(0).DefiningOp()) && tileaa.AsTile(op.Result(0)).NumElements() > 1
}

// expandIota replaces a reshaped iota by a sum of one iota for each dimension.
func expandIota(s *pass.State, op *ir.Op, uses []*ir.Use) {
	b := ir.NewBuilder(s.Ctx).Before(op)
	b.Loc = op.Loc()
	t := tileaa.AsTile(op.Result(0))
	var sum *ir.Value
	stride := t.NumElements()
	for d, n := range t.Shape {
		if stride /= n; n == 1 {
			continue
		}
		line := tileaa.Tile(s.Ctx, t.Elem, n)
		v := tileaa.NewIota(b, line).Result()
		if stride > 1 {
			v = tileaa.NewMuli(b, v, tileaa.Const(b, line, stride), tileaa.MuliOptions{}).Result()
		}
		ones := slices.Repeat([]int64{1}, len(t.Shape))
		ones[d] = n
		v = tileaa.NewReshape(b, tileaa.Tile(s.Ctx, t.Elem, ones...), v).Result()
		if n < t.NumElements() {
			v = tileaa.NewBroadcast(b, t, v).Result()
		}
		if sum != nil {
			v = tileaa.NewAddi(b, sum, v, tileaa.AddiOptions{}).Result()
		}
		sum = v
	}
	for _, u := range uses {
		u.Owner().SetOperand(u.Index(), sum)
	}
}
