// Package layouts says which thread holds which element of a tile, and how a tile gets from one layout to another.
package layouts

import (
	"slices"

	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/codegen/target"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// Assign gives every tile a layout: which register of which lane of which warp holds an element.
//
// Some operations have a layout of their own (anchors): a dot that of its atom, an access the one that makes it wide and
// coalesced, a scan the one that keeps its axis inside a warp. An anchor's layout flows down through elementwise operations,
// reshapes and reductions; values that meet in control flow form one class with one layout. What no anchor reaches (constants,
// iota, splats, broadcasts and cheap arithmetic of those) has no layout of its own: it is made again in every layout that
// somebody asks for. Where a user asks for another layout than the value has, a convert_layout stands behind the definition, so
// that a value from outside a loop is converted outside of it; what only one branch of an if needs goes into that branch at last.
//
//	%a = tiled_load ..        #blocked                    %a = tiled_load : #blocked
//	%c = constant             (none)               =>     %c = constant : #mma
//	%d = dot %a, .. %c        #mma                        %x = convert_layout %a : #blocked -> #mma_a
//	%e = addf %d, %c          #mma                        %d = dot %x, .. %c : #mma
func Assign(s *pass.State) error {
	for _, entry := range s.Entries() {
		expandInserts(s, entry)
		a := newAssigner(s, entry)
		a.rewriteBlock(entry.Body())
		s.EraseDead(entry) // the originals of what is rematerialized
		sinkToBranches(s, entry.Body())
	}
	return nil
}

// anchor is a layout with how much it costs to leave it; the zero anchor is none.
type anchor struct {
	l      layout.Layout
	weight int
}

func (n anchor) none() bool { return n.weight == 0 }

// demand is a value wanted in a layout.
type demand struct {
	v   *ir.Value
	key string
}

type assigner struct {
	s       *pass.State
	b       *ir.Builder
	warps   int
	widths  *widths
	lines   map[int64]bool     // extents of lines that loops broadcast, see linesOf
	factors map[*ir.Value]bool // see factorsOf

	final map[*ir.Value]anchor // what infer found
	open  map[*ir.Value]bool   // values on the stack of infer: a cycle back to one of them contributes nothing
	draft map[*ir.Value]anchor // what infer found while some value was open

	order     ir.Order // of the ops before the pass
	phis      ir.Phis
	recurrent map[*ir.Value]bool   // what isRecurrent has found
	accesses  map[*ir.Value]*ir.Op // what firstAccess has found
	made      map[demand]*ir.Value
	only      map[demand]bool              // what onlyIn has found
	computed  map[*ir.Op]layout.Layout     // what computedLayout has found
	reduced   map[reducedKey]layout.Layout // what reducedAccess has found

	matrices    map[matrix]*ir.Value     // buffers of factors
	interleaved map[ir.Type]interleaving // of products, by the type of their results
}

func newAssigner(s *pass.State, entry *ir.Op) *assigner {
	return &assigner{
		s: s, b: ir.NewBuilder(s.Ctx), warps: tileaa.WarpsOf(entry), widths: widthsOf(s, entry), lines: linesOf(s, entry), factors: factorsOf(s, entry),
		final: map[*ir.Value]anchor{}, open: map[*ir.Value]bool{}, made: map[demand]*ir.Value{}, only: map[demand]bool{}, computed: map[*ir.Op]layout.Layout{}, reduced: map[reducedKey]layout.Layout{}, matrices: map[matrix]*ir.Value{},
		interleaved: interleavings(s, entry), order: s.Ctx.OrderOf(entry), recurrent: map[*ir.Value]bool{}, accesses: map[*ir.Value]*ir.Op{},
	}
}

// infer is the layout that a value has by itself, or none.
func (a *assigner) infer(v *ir.Value) anchor {
	a.s.Step()
	t := tileaa.AsTile(v)
	if t == nil || len(t.Shape) == 0 || a.open[v] {
		return anchor{}
	}
	if n, ok := a.final[v]; ok && !n.none() {
		return n
	}
	if t.Layout != nil {
		return anchor{*t.Layout, cost.LeaveDefault}
	}
	if n, ok := a.final[v]; ok {
		return n
	}
	top := len(a.open) == 0
	if top {
		a.draft = map[*ir.Value]anchor{} // what was found while another value was open may be found wanting now
	} else if n, ok := a.draft[v]; ok {
		return n
	}
	a.open[v] = true
	n := a.inferFromDefinition(v, t)
	delete(a.open, v)
	if n.weight > 0 {
		n.l = compact(n.l)
	}
	if top {
		a.final[v] = n
	} else {
		a.draft[v] = n
	}
	return n
}

// inferFromDefinition finds the layout of a value from its definition.
func (a *assigner) inferFromDefinition(v *ir.Value, t *tileaa.TileType) anchor {
	if v.IsArg() {
		return a.inferIncoming(v, t)
	}
	op := v.DefiningOp()
	if ir.Is[tileaa.MemoryOp](op) {
		return a.access(op)
	}
	switch op.Code() {
	case tileaa.OpFor:
		args := op.Body().Args()
		return a.infer(args[len(args)-op.NumResults()+v.Index()])
	case tileaa.OpLoop, tileaa.OpIf:
		return a.inferIncoming(v, t)
	case tileaa.OpConstant, tileaa.OpSplat, tileaa.OpIota, tileaa.OpBroadcast:
		return anchor{}
	case tileaa.OpDot:
		return anchor{a.dotLayouts(op).C, cost.LeaveDot}
	case tileaa.OpReduce:
		src := a.reducedIn(op, func() layout.Layout { return a.demanded(v, t) })
		return anchor{src.l.RemoveDim(tileaa.DimOf(op)), src.weight}
	case tileaa.OpScan:
		return anchor{a.scanLayout(op), cost.LeaveScan}
	case tileaa.OpReshape:
		return a.inferMapped(op.Operand(0), func(l layout.Layout) layout.Layout { return l.Reshape(layout.Dims(t.Shape)) })
	case tileaa.OpPermute:
		return a.inferMapped(op.Operand(0), func(l layout.Layout) layout.Layout { return l.Permute(tileaa.PermutationOf(op)) })
	case tileaa.OpCat:
		src := a.strongestOrDefault(op)
		return anchor{catLayout(src.l, tileaa.DimOf(op)), src.weight}
	case tileaa.OpExtract, tileaa.OpInsert:
		s, ok := a.inRegs(op)
		switch {
		case !ok:
			return anchor{a.broadcastTo(v, t), cost.LeaveDefault}
		case op.Code() == tileaa.OpExtract:
			return anchor{s.piece, s.weight}
		}
		return anchor{s.whole, s.weight}
	case tileaa.OpBufferLoad, tileaa.OpBufferExtract:
		return anchor{a.defaultLayout(t), cost.LeaveDefault}
	case tileaa.OpPack, tileaa.OpUnpack:
		return a.packed(op)
	}
	n := a.strongest(op)
	if n.none() && !cheap(op) && op.Code() != tileaa.OpDivi && op.Code() != tileaa.OpRemi {
		return anchor{a.demanded(v, t), cost.LeaveDefault}
	}
	return n
}

// demanded is the layout of the first access that a value without a layout of its own leads to, through elementwise operations of its
// shape; the default one when there is none.
func (a *assigner) demanded(v *ir.Value, t *tileaa.TileType) layout.Layout {
	if op := a.firstAccess(v); op != nil {
		return a.access(op).l
	}
	return a.defaultLayout(t)
}

// firstAccess is that access, nil when there is none.
func (a *assigner) firstAccess(v *ir.Value) (first *ir.Op) {
	first, known := a.accesses[v]
	if known {
		return first
	}
	a.s.Step()
	for _, u := range a.order.Uses(v) {
		switch op := u.Owner(); {
		case first != nil:
		case op.Code() == tileaa.OpLoad || op.Code() == tileaa.OpStore || op.Code() == tileaa.OpTiledStore:
			if slices.Equal(tileaa.ShapeOf(v), tileaa.AccessedTile(op).Shape) {
				first = op
			}
		case op.Traits().Has(ir.Elementwise):
			first = a.firstAccess(op.Result(0))
		}
	}
	a.accesses[v] = first
	return first
}

// strongest is the heaviest anchor among an op's tile operands of the result's shape; ties go to the first. What depends on a loop-carried
// tile keeps its layout against what an iteration loads: the recurrence is the critical path, while loads and their conversions run ahead.
func (a *assigner) strongest(op *ir.Op) anchor {
	var n anchor
	var of *ir.Value
	for _, v := range op.Operands() {
		m := a.infer(v)
		better := m.weight > n.weight
		if !m.none() && !n.none() && max(m.weight, n.weight) <= cost.LeaveLoad && a.isRecurrent(v) != a.isRecurrent(of) {
			better = a.isRecurrent(v)
		}
		if better {
			n, of = m, v
		}
	}
	return n
}

// isRecurrent reports whether a value depends on a loop-carried tile of the loop around it.
func (a *assigner) isRecurrent(v *ir.Value) bool {
	if v.IsArg() {
		return v.Block().ParentOp().Code() == tileaa.OpFor && tileaa.IsRanked(v)
	}
	known, ok := a.recurrent[v]
	if !ok {
		a.s.Step()
		op := v.DefiningOp()
		a.recurrent[v] = false
		known = slices.ContainsFunc(op.Operands(), func(o *ir.Value) bool { return o.ParentBlock() == op.Block() && a.isRecurrent(o) })
		a.recurrent[v] = known
	}
	return known
}

// strongestOrDefault is strongest, or the default layout of the first operand when no operand has one.
func (a *assigner) strongestOrDefault(op *ir.Op) anchor {
	if n := a.strongest(op); !n.none() {
		return n
	}
	return anchor{a.defaultLayout(tileaa.AsTile(op.Operand(0))), cost.LeaveDefault}
}

func (a *assigner) inferMapped(v *ir.Value, f func(layout.Layout) layout.Layout) anchor {
	n := a.infer(v)
	if !n.none() {
		n.l = f(n.l)
	}
	return n
}

// inferIncoming is the one layout of all values that meet in an argument of a loop or in a result of a control flow op.
func (a *assigner) inferIncoming(v *ir.Value, t *tileaa.TileType) anchor {
	var n anchor
	incoming, _ := a.phis.Incoming(v)
	for _, m := range incoming {
		if c := a.infer(m); c.weight > n.weight {
			n = c
		}
	}
	if n.none() && len(a.open) == 1 {
		l := a.demanded(v, t)
		if dim, ok := reducedAlong(v); ok && warpsShare(l, dim) {
			l = a.reducedLayout(t, dim)
		}
		return anchor{l, cost.LeaveDefault}
	}
	return n
}

// rematerializable reports whether an op is made again in every layout asked for: nothing says which one its only result has.
func (a *assigner) rematerializable(op *ir.Op) bool {
	return op.NumResults() == 1 && op.NumRegions() == 0 && tileaa.IsRanked(op.Result(0)) && a.infer(op.Result(0)).none()
}

// cheap reports whether an elementwise op may be computed more than once.
func cheap(op *ir.Op) bool {
	return op.Traits().Has(ir.Elementwise) && op.Def.Instrs == 0
}

// inLayout is v in layout l.
func (a *assigner) inLayout(v *ir.Value, l layout.Layout) *ir.Value {
	t := tileaa.AsTile(v)
	if t == nil || len(t.Shape) == 0 {
		return v
	}
	l = compact(l)
	if t.Layout != nil && t.Layout.Equal(l) {
		return v
	}
	key := demand{v, l.Key()}
	if w, ok := a.made[key]; ok {
		return w
	}
	if t.Layout == nil && v.DefiningOp() != nil && a.rematerializable(v.DefiningOp()) {
		a.made[key] = a.rematerialize(v.DefiningOp(), l)
		return a.made[key]
	}
	switch {
	case t.Layout != nil && tileaa.IsSplat(v):
		c := a.b.AfterValue(v).Clone(v.DefiningOp(), ir.Mapping{})
		c.Result(0).SetType(t.WithLayout(a.s.Ctx, l))
		a.made[key] = c.Result(0)
	case t.Layout != nil && l.InBits(layout.Reg) <= t.Layout.InBits(layout.Reg) && layout.Convert(*t.Layout, l).Kind == layout.Shared:
		// Else threads would compute the same, or lanes tell each other whole registers.
		for _, op := range slices.Backward(a.widening(v, l)) {
			a.made[demand{op.Result(0), l.Key()}] = a.rematerialize(op, l)
		}
	}
	if a.made[key] == nil {
		a.made[key] = a.convert(v, l)
	}
	return a.made[key]
}

// widening are the ops that compute a value of a tile of narrower elements, or one that is in layout l already, and what is the same for all of them, the last
// first, if all that takes what they compute wants it in layout l: then it is that tile that goes to another layout; one as wide as well, if a loop loads it for
// something else than a product. Bytes that are computed four at a time stay where they are. Elements of one bit go as bytes, which are made of them and taken
// apart again.
func (a *assigner) widening(v *ir.Value, l layout.Layout) (ops []*ir.Op) {
	bits := func(v *ir.Value) int {
		if t := tileaa.AsTile(v); !ir.IsInt(t.Elem, 1) {
			return tileaa.ElemBits(t.Elem)
		}
		return 9
	}
	var chain []*ir.Op
	factor := v.HasOneUse() && tileaa.IsProduct(v.FirstUse().Owner())
	if factor && (target.ByGroup.On(a.s.Target) || !target.CpAsync.On(a.s.Target)) { // no copies could bring it
		return nil
	}
	for least := bits(v); len(chain) < maxWidening && (v.HasOneUse() || a.onlyIn(v, l)); {
		a.s.Step()
		op := v.DefiningOp()
		if op == nil || !cheap(op) || op.NumResults() != 1 {
			break
		}
		source := soleTile(op)
		switch {
		case bits(v) <= 8:
			return nil
		case source == nil:
			return ops
		}
		chain = append(chain, op)
		if a.made[demand{source, l.Key()}] != nil {
			return chain
		}
		if v = source; bits(v) < least || bits(v) == least && !factor && loadedInLoop(v) {
			least, ops = bits(v), chain
		}
	}
	return ops
}

// onlyIn reports whether all that accesses want of a value, and of what is computed with it by operations that may be computed more than once, they want in layout l.
func (a *assigner) onlyIn(v *ir.Value, l layout.Layout) bool {
	key := demand{v, l.Key()}
	only, known := a.only[key]
	if known {
		return only
	}
	a.s.Step()
	only = true
	for u := v.FirstUse(); u != nil && only; u = u.Next() {
		switch op := u.Owner(); {
		case ir.Is[tileaa.AccessOp](op):
			only = slices.Equal(tileaa.ShapeOf(v), tileaa.AccessedTile(op).Shape) && compact(a.access(op).l).Equal(l)
		default:
			only = cheap(op) && op.NumResults() == 1 && a.onlyIn(op.Result(0), l)
		}
	}
	a.only[key] = only
	return only
}

// maxWidening bounds how many ops are rematerialised in another layout.
const maxWidening = 32

// loadedInLoop reports whether a tile is what an op of a loop loads, which copies may bring anywhere.
func loadedInLoop(v *ir.Value) bool {
	op := v.DefiningOp()
	for op != nil && tileaa.IsRelabeling(op) {
		op = op.Operand(0).DefiningOp()
	}
	return op != nil && kernel.IsPlainLoad(op) && op.ParentOp().Code() == tileaa.OpFor
}

// soleTile is the only operand whose elements differ, or nil.
func soleTile(op *ir.Op) (source *ir.Value) {
	for _, v := range op.Operands() {
		switch {
		case !tileaa.IsRanked(v) || tileaa.IsSplat(v):
		case source != nil:
			return nil
		default:
			source = v
		}
	}
	return source
}

// rematerialize computes an op once more, in layout l.
func (a *assigner) rematerialize(op *ir.Op, l layout.Layout) *ir.Value {
	operands := op.Operands()
	for i, v := range operands {
		operands[i] = a.inLayout(v, operandLayout(op, v, l))
	}
	c := a.s.Ctx.Clone(op, ir.Mapping{})
	for i, v := range operands {
		c.SetOperand(i, v)
	}
	a.b.After(op).Insert(c)
	c.Result(0).SetType(tileaa.AsTile(op.Result(0)).WithLayout(a.s.Ctx, l))
	return c.Result(0)
}

// convert puts a convert_layout after the definition of v.
func (a *assigner) convert(v *ir.Value, l layout.Layout) *ir.Value {
	t := tileaa.AsTile(v)
	if a.b.AfterValue(v); v.IsArg() {
		a.b.Loc = v.Block().ParentOp().Loc()
	} else {
		a.b.Loc = v.DefiningOp().Loc()
	}
	return tileaa.NewConvertLayout(a.b, tileaa.Tile(a.s.Ctx, t.Elem, t.Shape...).WithLayout(a.s.Ctx, l), v).Result()
}

// operandLayout is the layout in which an op that computes in layout l wants its operand v.
func operandLayout(op *ir.Op, v *ir.Value, l layout.Layout) layout.Layout {
	t := tileaa.AsTile(v)
	if t == nil || len(t.Shape) == 0 {
		return l
	}
	switch op.Code() {
	case tileaa.OpBroadcast:
		return l.BroadcastSource(layout.Dims(t.Shape))
	case tileaa.OpReshape:
		return l.Reshape(layout.Dims(t.Shape))
	case tileaa.OpPermute:
		return l.Permute(layout.Inverse(tileaa.PermutationOf(op)))
	}
	return l
}

// catLayout is the layout of two tiles of layout l one after the other: in the lanes where these hold the same, so that tiles that are taken apart and put
// together again and again, as in a sort of rows, stay in as many registers.
func catLayout(l layout.Layout, dim int) layout.Layout {
	if joined, _, ok := l.CatInLanes(dim); ok {
		return joined
	}
	return l.Cat(dim)
}

// compact drops the redundant register bits of a layout: no thread holds an element twice.
func compact(l layout.Layout) layout.Layout {
	free := l.FreeMask(layout.Reg)
	if free == 0 {
		return l
	}
	b := l.Bases()
	var regs []uint64
	for i, c := range b.Reg {
		if free>>i&1 == 0 {
			regs = append(regs, c)
		}
	}
	b.Reg = regs
	return layout.Must(l.Shape(), b)
}
