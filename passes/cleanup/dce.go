package cleanup

import "tileiras/passes/pass"

// DCE is dead code elimination: it erases ops without uses and effects.
func DCE(s *pass.State) error {
	s.EraseDead(s.Module)
	return nil
}
