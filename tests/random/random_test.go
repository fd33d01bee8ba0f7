package random

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"tileiras/codegen/target"
	"tileiras/ir"
	"tileiras/runtime/emu"
)

// gpus have different instructions for the same operations: no cp.async and no matrix products of bf16 on the first, conversions
// of 8-bit floats and products of warpgroups on the third, the tensor unit on the last.
var gpus = []string{"sm_75", "sm_80", "sm_90", "sm_100"}

// programs is how many modules a run of all tests makes; TILEIRAS_RANDOM=N makes N, beginning with seed TILEIRAS_RANDOM_FROM.
const programs = 200

// manyModules is from how many modules on a run broadcastable over all GPUs, one for each module, and counts are held against what is enough.
const manyModules = 5000

// gpusOf are the GPUs that a module of a run of n modules is compiled for: programs for one. Products with scales have instructions of their own on sm_120.
func gpusOf(kind Kind, text string, seed uint64, n int) []string {
	list := gpus
	if n >= manyModules || kind == Programs || kind == Control {
		list = []string{target.All[seed%uint64(len(target.All))].Name}
	}
	if strings.Contains(text, "mmaf_scaled") && !slices.Contains(list, "sm_120") {
		list = append(slices.Clone(list), "sm_120")
	}
	return list
}

// shown bounds how many failures are reduced and shown.
const shown = 5

// moduleOf makes modules of changing size.
func moduleOf(seed uint64, without ...Feature) string {
	text, _ := moduleOfKind(Mixed, seed, without...)
	return text
}

func moduleOfKind(kind Kind, seed uint64, without ...Feature) (string, Tally) {
	return ModuleOf(kind, seed, sizeOf(seed), without...)
}

func scheduleOf(seed uint64) emu.Schedule { return emu.Schedules[seed%uint64(len(emu.Schedules))] }

func TestRandomModulesMeanTheSameOnInterpreterAndEmulator(t *testing.T) {
	n, from := number(t, "TILEIRAS_RANDOM", programs), number(t, "TILEIRAS_RANDOM_FROM", 0)
	meanTheSame(t, kindIn(t, "TILEIRAS_RANDOM_KIND"), n, from)
}

func TestBigTilesMeanTheSame(t *testing.T) { meanTheSame(t, Big, 12, 0) }

func TestRowsMeanTheSame(t *testing.T) { meanTheSame(t, Rows, 40, 1020) }

func TestTilesMeanTheSame(t *testing.T) { meanTheSame(t, Tiles, 40, 0) }

func TestProgramsMeanTheSame(t *testing.T) { meanTheSame(t, Programs, 40, 0) }

// meanTheSame checks n modules of a kind from a seed on.
func meanTheSame(t *testing.T, kind Kind, n, from int) {
	var mu sync.Mutex
	var tally struct{ products, ragged, pointers, masked, chains, both int }
	unsupported := map[string]int{}
	failures := 0
	var g errgroup.Group
	g.SetLimit(runtime.NumCPU())
	for seed := uint64(from); seed < uint64(from+n); seed++ {
		g.Go(func() error {
			text, g, program := moduleAndProgram(kind, seed, sizeOf(seed))
			has, err := g.tally, error(nil)
			if on := gpusOf(kind, text, seed, n); program != nil {
				err = checkProgram(t.Context(), text, program, scheduleOf(seed), on...)
			} else {
				err = Check(t.Context(), text, scheduleOf(seed), on...)
			}
			mu.Lock()
			defer mu.Unlock()
			tally.products += min(has.Products, 1)
			tally.ragged += min(has.Ragged, 1)
			tally.pointers += min(has.Pointers, 1)
			tally.masked += min(has.Masked, 1)
			tally.chains += min(has.Chains, 1)
			tally.both += min(has.Both, 1)
			var f *Failure
			switch {
			case errors.Is(err, ErrUnsupported):
				unsupported[err.Error()]++
			case errors.As(err, &f):
				if failures++; failures <= shown {
					t.Errorf("seed %d: %v\nreduced:\n%s", seed, err, reduced(t, text, scheduleOf(seed), f))
				} else {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
			return nil
		})
	}
	g.Wait()
	refused := 0
	for _, line := range sortedKeys(unsupported) {
		refused += unsupported[line]
		t.Logf("%d times %s", unsupported[line], line)
	}
	t.Logf("%d modules from seed %d: %d failed, %d not supported", n, from, failures, refused)
	t.Logf("%d have a product in a loop along K; %d of them one whose arrays end inside a tile, %d read an operand through pointers, %d under a mask, %d one product's results in another, %d by the same tiles",
		tally.products, tally.ragged, tally.pointers, tally.masked, tally.chains, tally.both)
	if kind == Products && (tally.ragged < n || n > 100 && (tally.chains < n/10 || tally.both < n/50)) {
		t.Errorf("%d of %d modules have a ragged product in a loop, %d a product of what another gave, %d of the same tiles", tally.ragged, n, tally.chains, tally.both)
	}
	if refused > n/20 {
		t.Errorf("%d of %d modules are not supported: they test nothing", refused, n)
	}
}

// reduced makes a failing module small.
func reduced(t *testing.T, text string, s emu.Schedule, f *Failure) string {
	if f.Kind == "evaluation" { // that of a smaller text is not known
		return text
	}
	gpu := gpus
	if f.GPU != "" {
		gpu = []string{f.GPU}
	}
	kind := kindOf(f)
	return Reduce(text, func(text string) bool { return kindOf(Check(t.Context(), text, s, gpu...)) == kind })
}

// kindIn is the kind of modules that an environment variable names, mixed ones without it.
func kindIn(t *testing.T, variable string) Kind {
	kind := Kind(os.Getenv(variable))
	if !slices.Contains(kindsOfModules, kind) {
		t.Fatalf("%s=%s: there are %q, the first of them without it", variable, kind, kindsOfModules)
	}
	return kind
}

// number is the value of an environment variable, or another number without it.
func number(t *testing.T, variable string, otherwise int) int {
	s := os.Getenv(variable)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

func sortedKeys(m map[string]int) []string {
	var keys []string
	for k := range m { // sorted below: the order cannot matter
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// TestModulesThatOnceFailedPass runs the reduced modules of faults that are repaired, under every schedule.
func TestModulesThatOnceFailedPass(t *testing.T) {
	files, err := filepath.Glob("testdata/*.tileir")
	if err != nil || files == nil {
		t.Fatalf("no modules: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".tileir"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range emu.Schedules {
				if err := Check(t.Context(), string(text), s, gpus...); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestAModuleFollowsFromItsSeed(t *testing.T) {
	for seed := range uint64(20) {
		if moduleOf(seed) != moduleOf(seed) {
			t.Errorf("seed %d makes two modules", seed)
		}
	}
}

// TestReduceLeavesOnlyWhatIsNeeded reduces a big module to one multiplication whose result is stored.
func TestReduceLeavesOnlyWhatIsNeeded(t *testing.T) {
	for seed := uint64(0); ; seed++ {
		text := Module(seed, 25)
		in, err := read(text)
		if err != nil {
			t.Fatal(err)
		}
		clean(in.Module)
		text = ir.Text(in.Module, ir.PrintOptions{})
		if !strings.Contains(text, " mulhii ") {
			continue
		}
		small := Reduce(text, func(text string) bool {
			_, err := interpret(t.Context(), text)
			return err == nil && strings.Contains(text, " mulhii ")
		})
		// A constant, the product, the store, return; and what the store needs: a view, its array with sizes and strides that are values, an index for each of
		// four dimensions.
		if n := countErasable(small); n > 12 {
			t.Errorf("%d operations are left of %d:\n%s", n, countErasable(text), small)
		}
		return
	}
}

func TestDifferencesAreSeen(t *testing.T) {
	in, err := read(`cuda_tile.module @m { entry @k(%a: tile<ptr<f32>>) { return } }`)
	if err != nil {
		t.Fatal(err)
	}
	params, err := parameters(in.Module, "k")
	if err != nil {
		t.Fatal(err)
	}
	f32 := params[0].elem
	near := []byte{0xcd, 0xcc, 0x8c, 0x3f} // 1.1
	one, nan, otherNaN, zero, minusZero := []byte{0, 0, 0x80, 0x3f}, []byte{0, 0, 0xc0, 0x7f}, []byte{1, 0, 0xc0, 0xff}, []byte{0, 0, 0, 0}, []byte{0, 0, 0, 0x80}
	for _, c := range []struct {
		got, want []byte
		inexact   bool
		differ    bool
	}{
		{one, one, false, false}, {one, zero, false, true}, {one, zero, true, true}, {one, near, false, true}, {one, near, true, false}, {nan, otherNaN, false, false},
		{nan, one, false, true}, {zero, minusZero, false, true},
	} {
		if got := differences(f32, c.got, c.want, slices.Repeat([]bool{c.inexact}, 4)) != ""; got != c.differ {
			t.Errorf("%x against %x, inexact %v: differ is %v", c.got, c.want, c.inexact, got)
		}
	}
}

func sizeOf(seed uint64) int { return []int{4, 10, 15, 25}[seed%4] }
