package facts

import (
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// DistinctPlace reports whether no two elements of a block or of a tile of pointers overlap.
func (f *Facts) DistinctPlace(v *ir.Value) bool {
	if _, block := v.Type().(*tileaa.BlockType); !block {
		return f.distinctPointers(v)
	}
	b, ok := ir.DefinedBy[tileaa.BlockTile](v)
	return ok && f.distinctBlock(b)
}

// maxCompared bounds how many pairs of operations SamePlace compares: values may share much of what they are made of.
const maxCompared = 64

// SamePlace reports whether two addresses are structurally equal: computed by the same pure operations from the same leaves. The two may
// be evaluated at different moments, as in different iterations of a loop; fixed reports whether a leaf has one value at both.
func SamePlace(a, b *ir.Value, fixed func(*ir.Value) bool) bool {
	left := maxCompared
	var same func(a, b *ir.Value) bool
	same = func(a, b *ir.Value) bool {
		if left--; left < 0 {
			return false
		}
		if a == b && fixed(a) {
			return true
		}
		x, y := a.DefiningOp(), b.DefiningOp()
		if x == nil || y == nil || x.Def != y.Def || !x.MovesFreely() ||
			a.Index() != b.Index() || a.Type() != b.Type() || x.NumOperands() != y.NumOperands() {
			return false
		}
		for i := range x.Attrs() {
			if !ir.AttrEqual(x.Attr(i), y.Attr(i)) {
				return false
			}
		}
		for i := range x.NumOperands() {
			if !same(x.Operand(i), y.Operand(i)) {
				return false
			}
		}
		return true
	}
	return same(a, b)
}

// AnyTime is the fixed of SamePlace for two values at one moment: every leaf is.
func AnyTime(*ir.Value) bool { return true }
