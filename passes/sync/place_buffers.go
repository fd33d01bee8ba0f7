package sync

import (
	"cmp"
	"fmt"
	"slices"

	"tileiras/passes/pass"
)

// place finds offsets, those of buffers that are alive together apart.
func place(s *pass.State, list []*interval) (total int, err error) {
	return placed(s, list, func(*interval) bool { return false })
}

// placed finds offsets, big buffers first, each at the lowest place that is free while it lives, or if it has memory of its own, always.
func placed(s *pass.State, list []*interval, own func(iv *interval) bool) (total int, err error) {
	order := slices.Clone(list)
	slices.SortStableFunc(order, func(a, b *interval) int { return cmp.Compare(b.size, a.size) })
	alive := timelineOf(list)
	var ever segments
	end := 0
	for _, iv := range list {
		end = max(end, iv.last)
	}
	for _, iv := range order {
		s.Step()
		taken := ever
		if always := iv.first == 0 && iv.last == end; !always && !own(iv) {
			taken = segmentsOf(alive.during(s, iv.first, iv.last))
		}
		iv.offset = taken.gap(iv.size, iv.align)
		alive.add(iv)
		ever = ever.add(segment{iv.offset, iv.offset + iv.size})
		total = max(total, iv.offset+iv.size)
	}
	if limit := s.Target.SharedOptIn; total > limit {
		return 0, &shortage{order[0].op, fmt.Sprintf(
			"the kernel needs %d bytes of shared memory, a thread block has at most %d on %s; the most, %d bytes, are for the %s of this operation: smaller tiles or, for a product, a smaller depth help",
			total, limit, s.Target.Name, order[0].size, contentsOf(order[0].op))}
	}
	return total, nil
}

// segment is bytes of shared memory that are taken.
type segment struct{ from, to int }

// segments are in the order in which they begin.
type segments []segment

func segmentsOf(list []*interval) segments {
	taken := make(segments, len(list))
	for i, iv := range list {
		taken[i] = segment{iv.offset, iv.offset + iv.size}
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

// timeline finds which buffers that have places are alive together: a tree whose leaves are all buffers in the order in which their lives begin. A node knows when
// the last life below it ends.
type timeline struct {
	buffers []*interval
	leaf    map[*interval]int
	last    []int // node n has the children 2n and 2n+1
}

func timelineOf(list []*interval) *timeline {
	t := &timeline{buffers: slices.Clone(list), leaf: make(map[*interval]int, len(list))}
	slices.SortStableFunc(t.buffers, func(a, b *interval) int { return cmp.Compare(a.first, b.first) })
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

// add says that a buffer has its place.
func (t *timeline) add(iv *interval) {
	for n := len(t.last)/2 + t.leaf[iv]; n > 0; n /= 2 {
		t.last[n] = max(t.last[n], iv.last)
	}
}

// during lists those that are alive at some time between two.
func (t *timeline) during(s *pass.State, first, last int) (list []*interval) {
	var visit func(n, leaf, leaves int)
	visit = func(n, leaf, leaves int) {
		s.Step()
		switch {
		case leaf >= len(t.buffers) || t.buffers[leaf].first >= last || t.last[n] <= first:
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
