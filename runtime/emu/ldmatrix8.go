package emu

// decodeLdmatrix8: ldmatrix.sync.aligned.m16n16.{x1,x2}.trans.shared.b8 r, [p] (section 9.7.14.5.15): matrices of 16 rows of 16
// bytes; lane 16*q+r gives the address of row r of matrix q. Register 2q+k of a lane holds rows 4*(lane%4) to 4*(lane%4)+3 of
// column lane/4 + 8*k of matrix q: the operand B of a product of bytes.
func (d *decoder) decodeLdmatrix8() {
	op := &matrixOp{}
	switch d.oneOf("x1", "x2") {
	case "x1":
		op.n = 1
	case "x2":
		op.n = 2
	}
	op.mem = memOp{space: d.decodeSpace(), elem: 16, n: 1}
	v := vector(&d.st.args[0])
	if d.base != "ldmatrix" || !d.flag("trans") || !d.flag("b8") || op.n == 0 || len(v) != 2*op.n {
		d.lacks("this form of %s with m16n16", d.base)
		return
	}
	for i := range v {
		d.dstArg(&v[i])
	}
	d.address(&d.st.args[1], &op.mem)
	d.warpWide(func(w *warp, in *inst, m uint32) { w.ldmatrix8(in, op, m) })
}

func (w *warp) ldmatrix8(in *inst, op *matrixOp, m uint32) {
	used := uint32(1)<<(16*op.n) - 1
	if op.n == 2 {
		used = fullMask
	}
	addr := *w.addresses(in, &op.mem, used)
	var v, u [2][16][16]byte
	for lane := range 16 * op.n {
		r, at := w.locate(op.mem.space, addr[lane], 16, lane, use{"ldmatrix", Read})
		if r.space != spShared {
			w.fail(Invalid, 1<<lane, addr[lane], "ldmatrix outside shared memory")
		}
		w.recordRead(r, at, 16, lane, weak)
		copy(v[lane>>4][lane&15][:], r.data[at:])
		if r.undef != nil {
			copy(u[lane>>4][lane&15][:], r.undef[at:at+16])
		}
	}
	get := func(x *[16][16]byte, lane, k int) uint64 {
		col, row := lane>>2+8*k, 4*(lane&3)
		return uint64(x[row][col]) | uint64(x[row+1][col])<<8 | uint64(x[row+2][col])<<16 | uint64(x[row+3][col])<<24
	}
	for i, d := range in.dst {
		var bits [32]uint64
		for lane := range 32 {
			w.tmp[lane], bits[lane] = get(&v[i>>1], lane, i&1), get(&u[i>>1], lane, i&1)
		}
		w.put(d, m, &w.tmp)
		for lane, b := range bits {
			if b != 0 {
				w.setUB(d, lane, b)
			}
		}
	}
}
