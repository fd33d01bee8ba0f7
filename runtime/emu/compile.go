package emu

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
)

func itoa(i int) string { return strconv.Itoa(i) }

// compiler decodes one entry and the functions that it calls into one program. Registers of every
// function get their own slots: there is no recursion.
type compiler struct {
	mod         *Module
	prog        *program
	fn          *function
	consts      map[uint64]opnd
	addrs       map[addrKey]opnd
	opIndex     map[string]int32
	starts      map[*function]int // place of the first instruction
	frame       map[*function]int // slot of the return address
	fixes       []fix
	active      []*variable // shared variables of the entry, in order
	vars        map[*variable]bool
	slots       map[regKey]int32
	unsupported []string
}

// regKey is a declared register: its declaration and its number in a range.
type regKey struct {
	decl *regDecl
	num  int32
}

type addrKey struct {
	v       *variable
	add     int64
	generic bool
}

// fix is a branch to be resolved when the pcs of all labels are known.
type fix struct {
	pc    int
	fn    *function
	label int       // index into the body, or
	call  *function // a function
	slot  *int32    // where the place goes; nil: the instruction's target
}

// Entry is a kernel of a module.
type Entry struct {
	Name    string
	Params  []Param
	ReqNTID [3]int // .reqntid, zeros when absent
	MaxNTID [3]int // .maxntid, zeros when absent: the product bounds the threads of a CTA, in any shape
	Cluster [3]int // .reqnctapercluster, zeros when absent
	// BlocksAreClusters: the grid of a launch counts clusters, not CTAs (section 11.4.3).
	BlocksAreClusters bool
	Shared            int  // bytes of static shared memory
	Local             int  // bytes of local memory of a thread
	Dynamic           bool // uses .extern .shared memory
	// Unsupported lists the instructions that would be reported if they were executed.
	Unsupported []string
	prog        *program
	mod         *Module
	fn          *function
	serialOnly  atomic.Bool // a launch in parts had to be repeated in one piece
	spare       sync.Pool   // CTAs of launches that have ended
}

// Param is a parameter of an entry: its place in the argument list, size and alignment in bytes.
type Param struct {
	Name        string
	Size, Align int
	offset      int
}

func newCompiler(m *Module) *compiler {
	c := &compiler{mod: m, prog: &program{agents: 1, visibilities: 1}, consts: map[uint64]opnd{}, addrs: map[addrKey]opnd{},
		opIndex: map[string]int32{}, starts: map[*function]int{}, frame: map[*function]int{},
		vars: map[*variable]bool{}, slots: map[regKey]int32{}}
	c.constant(0)
	return c
}

// malformed keeps the first malformed instruction of the text.
func (c *compiler) malformed(st *stmt, format string, args ...any) {
	e := &SyntaxError{c.mod.name, st.line, st.col, fmt.Sprintf(format, args...)}
	if old := c.mod.malformed; old == nil || e.Line < old.Line || e.Line == old.Line && e.Col < old.Col {
		c.mod.malformed = e
	}
}

// compileUncalled decodes a function that no entry calls, for its errors only.
func compileUncalled(m *Module, f *function) {
	c := newCompiler(m)
	c.fn = f
	c.callee(f)
	c.function(f)
}

func compileEntry(m *Module, f *function) *Entry {
	c := newCompiler(m)
	e := &Entry{Name: f.name, ReqNTID: f.reqntid, MaxNTID: f.maxntid, Cluster: f.cluster, BlocksAreClusters: f.clusters, prog: c.prog, mod: m, fn: f}
	off := 0
	for _, v := range f.params {
		off = alignUp(off, v.align)
		v.offset, v.bank = off, true
		e.Params = append(e.Params, Param{v.name, v.size, v.align, off})
		off += v.size
	}
	c.frame[f] = -1
	for _, c.fn = range calleesFirst(f, map[*function]bool{}, nil) {
		if c.fn != f {
			c.callee(c.fn)
		}
		c.function(c.fn)
		c.fn.compiled = true
	}
	c.prog.start = int32(c.starts[f])
	for _, x := range c.fixes {
		place := c.starts[x.call]
		if x.call == nil {
			place = x.fn.pcOf[x.label]
		}
		if x.slot != nil {
			*x.slot = int32(place)
		} else {
			c.prog.code[x.pc].target = int32(place)
		}
	}
	c.allocDynamicShared()
	allocate(c.prog)
	e.Shared, e.Local, e.Dynamic, e.Unsupported = c.prog.shared, c.prog.local, c.prog.dynamic, c.unsupported
	return e
}

func alignUp[T int | uint64](n, a T) T { return (n + a - 1) / a * a }

// function decodes the body of f after what is there already.
func (c *compiler) function(f *function) {
	c.starts[f] = len(c.prog.code)
	if !f.entry {
		for _, v := range f.params {
			c.allocVar(v)
		}
		for _, v := range f.rets {
			c.allocVar(v)
		}
	}
	f.pcOf = make([]int, len(f.body)+1)
	for i := range f.body {
		f.pcOf[i] = len(c.prog.code)
		if st := &f.body[i]; st.label == "" {
			c.decode(st)
		}
	}
	f.pcOf[len(f.body)] = len(c.prog.code)
	// A body that runs out ends like "ret".
	end := inst{guard: -1, kind: kBranch, branchKind: toCaller, line: int32(f.line), text: "ret", rule: ruleAny, op: c.opcode("ret")}
	end.flow = flowRet(c.frame[f])
	c.prog.code = append(c.prog.code, end)
}

// calleesFirst lists f and the functions that it calls, each after its callees. Of diverged lanes those at the lowest pc run
// first, so all return from a call before the caller continues.
func calleesFirst(f *function, seen map[*function]bool, list []*function) []*function {
	seen[f] = true
	for _, g := range f.callees {
		if !seen[g] {
			list = calleesFirst(g, seen, list)
		}
	}
	return append(list, f)
}

// branch registers a branch to a label of the current function, to be resolved by compileEntry.
func (c *compiler) branch(st *stmt, label string, slot *int32) bool {
	i, ok := st.scope.label(label)
	if ok {
		c.fixes = append(c.fixes, fix{pc: len(c.prog.code), fn: c.fn, label: i, slot: slot})
	}
	return ok
}

// callee gives the return-address slot of a function, and allocates its parameters.
func (c *compiler) callee(f *function) int {
	slot, ok := c.frame[f]
	if !ok {
		slot = c.prog.frames
		c.prog.frames++
		c.frame[f] = slot
		for _, v := range f.params {
			c.allocVar(v)
		}
		for _, v := range f.rets {
			c.allocVar(v)
		}
	}
	return slot
}

// constant gives a source that holds v in every lane.
func (c *compiler) constant(v uint64) opnd {
	o, ok := c.consts[v]
	if !ok {
		o = c.newConst(v)
		c.consts[v] = o
	}
	return o
}

func (c *compiler) newConst(v uint64) opnd {
	var x vec
	for i := range x {
		x[i] = v
	}
	c.prog.consts = append(c.prog.consts, x)
	return ^opnd(len(c.prog.consts) - 1)
}

// address gives a source that holds the address of a variable: in its own space, or generic.
func (c *compiler) address(v *variable, add int64, generic bool) opnd {
	k := addrKey{v, add, generic}
	if o, ok := c.addrs[k]; ok {
		return o
	}
	c.allocVar(v)
	var o opnd
	switch {
	case v.space == spGlobal || v.space == spConst || v.space == spShared:
		o = c.newConst(0)
		if generic {
			add += int64(windowOf(v.home()))
		}
		c.prog.relocs = append(c.prog.relocs, reloc{len(c.prog.consts) - 1, v, add})
	default:
		base := uint64(v.offset) + uint64(add)
		if generic {
			base += windowOf(v.home())
		}
		o = c.constant(base)
	}
	c.addrs[k] = o
	return o
}

// allocVar gives a shared or local variable its offset. .param variables of a body live in local memory.
func (c *compiler) allocVar(v *variable) {
	if c.vars[v] || v.space == spGlobal || v.space == spConst {
		return
	}
	c.vars[v] = true
	switch {
	case v.space == spShared && v.extern:
		c.prog.dynamic = true
		c.active = append(c.active, v)
	case v.space == spShared:
		c.prog.shared = alignUp(c.prog.shared, v.align)
		v.offset = c.prog.shared
		c.prog.shared += v.size
	case v.home() == spLocal:
		c.prog.local = alignUp(c.prog.local, v.align)
		v.offset = c.prog.local
		c.prog.local += v.size
	}
}

// allocDynamicShared puts .extern .shared arrays after all static ones.
func (c *compiler) allocDynamicShared() {
	c.prog.dynBase = alignUp(c.prog.shared, 16)
	for _, v := range c.active {
		v.offset = alignUp(c.prog.shared, max(16, v.align))
		c.prog.dynBase = max(c.prog.dynBase, v.offset)
	}
	// All addresses in shared memory are known now, but for the rank of the CTA.
	for _, r := range c.prog.relocs {
		if r.v.space == spShared {
			for i := range c.prog.consts[r.index] {
				c.prog.consts[r.index][i] = uint64(r.v.offset) + uint64(r.add)
			}
		}
	}
}

// register finds the slot of a register that is no predicate.
func (c *compiler) register(sc *scope, name string) (opnd, typ, bool) {
	d, num, ok := sc.reg(name)
	if !ok {
		return 0, typ{}, false
	}
	if d.typ.cls == clsPred {
		return 0, d.typ, true
	}
	k := regKey{d, num}
	slot, ok := c.slots[k]
	if !ok {
		slot = c.newReg()
		c.slots[k] = slot
		if c.prog.names == nil {
			c.prog.names = map[opnd]string{}
		}
		c.prog.names[opnd(slot)] = name
	}
	return opnd(slot), d.typ, true
}

func (c *compiler) newReg() int32 {
	c.prog.regs++
	return int32(c.prog.regs - 1)
}

// predicate finds the slot of a predicate.
func (c *compiler) predicate(sc *scope, name string) (int32, bool) {
	d, num, ok := sc.reg(name)
	if !ok || d.typ.cls != clsPred {
		return -1, false
	}
	k := regKey{d, num}
	slot, ok := c.slots[k]
	if !ok {
		slot = int32(c.prog.preds)
		c.prog.preds++
		c.slots[k] = slot
	}
	return slot, true
}

// special emits a move of a special register into a fresh one and gives that.
func (c *compiler) special(st *stmt, name string, fn func(w *warp, i int) uint64) opnd {
	t := opnd(c.newReg())
	in := inst{kind: kExec, guard: -1, dst: []opnd{t}, dmask: ^uint64(0), line: int32(st.line), loc: st.loc,
		text: "mov " + name, rule: ruleNone, op: c.opcode("mov")}
	in.exec = c.readSpecial(name, fn)
	c.prog.code = append(c.prog.code, in)
	return t
}

// opcode numbers the opcode names for the statistics.
func (c *compiler) opcode(op string) int32 {
	i, ok := c.opIndex[op]
	if !ok {
		i = int32(len(c.prog.ops))
		c.prog.ops = append(c.prog.ops, op)
		c.opIndex[op] = i
	}
	return i
}
