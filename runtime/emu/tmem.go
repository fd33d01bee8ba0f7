package emu

import (
	"fmt"
	"slices"
)

// Size of the tensor memory of a CTA (section 9.7.16.1): lanes times columns of 32 bits. An address holds the lane
// in its upper half and the column in its lower half.
const (
	tmemLanes   = 128
	tmemColumns = 512
	tmemUnit    = 32 // columns are allocated in powers of two of at least this many
	tmemGranule = 16 // lanes that share a shadow cell
)

// tmem is the tensor memory of a CTA, there from its first alloc on.
type tmem struct {
	data, undef  []uint32 // by lane*512 + column
	cells        []tmemCell
	allocs       []tmemAlloc
	freed        [tmemColumns / tmemUnit]int32 // 1 + pc of the last dealloc of each unit
	lastSize     int                           // columns of the last alloc: none may be larger
	relinquished bool
	group        int     // .cta_group of the kernel, 0: not known yet
	waiting      []*warp // warps blocked at an alloc
	wanted       int     // .cta_group::2: columns that a warp here asks for, until the other CTA of the pair asks too
	granted      []int   // first column of each joint allocation that a warp here has not returned from yet
}

// tmemAlloc is an allocation of n columns from col on, with the pc that made it.
type tmemAlloc struct {
	col, n int
	pc     int32
}

// tmemCell holds the last accesses of a granule of lanes of a column.
type tmemCell struct {
	w     tmemAccess
	reads []tmemAccess // since then, one of each agent
}

// tmemAccess is an access: who made it, where in the program, and what kind it is.
type tmemAccess struct {
	stamp accessStamp
	pc    int32
	use   tmemUse
}

// tmemUse says what kind of access it is, for the order in the tcgen05 pipeline of its thread.
type tmemUse struct {
	class tmemClass
	acc   uint32 // of a mma that uses its accumulator: the address
	shape uint32 // and the shape
}

type tmemClass uint8

const (
	useLd tmemClass = iota
	useSt
	useMma      // operand A or scales
	useMmaAccum // accumulator
	useCp
	useCp4 // cp.4x256b
	useShift
	useDealloc
)

var tmemNames = [...]string{"tcgen05.ld", "tcgen05.st", "tcgen05.mma", "tcgen05.mma", "tcgen05.cp", "tcgen05.cp", "tcgen05.shift", "tcgen05.dealloc"}

func (u tmemUse) String() string { return tmemNames[u.class] }

// pipelined tells whether a is implicitly ordered before b, both issued by one thread (pipelined instructions, section
// 9.7.16.6.2).
func pipelined(a, b tmemUse) bool {
	isMma := func(u tmemUse) bool { return u.class == useMma || u.class == useMmaAccum }
	switch {
	case a.class == useMmaAccum && b.class == useMmaAccum:
		return a.acc == b.acc && a.shape == b.shape
	case isMma(b):
		return a.class == useCp || a.class == useCp4 || a.class == useShift
	case isMma(a):
		return b.class == useShift
	}
	return a.class == useShift && b.class == useCp4
}

func newTmem() *tmem {
	t := &tmem{data: make([]uint32, tmemLanes*tmemColumns), undef: make([]uint32, tmemLanes*tmemColumns),
		cells: make([]tmemCell, tmemLanes/tmemGranule*tmemColumns), lastSize: tmemColumns}
	for i := range t.undef {
		t.undef[i] = ^uint32(0)
	}
	return t
}

// tensorMemory gives the tensor memory of a CTA.
func (c *cta) tensorMemory() *tmem {
	if c.tmem == nil {
		c.tmem = newTmem()
	}
	return c.tmem
}

// tmemRect is a piece of tensor memory.
type tmemRect struct{ lane, lanes, col, cols int }

func (r tmemRect) String() string {
	return fmt.Sprintf("lanes %d to %d, columns %d to %d of tensor memory", r.lane, r.lane+r.lanes-1, r.col, r.col+r.cols-1)
}

// holds tells whether a column is allocated.
func (t *tmem) holds(col int) bool {
	return t != nil && slices.ContainsFunc(t.allocs, func(a tmemAlloc) bool { return a.col <= col && col < a.col+a.n })
}

// checkTmemAllocated checks that a rectangle lies in allocated columns of the tensor memory of a CTA.
func (w *warp) checkTmemAllocated(cta *cta, r tmemRect, what string, lane int) *tmem {
	t := cta.tmem
	addr := tmemBits(r.lane, r.col)
	if r.lane+r.lanes > tmemLanes {
		w.fail(TensorMemory, 1<<lane, addr, "%s touches %s, which has %d lanes", what, r, tmemLanes)
	}
	for c := r.col; c < r.col+r.cols; c++ {
		if t.holds(c) {
			continue
		}
		why := "nothing is allocated"
		switch {
		case t != nil && c < tmemColumns && t.freed[c/tmemUnit] > 0:
			why = fmt.Sprintf("it was freed at line %d", w.prog.code[t.freed[c/tmemUnit]-1].line)
		case t != nil && len(t.allocs) > 0:
			why = "allocated are"
			for _, a := range t.allocs {
				why += fmt.Sprintf(" %d to %d (line %d)", a.col, a.col+a.n-1, w.prog.code[a.pc].line)
			}
		}
		w.fail(TensorMemory, 1<<lane, addr, "%s touches %s, but column %d is not allocated: %s", what, r, c, why)
	}
	return t
}

// each visits the granules of a piece.
func (t *tmem) each(r tmemRect, f func(c *tmemCell)) {
	for g := r.lane / tmemGranule; g <= (r.lane+r.lanes-1)/tmemGranule; g++ {
		row := t.cells[g*tmemColumns:][r.col : r.col+r.cols]
		for i := range row {
			f(&row[i])
		}
	}
}

// tmemRead records that an agent reads a rectangle on behalf of a lane.
func (w *warp) tmemRead(t *tmem, r tmemRect, a tmemAccess, lane int) {
	if w.launch.opt.Checks.NoRaces {
		return
	}
	t.each(r, func(c *tmemCell) {
		w.checkTmemOrder(r, c.w, a, lane, Read, Write)
		for i := range c.reads {
			if o := c.reads[i].stamp; o&^stampEpoch == a.stamp&^stampEpoch || w.happenedBefore(lane, o) {
				c.reads[i] = a
				return
			}
		}
		c.reads = append(c.reads, a)
	})
}

// tmemWrite records that an agent writes a rectangle.
func (w *warp) tmemWrite(t *tmem, r tmemRect, a tmemAccess, lane int) {
	if w.launch.opt.Checks.NoRaces {
		return
	}
	t.each(r, func(c *tmemCell) {
		w.checkTmemOrder(r, c.w, a, lane, Write, Write)
		for _, x := range c.reads {
			w.checkTmemOrder(r, x, a, lane, Write, Read)
		}
		c.reads = c.reads[:0]
		c.w = a
	})
}

// checkTmemOrder reports an access that is not ordered after an earlier one: neither by the pipeline of the thread, nor by a
// wait, nor by synchronisation.
func (w *warp) checkTmemOrder(r tmemRect, old, now tmemAccess, lane int, a, b Access) {
	if old.stamp == 0 || w.happenedBefore(lane, old.stamp) {
		return
	}
	if old.stamp&^stampEpoch == now.stamp&^stampEpoch && pipelined(old.use, now.use) {
		return
	}
	k, why := Race, "is not ordered after"
	switch kind, _ := w.launch.kindOf(old.stamp); kind {
	case agentTcgen05:
		k, why = AsyncPending, "does not wait for the commit of"
	case agentTcgenLd:
		k, why = AsyncPending, "does not wait by tcgen05.wait::ld for"
	case agentTcgenSt:
		k, why = AsyncPending, "does not wait by tcgen05.wait::st for"
	}
	rep := w.report(k, lane, tmemBits(r.lane, r.col), "%s of %s by %s %s the %s by the %s of %s at line %d: %s", a, r, now.use, why, b,
		old.use, w.launch.threadName(old.stamp), w.prog.code[old.pc].line, oneLine(w.prog.code[old.pc].text))
	rep.Access = a
	// The hardware executes a cp after earlier mma of the same thread, though the ISA does not guarantee it.
	if w.launch.opt.Foreign && now.stamp&^stampEpoch == old.stamp&^stampEpoch && now.use.class == useCp && old.use.class == useMma {
		if !w.launch.countRepeat(int32(rep.Line), k) {
			w.launch.note(rep)
		}
		return
	}
	panic(fault{rep})
}

// --- allocation (section 9.7.16.7) ---

// tmemAlloc finds room for n columns and writes its address to shared memory; false: the warp waits for room, or for
// the other CTA of its pair, which allocates the same columns together with it.
func (w *warp) tmemAlloc(in *inst, op *memOp, group, n int) bool {
	t := w.tmemGroup(group)
	if len(t.granted) > 0 {
		col := t.granted[0]
		t.granted = t.granted[1:]
		w.storeTmemAddress(in, op, col)
		return true
	}
	switch {
	case n < tmemUnit || n > tmemColumns || n&(n-1) != 0:
		w.fail(TensorMemory, fullMask, 0, "%d columns cannot be allocated: a power of two from 32 to 512 is needed", n)
	case t.relinquished:
		w.fail(TensorMemory, fullMask, 0, "tcgen05.alloc after the CTA has relinquished its permit to allocate")
	case n > t.lastSize:
		w.fail(TensorMemory, fullMask, 0, "%d columns are more than the %d of the alloc before", n, t.lastSize)
	}
	pair := w.pair(group, 0)
	for _, c := range pair {
		o := c.tensorMemory()
		if o == t {
			continue
		}
		if o.wanted == 0 {
			t.wanted = n
			t.waiting = append(t.waiting, w)
			w.ready &^= w.live
			return false
		}
		if o.wanted != n {
			w.fail(TensorMemory, fullMask, 0, "%d columns are allocated here, %d by the other CTA of the pair", n, o.wanted)
		}
	}
	col := freeColumns(pair, n, w.launch)
	if col < 0 {
		t.wanted = n
		t.waiting = append(t.waiting, w)
		w.ready &^= w.live
		return false
	}
	for _, c := range pair {
		o := c.tmem
		o.wanted, o.lastSize = 0, n
		o.allocs = append(o.allocs, tmemAlloc{col, n, w.curPC})
		for lane := range tmemLanes {
			row := o.undef[lane*tmemColumns+col:][:n]
			for i := range row {
				row[i] = ^uint32(0)
			}
		}
		if o != t {
			o.granted = append(o.granted, col)
			o.wake()
		}
	}
	w.storeTmemAddress(in, op, col)
	return true
}

// wake makes the warps that wait for columns try again.
func (t *tmem) wake() {
	for _, x := range t.waiting {
		x.ready |= x.live
	}
	t.waiting = t.waiting[:0]
}

// storeTmemAddress writes the address of an allocation to shared memory.
func (w *warp) storeTmemAddress(in *inst, op *memOp, col int) {
	addr := w.addresses(in, op, 1)[0]
	r, at := w.locate(op.space, addr, 4, 0, use{"tcgen05.alloc", Write})
	if r.space != spShared {
		w.fail(Invalid, 1, addr, "tcgen05.alloc writes its address to shared memory only")
	}
	w.recordWrite(r, at, 4, 0, weak, false)
	r.write(at, 4, uint64(col), 0)
	w.launch.lastProgress = w.launch.stats.warpInstrs
}

// freeColumns finds n columns that are free in all CTAs of a group: the first ones, or the last ones in the reverse schedule, so that a kernel that
// takes an address for granted is found out. -1: there are none.
func freeColumns(group []*cta, n int, l *launch) int {
	var found []int
	for col := 0; col+n <= tmemColumns; col += tmemUnit {
		free := true
		for c := col; c < col+n; c += tmemUnit {
			for _, x := range group {
				free = free && !x.tmem.holds(c)
			}
		}
		if free {
			found = append(found, col)
		}
	}
	switch {
	case len(found) == 0:
		return -1
	case l.opt.Schedule == Reverse:
		return found[len(found)-1]
	case l.opt.Schedule == Random:
		return found[l.rng.IntN(len(found))]
	}
	return found[0]
}

// tmemDealloc frees the allocation of n columns at an address. Nothing may be in flight there.
func (w *warp) tmemDealloc(addr uint64, n int) {
	t := w.cta.tmem
	i := -1
	if t != nil {
		i = slices.IndexFunc(t.allocs, func(a tmemAlloc) bool { return uint64(a.col) == addr && a.n == n })
	}
	if i < 0 {
		w.fail(TensorMemory, fullMask, addr, "tcgen05.dealloc of %d columns at %#x, where no alloc has given that many", n, addr)
	}
	a := tmemAccess{w.stamp(0, weak), w.curPC, tmemUse{class: useDealloc}}
	w.tmemWrite(t, tmemRect{0, tmemLanes, int(addr), n}, a, 0)
	t.each(tmemRect{0, tmemLanes, int(addr), n}, func(c *tmemCell) { *c = tmemCell{reads: c.reads[:0]} })
	t.allocs = slices.Delete(t.allocs, i, i+1)
	for c := int(addr); c < int(addr)+n; c += tmemUnit {
		t.freed[c/tmemUnit] = w.curPC + 1
	}
	t.wake()
	w.launch.lastProgress = w.launch.stats.warpInstrs
}

// tmemExit checks that the CTA leaves no allocation behind.
func (w *warp) tmemExit() {
	if t := w.cta.tmem; t != nil && len(t.allocs) > 0 {
		a := t.allocs[0]
		w.fail(TensorMemory, w.group, uint64(a.col), "the CTA exits without tcgen05.dealloc of columns %d to %d of tensor memory, allocated at line %d",
			a.col, a.col+a.n-1, w.prog.code[a.pc].line)
	}
}
