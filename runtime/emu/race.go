package emu

import "fmt"

// rec is the stamp of an access: epoch, warp or agent of the grid, lane, and how it was made. 0 is "none".
//
//	63 list | 34-60 epoch | 9-33 warp or agent | 4-8 lane | 2-3 scope of a strong access | 1 many lanes
type rec uint64

const (
	recMany rec = 1 << 1
	recList rec = 1 << 63
	recTime rec = (1<<27 - 1) << 34 // the epoch
)

func (r rec) epoch() uint32   { return uint32(r >> 34 & (1<<27 - 1)) }
func (r rec) warp() uint32    { return uint32(r >> 9 & (1<<25 - 1)) }
func (r rec) lane() int       { return int(r >> 4 & 31) }
func (r rec) scope() strength { return strength(r >> 2 & 3) }
func (r rec) many() bool      { return r&recMany != 0 }

// strength is how strong an access is: weak, or strong in a scope.
type strength uint8

const (
	weak     strength = iota
	ctaScope          // .cta
	gpuScope          // .cluster, .gpu, .sys
)

func (w *warp) stamp(lane int, s strength) rec {
	return rec(w.epoch)<<34 | rec(w.id)<<9 | rec(lane)<<4 | rec(s)<<2
}

// cell holds the last accesses of a granule: the last write, and the reads since then that are not
// ordered among each other (one, or a list of one per warp). at is the place of each in the program.
type cell struct {
	w, r   rec
	wa, ra int32
}

// page holds the cells of 1024 bytes. Its granule is as large as the smallest access there has been, from
// 16 bytes down to 1, so no masks are needed and wide accesses are cheap.
type page struct {
	shift   uint8 // granule = 1 << shift bytes
	written bool  // some byte of it
	cells   []cell
}

const pageBits = 10

type shadow struct {
	pages  []*page
	lists  [][]reader
	free   []int32
	origin *origin // of global memory in a part of a launch
}

type reader struct {
	r  rec
	at int32
}

// cells gives the granules of n bytes at off, an aligned access of 1 to 32 bytes.
func (s *shadow) cells(off, n, size int) []cell {
	if k := off >> pageBits; k < len(s.pages) {
		if p := s.pages[k]; p != nil && (off|n)&(1<<p.shift-1) == 0 {
			i := off & (1<<pageBits - 1) >> p.shift
			return p.cells[i : i+n>>p.shift]
		}
	}
	return s.newCells(off, n, size)
}

// newCells makes the page, or its granule small enough.
func (s *shadow) newCells(off, n, size int) []cell {
	if s.pages == nil {
		s.pages = make([]*page, size>>pageBits+1)
	}
	p := s.pages[off>>pageBits]
	if p == nil {
		shift := uint8(0)
		for shift < 4 && n>>(shift+1) != 0 && (off|n)&(1<<(shift+1)-1) == 0 {
			shift++
		}
		p = &page{shift: shift, cells: make([]cell, 1<<(pageBits-shift))}
		s.pages[off>>pageBits] = p
	}
	for (off|n)&(1<<p.shift-1) != 0 {
		s.refine(p)
	}
	i := off & (1<<pageBits - 1) >> p.shift
	return p.cells[i : i+n>>p.shift]
}

// refine halves the granule of a page.
func (s *shadow) refine(p *page) {
	c := make([]cell, 2*len(p.cells))
	for i, x := range p.cells {
		c[2*i], c[2*i+1] = x, x
		if x.r&recList != 0 {
			l := append([]reader(nil), *s.list(x.r)...)
			c[2*i+1].r = s.newList(l...)
		}
	}
	p.cells = c
	p.shift--
}

func (s *shadow) list(r rec) *[]reader { return &s.lists[r&^recList] }

func (s *shadow) newList(l ...reader) rec {
	if n := len(s.free); n > 0 {
		i := s.free[n-1]
		s.free = s.free[:n-1]
		s.lists[i] = append(s.lists[i][:0], l...)
		return recList | rec(i)
	}
	s.lists = append(s.lists, l)
	return recList | rec(len(s.lists)-1)
}

func (s *shadow) drop(c *cell) {
	if c.r&recList != 0 {
		s.free = append(s.free, int32(c.r&^recList))
	}
	c.r = 0
}

func (s *shadow) reset() {
	clear(s.pages)
	s.lists, s.free = s.lists[:0], s.free[:0]
}

// compatible tells whether two strong accesses are morally strong with each other: no race (8.7.1).
func (w *warp) compatible(r rec, s strength) bool {
	if s == weak || r.scope() == weak {
		return false
	}
	if s == ctaScope || r.scope() == ctaScope {
		return r.warp()-w.cta.firstID < uint32(w.ids)
	}
	return true
}

// noteRead records a read of n bytes and reports a race with an earlier write.
func (w *warp) noteRead(r *region, off, n, lane int, s strength) {
	if w.launch.opt.Checks.NoRaces || r.readonly {
		return
	}
	me := w.stamp(lane, s)
	cells := r.shadow.cells(off, n, len(r.data))
	for i := range cells {
		c := &cells[i]
		if c.w != 0 && c.w&^recTime != me&^recTime { // else: the same thread wrote it
			if !w.ordered(lane, c.w) && !w.compatible(c.w, s) {
				w.race(r, off+i*n/len(cells), lane, "read", "write", c.w, c.wa, Race)
			}
		}
		if c.r == 0 || c.r&^recTime == me&^recTime { // nobody, or the same thread
			c.r, c.ra = me, w.here
			continue
		}
		w.addReader(&r.shadow, c, me, lane)
	}
}

// neverWritten reports a non-coherent read of bytes that this launch has written, in whatever order
// (9.7.9.9: the memory must be read-only for the lifetime of the kernel).
func (w *warp) neverWritten(r *region, off, n, lane int) {
	if w.launch.opt.Checks.NoRaces || r.readonly {
		return
	}
	for _, c := range r.shadow.cells(off, n, len(r.data)) {
		if c.w != 0 {
			w.fail(Race, 1<<lane, r.generic(off), "non-coherent read of %s byte %d, which %s wrote at line %d",
				r.describe(), off, w.launch.threadName(c.w), w.prog.code[c.wa].line)
		}
	}
}

// addReader puts the access among the reads of a cell.
func (w *warp) addReader(s *shadow, c *cell, me rec, lane int) {
	old := c.r
	if old == 0 {
		c.r, c.ra = me, w.here
		return
	}
	if old&recList == 0 {
		if m, ok := w.joinRead(old, me, lane); ok {
			c.r, c.ra = m, w.here
			return
		}
		c.r = s.newList(reader{old, c.ra}, reader{me, w.here})
		return
	}
	l := s.list(old)
	for i := len(*l) - 1; i >= max(0, len(*l)-16); i-- { // the readers of late come late
		if m, ok := w.joinRead((*l)[i].r, me, lane); ok {
			(*l)[i] = reader{m, w.here}
			return
		}
	}
	if n := len(*l); n >= 64 && n&(n-1) == 0 {
		*l = oneEach(*l)
	}
	*l = append(*l, reader{me, w.here})
}

// oneEach keeps the latest read of every warp, so that a list stays as short as there are warps.
func oneEach(l []reader) []reader {
	at := map[uint32]int{}
	out := l[:0]
	for _, x := range l {
		i, ok := at[x.r.warp()]
		if !ok {
			at[x.r.warp()] = len(out)
			out = append(out, x)
			continue
		}
		if x.r.epoch() >= out[i].r.epoch() {
			if out[i].r.many() || out[i].r.lane() != x.r.lane() {
				x.r |= recMany
			}
			out[i] = x
		}
	}
	return out
}

// joinRead replaces an earlier read by the present one where that loses nothing: it is ordered before, or
// both are of this warp.
func (w *warp) joinRead(old, me rec, lane int) (rec, bool) {
	if old.warp() == w.id {
		if old.epoch() >= w.full && (old.many() || old.lane() != lane) {
			me |= recMany
		}
		if me.scope() > old.scope() {
			me = me&^(3<<2) | rec(old.scope())<<2
		}
		return me, true
	}
	return me, w.ordered(lane, old)
}

// noteWrite records a write of n bytes and reports a race with an earlier access. same tells that the
// write leaves the bytes as they are.
func (w *warp) noteWrite(r *region, off, n, lane int, s strength, same bool) {
	if w.launch.opt.Checks.NoRaces {
		return
	}
	me := w.stamp(lane, s)
	cells := r.shadow.cells(off, n, len(r.data))
	r.shadow.wrote(off)
	for i := range cells {
		c := &cells[i]
		if c.w != 0 && c.w&^recTime != me&^recTime {
			if !w.ordered(lane, c.w) && !w.compatible(c.w, s) {
				k := Race
				if same {
					k = SameValueRace
				}
				w.race(r, off+i*n/len(cells), lane, "write", "write", c.w, c.wa, k)
			}
		}
		if c.r != 0 && c.r&^recTime == me&^recTime {
			c.r = 0
		} else if c.r != 0 {
			w.checkReaders(r, off+i*n/len(cells), lane, s, c, same)
			r.shadow.drop(c)
		}
		c.w, c.wa = me, w.here
	}
}

func (w *warp) checkReaders(r *region, off, lane int, s strength, c *cell, same bool) {
	k := Race
	if same {
		k = SameValueRace
	}
	if c.r&recList == 0 {
		if !w.ordered(lane, c.r) && !w.compatible(c.r, s) {
			w.race(r, off, lane, "write", "read", c.r, c.ra, k)
		}
		return
	}
	for _, x := range *r.shadow.list(c.r) {
		if !w.ordered(lane, x.r) && !w.compatible(x.r, s) {
			w.race(r, off, lane, "write", "read", x.r, x.at, k)
		}
	}
}

// race reports two unordered accesses. Stores of the same value by different CTAs are a note: every block of
// the source stored it; by option, those of one CTA too. In PTX of others, races inside a warp and all stores of the value that is there
// already are notes: hardware runs a warp in step, and equal values commute. An access of an agent that is
// not known to be done is in flight.
func (w *warp) race(r *region, off, lane int, now, then string, old rec, at int32, k Kind) {
	others := old.warp()-w.cta.firstID >= uint32(w.ids) // another CTA
	if kind, _ := w.launch.kindOf(old); kind != agThread && k != SameValueRace {
		w.inFlight(r, off, lane, now, then, old, at)
	}
	note := k == SameValueRace && (others || w.launch.opt.NoteEqualStores) || w.launch.opt.Foreign && (old.warp() == w.id || k == SameValueRace)
	if note && w.launch.again(w.prog.code[w.here].line, k) {
		return
	}
	rep := w.report(k, lane, r.generic(off), "%s of %s byte %d is not ordered after the %s by %s at line %d: %s",
		now, r.describe(), off, then, w.launch.threadName(old), w.prog.code[at].line, oneLine(w.prog.code[at].text))
	rep.Other = &Other{Line: int(w.prog.code[at].line), CTA: w.launch.ctaOf(old), Write: then == "write", Region: r.describe(), Offset: off}
	if note {
		w.launch.note(rep)
		return
	}
	panic(fault{rep})
}

// inFlight reports an access to bytes that asynchronous work still reads or writes.
func (w *warp) inFlight(r *region, off, lane int, now, then string, old rec, at int32) {
	doing, end := "written", "which has not waited for it"
	if then == "read" {
		doing = "read"
	}
	if kind, _ := w.launch.kindOf(old); kind != agCopy {
		end = "and nobody has told this thread that it is done"
	}
	panic(fault{w.report(AsyncPending, lane, r.generic(off), "%s of %s byte %d, which is being %s by the %s of %s at line %d, %s: %s",
		now, r.describe(), off, doing, w.launch.workName(old), w.launch.threadName(old), w.prog.code[at].line, end, oneLine(w.prog.code[at].text))})
}

func (r *region) generic(off int) uint64 { return windowOf(r.space) + r.base + uint64(off) }

func (r *region) describe() string {
	if r.space == spGlobal {
		return fmt.Sprintf("'%s'", r.name)
	}
	return r.space.String() + " memory"
}

// threadName names the thread of a stamp, or the one whose asynchronous work it was.
func (l *launch) threadName(r rec) string {
	id, lane, many := r.warp(), r.lane(), r.many()
	kind, dynamic := l.kindOf(r)
	if dynamic {
		a := l.agents[id-uint32(l.ctas*l.ids)]
		by := a.issuers[min(max(int(r.epoch()), 1), len(a.issuers))-1]
		id, lane, many = by>>5, int(by&31), false
	}
	n := uint32(l.ids)
	cta, warp := l.ctaID(int(id/n)), id%n%uint32(l.warpsPerCTA)
	switch {
	case kind == agMatrix:
		return fmt.Sprintf("warpgroup %d of CTA (%d,%d,%d)", warp/4, cta[0], cta[1], cta[2])
	case many:
		return fmt.Sprintf("several lanes of warp %d of CTA (%d,%d,%d)", warp, cta[0], cta[1], cta[2])
	}
	return fmt.Sprintf("warp %d lane %d of CTA (%d,%d,%d)", warp, lane, cta[0], cta[1], cta[2])
}

// ctaOf gives the CTA of a stamp, or the one whose asynchronous work it was.
func (l *launch) ctaOf(r rec) [3]int {
	id := r.warp()
	if _, dynamic := l.kindOf(r); dynamic {
		a := l.agents[id-uint32(l.ctas*l.ids)]
		id = a.issuers[min(max(int(r.epoch()), 1), len(a.issuers))-1] >> 5
	}
	return l.ctaID(int(id / uint32(l.ids)))
}

// workName names the asynchronous work of a stamp.
func (l *launch) workName(r rec) string {
	kind, dynamic := l.kindOf(r)
	if dynamic {
		a := l.agents[r.warp()-uint32(l.ctas*l.ids)]
		return a.kinds[min(max(int(r.epoch()), 1), len(a.kinds))-1]
	}
	return agentNames[kind]
}
