package nvvm

import (
	"github.com/llir/llvm/ir/enum"

	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

const (
	eq  = enum.IPredEQ
	ne  = enum.IPredNE
	slt = enum.IPredSLT
	sge = enum.IPredSGE
	ult = enum.IPredULT
	ugt = enum.IPredUGT
)

func init() {
	register(ir.Table[lowering]{
		tileaa.OpAddi & ir.Place:   bytewise((*fn).addBytes, addTiles),
		tileaa.OpSubi & ir.Place:   bytewise((*fn).subBytes, intBinary(func(f *fn, op *ir.Op, x, y reg) reg { return f.sub(x, y) })),
		tileaa.OpMuli & ir.Place:   intBinary(multiplyInts),
		tileaa.OpAndi & ir.Place:   bitwise(opAnd),
		tileaa.OpOri & ir.Place:    bitwise(opOr),
		tileaa.OpXori & ir.Place:   bitwise(opXor),
		tileaa.OpMulhii & ir.Place: intBinary(func(f *fn, op *ir.Op, x, y reg) reg { return f.mulHigh(x, y) }),
		tileaa.OpDivi & ir.Place:   intBinary(divide),
		tileaa.OpRemi & ir.Place:   intBinary(remainder),
		tileaa.OpMaxi & ir.Place:   intBinary(func(f *fn, op *ir.Op, x, y reg) reg { return f.minmax(x, y, isSigned(op), true) }),
		tileaa.OpMini & ir.Place:   intBinary(func(f *fn, op *ir.Op, x, y reg) reg { return f.minmax(x, y, isSigned(op), false) }),
		tileaa.OpShli & ir.Place:   byteShift("shl", intBinary(func(f *fn, op *ir.Op, x, y reg) reg { return f.shift("shl", x, y, false) })),
		tileaa.OpShri & ir.Place:   byteShift("shr", intBinary(func(f *fn, op *ir.Op, x, y reg) reg { return f.shift("shr", x, y, isSigned(op)) })),
		tileaa.OpCmpi & ir.Place:   intBinary(compareInts),
		tileaa.OpNegi & ir.Place:   intUnary(func(f *fn, x reg) reg { return f.neg(x) }),
		tileaa.OpAbsi & ir.Place: intUnary(func(f *fn, x reg) reg {
			if x.k == kI1 {
				return x // -1 read as unsigned is 1
			}
			return f.sel(f.icmp(slt, x, con(x.k, 0)), f.neg(x), x)
		}),
		tileaa.OpSelect & ir.Place: selectTiles,
	})
}

// addTiles adds constants last where registers then share what is added before: the coordinates of columns that a loop counts through are one register and
// constants, not one for each column all the time. So do element numbers of pointers.
//
//	%c = iota + %splat        c0 = lane; c1 = lane + 1; c2 = lane + 8
//	                    =>    s = lane + x; s; s + 1; s + 8
func addTiles(f *fn, op *ir.Op) {
	x, y := f.lhsRhs(op)
	exact := ir.Cast[tileaa.Addi](op).Overflow()&def.NoUnsignedWrap != 0
	apart := f.elementNumbers[op] || !exact && f.shareBases(x, y) && !(onlyCompared(op.Result(0)) && f.shortOfRegisters(ir.EnclosingLoop(op)))
	f.set(op, f.each(elemOf(op.Result(0)), func(x []reg) (r reg) {
		switch {
		case exact && !apart:
			return f.addExact(x[0], x[1])
		case apart:
			r = f.addApart(x[0], x[1])
		default:
			r = f.add(x[0], x[1])
		}
		if !exact {
			f.mayWrap(r)
		}
		return r
	}, x, y))
}

// shortOfRegisters reports whether a loop is short of registers: operands of its products pass through them. ptxas rematerialises constants
// that were added first wherever it wants.
func (f *fn) shortOfRegisters(loop *ir.Op) bool {
	if loop == nil {
		return false
	}
	short, known := f.shortLoops[loop]
	if !known {
		multiplies, copies := false, false
		ir.Walk(loop, ir.PreOrder, func(op *ir.Op) {
			f.budget.Step()
			multiplies, copies = multiplies || tileaa.IsProduct(op), copies || op.Code() == tileaa.OpAsyncCopy
		})
		short = multiplies && !copies
		f.shortLoops[loop] = short
	}
	return short
}

// onlyCompared reports whether a value is compared, as it is or as copies of it, and nothing else.
func onlyCompared(v *ir.Value) bool {
	for _, u := range v.Uses() {
		switch user := u.Owner(); user.Code() {
		case tileaa.OpCmpi:
		case tileaa.OpBroadcast, tileaa.OpReshape, tileaa.OpPermute:
			if !onlyCompared(user.Result(0)) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// shareBases reports whether most registers of a sum of tiles are the one before and a constant.
func (f *fn) shareBases(x, y *tile) bool {
	n := max(x.len(), y.len())
	bases := func(r int) (both [2]reg) {
		for i, t := range []*tile{x, y} {
			both[i] = f.reg(t, r%t.len())
			if base, _, ok := f.splitAdd(both[i]); ok {
				both[i] = base
			}
		}
		return both
	}
	last, others := bases(0), 1
	for r := 1; r < n; r++ {
		if next := bases(r); next != last {
			last = next
			others++
		}
	}
	return 2*others <= n
}

func multiplyInts(f *fn, op *ir.Op, x, y reg) reg {
	if f.elementNumbers[op] {
		return f.multiplyApart(x, y)
	}
	return f.mul(x, y)
}

func isSigned(op *ir.Op) bool { return ir.Cast[tileaa.SignedOp](op).Signedness() == def.Signed }

func intBinary(l func(f *fn, op *ir.Op, x, y reg) reg) lowering {
	return func(f *fn, op *ir.Op) {
		f.set(op, f.each(elemOf(op.Result(0)), func(x []reg) reg { return l(f, op, x[0], x[1]) }, f.operandTiles(op)...))
	}
}

func intUnary(l func(f *fn, x reg) reg) lowering {
	return func(f *fn, op *ir.Op) {
		f.set(op, f.each(elemOf(op.Result(0)), func(x []reg) reg { return l(f, x[0]) }, f.source(op)))
	}
}

// bitwise operations work on packed words as well.
func bitwise(o binop) lowering {
	return func(f *fn, op *ir.Op) {
		x, y := f.lhsRhs(op)
		elem := elemOf(op.Result(0))
		apply := func(r []reg) reg { return f.bin(o, r[0], r[1]) }
		if x.packed() && (y.packed() || y.constant()) {
			f.set(op, f.eachWord(elem, apply, x, y))
			return
		}
		f.set(op, f.each(elem, apply, x, y))
	}
}

// mulHigh is the high half of the unsigned product.
func (f *fn) mulHigh(x, y reg) reg {
	switch x.k {
	case kI1:
		return con(kI1, 0)
	case kI8:
		return f.trunc(f.lshr(f.mul(f.zext(x, kI16), f.zext(y, kI16)), 8), kI8)
	case kI16:
		return f.op1("mul.hi.u16", x, y)
	case kI32:
		return f.op1("mul.hi.u32", x, y)
	}
	return f.op1("mul.hi.u64", x, y)
}

// wide does op on 8-bit (and 1-bit) integers in 16 bits, for which PTX has instructions.
func (f *fn) wide(op binop, x, y reg, isSigned bool) reg {
	if x.k != kI8 && x.k != kI1 {
		return f.bin(op, x, y)
	}
	return f.trunc(f.bin(op, f.resize(x, kI16, isSigned), f.resize(y, kI16, isSigned)), x.k)
}

func divide(f *fn, op *ir.Op, x, y reg) reg {
	if x.k == kI1 {
		return x // the divisor is not 0
	}
	if !isSigned(op) {
		q := f.wide(opUDiv, x, y, false)
		if ir.Cast[tileaa.Divi](op).Rounding() == def.RoundPosInf {
			r := f.sub(x, f.mul(q, y))
			return f.add(q, f.zext(f.icmp(ne, r, con(x.k, 0)), x.k))
		}
		return q
	}
	q := f.wide(opSDiv, x, y, true)
	mode := ir.Cast[tileaa.Divi](op).Rounding()
	if mode == def.RoundZero {
		return q
	}
	// The truncated quotient is off by one when there is a remainder and the true quotient has the sign that the mode rounds away.
	r := f.sub(x, f.mul(q, y))
	inexact := f.icmp(ne, r, con(x.k, 0))
	opposite := f.icmp(slt, f.xor(x, y), con(x.k, 0))
	if mode == def.RoundNegInf {
		return f.sub(q, f.zext(f.and(inexact, opposite), x.k))
	}
	return f.add(q, f.zext(f.and(inexact, f.not(opposite)), x.k))
}

func remainder(f *fn, op *ir.Op, x, y reg) reg {
	switch {
	case x.k == kI1:
		return con(kI1, 0)
	case isSigned(op):
		return f.wide(opSRem, x, y, true)
	}
	return f.wide(opURem, x, y, false)
}

// minmax is the smaller or larger integer.
func (f *fn) minmax(x, y reg, isSigned, larger bool) reg {
	name, sign := "min", "u"
	if larger {
		name = "max"
	}
	if isSigned {
		sign = "s"
	}
	switch x.k {
	case kI1:
		// Signed true is -1, so the roles of and and or are exchanged.
		if larger != isSigned {
			return f.or(x, y)
		}
		return f.and(x, y)
	case kI8, kI16:
		return f.minmaxNarrow(name+"."+sign, x, y, isSigned, larger)
	}
	return f.op1(name+"."+sign+map[kind]string{kI32: "32", kI64: "64"}[x.k], x, y)
}

// shift shifts by an unsigned amount; PTX shifts clamp it at the width, as Tile IR wants it.
func (f *fn) shift(dir string, x, n reg, isSigned bool) reg {
	if x.k == kI1 {
		if dir == "shr" && isSigned {
			return x
		}
		return f.and(x, f.not(n))
	}
	width := uint64(x.k.bits())
	if n.isConst() {
		switch {
		case n.bits < width && dir == "shl":
			return f.shl(x, int(n.bits))
		case n.bits < width && isSigned:
			return f.ashr(x, int(n.bits))
		case n.bits < width:
			return f.lshr(x, int(n.bits))
		case isSigned:
			return f.ashr(x, int(width)-1)
		}
		return con(x.k, 0)
	}
	amount := n
	switch n.k {
	case kI64:
		// Amounts of 2^32 and more must not wrap to small ones.
		amount = f.trunc(f.minmax(n, con(kI64, 64), false, false), kI32)
	default:
		amount = f.zext(n, kI32)
	}
	letter := "b"
	if dir == "shr" {
		letter = "u"
		if isSigned {
			letter = "s"
		}
	}
	switch x.k {
	case kI8:
		return f.trunc(f.op1(dir+"."+letter+"32", f.resize(x, kI32, isSigned), amount), kI8)
	case kI16:
		return f.op1(dir+"."+letter+"16", x, amount)
	case kI32:
		return f.op1(dir+"."+letter+"32", x, amount)
	}
	return f.op1(dir+"."+letter+"64", x, amount)
}

var intPredicates = map[def.Predicate][2]enum.IPred{ // unsigned, signed
	def.PredEqual:        {enum.IPredEQ, enum.IPredEQ},
	def.PredNotEqual:     {enum.IPredNE, enum.IPredNE},
	def.PredLess:         {enum.IPredULT, enum.IPredSLT},
	def.PredLessEqual:    {enum.IPredULE, enum.IPredSLE},
	def.PredGreater:      {enum.IPredUGT, enum.IPredSGT},
	def.PredGreaterEqual: {enum.IPredUGE, enum.IPredSGE},
}

func compareInts(f *fn, op *ir.Op, x, y reg) reg {
	c := ir.Cast[tileaa.Cmpi](op)
	p := intPredicates[c.Predicate()][c.Signedness()]
	if x.k == kI8 || x.k == kI16 {
		if r, ok := f.compareNarrow(p, x, y, isSigned(op)); ok {
			return r
		}
	}
	if x.k == kI8 {
		if r, ok := f.compareByte(p, x, y); ok {
			return r
		}
		return f.icmp(p, f.resize(x, kI16, isSigned(op)), f.resize(y, kI16, isSigned(op)))
	}
	return f.icmp(p, x, y)
}

func selectTiles(f *fn, op *ir.Op) {
	s := ir.Cast[tileaa.Select](op)
	c, x, y := f.tileFor(s.Cond()), f.tileFor(s.TrueValue()), f.tileFor(s.FalseValue())
	elem := elemOf(op.Result(0))
	if c.len() == 1 && x.packed() && y.packed() {
		cond := f.reg(c, 0)
		f.set(op, f.eachWord(elem, func(r []reg) reg { return f.sel(cond, r[0], r[1]) }, x, y))
		return
	}
	f.set(op, f.each(elem, func(r []reg) reg { return f.sel(r[0], r[1], r[2]) }, c, x, y))
}
