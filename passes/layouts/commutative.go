package layouts

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/ir"
	"tileiras/passes/facts"
	"tileiras/passes/pass"
)

// markCommutative marks reductions that choose one of two elements, whichever comes first, as the place of the largest number does. Lanes that exchange
// elements then need not put them in order. Proven by all ways in which two elements may compare, but for those in which elements are equal that are all
// different, such as places.
//
//	(x, i), (y, j)    x > y or x == y and i < j ? (x, i) : (y, j)        i = j cannot be
func markCommutative(s *pass.State, entry *ir.Op) {
	var known *facts.Facts
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		r, is := ir.As[tileaa.Reduce](op)
		if !is || op.NumOperands() < 2 {
			return
		}
		if known == nil {
			known = facts.New(s.Ctx, entry)
		}
		c := choice{region: r.Combine(), pairs: make([]comparison, op.NumOperands()), distinct: make([]bool, op.NumOperands())}
		for i, v := range op.Operands() {
			c.distinct[i] = known.DistinctAlong(v, int(r.Dim()))
		}
		if c.symmetric(0) {
			r.SetCommutative(true)
		}
	})
}

// choice is a region that may choose one of two elements, each of which is as many numbers as there are pairs of arguments.
type choice struct {
	region   *ir.Block
	pairs    []comparison
	distinct []bool // the numbers of a pair are not equal
}

// relation is how two numbers compare.
type relation int8

const (
	less relation = iota - 1
	equal
	greater
	unordered // one of them is no number
)

func (r relation) flipped() relation {
	if r == unordered {
		return r
	}
	return -r
}

// comparison is how the numbers of a pair compare: floats, of which either may be NaN, in one way; integers with and without a sign.
type comparison struct {
	signed, unsigned relation
	nan              [2]bool
}

func (c comparison) flipped() comparison {
	return comparison{c.signed.flipped(), c.unsigned.flipped(), [2]bool{c.nan[1], c.nan[0]}}
}

// ofSides is how two numbers of a pair compare, each of which may be the first, 0, or the second.
func (c comparison) ofSides(x, y int, s def.Signedness) relation {
	switch r := [...]relation{def.Unsigned: c.unsigned, def.Signed: c.signed}[s]; {
	case c.nan[x] || c.nan[y]:
		return unordered
	case x == y:
		return equal
	case x == 0:
		return r
	default:
		return r.flipped()
	}
}

// floats and integers are all ways in which two of them compare.
var (
	floats = []comparison{{signed: less}, {signed: equal}, {signed: greater}, {unordered, unordered, [2]bool{true, false}}, {unordered, unordered, [2]bool{false, true}},
		{unordered, unordered, [2]bool{true, true}}}
	integers = []comparison{{}, {less, less, [2]bool{}}, {less, greater, [2]bool{}}, {greater, less, [2]bool{}}, {greater, greater, [2]bool{}}}
)

// maxCompared bounds how many pairs are compared in all ways.
const maxCompared = 3

// symmetric reports whether the same bits are chosen of two elements and of the two exchanged, however the pairs from one on compare.
func (c *choice) symmetric(from int) bool {
	if len(c.pairs) > maxCompared {
		return false
	}
	if from == len(c.pairs) {
		return c.sameOfExchanged()
	}
	ways := integers
	if ir.IsFloat(tileaa.AsTile(c.region.Arg(2 * from)).Elem) {
		ways = floats
	}
	for _, w := range ways {
		c.pairs[from] = w
		if !(c.distinct[from] && w == integers[0]) && !c.symmetric(from+1) {
			return false
		}
	}
	return true
}

// sameOfExchanged is symmetric of pairs that compare in one way.
func (c *choice) sameOfExchanged() bool {
	chosen, ok := c.chosen(c.pairs)
	exchanged := make([]comparison, len(c.pairs))
	for i, p := range c.pairs {
		exchanged[i] = p.flipped()
	}
	other, okToo := c.chosen(exchanged)
	if !ok || !okToo {
		return false
	}
	for i, x := range chosen {
		y := other[i]
		same := x.pair == y.pair && x.side != y.side
		if same {
			continue
		}
		if x.pair != y.pair || ir.IsFloat(tileaa.AsTile(c.region.Arg(2*x.pair)).Elem) || c.pairs[x.pair] != integers[0] {
			return false // zeros of two signs are equal, and so are no two NaN
		}
	}
	return true
}

// term is a value of the region: one number of a pair, or whether something is true.
type term struct {
	pair, side int
	is         bool
}

// truth is the pair of terms that say whether something is true.
const truth = -1

// chosen is which numbers the region yields; ok is false where it does anything but compare and choose.
func (c *choice) chosen(pairs []comparison) (out []term, ok bool) {
	terms := map[*ir.Value]term{}
	for i := range pairs {
		terms[c.region.Arg(2*i)], terms[c.region.Arg(2*i+1)] = term{pair: i}, term{pair: i, side: 1}
	}
	for op := c.region.First(); op != nil; op = op.Next() {
		if op.Code() == tileaa.OpConstant {
			continue
		}
		operands := make([]term, op.NumOperands())
		for i, v := range op.Operands() {
			t, known := terms[v]
			if !known {
				t, known = constantTruth(v)
			}
			if !known {
				return nil, false
			}
			operands[i] = t
		}
		if op.Code() == tileaa.OpYield {
			return operands, !slices.ContainsFunc(operands, func(t term) bool { return t.pair == truth })
		}
		t, known := evaluate(op, operands, pairs)
		if !known {
			return nil, false
		}
		terms[op.Result(0)] = t
	}
	return nil, false
}

// constantTruth is what a constant says that is true or false.
func constantTruth(v *ir.Value) (t term, ok bool) {
	bits, constant := tileaa.SplatValue(v)
	return term{pair: truth, is: bits != 0}, constant && ir.BitWidth(tileaa.AsTile(v).Elem) == 1
}

// evaluate is the result of an operation of the region.
func evaluate(op *ir.Op, x []term, pairs []comparison) (t term, ok bool) {
	bits := !slices.ContainsFunc(x, func(t term) bool { return t.pair != truth })
	compared := len(x) == 2 && x[0].pair == x[1].pair && !bits
	switch op.Code() {
	case tileaa.OpCmpf:
		if c := ir.Cast[tileaa.Cmpf](op); compared {
			r := pairs[x[0].pair].ofSides(x[0].side, x[1].side, def.Signed)
			if r == unordered {
				return term{pair: truth, is: c.Ordering() == def.Unordered}, true
			}
			return term{pair: truth, is: c.Predicate().Holds(r == less, r == equal)}, true
		}
	case tileaa.OpCmpi:
		if c := ir.Cast[tileaa.Cmpi](op); compared {
			r := pairs[x[0].pair].ofSides(x[0].side, x[1].side, c.Signedness())
			return term{pair: truth, is: c.Predicate().Holds(r == less, r == equal)}, true
		}
	case tileaa.OpAndi:
		return term{pair: truth, is: x[0].is && x[1].is}, bits
	case tileaa.OpOri:
		return term{pair: truth, is: x[0].is || x[1].is}, bits
	case tileaa.OpXori:
		return term{pair: truth, is: x[0].is != x[1].is}, bits
	case tileaa.OpSelect:
		if x[0].is {
			return x[1], x[0].pair == truth
		}
		return x[2], x[0].pair == truth
	}
	return term{}, false
}
