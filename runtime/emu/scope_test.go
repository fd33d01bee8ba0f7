package emu

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// passMessage is a kernel of CTAs of one thread: that of rank 0 writes a word and sets a flag, the last one waits for the flag and reads
// the word; those between pass the flag on, which the value it has says. attributes are those of the entry.
func passMessage(attributes, send, pass, receive string) string {
	return strings.Replace(header, "sm_80", "sm_90", 1) + `.visible .entry k(.param .u64 p)
.reqntid 1
` + attributes + `
{
	.reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<3>;
	ld.param.u64 %rd1, [p];
	mov.u32 %r0, %ctaid.x; mov.u32 %r1, %nctaid.x; add.u32 %r1, %r1, -1;
	setp.eq.u32 %p1, %r0, 0; @%p1 bra SEND;
	setp.eq.u32 %p1, %r0, %r1; @%p1 bra RECEIVE;
PASS: ` + pass + `
	setp.ne.u32 %p2, %r2, %r0; @%p2 bra PASS;
	ret;
SEND:
	st.global.b32 [%rd1+64], 42;
	` + send + `
	ret;
RECEIVE: ` + receive + `
	setp.ne.u32 %p2, %r2, %r0; @%p2 bra RECEIVE;
	ld.global.b32 %r3, [%rd1+64];
	st.global.b32 [%rd1+72], %r3;
	ret;
}
`
}

// TestScopesMustIncludeEachOther: of accesses and fences that pass a message each says to which threads, and one that names too few
// leaves the message without order.
func TestScopesMustIncludeEachOther(t *testing.T) {
	const (
		release = "st.release.%s.global.b32 [%%rd1], 1;"
		acquire = "ld.acquire.%s.global.b32 %%r2, [%%rd1];"
		send    = "fence.%s; st.relaxed.gpu.global.b32 [%%rd1], 1;"
		receive = "ld.relaxed.gpu.global.b32 %%r2, [%%rd1]; fence.%s;"
		// The value is what the CTA itself waits for, and the next one then gets the one after it.
		next = "atom.relaxed.gpu.global.cas.b32 %r2, [%rd1], %r0, 2;"
	)
	for _, c := range []struct {
		name, attributes    string
		ctas                int
		send, pass, receive string
		found               bool
	}{
		{"accesses of .gpu", "", 2, fmt.Sprintf(release, "gpu"), "", fmt.Sprintf(acquire, "gpu"), false},
		{"accesses of .sys", "", 2, fmt.Sprintf(release, "sys"), "", fmt.Sprintf(acquire, "gpu"), false},
		{"a release of .cluster to another cluster", "", 2, fmt.Sprintf(release, "cluster"), "", fmt.Sprintf(acquire, "gpu"), true},
		{"an acquire of .cluster from another cluster", "", 2, fmt.Sprintf(release, "gpu"), "", fmt.Sprintf(acquire, "cluster"), true},
		{"accesses of .cluster in a cluster", ".reqnctapercluster 2", 2, fmt.Sprintf(release, "cluster"), "", fmt.Sprintf(acquire, "cluster"), false},
		{"an access of .cta in a cluster", ".reqnctapercluster 2", 2, fmt.Sprintf(release, "cta"), "", fmt.Sprintf(acquire, "cluster"), true},
		{"fences of .gpu", "", 2, fmt.Sprintf(send, "acq_rel.gpu"), "", fmt.Sprintf(receive, "acq_rel.gpu"), false},
		{"fences that only release and acquire", "", 2, fmt.Sprintf(send, "release.gpu"), "", fmt.Sprintf(receive, "acquire.gpu"), false},
		{"fences of .gpu and .sys", "", 2, fmt.Sprintf(send, "sc.gpu"), "", fmt.Sprintf(receive, "sc.sys"), false},
		{"a fence of .cta before the flag", "", 2, fmt.Sprintf(send, "acq_rel.cta"), "", fmt.Sprintf(receive, "acq_rel.gpu"), true},
		{"a fence of .cta behind the flag", "", 2, fmt.Sprintf(send, "acq_rel.gpu"), "", fmt.Sprintf(receive, "acq_rel.cta"), true},
		{"a fence of .cta behind one of .gpu", "", 2, fmt.Sprintf(send, "acq_rel.gpu; fence.acq_rel.cta"), "", fmt.Sprintf(receive, "acq_rel.cta; fence.acq_rel.gpu"), false},
		{"fences of .cluster in a cluster", ".reqnctapercluster 2", 2, fmt.Sprintf(send, "acq_rel.cluster"), "", fmt.Sprintf(receive, "acq_rel.gpu"), false},
		{"fences of .cluster between clusters", "", 2, fmt.Sprintf(send, "acq_rel.cluster"), "", fmt.Sprintf(receive, "acq_rel.gpu"), true},
		{"a fence that only acquires before the flag", "", 2, fmt.Sprintf(send, "acquire.gpu"), "", fmt.Sprintf(receive, "acq_rel.gpu"), true},
		{"a fence that only releases behind the flag", "", 2, fmt.Sprintf(send, "acq_rel.gpu"), "", fmt.Sprintf(receive, "release.gpu"), true},
		{"a fence of .cta, and a release of .gpu", "", 2, "fence.acq_rel.cta; " + fmt.Sprintf(release, "gpu"), "", fmt.Sprintf(receive, "acq_rel.gpu"), false},
		{"a read-modify-write between", "", 3, fmt.Sprintf(send, "acq_rel.gpu"), next, fmt.Sprintf(receive, "acq_rel.gpu"), false},
		{"a read-modify-write between, and a fence of .cta", "", 3, fmt.Sprintf(send, "acq_rel.cta"), next, fmt.Sprintf(receive, "acq_rel.gpu"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, s := range Schedules {
				_, err := runText(t, passMessage(c.attributes, c.send, c.pass, c.receive), 1, make([]byte, 128), Options{Grid: [3]int{c.ctas, 1, 1}, Schedule: s, Seed: 3})
				var r *Report
				switch {
				case !c.found && err != nil:
					t.Errorf("%v: %v", s, err)
				case c.found && (!errors.As(err, &r) || r.Kind != Race):
					t.Errorf("%v: no race was found: %v", s, err)
				}
			}
		})
	}
}

// TestReadModifyWritesOfOtherScopes: a read-modify-write that comes after a release continues its sequence only if the two are morally strong: one of .cta in another CTA
// is not, and who reads what it has written acquires nothing.
func TestReadModifyWritesOfOtherScopes(t *testing.T) {
	const text = `
	setp.ne.u32 %p1, %r30, 0; @%p1 bra NEXT;
	setp.ne.u32 %p1, %r0, 0; @%p1 bra END;
	st.global.u32 [%rd0], 7;
	st.release.gpu.global.u32 [%rd0+64], 1;
	bra END;
NEXT:	setp.eq.u32 %p1, %r0, 32; @%p1 bra LAST;
	setp.ne.u32 %p1, %r0, 0; @%p1 bra END;
W:	ld.acquire.gpu.global.u32 %r4, [%rd0+64];
	setp.eq.u32 %p1, %r4, 0; @%p1 bra W;
	atom.relaxed.SCOPE.global.add.u32 %r4, [%rd0+64], 1;
	st.relaxed.gpu.global.u32 [%rd0+128], 1;
	bra END;
LAST:	ld.relaxed.gpu.global.u32 %r4, [%rd0+128];
	setp.eq.u32 %p1, %r4, 0; @%p1 bra LAST;
	ld.acquire.gpu.global.u32 %r4, [%rd0+64];
	ld.global.u32 %r5, [%rd0];`
	// The other CTA adds to the flag, and a thread of the first one that comes after that reads it.
	const back = `
	setp.eq.u32 %p1, %r30, 1; @%p1 bra NEXT;
	setp.eq.u32 %p1, %r0, 32; @%p1 bra LAST;
	setp.ne.u32 %p1, %r0, 0; @%p1 bra END;
	st.global.u32 [%rd0], 7;
	st.release.gpu.global.u32 [%rd0+64], 1;
	bra END;
NEXT:	setp.ne.u32 %p1, %r0, 0; @%p1 bra END;
W:	ld.relaxed.gpu.global.u32 %r4, [%rd0+64];
	setp.eq.u32 %p1, %r4, 0; @%p1 bra W;
	atom.relaxed.gpu.global.add.u32 %r4, [%rd0+64], 1;
	st.release.gpu.global.u32 [%rd0+128], 1;
	bra END;
LAST:	ld.acquire.gpu.global.u32 %r4, [%rd0+128];
	setp.eq.u32 %p1, %r4, 0; @%p1 bra LAST;
	ld.acquire.SCOPE.global.u32 %r4, [%rd0+64];
	ld.global.u32 %r5, [%rd0];`
	for _, c := range []raceCase{
		{"of .gpu", 2, 64, strings.Replace(text, "SCOPE", "gpu", 1), silent},
		{"of .cta", 2, 64, strings.Replace(text, "SCOPE", "cta", 1), Race},
		{"read by .gpu", 2, 64, strings.Replace(back, "SCOPE", "gpu", 1), silent},
		{"read by .cta", 2, 64, strings.Replace(back, "SCOPE", "cta", 1), Race},
	} {
		c.run(t)
	}
}

// TestScopeOfArrivals: an arrival at the mbarrier of another CTA, and the wait for it, are of .cta where they do not say .cluster.
func TestScopeOfArrivals(t *testing.T) {
	for _, arrive := range []string{"mbarrier.arrive.release.cluster", "mbarrier.arrive.release.cta", "mbarrier.arrive"} {
		for _, wait := range []string{"mbarrier.try_wait.parity.acquire.cluster", "mbarrier.try_wait.parity"} {
			body := `
	mapa.shared::cluster.u32 %r5, %r3, %r2; mapa.shared::cluster.u32 %r6, %r4, %r2;
	@%p1 st.shared::cluster.b32 [%r5], %r2;
	@%p1 ` + arrive + `.shared::cluster.b64 _, [%r6];
W:	` + wait + `.shared::cta.b64 %p2, [%r4], 0;
	@!%p2 bra W;
	@%p1 ld.shared.b32 %r8, [%r3];
	@%p1 st.global.b32 [%rd1], %r8;`
			_, err := runText(t, pair(body), 32, make([]byte, 128), Options{Grid: [3]int{2, 1, 1}})
			var r *Report
			want := !strings.HasSuffix(arrive, ".cluster") || !strings.HasSuffix(wait, ".cluster")
			if found := errors.As(err, &r) && r.Kind == Race; found != want || !want && err != nil {
				t.Errorf("%s, %s: got %v, want a race: %v", arrive, wait, err, want)
			}
		}
	}
}

// passMap is a kernel of CTAs of one warp: that of rank 0 makes a tensor map and sets a flag, the last one waits for the flag and copies by the map.
func passMap(attributes, release, acquire string) string {
	return strings.Replace(header, "sm_80", "sm_90", 1) + `.visible .entry k(.param .align 64 .b8 map[128], .param .u64 p)
.reqntid 32
` + attributes + `
{
	.reg .pred %p<5>; .reg .b32 %r<12>; .reg .b64 %rd<6>;
	.shared .align 128 .b8 tile[1024];
	.shared .align 128 .b8 copy[128];
	.shared .align 8 .b64 full;
	ld.param.u64 %rd1, [p]; add.u64 %rd2, %rd1, 4096; mov.b64 %rd3, map;
	mov.u32 %r0, %tid.x; mov.u32 %r2, tile; mov.u32 %r3, full; mov.u32 %r4, copy;
	mov.u32 %r5, %ctaid.x; mov.u32 %r6, %nctaid.x; add.u32 %r6, %r6, -1;
	setp.eq.u32 %p1, %r0, 0; setp.ne.u32 %p2, %r5, 0; setp.ne.u32 %p3, %r5, %r6;
	@%p2 bra.uni RECEIVE;
	mad.lo.u32 %r7, %r0, 4, %r4; mul.wide.u32 %rd4, %r0, 4; add.u64 %rd4, %rd4, %rd3;
	ld.param.b32 %r8, [%rd4]; st.shared.b32 [%r7], %r8;
	bar.warp.sync -1;
	@%p1 tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r4], %rd1;
	bar.warp.sync -1;
	` + release + `
	fence.acq_rel.gpu;
	bar.warp.sync -1;
	@%p1 st.release.gpu.global.b32 [%rd2+128], 1;
RECEIVE:
	@%p3 bra.uni END;
	@%p1 mbarrier.init.shared::cta.b64 [%r3], 1;
	@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 1024;
W:	ld.acquire.gpu.global.b32 %r9, [%rd2+128];
	setp.eq.u32 %p4, %r9, 0; @%p4 bra W;
	` + acquire + `
	bar.warp.sync -1;
	@%p1 cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r2], [%rd2, {0, 0}], [%r3];
V:	mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r3], 0;
	@!%p4 bra V;
END: ret;
}
`
}

// TestScopesOfTensorMapFencesMustIncludeEachOther: what one thread releases to the proxy of tensor maps another acquires if the scope of each
// fence includes the other's thread.
func TestScopesOfTensorMapFencesMustIncludeEachOther(t *testing.T) {
	const cluster = ".reqnctapercluster 2"
	for _, c := range []struct {
		attributes       string
		ctas             int
		release, acquire string
		found            bool
	}{
		{"", 2, "gpu", "gpu", false},
		{"", 2, "sys", "gpu", false},
		{"", 2, "cta", "gpu", true},
		{"", 2, "cluster", "gpu", true},
		{"", 2, "gpu", "cta", true},
		{"", 2, "gpu", "cluster", true},
		{cluster, 2, "cluster", "cluster", false},
		{cluster, 2, "gpu", "cluster", false},
		{cluster, 2, "cluster", "gpu", false},
		{cluster, 2, "cta", "cluster", true},
		{cluster, 2, "cluster", "cta", true},
		{"", 1, "cta", "cta", false},
		{"", 1, "cta", "gpu", false},
		{"", 1, "gpu", "cta", false},
	} {
		for _, release := range []string{
			"tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.%s.sync.aligned [%%rd2], [%%r4], 128;",
			"@%%p1 ld.shared.b64 %%rd5, [%%r4]; @%%p1 st.global.b64 [%%rd2], %%rd5; " + mapWords() + "fence.proxy.tensormap::generic.release.%s;",
		} {
			release = fmt.Sprintf(release, c.release)
			m, err := Parse("k.ptx", passMap(c.attributes, release, "fence.proxy.tensormap::generic.acquire."+c.acquire+" [%rd2], 128;"))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range Schedules {
				mem := NewMemory()
				a := mem.Alloc("a", make([]byte, 4096+256), 256)
				tm := TensorMap{Address: a, Rank: 2, Dims: [5]uint32{64, 16}, Strides: [4]uint64{256}, Box: [5]uint16{16, 16}, Steps: [5]uint8{1, 1}, Type: 7}
				_, err = m.Run(t.Context(), "k", mem, []Arg{tm.Encode(), le64(a)}, Options{Grid: [3]int{c.ctas, 1, 1}, Schedule: s, Seed: 3})
				var r *Report
				if found := errors.As(err, &r) && r.Kind == ProxyFence; found != c.found || !found && err != nil {
					t.Errorf("%d CTAs %s, %v, %s and acquire of %s: got %v, want a missing fence: %v", c.ctas, c.attributes, s, release[:9], c.acquire, err, c.found)
				}
			}
		}
	}
}

// mapWords copies the words of a tensor map behind the first from shared to global memory.
func mapWords() string {
	var b strings.Builder
	for at := 8; at < 128; at += 8 {
		fmt.Fprintf(&b, "@%%%%p1 ld.shared.b64 %%%%rd5, [%%%%r4+%d]; @%%%%p1 st.global.b64 [%%%%rd2+%d], %%%%rd5; ", at, at)
	}
	return b.String()
}
