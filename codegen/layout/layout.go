package layout

import (
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"
)

// Dim is an input dimension of a layout: where a value lives.
type Dim uint8

const (
	Reg   Dim = iota // register of a thread
	Lane             // thread of a warp
	Warp             // warp of a role, or of the block
	Block            // CTA of a cluster
	NumDims
)

var dimNames = [NumDims]string{"reg", "lane", "warp", "block"}

func (d Dim) String() string { return dimNames[d] }

const (
	maxOutBits = 62 // flat element numbers stay positive in an int
	maxInBits  = 62 // all inputs fit one word of Gauss elimination
)

// WarpSize is how many lanes a warp has (PTX ISA, "Thread hierarchy"); LaneBits are the bits of the number of one.
const (
	LaneBits = 5
	WarpSize = 1 << LaneBits
)

// Bases are the columns of a layout by input dimension: the element (flat, row-major) that each input bit selects.
type Bases struct{ Reg, Lane, Warp, Block []uint64 }

// Layout is a linear map from (reg, lane, warp, block) to the elements of a tile. It is immutable. Two layouts are the same when
// Equal, which is when their Keys are; the zero Layout holds nothing and IsZero.
type Layout struct {
	shape []int
	bases [NumDims][]uint64
	key   *lazyText // nil in the zero Layout
}

// lazyText is the text of a layout, formatted when first asked for, which most never are.
type lazyText struct{ text atomic.Pointer[string] }

func (t *lazyText) get(format func() string) string {
	if s := t.text.Load(); s != nil {
		return *s
	}
	s := format()
	t.text.Store(&s)
	return s
}

// New checks and makes a layout: every dimension a power of two, every basis inside the shape.
func New(shape []int, b Bases) (Layout, error) {
	l := Layout{shape: slices.Clone(shape), bases: [NumDims][]uint64{b.Reg, b.Lane, b.Warp, b.Block}, key: &lazyText{}}
	l.bases = l.copied(Reg, 0)
	if err := l.check(); err != nil {
		return Layout{}, err
	}
	return l, nil
}

func (l Layout) check() error {
	n, err := shapeBits(l.shape)
	if err != nil {
		return err
	}
	in := 0
	for d, cols := range l.bases {
		in += len(cols)
		for i, c := range cols {
			if c>>n != 0 {
				return fmt.Errorf("layout: basis %s[%d] is outside the shape %s", Dim(d), i, formatShape(l.shape))
			}
		}
	}
	if in > maxInBits {
		return fmt.Errorf("layout: %d input bits, at most %d are possible", in, maxInBits)
	}
	return nil
}

// fromBases is New without a check, for bases that are right by construction. It takes ownership of shape and bases.
func fromBases(shape []int, b [NumDims][]uint64) Layout {
	l := Layout{shape, b, &lazyText{}}
	if err := l.check(); err != nil {
		panic(err)
	}
	return l
}

// copied is a copy of the bases with n more of dimension d, all 0.
func (l Layout) copied(d Dim, n int) (b [NumDims][]uint64) {
	size := n
	for _, cols := range l.bases {
		size += len(cols)
	}
	all := make([]uint64, size)
	for e, cols := range l.bases {
		k := copy(all, cols)
		if Dim(e) == d {
			k += n
		}
		b[e], all = all[:k:k], all[k:]
	}
	return b
}

// Must is New for bases that are right by construction; an error is a mistake in this program.
func Must(shape []int, b Bases) Layout {
	l, err := New(shape, b)
	if err != nil {
		panic(err)
	}
	return l
}

func shapeBits(shape []int) (int, error) {
	n := 0
	for _, s := range shape {
		if s <= 0 || s&(s-1) != 0 {
			return 0, fmt.Errorf("layout: dimension %d is not a power of two", s)
		}
		n += bits.TrailingZeros(uint(s))
	}
	if n > maxOutBits {
		return 0, fmt.Errorf("layout: shape %s has more than 2^%d elements", formatShape(shape), maxOutBits)
	}
	return n, nil
}

// Log2 is the logarithm of a power of two.
func Log2(n int) int { return bits.TrailingZeros(uint(n)) }

// Dims are the extents of a type as layouts have them.
func Dims(shape []int64) []int {
	dims := make([]int, len(shape))
	for i, n := range shape {
		dims[i] = int(n)
	}
	return dims
}

// IsZero reports whether l is the zero Layout, which is no layout at all.
func (l Layout) IsZero() bool { return l.key == nil }

// Key identifies the layout: equal keys, equal layouts. It is the text form.
func (l Layout) Key() string { return l.String() }

// Equal reports whether both are the same matrix over the same shape.
func (l Layout) Equal(o Layout) bool {
	if l.key == o.key {
		return true
	}
	if l.IsZero() || o.IsZero() || !slices.Equal(l.shape, o.shape) {
		return false
	}
	for d := range l.bases {
		if !slices.Equal(l.bases[d], o.bases[d]) {
			return false
		}
	}
	return true
}

// Shape is the shape of the tile. The caller must not change it.
func (l Layout) Shape() []int { return l.shape }

// Rank is the number of dimensions of the tile.
func (l Layout) Rank() int { return len(l.shape) }

// OutBits is the number of bits of an element number.
func (l Layout) OutBits() int { return totalBits(l.shape) }

func totalBits(shape []int) int {
	n := 0
	for _, s := range shape {
		n += Log2(s)
	}
	return n
}

// InBits is the number of input bits of a dimension.
func (l Layout) InBits(d Dim) int { return len(l.bases[d]) }

// Regs is the number of registers (elements) a thread holds, replicas included.
func (l Layout) Regs() int { return 1 << len(l.bases[Reg]) }

// Lanes is the number of lanes the layout tells apart.
func (l Layout) Lanes() int { return 1 << len(l.bases[Lane]) }

// Warps is the number of warps.
func (l Layout) Warps() int { return 1 << len(l.bases[Warp]) }

// Blocks is the number of CTAs of the cluster.
func (l Layout) Blocks() int { return 1 << len(l.bases[Block]) }

// Basis is the element that bit i of dimension d selects.
func (l Layout) Basis(d Dim, i int) uint64 { return l.bases[d][i] }

// Column is the bases of dimension d. The caller must not change it.
func (l Layout) Column(d Dim) []uint64 { return l.bases[d] }

// Bases returns all columns. The caller must not change them.
func (l Layout) Bases() Bases {
	return Bases{l.bases[Reg], l.bases[Lane], l.bases[Warp], l.bases[Block]}
}

// Apply is the element held at a place, as a flat row-major number.
func (l Layout) Apply(reg, lane, warp, block int) uint64 {
	return Matrix{Cols: l.bases[Reg]}.apply(uint64(reg)) ^ Matrix{Cols: l.bases[Lane]}.apply(uint64(lane)) ^
		Matrix{Cols: l.bases[Warp]}.apply(uint64(warp)) ^ Matrix{Cols: l.bases[Block]}.apply(uint64(block))
}

// Coords splits a flat element number into one coordinate per dimension.
func (l Layout) Coords(flat uint64) []int { return coords(l.shape, flat) }

func coords(shape []int, flat uint64) []int {
	out := make([]int, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		out[i] = int(flat & uint64(shape[i]-1))
		flat >>= Log2(shape[i])
	}
	return out
}

// Flat joins coordinates into a flat element number; the inverse of Coords.
func (l Layout) Flat(coord []int) uint64 { return flatten(l.shape, coord) }

func flatten(shape, coord []int) uint64 {
	var f uint64
	for i, c := range coord {
		f = f<<Log2(shape[i]) | uint64(c)
	}
	return f
}

// Bit is the element selected by bit i of dimension dim of a shape: a unit vector.
func Bit(shape []int, dim, i int) uint64 { return 1 << (lowBit(shape, dim) + i) }

// lowBit is the place of a dimension's bit 0 in a flat element number.
func lowBit(shape []int, dim int) int { return totalBits(shape[dim+1:]) }

// dimMask has the bits of one dimension set.
func dimMask(shape []int, dim int) uint64 { return uint64(shape[dim]-1) << lowBit(shape, dim) }

// Matrix is the whole map; input bits in the order reg, lane, warp, block.
func (l Layout) Matrix() Matrix { return Matrix{l.columns(Reg, Lane, Warp, Block), l.OutBits()} }

func (l Layout) columns(dims ...Dim) []uint64 {
	var cols []uint64
	for _, d := range dims {
		cols = append(cols, l.bases[d]...)
	}
	return cols
}

// IsSurjective reports whether every element of the tile is held somewhere.
func (l Layout) IsSurjective() bool { return rank(l.Matrix().Cols) == l.OutBits() }

// IsBijective reports whether every element is held exactly once.
func (l Layout) IsBijective() bool {
	return l.IsSurjective() && len(l.Matrix().Cols) == l.OutBits()
}

// FreeMask is the input bits of dimension d that are redundant: with them the place changes and the set of elements does not.
// Every element held anywhere has exactly one owner, the place all of whose free bits are 0. Bits are taken in the order reg,
// lane, warp, block; one that depends on those before is free, so a repeated basis counts and not only a zero one.
func (l Layout) FreeMask(d Dim) uint64 {
	s := &Span{}
	var mask uint64
	for e := Reg; e <= d; e++ {
		for i, c := range l.bases[e] {
			if !s.Add(c) && e == d {
				mask |= 1 << i
			}
		}
	}
	return mask
}

// Owner is the place that owns an element; ok is false when nobody holds it.
func (l Layout) Owner(flat uint64) (reg, lane, warp, block int, ok bool) {
	in, ok := NewSpan(l.Matrix().Cols...).Solve(flat)
	take := func(d Dim) int {
		v := int(in & (1<<len(l.bases[d]) - 1))
		in >>= len(l.bases[d])
		return v
	}
	return take(Reg), take(Lane), take(Warp), take(Block), ok
}

// RegReps maps every register to the lowest register that always holds the same element (itself for most).
func (l Layout) RegReps() []int {
	s := NewSpan(l.bases[Reg]...)
	m := Matrix{Cols: make([]uint64, len(l.bases[Reg]))}
	for i, c := range l.bases[Reg] {
		m.Cols[i], _ = s.Solve(c)
	}
	return table(m)
}
