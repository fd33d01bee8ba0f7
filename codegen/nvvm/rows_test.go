package nvvm

import (
	"testing"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// Every operation of TileAA is lowered here, or is gone by then: module items are handled by Lower, and blocks end by the operation around them.
func TestEveryOperationHasALowering(t *testing.T) {
	elsewhere := map[ir.Code]bool{tileaa.OpModule: true, tileaa.OpEntry: true, tileaa.OpGlobal: true}
	for _, op := range tileaa.Dialect.Ops {
		if (lowerings.Of(op.Code) == nil) != elsewhere[op.Code] {
			t.Errorf("%s: lowering here: %v", op.Name, lowerings.Of(op.Code) != nil)
		}
	}
}
