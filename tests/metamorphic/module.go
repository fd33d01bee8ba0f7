// Package metamorphic rewrites kernels so that what they compute stays: a loop that counts by hand instead of a for, a tile that is turned and turned
// back. What a kernel must leave behind is known without any of the rewritings, so a compiler that gets a rewritten kernel wrong needs no second opinion;
// and a rewriting that adds no work must not make the code worse.
package metamorphic

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"tileiras/dialects/cudatile"
	"tileiras/internal/driver"
	"tileiras/ir"
	"tileiras/runtime/cases"
)

// Step is a rewriting with the seed of its choices.
type Step struct {
	*Rewriting
	Seed uint64
}

// Draw gives steps for a kernel: a rewriting, which seeds take in turn, and others behind it, of which not all will apply. A step has a seed of its own,
// so that it chooses alike where others are left out.
func Draw(seed uint64) []Step {
	r := rand.New(rand.NewPCG(seed, 0))
	steps := []Step{{&Rewritings[seed%uint64(len(Rewritings))], r.Uint64()}}
	for range r.IntN(more) {
		steps = append(steps, Step{&Rewritings[r.IntN(len(Rewritings))], r.Uint64()})
	}
	return steps
}

// more bounds the steps behind the first.
const more = 12

// Rewrite gives a case whose module, a text, went through the steps that apply to it, and these.
func Rewrite(c *cases.Case, steps []Step) (*cases.Case, []Step, error) {
	in, err := driver.Read(driver.NewContext(), c.Name, c.Bytecode)
	if err != nil {
		return nil, nil, err
	}
	r := &rewriter{ctx: in.Ctx, b: ir.NewBuilder(in.Ctx), of: c}
	for _, e := range ir.OpsOf[cudatile.Entry](in.Module.Body()) {
		if e.SymName() == c.Kernel {
			r.entry = e.Op
		}
	}
	if r.entry == nil {
		return nil, nil, fmt.Errorf("there is no entry %s", c.Kernel)
	}
	var applied []Step
	for _, s := range steps {
		if ir.NumOps(r.entry) > largest {
			break
		}
		r.Rand = rand.New(rand.NewPCG(s.Seed, 0))
		r.b.SetPlace(nil, nil)
		if !s.apply(r) {
			continue
		}
		applied = append(applied, s)
		if !ir.Verify(in.Ctx, in.Module) {
			return nil, applied, fmt.Errorf("%s makes a module that does not verify: %s", Names(applied), in.Ctx.Diags.List[0].Msg)
		}
	}
	var text strings.Builder
	cudatile.Print(&text, in.Module, ir.PrintOptions{Ctx: in.Ctx})
	rewritten := *c
	rewritten.Bytecode, rewritten.File = []byte(text.String()), c.Name+".tileir"
	return &rewritten, applied, nil
}

// largest is how many operations an entry has at most that is rewritten further: rewritings copy loops.
const largest = 4000

// Names lists steps.
func Names(steps []Step) string {
	var names []string
	for _, s := range steps {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}

// Fewest leaves out steps, one at a time, as long as what remains still fails.
func Fewest(steps []Step, fails func([]Step) bool) []Step {
	for i := len(steps) - 1; i >= 0; i-- {
		if fewer := slices.Delete(slices.Clone(steps), i, i+1); fails(fewer) {
			steps = fewer
		}
	}
	return steps
}

type value = *ir.Value

// rewriter rewrites the entry of a module.
type rewriter struct {
	*rand.Rand
	ctx   *ir.Context
	b     *ir.Builder
	entry *ir.Op
	of    *cases.Case // whose parameters and grid are what the compiler does not know
}

// statements calls f for the operations of the entry, and of its loops and branches, but no terminators.
func (r *rewriter) statements(f func(*ir.Op)) {
	for _, b := range r.blocks() {
		for _, op := range b.Ops() {
			if !isTerminator(op) {
				f(op)
			}
		}
	}
}

// blocks are those of the entry, of its loops and of its branches.
func (r *rewriter) blocks() []*ir.Block {
	list := []*ir.Block{r.entry.Body()}
	ir.Walk(r.entry, ir.PreOrder, func(op *ir.Op) {
		if !isLoop(op) && op.Code() != cudatile.OpIf {
			return
		}
		for _, g := range op.Regions() {
			if g.Front() != nil {
				list = append(list, g.Front())
			}
		}
	})
	return list
}

func isTerminator(op *ir.Op) bool { return op.Traits().Has(ir.Terminator) }

func isLoop(op *ir.Op) bool { return op.Code() == cudatile.OpFor || op.Code() == cudatile.OpLoop }

func isProduct(op *ir.Op) bool { return op.Code() == cudatile.OpMmaf || op.Code() == cudatile.OpMmai }

// pick chooses a statement, or gives nil.
func (r *rewriter) pick(ok func(*ir.Op) bool) *ir.Op {
	var ops []*ir.Op
	r.statements(func(op *ir.Op) {
		if ok(op) {
			ops = append(ops, op)
		}
	})
	return one(r, ops)
}

// one chooses an element of a list, or gives the zero value.
func one[T any](r *rewriter, list []T) (chosen T) {
	if len(list) > 0 {
		chosen = list[r.IntN(len(list))]
	}
	return chosen
}

// heads reports how a coin falls.
func (r *rewriter) heads() bool { return r.IntN(2) == 0 }

// pickTile chooses a tile that a statement gives or a loop carries, and that is used, or gives nil.
func (r *rewriter) pickTile(ok func(*cudatile.TileType) bool) value {
	var list []value
	add := func(vs []value) {
		for _, v := range vs {
			if v.HasUses() && tileOf(v) != nil && !isF4(tileOf(v)) && ok(tileOf(v)) {
				list = append(list, v)
			}
		}
	}
	for _, b := range r.blocks()[1:] {
		add(b.Args())
	}
	r.statements(func(op *ir.Op) { add(op.Results()) })
	return one(r, list)
}

// pickRun chooses statements of which one follows the other, each of them good, whose values an if or a loop can give.
func (r *rewriter) pickRun(good func(*ir.Op) bool) []*ir.Op {
	for range 20 {
		ops := one(r, r.blocks()).Ops()
		if n := len(ops); n > 0 && isTerminator(ops[n-1]) {
			ops = ops[:n-1]
		}
		if len(ops) == 0 {
			continue
		}
		from := r.IntN(len(ops))
		ops = ops[from : from+1+r.IntN(len(ops)-from)]
		all := true
		for _, op := range ops {
			all = all && good(op) && !contains(op, cudatile.OpAlloca)
		}
		for _, v := range usedBehind(ops) {
			all = all && isCarriable(v)
		}
		if all {
			return ops
		}
	}
	return nil
}

// contains reports whether an operation is, or has in it, one with a code.
func contains(op *ir.Op, code ir.Code) (yes bool) {
	ir.Walk(op, ir.PreOrder, func(o *ir.Op) { yes = yes || o.Code() == code })
	return yes
}

// leaves reports whether a jump in an operation goes out of it.
func leaves(op *ir.Op) (yes bool) {
	ir.Walk(op, ir.PreOrder, func(o *ir.Op) {
		if o.Code() != cudatile.OpBreak && o.Code() != cudatile.OpContinue {
			return
		}
		for p := o.ParentOp(); !isLoop(p); p = p.ParentOp() {
			if p == op {
				yes = true
				return
			}
		}
	})
	return yes
}

// usedBehind are the values of a run of statements that others use.
func usedBehind(run []*ir.Op) (vs []value) {
	in := map[*ir.Op]bool{}
	for _, op := range run {
		in[op] = true
	}
	for _, op := range run {
		for _, v := range op.Results() {
			for _, u := range v.Uses() {
				if !in[u.Owner().AncestorIn(op.Block())] {
					vs = append(vs, v)
					break
				}
			}
		}
	}
	return vs
}

func isCarriable(v value) bool {
	_, token := v.Type().(*cudatile.TokenType)
	return token || tileOf(v) != nil
}

// moveInto moves a run of statements to the end of a block.
func moveInto(run []*ir.Op, b *ir.Block) {
	for _, op := range run {
		op.Remove()
		b.Append(op)
	}
}

// redirect has users outside of an operation use new values.
func redirect(old, new []value, from *ir.Op) {
	for i, v := range old {
		for _, u := range v.Uses() {
			if o := u.Owner(); o != from && !ir.IsProperAncestor(from, o) {
				o.SetOperand(u.Index(), new[i])
			}
		}
	}
}

// replaceUses has all present users of a value, or about half of them, use what make gives.
func (r *rewriter) replaceUses(v value, make func(value) value) bool {
	if v == nil {
		return false
	}
	uses := v.Uses()
	r.b.AfterValue(v)
	w := make(v)
	if w == nil {
		return false
	}
	all := r.heads()
	for _, u := range uses {
		if all || r.heads() {
			u.Owner().SetOperand(u.Index(), w)
		}
	}
	return true
}

// replace has users of an operation's one result use another, and erases the operation.
func replace(op *ir.Op, by value) bool {
	op.Result(0).ReplaceAllUsesWith(by)
	op.Erase()
	return true
}
