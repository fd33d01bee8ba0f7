package emu

import "fmt"

// accessStamp says who made an access and when: epoch, id of the warp or agent in the grid, lane, and scope. 0 is "none".
//
//	63 index of a list | 34-60 epoch | 9-33 warp or agent | 4-8 lane | 2-3 scope of a strong access | 1 several lanes
type accessStamp uint64

const (
	stampMany  accessStamp = 1 << 1
	stampList  accessStamp = 1 << 63
	stampEpoch accessStamp = (1<<27 - 1) << 34 // the epoch
)

func (r accessStamp) epoch() uint32   { return uint32(r >> 34 & (1<<27 - 1)) }
func (r accessStamp) warp() uint32    { return uint32(r >> 9 & (1<<25 - 1)) }
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

// shadowCell holds the last accesses to a granule: the last write, and the reads since then that are concurrent with each other
// (one, or a list of one per warp), with the pc of each.
type shadowCell struct {
	lastWrite, reads accessStamp
	writePC, readPC  int32
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
	lists [][]readRecord // concurrent reads of a cell, by the index in its stamp
	free  []int32        // unused lists
	undo  *undoLog       // of global memory in a part of a launch
	bias  int            // of byte 0 in the first page: pages begin where addresses are multiples of their size
}

type readRecord struct {
	stamp accessStamp
	pc    int32
}

// cells gives the cells of n bytes at off, an aligned access of 1 to 32 bytes.
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
			l := append([]readRecord(nil), *s.list(x.reads)...)
			c[2*i+1].reads = s.newList(l...)
		}
	}
	p.cells = c
	p.shift--
}

func (s *shadow) list(r accessStamp) *[]readRecord { return &s.lists[r&^stampList] }

func (s *shadow) newList(l ...readRecord) accessStamp {
	if n := len(s.free); n > 0 {
		i := s.free[n-1]
		s.free = s.free[:n-1]
		s.lists[i] = append(s.lists[i][:0], l...)
		return stampList | accessStamp(i)
	}
	s.lists = append(s.lists, l)
	return stampList | accessStamp(len(s.lists)-1)
}

// dropReads clears the reads of a cell.
func (s *shadow) dropReads(c *shadowCell) {
	if c.reads&stampList != 0 {
		s.free = append(s.free, int32(c.reads&^stampList))
	}
	c.reads = 0
}

func (s *shadow) reset() {
	clear(s.pages)
	s.lists, s.free = s.lists[:0], s.free[:0]
}

// morallyStrong tells whether two strong accesses are morally strong with each other: no race (8.7.1).
func (w *warp) morallyStrong(r accessStamp, s strength) bool {
	return s != weak && r.scope() != weak && w.launch.include(s, r.scope(), w.launch.ctaIndex(r), w.cta.index)
}

// recordRead records a read of n bytes and reports a race with an earlier write.
func (w *warp) recordRead(r *region, off, n, lane int, s strength) {
	if w.launch.opt.Checks.NoRaces || r.readonly {
		return
	}
	me := w.stamp(lane, s)
	cells := r.shadow.cells(off, n, len(r.data))
	for i := range cells {
		c := &cells[i]
		if c.lastWrite != 0 && c.lastWrite&^stampEpoch != me&^stampEpoch { // else: the same thread wrote it
			if !w.morallyStrong(c.lastWrite, s) && !w.happenedBefore(lane, c.lastWrite) {
				w.race(r, off+i*n/len(cells), lane, "read", "write", c.lastWrite, c.writePC, Race)
			}
		}
		if c.reads == 0 || c.reads&^stampEpoch == me&^stampEpoch { // nobody, or the same thread
			c.reads, c.readPC = me, w.curPC
			continue
		}
		w.addReader(&r.shadow, c, me, lane)
	}
}

// checkNonCoherent reports a non-coherent read of bytes that this launch has written, in whatever order (9.7.9.9: the memory must
// be read-only for the lifetime of the kernel).
func (w *warp) checkNonCoherent(r *region, off, n, lane int) {
	if w.launch.opt.Checks.NoRaces || r.readonly {
		return
	}
	for _, c := range r.shadow.cells(off, n, len(r.data)) {
		if c.lastWrite != 0 {
			w.fail(Race, 1<<lane, r.genericAddr(off), "non-coherent read of %s byte %d, which %s wrote at line %d",
				r.describe(), off, w.launch.threadName(c.lastWrite), w.prog.code[c.writePC].line)
		}
	}
}

// addReader adds a read to the concurrent reads of a cell.
func (w *warp) addReader(s *shadow, c *shadowCell, me accessStamp, lane int) {
	old := c.reads
	if old == 0 {
		c.reads, c.readPC = me, w.curPC
		return
	}
	if old&stampList == 0 {
		if m, ok := w.mergeRead(old, me, lane); ok {
			c.reads, c.readPC = m, w.curPC
			return
		}
		c.reads = s.newList(readRecord{old, c.readPC}, readRecord{me, w.curPC})
		return
	}
	l := s.list(old)
	for i := len(*l) - 1; i >= max(0, len(*l)-16); i-- { // a warp that read lately is near the end
		if m, ok := w.mergeRead((*l)[i].stamp, me, lane); ok {
			(*l)[i] = readRecord{m, w.curPC}
			return
		}
	}
	if n := len(*l); n >= 64 && n&(n-1) == 0 {
		*l = latestPerWarp(*l)
	}
	*l = append(*l, readRecord{me, w.curPC})
}

// latestPerWarp keeps the latest read of every warp, so that a list stays as short as there are warps.
func latestPerWarp(l []readRecord) []readRecord {
	at := map[uint32]int{}
	out := l[:0]
	for _, x := range l {
		i, ok := at[x.stamp.warp()]
		if !ok {
			at[x.stamp.warp()] = len(out)
			out = append(out, x)
			continue
		}
		if x.stamp.epoch() >= out[i].stamp.epoch() {
			if out[i].stamp.many() || out[i].stamp.lane() != x.stamp.lane() {
				x.stamp |= stampMany
			}
			out[i] = x
		}
	}
	return out
}

// mergeRead replaces an earlier read by the present one where that loses no race: it happened before, or
// both are by this warp.
func (w *warp) mergeRead(old, me accessStamp, lane int) (accessStamp, bool) {
	if old.warp() == w.id {
		if old.epoch() >= w.syncEpoch && (old.many() || old.lane() != lane) {
			me |= stampMany
		}
		if me.scope() > old.scope() {
			me = me&^(3<<2) | accessStamp(old.scope())<<2
		}
		return me, true
	}
	return me, w.happenedBefore(lane, old)
}

// recordWrite records a write of n bytes and reports a race with an earlier access. same: the bytes have that value already.
func (w *warp) recordWrite(r *region, off, n, lane int, s strength, same bool) {
	if w.launch.opt.Checks.NoRaces {
		return
	}
	me := w.stamp(lane, s)
	cells := r.shadow.cells(off, n, len(r.data))
	r.shadow.markWritten(off)
	for i := range cells {
		c := &cells[i]
		if c.lastWrite != 0 && c.lastWrite&^stampEpoch != me&^stampEpoch {
			if !w.morallyStrong(c.lastWrite, s) && !w.happenedBefore(lane, c.lastWrite) {
				k := Race
				if same {
					k = SameValueRace
				}
				w.race(r, off+i*n/len(cells), lane, "write", "write", c.lastWrite, c.writePC, k)
			}
		}
		if c.reads != 0 && c.reads&^stampEpoch == me&^stampEpoch {
			c.reads = 0
		} else if c.reads != 0 {
			w.checkReaders(r, off+i*n/len(cells), lane, s, c, same)
			r.shadow.dropReads(c)
		}
		c.lastWrite, c.writePC = me, w.curPC
	}
}

// checkReaders reports the earlier reads of a cell that did not happen before the write.
func (w *warp) checkReaders(r *region, off, lane int, s strength, c *shadowCell, same bool) {
	k := Race
	if same {
		k = SameValueRace
	}
	if c.reads&stampList == 0 {
		if !w.morallyStrong(c.reads, s) && !w.happenedBefore(lane, c.reads) {
			w.race(r, off, lane, "write", "read", c.reads, c.readPC, k)
		}
		return
	}
	for _, x := range *r.shadow.list(c.reads) {
		if !w.morallyStrong(x.stamp, s) && !w.happenedBefore(lane, x.stamp) {
			w.race(r, off, lane, "write", "read", x.stamp, x.pc, k)
		}
	}
}

// race reports two unordered accesses. Stores of equal values by different CTAs are a note, since every tile block
// of the source made that store; with Options.NoteEqualStores, those of one CTA too. In foreign PTX, races between lanes of one
// warp and all stores of equal values are notes: hardware runs a converged warp in lockstep, and equal stores commute.
// If the earlier access is that of an agent, the operation is still in flight, and that is reported.
func (w *warp) race(r *region, off, lane int, now, then string, old accessStamp, at int32, k Kind) {
	others := w.launch.ctaIndex(old) != w.cta.index
	note := k == SameValueRace && (others || w.launch.opt.NoteEqualStores) || w.launch.opt.Foreign && (old.warp() == w.id || k == SameValueRace)
	if kind, _ := w.launch.kindOf(old); kind != agentThread && !note {
		w.reportInFlight(r, off, lane, now, then, old, at)
	}
	if note && w.launch.countRepeat(w.prog.code[w.curPC].line, k) {
		return
	}
	rep := w.report(k, lane, r.genericAddr(off), "%s of %s byte %d is not ordered after the %s by %s at line %d: %s",
		now, r.describe(), off, then, w.launch.threadName(old), w.prog.code[at].line, oneLine(w.prog.code[at].text))
	rep.Other = &Other{Line: int(w.prog.code[at].line), CTA: w.launch.ctaID(w.launch.ctaIndex(old)), Write: then == "write", Region: r.describe(), Offset: off}
	if note {
		w.launch.note(rep)
		return
	}
	panic(fault{rep})
}

// reportInFlight reports an access to bytes that an asynchronous operation may still read or write.
func (w *warp) reportInFlight(r *region, off, lane int, now, then string, old accessStamp, at int32) {
	doing, end := "written", "which has not waited for it"
	if then == "read" {
		doing = "read"
	}
	if kind, _ := w.launch.kindOf(old); kind != agentCpAsync {
		end = "and nobody has told this thread that it is done"
	}
	panic(fault{w.report(AsyncPending, lane, r.genericAddr(off), "%s of %s byte %d, which is being %s by the %s of %s at line %d, %s: %s",
		now, r.describe(), off, doing, w.launch.workName(old), w.launch.threadName(old), w.prog.code[at].line, end, oneLine(w.prog.code[at].text))})
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
