package emu

import (
	"cmp"
	"slices"
)

// sparseClock is a vector clock with entries, sorted by key, for what it knows of: a grid has many warps and a clock knows of few. It is immutable once
// shared, and so is all that entries point to. nil is the empty one.
//
// A thread that adds atomically acquires and releases a clock of all that did so before, and as a rule nobody asks what is in it. So a join of large
// clocks is their names in rest, until somebody asks (flatten).
type sparseClock struct {
	entries []clockEntry
	rest    [2]*sparseClock // what it includes besides entries and thread
	thread  threadEpoch
	joins   *joinCosts // of a clock that is not flat
}

// joinCosts decides for a launch whether joins of large clocks wait until somebody asks: as long as that looks into few.
type joinCosts struct{ waiting, looked int }

const (
	eagerEntries = 64      // joins with no more entries than that are made at once
	maxWaiting   = 1 << 22 // joins that wait, for their memory
)

func (j *joinCosts) wait() bool { return j.waiting < maxWaiting && j.looked <= 4*j.waiting+1024 }

// threadEpoch is what a clock has of a single lane. An epoch of 0 is none.
type threadEpoch struct {
	key, epoch uint32
	lane       int32
}

// clockEntry is what a clock has of a warp or an agent: the accesses of all lanes up to an epoch, and of single lanes up to later ones.
type clockEntry struct {
	key   uint32 // visibility and id (visibility.key)
	all   uint32
	lanes *[32]uint32 // nil: none has later ones
}

// of is the epoch up to which the accesses of a lane are in the clock.
func (e *clockEntry) of(lane int) uint32 {
	if e.lanes == nil {
		return e.all
	}
	return max(e.all, e.lanes[lane])
}

func (e *clockEntry) includes(b *clockEntry) bool {
	if e.all < b.all {
		return false
	}
	if b.lanes != nil && b.lanes != e.lanes {
		for i, epoch := range b.lanes {
			if e.of(i) < epoch {
				return false
			}
		}
	}
	return true
}

// join gives the join of two entries of one key. What the lanes have one by one all of them have: an access of several lanes asks for all only.
func (e *clockEntry) join(b *clockEntry) clockEntry {
	switch {
	case e.includes(b):
		return *e
	case b.includes(e):
		return *b
	}
	j := clockEntry{key: e.key, lanes: new([32]uint32)}
	for i := range j.lanes {
		j.lanes[i] = max(e.of(i), b.of(i))
	}
	j.all = slices.Min(j.lanes[:])
	if slices.Max(j.lanes[:]) == j.all {
		j.lanes = nil
	}
	return j
}

// flatten makes entries all that the clock has, and gives them.
func (k *sparseClock) flatten() []clockEntry {
	if k.flat() {
		return k.entries
	}
	seen := map[*sparseClock]bool{k: true}
	all, few := &sparseClock{}, []clockEntry(nil)
	for todo := []*sparseClock{k}; len(todo) > 0; {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if t := n.thread; t.epoch > 0 {
			e := clockEntry{key: t.key, lanes: new([32]uint32)}
			e.lanes[t.lane] = t.epoch
			few = append(few, e)
		}
		if len(n.entries) < 64 {
			few = append(few, n.entries...)
		} else {
			all = joinFlat(all, &sparseClock{entries: n.entries})
			k.joins.looked += len(n.entries) / 64
		}
		for _, r := range n.rest {
			if r != nil && !seen[r] {
				seen[r] = true
				todo = append(todo, r)
			}
		}
	}
	k.joins.looked += len(seen)
	slices.SortStableFunc(few, func(a, b clockEntry) int { return cmp.Compare(a.key, b.key) })
	single := &sparseClock{}
	for i := range few {
		if last := len(single.entries) - 1; last >= 0 && single.entries[last].key == few[i].key {
			single.entries[last] = single.entries[last].join(&few[i])
		} else {
			single.entries = append(single.entries, few[i])
		}
	}
	*k = sparseClock{entries: joinFlat(all, single).entries}
	return k.entries
}

// flat tells whether entries is all that the clock has.
func (k *sparseClock) flat() bool { return k.joins == nil }

// entry is the entry of a key, or nil.
func (k *sparseClock) entry(key uint32) *clockEntry {
	k.flatten()
	if at, found := k.search(key); found {
		return &k.entries[at]
	}
	return nil
}

func (k *sparseClock) search(key uint32) (at int, found bool) {
	if n := len(k.entries); n == 0 || k.entries[n-1].key < key { // entries are often made in order
		return n, false
	}
	return slices.BinarySearchFunc(k.entries, key, func(e clockEntry, key uint32) int { return int(e.key) - int(key) })
}

// raise adds accesses to a clock that is not shared yet.
func (k *sparseClock) raise(e clockEntry) {
	if e.all == 0 && e.lanes == nil {
		return
	}
	at, found := k.search(e.key)
	if found {
		k.entries[at] = k.entries[at].join(&e)
	} else {
		k.entries = slices.Insert(k.entries, at, e)
	}
}

// raiseLane adds the accesses of one lane up to an epoch to a clock that is not shared yet.
func (k *sparseClock) raiseLane(key uint32, lane int, epoch uint32) {
	if epoch > 0 {
		e := clockEntry{key: key, lanes: new([32]uint32)}
		e.lanes[lane] = epoch
		k.raise(e)
	}
}

// joinClocks is the join of two clocks.
func joinClocks(a, b *sparseClock) *sparseClock {
	switch {
	case a == nil || a == b:
		return b
	case b == nil:
		return a
	}
	if j := cmp.Or(a.joins, b.joins); j != nil && j.wait() {
		return (&sparseClock{}).with(j, a, b)
	}
	return joinFlat(a, b)
}

// with is a clock that is not shared yet, of its own entries and thread, with all that two others have.
func (k *sparseClock) with(j *joinCosts, a, b *sparseClock) *sparseClock {
	k.joins, k.rest = j, [2]*sparseClock{a, b}
	j.waiting++
	return k
}

// joinFlat is the join of two flat clocks.
func joinFlat(a, b *sparseClock) *sparseClock {
	a.flatten()
	b.flatten()
	switch {
	case a.includes(b):
		return a
	case b.includes(a):
		return b
	}
	k := &sparseClock{entries: make([]clockEntry, 0, len(a.entries)+len(b.entries))}
	rest := b.entries
	for i := range a.entries {
		e := &a.entries[i]
		for len(rest) > 0 && rest[0].key < e.key {
			k.entries, rest = append(k.entries, rest[0]), rest[1:]
		}
		if len(rest) > 0 && rest[0].key == e.key {
			k.entries, rest = append(k.entries, e.join(&rest[0])), rest[1:]
		} else {
			k.entries = append(k.entries, *e)
		}
	}
	k.entries = append(k.entries, rest...)
	return k
}

// includes tells whether k is at or after b in every entry.
func (k *sparseClock) includes(b *sparseClock) bool {
	rest, other := k.flatten(), b.flatten()
	for i := range other {
		e := &other[i]
		for len(rest) > 0 && rest[0].key < e.key {
			rest = rest[1:]
		}
		if len(rest) == 0 || rest[0].key != e.key || !rest[0].includes(e) {
			return false
		}
	}
	return true
}

func (k *sparseClock) covers(r accessStamp) bool { return k.coversAt(r, happened) }

// coversAt is covers for one visibility.
func (k *sparseClock) coversAt(r accessStamp, v visibility) bool {
	if k == nil {
		return false
	}
	e := k.entry(v.key(r.warp()))
	return e != nil && (e.all >= r.epoch() || !r.many() && e.of(r.lane()) >= r.epoch())
}
