package nvvm

import (
	"slices"

	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

func init() {
	register(ir.Table[lowering]{
		tileaa.OpConstant & ir.Place:       constantTile,
		tileaa.OpIota & ir.Place:           iota_,
		tileaa.OpSplat & ir.Place:          splat,
		tileaa.OpBroadcast & ir.Place:      relabel,
		tileaa.OpReshape & ir.Place:        relabel,
		tileaa.OpPermute & ir.Place:        relabel,
		tileaa.OpCat & ir.Place:            cat,
		tileaa.OpExtract & ir.Place:        extract,
		tileaa.OpInsert & ir.Place:         insert,
		tileaa.OpPack & ir.Place:           repack,
		tileaa.OpUnpack & ir.Place:         repack,
		tileaa.OpConvertLayout & ir.Place:  convertLayout,
		tileaa.OpProgramId & ir.Place:      func(f *fn, op *ir.Op) { f.grid(op, "ctaid") },
		tileaa.OpNumPrograms & ir.Place:    func(f *fn, op *ir.Op) { f.grid(op, "nctaid") },
		tileaa.OpCreateMemToken & ir.Place: func(f *fn, op *ir.Op) {},
		tileaa.OpJoinMemToken & ir.Place:   func(f *fn, op *ir.Op) {},
	})
}

// bitsOf is the register bits of an element of a constant: tf32 moves to the top of its word.
func bitsOf(elem ir.Type, bits uint64) uint64 {
	if t, ok := elem.(*ir.FloatType); ok {
		return t.Format.ToStorage(bits)
	}
	return bits
}

func constantTile(f *fn, op *ir.Op) {
	t := tileaa.AsTile(op.Result(0))
	d := tileaa.ConstantOf(op.Result(0))
	k := kindOf(t.Elem)
	out := f.newTile(t.Elem, numRegs(t))
	if bits, ok := tileaa.SplatBits(d); ok {
		copy(out.regs, repeat(con(k, bitsOf(t.Elem, bits)), out.len()))
		f.set(op, out)
		return
	}
	if t.Layout == nil {
		out.regs[0] = con(k, bitsOf(t.Elem, tileaa.ElementBits(d, 0)))
		f.set(op, out)
		return
	}
	l := *t.Layout
	if slices.Max(append(f.columns(l), 0)) != 0 {
		f.constantTable(op, t, d, out)
		return
	}
	for r := range out.regs {
		out.regs[r] = con(k, bitsOf(t.Elem, tileaa.ElementBits(d, int(l.Apply(r, 0, 0, 0)))))
	}
	f.set(op, out)
}

// constantTable reads a constant whose elements differ between threads from a table in global memory.
func (f *fn) constantTable(op *ir.Op, t *tileaa.TileType, d *ir.DenseAttr, out *tile) {
	size := max(1, t.NumElements())
	bytes := max(1, out.k.bits()/8)
	data := make([]byte, 0, int(size)*bytes)
	for i := range int(size) {
		bits := bitsOf(t.Elem, tileaa.ElementBits(d, i))
		for b := range bytes {
			data = append(data, byte(bits>>(8*b)))
		}
	}
	base := f.constantData(data, bytes)
	width := out.k
	if width == kI1 {
		width = kI8 // a byte each
	}
	l := *t.Layout
	for r, rep := range l.RegReps() {
		if rep != r {
			out.regs[r] = out.regs[rep]
			continue
		}
		address := f.add(base, f.zext(f.mul(f.flat(l, r), i32(int64(bytes))), kI64))
		out.regs[r] = f.fromMemory(f.op1("ld.global.nc."+memoryType(width), address, i32(0)), out.k)
	}
	f.set(op, out)
}

// iota_: the element of register r is its own number.
func iota_(f *fn, op *ir.Op) {
	t := tileaa.AsTile(op.Result(0))
	l := layoutOf(t, f.warps)
	out := f.newTile(t.Elem, numRegs(t))
	c := f.coordinateOf(l, 0)
	for r := range out.regs {
		out.regs[r] = f.resize(f.at(c, r), out.k, false)
	}
	f.set(op, out)
}

func splat(f *fn, op *ir.Op) {
	t := tileaa.AsTile(op.Result(0))
	out := f.newTile(t.Elem, numRegs(t))
	copy(out.regs, repeat(f.scalar(ir.Cast[tileaa.Splat](op).Source()), out.len()))
	f.set(op, out)
}

// relabel: a thread finds what it holds of the result among its registers of the source, mostly in the same order: the result's layout is the source's with
// other names for the elements.
func relabel(f *fn, op *ir.Op) {
	x, elem := f.source(op), elemOf(op.Result(0))
	regs, ok := tileaa.Renamed(op)
	switch {
	case !ok:
		f.bug("threads do not hold %s of %s", ir.ShortType(op.Result(0).Type()), ir.ShortType(op.Operand(0).Type()))
	case inOrder(regs, x.len()):
		f.set(op, f.retyped(x, elem))
	default:
		f.set(op, f.pick(x, regs))
	}
}

// inOrder reports whether registers are all of so many, in their order.
func inOrder(regs []int, n int) bool {
	for i, r := range regs {
		if r != i {
			return false
		}
	}
	return len(regs) == n
}

// pick is the tile whose register i is register regs[i] of x; whole words stay words.
func (f *fn) pick(x *tile, regs []int) *tile {
	out := f.newTile(x.elem, len(regs))
	if x.packed() && out.packs() {
		if wholeWords(regs, x.per) {
			for i := range out.words {
				out.words[i] = f.word(x, regs[i*x.per]/x.per)
			}
			return out
		}
	}
	for i, r := range regs {
		out.regs[i] = f.reg(x, r)
	}
	return out
}

// wholeWords reports whether a choice of registers is one of words.
func wholeWords(regs []int, per int) bool {
	if len(regs)%per != 0 {
		return false
	}
	for word := range slices.Chunk(regs, per) {
		if word[0]%per != 0 {
			return false
		}
		for i, r := range word {
			if r != word[0]+i {
				return false
			}
		}
	}
	return true
}

// cat: the registers of the first tile, then those of the second; or those of one of them, as a bit of the lane says.
func cat(f *fn, op *ir.Op) {
	x, y := f.lhsRhs(op)
	to := tileaa.AsTile(op.Result(0))
	l := layoutOf(tileaa.AsTile(op.Operand(0)), f.warps)
	if inLanes, bit, ok := l.CatInLanes(tileaa.DimOf(op)); ok && inLanes.Equal(layoutOf(to, f.warps)) {
		first := f.icmp(eq, f.and(f.lane(), i32(1<<bit)), i32(0))
		f.set(op, f.choose(first, []*tile{x}, []*tile{y})[0])
		return
	}
	out := f.newTile(to.Elem, numRegs(to))
	if x.len()+y.len() != out.len() {
		f.bug("%d and %d registers become %d of %s", x.len(), y.len(), out.len(), ir.ShortType(to))
	}
	if x.packed() && y.packed() {
		out.words = slices.Concat(f.allWords(x), f.allWords(y))
	} else {
		out.regs = slices.Concat(f.all(x), f.all(y))
	}
	f.set(op, out)
}

// piece finds the registers of a piece with constant slice numbers inside a tile, and the bits of the lane that has them.
func (f *fn) piece(op *ir.Op, whole, piece *tileaa.TileType) (regs []int, mask, lane int) {
	p, ok := layoutOf(whole, f.warps).Pieces(layout.Dims(piece.Shape))
	if !ok {
		f.bug("a piece of shape %v is no set of registers of %s", piece.Shape, ir.ShortType(whole))
	}
	number := 0
	for i, v := range ir.Cast[tileaa.IndexedOp](op).Indices() {
		x := f.scalar(v)
		if !x.isConst() {
			f.bug("slice number %d is not a constant", i)
		}
		grid := int(whole.Shape[i] / piece.Shape[i])
		number = number*grid + int(x.bits)%grid
	}
	return p.Regs[number], p.LaneMask, p.Lanes[number]
}

// extract chooses registers; what other lanes have they tell.
func extract(f *fn, op *ir.Op) {
	regs, mask, lane := f.piece(op, tileaa.AsTile(op.Operand(0)), tileaa.AsTile(op.Result(0)))
	out := f.pick(f.source(op), regs)
	if mask != 0 {
		const lanes = 31
		out = f.fromLane([]*tile{out}, f.or(f.and(f.lane(), i32(int64(lanes&^mask))), i32(int64(lane))))[0]
	}
	f.set(op, out)
}

func insert(f *fn, op *ir.Op) {
	i := ir.Cast[tileaa.Insert](op)
	x, d := f.tileFor(i.Source()), f.tileFor(i.Dest())
	regs, _, _ := f.piece(op, tileaa.AsTile(i.Dest()), tileaa.AsTile(i.Source()))
	out := f.newTile(d.elem, d.len())
	if d.packed() && x.packed() && wholeWords(regs, d.per) {
		copy(out.words, f.allWords(d))
		for i := range len(regs) / d.per {
			out.words[regs[i*d.per]/d.per] = f.word(x, i)
		}
	} else {
		copy(out.regs, f.all(d))
		for i, r := range regs {
			out.regs[r] = f.reg(x, i)
		}
	}
	f.set(op, out)
}

// repack reinterprets bytes: a thread holds the bytes of its elements when the layouts say so, low byte in the low register.
// 4-bit elements sit in one register each, two to a byte.
func repack(f *fn, op *ir.Op) {
	x := f.source(op)
	to := tileaa.AsTile(op.Result(0))
	out := f.newTile(to.Elem, numRegs(to))
	bits := func(elem ir.Type) int { return tileaa.ElemBits(elem) }
	from, into := bits(x.elem), bits(to.Elem)
	if x.len()*from != out.len()*into {
		f.unsupported("%s whose bytes lie in several threads", ir.ShortType(to.Elem))
	}
	cells := func(e reg, n, width int) []reg { // low part first
		e = f.cast(e, e.k.asInt())
		parts := make([]reg, n)
		if e.k == kI8 && width == 4 {
			parts[0], parts[1] = f.nibbles(e)
			return parts
		}
		for i := range parts {
			parts[i] = f.and(f.lshr(e, i*width), con(e.k, 1<<width-1))
		}
		return parts
	}
	elems := f.all(x)
	var parts []reg
	for r := range out.regs {
		switch {
		case from > into:
			n := from / into
			if r%n == 0 {
				parts = cells(elems[r/n], n, into)
			}
			out.regs[r] = f.resize(parts[r%n], out.k, false)
		case from < into:
			n := into / from
			wide := out.k.asInt()
			parts = elems[r*n:][:n]
			v, made := f.whole(parts)
			if !made || v.k != wide {
				v = con(wide, 0)
				for i, part := range parts {
					v = f.or(v, f.shl(f.resize(f.cast(part, x.k.asInt()), wide, false), i*from))
				}
			}
			out.regs[r] = f.cast(v, out.k)
		default:
			out.regs[r] = f.cast(elems[r], out.k)
		}
	}
	f.set(op, out)
}

func (f *fn) grid(op *ir.Op, register string) {
	n := ir.Cast[tileaa.GridOp](op).Axis()
	axis := "xyz"[n : n+1]
	var r reg
	f.in(f.start, func() { r = f.op1("mov.u32.%" + register + "." + axis) })
	f.set(op, f.tileOf(elemOf(op.Result(0)), r))
}
