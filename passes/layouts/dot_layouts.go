package layouts

import (
	"fmt"

	"tileiras/codegen/atom"
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

// dotLayouts tiles the atom of a dot over the warps as select-atoms says.
func dotLayouts(op *ir.Op) dotTiling {
	m := ir.Cast[tileaa.ContractionOp](op).Atom()
	t, ok := atom.Tile(m.Atom, kernel.ExtentOf(op), m.Split, m.Swap)
	if !ok {
		panic(fmt.Sprintf("BUG: %s does not tile %s over %s", m.Atom.Name, kernel.ExtentOf(op), m.Split))
	}
	return dotTiling{t.Layouts(), m.Atom.Scalar(), m.Atom.Shape.K > 1}
}
