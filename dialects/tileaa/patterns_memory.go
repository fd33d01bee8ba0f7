package tileaa

import (
	"math"
	"slices"

	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// mostShared is the most tokens of a join with several uses that other joins take over.
const mostShared = 8

// joinOfTokens flattens joins of joins, and drops duplicate tokens and those of create_mem_token. A join that several users take stays
// if it has many tokens, so that all joins together have no more than a small multiple of what they had; one that only a join takes is
// left to that one.
func joinOfTokens(b *ir.Builder, op *ir.Op) bool {
	if op.Result(0).HasOneUse() && op.Result(0).FirstUse().Owner().Code() == OpJoinMemToken {
		return false
	}
	var tokens []*ir.Value
	seen, changed := map[*ir.Value]bool{}, false
	add := func(v *ir.Value) {
		if seen[v] {
			changed = true
			return
		}
		seen[v] = true
		tokens = append(tokens, v)
	}
	var inner []*ir.Op
	var visit func(v *ir.Value)
	visit = func(v *ir.Value) {
		d := v.DefiningOp()
		switch {
		case d != nil && d.Code() == OpCreateMemToken:
			changed = true
		case d != nil && d.Code() == OpJoinMemToken && v.HasOneUse():
			changed, inner = true, append(inner, d)
			for _, t := range d.Operands() {
				visit(t)
			}
		case d != nil && d.Code() == OpJoinMemToken && d.NumOperands() <= mostShared:
			changed = true
			for _, t := range d.Operands() {
				add(t)
			}
		default:
			add(v)
		}
	}
	for _, v := range op.Operands() {
		visit(v)
	}
	switch {
	case len(tokens) == 0:
		replace(op, newToken(b))
	case !changed:
		return false
	default:
		replace(op, NewJoinMemToken(b, tokens).Result())
	}
	for _, d := range inner {
		d.Erase()
	}
	return true
}

func newToken(b *ir.Builder) *ir.Value { return NewCreateMemToken(b).Result() }

// passToken replaces the result token of an access that goes away by its operand token.
func passToken(b *ir.Builder, op *ir.Op, result *ir.Value) {
	in := TokenOp{op}.Token()
	if in == nil && result.HasUses() {
		in = newToken(b)
	}
	if in != nil {
		result.ReplaceAllUsesWith(in)
	}
}

// unusedLoad: a weak load whose value is not used is dead.
func unusedLoad(b *ir.Builder, op *ir.Op) bool {
	if op.Result(0).HasUses() || (MemoryOp{op}).Order() != def.Weak {
		return false
	}
	passToken(b, op, op.Result(1))
	op.Erase()
	return true
}

// loadOfElements: a load of a tile of which only single elements are extracted, at constant indices, becomes loads of these elements. Since a thread holds only a part of
// the tile, each extract would go through shared memory.
//
//	tiled_load (block_tile %m, indices(%i, 0) {traversal = [1, 8]})       tiled_load (block_tile %m, indices(%i, 2) {traversal = [1, 1]})
//	extract .., indices(0, 2)                                        =>
func loadOfElements(b *ir.Builder, op *ir.Op) bool {
	l := ir.Cast[TiledLoad](op)
	block, ok := BlockOf(op)
	if !ok || l.Order() != def.Weak || AsTile(l.Result()).NumElements() == 1 || AsTile(l.Result()).Layout != nil {
		return false
	}
	var elements []Extract
	for _, u := range l.Result().Uses() {
		e, ok := ir.As[Extract](u.Owner())
		if !ok || !extractsOneElement(block, e) {
			return false
		}
		elements = append(elements, e)
	}
	slices.SortFunc(elements, func(x, y Extract) int { return slices.Compare(extractedAt(x), extractedAt(y)) })
	tokens := []*ir.Value{}
	var one TiledLoad
	for i, e := range elements {
		if i == 0 || !slices.Equal(extractedAt(e), extractedAt(elements[i-1])) {
			one = loadElement(b, l, block, e)
			tokens = append(tokens, one.ResultToken())
		}
		e.Result().ReplaceAllUsesWith(one.Result())
	}
	l.ResultToken().ReplaceAllUsesWith(NewJoinMemToken(b, tokens).Result())
	return true
}

// extractsOneElement reports whether an extract takes one element of a block at a place that is known but for indices that count elements.
func extractsOneElement(block BlockTile, e Extract) bool {
	if _, sparse := block.SparseDim(); sparse || AsTile(e.Result()).NumElements() != 1 {
		return false
	}
	for d, v := range e.Indices() {
		at, known := SplatInt(v)
		if _, moves := elementIndex(block, d, at); !known || at < 0 || at >= AsTile(e.Source()).Shape[d] || !moves {
			return false
		}
	}
	return true
}

// extractedAt is the place of the element that an extract takes at indices that are known.
func extractedAt(e Extract) (at []int64) {
	for _, v := range e.Indices() {
		i, _ := SplatInt(v)
		at = append(at, i)
	}
	return at
}

// elementIndex is where in dimension d of a block's array element at lies, as an index of elements, or -1 for the index of the block itself. It is
// known where the index is, or where the block moves by single elements and its first one is meant.
func elementIndex(block BlockTile, d int, at int64) (index int64, ok bool) {
	step := block.Traversal()[d]
	if i, known := SplatInt(block.Indices()[d]); known && i >= 0 && i <= math.MaxInt32 && step <= math.MaxInt32/2 {
		n := i*step + at
		return n, n <= math.MaxInt32 && ElemBits(AsTile(block.Indices()[d]).Elem) >= 32
	}
	return -1, step == 1 && at == 0
}

// loadElement loads what an extract takes of a load. An element of a block that hangs over the edge may lie outside of the array.
func loadElement(b *ir.Builder, l TiledLoad, block BlockTile, e Extract) TiledLoad {
	var indices []*ir.Value
	ones := slices.Repeat(ir.I64Array{1}, len(block.Indices()))
	anywhere := make(ir.BoolArray, len(ones))
	copy(anywhere, block.Anywhere())
	for d, v := range block.Indices() {
		anywhere[d] = anywhere[d] || AsTile(e.Source()).Shape[d] > 1
		at, _ := SplatInt(e.Indices()[d])
		if n, _ := elementIndex(block, d, at); n >= 0 {
			v = Const(b, AsTile(v), n)
		}
		indices = append(indices, v)
	}
	o := BlockTileOptions{Inbounds: block.Inbounds()}
	if slices.Contains(anywhere, true) {
		o.Anywhere = anywhere
	}
	if p, ok := block.Padding(); ok {
		o.Padding = &p
	}
	t := AsTile(e.Result())
	one := NewBlockTile(b, Block(b.Ctx, t.Elem, t.Shape...), block.Memref(), indices, ones, block.DimMap(), o).Result()
	return NewTiledLoad(b, t, one, TiledLoadOptions{Token: l.Token(), When: l.When()})
}

// constantMask: a mask that is true everywhere is none; an access that is masked everywhere does not happen, if it orders
// no others. (A load without padding then has unspecified values: any constant is one of them.)
func constantMask(b *ir.Builder, op *ir.Op) bool {
	access := PtrAccess{op}
	if access.Mask() == nil {
		return false
	}
	x, ok := SplatValue(access.Mask())
	if !ok || x == 0 && access.Order() != def.Weak && access.Order() != def.Relaxed {
		return false
	}
	if x == 0 {
		if l, ok := ir.As[Load](op); ok {
			value := l.Padding()
			if value == nil {
				t := AsTile(op.Result(0))
				if ir.DenseElementBytes(t.Elem) == 0 {
					return false
				}
				value = NewConstant(b, t, SplatOf(t, 0)).Result()
			}
			op.Result(0).ReplaceAllUsesWith(value)
		}
		passToken(b, op, access.ResultToken())
		op.Erase()
		return true
	}
	access.SetMask(nil)
	if l, ok := ir.As[Load](op); ok {
		l.SetPadding(nil)
	}
	return true
}

// assertTrue: nothing to report.
func assertTrue(_ *ir.Builder, op *ir.Op) bool {
	if x, ok := SplatValue((Assert{op}).Cond()); !ok || x == 0 {
		return false
	}
	op.Erase()
	return true
}

// unusedSlot: an alloca without uses is dead.
func unusedSlot(_ *ir.Builder, op *ir.Op) bool {
	if op.Result(0).HasUses() {
		return false
	}
	op.Erase()
	return true
}

// bitcastOfLoad: a weak load of which only the bits count, as elements of another type, is one of these elements; so copies bring them to where products read them.
//
//	%m = make_memref %p : memref<64x64xi8>           %m = make_memref (ptr_cast %p) : memref<64x64xf8E5M2>
//	%x = tiled_load (block_tile %m)            =>    %x = tiled_load (block_tile %m)
//	bitcast (reshape %x)                             reshape %x
func bitcastOfLoad(b *ir.Builder, op *ir.Op) bool {
	to := AsTile(op.Result(0)).Elem
	var moves []*ir.Op // between the load and the bitcast
	v := op.Operand(0)
	for v.HasOneUse() && v.DefiningOp() != nil && movesElements(v.DefiningOp()) {
		moves = append(moves, v.DefiningOp())
		v = v.DefiningOp().Operand(0)
	}
	t := AsTile(v)
	bits := ir.BitWidth(to)
	if load := v.DefiningOp(); !v.HasOneUse() || load == nil || t.Layout != nil || bits < 8 || bits != ir.BitWidth(t.Elem) || !loadAs(b, load, to) {
		return false
	}
	v.SetType(t.WithElem(b.Ctx, to))
	for _, m := range moves {
		m.Result(0).SetType(AsTile(m.Result(0)).WithElem(b.Ctx, to))
	}
	return replace(op, op.Operand(0))
}

// movesElements reports whether an op changes places of elements of its first operand and nothing else.
func movesElements(op *ir.Op) bool {
	switch op.Code() {
	case OpReshape, OpPermute, OpBroadcast, OpExtract:
		return true
	}
	return false
}

// loadAs makes a weak load bring elements of another type of their width, in which zero has the bits that it has; its result has its type still.
func loadAs(b *ir.Builder, op *ir.Op, to ir.Type) bool {
	if l, ok := ir.As[Load](op); ok && l.Order() == def.Weak {
		b.Before(op)
		l.SetPtr(NewPtrCast(b, AsTile(l.Ptr()).WithElem(b.Ctx, Ptr(b.Ctx, to)), l.Ptr()).Result())
		if p := l.Padding(); p != nil {
			l.SetPadding(NewBitcast(b, AsTile(p).WithElem(b.Ctx, to), p).Result())
		}
		return true
	}
	l, ok := ir.As[TiledLoad](op)
	if !ok || l.Order() != def.Weak || !ZeroFilled(op) {
		return false
	}
	block, _ := BlockOf(op)
	m, ok := ir.DefinedBy[MakeMemref](block.Memref())
	if !ok {
		return false
	}
	t := m.Result().Type().(*MemrefType)
	b.Before(m.Op)
	base := NewPtrCast(b, Tile(b.Ctx, Ptr(b.Ctx, to)), m.Base()).Result()
	array := NewMakeMemref(b, Memref(b.Ctx, to, t.Shape, t.Strides), base, m.Shape(), m.Strides()).Result()
	n := b.Before(op).Clone(block.Op, ir.Mapping{block.Memref(): array}).Result(0)
	n.SetType(Block(b.Ctx, to, block.Result().Type().(*BlockType).Shape...))
	l.SetBlock(n)
	return true
}

// uniformStep: all pointers of a tile that are moved alike are those of an array that begins elsewhere, so that each is computed of one register and what is alike.
// A step that is known stays, since instructions add it.
//
//	%q = offset (splat %p), %x          %q = offset %p, %s
//	offset %q, (splat %s)         =>    offset (splat %q), %x
func uniformStep(b *ir.Builder, op *ir.Op) bool {
	move := Offset{op}
	step, ok := ir.DefinedBy[Splat](move.Offset())
	if !ok {
		return false
	}
	inner, ok := ir.DefinedBy[Offset](move.Ptr())
	if !ok {
		return false
	}
	base, ok := ir.DefinedBy[Splat](inner.Ptr())
	if !ok || AsTile(move.Result()).Layout != nil {
		return false
	}
	t := AsTile(inner.Ptr())
	moved := NewOffset(b, base.Source(), step.Source(), OffsetOptions{}).Result()
	return replace(op, NewOffset(b, NewSplat(b, t, moved).Result(), inner.Offset(), OffsetOptions{}).Result())
}
