package sync

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// This file knows which slots of a ring are different ones. A slot is named by a position and how far ahead of it it lies. Where a loop
// carries a position, what happened in one round is seen in the next one from the position of that round:
//
//	for .. inits(%p0) (%p) {
//	  buffer_load (ring_slot %r, %p, ahead 0)      0 ahead now          -1 ahead in the next round
//	  async_copy  (ring_slot %r, %p, ahead 2)      2 ahead now           1 ahead
//	  continue (ring_next %p)
//	}
//
// so the copy of this round, in a ring of three slots, meets what was read in the round before, and no round reads what it copies.

// slot is a slot of a ring: ahead slots after a position, or after slot 0 if position is nil. The zero slot stands for buffers, and for
// slots of which nothing is known.
type slot struct {
	known    bool
	position *ir.Value
	ahead    int64
	slots    int64 // of the ring
}

// slotOf names the slot that an op finds.
func slotOf(s tileaa.RingSlot) slot {
	p, ahead := positionOf(s.Position())
	return slot{true, p, ahead + s.Ahead(), s.Ring().Type().(*tileaa.RingType).Slots}.normal()
}

// positionOf splits a position into a base, nil for slot 0, and a constant distance from it.
func positionOf(v *ir.Value) (position *ir.Value, ahead int64) {
	for {
		if n, ok := ir.DefinedBy[tileaa.RingNext](v); ok {
			v, ahead = n.Position(), ahead+1
			continue
		}
		if c, ok := tileaa.SplatInt(v); ok {
			return nil, ahead + c
		}
		return v, ahead
	}
}

func (s slot) normal() slot {
	if s.known {
		s.ahead = (s.ahead%s.slots + s.slots) % s.slots
	}
	return s
}

// distinctSlots reports whether two spans are different slots of one ring.
func distinctSlots(a, b span) bool {
	return a.slot.known && b.slot.known && a.buffer == b.buffer && a.slot.position == b.slot.position && a.slot.ahead != b.slot.ahead
}

// An edge of control flow passes positions on: each incoming value from becomes to.
type edge struct{ from, to []*ir.Value }

// entering, continuing and leaving are the edges into a loop, its back edge, and the edge out of it.
func entering(l ir.Flow) edge { return edge{l.Inits(), l.Carried()} }

func continuing(l ir.Flow, term *ir.Op) edge { return edge{term.Operands(), l.Carried()} }

func leaving(op, term *ir.Op) edge { return edge{term.Operands(), op.Results()} }

// slotAcross renames the position of a slot across the edge. gone says which positions have no meaning on the other side: of a slot at one
// that is not passed on, nothing is known there.
func (w edge) slotAcross(s slot, gone func(*ir.Value) bool) slot {
	if !s.known {
		return s
	}
	for i, v := range w.from {
		t := tileaa.AsTile(v)
		if t == nil || len(t.Shape) > 0 || !ir.IsInt(t.Elem) || !isPosition(w.to[i]) {
			continue
		}
		if p, ahead := positionOf(v); p == s.position {
			return slot{true, w.to[i], s.ahead - ahead, s.slots}.normal()
		}
	}
	if s.position != nil && gone(s.position) {
		return slot{}
	}
	return s
}

// isPosition reports whether a value names slots.
func isPosition(v *ir.Value) bool {
	return slices.ContainsFunc(v.Uses(), func(u *ir.Use) bool {
		return u.Owner().Code() == tileaa.OpRingSlot || u.Owner().Code() == tileaa.OpRingNext
	})
}

// spanAcross renames the slot of a span across the edge; the span loses detail if nothing is known of the slot there.
func (w edge) spanAcross(s span, gone func(*ir.Value) bool) span {
	at := w.slotAcross(s.slot, gone)
	if s.slot.known && !at.known {
		return span{lo: s.lo, hi: s.hi, write: s.write}
	}
	s.slot = at
	return s
}

// cross renames a state across an edge.
func (p *pending) cross(w edge, gone func(*ir.Value) bool) {
	var shared []span
	for _, s := range p.shared {
		addSpan(&shared, w.spanAcross(s, gone))
	}
	var inFlight []flight
	for _, f := range p.inFlight {
		f.span = w.spanAcross(f.span, gone)
		addFlight(&inFlight, f)
	}
	p.shared, p.inFlight = shared, inFlight
}

// spansBeforeLoop renames spans of a loop's first iteration for the program point in front of it.
func spansBeforeLoop(list []span, loop ir.Flow) (out []span) {
	carried, inits := loop.Carried(), loop.Inits()
	for _, s := range list {
		if i := slices.Index(carried, s.slot.position); s.slot.known && i >= 0 {
			p, ahead := positionOf(inits[i])
			s.slot = slot{true, p, s.slot.ahead + ahead, s.slot.slots}.normal()
		}
		addSpan(&out, s)
	}
	return out
}

// spansOutsideLoop renames spans of any iteration for the outside of the loop.
func spansOutsideLoop(list []span, gone func(*ir.Value) bool) (out []span) {
	for _, s := range list {
		addSpan(&out, edge{}.spanAcross(s, gone))
	}
	return out
}
