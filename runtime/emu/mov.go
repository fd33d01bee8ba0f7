package emu

// decodeMov: mov of registers, literals, addresses, special registers and predicates; packing and
// unpacking of vectors (section 9.7.9.2).
func decodeMov(d *decoder) {
	t := d.typ1()
	args := d.st.args
	if t.cls == clsPred {
		d.predDst(&args[0])
		d.predSrc(&args[1])
		d.in.kind = kExec
		d.in.exec = func(w *warp, in *inst, m uint32) {
			w.setPred(in.pdst[0], m, w.pred(in.psrc[0]), w.predUndef(in.psrc[0]))
		}
		return
	}
	switch {
	case t.width() > 64:
		d.lacks("128-bit move")
	case args[1].kind == argVec && args[0].kind != argVec:
		d.pack(t)
	case args[0].kind == argVec && args[1].kind != argVec:
		d.unpack(t)
	case args[0].kind == argVec:
		d.lacks("vector move")
	default:
		d.dst()
		d.results(t)
		if fn := specials[args[1].name]; fn != nil && args[1].kind == argName {
			if _, _, isReg := d.c.register(d.st.scope, args[1].name); !isReg {
				d.in.kind, d.in.exec = kExec, d.c.readSpecial(args[1].name, fn)
				return
			}
		}
		d.src(1, t)
		d.in.rule = rule1(func(u uint64) uint64 { return u })
		d.in.vec = func(d, a, _, _ *vec) { *d = *a }
	}
}

// pack: mov.b32 d, {lo, hi}.
func (d *decoder) pack(t typ) {
	elems := d.st.args[1].list
	n := t.width() / max(1, len(elems))
	part := typ{cls: clsBits, bits: n, n: 1, named: "b" + itoa(n)}
	d.dst()
	for i := range elems {
		d.srcArg(&elems[i], part)
	}
	d.in.kind = kExec
	mask := widthMask(n)
	d.in.exec = func(w *warp, in *inst, m uint32) {
		var v vec
		var un uint32
		for k, s := range in.src {
			x := w.src(s)
			un |= w.undefLanes(s)
			for i := range v {
				v[i] |= x[i] & mask << (k * n)
			}
		}
		var u vec
		if un&m != 0 {
			lanes(m, func(i int) {
				for k, s := range in.src {
					u[i] |= w.ub(s, i) & mask << (k * n)
				}
			})
		}
		w.put(in.dst[0], m, &v)
		if un&m != 0 {
			lanes(m, func(i int) { w.setUB(in.dst[0], i, u[i]) })
		}
	}
}

// unpack: mov.b32 {lo, hi}, a.
func (d *decoder) unpack(t typ) {
	elems := d.st.args[0].list
	n := t.width() / max(1, len(elems))
	for i := range elems {
		d.dstArg(&elems[i])
	}
	d.results(typ{cls: clsBits, bits: n, n: 1, named: "b" + itoa(n)})
	d.src(1, t)
	d.in.kind = kExec
	mask := widthMask(n)
	d.in.exec = func(w *warp, in *inst, m uint32) {
		x := *w.src(in.src[0]) // a destination may be the source
		un := w.undefLanes(in.src[0]) & m
		var u vec
		lanes(un, func(i int) { u[i] = w.ub(in.src[0], i) })
		for k, o := range in.dst {
			var v vec
			for i := range v {
				v[i] = x[i] >> (k * n) & mask
			}
			w.put(o, m, &v)
			lanes(un, func(i int) { w.setUB(o, i, u[i]>>(k*n)&mask) })
		}
	}
}

// decodeCvta: cvta{.to}.space.size: generic address from or to an address of a space.
func decodeCvta(d *decoder) {
	to := d.flag("to")
	sp := d.decodeSpace()
	t := d.typ1()
	d.dst()
	a := d.st.args[1]
	if v := d.st.scope.variable(a.name); v != nil && a.kind == argName && !to {
		d.in.src = append(d.in.src, d.c.address(v, a.off, false))
	} else {
		d.src(1, t)
	}
	base := windowOf(sp)
	if to {
		base = -base
	}
	d.in.rule = ruleUp
	d.in.vec = lift1(func(a uint64) uint64 {
		if !to {
			a &= widthMask(64)
			if sp != spGlobal && sp != spConst {
				a &= widthMask(32)
			}
		}
		return a + base
	})
}

// decodeIsspacep: isspacep.space p, a.
func decodeIsspacep(d *decoder) {
	sp := d.decodeSpace()
	d.predDst(&d.st.args[0])
	d.src(1, types["u64"])
	d.in.kind = kExec
	d.in.exec = func(w *warp, in *inst, m uint32) {
		w.needDefined(in.src[0], m, "the operand of isspacep")
		var v uint32
		for i, a := range w.src(in.src[0]) {
			inside := a-windowOf(sp) < windowSize
			if sp == spGlobal || sp == spConst {
				r := w.launch.mem.find(a)
				inside = !inWindow(a) && (sp == spConst) == (r != nil && r.readonly && !r.mapped && a-r.base < uint64(len(r.data)))
			}
			if inside {
				v |= 1 << i
			}
		}
		w.setPred(in.pdst[0], m, v, 0)
	}
}
