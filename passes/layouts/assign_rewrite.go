package layouts

import (
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// rewriteBlock rewrites the operations of a block in order: operands come in the layouts that the op wants, results get theirs.
func (a *assigner) rewriteBlock(b *ir.Block) {
	for _, op := range b.Ops() { // not the conversions that are put after them: these are finished
		a.s.Step()
		a.rewrite(op)
	}
}

func (a *assigner) rewrite(op *ir.Op) {
	if a.rematerializable(op) {
		return
	}
	if f, ok := ir.FlowOf(op); ok && f.Kind == ir.CombineFlow {
		a.rewriteCombine(op)
	}
	switch op.Code() {
	case tileaa.OpFor, tileaa.OpLoop:
		a.rewriteLoop(op)
	case tileaa.OpIf:
		a.rewriteIf(op)
	case tileaa.OpYield, tileaa.OpBreak, tileaa.OpContinue:
		a.rewriteTerminator(op)
	case tileaa.OpReduce:
		l := a.reducedIn(op, func() layout.Layout { return a.infer(op.Result(0)).l }).l
		a.operandsIn(op, func(*tileaa.TileType) layout.Layout { return l })
		a.setResults(op, compact(l.RemoveDim(tileaa.DimOf(op))))
	case tileaa.OpCat:
		l := a.strongestOrDefault(op).l
		a.operandsIn(op, func(*tileaa.TileType) layout.Layout { return l })
		a.setResults(op, compact(catLayout(l, tileaa.DimOf(op))))
	case tileaa.OpDot:
		a.rewriteDot(op)
	case tileaa.OpExtract, tileaa.OpInsert:
		a.rewriteSlice(op)
	case tileaa.OpPack, tileaa.OpUnpack:
		l := a.infer(op.Result(0)).l
		source, _ := repacked(l, packRatio(op))
		op.SetOperand(0, a.inLayout(op.Operand(0), source))
		a.setResults(op, l)
	case tileaa.OpPrint:
		a.operandsIn(op, func(t *tileaa.TileType) layout.Layout { return layout.Uniform(layout.Dims(t.Shape), a.warps) })
	case tileaa.OpMakeMemref, tileaa.OpBlockTile: // a sparse index tile gets its layout from the access that uses the block
	default:
		a.rewriteAlike(op)
	}
}

// rewriteCombine gives layouts to the tiles in the region of a reduction or scan, and to what it takes from outside: tiles of one element, which
// every thread holds.
func (a *assigner) rewriteCombine(op *ir.Op) {
	layoutOf := func(t *tileaa.TileType) layout.Layout { return layout.Uniform(layout.Dims(t.Shape), a.warps) }
	open := func(v *ir.Value) bool { return tileaa.IsRanked(v) && tileaa.AsTile(v).Layout == nil }
	for _, v := range ir.Captures(op) {
		if !open(v) {
			continue
		}
		with := a.inLayout(v, layoutOf(tileaa.AsTile(v)))
		for _, u := range v.Uses() {
			if ir.IsProperAncestor(op, u.Owner()) {
				u.Owner().SetOperand(u.Index(), with)
			}
		}
	}
	ir.Walk(op, ir.PreOrder, func(in *ir.Op) {
		for _, v := range in.Results() {
			if in != op && open(v) {
				v.SetType(tileaa.AsTile(v).WithLayout(a.s.Ctx, layoutOf(tileaa.AsTile(v))))
			}
		}
	})
}

// rewriteAlike has an op compute in one layout; one of scalars only stays as it is.
func (a *assigner) rewriteAlike(op *ir.Op) {
	l, ok := a.layoutFor(op)
	if !ok {
		return
	}
	if op.Def.OperandIndex("block") >= 0 {
		a.rewriteSparseBlock(op, l)
	}
	for i := range op.NumOperands() {
		v := op.Operand(i)
		op.SetOperand(i, a.inLayout(v, operandLayout(op, v, l)))
	}
	a.setResults(op, compact(l))
}

// operandsIn takes the ranked tiles among the operands in the layouts that want gives.
func (a *assigner) operandsIn(op *ir.Op, want func(*tileaa.TileType) layout.Layout) {
	for i := range op.NumOperands() {
		if t := tileaa.AsTile(op.Operand(i)); t != nil && len(t.Shape) > 0 {
			op.SetOperand(i, a.inLayout(op.Operand(i), want(t)))
		}
	}
}

// rewriteLoop gives carried values the layouts of their classes; the initial values come in them.
func (a *assigner) rewriteLoop(op *ir.Op) {
	inits := op.Def.OperandIndex("inits")
	first := op.NumOperands() - len(op.OperandGroup(inits))
	body := op.Body()
	skip := body.NumArgs() - len(op.OperandGroup(inits))
	for i, arg := range body.Args()[skip:] {
		a.assignIncoming(arg)
		if l := tileaa.LayoutOf(arg); l != nil {
			op.SetOperand(first+i, a.inLayout(op.Operand(first+i), *l))
		}
	}
	for i, r := range op.Results() {
		if op.Code() == tileaa.OpFor {
			r.SetType(body.Arg(skip + i).Type())
		} else {
			a.assignIncoming(r)
		}
	}
	a.rewriteBlock(body)
}

// rewriteIf gives results the layouts of their classes.
func (a *assigner) rewriteIf(op *ir.Op) {
	for _, r := range op.Results() {
		a.assignIncoming(r)
	}
	for b := range op.Blocks() {
		a.rewriteBlock(b)
	}
}

// layoutFor is the layout that an op computes in, seen from its result where it has one, else from its operands.
func (a *assigner) layoutFor(op *ir.Op) (layout.Layout, bool) {
	if v := firstTile(op.Results()); v != nil {
		return a.infer(v).l, true
	}
	v := firstTile(op.Operands())
	if v == nil {
		return layout.Layout{}, false
	}
	if ir.Is[tileaa.MemoryOp](op) {
		return a.access(op).l, true
	}
	if n := a.strongest(op); !n.none() {
		return n.l, true
	}
	return a.defaultLayout(tileaa.AsTile(v)), true
}

// assignIncoming gives an argument or a control flow result the layout of its class.
func (a *assigner) assignIncoming(v *ir.Value) {
	t := tileaa.AsTile(v)
	if t == nil || len(t.Shape) == 0 {
		return
	}
	n := a.infer(v)
	if n.none() {
		n.l = a.demanded(v, t)
	}
	v.SetType(t.WithLayout(a.s.Ctx, compact(n.l)))
}

// rewriteTerminator gives the operands of a terminator the layouts of what they become.
func (a *assigner) rewriteTerminator(op *ir.Op) {
	parent := op.ParentOp()
	if op.Code() != tileaa.OpYield {
		for parent.Code() == tileaa.OpIf {
			parent = parent.ParentOp()
		}
	}
	to := parent.Results()
	if op.Code() == tileaa.OpContinue {
		args := parent.Body().Args()
		to = args[len(args)-op.NumOperands():]
	}
	if parent.Code() == tileaa.OpReduce || parent.Code() == tileaa.OpScan {
		return
	}
	for i, v := range to {
		if l := tileaa.LayoutOf(v); l != nil {
			op.SetOperand(i, a.inLayout(op.Operand(i), *l))
		}
	}
}

func (a *assigner) setResults(op *ir.Op, l layout.Layout) {
	for _, r := range op.Results() {
		if t := tileaa.AsTile(r); t != nil && len(t.Shape) > 0 {
			r.SetType(t.WithLayout(a.s.Ctx, l))
		}
	}
}

// rewriteSparseBlock gives a gathered or scattered block its index tile in the layout of the access.
func (a *assigner) rewriteSparseBlock(op *ir.Op, l layout.Layout) {
	block, _ := tileaa.BlockOf(op)
	k, ok := block.SparseDim()
	if !ok {
		return
	}
	l = alongOnly(l, int(k))
	c := a.s.Ctx.Clone(block.Op, ir.Mapping{})
	for i := range c.NumOperands() {
		c.SetOperand(i, a.inLayout(c.Operand(i), l))
	}
	a.b.Before(op).Insert(c)
	for i := range op.NumOperands() {
		if op.Operand(i) == block.Result() {
			op.SetOperand(i, c.Result(0))
		}
	}
}

// rewriteDot takes its operands in the layouts of its atom, or in shared memory where the atom reads them there. Without a matrix instruction (fma, dp4a) the operands
// lie in shared memory, where every thread reads the rows and columns it needs.
func (a *assigner) rewriteDot(op *ir.Op) {
	d := a.dotLayouts(op)
	op.SetOperand(2, a.inLayout(op.Operand(2), d.C))
	if d.alone {
		for i := range 2 {
			op.SetOperand(i, a.toScalarBuffer(op, i, d))
		}
	} else {
		for i, l := range []layout.Layout{d.A, d.B, d.C, d.SA, d.SB}[:op.NumOperands()] {
			if l.IsZero() {
				op.SetOperand(i, a.toMatrixBuffer(op, i))
			} else {
				op.SetOperand(i, a.inLayout(op.Operand(i), l))
			}
		}
	}
	a.setResults(op, compact(d.C))
}

// inOwnLayout is v in its own layout, or in the default one.
func (a *assigner) inOwnLayout(v *ir.Value) *ir.Value {
	n := a.infer(v)
	if n.none() {
		n.l = a.defaultLayout(tileaa.AsTile(v))
	}
	return a.inLayout(v, n.l)
}

// firstTile is the first ranked tile among values, or nil.
func firstTile(vs []*ir.Value) *ir.Value {
	for _, v := range vs {
		if t := tileaa.AsTile(v); t != nil && len(t.Shape) > 0 {
			return v
		}
	}
	return nil
}
