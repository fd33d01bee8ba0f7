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
	tmemGranule = 16 // lanes whose accesses are followed together
)

// tmem is the tensor memory of a CTA, there from its first alloc on.
type tmem struct {
	data, undef  []uint32 // by lane*512 + column
	cells        []tmemCell
	allocs       []tmemAlloc
	freed        [tmemColumns / tmemUnit]int32 // place+1 of the last dealloc of a unit
	smallest     int                           // columns of the last alloc: none may be larger
	relinquished bool
	group        int     // .cta_group of the kernel, 0: not known yet
	waiting      []*warp // at an alloc that has no room
	asked        int     // .cta_group::2: columns that a warp waits for until the other CTA asks too
	granted      []int   // and where they are, once it has
}

// tmemAlloc is an allocation of n columns from col on, made at a place of the program.
type tmemAlloc struct {
	col, n int
	place  int32
}

// tmemCell holds the last accesses of a granule of lanes of a column.
type tmemCell struct {
	w     tmemAccess
	reads []tmemAccess // since then, one of each agent
}

// tmemAccess is an access: who made it, where, and as what.
type tmemAccess struct {
	by    rec
	place int32
	what  tmemUse
}

// tmemUse says what orders an access with its neighbours in the pipe of its thread.
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

// pipelined tells whether the pipe of one thread executes a before b (section 9.7.16.6.2).
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
		cells: make([]tmemCell, tmemLanes/tmemGranule*tmemColumns), smallest: tmemColumns}
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

// tmemUsed checks that a piece of the memory of a CTA lies in allocated columns.
func (w *warp) tmemUsed(cta *cta, r tmemRect, what string, lane int) *tmem {
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
				why += fmt.Sprintf(" %d to %d (line %d)", a.col, a.col+a.n-1, w.prog.code[a.place].line)
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

// tmemRead records that an agent reads a piece on behalf of a lane.
func (w *warp) tmemRead(t *tmem, r tmemRect, a tmemAccess, lane int) {
	if w.launch.opt.Checks.NoRaces {
		return
	}
	t.each(r, func(c *tmemCell) {
		w.tmemOrdered(r, c.w, a, lane, "read", "write")
		for i := range c.reads {
			if o := c.reads[i].by; o&^recTime == a.by&^recTime || w.ordered(lane, o) {
				c.reads[i] = a
				return
			}
		}
		c.reads = append(c.reads, a)
	})
}

// tmemWrite records that an agent writes a piece.
func (w *warp) tmemWrite(t *tmem, r tmemRect, a tmemAccess, lane int) {
	if w.launch.opt.Checks.NoRaces {
		return
	}
	t.each(r, func(c *tmemCell) {
		w.tmemOrdered(r, c.w, a, lane, "write", "write")
		for _, x := range c.reads {
			w.tmemOrdered(r, x, a, lane, "write", "read")
		}
		c.reads = c.reads[:0]
		c.w = a
	})
}

// tmemOrdered reports an access that nothing orders after an earlier one: neither the pipe of the thread, nor a
// wait for what is in flight, nor a barrier.
func (w *warp) tmemOrdered(r tmemRect, old, now tmemAccess, lane int, a, b string) {
	if old.by == 0 || w.ordered(lane, old.by) {
		return
	}
	if old.by&^recTime == now.by&^recTime && pipelined(old.what, now.what) {
		return
	}
	k, why := Race, "is not ordered after"
	switch kind, _ := w.launch.kindOf(old.by); kind {
	case agTensor:
		k, why = AsyncPending, "does not wait for the commit of"
	case agTmemLd:
		k, why = AsyncPending, "does not wait by tcgen05.wait::ld for"
	case agTmemSt:
		k, why = AsyncPending, "does not wait by tcgen05.wait::st for"
	}
	rep := w.report(k, lane, tmemBits(r.lane, r.col), "%s of %s by %s %s the %s by the %s of %s at line %d: %s", a, r, now.what, why, b,
		old.what, w.launch.threadName(old.by), w.prog.code[old.place].line, oneLine(w.prog.code[old.place].text))
	// The pipe of a thread is known to execute a cp after the products before it, though the ISA does not say so.
	if w.launch.opt.Foreign && now.by&^recTime == old.by&^recTime && now.what.class == useCp && old.what.class == useMma {
		if !w.launch.again(int32(rep.Line), k) {
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
		w.tmemGive(in, op, col)
		return true
	}
	switch {
	case n < tmemUnit || n > tmemColumns || n&(n-1) != 0:
		w.fail(TensorMemory, fullMask, 0, "%d columns cannot be allocated: a power of two from 32 to 512 is needed", n)
	case t.relinquished:
		w.fail(TensorMemory, fullMask, 0, "tcgen05.alloc after the CTA has relinquished its permit to allocate")
	case n > t.smallest:
		w.fail(TensorMemory, fullMask, 0, "%d columns are more than the %d of the alloc before", n, t.smallest)
	}
	pair := w.pair(group, 0)
	for _, c := range pair {
		o := c.tensorMemory()
		if o == t {
			continue
		}
		if o.asked == 0 {
			t.asked = n
			t.waiting = append(t.waiting, w)
			w.ready &^= w.live
			return false
		}
		if o.asked != n {
			w.fail(TensorMemory, fullMask, 0, "%d columns are allocated here, %d by the other CTA of the pair", n, o.asked)
		}
	}
	col := freeColumns(pair, n, w.launch)
	if col < 0 {
		t.asked = n
		t.waiting = append(t.waiting, w)
		w.ready &^= w.live
		return false
	}
	for _, c := range pair {
		o := c.tmem
		o.asked, o.smallest = 0, n
		o.allocs = append(o.allocs, tmemAlloc{col, n, w.here})
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
	w.tmemGive(in, op, col)
	return true
}

// wake lets the warps that wait for room try again.
func (t *tmem) wake() {
	for _, x := range t.waiting {
		x.ready |= x.live
	}
	t.waiting = t.waiting[:0]
}

// tmemGive writes the address of an allocation to shared memory.
func (w *warp) tmemGive(in *inst, op *memOp, col int) {
	addr := w.addresses(in, op, 1)[0]
	r, at := w.locate(op.space, addr, 4, 0, "tcgen05.alloc")
	if r.space != spShared {
		w.fail(Invalid, 1, addr, "tcgen05.alloc writes its address to shared memory only")
	}
	w.noteWrite(r, at, 4, 0, weak, false)
	r.write(at, 4, uint64(col), 0)
	w.launch.event = w.launch.stats.warpInstrs
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
	a := tmemAccess{w.stamp(0, weak), w.here, tmemUse{class: useDealloc}}
	w.tmemWrite(t, tmemRect{0, tmemLanes, int(addr), n}, a, 0)
	t.each(tmemRect{0, tmemLanes, int(addr), n}, func(c *tmemCell) { *c = tmemCell{reads: c.reads[:0]} })
	t.allocs = slices.Delete(t.allocs, i, i+1)
	for c := int(addr); c < int(addr)+n; c += tmemUnit {
		t.freed[c/tmemUnit] = w.here + 1
	}
	t.wake()
	w.launch.event = w.launch.stats.warpInstrs
}

// tmemExit checks that the CTA leaves no allocation behind.
func (w *warp) tmemExit() {
	if t := w.cta.tmem; t != nil && len(t.allocs) > 0 {
		a := t.allocs[0]
		w.fail(TensorMemory, w.group, uint64(a.col), "the CTA exits without tcgen05.dealloc of columns %d to %d of tensor memory, allocated at line %d",
			a.col, a.col+a.n-1, w.prog.code[a.place].line)
	}
}
