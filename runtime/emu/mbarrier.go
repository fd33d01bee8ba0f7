package emu

// mbarrier is the state of an mbarrier object (section 9.7.13.15): a phase completes when no arrivals and
// no bytes are pending. The object occupies 8 bytes of shared memory; its state is kept here.
type mbarrier struct {
	expected, pending int
	tx                int
	phase             uint64
	next, done        *knowledge // of the open phase, and of all complete ones
}

func (b *mbarrier) settle() {
	if b.pending == 0 && b.tx == 0 {
		b.phase++
		b.pending = b.expected
		b.done = merge(b.done, b.next)
		b.next = nil
	}
}

// decodeMbarrier: init inval arrive arrive_drop expect_tx complete_tx test_wait try_wait pending_count.
func decodeMbarrier(d *decoder) {
	verb := d.oneOf("init", "inval", "arrive", "arrive_drop", "expect_tx", "complete_tx", "test_wait", "try_wait", "pending_count")
	expect := d.flag("expect_tx")
	noComplete := d.flag("noComplete")
	parity := d.flag("parity")
	relaxed := d.oneOf("relaxed", "acquire", "release") == "relaxed"
	d.oneOf("cta", "cluster")
	sp := d.decodeSpace()
	d.flag("b64")
	op := &memOp{space: sp, elem: 8, n: 1}
	args := d.st.args
	if len(args) == 0 {
		d.fail("wrong number of operands")
		return
	}
	d.in.kind = kExec
	need := func(lo, hi int) bool {
		if len(args) < lo || len(args) > hi {
			d.fail("wrong number of operands")
			return false
		}
		return true
	}
	switch verb {
	case "init":
		if !need(2, 2) {
			return
		}
		d.srcArg(&args[1], types["u32"])
		d.address(&args[0], op)
		d.in.exec = func(w *warp, in *inst, m uint32) { w.mbarInit(in, op, m) }
	case "inval":
		d.address(&args[0], op)
		d.in.exec = func(w *warp, in *inst, m uint32) {
			w.eachMbar(in, op, m, func(_ int, key syncKey, _ *mbarrier) { delete(w.launch.mbars, key) })
		}
	case "arrive", "arrive_drop":
		if args[0].kind != argAddr {
			d.dstArg(&args[0])
			args = args[1:]
		}
		if !need(1, 2) {
			return
		}
		count := -1
		if len(args) == 2 {
			count = len(d.in.src)
			d.srcArg(&args[1], types["u32"])
		}
		d.address(&args[0], op)
		a := arriveOp{count: count, expect: expect, drop: verb == "arrive_drop", relaxed: relaxed, noComplete: noComplete}
		d.in.exec = func(w *warp, in *inst, m uint32) { w.mbarArrive(in, op, a, m) }
	case "expect_tx", "complete_tx":
		if !need(2, 2) {
			return
		}
		d.srcArg(&args[1], types["u32"])
		d.address(&args[0], op)
		d.in.exec = func(w *warp, in *inst, m uint32) {
			w.eachMbar(in, op, m, func(i int, _ syncKey, b *mbarrier) {
				n := int(uint32(w.src(in.src[0])[i]))
				if verb == "complete_tx" {
					n = -n
				}
				if b.tx += n; verb == "complete_tx" {
					b.settle()
				}
			})
		}
	case "test_wait", "try_wait":
		if !need(3, 4) {
			return
		}
		d.predDst(&args[0])
		d.srcArg(&args[2], types["b64"])
		d.address(&args[1], op)
		d.in.kind = kSync
		d.in.sync = func(w *warp, in *inst, m uint32) bool {
			w.mbarWait(in, op, parity, !relaxed, m)
			return true
		}
	case "pending_count":
		d.fail("pending_count")
	default:
		d.fail("unknown operation")
	}
}

// eachMbar visits the objects of the lanes of m.
func (w *warp) eachMbar(in *inst, op *memOp, m uint32, f func(i int, key syncKey, b *mbarrier)) {
	addr := *w.addresses(in, op, m)
	lanes(m, func(i int) {
		r, at := w.locate(op.space, addr[i], 8, i, "mbarrier operation")
		w.noteRead(r, at, 8, i, gpuScope)
		b := w.launch.mbars[syncKey{r, at}]
		if b == nil {
			w.fail(Invalid, 1<<i, addr[i], "no mbarrier has been initialised at %#x", addr[i])
		}
		f(i, syncKey{r, at}, b)
	})
}

func (w *warp) mbarInit(in *inst, op *memOp, m uint32) {
	addr := *w.addresses(in, op, m)
	w.needDefined(in.src[0], m, "the count")
	lanes(m, func(i int) {
		r, at := w.locate(op.space, addr[i], 8, i, "mbarrier.init")
		if r.space != spShared {
			w.fail(Invalid, 1<<i, addr[i], "an mbarrier must lie in shared memory")
		}
		n := int(uint32(w.src(in.src[0])[i]))
		if n < 1 || n >= 1<<20 {
			w.fail(Invalid, 1<<i, addr[i], "mbarrier count %d", n)
		}
		w.noteWrite(r, at, 8, i, weak, false)
		r.write(at, 8, 0, 0)
		w.launch.mbars[syncKey{r, at}] = &mbarrier{expected: n, pending: n}
	})
}

// arriveOp are the forms of arrive.
type arriveOp struct {
	count                             int // index in src, -1: one
	expect, drop, relaxed, noComplete bool
}

func (w *warp) mbarArrive(in *inst, op *memOp, a arriveOp, m uint32) {
	w.eachMbar(in, op, m, func(i int, _ syncKey, b *mbarrier) {
		n := 1
		if a.count >= 0 {
			v := int(uint32(w.src(in.src[a.count])[i]))
			if a.expect {
				b.tx += v
			} else {
				n = v
			}
		}
		if len(in.dst) > 0 && in.dst[0] >= 0 {
			w.regs[in.dst[0]][i] = b.phase
			w.setUB(in.dst[0], i, 0)
		}
		if !a.relaxed {
			b.next = merge(b.next, w.snapshot(i))
		}
		w.arriveAt(b, n, i)
		if a.drop {
			b.expected -= n
		}
	})
	w.epoch++
}

func (w *warp) arriveAt(b *mbarrier, n, lane int) {
	if n > b.pending {
		w.fail(Invalid, 1<<lane, 0, "%d arrivals at an mbarrier that expects %d more", n, b.pending)
	}
	w.launch.event = w.launch.stats.warpInstrs
	b.pending -= n
	b.settle()
}

// mbarWait: test_wait and try_wait do not block here; a failed one lets others run. The state operand is
// the phase to wait for, or its parity.
func (w *warp) mbarWait(in *inst, op *memOp, parity, acquire bool, m uint32) {
	var ok uint32
	w.eachMbar(in, op, m, func(i int, key syncKey, b *mbarrier) {
		w.cta.landArrivals(key)
		state := w.src(in.src[0])[i]
		done := b.phase > state
		if parity {
			done = b.phase&1 != state&1
		}
		if done {
			ok |= 1 << i
			if acquire {
				w.learn(i, b.done)
			}
		}
	})
	w.setPred(in.pdst[0], m, ok, 0)
	if ok != m {
		w.yield = true
	}
}

// asyncArrive: cp.async.mbarrier.arrive{.noinc}.shared.b64 [addr]: an arrival when the lane's earlier
// copies have landed. They land when somebody asks for the barrier.
func (d *decoder) asyncArrive() {
	d.flag("arrive")
	noinc := d.flag("noinc")
	op := &memOp{space: d.decodeSpace(), elem: 8, n: 1}
	d.flag("b64")
	if len(d.st.args) != 1 {
		d.fail("wrong number of operands")
		return
	}
	d.address(&d.st.args[0], op)
	d.in.exec = func(w *warp, in *inst, m uint32) {
		c := asyncCopy{m: m, group: w.async.group, noinc: noinc, place: w.here}
		w.eachMbar(in, op, m, func(i int, key syncKey, b *mbarrier) {
			c.mbar, c.at[i] = key.r, int32(key.off)
			if !noinc {
				b.pending++
			}
		})
		w.async.pending = append(w.async.pending, c)
	}
}

// arriveAsync is the arrival of a lane whose copies have landed.
func (w *warp) arriveAsync(c *asyncCopy, lane int) {
	b := w.launch.mbars[syncKey{c.mbar, int(c.at[lane])}]
	if b == nil {
		return
	}
	b.next = merge(b.next, w.snapshot(lane))
	w.arriveAt(b, 1, lane)
	w.epoch++
}

// landArrivals lands the copies of the CTA that arrive at an mbarrier, with all that were issued before.
func (c *cta) landArrivals(key syncKey) {
	for _, w := range c.warps {
		a := &w.async
		for k := 0; k < len(a.pending); k++ {
			p := &a.pending[k]
			if p.mbar != key.r {
				continue
			}
			var m uint32
			lanes(p.m, func(i int) {
				if int(p.at[i]) == key.off {
					m |= 1 << i
				}
			})
			if m == 0 {
				continue
			}
			for j := range k {
				q := &a.pending[j]
				done := q.m & m
				w.landLanes(q, done)
				q.m &^= done
			}
			w.landLanes(p, m)
			p.m &^= m
		}
		left := a.pending[:0]
		for _, p := range a.pending {
			if p.m != 0 {
				left = append(left, p)
			}
		}
		a.pending = left
	}
}
