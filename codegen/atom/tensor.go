package atom

import (
	"fmt"
	"math/bits"
	"slices"

	"tileiras/codegen/layout"
	"tileiras/codegen/ptxop"
)

// Tensor is what an atom of the tensor unit (tcgen05) has beside the instruction.
type Tensor struct {
	product *ptxop.TensorProduct
	height  *ptxop.TensorHeight
	a, b    string
}

// MostColumns is the largest N of an instruction. It may span the columns of several warps.
const MostColumns = ptxop.MaxTensorColumns

// LeastTensorColumns and TensorColumns are the fewest columns of tensor memory that a block gets, and all that blocks of a multiprocessor share (PTX ISA,
// "Tensor Memory").
const LeastTensorColumns, TensorColumns = 32, 512

// TensorLanes is the lanes of tensor memory.
const TensorLanes = ptxop.TensorLanes

// leastColumns is the smallest N in the table: with fewer columns the unit is mostly idle.
const leastColumns = 16

// Describe is the instruction descriptor for so many columns; mnMajor says which factors are MN-major in shared memory.
func (t *Tensor) Describe(columns int, mnMajorA, mnMajorB bool) uint32 {
	return t.product.Describe(t.height.M, columns, t.a, t.b, mnMajorA, mnMajorB)
}

// Access is the shape of tcgen05.ld and tcgen05.st of the accumulators, and Parts the number of parts of a row, each accessed by other threads.
func (t *Tensor) Access() string { return t.height.Access }
func (t *Tensor) Parts() int     { return t.height.Parts() }

// ColumnsOf is the columns of tensor memory of so many accumulators: a row is a lane.
func (t *Tensor) ColumnsOf(results int) int { return results / t.height.M }

// FromTensor is the instruction of a product that takes A from tensor memory.
func (t *Tensor) FromTensor() string { return t.product.FromTensor() }

// FactorColumns is the columns of tensor memory that a factor of a shape takes, whose elements have so many bits: its rows are lanes.
func FactorColumns(rows, k, bits int) int { return rows * k * bits / (32 * ptxop.TensorLanes) }

// ScalesIn is the memory layout of scales of a shape in shared memory, from where tcgen05.cp copies them to tensor memory; depth is the dimension of the blocks
// along K.
//
//	offset bits    0  1 | 2  3 | 4  5  6  7  8 | 9 ..        word of a lane: blocks k0 k1; words: rows m5 m6; lanes: rows m0 .. m4
//	               k0 k1| m5 m6| m0 m1 m2 m3 m4| m7 .. k2 ..  further rows, then further blocks
func ScalesIn(shape []int, depth int) layout.MemLayout {
	row, bits := 1-depth, layout.Log2(ptxop.ScaleLanes)
	word, columns := layout.Log2(ptxop.ScaleWord), layout.Log2(ptxop.ScaleColumns)
	rows, blocks := layout.Log2(shape[row]), layout.Log2(shape[depth])
	bases := slices.Concat(run(shape, depth, 0, word), run(shape, row, bits, columns), run(shape, row, 0, bits),
		run(shape, row, bits+columns, rows-bits-columns), run(shape, depth, word, blocks-word))
	m, err := layout.NewMem(shape, bases, 0, 0)
	if err != nil {
		panic(err)
	}
	return m
}

// ScaleColumns is the columns of tensor memory that scales of so many bytes take.
func ScaleColumns(bytes int) int { return bytes / ptxop.ScaleBlock * ptxop.ScaleColumns }

// WholeColumns rounds columns up to the granularity at which accumulators of products may begin.
func WholeColumns(columns int) int {
	return (columns + LeastTensorColumns - 1) / LeastTensorColumns * LeastTensorColumns
}

// ScaleColumnsOf is the columns of tensor memory of the scales of one product; 0 if the atom takes none from there.
func (m *MMA) ScaleColumnsOf(e Extent) int {
	if !m.copiesScales() {
		return 0
	}
	return ScaleColumns((e.M + e.N) * e.K / m.Scale.Block)
}

// HoldsRows reports whether a factor in layout l, of elements of so many bits, can be stored to tensor memory without a conversion: all that a thread holds is of one
// lane, with neighbours along K side by side in words.
func (t *Tensor) HoldsRows(l layout.Layout, bits int) bool {
	const lanesOfGroup = 7 // bits
	if t.height.M != ptxop.TensorLanes || l.Rank() != 2 || !l.IsBijective() || bits >= 32 || l.Regs()*bits < 32 || l.InBits(layout.Warp) < lanesOfGroup-layout.LaneBits {
		return false
	}
	rows := slices.Concat(l.Column(layout.Lane), l.Column(layout.Warp))
	for i, c := range rows {
		at := l.Coords(c)
		if i < lanesOfGroup && (at[0] != 1<<i || at[1] != 0) || i >= lanesOfGroup && at[1]*bits%32 != 0 {
			return false
		}
	}
	for i := range layout.Log2(32 / bits) {
		if at := l.Coords(l.Basis(layout.Reg, i)); at[0] != 0 || at[1] != 1<<i {
			return false
		}
	}
	return true
}

// TensorColumnsFor is the columns that a block must allocate to have so many: a power of two.
func TensorColumnsFor(columns int) int { return max(LeastTensorColumns, 1<<bits.Len(uint(columns-1))) }

// tensorMMA is the atom of a product of the tensor unit with N = n for elements of A and B.
func tensorMMA(p *ptxop.TensorProduct, h *ptxop.TensorHeight, n int, a, b string) *MMA {
	packed := elemOf(a).Packed()
	m := &MMA{Name: p.Name(h.M, n, a, b), Op: ptxop.Must(p.Instruction()), Tensor: &Tensor{p, h, a, b}, Group: ptxop.GroupWarps, SharedA: true,
		Shape: Shape{h.M, n, p.K / packed}, A: elemOf(a), B: elemOf(b), C: elemOf(p.D), Rate: p.Rate / packed / h.Parts(), TakesMNMajor: p.TakesMNMajor(), Need: p.Need,
		Scale: scaleOf(p.Scaled, p.K, a)}
	m.LayoutC = tensorRows(h, n)
	m.WordsC = words(m.LayoutC, m.C)
	if !m.LayoutC.IsBijective() || m.LayoutC.Warps() != m.Group {
		panic(fmt.Errorf("atom: %s: layout %s does not cover its matrix exactly once", m.Name, m.LayoutC))
	}
	return m
}

// tensorRows is the layout in which warps read accumulators: warp i of a group accesses the i-th quarter of the lanes of tensor memory, each thread one lane, and a row is
// a lane (PTX ISA, "Tensor Memory Access", "Data Path Layout"). Where a quarter has fewer rows than a warp has threads, these share the columns of a row.
func tensorRows(h *ptxop.TensorHeight, columns int) layout.Layout {
	shape := []int{h.M, columns}
	parts := layout.Log2(h.Parts())
	inWarp, inThread := layout.LaneBits-parts, layout.Log2(columns)-parts
	return layout.Must(shape, layout.Bases{
		Reg:  run(shape, 1, 0, inThread),
		Lane: slices.Concat(run(shape, 0, 0, inWarp), run(shape, 1, inThread, parts)),
		Warp: run(shape, 0, inWarp, layout.Log2(ptxop.GroupWarps)),
	})
}
