package layout

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func TestSwizzleOf128BytesAsAGrid(t *testing.T) {
	// 8 rows of 8 chunks of 16 bytes; the figure shows the place of chunk n of row m.
	m := Swizzled([]int{8, 64}, []int{1, 0}, 2, 128)
	var got string
	for row := range 8 {
		for chunk := range 8 {
			got += fmt.Sprintf("%d ", m.Offset(uint64(row*64+chunk*8))/8-row*8)
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
					if got := m.Offset(uint64(row*cols+col)) * elemBytes; got != want {
						t.Fatalf("%d-byte mode, element %d,%d: offset %#x, want %#x", width, row, col, got, want)
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
	for _, bad := range []string{"{offset=[[0,1],[0,1]]} : 2x2", "{offset=[[1]], pad=[3]} : 2", "{offset=[[1]], pad=[[1,3]]} : 2", "{pad=[[1,2]]} : 2"} {
		if _, err := ParseMem(bad); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

func TestEveryElementHasItsOwnOffset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := drawShape(t, 8)
		m := mustMem(shape, drawInvertible(t, 8), 16, rapid.IntRange(1, 5).Draw(t, "pad"))
		seen := map[int]bool{}
		for e := range uint64(256) {
			o := m.Offset(e)
			if seen[o] || o >= m.Size() || m.At(m.Linear(e)) != e {
				t.Fatalf("%s: element %d at %d", m, e, o)
			}
			seen[o] = true
		}
	})
}

func TestPredictedConflictsAreTheCountedOnes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := drawShape(t, rapid.IntRange(5, 11).Draw(t, "bits"))
		src, dst := drawLayout(t, shape, 1, true), drawLayout(t, shape, 1, true)
		elem := 1 << rapid.IntRange(0, 4).Draw(t, "bytes")
		p := SharedLayout(src, dst, elem)
		for _, side := range []struct {
			l         Layout
			vec, want int
		}{{src, p.StoreVec, p.StoreConflict}, {dst, p.LoadVec, p.LoadConflict}} {
			_, _, got, err := Wavefronts(p.Mem, side.l, elem, side.vec)
			if err != nil || got != side.want || got != 1 {
				t.Fatalf("%s in %s, %d bytes x %d: conflict %d, predicted %d, %v", side.l, p.Mem, elem, side.vec, got, side.want, err)
			}
		}
	})
}

// Padding behind the last element moves none, but has every phase counted.
func TestAllPhasesWithoutPaddingAreAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := drawShape(t, rapid.IntRange(5, 11).Draw(t, "bits"))
		l, elem := drawLayout(t, shape, 1, true), 1<<rapid.IntRange(0, 4).Draw(t, "bytes")
		m := SharedLayout(drawLayout(t, shape, 1, true), drawLayout(t, shape, 1, true), elem).Mem
		padded := mustMem(m.shape, m.bases, 1<<m.Bits(), maxVec)
		vec := m.MaxVec(l, maxVec/elem)
		waves, ideal, worst, err := Wavefronts(m, l, elem, vec)
		wantWaves, wantIdeal, wantWorst, wantErr := Wavefronts(padded, l, elem, vec)
		if waves != wantWaves || ideal != wantIdeal || worst != wantWorst || err != nil || wantErr != nil {
			t.Fatalf("%s in %s: %d waves of %d, worst %d, want %d of %d, worst %d; %v, %v", l, m, waves, ideal, worst, wantWaves, wantIdeal, wantWorst, err, wantErr)
		}
	})
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
		if p.StoreVec*c.elem != c.store || p.LoadVec*c.elem != c.load || p.StoreConflict != 1 || p.LoadConflict != 1 {
			t.Errorf("%s: %s\n%d and %d bytes, conflicts %d and %d; want %d and %d, 1 and 1", c.name, p.Mem,
				p.StoreVec*c.elem, p.LoadVec*c.elem, p.StoreConflict, p.LoadConflict, c.store, c.load)
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
			places[all.Coords(m.At(uint64(i)))[1]] = true
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

// runMatrix executes ldmatrix by its definition on a memory of element numbers.
func runMatrix(p MatrixPlan, m MemLayout, l Layout, elemBits int) values {
	perRow, inWord := 128/elemBits, 32/elemBits
	out := make(values, 32*l.Warps())
	for t := range out {
		out[t] = make([]uint64, l.Regs())
	}
	for warp := range l.Warps() {
		for _, a := range p.Accesses {
			for x := range p.Num {
				var matrix [8][]uint64
				for i := range matrix {
					at := p.RowOffset(x*8+i, warp) ^ a.Offset
					for e := range perRow {
						matrix[i] = append(matrix[i], m.At(at+uint64(e)))
					}
				}
				for lane := range 32 {
					for e := range inWord {
						row, col := lane/4, lane%4*inWord+e
						if p.Trans {
							row, col = col, row
						}
						out[warp*32+lane][a.Regs[x]+e] = matrix[row][col]
					}
				}
			}
		}
	}
	return out
}

func TestLdmatrixLoadsOperandFragments(t *testing.T) {
	a16 := "{reg=[[0,1],[8,0],[0,8]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]]} : 16x16"
	b16 := "{reg=[[1,0],[8,0]], lane=[[2,0],[4,0],[0,1],[0,2],[0,4]]} : 16x8" // k x n
	a8 := "{reg=[[0,1],[0,2],[8,0],[0,16]], lane=[[0,4],[0,8],[1,0],[2,0],[4,0]]} : 16x32"
	a32 := "{reg=[[8,0],[0,4]], lane=[[0,1],[0,2],[1,0],[2,0],[4,0]]} : 16x8"
	row, col := []int{1, 0}, []int{0, 1}
	for _, c := range []struct {
		name  string
		l     Layout
		order []int
		bits  int
		trans bool
		ok    bool
	}{
		{"A row-major, 16 bit", parse1(t, a16).Repeat(Reg, 1, 2).Repeat(Warp, 0, 2), row, 16, false, true},
		{"A column-major needs the transposing form", parse1(t, a16).Repeat(Reg, 1, 2).Repeat(Reg, 0, 2), col, 16, false, false},
		{"A column-major", parse1(t, a16).Repeat(Reg, 1, 2).Repeat(Reg, 0, 2), col, 16, true, true},
		{"B with k contiguous", parse1(t, b16).Repeat(Reg, 0, 2).Repeat(Reg, 1, 3), col, 16, false, true},
		{"B with n contiguous", parse1(t, b16).Repeat(Reg, 0, 2).Repeat(Reg, 1, 3), row, 16, true, true},
		{"A row-major, 8 bit", parse1(t, a8).Repeat(Reg, 1, 2).Repeat(Reg, 0, 1), row, 8, false, true},
		{"A row-major, 32 bit", parse1(t, a32).Repeat(Reg, 1, 2).Repeat(Reg, 0, 1), row, 32, false, true},
		{"8-bit operands have no transposing form", parse1(t, a8).Repeat(Reg, 1, 2).Repeat(Reg, 0, 1), col, 8, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, width := range []int{32, 64, 128} {
				m := Swizzled(c.l.Shape(), c.order, c.bits/8, width)
				p, ok := LdMatrix(m, c.l, c.bits, c.trans)
				if ok != c.ok {
					t.Fatalf("applies: %v", ok)
				}
				if !ok {
					continue
				}
				if p.Num != 4 || !sameValues(runMatrix(p, m, c.l, c.bits), hold(c.l)) {
					t.Errorf("%d-byte swizzle: wrong elements, %d matrices", width, p.Num)
				}
				if got := p.Conflict(m, c.bits); got != 1 {
					t.Errorf("%d-byte swizzle: conflict %d", width, got)
				}
			}
		})
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
