package nvvm

import (
	"maps"
	"math/bits"
	"slices"

	"tileiras/codegen/atom"
	"tileiras/codegen/layout"
	"tileiras/codegen/planted"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

func init() {
	register(ir.Table[lowering]{
		tileaa.OpAllocShared & ir.Place:      allocShared,
		tileaa.OpBufferView & ir.Place:       bufferView,
		tileaa.OpAllocRing & ir.Place:        func(*fn, *ir.Op) {}, // its slots know it
		tileaa.OpRingSlot & ir.Place:         ringSlot,
		tileaa.OpRingNext & ir.Place:         ringNext,
		tileaa.OpBufferStore & ir.Place:      bufferStore,
		tileaa.OpBufferLoad & ir.Place:       bufferLoad,
		tileaa.OpBufferExtract & ir.Place:    bufferExtract,
		tileaa.OpBufferInsert & ir.Place:     bufferInsert,
		tileaa.OpBufferStoreSlice & ir.Place: bufferStoreSlice,
		tileaa.OpPointerBlock & ir.Place:     pointerBlock,
		tileaa.OpAsyncCopy & ir.Place:        asyncCopy,
		tileaa.OpAsyncWait & ir.Place:        asyncWait,
		tileaa.OpBarrier & ir.Place:          barrier,
	})
}

// buffer is a tile's worth of shared memory.
type buffer struct {
	offset int64 // in the block's shared memory
	first  int64 // that of the first slot of its ring
	slot   reg   // bytes from there to the slot of a ring; absent for a buffer of its own
	bytes  int   // of an element
	*tileaa.BufferType
}

func allocShared(f *fn, op *ir.Op) {
	t := op.Result(0).Type().(*tileaa.BufferType)
	offset, _ := ir.Cast[tileaa.AllocShared](op).Offset()
	f.buffers[op.Result(0)] = &buffer{offset: offset, first: offset, bytes: tileaa.ElemBytes(t.Elem), BufferType: t}
}

// bufferView is a buffer that names its elements in another way.
func bufferView(f *fn, op *ir.Op) {
	b := *f.bufferOf(op)
	b.BufferType = op.Result(0).Type().(*tileaa.BufferType)
	f.buffers[op.Result(0)] = &b
}

// ringSlot finds the slot so many ahead of a position, which is the number of a slot.
func ringSlot(f *fn, op *ir.Op) {
	s := ir.Cast[tileaa.RingSlot](op)
	ring, ok := ir.DefinedBy[tileaa.AllocRing](s.Ring())
	if !ok {
		f.bug("a ring has no alloc_ring")
	}
	t := s.Ring().Type().(*tileaa.RingType)
	offset, _ := ring.Offset()
	b := &buffer{offset: offset, first: offset, bytes: tileaa.ElemBytes(t.Buffer.Elem), BufferType: t.Buffer}
	at := f.around(f.resize(f.scalar(s.Position()), kI32, false), s.Ahead(), t.Slots)
	if at.isConst() {
		b.offset += at.sint() * int64(t.SlotBytes())
	} else {
		b.slot = f.mul(at, i32(int64(t.SlotBytes())))
	}
	f.buffers[s.Result()] = b
}

func ringNext(f *fn, op *ir.Op) {
	n := ir.Cast[tileaa.RingNext](op)
	f.set(op, f.tileOf(elemOf(n.Result()), f.around(f.scalar(n.Position()), 1, n.Slots())))
}

// around adds to the number of a slot, modulo the number of slots.
func (f *fn) around(at reg, ahead, slots int64) reg {
	if ahead == 0 {
		return at
	}
	to := f.add(at, con(at.k, uint64(ahead)))
	if slots&(slots-1) == 0 {
		return f.and(to, con(at.k, uint64(slots-1)))
	}
	return f.sel(f.icmp(slt, at, con(at.k, uint64(slots-ahead))), to, f.sub(to, con(at.k, uint64(slots))))
}

// bufferOf is the buffer that an op accesses.
func (f *fn) bufferOf(op *ir.Op) *buffer {
	b := f.buffers[ir.Cast[tileaa.BufferOp](op).Buffer()]
	if b == nil {
		f.bug("a buffer has no alloc_shared")
	}
	return b
}

func barrier(f *fn, op *ir.Op) {
	b := ir.Cast[tileaa.Barrier](op)
	id, _ := b.Id()
	threads, _ := b.Threads()
	switch {
	case planted.On("drop-warp-sync") && (b.Warp() || f.warps == 1):
	case b.Warp():
		f.op("bar.warp.sync", con(kI32, fullMask))
	case threads != 0:
		f.op("bar.sync.count", i32(id), i32(threads))
	case f.warps == 1:
		f.op("bar.warp.sync", con(kI32, fullMask))
	case layout.WarpSize*f.warps < f.plan.Threads():
		f.op("bar.sync.count", i32(id), i32(int64(layout.WarpSize*f.warps)))
	default:
		f.op("bar.sync", i32(id))
	}
}

// threadOffsets is the part of element offsets that a thread contributes: one column per thread bit.
func (f *fn) threadOffsets(lane, warp []uint64) []uint64 {
	cols := make([]uint64, layout.LaneBits+f.warpBits())
	copy(cols, lane)
	copy(cols[layout.LaneBits:], warp)
	return cols
}

// corner is the part of linear offsets that the running kernel knows, and the bits that it may have; the zero corner is none.
type corner struct {
	offset reg
	bits   uint64
}

// sharedAddress is the address of the element whose linear offset is the thread's part XOR offset XOR a corner. Bits of offset that neither a
// thread nor the corner touches are added as a constant; the others make an address of their own, which a swizzle needs. What does not depend on a loop
// is computed before it.
//
//	offset  0b1010_0000   thread bits  0b0001_1110        XOR with ----, plus 1010_0000
//	offset  0b1010_1000   thread bits  0b0001_1110        XOR with 1000, plus 1010_0000
func (f *fn) sharedAddress(b *buffer, cols []uint64, offset uint64, corner corner) (base reg, constant int64) {
	met := corner.bits
	for _, c := range cols {
		met |= c
	}
	// Padding is added by the whole rows below an offset. Parts without a common bit may be padded apart: their sum carries nothing.
	pad, every := b.Mem.Padding()
	constant = int64(offset &^ met)
	if every != 0 {
		constant += constant / int64(every) * int64(pad)
	}
	xor := int64(offset&met) * int64(b.bytes)
	late := xor < sharedAlign && every == 0 && corner.offset.absent()
	f.hoisted(func() {
		linear := f.linear(cols)
		if !late {
			linear = f.xor(linear, i32(int64(offset&met)))
		}
		if !corner.offset.absent() {
			linear = f.xor(linear, corner.offset)
		}
		if every != 0 {
			linear = f.add(linear, f.mul(f.bin(opUDiv, linear, i32(int64(every))), i32(int64(pad))))
		}
		base = f.add(f.mul(linear, i32(int64(b.bytes))), f.smem)
	})
	if !b.slot.absent() {
		base = f.add(base, b.slot)
	}
	if late {
		// Shared memory begins at a multiple of sharedAlign, so its address keeps out of the bits of a swizzle: one register over the
		// loop and one XOR at the access, instead of a register for each.
		base = f.xor(base, i32(xor))
	}
	return base, constant*int64(b.bytes) + b.offset
}

// sharedRuns cuts the access of layout l to a buffer into the widest vectors of at most so many elements and 16 bytes.
func (f *fn) sharedRuns(b *buffer, l layout.Layout, most int, guard reg) []run {
	v, _ := b.Mem.Vectors(l, b.Mem.MaxVec(l, min(most, 16/b.bytes)))
	cols := f.threadOffsets(v.Lane, v.Warp)
	out := make([]run, len(v.Groups))
	for i, g := range v.Groups {
		base, offset := f.sharedAddress(b, cols, g.Offset, corner{})
		out[i] = run{base: base, offset: offset, regs: g.Regs, guard: guard}
	}
	return out
}

func bufferStore(f *fn, op *ir.Op) {
	l := f.tileLayout(valueOf(op))
	b := f.bufferOf(op)
	x := f.inMemory(f.stored(op))
	defer f.storedTo(ir.Cast[tileaa.BufferOp](op).Buffer())
	if p, ok := layout.LdMatrix(*b.Mem, l, 8*b.bytes, false); ok && f.matrixStore(b, l, p) {
		f.storeMatrices(b, p, x)
		return
	}
	for _, r := range f.sharedRuns(b, l, 16, f.owners(l)) {
		f.storeRun("st.shared", r, x)
	}
}

func bufferLoad(f *fn, op *ir.Op) {
	t := tileaa.AsTile(op.Result(0))
	l := layoutOf(t, f.warps)
	b := f.bufferOf(op)
	if p, ok := f.matrixLoad(b, l); ok {
		f.set(op, f.loaded(f.loadMatrices(b, l, p, f.sharedElem(t.Elem)), t.Elem))
		return
	}
	f.set(op, f.loadShared(b, l, t.Elem))
}

func (f *fn) loadShared(b *buffer, l layout.Layout, elem ir.Type) *tile {
	out := f.newTile(f.sharedElem(elem), l.Regs())
	for _, r := range f.sharedRuns(b, l, 16, boolean(true)) {
		f.loadRun("ld.shared", r, out, nil)
	}
	f.fillReplicas(out, l)
	return f.loaded(out, elem)
}

// sharedElem is the type of an element in shared memory: a byte for an i1.
func (f *fn) sharedElem(elem ir.Type) ir.Type {
	if kindOf(elem) == kI1 {
		return f.ctx.Int(8)
	}
	return elem
}

// matrixLoad tells whether a load is a few ldmatrix: the layout of an mma operand (replicas between warps are fine), and fewer
// instructions than vector loads would need. The transposing form is for operands whose rows run the other way.
func (f *fn) matrixLoad(b *buffer, l layout.Layout) (layout.MatrixPlan, bool) {
	for _, trans := range []bool{false, true} {
		p, ok := layout.LdMatrix(*b.Mem, l, 8*b.bytes, trans)
		if ok && f.has(atom.MatrixMove("ldmatrix", p)) && len(p.Accesses) < l.Regs()/b.Mem.MaxVec(l, 16/b.bytes) {
			return p, true
		}
	}
	return layout.MatrixPlan{}, false
}

func (f *fn) matrixStore(b *buffer, l layout.Layout, p layout.MatrixPlan) bool {
	return f.has(atom.MatrixMove("stmatrix", p)) && f.owners(l).is(1) && len(p.Accesses) < l.Regs()/b.Mem.MaxVec(l, 16/b.bytes)
}

func (f *fn) loadMatrices(b *buffer, l layout.Layout, p layout.MatrixPlan, elem ir.Type) *tile {
	out := f.newTile(elem, l.Regs())
	if planted.On("swizzle-one-side") {
		for i, c := range p.Lane {
			p.Lane[i] = 1 << bits.Len64(c) >> 1
		}
	}
	name, cols := atom.MatrixMove("ldmatrix", p), f.threadOffsets(p.Lane, p.Warp)
	for _, a := range p.Accesses {
		base, offset := f.sharedAddress(b, cols, a.Offset, corner{})
		words := f.op(name, base, i32(offset))
		if p.Pairs > 0 {
			f.putPairs(out, p.Pairs, a.Regs, words)
			continue
		}
		for i, first := range a.Regs {
			if out.per == 1 {
				out.regs[first] = f.cast(words[i], out.k)
				continue
			}
			f.putWords(out, f.upTo(first, out.per), words[i:i+1])
		}
	}
	f.fillReplicas(out, l)
	return out
}

// putPairs places words of two pairs of neighbours each, of 8 bits: two words that follow each other are two of the tile, one of each neighbour.
func (f *fn) putPairs(out *tile, bit int, regs []int, words []reg) {
	for i := 0; i < len(words); i += 2 {
		for neighbour, bytes := range []int64{0x6240, 0x7351} { // PTX ISA, prmt: bytes 4 to 7 are the second operand's
			word := f.op1("prmt.b32", words[i], words[i+1], i32(bytes))
			f.putWords(out, f.upTo(regs[i]|neighbour<<bit, 4), []reg{word})
		}
	}
}

func (f *fn) storeMatrices(b *buffer, p layout.MatrixPlan, x *tile) {
	name, cols := atom.MatrixMove("stmatrix", p), f.threadOffsets(p.Lane, p.Warp)
	for _, a := range p.Accesses {
		base, offset := f.sharedAddress(b, cols, a.Offset, corner{})
		args := []reg{base, i32(offset)}
		for _, first := range a.Regs {
			if x.per == 1 {
				args = append(args, f.reg(x, first))
			} else {
				args = append(args, f.getWords(x, f.upTo(first, x.per))...)
			}
		}
		f.op(name, args...)
	}
}

// upTo is n register numbers from first on.
func (b *builder) upTo(first, n int) []int {
	out := b.numbers.Take(n)
	for i := range out {
		out[i] = first + i
	}
	return out
}

// pieceRuns adds to a buffer's elements the corner of a slice that is known when the kernel runs. The slice's elements and its
// corner have no bits in common, so offsets, which are linear, meet in an XOR.
func (f *fn) pieceRuns(op *ir.Op, b *buffer, piece *tileaa.TileType, l layout.Layout, guard reg) []run {
	whole := layout.Dims(b.Shape)
	flat := func(c uint64) uint64 { // an element of the piece, numbered in the whole
		var n uint64
		for d, x := range l.Coords(c) {
			n = n*uint64(whole[d]) + uint64(x)
		}
		return n
	}
	corner := corner{offset: i32(0)}
	for d, v := range ir.Cast[tileaa.IndexedOp](op).Indices() {
		count := whole[d] / int(piece.Shape[d])
		var images []uint64 // of the bits of the slice's number
		for bit := 0; 1<<bit < count; bit++ {
			at := make([]int, len(whole))
			at[d] = int(piece.Shape[d]) << bit
			var n uint64
			for e, x := range at {
				n = n*uint64(whole[e]) + uint64(x)
			}
			images = append(images, b.Mem.Linear(n))
			corner.bits |= b.Mem.Linear(n)
		}
		corner.offset = f.xor(corner.offset, f.linearOf(f.resize(f.scalar(v), kI32, false), images))
	}
	cols := f.columns(l)
	for i := range cols {
		cols[i] = b.Mem.Linear(flat(cols[i]))
	}
	var registers []uint64
	for _, c := range l.Column(layout.Reg) {
		registers = append(registers, b.Mem.Linear(flat(c)))
	}
	vec := consecutive(b, registers, append(cols, corner.bits))
	var out []run
	for _, r := range ownRegs(l) {
		if r%vec != 0 {
			continue
		}
		one := run{regs: f.upTo(r, vec), guard: guard}
		one.base, one.offset = f.sharedAddress(b, cols, b.Mem.Linear(flat(l.Apply(r, 0, 0, 0))), corner)
		out = append(out, one)
	}
	return out
}

// consecutive is how many registers, from every multiple of that number on, lie one after the other in a buffer, in at most 16 bytes that are aligned: the
// first register bits count offsets up, and no other bit of an offset changes what they do.
func consecutive(b *buffer, registers, others []uint64) int {
	if _, every := b.Mem.Padding(); every != 0 {
		return 1
	}
	vec, bit := 1, 0
	for ; bit < len(registers) && registers[bit] == uint64(vec) && 2*vec*b.bytes <= 16; bit++ {
		vec *= 2
	}
	for _, offset := range slices.Concat(registers[bit:], others) {
		for ; offset&uint64(vec-1) != 0; vec /= 2 {
		}
	}
	return vec
}

// linearOf is the XOR of the images of the bits of a number that are set. Bits that move equally far move together.
func (f *fn) linearOf(number reg, images []uint64) reg {
	moved := map[int]int64{} // bits of the number, by how far they move to the left
	for bit, image := range images {
		for ; image != 0; image &= image - 1 {
			moved[bits.TrailingZeros64(image)-bit] |= 1 << bit
		}
	}
	sum := i32(0)
	for _, far := range slices.Sorted(maps.Keys(moved)) {
		part := f.and(number, i32(moved[far]))
		if far >= 0 {
			part = f.shl(part, far)
		} else {
			part = f.lshr(part, -far)
		}
		sum = f.xor(sum, part)
	}
	return sum
}

func bufferExtract(f *fn, op *ir.Op) {
	t := tileaa.AsTile(op.Result(0))
	l := layoutOf(t, f.warps)
	b := f.bufferOf(op)
	out := f.newTile(f.sharedElem(t.Elem), l.Regs())
	for _, r := range f.pieceRuns(op, b, t, l, boolean(true)) {
		f.loadRun("ld.shared", r, out, nil)
	}
	f.fillReplicas(out, l)
	f.set(op, f.loaded(out, t.Elem))
}

func bufferInsert(f *fn, op *ir.Op) {
	t := tileaa.AsTile(valueOf(op))
	l := layoutOf(t, f.warps)
	x := f.inMemory(f.stored(op))
	for _, r := range f.pieceRuns(op, f.bufferOf(op), t, l, f.owners(l)) {
		f.storeRun("st.shared", r, x)
	}
	f.storedTo(ir.Cast[tileaa.BufferOp](op).Buffer())
}

// bufferStoreSlice stores as if the slices of the tile lay in memory one after another, each as the buffer says: the high bits of an offset are the number of
// its slice, and only one slice is stored.
func bufferStoreSlice(f *fn, op *ir.Op) {
	t := tileaa.AsTile(valueOf(op))
	l := layoutOf(t, f.warps)
	b := f.bufferOf(op)
	x := f.inMemory(f.stored(op))
	mem := b.Mem.Repeated(layout.Dims(t.Shape))
	v, _ := mem.Vectors(l, mem.MaxVec(l, min(16/b.bytes, 1<<b.Mem.Bits())))
	inside, above := uint64(1)<<b.Mem.Bits()-1, b.Mem.Bits()
	number, bit := i32(0), 0
	for d, i := range ir.Cast[tileaa.IndexedOp](op).Indices() {
		count := t.Shape[d] / b.Shape[d]
		number = f.or(number, f.shl(f.and(f.resize(f.scalar(i), kI32, false), i32(count-1)), bit))
		bit += bits.Len64(uint64(count)) - 1
	}
	cols := f.threadOffsets(v.Lane, v.Warp)
	high := make([]uint64, len(cols))
	for i, c := range cols {
		cols[i], high[i] = c&inside, c>>above
	}
	here := f.xor(f.linear(high), number) // which of the slices of this thread's registers it is
	owner := f.owners(l)
	for _, g := range v.Groups {
		guard := f.and(owner, f.icmp(eq, here, i32(int64(g.Offset>>above))))
		if guard.is(0) {
			continue
		}
		base, offset := f.sharedAddress(b, cols, g.Offset&inside, corner{})
		f.storeRun("st.shared", run{base: base, offset: offset, regs: g.Regs, guard: guard}, x)
	}
	f.storedTo(ir.Cast[tileaa.BufferOp](op).Buffer())
}

func asyncWait(f *fn, op *ir.Op) {
	pending := ir.Cast[tileaa.AsyncWait](op).Pending()
	switch {
	case planted.On("drop-wait"):
		return
	case planted.On("early-wait"):
		pending++
	}
	if m := f.maps; m != nil && tileaa.RoleOf(op) == nil {
		m.await(f, m.pending[op], int(pending))
		if !m.threadsCopy {
			return
		}
		f.unfenced = f.unfenced || m.reusesThreadBuffers
	}
	f.op("cp.async.wait_group", i32(pending))
}

// pointerBlock is copied from where it is: its pointers are computed there only.
func pointerBlock(f *fn, op *ir.Op) {
	f.blocks[op.Result(0)] = f.pointersOf(op)
}

// asyncCopy moves a block to a buffer past the registers. Each copy is 4, 8 or 16 bytes that are neighbours on both sides; where the
// block leaves the array, a copy of fewer bytes, or none, fills with zeros. A copy whose condition does not hold writes nothing.
func asyncCopy(f *fn, op *ir.Op) {
	if c := ir.Cast[tileaa.AsyncCopy](op); c.Maps() != nil {
		f.maps.group = append(f.maps.group, c)
		return
	}
	b := f.bufferOf(op)
	l := ir.Cast[tileaa.AsyncCopy](op).Layout().Layout
	vec := vecOf(op)
	var from []run
	if p := f.blocks[ir.Cast[tileaa.AsyncCopy](op).Block()]; p != nil {
		from = f.pointerRuns(p, l, fastOf(op, l.Rank()), vec, boolean(true))
	} else {
		from = f.tiledRuns(op, f.viewOf(op), l, vec, boolean(true))
	}
	to := make([]run, l.Regs()) // by the first register
	for _, r := range f.sharedRuns(b, l, vec, boolean(true)) {
		to[r.regs[0]] = r
	}
	owner := f.owners(l)
	if when := ir.Cast[tileaa.AsyncCopy](op).When(); when != nil {
		owner = f.and(owner, f.scalar(when))
	}
	for _, r := range from {
		bytes := len(r.regs) * b.bytes
		dst := &to[r.regs[0]]
		name, args := atom.CopyOf(bytes), make([]reg, 0, 6)
		if !slices.Equal(dst.regs, r.regs) || name == "" {
			f.unsupported("a copy of %d bytes", bytes)
		}
		if !owner.is(1) {
			name, args = "@"+name, append(args, owner)
		}
		args = append(args, dst.base, i32(dst.offset), r.base, i32(r.offset))
		size := i32(int64(bytes))
		if !r.inside.absent() {
			size = f.mul(r.inside, i32(int64(b.bytes)))
		}
		if size = f.sel(r.guard, size, i32(0)); !size.is(uint64(bytes)) {
			name += ".zfill"
			args = append(args, size)
		}
		f.op(name, args...)
	}
}
