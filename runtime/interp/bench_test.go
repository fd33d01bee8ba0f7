package interp_test

import (
	"context"
	"path/filepath"
	"testing"

	"tileiras/runtime/cases"
)

// BenchmarkOneTileBlock runs one tile block of big kernels on small arrays, reading the module included.
func BenchmarkOneTileBlock(b *testing.B) {
	for _, k := range []struct {
		name   string
		shapes map[string][]int
	}{
		{"gemm_bf16_4096_128x128x32", map[string][]int{"a": {128, 1024}, "b": {1024, 128}, "c": {128, 128}}},
		{"vecadd_f32_64m", map[string][]int{"a": {1024}, "b": {1024}, "c": {1024}}},
		{"softmax_f32_8192x4096", map[string][]int{"x": {16, 4096}, "out": {16, 4096}}},
		{"transpose_f32_8192", map[string][]int{"x": {64, 64}, "out": {64, 64}}},
		{"attention_f16_d128_128x64", map[string][]int{"q": {16, 16, 128, 128}, "k": {16, 16, 512, 128}, "v": {16, 16, 512, 128}, "out": {16, 16, 128, 128}}},
	} {
		b.Run(k.name, func(b *testing.B) {
			c, err := cases.Load(filepath.Join(corpus, "perf", k.name))
			if err != nil {
				b.Fatal(err)
			}
			for name, shape := range k.shapes {
				if err := c.Resize(name, shape...); err != nil {
					b.Fatal(err)
				}
			}
			c.Grid = [3]int{1, 1, 1}
			l, err := c.NewLaunch()
			if err != nil {
				b.Fatal(err)
			}
			m := &machine{strict: true}
			for b.Loop() {
				if _, err := m.Launch(context.Background(), l); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
