package layouts

import (
	"slices"

	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// sliced is how an extract or insert works in registers: the layout of the bigger tile and that of the piece.
type sliced struct {
	whole, piece layout.Layout
	weight       int
}

// inRegs finds out whether a slice is a choice of registers: its numbers are constants, and register bits alone select it. Numbers that are extracted may lie
// in other lanes, which tell them.
func (a *assigner) inRegs(op *ir.Op) (sliced, bool) {
	big, small := op.Operand(0), tileaa.AsTile(op.Result(0))
	if op.Code() == tileaa.OpInsert {
		big, small = op.Operand(1), tileaa.AsTile(op.Operand(0))
	}
	n := a.infer(big)
	if n.none() {
		return sliced{}, false
	}
	if sl, ok := ir.As[tileaa.IndexedOp](op); ok {
		for _, i := range sl.Indices() {
			if !ir.Is[tileaa.Constant](i.DefiningOp()) {
				return sliced{}, false
			}
		}
	}
	p, ok := n.l.Pieces(layout.Dims(small.Shape))
	_, pointers := small.Elem.(*tileaa.PtrType)
	told := op.Code() == tileaa.OpExtract && !pointers
	return sliced{n.l, p.Layout, n.weight}, ok && (p.LaneMask == 0 || told)
}

// rewriteSlice moves slices of tiles: by register where inRegs can, else through shared memory, which can be indexed.
func (a *assigner) rewriteSlice(op *ir.Op) {
	if s, ok := a.inRegs(op); ok {
		switch op.Code() {
		case tileaa.OpInsert:
			op.SetOperand(0, a.inLayout(op.Operand(0), s.piece))
			op.SetOperand(1, a.inLayout(op.Operand(1), s.whole))
			a.setResults(op, compact(s.whole))
		case tileaa.OpExtract:
			op.SetOperand(0, a.inLayout(op.Operand(0), s.whole))
			a.setResults(op, compact(s.piece))
		}
		return
	}
	c := a.s.Ctx
	rt := tileaa.AsTile(op.Result(0))
	l := compact(a.infer(op.Result(0)).l)
	out := rt.WithLayout(c, l)
	a.b.Before(op).Loc = op.Loc()
	var r *ir.Value
	switch op.Code() {
	case tileaa.OpExtract:
		whole, indices := op.Operand(0), ir.Cast[tileaa.Extract](op).Indices()
		if a.fillsShared(whole) {
			x := a.inOwnLayout(whole)
			a.b.Before(op)
			buf := tileaa.NewAllocShared(a.b, tileaa.Buffer(c, rt.Elem, rows(op.Result(0)), rt.Shape...), tileaa.AllocSharedOptions{}).Result()
			tileaa.NewBufferStoreSlice(a.b, x, buf, indices)
			r = tileaa.NewBufferLoad(a.b, out, buf, tileaa.BufferLoadOptions{}).Result()
			break
		}
		buf := a.inBuffer(outermost(op, whole), whole)
		a.b.Before(op)
		r = tileaa.NewBufferExtract(a.b, out, buf, indices).Result()
	case tileaa.OpInsert:
		piece := a.inOwnLayout(op.Operand(0))
		buf := a.toBuffer(op, op.Operand(1))
		a.b.Before(op)
		tileaa.NewBufferInsert(a.b, piece, buf, ir.Cast[tileaa.Insert](op).Indices())
		r = tileaa.NewBufferLoad(a.b, out, buf, tileaa.BufferLoadOptions{}).Result()
	}
	op.Result(0).ReplaceAllUsesWith(r)
	a.final[r] = anchor{l, cost.LeaveDefault}
	op.Erase()
}

// outermost is the outermost loop around op in which a value is invariant, if every loop between is directly in the next; op if there is none.
func outermost(op *ir.Op, v *ir.Value) *ir.Op {
	at := op
	for p := op.ParentOp(); ; p = p.ParentOp() {
		if _, loop := ir.LoopOf(p); !loop || !ir.DefinedOutside(v, p) {
			return at
		}
		at = p
	}
}

// broadcastTo is the layout of a piece that is read from shared memory, where every thread finds every element: that in which it is broadcast to a tile
// with which others of that shape are computed; the default one when there is none.
func (a *assigner) broadcastTo(v *ir.Value, t *tileaa.TileType) layout.Layout {
	seen := map[*ir.Value]bool{}
	var beside func(v *ir.Value) anchor
	beside = func(v *ir.Value) anchor {
		seen[v] = true
		for _, u := range a.order.Uses(v) {
			op := u.Owner()
			if !op.Traits().Has(ir.Elementwise) || seen[op.Result(0)] {
				continue
			}
			if n := a.strongest(op); !n.none() {
				return n
			}
			if n := beside(op.Result(0)); !n.none() {
				return n
			}
		}
		return anchor{}
	}
	for _, u := range a.order.Uses(v) {
		if u.Owner().Code() == tileaa.OpBroadcast {
			if n := beside(u.Owner().Result(0)); !n.none() {
				return n.l.BroadcastSource(layout.Dims(t.Shape))
			}
		}
	}
	return a.defaultLayout(t)
}

// fillsShared reports whether a tile takes so much shared memory that little else has room beside it: then slices of it are stored one by one.
func (a *assigner) fillsShared(v *ir.Value) bool {
	t := tileaa.AsTile(v)
	return int(t.NumElements())*tileaa.ElemBytes(t.Elem) > a.s.Target.SharedOptIn/2
}

// inBuffer is a buffer before op with a tile in rows, which no insert changes.
func (a *assigner) inBuffer(op *ir.Op, v *ir.Value) *ir.Value {
	buf := a.bufferOf(a.inOwnLayout(v), rows(v), op)
	if buf == nil || slices.ContainsFunc(tileaa.BufferUsers(buf), func(u *ir.Op) bool { return u.Code() == tileaa.OpBufferInsert }) {
		buf = a.toBuffer(op, v)
	}
	return buf
}

// toBuffer stores a tile in rows in a new buffer before op.
func (a *assigner) toBuffer(op *ir.Op, v *ir.Value) *ir.Value {
	return a.store(op, a.inOwnLayout(v), rows(v))
}

func rows(v *ir.Value) layout.MemLayout {
	shape := layout.Dims(tileaa.AsTile(v).Shape)
	return layout.Strided(shape, rowMajor(len(shape)))
}

// store stores a tile in a new buffer before op.
func (a *assigner) store(op *ir.Op, v *ir.Value, mem layout.MemLayout) *ir.Value {
	t := tileaa.AsTile(v)
	a.b.Before(op).Loc = op.Loc()
	buf := tileaa.NewAllocShared(a.b, tileaa.Buffer(a.s.Ctx, t.Elem, mem, t.Shape...), tileaa.AllocSharedOptions{}).Result()
	tileaa.NewBufferStore(a.b, v, buf, tileaa.BufferStoreOptions{})
	return buf
}
