package tileaa

import "tileiras/ir"

// Form is a stage of the lowering: an invariant of the module. Forms are ordered; a module of one form satisfies all earlier ones.
type Form uint8

const (
	AnyForm      Form = iota // of any dialect
	Explicit                 // TileAA only: memory is explicit
	Planned                  // every entry has a plan
	Selected                 // dots have atoms, accesses their widths
	LaidOut                  // tiles have layouts
	Reduced                  // reductions stay inside warps
	Converted                // conversions are renamings and shuffles
	Columned                 // products of the tensor unit have their columns
	Allocated                // buffers have their places
	Synchronized             // barriers stand
)

// formDef is what messages call a form, the pass that establishes it, and how it is recognized.
type formDef struct {
	noun, pass string
	// shown reports whether an op is evidence that the module has the form; nil when none can be.
	shown func(*ir.Op) bool
}

var forms = [...]formDef{
	AnyForm:  {"a module", "", nil},
	Explicit: {"TileAA", "convert-to-tileaa", func(op *ir.Op) bool { return op.Def.Dialect == Dialect.Name }},
	Planned: {"a plan", "plan-kernel", func(op *ir.Op) bool {
		e, ok := ir.As[Entry](op)
		return ok && e.Plan() != nil
	}},
	Selected: {"atoms and access widths", "select-atoms", func(op *ir.Op) bool {
		a, ok := ir.As[AccessOp](op) // a dot may have its atom from the plan
		if !ok {
			return false
		}
		_, ok = a.Vec()
		return ok
	}},
	LaidOut: {"layouts", "assign-layouts", func(op *ir.Op) bool {
		for _, r := range op.Results() {
			if t := AsTile(r); t != nil && t.Layout != nil {
				return true
			}
		}
		return false
	}},
	Reduced:   {"reductions inside warps", "split-reductions", nil},
	Converted: {"lowered conversions", "lower-conversions", nil},
	Columned:  {"columns of tensor memory", "allocate-tensor", ir.Is[AllocTensor]},
	Allocated: {"buffers with places", "allocate-shared", func(op *ir.Op) bool {
		e, ok := ir.As[Entry](op)
		if !ok {
			return false
		}
		_, ok = e.SharedBytes()
		return ok
	}},
	Synchronized: {"barriers", "insert-barriers", ir.Is[Barrier]},
}

// Noun is what a message calls a form; Pass is the pass that establishes it.
func (f Form) Noun() string { return forms[f].noun }
func (f Form) Pass() string { return forms[f].pass }

// Shown is the last form of which a module has evidence: how far it has been lowered at least. A form that leaves no evidence is
// recognized by that of a later one.
func Shown(module *ir.Op) Form {
	last := AnyForm
	ir.Walk(module, ir.PreOrder, func(op *ir.Op) {
		for f := Synchronized; f > last; f-- {
			if s := forms[f].shown; s != nil && s(op) {
				last = f
			}
		}
	})
	return last
}

// Missing is the first form up to want that a module lacks, with the rule that it breaks; ok is false when it lacks none. Temporary
// rules, which a later form ends, are not checked.
func Missing(module *ir.Op, want Form) (f Form, wrong error, ok bool) {
	for f := Explicit; f <= want; f++ {
		if err := check(module, f, func(r *Rule) bool { return r.From == f && r.Until == AnyForm }); err != nil {
			return f, err, true
		}
	}
	return AnyForm, nil, false
}
