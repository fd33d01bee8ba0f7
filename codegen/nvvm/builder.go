package nvvm

import (
	llvm "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/metadata"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"tileiras/codegen/local"
	"tileiras/codegen/ptxop"
	"tileiras/codegen/target"
	"tileiras/ir"
	"tileiras/ir/budget"
)

// builder makes LLVM instructions in one function. It folds constants and never makes a pure instruction twice in a block, so that
// the lowerings can ask for the same address or coordinate as often as is convenient.
type builder struct {
	target *target.Target
	newest target.PTX // what may be used; 0 is any
	budget *budget.Budget
	module *llvm.Module
	lines  bool // notes of operations say where they stand in the source
	fn     *llvm.Func
	start  *block // the first block: what it computes is known everywhere
	cur    *block
	blocks int // that became current so far
	opened int // blocks made so far

	divergent bool // lanes may go different ways between ops

	values     []value.Value // of registers, by id
	homes      []*block      // where they are made; parameters and constants have none
	made       []reg         // what pure computations gave, one after the other
	computed   computed
	addresses  map[*llvm.Global]reg
	asm        map[*ptxop.Row]*llvm.InlineAsm
	structs    map[string]types.Type // shared by the functions of the module
	sums       map[id]sum            // additions of a constant
	extensions map[id]extension      // integers that were extended or cut off
	ranges     map[id]bounds         // of what is computed from the numbers of threads
	hoists     bool                  // see hoisted
	parts      map[id][]reg          // packed words and what they were made of
	wholes     map[id]split          // first parts of words that were taken apart

	// Memory of what instructions and registers are listed in.
	arguments local.Slab[value.Value]
	calls     local.Slab[llvm.InstCall]
	extracts  local.Slab[llvm.InstExtractValue]
	indices   local.Slab[uint64]
	joins     local.Slab[llvm.InstPhi]
	edges     local.Slab[llvm.Incoming]
	edgeLists local.Slab[*llvm.Incoming]
	regs      local.Slab[reg]
	numbers   local.Slab[int]
	attached  local.Slab[*metadata.Attachment]

	origin *ir.Op               // where instructions come from: in each block the first one has a note of it
	note   *metadata.Attachment // that note, once there is an instruction
	place  *metadata.Attachment // the debug location, of which every instruction has one
}

// registers is how many a usual kernel has, about.
const registers = 1024

func newBuilder(o *Options, m *llvm.Module, structs map[string]types.Type) *builder {
	newest, _ := target.ParsePTX(o.MaxPTX)
	return &builder{
		target: o.Target, newest: newest, module: m, lines: o.Lines(),
		values: make([]value.Value, 1, registers), homes: make([]*block, 1, registers), made: make([]reg, 0, registers),
		computed: newComputed(registers / 2), addresses: map[*llvm.Global]reg{}, asm: map[*ptxop.Row]*llvm.InlineAsm{}, structs: structs,
		sums: map[id]sum{}, extensions: map[id]extension{}, ranges: map[id]bounds{}, parts: map[id][]reg{}, wholes: map[id]split{},
	}
}

// split is a word and the parts it was taken apart into.
type split struct {
	word  reg
	parts []reg
}

// sum is a value and a constant; exact if the sum does not wrap as a number without sign.
type sum struct {
	base  reg
	c     uint64
	exact bool
}

// block is a basic block.
type block struct {
	*llvm.Block
	number int32  // from 1 on
	phis   int    // that it begins with
	order  int    // when the block first became the current one, 0 = never
	noted  *ir.Op // whose note came last
}

func (b *builder) newBlock() *block {
	b.opened++
	return &block{Block: b.fn.NewBlock(""), number: int32(b.opened)}
}

// in runs make with instructions going to the end of another block, which dominates the current one. A block that is complete
// keeps its terminator.
func (b *builder) in(at *block, make func()) {
	old := b.cur
	b.cur = at
	make()
	b.cur = old
}

// enterBlock makes a block the current one.
func (b *builder) enterBlock(at *block) {
	if at.order == 0 {
		b.blocks++
		at.order = b.blocks
	}
	b.cur = at
}

// hoisted runs make with every pure value going to the outermost block that knows its operands. The blocks that make two
// operands both dominate the current one, so the one entered later is dominated by the other. It is for addresses and bounds, which
// are worth a register over a loop.
func (b *builder) hoisted(make func()) {
	old := b.hoists
	b.hoists = true
	make()
	b.hoists = old
}

// definedAfter reports whether a value is defined behind a block; parameters and constants precede all.
func (b *builder) definedAfter(home *block, x reg) bool {
	if x.isConst() {
		return false
	}
	h := b.homes[b.id(x)]
	return h != nil && h.order > home.order
}

// outermost is the block for a pure value under hoisted.
func (b *builder) outermost(operands [4]id) *block {
	var at *block
	for _, x := range operands {
		h := b.homes[x]
		if h != nil && (at == nil || h.order > at.order) {
			at = h
		}
	}
	if at == nil {
		at = b.start
	}
	return at
}

// emit appends an instruction to the current block.
func (b *builder) emit(inst llvm.Instruction) {
	b.budget.Step()
	b.budget.Hold(budget.InstructionBytes)
	b.cur.Insts = local.Append(b.cur.Insts, inst)
	unnoted := b.cur.noted != b.origin && b.origin != nil
	if !unnoted && b.place == nil {
		return
	}
	if m := metadataOf(inst); m != nil {
		if *m == nil {
			*m = b.attached.Take(2)[:0]
		}
		if unnoted {
			if b.note == nil {
				b.note = note(ptxop.Source, &metadata.String{Value: sourceText(b.origin, b.lines)})
			}
			*m = append(*m, b.note)
			b.cur.noted = b.origin
		}
		if b.place != nil {
			*m = append(*m, b.place)
		}
	}
}

// lookup finds a pure value under k that dominates the end of the block which it would go to; nil if there is none.
func (b *builder) lookup(k *key) (at *block, r []reg) {
	at = b.cur
	if b.hoists {
		at = b.outermost([4]id{k.a, k.b, k.c, k.d})
	}
	k.at = at.number
	if s, ok := b.computed.find(k); ok {
		r = b.made[s.from : s.from+s.n : s.from+s.n]
	}
	return at, r
}

// remember enters a pure value into the table of a block (local value numbering).
func (b *builder) remember(at *block, k *key, r ...reg) {
	k.at = at.number
	b.computed.set(k, span{int32(len(b.made)), int32(len(r))})
	b.made = append(b.made, r...)
}

// pure returns what the current block already knows under k, or makes it.
func (b *builder) pure(k key, make func() []reg) []reg {
	at, r := b.lookup(&k)
	if r == nil {
		b.in(at, func() { r = make() })
		b.remember(at, &k, r...)
	}
	return r
}

// pure1 is pure of what has one result.
func (b *builder) pure1(k key, make func() reg) reg {
	at, known := b.lookup(&k)
	if known != nil {
		return known[0]
	}
	var r reg
	b.in(at, func() { r = make() })
	b.remember(at, &k, r)
	return r
}

// typed is an LLVM instruction that is a value.
type typed interface {
	value.Value
	llvm.Instruction
}

// result appends an instruction and makes a register of its result.
func result[I typed](b *builder, k kind, inst I) reg {
	b.emit(inst)
	return b.register(k, inst, b.cur)
}

// register makes a register of a value.
func (b *builder) register(k kind, v value.Value, home *block) reg {
	b.values, b.homes = local.Append(b.values, v), local.Append(b.homes, home)
	return reg{id: id(len(b.values) - 1), k: k}
}

var binopNames = [...]string{"add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "and", "or", "xor", "shl", "lshr", "ashr", "fadd", "fsub", "fmul", "fdiv"}

func (b *builder) bin(op binop, x, y reg) reg {
	if x.k != y.k {
		panic("BUG: " + binopNames[op] + " of " + kinds[x.k].name + " and " + kinds[y.k].name)
	}
	if x.k == kI1 {
		// One-bit arithmetic is logic.
		switch op {
		case opAdd, opSub:
			op = opXor
		case opMul:
			op = opAnd
		}
	}
	if op.commutative() && x.isConst() {
		x, y = y, x
	}
	if op < opFAdd && y.isConst() {
		if x.isConst() {
			if r, ok := fold(op, x.bits, y.bits, x.k.bits()); ok {
				return con(x.k, r)
			}
		} else if r, ok := b.simplify(op, x, y); ok {
			return r
		}
	}
	r := b.pure1(key{op: opcode(op), a: b.id(x), b: b.id(y)}, func() reg { return b.binary(op, x.k, b.value(x), b.value(y)) })
	if within, ok := b.boundsOfBin(op, x, y); ok {
		b.ranges[r.id] = within
	}
	if y.isConst() && (op == opAdd || op == opSub) {
		c := y.bits
		if op == opSub {
			c = -c
		}
		b.sums[r.id] = sum{x, mask(c, x.k.bits()), b.sums[r.id].exact}
	}
	return r
}

// binary appends a binop.
func (b *builder) binary(op binop, k kind, x, y value.Value) reg {
	switch op {
	case opAdd:
		return result(b, k, llvm.NewAdd(x, y))
	case opSub:
		return result(b, k, llvm.NewSub(x, y))
	case opMul:
		return result(b, k, llvm.NewMul(x, y))
	case opUDiv:
		return result(b, k, llvm.NewUDiv(x, y))
	case opSDiv:
		return result(b, k, llvm.NewSDiv(x, y))
	case opURem:
		return result(b, k, llvm.NewURem(x, y))
	case opSRem:
		return result(b, k, llvm.NewSRem(x, y))
	case opAnd:
		return result(b, k, llvm.NewAnd(x, y))
	case opOr:
		return result(b, k, llvm.NewOr(x, y))
	case opXor:
		return result(b, k, llvm.NewXor(x, y))
	case opShl:
		return result(b, k, llvm.NewShl(x, y))
	case opLShr:
		return result(b, k, llvm.NewLShr(x, y))
	case opAShr:
		return result(b, k, llvm.NewAShr(x, y))
	case opFAdd:
		return result(b, k, llvm.NewFAdd(x, y))
	case opFSub:
		return result(b, k, llvm.NewFSub(x, y))
	case opFMul:
		return result(b, k, llvm.NewFMul(x, y))
	}
	return result(b, k, llvm.NewFDiv(x, y))
}

func (b *builder) add(x, y reg) reg  { return b.bin(opAdd, x, y) }
func (b *builder) sub(x, y reg) reg  { return b.bin(opSub, x, y) }
func (b *builder) mul(x, y reg) reg  { return b.bin(opMul, x, y) }
func (b *builder) and(x, y reg) reg  { return b.bin(opAnd, x, y) }
func (b *builder) or(x, y reg) reg   { return b.bin(opOr, x, y) }
func (b *builder) xor(x, y reg) reg  { return b.bin(opXor, x, y) }
func (b *builder) fadd(x, y reg) reg { return b.bin(opFAdd, x, y) }
func (b *builder) fsub(x, y reg) reg { return b.bin(opFSub, x, y) }
func (b *builder) fmul(x, y reg) reg { return b.bin(opFMul, x, y) }

// Shifts by a constant below the width.
func (b *builder) shl(x reg, n int) reg  { return b.bin(opShl, x, con(x.k, uint64(n))) }
func (b *builder) lshr(x reg, n int) reg { return b.bin(opLShr, x, con(x.k, uint64(n))) }
func (b *builder) ashr(x reg, n int) reg { return b.bin(opAShr, x, con(x.k, uint64(n))) }

func (b *builder) not(x reg) reg { return b.xor(x, con(x.k, ^uint64(0))) }
func (b *builder) neg(x reg) reg { return b.sub(con(x.k, 0), x) }

func (b *builder) fneg(x reg) reg {
	if x.isConst() {
		return con(x.k, x.bits^1<<(x.k.bits()-1))
	}
	return b.pure1(key{op: opFNeg, a: b.id(x)}, func() reg { return result(b, x.k, llvm.NewFNeg(b.value(x))) })
}

// icmp compares integers.
func (b *builder) icmp(p enum.IPred, x, y reg) reg {
	if x.k != y.k {
		panic("BUG: icmp of " + kinds[x.k].name + " and " + kinds[y.k].name)
	}
	if x.k == kI1 {
		return b.compareBits(p, x, y)
	}
	if x.isConst() && y.isConst() {
		sx, sy := x.sint(), y.sint()
		switch p {
		case enum.IPredEQ:
			return boolean(x.bits == y.bits)
		case enum.IPredNE:
			return boolean(x.bits != y.bits)
		case enum.IPredSLT:
			return boolean(sx < sy)
		case enum.IPredSLE:
			return boolean(sx <= sy)
		case enum.IPredSGT:
			return boolean(sx > sy)
		case enum.IPredSGE:
			return boolean(sx >= sy)
		case enum.IPredULT:
			return boolean(x.bits < y.bits)
		case enum.IPredULE:
			return boolean(x.bits <= y.bits)
		case enum.IPredUGT:
			return boolean(x.bits > y.bits)
		case enum.IPredUGE:
			return boolean(x.bits >= y.bits)
		}
	}
	if r, ok := b.decided(p, x, y); ok {
		return boolean(r)
	}
	return b.pure1(key{op: opICmp | opcode(p)<<16, a: b.id(x), b: b.id(y)}, func() reg { return result(b, kI1, llvm.NewICmp(p, b.value(x), b.value(y))) })
}

// compareBits is icmp of predicates: as signed numbers true is -1.
func (b *builder) compareBits(p enum.IPred, x, y reg) reg {
	switch p {
	case enum.IPredEQ:
		return b.not(b.xor(x, y))
	case enum.IPredNE:
		return b.xor(x, y)
	case enum.IPredULT, enum.IPredSGT:
		return b.and(b.not(x), y)
	case enum.IPredUGT, enum.IPredSLT:
		return b.and(x, b.not(y))
	case enum.IPredULE, enum.IPredSGE:
		return b.or(b.not(x), y)
	}
	return b.or(x, b.not(y))
}

func (b *builder) fcmp(p enum.FPred, x, y reg) reg {
	return b.pure1(key{op: opFCmp | opcode(p)<<16, a: b.id(x), b: b.id(y)}, func() reg { return result(b, kI1, llvm.NewFCmp(p, b.value(x), b.value(y))) })
}

// sel is c ? x : y.
func (b *builder) sel(c, x, y reg) reg {
	switch {
	case x == y:
		return x
	case c.isConst() && c.bits != 0:
		return x
	case c.isConst():
		return y
	case x.k == kI1 && x.is(1) && y.is(0):
		return c
	case x.k == kI1:
		// Predicates have no select of their own.
		return b.or(b.and(c, x), b.and(b.not(c), y))
	}
	return b.pure1(key{op: opSelect, a: b.id(c), b: b.id(x), c: b.id(y)}, func() reg { return result(b, x.k, llvm.NewSelect(b.value(c), b.value(x), b.value(y))) })
}

// trunc, zext, sext change the width of an integer; to its own width they do nothing.
func (b *builder) trunc(x reg, to kind) reg {
	switch {
	case x.k == to:
		return x
	case x.isConst():
		return con(to, x.bits)
	}
	if e, ok := b.extensions[x.id]; ok {
		return b.resize(e.source, to, e.bySign)
	}
	return b.pure1(key{op: opTrunc.to(to), a: b.id(x)}, func() reg { return result(b, to, llvm.NewTrunc(b.value(x), to.llvm())) })
}

func (b *builder) zext(x reg, to kind) reg {
	switch {
	case x.k == to:
		return x
	case x.isConst():
		return con(to, x.bits)
	}
	return b.extend(x, to, false, func() reg {
		return b.pure1(key{op: opZExt.to(to), a: b.id(x)}, func() reg { return result(b, to, llvm.NewZExt(b.value(x), to.llvm())) })
	})
}

func (b *builder) sext(x reg, to kind) reg {
	switch {
	case x.k == to:
		return x
	case x.isConst():
		return con(to, uint64(x.sint()))
	}
	return b.extend(x, to, true, func() reg {
		return b.pure1(key{op: opSExt.to(to), a: b.id(x)}, func() reg { return result(b, to, llvm.NewSExt(b.value(x), to.llvm())) })
	})
}

// resize is trunc or, by signedness, sext or zext.
func (b *builder) resize(x reg, to kind, isSigned bool) reg {
	switch {
	case x.k.bits() >= to.bits():
		return b.trunc(x, to)
	case isSigned:
		return b.sext(x, to)
	}
	return b.zext(x, to)
}

// cast reads the bits of x as another kind of the same width.
func (b *builder) cast(x reg, to kind) reg {
	switch {
	case x.k == to:
		return x
	case x.isConst():
		return con(to, x.bits)
	}
	return b.pure1(key{op: opBitCast.to(to), a: b.id(x)}, func() reg {
		r := result(b, to, llvm.NewBitCast(b.value(x), to.llvm()))
		b.remember(b.cur, &key{op: opBitCast.to(x.k), a: b.id(r)}, x)
		return r
	})
}
