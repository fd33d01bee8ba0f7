package layout

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func ExampleMemLayout_Boxes() {
	b, ok := Swizzled([]int{64, 256}, []int{1, 0}, 2, 128).Boxes(1, 2)
	fmt.Println(b.Dims, b.Box, b.Swizzle, ok)
	for _, p := range b.Parts {
		fmt.Println(p.Corner, p.Offset)
	}
	// Output:
	// [1 0] [64 64] 128 true
	// [0 0] 0
	// [0 64] 8192
	// [0 128] 16384
	// [0 192] 24576
}

// The hardware's definition: element j of a box lies at its number, and chunk (a>>4) of address a is exchanged by bits 7 and on of a (PTX ISA, "Swizzling modes").
// A buffer lies at any multiple of its size, as far as that is from 128 to 1024 bytes.
func TestBoxesPutElementsWhereTheBufferHasThem(t *testing.T) {
	found := map[int]int{}
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(1, 4).Draw(t, "rank")
		shape, order := make([]int, rank), rapid.Permutation([]int{0, 1, 2, 3}[:rank]).Draw(t, "order")
		for d := range shape {
			shape[d] = 1 << rapid.IntRange(0, 10/rank).Draw(t, "extent")
		}
		elemBytes := 1 << rapid.IntRange(0, 3).Draw(t, "bytes")
		fast := order[0]
		m := Strided(shape, order)
		if width := rapid.SampledFrom([]int{0, 32, 64, 128}).Draw(t, "swizzle"); width > 0 {
			shape[fast] = max(shape[fast], width/elemBytes) // a whole row of the swizzle
			m = Swizzled(shape, order, elemBytes, width)
		}
		b, ok := m.Boxes(fast, elemBytes)
		if !ok {
			return
		}
		found[b.Swizzle]++
		base := rapid.IntRange(0, 7).Draw(t, "base") * min(max(m.Size()*elemBytes, 128), 1024)
		chunks := map[int]int{0: 0, 32: 1, 64: 3, 128: 7}[b.Swizzle]
		seen := map[int]bool{}
		elements := 1
		for _, n := range b.Box {
			elements *= n
		}
		for _, p := range b.Parts {
			for j := range elements {
				at, rest := append([]int{}, p.Corner...), j
				for i, d := range b.Dims {
					at[d], rest = at[d]+rest%b.Box[i], rest/b.Box[i]
				}
				address := base + p.Offset + j*elemBytes
				address ^= (address >> 7 & chunks) << 4
				address -= base
				if want := m.offset(flatten(shape, at)) * elemBytes; address != want {
					t.Fatalf("%v: %+v puts element %v at %d, where %d is meant", m, b, at, address, want)
				}
				seen[address] = true
			}
		}
		if len(seen) != m.Size() {
			t.Fatalf("%v: %+v fills %d elements of %d", m, b, len(seen), m.Size())
		}
	})
	for _, width := range []int{0, 32, 64, 128} {
		if found[width] == 0 && !testing.Short() { // a fifth of the draws may miss one
			t.Errorf("no boxes with a swizzle of %d bytes", width)
		}
	}
}

func TestWhereNoBoxesFit(t *testing.T) {
	for _, c := range []struct {
		why         string
		m           MemLayout
		fast, bytes int
	}{
		{"padding", Padded([]int{64, 64}, []int{1, 0}, 8), 1, 2},
		{"neighbours in memory are not neighbours there", Strided([]int{64, 64}, []int{1, 0}), 0, 2},
		{"rows of less than 16 bytes", Strided([]int{64, 4}, []int{1, 0}), 1, 2},
		{"rows in another order", mustMem([]int{16, 32}, []uint64{1, 2, 4, 8, 16, 32, 64 | 8, 128 | 16, 256 | 32}, 0, 0), 1, 2},
		{"fewer rows than the swizzle has, so that it depends on where the buffer lies", Swizzled([]int{4, 64}, []int{1, 0}, 2, 128), 1, 2},
		{"seventeen boxes and more", Strided([]int{32, 512}, []int{1, 0}), 1, 1},
	} {
		if b, ok := c.m.Boxes(c.fast, c.bytes); ok {
			t.Errorf("%s: %+v", c.why, b)
		}
	}
}
