package interp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"

	"tileiras/ir"
)

// Options choose how a launch runs.
type Options struct {
	Grid   [3]int    // tile blocks; 0 counts as 1
	Stdout io.Writer // of print_tko; nil: nowhere
	// MaxSteps is how many operations one tile block may run; 0 means DefaultMaxSteps.
	MaxSteps int64
	// Strict reports inexact elements that reach anything but float arithmetic, data movement and stores.
	Strict bool
	// ZeroPadding makes zeros of what is loaded from outside a view, or masked out, without a padding value, instead of undefined
	// elements, which must not reach a store; and padding of what is loaded at an index outside the index space of a view that has one.
	ZeroPadding bool
	// AnyUndefined reports no undefined elements; they are zeros here.
	AnyUndefined bool
	// AnyUnusedStride accepts a false promise of divisibility of a value that is only the stride of axes of one element: only coordinate 0 lies
	// inside, so no address depends on it. cuTile Python 1.6 makes such promises.
	AnyUnusedStride bool
	// Workers is how many tile blocks may run in parallel if they cannot observe their order: nothing atomic, ordered or printed. 0 is 1.
	Workers int
	Done    *atomic.Int64 // counts the tile blocks that have ended, if not nil
}

// DefaultMaxSteps bounds a tile block that spins for ever.
const DefaultMaxSteps = 1 << 25

// Result counts what a launch did.
type Result struct {
	Blocks int   // tile blocks that ran to their end
	Steps  int64 // operations
}

func (r *Result) String() string {
	return fmt.Sprintf("%d tile blocks, %d operations", r.Blocks, r.Steps)
}

// machine is the state of one tile block while it runs.
type machine struct {
	launch        *launch
	prog          *Program
	mem           *Memory
	opts          *Options
	vals          []value
	out           []value // operands of the terminator that ran last
	op            *ir.Op  // the operation at work
	block, grid   [3]int
	steps         int64
	ignoreInexact bool          // do not track inexact elements
	lanes         int           // of the combine region at work; 0 outside
	locals        []*allocation // of alloca in the open blocks
	undefined     bool          // an operation has made undefined elements
}

// Run launches an entry. Each argument is an address or the bits of a scalar, in the order of the entry's parameters.
// The globals of the module are loaded into mem when it sees them first.
//
// What the program does wrong is a *Report; the memory then holds what was stored so far. Other errors mean that the
// launch does not fit the entry, or that ctx is done.
func (p *Program) Run(ctx context.Context, name string, mem *Memory, args []uint64, o Options) (*Result, error) {
	e := p.entries[name]
	if e == nil {
		return nil, fmt.Errorf("the module has no entry '%s'", name)
	}
	params := e.op.Body().Args()
	if len(args) != len(params) {
		return nil, fmt.Errorf("entry '%s' has %d parameters, got %d arguments", name, len(params), len(args))
	}
	if o.MaxSteps == 0 {
		o.MaxSteps = DefaultMaxSteps
	}
	blocks := int64(1)
	for i := range o.Grid {
		if o.Grid[i] = max(o.Grid[i], 1); o.Grid[i] >= 1<<24 {
			return nil, fmt.Errorf("grid extent %d is too big, the limit is %d", o.Grid[i], 1<<24-1)
		}
		if blocks > math.MaxInt64/int64(o.Grid[i]) {
			return nil, fmt.Errorf("grid %v is too big, the limit is %d tile blocks", o.Grid, int64(math.MaxInt64))
		}
		blocks *= int64(o.Grid[i])
	}
	p.load(mem)
	l := &launch{ctx: ctx, prog: p, entry: e, args: args, opts: &o, blocks: blocks}
	defer context.AfterFunc(ctx, func() { l.stop.Store(true) })()
	workers := 1
	if e.independent {
		workers = int(min(int64(max(o.Workers, 1)), l.blocks))
	}
	if workers == 1 {
		return l.serial(mem)
	}
	return l.parallel(mem, workers)
}

// launch is one grid while it runs.
type launch struct {
	ctx    context.Context
	prog   *Program
	entry  *entry
	args   []uint64
	opts   *Options
	blocks int64
	next   atomic.Int64 // next tile block to run
	stop   atomic.Bool  // the context is done, or a tile block has failed
}

// serial runs tile block after tile block, x fastest, until none is left.
func (l *launch) serial(mem *Memory) (*Result, error) {
	res := &Result{}
	for {
		i := l.next.Add(1) - 1
		if i >= l.blocks {
			return res, nil
		}
		g := l.opts.Grid
		m := &machine{launch: l, prog: l.prog, mem: mem, opts: l.opts, vals: make([]value, l.entry.slots), grid: g, ignoreInexact: mem.ignoreInexact && !l.opts.Strict}
		m.block = [3]int{int(i) % g[0], int(i) / g[0] % g[1], int(i) / g[0] / g[1]}
		for k, v := range l.entry.op.Body().Args() {
			t := newTile(typeOf(v), 1)
			t.bits[0] = l.args[k]
			m.vals[l.entry.body.args[k]] = t
		}
		err := m.start(l.entry)
		res.Steps += m.steps
		if err != nil {
			return res, err
		}
		res.Blocks++
		if l.opts.Done != nil {
			l.opts.Done.Add(1)
		}
	}
}

// parallel runs tile blocks on several workers. If several fail, the error is that of the first in serial order, as if they ran
// serially.
func (l *launch) parallel(mem *Memory, workers int) (*Result, error) {
	results, errs := make([]*Result, workers), make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			results[w], errs[w] = l.serial(mem.forWorker(w))
			if errs[w] != nil {
				l.next.Store(l.blocks) // those that have begun continue: one of them may fail earlier in serial order
			}
		})
	}
	wg.Wait()
	sum := &Result{}
	var first error
	for w, r := range results {
		sum.Blocks += r.Blocks
		sum.Steps += r.Steps
		if errs[w] != nil && (first == nil || l.blockIndex(errs[w]) < l.blockIndex(first)) {
			first = errs[w]
		}
	}
	return sum, first
}

// blockIndex is the linear index of the tile block that an error is about; -1 for other errors.
func (l *launch) blockIndex(err error) int {
	var r *Report
	if !errors.As(err, &r) {
		return -1
	}
	return (r.Block[2]*l.opts.Grid[1]+r.Block[1])*l.opts.Grid[0] + r.Block[0]
}

// load lays out the globals of the module in memory, once.
func (p *Program) load(mem *Memory) {
	for _, name := range p.order {
		g := p.globals[name]
		if _, ok := mem.globals[g]; ok {
			continue
		}
		t := denseTile(g.Value())
		c := codecOf(t.typ.Elem)
		size := len(t.bits) * c.bytes
		if c.nibble {
			size = (len(t.bits) + 1) / 2
		}
		a := mem.alloc("global @"+name, make([]byte, size), max(int(g.Alignment()), 16))
		for i, v := range t.bits {
			addr, high := c.address(a.base, int64(i))
			c.store(a, int(addr-a.base), high, v, 0)
		}
		mem.globals[g] = a.base
	}
}

// start runs the tile block. A panic is a bug of the interpreter and becomes a report.
func (m *machine) start(e *entry) (err error) {
	m.op = e.op
	defer func() {
		if r := recover(); r != nil {
			err = m.fail(Internal, "%v", r)
		}
	}()
	_, err = m.run(e.body)
	return err
}

// run executes a block of operations until control leaves it, and frees what it allocated.
func (m *machine) run(c *code) (signal, error) {
	mark := len(m.locals)
	for i := range c.instrs {
		in := &c.instrs[i]
		m.op = in.op
		if err := m.tick(); err != nil {
			return 0, err
		}
		s, err := in.run(m)
		if err != nil {
			return 0, err
		}
		if m.undefined {
			m.inherit(in)
		}
		for _, d := range in.lastUses {
			m.vals[d] = nil
		}
		if s != next {
			m.release(mark)
			return s, nil
		}
	}
	m.release(mark)
	return next, nil
}

func (m *machine) release(mark int) {
	for _, a := range m.locals[mark:] {
		m.mem.free(a)
	}
	m.locals = m.locals[:mark]
}

// tick counts an operation or an iteration, and checks the step limit and the context.
func (m *machine) tick() error {
	m.steps++
	if m.launch.stop.Load() {
		return errors.Join(m.launch.ctx.Err(), m.fail(StepLimit, "stopped after %d operations", m.steps))
	}
	if m.steps > m.opts.MaxSteps {
		return m.fail(StepLimit, "the tile block has run %d operations; does it wait for one that comes after it?", m.steps)
	}
	return nil
}

func (m *machine) tile(slot int) *tile { return m.vals[slot].(*tile) }

// values copies the values in some slots.
func (m *machine) values(slots []int) []value {
	vs := make([]value, len(slots))
	for i, s := range slots {
		vs[i] = m.vals[s]
	}
	return vs
}

// bind puts values into slots.
func (m *machine) bind(slots []int, vs []value) {
	for i, s := range slots {
		m.vals[s] = vs[i]
	}
}

// checkDefined reports undefined elements, and in strict runs inexact ones, of a tile whose value decides control flow, an
// address or a mask.
func (m *machine) checkDefined(t *tile, what string) error {
	f := t.any()
	if (f&undef == 0 || m.opts.AnyUndefined) && (f&inexact == 0 || !m.opts.Strict) {
		return nil
	}
	for i, g := range t.flags {
		if err := m.checkFlag(g, t, i, what); err != nil {
			return err
		}
	}
	return nil
}

// checkFlag is checkDefined for element i, which has the flags f.
func (m *machine) checkFlag(f uint8, t *tile, i int, what string) error {
	switch {
	case f&undef != 0 && !m.opts.AnyUndefined:
		return m.undefAt(t, i, what)
	case f&inexact != 0 && m.opts.Strict:
		return m.failAt(InexactUse, t.typ.Shape, i, "%s depends on how floats were rounded or summed", what)
	}
	return nil
}
