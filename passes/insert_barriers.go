package passes

import (
	"maps"
	"slices"

	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/dialects/tileaa/def"
	"tileiras/internal/planted"
	"tileiras/ir"
)

// insert-barriers owns every barrier. One stands
//
//   - between two accesses to overlapping bytes of shared memory of which one writes; a barrier of each warp alone is enough when
//     every warp touches its own part of a buffer on both sides;
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

// span is a range of bytes of shared memory that an op touches. met says that the lanes of each warp have met since.
type span struct {
	op     *ir.Op
	lo, hi int
	write  bool
	met    bool
}

// pending is what happened since the last barrier. Copies in flight are not over yet: they write when their thread has waited for
// them, and no barrier before that makes them visible.
type pending struct {
	shared   []span
	inFlight []span
	global   map[*ir.Op]bool
}

func (p *pending) clear() { p.shared, p.global = nil, map[*ir.Op]bool{} }

func (p *pending) copy() *pending {
	return &pending{slices.Clone(p.shared), slices.Clone(p.inFlight), maps.Clone(p.global)}
}

// land makes the copies in flight writes that have happened.
func (p *pending) land() {
	for _, r := range p.inFlight {
		add(&p.shared, r)
	}
	p.inFlight = nil
}

// join adds what happened on another way to the same place; it reports whether that was news.
func (p *pending) join(q *pending) (grew bool) {
	for _, r := range q.shared {
		grew = add(&p.shared, r) || grew
	}
	for _, r := range q.inFlight {
		grew = add(&p.inFlight, r) || grew
	}
	for op := range q.global { // a set: the order cannot matter
		if !p.global[op] {
			p.global[op] = true
			grew = true
		}
	}
	return grew
}

// add adds a span to a list; it reports whether that was news.
func add(list *[]span, r span) bool {
	if slices.Contains(*list, r) {
		return false
	}
	*list = append(*list, r)
	return true
}

// meeting is who must meet before an access.
type meeting uint8

const (
	nobody meeting = iota
	lanes          // of each warp
	everybody
)

// conflict is who must meet before the access r.
func (p *pending) conflict(r span) meeting {
	who := nobody
	for _, q := range slices.Concat(p.shared, p.inFlight) {
		if !(q.write || r.write) || q.lo >= r.hi || r.lo >= q.hi {
			continue
		}
		switch {
		case !ownParts(q.op, r.op):
			return everybody
		case !q.met:
			who = lanes
		}
	}
	return who
}

// meet notes that the lanes of each warp have met.
func (p *pending) meet() {
	for i := range p.shared {
		p.shared[i].met = true
	}
}

// ownParts reports whether two accesses to one buffer leave every warp in its own part of it: each element is stored and read by one
// warp, the same.
func ownParts(a, b *ir.Op) bool {
	la, lb := bufferLayout(a), bufferLayout(b)
	if la == nil || lb == nil || a.OperandNamed("buffer") != b.OperandNamed("buffer") {
		return false
	}
	return la.FreeMask(layout.Warp) == 0 && lb.FreeMask(layout.Warp) == 0 && layout.ConvertShared(*la, *lb).WarpLocal
}

// bufferLayout is the layout in which a buffer is stored or loaded whole; nil for other accesses.
func bufferLayout(op *ir.Op) *layout.Layout {
	switch op.Def.Name {
	case "buffer_store":
		return layoutOf(op.OperandNamed("value"))
	case "buffer_load":
		return layoutOf(op.Result(0))
	}
	return nil
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
		} else {
			p.meet()
		}
		return
	case "async_wait":
		if op.IntNamed("pending") == 0 {
			p.land()
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
	who := nobody
	for _, r := range acc {
		who = max(who, p.conflict(r))
	}
	switch who {
	case everybody:
		w.fence(op, p)
	case lanes:
		w.b.Before(op)
		w.barrier(op.Loc()).SetAttrNamed("warp", ir.UnitAttr{})
		p.meet()
	}
	if isGlobal(op) {
		if w.mustWait(op, p) {
			w.fence(op, p)
		}
		p.global[op] = true
	}
	for _, r := range acc {
		if op.Def.Name == "async_copy" {
			add(&p.inFlight, r)
		} else {
			add(&p.shared, r)
		}
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
func (w *fencer) barrier(loc ir.Location) *ir.Op {
	op := w.b.Create(ir.State{Def: opDef(w.s.Ctx, "barrier"), Loc: loc})
	if w.warps == 1 {
		op.SetAttrNamed("warp", ir.UnitAttr{})
	}
	return op
}

// accesses are the bytes of shared memory that an op touches.
func accesses(op *ir.Op) []span {
	switch op.Def.Name {
	case "buffer_store", "buffer_insert", "async_copy":
		return []span{bytesOf(op, op.OperandNamed("buffer"), true)}
	case "buffer_load", "buffer_extract":
		return []span{bytesOf(op, op.OperandNamed("buffer"), false)}
	case "dot":
		var rs []span
		for _, v := range op.Operands() {
			if _, ok := v.Type().(*tileaa.BufferType); ok {
				rs = append(rs, bytesOf(op, v, false))
			}
		}
		return rs
	}
	return nil
}

func bytesOf(op *ir.Op, v *ir.Value, write bool) span {
	t := v.Type().(*tileaa.BufferType)
	lo := int(v.DefiningOp().IntNamed("offset"))
	return span{op: op, lo: lo, hi: lo + t.Mem.Size()*tileaa.ElemBytes(t.Elem), write: write}
}

// isGlobal reports whether an op accesses memory outside the kernel's buffers.
func isGlobal(op *ir.Op) bool {
	switch op.Def.Name {
	case "tiled_load", "tiled_store", "tiled_atomic", "multimem_store", "multimem_reduce", "multimem_load",
		"load", "store", "atomic_rmw", "atomic_cas", "async_copy", "fence_alias", "gdc_wait", "gdc_launch_dependents":
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
