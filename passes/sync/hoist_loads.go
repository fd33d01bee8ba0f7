package sync

import (
	"slices"

	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// hoist-loads begins loads before the first store to shared memory of a block, behind which threads meet and wait for what others have loaded:
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
			for _, r := range op.Regions() {
				for _, b := range r.Blocks() {
					if !slices.ContainsFunc(b.Ops(), tileaa.IsProduct) {
						hoistLoads(s, b)
					}
				}
			}
		})
	}
	return nil
}

// mostHoisted is how many registers of a thread are filled by the loads before a store to shared memory.
const mostHoisted = 32

// hoisting is a stretch of a block over which loads may move.
type hoisting struct {
	to        *ir.Op          // the first store to shared memory; nil before it
	behind    map[*ir.Op]bool // what stands behind that
	registers int             // that the loads before it fill
}

func hoistLoads(s *pass.State, b *ir.Block) {
	h := hoisting{behind: map[*ir.Op]bool{}}
	for _, op := range b.Ops() {
		s.Step()
		loads := kernel.IsPlainLoad(op) && !tileaa.IsStrong(op)
		switch {
		case stays(op):
			h = hoisting{behind: map[*ir.Op]bool{}}
			continue
		case h.to == nil && tileaa.Touches(op, ir.Write, tileaa.SharedSpace):
			h.to = op
		case loads && h.to == nil:
			h.registers += kernel.RegistersOf(op.Result(0))
		case loads && h.registers+kernel.RegistersOf(op.Result(0)) <= mostHoisted && h.hoist(op):
			h.registers += kernel.RegistersOf(op.Result(0))
			continue
		}
		if h.to != nil {
			h.behind[op] = true
		}
	}
}

// stays reports whether nothing moves over an op.
func stays(op *ir.Op) bool {
	f, flow := ir.FlowOf(op)
	return flow && f.Kind != ir.CombineFlow || slices.ContainsFunc(tileaa.Effects(op), func(e tileaa.Effect) bool { return e.Space == tileaa.Outside })
}

// hoist moves a load, with what it needs, unless that cannot move.
func (h *hoisting) hoist(load *ir.Op) bool {
	var order []*ir.Op
	var need func(op *ir.Op) bool
	need = func(op *ir.Op) bool {
		if op == nil || !h.behind[op] || slices.Contains(order, op) {
			return true
		}
		if op != load && (!op.Traits().Has(ir.Pure) || op.NumRegions() > 0) {
			return false
		}
		for _, v := range op.Operands() {
			if !need(v.DefiningOp()) {
				return false
			}
		}
		order = append(order, op)
		return true
	}
	h.behind[load] = true
	if !need(load) {
		return false
	}
	for _, op := range order {
		op.MoveBefore(h.to)
		delete(h.behind, op)
	}
	return true
}
