package nvvm

import (
	"testing"

	"tileiras/dialects/tileaa/def"
)

// Every operation of TileAA is lowered here, or is gone by then: module items are handled by Lower, scaled products become dots in
// select-atoms, and blocks end by the operation around them.
func TestEveryOperationHasALowering(t *testing.T) {
	elsewhere := map[string]bool{"module": true, "entry": true, "global": true, "dot_scaled": true}
	known := map[string]bool{}
	for _, op := range def.Ops {
		known[op.Name] = true
		if (lowerings[op.Name] == nil) != elsewhere[op.Name] {
			t.Errorf("%s: lowering here: %v", op.Name, lowerings[op.Name] != nil)
		}
	}
	for name := range lowerings {
		if !known[name] {
			t.Errorf("%s is no operation of TileAA", name)
		}
	}
}
