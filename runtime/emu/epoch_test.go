package emu

import "testing"

// TestEpochsHaveAnEnd: a warp whose epochs are used up stops the launch, for later ones would be taken for others of the past.
func TestEpochsHaveAnEnd(t *testing.T) {
	m, err := Parse("test.ptx", kernel("bar.warp.sync -1; bar.warp.sync -1;"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		epoch uint32
		stops bool
	}{{maxEpoch - 2, false}, {maxEpoch - 1, true}} {
		mem := NewMemory()
		l, err := newLaunch(m.Entry("k"), mem, []Arg{le64(mem.Alloc("a", make([]byte, 256), 256))}, Options{Block: [3]int{32, 1, 1}})
		if err != nil {
			t.Fatal(err)
		}
		l.admitNext(1)
		l.resident[0].warps[0].epoch = c.epoch
		var stopped *Report
		func() {
			defer func() {
				if f, ok := recover().(fault); ok {
					stopped = f.r
				}
			}()
			err = l.run(t.Context())
		}()
		if err != nil || (stopped != nil) != c.stops || stopped != nil && stopped.Kind != StepLimit {
			t.Errorf("from epoch %d: %v, %v", c.epoch, err, stopped)
		}
	}
}
