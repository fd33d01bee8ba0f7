package tilerun_test

import (
	"testing"

	"tileiras/internal/driver"
	"tileiras/internal/tilerun"
	"tileiras/runtime/cases"
)

// BenchmarkKernels runs a product of 512x512x512 in f16 and a softmax of 1024 rows of 1024 elements, all checks on.
func BenchmarkKernels(b *testing.B) {
	for _, k := range []struct {
		name, file string
		shape      [2]int
		arrays     []string
		blocks     int
	}{
		{"gemm", "gemm_f16_4096_128x128x64", [2]int{512, 512}, []string{"a", "b", "c"}, 16},
		{"softmax", "softmax_f32_8192x4096", [2]int{1024, 1024}, []string{"x", "out"}, 128},
	} {
		c, err := cases.Load("../../tests/corpus/perf/" + k.file)
		if err != nil {
			b.Fatal(err)
		}
		for _, name := range k.arrays {
			if err := c.Resize(name, k.shape[:]...); err != nil {
				b.Fatal(err)
			}
		}
		c.Grid = [3]int{k.blocks, 1, 1}
		for _, x := range c.Buffers {
			if err := x.Fill(); err != nil {
				b.Fatal(err)
			}
		}
		machines := map[string]cases.Machine{"interp": &tilerun.Interpreter{}, "sm_80": &tilerun.Emulator{GPU: "sm_80", Code: driver.Code{Opt: 3}}, "sm_90": &tilerun.Emulator{GPU: "sm_90", Code: driver.Code{Opt: 3}}}
		for _, on := range []string{"interp", "sm_80", "sm_90"} {
			b.Run(k.name+"/"+on, func(b *testing.B) {
				for b.Loop() {
					if v := cases.Run(b.Context(), machines[on], c); v.Status != cases.Pass {
						b.Fatal(v)
					}
				}
			})
		}
	}
}
