package main

import "container/heap"

// simulation replays a trace for every warp of every thread block on a multiprocessor, in the order in which warps are ready.
type simulation struct {
	trace
	warps, blocks, iterations int // warps of a block; iterations to end, of each block on average
	memory                    [numNear]way
	fill                      float64 // bytes that arrive per iteration by copies that are not in the trace
	stages                    int
	inPlace                   bool // those that mbarriers announce begin where the trace says

	queue  warpQueue
	all    []warp
	issue  [4]float64           // when a scheduler is free
	pipes  [4][numPipes]float64 // when a pipe is
	shared float64
	global [numNear]float64       // the ways to memory
	unit   float64                // the tensor pipe of tcgen05
	ring   [][][]slot             // by block, part and iteration
	landed [][]float64            // by block: when the copies arrive that begin where the trace says
	left   [][]int                // warps that have not ended an iteration, by block
	tensor []tensorWork           // by block
	meets  map[[2]int]*rendezvous // by block and barrier
	most   int                    // iterations of a block
	ended  []float64              // when iterations ended
}

// way is what a way to memory carries, in bytes a cycle, and how long it takes when it is free.
type way struct{ bandwidth, latency float64 }

// slot is a part of the copies of an iteration.
type slot struct {
	freed  float64
	unfree int
	ready  float64 // negative: not asked for
}

// tensorWork is when the products that a block issued end: all of them, and those up to the end of each iteration of the warp that issues them.
type tensorWork struct {
	all       float64
	until     []float64
	announced []float64 // when those end that were issued up to each announcement
}

// before is when those end that were issued before an iteration, as far as they are.
func (t *tensorWork) before(iteration int) float64 {
	if n := min(iteration, len(t.until)); n > 0 {
		return t.until[n-1]
	}
	return 0
}

type rendezvous struct {
	arrived int
	at      float64
	waiting []int
}

type warp struct {
	block, scheduler int
	group            int  // of four warps
	leader           bool // issues tcgen05
	iteration, at    int
	boards           [6]float64
	copies           float64   // when the copies of the open group end
	groups           []float64 // when closed groups of copies end
	products         float64   // the same of wgmma
	closed           []float64
}

// ready is a warp that may go on at a time. Those that have waited for shared memory, which serves four schedulers, take turns: since when they have.
type ready struct {
	at, since float64
	warp      int
}

type warpQueue []ready

func (q warpQueue) Len() int { return len(q) }
func (q warpQueue) Less(i, j int) bool {
	a, b := q[i], q[j]
	return a.at < b.at || a.at == b.at && (a.since < b.since || a.since == b.since && a.warp < b.warp)
}
func (q warpQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *warpQueue) Push(x any)   { *q = append(*q, x.(ready)) }
func (q *warpQueue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

func (s *simulation) push(at, since float64, warp int) { heap.Push(&s.queue, ready{at, since, warp}) }

// start puts all warps at the head of the loop. Blocks begin apart, as they are after a while.
func (s *simulation) start() {
	parts := max(1, s.waits)
	s.most = 2*s.blocks*s.iterations + 8
	s.meets, s.tensor, s.landed = map[[2]int]*rendezvous{}, make([]tensorWork, s.blocks), make([][]float64, s.blocks)
	for b := range s.blocks {
		ring, left := make([][]slot, parts), make([]int, s.most)
		for p := range ring {
			ring[p] = make([]slot, s.most)
			for i := range ring[p] {
				ring[p][i] = slot{0, s.warps, -1}
			}
		}
		for i := range left {
			left[i] = s.warps
		}
		s.ring, s.left = append(s.ring, ring), append(s.left, left)
		for i := range s.stages {
			for p := range ring {
				s.fetch(b, p, i, 0, 0)
			}
		}
		for w := range s.warps {
			s.all = append(s.all, warp{block: b, scheduler: (b*s.warps + w) % 4, group: w / 4, leader: w == 0})
			s.push(40*float64(b), 40*float64(b), len(s.all)-1)
		}
	}
}

func (s *simulation) run() []float64 {
	s.start()
	return s.goOn()
}

// stuck is the cycles without an instruction after which warps wait for each other for good.
const stuck = 1e6

// goOn runs until all blocks together have ended their iterations, so that none runs alone at the end; it returns when each ended, nothing where warps wait
// for each other.
func (s *simulation) goOn() []float64 {
	last := 0.0
	for len(s.queue) > 0 && len(s.ended) < s.blocks*s.iterations {
		r := heap.Pop(&s.queue).(ready)
		w := &s.all[r.warp]
		x := &s.steps[w.at]
		at, queued, known := s.earliest(w, x, r.at)
		since := at
		if queued {
			since = r.since
		}
		switch {
		case !known && r.at > last+stuck:
			return nil
		case !known:
			s.push(r.at+20, r.at+20, r.warp)
		case at > r.at:
			s.push(at, since, r.warp)
		default:
			last = at
			s.execute(w, x, at)
			s.advance(r.warp, x, at)
		}
	}
	return s.ended
}

// earliest is when a warp can do its next step; queued says that it waits in front of shared memory, known is false where it depends on warps that have not
// come so far.
func (s *simulation) earliest(w *warp, x *step, now float64) (at float64, queued, known bool) {
	at = max(now, s.issue[w.scheduler])
	for b := range w.boards {
		if x.control.waits>>b&1 != 0 {
			at = max(at, w.boards[b])
		}
	}
	if x.deed != deedWarpgroup && x.deed != deedTcgen05 {
		if x.pipe != pipeNone {
			at = max(at, s.pipes[w.scheduler][x.pipe])
		}
		if x.shared > 0 {
			queued = at < s.shared-24 // some instructions wait in front of the memory pipe
			at = max(at, s.shared-24)
		}
	}
	switch x.deed {
	case deedWaitCopies:
		at = afterAllBut(at, w.groups, x.n)
	case deedWaitGroups:
		at = afterAllBut(at, w.closed, x.n)
	case deedReadTensor:
		at = max(at, s.tensor[w.block].all)
	case deedWaitTensor:
		at = max(at, s.tensor[w.block].before(w.iteration))
	case deedWaitProduct:
		list := s.tensor[w.block].announced
		if n := w.iteration*s.commits + x.n; n >= len(list) {
			return at, false, false
		} else if n >= 0 {
			at = max(at, list[n])
		}
	case deedWaitFill:
		if s.fill > 0 {
			filled, ok := s.filled(w, x)
			return max(at, filled), false, ok
		}
	}
	return at, queued, true
}

// afterAllBut is when all but the last n groups have ended.
func afterAllBut(at float64, groups []float64, n int) float64 {
	if n < len(groups) {
		for _, g := range groups[:len(groups)-n] {
			at = max(at, g)
		}
	}
	return at
}

// filled is when the copies that a warp waits for have arrived, if they have begun: a part of those of its iteration, or all that the code has begun before.
func (s *simulation) filled(w *warp, x *step) (at float64, begun bool) {
	if s.inPlace {
		n, landed := w.iteration*s.bulk+x.begun, s.landed[w.block]
		if n == 0 || n > len(landed) {
			return 0, n == 0
		}
		return landed[n-1], true
	}
	r := &s.ring[w.block][x.n][w.iteration]
	return r.ready, r.ready >= 0
}

// fetch begins a part of the copies of an iteration of a block: now, where its slot is free by then. It has its turn on the ways to memory when it begins, not when
// somebody waits for it.
func (s *simulation) fetch(block, part, iteration int, now, freed float64) {
	if s.fill == 0 || s.inPlace || iteration >= s.most {
		return
	}
	moved := s.move(now, s.fill/float64(max(1, s.waits)), nearDRAM)
	s.ring[block][part][iteration].ready = max(moved, freed) + s.memory[nearDRAM].latency
}

// free gives a part of the copies of a warp's iteration back: not before products that read it end. That of an iteration so many stages later begins then.
func (s *simulation) free(w *warp, part int, at float64) {
	r := &s.ring[w.block][part][w.iteration]
	r.freed = max(r.freed, at, s.tensor[w.block].all)
	if r.unfree--; r.unfree == 0 {
		s.fetch(w.block, part, w.iteration+s.stages, at, r.freed)
	}
}

// move is when so many bytes have come: what is far comes on the nearer ways, too.
func (s *simulation) move(at, bytes float64, near int) float64 {
	moved := at
	for n := near; n < numNear; n++ {
		s.global[n] = max(s.global[n], at) + bytes/s.memory[n].bandwidth
		moved = max(moved, s.global[n])
	}
	return moved
}

// busiest is the cycles in an iteration of a block that its accesses take of the way to memory that they use most.
func (s *simulation) busiest() (most float64) {
	bytes := 0.0
	for near, way := range s.memory {
		for n := range s.steps {
			if s.steps[n].near == near {
				bytes += s.steps[n].global * float64(s.warps)
			}
		}
		most = max(most, bytes/way.bandwidth)
	}
	return most
}

// execute keeps units busy and sets scoreboards.
func (s *simulation) execute(w *warp, x *step, at float64) {
	s.issue[w.scheduler] = at + 1
	pipes := &s.pipes[w.scheduler]
	done, moved := at+x.latency, 0.0
	switch x.deed {
	case deedWarpgroup:
		end := max(at, pipes[pipeTensor]) + max(x.busy, 4*x.shared) // its four warps read their operands together
		pipes[pipeTensor] = end
		w.products = end + latencyGroup
		if x.n > 0 {
			w.closed = append(w.closed, w.products)
		}
	case deedTcgen05:
		if w.leader {
			s.unit = max(at, s.unit) + x.busy
			s.tensor[w.block].all = s.unit + latencyUnit
		}
	default:
		if x.pipe != pipeNone {
			pipes[x.pipe] = at + x.busy
		}
		if x.shared > 0 {
			s.shared = max(s.shared, at) + x.shared
			done = s.shared + x.latency
		}
		if x.global > 0 {
			moved = s.move(at, x.global, x.near)
			done = moved + s.memory[x.near].latency
			if x.deed == deedCopy {
				w.copies, done = max(w.copies, done), at+20
			}
		}
	}
	switch x.deed {
	case deedCommit:
		w.groups = append(w.groups, w.copies)
	case deedAnnounce:
		if t := &s.tensor[w.block]; w.leader {
			t.announced = append(t.announced, t.all)
		}
	case deedRelease:
		s.free(w, x.n, at)
	case deedBulk:
		if s.inPlace && w.leader {
			s.landed[w.block] = append(s.landed[w.block], s.move(at, s.fill/float64(s.bulk), nearDRAM)+s.memory[nearDRAM].latency)
		}
	}
	if x.writes < len(w.boards) {
		w.boards[x.writes] = max(w.boards[x.writes], done)
	}
	if x.reads < len(w.boards) {
		read := at + 12
		if x.global > 0 {
			read = max(read, moved-200)
		}
		w.boards[x.reads] = max(w.boards[x.reads], read)
	}
}

// advance moves a warp to its next step, through the end of the iteration and barriers.
func (s *simulation) advance(n int, x *step, at float64) {
	w := &s.all[n]
	next := at + float64(max(1, x.stall))
	if w.at++; w.at == len(s.steps) {
		w.at = 0
		if !s.endIteration(w, at) {
			return
		}
	}
	key, want, latency := [2]int{w.block, x.id}, s.warps, float64(latencyBarrier)
	switch x.deed {
	case deedBarrier, deedArrive:
		if x.n > 0 && x.n <= s.warps {
			want = x.n
		}
	case deedGroup:
		key[1], want, latency = -1-w.group, min(4, s.warps), float64(x.stall)
	default:
		s.push(next, next, n)
		return
	}
	m := s.meets[key]
	if m == nil {
		m = &rendezvous{}
		s.meets[key] = m
	}
	m.arrived++
	m.at = max(m.at, at)
	if x.deed != deedArrive {
		m.waiting = append(m.waiting, n)
	} else {
		s.push(next, next, n)
	}
	if m.arrived >= want {
		for _, other := range m.waiting {
			s.push(m.at+latency, m.at+latency, other)
		}
		delete(s.meets, key)
	}
}

// endIteration ends a warp's iteration; it reports whether the warp goes on.
func (s *simulation) endIteration(w *warp, at float64) bool {
	left := &s.left[w.block][w.iteration]
	*left--
	if !s.released {
		for part := range s.ring[w.block] {
			s.free(w, part, at)
		}
	}
	if w.leader {
		t := &s.tensor[w.block]
		t.until = append(t.until, t.all)
	}
	if *left == 0 {
		s.ended = append(s.ended, at)
	}
	w.iteration++
	w.groups, w.closed = tail(w.groups), tail(w.closed)
	return w.iteration < s.most
}

// tail keeps the last groups, as many as any wait may name.
func tail(groups []float64) []float64 { return groups[max(0, len(groups)-16):] }
