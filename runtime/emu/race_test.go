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
