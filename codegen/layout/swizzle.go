package layout

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
)

// Shared memory (CUDA C++ Programming Guide, "Shared Memory") has 32 banks of 4 bytes. An access of more than 4 bytes a lane is split
// into phases of 128 bytes: 16 lanes of 8 bytes, 8 lanes of 16 bytes. Lanes that access the same 4-byte word do not conflict.
const (
	bankBytes = 4
	bankCount = 32
	waveBytes = bankBytes * bankCount
)

// WidestAccess is the bytes of the widest access of a thread to memory.
const WidestAccess = 16

// SharedPlan is a conversion between two layouts through shared memory.
type SharedPlan struct {
	Mem               MemLayout
	StoreVec, LoadVec int // elements per access
}

// SharedLayout chooses a memory layout for the conversion of a tile from src to dst, of elements of elemBytes bytes (a power of
// two, at most 16): wide accesses on both sides and no bank conflicts on either.
//
// The low offset bits V are what the registers of both sides span: a vector for both. Then X, what registers of one side span,
// makes that side's vector wider still, up to 16 bytes. Of the rest, 128 bytes choose the bank, and the others, S, choose the row
// of banks: lanes that differ by an element of V + S meet in a bank. Let A and B be the lanes of one phase of each side (and X, on
// its side), I what they share, E and F the rest of A and B:
//
//	S = { e1+f1, e2+f2, ... } and all that is in neither A nor B
//
// contains neither a lane of A nor one of B: no conflicts. Storing a column and loading a row is e+f: the diagonal.
func SharedLayout(src, dst Layout, elemBytes int) SharedPlan {
	if !slices.Equal(src.shape, dst.shape) {
		panic(fmt.Sprintf("layout: shared memory between %s and another shape %s", src, dst))
	}
	return swizzle{src: src, dst: dst, elemBytes: elemBytes}.best()
}

// FactorLayout is the memory layout of a tile that threads store in layout src, in vectors of at least least elements, and read in layout rows, at one
// coordinate along dim after another. Vector reads across rows are better than those along dim, whose elements a thread must hold in registers until it comes to
// their coordinates: the farther apart, the more of them are live.
func FactorLayout(src, rows Layout, dim, elemBytes, least int) MemLayout {
	places := Log2(src.shape[dim])
	plan := func(near int) SharedPlan {
		c := swizzle{src: src, dst: rows.Repeat(Reg, dim, places), elemBytes: elemBytes}
		for i := near; i < places; i++ {
			c.apart = append(c.apart, Bit(src.shape, dim, i))
		}
		return c.best()
	}
	along := plan(min(places, Log2(manyPlaces)))
	across := plan(0)
	switch {
	case across.LoadVec >= along.LoadVec && across.StoreVec >= least:
		return across.Mem
	case along.StoreVec >= least:
		return along.Mem
	}
	return SharedLayout(src, src, elemBytes).Mem
}

// manyPlaces bounds the distance along dim of the elements of one vector read.
const manyPlaces = 32

// best chooses the plan with the fewest accesses: with vectors V on both sides, or with wider ones, V + X, on one side.
func (c swizzle) best() SharedPlan {
	src, dst := c.src, c.dst
	c.threads = independent(slices.Concat(dst.columns(Lane, Warp, Block), src.columns(Lane, Warp, Block)))
	limit := Log2(WidestAccess / c.elemBytes)
	c.v = c.vector(limit)
	best, _ := c.plan(nil, false)
	accesses := func(p SharedPlan) int { return src.Regs()/p.StoreVec + dst.Regs()/p.LoadVec }
	for _, wideStore := range []bool{false, true} {
		wide := dst
		if wideStore {
			wide = src
		}
		x := firstBits(independent(wide.bases[Reg], c.v, c.apart, wide.columns(Lane, Warp, Block)), limit-len(c.v))
		for ; len(x) > 0; x = x[:len(x)-1] {
			if p, ok := c.plan(x, wideStore); ok && accesses(p) < accesses(best) {
				best = p
				break
			}
		}
	}
	return best
}

// swizzle is one problem of SharedLayout.
type swizzle struct {
	src, dst  Layout
	elemBytes int
	threads   []uint64 // the span of the lanes, warps and blocks of both sides
	apart     []uint64 // elements that no vector may step along
	v         []uint64 // V of SharedLayout
}

// vector is the offset bits V: what registers of both sides span and no thread of either touches, so that every access is aligned.
// The low register bits they have in common come first, so that packed registers stay packed.
func (c swizzle) vector(limit int) []uint64 {
	a, b := c.src.bases[Reg], c.dst.bases[Reg]
	var low []uint64
	for i := 0; i < min(len(a), len(b)) && a[i] == b[i]; i++ {
		low = append(low, a[i])
	}
	return firstBits(independent(slices.Concat(low, Intersect(a, b)), c.threads, c.apart), limit)
}

// plan makes the layout for a given X. ok is false when some thread of the wide side would not be aligned to its vector.
func (c swizzle) plan(x []uint64, wideStore bool) (p SharedPlan, ok bool) {
	n := c.src.OutBits()
	all := slices.Concat(c.threads, units(n)) // threads first: what a thread selects is then a sum of offset bits outside V
	low := slices.Concat(c.v, x)
	narrow, wide := c.elemBytes<<len(c.v), c.elemBytes<<len(low)
	a, b := c.src.bases[Lane], c.dst.bases[Lane]
	if wideStore {
		a, b = b, a
	}
	a, b = firstBits(a, phaseBits(narrow)), firstBits(b, phaseBits(wide))
	// Elements of one 4-byte word share a bank. If a vector is smaller, any elements do as its word mates: best what lanes bring together.
	word := firstBits(independent(slices.Concat(low, a, b, all)), max(len(c.v), Log2(max(1, bankBytes/c.elemBytes))))
	x = independent(x, word)
	a, b = independent(a, word), independent(slices.Concat(b, x), word)
	common := Intersect(slices.Concat(word, a), slices.Concat(word, b))
	e, f := independent(a, word, common), independent(b, word, common)
	rows := independent(all, word, a, b)
	for i := range min(len(e), len(f)) {
		rows = append(rows, e[i]^f[i])
	}
	bank := min(Log2(waveBytes)-Log2(max(narrow, bankBytes)), n-len(word))
	rows = firstBits(rows, n-len(word)-bank)
	slices.SortStableFunc(rows, func(x, y uint64) int { return bits.OnesCount64(y) - bits.OnesCount64(x) })
	rest := independent(all, word, x, rows)
	slices.Sort(rest)
	p.Mem = mustMem(c.src.shape, slices.Concat(word, x, rest, rows), 0, 0)
	p.StoreVec, p.LoadVec = 1<<len(c.v), 1<<len(low)
	if wideStore {
		p.StoreVec, p.LoadVec = p.LoadVec, p.StoreVec
	}
	_, _, ok1 := p.Mem.vectorMap(c.src, p.StoreVec)
	_, _, ok2 := p.Mem.vectorMap(c.dst, p.LoadVec)
	return p, ok1 && ok2
}

// phaseBits is the number of lane bits of one phase of an access of vecBytes bytes a lane.
func phaseBits(vecBytes int) int { return min(LaneBits, Log2(waveBytes/vecBytes)) }

func firstBits(cols []uint64, n int) []uint64 { return cols[:min(n, len(cols))] }

// Wavefronts counts the wavefronts of an access of layout l to m, by enumeration of all warps, accesses and phases, and the ideal
// number, one per phase. worst is the largest number of one phase, the bank conflict. Replicas cost nothing: they access the same word.
func Wavefronts(m MemLayout, l Layout, elemBytes, vec int) (waves, ideal, worst int, err error) {
	v, ok := m.Vectors(l, vec)
	if !ok {
		return 0, 0, 0, fmt.Errorf("layout: no accesses of %d elements between %s and %s", vec, l, m)
	}
	perPhase := min(l.Lanes(), waveBytes/max(elemBytes*vec, bankBytes))
	phases := l.Lanes() / perPhase * len(v.Groups) * l.Warps()
	offsets := make([]int, perPhase)
	phase := func(warp, first int, group uint64) int {
		for i := range offsets {
			offsets[i] = m.padded(v.threadOffset(first+i, warp)^group) * elemBytes
		}
		return waveCount(offsets, elemBytes*vec)
	}
	for warp := range l.Warps() {
		for _, g := range v.Groups {
			for first := 0; first < l.Lanes(); first += perPhase {
				w := phase(warp, first, g.Offset)
				if m.every == 0 { // offsets are linear: two phases differ by an XOR, which permutes banks, so one stands for all
					return w * phases, phases, w, nil
				}
				waves += w
				worst = max(worst, w)
			}
		}
	}
	return waves, phases, worst, nil
}

// InOrder is l with its lane and warp bits sorted by the offset of what they select in m, so that the lanes of an access are close to each other in memory.
// Registers stay.
func (m MemLayout) InOrder(l Layout) Layout {
	list := slices.Concat(l.bases[Lane], l.bases[Warp])
	slices.SortStableFunc(list, func(a, b uint64) int {
		if a == 0 || b == 0 { // replicas come last
			return cmp.Compare(b, a)
		}
		return cmp.Compare(m.Linear(a), m.Linear(b))
	})
	n := len(l.bases[Lane])
	return Must(l.shape, Bases{l.bases[Reg], list[:n], list[n:], l.bases[Block]})
}

// waveCount is the number of wavefronts of a phase: of different 4-byte words in the busiest bank when size bytes are accessed at each byte offset.
func waveCount(offsets []int, size int) int {
	words := make([]int, 0, 4*bankCount)
	for _, o := range offsets {
		for w := o / bankBytes; w <= (o+size-1)/bankBytes; w++ {
			words = append(words, w)
		}
	}
	slices.Sort(words)
	var banks [bankCount]int
	for _, w := range slices.Compact(words) {
		banks[w%bankCount]++
	}
	return slices.Max(banks[:])
}
