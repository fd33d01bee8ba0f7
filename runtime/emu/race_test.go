package emu

import (
	"errors"
	"strings"
	"testing"
)

// silent is no report.
const silent Kind = -1

// raceCase is a kernel that the race checker reports or not, whatever the schedule.
type raceCase struct {
	name        string
	ctas, block int
	body        string
	kind        Kind
}

// run runs the case by every schedule: [%rd0] are 1024 bytes of zeros, %r3 is the address of as many of shared memory, %r30 the CTA.
func (c *raceCase) run(t *testing.T) {
	t.Run(c.name, func(t *testing.T) {
		text := strings.Replace(sharedKernel("mov.u32 %r30, %ctaid.x;\n"+c.body+"\nEND:"), "sm_80", "sm_90", 1)
		for _, s := range Schedules {
			_, err := runText(t, text, c.block, make([]byte, 1024), Options{Grid: [3]int{c.ctas, 1, 1}, Schedule: s, Seed: 3})
			var r *Report
			found := silent
			if errors.As(err, &r) {
				found = r.Kind
			} else if err != nil {
				t.Fatal(err)
			}
			if found != c.kind {
				t.Errorf("%v: got kind %d, expected %d: %v", s, found, c.kind, err)
			}
		}
	})
}

// TestStoreOverOwnCopy: a store over a copy in flight is no store of another CTA that happens to be equal, whoever makes the access of the copy.
func TestStoreOverOwnCopy(t *testing.T) {
	bulk := func(value string) string {
		return `
	setp.ne.u32 %p1, %r0, 0; @%p1 bra END;
	mbarrier.init.shared.b64 [%r3+512], 1; fence.mbarrier_init.release.cluster;
	st.shared.u32 [%r3], 0; fence.proxy.async;
	mbarrier.arrive.expect_tx.shared.b64 %rd9, [%r3+512], 16;
	cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd0], 16, [%r3+512];
	st.shared.u32 [%r3], ` + value + `;
W:	mbarrier.try_wait.parity.shared.b64 %p5, [%r3+512], 0; @!%p5 bra W;`
	}
	group := func(value string) string {
		return `
	setp.ne.u32 %p1, %r0, 0; @%p1 bra END;
	st.shared.u32 [%r3], 0;
	cp.async.ca.shared.global [%r3], [%rd0], 4;
	st.shared.u32 [%r3], ` + value + `;
	cp.async.wait_all;`
	}
	for _, c := range []raceCase{
		{"a bulk copy of other bytes", 1, 32, bulk("1"), AsyncPending},
		{"a bulk copy of the same bytes", 1, 32, bulk("0"), AsyncPending},
		{"a cp.async of other bytes", 1, 32, group("1"), AsyncPending},
		{"a cp.async of the same bytes", 1, 32, group("0"), AsyncPending},
	} {
		c.run(t)
	}
}

// TestEveryLaneReleases: who has acquired from every lane of a warp is ordered after what they read together.
func TestEveryLaneReleases(t *testing.T) {
	const global = `
	setp.eq.u32 %p2, %r30, 0; @%p2 bra A;
	setp.ne.u32 %p3, %r0, 0; @%p3 bra END;
L:	READ
	setp.ne.u32 %p4, %r4, 32; @%p4 bra L;
	ACQUIRE
	st.global.u32 [%rd0], 9;
	bra END;
A:	ld.global.u32 %r5, [%rd0];
	@CONDITION bra END;
	RELEASE`
	const shared = `
	setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.u32 [%r3], 0; @%p1 st.shared.u32 [%r3+4], 5;
	bar.sync 0;
	setp.lt.u32 %p2, %r0, 32; @%p2 bra A;
	setp.ne.u32 %p3, %r0, 32; @%p3 bra END;
L:	ld.acquire.cta.shared.u32 %r4, [%r3];
	setp.ne.u32 %p4, %r4, 32; @%p4 bra L;
	st.shared.u32 [%r3+4], 9;
	bra END;
A:	ld.shared.u32 %r5, [%r3+4];
	@CONDITION bra END;
	red.release.cta.shared.add.u32 [%r3], 1;`
	accesses := strings.NewReplacer("READ", "ld.acquire.gpu.global.u32 %r4, [%rd0+64];", "ACQUIRE", "",
		"RELEASE", "red.release.gpu.global.add.u32 [%rd0+64], 1;", "@CONDITION bra END;", "")
	fences := strings.NewReplacer("READ", "ld.relaxed.gpu.global.u32 %r4, [%rd0+64];", "ACQUIRE", "fence.acq_rel.gpu;",
		"RELEASE", "fence.acq_rel.gpu; red.relaxed.gpu.global.add.u32 [%rd0+64], 1;", "@CONDITION bra END;", "")
	oneFails := strings.NewReplacer("READ", "ld.acquire.gpu.global.u32 %r4, [%rd0+64];", "ACQUIRE", "",
		"@CONDITION", "setp.eq.u32 %p6, %r0, 5; @%p6", "RELEASE", "setp.eq.u32 %p6, %r0, 6; selp.u32 %r6, 2, 1, %p6; red.release.gpu.global.add.u32 [%rd0+64], %r6;")
	for _, c := range []raceCase{
		{"releases", 2, 32, accesses.Replace(global), silent},
		{"fences", 2, 32, fences.Replace(global), silent},
		{"releases but for one lane", 2, 32, oneFails.Replace(global), Race},
		{"releases to another warp", 1, 64, accesses.Replace(shared), silent},
	} {
		c.run(t)
	}
}
