package memory

import (
	"cmp"
	"fmt"
	"slices"

	"tileiras/passes/pass"
)

// PlaceBuffers finds offsets and returns the bytes that all take together: big buffers first, each at the lowest place that is free while it lives.
func PlaceBuffers(s *pass.State, list []*LiveInterval) (total int, err error) {
	order := slices.Clone(list)
	slices.SortStableFunc(order, func(a, b *LiveInterval) int { return cmp.Compare(b.Size, a.Size) })
	alive := TimelineOf(list)
	var ever segments
	end := 0
	for _, iv := range list {
		end = max(end, iv.Last)
	}
	for _, iv := range order {
		s.Step()
		taken := ever
		if always := iv.First == 0 && iv.Last == end; !always {
			taken = segmentsOf(alive.During(s, iv.First, iv.Last))
		}
		iv.offset = taken.gap(iv.Size, iv.Align)
		alive.Add(iv)
		ever = ever.add(segment{iv.offset, iv.offset + iv.Size})
		total = max(total, iv.offset+iv.Size)
	}
	if limit := s.Target.SharedOptIn; total > limit {
		whose := "on " + s.Target.Name
		if limit == s.MaxShared {
			whose = "by the limit that was asked for"
		}
		return 0, &shortage{order[0].Op, fmt.Sprintf(
			"the kernel needs %s of shared memory, a thread block has at most %d %s; the most, %s, are for the %s of this operation: smaller tiles or, for a product, a smaller depth help",
			bytesText(total), limit, whose, bytesText(order[0].Size), contentsOf(order[0].Op))}
	}
	return total, nil
}

// bytesText is a size as messages give it; PlacedMemory caps those that no GPU has.
func bytesText(n int) string {
	if n >= 1<<30 {
		return "1 GiB or more"
	}
	return fmt.Sprintf("%d bytes", n)
}

// segment is bytes of shared memory that are taken.
type segment struct{ from, to int }

// segments are in the order in which they begin.
type segments []segment

func segmentsOf(list []*LiveInterval) segments {
	taken := make(segments, len(list))
	for i, iv := range list {
		taken[i] = segment{iv.offset, iv.offset + iv.Size}
	}
	slices.SortFunc(taken, func(a, b segment) int { return cmp.Compare(a.from, b.from) })
	return taken
}

// gap is the lowest place of so many bytes that none of the segments has.
func (list segments) gap(size, align int) int {
	at := 0
	for _, t := range list {
		if at+size <= t.from {
			break
		}
		if at < t.to {
			at = (t.to + align - 1) / align * align
		}
	}
	return at
}

// add makes one segment of those that overlap a new one or stand beside it.
func (list segments) add(t segment) segments {
	i, _ := slices.BinarySearchFunc(list, t.from, func(old segment, from int) int { return cmp.Compare(old.to, from) })
	j := i
	for ; j < len(list) && list[j].from <= t.to; j++ {
		t = segment{min(t.from, list[j].from), max(t.to, list[j].to)}
	}
	return slices.Replace(list, i, j, t)
}

// Timeline finds which buffers that have places are alive together: a tree whose leaves are all buffers in the order in which their lives begin. A node knows when
// the last life below it ends.
type Timeline struct {
	buffers []*LiveInterval
	leaf    map[*LiveInterval]int
	last    []int // node n has the children 2n and 2n+1
}

// TimelineOf is a timeline of buffers none of which has a place yet.
func TimelineOf(list []*LiveInterval) *Timeline {
	t := &Timeline{buffers: slices.Clone(list), leaf: make(map[*LiveInterval]int, len(list))}
	slices.SortStableFunc(t.buffers, func(a, b *LiveInterval) int { return cmp.Compare(a.First, b.First) })
	for i, iv := range t.buffers {
		t.leaf[iv] = i
	}
	leaves := 1
	for leaves < len(list) {
		leaves *= 2
	}
	t.last = make([]int, 2*leaves)
	return t
}

// Add says that a buffer has its place.
func (t *Timeline) Add(iv *LiveInterval) {
	for n := len(t.last)/2 + t.leaf[iv]; n > 0; n /= 2 {
		t.last[n] = max(t.last[n], iv.Last)
	}
}

// During lists those that are alive at some time between two.
func (t *Timeline) During(s *pass.State, first, last int) (list []*LiveInterval) {
	var visit func(n, leaf, leaves int)
	visit = func(n, leaf, leaves int) {
		s.Step()
		switch {
		case leaf >= len(t.buffers) || t.buffers[leaf].First >= last || t.last[n] <= first:
		case leaves == 1:
			list = append(list, t.buffers[leaf])
		default:
			visit(2*n, leaf, leaves/2)
			visit(2*n+1, leaf+leaves/2, leaves/2)
		}
	}
	visit(1, 0, len(t.last)/2)
	return list
}
