package ptx

import (
	"slices"

	"tileiras/codegen/ptxop"
)

// place is where a register is defined: an instruction of a block, or a phi
// (index -1-k for phi k).
type place struct{ block, index int32 }

// definitions returns the place of every register's definition.
func (f *function) definitions() []place {
	defs := make([]place, len(f.regs))
	for n, b := range f.blocks {
		for k := range b.phis {
			defs[b.phis[k].dst] = place{int32(n), int32(-1 - k)}
		}
		for i := range b.insts {
			f.budget.Step()
			in := &b.insts[i]
			for k := range in.row.Results {
				defs[in.ops[k].reg] = place{int32(n), int32(i)}
			}
		}
	}
	return defs
}

// simplify drops phis and instructions whose results nobody reads and that
// have no other effect, and replaces pairs of instructions by one:
//
//	not.pred q, p;  @q ...               ->  @!p ...
//	cvt.s64.s32 w, a;  shl.b64 d, w, k   ->  mul.wide.s32 d, a, 1<<k
//	cvt.s64.s32 w, a;  mul.lo.s64 d, w,c ->  mul.wide.s32 d, a, c
//	mul.lo.s32 m, a, b;  add.s32 d, m, c ->  mad.lo.s32 d, a, b, c     (m read once)
//	mul.wide.s32 m, a, b; add.s64 d, m,c ->  mad.wide.s32 d, a, b, c   (m read once)
func (f *function) simplify(n *natives) {
	s := &simplifier{function: f, natives: n, defs: f.definitions(), uses: make([]int32, len(f.regs))}
	s.count()
	s.combine()
	s.sweep()
}

// simplifier is the work on one function.
type simplifier struct {
	*function
	natives *natives
	defs    []place
	uses    []int32 // of a register, by phis and instructions that are needed
	work    []reg   // registers that somebody reads, whose definitions were not looked at
}

// read counts uses of operands.
func (s *simplifier) read(ops []operand) {
	for k := range ops {
		if o := &ops[k]; o.kind == kindReg {
			if s.uses[o.reg]++; s.uses[o.reg] == 1 {
				s.work = append(s.work, o.reg)
			}
		}
	}
}

// count counts the uses of all registers.
func (s *simplifier) count() {
	for _, b := range s.blocks {
		for i := range b.insts {
			s.budget.Step()
			if in := &b.insts[i]; !in.row.Effects.Removable() {
				s.read(in.ops[in.row.Results:])
			}
		}
		s.read([]operand{b.cond})
	}
	seen := make([]bool, len(s.regs)) // by the first result of an instruction
	for len(s.work) > 0 {
		s.budget.Step()
		r := s.work[len(s.work)-1]
		s.work = s.work[:len(s.work)-1]
		b := s.blocks[s.defs[r].block]
		if at := s.defs[r].index; at < 0 {
			s.read(b.phis[-1-at].args)
		} else if in := &b.insts[at]; in.row.Effects.Removable() && !seen[in.ops[0].reg] {
			seen[in.ops[0].reg] = true
			s.read(in.ops[in.row.Results:])
		}
	}
}

// needed reports whether an instruction has an effect or a result that somebody
// reads.
func (s *simplifier) needed(in *inst) bool {
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

// sweep drops what is not needed.
func (s *simplifier) sweep() {
	for _, b := range s.blocks {
		b.phis = slices.DeleteFunc(b.phis, func(p phi) bool { return s.uses[p.dst] == 0 })
		kept := 0
		for i := range b.insts {
			s.budget.Step()
			if in := &b.insts[i]; s.needed(in) {
				if kept < i {
					b.insts[kept] = *in
				}
				kept++
			}
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

// replace makes an instruction another one with the same result. What the old
// one alone has read is not needed any more.
func (s *simplifier) replace(in *inst, row *ptxop.Row, args ...operand) {
	old := in.ops[in.row.Results:]
	ops := s.newOps(1 + len(args))
	ops[0] = in.ops[0]
	copy(ops[1:], args)
	in.row, in.ops = row, ops
	s.take(args)
	s.drop(old)
}

// take counts uses that are new.
func (s *simplifier) take(ops []operand) {
	for k := range ops {
		if ops[k].kind == kindReg {
			s.uses[ops[k].reg]++
		}
	}
}

// drop counts uses that are gone. An instruction that nobody needs any more reads
// nothing; what it has read, its user reads now.
func (s *simplifier) drop(ops []operand) {
	for k := range ops {
		o := &ops[k]
		if o.kind != kindReg {
			continue
		}
		s.uses[o.reg]--
		if in := s.definedBy(o); in != nil && !s.needed(in) {
			s.drop(in.ops[1:])
		}
	}
}

// positive makes an operand of a predicate that is negated its negation.
func (s *simplifier) positive(o *operand) {
	for in := s.definedBy(o); in != nil && in.row.Name == "not.pred"; in = s.definedBy(o) {
		old := *o
		o.reg, o.not = in.ops[1].reg, !o.not
		s.uses[o.reg]++
		s.drop([]operand{old})
	}
}

// combine replaces pairs of instructions.
func (s *simplifier) combine() {
	for number, b := range s.blocks {
		for i := range b.insts {
			s.budget.Step()
			in := &b.insts[i]
			if !s.needed(in) {
				continue
			}
			if g := in.row.GuardOperand; g >= 0 {
				s.positive(&in.ops[g])
			}
			switch in.row.Name {
			case "shl.b64", "mul.lo.s64":
				s.widen(in)
			case "add.s32", "add.s64":
				s.multiplyAdd(in, int32(number))
			}
		}
		if b.term == termCond {
			s.positive(&b.cond)
		}
	}
}

// multiplyAdd replaces a sum by a product and a sum, if nobody else reads the
// product and it stands in the same block: it is not pulled into a loop.
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

// widen replaces a 64-bit product or shift of extended 32-bit values.
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
