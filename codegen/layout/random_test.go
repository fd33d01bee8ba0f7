package layout

import (
	"slices"

	"pgregory.net/rapid"
)

// Random layouts: a random basis of the tile, some of its sums as replicas, dealt out to the input dimensions.

func drawShape(t *rapid.T, bits int) []int {
	rank := rapid.IntRange(1, 3).Draw(t, "rank")
	shape := slices.Repeat([]int{1}, rank)
	for range bits {
		shape[rapid.IntRange(0, rank-1).Draw(t, "dim")] *= 2
	}
	return shape
}

// drawInvertible is a random invertible n x n matrix.
func drawInvertible(t *rapid.T, n int) []uint64 {
	cols := units(n)
	for i := range 3 * n {
		a, b := rapid.IntRange(0, n-1).Draw(t, "a"), rapid.IntRange(0, n-1).Draw(t, "b")
		switch {
		case a == b:
		case i%3 == 0:
			cols[a], cols[b] = cols[b], cols[a]
		default:
			cols[a] ^= cols[b]
		}
	}
	return cols
}

func drawVector(t *rapid.T, n int) uint64 {
	return rapid.Uint64Range(0, 1<<n-1).Draw(t, "vector")
}

// drawLayout is a random surjective layout over 32 lanes and 2^warps warps.
func drawLayout(t *rapid.T, shape []int, warps int, replicas bool) Layout {
	n := totalBits(shape)
	cols := drawInvertible(t, n)
	if replicas {
		for range rapid.IntRange(0, 3).Draw(t, "replicas") {
			extra := uint64(0)
			if rapid.Bool().Draw(t, "dependent") {
				extra = drawVector(t, n)
			}
			at := rapid.IntRange(0, len(cols)).Draw(t, "at")
			cols = slices.Insert(cols, at, extra)
		}
	}
	for len(cols) < LaneBits+warps {
		cols = append(cols, 0)
	}
	cols = rapid.Permutation(cols).Draw(t, "deal")
	return Must(shape, Bases{Lane: cols[:5], Warp: cols[5 : 5+warps], Reg: cols[5+warps:]})
}
