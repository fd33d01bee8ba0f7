package driver

import (
	"fmt"
	"strings"

	llvm "github.com/llir/llvm/ir"

	"tileiras/codegen/local"
	"tileiras/ir/budget"
)

// llvmText is a module as text. The printer of LLVM IR knows no context and takes half a second for a function of 100,000 instructions,
// so it prints functions with one block that stands for theirs, and what is in them is printed here.
func llvmText(m *llvm.Module, b *budget.Budget) string {
	number(m)
	stubs := map[*llvm.Func]string{}
	bodies := map[*llvm.Func][]*llvm.Block{}
	defer func() {
		for f, blocks := range bodies {
			f.Blocks = blocks
		}
	}()
	for i, f := range m.Funcs {
		if len(f.Blocks) == 0 {
			continue
		}
		stub := llvm.NewBlock(fmt.Sprintf("body.of.%d", i))
		stub.Term = llvm.NewUnreachable()
		stubs[f], bodies[f] = stub.LLString()+"\n", f.Blocks
		f.Blocks = []*llvm.Block{stub}
	}
	var out strings.Builder
	rest := m.String()
	for _, f := range m.Funcs {
		if stub, ok := stubs[f]; ok {
			before, after, _ := strings.Cut(rest, stub)
			out.WriteString(before)
			writeBlocks(&out, bodies[f], b)
			rest = after
		}
	}
	out.WriteString(rest)
	return out.String()
}

// number gives local values the numbers that the printer wants: code generation uses the place for its own.
func number(m *llvm.Module) {
	for _, f := range m.Funcs {
		local.Assign(f)
	}
}

// writeBlocks writes the blocks of a function as the printer of LLVM IR does.
func writeBlocks(out *strings.Builder, blocks []*llvm.Block, b *budget.Budget) {
	for i, block := range blocks {
		if i > 0 {
			out.WriteString("\n")
		}
		label, term, _ := strings.Cut((&llvm.Block{LocalIdent: block.LocalIdent, Term: block.Term}).LLString(), "\n")
		out.WriteString(label + "\n")
		for _, inst := range block.Insts {
			b.Step()
			out.WriteString("\t" + inst.LLString() + "\n")
		}
		out.WriteString(term + "\n")
	}
}
