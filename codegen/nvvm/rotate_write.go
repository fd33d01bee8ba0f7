package nvvm

import (
	"reflect"
	"slices"

	llvm "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/value"

	"tileiras/codegen/local"
	"tileiras/codegen/planted"
	"tileiras/codegen/ptxop"
)

// This file writes a rotated loop.

// rotationWriter writes one rotated loop.
type rotationWriter struct {
	*rotation
	f      *fn
	out    []llvm.Instruction
	done   []bool          // instructions that are in out
	ready  []bool          // instructions whose reads have been written, see operandsRead
	phiFor []value.Value   // by instruction: the phi that replaces it in the loop; nil for most
	phis   []*llvm.InstPhi // those phis, in the order of carried
}

// writePrologue writes the head of the first iteration to a block in front of the loop, and makes the phis of what it reads.
func (m *rotationWriter) writePrologue() {
	var before *llvm.Block
	pre := llvm.NewBlock("")
	pre.Parent = m.f.fn
	c := &iterationCopier{rotationWriter: m, with: make([]value.Value, len(m.here)), all: true}
	for _, i := range m.order {
		phi, ok := m.inst(i).(*llvm.InstPhi)
		if !ok {
			continue
		}
		for _, in := range phi.Incs {
			if in.Pred != m.block {
				before = in.Pred.(*llvm.Block)
				c.with[i] = in.X
				in.Pred = pre
			}
		}
	}
	for _, i := range slices.Concat(m.gate, m.copies[:m.earlyCopies], m.reads, m.carried) {
		c.copy(i)
	}
	pre.Insts, m.out = slices.Clone(m.out), m.out[:0]
	for _, i := range m.carried {
		v, _ := local.Value(m.inst(i))
		phi := m.f.detachedPhi(v.Type())
		m.f.addIncoming(phi, c.with[i], pre)
		m.phiFor[i], m.phis = phi, append(m.phis, phi)
	}
	to := llvm.NewBr(m.block)
	to.Metadata = append(to.Metadata, note(ptxop.Uniform))
	pre.Term = to
	switch t := before.Term.(type) {
	case *llvm.TermBr:
		t.Target, t.Successors = pre, nil
	case *llvm.TermCondBr:
		if t.TargetTrue == m.block {
			t.TargetTrue = pre
		} else {
			t.TargetFalse = pre
		}
		t.Successors = nil
	}
	at := slices.Index(m.f.fn.Blocks, m.block)
	m.f.fn.Blocks = slices.Insert(m.f.fn.Blocks, at, pre)
}

// writeBody writes the loop: all steps but the last, with each read a step before its product; the head of the next iteration; the last
// step, with copies between its products.
func (m *rotationWriter) writeBody() {
	for _, i := range m.order {
		if m.here[i].phi {
			m.out = append(m.out, m.inst(i))
		}
	}
	for _, p := range m.phis {
		m.out = append(m.out, p)
	}
	phis := len(m.out)
	m.writeEarlySteps()

	back := m.block.Term.(*llvm.TermCondBr)
	more := m.value(back.Cond)
	c := &iterationCopier{rotationWriter: m, with: make([]value.Value, len(m.here)), guards: map[value.Value]value.Value{}, more: more}
	for _, i := range m.order {
		if phi, ok := m.inst(i).(*llvm.InstPhi); ok {
			c.with[i] = m.backEdgeValue(phi)
		}
	}
	first := slices.Concat(m.gate, m.reads)
	if planted.On("read-before-gate") {
		first = slices.Concat(m.reads, m.gate)
	}
	for _, i := range first {
		c.copy(i)
	}
	last := m.products[m.lastBegin:]
	until := len(last) / readLatencyPart
	turn, computed := spread(m.copies[:m.earlyCopies], len(last)), spread(m.carried, len(last)-until)
	for k, p := range last {
		for _, i := range turn[k] {
			c.copy(i)
		}
		m.emit(p)
		if k >= until {
			for _, i := range computed[k-until] {
				c.copy(i)
			}
		}
	}
	for k, i := range m.carried {
		m.f.addIncoming(m.phis[k], c.with[i], m.block)
	}
	for _, i := range m.order {
		if m.here[i].pinned && !m.here[i].phi {
			m.emit(i)
		}
	}
	for _, inst := range m.out[:phis] {
		for _, in := range inst.(*llvm.InstPhi).Incs {
			if in.Pred == m.block {
				in.X = m.replaced(in.X)
			}
		}
	}
	m.block.Insts = m.out
}

// readLatencyPart is the part of a step, one in so many of its products, during which the reads at its start return.
const readLatencyPart = 8

// writeEarlySteps writes what belongs neither to the head nor to the last step.
func (m *rotationWriter) writeEarlySteps() {
	// Where each read goes: so many products stand before it.
	wanted := make([][]int32, len(m.products)+1)
	k, passed := 0, len(m.gate)+len(m.copies)
	barrier := 0 // products before the last blocker
	for _, i := range m.order {
		switch {
		case m.moved[i] || m.here[i].phi:
		case k < len(m.products) && i == m.products[k]:
			k++
		case m.is(i, blocker):
			passed++
			barrier = k
		case m.is(i, reading) && k < len(m.products) && m.blockers[i] == passed:
			step := 0 // products of the step before
			for p := k - 1; p >= m.chainStart[k] && m.step[p] >= m.step[k]-1; p-- {
				if m.step[p] == m.step[k]-1 {
					step++
				}
			}
			to := max(k-step, m.chainStart[k], barrier)
			wanted[to] = append(wanted[to], i)
		}
	}
	k = 0
	next := m.nextStepOperands()
	for _, i := range m.order {
		switch {
		case m.moved[i] || m.here[i].phi:
		case k < len(m.products) && i == m.products[k]:
			for _, read := range wanted[k] {
				m.emit(read)
			}
			if k == m.lateCopiesAt {
				for _, begun := range m.copies[m.earlyCopies:] {
					m.emit(begun)
				}
			}
			if !m.late[i] {
				m.emit(i)
			}
			for _, o := range next[k] {
				if m.operandsRead(o) {
					m.emit(o)
				}
			}
			k++
		case m.late[i]:
		case m.packs[i]:
			m.emitPack(i)
		case !m.is(i, pure):
			m.emit(i)
		}
	}
}

// nextStepOperands lists, for each product, the operands of the next step that are computed behind it; otherwise all of them would stand in
// front of that step. They are spread evenly, but for the first products of a step, which cover the latency of reads.
func (m *rotationWriter) nextStepOperands() [][]int32 {
	behind, seen := make([][]int32, len(m.products)), make([]bool, len(m.here))
	end := func(from int) (to int) { // of a step
		for to = from; to < len(m.step) && m.step[to] == m.step[from] && m.chainStart[to] == m.chainStart[from]; {
			to++
		}
		return to
	}
	for from := 0; from < len(m.products); {
		to := end(from)
		if to < len(m.products) && m.chainStart[to] == m.chainStart[from] {
			var list []int32
			for _, p := range m.products[to:end(to)] {
				m.each(p, func(o int32) {
					if !seen[o] && m.is(o, pure) && !m.late[o] {
						seen[o], list = true, append(list, o)
					}
				})
			}
			n := to - from
			n -= n / readLatencyPart
			copy(behind[to-n:], spread(list, n))
		}
		from = to
	}
	return behind
}

// operandsRead reports whether every read that an instruction depends on has been written.
func (m *rotationWriter) operandsRead(i int32) bool {
	if m.done[i] || m.ready[i] || m.here[i].phi {
		return true
	}
	m.ready[i] = m.is(i, pure) && !m.takes(i, func(o int32) bool { return !m.operandsRead(o) })
	return m.ready[i]
}

// emitPack writes an instruction that frees registers, after the other users of its operands.
func (m *rotationWriter) emitPack(i int32) {
	for _, o := range m.here[i].takes {
		if o < 0 {
			continue
		}
		if u := m.users[o][1]; u >= 0 && m.is(u, pure) && !m.late[u] && m.users[o][0] == i {
			m.emit(u)
		}
	}
	m.emit(i)
}

// productsToPass is the number of products, without those of the last step, that copies may be delayed past.
func (r *rotation) productsToPass() int {
	k := 0
	for _, i := range r.order {
		switch {
		case r.moved[i] || r.here[i].phi:
		case k == r.lastBegin || r.is(i, blocker) || r.is(i, fixed) && i != r.products[k]:
			return k
		case i == r.products[k]:
			k++
		}
	}
	return k
}

// spread distributes a list evenly over so many turns.
func spread(copies []int32, turns int) [][]int32 {
	out := make([][]int32, turns)
	from := 0
	for k := range out {
		to := from
		for to < len(copies) && to*turns/len(copies) == k {
			to++
		}
		out[k], from = copies[from:to], to
	}
	return out
}

// replaced is a value, or the phi that stands for it.
func (m *rotationWriter) replaced(v value.Value) value.Value {
	if n, ok := m.local(v); ok && m.phiFor[n] != nil {
		return m.phiFor[n]
	}
	return v
}

// value is a value, once everything that computes it is written.
func (m *rotationWriter) value(v value.Value) value.Value {
	v = m.replaced(v)
	if n, ok := m.local(v); ok {
		m.emit(n)
	}
	return v
}

// emit writes an instruction after its operands.
func (m *rotationWriter) emit(i int32) {
	if m.done[i] || m.here[i].phi {
		return
	}
	m.f.budget.Step()
	m.done[i] = true
	operands, replaced := m.here[i].takes, false
	for _, o := range operands {
		switch {
		case o < 0:
		case m.phiFor[o] != nil:
			replaced = true
		default:
			m.emit(o)
		}
	}
	if replaced {
		var few [16]*value.Value
		for k, x := range local.AppendOperands(few[:0], m.inst(i)) {
			if o := operands[k]; o >= 0 && m.phiFor[o] != nil {
				*x = m.phiFor[o]
			}
		}
	}
	m.out = append(m.out, m.inst(i))
}

// iterationCopier clones instructions of the loop for another iteration, whose values it has.
type iterationCopier struct {
	*rotationWriter
	with []value.Value // by instruction: its value in the other iteration; nil if not cloned yet
	all  bool          // clone loop-invariant instructions, too
	more value.Value   // ANDed to the predicates of copies; nil is true

	guards map[value.Value]value.Value // predicates ANDed with more
}

// value is the other iteration's value of an instruction.
func (c *iterationCopier) value(i int32) value.Value {
	w := c.with[i]
	switch {
	case w == nil:
		return c.copy(i)
	case c.all:
		return w
	}
	return c.rotationWriter.value(w)
}

// copy clones an instruction after its operands, and returns the value.
func (c *iterationCopier) copy(i int32) value.Value {
	c.f.budget.Step()
	if w := c.with[i]; w != nil {
		return w
	}
	inst := c.inst(i)
	other := c.all || c.moved[i]
	var few [16]*value.Value
	var there [16]value.Value
	with := there[:0]
	for _, x := range local.AppendOperands(few[:0], inst) {
		with = append(with, *x)
	}
	for k, o := range c.here[i].takes {
		if o >= 0 {
			v := with[k]
			with[k] = c.value(o)
			other = other || with[k] != v
		}
	}
	if !other {
		c.emit(i)
		old, _ := local.Value(inst)
		return old
	}
	if r := c.f.folded(inst, with); !r.absent() {
		c.with[i] = c.f.value(r)
		return c.with[i]
	}
	made := c.f.clone(inst)
	for k, x := range local.AppendOperands(few[:0], made) {
		*x = with[k]
	}
	if row := c.here[i].row; row != nil && row.GuardOperand >= 0 && c.more != nil {
		c.guard(&made.(*llvm.InstCall).Args[row.GuardOperand-row.Results])
	}
	c.out = append(c.out, made)
	w, _ := local.Value(made)
	c.with[i] = w
	return w
}

// guard makes a predicate false if there is no next iteration.
func (c *iterationCopier) guard(x *value.Value) {
	if planted.On("copy-after-last") {
		return
	}
	both, ok := c.guards[*x]
	if !ok {
		a := llvm.NewAnd(*x, c.more)
		c.out = append(c.out, a)
		both, c.guards[*x] = a, a
	}
	*x = both
}

// clone is an instruction with operands of its own.
func (b *builder) clone(inst llvm.Instruction) (made llvm.Instruction) {
	switch i := inst.(type) { // most are one of these
	case *llvm.InstCall:
		call := b.calls.One()
		*call = *i
		call.Args = b.arguments.Take(len(i.Args))
		copy(call.Args, i.Args)
		made = call
	case *llvm.InstExtractValue:
		part := b.extracts.One()
		*part = *i
		made = part
	case *llvm.InstAdd:
		made = same(i)
	case *llvm.InstAnd:
		made = same(i)
	case *llvm.InstShl:
		made = same(i)
	case *llvm.InstXor:
		made = same(i)
	case *llvm.InstMul:
		made = same(i)
	case *llvm.InstICmp:
		made = same(i)
	case *llvm.InstSelect:
		made = same(i)
	default:
		old := reflect.ValueOf(inst).Elem()
		copied := reflect.New(old.Type())
		copied.Elem().Set(old)
		made = copied.Interface().(llvm.Instruction)
	}
	local.Set(made, 0)
	return made
}

func same[T any](x *T) *T {
	y := *x
	return &y
}
