package memory

import (
	"cmp"
	"slices"

	"tileiras/codegen/atom"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// This file finds room in tensor memory.

// TensorRegion is columns of tensor memory, with all lanes or with half of those that each warp sees.
type TensorRegion struct {
	From, To int64
	Lanes    uint8
}

// Halves of the lanes of each warp. Sums of 64 rows lie in one of them: the lower 16, or those from laneOfUpper on (PTX ISA, "Data Path Layout").
const (
	lowerLanes, upperLanes uint8 = 1, 2
	AllLanes                     = lowerLanes | upperLanes
	laneOfUpper                  = 16
)

// Overlaps reports whether two regions have an element in common.
func (r TensorRegion) Overlaps(o TensorRegion) bool {
	return r.Lanes&o.Lanes != 0 && r.From < o.To && o.From < r.To
}

// SumsSize is a region as big as the sums of a product, at column 0.
func SumsSize(d tileaa.Dot) TensorRegion {
	r := TensorRegion{0, tileaa.TensorColumnsOf(d), AllLanes}
	if d.Atom().Atom.Tensor.Parts() > 1 {
		r.Lanes = lowerLanes
	}
	return r
}

// FactorSize is one as big as a factor.
func FactorSize(v *ir.Value) TensorRegion {
	t := tileaa.AsTile(v)
	return TensorRegion{0, int64(atom.FactorColumns(int(t.Shape[0]), int(t.Shape[1]), tileaa.ElemBits(t.Elem))), AllLanes}
}

// TensorRegionOf is where a product sums.
func TensorRegionOf(d tileaa.Dot) TensorRegion {
	r := SumsSize(d)
	r.From, _ = d.Column()
	r.To += r.From
	if _, upper := d.Lane(); upper {
		r.Lanes = upperLanes
	}
	return r
}

// FactorRegionOf is where a factor lies.
func FactorRegionOf(s tileaa.FactorStore) TensorRegion {
	from, _ := s.Column()
	return TensorRegion{from, from + tileaa.FactorColumnsOf(s), AllLanes}
}

// ReplacesOwnSums reports whether each warp that stores a part of a factor over sums is the one that has taken what was there: it has whole rows of both, the same.
func ReplacesOwnSums(s tileaa.FactorStore) bool {
	d, below := tileaa.SumsBelow(s)
	if !below || d.Atom().Swap {
		return !below
	}
	sums, factor := tileaa.LayoutOf(s.Over()), tileaa.LayoutOf(s.Value())
	if sums.Rank() != 2 || sums.Shape()[0] != factor.Shape()[0] || int64(sums.Shape()[1]) != tileaa.FactorGroupColumns(s) {
		return false
	}
	for i, c := range factor.Column(layout.Warp) {
		at := factor.Coords(c)
		if at[1] != 0 || !slices.Equal(at, sums.Coords(sums.Column(layout.Warp)[i])) {
			return false
		}
	}
	return true
}

// OccupiedColumns is what is in use, and the blocks in which it is.
type OccupiedColumns []struct {
	TensorRegion
	block *ir.Block
}

// Place takes the lowest free columns for a block: those that are in use neither there nor in a block around it or inside of it.
func (o *OccupiedColumns) Place(b *ir.Block, size TensorRegion) TensorRegion {
	at := o.free(size, func(other *ir.Block) bool { return within(other, b) || within(b, other) })
	*o = append(*o, struct {
		TensorRegion
		block *ir.Block
	}{at, b})
	return at
}

// free finds the lowest columns that are not in use in blocks that count, in either half of the lanes if one is enough.
func (o OccupiedColumns) free(size TensorRegion, counts func(*ir.Block) bool) TensorRegion {
	at := o.freeIn(size, counts)
	if size.Lanes == lowerLanes {
		size.Lanes = upperLanes
		if upper := o.freeIn(size, counts); upper.From < at.From {
			return upper
		}
	}
	return at
}

func (o OccupiedColumns) freeIn(size TensorRegion, counts func(*ir.Block) bool) TensorRegion {
	var list []TensorRegion
	for _, u := range o {
		if u.Lanes&size.Lanes != 0 && counts(u.block) {
			list = append(list, u.TensorRegion)
		}
	}
	slices.SortFunc(list, func(x, y TensorRegion) int { return cmp.Compare(x.From, y.From) })
	from := int64(0)
	for _, u := range list {
		if u.From-from >= size.To {
			break
		}
		from = max(from, u.To)
	}
	return TensorRegion{from, from + size.To, size.Lanes}
}

// End is the first column behind all.
func (o OccupiedColumns) End() (n int64) {
	for _, u := range o {
		n = max(n, u.To)
	}
	return n
}

// within reports whether a block is another one, or in it.
func within(b, outer *ir.Block) bool {
	for ; b != nil; b = b.ParentOp().Block() {
		if b == outer {
			return true
		}
	}
	return false
}
