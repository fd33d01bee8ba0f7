package atom

import (
	"fmt"

	"tileiras/codegen/layout"
)

// Extent is the size of a product of tiles: Batch independent products of MxK by KxN. Batch 0 means tiles of two dimensions.
type Extent struct{ Batch, M, N, K int }

// Split says how warps share a product: Batch*M*N parts, each computed by Copies warps alike. All are powers of two.
type Split struct{ Batch, M, N, Copies int }

// Warps is the number of warps of a split.
func (s Split) Warps() int { return s.Batch * s.M * s.N * s.Copies }

func (s Split) String() string {
	return fmt.Sprintf("%dx%dx%d warps, %d copies", s.Batch, s.M, s.N, s.Copies)
}

// Tiling is a product of tiles made of atoms.
type Tiling struct {
	Atom   *MMA
	Extent Extent
	Split  Split
	// Swap: the atom computes the transposed product, its A is the tile B and its B the tile A.
	Swap bool
	// Layouts of the tiles, with the batch as leading dimension when there is one. Warps that need the same rows of A or columns
	// of B hold replicas. A thread holds a fragment's registers side by side; those of one step along K are neighbours.
	A, B, C layout.Layout
	SA, SB  layout.Layout // of the scales of A and B, where the atom takes some
	// Atoms per warp along each dimension.
	Repeat Extent
}

type axis uint8

const (
	axisM axis = iota
	axisN
	axisK
	axisBatch
)

// tiles is operands while they grow, and the axes of their last two dimensions; a batch is the first of three.
type tiles []struct {
	layout.Layout
	rows, cols axis
}

// expand gives the operands a dimension for batches.
func (t tiles) expand() {
	for i := range t {
		if !t[i].IsZero() {
			t[i].Layout = t[i].ExpandDim(0)
		}
	}
}

// grow doubles the product along an axis, each time into one more bit of d. An operand without the axis is shared by both halves:
// nothing in registers, replicas elsewhere.
func (t tiles) grow(x axis, d layout.Dim, times int) {
	for i := range t {
		o := &t[i]
		switch lead := o.Rank() - 2; {
		case o.IsZero(): // in shared memory
		case x == axisBatch:
			o.Layout = o.Repeat(d, 0, times)
		case x == o.rows:
			o.Layout = o.Repeat(d, lead, times)
		case x == o.cols:
			o.Layout = o.Repeat(d, lead+1, times)
		case d != layout.Reg:
			o.Layout = o.Replicate(d, times)
		}
	}
}

func (t tiles) replicate(d layout.Dim, n int) {
	for i := range t {
		if !t[i].IsZero() {
			t[i].Layout = t[i].Replicate(d, n)
		}
	}
}

// Tile builds a product of the given extent, a multiple of the atom's shape, from atoms. Within a warp neighbouring atoms are
// registers, so a warp owns a block of C; warps take the high bits.
//
//	C over 4 warps, split 2x2:    w0 w2      A: rows of w0 and w2 are the same, replicas
//	                              w1 w3      B: columns of w0 and w1 are the same, replicas
//
// ok is false when the extent or the split does not fit; pad the tiles or use fewer warps.
func Tile(a *MMA, e Extent, s Split, swap bool) (t Tiling, ok bool) {
	if swap {
		inner, ok := Tile(a, Extent{e.Batch, e.N, e.M, e.K}, Split{s.Batch, s.N, s.M, s.Copies}, false)
		if !ok {
			return Tiling{}, false
		}
		r := inner.Repeat
		return Tiling{Atom: a, Extent: e, Split: s, Swap: true, A: transpose(inner.B), B: transpose(inner.A), C: transpose(inner.C),
			SA: transpose(inner.SB), SB: transpose(inner.SA), Repeat: Extent{r.Batch, r.N, r.M, r.K}}, true
	}
	batch := max(1, e.Batch)
	sh := a.Shape
	group := a.Warps() // of the warps along M
	for _, p := range []struct{ size, unit, parts int }{{e.M, sh.M, s.M / group}, {e.N, sh.N, s.N}, {e.K, sh.K, 1}, {batch, 1, s.Batch}} {
		if p.size < 1 || p.size&(p.size-1) != 0 || p.parts < 1 || p.parts&(p.parts-1) != 0 || p.size < p.unit*p.parts {
			return Tiling{}, false
		}
	}
	if s.Copies < 1 || s.Copies&(s.Copies-1) != 0 {
		return Tiling{}, false
	}
	g := tiles{{a.LayoutA, axisM, axisK}, {a.LayoutB, axisK, axisN}, {a.LayoutC, axisM, axisN}}
	if e.Batch > 0 {
		g.expand()
	}
	m, n, k, b := log2(e.M/sh.M/(s.M/group)), log2(e.N/sh.N/s.N), log2(e.K/sh.K), log2(batch/s.Batch)
	r := Extent{1 << b, 1 << m, 1 << n, 1 << k}
	if a.Scalar() {
		m, n, b = g.spread(m, n, b)
		r = Extent{1 << b, 1 << m, g[2].Regs() << n, 1 << k}
	}
	g.grow(axisN, layout.Reg, n)
	g.grow(axisM, layout.Reg, m)
	g.grow(axisK, layout.Reg, k)
	if a.Scaled() {
		g = append(g, a.tileScales(e.Batch > 0, m, n, k)...)
	}
	g.grow(axisBatch, layout.Reg, b)
	g.grow(axisM, layout.Warp, log2(s.M/group))
	g.grow(axisN, layout.Warp, log2(s.N))
	g.grow(axisBatch, layout.Warp, log2(s.Batch))
	g.replicate(layout.Warp, log2(s.Copies))
	t = Tiling{Atom: a, Extent: e, Split: s, A: g[0].Layout, B: g[1].Layout, C: g[2].Layout, Repeat: r}
	if a.Scaled() {
		t.SA, t.SB = g[3].Layout, g[4].Layout
	}
	return t, true
}

const laneBits = 5

// spread gives the lanes of a warp to a scalar atom: up to four columns in a thread when there is enough to do, then eight lanes of
// columns, the other lanes to rows, what is left to columns, batch, and at last to replicas. It returns the bits still to grow.
func (t tiles) spread(m, n, b int) (int, int, int) {
	take := func(left *int, x axis, d layout.Dim, bits int) {
		bits = min(bits, *left)
		t.grow(x, d, bits)
		*left -= bits
	}
	lanes := laneBits
	lane := func(left *int, x axis, bits int) {
		bits = min(bits, lanes, *left)
		take(left, x, layout.Lane, bits)
		lanes -= bits
	}
	take(&n, axisN, layout.Reg, min(2, max(0, m+n+b-laneBits)))
	lane(&n, axisN, 3)
	lane(&m, axisM, laneBits)
	lane(&n, axisN, laneBits)
	lane(&b, axisBatch, laneBits)
	t.replicate(layout.Lane, lanes)
	return m, n, b
}

func transpose(l layout.Layout) layout.Layout {
	switch l.Rank() {
	case 0:
		return l // none
	case 3:
		return l.Permute([]int{0, 2, 1})
	}
	return l.Permute([]int{1, 0})
}

// Splits lists the ways to share a product among warps, without copies if there is any such, else with the fewest; groups of warps make no copies.
func Splits(a *MMA, e Extent, warps int, swap bool) []Split {
	am, an := a.Shape.M, a.Shape.N
	groupM, groupN := a.Warps(), 1 // the warps of an atom along M and N
	if swap {
		am, an = an, am
		groupM, groupN = groupN, groupM
	}
	for copies := 1; copies <= warps; copies *= 2 {
		var out []Split
		for b := 1; b <= max(1, e.Batch) && b*copies <= warps; b *= 2 {
			for m := groupM; m/groupM*am <= e.M && b*m*copies <= warps; m *= 2 {
				n := warps / (b * m * copies)
				if n >= groupN && n/groupN*an <= e.N {
					out = append(out, Split{b, m, n, copies})
				}
			}
		}
		if len(out) > 0 || a.Group > 0 {
			return out
		}
	}
	return nil
}
