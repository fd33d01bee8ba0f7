package emu

import "math/bits"

// asyncState is the cp.async machinery of a warp. A copy takes its bytes when it is issued, but they land
// only when the lane that issued it waits for its group; until then the destination is marked pending, and
// touching it is an error.
type asyncState struct {
	group   [32]uint32 // number of the lane's open group
	pending []asyncCopy
}

// asyncCopy is one cp.async of a warp that has not landed in the lanes of m.
type asyncCopy struct {
	m     uint32
	group [32]uint32
	size  int
	at    [32]int32 // offset in shared memory
	data  [32][16]byte
	mbar  *region // cp.async.mbarrier.arrive: no bytes, an arrival at offset at
	noinc bool
	place int32
}

// decodeCp: cp.async and what belongs to it; bulk copies are not supported.
func decodeCp(d *decoder) {
	if !d.flag("async") {
		d.fail("cp without .async")
		return
	}
	d.in.kind = kExec
	switch {
	case d.flag("commit_group"):
		d.in.exec = func(w *warp, in *inst, m uint32) { lanes(m, func(i int) { w.async.group[i]++ }) }
	case d.flag("wait_all"):
		d.in.exec = func(w *warp, in *inst, m uint32) { w.land(m, -1) }
	case d.flag("wait_group"):
		if len(d.st.args) != 1 || d.st.args[0].kind != argInt {
			d.fail("wait_group needs a number")
			return
		}
		n := int(d.st.args[0].val)
		d.in.exec = func(w *warp, in *inst, m uint32) { w.land(m, n) }
	case d.flag("mbarrier"):
		d.asyncArrive()
	case len(d.mods) > 0 && (d.mods[0] == "ca" || d.mods[0] == "cg"):
		d.asyncCopy()
	default:
		d.fail("bulk copies")
	}
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
		d.fail("wrong operands")
		return
	}
	size := int(args[2].val)
	if size != 16 && (wide || size != 4 && size != 8) {
		d.fail("size %d", size)
		return
	}
	dst := &memOp{space: spShared, elem: size, n: 1}
	src := &memOp{space: spGlobal, elem: size, n: 1}
	d.address(&args[0], dst)
	d.address(&args[1], src)
	srcSize := -1
	ignore := false
	if len(args) == 4 {
		if _, ok := d.c.predicate(d.st.scope, args[3].name); ok {
			d.predSrc(&args[3])
			ignore = true
		} else {
			srcSize = len(d.in.src)
			d.srcArg(&args[3], types["u32"])
		}
	}
	d.in.exec = func(w *warp, in *inst, m uint32) {
		var sizes *vec
		if srcSize >= 0 {
			w.needDefined(in.src[srcSize], m, "the source size")
			sizes = w.src(in.src[srcSize])
		}
		skip := uint32(0)
		if ignore {
			w.needPred(in.psrc[0].slot, m, "the ignore-source operand")
			skip = w.pred(in.psrc[0])
		}
		w.copyAsync(in, dst, src, sizes, skip, m)
	}
}

func (w *warp) copyAsync(in *inst, dst, src *memOp, sizes *vec, skip, m uint32) {
	w.launch.event = w.launch.stats.warpInstrs
	to := *w.addresses(in, dst, m)
	from := *w.addresses(in, src, m)
	if w.launch.opt.Stats {
		w.countAccess(dst, &to, m)
		w.countAccess(src, &from, m)
	}
	a := &w.async
	a.pending = append(a.pending, asyncCopy{m: m, group: a.group, size: dst.elem, place: w.here})
	c := &a.pending[len(a.pending)-1]
	lanes(m, func(i int) {
		n := dst.elem
		if sizes != nil {
			n = int(uint32(sizes[i]))
			if n > dst.elem {
				w.fail(Invalid, 1<<i, from[i], "source size %d of a copy of %d bytes", n, dst.elem)
			}
		}
		if skip>>i&1 != 0 {
			n = 0
		}
		if n > 0 {
			// The source is aligned to the whole copy, but only n bytes are read.
			if from[i]&uint64(dst.elem-1) != 0 && !w.launch.opt.Checks.NoAlignment {
				w.fail(Misaligned, 1<<i, from[i], "%d-byte cp.async from %#x", dst.elem, from[i])
			}
			for k := 0; k < n; {
				step := 1 << bits.TrailingZeros(uint(n-k)|16)
				for k%step != 0 {
					step >>= 1
				}
				r, at := w.locate(spGlobal, from[i]+uint64(k), step, i, "cp.async")
				w.noteRead(r, at, step, i, weak)
				if r.undef != nil {
					for j := range step {
						if r.undef[at+j] != 0 {
							w.fail(Undefined, 1<<i, from[i], "cp.async of %s byte %d, which has never been written", r.describe(), at+j)
						}
					}
				}
				copy(c.data[i][k:], r.data[at:at+step])
				k += step
			}
		}
		r, at := w.locate(spShared, to[i], dst.elem, i, "cp.async store")
		c.at[i] = int32(at)
		w.noteWrite(r, at, dst.elem, i, weak, w.cta.brings(c, i))
		if !w.launch.opt.Checks.NoRaces {
			for k, cells := 0, r.shadow.cells(at, dst.elem, len(r.data)); k < len(cells); k++ {
				cells[k].w |= recAsync
			}
		}
		for k := range dst.elem {
			r.undef[at+k] = 0xff
		}
	})
}

// brings tells whether the bytes that a lane copies are there already, or are brought by copies that are
// still pending: several threads copy the same thing.
func (c *cta) brings(a *asyncCopy, lane int) bool {
	at, n := a.at[lane], int32(a.size)
	pending := false
	for _, x := range c.shared.shadow.cells(int(at), a.size, len(c.shared.data)) {
		pending = pending || x.w&recAsync != 0
	}
	if !pending {
		r := c.shared
		for k := range a.size {
			if r.undef[int(at)+k] != 0 || r.data[int(at)+k] != a.data[lane][k] {
				return false
			}
		}
		return true
	}
	same := false
	for _, w := range c.warps {
		for k := range w.async.pending {
			p := &w.async.pending[k]
			for m := p.m; m != 0 && p.mbar == nil; m &= m - 1 {
				i := firstLane(m)
				if p == a && i >= lane {
					break
				}
				if p.at[i] < at+n && at < p.at[i]+int32(p.size) {
					same = p.at[i] == at && p.size == a.size && p.data[i] == a.data[lane]
				}
			}
		}
	}
	return same
}

// land completes the copies of the lanes of m but for their n newest groups; n = -1: everything, groups
// that are still open too.
func (w *warp) land(m uint32, n int) {
	a := &w.async
	left := a.pending[:0]
	for k := range a.pending {
		c := &a.pending[k]
		var done uint32
		lanes(m&c.m, func(i int) {
			if n < 0 || c.group[i]+uint32(n) < a.group[i] {
				done |= 1 << i
			}
		})
		w.landLanes(c, done)
		if c.m &^= done; c.m != 0 {
			left = append(left, *c)
		}
	}
	a.pending = left
}

// landLanes writes the bytes of one copy.
func (w *warp) landLanes(c *asyncCopy, m uint32) {
	lanes(m, func(i int) {
		if c.mbar != nil {
			w.arriveAsync(c, i)
			return
		}
		r, at := w.cta.shared, int(c.at[i])
		copy(r.data[at:at+c.size], c.data[i][:c.size])
		if !w.launch.opt.Checks.NoRaces {
			me := w.stamp(i, weak)
			for k, cells := 0, r.shadow.cells(at, c.size, len(r.data)); k < len(cells); k++ {
				if o := cells[k].w; o&recAsync != 0 && (o.warp() != w.id || o.lane() != i) {
					return // another thread copies the same bytes and has not waited yet
				}
				cells[k].w, cells[k].wa = me, c.place
			}
		}
		clear(r.undef[at : at+c.size])
	})
}
