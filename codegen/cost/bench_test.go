package cost

import (
	"testing"

	"tileiras/codegen/layout"
)

// A conversion of a tile of 16384 elements, planned and priced: it happens many times while layouts are assigned.
func BenchmarkConversion(b *testing.B) {
	tile := []int{128, 128}
	row := layout.BlockedSpan(tile, 8, 64, []int{1, 0}, 4)
	col := layout.BlockedSpan(tile, 8, 64, []int{0, 1}, 4)
	for b.Loop() {
		Conversion(row, col, 16)
	}
}
