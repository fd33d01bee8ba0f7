package emu

import (
	"math/bits"
	"slices"
	"strings"
)

// A loop is endless when all that its branches depend on is again what it was. For some of its instructions a warp that has run for long is
// watched: for every register it is kept on which registers, as they were when the watch began, its value depends, and whether on anything
// else, such as memory, time or other lanes.
//
//	L: add.f32 %f1, %f1, %f0;      watched from here: %r1 = 0, %r2 = 0, %r3 = 4
//	   add.s32 %r1, %r1, %r2;      %r1 depends on %r1 and %r2
//	   setp.lt.s32 %p1, %r1, %r3;  %p1 depends on %r1, %r2 and %r3
//	   @%p1 bra L;                 the branches of the round depend on them, and they are what they were: no round differs
//
// What a round depends on must not depend on anything else at its end. Then the next round takes the same branches and ends the same way.
// That %f1 changes does not matter, nor what the loop stores.

// Watches begin when a warp has run watchAfter instructions, then each time it has run twice as many. They last for a part of those.
const (
	watchAfter = 1 << 18
	watchPart  = 256
)

// slotSet is a set of slots: registers, then predicates, then one element for everything else.
type slotSet []uint64

func (s slotSet) add(i int) { s[i/64] |= 1 << (i % 64) }
func (s slotSet) union(t slotSet) {
	for i, x := range t {
		s[i] |= x
	}
}

// watch is what is known of a warp since a place at which all of its lanes were together.
type watch struct {
	left     int // instructions
	began    bool
	pc       int32
	live     uint32
	regs     []vec
	preds    []uint32
	deps     []slotSet // of each slot
	branches slotSet   // what the branches since then depend on
	rounds   int       // times at the place since then
	restart  int       // rounds after which it is watched anew: the first ones may differ
	loop     int32     // the branch back that goes farthest
	scratch  slotSet
}

// runWatched is run, and begins and continues watches.
func (w *warp) runWatched(n int) (done int) {
	if w.watch == nil {
		if w.executed < w.nextWatch || w.prog.frames > 0 || w.prog.regs == 0 {
			done = w.run(n)
			w.executed += int64(done)
			return done
		}
		w.watch = &watch{left: int(w.executed / watchPart), restart: 1}
		w.nextWatch = 2 * w.executed
	}
	for done < n && w.ready != 0 && w.watch.left > 0 {
		w.watchPlace()
		k := w.run(1)
		if k > 0 {
			w.watchStep()
		}
		done += k
		w.watch.left--
		if w.yield {
			break
		}
	}
	w.executed += int64(done)
	if w.watch.left <= 0 {
		w.watch = nil
	}
	return done
}

// together tells whether all lanes are ready at one place.
func (w *warp) together() (pc int32, ok bool) {
	if w.ready != w.live {
		return 0, false
	}
	pc = w.pc[firstLane(w.live)]
	for i, p := range w.pc {
		if w.live>>i&1 != 0 && p != pc {
			return 0, false
		}
	}
	return pc, true
}

// watchPlace begins a watch where all lanes are together, and compares with its beginning where they are there again.
func (w *warp) watchPlace() {
	x := w.watch
	if x.began && w.pc[firstLane(w.live)] != x.pc {
		return
	}
	pc, ok := w.together()
	switch {
	case !ok:
		return
	case x.began:
		if x.live == w.live && w.repeats() {
			w.curPC = x.loop
			w.fail(Endless, w.live, 0, "nothing that the branches of this loop depend on changes any more")
		}
		if x.rounds++; x.rounds < x.restart {
			return
		}
		x.restart *= 2
	}
	w.beginWatch(pc)
}

func (w *warp) beginWatch(pc int32) {
	x := w.watch
	slots := w.prog.regs + w.prog.preds
	words := slots/64 + 1
	all := make(slotSet, (slots+2)*words)
	x.deps = x.deps[:0]
	for i := range slots {
		x.deps = append(x.deps, all[i*words:][:words])
		x.deps[i].add(i)
	}
	x.branches, x.scratch = all[slots*words:][:words], all[(slots+1)*words:][:words]
	x.began, x.pc, x.live, x.rounds, x.loop = true, pc, w.live, 0, pc
	x.regs, x.preds = slices.Clone(w.regs), slices.Clone(w.preds)
}

// watchStep notes what the instruction that has been executed did.
func (w *warp) watchStep() {
	x := w.watch
	if !x.began {
		return
	}
	in := &w.prog.code[w.curPC]
	everythingElse := len(x.deps)
	from := w.dependences(in)
	switch {
	case in.kind == kBranch:
		x.branches.union(from)
		if back := &w.prog.code[x.loop]; in.flow == nil && in.target <= w.curPC && (back.kind != kBranch || in.target < back.target) {
			x.loop = w.curPC
		}
		return
	case strings.HasPrefix(w.prog.ops[in.op], "trap"): // leaves the loop, too
		x.branches.union(from)
		return
	case !in.pure:
		from.add(everythingElse)
	}
	whole := in.guard < 0 && w.group == w.live
	set := func(slot int) {
		if !whole {
			x.deps[slot].union(from)
		} else {
			copy(x.deps[slot], from)
		}
	}
	for _, o := range in.dst {
		if o >= 0 {
			set(int(o))
		}
	}
	for _, p := range in.pdst {
		if p >= 0 {
			set(w.prog.regs + int(p))
		}
	}
	if in.firstPinned > 0 { // written when it ends
		for _, o := range in.src[in.firstPinned-1:] {
			if o >= 0 {
				x.deps[o].add(everythingElse)
			}
		}
	}
}

// dependences is what the sources and the guard of an instruction depend on.
func (w *warp) dependences(in *inst) slotSet {
	x := w.watch
	from := x.scratch
	clear(from)
	if in.guard >= 0 {
		from.union(x.deps[w.prog.regs+int(in.guard)])
	}
	for _, o := range in.src {
		if o >= 0 {
			from.union(x.deps[o])
		}
	}
	for _, p := range in.psrc {
		if p.slot >= 0 {
			from.union(x.deps[w.prog.regs+int(p.slot)])
		}
	}
	return from
}

// repeats tells whether what branches depend on, and what that depends on, is what it was when the watch began.
func (w *warp) repeats() bool {
	x := w.watch
	need := slices.Clone(x.branches)
	seen := make(slotSet, len(need))
	for again := true; again; {
		again = false
		for k := range need {
			for fresh := need[k] &^ seen[k]; fresh != 0; fresh &= fresh - 1 {
				i := 64*k + bits.TrailingZeros64(fresh)
				if i == len(x.deps) || !w.unchanged(i) {
					return false
				}
				seen.add(i)
				need.union(x.deps[i])
				again = true
			}
		}
	}
	return true
}

// unchanged tells whether a slot holds in all live lanes what it held when the watch began.
func (w *warp) unchanged(slot int) bool {
	x := w.watch
	if p := slot - w.prog.regs; p >= 0 {
		return (w.preds[p]^x.preds[p])&w.live == 0
	}
	for i, v := range w.regs[slot] {
		if w.live>>i&1 != 0 && v != x.regs[slot][i] {
			return false
		}
	}
	return true
}
