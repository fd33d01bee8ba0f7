package plan

import (
	"cmp"
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/facts"
)

// version is code of which there will be two versions: some operations of a block, and what a test in front of them makes a promise.
type version struct {
	*versioner
	members  []*ir.Op // in order; what stands between them needs none of their results
	has      map[*ir.Op]bool
	feeds    map[*ir.Op]bool // loads that bring factors of products
	promises []promise
	supposed *facts.Facts // what is known with the promises; nil if there are new ones
	b        *ir.Builder
	renewed  ir.Mapping // values of the first version
	same     map[*ir.Value]bool
}

// results are the values that others need.
func (v *version) results() (list []*ir.Value) {
	block := v.members[0].Block()
	for _, op := range v.members {
		for _, r := range op.Results() {
			for u := r.FirstUse(); u != nil; u = u.Next() {
				if !v.has[u.Owner().AncestorIn(block)] {
					list = append(list, r)
					break
				}
			}
		}
	}
	return list
}

// split puts two versions in the place of the members. It returns the members of the first.
func (v *version) split() []*ir.Op {
	first, last := v.members[0], v.members[len(v.members)-1]
	for op := first; op != last; {
		next := op.Next()
		if !v.has[op] {
			op.MoveBefore(first)
		}
		op = next
	}
	v.b = ir.NewBuilder(v.s.Ctx)
	v.b.Loc = first.Loc()
	test := v.test(v.b.Before(v.earliest(first)))
	results := v.results()
	either := tileaa.NewIf(v.b.Before(first), ir.TypesOf(results), test)
	for i, r := range results {
		for _, u := range r.Uses() {
			if owner := u.Owner(); !v.has[owner.AncestorIn(first.Block())] {
				owner.SetOperand(u.Index(), either.Op.Result(i))
			}
		}
	}
	v.b.AtEnd(either.Op.Region(0).AddBlock())
	promised := v.promised()
	var values []*ir.Value
	for _, r := range results {
		values = append(values, v.renewed.Lookup(r))
	}
	tileaa.NewYield(v.b, values)
	v.b.AtEnd(either.Op.Region(1).AddBlock())
	end := tileaa.NewYield(v.b, results)
	for _, op := range v.members {
		op.MoveBefore(end.Op)
	}
	return promised
}

// earliest is the outermost loop around an op that changes nothing of what is tested, else the op.
func (v *version) earliest(op *ir.Op) *ir.Op {
	for loop := ir.EnclosingLoop(op); loop != nil; loop = ir.EnclosingLoop(loop) {
		for _, p := range v.promises {
			if !ir.DefinedOutside(p.value, loop) {
				return op
			}
		}
		op = loop
	}
	return op
}

// promised makes the first version: the members, and what they take from outside that follows from what is promised.
func (v *version) promised() (copies []*ir.Op) {
	v.renewed, v.same = ir.Mapping{}, map[*ir.Value]bool{}
	inOrder := func(p, q promise) int { return cmp.Compare(p.kind, q.kind) } // numbers are computed of parameters
	for _, p := range slices.SortedStableFunc(slices.Values(v.promises), inOrder) {
		x := p.value
		if v.renew(x) {
			p.value = v.renewed[x]
		}
		v.renewed[x] = p.assume(v.b)
	}
	for _, op := range v.members {
		for _, x := range ir.Taken(op) {
			v.renew(x)
		}
		copies = append(copies, v.b.Clone(op, v.renewed))
	}
	return copies
}

// renew makes a value again from what is promised; it reports whether it follows from that.
func (v *version) renew(x *ir.Value) bool {
	if v.renewed[x] != nil {
		return true
	}
	op := x.DefiningOp()
	if v.same[x] || op == nil || !op.MovesFreely() {
		return false
	}
	v.same[x] = true
	v.s.Step()
	follows := false
	for _, o := range op.Operands() {
		follows = v.renew(o) || follows
	}
	if follows {
		delete(v.same, x)
		v.b.Clone(op, v.renewed)
	}
	return follows
}
