package atom

import (
	"slices"
	"strings"

	"tileiras/codegen/layout"
	"tileiras/codegen/ptxop"
)

// Scale says that Block elements along K of a row of A, and of a column of B, share a factor of type Elem. The zero Scale is none.
type Scale struct {
	Elem  Elem
	Block int
}

// Types are those of the tiles of a product; C is both accumulator and result.
type Types struct {
	A, B, C Elem
	Scale   Scale
}

// Scaled reports whether the instruction multiplies by scales.
func (m *MMA) Scaled() bool { return m.Scale.Block > 0 }

// HoldsScales reports whether the scales are in registers.
func (m *MMA) HoldsScales() bool { return m.Scaled() && m.Tensor == nil }

// copiesScales reports whether the scales are copied to tensor memory.
func (m *MMA) copiesScales() bool { return m.Scaled() && m.Tensor != nil }

// leastDepth is the smallest K of a tile. In tensor memory, scales fill whole words.
func (m *MMA) leastDepth() int {
	if m.copiesScales() {
		return max(m.Shape.K, ptxop.ScaleWord*m.Scale.Block)
	}
	return m.Shape.K
}

// scaleOf is the scale of a row of depth k for elements of A. Its type in PTX is that of an element without a sign.
func scaleOf(s ptxop.Scaled, k int, a string) Scale {
	if s.Blocks == 0 {
		return Scale{}
	}
	return Scale{elemOf(strings.TrimPrefix(s.Scale, "u")), k / s.Blocks / elemOf(a).Packed()}
}

// scaleArguments is how many arguments of the instruction are for scales: for A and for B a register, a byte and a thread.
func (m *MMA) scaleArguments() int {
	if m.HoldsScales() {
		return 6
	}
	return 0
}

// The lanes of a quad that hold the scales of a row of A differ in one bit, those of a column of B in two: the instruction is told which of them
// to read, so that each can hold those of another atom.
var (
	selectsA = []int{1}
	selectsB = []int{0, 1}
)

// scales is the layouts of the scales of A, Mxblocks, and of B, blocksxN, a byte each. With tid = what selectsA or selectsB choose (PTX ISA, "Block
// Scaling for mma.sync"):
//
//	A: row m of lane 4*(m%8) + 2*tid + m/8        B: column n of lane 4*n + tid        blocks along K in neighbouring bytes
func scales(s Shape, blocks int) (a, b layout.Layout) {
	ma, nb := []int{s.M, blocks}, []int{blocks, s.N}
	a = layout.Must(ma, layout.Bases{
		Reg:  run(ma, 1, 0, layout.Log2(blocks)),
		Lane: slices.Concat(run(ma, 0, 3, 1), []uint64{0}, run(ma, 0, 0, 3)),
	})
	b = layout.Must(nb, layout.Bases{
		Reg:  run(nb, 0, 0, layout.Log2(blocks)),
		Lane: slices.Concat([]uint64{0, 0}, run(nb, 1, 0, 3)),
	})
	return a, b
}

// tileScales are the layouts of the scales of a warp's tile of 2^rows x 2^cols x 2^k atoms. Scales of further blocks along K are further bytes, those of further rows
// or columns go to the lanes among which the instruction selects, then to further registers.
func (m *MMA) tileScales(batched bool, rows, cols, k int) tiles {
	g := tiles{{m.LayoutSA, axisM, axisK}, {m.LayoutSB, axisK, axisN}}
	if batched {
		g.expand()
	}
	g.grow(axisK, layout.Reg, k)
	for i, o := range []struct {
		x     axis
		times int
		lanes []int
	}{{axisM, rows, selectsA}, {axisN, cols, selectsB}} {
		g.grow(o.x, layout.Reg, o.times)
		b := g[i].Bases()
		b.Reg, b.Lane = slices.Clone(b.Reg), slices.Clone(b.Lane)
		own := len(b.Reg) - o.times // of the atom and along K
		n := min(o.times, len(o.lanes))
		for j, lane := range o.lanes[:n] {
			b.Lane[lane] = b.Reg[own+j]
		}
		b.Reg = slices.Delete(b.Reg, own, own+n)
		g[i].Layout = layout.Must(g[i].Shape(), b)
	}
	return g
}

// Selection is where an instruction finds the scales of its rows or columns: a register of four bytes, the first byte, and the thread of a quad.
type Selection struct{ Word, Byte, Thread int }

// Selector finds the scales of atoms in a tile's layout of them.
type Selector struct {
	layout layout.Layout
	span   *layout.Span
	regs   int
}

// SelectorA and SelectorB are those of the scales of the atom's A and B.
func SelectorA(l layout.Layout) *Selector { return selector(l, selectsA) }
func SelectorB(l layout.Layout) *Selector { return selector(l, selectsB) }

func selector(l layout.Layout, lanes []int) *Selector {
	s := &Selector{l, layout.NewSpan(l.Column(layout.Reg)...), l.InBits(layout.Reg)}
	for _, i := range lanes {
		s.span.Add(l.Basis(layout.Lane, i))
	}
	return s
}

// At is where the scale with these coordinates is, for the thread that holds element 0; ok is false if another warp has it.
func (s *Selector) At(at ...int) (out Selection, ok bool) {
	from, ok := s.span.Solve(s.layout.Flat(at))
	r := int(from) & (1<<s.regs - 1)
	return Selection{r / 4, r % 4, int(from) >> s.regs}, ok
}
