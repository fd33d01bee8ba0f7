package pass_test

import (
	"tileiras/passes/pass"

	"errors"
	"strings"
	"testing"
	"tileiras/passes/passtest"
)

// TestTooBigSaysWhatTheLastPlanLacked: when the planner runs out of plans, the error is about the last one that was tried.
func TestTooBigSaysWhatTheLastPlanLacked(t *testing.T) {
	s := passtest.Parse(t, "tileaa.module @kernels {\nentry @k() {\n  return\n}\n}\n")
	plan := &pass.Pass{Name: "plan", Run: func(s *pass.State) error {
		if s.PlanIndex["k"] >= 2 {
			return &pass.ErrPlan{Entry: "k", Reason: "no plan is left"}
		}
		return nil
	}}
	realise := &pass.Pass{Name: "realise", Run: func(s *pass.State) error {
		return &pass.ErrPlan{Entry: "k", Reason: []string{"it needs 9 bytes", "it needs 5 bytes"}[s.PlanIndex["k"]]}
	}}
	if got := (&pass.ErrPlan{Entry: "k", Reason: "no plan is left"}).Error(); got != "plan of k cannot be realised: no plan is left" {
		t.Errorf("the error says %q", got)
	}
	m := &pass.Manager{State: s}
	if err := m.Run([]*pass.Pass{plan, realise}, "plan"); !errors.Is(err, pass.ErrInvalid) {
		t.Fatalf("the run ends with %v", err)
	}
	if text := s.Ctx.Diags.String(); !strings.Contains(text, "tile too big: it needs 5 bytes") {
		t.Errorf("diagnostics are %q", text)
	}
}

// Options hold for the pass that they are given to: the same pass without options has its defaults again.
func TestOptionsEndWithTheirPass(t *testing.T) {
	s := passtest.Parse(t, "tileaa.module @kernels {\n}\n")
	size := pass.Option{Name: "size", Default: "4"}
	var got []string
	p := &pass.Pass{Name: "p", Options: []pass.Option{size}, Run: func(s *pass.State) error {
		got = append(got, s.Option(size))
		return nil
	}}
	with, err := p.With(map[string]string{"size": "7"})
	if err != nil {
		t.Fatal(err)
	}
	if err := (&pass.Manager{State: s}).Run([]*pass.Pass{p, with, p}, ""); err != nil {
		t.Fatal(err)
	}
	if want := "4 7 4"; strings.Join(got, " ") != want {
		t.Errorf("sizes %v, want %s", got, want)
	}
}
