package ptx

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/metadata"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"tileiras/codegen/local"
	"tileiras/codegen/ptxop"
)

// selector turns one LLVM function into rows. Blocks are visited in reverse
// postorder, so a value is selected before its uses; phis are filled in last.
type selector struct {
	natives
	f       *function
	options *Options
	src     *ir.Func

	vals    []operand // of LLVM values, by their number; kindNone: not selected yet
	asmRows map[*ir.InlineAsm]*ptxop.Row
	globals map[*ir.Global]int32 // symbol of a global, index into f.symbols
	metaOf  map[meta]int32
	files   *sourceFiles

	b      *block
	meta   int32
	result int32               // number of the LLVM value that is being selected
	inReg  map[constantKey]reg // constants that block b holds in registers
	blocks map[*ir.Block]int   // number of a block that can be reached
	llvm   []*ir.Block         // and back
}

type constantKey struct {
	o operand
	t ptxop.Type
}

// selected returns the operand of a local value if it has one already.
func (s *selector) selected(v value.Value) (o operand, ok bool) {
	if n, local := local.Number(v); local {
		o = s.vals[n]
	}
	return o, o.kind != kindNone
}

// set gives the LLVM value that is being selected its operand.
func (s *selector) set(o operand) { s.vals[s.result] = o }

// use returns the operand of an LLVM value that was selected before.
func (s *selector) use(v value.Value) (operand, error) {
	if c, ok := v.(*constant.Int); ok { // as many are
		return ofBits(intBits(c.X, int(c.Typ.BitSize))), nil
	}
	if o, ok := s.selected(v); ok {
		if o.kind == kindSym && s.f.symbols[o.reg].space == spaceGeneric {
			return s.genericAddress(o), nil // an alloca, whose pointer is generic
		}
		return o, nil
	}
	switch v := v.(type) {
	case constant.Constant:
		o, generic, err := s.constantOf(v)
		if err != nil {
			return o, err
		}
		if generic {
			return s.genericAddress(o), nil
		}
		return o, nil
	case *ir.Arg:
		return s.use(v.Value)
	}
	return operand{}, fmt.Errorf("malformed function: %s is used before it is defined", v.Ident())
}

// uses selects several values.
func (s *selector) uses(x, y value.Value) (a, b operand, err error) {
	if a, err = s.use(x); err == nil {
		b, err = s.use(y)
	}
	return a, b, err
}

// genericAddress returns the generic address of a symbol.
func (s *selector) genericAddress(o operand) operand {
	space := map[int]string{spaceGeneric: "local", spaceGlobal: "global", spaceShared: "shared", spaceConst: "const"}[s.f.symbols[o.reg].space]
	at := s.inRegister(o, ptxop.B64)
	if space == "shared" {
		wide := s.f.newReg(ptxop.B64)
		s.emit(s.name("cvt.u64.u32"), ofReg(wide), at)
		at = ofReg(wide)
	}
	r := s.f.newReg(ptxop.B64)
	s.emit(s.name("cvta."+space+".u64"), ofReg(r), at)
	return ofReg(r)
}

// inRegister returns o, moved into a register if it is not in one. A block keeps
// its constants.
func (s *selector) inRegister(o operand, t ptxop.Type) operand {
	if o.kind == kindReg {
		return o
	}
	row := s.get(opMov, moveType(t))
	if o.kind == kindSym {
		t, row = ptxop.B64, s.name("mov.u64")
		if s.symbolBits(o) == 32 {
			t, row = ptxop.B32, s.name("mov.u32")
		}
	}
	key := constantKey{o, t}
	if r, ok := s.inReg[key]; ok {
		return ofReg(r)
	}
	r := s.f.newReg(t)
	ops := s.f.newOps(2)
	ops[0], ops[1] = ofReg(r), o
	s.b.insts = append(s.b.insts, inst{row: row, ops: ops, meta: s.meta})
	s.inReg[key] = r
	return ofReg(r)
}

// emit appends an instruction. Constants and symbols go to registers where the
// row wants them there.
func (s *selector) emit(row *ptxop.Row, operands ...operand) {
	ops := s.f.newOps(len(operands))
	copy(ops, operands)
	s.emitOps(row, ops)
}

func (s *selector) emitOps(row *ptxop.Row, ops []operand) {
	for i := row.Results; i < len(ops); i++ {
		want := &row.Operands[i]
		switch {
		case ops[i].kind == kindReg || want.Kind == ptxop.Tied && ops[i].kind == kindConst:
		case ops[i].kind == kindSym && want.Kind == ptxop.Base:
		case ops[i].kind == kindConst && want.Const && want.Kind != ptxop.Base:
		default:
			ops[i] = s.inRegister(ops[i], want.Type)
		}
	}
	s.b.insts = append(s.b.insts, inst{row: row, ops: ops, meta: s.meta})
}

// define gives the LLVM value that is being selected a fresh register.
func (s *selector) define(t ptxop.Type) operand {
	o := ofReg(s.f.newReg(t))
	s.set(o)
	return o
}

// unsupported is an error about an instruction that this back end does not have.
func unsupported(i ir.Instruction) error {
	return fmt.Errorf("not supported: %s", i.LLString())
}

// selectFunc selects the whole function.
func (s *selector) selectFunc() error {
	f := s.src
	if len(f.Blocks) == 0 {
		return fmt.Errorf("@%s has no body", f.Name())
	}
	order, err := s.layout()
	if err != nil {
		return err
	}
	for i, at := range order {
		from := s.llvm[at]
		s.b = s.f.blocks[at]
		insts, phis := estimateSizes(from.Insts)
		s.b.insts, s.b.phis = make([]inst, 0, insts), make([]phi, 0, phis)
		s.meta = 0
		clear(s.inReg)
		if i == 0 {
			if err := s.parameters(); err != nil {
				return err
			}
		}
		for _, ins := range from.Insts {
			if err := s.annotated(ins); err != nil {
				return fmt.Errorf("@%s, block %s: %w", f.Name(), from.Name(), err)
			}
		}
		if err := s.terminator(from); err != nil {
			return fmt.Errorf("@%s, block %s: %w", f.Name(), from.Name(), err)
		}
	}
	for _, at := range order {
		s.b = s.f.blocks[at]
		if err := s.phiArguments(s.llvm[at]); err != nil {
			return fmt.Errorf("@%s, block %s: %w", f.Name(), s.llvm[at].Name(), err)
		}
	}
	return nil
}

// estimateSizes counts the phis of a block and estimates how many machine
// instructions it becomes.
func estimateSizes(list []ir.Instruction) (insts, phis int) {
	insts = 8
	for _, ins := range list {
		switch ins.(type) {
		case *ir.InstPhi:
			phis++
		case *ir.InstExtractValue, *ir.InstBitCast:
		default:
			insts++
		}
	}
	return insts, phis
}

// attachments reads the metadata of an instruction: the class of its result,
// its place in the source, its note.
func (s *selector) attachments(list []*metadata.Attachment) (class int32, err error) {
	s.meta = 0
	for _, a := range list {
		switch a.Name {
		case ptxop.Class:
			n, ok := tupleInt(a.Node)
			if !ok || n <= 0 || n > math.MaxInt32 {
				return 0, fmt.Errorf("malformed !%s: want !{i32 N} with N > 0", ptxop.Class)
			}
			class = int32(n)
		case ptxop.Debug, ptxop.Source:
			s.meta = s.addMeta(a, s.meta)
		}
	}
	return class, nil
}

// annotated selects one LLVM instruction with its metadata.
func (s *selector) annotated(ins ir.Instruction) error {
	s.options.Budget.Step()
	number, attached := local.Of(ins)
	s.result = number
	class, err := s.attachments(attached)
	if err != nil {
		return err
	}
	if err := s.instruction(ins); err != nil {
		return err
	}
	if class != 0 {
		s.setClass(ins, class)
	}
	return nil
}

// instruction selects one LLVM instruction.
func (s *selector) instruction(ins ir.Instruction) error {
	switch i := ins.(type) {
	case *ir.InstAdd:
		return s.binary(i, i.X, i.Y, opAdd, 's')
	case *ir.InstSub:
		return s.binary(i, i.X, i.Y, opSub, 's')
	case *ir.InstMul:
		return s.binary(i, i.X, i.Y, opMul, 's')
	case *ir.InstSDiv:
		return s.binary(i, i.X, i.Y, opDiv, 's')
	case *ir.InstUDiv:
		return s.binary(i, i.X, i.Y, opDiv, 'u')
	case *ir.InstSRem:
		return s.binary(i, i.X, i.Y, opRem, 's')
	case *ir.InstURem:
		return s.binary(i, i.X, i.Y, opRem, 'u')
	case *ir.InstShl:
		return s.binary(i, i.X, i.Y, opShl, 'b')
	case *ir.InstLShr:
		return s.binary(i, i.X, i.Y, opShr, 'u')
	case *ir.InstAShr:
		return s.binary(i, i.X, i.Y, opShr, 's')
	case *ir.InstAnd:
		return s.binary(i, i.X, i.Y, opAnd, 'b')
	case *ir.InstOr:
		return s.binary(i, i.X, i.Y, opOr, 'b')
	case *ir.InstXor:
		return s.binary(i, i.X, i.Y, opXor, 'b')
	case *ir.InstFAdd:
		return s.floating(i, i.X, i.Y, opFAdd)
	case *ir.InstFSub:
		return s.floating(i, i.X, i.Y, opFSub)
	case *ir.InstFMul:
		return s.floating(i, i.X, i.Y, opFMul)
	case *ir.InstFDiv:
		return s.floating(i, i.X, i.Y, opFDiv)
	case *ir.InstFNeg:
		return s.floating(i, i.X, nil, opNeg)
	case *ir.InstICmp:
		return s.icmp(i)
	case *ir.InstFCmp:
		return s.fcmp(i)
	case *ir.InstSelect:
		return s.selectValue(i)
	case *ir.InstTrunc:
		return s.integerCast(i.From, i.To, false)
	case *ir.InstZExt:
		return s.integerCast(i.From, i.To, false)
	case *ir.InstSExt:
		return s.integerCast(i.From, i.To, true)
	case *ir.InstFPTrunc:
		return s.conversion(i.From, i.To, s.name("cvt.rn.f32.f64"))
	case *ir.InstFPExt:
		return s.conversion(i.From, i.To, s.name("cvt.f64.f32"))
	case *ir.InstFPToSI:
		return s.floatToInt(i.From, i.To, 's')
	case *ir.InstFPToUI:
		return s.floatToInt(i.From, i.To, 'u')
	case *ir.InstSIToFP:
		return s.intToFloat(i.From, i.To, 's')
	case *ir.InstUIToFP:
		return s.intToFloat(i.From, i.To, 'u')
	case *ir.InstBitCast:
		return s.alias(i.From, i.To)
	case *ir.InstPtrToInt:
		return s.integerCast(i.From, i.To, false)
	case *ir.InstIntToPtr:
		return s.integerCast(i.From, i.To, false)
	case *ir.InstFreeze:
		return s.alias(i.X, i.X.Type())
	case *ir.InstAddrSpaceCast:
		return s.spaceCast(i)
	case *ir.InstGetElementPtr:
		return s.elementAddress(i)
	case *ir.InstAlloca:
		return s.alloca(i)
	case *ir.InstStore:
		return s.store(i)
	case *ir.InstLoad:
		return s.load(i)
	case *ir.InstExtractValue:
		return s.extract(i)
	case *ir.InstCall:
		return s.call(i)
	case *ir.InstPhi:
		t, _, err := typeOf(i.Type())
		if err != nil {
			return err
		}
		s.b.phis = append(s.b.phis, phi{dst: s.define(t).reg})
		return nil
	}
	return unsupported(ins)
}

// setClass puts the register of a result into a mandatory class.
func (s *selector) setClass(ins ir.Instruction, class int32) {
	if v, ok := ins.(value.Value); ok {
		if o, ok := s.selected(v); ok && o.kind == kindReg {
			s.f.regs[o.reg].class = class
			s.f.classNames[o.reg] = v.Ident()
		}
	}
}

var errReturnValue = errors.New("not supported: a kernel that returns a value")

// terminator ends the current block.
func (s *selector) terminator(from *ir.Block) error {
	s.options.Budget.Step()
	b := s.b
	if m, ok := from.Term.(interface {
		MDAttachments() []*metadata.Attachment
	}); ok {
		list := m.MDAttachments()
		if _, err := s.attachments(list); err != nil {
			return err
		}
		b.meta = s.meta
		for _, a := range list {
			b.uniform = b.uniform || a.Name == ptxop.Uniform
		}
	}
	switch t := from.Term.(type) {
	case *ir.TermRet:
		if t.X != nil {
			return errReturnValue
		}
		b.term = termRet
	case *ir.TermUnreachable:
		b.term = termTrap
	case *ir.TermBr:
		b.term = termBranch
	case *ir.TermCondBr:
		if len(b.succs) == 1 { // both ways lead to the same block
			b.term = termBranch
			break
		}
		c, err := s.use(t.Cond)
		if err != nil {
			return err
		}
		b.term, b.cond = termCond, s.inRegister(c, ptxop.Pred)
	}
	return nil
}

// phiArguments fills in the phis of the current block.
func (s *selector) phiArguments(from *ir.Block) error {
	to := s.b
	n := 0
	var edges []edge // of the phi before: most have the same
	for _, ins := range from.Insts {
		p, ok := ins.(*ir.InstPhi)
		if !ok {
			continue
		}
		dst := &to.phis[n]
		n++
		s.options.Budget.Step()
		dst.args = s.f.newOps(len(to.preds))
		for k, inc := range p.Incs {
			if k >= len(edges) || edges[k].pred != inc.Pred {
				edges = append(edges[:k], s.edge(to, inc.Pred))
			}
			e := &edges[k]
			if e.arg < 0 {
				continue // never runs
			}
			o, selected := s.selected(inc.X)
			switch {
			case selected && o.kind == kindReg:
			case inc.X == e.constant:
				o = e.bits
			default:
				// A constant that needs instructions gets them in the predecessor.
				s.b, s.meta = s.f.blocks[e.at], 0
				clear(s.inReg)
				var err error
				if o, err = s.use(inc.X); err != nil {
					return err
				}
				switch o.kind {
				case kindConst:
					e.constant, e.bits = inc.X, o
				case kindSym:
					o = s.inRegister(o, ptxop.B64)
				}
			}
			dst.args[e.arg] = o
		}
		for i := range dst.args {
			if dst.args[i].kind == kindNone {
				return fmt.Errorf("malformed phi %s: no value for block %s", p.Ident(), s.f.blocks[to.preds[i]].name)
			}
		}
	}
	return nil
}

// edge is an edge of the control flow graph: the number of its source, and that of its incoming value in phis, -1 if the source is unreachable.
type edge struct {
	pred    value.Value
	at, arg int

	constant value.Value // that came last this way: many phis begin with zero
	bits     operand     // which it is
}

func (s *selector) edge(to *block, pred value.Value) edge {
	if b, ok := pred.(*ir.Block); ok {
		if at, reached := s.blocks[b]; reached {
			return edge{pred: pred, at: at, arg: slices.Index(to.preds, at)}
		}
	}
	return edge{pred: pred, at: -1, arg: -1}
}

// parameters loads the parameters of the kernel.
func (s *selector) parameters() error {
	for i, p := range s.src.Params {
		s.options.Budget.Step()
		t, bits, err := typeOf(p.Typ)
		if err != nil {
			return fmt.Errorf("@%s, parameter %d: %w", s.src.Name(), i, err)
		}
		if t == ptxop.Pred || isSharedPointer(p.Typ) {
			return fmt.Errorf("@%s, parameter %d: not supported: a parameter of type %s", s.src.Name(), i, p.Typ)
		}
		pt := sized('u', bits)
		switch t {
		case ptxop.F32:
			pt = tF32
		case ptxop.F64:
			pt = tF64
		}
		at := ofSymbol(s.addSymbol(s.f.paramName(i), spaceGlobal))
		s.result, _ = local.Number(p)
		s.emit(s.get(opParam, pt), s.define(t), at, ofBits(0))
	}
	return nil
}

func isSharedPointer(t types.Type) bool {
	p, ok := t.(*types.PointerType)
	return ok && p.AddrSpace == spaceShared
}

func (s *selector) addSymbol(name string, space int) int32 {
	s.f.symbols = append(s.f.symbols, symbolInfo{name, space})
	return int32(len(s.f.symbols) - 1)
}

// symbolOf returns the address of a global variable in its own space.
func (s *selector) symbolOf(g *ir.Global) operand {
	n, ok := s.globals[g]
	if !ok {
		space := int(g.AddrSpace)
		if space == spaceGeneric {
			space = spaceGlobal // PTX has no generic variables
		}
		n = s.addSymbol(g.Name(), space)
		s.globals[g] = n
	}
	return ofSymbol(n)
}
