package pass

import "tileiras/ir"

// SymbolName is the name that an op defines, in either dialect; "" for ops that define none.
func SymbolName(op *ir.Op) string {
	name, _ := op.SymbolName()
	return name
}
