package emu

import "slices"

// Happens-before by vector clocks (FastTrack: Flanagan and Freund, PLDI 2009), one clock a warp rather than a thread.
//
// A warp counts epochs: 1, 2, 3, ... An access is stamped (warp, lane, epoch). The clock of a warp has a
// dense part for the warps and agents of its CTA, and a sparse part for all others, which is nil in kernels
// that never synchronise across CTAs. Accesses of lanes of one warp are ordered with each other if they were
// made before syncEpoch, the epoch of the last synchronisation of all its lanes. What one lane acquires alone
// stays in a clock of that lane until the next such synchronisation.
//
//	bar.sync          joins the clocks of all warps that arrive; every arrival ends an epoch
//	bar.warp.sync     syncEpoch = epoch
//	release           publishes the clock of the lane at the address, to the threads of its scope; ends an epoch
//	acquire           joins what was published there into the clock of the lane (release.go)
//
// The agents of asynchronous operations have entries like warps: agents.go.
type clockState struct {
	epoch          uint32           // the present one
	syncEpoch      uint32           // that began at the last synchronisation of all lanes
	dense          []uint32         // epochs of the warps and agents of the CTA, for each visibility
	idsPerCTA      int              // warps and agents of a CTA
	sparse         *sparseClock     // what the dense clock has no entry for
	laneClocks     [32]*sparseClock // what single lanes have acquired beyond the warp's clock
	hasLaneClocks  bool             // some laneClocks is set
	fencedClocks   [32]byScope      // clock at the last fence, published by later writes
	unfencedClocks [32]byScope      // read by strong accesses, acquired by the next fence
	hasFenceState  bool             // some fencedClocks or unfencedClocks is set
	lastAcquired   [32]acquired
	lastDense      *sparseClock // the dense part of the last snapshot of a lane
}

func (c *clockState) start(ids int, v visibility) {
	if len(c.dense) != ids*int(v) {
		c.dense = make([]uint32, ids*int(v))
	}
	clear(c.dense)
	*c = clockState{epoch: 1, syncEpoch: 1, dense: c.dense, idsPerCTA: ids}
}

// happenedBefore tells whether the access r happened before what the lane does now.
func (w *warp) happenedBefore(lane int, r accessStamp) bool {
	id := r.warp()
	if id == w.id {
		if r.epoch() < w.syncEpoch || !r.many() && r.lane() == lane {
			return true
		}
	} else if k := id - w.cta.firstID; k < uint32(w.idsPerCTA) {
		if w.dense[k] >= r.epoch() {
			return true
		}
		n := uint32(w.launch.warpsPerCTA)
		if k >= n && k%n == uint32(w.idx) && !r.many() && r.lane() == lane && w.agents[k/n].completed[lane] >= r.epoch() {
			return true
		}
	}
	return w.sparse.covers(r) || w.hasLaneClocks && w.laneClocks[lane].covers(r)
}

// laneSnapshot is the clock of a lane, its own accesses included. The caller ends the epoch, so that
// later accesses are not covered.
func (w *warp) laneSnapshot(lane int) *sparseClock {
	before, dense := joinClocks(w.sparse, w.laneClocks[lane]), w.denseClock(w.syncEpoch-1)
	if before == nil || before.flat() && len(before.entries) <= eagerEntries || !w.launch.joins.wait() {
		dense.raiseLane(w.id, lane, w.epoch)
		w.addCompletions(dense, lane, happened)
		return joinClocks(before, dense)
	}
	if w.lastDense != nil && slices.Equal(w.lastDense.entries, dense.entries) { // lanes that release one after the other share it
		dense = w.lastDense
	}
	w.lastDense = dense
	k := &sparseClock{thread: threadEpoch{w.id, w.epoch, int32(lane)}}
	w.addCompletions(k, lane, happened)
	return k.with(&w.launch.joins, before, dense)
}

// denseClock is the dense clock, with an epoch for the accesses of the warp itself.
func (w *warp) denseClock(own uint32) *sparseClock {
	k := &sparseClock{entries: make([]clockEntry, 0, w.idsPerCTA+1)}
	for i, e := range w.dense {
		if i == w.idx {
			e = own
		}
		if e > 0 {
			k.raise(clockEntry{key: w.sparseKey(i), all: e})
		}
	}
	return k
}

// laneKnows tells whether the clock of a lane covers all of k.
func (w *warp) laneKnows(lane int, k *sparseClock) bool {
	return k == nil || w.laneSnapshot(lane).includes(k)
}

// sparseKey is the key in a sparseClock of entry i of the dense clock.
func (w *warp) sparseKey(i int) uint32 {
	if i < w.idsPerCTA {
		return w.cta.firstID + uint32(i)
	}
	return visibility(i / w.idsPerCTA).key(w.cta.firstID + uint32(i%w.idsPerCTA))
}

// denseIndex is the entry in the dense clock of a key of a sparseClock, or -1.
func (w *warp) denseIndex(key uint32) int {
	if i := key&(1<<idBits-1) - w.cta.firstID; i < uint32(w.idsPerCTA) {
		if at := int(key>>idBits)*w.idsPerCTA + int(i); at < len(w.dense) {
			return at
		}
	}
	return -1
}

// warpSnapshot is the join of the clocks of the live lanes, their own accesses included. The caller ends the epoch.
func (w *warp) warpSnapshot() *sparseClock {
	own := w.denseClock(w.epoch)
	k := w.sparse
	lanes(w.live, func(i int) {
		w.addCompletions(own, i, happened)
		k = joinClocks(k, w.laneClocks[i])
	})
	return joinClocks(k, own)
}

// joinLane joins k into the clock of a lane.
func (w *warp) joinLane(lane int, k *sparseClock) {
	if k != nil {
		w.laneClocks[lane] = joinClocks(w.laneClocks[lane], k)
		w.hasLaneClocks = true
	}
}

// joinWarp joins k into the clock of the warp.
func (w *warp) joinWarp(k *sparseClock) {
	if k == nil {
		return
	}
	if !k.flat() { // what it knows of this CTA stays in it
		w.sparse = joinClocks(w.sparse, k)
		return
	}
	outside := false
	for i := range k.entries {
		e := &k.entries[i]
		at := w.denseIndex(e.key)
		if at >= 0 {
			w.dense[at] = max(w.dense[at], e.all)
		}
		outside = outside || at < 0 || e.lanes != nil
	}
	if outside {
		w.sparse = joinClocks(w.sparse, k)
	}
}

// syncWarp synchronises all lanes of the warp: what each did before happened before what any does next.
func (w *warp) syncWarp() {
	w.count(&w.epoch)
	w.syncEpoch = w.epoch
	w.dense[w.idx] = w.epoch - 1
	if w.sawCompletion {
		w.shareCompletions(happened)
		w.sawCompletion = false
	}
	if w.hasLaneClocks {
		for i, k := range w.laneClocks {
			w.joinWarp(k)
			w.laneClocks[i] = nil
		}
		w.hasLaneClocks = false
	}
}

// syncLanes is syncWarp for some lanes.
func (w *warp) syncLanes(m uint32) {
	if m == w.live {
		w.syncWarp()
		return
	}
	var k *sparseClock
	lanes(m, func(i int) { k = joinClocks(k, w.laneSnapshot(i)) })
	lanes(m, func(i int) { w.joinLane(i, k) })
	w.count(&w.epoch)
}
