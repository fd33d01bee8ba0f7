package tileaa

import (
	"fmt"
	"slices"

	"tileiras/codegen/layout"
	"tileiras/ir"
)

// Rule is an invariant of every op from one form on.
type Rule struct {
	From  Form   // the form that introduces it; AnyForm: it always holds
	Until Form   // the form that ends it; AnyForm: none
	Says  string // the invariant, for documents and messages
	// Check returns what is wrong with an op, or "".
	Check func(op *ir.Op) string
}

// rules are the specification of TileAA between passes, which CheckForm checks and the documentation lists.
var rules = []Rule{
	{Explicit, AnyForm, "All operations are TileAA's.", func(op *ir.Op) string {
		if op.Def.Dialect != Dialect.Name {
			return "is not an operation of TileAA"
		}
		return ""
	}},
	{AnyForm, AnyForm, "Rank-0 tiles have no layout.", tileTypes(func(t *TileType) string {
		if len(t.Shape) == 0 && t.Layout != nil {
			return "has a rank-0 tile with a layout"
		}
		return ""
	})},
	{Explicit, AnyForm, "A view is made where it can be seen: block_tile of make_memref, access of block_tile, copy of block_tile or of pointer_block.", func(op *ir.Op) string {
		if b, ok := ir.As[BlockTile](op); ok && !ir.Is[MakeMemref](b.Memref().DefiningOp()) {
			return "needs a memref that is the result of make_memref"
		}
		if a, ok := ir.As[BlockOp](op); ok && !ir.Is[BlockTile](a.Block().DefiningOp()) {
			if !ir.Is[AsyncCopy](op) {
				return "needs a block that is the result of block_tile"
			} else if !ir.Is[PointerBlock](a.Block().DefiningOp()) {
				return "needs a block that is the result of block_tile or of pointer_block"
			}
		}
		return ""
	}},
	{Explicit, LaidOut, "No layouts yet.", tileTypes(func(t *TileType) string {
		if t.Layout != nil {
			return "has a tile with a layout"
		}
		return ""
	})},
	{Explicit, Selected, "No layout conversions and buffers yet.",
		not(OpConvertLayout, OpAllocShared, OpBufferView, OpBufferStore, OpBufferLoad, OpBufferExtract, OpBufferInsert, OpBufferStoreSlice)},
	{Explicit, Selected, "No asynchronous copies yet.", not(OpPointerBlock, OpAsyncCopy, OpAsyncCommit, OpAsyncWait, OpDotWait)},
	{Explicit, Synchronized, "No barriers yet.", not(OpBarrier)},
	{Planned, AnyForm, "Every entry has a plan.", each(func(e Entry) string {
		if p := e.Plan(); p == nil || p.Warps < 1 {
			return "has no plan with at least one warp"
		}
		return ""
	})},
	{Selected, AnyForm, "Every dot names its atom.", each(func(d Dot) string { return has(d.Atom() != nil, "atom") })},
	{Selected, AnyForm, "Factors have the elements that the atom takes.", each(func(d Dot) string {
		if d.Atom() == nil || multiplies(d, true) {
			return ""
		}
		return "has factors or scales of other elements than " + d.Atom().Atom.Name
	})},
	{Selected, AnyForm, "Every access of a tile knows its width, tiled ones their masks.", accesses},
	{Selected, AnyForm, "What goes through a pipeline is acquired, committed, waited for and released.", each(func(a AllocPipeline) string {
		return usedBy(a.Result(), OpProducerAcquire, OpProducerCommit, OpConsumerWait, OpConsumerRelease)
	})},
	{Selected, AnyForm, "Memory for tensor maps is acquired, then found by all that copy by them, and released.", each(func(a AllocMaps) string {
		return foundFirst(a.Result(), OpMapsAddress, OpMapsRelease, OpMapsAcquire, OpTensorMap)
	})},
	{LaidOut, AnyForm, "Every tile of rank 1 or more has a layout.", tileTypes(func(t *TileType) string {
		if len(t.Shape) > 0 && t.Layout == nil {
			return "has a tile of rank 1 or more without a layout"
		}
		return ""
	})},
	{LaidOut, AnyForm, "Element-wise operations and pointer accesses work in one layout.", oneLayout},
	{Reduced, AnyForm, "Reductions combine registers and lanes only.", each(func(r Reduce) string {
		for _, v := range r.Operands() {
			if t := AsTile(v); t != nil && t.Layout != nil {
				if bits, ok := t.Layout.Reduce(int(r.Dim())); !ok || len(bits.Warp)+len(bits.Block) > 0 {
					return "reduces across warps"
				}
			}
		}
		return ""
	})},
	{Converted, AnyForm, "Conversions that are left are renamings and shuffles.", each(func(c ConvertLayout) string {
		from, to := AsTile(c.Source()), AsTile(c.Result())
		if from.Layout != nil && to.Layout != nil && layout.Convert(*from.Layout, *to.Layout).Kind > layout.Shuffle {
			return "must go through shared memory"
		}
		return ""
	})},
	{Columned, AnyForm, "Products of the tensor unit, and what gives them sums or takes them, have columns of tensor memory.", columned},
	{Columned, AnyForm, "Tensor memory is acquired, then found by all that use it, and released.", each(func(a AllocTensor) string {
		return foundFirst(a.Result(), OpTensorAddress, OpTensorRelease, OpTensorAcquire)
	})},
	{Columned, AnyForm, "Warps of a plan that only issue copies have a role.", each(func(e Entry) string {
		if p := e.Plan(); p != nil && p.Producers > 0 && len(ir.OpsOf[Roles](e.Op.Body())) == 0 {
			return fmt.Sprintf("has a plan of %d warps that only issue copies, and no roles", p.Producers)
		}
		return ""
	})},
	{Synchronized, AnyForm, "No more products of the tensor unit are in flight than there are mbarriers for them.", each(func(e Entry) string {
		if over := PendingProducts(e.Op).Over; len(over) > 0 {
			return fmt.Sprintf("has a '%s' that may begin product %d that nothing has waited for", over[0].Name(), ProductMbarriers+1)
		}
		return ""
	})},
	{Allocated, AnyForm, "Every buffer has its place.", each(func(a AllocShared) string { _, ok := a.Offset(); return has(ok, "offset") })},
	{Allocated, AnyForm, "Every entry knows its shared memory.", each(func(e Entry) string { _, ok := e.SharedBytes(); return has(ok, "shared_bytes") })},
}

// CheckForm checks the rules of a form. Modules of other dialects are of AnyForm and not checked.
func CheckForm(module *ir.Op, f Form) error {
	if module.Def.Dialect != Dialect.Name {
		return nil
	}
	return check(module, f, func(r *Rule) bool { return r.From <= f && (r.Until == AnyForm || r.Until > f) })
}

// check applies rules to a module of form f.
func check(module *ir.Op, f Form, applies func(*Rule) bool) error {
	var wrong error
	ir.Walk(module, ir.PreOrder, func(op *ir.Op) {
		for i := range rules {
			r := &rules[i]
			if wrong != nil || !applies(r) {
				continue
			}
			if says := r.Check(op); says != "" {
				wrong = &Broken{Op: op, Says: says, Rule: r, form: f}
			}
		}
	})
	return wrong
}

// Broken is a rule that an op breaks.
type Broken struct {
	Op   *ir.Op
	Says string // what is wrong
	Rule *Rule
	form Form
}

func (b *Broken) Error() string {
	return fmt.Sprintf("with %s: %s\n%s", b.form.Noun(), b.Message(), ir.OpText(b.Op))
}

// Message is the error without the op's text and the form.
func (b *Broken) Message() string {
	return fmt.Sprintf("'%s' op %s, but: %s", b.Op.Name(), b.Says, b.Rule.Says)
}

// each is a check of the ops that are T.
func each[T ir.Typed](check func(T) string) func(op *ir.Op) string {
	return func(op *ir.Op) string {
		if t, ok := ir.As[T](op); ok {
			return check(t)
		}
		return ""
	}
}

// not is a check that forbids ops.
func not(codes ...ir.Code) func(op *ir.Op) string {
	return func(op *ir.Op) string {
		if slices.Contains(codes, op.Code()) {
			return "is not legal yet"
		}
		return ""
	}
}

// has is the message for a missing attribute.
func has(there bool, attr string) string {
	if !there {
		return "has no " + attr
	}
	return ""
}

// tileTypes applies a check to the tile types of all results and block arguments.
func tileTypes(check func(t *TileType) string) func(op *ir.Op) string {
	return func(op *ir.Op) string {
		for _, r := range op.Results() {
			if t := AsTile(r); t != nil {
				if wrong := check(t); wrong != "" {
					return wrong
				}
			}
		}
		for b := range op.Blocks() {
			for _, a := range b.Args() {
				if t := AsTile(a); t != nil {
					if wrong := check(t); wrong != "" {
						return wrong
					}
				}
			}
		}
		return ""
	}
}

func accesses(op *ir.Op) string {
	a, ok := ir.As[AccessOp](op)
	if !ok || ir.Is[AsyncCopy](op) {
		return ""
	}
	if p, ok := ir.As[PtrAccess](op); ok {
		if len(AsTile(p.Ptr()).Shape) == 0 {
			return ""
		}
	} else if a.Masked() == nil {
		return "has no masked"
	}
	_, ok = a.Vec()
	return has(ok, "vec")
}

// usedBy checks that memory that something uses has users of all these kinds.
func usedBy(memory *ir.Value, codes ...ir.Code) string {
	if memory.FirstUse() == nil {
		return ""
	}
	for _, c := range codes {
		if !slices.ContainsFunc(memory.Uses(), func(u *ir.Use) bool { return u.Owner().Code() == c }) {
			return "has no " + Dialect.Row(c).Name
		}
	}
	return ""
}

// foundFirst checks that memory is released, and that all of its users but those that come before come behind the one by which threads find its address; a release where the
// kernel returns early needs no address.
func foundFirst(memory *ir.Value, address, release ir.Code, before ...ir.Code) string {
	if wrong := usedBy(memory, before[0], address, release); wrong != "" || memory.FirstUse() == nil {
		return wrong
	}
	users := memory.Uses()
	found := users[slices.IndexFunc(users, func(u *ir.Use) bool { return u.Owner().Code() == address })].Owner()
	behind := map[*ir.Op]bool{}
	for op := found; op != nil; op = op.Next() {
		behind[op] = true
	}
	for _, u := range users {
		if u.Owner().Code() == release && u.Owner().Block() != found.Block() && ir.Is[Return](u.Owner().Block().Terminator()) {
			continue
		}
		if !slices.Contains(before, u.Owner().Code()) && !behind[u.Owner().AncestorIn(found.Block())] {
			return fmt.Sprintf("has a %s before its %s", u.Owner().Def.Name, found.Def.Name)
		}
	}
	return ""
}

// columned checks that whatever is in tensor memory has its memory and its column assigned.
func columned(op *ir.Op) string {
	var memory *ir.Value
	var placed bool
	if d, ok := ir.As[Dot](op); ok && d.Atom() != nil && d.Atom().Atom.Tensor != nil {
		memory = d.Memory()
		_, placed = d.Column()
	} else if o, ok := ir.As[SumsOp](op); ok {
		if _, there := ProductOf(o); !there {
			return "" // a dot_land of warpgroups
		}
		memory = o.Memory()
		_, placed = o.Column()
	} else if f, ok := ir.As[FactorStore](op); ok {
		memory = f.Memory()
		_, placed = f.Column()
	} else {
		return ""
	}
	return has(memory != nil && placed, "columns")
}

// oneLayout compares the layouts of all tiles of rank 1 or more of an op.
func oneLayout(op *ir.Op) string {
	if op.Def.Dialect != Dialect.Name || !op.Traits().Has(ir.Elementwise) && !ir.Is[PtrAccess](op) && !ir.Is[PointerBlock](op) {
		return ""
	}
	return sameLayouts(append(op.Operands(), op.Results()...)...)
}
