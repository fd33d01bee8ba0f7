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

	"tileiras/codegen/options"
	"tileiras/internal/driver"
	"tileiras/runtime/cases"
)

// quick is how many corpus cases one test in a run of `make test` compiles twice; TILEIRAS_ALL=1 takes every one, for each setup. The performance
// kernels are always all there: they have the loops, the large tiles and the layouts to choose from.
const quick = 120

// levels are what is compared: the module before code generation, and the text that comes out.
var levels = []driver.Emit{driver.EmitTileAA, driver.EmitPTX}

// setups are for what is compiled. Performance kernels are compiled for each, cases for one after the other in turn.
var setups = []struct {
	name string
	gpu  string
	code driver.Code
}{
	{"sm_80", "sm_80", driver.Code{Opt: 3, LineInfo: true}},
	{"sm_90 with tensor maps and roles", "sm_90", driver.Code{Opt: 3, LineInfo: true, TMA: true, Roles: options.On}},
	{"sm_100 with roles", "sm_100", driver.Code{Opt: 3, LineInfo: true, Roles: options.On}},
}

// input is a file and for what it is compiled.
type input struct {
	file  string
	setup int
}

// output is what a compile gives: an error is an output too, whose text must not change either.
type output struct {
	text []byte
	err  error
}

// TestSameBytesInSameBytesOut compiles everything twice, one after the other on one processor and side by side on eight.
func TestSameBytesInSameBytesOut(t *testing.T) {
	list := inputs(t)
	one := outputs(t, list, 1)
	eight := outputs(t, list, 8)
	compiled := make([]int, len(setups))
	for i, in := range list {
		for l := range levels {
			a, b := one[i][l], eight[i][l]
			if !bytes.Equal(a.text, b.text) {
				t.Errorf("%s for %s: the %s differs between two compiles at byte %d", in.file, setups[in.setup].name, levels[l], firstDifference(a.text, b.text))
			}
			if a.err == nil {
				compiled[in.setup]++
			}
		}
	}
	for i, s := range setups {
		t.Logf("%d outputs for %s", compiled[i], s.name)
		all := 0
		for _, in := range list {
			if in.setup == i {
				all += len(levels)
			}
		}
		if compiled[i] < all*9/10 { // a GPU lacks what some kernels ask for
			t.Errorf("only %d of %d outputs were made for %s", compiled[i], all, s.name)
		}
	}
}

func inputs(t *testing.T) []input {
	var list []input
	for _, dir := range []string{"../corpus/perf", "../corpus/cases"} {
		names, err := cases.List(dir)
		if err != nil {
			t.Fatal(err)
		}
		step := 1
		if dir == "../corpus/cases" && os.Getenv("TILEIRAS_ALL") == "" {
			step = max(len(names)/quick, 1)
		}
		for i := 0; i < len(names); i += step {
			file := filepath.Join(dir, names[i], "kernel.tileirbc")
			for s := range setups {
				if dir == "../corpus/perf" || os.Getenv("TILEIRAS_ALL") != "" || i/step%len(setups) == s {
					list = append(list, input{file, s})
				}
			}
		}
	}
	return list
}

// outputs compiles each input to every level with so many processors, as many at a time.
func outputs(t *testing.T, list []input, processors int) [][]output {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	out := make([][]output, len(list))
	work := make(chan int)
	var wg sync.WaitGroup
	for range processors {
		wg.Go(func() {
			for i := range work {
				src, err := os.ReadFile(list[i].file)
				if err != nil {
					t.Error(err)
				}
				setup := setups[list[i].setup]
				for _, level := range levels {
					res, err := driver.Compile(context.Background(), "kernel.tileirbc", src, driver.Options{
						GPU: setup.gpu, Code: setup.code, Emit: level, DebugInfo: true, ReproducerDir: t.TempDir()})
					if err != nil {
						out[i] = append(out[i], output{[]byte(err.Error()), err})
					} else {
						out[i] = append(out[i], output{slices.Clone(res.Output), nil})
					}
				}
			}
		})
	}
	for i := range list {
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
