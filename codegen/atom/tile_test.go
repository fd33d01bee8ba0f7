package atom

import (
	"testing"

	"tileiras/codegen/layout"
)

// Threads may hold rows and columns in another order, if all tiles share it, and warpgroups in their own only.
func TestWhatTilingsHave(t *testing.T) {
	for _, name := range []string{"mma.m16n8k16.row.col.f32.f16.f16.f32", "wgmma.m64n64k16.f32.f16.f16.rs"} {
		m := MMAByName(name)
		group := m.Group > 0
		tl, ok := Tile(m, Extent{M: 128, N: 64, K: 32}, Split{1, 4, 1, 1}, false)
		if !ok {
			t.Fatalf("%s does not tile", name)
		}
		l := tl.Layouts()
		order := []int{3, 1, 2, 0, 4, 5}
		named := Layouts{A: l.A.PermuteBits(0, order), B: l.B, C: l.C.PermuteBits(0, order)}
		apart, depths, columns := l, l, l
		apart.A = named.A
		depths.A = l.A.PermuteBits(1, []int{1, 0})
		columns.C = l.C.PermuteBits(1, []int{1, 0})
		if group {
			named.B = layout.Layout{}
		}
		for what, c := range map[string]struct {
			have Layouts
			want bool
		}{"its own": {l, true}, "other rows": {named, !group}, "other rows of A": {apart, false}, "other depths of A": {depths, false}, "other columns of C": {columns, false}} {
			if got := tl.Has(c.have); got != c.want {
				t.Errorf("%s has %s: %t", name, what, got)
			}
		}
	}
}
