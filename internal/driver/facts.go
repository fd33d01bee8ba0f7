package driver

import (
	"fmt"

	"tileiras/ir"
	"tileiras/passes/facts"
)

// facts prints what is known after a pass of every integer and pointer in the entries of a TileAA module, in program order: its name in the
// text of the module, the operation, its place in the source if it has one, and the fact.
func (r *run) facts(pass string, m *ir.Op) {
	if m.Def.Dialect != "tileaa" {
		return
	}
	known, name := facts.New(r.input.Ctx, m), ir.ValueNames(m)
	fmt.Fprintf(r.opts.Log, "// facts after %s\n", pass)
	ir.Walk(m, ir.PreOrder, func(op *ir.Op) {
		for _, v := range op.Results() {
			f := known.Of(v)
			if f.Width == 0 {
				continue
			}
			at := ir.LocString(op.Loc())
			if at != "" {
				at = " (" + at + ")"
			}
			fmt.Fprintf(r.opts.Log, "// fact %s = %s%s: %v\n", name(v), op.Def.Name, at, f)
		}
	})
}
