package ptx

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tileiras/codegen/ptxop"
)

// A random program of phis, adds, comparisons, loads, guarded loads with fallbacks and
// stores, executed before and after destruct: the stored values must be equal.

// machine executes the few rows that random programs use.
type machine struct {
	f     *function
	regs  []int32
	word  int32
	trace []int32
}

func (m *machine) value(o operand) int32 {
	if o.kind == kindReg {
		return m.regs[o.reg]
	}
	return int32(o.bits)
}

// run follows the blocks until ret or until `steps` stores (every random block
// stores something), and returns what was stored.
func run(f *function, steps int) []int32 {
	m := &machine{f: f, regs: make([]int32, len(f.regs))}
	at, from := 0, -1
	for len(m.trace) < steps {
		b := f.blocks[at]
		values := make([]int32, len(b.phis))
		for i, p := range b.phis {
			values[i] = m.value(p.args[slices.Index(b.preds, from)])
		}
		for i, p := range b.phis {
			m.regs[p.dst] = values[i]
		}
		for i := range b.insts {
			m.step(&b.insts[i])
		}
		from = at
		switch b.term {
		case termRet:
			return m.trace
		case termBranch:
			at = b.succs[0]
		case termCond:
			if (m.regs[b.cond.reg] != 0) != b.cond.not {
				at = b.succs[0]
			} else {
				at = b.succs[1]
			}
		}
	}
	return m.trace
}

func (m *machine) step(in *inst) {
	v := func(i int) int32 { return m.value(in.ops[i]) }
	switch in.row.Name {
	case "add.s32":
		m.regs[in.ops[0].reg] = v(1) + v(2)
	case "mov.b32", "mov.pred":
		m.regs[in.ops[0].reg] = v(1)
	case "setp.lt.s32":
		m.regs[in.ops[0].reg] = 0
		if v(1) < v(2) {
			m.regs[in.ops[0].reg] = 1
		}
	case "@ld.shared.v2.b32": // results, guard, fallbacks, base, offset
		a, b := v(5)*7+1, v(5)*11+2
		if v(2) == 0 {
			// In SSA form the fallbacks are arguments; afterwards they must sit in
			// the registers of the results.
			a, b = v(3), v(4)
		}
		m.regs[in.ops[0].reg], m.regs[in.ops[1].reg] = a, b
	case "ld.shared.b32": // all memory is one word
		m.regs[in.ops[0].reg] = m.word + v(1)
	case "st.shared.b32":
		m.word = v(2)
		m.trace = append(m.trace, v(2))
	default:
		panic("machine: no " + in.row.Name)
	}
}

// afterDestruct checks that tied arguments sit in the registers of their results
// and that nothing of SSA form is left.
func afterDestruct(f *function) error {
	for n, b := range f.blocks {
		if len(b.phis)+len(b.moves) > 0 {
			return fmt.Errorf("block %d still has phis or moves", n)
		}
		for i := range b.insts {
			in := &b.insts[i]
			for k := in.row.Results; k < len(in.ops); k++ {
				o := in.row.Operands[k]
				if o.Kind != ptxop.Tied {
					continue
				}
				// Constants stay in the operand; the printer shows the result's register.
				if in.ops[k].kind == kindReg && in.ops[k].reg != in.ops[o.Def].reg && !movedInto(b.insts[:i], in.ops[o.Def].reg) {
					return fmt.Errorf("block %d: %s: the fallback is not in the result's register", n, in.row.Name)
				}
			}
		}
	}
	return nil
}

func movedInto(before []inst, r reg) bool {
	for i := len(before) - 1; i >= 0 && (before[i].row.Name == "mov.b32" || before[i].row.Name == "mov.pred"); i-- {
		if before[i].ops[0].reg == r {
			return true
		}
	}
	return false
}

// settle makes the machine read fallbacks from the registers of the results, as
// the hardware does.
func settle(f *function) {
	for _, b := range f.blocks {
		for i := range b.insts {
			in := &b.insts[i]
			for k := in.row.Results; k < len(in.ops); k++ {
				if o := in.row.Operands[k]; o.Kind == ptxop.Tied {
					in.ops[k] = in.ops[o.Def]
				}
			}
		}
	}
}

// randomFunction makes a function in SSA form whose uses are dominated by their
// definitions; nil when a block came out that nothing reaches, which Emit never
// makes either.
func randomFunction(r *rand.Rand) *function {
	f := &function{name: "random", regs: make([]regInfo, 1)}
	n := &natives{}
	blocks := 2 + r.IntN(7)
	for range blocks {
		f.blocks = append(f.blocks, &block{})
	}
	for at, b := range f.blocks {
		x, y := 1+r.IntN(blocks-1), 1+r.IntN(blocks-1)
		switch k := r.IntN(10); {
		case k == 0 && at > 0:
			b.term = termRet
		case k < 5 || x == y:
			b.term, b.succs = termBranch, []int{x}
		default:
			b.term, b.succs = termCond, []int{x, y}
		}
		for _, s := range b.succs {
			f.blocks[s].preds = append(f.blocks[s].preds, at)
		}
	}
	if !reachable(f) {
		return nil
	}
	dom := dominators(f)

	ints := make([][]reg, blocks) // values defined in a block
	preds := make([][]reg, blocks)
	seen := func(defs [][]reg, at int) []reg {
		var all []reg
		for d := range blocks {
			if dom[at]&(1<<d) != 0 {
				all = append(all, defs[d]...)
			}
		}
		return all
	}
	visible := func(at int) []reg { return seen(ints, at) }
	pick := func(from []reg) operand {
		if len(from) == 0 || r.IntN(6) == 0 {
			return ofBits(int64(r.IntN(10)))
		}
		return ofReg(from[r.IntN(len(from))])
	}
	define := func(at int) reg {
		d := f.newReg(ptxop.B32)
		ints[at] = append(ints[at], d)
		return d
	}
	for at, b := range f.blocks {
		if len(b.preds) > 0 {
			for range r.IntN(9) {
				b.phis = append(b.phis, phi{dst: define(at), args: make([]operand, len(b.preds))})
			}
			for range r.IntN(2) {
				p := f.newReg(ptxop.Pred)
				preds[at] = append(preds[at], p)
				b.phis = append(b.phis, phi{dst: p, args: make([]operand, len(b.preds))})
			}
		}
	}
	// Blocks in an order in which dominators come first.
	order := make([]int, 0, blocks)
	for len(order) < blocks {
		for at := range blocks {
			ready := !slices.Contains(order, at)
			for d := range blocks {
				if d != at && dom[at]&(1<<d) != 0 && !slices.Contains(order, d) {
					ready = false
				}
			}
			if ready {
				order = append(order, at)
			}
		}
	}
	for _, at := range order {
		b := f.blocks[at]
		emit := func(row *ptxop.Row, ops ...operand) { b.insts = append(b.insts, inst{row: row, ops: ops}) }
		compare := func() reg {
			p := f.newReg(ptxop.Pred)
			emit(ptxop.Must("setp.lt.s32"), ofReg(p), pick(visible(at)), pick(visible(at)))
			preds[at] = append(preds[at], p)
			all := seen(preds, at)
			return all[r.IntN(len(all))]
		}
		for range r.IntN(9) {
			switch r.IntN(5) {
			case 0:
				emit(ptxop.Must("st.shared.b32"), ofBits(0), ofBits(0), pick(visible(at)))
			case 2:
				base := pick(visible(at))
				emit(ptxop.Must("ld.shared.b32"), ofReg(define(at)), base, ofBits(0))
			case 1:
				p := compare()
				base, x, y := pick(visible(at)), pick(visible(at)), pick(visible(at))
				d, e := define(at), define(at)
				emit(ptxop.Must("@ld.shared.v2.b32"), ofReg(d), ofReg(e), ofReg(p), x, y, base, ofBits(0))
			default:
				x, y := pick(visible(at)), pick(visible(at))
				emit(n.get(opAdd, tS32), ofReg(define(at)), x, y)
			}
		}
		if b.term == termCond {
			b.cond = ofReg(compare())
		}
		emit(ptxop.Must("st.shared.b32"), ofBits(0), ofBits(0), pick(visible(at)))
	}
	for _, b := range f.blocks {
		for _, p := range b.phis {
			for i, from := range b.preds {
				if f.regs[p.dst].typ == ptxop.Pred {
					p.args[i] = ofBits(int64(r.IntN(2)))
					if all := seen(preds, from); len(all) > 0 {
						p.args[i] = ofReg(all[r.IntN(len(all))])
					}
					continue
				}
				p.args[i] = pick(visible(from))
			}
		}
	}
	return f
}

// dominators returns for each block the set of blocks that dominate it.
func dominators(f *function) []uint64 {
	dom := make([]uint64, len(f.blocks))
	for i := range dom {
		dom[i] = 1<<len(f.blocks) - 1
	}
	dom[0] = 1
	for changed := true; changed; {
		changed = false
		for at := 1; at < len(f.blocks); at++ {
			all := uint64(1<<len(f.blocks) - 1)
			for _, p := range f.blocks[at].preds {
				all &= dom[p]
			}
			if all |= 1 << at; all != dom[at] {
				dom[at], changed = all, true
			}
		}
	}
	return dom
}

// reachable reports whether every block can be reached.
func reachable(f *function) bool {
	seen := map[int]bool{0: true}
	work := []int{0}
	for len(work) > 0 {
		at := work[0]
		work = work[1:]
		for _, s := range f.blocks[at].succs {
			if !seen[s] {
				seen[s] = true
				work = append(work, s)
			}
		}
	}
	return len(seen) == len(f.blocks)
}

func TestDestructKeepsTheMeaningOfRandomPrograms(t *testing.T) {
	const steps = 60
	tried, loops, stores := 0, 0, 0
	for seed := uint64(0); tried < 3000; seed++ {
		f := randomFunction(rand.New(rand.NewPCG(seed, 1)))
		if f == nil {
			continue
		}
		tried++
		want := run(f, steps)
		text := fmt.Sprint(describe(f))
		if err := f.destruct(int(seed%2) * enoughRegisters); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := afterDestruct(f); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		settle(f)
		got := run(f, steps)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: stored %v, want %v\n%s", seed, got, want, text)
		}
		stores += len(want)
		if len(want) > 20 {
			loops++
		}
	}
	if loops < 100 || stores < 10000 {
		t.Errorf("the programs are too tame: %d run long, %d stores", loops, stores)
	}
}

func describe(f *function) string {
	out := ""
	for n, b := range f.blocks {
		out += fmt.Sprintf("block %d preds %v succs %v cond %v\n", n, b.preds, b.succs, b.cond.reg)
		for _, p := range b.phis {
			out += fmt.Sprintf("  %d = phi %v\n", p.dst, p.args)
		}
		for _, in := range b.insts {
			out += fmt.Sprintf("  %s %v\n", in.row.Name, in.ops)
		}
	}
	return out
}
