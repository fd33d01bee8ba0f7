package sync

import (
	"cmp"
	"slices"

	"tileiras/codegen/atom"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// This file finds room in tensor memory.

// region is columns of tensor memory, with all lanes or with half of those that each warp sees.
type region struct {
	from, to int64
	lanes    uint8
}

// Halves of the lanes of each warp. Sums of 64 rows lie in one of them: the lower 16, or those from laneOfUpper on (PTX ISA, "Data Path Layout").
const (
	lowerLanes, upperLanes uint8 = 1, 2
	allLanes                     = lowerLanes | upperLanes
	laneOfUpper                  = 16
)

// overlaps reports whether two regions have an element in common.
func (r region) overlaps(o region) bool {
	return r.lanes&o.lanes != 0 && r.from < o.to && o.from < r.to
}

// sumsOf is a region as big as the sums of a product, at column 0.
func sumsOf(d tileaa.Dot) region {
	r := region{0, tileaa.TensorColumnsOf(d), allLanes}
	if d.Atom().Atom.Tensor.Parts() > 1 {
		r.lanes = lowerLanes
	}
	return r
}

// factorOf is one as big as a factor.
func factorOf(v *ir.Value) region {
	t := tileaa.AsTile(v)
	return region{0, int64(atom.FactorColumns(int(t.Shape[0]), int(t.Shape[1]), tileaa.ElemBits(t.Elem))), allLanes}
}

// regionOf is where a product sums, regionOfFactor where a factor lies.
func regionOf(d tileaa.Dot) region {
	r := sumsOf(d)
	r.from, _ = d.Column()
	r.to += r.from
	if _, upper := d.Lane(); upper {
		r.lanes = upperLanes
	}
	return r
}

func regionOfFactor(s tileaa.FactorStore) region {
	from, _ := s.Column()
	return region{from, from + tileaa.FactorColumnsOf(s), allLanes}
}

// ownSums reports whether each warp that stores a part of a factor over sums is the one that has taken what was there: it has whole rows of both, the same.
func ownSums(s tileaa.FactorStore) bool {
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

// occupied is what is in use, and the blocks in which it is.
type occupied []struct {
	region
	block *ir.Block
}

// place takes the lowest free columns for a block: those that are in use neither there nor in a block around it or inside of it.
func (o *occupied) place(b *ir.Block, size region) region {
	at := o.free(size, func(other *ir.Block) bool { return within(other, b) || within(b, other) })
	*o = append(*o, struct {
		region
		block *ir.Block
	}{at, b})
	return at
}

// free finds the lowest columns that are not in use in blocks that count, in either half of the lanes if one is enough.
func (o occupied) free(size region, counts func(*ir.Block) bool) region {
	at := o.freeIn(size, counts)
	if size.lanes == lowerLanes {
		size.lanes = upperLanes
		if upper := o.freeIn(size, counts); upper.from < at.from {
			return upper
		}
	}
	return at
}

func (o occupied) freeIn(size region, counts func(*ir.Block) bool) region {
	var list []region
	for _, u := range o {
		if u.lanes&size.lanes != 0 && counts(u.block) {
			list = append(list, u.region)
		}
	}
	slices.SortFunc(list, func(x, y region) int { return cmp.Compare(x.from, y.from) })
	from := int64(0)
	for _, u := range list {
		if u.from-from >= size.to {
			break
		}
		from = max(from, u.to)
	}
	return region{from, from + size.to, size.lanes}
}

// end is the first column behind all.
func (o occupied) end() (n int64) {
	for _, u := range o {
		n = max(n, u.to)
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
