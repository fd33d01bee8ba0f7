package emu

import (
	"math/rand/v2"
	"testing"
)

// threadEpochs is a clock as a map: by key and lane, and with lane 32 for all lanes.
type threadEpochs map[[2]uint32]uint32

func (m threadEpochs) of(key, lane uint32) uint32 {
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
			if lane == 32 {
				k.raise(clockEntry{key: key, all: epoch})
			} else {
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
	}
	if joinClocks(nil, nil) != nil {
		t.Error("the join of empty clocks is not empty")
	}
}

// TestClocksOfManyThreads: what single lanes release takes an entry for each warp, and a join that adds nothing makes no clock.
func TestClocksOfManyThreads(t *testing.T) {
	var all *sparseClock
	for thread := range uint32(4096) {
		k := &sparseClock{}
		k.raiseLane(thread>>5, int(thread&31), 7)
		all = joinClocks(all, k)
	}
	if n := len(all.entries); n != 128 {
		t.Errorf("the clock of 128 warps has %d entries", n)
	}
	later := joinClocks(all, &sparseClock{[]clockEntry{{key: 500, all: 1}}})
	if joinClocks(all, later) != later || joinClocks(later, all) != later {
		t.Error("a clock that includes another one is not their join")
	}
}
