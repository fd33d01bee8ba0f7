package nvvm

import (
	"slices"
	"strings"

	llvm "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/types"
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
	s.link(f)
	for _, b := range slices.Clone(f.fn.Blocks) {
		f.budget.Step()
		next := s.first + int32(len(b.Insts))
		s.here = s.all[s.first:next]
		if slices.ContainsFunc(s.here, func(n node) bool { return n.product }) {
			s.classify()
			order := s.hoistPacks(s.run())
			if r := s.rotation(b, order); r == nil || !r.apply(f) {
				b.Insts = b.Insts[:len(order)]
				for k, i := range order {
					b.Insts[k] = s.here[i].Instruction
				}
			}
		}
		s.first = next
	}
	for _, x := range s.exits {
		x.block.Insts = insertBehindPhis(x.block.Insts, x.barrier)
	}
}

// newSinker numbers the instructions of a function.
func newSinker(f *fn, rowOf map[*llvm.InlineAsm]*ptxop.Row) *sinker {
	size := 0
	for _, b := range f.fn.Blocks {
		size += len(b.Insts)
	}
	s := &sinker{all: make([]node, size), pipelines: f.pipelines}
	k := 0
	for _, b := range f.fn.Blocks {
		for _, inst := range b.Insts {
			f.budget.Step()
			n := &s.all[k]
			k++
			n.Instruction = inst
			n.row, n.what = sinkingOf(inst, rowOf)
			n.product = isProduct(n.row)
			_, n.phi = inst.(*llvm.InstPhi)
			if v, ok := local.Value(inst); ok {
				n.words, n.bit = wordsOf(v.Type())
			}
			local.Set(inst, int32(k))
		}
	}
	return s
}

// wordsOf is the 32-bit registers of a value of a type, and whether it is a predicate.
func wordsOf(t types.Type) (words uint8, bit bool) {
	switch t := t.(type) {
	case *types.IntType:
		return uint8((t.BitSize + 31) / 32), t.BitSize == 1
	case *types.FloatType:
		if t.Kind == types.FloatKindDouble {
			return 2, false
		}
		return 1, false
	}
	return 0, false
}

// isProduct reports whether a PTX instruction is a matrix product.
func isProduct(row *ptxop.Row) bool { return row != nil && strings.HasPrefix(row.Name, "mma.") }

// link finds the operands of instructions as numbers, and who is used where it must not move: in another block, by a phi or by a
// terminator.
func (s *sinker) link(f *fn) {
	first := int32(0)
	var operands []*value.Value
	for _, b := range f.fn.Blocks {
		next := first + int32(len(b.Insts))
		for i, inst := range b.Insts {
			f.budget.Step()
			if phi, ok := inst.(*llvm.InstPhi); ok {
				for _, in := range phi.Incs {
					s.pin(in.X)
				}
				continue
			}
			operands = local.AppendOperands(operands[:0], inst)
			takes := s.room.Take(len(operands))
			for k, x := range operands {
				takes[k] = s.operand(*x, first, next)
			}
			s.all[first+int32(i)].takes = takes
		}
		for _, x := range b.Term.Operands() {
			s.pin(*x)
		}
		first = next
	}
}

// pin has a value stay where it is.
func (s *sinker) pin(v value.Value) {
	if n, ok := s.number(v); ok {
		s.all[n].pinned = true
	}
}

// operand is what an instruction of a block takes: what the block makes by its number within it, what other blocks make, which stays where it is, as
// elsewhere, and noInst for what no instruction makes.
func (s *sinker) operand(v value.Value, first, next int32) int32 {
	n, ok := s.number(v)
	switch {
	case !ok:
		return noInst
	case n < first || n >= next:
		s.all[n].pinned = true
		return elsewhere(n)
	}
	return n - first
}

const noInst = -1

// elsewhere is an instruction of another block as an operand, and that operand's instruction.
func elsewhere(n int32) int32 { return noInst - 1 - n }

// sinking is what may happen to an instruction.
type sinking uint8

const (
	fixed   sinking = iota
	pure            // may go anywhere before its users
	reading         // may not pass a blocker
	blocker         // fixed, and reads may not pass it
)

// node is an instruction.
type node struct {
	llvm.Instruction
	row     *ptxop.Row // the PTX instruction, nil of others
	takes   []int32    // operands, in the order of local.AppendOperands: see operand; a phi has none
	what    sinking    // as it is
	kind    sinking    // where it stands
	words   uint8      // 32-bit registers of the result
	bit     bool       // the result is a predicate
	pinned  bool       // the result is used where it must not move
	phi     bool
	product bool
}

// sinker knows all instructions of a function by their numbers, in order.
type sinker struct {
	all       []node
	room      local.Slab[int32] // of operands
	pipelines bool              // roles wait for each other
	exits     []exitBarrier     // of rotated loops

	// Of the block at hand, by number within it.
	first    int32 // number of the first instruction
	here     []node
	blockers []int      // blockers up to here
	users    [][2]int32 // the last user in the block and the one before it, each once, -1 for none
	packs    []bool     // moved up, see hoistPacks
}

// number is the number of a value that an instruction makes.
func (s *sinker) number(v value.Value) (n int32, ok bool) {
	n, ok = local.Number(v)
	return n - 1, ok && n > 0
}

// classify looks at the instructions of a block.
func (s *sinker) classify() {
	s.blockers = make([]int, len(s.here))
	passed := 0
	for i := range s.here {
		n := &s.here[i]
		n.kind = n.what
		if n.pinned && (n.kind == pure || n.kind == reading) {
			n.kind = fixed
		}
		if n.kind == blocker {
			passed++
		}
		s.blockers[i] = passed
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
		case e&^ptxop.ReadConst == 0, row.Name == electSync: // all of the warp is there in all of a block
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
func (s *sinker) run() []int32 {
	n := int32(len(s.here))
	type place struct {
		uses   int32 // how many
		root   int32 // the fixed instruction in front of which it goes
		user   int32 // the user whose root comes first
		front  int32 // the first that goes right in front of it
		shared int32 // the first in front of it, a fixed one, and all that goes there
		after  int32 // the one after it at the same place
	}
	at := make([]place, n)
	for i := range n {
		at[i] = place{root: i, user: -1, front: -1, shared: -1}
	}
	for i := n - 1; i >= 0; i-- {
		p, kind := &at[i], s.here[i].kind
		if u := p.user; u >= 0 && (kind == pure || kind == reading && s.blockers[at[u].root] == s.blockers[i]) {
			p.root = at[u].root
			first := &at[p.root].shared
			if p.uses == 1 {
				first = &at[u].front
			}
			p.after, *first = *first, i
		}
		if p.uses == 0 && kind == reading {
			p.root = -1 // nobody wants it
			continue
		}
		for _, o := range s.here[i].takes {
			if o < 0 {
				continue
			}
			x := &at[o]
			x.uses++
			if x.user < 0 || p.root < at[x.user].root || p.root == at[x.user].root && i < x.user {
				x.user = i
			}
		}
	}
	out := make([]int32, 0, n)
	var emit func(i int32)
	emit = func(i int32) {
		for k := at[i].shared; k >= 0; k = at[k].after {
			emit(k)
		}
		for k := at[i].front; k >= 0; k = at[k].after {
			emit(k)
		}
		out = append(out, i)
	}
	for i := range n {
		if at[i].root == i {
			emit(i)
		}
	}
	return out
}
