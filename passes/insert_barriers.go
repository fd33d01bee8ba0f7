package passes

import (
	"maps"

	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/internal/planted"
	"tileiras/ir"
)

// insert-barriers owns every barrier. One stands
//
//   - between two accesses to overlapping bytes of shared memory of which one writes;
//   - on a token edge between two accesses to global memory of which one writes, unless every element is touched by the same
//     thread on both sides;
//   - behind an acquire and in front of a release, which act for the whole tile block and are executed by one thread.
//
// The state is what happened since the last barrier; a loop's body is walked twice, so that its end meets its beginning; after
// an if it is the union of both ways.
func insertBarriers(s *State) error {
	for _, entry := range s.Entries() {
		w := &fencer{s: s, b: ir.NewBuilder(s.Ctx), warps: planOf(entry).Warps}
		w.block(entry.Body(), &pending{global: map[*ir.Op]bool{}})
	}
	return nil
}

// span is a range of bytes of shared memory.
type span struct {
	lo, hi int
	write  bool
}

// pending is what happened since the last barrier.
type pending struct {
	shared []span
	global map[*ir.Op]bool
}

func (p *pending) clear() { p.shared, p.global = nil, map[*ir.Op]bool{} }

func (p *pending) copy() *pending {
	return &pending{append([]span(nil), p.shared...), maps.Clone(p.global)}
}

// join adds what happened on another way to the same place; it reports whether that was news.
func (p *pending) join(q *pending) (grew bool) {
	for _, r := range q.shared {
		if p.add(r) {
			grew = true
		}
	}
	for op := range q.global { // a set: the order cannot matter
		if !p.global[op] {
			p.global[op] = true
			grew = true
		}
	}
	return grew
}

func (p *pending) add(r span) bool {
	for _, q := range p.shared {
		if q == r {
			return false
		}
	}
	p.shared = append(p.shared, r)
	return true
}

func (p *pending) conflicts(r span) bool {
	for _, q := range p.shared {
		if (q.write || r.write) && q.lo < r.hi && r.lo < q.hi {
			return true
		}
	}
	return false
}

type fencer struct {
	s     *State
	b     *ir.Builder
	warps int
	exits []*pending // states at the continues and breaks of the loops around
}

// block walks a block with the state at its start and leaves the state at its end in p.
func (w *fencer) block(b *ir.Block, p *pending) {
	for op := b.First(); op != nil; op = op.Next() {
		w.op(op, p)
	}
}

func (w *fencer) op(op *ir.Op, p *pending) {
	switch op.Def.Name {
	case "barrier":
		if !op.BoolNamed("warp") || w.warps == 1 {
			p.clear()
		}
		return
	case "for", "loop":
		w.loop(op, p)
		return
	case "if":
		then, other := p.copy(), p.copy()
		for i, r := range op.Regions() {
			if r.Front() != nil {
				w.block(r.Front(), [...]*pending{then, other}[i])
			}
		}
		*p = *then
		p.join(other)
		return
	case "continue", "break":
		if n := len(w.exits); n > 0 {
			w.exits[n-1].join(p)
		}
		return
	}
	acc := accesses(op)
	for _, r := range acc {
		if p.conflicts(r) {
			w.fence(op, p)
			break
		}
	}
	if isGlobal(op) {
		if w.mustWait(op, p) {
			w.fence(op, p)
		}
		p.global[op] = true
	}
	for _, r := range acc {
		p.add(r)
	}
	if next := op.Next(); orders(op, def.Acquire) && (next == nil || next.Def.Name != "barrier") {
		w.b.After(op)
		w.barrier(op.Loc())
	}
}

// loop walks the body until the state at its start no longer grows: what the end of an iteration left pending meets the next.
func (w *fencer) loop(op *ir.Op, p *pending) {
	start := p.copy()
	for {
		end := start.copy()
		out := &pending{global: map[*ir.Op]bool{}}
		w.exits = append(w.exits, out)
		w.block(op.Body(), end)
		w.exits = w.exits[:len(w.exits)-1]
		out.join(end)
		if !start.join(out) {
			*p = *out
			p.join(start)
			return
		}
	}
}

func (w *fencer) fence(op *ir.Op, p *pending) {
	if !planted.On("drop-barrier") || op.Def.Name != "buffer_load" {
		w.b.Before(op)
		w.barrier(op.Loc())
	}
	p.clear()
}

// barrier makes a barrier of the thread block; one warp alone meets by bar.warp.sync.
func (w *fencer) barrier(loc ir.Location) {
	op := w.b.Create(ir.State{Def: opDef(w.s.Ctx, "barrier"), Loc: loc})
	if w.warps == 1 {
		op.SetAttrNamed("warp", ir.UnitAttr{})
	}
}

// accesses are the bytes of shared memory that an op touches.
func accesses(op *ir.Op) []span {
	switch op.Def.Name {
	case "buffer_store", "buffer_insert", "async_copy":
		return []span{bytesOf(op.OperandNamed("buffer"), true)}
	case "buffer_load", "buffer_extract":
		return []span{bytesOf(op.OperandNamed("buffer"), false)}
	case "dot":
		var rs []span
		for _, v := range op.Operands() {
			if _, ok := v.Type().(*tileaa.BufferType); ok {
				rs = append(rs, bytesOf(v, false))
			}
		}
		return rs
	}
	return nil
}

func bytesOf(v *ir.Value, write bool) span {
	t := v.Type().(*tileaa.BufferType)
	lo := int(v.DefiningOp().IntNamed("offset"))
	return span{lo, lo + t.Mem.Size()*tileaa.ElemBytes(t.Elem), write}
}

// isGlobal reports whether an op accesses memory outside the kernel's buffers.
func isGlobal(op *ir.Op) bool {
	switch op.Def.Name {
	case "tiled_load", "tiled_store", "tiled_atomic", "load", "store", "atomic_rmw", "atomic_cas", "async_copy",
		"fence_alias", "gdc_wait", "gdc_launch_dependents":
		return true
	}
	return false
}

func writes(op *ir.Op) bool { return op.Traits().Has(ir.Writes) }

// orders reports whether a memory op has acquire or release semantics.
func orders(op *ir.Op, what uint32) bool {
	if op.Def.AttrIndex("order") < 0 {
		return op.Def.Name == "gdc_wait" && what == def.Acquire
	}
	o := op.EnumNamed("order")
	return o == what || o == def.AcqRel
}

// mustWait reports whether an earlier access that op comes after by its token is still under way in another thread.
func (w *fencer) mustWait(op *ir.Op, p *pending) bool {
	if len(p.global) == 0 {
		return false
	}
	if orders(op, def.Release) || op.Def.Name == "fence_alias" || op.Def.Name == "gdc_launch_dependents" {
		return true
	}
	before := w.before(op.OperandNamed("token"))
	for q := range p.global { // a question about a set: the order cannot matter
		if before[q] && (writes(q) || writes(op)) && !sameThreads(q, op) && !planted.On("lost-token") {
			return true
		}
	}
	return false
}

// before is the set of memory operations that a token comes after.
func (w *fencer) before(token *ir.Value) map[*ir.Op]bool {
	set := map[*ir.Op]bool{}
	seen := map[*ir.Value]bool{}
	var visit func(v *ir.Value)
	visit = func(v *ir.Value) {
		if v == nil || seen[v] {
			return
		}
		seen[v] = true
		if _, ok := v.Type().(*tileaa.TokenType); !ok {
			return
		}
		if v.IsArg() {
			for _, m := range meets(v) {
				visit(m)
			}
			return
		}
		op := v.DefiningOp()
		switch op.Def.Name {
		case "for", "loop", "if":
			for _, m := range meets(v) {
				visit(m)
			}
			if op.Def.Name == "for" {
				visit(op.OperandGroupNamed("inits")[v.Index()])
			}
			return
		}
		if isGlobal(op) {
			set[op] = true
		}
		for _, o := range op.Operands() {
			visit(o)
		}
	}
	visit(token)
	return set
}

// sameThreads reports whether two accesses touch every element by the same thread: the same block or the same pointers, in the
// same layout without replicas, or scalars that one thread handles.
func sameThreads(a, b *ir.Op) bool {
	pa, pb := place0(a), place0(b)
	if pa == nil || pb == nil {
		return false
	}
	ta, tb := accessTile(a), accessTile(b)
	if ta == nil || tb == nil || ta.Layout == nil || tb.Layout == nil || !ta.Layout.Equal(*tb.Layout) {
		return false
	}
	if ta.Layout.FreeMask(layout.Lane) != 0 || ta.Layout.FreeMask(layout.Warp) != 0 {
		return false
	}
	return samePlace(pa, pb)
}

// place0 is the pointer or block operand of an access.
func place0(op *ir.Op) *ir.Value {
	if v := op.OperandNamed("block"); v != nil {
		return v
	}
	return op.OperandNamed("ptr")
}

// samePlace reports whether two pure values are made by equal operations from equal values.
func samePlace(a, b *ir.Value) bool {
	if a == b {
		return true
	}
	x, y := a.DefiningOp(), b.DefiningOp()
	if x == nil || y == nil || x.Def != y.Def || !x.Traits().Has(ir.Pure) || x.NumRegions() > 0 ||
		a.Index() != b.Index() || a.Type() != b.Type() || x.NumOperands() != y.NumOperands() {
		return false
	}
	for i := range x.Attrs() {
		if !ir.AttrEqual(x.Attr(i), y.Attr(i)) {
			return false
		}
	}
	for i := range x.NumOperands() {
		if !samePlace(x.Operand(i), y.Operand(i)) {
			return false
		}
	}
	return true
}
