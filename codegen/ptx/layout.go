package ptx

import (
	"fmt"

	"github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/metadata"

	"tileiras/codegen/ptxop"
)

// layout makes the machine blocks, in the order of the LLVM blocks without
// those that nothing reaches, connects them, and returns a reverse postorder.
func (s *selector) layout() ([]int, error) {
	postorder, err := s.postorder()
	if err != nil {
		return nil, err
	}
	reached := make(map[*ir.Block]bool, len(postorder))
	for _, b := range postorder {
		reached[b] = true
	}
	s.blocks = make(map[*ir.Block]int, len(postorder))
	for _, b := range s.src.Blocks {
		s.options.Budget.Step()
		if reached[b] {
			s.blocks[b] = len(s.llvm)
			s.llvm = append(s.llvm, b)
			name := ""
			if !b.IsUnnamed() {
				name = b.LocalName
			}
			s.f.blocks = append(s.f.blocks, &block{name: name})
		}
	}
	if len(s.llvm) != len(postorder) {
		return nil, fmt.Errorf("@%s: malformed function: a branch to a block of another function", s.src.Name())
	}
	s.connect()
	order := make([]int, len(postorder))
	for i, b := range postorder {
		order[len(order)-1-i] = s.blocks[b]
	}
	return order, nil
}

// postorder lists the LLVM blocks that the entry reaches. The stack is its own:
// the depth of the graph is the input's affair.
func (s *selector) postorder() ([]*ir.Block, error) {
	type frame struct {
		b    *ir.Block
		next int
	}
	entry := s.src.Blocks[0]
	reached := map[*ir.Block]bool{entry: true}
	stack := []frame{{b: entry}}
	var list []*ir.Block
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		succs, err := successors(top.b)
		if err != nil {
			return nil, fmt.Errorf("@%s, block %s: %w", s.src.Name(), top.b.Name(), err)
		}
		if top.next == len(succs) {
			list = append(list, top.b)
			stack = stack[:len(stack)-1]
			continue
		}
		s.options.Budget.Step()
		to := succs[top.next]
		top.next++
		if !reached[to] {
			reached[to] = true
			stack = append(stack, frame{b: to})
		}
	}
	return list, nil
}

// connect sets the edges between machine blocks, and marks the headers of loops
// that must not be unrolled.
func (s *selector) connect() {
	for at, b := range s.llvm {
		s.options.Budget.Step()
		succs, _ := successors(b)
		for _, to := range succs {
			n := s.blocks[to]
			s.f.blocks[at].succs = append(s.f.blocks[at].succs, n)
			s.f.blocks[n].preds = append(s.f.blocks[n].preds, at)
		}
		if m, ok := b.Term.(interface {
			MDAttachments() []*metadata.Attachment
		}); ok && forbidsUnrolling(m.MDAttachments()) {
			for _, n := range s.f.blocks[at].succs {
				if n <= at { // the back edge leads to the header
					s.f.blocks[n].nounroll = true
				}
			}
		}
	}
}

// successors returns the blocks to which a terminator may go, each once.
func successors(b *ir.Block) ([]*ir.Block, error) {
	switch t := b.Term.(type) {
	case *ir.TermRet, *ir.TermUnreachable:
		return nil, nil
	case *ir.TermBr:
		if to, ok := t.Target.(*ir.Block); ok {
			return []*ir.Block{to}, nil
		}
	case *ir.TermCondBr:
		yes, ok := t.TargetTrue.(*ir.Block)
		no, ok2 := t.TargetFalse.(*ir.Block)
		if ok && ok2 && yes == no {
			return []*ir.Block{yes}, nil
		}
		if ok && ok2 {
			return []*ir.Block{yes, no}, nil
		}
	case nil:
		return nil, fmt.Errorf("malformed block: no terminator")
	default:
		return nil, fmt.Errorf("not supported: %s", t.LLString())
	}
	return nil, fmt.Errorf("malformed terminator")
}

// forbidsUnrolling looks for LLVM's loop metadata
// !llvm.loop !{self, !{!"llvm.loop.unroll.disable"}}.
func forbidsUnrolling(list []*metadata.Attachment) bool {
	for _, a := range list {
		node, ok := a.Node.(*metadata.Tuple)
		if a.Name != ptxop.Loop || !ok {
			continue
		}
		for _, field := range node.Fields {
			property, ok := field.(*metadata.Tuple)
			if !ok || property == node {
				continue
			}
			for _, f := range property.Fields {
				if text, ok := f.(*metadata.String); ok && text.Value == ptxop.UnrollDisable {
					return true
				}
			}
		}
	}
	return false
}
