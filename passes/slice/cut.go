package slice

import (
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// Cut is a copy of an entry, beside it in the module, as Tiles and FlattenLoops make it under a plan; nil if there is nothing in it that can
// be cut. It is what the plan is judged by, and the caller's to erase. Slices along K alone leave loops as they are: such a copy is held
// against the entry as it is.
func Cut(s *pass.State, entry *ir.Op, plan *tileaa.PlanAttr) *ir.Op {
	b := ir.NewBuilder(s.Ctx).Before(entry)
	copied := ir.Cast[tileaa.Entry](b.Clone(entry, ir.Mapping{}))
	copied.SetPlan(plan)
	defer func(notes []pass.Note) { s.Notes = notes }(s.Notes)
	if cut, err := cutEntry(s, copied.Op, new(int)); !cut || err != nil {
		copied.Op.Erase()
		return nil
	}
	if plan.SlicesK <= 1 {
		flattenLoops(s, copied.Op)
	}
	return copied.Op
}
