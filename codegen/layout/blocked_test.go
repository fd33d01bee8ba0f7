package layout

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Threads load vec elements of a row of memory and store wide elements of a column: 4x4 squares of floats where the tile has so many elements
// for a thread, with whole sectors of 8 floats loaded side by side.
func TestBlockedAcrossGivesThreadsSquares(t *testing.T) {
	for _, c := range []struct {
		shape           []int
		vec, near, wide int
		order           []int
		warps           int
		want            string
	}{
		// A square, half a sector, four stored vectors of a row, the row of memory; warps go on along memory, registers take what is left.
		{[]int{32, 128}, 4, 8, 4, []int{1, 0}, 4, "{reg=[[0,1],[0,2],[1,0],[2,0],[16,0]], lane=[[0,4],[4,0],[8,0],[0,8],[0,16]], warp=[[0,32],[0,64]]} : 32x128"},
		{[]int{32, 128}, 4, 8, 4, []int{1, 0}, 8, "{reg=[[0,1],[0,2],[1,0],[2,0]], lane=[[0,4],[4,0],[8,0],[0,8],[0,16]], warp=[[0,32],[0,64],[16,0]]} : 32x128"},
		{[]int{128, 32}, 4, 8, 4, []int{0, 1}, 4, "{reg=[[1,0],[2,0],[0,1],[0,2],[0,16]], lane=[[4,0],[0,4],[0,8],[8,0],[16,0]], warp=[[32,0],[64,0]]} : 128x32"},
		// A thread has 32 elements: 8 and 4 of them. The third dimension comes last.
		{[]int{2, 64, 32}, 8, 16, 8, []int{2, 1, 0}, 4, "{reg=[[0,0,1],[0,0,2],[0,0,4],[0,1,0],[0,2,0]], lane=[[0,4,0],[0,8,0],[0,16,0],[0,32,0],[0,0,8]], warp=[[0,0,16],[1,0,0]]} : 2x64x32"},
		// Single elements are loaded: a sector takes three bits of the lanes, and none is left for vectors of a row.
		{[]int{64, 16}, 1, 8, 4, []int{1, 0}, 4, "{reg=[[1,0],[2,0],[32,0]], lane=[[0,1],[0,2],[0,4],[0,8],[4,0]], warp=[[8,0],[16,0]]} : 64x16"},
		// Too small for a second element along the rows that are stored, for all lanes, and for a whole vector.
		{[]int{4, 16}, 4, 8, 4, []int{1, 0}, 2, "{reg=[[0,1],[0,2]], lane=[[1,0],[2,0],[0,4],[0,8],[0,0]], warp=[[0,0]]} : 4x16"},
		// Bytes: a thread has 4 of the 16 that a vector takes, so 16 lanes store one row together, then the next sector; or 8, and 16 lanes store 128 bytes.
		{[]int{64, 128}, 16, 32, 16, []int{1, 0}, 4, "{reg=[[0,1],[0,2],[0,4],[0,8],[1,0],[2,0]], lane=[[4,0],[8,0],[16,0],[32,0],[0,16]], warp=[[0,32],[0,64]]} : 64x128"},
		{[]int{128, 256}, 16, 32, 16, []int{1, 0}, 8, "{reg=[[0,1],[0,2],[0,4],[0,8],[1,0],[2,0],[4,0]], lane=[[8,0],[16,0],[32,0],[64,0],[0,16]], warp=[[0,32],[0,64],[0,128]]} : 128x256"},
		// A row has two elements: that is all a vector takes, and a thread has eight elements of a column.
		{[]int{256, 2}, 4, 8, 8, []int{1, 0}, 1, "{reg=[[0,1],[1,0],[2,0],[4,0]], lane=[[8,0],[16,0],[32,0],[64,0],[128,0]]} : 256x2"},
		{[]int{16, 2}, 4, 8, 4, []int{1, 0}, 1, "{reg=[[0,1]], lane=[[1,0],[2,0],[4,0],[8,0],[0,0]]} : 16x2"},
	} {
		a := Across{Fast: c.order[0], Vec: c.vec, Near: c.near, Rows: DimBits(c.shape, c.order[1]), Wide: c.wide}
		if got := BlockedAcross(c.shape, a, c.warps).String(); got != c.want {
			t.Errorf("BlockedAcross(%v, %v, %d)\ngot  %s\nwant %s", c.shape, a, c.warps, got, c.want)
		}
	}
}

// With 16-byte accesses on both sides, a warp's load covers whole 32-byte sectors and its store into swizzled rows of 128 bytes meets no bank twice.
func TestBlockedAcrossMovesWholeSectorsWithoutConflicts(t *testing.T) {
	const elemBytes, vec, sector = 4, 4, 8
	rapid.Check(t, func(t *rapid.T) {
		rows := 32 << rapid.IntRange(0, 2).Draw(t, "rows")
		cols := 32 << rapid.IntRange(0, 3).Draw(t, "cols")
		warps := 1 << rapid.IntRange(0, 3).Draw(t, "warps")
		shape := []int{rows, cols}
		l := BlockedAcross(shape, Across{Fast: 1, Vec: vec, Near: sector, Rows: DimBits(shape, 0), Wide: vec}, warps)
		if !l.IsSurjective() || l.Warps() != warps || Strided(shape, []int{1, 0}).MaxVec(l, vec) != vec {
			t.Fatalf("%s", l)
		}
		for warp := range warps {
			for reg := 0; reg < l.Regs(); reg += vec {
				var touched []int
				for lane := range 32 {
					touched = append(touched, int(l.Apply(reg, lane, warp, 0))/sector)
				}
				slices.Sort(touched)
				if n := len(slices.Compact(touched)); l.FreeMask(Lane) == 0 && n != 32*vec/sector {
					t.Fatalf("%s: warp %d loads register %d from %d sectors", l, warp, reg, n)
				}
			}
		}
		if rows*cols >= WarpSize*warps*vec*vec {
			m := Swizzled(shape, []int{0, 1}, elemBytes, 128)
			if waves, ideal, _, err := Wavefronts(m, l, elemBytes, vec); err != nil || waves != ideal {
				t.Fatalf("%s: %d waves, %d would do, %v", l, waves, ideal, err)
			}
		}
	})
}

// Bytes of which a thread has 4 or 8 of a row meet no bank twice where they fill rows of 128 bytes, and twice at most where rows are shorter.
func TestBlockedAcrossSpreadsNarrowStores(t *testing.T) {
	for _, c := range []struct{ rows, cols, warps, bytes, factor int }{
		{128, 128, 8, 4, 2}, {64, 128, 4, 4, 2}, {128, 256, 8, 8, 1}, {128, 128, 4, 8, 1}, {256, 128, 8, 8, 1},
	} {
		shape := []int{c.rows, c.cols}
		l := BlockedAcross(shape, Across{Fast: 1, Vec: 16, Near: 32, Rows: DimBits(shape, 0), Wide: 16}, c.warps)
		m := Swizzled(l.Shape(), []int{0, 1}, 1, min(128, c.rows))
		waves, ideal, _, err := Wavefronts(m, l, 1, m.MaxVec(l, 16))
		if err != nil || m.MaxVec(l, 16) != c.bytes || waves > c.factor*ideal {
			t.Errorf("%dx%d, %d warps: %d bytes at a time, %d waves, ideal %d, %v", c.rows, c.cols, c.warps, m.MaxVec(l, 16), waves, ideal, err)
		}
	}
}

// Rows of shared memory may take the bits of a dimension in another order: a thread has neighbours there.
func TestBlockedAcrossFollowsTheOrderOfRows(t *testing.T) {
	shape, order := []int{128, 128}, []int{0, 3, 1, 2, 4, 5, 6}
	var rows []uint64
	for _, i := range order {
		rows = append(rows, Bit(shape, 0, i))
	}
	l := BlockedAcross(shape, Across{Fast: 1, Vec: 16, Near: 32, Rows: rows, Wide: 16}, 4).PermuteBits(0, order)
	m := Swizzled(shape, []int{0, 1}, 1, 128)
	waves, ideal, _, err := Wavefronts(m, l, 1, m.MaxVec(l, 16))
	if err != nil || m.MaxVec(l, 16) != 8 || waves != ideal {
		t.Errorf("%s: %d bytes at a time, %d waves, ideal %d, %v", l, m.MaxVec(l, 16), waves, ideal, err)
	}
}

// Fewer warps hold what more did: registers of the warps that are gone come behind their own, without those of copies.
func TestFewerWarpsHoldWhatMoreDid(t *testing.T) {
	for _, c := range []struct {
		of    string
		warps int
		want  string
	}{
		{"{reg=[[0,1]], lane=[[0,2],[0,4],[0,8],[1,0],[2,0]], warp=[[4,0],[8,0],[16,0]]} : 32x16", 2,
			"{reg=[[0,1],[8,0],[16,0]], lane=[[0,2],[0,4],[0,8],[1,0],[2,0]], warp=[[4,0]]} : 32x16"},
		{"{reg=[[0,1]], lane=[[0,2],[0,4],[0,8],[1,0],[2,0]], warp=[[4,0],[0,0],[8,0]]} : 16x16", 1,
			"{reg=[[0,1],[4,0],[8,0]], lane=[[0,2],[0,4],[0,8],[1,0],[2,0]]} : 16x16"},
		{"{reg=[[0,1]], lane=[[0,2],[0,4],[0,8],[1,0],[2,0]], warp=[[4,0]]} : 8x16", 2,
			"{reg=[[0,1]], lane=[[0,2],[0,4],[0,8],[1,0],[2,0]], warp=[[4,0]]} : 8x16"},
		{"{reg=[[0,1]], lane=[[0,2],[0,4],[0,8],[1,0],[2,0]], warp=[[4,0]]} : 8x16", 4,
			"{reg=[[0,1]], lane=[[0,2],[0,4],[0,8],[1,0],[2,0]], warp=[[4,0]]} : 8x16"},
	} {
		if got := parse1(t, c.of).OfWarps(c.warps).String(); got != c.want {
			t.Errorf("%s\nwith %d warps: %s\nwant %s", c.of, c.warps, got, c.want)
		}
	}
}
