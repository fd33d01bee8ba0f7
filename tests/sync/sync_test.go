// Package sync_test has check-sync judge kernels: those of the corpus, random ones, and some in which one line was broken, each of which it must
// refuse.
package sync_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"tileiras/codegen/options"
	"tileiras/internal/driver"
	"tileiras/passes"
	"tileiras/tests/random"
)

// gpus have no asynchronous copies, plain ones, mbarriers that wait, and other sizes of shared memory.
var gpus = []string{"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"}

// synchronized is a kernel with all its barriers.
func synchronized(src []byte, gpu string, code options.Code) (string, error) {
	var names []string
	for _, p := range passes.Pipeline() {
		names = append(names, p.Name)
	}
	res, err := driver.RunPasses(context.Background(), "kernel", src, settings(gpu, code), names)
	if err != nil {
		return "", err
	}
	return string(res.Output), nil
}

// refused reports whether an error says that the kernel is not for the GPU, or that the compiler cannot do it yet.
func refused(err error) bool {
	var f *driver.Failure
	return errors.As(err, &f) && f.Code == driver.ExitUnsupported
}

func settings(gpu string, code options.Code) driver.Options {
	code.Opt = 3
	return driver.Options{GPU: gpu, Code: code, ReproducerDir: os.DevNull}
}

// check is what check-sync says of a kernel; "" if nothing.
func check(t *testing.T, text, gpu string) string {
	t.Helper()
	_, err := driver.RunPasses(context.Background(), "kernel.tileir", []byte(text), settings(gpu, options.Code{}), []string{"check-sync"})
	var f *driver.Failure
	switch {
	case err == nil:
		return ""
	case errors.As(err, &f) && f.Code != driver.ExitBug:
		return err.Error()
	}
	t.Errorf("check-sync fails: %v", err)
	return ""
}

// kernels are the bytecode files of the corpus, but for those that break a rule.
func kernels(t *testing.T) (list []string) {
	for _, kind := range []string{"cases", "perf"} {
		found, err := filepath.Glob(filepath.Join("..", "corpus", kind, "*", "kernel.tileirbc"))
		if err != nil || len(found) == 0 {
			t.Fatalf("no %s: %v", kind, err)
		}
		list = append(list, found...)
	}
	return slices.DeleteFunc(list, func(file string) bool { return strings.HasPrefix(filepath.Base(filepath.Dir(file)), "invalid_") })
}

var ringOf = regexp.MustCompile(`alloc_ring.*ring<(\d+),`)

// TestKernelsAreInOrder has the kernels of the corpus judged, for each GPU, with and without warps of their own for copies, and tensor maps.
func TestKernelsAreInOrder(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	var g errgroup.Group
	for _, file := range kernels(t) {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		g.Go(func() error {
			for _, gpu := range gpus {
				for _, code := range []options.Code{{Roles: options.Off}, {Roles: options.On}, {Roles: options.Off, TMA: true}, {Roles: options.On, TMA: true}} {
					text, err := synchronized(src, gpu, code)
					split, maps := strings.Contains(text, "roles {"), strings.Contains(text, "tensor_map ")
					if err != nil && !refused(err) {
						t.Errorf("%s for %s, %+v: %v", file, gpu, code, err)
					}
					if err != nil || code.Roles == options.On && !split || code.TMA && !maps {
						continue // not for this GPU, or the same again
					}
					if says := check(t, text, gpu); says != "" {
						t.Errorf("%s for %s, %+v: %s", file, gpu, code, says)
					}
					mu.Lock()
					if maps {
						seen[fmt.Sprintf("tensor maps, roles=%v", split)]++
					}
					for _, m := range ringOf.FindAllStringSubmatch(text, -1) {
						seen[fmt.Sprintf("rings of %s slots, roles=%v", m[1], split)]++
					}
					mu.Unlock()
				}
			}
			return nil
		})
	}
	g.Wait()
	for _, k := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%4d %s", seen[k], k)
	}
	for _, k := range []string{"rings of 1 slots, roles=false", "rings of 2 slots, roles=false", "rings of 3 slots, roles=false", "rings of 4 slots, roles=false", "rings of 8 slots, roles=false",
		"rings of 1 slots, roles=true", "rings of 2 slots, roles=true", "rings of 4 slots, roles=true", "rings of 8 slots, roles=true", "tensor maps, roles=false", "tensor maps, roles=true"} {
		if seen[k] == 0 {
			t.Errorf("nothing has %s", k)
		}
	}
}

// TestRandomKernelsAreInOrder has random modules with products in loops judged, a quarter of them with big tiles and a quarter with loops and branches nested at random;
// TILEIRAS_RANDOM=N makes N.
func TestRandomKernelsAreInOrder(t *testing.T) {
	programs, rings, left := 600, 0, 0
	if n, err := strconv.Atoi(os.Getenv("TILEIRAS_RANDOM")); err == nil {
		programs = n
	}
	for seed := range uint64(programs) {
		kind := []random.Kind{random.Products, random.Programs, random.Products, random.Big}[seed/10%4] // each of all GPUs, with roles and without
		module, _ := random.ModuleOf(kind, seed, 10)
		gpu, roles := gpus[seed%uint64(len(gpus))], []options.Roles{options.Off, options.On}[seed/uint64(len(gpus))%2]
		text, err := synchronized([]byte(module), gpu, options.Code{Roles: roles, TMA: seed/2%2 == 1})
		if err != nil && !refused(err) {
			t.Errorf("seed %d for %s, roles=%v: %v\n%s", seed, gpu, roles, err, module)
		}
		if err != nil {
			left++
			continue
		}
		rings += min(1, strings.Count(text, "alloc_ring"))
		if says := check(t, text, gpu); says != "" {
			t.Errorf("seed %d for %s, roles=%v: %s\n%s", seed, gpu, roles, says, module)
		}
	}
	t.Logf("%d of %d programs have rings, %d are not compiled", rings, programs, left)
	if rings < programs/20 || left > programs/20 {
		t.Error("that tests too little")
	}
}
