package ptx

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tileiras/codegen/target"
	"tileiras/ir/budget"
)

// lookCounter is a context that counts how often it is asked: once for so many steps of work.
type lookCounter struct {
	context.Context
	looks int
}

func (c *lookCounter) Err() error {
	c.looks++
	return nil
}

// TestKernelsLookAtTheirOwnVariables: the work for a kernel does not grow with the variables of other kernels, be its shared memory
// static or given at the launch.
func TestKernelsLookAtTheirOwnVariables(t *testing.T) {
	sm, _ := target.ByName("sm_80")
	for name, bytes := range map[string]int{"static": 16, "dynamic": 65536} {
		looks := func(kernels int) int {
			var b strings.Builder
			for i := range kernels {
				fmt.Fprintf(&b, "@s%d = internal addrspace(3) global [%d x i8] undef, align 16\n", i, bytes)
			}
			for i := range kernels {
				fmt.Fprintf(&b, "define ptx_kernel void @k%d() {\n  call void asm sideeffect \"st.shared.b32 [$0+$1], $2;\", \"r,n,r\"(i32 ptrtoint ([%d x i8] addrspace(3)* @s%d to i32), i32 0, i32 1)\n  ret void\n}\n", i, bytes, i)
			}
			m, err := parseText("k.ll", b.String())
			if err != nil {
				t.Fatal(err)
			}
			c := &lookCounter{Context: context.Background()}
			out, err := Emit(m, Options{Target: sm, Budget: budget.New(c, 0)})
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(out), ".shared .align 16"); n != kernels {
				t.Errorf("%s: %d variables of %d", name, n, kernels)
			}
			return c.looks
		}
		if few, more := looks(500), looks(2000); more > 5*few {
			t.Errorf("%s: 500 kernels take %d looks, 2000 take %d", name, few, more)
		}
	}
}
