package pass

import (
	"cmp"
	"fmt"
	"maps"
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
	// Named says that the user named the passes: each must fit the form of the module that it gets.
	Named bool

	form    tileaa.Form // what the passes so far establish
	restart checkpoint
}

// A checkpoint is a state from which the passes run again with another plan. It needs no copy where the next pass makes a new module and leaves this one
// unchanged.
type checkpoint struct {
	module *ir.Op
	at     int // index of the pass that runs next
	notes  int // number of notes
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

// MaxPlans is how many plans of an entry are tried before the kernel is reported as too big.
const MaxPlans = 4

// Run runs the passes. Where one returns ErrPlan for an entry, the passes run again from the checkpoint with the entry's next plan. The checkpoint is the last
// module before planner that no pass has changed in place: the input of the conversion, or, without one, that of planner, of which each attempt gets a copy.
// Where no plan is left, the entry is compiled without optimization, which copies nothing ahead and so takes less of everything, and a warning says so.
func (m *Manager) Run(list []*Pass, planner string) error {
	plan := slices.IndexFunc(list, func(p *Pass) bool { return p.Name == planner })
	if m.State.PlanIndex == nil {
		m.State.PlanIndex = map[string]int{}
	}
	lastFailure := map[string]*ErrPlan{} // why the last plan of an entry failed
	tooBig := map[string]*ErrPlan{}      // why the last plan with optimization failed
	for i := 0; i < len(list); i++ {
		given := checkpoint{m.State.Module, i, len(m.State.Notes), m.form}
		if i == plan {
			if m.restart.module == nil {
				m.restart = given
			}
			if m.restart.at == i {
				m.State.Module = m.State.Ctx.Clone(m.restart.module, ir.Mapping{})
			}
		}
		err := m.step(list[i])
		if e, ok := err.(*ErrPlan); ok && plan >= 0 && i >= plan {
			m.State.planFailed(e)
			last := i == plan || m.State.PlanIndex[e.Entry] >= MaxPlans
			if before := lastFailure[e.Entry]; i == plan && before != nil {
				e = before
			}
			lastFailure[e.Entry] = e
			switch {
			case last && (m.Named || m.State.Opt == 0 || tooBig[e.Entry] != nil):
				return m.noPlanLeft(cmp.Or(tooBig[e.Entry], e))
			case last:
				tooBig[e.Entry] = e
				m.withoutOptimization(e.Entry)
				delete(lastFailure, e.Entry)
			}
			m.State.Module, m.State.Notes, m.form = m.restart.module, m.State.Notes[:m.restart.notes], m.restart.form
			i = m.restart.at - 1
			continue
		}
		if err != nil {
			return err
		}
		if i < plan && m.State.Module != given.module {
			m.restart = given
		}
		if list[i].Name == m.StopAfter {
			break
		}
	}
	for _, entry := range slices.Sorted(maps.Keys(tooBig)) {
		m.say(ir.Warning, tooBig[entry], "compiled without optimization, with which the tiles are too big: %s")
	}
	return nil
}

// withoutOptimization makes an entry begin anew as at -O0.
func (m *Manager) withoutOptimization(entry string) {
	if m.State.unoptimized == nil {
		m.State.unoptimized = map[string]bool{}
	}
	m.State.unoptimized[entry] = true
	delete(m.State.Plans, entry)
	delete(m.State.PlanIndex, entry)
}

// noPlanLeft is the error of a compile whose last plan has failed.
func (m *Manager) noPlanLeft(e *ErrPlan) error {
	if e.Cause != nil {
		return e.Cause
	}
	m.say(ir.Error, e, "tile too big: %s")
	return ErrInvalid
}

// say reports why a plan failed, at its place or its entry.
func (m *Manager) say(severity ir.Severity, e *ErrPlan, format string) {
	for _, op := range m.State.Entries() {
		if SymbolName(op) == e.Entry {
			at := e.Loc
			if ir.IsUnknown(at) {
				at = op.Loc()
			}
			m.State.Ctx.Diags.Add(severity, at, format, e.Reason)
		}
	}
}

// settleBudget counts what is there when a pass is over: the module and its origin.
func (m *Manager) settleBudget() {
	b := m.State.Ctx.Budget
	if !b.Limited() {
		return
	}
	b.Settle(bytesOf(m.State.Module) + bytesOf(m.restart.module))
}

// bytesOf is what the operations of a module take, about.
func bytesOf(m *ir.Op) (n int64) {
	if m != nil {
		ir.Walk(m, ir.PreOrder, func(op *ir.Op) { n += budget.OpBytes(op.NumOperands(), op.NumResults()) })
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
	m.State.running = *p
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
	m.settleBudget()
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
