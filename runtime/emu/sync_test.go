package emu

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// warpWords runs a body on one warp; thread i finds its word in [%rd1] and leaves its result in %r1.
func warpWords(t *testing.T, body string, in func(i int) uint32) []uint32 {
	t.Helper()
	buf := make([]byte, 128)
	for i := range 32 {
		writeBytes(buf, 4*i, 4, uint64(in(i)))
	}
	src := on("sm_90", kernel("ld.global.u32 %r1, [%rd1];\n"+body+"\nst.global.u32 [%rd1], %r1;"))
	out, err := runText(t, src, 32, buf, Options{})
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	r := make([]uint32, 32)
	for i := range r {
		r[i] = uint32(readBytes(out, 4*i, 4))
	}
	return r
}

func TestShuffles(t *testing.T) {
	in := func(i int) uint32 { return uint32(100 + i) }
	for _, c := range []struct {
		instr string
		want  func(i int) int // source lane
	}{
		{"shfl.sync.up.b32 %r1, %r1, 2, 0, -1;", func(i int) int { return i - 2*b2i(i >= 2) }},
		{"shfl.sync.down.b32 %r1, %r1, 3, 31, -1;", func(i int) int { return i + 3*b2i(i+3 <= 31) }},
		{"shfl.sync.bfly.b32 %r1, %r1, 5, 31, -1;", func(i int) int { return i ^ 5 }},
		{"shfl.sync.idx.b32 %r1, %r1, 7, 31, -1;", func(i int) int { return 7 }},
		{"shfl.sync.idx.b32 %r1, %r1, 1, 0x1c1f, -1;", func(i int) int { return i&^3 | 1 }}, // groups of four
		{"shfl.sync.bfly.b32 %r1, %r1, 4, 0x1c1f, -1;", func(i int) int { return i &^ 4 }},  // upwards leads out of the group
	} {
		got := warpWords(t, c.instr, in)
		for i, v := range got {
			want := c.want(i)
			if v != uint32(100+want) {
				t.Fatalf("%s lane %d: got %d, want %d", c.instr, i, v, 100+want)
			}
		}
	}
	inside := warpWords(t, "shfl.sync.down.b32 %r2|%p1, %r1, 3, 31, -1; selp.u32 %r1, 1, 0, %p1;", in)
	for i, v := range inside {
		if (v == 1) != (i+3 <= 31) {
			t.Fatalf("predicate of lane %d is %d", i, v)
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestVotesAndReductions(t *testing.T) {
	in := func(i int) uint32 { return uint32(i) }
	for _, c := range []struct {
		body string
		want func(i int) uint32
	}{
		{"setp.lt.u32 %p1, %r1, 5; vote.sync.ballot.b32 %r1, %p1, -1;", func(int) uint32 { return 0x1f }},
		{"setp.lt.u32 %p1, %r1, 5; vote.sync.any.pred %p2, %p1, -1; selp.u32 %r1, 1, 0, %p2;", func(int) uint32 { return 1 }},
		{"setp.lt.u32 %p1, %r1, 5; vote.sync.all.pred %p2, !%p1, -1; selp.u32 %r1, 1, 0, %p2;", func(int) uint32 { return 0 }},
		{"setp.lt.u32 %p1, %r1, 99; vote.sync.uni.pred %p2, %p1, -1; selp.u32 %r1, 1, 0, %p2;", func(int) uint32 { return 1 }},
		{"redux.sync.add.s32 %r1, %r1, -1;", func(int) uint32 { return 31 * 32 / 2 }},
		{"redux.sync.max.u32 %r1, %r1, -1;", func(int) uint32 { return 31 }},
		{"sub.s32 %r1, %r1, 7; redux.sync.min.s32 %r1, %r1, -1;", func(int) uint32 { return 0xfffffff9 }},
		{"redux.sync.xor.b32 %r1, %r1, -1;", func(int) uint32 { return 0 }},
		{"shr.u32 %r2, %r1, 3; match.any.sync.b32 %r1, %r2, -1;", func(i int) uint32 { return 0xff << (i &^ 7) }},
		{"mov.b32 %r2, 3; match.all.sync.b32 %r1|%p1, %r2, -1; selp.u32 %r1, %r1, 0, %p1;", func(int) uint32 { return fullMask }},
		{"elect.sync %r2|%p1, 0xffffffff; selp.u32 %r1, 1, 0, %p1;", func(i int) uint32 { return uint32(b2i(i == 0)) }},
		{"setp.lt.u32 %p1, %r0, 9; mov.b32 %r1, 0; @%p1 activemask.b32 %r1;", func(i int) uint32 { return uint32(0x1ff * b2i(i < 9)) }},
		{"setp.lt.u32 %p1, %r0, 9; bar.red.popc.u32 %r1, 0, %p1;", func(int) uint32 { return 9 }},
		{"setp.lt.u32 %p1, %r0, 9; bar.red.and.pred %p2, 0, %p1; selp.u32 %r1, 1, 0, %p2;", func(int) uint32 { return 0 }},
		{"setp.lt.u32 %p1, %r0, 9; bar.red.or.pred %p2, 0, %p1; selp.u32 %r1, 1, 0, %p2;", func(int) uint32 { return 1 }},
		{"mov.u32 %r1, %lanemask_lt;", func(i int) uint32 { return 1<<i - 1 }},
		{"mov.u32 %r1, %lanemask_ge;", func(i int) uint32 { return ^uint32(1<<i - 1) }},
	} {
		for i, v := range warpWords(t, c.body, in) {
			if v != c.want(i) {
				t.Fatalf("%s lane %d: got %#x, want %#x", c.body, i, v, c.want(i))
			}
		}
	}
}

// TestLanesMeetAgainAtSyncInstructions: halves of a warp come to a shuffle by different ways.
func TestLanesMeetAgainAtSyncInstructions(t *testing.T) {
	got := warpWords(t, `
	setp.lt.u32 %p1, %r0, 16;
	@%p1 bra LOW;
	add.s32 %r1, %r1, 1000;
	bra MEET;
LOW:
	add.s32 %r1, %r1, 2000;
MEET:
	shfl.sync.bfly.b32 %r1, %r1, 16, 31, -1;`, func(i int) uint32 { return uint32(i) })
	for i, v := range got {
		want := uint32(1000 + i + 16)
		if i >= 16 {
			want = uint32(2000 + i - 16)
		}
		if v != want {
			t.Fatalf("lane %d: got %d, want %d", i, v, want)
		}
	}
}

// TestSpinningLanesProgress: lanes of one warp take a lock one after the other, which a machine that runs
// the spinning lanes for ever would never end.
func TestSpinningLanesProgress(t *testing.T) {
	body := `
	mov.b32 %r5, 0;
SPIN:
	atom.acquire.gpu.global.cas.b32 %r6, [%rd0], 0, 1;
	setp.ne.b32 %p1, %r6, 0;
	@%p1 bra SPIN;
	ld.global.u32 %r7, [%rd0+4];
	add.s32 %r7, %r7, 1;
	st.global.u32 [%rd0+4], %r7;
	atom.release.gpu.global.exch.b32 %r8, [%rd0], 0;`
	for _, s := range Schedules {
		out, err := runText(t, kernel(body), 64, make([]byte, 256), Options{Schedule: s, Grid: [3]int{3, 1, 1}, MaxSteps: 1 << 26})
		if err != nil {
			t.Fatalf("%v: %v", s, err)
		}
		if n := readBytes(out, 4, 4); n != 3*64 {
			t.Fatalf("%v: %d of %d threads counted", s, n, 3*64)
		}
	}
}

// TestCTAsWaitForEachOther: block 0 waits for the last of 40, more than are resident at first.
func TestCTAsWaitForEachOther(t *testing.T) {
	body := `
	mov.u32 %r2, %ctaid.x;
	setp.ne.u32 %p1, %r2, 0;
	@%p1 red.release.gpu.global.add.u32 [%rd0], 1;
	@%p1 bra END;
WAIT:
	ld.acquire.gpu.global.u32 %r3, [%rd0];
	setp.lt.u32 %p2, %r3, 39;
	@%p2 bra WAIT;
END:`
	for _, s := range Schedules {
		if _, err := runText(t, kernel(body), 1, make([]byte, 256), Options{Schedule: s, Grid: [3]int{40, 1, 1}, MaxSteps: 1 << 26}); err != nil {
			t.Fatalf("%v: %v", s, err)
		}
	}
}

// TestLastThreadReadsWhatAllWrote: each lane of 300 blocks stores, and counts itself by an atomic operation that releases and acquires; the last one sums
// what all have stored. If one lane counts itself relaxed, what it has stored is a race.
func TestLastThreadReadsWhatAllWrote(t *testing.T) {
	const blocks, threads = 300, 32 * 300
	body := func(count string) string {
		return `
	mov.u32 %r2, %ctaid.x;
	shl.b32 %r3, %r2, 5;
	add.u32 %r3, %r3, %r0;
	mul.wide.u32 %rd3, %r3, 4;
	add.s64 %rd3, %rd3, %rd0;
	st.global.u32 [%rd3+8], %r3;
	` + count + `
	setp.ne.u32 %p1, %r4, ` + strconv.Itoa(threads-1) + `;
	@%p1 bra END;
	mov.u32 %r5, 0; mov.u32 %r6, 0; mov.u64 %rd4, %rd0;
SUM:
	ld.global.u32 %r7, [%rd4+8];
	add.u32 %r6, %r6, %r7;
	add.s64 %rd4, %rd4, 4;
	add.u32 %r5, %r5, 1;
	setp.lt.u32 %p2, %r5, ` + strconv.Itoa(threads) + `;
	@%p2 bra SUM;
	st.global.u32 [%rd0+4], %r6;
END:`
	}
	for _, s := range Schedules {
		o := Options{Schedule: s, Grid: [3]int{blocks, 1, 1}}
		out, err := runText(t, kernel(body("atom.acq_rel.gpu.global.add.u32 %r4, [%rd0], 1;")), 32, make([]byte, 8+4*threads), o)
		if err != nil || readBytes(out, 4, 4) != threads*(threads-1)/2 {
			t.Fatalf("%v: %v, the sum is %d", s, err, readBytes(out, 4, 4))
		}
		one := "setp.eq.u32 %p3, %r3, 1029; @%p3 atom.relaxed.gpu.global.add.u32 %r4, [%rd0], 1; @!%p3 atom.acq_rel.gpu.global.add.u32 %r4, [%rd0], 1;"
		_, err = runText(t, kernel(body(one)), 32, make([]byte, 8+4*threads), o)
		var r *Report
		if !errors.As(err, &r) || r.Kind != Race || !strings.Contains(r.Msg, "read of 'buf' byte 4124 is not ordered after the write by warp 0 lane 5 of CTA (32,0,0)") {
			t.Errorf("%v: a lane that does not release: %v", s, err)
		}
	}
}

// inShared adds in shared memory.
const inShared = `.shared .b32 s; setp.eq.u32 %p1, %r0, 0; @%p1 ld.global.b32 %r1, [%rd0]; @%p1 st.shared.b32 [s], %r1; bar.warp.sync -1;
	red.shared.add.f32 [s], %r2; bar.warp.sync -1; @%p1 ld.shared.b32 %r1, [s]; @%p1 st.global.b32 [%rd0], %r1;`

func TestAtomics(t *testing.T) {
	for _, c := range []struct {
		instr     string
		before, b uint64
		want      uint64
	}{
		{"atom.global.add.u32 %r1, [%rd0], %r2;", 5, 3, 5 + 32*3},
		{"red.global.add.s32 [%rd0], %r2;", 5, minus1, 0xffffffe5},
		{"atom.global.max.s32 %r1, [%rd0], %r2;", minus1, 3, 3},
		{"atom.global.min.u32 %r1, [%rd0], %r2;", minus1, 3, 3},
		{"atom.global.and.b32 %r1, [%rd0], %r2;", 0xff, 0xf0, 0xf0},
		{"atom.global.xor.b32 %r1, [%rd0], %r2;", 0xff, 0xf0, 0xff},
		{"atom.global.exch.b32 %r1, [%rd0], %r2;", 7, 9, 9},
		{"atom.global.inc.u32 %r1, [%rd0], %r2;", 0, 6, 32 % 7},
		{"atom.global.dec.u32 %r1, [%rd0], %r2;", 0, 6, 3},
		{"atom.global.cas.b32 %r1, [%rd0], 5, %r2;", 5, 9, 9},
		{"atom.global.add.f32 %r1, [%rd0], %r2;", fb(1), fb(0.5), fb(17)},
		{"red.relaxed.gpu.global.add.noftz.f16x2 [%rd0], %r2;", 0x3c003c00, 0x3c004000, 0x50205410},
		// Subnormal numbers are zeros in global memory, 1e-40 as an H200 has it, but not in shared memory.
		{"red.relaxed.gpu.global.add.f32 [%rd0], %r2;", 0x116c2, 0, 0},
		{"red.global.add.f32 [%rd0], %r2;", 0x800116c2, 0x80000000, 0x80000000},
		{"atom.add.f32 %r1, [%rd0], %r2;", 0x00c00000, 0x80800000, 0x82f80000}, // 1.5 - 1, which is subnormal, and -31, times 2^-126
		{inShared, 0x116c2, 0, 0x116c2},
		{inShared, 0x00c00000, 0x80800000, 0x82f40000}, // 1.5 - 32
	} {
		buf := make([]byte, 256)
		writeBytes(buf, 0, 4, c.before)
		writeBytes(buf, 4, 4, c.b)
		out, err := runText(t, kernel("ld.global.u32 %r2, [%rd0+4];\n"+c.instr), 32, buf, Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.instr, err)
		}
		if got := readBytes(out, 0, 4); got != c.want {
			t.Errorf("%s: got %#x, want %#x", c.instr, got, c.want)
		}
	}
}

// TestMbarrierHandsOver: a producer warp fills shared memory by cp.async and arrives asynchronously, a
// consumer warp waits for the phase and reads.
func TestMbarrierHandsOver(t *testing.T) {
	body := `
	setp.eq.u32 %p1, %r0, 0;
	@%p1 mbarrier.init.shared::cta.b64 [%r3+1000], 32;
	bar.sync 0;
	setp.ge.u32 %p2, %r0, 32;
	@%p2 bra CONSUME;
	cp.async.ca.shared.global [%r1], [%rd1], 4;
	cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r3+1000];
	bra DONE;
CONSUME:
	mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r3+1000], 0;
	@!%p3 bra CONSUME;
	ld.shared.u32 %r6, [%r2];
	st.global.u32 [%rd1], %r6;
DONE:`
	buf := make([]byte, 256)
	for i := range 32 {
		writeBytes(buf, 4*i, 4, uint64(500+i))
	}
	for _, s := range Schedules {
		out, err := runText(t, on("sm_90", sharedKernel(body)), 64, bytes.Clone(buf), Options{Schedule: s, MaxSteps: 1 << 20})
		if err != nil {
			t.Fatalf("%v: %v", s, err)
		}
		for i := range 32 {
			if got := readBytes(out, 128+4*i, 4); got != uint64(500+i) {
				t.Fatalf("%v: word %d is %d", s, i, got)
			}
		}
	}
}

func TestVprintf(t *testing.T) {
	src := header + `.extern .func (.param .b32 func_retval0) vprintf (.param .b64 a, .param .b64 b);
.global .align 1 .b8 fmt[24] = {37, 100, 32, 37, 46, 50, 102, 32, 37, 115, 32, 37, 108, 108, 117, 10, 0};
.global .align 1 .b8 str[3] = {104, 105, 0};
.visible .entry k(.param .u64 p)
{
	.reg .b32 %r<4>; .reg .b64 %rd<8>; .reg .f64 %d<2>;
	.local .align 8 .b8 depot[32];
	mov.b32 %r1, -7;
	mov.b64 %d1, 0d400921FB54442D18;
	mov.u64 %rd1, depot;
	cvta.local.u64 %rd2, %rd1;
	st.local.b32 [depot], %r1;
	st.local.b64 [depot+8], %d1;
	mov.u64 %rd3, str;
	cvta.global.u64 %rd4, %rd3;
	st.local.b64 [depot+16], %rd4;
	st.local.b64 [depot+24], 5000000000;
	mov.u64 %rd5, fmt;
	cvta.global.u64 %rd6, %rd5;
	{
		.param .b64 param0; .param .b64 param1; .param .b32 retval0;
		st.param.b64 [param0+0], %rd6;
		st.param.b64 [param1+0], %rd2;
		call.uni (retval0), vprintf, (param0, param1);
		ld.param.b32 %r2, [retval0+0];
	}
	ret;
}
`
	var out bytes.Buffer
	if _, err := runText(t, src, 1, make([]byte, 8), Options{Stdout: &out}); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "-7 3.14 hi 5000000000\n" {
		t.Fatalf("printed %q", got)
	}
}

// Only what malloc gave can be freed, whatever the name of an argument's buffer.
func TestFreeTakesMemoryOfMalloc(t *testing.T) {
	for _, c := range []struct{ pointer, want string }{
		{"given", ""},
		{"%rd0", "which malloc did not give"},
	} {
		src := header + ".extern .func (.param .b64 r) malloc (.param .b64 n);\n.extern .func free (.param .b64 a);\n" + strings.TrimPrefix(kernel(`
	.reg .b64 given;
	{ .param .b64 n; .param .b64 r;
	st.param.b64 [n], 16;
	call (r), malloc, (n);
	ld.param.b64 given, [r]; }
	{ .param .b64 a;
	st.param.b64 [a], `+c.pointer+`;
	call free, (a); }`), header)
		m, err := Parse("test.ptx", src)
		if err != nil {
			t.Fatal(err)
		}
		mem := NewMemory()
		a := mem.Alloc("malloc by me.npy", make([]byte, 16), 256)
		_, err = m.Run(t.Context(), "k", mem, []Arg{le64(a)}, Options{Block: [3]int{1, 1, 1}})
		if said := fmt.Sprint(err); (err != nil) != (c.want != "") || !strings.Contains(said, c.want) {
			t.Errorf("free of %s: %s, want %q", c.pointer, said, c.want)
		}
	}
}

func TestCallsOfFunctionsInTheModule(t *testing.T) {
	src := header + `.func (.param .b32 out) twice (.param .b32 x)
{
	.reg .b32 %r<3>;
	ld.param.b32 %r1, [x];
	add.s32 %r2, %r1, %r1;
	st.param.b32 [out], %r2;
	ret;
}
` + strings.TrimPrefix(kernel(`
	{ .param .b32 a; .param .b32 r;
	st.param.b32 [a], %r0;
	call.uni (r), twice, (a);
	ld.param.b32 %r1, [r]; }
	{ .param .b32 a; .param .b32 r;
	st.param.b32 [a], %r1;
	call (r), twice, (a);
	ld.param.b32 %r1, [r]; }
	st.global.u32 [%rd1], %r1;`), header)
	out, err := runText(t, src, 32, make([]byte, 128), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 32 {
		if got := readBytes(out, 4*i, 4); got != uint64(4*i) {
			t.Fatalf("thread %d: %d", i, got)
		}
	}
}

// Calls within a cycle of functions are refused, calls into it are not, nor what two functions share.
func TestRecursiveCallsAreFound(t *testing.T) {
	src := header + `
.func leaf () { ret; }
.func one ();
.func self () { call self; ret; }
.func left () { call leaf; ret; }
.func right () { call leaf; call left; ret; }
.func three () { call leaf; call one; ret; }
.func two () { call right; call three; ret; }
.func one () { call two; ret; }
` + strings.TrimPrefix(kernel("call right; call one; call self;"), header)
	m, err := Parse("test.ptx", src)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(m.Entry("k").Unsupported, "\n")
	for f, n := range map[string]int{"leaf": 0, "left": 0, "right": 0, "self": 1, "one": 1, "two": 1, "three": 1} {
		if strings.Count(got, "recursive call of "+f) != n {
			t.Errorf("recursive calls of %s, %d expected, in:\n%s", f, n, got)
		}
	}
}

// TestLanesReturnBeforeOthersGoOn: odd lanes call a function that calls another; at the barrier all are together again.
func TestLanesReturnBeforeOthersGoOn(t *testing.T) {
	src := header + `.func (.param .b32 out) more (.param .b32 x)
{
	.reg .b32 %r<3>;
	ld.param.b32 %r1, [x];
	add.s32 %r2, %r1, 100;
	st.param.b32 [out], %r2;
	ret;
}
.func (.param .b32 out) much (.param .b32 x)
{
	.reg .b32 %r<3>;
	{ .param .b32 a; .param .b32 r;
	ld.param.b32 %r1, [x];
	st.param.b32 [a], %r1;
	call (r), more, (a);
	ld.param.b32 %r2, [r]; }
	mul.lo.s32 %r2, %r2, 3;
	st.param.b32 [out], %r2;
	ret;
}
` + strings.TrimPrefix(kernel(`
	and.b32 %r2, %r0, 1;
	setp.eq.u32 %p1, %r2, 0;
	mov.b32 %r1, %r0;
	@%p1 bra L;
	{ .param .b32 a; .param .b32 r;
	st.param.b32 [a], %r0;
	call (r), much, (a);
	ld.param.b32 %r1, [r]; }
L:	bar.sync 0;
	st.global.u32 [%rd1], %r1;`), header)
	out, err := runText(t, src, 32, make([]byte, 128), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(32) {
		want := i
		if i%2 == 1 {
			want = 3 * (i + 100)
		}
		if got := readBytes(out, int(4*i), 4); got != want {
			t.Fatalf("thread %d: got %d, want %d", i, got, want)
		}
	}
}

func TestIndexedBranch(t *testing.T) {
	got := warpWords(t, `
	and.b32 %r2, %r0, 3;
	T: .branchtargets A, B, C, A;
	brx.idx %r2, T;
A:	mov.b32 %r1, 10; bra E;
B:	mov.b32 %r1, 20; bra E;
C:	mov.b32 %r1, 30;
E:`, func(int) uint32 { return 0 })
	for i, v := range got {
		if want := []uint32{10, 20, 30, 10}[i&3]; v != want {
			t.Fatalf("lane %d: got %d, want %d", i, v, want)
		}
	}
}

// TestRunsAreDeterministic: the same launch twice gives the same bytes and counters.
func TestRunsAreDeterministic(t *testing.T) {
	src := kernel("ld.global.f32 %f1, [%rd1]; atom.global.add.f32 %f2, [%rd0], %f1;")
	buf := make([]byte, 1024)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 256 {
		writeBytes(buf, 4*i, 4, fb(r.Float32()))
	}
	o := Options{Schedule: Random, Seed: 7, Checks: Checks{NoRaces: true}}
	a, err := runText(t, src, 256, bytes.Clone(buf), o)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := runText(t, src, 256, bytes.Clone(buf), o)
	if !bytes.Equal(a, b) {
		t.Fatal("two runs differ")
	}
}

// TestBlocksAreClusters: with the directive a grid counts clusters.
func TestBlocksAreClusters(t *testing.T) {
	text := strings.Replace(kernel(`
	mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x; mov.u32 %r3, %clusterid.x; mov.u32 %r4, %cluster_ctarank;
	mul.wide.u32 %rd3, %r1, 16; add.s64 %rd3, %rd3, %rd0;
	st.global.v4.u32 [%rd3], {%r1, %r2, %r3, %r4};`), "{\n", ".reqnctapercluster 2, 1, 1\n.blocksareclusters\n{\n", 1)
	out, err := runText(t, text, 1, make([]byte, 96), Options{Grid: [3]int{3, 1, 1}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		for k, want := range []int{i, 6, i / 2, i % 2} {
			if got := int(readBytes(out, 16*i+4*k, 4)); got != want {
				t.Errorf("CTA %d word %d: got %d, want %d", i, k, got, want)
			}
		}
	}
}
