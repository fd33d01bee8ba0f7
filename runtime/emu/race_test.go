package emu

import (
	"errors"
	"slices"
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
		{"releases of the lanes that read", 2, 16, strings.Replace(accesses.Replace(global), "%r4, 32", "%r4, 16", 1), silent},
		{"releases to another warp", 1, 64, accesses.Replace(shared), silent},
	} {
		c.run(t)
	}
}

// TestReadsOfDifferentScopes: a weak read is not a part of the strong ones that the same warp makes later, and does not vanish in them.
func TestReadsOfDifferentScopes(t *testing.T) {
	const poll = `
	setp.lt.u32 %p1, %r0, 32; setp.eq.u32 %p3, %r0, 0;
	@%p3 st.shared.u32 [%r3], 0;
	bar.sync 0;
	@!%p1 ld.shared.u32 %r4, [%r3];
	BETWEEN
	@%p1 bra A;
L:	ld.relaxed.cta.shared.u32 %r5, [%r3];
	setp.eq.u32 %p2, %r5, 0; @%p2 bra L;
	bra END;
A:	@%p3 st.relaxed.cta.shared.u32 [%r3], 1;`
	// Warps read the word in turns, the very first time weakly, and the last one writes it.
	const turns = `
	shr.u32 %r5, %r0, 5; and.b32 %r6, %r0, 31; setp.ne.u32 %p0, %r6, 0;
	setp.eq.u32 %p3, %r0, 0; @%p3 st.shared.u32 [%r3], 0; @%p3 st.shared.u32 [%r3+64], 0;
	bar.sync 0;
	@%p0 bra END;
	mov.u32 %r7, 0;
R:	shl.b32 %r8, %r7, 5; add.u32 %r8, %r8, %r5;
W:	ld.relaxed.cta.shared.u32 %r9, [%r3+64]; setp.ne.u32 %p5, %r9, %r8; @%p5 bra W;
	setp.eq.u32 %p6, %r8, 0;
	@%p6 FIRST %r10, [%r3];
	@!%p6 ld.relaxed.cta.shared.u32 %r10, [%r3];
	add.u32 %r9, %r8, 1; st.relaxed.cta.shared.u32 [%r3+64], %r9;
	add.u32 %r7, %r7, 1; setp.lt.u32 %p7, %r7, 4; @%p7 bra R;
	setp.eq.u32 %p8, %r5, 31; @%p8 st.relaxed.cta.shared.u32 [%r3], 1;`
	// What the writer has acquired is the later read only.
	const one = `
	setp.eq.u32 %p0, %r30, 0; setp.ne.u32 %p1, %r0, 0;
	@%p0 bra A;
	@%p1 bra END;
L:	ld.relaxed.gpu.global.u32 %r4, [%rd0+64]; setp.eq.u32 %p2, %r4, 0; @%p2 bra L;
	st.relaxed.gpu.global.u32 [%rd0], 1;
	bra END;
A:	FIRST %r5, [%rd0];
	ld.relaxed.gpu.global.u32 %r6, [%rd0];
	@!%p1 st.relaxed.gpu.global.u32 [%rd0+64], 1;`
	for _, c := range []raceCase{
		{"a weak one, a barrier and strong ones", 1, 64, strings.Replace(poll, "BETWEEN", "bar.sync 0;", 1), silent},
		{"a weak one in 1024 threads", 1, 1024, strings.Replace(turns, "FIRST", "ld.shared.u32", 1), Race},
		{"strong ones in 1024 threads", 1, 1024, strings.Replace(turns, "FIRST", "ld.relaxed.cta.shared.u32", 1), silent},
		{"a weak one before a strong one", 2, 32, strings.Replace(one, "FIRST", "ld.global.u32", 1), Race},
		{"one of .cta before one of .gpu", 2, 32, strings.Replace(one, "FIRST", "ld.relaxed.cta.global.u32", 1), Race},
		{"two of .gpu", 2, 32, strings.Replace(one, "FIRST", "ld.relaxed.gpu.global.u32", 1), silent},
	} {
		c.run(t)
	}
}

// TestLatestOfManyAccesses: a list has a record for what the lanes of a warp did together, and forgets what each did again.
func TestLatestOfManyAccesses(t *testing.T) {
	at := func(warp, lane, epoch int, s strength) accessStamp {
		return accessStamp(epoch)<<34 | accessStamp(warp)<<9 | accessStamp(lane)<<4 | accessStamp(s)<<2
	}
	var l []accessRecord
	for epoch := range 40 {
		for warp := range 3 {
			for _, lane := range []int{1, 5, 30} {
				x := newRecord(at(warp, lane, epoch+1, gpuScope), 0)
				if n := len(l); lane == 1 || !l[n-1].joins(&x) {
					l = append(l, x)
				}
			}
		}
	}
	weakOne := newRecord(at(1, 5, 7, weak), 0)
	single := newRecord(at(2, 30, 50, gpuScope), 0)
	l = latest(append(l, weakOne, single))
	want := []accessRecord{
		{at(0, 1, 40, gpuScope) | stampMany, placeOthers, 1<<1 | 1<<5 | 1<<30},
		{at(1, 1, 40, gpuScope) | stampMany, placeOthers, 1<<1 | 1<<5 | 1<<30},
		{at(2, 1, 40, gpuScope) | stampMany, placeOthers, 1<<1 | 1<<5},
		weakOne, single,
	}
	want[3].place, want[4].place = placeOthers, placeOthers
	if !slices.Equal(l, want) {
		t.Errorf("got %v, expected %v", l, want)
	}
}

// TestStrongWriteKeepsOthers: a relaxed write does not stand for the relaxed accesses of others that it is not ordered with.
func TestStrongWriteKeepsOthers(t *testing.T) {
	// The first thread of each CTA accesses the word in its turn, which relaxed accesses give and nothing orders; the last waits for the one before it and acquires from that one alone.
	const text = `
	setp.ne.u32 %p0, %r0, 0; @%p0 bra END;
	setp.eq.u32 %p1, %r30, 1; @%p1 bra B;
	setp.eq.u32 %p2, %r30, 2; @%p2 bra C;
	FIRST
	RELEASE st.relaxed.gpu.global.u32 [%rd0+64], 1;
	bra END;
B:	ld.relaxed.gpu.global.u32 %r4, [%rd0+64]; setp.ne.u32 %p3, %r4, 1; @%p3 bra B;
	ACQUIRE SECOND
	st.release.gpu.global.u32 [%rd0+64], 2;
	bra END;
C:	ld.acquire.gpu.global.u32 %r4, [%rd0+64]; setp.ne.u32 %p3, %r4, 2; @%p3 bra C;
	THIRD`
	with := func(first, second, third string, ordered bool) string {
		release, acquire := "", ""
		if ordered {
			release, acquire = "fence.acq_rel.gpu;", "fence.acq_rel.gpu;"
		}
		return strings.NewReplacer("FIRST", first, "SECOND", second, "THIRD", third, "RELEASE", release, "ACQUIRE", acquire).Replace(text)
	}
	const (
		store, load, add    = "st.relaxed.gpu.global.u32 [%rd0], 1;", "ld.relaxed.gpu.global.u32 %r5, [%rd0];", "red.relaxed.gpu.global.add.u32 [%rd0], 1;"
		weakLoad, weakStore = "ld.global.u32 %r6, [%rd0];", "st.global.u32 [%rd0], 7;"
	)
	for _, c := range []raceCase{
		{"two stores", 3, 32, with(store, store, weakLoad, false), Race},
		{"two stores in order", 3, 32, with(store, store, weakLoad, true), silent},
		{"two atomic operations", 3, 32, with(add, add, weakLoad, false), Race},
		{"two atomic operations in order", 3, 32, with(add, add, weakLoad, true), silent},
		{"a load and a store", 3, 32, with(load, store, weakStore, false), Race},
		{"a load and a store in order", 3, 32, with(load, store, weakStore, true), silent},
		{"strong accesses only", 3, 32, with(store, store, load, false), silent},
	} {
		c.run(t)
	}
}

// TestStrongAccessesOfDifferentSizes: strong accesses that overlap in part are not morally strong (8.7.1). One of a vector is one of each element.
func TestStrongAccessesOfDifferentSizes(t *testing.T) {
	const text = `
	setp.ne.u32 %p0, %r0, 0; @%p0 bra END;
	setp.eq.u32 %p1, %r30, 1; @%p1 bra B;
	STORE
	bra END;
B:	LOAD
	setp.eq.u32 %p3, %r4, 0; @%p3 bra B;`
	const long, vector = "mov.b64 %rd9, 1; st.release.gpu.global.u64 [%rd0], %rd9;", "st.relaxed.gpu.global.v2.u32 [%rd0], {%r30, 1};"
	const load, loadLong = "ld.acquire.gpu.global.u32 %r4, [%rd0];", "ld.acquire.gpu.global.u64 %rd9, [%rd0]; cvt.u32.u64 %r4, %rd9;"
	for _, c := range []raceCase{
		{"half of what is stored", 2, 32, strings.NewReplacer("STORE", long, "LOAD", load).Replace(text), Race},
		{"half of what was stored before", 2, 32, strings.NewReplacer("STORE", long+"st.relaxed.gpu.global.u32 [%rd0], 2;", "LOAD", load).Replace(text), Race},
		{"all of it", 2, 32, strings.NewReplacer("STORE", long, "LOAD", loadLong).Replace(text), silent},
		{"an element of a vector", 2, 32, strings.NewReplacer("STORE", "mov.u32 %r30, 1; "+vector, "LOAD", load).Replace(text), silent},
		{"a vector at once", 2, 32, strings.NewReplacer("STORE", "mov.u32 %r30, 1; "+vector, "LOAD", loadLong).Replace(text), Race},
	} {
		c.run(t)
	}
}

// TestStrongAccessesAfterWeakerOnes: a strong store does not stand for a weaker one of its thread before it, which a strong load elsewhere races with.
func TestStrongAccessesAfterWeakerOnes(t *testing.T) {
	const text = `
	setp.ne.u32 %p0, %r0, 0; @%p0 bra END;
	setp.eq.u32 %p1, %r30, 1; @%p1 bra B;
	STORE
	st.relaxed.gpu.global.u32 [%rd0], 2;
	st.relaxed.gpu.global.u32 [%rd0+64], 1;
	bra END;
B:	ld.relaxed.gpu.global.u32 %r4, [%rd0+64];
	setp.eq.u32 %p3, %r4, 0; @%p3 bra B;
	ld.relaxed.gpu.global.u32 %r4, [%rd0];`
	for _, c := range []raceCase{
		{"a weak store", 2, 32, strings.Replace(text, "STORE", "st.global.u32 [%rd0], 1;", 1), Race},
		{"a store of .cta", 2, 32, strings.Replace(text, "STORE", "st.relaxed.cta.global.u32 [%rd0], 1;", 1), Race},
		{"a store of .gpu", 2, 32, strings.Replace(text, "STORE", "st.relaxed.gpu.global.u32 [%rd0], 1;", 1), silent},
	} {
		c.run(t)
	}
}

// TestALaneKnowsItsOwnCopies: that the copies of a lane are complete says nothing of those of other lanes that read the same word, before the lanes meet.
func TestALaneKnowsItsOwnCopies(t *testing.T) {
	const text = `
	shl.b32 %r5, %r0, 2; add.u32 %r5, %r3, %r5;
	cp.async.ca.shared.global [%r5], [%rd0], 4;
	cp.async.wait_all;
	MEET
	setp.eq.u32 %p1, %r0, 0; @%p1 st.global.u32 [%rd0], 9;`
	const other = `
	shl.b32 %r5, %r0, 2; add.u32 %r5, %r3, %r5;
	cp.async.ca.shared.global [%r5], [%rd0], 4;
	cp.async.wait_all;
	MEET
	setp.eq.u32 %p1, %r0, 32; @%p1 st.relaxed.gpu.global.u32 [%rd0+64], 1;
	setp.ne.u32 %p1, %r0, 0; @%p1 bra END;
W:	ld.relaxed.gpu.global.u32 %r6, [%rd0+64];
	setp.eq.u32 %p1, %r6, 0; @%p1 bra W;
	st.shared.u32 [%r3+128], 9;`
	for _, c := range []raceCase{
		{"alone", 1, 32, strings.Replace(text, "MEET", "", 1), AsyncPending},
		{"together", 1, 32, strings.Replace(text, "MEET", "bar.warp.sync -1;", 1), silent},
		{"a lane with the same lane of another warp", 1, 64, strings.Replace(other, "MEET", "", 1), AsyncPending},
		{"warps together", 1, 64, strings.Replace(other, "MEET", "bar.sync 0;", 1), silent},
	} {
		c.run(t)
	}
}

// TestOneLaneWritesWhatAllHaveRead: the lane itself is the first of those that have read together.
func TestOneLaneWritesWhatAllHaveRead(t *testing.T) {
	const text = `
	ld.global.u32 %r5, [%rd0];
	MEET
	setp.eq.u32 %p1, %r0, 0; @%p1 st.global.u32 [%rd0], 9;`
	for _, c := range []raceCase{
		{"alone", 1, 32, strings.Replace(text, "MEET", "", 1), Race},
		{"together", 1, 32, strings.Replace(text, "MEET", "bar.warp.sync -1;", 1), silent},
	} {
		c.run(t)
	}
}

// TestWhoLearnsAtAnMbarrier: an arrival that releases hands what its thread has stored to the lanes whose wait acquires it, and to no other.
func TestWhoLearnsAtAnMbarrier(t *testing.T) {
	const text = `
	setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared::cta.b64 [%r3], 1; @%p1 mbarrier.init.shared::cta.b64 [%r3+8], 1;
	bar.sync 0;
	setp.lt.u32 %p1, %r0, 32; @%p1 bra W;
	setp.ne.u32 %p1, %r0, 32; @%p1 bra END;
	st.global.u32 [%rd0], 7;
	mbarrier.arrive.RELEASE.shared::cta.b64 _, [%r3];
	bra END;
W:	setp.eq.u32 %p2, %r0, 0; selp.u32 %r4, 0, 8, %p2; add.u32 %r4, %r4, %r3;
	mbarrier.test_wait.parity.ACQUIRE.shared::cta.b64 %p3, [%r4], 0;
	vote.sync.any.pred %p3, %p3, -1; @!%p3 bra W;
	setp.eq.u32 %p4, %r0, LANE; @%p4 ld.global.u32 %r5, [%rd0];`
	with := func(release, acquire, lane string) string {
		return strings.NewReplacer("RELEASE", release, "ACQUIRE", acquire, "LANE", lane).Replace(text)
	}
	for _, c := range []raceCase{
		{"the lane that waits", 1, 64, with("release.cta", "acquire.cta", "0"), silent},
		{"another lane, whose phase is open", 1, 64, with("release.cta", "acquire.cta", "1"), Race},
		{"a relaxed arrival", 1, 64, with("relaxed.cta", "acquire.cta", "0"), Race},
		{"a relaxed wait", 1, 64, with("release.cta", "relaxed.cta", "0"), Race},
	} {
		c.run(t)
	}
}

// TestRefinedCellsHaveListsOfTheirOwn: where a page has smaller cells from now on, each half of a cell has the reads and the writes of the whole in a list of its own.
func TestRefinedCellsHaveListsOfTheirOwn(t *testing.T) {
	s := &shadow{}
	at := func(warp int) accessRecord {
		return newRecord(accessStamp(1)<<34|accessStamp(warp)<<9|accessStamp(gpuScope)<<2, 0)
	}
	whole := &s.cells(0, 8, 1024)[0]
	whole.reads, whole.lastWrite = s.newList(at(1), at(2)), s.newList(at(3), at(4))
	halves := []*shadowCell{&s.cells(0, 4, 1024)[0], &s.cells(4, 4, 1024)[0]}
	for _, list := range []struct {
		name        string
		first, then *accessStamp
	}{{"reads", &halves[0].reads, &halves[1].reads}, {"writes", &halves[0].lastWrite, &halves[1].lastWrite}} {
		want := slices.Clone(*s.list(*list.then))
		s.drop(list.first)
		s.newList(at(9), at(10), at(11))
		if got := *s.list(*list.then); !slices.Equal(got, want) || len(got) != 2 {
			t.Errorf("%s: %v after the other half has dropped its own, expected %v", list.name, got, want)
		}
	}
}

// TestAccessesOfAnotherCTAAreNotReplaced: of two strong stores of .cta by two CTAs, one after the other, the later one does not stand for the earlier one.
// A third one by the CTA of the later one is morally strong with that and races with the first.
func TestAccessesOfAnotherCTAAreNotReplaced(t *testing.T) {
	const ptx = header + `.visible .entry k(.param .u64 p)
.reqntid 64
{
	.reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<3>;
	ld.param.u64 %rd1, [p];
	mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x;
	and.b32 %r2, %r1, 31; setp.ne.u32 %p1, %r2, 0; @%p1 ret;
	setp.eq.u32 %p1, %r0, 0; @%p1 bra FIRST;
	setp.ne.u32 %p1, %r1, 0; @%p1 bra THIRD;
SECOND: ld.acquire.gpu.global.b32 %r3, [%rd1+64];
	setp.ne.u32 %p2, %r3, 1; @%p2 bra SECOND;
	st.relaxed.cta.global.b32 [%rd1], 2;
	st.relaxed.gpu.global.b32 [%rd1+68], 1;
	ret;
THIRD: ld.relaxed.gpu.global.b32 %r3, [%rd1+68];
	setp.ne.u32 %p2, %r3, 1; @%p2 bra THIRD;
	st.relaxed.cta.global.b32 [%rd1], 3;
	ret;
FIRST: setp.ne.u32 %p1, %r1, 0; @%p1 ret;
	st.relaxed.cta.global.b32 [%rd1], 1;
	st.release.gpu.global.b32 [%rd1+64], 1;
	ret;
}
`
	for _, s := range Schedules {
		_, err := runText(t, ptx, 64, make([]byte, 128), Options{Grid: [3]int{2, 1, 1}, Schedule: s, Seed: 3})
		var r *Report
		if !errors.As(err, &r) || r.Kind != Race {
			t.Errorf("%v: no race was found: %v", s, err)
		}
	}
}
