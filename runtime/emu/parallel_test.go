package emu

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// piece is what a launch leaves: memory, and counters with notes or a report.
type piece struct {
	memory []byte
	result *Result
	report *Report
	parts  int
}

// inPieces runs 16 CTAs of a text with some workers.
func inPieces(t *testing.T, src string, workers int, o Options) piece {
	t.Helper()
	m, err := Parse("test.ptx", src)
	if err != nil {
		t.Fatal(err)
	}
	mem := NewMemory()
	buf := make([]byte, 4096)
	for i := range buf {
		buf[i] = byte(i * 7)
	}
	a := mem.Alloc("buf", buf, 256)
	o.Workers, o.Grid, o.Block = workers, [3]int{16, 1, 1}, [3]int{64, 1, 1}
	l, err := newLaunch(m.Entry("k"), mem, []Arg{le64(a)}, o)
	if err != nil {
		t.Fatal(err)
	}
	p := piece{parts: l.partCount()}
	p.result, err = m.Run(t.Context(), "k", mem, []Arg{le64(a)}, o)
	if err != nil && !errors.As(err, &p.report) {
		t.Fatal(err)
	}
	p.memory = mem.Bytes(a)
	return p
}

// A launch in parts leaves and tells what a launch in one piece leaves and tells: of kernels that do nothing wrong, of kernels that race, within a CTA
// or between CTAs, in granules of any size, of faults, of notes, and of kernels whose CTAs speak to each other.
func TestPartsCannotBeSeen(t *testing.T) {
	const own = "mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd3, %r1, 256; add.s64 %rd4, %rd1, %rd3; mul.wide.u32 %rd5, %r1, 16; add.s64 %rd5, %rd0, %rd5;"
	for _, c := range []struct {
		name, body string
		parts      int    // of 4 workers
		says       string // of the report; "" is none
	}{
		{"blocks of their own", own + "ld.global.u32 %r2, [%rd4]; add.s32 %r2, %r2, 1; st.global.u32 [%rd4], %r2;", 4, ""},
		{"a common input", own + "ld.global.u32 %r2, [%rd0]; setp.eq.u32 %p1, %r1, 0; @%p1 bra DONE; st.global.u32 [%rd4], %r2; DONE:", 4, ""},
		{"all write one word", own + "st.global.u32 [%rd1], %r1;", 4, "write of 'buf' byte 0 is not ordered after the write by warp 0 lane 0 of CTA (0,0,0)"},
		{"equal values", own + "mov.u32 %r2, 5; st.global.u32 [%rd1], %r2;", 4, ""},
		{"a wide write and a narrow read", own + "setp.ne.u32 %p1, %r0, 0; @%p1 bra DONE; setp.eq.u32 %p1, %r1, 2; @%p1 ld.global.u8 %r2, [%rd0+19]; @!%p1 st.global.v4.u32 [%rd5], {%r1,%r1,%r1,%r1}; DONE:", 4, "'buf' byte 19"},
		{"neighbours", own + "setp.ne.u32 %p1, %r0, 0; @%p1 bra DONE; add.s64 %rd6, %rd0, 100; cvt.u64.u32 %rd7, %r1; add.s64 %rd6, %rd6, %rd7; st.global.u8 [%rd6], %r1; DONE:", 4, ""},
		{"beyond the end in one block", own + "setp.ne.u32 %p1, %r1, 3; @%p1 bra MINE; add.s64 %rd4, %rd4, 4096; MINE: st.global.u32 [%rd4], %r1;", 4, "after the end of 'buf'"},
		{"two in one block and another elsewhere", own + "setp.ne.u32 %p1, %r1, 2; @%p1 bra MINE; mov.u64 %rd4, %rd5; MINE: st.global.u32 [%rd4], %r0;", 4, "race: write"},
		{"an atomic", own + "mov.u32 %r2, 1; red.global.add.u32 [%rd0], %r2;", 1, ""},
		{"a strong store", own + "st.relaxed.gpu.global.u32 [%rd0], %r1;", 1, ""},
		{"a clock", own + "mov.u32 %r2, %clock; st.global.u32 [%rd4], %r2;", 1, ""},
		{"an atomic in shared memory", ".shared .align 4 .b8 sm[4]; mov.u32 %r3, sm; setp.eq.u32 %p2, %r0, 0; mov.u32 %r2, 0; @%p2 st.shared.u32 [%r3], %r2; bar.sync 0;" +
			own + "mov.u32 %r2, 1; red.shared.add.u32 [%r3], %r2; bar.sync 0; ld.shared.u32 %r2, [%r3]; st.global.u32 [%rd4], %r2;", 4, ""},
	} {
		src := kernel(strings.ReplaceAll(c.body, "; ", ";\n"))
		want := inPieces(t, src, 1, Options{})
		for range 3 {
			got := inPieces(t, src, 4, Options{})
			if got.parts != c.parts || want.parts != 1 {
				t.Errorf("%s: %d parts, want %d", c.name, got.parts, c.parts)
			}
			if !bytes.Equal(got.memory, want.memory) {
				t.Errorf("%s: other memory", c.name)
			}
			if !reflect.DeepEqual(got.report, want.report) || !reflect.DeepEqual(got.result, want.result) {
				t.Errorf("%s: %v, %v; in one piece %v, %v", c.name, got.result, got.report, want.result, want.report)
			}
		}
		if said := fmt.Sprint(want.report); (want.report != nil) != (c.says != "") || !strings.Contains(said, c.says) {
			t.Errorf("%s: got %s, want %q", c.name, said, c.says)
		}
	}
}
