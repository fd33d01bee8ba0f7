package layout

import (
	"fmt"
	"testing"
)

// The formulas of the PTX ISA ("Canonical Layouts", "Swizzling modes") for the byte of element (row, depth) of a matrix that begins at start, which holds
// the pattern of the swizzle: bits 4 to 6 of an address are XORed with bits 7 to 9, as many as the width has chunks.
func canonical(d Descriptor, start, row, depth, esz int) int {
	var at int
	if d.Turned {
		at = start + row*esz%d.Width + row*esz/d.Width*d.Lead + depth%8*d.Width + depth/8*d.Stride
	} else {
		at = start + row%8*d.Width + row/8*d.Stride + depth*esz
	}
	return at ^ at>>7&(d.Width/16-1)<<4
}

func TestDescriptorsFindEveryElement(t *testing.T) {
	for _, c := range []struct {
		rows, deep, esz int // of the buffer
		side            int // the dimension along which elements lie side by side
		n               int // rows of the instruction
		want            string
	}{
		{128, 64, 2, 1, 64, "{128 false 0 1024}"},
		{128, 64, 2, 1, 128, "{128 false 0 1024}"},
		{64, 32, 2, 1, 64, "{64 false 0 512}"},
		{64, 16, 2, 1, 64, "{32 false 0 256}"},
		{256, 128, 2, 1, 256, "{128 false 0 1024}"},
		{256, 128, 1, 1, 256, "{128 false 0 1024}"},
		{256, 64, 2, 0, 256, "{128 true 16384 1024}"},
		{128, 32, 2, 0, 128, "{128 true 8192 1024}"},
		{64, 64, 2, 0, 64, "{128 true 0 1024}"},
		{128, 64, 2, 0, 32, "{128 true 0 1024}"},
		{32, 16, 2, 0, 32, "{64 true 0 512}"},
		{16, 16, 2, 0, 16, "{32 true 0 256}"},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			shape := []int{2, c.rows, c.deep}
			order, inner := []int{2, 1, 0}, c.deep
			if c.side == 0 {
				order, inner = []int{1, 2, 0}, c.rows
			}
			m := Swizzled(shape, order, c.esz, min(128, inner*c.esz))
			const instruction = 32 // bytes of depth
			k := instruction / c.esz
			d, ok := m.Describe(1, 2, c.n, k, c.esz)
			if !ok || fmt.Sprint(d) != c.want {
				t.Fatalf("%s: %v, %v", m, d, ok)
			}
			for batch := range 2 {
				for row := 0; row < c.rows; row += c.n {
					for depth := 0; depth < c.deep; depth += k {
						start := m.Offset(flatten(shape, []int{batch, row, depth})) * c.esz
						for i := range c.n {
							for j := range k {
								if got, want := canonical(d, start, i, j, c.esz), m.Offset(flatten(shape, []int{batch, row + i, depth + j}))*c.esz; got != want {
									t.Fatalf("element (%d+%d, %d+%d): byte %d, is at %d", row, i, depth, j, got, want)
								}
							}
						}
					}
				}
			}
		})
	}
}

func TestWhatNoDescriptorSays(t *testing.T) {
	for name, m := range map[string]MemLayout{
		"dense":         Strided([]int{64, 64}, []int{1, 0}),
		"padded":        Padded([]int{64, 64}, []int{1, 0}, 8),
		"turned":        SwizzledTurned([]int{64, 64}, []int{1, 0}, 2, 128, 3, 1),
		"too few rows":  Swizzled([]int{4, 64}, []int{1, 0}, 2, 128),
		"rows too near": Swizzled([]int{64, 8}, []int{1, 0}, 2, 16),
	} {
		if d, ok := m.Describe(0, 1, min(64, m.shape[0]), 16, 2); ok {
			t.Errorf("%s: %s is said to be %v", name, m, d)
		}
	}
}
