package ptx

import (
	"strings"

	"tileiras/codegen/ptxop"
)

// hideFactors works around a miscompilation of constant factors of matrix products by ptxas (ptxop.Row.HiddenFactors). It makes a factor that ptxas could
// find to be constant opaque: it passes through a select whose predicate is always true, since some lane is always active, which ptxas does not know.
//
//	before                       after
//	  mov.b32 b, 0xbc00bc00        activemask.b32 m               in the entry block
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

// hider is the state of hideFactors for one function.
type hider struct {
	*function
	natives *natives
	defs    []*inst // by result
	phis    []*phi  // by register
	seen    map[reg]bool
	hidden  map[reg]reg // opaque copies of registers, in the current block
	always  reg         // the predicate of the selects; 0 without
}

// define finds the definitions of registers. It keeps copies of instructions, since inserting into a block moves them.
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

// factors makes constant factors of instruction i of a block opaque, and returns the new index of the instruction.
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

// begin defines the predicate in the entry block, if it is used.
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

// misread reports whether ptxas may find an operand to be constant, on some path at least, and negative as a 32-bit float.
func (h *hider) misread(o operand) bool {
	return h.reach(o, func(o operand) bool { return o.kind != kindConst || int32(o.bits) < 0 })
}

// known reports whether ptxas may find an operand to be constant, on some path at least.
func (h *hider) known(o operand) bool {
	return h.reach(o, func(operand) bool { return true })
}

// reach reports whether a constant for which counts holds reaches an operand unchanged: through moves, phis, selects and shuffles. The result of an
// instruction whose operands are all known is passed to counts as the register.
func (h *hider) reach(o operand, counts func(operand) bool) bool {
	if o.kind != kindReg {
		return counts(o)
	}
	if h.seen[o.reg] {
		return false // a cycle of phis: the other incoming values decide
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
