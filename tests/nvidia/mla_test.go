package nvidia_test

import (
	"fmt"
	"os"
	"testing"

	"tileiras/internal/driver"
	"tileiras/tests/ptxas"
)

// TestDecodingHasNoStack: an operand of 512x16 that lives through a loop, beside accumulators as big, stays out of local memory, as at
// NVIDIA.
func TestDecodingHasNoStack(t *testing.T) {
	tools, ok := ptxas.Find(t.TempDir())
	if !ok {
		t.Skipf("%s is not set: it names the folder with ptxas", ptxas.Variable)
	}
	for _, name := range []string{"mla_decode", "mla_decode_turned"} {
		text, err := os.ReadFile("../regress/testdata/" + name + ".tileir")
		if err != nil {
			t.Fatal(err)
		}
		for _, gpu := range []string{"sm_80", "sm_90"} {
			res, err := driver.Compile(t.Context(), name+".tileir", text, driver.Options{GPU: gpu, Code: driver.Code{Opt: 3}, Emit: driver.EmitPTX})
			if err != nil {
				t.Fatal(err)
			}
			ptx := string(res.Output)
			rep, err := tools.Assemble(t.Context(), fmt.Sprintf("%s-%s", name, gpu), ptx, ptxas.Target(ptx))
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range rep.Kernels {
				t.Logf("%s, %s: %d registers of %d threads, %d bytes of stack", name, gpu, k.Registers, k.Threads, k.Stack)
				if k.Stack > 0 || k.Spills() > 0 {
					t.Errorf("%s, %s: %d bytes of stack, %d of spills", name, gpu, k.Stack, k.Spills())
				}
			}
		}
	}
}
