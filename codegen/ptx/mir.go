package ptx

import (
	"tileiras/codegen/local"
	"tileiras/codegen/ptxop"
	"tileiras/ir/budget"
)

// The machine IR of one kernel: blocks of instructions, each a ptxop row with
// its operands. Virtual registers are in SSA form until destruct replaces phis
// and tied operands by moves.

// reg is a virtual register of a function, an index into function.regs; 0 is no
// register.
type reg int32

// An operand of an instruction.
type operand struct {
	kind operandKind
	not  bool  // of a guard or a branch condition: the predicate is negated
	reg  reg   // of a register; of a symbol: its index in function.symbols
	bits int64 // of a constant: its bits, sign extended; of a symbol: byte offset
}

type operandKind uint8

const (
	kindNone  operandKind = iota
	kindReg               // reg
	kindConst             // bits; how they print is the row's affair
	kindSym               // address of a variable in its own space, plus bits
)

func ofReg(r reg) operand       { return operand{kind: kindReg, reg: r} }
func ofSymbol(n int32) operand  { return operand{kind: kindSym, reg: reg(n)} }
func ofBits(bits int64) operand { return operand{kind: kindConst, bits: bits} }

// regInfo is what is known of a virtual register.
type regInfo struct {
	typ   ptxop.Type
	class int32 // mandatory register class, 0 = none
}

// inst is one instruction; ops stand in the order of row.Operands.
type inst struct {
	row  *ptxop.Row
	ops  []operand
	meta int32 // index into function.metas, 0 = none
}

// A phi: args[i] is the incoming value from preds[i] of its block.
type phi struct {
	dst  reg
	args []operand
}

// A move copies src into dst; the moves at one place are a parallel copy.
type move struct {
	dst reg
	src operand
}

type termKind uint8

const (
	termRet termKind = iota
	termBranch
	termCond
	termTrap // control cannot get here
)

// block is a basic block. Blocks are numbered in layout order.
type block struct {
	name     string // of the LLVM block, "" when it has none
	phis     []phi
	insts    []inst
	moves    []move // at the end, before the terminator, in parallel
	term     termKind
	cond     operand
	succs    []int // of termCond: when cond is true, when it is false
	preds    []int
	uniform  bool
	nounroll bool // a loop that must not be unrolled begins here
	meta     int32
}

// meta is the source position and the comment of an instruction.
type meta struct {
	file, line, column int
	note               string
}

type symbolInfo struct {
	name  string
	space int // LLVM address space; 0 = the kernel's own local memory
}

// function is one kernel on its way through the back end.
type function struct {
	name    string
	own     *ownNames
	blocks  []*block
	regs    []regInfo // regs[0] is unused
	symbols []symbolInfo
	metas   []meta // metas[0] is unused
	depot   int64  // bytes of local memory
	// classNames names the values of mandatory classes, for messages.
	classNames map[reg]string
	arena      local.Slab[operand]
	budget     *budget.Budget
}

// newReg returns a fresh virtual register.
func (f *function) newReg(t ptxop.Type) reg {
	f.regs = append(f.regs, regInfo{typ: t})
	return reg(len(f.regs) - 1)
}

// newOps returns n operands of an instruction.
func (f *function) newOps(n int) []operand { return f.arena.Take(n) }

// regBits returns the size of a register: types of the same size may share one.
func regBits(t ptxop.Type) int { return t.Bits() }
