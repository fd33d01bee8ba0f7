package tileaa

import (
	"fmt"
	"slices"

	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// This file answers what passes ask of an operation or a value.

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

// AccessedTile is the tile that an access moves.
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

// BlockOf is the block_tile that an access names; ok is false for accesses through pointers and other ops.
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

// IsScaled reports whether an op is a product of which blocks along K have scales.
func IsScaled(op *ir.Op) bool {
	d, ok := ir.As[Dot](op)
	return ok && d.LhsScale() != nil
}

// FactorsOf lists what a product multiplies by: its factors and their scales, if it has some.
func FactorsOf(d Dot) []*ir.Value {
	if d.LhsScale() == nil {
		return []*ir.Value{d.Lhs(), d.Rhs()}
	}
	return []*ir.Value{d.Lhs(), d.Rhs(), d.LhsScale(), d.RhsScale()}
}

// LoadOf finds the load, of a block or through pointers, that brings a value as it lies in memory: what stands between, last first, only names the elements anew, as
// reshape, permute and a conversion between formats of one width do. Nothing else uses what is between.
func LoadOf(v *ir.Value) (load *ir.Op, between []*ir.Op, ok bool) { return loadOf(v, true) }

// FactorLoad is LoadOf where the tile may be the factor of several products beside the load, each under a name of its own, and is nothing else.
func FactorLoad(v *ir.Value) (load *ir.Op, between []*ir.Op, ok bool) {
	if load, between, ok = LoadOf(v); ok {
		return load, between, true
	}
	load, between, ok = LoadBehind(v)
	uses := mostShared
	return load, between, ok && onlyMultiplied(load.Result(0), load.Block(), &uses)
}

// OnlyProductsTake reports whether whatever uses a value is a product.
func OnlyProductsTake(v *ir.Value) bool {
	return !slices.ContainsFunc(v.Uses(), func(u *ir.Use) bool { return !IsProduct(u.Owner()) })
}

// mostShared bounds the uses of a tile that several products share: each of them looks at all.
const mostShared = 256

// onlyMultiplied reports whether products of a block, and of loops in it, multiply by a tile, as it is, named anew or on its way there, and nothing else uses it;
// false if it has more uses than so many.
func onlyMultiplied(v *ir.Value, block *ir.Block, most *int) bool {
	for u := v.FirstUse(); u != nil; u = u.Next() {
		op := u.Owner()
		*most--
		switch {
		case *most < 0, op.AncestorIn(block) == nil:
			return false
		case IsProduct(op) && u.Index() < 2, op.Code() == OpBufferStore:
		case Names(op), op.Code() == OpConvertLayout:
			if !onlyMultiplied(op.Result(0), block, most) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// LoadBehind is LoadOf where others may use the tile, too.
func LoadBehind(v *ir.Value) (load *ir.Op, between []*ir.Op, ok bool) { return loadOf(v, false) }

func loadOf(v *ir.Value, alone bool) (load *ir.Op, between []*ir.Op, ok bool) {
	for v.DefiningOp() != nil && (v.HasOneUse() || !alone) {
		op := v.DefiningOp()
		if op.Code() == OpTiledLoad || op.Code() == OpLoad {
			return op, between, true
		}
		if !Names(op) {
			return nil, nil, false
		}
		between = append(between, op)
		v = op.Operand(0)
	}
	return nil, nil, false
}

// Names reports whether an op only names the elements of a tile anew, as reshape, permute and a conversion between formats of one width do.
func Names(op *ir.Op) bool {
	switch op.Code() {
	case OpReshape, OpPermute:
		return true
	case OpFtof:
		return ElemBits(AsTile(op.Operand(0)).Elem) == ElemBits(AsTile(op.Result(0)).Elem)
	}
	return false
}

// ViewedBuffer is the buffer that a value names, as it is or by views of it.
func ViewedBuffer(v *ir.Value) *ir.Value {
	for view, ok := ir.DefinedBy[BufferView](v); ok; view, ok = ir.DefinedBy[BufferView](v) {
		v = view.Buffer()
	}
	return v
}

// BufferUsers lists the operations that use a buffer, as it is or as a view of it.
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

// MemoryOf is where a buffer lies: the result of its alloc_shared, or the ring of which it is a slot.
func MemoryOf(buffer *ir.Value) *ir.Value {
	buffer = ViewedBuffer(buffer)
	if s, ok := ir.DefinedBy[RingSlot](buffer); ok {
		return s.Ring()
	}
	return buffer
}

// MemoryUsers lists the operations that use what MemoryOf gives, or a slot of it; those that name a slot, too.
func MemoryUsers(memory *ir.Value) (users []*ir.Op) {
	for _, op := range BufferUsers(memory) {
		users = append(users, op)
		if s, ok := ir.As[RingSlot](op); ok {
			users = append(users, BufferUsers(s.Result())...)
		}
	}
	return users
}

// ZeroFilled reports whether what a load does not read may be zero: the program asks for zero, or for nothing in particular.
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

// Below reads a comparison as small < large, or with inclusive small <= large; ok is false for others.
func Below(c Cmpi) (small, large *ir.Value, inclusive, ok bool) {
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

// PlanOf is the plan that plan-kernel wrote on an entry.
func PlanOf(entry *ir.Op) *PlanAttr {
	p := ir.Cast[Entry](entry).Plan()
	if p == nil {
		panic(fmt.Sprintf("BUG: entry %s has no plan", ir.Cast[Entry](entry).SymName()))
	}
	return p
}

// FollowsFromBlock reports whether a scalar is computed from the number of a tile block, as far as it is followed.
func FollowsFromBlock(v *ir.Value) bool {
	left := mostFollowed
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

// mostFollowed bounds the values that one is followed back to.
const mostFollowed = 64

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

// WarpsOf is the number of warps that run an op: those of the role around it, else those of the entry that compute.
func WarpsOf(op *ir.Op) int {
	for op.Code() != OpEntry {
		if r, ok := ir.As[Role](op); ok {
			return int(r.Warps())
		}
		op = op.ParentOp()
	}
	return PlanOf(op).Warps
}

// IsStrong reports whether an access must happen once per element: anything but weak.
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

// HintsOf are the hints of an entry: a dictionary per target, and "default".
func HintsOf(entry *ir.Op) ir.DictAttr { return ir.Cast[Entry](entry).Hints() }
