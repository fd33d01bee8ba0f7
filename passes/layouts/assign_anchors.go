package layouts

import (
	"slices"

	"tileiras/codegen/atom"
	"tileiras/codegen/cost"
	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// access is the layout of a memory access: wide, coalesced along the dimension where memory runs. A store takes its value as it
// comes when that writes whole sectors already, and a load brings what a product adds to as the product wants it.
func (a *assigner) access(op *ir.Op) anchor {
	t := tileaa.AccessedTile(op)
	if t == nil || len(t.Shape) == 0 {
		return anchor{}
	}
	fast := len(t.Shape) - 1
	vec := 1
	if decided, ok := ir.As[tileaa.AccessOp](op); ok {
		if f, ok := decided.Fast(); ok {
			fast = int(f)
		}
		if v, ok := decided.Vec(); ok {
			vec = int(v)
		}
	}
	if n := a.rowsOf(op); !n.none() {
		return n
	}
	vec = a.widths.limit(op, vec)
	if p, ok := ir.As[tileaa.PtrAccess](op); ok && (ir.Is[tileaa.Load](op) || ir.Is[tileaa.Store](op)) {
		if n := a.strongest(op); vec == 1 && !a.infer(p.Ptr()).none() && !repeats(n.l) {
			return n // computed pointers have no order that another layout would make use of
		}
	}
	switch op.Code() {
	case tileaa.OpTiledStore, tileaa.OpStore:
		if n := a.infer(tileaa.StoredValue(op)); !n.none() {
			if wholeSectors(n.l, fast, tileaa.ElemBytes(t.Elem)) {
				return n
			}
			if l, ok := reblocked(n.l, fast, vec); ok && wholeSectors(l, fast, tileaa.ElemBytes(t.Elem)) {
				return anchor{l, cost.LeaveLoad}
			}
		}
	case tileaa.OpTiledAtomic, tileaa.OpAtomicRmw, tileaa.OpAtomicCas:
		if n := a.strongest(op); !n.none() {
			return n
		}
		return anchor{a.blocked(t, fast, vec, 1), cost.LeaveAtomic}
	case tileaa.OpMultimemStore, tileaa.OpMultimemReduce, tileaa.OpMultimemLoad:
		return anchor{a.blocked(t, fast, vec, min(vec, max(1, multimemBytes/tileaa.ElemBytes(t.Elem)))), cost.LeaveLoad}
	}
	if n := a.accumulatorLayout(op); !n.none() && wholeSectors(n.l, fast, tileaa.ElemBytes(t.Elem)) {
		return n
	}
	if l, ok := a.stagedLayout(op, t, fast, vec); ok {
		return anchor{l, cost.LeaveLoad}
	}
	if l, ok := a.reducedAccess(op, t, fast, vec); ok {
		return anchor{l, cost.LeaveLoad}
	}
	least := 1
	if op.Code() == tileaa.OpTiledLoad && becomesScales(op.Result(0)) {
		least = vec
	}
	return anchor{a.blocked(t, fast, vec, least), cost.LeaveLoad}
}

// accumulatorLayout is the layout of the product, or of the loop of products, that accumulates to a load as its only user.
func (a *assigner) accumulatorLayout(load *ir.Op) anchor {
	if !kernel.IsPlainLoad(load) || !load.Result(0).HasOneUse() {
		return anchor{}
	}
	u := load.Result(0).FirstUse()
	op := u.Owner()
	if tileaa.IsProduct(op) && u.Index() == 2 {
		return anchor{a.dotLayouts(op).C, cost.LeaveLoad}
	}
	if f, ok := ir.LoopOf(op); ok {
		if i := slices.Index(f.Inits(), load.Result(0)); i >= 0 {
			if n := a.infer(f.Carried()[i]); n.weight == cost.LeaveDot {
				return anchor{n.l, cost.LeaveLoad}
			}
		}
	}
	return anchor{}
}

// becomesScales reports whether a value becomes the scales of a product, which are few: asynchronous copies bring them in whole accesses of
// some threads.
func becomesScales(v *ir.Value) bool {
	for u := v.FirstUse(); u != nil; u = u.Next() {
		switch op := u.Owner(); op.Code() {
		case tileaa.OpDot:
			if u.Index() > 2 {
				return true
			}
		case tileaa.OpReshape, tileaa.OpPermute:
			if becomesScales(op.Result(0)) {
				return true
			}
		}
	}
	return false
}

// rowsOf is the layout in which an access of gathered rows wants their numbers, for a load that brings nothing else: every thread loads those that it
// needs, and none passes through shared memory.
func (a *assigner) rowsOf(load *ir.Op) anchor {
	if load.Code() != tileaa.OpLoad || tileaa.IsStrong(load) || !load.Result(0).HasOneUse() {
		return anchor{}
	}
	block, ok := ir.As[tileaa.BlockTile](load.Result(0).Uses()[0].Owner())
	if !ok || !block.Result().HasOneUse() {
		return anchor{}
	}
	n := a.access(block.Result().Uses()[0].Owner())
	if k, sparse := block.SparseDim(); sparse && !n.none() {
		return anchor{alongOnly(n.l, int(k)), n.weight}
	}
	return anchor{}
}

// alongOnly is a layout with all dimensions but one forgotten.
func alongOnly(l layout.Layout, k int) layout.Layout {
	for d := len(l.Shape()) - 1; d >= 0; d-- {
		if d != k {
			l = l.RemoveDim(d)
		}
	}
	return l
}

// repeats reports whether several threads hold the same element.
func repeats(l layout.Layout) bool {
	return l.FreeMask(layout.Lane) != 0 || l.FreeMask(layout.Warp) != 0
}

// multimemBytes is the narrowest access to multicast memory (PTX ISA, "multimem").
const multimemBytes = 4

// wholeSectors reports whether the lanes and registers of a warp cover runs of whole sectors along dimension fast.
func wholeSectors(l layout.Layout, fast, elemBytes int) bool {
	shape := l.Shape()
	inWarp := layout.NewSpan(append(append([]uint64{}, l.Column(layout.Reg)...), l.Column(layout.Lane)...)...)
	run := elemBytes
	for b := 0; 1<<b < shape[fast] && run < cost.SectorBytes; b++ {
		if !inWarp.Contains(layout.Bit(shape, fast, b)) {
			return false
		}
		run *= 2
	}
	lanes := layout.NewSpan(l.Column(layout.Lane)...)
	// One instruction must see the run: all but the register bits of one vector lie in lanes.
	vec := elemBytes
	for b := 0; 1<<b < shape[fast] && vec < cost.SectorBytes; b++ {
		if !lanes.Contains(layout.Bit(shape, fast, b)) && vec >= 16 {
			return false
		}
		vec *= 2
	}
	return true
}

// blocked spreads a tile with vec elements an access along dimension fast; small tiles use narrower accesses so that all
// threads have one, but none of fewer elements than least.
func (a *assigner) blocked(t *tileaa.TileType, fast, vec, least int) layout.Layout {
	shape := layout.Dims(t.Shape)
	if n := len(shape); a.lines[t.Shape[n-1]] && fast == n-1 && shape[fast] >= layout.WarpSize*a.warps {
		return layout.BlockedSpan(shape, max(min(vec, shape[fast]/(layout.WarpSize*a.warps)), least), shape[fast], layout.FastestFirst(fast, n), a.warps)
	}
	if per := int(t.NumElements()) / (layout.WarpSize * a.warps); vec > per {
		vec = max(per, least)
	}
	vec = min(vec, shape[fast])
	return layout.Blocked(shape, vec, layout.FastestFirst(fast, len(shape)), a.warps)
}

// linesOf are the extents along the last dimension of tiles of one line that a loop takes for all lines of another tile, in an entry that neither multiplies nor
// reduces: threads then have the same columns of all lines, so that nobody has to tell another one what is in the one line.
func linesOf(s *pass.State, entry *ir.Op) map[int64]bool {
	lines, apart := map[int64]bool{}, true
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) {
		apart = apart && !tileaa.IsProduct(op) && op.Code() != tileaa.OpReduce && op.Code() != tileaa.OpScan
		if op.Code() != tileaa.OpBroadcast {
			return
		}
		loop, from, to := ir.EnclosingLoop(op), tileaa.ShapeOf(op.Operand(0)), tileaa.ShapeOf(op.Result(0))
		n := len(to) - 1
		one := !slices.ContainsFunc(from[:n], func(x int64) bool { return x > 1 })
		if loop != nil && !ir.DefinedOutside(op.Operand(0), loop) && n > 0 && one && from[n] == to[n] && slices.ContainsFunc(to[:n], func(x int64) bool { return x > 1 }) {
			lines[to[n]] = true
		}
	})
	if !apart {
		return nil
	}
	return lines
}

// stagedLayout is the layout of a load, vec elements an access along dimension fast, whose tile is stored to shared memory for a product,
// maybe computed with on the way, if its rows there differ from those of global memory: they run along another dimension, or their elements
// are wider. Lanes that store together then hold 128 bytes of a row, and others the next row: no bank conflicts.
func (a *assigner) stagedLayout(load *ir.Op, t *tileaa.TileType, fast, vec int) (l layout.Layout, ok bool) {
	m, rows, bytes := a.storedRows(load, fast)
	shape, own := layout.Dims(t.Shape), tileaa.ElemBytes(t.Elem)
	switch {
	case m == nil, len(rows) == 0: // a dimension of one element has no rows
	case !slices.Contains(layout.DimBits(shape, fast), rows[0]):
		// A thread with few elements has a word of a row, and shorter accesses of memory.
		if per := int(t.NumElements()) / (layout.WarpSize * a.warps); own < wordBytes {
			vec = min(vec, max(per*own/wordBytes, wordBytes/own))
		}
		return layout.BlockedAcross(shape, layout.Across{Fast: fast, Vec: vec, Near: cost.SectorBytes / own, Rows: rows, Wide: layout.WidestAccess / own}, a.warps), true
	case bytes > own && vec*bytes > layout.WidestAccess:
		if near := max(vec, swizzleWidth/bytes); m.Group > 0 {
			return layout.BlockedSpan(shape, vec, near, layout.FastestFirst(fast, len(shape)), a.warps), true
		} else if len(shape) > 1 && int(t.NumElements()) >= vec*layout.WarpSize*a.warps { // other lanes have the rest of the rows
			next := layout.DimBits(shape, layout.FastestFirst(fast, len(shape))[1])
			return layout.BlockedAcross(shape, layout.Across{Fast: fast, Vec: vec, Near: near, Rows: next, Wide: 1}, a.warps), true
		}
	}
	return layout.Layout{}, false
}

// wordBytes is a register.
const wordBytes = 4

// factorsOf are the values of an entry of which all goes to one product, through operations that only compute with their elements or name them anew.
func factorsOf(s *pass.State, entry *ir.Op) map[*ir.Value]bool {
	factors := map[*ir.Value]bool{}
	var ops []*ir.Op
	s.Walk(entry, ir.PreOrder, func(op *ir.Op) { ops = append(ops, op) })
	for _, op := range slices.Backward(ops) { // users first
		for _, v := range op.Results() {
			if !v.HasOneUse() {
				continue
			}
			user := v.FirstUse().Owner()
			factors[v] = tileaa.IsProduct(user) || computesOrNames(user) && factors[user.Result(0)]
		}
	}
	return factors
}

// computesOrNames reports whether an op computes with the elements of a tile, or names them anew.
func computesOrNames(op *ir.Op) bool {
	return op.NumResults() == 1 && op.Traits().Has(ir.Elementwise|ir.Pure) || op.Code() == tileaa.OpReshape || op.Code() == tileaa.OpPermute
}

// storedRows is the instruction for which a load brings a factor that lies in shared memory, nil if there is none, the bits of the tile that follow each other in
// rows there, and the bytes of their elements. Memory runs along dimension fast, and so do rows, but for groups of warps that cannot turn them.
func (a *assigner) storedRows(load *ir.Op, fast int) (m *atom.MMA, rows []uint64, bytes int) {
	if !kernel.IsPlainLoad(load) || !a.factors[load.Result(0)] {
		return nil, nil, 0
	}
	var between []*ir.Op // that only name elements anew
	for v := load.Result(0); v.HasOneUse(); {
		a.s.Step()
		u := v.FirstUse()
		op := u.Owner()
		if tileaa.IsProduct(op) {
			d := ir.Cast[tileaa.Dot](op).Atom()
			m = d.Atom
			if u.Index() > 1 || m.Scalar() || m.Group > 0 && !m.ReadsShared(u.Index(), d.Swap) {
				break
			}
			shape := layout.Dims(tileaa.ShapeOf(v))
			l := layout.Must(shape, layout.Bases{Reg: layout.DimBits(shape, len(shape)-1-u.Index())})
			for _, op := range slices.Backward(between) {
				l = operandLayout(op, op.Operand(0), l)
			}
			if rows = l.Column(layout.Reg); m.Group == 0 || m.TakesMNMajor {
				rows = layout.DimBits(layout.Dims(tileaa.ShapeOf(load.Result(0))), fast)
			}
			return m, rows, tileaa.ElemBytes(tileaa.AsTile(v).Elem)
		}
		if !computesOrNames(op) {
			return nil, nil, 0
		}
		if !op.Traits().Has(ir.Elementwise) {
			between = append(between, op)
		}
		v = op.Result(0)
	}
	return nil, nil, 0
}

// reblocked spreads the part of a tile that each warp has in layout l over the warp's own lanes and registers, wide and coalesced
// along dimension fast: the conversion to it stays inside warps. ok is false when warps share elements or a warp's part is not a
// box, or when it would leave lanes without elements.
func reblocked(l layout.Layout, fast, vec int) (layout.Layout, bool) {
	b := l.Bases()
	var warps uint64
	for _, c := range b.Warp {
		if c == 0 || c&(c-1) != 0 {
			return layout.Layout{}, false
		}
		warps |= c
	}
	var queue []uint64
	take := func(d int) {
		for k := 0; 1<<k < l.Shape()[d]; k++ {
			if bit := layout.Bit(l.Shape(), d, k); warps&bit == 0 {
				queue = append(queue, bit)
			}
		}
	}
	take(fast)
	for d := len(l.Shape()) - 1; d >= 0; d-- {
		if d != fast {
			take(d)
		}
	}
	regs, lanes := layout.Log2(vec), len(b.Lane)
	if len(queue) < regs+lanes {
		return layout.Layout{}, false
	}
	return layout.Must(l.Shape(), layout.Bases{
		Reg:  append(append([]uint64{}, queue[:regs]...), queue[regs+lanes:]...),
		Lane: queue[regs : regs+lanes], Warp: b.Warp, Block: b.Block,
	}), true
}

// defaultLayout is for tiles that no anchor reaches: as if they were loaded from a row-major array.
func (a *assigner) defaultLayout(t *tileaa.TileType) layout.Layout {
	return a.blocked(t, len(t.Shape)-1, max(16/max(tileaa.ElemBytes(t.Elem), 1), 1), 1)
}

// scanLayout keeps the scanned axis inside a warp, in the order register bits below lane bits; the other dimensions fill
// the remaining lanes, then the warps, then registers. Warps without elements of their own repeat.
func (a *assigner) scanLayout(op *ir.Op) layout.Layout {
	shape := layout.Dims(tileaa.AsTile(op.Operand(0)).Shape)
	axis, others := bitsApart(shape, tileaa.DimOf(op))
	inRegs := max(len(axis)-layout.LaneBits, 0)
	take := func(n int) (out []uint64) {
		n = min(n, len(others))
		out, others = others[:n], others[n:]
		return out
	}
	lane := slices.Concat(axis[inRegs:], take(layout.LaneBits-len(axis[inRegs:])))
	warp := take(layout.Log2(a.warps))
	return layout.Replicated(shape, slices.Concat(axis[:inRegs], others), lane, warp, a.warps)
}

// bitsApart are the bits of one dimension of a shape, upwards, and those of all others, the last dimension first.
func bitsApart(shape []int, dim int) (axis, others []uint64) {
	for d := len(shape) - 1; d >= 0; d-- {
		for b := 0; 1<<b < shape[d]; b++ {
			if bit := layout.Bit(shape, d, b); d == dim {
				axis = append(axis, bit)
			} else {
				others = append(others, bit)
			}
		}
	}
	return axis, others
}

func rowMajor(rank int) []int { return layout.FastestFirst(rank-1, rank) }

// packed is the layout of the result of a pack or unpack: what a thread makes of its elements, where it holds what belongs together, else a default one.
func (a *assigner) packed(op *ir.Op) anchor {
	n, down := a.infer(op.Operand(0)), packRatio(op)
	if !n.none() {
		if l, ok := repacked(n.l, -down); ok {
			return anchor{l, n.weight}
		}
	}
	t := tileaa.AsTile(op.Result(0))
	if down > 0 { // elements of the operand are the wider ones
		t = tileaa.AsTile(op.Operand(0))
	}
	return anchor{layout.Blocked(layout.Dims(t.Shape), 1, []int{0}, a.warps).Cut(max(0, down)), cost.LeaveDefault}
}

// packRatio is the logarithm of how many elements of its result a pack or unpack makes of one of its operand.
func packRatio(op *ir.Op) int {
	return layout.Log2(int(tileaa.AsTile(op.Result(0)).NumElements())) - layout.Log2(int(tileaa.AsTile(op.Operand(0)).NumElements()))
}

// repacked is the layout of what each 2^n elements of a tile are as one; where n is negative, of what each is as 2^-n.
func repacked(l layout.Layout, n int) (layout.Layout, bool) {
	if n < 0 {
		return l.Cut(-n), true
	}
	return l.Join(n)
}
