package emu

import "math/bits"

// asyncAccess records the accesses of one asynchronous operation in shadow memory: it checks that earlier accesses
// happened before the issue, and leaves the agent's stamp.
type asyncAccess struct {
	w       *warp
	lane    int
	stamp   accessStamp
	proxy   visibility // asyncProxy, or happened for the generic proxy
	issuers []*warp    // all warps that issue it together: earlier accesses must have happened before each
	data    []byte     // what a write will leave at offset at, for a comparison with what is there; nil: no comparison
	at      int
}

// access makes the asyncAccess of an operation that a lane issues; stamp is from issue.
func (w *warp) access(stamp accessStamp, lane int, proxy visibility) *asyncAccess {
	return &asyncAccess{w: w, lane: lane, stamp: stamp | accessStamp(lane)<<4, proxy: proxy}
}

// read and write record an access to n bytes at off.
func (a *asyncAccess) read(r *region, off, n int)  { a.span(r, off, n, false) }
func (a *asyncAccess) write(r *region, off, n int) { a.span(r, off, n, true) }

// span goes through the granules of the bytes.
func (a *asyncAccess) span(r *region, off, n int, write bool) {
	if a.w.launch.opt.Checks.NoRaces || r.readonly || !r.tracked() {
		return
	}
	for n > 0 {
		step := 16
		for (off+r.shadow.bias)&(step-1) != 0 || step > n {
			step >>= 1
		}
		cells := r.shadow.cells(off, step, len(r.data))
		if write {
			r.shadow.markWritten(off)
		}
		for i := range cells {
			a.cell(r, off+i*step/len(cells), &cells[i], write)
		}
		off, n = off+step, n-step
	}
}

// conflict reports that the access old did not happen before this one. A write of the value already there is a SameValueRace.
func (a *asyncAccess) conflict(r *region, off int, now, then Access, old *accessRecord) {
	k := Race
	if a.data != nil && bytesEqual(r, a.at, a.data) {
		k = SameValueRace
	}
	a.w.race(r, off, a.lane, now, then, old, k, nil)
}

func (a *asyncAccess) cell(r *region, off int, c *shadowCell, write bool) {
	now := Read
	if write {
		now = Write
	}
	e := accessor{a.w, a.lane, a.stamp, a.issuers}
	var one [1]accessRecord
	l := r.shadow.records(c.lastWrite, c.writePC, &one)
	for i := range l {
		switch x := &l[i]; {
		case x.stamp == a.stamp:
		case !e.follows(x) && !a.w.morallyStrong(x.stamp, a.stamp):
			a.conflict(r, off, now, Write, x)
		case a.missesFence(r, x, write):
			a.missingFence(r, off, now, x)
		}
	}
	if !write {
		e.add(&r.shadow, &c.reads, &c.readPC)
		return
	}
	l = r.shadow.records(c.reads, c.readPC, &one)
	for i := range l {
		if x := &l[i]; x.stamp != a.stamp && !e.follows(x) && !a.w.morallyStrong(x.stamp, a.stamp) {
			a.conflict(r, off, now, Read, x)
		}
	}
	r.shadow.drop(&c.reads)
	r.shadow.drop(&c.lastWrite)
	e.add(&r.shadow, &c.lastWrite, &c.writePC)
}

// missesFence tells whether x is a generic write that the proxy of the operation may not see yet.
func (a *asyncAccess) missesFence(r *region, x *accessRecord, write bool) bool {
	v := a.requiredVisibility(r, write)
	return v != happened && !a.fenced(x, v) && a.w.launch.viaGenericProxy(x.stamp)
}

// requiredVisibility is what visibility earlier generic writes to a region must have.
func (a *asyncAccess) requiredVisibility(r *region, write bool) visibility {
	switch {
	case a.proxy == asyncProxy && r.space == spGlobal:
		return asyncGlobal
	case a.proxy == asyncProxy && !write:
		return fencedByWriter
	}
	return a.proxy
}

// fenced tells whether a proxy fence stands between the accesses x and somebody who issues the operation.
func (a *asyncAccess) fenced(x *accessRecord, v visibility) bool {
	visible := func(r accessStamp) bool {
		for _, w := range a.issuers {
			if w.visibleAt(0, r, v) {
				return true
			}
		}
		return a.issuers == nil && a.w.visibleAt(a.lane, r, v)
	}
	return visible(x.stamp) || x.stamp.many() && x.each(visible)
}

// missingFence reports a generic write that another proxy may not see yet.
func (a *asyncAccess) missingFence(r *region, off int, now Access, x *accessRecord) {
	w := a.w
	proxy, lacks := "async proxy", "no fence.proxy.async stands between"
	switch {
	case a.proxy == tensormapAcquired:
		proxy, lacks = "proxy of tensor maps", "no release and acquire by fence.proxy.tensormap stands between"
	case r.space == spShared && a.fenced(x, asyncProxy):
		lacks = "did not execute the fence.proxy.async that stands between"
	case a.fenced(x, asyncProxy) || a.fenced(x, asyncGlobal):
		lacks = "the fence.proxy.async that stands between is of another state space"
	}
	w.accessFaultOrNote(ProxyFence, now, a.lane, r.genericAddr(off), "%s of %s byte %d by the %s: %s wrote it through the generic proxy at line %d (%s), and %s",
		now, r.describe(), off, proxy, w.launch.threadName(x.stamp), w.prog.code[x.place.pc()].line, oneLine(w.prog.code[x.place.pc()].text), lacks)
}

// faultOrNote stops the launch with a report, or with Options.Foreign keeps it as a note.
func (w *warp) faultOrNote(k Kind, lane int, addr uint64, format string, args ...any) {
	w.accessFaultOrNote(k, NoAccess, lane, addr, format, args...)
}

// accessFaultOrNote is faultOrNote about an access.
func (w *warp) accessFaultOrNote(k Kind, now Access, lane int, addr uint64, format string, args ...any) {
	foreign := w.launch.opt.Foreign
	if foreign && w.launch.countRepeat(w.prog.code[w.curPC].line, k) {
		return
	}
	rep := w.report(k, lane, addr, format, args...)
	rep.Access = now
	if !foreign {
		panic(fault{rep})
	}
	w.launch.note(rep)
}

// --- cp.async ---

// copyOp is a decoded cp.async of size bytes; src-size or ignore-src may replace some by zeros.
type copyOp struct {
	dst, src memOp
	size     int
	srcSize  int // index in src, -1: none
	ignore   bool
}

func (w *warp) cpAsync(in *inst, op *copyOp, m uint32) {
	w.launch.lastProgress = w.launch.stats.warpInstrs
	to := *w.addresses(in, &op.dst, m)
	from := *w.addresses(in, &op.src, m)
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
	stamp := w.issue(agentCpAsync, m)
	var reading uint32 // lanes of which any byte is read
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
		if n > 0 {
			reading |= 1 << i
		}
		a.lane, a.stamp = i, stamp|accessStamp(i)<<4
		var data [16]byte
		w.copySource(&a, from[i], n, op.size, &data)
		r, at := w.find(spShared, to[i], op.size, i, use{"cp.async store", Write})
		a.data, a.at = data[:op.size], at
		a.write(r, at, op.size)
		a.data = nil
		copy(r.data[at:], data[:op.size])
		clear(r.undef[at : at+op.size])
	})
	if w.launch.opt.Stats {
		w.countAccess(&op.dst, &to, m)
		if reading != 0 {
			w.countAccess(&op.src, &from, reading)
		}
	}
}

// copySource reads the n bytes of the source of a lane's cp.async; it is aligned to the whole copy.
func (w *warp) copySource(a *asyncAccess, from uint64, n, size int, data *[16]byte) {
	if n == 0 {
		return
	}
	i := a.lane
	if from&uint64(size-1) != 0 && !w.launch.opt.Checks.NoAlignment {
		w.failAccess(Misaligned, use{access: Read}, i, from, "%d-byte cp.async from %#x", size, from)
	}
	for k := 0; k < n; {
		step := 1 << bits.TrailingZeros(uint(n-k)|16)
		for k%step != 0 {
			step >>= 1
		}
		r, at := w.find(spGlobal, from+uint64(k), step, i, use{"cp.async", Read})
		a.read(r, at, step)
		for j := 0; r.undef != nil && j < step; j++ {
			if r.undef[at+j] != 0 {
				w.failAccess(Undefined, use{access: Read}, i, from, "cp.async of %s byte %d, which has never been written", r.describe(), at+j)
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
