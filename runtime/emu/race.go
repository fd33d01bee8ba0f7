package emu

import (
	"fmt"
	"iter"
	"math/bits"
)

// accessStamp says who made an access and when: epoch, id of the warp or agent in the grid, lane, scope and size. 0 is "none".
//
//	63 index of a list | 34-60 epoch | 9-33 warp or agent | 4-8 lane | 2-3 scope of a strong access, 61, 62, 0 its size | 1 several lanes
type accessStamp uint64

const (
	stampMany  accessStamp = 1 << 1
	stampLanes accessStamp = 31<<4 | stampMany
	stampSize  accessStamp = 3<<61 | 1 // the size of a strong access, log2 of its bytes
	stampList  accessStamp = 1 << 63
	stampEpoch accessStamp = maxEpoch << 34
)

// maxEpoch is the last epoch for which a stamp has room.
const maxEpoch = 1<<27 - 1

// count goes on to the next epoch of a warp, or the next operation of an agent.
func (w *warp) count(n *uint32) {
	if *n == maxEpoch {
		w.fail(StepLimit, w.live, 0, "more than %d synchronisations of a warp, or asynchronous operations of one or on one mbarrier", maxEpoch)
	}
	*n++
}

func (r accessStamp) epoch() uint32   { return uint32(r >> 34 & maxEpoch) }
func (r accessStamp) warp() uint32    { return uint32(r >> 9 & (1<<idBits - 1)) }
func (r accessStamp) lane() int       { return int(r >> 4 & 31) }
func (r accessStamp) scope() strength { return strength(r >> 2 & 3) }
func (r accessStamp) many() bool      { return r&stampMany != 0 }

// strength is weak, or the scope of a strong access (sections 8.4, 8.5).
type strength uint8

const (
	weak         strength = iota
	ctaScope              // .cta
	clusterScope          // .cluster
	gpuScope              // .gpu, and .sys: the emulator is one device
	strengths
)

// scopeNames are the scopes as modifiers.
var scopeNames = map[string]strength{"cta": ctaScope, "cluster": clusterScope, "gpu": gpuScope, "sys": gpuScope, "gl": gpuScope}

func (w *warp) stamp(lane int, s strength) accessStamp {
	return accessStamp(w.epoch)<<34 | accessStamp(w.id)<<9 | accessStamp(lane)<<4 | accessStamp(s)<<2
}

// sized is a stamp with the size of a strong access: two that overlap in part are not morally strong.
func (r accessStamp) sized(n int) accessStamp {
	if r.scope() == weak {
		return r
	}
	k := accessStamp(bits.Len(uint(n)) - 1)
	return r | k&1 | k>>1<<61
}

// shadowCell holds the accesses to a granule that a later one can still race with: writes, and reads since then. Each is the stamp and the place of one
// access, by one lane or by a range of them, or a list (accessRecord).
type shadowCell struct {
	lastWrite, reads accessStamp
	writePC, readPC  place
}

// place is the pc of an access, and in the bits above how many lanes behind that of its stamp made it too: few accesses of a warp need a list. The highest
// bit says that it stands for other accesses, too, at another pc or by other threads.
type place uint32

const (
	pcBits      = 26
	placeOthers = place(1 << 31)
	placeMask   = 1<<pcBits - 1
	moreLanes   = 31 // above the pc
)

func (p place) pc() int32   { return int32(p & placeMask) }
func (p place) more() place { return p >> pcBits & moreLanes }

// after is the place p of an access that stands for one at old, by the same threads.
func (p place) after(old place) place {
	if old&(placeMask|placeOthers) != p {
		return p | placeOthers
	}
	return p
}

// shadowPage holds the cells of 1024 bytes. Its granule is as large as the smallest access so far, from 16 bytes down to 1, so no
// byte masks are needed and wide accesses are cheap.
type shadowPage struct {
	shift   uint8 // granule = 1 << shift bytes
	written bool  // some byte of it
	cells   []shadowCell
}

const pageBits = 10

// shadow is the shadow memory of a region.
type shadow struct {
	pages []*shadowPage
	lists [][]accessRecord // accesses of a cell, by the index in its stamp
	free  []int32          // unused lists
	undo  *undoLog         // of global memory in a part of a launch
	bias  int              // of byte 0 in the first page: pages begin where addresses are multiples of their size
}

// accessRecord is an access by one or several lanes of a warp in one epoch.
type accessRecord struct {
	stamp accessStamp // of one of the lanes; stampMany if there are more
	place place       // without lanes
	lanes uint32
}

func newRecord(r accessStamp, p place) accessRecord {
	return accessRecord{r, p &^ (moreLanes << pcBits), uint32(2<<p.more()-1) << r.lane()}
}

// cells gives the cells of n bytes at off, 1 to 32 that lie in one page.
func (s *shadow) cells(off, n, size int) []shadowCell {
	off, size = off+s.bias, size+s.bias
	if k := off >> pageBits; k < len(s.pages) {
		if p := s.pages[k]; p != nil && (off|n)&(1<<p.shift-1) == 0 {
			i := off & (1<<pageBits - 1) >> p.shift
			return p.cells[i : i+n>>p.shift]
		}
	}
	return s.newCells(off, n, size)
}

// cellsOf is every cell of n bytes at off, with its offset; they may lie in two pages.
func (s *shadow) cellsOf(off, n, size int) iter.Seq2[int, *shadowCell] {
	return func(yield func(int, *shadowCell) bool) {
		for n > 0 {
			part := min(n, 1<<pageBits-(off+s.bias)&(1<<pageBits-1))
			cells := s.cells(off, part, size)
			for i := range cells {
				if !yield(off+i*part/len(cells), &cells[i]) {
					return
				}
			}
			off, n = off+part, n-part
		}
	}
}

// newCells is cells where the page does not exist yet, or its granule is too large; off and size count from the first page.
func (s *shadow) newCells(off, n, size int) []shadowCell {
	if s.pages == nil {
		s.pages = make([]*shadowPage, size>>pageBits+1)
	}
	p := s.pages[off>>pageBits]
	if p == nil {
		shift := uint8(0)
		for shift < 4 && n>>(shift+1) != 0 && (off|n)&(1<<(shift+1)-1) == 0 {
			shift++
		}
		p = &shadowPage{shift: shift, cells: make([]shadowCell, 1<<(pageBits-shift))}
		s.pages[off>>pageBits] = p
	}
	for (off|n)&(1<<p.shift-1) != 0 {
		s.refine(p)
	}
	i := off & (1<<pageBits - 1) >> p.shift
	return p.cells[i : i+n>>p.shift]
}

// refine halves the granule of a page.
func (s *shadow) refine(p *shadowPage) {
	c := make([]shadowCell, 2*len(p.cells))
	for i, x := range p.cells {
		c[2*i], c[2*i+1] = x, x
		if x.reads&stampList != 0 {
			c[2*i+1].reads = s.newList(*s.list(x.reads)...)
		}
		if x.lastWrite&stampList != 0 {
			c[2*i+1].lastWrite = s.newList(*s.list(x.lastWrite)...)
		}
	}
	p.cells = c
	p.shift--
}

func (s *shadow) list(r accessStamp) *[]accessRecord { return &s.lists[r&^stampList] }

// newList makes a list with a copy of l.
func (s *shadow) newList(l ...accessRecord) accessStamp {
	if n := len(s.free); n > 0 {
		i := s.free[n-1]
		s.free = s.free[:n-1]
		s.lists[i] = append(s.lists[i][:0], l...)
		return stampList | accessStamp(i)
	}
	s.lists = append(s.lists, append(make([]accessRecord, 0, max(2, len(l))), l...))
	return stampList | accessStamp(len(s.lists)-1)
}

// drop clears the reads or the writes of a cell.
func (s *shadow) drop(at *accessStamp) {
	if *at&stampList != 0 {
		s.free = append(s.free, int32(*at&^stampList))
	}
	*at = 0
}

// records gives the reads or the writes of a cell as a list, a single one in a place of the caller.
func (s *shadow) records(at accessStamp, p place, one *[1]accessRecord) []accessRecord {
	switch {
	case at == 0:
		return nil
	case at&stampList != 0:
		return *s.list(at)
	}
	one[0] = newRecord(at, p)
	return one[:]
}

func (s *shadow) reset() {
	clear(s.pages)
	s.lists, s.free = s.lists[:0], s.free[:0]
}

// morallyStrong tells whether two strong accesses are morally strong with each other: no race (8.7.1).
func (w *warp) morallyStrong(r, me accessStamp) bool {
	s := me.scope()
	return s != weak && (r^me)&stampSize == 0 && r.scope() != weak && w.launch.include(s, r.scope(), w.launch.ctaIndex(r), w.cta.index)
}

// recordRead records a read of n bytes and reports a race with an earlier write.
func (w *warp) recordRead(r *region, off, n, lane int, s strength) {
	if w.launch.opt.Checks.NoRaces || r.readonly {
		return
	}
	me := w.stamp(lane, s).sized(n)
	for off, c := range r.shadow.cellsOf(off, n, len(r.data)) {
		if c.lastWrite != 0 && c.lastWrite&^stampEpoch != me&^stampEpoch { // else: the same thread wrote it
			if c.lastWrite&stampList != 0 || !w.morallyStrong(c.lastWrite, me) && !w.happenedBefore(lane, c.lastWrite) {
				a := accessor{w: w, lane: lane, stamp: me}
				a.check(r, off, Read, Write, c.lastWrite, c.writePC, Race)
			}
		}
		if c.reads == 0 || c.reads&^stampEpoch == me&^stampEpoch { // nobody, or the same thread
			now := place(w.curPC)
			if c.reads != 0 {
				now = now.after(c.readPC)
			}
			c.reads, c.readPC = me, now
			continue
		}
		a := accessor{w: w, lane: lane, stamp: me}
		a.add(&r.shadow, &c.reads, &c.readPC)
	}
}

// checkNonCoherent reports a non-coherent read of bytes that this launch has written, in whatever order (9.7.9.9: the memory must
// be read-only for the lifetime of the kernel).
func (w *warp) checkNonCoherent(r *region, off, n, lane int) {
	if w.launch.opt.Checks.NoRaces || r.readonly {
		return
	}
	for _, c := range r.shadow.cellsOf(off, n, len(r.data)) {
		var one [1]accessRecord
		for _, x := range r.shadow.records(c.lastWrite, c.writePC, &one) {
			w.failAccess(Race, use{access: Read}, lane, r.genericAddr(off), "non-coherent read of %s byte %d, which %s wrote at line %d",
				r.describe(), off, w.launch.threadName(x.stamp), w.prog.code[x.place.pc()].line)
		}
	}
}

// accessor is who makes an access, with its stamp.
type accessor struct {
	w       *warp
	lane    int
	stamp   accessStamp
	issuers []*warp // of an asynchronous operation
}

// happenedBefore tells whether the access r happened before this one, for all warps that issue it together.
func (a *accessor) happenedBefore(r accessStamp) bool {
	for _, w := range a.issuers {
		if r.warp() != w.id && !w.happenedBefore(0, r) {
			return false
		}
	}
	return a.issuers != nil || a.w.happenedBefore(a.lane, r)
}

// follows tells whether the accesses x happened before this one.
func (a *accessor) follows(x *accessRecord) bool {
	return a.happenedBefore(x.stamp) || x.stamp.many() && x.each(a.happenedBefore)
}

// each tells whether something is true of the access of each lane.
func (x *accessRecord) each(f func(accessStamp) bool) bool {
	for m := x.lanes; m != 0; m &= m - 1 {
		if !f(x.stamp&^stampLanes | accessStamp(bits.TrailingZeros32(m))<<4) {
			return false
		}
	}
	return true
}

// check reports the earlier reads or writes of a cell that race with the access.
func (a *accessor) check(r *region, off int, now, then Access, at accessStamp, p place, k Kind) {
	var one [1]accessRecord
	l := r.shadow.records(at, p, &one)
	for i := range l {
		if x := &l[i]; !a.w.morallyStrong(x.stamp, a.stamp) && !a.follows(x) {
			a.w.race(r, off, a.lane, now, then, x, k, a.w.discarded(now, then, a.lane, x))
		}
	}
}

// replaces tells whether whatever races with the accesses x races with this one too. A strong access does not stand for a weaker one, nor for one of
// another size or by another CTA, even if that happened before: a third one may be morally strong with the later one only.
func (a *accessor) replaces(x *accessRecord) bool {
	if s := a.stamp.scope(); s != weak && (x.stamp.scope() < s || (x.stamp^a.stamp)&stampSize != 0 || a.w.launch.ctaIndex(x.stamp) != a.w.cta.index) {
		return false
	}
	return x.stamp&^stampEpoch == a.stamp&^stampEpoch || a.follows(x)
}

// add adds the access to the reads or the writes of a cell, in place of what it replaces.
func (a *accessor) add(s *shadow, at *accessStamp, p *place) {
	now := place(a.w.curPC)
	if (*at^a.stamp)&^stampLanes == 0 { // lanes of an instruction come in order
		if more := p.more(); place(a.stamp.lane()-at.lane()) == more+1 {
			*at, *p = *at|stampMany, now.after(*p)|(more+1)<<pcBits
			return
		}
	}
	me := newRecord(a.stamp, now)
	if *at&stampList == 0 {
		old := newRecord(*at, *p)
		switch {
		case *at == 0:
			*at, *p = me.stamp, now
		case a.replaces(&old):
			*at, *p = me.stamp, me.inherits(&old).place
		case old.joins(&me):
			*at = s.newList(old)
		default:
			*at = s.newList(old, me)
		}
		return
	}
	l := s.list(*at)
	for i := len(*l) - 1; i >= max(0, len(*l)-16); i-- { // a warp that accessed it lately is near the end
		x := &(*l)[i]
		if x.joins(&me) {
			return
		}
		if a.replaces(x) {
			*x = me.inherits(x)
			return
		}
	}
	if n := len(*l); n >= 64 && n&(n-1) == 0 {
		*l = latest(*l)
	}
	*l = append(*l, me)
}

// joins makes one record of two if they differ in their lanes only.
func (x *accessRecord) joins(y *accessRecord) bool {
	if x.stamp&^stampLanes != y.stamp&^stampLanes {
		return false
	}
	if x.lanes |= y.lanes; x.lanes&(x.lanes-1) != 0 {
		x.stamp |= stampMany
	}
	x.place = y.place.after(x.place)
	return true
}

// inherits is the record x in place of an older one.
func (x accessRecord) inherits(old *accessRecord) accessRecord {
	if x.place = x.place.after(old.place); (x.stamp^old.stamp)&^stampEpoch != 0 {
		x.place |= placeOthers
	}
	return x
}

// latest keeps the latest access of every thread and scope, so that a list stays as short as there are threads that access one by one.
func latest(l []accessRecord) []accessRecord {
	const epochAndLanes = stampEpoch | stampLanes
	newest := map[accessStamp]*[32]uint32{}
	for _, x := range l {
		k := x.stamp &^ epochAndLanes
		if newest[k] == nil {
			newest[k] = new([32]uint32)
		}
		lanes(x.lanes, func(i int) { newest[k][i] = max(newest[k][i], x.stamp.epoch()) })
	}
	out := l[:0]
	for _, x := range l {
		x.place |= placeOthers
		n := newest[x.stamp&^epochAndLanes]
		lanes(x.lanes, func(i int) {
			if n[i] != x.stamp.epoch() {
				x.lanes &^= 1 << i
			}
		})
		if x.lanes != 0 {
			one := x.stamp&^stampLanes | accessStamp(bits.TrailingZeros32(x.lanes))<<4
			if x.stamp = one; x.lanes&(x.lanes-1) != 0 {
				x.stamp |= stampMany
			}
			out = append(out, x)
		}
	}
	return out
}

// recordWrite records a write of n bytes and reports a race with an earlier access. same: the bytes have that value already.
func (w *warp) recordWrite(r *region, off, n, lane int, s strength, same bool) {
	if w.launch.opt.Checks.NoRaces {
		return
	}
	k := Race
	if same {
		k = SameValueRace
	}
	me := w.stamp(lane, s).sized(n)
	for off, c := range r.shadow.cellsOf(off, n, len(r.data)) {
		r.shadow.markWritten(off)
		a := accessor{w: w, lane: lane, stamp: me}
		if c.lastWrite != 0 && c.lastWrite&^stampEpoch != me&^stampEpoch {
			if c.lastWrite&stampList != 0 || s != weak || !w.happenedBefore(lane, c.lastWrite) {
				a.check(r, off, Write, Write, c.lastWrite, c.writePC, k)
			}
			r.shadow.supersede(&c.lastWrite, s)
		}
		if c.reads != 0 && c.reads&^stampEpoch == me&^stampEpoch {
			c.reads = 0
		} else if c.reads != 0 {
			if c.reads&stampList != 0 || s != weak || !w.happenedBefore(lane, c.reads) {
				a.check(r, off, Write, Read, c.reads, c.readPC, k)
			}
			r.shadow.supersede(&c.reads, s)
		}
		if c.lastWrite == 0 || c.lastWrite&^stampEpoch == me&^stampEpoch {
			c.lastWrite, c.writePC = me, place(w.curPC)
		} else {
			a.add(&r.shadow, &c.lastWrite, &c.writePC)
		}
	}
}

// supersede forgets the reads or the writes of a cell that a write of this strength stands for: all of them if it is weak, since they happened before it or were
// reported. A strong one need not come behind them, and a third access may come behind the strong one alone. The latest are kept.
func (s *shadow) supersede(at *accessStamp, by strength) {
	const kept = 8 // or up to twice as many: what a later access looks at does not grow with the threads of a launch
	switch {
	case by == weak:
		s.drop(at)
	case *at&stampList != 0:
		if l := s.list(*at); len(*l) > 2*kept {
			*l = append((*l)[:0], (*l)[len(*l)-kept:]...)
		}
	}
}

// race reports two unordered accesses. Stores of equal values by different CTAs are a note, since every tile block
// of the source made that store; with Options.NoteEqualStores, those of one CTA too. In foreign PTX, races between lanes of one
// warp and all stores of equal values are notes: hardware runs a converged warp in lockstep, and equal stores commute. So is a
// race of a read that nothing has used (discarded.go).
// If the earlier access is that of an agent, the operation is still in flight, and that is reported.
func (w *warp) race(r *region, off, lane int, now, then Access, x *accessRecord, k Kind, unused *racedRead) {
	old, at := x.stamp, x.place.pc()
	others := w.launch.ctaIndex(old) != w.cta.index
	note := k == SameValueRace && (others || w.launch.opt.NoteEqualStores) || w.launch.opt.Foreign && (old.warp() == w.id || k == SameValueRace)
	if kind, _ := w.launch.kindOf(old); kind != agentThread && !note {
		w.reportInFlight(r, off, lane, now, then, old, at)
	}
	if (note || unused.awaited()) && w.launch.countRepeat(w.prog.code[w.curPC].line, k) {
		return
	}
	rep := w.report(k, lane, r.genericAddr(off), "%s of %s byte %d is not ordered after the %s by %s at line %d: %s",
		now, r.describe(), off, then, w.launch.threadName(old), w.prog.code[at].line, oneLine(w.prog.code[at].text))
	rep.Access = now
	rep.Other = &Other{Access: then, Source: w.launch.source(&w.prog.code[at]), Line: int(w.prog.code[at].line),
		CTA: w.launch.ctaID(w.launch.ctaIndex(old)), Region: r.describe(), Offset: off}
	switch {
	case note:
		w.launch.note(rep)
	case unused != nil:
		unused.await(rep)
	default:
		panic(fault{rep})
	}
}

// reportInFlight reports an access to bytes that an asynchronous operation may still read or write.
func (w *warp) reportInFlight(r *region, off, lane int, now, then Access, old accessStamp, at int32) {
	doing, end := "written", "which has not waited for it"
	if then == Read {
		doing = "read"
	}
	if kind, _ := w.launch.kindOf(old); kind != agentCpAsync {
		end = "and nobody has told this thread that it is done"
	}
	w.failAccess(AsyncPending, use{access: now}, lane, r.genericAddr(off), "%s of %s byte %d, which is being %s by the %s of %s at line %d, %s: %s",
		now, r.describe(), off, doing, w.launch.workName(old), w.launch.threadName(old), w.prog.code[at].line, end, oneLine(w.prog.code[at].text))
}

func (r *region) genericAddr(off int) uint64 { return windowOf(r.space) + r.base + uint64(off) }

func (r *region) describe() string {
	if r.space == spGlobal {
		return fmt.Sprintf("'%s'", r.name)
	}
	return r.space.String() + " memory"
}

// threadName names the thread that made an access, or that issued the asynchronous operation.
func (l *launch) threadName(r accessStamp) string {
	id, lane, many := r.warp(), r.lane(), r.many()
	kind, dynamic := l.kindOf(r)
	if dynamic {
		a := l.agents[id-uint32(l.ctas*l.idsPerCTA)]
		by := a.issuers[min(max(int(r.epoch()), 1), len(a.issuers))-1]
		id, lane, many = by>>5, int(by&31), false
	}
	n := uint32(l.idsPerCTA)
	cta, warp := l.ctaID(int(id/n)), id%n%uint32(l.warpsPerCTA)
	switch {
	case kind == agentWgmma:
		return fmt.Sprintf("warpgroup %d of CTA (%d,%d,%d)", warp/4, cta[0], cta[1], cta[2])
	case many:
		return fmt.Sprintf("several lanes of warp %d of CTA (%d,%d,%d)", warp, cta[0], cta[1], cta[2])
	}
	return fmt.Sprintf("warp %d lane %d of CTA (%d,%d,%d)", warp, lane, cta[0], cta[1], cta[2])
}

// ctaIndex gives the CTA of the thread that threadName names.
func (l *launch) ctaIndex(r accessStamp) int {
	id := r.warp()
	if _, dynamic := l.kindOf(r); dynamic {
		a := l.agents[id-uint32(l.ctas*l.idsPerCTA)]
		id = a.issuers[min(max(int(r.epoch()), 1), len(a.issuers))-1] >> 5
	}
	return int(id / uint32(l.idsPerCTA))
}

// workName names the asynchronous operation that made an access.
func (l *launch) workName(r accessStamp) string {
	kind, dynamic := l.kindOf(r)
	if dynamic {
		a := l.agents[r.warp()-uint32(l.ctas*l.idsPerCTA)]
		return a.kinds[min(max(int(r.epoch()), 1), len(a.kinds))-1]
	}
	return agentNames[kind]
}
