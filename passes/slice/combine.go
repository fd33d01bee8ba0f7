package slice

import (
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// combineTiles is the combine region of a reduce or scan on tiles instead of elements; outside is what stands for a scalar from outside of it.
//
//	(%a: f32, %x: f32) { yield (maxf %a, %x) }    =>    maxf %before, %next
func combineTiles(b *ir.Builder, op *ir.Op, before, next []*ir.Value, outside func(*ir.Value) *ir.Value) []*ir.Value {
	body := op.Body()
	m := ir.Mapping{}
	for i := range before {
		m[body.Arg(2*i)], m[body.Arg(2*i+1)] = before[i], next[i]
	}
	shape := tileaa.ShapeOf(next[0])
	as := func(v *ir.Value) *tileaa.TileType { return tileaa.Tile(b.Ctx, tileaa.AsTile(v).Elem, shape...) }
	for op := body.First(); op != nil; op = op.Next() {
		for _, v := range op.Operands() {
			if m[v] == nil {
				m[v] = tileaa.NewSplat(b, as(v), outside(v)).Result()
			}
		}
		switch op.Code() {
		case tileaa.OpYield:
			out := make([]*ir.Value, len(before))
			for i, v := range op.Operands() {
				out[i] = m[v]
			}
			return out
		case tileaa.OpConstant:
			bits, _ := tileaa.SplatValue(op.Result(0))
			m[op.Result(0)] = tileaa.NewConstant(b, as(op.Result(0)), tileaa.SplatOf(as(op.Result(0)), bits)).Result()
		default:
			c := b.Clone(op, m)
			for _, r := range c.Results() {
				r.SetType(as(r))
			}
		}
	}
	panic("BUG: the region of a reduce or scan does not end in yield")
}
