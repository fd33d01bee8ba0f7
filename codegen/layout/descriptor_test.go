package layout

import (
	"fmt"
	"slices"
	"testing"
)

// The formulas of the PTX ISA ("Canonical Layouts", "Swizzling modes") for the byte of element (row, depth) of a matrix that begins at start, which holds
// the pattern of the swizzle: bits 4 to 6 of an address are XORed with bits 7 to 9, as many as the width has chunks.
func canonical(d Descriptor, start, row, depth, esz int) int {
	var at int
	if d.MNMajor {
		at = start + row*esz%d.Width + row*esz/d.Width*d.Lead + depth%8*d.Width + depth/8*d.Stride
	} else {
		at = start + row%8*d.Width + row/8*d.Stride + depth*esz
	}
	return at ^ at>>7&(d.Width/16-1)<<4
}

// checkDescriptor holds every element of every matrix of n x k in a buffer of three dimensions, the first a batch, against the formulas.
func checkDescriptor(t *testing.T, m MemLayout, d Descriptor, n, k, esz int) {
	t.Helper()
	for e := range uint64(1) << m.Bits() {
		x := coords(m.shape, e)
		start := m.offset(flatten(m.shape, []int{x[0], x[1] / n * n, x[2] / k * k})) * esz
		if got, want := canonical(d, start, x[1]%n, x[2]%k, esz), m.offset(e)*esz; got != want {
			t.Fatalf("%s, %v: element %v is said to be byte %d, is at %d", m, d, x, got, want)
		}
	}
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
		{128, 64, 2, 0, 64, "{128 true 0 1024}"},
		{8, 64, 2, 1, 8, "{128 false 0 0}"},
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
			checkDescriptor(t, m, d, c.n, k, c.esz)
		})
	}
}

// Exchanged or added bits of a place in memory: where a descriptor is still found, it finds every element, and most are not.
func TestDescriptorsOfDisturbedBuffers(t *testing.T) {
	const rows, deep, esz = 32, 128, 1
	for _, order := range [][]int{{2, 1, 0}, {1, 2, 0}} {
		m := Swizzled([]int{2, rows, deep}, order, esz, 32)
		said := 0
		for i := range m.Bits() {
			for j := range m.Bits() {
				bases := slices.Clone(m.bases)
				switch {
				case i < j:
					bases[i], bases[j] = bases[j], bases[i]
				case i > j:
					bases[i] ^= bases[j]
				}
				disturbed := mustMem(m.shape, bases, 0, 0)
				for _, n := range []int{8, 16, 32} {
					if d, ok := disturbed.Describe(1, 2, n, 32, esz); ok {
						said++
						checkDescriptor(t, disturbed, d, n, 32, esz)
					}
				}
			}
		}
		if bits := m.Bits(); said < 3*bits || said > bits*bits {
			t.Errorf("order %v: %d descriptors", order, said)
		}
	}
}

func TestWhatNoDescriptorSays(t *testing.T) {
	for name, m := range map[string]MemLayout{
		"dense":         Strided([]int{64, 64}, []int{1, 0}),
		"padded":        Padded([]int{64, 64}, []int{1, 0}, 8),
		"rotated":       SwizzledRotated([]int{64, 64}, []int{1, 0}, 2, 128, 0, 3, 1),
		"too few rows":  Swizzled([]int{4, 64}, []int{1, 0}, 2, 128),
		"rows of two":   Swizzled([]int{8, 64}, []int{1, 0}, 2, 128).Reshape([]int{4, 128}),
		"rows too near": Swizzled([]int{64, 8}, []int{1, 0}, 2, 16),
	} {
		if d, ok := m.Describe(0, 1, min(64, m.shape[0]), 16, 2); ok {
			t.Errorf("%s: %s is said to be %v", name, m, d)
		}
	}
}

// The rows of a pattern, and the depth of a row, do not go on in another dimension.
func TestDescriptorsStayInTheirDimensions(t *testing.T) {
	m := Swizzled([]int{64, 64}, []int{1, 0}, 2, 128)
	for _, c := range []struct {
		shape      []int
		row, depth int
	}{
		{[]int{16, 4, 64}, 1, 2}, {[]int{64, 2, 32}, 0, 2}, {[]int{2, 32, 64}, 0, 2}, {[]int{64, 64, 1}, 0, 2},
	} {
		if d, ok := m.Reshape(c.shape).Describe(c.row, c.depth, 8, 16, 2); ok {
			t.Errorf("%v, rows along %d, depth along %d: %v", c.shape, c.row, c.depth, d)
		}
	}
}
