package ptx

import (
	"strings"

	"tileiras/codegen/ptxop"
)

// hideFactors keeps from ptxas what a matrix product multiplies, where it would compute with something else (ptxop.Row.HiddenFactors): a factor
// that ptxas may know comes by way of a selection that is always the same one, as some lane is always active, which ptxas does not know.
//
//	before                       after
//	  mov.b32 b, 0xbc00bc00        activemask.b32 m               at the beginning
//	                               setp.ne.s32 p, m, 0
//	  mma d, a, {b}, c             mov.b32 b, 0xbc00bc00
//	                               selp.b32 h, b, 0, p
//	                               mma d, a, {h}, c
func (f *function) hideFactors(n *natives) {
	h := &hider{function: f, natives: n, hidden: map[reg]reg{}}
	for _, b := range f.blocks {
		clear(h.hidden)
		for i := 0; i < len(b.insts); i++ {
			f.budget.Step()
			if b.insts[i].row.HiddenFactors() > 0 {
				i = h.factors(b, i)
			}
		}
	}
	h.begin()
}

// hider is the work on one function.
type hider struct {
	*function
	natives *natives
	defs    []*inst // by result
	phis    []*phi  // by register
	seen    map[reg]bool
	hidden  map[reg]reg // what a block has hidden so far
	always  reg         // the predicate of the selections; 0 without
}

// define notes where registers come from. Instructions that are added later move others, so that they are kept themselves.
func (h *hider) define() {
	h.defs, h.phis, h.seen = make([]*inst, len(h.regs)), make([]*phi, len(h.regs)), map[reg]bool{}
	for _, b := range h.blocks {
		for k := range b.phis {
			h.phis[b.phis[k].dst] = &b.phis[k]
		}
		for i := range b.insts {
			h.budget.Step()
			in := b.insts[i]
			for k := range in.row.Results {
				h.defs[in.ops[k].reg] = &in
			}
		}
	}
}

// factors hides what ptxas may know among the factors of instruction i of a block, and returns where it stands then.
func (h *hider) factors(b *block, i int) int {
	if h.defs == nil {
		h.define()
	}
	in := b.insts[i]
	first := in.row.Results
	for k := first; k < first+in.row.HiddenFactors(); k++ {
		o := &in.ops[k]
		if !h.misread(*o) {
			continue
		}
		to, again := h.hidden[o.reg]
		if !again {
			if h.always == 0 {
				h.always = h.newReg(ptxop.Pred)
			}
			to = h.newReg(h.regs[o.reg].typ)
			h.hidden[o.reg] = to
			b.insts = append(b.insts, inst{})
			copy(b.insts[i+1:], b.insts[i:])
			b.insts[i] = h.make(h.natives.get(opSelp, tB32), in.meta, ofReg(to), *o, ofBits(0), ofReg(h.always))
			i++
		}
		*o = ofReg(to)
	}
	return i
}

// make is an instruction with these operands.
func (h *hider) make(row *ptxop.Row, meta int32, ops ...operand) inst {
	list := h.newOps(len(ops))
	copy(list, ops)
	return inst{row: row, ops: list, meta: meta}
}

// begin defines the predicate, if it is used.
func (h *hider) begin() {
	if h.always == 0 {
		return
	}
	mask, b := h.newReg(ptxop.B32), h.blocks[0]
	b.insts = append([]inst{
		h.make(h.natives.name("activemask.b32"), 0, ofReg(mask)),
		h.make(h.natives.test("setp.ne.", tS32), 0, ofReg(h.always), ofReg(mask), ofBits(0)),
	}, b.insts...)
}

// misread reports whether ptxas may find out that an operand is a constant, on some way at least, and one that is negative as a float of 32 bits.
func (h *hider) misread(o operand) bool {
	return h.reach(o, func(o operand) bool { return o.kind != kindConst || int32(o.bits) < 0 })
}

// known reports whether ptxas may find out which constant an operand is, on some way at least.
func (h *hider) known(o operand) bool {
	return h.reach(o, func(operand) bool { return true })
}

// reach looks for a constant that counts along the ways on which a value comes unchanged: moves, phis, selections and exchanges between lanes. What an
// instruction computes of constants counts, too.
func (h *hider) reach(o operand, counts func(operand) bool) bool {
	if o.kind != kindReg {
		return counts(o)
	}
	if h.seen[o.reg] {
		return false // a value that depends on itself: what else it may be decides
	}
	h.seen[o.reg] = true
	defer delete(h.seen, o.reg)
	if p := h.phis[o.reg]; p != nil {
		return h.any(p.args, counts)
	}
	in := h.defs[o.reg]
	if in == nil {
		return false
	}
	args := in.ops[in.row.Results:]
	switch name := in.row.Name; {
	case strings.HasPrefix(name, "mov.") && len(args) == 1, strings.HasPrefix(name, "shfl."):
		return h.any(args[:1], counts)
	case strings.HasPrefix(name, "selp."):
		return h.any(args[:2], counts)
	}
	const reads = ptxop.ReadGeneric | ptxop.ReadConst | ptxop.Convergent
	if !in.row.Effects.Removable() || in.row.Effects&reads != 0 || len(args) == 0 {
		return false
	}
	for _, a := range args {
		if !h.known(a) {
			return false
		}
	}
	return counts(o)
}

func (h *hider) any(ops []operand, counts func(operand) bool) bool {
	for _, o := range ops {
		if h.reach(o, counts) {
			return true
		}
	}
	return false
}
