package emu

import (
	"fmt"
	"strings"
	"testing"
)

// TestArriveDrop holds arrivals that drop out against the PTX ISA ("mbarrier.arrive_drop"): they take from the pending count of the phase as
// other arrivals do, and from the expected count, with which the next phases begin. The expected numbers are counted by hand.
func TestArriveDrop(t *testing.T) {
	const (
		arrive = "mbarrier.arrive.shared::cta.b64 %rd6, [%r3]"
		drop   = "mbarrier.arrive_drop.shared::cta.b64 %rd6, [%r3]"
	)
	type step struct {
		instruction string
		pending     int // before it, as its state says; -1: it gives none
		phase       int // parity of the phase that is open after it
	}
	for _, c := range []struct {
		name  string
		init  int
		steps []step
	}{
		{"one of three, then one of two", 3, []step{
			{arrive, 3, 0}, {drop, 2, 0}, {arrive, 1, 1}, // the next phase expects 2
			{drop, 2, 1}, {arrive, 1, 0}, // and then 1
			{arrive, 1, 1}, {arrive, 1, 0}}},
		{"the last arrival of a phase", 2, []step{{arrive, 2, 0}, {drop, 1, 1}, {arrive, 1, 0}, {arrive, 1, 1}}},
		{"several at once", 8, []step{{drop + ", 3", 8, 0}, {arrive + ", 5", 5, 1}, {drop + ", 4", 5, 1}, {arrive, 1, 0}, {arrive, 1, 1}}},
		{"bytes that are missing keep the phase open", 2, []step{
			{"mbarrier.arrive_drop.expect_tx.shared::cta.b64 %rd6, [%r3], 16", 2, 0}, {arrive, 1, 0},
			{"mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r3], 16", -1, 1}, {arrive, 1, 0}}},
		{"without an end of the phase", 3, []step{
			{"mbarrier.arrive_drop.noComplete.shared::cta.b64 %rd6, [%r3], 2", 3, 0}, {arrive, 1, 1}, {arrive, 1, 0}}},
		{"without a state", 2, []step{{"mbarrier.arrive_drop.shared::cta.b64 _, [%r3]", -1, 0}, {arrive, 1, 1}, {arrive, 1, 0}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var body strings.Builder
			fmt.Fprintf(&body, "setp.ne.u32 %%p1, %%r0, 0; @%%p1 ret;\nmbarrier.init.shared::cta.b64 [%%r3], %d;\n", c.init)
			var want []int
			for i, s := range c.steps {
				fmt.Fprintf(&body, "%s;\n", s.instruction)
				if s.pending >= 0 {
					fmt.Fprintf(&body, "mbarrier.pending_count.b64 %%r6, %%rd6; st.global.u32 [%%rd0+%d], %%r6;\n", 8*i)
				}
				// Parity 0 is done when the open phase is of parity 1.
				fmt.Fprintf(&body, "mbarrier.test_wait.parity.shared::cta.b64 %%p2, [%%r3], 0; selp.u32 %%r7, 1, 0, %%p2; st.global.u32 [%%rd0+%d], %%r7;\n", 8*i+4)
				want = append(want, max(s.pending, 0), s.phase)
			}
			src := strings.Replace(sharedKernel(body.String()), "sm_80", "sm_90", 1)
			out, err := runText(t, src, 32, make([]byte, 256), Options{})
			if err != nil {
				t.Fatal(err)
			}
			for i, n := range want {
				if got := int(readBytes(out, 4*i, 4)); got != n {
					t.Errorf("step %d, %s: got %d, want %d (%s)", i/2, c.steps[i/2].instruction, got, n, []string{"pending", "parity"}[i%2])
				}
			}
		})
	}
}

// TestArriveDropByAWarp: where half of the threads drop out, the others go on without them.
func TestArriveDropByAWarp(t *testing.T) {
	src := strings.Replace(sharedKernel(`
	setp.eq.u32 %p1, %r0, 0;
	@%p1 mbarrier.init.shared::cta.b64 [%r3], 64;
	bar.sync 0;
	setp.ge.u32 %p2, %r0, 32;
	@%p2 mbarrier.arrive_drop.shared::cta.b64 _, [%r3];
	@%p2 ret;
	st.shared.u32 [%r1+16], %r0;
	mbarrier.arrive.shared::cta.b64 _, [%r3];
W0:	mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r3], 0;
	@!%p3 bra W0;
	mbarrier.arrive.shared::cta.b64 %rd6, [%r3];
W1:	mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r3], 1;
	@!%p3 bra W1;
	mbarrier.pending_count.b64 %r6, %rd6;
	st.global.u32 [%rd1], %r6;`), "sm_80", "sm_90", 1)
	for _, s := range Schedules {
		out, err := runText(t, src, 64, make([]byte, 256), Options{Schedule: s, Seed: 5})
		if err != nil {
			t.Fatalf("%v: %v", s, err)
		}
		sum := uint64(0)
		for i := range 32 {
			sum += readBytes(out, 4*i, 4)
		}
		if sum != 32*33/2 { // 32, 31, ... 1 were pending, in some order
			t.Errorf("%v: the pending counts add up to %d", s, sum)
		}
	}
}

// TestTooManyDrop: a report says what the mbarrier was initialised with.
func TestTooManyDrop(t *testing.T) {
	src := strings.Replace(sharedKernel(`
	setp.ne.u32 %p1, %r0, 0; @%p1 ret;
	mbarrier.init.shared::cta.b64 [%r3], 2;
	mbarrier.arrive_drop.shared::cta.b64 _, [%r3];
	mbarrier.arrive.shared::cta.b64 _, [%r3];
	mbarrier.arrive.shared::cta.b64 _, [%r3], 2;`), "sm_80", "sm_90", 1)
	r := report(t, src, Options{})
	if r == nil || r.Kind != Invalid || !strings.Contains(r.Msg, "2 arrivals at an mbarrier that expects 1 more (initialised with 2 at line") {
		t.Errorf("got %v", r)
	}
}

// TestMisusedMbarriers holds what the PTX ISA forbids beside what it allows ("mbarrier"): the object has eight bytes, none of which a plain store may change, its
// transaction count goes up to 2^20-1, an arrival with .noComplete may not end the phase, and nothing may be under way where the object ends.
func TestMisusedMbarriers(t *testing.T) {
	const (
		expect = "mbarrier.init.shared::cta.b64 [%%r3], 1; mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%%r3], %d; mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%%r3], 1;"
		copied = "mbarrier.init.shared::cta.b64 [%r3], 1; fence.mbarrier_init.release.cluster; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 16;" +
			"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3+64], [%rd0], 16, [%r3];"
		wait = "W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0; @!%p2 bra W;"
		end  = "mbarrier.inval.shared::cta.b64 [%r3];"
	)
	for _, c := range []struct{ name, bad, good, says string }{
		{"a store over the second half", "mbarrier.init.shared::cta.b64 [%r3], 1; st.shared.u32 [%r3+4], %r0;", "mbarrier.init.shared::cta.b64 [%r3], 1; st.shared.u32 [%r3+8], %r0;",
			"a plain store over the mbarrier"},
		{"too many bytes, in two parts", fmt.Sprintf(expect, 1<<20-1), fmt.Sprintf(expect, 1<<20-2), "expects 1048576 bytes, above its limit of 1048575"},
		{"the last arrival", "mbarrier.init.shared::cta.b64 [%r3], 2; mbarrier.arrive.noComplete.shared::cta.b64 %rd6, [%r3], 2;",
			"mbarrier.init.shared::cta.b64 [%r3], 3; mbarrier.arrive.noComplete.shared::cta.b64 %rd6, [%r3], 2;", "an arrival with .noComplete ends the phase"},
		{"an end while a copy is under way", copied + end, copied + wait + end, "has not completed on the mbarrier"},
	} {
		for _, s := range Schedules {
			for i, body := range []string{c.bad, c.good} {
				r := report(t, strings.Replace(sharedKernel("setp.ne.u32 %p1, %r0, 0; @%p1 ret;\n"+body), "sm_80", "sm_90", 1), Options{Schedule: s})
				if i == 0 && (r == nil || r.Kind != Invalid || !strings.Contains(r.Msg, c.says)) || i == 1 && r != nil {
					t.Errorf("%s, %v: got %v from %s", c.name, s, r, body)
				}
			}
		}
	}
}

// A lane that waits in a loop lets another lane of its warp arrive.
func TestLaneWaitsForLane(t *testing.T) {
	for _, wait := range []string{"test_wait", "try_wait"} {
		for _, s := range Schedules {
			src := strings.Replace(sharedKernel(`
	setp.ne.u32 %p1, %r0, 0; setp.eq.u32 %p2, %r0, 5;
	@!%p1 mbarrier.init.shared::cta.b64 [%r3], 1;
	bar.warp.sync -1;
	@%p1 bra ARRIVE;
WAIT:
	mbarrier.`+wait+`.parity.shared::cta.b64 %p3, [%r3], 0;
	@!%p3 bra WAIT;
	bra END;
ARRIVE:
	@%p2 mbarrier.arrive.shared::cta.b64 %rd6, [%r3];
END:
`), "sm_80", "sm_90", 1)
			if _, err := runText(t, src, 32, make([]byte, 256), Options{Schedule: s}); err != nil {
				t.Errorf("%s, %s: %v", wait, s, err)
			}
		}
	}
}
