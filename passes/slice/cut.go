package slice

import (
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// Cut is a copy of an entry as Tiles and FlattenLoops make it under a plan, beside it in the module; nil if there is nothing in it that can be
// cut. It is what the plan is judged by, and the caller's to erase. Slices along K alone leave loops as they are: such a copy is held against the entry as it is.
func Cut(s *pass.State, entry *ir.Op, plan *tileaa.PlanAttr) *ir.Op {
	b := ir.NewBuilder(s.Ctx).Before(entry)
	copied := ir.Cast[tileaa.Entry](b.Insert(s.Ctx.Clone(entry, ir.Mapping{})))
	copied.SetPlan(plan)
	defer func(notes []pass.Note) { s.Notes = notes }(s.Notes)
	if plan.SlicesK > 1 {
		if sliceK(s, copied.Op, int64(plan.SlicesK)) {
			return copied.Op
		}
		copied.Op.Erase()
		return nil
	}
	branchesToSelects(s, copied.Op)
	c := newSlicer(s, copied.Op)
	if plan.OperandBytes > 0 {
		c.cutsSteps()
	}
	if c.decide() != nil || len(c.groups) == 0 {
		copied.Op.Erase()
		return nil
	}
	c.build()
	selectsToBranches(s, copied.Op)
	flattenLoops(s, copied.Op)
	return copied.Op
}
