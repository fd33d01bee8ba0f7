// Package local numbers the local values of LLVM functions densely, so that properties of values can be kept in slices instead of maps.
//
// The number of a value is stored in the field in which the library has the number that it prints (LocalID).
package local

import (
	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/metadata"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"
)

// Assign numbers parameters, blocks and results of a function from 0 on and returns how many there are. Values without a name come first, so that
// they have the numbers that the library prints.
func Assign(f *ir.Func) int32 {
	var n numbering
	for _, p := range f.Params {
		n.give(&p.LocalIdent)
	}
	for _, b := range f.Blocks {
		n.give(&b.LocalIdent)
		for _, inst := range b.Insts {
			n.result(inst)
		}
		n.result(b.Term)
	}
	for _, l := range n.named {
		l.LocalID = n.next
		n.next++
	}
	return int32(n.next)
}

// numbering is the state of Assign.
type numbering struct {
	next  int64
	named []*ir.LocalIdent // which have numbers after the others
}

func (n *numbering) give(l *ir.LocalIdent) {
	if l.IsUnnamed() {
		l.LocalID = n.next
		n.next++
	} else {
		n.named = append(n.named, l)
	}
}

// result numbers the result of an instruction, if it has one.
func (n *numbering) result(inst any) {
	var t types.Type
	switch i := inst.(type) {
	case *ir.InstExtractValue: // as most are
		n.give(&i.LocalIdent)
		return
	case *ir.InstCall:
		t = i.Type()
	case *ir.TermInvoke:
		t = i.Type()
	case *ir.TermCallBr:
		t = i.Type()
	}
	l, _ := parts(inst)
	if l == nil {
		return
	}
	if _, void := t.(*types.VoidType); void {
		l.LocalID = none
	} else {
		n.give(l)
	}
}

// none is the number of a call without a result.
const none = -1

// Set numbers an instruction, with or without a result.
func Set(inst ir.Instruction, n int32) {
	if l, _ := parts(inst); l != nil {
		l.LocalID = int64(n)
	}
}

// Number is the number of a parameter or of an instruction's result. Other values have none.
func Number(v value.Value) (n int32, ok bool) {
	var l *ir.LocalIdent
	switch i := v.(type) { // most are one of these
	case *ir.InstExtractValue:
		l = &i.LocalIdent
	case *ir.InstCall:
		l = &i.LocalIdent
	case *constant.Int, *ir.InlineAsm:
		return 0, false
	default:
		if l, _ = parts(v); l == nil {
			return 0, false
		}
	}
	return int32(l.LocalID), l.LocalID != none
}

// Value is an instruction as a value; ok is false if it is none.
func Value(inst ir.Instruction) (v value.Value, ok bool) {
	switch i := inst.(type) { // most are one of these, which need no search for their methods
	case *ir.InstCall:
		return i, true
	case *ir.InstExtractValue:
		return i, true
	case *ir.InstPhi:
		return i, true
	}
	v, ok = inst.(value.Value)
	return v, ok
}

// Of is the number of an instruction's result, -1 if it has none, and its metadata.
func Of(inst ir.Instruction) (n int32, attached []*metadata.Attachment) {
	n = none
	l, m := parts(inst)
	if l != nil {
		n = int32(l.LocalID)
	}
	if m != nil {
		attached = *m
	}
	return n, attached
}

// AppendOperands appends the operands of an instruction to a list.
func AppendOperands(list []*value.Value, inst ir.Instruction) []*value.Value {
	switch i := inst.(type) {
	case *ir.InstCall:
		list = append(list, &i.Callee)
		for k := range i.Args {
			list = append(list, &i.Args[k])
		}
		return list
	case *ir.InstExtractValue:
		return append(list, &i.X)
	case *ir.InstSelect:
		return append(list, &i.Cond, &i.ValueTrue, &i.ValueFalse)
	case *ir.InstAdd:
		return append(list, &i.X, &i.Y)
	case *ir.InstSub:
		return append(list, &i.X, &i.Y)
	case *ir.InstMul:
		return append(list, &i.X, &i.Y)
	case *ir.InstAnd:
		return append(list, &i.X, &i.Y)
	case *ir.InstOr:
		return append(list, &i.X, &i.Y)
	case *ir.InstXor:
		return append(list, &i.X, &i.Y)
	case *ir.InstShl:
		return append(list, &i.X, &i.Y)
	case *ir.InstLShr:
		return append(list, &i.X, &i.Y)
	case *ir.InstAShr:
		return append(list, &i.X, &i.Y)
	case *ir.InstFAdd:
		return append(list, &i.X, &i.Y)
	case *ir.InstFSub:
		return append(list, &i.X, &i.Y)
	case *ir.InstFMul:
		return append(list, &i.X, &i.Y)
	case *ir.InstICmp:
		return append(list, &i.X, &i.Y)
	case *ir.InstFCmp:
		return append(list, &i.X, &i.Y)
	case *ir.InstTrunc:
		return append(list, &i.From)
	case *ir.InstZExt:
		return append(list, &i.From)
	case *ir.InstSExt:
		return append(list, &i.From)
	case *ir.InstBitCast:
		return append(list, &i.From)
	case *ir.InstPtrToInt:
		return append(list, &i.From)
	case *ir.InstPhi:
		for _, in := range i.Incs {
			list = append(list, &in.X, &in.Pred)
		}
		return list
	}
	return append(list, inst.Operands()...) // allocates a list: only for rare instructions
}

// parts is where a local value keeps its number, and an instruction its metadata.
func parts(v any) (*ir.LocalIdent, *ir.Metadata) {
	switch i := v.(type) { // most are one of these
	case *ir.InstCall:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstExtractValue:
		return &i.LocalIdent, &i.Metadata
	}
	switch i := v.(type) {
	case *ir.Param:
		return &i.LocalIdent, nil
	case *ir.InstStore:
		return nil, &i.Metadata
	case *ir.InstFence:
		return nil, &i.Metadata
	case *ir.InstAdd:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstFAdd:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstSub:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstFSub:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstMul:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstFMul:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstUDiv:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstSDiv:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstFDiv:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstURem:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstSRem:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstFRem:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstShl:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstLShr:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstAShr:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstAnd:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstOr:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstXor:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstTrunc:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstZExt:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstSExt:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstFPTrunc:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstFPExt:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstFPToUI:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstFPToSI:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstUIToFP:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstSIToFP:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstPtrToInt:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstIntToPtr:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstBitCast:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstAddrSpaceCast:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstFNeg:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstICmp:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstFCmp:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstPhi:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstSelect:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstFreeze:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstInsertValue:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstExtractElement:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstInsertElement:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstShuffleVector:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstAlloca:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstLoad:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstCmpXchg:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstAtomicRMW:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstGetElementPtr:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstVAArg:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstLandingPad:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstCatchPad:
		return &i.LocalIdent, &i.Metadata
	case *ir.InstCleanupPad:
		return &i.LocalIdent, &i.Metadata
	case *ir.TermInvoke:
		return &i.LocalIdent, &i.Metadata
	case *ir.TermCallBr:
		return &i.LocalIdent, &i.Metadata
	case *ir.TermCatchSwitch:
		return &i.LocalIdent, &i.Metadata
	}
	return nil, nil
}
