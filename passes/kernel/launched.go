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
		switch op.Code() {
		case tileaa.OpNumPrograms:
			persistent = usedAsStride(op.Result(0), map[*ir.Value]bool{})
		case tileaa.OpFor:
			persistent = !carriesTiles(op) && IsGridStride(op)
		case tileaa.OpAddi:
			loop := ir.EnclosingLoop(op)
			_, carried := ir.Incoming(op.Operand(0))
			persistent = loop != nil && !carriesTiles(loop) && carried && countsFromBlockID(op.Result(0))
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
	return max(1, s.EntryHint(entry, "occupancy"))
}

// usedAsStride reports whether a loop's step is computed from a scalar, or an addition in a loop takes what is.
func usedAsStride(v *ir.Value, seen map[*ir.Value]bool) bool {
	if seen[v] {
		return false
	}
	seen[v] = true
	for u := v.FirstUse(); u != nil; u = u.Next() {
		op := u.Owner()
		f, loop := ir.As[tileaa.For](op)
		switch {
		case loop && f.Step() == v, op.Code() == tileaa.OpAddi && ir.EnclosingLoop(op) != nil:
			return true
		case len(op.Results()) == 1 && op.NumRegions() == 0 && !tileaa.IsRanked(op.Result(0)):
			if usedAsStride(op.Result(0), seen) {
				return true
			}
		}
	}
	return false
}

// carriesTiles reports whether a loop has loop-carried tiles.
func carriesTiles(loop *ir.Op) bool { return slices.ContainsFunc(loop.Results(), tileaa.IsRanked) }

// IsGridStride reports whether a loop distributes its iterations over thread blocks: it starts at the block's number and steps by the
// number of blocks, or by what may be a number of blocks.
func IsGridStride(loop *ir.Op) bool {
	f, ok := ir.As[tileaa.For](loop)
	return ok && isStride(f.Step()) && countsFromBlockID(f.Lower())
}

// isStride reports whether a scalar may be a number of blocks: it is no constant below 2.
func isStride(v *ir.Value) bool {
	n, known := tileaa.SplatInt(v)
	return !known || n > 1
}

// maxScalars bounds the values that are followed to a block's number.
const maxScalars = 64

// countsFromBlockID reports whether a scalar is the block's number plus any number of strides: so it is if all incoming values of a phi are,
// given that it is itself.
func countsFromBlockID(v *ir.Value) bool {
	seen := map[*ir.Value]bool{}
	var visit func(v *ir.Value) bool
	visit = func(v *ir.Value) bool {
		if seen[v] {
			return true
		}
		if seen[v] = true; len(seen) > maxScalars {
			return false
		}
		if incoming, ok := ir.Incoming(v); ok {
			return !slices.ContainsFunc(incoming, func(x *ir.Value) bool { return !visit(x) })
		}
		op := v.DefiningOp()
		if op == nil {
			return false
		}
		switch op.Code() {
		case tileaa.OpProgramId:
			return true
		case tileaa.OpAssume, tileaa.OpExti, tileaa.OpTrunci:
			return visit(op.Operand(0))
		case tileaa.OpAddi:
			return isStride(op.Operand(1)) && visit(op.Operand(0))
		}
		return false
	}
	return visit(v)
}
