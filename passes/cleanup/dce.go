package cleanup

import (
	"tileiras/ir"
	"tileiras/passes/pass"
)

// DCE erases ops whose results nobody uses and that do nothing else. It walks backwards, so that what only dead ops used
// goes in the same walk.
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
