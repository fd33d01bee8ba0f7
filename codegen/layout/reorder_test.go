package layout

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Results of an mma of which neighbours become places along K of a factor of the next one.
func TestReorderKeepsThreadsWhatTheyHold(t *testing.T) {
	const (
		results  = "{reg=[[0,1],[8,0],[0,8],[0,16]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]]} : 16x32"
		bytes    = "{reg=[[0,1],[0,2],[8,0],[0,16]], lane=[[0,4],[0,8],[1,0],[2,0],[4,0]]} : 16x32"
		halves   = "{reg=[[0,1],[8,0],[0,8],[0,16]], lane=[[0,2],[0,4],[1,0],[2,0],[4,0]]} : 16x32"
		words    = "{reg=[[8,0],[0,4],[0,8],[0,16]], lane=[[0,1],[0,2],[1,0],[2,0],[4,0]]} : 16x32"
		rows     = "{reg=[[0,1],[0,2],[0,16],[8,0]], lane=[[0,4],[0,8],[2,0],[1,0],[4,0]]} : 16x32"
		twice    = "{reg=[[0,1],[0,2],[8,0],[0,16]], lane=[[0,4],[0,4],[1,0],[2,0],[4,0]]} : 16x32"
		together = "{reg=[[0,1],[0,2],[8,0],[0,16]], lane=[[0,4],[0,12],[1,0],[2,0],[4,0]]} : 16x32"
		warps    = "{reg=[[0,1],[0,2],[8,0],[0,16]], lane=[[0,4],[0,8],[1,0],[2,0],[4,0]], warp=[[0,0]]} : 16x32"
	)
	for _, c := range []struct {
		to   string
		want []int
	}{
		{bytes, []int{0, 3, 1, 2, 4}}, {halves, []int{0, 1, 2, 3, 4}}, {words, []int{1, 2, 0, 3, 4}},
		{rows, nil}, {twice, nil}, {together, nil}, {warps, nil},
	} {
		if got, ok := parse1(t, results).Reorder(1, parse1(t, c.to)); ok != (c.want != nil) || ok && !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %t, want %v", c.to, got, ok, c.want)
		}
	}
}

// An order that was applied is found, or another one that leaves values in their threads as well.
func TestReorderFindsWhatWasReordered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := []int{1 << rapid.IntRange(0, 4).Draw(t, "rows"), 1 << rapid.IntRange(1, 6).Draw(t, "columns")}
		bits := rapid.Permutation(append(DimBits(shape, 0), DimBits(shape, 1)...)).Draw(t, "bits")
		lanes := rapid.IntRange(0, len(bits)).Draw(t, "lanes")
		warps := rapid.IntRange(0, len(bits)-lanes).Draw(t, "warps")
		l := Must(shape, Bases{Lane: bits[:lanes], Warp: bits[lanes:][:warps], Reg: bits[lanes+warps:]})
		applied := rapid.Permutation([]int{0, 1, 2, 3, 4, 5}[:Log2(shape[1])]).Draw(t, "order")
		to := l.PermuteBits(1, applied)
		got, ok := l.Reorder(1, to)
		if !ok {
			t.Fatalf("%s and %s: no order, but %v is one", l, to, applied)
		}
		if k := Convert(l.PermuteBits(1, got), to).Kind; k > RegRename {
			t.Fatalf("%s and %s: %v leaves a conversion by %s", l, to, got, k)
		}
	})
}
