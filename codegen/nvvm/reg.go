package nvvm

import (
	"math/bits"

	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"
)

// kind is the type of one register. Floats of 16 bits and fewer are integers, and so is tf32 (the top 19 bits of 32).
type kind uint32

const (
	kNone kind = iota // the kind of an absent reg
	kI1
	kI8
	kI16
	kI32
	kI64
	kF32
	kF64
)

var kinds = [...]struct {
	bits int
	llvm types.Type
	name string
}{
	kNone: {0, types.Void, "none"},
	kI1:   {1, types.I1, "b"},
	kI8:   {8, types.I8, "c"},
	kI16:  {16, types.I16, "h"},
	kI32:  {32, types.I32, "r"},
	kI64:  {64, types.I64, "l"},
	kF32:  {32, types.Float, "f"},
	kF64:  {64, types.Double, "d"},
}

func (k kind) bits() int        { return kinds[k].bits }
func (k kind) llvm() types.Type { return kinds[k].llvm }
func (k kind) float() bool      { return k == kF32 || k == kF64 }

// asInt is the integer kind of the same width.
func (k kind) asInt() kind {
	switch k {
	case kF32:
		return kI32
	case kF64:
		return kI64
	}
	return k
}

// intKind is the integer kind of a width.
func intKind(width int) kind {
	switch {
	case width == 1:
		return kI1
	case width <= 8:
		return kI8
	}
	return kI8 + kind(bits.TrailingZeros(uint(width))) - 3
}

// reg is a register of a thread: an LLVM value, or a constant, given as its bits whatever the kind (so that no float constant
// ever passes through decimal text). The zero reg is absent.
type reg struct {
	bits uint64 // of a constant
	id   id
	k    kind
}

// id is an index into a builder's values, 0 for a constant that was not asked for yet.
type id uint32

func (r reg) absent() bool  { return r.k == kNone }
func (r reg) isConst() bool { return r.id == 0 && r.k != kNone }

// is reports whether r is the integer constant n.
func (r reg) is(n uint64) bool { return r.isConst() && r.bits == mask(n, r.k.bits()) }

// sint is the constant's bits read as a signed integer.
func (r reg) sint() int64 { return signed(r.bits, r.k.bits()) }

func mask(x uint64, width int) uint64 {
	if width >= 64 {
		return x
	}
	return x & (1<<width - 1)
}

func signed(x uint64, width int) int64 { return int64(x<<(64-width)) >> (64 - width) }

func con(k kind, bits uint64) reg { return reg{bits: mask(bits, k.bits()), k: k} }
func i32(n int64) reg             { return con(kI32, uint64(n)) }
func i64(n int64) reg             { return con(kI64, uint64(n)) }
func f32(bits uint32) reg         { return con(kF32, uint64(bits)) }
func f64(bits uint64) reg         { return con(kF64, bits) }
func boolean(b bool) reg {
	if b {
		return con(kI1, 1)
	}
	return con(kI1, 0)
}

// value is the LLVM value of r.
func (b *builder) value(r reg) value.Value {
	v := b.values[b.id(r)]
	if v == nil {
		panic("BUG: use of a register that has no value")
	}
	return v
}

// id is the index of r's value. Constants get theirs when they are first asked for; what is absent has 0.
func (b *builder) id(r reg) id {
	if r.id != 0 || r.k == kNone {
		return r.id
	}
	k := key{op: opConstant.to(r.k), a: id(r.bits), b: id(r.bits >> 32)}
	if s, ok := b.computed.find(&k); ok {
		return b.made[s.from].id
	}
	c := b.register(r.k, constantOf(r), nil)
	b.computed.set(&k, span{int32(len(b.made)), 1})
	b.made = append(b.made, c)
	return c.id
}

func constantOf(r reg) value.Value {
	switch r.k {
	case kI1:
		return constant.NewBool(r.bits != 0)
	case kF32, kF64:
		in := r.k.asInt()
		return constant.NewBitCast(constant.NewInt(in.llvm().(*types.IntType), signed(r.bits, in.bits())), r.k.llvm())
	}
	return constant.NewInt(r.k.llvm().(*types.IntType), r.sint())
}
