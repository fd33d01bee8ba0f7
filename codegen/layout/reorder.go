package layout

import (
	"math/bits"
	"slices"
)

// Reorder finds an order of the bits of a dimension, as PermuteBits takes it, after which every thread holds the same elements in l and in another layout, so
// that a conversion only renames registers. Bits that registers select keep their order. Of two results of an mma side by side, and a factor of 8-bit elements,
//
//	reg0 reg1 reg2 | lane0 lane1          reg0 reg1 reg2 | lane0 lane1
//	  n0   m3   n3 |    n1    n2    and     k0   k1   m3 |    k2    k3      it is  k0 = n0, k1 = n3, k2 = n1, k3 = n2
func (l Layout) Reorder(dim int, to Layout) (order []int, ok bool) {
	if len(l.bases[Lane]) != len(to.bases[Lane]) || len(l.bases[Warp]) != len(to.bases[Warp]) {
		return nil, false
	}
	first, mask := lowBit(l.shape, dim), dimMask(l.shape, dim)
	order = make([]int, Log2(l.shape[dim]))
	free, left := mask, mask // coordinate bits of the other layout, and of l, that no lane or warp selects
	for d := Lane; d <= Warp; d++ {
		for i, from := range l.bases[d] {
			c := to.bases[d][i]
			if (from|c)&mask == 0 {
				continue
			}
			if bits.OnesCount64(from) != 1 || bits.OnesCount64(c) != 1 || from&left == 0 || c&free == 0 {
				return nil, false
			}
			order[bits.TrailingZeros64(c)-first] = bits.TrailingZeros64(from) - first
			free, left = free&^c, left&^from
		}
	}
	for ; free != 0; free, left = free&(free-1), left&(left-1) {
		order[bits.TrailingZeros64(free)-first] = bits.TrailingZeros64(left) - first
	}
	return order, Convert(l.PermuteBits(dim, order), to).Kind <= RegRename
}

// Relabeling is a linear map of the coordinates of a tile, one dimension at a time: bit i of dimension d becomes [d][i].
type Relabeling [][]uint64

// RelabelingTo finds the relabeling that makes l the layout o. Each input bit of l must step along one dimension, by one bit; ok is false where it does not, or there
// is no such relabeling.
func (l Layout) RelabelingTo(o Layout) (to Relabeling, ok bool) {
	if !slices.Equal(l.shape, o.shape) {
		return nil, false
	}
	to = make(Relabeling, len(l.shape))
	for d, n := range l.shape {
		to[d] = make([]uint64, Log2(n))
	}
	for d, cols := range l.bases {
		if len(cols) != len(o.bases[d]) {
			return nil, false
		}
		for i, c := range cols {
			if !to.add(l.Coords(c), o.Coords(o.bases[d][i])) {
				return nil, false
			}
		}
	}
	return to, true
}

// add records the image of one bit; it returns false where that contradicts an earlier one.
func (r Relabeling) add(from, to []int) bool {
	found := false
	for d, x := range from {
		switch {
		case x == 0 && to[d] == 0:
		case x == 0 || to[d] == 0 || found || x&(x-1) != 0:
			return false
		default:
			image := &r[d][Log2(x)]
			if *image != 0 && *image != uint64(to[d]) {
				return false
			}
			*image, found = uint64(to[d]), true
		}
	}
	return true
}

// Relabeled is the layout with its elements relabeled, except along dimension free.
func (l Layout) Relabeled(by Relabeling, free int) Layout {
	return l.relabel(l.shape, func(c uint64) uint64 {
		at := l.Coords(c)
		for d, x := range at {
			if d != free {
				at[d] = int(Matrix{Cols: by[d]}.apply(uint64(x)))
			}
		}
		return l.Flat(at)
	})
}
