package emu

import "math"

// decodeAtom: atom and red: read-modify-write on global or shared memory (sections 9.7.13.5, 9.7.13.7).
// Lanes go one after the other, in order.
func decodeAtom(d *decoder) {
	if d.flag("async") {
		decodeRemote(d)
		return
	}
	mem := &memOp{n: 1}
	mem.order = d.decodeOrder(true)
	policy := d.flag("L2::cache_hint")
	mem.space = d.decodeSpace()
	d.noteCommunication(mem)
	op := d.oneOf("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec", "sub")
	d.flag("noftz")
	mem.n = d.vectorCount()
	t := d.typ1()
	mem.elem = t.bytes()
	args := d.st.args
	if d.base != "red" {
		for _, r := range vector(&args[0]) {
			d.dstArg(&r)
		}
		args = args[1:]
	}
	want := 2
	if op == "cas" {
		want = 3
	}
	if len(args) != want && !(policy && len(args) == want+1) {
		d.malformed("wrong number of operands")
		return
	}
	vals := vector(&args[1])
	sink := d.base == "red" || len(d.in.dst) == 1 && d.in.dst[0] == noReg // one sink takes a vector, too
	if len(vals) != mem.n || !sink && len(d.in.dst) != mem.n || mem.n > 1 && op == "cas" {
		d.malformed("vector of %d elements expected", mem.n)
		return
	}
	for i := range vals {
		d.srcArg(&vals[i], t)
	}
	if op == "cas" {
		d.srcArg(&args[2], t)
	}
	d.address(&args[0], mem)
	f := d.atomicOp(op, t)
	global := onGlobal(op, t, f)
	if t.width() > 64 {
		d.lacks("128-bit atomics")
	}
	d.in.kind = kExec
	d.in.exec = func(w *warp, in *inst, m uint32) {
		addr := *w.addresses(in, mem, m)
		if w.launch.opt.Stats {
			w.countAccess(mem, &addr, m)
		}
		for k := range mem.n {
			w.atomic(in, mem, k, &addr, f, global, m)
		}
	}
}

// atomic executes a read-modify-write of element k of a vector, which is atomic by itself alone; f nil is compare-and-swap, global is f on global memory.
func (w *warp) atomic(in *inst, op *memOp, k int, addr *vec, f, global func(old, b uint64) uint64, m uint32) {
	b, c := *w.src(in.src[k]), *w.src(in.src[1])
	n := op.elem
	idle := true // looks like polling: no lane changes the value, and each reads what its last atomic operation read
	for mm := m; mm != 0; mm &= mm - 1 {
		i := firstLane(mm)
		r, at := w.locate(op.space, addr[i], op.bytes(), i, use{"atomic", Atomic})
		at += k * n
		if r.readonly {
			w.failAccess(ReadOnly, use{access: Atomic}, i, addr[i], "atomic on read-only memory '%s'", r.name)
		}
		u := w.ub(in.src[k], i)
		if f == nil {
			u |= w.ub(in.src[1], i)
		}
		if u != 0 && r.space == spGlobal {
			w.undefStore(r, at, i, u)
		}
		key := syncAddr{r, at}
		if r.tracked() {
			w.recordRead(r, at, n, i, op.order.s)
			w.recordWrite(r, at, n, i, op.order.s, false)
			w.observe(i, key, op.order)
			w.publish(i, key, op.order, true)
		}
		old := r.read(at, n)
		u |= r.readUndef(at, n)
		v := old
		switch {
		case f != nil && r.space == spGlobal:
			v = global(old, b[i])
		case f != nil:
			v = f(old, b[i])
		case old == b[i]&widthMask(8*n):
			v = c[i]
		}
		if u != 0 {
			if r.space == spGlobal && r.readUndef(at, n) != 0 && !w.launch.opt.Checks.NoUndefined {
				w.failAccess(Undefined, use{access: Atomic}, i, addr[i], "atomic on %s byte %d, which has never been written", r.describe(), at)
			}
			u = ^uint64(0)
		}
		if v != old {
			w.launch.lastProgress = w.launch.stats.warpInstrs
		}
		idle = idle && v == old && old == w.lastAtomic[i] && (f != nil || old != b[i]&widthMask(8*n))
		w.lastAtomic[i] = old
		r.write(at, n, v, u)
		if k < len(in.dst) && in.dst[k] >= 0 {
			w.regs[in.dst[k]][i] = old
			w.setUB(in.dst[k], i, u)
		}
	}
	if idle {
		w.notePolling()
	}
}

// atomicOp gives the operation of an atomic, or of a warp reduction; that of compare-and-swap is nil.
func (d *decoder) atomicOp(op string, t typ) func(a, b uint64) uint64 {
	mask := t.mask()
	switch op {
	case "cas":
		return nil
	case "exch":
		return func(_, b uint64) uint64 { return b & mask }
	case "and":
		return func(a, b uint64) uint64 { return a & b }
	case "or":
		return func(a, b uint64) uint64 { return a | b }
	case "xor":
		return func(a, b uint64) uint64 { return a ^ b }
	case "inc":
		return func(a, b uint64) uint64 {
			if a >= b {
				return 0
			}
			return a + 1
		}
	case "dec":
		return func(a, b uint64) uint64 {
			if a == 0 || a > b {
				return b
			}
			return a - 1
		}
	case "add", "min", "max", "sub":
		if t.isFloat() {
			return d.atomicFloat(op, t)
		}
		return atomicInt(op, t)
	}
	d.lacks("operation %s", op)
	return nil
}

// atomicInt: add, sub, min and max of integers.
func atomicInt(op string, t typ) func(a, b uint64) uint64 {
	mask := t.mask()
	switch op {
	case "add":
		return func(a, b uint64) uint64 { return (a + b) & mask }
	case "sub":
		return func(a, b uint64) uint64 { return (a - b) & mask }
	}
	order := func(v uint64) uint64 { return v & mask } // a number that grows with the value
	if t.isSigned() {
		order = func(v uint64) uint64 { return uint64(int64(v<<(64-t.bits))) ^ 1<<63 }
	}
	least := op == "min"
	return func(a, b uint64) uint64 {
		if (order(b) < order(a)) == least {
			return b & mask
		}
		return a & mask
	}
}

// onGlobal gives the operation f on global memory, where sums of f32 "[flush] subnormal inputs and results to sign-preserving zero; whereas
// atom.add.f32 on shared memory supports subnormal inputs and results" (9.7.13.5; so does red, 9.7.13.7; the
// machine code of multimem.red says FTZ, too). Sums of f16 and bf16 are .noftz.
func onGlobal(op string, t typ, f func(old, b uint64) uint64) func(old, b uint64) uint64 {
	if op != "add" || t.fmt != fmtF32 || t.n != 1 {
		return f
	}
	return func(a, b uint64) uint64 { return bits32(ftz32(ftz32(f32(a)) + ftz32(f32(b)))) }
}

// atomicFloat: add in every format, packed ones element by element; min and max of 16-bit types.
func (d *decoder) atomicFloat(op string, t typ) func(a, b uint64) uint64 {
	switch {
	case t.bits == 64:
		return func(a, b uint64) uint64 { return math.Float64bits(f64(a) + f64(b)) }
	case t.fmt == fmtF32 && t.n == 1 && op == "add":
		return func(a, b uint64) uint64 { return bits32(f32(a) + f32(b)) }
	case t.bits == 16:
		return packed(t, half2(op, t.fmt, fopt{}))
	}
	d.lacks("atomic %s on %s", op, t.named)
	return nil
}

// decodeFence: fence.{sc,acq_rel,acquire,release}.scope, fence.proxy.*, membar.{cta,gl,sys}.
func decodeFence(d *decoder) {
	d.in.kind = kExec
	if d.flag("proxy") {
		d.proxyFence()
		return
	}
	if d.flag("mbarrier_init") { // fence.mbarrier_init.release.cluster: a relaxed barrier.cluster.arrive releases what is before it
		d.mods = nil
		d.in.exec = func(w *warp, _ *inst, m uint32) {
			lanes(m, func(i int) { w.mbarInitClocks[i] = w.laneSnapshot(i) })
			w.count(&w.epoch)
		}
		return
	}
	sem := d.oneOf("sc", "acq_rel", "acquire", "release")
	scope := d.oneOf("cta", "cluster", "gpu", "sys", "gl")
	if scope == "" {
		d.malformed("a fence needs a scope")
	}
	o := order{s: scopeNames[scope], acquire: sem != "release", release: sem != "acquire"}
	d.in.exec = func(w *warp, in *inst, m uint32) { w.fence(m, o) }
}
