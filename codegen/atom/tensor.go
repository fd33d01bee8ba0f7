package atom

import (
	"fmt"
	"math/bits"

	"tileiras/codegen/layout"
	"tileiras/codegen/ptxop"
)

// Tensor is what an instruction of the tensor unit needs beside its name.
type Tensor struct {
	product *ptxop.TensorProduct
	a, b    string
}

// MostColumns is the largest N of an instruction: those of several warps side by side may be one.
const MostColumns = ptxop.MaxTensorColumns

// LeastTensorColumns and TensorColumns are the fewest columns of tensor memory that a block gets, and all that blocks of a multiprocessor share (PTX ISA,
// "Tensor Memory").
const LeastTensorColumns, TensorColumns = 32, 512

// leastColumns is the fewest of a row: with less the unit is mostly idle.
const leastColumns = 16

// Describe is the instruction descriptor for so many columns; turned says of which factors rows, or columns, lie side by side.
func (t *Tensor) Describe(columns int, turnedA, turnedB bool) uint32 {
	return t.product.Describe(columns, t.a, t.b, turnedA, turnedB)
}

// TensorColumnsOf is the columns of tensor memory in which so many results are summed: a row is a lane.
func TensorColumnsOf(results int) int { return results / ptxop.TensorRows }

// TensorColumnsFor is the columns that a block asks for that needs so many.
func TensorColumnsFor(columns int) int { return max(LeastTensorColumns, 1<<bits.Len(uint(columns-1))) }

// tensorMMA is the atom of a product of the tensor unit for elements of A and B, with the results of four warps in so many columns.
func tensorMMA(p *ptxop.TensorProduct, n int, a, b string) *MMA {
	m := &MMA{Name: p.Name(n, a, b), Op: ptxop.Must(p.Instruction()), Tensor: &Tensor{p, a, b}, Group: ptxop.GroupWarps, SharedA: true,
		Shape: Shape{ptxop.TensorRows, n, p.K}, A: elemOf(a), B: elemOf(b), C: elemOf(p.D), Rate: p.Rate, Turns: p.Turns(), Need: p.Need}
	m.LayoutC = tensorRows(n)
	m.WordsC = words(m.LayoutC, m.C)
	if !m.LayoutC.IsBijective() || m.LayoutC.Warps() != m.Group {
		panic(fmt.Errorf("atom: %s: layout %s does not cover its matrix exactly once", m.Name, m.LayoutC))
	}
	return m
}

// tensorRows is the layout in which warps read sums: a warp sees the lanes of tensor memory of its number in its group, a thread one of them, and a row is
// a lane (PTX ISA, "Tensor Memory Access", "Data Path Layout").
func tensorRows(columns int) layout.Layout {
	shape := []int{ptxop.TensorRows, columns}
	const inWarp = 5
	return layout.Must(shape, layout.Bases{
		Reg:  run(shape, 1, 0, log2(columns)),
		Lane: run(shape, 0, 0, inWarp),
		Warp: run(shape, 0, inWarp, log2(ptxop.GroupWarps)),
	})
}
