package layout

import (
	"testing"

	"pgregory.net/rapid"
)

// runMatrix executes ldmatrix by its definition on a memory of element numbers.
func runMatrix(p MatrixPlan, m MemLayout, l Layout, elemBits int) values {
	perRow, inWord, unit := 128/elemBits, 32/elemBits, 1 // unit: elements of 16 bits, which the transposing form moves
	if p.Pairs > 0 {
		unit = 2
	}
	out := make(values, WarpSize*l.Warps())
	for t := range out {
		out[t] = make([]uint64, l.Regs())
	}
	for warp := range l.Warps() {
		for _, a := range p.Accesses {
			for x := range p.Num {
				var matrix [8][]uint64
				for i := range matrix {
					at := p.rowOffset(x*8+i, warp) ^ a.Offset
					for e := range perRow {
						matrix[i] = append(matrix[i], m.at(at+uint64(e)))
					}
				}
				for lane := range 32 {
					for e := range inWord {
						reg, row, col := a.Regs[x]+e, lane/4, lane%4*inWord+e
						if p.Trans {
							row, col = lane%4*2+e/unit, lane/4*unit+e%unit
						}
						if p.Pairs > 0 {
							reg = a.Regs[x] | e/2<<1 | e%2<<p.Pairs
						}
						out[warp*32+lane][reg] = matrix[row][col]
					}
				}
			}
		}
	}
	return out
}

// checkMatrix holds a plan against the definition: what threads get, how many instructions there are, and which rows conflict.
func checkMatrix(t rapid.TB, p MatrixPlan, m MemLayout, l Layout, elemBits int) {
	got, want, reps := runMatrix(p, m, l, elemBits), hold(l), l.RegReps()
	for thread := range want {
		for r, rep := range reps {
			if got[thread][rep] != want[thread][r] {
				t.Fatalf("%s in %s: thread %d gets element %d in register %d, want %d; %+v", l, m, thread, got[thread][rep], r, want[thread][r], p)
			}
		}
	}
	own := 0 // registers that are no copies
	for r, rep := range reps {
		if r == rep {
			own++
		}
	}
	if len(p.Lane) != LaneBits || len(p.Accesses)*p.Num*(32/elemBits) != own || p.Num != min(4, own*elemBits/32) {
		t.Fatalf("%s in %s: %+v", l, m, p)
	}
	worst := 0
	for warp := range l.Warps() {
		for _, a := range p.Accesses {
			for x := range p.Num {
				var begins []int
				for i := range 8 {
					first := m.at(p.rowOffset(x*8+i, warp) ^ a.Offset)
					begins = append(begins, m.offset(first)*elemBits/8)
					for e := range 128 / elemBits {
						if m.offset(m.at(m.Linear(first)+uint64(e))) != m.offset(first)+e {
							t.Fatalf("%s in %s: padding in a row of matrix %d", l, m, x)
						}
					}
				}
				worst = max(worst, busiest(begins, 16))
			}
		}
	}
	if c := p.Conflict(m, elemBits); c != worst {
		t.Fatalf("%s in %s: conflict %d, want %d", l, m, c, worst)
	}
}

func TestLdmatrixLoadsOperandFragments(t *testing.T) {
	a16 := "{reg=[[0,1],[8,0],[0,8]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]]} : 16x16"
	b16 := "{reg=[[1,0],[8,0]], lane=[[2,0],[4,0],[0,1],[0,2],[0,4]]} : 16x8" // k x n
	a8 := "{reg=[[0,1],[0,2],[8,0],[0,16]], lane=[[0,4],[0,8],[1,0],[2,0],[4,0]]} : 16x32"
	a32 := "{reg=[[8,0],[0,4]], lane=[[0,1],[0,2],[1,0],[2,0],[4,0]]} : 16x8"
	b8pairs := "{reg=[[1,0],[2,0],[16,0],[0,1]], lane=[[4,0],[8,0],[0,2],[0,4],[0,8]]} : 32x16" // k x n, columns of two atoms interleaved
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
		{"but pairs of them have", parse1(t, b8pairs).Repeat(Reg, 0, 1).Repeat(Reg, 1, 2), row, 8, true, true},
		{"pairs along the other dimension", parse1(t, b8pairs).Repeat(Reg, 0, 1).Repeat(Reg, 1, 2), col, 8, true, false},
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
				checkMatrix(t, p, m, c.l, c.bits)
				// Of pairs every other row is read: with as many bytes as there are banks 8 of them begin in 4 or 8 places.
				if got := p.Conflict(m, c.bits); p.Num != 4 || got != 1 && p.Pairs == 0 {
					t.Errorf("%d-byte swizzle: %d matrices, conflict %d", width, p.Num, got)
				}
			}
		})
	}
}

// One matrix of 16-bit elements, and what keeps ldmatrix from it or not.
func TestWhereLdmatrixApplies(t *testing.T) {
	one := "{reg=[[0,1]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]]} : 8x8"
	dense := func(shape ...int) MemLayout { return Strided(shape, []int{1, 0}) }
	for _, c := range []struct {
		name, l string
		m       MemLayout
		bits    int
		trans   bool
		ok      bool
	}{
		{"one matrix", one, dense(8, 8), 16, false, true},
		{"two", "{reg=[[0,1],[8,0]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]]} : 16x8", dense(16, 8), 16, false, true},
		{"rows apart", one, Padded([]int{8, 8}, []int{1, 0}, 8), 16, false, true},
		{"rows of 32 bits", "{lane=[[0,1],[0,2],[1,0],[2,0],[4,0]]} : 8x4", dense(8, 4), 32, false, true},
		{"copies in registers", "{reg=[[0,1],[0,0],[8,0],[0,1],[16,0],[32,0]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]]} : 64x8", dense(64, 8), 16, false, false},
		{"zeros in registers", "{reg=[[0,1],[0,0],[8,0],[16,0],[8,0],[32,0]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]]} : 64x8", dense(64, 8), 16, false, true},
		{"wide rows of memory conflict", "{reg=[[0,1]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]], warp=[[0,8],[0,16],[0,32]]} : 8x64", dense(8, 64), 16, false, true},
		{"rows not aligned", one, Padded([]int{8, 8}, []int{1, 0}, 4), 16, false, false},
		{"rows torn", one, mustMem([]int{8, 8}, units(6), 4, 8), 16, false, false},
		{"4 bits", "{reg=[[0,1],[0,2],[0,4]], lane=[[0,8],[0,16],[1,0],[2,0],[4,0]]} : 8x32", dense(8, 32), 4, false, false},
		{"64 bits", one, dense(8, 8), 64, false, false},
		{"32 bits transposed", "{lane=[[1,0],[2,0],[0,1],[0,2],[0,4]]} : 4x8", dense(4, 8), 32, true, false},
		{"16 lanes", "{reg=[[0,1]], lane=[[0,2],[0,4],[1,0],[2,0]]} : 4x8", dense(4, 8), 16, false, false},
		{"two blocks", "{reg=[[0,1]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]], block=[[8,0]]} : 16x8", dense(16, 8), 16, false, false},
		{"another shape", one, dense(16, 4), 16, false, false},
		{"half a word", "{lane=[[0,2],[0,4],[1,0],[2,0],[4,0]]} : 8x8", dense(8, 8), 16, false, false},
		{"a warp reads from the middle of a word", "{reg=[[0,1]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]], warp=[[0,1]]} : 8x8", dense(8, 8), 16, false, false},
		{"a warp reads from the middle of a row", "{reg=[[0,1]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]], warp=[[0,4]]} : 8x8", dense(8, 8), 16, false, false},
	} {
		l := parse1(t, c.l)
		p, ok := LdMatrix(c.m, l, c.bits, c.trans)
		if ok != c.ok {
			t.Errorf("%s: applies: %v", c.name, ok)
		}
		if ok && c.ok {
			checkMatrix(t, p, c.m, l, c.bits)
		}
	}
}

// Whatever is exchanged or added among the bits of an operand or of its memory: where ldmatrix still applies, it loads the operand.
func TestLdmatrixLoadsWhatItSays(t *testing.T) {
	operand := parse1(t, "{reg=[[0,1],[8,0],[0,8],[0,0]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]], warp=[[16,0]]} : 32x16")
	regs, found := operand.InBits(Reg), 0
	rapid.Check(t, func(t *rapid.T) {
		disturb := func(cols []uint64) {
			for range rapid.IntRange(0, 2).Draw(t, "changes") {
				a, b := rapid.IntRange(0, len(cols)-1).Draw(t, "a"), rapid.IntRange(0, len(cols)-1).Draw(t, "b")
				if rapid.Bool().Draw(t, "exchange") {
					cols[a], cols[b] = cols[b], cols[a]
				} else if a != b {
					cols[a] ^= cols[b]
				}
			}
		}
		cols, bases := operand.columns(Reg, Lane, Warp), units(operand.OutBits())
		disturb(cols)
		disturb(bases)
		l := Must(operand.Shape(), Bases{Reg: cols[:regs], Lane: cols[regs : regs+LaneBits], Warp: cols[regs+LaneBits:]})
		every := rapid.SampledFrom([]int{0, 0, 4, 8, 16}).Draw(t, "every")
		m := mustMem(l.Shape(), bases, every, min(every, 1)*rapid.SampledFrom([]int{4, 8, 24}).Draw(t, "pad"))
		if p, ok := LdMatrix(m, l, 16, false); ok {
			found++
			checkMatrix(t, p, m, l, 16)
		}
	})
	if found == 0 {
		t.Error("no layout was one for ldmatrix")
	}
}
