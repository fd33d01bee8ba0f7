package sync

import (
	"math/bits"
	"slices"

	"tileiras/codegen/layout"
	"tileiras/dialects/tileaa"
	"tileiras/ir"
	"tileiras/passes/facts"
	"tileiras/passes/kernel"
	"tileiras/passes/pass"
)

// This file proves that two accesses need no barrier between them.
//
// A thread sees its own accesses in program order. Two accesses to global memory need nothing more if every byte is touched by one
// thread, the same on both sides:
//
//   - both give every element of their tile to the same one thread: equal layouts, no copies of an element (or only owners act);
//   - both take element k to the same address: equal pointers or blocks, made of values that did not change in between, which those
//     made in a loop did when an earlier round of it is meant;
//   - two elements never lie at a common byte, else two threads meet there (facts.DistinctBlock, facts.DistinctPointers).
//
// For two blocks of a partition of one array the second need not hold: whichever blocks they are, an element of the array has its
// place in its block, and so its thread.
type proofs struct {
	facts   *facts.Facts
	place   map[*ir.Op]numbers
	own     map[[2]*layout.Layout]bool
	injects map[*ir.Value]bool
	threads int
}

// numbers are those of the ops of an op's regions, in program order: its own number to last.
type numbers struct{ number, last int }

func newProofs(s *pass.State, known *facts.Facts, entry *ir.Op) *proofs {
	p := &proofs{facts: known, place: make(map[*ir.Op]numbers, ir.NumOps(entry)), own: map[[2]*layout.Layout]bool{}, injects: map[*ir.Value]bool{},
		threads: bits.TrailingZeros(uint(tileaa.WarpsOf(entry)))}
	n := 0
	var number func(op *ir.Op)
	number = func(op *ir.Op) {
		s.Step()
		n++
		at := n
		for b := range op.Blocks() {
			for o := b.First(); o != nil; o = o.Next() {
				number(o)
			}
		}
		p.place[op] = numbers{at, n}
	}
	number(entry)
	return p
}

// definedInside reports whether a value is made inside a loop.
func (p *proofs) definedInside(v *ir.Value, loop *ir.Op) bool {
	l := p.place[loop]
	if op := v.DefiningOp(); op != nil {
		n := p.place[op].number
		return l.number < n && n <= l.last
	}
	n := p.place[v.Block().ParentOp()].number
	return l.number <= n && n <= l.last
}

// sameThreads reports whether the access e and the later access op touch every byte by the same thread.
func (p *proofs) sameThreads(e covered, op *ir.Op) bool {
	return p.sameThreadsWhere(e.op, op, func(v *ir.Value) bool { return e.carried == nil || !p.definedInside(v, e.carried) })
}

// sameThreadsWhere is sameThreads for values of which fixed says which are the same at both accesses.
func (p *proofs) sameThreadsWhere(a, b *ir.Op, fixed func(*ir.Value) bool) bool {
	pa, pb := tileaa.AccessedPlace(a), tileaa.AccessedPlace(b)
	if pa == nil || pb == nil {
		return false
	}
	la, lb := accessLayout(a), accessLayout(b)
	once := actsOnce(a) && actsOnce(b)
	if la == nil || lb == nil {
		// One element: what acts once acts in thread 0, wherever that is.
		return once && rankOf(a) == 0 && rankOf(b) == 0
	}
	if la != lb && !la.Equal(*lb) || !once && !p.unique(la) {
		return false
	}
	return p.injective(pa) && facts.SamePlace(pa, pb, fixed) || p.samePartition(pa, pb, fixed)
}

// actsOnce reports whether an access is made by the owner of an element alone, not by every thread that has a copy of it.
func actsOnce(op *ir.Op) bool { return kernel.AccessKindsOf(op)&(kernel.Write|kernel.StrongRead) != 0 }

func rankOf(op *ir.Op) int {
	if t := tileaa.AccessedTile(op); t != nil {
		return len(t.Shape)
	}
	return -1
}

// accessLayout is the layout in which threads share an access to global memory; nil if there is none.
func accessLayout(op *ir.Op) *layout.Layout {
	if c, ok := ir.As[tileaa.AsyncCopy](op); ok {
		return &c.Layout().Layout
	}
	if t := tileaa.AccessedTile(op); t != nil {
		return t.Layout
	}
	return nil
}

// unique reports whether no two threads have the same element.
func (p *proofs) unique(l *layout.Layout) bool {
	return l.FreeMask(layout.Lane) == 0 && l.FreeMask(layout.Warp) == 0 && l.InBits(layout.Lane) == layout.LaneBits && l.InBits(layout.Warp) == p.threads
}

// injective reports whether no two elements of a block or of a tile of pointers lie at a common byte.
func (p *proofs) injective(v *ir.Value) bool {
	known, ok := p.injects[v]
	if !ok {
		known = p.facts.DistinctPlace(v)
		p.injects[v] = known
	}
	return known
}

// samePartition reports whether two blocks are of equal partitions of one array, of which no two elements lie at a common byte.
func (p *proofs) samePartition(a, b *ir.Value, fixed func(*ir.Value) bool) bool {
	x, ok := ir.DefinedBy[tileaa.BlockTile](a)
	y, too := ir.DefinedBy[tileaa.BlockTile](b)
	if !ok || !too || a.Type() != b.Type() || !slices.Equal(x.DimMap(), y.DimMap()) || !p.facts.IsPartition(x) || !p.facts.IsPartition(y) {
		return false
	}
	m, ok := ir.DefinedBy[tileaa.MakeMemref](x.Memref())
	return ok && p.facts.DistinctArray(m) && facts.SamePlace(x.Memref(), y.Memref(), fixed)
}

// ownParts reports whether two accesses leave every warp in its own part of a buffer, or of one and of another of its kind that lies where it lay: each element is
// stored and read by one warp, the same.
func (p *proofs) ownParts(a, b span) bool {
	if a.layout == nil || b.layout == nil || a.slot != b.slot || a.buffer != b.buffer && !sameElements(a, b) {
		return false
	}
	key := [2]*layout.Layout{a.layout, b.layout}
	known, ok := p.own[key]
	if !ok {
		known = a.layout.FreeMask(layout.Warp) == 0 && b.layout.FreeMask(layout.Warp) == 0 &&
			layout.ConvertShared(*a.layout, *b.layout).WarpLocal
		p.own[key] = known
	}
	return known
}

// sameElements reports whether each element of a buffer lies where that of the other does.
func sameElements(a, b span) bool {
	return ir.Is[tileaa.AllocShared](a.buffer.DefiningOp()) && ir.Is[tileaa.AllocShared](b.buffer.DefiningOp()) && a.lo == b.lo && a.buffer.Type() == b.buffer.Type()
}

// bufferLayout is the layout in which a buffer is stored or loaded whole; nil for other accesses, and for those to a view, in which elements have other
// coordinates.
func bufferLayout(op *ir.Op) *layout.Layout {
	if s, ok := ir.As[tileaa.BufferStore](op); ok && tileaa.ViewedBuffer(s.Buffer()) == s.Buffer() {
		return tileaa.LayoutOf(s.Value())
	}
	if l, ok := ir.As[tileaa.BufferLoad](op); ok && tileaa.ViewedBuffer(l.Buffer()) == l.Buffer() {
		return tileaa.LayoutOf(l.Result())
	}
	return nil
}

// accesses are the bytes of shared memory that an op touches.
func accesses(op *ir.Op) []span {
	var spans []span
	for _, e := range tileaa.Effects(op) {
		if e.Space == tileaa.SharedSpace && e.Kind&(ir.Read|ir.Write) != 0 {
			spans = append(spans, bytesOf(op, e.Value, e.Kind.Has(ir.Write)))
		}
	}
	return spans
}

// bytesOf is the place of a buffer, for the slot of a ring all of the ring: its slot says more. It is all of shared memory for a buffer
// that is chosen at run time.
func bytesOf(op *ir.Op, v *ir.Value, write bool) span {
	v = tileaa.ViewedBuffer(v)
	r := span{buffer: v, layout: bufferLayout(op), write: write}
	ring := v
	if s, ok := ir.DefinedBy[tileaa.RingSlot](v); ok {
		ring = s.Ring()
		r.buffer, r.slot = ring, slotOf(s)
	}
	var offset int64
	switch alloc := ring.DefiningOp(); {
	case alloc == nil:
		return span{hi: everywhere, write: write}
	case alloc.Code() == tileaa.OpAllocShared:
		offset, _ = ir.Cast[tileaa.AllocShared](alloc).Offset()
	case alloc.Code() == tileaa.OpAllocRing:
		offset, _ = ir.Cast[tileaa.AllocRing](alloc).Offset()
	case alloc.Code() == tileaa.OpAllocTensor, alloc.Code() == tileaa.OpAllocMaps:
		offset, _ = ir.Cast[tileaa.PlacedOp](alloc).Offset()
	default:
		return span{hi: everywhere, write: write}
	}
	size, _ := tileaa.SharedMemory(ring.Type())
	r.lo, r.hi = int(offset), int(offset)+size
	return r
}
