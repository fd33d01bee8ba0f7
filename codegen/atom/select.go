package atom

import (
	"cmp"
	"fmt"
	"slices"

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
	// Cycles is the estimate by which candidates are ordered: of a quarter of a multiprocessor that computes all alone.
	Cycles int
}

// Padded reports whether the tiles must be padded.
func (c Candidate) Padded(e Extent) bool { return c.Extent != e }

func (c Candidate) String() string {
	swap := ""
	if c.Swap {
		swap = " of the transposed product"
	}
	return fmt.Sprintf("%s%s, %d cycles", c.Atom.Name, swap, c.Cycles)
}

// maxPad limits padding: an atom that does this many times the work of the product is no candidate, the multiply-add is.
const maxPad = 4

// SelectMMA lists the ways to compute C += A*B on a target, cheapest first, and the reasons why other rows of these types do not
// serve. Types are those of the tiles; c is both accumulator and result. f32 operands never become tf32: that loses bits. The list is
// empty when no row can, widened types included.
func SelectMMA(t *target.Target, a, b, c Elem, e Extent) (list []Candidate, reasons []string) {
	for _, m := range MMAs {
		if m.C != c || !a.Known() || !b.Known() {
			continue
		}
		if !m.Need.On(t) {
			if a == m.A && b == m.B {
				reasons = append(reasons, fmt.Sprintf("%s needs %s", m.Name, m.Need))
			}
			continue
		}
		for _, swap := range []bool{false, true} {
			wantA, wantB := m.A, m.B
			if swap {
				if m.Shape.M == m.Shape.N {
					continue // the same again
				}
				wantA, wantB = m.B, m.A
			}
			if !a.WidensTo(wantA) || !b.WidensTo(wantB) {
				continue
			}
			k := Candidate{Atom: m, Swap: swap, A: wantA, B: wantB, Extent: m.pad(e, swap)}
			if work, padded := e.products(), k.Extent.products(); padded > maxPad*work {
				reasons = append(reasons, fmt.Sprintf("%s: %s in a tile of %s is %d times the work", m.Name, m.Shape, e, padded/work))
				continue
			}
			k.Cycles = m.cycles(k.Extent) + convertCycles(a, wantA, e.rows()*e.K) + convertCycles(b, wantB, e.K*e.columns())
			list = append(list, k)
		}
	}
	slices.SortStableFunc(list, func(x, y Candidate) int { return cmp.Compare(x.Cycles, y.Cycles) })
	return list, reasons
}

func (e Extent) String() string {
	s := fmt.Sprintf("%dx%dx%d", e.M, e.N, e.K)
	if e.Batch > 0 {
		s = fmt.Sprintf("%dx", e.Batch) + s
	}
	return s
}

func (e Extent) rows() int     { return max(1, e.Batch) * e.M }
func (e Extent) columns() int  { return max(1, e.Batch) * e.N }
func (e Extent) products() int { return e.rows() * e.N * e.K }

func (m *MMA) pad(e Extent, swap bool) Extent {
	am, an := m.Shape.M, m.Shape.N
	if swap {
		am, an = an, am
	}
	return Extent{e.Batch, max(e.M, am), max(e.N, an), max(e.K, m.Shape.K)}
}

const lanes = 1 << laneBits

// cycles of a product: for every instruction the time of the unit and one issue slot. The multiply-add also moves operands, about
// half an instruction for each in blocks of 4x4, and its warps are not full below 32 elements of C.
func (m *MMA) cycles(e Extent) int {
	if m.Scalar() {
		waves := max(1, e.rows()*e.N/lanes) * e.K
		return max(1, waves*lanes*3/(m.Rate*2))
	}
	atom := m.Shape.M * m.Shape.N * m.Shape.K
	return e.products() / atom * (max(1, atom/m.Rate) + 1)
}

// convertCycles is the time to convert n elements: an instruction converts a pair in each lane.
func convertCycles(from, to Elem, n int) int {
	if from == to {
		return 0
	}
	return max(1, n/(2*lanes))
}
