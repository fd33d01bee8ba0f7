package kernel_test

import (
	"fmt"
	"slices"
	"testing"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/passtest"
)

// TestAccumulatorsAliveTogether counts accumulators of 4x4 f32, 512 bits each: those that are alive at the same time.
func TestAccumulatorsAliveTogether(t *testing.T) {
	const (
		operands = "%a = constant <f16: 1.0> : tile<4x4xf16>\n%z = constant <f32: 0.0> : tile<4x4xf32>\n" +
			"%lo = constant <i32: 0> : tile<i32>\n%one = constant <i32: 1> : tile<i32>\n"
		types = " : (tile<4x4xf16>, tile<4x4xf16>, tile<4x4xf32>) -> tile<4x4xf32>\n"
		acc   = "tile<4x4xf32>"
		add   = " : tile<4x4xf32>\n"
	)
	loop := func(result, init, arg, body, next string) string {
		return fmt.Sprintf("%%%s = for %%lo, %%x, %%one, inits(%%%s) : (tile<i32>, tile<i32>, tile<i32>, %s) -> %s (%%i%s: tile<i32>, %%%s: %s) {\n%scontinue %%%s : (%s)\n}\n",
			result, init, acc, acc, result, arg, acc, body, next, acc)
	}
	dot := func(result, acc string) string { return fmt.Sprintf("%%%s = dot %%a, %%a, %%%s%s", result, acc, types) }
	for _, c := range []struct {
		says, body string
		want       int // accumulators
		carried    int // by loops
		looped     int // alive together in loops; 0: as many
	}{
		{"a chain is one accumulator", dot("c1", "z") + dot("d", "c1") + dot("e", "d") + "use %e : tile<4x4xf32>", 1, 0, 0},
		{"results that are used at the end live together", dot("c1", "z") + dot("d", "z") + dot("e", "z") +
			"use %c1 : tile<4x4xf32>\nuse %d : tile<4x4xf32>\nuse %e : tile<4x4xf32>", 3, 0, 0},
		{"results that are used one by one do not", dot("c1", "z") + "use %c1 : tile<4x4xf32>\n" + dot("d", "z") + "use %d : tile<4x4xf32>", 1, 0, 0},
		{"what is computed of a result is in its place", dot("c1", "z") + "%n = addf %c1, %c1" + add + dot("d", "z") + "use %n : tile<4x4xf32>\nuse %d : tile<4x4xf32>", 2, 0, 0},
		{"a result that is used later is not", dot("c1", "z") + dot("d", "c1") + "use %c1 : tile<4x4xf32>\nuse %d : tile<4x4xf32>", 2, 0, 0},
		{"a loop carries one accumulator", loop("r", "z", "c1", dot("d", "c1"), "d") + "use %r : tile<4x4xf32>", 1, 1, 0},
		{"two loops one after the other work on one", loop("r", "z", "c1", dot("d", "c1"), "d") + loop("s", "r", "e", dot("g", "e"), "g") + "use %s : tile<4x4xf32>", 1, 1, 0},
		{"what one loop leaves lives through the next", loop("r", "z", "c1", dot("d", "c1"), "d") + loop("s", "z", "e", dot("g", "e"), "g") +
			"use %r : tile<4x4xf32>\nuse %s : tile<4x4xf32>", 2, 1, 0},
		{"a product inside beside what is carried, as in attention", loop("r", "z", "c1",
			dot("q", "z")+"%e = exp %q : tile<4x4xf32>\n%n = addf %c1, %e"+add+dot("d", "n"), "d") + "use %r : tile<4x4xf32>", 2, 1, 0},
		{"a result from before a loop that is used inside lives as long as the loop", dot("q", "z") + loop("r", "z", "c1", "%n = addf %c1, %q"+add+dot("d", "n"), "d") +
			"use %r : tile<4x4xf32>", 2, 1, 0},
		{"of a loop in another both carry", loop("r", "z", "c1", loop("s", "c1", "e", dot("d", "e"), "d"), "s") + "use %r : tile<4x4xf32>", 1, 2, 0},
		{"what only a reduction takes is made as it goes", dot("c1", "z") + "%n = mulf %c1, %z" + add +
			"%r = reduce %n attributes {dim = 1, identities = [0.0 : f32]} : (tile<4x4xf32>) -> tile<4xf32> (%p1: tile<f32>, %p2: tile<f32>) {\n" +
			"%most = maxf %p1, %p2 : tile<f32>\nyield %most : (tile<f32>)\n}\n" + "use %c1 : tile<4x4xf32>", 1, 0, 0},
		{"of what shares registers the widest counts while it is alive", dot("c1", "z") + "%half = ftof %c1 : (tile<4x4xf32>) -> tile<4x4xf16>\n" +
			dot("d", "z") + "%g = ftof %d : (tile<4x4xf32>) -> tile<4x4xf16>\n" + dot("e", "z") +
			"use %e : tile<4x4xf32>\nuse %half : tile<4x4xf16>\nuse %g : tile<4x4xf16>", 2, 0, 0},
		{"what two products of a loop leave meets behind it", loop("r", "z", "c1", dot("d", "c1"), "d") + loop("s", "z", "e", dot("g", "e"), "g") +
			"%n = negf %r : tile<4x4xf32>\n%v = divf %r, %n : tile<4x4xf32>\n%w = mulf %v, %s : tile<4x4xf32>\nuse %w : tile<4x4xf32>", 3, 1, 2},
		{"no product, no accumulator", "use %mf : tile<4x8xf32>", 0, 0, 0},
	} {
		s := passtest.Parse(t, passtest.TileAAKernel(operands+c.body))
		d := kernel.DemandsOf(s, s.Entries()[0])
		if d.AccumulatorBits != 512*c.want {
			t.Errorf("%s: %d accumulators, want %d", c.says, d.AccumulatorBits/512, c.want)
		}
		if c.looped > 0 && d.LoopedBits != 512*c.looped {
			t.Errorf("%s: %d in loops, want %d", c.says, d.LoopedBits/512, c.looped)
		}
		if d.CarriedBits != 512*c.carried {
			t.Errorf("%s: loops carry %d, want %d", c.says, d.CarriedBits/512, c.carried)
		}
	}
}

// TestAccumulatorsAliveInLoops counts those of two loops of an attention, 128 registers of a warp for scores and 64 for sums, one after the other and beside what
// is stored at the end.
func TestAccumulatorsAliveInLoops(t *testing.T) {
	const text = `%a = constant <f16: 1.0> : tile<32x16xf16>
%b = constant <f16: 1.0> : tile<16x128xf16>
%vv = constant <f16: 1.0> : tile<128x64xf16>
%z = constant <f32: 0.0> : tile<32x128xf32>
%o = constant <f32: 0.0> : tile<32x64xf32>
%lo = constant <i32: 0> : tile<i32>
%one = constant <i32: 1> : tile<i32>
%kept = dot %a, %b, %z : (tile<32x16xf16>, tile<16x128xf16>, tile<32x128xf32>) -> tile<32x128xf32>
%r = for %lo, %x, %one, inits(%o) : (tile<i32>, tile<i32>, tile<i32>, tile<32x64xf32>) -> tile<32x64xf32> (%i: tile<i32>, %acc: tile<32x64xf32>) {
  %s = dot %a, %b, %z : (tile<32x16xf16>, tile<16x128xf16>, tile<32x128xf32>) -> tile<32x128xf32>
  %w = ftof %s : (tile<32x128xf32>) -> tile<32x128xf16>
  %d = dot %w, %vv, %acc : (tile<32x128xf16>, tile<128x64xf16>, tile<32x64xf32>) -> tile<32x64xf32>
  continue %d : (tile<32x64xf32>)
}
use %kept : tile<32x128xf32>
%q = for %lo, %x, %one, inits(%r) : (tile<i32>, tile<i32>, tile<i32>, tile<32x64xf32>) -> tile<32x64xf32> (%i: tile<i32>, %acc: tile<32x64xf32>) {
  %s = dot %a, %b, %z : (tile<32x16xf16>, tile<16x128xf16>, tile<32x128xf32>) -> tile<32x128xf32>
  %w = ftof %s : (tile<32x128xf32>) -> tile<32x128xf16>
  %d = dot %w, %vv, %acc : (tile<32x128xf16>, tile<128x64xf16>, tile<32x64xf32>) -> tile<32x64xf32>
  continue %d : (tile<32x64xf32>)
}
use %q : tile<32x64xf32>`
	s := passtest.Parse(t, passtest.TileAAKernel(text))
	entry := s.Entries()[0]
	var loops, products []*ir.Op
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		switch op.Code() {
		case tileaa.OpFor:
			loops = append(loops, op)
		case tileaa.OpDot:
			products = append(products, op)
		}
	})
	a := kernel.PressureIn(s, entry)
	is := func(says string, most, first, second int) {
		t.Helper()
		if m, x, y := a.Max(1), a.During(loops[0], 1), a.During(loops[1], 1); m != most || x != first || y != second {
			t.Errorf("%s: %d registers at most, %d and %d in the loops, want %d, %d and %d", says, m, x, y, most, first, second)
		}
	}
	is("as it is", 320, 320, 192)
	a.Add(loops[1], products[3].Result(0))
	is("the second loop holds scores of two iterations", 320, 320, 320)
	a.Add(loops[0], products[1].Result(0))
	is("so does the first", 448, 448, 320)
}

// Registers have 32 bits, and a warp 32 threads.
func TestRegistersOfAThread(t *testing.T) {
	d := kernel.Demands{AccumulatorBits: 128 * 256 * 32} // 128x256 f32
	for warps, want := range map[int]int{1: 1024, 4: 256, 8: 128, 16: 64} {
		if got := d.Accumulators(warps); got != want {
			t.Errorf("%d warps: %d accumulators of a thread, want %d", warps, got, want)
		}
	}
	s := passtest.Parse(t, `#L = #tileaa.layout<{reg=[[1],[2]], lane=[[4],[8],[16],[32],[64]]} : 128>
		tileaa.module @m { entry @k(%p: tile<ptr<f32>>) {
			%x = constant <f16: 1.0> : tile<128xf16, #L>
			%y = constant <f32: 1.0> : tile<128xf32, #L>
			%z = constant <f64: 1.0> : tile<128xf64, #L>
			%f = constant <f64: 1.0> : tile<f64>
			return
		} }`)
	var got []int
	for _, op := range s.Entries()[0].Body().Ops() {
		for _, v := range op.Results() {
			got = append(got, kernel.RegistersOf(v))
		}
	}
	if want := []int{2, 4, 8, 0}; !slices.Equal(got, want) {
		t.Errorf("registers of f16, f32, f64 and a scalar: %v, want %v", got, want)
	}
}
