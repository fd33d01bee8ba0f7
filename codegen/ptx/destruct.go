package ptx

import (
	"fmt"
	"slices"

	"tileiras/codegen/local"
	"tileiras/codegen/planted"
)

// destruct translates out of SSA form. Critical edges are split, phis become
// parallel copies at the end of the predecessors, tied arguments become copies
// before their instruction. Blocks in which more than enough registers are live
// are scheduled (schedule.go). Then copies are coalesced: their two registers
// become one where the live ranges do not interfere. The parallel copies that
// remain are written as sequences of moves.
//
//	before                          after
//	loop:                           mov i, 0
//	  i = phi [0, entry], [j, loop] loop:
//	  j = add i, 1                    add i, i, 1
func (f *function) destruct(enough int) error {
	f.splitEdges()
	f.lowerPhis()
	f.schedule(enough)
	c := &coalescer{f: f, parent: make([]reg, len(f.regs))}
	c.segs, c.rangeOf = newLiveness(f, f.coalescible()).ranges()
	for r := range c.parent {
		c.parent[r] = reg(r)
	}
	if err := c.joinClasses(); err != nil {
		return err
	}
	f.eachTied(func(result reg, arg operand) {
		if arg.kind == kindReg {
			c.join(result, arg.reg)
		}
	})
	// Back edges first: a copy that goes away there is saved in every iteration.
	for _, back := range []bool{true, false} {
		for at, b := range f.blocks {
			if (len(b.succs) == 1 && b.succs[0] <= at) != back {
				continue
			}
			for _, m := range b.moves {
				if m.src.kind == kindReg {
					c.join(m.dst, m.src.reg)
				}
			}
		}
	}
	c.rewrite()
	return nil
}

// coalescible marks the candidates of coalescing: registers with a class, of
// copies, and of tied arguments.
func (f *function) coalescible() []bool {
	marks := make([]bool, len(f.regs))
	mark := func(o operand) {
		if o.kind == kindReg {
			marks[o.reg] = true
		}
	}
	for r := range f.regs {
		marks[r] = f.regs[r].class != 0
	}
	for _, b := range f.blocks {
		for _, m := range b.moves {
			marks[m.dst] = true
			mark(m.src)
		}
	}
	f.eachTied(func(result reg, arg operand) {
		marks[result] = true
		mark(arg)
	})
	return marks
}

// eachTied calls do for every tied argument and its result.
func (f *function) eachTied(do func(result reg, arg operand)) {
	for _, b := range f.blocks {
		for i := range b.insts {
			f.budget.Step()
			in := &b.insts[i]
			for k, at := range in.row.Tied {
				if at >= 0 {
					do(in.ops[k].reg, in.ops[at])
				}
			}
		}
	}
}

// splitEdges splits every edge from a block with two successors to one with
// phis: copies before the branch would run on the way to the other one, too.
func (f *function) splitEdges() {
	var blocks []*block
	number := make([]int, len(f.blocks)) // new number of an old block
	type edge struct{ from, slot int }
	edges := map[*block]edge{}
	for at, b := range f.blocks {
		f.budget.Step()
		number[at] = len(blocks)
		blocks = append(blocks, b)
		if len(b.succs) < 2 {
			continue
		}
		for slot, to := range b.succs {
			if len(f.blocks[to].phis) > 0 {
				e := &block{term: termBranch, succs: []int{to}, preds: []int{at}, uniform: b.uniform}
				edges[e] = edge{at, slot}
				blocks = append(blocks, e)
			}
		}
	}
	if len(blocks) == len(f.blocks) {
		return
	}
	for _, b := range blocks {
		for i := range b.succs {
			b.succs[i] = number[b.succs[i]]
		}
		for i := range b.preds {
			b.preds[i] = number[b.preds[i]]
		}
	}
	for n, b := range blocks {
		e, ok := edges[b]
		if !ok {
			continue
		}
		from, to := f.blocks[e.from], blocks[b.succs[0]]
		to.preds[slices.Index(to.preds, number[e.from])] = n
		from.succs[e.slot] = n
	}
	f.blocks = blocks
}

// lowerPhis turns phis into parallel copies of the predecessors.
func (f *function) lowerPhis() {
	moves := make([]int, len(f.blocks)) // number of moves of each block
	for _, b := range f.blocks {
		for _, from := range b.preds {
			moves[from] += len(b.phis)
		}
	}
	for i, b := range f.blocks {
		f.budget.Step()
		b.moves = make([]move, 0, moves[i])
	}
	for _, b := range f.blocks {
		for _, p := range b.phis {
			f.budget.Step()
			for i, o := range p.args {
				from := f.blocks[b.preds[i]]
				from.moves = append(from.moves, move{p.dst, o})
			}
		}
	}
}

// coalescer is a union-find structure of registers. The representative of a set
// is its member with the smallest number; segs has the live range of the set at
// the range of the representative.
type coalescer struct {
	f       *function
	segs    [][]segment
	rangeOf []int32 // register -> index in segs
	slab    local.Slab[segment]
	parent  []reg
}

func (c *coalescer) find(r reg) reg {
	for c.parent[r] != r {
		c.parent[r] = c.parent[c.parent[r]]
		r = c.parent[r]
	}
	return r
}

// join unites the sets of two registers and reports true, unless their live
// ranges interfere or they differ in size or mandatory class.
func (c *coalescer) join(a, b reg) bool {
	c.f.budget.Step()
	a, b = c.find(a), c.find(b)
	if a == b {
		return true
	}
	if a > b {
		a, b = b, a
	}
	x, y := &c.f.regs[a], &c.f.regs[b]
	live, other := &c.segs[c.rangeOf[a]], &c.segs[c.rangeOf[b]]
	if regBits(x.typ) != regBits(y.typ) || x.class != 0 && y.class != 0 && x.class != y.class || overlap(*live, *other) && !planted.On("shared-register") {
		return false
	}
	c.parent[b] = a
	*live, *other = merge(c.slab.Take(len(*live) + len(*other))[:0], *live, *other), nil
	x.class = max(x.class, y.class)
	return true
}

// joinClasses unites the registers of each mandatory class, for which the
// metadata ask. They must not interfere: the producer promises it.
func (c *coalescer) joinClasses() error {
	first := map[int32]reg{}
	for r := range c.f.regs {
		class := c.f.regs[r].class
		if class == 0 {
			continue
		}
		other, ok := first[class]
		if !ok {
			first[class] = reg(r)
			continue
		}
		if !c.join(other, reg(r)) {
			return fmt.Errorf("BUG: @%s: register class %d: %s and %s live at the same time or differ in size", c.f.name, class, c.f.classNames[other], c.f.classNames[reg(r)])
		}
	}
	return nil
}

// rewrite replaces registers by their representatives and writes the copies that
// were not coalesced as moves.
func (c *coalescer) rewrite() {
	f := c.f
	n := &natives{}
	replace := func(o *operand) {
		if o.kind == kindReg && c.parent[o.reg] != o.reg {
			o.reg = c.find(o.reg)
		}
	}
	var tied []move
	for _, b := range f.blocks {
		needed := false // a tied argument is in another register than its result
		for i := range b.insts {
			f.budget.Step()
			in := &b.insts[i]
			for k := range in.ops {
				replace(&in.ops[k])
			}
			for k, at := range in.row.Tied {
				needed = needed || at >= 0 && (in.ops[at].kind != kindReg || in.ops[at].reg != in.ops[k].reg)
			}
		}
		if needed {
			insts := make([]inst, 0, len(b.insts)+len(b.insts)/2+len(b.moves))
			for _, in := range b.insts {
				f.budget.Step()
				tied = tied[:0]
				for k, at := range in.row.Tied {
					if at >= 0 {
						tied = append(tied, move{in.ops[k].reg, in.ops[at]})
					}
				}
				insts = append(f.sequentialize(n, insts, tied, in.meta), in)
			}
			b.insts = insts
		}
		for i := range b.moves {
			b.moves[i].dst = c.find(b.moves[i].dst)
			replace(&b.moves[i].src)
		}
		b.insts = f.sequentialize(n, b.insts, b.moves, 0)
		b.moves, b.phis = nil, nil
		replace(&b.cond)
	}
}

// sequentialize appends a parallel copy as a sequence of moves. A move is ready when no pending one reads its destination, which may be
// so once another one is done; a cycle is broken with a temporary.
func (f *function) sequentialize(n *natives, insts []inst, moves []move, meta int32) []inst {
	emit := func(dst reg, src operand) {
		f.budget.Step()
		ops := f.newOps(2)
		ops[0], ops[1] = ofReg(dst), src
		insts = append(insts, inst{row: n.get(opMov, moveType(f.regs[dst].typ)), ops: ops, meta: meta})
	}
	var pending []move
	readers := make(map[reg]int, len(moves)) // pending moves that read a register
	writer := make(map[reg]int, len(moves))  // the one that writes it
	for _, m := range moves {
		if m.src.kind != kindReg {
			pending = append(pending, m)
		} else if m.src.reg != m.dst {
			pending = append(pending, m)
			readers[m.src.reg]++
		}
	}
	for i, m := range pending {
		writer[m.dst] = i
	}
	done := make([]bool, len(pending))
	take := func(i int) { // a move that is ready, and those that it makes ready
		for !done[i] && readers[pending[i].dst] == 0 {
			m := pending[i]
			emit(m.dst, m.src)
			done[i] = true
			if m.src.kind != kindReg {
				return
			}
			readers[m.src.reg]--
			if i = writer[m.src.reg]; pending[i].dst != m.src.reg {
				return // no move writes what it reads
			}
		}
	}
	for i := range pending {
		take(i)
	}
	for i, m := range pending { // what is left are cycles: the last move of one reads a temporary
		if done[i] {
			continue
		}
		last := i
		for pending[last].src.reg != m.dst {
			last = writer[pending[last].src.reg]
		}
		pending[last].src.reg = f.newReg(f.regs[m.dst].typ)
		emit(pending[last].src.reg, ofReg(m.dst))
		readers[m.dst] = 0
		take(i)
	}
	return insts
}
