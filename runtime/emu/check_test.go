package emu

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// report runs a text and gives the report that it provokes, or nil.
func report(t *testing.T, src string, o Options) *Report {
	t.Helper()
	if o.Block == [3]int{} && !strings.Contains(src, ".reqntid") {
		o.Block = [3]int{64, 1, 1}
	}
	_, err := runText(t, src, 64, make([]byte, 256), o)
	if err == nil {
		return nil
	}
	var r *Report
	if !errors.As(err, &r) {
		t.Fatalf("not a report: %v", err)
	}
	return r
}

// sharedKernel begins a kernel with 1 KB of shared memory; %r1 is the address of the thread's word, %r2 that of
// its neighbour, 32 threads further.
func sharedKernel(body string) string {
	return kernel(`
	.shared .align 16 .b8 sm[1024];
	shl.b32 %r1, %r0, 2;
	xor.b32 %r2, %r1, 128;
	mov.u32 %r3, sm;
	add.s32 %r1, %r1, %r3;
	add.s32 %r2, %r2, %r3;
	mov.b64 %rd5, 0;
	` + body)
}

// TestEveryCheckReports provokes each kind of report by a small kernel of two warps, and shows that the
// corrected kernel beside it is silent.
func TestEveryCheckReports(t *testing.T) {
	for _, c := range []struct {
		name      string
		bad, good string
		kind      Kind
		msg       string
	}{
		{"load after the end",
			kernel("ld.global.u32 %r1, [%rd1+4];"), kernel("ld.global.u32 %r1, [%rd1];"),
			OutOfBounds, "0 bytes after the end of 'buf' (256 bytes"},
		{"load before the beginning",
			kernel("ld.global.u32 %r1, [%rd1-4];"), kernel("ld.global.u32 %r1, [%rd1];"),
			OutOfBounds, "4 bytes before 'buf'"},
		{"load below address 0",
			kernel("mov.b64 %rd3, -8; ld.global.u32 %r1, [%rd3];"), kernel("ld.global.u32 %r1, [%rd1];"),
			OutOfBounds, "4-byte load at 0xfffffffffffffff8: 139637976727560 bytes before 'buf'"},
		{"index of -1 that a product widens",
			kernel("mov.b32 %r1, -1; mad.wide.u32 %rd3, %r1, 64, %rd1; ld.global.u32 %r1, [%rd3];"),
			kernel("mov.b32 %r1, -1; mad.wide.s32 %rd3, %r1, 64, %rd1; mov.b32 %r1, 64; mad.wide.u32 %rd4, %r1, 1, %rd3; ld.global.u32 %r1, [%rd4];"),
			OutOfBounds, "makes the address from 4294967295, which is negative, -1, if it has a sign"},
		{"index of -2 that is widened long before the access",
			kernel("sub.s32 %r1, 5, 7; cvt.u64.u32 %rd3, %r1; shl.b64 %rd4, %rd3, 2; add.s64 %rd5, %rd4, %rd0; mov.b32 %r2, 3; mov.b32 %r3, 4; mov.b64 %rd6, 1; red.global.add.u32 [%rd5], %r2;"), kernel("mov.b32 %r2, 3; red.global.add.u32 [%rd0], %r2;"),
			OutOfBounds, "makes the address from 4294967294, which is negative, -2, if it has a sign"},
		{"load that sticks out",
			kernel("ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%rd0+248];"), kernel("ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%rd0+240];"),
			OutOfBounds, "the last 8 of 16 bytes lie after the end"},
		{"null pointer",
			kernel("mov.b64 %rd3, 0; st.global.u32 [%rd3], %r0;"), kernel("setp.eq.u32 %p1, %r0, 99; mov.b64 %rd3, 0; @%p1 st.global.u32 [%rd3], %r0;"),
			OutOfBounds, "4-byte store at 0x0: a null pointer"},
		{"field of a null pointer",
			kernel("mov.b64 %rd3, 0; ld.global.u32 %r1, [%rd3+24];"), kernel("ld.global.u32 %r1, [%rd0+24];"),
			OutOfBounds, "4-byte load at 0x18: 24 bytes after a null pointer"},
		{"shared memory out of bounds",
			sharedKernel("ld.shared.u32 %r4, [%r1+1024];"), sharedKernel("st.shared.u32 [%r1], %r0;"),
			OutOfBounds, "of shared memory (1024 bytes)"},
		{"misaligned global load",
			kernel("ld.global.u32 %r1, [%rd0+2];"), kernel("ld.global.u16 %h1, [%rd0+2];"),
			Misaligned, "4-byte load"},
		{"misaligned shared vector",
			sharedKernel("st.shared.v2.u32 [%r3+4], {%r0, %r0};"), sharedKernel("setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.v2.u32 [%r3+8], {%r0, %r0};"),
			Misaligned, "8-byte store"},
		{"undefined address",
			kernel("ld.global.u32 %r1, [%rd9];"), kernel("mov.b64 %rd9, %rd0; ld.global.u32 %r1, [%rd9];"),
			Undefined, "the address has undefined bits"},
		{"undefined guard",
			kernel("@%p1 st.global.u32 [%rd1], %r0;"), kernel("setp.eq.u32 %p1, %r0, 1; @%p1 st.global.u32 [%rd1], %r0;"),
			Undefined, "the guard"},
		{"undefined value stored",
			kernel("add.s32 %r4, %r5, 1; st.global.u32 [%rd1], %r4;"), kernel("add.s32 %r4, %r5, 1; and.b32 %r4, %r4, 0; st.global.u32 [%rd1], %r4;"),
			Undefined, "stored to 'buf' byte 0"},
		{"undefined half of a pair",
			kernel("mov.b16 %h1, 7; mov.b32 %r4, {%h1, %h2}; st.global.b32 [%rd1], %r4;"),
			kernel("mov.b16 %h1, 7; mov.b32 %r4, {%h1, %h2}; mov.b32 {%h3, %h4}, %r4; cvt.u32.u16 %r4, %h3; st.global.b32 [%rd1], %r4;"),
			Undefined, "0xffff0000"},
		{"undefined half of the bytes of a product",
			kernel("mov.b16 %h1, 7; mov.b32 %r4, {%h1, %h2}; dp2a.hi.u32.u32 %r4, %r0, %r4, %r0; st.global.b32 [%rd1], %r4;"),
			kernel("mov.b16 %h1, 7; mov.b32 %r4, {%h1, %h2}; dp2a.lo.u32.u32 %r4, %r0, %r4, %r0; st.global.b32 [%rd1], %r4;"),
			Undefined, "stored to 'buf' byte 0"},
		{"shared memory that was never written",
			sharedKernel("ld.shared.u32 %r4, [%r1]; st.global.u32 [%rd1], %r4;"), sharedKernel("st.shared.u32 [%r1], %r0; ld.shared.u32 %r4, [%r1]; st.global.u32 [%rd1], %r4;"),
			Undefined, "stored to 'buf'"},
		{"undefined barrier number",
			kernel("bar.sync %r9;"), kernel("mov.b32 %r9, 3; bar.sync %r9;"),
			Undefined, "the barrier number"},
		{"read of another warp's word without a barrier",
			sharedKernel("st.shared.u32 [%r1], %r0; ld.shared.u32 %r4, [%r2];"), sharedKernel("st.shared.u32 [%r1], %r0; bar.sync 0; ld.shared.u32 %r4, [%r2];"),
			Race, "is not ordered after the"},
		{"write after a read without a barrier",
			sharedKernel("st.shared.u32 [%r1], %r0; bar.sync 0; ld.shared.u32 %r4, [%r2]; st.shared.u32 [%r1], %r4;"),
			sharedKernel("st.shared.u32 [%r1], %r0; bar.sync 0; ld.shared.u32 %r4, [%r2]; bar.sync 0; st.shared.u32 [%r1], %r4;"),
			Race, "shared memory byte"},
		{"two threads write one word",
			kernel("st.global.u32 [%rd0], %r0;"), kernel("setp.eq.u32 %p1, %r0, 0; @%p1 st.global.u32 [%rd0], %r0;"),
			Race, "write of 'buf' byte 0 is not ordered after the write by warp 0 lane 0"},
		{"replicas write the same value",
			kernel("mov.b32 %r4, 9; st.global.u32 [%rd0], %r4;"), kernel("mov.b32 %r4, 9; setp.eq.u32 %p1, %r0, 0; @%p1 st.global.u32 [%rd0], %r4;"),
			SameValueRace, "write of 'buf' byte 0"},
		{"lanes exchange without bar.warp.sync",
			sharedKernel("xor.b32 %r4, %r1, 4; st.shared.u32 [%r1], %r0; ld.shared.u32 %r5, [%r4];"),
			sharedKernel("xor.b32 %r4, %r1, 4; st.shared.u32 [%r1], %r0; bar.warp.sync 0xffffffff; ld.shared.u32 %r5, [%r4];"),
			Race, "read of shared memory"},
		{"neighbouring bytes are no race, the same byte is",
			kernel("cvt.u64.u32 %rd3, %r0; shr.u64 %rd4, %rd3, 1; add.s64 %rd4, %rd4, %rd0; st.global.u8 [%rd4], %r0;"),
			kernel("cvt.u64.u32 %rd3, %r0; add.s64 %rd4, %rd3, %rd0; st.global.u8 [%rd4], %r0;"),
			Race, "'buf' byte 0"},
		{"weak read of a word that others change atomically",
			kernel("mov.b32 %r4, 1; red.global.add.u32 [%rd0], %r4; ld.global.u32 %r5, [%rd0];"),
			kernel("mov.b32 %r4, 1; red.global.add.u32 [%rd0], %r4; ld.relaxed.gpu.global.u32 %r5, [%rd0];"),
			Race, "read of 'buf' byte 0"},
		{"message without release and acquire",
			sharedKernel(messageText("st.relaxed.cta.shared.u32", "ld.relaxed.cta.shared.u32")), sharedKernel(messageText("st.release.cta.shared.u32", "ld.acquire.cta.shared.u32")),
			Race, "read of shared memory byte"},
		{"message with fences on one side only",
			sharedKernel(messageText("fence.acq_rel.cta; st.relaxed.cta.shared.u32", "ld.relaxed.cta.shared.u32")),
			sharedKernel(messageText("fence.acq_rel.cta; st.relaxed.cta.shared.u32", "ld.acquire.cta.shared.u32")),
			Race, "read of shared memory byte"},
		{"cp.async used before its wait",
			sharedKernel("cp.async.ca.shared.global [%r1], [%rd1], 4; ld.shared.u32 %r4, [%r1]; cp.async.wait_all;"),
			sharedKernel("cp.async.ca.shared.global [%r1], [%rd1], 4; cp.async.wait_all; ld.shared.u32 %r4, [%r1];"),
			AsyncPending, "cp.async of warp 0 lane 0"},
		{"source of a cp.async overwritten before its wait",
			sharedKernel("not.b32 %r4, %r0; cp.async.ca.shared.global [%r1], [%rd1], 4; st.global.u32 [%rd1], %r4; cp.async.wait_all;"),
			sharedKernel("cp.async.ca.shared.global [%r1], [%rd1], 4; cp.async.wait_all; st.global.u32 [%rd1], %r0;"),
			AsyncPending, "write of 'buf' byte 0, which is being read by the cp.async of warp 0 lane 0 of CTA (0,0,0) at line 19"},
		{"a warp exits instead of arriving at a barrier",
			kernel("setp.ge.u32 %p1, %r0, 32; @%p1 exit; bar.sync 0;"), kernel("bar.sync 0; setp.ge.u32 %p1, %r0, 32; @%p1 exit;"),
			Divergence, "barrier 0 completes without warp 1, which exited at line 11"},
		{"cp.async group not waited for",
			sharedKernel("cp.async.ca.shared.global [%r1], [%rd1], 4; cp.async.commit_group; cp.async.ca.shared.global [%r1+512], [%rd1], 4; cp.async.commit_group; cp.async.wait_group 1; ld.shared.u32 %r4, [%r1+512];"),
			sharedKernel("cp.async.ca.shared.global [%r1], [%rd1], 4; cp.async.commit_group; cp.async.ca.shared.global [%r1+512], [%rd1], 4; cp.async.commit_group; cp.async.wait_group 1; ld.shared.u32 %r4, [%r1]; cp.async.wait_all; st.global.u32 [%rd1], %r4;"),
			AsyncPending, "has not waited for it"},
		{"barrier that not all warps reach",
			kernel("setp.lt.u32 %p1, %r0, 32; @%p1 bar.sync 1, 64;"), kernel("bar.sync 1, 64;"),
			Deadlock, "no warp can run"},
		{"barrier by half a warp",
			kernel("setp.lt.u32 %p1, %r0, 16; @%p1 bra L; bra E; L: bar.sync 0; E:"), kernel("setp.lt.u32 %p1, %r0, 32; @%p1 bra L; bra E; L: bar.sync 1, 32; E:"),
			Divergence, "an aligned barrier is executed by lanes 0x0000ffff of 0xffffffff"},
		{"divergent bra.uni",
			kernel("setp.lt.u32 %p1, %r0, 16; @%p1 bra.uni L; L:"), kernel("setp.lt.u32 %p1, %r0, 32; @%p1 bra.uni L; L:"),
			Divergence, "bra.uni is taken by lanes"},
		{"wrong barrier count",
			kernel("bar.sync 0, 33;"), kernel("bar.sync 0, 64;"),
			Invalid, "thread count 33"},
		{"shuffle outside its mask",
			kernel("shfl.sync.idx.b32 %r1, %r0, 0, 31, 0xffff;"), kernel("shfl.sync.idx.b32 %r1, %r0, 0, 31, -1;"),
			Invalid, "does not name it"},
		{"matrix instruction by half a warp",
			kernel("mov.b32 %r1, 0; setp.lt.u32 %p1, %r0, 40; @%p1 movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1;"),
			kernel("mov.b32 %r1, 0; movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1;"),
			Divergence, "movmatrix is executed by lanes"},
		{"store to constant memory",
			header + ".const .align 4 .b32 c = 5;\n" + strings.TrimPrefix(kernel("mov.u64 %rd3, c; st.global.u32 [%rd3], %r0;"), header),
			header + ".const .align 4 .b32 c = 5;\n" + strings.TrimPrefix(kernel("ld.const.u32 %r4, [c]; st.global.u32 [%rd1], %r4;"), header),
			ReadOnly, "read-only memory 'c'"},
		{"non-coherent read of what the launch wrote",
			kernel("st.global.u32 [%rd1], %r0; ld.global.nc.u32 %r1, [%rd1];"), kernel("ld.global.nc.u32 %r1, [%rd1]; st.global.u32 [%rd1], %r1;"),
			Race, "non-coherent read of 'buf' byte 0"},
		{"mbarrier that nobody initialised",
			sharedKernel("mbarrier.arrive.shared::cta.b64 _, [%r3];"),
			sharedKernel("setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared::cta.b64 [%r3], 64; bar.sync 0; mbarrier.arrive.shared::cta.b64 _, [%r3];"),
			Invalid, "no mbarrier has been initialised"},
		{"cp.async of more bytes than there are",
			sharedKernel("mov.b32 %r6, 5; cp.async.ca.shared.global [%r1], [%rd1], 4, %r6;"),
			sharedKernel("mov.b32 %r6, 0; cp.async.ca.shared.global [%r1], [%rd1+4096], 4, %r6; cp.async.wait_all; ld.shared.u32 %r7, [%r1]; st.global.u32 [%rd1], %r7;"),
			Invalid, "source size 5"},
		{"trap", kernel("trap;"), kernel(""), Trap, "trap by lanes"},
		{"endless loop", kernel("L: bra L;"), kernel("setp.eq.u32 %p1, %r0, 99; L: @%p1 bra L;"), StepLimit, "more than"},
	} {
		o := Options{MaxSteps: 100000}
		r := report(t, c.bad, o)
		if r == nil {
			t.Errorf("%s: nothing was reported", c.name)
		} else if r.Kind != c.kind || !strings.Contains(r.Msg, c.msg) {
			t.Errorf("%s: got %v, want %v: ...%s...", c.name, r, c.kind, c.msg)
		}
		if r := report(t, c.good, o); r != nil {
			t.Errorf("%s: the corrected kernel reports %v", c.name, r)
		}
	}
}

// messageText: thread 32 waits for a flag that thread 0 sets behind its data, and reads the data.
func messageText(store, load string) string {
	return `
	mov.b32 %r10, 0;
	setp.eq.u32 %p1, %r0, 0;
	@%p1 st.shared.u32 [%r3+512], %r10;
	bar.sync 0;
	@%p1 bra SEND;
	setp.eq.u32 %p2, %r0, 32;
	@%p2 bra WAIT;
	bra DONE;
SEND:
	mov.b32 %r11, 42;
	st.shared.u32 [%r3+516], %r11;
	` + store + ` [%r3+512], %r11;
	bra DONE;
WAIT:
	` + load + ` %r12, [%r3+512];
	setp.ne.u32 %p3, %r12, 42;
	@%p3 bra WAIT;
	ld.shared.u32 %r13, [%r3+516];
	st.global.u32 [%rd0], %r13;
DONE:
	`
}

func TestFencesOrderAMessage(t *testing.T) {
	body := messageText("fence.acq_rel.cta; st.relaxed.cta.shared.u32", "ld.relaxed.cta.shared.u32")
	body = strings.Replace(body, "ld.shared.u32 %r13", "fence.acq_rel.cta; ld.shared.u32 %r13", 1)
	for _, s := range Schedules {
		if r := report(t, sharedKernel(body), Options{Schedule: s}); r != nil {
			t.Errorf("%v: %v", s, r)
		}
	}
}

// TestMisalignedAccessesRace: where alignment is not checked, an access may lie in two pages of shadow memory, and races in either.
func TestMisalignedAccessesRace(t *testing.T) {
	text := func(sync string) string {
		return kernel(`
	.shared .align 16 .b8 more[2048];
	mov.u32 %r3, more;
	setp.eq.u32 %p1, %r0, 0;
	setp.eq.u32 %p2, %r0, 32;
	@%p1 st.shared.u32 [%r3+1022], %r0;
	` + sync + `
	@%p2 atom.shared.add.u32 %r4, [%r3+1021], 1;
	`)
	}
	o := Options{Checks: Checks{NoAlignment: true, NoUndefined: true}}
	if r := report(t, text(""), o); r == nil || r.Kind != Race {
		t.Errorf("got %v, want a race", r)
	}
	if r := report(t, text("bar.sync 0;"), o); r != nil {
		t.Errorf("with a barrier: %v", r)
	}
}

func TestReportNamesItsPlace(t *testing.T) {
	r := report(t, kernel("ld.global.u32 %r1, [%rd1+128];"), Options{})
	if r == nil || r.Line != 11 || r.Warp != 1 || r.Lane != 0 || r.Instr != "ld.global.u32 %r1, [%rd1+128]" || r.Addr == 0 {
		t.Fatalf("got %+v", r)
	}
	text := r.Error()
	for _, want := range []string{"out of bounds: 4-byte load at 0x7f", "at line 11 of the PTX: ld.global.u32 %r1, [%rd1+128]", "in k, CTA (0,0,0), warp 1, lane 0"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not contain %q", text, want)
		}
	}
}

func TestDeadlockNamesEveryWarp(t *testing.T) {
	r := report(t, kernel("setp.lt.u32 %p1, %r0, 32; @%p1 bar.sync 1, 64;\n@!%p1 bar.sync 2, 64;"), Options{})
	if r == nil || r.Kind != Deadlock || len(r.Places) != 2 ||
		!strings.Contains(r.Places[0], "warp 0 lanes 0xffffffff waits at line 11: @%p1 bar.sync 1, 64") ||
		!strings.Contains(r.Places[1], "warp 1 lanes 0xffffffff waits at line 12: @!%p1 bar.sync 2, 64") {
		t.Fatalf("got %v", r)
	}
}

func TestNotesForPTXOfOthers(t *testing.T) {
	m, err := Parse("t", kernel("mov.b32 %r4, 9; st.global.u32 [%rd0], %r4; st.global.u32 [%rd0+4], %r0;"))
	if err != nil {
		t.Fatal(err)
	}
	mem := NewMemory()
	a := mem.Alloc("buf", make([]byte, 256), 256)
	res, err := m.Run(t.Context(), "k", mem, []Arg{le64(a)}, Options{Block: [3]int{32, 1, 1}, Foreign: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Notes) != 2 || res.Notes[0].Kind != SameValueRace || res.Notes[0].Count != 31 || res.Notes[1].Kind != Race || res.Notes[1].Count != 31 {
		t.Fatalf("got %v", res.Notes)
	}
	if _, err = m.Run(t.Context(), "k", mem, []Arg{le64(a)}, Options{Block: [3]int{64, 1, 1}, Foreign: true}); err == nil {
		t.Fatal("a race between warps must stay an error")
	}
}

// TestReadsThatNothingUses: in PTX of others, a race of a read is a note as long as no thread that made it uses what it read, before or after the write.
func TestReadsThatNothingUses(t *testing.T) {
	const load, one = "ld.global.u32 %r1, [%rd0]; add.s32 %r4, %r1, 9; setp.eq.u32 %p1, %r0, 0;\n", "@%p1 st.global.u32 [%rd0], %r4;\n"
	const others = "setp.ne.u32 %p2, %r0, 0;\n"
	for _, c := range []struct {
		name, body string
		used       bool
	}{
		{"copies of a tile", load + one, false},
		{"as a choice between values", load + "setp.gt.s32 %p2, %r1, 5; selp.b32 %r4, 5, %r4, %p2;" + one, false},
		{"the register holds something else", load + one + others + "mov.b32 %r1, 7; @%p2 st.global.u32 [%rd1], %r1;", false},
		{"it may hold something else", load + one + others + "@%p1 mov.b32 %r1, 7; @%p2 st.global.u32 [%rd1], %r1;", true},
		{"stored", load + one + others + "@%p2 st.global.u32 [%rd1], %r1;", true},
		{"stored before", load + others + "@%p2 st.global.u32 [%rd1], %r1; bar.warp.sync -1;" + one, true},
		{"stored by half of a warp", load + one + "setp.gt.u32 %p2, %r0, 47; @%p2 st.global.u32 [%rd1], %r4;", true},
		{"stored in a later round", load + "mov.b32 %r5, 0; bra L; M: " + one + others + "@%p2 st.global.u32 [%rd1], %r6; bra X; L: mov.b32 %r6, %r1; bra M; X:", true},
		{"a branch", load + one + "setp.gt.s32 %p2, %r1, 5; @%p2 bra L; L:", true},
		{"an address", load + one + "and.b32 %r1, %r1, 4; cvt.u64.u32 %rd3, %r1; add.s64 %rd3, %rd3, %rd0; ld.global.u32 %r5, [%rd3+64];", true},
		{"another lane", load + one + "shfl.sync.idx.b32 %r5, %r1, 0, 31, -1;", true},
		{"atomic", "mov.b32 %r1, 1; atom.global.add.u32 %r4, [%rd0], %r1; setp.eq.u32 %p1, %r0, 0;" + one, true},
		{"a used read before one that is not", load + "mov.b32 %r5, %r1; ld.global.u32 %r6, [%rd0];" + one + others + "@%p2 st.global.u32 [%rd1], %r5;", true},
		{"a used read, stored before one that is not", load + others + "@%p2 st.global.u32 [%rd1], %r1; bar.warp.sync -1; ld.global.u32 %r6, [%rd0];" + one, true},
		{"a used read of half of a warp before one of the others", load + "setp.lt.u32 %p3, %r0, 48; @!%p3 bra L; ld.global.u32 %r6, [%rd0+400];" + others +
			"@%p2 st.global.u32 [%rd1], %r6; L: setp.ge.u32 %p3, %r0, 48; @%p3 ld.global.u32 %r6, [%rd0+400]; @%p1 st.global.u32 [%rd0+400], %r4;", true},
		{"a used read of a warp that another one stands for", "setp.gt.u32 %p4, %r0, 63; setp.lt.u32 %p5, %r0, 32; @%p5 bra W; @%p4 bra B;" +
			"ld.global.u32 %r6, [%rd0]; st.global.u32 [%rd1], %r6; bar.sync 1, 64; ret; B: bar.sync 1, 64; ld.global.u32 %r7, [%rd0]; ret;" +
			"W: mov.b32 %r4, 0; S: add.s32 %r4, %r4, 1; setp.lt.s32 %p6, %r4, 9000; @%p6 bra S; setp.eq.u32 %p1, %r0, 0; " + one, true},
		{"another block", "mov.u32 %r2, %ctaid.x; setp.ne.u32 %p2, %r2, 0; @%p2 mov.b32 %r0, 1;" + load + one, true},
	} {
		m, err := Parse("t", kernel(c.body))
		if err != nil {
			t.Fatal(c.name, err)
		}
		blocks, threads := 1, 64
		if c.name == "another block" {
			blocks = 2
		}
		if strings.Contains(c.body, "bar.sync 1, 64") {
			threads = 96
		}
		for _, s := range Schedules {
			mem := NewMemory()
			a := mem.Alloc("buf", make([]byte, 512), 256)
			res, err := m.Run(t.Context(), "k", mem, []Arg{le64(a)}, Options{Grid: [3]int{blocks, 1, 1}, Block: [3]int{threads, 1, 1}, Foreign: true, Schedule: s})
			var r *Report
			switch {
			case c.used && (!errors.As(err, &r) || r.Kind != Race):
				t.Errorf("%s, %v: %v, want a race", c.name, s, err)
			case !c.used && (err != nil || !strings.HasSuffix(res.Notes[len(res.Notes)-1].Msg, "nothing uses what was read")):
				t.Errorf("%s, %v: %v", c.name, s, err)
			}
		}
	}
}

// TestBlocksMayStoreTheSame: every block of the source stores one value to one place, which is its own
// affair; different values are a race.
func TestBlocksMayStoreTheSame(t *testing.T) {
	same := kernel("mov.b32 %r4, 9; setp.eq.u32 %p1, %r0, 0; @%p1 st.global.u32 [%rd0], %r4;")
	if r := report(t, same, Options{Grid: [3]int{2, 1, 1}}); r != nil {
		t.Error(r)
	}
	differ := kernel("mov.u32 %r4, %ctaid.x; setp.eq.u32 %p1, %r0, 0; @%p1 st.global.u32 [%rd0], %r4;")
	if r := report(t, differ, Options{Grid: [3]int{2, 1, 1}}); r == nil || r.Kind != Race {
		t.Errorf("got %v", r)
	}
}

func TestBadLaunchesAreRefused(t *testing.T) {
	m, err := Parse("t", strings.Replace(kernel(""), "{", ".reqntid 64\n{", 1)+".entry wide(.param .u64 p) { ret; }")
	if err != nil {
		t.Fatal(err)
	}
	mem := NewMemory()
	for _, c := range []struct {
		entry string
		args  []Arg
		o     Options
		want  string
	}{
		{"nosuch", nil, Options{}, "no entry 'nosuch'"},
		{"k", nil, Options{}, "k has 1 parameters, 0 given"},
		{"k", []Arg{{1}}, Options{}, "parameter 0 (p) has 8 bytes, 1 given"},
		{"k", []Arg{le64(0)}, Options{Block: [3]int{32, 1, 1}}, ".reqntid"},
		{"k", []Arg{le64(0)}, Options{Grid: [3]int{-1, 1, 1}}, "bad launch"},
		{"k", []Arg{le64(0)}, Options{Grid: [3]int{1 << 22, 8, 1}}, "more than 16777215 CTAs"},
		{"k", []Arg{le64(0)}, Options{Grid: [3]int{1, 65536, 1}}, "y and z have at most 65535 CTAs"},
		{"k", []Arg{le64(0)}, Options{Grid: [3]int{1, 1, 65536}}, "y and z have at most 65535 CTAs"},
		{"k", []Arg{le64(0)}, Options{Grid: [3]int{1 << 23, 1, 1}}, "8388608 CTAs of 64 threads, the emulator runs at most 8388607 of that size"},
		{"wide", []Arg{le64(0)}, Options{Block: [3]int{64, 32, 1}}, "2048 threads a block, a block has at most 1024"},
		{"k", []Arg{le64(0)}, Options{DynShared: 1 << 20}, "bytes of shared memory"},
		{"k", []Arg{le64(0)}, Options{DynShared: -1}, "-1 bytes of dynamic shared memory"},
	} {
		if _, err := m.Run(t.Context(), c.entry, mem, c.args, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// A launch that does not say its block has that of .reqntid; a bound is none.
func TestALaunchSaysItsBlock(t *testing.T) {
	for directive, want := range map[string]string{".reqntid 32": "", ".maxntid 32": "k has no .reqntid", "": "k has no .reqntid"} {
		m, err := Parse("t", strings.Replace(kernel("st.global.u32 [%rd1], 7;"), "{", directive+"\n{", 1))
		if err != nil {
			t.Fatal(err)
		}
		mem := NewMemory()
		a := mem.Alloc("buf", make([]byte, 128), 256)
		_, err = m.Run(t.Context(), "k", mem, []Arg{le64(a)}, Options{})
		if said := fmt.Sprint(err); (err != nil) != (want != "") || !strings.Contains(said, want) || err == nil && readBytes(mem.Bytes(a), 124, 4) != 7 {
			t.Errorf("%q: %s, want %q", directive, said, want)
		}
	}
}

// The product of .maxntid bounds the threads of a CTA, not their shape.
func TestMaxNTIDBoundsTheThreads(t *testing.T) {
	for _, c := range []struct {
		most  string
		block [3]int
		want  string
	}{
		{"64", [3]int{64, 1, 1}, ""},
		{"64", [3]int{2, 4, 8}, ""},
		{"8, 4, 2", [3]int{64, 1, 1}, ""},
		{"2147483648, 2147483648, 4", [3]int{1024, 1, 1}, ""},
		{"64", [3]int{256, 1, 1}, "256 threads a block, but k has .maxntid [64 1 1]: at most 64"},
		{"8, 4, 2", [3]int{5, 13, 1}, "65 threads a block, but k has .maxntid [8 4 2]: at most 64"},
	} {
		_, err := runText(t, strings.Replace(kernel(""), "{", ".maxntid "+c.most+"\n{", 1), 0, make([]byte, 8), Options{Block: c.block})
		if said := fmt.Sprint(err); (err != nil) != (c.want != "") || !strings.Contains(said, c.want) {
			t.Errorf(".maxntid %s, block %v: %s, want %q", c.most, c.block, said, c.want)
		}
	}
}

// Shared memory has the size that it has on the GPU of .target.
func TestSharedMemoryOfTheTarget(t *testing.T) {
	for _, c := range []struct {
		target        string
		static, extra int
		want          string
	}{
		{"sm_75", 64 << 10, 0, ""},
		{"sm_75", 100000, 0, "100000 bytes of shared memory, a CTA on sm_75 has at most 65536"},
		{"sm_86", 99 << 10, 0, ""},
		{"sm_86", 99<<10 + 16, 0, "at most 101376"},
		{"sm_80", 1024, 162 << 10, ""},
		{"sm_80", 1024, 162<<10 + 16, "at most 166912"},
		{"sm_90a", 227 << 10, 0, ""},
		{"sm_100f", 227<<10 + 16, 0, "a CTA on sm_100f has at most 232448"},
		{"sm_107f", 327 << 10, 0, ""},
		{"sm_200", 16, 0, "the emulator does not know the shared memory of sm_200"},
	} {
		src := kernel(fmt.Sprintf(".shared .align 16 .b8 sm[%d]; mov.b32 %%r1, sm;", c.static))
		if c.extra > 0 {
			src = strings.Replace(src, ".visible", ".extern .shared .align 16 .b8 more[];\n.visible", 1)
			src = strings.Replace(src, "mov.b32 %r1, sm;", "mov.b32 %r1, sm; mov.b32 %r1, more;", 1)
		}
		_, err := runText(t, strings.Replace(src, "sm_80", c.target, 1), 32, make([]byte, 128), Options{DynShared: c.extra})
		if said := fmt.Sprint(err); (err != nil) != (c.want != "") || !strings.Contains(said, c.want) {
			t.Errorf("%s, %d and %d bytes: %s, want %q", c.target, c.static, c.extra, said, c.want)
		}
	}
}
