package nvvm

import (
	"math"
	"slices"

	llvm "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"tileiras/codegen/local"
)

// This file makes accesses that the end of an array may cut.

// groupRuns is how many runs share a branch: what they need is held in registers up to it, a 64-bit address for each where nothing is known of
// how far they are apart.
const groupRuns = 8

// group is the code of runs that share a branch: whole ones, and the rare block that takes them element by element.
type group struct{ whole, rare *llvm.Block }

// ragged makes accesses by runs of which the end of the array may cut one: whole ones at once, where all of a run lies inside, and in a thread
// that has one of which a part does, all of its group element by element. moved is the tile that they bring, if loads, or take.
func (f *fn) ragged(runs []run, elemBytes int64, moved *tile, loads bool, access func(r run, moved *tile)) {
	var groups []group
	for some := range slices.Chunk(runs, groupRuns) {
		whole := moved
		if loads {
			whole = f.newTile(moved.elem, moved.len())
		}
		edge := boolean(false)
		for _, r := range some {
			n := i32(int64(len(r.regs)))
			edge = f.or(edge, f.and(r.guard, f.icmp(ult, f.sub(r.inside, i32(1)), f.sub(n, i32(1)))))
			r.guard = f.and(r.guard, f.icmp(slt, i32(int64(len(r.regs)-1)), r.inside))
			access(r, whole)
		}
		g := group{whole: f.cur.Block}
		held := func(t *tile) (regs []reg) {
			for i := 0; loads && i < len(some); i++ {
				regs = append(regs, f.runRegs(t, some[i].regs)...)
			}
			return regs
		}
		got := f.ifThen(edge, held(whole), func() []reg {
			g.rare = f.cur.Block
			cut := f.here(moved)
			if loads {
				cut = f.newTile(moved.elem, moved.len())
			}
			for _, r := range some {
				for k, at := range r.regs {
					guard := f.and(r.guard, f.icmp(slt, i32(int64(k)), r.inside))
					access(run{regs: []int{at}, base: r.base, offset: r.offset + int64(k)*elemBytes, guard: guard}, cut)
				}
			}
			return held(cut)
		})
		if g.rare != nil && g.rare != g.whole { // else the next group begins in this block
			groups = append(groups, g)
		}
		for i, r := range some {
			if n := len(got) / len(some); n > 0 {
				f.putRun(moved, r.regs, got[i*n:(i+1)*n])
			}
		}
	}
	if len(groups) > 1 {
		f.cuts = append(f.cuts, groups)
	}
}

// sinkToGroups moves integers that only later groups of a ragged access need, addresses mostly, from the block in front of the first branch to the
// group that needs them first: tiles of pointers are computed whole.
//
//	p0 = ..; p8 = ..; store p0; br edge             p0 = ..; store p0; br edge
//	store p8; br edge                          =>   p8 = ..; store p8; br edge
func (f *fn) sinkToGroups() {
	if len(f.cuts) == 0 {
		return
	}
	s := groupSinker{fn: f, heads: map[*llvm.Block]int{}, members: map[*llvm.Block]member{}}
	for i, groups := range f.cuts {
		s.heads[groups[0].whole] = i
		for k, g := range groups {
			s.members[g.rare] = member{i, k}
			if k > 0 {
				s.members[g.whole] = member{i, k}
			}
		}
	}
	s.look()
	for _, groups := range f.cuts {
		s.move(groups)
	}
}

// member says which group of which access a block belongs to.
type member struct{ access, group int }

// groupSinker knows of instructions, by number, which blocks need them.
type groupSinker struct {
	*fn
	heads   map[*llvm.Block]int    // the accesses of which blocks are the first group
	members map[*llvm.Block]member // the other groups, and all rare blocks
	home    []*llvm.Block          // if it is a head
	first   []int                  // the first group that needs it
}

// look finds the first group that needs each instruction of a head, but for the head itself.
func (s *groupSinker) look() {
	for _, b := range s.fn.fn.Blocks {
		home := b
		if _, head := s.heads[b]; !head {
			home = nil
		}
		for _, inst := range b.Insts {
			s.home, s.first = append(s.home, home), append(s.first, math.MaxInt)
			local.Set(inst, int32(len(s.home)))
		}
	}
	var operands []*value.Value
	for _, b := range s.fn.fn.Blocks {
		for _, x := range b.Term.Operands() {
			s.need(*x, b)
		}
		for _, inst := range b.Insts {
			s.budget.Step()
			if phi, ok := inst.(*llvm.InstPhi); ok {
				for _, in := range phi.Incs {
					s.need(in.X, in.Pred.(*llvm.Block)) // at its end
				}
				continue
			}
			operands = local.AppendOperands(operands[:0], inst)
			for _, x := range operands {
				if n, ok := s.number(*x); ok && s.home[n] != b {
					s.need(*x, b)
				}
			}
		}
	}
}

// number is the number of a value that an instruction of a head makes.
func (s *groupSinker) number(v value.Value) (n int32, ok bool) {
	n, ok = local.Number(v)
	return n - 1, ok && n > 0 && s.home[n-1] != nil
}

// need notes that a block needs a value.
func (s *groupSinker) need(v value.Value, by *llvm.Block) {
	if n, ok := s.number(v); ok {
		group := 0
		if m, ok := s.members[by]; ok && m.access == s.heads[s.home[n]] {
			group = m.group
		}
		s.first[n] = min(s.first[n], group)
	}
}

// move takes what later groups need out of the first.
func (s *groupSinker) move(groups []group) {
	head := groups[0].whole
	moved := make([][]llvm.Instruction, len(groups))
	var operands []*value.Value
	for i := len(head.Insts) - 1; i >= 0; i-- {
		s.budget.Step()
		inst, to := head.Insts[i], 0
		if v, ok := inst.(value.Value); ok && movesToGroup(inst) {
			if n, ok := s.number(v); ok && s.first[n] < len(groups) {
				to = s.first[n]
			}
		}
		moved[to] = append(moved[to], inst)
		operands = local.AppendOperands(operands[:0], inst)
		for _, x := range operands {
			if n, ok := s.number(*x); ok && s.home[n] == head {
				s.first[n] = min(s.first[n], to)
			}
		}
	}
	for k, g := range groups {
		slices.Reverse(moved[k])
		if k > 0 {
			moved[k] = insertBehindPhis(g.whole.Insts, moved[k]...)
		}
		g.whole.Insts = moved[k]
	}
}

// insertBehindPhis inserts instructions behind the phis at the start of a block.
func insertBehindPhis(insts []llvm.Instruction, more ...llvm.Instruction) []llvm.Instruction {
	phis := 0
	for phis < len(insts) && isPhi(insts[phis]) {
		phis++
	}
	return slices.Insert(insts, phis, more...)
}

func isPhi(inst llvm.Instruction) bool {
	_, phi := inst.(*llvm.InstPhi)
	return phi
}

// movesToGroup reports whether an instruction makes an integer of others, and takes no more than that.
func movesToGroup(inst llvm.Instruction) bool {
	if _, call := inst.(*llvm.InstCall); call {
		return false
	}
	_, what := sinkingOf(inst, nil)
	_, integer := inst.(value.Value).Type().(*types.IntType)
	return what == pure && integer
}
