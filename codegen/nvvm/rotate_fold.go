package nvvm

import (
	llvm "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"
)

// folded is the constant that an integer instruction gives for constant operands, as those of the first iterations of a loop are; absent if it gives none.
func (b *builder) folded(inst llvm.Instruction, with []value.Value) reg {
	var x [2]reg
	if len(with) == 0 || len(with) > len(x) {
		return reg{}
	}
	for i, v := range with {
		c, ok := v.(*constant.Int)
		if !ok {
			return reg{}
		}
		x[i] = con(kindOfInt(c.Typ), uint64(c.X.Int64()))
	}
	var op binop
	switch i := inst.(type) {
	case *llvm.InstICmp:
		return b.icmp(i.Pred, x[0], x[1])
	case *llvm.InstZExt:
		return b.zext(x[0], kindOfInt(i.To))
	case *llvm.InstSExt:
		return b.sext(x[0], kindOfInt(i.To))
	case *llvm.InstTrunc:
		return b.trunc(x[0], kindOfInt(i.To))
	case *llvm.InstAdd:
		op = opAdd
	case *llvm.InstSub:
		op = opSub
	case *llvm.InstMul:
		op = opMul
	case *llvm.InstAnd:
		op = opAnd
	case *llvm.InstOr:
		op = opOr
	case *llvm.InstXor:
		op = opXor
	case *llvm.InstShl:
		op = opShl
	case *llvm.InstLShr:
		op = opLShr
	default:
		return reg{}
	}
	n, ok := fold(op, x[0].bits, x[1].bits, x[0].k.bits())
	if !ok {
		return reg{}
	}
	return con(x[0].k, n)
}

// kindOfInt is the kind of an integer type.
func kindOfInt(t types.Type) kind { return intKind(int(t.(*types.IntType).BitSize)) }
