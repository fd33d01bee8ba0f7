package main

import (
	"math"
	"runtime"
	"strings"
	"testing"

	"tileiras/internal/driver"
)

// steepest is the most that the slope of a count may be between two sizes: 1 is linear, 2 quadratic. Maps and lists that double
// make it jump a little.
const steepest = 1.3

// steps are families that take another way down from some size on, so that two sizes say nothing about a slope; make slopes shows them.
var steps = map[string]string{
	"chain of products": "plan-kernel takes the accumulators of a chain for alive together, and cuts the products of a long one",
}

// steeper families, with the reason.
var steeper = map[string]float64{
	"loops in loops": 2, // assign-layouts asks in each loop anew for the layout of a tile that all of them carry; there are 256 at most
}

// TestCompilingIsLinear counts what a compile allocates, which is no time and the same on every machine, for a size of each family and
// for four times that size.
func TestCompilingIsLinear(t *testing.T) {
	for _, f := range families {
		t.Run(f.name, func(t *testing.T) {
			if why := steps[f.name]; why != "" {
				t.Skip(why)
			}
			small := 100
			if strings.Contains(f.name, " in ") {
				small = 50 // nesting has a limit
			}
			const times = 4
			objects, bytes := allocated(t, f.text(small))
			moreObjects, moreBytes := allocated(t, f.text(times*small))
			for _, s := range []struct {
				what       string
				less, more uint64
			}{{"objects", objects, moreObjects}, {"bytes", bytes, moreBytes}} {
				if slope := math.Log(float64(s.more)/float64(s.less)) / math.Log(times); slope > max(steepest, steeper[f.name]) {
					t.Errorf("size %d allocates %d %s, size %d %d: slope %.2f", small, s.less, s.what, times*small, s.more, slope)
				}
			}
		})
	}
}

// allocated is how many objects and bytes a compile allocates.
func allocated(t *testing.T, text string) (objects, bytes uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := driver.Compile(t.Context(), "k", []byte(text), driver.Options{GPU: "sm_80", Code: driver.Code{Opt: 3}, Emit: driver.EmitPTX, ReproducerDir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc
}
