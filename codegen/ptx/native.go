package ptx

import "tileiras/codegen/ptxop"

// nativeOp names the PTX instructions that stand for LLVM's own, without their
// type.
type nativeOp uint8

const (
	opAdd nativeOp = iota
	opSub
	opMul
	opDiv
	opRem
	opShl
	opShr
	opAnd
	opOr
	opXor
	opNot
	opFAdd
	opFSub
	opFMul
	opFDiv
	opNeg
	opMov
	opSelp
	opMad
	opMulWide
	opParam
	opStoreLocal
	opLoadLocal
	numNativeOps
)

var nativeNames = [numNativeOps]string{
	opAdd: "add.", opSub: "sub.", opMul: "mul.lo.", opDiv: "div.", opRem: "rem.",
	opShl: "shl.", opShr: "shr.", opAnd: "and.", opOr: "or.", opXor: "xor.", opNot: "not.",
	opFAdd: "add.rn.", opFSub: "sub.rn.", opFMul: "mul.rn.", opFDiv: "div.rn.", opNeg: "neg.",
	opMov: "mov.", opSelp: "selp.", opMad: "mad.lo.", opMulWide: "mul.wide.",
	opParam: "ld.param.", opStoreLocal: "st.local.", opLoadLocal: "ld.local.",
}

// ptxType is a type suffix of a native instruction.
type ptxType uint8

const (
	tPred ptxType = iota
	tB8
	tB16
	tB32
	tB64
	tS8
	tS16
	tS32
	tS64
	tU8
	tU16
	tU32
	tU64
	tF32
	tF64
	numTypes
)

var typeNames = [numTypes]string{"pred", "b8", "b16", "b32", "b64", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "f32", "f64"}

// natives remembers the rows of native instructions.
type natives struct {
	rows  [numNativeOps][numTypes]*ptxop.Row
	named map[string]*ptxop.Row
	typed map[typedKey]*ptxop.Row
}

// typedKey names a row by a stem and its types: "cvt.rn." with f32 and s32.
type typedKey struct {
	stem     string
	to, from ptxType
}

// get returns the row of op on type t. The table has it: callers choose from
// what LLVM's types allow.
func (n *natives) get(op nativeOp, t ptxType) *ptxop.Row {
	r := n.rows[op][t]
	if r == nil {
		r = ptxop.Must(nativeNames[op] + typeNames[t])
		n.rows[op][t] = r
	}
	return r
}

// name returns the row with the given full name.
func (n *natives) name(s string) *ptxop.Row {
	if r := n.named[s]; r != nil {
		return r
	}
	if n.named == nil {
		n.named = map[string]*ptxop.Row{}
	}
	r := ptxop.Must(s)
	n.named[s] = r
	return r
}

// test returns a comparison, e.g. of stem "setp.lt." and type s32.
func (n *natives) test(stem string, t ptxType) *ptxop.Row { return n.conversion(stem, t, tPred) }

// conversion returns a conversion: stem, then type, then type. A comparison has
// only one; its second is tPred.
func (n *natives) conversion(stem string, to, from ptxType) *ptxop.Row {
	key := typedKey{stem, to, from}
	if r := n.typed[key]; r != nil {
		return r
	}
	if n.typed == nil {
		n.typed = map[typedKey]*ptxop.Row{}
	}
	name := stem + typeNames[to]
	if from != tPred {
		name += "." + typeNames[from]
	}
	r := ptxop.Must(name)
	n.typed[key] = r
	return r
}

// sized returns the ptxType of the given kind ('b', 's', 'u') and width.
func sized(kind byte, bits int) ptxType {
	base := tB8
	switch kind {
	case 's':
		base = tS8
	case 'u':
		base = tU8
	}
	switch bits {
	case 8:
		return base
	case 16:
		return base + 1
	case 32:
		return base + 2
	}
	return base + 3
}

// moveType returns the type under which a register is moved.
func moveType(t ptxop.Type) ptxType {
	return [...]ptxType{tPred, tB16, tB32, tB64, tF32, tF64}[t]
}
