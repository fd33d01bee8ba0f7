package ptx

import (
	"slices"

	"tileiras/codegen/ptxop"
)

// place is where a register is defined: an instruction of a block, or a phi
// (index -1-k for phi k).
type place struct{ block, index int32 }

// definitions returns the place of every register's definition. The next call
// overwrites it.
func (f *function) definitions() []place {
	if cap(f.places) < len(f.regs) {
		f.places = make([]place, len(f.regs)+len(f.regs)/8)
	}
	defs := f.places[:len(f.regs)]
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

// removeDead drops phis and instructions whose results nobody reads and that
// have no other effect.
func (f *function) removeDead() {
	defs := f.definitions()
	live := make([]bool, len(f.regs))
	var work []reg
	mark := func(o *operand) {
		if o.kind == kindReg && !live[o.reg] {
			live[o.reg] = true
			work = append(work, o.reg)
		}
	}
	for _, b := range f.blocks {
		for i := range b.insts {
			f.budget.Step()
			if in := &b.insts[i]; !in.row.Effects.Removable() {
				for k := in.row.Results; k < len(in.ops); k++ {
					mark(&in.ops[k])
				}
			}
		}
		mark(&b.cond)
	}
	for len(work) > 0 {
		f.budget.Step()
		r := work[len(work)-1]
		work = work[:len(work)-1]
		b := f.blocks[defs[r].block]
		if at := defs[r].index; at < 0 {
			args := b.phis[-1-at].args
			for k := range args {
				mark(&args[k])
			}
		} else if in := &b.insts[at]; in.row.Effects.Removable() {
			for k := in.row.Results; k < len(in.ops); k++ {
				mark(&in.ops[k])
			}
		}
	}
	for _, b := range f.blocks {
		b.phis = slices.DeleteFunc(b.phis, func(p phi) bool { return !live[p.dst] })
		kept := 0
		for i := range b.insts {
			f.budget.Step()
			in := &b.insts[i]
			keep := !in.row.Effects.Removable()
			for k := 0; k < in.row.Results && !keep; k++ {
				keep = live[in.ops[k].reg]
			}
			if keep {
				if kept < i {
					b.insts[kept] = *in
				}
				kept++
			}
		}
		b.insts = b.insts[:kept]
	}
}

// combine replaces pairs of instructions by one:
//
//	not.pred q, p;  @q ...               ->  @!p ...
//	cvt.s64.s32 w, a;  shl.b64 d, w, k   ->  mul.wide.s32 d, a, 1<<k
//	cvt.s64.s32 w, a;  mul.lo.s64 d, w,c ->  mul.wide.s32 d, a, c
//	mul.lo.s32 m, a, b;  add.s32 d, m, c ->  mad.lo.s32 d, a, b, c     (m read once)
//	mul.wide.s32 m, a, b; add.s64 d, m,c ->  mad.wide.s32 d, a, b, c   (m read once)
//
// What it leaves unread is for removeDead.
func (f *function) combine(n *natives) {
	defs := f.definitions()
	uses := f.useCounts()
	definedBy := func(o *operand) *inst {
		if o.kind != kindReg {
			return nil
		}
		if d := defs[o.reg]; d.index >= 0 {
			in := &f.blocks[d.block].insts[d.index]
			if in.row.Results == 1 && in.ops[0].reg == o.reg {
				return in
			}
		}
		return nil
	}
	positive := func(o *operand) {
		for in := definedBy(o); in != nil && in.row.Name == "not.pred"; in = definedBy(o) {
			o.reg, o.not = in.ops[1].reg, !o.not
		}
	}
	for number, b := range f.blocks {
		for i := range b.insts {
			f.budget.Step()
			in := &b.insts[i]
			if g := in.row.GuardOperand; g >= 0 {
				positive(&in.ops[g])
			}
			switch in.row.Name {
			case "shl.b64", "mul.lo.s64":
				f.widen(n, in, definedBy)
			case "add.s32", "add.s64":
				// The product must stand in this block: not pulled into a loop.
				f.multiplyAdd(n, in, func(o *operand) *inst {
					if product := definedBy(o); product != nil && uses[o.reg] == 1 && defs[o.reg].block == int32(number) {
						return product
					}
					return nil
				})
			}
		}
		if b.term == termCond {
			positive(&b.cond)
		}
	}
}

// multiplyAdd replaces a sum by a product and a sum. product is the instruction
// that defines a term which only the sum reads.
func (f *function) multiplyAdd(n *natives, in *inst, product func(*operand) *inst) {
	for side := 1; side <= 2; side++ {
		p := product(&in.ops[side])
		if p == nil {
			continue
		}
		var row *ptxop.Row
		switch p.row.Name + " " + in.row.Name {
		case "mul.lo.s32 add.s32":
			row = n.get(opMad, tS32)
		case "mul.lo.s64 add.s64":
			row = n.get(opMad, tS64)
		case "mul.wide.s32 add.s64":
			row = n.name("mad.wide.s32")
		case "mul.wide.u32 add.s64":
			row = n.name("mad.wide.u32")
		default:
			continue
		}
		ops := f.newOps(4)
		ops[0], ops[1], ops[2], ops[3] = in.ops[0], p.ops[1], p.ops[2], in.ops[3-side]
		in.row, in.ops = row, ops
		return
	}
}

// widen replaces a 64-bit product or shift of extended 32-bit values.
func (f *function) widen(n *natives, in *inst, definedBy func(*operand) *inst) {
	x := definedBy(&in.ops[1])
	if x == nil || x.row.Name != "cvt.s64.s32" && x.row.Name != "cvt.u64.u32" {
		return
	}
	signed := x.row.Name == "cvt.s64.s32"
	row := n.get(opMulWide, tU32)
	fits := func(bits int64) bool { return bits == int64(uint32(bits)) }
	if signed {
		row = n.get(opMulWide, tS32)
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
		other := definedBy(&in.ops[2])
		if other == nil || other.row != x.row {
			return
		}
		y = other.ops[1]
	}
	ops := f.newOps(3)
	ops[0], ops[1], ops[2] = in.ops[0], x.ops[1], y
	in.row, in.ops = row, ops
}

func (f *function) useCounts() []int32 {
	uses := make([]int32, len(f.regs))
	count := func(o *operand) {
		if o.kind == kindReg {
			uses[o.reg]++
		}
	}
	for _, b := range f.blocks {
		for k := range b.phis {
			for i := range b.phis[k].args {
				count(&b.phis[k].args[i])
			}
		}
		for i := range b.insts {
			f.budget.Step()
			in := &b.insts[i]
			for k := in.row.Results; k < len(in.ops); k++ {
				count(&in.ops[k])
			}
		}
		count(&b.cond)
	}
	return uses
}
