package pass_test

import (
	"errors"
	"strings"
	"testing"

	"tileiras/ir"
	"tileiras/passes/pass"
	"tileiras/passes/passtest"
)

// TestTooBigSaysWhatTheLastPlanLacked: when the planner runs out of plans, the error is about the last one that was tried.
func TestTooBigSaysWhatTheLastPlanLacked(t *testing.T) {
	s := passtest.Parse(t, "tileaa.module @kernels {\nentry @k() {\n  return\n}\n}\n")
	plan := &pass.Pass{Name: "plan", Run: func(s *pass.State) error {
		s.Listed("k", []pass.Candidate{{Name: "big"}, {Name: "small"}}, nil)
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
	if tried := m.State.Plans["k"]; len(tried) != 2 || tried[0].Failed != "it needs 9 bytes" || tried[1].Failed != "it needs 5 bytes" {
		t.Errorf("the plans that were tried are %+v", tried)
	}
}

// TestTooBigIsTriedWithoutOptimization: when no plan of an entry is left, optional passes leave it as it is, but not the others, and a warning says why.
func TestTooBigIsTriedWithoutOptimization(t *testing.T) {
	s := passtest.Parse(t, "tileaa.module @kernels {\nentry @k() {\n  return\n}\nentry @other() {\n  return\n}\n}\n")
	s.Opt = 3
	var ran []string
	step := func(name string) func(*pass.State) error {
		return func(s *pass.State) error {
			for _, entry := range s.Entries() {
				if !s.Optimizes(entry) {
					name += "-O0"
				}
				ran = append(ran, name+"("+pass.SymbolName(entry)+")")
				name = strings.TrimSuffix(name, "-O0")
			}
			return nil
		}
	}
	plan := &pass.Pass{Name: "plan", Run: step("plan")}
	early := &pass.Pass{Name: "early", Optional: true, Run: step("early")}
	copies := &pass.Pass{Name: "copies", Optional: true, Run: func(s *pass.State) error {
		if roots := s.Roots(); s.Entries()[0] == s.Module.Body().First() {
			if len(roots) != 1 || roots[0] != s.Module {
				t.Errorf("the roots are %v, not the module", roots)
			}
			return &pass.ErrPlan{Entry: "k", Reason: "copies need 9 bytes"}
		} else if len(roots) != 1 || pass.SymbolName(roots[0]) != "other" {
			t.Errorf("the roots are %v, not the other entry", roots)
		}
		return step("copies")(s)
	}}
	realise := &pass.Pass{Name: "realise", Run: step("realise")}
	m := &pass.Manager{State: s}
	if err := m.Run([]*pass.Pass{early, plan, copies, realise}, "plan"); err != nil {
		t.Fatalf("the run ends with %v", err)
	}
	want := "early(k) early(other)" + strings.Repeat(" plan(k) plan(other)", pass.MaxPlans) + " plan-O0(k) plan(other) copies(other) realise-O0(k) realise(other)"
	if got := strings.Join(ran, " "); got != want {
		t.Errorf("%s ran, not %s", got, want)
	}
	if text := s.Ctx.Diags.String(); strings.Count(text, "warning: compiled without optimization, with which the tiles are too big: copies need 9 bytes") != 1 {
		t.Errorf("diagnostics are %q", text)
	}
}

// The next plan begins with the module that the first one began with, whatever that has done to it: with what was converted, where the module was.
func TestNextPlanBeginsAsTheFirst(t *testing.T) {
	var given []*ir.Op
	convert := &pass.Pass{Name: "convert", Run: func(s *pass.State) error {
		given = append(given, s.Module)
		s.Remark(s.Module.Loc(), "converted")
		s.Module = s.Ctx.Clone(s.Module, ir.Mapping{})
		return nil
	}}
	plan := &pass.Pass{Name: "plan", Run: func(s *pass.State) error { return nil }}
	var entries []int
	realise := &pass.Pass{Name: "realise", Run: func(s *pass.State) error {
		entries = append(entries, len(s.Entries()))
		s.Remark(s.Module.Loc(), "realised")
		if s.PlanIndex["k"] < 2 {
			s.Entries()[0].Erase()
			return &pass.ErrPlan{Entry: "k", Reason: "it is the first or the second"}
		}
		return nil
	}}
	for _, list := range [][]*pass.Pass{{convert, plan, realise}, {plan, realise}} {
		s := passtest.Parse(t, "tileaa.module @kernels {\nentry @k() {\n  return\n}\n}\n")
		module := s.Module
		given, entries = nil, nil
		if err := (&pass.Manager{State: s}).Run(list, "plan"); err != nil {
			t.Fatal(err)
		}
		for _, m := range given {
			if m != module {
				t.Errorf("of %d passes, the first is not always given the module that was read", len(list))
			}
		}
		if len(given) != 3*(len(list)-2) || len(entries) != 3 || entries[0] != 1 || entries[1] != 1 || entries[2] != 1 || len(s.Entries()) != 1 {
			t.Errorf("of %d passes, the first runs %d times and the last finds %v entries, want one each time", len(list), len(given), entries)
		}
		if len(s.Notes) != len(list)-1 {
			t.Errorf("of %d passes, remarks are %v, want each once", len(list), s.Notes)
		}
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
