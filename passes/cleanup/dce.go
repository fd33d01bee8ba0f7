package cleanup

import (
	"tileiras/ir"
	"tileiras/passes/pass"
)

// DCE is dead code elimination: it erases ops without uses and effects. It walks backwards, so that the operands of dead ops
// die in the same walk.
func DCE(s *pass.State) error {
	eraseDead(s, s.Module)
	return nil
}

func eraseDead(s *pass.State, op *ir.Op) {
	for b := range op.Blocks() {
		for o := b.Last(); o != nil; {
			s.Step()
			prev := o.Prev()
			if ir.IsDead(o) {
				o.Erase()
			} else {
				eraseDead(s, o)
				if ir.IsDead(o) { // its region has become empty
					o.Erase()
				}
			}
			o = prev
		}
	}
}
