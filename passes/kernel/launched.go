package kernel

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// LaunchedBlocks is how many blocks of a kernel with products a multiprocessor gets at most, 0 without a bound. A kernel in which loops go by the number of blocks,
// or from that of the block by a constant that stands for it, takes any grid, and frontends launch as many blocks as run at once: for each multiprocessor as many
// as the occupancy hint asks for, one without it (TileGym's persistent kernels, cuTile's samples). Blocks that split a sum hold it over such a loop, and are as many
// as there are parts. Of kernels without products several blocks run, whatever the hint says.
func LaunchedBlocks(s *pass.State, entry *ir.Op) int {
	persistent, multiplies := false, false
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		multiplies = multiplies || tileaa.IsProduct(op)
		if persistent {
			return
		}
		switch left := mostScalarUses; op.Code() {
		case tileaa.OpNumPrograms:
			persistent = goesOnBy(op.Result(0), &left)
		case tileaa.OpFor:
			f := ir.Cast[tileaa.For](op)
			persistent = !HoldsTiles(op) && isStride(f.Step()) && beginsAsBlock(f.Lower(), &left)
		case tileaa.OpAddi:
			loop := ir.EnclosingLoop(op)
			persistent = loop != nil && !HoldsTiles(loop) && isStride(op.Operand(1)) && beginsAsBlock(op.Operand(0), &left)
		}
	})
	if !persistent || !multiplies {
		return 0
	}
	return beside(s, entry)
}

// beside is how many blocks of a kernel that takes any grid frontends launch for each multiprocessor: as many as the occupancy hint asks for, one without it.
func beside(s *pass.State, entry *ir.Op) int {
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

// HoldsTiles reports whether a loop holds tiles from one iteration to the next.
func HoldsTiles(loop *ir.Op) bool { return slices.ContainsFunc(loop.Results(), tileaa.IsRanked) }

// isStride reports whether a scalar is a constant above 1.
func isStride(v *ir.Value) bool {
	n, ok := tileaa.SplatInt(v)
	return ok && n > 1
}

// beginsAsBlock reports whether a scalar is the number of a block, or what loops make of it by adding constants.
func beginsAsBlock(v *ir.Value, left *int) bool {
	if *left--; *left < 0 {
		return false
	}
	if incoming, ok := ir.Incoming(v); ok {
		return slices.ContainsFunc(incoming, func(x *ir.Value) bool { return beginsAsBlock(x, left) })
	}
	return ir.Is[tileaa.ProgramId](v.DefiningOp())
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
