package slice

import (
	"slices"

	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
)

// recipe is what it takes to make pieces.
type recipe struct {
	how    map[cut]method
	cuts   []cut // that are made, each after what it needs
	wholes []*ir.Value
	regs   int // of the biggest piece, in all threads together
	cost   int
	scans  []pieceOf // that go on from piece to piece
	// carries are the values, whole or in pieces, that loops of the program carry on the way.
	carries []carry
}

// backwards reports whether the pieces must be made from the last to the first.
func backwards(s pieceOf) bool { return ir.Cast[tileaa.Scan](s.op).Reverse() }

func (r *recipe) backwards() bool { return len(r.scans) > 0 && backwards(r.scans[0]) }

// extracts reports whether pieces are cut out of a value that exists whole.
func (r *recipe) extracts() bool {
	return slices.ContainsFunc(r.cuts, func(k cut) bool { return r.how[k] == extracted })
}

// cutsTensorSums reports whether pieces are read from sums in tensor memory.
func (r *recipe) cutsTensorSums(c *slicer) bool {
	return slices.ContainsFunc(r.cuts, func(k cut) bool { return r.how[k] == extracted && c.tensorSums[k.v] })
}

// recipe lists what the roots take, and its cost; ok is false when scans run against each other, or when one that goes on from piece to piece stands in a loop
// that each piece makes again: it would go on from an iteration, not from a piece.
func (p *prober) recipe(roots []cut) (r recipe, ok bool) {
	l := lister{prober: p, recipe: recipe{how: p.how}, seen: map[cut]bool{}}
	for _, k := range roots {
		l.visit(k)
	}
	again := slices.ContainsFunc(l.scans, func(s pieceOf) bool { return p.c.within(s.op.Result(0), p.place) != nil })
	return l.recipe, !again && sameDirection(l.scans)
}

// A lister makes a recipe.
type lister struct {
	*prober
	recipe
	seen map[cut]bool
}

func (l *lister) visit(k cut) {
	l.c.s.Step()
	if tileaa.IsToken(k.v) {
		return
	}
	if tileaa.ShapeOf(k.v) == nil {
		k.dim = whole
	}
	f, carried := l.c.carried(k, l.place)
	if carried {
		k = f.result()
	}
	if l.seen[k] {
		return
	}
	l.seen[k] = true
	inside := l.c.within(k.v, l.place) != nil
	if k.dim != whole {
		regs := l.c.regs(k.v)
		if l.c.tensorSums[k.v] {
			regs = kernel.TileRegisters(k.v)
		}
		l.regs = max(l.regs, regs/int(l.pieces))
	}
	switch {
	case carried:
		l.carries = append(l.carries, f)
		for _, v := range f.loop.Operands()[:3] {
			l.visit(cut{v, whole})
		}
		l.visit(f.initial())
		l.visit(f.next())
	case inside && k.v.IsArg(): // the counter
	case k.dim == whole && !inside:
		l.wholes = append(l.wholes, k.v)
		if d := k.v.DefiningOp(); d != nil && l.c.involvesBig(d) && l.c.output[d] == nil {
			l.cost += cost.SliceOtherLoop
		}
	default:
		l.made(k)
	}
}

// made adds a cut of a value that an operation makes, after what it needs.
func (l *lister) made(k cut) {
	op := k.v.DefiningOp()
	if l.prober.how[k] == extracted {
		l.visit(cut{k.v, whole})
		l.cost += cost.SliceExtract
	} else {
		for _, o := range l.c.operandCuts(op, k.dim) {
			l.visit(o)
		}
		for _, v := range ir.Captures(op) {
			l.visit(cut{v, whole})
		}
		if op.Code() == tileaa.OpScan && k.dim != whole {
			l.scan(&l.recipe, pieceOf{op, k.dim})
		}
	}
	if tileaa.IsProduct(op) {
		l.cost += productCost(op, k.dim, l.prober.how[k])
	}
	if k.dim != whole && l.shortRuns(k) {
		l.cost += cost.SliceShortRuns
	}
	l.cuts = append(l.cuts, k)
}

// productCost is that of pieces of a product along dim: each reads one of its factors again, that on the left where columns are cut, that on the right
// where rows are; the smaller one is free. What is not cut is multiplied again.
func productCost(op *ir.Op, dim int, how method) int {
	e, rank := kernel.ExtentOf(op), len(tileaa.ShapeOf(op.Result(0)))
	switch {
	case how != inPieces:
	case dim == whole:
		return cost.SliceMultiplyAgain
	case dim == rank-1 && e.M >= e.N || dim == rank-2 && e.N > e.M:
		return cost.SliceReadAgain
	}
	return 0
}

// scan adds what a scan takes: one warp holds its axis.
func (p *prober) scan(r *recipe, s pieceOf) {
	shape, dim := slices.Clone(tileaa.ShapeOf(s.op.Operand(0))), tileaa.DimOf(s.op)
	shape[s.dim] /= p.pieces
	r.regs = max(r.regs, kernel.ScanRegisters(s.op, shape, p.c.threads/layout.WarpSize)*p.c.threads)
	if s.dim == dim && !slices.Contains(r.scans, s) {
		r.scans = append(r.scans, s)
		r.cost += cost.SliceCarry
	}
}

func sameDirection(scans []pieceOf) bool {
	return !slices.ContainsFunc(scans, func(s pieceOf) bool { return backwards(s) != backwards(scans[0]) })
}

// shortRuns reports whether pieces of a block, or of a tile of pointers that is loaded from, cut the dimension along which memory
// runs into less than cache lines.
func (p *prober) shortRuns(k cut) bool {
	piece := tileaa.ShapeOf(k.v)[k.dim] / p.pieces
	if t, ok := k.v.Type().(*tileaa.BlockType); ok {
		return p.c.known.FastDim(ir.Cast[tileaa.BlockTile](k.v.DefiningOp())) == k.dim && piece*int64(tileaa.ElemBytes(t.Elem)) < cost.LineBytes
	}
	t := tileaa.AsTile(k.v)
	ptr, ok := t.Elem.(*tileaa.PtrType)
	return ok && p.c.known.PointerVector(k.v, k.dim) > 1 && piece*int64(tileaa.ElemBytes(ptr.Elem)) < cost.LineBytes
}
