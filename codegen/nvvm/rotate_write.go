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

// mover is the work on one loop.
type mover struct {
	*rotation
	f       *fn
	out     []llvm.Instruction
	done    []bool          // instructions that are in out
	ready   []bool          // whose operands have been read
	instead []value.Value   // of the results of reads: phis
	phis    []*llvm.InstPhi // these, by kept
}

// enter writes the beginning of the first iteration to a block before the loop, and makes the phis of what it reads.
func (m *mover) enter() {
	var before *llvm.Block
	pre := llvm.NewBlock("")
	pre.Parent = m.f.fn
	c := &copier{mover: m, with: make([]value.Value, len(m.here)), all: true}
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
	for _, i := range slices.Concat(m.gate, m.copies[:m.hurried], m.reads, m.kept) {
		c.copy(i)
	}
	pre.Insts, m.out = slices.Clone(m.out), m.out[:0]
	for _, i := range m.kept {
		v, _ := local.Value(m.inst(i))
		phi := m.f.join(v.Type())
		m.f.comes(phi, c.with[i], pre)
		m.instead[i], m.phis = phi, append(m.phis, phi)
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

// body writes the loop: all steps but the last, with each read a step before its product; the beginning of the next iteration; the last
// step, with copies between its products.
func (m *mover) body() {
	for _, i := range m.order {
		if m.here[i].phi {
			m.out = append(m.out, m.inst(i))
		}
	}
	for _, p := range m.phis {
		m.out = append(m.out, p)
	}
	phis := len(m.out)
	m.early()

	back := m.block.Term.(*llvm.TermCondBr)
	more := m.value(back.Cond)
	c := &copier{mover: m, with: make([]value.Value, len(m.here)), guards: map[value.Value]value.Value{}, more: more}
	for _, i := range m.order {
		if phi, ok := m.inst(i).(*llvm.InstPhi); ok {
			c.with[i] = m.incoming(phi)
		}
	}
	first := slices.Concat(m.gate, m.reads)
	if planted.On("read-before-gate") {
		first = slices.Concat(m.reads, m.gate)
	}
	for _, i := range first {
		c.copy(i)
	}
	last := m.products[m.end:]
	until := len(last) / served
	turn, computed := spread(m.copies[:m.hurried], len(last)), spread(m.kept, len(last)-until)
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
	for k, i := range m.kept {
		m.f.comes(m.phis[k], c.with[i], m.block)
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

// served is the part of a step in which what is read at its beginning comes.
const served = 8

// early writes what is neither in the beginning nor late.
func (m *mover) early() {
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
			for p := k - 1; p >= m.chain[k] && m.at[p] >= m.at[k]-1; p-- {
				if m.at[p] == m.at[k]-1 {
					step++
				}
			}
			to := max(k-step, m.chain[k], barrier)
			wanted[to] = append(wanted[to], i)
		}
	}
	k = 0
	next := m.computedNext()
	for _, i := range m.order {
		switch {
		case m.moved[i] || m.here[i].phi:
		case k < len(m.products) && i == m.products[k]:
			for _, read := range wanted[k] {
				m.emit(read)
			}
			if k == m.after {
				for _, begun := range m.copies[m.hurried:] {
					m.emit(begun)
				}
			}
			if !m.late[i] {
				m.emit(i)
			}
			for _, o := range next[k] {
				if m.read(o) {
					m.emit(o)
				}
			}
			k++
		case m.late[i]:
		case m.packs[i]:
			m.pack(i)
		case !m.is(i, pure):
			m.emit(i)
		}
	}
}

// computedNext is what is computed behind each product for those of the next step, in front of which all of it would stand otherwise: evenly, but for the first
// products of a step, under which reads are served.
func (m *mover) computedNext() [][]int32 {
	behind, seen := make([][]int32, len(m.products)), make([]bool, len(m.here))
	end := func(from int) (to int) { // of a step
		for to = from; to < len(m.at) && m.at[to] == m.at[from] && m.chain[to] == m.chain[from]; {
			to++
		}
		return to
	}
	for from := 0; from < len(m.products); {
		to := end(from)
		if to < len(m.products) && m.chain[to] == m.chain[from] {
			var list []int32
			for _, p := range m.products[to:end(to)] {
				m.each(p, func(o int32) {
					if !seen[o] && m.is(o, pure) && !m.late[o] {
						seen[o], list = true, append(list, o)
					}
				})
			}
			n := to - from
			n -= n / served
			copy(behind[to-n:], spread(list, n))
		}
		from = to
	}
	return behind
}

// read reports whether everything has been read that an instruction is computed from. It looks at each once until it is so.
func (m *mover) read(i int32) bool {
	if m.done[i] || m.ready[i] || m.here[i].phi {
		return true
	}
	m.ready[i] = m.is(i, pure) && !m.takes(i, func(o int32) bool { return !m.read(o) })
	return m.ready[i]
}

// pack writes an instruction that frees registers, after the others that take its operands.
func (m *mover) pack(i int32) {
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

// room is the number of products, but those of the last step, that copies may pass.
func (r *rotation) room() int {
	k := 0
	for _, i := range r.order {
		switch {
		case r.moved[i] || r.here[i].phi:
		case k == r.end || r.is(i, blocker) || r.is(i, fixed) && i != r.products[k]:
			return k
		case i == r.products[k]:
			k++
		}
	}
	return k
}

// spread distributes copies evenly over so many turns.
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
func (m *mover) replaced(v value.Value) value.Value {
	if n, ok := m.local(v); ok && m.instead[n] != nil {
		return m.instead[n]
	}
	return v
}

// value is a value after everything that computes it.
func (m *mover) value(v value.Value) value.Value {
	v = m.replaced(v)
	if n, ok := m.local(v); ok {
		m.emit(n)
	}
	return v
}

// emit writes an instruction after those that it takes.
func (m *mover) emit(i int32) {
	if m.done[i] || m.here[i].phi {
		return
	}
	m.f.budget.Step()
	m.done[i] = true
	operands, replaced := m.here[i].takes, false
	for _, o := range operands {
		switch {
		case o < 0:
		case m.instead[o] != nil:
			replaced = true
		default:
			m.emit(o)
		}
	}
	if replaced {
		var few [16]*value.Value
		for k, x := range local.AppendOperands(few[:0], m.inst(i)) {
			if o := operands[k]; o >= 0 && m.instead[o] != nil {
				*x = m.instead[o]
			}
		}
	}
	m.out = append(m.out, m.inst(i))
}

// copier writes instructions of the loop as they are in another iteration, with other values.
type copier struct {
	*mover
	with []value.Value // of the phis and of what was copied
	all  bool          // also what is the same in every iteration
	more value.Value   // guards of copies hold only with it; nil is true

	guards map[value.Value]value.Value // with it
}

// value is what stands for an instruction of the loop.
func (c *copier) value(i int32) value.Value {
	w := c.with[i]
	switch {
	case w == nil:
		return c.copy(i)
	case c.all:
		return w
	}
	return c.mover.value(w)
}

// copy writes an instruction and what it takes. It gives the value.
func (c *copier) copy(i int32) value.Value {
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

// guard makes a condition hold only if there is a next iteration.
func (c *copier) guard(x *value.Value) {
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
