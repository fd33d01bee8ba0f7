package emu

// decodeCp: cp.async and what belongs to it (section 9.7.9.25): copies of a thread in groups, bulk and tensor copies.
func decodeCp(d *decoder) {
	reduce := d.flag("reduce")
	if !d.flag("async") {
		d.lacks("cp without .async")
		return
	}
	d.in.kind = kExec
	if d.flag("bulk") {
		d.bulk(reduce)
		return
	}
	d.needs(agentCpAsync)
	switch {
	case d.flag("commit_group"):
		d.in.exec = func(w *warp, in *inst, m uint32) { w.commitGroup(agentCpAsync, m) }
	case d.flag("wait_all"):
		d.in.exec = func(w *warp, in *inst, m uint32) { w.waitGroup(agentCpAsync, m, -1) }
	case d.flag("wait_group"):
		if n, ok := d.number(); ok {
			d.in.exec = func(w *warp, in *inst, m uint32) { w.waitGroup(agentCpAsync, m, n) }
		}
	case d.flag("mbarrier"):
		d.asyncArrive()
	case len(d.mods) > 0 && (d.mods[0] == "ca" || d.mods[0] == "cg"):
		d.asyncCopy()
	default:
		d.lacks("this form of cp.async")
	}
}

// number is the one operand of an instruction, a literal.
func (d *decoder) number() (int, bool) {
	if len(d.st.args) != 1 || d.st.args[0].kind != argInt {
		d.malformed("a number expected")
		return 0, false
	}
	return int(d.st.args[0].val), true
}

// asyncCopy: cp.async.{ca,cg}.shared.global [dst], [src], cp-size{, src-size}{, cache-policy}.
func (d *decoder) asyncCopy() {
	wide := d.mods[0] == "cg"
	policy := d.cacheHints()
	if !d.flag("shared") {
		d.flag("shared::cta")
	}
	d.flag("global")
	args := d.st.args
	if policy && len(args) > 3 {
		args = args[:len(args)-1]
	}
	if len(args) < 3 || len(args) > 4 || args[2].kind != argInt {
		d.malformed("wrong operands")
		return
	}
	size := int(args[2].val)
	if size != 16 && (wide || size != 4 && size != 8) {
		d.malformed("size %d", size)
		return
	}
	op := &copyOp{dst: memOp{space: spShared, elem: size, n: 1}, src: memOp{space: spGlobal, elem: size, n: 1}, size: size, srcSize: -1}
	d.address(&args[0], &op.dst)
	d.address(&args[1], &op.src)
	if len(args) == 4 {
		if _, ok := d.c.predicate(d.st.scope, args[3].name); ok {
			d.predSrc(&args[3])
			op.ignore = true
		} else {
			op.srcSize = len(d.in.src)
			d.srcArg(&args[3], types["u32"])
		}
	}
	d.in.exec = func(w *warp, in *inst, m uint32) { w.cpAsync(in, op, m) }
}

// asyncArrive: cp.async.mbarrier.arrive{.noinc}.shared.b64 [addr]: an arrival when the lane's earlier copies are done. Without
// .noinc the count of the open phase grows by it first.
func (d *decoder) asyncArrive() {
	d.flag("arrive")
	noinc := d.flag("noinc")
	op := &memOp{space: d.decodeSpace(), elem: 8, n: 1}
	d.flag("b64")
	if len(d.st.args) != 1 {
		d.malformed("wrong number of operands")
		return
	}
	d.address(&d.st.args[0], op)
	d.in.exec = func(w *warp, in *inst, m uint32) {
		if !w.eachMbarTogether(in, op, m, func(key syncAddr, b *mbarrier) {
			n := 0
			know := w.warpSnapshot()
			lanes(m, func(i int) {
				n++
				know = joinClocks(know, w.completionClock(agentCpAsync, i))
			})
			if !noinc {
				b.pending += n
			}
			w.cta.queueCompletion(completion{at: key, count: n, clock: know, issuer: w, lane: firstLane(m), pc: w.curPC, what: "cp.async.mbarrier.arrive"})
		}) {
			w.eachMbar(in, op, m, func(i int, key syncAddr, b *mbarrier) {
				if !noinc {
					b.pending++
				}
				w.cta.queueCompletion(completion{at: key, count: 1, clock: joinClocks(w.laneSnapshot(i), w.completionClock(agentCpAsync, i)), issuer: w, lane: i, pc: w.curPC, what: "cp.async.mbarrier.arrive"})
			})
		}
		w.count(&w.epoch)
	}
}
