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

// slot is a slot of a ring: so many ahead of a position, or of slot 0 when there is none. The zero slot stands for buffers and for slots
// of which nothing is known.
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

// positionOf takes a position apart: a value that is not computed from another position, or nil for slot 0, and how far ahead of it.
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

// apart reports whether two spans are different slots of one ring.
func apart(a, b span) bool {
	return a.slot.known && b.slot.known && a.buffer == b.buffer && a.slot.position == b.slot.position && a.slot.ahead != b.slot.ahead
}

// A passage is how positions are passed on where control flow meets: each value from becomes to.
type passage struct{ from, to []*ir.Value }

// entering, continuing and leaving are the ways into a loop, from the end of its body to its beginning, and out of it.
func entering(l ir.Flow) passage { return passage{l.Inits(), l.Carried()} }

func continuing(l ir.Flow, term *ir.Op) passage { return passage{term.Operands(), l.Carried()} }

func leaving(op, term *ir.Op) passage { return passage{term.Operands(), op.Results()} }

// seen is a slot from the other side. gone says which positions have no meaning there: of a slot with such a position that is not
// passed on nothing is known.
func (w passage) seen(s slot, gone func(*ir.Value) bool) slot {
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

// span is a span from the other side: without detail if nothing is known of its slot there.
func (w passage) span(s span, gone func(*ir.Value) bool) span {
	at := w.seen(s.slot, gone)
	if s.slot.known && !at.known {
		return span{lo: s.lo, hi: s.hi, write: s.write}
	}
	s.slot = at
	return s
}

// through changes a state to what it is on the other side of a passage.
func (p *pending) through(w passage, gone func(*ir.Value) bool) {
	var shared []span
	for _, s := range p.shared {
		addSpan(&shared, w.span(s, gone))
	}
	var inFlight []flight
	for _, f := range p.inFlight {
		f.span = w.span(f.span, gone)
		addFlight(&inFlight, f)
	}
	p.shared, p.inFlight = shared, inFlight
}

// seenBefore are spans of the first round of a loop, from in front of it.
func seenBefore(list []span, loop ir.Flow) (out []span) {
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

// seenOutside are spans of any round of a loop, from outside of it.
func seenOutside(list []span, gone func(*ir.Value) bool) (out []span) {
	for _, s := range list {
		addSpan(&out, passage{}.span(s, gone))
	}
	return out
}
