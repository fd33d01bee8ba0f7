package facts

import (
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// DistinctPlace reports whether no two elements of a block or of a tile of pointers lie at a common byte.
func (f *Facts) DistinctPlace(v *ir.Value) bool {
	if _, block := v.Type().(*tileaa.BlockType); !block {
		return f.DistinctPointers(v)
	}
	b, ok := ir.DefinedBy[tileaa.BlockTile](v)
	return ok && f.DistinctBlock(b)
}

// maxCompared bounds how many pairs of operations SamePlace compares: values may share much of what they are made of.
const maxCompared = 64

// SamePlace reports whether two pure values are made by equal operations from equal values that are fixed: not given anew between the
// two moments that are compared.
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
		if x == nil || y == nil || x.Def != y.Def || !x.Traits().Has(ir.Pure) || x.NumRegions() > 0 ||
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

// AnyTime is for SamePlace when both values are meant at one moment.
func AnyTime(*ir.Value) bool { return true }
