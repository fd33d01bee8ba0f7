package atom

import "testing"

func TestEveryCopyIsAnInstruction(t *testing.T) {
	n := 0
	for kind := range copies {
		for _, c := range copies[kind]() {
			if c.on(sm(t, "sm_100")); c.Op == nil || c.Op.Name != c.Name {
				t.Errorf("%s has the instruction %v", c.Name, c.Op)
			}
			n++
		}
	}
	if want := 6 + 6 + 5 + 5 + 6 + 6 + 4; n != want {
		t.Errorf("%d rows, want %d", n, want)
	}
}
