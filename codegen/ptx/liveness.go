package ptx

import (
	"slices"

	"tileiras/codegen/local"
	"tileiras/codegen/ptxop"
)

// A segment is a piece of a live range, half open. Instruction i of the function
// (counted over all blocks in layout order) owns four points:
//
//	4i    tied arguments are read      4i+2  arguments are read
//	4i+1  into the tied results        4i+3  results are written
//
// The moves at the end of a block and its terminator count as instructions.
type segment struct{ start, end int32 }

// liveness answers which of the wanted registers live where.
type liveness struct {
	f      *function
	wanted []bool
	first  []int32 // number of the first instruction of a block
	last   []int32 // and of its terminator; the moves stand before it

	// across are the wanted registers that occur in more than one block; index finds them, -1 = none of them.
	across []crossing
	index  []int32
	out    [][]reg // those that live at the end of a block
}

// A crossing is a register with the blocks that define it, and those that read it before.
type crossing struct {
	reg              reg
	defined, exposed []int32
}

// newLiveness finds where the wanted registers that occur in more than one block live: each from the blocks that read it backwards to those that define it.
// The result of a phi is defined by the moves of the predecessors. That takes time and memory linear in the blocks through which registers live.
func newLiveness(f *function, wanted []bool) *liveness {
	l := &liveness{f: f, wanted: wanted, index: make([]int32, len(f.regs)), out: make([][]reg, len(f.blocks))}
	l.number()
	for at, b := range f.blocks {
		f.budget.Step()
		l.local(b, int32(at))
	}
	// Marks say for which register, from 1 on, a block has been seen.
	defines, in, out := make([]int, len(f.blocks)), make([]int, len(f.blocks)), make([]int, len(f.blocks))
	var open []int32 // blocks at whose start a register lives
	for i, x := range l.across {
		mark := i + 1
		for _, b := range x.defined {
			defines[b] = mark
		}
		open = append(open[:0], x.exposed...)
		for len(open) > 0 {
			f.budget.Step()
			b := open[len(open)-1]
			open = open[:len(open)-1]
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
					open = append(open, int32(p))
				}
			}
		}
	}
	return l
}

// number counts the instructions, and finds the wanted registers that occur in
// more than one block.
func (l *liveness) number() {
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
			l.index[r] = int32(len(l.across))
			l.across = append(l.across, crossing{reg: r})
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

// local finds the registers that a block defines, and those it reads before.
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
		x := &l.across[l.index[o.reg]]
		if n := len(x.defined); n == 0 || x.defined[n-1] != at {
			add(&x.exposed)
		}
	}
	write := func(r reg) {
		if i := l.index[r]; i >= 0 {
			add(&l.across[i].defined)
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

// ranges returns the live ranges of the wanted registers, each as segments in
// ascending order, and where that of a register is among them; that of others is
// the first, which is empty.
func (l *liveness) ranges() (segs [][]segment, of []int32) {
	w := &rangeWalk{of: make([]int32, len(l.f.regs))}
	n := int32(0)
	for r, want := range l.wanted {
		if want {
			n++
			w.of[r] = n
		}
	}
	w.segs, w.end, w.places = make([][]segment, n+1), make([]int32, n+1), make([]segment, n)
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

// A rangeWalk makes the segments of ranges, walking backwards.
type rangeWalk struct {
	of     []int32     // register -> range, 0 = it is not wanted
	segs   [][]segment // of a range, the last first
	end    []int32     // of a range's open segment, 0 = none
	open   []int32     // ranges with a segment that was opened in this block
	places []segment   // for the first segments of ranges: most have no other
	room   local.Slab[segment]
}

// add adds a segment to a range.
func (w *rangeWalk) add(r int32, s segment) {
	list := w.segs[r]
	switch n := len(list); {
	case list == nil:
		list, w.places = w.places[:0:1], w.places[1:]
	case n == cap(list) && n <= 2: // the few of a usual range
		list = append(w.room.Take(2 * n)[:0], list...)
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

// write ends a segment at a definition; what nobody reads lives up to dead.
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

// close ends the open segments at the start of the block.
func (w *rangeWalk) close(start int32) {
	for _, r := range w.open {
		if w.end[r] != 0 {
			w.add(r, segment{start, w.end[r]})
			w.end[r] = 0
		}
	}
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

// merge unites two ranges that do not meet, in out, which is empty.
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
