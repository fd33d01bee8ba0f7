package emu

import "math/bits"

// asyncAccess makes the accesses of one asynchronous operation in the shadow: it checks that the issuer knows
// of what was there before, and leaves the agent's stamp.
type asyncAccess struct {
	w     *warp
	lane  int
	me    rec
	proxy level   // asyncProxy, or happened for the generic proxy
	with  []*warp // warps that issue together with w: all must know
	data  []byte  // what a write will leave at offset at, if it may be what is there
	at    int
}

// access begins the accesses of an operation that a lane issues: stamp is from issue.
func (w *warp) access(stamp rec, lane int, proxy level) *asyncAccess {
	return &asyncAccess{w: w, lane: lane, me: stamp | rec(lane)<<4, proxy: proxy}
}

// read and write are accesses to n bytes at off.
func (a *asyncAccess) read(r *region, off, n int)  { a.span(r, off, n, false) }
func (a *asyncAccess) write(r *region, off, n int) { a.span(r, off, n, true) }

// span goes through the granules of the bytes.
func (a *asyncAccess) span(r *region, off, n int, write bool) {
	if a.w.launch.opt.Checks.NoRaces || r.readonly || !r.tracked() {
		return
	}
	for n > 0 {
		step := 16
		for off&(step-1) != 0 || step > n {
			step >>= 1
		}
		cells := r.shadow.cells(off, step, len(r.data))
		if write {
			r.shadow.wrote(off)
		}
		for i := range cells {
			a.cell(r, off+i*step/len(cells), &cells[i], write)
		}
		off, n = off+step, n-step
	}
}

// conflict reports an access before this one that is not known here. A write that leaves the bytes as they are is a milder one.
func (a *asyncAccess) conflict(r *region, off int, now, then string, old rec, at int32) {
	k := Race
	if a.data != nil && bytesEqual(r, a.at, a.data) {
		k = SameValueRace
	}
	a.w.race(r, off, a.lane, now, then, old, at, k)
}

func (a *asyncAccess) cell(r *region, off int, c *cell, write bool) {
	now := "read"
	if write {
		now = "write"
	}
	if c.w != 0 && c.w != a.me {
		if !a.ordered(c.w) && !a.w.compatible(c.w, a.me.scope()) {
			a.conflict(r, off, now, "write", c.w, c.wa)
		} else if v := a.asks(r, write); v != happened && !a.fenced(c.w, v) && a.w.launch.generic(c.w) {
			a.missingFence(r, off, now, c)
		}
	}
	if !write {
		a.addReader(&r.shadow, c)
		return
	}
	if c.r != 0 {
		for _, x := range r.shadow.readers(c) {
			if x.r != a.me && !a.ordered(x.r) && !a.w.compatible(x.r, a.me.scope()) {
				a.conflict(r, off, now, "read", x.r, x.at)
			}
		}
		r.shadow.drop(c)
	}
	c.w, c.wa = a.me, a.w.here
}

// readers gives the reads of a cell as a list.
func (s *shadow) readers(c *cell) []reader {
	if c.r&recList != 0 {
		return *s.list(c.r)
	}
	return []reader{{c.r, c.ra}}
}

// addReader puts the read among those of a cell; one of the same agent before it is replaced, since who knows
// the later one to be done knows the earlier one too.
func (a *asyncAccess) addReader(s *shadow, c *cell) {
	w := a.w
	me := reader{a.me, w.here}
	replaces := func(old rec) bool {
		return old.warp() == me.r.warp() && old.lane() == me.r.lane() && !old.many() || a.ordered(old)
	}
	switch {
	case c.r == 0:
		c.r, c.ra = me.r, me.at
	case c.r&recList != 0:
		l := s.list(c.r)
		for i := len(*l) - 1; i >= max(0, len(*l)-16); i-- {
			if replaces((*l)[i].r) {
				(*l)[i] = me
				return
			}
		}
		if n := len(*l); n >= 64 && n&(n-1) == 0 {
			*l = oneEach(*l)
		}
		*l = append(*l, me)
	case replaces(c.r):
		c.r, c.ra = me.r, me.at
	default:
		c.r = s.newList(reader{c.r, c.ra}, me)
	}
}

// ordered tells whether all who issue the operation know of the access r.
func (a *asyncAccess) ordered(r rec) bool {
	for _, w := range a.with {
		if r.warp() != w.id && !w.ordered(0, r) {
			return false
		}
	}
	return a.with != nil || a.w.ordered(a.lane, r)
}

// asks is the level at which generic writes of a region must be known.
func (a *asyncAccess) asks(r *region, write bool) level {
	if a.proxy == asyncProxy && !write && r.space == spShared {
		return asyncByWriter
	}
	return a.proxy
}

// fenced tells whether a proxy fence stands between the access r and somebody who issues the operation.
func (a *asyncAccess) fenced(r rec, v level) bool {
	for _, w := range a.with {
		if w.knownAt(0, r, v) {
			return true
		}
	}
	return a.with == nil && a.w.knownAt(a.lane, r, v)
}

// missingFence reports a generic write that another proxy may not see yet.
func (a *asyncAccess) missingFence(r *region, off int, now string, c *cell) {
	w := a.w
	proxy, lacks := "async proxy", "no fence.proxy.async stands between"
	switch {
	case a.proxy == mapAcquired:
		proxy, lacks = "proxy of tensor maps", "no release and acquire by fence.proxy.tensormap stands between"
	case a.fenced(c.w, a.proxy):
		lacks = "did not execute the fence.proxy.async that stands between"
	}
	w.objection(ProxyFence, a.lane, r.generic(off), "%s of %s byte %d by the %s: %s wrote it through the generic proxy at line %d (%s), and %s",
		now, r.describe(), off, proxy, w.launch.threadName(c.w), w.prog.code[c.wa].line, oneLine(w.prog.code[c.wa].text), lacks)
}

// objection is a fault in our own PTX, and a note in PTX of others.
func (w *warp) objection(k Kind, lane int, addr uint64, format string, args ...any) {
	foreign := w.launch.opt.Foreign
	if foreign && w.launch.again(w.prog.code[w.here].line, k) {
		return
	}
	rep := w.report(k, lane, addr, format, args...)
	if !foreign {
		panic(fault{rep})
	}
	w.launch.note(rep)
}

// --- cp.async ---

// copyOp is a decoded cp.async: size bytes, of which a source-size operand or a predicate may leave out some.
type copyOp struct {
	dst, src memOp
	size     int
	srcSize  int // index in src, -1: none
	ignore   bool
}

func (w *warp) copyAsync(in *inst, op *copyOp, m uint32) {
	w.launch.event = w.launch.stats.warpInstrs
	to := *w.addresses(in, &op.dst, m)
	from := *w.addresses(in, &op.src, m)
	if w.launch.opt.Stats {
		w.countAccess(&op.dst, &to, m)
		w.countAccess(&op.src, &from, m)
	}
	var sizes *vec
	if op.srcSize >= 0 {
		w.needDefined(in.src[op.srcSize], m, "the source size")
		sizes = w.src(in.src[op.srcSize])
	}
	skip := uint32(0)
	if op.ignore {
		w.needPred(in.psrc[0].slot, m, "the ignore-source operand")
		skip = w.pred(in.psrc[0])
	}
	a := asyncAccess{w: w, proxy: happened}
	stamp := w.issue(agCopy, m)
	lanes(m, func(i int) {
		n := op.size
		if sizes != nil {
			if n = int(uint32(sizes[i])); n > op.size {
				w.fail(Invalid, 1<<i, from[i], "source size %d of a copy of %d bytes", n, op.size)
			}
		}
		if skip>>i&1 != 0 {
			n = 0
		}
		a.lane, a.me = i, stamp|rec(i)<<4
		var data [16]byte
		w.copySource(&a, from[i], n, op.size, &data)
		r, at := w.find(spShared, to[i], op.size, i, "cp.async store")
		a.data, a.at = data[:op.size], at
		a.write(r, at, op.size)
		a.data = nil
		copy(r.data[at:], data[:op.size])
		clear(r.undef[at : at+op.size])
	})
}

// copySource reads the n bytes of the source of a lane's cp.async; it is aligned to the whole copy.
func (w *warp) copySource(a *asyncAccess, from uint64, n, size int, data *[16]byte) {
	if n == 0 {
		return
	}
	i := a.lane
	if from&uint64(size-1) != 0 && !w.launch.opt.Checks.NoAlignment {
		w.fail(Misaligned, 1<<i, from, "%d-byte cp.async from %#x", size, from)
	}
	for k := 0; k < n; {
		step := 1 << bits.TrailingZeros(uint(n-k)|16)
		for k%step != 0 {
			step >>= 1
		}
		r, at := w.find(spGlobal, from+uint64(k), step, i, "cp.async")
		a.read(r, at, step)
		for j := 0; r.undef != nil && j < step; j++ {
			if r.undef[at+j] != 0 {
				w.fail(Undefined, 1<<i, from, "cp.async of %s byte %d, which has never been written", r.describe(), at+j)
			}
		}
		copy(data[k:], r.data[at:at+step])
		k += step
	}
}

// bytesEqual tells whether data would leave a region as it is.
func bytesEqual(r *region, at int, data []byte) bool {
	for k, b := range data {
		if r.data[at+k] != b || r.undef != nil && r.undef[at+k] != 0 {
			return false
		}
	}
	return true
}
