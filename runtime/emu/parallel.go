package emu

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
)

// Running CTAs in parallel.
//
// A launch whose CTAs cannot communicate (no atomic and no strong access of global memory, no clock register:
// program.communicates) may be divided into parts that run in parallel, each with its own shadow of global memory. No access in
// one part is ordered with one in another, so if one part has written a byte that another has accessed, that is a race, whatever
// the timing was. It is found when all parts have ended, by comparing their shadows. So it does not matter which part runs which
// CTA:
//
//	no fault, no note, no race between parts   =>   memory and counters are those of a serial launch
//	otherwise                                  =>   writes are undone, and the launch runs serially and reports what that finds
//
// So reports are as deterministic as those of a serial launch.

// undoLog holds the pages of a region that a parallel launch has written, as they were before.
type undoLog struct {
	r     *region
	mu    sync.Mutex
	pages map[int]saved
}

type saved struct{ data, undef []byte }

// errStopped ends a part of a launch that must run serially.
var errStopped = errors.New("the launch must run in one piece")

// save saves a page, unless another part has; it is called before the first write of a part to it.
func (o *undoLog) save(page int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, ok := o.pages[page]; ok {
		return
	}
	from, to := o.from(page), min(o.from(page+1), len(o.r.data))
	s := saved{data: append([]byte(nil), o.r.data[from:to]...)}
	if o.r.undef != nil {
		s.undef = append([]byte(nil), o.r.undef[from:to]...)
	}
	o.pages[page] = s
}

// from gives where a page begins.
func (o *undoLog) from(page int) int { return max(0, page<<pageBits-o.r.newShadow().bias) }

func (o *undoLog) restore() {
	for page, s := range o.pages { // pages do not overlap: the order does not matter
		copy(o.r.data[o.from(page):], s.data)
		if o.r.undef != nil {
			copy(o.r.undef[o.from(page):], s.undef)
		}
	}
}

// markWritten marks the page of a byte as written; before the first write in a part of a launch it saves the page.
func (s *shadow) markWritten(off int) {
	page := (off + s.bias) >> pageBits
	p := s.pages[page]
	if p.written {
		return
	}
	p.written = true
	if s.undo != nil {
		s.undo.save(page)
	}
}

// partCount tells into how many parallel parts the launch may be divided.
func (l *launch) partCount() int {
	o := &l.opt
	if o.Workers < 2 || l.entry.prog.communicates || l.entry.serialOnly.Load() || o.Schedule != RoundRobin || o.Stats || o.Checks.NoRaces || o.Checks.NoUndefined {
		return 1
	}
	return min(o.Workers, l.ctas/len(l.consts))
}

// part is one part of the launch: it begins with the given cluster and takes further ones from next, which all parts share.
func (l *launch) part(first int, next *atomic.Int64, origins []*undoLog) *launch {
	c := *l
	c.next, c.supply = first, next
	c.noted, c.uses = map[noteKey]int{}, nil
	c.mem = &Memory{next: l.mem.next, modules: l.mem.modules}
	c.globals = maps.Clone(l.globals)
	at := map[*region]*region{}
	for i, r := range l.mem.regions {
		mine := *r
		mine.shadow, mine.released = r.newShadow(), nil
		mine.shadow.undo = origins[i]
		c.mem.regions = append(c.mem.regions, &mine)
		at[r] = &mine
	}
	for v, r := range c.globals { // the order does not matter
		c.globals[v] = at[r]
	}
	return &c
}

// parallel runs the launch in n parts. done is false if it must run serially after all; memory is then as it was.
func (l *launch) parallel(ctx context.Context, n int) (done bool, err error) {
	origins := make([]*undoLog, len(l.mem.regions))
	for i, r := range l.mem.regions {
		origins[i] = &undoLog{r: r, pages: map[int]saved{}}
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
			p.recycleCTAs()
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
	l.entry.serialOnly.Store(true) // the next launch would fail in the same way
	return false, nil
}

// guarded is run with panics as errors: faults of the program, and bugs of the emulator. The serial launch reports either.
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
	var have []*shadowPage
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
			if (p.written || q.written) && p.conflictsWith(q) {
				return true
			}
		}
	}
	return false
}

// conflictsWith tells whether one of the two pages records a write of a byte that the other accesses.
func (p *shadowPage) conflictsWith(q *shadowPage) bool {
	if p.shift < q.shift {
		p, q = q, p
	}
	for i := range q.cells { // the finer ones
		a, b := &p.cells[i>>(p.shift-q.shift)], &q.cells[i]
		if a.lastWrite != 0 && b.lastWrite|b.reads != 0 || b.lastWrite != 0 && a.reads != 0 {
			return true
		}
	}
	return false
}

// requireSerial ends a part of a launch at an instruction whose effect other CTAs or the host could see.
func (w *warp) requireSerial() {
	if w.launch.supply != nil {
		panic(errStopped)
	}
}
