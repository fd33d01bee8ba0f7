package emu

import "math/bits"

// Clusters (sections 5.1.5.1 and 9.7.9.23). The shared memory of the CTA of rank r begins at r<<rankShift of the shared
// window, for its own threads as for others, so an address of one CTA means the same in all.
const rankShift = 24

// cluster is the CTAs that may access each other's shared memory, by rank.
type cluster struct {
	ctas    []*cta
	barrier clusterBarrier
}

// live tells whether some CTA of the cluster has not exited.
func (c *cluster) live() bool {
	for _, x := range c.ctas {
		if x.running > 0 {
			return true
		}
	}
	return false
}

// peer translates an address in the shared memory of any CTA of the cluster to the same offset in that of c.
func (c *cta) peer(addr uint64) uint64 {
	return addr&^(0xff<<rankShift) | c.shared.base
}

// sharedAt finds the shared memory that an address is in: that of this CTA, or with .shared::cluster and generic addresses that
// of another CTA of the cluster.
func (w *warp) sharedAt(sp space, addr uint64, n, lane int, what use) (*region, uint64) {
	r := w.cta.shared
	at := addr - r.base
	if at < uint64(len(r.data)) || len(w.cta.cluster.ctas) == 1 {
		return r, at
	}
	rank := int(addr >> rankShift)
	if rank >= len(w.cta.cluster.ctas) {
		w.failAccess(OutOfBounds, what, lane, sharedWindow+addr, "%d-byte %s at %#x of shared memory: the cluster has no CTA of rank %d", n, what, addr, rank)
	}
	c := w.cta.cluster.ctas[rank]
	if c != w.cta {
		if sp == spShared {
			w.failAccess(OutOfBounds, what, lane, sharedWindow+addr, "%d-byte %s at %#x: .shared::cta of the CTA of rank %d", n, what, addr, rank)
		}
		if c.running == 0 {
			w.failAccess(Exited, what, lane, sharedWindow+addr, "%d-byte %s of the shared memory of CTA (%d,%d,%d), which has exited", n, what, c.id[0], c.id[1], c.id[2])
		}
	}
	return c.shared, addr - c.shared.base
}

// members are the CTAs that a multicast mask names.
func (w *warp) members(mask uint64, lane int) (out []*cta) {
	all := w.cta.cluster.ctas
	for m := uint32(mask & 0xffff); m != 0; m &= m - 1 {
		rank := bits.TrailingZeros32(m)
		if rank >= len(all) {
			w.fail(Invalid, 1<<lane, 0, "multicast to rank %d of a cluster of %d", rank, len(all))
		}
		if all[rank].running == 0 {
			w.fail(Exited, 1<<lane, 0, "multicast to CTA (%d,%d,%d), which has exited", all[rank].id[0], all[rank].id[1], all[rank].id[2])
		}
		out = append(out, all[rank])
	}
	return out
}

// decodeMapa: mapa{.shared::cluster}.type d, a, rank: the address in the CTA of that rank (section 9.7.9.23).
func decodeMapa(d *decoder) {
	d.decodeSpace()
	t := d.typ1()
	d.dst()
	d.src(1, t)
	d.src(2, types["u32"])
	d.in.kind = kExec
	d.in.exec = func(w *warp, in *inst, m uint32) {
		w.needDefined(in.src[0], m, "the address")
		w.needDefined(in.src[1], m, "the rank")
		a, rank := w.src(in.src[0]), w.src(in.src[1])
		var v vec
		lanes(m, func(i int) {
			if rank[i] >= uint64(len(w.cta.cluster.ctas)) {
				w.fail(Invalid, 1<<i, a[i], "mapa to rank %d of a cluster of %d", rank[i], len(w.cta.cluster.ctas))
			}
			v[i] = a[i]&^(0xff<<rankShift) | rank[i]<<rankShift
		})
		w.put(in.dst[0], m, &v)
	}
}

// decodeGetctarank: getctarank{.shared::cluster}.type d, a: the rank of the CTA whose memory it is (section 9.7.9.24).
func decodeGetctarank(d *decoder) {
	d.decodeSpace()
	t := d.typ1()
	d.dst()
	d.src(1, t)
	d.in.vec = lift1(func(a uint64) uint64 { return a >> rankShift & 0xff })
}

// clusterBarrier is the barrier of a cluster (section 9.7.13.4): every live thread arrives once and waits once.
type clusterBarrier struct {
	arrived   int
	phase     int
	openClock *sparseClock
	doneClock *sparseClock
	waiting   []arrival
}

// decodeClusterBarrier: barrier.cluster.arrive{.release,.relaxed}{.aligned}, barrier.cluster.wait{.acquire}{.aligned}.
func decodeClusterBarrier(d *decoder) {
	verb := d.oneOf("arrive", "wait")
	relaxed := d.oneOf("release", "relaxed", "acquire") == "relaxed"
	aligned := d.flag("aligned")
	if verb == "" || len(d.st.args) > 0 {
		d.lacks("this form of barrier.cluster")
		return
	}
	d.in.kind = kSync
	d.in.sync = func(w *warp, in *inst, m uint32) bool {
		if aligned && m != w.live {
			if w.othersBehind() {
				return false
			}
			w.fail(Divergence, m, 0, "an aligned barrier is executed by lanes %#08x of %#08x", m, w.live)
		}
		if verb == "arrive" {
			w.clusterArrive(relaxed, m)
			return true
		}
		return w.clusterWait(m)
	}
}

// clusterArrive is barrier.cluster.arrive.
func (w *warp) clusterArrive(relaxed bool, m uint32) {
	b := &w.cta.cluster.barrier
	lanes(m, func(i int) {
		if w.clusterAt[i] != clusterIdle {
			w.fail(Invalid, 1<<i, 0, "barrier.cluster.arrive twice without a wait")
		}
		w.clusterAt[i] = b.phase + 1
	})
	if !relaxed {
		if m == w.live {
			b.openClock = joinClocks(b.openClock, w.warpSnapshot())
		} else {
			lanes(m, func(i int) { b.openClock = joinClocks(b.openClock, w.laneSnapshot(i)) })
		}
	} else {
		lanes(m, func(i int) { b.openClock = joinClocks(b.openClock, w.mbarInitClocks[i]) })
	}
	w.count(&w.epoch)
	w.launch.lastProgress = w.launch.stats.warpInstrs
	b.arrived += bits.OnesCount32(m)
	w.cta.cluster.settle()
}

// clusterIdle is clusterAt of a lane that has not arrived.
const clusterIdle = 0

// clusterWait blocks the lanes until the phase in which they arrived is complete.
func (w *warp) clusterWait(m uint32) bool {
	b := &w.cta.cluster.barrier
	for mm := m; mm != 0; mm &= mm - 1 {
		i := firstLane(mm)
		if w.clusterAt[i] == clusterIdle {
			w.fail(Invalid, 1<<i, 0, "barrier.cluster.wait without an arrive")
		}
		if w.clusterAt[i] > b.phase {
			w.ready &^= m
			b.waiting = append(b.waiting, arrival{w, m})
			return false
		}
	}
	w.passClusterBarrier(m)
	return true
}

// passClusterBarrier lets lanes continue after a complete phase: they acquire its clock.
func (w *warp) passClusterBarrier(m uint32) {
	b := &w.cta.cluster.barrier
	lanes(m, func(i int) {
		w.clusterAt[i] = clusterIdle
		if m != w.live {
			w.joinLane(i, b.doneClock)
		}
	})
	if m == w.live {
		w.joinWarp(b.doneClock)
	}
}

// settle completes the phase when all live threads of the cluster have arrived.
func (c *cluster) settle() {
	b := &c.barrier
	threads := 0
	for _, x := range c.ctas {
		threads += x.threads
	}
	if b.arrived == 0 || b.arrived < threads {
		return
	}
	b.phase++
	b.arrived = 0
	b.doneClock, b.openClock = joinClocks(b.doneClock, b.openClock), nil
	for _, x := range b.waiting {
		x.w.ready |= x.m // they execute the wait again
	}
	b.waiting = b.waiting[:0]
}

// leaveClusterBarrier recounts the barrier of the cluster when threads have exited.
func (w *warp) leaveClusterBarrier(m uint32) {
	b := &w.cta.cluster.barrier
	lanes(m, func(i int) {
		if w.clusterAt[i] == b.phase+1 {
			b.arrived--
		}
	})
	w.cta.cluster.settle()
}
