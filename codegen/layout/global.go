package layout

import "slices"

// sectorBytes is the unit of global memory traffic: a 128-byte line has four sectors (CUDA C++ Best Practices Guide).
const sectorBytes = 32

// VecBytes is the widest access, in bytes, for addresses that are multiples of alignBytes and runs of contiguousBytes: a power of
// two, at most 16, at least 1.
func VecBytes(alignBytes, contiguousBytes int) int {
	v := 1
	for v < maxVec && alignBytes%(2*v) == 0 && contiguousBytes >= 2*v {
		v *= 2
	}
	return v
}

// Contiguous is the number of consecutive elements along dim, aligned to their number, that a thread holds in registers.
func (l Layout) Contiguous(dim int) int {
	order := []int{dim}
	for d := range l.shape {
		if d != dim {
			order = append(order, d)
		}
	}
	return Strided(l.shape, order).MaxVec(l, l.shape[dim])
}

// Traffic counts what an access to global memory costs, over all warps of the tile.
type Traffic struct {
	Requests int // warp instructions
	Sectors  int // 32-byte sectors moved by them, a sector counted once per instruction
	Ideal    int // sectors if every byte of the tile moved once
}

// GlobalTraffic counts the accesses of layout l to an array of elements of elemBytes bytes. strides has the distance in elements
// between neighbours of every dimension; vec elements move at a time, along the dimension vecDim. ok is false when the layout
// has no such vectors. The tile starts at a sector boundary. All warps do the same up to the place, so one stands for all.
func GlobalTraffic(l Layout, strides []int, elemBytes, vecDim, vec int) (t Traffic, ok bool) {
	order := []int{vecDim}
	for d := range l.shape {
		if d != vecDim {
			order = append(order, d)
		}
	}
	v, ok := Strided(l.shape, order).Vectors(l, vec)
	if !ok || len(strides) != l.Rank() {
		return Traffic{}, false
	}
	for _, g := range v.Groups {
		var seen []int
		for lane := range l.Lanes() {
			at := 0
			for d, x := range l.Coords(l.Apply(g.Regs[0], lane, 0, 0)) {
				at += x * strides[d]
			}
			first := at * elemBytes / sectorBytes
			last := (at*elemBytes + vec*elemBytes - 1) / sectorBytes
			for s := first; s <= last; s++ {
				seen = append(seen, s)
			}
		}
		slices.Sort(seen)
		t.Sectors += len(slices.Compact(seen))
		t.Requests++
	}
	t.Requests *= l.Warps()
	t.Sectors *= l.Warps()
	t.Ideal = max(1, (elemBytes<<l.OutBits())/sectorBytes)
	return t, true
}
