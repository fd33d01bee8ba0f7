package passes

import (
	"errors"
	"strings"
	"testing"
)

// TestTooBigSaysWhatTheLastPlanLacked: when the planner runs out of plans, the error is about the last one that was tried.
func TestTooBigSaysWhatTheLastPlanLacked(t *testing.T) {
	s := parse(t, "tileaa.module @kernels {\nentry @k() {\n  return\n}\n}\n")
	plan := &Pass{Name: "plan", Run: func(s *State) error {
		if s.PlanIndex["k"] >= 2 {
			return &ErrPlan{Entry: "k", Reason: "no plan is left"}
		}
		return nil
	}}
	realise := &Pass{Name: "realise", Run: func(s *State) error {
		return &ErrPlan{Entry: "k", Reason: []string{"it needs 9 bytes", "it needs 5 bytes"}[s.PlanIndex["k"]]}
	}}
	m := &Manager{State: s}
	if err := m.Run([]*Pass{plan, realise}, "plan"); !errors.Is(err, ErrInvalid) {
		t.Fatalf("the run ends with %v", err)
	}
	if text := s.Ctx.Diags.String(); !strings.Contains(text, "tile too big: it needs 5 bytes") {
		t.Errorf("diagnostics are %q", text)
	}
}
