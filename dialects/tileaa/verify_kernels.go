package tileaa

import "tileiras/ir"

// VerifyKernels checks what a launch needs beyond the rules of the dialect: parameters of entries are of rank 0. Passes alone take tiles, so that texts for them
// may be short.
func VerifyKernels(c *ir.Context, module *ir.Op) bool {
	ok := true
	for _, e := range ir.OpsOf[Entry](module.Body()) {
		for i, a := range e.Op.Body().Args() {
			if IsRanked(a) {
				ok = c.Error(e.Op, "has a tile of rank %d as parameter %d: no launch gives one", len(ShapeOf(a)), i)
			}
		}
	}
	return ok
}
