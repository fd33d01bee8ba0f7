package nvvm

import (
	"math/bits"
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// counter counts what a kernel begins of a kind, so that each has its turn at an mbarrier: that of number n arrives at mbarrier n mod mbarriers, whose phase is
// n/mbarriers. Loops and branches in which some begin carry the count.
type counter struct {
	begun     reg
	around    map[*ir.Op]bool // ops in which some begin
	first     int64           // offset of the first mbarrier in shared memory
	mbarriers int64           // a power of two
}

// counting makes the counter of ops, at the beginning of the kernel.
func (f *fn) counting(ops []*ir.Op, first, mbarriers int64) *counter {
	c := &counter{begun: i32(0), around: map[*ir.Op]bool{}, first: first, mbarriers: mbarriers}
	for _, op := range ops {
		for op = op.ParentOp(); op != nil && !c.around[op]; op = op.ParentOp() {
			c.around[op] = true
		}
	}
	f.counters = append(f.counters, c)
	return c
}

// mbarrierOf is the address of the mbarrier at which that of a number arrives, and the parity of its phase.
func (c *counter) mbarrierOf(f *fn, number reg) (base, offset, parity reg) {
	turn, round := f.and(number, i32(c.mbarriers-1)), f.lshr(number, bits.TrailingZeros64(uint64(c.mbarriers)))
	base, offset = f.smem, i32(c.first)
	if at := f.mul(turn, i32(tileaa.MbarrierBytes)); at.isConst() {
		offset = i32(c.first + at.sint())
	} else {
		base = f.add(base, at)
	}
	return base, offset, f.and(round, i32(1))
}

// withCount adds counts to what an edge to or from an op carries.
func (f *fn) withCount(op *ir.Op, vals []*tile) []*tile {
	vals = slices.Clip(vals)
	for _, c := range f.counters {
		if c.around[op] {
			vals = append(vals, f.tileOf(f.ctx.Int(32), c.begun))
		}
	}
	return vals
}

// recount takes counts from where ways of an op meet.
func (f *fn) recount(op *ir.Op, tiles []*tile) {
	n := len(tiles)
	for _, c := range slices.Backward(f.counters) {
		if n > 0 && c.around[op] {
			n--
			c.begun = f.reg(tiles[n], 0)
		}
	}
}
