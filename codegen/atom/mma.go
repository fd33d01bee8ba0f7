package atom

import (
	"fmt"
	"slices"
	"sync"

	"tileiras/codegen/layout"
	"tileiras/codegen/planted"
	"tileiras/codegen/ptxop"
	"tileiras/codegen/target"
)

// MMA is a matrix product of one warp, or of a group of warps: D = A*B + C with A MxK, B KxN, C and D MxN.
//
// Layouts are over these warps and the element numbers of the operand's own shape. An element register of a layout is not a machine
// register: 32/bits elements share a word when an element has fewer than 32 bits, the low register bits being the place in it.
// Layouts without lane bits belong to one thread (fused multiply-add, dp4a): Tile spreads them over lanes.
type MMA struct {
	Name                      string
	Op                        *ptxop.Row // the instruction; nil for the scalar multiply-add of one thread
	Shape                     Shape
	A, B, C                   Elem // C is the accumulator and the result
	LayoutA, LayoutB, LayoutC layout.Layout
	WordsA, WordsB, WordsC    int           // machine registers of the instruction: 64-bit ones for f64, else 32-bit
	Group                     int           // warps that compute it together, with B in shared memory, where it has no layout; 0 is one with B in registers
	SharedA                   bool          // A of a group is in shared memory, too
	First                     *ptxop.Row    // of a group: the instruction when C is 0
	Tensor                    *Tensor       // of the tensor unit, whose accumulators are in tensor memory; nil for others
	Depth                     int           // of a group: K after which its accumulators lose bits, 0 if they do not
	TakesMNMajor              bool          // a factor in shared memory may be MN-major (transposed), not only K-major
	Scale                     Scale         // of A and of B; the zero Scale if the instruction takes none
	LayoutSA, LayoutSB        layout.Layout // of the scales, see scales
	Rate                      int           // products per cycle of a quarter of a multiprocessor, as in ptxop.Product
	Unit                      target.Family // as in ptxop.Product
	Need                      target.Need
}

// Shape is the extent of a product.
type Shape struct{ M, N, K int }

func (s Shape) String() string { return fmt.Sprintf("m%dn%dk%d", s.M, s.N, s.K) }

// Warps is the number of warps that compute the atom together.
func (a *MMA) Warps() int { return max(1, a.Group) }

// ByWarpgroup reports whether the atom is a wgmma of a warpgroup.
func (a *MMA) ByWarpgroup() bool { return a.Group > 0 && a.Tensor == nil }

// ReadsShared reports whether a group reads factor i of a product, 0 for A and 1 for B, from shared memory; swap: it computes the transposed product.
func (a *MMA) ReadsShared(i int, swap bool) bool {
	return a.Group > 0 && (a.SharedA || (i == 1) != swap)
}

// MatrixRows is the rows of the left factor, or the columns of the right one, that one instruction reads from shared memory, where the result has of of them.
func (a *MMA) MatrixRows(left, swap bool, of int) int {
	switch {
	case left != swap:
		return a.Shape.M
	case a.Tensor != nil:
		return min(of, MostColumns) // of all warps
	}
	return a.Shape.N
}

// Scalar reports whether the atom is a product of one thread.
func (a *MMA) Scalar() bool { return a.LayoutC.InBits(layout.Lane) == 0 }

type scalarRow struct {
	op      string
	a, b, c Elem
	k, rate int
}

// scalarRows are the products of one thread. Multiply-adds, which need no instruction of the table, are the way out for every type on
// every target; operands are widened first. dp4a (PTX ISA, "dp4a") is a multiply-add of four bytes along K at the same rate.
var scalarRows = []scalarRow{
	{"", F32, F32, F32, 1, 32}, {"", F64, F64, F64, 1, 8}, {"", F16, F16, F16, 1, 64}, {"", S32, S32, S32, 1, 16},
	{"dp4a.s32.s32", S8, S8, S32, 4, 64}, {"dp4a.s32.u32", S8, U8, S32, 4, 64},
	{"dp4a.u32.s32", U8, S8, S32, 4, 64}, {"dp4a.u32.u32", U8, U8, S32, 4, 64},
}

// MMAs is all rows: those of ptxop.TensorProducts, GroupProducts and Products, whose layouts follow from shape and element size (PTX ISA, "Matrix
// Fragments for mma"), and those of one thread, for one type of accumulator after another. Where costs are equal, an earlier one is preferred.
func MMAs() []*MMA {
	var out []*MMA
	for _, c := range accumulators {
		list := rows[c]()
		for i := range list {
			out = append(out, list[i].atom())
		}
	}
	return out
}

var accumulators = []Elem{F32, F16, F64, S32}

// row is a row of the table whose atom is made on demand: most kernels have no product, others one kind.
type row struct {
	a, b      Elem
	scale     Scale
	unitScale bool // multiplies tiles without scales by the scale 1
	need      target.Need

	make   func(a, b string) *MMA // of the types as PTX calls them
	ta, tb string
	once   sync.Once
	mma    *MMA
}

func (r *row) atom() *MMA {
	r.once.Do(func() { r.mma = r.make(r.ta, r.tb) })
	return r.mma
}

// accepts reports whether the row can multiply tiles of these types, as they are or widened, or their transposes. Tiles without scales are accepted where the
// scale 1, a power of two, can be in a register.
func (r *row) accepts(t Types) bool {
	return (t.Scale == r.scale || t.Scale == Scale{} && r.unitScale) && (t.A.WidensTo(r.a) && t.B.WidensTo(r.b) || t.A.WidensTo(r.b) && t.B.WidensTo(r.a))
}

// rows are those of one type of C.
var rows = map[Elem]func() []row{F32: rowsOf(F32), F16: rowsOf(F16), F64: rowsOf(F64), S32: rowsOf(S32)}

func rowsOf(c Elem) func() []row {
	return sync.OnceValue(func() []row {
		out, sums := make([]row, 0, 128), elems[c.row()].ptx
		add := func(d string, as, bs []string, scale Scale, unitScale bool, need target.Need, mma func(a, b string) *MMA) {
			if d != sums {
				return
			}
			for _, a := range as {
				left := elemOf(a)
				for _, b := range bs {
					out = append(out, row{a: left, b: elemOf(b), scale: scale, unitScale: unitScale, need: need, make: mma, ta: a, tb: b})
				}
			}
		}
		for n := MostColumns; n >= leastColumns; n /= 2 {
			for i := range ptxop.TensorProducts {
				p := &ptxop.TensorProducts[i]
				for j := range ptxop.TensorHeights {
					h := &ptxop.TensorHeights[j]
					if p.Blocks == 0 || h.M == ptxop.TensorLanes && n%ptxop.TensorLanes == 0 {
						add(p.D, p.A, p.B, scaleOf(p.Scaled, p.K, p.A[0]), false, p.Need, func(a, b string) *MMA { return tensorMMA(p, h, n, a, b) })
					}
				}
			}
		}
		for i := range ptxop.GroupProducts {
			p := &ptxop.GroupProducts[i]
			for _, registers := range []bool{false, true} {
				add(p.D, p.A, p.B, Scale{}, false, p.Need, func(a, b string) *MMA { return groupMMA(p, a, b, registers) })
			}
		}
		for i := range ptxop.Products {
			p := &ptxop.Products[i]
			scale := scaleOf(p.Scaled, p.K, p.A[0])
			add(p.D, p.A, p.B, scale, scale.Elem == E8M0, p.Need, func(a, b string) *MMA { return warpMMA(p, a, b) })
		}
		for _, r := range scalarRows {
			if r.c == c {
				out = append(out, row{a: r.a, b: r.b, make: func(string, string) *MMA { return r.mma() }})
			}
		}
		return out
	})
}

// warpMMA is the atom of a product for elements of A and B.
func warpMMA(p *ptxop.Product, a, b string) *MMA {
	m := &MMA{Name: p.Name(a, b), Op: ptxop.Must(p.Name(a, b)), A: elemOf(a), B: elemOf(b), C: elemOf(p.D), Scale: scaleOf(p.Scaled, p.K, a), Unit: p.Unit, Need: p.Need}
	m.Shape, m.Rate = Shape{p.M, p.N, p.K / m.A.Packed()}, p.Rate/m.A.Packed()
	m.LayoutA, m.LayoutB, m.LayoutC = fragments(m.Shape, m.A.Bits())
	if m.HoldsScales() {
		m.LayoutSA, m.LayoutSB = scales(m.Shape, p.Blocks)
	}
	return m.checked()
}

func (r scalarRow) mma() *MMA {
	m := &MMA{Name: "fma." + string(r.c), Shape: Shape{1, 1, r.k}, A: r.a, B: r.b, C: r.c, Rate: r.rate}
	if r.op != "" {
		m.Name, m.Op = r.op, ptxop.Must(r.op)
	}
	across, down := []int{1, r.k}, []int{r.k, 1}
	m.LayoutA = layout.Must(across, layout.Bases{Reg: run(across, 1, 0, layout.Log2(r.k))})
	m.LayoutB = layout.Must(down, layout.Bases{Reg: run(down, 0, 0, layout.Log2(r.k))})
	m.LayoutC = layout.Must([]int{1, 1}, layout.Bases{})
	return m.checked()
}

// checked completes the register counts of an atom, and panics if it is not consistent.
func (m *MMA) checked() *MMA {
	m.WordsA, m.WordsB, m.WordsC = words(m.LayoutA, m.A), words(m.LayoutB, m.B), words(m.LayoutC, m.C)
	if err := m.check(); err != nil {
		panic(err)
	}
	return m
}

// fragments is the layouts of A, B and C. With g = lane/4, t = lane%4, e elements of A in a register (at least 1), register i and
// element j in it (PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type" and its neighbours, all of one pattern):
//
//	A: row g + 8*(i&1), k = e*t + j + 4e*(i>>1)       B: n = g, k = e*t + j + 4e*i
//	C: row g + 8*(i>>1), column 2t + (i&1)            and for M = 8 the bit of i that adds 8 rows is not there
//
// so, for example, A of m16n8k16 with 16-bit elements is
//
//	reg0 reg1 reg2 | lane0 lane1 lane2 lane3 lane4
//	  k0   m3   k3 |    k1    k2    m0    m1    m2
func fragments(s Shape, elemBits int) (a, b, c layout.Layout) {
	mk, kn, mn := []int{s.M, s.K}, []int{s.K, s.N}, []int{s.M, s.N}
	inWord := layout.Log2(max(1, 32/elemBits))
	high := layout.Log2(s.K) - inWord - 2 // bits of k above word and lanes
	tall := max(0, layout.Log2(s.M)-3)    // bits of m above the lanes
	a = layout.Must(mk, layout.Bases{
		Reg:  slices.Concat(run(mk, 1, 0, inWord), run(mk, 0, 3, tall), run(mk, 1, inWord+2, high)),
		Lane: slices.Concat(run(mk, 1, inWord, 2), run(mk, 0, 0, 3)),
	})
	lanes := slices.Concat(run(kn, 0, inWord, 2), run(kn, 1, 0, 3))
	if planted.On("swap-atom-lanes") {
		lanes[0], lanes[1] = lanes[1], lanes[0]
	}
	b = layout.Must(kn, layout.Bases{
		Reg:  slices.Concat(run(kn, 0, 0, inWord), run(kn, 0, inWord+2, high)),
		Lane: lanes,
	})
	c = layout.Must(mn, layout.Bases{
		Reg:  slices.Concat(run(mn, 1, 0, 1), run(mn, 0, 3, tall)),
		Lane: slices.Concat(run(mn, 1, 1, 2), run(mn, 0, 0, 3)),
	})
	return a, b, c
}

// run is n bits of a dimension, upwards from one.
func run(shape []int, dim, from, n int) []uint64 {
	var out []uint64
	for i := range n {
		out = append(out, layout.Bit(shape, dim, from+i))
	}
	return out
}

// words is the number of machine registers of a fragment.
func words(l layout.Layout, e Elem) int { return max(1, l.Regs()*min(e.Bits(), 32)/32) }

// check verifies what all users of an atom rely on: every element of an operand is held exactly once (the operands of a whole warp have no
// replicas), and the instruction takes and gives as many registers as the layouts say.
func (m *MMA) check() error {
	s := m.Shape
	for _, o := range []struct {
		name       string
		l          layout.Layout
		rows, cols int
	}{{"A", m.LayoutA, s.M, s.K}, {"B", m.LayoutB, s.K, s.N}, {"C", m.LayoutC, s.M, s.N}} {
		if shape := o.l.Shape(); shape[0] != o.rows || shape[1] != o.cols || !o.l.IsBijective() {
			return fmt.Errorf("atom: %s: layout %s of %s does not cover %dx%d exactly once", m.Name, o.l, o.name, o.rows, o.cols)
		}
	}
	if m.Op != nil && (m.Op.Results != m.WordsC || len(m.Op.Args()) != m.WordsA+m.WordsB+m.WordsC+m.scaleArguments()) {
		return fmt.Errorf("atom: %s: layouts have %d, %d, %d registers, the instruction has %d arguments and %d results",
			m.Name, m.WordsA, m.WordsB, m.WordsC, len(m.Op.Args()), m.Op.Results)
	}
	if m.Op != nil && m.Op.Need != m.Need {
		return fmt.Errorf("atom: %s needs %s, the instruction %s", m.Name, m.Need, m.Op.Need)
	}
	return nil
}

// MMAByName finds a row; nil if there is none.
func MMAByName(name string) *MMA {
	for _, m := range MMAs() {
		if m.Name == name {
			return m
		}
	}
	return nil
}
