package slice

import (
	"maps"
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// This file cuts loops of the program that carry big tiles, or make them. Where such a loop has no effects, it can run once for each piece:
//
//	%s = for %k = .. inits(%zero) : 65536xf32 {            for %p = 0 to 4 {
//	  %x = tiled_load %bx[%k]                                %s' = for %k = .. inits(%zero') : 16384xf32 {
//	  continue (addf %s, %x)                        =>         %x' = tiled_load (piece %p of %bx[%k])
//	}                                                          continue (addf %s', %x')
//	tiled_store %s, %by                                      }
//	                                                         tiled_store %s', (piece %p of %by) }
//
// What the loop computes besides, its counter and whatever follows from it, is computed again for each piece.

// cuttable reports whether op is a loop that carries or makes a big tile and does nothing but compute and load, without an order of tokens
// that would leave it.
func (c *slicer) cuttable(op *ir.Op) bool {
	if op == nil || op.Code() != tileaa.OpFor {
		return false
	}
	can, old := c.loops[op]
	if !old {
		ops := op.Body().Ops()
		can = !slices.ContainsFunc(op.Results(), tileaa.IsToken) && !slices.ContainsFunc(ops, func(o *ir.Op) bool {
			return !(o.Traits().Has(ir.Pure) || loadsFreely(o) || o.Code() == tileaa.OpContinue)
		}) && (slices.ContainsFunc(op.Results(), c.big) || slices.ContainsFunc(ops, c.involvesBig))
		c.loops[op] = can
	}
	return can
}

// within is the loop that could be cut in whose body a value is defined, as seen from a place outside of it; nil if there is none.
func (c *slicer) within(v *ir.Value, place *ir.Op) *ir.Op {
	f := v.ParentBlock().ParentOp()
	if c.cuttable(f) && !ir.IsProperAncestor(f, place) {
		return f
	}
	return nil
}

// A carry is value number i of those that a loop carries, cut along dim or whole.
type carry struct {
	loop   *ir.Op
	i, dim int
}

// initial and next are what a carried value begins with and what it becomes.
func (k carry) initial() cut {
	flow, _ := ir.LoopOf(k.loop)
	return cut{flow.Init(k.i), k.dim}
}

func (k carry) next() cut { return cut{k.loop.Body().Terminator().Operand(k.i), k.dim} }

// inBody and result are the carried value inside of the loop and after it.
func (k carry) inBody() cut { return cut{k.loop.Body().Arg(k.i + 1), k.dim} }
func (k carry) result() cut { return cut{k.loop.Result(k.i), k.dim} }

// carried finds the carry that a cut is, as an argument of the body of a loop or as its result.
func (c *slicer) carried(k cut, place *ir.Op) (carry, bool) {
	if tileaa.ShapeOf(k.v) == nil {
		k.dim = whole
	}
	if k.v.IsArg() {
		if f := c.within(k.v, place); f != nil && k.v.Index() > 0 {
			return carry{f, k.v.Index() - 1, k.dim}, true
		}
		return carry{}, false
	}
	if f := k.v.DefiningOp(); k.dim != whole && c.cuttable(f) && !c.kept[f] {
		return carry{f, k.v.Index(), k.dim}, true
	}
	return carry{}, false
}

// needCarried finds out whether a carried value can be made in pieces: if what it begins with and what it becomes can, given that
// itself it can.
func (p *prober) needCarried(k carry) bool {
	at := k.result()
	if p.how[at] == 0 {
		p.how[at] = inPieces
		if k.dim != whole && tileaa.ShapeOf(at.v)[k.dim]%p.pieces != 0 || !p.need(k.initial()) || !p.need(k.next()) {
			p.how[at] = impossible
			p.assumptionFailed = true // what was found out on the assumption is worth nothing
		}
	}
	return p.how[at] != impossible
}

// needRecomputed finds out whether a value inside a loop that is cut can be made again, whole, for each piece.
func (p *prober) needRecomputed(k cut) bool {
	op := k.v.DefiningOp()
	if op == nil {
		return true // the counter
	}
	if p.how[k] == 0 {
		p.how[k] = inPieces
		if p.c.involvesBig(op) || loadsFreely(op) && !p.c.orders.mayRepeat(op, p.place, nil) || !p.needAll(p.c.operandCuts(op, whole)) || !p.needCaptured(op) {
			p.how[k] = impossible
		}
	}
	return p.how[k] != impossible
}

// needCaptured is need for what the regions of an operation use, whole.
func (p *prober) needCaptured(op *ir.Op) bool {
	return !slices.ContainsFunc(ir.Captures(op), func(v *ir.Value) bool { return !p.need(cut{v, whole}) })
}

// loop makes a loop of the program on pieces of what it carries.
func (l *loopBuilder) loop(f *ir.Op, list []pieceOf) {
	var carries []carry
	for _, o := range l.g.outputs {
		for _, k := range o.carries {
			if k.loop == f && !slices.Contains(carries, k) {
				carries = append(carries, k)
			}
		}
	}
	var inits []*ir.Value
	for _, k := range carries {
		inits = append(inits, l.value(k.initial().v, k.dim))
	}
	types := ir.TypesOf(inits)
	old := ir.Cast[tileaa.For](f)
	loop := tileaa.NewFor(l.b, types, l.value(old.Lower(), whole), l.value(old.Upper(), whole), l.value(old.Step(), whole), inits,
		tileaa.ForOptions{Unsigned: old.Unsigned()})
	body := loop.Op.Region(0).AddBlock(append([]ir.Type{f.Body().Arg(0).Type()}, types...)...)
	l.made[cut{f.Body().Arg(0), whole}] = body.Arg(0)
	for i, k := range carries {
		l.made[k.inBody()], l.made[k.result()] = body.Arg(i+1), loop.Results()[i]
	}
	outside := maps.Clone(l.made)
	block, at := l.b.Place()
	l.b.AtEnd(body)
	for _, p := range list {
		if p.op.ParentOp() == f {
			l.b.Loc = p.op.Loc()
			l.emit(p)
		}
	}
	var next []*ir.Value
	for _, k := range carries {
		next = append(next, l.value(k.next().v, k.dim))
	}
	tileaa.NewContinue(l.b, next)
	l.b.SetPlace(block, at)
	l.made = outside
}
