package nvvm

import (
	"slices"
	"strings"

	llvm "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/value"

	"tileiras/codegen/local"
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
	rowOf, products := map[*llvm.InlineAsm]*ptxop.Row{}, false
	for row, asm := range f.asm { // inverted: the order cannot matter
		rowOf[asm] = row
		products = products || isProduct(row)
	}
	if !products {
		return
	}
	s := newSinker(f, rowOf)
	defer local.Clear(f.fn)
	s.link(f)
	first := int32(0)
	for _, b := range slices.Clone(f.fn.Blocks) {
		f.budget.Step()
		next := first + int32(len(b.Insts))
		if slices.ContainsFunc(s.rows[first:next], isProduct) {
			s.classify(first, next)
			order := s.early(first, s.run(first, next))
			if r := s.rotation(b, first, order); r == nil || !r.apply(f) {
				b.Insts = b.Insts[:len(order)]
				for k, i := range order {
					b.Insts[k] = s.insts[first+i]
				}
			}
		}
		first = next
	}
}

// newSinker numbers the instructions of a function.
func newSinker(f *fn, rowOf map[*llvm.InlineAsm]*ptxop.Row) *sinker {
	size := 0
	for _, b := range f.fn.Blocks {
		size += len(b.Insts)
	}
	s := &sinker{insts: make([]llvm.Instruction, 0, size), rows: make([]*ptxop.Row, size), what: make([]sinking, size)}
	for _, b := range f.fn.Blocks {
		for _, inst := range b.Insts {
			f.budget.Step()
			i := len(s.insts)
			s.rows[i], s.what[i] = sinkingOf(inst, rowOf)
			s.insts = append(s.insts, inst)
			local.Set(inst, int32(i+1))
		}
	}
	return s
}

// isProduct reports whether a PTX instruction is a matrix product.
func isProduct(row *ptxop.Row) bool { return row != nil && strings.HasPrefix(row.Name, "mma.") }

// link finds the operands of instructions as numbers, and who is used where it must not move: in another block, by a phi or by a
// terminator.
func (s *sinker) link(f *fn) {
	s.operands, s.pinned = make([][]int32, len(s.insts)), make([]bool, len(s.insts))
	first := int32(0)
	all := make([]int32, 0, 3*len(s.insts)) // what the lists of operands are cut from
	var operands []*value.Value
	for _, b := range f.fn.Blocks {
		next := first + int32(len(b.Insts))
		for i := first; i < next; i++ {
			f.budget.Step()
			from := len(all)
			_, phi := s.insts[i].(*llvm.InstPhi)
			operands = local.AppendOperands(operands[:0], s.insts[i])
			for _, x := range operands {
				n, ok := s.number(*x)
				switch {
				case !ok:
				case phi || n < first || n >= next:
					s.pinned[n] = true
				default:
					all = append(all, n)
				}
			}
			s.operands[i] = all[from:len(all):len(all)]
		}
		for _, x := range b.Term.Operands() {
			if n, ok := s.number(*x); ok {
				s.pinned[n] = true
			}
		}
		first = next
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

// sinker knows all instructions of a function by their numbers, in order.
type sinker struct {
	insts    []llvm.Instruction
	rows     []*ptxop.Row // the PTX instruction, nil of others
	what     []sinking    // as it is
	operands [][]int32    // that are instructions of the same block
	pinned   []bool

	// Of the block at hand, by number within it.
	kinds    []sinking
	blockers []int      // blockers up to here
	users    [][2]int32 // the last user in the block and the one before it, each once, -1 for none
	packs    []bool     // moved up, see early
}

// number is the number of a value that an instruction makes.
func (s *sinker) number(v value.Value) (n int32, ok bool) {
	n, ok = local.Number(v)
	return n - 1, ok && n > 0
}

// classify looks at the instructions of a block.
func (s *sinker) classify(first, next int32) {
	s.kinds, s.blockers = slices.Clone(s.what[first:next]), make([]int, next-first)
	n := 0
	for i, kind := range s.kinds {
		if s.pinned[first+int32(i)] && (kind == pure || kind == reading) {
			s.kinds[i] = fixed
		}
		if kind == blocker {
			n++
		}
		s.blockers[i] = n
	}
}

// sinkingOf is what may happen to an instruction, and its row.
func sinkingOf(inst llvm.Instruction, rowOf map[*llvm.InlineAsm]*ptxop.Row) (*ptxop.Row, sinking) {
	switch inst := inst.(type) {
	case *llvm.InstPhi, *llvm.InstAlloca, *llvm.InstLoad:
		return nil, fixed
	case *llvm.InstStore:
		return nil, blocker
	case *llvm.InstCall:
		asm, ok := inst.Callee.(*llvm.InlineAsm)
		if !ok {
			return nil, blocker
		}
		row := rowOf[asm]
		switch e := row.Effects; {
		case isProduct(row):
			return row, fixed
		case e&^ptxop.ReadConst == 0:
			return row, pure
		case e&^(ptxop.ReadShared|ptxop.Convergent) == 0 && e&ptxop.ReadShared != 0:
			return row, reading
		case e&(ptxop.WriteGeneric|ptxop.Strong|ptxop.Fence|ptxop.Barrier|ptxop.Async|ptxop.Control) != 0:
			return row, blocker
		}
		return row, fixed
	}
	return nil, pure
}

// run gives the instructions of a block, by their number within it, in their new order. What has one user stands right in front of it; what
// has several stands in front of the first fixed instruction that any of them leads to, in the old order. Reads that nobody uses are left
// out.
func (s *sinker) run(first, next int32) []int32 {
	n := next - first
	uses := make([]int32, n) // how many
	root := make([]int32, n) // the fixed instruction in front of which it goes
	user := make([]int32, n) // the user whose root comes first
	for i := range n {
		root[i], user[i] = i, -1
	}
	front := make([]int32, n)  // the first that goes right in front of an instruction
	shared := make([]int32, n) // the first in front of a fixed instruction and all that goes there
	after := make([]int32, n)  // the one after it at the same place
	for i := range n {
		front[i], shared[i] = -1, -1
	}
	for i := n - 1; i >= 0; i-- {
		if u := user[i]; u >= 0 && (s.kinds[i] == pure || s.kinds[i] == reading && s.blockers[root[u]] == s.blockers[i]) {
			root[i] = root[u]
			first := &shared[root[i]]
			if uses[i] == 1 {
				first = &front[u]
			}
			after[i], *first = *first, i
		}
		if uses[i] == 0 && s.kinds[i] == reading {
			root[i] = -1 // nobody wants it
			continue
		}
		for _, o := range s.operands[first+i] {
			o -= first
			uses[o]++
			if user[o] < 0 || root[i] < root[user[o]] || root[i] == root[user[o]] && i < user[o] {
				user[o] = i
			}
		}
	}
	out := make([]int32, 0, n)
	var emit func(i int32)
	emit = func(i int32) {
		for _, first := range [2]int32{shared[i], front[i]} {
			for k := first; k >= 0; k = after[k] {
				emit(k)
			}
		}
		out = append(out, i)
	}
	for i := range n {
		if root[i] == i {
			emit(i)
		}
	}
	return out
}
