package local

import "testing"

func TestSlabsHandOutEachElementOnce(t *testing.T) {
	var s Slab[int]
	var lists [][]int
	slabSize := s.size()
	for n := range 2 * slabSize {
		list := s.Take(n % 7)
		if len(list) != n%7 || cap(list) != n%7 {
			t.Fatalf("asked for %d, got %d of %d", n%7, len(list), cap(list))
		}
		for i := range list {
			if list[i] != 0 {
				t.Fatalf("element %d of list %d is not zero", i, n)
			}
			list[i] = n
		}
		lists = append(lists, list)
	}
	if big := s.Take(3 * slabSize); len(big) != 3*slabSize {
		t.Errorf("asked for %d, got %d", 3*slabSize, len(big))
	}
	*s.One() = 1
	for n, list := range lists {
		for _, x := range list {
			if x != n {
				t.Fatalf("list %d was changed to %d", n, x)
			}
		}
	}
}

func TestSlabsMakeFewAllocations(t *testing.T) {
	if n := testing.AllocsPerRun(10, func() {
		var s Slab[int]
		for range 4 * (s.size() / 4) {
			s.Take(4)
		}
	}); n > 4 {
		t.Errorf("%v allocations for four slabs", n)
	}
}

func TestAppendDoublesLists(t *testing.T) {
	var list []int
	made := 0
	for i := range 5000 {
		before := cap(list)
		if list = Append(list, i); cap(list) != before {
			made += cap(list)
		}
	}
	for i, x := range list {
		if x != i {
			t.Fatalf("element %d is %d", i, x)
		}
	}
	if last := cap(list); len(list) != 5000 || made >= 2*last {
		t.Errorf("%d elements, %d made for the last %d", len(list), made, last)
	}
}
