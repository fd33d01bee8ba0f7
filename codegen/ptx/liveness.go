package ptx

import (
	"slices"

	"tileiras/codegen/local"
	"tileiras/codegen/ptxop"
)

// A segment is a half-open interval of program points; a live range is a list of
// segments, with holes between them. Instruction i of the function (counted over
// all blocks in layout order) has four points:
//
//	4i    tied arguments are read      4i+2  arguments are read
//	4i+1  tied results are written     4i+3  results are written
//
// The parallel copy at the end of a block and the terminator count as
// instructions.
type segment struct{ start, end int32 }

// liveness is the live-variable analysis of the wanted registers.
type liveness struct {
	f      *function
	wanted []bool
	first  []int32 // number of the first instruction of a block
	last   []int32 // number of its terminator; that of the moves is one less

	// globals are the wanted registers that occur in more than one block; index maps a register to its place there, -1 = none.
	globals []globalReg
	index   []int32
	out     [][]reg // the globals that are live out of a block
}

// A globalReg is a register that occurs in more than one block, with the blocks that define it and those in which it is upward exposed: read before
// any definition.
type globalReg struct {
	reg              reg
	defined, exposed []int32
}

// newLiveness finds the blocks out of which each global register is live, by a walk from its upward-exposed reads backwards to its definitions. The result
// of a phi is defined by the moves of the predecessors. Time and memory are linear in the number of pairs of a register and a block that it is live in.
func newLiveness(f *function, wanted []bool) *liveness {
	l := &liveness{f: f, wanted: wanted, index: make([]int32, len(f.regs)), out: make([][]reg, len(f.blocks))}
	l.numberInstructions()
	for at, b := range f.blocks {
		f.budget.Step()
		l.local(b, int32(at))
	}
	// A mark is the number of the last register, from 1 on, that is defined in, live into or live out of a block.
	defines, in, out := make([]int, len(f.blocks)), make([]int, len(f.blocks)), make([]int, len(f.blocks))
	var work []int32 // blocks into which the register is live
	for i, x := range l.globals {
		mark := i + 1
		for _, b := range x.defined {
			defines[b] = mark
		}
		work = append(work[:0], x.exposed...)
		for len(work) > 0 {
			f.budget.Step()
			b := work[len(work)-1]
			work = work[:len(work)-1]
			if in[b] == mark {
				continue
			}
			in[b] = mark
			for _, p := range f.blocks[b].preds {
				if out[p] == mark {
					continue
				}
				out[p] = mark
				f.budget.Hold(4)
				l.out[p] = append(l.out[p], x.reg)
				if defines[p] != mark {
					work = append(work, int32(p))
				}
			}
		}
	}
	return l
}

// numberInstructions numbers the instructions, and finds the global registers.
func (l *liveness) numberInstructions() {
	f := l.f
	home := make([]int32, len(f.regs)) // 1 + the only block seen so far
	for i := range l.index {
		l.index[i] = -1
	}
	see := func(r reg, b int) {
		switch {
		case l.index[r] >= 0:
		case home[r] == 0:
			home[r] = int32(b + 1)
		case home[r] != int32(b+1):
			l.index[r] = int32(len(l.globals))
			l.globals = append(l.globals, globalReg{reg: r})
		}
	}
	n := int32(0)
	for at, b := range f.blocks {
		l.first = append(l.first, n)
		n += int32(len(b.insts)) + 2
		l.last = append(l.last, n-1)
		for k := range b.phis {
			see(b.phis[k].dst, at)
		}
		for i := range b.insts {
			f.budget.Step()
			ops := b.insts[i].ops
			for k := range ops {
				if o := &ops[k]; o.kind == kindReg && l.wanted[o.reg] {
					see(o.reg, at)
				}
			}
		}
		for _, m := range b.moves {
			see(m.dst, at)
			if m.src.kind == kindReg {
				see(m.src.reg, at)
			}
		}
		if c := b.cond; c.kind == kindReg && l.wanted[c.reg] {
			see(c.reg, at)
		}
	}
}

// local finds the global registers that a block defines, and those that are upward exposed in it.
func (l *liveness) local(b *block, at int32) {
	add := func(list *[]int32) {
		if n := len(*list); n == 0 || (*list)[n-1] != at {
			*list = append(*list, at)
		}
	}
	read := func(o *operand) {
		if o.kind != kindReg || l.index[o.reg] < 0 {
			return
		}
		x := &l.globals[l.index[o.reg]]
		if n := len(x.defined); n == 0 || x.defined[n-1] != at {
			add(&x.exposed)
		}
	}
	write := func(r reg) {
		if i := l.index[r]; i >= 0 {
			add(&l.globals[i].defined)
		}
	}
	for i := range b.insts {
		l.f.budget.Step()
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
}

// ranges returns the live ranges, each as segments in ascending order, and the
// index of the range of each register. Index 0, an empty range, is that of
// registers that are not wanted.
func (l *liveness) ranges() (segs [][]segment, of []int32) {
	w := &rangeWalk{of: make([]int32, len(l.f.regs))}
	n := int32(0)
	for r, want := range l.wanted {
		if want {
			n++
			w.of[r] = n
		}
	}
	w.segs, w.end, w.firsts = make([][]segment, n+1), make([]int32, n+1), make([]segment, n)
	for at := len(l.f.blocks) - 1; at >= 0; at-- {
		b := l.f.blocks[at]
		w.open = w.open[:0]
		stop := 4 * (l.last[at] + 1)
		for _, r := range l.out[at] {
			w.read(&operand{kind: kindReg, reg: r}, stop-1)
		}
		w.read(&b.cond, 4*l.last[at]+2)
		move := 4 * (l.last[at] - 1)
		for i := range b.moves {
			w.write(b.moves[i].dst, move+3, move+4)
		}
		for i := range b.moves {
			w.read(&b.moves[i].src, move+2)
		}
		for i := len(b.insts) - 1; i >= 0; i-- {
			l.f.budget.Step()
			w.instruction(&b.insts[i], 4*(l.first[at]+int32(i)))
		}
		w.close(4 * l.first[at])
	}
	for _, s := range w.segs {
		slices.Reverse(s)
	}
	return w.segs, w.of
}

// A rangeWalk builds live ranges in a backward walk over the blocks.
type rangeWalk struct {
	of     []int32     // register -> range, 0 = it is not wanted
	segs   [][]segment // of a range, the last first
	end    []int32     // of a range's open segment, 0 = none
	open   []int32     // ranges with a segment that was opened in this block
	firsts []segment   // memory for the first segment of each range: most have no other
	slab   local.Slab[segment]
}

// add adds a segment to a range.
func (w *rangeWalk) add(r int32, s segment) {
	list := w.segs[r]
	switch n := len(list); {
	case list == nil:
		list, w.firsts = w.firsts[:0:1], w.firsts[1:]
	case n == cap(list) && n <= 2: // the few of a usual range
		list = append(w.slab.Take(2 * n)[:0], list...)
	}
	w.segs[r] = append(list, s)
}

func (w *rangeWalk) read(o *operand, at int32) {
	if o.kind != kindReg {
		return
	}
	if r := w.of[o.reg]; r != 0 && w.end[r] == 0 {
		w.end[r] = at + 1
		w.open = append(w.open, r)
	}
}

// write begins the segment at a definition; a result that nobody reads is live up to dead.
func (w *rangeWalk) write(result reg, at, dead int32) {
	r := w.of[result]
	if r == 0 {
		return
	}
	stop := w.end[r]
	if stop == 0 {
		stop = dead
	}
	w.add(r, segment{at, stop})
	w.end[r] = 0
}

// instruction reads and writes at the four points from p on.
func (w *rangeWalk) instruction(in *inst, p int32) {
	tied := in.row.Tied
	for k := range in.row.Results {
		if tied == nil || tied[k] < 0 {
			w.write(in.ops[k].reg, p+3, p+4)
		}
	}
	for k := in.row.Results; k < len(in.ops); k++ {
		if tied == nil || in.row.Operands[k].Kind != ptxop.Tied {
			w.read(&in.ops[k], p+2)
		}
	}
	for k, at := range tied {
		if at >= 0 {
			w.write(in.ops[k].reg, p+1, p+4)
		}
	}
	for _, at := range tied {
		if at >= 0 {
			w.read(&in.ops[at], p)
		}
	}
}

// close begins the open segments at the start of the block: their registers are live in.
func (w *rangeWalk) close(start int32) {
	for _, r := range w.open {
		if w.end[r] != 0 {
			w.add(r, segment{start, w.end[r]})
			w.end[r] = 0
		}
	}
}

// overlap reports whether two live ranges interfere.
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

// merge appends the union of two live ranges that do not interfere to out, which is empty.
func merge(out, a, b []segment) []segment {
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
