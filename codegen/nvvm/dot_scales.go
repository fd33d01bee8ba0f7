package nvvm

import (
	"slices"

	"tileiras/codegen/atom"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/ir/float"
)

// scales are those of the operands of a product, and where the instruction finds them.
type scales struct {
	*fn
	atom        *atom.MMA
	swap        bool
	left, right *scaleTile // nil: all are 1
}

type scaleTile struct {
	*tile
	*atom.Selector
	batched bool
}

// scalesOf finds the scales of a product: those of the tile on the left are the atom's of A, unless it computes the transposed product. A dot has
// none.
func (f *fn) scalesOf(d tileaa.Dot, a *atom.MMA, swap bool) *scales {
	if d.LhsScale() == nil {
		return &scales{f, a, swap, nil, nil}
	}
	selectors := []func(layout.Layout) *atom.Selector{atom.SelectorA, atom.SelectorB}
	if swap {
		slices.Reverse(selectors)
	}
	find := func(v *ir.Value, selector func(layout.Layout) *atom.Selector) *scaleTile {
		l := f.tileLayout(v)
		return &scaleTile{f.tileFor(v), selector(l), l.Rank() == 3}
	}
	return &scales{f, a, swap, find(d.LhsScale(), selectors[0]), find(d.RhsScale(), selectors[1])}
}

// of is the arguments of an instruction for the scales of the rows from m, the columns from n and the blocks from k on; none without scales.
func (s *scales) of(batch, m, k, n int) []reg {
	if s == nil {
		return nil
	}
	block := k / s.atom.Scale.Block
	x, y := s.chosen(s.left, batch, m, block), s.chosen(s.right, batch, block, n)
	if s.swap {
		x, y = y, x
	}
	return slices.Concat(x, y)
}

// chosen is the register with a scale, and the byte and the thread that have it.
func (s *scales) chosen(t *scaleTile, batch, i, j int) []reg {
	if t == nil {
		one := float.ByName(string(s.atom.Scale.Elem)).Encode(1, float.NearestEven)
		return []reg{con(kI32, one*0x01010101), i32(0), i32(0)}
	}
	at := []int{i, j}
	if t.batched {
		at = []int{batch, i, j}
	}
	c, ok := t.At(at...)
	if !ok {
		s.bug("a warp does not hold the scale it needs")
	}
	return []reg{s.bytesFrom(t.tile, 4*c.Word), i32(int64(c.Byte)), i32(int64(c.Thread))}
}

// bytesFrom is the word of the byte registers of a tile from first on, of which there may be fewer than four.
func (f *fn) bytesFrom(t *tile, first int) reg {
	if t.packs() {
		return f.word(t, first/4)
	}
	w := f.zext(f.reg(t, first), kI32)
	for i := first + 1; i < t.len(); i++ {
		w = f.or(w, f.shl(f.zext(f.reg(t, i), kI32), 8*(i-first)))
	}
	return w
}
