// Package cleanup makes modules smaller without deciding anything about the machine.
package cleanup

import (
	"tileiras/dialects/cudatile"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/pass"
)

// maxSweeps bounds canonicalization. Each sweep simplifies every op with operands that are already simple, so a few are
// enough for real programs; one that needs more (constant ifs nested deeper than this) is left partly simplified.
const maxSweeps = 32

// A Simplifier applies the first rewrite pattern that matches an op and reports whether one did. New ops go where the builder stands, right before the op.
// Folds are hooks of the rows.
type Simplifier = func(b *ir.Builder, op *ir.Op) bool

// simplify is the Simplifier of canonicalization. Patterns of cuda_tile run only where somebody names the pass: the compiler canonicalizes TileAA.
func simplify(b *ir.Builder, op *ir.Op) bool {
	switch op.Def.Dialect {
	case tileaa.Dialect.Name:
		return tileaa.Simplify(b, op)
	case cudatile.Dialect.Name:
		return cudatile.Simplify(b, op)
	}
	return false
}

// Canonicalize applies folds and patterns to all ops, in program order, until nothing changes. It erases what is dead, and
// keeps one constant of each value at the start of the entry.
//
//	%0 = addi %x, %zero          (nothing: users of %0 use %x)
//	%1 = muli %two, %three   =>  %c6 = constant 6, at the start of the entry
//
// Simplifications by facts come last, when constants and shapes are simple; if one changed anything, the sweeps run once more.
func Canonicalize(s *pass.State) error {
	c := NewCanonicalizer(s, simplify)
	c.ToFixpoint(s.Module)
	if c.simplifyByFacts(s.Module) {
		c.ToFixpoint(s.Module)
	}
	return nil
}

func NewCanonicalizer(s *pass.State, simplify Simplifier) *canonicalizer {
	return &canonicalizer{ctx: s.Ctx, b: ir.NewBuilder(s.Ctx), patterns: simplify}
}

// ToFixpoint sweeps until nothing changes, or until the bound.
func (c *canonicalizer) ToFixpoint(module *ir.Op) {
	c.changed = true
	for sweep := 0; sweep < maxSweeps && c.changed; sweep++ {
		c.changed = false
		c.sweep(module)
	}
}

type canonicalizer struct {
	ctx       *ir.Context
	b         *ir.Builder
	patterns  Simplifier
	constants *constantPool // of the entry around, or nil
	changed   bool
}

// sweep visits op and what is inside it once.
func (c *canonicalizer) sweep(op *ir.Op) {
	if op.Traits().Has(ir.Isolated) && op.NumRegions() > 0 && !op.Traits().Has(ir.SymbolTable) {
		outer := c.constants
		c.constants = newConstantPool(op)
		defer func() { c.constants = outer }()
	}
	for b := range op.Blocks() {
		c.block(b)
	}
}

// block visits the ops of a block. A visit may erase the op and the one before it, insert ops before it, and erase all
// ops after it; new ops are visited in the next sweep.
func (c *canonicalizer) block(b *ir.Block) {
	for op := b.First(); op != nil; {
		next := op.Next()
		if c.visit(op) {
			c.changed = true
		}
		if op.Block() == b {
			c.sweep(op)
		}
		if next != nil && next.Block() != b {
			return
		}
		op = next
	}
}

// visit simplifies one op and reports whether anything changed.
func (c *canonicalizer) visit(op *ir.Op) bool {
	c.ctx.Budget.Step()
	if ir.IsDead(op) {
		if c.constants != nil {
			c.constants.forget(op)
		}
		op.Erase()
		return true
	}
	if op.Traits().Has(ir.ConstantLike) {
		return c.constants != nil && c.constants.intern(op)
	}
	if c.fold(op, ir.Fold(op)) {
		return true
	}
	c.b.Before(op).Loc = op.Loc()
	return c.patterns(c.b, op)
}

// fold replaces all results of an op by values and constants.
func (c *canonicalizer) fold(op *ir.Op, results []ir.FoldResult) bool {
	if len(results) == 0 || len(results) != op.NumResults() {
		return false
	}
	values := make([]*ir.Value, len(results))
	for i, r := range results {
		if values[i] = r.Value; r.Value == nil {
			if values[i] = c.constant(op, r.Attr, op.Result(i).Type()); values[i] == nil {
				return false
			}
		}
	}
	for i, v := range values {
		op.Result(i).ReplaceAllUsesWith(v)
	}
	op.Erase()
	return true
}

// constant is the constant of the pool for an attribute, materialized before op if there is none.
func (c *canonicalizer) constant(op *ir.Op, value ir.Attribute, t ir.Type) *ir.Value {
	d := c.ctx.Dialect(op.Def.Dialect)
	if d == nil || d.Materialize == nil {
		return nil
	}
	made := d.Materialize(c.b.Before(op), op.Loc(), value, t)
	if made == nil {
		return nil
	}
	if c.constants == nil {
		return made.Result(0)
	}
	return c.constants.canonical(made)
}

// constantPool keeps one constant of each value and type at the start of an entry. A new one is inserted after the others,
// but on cuda_tile before them, so that texts compare with those of NVIDIA's cuda-tile-opt.
type constantPool struct {
	start *ir.Block
	front bool
	last  *ir.Op // the last of the constants with which the block begins
	ops   map[constantKey]*ir.Op
}

type constantKey struct {
	t     ir.Type
	splat bool
	data  string
}

func keyOf(op *ir.Op) (constantKey, bool) {
	if !op.Traits().Has(ir.ConstantLike) {
		return constantKey{}, false
	}
	d, ok := op.Attr(0).(*ir.DenseAttr)
	if !ok {
		return constantKey{}, false
	}
	return constantKey{op.Result(0).Type(), d.Splat, string(d.Data)}, true
}

func newConstantPool(entry *ir.Op) *constantPool {
	p := &constantPool{start: entry.Body(), front: entry.Def.Dialect == cudatile.Name, ops: map[constantKey]*ir.Op{}}
	if p.start == nil {
		return p
	}
	for op := p.start.First(); op != nil && op.Traits().Has(ir.ConstantLike); op = op.Next() {
		if k, ok := keyOf(op); ok && p.ops[k] == nil {
			p.ops[k] = op
		}
		p.last = op
	}
	return p
}

// forget removes an op that is about to be erased.
func (p *constantPool) forget(op *ir.Op) {
	if p.last == op {
		p.last = op.Prev()
	}
	if k, ok := keyOf(op); ok && p.ops[k] == op {
		delete(p.ops, k)
	}
}

// intern moves a constant to the pool, or replaces it by the equal one there; it reports whether that changed anything.
func (p *constantPool) intern(op *ir.Op) bool {
	if k, ok := keyOf(op); !ok || p.ops[k] == op || p.start == nil {
		return false
	}
	p.canonical(op)
	return true
}

// canonical is the constant of the pool equal to op, which may be op itself; else op is erased.
func (p *constantPool) canonical(op *ir.Op) *ir.Value {
	k, ok := keyOf(op)
	if !ok || p.start == nil {
		return op.Result(0)
	}
	if have := p.ops[k]; have != nil {
		op.Result(0).ReplaceAllUsesWith(have.Result(0))
		op.Erase()
		return have.Result(0)
	}
	p.ops[k] = op
	at := p.start.First()
	if p.last != nil && !p.front {
		at = p.last.Next()
	}
	if at != op {
		if at == nil {
			op.Remove()
			p.start.Append(op)
		} else {
			op.MoveBefore(at)
		}
	}
	if p.last == nil || !p.front {
		p.last = op
	}
	return op.Result(0)
}
