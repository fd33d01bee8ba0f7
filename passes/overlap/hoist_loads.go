package overlap

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// HoistLoads begins loads before the first store to shared memory of a block, behind which threads meet and wait for what others have loaded:
//
//	%x = tiled_load %a                      %x = tiled_load %a
//	buffer_store %x, %s           =>        %y = tiled_load %b
//	%u = buffer_load %s                     buffer_store %x, %s
//	%y = tiled_load %b                      %u = buffer_load %s
//
// The latency of memory passes once for both. Weak loads have no order but that of their tokens, so what moves is a load that comes by its token, and
// by its address, after nothing that stays: pure operations move with it. Nothing moves over an operation with regions or one that tells
// somebody something, in blocks with products nothing at all, and no more than a thread has room for.
func HoistLoads(s *pass.State) error {
	for _, entry := range s.Entries() {
		s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
			for b := range op.Blocks() {
				if !slices.ContainsFunc(b.Ops(), tileaa.IsProduct) {
					hoistLoads(s, b)
				}
			}
		})
	}
	return nil
}

// maxHoisted is the registers of a thread for loads in front of a store to shared memory.
const maxHoisted = 32

// hoisting is a stretch of a block over which loads may move.
type hoisting struct {
	to         *ir.Op          // the first store to shared memory; nil before it
	behind     map[*ir.Op]bool // what stands behind that
	can        map[*ir.Op]bool // of what stands there, whether it can move
	registers  int             // that the loads before it fill
	reductions bool            // move, too
}

func newHoisting() hoisting { return hoisting{behind: map[*ir.Op]bool{}, can: map[*ir.Op]bool{}} }

func hoistLoads(s *pass.State, b *ir.Block) {
	h := newHoisting()
	for _, op := range b.Ops() {
		s.Step()
		loads := kernel.IsPlainLoad(op) && !tileaa.IsStrong(op)
		switch {
		case stays(op):
			h = newHoisting()
			continue
		case h.to == nil && tileaa.Touches(op, ir.Write, tileaa.SharedSpace):
			h.to = op
		case loads && h.to == nil:
			h.registers += kernel.RegistersOf(op.Result(0))
		case loads && h.registers+kernel.RegistersOf(op.Result(0)) <= maxHoisted && h.hoist(op):
			h.registers += kernel.RegistersOf(op.Result(0))
			continue
		}
		if h.to != nil {
			h.behind[op] = true
		}
	}
}

// stays reports whether nothing may move across an op.
func stays(op *ir.Op) bool {
	f, flow := ir.FlowOf(op)
	return flow && f.Kind != ir.CombineFlow || slices.ContainsFunc(tileaa.Effects(op), func(e tileaa.Effect) bool { return e.Space == tileaa.Outside })
}

// hoist moves a load with its backward slice in front of the store, unless part of that cannot move.
func (h *hoisting) hoist(load *ir.Op) bool {
	for _, v := range load.Operands() {
		if !h.movable(v.DefiningOp()) {
			return false
		}
	}
	h.move(load)
	return true
}

// movable reports whether an op stands in front of the store already, or can move there.
func (h *hoisting) movable(op *ir.Op) bool {
	if op == nil || !h.behind[op] {
		return true
	}
	can, known := h.can[op]
	if known {
		return can
	}
	f, flow := ir.FlowOf(op)
	can = op.Traits().Has(ir.Pure) && (op.NumRegions() == 0 || h.reductions && flow && f.Kind == ir.CombineFlow) && !slices.ContainsFunc(needs(op), func(d *ir.Op) bool { return !h.movable(d) })
	h.can[op] = can
	return can
}

// needs are the ops that define the operands of an op, nested ops included.
func needs(op *ir.Op) (list []*ir.Op) {
	ir.Walk(op, ir.PreOrder, func(o *ir.Op) {
		for _, v := range o.Operands() {
			if d := v.DefiningOp(); d != nil && (o == op || ir.DefinedOutside(v, op)) {
				list = append(list, d)
			}
		}
	})
	return list
}

// move puts an op before the store, behind what it needs.
func (h *hoisting) move(op *ir.Op) {
	for _, d := range needs(op) {
		if h.behind[d] {
			h.move(d)
		}
	}
	op.MoveBefore(h.to)
	delete(h.behind, op)
}
