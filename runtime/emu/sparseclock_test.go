package emu

import (
	"math/rand/v2"
	"testing"
)

// threadEpochs is a clock as a map: by key and lane, and with lane 32 for all lanes.
type threadEpochs map[[2]uint32]uint32

func (m threadEpochs) of(key, lane uint32) uint32 {
	if lane == 32 {
		least := m.of(key, 0)
		for i := range uint32(32) {
			least = min(least, m.of(key, i))
		}
		return least
	}
	return max(m[[2]uint32{key, lane}], m[[2]uint32{key, 32}])
}

// TestSparseClocks holds joins and comparisons of clocks against maps with an entry for each thread.
func TestSparseClocks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func() (*sparseClock, threadEpochs) {
		k, m := &sparseClock{}, threadEpochs{}
		for range r.IntN(12) {
			v := visibility(r.IntN(int(visibilities)))
			key, lane, epoch := v.key(uint32(r.IntN(3)+1<<idBits-3)), uint32(r.IntN(33)), uint32(r.IntN(5))
			if r.IntN(2) == 0 {
				lane %= 3
			}
			switch {
			case lane == 32:
				k.raise(clockEntry{key: key, all: epoch})
			case r.IntN(6) == 0: // all lanes, one by one
				for i := range uint32(32) {
					k.raiseLane(key, int(i), epoch)
					m[[2]uint32{key, i}] = max(m[[2]uint32{key, i}], epoch)
				}
			default:
				k.raiseLane(key, int(lane), epoch)
			}
			m[[2]uint32{key, lane}] = max(m[[2]uint32{key, lane}], epoch)
		}
		return k, m
	}
	check := func(what string, k *sparseClock, m threadEpochs) {
		t.Helper()
		for v := range visibilities {
			for id := uint32(1<<idBits - 3); id < 1<<idBits; id++ {
				for lane := range uint32(32) {
					for epoch := range uint32(6) {
						stamp := accessStamp(epoch)<<34 | accessStamp(id)<<9 | accessStamp(lane)<<4
						if got, want := k.coversAt(stamp, v), m.of(v.key(id), lane) >= epoch; epoch > 0 && got != want {
							t.Fatalf("%s: accesses of lane %d of warp %#x up to %d at visibility %d: %v, expected %v", what, lane, id, epoch, v, got, want)
						}
						if got, want := k.coversAt(stamp|stampMany, v), m.of(v.key(id), 32) >= epoch; epoch > 0 && got != want {
							t.Fatalf("%s: accesses of several lanes of warp %#x up to %d at visibility %d: %v, expected %v", what, id, epoch, v, got, want)
						}
					}
				}
			}
		}
	}
	for range 300 {
		a, am := random()
		b, bm := random()
		check("a clock", a, am)
		included, joined := true, threadEpochs{}
		for at, e := range bm {
			if am.of(at[0], at[1]) < e {
				included = false
			}
			joined[at] = e
		}
		for at, e := range am {
			joined[at] = max(joined[at], e)
		}
		if got := a.includes(b); got != included {
			t.Fatalf("%v includes %v: %v, expected %v", am, bm, got, included)
		}
		j := joinClocks(a, b)
		check("a join", j, joined)
		if !j.includes(a) || !j.includes(b) {
			t.Fatal("a join does not include its parts")
		}
		check("a joined clock", a, am)
		check("the other joined clock", b, bm)
		lane, epoch := uint32(r.IntN(32)), uint32(r.IntN(5))
		far := (&sparseClock{thread: threadEpoch{1<<idBits - 1, epoch, int32(lane)}}).with(&joinCosts{}, a, (&sparseClock{}).with(&joinCosts{}, b, nil))
		joined[[2]uint32{1<<idBits - 1, lane}] = max(joined[[2]uint32{1<<idBits - 1, lane}], epoch)
		check("a clock beyond others", far, joined)
	}
	if joinClocks(nil, nil) != nil {
		t.Error("the join of empty clocks is not empty")
	}
}

// TestClocksOfManyThreads: what single lanes release takes an entry for each warp, and a join that adds nothing makes no clock.
func TestClocksOfManyThreads(t *testing.T) {
	var all *sparseClock
	for thread := range uint32(2048) {
		k := &sparseClock{}
		k.raiseLane(thread>>5, int(thread&31), 7)
		all = joinClocks(all, k)
	}
	if n := len(all.entries); n != 64 {
		t.Errorf("the clock of 64 warps has %d entries", n)
	}
	later := joinClocks(all, &sparseClock{entries: []clockEntry{{key: 500, all: 1}}})
	if joinClocks(all, later) != later || joinClocks(later, all) != later {
		t.Error("a clock that includes another one is not their join")
	}
}

// TestChainOfClocks: threads that release one after the other make a clock each, in which nothing is looked up before somebody asks for it. If that is
// asked for each time, joins wait no longer.
func TestChainOfClocks(t *testing.T) {
	const warps = 256
	costs := &joinCosts{}
	var last *sparseClock
	for n := range uint32(warps << 10) {
		last = (&sparseClock{thread: threadEpoch{n >> 10, n&1023 + 1, int32(n >> 5 & 31)}}).with(costs, last, nil)
	}
	for id := range uint32(warps) {
		e := last.entry(id)
		for lane := range 32 {
			if e == nil || e.all != 32 || e.of(lane) != uint32(32*lane+32) {
				t.Fatalf("warp %d has %v", id, e)
			}
		}
	}
	if !last.flat() || last.entry(warps) != nil {
		t.Error("the flat clock is not what it was made of")
	}
	first := &sparseClock{thread: threadEpoch{1000, 1, 0}}
	for costs.wait() {
		if costs.waiting > 1<<20 {
			t.Fatal("joins wait though each is looked into at once")
		}
		joinClocks(last, first.with(costs, last, nil)).entry(1)
		first = &sparseClock{thread: threadEpoch{1000, 1, 0}}
		last = joinClocks(last, first.with(costs, last, nil))
	}
}
