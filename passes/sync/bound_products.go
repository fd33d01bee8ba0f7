package sync

import (
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// boundProducts waits for all products of the tensor unit where more would be in flight than have an mbarrier: products that go on around loops which may
// have no iteration, one after the other.
func boundProducts(c *ir.Context, entry *ir.Op) {
	for _, op := range tileaa.PendingProducts(entry).Over {
		b := ir.NewBuilder(c).Before(op)
		b.Loc = op.Loc()
		tileaa.NewDotWait(b, 0)
	}
}
