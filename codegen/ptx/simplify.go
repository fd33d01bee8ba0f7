package ptx

import (
	"cmp"
	"slices"

	"tileiras/codegen/ptxop"
)

// defSite is the definition of a register: an instruction of a block, or a phi
// (index -1-k for phi k).
type defSite struct{ block, index int32 }

// definitions returns the place of every register's definition.
func (f *function) definitions() []defSite {
	defs := make([]defSite, len(f.regs))
	for n, b := range f.blocks {
		for k := range b.phis {
			defs[b.phis[k].dst] = defSite{int32(n), int32(-1 - k)}
		}
		for i := range b.insts {
			f.budget.Step()
			in := &b.insts[i]
			for k := range in.row.Results {
				defs[in.ops[k].reg] = defSite{int32(n), int32(i)}
			}
		}
	}
	return defs
}

// simplify eliminates dead phis and instructions, and combines pairs of
// instructions into one:
//
//	not.pred q, p;  @q ...               ->  @!p ...
//	cvt.s64.s32 w, a;  shl.b64 d, w, k   ->  mul.wide.s32 d, a, 1<<k
//	cvt.s64.s32 w, a;  mul.lo.s64 d, w,c ->  mul.wide.s32 d, a, c
//	mul.lo.s32 m, a, b;  add.s32 d, m, c ->  mad.lo.s32 d, a, b, c     (m read once)
//	mul.wide.s32 m, a, b; add.s64 d, m,c ->  mad.wide.s32 d, a, b, c   (m read once)
func (f *function) simplify(n *natives) {
	s := &simplifier{function: f, natives: n, defs: f.definitions(), uses: make([]int32, len(f.regs))}
	s.countUses()
	s.combine()
	s.sweep()
}

// simplifier is the state of simplify for one function.
type simplifier struct {
	*function
	natives *natives
	defs    []defSite
	uses    []int32 // number of uses of a register by live phis and instructions
	work    []reg   // used registers whose definitions were not visited
}

// markUsed counts uses of registers, and puts those used for the first time on
// the worklist.
func (s *simplifier) markUsed(ops []operand) {
	for k := range ops {
		if o := &ops[k]; o.kind == kindReg {
			if s.uses[o.reg]++; s.uses[o.reg] == 1 {
				s.work = append(s.work, o.reg)
			}
		}
	}
}

// countUses counts the uses by live instructions, beginning with those that have
// effects.
func (s *simplifier) countUses() {
	for _, b := range s.blocks {
		for i := range b.insts {
			s.budget.Step()
			if in := &b.insts[i]; !in.row.Effects.Removable() {
				s.markUsed(in.ops[in.row.Results:])
			}
		}
		s.markUsed([]operand{b.cond})
	}
	seen := make([]bool, len(s.regs)) // by the first result of an instruction
	for len(s.work) > 0 {
		s.budget.Step()
		r := s.work[len(s.work)-1]
		s.work = s.work[:len(s.work)-1]
		b := s.blocks[s.defs[r].block]
		if at := s.defs[r].index; at < 0 {
			s.markUsed(b.phis[-1-at].args)
		} else if in := &b.insts[at]; in.row.Effects.Removable() && !seen[in.ops[0].reg] {
			seen[in.ops[0].reg] = true
			s.markUsed(in.ops[in.row.Results:])
		}
	}
}

// live reports whether an instruction has an effect or a result that is used.
func (s *simplifier) live(in *inst) bool {
	if !in.row.Effects.Removable() {
		return true
	}
	for k := range in.row.Results {
		if s.uses[in.ops[k].reg] > 0 {
			return true
		}
	}
	return false
}

// sweep removes dead phis and instructions. The note of a dead instruction goes to the next one of its block that is live, if that has none.
func (s *simplifier) sweep() {
	for _, b := range s.blocks {
		b.phis = slices.DeleteFunc(b.phis, func(p phi) bool { return s.uses[p.dst] == 0 })
		kept, note := 0, ""
		for i := range b.insts {
			s.budget.Step()
			in := &b.insts[i]
			m := s.metas[in.meta]
			if !s.live(in) {
				note = cmp.Or(m.note, note)
				continue
			}
			if note != "" && m.note == "" {
				m.note = note
				s.metas = append(s.metas, m)
				in.meta = int32(len(s.metas) - 1)
			}
			note = ""
			if kept < i {
				b.insts[kept] = *in
			}
			kept++
		}
		b.insts = b.insts[:kept]
	}
}

// definedBy returns the instruction whose only result an operand is.
func (s *simplifier) definedBy(o *operand) *inst {
	if o.kind != kindReg {
		return nil
	}
	if d := s.defs[o.reg]; d.index >= 0 {
		in := &s.blocks[d.block].insts[d.index]
		if in.row.Results == 1 && in.ops[0].reg == o.reg {
			return in
		}
	}
	return nil
}

// replace turns an instruction into another one with the same result. What only
// the old one used becomes dead.
func (s *simplifier) replace(in *inst, row *ptxop.Row, args ...operand) {
	old := in.ops[in.row.Results:]
	ops := s.newOps(1 + len(args))
	ops[0] = in.ops[0]
	copy(ops[1:], args)
	in.row, in.ops = row, ops
	s.addUses(args)
	s.removeUses(old)
}

// addUses counts new uses.
func (s *simplifier) addUses(ops []operand) {
	for k := range ops {
		if ops[k].kind == kindReg {
			s.uses[ops[k].reg]++
		}
	}
}

// removeUses counts uses that are gone. Where an instruction becomes dead, its
// own uses are gone, too.
func (s *simplifier) removeUses(ops []operand) {
	for k := range ops {
		o := &ops[k]
		if o.kind != kindReg {
			continue
		}
		s.uses[o.reg]--
		if in := s.definedBy(o); in != nil && !s.live(in) {
			s.removeUses(in.ops[1:])
		}
	}
}

// foldNot folds the negation of a predicate into the operand that uses it.
func (s *simplifier) foldNot(o *operand) {
	for in := s.definedBy(o); in != nil && in.row.Name == "not.pred"; in = s.definedBy(o) {
		old := *o
		o.reg, o.not = in.ops[1].reg, !o.not
		s.uses[o.reg]++
		s.removeUses([]operand{old})
	}
}

// combine is the peephole optimizer: it replaces pairs of instructions.
func (s *simplifier) combine() {
	for number, b := range s.blocks {
		for i := range b.insts {
			s.budget.Step()
			in := &b.insts[i]
			if !s.live(in) {
				continue
			}
			if g := in.row.GuardOperand; g >= 0 {
				s.foldNot(&in.ops[g])
			}
			switch in.row.Name {
			case "shl.b64", "mul.lo.s64":
				s.widen(in)
			case "add.s32", "add.s64":
				s.multiplyAdd(in, int32(number))
			}
		}
		if b.term == termCond {
			s.foldNot(&b.cond)
		}
	}
}

// multiplyAdd fuses a product into the sum that uses it, if nothing else uses the
// product and both are in one block: a product outside a loop stays there.
func (s *simplifier) multiplyAdd(in *inst, block int32) {
	for side := 1; side <= 2; side++ {
		o := &in.ops[side]
		p := s.definedBy(o)
		if p == nil || s.uses[o.reg] != 1 || s.defs[o.reg].block != block {
			continue
		}
		var row *ptxop.Row
		switch product, wide := p.row.Name, in.row.Name == "add.s64"; {
		case !wide && product == "mul.lo.s32":
			row = s.natives.get(opMad, tS32)
		case wide && product == "mul.lo.s64":
			row = s.natives.get(opMad, tS64)
		case wide && product == "mul.wide.s32":
			row = s.natives.name("mad.wide.s32")
		case wide && product == "mul.wide.u32":
			row = s.natives.name("mad.wide.u32")
		default:
			continue
		}
		s.replace(in, row, p.ops[1], p.ops[2], in.ops[3-side])
		return
	}
}

// widen turns a 64-bit product or shift of extended 32-bit values into mul.wide.
func (s *simplifier) widen(in *inst) {
	x := s.definedBy(&in.ops[1])
	if x == nil || x.row.Name != "cvt.s64.s32" && x.row.Name != "cvt.u64.u32" {
		return
	}
	signed := x.row.Name == "cvt.s64.s32"
	row := s.natives.get(opMulWide, tU32)
	fits := func(bits int64) bool { return bits == int64(uint32(bits)) }
	if signed {
		row = s.natives.get(opMulWide, tS32)
		fits = func(bits int64) bool { return bits == int64(int32(bits)) }
	}
	y := in.ops[2]
	switch {
	case in.row.Name == "shl.b64":
		if y.kind != kindConst || y.bits < 0 || y.bits > 30 {
			return
		}
		y = ofBits(1 << y.bits)
	case y.kind == kindConst:
		if !fits(y.bits) {
			return
		}
	default:
		other := s.definedBy(&in.ops[2])
		if other == nil || other.row != x.row {
			return
		}
		y = other.ops[1]
	}
	s.replace(in, row, x.ops[1], y)
}
