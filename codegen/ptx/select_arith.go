package ptx

import (
	"fmt"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"tileiras/codegen/ptxop"
)

// extended returns an integer operand extended to the size of its register: the
// upper half of an i8's register is undefined, so it is sign or zero extended
// before an instruction reads it.
func (s *selector) extended(o operand, bits int, sign byte) operand {
	switch {
	case o.kind == kindConst && sign == 'u' && bits < 64:
		return ofBits(o.bits & (1<<bits - 1))
	case bits != 8 || o.kind == kindConst:
		return o
	}
	r := ofReg(s.f.newReg(ptxop.B16))
	if sign == 's' {
		s.emit(s.name("cvt.s16.s8"), r, o)
	} else {
		s.emit(s.name("cvt.u16.u8"), r, o)
	}
	return r
}

// binary selects an integer operation. sign is the letter of the PTX type:
// 's', 'u' or 'b'.
func (s *selector) binary(v value.Value, x, y value.Value, op nativeOp, sign byte) error {
	t, bits, err := typeOf(v.Type())
	if err != nil {
		return err
	}
	a, b, err := s.uses(x, y)
	if err != nil {
		return err
	}
	if t == ptxop.Pred {
		return s.logic(v, a, b, op)
	}
	switch op {
	case opAdd, opMul, opAnd, opOr, opXor:
		if a.kind == kindConst {
			a, b = b, a // PTX wants the constant last
		}
	case opDiv, opRem:
		a, b = s.extended(a, bits, sign), s.extended(b, bits, sign)
	case opShl, opShr:
		if op == opShr {
			a = s.extended(a, bits, sign)
		}
		b = s.shiftAmount(b, bits)
	}
	s.emit(s.get(op, sized(sign, max(bits, 16))), s.define(t), a, b)
	return nil
}

// shiftAmount converts a shift amount to the 32 bits that PTX wants.
func (s *selector) shiftAmount(o operand, bits int) operand {
	o = s.extended(o, bits, 'u')
	if o.kind == kindConst || bits == 32 {
		return o
	}
	r := ofReg(s.f.newReg(ptxop.B32))
	if bits == 64 {
		s.emit(s.name("cvt.u32.u64"), r, o)
	} else {
		s.emit(s.name("cvt.u32.u16"), r, o)
	}
	return r
}

// logic selects integer arithmetic on i1, which is logic on predicates.
func (s *selector) logic(v value.Value, a, b operand, op nativeOp) error {
	switch op {
	case opAdd, opSub:
		op = opXor
	case opMul:
		op = opAnd
	case opAnd, opOr, opXor:
	default:
		return fmt.Errorf("not supported: %s", v.String())
	}
	if a.kind == kindConst {
		a, b = b, a
	}
	if op == opXor && b.kind == kindConst && b.bits != 0 {
		s.emit(s.get(opNot, tPred), s.define(ptxop.Pred), a)
		return nil
	}
	s.emit(s.get(op, tPred), s.define(ptxop.Pred), a, b)
	return nil
}

// floating selects an operation on floats in the default rounding; y may be nil.
func (s *selector) floating(v value.Value, x, y value.Value, op nativeOp) error {
	t, _, err := typeOf(v.Type())
	if err != nil {
		return err
	}
	if t != ptxop.F32 && t != ptxop.F64 {
		return fmt.Errorf("not supported: a float operation on %s", v.Type())
	}
	a, err := s.use(x)
	if err != nil {
		return err
	}
	row := s.get(op, moveType(t))
	if y == nil {
		s.emit(row, s.define(t), a)
		return nil
	}
	b, err := s.use(y)
	if err != nil {
		return err
	}
	s.emit(row, s.define(t), a, b)
	return nil
}

// icmpTests: the PTX comparison of an LLVM predicate, the letter of its type.
var icmpTests = [...]struct {
	stem string
	sign byte
}{
	enum.IPredEQ: {"setp.eq.", 's'}, enum.IPredNE: {"setp.ne.", 's'},
	enum.IPredSLT: {"setp.lt.", 's'}, enum.IPredSLE: {"setp.le.", 's'}, enum.IPredSGT: {"setp.gt.", 's'}, enum.IPredSGE: {"setp.ge.", 's'},
	enum.IPredULT: {"setp.lt.", 'u'}, enum.IPredULE: {"setp.le.", 'u'}, enum.IPredUGT: {"setp.gt.", 'u'}, enum.IPredUGE: {"setp.ge.", 'u'},
}

func (s *selector) icmp(i *ir.InstICmp) error {
	t, bits, err := typeOf(i.X.Type())
	if err != nil {
		return err
	}
	a, b, err := s.uses(i.X, i.Y)
	if err != nil {
		return err
	}
	test := icmpTests[i.Pred]
	if t == ptxop.Pred {
		switch i.Pred {
		case enum.IPredNE:
			return s.logic(i, a, b, opXor)
		case enum.IPredEQ:
			r := ofReg(s.f.newReg(ptxop.Pred))
			s.emit(s.get(opXor, tPred), r, a, b)
			s.emit(s.get(opNot, tPred), s.define(ptxop.Pred), r)
			return nil
		}
		return unsupported(i)
	}
	a, b = s.extended(a, bits, test.sign), s.extended(b, bits, test.sign)
	row := s.test(test.stem, sized(test.sign, max(bits, 16)))
	s.emit(row, s.define(ptxop.Pred), a, b)
	return nil
}

// fcmpTests: PTX names of LLVM's float predicates; the ordered ones are false
// and the unordered ones true when an operand is NaN.
var fcmpTests = [...]string{
	enum.FPredOEQ: "setp.eq.", enum.FPredONE: "setp.ne.", enum.FPredOLT: "setp.lt.", enum.FPredOLE: "setp.le.", enum.FPredOGT: "setp.gt.", enum.FPredOGE: "setp.ge.",
	enum.FPredUEQ: "setp.equ.", enum.FPredUNE: "setp.neu.", enum.FPredULT: "setp.ltu.", enum.FPredULE: "setp.leu.", enum.FPredUGT: "setp.gtu.", enum.FPredUGE: "setp.geu.",
	enum.FPredORD: "setp.num.", enum.FPredUNO: "setp.nan.",
}

func (s *selector) fcmp(i *ir.InstFCmp) error {
	t, _, err := typeOf(i.X.Type())
	if err != nil {
		return err
	}
	a, b, err := s.uses(i.X, i.Y)
	if err != nil {
		return err
	}
	test := fcmpTests[i.Pred]
	if test == "" || t != ptxop.F32 && t != ptxop.F64 {
		return unsupported(i)
	}
	s.emit(s.test(test, moveType(t)), s.define(ptxop.Pred), a, b)
	return nil
}

func (s *selector) selectValue(i *ir.InstSelect) error {
	t, _, err := typeOf(i.ValueTrue.Type())
	if err != nil {
		return err
	}
	c, err := s.use(i.Cond)
	if err != nil {
		return err
	}
	a, b, err := s.uses(i.ValueTrue, i.ValueFalse)
	if err != nil {
		return err
	}
	if t != ptxop.Pred {
		s.emit(s.get(opSelp, moveType(t)), s.define(t), a, b, c)
		return nil
	}
	// PTX cannot select predicates: (c and a) or (not c and b).
	c = s.inRegister(c, ptxop.Pred)
	yes, no, other := ofReg(s.f.newReg(t)), ofReg(s.f.newReg(t)), ofReg(s.f.newReg(t))
	s.emit(s.get(opAnd, tPred), yes, c, a)
	s.emit(s.get(opNot, tPred), no, c)
	s.emit(s.get(opAnd, tPred), other, no, b)
	s.emit(s.get(opOr, tPred), s.define(t), yes, other)
	return nil
}

// alias gives the LLVM value that is being selected the register of x: the same
// bits under another type.
func (s *selector) alias(x value.Value, to types.Type) error {
	o, err := s.use(x)
	if err != nil {
		return err
	}
	from, had, err := typeOf(x.Type())
	if err != nil {
		return err
	}
	t, bits, err := typeOf(to)
	if err != nil {
		return err
	}
	if bits != had || regBits(t) != regBits(from) {
		return fmt.Errorf("not supported: %s as %s", x.Type(), to)
	}
	s.set(o)
	return nil
}

// integerCast selects trunc, zext, sext and the casts between pointers and
// integers, which widen with zeros.
func (s *selector) integerCast(x value.Value, to types.Type, signed bool) error {
	from, had, err := typeOf(x.Type())
	if err != nil {
		return err
	}
	t, want, err := typeOf(to)
	if err != nil {
		return err
	}
	o, err := s.use(x)
	if err != nil {
		return err
	}
	switch {
	case o.kind == kindConst:
		if had < want && !signed && had < 64 {
			o.bits &= 1<<had - 1
		}
		s.set(ofBits(extend(o.bits, want)))
	case had == want || regBits(from) == regBits(t) && want < had:
		s.set(o) // the upper bits of an i8 are undefined
		if o.kind == kindSym {
			s.set(s.inRegister(o, from))
		}
	case t == ptxop.Pred:
		low := ofReg(s.f.newReg(from))
		s.emit(s.get(opAnd, sized('b', regBits(from))), low, o, ofBits(1))
		s.emit(s.test("setp.ne.", sized('s', regBits(from))), s.define(t), low, ofBits(0))
	case from == ptxop.Pred:
		one := int64(1)
		if signed {
			one = -1
		}
		s.emit(s.get(opSelp, moveType(t)), s.define(t), ofBits(one), ofBits(0), o)
	case want < had:
		s.emit(s.natives.conversion("cvt.", sized('u', regBits(t)), sized('u', regBits(from))), s.define(t), o)
	case signed:
		s.emit(s.natives.conversion("cvt.", sized('s', want), sized('s', had)), s.define(t), o)
	default:
		s.emit(s.natives.conversion("cvt.", sized('u', want), sized('u', had)), s.define(t), o)
	}
	return nil
}

// conversion selects a conversion by the given row.
func (s *selector) conversion(x value.Value, to types.Type, row *ptxop.Row) error {
	t, _, err := typeOf(to)
	if err != nil {
		return err
	}
	if _, _, err := typeOf(x.Type()); err != nil {
		return err
	}
	o, err := s.use(x)
	if err != nil {
		return err
	}
	s.emit(row, s.define(t), o)
	return nil
}

func (s *selector) floatToInt(x value.Value, to types.Type, sign byte) error {
	from, _, err := typeOf(x.Type())
	if err != nil {
		return err
	}
	_, bits, err := typeOf(to)
	if err != nil {
		return err
	}
	if bits == 1 || from != ptxop.F32 && from != ptxop.F64 {
		return fmt.Errorf("not supported: %s to %s", x.Type(), to)
	}
	return s.conversion(x, to, s.natives.conversion("cvt.rzi.", sized(sign, max(bits, 16)), moveType(from)))
}

func (s *selector) intToFloat(x value.Value, to types.Type, sign byte) error {
	_, bits, err := typeOf(x.Type())
	if err != nil {
		return err
	}
	t, _, err := typeOf(to)
	if err != nil {
		return err
	}
	if bits == 1 || t != ptxop.F32 && t != ptxop.F64 {
		return fmt.Errorf("not supported: %s to %s", x.Type(), to)
	}
	o, err := s.use(x)
	if err != nil {
		return err
	}
	row := s.natives.conversion("cvt.rn.", moveType(t), sized(sign, max(bits, 16)))
	s.emit(row, s.define(t), s.extended(o, bits, sign))
	return nil
}
