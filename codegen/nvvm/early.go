package nvvm

import "slices"

// hoistPacks moves pure instructions of a block that take the last of more registers than they fill: to where the last of their operands is
// made, or used by another. Two exponentials that a product takes packed in one register do not wait for it in two.
//
//	e0 = ex2 x0; e1 = ex2 x1; s = add e0, e1            e0 = ex2 x0; e1 = ex2 x1; s = add e0, e1; p = pack e0, e1
//	mma q                                          =>   mma q
//	p = pack e0, e1; mma p                              mma p
//
// order is the instructions by their number within the block.
func (s *sinker) hoistPacks(order []int32) []int32 {
	n := len(s.here)
	at := make([]int32, n) // the place of an instruction, or that after which it moved
	top := int32(0)        // nothing stands among phis
	s.users, s.packs = make([][2]int32, n), make([]bool, n)
	for k, i := range order {
		at[i], s.users[i] = int32(k), [2]int32{-1, -1}
		if s.here[i].phi {
			top = int32(k)
		}
	}
	for _, i := range order {
		for _, o := range s.here[i].takes {
			if o < 0 {
				continue
			}
			if u := &s.users[o]; u[0] != i {
				u[0], u[1] = i, u[0]
			}
		}
	}
	next, last := none(n), none(n) // by place: the first and the last instruction that moved there
	then := none(n)                // by instruction: the one that moved there after it
	for k, i := range order {
		to, ok := s.earliest(i, at)
		if to = max(to, top); !ok || int(to) >= k-1 {
			continue
		}
		s.packs[i], at[i] = true, to
		if last[to] < 0 {
			next[to] = i
		} else {
			then[last[to]] = i
		}
		last[to] = i
	}
	out := make([]int32, 0, len(order))
	for k, i := range order {
		if at[i] == int32(k) {
			out = append(out, i)
		}
		for m := next[k]; m >= 0; m = then[m] {
			out = append(out, m)
		}
	}
	return out
}

func none(n int) []int32 { return slices.Repeat([]int32{-1}, n) }

// earliest is the place behind which an instruction can stand without extending a live range; ok is false if that frees no register.
func (s *sinker) earliest(i int32, at []int32) (to int32, ok bool) {
	n := &s.here[i]
	if n.kind != pure || n.bit {
		return 0, false
	}
	freed := -int(n.words)
	for k, o := range n.takes {
		if o < 0 {
			continue
		}
		to = max(to, at[o])
		x := &s.here[o]
		if x.pinned || s.users[o][0] != i || slices.Contains(n.takes[:k], o) {
			continue
		}
		if !x.bit {
			freed += int(x.words)
		}
		if u := s.users[o][1]; u >= 0 {
			to = max(to, at[u])
		}
	}
	return to, freed > 0
}
