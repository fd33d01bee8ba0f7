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
	// Atoms per warp along each dimension.
	Repeat Extent
}

// Layouts are those of the tiles, with the batch as leading dimension when there is one. Warps that need the same rows of A or columns
// of B hold replicas. A thread holds a fragment's registers side by side; those of one step along K are neighbours.
type Layouts struct {
	A, B, C layout.Layout
	SA, SB  layout.Layout // of the scales of A and B, where the atom takes some
}

// Held is how many elements of each tile a thread holds, replicas included: Regs of its layout.
type Held struct{ A, B, C, SA, SB int }

// Held computes the counts from the atom's layouts and how often it is repeated, so that costs can be estimated before layouts are made.
func (t Tiling) Held() Held {
	if t.Swap {
		h := t.transposed().Held()
		return Held{h.B, h.A, h.C, h.SB, h.SA}
	}
	a, r := t.Atom, t.Repeat
	h := Held{A: a.LayoutA.Regs() * r.M * r.K * r.Batch, B: a.LayoutB.Regs() * r.K * r.N * r.Batch, C: a.LayoutC.Regs() * r.M * r.N * r.Batch, SA: 1, SB: 1}
	if a.SharedA {
		h.A = 1
	}
	if a.Group > 0 {
		h.B = 1
	}
	if a.HoldsScales() {
		h.SA = a.LayoutSA.Regs() * max(1, r.M>>len(selectsA)) * r.K * r.Batch
		h.SB = a.LayoutSB.Regs() * r.K * max(1, r.N>>len(selectsB)) * r.Batch
	}
	return h
}

// transposed is the tiling of the transposed product.
func (t Tiling) transposed() Tiling {
	e, s, r := t.Extent, t.Split, t.Repeat
	return Tiling{t.Atom, Extent{e.Batch, e.N, e.M, e.K}, Split{s.Batch, s.N, s.M, s.Copies}, !t.Swap, Extent{r.Batch, r.N, r.M, r.K}}
}

type axis uint8

const (
	axisM axis = iota
	axisN
	axisK
	axisBatch
)

// tiles are the operands of a product that is being tiled, with the axes of their last two dimensions; a batch is the first of three.
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

// grow doubles the product along an axis, times times, each time by one more bit of the input dimension d. An operand without the
// axis is shared by both halves: it gets no further registers, but replicas in lanes or warps.
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
	t = Tiling{Atom: a, Extent: e, Split: s, Swap: swap}
	if swap {
		t = t.transposed()
	}
	if !t.fits() {
		return Tiling{}, false
	}
	m, n, k, b := t.atoms()
	columns := 0
	if a.Scalar() {
		m, n, b, columns = tiles{}.distributeLanes(m, n, b)
	}
	t.Repeat = Extent{1 << b, 1 << m, 1 << (columns + n), 1 << k}
	if swap {
		t = t.transposed()
	}
	return t, true
}

// fits reports whether the extent is divisible among the warps into whole atoms.
func (t Tiling) fits() bool {
	e, s, sh := t.Extent, t.Split, t.Atom.Shape
	for _, p := range []struct{ size, unit, parts int }{{e.M, sh.M, s.M / t.Atom.Warps()}, {e.N, sh.N, s.N}, {e.K, sh.K, 1}, {max(1, e.Batch), 1, s.Batch}} {
		if p.size < 1 || p.size&(p.size-1) != 0 || p.parts < 1 || p.parts&(p.parts-1) != 0 || p.size < p.unit*p.parts {
			return false
		}
	}
	return s.Copies >= 1 && s.Copies&(s.Copies-1) == 0
}

// atoms are log2 of the number of atoms of a warp along each dimension.
func (t Tiling) atoms() (m, n, k, b int) {
	e, s, sh := t.Extent, t.Split, t.Atom.Shape
	return layout.Log2(e.M / sh.M / (s.M / t.Atom.Warps())), layout.Log2(e.N / sh.N / s.N), layout.Log2(e.K / sh.K), layout.Log2(max(1, e.Batch) / s.Batch)
}

// Layouts makes the layouts.
func (t Tiling) Layouts() Layouts {
	if t.Swap {
		l := t.transposed().Layouts()
		return Layouts{transpose(l.B), transpose(l.A), transpose(l.C), transpose(l.SB), transpose(l.SA)}
	}
	a, s := t.Atom, t.Split
	g := tiles{{a.LayoutA, axisM, axisK}, {a.LayoutB, axisK, axisN}, {a.LayoutC, axisM, axisN}}
	if t.Extent.Batch > 0 {
		g.expand()
	}
	m, n, k, b := t.atoms()
	if a.Scalar() {
		m, n, b, _ = g.distributeLanes(m, n, b)
	}
	g.grow(axisN, layout.Reg, n)
	g.grow(axisM, layout.Reg, m)
	g.grow(axisK, layout.Reg, k)
	if a.HoldsScales() {
		g = append(g, a.tileScales(t.Extent.Batch > 0, m, n, k)...)
	}
	g.grow(axisBatch, layout.Reg, b)
	g.grow(axisM, layout.Warp, layout.Log2(s.M/a.Warps()))
	g.grow(axisN, layout.Warp, layout.Log2(s.N))
	g.grow(axisBatch, layout.Warp, layout.Log2(s.Batch))
	g.replicate(layout.Warp, layout.Log2(s.Copies))
	l := Layouts{A: g[0].Layout, B: g[1].Layout, C: g[2].Layout}
	if a.HoldsScales() {
		l.SA, l.SB = g[3].Layout, g[4].Layout
	}
	return l
}

// Has reports whether layouts are those of the tiling, up to a permutation of the rows of A and C and of the columns of B and C: which rows and columns of the result an
// instruction computes is free. It is not for groups, whose descriptors name rows of shared memory. Factors in memory have no layout.
func (t Tiling) Has(have Layouts) bool {
	want := t.Layouts()
	rank := want.C.Rank()
	names, ok := want.C.RelabelingTo(have.C)
	if !ok || t.Atom.Group > 0 && !want.C.Equal(have.C) {
		return false
	}
	row, column := rank-2, rank-1
	for _, o := range []struct {
		want, have layout.Layout
		free       int // the dimension that is not of the result
	}{{want.A, have.A, column}, {want.B, have.B, row}, {want.SA, have.SA, column}, {want.SB, have.SB, row}} {
		if o.have.IsZero() || o.want.IsZero() {
			continue
		}
		if !o.want.Relabeled(names, o.free).Equal(o.have) {
			return false
		}
	}
	return true
}

// distributeLanes distributes a scalar atom over the lanes of a warp: up to four columns in a thread when there is enough to do, then eight lanes along columns, the
// other lanes along rows, then columns, then the batch, and replicas at last. It returns the bits of each axis that remain, and the column bits of a thread.
func (t tiles) distributeLanes(m, n, b int) (restM, restN, restB, columns int) {
	take := func(left *int, x axis, d layout.Dim, bits int) {
		bits = min(bits, *left)
		t.grow(x, d, bits)
		*left -= bits
	}
	lanes := layout.LaneBits
	lane := func(left *int, x axis, bits int) {
		bits = min(bits, lanes, *left)
		take(left, x, layout.Lane, bits)
		lanes -= bits
	}
	columns = min(2, max(0, m+n+b-layout.LaneBits), n)
	take(&n, axisN, layout.Reg, columns)
	lane(&n, axisN, 3)
	lane(&m, axisM, layout.LaneBits)
	lane(&n, axisN, layout.LaneBits)
	lane(&b, axisBatch, layout.LaneBits)
	t.replicate(layout.Lane, lanes)
	return m, n, b, columns
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

// Splits lists the ways to divide a product among warps, those with the fewest copies of the same work; groups of warps make no copies.
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
