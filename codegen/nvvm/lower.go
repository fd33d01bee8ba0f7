package nvvm

import (
	"fmt"

	llvm "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/metadata"
	"github.com/llir/llvm/ir/types"

	"tileiras/codegen/local"
	"tileiras/codegen/options"
	"tileiras/codegen/target"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
)

// Options say for what and how to lower.
type Options struct {
	Target *target.Target
	options.Code

	// Chosen says that somebody else chose the instructions, maybe for another GPU: the module was read as TileAA that has a plan.
	Chosen bool
}

// NoInstruction is what a module asks for that was planned for another GPU.
type NoInstruction struct {
	Op   string // name of the operation
	What string // is missing
	Loc  ir.Location
}

// Place is where in the source the operation stands.
func (e *NoInstruction) Place() ir.Location { return e.Loc }

func (e *NoInstruction) Error() string { return ir.Placed(e.Loc, e.Message()) }

// Message is the error without its place.
func (e *NoInstruction) Message() string {
	return fmt.Sprintf("this %s was planned for another GPU: %s", e.Op, e.What)
}

// lowering is the function that lowers one kind of operation; it reads the operands' tiles and sets the results'.
type lowering func(f *fn, op *ir.Op)

// lowerings has one row per operation of TileAA, under its code. The files of a family fill it.
var lowerings = make(ir.Table[lowering], len(tileaa.Dialect.Ops)+1)

func register(rows ir.Table[lowering]) {
	for i, l := range rows {
		if l == nil {
			continue
		}
		if lowerings[i] != nil {
			panic("BUG: two lowerings of " + tileaa.Dialect.Ops[i-1].Name)
		}
		lowerings[i] = l
	}
}

// Lower makes the LLVM module of a TileAA module whose entries are planned, laid out, allocated and have their barriers. The error
// is a *NotSupported or, where others chose, a *NoInstruction. A module of any other form is a bug and panics.
func Lower(c *ir.Context, module *ir.Op, o Options) (m *llvm.Module, err error) {
	l := &lowerer{
		ctx: c, o: o, m: llvm.NewModule(),
		structs: map[string]types.Type{}, globals: map[string]*llvm.Global{}, taken: map[string]bool{}, tables: map[string]*llvm.Global{},
	}
	l.m.TargetTriple = "nvptx64-nvidia-cuda"
	l.m.DataLayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *ir.NotSupported:
			m, err = nil, r
		case missing:
			if !o.Chosen {
				panic("BUG: " + string(r))
			}
			m, err = nil, &NoInstruction{Op: l.current.Def.Name, What: string(r), Loc: l.current.Loc()}
		default:
			panic(r)
		}
	}()
	for _, e := range ir.OpsOf[tileaa.Entry](module.Body()) {
		l.ctx.Budget.Step()
		l.taken[e.SymName()] = true
	}
	for _, g := range ir.OpsOf[tileaa.Global](module.Body()) {
		l.ctx.Budget.Step()
		l.taken[g.SymName()] = true
	}
	for _, g := range ir.OpsOf[tileaa.Global](module.Body()) {
		l.ctx.Budget.Step()
		l.global(g)
	}
	for _, e := range ir.OpsOf[tileaa.Entry](module.Body()) {
		ir.WalkOf(e.Op, ir.PreOrder, l.multiplies)
		l.current = e.Op
		l.entry(e.Op)
	}
	l.finish()
	return l.m, nil
}

// multiplies stops at a product whose instruction the target does not have: others are made for it before it, and behind it.
func (l *lowerer) multiplies(d tileaa.Dot) {
	if m := d.Atom(); m != nil && !m.Atom.Need.On(l.o.Target) {
		l.current = d.Op
		panic(missing(fmt.Sprintf("%s has no %s, which needs %s", l.o.Target.Name, m.Atom.Name, m.Atom.Need)))
	}
}

// lowerer is the state of one module.
type lowerer struct {
	ctx     *ir.Context
	o       Options
	m       *llvm.Module
	globals map[string]*llvm.Global
	taken   map[string]bool // names of what the module declares
	structs map[string]types.Type
	tables  map[string]*llvm.Global // constants by content
	printer printer
	debug   debugInfo
	current *ir.Op // being lowered

	annotations []metadata.Node
}

// fn is the state of one entry: of the kernel, and of the role whose program is being lowered.
type fn struct {
	*lowerer
	*builder
	*kernel
	*role

	tiles     map[*ir.Value]*tile
	room      local.Slab[tile]
	views     map[*ir.Value]*view
	blocks    map[*ir.Value]*pointers // that pointers point to
	buffers   map[*ir.Value]*buffer
	traffic   map[*ir.Value]traffic // by the memory of buffers
	asyncUses *asyncUses            // nil: not known yet
	tensor    *tensorMemory         // nil: no product of the tensor unit
	maps      *mapMemory            // nil: no tensor maps
	products  map[*ir.Op]products   // by the loop
	counters  []*counter
	loops     []*loopFrame
	yields    []*join   // of the ifs around
	cuts      [][]group // of ragged accesses that have several
	dead      bool      // what follows cannot be reached

	fenced   *block // where this thread has fenced all that copies have brought; nil when more may have come
	unfenced bool   // this thread has stored what a matrix unit reads, since its last fence
}

func newFn(l *lowerer, k *kernel) *fn {
	f := &fn{
		lowerer: l, kernel: k,
		tiles: map[*ir.Value]*tile{}, views: map[*ir.Value]*view{}, blocks: map[*ir.Value]*pointers{}, buffers: map[*ir.Value]*buffer{},
		traffic: map[*ir.Value]traffic{}, products: map[*ir.Op]products{},
	}
	f.builder = newBuilder(&l.o, l.m, l.structs)
	f.builder.budget = l.ctx.Budget
	return f
}

// unsupported stops the lowering.
func (f *fn) unsupported(format string, args ...any) {
	panic(&ir.NotSupported{Op: f.current.Def.Name, What: "on " + fmt.Sprintf(format, args...), Loc: f.current.Loc()})
}

func (f *fn) bug(format string, args ...any) {
	panic(fmt.Sprintf("BUG: nvvm: %s in %s: %s", f.current.Name(), f.name, fmt.Sprintf(format, args...)))
}

// block lowers the operations of a block up to its terminator, which it leaves to the caller.
func (f *fn) block(b *ir.Block) {
	for op := b.First(); op != nil && !f.dead; op = op.Next() {
		if mayMeetThreads(op) {
			f.fenceStores()
		}
		if !makesNoCopyVisible(op) {
			f.fenced = nil
		}
		f.lower(op)
	}
}

func (f *fn) lower(op *ir.Op) {
	f.budget.Step()
	outer, from, note, place := f.current, f.origin, f.note, f.place
	f.current, f.origin, f.note, f.place = op, op, nil, f.location(op)
	l := lowerings.Of(op.Code())
	if l == nil {
		f.unsupported("%s", f.typesOf(op))
	}
	l(f, op)
	f.current, f.origin, f.note, f.place = outer, from, note, place
}

// typesOf describes an operation by the types of what it takes and makes.
func (f *fn) typesOf(op *ir.Op) string {
	for _, r := range op.Results() {
		if t := tileaa.AsTile(r); t != nil {
			return ir.ShortType(tileaa.Tile(f.ctx, t.Elem, t.Shape...))
		}
	}
	for _, v := range op.Operands() {
		return ir.ShortType(v.Type())
	}
	return "nothing"
}

// val is the tile of an operand; nil when it is absent.
func (f *fn) val(v *ir.Value) *tile {
	if v == nil {
		return nil
	}
	return f.tileFor(v)
}

// operandTiles are the tiles of all operands.
func (f *fn) operandTiles(op *ir.Op) []*tile {
	out := make([]*tile, op.NumOperands())
	for i := range out {
		out[i] = f.tileFor(op.Operand(i))
	}
	return out
}

// source and lhsRhs are the tiles of the operands of these names, stored that of the operand value.
func (f *fn) source(op *ir.Op) *tile { return f.tileFor(ir.Cast[tileaa.UnaryOp](op).Source()) }

func (f *fn) lhsRhs(op *ir.Op) (lhs, rhs *tile) {
	b := ir.Cast[tileaa.BinaryOp](op)
	return f.tileFor(b.Lhs()), f.tileFor(b.Rhs())
}

func (f *fn) stored(op *ir.Op) *tile { return f.tileFor(valueOf(op)) }

// valueOf is what an op stores, combines with memory or passes on.
func valueOf(op *ir.Op) *ir.Value { return ir.Cast[tileaa.ValueOp](op).Value() }

func (f *fn) tileFor(v *ir.Value) *tile {
	t := f.tiles[v]
	if t == nil {
		f.bug("an operand of type %s has no registers", ir.ShortType(v.Type()))
	}
	return t
}

// scalar is the one register of a rank-0 tile.
func (f *fn) scalar(v *ir.Value) reg { return f.reg(f.tileFor(v), 0) }

func (f *fn) set(op *ir.Op, t *tile) { f.tiles[op.Result(0)] = t }

// elemOf is the element type of a tile value.
func elemOf(v *ir.Value) ir.Type { return tileaa.AsTile(v).Elem }
