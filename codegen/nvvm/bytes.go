package nvvm

import (
	"slices"

	"github.com/llir/llvm/ir/enum"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// This file computes with the four bytes of a register at a time (Warren, "Hacker's Delight", 2-18), where the other operand is such a register, too, or
// constant: one by one they would be taken apart, and put together again.

// bytes is the same byte four times.
func bytes(b uint64) reg { return con(kI32, b&0xFF*0x01010101) }

// inBytes reports whether an operation of tiles of i8 has its operands in words of four.
func inBytes(x, y *tile) bool {
	return x.k == kI8 && widthOf(x.elem) == 8 && x.packed() && (y.packed() || y.constant())
}

// bytewise lowers an operation on packed bytes as one of words, all else as otherwise says.
func bytewise(word func(f *fn, x, y reg) reg, otherwise lowering) lowering {
	return func(f *fn, op *ir.Op) {
		x, y := f.lhsRhs(op)
		if !inBytes(x, y) {
			otherwise(f, op)
			return
		}
		f.set(op, f.eachWord(elemOf(op.Result(0)), func(r []reg) reg { return word(f, r[0], r[1]) }, x, y))
	}
}

// constant reports whether a tile has constants only.
func (t *tile) constant() bool {
	for _, r := range t.regs {
		if !r.isConst() {
			return false
		}
	}
	return len(t.regs) > 0
}

// compareByte compares a byte with a constant, not as signed numbers, where it stands in a word: whether bits of a word are 0 is one instruction to ptxas, a byte
// by itself is two more.
func (f *fn) compareByte(p enum.IPred, x, c reg) (r reg, ok bool) {
	s, ok := f.wholes[x.id]
	at := slices.IndexFunc(s.parts, func(part reg) bool { return part.id == x.id })
	if !ok || at < 0 || 8*len(s.parts) != s.word.k.bits() || !c.isConst() || !slices.Contains(unsignedPredicates, p) {
		return reg{}, false
	}
	return f.icmp(p, f.and(f.zext(s.word, kI32), con(kI32, 0xFF<<(8*at))), con(kI32, c.bits&0xFF<<(8*at))), true
}

var unsignedPredicates = []enum.IPred{enum.IPredEQ, enum.IPredNE, enum.IPredULT, enum.IPredULE, enum.IPredUGT, enum.IPredUGE}

// addBytes adds seven bits of each byte, which carry into the eighth, and the eighth without a carry.
func (f *fn) addBytes(x, y reg) reg {
	low := f.add(f.and(x, bytes(0x7F)), f.and(y, bytes(0x7F)))
	return f.xor(low, f.and(f.xor(x, y), bytes(0x80)))
}

// subBytes subtracts seven bits of each byte from as many and the eighth, from which they may borrow.
func (f *fn) subBytes(x, y reg) reg {
	low := f.sub(f.or(x, bytes(0x80)), f.and(y, bytes(0x7F)))
	return f.xor(low, f.and(f.xor(f.xor(x, y), bytes(0x80)), bytes(0x80)))
}

// shiftBytes shifts each byte by n bits; what comes from its neighbour is taken away.
func (f *fn) shiftBytes(dir string, x reg, n uint64, sign bool) reg {
	switch {
	case n > 7 && sign:
		n = 7
	case n > 7:
		return con(kI32, 0)
	case n == 0:
		return x
	}
	if dir == "shl" {
		return f.and(f.shl(x, int(n)), bytes(0xFF<<n))
	}
	stay := bytes(0xFF >> n)
	shifted := f.and(f.lshr(x, int(n)), stay)
	if !sign {
		return shifted
	}
	// The first bit of each byte in all of its bits (PTX ISA, prmt: 8 in a selector replicates the sign).
	signs := f.op1("prmt.b32", x, i32(0), i32(0xBA98))
	return f.or(shifted, f.and(signs, f.not(stay)))
}

// byteShift lowers a shift of packed bytes by one constant as one of words, all else as otherwise says.
func byteShift(dir string, otherwise lowering) lowering {
	return func(f *fn, op *ir.Op) {
		x, y := f.lhsRhs(op)
		n, constant := tileaa.SplatValue(op.Operand(1))
		if !constant || !inBytes(x, y) {
			otherwise(f, op)
			return
		}
		sign := dir == "shr" && isSigned(op)
		f.set(op, f.eachWord(elemOf(op.Result(0)), func(r []reg) reg { return f.shiftBytes(dir, r[0], n, sign) }, x))
	}
}

// maxMaskDepth bounds the operations that are looked through for a mask: those of two operands may share all of theirs.
const maxMaskDepth = 6

// firstBitClear reports whether the first bit of every byte of a tile of i8 is 0 because of how it is made, by so many operations one after the other.
func firstBitClear(v *ir.Value, left int) bool {
	if bits, ok := tileaa.SplatValue(v); ok {
		return bits&0x80 == 0
	}
	op := v.DefiningOp()
	if op == nil || left == 0 {
		return false
	}
	switch op.Code() {
	case tileaa.OpAndi:
		return firstBitClear(op.Operand(0), left-1) || firstBitClear(op.Operand(1), left-1)
	case tileaa.OpShri:
		n, ok := tileaa.SplatValue(op.Operand(1))
		return ok && n > 0 && !isSigned(op)
	case tileaa.OpBroadcast, tileaa.OpReshape, tileaa.OpPermute:
		return firstBitClear(op.Operand(0), left-1)
	}
	return false
}

// shiftedBy takes a tile of i8 that becomes floats apart into bytes whose first bit is 0 and a constant that is added to them, in such a way that
// the sum is in the range of the bytes, signed or not.
func shiftedBy(v *ir.Value, sign bool) (base *ir.Value, by int, ok bool) {
	if a, is := ir.DefinedBy[tileaa.Addi](v); is {
		if c, splat := tileaa.SplatValue(a.Rhs()); splat && firstBitClear(a.Lhs(), maxMaskDepth) {
			switch by := int(int8(c)); {
			case sign && by <= 0:
				return a.Lhs(), by, true
			case !sign && c&0xFF <= 0x80:
				return a.Lhs(), int(c & 0xFF), true
			}
		}
	}
	return v, 0, firstBitClear(v, maxMaskDepth)
}
