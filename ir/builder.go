package ir

import "slices"

// Builder makes operations at an insertion point, a place in a block.
type Builder struct {
	Ctx   *Context
	Loc   Location // of the operations to come
	block *Block
	at    *Op // insert before it; nil = at the end
}

// NewBuilder makes a builder without a place.
func NewBuilder(c *Context) *Builder { return &Builder{Ctx: c, Loc: UnknownLoc{}} }

// AtEnd, AtStart, Before and After set the place.
func (b *Builder) AtEnd(bl *Block) *Builder   { b.block, b.at = bl, nil; return b }
func (b *Builder) AtStart(bl *Block) *Builder { b.block, b.at = bl, bl.first; return b }
func (b *Builder) Before(op *Op) *Builder     { b.block, b.at = op.block, op; return b }
func (b *Builder) After(op *Op) *Builder      { b.block, b.at = op.block, op.next; return b }

// AfterValue sets the insertion point right after the definition of a value: after its op, or at the start of the block of which it is an argument.
func (b *Builder) AfterValue(v *Value) *Builder {
	if v.IsArg() {
		return b.AtStart(v.block)
	}
	return b.After(v.op)
}

// Place is the current block and the op before which the next one comes (nil: at the end).
func (b *Builder) Place() (*Block, *Op) { return b.block, b.at }

// SetPlace restores what Place returned.
func (b *Builder) SetPlace(bl *Block, at *Op) { b.block, b.at = bl, at }

// WithLoc runs make, whose operations are at another location.
func (b *Builder) WithLoc(l Location, make func()) {
	old := b.Loc
	b.Loc = l
	make()
	b.Loc = old
}

// Insert puts an op that is in no block at the place.
func (b *Builder) Insert(op *Op) *Op {
	b.block.insert(op, b.at)
	return op
}

// Create makes an op from a state, at the place; a missing location is the builder's.
func (b *Builder) Create(s State) *Op {
	if s.Loc == nil {
		s.Loc = b.Loc
	}
	b.Ctx.MadeOp(len(s.Operands), len(s.Types))
	return b.Insert(NewOp(s))
}

// Mapping maps the values of a cloned piece to their copies.
type Mapping map[*Value]*Value

// Lookup is the copy of a value, or the value itself.
func (m Mapping) Lookup(v *Value) *Value {
	if w, ok := m[v]; ok {
		return w
	}
	return v
}

// Clone inserts a copy of an op (Context.Clone).
func (b *Builder) Clone(op *Op, m Mapping) *Op { return b.Insert(b.Ctx.Clone(op, m)) }

// Clone copies an op with everything inside it. Operands are mapped; results and block arguments are added to the map. The copies count against the
// budget.
func (c *Context) Clone(op *Op, m Mapping) *Op {
	c.MadeOp(len(op.operands), len(op.results))
	n := allocOp(len(op.operands), len(op.results), len(op.attrs))
	n.Def, n.UnregisteredName, n.loc, n.groups, n.extra = op.Def, op.UnregisteredName, op.loc, slices.Clone(op.groups), slices.Clone(op.extra)
	copy(n.attrs, op.attrs)
	for i := range op.operands {
		n.operands[i].take(n, i, m.Lookup(op.operands[i].value))
	}
	for i, r := range op.results {
		n.results[i].typ, n.results[i].NameHint = r.typ, r.NameHint
		m[r] = n.results[i]
	}
	for _, r := range op.regions {
		to := &Region{op: n}
		n.regions = append(n.regions, to)
		c.CloneRegion(r, to, m)
	}
	return n
}

// CloneRegion appends copies of a region's blocks to another region.
func (c *Context) CloneRegion(r, to *Region, m Mapping) {
	for _, b := range r.blocks {
		nb := to.AddBlock()
		for _, a := range b.args {
			na := nb.AddArg(a.typ)
			na.NameHint, na.Loc = a.NameHint, a.Loc
			m[a] = na
		}
		for o := b.first; o != nil; o = o.next {
			nb.Append(c.Clone(o, m))
		}
	}
}
