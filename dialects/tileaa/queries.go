package tileaa

import (
	"fmt"
	"slices"

	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// This file has queries of operations and values that several passes make.

// StoredValue is the tile that an op stores, or combines with memory; nil for loads.
func StoredValue(op *ir.Op) *ir.Value {
	if v, ok := ir.As[ValueOp](op); ok {
		return v.Value()
	}
	if a, ok := ir.As[AtomicRmw](op); ok {
		return a.Arg()
	}
	return nil
}

// AccessedTile is the type of the tile that an access loads or stores.
func AccessedTile(op *ir.Op) *TileType {
	if v := StoredValue(op); v != nil {
		return AsTile(v)
	}
	return AsTile(op.Result(0))
}

// AccessedPlace is the pointer or block operand of an access.
func AccessedPlace(op *ir.Op) *ir.Value {
	if a, ok := ir.As[BlockOp](op); ok {
		return a.Block()
	}
	if a, ok := ir.As[PtrAccess](op); ok {
		return a.Ptr()
	}
	return nil
}

// BlockOf is the block_tile of an access; ok is false for accesses through pointers and other ops.
func BlockOf(op *ir.Op) (b BlockTile, ok bool) {
	a, ok := ir.As[BlockOp](op)
	if !ok {
		return b, false
	}
	return ir.DefinedBy[BlockTile](a.Block())
}

// IsProduct reports whether an op is a matrix product; op may be nil.
func IsProduct(op *ir.Op) bool {
	return op != nil && op.Code() == OpDot
}

// IsScaled reports whether an op is a block-scaled product.
func IsScaled(op *ir.Op) bool {
	d, ok := ir.As[Dot](op)
	return ok && d.LhsScale() != nil
}

// FactorsOf lists the factors of a product, and their scales if it is block-scaled.
func FactorsOf(d Dot) []*ir.Value {
	if d.LhsScale() == nil {
		return []*ir.Value{d.Lhs(), d.Rhs()}
	}
	return []*ir.Value{d.Lhs(), d.Rhs(), d.LhsScale(), d.RhsScale()}
}

// LoadOf finds the load, of a block or through pointers, of which a value is a relabeling: the ops between, last first, only move elements (see IsRelabeling), so the value
// could be read from a copy of the memory. Each of these values, and that of the load, has one use.
func LoadOf(v *ir.Value) (load *ir.Op, between []*ir.Op, ok bool) { return loadOf(v, true) }

// FactorLoad is LoadOf that also accepts a tile with several uses, if all of them are products in the block of the load, each through a relabeling of its own.
func FactorLoad(v *ir.Value) (load *ir.Op, between []*ir.Op, ok bool) {
	if load, between, ok = LoadOf(v); ok {
		return load, between, true
	}
	load, between, ok = LoadBehind(v)
	uses := maxSharedUses
	return load, between, ok && onlyUsedByProducts(load.Result(0), load.Block(), &uses)
}

// OnlyProductsTake reports whether all users of a value are products.
func OnlyProductsTake(v *ir.Value) bool {
	return !slices.ContainsFunc(v.Uses(), func(u *ir.Use) bool { return !IsProduct(u.Owner()) })
}

// maxSharedUses bounds the uses of a tile that several products share, since each product visits all of them.
const maxSharedUses = 256

// onlyUsedByProducts reports whether all transitive users of a tile, through relabelings, conversions and stores to buffers, are products in a block or in loops within it.
// most is decremented for each use; below 0 the answer is false.
func onlyUsedByProducts(v *ir.Value, block *ir.Block, most *int) bool {
	for u := v.FirstUse(); u != nil; u = u.Next() {
		op := u.Owner()
		*most--
		switch {
		case *most < 0, op.AncestorIn(block) == nil:
			return false
		case IsProduct(op) && u.Index() < 2, op.Code() == OpBufferStore:
		case IsRelabeling(op), op.Code() == OpConvertLayout:
			if !onlyUsedByProducts(op.Result(0), block, most) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// LoadBehind is LoadOf without the condition that each value has one use.
func LoadBehind(v *ir.Value) (load *ir.Op, between []*ir.Op, ok bool) { return loadOf(v, false) }

func loadOf(v *ir.Value, alone bool) (load *ir.Op, between []*ir.Op, ok bool) {
	for v.DefiningOp() != nil && (v.HasOneUse() || !alone) {
		op := v.DefiningOp()
		if op.Code() == OpTiledLoad || op.Code() == OpLoad {
			return op, between, true
		}
		if !IsRelabeling(op) {
			return nil, nil, false
		}
		between = append(between, op)
		v = op.Operand(0)
	}
	return nil, nil, false
}

// IsRelabeling reports whether an op only relabels the elements of a tile: a reshape, a permute, or a conversion between formats of one width.
func IsRelabeling(op *ir.Op) bool {
	switch op.Code() {
	case OpReshape, OpPermute:
		return true
	case OpFtof:
		return ElemBits(AsTile(op.Operand(0)).Elem) == ElemBits(AsTile(op.Result(0)).Elem)
	}
	return false
}

// ViewedBuffer is the buffer of which a value is a view, or the value itself.
func ViewedBuffer(v *ir.Value) *ir.Value {
	for view, ok := ir.DefinedBy[BufferView](v); ok; view, ok = ir.DefinedBy[BufferView](v) {
		v = view.Buffer()
	}
	return v
}

// BufferUsers lists the operations that use a buffer or a view of it.
func BufferUsers(buffer *ir.Value) (users []*ir.Op) {
	for u := buffer.FirstUse(); u != nil; u = u.Next() {
		if v, ok := ir.As[BufferView](u.Owner()); ok {
			users = append(users, BufferUsers(v.Result())...)
		} else {
			users = append(users, u.Owner())
		}
	}
	return users
}

// MemoryOf is the allocation of a buffer: the result of its alloc_shared, or the ring of which it is a slot.
func MemoryOf(buffer *ir.Value) *ir.Value {
	buffer = ViewedBuffer(buffer)
	if s, ok := ir.DefinedBy[RingSlot](buffer); ok {
		return s.Ring()
	}
	return buffer
}

// MemoryUsers lists the operations that use an allocation (see MemoryOf) or a slot of it, the ring_slot ops included.
func MemoryUsers(memory *ir.Value) (users []*ir.Op) {
	for _, op := range BufferUsers(memory) {
		users = append(users, op)
		if s, ok := ir.As[RingSlot](op); ok {
			users = append(users, BufferUsers(s.Result())...)
		}
	}
	return users
}

// ZeroFilled reports whether elements that a load masks out may be zero: its padding is zero or unspecified.
func ZeroFilled(load *ir.Op) bool {
	if l, ok := ir.As[Load](load); ok {
		return l.Padding() == nil || IsZero(l.Padding())
	}
	block, ok := BlockOf(load)
	p, padded := block.Padding()
	return ok && (!padded || p == def.PadZero)
}

// SizeOf is extent or stride a of an array: a value, or a number if it is nil. sizes and operands are those of a memref's type and of its
// make_memref.
func SizeOf(sizes []int64, operands []*ir.Value, a int) (v *ir.Value, n int64) {
	if sizes[a] != Dynamic {
		return nil, sizes[a]
	}
	at := 0
	for _, s := range sizes[:a] {
		if s == Dynamic {
			at++
		}
	}
	return operands[at], 0
}

// AsLess normalizes a comparison to small < large, or with inclusive to small <= large; ok is false for equality.
func AsLess(c Cmpi) (small, large *ir.Value, inclusive, ok bool) {
	switch c.Predicate() {
	case def.PredLess, def.PredLessEqual:
		return c.Lhs(), c.Rhs(), c.Predicate() == def.PredLessEqual, true
	case def.PredGreater, def.PredGreaterEqual:
		return c.Rhs(), c.Lhs(), c.Predicate() == def.PredGreaterEqual, true
	}
	return nil, nil, false, false
}

// IsToken reports whether a value is a memory token.
func IsToken(v *ir.Value) bool { _, ok := v.Type().(*TokenType); return ok }

// IsRanked reports whether a value is a tile of rank 1 or more.
func IsRanked(v *ir.Value) bool {
	t := AsTile(v)
	return t != nil && len(t.Shape) > 0
}

// IsSingle reports whether a value is a scalar, which all threads hold, or a token.
func IsSingle(v *ir.Value) bool {
	t := AsTile(v)
	return t != nil && len(t.Shape) == 0 || IsToken(v)
}

// ShapeOf is the shape of a tile or block of rank 1 or more; nil for everything else.
func ShapeOf(v *ir.Value) []int64 {
	switch t := v.Type().(type) {
	case *TileType:
		if len(t.Shape) > 0 {
			return t.Shape
		}
	case *BlockType:
		return t.Shape
	}
	return nil
}

// LayoutOf is the layout of a tile; nil before there is one, and for other values.
func LayoutOf(v *ir.Value) *layout.Layout {
	if t := AsTile(v); t != nil {
		return t.Layout
	}
	return nil
}

// OwnerOf is the role or the entry whose warps compute an op.
func OwnerOf(op *ir.Op) *ir.Op {
	for op.Code() != OpRole && op.Code() != OpEntry {
		op = op.ParentOp()
	}
	return op
}

// PlanOf is the plan that plan-kernel wrote on an entry.
func PlanOf(entry *ir.Op) *PlanAttr {
	p := ir.Cast[Entry](entry).Plan()
	if p == nil {
		panic(fmt.Sprintf("BUG: entry %s has no plan", ir.Cast[Entry](entry).SymName()))
	}
	return p
}

// DependsOnProgramID reports whether a scalar is computed from a program_id. It follows at most maxFollowed operands, and no loops and branches.
func DependsOnProgramID(v *ir.Value) bool {
	left := maxFollowed
	var follows func(v *ir.Value) bool
	follows = func(v *ir.Value) bool {
		op := v.DefiningOp()
		if left--; left < 0 || op == nil || op.NumRegions() > 0 {
			return false
		}
		return op.Code() == OpProgramId || slices.ContainsFunc(op.Operands(), follows)
	}
	return follows(v)
}

// maxFollowed bounds the search of DependsOnProgramID.
const maxFollowed = 64

// RoleOf is the role that an op is in, nil if it is in none.
func RoleOf(op *ir.Op) *ir.Op {
	for ; op != nil; op = op.ParentOp() {
		if op.Code() == OpRole {
			return op
		}
	}
	return nil
}

// EntryOf is the entry around an op.
func EntryOf(op *ir.Op) *ir.Op {
	for op.Code() != OpEntry {
		op = op.ParentOp()
	}
	return op
}

// WarpsOf is the number of warps that run an op: those of the role around it, else the compute warps of the entry.
func WarpsOf(op *ir.Op) int {
	for op.Code() != OpEntry {
		if r, ok := ir.As[Role](op); ok {
			return int(r.Warps())
		}
		op = op.ParentOp()
	}
	return PlanOf(op).Warps
}

// RunningWarps is the number of warps that run what an entry or a role does: an entry's own ops are run by all warps of the block, also by those that begin
// copies in a role of their own later.
func RunningWarps(op *ir.Op) int {
	if op.Code() == OpEntry {
		return PlanOf(op).Threads() / layout.WarpSize
	}
	return WarpsOf(op)
}

// IsStrong reports whether an access is strong in the memory model, so that it must happen exactly once per element: anything but weak.
func IsStrong(op *ir.Op) bool {
	m, ok := ir.As[MemoryOp](op)
	return ok && m.Order() != def.Weak
}

// TokenBefore is the token after which an op comes, or nil.
func TokenBefore(op *ir.Op) *ir.Value {
	if t, ok := ir.As[TokenOp](op); ok {
		return t.Token()
	}
	return nil
}

// JoinTokens is a token that comes after all of some: nil after none.
func JoinTokens(b *ir.Builder, tokens []*ir.Value) *ir.Value {
	switch len(tokens) {
	case 0:
		return nil
	case 1:
		return tokens[0]
	}
	return NewJoinMemToken(b, tokens).Result()
}

// DimOf is the dimension along which a reduce, a scan or a cat works.
func DimOf(op *ir.Op) int { return int(ir.Cast[DimOp](op).Dim()) }

// PermutationOf is the permutation of a permute.
func PermutationOf(op *ir.Op) []int {
	p := ir.Cast[Permute](op).Permutation()
	out := make([]int, len(p))
	for i, d := range p {
		out[i] = int(d)
	}
	return out
}

// Permuted has element p[i] of a list for element i, as a permute has dimensions; no list stays none.
func Permuted[S ~[]E, E any, I int | int32](list S, p []I) S {
	if list == nil {
		return nil
	}
	to := make(S, len(p))
	for i, k := range p {
		to[i] = list[k]
	}
	return to
}

// Options are what a block has beside its array, indices and steps, for another that is made of it.
func (o BlockTile) Options() BlockTileOptions {
	opts := BlockTileOptions{Inbounds: o.Inbounds(), Anywhere: o.Anywhere(), Mapless: o.Mapless()}
	if p, ok := o.Padding(); ok {
		opts.Padding = &p
	}
	if s, ok := o.SparseDim(); ok {
		opts.SparseDim = &s
	}
	return opts
}

// HintsOf are the hints of an entry: a dictionary per target, and "default".
func HintsOf(entry *ir.Op) ir.DictAttr { return ir.Cast[Entry](entry).Hints() }
