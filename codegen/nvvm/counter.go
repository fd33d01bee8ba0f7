package nvvm

import (
	"slices"

	"tileiras/ir"
)

// counter counts what a kernel begins of a kind, so that each has its turn at an mbarrier. Loops and branches in which some begin carry the count.
type counter struct {
	begun  reg
	around map[*ir.Op]bool // ops in which some begin
}

// counting makes the counter of ops, at the beginning of the kernel.
func (f *fn) counting(ops []*ir.Op) *counter {
	c := &counter{begun: i32(0), around: map[*ir.Op]bool{}}
	for _, op := range ops {
		for op = op.ParentOp(); op != nil && !c.around[op]; op = op.ParentOp() {
			c.around[op] = true
		}
	}
	f.counters = append(f.counters, c)
	return c
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
			if f.tensor != nil && c == f.tensor.counter {
				f.tensor.in = nil
			}
		}
	}
}
