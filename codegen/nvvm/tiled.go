package nvvm

import (
	"math"
	"slices"

	"github.com/llir/llvm/ir/enum"

	"tileiras/codegen/layout"
	"tileiras/codegen/planted"
	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

func init() {
	register(ir.Table[lowering]{
		tileaa.OpMakeMemref & ir.Place: makeMemref,
		tileaa.OpBlockTile & ir.Place:  blockTile,
		tileaa.OpTiledLoad & ir.Place:  tiledLoad,
		tileaa.OpTiledStore & ir.Place: tiledStore,
	})
}

// memref is a strided array: its address, and extents and strides in elements, in registers of the width in which the program gave
// them, at least 32 bits (i32 for constants that fit). They are unsigned numbers. What depends on the thread alone is computed where the array was made, so that loops do not
// repeat it; for an access in no further loop, in front of it, so that it takes no register over the loops between.
type memref struct {
	base           reg
	shape, strides []reg
	elemBytes      int64
	home           *block
	loop           *ir.Op // that it is in
}

// view is a memref, or one tile of it.
type view struct {
	*memref
	index     []reg // per tile dimension: tile number, or coordinate with traversal 1
	traversal []int64
	dims      []int // array dimension of each tile dimension
	sparse    int   // tile dimension whose coordinates come from list, or -1
	list      *tile
	listed    layout.Layout // of list: that of the tile with the other dimensions forgotten
	padding   reg           // register that stands for an element outside; zero if the view has none
	shape     []int64
	elem      ir.Type
}

func makeMemref(f *fn, op *ir.Op) {
	t := op.Result(0).Type().(*tileaa.MemrefType)
	mr := ir.Cast[tileaa.MakeMemref](op)
	m := &memref{base: f.scalar(mr.Base()), elemBytes: int64(tileaa.ElemBytes(t.Elem)), home: f.cur, loop: ir.EnclosingLoop(op)}
	read := func(dynamic []*ir.Value, static []int64) []reg {
		out := make([]reg, len(static))
		for i, s := range static {
			switch {
			case s >= 0 && s <= math.MaxInt32:
				out[i] = i32(s)
			case s != tileaa.Dynamic:
				out[i] = i64(s)
			default:
				x := f.scalar(dynamic[0])
				out[i], dynamic = f.unsigned(x, max(x.k, kI32)), dynamic[1:]
			}
		}
		return out
	}
	m.shape, m.strides = read(mr.Shape(), t.Shape), read(mr.Strides(), t.Strides)
	f.views[op.Result(0)] = &view{memref: m}
}

// unsigned is an index, an extent, a row or a stride of a view in another width: they are unsigned numbers of their own.
func (f *fn) unsigned(x reg, k kind) reg { return f.resize(x, k, false) }

// paddingBits is the element that stands for what lies outside the array.
func paddingBits(elem ir.Type, p def.Padding) uint64 {
	t, ok := elem.(*ir.FloatType)
	if !ok {
		return 0
	}
	bits := t.Format.Zero(false)
	switch p {
	case def.PadNegZero:
		bits = t.Format.Zero(true)
	case def.PadNaN:
		bits = t.Format.NaN()
	case def.PadPosInf:
		bits = t.Format.Inf(false)
	case def.PadNegInf:
		bits = t.Format.Inf(true)
	}
	return t.Format.ToStorage(bits)
}

func blockTile(f *fn, op *ir.Op) {
	t := op.Result(0).Type().(*tileaa.BlockType)
	b := ir.Cast[tileaa.BlockTile](op)
	m := f.views[b.Memref()]
	if m == nil {
		f.bug("the array of a block has no make_memref")
	}
	v := &view{memref: m.memref, sparse: -1, shape: t.Shape, elem: t.Elem, padding: con(kindOf(f.memoryElem(t.Elem)), 0)}
	v.traversal = b.Traversal()
	for _, d := range b.DimMap() {
		v.dims = append(v.dims, int(d))
	}
	if p, ok := b.Padding(); ok {
		v.padding = con(v.padding.k, paddingBits(t.Elem, p))
	}
	if d, ok := b.SparseDim(); ok {
		v.sparse = int(d)
	}
	for d, i := range b.Indices() {
		if d == v.sparse {
			v.list, v.listed = f.tileFor(i), f.tileLayout(i)
			v.index = append(v.index, reg{})
			continue
		}
		v.index = append(v.index, f.scalar(i))
	}
	f.views[op.Result(0)] = v
}

// tiledRuns cuts the access of layout l to a block into runs of at most vec elements.
//
//	address of an element = base + sum over dimensions of (index*traversal + thread part + register part) * stride
//	                        \______ once per thread and array ______/        \__ an immediate, or a hoisted product
//
// With narrow, byte offsets fit 32 bits and are summed in 32 bits. Of a ragged access the end of the array may lie between the elements of
// a run: inside is how many of them lie before it, in an asynchronous copy between none and all.
func (f *fn) tiledRuns(op *ir.Op, v *view, l layout.Layout, vec int, owner reg) []run {
	decided := ir.Cast[tileaa.AccessOp](op)
	width := kI64
	if decided.Narrow() {
		width = kI32
	}
	a := &addresser{fn: f, view: v, l: l, width: width, home: v.home}
	if loop := ir.EnclosingLoop(op); loop == v.loop {
		a.home = f.cur
	} else {
		products := f.productsIn(loop)
		a.inLoop, a.spareRegisters, a.stepwise = true, op.Code() == tileaa.OpAsyncCopy && products.n < 2, products.inGroups
	}
	a.bits = decided.CoordinateBits()
	a.prepare()
	masked, vectors := slices.Clone(decided.Masked()), blockVectors(l, fastOf(op, l.Rank()), vec)
	inside := func(int) reg { return reg{} }
	if decided.Ragged() && len(vectors.Groups[0].Regs) > 1 {
		fast, _ := decided.Fast()
		if len(masked) > 0 {
			masked[fast] = false
		}
		inside = a.insideCounter(int(fast))
		if op.Code() == tileaa.OpAsyncCopy {
			count := inside
			most := i32(int64(len(vectors.Groups[0].Regs)))
			inside = func(r int) reg { return a.minmax(a.minmax(count(r), i32(0), true, true), most, true, false) }
		}
	}
	check := f.boundsChecker(a, masked, vectors)
	out := make([]run, 0, len(vectors.Groups))
	for _, g := range vectors.Groups {
		r := run{regs: g.Regs}
		r.base, r.offset = a.address(g.Regs[0])
		r.guard, r.inside = f.and(check(g.Regs[0]), owner), inside(g.Regs[0])
		out = append(out, r)
	}
	return out
}

// products counts those of a loop; inGroups says that warpgroups multiply.
type products struct {
	n        int
	inGroups bool
}

// productsIn counts the products of a loop, once: every access in it asks.
func (f *fn) productsIn(loop *ir.Op) products {
	if c, ok := f.products[loop]; ok {
		return c
	}
	var c products
	for op := loop.Body().First(); op != nil; op = op.Next() {
		f.budget.Step()
		if p, ok := ir.As[tileaa.Dot](op); ok {
			c.n++
			c.inGroups = c.inGroups || p.Atom().Atom.ByWarpgroup()
		}
	}
	f.products[loop] = c
	return c
}

// addresser computes addresses of a view in the layout of a tile.
type addresser struct {
	*fn
	*view
	l      layout.Layout
	width  kind    // of offsets
	bits   []int64 // coordinate_bits of the access; nothing is known without
	coords []coordinate
	// joint: thread and register parts of a dimension meet in a bit, so the coordinate is computed for every register.
	joint          []bool
	start          reg       // address of register part 0, but for
	fixed          int64     // constants of indices, in bytes
	stride         []reg     // in bytes, by tile dimension, of kind width
	lastReached    []reached // the last address behind each dimension's strides
	home           *block    // where to compute what depends on the thread alone
	inLoop         bool      // the access runs more often than its array was made
	spareRegisters bool      // the loop around has registers for what it does not change: it holds neither what it loads nor values between products
	stepwise       bool      // addresses are found from one another; else all from the first, in parallel
}

// reached is an address at so many strides behind a base.
type reached struct {
	base reg
	part int64
	at   reg
}

func (a *addresser) prepare() {
	n := len(a.view.shape)
	a.coords, a.joint, a.stride, a.lastReached = make([]coordinate, n), make([]bool, n), make([]reg, n), make([]reached, n)
	thread := con(a.width, 0)
	before, here := con(a.width, 0), con(a.width, 0) // what the origin adds: where the array was made, and where it is accessed
	for d := range n {
		a.coords[d] = a.coordinateOf(a.l, d)
		for r := 1; r < a.l.Regs(); r *= 2 { // parts of other registers are sums of these
			a.joint[d] = a.joint[d] || a.coords[d].regPart(r)&a.coords[d].bits != 0
		}
		a.in(a.home, func() {
			a.stride[d] = a.mul(a.unsigned(a.strides[a.dims[d]], a.width), con(a.width, uint64(a.elemBytes)))
			if !a.joint[d] && d != a.sparse {
				thread = a.add(thread, a.mul(a.resize(a.coords[d].thread, a.width, false), a.stride[d]))
			}
		})
		if d == a.sparse {
			continue
		}
		if at := a.index[d]; !a.spareRegisters || a.definedAfter(a.home, at) {
			here = a.add(here, a.distance(d))
		} else {
			a.hoisted(func() { before = a.add(before, a.distance(d)) })
		}
	}
	a.in(a.home, func() { a.start = a.add(a.base, a.sext(thread, kI64)) })
	a.hoisted(func() { a.start = a.add(a.start, a.sext(before, kI64)) })
	a.start = a.add(a.start, a.sext(here, kI64))
}

// distance is how far the tile starts from the array's beginning along a dimension, in bytes.
func (a *addresser) distance(d int) reg {
	if a.stride[d].isConst() {
		step := a.stride[d].bits * uint64(a.traversal[d])
		index, c := a.splitExact(a.index[d])
		a.fixed += int64(c * step)
		return a.mul(a.unsigned(index, a.width), con(a.width, step))
	}
	// A product of two 32-bit numbers is one instruction, so the elements are scaled after it.
	at := a.mul(a.unsigned(a.origin(d), a.width), a.unsigned(a.strides[a.dims[d]], a.width))
	return a.mul(at, con(a.width, uint64(a.elemBytes)))
}

// origin is the coordinate at which the tile starts along a dimension, in a width that holds it.
func (a *addresser) origin(d int) reg {
	k := a.coordinateKind(d)
	return a.mul(a.unsigned(a.index[d], k), con(k, uint64(a.traversal[d])))
}

// coordinateKind is the width in which coordinates along a dimension do not wrap.
func (a *addresser) coordinateKind(d int) kind {
	if d < len(a.bits) && a.bits[d] <= 32 {
		return kI32
	}
	return kI64
}

// blockVectors groups the registers of a block into runs of at most vec elements along dimension fast, which are neighbours in memory.
func blockVectors(l layout.Layout, fast, vec int) layout.Vectors {
	m := layout.Strided(l.Shape(), layout.FastestFirst(fast, l.Rank()))
	for ; ; vec /= 2 {
		if v, ok := m.Vectors(l, vec); ok {
			return v
		}
	}
}

// address is the address of register r: a base and a constant.
func (a *addresser) address(r int) (base reg, offset int64) {
	base, offset = a.start, a.fixed
	for d := range a.coords {
		switch {
		case d == a.sparse:
			at := a.mul(a.unsigned(a.coordinate(r), a.width), a.stride[d])
			base = a.add(base, a.sext(at, kI64))
		case a.joint[d]:
			at := a.mul(a.resize(a.at(a.coords[d], r), a.width, false), a.stride[d])
			base = a.add(base, a.sext(at, kI64))
		default:
			part := int64(a.coords[d].regPart(r))
			if a.stride[d].isConst() {
				offset += part * a.stride[d].sint()
			} else {
				base = a.strided(d, base, part)
			}
		}
	}
	if offset != int64(int32(offset)) {
		return a.add(base, i64(offset)), 0
	}
	return base, offset
}

// strided is base plus so many strides of a dimension. Stepwise, it is found from the last address that was reached from that base:
// registers mostly follow each other at equal distances, and one distance serves all of them.
func (a *addresser) strided(d int, base reg, part int64) reg {
	from := &a.lastReached[d]
	if !a.stepwise || from.base != base || from.part > part {
		*from = reached{base, 0, base}
	}
	var step reg
	a.in(a.home, func() { step = a.sext(a.mul(a.stride[d], con(a.width, uint64(part-from.part))), kI64) })
	*from = reached{base, part, a.add(from.at, step)}
	return from.at
}

// coordinate is the coordinate along the sparse dimension of register r: list holds it in the same thread, in the register with
// the same part.
func (a *addresser) coordinate(r int) reg {
	part := a.coords[a.sparse].regPart(r)
	for j := range a.list.len() {
		if a.listed.Apply(j, 0, 0, 0) == part {
			return a.reg(a.list, j)
		}
	}
	panic("BUG: the coordinates of a gather are not in the layout of its tile")
}

// boundsChecker makes the predicate of register r: every masked coordinate lies inside the array. A thread compares the register part, a
// constant, with what is left of the extent after its own part: register part < extent - origin - thread. A single register part goes to the
// other side, where it may be 0. No difference wraps, as left says.
func (f *fn) boundsChecker(a *addresser, masked []bool, runs layout.Vectors) func(r int) reg {
	n := len(a.coords)
	limit, beyond := make([]reg, n), make([]reg, n)
	for d := range n {
		if d >= len(masked) || !masked[d] || d == a.sparse {
			continue
		}
		c := a.coords[d]
		limit[d] = a.left(d)
		if planted.On("mask-off-by-one") {
			limit[d] = f.add(limit[d], i32(1))
		}
		several := slices.ContainsFunc(runs.Groups, func(g layout.Vector) bool {
			return c.regPart(g.Regs[0]) != c.regPart(runs.Groups[0].Regs[0])
		})
		if several && !a.joint[d] {
			a.beforeLoop(func() { beyond[d] = f.sub(limit[d], c.thread) })
		}
	}
	return func(r int) reg {
		inside := boolean(true)
		for d := range n {
			if d >= len(masked) || !masked[d] {
				continue
			}
			var ok reg
			switch c := a.coords[d]; {
			case d == a.sparse:
				row, extent := a.coordinate(r), a.memref.shape[a.dims[d]]
				k := max(row.k, extent.k)
				ok = f.icmp(ult, f.unsigned(row, k), f.unsigned(extent, k))
			case a.joint[d]:
				ok = f.icmp(slt, f.at(c, r), limit[d])
			case !beyond[d].absent():
				ok = f.icmp(enum.IPredSGT, beyond[d], i32(int64(c.regPart(r))))
			default:
				ok = f.icmp(slt, c.thread, f.sub(limit[d], i32(int64(c.regPart(r)))))
			}
			inside = f.and(inside, ok)
		}
		return inside
	}
}

// insideCounter counts the elements along a dimension from that of register r to the end of the array; past it the number is negative.
func (a *addresser) insideCounter(d int) func(r int) reg {
	limit := a.left(d)
	return func(r int) reg {
		left := a.sub(limit, a.at(a.coords[d], r))
		if c := a.coords[d]; !a.joint[d] {
			left = a.sub(a.sub(limit, i32(int64(c.regPart(r)))), c.thread)
		}
		if planted.On("edge-off-by-one") {
			left = a.add(left, i32(1))
		}
		return left
	}
}

// left is how many elements of the array lie at and after the start of the tile along a dimension, as an i32: exact where it is less
// than the tile, and not positive where the tile starts outside.
func (a *addresser) left(d int) (left reg) {
	var origin reg
	a.beforeLoop(func() { origin = a.origin(d) })
	extent := a.memref.shape[a.dims[d]]
	count := func() {
		extent = a.unsigned(extent, origin.k)
		if d < len(a.bits) && a.bits[d] <= 31 {
			left = a.sub(extent, origin)
			return
		}
		left = a.sub(a.minmax(extent, origin, false, true), origin)
		left = a.trunc(a.minmax(left, con(origin.k, uint64(a.view.shape[d])), false, false), kI32)
	}
	if a.inLoop {
		a.hoisted(count)
	} else {
		count()
	}
	return left
}

// beforeLoop runs make in front of the loop (loop-invariant code motion), where registers allow.
func (a *addresser) beforeLoop(make func()) {
	if a.spareRegisters {
		a.hoisted(make)
	} else {
		make()
	}
}

// viewOf is the block that an op accesses.
func (f *fn) viewOf(op *ir.Op) *view {
	b := f.views[ir.Cast[tileaa.BlockOp](op).Block()]
	if b == nil {
		f.bug("a block has no block_tile")
	}
	return b
}

func tiledLoad(f *fn, op *ir.Op) {
	t := tileaa.AsTile(op.Result(0))
	l := layoutOf(t, f.warps)
	v := f.viewOf(op)
	name := accessName(op, "ld", f.space)
	owner := boolean(true)
	if tileaa.IsStrong(op) {
		owner = f.owners(l)
	}
	if when := ir.Cast[tileaa.TiledLoad](op).When(); when != nil {
		owner = f.and(owner, f.scalar(when))
	}
	out := f.newTile(f.memoryElem(t.Elem), numRegs(t))
	fill := f.newTile(out.elem, out.len())
	copy(fill.regs, slices.Repeat([]reg{v.padding}, out.len()))
	runs := f.tiledRuns(op, v, l, VecOfAccess(op), owner)
	f.set(op, f.loaded(f.loadRuns(name, runs, l, out, fill), t.Elem))
}

func tiledStore(f *fn, op *ir.Op) {
	l := f.tileLayout(valueOf(op))
	x := f.inMemory(f.stored(op))
	name := accessName(op, "st", f.space)
	f.storeRuns(name, f.tiledRuns(op, f.viewOf(op), l, VecOfAccess(op), f.owners(l)), x)
}
