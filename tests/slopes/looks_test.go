package main

import (
	"context"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"tileiras/codegen/nvvm"
	"tileiras/codegen/ptx"
	"tileiras/dialects/tileaa"
	"tileiras/internal/driver"
	"tileiras/ir"
	"tileiras/passes"
)

// A compile that is asked to end does so at its next look at the context. These tests count what lies between looks; they measure no time.

// checkCounter is a context that counts how often each pass, or half of the back end, checks it.
type checkCounter struct {
	context.Context
	checks map[string]int
}

func (c *checkCounter) Err() error {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	inner := ""
	for {
		f, more := frames.Next()
		switch {
		case strings.HasSuffix(f.Function, "passes/pass.(*Manager).step"):
			c.checks[inner]++
			return nil
		case f.Function == nameOf(nvvm.Lower), f.Function == nameOf(ptx.EmitModule):
			c.checks[f.Function]++
			return nil
		case !more:
			return nil
		}
		if !strings.Contains(f.Function, ".func") {
			inner = f.Function
		}
	}
}

func nameOf(function any) string {
	return runtime.FuncForPC(reflect.ValueOf(function).Pointer()).Name()
}

// TestEveryPassLooksAtItsContext: a pass looks at least once for every two intervals of operations that it is given.
func TestEveryPassLooksAtItsContext(t *testing.T) {
	const size, interval = 2000, 64
	idle := map[string]string{"truncate-factors": "only acts where truncation is", "make-tensor-maps": "only acts where maps are", "slice-tiles": "only cuts what the plan says"}
	best := map[string]int{}
	for _, name := range []string{"pairs of load and store", "products", "reductions", "reconverging values behind a copy"} {
		for _, f := range families {
			if f.name != name {
				continue
			}
			n := size
			if name == "products" {
				n /= 10
			}
			ops := 0
			text := f.text(n)
			c := &checkCounter{context.Background(), map[string]int{}}
			tiles := f.options()
			tiles.Emit = driver.EmitTileAA
			res, err := driver.Compile(c, "k", []byte(text), tiles)
			if err != nil {
				t.Fatal(err)
			}
			in, err := driver.Read(driver.NewContext(), "k", res.Output)
			if err != nil {
				t.Fatal(err)
			}
			ir.Walk(in.Module, ir.PreOrder, func(op *ir.Op) {
				if op.Def.Dialect == tileaa.Dialect.Name {
					ops++
				}
			})
			if _, err := driver.Compile(c, "k", []byte(text), f.options()); err != nil {
				t.Fatal(err)
			}
			for who, looks := range c.checks { // fills a map: the order cannot matter
				best[who] = max(best[who], 1000*looks/(ops/interval))
			}
			t.Logf("%s: %d operations", name, ops)
		}
	}
	check := func(name, function string) {
		if idle[name] == "" && best[function] < 500 {
			t.Errorf("%s (%s): %d looks for 1000 times %d operations", name, function, best[function], interval)
		}
	}
	for _, p := range passes.Pipeline() {
		check(p.Name, nameOf(p.Run))
	}
	check("lower-to-llvm", nameOf(nvvm.Lower))
	check("emit-ptx", nameOf(ptx.EmitModule))
}

// allocMeter is a context that records the most that is allocated between two checks.
type allocMeter struct {
	context.Context
	last, most uint64
}

func (c *allocMeter) Err() error {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if n := m.Mallocs - c.last; c.last > 0 && n > c.most {
		c.most = n
	}
	runtime.ReadMemStats(&m)
	c.last = m.Mallocs
	return nil
}

// TestLittleIsAllocatedBetweenLooks: what works allocates, and how much of it lies between two looks does not grow with the kernel.
func TestLittleIsAllocatedBetweenLooks(t *testing.T) {
	const mostObjects = 15_000
	for _, f := range families {
		small, times := 100, 4
		if strings.Contains(f.name, " in ") {
			small = 50 // nesting has a limit
		}
		var most [2]uint64
		for i, size := range []int{small, times * small} {
			c := &allocMeter{Context: context.Background()}
			if _, err := driver.Compile(c, "k", []byte(f.text(size)), f.options()); err != nil {
				t.Fatalf("%s: %v", f.name, err)
			}
			most[i] = c.most
		}
		t.Logf("%-40s %6d %6d", f.name, most[0], most[1])
		if most[1] > max(mostObjects/5, 2*most[0]) || most[1] > mostObjects {
			t.Errorf("%s: up to %d objects between two looks, of a kernel %d times as big %d", f.name, most[0], times, most[1])
		}
	}
}
