package layouts

import (
	"fmt"

	"tileiras/codegen/atom"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
)

// dotTiling is how warps share a dot, with the layouts of its operands and result.
type dotTiling struct {
	atom.Layouts
	// alone: every thread computes its elements by itself, from a and b in shared memory.
	alone bool
	// words: such an instruction takes several neighbours along K from one word.
	words bool
}

// dotLayouts tiles the atom of a dot over the warps as select-atoms says, rows and columns interleaved where that makes reading wide.
func (a *assigner) dotLayouts(op *ir.Op) dotTiling {
	t := tilingOf(op)
	d := dotTiling{t.Layouts(), t.Atom.Scalar(), t.Atom.Shape.K > 1}
	in, row := a.interleaved[op.Result(0).Type()], d.C.Rank()-2
	if in.rows > 0 {
		order := in.order(d.C, row, layout.Log2(t.Extent.M/(t.Split.M*t.Repeat.M)), in.rows)
		d.A, d.SA, d.C = d.A.PermuteBits(row, order), permuted(d.SA, row, order), d.C.PermuteBits(row, order)
	}
	if in.columns > 0 {
		order := in.order(d.C, row+1, layout.Log2(t.Extent.N/(t.Split.N*t.Repeat.N)), in.columns)
		d.B, d.SB, d.C = d.B.PermuteBits(row+1, order), permuted(d.SB, row+1, order), d.C.PermuteBits(row+1, order)
	}
	return d
}

// permuted reorders the bits of a dimension of scales, if there are some.
func permuted(scales layout.Layout, dim int, order []int) layout.Layout {
	if scales.Rank() == 0 {
		return scales
	}
	return scales.PermuteBits(dim, order)
}

func tilingOf(op *ir.Op) atom.Tiling {
	t, ok := kernel.TilingOf(op)
	if !ok {
		m := ir.Cast[tileaa.Dot](op).Atom()
		panic(fmt.Sprintf("BUG: %s does not tile %s over %s", m.Atom.Name, kernel.ExtentOf(op), m.Split))
	}
	return t
}
