package ptx

import (
	"tileiras/codegen/ptxop"
)

// enoughRegisters is how many registers of a thread may be live at once in a block before its instructions are ordered anew: with as many,
// a multiprocessor has 32 warps.
const enoughRegisters = 64

// schedule orders instructions for fewer live registers: lowering computes a tile at a time, and ptxas keeps that order by and large. In a block
// in which more than twice enoughRegisters are live at once, what only addresses and guards need is computed in front of the first access that needs it.
// Where that helps little, and more than enoughRegisters are live, and more than in any loop, all that only computes stands in front of the first access or
// exchange that needs it: what was loaded first is computed with and stored before anything is computed with the next. Both only if a quarter fewer
// registers are live then: less than that ptxas may well find itself. All else stays in order, and so do loops, whose order is that of the passes.
// (Goodman and Hsu, Code Scheduling and Register Allocation in Large Basic Blocks, 1988, switch between two orders by pressure in the same way.)
//
//	before                              after
//	  mad.wide a0, x, 4, p                mad.wide a0, x, 4, p
//	  mad.wide a1, y, 4, p                setp.lt  c0, x, n
//	  setp.lt  c0, x, n                   @c0 st [a0], v0
//	  setp.lt  c1, y, n                   mad.wide a1, y, 4, p
//	  @c0 st [a0], v0                     setp.lt  c1, y, n
//	  @c1 st [a1], v1                     @c1 st [a1], v1
func (f *function) schedule(enough int) {
	var s *scheduler
	looped := f.looped()
	for at, b := range f.blocks {
		f.budget.Step()
		if looped[at] || len(b.insts) <= enough {
			continue
		}
		if s == nil {
			s = newScheduler(f, enough)
			s.inLoops = s.peakOf(looped)
		}
		s.block(at)
	}
}

// looped marks the blocks from the head of a loop to its back edge: lowering lays out loops in one piece.
func (f *function) looped() []bool {
	end := make([]int, len(f.blocks)) // of the loop that begins at a block
	for at, b := range f.blocks {
		for _, to := range b.succs {
			if to <= at {
				end[to] = at + 1
			}
		}
	}
	marks, open := make([]bool, len(f.blocks)), 0
	for at := range f.blocks {
		open = max(open, end[at])
		marks[at] = at < open
	}
	return marks
}

// scheduler is the state of schedule for one function.
type scheduler struct {
	f       *function
	enough  int
	inLoops int     // the most registers that are live at once in a loop
	out     [][]reg // live out of a block
	def     []int32 // by register: 1 + the index of its definition in the block at hand, 0 = elsewhere
	live    []bool  // by register: in peak
	open    []reg   // those that are live
}

func newScheduler(f *function, enough int) *scheduler {
	wanted := make([]bool, len(f.regs))
	for r := range wanted {
		wanted[r] = r > 0
	}
	return &scheduler{f: f, enough: enough, out: newLiveness(f, wanted).out, def: make([]int32, len(f.regs)), live: make([]bool, len(f.regs))}
}

// block orders the instructions of a block for which it is worth it.
func (s *scheduler) block(at int) {
	b := s.f.blocks[at]
	before := s.peak(at, b.insts)
	if before <= s.enough {
		return
	}
	if before > 2*s.enough && s.try(at, before, s.staying(at)) {
		return
	}
	if before > s.inLoops { // else a loop says how many registers there are
		s.try(at, before, s.effects(at))
	}
}

// peakOf is the most registers that are live at once in marked blocks.
func (s *scheduler) peakOf(marked []bool) (most int) {
	for at, b := range s.f.blocks {
		if marked[at] {
			most = max(most, s.peak(at, b.insts))
		}
	}
	return most
}

// try takes an order if a quarter fewer registers are live then.
func (s *scheduler) try(at, before int, stays []bool) bool {
	late := s.late(at, stays)
	better := 4*s.peak(at, late) <= 3*before
	if better {
		s.f.blocks[at].insts = late
	}
	return better
}

// effects marks the instructions of a block that keep their order where all others move.
func (s *scheduler) effects(at int) []bool {
	insts := s.f.blocks[at].insts
	marks := make([]bool, len(insts))
	for i := range insts {
		marks[i] = !s.onlyComputes(&insts[i])
	}
	return marks
}

// atEnd calls do for every register that is read after the last instruction of a block.
func (s *scheduler) atEnd(at int, do func(r reg)) {
	b := s.f.blocks[at]
	for _, r := range s.out[at] {
		do(r)
	}
	for i := range b.moves {
		if b.moves[i].src.kind == kindReg {
			do(b.moves[i].src.reg)
		}
	}
	if b.cond.kind == kindReg {
		do(b.cond.reg)
	}
}

// registers is the number of 32-bit registers that a virtual register takes. Of predicates there are seven; those of more sit in registers.
func (s *scheduler) registers(r reg) int { return (regBits(s.f.regs[r].typ) + 31) / 32 }

// peak is the most registers that are live at once, were these the instructions of a block.
func (s *scheduler) peak(at int, insts []inst) (most int) {
	now := 0
	read := func(r reg) {
		if !s.live[r] {
			s.live[r] = true
			s.open = append(s.open, r)
			now += s.registers(r)
		}
	}
	s.atEnd(at, read)
	for i := len(insts) - 1; i >= 0; i-- {
		s.f.budget.Step()
		in := &insts[i]
		for k := range in.row.Results {
			read(in.ops[k].reg)
		}
		most = max(most, now)
		for k := range in.row.Results {
			s.live[in.ops[k].reg] = false
			now -= s.registers(in.ops[k].reg)
		}
		for _, o := range in.ops[in.row.Results:] {
			if o.kind == kindReg {
				read(o.reg)
			}
		}
		most = max(most, now)
	}
	s.clear()
	return most
}

// clear takes all marks off registers.
func (s *scheduler) clear() {
	for _, r := range s.open {
		s.live[r] = false
	}
	s.open = s.open[:0]
}

// late lists the instructions of a block, those that do not stay in front of the first one that stays and needs them, or at the end.
func (s *scheduler) late(at int, stays []bool) []inst {
	b := s.f.blocks[at]
	for i := range b.insts {
		for k := range b.insts[i].row.Results {
			s.def[b.insts[i].ops[k].reg] = int32(i + 1)
		}
	}
	list, done := make([]inst, 0, len(b.insts)), make([]bool, len(b.insts))
	var stack []int32
	for i := range b.insts {
		if !stays[i] {
			continue
		}
		for stack = append(stack[:0], int32(i)); len(stack) > 0; {
			s.f.budget.Step()
			top := stack[len(stack)-1]
			if need := s.missing(&b.insts[top], done); need >= 0 {
				stack = append(stack, need)
				continue
			}
			stack = stack[:len(stack)-1]
			done[top] = true
			list = append(list, b.insts[top])
			list[len(list)-1].meta = b.insts[i].meta
		}
	}
	for i := range b.insts {
		if !done[i] && !stays[i] {
			list = append(list, b.insts[i])
		}
		for k := range b.insts[i].row.Results {
			s.def[b.insts[i].ops[k].reg] = 0
		}
	}
	return list
}

// missing is an instruction of the block that computes an operand and is not in the list yet; -1 if there is none.
func (s *scheduler) missing(in *inst, done []bool) int32 {
	for _, o := range in.ops[in.row.Results:] {
		if o.kind == kindReg {
			if i := s.def[o.reg] - 1; i >= 0 && !done[i] {
				return i
			}
		}
	}
	return -1
}

// staying marks the instructions of a block that keep their order: all but those that do nothing but compute what only addresses and guards need.
func (s *scheduler) staying(at int) []bool {
	insts := s.f.blocks[at].insts
	marks := make([]bool, len(insts))
	data := func(r reg) { // something else needs it
		if !s.live[r] {
			s.live[r] = true
			s.open = append(s.open, r)
		}
	}
	s.atEnd(at, data)
	for i := len(insts) - 1; i >= 0; i-- {
		s.f.budget.Step()
		in := &insts[i]
		marks[i] = !s.onlyComputes(in)
		for k := range in.row.Results {
			marks[i] = marks[i] || s.live[in.ops[k].reg]
		}
		for k := in.row.Results; marks[i] && k < len(in.ops); k++ {
			if kind := in.row.Operands[k].Kind; in.ops[k].kind == kindReg && kind != ptxop.Base && kind != ptxop.Guard {
				data(in.ops[k].reg)
			}
		}
	}
	s.clear()
	return marks
}

// onlyComputes reports whether an instruction may stand anywhere between its operands and its readers. Values of a mandatory class may
// not: two must not be live together.
func (s *scheduler) onlyComputes(in *inst) bool {
	if in.row.Effects != 0 {
		return false
	}
	for k, o := range in.ops {
		if o.kind == kindReg && s.f.regs[o.reg].class != 0 || in.row.Operands[k].Kind == ptxop.Tied {
			return false
		}
	}
	return true
}
