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
	tileaa.OpDot: productDim,
	// Along its own axis a scan goes on from piece to piece (loopBuilder.scan).
	tileaa.OpScan: func(op *ir.Op, _, dim int) (int, bool) {
		return dim, dim != tileaa.DimOf(op) || kernel.CombinesTiles(op)
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
	case op == nil || kernel.IsPlainLoad(op) && tileaa.IsStrong(op):
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

// prober asks how pieces of values would be made, at a place.
type prober struct {
	c                *slicer
	pieces           int64
	place            *ir.Op
	how              map[cut]method
	assumptionFailed bool // an assumption about a loop-carried value was wrong: the answer is worth nothing
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
		case tileaa.ShapeOf(k.v)[k.dim]%p.pieces != 0, p.c.tensorSums[k.v] && k.dim < len(tileaa.ShapeOf(k.v))-1: // warps share rows
			p.how[k] = impossible
		case p.inPieces(k):
			p.how[k] = inPieces
			if tileaa.IsRanked(k.v) && p.extracts(k) && !p.c.big(k.v) && !p.c.dependsOnBig(k.v.DefiningOp()) && p.need(cut{k.v, whole}) {
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

// extracts reports whether a piece is cut out of a value that exists whole.
func (p *prober) extracts(k cut) bool {
	return slices.ContainsFunc(p.c.operandCuts(k.v.DefiningOp(), k.dim), func(o cut) bool { return p.how[o] == extracted })
}

func (p *prober) inPieces(k cut) bool {
	op := k.v.DefiningOp()
	r := ruleOf(op)
	if r == nil || p.c.steps && tileaa.IsProduct(op) || loadsFreely(op) && !p.c.orders.mayRepeat(op, p.place, nil) {
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
