package tileaa

import (
	"fmt"
	"slices"

	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// A verifier checks what a row cannot say. It returns a sentence about what is wrong, or "".
type verifier func(op *ir.Op) string

// verifyOp reports what is wrong with an op by itself and its row does not say.
func verifyOp(c *ir.Context, op *ir.Op) bool {
	return says(c, op, verifiers.Of(op.Code())) && says(c, op, distributedTiles)
}

// verifyUses reports what is wrong between an op and others, whose layouts it has to fit for one.
func verifyUses(c *ir.Context, op *ir.Op) bool {
	if g, ok := ir.As[GetGlobal](op); ok {
		return verifyGetGlobal(c, g)
	}
	return says(c, op, useVerifiers.Of(op.Code())) && says(c, op, decided)
}

// says reports the sentence of a verifier, which may be nil.
func says(c *ir.Context, op *ir.Op, check verifier) bool {
	if check == nil {
		return true
	}
	if wrong := check(op); wrong != "" {
		return c.Error(op, "%s", wrong)
	}
	return true
}

// useVerifiers check an op with those that it has values from and gives values to, when all of them are right by themselves.
var useVerifiers = ir.Table[verifier]{
	OpDot & ir.Place:       of(verifyDotUses),
	OpFor & ir.Place:       of(verifyLands),
	OpRoles & ir.Place:     of(verifyRoles),
	OpSumsStore & ir.Place: of(verifySumsStore),
	OpSumsScale & ir.Place: of(func(s SumsScale) string { return onlySums(s.Result()) }),
	OpAsyncCopy & ir.Place: of(verifyMapped),
}

// of makes the verifier of one kind of op.
func of[T ir.Typed](check func(T) string) verifier {
	return func(op *ir.Op) string { return check(ir.Cast[T](op)) }
}

// all runs checks until one complains.
func all(checks ...verifier) verifier {
	return func(op *ir.Op) string {
		for _, check := range checks {
			if wrong := check(op); wrong != "" {
				return wrong
			}
		}
		return ""
	}
}

// maskOf checks the mask of pointers, and what says how many elements it lets through; either may be nil.
func maskOf(ptr, mask, left *ir.Value) string {
	switch {
	case mask != nil && !sameShape(AsTile(mask), AsTile(ptr)):
		return "needs a mask of i1 in the shape of the pointers"
	case left != nil && mask == nil:
		return "has no mask of which left could say how far it goes"
	case left != nil && !sameShape(AsTile(left), AsTile(ptr)):
		return "needs left in the shape of the pointers"
	}
	return ""
}

// pointees checks that values are what the pointers of an access point to.
func pointees(a PtrAccess, what string, vs ...*ir.Value) string {
	p := AsTile(a.Ptr())
	for _, v := range vs {
		if t := AsTile(v); p.Elem.(*PtrType).Elem != t.Elem || !sameShape(p, t) {
			return fmt.Sprintf("needs a %s of the pointed-to elements in the shape of the pointers", what)
		}
	}
	return ""
}

// scoped: weak accesses have no scope, all others must have one.
func scoped(m MemoryOp) string {
	_, has := m.Scope()
	switch weak := m.Order() == def.Weak; {
	case weak && has:
		return "is weak and must have no scope"
	case !weak && !has:
		return "is not weak and must have a scope"
	}
	return ""
}

// ptrAccess checks an access through pointers to a value.
func ptrAccess(what string, value func(*ir.Op) []*ir.Value) verifier {
	return func(op *ir.Op) string {
		a := PtrAccess{op}
		if wrong := pointees(a, what, value(op)...); wrong != "" {
			return wrong
		}
		var left *ir.Value
		if m, ok := ir.As[MaskedOp](op); ok {
			left = m.Left()
		}
		if wrong := maskOf(a.Ptr(), a.Mask(), left); wrong != "" {
			return wrong
		}
		return scoped(MemoryOp{op})
	}
}

// blockAccess checks an access of a tile to a block.
func blockAccess(what string, tile func(*ir.Op) *ir.Value) verifier {
	return func(op *ir.Op) string {
		if wrong := blockLike(BlockOp{op}.Block(), AsTile(tile(op)), what); wrong != "" {
			return wrong
		}
		return scoped(MemoryOp{op})
	}
}

func blockLike(block *ir.Value, t *TileType, what string) string {
	b := block.Type().(*BlockType)
	if t.Elem != b.Elem || !slices.Equal(t.Shape, b.Shape) {
		return fmt.Sprintf("needs a %s of the shape and elements of the block", what)
	}
	return ""
}

// bufferLike checks a tile that a buffer holds.
func bufferLike(buffer *ir.Value, t *TileType) string {
	b := buffer.Type().(*BufferType)
	if t.Elem != b.Elem || !slices.Equal(t.Shape, b.Shape) {
		return "needs a tile of the shape and elements of the buffer"
	}
	return ""
}

// bufferSlice checks a tile that is a slice of a buffer.
func bufferSlice(buffer *ir.Value, t *TileType, indices []*ir.Value) string {
	b := buffer.Type().(*BufferType)
	if t.Elem != b.Elem || len(indices) != len(b.Shape) || !slices.EqualFunc(b.Shape, t.Shape, divisible) {
		return "needs a tile of the buffer's elements whose dimensions divide it, with one slice number for each"
	}
	return ""
}

func dimInRange(dim int64, rank int) string {
	if dim < 0 || dim >= int64(rank) {
		return fmt.Sprintf("dimension %d is not one of %d", dim, rank)
	}
	return ""
}

func axisInRange(op *ir.Op) string {
	if a := (GridOp{op}).Axis(); a < 0 || a > 2 {
		return fmt.Sprintf("axis %d is not one of the grid's 3", a)
	}
	return ""
}

var verifiers = ir.Table[verifier]{
	OpEntry & ir.Place: of(verifyPlan), OpGlobal & ir.Place: of(verifyGlobal),

	OpBitcast & ir.Place: of(func(c Bitcast) string {
		if ElemBits(AsTile(c.Source()).Elem) != ElemBits(AsTile(c.Result()).Elem) {
			return "needs elements of equal width"
		}
		return ""
	}),
	OpExti & ir.Place:   of(func(c Exti) string { return wider("result", c.Result(), "source", c.Source()) }),
	OpTrunci & ir.Place: of(func(c Trunci) string { return wider("source", c.Source(), "result", c.Result()) }),
	OpPack & ir.Place: of(func(p Pack) string {
		s, r := AsTile(p.Source()), AsTile(p.Result())
		if len(s.Shape) != 1 || len(r.Shape) != 1 || !ir.IsInt(r.Elem, 8) || s.Shape[0]*int64(ElemBits(s.Elem)) != 8*r.Shape[0] {
			return "needs rank-1 tiles of as many bits, bytes as result"
		}
		return ""
	}),
	OpUnpack & ir.Place: of(func(p Unpack) string {
		s, r := AsTile(p.Source()), AsTile(p.Result())
		if len(s.Shape) != 1 || len(r.Shape) != 1 || !ir.IsInt(s.Elem, 8) || r.Shape[0]*int64(ElemBits(r.Elem)) != 8*s.Shape[0] {
			return "needs rank-1 tiles of as many bits, bytes as source"
		}
		return ""
	}),

	OpConstant & ir.Place: of(func(c Constant) string {
		t := AsTile(c.Result())
		if !sameTileBut(c.Value().Type, t) {
			return "needs a value of the type of the result"
		}
		return denseFits(c.Value(), t)
	}),
	OpIota & ir.Place: of(func(i Iota) string {
		if len(AsTile(i.Result()).Shape) != 1 {
			return "needs a rank-1 tile of integers as result"
		}
		return ""
	}),
	OpBroadcast & ir.Place: shapes(func(_ *ir.Op, s, r []int64) bool {
		return slices.EqualFunc(s, r, func(a, b int64) bool { return a == b || a == 1 })
	}),
	OpReshape & ir.Place: shapes(func(_ *ir.Op, s, r []int64) bool { return product(s) == product(r) }),
	OpPermute & ir.Place: shapes(func(op *ir.Op, s, r []int64) bool {
		p := permutation(op)
		if len(p) != len(s) || len(r) != len(s) {
			return false
		}
		seen := make([]bool, len(p))
		for i, d := range p {
			if d < 0 || int(d) >= len(p) || seen[d] || r[i] != s[d] {
				return false
			}
			seen[d] = true
		}
		return true
	}),
	OpExtract & ir.Place: shapes(func(op *ir.Op, s, r []int64) bool {
		return len(Extract{op}.Indices()) == len(s) && slices.EqualFunc(s, r, divisible)
	}),
	OpDotLand & ir.Place: shapes(func(op *ir.Op, s, r []int64) bool {
		n := len(DotLand{op}.Indices())
		return n == 0 && slices.Equal(s, r) || n == len(s) && slices.EqualFunc(s, r, divisible)
	}),
	OpConvertLayout & ir.Place: shapes(func(_ *ir.Op, s, r []int64) bool { return slices.Equal(s, r) }),
	OpInsert & ir.Place: of(func(i Insert) string {
		s, d, r := AsTile(i.Source()), AsTile(i.Dest()), AsTile(i.Result())
		if d.Elem != r.Elem || !sameShape(d, r) || s.Elem != d.Elem || len(i.Indices()) != len(d.Shape) || !slices.EqualFunc(d.Shape, s.Shape, divisible) {
			return "needs a result like the destination and a source whose dimensions divide it, with one slice number for each"
		}
		return ""
	}),
	OpCat & ir.Place: of(verifyCat),

	OpDot & ir.Place:    of(verifyDot),
	OpReduce & ir.Place: of(verifyCombine), OpScan & ir.Place: of(verifyCombine),

	OpMakeMemref & ir.Place: of(func(m MakeMemref) string {
		t, elem := m.Result().Type().(*MemrefType), AsTile(m.Base()).Elem.(*PtrType).Elem
		switch {
		case elem != t.Elem:
			return "needs a pointer to the elements of the memref"
		case count(t.Shape) != len(m.Shape()) || count(t.Strides) != len(m.Strides()):
			return "needs one operand for each dynamic extent and stride"
		}
		return ""
	}),
	OpBlockTile & ir.Place: of(verifyBlock),
	OpPointerBlock & ir.Place: of(func(p PointerBlock) string {
		ptr, t := AsTile(p.Ptr()), p.Result().Type().(*BlockType)
		if ptr.Elem.(*PtrType).Elem != t.Elem || !slices.Equal(ptr.Shape, t.Shape) {
			return "needs a block of the pointed-to elements in the shape of the pointers"
		}
		return maskOf(p.Ptr(), p.Mask(), p.Left())
	}),
	OpTiledLoad & ir.Place:      blockAccess("result", func(op *ir.Op) *ir.Value { return TiledLoad{op}.Result() }),
	OpTiledStore & ir.Place:     blockAccess("value", func(op *ir.Op) *ir.Value { return TiledStore{op}.Value() }),
	OpTiledAtomic & ir.Place:    blockAccess("value", func(op *ir.Op) *ir.Value { return TiledAtomic{op}.Value() }),
	OpMultimemStore & ir.Place:  blockAccess("value", func(op *ir.Op) *ir.Value { return MultimemStore{op}.Value() }),
	OpMultimemReduce & ir.Place: blockAccess("value", func(op *ir.Op) *ir.Value { return MultimemReduce{op}.Value() }),
	OpMultimemLoad & ir.Place:   blockAccess("result", func(op *ir.Op) *ir.Value { return MultimemLoad{op}.Result() }),
	OpLoad & ir.Place: all(ptrAccess("result", func(op *ir.Op) []*ir.Value { return []*ir.Value{Load{op}.Result()} }), of(func(l Load) string {
		if p := l.Padding(); p != nil && !sameTileBut(p.Type(), AsTile(l.Result())) {
			return "needs padding like the result"
		}
		return ""
	})),
	OpStore & ir.Place: ptrAccess("value", func(op *ir.Op) []*ir.Value { return []*ir.Value{Store{op}.Value()} }),
	OpAtomicRmw & ir.Place: ptrAccess("value", func(op *ir.Op) []*ir.Value {
		return []*ir.Value{AtomicRmw{op}.Arg(), AtomicRmw{op}.Result()}
	}),
	OpAtomicCas & ir.Place: ptrAccess("value", func(op *ir.Op) []*ir.Value {
		return []*ir.Value{AtomicCas{op}.Cmp(), AtomicCas{op}.Value(), AtomicCas{op}.Result()}
	}),
	OpAlloca & ir.Place: of(func(a Alloca) string {
		if n := a.Alignment(); a.NumElem() < 1 || n < 0 || n&(n-1) != 0 {
			return "needs at least one element, and a power of two as alignment"
		}
		return ""
	}),
	OpProgramId & ir.Place: axisInRange, OpNumPrograms & ir.Place: axisInRange,

	OpFor & ir.Place:      of(verifyFor),
	OpLoop & ir.Place:     of(verifyLoop),
	OpIf & ir.Place:       of(verifyIf),
	OpYield & ir.Place:    nestedIn(OpIf, OpReduce, OpScan, OpRoles, OpRole),
	OpBreak & ir.Place:    nestedIn(OpLoop, OpIf),
	OpContinue & ir.Place: nestedIn(OpFor, OpLoop, OpIf),
	OpReturn & ir.Place:   nestedIn(OpEntry, OpIf, OpLoop),
	OpPrint & ir.Place:    of(verifyPrint),

	OpRole & ir.Place: all(nestedIn(OpRoles), of(func(r Role) string {
		if n := r.Warps(); n < 1 || n > mostWarps || n&(n-1) != 0 {
			return fmt.Sprintf("has %d warps, which is no power of two up to %d", n, mostWarps)
		}
		return ""
	})),

	OpAllocPipeline & ir.Place: of(func(a AllocPipeline) string {
		if a.Producers() < 1 || a.Consumers() < 1 {
			return "needs somebody who fills slots, and somebody who reads them"
		}
		return ""
	}),
	OpRingSlot & ir.Place: of(func(s RingSlot) string {
		r := s.Ring().Type().(*RingType)
		if s.Result().Type() != r.Buffer {
			return "needs a result like the buffers of the ring"
		}
		if s.Ahead() < 0 || s.Ahead() >= r.Slots {
			return fmt.Sprintf("slot %d ahead is not one of %d", s.Ahead(), r.Slots)
		}
		return ""
	}),
	OpRingNext & ir.Place: of(func(n RingNext) string {
		if n.Slots() < 1 || n.Slots() > MostSlots {
			return fmt.Sprintf("needs 1 to %d slots", MostSlots)
		}
		return ""
	}),
	OpBufferView & ir.Place: of(func(v BufferView) string {
		from, to := v.Buffer().Type().(*BufferType), v.Result().Type().(*BufferType)
		if from.Elem != to.Elem || from.Mem.Size() != to.Mem.Size() {
			return "needs a buffer of the same elements, as many"
		}
		return ""
	}),
	OpBufferStore & ir.Place:   of(func(s BufferStore) string { return bufferLike(s.Buffer(), AsTile(s.Value())) }),
	OpBufferLoad & ir.Place:    of(func(l BufferLoad) string { return bufferLike(l.Buffer(), AsTile(l.Result())) }),
	OpBufferExtract & ir.Place: of(func(e BufferExtract) string { return bufferSlice(e.Buffer(), AsTile(e.Result()), e.Indices()) }),
	OpBufferInsert & ir.Place:  of(func(i BufferInsert) string { return bufferSlice(i.Buffer(), AsTile(i.Value()), i.Indices()) }),
	OpBufferStoreSlice & ir.Place: of(func(s BufferStoreSlice) string {
		b, t := s.Buffer().Type().(*BufferType), AsTile(s.Value())
		if t.Elem != b.Elem || len(s.Indices()) != len(t.Shape) || !slices.EqualFunc(t.Shape, b.Shape, divisible) {
			return "needs a tile of the buffer's elements whose dimensions those of the buffer divide, with one slice number for each"
		}
		return ""
	}),
	OpAsyncCopy & ir.Place: of(func(c AsyncCopy) string {
		b, t := c.Buffer().Type().(*BufferType), c.Block().Type().(*BlockType)
		if b.Elem != t.Elem || !slices.Equal(b.Shape, t.Shape) {
			return "needs a buffer of the shape and elements of the block"
		}
		return ""
	}),
	OpAllocMaps & ir.Place: all(nestedIn(OpEntry), of(verifyAllocMaps)),
	OpTensorMap & ir.Place: of(verifyTensorMap),
	OpAsyncWait & ir.Place: of(func(w AsyncWait) string {
		if w.Pending() < 0 || w.Pending() > MostSlots {
			return fmt.Sprintf("waits until %d groups are pending, which is no number of groups", w.Pending())
		}
		return ""
	}),
	OpDotWait & ir.Place: of(func(w DotWait) string {
		if w.Pending() < 0 || w.Pending() > MostSlots {
			return fmt.Sprintf("waits until %d products are pending, which is no number of products", w.Pending())
		}
		return ""
	}),
	OpBarrier & ir.Place: of(func(b Barrier) string {
		id, _ := b.Id()
		threads, some := b.Threads()
		switch {
		case id < 0 || id > 15:
			return fmt.Sprintf("barrier %d is not one of 16", id)
		case some && (threads <= 0 || threads%32 != 0):
			return fmt.Sprintf("%d threads are no whole warps", threads)
		}
		return ""
	}),
}

// verifyGlobal checks the content of a global, which no op distributes over threads.
func verifyGlobal(g Global) string {
	t, ok := g.Value().Type.(*TileType)
	if !ok || len(t.Shape) != 1 || t.Layout != nil {
		return "needs a value of rank 1 without a layout"
	}
	if a, _ := g.Alignment(); a < 0 || a&(a-1) != 0 {
		return "needs a power of two as alignment"
	}
	if wrong := possible(t); wrong != "" {
		return wrong
	}
	return denseFits(g.Value(), t)
}

// verifyGetGlobal checks that there is the global, and of elements as the pointer says.
func verifyGetGlobal(c *ir.Context, op GetGlobal) bool {
	module := op.Op
	for module != nil && module.Code() != OpModule {
		module = module.ParentOp()
	}
	g, ok := ir.As[Global](c.SymbolIn(module, op.Name()))
	if !ok {
		return c.Error(op.Op, "is about @%s, which is no global", op.Name())
	}
	if have, want := g.Value().Type.(*TileType).Elem, AsTile(op.Result()).Elem.(*PtrType).Elem; have != want {
		return c.Error(op.Op, "points to %s, and @%s has elements of %s", ir.ShortType(want), op.Name(), ir.ShortType(have))
	}
	return true
}

// denseFits checks the bytes of a constant.
func denseFits(d *ir.DenseAttr, t *TileType) string {
	n := int64(1)
	if !d.Splat {
		n = t.NumElements()
	}
	if size := int64(ir.DenseElementBytes(t.Elem)); size == 0 || int64(len(d.Data)) != n*size {
		return "needs as many bytes as its elements have"
	}
	return ""
}

func divisible(whole, part int64) bool { return part > 0 && whole%part == 0 }

func count(dims []int64) int {
	n := 0
	for _, d := range dims {
		if d == Dynamic {
			n++
		}
	}
	return n
}

// sameTileBut compares the shape and elements of two tile types; the layout does not count.
func sameTileBut(a ir.Type, t *TileType) bool {
	x, ok := a.(*TileType)
	return ok && x.Elem == t.Elem && sameShape(x, t)
}

func wider(wideName string, wide *ir.Value, narrowName string, narrow *ir.Value) string {
	if elemWidth(wide) <= elemWidth(narrow) {
		return fmt.Sprintf("needs a %s that is wider than the %s", wideName, narrowName)
	}
	return ""
}

// shapes checks the shapes of source and result, which have one element type.
func shapes(fit func(op *ir.Op, source, result []int64) bool) verifier {
	return func(op *ir.Op) string {
		s, r := AsTile(UnaryOp{op}.Source()), AsTile(UnaryOp{op}.Result())
		if s.Elem != r.Elem || !fit(op, s.Shape, r.Shape) {
			return "needs shapes that fit and one element type"
		}
		return ""
	}
}

func verifyCat(c Cat) string {
	l, r, t := AsTile(c.Lhs()), AsTile(c.Rhs()), AsTile(c.Result())
	if wrong := dimInRange(c.Dim(), len(t.Shape)); wrong != "" {
		return wrong
	}
	if l.Elem != t.Elem || r.Elem != t.Elem || len(l.Shape) != len(t.Shape) || len(r.Shape) != len(t.Shape) {
		return "needs tiles of one rank and element type"
	}
	for d, n := range t.Shape {
		want := l.Shape[d] == n && r.Shape[d] == n
		if int64(d) == c.Dim() {
			want = l.Shape[d]+r.Shape[d] == n
		}
		if !want {
			return "needs equal dimensions but for the one along which it concatenates"
		}
	}
	return ""
}
