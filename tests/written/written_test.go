// Package written_test breaks TileAA texts that the pipeline prints, as somebody who writes them by hand may, and continues the compile. Each must be refused with
// an error that has a place in the text, or compile. Layouts, instructions and warps do not say what a kernel computes: where only they are broken and the text
// compiles, the emulator computes what the case expects.
package written_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"tileiras/internal/driver"
	"tileiras/internal/tilerun"
	"tileiras/runtime/cases"
)

var (
	kernels = []string{"attention_f16", "attention_f8e4m3fn_64x64", "mma_loop_f16", "mma_scaled_f8e4m3fn", "mma_turned_i8", "mma_f64_f64_8x8x4", "softmax_f16",
		"reduce_3d", "scan_f32", "cat", "extract", "insert_135", "permute_f16", "reshape", "broadcast", "gather_2d", "raw_memory", "atomic_add_i32", "pack_unpack", "printf_133",
		"direct_globals_133"}
	gpus   = []string{"sm_80", "sm_90", "sm_100"}
	stages = []string{"select-atoms", "assign-layouts", "lower-conversions", "pipeline-loops", "make-tensor-maps", barriers}
)

// barriers is the pass behind which a text says itself where threads meet: what that is worth, check-sync judges.
const barriers = "insert-barriers"

// timeout bounds the compile of a text, which takes milliseconds.
const timeout = time.Minute

// text is the TileAA of a kernel for a GPU after a pass.
type text struct {
	kernel    *cases.Case
	gpu, pass string
	remaining []string // the passes that follow
	lines     string
}

func options(gpu string) driver.Options {
	return driver.Options{GPU: gpu, Code: driver.Code{Opt: 3, TMA: true}, Emit: driver.EmitPTX, ReproducerDir: os.DevNull}
}

func texts(t *testing.T) (list []text) {
	names := driver.StageNames()
	for _, k := range kernels {
		c, err := cases.Load(filepath.Join("..", "corpus", "cases", k))
		if err != nil {
			t.Fatal(err)
		}
		for _, gpu := range gpus {
			for _, pass := range stages {
				n := 1
				for names[n-1] != pass {
					n++
				}
				lines, err := driver.RunPasses(context.Background(), k, c.Bytecode, options(gpu), names[:n])
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, text{c, gpu, pass, names[n:], strings.TrimSpace(string(lines.Output))})
			}
		}
	}
	return list
}

func TestBrokenTexts(t *testing.T) {
	seed, count := uint64(1), 3000
	if n, err := strconv.ParseInt(os.Getenv("TILEIRAS_MUTATIONS"), 0, 64); err == nil { // 1_000_000, too
		seed, count = rand.Uint64(), int(n)
	}
	all := texts(t)
	total := 0
	for _, k := range mutations {
		total += k.weight
	}
	var mu sync.Mutex
	fates := map[string]int{}
	var g errgroup.Group
	g.SetLimit(runtime.NumCPU())
	for n := range uint64(count) {
		g.Go(func() error {
			m := &mutant{Rand: rand.New(rand.NewPCG(seed, n))}
			x := all[m.IntN(len(all))]
			m.lines = strings.Split(x.lines, "\n")
			at, i := m.IntN(total), 0
			for ; at >= mutations[i].weight; i++ {
				at -= mutations[i].weight
			}
			named := m.IntN(2) == 0
			if !mutations[i].apply(m) {
				return nil
			}
			broken := strings.Join(m.lines, "\n") + "\n"
			fate, err := x.compileRest(broken, named, mutations[i].same)
			if err != nil {
				t.Errorf("seed %d, number %d, %s in %s for %s behind %s, passes named: %t: %v\n%s", seed, n, mutations[i].name, x.kernel.Name, x.gpu, x.pass, named, err, broken)
			}
			mu.Lock()
			fates[mutations[i].name+fate]++
			mu.Unlock()
			return nil
		})
	}
	g.Wait()
	for _, k := range mutations {
		t.Logf("%4d refused, %4d compiled: %s", fates[k.name+refused], fates[k.name+compiled], k.name)
		if fates[k.name+refused] == 0 || k.same && fates[k.name+compiled] == 0 {
			t.Errorf("%s: that tests too little", k.name)
		}
	}
}

const refused, compiled = " refused", " compiled"

var place = regexp.MustCompile(`loc\(.*:\d+:\d+\)|:\d+:\d+: `)

// compileRest compiles a mutant, by the remaining passes or as the driver chooses; the error says what must not happen.
func (x text) compileRest(broken string, named, same bool) (fate string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var res *driver.Result
	if named {
		res, err = driver.RunPasses(ctx, "broken.tileir", []byte(broken), options(x.gpu), x.remaining)
	} else {
		res, err = driver.Compile(ctx, "broken.tileir", []byte(broken), options(x.gpu))
	}
	var f *driver.Failure
	switch {
	case err == nil && same && !strings.Contains(broken, "buffer_view"): // which names elements by where they lie
		return compiled, x.checkResult(ctx, res, broken)
	case err == nil:
		return compiled, nil
	case !errors.As(err, &f), f.Code == driver.ExitBug, ctx.Err() != nil:
		return "", err
	case !place.MatchString(f.Lines[0]):
		return "", fmt.Errorf("an error without a place: %w", err)
	}
	return refused, nil
}

// checkResult runs what was compiled on the emulator. A missing wait is the fault of the mutant if check-sync finds it.
func (x text) checkResult(ctx context.Context, res *driver.Result, broken string) error {
	m := &tilerun.Emulator{GPU: x.gpu, Compiled: res}
	v := cases.Run(ctx, m, x.kernel)
	if v.Status == cases.Pass {
		return nil
	}
	if x.pass == barriers {
		if _, err := driver.RunPasses(ctx, "broken.tileir", []byte(broken), options(x.gpu), []string{"check-sync"}); err != nil {
			return nil
		}
	}
	return errors.New(v.Reason)
}
