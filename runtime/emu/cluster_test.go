package emu

import (
	"strings"
	"testing"
)

// pair is a kernel of two CTAs of 32 threads in a cluster, the same for all: %r1 rank, %r2 the other one, %r3 a box of 64 bytes,
// %r4 its mbarrier, %p1 in thread 0; [%rd1] is a word for each CTA, 64 bytes apart.
func pair(body string) string {
	return strings.Replace(header, "sm_80", "sm_90", 1) + `.visible .entry k(.param .u64 p)
.reqntid 32
.reqnctapercluster 2
{
	.reg .pred %p<8>; .reg .b32 %r<20>; .reg .b64 %rd<9>;
	.shared .align 16 .b8 box[64];
	.shared .align 8 .b64 bar;
	ld.param.u64 %rd1, [p]; mov.u32 %r0, %tid.x; mov.u32 %r1, %cluster_ctarank; xor.b32 %r2, %r1, 1; mov.u32 %r3, box; mov.u32 %r4, bar;
	mul.wide.u32 %rd2, %r1, 64; add.u64 %rd1, %rd1, %rd2; setp.eq.u32 %p1, %r0, 0;
	@%p1 mbarrier.init.shared::cta.b64 [%r4], 1;
	fence.mbarrier_init.release.cluster;
	fence.proxy.async.shared::cta;
	barrier.cluster.arrive.aligned;
	barrier.cluster.wait.aligned;
` + body + `
	barrier.cluster.arrive.aligned;
	barrier.cluster.wait.aligned;
	ret;
}
`
}

const waitBar = "\nW: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r4], 0;\n@!%p2 bra W;\n"

// TestClusters: what CTAs of a cluster do with each other's shared memory; the result is the first word of each.
func TestClusters(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       [2]uint64
	}{
		{"mapa, getctarank, remote store and load", `
	mapa.shared::cluster.u32 %r5, %r3, %r2;
	getctarank.shared::cluster.u32 %r6, %r5;
	mad.lo.u32 %r7, %r1, 10, %r6;
	@%p1 st.shared::cluster.b32 [%r5], %r7;
	barrier.cluster.arrive.release.aligned;
	barrier.cluster.wait.acquire.aligned;
	mapa.shared::cluster.u32 %r5, %r3, %r1;
	@%p1 ld.shared::cluster.b32 %r8, [%r5];
	@%p1 st.global.b32 [%rd1], %r8;`, [2]uint64{10, 1}},
		{"generic address of another CTA", `
	cvt.u64.u32 %rd3, %r3; cvta.shared.u64 %rd3, %rd3;
	mapa.u64 %rd4, %rd3, %r2;
	add.u32 %r7, %r1, 5;
	@%p1 st.b32 [%rd4], %r7;
	barrier.cluster.arrive.aligned;
	barrier.cluster.wait.aligned;
	@%p1 ld.shared.b32 %r8, [%r3];
	@%p1 st.global.b32 [%rd1], %r8;`, [2]uint64{6, 5}},
		{"st.async", `
	mapa.shared::cluster.u32 %r5, %r3, %r2; mapa.shared::cluster.u32 %r6, %r4, %r2;
	add.u32 %r7, %r1, 7;
	@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 8;
	@%p1 st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r5], {%r7, %r7}, [%r6];` + strings.Replace(waitBar, "\nW", "W", 1) + `
	@%p1 ld.shared.b32 %r8, [%r3+4];
	@%p1 st.global.b32 [%rd1], %r8;`, [2]uint64{8, 7}},
		{"red.async by all lanes", `
	mapa.shared::cluster.u32 %r5, %r3, %r2; mapa.shared::cluster.u32 %r6, %r4, %r2;
	@%p1 st.shared.b32 [%r3], 100;
	barrier.cluster.arrive.aligned;
	barrier.cluster.wait.aligned;
	@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 128;
	red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r5], %r0, [%r6];` + waitBar + `
	@%p1 ld.shared.b32 %r8, [%r3];
	@%p1 st.global.b32 [%rd1], %r8;`, [2]uint64{596, 596}},
		{"arrival at another CTA's mbarrier", `
	mapa.shared::cluster.u32 %r5, %r3, %r2; mapa.shared::cluster.u32 %r6, %r4, %r2;
	@%p1 st.shared::cluster.b32 [%r5], %r2;
	@%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6];` + waitBar + `
	@%p1 ld.shared.b32 %r8, [%r3];
	@%p1 st.global.b32 [%rd1], %r8;`, [2]uint64{0, 1}},
		{"bulk copy to another CTA", `
	mapa.shared::cluster.u32 %r5, %r3, %r2; mapa.shared::cluster.u32 %r6, %r4, %r2;
	@%p1 st.shared.v4.b32 [%r3+32], {%r1, %r1, %r1, %r1};
	fence.proxy.async;
	@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 16;
	@%p1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r5], [%r3+32], 16, [%r6];` + waitBar + `
	@%p1 ld.shared.b32 %r8, [%r3];
	@%p1 st.global.b32 [%rd1], %r8;`, [2]uint64{1, 0}},
		{"multicast of a bulk copy", `
	mov.b16 %h1, 3; setp.eq.u32 %p3, %r1, 0; and.pred %p3, %p3, %p1;
	@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 32;
	barrier.cluster.arrive.aligned;
	barrier.cluster.wait.aligned;
	@%p3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r3], [%rd1+32], 32, [%r4], %h1;` + waitBar + `
	@%p1 ld.shared.b32 %r8, [%r3+28];
	@%p1 st.global.b32 [%rd1], %r8;`, [2]uint64{0x3f3e3d3c, 0x3f3e3d3c}},
		{"reduction of shared into global memory", `
	@%p1 st.shared.v4.b32 [%r3], {1, 2, 3, 4};
	fence.proxy.async;
	@%p1 st.global.b32 [%rd1], 40;
	fence.proxy.async;
	@%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r3], 16;
	cp.async.bulk.commit_group;
	cp.async.bulk.wait_group 0;`, [2]uint64{41, 41}},
		{"a bulk sum keeps a subnormal number, as an H200 does", `
	@%p1 st.shared.v4.b32 [%r3], {0, 0, 0, 0};
	fence.proxy.async;
	@%p1 st.global.b32 [%rd1], 0x116c2;
	fence.proxy.async;
	@%p1 cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd1], [%r3], 16;
	cp.async.bulk.commit_group;
	cp.async.bulk.wait_group 0;`, [2]uint64{0x116c2, 0x116c2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, s := range Schedules {
				buf := make([]byte, 128)
				for i := range buf {
					buf[i] = byte(i)
				}
				src := strings.Replace(pair(c.body), ".reg .b64", ".reg .b16 %h<2>; .reg .b64", 1)
				out, err := runText(t, src, 32, buf, Options{Grid: [3]int{2, 1, 1}, Schedule: s, Seed: 9})
				if err != nil {
					t.Fatalf("%v: %v", s, err)
				}
				for k, want := range c.want {
					if got := readBytes(out, 64*k, 4); got != want {
						t.Errorf("%v: CTA %d has %#x, want %#x", s, k, got, want)
					}
				}
			}
		})
	}
}
