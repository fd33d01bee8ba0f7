package emu

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
)

// CTAs at once.
//
// A launch whose CTAs cannot speak to each other (no atomic and no strong access of global memory, no clock: program.speaks) may be cut into parts
// that run beside each other, each with a shadow of its own for global memory. Nothing in one part is ordered with anything in another, so that two
// parts of which one has written a byte that the other has accessed have raced, whatever the times were; that is found when all have ended, by
// comparing their shadows. Who takes which CTA does not matter, because it cannot be seen:
//
//	no fault, no note, no race between parts   =>   memory and counters are those of a launch in one piece
//	otherwise                                  =>   what was written is put back, and the launch runs in one piece, and reports what that finds
//
// So every report is as deterministic as without parts.

// origin remembers the pages of a region as they were before the launch.
type origin struct {
	r     *region
	mu    sync.Mutex
	pages map[int]saved
}

type saved struct{ data, undef []byte }

// errStopped ends a part that cannot go on beside others.
var errStopped = errors.New("the launch must run in one piece")

// keep saves a page, if nobody has; it is called before the first write of a part to it.
func (o *origin) keep(page int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, ok := o.pages[page]; ok {
		return
	}
	from, to := page<<pageBits, min((page+1)<<pageBits, len(o.r.data))
	s := saved{data: append([]byte(nil), o.r.data[from:to]...)}
	if o.r.undef != nil {
		s.undef = append([]byte(nil), o.r.undef[from:to]...)
	}
	o.pages[page] = s
}

func (o *origin) restore() {
	for page, s := range o.pages { // pages do not overlap: the order does not matter
		copy(o.r.data[page<<pageBits:], s.data)
		if o.r.undef != nil {
			copy(o.r.undef[page<<pageBits:], s.undef)
		}
	}
}

// wrote marks the page of a byte as written; the first time, in a part of a launch, what it held is saved.
func (s *shadow) wrote(off int) {
	p := s.pages[off>>pageBits]
	if p.written {
		return
	}
	p.written = true
	if s.origin != nil {
		s.origin.keep(off >> pageBits)
	}
}

// inParts tells into how many parts the launch may be cut.
func (l *launch) inParts() int {
	o := &l.opt
	if o.Workers < 2 || l.entry.prog.speaks || l.entry.spoke.Load() || o.Schedule != RoundRobin || o.Stats || o.Checks.NoRaces || o.Checks.NoUndefined {
		return 1
	}
	return min(o.Workers, l.ctas/len(l.consts))
}

// part is a launch of its own that begins with a cluster and takes the others from the common supply.
func (l *launch) part(first int, next *atomic.Int64, origins []*origin) *launch {
	c := *l
	c.next, c.from = first, next
	c.syncs, c.mbars, c.noted = map[syncKey]*knowledge{}, map[syncKey]*mbarrier{}, map[noteKey]int{}
	c.mem = &Memory{next: l.mem.next, modules: l.mem.modules}
	c.globals = maps.Clone(l.globals)
	at := map[*region]*region{}
	for i, r := range l.mem.regions {
		mine := *r
		mine.shadow = shadow{origin: origins[i]}
		c.mem.regions = append(c.mem.regions, &mine)
		at[r] = &mine
	}
	for v, r := range c.globals { // the order does not matter
		c.globals[v] = at[r]
	}
	return &c
}

// parallel runs the launch in n parts. done is false where it must run in one piece after all; memory is then as it was.
func (l *launch) parallel(ctx context.Context, n int) (done bool, err error) {
	origins := make([]*origin, len(l.mem.regions))
	for i, r := range l.mem.regions {
		origins[i] = &origin{r: r, pages: map[int]saved{}}
	}
	inner, stop := context.WithCancel(ctx)
	defer stop()
	var next atomic.Int64 // after the first of each part
	next.Store(int64(n))
	parts, errs := make([]*launch, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range parts {
		parts[i] = l.part(i, &next, origins)
		wg.Go(func() {
			if errs[i] = parts[i].guarded(inner); errs[i] != nil || len(parts[i].notes) > 0 {
				stop()
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if inner.Err() == nil && !raced(parts) {
		for _, p := range parts {
			l.stats.add(&p.stats)
			l.steps += p.steps
			p.leave()
		}
		if l.steps <= l.opt.MaxSteps {
			return true, nil
		}
	}
	for _, o := range origins {
		o.restore()
	}
	if l.opt.Done != nil {
		l.opt.Done.Store(0)
	}
	l.stats, l.steps = counters{}, 0
	l.stats.init(l.entry.prog, l.opt.Stats)
	l.entry.spoke.Store(true) // it will again
	return false, nil
}

// guarded is run, with faults as errors. Any other panic is a fault of the emulator, which a launch in one piece shows at its place.
func (l *launch) guarded(ctx context.Context) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = errStopped
		}
	}()
	return l.run(ctx)
}

// raced tells whether a part has written a byte that another one has accessed.
func raced(parts []*launch) bool {
	for i := range parts[0].mem.regions {
		var shadows []*shadow
		most := 0
		for _, p := range parts {
			s := &p.mem.regions[i].shadow
			shadows = append(shadows, s)
			most = max(most, len(s.pages))
		}
		for page := range most {
			if pageRaced(shadows, page) {
				return true
			}
		}
	}
	return false
}

// pageRaced is raced for one page.
func pageRaced(shadows []*shadow, k int) bool {
	var have []*page
	written := false
	for _, s := range shadows {
		if k < len(s.pages) && s.pages[k] != nil {
			have = append(have, s.pages[k])
			written = written || s.pages[k].written
		}
	}
	if !written {
		return false
	}
	for i, p := range have {
		for _, q := range have[:i] {
			if (p.written || q.written) && p.meets(q) {
				return true
			}
		}
	}
	return false
}

// meets tells whether a byte of the page is written here and accessed there, or the other way round.
func (p *page) meets(q *page) bool {
	if p.shift < q.shift {
		p, q = q, p
	}
	for i := range q.cells { // the finer ones
		a, b := &p.cells[i>>(p.shift-q.shift)], &q.cells[i]
		if a.w != 0 && b.w|b.r != 0 || b.w != 0 && a.r != 0 {
			return true
		}
	}
	return false
}

// alone ends a part whose CTAs turn out to speak to others or to the outside.
func (w *warp) alone() {
	if w.launch.from != nil {
		panic(errStopped)
	}
}
