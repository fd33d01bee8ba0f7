package nvvm

import (
	"strings"

	llvm "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/value"

	"tileiras/codegen/ptxop"
)

// sinkToProducts moves what feeds matrix products down to the product that needs it first: reads of shared memory and pure
// arithmetic. Operations are lowered whole, all reads of an operand before the first product, which would hold all of both operands
// in registers; a product only needs one step along K of them.
//
//	ldmatrix a0; ldmatrix a1; ldmatrix b0; ldmatrix b1        ldmatrix a0; ldmatrix b0; mma a0, b0
//	mma a0, b0; mma a1, b1                               =>   ldmatrix a1; ldmatrix b1; mma a1, b1
//
// Everything else keeps its order. A read of shared memory stays on its side of barriers, fences and writes.
func (f *fn) sinkToProducts() {
	outside := map[value.Value]bool{} // used in another block, by a phi or by a terminator
	home := map[value.Value]*llvm.Block{}
	for _, b := range f.fn.Blocks {
		for _, inst := range b.Insts {
			if v, ok := inst.(value.Value); ok {
				home[v] = b
			}
		}
	}
	for _, b := range f.fn.Blocks {
		for _, inst := range b.Insts {
			_, phi := inst.(*llvm.InstPhi)
			for _, x := range inst.Operands() {
				if phi || home[*x] != b {
					outside[*x] = true
				}
			}
		}
		for _, x := range b.Term.Operands() {
			outside[*x] = true
		}
	}
	for _, b := range f.fn.Blocks {
		s := sinker{fn: f, insts: b.Insts, outside: outside}
		if s.classify() {
			b.Insts = s.run()
		}
	}
}

// sinking is what may happen to an instruction.
type sinking uint8

const (
	fixed   sinking = iota
	pure            // may go anywhere before its users
	reading         // may not pass a blocker
	blocker         // fixed, and reads may not pass it
)

type sinker struct {
	*fn
	insts   []llvm.Instruction
	outside map[value.Value]bool

	kinds    []sinking
	blockers []int // blockers up to here
	products bool
}

// classify looks at every instruction; it reports whether there is a matrix product at all.
func (s *sinker) classify() bool {
	s.kinds, s.blockers = make([]sinking, len(s.insts)), make([]int, len(s.insts))
	n := 0
	for i, inst := range s.insts {
		s.kinds[i] = s.kind(inst)
		if v, ok := inst.(value.Value); ok && s.outside[v] && (s.kinds[i] == pure || s.kinds[i] == reading) {
			s.kinds[i] = fixed
		}
		if s.kinds[i] == blocker {
			n++
		}
		s.blockers[i] = n
	}
	return s.products
}

func (s *sinker) kind(inst llvm.Instruction) sinking {
	switch inst := inst.(type) {
	case *llvm.InstPhi, *llvm.InstAlloca, *llvm.InstLoad:
		return fixed
	case *llvm.InstStore:
		return blocker
	case *llvm.InstCall:
		asm, ok := inst.Callee.(*llvm.InlineAsm)
		if !ok {
			return blocker
		}
		row := ptxop.Find(asm.Asm, asm.Constraint)
		if strings.HasPrefix(row.Name, "mma.") {
			s.products = true
			return fixed
		}
		switch e := row.Effects; {
		case e&^ptxop.ReadConst == 0:
			return pure
		case e&^(ptxop.ReadShared|ptxop.Convergent) == 0 && e&ptxop.ReadShared != 0:
			return reading
		case e&(ptxop.WriteGeneric|ptxop.Strong|ptxop.Fence|ptxop.Barrier|ptxop.Async|ptxop.Control) != 0:
			return blocker
		}
		return fixed
	}
	return pure
}

// run gives the instructions in their new order. What has one user stands right in front of it; what has several stands in front
// of the first fixed instruction that any of them leads to, in the old order.
func (s *sinker) run() []llvm.Instruction {
	users := map[value.Value][]int{}
	for i, inst := range s.insts {
		for _, x := range inst.Operands() {
			users[*x] = append(users[*x], i)
		}
	}
	root := make([]int, len(s.insts))     // the fixed instruction in front of which it goes
	front := make([][]int, len(s.insts))  // right in front of an instruction, last first
	shared := make([][]int, len(s.insts)) // in front of a fixed instruction and all that goes there, last first
	for i := len(s.insts) - 1; i >= 0; i-- {
		root[i] = i
		v, ok := s.insts[i].(value.Value)
		if !ok || s.kinds[i] == fixed || s.kinds[i] == blocker || len(users[v]) == 0 {
			continue
		}
		first := users[v][0]
		for _, u := range users[v] {
			if root[u] < root[first] {
				first = u
			}
		}
		if s.kinds[i] == reading && s.blockers[root[first]] != s.blockers[i] {
			continue
		}
		root[i] = root[first]
		if len(users[v]) == 1 {
			front[first] = append(front[first], i)
		} else {
			shared[root[i]] = append(shared[root[i]], i)
		}
	}
	out := make([]llvm.Instruction, 0, len(s.insts))
	var emit func(i int)
	emit = func(i int) {
		for _, list := range [2][]int{shared[i], front[i]} {
			for k := len(list) - 1; k >= 0; k-- {
				emit(list[k])
			}
		}
		out = append(out, s.insts[i])
	}
	for i := range s.insts {
		if root[i] == i {
			emit(i)
		}
	}
	return out
}
