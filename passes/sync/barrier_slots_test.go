package sync

import (
	"testing"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// slotLoop is a loop that carries a position of a ring of three slots, and begins at the slot behind that of %p.
const slotLoop = `tileaa.module @m {
  entry @k(%p: tile<i32>, %q: tile<i32>, %n: tile<i32>) {
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
    %first = ring_next %p {slots = 3} : tile<i32>
    %for = for %zero, %n, %one, inits(%first) : (tile<i32>, tile<i32>, tile<i32>, tile<i32>) -> tile<i32> (%i: tile<i32>, %at: tile<i32>) {
      %next = ring_next %at {slots = 3} : tile<i32>
      continue %next : (tile<i32>)
    }
    return
  }
}`

// Slots of the first iteration have the numbers that they have in front of the loop, whatever number %p is.
func TestSlotsOfTheFirstIterationBeforeTheLoop(t *testing.T) {
	c := ir.NewContext(tileaa.Dialect)
	m, err := ir.Parse(c, "loop.tileir", []byte(slotLoop))
	if err != nil {
		t.Fatal(c.Diags.String())
	}
	var loop ir.Flow
	var p *ir.Value
	ir.Walk(m, ir.PreOrder, func(op *ir.Op) {
		if l, ok := ir.LoopOf(op); ok {
			loop = l
		}
		if e, ok := ir.As[tileaa.Entry](op); ok {
			p = e.Body().Args()[0]
		}
	})
	at := loop.Carried()[0]
	for ahead := range int64(3) {
		s := span{lo: 0, hi: 8, slot: slot{known: true, position: at, ahead: ahead, slots: 3}}
		out := spansBeforeLoop([]span{s}, loop)
		if len(out) != 1 || !out[0].slot.known || out[0].slot.position != p {
			t.Fatalf("%+v becomes %+v, want a slot from the position before", s, out)
		}
		for number := range int64(3) { // of the slot that %p is
			first := (number + 1) % 3
			if got, want := (number+out[0].slot.ahead)%3, (first+ahead)%3; got != want {
				t.Errorf("where %%p is %d, the slot %d ahead is %d before the loop, want %d", number, ahead, got, want)
			}
		}
	}
}

// Slots are different ones if they are of one ring, and counted from one position to different distances.
func TestDistinctSlots(t *testing.T) {
	c := ir.NewContext(tileaa.Dialect)
	m, err := ir.Parse(c, "loop.tileir", []byte(slotLoop))
	if err != nil {
		t.Fatal(c.Diags.String())
	}
	var args []*ir.Value
	ir.Walk(m, ir.PreOrder, func(op *ir.Op) {
		if e, ok := ir.As[tileaa.Entry](op); ok {
			args = e.Body().Args()
		}
	})
	p, q := args[0], args[1]
	of := func(buffer, position *ir.Value, ahead int64) span {
		return span{hi: 8, buffer: buffer, slot: slot{known: true, position: position, ahead: ahead, slots: 3}}
	}
	for _, x := range []struct {
		a, b span
		want bool
	}{
		{of(p, p, 0), of(p, p, 1), true},
		{of(p, p, 1), of(p, p, 1), false},
		{of(p, p, 0), of(p, q, 1), false}, // %p may be one more than %q
		{of(p, p, 0), of(p, nil, 1), false},
		{of(p, p, 0), of(q, p, 1), false}, // another ring may have the same bytes
		{of(p, p, 0), span{hi: 8, buffer: p}, false},
	} {
		if got := distinctSlots(x.a, x.b); got != x.want {
			t.Errorf("%+v and %+v: distinct is %v, want %v", x.a.slot, x.b.slot, got, x.want)
		}
	}
}
