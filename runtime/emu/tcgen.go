package emu

// decodeTcgen05: the instructions of the fifth generation of tensor cores (section 9.7.16). Those that access tensor
// memory are asynchronous: they execute here when they are issued, but their accesses belong to an agent of the
// issuing thread, and only a commit to an mbarrier, wait::ld or wait::st orders them with other accesses.
func decodeTcgen05(d *decoder) {
	verb := d.oneOf("alloc", "dealloc", "relinquish_alloc_permit", "mma", "ld", "st", "wait::ld", "wait::st", "cp", "shift", "commit",
		"fence::before_thread_sync", "fence::after_thread_sync")
	if decode := tcgenVerbs[verb]; decode != nil {
		decode(d)
		return
	}
	d.lacks("unknown operation")
}

// tcgenVerbs is filled by init: the decoders refer to the table of instructions indirectly.
var tcgenVerbs map[string]func(d *decoder)

func init() {
	tcgenVerbs = map[string]func(d *decoder){
		"alloc": decodeTmemAlloc, "dealloc": decodeTmemDealloc, "relinquish_alloc_permit": decodeRelinquish,
		"mma": decodeTcgenMma, "ld": decodeTmemLd, "st": decodeTmemSt, "wait::ld": decodeTmemWait, "wait::st": decodeTmemWait,
		"cp": decodeTmemCp, "shift": decodeTmemShift, "commit": decodeTcgenCommit,
		// tcgen05 instructions execute here in program order, so these fences have nothing to do.
		"fence::before_thread_sync": decodeHint, "fence::after_thread_sync": decodeHint,
	}
}

// ctaGroup takes .cta_group::1 or .cta_group::2.
func (d *decoder) ctaGroup() int {
	switch d.oneOf("cta_group::1", "cta_group::2") {
	case "cta_group::1":
		return 1
	case "cta_group::2":
		return 2
	}
	d.malformed(".cta_group is missing")
	return 1
}

func (d *decoder) syncAligned() {
	if !d.flag("sync") || !d.flag("aligned") {
		d.malformed(".sync.aligned is missing")
	}
}

// warpWideBlocking makes an instruction that the whole warp executes together, or waits at while f gives false.
func (d *decoder) warpWideBlocking(f func(w *warp, in *inst) bool) {
	d.in.kind = kSync
	what := d.base + "." + splitDots(d.st.op)[1]
	d.in.sync = func(w *warp, in *inst, m uint32) bool {
		if m != fullMask {
			if w.othersBehind() {
				return false
			}
			w.fail(Divergence, ^m, 0, "%s is executed by lanes %#08x only", what, m)
		}
		return f(w, in)
	}
}

// uniformSrc gives a source that must be defined and the same in all lanes.
func (w *warp) uniformSrc(o opnd, what string) uint64 {
	w.needDefined(o, fullMask, "the "+what)
	return w.uniform(o, fullMask, what)
}

func decodeTmemAlloc(d *decoder) {
	group := d.ctaGroup()
	d.syncAligned()
	op := &memOp{space: d.decodeSpace(), elem: 4, n: 1}
	if !d.flag("b32") || !d.nargs(2, 2) {
		d.lacks("this form of tcgen05.alloc")
		return
	}
	d.address(&d.st.args[0], op)
	n := len(d.in.src)
	d.src(1, types["b32"])
	d.warpWideBlocking(func(w *warp, in *inst) bool {
		w.uniformSrc(in.src[op.addr], "address")
		return w.tmemAlloc(in, op, group, int(w.uniformSrc(in.src[n], "number of columns")))
	})
}

func decodeTmemDealloc(d *decoder) {
	group := d.ctaGroup()
	d.syncAligned()
	if !d.flag("b32") || !d.nargs(2, 2) {
		d.lacks("this form of tcgen05.dealloc")
		return
	}
	d.src(0, types["b32"])
	d.src(1, types["b32"])
	d.warpWideBlocking(func(w *warp, in *inst) bool {
		addr := w.uniformSrc(in.src[0], "address")
		w.tmemGroup(group)
		w.tmemDealloc(addr, int(w.uniformSrc(in.src[1], "number of columns")))
		return true
	})
}

func decodeRelinquish(d *decoder) {
	group := d.ctaGroup()
	d.syncAligned()
	if !d.nargs(0, 0) {
		return
	}
	d.warpWideBlocking(func(w *warp, in *inst) bool {
		w.tmemGroup(group).relinquished = true
		return true
	})
}

// tmemGroup gives the tensor memory of the CTA. All tcgen05 instructions of a kernel name the same group of CTAs
// (section 9.7.16.5).
func (w *warp) tmemGroup(group int) *tmem {
	t := w.cta.tensorMemory()
	if t.group != 0 && t.group != group {
		w.fail(Invalid, w.group, 0, ".cta_group::%d in a kernel that uses .cta_group::%d", group, t.group)
	}
	t.group = group
	return t
}

// pair gives the CTAs of a group in the order of their ranks: the CTA alone, or it and the one whose rank differs in
// the last bit.
func (w *warp) pair(group, lane int) []*cta {
	if group == 1 {
		return []*cta{w.cta}
	}
	all, rank := w.cta.cluster.ctas, w.clusterRank()
	if rank|1 >= len(all) {
		w.fail(Invalid, 1<<lane, 0, ".cta_group::2 in a cluster of %d", len(all))
	}
	two := all[rank&^1 : rank|1+1]
	for _, c := range two {
		if c.running == 0 {
			w.fail(Exited, 1<<lane, 0, "the other CTA of the pair, (%d,%d,%d), has exited", c.id[0], c.id[1], c.id[2])
		}
	}
	return two
}

// tmemLoads is what a warp has in flight between tensor memory and its registers.
type tmemLoads struct {
	loads   []tmemLoad
	pending []int32 // 1 + index into loads of the tcgen05.ld that writes a register, by register; nil: no load yet
}

// tmemLoad is a tcgen05.ld that has not been waited for. Its registers have their values, but count as undefined.
type tmemLoad struct {
	pc    int32
	dst   []opnd
	undef []*vec // undefined bits of the loaded values; nil: none
}

// decodeTcgenCommit: tcgen05.commit.cta_group.mbarrier::arrive::one{.shared::cluster}{.multicast::cluster}.b64 [bar]{, mask}
// (section 9.7.16.12.1): one arrival when all mma, cp and shift that the thread has issued are complete; with a mask
// at the same place of every CTA that it names.
func decodeTcgenCommit(d *decoder) {
	group := d.ctaGroup()
	if !d.flag("mbarrier::arrive::one") {
		d.lacks("this form of tcgen05.commit")
	}
	op := &memOp{space: d.decodeSpace(), elem: 8, n: 1}
	args := 1
	if d.flag("multicast::cluster") {
		args = 2
	}
	d.flag("b64")
	if !d.nargs(args, args) {
		return
	}
	if args == 2 {
		d.src(1, types["b16"])
	}
	d.address(&d.st.args[0], op)
	d.needs(agentTcgen05)
	d.in.kind = kExec
	d.in.exec = func(w *warp, in *inst, m uint32) {
		w.tmemGroup(group)
		addr := *w.addresses(in, op, m)
		lanes(m, func(i int) {
			clock, released := w.completionClock(agentTcgen05, i), w.laneSnapshot(i)
			to := []uint64{addr[i]}
			if args == 2 {
				w.needDefined(in.src[0], m, "the mask of CTAs")
				to = to[:0]
				for _, c := range w.members(w.src(in.src[0])[i], i) {
					to = append(to, c.peer(addr[i]))
				}
			}
			for _, a := range to {
				key, _ := w.mbarAt(op, a, i)
				w.ctaOf(key).queueCompletion(completion{at: key, count: 1, clock: clock, released: released, issuer: w, lane: i, pc: w.curPC, what: "tcgen05.commit"})
			}
		})
		w.count(&w.epoch)
	}
}

// ctaOf gives the CTA of the cluster in whose memory an mbarrier lies.
func (w *warp) ctaOf(key syncAddr) *cta {
	for _, c := range w.cta.cluster.ctas {
		if c.shared == key.r {
			return c
		}
	}
	return w.cta
}

// decodeTmemShift: tcgen05.shift.cta_group.down [taddr] (section 9.7.16.9.3): in each quarter of the lanes, row i of
// 8 columns takes the place of row i-1; the last row stays.
func decodeTmemShift(d *decoder) {
	group := d.ctaGroup()
	if !d.flag("down") || !d.nargs(1, 1) {
		d.lacks("this form of tcgen05.shift")
		return
	}
	a := d.tmemAddress(&d.st.args[0])
	d.needs(agentTcgen05)
	d.in.kind = kExec
	d.in.exec = func(w *warp, in *inst, m uint32) {
		lane := w.oneThread(m, "tcgen05.shift")
		l0, col := w.tmemAddr(in, a, m)
		if l0 != 0 {
			w.fail(TensorMemory, m, tmemBits(l0, col), "tcgen05.shift from lane %d: only all lanes together are modelled", l0)
		}
		w.tmemGroup(group)
		r := tmemRect{0, tmemLanes, col, 8}
		by := tmemAccess{w.issue(agentTcgen05, m) | accessStamp(lane)<<4, w.curPC, tmemUse{class: useShift}}
		for _, c := range w.pair(group, lane) {
			t := w.checkTmemAllocated(c, r, "tcgen05.shift", lane)
			w.tmemWrite(t, r, by, lane)
			for row := range tmemLanes {
				if row%32 == 31 {
					continue
				}
				to, from := row*tmemColumns+col, (row+1)*tmemColumns+col
				copy(t.data[to:to+8], t.data[from:from+8])
				copy(t.undef[to:to+8], t.undef[from:from+8])
			}
		}
	}
}

// tmemAddress adds an address of tensor memory, "[base+imm]", as a source.
func (d *decoder) tmemAddress(a *arg) (op memOp) {
	d.address(a, &op)
	if op.space != spGeneric || op.wide {
		d.malformed("an address of tensor memory has 32 bits")
	}
	return op
}

// tmemAddr gives the lane and the column of an address that is the same for all lanes of m.
func (w *warp) tmemAddr(in *inst, op memOp, m uint32) (lane, col int) {
	w.needDefined(in.src[op.addr], m, "the address")
	v := uint32(w.uniform(in.src[op.addr], m, "address")) + uint32(op.add)
	return int(v >> 16), int(v & 0xffff)
}

func tmemBits(lane, col int) uint64 { return uint64(lane)<<16 | uint64(col) }

// oneThread gives the lane that issues an instruction which one thread issues for all.
func (w *warp) oneThread(m uint32, what string) int {
	if m&(m-1) != 0 {
		w.fail(Invalid, m, 0, "%s is issued by lanes %#08x: every one of them would issue it", what, m)
	}
	return firstLane(m)
}
