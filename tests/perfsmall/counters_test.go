package perfsmall_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"tileiras/internal/tilerun"
	"tileiras/runtime/cases"
	"tileiras/runtime/emu"
)

// TestKernelsMoveWholeSectorsWithoutConflicts holds counters of the emulator: 32-byte sectors of global memory over the bytes that were
// asked for, and passes over the banks of shared memory over those without conflicts.
func TestKernelsMoveWholeSectorsWithoutConflicts(t *testing.T) {
	const sectors, waves = 1.15, 1.05
	for _, row := range []struct{ name, size string }{
		{"transpose_f16_8192", "M=2 N=2"},
		{"transpose_f32_8192", "M=2 N=2"},
		{"gemm_f16_4096_128x128x64", "M=1 N=1 K=4"},
		{"attention_f16_d64_128x64", "B:1 H:16 D=1 Q=1 S=3"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := statsOf(t, row.name, row.size)
			if r := float64(32*s.GlobalSectors) / float64(s.GlobalBytes); r > sectors {
				t.Errorf("%d sectors for %d bytes: %.2f times the bytes, want at most %.2f", s.GlobalSectors, s.GlobalBytes, r, sectors)
			}
			if r := float64(s.SharedWavefronts) / float64(max(s.SharedIdealWavefronts, 1)); r > waves {
				t.Errorf("%d passes over shared memory, %d without conflicts: %.2f times, want at most %.2f", s.SharedWavefronts, s.SharedIdealWavefronts, r, waves)
			}
		})
	}
}

// TestOneBarrierAnIteration holds that a step along K of a pipelined product takes one barrier of its 4 warps.
func TestOneBarrierAnIteration(t *testing.T) {
	const name, warps = "gemm_f16_4096_128x128x64", 4
	few, many := statsOf(t, name, "M=1 N=1 K=4"), statsOf(t, name, "M=1 N=1 K=7")
	if n := many.Barriers - few.Barriers; n != 3*warps {
		t.Errorf("3 steps more take %d arrivals at barriers more, want %d", n, 3*warps)
	}
}

// statsOf runs a performance kernel at a size and gives the counters.
func statsOf(t *testing.T, name, text string) emu.Stats {
	t.Helper()
	c, err := cases.Load(filepath.Join(perf, name))
	if err != nil {
		t.Fatal(err)
	}
	ptx, gpu, err := compile(c)
	if err != nil {
		t.Fatal(err)
	}
	k := &kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.op == c.Op })]
	arrays, err := arraysOf(c, k)
	if err != nil {
		t.Fatal(err)
	}
	tiles := tilesOf(arrays)
	s, err := parseSize(text, tiles)
	if err != nil {
		t.Fatal(err)
	}
	if err := shrink(c, k, arrays, s, tiles); err != nil {
		t.Fatal(err)
	}
	l, err := c.NewLaunch()
	if err != nil {
		t.Fatal(err)
	}
	m := &tilerun.Emulator{GPU: gpu, PTX: func(context.Context, *cases.Launch) (string, error) { return ptx, nil }}
	out, err := m.Launch(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	stats, ok := out.Stats.(emu.Stats)
	if !ok {
		t.Fatalf("counters are %T", out.Stats)
	}
	return stats
}
