package nvvm

import (
	"fmt"
	"slices"
	"strings"

	llvm "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/metadata"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"tileiras/codegen/ptxop"
)

// kindOfType is the kind of a register operand of a PTX instruction.
var kindOfType = [...]kind{ptxop.Pred: kI1, ptxop.B16: kI16, ptxop.B32: kI32, ptxop.B64: kI64, ptxop.F32: kF32, ptxop.F64: kF64}

// has reports whether the target has the named PTX instruction, in a version that may be used.
func (b *builder) has(name string) bool {
	r := ptxop.Lookup(name)
	return r != nil && r.Need.On(b.target) && (b.newest == 0 || r.Need.Version(b.target) <= b.newest)
}

// op makes the PTX instruction of a row. Arguments that have the right width and the wrong class (float for bits) are cast, 8-bit
// ones are widened. A row without effects is a pure value: it is made once per block.
func (b *builder) op(name string, args ...reg) []reg {
	row := ptxop.Lookup(name)
	if row == nil {
		panic("BUG: no PTX instruction " + name)
	}
	return b.rowOp(row, args...)
}

// missing is what a target does not have.
type missing string

// rowOp is op of a row that is known.
func (b *builder) rowOp(row *ptxop.Row, args ...reg) []reg {
	if !row.Need.On(b.target) {
		panic(missing(fmt.Sprintf("%s has no %s, which needs %s", b.target.Name, strings.TrimPrefix(row.Name, "@"), row.Need)))
	}
	want := row.Args()
	if len(want) != len(args) {
		panic("BUG: wrong number of arguments of " + row.Name)
	}
	for i, a := range want {
		args[i] = b.coerce(row, args[i], kindOfType[a.Type])
	}
	make := func() []reg { return b.call(row, args) }
	if row.Effects != 0 || len(args) > 4 {
		return make()
	}
	k := key{op: opcodeOf(row)}
	for i, at := range []*id{&k.a, &k.b, &k.c, &k.d} {
		if i < len(args) {
			*at = b.id(args[i])
		}
	}
	return b.pure(k, make)
}

// op1 is op of an instruction with one result.
func (b *builder) op1(name string, args ...reg) reg { return b.op(name, args...)[0] }

func (b *builder) coerce(row *ptxop.Row, x reg, to kind) reg {
	switch {
	case x.k == to:
		return x
	case x.k == kI8 && to == kI16:
		return b.zext(x, kI16)
	case x.k.bits() == to.bits():
		return b.cast(x, to)
	}
	panic("BUG: argument of " + row.Name + " is " + kinds[x.k].name + ", not " + kinds[to].name)
}

func (b *builder) call(row *ptxop.Row, args []reg) []reg {
	asm := b.asm[row]
	if asm == nil {
		asm = b.inlineAsm(row)
		b.asm[row] = asm
	}
	vals := b.arguments.Take(len(args))
	for i, a := range args {
		vals[i] = b.value(a)
	}
	call := b.calls.One()
	call.Callee, call.Args = asm, vals
	call.Typ = call.Sig().RetType
	if row.Effects&ptxop.Convergent != 0 {
		call.FuncAttrs = convergent
	}
	b.emit(call)
	switch row.Results {
	case 0:
		return nil
	case 1:
		out := b.regs.Take(1)
		out[0] = b.register(kindOfType[row.Operands[0].Type], call, b.cur)
		return out
	}
	out, parts, indices := b.regs.Take(row.Results), b.extracts.Take(row.Results), b.indices.Take(row.Results)
	for i := range out {
		k := kindOfType[row.Operands[i].Type]
		indices[i] = uint64(i)
		parts[i] = llvm.InstExtractValue{X: call, Indices: indices[i : i+1 : i+1], Typ: k.llvm()}
		out[i] = result(b, k, &parts[i])
	}
	return out
}

// convergent is the attributes of calls that lanes make together.
var convergent = []llvm.FuncAttribute{enum.FuncAttrConvergent}

func (b *builder) inlineAsm(row *ptxop.Row) *llvm.InlineAsm {
	var params []types.Type
	for _, a := range row.Args() {
		params = append(params, kindOfType[a.Type].llvm())
	}
	var ret types.Type = types.Void
	switch row.Results {
	case 0:
	case 1:
		ret = kindOfType[row.Operands[0].Type].llvm()
	default:
		ret = b.structOf(row.Operands[:row.Results])
	}
	asm := llvm.NewInlineAsm(types.NewPointer(types.NewFunc(ret, params...)), row.Asm, row.Constraints)
	asm.SideEffect = row.Effects.SideEffect()
	return asm
}

// structOf is the named struct type of several results: %ffff is four floats.
func (b *builder) structOf(results []ptxop.Operand) types.Type {
	var name strings.Builder
	var fields []types.Type
	for _, o := range results {
		name.WriteByte(o.Type.Letter())
		fields = append(fields, kindOfType[o.Type].llvm())
	}
	t := b.structs[name.String()]
	if t == nil {
		t = b.module.NewTypeDef(name.String(), types.NewStruct(fields...))
		b.structs[name.String()] = t
	}
	return t
}

// metadataOf is the place where an instruction keeps its metadata.
func metadataOf(inst llvm.Instruction) *llvm.Metadata {
	switch i := inst.(type) {
	case *llvm.InstCall:
		return &i.Metadata
	case *llvm.InstAdd:
		return &i.Metadata
	case *llvm.InstSub:
		return &i.Metadata
	case *llvm.InstMul:
		return &i.Metadata
	case *llvm.InstAnd:
		return &i.Metadata
	case *llvm.InstOr:
		return &i.Metadata
	case *llvm.InstXor:
		return &i.Metadata
	case *llvm.InstShl:
		return &i.Metadata
	case *llvm.InstLShr:
		return &i.Metadata
	case *llvm.InstAShr:
		return &i.Metadata
	case *llvm.InstFAdd:
		return &i.Metadata
	case *llvm.InstFSub:
		return &i.Metadata
	case *llvm.InstFMul:
		return &i.Metadata
	case *llvm.InstFDiv:
		return &i.Metadata
	case *llvm.InstFNeg:
		return &i.Metadata
	case *llvm.InstICmp:
		return &i.Metadata
	case *llvm.InstFCmp:
		return &i.Metadata
	case *llvm.InstSelect:
		return &i.Metadata
	case *llvm.InstTrunc:
		return &i.Metadata
	case *llvm.InstZExt:
		return &i.Metadata
	case *llvm.InstSExt:
		return &i.Metadata
	case *llvm.InstSDiv:
		return &i.Metadata
	case *llvm.InstUDiv:
		return &i.Metadata
	case *llvm.InstSRem:
		return &i.Metadata
	case *llvm.InstURem:
		return &i.Metadata
	}
	return nil // casts and extracts become no instruction of their own
}

// note is a metadata attachment with fields of its own, not numbered in the module.
func note(name string, fields ...metadata.Field) *metadata.Attachment {
	return &metadata.Attachment{Name: name, Node: &metadata.Tuple{MetadataID: -1, Fields: fields}}
}

// br and condBr end the current block. Branches between ops are uniform over the tile block, but where a region is of single elements.
func (b *builder) br(to *block) {
	t := llvm.NewBr(to.Block)
	if !b.divergent {
		t.Metadata = append(t.Metadata, note(ptxop.Uniform))
	}
	b.cur.Term = t
}

func (b *builder) condBr(c reg, yes, no *block) *llvm.TermCondBr {
	t := llvm.NewCondBr(b.value(c), yes.Block, no.Block)
	if !b.divergent {
		t.Metadata = append(t.Metadata, note(ptxop.Uniform))
	}
	b.cur.Term = t
	return t
}

// divergentBr is condBr inside one op, where lanes may go different ways.
func (b *builder) divergentBr(c reg, yes, no *block) {
	b.cur.Term = llvm.NewCondBr(b.value(c), yes.Block, no.Block)
}

// phi makes an empty phi at the start of a block.
func (b *builder) phi(at *block, k kind) (reg, *llvm.InstPhi) {
	b.budget.Step()
	p := b.detachedPhi(k.llvm())
	at.Insts = slices.Insert(at.Insts, at.phis, llvm.Instruction(p))
	at.phis++
	return b.register(k, p, at), p
}

// detachedPhi makes a phi that is in no block yet.
func (b *builder) detachedPhi(t types.Type) *llvm.InstPhi {
	p := b.joins.One()
	p.Typ, p.Incs = t, b.edgeLists.Take(2)[:0]
	return p
}

func (b *builder) addIncomingReg(p *llvm.InstPhi, x reg, from *block) {
	b.addIncoming(p, b.value(x), from.Block)
}

// addIncoming adds an incoming value to a phi.
func (b *builder) addIncoming(p *llvm.InstPhi, x value.Value, from *llvm.Block) {
	in := b.edges.One()
	in.X, in.Pred = x, from
	p.Incs = append(p.Incs, in)
}
