package main

import (
	"context"
	"math"
	"runtime"
	"strings"
	"testing"

	"tileiras/internal/driver"
)

// maxSlope is the limit for the slope of a count between two sizes: 1 is linear, 2 quadratic. Growing maps and slices make it
// jump a little.
const maxSlope = 1.3

// nonUniform are families that are compiled in another way from some size on, so that two sizes say nothing about a slope; make
// slopes shows them.
var nonUniform = map[string]string{
	"chain of products": "plan-kernel takes the accumulators of a chain for alive together, and cuts the products of a long one",
}

// knownSlopes are the families with a steeper limit, with the reason.
var knownSlopes = map[string]float64{
	"loops in loops":                     2, // assign-layouts asks in each loop anew for the layout of a tile that all of them carry; there are 256 at most
	"costly values that one store wants": 2, // assign-layouts asks for each of them anew what the store wants, which all of them lead to
}

// knownLookSlopes are the same of looks alone: whoever asks what is in a body walks it, so what lies in many is walked for each of them; bodies nest
// 256 deep at most.
var knownLookSlopes = map[string]float64{
	"loops in loops":               2.3, // liveness of registers goes around each loop as well
	"loops in loops with accesses": 1.7,
	"ifs in ifs":                   1.4,
}

// TestCompilingIsLinear counts what a compile allocates, and how often it looks whether it must end, which are deterministic, for a size of each
// family and for four times that size. Searches that allocate nothing show in the looks, if each of their steps is one of the budget.
func TestCompilingIsLinear(t *testing.T) {
	for _, f := range families {
		t.Run(f.name, func(t *testing.T) {
			if why := nonUniform[f.name]; why != "" {
				t.Skip(why)
			}
			small := 100
			if strings.Contains(f.name, " in ") {
				small = 50 // nesting has a limit
			}
			const times = 4
			less, more := measured(t, f, small), measured(t, f, times*small)
			for i, what := range counts {
				if slope := math.Log(float64(more[i])/float64(less[i])) / math.Log(times); slope > limit(f.name, what) {
					t.Errorf("size %d: %d %s, size %d: %d, slope %.2f", small, less[i], what, times*small, more[i], slope)
				}
			}
		})
	}
}

// limit is the limit for the slope of a count of a family.
func limit(family, count string) float64 {
	known := max(maxSlope, knownSlopes[family])
	if count == looks {
		known = max(known, knownLookSlopes[family])
	}
	return known
}

const looks = "looks"

// counts are what measured counts.
var counts = [...]string{"objects allocated", "bytes allocated", looks}

// lookCounter is a context that counts how often a compile looks whether it must end.
type lookCounter struct {
	context.Context
	looks uint64
}

func (c *lookCounter) Err() error {
	c.looks++
	return nil
}

// options compile a family's texts.
func (f family) options() driver.Options {
	return driver.Options{GPU: "sm_80", Code: driver.Code{Opt: 3, Roles: f.roles()}, Emit: driver.EmitPTX}
}

// measured compiles a family's text of a size.
func measured(t *testing.T, f family, size int) [len(counts)]uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c := &lookCounter{Context: t.Context()}
	how := f.options()
	how.ReproducerDir = t.TempDir()
	if _, err := driver.Compile(c, "k", []byte(f.text(size)), how); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	return [...]uint64{after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc, c.looks}
}
