package emu

import "maps"

// Happens-before by vector clocks (FastTrack: Flanagan and Freund, PLDI 2009), shaped like the machine.
//
// A warp counts epochs: 1, 2, 3, ... An access is stamped (warp, lane, epoch). What a warp knows of the
// other warps of its CTA is a dense vector vc; what it knows of other CTAs is a sparse knowledge, nil for
// the kernels that never synchronise across CTAs. Lanes of a warp know each other's accesses of the
// epochs before full, the epoch of their last common synchronisation; what a lane learns alone (it
// acquired something) stays with that lane until the next one.
//
//	bar.sync          joins the vc of all warps that arrive; every arrival ends an epoch
//	bar.warp.sync     full = epoch
//	release           publishes a snapshot at the address; ends an epoch
//	acquire           the lane learns what was published there (memory model: PTX ISA section 8)
//
// Asynchronous work is done by agents, which have entries like warps: agents.go.
type clockState struct {
	epoch  uint32
	full   uint32
	vc     []uint32 // by level, epochs of the warps and agents of the CTA that are known to be complete
	ids    int      // warps and agents of a CTA
	far    *knowledge
	lone   [32]*knowledge // what single lanes know more
	hasOwn bool           // some lone is set
	fenced [32]*knowledge // snapshot at the last fence, published by later relaxed writes
	heard  [32]*knowledge // read by relaxed accesses, learned at the next fence
	weak   bool           // some fenced or heard is set
	latest [32]*knowledge // learned last
}

// knowledge is a set of accesses that are known to have happened, or on a higher level to be fenced too: all
// of a warp or agent, or of one thread, up to an epoch. It is immutable once shared.
type knowledge struct {
	warps   map[uint32]uint32 // by level and id (level.key)
	threads map[uint32]uint32 // by key<<5 | lane
}

func (k *knowledge) covers(r rec) bool { return k.coversAt(r, happened) }

// merge joins two knowledges; nil knows nothing.
func merge(a, b *knowledge) *knowledge {
	if a == nil || a == b {
		return b
	}
	if b == nil || a.knows(b) {
		return a
	}
	k := &knowledge{maps.Clone(a.warps), maps.Clone(a.threads)}
	k.add(b)
	return k
}

// knows tells whether b is part of k.
func (k *knowledge) knows(b *knowledge) bool {
	for w, e := range b.warps {
		if k.warps[w] < e {
			return false
		}
	}
	for t, e := range b.threads {
		if k.threads[t] < e {
			return false
		}
	}
	return true
}

func (k *knowledge) add(b *knowledge) {
	for w, e := range b.warps { // the maximum does not depend on the order
		k.warps[w] = max(k.warps[w], e)
	}
	for t, e := range b.threads {
		k.threads[t] = max(k.threads[t], e)
	}
}

func newKnowledge() *knowledge {
	return &knowledge{map[uint32]uint32{}, map[uint32]uint32{}}
}

func (c *clockState) start(ids int, v level) {
	if len(c.vc) != ids*int(v) {
		c.vc = make([]uint32, ids*int(v))
	}
	clear(c.vc)
	*c = clockState{epoch: 1, full: 1, vc: c.vc, ids: ids}
}

// ordered tells whether the access r happened before what the lane does now.
func (w *warp) ordered(lane int, r rec) bool {
	id := r.warp()
	if id == w.id {
		if r.epoch() < w.full || !r.many() && r.lane() == lane {
			return true
		}
	} else if k := id - w.cta.firstID; k < uint32(w.ids) {
		if w.vc[k] >= r.epoch() {
			return true
		}
		n := uint32(w.launch.warpsPerCTA)
		if k >= n && k%n == uint32(w.idx) && !r.many() && r.lane() == lane && w.work[k/n].done[lane] >= r.epoch() {
			return true
		}
	}
	return w.far.covers(r) || w.hasOwn && w.lone[lane].covers(r)
}

// snapshot gives all that a lane knows, its own accesses included. The caller ends the epoch, so that
// later accesses are not among them.
func (w *warp) snapshot(lane int) *knowledge {
	k := newKnowledge()
	if w.far != nil {
		k.add(w.far)
	}
	for i, e := range w.vc {
		if e > 0 && i != w.idx {
			id := w.key(i)
			k.warps[id] = max(k.warps[id], e)
		}
	}
	k.warps[w.id] = max(k.warps[w.id], w.full-1)
	k.threads[w.id<<5|uint32(lane)] = w.epoch
	w.ownPast(k, lane, happened)
	if w.lone[lane] != nil {
		k.add(w.lone[lane])
	}
	return k
}

// knows tells whether a lane knows all of k.
func (w *warp) knows(lane int, k *knowledge) bool {
	own := w.snapshot(lane)
	for id, e := range k.warps { // the result does not depend on the order
		if own.warps[id] < e {
			return false
		}
	}
	for id, e := range k.threads {
		if max(own.threads[id], own.warps[id>>5]) < e {
			return false
		}
	}
	return true
}

// key is the key in knowledge of entry i of a vc.
func (w *warp) key(i int) uint32 {
	if i < w.ids {
		return w.cta.firstID + uint32(i)
	}
	return level(i / w.ids).key(w.cta.firstID + uint32(i%w.ids))
}

// entry is the place in a vc of a key, or -1.
func (w *warp) entry(key uint32) int {
	if i := key&(1<<idBits-1) - w.cta.firstID; i < uint32(w.ids) {
		if at := int(key>>idBits)*w.ids + int(i); at < len(w.vc) {
			return at
		}
	}
	return -1
}

// everyone gives what the live lanes know together, their own accesses included. The caller ends the epoch.
func (w *warp) everyone() *knowledge {
	k := newKnowledge()
	if w.far != nil {
		k.add(w.far)
	}
	for i, e := range w.vc {
		if e > 0 {
			id := w.key(i)
			k.warps[id] = max(k.warps[id], e)
		}
	}
	k.warps[w.id] = w.epoch
	lanes(w.live, func(i int) {
		w.ownPast(k, i, happened)
		if w.hasOwn && w.lone[i] != nil {
			k.add(w.lone[i])
		}
	})
	return k
}

// learn adds k to what a lane knows.
func (w *warp) learn(lane int, k *knowledge) {
	if k != nil {
		w.lone[lane] = merge(w.lone[lane], k)
		w.hasOwn = true
	}
}

// absorb adds k to what the whole warp knows.
func (w *warp) absorb(k *knowledge) {
	if k == nil {
		return
	}
	outside := len(k.threads) > 0
	for id, e := range k.warps {
		if i := w.entry(id); i >= 0 {
			w.vc[i] = max(w.vc[i], e)
		} else {
			outside = true
		}
	}
	if outside {
		w.far = merge(w.far, k)
	}
}

// together makes all lanes of the warp know each other's accesses up to now.
func (w *warp) together() {
	w.epoch++
	w.full = w.epoch
	w.vc[w.idx] = w.epoch - 1
	if w.observed {
		w.sharePast(happened)
		w.observed = false
	}
	if w.hasOwn {
		for i, k := range w.lone {
			w.absorb(k)
			w.lone[i] = nil
		}
		w.hasOwn = false
	}
}

// togetherLanes does it for some lanes only.
func (w *warp) togetherLanes(m uint32) {
	if m == w.live {
		w.together()
		return
	}
	k := newKnowledge()
	lanes(m, func(i int) { k.add(w.snapshot(i)) })
	lanes(m, func(i int) { w.learn(i, k) })
	w.epoch++
}

// --- release and acquire at addresses ---

// syncKey is an address at which something is published.
type syncKey struct {
	r   *region
	off int
}

// publish is the write half of a strong access of a lane: a release publishes what the lane knows, a
// relaxed write what it knew at its last fence. A read-modify-write continues the release sequence of
// the earlier value, a plain write begins a new one.
func (w *warp) publish(lane int, key syncKey, release, rmw bool) {
	l := w.launch
	var k *knowledge
	if release {
		k = w.snapshot(lane)
		w.epoch++
	} else if w.weak {
		k = w.fenced[lane]
	}
	old := l.syncs[key]
	if rmw {
		k = merge(old, k)
	}
	if k != old {
		l.syncs[key] = k
	}
}

// hear is the read half: an acquire learns what was published, a relaxed read at the next fence.
func (w *warp) hear(lane int, key syncKey, acquire bool) {
	if len(w.launch.syncs) == 0 {
		return
	}
	k := w.launch.syncs[key]
	if k == nil {
		return
	}
	if acquire {
		if w.latest[lane] != k { // polling hears the same again and again
			w.latest[lane] = k
			w.learn(lane, k)
		}
	} else {
		w.heard[lane] = merge(w.heard[lane], k)
		w.weak = true
	}
}

// fence makes what the lanes heard known to them, and what they know ready to be published.
func (w *warp) fence(m uint32) {
	lanes(m, func(i int) {
		if w.weak && w.heard[i] != nil {
			w.learn(i, w.heard[i])
			w.heard[i] = nil
		}
	})
	w.fencedEpoch(m)
	w.epoch++
}

func (w *warp) fencedEpoch(m uint32) {
	w.weak = true
	shared := w.snapshot(firstLane(m))
	delete(shared.threads, w.id<<5|uint32(firstLane(m)))
	lanes(m, func(i int) {
		k := shared
		if w.lone[i] != nil {
			k = merge(k, w.lone[i])
		}
		own := &knowledge{k.warps, maps.Clone(k.threads)}
		own.threads[w.id<<5|uint32(i)] = w.epoch
		w.ownPast(own, i, happened)
		w.fenced[i] = own
	})
}
