package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"tileiras"
	"tileiras/runtime/cases"
)

func TestSeriesGiveMedianAndTenthPercentile(t *testing.T) {
	s := series{}
	for i := range 21 {
		s.samples = append(s.samples, time.Duration((i*8)%21)) // 0 to 20, shuffled
	}
	if m, p := s.quantile(0.5), s.quantile(0.1); m != 10 || p != 2 {
		t.Errorf("median %d and 10 %% %d of 0..20, want 10 and 2", m, p)
	}
}

func TestPassTimingIsReadByPlace(t *testing.T) {
	log := "    0.250 ms  cse\n    1.500 ms  licm\n    0.125 ms  cse\nremark: 3 ms\n"
	passes := addPasses(addPasses(nil, log), log)
	if len(passes) != 3 || passes[0].name != "  cse" || passes[2].name != "  cse" || len(passes[2].samples) != 2 {
		t.Fatalf("passes are %+v, want cse, licm and cse again, two runs each", passes)
	}
	if d := passes[1].quantile(0.5); d != 1500*time.Microsecond {
		t.Errorf("licm took %v, want 1.5ms", d)
	}
}

// BenchmarkCompile compiles the performance kernels again and again in one process, for profiles and counts of allocations:
//
//	go test ./tests/bench -run '^$' -bench Compile -benchmem -cpuprofile cpu.out
func BenchmarkCompile(b *testing.B) {
	names, err := cases.List("../corpus/perf")
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range names {
		src, err := os.ReadFile(filepath.Join("../corpus/perf", name, "kernel.tileirbc"))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := tileiras.Compile(b.Context(), src, tileiras.Options{GPU: "sm_80"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestCellsMakeColumns(t *testing.T) {
	var column series
	for i, want := range []string{" 3.00 |", " 0.50 |", " 1.25 |"} {
		d := []time.Duration{3 * time.Millisecond, 500 * time.Microsecond, 1250 * time.Microsecond}[i]
		if got := column.cell(d); got != want {
			t.Errorf("cell of %v is %q, want %q", d, got, want)
		}
	}
	if m, most := column.quantile(0.5), column.quantile(1); m != 1250*time.Microsecond || most != 3*time.Millisecond {
		t.Errorf("median %v and most %v, want 1.25ms and 3ms", m, most)
	}
}
