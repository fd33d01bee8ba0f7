package emu

// matrixOp is a decoded ldmatrix or stmatrix of 8x8 matrices of 16-bit elements (section 9.7.14.5.15):
// lane 8*q+r gives the address of row r of matrix q; register q of a lane holds the elements
// (row lane/4, columns 2*(lane%4) and the next), of the transposed matrix with .trans.
type matrixOp struct {
	mem   memOp
	n     int // matrices
	trans bool
}

func decodeLdmatrix(d *decoder) {
	op := &matrixOp{}
	d.flag("sync")
	d.flag("aligned")
	if d.flag("m16n16") {
		d.decodeLdmatrix8()
		return
	}
	if !d.flag("m8n8") {
		d.lacks("only shapes m8n8 and m16n16")
		return
	}
	switch d.oneOf("x1", "x2", "x4") {
	case "x1":
		op.n = 1
	case "x2":
		op.n = 2
	case "x4":
		op.n = 4
	}
	op.trans = d.flag("trans")
	op.mem = memOp{space: d.decodeSpace(), elem: 16, n: 1}
	if !d.flag("b16") {
		d.lacks("only .b16")
		return
	}
	regs, addr := &d.st.args[0], &d.st.args[1]
	store := d.base == "stmatrix"
	if store {
		regs, addr = addr, regs
	}
	v := vector(regs)
	if len(v) != op.n {
		d.malformed("vector of %d registers expected", op.n)
		return
	}
	for i := range v {
		if store {
			d.srcArg(&v[i], types["b32"])
		} else {
			d.dstArg(&v[i])
		}
	}
	d.address(addr, &op.mem)
	if store {
		d.warpWide(func(w *warp, in *inst, m uint32) { w.stmatrix(in, op) })
	} else {
		d.warpWide(func(w *warp, in *inst, m uint32) { w.ldmatrix(in, op, m) })
	}
}

// rows locates the rows of all matrices: 8*n addresses from as many lanes.
func (w *warp) rows(in *inst, op *matrixOp, what use, f func(lane int, r *region, at int)) {
	used := uint32(1)<<(8*op.n) - 1
	if op.n == 4 {
		used = fullMask
	}
	addr := w.addresses(in, &op.mem, used)
	if w.launch.opt.Stats {
		for q := range op.n {
			w.countAccess(&op.mem, addr, 0xff<<(8*q))
		}
	}
	for lane := range 8 * op.n {
		r, at := w.find(op.mem.space, addr[lane], 16, lane, what)
		if r.space != spShared {
			w.fail(Invalid, 1<<lane, addr[lane], "%s outside shared memory", what)
		}
		f(lane, r, at)
	}
}

func (w *warp) ldmatrix(in *inst, op *matrixOp, m uint32) {
	var v, u [4][8][8]uint16
	undef := false
	w.rows(in, op, use{"ldmatrix", Read}, func(lane int, r *region, at int) {
		w.recordRead(r, at, 16, lane, weak)
		row := &v[lane>>3][lane&7]
		b := r.data[at : at+16 : at+16]
		for c := range row {
			row[c] = uint16(b[2*c]) | uint16(b[2*c+1])<<8
		}
		if r.readUndef(at, 8)|r.readUndef(at+8, 8) != 0 {
			undef = true
			for c := range 8 {
				u[lane>>3][lane&7][c] = uint16(r.readUndef(at+2*c, 2))
			}
		}
	})
	get := func(x *[8][8]uint16, lane int) uint64 {
		g, t := lane>>2, 2*(lane&3)
		if op.trans {
			return uint64(x[t][g]) | uint64(x[t+1][g])<<16
		}
		return uint64(x[g][t]) | uint64(x[g][t+1])<<16
	}
	for q, d := range in.dst {
		for lane := range 32 {
			w.tmp[lane] = get(&v[q], lane)
		}
		w.put(d, m, &w.tmp)
		if undef {
			for lane := range 32 {
				w.setUB(d, lane, get(&u[q], lane))
			}
		}
	}
}

func (w *warp) stmatrix(in *inst, op *matrixOp) {
	var v, u [4][8][8]uint16
	set := func(x *[8][8]uint16, lane int, b uint64) {
		g, t := lane>>2, 2*(lane&3)
		if op.trans {
			x[t][g], x[t+1][g] = uint16(b), uint16(b>>16)
		} else {
			x[g][t], x[g][t+1] = uint16(b), uint16(b>>16)
		}
	}
	for q := range op.n {
		x := w.src(in.src[q])
		for lane := range 32 {
			set(&v[q], lane, x[lane])
			set(&u[q], lane, w.ub(in.src[q], lane))
		}
	}
	w.rows(in, op, use{"stmatrix", Write}, func(lane int, r *region, at int) {
		row, un := &v[lane>>3][lane&7], &u[lane>>3][lane&7]
		same := true
		for c := range row {
			same = same && un[c] == 0 && r.read(at+2*c, 2) == uint64(row[c]) && r.readUndef(at+2*c, 2) == 0
		}
		w.recordWrite(r, at, 16, lane, weak, same)
		for c := range 8 {
			r.write(at+2*c, 2, uint64(row[c]), uint64(un[c]))
		}
	})
}

// decodeMovmatrix: movmatrix.sync.aligned.m8n8.trans.b16 d, a: transposes an 8x8 matrix held by a warp.
func decodeMovmatrix(d *decoder) {
	for _, m := range []string{"sync", "aligned", "m8n8", "trans", "b16"} {
		if !d.flag(m) {
			d.lacks("this form of movmatrix")
			return
		}
	}
	d.dst()
	d.src(1, types["b32"])
	d.warpWide(func(w *warp, in *inst, m uint32) {
		a := *w.src(in.src[0])
		var ua, v, u vec
		for i := range ua {
			ua[i] = w.ub(in.src[0], i)
		}
		pick := func(x *vec, row, col int) uint64 { return x[4*row+col/2] >> (16 * (col & 1)) & 0xffff }
		for i := range 32 {
			g, t := i>>2, 2*(i&3)
			v[i] = pick(&a, t, g) | pick(&a, t+1, g)<<16
			u[i] = pick(&ua, t, g) | pick(&ua, t+1, g)<<16
		}
		w.put(in.dst[0], m, &v)
		for i := range 32 {
			w.setUB(in.dst[0], i, u[i])
		}
	})
}
