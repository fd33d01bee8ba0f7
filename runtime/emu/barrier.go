package emu

import "math/bits"

// barrier is one of the 16 named barriers of a CTA (section 9.7.13.1): it completes when the expected number of threads
// has arrived.
type barrier struct {
	arrived  int
	expected int // 0: every live thread of the CTA
	open     bool
	waiting  []arrival
	dense    []uint32
	sparse   *sparseClock
	reduce   reduction
}

// arrival is a group of lanes that wait at a barrier.
type arrival struct {
	w *warp
	m uint32
}

// reduction is the value of a bar.red.
type reduction struct {
	op      string // popc, and, or; "" for a plain barrier
	count   int
	and, or bool
}

// barOp is a decoded bar or barrier instruction.
type barOp struct {
	arrive  bool
	aligned bool
	red     string // popc, and, or: bar.red
	id      int    // index in src
	count   int    // index in src, -1: all threads
}

// decodeBar takes bar{.cta} and barrier{.cta}: sync, arrive, red; bar.warp.sync, and barrier.cluster.
func decodeBar(d *decoder) {
	if d.flag("warp") {
		decodeBarWarp(d)
		return
	}
	if d.flag("cluster") {
		decodeClusterBarrier(d)
		return
	}
	op := &barOp{count: -1, aligned: d.base == "bar"}
	d.flag("cta")
	verb := d.oneOf("sync", "arrive", "red")
	if d.flag("aligned") {
		op.aligned = true
	}
	args := d.st.args
	d.in.kind = kSync
	switch verb {
	case "red":
		op.red = d.oneOf("popc", "and", "or")
		t := d.typ1()
		if len(args) < 3 || op.red == "" {
			d.malformed("wrong operands")
			return
		}
		if t.cls == clsPred {
			d.predDst(&args[0])
		} else {
			d.dst()
		}
		p := args[len(args)-1]
		d.predSrc(&p)
		args = args[1 : len(args)-1]
	case "arrive":
		op.arrive = true
		if len(args) != 2 {
			d.malformed("arrive needs a thread count")
			return
		}
	case "sync":
	default:
		d.lacks("sync, arrive or red expected")
		return
	}
	if len(args) < 1 || len(args) > 2 {
		d.malformed("wrong number of operands")
		return
	}
	op.id = len(d.in.src)
	d.srcArg(&args[0], types["u32"])
	if len(args) == 2 {
		op.count = len(d.in.src)
		d.srcArg(&args[1], types["u32"])
	}
	d.in.sync = func(w *warp, in *inst, m uint32) bool { return w.barrier(in, op, m) }
}

func (w *warp) barrier(in *inst, op *barOp, m uint32) bool {
	if op.aligned && m != w.live {
		if w.othersBehind() {
			return false
		}
		w.fail(Divergence, m, 0, "an aligned barrier is executed by lanes %#08x of %#08x", m, w.live)
	}
	w.needDefined(in.src[op.id], m, "the barrier number")
	id := w.uniform(in.src[op.id], m, "barrier number")
	if id > 15 {
		w.fail(Invalid, m, 0, "barrier number %d is above 15", id)
	}
	expected := 0
	if op.count >= 0 {
		w.needDefined(in.src[op.count], m, "the thread count")
		n := w.uniform(in.src[op.count], m, "thread count")
		if n == 0 || n%32 != 0 || n > maxThreads {
			w.fail(Invalid, m, 0, "thread count %d of a barrier is not a multiple of 32 up to %d", n, maxThreads)
		}
		expected = int(n)
	}
	b := &w.cta.barriers[id]
	if !b.open {
		*b = barrier{open: true, expected: expected, dense: make([]uint32, len(w.dense)), waiting: b.waiting[:0], reduce: reduction{and: true}}
	} else if b.expected != expected {
		w.fail(Invalid, m, 0, "barrier %d expects %d threads, this instruction says %d (0: all)", id, b.expected, expected)
	}
	if op.red != "" {
		b.reduce.op = op.red
		w.arriveReduce(in, b, m)
	}
	n := bits.OnesCount32(m)
	if expected != 0 && op.aligned {
		n = 32 // an arrival counts for the whole warp
	}
	b.arrived += n
	w.joinInto(b, m)
	w.launch.stats.barriers++
	w.launch.lastProgress = w.launch.stats.warpInstrs
	if op.arrive {
		w.tryComplete(b)
		return true
	}
	b.waiting = append(b.waiting, arrival{w, m})
	w.ready &^= m
	w.tryComplete(b)
	return w.ready&m == m
}

// uniform gives the value of a source that must be the same in all lanes of m.
func (w *warp) uniform(o opnd, m uint32, what string) uint64 {
	x := w.src(o)
	v := x[firstLane(m)]
	lanes(m, func(i int) {
		if x[i] != v {
			w.fail(Divergence, 1<<i, 0, "the %s differs between lanes: %d and %d", what, v, x[i])
		}
	})
	return v
}

func (w *warp) arriveReduce(in *inst, b *barrier, m uint32) {
	w.needPred(in.psrc[0].slot, m, "the operand of bar.red")
	v := w.pred(in.psrc[0]) & m
	b.reduce.count += bits.OnesCount32(v)
	b.reduce.and = b.reduce.and && v == m
	b.reduce.or = b.reduce.or || v != 0
}

// joinInto joins the clock of the arriving lanes into that of the barrier and ends their epoch.
func (w *warp) joinInto(b *barrier, m uint32) {
	if m != w.live {
		lanes(m, func(i int) { b.sparse = joinClocks(b.sparse, w.laneSnapshot(i)) })
		w.count(&w.epoch)
		return
	}
	w.syncWarp()
	for i, e := range w.dense {
		b.dense[i] = max(b.dense[i], e)
	}
	b.sparse = joinClocks(b.sparse, w.sparse)
}

// tryComplete completes the barrier if enough threads have arrived: the waiting lanes acquire its clock and continue.
func (w *warp) tryComplete(b *barrier) {
	want := b.expected
	if want == 0 {
		want = w.cta.threads
	}
	if b.arrived < want {
		return
	}
	if b.arrived > want {
		w.fail(Invalid, w.live, 0, "%d threads arrived at a barrier of %d", b.arrived, want)
	}
	if b.expected == 0 && want < w.launch.block[0]*w.launch.block[1]*w.launch.block[2] {
		w.reportMissingWarp(b)
	}
	red := b.reduce
	for _, a := range b.waiting {
		x := a.w
		in := &x.prog.code[x.pc[firstLane(a.m)]]
		if red.op != "" {
			x.putReduction(in, a.m, red)
		}
		if a.m == x.live {
			for i, e := range b.dense {
				x.dense[i] = max(x.dense[i], e)
			}
			x.joinWarp(b.sparse)
		} else {
			k := &sparseClock{}
			for i, e := range b.dense {
				k.raise(clockEntry{key: x.sparseKey(i), all: e})
			}
			k = joinClocks(k, b.sparse)
			lanes(a.m, func(i int) { x.joinLane(i, k) })
		}
		x.ready |= a.m
		if x != w || a.m&x.group == 0 {
			lanes(a.m, func(i int) { x.pc[i]++ })
		}
	}
	b.open = false
	b.arrived = 0
	b.waiting = b.waiting[:0]
}

// reportMissingWarp reports a barrier of all threads that completes because some have exited without arriving.
func (w *warp) reportMissingWarp(b *barrier) {
	for _, x := range w.cta.warps {
		if gone := x.exist &^ x.live; gone != 0 {
			id := 0
			for i := range w.cta.barriers {
				if b == &w.cta.barriers[i] {
					id = i
				}
			}
			w.faultOrNote(Divergence, firstLane(w.live|w.exist), 0, "barrier %d completes without warp %d, which exited at line %d: %s",
				id, x.idx, w.prog.code[x.exitAt].line, oneLine(w.prog.code[x.exitAt].text))
			return
		}
	}
}

// putReduction writes the result of a bar.red to the waiting lanes.
func (w *warp) putReduction(in *inst, m uint32, red reduction) {
	if len(in.pdst) > 0 {
		x := uint32(0)
		if red.op == "and" && red.and || red.op == "or" && red.or {
			x = m
		}
		w.setPred(in.pdst[0], m, x, 0)
		return
	}
	for i := range w.tmp {
		w.tmp[i] = uint64(red.count)
	}
	w.put(in.dst[0], m, &w.tmp)
}

// recheckBarriers completes the barriers of all live threads at which only the threads that have now exited were missing.
func (w *warp) recheckBarriers() {
	for i := range w.cta.barriers {
		if b := &w.cta.barriers[i]; b.open && b.expected == 0 && b.arrived > 0 {
			w.tryComplete(b)
		}
	}
}
