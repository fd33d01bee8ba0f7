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
		for _, b := range blocks {
			rematerializeAfter(s, b, loops[b])
		}
		s.EraseDead(entry)
	}
	return nil
}

// rematerializeAfter looks at the values of a block: where a loop lies between two uses, the later one and those that follow take a new copy.
func rematerializeAfter(s *pass.State, b *ir.Block, loops []*ir.Op) {
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
		if op.NumResults() != 1 || !tileaa.IsRanked(op.Result(0)) || !cheapChain(op) {
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

// cheapChain reports whether a value can be made again from constants, iota and rank-0 values.
func cheapChain(op *ir.Op) bool {
	const deepest = 16
	var visit func(op *ir.Op, depth int) bool
	visit = func(op *ir.Op, depth int) bool {
		if op == nil || depth > deepest || !op.MovesFreely() {
			return false
		}
		switch op.Code() {
		case tileaa.OpConstant, tileaa.OpSplat, tileaa.OpIota, tileaa.OpBroadcast, tileaa.OpReshape, tileaa.OpPermute:
		default:
			if !cheap(op) {
				return false
			}
		}
		for _, v := range op.Operands() {
			if tileaa.IsRanked(v) && !visit(v.DefiningOp(), depth+1) {
				return false
			}
		}
		return true
	}
	return visit(op, 0)
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
