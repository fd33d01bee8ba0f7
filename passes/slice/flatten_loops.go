package slice

import (
	"math"
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/passes/facts"
	"tileiras/passes/pass"
)

// FlattenLoops makes one loop of two, where the inner one of constant bounds multiplies and the outer one does nothing but count (LLVM's LoopFlatten). Copies
// of later iterations then run under the products of this one from the first iteration to the last, not from the first to the last of the inner loop.
//
//	for %k = 0 to %n, inits(%x) {                           %m = %n * 4
//	  %r = for %s = 0 to 4, inits(%x) {                     for %j = 0 to %m, inits(%x) {
//	    .. %k * 4 + %s .. %k ..                      =>       .. %j .. %j / 4 ..
//	    continue %y                                           continue %y
//	  }                                                     }
//	  continue %r
//	}
func FlattenLoops(s *pass.State) error {
	for _, entry := range s.Entries() {
		flattenLoops(s, entry)
	}
	return nil
}

// flattenLoops flattens the nests of one entry, from the inside out.
func flattenLoops(s *pass.State, entry *ir.Op) {
	var loops []*ir.Op // around products, the innermost
	seen := map[*ir.Op]bool{}
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		if loop := ir.EnclosingLoop(op); tileaa.IsProduct(op) && !seen[loop] {
			seen[loop] = true
			loops = append(loops, loop)
		}
	})
	var known *facts.Facts
	flattened := false
	for _, loop := range loops {
		for {
			n, ok := nestOf(loop)
			if ok && known == nil {
				known = facts.New(s.Ctx, entry)
			}
			if !ok || !n.fits(known) {
				break
			}
			loop, known = n.flatten(ir.NewBuilder(s.Ctx)), nil
			flattened = true
		}
	}
	if flattened {
		s.EraseDead(entry) // the counters of the loops that there were
	}
}

// A nest is two loops that count from zero by one, of which the inner one does all the work and runs a constant number of times.
type nest struct {
	outer, inner tileaa.For
	trips        int64 // of the inner loop
}

// nestOf is the nest that a loop is the inner part of.
func nestOf(op *ir.Op) (n nest, ok bool) {
	inner, ok := ir.As[tileaa.For](op)
	if !ok {
		return n, false
	}
	outer, ok := ir.As[tileaa.For](op.ParentOp())
	trips, constant := tileaa.TripCount(op)
	if !ok || !constant || trips < 2 || trips > 1<<16 || !countsByOne(inner) || !countsByOne(outer) || inner.Unsigned() != outer.Unsigned() ||
		counter(inner).Type() != counter(outer).Type() || !onlyForwards(outer, inner) {
		return n, false
	}
	return nest{outer: outer, inner: inner, trips: int64(trips)}, true
}

// counter is the value that a loop counts.
func counter(f tileaa.For) *ir.Value { return f.Op.Body().Arg(0) }

// countsByOne reports whether a loop is an ordinary one that counts from zero by one.
func countsByOne(f tileaa.For) bool {
	from, ok := tileaa.SplatInt(f.Lower())
	by, yes := tileaa.SplatInt(f.Step())
	return ok && yes && from == 0 && by == 1 && !f.Remainder() && len(f.Lands()) == 0
}

// onlyForwards reports whether the outer loop does nothing but pass its carried values through the inner one, and compute scalars.
func onlyForwards(outer, inner tileaa.For) bool {
	args, inits := outer.Op.Body().Args()[1:], inner.Inits()
	if len(args) != len(inits) {
		return false
	}
	next := outer.Op.Body().Terminator()
	for i, v := range inits {
		if v != args[i] || !v.HasOneUse() || next.Operand(i) != inner.Results()[i] || !inner.Results()[i].HasOneUse() {
			return false
		}
	}
	return !slices.ContainsFunc(outer.Op.Body().Ops(), func(op *ir.Op) bool {
		scalars := op.MovesFreely() && !slices.ContainsFunc(op.Results(), tileaa.IsRanked)
		return op != inner.Op && op != next && !scalars
	})
}

// fits reports whether the counter of one loop can count all iterations of both. To an end below zero there are none, of either.
func (n *nest) fits(known *facts.Facts) bool {
	upper, most := known.Of(n.outer.Upper()), highest(n.outer.Upper())/n.trips
	return upper.SMax <= most && (upper.SMin >= 0 || upper.SMin >= -most && !n.outer.Unsigned())
}

// highest is the highest signed number of the type of a value.
func highest(v *ir.Value) int64 { return math.MaxInt64 >> (64 - ir.BitWidth(tileaa.AsTile(v).Elem)) }

// flatten makes one loop of both.
func (n *nest) flatten(b *ir.Builder) *ir.Op {
	t := tileaa.AsTile(counter(n.outer))
	b.Before(n.outer.Op).Loc = n.outer.Op.Loc()
	types := ir.TypesOf(n.outer.Results())
	var upper *ir.Value
	if times, ok := tileaa.SplatInt(n.outer.Upper()); ok {
		upper = tileaa.Const(b, t, times*n.trips)
	} else {
		upper = tileaa.NewMuli(b, n.outer.Upper(), tileaa.Const(b, t, n.trips), tileaa.MuliOptions{}).Result()
	}
	loop := tileaa.NewFor(b, types, n.outer.Lower(), upper, n.outer.Step(), n.outer.Inits(), tileaa.ForOptions{Unsigned: n.outer.Unsigned()})
	body := loop.Op.Region(0).AddBlock(append([]ir.Type{t}, types...)...)
	n.number(b.AtStart(body), body.Arg(0))
	for i, v := range n.outer.Results() {
		n.inner.Op.Body().Arg(i + 1).ReplaceAllUsesWith(body.Arg(i + 1))
		v.ReplaceAllUsesWith(loop.Results()[i])
	}
	next := n.outer.Op.Body().Terminator()
	b.AtEnd(body)
	for _, from := range []*ir.Block{n.outer.Op.Body(), n.inner.Op.Body()} {
		for _, op := range from.Ops() {
			if op != n.inner.Op && op != next {
				op.Remove()
				b.Insert(op)
			}
		}
	}
	n.outer.Op.Erase()
	return loop.Op
}

// number gives what the counters of both loops number the number of the iteration of one.
func (n *nest) number(b *ir.Builder, j *ir.Value) {
	for _, sum := range n.linearCounters() {
		sum.op.Result(0).ReplaceAllUsesWith(sum.of(b, j, n.trips))
	}
	k, s := counter(n.outer), counter(n.inner)
	trips := tileaa.Const(b, tileaa.AsTile(j), n.trips)
	if k.HasUses() {
		k.ReplaceAllUsesWith(tileaa.NewDivi(b, j, trips, def.Unsigned, def.RoundZero).Result())
	}
	if s.HasUses() {
		s.ReplaceAllUsesWith(tileaa.NewRemi(b, j, trips, def.Unsigned).Result())
	}
}

// linearCounter is an op that computes k * trips + s, the number of an iteration of the flattened loop. last is the most that k is known to
// be, if anything is.
type linearCounter struct {
	op   *ir.Op
	last *int64
}

// of is the sum as the number of an iteration, with what is known of k.
func (m linearCounter) of(b *ir.Builder, j *ir.Value, trips int64) *ir.Value {
	if m.last != nil && *m.last < highest(j)/trips {
		first, last := int64(0), *m.last*trips+trips-1
		j = tileaa.NewAssume(b, j, &tileaa.BoundedAttr{Lower: &first, Upper: &last}).Result()
	}
	if t := tileaa.AsTile(m.op.Result(0)); j.Type() != ir.Type(t) {
		j = tileaa.NewExti(b, t, j, def.Unsigned).Result()
	}
	return j
}

// linearCounters finds such sums in the inner loop.
func (n *nest) linearCounters() (list []linearCounter) {
	k, s := counter(n.outer), counter(n.inner)
	ir.Walk(n.inner.Op, ir.PreOrder, func(op *ir.Op) {
		if op.Code() != tileaa.OpAddi || tileaa.IsRanked(op.Result(0)) {
			return
		}
		for i := range 2 {
			product, rest := op.Operand(i).DefiningOp(), op.Operand(1-i)
			if product == nil || product.Code() != tileaa.OpMuli {
				continue
			}
			by, ok := tileaa.SplatInt(product.Operand(1))
			of, last := widened(product.Operand(0))
			if part, _ := widened(rest); ok && by == n.trips && of == k && part == s {
				list = append(list, linearCounter{op, last})
				return
			}
		}
	})
	return list
}

// widened is the number that a value is, in a wider type or with a promise, and the most that the promise says it is.
func widened(v *ir.Value) (from *ir.Value, last *int64) {
	for {
		op := v.DefiningOp()
		switch {
		case op == nil:
			return v, last
		case op.Code() == tileaa.OpAssume:
			if p, ok := ir.Cast[tileaa.Assume](op).Predicate().(*tileaa.BoundedAttr); ok && p.Upper != nil {
				last = p.Upper
			}
		case op.Code() != tileaa.OpExti || ir.Cast[tileaa.Exti](op).Signedness() != def.Unsigned:
			return v, last
		}
		v = op.Operand(0)
	}
}
