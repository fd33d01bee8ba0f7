package layout

import "math/bits"

// AxisBits says where the elements along a dimension live: the input bits that step along it. Bit i of a list is the number of a
// bit of that input dimension.
type AxisBits struct{ Reg, Lane, Warp, Block []int }

// Reduce finds the input bits that a reduction along dim combines: registers by a tree, lanes by butterflies, warps through shared
// memory, blocks through the cluster. Every element is combined once: replicas of the tile are not among the bits. ok is false when
// an input bit steps along dim and along another dimension together: convert first.
func (l Layout) Reduce(dim int) (AxisBits, bool) {
	mask := dimMask(l.shape, dim)
	var a AxisBits
	s := &Span{}
	for d, cols := range l.bases {
		for i, c := range cols {
			if c&mask == 0 {
				continue
			}
			if c&^mask != 0 {
				return AxisBits{}, false
			}
			if s.Add(c) {
				list := a.list(Dim(d))
				*list = append(*list, i)
			}
		}
	}
	return a, s.dim == bits.OnesCount64(mask)
}

func (a *AxisBits) list(d Dim) *[]int {
	return [...]*[]int{&a.Reg, &a.Lane, &a.Warp, &a.Block}[d]
}

// Scan finds the input bits of dim in the order of the coordinate's bits, low first, for a prefix scan: serial over registers, a
// logarithmic scan over lanes, totals over warps. ok is false unless every bit of the coordinate is selected by one input bit, and
// registers have lower bits than lanes, lanes lower than warps, warps lower than blocks.
func (l Layout) Scan(dim int) (AxisBits, bool) {
	a, ok := l.Reduce(dim)
	if !ok {
		return AxisBits{}, false
	}
	at := lowBit(l.shape, dim)
	for d := Reg; d < NumDims; d++ {
		list := a.list(d)
		sorted := make([]int, 0, len(*list))
		for range *list {
			found := false
			for _, i := range *list {
				if l.bases[d][i] == 1<<at {
					sorted, found = append(sorted, i), true
				}
			}
			if !found {
				return AxisBits{}, false
			}
			at++
		}
		*list = sorted
	}
	return a, true
}
