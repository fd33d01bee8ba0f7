package pass

import (
	"fmt"
	"runtime/debug"
	"slices"

	"tileiras/codegen/planted"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/ir/budget"
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
	// Named says that somebody named the passes: each must fit the form of the module that it gets.
	Named bool

	form   tileaa.Form // what the passes that ran have given
	origin origin
}

// An origin is a module from which the passes go on again with another plan. A pass that makes a new module leaves the one that it was given as it is.
type origin struct {
	module *ir.Op
	at     int // the pass that was given it
	notes  int // before
	form   tileaa.Form
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

// MaxPlans is how many plans of an entry are tried before the kernel counts as too big (DESIGN: the plan).
const MaxPlans = 4

// Run runs the passes. The first one that returns ErrPlan for an entry takes everything back to the last module before planner that is still as it was,
// with the entry's next plan: that is what was converted, or a copy made for this.
func (m *Manager) Run(list []*Pass, planner string) error {
	plan := slices.IndexFunc(list, func(p *Pass) bool { return p.Name == planner })
	if m.State.PlanIndex == nil {
		m.State.PlanIndex = map[string]int{}
	}
	lacked := map[string]*ErrPlan{} // why the last plan of an entry could not be
	for i := 0; i < len(list); i++ {
		given := origin{m.State.Module, i, len(m.State.Notes), m.form}
		if i == plan {
			if m.origin.module == nil {
				m.origin = given
			}
			if m.origin.at == i {
				m.State.Module = m.State.Ctx.Clone(m.origin.module, ir.Mapping{})
			}
		}
		err := m.step(list[i])
		if e, ok := err.(*ErrPlan); ok && plan >= 0 && i >= plan {
			if i == plan && lacked[e.Entry] != nil {
				return m.tooBig(lacked[e.Entry])
			}
			m.State.failed(e)
			if i == plan || m.State.PlanIndex[e.Entry] >= MaxPlans {
				return m.tooBig(e)
			}
			lacked[e.Entry] = e
			m.State.Module, m.State.Notes, m.form = m.origin.module, m.State.Notes[:m.origin.notes], m.origin.form
			i = m.origin.at - 1
			continue
		}
		if err != nil {
			return err
		}
		if i < plan && m.State.Module != given.module {
			m.origin = given
		}
		if list[i].Name == m.StopAfter {
			return nil
		}
	}
	return nil
}

func (m *Manager) tooBig(e *ErrPlan) error {
	for _, op := range m.State.Entries() {
		if SymbolName(op) == e.Entry {
			at := e.Loc
			if ir.IsUnknown(at) {
				at = op.Loc()
			}
			m.State.Ctx.Diags.Add(ir.Error, at, "tile too big: %s", e.Reason)
		}
	}
	return ErrInvalid
}

// account counts what is there when a pass is over: the module and its origin.
func (m *Manager) account() {
	b := m.State.Ctx.Budget
	if !b.Limited() {
		return
	}
	b.Settle((countOps(m.State.Module) + countOps(m.origin.module)) * budget.OpBytes)
}

func countOps(m *ir.Op) (n int64) {
	if m != nil {
		ir.Walk(m, ir.PreOrder, func(*ir.Op) { n++ })
	}
	return n
}

// step runs one pass with its dumps and checks; a panic becomes a Bug.
func (m *Manager) step(p *Pass) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *budget.Stop:
			err = r.Err
		default:
			err = &Bug{Pass: p.Name, Cause: r, Stack: string(debug.Stack())}
		}
	}()
	m.State.running = p.Name
	if m.Before != nil {
		m.Before(p, m.State.Module)
	}
	if planted.On("crash-" + p.Name) {
		panic("planted")
	}
	m.State.Ctx.Budget.Look()
	if m.Named {
		if err := p.Fits(m.State.Module); err != nil {
			return err
		}
		m.form = max(m.form, tileaa.Shown(m.State.Module))
	}
	before := m.State.Ctx.Diags.Errors()
	if err := p.Run(m.State); err != nil {
		return err
	}
	if m.State.Ctx.Diags.Errors() > before {
		return ErrInvalid
	}
	m.form = max(m.form, p.Gives)
	m.account()
	if m.After != nil {
		m.After(p, m.State.Module)
	}
	if m.VerifyEach {
		if !ir.Verify(m.State.Ctx, m.State.Module) {
			return &Bug{Pass: p.Name, Cause: "the module does not verify:\n" + m.State.Ctx.Diags.String()}
		}
		if err := tileaa.CheckForm(m.State.Module, m.form); err != nil {
			return &Bug{Pass: p.Name, Cause: fmt.Errorf("after %s: %w", p.Name, err)}
		}
	}
	return nil
}
