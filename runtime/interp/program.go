package interp

import (
	"errors"
	"fmt"

	"tileiras/dialects/cudatile"
	"tileiras/dialects/cudatile/def"
	"tileiras/ir"
)

// Program is a module ready to run. It is immutable and may be run by several goroutines, each with its own Memory.
type Program struct {
	entries map[string]*entry
	globals map[string]cudatile.Global
	order   []string // of the globals
}

// entry is one kernel.
type entry struct {
	op          *ir.Op
	body        *code
	slots       int  // how many values it has
	independent bool // tile blocks cannot observe in which order they run, unless they race
}

// code is the body of a region.
type code struct {
	args   []int // slots of the block's arguments
	instrs []instr
}

// instr is one operation.
type instr struct {
	op       *ir.Op
	run      action
	args     []int // slots of the operands
	results  []int
	lastUses []int // slots that nothing reads after this
}

// action executes an operation. The signal says where control goes.
type action func(*machine) (signal, error)

// rule compiles an operation to an action. It looks at attributes and types, once.
type rule func(*compiler, *ir.Op) (action, error)

// signal is how control leaves a block of operations.
type signal uint8

const (
	next      signal = iota // goes on with the following operation
	yielded                 // the values are in machine.out
	continued               // the next iteration, with machine.out
	broken                  // the loop has ended, with machine.out
	returned                // the tile block has ended
)

// New makes a program of a cuda_tile module, which must verify. An operation without a rule is an error that wraps
// errors.ErrUnsupported.
func New(module *ir.Op) (p *Program, err error) {
	defer func() {
		if r := recover(); r != nil {
			p, err = nil, fmt.Errorf("BUG: interpreter: the module cannot be prepared (does it verify?): %v", r)
		}
	}()
	p = &Program{entries: map[string]*entry{}, globals: map[string]cudatile.Global{}}
	body := module.Body()
	if body == nil {
		return nil, errors.New("the module has no body")
	}
	for _, g := range ir.OpsOf[cudatile.Global](body) {
		p.globals[g.SymName()] = g
		p.order = append(p.order, g.SymName())
	}
	for _, op := range body.Ops() {
		switch op.Code() {
		case cudatile.OpEntry:
			e, err := p.compile(op)
			if err != nil {
				return nil, err
			}
			name := cudatile.Entry{Op: op}.SymName()
			p.entries[name] = e
		case cudatile.OpGlobal:
		default:
			return nil, unsupported(op)
		}
	}
	return p, nil
}

func unsupported(op *ir.Op) error {
	return fmt.Errorf("not supported yet: the interpreter has no rule for '%s': %w", op.Name(), errors.ErrUnsupported)
}

// compiler numbers the values of one entry: each has a slot.
type compiler struct {
	prog  *Program
	slots map[*ir.Value]int
	depth int
}

// maxDepth is how deep regions may nest; every level takes some of the stack when it runs.
const maxDepth = 1000

func (p *Program) compile(op *ir.Op) (*entry, error) {
	c := &compiler{prog: p, slots: map[*ir.Value]int{}}
	for _, a := range op.Body().Args() {
		if typeOf(a) == nil {
			return nil, fmt.Errorf("not supported yet: '%s' takes a %s: %w", cudatile.Entry{Op: op}.SymName(), ir.TypeString(a.Type()), errors.ErrUnsupported)
		}
	}
	body, err := c.block(op.Body())
	if err != nil {
		return nil, err
	}
	return &entry{op, body, len(c.slots), independentBlocks(op)}, nil
}

// independentBlocks tells whether tile blocks of an entry may run in parallel: nothing in it is atomic, strongly ordered, global
// or printed, so a conflict between two of them is a race of the program.
func independentBlocks(entry *ir.Op) bool {
	free := true
	ir.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		switch op.Code() {
		case cudatile.OpPrintTko, cudatile.OpGetGlobal, cudatile.OpAtomicCasTko, cudatile.OpAtomicRmwTko, cudatile.OpAtomicRedViewTko,
			cudatile.OpMultimemLoadReduceViewTko, cudatile.OpMultimemReduceViewTko, cudatile.OpMultimemStoreViewTko:
			free = false
		}
		if m, ok := ir.As[cudatile.MemoryOp](op); ok && m.MemoryOrderingSemantics() != def.Weak {
			free = false
		}
	})
	return free
}

// slot is the number of a value.
func (c *compiler) slot(v *ir.Value) int {
	s, ok := c.slots[v]
	if !ok {
		s = len(c.slots)
		c.slots[v] = s
	}
	return s
}

func (c *compiler) slotsOf(vs []*ir.Value) []int {
	out := make([]int, len(vs))
	for i, v := range vs {
		out[i] = c.slot(v)
	}
	return out
}

// optional is the slot of a value that may be absent, then -1.
func (c *compiler) optional(v *ir.Value) int {
	if v == nil {
		return -1
	}
	return c.slot(v)
}

// region makes the code of region i of an op; nil when it has no block.
func (c *compiler) region(op *ir.Op, i int) (*code, error) {
	if i >= op.NumRegions() || op.Region(i).Empty() {
		return nil, nil
	}
	return c.block(op.Region(i).Front())
}

func (c *compiler) block(b *ir.Block) (*code, error) {
	if c.depth++; c.depth > maxDepth {
		return nil, fmt.Errorf("regions nest deeper than %d", maxDepth)
	}
	defer func() { c.depth-- }()
	out := &code{args: c.slotsOf(b.Args())}
	last := map[*ir.Value]int{} // where a value of this block is read last
	ops := b.Ops()
	for k, op := range ops {
		r, ok := rules[op.Code()]
		if !ok {
			return nil, unsupported(op)
		}
		act, err := r(c, op)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", ir.Placed(op.Loc(), "'"+op.Name()+"'"), err)
		}
		out.instrs = append(out.instrs, instr{op: op, run: act, args: c.slotsOf(op.Operands()), results: c.slotsOf(op.Results())})
		for _, v := range op.Results() {
			last[v] = k
		}
		ir.Walk(op, ir.PreOrder, func(inner *ir.Op) {
			for i := range inner.NumOperands() {
				if v := inner.Operand(i); v.ParentBlock() == b {
					last[v] = k
				}
			}
		})
	}
	kill := func(v *ir.Value) {
		if k, ok := last[v]; ok {
			out.instrs[k].lastUses = append(out.instrs[k].lastUses, c.slot(v))
		}
	}
	for _, v := range b.Args() {
		kill(v)
	}
	for _, op := range ops {
		for _, v := range op.Results() {
			kill(v)
		}
	}
	return out, nil
}
