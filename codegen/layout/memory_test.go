package layout

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSwizzleOf128BytesAsAGrid(t *testing.T) {
	// 8 rows of 8 chunks of 16 bytes; the figure shows the place of chunk n of row m.
	m := Swizzled([]int{8, 64}, []int{1, 0}, 2, 128)
	var got string
	for row := range 8 {
		for chunk := range 8 {
			got += fmt.Sprintf("%d ", m.offset(uint64(row*64+chunk*8))/8-row*8)
		}
		got += "\n"
	}
	want := `0 1 2 3 4 5 6 7
		1 0 3 2 5 4 7 6
		2 3 0 1 6 7 4 5
		3 2 1 0 7 6 5 4
		4 5 6 7 0 1 2 3
		5 4 7 6 1 0 3 2
		6 7 4 5 2 3 0 1
		7 6 5 4 3 2 1 0`
	if trimLines(got) != trimLines(want) {
		t.Errorf("got\n%s", got)
	}
}

// The hardware's definition of the modes, on byte addresses, for boxes of exactly the width.
func TestSwizzlesAreTheHardwareModes(t *testing.T) {
	for _, width := range []int{32, 64, 128} {
		for _, elemBytes := range []int{1, 2, 4} {
			cols := 2 * width / elemBytes // two boxes
			m := Swizzled([]int{32, cols}, []int{1, 0}, elemBytes, width)
			for row := range 32 {
				for col := range cols {
					x := col * elemBytes % width
					plain := col*elemBytes/width*32*width + row*width + x
					mask := width/16 - 1
					want := plain ^ (plain>>7&mask)<<4
					if got := m.offset(uint64(row*cols+col)) * elemBytes; got != want {
						t.Fatalf("%d-byte mode, element %d,%d: offset %#x, want %#x", width, row, col, got, want)
					}
				}
			}
		}
	}
}

// A rotated swizzle takes some bits of the row, from the lowest or the next one on, the same for boxes of every width, and rotates them before they meet the number of the chunk.
func TestRotatedSwizzlesRotateTheRow(t *testing.T) {
	const rows, elemBytes = 32, 2
	for _, width := range []int{32, 64, 128} {
		for rowBits := range 4 {
			for places := range Log2(width / 16) {
				cols := 2 * width / elemBytes
				first := rowBits % 2
				m := SwizzledRotated([]int{rows, cols}, []int{1, 0}, elemBytes, width, first, rowBits, places)
				for row := range rows {
					for col := range cols {
						plain := col*elemBytes/width*rows*width + row*width + col*elemBytes%width
						chunks := width / 16
						taken := plain >> (7 + first) & (chunks - 1) & (1<<rowBits - 1)
						rotated := taken<<places | taken<<places/chunks
						want := plain ^ rotated%chunks<<4
						if got := m.offset(uint64(row*cols+col)) * elemBytes; got != want {
							t.Fatalf("%d bytes, %d bits rotated by %d: element %d,%d at %#x, want %#x", width, rowBits, places, row, col, got, want)
						}
					}
				}
			}
		}
	}
}

func TestMemoryTextReadsBack(t *testing.T) {
	for _, m := range []MemLayout{
		Strided([]int{4, 8}, []int{1, 0}), Padded([]int{4, 8}, []int{1, 0}, 2), Swizzled([]int{16, 64}, []int{0, 1}, 2, 32),
	} {
		back, err := ParseMem(m.String())
		if err != nil || !back.Equal(m) {
			t.Errorf("%s reads as %s, %v", m, back, err)
		}
	}
	for _, c := range []struct {
		m    MemLayout
		want string
	}{
		{Strided([]int{4}, []int{0}), "{offset=[[1],[2]]} : 4"}, {mustMem([]int{4}, []uint64{2, 1}, 1, 3), "{offset=[[2],[1]], pad=[[3,1]]} : 4"},
	} {
		if c.m.String() != c.want {
			t.Errorf("%s, want %s", c.m, c.want)
		}
	}
	for _, bad := range []string{"{offset=[[1]], pad=[[1]]} : 2", "{offset=[[1]], pad=[[1,1],[1,1]]} : 2", "{offset=[[1]], pad=[]} : 2", "{offset=[[2]]} : 2", "{reg=[[1]]} : 2", "{offset=[]} : 3",
		"{offset=[[0,1],[0,1]]} : 2x2", "{offset=[[1]], pad=[3]} : 2", "{offset=[[1]], pad=[[1,3]]} : 2", "{pad=[[1,2]]} : 2"} {
		if _, err := ParseMem(bad); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

// Elements follow each other as the bases say, with a gap after every so many of them.
func TestPaddingFollowsEverySoManyElements(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n = 7
		bases, every, pad := drawInvertible(t, n), 0, 0
		if rapid.Bool().Draw(t, "padded") {
			every, pad = 1<<rapid.IntRange(0, n).Draw(t, "every"), rapid.IntRange(1, 5).Draw(t, "pad")
		}
		m := mustMem(drawShape(t, n), bases, every, pad)
		at := 0
		for i := range uint64(1 << n) {
			if every > 0 && i > 0 && int(i)%every == 0 {
				at += pad
			}
			var e uint64
			for b, c := range bases {
				e ^= i >> b & 1 * c
			}
			if m.at(i) != e || m.Linear(e) != i || m.offset(e) != at {
				t.Fatalf("%s: place %d is element %d at %d, want %d at %d", m, i, m.at(i), m.offset(e), e, at)
			}
			at++
		}
		if m.Size() != at {
			t.Fatalf("%s takes %d places, has %d", m, at, m.Size())
		}
	})
}

func TestPaddedRowsBeginAfterTheGap(t *testing.T) {
	for _, c := range []struct {
		order []int
		at    func(row, col int) int
	}{
		{[]int{1, 0}, func(row, col int) int { return row*(8+3) + col }},
		{[]int{0, 1}, func(row, col int) int { return col*(4+3) + row }},
	} {
		m := Padded([]int{4, 8}, c.order, 3)
		for row := range 4 {
			for col := range 8 {
				if got, want := m.offset(uint64(row*8+col)), c.at(row, col); got != want {
					t.Errorf("order %v: element %d,%d at %d, want %d", c.order, row, col, got, want)
				}
			}
		}
	}
}

func TestPaddingThatIsNotPossible(t *testing.T) {
	const most = 1 << 20
	for _, c := range []struct {
		pad, every int
		ok         bool
	}{
		{0, 0, true}, {1, 1, true}, {3, 2, true}, {1, 8, true}, {most, 8, true},
		{1, 0, false}, {0, 1, false}, {1, 3, false}, {1, 16, false}, {most + 1, 8, false}, {-1, 2, false}, {1, -2, false}, {1, math.MinInt, false},
	} {
		m, err := NewMem([]int{2, 4}, units(3), c.every, c.pad)
		if pad, every := m.Padding(); (err == nil) != c.ok || c.ok && (pad != c.pad || every != c.every) {
			t.Errorf("%d after every %d: %s, %v", c.pad, c.every, m, err)
		}
		if want := fmt.Sprintf("padding of %d elements every %d is not possible", c.pad, c.every); err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// What lies in memory stays where it is when its dimensions get other names.
func TestMemoryKeepsItsPlacesUnderOtherShapes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := []int{4, 2, 8}
		m := mustMem(shape, drawInvertible(t, 6), 8, 3)
		perm := rapid.Permutation([]int{0, 1, 2}).Draw(t, "perm")
		reshaped, permuted := m.Reshape([]int{16, 4}), m.Permute(perm)
		back := permuted.Permute(Inverse(perm))
		for e := range uint64(64) {
			x := coords(shape, e)
			y := []int{x[perm[0]], x[perm[1]], x[perm[2]]}
			if reshaped.offset(e) != m.offset(e) || permuted.offset(flatten(permuted.Shape(), y)) != m.offset(e) || back.offset(e) != m.offset(e) {
				t.Fatalf("%s: element %v is elsewhere in %s or %s", m, x, reshaped, permuted)
			}
		}
	})
}

// drawMem is a memory layout in which registers of l lie side by side, often so that no thread comes between them.
func drawMem(t *rapid.T, l Layout) MemLayout {
	n := l.OutBits()
	low := firstBits(independent(l.bases[Reg]), rapid.IntRange(0, 4).Draw(t, "side by side"))
	if rapid.Bool().Draw(t, "threads apart") {
		low = slices.Concat(low, independent(l.columns(Lane, Warp, Block), low))
	}
	every, pad := 0, 0
	if n > 0 && rapid.Bool().Draw(t, "padded") {
		every, pad = 1<<rapid.IntRange(0, n-1).Draw(t, "every"), 1<<rapid.IntRange(0, 4).Draw(t, "pad")
	}
	return mustMem(l.shape, slices.Concat(low, independent(drawInvertible(t, n), low)), every, pad)
}

// An access is possible when every thread has the elements of each vector in the same registers, side by side in memory, at a place that its size divides.
func TestVectorsAreAlignedRunsOfEveryThread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLayout(t, drawShape(t, rapid.IntRange(0, 9).Draw(t, "bits")), 2, true)
		m := drawMem(t, l)
		regs := l.bases[Reg][rapid.SampledFrom([]int{0, 0, 0, len(l.bases[Reg]) / 2}).Draw(t, "registers left out"):]
		l = Must(l.shape, Bases{regs, l.bases[Lane], l.bases[Warp][:1], l.bases[Warp][1:]})
		vec := 1 << rapid.IntRange(0, min(4, m.Bits())).Draw(t, "vec")
		var reps []int // the first registers with their elements
		at := map[int]int{}
		for r := range l.Regs() {
			o := m.offset(l.Apply(r, 0, 0, 0))
			if _, old := at[o]; !old {
				at[o] = r
				reps = append(reps, r)
			}
		}
		var groups [][]int
		ok := true
		for _, r := range reps {
			first := m.offset(l.Apply(r, 0, 0, 0))
			if first%vec != 0 {
				continue
			}
			var group []int
			for i := range vec {
				next, found := at[first+i]
				ok = ok && found
				group = append(group, next)
			}
			groups = append(groups, group)
		}
		ok = ok && len(groups)*vec == len(reps)
		v, got := m.Vectors(l, vec)
		for n := range l.Lanes() * l.Warps() * l.Blocks() {
			lane, warp, block := n%l.Lanes(), n/l.Lanes()%l.Warps(), n/l.Lanes()/l.Warps()
			for k, group := range groups {
				first := m.offset(l.Apply(group[0], lane, warp, block))
				ok = ok && first%vec == 0
				for i, r := range group {
					e := l.Apply(r, lane, warp, block)
					ok = ok && m.offset(e) == first+i
					if got && block == 0 && m.Linear(e) != v.threadOffset(lane, warp)^v.Groups[k].Offset+uint64(i) {
						t.Fatalf("%s in %s: element %d of access %d of thread %d,%d is not at %+v", l, m, i, k, lane, warp, v)
					}
				}
			}
		}
		if got != ok {
			t.Fatalf("%s in %s, %d at a time: %v, want %v", l, m, vec, got, ok)
		}
		if ok && (v.Vec != vec || !slices.EqualFunc(v.Groups, groups, func(a Vector, b []int) bool { return slices.Equal(a.Regs, b) })) {
			t.Fatalf("%s in %s: accesses %+v, want of %v", l, m, v, groups)
		}
		for r, rep := range v.Reps {
			if o := m.offset(l.Apply(r, 0, 0, 0)); at[o] != rep {
				t.Fatalf("%s: register %d is said to be %d, want %d", l, r, rep, at[o])
			}
		}
	})
}

func TestVectorsThatAreNone(t *testing.T) {
	all, even := parse1(t, "{reg=[[0,1],[0,2]]} : 1x4"), parse1(t, "{reg=[[0,2]]} : 1x4")
	row := Strided([]int{1, 4}, []int{1, 0})
	for _, c := range []struct {
		m   MemLayout
		l   Layout
		vec int
		ok  bool
	}{
		{row, all, 4, true}, {row, all, 0, false}, {row, all, 8, false}, {row, all, -4, false}, {row.Reshape([]int{2, 2}), all, 1, false},
		{row, even, 1, true}, {row, even, 2, false},
	} {
		if v, ok := c.m.Vectors(c.l, c.vec); ok != c.ok {
			t.Errorf("%s in %s, %d at a time: %v, %+v", c.l, c.m, c.vec, ok, v)
		}
	}
	if got := row.MaxVec(all, 16); got != 4 {
		t.Errorf("accesses of %d elements where a thread has 4", got)
	}
}

// busiest is how many words of shared memory the busiest of 32 banks must bring when byte ranges are read together.
func busiest(begins []int, size int) int {
	banks := map[int]map[int]bool{}
	most := 0
	for _, begin := range begins {
		for b := begin; b < begin+size; b++ {
			word := b / 4
			if banks[word%32] == nil {
				banks[word%32] = map[int]bool{}
			}
			banks[word%32][word] = true
			most = max(most, len(banks[word%32]))
		}
	}
	return most
}

func TestWavefrontsAreTheWordsOfTheBusiestBank(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, elem := drawLayout(t, drawShape(t, rapid.IntRange(5, 10).Draw(t, "bits")), 1, true), 1<<rapid.IntRange(0, 4).Draw(t, "bytes")
		m := drawMem(t, l)
		vec := m.MaxVec(l, WidestAccess/elem)
		v, _ := m.Vectors(l, vec)
		together := map[int]int{16: 8, 8: 16}[elem*vec] // lanes
		if together == 0 {
			together = 32
		}
		waves, ideal, worst := 0, 0, 0
		for warp := range l.Warps() {
			for _, g := range v.Groups {
				for first := 0; first < 32; first += together {
					var begins []int
					for lane := range together {
						begins = append(begins, m.offset(l.Apply(g.Regs[0], first+lane, warp, 0))*elem)
					}
					n := busiest(begins, elem*vec)
					waves, ideal, worst = waves+n, ideal+1, max(worst, n)
				}
			}
		}
		gotWaves, gotIdeal, gotWorst, err := Wavefronts(m, l, elem, vec)
		if gotWaves != waves || gotIdeal != ideal || gotWorst != worst || err != nil {
			t.Fatalf("%s in %s: %d waves of %d, worst %d; want %d of %d, worst %d; %v", l, m, gotWaves, gotIdeal, gotWorst, waves, ideal, worst, err)
		}
	})
	if _, _, _, err := Wavefronts(Strided([]int{32}, []int{0}), parse1(t, "{reg=[[0]], lane=[[1],[2],[4],[8],[16]]} : 32"), 4, 2); err == nil {
		t.Error("accesses are counted that no thread can make")
	}
}

// drawPair is two layouts of a tile, often with low registers in common and lanes that share elements.
func drawPair(t *rapid.T) (src, dst Layout) {
	shape := drawShape(t, rapid.IntRange(5, 11).Draw(t, "bits"))
	src = drawLayout(t, shape, 1, true)
	if rapid.Bool().Draw(t, "unlike") {
		return src, drawLayout(t, shape, 1, true)
	}
	same := rapid.IntRange(0, len(src.bases[Reg])).Draw(t, "same registers")
	cols := slices.Concat(src.bases[Reg][same:], src.bases[Lane], src.bases[Warp])
	for range rapid.IntRange(0, 6).Draw(t, "sums") {
		a, b := rapid.IntRange(0, len(cols)-1).Draw(t, "a"), rapid.IntRange(0, len(cols)-1).Draw(t, "b")
		if a != b {
			cols[a] ^= cols[b]
		}
	}
	cols = rapid.Permutation(cols).Draw(t, "deal")
	return src, Must(shape, Bases{Lane: cols[:5], Warp: cols[5:6], Reg: slices.Concat(src.bases[Reg][:same], cols[6:])})
}

func TestSharedLayoutsDeliverTheDestinationWithoutConflicts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src, dst := drawPair(t)
		elem := 1 << rapid.IntRange(0, 4).Draw(t, "bytes")
		p := SharedLayout(src, dst, elem)
		if !sameValues(runShared(p, src, dst), hold(dst)) {
			t.Fatalf("%s -> %s through %s, vectors %d and %d: wrong", src, dst, p.Mem, p.StoreVec, p.LoadVec)
		}
		for _, side := range []struct {
			l   Layout
			vec int
		}{{src, p.StoreVec}, {dst, p.LoadVec}} {
			if side.vec*elem > WidestAccess {
				t.Fatalf("%s: accesses of %d elements of %d bytes", p.Mem, side.vec, elem)
			}
			if _, _, worst, err := Wavefronts(p.Mem, side.l, elem, side.vec); err != nil || worst != 1 {
				t.Fatalf("%s in %s, %d bytes x %d: conflict %d, %v", side.l, p.Mem, elem, side.vec, worst, err)
			}
		}
		// Registers that are neighbours on both sides, as halves of a packed one are, stay neighbours if no thread comes between them.
		a, b := src.bases[Reg], dst.bases[Reg]
		threads := members(slices.Concat(src.columns(Lane, Warp), dst.columns(Lane, Warp)))
		if elem < WidestAccess && len(a) > 0 && len(b) > 0 && a[0] == b[0] && !threads[a[0]] && p.Mem.basis(0) != a[0] {
			t.Fatalf("%s -> %s through %s: elements of neighbouring registers are no neighbours", src, dst, p.Mem)
		}
	})
}

// V, X, what else chooses the bank, and S, by the definition of SharedLayout; c and r are the bits of columns and rows.
func TestSharedLayoutsByHand(t *testing.T) {
	for _, c := range []struct {
		name, src, dst string
		want           string
	}{
		// No registers of both sides; loads of 16 bytes take X = c0 c1. A = c0 to c4 store together, B = r0 r1 r2 load together: S pairs c2 with r0, c3 with r1,
		// c4 with r2, and has r3 and r4, which neither has.
		{"lanes along rows to lanes along columns", "{reg=[[1,0],[2,0],[4,0],[8,0],[16,0]], lane=[[0,1],[0,2],[0,4],[0,8],[0,16]]} : 32x32",
			"{reg=[[0,1],[0,2],[0,4],[0,8],[0,16]], lane=[[1,0],[2,0],[4,0],[8,0],[16,0]]} : 32x32",
			"{offset=[[0,1],[0,2],[1,0],[2,0],[4,0],[1,4],[2,8],[4,16],[8,0],[16,0]]} : 32x32"},
		// V = c0 r3. Of c1 c2 r0, and c2 c3 r0, the first lane bits of either, c1 and c3 are a pair. r1 and r2 are in neither.
		{"accumulators to rows", "{reg=[[0,1],[8,0],[0,8]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]]} : 16x16",
			"{reg=[[0,1],[0,2],[8,0]], lane=[[0,4],[0,8],[1,0],[2,0],[4,0]]} : 16x16",
			"{offset=[[0,1],[8,0],[0,4],[0,8],[1,0],[0,10],[2,0],[4,0]]} : 16x16"},
		// All lanes of both sides go together: S is empty, and banks follow the elements.
		{"lanes renamed", "{lane=[[0,1],[0,2],[0,4],[1,0],[2,0]]} : 4x8", "{lane=[[1,0],[2,0],[0,4],[0,2],[0,1]]} : 4x8",
			"{offset=[[0,1],[0,2],[0,4],[1,0],[2,0]]} : 4x8"},
	} {
		if got := SharedLayout(parse1(t, c.src), parse1(t, c.dst), 4).Mem.String(); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestKnownConversionsThroughSharedMemory(t *testing.T) {
	row, col := []int{1, 0}, []int{0, 1}
	s := []int{64, 64}
	mma := mmaC(t).Repeat(Reg, 1, 3).Repeat(Warp, 0, 2) // 64x64 over 4 warps
	for _, c := range []struct {
		name        string
		src, dst    Layout
		elem        int
		store, load int // bytes of one access
	}{
		{"transpose of f32 64x64", BlockedSpan(s, 4, 32, row, 4), BlockedSpan(s, 4, 32, col, 4), 4, 16, 16},
		{"transpose of bf16 128x128", BlockedSpan([]int{128, 128}, 8, 64, row, 4), BlockedSpan([]int{128, 128}, 8, 64, col, 4), 2, 8, 16},
		{"accumulator to rows of bf16", mma, Blocked(s, 8, row, 4), 2, 4, 16},
		{"rows of bf16 to accumulator", Blocked(s, 8, row, 4), mma, 2, 16, 4},
	} {
		p := SharedLayout(c.src, c.dst, c.elem)
		if p.StoreVec*c.elem != c.store || p.LoadVec*c.elem != c.load {
			t.Errorf("%s: %s\n%d and %d bytes; want %d and %d", c.name, p.Mem, p.StoreVec*c.elem, p.LoadVec*c.elem, c.store, c.load)
		}
	}
}

// A thread of 8x8 elements of a product reads its rows four at a time at one place along K, though rows come with four places side by side. Where the store
// must have these together, or a thread has one row, it reads along K.
func TestFactorsAreReadAcrossPlaces(t *testing.T) {
	s := []int{128, 32}
	src := BlockedSpan(s, 4, 32, []int{1, 0}, 16)
	eight := parse1(t, "{reg=[[0,0],[0,0],[0,0],[4,0],[8,0],[16,0]], lane=[[0,0],[0,0],[0,0],[1,0],[2,0]], warp=[[32,0],[64,0],[0,0],[0,0]]} : 128x1")
	near := parse1(t, "{reg=[[0,0],[0,0],[16,0],[32,0],[64,0]], lane=[[0,0],[1,0],[2,0],[4,0],[8,0]], warp=[[0,0],[0,0],[0,0],[0,0]]} : 128x1")
	one := parse1(t, "{reg=[], lane=[[1,0],[2,0],[4,0],[8,0],[16,0]], warp=[[32,0],[64,0],[0,0],[0,0]]} : 128x1")
	columns := BlockedSpan(s, 4, 32, []int{0, 1}, 16)
	for _, c := range []struct {
		name                       string
		src, rows                  Layout
		least, store, read, places int // elements of an access, and the places along K of those that a read brings
	}{
		{"eight rows", src, eight, 1, 1, 4, 1},
		{"eight rows, other lanes", src, near, 1, 2, 4, 1},
		{"eight rows that are copied", src, eight, 4, 4, 4, 4},
		{"eight rows that are copied, other lanes", src, near, 4, 4, 4, 4},
		{"one row", src, one, 1, 4, 4, 4},
		{"one row, columns", columns, one, 1, 1, 4, 4},
		{"one row, columns that are copied", columns, one, 4, 4, 1, 1},
	} {
		m, all := FactorLayout(c.src, c.rows, 1, 4, c.least), c.rows.Repeat(Reg, 1, 5)
		store, read, places := m.MaxVec(c.src, 4), m.MaxVec(all, 4), map[int]bool{}
		for i := range read {
			places[all.Coords(m.at(uint64(i)))[1]] = true
		}
		if store != c.store || read != c.read || len(places) != c.places {
			t.Errorf("%s: %s: stores of %d elements, reads of %d from %d places; want %d, %d, %d", c.name, m, store, read, len(places), c.store, c.read, c.places)
		}
		for _, side := range []Layout{c.src, all} {
			if _, _, worst, err := Wavefronts(m, side, 4, m.MaxVec(side, 4)); err != nil || worst != 1 {
				t.Errorf("%s: %s has %d waves for one, %v", c.name, m, worst, err)
			}
		}
	}
}

// Of many places along K a read brings near ones: a thread would hold those that are far away through most of the product.
func TestFactorsAreReadAtPlacesThatAreNear(t *testing.T) {
	src := parse1(t, "{reg=[[1,0],[2,0],[4,0],[0,64],[0,128]], lane=[[8,0],[0,1],[0,2],[0,4],[0,8]], warp=[[0,16],[0,32]]} : 16x256")
	rows := parse1(t, "{reg=[], lane=[[1,0],[2,0],[4,0],[8,0],[0,0]], warp=[[0,0],[0,0]]} : 16x1")
	m, all := FactorLayout(src, rows, 1, 4, 1), rows.Repeat(Reg, 1, 8)
	for i := range m.MaxVec(all, 4) {
		if c := all.Coords(m.at(uint64(i))); c[1] >= 64 {
			t.Errorf("%s: a read at 0 brings place %d", m, c[1])
		}
	}
}

func TestConflictsOfAPlainTransposeAreCounted(t *testing.T) {
	s := []int{32, 32}
	byRow := Blocked(s, 1, []int{1, 0}, 1)
	byCol := Blocked(s, 1, []int{0, 1}, 1)
	for _, c := range []struct {
		name string
		m    MemLayout
		l    Layout
		want int
	}{
		{"rows", Strided(s, []int{1, 0}), byRow, 1},
		{"columns of rows", Strided(s, []int{1, 0}), byCol, 32},
		{"columns of padded rows", Padded(s, []int{1, 0}, 1), byCol, 1},
	} {
		if _, _, got, err := Wavefronts(c.m, c.l, 4, 1); err != nil || got != c.want {
			t.Errorf("%s: conflict %d, want %d, %v", c.name, got, c.want, err)
		}
	}
}

func TestLanesInOrderOfMemoryMeetInNoBank(t *testing.T) {
	// Words of 64 rows, of which those 32 apart lie side by side: lanes that take rows in order name every other word of 64, the others all of 32.
	m, err := ParseMem("{offset=[[0,1],[0,2],[32,0],[1,0],[2,0],[4,0],[8,0],[16,0]]} : 64x4")
	if err != nil {
		t.Fatal(err)
	}
	rows := parse1(t, "{reg=[[0,1],[0,2]], lane=[[1,0],[2,0],[4,0],[8,0],[16,0]], warp=[[32,0],[0,0]]} : 64x4")
	want := parse1(t, "{reg=[[0,1],[0,2]], lane=[[32,0],[1,0],[2,0],[4,0],[8,0]], warp=[[16,0],[0,0]]} : 64x4")
	got := m.InOrder(rows)
	if !got.Equal(want) {
		t.Errorf("in order: %s, want %s", got, want)
	}
	for _, c := range []struct {
		l    Layout
		want int
	}{{rows, 2}, {got, 1}} {
		if _, _, worst, err := Wavefronts(m, c.l, 1, 4); err != nil || worst != c.want {
			t.Errorf("%s: conflict %d, want %d, %v", c.l, worst, c.want, err)
		}
	}
}

func TestNoSwizzleIsRowMajor(t *testing.T) {
	for _, order := range [][]int{{1, 0}, {0, 1}} {
		shape := []int{8, 32}
		if got, want := Swizzled(shape, order, 2, 0), Strided(shape, order); got.String() != want.String() {
			t.Errorf("order %v: %s, want %s", order, got, want)
		}
	}
}
