package emu

// bulkOp is a decoded bulk copy: linear (sections 9.7.9.25.4 and 9.7.9.25.5) or of a tensor (9.7.9.27).
type bulkOp struct {
	dst, src memOp // the one in global memory is the address of the map for a tensor
	mbar     memOp
	onMbar   bool // completes on the mbarrier; else in groups
	size     int  // index in src: bytes of a linear copy
	mask     int  // index in src: CTAs of a multicast, -1: none
	bytes    int  // index in src: byte mask of .cp_mask, -1: none
	reduce   func(old, v uint64) uint64
	elem     typ // of a reduction
	rank     int // of a tensor
	mode     copyMode
	what     string
}

// bulk decodes cp.async.bulk and cp.reduce.async.bulk.
func (d *decoder) bulk(reduce bool) {
	d.needs(agentBulkRead)
	d.needs(agentBulkWrite)
	d.needsProxies()
	switch {
	case d.flag("commit_group"):
		d.in.exec = func(w *warp, in *inst, m uint32) {
			w.commitGroup(agentBulkRead, m)
			w.commitGroup(agentBulkWrite, m)
		}
		return
	case d.flag("wait_group"):
		read := d.flag("read")
		if n, ok := d.number(); ok {
			d.in.exec = func(w *warp, in *inst, m uint32) {
				w.waitGroup(agentBulkRead, m, n)
				if !read {
					w.waitGroup(agentBulkWrite, m, n)
				}
			}
		}
		return
	case d.flag("prefetch"):
		decodeHint(d)
		return
	}
	op := &bulkOp{size: -1, mask: -1, bytes: -1, what: "bulk copy"}
	tensor := d.flag("tensor")
	if tensor {
		op.what = "tensor copy"
	}
	if reduce {
		op.what = "bulk reduction"
	}
	if !d.bulkForm(op, tensor, reduce) {
		return
	}
	if tensor {
		d.tensorOperands(op)
	} else {
		d.linearOperands(op)
	}
}

// bulkForm takes the modifiers that linear and tensor copies share: spaces, completion, multicast, hints, reduction.
func (d *decoder) bulkForm(op *bulkOp, tensor, reduce bool) bool {
	if policy := d.cacheHints(); policy && len(d.st.args) > 0 {
		st := *d.st // which is decoded again for another entry
		st.args = st.args[:len(st.args)-1]
		d.st = &st
	}
	var sp [2]space
	for i := range sp {
		m := d.oneOf("shared::cluster", "shared::cta", "global")
		if m == "" {
			d.lacks("the spaces of a bulk copy are missing")
			return false
		}
		sp[i] = spaceNames[m]
	}
	op.dst, op.src = memOp{space: sp[0], elem: 16, n: 1}, memOp{space: sp[1], elem: 16, n: 1}
	toShared := sp[0] != spGlobal
	switch {
	case !toShared && sp[1] != spShared, toShared && sp[1] == spCluster, sp[0] == spShared && sp[1] == spShared:
		d.lacks("a bulk copy from %s to %s", sp[1], sp[0])
		return false
	}
	op.onMbar = d.flag("mbarrier::complete_tx::bytes")
	if op.onMbar == d.flag("bulk_group") || op.onMbar != toShared {
		d.lacks("this completion of a bulk copy")
		return false
	}
	if d.flag("multicast::cluster") {
		op.mask = 0
	}
	if d.flag("cp_mask") {
		op.bytes = 0
	}
	if reduce {
		d.c.prog.communicates = true
		name := d.oneOf("add", "min", "max", "and", "or", "xor", "inc", "dec")
		d.flag("noftz")
		if tensor {
			op.reduce = func(old, v uint64) uint64 { return v } // the type is in the map
			op.elem = typ{named: name}
		} else {
			op.elem = d.typ1()
			op.reduce = d.bulkReduction(name, op.elem)
		}
	}
	return !d.refused()
}

// bulkReduction gives the operation on one element.
func (d *decoder) bulkReduction(name string, t typ) func(old, v uint64) uint64 {
	if t.isFloat() && t.bits == 16 && (name == "min" || name == "max") {
		return packed(t, half2(name, t.fmt, fopt{}))
	}
	return d.atomicOp(name, t) // sums of f32 keep subnormal numbers on an H200, though 9.7.9.25.4.2 says that they flush them
}

// linearOperands: [dst], [src], size, {[mbar]}, {ctaMask | byteMask}.
func (d *decoder) linearOperands(op *bulkOp) {
	args := d.st.args
	want := 3
	for _, more := range []bool{op.onMbar, op.mask >= 0, op.bytes >= 0} {
		if more {
			want++
		}
	}
	if len(args) != want {
		d.malformed("wrong number of operands")
		return
	}
	d.address(&args[0], &op.dst)
	d.address(&args[1], &op.src)
	op.size = len(d.in.src)
	d.srcArg(&args[2], types["u32"])
	args = args[3:]
	if op.onMbar {
		op.mbar = memOp{space: op.dst.space, elem: 8, n: 1}
		d.address(&args[0], &op.mbar)
		args = args[1:]
	}
	d.lastMask(op, args)
	d.in.exec = func(w *warp, in *inst, m uint32) { lanes(m, func(i int) { w.bulkLinear(in, op, i) }) }
}

// lastMask takes the mask of CTAs or bytes that ends the operands.
func (d *decoder) lastMask(op *bulkOp, args []arg) {
	if len(args) == 0 {
		return
	}
	at := &op.mask
	if op.bytes >= 0 {
		at = &op.bytes
	}
	*at = len(d.in.src)
	d.srcArg(&args[0], types["u16"])
}

// span is n bytes of a region.
type span struct {
	r  *region
	at int
	n  int
}

// locateSpan finds n bytes that must be aligned and lie in one region.
func (w *warp) locateSpan(sp space, addr uint64, n, align, lane int, what use) span {
	if addr&uint64(align-1) != 0 && !w.launch.opt.Checks.NoAlignment {
		w.failAccess(Misaligned, what, lane, addr, "%s at %#x, which is no multiple of %d", what, addr, align)
	}
	r, at := w.locate(sp, addr, 1, lane, what)
	if n > len(r.data)-at {
		where := ""
		if r.space == spGlobal {
			where = ": " + w.launch.mem.describe(addr, n)
		}
		w.failAccess(OutOfBounds, what, lane, addr, "%s of %d bytes at %#x leaves %s (%d bytes)%s", what, n, addr, r.describe(), len(r.data), where)
	}
	return span{r, at, n}
}

// laneAddress is the address of one lane.
func (w *warp) laneAddress(in *inst, op *memOp, lane int) uint64 {
	return w.addresses(in, op, 1<<lane)[lane]
}

func (w *warp) bulkLinear(in *inst, op *bulkOp, lane int) {
	w.launch.lastProgress = w.launch.stats.warpInstrs
	w.needDefined(in.src[op.size], 1<<lane, "the size")
	n := int(uint32(w.src(in.src[op.size])[lane]))
	if n%16 != 0 {
		w.fail(Invalid, 1<<lane, 0, "a bulk copy of %d bytes, no multiple of 16", n)
	}
	if n == 0 {
		return
	}
	src := w.locateSpan(op.src.space, w.laneAddress(in, &op.src, lane), n, 16, lane, use{op.what + " from", Read})
	t := w.transfer(in, op, lane)
	dst := w.laneAddress(in, &op.dst, lane)
	for _, c := range t.targets {
		if op.onMbar { // in shared memory
			dst = c.peer(dst)
		}
		to := w.locateSpan(op.dst.space, dst, n, 16, lane, use{op.what + " to", Write})
		t.issue(c, n)
		t.reads.read(src.r, src.at, n)
		if op.reduce != nil {
			t.combine(to, src, op)
			continue
		}
		t.copyBytes(to, src, t.byteMask)
	}
}

// transfer is one bulk copy of a lane while it is executed.
type transfer struct {
	w             *warp
	op            *bulkOp
	lane          int
	mbar          uint64
	byteMask      int    // of every 16 bytes, those that are copied
	targets       []*cta // CTAs that receive; one without multicast
	reads, writes *asyncAccess
}

// transfer prepares a bulk copy of a lane.
func (w *warp) transfer(in *inst, op *bulkOp, lane int) *transfer {
	t := &transfer{w: w, op: op, lane: lane, targets: []*cta{w.cta}, byteMask: 1<<16 - 1}
	if op.onMbar {
		t.mbar = w.laneAddress(in, &op.mbar, lane)
	}
	if op.bytes >= 0 {
		w.needDefined(in.src[op.bytes], 1<<lane, "the byte mask")
		t.byteMask = int(w.src(in.src[op.bytes])[lane] & 0xffff)
	}
	if op.mask >= 0 {
		w.needDefined(in.src[op.mask], 1<<lane, "the CTA mask")
		t.targets = w.members(w.src(in.src[op.mask])[lane], lane)
	} else if op.dst.space == spCluster {
		if r, _ := w.locate(spCluster, w.laneAddress(in, &op.dst, lane), 1, lane, use{op.what, Write}); r.owner != nil {
			t.targets[0] = r.owner
		}
	}
	return t
}

// issue issues the copy of n bytes into one CTA: it makes the stamps, and queues the complete-tx on its mbarrier.
func (t *transfer) issue(c *cta, n int) {
	w := t.w
	if !t.op.onMbar {
		t.reads = w.access(w.issue(agentBulkRead, 1<<t.lane), t.lane, asyncProxy)
		t.writes = w.access(w.issue(agentBulkWrite, 1<<t.lane), t.lane, asyncProxy)
		return
	}
	key, b := w.mbarAt(&t.op.mbar, c.peer(t.mbar), t.lane)
	if key.r.owner != c {
		w.fail(Invalid, 1<<t.lane, t.mbar, "the mbarrier of a %s lies in another CTA than its destination", t.op.what)
	}
	stamp := b.agent.issue(w, t.lane, t.op.what)
	t.reads, t.writes = w.access(stamp, 0, asyncProxy), w.access(stamp, 0, asyncProxy)
	t.reads.lane, t.writes.lane = t.lane, t.lane
	c.queueCompletion(completion{at: key, bytes: n, clock: b.agent.completionClock(b.agent.newest), issuer: w, lane: t.lane, pc: w.curPC, what: t.op.what, carries: true})
}

// copyBytes copies bytes with their undefined bits; undefined ones may not reach global memory.
func (t *transfer) copyBytes(to, from span, mask int) {
	w := t.w
	if to.r.readonly {
		w.failAccess(ReadOnly, use{t.op.what, Write}, t.lane, to.r.genericAddr(to.at), "%s to read-only memory '%s'", t.op.what, to.r.name)
	}
	if mask == 1<<16-1 && from.r.undef != nil { // the lanes of a warp may all issue one copy
		t.writes.data, t.writes.at = from.r.data[from.at:][:to.n], to.at
	}
	t.writes.write(to.r, to.at, to.n)
	if from.r.undef != nil && to.r.space == spGlobal {
		for k := range to.n {
			if u := from.r.undef[from.at+k]; u != 0 && mask>>(k&15)&1 != 0 {
				w.undefStore(to.r, to.at+k, t.lane, uint64(u))
			}
		}
	}
	if mask != 1<<16-1 {
		for k := range to.n {
			if mask>>(k&15)&1 != 0 {
				to.r.data[to.at+k] = from.r.data[from.at+k]
			}
		}
		return
	}
	copy(to.r.data[to.at:to.at+to.n], from.r.data[from.at:])
	if to.r.undef == nil {
		return
	}
	if from.r.undef == nil {
		clear(to.r.undef[to.at : to.at+to.n])
	} else {
		copy(to.r.undef[to.at:to.at+to.n], from.r.undef[from.at:])
	}
}

// combine is a bulk reduction: every element is atomic, so it does not race with other reductions.
func (t *transfer) combine(to, from span, op *bulkOp) {
	n := op.elem.bytes()
	s := gpuScope
	if t.w.launch.opt.Checks.NoRaces {
		s = weak
	}
	for k := 0; k < to.n; k += n {
		t.w.recordReduction(t.writes, to.r, to.at+k, n, s)
		if u := from.r.readUndef(from.at+k, n) | to.r.readUndef(to.at+k, n); u != 0 {
			t.w.undefStore(to.r, to.at+k, t.lane, u)
		}
		to.r.write(to.at+k, n, op.reduce(to.r.read(to.at+k, n), from.r.read(from.at+k, n)), 0)
	}
}

// recordReduction records a relaxed.gpu reduction by an agent: it does not race with strong accesses.
func (w *warp) recordReduction(a *asyncAccess, r *region, off, n int, s strength) {
	strong := *a
	strong.stamp |= accessStamp(s) << 2
	strong.write(r, off, n)
}
