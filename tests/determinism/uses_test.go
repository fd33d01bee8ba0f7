package determinism_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tileiras/codegen/nvvm"
	"tileiras/codegen/ptx"
	"tileiras/codegen/target"
	"tileiras/internal/driver"
	"tileiras/ir"
	"tileiras/passes"
	"tileiras/passes/pass"
)

// arrangements are orders in which all operands are set again: of the uses of a value, the one that is set last comes first.
var arrangements = []struct {
	name    string
	arrange func(uses []*ir.Use)
}{
	{"the last one first", func([]*ir.Use) {}},
	{"the first one first", slices.Reverse[[]*ir.Use]},
	{"in halves", func(uses []*ir.Use) {
		half := slices.Clone(uses[:len(uses)/2])
		copy(uses, uses[len(uses)/2:])
		copy(uses[len(uses)-len(half):], half)
	}},
}

// TestTheOrderOfUsesDecidesNothing arranges the uses of all values anew before every pass and before code generation, which makes no difference: passes
// leave other orders than the reader of their text.
func TestTheOrderOfUsesDecidesNothing(t *testing.T) {
	list := inputs(t)
	texts, err := filepath.Glob("../regress/testdata/*.tileir")
	if err != nil || len(texts) == 0 {
		t.Fatalf("no texts: %v", err)
	}
	for i, file := range texts {
		for s := range setups {
			if os.Getenv("TILEIRAS_ALL") != "" || i%len(setups) == s {
				list = append(list, input{file, s})
			}
		}
	}
	for _, in := range list {
		setup := setups[in.setup]
		src, err := os.ReadFile(in.file)
		if err != nil {
			t.Fatal(err)
		}
		var want string
		for i, a := range arrangements {
			got := compiled(t, src, setup.gpu, setup.code, a.arrange)
			if i == 0 {
				want = got
			} else if got != want {
				t.Errorf("%s for %s: the uses of values stand %s, and the code differs at byte %d", in.file, setup.name, a.name, firstDifference([]byte(got), []byte(want)))
			}
		}
	}
}

// compiled is the PTX of a module whose uses are arranged, or the error.
func compiled(t *testing.T, src []byte, gpu string, code driver.Code, arrange func([]*ir.Use)) string {
	in, err := driver.Read(driver.NewContext(), "kernel", src)
	if err != nil {
		t.Fatal(err)
	}
	tgt, _ := target.ByName(gpu)
	st := &pass.State{Ctx: in.Ctx, Module: in.Module, Target: tgt, Code: code}
	again := func(_ *pass.Pass, module *ir.Op) {
		var uses []*ir.Use
		ir.Walk(module, ir.PreOrder, func(op *ir.Op) {
			for i := range op.NumOperands() {
				uses = append(uses, op.OperandUse(i))
			}
		})
		arrange(uses)
		for _, u := range uses {
			u.Owner().SetOperand(u.Index(), u.Owner().Operand(u.Index()))
		}
	}
	m := &pass.Manager{State: st, Before: again}
	if err := m.Run(passes.Pipeline(), passes.Planner); err != nil {
		return err.Error()
	}
	again(nil, st.Module)
	module, err := nvvm.Lower(st.Ctx, st.Module, nvvm.Options{Target: tgt, Code: code})
	if err != nil {
		return err.Error()
	}
	text, err := ptx.Emit(module, ptx.Options{Target: tgt, Code: code})
	if err != nil {
		return err.Error()
	}
	return string(text)
}
