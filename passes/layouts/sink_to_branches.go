package layouts

import (
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// sinkToBranches moves tiles and arrays that one branch alone needs into it, conversions above all: two versions of a store want a result in two layouts, and
// a tile block takes one of them.
//
//	%x = convert_layout %r                 if %aligned {
//	%y = convert_layout %r                   %x = convert_layout %r
//	if %aligned { store %x }         =>      store %x
//	else { store %y }                      } else { %y = convert_layout %r; store %y }
//
// No tile moves past a loop: what it is made of would be held over the loop.
func sinkToBranches(s *pass.State, b *ir.Block) {
	ops := b.Ops()
	at, loops := make(map[*ir.Op]int, len(ops)), make([]int, len(ops)) // the place of each op, and how many loops there are up to it
	for i, op := range ops {
		at[op] = i
		if i > 0 {
			loops[i] = loops[i-1]
		}
		if op.Def.Flow.Kind.IsLoop() {
			loops[i]++
		}
	}
	for i := len(ops) - 1; i >= 0; i-- {
		s.Step()
		branch := onlyBranch(ops[i])
		if branch != nil && (loops[at[branch.ParentOp()]] == loops[i] || tileaa.AsTile(ops[i].Result(0)) == nil) {
			ops[i].MoveBefore(branch.First())
		}
	}
	for _, op := range ops {
		for inner := range op.Blocks() {
			sinkToBranches(s, inner)
		}
	}
}

// onlyBranch is the block of a branch behind a pure op that needs what it makes, if nobody else does; nil for numbers, which cost little.
func onlyBranch(op *ir.Op) (only *ir.Block) {
	if !op.MovesFreely() || op.NumResults() != 1 {
		return nil
	}
	if r := op.Result(0); tileaa.AsTile(r) != nil && !tileaa.IsRanked(r) {
		return nil
	}
	for u := op.Result(0).FirstUse(); u != nil; u = u.Next() {
		in := u.Owner().Block()
		for in != op.Block() && in.ParentOp().Block() != op.Block() {
			in = in.ParentOp().Block()
		}
		if in == op.Block() || in.ParentOp().Code() != tileaa.OpIf || only != nil && in != only {
			return nil
		}
		only = in
	}
	return only
}
