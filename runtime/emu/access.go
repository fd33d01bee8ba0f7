package emu

// order is the semantics of an access or fence: weak or strong with a scope, acquire, release (sections 8.4, 8.5).
type order struct {
	s       strength
	acquire bool
	release bool
}

// memOp is what is common to all instructions that access memory.
type memOp struct {
	space space
	add   int64 // immediate offset
	elem  int   // bytes of one element
	n     int   // elements of the vector
	order order
	nc    bool // ld.nc: the bytes must not be written in this launch
	addr  int  // index of the address in src
	wide  bool
}

func (m *memOp) bytes() int { return m.elem * m.n }

// accessed is the bytes of what counts as one access: a strong one of a vector is one of each element, in no order (PTX ISA 8.2.2).
func (m *memOp) accessed() int {
	if m.order.s != weak {
		return m.elem
	}
	return m.bytes()
}

// decodeOrder takes the ordering, scope and cache modifiers of ld, st, atom and red (sections 8.5, 9.7.9.1).
func (d *decoder) decodeOrder(atomic bool) (o order) {
	sem := d.oneOf("weak", "relaxed", "acquire", "release", "acq_rel", "volatile", "seq_cst")
	scope := d.oneOf("cta", "cluster", "gpu", "sys")
	if d.flag("mmio") && sem != "relaxed" {
		d.malformed(".mmio needs .relaxed")
	}
	switch sem {
	case "":
		if atomic {
			sem = "relaxed"
			if scope == "" {
				scope = "gpu"
			}
		}
	case "volatile":
		scope = "sys"
	case "seq_cst":
		d.malformed(".seq_cst access")
	}
	if sem == "" || sem == "weak" {
		if scope != "" {
			d.malformed("a scope needs a strong access")
		}
		return o
	}
	if scope == "" {
		if !atomic {
			d.malformed(".%s needs a scope", sem)
		}
		scope = "gpu"
	}
	o.s = scopeNames[scope]
	o.acquire = sem == "acquire" || sem == "acq_rel"
	o.release = sem == "release" || sem == "acq_rel"
	return o
}

// noteCommunication notes a strong access through which CTAs may communicate.
func (d *decoder) noteCommunication(op *memOp) {
	if op.order.s != weak && op.space != spShared && op.space != spCluster {
		d.c.prog.communicates = true
	}
}

// cacheHints takes the modifiers that only steer caches, which change no value. policy: there is an operand for a cache policy.
func (d *decoder) cacheHints() (policy bool) {
	d.oneOf("ca", "cg", "cs", "cv", "lu", "wb", "wt")
	for _, level := range []string{"L1", "L2"} {
		d.oneOf(level+"::evict_normal", level+"::evict_unchanged", level+"::evict_first", level+"::evict_last", level+"::no_allocate")
	}
	d.oneOf("L2::64B", "L2::128B", "L2::256B")
	return d.flag("L2::cache_hint")
}

// decodeSpace takes the state space; none is generic.
func (d *decoder) decodeSpace() space {
	for i, m := range d.mods {
		if s, ok := spaceNames[m]; ok {
			d.mods = append(d.mods[:i:i], d.mods[i+1:]...)
			return s
		}
	}
	return spGeneric
}

// address adds operand a, "[base+imm]", as a source of op.
func (d *decoder) address(a *arg, op *memOp) {
	if a.kind != argAddr || len(a.list) > 0 {
		d.malformed("expected an address in brackets")
		return
	}
	op.addr = len(d.in.src)
	op.add = a.off
	if a.base.kind == argInt {
		d.in.src = append(d.in.src, d.c.constant(a.base.val))
		op.wide = true
		return
	}
	if a.base.kind != argName || a.base.neg {
		d.malformed("bad address")
		return
	}
	if slot, t, ok := d.c.register(d.st.scope, a.base.name); ok {
		if t.cls == clsPred || t.width() < 32 {
			d.malformed("address register must have 32 or 64 bits")
		}
		op.wide = t.width() == 64
		d.in.src = append(d.in.src, slot)
		if op.space == spGlobal || op.space == spGeneric {
			d.in.address, d.in.addressAdd = len(d.in.src), op.add
		}
		return
	}
	v := d.st.scope.variable(a.base.name)
	if v == nil {
		d.malformed("undeclared name %s", a.base.name)
		return
	}
	op.wide = true
	switch {
	case op.space == spGeneric:
		op.space = v.home()
	case op.space == spParam:
		op.space = v.home()
	case v.home() != op.space && !(op.space == spGlobal && v.space == spConst) && !(op.space == spCluster && v.space == spShared):
		d.malformed("%s is not in .%s", v.name, op.space)
	}
	d.in.src = append(d.in.src, d.c.address(v, 0, false))
}

// addresses gives the address of every lane of m, after the checks that do not need the memory.
func (w *warp) addresses(in *inst, op *memOp, m uint32) *vec {
	o := in.src[op.addr]
	if o >= 0 && w.undef[o]&m != 0 {
		w.needDefined(o, m, "the address")
	}
	base := w.src(o)
	out := &w.addrs
	mask := ^uint64(0)
	if !op.wide {
		mask = widthMask(32)
	}
	for i := range out {
		out[i] = (base[i] + uint64(op.add)) & mask
	}
	return out
}

// find is locate with a fast path: an aligned access inside shared memory or the global allocation accessed last.
func (w *warp) find(sp space, addr uint64, n, lane int, what use) (*region, int) {
	var r *region
	switch sp {
	case spGlobal:
		r = w.lastGlobal
	case spShared:
		r = w.cta.shared
	}
	if r != nil {
		if at := addr - r.base; at+uint64(n) <= uint64(len(r.data)) && at <= uint64(len(r.data)) && addr&uint64(n-1) == 0 {
			return r, int(at)
		}
	}
	return w.locate(sp, addr, n, lane, what)
}

// locate finds the region of an access of n bytes by a lane and its offset there; it checks bounds and alignment.
func (w *warp) locate(sp space, addr uint64, n, lane int, what use) (*region, int) {
	var r *region
	at := addr
	switch sp {
	case spGeneric:
		if addr >= sharedWindow && addr < globalBase {
			switch {
			case addr-sharedWindow < windowSize:
				return w.locate(spCluster, addr-sharedWindow, n, lane, what)
			case addr-localWindow < windowSize:
				return w.locate(spLocal, addr-localWindow, n, lane, what)
			case addr-paramWindow < windowSize:
				return w.locate(spParam, addr-paramWindow, n, lane, what)
			}
		}
		fallthrough
	case spGlobal, spConst:
		r = w.lastGlobal
		if r == nil || addr-r.base >= uint64(len(r.data)) {
			if r = w.launch.mem.find(addr); r != nil {
				w.lastGlobal = r
			}
		}
		if r == nil || addr < r.base || addr-r.base+uint64(n) > uint64(len(r.data)) {
			w.failAccess(OutOfBounds, what, lane, addr, "%d-byte %s at %#x: %s%s", n, what, addr, w.launch.mem.describe(addr, n), w.describeWidening(addr, lane))
		}
		at = addr - r.base
	case spShared, spCluster:
		r, at = w.sharedAt(sp, addr, n, lane, what)
	case spLocal:
		size := uint64(w.prog.local)
		if addr+uint64(n) > size || addr > size {
			w.failAccess(OutOfBounds, what, lane, localWindow+addr, "%d-byte %s at %#x of local memory (%d bytes)", n, what, addr, size)
		}
		r, at = w.local, uint64(lane)*size+addr
		if addr&uint64(n-1) != 0 && !w.launch.opt.Checks.NoAlignment {
			w.failAccess(Misaligned, what, lane, addr, "%d-byte %s at local address %#x", n, what, addr)
		}
		return r, int(at)
	case spParam:
		r = w.launch.params
	}
	if at >= uint64(len(r.data)) || at+uint64(n) > uint64(len(r.data)) {
		w.failAccess(OutOfBounds, what, lane, r.genericAddr(0)+at, "%d-byte %s at %#x of %s memory (%d bytes)", n, what, at, r.space, len(r.data))
	}
	if (r.base+at)&uint64(n-1) != 0 && !w.launch.opt.Checks.NoAlignment { // what the caller maps begins anywhere
		w.failAccess(Misaligned, what, lane, r.genericAddr(int(at)), "%d-byte %s at %#x", n, what, addr)
	}
	return r, int(at)
}

// tracked tells whether other threads can see the memory.
func (r *region) tracked() bool { return r.space == spGlobal || r.space == spShared }

// --- ld, st ---

func decodeLd(d *decoder) {
	nc := d.flag("nc")
	d.flag("unified")
	op, t, regs := d.decodeAccess(0)
	if regs == nil {
		return
	}
	op.nc = nc
	ext := make([]func(uint64) uint64, len(regs))
	for i := range regs {
		d.dstArg(&regs[i])
		ext[i] = extend(t, d.width(&regs[i]))
	}
	d.address(&d.st.args[1], op)
	d.in.kind, d.in.fetches = kExec, op.order.s == weak && !op.nc
	d.in.exec = func(w *warp, in *inst, m uint32) { w.load(in, op, ext, m) }
}

// decodeAccess takes what ld and st share: modifiers, type, and the values, which are an argument; nil where it is malformed.
func (d *decoder) decodeAccess(value int) (op *memOp, t typ, values []arg) {
	op = &memOp{order: d.decodeOrder(false)}
	policy := d.cacheHints()
	op.space = d.decodeSpace()
	d.noteCommunication(op)
	op.n = d.vectorCount()
	t = d.typ1()
	op.elem = t.bytes()
	if t.width() > 64 {
		d.lacks("128-bit element")
	}
	args := d.st.args
	if len(args) != 2 && !(policy && len(args) == 3) {
		d.malformed("wrong number of operands")
		return op, t, nil
	}
	values = vector(&args[value])
	if len(values) != op.n {
		d.malformed("vector of %d elements expected", op.n)
		return op, t, nil
	}
	return op, t, values
}

// vectorCount takes .v2, .v4 or .v8.
func (d *decoder) vectorCount() int {
	switch d.oneOf("v2", "v4", "v8") {
	case "v2":
		return 2
	case "v4":
		return 4
	case "v8":
		return 8
	}
	return 1
}

// extend gives the conversion of a loaded value of type t to a register of width bits: signed types are
// sign-extended (section 9.7.9.8). nil: none is needed.
func extend(t typ, width int) func(uint64) uint64 {
	if !t.isSigned() || t.width() >= width {
		return nil
	}
	sh, mask := 64-t.width(), widthMask(width)
	return func(v uint64) uint64 { return uint64(int64(v<<sh)>>sh) & mask }
}

func (w *warp) load(in *inst, op *memOp, ext []func(uint64) uint64, m uint32) {
	addr := w.addresses(in, op, m)
	if w.launch.opt.Stats {
		w.countAccess(op, addr, m)
	}
	size := op.bytes()
	if op.order.s != weak {
		w.notePolling()
	}
	if op.space == spParam && m == fullMask && in.src[op.addr] < 0 { // the same bytes for all
		r, at := w.locate(spParam, addr[0], size, 0, use{"load", Read})
		for k, d := range in.dst {
			v := r.read(at+k*op.elem, op.elem)
			if ext[k] != nil {
				v = ext[k](v)
			}
			x := w.dst(d)
			for i := range x {
				x[i] = v
			}
			w.defined(d, m)
		}
		return
	}
	for mm := m; mm != 0; mm &= mm - 1 {
		i := firstLane(mm)
		r, at := w.find(op.space, addr[i], size, i, use{"load", Read})
		if r.tracked() {
			for k, n := 0, op.accessed(); k < size; k += n {
				w.recordRead(r, at+k, n, i, op.order.s)
			}
			if op.nc {
				w.checkNonCoherent(r, at, size, i)
			}
			if op.order.s != weak {
				w.observe(i, syncAddr{r, at}, op.order)
			}
		}
		for k, d := range in.dst {
			o := at + k*op.elem
			v := r.read(o, op.elem)
			if ext[k] != nil {
				v = ext[k](v)
			}
			w.dst(d)[i] = v
			if r.undef == nil {
				if d >= 0 {
					w.undef[d] &^= 1 << i
				}
				continue
			}
			u := r.readUndef(o, op.elem)
			if ext[k] != nil {
				u = ext[k](u)
			}
			w.setUB(d, i, u)
		}
	}
}

func decodeSt(d *decoder) {
	if d.flag("async") {
		decodeRemote(d)
		return
	}
	op, t, vals := d.decodeAccess(1)
	if vals == nil {
		return
	}
	if op.order.acquire {
		d.malformed("st.acquire")
	}
	for i := range vals {
		d.srcArg(&vals[i], t)
	}
	d.address(&d.st.args[0], op)
	if op.space == spConst {
		d.malformed("store to constant memory")
	}
	d.in.kind = kExec
	d.in.exec = func(w *warp, in *inst, m uint32) { w.store(in, op, m) }
}

func (w *warp) store(in *inst, op *memOp, m uint32) {
	w.launch.lastProgress = w.launch.stats.warpInstrs
	addr := w.addresses(in, op, m)
	if w.launch.opt.Stats {
		w.countAccess(op, addr, m)
	}
	size := op.bytes()
	var un uint32
	var vals [8]*vec
	for k := range op.n {
		un |= w.undefLanes(in.src[k])
		vals[k] = w.src(in.src[k])
	}
	for mm := m; mm != 0; mm &= mm - 1 {
		i := firstLane(mm)
		r, at := w.find(op.space, addr[i], size, i, use{"store", Write})
		if r.readonly {
			w.failAccess(ReadOnly, use{access: Write}, i, addr[i], "store to read-only memory '%s'", r.name)
		}
		if un>>i&1 != 0 && r.space == spGlobal {
			for k := range op.n {
				if u := w.ub(in.src[k], i) & widthMask(8*op.elem); u != 0 {
					w.undefStore(r, at+k*op.elem, i, u)
				}
			}
		}
		if r.tracked() {
			same := w.same(r, at, op, &vals, i)
			for k, n := 0, op.accessed(); k < size; k += n {
				w.recordWrite(r, at+k, n, i, op.order.s, same)
			}
			if len(r.barriers) > 0 {
				w.checkNotOverMbar(r, at, size, i)
			}
			if op.order.s != weak || len(r.released) > 0 {
				w.publishStore(syncAddr{r, at}, i, op.order)
			}
		}
		for k := range op.n {
			o := at + k*op.elem
			if r.undef == nil && un>>i&1 == 0 {
				writeBytes(r.data, o, op.elem, vals[k][i])
			} else {
				r.write(o, op.elem, vals[k][i], w.ub(in.src[k], i))
			}
		}
	}
}

// publishStore is the synchronisation of a store: a weak one only ends the release sequence there.
func (w *warp) publishStore(key syncAddr, lane int, o order) {
	if o.s == weak {
		delete(key.r.released, key.off)
		return
	}
	w.publish(lane, key, o, false)
}

// same tells whether the store would leave memory as it is.
func (w *warp) same(r *region, at int, op *memOp, vals *[8]*vec, lane int) bool {
	for k := range op.n {
		o := at + k*op.elem
		if r.read(o, op.elem) != vals[k][lane]&widthMask(8*op.elem) || r.readUndef(o, op.elem) != 0 {
			return false
		}
	}
	return true
}

// undefStore reports a store of undefined bits to global memory.
func (w *warp) undefStore(r *region, at, lane int, bits uint64) {
	if w.launch.opt.Checks.NoUndefined {
		return
	}
	w.failAccess(Undefined, use{access: Write}, lane, r.genericAddr(at), "undefined bits (%#x) are stored to %s byte %d", bits, r.describe(), at)
}
