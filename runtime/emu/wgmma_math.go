package emu

import "math/bits"

// wgmmaScratch is room for one wgmma, kept by the CTA.
type wgmmaScratch struct {
	a      [64 * 32]float64   // row, k
	b      [32][32][8]float64 // eight columns, k, column: in the order in which they are multiplied
	c      [32][16][8]float64 // eight columns, row of a warp, column
	ia, ib [256 * 32]int32    // row or column, k
	ba, bb [256 * 8]uint32    // bits
	piece  [16]float64        // elements of 16 bytes
	badA   [64]bool
	badB   [256]bool
	bad    bool
}

// operand loads A or B from shared memory. put takes 16 bytes at row r, depth k.
func (w *warp) operand(desc uint64, across bool, t typ, rows, depth int, a *asyncAccess, bad []bool, work *wgmmaScratch, put func(r, k int, b []byte)) {
	size := max(1, t.bits/8)
	if t.bits == 1 {
		depth /= 8
	}
	tile, wrong := wgmmaTile(desc, across, size)
	if wrong != "" {
		w.fail(Invalid, fullMask, 0, "matrix descriptor %#x: %s", desc, wrong)
	}
	r := w.cta.shared
	tile.pieces(rows, depth, func(row, k, at int) {
		if at+16 > len(r.data) {
			w.fail(OutOfBounds, fullMask, r.genericAddr(at), "matrix descriptor %#x leads to byte %#x of shared memory (%d bytes)", desc, at, len(r.data))
		}
		a.read(r, at, 16)
		if r.readUndef(at, 8)|r.readUndef(at+8, 8) != 0 {
			work.bad = true
			for j := range 16 / size {
				if u := r.readUndef(at+j*size, size); u != 0 && across {
					bad[row+j] = true
				} else if u != 0 {
					bad[row] = true
				}
			}
		}
		put(row, k, r.data[at:at+16])
	})
}

// wgmma computes for the four warps of a warpgroup.
func (w *warp) wgmma(in *inst, op *wgmmaOp, group []*warp) {
	w.launch.stats.mma++
	if w.cta.wgmmaScratch == nil {
		w.cta.wgmmaScratch = new(wgmmaScratch)
	}
	work := w.cta.wgmmaScratch
	if work.bad {
		work.badA, work.badB, work.bad = [64]bool{}, [256]bool{}, false
	}
	leader := group[0]
	stamp := leader.issue(agentWgmma, 0)
	number := leader.agents[agentWgmma].newest
	access := &asyncAccess{w: w, stamp: stamp, proxy: asyncProxy, issuers: group}
	desc := func(at int) uint64 {
		var v uint64
		for _, x := range group {
			x.needDefined(in.src[at], fullMask, "the matrix descriptor")
			u := x.uniform(in.src[at], fullMask, "matrix descriptor")
			if x != leader && u != v {
				x.fail(Divergence, fullMask, 0, "the matrix descriptor differs between the warps of a warpgroup: %#x and %#x", v, u)
			}
			v = u
		}
		return v
	}
	add := group[0].uniformPred(in.psrc[op.scaleD])
	for _, x := range group {
		if x.uniformPred(in.psrc[op.scaleD]) != add {
			x.fail(Divergence, fullMask, 0, "scale-d differs between the warps of a warpgroup")
		}
		x.claimWgmmaRegs(in, number)
	}
	if op.inRegs {
		for i, x := range group {
			x.regsA(in, op, work, i)
		}
	} else {
		w.operand(desc(op.descA), op.mnMajorA, op.a, 64, op.k, access, work.badA[:], work, work.putter(op.a, true, op.mnMajorA))
	}
	w.operand(desc(op.descB), op.mnMajorB, op.b, op.n, op.k, access, work.badB[:], work, work.putter(op.b, false, op.mnMajorB))
	for i, x := range group {
		x.wgmmaRows(in, op, work, i, add)
	}
}

// uniformPred gives a predicate operand that is the same in all lanes.
func (w *warp) uniformPred(p pref) bool {
	w.needPred(p.slot, fullMask, "scale-d")
	v := w.pred(p)
	if v != 0 && v != fullMask {
		w.fail(Divergence, v, 0, "scale-d differs between lanes")
	}
	return v != 0
}

// putter decodes the 16 bytes of a piece into the work arrays.
func (m *wgmmaScratch) putter(t typ, isA, across bool) func(r, k int, b []byte) {
	switch {
	case t.bits == 1:
		words := m.ba[:]
		if !isA {
			words = m.bb[:]
		}
		return func(r, k int, b []byte) {
			for j := range 4 {
				words[r*8+k/4+j] = uint32(readBytes(b, 4*j, 4))
			}
		}
	case !t.isFloat():
		ints := m.ia[:]
		if !isA {
			ints = m.ib[:]
		}
		signed := t.isSigned()
		return func(r, k int, b []byte) {
			for j, v := range b {
				if ints[r*32+k+j] = int32(v); signed {
					ints[r*32+k+j] = int32(int8(v))
				}
			}
		}
	}
	decode := pieceDecoder(t)
	return func(r, k int, b []byte) {
		e := &m.piece
		n := decode(e, b)
		switch {
		case isA && across:
			for j, x := range e[:n] {
				m.a[(r+j)*32+k] = x
			}
		case isA:
			copy(m.a[r*32+k:], e[:n])
		case across:
			copy(m.b[r>>3][k][r&7:], e[:n])
		default:
			for j, x := range e[:n] {
				m.b[r>>3][k+j][r&7] = x
			}
		}
	}
}

// pieceDecoder decodes the floats in 16 bytes and tells how many there are.
func pieceDecoder(t typ) func(e *[16]float64, b []byte) int {
	switch t.fmt {
	case fmtF16:
		return func(e *[16]float64, b []byte) int {
			for j := range 8 {
				e[j] = float64(f16values[uint16(b[2*j])|uint16(b[2*j+1])<<8])
			}
			return 8
		}
	case fmtBF16:
		return func(e *[16]float64, b []byte) int {
			for j := range 8 {
				e[j] = float64(f32(uint64(b[2*j])<<16 | uint64(b[2*j+1])<<24))
			}
			return 8
		}
	}
	value, size := elemValue(t), t.bits/8
	return func(e *[16]float64, b []byte) int {
		for j := range 16 / size {
			e[j] = value(readBytes(b, j*size, size))
		}
		return 16 / size
	}
}

// regsA takes the 16 rows of A of a warp from its registers.
func (w *warp) regsA(in *inst, op *wgmmaOp, work *wgmmaScratch, at int) {
	e := elemsOf(op.a)
	put := work.regPutter(op.a)
	for i := range 4 {
		o := in.src[op.firstA+i]
		x := w.src(o)
		un := w.undefLanes(o)
		for lane := range 32 {
			row, k := indexA(lane, i, 0, e)
			row += 16 * at
			if un>>lane&1 != 0 && w.ub(o, lane)&widthMask(32) != 0 {
				work.badA[row], work.bad = true, true
			}
			put(row, k, x[lane])
		}
	}
}

// regPutter decodes a register of A whose first element has place row, k.
func (m *wgmmaScratch) regPutter(t typ) func(row, k int, v uint64) {
	e, mask := elemsOf(t), widthMask(t.bits)
	switch {
	case t.bits == 1:
		return func(row, k int, v uint64) { m.ba[row*8+k/32] = uint32(v) }
	case !t.isFloat():
		return func(row, k int, v uint64) {
			for j := range e {
				x := int32(v >> (j * 8) & mask)
				if t.isSigned() {
					x = int32(int8(x))
				}
				m.ia[row*32+k+j] = x
			}
		}
	}
	value := elemValue(t)
	switch t.fmt {
	case fmtF16:
		value = func(v uint64) float64 { return float64(f16values[v]) }
	case fmtBF16:
		value = func(v uint64) float64 { return float64(f32(v << 16)) }
	}
	return func(row, k int, v uint64) {
		for j := range e {
			m.a[row*32+k+j] = value(v >> (j * t.bits) & mask)
		}
	}
}

// wgmmaRows computes the 16 rows of one warp and puts them into its registers.
func (w *warp) wgmmaRows(in *inst, op *wgmmaOp, work *wgmmaScratch, at int, add bool) {
	per := op.perD()
	d := in.src[op.firstD:]
	bad := work.bad
	for i, o := range d {
		op.takeD(work, i*per, w.src(o), add)
		bad = bad || add && w.undefLanes(o) != 0
	}
	if a := work.a[16*at*32:][:16*32]; op.negA != op.negB {
		for i, x := range a {
			a[i] = -x
		}
	}
	op.rows(work, 16*at)
	for i, o := range in.dst {
		var u vec
		op.giveD(work, i*per, w.dst(o))
		for lane := 0; bad && lane < 32; lane++ {
			for j := range per {
				row, col := indexD(at, lane, i*per+j)
				if work.badA[row] || work.badB[col] || add && w.ub(d[i], lane)>>(j*op.d.bits)&widthMask(op.d.bits) != 0 {
					u[lane] |= widthMask(op.d.bits) << (j * op.d.bits)
				}
			}
		}
		w.defined(o, fullMask)
		for lane := 0; bad && lane < 32; lane++ {
			w.setUB(o, lane, u[lane])
		}
	}
}

// takeD puts the elements of a register of D, of which i is the first, into the sums.
func (op *wgmmaOp) takeD(work *wgmmaScratch, i int, x *vec, add bool) {
	for j := range op.perD() {
		rows, col := work.eight(i + j)
		for g := range rows {
			r, v := &rows[g], (*[4]uint64)(x[4*g:])
			switch {
			case !add:
				r[col], r[col+2], r[col+4], r[col+6] = 0, 0, 0, 0
			case op.d.fmt == fmtF32:
				r[col], r[col+2], r[col+4], r[col+6] = float64(f32(v[0])), float64(f32(v[1])), float64(f32(v[2])), float64(f32(v[3]))
			default:
				for t, v := range v {
					if r[col+2*t] = float64(int32(v)); op.d.bits == 16 {
						r[col+2*t] = float64(f16values[v>>(16*j)&0xffff])
					}
				}
			}
		}
	}
}

// giveD takes them out again, rounded.
func (op *wgmmaOp) giveD(work *wgmmaScratch, i int, v *vec) {
	for j := range op.perD() {
		rows, col := work.eight(i + j)
		for g := range rows {
			r, to := &rows[g], (*[4]uint64)(v[4*g:])
			if x := [4]float64{r[col], r[col+2], r[col+4], r[col+6]}; op.d.fmt == fmtF32 {
				for t, x := range x {
					if to[t] = bits32(float32(x)); x != x {
						to[t] = uint64(fmtF32.nan)
					}
				}
			} else {
				for t, x := range x {
					if j == 0 {
						to[t] = 0
					}
					to[t] |= op.result(x) << (j * op.d.bits)
				}
			}
		}
	}
}

// eight are the rows of c in which element i of the lanes lies, and the column of lane 0 there; lane t of a row is 2t further.
func (m *wgmmaScratch) eight(i int) (rows *[8][8]float64, col int) {
	row, col := indexD(0, 0, i)
	return (*[8][8]float64)(m.c[col>>3][row:]), col & 1
}

// indexD is the row and column of element i of a lane of warp w of the warpgroup.
func indexD(w, lane, i int) (row, col int) {
	return 16*w + lane>>2 + 8*(i>>1&1), 8*(i>>2) + 2*(lane&3) + i&1
}

// rows adds the rows of a warp, from the given one on, of the product to c. Sums of floats are in f64, those of integers exact.
func (op *wgmmaOp) rows(m *wgmmaScratch, from int) {
	for block := range op.n / 8 {
		for i := range 16 {
			c, row := &m.c[block][i], from+i
			switch {
			case op.a.bits == 1:
				for col := range c {
					for k, x := range m.ba[row*8:][:8] {
						c[col] += float64(bits.OnesCount32(x & m.bb[(8*block+col)*8+k]))
					}
				}
			case !op.a.isFloat():
				for col := range c {
					s, b := int32(0), m.ib[(8*block+col)*32:][:32]
					for k, x := range m.ia[row*32:][:32] {
						s += x * b[k]
					}
					c[col] += float64(s)
				}
			default:
				addRow(c, m.a[row*32:][:op.k], m.b[block][:op.k])
			}
		}
	}
}

// result is an element of D in its format; integers wrap, or are clamped with .satfinite.
func (op *wgmmaOp) result(x float64) uint64 {
	if op.d.isFloat() {
		return roundAcc(x, op.d)
	}
	if op.sat {
		x = min(max(x, -1<<31), 1<<31-1)
	}
	return uint64(uint32(int64(x)))
}
