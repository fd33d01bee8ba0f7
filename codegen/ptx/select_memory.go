package ptx

import (
	"fmt"
	"math/bits"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"tileiras/codegen/ptxop"
)

// foldDepth bounds the additions that one address absorbs.
const foldDepth = 64

// address selects a base and a constant byte offset, absorbing constant
// additions that lead to v. Offsets of PTX addresses have 32 bits.
func (s *selector) address(v value.Value, offset int64) (operand, int64, error) {
	for range foldDepth {
		next, add := v, int64(0)
		switch i := v.(type) {
		case *ir.InstAdd:
			if c, ok := i.Y.(*constant.Int); ok {
				next, add = i.X, intBits(c.X, int(c.Typ.BitSize))
			} else if c, ok := i.X.(*constant.Int); ok {
				next, add = i.Y, intBits(c.X, int(c.Typ.BitSize))
			}
		case *ir.InstGetElementPtr:
			d, rest, err := s.offsets(i.ElemType, i.Indices)
			if err != nil {
				return operand{}, 0, err
			}
			if len(rest) == 0 {
				next, add = i.Src, d
			}
		case *ir.InstBitCast:
			next = i.From
		case *ir.InstIntToPtr:
			next = i.From
		case *ir.InstPtrToInt:
			next = i.From
		case *ir.InstAlloca:
			// The argument block of vprintf, in local space.
			o, _ := s.selected(v)
			return o, offset, nil
		}
		if next == v || offset+add != int64(int32(offset+add)) || !s.sameWidth(v, next) {
			break
		}
		v, offset = next, offset+add
	}
	o, err := s.use(v)
	if o.kind == kindSym {
		o.bits, offset = o.bits+offset, 0
	}
	return o, offset, err
}

// sameWidth reports whether two values have registers of the same size.
func (s *selector) sameWidth(a, b value.Value) bool {
	_, m, err := typeOf(a.Type())
	_, n, otherErr := typeOf(b.Type())
	return err == nil && otherErr == nil && m == n
}

// elementAddress selects a getelementptr: source + constant + index * size...
func (s *selector) elementAddress(i *ir.InstGetElementPtr) error {
	offset, rest, err := s.offsets(i.ElemType, i.Indices)
	if err != nil {
		return err
	}
	at, err := s.use(i.Src)
	if err != nil {
		return err
	}
	t, bits, err := typeOf(i.Type())
	if err != nil {
		return err
	}
	if len(rest) == 0 && at.kind == kindSym {
		at.bits += offset
		s.set(at)
		return nil
	}
	at = s.inRegister(at, t)
	for _, term := range rest {
		o, err := s.scaled(term, bits)
		if err != nil {
			return err
		}
		sum := ofReg(s.f.newReg(t))
		s.emit(s.get(opAdd, sized('s', bits)), sum, at, o)
		at = sum
	}
	if offset != 0 {
		sum := ofReg(s.f.newReg(t))
		s.emit(s.get(opAdd, sized('s', bits)), sum, at, ofBits(offset))
		at = sum
	}
	s.set(at)
	return nil
}

// scaled selects index * scale in the width of an address.
func (s *selector) scaled(term indexed, bits int) (operand, error) {
	t, had, err := typeOf(term.index.Type())
	if err != nil {
		return operand{}, err
	}
	o, err := s.use(term.index)
	if err != nil {
		return o, err
	}
	if had == 1 || t == ptxop.F32 || t == ptxop.F64 {
		return o, fmt.Errorf("not supported: an index of type %s", term.index.Type())
	}
	address := moveRegType(bits)
	if had != bits {
		r := ofReg(s.f.newReg(address))
		if had < bits {
			s.emit(s.natives.conversion("cvt.", sized('s', bits), sized('s', had)), r, o)
		} else {
			s.emit(s.name("cvt.u32.u64"), r, o)
		}
		o = r
	}
	if term.scale == 1 {
		return o, nil
	}
	r := ofReg(s.f.newReg(address))
	if shift := log2(term.scale); shift > 0 {
		s.emit(s.get(opShl, sized('b', bits)), r, o, ofBits(shift))
	} else {
		s.emit(s.get(opMul, sized('s', bits)), r, o, ofBits(term.scale))
	}
	return r, nil
}

func moveRegType(bits int) ptxop.Type {
	if bits == 32 {
		return ptxop.B32
	}
	return ptxop.B64
}

// log2 returns k for 2^k, 0 for other numbers.
func log2(n int64) int64 {
	if n <= 0 || n&(n-1) != 0 {
		return 0
	}
	return int64(bits.TrailingZeros64(uint64(n)))
}

func (s *selector) spaceCast(i *ir.InstAddrSpaceCast) error {
	from, ok := i.From.Type().(*types.PointerType)
	to, ok2 := i.To.(*types.PointerType)
	if !ok || !ok2 {
		return unsupported(i)
	}
	o, err := s.use(i.From)
	if err != nil {
		return err
	}
	name := map[types.AddrSpace]string{spaceGlobal: "global", spaceShared: "shared", spaceConst: "const", spaceLocal: "local"}
	switch {
	case to.AddrSpace == spaceGeneric && o.kind == kindSym:
		s.set(s.genericAddress(o))
	case to.AddrSpace == spaceGeneric && name[from.AddrSpace] != "":
		if from.AddrSpace == spaceShared {
			wide := ofReg(s.f.newReg(ptxop.B64))
			s.emit(s.name("cvt.u64.u32"), wide, o)
			o = wide
		}
		s.emit(s.name("cvta."+name[from.AddrSpace]+".u64"), s.define(ptxop.B64), o)
	case from.AddrSpace == spaceGeneric && name[to.AddrSpace] != "":
		row := s.name("cvta.to." + name[to.AddrSpace] + ".u64")
		if to.AddrSpace != spaceShared {
			s.emit(row, s.define(ptxop.B64), o)
			break
		}
		wide := ofReg(s.f.newReg(ptxop.B64))
		s.emit(row, wide, o)
		s.emit(s.name("cvt.u32.u64"), s.define(ptxop.B32), wide)
	default:
		return unsupported(i)
	}
	return nil
}

// alloca reserves local memory: the argument block of vprintf.
func (s *selector) alloca(i *ir.InstAlloca) error {
	if i.NElems != nil {
		return unsupported(i)
	}
	size, align, err := sizeOf(i.ElemType)
	if err != nil {
		return err
	}
	align = max(align, int64(i.Align))
	s.f.depot = alignUp(s.f.depot, align)
	at := ofSymbol(s.addSymbol(s.f.own.depot, spaceGeneric))
	at.bits = s.f.depot
	s.f.depot += size
	s.set(at)
	return nil
}

// localAddress selects the address of a plain load or store of a type, which
// must lead to an alloca.
func (s *selector) localAddress(v value.Value, of types.Type) (operand, int64, error) {
	at, offset, err := s.address(v, 0)
	if err == nil && (at.kind != kindSym || s.f.symbols[at.reg].space != spaceGeneric) {
		err = fmt.Errorf("not supported: a plain load or store of anything but an alloca (use the rows of codegen/ptxop)")
	}
	if err == nil && of.Equal(types.I1) {
		err = fmt.Errorf("not supported: a plain load or store of an i1")
	}
	return at, offset, err
}

func (s *selector) store(i *ir.InstStore) error {
	at, offset, err := s.localAddress(i.Dst, i.Src.Type())
	if err != nil {
		return err
	}
	t, bits, err := typeOf(i.Src.Type())
	if err != nil {
		return err
	}
	o, err := s.use(i.Src)
	if err != nil {
		return err
	}
	s.emit(s.get(opStoreLocal, localType(t, bits)), at, ofBits(offset), s.inRegister(o, t))
	return nil
}

func (s *selector) load(i *ir.InstLoad) error {
	at, offset, err := s.localAddress(i.Src, i.ElemType)
	if err != nil {
		return err
	}
	t, bits, err := typeOf(i.ElemType)
	if err != nil {
		return err
	}
	s.emit(s.get(opLoadLocal, localType(t, bits)), s.define(t), at, ofBits(offset))
	return nil
}

func localType(t ptxop.Type, bits int) ptxType {
	if bits == 8 {
		return tB8
	}
	return moveType(t)
}

// extract selects a result of an instruction with several.
func (s *selector) extract(i *ir.InstExtractValue) error {
	call, ok := i.X.(*ir.InstCall)
	if !ok || len(i.Indices) != 1 {
		return unsupported(i)
	}
	t, ok := call.Type().(*types.StructType)
	first, known := s.selected(call)
	if !ok || !known || i.Indices[0] >= uint64(len(t.Fields)) {
		return unsupported(i)
	}
	s.set(ofReg(first.reg + reg(i.Indices[0])))
	return nil
}

// call selects inline assembly, which must be a row of codegen/ptxop, or
// vprintf.
func (s *selector) call(i *ir.InstCall) error {
	switch callee := i.Callee.(type) {
	case *ir.InlineAsm:
		row := s.asmRows[callee]
		if row == nil {
			if row = ptxop.Find(callee.Asm, callee.Constraint); row == nil {
				return fmt.Errorf("inline assembly that is no row of codegen/ptxop: %q, %q", callee.Asm, callee.Constraint)
			}
			s.asmRows[callee] = row
		}
		return s.rowCall(i, row)
	case *ir.Func:
		if callee.Name() == ptxop.Vprintf && len(i.Args) == 2 {
			return s.rowCall(i, s.name("call.vprintf"))
		}
	}
	return fmt.Errorf("not supported: a call of %s", i.Callee.Ident())
}

// rowCall selects a call that is the given row.
func (s *selector) rowCall(i *ir.InstCall, row *ptxop.Row) error {
	args := row.Args()
	if len(i.Args) != len(args) {
		return fmt.Errorf("%s takes %d arguments, not %d", row.Name, len(args), len(i.Args))
	}
	ops := s.f.newOps(len(row.Operands))

	if err := s.rowResults(i.Type(), row, ops); err != nil {
		return err
	}
	for k := 0; k < len(args); k++ {
		var err error
		at := row.Results + k
		switch args[k].Kind {
		case ptxop.Imm:
			ops[at], err = immediate(argument(i, k))
		case ptxop.Base: // and the offset after it
			ops[at], ops[at+1], err = s.baseAndOffset(argument(i, k), i.Args[k+1], args[k].Type)
			k++
		default:
			ops[at], err = s.typedUse(argument(i, k), args[k].Type)
		}
		if err != nil {
			return fmt.Errorf("%s, argument %d: %w", row.Name, at-row.Results, err)
		}
	}
	if row.Results > 0 {
		s.set(ops[0])
	}
	s.emitOps(row, ops)
	return nil
}

// argument is argument k of a call without its attributes.
func argument(i *ir.InstCall, k int) value.Value {
	if a, ok := i.Args[k].(*ir.Arg); ok {
		return a.Value
	}
	return i.Args[k]
}

// rowResults makes the registers of a call's results: one after the other.
func (s *selector) rowResults(result types.Type, row *ptxop.Row, ops []operand) error {
	var fields []types.Type
	switch t := result.(type) {
	case *types.VoidType:
	case *types.StructType:
		fields = t.Fields
	default:
		fields = []types.Type{t}
	}
	if len(fields) != row.Results {
		return fmt.Errorf("%s has %d results, not %d", row.Name, row.Results, len(fields))
	}
	for k, field := range fields {
		if err := fits(field, row.Operands[k].Type); err != nil {
			return fmt.Errorf("%s, result %d: %w", row.Name, k, err)
		}
		ops[k] = ofReg(s.f.newReg(row.Operands[k].Type))
	}
	return nil
}

func immediate(arg value.Value) (operand, error) {
	c, ok := arg.(*constant.Int)
	if !ok {
		return operand{}, fmt.Errorf("want a constant integer, not %s", arg.Ident())
	}
	return ofBits(intBits(c.X, int(c.Typ.BitSize))), nil
}

// baseAndOffset is an address and the constant offset in bytes after it.
func (s *selector) baseAndOffset(arg, bytes value.Value, t ptxop.Type) (base, offset operand, err error) {
	c, ok := bytes.(*constant.Int)
	if !ok {
		return base, offset, fmt.Errorf("want a constant byte offset after it, not %s", bytes.Ident())
	}
	if err := fits(arg.Type(), t); err != nil {
		return base, offset, err
	}
	base, n, err := s.address(arg, intBits(c.X, int(c.Typ.BitSize)))
	if err != nil {
		return base, offset, err
	}
	if base.kind == kindSym && s.f.symbols[base.reg].space == spaceGeneric {
		base.bits += n
		base, n = s.genericAddress(base), 0
	}
	return base, ofBits(n), nil
}

// typedUse is an argument of this type.
func (s *selector) typedUse(arg value.Value, t ptxop.Type) (operand, error) {
	if err := fits(arg.Type(), t); err != nil {
		return operand{}, err
	}
	return s.use(arg)
}

// fits reports whether a value of LLVM type t can be an operand of the given
// register type.
func fits(t types.Type, want ptxop.Type) error {
	switch t := t.(type) {
	case *types.IntType:
		if int(t.BitSize) == regBits(want) {
			return nil // as most do; no register has 8 bits
		}
	case *types.FloatType:
		if t.Kind == types.FloatKindFloat && regBits(want) == 32 {
			return nil
		}
	}
	got, bits, err := typeOf(t)
	if err == nil && (regBits(got) != regBits(want) || bits == 8) {
		err = fmt.Errorf("a value of type %s does not fit a register of %d bits", t, regBits(want))
	}
	return err
}
