package emu

import (
	"bytes"
	"errors"
	"testing"
)

// Memory that the caller maps begins anywhere: what is aligned is the address. Bytes of shadow memory lie in pages of addresses, whatever the size of
// the accesses before.
func TestMappedAlignment(t *testing.T) {
	const four, first = "ld.global.v4.u32 {%r1,%r2,%r3,%r4}, ", "ld.global.u32 %r1, [%rd0]; "
	for _, c := range []struct {
		base       uint64
		body       string
		misaligned bool
	}{
		{0x10004, four + "[%rd0];", true},
		{0x10004, first + four + "[%rd0];", true},
		{0x10004, four + "[%rd0+12];", false},
		{0x10004, first + four + "[%rd0+12];", false},
		{0x10004, first + four + "[%rd0+1020];", false},
		{0x10004, first + "st.global.v4.u32 [%rd0+1020], {%r0,%r0,%r0,%r0};", false},
		{0x10004, "atom.global.add.u64 %rd3, [%rd0+4], 1;", false},
		{0x10004, "atom.global.add.u64 %rd3, [%rd0], 1;", true},
		{0x10001, "ld.global.u32 %r1, [%rd0];", true},
		{0x10001, "ld.global.u8 %r1, [%rd0]; ld.global.u16 %h1, [%rd0+1023];", false},
		{0x103ff, "st.global.u8 [%rd0], %r0; st.global.u64 [%rd0+1], %rd2; st.global.v4.u64 [%rd0+1025], {%rd2,%rd2,%rd2,%rd2};", false},
		{0x10004, ".shared .align 16 .b8 sm[16]; cp.async.cg.shared.global [sm], [%rd0+1020], 16; cp.async.wait_all;", false},
		{0x10004, ".shared .align 16 .b8 sm[16]; cp.async.cg.shared.global [sm], [%rd0], 16; cp.async.wait_all;", true},
		{0x10404, "ld.global.u8 %r1, [%rd0+4091];", false},
	} {
		m, err := Parse("test.ptx", kernel(c.body))
		if err != nil {
			t.Fatal(err)
		}
		mem := NewHostMemory()
		if err := mem.Map([]Mapping{{Name: "x", Address: c.base, Data: make([]byte, 4092)}}); err != nil {
			t.Fatal(err)
		}
		_, err = m.Run(t.Context(), "k", mem, []Arg{le64(c.base)}, Options{Block: [3]int{1, 1, 1}})
		var r *Report
		if errors.As(err, &r) && r.Kind == Misaligned != c.misaligned || (err != nil) != c.misaligned {
			t.Errorf("at %#x, %s: %v", c.base, c.body, err)
		}
	}
}

// Parts of a launch that race are undone in the pages where they wrote, and accesses of different sizes at a boundary of pages meet.
func TestMappedParts(t *testing.T) {
	for _, body := range []string{
		"mov.u32 %r1, %ctaid.x; add.s32 %r1, %r1, 1; st.global.u8 [%rd0+1023], %r1;",
		"mov.u32 %r1, %ctaid.x; add.s32 %r1, %r1, 1; mul.wide.u32 %rd3, %r1, 1020; add.s64 %rd3, %rd3, %rd0; st.global.u32 [%rd3+1020], %r1; st.global.u8 [%rd0], %r1;",
	} {
		m, err := Parse("test.ptx", kernel(body))
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		var left [][]byte
		for _, workers := range []int{1, 4} {
			mem, data := NewHostMemory(), make([]byte, 8000)
			if err := mem.Map([]Mapping{{Name: "x", Address: 0x10004, Data: data, Undef: true}}); err != nil {
				t.Fatal(err)
			}
			_, err := m.Run(t.Context(), "k", mem, []Arg{le64(0x10004)}, Options{Grid: [3]int{4, 1, 1}, Block: [3]int{1, 1, 1}, Workers: workers})
			var r *Report
			if !errors.As(err, &r) || r.Kind != Race {
				t.Fatalf("%s: %v", body, err)
			}
			said, left = append(said, r.Error()), append(left, data)
		}
		if said[0] != said[1] || !bytes.Equal(left[0], left[1]) {
			t.Errorf("%s: in parts %s, in one piece %s", body, said[1], said[0])
		}
	}
}
