package ir

// FlowKind is the control flow of an operation with regions, or of a terminator.
type FlowKind uint8

const (
	NoFlow FlowKind = iota
	// BranchFlow: at most one region runs, once (if). Results are what it yields.
	BranchFlow
	// LoopFlow: the region runs again and again until a break, whose operands are the results.
	LoopFlow
	// CountedFlow: the region runs a number of times that is known at its start (for). Results are the carried values at its end.
	CountedFlow
	// CombineFlow: the region is a function that the operation applies to elements (reduce, scan); no values of the program flow
	// into its arguments.
	CombineFlow

	// YieldFlow ends a region and hands its operands to the operation around it.
	YieldFlow
	// ContinueFlow goes to the next iteration of the innermost loop with new carried values.
	ContinueFlow
	// BreakFlow leaves the innermost loop with its results.
	BreakFlow
	// ReturnFlow leaves the isolated operation around it.
	ReturnFlow
)

// FlowDef is the control flow of a row.
type FlowDef struct {
	Kind FlowKind
	// Inits is the declared operand with the initial values of the carried values of a loop.
	Inits string
	// Own is how many arguments of a loop's block come before the carried ones (the induction variable).
	Own int
}

// IsLoop reports whether a region may run more than once.
func (k FlowKind) IsLoop() bool { return k == LoopFlow || k == CountedFlow }

// Flow is the control flow of one operation with regions. It alone knows which values flow into its block arguments and results, as
// the incoming values of a phi do.
type Flow struct {
	Op   *Op
	Kind FlowKind
}

// FlowOf is the flow of an operation with regions; ok is false for all others.
func FlowOf(op *Op) (f Flow, ok bool) {
	k := op.Def.Flow.Kind
	return Flow{op, k}, k >= BranchFlow && k <= CombineFlow
}

// LoopOf is the flow of a loop; ok is false for all other operations.
func LoopOf(op *Op) (f Flow, ok bool) {
	if op == nil || !op.Def.Flow.Kind.IsLoop() {
		return Flow{}, false
	}
	return Flow{op, op.Def.Flow.Kind}, true
}

// Inits are the initial values of the carried values of a loop; none for other operations.
func (f Flow) Inits() []*Value {
	if !f.Kind.IsLoop() {
		return nil
	}
	return f.Op.OperandGroup(f.inits())
}

// Init is the initial value of carried value i.
func (f Flow) Init(i int) *Value { return f.InitUse(i).value }

// InitUse is the operand slot of the initial value of carried value i.
func (f Flow) InitUse(i int) *Use {
	lo, _ := f.Op.group(f.inits())
	return &f.Op.operands[lo+i]
}

// InitIndex is the index of the carried value of which an operand is the initial value; ok is false for other operands.
func (f Flow) InitIndex(operand int) (i int, ok bool) {
	lo, hi := f.Op.group(f.inits())
	return operand - lo, lo <= operand && operand < hi
}

// SetInits replaces the initial values; arguments, results and terminators are up to the caller.
func (f Flow) SetInits(vs []*Value) { f.Op.SetOperandGroup(f.inits(), vs) }

// Carry has a loop carry further values, which become results where it is counted; arguments and terminators are up to the caller.
func (f Flow) Carry(inits []*Value) {
	f.SetInits(append(f.Inits(), inits...))
	if f.Kind == CountedFlow {
		f.Op.AddResults(TypesOf(inits))
	}
}

func (f Flow) inits() int { return f.Op.Def.OperandIndex(f.Op.Def.Flow.Inits) }

// Carried are the block arguments of the carried values of a loop; none for other operations.
func (f Flow) Carried() []*Value {
	if !f.Kind.IsLoop() {
		return nil
	}
	return f.Op.Body().args[f.Op.Def.Flow.Own:]
}

// InductionVar is the induction variable of a counted loop, else nil.
func (f Flow) InductionVar() *Value {
	if f.Kind != CountedFlow || f.Op.Def.Flow.Own == 0 {
		return nil
	}
	return f.Op.Body().args[0]
}

// CarriedIndex is the index of a block argument among the carried values of a loop; ok is false when it is none of them.
func (f Flow) CarriedIndex(v *Value) (i int, ok bool) {
	if !f.Kind.IsLoop() || v.block == nil || v.block != f.Op.Body() || v.index < f.Op.Def.Flow.Own {
		return 0, false
	}
	return v.index - f.Op.Def.Flow.Own, true
}

// Terminators lists the terminators of these kinds that leave a region of f's operation, in program order: those of its own blocks,
// and those inside branches within it. A break or continue inside a loop within belongs to that loop.
func (f Flow) Terminators(kinds ...FlowKind) []*Op {
	var found []*Op
	var in func(b *Block, nested bool)
	in = func(b *Block, nested bool) {
		for op := b.first; op != nil; op = op.next {
			k := op.Def.Flow.Kind
			for _, want := range kinds {
				if k == want && !(nested && k == YieldFlow) {
					found = append(found, op)
				}
			}
			if k == BranchFlow {
				for _, r := range op.regions {
					for _, inner := range r.blocks {
						in(inner, true)
					}
				}
			}
		}
	}
	for _, r := range f.Op.regions {
		for _, b := range r.blocks {
			in(b, false)
		}
	}
	return found
}

// Continues lists the terminators that begin the next iteration of a loop.
func (f Flow) Continues() []*Op { return f.Terminators(ContinueFlow) }

// Exits lists the terminators whose operands become the results: the yields of a branch, the breaks of a loop, the continues of a
// counted loop (its last one), the yield of a combine region.
func (f Flow) Exits() []*Op {
	switch f.Kind {
	case LoopFlow:
		return f.Terminators(BreakFlow)
	case CountedFlow:
		return f.Terminators(ContinueFlow)
	}
	return f.Terminators(YieldFlow)
}

// CarriedIncoming lists the incoming values of carried value i: its initial value, then the operand of each continue.
func (f Flow) CarriedIncoming(i int) []*Value { return f.carriedIncoming(i, f.Continues()) }

func (f Flow) carriedIncoming(i int, continues []*Op) []*Value {
	return operandsOf(continues, i, f.Init(i))
}

// ResultIncoming lists the incoming values of result i: the operand of each exit, and for a counted loop, which may have no iteration,
// the initial value before them.
func (f Flow) ResultIncoming(i int) []*Value { return f.resultIncoming(i, f.Exits()) }

func (f Flow) resultIncoming(i int, exits []*Op) []*Value {
	if f.Kind == CountedFlow {
		return operandsOf(exits, i, f.Init(i))
	}
	return operandsOf(exits, i)
}

// operandsOf appends operand i of each terminator to vs.
func operandsOf(terms []*Op, i int, vs ...*Value) []*Value {
	for _, t := range terms {
		vs = append(vs, t.Operand(i))
	}
	return vs
}

// Incoming lists the incoming values of v, if v is like a phi: a carried value of a loop, or a result of a loop or branch. ok is
// false for all other values; those include induction variables and the arguments of combine regions and entries.
func Incoming(v *Value) (vs []*Value, ok bool) { return new(Phis).Incoming(v) }

// Phis gives incoming values while no terminator comes or goes: it looks for those of an operation once, however many values meet there.
type Phis struct{ exits, continues map[*Op][]*Op }

// Incoming is the function Incoming.
func (p *Phis) Incoming(v *Value) (vs []*Value, ok bool) {
	op := v.op
	if v.block != nil {
		op = v.block.ParentOp()
	}
	if op == nil {
		return nil, false
	}
	f, ok := FlowOf(op)
	switch {
	case !ok || f.Kind == CombineFlow:
		return nil, false
	case v.block == nil:
		return f.resultIncoming(v.index, memoize(&p.exits, f, Flow.Exits)), true
	}
	i, ok := f.CarriedIndex(v)
	if !ok {
		return nil, false
	}
	return f.carriedIncoming(i, memoize(&p.continues, f, Flow.Continues)), true
}

func memoize(found *map[*Op][]*Op, f Flow, find func(Flow) []*Op) []*Op {
	terms, ok := (*found)[f.Op]
	if !ok {
		if *found == nil {
			*found = map[*Op][]*Op{}
		}
		terms = find(f)
		(*found)[f.Op] = terms
	}
	return terms
}

// Target is the operation whose region a terminator ends: the branch or combine of a yield, the loop of a break or continue, the
// isolated operation of a return. nil when there is none.
func Target(term *Op) *Op {
	kind := term.Def.Flow.Kind
	for p := term.ParentOp(); p != nil; p = p.ParentOp() {
		k := p.Def.Flow.Kind
		switch {
		case kind == YieldFlow:
			return p
		case kind == ReturnFlow && p.Def.Traits.Has(Isolated):
			return p
		case kind == BreakFlow || kind == ContinueFlow:
			if k.IsLoop() {
				return p
			}
			if k != BranchFlow {
				return nil
			}
		}
	}
	return nil
}

// MayLeave reports whether a terminator in an operation's regions ends a region around it: what stands behind the operation may not happen.
func MayLeave(op *Op) bool {
	leaves := false
	Walk(op, PreOrder, func(in *Op) {
		if !leaves && in.Traits().Has(Terminator) {
			target := Target(in)
			leaves = target != nil && IsProperAncestor(target, op)
		}
	})
	return leaves
}

// ForwardedTo lists the values of which operand i of a terminator is an incoming value: results of the operation it leaves, and the
// carried value of a loop that it continues; or those of which operand i of a loop is the initial value: what the loop carries, and the
// result of a loop that may have no iteration; none for other operations. It is the inverse of Incoming.
func ForwardedTo(op *Op, i int) []*Value {
	if loop, ok := LoopOf(op); ok {
		k, carried := loop.InitIndex(i)
		if !carried {
			return nil
		}
		return loop.taking(k)
	}
	if !op.Traits().Has(Terminator) {
		return nil
	}
	p := Target(op)
	if p == nil {
		return nil
	}
	f, _ := FlowOf(p)
	switch op.Def.Flow.Kind {
	case ContinueFlow:
		return f.taking(i)
	case YieldFlow, BreakFlow:
		if f.Kind != CombineFlow {
			return []*Value{p.results[i]}
		}
	}
	return nil
}

// taking lists the values that an iteration passes incoming value i to: the carried value and, of a counted loop, the result.
func (f Flow) taking(i int) []*Value {
	if f.Kind == CountedFlow {
		return []*Value{f.Carried()[i], f.Op.results[i]}
	}
	return []*Value{f.Carried()[i]}
}

// EnclosingLoop is the innermost loop around an op, or nil.
func EnclosingLoop(op *Op) *Op {
	for p := op.ParentOp(); p != nil; p = p.ParentOp() {
		if p.Def.Flow.Kind.IsLoop() {
			return p
		}
	}
	return nil
}

// Taken lists the values that op and its regions use from outside: the operands, and the captures.
func Taken(op *Op) []*Value { return append(op.Operands(), Captures(op)...) }

// Captures lists the values that are used inside the regions of op and defined outside them, each once, in the order of their first
// use.
func Captures(op *Op) []*Value {
	var list []*Value
	inside := map[*Block]bool{}
	seen := map[*Value]bool{}
	Walk(op, PreOrder, func(o *Op) {
		for _, r := range o.regions {
			for _, b := range r.blocks {
				inside[b] = true
			}
		}
		if o == op {
			return
		}
		for i := range o.operands {
			if v := o.operands[i].value; !inside[v.ParentBlock()] && !seen[v] {
				seen[v] = true
				list = append(list, v)
			}
		}
	})
	return list
}
