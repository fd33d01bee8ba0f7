package slice

import (
	"maps"
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// build makes the loops of all groups and erases what they replace.
func (c *slicer) build() {
	for _, g := range c.groups {
		l := &loopBuilder{c: c, b: c.b, g: g}
		l.build()
	}
	for _, r := range c.rewires {
		c.b.Before(r.op).Loc = r.op.Loc()
		token := c.joined(r.leaves, nil, nil)
		for i, v := range r.op.Operands() {
			if v == r.v {
				r.op.SetOperand(i, token)
			}
		}
	}
	for _, o := range c.outputs {
		for _, r := range o.op.Results() {
			if v, ok := c.replaced[r]; ok {
				r.ReplaceAllUsesWith(v)
			}
		}
	}
	c.sweep(c.entry)
}

// sweep erases outputs, and what was only there for values that pieces have replaced: loads, pure operations, and whole products that a loop goes on to carry.
// Users come after what they use, so it goes backwards.
func (c *slicer) sweep(op *ir.Op) {
	for b := range op.Blocks() {
		for o := b.Last(); o != nil; {
			c.s.Step()
			prev, next := o.Prev(), o.Next()
			c.sweep(o)
			_, old := c.number[o]
			c.b.Before(o).Loc = o.Loc()
			switch {
			case ir.IsDead(o) || old && c.isReplaced(o) && !o.HasUses():
				o.Erase()
			case tileaa.DropUnused(c.b, o): // what stands in its place is looked at again
				if prev = b.Last(); next != nil {
					prev = next.Prev()
				}
			}
			o = prev
		}
	}
}

// loopBuilder makes the loop of a group.
//
// A group that accumulates or scans does its first piece in front of the loop, because there is nothing yet to combine with:
//
//	%a0 = piece 0 of %x
//	%a = for %p = 1 to pieces, inits(%a0) { continue (combine (piece %p of %x), %a) }
//	%r = reduce %a
//
// Pieces of what the tensor unit keeps are made one after the other, without a loop: their numbers say in which registers they are.
type loopBuilder struct {
	c     *slicer
	b     *ir.Builder
	g     *group
	scans []pieceOf // that go on from piece to piece
	made  map[cut]*ir.Value
	done  map[pieceOf]*ir.Op
	num   *ir.Value // number of the piece, rank-0 i32
	first bool      // the piece has nothing to combine with
	carry map[*ir.Value]*ir.Value
}

// pieceOf is an operation cut along a dimension.
type pieceOf struct {
	op  *ir.Op
	dim int
}

func (l *loopBuilder) build() {
	l.b.Before(l.g.place).Loc = l.g.place.Loc()
	l.made, l.carry = map[cut]*ir.Value{}, map[*ir.Value]*ir.Value{}
	backwards := false
	for _, o := range l.g.outputs {
		backwards = backwards || o.backwards()
		l.first = l.first || o.kind == accumulate || len(o.scans) > 0
		for _, s := range o.scans {
			if !slices.Contains(l.scans, s) {
				l.scans = append(l.scans, s)
			}
		}
	}
	i32 := tileaa.Tile(l.b.Ctx, l.b.Ctx.Int(32))
	number := func(n *ir.Value) *ir.Value {
		if backwards {
			return tileaa.NewSubi(l.b, tileaa.Const(l.b, i32, l.g.pieces-1), n, tileaa.SubiOptions{}).Result()
		}
		return n
	}
	carried := l.start()
	lower := int64(0)
	if l.first {
		carried = l.piece(number(tileaa.Const(l.b, i32, 0)), carried)
		l.first, lower = false, 1
	}
	l.b.Loc = l.g.place.Loc()
	if slices.ContainsFunc(l.g.outputs, func(o *output) bool { return o.cutsTensorSums(l.c) }) {
		for ; lower < l.g.pieces; lower++ {
			carried = l.piece(number(tileaa.Const(l.b, i32, lower)), carried)
		}
		l.finish(carried)
		return
	}
	types := ir.TypesOf(carried)
	loop := tileaa.NewFor(l.b, types, tileaa.Const(l.b, i32, lower), tileaa.Const(l.b, i32, l.g.pieces), tileaa.Const(l.b, i32, 1), carried, tileaa.ForOptions{})
	body := loop.Op.Region(0).AddBlock(append([]ir.Type{i32}, types...)...)
	l.b.AtEnd(body)
	next := l.piece(number(body.Arg(0)), body.Args()[1:])
	tileaa.NewContinue(l.b, next)
	l.b.Before(l.g.place)
	l.finish(loop.Results())
}

// start is what the loop carries before the first piece: an empty tile for each collected result, and a token when something comes
// after the loop. Accumulators and scans have no value yet.
func (l *loopBuilder) start() []*ir.Value {
	var vs []*ir.Value
	for _, o := range l.g.outputs {
		for _, r := range o.results() {
			switch o.kind {
			case accumulate:
				vs = append(vs, nil)
			case sum:
				vs = append(vs, l.value(ir.Cast[tileaa.Dot](o.op).Acc(), whole))
			default:
				vs = append(vs, tileaa.NewConstant(l.b, r.Type(), tileaa.SplatOf(tileaa.AsTile(r), 0)).Result())
			}
		}
	}
	for _, s := range l.scans {
		vs = append(vs, make([]*ir.Value, s.op.NumResults())...)
	}
	if l.g.ordered {
		vs = append(vs, joinTokens(l.b, nil))
	}
	return vs
}

// finish takes the results of the group from those of the loop.
func (l *loopBuilder) finish(results []*ir.Value) {
	for _, o := range l.g.outputs {
		n := len(o.results())
		values := results[:n]
		results = results[n:]
		if o.kind == accumulate {
			l.b.Loc = o.op.Loc()
			r := l.b.Ctx.Clone(o.op, maps.Clone(l.c.replaced))
			r.SetOperands(values, []int32{int32(n)})
			values = l.b.Insert(r).Results()
		}
		for i, r := range o.results() {
			l.c.replaced[r] = values[i]
		}
	}
	if l.g.ordered {
		l.g.token = results[len(results)-1]
	}
}

// piece makes one piece of everything, in program order, and returns what is carried on.
func (l *loopBuilder) piece(num *ir.Value, carried []*ir.Value) []*ir.Value {
	l.num, l.made, l.done = num, map[cut]*ir.Value{}, map[pieceOf]*ir.Op{}
	next := slices.Clone(carried)
	at := len(carried)
	if l.g.ordered {
		at--
	}
	for _, s := range slices.Backward(l.scans) {
		at -= s.op.NumResults()
		for i, r := range s.op.Results() {
			l.carry[r] = carried[at+i]
		}
	}
	list := l.list()
	for _, p := range list {
		if !l.c.cuttable(p.op.ParentOp()) || ir.IsProperAncestor(p.op.ParentOp(), l.g.place) {
			l.b.Loc = p.op.Loc()
			if l.c.cuttable(p.op) {
				l.loop(p.op, list)
			} else {
				l.emit(p)
			}
		}
	}
	at = l.outputs(carried, next)
	for _, s := range l.scans {
		for _, r := range s.op.Results() {
			next[at] = l.carry[r]
			at++
		}
	}
	if l.g.ordered {
		tokens := l.tokens(list)
		if !l.first {
			tokens = append(tokens, carried[at])
		}
		next[at] = joinTokens(l.b, tokens)
	}
	return next
}

// outputs puts what this piece makes of each output into next, and returns their number.
func (l *loopBuilder) outputs(carried, next []*ir.Value) int {
	at := 0
	for _, o := range l.g.outputs {
		l.b.Loc = o.op.Loc()
		switch n := len(o.results()); o.kind {
		case accumulate:
			pieces := make([]*ir.Value, n)
			for i, v := range o.op.Operands() {
				pieces[i] = l.value(v, o.dim)
			}
			if !l.first {
				pieces = l.combine(o.op, carried[at:at+n], pieces)
			}
			copy(next[at:], pieces)
			at += n
		case sum:
			next[at] = l.step(o.op, carried[at])
			at++
		case collect:
			for i, r := range o.results() {
				next[at+i] = tileaa.NewInsert(l.b, r.Type(), l.value(r, o.dim), carried[at+i], l.sliceNumbers(r, o.dim)).Result()
			}
			at += n
		}
	}
	return at
}

// list is what a piece consists of, in program order.
func (l *loopBuilder) list() []pieceOf {
	var list []pieceOf
	listed := map[pieceOf]bool{}
	add := func(p pieceOf) {
		if !listed[p] {
			listed[p], list = true, append(list, p)
		}
	}
	for _, o := range l.g.outputs {
		for _, k := range o.cuts {
			if o.how[k] == inPieces {
				add(pieceOf{k.v.DefiningOp(), k.dim})
			}
		}
		for _, k := range o.carries {
			add(pieceOf{k.loop, whole})
		}
		if o.kind == effect {
			add(pieceOf{o.op, o.dim})
		}
	}
	slices.SortStableFunc(list, func(a, b pieceOf) int { return l.c.number[a.op] - l.c.number[b.op] })
	return list
}

// tokens are the tokens of all that happened in the piece.
func (l *loopBuilder) tokens(list []pieceOf) []*ir.Value {
	var vs []*ir.Value
	for _, p := range list {
		op := l.done[p]
		if op == nil || l.c.cuttable(p.op.ParentOp()) {
			continue
		}
		if n := op.NumResults(); n > 0 && tileaa.IsToken(op.Result(n-1)) {
			vs = append(vs, op.Result(n-1))
		}
	}
	return vs
}

// combine is the combine region of a reduce or scan on tiles instead of elements.
func (l *loopBuilder) combine(op *ir.Op, acc, pieces []*ir.Value) []*ir.Value {
	return combineTiles(l.b, op, acc, pieces, func(v *ir.Value) *ir.Value { return l.value(v, whole) })
}

// scan goes on where the piece before ended, and leaves where this one ends: the last elements along its axis.
//
//	%s = scan %piece;  %r = combine %s, (broadcast %carry);  next %carry = extract %r[last]
func (l *loopBuilder) scan(op *ir.Op, s []*ir.Value) []*ir.Value {
	dim := tileaa.DimOf(op)
	shape := slices.Clone(tileaa.ShapeOf(s[0]))
	last := shape[dim] - 1
	if ir.Cast[tileaa.Scan](op).Reverse() {
		last = 0
	}
	if !l.first {
		before := make([]*ir.Value, len(s))
		for i, r := range op.Results() {
			before[i] = tileaa.NewBroadcast(l.b, s[i].Type(), l.carry[r]).Result()
		}
		s = l.combine(op, before, s)
	}
	at := l.zeros(len(shape))
	at[dim] = tileaa.Const(l.b, tileaa.Tile(l.b.Ctx, l.b.Ctx.Int(32)), last)
	shape[dim] = 1
	for i, r := range op.Results() {
		t := tileaa.Tile(l.b.Ctx, tileaa.AsTile(r).Elem, shape...)
		l.carry[r] = tileaa.NewExtract(l.b, t, s[i], at).Result()
	}
	return s
}

// value is v, or the piece of it along dim.
func (l *loopBuilder) value(v *ir.Value, dim int) *ir.Value {
	if dim == whole || tileaa.ShapeOf(v) == nil {
		if again := l.made[cut{v, whole}]; again != nil {
			return again
		}
		return l.c.replaced.Lookup(v)
	}
	k := cut{v, dim}
	if l.made[k] == nil {
		l.made[k] = tileaa.NewExtract(l.b, l.cutType(v.Type(), dim), l.value(v, whole), l.sliceNumbers(v, dim)).Result()
	}
	return l.made[k]
}

// clone copies an operation. Its regions use what stands for whole values; its operands are the caller's care.
func (l *loopBuilder) clone(op *ir.Op) *ir.Op {
	m := ir.Mapping{}
	for _, v := range ir.Captures(op) {
		m[v] = l.value(v, whole)
	}
	return l.b.Ctx.Clone(op, m)
}

// sliceNumbers are the indices of an extract or insert of the piece.
func (l *loopBuilder) sliceNumbers(v *ir.Value, dim int) []*ir.Value {
	vs := l.zeros(len(tileaa.ShapeOf(v)))
	vs[dim] = l.num
	return vs
}

func (l *loopBuilder) zeros(n int) []*ir.Value {
	return slices.Repeat([]*ir.Value{tileaa.Const(l.b, tileaa.Tile(l.b.Ctx, l.b.Ctx.Int(32)), 0)}, n)
}

func (l *loopBuilder) cutShape(shape []int64, dim int) []int64 {
	shape = slices.Clone(shape)
	shape[dim] /= l.g.pieces
	return shape
}

// cutType is the type of a piece of a tile or block; of everything else it is the type itself.
func (l *loopBuilder) cutType(t ir.Type, dim int) ir.Type {
	switch t := t.(type) {
	case *tileaa.TileType:
		if len(t.Shape) > 0 && dim != whole {
			return tileaa.Tile(l.b.Ctx, t.Elem, l.cutShape(t.Shape, dim)...)
		}
	case *tileaa.BlockType:
		if dim != whole {
			return tileaa.Block(l.b.Ctx, t.Elem, l.cutShape(t.Shape, dim)...)
		}
	}
	return t
}

// emit makes an operation on pieces.
func (l *loopBuilder) emit(p pieceOf) {
	op, dim := p.op, p.dim
	var v *ir.Value
	switch {
	case dim == whole: // again, as it is
	case op.Code() == tileaa.OpConstant:
		t := l.cutType(op.Result(0).Type(), dim).(*tileaa.TileType)
		bits, _ := tileaa.SplatValue(op.Result(0))
		v = tileaa.NewConstant(l.b, t, tileaa.SplatOf(t, bits)).Result()
	case op.Code() == tileaa.OpIota:
		v = l.iota(op)
	case op.Code() == tileaa.OpBlockTile:
		v = l.block(ir.Cast[tileaa.BlockTile](op), dim)
	case op.Code() == tileaa.OpAssume:
		if d, ok := ir.Cast[tileaa.Assume](op).Predicate().(*tileaa.DivByAttr); !ok && !isBound(op) || ok && d.Grouped {
			v = l.value(op.Operand(0), dim) // a promise about neighbours that the cut may part
		}
	}
	if v != nil {
		l.made[cut{op.Result(0), dim}] = v
		return
	}
	c := l.clone(op)
	for i, o := range op.Operands() {
		c.SetOperand(i, l.operand(op, i, o, dim))
	}
	for _, r := range c.Results() {
		r.SetType(l.cutType(r.Type(), dim))
	}
	l.done[p] = l.b.Insert(c)
	made := c.Results()
	if slices.Contains(l.scans, p) {
		made = l.scan(op, made)
	}
	for i, r := range made {
		l.made[cut{op.Result(i), dim}] = r
	}
}

func isBound(op *ir.Op) bool {
	_, ok := ir.Cast[tileaa.Assume](op).Predicate().(*tileaa.BoundedAttr)
	return ok
}

// operand is what an operation on pieces takes for operand i.
func (l *loopBuilder) operand(op *ir.Op, i int, v *ir.Value, dim int) *ir.Value {
	if tileaa.IsToken(v) {
		leaves, _ := l.c.tokens(op, v)
		return l.c.joined(leaves, l.g, l.inPiece)
	}
	if o := l.c.output[op]; o != nil && o.kind == effect {
		return l.value(v, effectDim(v, dim))
	}
	return l.value(v, l.c.operandCuts(op, dim)[i].dim)
}

// inPiece are the tokens of an operation in the piece.
func (l *loopBuilder) inPiece(op *ir.Op) []*ir.Value {
	var vs []*ir.Value
	for d := range len(tileaa.ShapeOf(op.Result(0))) {
		if c := l.done[pieceOf{op, d}]; c != nil {
			vs = append(vs, c.Result(c.NumResults()-1))
		}
	}
	return vs
}

// iota counts on: piece p of 0 .. n-1 is 0 .. n/pieces-1 plus p * n/pieces.
func (l *loopBuilder) iota(op *ir.Op) *ir.Value {
	t := l.cutType(op.Result(0).Type(), 0).(*tileaa.TileType)
	v := tileaa.NewIota(l.b, t).Result()
	start := times(l.b, resized(l.b, l.num, t.Elem), t.Shape[0])
	return tileaa.NewAddi(l.b, v, tileaa.NewSplat(l.b, t, start).Result(), tileaa.AddiOptions{}).Result()
}

// block is the piece of a block.
func (l *loopBuilder) block(op tileaa.BlockTile, dim int) *ir.Value {
	t := l.cutType(op.Result().Type(), dim).(*tileaa.BlockType)
	numbers := make([]*ir.Value, len(t.Shape))
	numbers[dim] = l.num
	return blockCutter{l.b, l.c.known, l.value}.part(op, t, numbers)
}
