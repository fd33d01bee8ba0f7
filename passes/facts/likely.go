package facts

import (
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// This file guesses how addresses follow each other where nothing is proven, as those of a convolution whose rows are quotients and remainders of
// unknown numbers. A guess decides which threads load what, and never what is loaded.

// neighbors says how the elements of a tile likely follow each other along a dimension: so many in a row are equal, or stand near or far from each other.
type neighbors struct {
	run     int64
	spacing spacing
}

// spacing is the distance between neighbors in a run.
type spacing uint8

const (
	alike spacing = iota // none
	near                 // a few elements
	open                 // a multiple of a number that only the running kernel knows: of a convolution's stride it is near, of an array's far
	far                  // more, or not known
)

const (
	// likelyRun is how many neighbors the quotient and the remainder by an unknown number leave together.
	likelyRun = 32
	// longestNear is the most elements of a near step: so many of four bytes are a sector.
	longestNear = 8
)

// LikelySectors guesses how many sectors of memory so many lanes touch that take the neighbors of a tile of pointers along dimension d.
func (f *Facts) LikelySectors(ptr *ir.Value, d int, lanes int64) int64 {
	n := (&likely{f, d}).of(ptr)
	sectors := max(1, lanes/max(n.run, 1))
	switch n.spacing {
	case open:
		return max(sectors, lanes/4)
	case far:
		return lanes
	}
	return sectors
}

// likely finds neighbors along a dimension.
type likely struct {
	*Facts
	dim int
}

// along is a tile in one of its dimensions.
type along struct {
	v   *ir.Value
	dim int
}

func (l *likely) of(v *ir.Value) neighbors {
	key := along{v, l.dim}
	n, ok := l.neighbors[key]
	if !ok {
		l.ctx.Step()
		n = l.find(v)
		l.neighbors[key] = n
	}
	return n
}

func (l *likely) find(v *ir.Value) neighbors {
	t, op := tileaa.AsTile(v), v.DefiningOp()
	unknown := neighbors{1, far}
	if t == nil || l.dim >= len(t.Shape) {
		return unknown
	}
	all := t.Shape[l.dim]
	if x := l.Of(v); all == 1 || x.Width != 0 && x.Const[l.dim] == all {
		return neighbors{all, alike}
	}
	if op == nil {
		return unknown
	}
	switch op.Code() {
	case tileaa.OpIota:
		return neighbors{all, near}
	case tileaa.OpAddi, tileaa.OpSubi, tileaa.OpOffset, tileaa.OpMaxi, tileaa.OpMini, tileaa.OpOri, tileaa.OpXori:
		return together(l.of(op.Operand(0)), l.of(op.Operand(1)))
	case tileaa.OpSelect:
		return together(l.of(op.Operand(1)), l.of(op.Operand(2)))
	case tileaa.OpMuli, tileaa.OpShli:
		return l.product(op)
	case tileaa.OpDivi, tileaa.OpShri:
		return l.among(op, alike)
	case tileaa.OpRemi, tileaa.OpAndi:
		return l.among(op, near)
	case tileaa.OpExti, tileaa.OpTrunci, tileaa.OpAssume, tileaa.OpBroadcast, tileaa.OpPtrCast:
		return l.of(op.Operand(0))
	case tileaa.OpReshape:
		if d, ok := sameDimension(tileaa.ShapeOf(op.Operand(0)), t.Shape, l.dim); ok {
			return (&likely{l.Facts, d}).of(op.Operand(0))
		}
	}
	return unknown
}

// together are the neighbors of a sum.
func together(x, y neighbors) neighbors {
	return neighbors{min(x.run, y.run), max(x.spacing, y.spacing)}
}

// product are the neighbors of x times y, of which one is the same everywhere in a run.
func (l *likely) product(op *ir.Op) neighbors {
	x, y := l.of(op.Operand(0)), l.of(op.Operand(1))
	n, by := together(x, y), op.Operand(1)
	switch {
	case x.spacing != alike && y.spacing != alike:
		return neighbors{1, far}
	case n.spacing != near:
		return n
	case x.spacing == alike:
		by = op.Operand(0)
	}
	switch k := l.Of(by); {
	case k.Width == 0 || k.SMin != k.SMax:
		n.spacing = open
	case k.SMin > longestNear:
		n.spacing = far
	}
	return n
}

// among are the neighbors of the quotient (alike) or the remainder (near) of near ones by a number.
func (l *likely) among(op *ir.Op, as spacing) neighbors {
	n, by := l.of(op.Operand(0)), l.of(op.Operand(1))
	if n.spacing != near || by.spacing != alike {
		return neighbors{min(n.run, by.run), max(n.spacing, by.spacing)}
	}
	many := int64(likelyRun)
	if x := l.Of(op.Operand(1)); x.Width != 0 && x.SMin == x.SMax && x.SMin > 0 {
		many = x.SMin
	}
	return neighbors{min(n.run, many), as}
}

// sameDimension is the dimension of a shape that is dimension d of another, if only dimensions of one element come or go.
func sameDimension(from, to []int64, d int) (same int, ok bool) {
	i := 0
	for e, n := range to {
		for i < len(from) && from[i] == 1 && n != 1 {
			i++
		}
		switch {
		case n == 1:
			continue
		case i == len(from) || from[i] != n:
			return 0, false
		case e == d:
			return i, true
		}
		i++
	}
	return 0, false
}
