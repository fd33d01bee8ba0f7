package determinism_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"tileiras/internal/driver"
	"tileiras/runtime/cases"
)

// quick is how many corpus cases one test in a run of `make test` compiles twice; TILEIRAS_ALL=1 takes every one. The performance
// kernels are always all there: they have the loops, the large tiles and the layouts to choose from.
const quick = 120

// levels are what is compared: the module before code generation, and the text that comes out.
var levels = []driver.Emit{driver.EmitTileAA, driver.EmitPTX}

// TestSameBytesInSameBytesOut compiles everything twice, one after the other on one processor and side by side on eight.
func TestSameBytesInSameBytesOut(t *testing.T) {
	files := inputs(t)
	one := outputs(t, files, 1)
	eight := outputs(t, files, 8)
	compiled := 0
	for i, file := range files {
		for l := range levels {
			a, b := one[i][l], eight[i][l]
			if !bytes.Equal(a, b) {
				t.Errorf("%s: the %s differs between two compiles at byte %d", file, levels[l], firstDifference(a, b))
			}
			if len(a) > 0 {
				compiled++
			}
		}
	}
	if compiled < len(files) {
		t.Errorf("only %d of %d outputs were made", compiled, len(files)*len(levels))
	}
}

func inputs(t *testing.T) []string {
	var files []string
	for _, dir := range []string{"../corpus/perf", "../corpus/cases"} {
		names, err := cases.List(dir)
		if err != nil {
			t.Fatal(err)
		}
		if dir == "../corpus/cases" && os.Getenv("TILEIRAS_ALL") == "" {
			step := max(len(names)/quick, 1)
			var some []string
			for i := 0; i < len(names); i += step {
				some = append(some, names[i])
			}
			names = some
		}
		for _, n := range names {
			files = append(files, filepath.Join(dir, n, "kernel.tileirbc"))
		}
	}
	return files
}

// outputs compiles each file to every level with so many processors, as many at a time. An error is an output too: its text must
// not change either.
func outputs(t *testing.T, files []string, processors int) [][][]byte {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	out := make([][][]byte, len(files))
	work := make(chan int)
	var wg sync.WaitGroup
	for range processors {
		wg.Go(func() {
			for i := range work {
				src, err := os.ReadFile(files[i])
				if err != nil {
					t.Error(err)
					continue
				}
				for _, level := range levels {
					res, err := driver.Compile(context.Background(), "kernel.tileirbc", src, driver.Options{
						GPU: "sm_80", Code: driver.Code{Opt: 3, LineInfo: true}, Emit: level, DebugInfo: true, ReproducerDir: t.TempDir()})
					if err != nil {
						out[i] = append(out[i], []byte(err.Error()))
					} else {
						out[i] = append(out[i], slices.Clone(res.Output))
					}
				}
			}
		})
	}
	for i := range files {
		work <- i
	}
	close(work)
	wg.Wait()
	return out
}

func firstDifference(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
