package emu

import (
	"fmt"
	"slices"
)

// Reads whose value goes nowhere. Other compilers give every warp of a block a copy of a tile that is smaller than the block: all warps load it, one
// stores. If the store is to the place of the load, reads of the other warps race with it, by the letter:
//
//	ld.global.b32 %r1, [%rd1];         read by warps 0 to 3
//	add.f32 %r2, %r1, 0f3F800000;
//	@%p1 st.global.b32 [%rd1], %r2;    done by warp 0
//
// In foreign PTX such a race is a note as long as no lane that made the read executes what the value leads to by instructions that only compute: a
// store, a branch, an address, an exchange between lanes. When one does, or has done so before, the race is reported.

// useSet is where the value that a load gives is used for more than computing.
type useSet struct {
	reached slotSet // by place: where a guard depends on it
	run     slotSet // where an operand does
}

func (s slotSet) has(i int) bool { return s[i/64]>>(i%64)&1 != 0 }

// by tells whether a lane uses the value that reaches the instruction at pc in the lanes of reached, and executes it in those of run.
func (u *useSet) by(pc int, lanes, reached, run uint32) bool {
	return u.run.has(pc) && lanes&run != 0 || u.reached.has(pc) && lanes&reached != 0
}

// racedRead is a race of reads by lanes of a warp that have not used what they read.
type racedRead struct {
	by    *warp
	uses  *useSet
	lanes uint32
	rep   *Report
}

// usesOf is the useSet of the load at a place.
func (l *launch) usesOf(at int32) *useSet {
	u := l.uses[at]
	if u == nil {
		u = l.entry.prog.usesOf(at)
		if l.uses == nil {
			l.uses = map[int32]*useSet{}
		}
		l.uses[at] = u
	}
	return u
}

// usesOf follows the value of a load through registers and predicates.
func (p *program) usesOf(at int32) *useSet {
	blocks := splitBlocks(p)
	words := (p.regs+p.preds)/64 + 1
	places := len(p.code)/64 + 1
	u := &useSet{make(slotSet, places), make(slotSet, places)}
	entered := make([]slotSet, len(blocks))
	var work []int
	leave := func(b int, holds slotSet) {
		for _, n := range blocks[b].next {
			if entered[n] == nil {
				entered[n] = make(slotSet, words)
			}
			if entered[n].grow(holds) {
				work = append(work, n)
			}
		}
	}
	for b, bl := range blocks {
		if int(at) >= bl.from && int(at) < bl.to {
			holds := make(slotSet, words)
			p.define(holds, &p.code[at], true)
			p.follow(int(at)+1, bl.to, holds, u)
			leave(b, holds)
		}
	}
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		holds := append(slotSet(nil), entered[b]...)
		p.follow(blocks[b].from, blocks[b].to, holds, u)
		leave(b, holds)
	}
	return u
}

// grow adds a set and tells whether that added something.
func (s slotSet) grow(t slotSet) (grown bool) {
	for i, x := range t {
		grown = grown || x&^s[i] != 0
		s[i] |= x
	}
	return grown
}

// follow passes the instructions [from, to) with the slots that hold what depends on the value, and notes its uses.
func (p *program) follow(from, to int, holds slotSet, u *useSet) {
	for at := from; at < to; at++ {
		in := &p.code[at]
		depends := false
		for _, o := range in.src {
			depends = depends || o >= 0 && holds.has(int(o))
		}
		for _, q := range in.psrc {
			depends = depends || q.slot >= 0 && holds.has(p.regs+int(q.slot))
		}
		if in.guard >= 0 && holds.has(p.regs+int(in.guard)) {
			u.reached.add(at)
		}
		if depends && !in.pure {
			u.run.add(at)
		}
		p.define(holds, in, depends && in.pure)
	}
}

// define adds the destinations of an instruction to the slots that depend on a value, or takes away what it overwrites.
func (p *program) define(holds slotSet, in *inst, depends bool) {
	set := func(slot int) {
		switch {
		case depends:
			holds.add(slot)
		case in.guard < 0 && !in.asyncDst:
			holds[slot/64] &^= 1 << (slot % 64)
		}
	}
	for _, o := range in.dst {
		if o >= 0 {
			set(int(o))
		}
	}
	for _, q := range in.pdst {
		if q >= 0 {
			set(p.regs + int(q))
		}
	}
}

// discarded gives the read of a race with an earlier access, or nil if what it read has been used, if it is more than a read, or if it
// stands for other reads, too.
func (w *warp) discarded(now, then Access, lane int, old *accessRecord) *racedRead {
	l := w.launch
	if kind, _ := l.kindOf(old.stamp); kind != agentThread || !l.opt.Foreign || l.ctaIndex(old.stamp) != w.cta.index {
		return nil
	}
	x, at := &racedRead{by: w, lanes: 1 << lane}, w.curPC
	if now != Read {
		x.by, x.lanes, at = w.cta.warps[old.stamp.warp()-w.cta.firstID], old.lanes, old.place.pc()
	}
	if now != Read && (then != Read || old.place&placeOthers != 0) || !w.prog.code[at].fetches {
		return nil
	}
	x.uses = l.usesOf(at)
	for pc, seen := range x.by.seen {
		if x.uses.by(pc, x.lanes, uint32(seen>>32), uint32(seen)) {
			return nil
		}
	}
	return x
}

// awaited tells whether the warp awaits a use of the read already.
func (x *racedRead) awaited() bool {
	return x != nil && slices.ContainsFunc(x.by.raced, func(old racedRead) bool { return old.uses == x.uses && x.lanes&^old.lanes == 0 })
}

// await keeps the report until the warp uses what it read, and notes it.
func (x *racedRead) await(rep *Report) {
	x.rep = rep
	x.by.raced = append(x.by.raced, *x)
	if l := x.by.launch; !l.countRepeat(int32(rep.Line), rep.Kind) {
		n := *rep
		n.Msg += "; nothing uses what was read"
		l.note(&n)
	}
}

// see notes which lanes reach the instruction at pc and which execute it, and reports a race of what they read before if that is used here.
func (w *warp) see(pc int32, reached, run uint32) {
	w.seen[pc] |= uint64(reached)<<32 | uint64(run)
	for i := range w.raced {
		if x := &w.raced[i]; x.uses.by(int(pc), x.lanes, reached, run) {
			in := &w.prog.code[pc]
			x.rep.Places = append(x.rep.Places, fmt.Sprintf("what was read is used at line %d: %s", in.line, oneLine(in.text)))
			panic(fault{x.rep})
		}
	}
}
