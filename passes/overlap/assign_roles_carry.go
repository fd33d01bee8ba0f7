package overlap

import (
	"slices"

	"tileiras/codegen/planted"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// This file has values pass through a loop from iteration to iteration, and from one time that the loop runs to the next: through the loops and
// branches around it as well.

// stateThreading makes loops one after the other, and what encloses them, carry further values, as the position in a ring.
type stateThreading struct {
	s      *pass.State
	loops  []*ir.Op
	within func(loop *ir.Op, b *ir.Builder, state []*ir.Value) // rewrites the body of one, given the values at its start
	next   func(b *ir.Builder, state []*ir.Value) []*ir.Value  // computes the values of the next iteration at the end of a body
	around map[*ir.Op]bool                                     // the loops, and the ops that enclose them
	start  []*ir.Value
}

// through threads the values through an entry, from start on.
func (c *stateThreading) through(entry *ir.Op, start []*ir.Value) {
	c.around, c.start = map[*ir.Op]bool{}, start
	for _, op := range c.loops {
		for ; op != entry; op = op.ParentOp() {
			c.around[op] = true
		}
	}
	c.block(entry.Body(), start)
}

// block threads the values through a block, and passes them on at the terminators that leave an enclosing op or continue its next
// iteration.
func (c *stateThreading) block(b *ir.Block, state []*ir.Value) {
	for _, op := range b.Ops() {
		c.s.Step()
		switch {
		case c.around[op]:
			state = c.op(op, state)
		case op.Traits().Has(ir.Terminator):
			if c.around[ir.Target(op)] {
				op.SetOperandGroup(0, slices.Concat(op.Operands(), state))
			}
		default:
			for inner := range op.Blocks() {
				c.block(inner, state)
			}
		}
	}
}

// op makes an op carry the values, and returns them as they are after it.
func (c *stateThreading) op(op *ir.Op, state []*ir.Value) []*ir.Value {
	b := ir.NewBuilder(c.s.Ctx)
	b.Loc = op.Loc()
	if loop, ok := ir.LoopOf(op); ok {
		var args []*ir.Value
		for _, v := range state {
			args = append(args, op.Body().AddArg(v.Type()))
		}
		if slices.Contains(c.loops, op) {
			c.within(op, b, args)
			b.Before(op.Body().Terminator())
			args = c.next(b, args)
		}
		c.block(op.Body(), args)
		if planted.On("slot-miscounted") {
			state = c.start
		}
		loop.SetInits(append(loop.Inits(), state...))
	} else {
		f := ir.Cast[tileaa.If](op)
		c.block(f.Then(), state)
		c.block(tileaa.ElseOf(b, f), state)
	}
	return op.AddResults(ir.TypesOf(state))
}
