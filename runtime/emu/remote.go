package emu

// remoteOp is a decoded st.async or red.async (sections 9.7.9.12 and 9.7.13.8): a store or a reduction in the shared memory of
// a CTA of the cluster, with a complete-tx on an mbarrier there.
type remoteOp struct {
	dst, mbar memOp
	elem      typ
	what      string
	reduce    func(old, v uint64) uint64
}

// decodeRemote: st.async{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes{.vec}.type [a], b, [mbar] and
// red.async.relaxed.cluster{..}.op.type [a], b, [mbar].
func decodeRemote(d *decoder) {
	op := &remoteOp{what: d.base + ".async"}
	d.flag("weak")
	d.flag("relaxed")
	d.flag("cluster")
	sp := d.decodeSpace()
	if sp == spGeneric {
		sp = spCluster
	}
	if !d.flag("mbarrier::complete_tx::bytes") || sp != spCluster || !d.nargs(3, 3) {
		d.lacks("this form of %s", op.what)
		return
	}
	name := ""
	if d.base == "red" {
		name = d.oneOf("add", "min", "max", "and", "or", "xor", "inc", "dec")
	}
	n := d.vectorCount()
	op.elem = d.typ1()
	if d.base == "red" {
		op.reduce = d.atomicOp(name, op.elem)
	}
	vals := vector(d.arg(1))
	if len(vals) != n || n > 4 || op.elem.width() < 32 {
		d.malformed("wrong operands")
		return
	}
	for i := range vals {
		d.srcArg(&vals[i], op.elem)
	}
	op.dst = memOp{space: sp, elem: op.elem.bytes(), n: n}
	op.mbar = memOp{space: sp, elem: 8, n: 1}
	d.address(d.arg(0), &op.dst)
	d.address(d.arg(2), &op.mbar)
	d.needsProxies()
	d.in.kind = kExec
	d.in.exec = func(w *warp, in *inst, m uint32) { lanes(m, func(i int) { w.remote(in, op, i) }) }
}

// remote executes an st.async or red.async of a lane.
func (w *warp) remote(in *inst, op *remoteOp, lane int) {
	w.launch.lastProgress = w.launch.stats.warpInstrs
	size := op.dst.bytes()
	r, at := w.locate(spCluster, w.laneAddress(in, &op.dst, lane), size, lane, use{op.what, Write})
	key, b := w.mbarAt(&op.mbar, w.laneAddress(in, &op.mbar, lane), lane)
	if key.r != r {
		w.fail(Invalid, 1<<lane, r.genericAddr(at), "the mbarrier of a %s lies in another CTA than its destination", op.what)
	}
	a := w.access(b.agent.issue(w, lane, op.what), 0, happened)
	a.lane = lane
	if op.reduce != nil {
		w.recordReduction(a, r, at, size, gpuScope)
	} else {
		a.write(r, at, size)
	}
	n := op.elem.bytes()
	for k := range op.dst.n {
		v, u := w.src(in.src[k])[lane], w.ub(in.src[k], lane)
		if op.reduce != nil {
			v, u = op.reduce(r.read(at+k*n, n), v), u|r.readUndef(at+k*n, n)
		}
		r.write(at+k*n, n, v, u)
	}
	r.owner.queueCompletion(completion{at: key, bytes: size, clock: b.agent.completionClock(b.agent.newest), released: w.laneSnapshot(lane), issuer: w, lane: lane, pc: w.curPC, what: op.what, carries: true})
	w.count(&w.epoch)
}
