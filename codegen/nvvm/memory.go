package nvvm

import (
	"slices"
	"strconv"

	"tileiras/codegen/layout"
	"tileiras/codegen/planted"
	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

func init() {
	register(ir.Table[lowering]{
		tileaa.OpOffset & ir.Place: offset,
		tileaa.OpLoad & ir.Place:   load,
		tileaa.OpStore & ir.Place:  store,
	})
}

// run is one access of a thread: consecutive elements in memory and the element registers that hold them.
type run struct {
	regs   []int
	base   reg   // address
	offset int64 // constant part of the address, in bytes
	guard  reg   // i1
	inside reg   // of a ragged copy: how many of its elements lie before the end of the array, an i32
}

// memoryType is the PTX type of one register in memory.
func memoryType(k kind) string {
	return [...]string{kI8: "b8", kI16: "b16", kI32: "b32", kI64: "b64", kF32: "f32", kF64: "f64"}[k]
}

// fromMemory turns what a load of one register gives into a register of its kind (8-bit values come in 16).
func (f *fn) fromMemory(x reg, k kind) reg {
	switch k {
	case kI1:
		return f.icmp(ne, x, con(x.k, 0))
	case kI8:
		return f.trunc(x, kI8)
	}
	return x
}

// vectorName is the PTX type of n consecutive registers.
func vectorName(k kind, n int) string {
	if n == 1 {
		return memoryType(k)
	}
	return "v" + strconv.Itoa(n) + "." + memoryType(k)
}

// inWords reports whether an access of n elements of kind k moves 32-bit words.
func inWords(k kind, n int) bool { return k.bits() < 32 && n*k.bits() >= 32 }

// moved is the kind and number of what an access of n elements of kind k moves.
func moved(k kind, n int) (kind, int) {
	switch {
	case inWords(k, n):
		return kI32, n * k.bits() / 32
	case k == kI8 && n == 2:
		return kI16, 1
	}
	return k, n
}

// loadRun loads one run into a tile. Where the guard is false the registers get what the tile fill holds; fill may be nil when it is
// always true. name is the instruction up to its type, "ld.global".
func (f *fn) loadRun(name string, r run, out, fill *tile) {
	k, n := moved(out.k, len(r.regs))
	if r.guard.is(0) {
		f.putRun(out, r.regs, f.runRegs(fill, r.regs))
		return
	}
	var fallback []reg
	if !r.guard.is(1) {
		fallback = f.runRegs(fill, r.regs)
	}
	f.putRun(out, r.regs, f.loadWords(name+"."+vectorName(k, n), r, fallback))
}

// putRun places what an access of these elements moved into a tile.
func (f *fn) putRun(out *tile, regs []int, got []reg) {
	switch {
	case inWords(out.k, len(regs)):
		f.putWords(out, regs, got)
	case out.k == kI8 && len(regs) == 2:
		out.regs[regs[0]], out.regs[regs[1]] = f.twoBytes(got[0])
	default:
		for i, at := range regs {
			out.regs[at] = f.fromMemory(got[i], out.k)
		}
	}
}

// runRegs is the registers that an access of these elements moves.
func (f *fn) runRegs(x *tile, regs []int) []reg {
	switch {
	case inWords(x.k, len(regs)):
		return f.getWords(x, regs)
	case x.k == kI8 && len(regs) == 2:
		return []reg{f.bytes(f.reg(x, regs[0]), f.reg(x, regs[1]))}
	}
	var out []reg
	for _, i := range regs {
		out = append(out, f.reg(x, i))
	}
	return out
}

// bytes is two 8-bit registers in an i16.
func (f *fn) bytes(lo, hi reg) reg {
	return f.or(f.zext(lo, kI16), f.shl(f.zext(hi, kI16), 8))
}

// twoBytes takes an i16 apart.
func (f *fn) twoBytes(w reg) (lo, hi reg) {
	return f.halvesOf(w, f.trunc(w, kI8), f.trunc(f.lshr(w, 8), kI8))
}

// halvesOf remembers of what two registers are the halves. Constants are in no register.
func (f *fn) halvesOf(word, low, high reg) (lo, hi reg) {
	apart := split{word, []reg{low, high}}
	for _, half := range apart.parts {
		if !half.isConst() {
			f.wholes[half.id] = apart
		}
	}
	return low, high
}

// putWords places words into a tile whose registers regs they hold.
func (f *fn) putWords(out *tile, regs []int, words []reg) {
	if out.packs() && wholeWords(regs, out.per) {
		for i, w := range words {
			out.words[regs[i*out.per]/out.per] = w
		}
		return
	}
	for i, w := range words {
		for j, e := range f.unpack(w, out.k) {
			out.regs[regs[i*out.per+j]] = e
		}
	}
}

// loadWords is the load instruction of a run, guarded unless the guard is always true.
func (f *fn) loadWords(row string, r run, fallback []reg) []reg {
	if r.guard.is(1) {
		return f.op(row, r.base, i32(r.offset))
	}
	args := []reg{r.guard}
	for _, x := range fallback {
		if x.k == kI8 || x.k == kI1 {
			x = f.zext(x, kI16)
		}
		args = append(args, x)
	}
	return f.op("@"+row, append(args, r.base, i32(r.offset))...)
}

// storeRun stores one run of a tile.
func (f *fn) storeRun(name string, r run, x *tile) {
	k, n := moved(x.k, len(r.regs))
	vals := f.runRegs(x, r.regs)
	f.guarded(name+"."+vectorName(k, n), r.guard, append([]reg{r.base, i32(r.offset)}, vals...)...)
}

// guarded is an instruction without results where the guard is true.
func (f *fn) guarded(row string, guard reg, args ...reg) {
	switch {
	case guard.is(0):
		return
	case !guard.is(1):
		row, args = "@"+row, append([]reg{guard}, args...)
	}
	f.op(row, args...)
}

// getWords is the words that hold the registers regs of a tile.
func (f *fn) getWords(x *tile, regs []int) []reg {
	words := f.regs.Take(len(regs) / x.per)
	if x.packs() && wholeWords(regs, x.per) {
		for i := range words {
			words[i] = f.word(x, regs[i*x.per]/x.per)
		}
		return words
	}
	e := f.regs.Take(x.per)
	for i := range words {
		for j := range e {
			e[j] = f.reg(x, regs[i*x.per+j])
		}
		words[i] = f.pack(e)
	}
	return words
}

// inMemory is a tile as memory holds it: an i1 is a byte, 0 or 1.
func (f *fn) inMemory(t *tile) *tile {
	if t.k != kI1 {
		return t
	}
	return f.each(f.ctx.Int(8), func(x []reg) reg { return f.zext(x[0], kI8) }, t)
}

// memoryElem is the element type that an access moves.
func (f *fn) memoryElem(elem ir.Type) ir.Type {
	if kindOf(elem) == kI1 {
		return f.ctx.Int(8)
	}
	if tileaa.ElemBits(elem) == 4 {
		f.unsupported("memory of 4-bit elements")
	}
	return elem
}

// loaded is what a load of memory elements gives to the program: a byte that is not 0 is true.
func (f *fn) loaded(t *tile, elem ir.Type) *tile {
	if kindOf(elem) != kI1 {
		return t
	}
	return f.each(elem, func(x []reg) reg {
		if r, ok := f.compareByte(ne, x[0], con(kI8, 0)); ok {
			return r
		}
		return f.icmp(ne, x[0], con(kI8, 0))
	}, t)
}

// offset: pointer plus a signed number of elements. Where these differ by constants, so do the pointers: of two numbers of which none is negative
// the difference is known, whether or not they wrapped on the way.
func offset(f *fn, op *ir.Op) {
	o := ir.Cast[tileaa.Offset](op)
	elem := elemOf(o.Result())
	size := int64(tileaa.ElemBytes(elem.(*tileaa.PtrType).Elem))
	type element struct {
		number reg
		c      uint64
	}
	first := map[id]element{} // of those that differ by constants
	f.set(op, f.each(elem, func(x []reg) reg {
		e, apart := element{number: x[1]}, int64(0)
		if x[1].isConst() { // no value that others differ from
			return f.add(x[0], i64(x[1].sint()*size))
		}
		if base, c, ok := f.splitAdd(x[1]); ok && (o.Nonnegative() || x[1].k == kI64) {
			e.c = c
			x[1] = base
		}
		if other, ok := first[x[1].id]; ok {
			apart, e = signed(e.c-other.c, x[1].k.bits()), other
		} else {
			first[x[1].id] = e
		}
		return f.add(f.addApart(x[0], f.mul(f.sext(e.number, kI64), i64(size))), i64(apart*size))
	}, f.operandTiles(op)...))
}

// findNumbers finds what computes element numbers.
func (f *fn) findNumbers(v *ir.Value) {
	op := v.DefiningOp()
	if op == nil || f.elementNumbers[op] || !op.MovesFreely() || !tileaa.IsRanked(v) {
		return
	}
	f.budget.Step()
	f.elementNumbers[op] = true
	for _, x := range op.Operands() {
		f.findNumbers(x)
	}
}

// Space is the state space of the pointers of a kernel as an instruction has it: global, unless it has memory of its own that they may point to.
func Space(entry *ir.Op) string {
	space := ".global"
	ir.WalkOf(entry, ir.PreOrder, func(tileaa.Alloca) { space = "" })
	return space
}

// scopeOf is the scope of a strong access.
var scopeOf = map[def.Scope]string{def.ScopeBlock: ".cta", def.ScopeDevice: ".gpu", def.ScopeSys: ".sys"}

// scopeWord is the scope of an access as an instruction has it.
func scopeWord(op *ir.Op) string {
	s, _ := ir.Cast[tileaa.MemoryOp](op).Scope()
	if planted.On("narrow-scope") && s == def.ScopeDevice {
		return ".cluster"
	}
	return scopeOf[s]
}

// accessName is the instruction of a load or store up to its type, with order and scope when it is strong. Acquire and release
// loads and stores of codes that have them; a barrier that makes them hold for the whole tile block is not theirs to add.
func accessName(op *ir.Op, verb, space string) string {
	if !tileaa.IsStrong(op) {
		return verb + space
	}
	return verb + "." + orderWord(op) + scopeWord(op) + space
}

// AccessInstruction is the instruction by which a load or a store through pointers into a space moves n elements.
func AccessInstruction(op *ir.Op, space string, n int) string {
	verb := "ld"
	if tileaa.StoredValue(op) != nil {
		verb = "st"
	}
	k := kindOf(tileaa.AccessedTile(op).Elem)
	if k == kI1 { // a byte of memory
		k = kI8
	}
	return accessName(op, verb, space) + "." + vectorName(moved(k, n))
}

// vecOf is how many elements an instruction may move, as select-atoms decided.
func vecOf(op *ir.Op) int {
	n, _ := ir.Cast[tileaa.AccessOp](op).Vec()
	return max(1, int(n))
}

// VecOfAccess is how many elements a load or a store may move at a time: one of a strong access.
func VecOfAccess(op *ir.Op) int {
	if tileaa.IsStrong(op) {
		return 1
	}
	return vecOf(op)
}

// Neighbours is how many elements an access moves at a time, of at most vec, where threads hold them as a layout says.
func Neighbours(op *ir.Op, l layout.Layout, vec int) int {
	fast := fastOf(op, l.Rank())
	if ir.Is[tileaa.BlockOp](op) {
		return len(blockVectors(l, fast, vec).Groups[0].Regs)
	}
	return len(registerRuns(l, fast, vec)[0])
}

// fastOf is the dimension along which an access may be wide: the last, unless select-atoms says otherwise.
func fastOf(op *ir.Op, rank int) int {
	if a, ok := ir.As[tileaa.AccessOp](op); ok {
		if d, ok := a.Fast(); ok {
			return int(d)
		}
	}
	return rank - 1
}

// registerRuns cuts the registers of a layout into runs of at most vec elements that are neighbours along dimension fast, leaving
// out registers that replicate others.
func registerRuns(l layout.Layout, fast, vec int) [][]int {
	n := 1
	for b := 0; n < vec && b < l.InBits(layout.Reg) && n < l.Shape()[fast] && l.Basis(layout.Reg, b) == layout.Bit(l.Shape(), fast, b); b++ {
		n *= 2
	}
	var out [][]int
	free := l.FreeMask(layout.Reg)
	for r := 0; r < l.Regs(); r += n {
		if uint64(r)&free != 0 {
			continue
		}
		regs := make([]int, n)
		for i := range regs {
			regs[i] = r + i
		}
		out = append(out, regs)
	}
	return out
}

// fillReplicas copies the registers that stand for others.
func (f *fn) fillReplicas(out *tile, l layout.Layout) {
	out.home = f.cur
	reps := l.RegReps()
	for r, rep := range reps {
		if rep != r && (out.words == nil || out.words[r/out.per].absent()) && out.regs[r].absent() {
			if out.packs() && rep%out.per == r%out.per && !out.words[rep/out.per].absent() && r/out.per != rep/out.per {
				out.words[r/out.per] = out.words[rep/out.per]
				continue
			}
			out.regs[r] = f.reg(out, rep)
		}
	}
}

// pointers are a tile of pointers with the mask of what is accessed through it.
type pointers struct {
	ptr, mask, left *tile // no mask: all; left as in the row of load
}

func (f *fn) pointersOf(op *ir.Op) *pointers {
	m := ir.Cast[tileaa.MaskedOp](op)
	return &pointers{f.tileFor(m.Ptr()), f.val(m.Mask()), f.val(m.Left())}
}

// pointerRuns cuts an access of layout l through pointers into runs of at most vec elements along a dimension. Of a ragged one inside is how
// many of its elements are accessed, where the guard lets any through.
func (f *fn) pointerRuns(p *pointers, l layout.Layout, fast, vec int, guard reg) []run {
	var out []run
	for _, regs := range registerRuns(l, fast, vec) {
		r := run{regs: regs, guard: guard}
		r.base = f.reg(p.ptr, regs[0])
		if p.mask != nil {
			r.guard = f.and(guard, f.reg(p.mask, regs[0]))
		}
		if p.left != nil && len(regs) > 1 {
			r.inside = f.reg(p.left, regs[0]) // at most vec
			edge := planted.On("edge-off-by-one")
			if edge {
				r.inside = f.add(r.inside, i32(1))
			}
			if len(regs) < vec || edge {
				r.inside = f.minmax(r.inside, i32(int64(len(regs))), false, false)
			}
		}
		out = append(out, r)
	}
	// A constant distance from another access becomes an immediate.
	for i := range out {
		if base, c, ok := f.splitAdd(out[i].base); ok && int64(c) == int64(int32(c)) {
			out[i].base, out[i].offset = base, int64(c)
		}
	}
	return out
}

func load(f *fn, op *ir.Op) {
	t := tileaa.AsTile(op.Result(0))
	l := layoutOf(t, f.warps)
	name := accessName(op, "ld", f.space)
	guard := boolean(true)
	if tileaa.IsStrong(op) {
		guard = f.owners(l)
	}
	elem := f.memoryElem(t.Elem)
	out := f.newTile(elem, numRegs(t))
	fill := f.zeros(elem, out.len())
	if p := f.val(ir.Cast[tileaa.Load](op).Padding()); p != nil {
		fill = f.inMemory(p)
	}
	runs := f.pointerRuns(f.pointersOf(op), l, fastOf(op, len(t.Shape)), VecOfAccess(op), guard)
	f.set(op, f.loaded(f.loadRuns(name, runs, l, out, fill), t.Elem))
}

// areRagged reports whether the end of an array may cut runs.
func areRagged(runs []run) bool { return len(runs) > 0 && !runs[0].inside.absent() }

// loadRuns makes the runs of a load.
func (f *fn) loadRuns(name string, runs []run, l layout.Layout, out, fill *tile) *tile {
	if areRagged(runs) {
		f.ragged(runs, int64(tileaa.ElemBytes(out.elem)), out, true, func(r run, to *tile) { f.loadRun(name, r, to, fill) })
	} else {
		for _, r := range runs {
			f.loadRun(name, r, out, fill)
		}
	}
	f.fillReplicas(out, l)
	return out
}

func store(f *fn, op *ir.Op) {
	v := valueOf(op)
	l := f.tileLayout(v)
	name := accessName(op, "st", f.space)
	x := f.inMemory(f.stored(op))
	f.memoryElem(x.elem)
	f.storeRuns(name, f.pointerRuns(f.pointersOf(op), l, fastOf(op, len(l.Shape())), VecOfAccess(op), f.owners(l)), x)
}

// storeRuns makes the runs of a store.
func (f *fn) storeRuns(name string, runs []run, x *tile) {
	if areRagged(runs) {
		f.ragged(runs, int64(tileaa.ElemBytes(x.elem)), x, false, func(r run, from *tile) { f.storeRun(name, r, from) })
		return
	}
	for _, r := range runs {
		f.storeRun(name, r, x)
	}
}

// zeros is a tile of constants 0.
func (f *fn) zeros(elem ir.Type, n int) *tile {
	t := f.newTile(elem, n)
	copy(t.regs, slices.Repeat([]reg{con(t.k, 0)}, n))
	return t
}
