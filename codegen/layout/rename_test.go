package layout

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A renaming gives every thread its element from its own registers; where there is none, some thread lacks one or has it elsewhere.
func TestRenamingFindsRegisters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := drawShape(t, rapid.IntRange(5, 8).Draw(t, "bits"))
		src := drawLayout(t, shape, 1, true)
		b := src.Bases()
		b.Reg = slices.Clone(b.Reg)
		for range rapid.IntRange(0, 4).Draw(t, "sums") {
			if n := len(b.Reg); n > 1 {
				i, j := rapid.IntRange(0, n-1).Draw(t, "i"), rapid.IntRange(0, n-1).Draw(t, "j")
				b.Reg[i], b.Reg[j] = b.Reg[j], b.Reg[i]^b.Reg[j]
			}
		}
		if rapid.Bool().Draw(t, "elsewhere") {
			b.Lane = slices.Clone(b.Lane)
			b.Lane[rapid.IntRange(0, 4).Draw(t, "lane")] ^= drawVector(t, src.OutBits())
		}
		dst := Must(shape, b)
		regs, ok := Renaming(src, dst)
		fits := true
		for r := range dst.Regs() {
			fits = fits && slices.ContainsFunc(table(Matrix{Cols: units(src.InBits(Reg))}), func(s int) bool {
				for lane := range 32 {
					for warp := range 2 {
						if src.Apply(s, lane, warp, 0) != dst.Apply(r, lane, warp, 0) {
							return false
						}
					}
				}
				return true
			})
		}
		if ok != fits {
			t.Fatalf("%s from %s: %t, registers are there: %t", dst, src, ok, fits)
		}
		for r := range regs {
			if got, want := src.Apply(regs[r], 21, 1, 0), dst.Apply(r, 21, 1, 0); got != want {
				t.Fatalf("%s from %s: register %d is that of %d, want %d", dst, src, r, got, want)
			}
		}
	})
}

// Coordinates that were named anew are found, in the layout and in another one that shares a dimension.
func TestNamesAreFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := []int{1 << rapid.IntRange(1, 4).Draw(t, "rows"), 1 << rapid.IntRange(1, 4).Draw(t, "columns")}
		deal := func(shape []int) Layout {
			bits := rapid.Permutation(append(DimBits(shape, 0), DimBits(shape, 1)...)).Draw(t, "bits")
			lanes := rapid.IntRange(0, len(bits)).Draw(t, "lanes")
			return Must(shape, Bases{Lane: bits[:lanes], Reg: append(slices.Clone(bits[lanes:]), 0)})
		}
		rows, columns := rapid.Permutation(units(Log2(shape[0]))).Draw(t, "of rows"), drawInvertible(t, Log2(shape[1]))
		l := deal(shape)
		to := l.Relabeled(Relabeling{rows, columns}, -1)
		names, ok := l.RelabelingTo(to)
		if !ok || !slices.Equal(names[0], rows) || !slices.Equal(names[1], columns) {
			t.Fatalf("%s in %s: %v, %t, want %v and %v", l, to, names, ok, rows, columns)
		}
		other := deal([]int{shape[0], 8})
		order := make([]int, len(rows))
		for i, x := range rows {
			order[Log2(int(x))] = i
		}
		if got, want := other.Relabeled(names, 1), other.PermuteBits(0, order); !got.Equal(want) {
			t.Fatalf("%s is named %s, want %s", other, got, want)
		}
	})
}

func TestNoNames(t *testing.T) {
	const l = "{reg=[[0,1],[0,0]], lane=[[1,0],[2,0]]} : 4x2"
	for _, o := range []string{
		"{reg=[[0,1],[0,0]], lane=[[1,0],[2,0]], warp=[[0,0]]} : 4x2", // more warps
		"{reg=[[0,1],[0,1]], lane=[[1,0],[2,0]]} : 4x2",               // a copy that is none
		"{reg=[[0,1],[0,0]], lane=[[0,1],[2,0]]} : 4x2",               // a row that is a column
		"{reg=[[0,1],[0,0]], lane=[[1,1],[2,0]]} : 4x2",               // both
		"{reg=[[0,1],[0,0]], lane=[[0,0],[2,0]]} : 4x2",               // nothing
	} {
		if names, ok := parse1(t, l).RelabelingTo(parse1(t, o)); ok {
			t.Errorf("%s in %s: %v", l, o, names)
		}
	}
	if names, ok := parse1(t, "{reg=[[0,1],[0,1]]} : 1x4").RelabelingTo(parse1(t, "{reg=[[0,1],[0,2]]} : 1x4")); ok { // two names for one
		t.Errorf("two names: %v", names)
	}
}

func TestCut(t *testing.T) {
	got := parse1(t, "{reg=[[4]], lane=[[1],[0]], warp=[[2]]} : 8").Cut(2)
	if want := parse1(t, "{reg=[[1],[2],[16]], lane=[[4],[0]], warp=[[8]]} : 32"); !got.Equal(want) {
		t.Errorf("%s, want %s", got, want)
	}
	if back, ok := got.Join(2); !ok || !back.Equal(parse1(t, "{reg=[[4]], lane=[[1],[0]], warp=[[2]]} : 8")) {
		t.Errorf("joined, it is %s", back)
	}
	for _, apart := range []string{"{lane=[[1],[2]], warp=[[4]]} : 8", "{reg=[[2],[1],[4]]} : 8", "{reg=[[1]], lane=[[2]], warp=[[4]]} : 8", "{reg=[[1],[2],[4]], lane=[[1]]} : 8"} {
		if l, ok := parse1(t, apart).Join(2); ok {
			t.Errorf("%s becomes %s", apart, l)
		}
	}
}
