package pass

import (
	"tileiras/dialects/cudatile"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// SymbolName is the name that an op defines, in either dialect; "" for ops that define none.
func SymbolName(op *ir.Op) string {
	name, _ := op.SymbolName()
	return name
}

// SetSymbolName renames the symbol that an op of either dialect defines.
func SetSymbolName(op *ir.Op, name string) {
	if s, ok := ir.As[tileaa.SymbolOp](op); ok {
		s.SetSymName(name)
		return
	}
	ir.Cast[cudatile.SymbolOp](op).SetSymName(name)
}
