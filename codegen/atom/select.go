package atom

import (
	"fmt"
	"iter"

	"tileiras/codegen/target"
)

// Candidate is one way to compute a product of tiles.
type Candidate struct {
	Atom *MMA
	// Swap: compute the transposed product, so that a tile of few rows has an atom of many.
	Swap bool
	// A and B are the types to which the tiles A and B are converted first, exactly; equal to their own for most atoms.
	A, B Elem
	// Extent is the product's extent, padded with zeros to a multiple of the atom's shape.
	Extent Extent
}

// Padded reports whether the tiles must be padded.
func (c Candidate) Padded(e Extent) bool { return c.Extent != e }

func (c Candidate) String() string {
	if c.Swap {
		return c.Atom.Name + " of the transposed product"
	}
	return c.Atom.Name
}

// maxPad limits padding: an atom that does more than this many times the work of the product is no candidate; the scalar multiply-add is.
const maxPad = 4

// SelectMMA lists the ways to compute C += A*B on a target, in the order of the table (cost.Products orders them). f32 operands never become tf32: that
// loses bits. The list is empty when no row can, widened types included.
func SelectMMA(t *target.Target, y Types, e Extent) (list []Candidate) {
	for r := range y.rows() {
		if !r.need.On(t) || !r.accepts(y) {
			continue
		}
		for k := range r.atom().ways(y, e) {
			if !k.wasteful(e) {
				list = append(list, k)
			}
		}
	}
	return list
}

// WhyNot gives the reasons why rows that accept these types are not in the list of SelectMMA.
func WhyNot(t *target.Target, y Types, e Extent) (reasons []string) {
	for r := range y.rows() {
		if !r.accepts(y) {
			continue
		}
		m := r.atom()
		if !m.Need.On(t) {
			if y.A == m.A && y.B == m.B {
				reasons = append(reasons, fmt.Sprintf("%s needs %s", m.Name, m.Need))
			}
			continue
		}
		for k := range m.ways(y, e) {
			if k.wasteful(e) {
				reasons = append(reasons, fmt.Sprintf("%s: %s in a tile of %s is %d times the work", m.Name, m.Shape, e, k.Extent.Products()/e.Products()))
			}
		}
	}
	return reasons
}

// rows are the rows of the table with the type of C.
func (y Types) rows() iter.Seq[*row] {
	return func(yield func(*row) bool) {
		of, ok := rows[y.C]
		if !ok || !y.A.Known() || !y.B.Known() {
			return
		}
		all := of()
		for i := range all {
			if !yield(&all[i]) {
				return
			}
		}
	}
}

// ways are the product and the transposed one, as far as the tiles convert to the types of the atom.
func (m *MMA) ways(y Types, e Extent) iter.Seq[Candidate] {
	return func(yield func(Candidate) bool) {
		for _, swap := range []bool{false, true} {
			if swap && m.Shape.M == m.Shape.N {
				continue // no different shape
			}
			wantA, wantB := m.Operands(swap)
			if !y.A.WidensTo(wantA) || !y.B.WidensTo(wantB) || m.Group > 0 && (y.A != wantA || y.B != wantB) {
				continue // groups read factors from shared memory as they were copied, without a conversion
			}
			if m.copiesScales() && e.Batch > 0 {
				continue // ScalesIn is for one matrix
			}
			if !yield(Candidate{Atom: m, Swap: swap, A: wantA, B: wantB, Extent: m.pad(e, swap)}) {
				return
			}
		}
	}
}

// wasteful reports whether a product of this extent is mostly padding.
func (c Candidate) wasteful(e Extent) bool { return c.Extent.Products() > maxPad*e.Products() }

func (e Extent) String() string {
	s := fmt.Sprintf("%dx%dx%d", e.M, e.N, e.K)
	if e.Batch > 0 {
		s = fmt.Sprintf("%dx", e.Batch) + s
	}
	return s
}

// Rows and Columns count those of all batches, Products the multiplications.
func (e Extent) Rows() int     { return max(1, e.Batch) * e.M }
func (e Extent) Columns() int  { return max(1, e.Batch) * e.N }
func (e Extent) Products() int { return e.Rows() * e.N * e.K }

// Operands are the types of the tiles A and B of a product that the atom computes, transposed if swap.
func (m *MMA) Operands(swap bool) (a, b Elem) {
	if swap {
		return m.B, m.A
	}
	return m.A, m.B
}

func (m *MMA) pad(e Extent, swap bool) Extent {
	am, an := m.Shape.M, m.Shape.N
	if swap {
		am, an = an, am
	}
	return Extent{e.Batch, max(e.M, am), max(e.N, an), max(e.K, m.leastDepth())}
}
