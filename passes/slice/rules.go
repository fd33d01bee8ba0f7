package slice

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
)

// This file says how each operation is cut: which pieces of its operands make a piece of its result.

// cut is a value cut into pieces along a dimension; whole is no dimension.
type cut struct {
	v   *ir.Value
	dim int
}

const whole = -1

// A rule gives, for an operation whose result is cut along dim, the dimension along which operand i is cut. ok is false when a piece
// of the result is not made of pieces like that.
type rule func(op *ir.Op, i, dim int) (operand int, ok bool)

// along keeps the dimension.
func along(_ *ir.Op, _, dim int) (int, bool) { return dim, true }

// rules are the rows of operations that are not elementwise; elementwise ones, and loads, are cut as their results. Operands
// without a shape (scalars, tokens, arrays) are whole in any case.
var rules = map[ir.Code]rule{
	tileaa.OpLoad:      along,
	tileaa.OpTiledLoad: along,
	tileaa.OpSplat:     along,
	tileaa.OpIota:      along,
	tileaa.OpPack:      along,
	tileaa.OpUnpack:    along,
	tileaa.OpConstant: func(op *ir.Op, _, _ int) (int, bool) {
		_, ok := tileaa.SplatValue(op.Result(0))
		return whole, ok
	},
	// A dimension that is repeated is there as a whole.
	tileaa.OpBroadcast: func(op *ir.Op, i, dim int) (int, bool) {
		if tileaa.ShapeOf(op.Operand(i))[dim] < tileaa.ShapeOf(op.Result(0))[dim] {
			return whole, true
		}
		return dim, true
	},
	tileaa.OpPermute: func(op *ir.Op, _, dim int) (int, bool) { return tileaa.PermutationOf(op)[dim], true },
	tileaa.OpReshape: func(op *ir.Op, i, dim int) (int, bool) {
		return reshapedDim(tileaa.ShapeOf(op.Result(0)), tileaa.ShapeOf(op.Operand(i)), dim)
	},
	tileaa.OpCat: func(op *ir.Op, _, dim int) (int, bool) { return dim, dim != tileaa.DimOf(op) },
	// Slices are cut along dimensions that are not sliced.
	tileaa.OpExtract: func(op *ir.Op, i, dim int) (int, bool) {
		return dim, tileaa.ShapeOf(op.Operand(i))[dim] == tileaa.ShapeOf(op.Result(0))[dim]
	},
	tileaa.OpInsert: func(op *ir.Op, _, dim int) (int, bool) {
		return dim, tileaa.ShapeOf(op.Operand(0))[dim] == tileaa.ShapeOf(op.Operand(1))[dim]
	},
	tileaa.OpReduce: func(op *ir.Op, _, dim int) (int, bool) {
		if dim >= tileaa.DimOf(op) {
			dim++
		}
		return dim, true
	},
	tileaa.OpDot:       productDim,
	tileaa.OpDotScaled: productDim,
	// Along its own axis a scan goes on from piece to piece (loopBuilder.scan).
	tileaa.OpScan: func(op *ir.Op, _, dim int) (int, bool) {
		return dim, dim != tileaa.DimOf(op) || combinesTiles(op)
	},
	// A list of coordinates belongs to one dimension.
	tileaa.OpBlockTile: func(op *ir.Op, _, dim int) (int, bool) {
		if s, ok := ir.Cast[tileaa.BlockTile](op).SparseDim(); ok && int(s) == dim {
			return 0, true
		}
		return whole, true
	},
}

// ruleOf is the rule of an operation, or nil.
func ruleOf(op *ir.Op) rule {
	switch {
	case op == nil || (op.Code() == tileaa.OpLoad || op.Code() == tileaa.OpTiledLoad) && tileaa.IsStrong(op):
		return nil
	case op.Traits().Has(ir.Elementwise):
		return along
	}
	return rules[op.Code()]
}

// reshapedDim is the dimension of shape to whose pieces are those of dimension dim of shape from. Both number their elements in
// row-major order, so the pieces agree when as many elements lie in front:
//
//	from 8x1024, dim 1   ->   to 8x4x256, dim 1     (8 in front of both; a quarter of 1024 is one of the 4)
func reshapedDim(from, to []int64, dim int) (int, bool) {
	front := int64(1)
	for _, x := range from[:dim] {
		front *= x
	}
	at := int64(1)
	for d, x := range to {
		if at == front && x > 1 {
			return d, true
		}
		at *= x
	}
	return 0, false
}

// method is how a piece of a value comes about.
type method uint8

const (
	inPieces  method = iota + 1 // its operation, on pieces of the operands
	extracted                   // cut out of the whole value, which is small
	impossible
)

// Costs of a way to cut, in units of about a pass over a value in registers.
const (
	costAccumulate = 1 // the first piece is peeled off
	costReadAgain  = 1 // a product cut along N reads its left operand for each piece
	costExtract    = 3 // through shared memory, every piece
	costCarry      = 4 // the last row of a scan goes through shared memory, every piece
	costShortRuns  = 4 // memory is read in parts of cache lines
	costCollect    = 6 // through shared memory and back, every piece
	costOtherLoop  = 8 // a big tile is needed for another result first
)

// lineBytes is the size of a cache line: runs of it or more are read at full speed.
const lineBytes = 128

// prober asks how pieces of values would be made, at a place.
type prober struct {
	c      *slicer
	pieces int64
	place  *ir.Op
	how    map[cut]method
	broken bool // an assumption about a loop was wrong
}

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

// takesApart reports whether pieces are made of slices of something whole.
func (r *recipe) takesApart() bool {
	return slices.ContainsFunc(r.cuts, func(k cut) bool { return r.how[k] == extracted })
}

func (p *prober) needAll(cuts []cut) bool {
	for _, k := range cuts {
		if !p.need(k) {
			return false
		}
	}
	return true
}

// need finds out how a piece of a value can be made.
func (p *prober) need(k cut) bool {
	p.c.s.Step()
	if k, ok := p.c.carried(k, p.place); ok {
		return p.needCarried(k)
	}
	if k.dim == whole || tileaa.ShapeOf(k.v) == nil {
		if p.c.within(k.v, p.place) != nil && !tileaa.IsToken(k.v) {
			return p.needRecomputed(cut{k.v, whole})
		}
		return !p.c.big(k.v)
	}
	if p.how[k] == 0 {
		switch {
		case tileaa.ShapeOf(k.v)[k.dim]%p.pieces != 0:
			p.how[k] = impossible
		case p.inPieces(k):
			p.how[k] = inPieces
			if tileaa.IsRanked(k.v) && p.takesApart(k) && !p.c.big(k.v) && !p.c.dependsOnBig(k.v.DefiningOp()) {
				p.how[k] = extracted // nearest to its use: what it is made of is whole anyway
			}
		case tileaa.IsRanked(k.v) && !p.c.big(k.v) && p.need(cut{k.v, whole}):
			p.how[k] = extracted
		default:
			p.how[k] = impossible
		}
	}
	return p.how[k] != impossible
}

// takesApart reports whether a piece is made of a slice of something whole.
func (p *prober) takesApart(k cut) bool {
	return slices.ContainsFunc(p.c.operandCuts(k.v.DefiningOp(), k.dim), func(o cut) bool { return p.how[o] == extracted })
}

func (p *prober) inPieces(k cut) bool {
	op := k.v.DefiningOp()
	r := ruleOf(op)
	if r == nil || p.c.steps && tileaa.IsProduct(op) || loadsFreely(op) && !p.c.orders.mayRepeat(op, p.place) {
		return false
	}
	if op.NumOperands() == 0 {
		_, ok := r(op, 0, k.dim)
		return ok
	}
	operands := p.c.operandCuts(op, k.dim)
	return operands != nil && p.needAll(operands) && p.needCaptured(op)
}

// operandCuts is how the operands of an operation are cut whose result is cut along dim; nil if they cannot be.
func (c *slicer) operandCuts(op *ir.Op, dim int) []cut {
	cuts := make([]cut, op.NumOperands())
	for i, v := range op.Operands() {
		d, ok := whole, true
		if dim != whole && tileaa.ShapeOf(v) != nil {
			d, ok = ruleOf(op)(op, i, dim)
		}
		if !ok {
			return nil
		}
		cuts[i] = cut{v, d}
	}
	return cuts
}

// recipe lists what the roots take, and its cost; ok is false when scans run against each other.
func (p *prober) recipe(roots []cut) (r recipe, ok bool) {
	r.how = p.how
	seen := map[cut]bool{}
	var visit func(k cut)
	visit = func(k cut) {
		p.c.s.Step()
		if tileaa.IsToken(k.v) {
			return
		}
		if tileaa.ShapeOf(k.v) == nil {
			k.dim = whole
		}
		f, carried := p.c.carried(k, p.place)
		if carried {
			k = f.result()
		}
		if seen[k] {
			return
		}
		seen[k] = true
		inside := p.c.within(k.v, p.place) != nil
		switch {
		case carried:
			r.carries = append(r.carries, f)
			if k.dim != whole {
				r.regs = max(r.regs, p.c.regs(k.v)/int(p.pieces))
			}
			for _, v := range f.loop.Operands()[:3] {
				visit(cut{v, whole})
			}
			visit(f.initial())
			visit(f.next())
			return
		case inside && k.v.IsArg():
			return // the counter
		case k.dim == whole && !inside:
			r.wholes = append(r.wholes, k.v)
			if d := k.v.DefiningOp(); d != nil && p.c.involvesBig(d) && p.c.output[d] == nil {
				r.cost += costOtherLoop
			}
			return
		}
		if k.dim != whole {
			r.regs = max(r.regs, p.c.regs(k.v)/int(p.pieces))
		}
		if p.how[k] == extracted {
			visit(cut{k.v, whole})
			r.cost += costExtract
		} else {
			op := k.v.DefiningOp()
			for _, o := range p.c.operandCuts(op, k.dim) {
				visit(o)
			}
			for _, v := range ir.Captures(op) {
				visit(cut{v, whole})
			}
			if op.Code() == tileaa.OpScan && k.dim != whole {
				p.scan(&r, pieceOf{op, k.dim})
			}
		}
		if tileaa.IsProduct(k.v.DefiningOp()) && p.how[k] == inPieces && k.dim == len(tileaa.ShapeOf(k.v))-1 {
			r.cost += costReadAgain
		}
		if k.dim != whole && p.shortRuns(k) {
			r.cost += costShortRuns
		}
		r.cuts = append(r.cuts, k)
	}
	for _, k := range roots {
		visit(k)
	}
	return r, sameDirection(r.scans)
}

// scan adds what a scan takes: one warp holds its axis.
func (p *prober) scan(r *recipe, s pieceOf) {
	shape, dim := slices.Clone(tileaa.ShapeOf(s.op.Operand(0))), tileaa.DimOf(s.op)
	shape[s.dim] /= p.pieces
	r.regs = max(r.regs, kernel.ScanRegisters(shape, dim, p.c.threads/32)*p.c.threads)
	if s.dim == dim && !slices.Contains(r.scans, s) {
		r.scans = append(r.scans, s)
		r.cost += costCarry
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
		return p.c.known.FastDim(ir.Cast[tileaa.BlockTile](k.v.DefiningOp())) == k.dim && piece*int64(tileaa.ElemBytes(t.Elem)) < lineBytes
	}
	t := tileaa.AsTile(k.v)
	ptr, ok := t.Elem.(*tileaa.PtrType)
	return ok && p.c.known.PointerVector(k.v, k.dim) > 1 && piece*int64(tileaa.ElemBytes(ptr.Elem)) < lineBytes
}

// combinesTiles reports whether the region of a reduction works on tiles as it does on elements: constants and elementwise
// operations only.
func combinesTiles(op *ir.Op) bool {
	return !slices.ContainsFunc(op.Body().Ops(), func(o *ir.Op) bool {
		return o.Code() != tileaa.OpYield && o.Code() != tileaa.OpConstant && !o.Traits().Has(ir.Elementwise)
	})
}
