package ir

// NeededIn is the set of values on which depend, of a loop, whether it goes on, the effects inside it and those of its results that are used: what
// aggressive dead code elimination marks (Cytron et al., "Efficiently Computing Static Single Assignment Form and the Control Dependence Graph", 1991, section
// 7.1). All other values inside it are dead, its carried ones among them, even if they need each other.
func NeededIn(loop Flow) map[*Value]bool {
	m := marker{inside: map[*Op]bool{}, live: map[*Op]bool{}, needed: map[*Value]bool{}}
	Walk(loop.Op, PreOrder, func(op *Op) { m.inside[op] = true })
	m.op(loop.Op)
	Walk(loop.Op, PreOrder, func(op *Op) {
		if f := op.Def.Flow.Kind; f == LoopFlow || f == ReturnFlow || f == NoFlow && !op.Traits().Has(Pure) {
			m.op(op)
		}
	})
	for _, r := range loop.Op.Results() {
		if r.HasUses() {
			m.origin(r)
		}
	}
	for len(m.list) > 0 {
		v := m.list[len(m.list)-1]
		m.list = m.list[:len(m.list)-1]
		m.origin(v)
	}
	return m.needed
}

type marker struct {
	inside map[*Op]bool // ops of the loop
	live   map[*Op]bool // those of them that run for a reason
	needed map[*Value]bool
	list   []*Value // needed, where they come from not looked at
	phis   Phis
}

// op marks an op, what it needs to run and to compute, and that it is reached. What flows through its regions is marked value by value.
func (m *marker) op(op *Op) {
	if !m.inside[op] || m.live[op] {
		return
	}
	m.live[op] = true
	m.op(op.ParentOp())
	f, ok := FlowOf(op)
	if !ok || f.Kind == CombineFlow {
		Walk(op, PreOrder, func(o *Op) { m.values(o.Operands()) })
		return
	}
	for i, v := range op.Operands() {
		if !f.Kind.IsLoop() {
			m.value(v)
		} else if _, init := f.InitIndex(i); !init {
			m.value(v)
		}
	}
	if f.Kind.IsLoop() {
		for _, end := range f.Terminators(ContinueFlow, BreakFlow) {
			m.op(end.ParentOp())
		}
	}
}

func (m *marker) value(v *Value) {
	if !m.needed[v] {
		m.needed[v] = true
		m.list = append(m.list, v)
	}
}

func (m *marker) values(vs []*Value) {
	for _, v := range vs {
		m.value(v)
	}
}

// origin marks what makes a value.
func (m *marker) origin(v *Value) {
	op := v.DefiningOp()
	if v.IsArg() {
		op = v.Block().ParentOp()
	}
	if !m.inside[op] {
		return
	}
	m.op(op)
	if incoming, ok := m.phis.Incoming(v); ok {
		m.values(incoming)
	}
}
