package kernel

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// LaunchedBlocks is the most blocks of a kernel with products that a launch gives a multiprocessor, 0 if unbounded. A persistent kernel,
// whose grid-stride loops step by the number of blocks or by a constant for it, takes any grid, and frontends launch as many blocks as are
// resident at once: as the occupancy hint says, one without it (TileGym's persistent kernels, cuTile's samples). A loop over split sums
// carries tiles and does not count: there are as many blocks as parts. Kernels without products run several blocks, whatever the hint says.
func LaunchedBlocks(s *pass.State, entry *ir.Op) int {
	persistent, multiplies := false, false
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		multiplies = multiplies || tileaa.IsProduct(op)
		if persistent {
			return
		}
		switch left := maxScalarUses; op.Code() {
		case tileaa.OpNumPrograms:
			persistent = usedAsStride(op.Result(0), &left)
		case tileaa.OpFor:
			f := ir.Cast[tileaa.For](op)
			persistent = !CarriesTiles(op) && isStride(f.Step()) && startsAtBlockID(f.Lower(), &left)
		case tileaa.OpAddi:
			loop := ir.EnclosingLoop(op)
			persistent = loop != nil && !CarriesTiles(loop) && isStride(op.Operand(1)) && startsAtBlockID(op.Operand(0), &left)
		}
	})
	if !persistent || !multiplies {
		return 0
	}
	return hintedBlocks(s, entry)
}

// hintedBlocks is the blocks that frontends launch for each multiprocessor of a kernel that takes any grid: as the occupancy hint says, one
// without it.
func hintedBlocks(s *pass.State, entry *ir.Op) int {
	return max(1, s.IntHint(tileaa.HintsOf(entry), "occupancy"))
}

// maxScalarUses bounds the uses that are followed from the number of blocks.
const maxScalarUses = 64

// usedAsStride reports whether a loop's step is computed from a scalar, or an addition in a loop takes what is.
func usedAsStride(v *ir.Value, left *int) bool {
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
			if usedAsStride(op.Result(0), left) {
				return true
			}
		}
	}
	return false
}

// CarriesTiles reports whether a loop has loop-carried tiles.
func CarriesTiles(loop *ir.Op) bool { return slices.ContainsFunc(loop.Results(), tileaa.IsRanked) }

// isStride reports whether a scalar is a constant above 1, which may stand for a fixed number of blocks.
func isStride(v *ir.Value) bool {
	n, ok := tileaa.SplatInt(v)
	return ok && n > 1
}

// startsAtBlockID reports whether a scalar is the block's number, or a phi whose incoming values are that or constants added to it.
func startsAtBlockID(v *ir.Value, left *int) bool {
	if *left--; *left < 0 {
		return false
	}
	if incoming, ok := ir.Incoming(v); ok {
		return slices.ContainsFunc(incoming, func(x *ir.Value) bool { return startsAtBlockID(x, left) })
	}
	return ir.Is[tileaa.ProgramId](v.DefiningOp())
}

// IsGridStride reports whether a loop distributes its iterations over thread blocks: it starts at the block's number and steps by the
// number of blocks, or by a constant for it.
func IsGridStride(loop *ir.Op) bool {
	f, ok := ir.As[tileaa.For](loop)
	if !ok {
		return false
	}
	step, known := tileaa.SplatInt(f.Step())
	return !(known && step <= 1) && tileaa.DependsOnProgramID(f.Lower())
}
