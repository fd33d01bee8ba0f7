package passes

import (
	"tileiras/dialects/cudatile"
	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// dimOf is the dimension along which a reduce, a scan or a cat works.
func dimOf(op *ir.Op) int { return int(ir.Cast[tileaa.DimOp](op).Dim()) }

// symbolName is the name that an op defines, in either dialect; "" for ops that define none.
func symbolName(op *ir.Op) string {
	if s, ok := ir.As[tileaa.SymbolOp](op); ok {
		return s.SymName()
	}
	if s, ok := ir.As[cudatile.SymbolOp](op); ok {
		return s.SymName()
	}
	return ""
}

// tokenBefore is the token after which an op comes, or nil.
func tokenBefore(op *ir.Op) *ir.Value {
	if t, ok := ir.As[tileaa.TokenOp](op); ok {
		return t.Token()
	}
	return nil
}

// strong reports whether an access must happen once per element: anything but weak.
func strong(op *ir.Op) bool {
	m, ok := ir.As[tileaa.MemoryOp](op)
	return ok && m.Order() != def.Weak
}

// blockOf is the block_tile that an access names; ok is false for accesses through pointers and other ops.
func blockOf(op *ir.Op) (b tileaa.BlockTile, ok bool) {
	a, ok := ir.As[tileaa.BlockOp](op)
	if !ok {
		return b, false
	}
	return ir.DefinedBy[tileaa.BlockTile](a.Block())
}
