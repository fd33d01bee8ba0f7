package kernel

import (
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// LaunchedBlocks is how many blocks of a kernel with products a multiprocessor gets at most, 0 without a bound. A kernel in which loops go by the number of blocks
// takes any grid, and frontends launch as many blocks as run at once: for each multiprocessor as many as the occupancy hint asks for, one without it (TileGym's
// persistent kernels, cuTile's samples). Of kernels without products several blocks run, whatever the hint says.
func LaunchedBlocks(s *pass.State, entry *ir.Op) int {
	persistent, multiplies := false, false
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		multiplies = multiplies || tileaa.IsProduct(op)
		if op.Code() != tileaa.OpNumPrograms || persistent {
			return
		}
		left := mostScalarUses
		persistent = goesOnBy(op.Result(0), &left)
	})
	if !persistent || !multiplies {
		return 0
	}
	return max(1, s.IntHint(tileaa.HintsOf(entry), "occupancy"))
}

// mostScalarUses bounds how far the number of blocks is followed.
const mostScalarUses = 64

// goesOnBy reports whether a loop has a step that follows from a scalar, or adds it to something in an iteration.
func goesOnBy(v *ir.Value, left *int) bool {
	for u := v.FirstUse(); u != nil; u = u.Next() {
		op := u.Owner()
		if *left--; *left < 0 {
			return false
		}
		f, loop := ir.As[tileaa.For](op)
		switch {
		case loop && f.Step() == v, op.Code() == tileaa.OpAddi && ir.EnclosingLoop(op) != nil:
			return true
		case len(op.Results()) == 1 && op.NumRegions() == 0 && !tileaa.IsRanked(op.Result(0)):
			if goesOnBy(op.Result(0), left) {
				return true
			}
		}
	}
	return false
}

// Distributes reports whether a loop shares its iterations among thread blocks: it begins at the number of a block, and goes on by that of all, or a constant for it.
func Distributes(loop *ir.Op) bool {
	f, ok := ir.As[tileaa.For](loop)
	if !ok {
		return false
	}
	step, known := tileaa.SplatInt(f.Step())
	return !(known && step <= 1) && tileaa.FollowsFromBlock(f.Lower())
}
