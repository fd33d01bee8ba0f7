package layout

import (
	"fmt"
	"math/bits"
	"slices"
)

// Repeat doubles the tile along dim n times, each new high bit of dim selected by a new high bit of the input dimension d. With
// Reg a thread holds more pieces; with Warp more warps share the tile.
func (l Layout) Repeat(d Dim, dim, n int) Layout {
	if n == 0 {
		return l
	}
	shape, top := slices.Clone(l.shape), Log2(l.shape[dim])
	shape[dim] <<= n
	at := lowBit(l.shape, dim) + top
	b := l.copied(d, n)
	for _, cols := range b {
		for i, c := range cols {
			cols[i] = insertZeros(c, at, n)
		}
	}
	for i, more := 0, b[d][len(l.bases[d]):]; i < n; i++ {
		more[i] = Bit(shape, dim, top+i)
	}
	return fromBases(shape, b)
}

// Replicate adds n redundant high bits to the input dimension d: more places hold the same tile.
func (l Layout) Replicate(d Dim, n int) Layout {
	return fromBases(l.shape, l.copied(d, n))
}

// insertZeros inserts n zero bits at position at.
func insertZeros(c uint64, at, n int) uint64 {
	low := c & (1<<at - 1)
	return (c^low)<<n | low
}

// relabel composes the layout with a linear map f of elements: every place holds f of what it held.
func (l Layout) relabel(shape []int, f func(uint64) uint64) Layout {
	b := l.copied(Reg, 0)
	for _, cols := range b {
		for i, c := range cols {
			cols[i] = f(c)
		}
	}
	return fromBases(shape, b)
}

// PermuteBits permutes the bits of the coordinate along dim: bit i is bit order[i] of the old one; bits beyond the order stay.
func (l Layout) PermuteBits(dim int, order []int) Layout {
	first := lowBit(l.shape, dim)
	all := (uint64(1)<<len(order) - 1) << first
	return l.relabel(l.shape, func(c uint64) uint64 {
		to := c &^ all
		for i, from := range order {
			to |= c >> (first + from) & 1 << (first + i)
		}
		return to
	})
}

// RemoveDim is the layout of the result of a reduction over dim: the projection that drops its coordinate. Input bits stay, so those
// that stepped along dim become redundant, which makes the broadcast back free.
func (l Layout) RemoveDim(dim int) Layout {
	at, n := lowBit(l.shape, dim), Log2(l.shape[dim])
	return l.relabel(slices.Delete(slices.Clone(l.shape), dim, dim+1), func(c uint64) uint64 {
		low := c & (1<<at - 1)
		return low | c>>(at+n)<<at
	})
}

// ExpandDim inserts a dimension of size 1 before dim.
func (l Layout) ExpandDim(dim int) Layout {
	return l.Reshape(slices.Insert(slices.Clone(l.shape), dim, 1))
}

// Permute reorders the dimensions: dimension i of the result is dimension perm[i] of l.
func (l Layout) Permute(perm []int) Layout {
	return l.relabel(permuted(l.shape, perm))
}

// permuted is a shape with its dimensions permuted, and the map from old to new element numbers.
func permuted(from, perm []int) (shape []int, at func(uint64) uint64) {
	pick := func(x []int) []int {
		y := make([]int, len(perm))
		for i, p := range perm {
			y[i] = x[p]
		}
		return y
	}
	shape = pick(from)
	return shape, func(c uint64) uint64 { return flatten(shape, pick(coords(from, c))) }
}

// Inverse is the inverse of a permutation.
func Inverse(perm []int) []int {
	inverse := make([]int, len(perm))
	for i, p := range perm {
		inverse[p] = i
	}
	return inverse
}

// Reshape gives the same elements another shape. Row-major numbers do not change, so neither does any basis.
func (l Layout) Reshape(shape []int) Layout {
	if totalBits(shape) != l.OutBits() {
		panic(fmt.Sprintf("layout: reshape of %s to %v changes the number of elements", formatShape(l.shape), shape))
	}
	return fromBases(slices.Clone(shape), l.bases)
}

// BroadcastSource is the layout of a tile of the given shape, whose dimensions are those of l or 1, such that broadcasting it
// to l needs no code: register r of the result is register r of the source.
func (l Layout) BroadcastSource(shape []int) Layout {
	if len(shape) != l.Rank() {
		panic(fmt.Sprintf("layout: broadcast source %v of %s has another rank", shape, formatShape(l.shape)))
	}
	src := l
	for i, s := range shape {
		if s != l.shape[i] {
			src = src.RemoveDim(i).ExpandDim(i)
		}
	}
	return src
}

// Cat is the layout of two tiles of layout l one after the other along dim: a new top register bit, so the registers of the
// result are those of the first tile followed by those of the second.
func (l Layout) Cat(dim int) Layout { return l.Repeat(Reg, dim, 1) }

// CatInLanes is the layout of two tiles of layout l one after the other along dim, if several lanes hold the same of l: the first such bit of the lane tells
// which tile an element is of, and threads hold no more registers than before. ok is false if all bits of the lane tell elements apart.
func (l Layout) CatInLanes(dim int) (joined Layout, bit int, ok bool) {
	bit = slices.Index(l.bases[Lane], 0)
	if bit < 0 {
		return l, 0, false
	}
	joined = l.Cat(dim)
	b := joined.copied(Reg, 0)
	last := len(b[Reg]) - 1
	b[Lane][bit], b[Reg] = b[Reg][last], b[Reg][:last]
	return fromBases(joined.shape, b), bit, true
}

// Cut is the layout of a bitcast to elements 2^n times as narrow: the number of a part within its element becomes the lowest register bits, everything
// else stays. l has one dimension.
func (l Layout) Cut(n int) Layout {
	b := l.copied(Reg, n)
	for _, cols := range b {
		for i, c := range cols {
			cols[i] = c << n
		}
	}
	own := len(b[Reg]) - n
	copy(b[Reg][n:], b[Reg][:own])
	for i := range n {
		b[Reg][i] = 1 << i
	}
	return fromBases([]int{l.shape[0] << n}, b)
}

// Join is the inverse of Cut, the bitcast to elements 2^n times as wide; ok is false where a thread does not hold the parts of an element in order in
// neighbouring registers.
func (l Layout) Join(n int) (whole Layout, ok bool) {
	if l.InBits(Reg) < n {
		return whole, false
	}
	b := l.copied(Reg, 0)
	for d, cols := range b {
		for i, c := range cols {
			inside := Dim(d) == Reg && i < n
			if inside && c != 1<<i || !inside && c&(1<<n-1) != 0 {
				return whole, false
			}
			cols[i] = c >> n
		}
	}
	b[Reg] = b[Reg][n:]
	return fromBases([]int{l.shape[0] >> n}, b), true
}

// Extract is the inverse of Cat, for pieces of any smaller shape: the layout of a piece and, for each piece (numbered row-major)
// the register of l that each register of the piece is. ok is false when a high bit of a coordinate is not chosen by a register
// bit of its own: then a piece is not a set of registers.
func (l Layout) Extract(shape []int) (piece Layout, regs [][]int, ok bool) {
	p, ok := l.Pieces(shape)
	if !ok || p.LaneMask != 0 {
		return Layout{}, nil, false
	}
	return p.Layout, p.Regs, true
}

// Pieces is a tile cut into pieces of one shape, numbered row-major, each a subset of the registers of some lanes of every warp.
type Pieces struct {
	Layout           // of a piece; lanes that differ in LaneMask are replicas
	Regs     [][]int // for each piece: the register of the tile that each register of the piece is
	Lanes    []int   // for each piece: the bits under LaneMask of the lanes that have it
	LaneMask int     // the lane bits that select the piece
}

// Pieces cuts a tile of layout l. ok is false when a high bit of a coordinate is not selected by one register or lane bit that selects nothing else.
func (l Layout) Pieces(shape []int) (p Pieces, ok bool) {
	if len(shape) != l.Rank() {
		return Pieces{}, false
	}
	var high uint64
	grid := make([]int, len(shape))
	for i, s := range shape {
		if s <= 0 || s > l.shape[i] || s&(s-1) != 0 {
			return Pieces{}, false
		}
		grid[i] = l.shape[i] / s
		high |= uint64(l.shape[i]-s) << lowBit(l.shape, i)
	}
	var kept, gone, lanes []int
	for d, cols := range l.bases {
		for i, c := range cols {
			switch {
			case c&high == 0:
				if Dim(d) == Reg {
					kept = append(kept, i)
				}
			case Dim(d) == Reg && c&(c-1) == 0:
				gone = append(gone, i)
			case Dim(d) == Lane && c&(c-1) == 0:
				lanes = append(lanes, i)
				p.LaneMask |= 1 << i
			default:
				return Pieces{}, false
			}
		}
	}
	if len(gone)+len(lanes) != totalBits(grid) {
		return Pieces{}, false
	}
	bases := l.copied(Reg, 0)
	bases[Reg] = nil
	for _, i := range kept {
		bases[Reg] = append(bases[Reg], l.bases[Reg][i])
	}
	for _, i := range lanes {
		bases[Lane][i] = 0
	}
	p.Layout = fromBases(l.shape, bases).relabel(shape, func(c uint64) uint64 { return flatten(shape, coords(l.shape, c)) })
	for n := range 1 << totalBits(grid) {
		corner := coords(grid, uint64(n))
		for i := range corner {
			corner[i] *= shape[i]
		}
		at := flatten(l.shape, corner)
		regs, top := make([]int, p.Layout.Regs()), l.bitsSelecting(Reg, gone, at)
		for r := range regs {
			regs[r] = top
			for j, i := range kept {
				regs[r] |= r >> j & 1 << i
			}
		}
		p.Regs, p.Lanes = append(p.Regs, regs), append(p.Lanes, l.bitsSelecting(Lane, lanes, at))
	}
	return p, true
}

// bitsSelecting is the mask of those input bits of dimension d, among from, whose bases are set in an element number.
func (l Layout) bitsSelecting(d Dim, from []int, element uint64) (bits int) {
	for _, i := range from {
		if l.bases[d][i]&element != 0 {
			bits |= 1 << i
		}
	}
	return bits
}

// OfWarps is l with at most so many warps: the high warp bits become register bits, so each warp holds what several did; those of basis 0, which are
// replicas, are dropped.
func (l Layout) OfWarps(warps int) Layout {
	b := l.copied(Reg, 0)
	keep := min(bits.Len(uint(warps))-1, len(b[Warp]))
	gone := b[Warp][keep:]
	b[Warp] = b[Warp][:keep]
	for _, v := range gone {
		if v != 0 {
			b[Reg] = append(b[Reg], v)
		}
	}
	return fromBases(l.shape, b)
}
