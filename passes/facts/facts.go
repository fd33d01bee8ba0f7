package facts

import (
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// Facts answers questions about the values of one module. It must be made anew after the module has changed, except for
// changes that replace values by equal ones.
type Facts struct {
	ctx   *ir.Context // whose budget questions count against
	cache map[*ir.Value]*Fact
	room  []Fact // what the next facts of the cache are cut from
	// affines are the forms of tiles that have been asked for; no coefficients: none is known.
	affines map[*ir.Value]affine
	// trail lists the cached values in order, so that the trial of a loop can be taken back.
	trail []*ir.Value
	// slots says that the module has memory of its own that an integer may point to.
	slots bool
	depth int // of loops being solved
	chain int // of values being asked for
}

const (
	// maxRounds bounds the rounds in which the facts of one loop reach a fixpoint; intervals are widened from widenAfter on.
	maxRounds, widenAfter = 6, 2
	// maxDepth is the number of nested loops whose facts are solved together; inside deeper ones the carried values are
	// unknown. The cost is maxRounds^maxDepth times the loop body at most.
	maxDepth = 3
	// maxChain bounds the recursion from a value to those that it is made of. Who asks in program order never meets it.
	maxChain = 10_000
)

// New makes the facts of a module (or of any op: values from outside of it are unknown).
func New(c *ir.Context, module *ir.Op) *Facts {
	f := (&Facts{ctx: c}).Anew()
	c.Walk(module, ir.PreOrder, func(op *ir.Op) {
		f.slots = f.slots || ir.Is[tileaa.Alloca](op)
	})
	return f
}

// Anew is the facts of the same module with nothing asked yet.
func (f *Facts) Anew() *Facts {
	return &Facts{ctx: f.ctx, slots: f.slots, cache: make(map[*ir.Value]*Fact), affines: make(map[*ir.Value]affine)}
}

// Of is what is known of a value. The slices of the answer must not be changed.
func (f *Facts) Of(v *ir.Value) Fact { return *f.of(v) }

func (f *Facts) of(v *ir.Value) *Fact {
	if known, ok := f.cache[v]; ok {
		return known
	}
	if f.chain >= maxChain {
		return f.unknown(v)
	}
	f.ctx.Step()
	f.chain++
	var fact *Fact
	if op := v.DefiningOp(); op != nil {
		fact = f.ofResult(op, v)
	} else {
		fact = f.ofArgument(v)
	}
	f.chain--
	if known, ok := f.cache[v]; ok { // a loop has been solved meanwhile
		return known
	}
	f.set(v, fact)
	return fact
}

// set learns the fact of a value that has none.
func (f *Facts) set(v *ir.Value, fact *Fact) {
	f.trail = append(f.trail, v)
	f.cache[v] = fact
}

// keep gives a fact memory, of which many share some.
func (f *Facts) keep(fact Fact) *Fact {
	const together = 28 // 4 KB: few facts are asked for between two changes of a module
	if len(f.room) == cap(f.room) {
		f.room = make([]Fact, 0, together)
	}
	f.room = append(f.room, fact)
	return &f.room[len(f.room)-1]
}

// unknown is the fact of a value about which nothing is known.
func (f *Facts) unknown(v *ir.Value) *Fact { return f.keep(unknown(v.Type())) }

// undo forgets all that was learned after the mark.
func (f *Facts) undo(mark int) {
	for _, v := range f.trail[mark:] {
		delete(f.cache, v)
	}
	f.trail = f.trail[:mark]
}

func (f *Facts) ofResult(op *ir.Op, v *ir.Value) *Fact {
	if op.Def.Dialect != tileaa.Dialect.Name {
		return f.unknown(v)
	}
	if flow, ok := ir.FlowOf(op); ok && flow.Kind != ir.CombineFlow {
		if flow.Kind.IsLoop() {
			f.solve(op)
		}
		return f.resultOf(flow, v)
	}
	r := f.unknown(v)
	if transfer := transfers.Of(op.Code()); transfer != nil && v.Index() == 0 && r.Width > 0 {
		transfer(f, op, r)
		r.settle()
	}
	return r
}

func (f *Facts) ofArgument(v *ir.Value) *Fact {
	op := v.Block().ParentOp()
	if op == nil || op.Def.Dialect != tileaa.Dialect.Name {
		return f.unknown(v)
	}
	switch op.Code() {
	case tileaa.OpEntry:
		r := f.unknown(v)
		if r.Space != Nowhere {
			r.Space = Global
		}
		return r
	case tileaa.OpFor:
		if v.Index() == 0 {
			return f.keep(f.induction(op, v))
		}
		f.solve(op)
	case tileaa.OpLoop:
		f.solve(op)
	}
	if known, ok := f.cache[v]; ok {
		return known
	}
	return f.unknown(v)
}

// induction is the value that a for counts: from lower up to, not including, upper, in steps that keep common zeros.
func (f *Facts) induction(op *ir.Op, v *ir.Value) Fact {
	loop := ir.Cast[tileaa.For](op)
	lower, upper, step := f.Of(loop.Lower()), f.Of(loop.Upper()), f.Of(loop.Step())
	r := unknown(v.Type())
	if loop.Unsigned() {
		if upper.UMax > lower.UMin {
			r.UMin, r.UMax = lower.UMin, upper.UMax-1
		}
	} else if upper.SMax > lower.SMin {
		r.SMin, r.SMax = lower.SMin, upper.SMax-1
	}
	r.ZeroBits = min(lower.ZeroBits, step.ZeroBits)
	return r.refine()
}

// solve finds the facts of the carried values of a loop: the least ones that hold for the first values and are kept by
// every continue, by trying the first values' and joining until nothing changes.
func (f *Facts) solve(op *ir.Op) {
	loop, _ := ir.LoopOf(op)
	args, inits := loop.Carried(), loop.Inits()
	if len(args) == 0 {
		return
	}
	if _, trying := f.cache[args[0]]; trying {
		return
	}
	f.depth++
	defer func() { f.depth-- }()
	current := make([]Fact, len(args))
	for i, v := range inits {
		current[i] = f.Of(v)
	}
	continues := loop.Continues()
	mark := len(f.trail)
	for round := 0; ; round++ {
		if round == maxRounds || f.depth > maxDepth {
			for i, a := range args {
				current[i] = unknown(a.Type())
			}
		}
		for i, a := range args {
			f.set(a, f.keep(current[i]))
		}
		if round >= maxRounds || f.depth > maxDepth {
			return
		}
		next, stable := make([]Fact, len(args)), true
		for i := range args {
			next[i] = current[i]
			for _, c := range continues {
				next[i] = join(next[i], f.Of(c.Operand(i)))
			}
			if round >= widenAfter {
				next[i] = widen(current[i], next[i])
			}
			stable = stable && equal(current[i], next[i])
		}
		if stable {
			return
		}
		f.undo(mark)
		current = next
	}
}

// widen gives up the bounds that still move.
func widen(old, next Fact) Fact {
	if next.Width == 0 {
		return next
	}
	if next.SMin < old.SMin {
		next.SMin = minS(next.Width)
	}
	if next.SMax > old.SMax {
		next.SMax = maxS(next.Width)
	}
	if next.UMin < old.UMin {
		next.UMin = 0
	}
	if next.UMax > old.UMax {
		next.UMax = maxU(next.Width)
	}
	return next.refine()
}

// resultOf is the fact of a result of control flow: that of the carried value for a counted loop, whose facts hold at its end too, else
// what all exits have in common.
func (f *Facts) resultOf(flow ir.Flow, v *ir.Value) *Fact {
	if flow.Kind == ir.CountedFlow {
		return f.of(flow.Carried()[v.Index()])
	}
	var r Fact
	for i, x := range flow.ResultIncoming(v.Index()) {
		if i == 0 {
			r = f.Of(x)
		} else {
			r = join(r, f.Of(x))
		}
	}
	if r.Width == 0 {
		return f.unknown(v)
	}
	return f.keep(r)
}
