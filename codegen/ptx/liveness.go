package ptx

import "tileiras/codegen/ptxop"

// A segment is a piece of a live range, half open. Instruction i of the function
// (counted over all blocks in layout order) owns four points:
//
//	4i    tied arguments are read      4i+2  arguments are read
//	4i+1  into the tied results        4i+3  results are written
//
// The moves at the end of a block and its terminator count as instructions.
type segment struct{ start, end int32 }

// liveness answers which registers live where.
type liveness struct {
	f     *function
	first []int32 // number of the first instruction of a block
	last  []int32 // and of its terminator; the moves stand before it

	// Registers that live across blocks have a bit in the sets.
	bit    []int32 // register -> bit, -1 = lives in one block
	of     []reg   // bit -> register
	liveIn []bitset
	out    []bitset
}

type bitset []uint64

func (s bitset) has(i int32) bool { return s[i>>6]&(1<<(i&63)) != 0 }
func (s bitset) set(i int32)      { s[i>>6] |= 1 << (i & 63) }

// tiedArgument returns the argument that is tied to result k, -1 for none.
func tiedArgument(row *ptxop.Row, k int) int {
	for i := row.Results; i < len(row.Operands); i++ {
		if row.Operands[i].Kind == ptxop.Tied && row.Operands[i].Def == k {
			return i
		}
	}
	return -1
}

// hasTied reports whether a row has tied arguments.
func hasTied(row *ptxop.Row) bool {
	for i := row.Results; i < len(row.Operands); i++ {
		if row.Operands[i].Kind == ptxop.Tied {
			return true
		}
	}
	return false
}

// newLiveness solves the data flow equations
//
//	in(b) = exposed(b) + (out(b) - defined(b)),   out(b) = union of in(s)
//
// over the registers that live in more than one block. The result of a phi is
// defined by the moves of the predecessors.
func newLiveness(f *function) *liveness {
	l := &liveness{f: f, bit: make([]int32, len(f.regs))}
	n := int32(0)
	home := make([]int32, len(f.regs)) // 1 + the only block seen so far
	for i := range l.bit {
		l.bit[i] = -1
	}
	see := func(o *operand, b int) {
		switch {
		case o.kind != kindReg || l.bit[o.reg] >= 0:
		case home[o.reg] == 0:
			home[o.reg] = int32(b + 1)
		case home[o.reg] != int32(b+1):
			l.bit[o.reg] = int32(len(l.of))
			l.of = append(l.of, o.reg)
		}
	}
	for at, b := range f.blocks {
		l.first = append(l.first, n)
		n += int32(len(b.insts)) + 2
		l.last = append(l.last, n-1)
		for k := range b.phis {
			see(&operand{kind: kindReg, reg: b.phis[k].dst}, at)
		}
		for i := range b.insts {
			f.budget.Step()
			for k := range b.insts[i].ops {
				see(&b.insts[i].ops[k], at)
			}
		}
		for i := range b.moves {
			see(&operand{kind: kindReg, reg: b.moves[i].dst}, at)
			see(&b.moves[i].src, at)
		}
		see(&b.cond, at)
	}

	words := (len(l.of) + 63) / 64
	defined := make([]bitset, len(f.blocks))
	l.liveIn = make([]bitset, len(f.blocks))
	l.out = make([]bitset, len(f.blocks))
	for at, b := range f.blocks {
		f.budget.Step()
		f.budget.Hold(3 * 8 * int64(words))
		store := make([]uint64, 3*words)
		kill, gen := bitset(store[:words]), bitset(store[words:2*words])
		l.out[at] = store[2*words:]
		read := func(o *operand) {
			if o.kind == kindReg {
				if i := l.bit[o.reg]; i >= 0 && !kill.has(i) {
					gen.set(i)
				}
			}
		}
		write := func(r reg) {
			if i := l.bit[r]; i >= 0 {
				kill.set(i)
			}
		}
		for i := range b.insts {
			f.budget.Step()
			in := &b.insts[i]
			for k := in.row.Results; k < len(in.ops); k++ {
				read(&in.ops[k])
			}
			for k := range in.row.Results {
				write(in.ops[k].reg)
			}
		}
		for i := range b.moves {
			read(&b.moves[i].src)
		}
		read(&b.cond)
		for i := range b.moves {
			write(b.moves[i].dst)
		}
		defined[at], l.liveIn[at] = kill, gen
	}
	for changed := true; changed; {
		changed = false
		for at := len(f.blocks) - 1; at >= 0; at-- {
			l.f.budget.Step()
			out, in, kill := l.out[at], l.liveIn[at], defined[at]
			for _, s := range f.blocks[at].succs {
				for w, bits := range l.liveIn[s] {
					out[w] |= bits
				}
			}
			for w := range in {
				if next := in[w] | out[w]&^kill[w]; next != in[w] {
					in[w] = next
					changed = true
				}
			}
		}
	}
	return l
}

// ranges returns the live ranges of the registers that wanted marks, each as
// segments in ascending order.
func (l *liveness) ranges(wanted []bool) [][]segment {
	f := l.f
	segs := make([][]segment, len(f.regs))
	end := make([]int32, len(f.regs)) // of the open segment, 0 = none
	var open []reg
	read := func(o *operand, at int32) {
		if o.kind == kindReg && wanted[o.reg] && end[o.reg] == 0 {
			end[o.reg] = at + 1
			open = append(open, o.reg)
		}
	}
	write := func(r reg, at, deadEnd int32) {
		if !wanted[r] {
			return
		}
		stop := end[r]
		if stop == 0 {
			stop = deadEnd
		}
		segs[r] = append(segs[r], segment{at, stop})
		end[r] = 0
	}
	for at := len(f.blocks) - 1; at >= 0; at-- {
		b := f.blocks[at]
		open = open[:0]
		stop := 4 * (l.last[at] + 1)
		for w, bits := range l.out[at] {
			for ; bits != 0; bits &= bits - 1 {
				i := int32(w*64) + int32(trailingZeros(bits))
				read(&operand{kind: kindReg, reg: l.of[i]}, stop-1)
			}
		}
		read(&b.cond, 4*l.last[at]+2)
		move := 4 * (l.last[at] - 1)
		for i := range b.moves {
			write(b.moves[i].dst, move+3, move+4)
		}
		for i := range b.moves {
			read(&b.moves[i].src, move+2)
		}
		for i := len(b.insts) - 1; i >= 0; i-- {
			f.budget.Step()
			in := &b.insts[i]
			p := 4 * (l.first[at] + int32(i))
			ties := hasTied(in.row)
			for k := range in.row.Results {
				if !ties || tiedArgument(in.row, k) < 0 {
					write(in.ops[k].reg, p+3, p+4)
				}
			}
			for k := in.row.Results; k < len(in.ops); k++ {
				if in.row.Operands[k].Kind != ptxop.Tied {
					read(&in.ops[k], p+2)
				}
			}
			if !ties {
				continue
			}
			for k := range in.row.Results {
				if tiedArgument(in.row, k) >= 0 {
					write(in.ops[k].reg, p+1, p+4)
				}
			}
			for k := in.row.Results; k < len(in.ops); k++ {
				if in.row.Operands[k].Kind == ptxop.Tied {
					read(&in.ops[k], p)
				}
			}
		}
		start := 4 * l.first[at]
		for _, r := range open {
			if end[r] != 0 {
				segs[r] = append(segs[r], segment{start, end[r]})
				end[r] = 0
			}
		}
	}
	for _, s := range segs {
		for i, j := 0, len(s)-1; i < j; i, j = i+1, j-1 {
			s[i], s[j] = s[j], s[i]
		}
	}
	return segs
}

// overlap reports whether two ranges meet.
func overlap(a, b []segment) bool {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i].end <= b[j].start:
			i++
		case b[j].end <= a[i].start:
			j++
		default:
			return true
		}
	}
	return false
}

// merge unites two ranges that do not meet.
func merge(a, b []segment) []segment {
	out := make([]segment, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0].start < b[0].start {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
		if n := len(out); n > 1 && out[n-2].end == out[n-1].start {
			out[n-2].end = out[n-1].end
			out = out[:n-1]
		}
	}
	return append(append(out, a...), b...)
}
