package layouts

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// Rematerialize makes cheap values again after a loop with matrix products, instead of holding them in registers through it:
//
//	%i = iota; %p = offset %base, %i                 %i = iota; %p = offset %base, %i
//	load %p                                          load %p
//	for .. { dot .. }                          =>    for .. { dot .. }
//	%q = offset %out, %i                             %i' = iota; %q = offset %out, %i'
//	store %q                                         store %q
//
// Cheap is what follows from constants, iota and splats by operations that take an instruction or two; it is made in front of its
// first use after the loop.
func Rematerialize(s *pass.State) error {
	for _, entry := range s.Entries() {
		var blocks []*ir.Block
		loops := map[*ir.Block][]*ir.Op{} // with products
		s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
			if (op.Code() == tileaa.OpFor || op.Code() == tileaa.OpLoop) && kernel.Multiplies(op) {
				if loops[op.Block()] == nil {
					blocks = append(blocks, op.Block())
				}
				loops[op.Block()] = append(loops[op.Block()], op)
			}
		})
		chains := cheapChains{s, map[*ir.Op]int{}}
		for _, b := range blocks {
			rematerializeAfter(s, b, loops[b], chains)
		}
		s.EraseDead(entry)
	}
	return nil
}

// rematerializeAfter looks at the values of a block: where a loop lies between two uses, the later one and those that follow take a new copy.
func rematerializeAfter(s *pass.State, b *ir.Block, loops []*ir.Op, chains cheapChains) {
	list := b.Ops()
	order := make(map[*ir.Op]int, len(list))
	for i, op := range list {
		s.Step()
		order[op] = i
	}
	var at []int // of the loops
	for _, l := range loops {
		at = append(at, order[l])
	}
	between := func(from, to int) bool {
		i, _ := slices.BinarySearch(at, from+1)
		return i < len(at) && at[i] < to
	}
	for i, op := range list[:at[len(at)-1]] {
		s.Step()
		if op.NumResults() != 1 || !tileaa.IsRanked(op.Result(0)) || chains.before(op) > longestChain {
			continue
		}
		// Uses by what is itself made again come with it.
		var uses []*ir.Use
		for u := op.Result(0).FirstUse(); u != nil; u = u.Next() {
			uses = append(uses, u)
		}
		slices.SortStableFunc(uses, func(x, y *ir.Use) int { return order[x.Owner().AncestorIn(b)] - order[y.Owner().AncestorIn(b)] })
		last, v := i, op.Result(0)
		for _, u := range uses {
			user := u.Owner().AncestorIn(b)
			if between(last, order[user]) {
				v = cloneChain(ir.NewBuilder(s.Ctx).Before(user), op.Result(0), map[*ir.Value]*ir.Value{})
			}
			if last = order[user]; v != op.Result(0) {
				u.Owner().SetOperand(u.Index(), v)
			}
		}
	}
}

// cheapChains measures what stands in front of an op: the longest chain of operations by which its value can be made again from constants, iota and rank-0
// values.
type cheapChains struct {
	s     *pass.State
	known map[*ir.Op]int
}

// longestChain is the longest chain that is made again; what cannot be made again counts as one more.
const longestChain = 16

// before is how many operations stand in front of an op.
func (c cheapChains) before(op *ir.Op) int {
	n, known := c.known[op]
	if !known {
		c.s.Step()
		n = c.findBefore(op)
		c.known[op] = n
	}
	return n
}

func (c cheapChains) findBefore(op *ir.Op) (n int) {
	if op == nil || !op.MovesFreely() {
		return longestChain + 1
	}
	switch op.Code() {
	case tileaa.OpConstant, tileaa.OpSplat, tileaa.OpIota, tileaa.OpBroadcast, tileaa.OpReshape, tileaa.OpPermute:
	default:
		if !cheap(op) {
			return longestChain + 1
		}
	}
	for _, v := range op.Operands() {
		if tileaa.IsRanked(v) {
			n = max(n, min(c.before(v.DefiningOp()), longestChain)+1)
		}
	}
	return n
}

// cloneChain makes a cheap value at the builder's place.
func cloneChain(b *ir.Builder, v *ir.Value, made map[*ir.Value]*ir.Value) *ir.Value {
	if !tileaa.IsRanked(v) {
		return v
	}
	if w := made[v]; w != nil {
		return w
	}
	op := v.DefiningOp()
	operands := op.Operands()
	for i, o := range operands {
		operands[i] = cloneChain(b, o, made)
	}
	c := b.Ctx.Clone(op, ir.Mapping{})
	for i, o := range operands {
		c.SetOperand(i, o)
	}
	made[v] = b.Insert(c).Result(0)
	return made[v]
}
