package main

import (
	"container/heap"
	"math"
	"slices"
)

// simulation replays a trace for every warp of every resident block of a multiprocessor: a discrete-event simulation of issue slots, pipes,
// scoreboards, barriers and memory bandwidth.
type simulation struct {
	trace
	warps, blocks, iterations int // warps of a block; iterations to end, of each block on average
	memory                    [numNear]memoryPath
	fillBytes                 float64 // bytes that arrive per iteration by copies that are not in the trace
	stages                    int
	copiesInTrace             bool // bulk copies begin where the trace has them, not when a slot is free

	queue         warpQueue
	all           []warp
	issue         [4]float64             // when a scheduler is free
	pipes         [4][numPipes]float64   // when a pipe is
	shared        float64                // when shared memory is free for the next access of a warp
	taken         []use                  // what asynchronous products and copies take of its bandwidth
	global        [numNear]float64       // when each memory path is free
	tcgen05Pipe   float64                // the tensor pipe of tcgen05
	ring          [][][]ringSlot         // by block, part and iteration
	bulkArrivals  [][]float64            // by block: when the bulk copies of the trace arrive
	warpsLeft     [][]int                // warps that have not ended an iteration, by block
	tensor        []tcgen05Work          // by block
	barriers      map[[2]int]*rendezvous // by block and barrier
	maxIterations int                    // iterations of a block
	iterationEnds []float64              // when iterations ended
}

// memoryPath is the way to one level of memory: its bandwidth in bytes a cycle, and its latency without load.
type memoryPath struct{ bandwidth, latency float64 }

// use is a part of the bandwidth of shared memory, for a time.
type use struct{ from, to, rate float64 }

// ringSlot is a part of the copies of an iteration, in one slot of the ring.
type ringSlot struct {
	freed   float64
	readers int
	ready   float64 // negative: not asked for
}

// tcgen05Work is when the products that a block issued complete: all of them, those up to the end of each iteration of the
// issuing warp, and those up to each commit.
type tcgen05Work struct {
	all         float64
	byIteration []float64
	committed   []float64 // when those complete that were issued up to each commit
}

// before is when those end that were issued before an iteration, as far as they are.
func (t *tcgen05Work) before(iteration int) float64 {
	if n := min(iteration, len(t.byIteration)); n > 0 {
		return t.byIteration[n-1]
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
	scoreboards      [6]float64
	openCopies       float64   // when the copies of the open group arrive
	copyGroups       []float64 // when committed groups of copies arrive
	openWgmma        float64   // the same of wgmma
	wgmmaGroups      []float64
}

// readyWarp is a warp that may issue at a time. since is when it began to wait for shared memory, which serves four schedulers in
// the order of arrival.
type readyWarp struct {
	at, since float64
	warp      int
}

type warpQueue []readyWarp

func (q warpQueue) Len() int { return len(q) }
func (q warpQueue) Less(i, j int) bool {
	a, b := q[i], q[j]
	return a.at < b.at || a.at == b.at && (a.since < b.since || a.since == b.since && a.warp < b.warp)
}
func (q warpQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *warpQueue) Push(x any)   { *q = append(*q, x.(readyWarp)) }
func (q *warpQueue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

func (s *simulation) push(at, since float64, warp int) {
	heap.Push(&s.queue, readyWarp{at, since, warp})
}

// start puts all warps at the head of the loop. Blocks begin apart, as they are after a while.
func (s *simulation) start() {
	parts := max(1, s.waits)
	s.maxIterations = 2*s.blocks*s.iterations + 8
	s.barriers, s.tensor, s.bulkArrivals = map[[2]int]*rendezvous{}, make([]tcgen05Work, s.blocks), make([][]float64, s.blocks)
	for b := range s.blocks {
		ring, left := make([][]ringSlot, parts), make([]int, s.maxIterations)
		for p := range ring {
			ring[p] = make([]ringSlot, s.maxIterations)
			for i := range ring[p] {
				ring[p][i] = ringSlot{0, s.warps, -1}
			}
		}
		for i := range left {
			left[i] = s.warps
		}
		s.ring, s.warpsLeft = append(s.ring, ring), append(s.warpsLeft, left)
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
	return s.simulate()
}

// deadlockCycles is how many cycles without an instruction count as a deadlock.
const deadlockCycles = 1e6

// simulate runs until all blocks together have completed their iterations, so that none runs alone at the end. It returns when
// each iteration ended, or nothing in a deadlock.
func (s *simulation) simulate() []float64 {
	last := 0.0
	for len(s.queue) > 0 && len(s.iterationEnds) < s.blocks*s.iterations {
		r := heap.Pop(&s.queue).(readyWarp)
		w := &s.all[r.warp]
		x := &s.steps[w.at]
		at, queued, known := s.earliest(w, x, r.at)
		since := at
		if queued {
			since = r.since
		}
		switch {
		case !known && r.at > last+deadlockCycles:
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
	return s.iterationEnds
}

// earliest is when a warp can issue its next step; queued says that it waits for shared memory, known is false if that depends on
// warps that are not that far yet.
func (s *simulation) earliest(w *warp, x *step, now float64) (at float64, queued, known bool) {
	at = max(now, s.issue[w.scheduler])
	for b := range w.scoreboards {
		if x.control.waits>>b&1 != 0 {
			at = max(at, w.scoreboards[b])
		}
	}
	if x.effect != effectWgmma && x.effect != effectTcgen05 {
		if x.pipe != pipeNone {
			at = max(at, s.pipes[w.scheduler][x.pipe])
		}
		if x.shared > 0 {
			queued = at < s.shared-24 // some instructions wait in front of the memory pipe
			at = max(at, s.shared-24)
		}
	}
	switch x.effect {
	case effectWaitCopies:
		at = afterAllBut(at, w.copyGroups, x.n)
	case effectWaitWgmma:
		at = afterAllBut(at, w.wgmmaGroups, x.n)
	case effectReadTensor:
		at = max(at, s.tensor[w.block].all)
	case effectWaitAllProducts:
		at = max(at, s.tensor[w.block].before(w.iteration))
	case effectWaitProduct:
		list := s.tensor[w.block].committed
		if n := w.iteration*s.commits + x.n; n >= len(list) {
			return at, false, false
		} else if n >= 0 {
			at = max(at, list[n])
		}
	case effectWaitFull:
		if s.fillBytes > 0 {
			filled, ok := s.filled(w, x)
			return max(at, filled), false, ok
		}
	}
	return at, queued, true
}

// afterAllBut is when all but the last n groups have completed.
func afterAllBut(at float64, groups []float64, n int) float64 {
	if n < len(groups) {
		for _, g := range groups[:len(groups)-n] {
			at = max(at, g)
		}
	}
	return at
}

// filled is when the copies that a warp waits for have arrived, if they have begun: a part of those of its iteration, or all that
// the trace has begun before.
func (s *simulation) filled(w *warp, x *step) (at float64, begun bool) {
	if s.copiesInTrace {
		n, landed := w.iteration*s.bulk+x.begun, s.bulkArrivals[w.block]
		if n == 0 || n > len(landed) {
			return 0, n == 0
		}
		return landed[n-1], true
	}
	r := &s.ring[w.block][x.n][w.iteration]
	return r.ready, r.ready >= 0
}

// fetch begins a part of the copies of an iteration of a block: now, or when its slot is free. It takes its share of bandwidth
// when it begins, not when it is waited for.
func (s *simulation) fetch(block, part, iteration int, now, freed float64) {
	if s.fillBytes == 0 || s.copiesInTrace || iteration >= s.maxIterations {
		return
	}
	bytes := s.fillBytes / float64(max(1, s.waits))
	ready := max(s.move(now, bytes, nearDRAM), freed) + s.memory[nearDRAM].latency
	s.ring[block][part][iteration].ready = ready
	s.arrive(ready, bytes)
}

// free releases a warp's slot of the ring, not before the products that read it complete. When all readers have released it, the
// copies of the iteration that uses the slot next begin.
func (s *simulation) free(w *warp, part int, at float64) {
	r := &s.ring[w.block][part][w.iteration]
	r.freed = max(r.freed, at, s.tensor[w.block].all)
	if r.readers--; r.readers == 0 {
		s.fetch(w.block, part, w.iteration+s.stages, at, r.freed)
	}
}

// take gives a part of shared memory's bandwidth away, if any. Accesses that have it already, as instructions wait in front of the memory pipe, come later by as much.
func (s *simulation) take(u use) {
	if !(u.to > u.from && u.rate > 0) {
		return
	}
	late := u.rate * max(0, min(u.to, s.shared)-u.from)
	s.taken = append(s.taken, u)
	s.shared = s.served(s.shared, late)
}

// arrive has bytes that are there at a time come to shared memory, as fast as L2 gives them.
func (s *simulation) arrive(ready, bytes float64) {
	s.take(use{ready - bytes/bandwidthL2, ready, float64(bandwidthL2) / bandwidthL1})
}

// leastShared is the part of shared memory's bandwidth that asynchronous products and copies leave to warps at least.
const leastShared = 0.1

// served is when an access of a warp has had so many cycles of shared memory: what asynchronous products and copies take at the time it does not get.
func (s *simulation) served(at, cycles float64) float64 {
	s.taken = slices.DeleteFunc(s.taken, func(u use) bool { return u.to <= at })
	for {
		rate, next := 1.0, math.Inf(1)
		for _, u := range s.taken {
			switch {
			case u.from > at:
				next = min(next, u.from)
			case u.to > at:
				rate, next = rate-u.rate, min(next, u.to)
			}
		}
		rate = max(rate, leastShared)
		if cycles <= rate*(next-at) {
			return at + cycles/rate
		}
		cycles -= rate * (next - at)
		at = next
	}
}

// move is when so many bytes have arrived: what comes from a farther level passes the nearer ones, too.
func (s *simulation) move(at, bytes float64, near int) float64 {
	moved := at
	for n := near; n < numNear; n++ {
		s.global[n] = max(s.global[n], at) + bytes/s.memory[n].bandwidth
		moved = max(moved, s.global[n])
	}
	return moved
}

// bandwidthBound is the cycles of an iteration of a block that the most loaded memory path needs for its bytes.
func (s *simulation) bandwidthBound() (most float64) {
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

// execute occupies pipes and sets scoreboards.
func (s *simulation) execute(w *warp, x *step, at float64) {
	s.issue[w.scheduler] = at + 1
	pipes := &s.pipes[w.scheduler]
	done, moved := at+x.latency, 0.0
	switch x.effect {
	case effectWgmma, effectTcgen05:
		s.multiply(w, x, at)
	default:
		if x.pipe != pipeNone {
			pipes[x.pipe] = at + x.busy
		}
		if x.shared > 0 {
			s.shared = s.served(max(s.shared, at), x.shared)
			done = s.shared + x.latency
		}
		if x.global > 0 {
			moved = s.move(at, x.global, x.near)
			done = moved + s.memory[x.near].latency
			if x.effect == effectCopy {
				w.openCopies, done = max(w.openCopies, done), at+20
			}
		}
	}
	switch x.effect {
	case effectCommitCopies:
		w.copyGroups = append(w.copyGroups, w.openCopies)
	case effectCommitProducts:
		if t := &s.tensor[w.block]; w.leader {
			t.committed = append(t.committed, t.all)
		}
	case effectReleaseSlot:
		s.free(w, x.n, at)
	case effectBulkCopy:
		if s.copiesInTrace && w.leader {
			bytes := s.fillBytes / float64(s.bulk)
			ready := s.move(at, bytes, nearDRAM) + s.memory[nearDRAM].latency
			s.bulkArrivals[w.block] = append(s.bulkArrivals[w.block], ready)
			s.arrive(ready, bytes)
		}
	}
	if x.writes < len(w.scoreboards) {
		w.scoreboards[x.writes] = max(w.scoreboards[x.writes], done)
	}
	if x.reads < len(w.scoreboards) {
		read := at + 12
		if x.global > 0 {
			read = max(read, moved-200)
		}
		w.scoreboards[x.reads] = max(w.scoreboards[x.reads], read)
	}
}

// multiply begins an asynchronous product, which reads its operands in shared memory meanwhile.
func (s *simulation) multiply(w *warp, x *step, at float64) {
	if x.effect == effectTcgen05 {
		if w.leader {
			begin := max(at, s.tcgen05Pipe)
			s.tcgen05Pipe = begin + x.busy
			s.take(use{begin, s.tcgen05Pipe, x.shared / x.busy})
			s.tensor[w.block].all = s.tcgen05Pipe + latencyUnit
		}
		return
	}
	pipe := &s.pipes[w.scheduler][pipeTensor]
	begin := max(at, *pipe)
	end := begin + max(x.busy, 4*x.shared) // its four warps read their operands together
	s.take(use{begin, end, x.shared / (end - begin)})
	*pipe = end
	w.openWgmma = end + latencyGroup
	if x.n > 0 {
		w.wgmmaGroups = append(w.wgmmaGroups, w.openWgmma)
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
	switch x.effect {
	case effectBarrier, effectArrive:
		if x.n > 0 && x.n <= s.warps {
			want = x.n
		}
	case effectWarpgroupSync:
		key[1], want, latency = -1-w.group, min(4, s.warps), float64(x.stall)
	default:
		s.push(next, next, n)
		return
	}
	m := s.barriers[key]
	if m == nil {
		m = &rendezvous{}
		s.barriers[key] = m
	}
	m.arrived++
	m.at = max(m.at, at)
	if x.effect != effectArrive {
		m.waiting = append(m.waiting, n)
	} else {
		s.push(next, next, n)
	}
	if m.arrived >= want {
		for _, other := range m.waiting {
			s.push(m.at+latency, m.at+latency, other)
		}
		delete(s.barriers, key)
	}
}

// endIteration ends a warp's iteration; it reports whether the warp goes on.
func (s *simulation) endIteration(w *warp, at float64) bool {
	left := &s.warpsLeft[w.block][w.iteration]
	*left--
	if !s.released {
		for part := range s.ring[w.block] {
			s.free(w, part, at)
		}
	}
	if w.leader {
		t := &s.tensor[w.block]
		t.byIteration = append(t.byIteration, t.all)
	}
	if *left == 0 {
		s.iterationEnds = append(s.iterationEnds, at)
	}
	w.iteration++
	w.copyGroups, w.wgmmaGroups = lastGroups(w.copyGroups), lastGroups(w.wgmmaGroups)
	return w.iteration < s.maxIterations
}

// lastGroups keeps the last groups, as many as any wait may name.
func lastGroups(groups []float64) []float64 { return groups[max(0, len(groups)-16):] }
