// Package pass says what a pass is and runs passes: the state that they share, their errors and options, the manager.
package pass

import (
	"errors"
	"fmt"
	"slices"

	"tileiras/codegen/options"
	"tileiras/codegen/target"
	"tileiras/dialects/cudatile"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// Pass is one row of the list of passes.
type Pass struct {
	Name    string // verb-object; "" when it is not in the pipeline
	Summary string // one sentence: what it does
	Why     string // one sentence: why it stands where it stands
	Run     func(*State) error

	Needs tileaa.Form // what must hold of the module
	Gives tileaa.Form // what it establishes; AnyForm: nothing new
	UpTo  tileaa.Form // the last form that the module may have; AnyForm: any

	Optional   bool     // an optimization: left out at -O0
	ByName     bool     // a checker, which changes nothing: runs only where the user names it
	OnCudaTile string   // its name as a pass on cuda_tile, if it works on that dialect too
	Options    []Option // its settings
}

// ErrMisplaced says that a pass does not fit the form of the module. That is a mistake of who named the pass or, where an op breaks a rule of the form that
// the rest of the module has, of who wrote the op.
type ErrMisplaced struct {
	Text string
	Loc  ir.Location // of the op; nil without one
}

func (e *ErrMisplaced) Error() string { return e.Text }

// Holds returns, as an *ErrMisplaced, the first op that breaks a rule of the form shown or of one before it.
func Holds(module *ir.Op, shown tileaa.Form) error {
	if _, wrong, missing := tileaa.Missing(module, shown); missing {
		return brokenBy(wrong)
	}
	return nil
}

func brokenBy(wrong error) error {
	b := wrong.(*tileaa.Broken)
	return &ErrMisplaced{b.Message(), b.Op.Loc()}
}

// Fits returns, as an *ErrMisplaced, why the pass cannot run on a module of the user; nil if it can. In the pipeline it always can.
func (p *Pass) Fits(module *ir.Op) error {
	if p.Gives == tileaa.Explicit {
		return nil // a module that is TileAA already stays as it is
	}
	shown := tileaa.Shown(module)
	if p.UpTo != tileaa.AnyForm && shown > p.UpTo {
		return &ErrMisplaced{Text: fmt.Sprintf("pass %s comes before %s, and the module has %s already", p.Name, shown.Pass(), shown.Noun())}
	}
	switch f, wrong, missing := tileaa.Missing(module, p.Needs); {
	case missing && f <= shown:
		return brokenBy(wrong)
	case missing:
		b := wrong.(*tileaa.Broken)
		return &ErrMisplaced{fmt.Sprintf("pass %s needs %s: put %s before it ('%s' op %s)", p.Name, f.Noun(), f.Pass(), b.Op.Name(), b.Says), b.Op.Loc()}
	}
	return nil
}

// State is what a pass works on.
type State struct {
	Ctx    *ir.Context
	Module *ir.Op
	Target *target.Target // nil before a GPU is needed
	options.Code

	// PlanIndex is, per entry, the index of the candidate that plan-kernel takes: 0 is the best, and every ErrPlan of the
	// entry advances it.
	PlanIndex map[string]int

	// Plans are the candidates of each entry, best first, and Notes what passes report about their choices: for remarks.
	Plans map[string][]Candidate
	Notes []Note

	running     Pass              // the running pass
	options     map[string]string // of the running pass, when some are set
	unoptimized map[string]bool   // entries that optional passes leave as they are: no plan was left with them
}

// Optimizes reports whether the entry around an op is optimized.
func (s *State) Optimizes(op *ir.Op) bool {
	return s.Opt > 0 && (len(s.unoptimized) == 0 || !s.unoptimized[SymbolName(tileaa.EntryOf(op))])
}

// Roots are the ops below which a pass finds all that it may change: the module, or the Entries of an optional pass, if there are others.
func (s *State) Roots() []*ir.Op {
	if len(s.unoptimized) == 0 || !s.running.Optional {
		return []*ir.Op{s.Module}
	}
	return s.Entries()
}

// Entries are the kernels of the module in order; for an optional pass those that are optimized.
func (s *State) Entries() []*ir.Op {
	var es []*ir.Op
	if b := s.Module.Body(); b != nil {
		for op := b.First(); op != nil; op = op.Next() {
			if c := op.Code(); (c == tileaa.OpEntry || c == cudatile.OpEntry) && !(s.unoptimized[SymbolName(op)] && s.running.Optional) {
				es = append(es, op)
			}
		}
	}
	return es
}

// Step counts one piece of work of bounded size against the budget of the compile (ir.Context.Step).
func (s *State) Step() { s.Ctx.Step() }

// Walk is ir.Walk that counts a step for every operation.
func (s *State) Walk(op *ir.Op, order ir.WalkOrder, visit func(*ir.Op)) { s.Ctx.Walk(op, order, visit) }

// EraseDead erases the ops without uses and effects inside op. It walks backwards, so that the operands of dead ops die in the same walk.
func (s *State) EraseDead(op *ir.Op) {
	for b := range op.Blocks() {
		for o := b.Last(); o != nil; {
			s.Step()
			prev := o.Prev()
			if ir.IsDead(o) {
				o.Erase()
			} else {
				s.EraseDead(o)
				if ir.IsDead(o) { // its region has become empty
					o.Erase()
				}
			}
			o = prev
		}
	}
}

// WalkRoots walks all Roots.
func (s *State) WalkRoots(order ir.WalkOrder, visit func(*ir.Op)) {
	for _, root := range s.Roots() {
		s.Walk(root, order, visit)
	}
}

// Candidate is a plan of an entry with its estimated cost, in quarter cycles of a multiprocessor. Plan is nil where no plan of that
// name is feasible, and Failed says why. Failed of a plan is why it could not be realised, "" when it was taken or never tried.
type Candidate struct {
	Name    string
	Plan    *tileaa.PlanAttr
	Cost    int
	Partial bool // the cost is of a part of the kernel: the model does not know the rest
	Failed  string
}

// Listed records the candidates of an entry: the feasible ones in the order in which they are tried, then the others. What made a candidate fail in an
// earlier attempt is kept.
func (s *State) Listed(entry string, can, cannot []Candidate) {
	if s.Plans == nil {
		s.Plans = map[string][]Candidate{}
	}
	old := s.Plans[entry]
	list := slices.Concat(can, cannot)
	for i := range min(len(can), len(old)) {
		list[i].Failed = old[i].Failed
	}
	s.Plans[entry] = list
}

// planFailed records why the plan of an entry failed and advances to the next one.
func (s *State) planFailed(e *ErrPlan) {
	i := s.PlanIndex[e.Entry]
	s.PlanIndex[e.Entry]++
	if list := s.Plans[e.Entry]; i < len(list) {
		list[i].Failed = e.Reason
	}
}

// Hint reads a hint of an operation of cuda_tile: the target's own first, then the default; nil when neither is there, or it has a fault.
func (s *State) Hint(op ir.Code, hints ir.DictAttr, name string) ir.Attribute {
	keys := []string{"default"}
	if s.Target != nil {
		keys = []string{s.Target.Name, "default"}
	}
	for _, key := range keys {
		if e, found := hints.Get(key); found {
			if d, ok := e.(ir.DictAttr); ok {
				if a, ok := d.Get(name); ok {
					if cudatile.HintFault(op, key, ir.NamedAttr{Name: name, Value: a}) != "" {
						return nil
					}
					return a
				}
			}
		}
	}
	return nil
}

// EntryHint reads a hint of an entry that is an integer from 1 on; 0 without.
func (s *State) EntryHint(entry *ir.Op, name string) int {
	n, _ := s.Hint(cudatile.OpEntry, tileaa.HintsOf(entry), name).(ir.IntegerAttr)
	return int(n.SInt())
}

// Note is what a pass reports about a choice.
type Note struct {
	Pass   string
	Loc    ir.Location
	Text   string
	Passed bool // an optimization was made; else one was missed
}

// Remark reports a missed optimization.
func (s *State) Remark(loc ir.Location, format string, args ...any) {
	s.Notes = append(s.Notes, Note{Pass: s.running.Name, Loc: loc, Text: fmt.Sprintf(format, args...)})
}

// Passed reports an optimization that was made.
func (s *State) Passed(loc ir.Location, format string, args ...any) {
	s.Notes = append(s.Notes, Note{Pass: s.running.Name, Loc: loc, Text: fmt.Sprintf(format, args...), Passed: true})
}

// ErrInvalid is returned by a pass that has reported errors in the user's program through the context's diagnostics.
var ErrInvalid = errors.New("the module is not valid")

// ErrPlan says that the plan of an entry cannot be realised; the manager tries the entry's next plan.
type ErrPlan struct {
	Entry  string
	Reason string
	Loc    ir.Location // of the operation that is the reason; nil is the entry
	Cause  error       // what the compile ends with where no plan is left; nil is that the tile is too big
}

func (e *ErrPlan) Error() string {
	return fmt.Sprintf("plan of %s cannot be realised: %s", e.Entry, e.Reason)
}

// Place is where in the source its cause stands, Message what it says there.
func (e *ErrPlan) Place() ir.Location {
	if e.Loc == nil {
		return ir.UnknownLoc{}
	}
	return e.Loc
}
func (e *ErrPlan) Message() string { return e.Error() }
