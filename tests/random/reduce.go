package random

import (
	"regexp"
	"slices"
	"strings"

	"tileiras/dialects/cudatile"
	"tileiras/ir"
)

// Reduce is the test-case reducer: it makes the text of a module smaller as long as fails says that it still fails in the same
// way. It ends at a fixpoint, when no single step helps: every operation that is left is needed.
func Reduce(text string, fails func(text string) bool) string {
	for changed := true; changed; {
		changed = false
		for _, s := range steps {
			for i := countErasable(text) - 1; i >= 0; i-- { // users before what they use
				if smaller := apply(text, i, s); smaller != "" && smaller != text && fails(smaller) {
					text, changed = smaller, true
				}
			}
		}
	}
	return text
}

// step changes the module around an operation and reports whether it could.
type step func(c *ir.Context, op *ir.Op) bool

// steps, the ones that take most away first.
var steps = []step{inlineRegion, takeSide(true), takeSide(false), eraseUnused, forwardOperand, replaceByZero, zeroOperands}

// erasable lists the operations inside the entries in program order, but not those of combine regions: they mean something
// together only (an associative function).
func erasable(m *ir.Op) []*ir.Op {
	var list []*ir.Op
	ir.Walk(m, ir.PreOrder, func(op *ir.Op) {
		parent := op.ParentOp()
		if op != m && !ir.Is[cudatile.Entry](op) && !ir.Is[cudatile.AggregateOp](parent) {
			list = append(list, op)
		}
	})
	return list
}

func countErasable(text string) int {
	in, err := read(text)
	if err != nil {
		return 0
	}
	return len(erasable(in.Module))
}

// apply does one step at operation i and gives the new text, cleaned of what nobody uses; "" when the step does not apply.
func apply(text string, i int, s step) string {
	in, err := read(text)
	if err != nil {
		return ""
	}
	list := erasable(in.Module)
	if i >= len(list) || !s(in.Ctx, list[i]) {
		return ""
	}
	clean(in.Module)
	return ir.Text(in.Module, ir.PrintOptions{})
}

// clean erases pure operations that nobody uses.
func clean(m *ir.Op) {
	for again := true; again; {
		again = false
		list := erasable(m)
		for i := len(list) - 1; i >= 0; i-- {
			if op := list[i]; op.Traits().Has(ir.Pure) && !op.Traits().Has(ir.Terminator) && unused(op) {
				op.Erase()
				again = true
			}
		}
	}
}

func unused(op *ir.Op) bool {
	for _, r := range op.Results() {
		if r.HasUses() {
			return false
		}
	}
	return true
}

func eraseUnused(_ *ir.Context, op *ir.Op) bool {
	if !unused(op) || op.Traits().Has(ir.Terminator) {
		return false
	}
	op.Erase()
	return true
}

// forwardOperand puts operands of the right types in the place of the results: of a loop, what it begins with.
func forwardOperand(_ *ir.Context, op *ir.Op) bool {
	if unused(op) || op.Traits().Has(ir.Terminator) {
		return false
	}
	taken := map[int]bool{}
	for _, r := range op.Results() {
		if !r.HasUses() {
			continue
		}
		found := -1
		for i, v := range op.Operands() {
			if v.Type() == r.Type() && !taken[i] {
				found = i
				break
			}
		}
		if found < 0 {
			return false
		}
		if op.NumResults() > 1 {
			taken[found] = true
		}
		r.ReplaceAllUsesWith(op.Operand(found))
	}
	op.Erase()
	return true
}

// zero makes a constant before op, or returns nil where the type has none.
func zero(c *ir.Context, op *ir.Op, t ir.Type) *ir.Value {
	tile, ok := t.(*cudatile.TileType)
	if !ok {
		return nil
	}
	if _, ok := tile.Elem.(*cudatile.PtrType); ok {
		return nil
	}
	value := &ir.DenseAttr{Type: t, Data: make([]byte, size(tile.Elem)), Splat: true}
	return cudatile.NewConstant(ir.NewBuilder(c).Before(op), t, value).Result()
}

func replaceByZero(c *ir.Context, op *ir.Op) bool {
	if unused(op) || ir.Is[cudatile.Constant](op) || op.Traits().Has(ir.Terminator) {
		return false
	}
	for _, r := range op.Results() {
		if r.HasUses() {
			z := zero(c, op, r.Type())
			if z == nil {
				return false
			}
			r.ReplaceAllUsesWith(z)
		}
	}
	op.Erase()
	return true
}

// zeroOperands takes what an operation works on away from it.
func zeroOperands(c *ir.Context, op *ir.Op) bool {
	done := false
	for i, v := range op.Operands() {
		if d := v.DefiningOp(); ir.Is[cudatile.Constant](d) {
			continue
		}
		if z := zero(c, op, v.Type()); z != nil {
			op.SetOperand(i, z)
			done = true
		}
	}
	return done
}

// inlineRegion puts the body of a region, run once, in the place of an if or a loop.
func inlineRegion(_ *ir.Context, op *ir.Op) bool {
	if op.Def.Flow.Inits == "" && !ir.Is[cudatile.If](op) { // no loop either
		return false
	}
	body := op.Body()
	if body == nil || body.Terminator() == nil {
		return false
	}
	end := body.Terminator()
	if end.NumOperands() != op.NumResults() {
		return false
	}
	for _, o := range body.Ops() { // ifs that would leave the loop go
		if !ir.Is[cudatile.If](op) && leaves(o) && o != end {
			if !unused(o) {
				return false
			}
			o.Erase()
		}
	}
	// The arguments are the last operands, in order; for has its counter before them, which begins at the first operand.
	args, operands := body.Args(), op.Operands()
	if ir.Is[cudatile.For](op) {
		args[0].ReplaceAllUsesWith(operands[0])
		args = args[1:]
	}
	for i, a := range args {
		a.ReplaceAllUsesWith(operands[len(operands)-len(args)+i])
	}
	for i, r := range op.Results() {
		r.ReplaceAllUsesWith(end.Operand(i))
	}
	end.Erase()
	for _, o := range body.Ops() {
		o.Remove()
		op.Block().Append(o)
		o.MoveBefore(op)
	}
	op.Erase()
	return true
}

// takeSide puts one side of an if in its place; where that leaves, what is behind goes.
func takeSide(then bool) step {
	return func(_ *ir.Context, op *ir.Op) bool {
		if !ir.Is[cudatile.If](op) {
			return false
		}
		cudatile.InlineBranch(op, then)
		return true
	}
}

// leaves reports whether an operation holds a break or continue of the loop that it stands in.
func leaves(op *ir.Op) bool {
	switch op.Code() {
	case cudatile.OpBreak, cudatile.OpContinue:
		return true
	case cudatile.OpFor, cudatile.OpLoop:
		return false
	}
	for b := range op.Blocks() {
		if slices.ContainsFunc(b.Ops(), leaves) {
			return true
		}
	}
	return false
}

// kindOf is the kind of a failure with the pass or the report that it names, so that a reduction does not slip to another fault.
func kindOf(err error) string {
	f, ok := err.(*Failure)
	if !ok {
		return ""
	}
	if f.Kind == "bug" {
		line, _, _ := strings.Cut(f.Text, "\n")
		return f.GPU + line
	}
	kind := f.GPU + f.Kind
	if blocks := tileBlock.FindAllString(f.Text, 2); len(blocks) == 2 && blocks[0] == blocks[1] {
		kind += " inside one tile block" // else a smaller module could be one that forgot which block has which part of a buffer
	}
	return kind
}

var tileBlock = regexp.MustCompile(`CTA \([0-9,]*\)`)
