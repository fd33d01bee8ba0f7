package emu

// Release and acquire (sections 8.7 and 8.8). A release pattern synchronises with an acquire pattern that observes its write if the
// first operation of the one and the last of the other are morally strong: the scope of each includes the thread of the other. So a
// release publishes a clock to the domains of its thread, those of its own scope and of narrower ones, and an acquire takes what was
// published to the domains of its thread. The accesses through which a value is observed must be morally strong, too.

// domain is the set of the threads that a scope of an operation includes: a CTA, a cluster, or all.
type domain struct {
	scope strength
	id    int // of a CTA or cluster
}

// domainOf is the domain of a scope of the threads of a CTA.
func (l *launch) domainOf(s strength, cta int) domain {
	switch s {
	case ctaScope:
		return domain{s, cta}
	case clusterScope:
		id, n := l.ctaID(cta), l.cluster
		return domain{s, id[0]/n[0] + l.grid[0]*(id[1]/n[1]+l.grid[1]*(id[2]/n[2]))}
	}
	return domain{scope: s}
}

// include tells whether operations of two scopes, by threads of the CTAs a and b, include each other's thread.
func (l *launch) include(s, t strength, a, b int) bool {
	s = min(s, t)
	return s != weak && (a == b || s == gpuScope || l.domainOf(s, a) == l.domainOf(s, b))
}

// byScope is a clock for each scope of the operation that publishes or acquires it; a release of a scope is one of the narrower ones.
type byScope [strengths]*sparseClock

// syncAddr is an address that strong accesses synchronise at.
type syncAddr struct {
	r   *region
	off int
}

// published is what those who observe the value at an address may acquire.
type published struct {
	scope   strength // of the write of the value
	cta     int      // of its thread
	clocks  map[domain]*sparseClock
	version int64 // grows with each write
}

// acquired names what a lane acquired last: polling reads the same again and again.
type acquired struct {
	from    *published
	version int64
	scope   strength
}

// publish is the write half of a strong access of a lane: a release publishes the clock of the lane, any write that at its last
// fence (release patterns). A read-modify-write continues the release sequence of the value that it observes, a plain write begins a
// new one.
func (w *warp) publish(lane int, key syncAddr, o order, rmw bool) {
	l := w.launch
	var clocks byScope
	if w.hasFenceState {
		clocks = w.fencedClocks[lane]
	}
	if o.release {
		k := w.laneSnapshot(lane)
		w.count(&w.epoch)
		for s := ctaScope; s <= o.s; s++ {
			clocks[s] = w.within(k, s)
		}
	}
	p := key.r.released[key.off]
	if p != nil && !(rmw && l.include(p.scope, o.s, p.cta, w.cta.index)) {
		delete(key.r.released, key.off)
		p = nil
	}
	if p == nil {
		if clocks == (byScope{}) {
			return
		}
		p = &published{clocks: map[domain]*sparseClock{}}
		if key.r.released == nil {
			key.r.released = map[int]*published{}
		}
		key.r.released[key.off] = p
	}
	last := w.lastAcquired[lane]
	knows := o.release && last.from == p && last.version == p.version // what was published to domains of the scope of that acquire
	p.scope, p.cta = o.s, w.cta.index
	p.version++
	for s, k := range clocks {
		if k == nil {
			continue
		}
		d := l.domainOf(strength(s), w.cta.index)
		if !knows || strength(s) > min(o.s, last.scope) {
			k = joinClocks(p.clocks[d], k)
		}
		p.clocks[d] = k
	}
}

// observe is the read half: an acquire joins what was published to a domain of its own, the next fence that of the others (acquire
// patterns).
func (w *warp) observe(lane int, key syncAddr, o order) {
	p := key.r.released[key.off]
	if p == nil || !w.launch.include(p.scope, o.s, p.cta, w.cta.index) {
		return
	}
	now := acquired{from: p, version: p.version}
	if o.acquire {
		now.scope = o.s
	}
	if w.lastAcquired[lane] == now {
		return
	}
	w.lastAcquired[lane] = now
	for s := gpuScope; s >= ctaScope; s-- { // the widest first: it knows what the others know
		k := p.clocks[w.launch.domainOf(s, w.cta.index)]
		switch {
		case k == nil:
		case s <= now.scope:
			w.joinLane(lane, k)
		default:
			w.unfencedClocks[lane][s] = joinClocks(w.unfencedClocks[lane][s], k)
			w.hasFenceState = true
		}
	}
}

// fence joins what strong reads have observed into the clocks of the lanes, and keeps those for later writes: both for operations that
// its scope, or a narrower one, makes morally strong with it.
func (w *warp) fence(m uint32, o order) {
	if o.acquire && w.hasFenceState {
		lanes(m, func(i int) {
			for s := o.s; s >= ctaScope; s-- {
				w.joinLane(i, w.unfencedClocks[i][s])
				w.unfencedClocks[i][s] = nil
			}
		})
	}
	if o.release {
		w.snapshotAtFence(m, o.s)
	}
	w.count(&w.epoch)
}

func (w *warp) snapshotAtFence(m uint32, scope strength) {
	w.hasFenceState = true
	lanes(m, func(i int) {
		own := w.laneSnapshot(i)
		for s := ctaScope; s <= scope; s++ {
			w.fencedClocks[i][s] = w.within(own, s)
		}
	})
}
