package driver

import (
	"fmt"

	"tileiras/ir"
	"tileiras/passes/facts"
)

// facts prints what is known of every integer and pointer in the entries of a TileAA module, in program order: the operation, its
// place in the source if it has one, and the fact.
func (r *run) facts(m *ir.Op) {
	if m.Def.Dialect != "tileaa" {
		return
	}
	known := facts.New(r.input.Ctx, m)
	ir.Walk(m, ir.PreOrder, func(op *ir.Op) {
		for i, v := range op.Results() {
			f := known.Of(v)
			if f.Width == 0 {
				continue
			}
			at := ir.LocString(op.Loc())
			if at != "" {
				at = " (" + at + ")"
			}
			fmt.Fprintf(r.opts.Log, "// fact %s#%d%s: %v\n", op.Def.Name, i, at, f)
		}
	})
}
