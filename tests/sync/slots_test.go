package sync_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"tileiras/codegen/options"
	"tileiras/internal/driver"
)

// barriersBetween counts the barriers without which check-sync says that slots of two iterations meet; with all of them it must say nothing.
func barriersBetween(t *testing.T, text string) (n int) {
	t.Helper()
	if says := check(t, text, "sm_80"); says != "" {
		t.Errorf("said is %q of all barriers in\n%s", says, text)
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if barriers.MatchString(line) && strings.Contains(check(t, strings.Join(drop(lines, i), "\n"), "sm_80"), "touches the slot of an earlier iteration") {
			n++
		}
	}
	return n
}

// TestSlotsOfIterations drops the barrier between what two iterations do with slots of theirs, which have the same memory.
func TestSlotsOfIterations(t *testing.T) {
	for name, want := range map[string]int{"alloca_in_a_loop": 1, "alloca_in_nested_loops": 1} { // a pointer made of an integer is not followed
		src, err := os.ReadFile("../regress/testdata/" + name + ".tileir")
		if err != nil {
			t.Fatal(err)
		}
		text, err := synchronized(src, "sm_80", options.Code{})
		if err != nil {
			t.Fatal(err)
		}
		if n := barriersBetween(t, text); n != want {
			t.Errorf("%s: check-sync asks for %d barriers between iterations, expected %d, of\n%s", name, n, want, text)
		}
	}
}

// slots are what an iteration writes to and reads of its slot, and how many barriers stand between iterations then.
var slots = []struct {
	name, written, read string
	want                int
}{
	{"the same elements", "store %up, %x {vec = 1} : (P, X)", "load %up {vec = 1} : (P) -> (X", 0},
	{"elements of other threads", "store %up, %x {vec = 1} : (P, X)", "load %down {vec = 1} : (P) -> (X", 1},
	{"another layout", "store %up, %x {vec = 1} : (P, X)", "load %upT {vec = 1} : (tile<1024xptr<i16>, #t>) -> (tile<1024xi16, #t>", 1},
	{"copies in all warps", "store %upC, %xC {vec = 1} : (tile<1024xptr<i16>, #c>, tile<1024xi16, #c>)",
		"load %upC {vec = 1} : (tile<1024xptr<i16>, #c>) -> (tile<1024xi16, #c>", 1},
	{"an element of two threads", "store %pairs, %x, mask(%even) {vec = 1} : (P, X, tile<1024xi1, #l>)", "load %pairs {vec = 1} : (P) -> (X", 1},
	{"an element that all read", "store %slot, %one : (tile<ptr<i16>>, tile<i16>)", "load %slot : (tile<ptr<i16>>) -> (tile<i16>", 1},
	{"blocks of a partition", "tiled_store %x, %block {vec = 1, masked = [false]} : (X, B)", "tiled_load %block {vec = 1, masked = [false]} : (B) -> (X", 0},
	{"blocks that overlap", "tiled_store %x, %half {vec = 1, masked = [false]} : (X, B)", "tiled_load %half {vec = 1, masked = [false]} : (B) -> (X", 1},
}

var slotTypes = strings.NewReplacer("P)", "tile<1024xptr<i16>, #l>)", "P,", "tile<1024xptr<i16>, #l>,", "X", "tile<1024xi16, #l>", "B)", "block<1024xi16>)")

// slotText has an iteration with a slot; what is written and read follows.
const slotText = `#l = #tileaa.layout<{reg=[[128],[256],[512]], lane=[[1],[2],[4],[8],[16]], warp=[[32],[64]]} : 1024>
#t = #tileaa.layout<{reg=[[1],[2],[4]], lane=[[8],[16],[32],[64],[128]], warp=[[256],[512]]} : 1024>
#c = #tileaa.layout<{reg=[[32],[64],[128],[256],[512]], lane=[[1],[2],[4],[8],[16]], warp=[[0],[0]]} : 1024>
tileaa.module @m attributes {after = "allocate-shared"} {
  entry @k attributes {plan = #tileaa.plan<warps = 4, stages = 1>, shared_bytes = 4096} (%n: tile<i32>, %k: tile<i32>) {
    %zero = constant <i32: 0> : tile<i32>
    %step = constant <i32: 1> : tile<i32>
    %one = constant <i16: 1> : tile<i16>
    %x = constant <i16: 1> : tile<1024xi16, #l>
    %xC = constant <i16: 1> : tile<1024xi16, #c>
    %iota = iota : tile<1024xi32, #l>
    %iotaT = iota : tile<1024xi32, #t>
    %iotaC = iota : tile<1024xi32, #c>
    %last = constant <i32: 1023> : tile<1024xi32, #l>
    %bit = constant <i32: 1> : tile<1024xi32, #l>
    %none = constant <i32: 0> : tile<1024xi32, #l>
    %back = subi %last, %iota : tile<1024xi32, #l>
    %pair = shri %iota, %bit {signedness = unsigned} : tile<1024xi32, #l>
    %low = andi %iota, %bit : tile<1024xi32, #l>
    %even = cmpi %low, %none {predicate = equal} : (tile<1024xi32, #l>, tile<1024xi32, #l>) -> tile<1024xi1, #l>
    for %zero, %n, %step : (tile<i32>, tile<i32>, tile<i32>) (%i: tile<i32>) {
      %slot = alloca {num_elem = 2048, alignment = 64, offset = 0} : tile<ptr<i16>>
      %base = splat %slot : (tile<ptr<i16>>) -> tile<1024xptr<i16>, #l>
      %baseT = splat %slot : (tile<ptr<i16>>) -> tile<1024xptr<i16>, #t>
      %baseC = splat %slot : (tile<ptr<i16>>) -> tile<1024xptr<i16>, #c>
      %up = offset %base, %iota : (tile<1024xptr<i16>, #l>, tile<1024xi32, #l>) -> tile<1024xptr<i16>, #l>
      %down = offset %base, %back : (tile<1024xptr<i16>, #l>, tile<1024xi32, #l>) -> tile<1024xptr<i16>, #l>
      %pairs = offset %base, %pair : (tile<1024xptr<i16>, #l>, tile<1024xi32, #l>) -> tile<1024xptr<i16>, #l>
      %upT = offset %baseT, %iotaT : (tile<1024xptr<i16>, #t>, tile<1024xi32, #t>) -> tile<1024xptr<i16>, #t>
      %upC = offset %baseC, %iotaC : (tile<1024xptr<i16>, #c>, tile<1024xi32, #c>) -> tile<1024xptr<i16>, #c>
      %array = make_memref %slot : (tile<ptr<i16>>) -> memref<2048xi16, strides=[1]>
      %odd = andi %i, %step : tile<i32>
      %block = block_tile %array, indices(%odd) {traversal = [1024], dim_map = [0]} : (memref<2048xi16, strides=[1]>, tile<i32>) -> block<1024xi16>
      %half = block_tile %array, indices(%odd) {traversal = [16], dim_map = [0]} : (memref<2048xi16, strides=[1]>, tile<i32>) -> block<1024xi16>
      %done = STORE
      %value, %read = LOAD
      continue
    }
    return
  }
}
`

// TestWhoSharesSlots holds the barriers between iterations against those without which check-sync says that threads meet.
func TestWhoSharesSlots(t *testing.T) {
	for _, s := range slots {
		t.Run(s.name, func(t *testing.T) {
			access := strings.NewReplacer("STORE", slotTypes.Replace(s.written)+" -> token", "LOAD", slotTypes.Replace(s.read)+", token)")
			res, err := driver.RunPasses(context.Background(), "kernel.tileir", []byte(access.Replace(slotText)), settings("sm_80", options.Code{}), []string{"insert-barriers"})
			if err != nil {
				t.Fatal(err)
			}
			if n := barriersBetween(t, string(res.Output)); n != s.want || n != strings.Count(string(res.Output), "barrier\n") {
				t.Errorf("check-sync asks for %d barriers between iterations, expected %d, of\n%s", n, s.want, res.Output)
			}
		})
	}
}
