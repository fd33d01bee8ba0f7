package emu

import (
	"math"
	"math/bits"
)

// rendezvous waits for the lanes of the member mask (operand mask of the instruction) to come to this
// instruction and gives them. Lanes that have exited are not waited for. anywhere: other bar.warp.sync
// with the same mask count too.
func (w *warp) rendezvous(mask opnd, m uint32, anywhere bool) (uint32, bool) {
	w.needDefined(mask, m, "the member mask")
	member := uint32(w.uniform(mask, m, "member mask"))
	if m&^member != 0 {
		w.fail(Invalid, m&^member, 0, "lane %d executes with member mask %#08x, which does not name it", firstLane(m&^member), member)
	}
	here := uint32(0)
	lanes(w.parked&^m, func(i int) {
		if w.parkMask[i] == member && (w.pc[i] == w.curPC || anywhere && w.atBar>>i&1 != 0) {
			here |= 1 << i
		}
	})
	if member&w.live&^(m|here) != 0 {
		w.parked |= m
		w.ready &^= m
		w.atBar &^= m
		if anywhere {
			w.atBar |= m
		}
		lanes(m, func(i int) { w.parkMask[i] = member })
		return 0, false
	}
	lanes(here, func(i int) { w.pc[i]++ })
	w.parked &^= m | here
	w.ready |= here
	return m | here, true
}

func decodeBarWarp(d *decoder) {
	if !d.flag("sync") {
		d.lacks("bar.warp.sync expected")
	}
	d.src(0, types["b32"])
	d.in.kind = kSync
	d.in.sync = func(w *warp, in *inst, m uint32) bool {
		all, ok := w.rendezvous(in.src[0], m, true)
		if ok {
			w.syncLanes(all)
		}
		return ok
	}
}

// withMember makes a kSync instruction of f, which runs with all lanes of the member mask together; the
// mask is source at.
func (d *decoder) withMember(at int, f func(w *warp, in *inst, m uint32)) {
	d.in.kind = kSync
	d.in.sync = func(w *warp, in *inst, m uint32) bool {
		all, ok := w.rendezvous(in.src[at], m, false)
		if ok {
			f(w, in, all)
		}
		return ok
	}
}

// decodeShfl: shfl.sync.mode.b32 d|p, a, b, c, mask (section 9.7.9.6).
func decodeShfl(d *decoder) {
	if !d.flag("sync") {
		d.malformed("shfl without .sync")
	}
	mode := d.oneOf("up", "down", "bfly", "idx")
	d.flag("b32")
	a := &d.st.args[0]
	if a.pair != nil {
		d.predDst(a.pair)
	}
	b := *a
	b.pair = nil
	d.dstArg(&b)
	for i := 1; i < 5; i++ {
		d.src(i, types["b32"])
	}
	d.withMember(3, func(w *warp, in *inst, m uint32) { w.shfl(in, mode, m) })
}

func (w *warp) shfl(in *inst, mode string, m uint32) {
	a, b, c := w.src(in.src[0]), w.src(in.src[1]), w.src(in.src[2])
	w.needDefined(in.src[1], m, "the lane operand")
	w.needDefined(in.src[2], m, "the clamp operand")
	var v, u vec
	var inside uint32
	undef := w.undefLanes(in.src[0])&m != 0
	for i := range 32 {
		bv, cv, seg := int(b[i]&31), int(c[i]&31), int(c[i]>>8&31)
		top, j, ok := i&seg|cv&^seg, 0, false
		switch mode {
		case "up":
			j = i - bv
			ok = j >= top
		case "down":
			j = i + bv
			ok = j <= top
		case "bfly":
			j = i ^ bv
			ok = j <= top
		case "idx":
			j = i&seg | bv&^seg
			ok = j <= top
		}
		if !ok {
			j = i
		} else {
			inside |= 1 << i
		}
		v[i] = a[j]
		if m>>j&1 == 0 { // the source lane does not take part: the value is undefined
			u[i] = ^uint64(0)
			undef = true
		} else {
			u[i] = w.ub(in.src[0], j)
		}
	}
	d := in.dst[0]
	w.put(d, m, &v)
	if undef {
		lanes(m, func(i int) { w.setUB(d, i, u[i]) })
	}
	if len(in.pdst) > 0 {
		w.setPred(in.pdst[0], m, inside, 0)
	}
}

// decodeVote: vote.sync.{all,any,uni}.pred, vote.sync.ballot.b32.
func decodeVote(d *decoder) {
	if !d.flag("sync") {
		d.malformed("vote without .sync")
	}
	mode := d.oneOf("all", "any", "uni", "ballot")
	d.typ1()
	if mode == "ballot" {
		d.dst()
	} else {
		d.predDst(&d.st.args[0])
	}
	d.predSrc(&d.st.args[1])
	d.src(2, types["b32"])
	d.withMember(0, func(w *warp, in *inst, m uint32) {
		p := w.pred(in.psrc[0]) & m
		undef := uint32(0)
		if w.predUndef(in.psrc[0])&m != 0 {
			undef = m
		}
		if mode == "ballot" {
			for i := range w.tmp {
				w.tmp[i] = uint64(p)
			}
			w.put(in.dst[0], m, &w.tmp)
			if undef != 0 {
				bad := uint64(w.predUndef(in.psrc[0]) & m)
				lanes(m, func(i int) { w.setUB(in.dst[0], i, bad) })
			}
			return
		}
		r := mode == "all" && p == m || mode == "any" && p != 0 || mode == "uni" && (p == 0 || p == m)
		v := uint32(0)
		if r {
			v = m
		}
		w.setPred(in.pdst[0], m, v, undef)
	})
}

// decodeMatch: match.any.sync.type d, a, mask; match.all.sync.type d|p, a, mask.
func decodeMatch(d *decoder) {
	if !d.flag("sync") {
		d.malformed("match without .sync")
	}
	mode := d.oneOf("any", "all")
	t := d.typ1()
	a := d.st.args[0]
	if a.pair != nil {
		d.predDst(a.pair)
		a.pair = nil
	}
	d.dstArg(&a)
	d.src(1, t)
	d.src(2, types["b32"])
	d.withMember(1, func(w *warp, in *inst, m uint32) {
		w.needDefined(in.src[0], m, "the operand of match")
		x := w.src(in.src[0])
		var v vec
		same := true
		lanes(m, func(i int) {
			lanes(m, func(j int) {
				if x[i] == x[j] {
					v[i] |= 1 << j
				}
			})
			same = same && v[i] == uint64(m)
		})
		var p uint32
		if mode == "all" {
			if !same {
				v = vec{}
			} else {
				p = m
			}
		}
		w.put(in.dst[0], m, &v)
		if len(in.pdst) > 0 {
			w.setPred(in.pdst[0], m, p, 0)
		}
	})
}

// decodeRedux: redux.sync.op d, a, mask: all lanes of the mask get the reduction of their values.
func decodeRedux(d *decoder) {
	if !d.flag("sync") {
		d.malformed("redux without .sync")
	}
	op := d.oneOf("add", "min", "max", "and", "or", "xor")
	abs, nan := d.flag("abs"), d.flag("NaN")
	t := d.typ1()
	var f func(a, b uint64) uint64
	if t.isFloat() {
		f = d.floatRedux(op, nan)
	} else if abs || nan {
		d.lacks(".abs and .NaN on %s", t.named)
	} else {
		f = d.atomicOp(op, t)
	}
	d.dst()
	d.src(1, t)
	d.src(2, types["b32"])
	d.withMember(1, func(w *warp, in *inst, m uint32) {
		x := w.src(in.src[0])
		first := true
		var r, u uint64
		lanes(m, func(i int) {
			v := x[i]
			if abs {
				v &^= 1 << 31
			}
			if t.isFloat() && isNaN32(f32(v)) {
				v = bits32(canonNaN32())
			}
			if first {
				r, first = v, false
			} else {
				r = f(r, v)
			}
			u |= w.ub(in.src[0], i)
		})
		for i := range w.tmp {
			w.tmp[i] = r
		}
		w.put(in.dst[0], m, &w.tmp)
		if u != 0 {
			lanes(m, func(i int) { w.setUB(in.dst[0], i, ^uint64(0)) })
		}
	})
}

// floatRedux: redux.sync.{min,max}{.abs}{.NaN}.f32 (section 9.7.13.12).
func (d *decoder) floatRedux(op string, nan bool) func(a, b uint64) uint64 {
	if op != "min" && op != "max" {
		d.lacks("redux %s on floats", op)
	}
	return func(a, b uint64) uint64 {
		x, y := math.Float32frombits(uint32(a)), math.Float32frombits(uint32(b))
		return uint64(math.Float32bits(minmax32(x, y, op == "max", nan)))
	}
}

func decodeActivemask(d *decoder) {
	d.flag("b32")
	d.dst()
	d.in.kind = kExec
	d.in.exec = func(w *warp, in *inst, m uint32) {
		for i := range w.tmp {
			w.tmp[i] = uint64(m)
		}
		w.put(in.dst[0], m, &w.tmp)
	}
}

// decodeElect: elect.sync d|p, mask: the first lane of the mask is elected.
func decodeElect(d *decoder) {
	d.flag("sync")
	a := d.st.args[0]
	if a.pair == nil {
		d.malformed("elect needs a predicate")
		return
	}
	d.predDst(a.pair)
	a.pair = nil
	d.dstArg(&a)
	d.src(1, types["b32"])
	d.withMember(0, func(w *warp, in *inst, m uint32) {
		leader := bits.TrailingZeros32(m)
		for i := range w.tmp {
			w.tmp[i] = uint64(leader)
		}
		w.put(in.dst[0], m, &w.tmp)
		w.setPred(in.pdst[0], m, 1<<leader, 0)
	})
}
