package ir

import (
	"iter"
	"slices"
)

// Op is one operation.
type Op struct {
	Def *OpDef
	// UnregisteredName is the full name of an op that no dialect defines; Def is then the shared Unregistered row.
	UnregisteredName string

	operands []Use
	groups   []int32 // operands per declared operand; nil when each is exactly one
	results  []*Value
	attrs    []Attribute // by attribute index of the row; nil = absent
	extra    []NamedAttr // discardable attributes, sorted by name
	regions  []*Region
	loc      Location

	block      *Block
	prev, next *Op
}

// Unregistered is the row of every operation that no dialect defines.
var Unregistered = &OpDef{Name: "unregistered", NoOpcode: true, Traits: Ordered, Hooks: &Hooks{}}

// Use is one operand slot: an element of the use list of its value.
type Use struct {
	value      *Value
	owner      *Op
	index      int
	prev, next *Use
}

func (u *Use) Owner() *Op    { return u.owner }
func (u *Use) Index() int    { return u.index }
func (u *Use) Value() *Value { return u.value }

// Value is the result of an operation or the argument of a block.
type Value struct {
	typ      Type
	op       *Op    // defining op, or nil
	block    *Block // owning block of an argument, or nil
	index    int
	uses     *Use // first use; newest first
	NameHint string
	Loc      Location // of block arguments; may be nil
}

func (v *Value) Type() Type      { return v.typ }
func (v *Value) SetType(t Type)  { v.typ = t }
func (v *Value) DefiningOp() *Op { return v.op }
func (v *Value) Block() *Block   { return v.block } // nil for results
func (v *Value) Index() int      { return v.index }
func (v *Value) IsArg() bool     { return v.block != nil }
func (v *Value) HasUses() bool   { return v.uses != nil }
func (v *Value) HasOneUse() bool { return v.uses != nil && v.uses.next == nil }
func (v *Value) FirstUse() *Use  { return v.uses }
func (u *Use) Next() *Use        { return u.next }

// ParentBlock is the block in which the value is defined.
func (v *Value) ParentBlock() *Block {
	if v.block != nil {
		return v.block
	}
	return v.op.block
}

// TypesOf lists the types of values.
func TypesOf(vs []*Value) []Type {
	ts := make([]Type, len(vs))
	for i, v := range vs {
		ts[i] = v.Type()
	}
	return ts
}

// Uses lists the uses; the order is newest first and must not reach any output.
func (v *Value) Uses() []*Use {
	var us []*Use
	for u := v.uses; u != nil; u = u.next {
		us = append(us, u)
	}
	return us
}

// ReplaceAllUsesWith makes every user of v use w.
func (v *Value) ReplaceAllUsesWith(w *Value) {
	if v == w {
		return
	}
	for v.uses != nil {
		v.uses.set(w)
	}
}

// take initializes a use: operand i of an operation.
func (u *Use) take(op *Op, i int, v *Value) {
	u.owner, u.index = op, i
	u.set(v)
}

func (u *Use) set(v *Value) {
	if u.value != nil {
		if u.prev != nil {
			u.prev.next = u.next
		} else {
			u.value.uses = u.next
		}
		if u.next != nil {
			u.next.prev = u.prev
		}
	}
	u.value, u.prev, u.next = v, nil, nil
	if v != nil {
		u.next = v.uses
		if v.uses != nil {
			v.uses.prev = u
		}
		v.uses = u
	}
}

// State describes an operation to make. Operands are flat, in declaration order; Groups gives the number of operands per
// declared operand and may be nil when each stands for exactly one value. Attrs are by attribute index and may be shorter
// than the row's; absent ones are nil.
type State struct {
	Def        *OpDef
	Name       string // full name, for unregistered ops
	Loc        Location
	Operands   []*Value
	Groups     []int32
	Types      []Type
	Attrs      []Attribute
	Extra      []NamedAttr
	NumRegions int
}

// NewOp makes an operation that is in no block yet. Regions start empty (no block).
func NewOp(s State) *Op {
	if s.Def == nil {
		s.Def = Unregistered
	}
	if s.Loc == nil {
		s.Loc = UnknownLoc{}
	}
	op := allocOp(len(s.Operands), len(s.Types), s.Def.NumAttrDefs())
	op.Def, op.UnregisteredName, op.loc, op.extra = s.Def, s.Name, s.Loc, s.Extra
	op.take(s.Operands, s.Groups)
	for i, t := range s.Types {
		op.results[i].typ = t
	}
	copy(op.attrs, s.Attrs)
	n := s.NumRegions
	if n == 0 {
		n = len(op.Def.Regions)
	}
	for i := 0; i < n; i++ {
		op.regions = append(op.regions, &Region{op: op})
	}
	return op
}

// allocOp allocates an operation with its results and memory for its operands and attributes: one object for most, which have one result, and at most two operands and
// one attribute.
func allocOp(operands, results, attrs int) *Op {
	if results == 1 {
		m := &struct {
			op      Op
			value   Value
			result  [1]*Value
			operand [2]Use
			attr    [1]Attribute
		}{}
		m.value.op, m.result[0] = &m.op, &m.value
		m.op.results, m.op.operands, m.op.attrs = m.result[:], list(operands, m.operand[:]), list(attrs, m.attr[:])
		return &m.op
	}
	op := &Op{results: make([]*Value, results), operands: make([]Use, operands), attrs: make([]Attribute, attrs)}
	values := make([]Value, results)
	for i := range values {
		values[i] = Value{op: op, index: i}
		op.results[i] = &values[i]
	}
	return op
}

// list has n elements, in room if they fit.
func list[T any](n int, room []T) []T {
	if n > len(room) {
		return make([]T, n)
	}
	return room[:n:n]
}

// Name is the full name of the operation.
func (op *Op) Name() string {
	if op.Def == Unregistered {
		return op.UnregisteredName
	}
	return op.Def.FullName()
}

func (op *Op) Loc() Location              { return op.loc }
func (op *Op) SetLoc(l Location)          { op.loc = l }
func (op *Op) Block() *Block              { return op.block }
func (op *Op) Next() *Op                  { return op.next }
func (op *Op) Prev() *Op                  { return op.prev }
func (op *Op) NumOperands() int           { return len(op.operands) }
func (op *Op) Operand(i int) *Value       { return op.operands[i].value }
func (op *Op) OperandUse(i int) *Use      { return &op.operands[i] }
func (op *Op) NumResults() int            { return len(op.results) }
func (op *Op) Result(i int) *Value        { return op.results[i] }
func (op *Op) Results() []*Value          { return op.results }
func (op *Op) NumRegions() int            { return len(op.regions) }
func (op *Op) Region(i int) *Region       { return op.regions[i] }
func (op *Op) Regions() []*Region         { return op.regions }
func (op *Op) Traits() Traits             { return op.Def.Traits }
func (op *Op) Groups() []int32            { return op.groups }
func (op *Op) SetOperand(i int, v *Value) { op.operands[i].set(v) }

// MovesFreely reports whether the op may stand anywhere behind its operands: it has no effects, and no regions whose operations have some.
func (op *Op) MovesFreely() bool { return op.Traits().Has(Pure) && len(op.regions) == 0 }

// Operands copies the operand values.
func (op *Op) Operands() []*Value {
	vs := make([]*Value, len(op.operands))
	for i := range op.operands {
		vs[i] = op.operands[i].value
	}
	return vs
}

// SetOperands replaces all operands and the group sizes.
func (op *Op) SetOperands(vs []*Value, groups []int32) {
	for i := range op.operands {
		op.operands[i].set(nil)
	}
	op.operands = make([]Use, len(vs))
	op.take(vs, groups)
}

// take fills in the operands; there is memory for them.
func (op *Op) take(vs []*Value, groups []int32) {
	for i, v := range vs {
		op.operands[i].take(op, i, v)
	}
	op.groups = groups
}

// group is the range of flat operand indices of declared operand d.
func (op *Op) group(d int) (lo, hi int) {
	if op.groups == nil {
		return d, d + 1
	}
	for i := 0; i < d; i++ {
		lo += int(op.groups[i])
	}
	return lo, lo + int(op.groups[d])
}

// OperandGroup lists the values of declared operand d (index into the row's operands).
func (op *Op) OperandGroup(d int) []*Value {
	lo, hi := op.group(d)
	vs := make([]*Value, hi-lo)
	for i := range vs {
		vs[i] = op.operands[lo+i].value
	}
	return vs
}

// OperandOf is the value of declared operand d, or nil when it is optional and absent.
func (op *Op) OperandOf(d int) *Value {
	lo, hi := op.group(d)
	if lo == hi {
		return nil
	}
	return op.operands[lo].value
}

// Attr is the attribute with index i in the row; nil when absent.
func (op *Op) Attr(i int) Attribute {
	if i < 0 || i >= len(op.attrs) {
		return nil
	}
	return op.attrs[i]
}

// SetAttr sets (or with nil removes) the attribute with index i in the row.
func (op *Op) SetAttr(i int, a Attribute) { op.attrs[i] = a }

// Discardable is the attribute of this name that the row does not know; nil when absent.
func (op *Op) Discardable(name string) Attribute {
	for _, e := range op.extra {
		if e.Name == name {
			return e.Value
		}
	}
	return nil
}

// Attrs are the row's attributes by index; Extra the discardable ones, sorted by name. Do not modify.
func (op *Op) Attrs() []Attribute { return op.attrs }
func (op *Op) Extra() []NamedAttr { return op.extra }

// ParentOp is the operation in whose region this one lies, or nil.
func (op *Op) ParentOp() *Op {
	if op.block == nil || op.block.region == nil {
		return nil
	}
	return op.block.region.op
}

// Body is the only block of region 0; nil when there is none.
func (op *Op) Body() *Block {
	if len(op.regions) == 0 {
		return nil
	}
	return op.regions[0].Front()
}

// Blocks are those of all regions, in order.
func (op *Op) Blocks() iter.Seq[*Block] {
	return func(yield func(*Block) bool) {
		for _, r := range op.regions {
			for _, b := range r.blocks {
				if !yield(b) {
					return
				}
			}
		}
	}
}

// HasUses reports whether any result of the op is used.
func (op *Op) HasUses() bool {
	return slices.ContainsFunc(op.results, (*Value).HasUses)
}

// Remove unlinks the op from its block without erasing it.
func (op *Op) Remove() {
	if op.block == nil {
		return
	}
	if op.prev != nil {
		op.prev.next = op.next
	} else {
		op.block.first = op.next
	}
	if op.next != nil {
		op.next.prev = op.prev
	} else {
		op.block.last = op.prev
	}
	op.block, op.prev, op.next = nil, nil, nil
}

// Erase removes the op with everything inside it; its results must have no uses left.
func (op *Op) Erase() {
	for _, r := range op.results {
		if r.HasUses() {
			panic("BUG: erased " + op.Name() + " while its result is used by " + r.uses.owner.Name())
		}
	}
	op.Remove()
	op.dropAllReferences()
}

// AddResults gives an operation results of these types behind those that it has, and returns them.
func (op *Op) AddResults(types []Type) []*Value {
	n := len(op.results)
	for _, t := range types {
		op.results = append(op.results, &Value{typ: t, op: op, index: len(op.results)})
	}
	return slices.Clip(op.results[n:])
}

func (op *Op) dropAllReferences() {
	for i := range op.operands {
		op.operands[i].set(nil)
	}
	for _, r := range op.regions {
		for _, b := range r.blocks {
			for o := b.first; o != nil; o = o.next {
				o.dropAllReferences()
			}
		}
	}
}

// MoveBefore puts the op before another one.
func (op *Op) MoveBefore(at *Op) {
	op.Remove()
	at.block.insert(op, at)
}

// Region is a list of blocks owned by an operation.
type Region struct {
	op      *Op
	blocks  []*Block
	implied *Op // while parsing: a terminator that waits for the location of op
}

func (r *Region) ParentOp() *Op    { return r.op }
func (r *Region) Blocks() []*Block { return r.blocks }
func (r *Region) Empty() bool      { return len(r.blocks) == 0 }

// Front is the first block, or nil.
func (r *Region) Front() *Block {
	if len(r.blocks) == 0 {
		return nil
	}
	return r.blocks[0]
}

// AddBlock appends a new block with arguments of these types.
func (r *Region) AddBlock(args ...Type) *Block {
	b := &Block{region: r}
	r.blocks = append(r.blocks, b)
	for _, t := range args {
		b.AddArg(t)
	}
	return b
}

// TakeBlocks moves all blocks of another region to the end of this one.
func (r *Region) TakeBlocks(from *Region) {
	for _, b := range from.blocks {
		b.region = r
	}
	r.blocks = append(r.blocks, from.blocks...)
	from.blocks = nil
}

// Swap exchanges the blocks of two regions.
func (r *Region) Swap(other *Region) {
	var blocks Region
	blocks.TakeBlocks(r)
	r.TakeBlocks(other)
	other.TakeBlocks(&blocks)
}

// Block is a list of operations with arguments.
type Block struct {
	region      *Region
	args        []*Value
	first, last *Op
}

func (b *Block) Region() *Region  { return b.region }
func (b *Block) ParentOp() *Op    { return b.region.op }
func (b *Block) Args() []*Value   { return b.args }
func (b *Block) NumArgs() int     { return len(b.args) }
func (b *Block) Arg(i int) *Value { return b.args[i] }
func (b *Block) First() *Op       { return b.first }
func (b *Block) Last() *Op        { return b.last }
func (b *Block) Empty() bool      { return b.first == nil }

// AddArg appends an argument.
func (b *Block) AddArg(t Type) *Value {
	v := &Value{typ: t, block: b, index: len(b.args)}
	b.args = append(b.args, v)
	return v
}

// EraseArg removes argument i, which must have no uses.
func (b *Block) EraseArg(i int) {
	if b.args[i].HasUses() {
		panic("BUG: erased a block argument that is used")
	}
	b.args = append(b.args[:i:i], b.args[i+1:]...)
	for k := i; k < len(b.args); k++ {
		b.args[k].index = k
	}
}

// Terminator is the last op if it is a terminator, else nil.
func (b *Block) Terminator() *Op {
	if b.last != nil && (b.last.Def.Traits.Has(Terminator) || b.last.Def == Unregistered) {
		return b.last
	}
	return nil
}

// Append puts an op at the end of the block.
func (b *Block) Append(op *Op) { b.insert(op, nil) }

// Ops lists the operations; the block may be changed while the list is used.
func (b *Block) Ops() []*Op {
	var ops []*Op
	for o := b.first; o != nil; o = o.next {
		ops = append(ops, o)
	}
	return ops
}

// MoveBefore moves the ops of a block, all but its terminator, in front of an op, and returns the operands of the terminator.
func (b *Block) MoveBefore(at *Op) []*Value {
	end := b.Terminator()
	for o := b.first; o != end; {
		next := o.next
		o.MoveBefore(at)
		o = next
	}
	return end.Operands()
}

// insert puts op before at, or at the end when at is nil.
func (b *Block) insert(op, at *Op) {
	if op.block != nil {
		panic("BUG: inserted " + op.Name() + " twice")
	}
	op.block = b
	if at == nil {
		op.prev, op.next = b.last, nil
		if b.last != nil {
			b.last.next = op
		} else {
			b.first = op
		}
		b.last = op
		return
	}
	op.prev, op.next = at.prev, at
	if at.prev != nil {
		at.prev.next = op
	} else {
		b.first = op
	}
	at.prev = op
}
