package emu

import "slices"

// sparseClock is a vector clock with entries, sorted by key, for what it knows of: a grid has many warps and a clock knows of few. It is immutable once
// shared, and so is all that entries point to. nil is the empty one.
type sparseClock struct{ entries []clockEntry }

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

// join gives the join of two entries of one key.
func (e *clockEntry) join(b *clockEntry) clockEntry {
	switch {
	case e.includes(b):
		return *e
	case b.includes(e):
		return *b
	}
	j := clockEntry{e.key, max(e.all, b.all), new([32]uint32)}
	for i := range j.lanes {
		j.lanes[i] = max(e.of(i), b.of(i))
	}
	return j
}

// entry is the entry of a key, or nil.
func (k *sparseClock) entry(key uint32) *clockEntry {
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
	case b == nil || a.includes(b):
		return a
	case b.includes(a):
		return b
	}
	k := &sparseClock{make([]clockEntry, 0, len(a.entries)+len(b.entries))}
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
	rest := k.entries
	for i := range b.entries {
		e := &b.entries[i]
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
