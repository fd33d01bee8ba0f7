package facts

import (
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// Facts answers questions about the values of one module. A change of the module invalidates it, unless values are only
// replaced by equal ones.
type Facts struct {
	ctx   *ir.Context // whose budget questions count against
	cache map[*ir.Value]*Fact
	arena []Fact // from which the next facts of the cache are cut
	// affines caches the affine forms of tiles; one without coefficients says that none is known.
	affines map[*ir.Value]affine
	// neighbors caches what LikelySectors goes by.
	neighbors map[along]neighbors
	// trail lists the cached values in the order in which they were learned, so that a round of a loop's fixpoint can be undone.
	trail []*ir.Value
	// hasAlloca says that the module has local memory, to which a pointer made of an integer may point.
	hasAlloca bool
	loopDepth int // loops being solved, nested
	recursion int // values being asked for, each by the one before
}

const (
	// maxRounds bounds the rounds of the fixpoint of one loop; from round widenAfter on, intervals are widened.
	maxRounds, widenAfter = 6, 2
	// maxLoopDepth is the depth of a loop nest that is solved; in deeper loops carried values are unknown. The cost is at most
	// maxRounds^maxLoopDepth times the loop body.
	maxLoopDepth = 3
	// maxRecursion bounds the recursion from a value to its operands. Asking in program order never reaches it.
	maxRecursion = 10_000
)

// New makes the facts of a module, or of any op: values defined outside of it are unknown.
func New(c *ir.Context, module *ir.Op) *Facts {
	f := (&Facts{ctx: c}).Anew()
	c.Walk(module, ir.PreOrder, func(op *ir.Op) {
		f.hasAlloca = f.hasAlloca || ir.Is[tileaa.Alloca](op)
	})
	return f
}

// Anew is New for the same module: an empty cache, without another walk.
func (f *Facts) Anew() *Facts {
	return &Facts{ctx: f.ctx, hasAlloca: f.hasAlloca, cache: make(map[*ir.Value]*Fact), affines: make(map[*ir.Value]affine), neighbors: make(map[along]neighbors)}
}

// Of is what is known of a value. The slices of the answer must not be changed.
func (f *Facts) Of(v *ir.Value) Fact { return *f.of(v) }

func (f *Facts) of(v *ir.Value) *Fact {
	if known, ok := f.cache[v]; ok {
		return known
	}
	if f.recursion >= maxRecursion {
		return f.unknown(v)
	}
	f.ctx.Step()
	f.recursion++
	var fact *Fact
	if op := v.DefiningOp(); op != nil {
		fact = f.ofResult(op, v)
	} else {
		fact = f.ofArgument(v)
	}
	f.recursion--
	// What works and allocates is on both ways, to the operands and back.
	f.ctx.Step()
	if known, ok := f.cache[v]; ok { // the fixpoint of a loop gave it meanwhile
		return known
	}
	f.set(v, fact)
	return fact
}

// set caches the fact of a value that has none.
func (f *Facts) set(v *ir.Value, fact *Fact) {
	f.trail = append(f.trail, v)
	f.cache[v] = fact
}

// alloc moves a fact to the arena.
func (f *Facts) alloc(fact Fact) *Fact {
	const chunk = 28 // facts, 4 KB: few are asked for between two changes of a module
	if len(f.arena) == cap(f.arena) {
		f.arena = make([]Fact, 0, chunk)
	}
	f.arena = append(f.arena, fact)
	return &f.arena[len(f.arena)-1]
}

// unknown is the fact of a value about which nothing is known.
func (f *Facts) unknown(v *ir.Value) *Fact { return f.alloc(unknown(v.Type())) }

// undo drops what was cached after the mark.
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
		r.refineInPlace()
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
		if r.Space != NotPointer {
			r.Space = Global
		}
		return r
	case tileaa.OpFor:
		if v.Index() == 0 {
			return f.alloc(f.induction(op, v))
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

// induction is the fact of the induction variable of a for: in [lower, upper), and divisible by what divides both the lower
// bound and the step.
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

// solve computes the fixpoint of the carried values of a loop: it starts with the facts of the initial values and joins
// those of every continue until nothing changes.
func (f *Facts) solve(op *ir.Op) {
	loop, _ := ir.LoopOf(op)
	args, inits := loop.Carried(), loop.Inits()
	if len(args) == 0 {
		return
	}
	if _, solving := f.cache[args[0]]; solving {
		return
	}
	f.loopDepth++
	defer func() { f.loopDepth-- }()
	current := make([]Fact, len(args))
	for i, v := range inits {
		current[i] = f.Of(v)
	}
	continues := loop.Continues()
	mark := len(f.trail)
	for round := 0; ; round++ {
		if round == maxRounds || f.loopDepth > maxLoopDepth {
			for i, a := range args {
				current[i] = unknown(a.Type())
			}
		}
		for i, a := range args {
			f.set(a, f.alloc(current[i]))
		}
		if round >= maxRounds || f.loopDepth > maxLoopDepth {
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

// widen is the widening operator: bounds that still move go to those of the type.
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

// resultOf is the fact of a result of control flow. For a counted loop it is that of the carried value, which holds at the end too; for
// others it is the join over all exits.
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
	return f.alloc(r)
}
