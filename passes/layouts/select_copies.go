package layouts

import (
	"math"
	"slices"

	"tileiras/codegen/atom"
	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/codegen/target"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/facts"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// SelectCopies sends loads that only feed the matrix unit straight to shared memory, past the registers:
//
//	%t = tiled_load %block                      %b = alloc_shared                       (swizzled)
//	%a = convert_layout %t : -> #mma_a    =>         async_copy %block, %b; async_commit
//	     dot %a, ..                                  async_wait 0
//	                                            %a = buffer_load %b                     (ldmatrix)
//	                                                 dot %a, ..
//
// What else takes the tile, in a loop, as the squares of a norm fused to a product do, reads it from there as it was loaded.
//
// A load through pointers becomes a copy of a pointer_block, if what its pointers and its mask follow from can be computed iterations ahead.
// Copies are waited for in front of the dot that reads them; pipeline-loops lets them run iterations ahead. The copy's token takes the place
// of the load's; insert-barriers puts an earlier wait before a write that comes after it.
func SelectCopies(s *pass.State) error {
	scalarsToTiles(s)
	var loads []*ir.Op
	s.WalkRoots(ir.PreOrder, func(op *ir.Op) {
		if kernel.IsPlainLoad(op) {
			loads = append(loads, op)
		}
	})
	known := facts.New(s.Ctx, s.Module)
	turns := sharedSlotLoops(s)
	order := s.Ctx.OrderOf(s.Module)
	rows := &rowLoops{s, known, order, map[*ir.Op][]rowLoad{}, map[*ir.Op][]rowLoad{}, map[*ir.Op][]rowLoad{}}
	for _, load := range loads {
		s.Step()
		if turns[load.ParentOp()] {
			continue
		}
		c := copiedLoad{load: load, order: order, inLoop: load.ParentOp().Code() == tileaa.OpFor}
		if way, ok := c.asyncBuffer(s, known); ok {
			c.copy(s, way)
		} else if l, ok := rows.find(&c); ok {
			l.copy(s, order)
		}
	}
	return nil
}

// sharedSlotLoops are the loops whose products share one slot: shared memory cannot hold all that an iteration loads, but holds the
// operands of one product, and threads have registers for the loads in flight. stage-loads schedules those loads; asynchronous copies would
// have to wait for the products that read the slot.
func sharedSlotLoops(s *pass.State) map[*ir.Op]bool {
	turns := map[*ir.Op]bool{}
	for _, entry := range s.Entries() {
		var alive *kernel.Pressure
		s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
			if op.Code() != tileaa.OpFor || !kernel.StaggersOperands(op) || kernel.RingsFit(s, op.Body().First()) {
				return
			}
			if alive == nil {
				alive = kernel.PressureIn(s, entry)
			}
			turns[op] = registersForSharedSlot(s, op, tileaa.PlanOf(entry), alive)
		})
	}
	return turns
}

// registersForSharedSlot reports whether a thread has registers for the biggest tile that an iteration loads, beside accumulators and
// loop-invariant factors.
func registersForSharedSlot(s *pass.State, loop *ir.Op, plan *tileaa.PlanAttr, alive *kernel.Pressure) bool {
	most, stay := 0, 0
	for _, op := range loop.Body().Ops() {
		switch {
		case kernel.IsPlainLoad(op):
			most = max(most, kernel.RegistersOf(op.Result(0)))
		case tileaa.IsProduct(op):
			for _, v := range op.Operands()[:2] {
				if ir.DefinedOutside(v, loop) {
					stay += kernel.RegistersOf(v)
				}
			}
		}
	}
	limit := plan.Registers(cost.ThreadRegisters(s.Target, plan.Warps)) // assign-roles may find no work for producers
	return alive.During(loop, plan.Warps)+stay+most+kernel.StagingReserve <= limit
}

// copiedLoad is a load that asynchronous copies replace, with its users.
type copiedLoad struct {
	load       *ir.Op
	order      ir.Order
	inLoop     bool // the load is in a loop
	converts   []*conversion
	store      tileaa.BufferStore // to the buffer that wgmma, or threads with scalar products, read
	otherUsers []*ir.Op           // users that take the tile as it was loaded
}

// conversion is a layout conversion of a loaded tile, with the views (reshapes and permutes) in between, the last first.
type conversion struct {
	op    *ir.Op
	views []*ir.Op
	read  layout.Layout // of the tile as it was loaded, if the conversion came before what stands between
	atom  string
}

func (c *copiedLoad) stored() bool { return c.store.Op != nil }

// asyncBuffer finds the users of a load, and the buffer to which asynchronous copies can bring it.
func (c *copiedLoad) asyncBuffer(s *pass.State, known *facts.Facts) (way copyWay, ok bool) {
	c.find(c.load.Result(0), nil)
	if c.asItIs() || !kernel.CanCopyAsync(known, c.load) || kernel.LoadedBytes(c.load) > s.Target.SharedOptIn { // lower-conversions takes it in parts
		return way, false
	}
	return c.buffer(s)
}

// asItIs reports whether what uses the tile takes it as it was loaded.
func (c *copiedLoad) asItIs() bool {
	return len(c.converts) == 0 && !c.stored() || len(c.otherUsers) > 0 && !c.multiplied()
}

// multiplied reports whether a product in a loop uses the tile.
func (c *copiedLoad) multiplied() bool {
	return c.load.ParentOp().Code() == tileaa.OpFor && (c.stored() || slices.ContainsFunc(c.converts, func(u *conversion) bool {
		return slices.ContainsFunc(u.op.Result(0).Uses(), func(u *ir.Use) bool { return tileaa.IsProduct(u.Owner()) })
	}))
}

// find lists the users of a tile through views: conversions, a store that only products read, and others. Of users behind the views in
// between it reports false if there are others.
func (c *copiedLoad) find(v *ir.Value, between []*ir.Op) bool {
	for _, u := range c.order.Uses(v) {
		switch op := u.Owner(); {
		case op.Code() == tileaa.OpConvertLayout:
			c.converts = append(c.converts, &conversion{op: op, views: between})
			continue
		case op.Code() == tileaa.OpBufferStore && len(between) == 0 && !c.stored() && c.onlyMultiplied(ir.Cast[tileaa.BufferStore](op)):
			c.store = ir.Cast[tileaa.BufferStore](op)
			continue
		case tileaa.IsRelabeling(op):
			known := len(c.converts)
			if c.find(op.Result(0), slices.Insert(slices.Clone(between), 0, op)) && len(c.converts) > known {
				continue
			}
			c.converts = c.converts[:known]
		}
		if len(between) > 0 {
			return false
		}
		c.otherUsers = append(c.otherUsers, u.Owner())
	}
	return true
}

// onlyMultiplied reports whether products behind a store read its buffer, and nobody else does.
func (c *copiedLoad) onlyMultiplied(store tileaa.BufferStore) bool {
	_, own := ir.DefinedBy[tileaa.AllocShared](store.Buffer())
	readers := slices.DeleteFunc(tileaa.BufferUsers(store.Buffer()), func(op *ir.Op) bool { return op == store.Op })
	return own && len(readers) > 0 && !slices.ContainsFunc(readers, func(op *ir.Op) bool {
		return !tileaa.IsProduct(op) || c.order[op] < c.order[store.Op] || op.AncestorIn(store.Op.Block()) == nil
	})
}

// runs reports whether n neighbours along a dimension are contiguous in a buffer.
func runs(m *layout.MemLayout, dim, n int) bool {
	for i := 0; 1<<i < n; i++ {
		if m.Linear(layout.Bit(m.Shape(), dim, i)) != 1<<i {
			return false
		}
	}
	return true
}

// copyWidth is the vector width of a load's copies in elements, in a layout: that of its accesses, or what the layout gives a thread contiguously, if
// some copy instruction is as wide.
func copyWidth(s *pass.State, load *ir.Op, l *layout.Layout) (vec int, ok bool) {
	t, access := tileaa.AsTile(load.Result(0)), ir.Cast[tileaa.AccessOp](load)
	width, _ := access.Vec()
	vec = int(width)
	if l != nil {
		fast, _ := access.Fast()
		vec = layout.Strided(l.Shape(), layout.FastestFirst(int(fast), l.Rank())).MaxVec(*l, vec)
		if p, ok := ir.As[tileaa.Load](load); ok && p.Left() != nil && vec < int(width) { // it counts the elements of wider accesses
			return vec, false
		}
	}
	bytes := vec * tileaa.ElemBytes(t.Elem)
	return vec, !ir.IsInt(t.Elem, 1) && atom.CanCopy(s.Target, bytes)
}

// copyWay is how a load is copied: from the layout src, vec elements an access, to a buffer of the memory layout mem.
type copyWay struct {
	src layout.Layout
	vec int
	mem layout.MemLayout
}

// copySource is the layout in which threads copy a load, and the elements of an access: as it is loaded, or, where that gives a thread too few neighbours, as each of
// many threads has one element of a row, in the widest accesses of fewer threads. Pointers, and numbers of rows, lie in the layout of the load.
func copySource(s *pass.State, load *ir.Op) (l layout.Layout, vec int, ok bool) {
	l = *tileaa.LayoutOf(load.Result(0))
	vec, ok = copyWidth(s, load, &l)
	block, tiled := tileaa.BlockOf(load)
	if ok || !tiled {
		return l, vec, ok
	}
	if _, sparse := block.SparseDim(); sparse {
		return l, vec, ok
	}
	access := ir.Cast[tileaa.AccessOp](load)
	width, _ := access.Vec()
	fast, _ := access.Fast()
	l = layout.Blocked(l.Shape(), int(width), layout.FastestFirst(int(fast), l.Rank()), l.Warps())
	vec, ok = copyWidth(s, load, &l)
	return l, vec, ok
}

// begin begins the copies of a load to a buffer.
func (way copyWay) begin(b *ir.Builder, load *ir.Op, buffer *ir.Value) tileaa.AsyncCopy {
	access := ir.Cast[tileaa.AccessOp](load)
	width := int64(way.vec)
	fast, _ := access.Fast()
	var when *ir.Value
	if p, ok := ir.As[tileaa.PredicatedOp](load); ok {
		when = p.When()
	}
	c := tileaa.NewAsyncCopy(b, placeOf(b, load), buffer, &tileaa.LayoutAttr{Layout: way.bestLayout(load)}, tileaa.AsyncCopyOptions{
		Token: tileaa.TokenBefore(load), When: when, Vec: &width, Fast: &fast, Narrow: access.Narrow(), Masked: access.Masked(), CoordinateBits: access.CoordinateBits(),
		Ragged: access.Ragged()})
	tileaa.NewAsyncCommit(b)
	return c
}

// bestLayout is that in which threads copy a load: src, or one with fewer bank conflicts if each access brings a whole
// row of a block, so that coalescing does not depend on which lanes are neighbours.
func (way copyWay) bestLayout(load *ir.Op) layout.Layout {
	l := way.src
	fast, _ := ir.Cast[tileaa.AccessOp](load).Fast()
	block, ok := tileaa.BlockOf(load)
	if !ok || l.Shape()[fast] > way.vec {
		return l
	}
	if _, sparse := block.SparseDim(); sparse {
		return l
	}
	passes := func(l layout.Layout) int {
		n, _, _, err := layout.Wavefronts(way.mem, l, tileaa.ElemBytes(tileaa.AsTile(load.Result(0)).Elem), way.vec)
		if err != nil {
			return math.MaxInt
		}
		return n
	}
	if o := way.mem.InOrder(l); passes(o) < passes(l) {
		return o
	}
	return l
}

// buffer is the way to the one from which all that uses a weak load reads, if cp.async can fill it: whole vectors of 4, 8 or 16 bytes, padding with zeros (the
// instruction's zero fill) or with nothing in particular. A factor of a product may be one of another product, transposed.
func (c *copiedLoad) buffer(s *pass.State) (way copyWay, ok bool) {
	src, width, wide := copySource(s, c.load)
	if !wide {
		return way, false
	}
	var mem layout.MemLayout
	if c.stored() {
		mem = *c.store.Buffer().Type().(*tileaa.BufferType).Mem
		fast, _ := ir.Cast[tileaa.AccessOp](c.load).Fast()
		if !runs(&mem, int(fast), width) || mem.MaxVec(src, width) != width {
			return way, false
		}
	}
	for i, u := range c.converts {
		if len(u.views) > 0 && !kernel.RingsFit(s, u.op) {
			return way, false
		}
		u.read = *tileaa.LayoutOf(u.op.Result(0))
		for _, op := range u.views {
			u.read = operandLayout(op, op.Operand(0), u.read)
		}
		if c.stored() {
			if _, u.atom = matrixRead(s, mem, u.read, tileaa.ElemBits(tileaa.AsTile(c.load.Result(0)).Elem)); u.atom == "" {
				return way, false
			}
			continue
		}
		m, name, ok := copyBuffer(s, u.op, src, u.read, c.inLoop && !u.forFactor(s))
		if !ok || m.MaxVec(src, width) != width || i > 0 && !m.Equal(mem) {
			return way, false
		}
		mem, u.atom = m, name
	}
	return copyWay{src, width, mem}, true
}

// copy copies to a buffer what is loaded. Reshapes and permutes that stand between the load and its conversions are made after the way through
// shared memory: they only name elements anew.
func (c *copiedLoad) copy(s *pass.State, way copyWay) {
	b := ir.NewBuilder(s.Ctx).Before(c.load)
	b.Loc = c.load.Loc()
	var buf *ir.Value
	if c.stored() {
		buf = c.store.Buffer()
		buf.DefiningOp().MoveBefore(c.load)
	} else {
		src := tileaa.AsTile(c.load.Result(0))
		buf = tileaa.NewAllocShared(b, tileaa.Buffer(s.Ctx, src.Elem, way.mem, src.Shape...), tileaa.AllocSharedOptions{}).Result()
	}
	begun := way.begin(b, c.load, buf)
	alone := len(c.converts) == 1 && !c.stored() && len(c.otherUsers) == 0
	if first := c.firstUse(); !alone && !afterWait(first) {
		b.Before(first)
		tileaa.NewAsyncWait(b, 0)
	}
	for _, u := range c.converts {
		u.readFrom(s, b, buf, alone)
	}
	if c.stored() {
		c.store.Op.Erase()
	}
	if len(c.otherUsers) > 0 {
		b.Before(c.firstOf(map[*ir.Op]bool{}, c.otherUsers))
		c.load.Result(0).ReplaceAllUsesWith(tileaa.NewBufferLoad(b, tileaa.AsTile(c.load.Result(0)), buf, tileaa.BufferLoadOptions{}).Result())
	}
	c.load.Result(1).ReplaceAllUsesWith(begun.ResultToken())
	c.load.Erase()
}

// firstUse is the first op after a load in its block in which something reads what it brings.
func (c *copiedLoad) firstUse() *ir.Op {
	reads := map[*ir.Op]bool{}
	for _, u := range c.converts {
		reads[u.op.AncestorIn(c.load.Block())] = true
	}
	if c.stored() {
		for _, op := range tileaa.BufferUsers(c.store.Buffer()) {
			if op != c.store.Op {
				reads[op.AncestorIn(c.load.Block())] = true
			}
		}
	}
	return c.firstOf(reads, c.otherUsers)
}

// firstOf is the first op after a load in its block that is one of some, or holds one of a list.
func (c *copiedLoad) firstOf(some map[*ir.Op]bool, list []*ir.Op) *ir.Op {
	for _, op := range list {
		some[op.AncestorIn(c.load.Block())] = true
	}
	op := c.load.Next()
	for !some[op] {
		op = op.Next()
	}
	return op
}

// readFrom replaces a conversion by reads of a buffer, behind a wait for its copies if wait says so.
func (u *conversion) readFrom(s *pass.State, b *ir.Builder, buf *ir.Value, wait bool) {
	places := readers(s, u.op)
	at := places[0]
	if at.Block() == u.op.Block() {
		b.Before(at)
	} else {
		b.Before(u.op) // the loop that reads it may not run at all
	}
	if wait && (at.Block() != u.op.Block() || !afterWait(at)) {
		tileaa.NewAsyncWait(b, 0)
	}
	tile := buf.Type().(*tileaa.BufferType)
	for _, at := range places {
		b.Before(at)
		read := tileaa.NewBufferLoad(b, tileaa.Tile(s.Ctx, tile.Elem, tile.Shape...).WithLayout(s.Ctx, u.read), buf, tileaa.BufferLoadOptions{Atom: u.atom}).Result()
		take(u.op, at, cloneOnto(s, b, u.views, read, u.read))
	}
	u.op.Erase()
	for _, op := range u.views {
		if !op.Result(0).HasUses() {
			op.Erase()
		}
	}
}

// placeOf is the block from which a load reads.
func placeOf(b *ir.Builder, load *ir.Op) *ir.Value {
	l, ok := ir.As[tileaa.Load](load)
	if !ok {
		return ir.Cast[tileaa.TiledLoad](load).Block()
	}
	t := tileaa.AsTile(l.Result())
	return tileaa.NewPointerBlock(b, tileaa.Block(b.Ctx, t.Elem, t.Shape...), l.Ptr(), tileaa.PointerBlockOptions{Mask: l.Mask(), Left: l.Left()}).Result()
}

// take makes the user at a place of a conversion use what was read there; where the conversion is the place, all its users.
func take(conv, at *ir.Op, v *ir.Value) {
	for _, u := range conv.Result(0).Uses() {
		if at == conv || u.Owner() == at {
			u.Owner().SetOperand(u.Index(), v)
		}
	}
}

// cloneOnto clones a list of views, the last first, onto another value in layout l.
func cloneOnto(s *pass.State, b *ir.Builder, list []*ir.Op, v *ir.Value, l layout.Layout) *ir.Value {
	for _, op := range slices.Backward(list) {
		l = resultLayout(op, l)
		v = b.Clone(op, ir.Mapping{op.Operand(0): v}).Result(0)
		v.SetType(tileaa.AsTile(op.Result(0)).WithLayout(s.Ctx, l))
	}
	return v
}

// layoutAfter is a layout after a list of views, the last first.
func layoutAfter(list []*ir.Op, l layout.Layout) layout.Layout {
	for _, op := range slices.Backward(list) {
		l = resultLayout(op, l)
	}
	return l
}

// resultLayout is the layout of the result of a reshape or a permute of an operand of layout l.
func resultLayout(op *ir.Op, l layout.Layout) layout.Layout {
	switch op.Code() {
	case tileaa.OpReshape:
		return l.Reshape(layout.Dims(tileaa.ShapeOf(op.Result(0))))
	case tileaa.OpPermute:
		return l.Permute(tileaa.PermutationOf(op))
	case tileaa.OpFtof:
		return l
	}
	panic("BUG: " + op.Name() + " does more than name elements anew")
}

// copyBuffer is the buffer through which a tile goes from the layout of copies, in rows, to that of its reader: one from which ldmatrix
// reads, else, for the operand of a product, and for what threads compute with in a loop, the swizzle with the fewest bank conflicts, of equals that of
// the fewest bits: each takes another address. An operand that lanes could tell each other stays in registers, but for scales: nothing would load them ahead. So does
// what several threads take, if they read more than twice as often as through a memory that is made for it.
func copyBuffer(s *pass.State, conv *ir.Op, src, dst layout.Layout, computed bool) (mem layout.MemLayout, name string, ok bool) {
	elem := tileaa.AsTile(conv.Result(0)).Elem
	mem, name, ok = matrixBuffer(s, src, dst, tileaa.ElemBits(elem))
	product := tileaa.OnlyProductsTake(conv.Result(0))
	if ok || !product && !computed || src.InBits(layout.Reg) == 0 && product || layout.Convert(src, dst).Kind != layout.Shared && !becomesScales(conv.Result(0)) {
		return mem, name, ok
	}
	bits := tileaa.ElemBits(elem)
	var least cost.Cost
	for rowBits := range layout.SwizzleBits + 1 {
		for places := range layout.SwizzleBits {
			m := rowBuffer(src, tileaa.ElemBytes(elem), 0, rowBits, places)
			c, err := cost.SharedAccess(m, dst, bits, m.MaxVec(dst, 16/cost.Bytes(bits)))
			if err == nil && (!ok || c.Quarters() < least.Quarters()) {
				mem, least, ok = m, c, true
			}
		}
	}
	if !product && dst.InBits(layout.Reg) > src.InBits(layout.Reg) { // threads read the same
		_, c := cost.Conversion(src, dst, bits)
		ok = ok && least.Instrs <= 2*c.Instrs && least.Waves <= c.Waves
	}
	return mem, "", ok
}

// forFactor reports whether what a conversion gives is computed with for a factor that products read in shared memory, where it is stored.
func (u *conversion) forFactor(s *pass.State) bool {
	if !target.ByGroup.On(s.Target) {
		return false
	}
	v := u.op.Result(0)
	for n := 0; n < maxWidening && v.HasOneUse() && cheap(v.FirstUse().Owner()) && v.FirstUse().Owner().NumResults() == 1; n++ {
		s.Step()
		v = v.FirstUse().Owner().Result(0)
	}
	return v.HasOneUse() && tileaa.IsProduct(v.FirstUse().Owner()) && v.FirstUse().Index() < 2
}

// readers are the places to read the buffer of a conversion: in front of its only user, so that the copies of a dot's two operands
// are under way together and nothing is held in registers meanwhile; else where the conversion was. Dots in inner loops that have not
// enough registers for their operand read it in every iteration.
func readers(s *pass.State, conv *ir.Op) (places []*ir.Op) {
	uses := conv.Result(0).Uses()
	switch {
	case len(uses) == 0:
		return []*ir.Op{conv}
	case len(uses) == 1 && uses[0].Owner().Block() == conv.Block():
		return []*ir.Op{uses[0].Owner()}
	}
	for _, u := range uses {
		user := u.Owner()
		if user.Block() == conv.Block() || !tileaa.IsProduct(user) || kernel.HoldsInvariantFactors(s, user.ParentOp(), tileaa.WarpsOf(user), kernel.RegistersOf) {
			return []*ir.Op{conv}
		}
		if !slices.Contains(places, user) {
			places = append(places, user)
		}
	}
	return places
}

// afterWait reports whether a wait for all copies stands among the reads in front of an op already.
func afterWait(at *ir.Op) bool {
	for op := at.Prev(); op != nil; op = op.Prev() {
		switch op.Code() {
		case tileaa.OpAsyncWait:
			return true
		case tileaa.OpBufferLoad:
		default:
			if !op.Traits().Has(ir.Pure) {
				return false
			}
		}
	}
	return false
}

// swizzleWidth is the longest row, in bytes, over which 16-byte chunks are permuted: all 32 banks.
const swizzleWidth = 128

// matrixBuffer is a swizzled buffer that the source layout writes in rows and from which ldmatrix reads the destination layout, with the fewest bank
// conflicts: swizzled within its own rows, as tensor maps have it (PTX ISA, "Swizzling modes"), or across rows that are shorter than all banks, or, as every
// other row is read together where pairs of 8 bits are transposed, without the lowest bit of the row.
func matrixBuffer(s *pass.State, src, dst layout.Layout, elemBits int) (mem layout.MemLayout, name string, ok bool) {
	if elemBits != 8 && elemBits != 16 && elemBits != 32 || src.InBits(layout.Reg) == 0 {
		return
	}
	bytes, fewest := elemBits/8, 0
	candidates := []layout.MemLayout{rowBuffer(src, bytes, 0, layout.SwizzleBits, 0), rowBuffer(src, bytes, 1, layout.SwizzleBits, 0)}
	if shape, fast := src.Shape(), fastDim(src); shape[fast]*bytes < swizzleWidth { // else the first one is this
		candidates = slices.Insert(candidates, 0, matrixRows(shape, fast, bytes))
	}
	for _, m := range candidates {
		p, read := matrixRead(s, m, dst, elemBits)
		if read == "" {
			continue
		}
		if conflict := p.Conflict(m, elemBits); !ok || conflict < fewest {
			mem, name, ok, fewest = m, read, true, conflict
		}
		if fewest == 1 {
			break
		}
	}
	return mem, name, ok
}

// matrixRead is the ldmatrix that reads a layout from a buffer; "" if none does.
func matrixRead(s *pass.State, mem layout.MemLayout, dst layout.Layout, elemBits int) (p layout.MatrixPlan, name string) {
	for _, trans := range []bool{false, true} {
		if p, ok := layout.LdMatrix(mem, dst, elemBits, trans); ok {
			if name := atom.LoadMatrix(s.Target, p); name != "" {
				return p, name
			}
		}
	}
	return p, ""
}

// rowBuffer is a swizzled buffer that a layout fills in rows, along what neighbouring registers hold.
func rowBuffer(src layout.Layout, elemBytes, first, rowBits, places int) layout.MemLayout {
	return layout.SwizzledRotated(src.Shape(), layout.FastestFirst(fastDim(src), src.Rank()), elemBytes, swizzleWidth, first, rowBits, places)
}

// fastDim is the dimension along which the first registers of a layout lie, the last one where there is none.
func fastDim(l layout.Layout) int {
	shape := l.Shape()
	fast := len(shape) - 1
	for d := range shape {
		if shape[d] > 1 && l.InBits(layout.Reg) > 0 && l.Basis(layout.Reg, 0) == layout.Bit(shape, d, 0) {
			fast = d
		}
	}
	return fast
}
