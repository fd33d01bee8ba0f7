package interp

import (
	"testing"

	"tileiras/dialects/cudatile"
	"tileiras/ir"
)

func TestEveryOperationHasARule(t *testing.T) {
	items := map[ir.Code]bool{cudatile.OpModule: true, cudatile.OpEntry: true, cudatile.OpGlobal: true} // stand outside kernels
	for _, d := range cudatile.Dialect.Ops {
		if rules[d.Code] == nil && !items[d.Code] {
			t.Errorf("%s has no rule", d.FullName())
		}
	}
}

func TestNoWordOfMemoryBelongsToTwoAllocations(t *testing.T) {
	mem := NewMemory()
	a := mem.Alloc("a", make([]byte, 10), 256)
	b := mem.Alloc("b", make([]byte, 4), 256)
	if a%256 != 0 || b%256 != 0 {
		t.Errorf("addresses %#x and %#x are not aligned", a, b)
	}
	for _, tt := range []struct {
		addr uint64
		n    int
		want string // allocation, "" for none
	}{{a, 8, "a"}, {a + 2, 8, "a"}, {a + 3, 8, ""}, {a + 9, 1, "a"}, {a + 10, 1, ""}, {a - 1, 1, ""}, {b - 1, 1, ""}, {b, 4, "b"}, {b, 8, ""},
		{^uint64(0), 8, ""}, {0, 1, ""}} {
		name := ""
		if x, _ := mem.find(tt.addr, tt.n); x != nil {
			name = x.name
		}
		if name != tt.want {
			t.Errorf("%d bytes at a+%d: found in %q, want %q", tt.n, int64(tt.addr-a), name, tt.want)
		}
	}
	mem.free(mem.at(a))
	if x, _ := mem.find(a, 1); x != nil {
		t.Error("a freed allocation is still there")
	}
}

func TestElementsOfFourBitsShareBytes(t *testing.T) {
	mem := NewMemory()
	a := mem.at(mem.Alloc("a", make([]byte, 2), 16))
	c := codec{bytes: 1, nibble: true}
	for i, v := range []uint64{1, 2, 3, 4} {
		addr, high := c.address(a.base, int64(i))
		c.store(a, int(addr-a.base), high, v, 0)
	}
	if a.data[0] != 0x21 || a.data[1] != 0x43 {
		t.Errorf("got % x, want 21 43", a.data)
	}
	if v, _ := c.load(a, 1, true); v != 4 {
		t.Errorf("got %d, want 4", v)
	}
}

func TestTileBlocksAreCountedAlongXFirst(t *testing.T) {
	l := launch{opts: &Options{Grid: [3]int{2, 3, 4}}}
	want := 0
	for z := range 4 {
		for y := range 3 {
			for x := range 2 {
				if got := l.blockIndex(&Report{Block: [3]int{x, y, z}}); got != want {
					t.Errorf("tile block %d %d %d is number %d, want %d", x, y, z, got, want)
				}
				want++
			}
		}
	}
}
