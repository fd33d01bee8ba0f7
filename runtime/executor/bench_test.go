package executor_test

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"testing"

	"tileiras/runtime/cases"
	"tileiras/runtime/executor"
)

// BenchmarkLaunch runs whole grids of real kernels on small arrays, as Python does: the module is loaded once, checks are on.
func BenchmarkLaunch(b *testing.B) {
	for _, k := range []struct {
		name   string
		grid   [3]int
		shapes map[string][]int
	}{
		{"gemm_f16_4096_128x128x64", [3]int{4, 4, 1}, map[string][]int{"a": {512, 512}, "b": {512, 512}, "c": {512, 512}}},
		{"softmax_f32_8192x4096", [3]int{256, 1, 1}, map[string][]int{"x": {256, 4096}, "out": {256, 4096}}},
		{"attention_f16_d64_128x64", [3]int{2, 1, 1}, map[string][]int{"q": {16, 16, 128, 64}, "k": {16, 16, 128, 64}, "v": {16, 16, 128, 64}, "out": {16, 16, 128, 64}}},
		{"vecadd_f32_64m", [3]int{1, 1, 1}, map[string][]int{"a": {1024}, "b": {1024}, "c": {1024}}},
	} {
		for _, e := range engines {
			for _, workers := range []int{1, 2} {
				b.Run(fmt.Sprintf("%s/%s/%d", k.name, e, workers), func(b *testing.B) {
					c, err := cases.Load(filepath.Join("../../tests/corpus/perf", k.name))
					if err != nil {
						b.Fatal(err)
					}
					for name, shape := range k.shapes {
						if err := c.Resize(name, shape...); err != nil {
							b.Fatal(err)
						}
					}
					c.Grid = k.grid
					l, err := c.NewLaunch()
					if err != nil {
						b.Fatal(err)
					}
					p, err := executor.Load(b.Context(), l.Bytecode, executor.Options{Engine: e, GPU: "sm_90", Workers: workers, ZeroPadding: true})
					if err != nil {
						b.Fatal(err)
					}
					launch := &executor.Launch{Kernel: l.Kernel, Grid: l.Grid}
					for i, m := range l.Buffers {
						launch.Memory = append(launch.Memory, region(m.Name, uint64(i+1)<<32, m.Bytes))
					}
					for _, q := range l.Params {
						bits := q.Bits
						if q.Type == nil {
							bits = uint64(q.Buffer+1)<<32 + uint64(q.Offset)
						}
						launch.Params = append(launch.Params, binary.LittleEndian.AppendUint64(nil, bits))
					}
					for b.Loop() {
						if _, err := p.Launch(b.Context(), launch); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
