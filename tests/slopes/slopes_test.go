package main

import (
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
	"loops in loops": 2, // assign-layouts asks in each loop anew for the layout of a tile that all of them carry; there are 256 at most
}

// TestCompilingIsLinear counts what a compile allocates, which is deterministic, for a size of each family and for four times
// that size.
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
			objects, bytes := allocated(t, f.text(small))
			moreObjects, moreBytes := allocated(t, f.text(times*small))
			for _, s := range []struct {
				what       string
				less, more uint64
			}{{"objects", objects, moreObjects}, {"bytes", bytes, moreBytes}} {
				if slope := math.Log(float64(s.more)/float64(s.less)) / math.Log(times); slope > max(maxSlope, knownSlopes[f.name]) {
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
