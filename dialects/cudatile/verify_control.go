package cudatile

import (
	"slices"
	"strings"

	"tileiras/ir"
	"tileiras/ir/printf"
)

func controlRules() {
	rule(verifyIf, OpIf)
	rule(verifyFor, OpFor)
	rule(verifyLoop, OpLoop)
	rule(verifyBreak, OpBreak)
	rule(verifyContinue, OpContinue)
	rule(verifyYield, OpYield)
	rule(verifyReturn, OpReturn)
	rule(verifyPrint, OpPrintTko)
	rule(func(c *ir.Context, op *ir.Op) bool {
		p, ok := Assume{op}.Predicate().(Predicate)
		if !ok {
			return c.Error(op, "expected assume predicate attribute")
		}
		if msg := p.VerifyOn(op.Operand(0).Type()); msg != "" {
			return c.Error(op, "%s", msg)
		}
		return true
	}, OpAssume)
}

// carriable checks that control flow carries tiles and tokens only.
func carriable(c *ir.Context, op *ir.Op, what string, vs []*ir.Value) bool {
	for i, v := range vs {
		switch v.Type().(type) {
		case *TensorViewType:
			return c.Error(op, "%s %d is a tensor_view, which is not supported", what, i)
		case TileView:
			return c.Error(op, "%s %d is a tile view, which is not supported", what, i)
		}
	}
	return true
}

func verifyIf(c *ir.Context, op *ir.Op) bool {
	if !carriable(c, op, "result type", op.Results()) {
		return false
	}
	if op.NumResults() > 0 && op.Region(1).Empty() {
		return c.Error(op, "has non-empty return type, must define else branch")
	}
	for i, name := range []string{"then", "else"} {
		if b := op.Region(i).Front(); b != nil && !verifyBranch(c, op, name, b) {
			return false
		}
	}
	return true
}

// verifyBranch checks what a branch yields. A branch may leave the if for good instead.
func verifyBranch(c *ir.Context, op *ir.Op, name string, b *ir.Block) bool {
	last := b.Last()
	if b.NumArgs() != 0 {
		return c.Error(op, "%s branch must not have block arguments", name)
	}
	if last == nil || !last.Def.Traits.Has(ir.Terminator) {
		return c.Error(op, "%s branch must end in a terminator", name)
	}
	if last.Code() != OpYield {
		return true
	}
	yields, n := last.NumOperands(), op.NumResults()
	switch {
	case n > 0 && yields == 0:
		return c.Error(op, "has return type of %s but %s branch does not yield anything", quotedAll(op.Results()), name)
	case n == 0 && yields > 0:
		return c.Error(op, "does not return a value, but %s branch yields %s", name, quotedAll(last.Operands()))
	case !sameTypes(op.Results(), last.Operands()):
		return c.Error(op, "type does not match yield type, %s branch yields %s but op result type is %s",
			name, quotedAll(last.Operands()), quotedAll(op.Results()))
	}
	return true
}

// iterValues checks the values that a loop carries: as many region arguments (after the first skip) as inits, of their types.
func iterValues(c *ir.Context, op *ir.Op, inits []*ir.Value, skip int) bool {
	b := op.Body()
	if b == nil {
		return c.Error(op, "region #0 ('region') failed to verify constraint: region with 1 blocks")
	}
	if b.NumArgs() < skip {
		return c.Error(op, "expected induction variable to be same type as bounds")
	}
	args := b.Args()[skip:]
	if len(args) != len(inits) {
		return c.Error(op, "mismatch in number of region iterator values and loop iterator inits: %d vs %d", len(args), len(inits))
	}
	for i := range inits {
		if args[i].Type() != inits[i].Type() {
			return c.Error(op, "init value %d and region iter_value %d have different type: %s != %s",
				i, i, quoted(inits[i].Type()), quoted(args[i].Type()))
		}
	}
	return carriable(c, op, "loop-carried value", inits)
}

func verifyFor(c *ir.Context, op *ir.Op) bool {
	inits := For{op}.InitValues()
	if !iterValues(c, op, inits, 1) {
		return false
	}
	if op.Body().Arg(0).Type() != op.Operand(0).Type() {
		return c.Error(op, "expected induction variable to be same type as bounds")
	}
	if len(inits) != op.NumResults() {
		return c.Error(op, "mismatch in number of loop-carried values and defined values")
	}
	if !sameTypes(inits, op.Results()) {
		return c.Error(op, "types of loop-carried values (%s) do not match the result types (%s)", quotedAll(inits), quotedAll(op.Results()))
	}
	if last := op.Body().Last(); last == nil || last.Code() != OpContinue {
		return c.Error(op, "expects the body to end in 'cuda_tile.continue'")
	}
	return true
}

func verifyLoop(c *ir.Context, op *ir.Op) bool {
	return iterValues(c, op, Loop{op}.InitValues(), 0) && carriable(c, op, "result type", op.Results())
}

// enclosing finds the innermost ancestor with one of the names, through ifs only; nil after it reported what is in the way.
func enclosing(c *ir.Context, op *ir.Op, targets ...ir.Code) *ir.Op {
	parents := append(slices.Clone(targets), OpIf)
	slices.SortFunc(parents, func(a, b ir.Code) int { return strings.Compare(Dialect.Row(a).Name, Dialect.Row(b).Name) })
	p := op.ParentOp()
	if p == nil || !slices.Contains(parents, p.Code()) {
		c.Error(op, "expects parent op to be one of '%s'", names(parents, ", "))
		return nil
	}
	for ; p != nil; p = p.ParentOp() {
		if slices.Contains(targets, p.Code()) {
			return p
		}
		if p.Code() != OpIf {
			break
		}
	}
	dg := c.Diags.Add(ir.Error, op.Loc(), "'%s' op can only be nested within a ancestor chain of '%s' operations",
		op.Name(), names(append(slices.Clone(targets), OpIf), "', '"))
	if p != nil {
		dg.Note(p.Loc(), "see unexpected ancestor operation")
	}
	return nil
}

func names(codes []ir.Code, sep string) string {
	full := make([]string, len(codes))
	for i, c := range codes {
		full[i] = Dialect.Row(c).FullName()
	}
	return strings.Join(full, sep)
}

func verifyBreak(c *ir.Context, op *ir.Op) bool {
	loop := enclosing(c, op, OpLoop)
	if loop == nil {
		return false
	}
	if !sameTypes(op.Operands(), loop.Results()) {
		return c.Error(op, "operand types must correspond to the parent loop result types")
	}
	return true
}

func verifyContinue(c *ir.Context, op *ir.Op) bool {
	loop := enclosing(c, op, OpFor, OpLoop)
	if loop == nil {
		return false
	}
	want, what := loop.Results(), "return types"
	if l, ok := ir.As[Loop](loop); ok {
		want, what = l.InitValues(), "iter_values"
	}
	if !sameTypes(op.Operands(), want) {
		return c.Error(op, "`%s` is missing a valid terminator. `continue` op should have operand types that match the parent loop %s: (%s), but found: (%s)",
			loop.Def.Name, what, quotedAll(want), quotedAll(op.Operands()))
	}
	return true
}

func verifyYield(c *ir.Context, op *ir.Op) bool {
	parents := []ir.Code{OpIf, OpReduce, OpScan}
	if p := op.ParentOp(); p == nil || !slices.Contains(parents, p.Code()) {
		return c.Error(op, "expects parent op to be one of '%s'", names(parents, ", "))
	}
	return true
}

// verifyReturn checks that nothing but ifs and loops lies between a return and its entry.
func verifyReturn(c *ir.Context, op *ir.Op) bool {
	p := op.ParentOp()
	if p == nil || !isFunction(p) && p.Code() != OpIf && p.Code() != OpLoop {
		return c.Error(op, "expects parent op to be one of 'cuda_tile.entry, cuda_tile.preview$func, cuda_tile.if, cuda_tile.loop'")
	}
	for ; p != nil && !isFunction(p); p = p.ParentOp() {
		if p.Code() != OpIf && p.Code() != OpLoop {
			return c.Error(op, "must be used within a cuda_tile.entry, cuda_tile.if, or cuda_tile.loop operation")
		}
	}
	if p == nil {
		return true
	}
	ft := p.Signature()
	if ft == nil {
		return true // the function has its own error
	}
	name, _ := p.SymbolName()
	if op.NumOperands() != len(ft.Results) {
		return c.Error(op, "has %d operands, but enclosing function (@%s) returns %d", op.NumOperands(), name, len(ft.Results))
	}
	for i, want := range ft.Results {
		if got := op.Operand(i).Type(); got != want {
			c.Diags.Add(ir.Error, op.Loc(), "type of return operand %d (%s) doesn't match function result type (%s) in function @%s",
				i, quoted(got), quoted(want), name)
			return false
		}
	}
	return true
}

// isFunction tells the ops with a signature: entries, and the functions of tests.
func isFunction(op *ir.Op) bool {
	return op.Def.Dialect == Name && op.Traits().Has(ir.Function)
}

// verifyPrint counts the conversions of a format string.
func verifyPrint(c *ir.Context, op *ir.Op) bool {
	conversions, _, err := printf.Split(PrintTko{op}.Str())
	if err != nil {
		return c.Error(op, "%v", err)
	}
	if found := len(PrintTko{op}.Args()); len(conversions) != found {
		return c.Error(op, "incorrect number of operands: expected %d, found %d", len(conversions), found)
	}
	return true
}
