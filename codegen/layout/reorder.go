package layout

import "math/bits"

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
