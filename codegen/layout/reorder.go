package layout

import (
	"math/bits"
	"slices"
)

// Reorder finds an order of the bits of a dimension, as PermuteBits takes it, after which threads hold of l just what they hold of another layout, under other
// register numbers at most. Bits that registers choose keep their order. Of two results of an mma side by side, and a factor of 8-bit elements,
//
//	reg0 reg1 reg2 | lane0 lane1          reg0 reg1 reg2 | lane0 lane1
//	  n0   m3   n3 |    n1    n2    and     k0   k1   m3 |    k2    k3      it is  k0 = n0, k1 = n3, k2 = n1, k3 = n2
func (l Layout) Reorder(dim int, to Layout) (order []int, ok bool) {
	if len(l.bases[Lane]) != len(to.bases[Lane]) || len(l.bases[Warp]) != len(to.bases[Warp]) {
		return nil, false
	}
	first, mask := lowBit(l.shape, dim), dimMask(l.shape, dim)
	order = make([]int, log2(l.shape[dim]))
	free, left := mask, mask // bits of the other layout, and of l, that registers choose
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

// Names are how the coordinates of a tile are named anew: bit i of dimension d becomes [d][i].
type Names [][]uint64

// NamesIn finds under which names another layout has the elements of l in the same places; each input bit of l steps along one dimension, by one bit. ok is false where
// other threads have them, or there is no name.
func (l Layout) NamesIn(o Layout) (names Names, ok bool) {
	if !slices.Equal(l.shape, o.shape) {
		return nil, false
	}
	names = make(Names, len(l.shape))
	for d, n := range l.shape {
		names[d] = make([]uint64, log2(n))
	}
	for d, cols := range l.bases {
		if len(cols) != len(o.bases[d]) {
			return nil, false
		}
		for i, c := range cols {
			if !names.add(l.Coords(c), o.Coords(o.bases[d][i])) {
				return nil, false
			}
		}
	}
	return names, true
}

// add takes the name of one bit, if it has no other.
func (n Names) add(of, is []int) bool {
	found := false
	for d, x := range of {
		switch {
		case x == 0 && is[d] == 0:
		case x == 0 || is[d] == 0 || found || x&(x-1) != 0:
			return false
		default:
			name := &n[d][log2(x)]
			if *name != 0 && *name != uint64(is[d]) {
				return false
			}
			*name, found = uint64(is[d]), true
		}
	}
	return true
}

// Named is the layout with its elements named anew, but for dimension free.
func (l Layout) Named(names Names, free int) Layout {
	return l.relabel(l.shape, func(c uint64) uint64 {
		at := l.Coords(c)
		for d, x := range at {
			if d != free {
				at[d] = int(Matrix{Cols: names[d]}.Apply(uint64(x)))
			}
		}
		return l.Flat(at)
	})
}
