package nvvm

import (
	"slices"

	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/ir/float"
)

// tile is the value of a tile in one thread: element registers, and for narrow types a second view in 32-bit words.
//
//	elements   e0 e1 | e2 e3 | ...     16-bit: 2 per word, 8-bit: 4 per word
//	words      w0    | w1    | ...     the lower element in the lower bits
//
// Either view is made from the other when it is first asked for, at the end of the block in which the tile came to be, which
// dominates every use. Loads, packed arithmetic, shuffles, phis and matrix operands stay in words; what works on single elements
// unpacks. A rank-0 tile has one register.
type tile struct {
	elem  ir.Type
	k     kind
	per   int // elements in a word; 1 when the type has no packed view
	regs  []reg
	words []reg // nil when the tile cannot be packed
	home  *block
}

// kindOf is the register kind of an element type.
func kindOf(elem ir.Type) kind {
	switch t := elem.(type) {
	case *ir.IntegerType:
		return intKind(t.Width)
	case *tileaa.PtrType:
		return kI64
	case *ir.FloatType:
		switch t.Format {
		case float.F32:
			return kF32
		case float.F64:
			return kF64
		}
		return intKind(t.Format.StorageBits())
	}
	panic("BUG: no register holds a " + ir.ShortType(elem))
}

// newTile makes a tile of n registers, all absent.
func (f *fn) newTile(elem ir.Type, n int) *tile {
	t := f.room.One()
	*t = tile{elem: elem, k: kindOf(elem), per: 1, regs: f.regs.Take(n), home: f.cur}
	switch t.k {
	case kI8:
		t.per = 4
	case kI16:
		t.per = 2
	}
	if t.per > 1 && n >= t.per {
		t.words = f.regs.Take(n / t.per)
	}
	return t
}

func (f *fn) tileOf(elem ir.Type, regs ...reg) *tile {
	t := f.newTile(elem, len(regs))
	copy(t.regs, regs)
	return t
}

func (f *fn) packedTile(elem ir.Type, words []reg) *tile {
	t := f.newTile(elem, 0)
	t.regs = make([]reg, len(words)*t.per)
	t.words = words
	return t
}

// len is the number of element registers.
func (t *tile) len() int { return len(t.regs) }

// packs reports whether the tile has a view in words.
func (t *tile) packs() bool { return t.words != nil }

// packed reports whether the words are the view at hand: then working on them costs no packing.
func (t *tile) packed() bool { return t.packs() && !t.words[0].absent() }

// here is a tile of which the view that is not at hand is made in the current block, for a use that only some lanes have.
func (f *fn) here(t *tile) *tile {
	c := f.newTile(t.elem, t.len())
	copy(c.regs, t.regs)
	copy(c.words, t.words)
	return c
}

// reg is element register i.
func (f *fn) reg(t *tile, i int) reg {
	if t.regs[i].absent() {
		w := i / t.per
		f.in(t.home, func() {
			for j, e := range f.unpack(t.words[w], t.k) {
				if t.regs[w*t.per+j].absent() {
					t.regs[w*t.per+j] = e
				}
			}
		})
	}
	return t.regs[i]
}

// all is every element register.
func (f *fn) all(t *tile) []reg {
	for i := range t.regs {
		f.reg(t, i)
	}
	return t.regs
}

// word is 32-bit word i.
func (f *fn) word(t *tile, i int) reg {
	if t.words[i].absent() {
		f.in(t.home, func() { t.words[i] = f.pack(t.regs[i*t.per : (i+1)*t.per]) })
	}
	return t.words[i]
}

func (f *fn) allWords(t *tile) []reg {
	for i := range t.words {
		f.word(t, i)
	}
	return t.words
}

// carrier is the registers in which a tile travels where each costs an instruction (phis, shuffles): words if it has them.
func (f *fn) carrier(t *tile) []reg {
	if t.packs() {
		return f.allWords(t)
	}
	return f.all(t)
}

// carried makes a tile of n elements from its carrier.
func (f *fn) carried(elem ir.Type, n int, regs []reg) *tile {
	t := f.newTile(elem, n)
	if t.packs() {
		t.words = regs
	} else {
		t.regs = regs
	}
	return t
}

// carrierKind is the kind and the number of the carrier's registers.
func (f *fn) carrierKind(elem ir.Type, n int) (kind, int) {
	t := f.newTile(elem, n)
	if t.packs() {
		return kI32, len(t.words)
	}
	return t.k, n
}

// pack makes one word of 2 or 4 narrow registers.
func (b *builder) pack(e []reg) reg {
	var bits uint64
	constant := true
	for i, x := range e {
		constant = constant && x.isConst()
		bits |= x.bits << (32 / len(e) * i)
	}
	if constant {
		return con(kI32, bits)
	}
	// All parts of one word in order are that word.
	if w, ok := b.whole(e); ok {
		return w
	}
	var w reg
	if from, ok := b.bytesOf(e); ok {
		w = b.permuteBytes(from)
	} else if len(e) == 2 {
		w = b.op1("mov.pack.b32", e[0], e[1])
	} else {
		// prmt picks bytes: the low two, then both halves (PTX ISA, prmt).
		lo := b.op1("prmt.b32", b.zext(e[0], kI32), b.zext(e[1], kI32), i32(0x0040))
		hi := b.op1("prmt.b32", b.zext(e[2], kI32), b.zext(e[3], kI32), i32(0x0040))
		w = b.op1("prmt.b32", lo, hi, i32(0x5410))
	}
	b.parts[w.id] = append([]reg(nil), e...)
	return w
}

// whole finds the word that was taken apart into just these parts: it is known wherever they are.
func (b *builder) whole(e []reg) (reg, bool) {
	s, ok := b.wholes[e[0].id]
	return s.word, ok && slices.Equal(s.parts, e)
}

// byteOf is a byte of a word that was taken apart.
type byteOf struct {
	word reg
	at   int64
}

// bytesOf are the words from which four bytes come; ok is false if one was made otherwise.
func (b *builder) bytesOf(e []reg) (from [4]byteOf, ok bool) {
	if len(e) != 4 {
		return from, false
	}
	for i, x := range e {
		s, ok := b.wholes[x.id]
		if x.isConst() || !ok || len(s.parts) != 4 {
			return from, false
		}
		from[i] = byteOf{s.word, int64(slices.Index(s.parts, x))}
	}
	return from, true
}

// half is the 16 bits that two bytes are of a word that was made of such; ok is false if they are not.
func (b *builder) half(x, y byteOf) (h reg, ok bool) {
	parts := b.parts[x.word.id]
	if len(parts) != 2 || x.word != y.word || x.at%2 != 0 || y.at != x.at+1 {
		return h, false
	}
	return parts[x.at/2], true
}

// permuteBytes makes a word of bytes of other words: of halves as they were before, of two words by one prmt (PTX ISA: bytes 4 to 7 are the second operand's), else pair by pair. A pair of equal places
// brings what the neighbouring places have in its upper half, which is a pair of another word where bytes of four words are transposed.
func (b *builder) permuteBytes(from [4]byteOf) reg {
	if lo, ok := b.half(from[0], from[1]); ok {
		if hi, ok := b.half(from[2], from[3]); ok {
			return b.op1("mov.pack.b32", lo, hi)
		}
	}
	x, y := from[0].word, from[0].word
	for _, f := range from {
		if f.word != x {
			y = f.word
		}
	}
	var bytes int64
	for i, f := range from {
		switch f.word {
		case x:
			bytes |= f.at << (4 * i)
		case y:
			bytes |= (4 + f.at) << (4 * i)
		default:
			lo, low := b.bytePair(from[0], from[1])
			hi, high := b.bytePair(from[2], from[3])
			return b.op1("prmt.b32", lo, hi, i32(0x5410+0x22*low+0x2200*high))
		}
	}
	return b.op1("prmt.b32", x, y, i32(bytes))
}

// bytePair are two bytes in half of a word, the lower (0) or the upper one (1).
func (b *builder) bytePair(x, y byteOf) (w reg, half int64) {
	if x.at != y.at {
		return b.op1("prmt.b32", x.word, y.word, i32(x.at|(4+y.at)<<4)), 0
	}
	even := x.at &^ 1
	return b.op1("prmt.b32", x.word, y.word, i32(0x5140+0x1111*even)), x.at & 1
}

// unpack splits a word into registers of kind k (i16 or i8).
func (b *builder) unpack(w reg, k kind) []reg {
	n := 32 / k.bits()
	if parts := b.parts[w.id]; len(parts) == n {
		return parts
	}
	e := make([]reg, n)
	switch {
	case w.isConst():
		for i := range e {
			e[i] = con(k, w.bits>>(i*k.bits()))
		}
		return e
	case k == kI16:
		copy(e, b.op("mov.unpack.b32", w))
	default:
		for i := range e {
			e[i] = b.trunc(b.lshr(w, 8*i), kI8)
			b.wholes[e[i].id] = split{w, e}
		}
	}
	b.wholes[e[0].id] = split{w, e}
	return e
}

// numRegs is the number of registers of a value of tile type t in a thread.
func numRegs(t *tileaa.TileType) int {
	if t.Layout == nil {
		return 1
	}
	return t.Layout.Regs()
}

// layoutOf is the layout of a tile type; rank 0 and tiles without one have the layout of a value that every thread holds whole.
func layoutOf(t *tileaa.TileType, warps int) layout.Layout {
	if t.Layout != nil {
		return *t.Layout
	}
	return layout.Uniform(layout.Dims(t.Shape), warps)
}

// each applies op to element registers. Rank-0 operands (one register) repeat; inside a reduction's region a "rank-0" tile may have
// many registers, one per pair being combined.
func (f *fn) each(elem ir.Type, op func(x []reg) reg, operands ...*tile) *tile {
	n := 1
	for _, t := range operands {
		n = max(n, t.len())
	}
	out := f.newTile(elem, n)
	x := make([]reg, len(operands))
	for i := range n {
		for j, t := range operands {
			x[j] = f.reg(t, i%t.len())
		}
		out.regs[i] = op(x)
	}
	out.home = f.cur // op may have made blocks
	return out
}

// eachWord is each on packed words of the operands, which all pack or have one register; a single one is doubled into a word.
func (f *fn) eachWord(elem ir.Type, op func(x []reg) reg, operands ...*tile) *tile {
	n := 1
	for _, t := range operands {
		n = max(n, len(t.words))
	}
	words := make([]reg, n)
	x := make([]reg, len(operands))
	for i := range n {
		for j, t := range operands {
			if t.packs() {
				x[j] = f.word(t, i)
			} else {
				e := f.reg(t, 0)
				x[j] = f.pack(repeat(e, t.per))
			}
		}
		words[i] = op(x)
	}
	return f.packedTile(elem, words)
}

func repeat(x reg, n int) []reg {
	out := make([]reg, n)
	for i := range out {
		out[i] = x
	}
	return out
}
