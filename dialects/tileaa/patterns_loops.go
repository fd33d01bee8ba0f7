package tileaa

import (
	"slices"

	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
)

// exitSecond gives exits of loops one form, which passes know: the second way of a branch leaves, and the first goes on.
//
//	if %c {break %x}                          if not %c {} else {break %x}
//	if %c {continue %y}; break %x    =>       if %c {} else {break %x}; continue %y
func exitSecond(b *ir.Builder, op *ir.Op) bool {
	branch, end := If{op}, op.Next()
	then, otherwise := branch.Then().Terminator(), branch.Else()
	if then == nil || otherwise != nil && !ir.Is[Yield](otherwise.Terminator()) {
		return false
	}
	empty := op.NumResults() == 0 && (otherwise == nil || otherwise.First() == otherwise.Terminator())
	switch {
	case then.Code() == OpBreak:
		branch.SetCond(NewXori(b, branch.Cond(), Const(b, AsTile(branch.Cond()), -1)).Result())
		if otherwise == nil {
			NewYield(b.AtEnd(op.Region(1).AddBlock()), nil)
		}
		op.Region(0).Swap(op.Region(1))
		return true
	case then.Code() == OpContinue && then.Prev() == nil && empty && ir.Is[Break](end):
		then.MoveBefore(end)
		NewYield(b.AtEnd(branch.Then()), nil)
		if otherwise == nil {
			otherwise = op.Region(1).AddBlock()
		} else {
			otherwise.Terminator().Erase()
		}
		end.Remove()
		otherwise.Append(end)
		return true
	}
	return false
}

// countedLoop: a loop that counts up to a bound, as while has it, is a for, where the counter cannot wrap.
//
//	loop inits(%lo, %x) (%i, %v) {                for %lo to %hi step 1, inits(%x) (%i, %v) {
//	  if (%i < %hi) {} else {break %v}      =>      ..
//	  ..                                            continue %y
//	  continue %i + 1, %y                         }
//	}
//
// The test may stand at the end, where the first iteration runs anyhow; the maximum is %hi where a branch around the loop asks for 0 < %hi:
//
//	loop inits(0, %x) (%i, %v) {                  for 0 to max(%hi, 1) step 1, inits(%x) (%i, %v) {
//	  ..                                    =>      ..
//	  if (%i + 1 < %hi) {} else {break %y}          continue %y
//	  continue %i + 1, %y                         }
//	}
//
// A counter that has got no further than below the bound has room for one; for more, the sum says that it does not wrap.
func countedLoop(b *ir.Builder, op *ir.Op) bool {
	return CountLoop(b, op, func(step Addi, _ *ir.Value, s def.Signedness) bool {
		by, ok := SplatInt(step.Rhs())
		flag := def.NoUnsignedWrap
		if s == def.Signed {
			flag = def.NoSignedWrap
		}
		return ok && (by == 1 || by > 0 && step.Overflow()&flag != 0)
	})
}

// CountLoop makes a for of a loop, before which the builder stands, that counts up to a bound by steps that are positive and do not wrap while the counter is below the bound.
func CountLoop(b *ir.Builder, op *ir.Op, steps func(step Addi, bound *ir.Value, s def.Signedness) bool) bool {
	c, ok := newCounted(op)
	if !ok || slices.ContainsFunc(c.steps, func(step Addi) bool { return !steps(step, c.bound, c.test.Signedness()) }) {
		return false
	}
	by, known := SplatInt(c.steps[0].Rhs())
	c.enters = lessInside(op, c.Init(c.k), c.bound, c.test.Signedness())
	if c.atEnd && !c.enters && !(known && c.begins(by)) || c.countsBehind() && !(known && by == 1) {
		return false
	}
	c.replace(b)
	return true
}

// counted is a loop that its counter leaves.
type counted struct {
	ir.Flow
	exit   *ir.Op // the branch that breaks
	stay   *ir.Block
	end    *ir.Op // the break
	test   Cmpi
	bound  *ir.Value
	atEnd  bool   // the test says whether there is another iteration
	enters bool   // a branch around the loop says that the counter begins below the bound
	k      int    // which carried value counts
	steps  []Addi // by continue: what it passes on
	exits  []int  // by result: the carried value that it is, or -1 for what comes from outside
}

func newCounted(op *ir.Op) (c counted, ok bool) {
	c.Flow, _ = ir.LoopOf(op)
	end, breaks := op.Body().Terminator(), c.Terminators(ir.BreakFlow)
	if end == nil || end.Code() != OpContinue || len(breaks) != 1 || breaks[0].Prev() != nil {
		return c, false
	}
	c.end, c.exit = breaks[0], breaks[0].ParentOp()
	branch, ok := ir.As[If](c.exit)
	if !ok || c.exit.Block() != op.Body() {
		return c, false
	}
	c.stay = branch.Then()
	if c.stay == c.end.Block() || !ir.Is[Yield](c.stay.Terminator()) {
		return c, false // exitSecond has not come yet
	}
	return c, c.counts(branch.Cond()) && c.goesOn() && c.passesOn(end) && c.breaksWith(end) && !returnsWithin(op)
}

// counts finds the counter and the bound of the test.
func (c *counted) counts(cond *ir.Value) (ok bool) {
	if c.test, ok = ir.DefinedBy[Cmpi](cond); !ok || IsRanked(c.test.Lhs()) {
		return false
	}
	p, x := c.test.Predicate(), c.test.Lhs()
	if c.bound = c.test.Rhs(); ir.DefinedOutside(x, c.Op) {
		x, c.bound, p = c.bound, x, mirrored[p]
	}
	if p != def.PredLess || !ir.DefinedOutside(c.bound, c.Op) {
		return false
	}
	if step, sum := ir.DefinedBy[Addi](assumed(x)); sum {
		c.atEnd, x = true, step.Lhs()
	}
	c.k, ok = c.CarriedIndex(assumed(x))
	return ok
}

// assumed is what assumptions are made of.
func assumed(v *ir.Value) *ir.Value {
	for ir.Is[Assume](v.DefiningOp()) {
		v = v.DefiningOp().Operand(0)
	}
	return v
}

// goesOn checks that every continue passes on the sum of the counter and one step.
func (c *counted) goesOn() bool {
	for _, next := range c.Continues() {
		step, ok := ir.DefinedBy[Addi](assumed(next.Operand(c.k)))
		if !ok || assumed(step.Lhs()) != c.Carried()[c.k] || !ir.DefinedOutside(step.Rhs(), c.Op) || len(c.steps) > 0 && step.Rhs() != c.steps[0].Rhs() {
			return false
		}
		c.steps = append(c.steps, step)
	}
	return true
}

// passesOn checks that nothing happens in an iteration that breaks: before the test where that is at the start, behind it where it is at the end.
func (c *counted) passesOn(end *ir.Op) bool {
	if !c.atEnd {
		return pureUpTo(c.exit, c.Op.Body().First(), ir.Pure)
	}
	only := len(c.steps) == 1 && c.stay.First() == c.stay.Terminator() && c.exit.NumResults() == 0
	return only && c.test.Op.Block() == c.Op.Body() && c.testsNext() && pureUpTo(end, c.exit.Next(), ir.Pure|ir.Speculatable)
}

// testsNext reports whether the test is of what the only continue passes on.
func (c *counted) testsNext() bool {
	next := c.steps[0].Result()
	return assumed(c.test.Lhs()) == next || assumed(c.test.Rhs()) == next
}

// pureUpTo reports whether ops from one up to another have these traits and no regions.
func pureUpTo(end, op *ir.Op, traits ir.Traits) bool {
	for ; op != end; op = op.Next() {
		if !op.Traits().Has(traits) || op.NumRegions() > 0 {
			return false
		}
	}
	return true
}

// breaksWith finds what the results are: carried values, as the iteration that breaks has them, or values from outside.
func (c *counted) breaksWith(end *ir.Op) bool {
	at := map[*ir.Value]int{}
	for i, v := range c.Carried() {
		if c.atEnd {
			v = end.Operand(i)
		}
		if _, twice := at[v]; !twice {
			at[v] = i
		}
	}
	for _, v := range c.end.Operands() {
		i, ok := at[v]
		if !ok {
			i = -1
		}
		if !ok && !ir.DefinedOutside(v, c.Op) {
			return false
		}
		c.exits = append(c.exits, i)
	}
	return true
}

// countsBehind reports whether somebody asks how far the counter has come.
func (c *counted) countsBehind() bool {
	for i, r := range c.Op.Results() {
		if c.exits[i] == c.k && r.HasUses() {
			return true
		}
	}
	return false
}

// returnsWithin reports whether a kernel may end in a region of an op, as it cannot in that of a for.
func returnsWithin(op *ir.Op) (found bool) {
	ir.Walk(op, ir.PreOrder, func(in *ir.Op) { found = found || in.Code() == OpReturn })
	return found
}

// begins reports whether the counter begins at a number to which a step can be added.
func (c *counted) begins(by int64) bool {
	lower, ok := SplatValue(c.Init(c.k))
	if !ok {
		return false
	}
	sum := Truncate(lower+uint64(by), elemWidth(c.bound))
	return compareInts(elemWidth(c.bound), lower, sum, def.PredLess, c.test.Signedness() == def.Signed)
}

// replace makes the for.
func (c *counted) replace(b *ir.Builder) {
	lower, upper, s := c.Init(c.k), c.bound, c.test.Signedness()
	if t := AsTile(lower); c.atEnd && !c.enters {
		first, _ := SplatInt(lower)
		upper = NewMaxi(b, upper, Const(b, t, first+1), s).Result()
	}
	inits, continues, body := slices.Delete(c.Inits(), c.k, c.k+1), c.Continues(), c.Op.Body()
	loop := NewFor(b, ir.TypesOf(inits), lower, upper, c.steps[0].Rhs(), inits, ForOptions{Unsigned: s == def.Unsigned}).Op
	to := loop.Region(0).AddBlock(append([]ir.Type{lower.Type()}, ir.TypesOf(inits)...)...)
	carried := slices.Insert(slices.Clone(to.Args()[1:]), c.k, to.Arg(0)) // as the loop has them
	results := slices.Insert(loop.Results(), c.k, nil)
	for i, v := range c.Carried() {
		carried[i].NameHint = v.NameHint
		v.ReplaceAllUsesWith(carried[i])
	}
	for i, r := range c.Op.Results() {
		switch v := c.end.Operand(i); {
		case c.exits[i] < 0:
			r.ReplaceAllUsesWith(v)
		case c.exits[i] != c.k:
			r.ReplaceAllUsesWith(results[c.exits[i]])
		case r.HasUses():
			r.ReplaceAllUsesWith(NewMaxi(b.After(loop), upper, lower, s).Result())
		}
	}
	for _, n := range continues {
		n.SetOperandGroup(0, slices.Delete(n.Operands(), c.k, c.k+1))
	}
	replaceByBlock(c.exit, c.stay)
	for _, o := range body.Ops() {
		o.Remove()
		to.Append(o)
	}
	c.Op.Erase()
}

// lessInside reports whether a branch in which an op stands, not too far around it, says that x is below y.
func lessInside(op *ir.Op, x, y *ir.Value, s def.Signedness) bool {
	for range maxGuards {
		parent := op.ParentOp()
		if parent == nil {
			return false
		}
		if branch, ok := ir.As[If](parent); ok && saysLess(branch.Cond(), op.Block() == branch.Then(), x, y, s) {
			return true
		}
		op = parent
	}
	return false
}

// saysLess reports whether x is below y where a condition has a value.
func saysLess(cond *ir.Value, is bool, x, y *ir.Value, s def.Signedness) bool {
	c, ok := ir.DefinedBy[Cmpi](cond)
	if !ok || c.Signedness() != s {
		return false
	}
	p, l, r := c.Predicate(), c.Lhs(), c.Rhs()
	if !is {
		p = negated[p]
	}
	if p == def.PredGreater {
		p, l, r = def.PredLess, r, l
	}
	return p == def.PredLess && sameNumber(l, x) && sameNumber(r, y)
}

// sameNumber reports whether two values are one, or equal constants of one type.
func sameNumber(x, y *ir.Value) bool {
	c, ok := SplatValue(x)
	d, yes := SplatValue(y)
	return x == y || ok && yes && c == d && x.Type() == y.Type()
}

// guardedLoop: a for in a branch that asks whether it has an iteration needs no branch.
//
//	%r = if %lo < %hi {
//	  %s = for %lo to %hi step 1, inits(%x) {..}
//	  yield %s                                       =>      %r = for %lo to %hi step 1, inits(%x) {..}
//	} else {
//	  yield %x
//	}
func guardedLoop(_ *ir.Builder, op *ir.Op) bool {
	branch := If{op}
	for _, is := range []bool{true, false} {
		block, other := branch.Then(), branch.Else()
		if !is {
			block, other = other, block
		}
		if block == nil || !ir.Is[Yield](block.Terminator()) || other != nil && !ir.Is[Yield](other.First()) {
			continue
		}
		loop, ok := ir.As[For](block.Terminator().Prev())
		if !ok || !pureUpTo(loop.Op, block.First(), ir.Pure|ir.Speculatable) || !asksForOne(branch.Cond(), is, loop) || !passesBy(loop, block, other) {
			continue
		}
		replaceByBlock(op, block)
		return true
	}
	return false
}

// asksForOne reports whether a for has an iteration where a condition has a value, and no other time.
func asksForOne(cond *ir.Value, is bool, loop For) bool {
	s := def.Signed
	if loop.Unsigned() {
		s = def.Unsigned
	}
	return saysLess(cond, is, loop.Lower(), loop.Upper(), s)
}

// passesBy reports whether what the other way of a branch yields is what the way with a loop yields where that has no iteration.
func passesBy(loop For, block, other *ir.Block) bool {
	for i, v := range block.Terminator().Operands() {
		if v.DefiningOp() == loop.Op {
			v = loop.Inits()[v.Index()]
		}
		if !sameNumber(v, other.Terminator().Operand(i)) {
			return false
		}
	}
	return true
}
