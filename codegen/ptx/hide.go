package ptx

import (
	"slices"
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
	misread []bool      // by register: ptxas may find it to be constant, on some path at least, and negative as a 32-bit float; nil: not known yet
	hidden  map[reg]reg // opaque copies of registers, in the current block
	always  reg         // the predicate of the selects; 0 without
}

// source is where a register comes from: the operands of which one may reach it unchanged, or from all of which it is computed.
type source struct {
	operands []operand
	computed bool
}

// analyze finds what ptxas may know of registers: the least fixpoints of two sets, those that may be constant and those of them that are misread, each of
// which a register enters once, when an operand of its source has.
func (h *hider) analyze() {
	sources, users := make([]source, len(h.regs)), make([][]reg, len(h.regs))
	define := func(r reg, s source) {
		h.budget.Step()
		sources[r] = s
		for _, o := range s.operands {
			if o.kind == kindReg {
				users[o.reg] = append(users[o.reg], r)
			}
		}
	}
	for _, b := range h.blocks {
		for k := range b.phis {
			define(b.phis[k].dst, source{operands: b.phis[k].args})
		}
		for i := range b.insts {
			s, ok := sourceOf(&b.insts[i])
			for k := range b.insts[i].row.Results {
				if ok {
					define(b.insts[i].ops[k].reg, s)
				}
			}
		}
	}
	fixpoint := func(in func(r reg, set []bool) bool) []bool {
		set, work := make([]bool, len(h.regs)), make([]reg, len(h.regs))
		for r := range work {
			work[r] = reg(r)
		}
		for len(work) > 0 {
			h.budget.Step()
			r := work[len(work)-1]
			work = work[:len(work)-1]
			if !set[r] && in(r, set) {
				set[r] = true
				work = append(work, users[r]...)
			}
		}
		return set
	}
	constant := fixpoint(func(r reg, set []bool) bool {
		known := func(o operand) bool { return o.kind != kindReg || set[o.reg] }
		s := &sources[r]
		if s.computed {
			return !slices.ContainsFunc(s.operands, func(o operand) bool { return !known(o) })
		}
		return slices.ContainsFunc(s.operands, known)
	})
	h.misread = fixpoint(func(r reg, set []bool) bool {
		s := &sources[r]
		return s.computed && constant[r] || !s.computed && slices.ContainsFunc(s.operands, func(o operand) bool { return negative(o, set) })
	})
}

// negative reports whether an operand may be a constant that is negative as a 32-bit float: a symbol counts, and a register that is in a set.
func negative(o operand, set []bool) bool {
	switch o.kind {
	case kindReg:
		return set[o.reg]
	case kindConst:
		return int32(o.bits) < 0
	}
	return true
}

// sourceOf is the source of the results of an instruction. ok is false for what memory or other threads decide.
func sourceOf(in *inst) (s source, ok bool) {
	args := in.ops[in.row.Results:]
	switch name := in.row.Name; {
	case strings.HasPrefix(name, "mov.") && len(args) == 1, strings.HasPrefix(name, "shfl."):
		return source{operands: args[:1]}, true
	case strings.HasPrefix(name, "selp."):
		return source{operands: args[:2]}, true
	}
	const reads = ptxop.ReadGeneric | ptxop.ReadConst | ptxop.Convergent
	return source{args, true}, in.row.Effects.Removable() && in.row.Effects&reads == 0 && len(args) > 0
}

// factors makes constant factors of instruction i of a block opaque, and returns the new index of the instruction.
func (h *hider) factors(b *block, i int) int {
	if h.misread == nil {
		h.analyze()
	}
	in := b.insts[i]
	first := in.row.Results
	for k := first; k < first+in.row.HiddenFactors(); k++ {
		o := &in.ops[k]
		if !negative(*o, h.misread) {
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
