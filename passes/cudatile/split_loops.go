// Package cudatile has the passes on cuda_tile that run by name only.
package cudatile

import (
	"math/big"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// SplitThreshold says from which size on an if is worth two loops.
var SplitThreshold = pass.Option{Name: "split-threshold", Default: "1",
	Help: "Operations in a region of an if from which on its loop is split, or if it has a load, store, product, reduction, " +
		"if or for; 1 splits always, 0 never; the attribute cuda_tile.loop_split of the if, the for or the entry overrides it"}

// SplitLoops splits a for at the iteration from which on a comparison of its counter with an invariant changes, so that
// each part knows the answer. Inner loops come first; each loop is split once.
//
//	for %i in (%lb to %ub, step 1) {         %u = mini %s, %ub
//	  if (cmpi less_than %i, %s) {A}   =>    %l = maxi %s, %lb
//	  else {B}                               for %i in (%lb to %u, step 1) {A}
//	}                                        for %i in (%l to %ub, step 1) {B}
//
// The values that the first loop carries go on into the second.
func SplitLoops(s *pass.State) error {
	threshold, err := s.IntOption(SplitThreshold)
	if err != nil {
		return err
	}
	var loops []*ir.Op
	s.Walk(s.Module, ir.PostOrder, func(op *ir.Op) {
		if ir.Is[cudatile.For](op) {
			loops = append(loops, op)
		}
	})
	b := ir.NewBuilder(s.Ctx)
	for _, loop := range loops {
		if at := findSplit(loop, int64(threshold)); at != nil {
			at.apply(b.Before(loop))
		}
	}
	return nil
}

// loopSplit is a comparison at which a loop can be split.
type loopSplit struct {
	loop, cmp *ir.Op
	bound     *ir.Value // the invariant side
	less      bool      // the counter is less than the bound, or equal; else greater, or equal
	next      bool      // the answer changes after the bound: one more than it
}

// predicates says of each predicate what it means with the counter on the left, and which it is with the sides exchanged.
var predicates = map[def.Predicate]struct {
	less, next bool
	mirrored   def.Predicate
}{
	def.PredLess:         {true, false, def.PredGreater},
	def.PredLessEqual:    {true, true, def.PredGreaterEqual},
	def.PredGreater:      {false, true, def.PredLess},
	def.PredGreaterEqual: {false, false, def.PredLessEqual},
}

// findSplit finds the first if in a loop that can be split off and is worth it.
func findSplit(loop *ir.Op, threshold int64) (found *loopSplit) {
	ir.Walk(loop, ir.PreOrder, func(op *ir.Op) {
		if at := splitAt(loop, op); found == nil && at != nil && at.worthIt(op, threshold) {
			found = at
		}
	})
	return found
}

// splitAt reads the condition of an if inside a loop.
func splitAt(loop, op *ir.Op) *loopSplit {
	if !ir.Is[cudatile.If](op) {
		return nil
	}
	cmp, ok := ir.DefinedBy[cudatile.Cmpi](op.Operand(0))
	if !ok || (cmp.Signedness() == def.Unsigned) != ir.Cast[cudatile.For](loop).UnsignedCmp() {
		return nil
	}
	counter, bound := cmp.Lhs(), cmp.Rhs()
	p, ok := predicates[cmp.ComparisonPredicate()]
	if bound == loop.Body().Arg(0) {
		counter, bound = bound, counter
		p = predicates[p.mirrored]
	}
	if !ok || counter != loop.Body().Arg(0) || !ir.DefinedOutside(bound, loop) {
		return nil
	}
	return &loopSplit{loop: loop, cmp: cmp.Op, bound: bound, less: p.less, next: p.next}
}

// worthIt decides whether an if is reason enough to split.
func (l *loopSplit) worthIt(op *ir.Op, threshold int64) bool {
	entry := l.loop
	for entry.ParentOp() != nil && !pass.IsFunction(entry) {
		entry = entry.ParentOp()
	}
	for _, o := range []*ir.Op{entry, l.loop, op} {
		if a, ok := o.Discardable("cuda_tile.loop_split").(ir.IntegerAttr); ok {
			threshold = a.SInt()
		}
	}
	if threshold <= 1 {
		return threshold == 1
	}
	for _, u := range l.cmp.Result(0).Uses() {
		if o := u.Owner(); o.Def == op.Def {
			for _, r := range o.Regions() {
				if isHeavy(r.Front(), threshold) {
					return true
				}
			}
		}
	}
	return false
}

// heavy lists the ops that make a region worth a split, however small it is.
var heavy = map[ir.Code]bool{cudatile.OpLoadPtrTko: true, cudatile.OpStorePtrTko: true, cudatile.OpLoadViewTko: true,
	cudatile.OpStoreViewTko: true, cudatile.OpMmaf: true, cudatile.OpMmai: true, cudatile.OpReduce: true, cudatile.OpIf: true, cudatile.OpFor: true}

func isHeavy(b *ir.Block, threshold int64) bool {
	if b == nil {
		return false
	}
	n := int64(0)
	for _, op := range b.Ops() {
		if heavy[op.Code()] {
			return true
		}
		if !op.Traits().Has(ir.Terminator) {
			n++
		}
	}
	return n >= threshold
}

// apply replaces the loop by two.
func (l *loopSplit) apply(b *ir.Builder) {
	b.Loc = l.loop.Loc()
	end, start := l.bounds(b)
	first, second := ir.Mapping{}, ir.Mapping{}
	before := b.Clone(l.loop, first)
	before.SetOperand(1, end)
	after := b.Clone(l.loop, second)
	after.SetOperand(0, start)
	for i, r := range before.Results() {
		after.SetOperand(3+i, r)
	}
	l.decide(b, first, l.less)
	l.decide(b, second, !l.less)
	for i, r := range l.loop.Results() {
		r.ReplaceAllUsesWith(after.Result(i))
	}
	l.loop.Erase()
}

// bounds makes the end of the first loop and the start of the second. The start is a value that the counter takes, so for
// steps other than 1 the bound is rounded up to one. Where a sum or a product could wrap around it is guarded, which costs
// some operations; constants mostly show that none does.
func (l *loopSplit) bounds(b *ir.Builder) (end, start *ir.Value) {
	lower, upper, step := l.loop.Operand(0), l.loop.Operand(1), l.loop.Operand(2)
	n := newCounting(b, l)
	at, known := l.bound, n.known(l.bound)
	if l.next {
		one := cudatile.MakeSplat(b, n.t, 1)
		known = n.fitting(known, func(k *big.Int) { k.Add(k, big.NewInt(1)) })
		if known == nil { // after the last iteration is as good as far after it
			at = n.min2(at, n.sub(upper, one))
		}
		at = n.add(at, one)
	}
	if by := n.known(step); by == nil || by.Cmp(big.NewInt(1)) != 0 {
		from := n.known(lower)
		exact := by != nil && by.Sign() > 0 && from != nil
		way := n.sign
		if exact {
			known = n.fitting(known, func(k *big.Int) { k.Sub(k, from) })
			known = n.fitting(known, func(k *big.Int) { k.Mul(roundedUp(k, by), by) })
			exact = n.fitting(known, func(k *big.Int) { k.Add(k, from) }) != nil
		}
		if !exact { // from lower on, the distance is right as an unsigned number
			at, way = n.max2(at, lower), def.Unsigned
		}
		steps := cudatile.NewDivi(b, n.sub(at, lower), step, way, def.RoundPosInf).Result()
		rounded := n.add(lower, cudatile.NewMuli(b, steps, step, cudatile.MuliOptions{}).Result())
		if !exact { // it has wrapped around if it is less than what it was made of: then no iteration is left
			wrapped := cudatile.NewCmpi(b, l.cmp.Result(0).Type(), rounded, at, def.PredLess, n.sign).Result()
			rounded = cudatile.NewSelect(b, wrapped, upper, rounded).Result()
		}
		at = rounded
	}
	return n.min2(at, upper), n.max2(at, lower)
}

// counting makes arithmetic in the type of a counter, and follows it where the numbers are known.
type counting struct {
	b        *ir.Builder
	t        *cudatile.TileType
	sign     def.Signedness
	min, max *big.Int
}

func newCounting(b *ir.Builder, l *loopSplit) *counting {
	n := &counting{b: b, t: l.bound.Type().(*cudatile.TileType), sign: def.Signed}
	n.min, n.max = new(big.Int), new(big.Int).Lsh(big.NewInt(1), uint(ir.BitWidth(n.t.Elem)))
	if ir.Cast[cudatile.For](l.loop).UnsignedCmp() {
		n.sign = def.Unsigned
	} else {
		n.max.Rsh(n.max, 1)
		n.min.Neg(n.max)
	}
	n.max.Sub(n.max, big.NewInt(1))
	return n
}

func (n *counting) add(x, y *ir.Value) *ir.Value {
	return cudatile.NewAddi(n.b, x, y, cudatile.AddiOptions{}).Result()
}

func (n *counting) sub(x, y *ir.Value) *ir.Value {
	return cudatile.NewSubi(n.b, x, y, cudatile.SubiOptions{}).Result()
}

func (n *counting) min2(x, y *ir.Value) *ir.Value {
	return cudatile.NewMini(n.b, x, y, n.sign).Result()
}
func (n *counting) max2(x, y *ir.Value) *ir.Value {
	return cudatile.NewMaxi(n.b, x, y, n.sign).Result()
}

// known is the number that a value is, or nil.
func (n *counting) known(v *ir.Value) *big.Int {
	bits, ok := cudatile.SplatOf(v)
	if !ok {
		return nil
	}
	k := new(big.Int).SetUint64(bits)
	if k.Cmp(n.max) > 0 {
		k.Sub(k, new(big.Int).Lsh(big.NewInt(1), uint(ir.BitWidth(n.t.Elem))))
	}
	return k
}

// fitting computes with a number, and returns it if it is known and still in range; else nil.
func (n *counting) fitting(k *big.Int, compute func(*big.Int)) *big.Int {
	if k == nil {
		return nil
	}
	compute(k)
	if k.Cmp(n.min) < 0 || k.Cmp(n.max) > 0 {
		return nil
	}
	return k
}

// roundedUp is k / by, rounded up; by is positive.
func roundedUp(k, by *big.Int) *big.Int {
	q, rest := new(big.Int).DivMod(k, by, new(big.Int))
	if rest.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

// decide makes the comparison a constant in one of the loops: the ifs on it that stand directly in the body are replaced by
// their region, and what else uses it uses the constant.
func (l *loopSplit) decide(b *ir.Builder, m ir.Mapping, answer bool) {
	result := m.Lookup(l.cmp.Result(0))
	cmp := result.DefiningOp()
	for _, op := range m.Lookup(l.loop.Body().Arg(0)).ParentBlock().Ops() {
		if op.Block() != nil && ir.Is[cudatile.If](op) && op.Operand(0) == result {
			cudatile.InlineBranch(op, answer)
		}
	}
	if result.HasUses() {
		bit := uint64(0)
		if answer {
			bit = 1
		}
		b.Before(cmp).Loc = cmp.Loc()
		result.ReplaceAllUsesWith(cudatile.MakeSplat(b, result.Type().(*cudatile.TileType), bit))
	}
	cmp.Erase()
}
