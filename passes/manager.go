package passes

import (
	"fmt"
	"runtime/debug"
	"slices"

	"tileiras/internal/planted"
	"tileiras/ir"
)

// Manager runs passes in order over one state.
type Manager struct {
	State *State

	// Before and After are called round every pass; After also gets what the pass returned as text would show it.
	Before, After func(p *Pass, m *ir.Op)
	// VerifyEach checks the module after every pass.
	VerifyEach bool
	// StopAfter ends the run after the named pass.
	StopAfter string
	// Check is the structural check of a stage: what is legal after each pass.
	Check func(m *ir.Op, after string) error
}

// Bug is a fault of ours: a pass panicked, or left a module that does not verify.
type Bug struct {
	Pass  string
	Cause any
	Stack string
	// Input is the module before the pass, as text that one command runs again; the driver fills it.
	Input string
}

func (b *Bug) Error() string { return fmt.Sprintf("BUG: pass %s: %v", b.Pass, b.Cause) }

// maxPlans is how many plans of an entry are tried before the kernel counts as too big (DESIGN: the plan).
const maxPlans = 4

// Run runs the passes. The first one that returns ErrPlan for an entry takes everything back to the snapshot made before
// planner, with the entry's next plan.
func (m *Manager) Run(list []*Pass, planner string) error {
	var snapshot *ir.Op
	plan := slices.IndexFunc(list, func(p *Pass) bool { return p.Name == planner })
	if m.State.PlanIndex == nil {
		m.State.PlanIndex = map[string]int{}
	}
	for i := 0; i < len(list); i++ {
		if i == plan {
			snapshot = m.State.Module.Clone(ir.Mapping{})
		}
		err := m.step(list[i])
		if e, ok := err.(*ErrPlan); ok && plan >= 0 && i >= plan {
			m.State.PlanIndex[e.Entry]++
			if m.State.PlanIndex[e.Entry] >= maxPlans {
				return m.tooBig(e)
			}
			m.State.Remark(ir.UnknownLoc{}, "%s; taking plan %d", e.Error(), m.State.PlanIndex[e.Entry])
			m.State.Module = snapshot.Clone(ir.Mapping{})
			i = plan - 1
			continue
		}
		if err != nil {
			return err
		}
		if list[i].Name == m.StopAfter {
			return nil
		}
	}
	return nil
}

func (m *Manager) tooBig(e *ErrPlan) error {
	for _, op := range m.State.Entries() {
		if op.StringNamed("sym_name") == e.Entry {
			m.State.Ctx.Diags.Add(ir.Error, op.Loc(), "tile too big: %s", e.Reason)
		}
	}
	return ErrInvalid
}

// step runs one pass with its dumps and checks; a panic becomes a Bug.
func (m *Manager) step(p *Pass) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Bug{Pass: p.Name, Cause: r, Stack: string(debug.Stack())}
		}
	}()
	if m.Before != nil {
		m.Before(p, m.State.Module)
	}
	if planted.On("crash-" + p.Name) {
		panic("planted")
	}
	before := m.State.Ctx.Diags.Errors()
	if err := p.Run(m.State); err != nil {
		return err
	}
	if m.State.Ctx.Diags.Errors() > before {
		return ErrInvalid
	}
	if m.After != nil {
		m.After(p, m.State.Module)
	}
	if m.VerifyEach {
		if !ir.Verify(m.State.Ctx, m.State.Module) {
			return &Bug{Pass: p.Name, Cause: "the module does not verify:\n" + m.State.Ctx.Diags.String()}
		}
		if m.Check != nil {
			if err := m.Check(m.State.Module, p.Name); err != nil {
				return &Bug{Pass: p.Name, Cause: err}
			}
		}
	}
	return nil
}
