package driver

import (
	"context"
	"os"
	"testing"

	"tileiras/codegen/nvvm"
	"tileiras/ir/budget"
	"tileiras/passes"
	"tileiras/passes/pass"
)

// TestLLVMTextIsThePrinters holds our text of modules against that of the printer of LLVM IR.
func TestLLVMTextIsThePrinters(t *testing.T) {
	for _, name := range []string{"cases/attention_f16", "cases/printf_135", "perf/gemm_bf16_8192_128x128x64"} {
		src, err := os.ReadFile("../../tests/corpus/" + name + "/kernel.tileirbc")
		if err != nil {
			t.Fatal(err)
		}
		in, err := Read(NewContext(), name, src)
		if err != nil {
			t.Fatal(err)
		}
		gpu, err := (&Options{GPU: "sm_80"}).target(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		st := &pass.State{Ctx: in.Ctx, Module: in.Module, Target: gpu, Code: Code{Opt: 3}}
		if err := (&pass.Manager{State: st}).Run(passes.Pipeline(), passes.Planner); err != nil {
			t.Fatal(err)
		}
		m, err := nvvm.Lower(st.Ctx, st.Module, nvvm.Options{Target: gpu})
		if err != nil {
			t.Fatal(err)
		}
		got := llvmText(m, (*budget.Budget)(nil))
		if want := m.String(); got != want || len(got) < 1000 {
			t.Errorf("%s: another text:\n%s", name, unifiedDiff(want, got))
		}
	}
}
