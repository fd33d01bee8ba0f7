package def_test

import (
	"testing"

	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
)

func TestEveryRowIsComplete(t *testing.T) {
	sets := map[string]bool{}
	for _, s := range def.TypeSets {
		if sets[s.Name] {
			t.Errorf("type set %s stands twice", s.Name)
		}
		sets[s.Name] = true
	}
	used := map[string]bool{}
	opcodes, names := map[uint32]string{}, map[string]bool{}
	check := func(op *ir.OpDef, what, constraint string) {
		if !sets[constraint] {
			t.Errorf("%s: %s has the unknown constraint %q", op.Name, what, constraint)
		}
		used[constraint] = true
	}
	for _, op := range def.Ops() {
		if old := opcodes[op.Opcode]; old != "" || names[op.Name] {
			t.Errorf("%s: opcode %#x or name stands twice (%s)", op.Name, op.Opcode, old)
		}
		opcodes[op.Opcode], names[op.Name] = op.Name, true
		if op.Summary == "" || op.Since.Before(def.V131) {
			t.Errorf("%s: no summary or no version", op.Name)
		}
		has := map[string]bool{}
		optional := 0
		for _, a := range op.Args {
			has[a.Name] = true
			if a.Attr == ir.Operand {
				check(op, a.Name, a.Constraint)
				if a.Mode != ir.Single {
					optional++
				}
			} else if (a.Attr == ir.EnumKind) != (a.Enum != nil) {
				t.Errorf("%s: %s is an enumeration or is not", op.Name, a.Name)
			}
			if a.Since != (ir.Version{}) && a.Attr != ir.Operand && a.Mode == ir.Single && a.Default == nil &&
				a.Attr != ir.BoolArrayKind {
				t.Errorf("%s: %s is newer than the op and has no default", op.Name, a.Name)
			}
		}
		for _, r := range op.Results {
			has[r.Name] = true
			check(op, r.Name, r.Constraint)
		}
		// MLIR needs operand segments when more than one operand may stand for other than one value.
		if segmented := op.Traits.Has(ir.Segmented); optional > 1 != segmented {
			t.Errorf("%s: %d operands are optional or variadic, segmented is %v", op.Name, optional, segmented)
		}
		for _, rule := range op.Same {
			for _, n := range rule.Names {
				if !has[n] {
					t.Errorf("%s: a rule names %q, which it does not have", op.Name, n)
				}
			}
		}
	}
	for name := range sets {
		if !used[name] {
			t.Errorf("no row uses type set %s", name)
		}
	}
}

// TestOpcodesFollowTheVersions checks the counts of the bytecode pages: 92 operations of 13.1 up to 0x6D, and so on.
func TestOpcodesFollowTheVersions(t *testing.T) {
	for _, want := range []struct {
		v     ir.Version
		ops   int
		limit uint32
	}{{def.V131, 92, 0x6D}, {def.V132, 93, 0x6E}, {def.V133, 100, 0x75}, {def.V134, 105, 0x7A}, {def.V135, 108, 0x7D}} {
		n, limit := 0, uint32(0)
		for _, op := range def.Ops() {
			if want.v.AtLeast(op.Since) {
				n, limit = n+1, max(limit, op.Opcode)
			}
		}
		if n != want.ops || limit != want.limit {
			t.Errorf("%v: %d ops up to %#x, want %d up to %#x", want.v, n, limit, want.ops, want.limit)
		}
	}
}
