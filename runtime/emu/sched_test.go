package emu

import (
	"encoding/binary"
	"slices"
	"testing"
)

// Every CTA takes a number from a counter: the order in which a schedule runs them. A later one never waits for an earlier one, so with Reverse no CTA
// runs before those behind it, however many are resident.
func TestSchedulesOrderCTAs(t *testing.T) {
	src := header + `.visible .entry k(.param .u64 p)
.reqntid 32
{
	.reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<4>;
	mov.u32 %r0, %tid.x;
	setp.ne.u32 %p0, %r0, 0;
	@%p0 bra DONE;
	ld.param.u64 %rd0, [p];
	atom.relaxed.gpu.global.add.u32 %r1, [%rd0], 1;
	mov.u32 %r2, %ctaid.x;
	mul.wide.u32 %rd1, %r2, 4;
	add.s64 %rd1, %rd0, %rd1;
	st.global.u32 [%rd1+4], %r1;
DONE:
	ret;
}
`
	m, err := Parse("test.ptx", src)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 3, 4, 8, 13} {
		for _, cluster := range []int{1, n} {
			if cluster > 8 {
				continue
			}
			for _, s := range []Schedule{RoundRobin, Reverse} {
				mem := NewMemory()
				a := mem.Alloc("buf", make([]byte, 4+4*n), 256)
				if _, err := m.Run(t.Context(), "k", mem, []Arg{le64(a)}, Options{Grid: [3]int{n, 1, 1}, Cluster: [3]int{cluster, 1, 1}, Schedule: s}); err != nil {
					t.Fatal(err)
				}
				var got, want []int
				for i := range n {
					got = append(got, int(binary.LittleEndian.Uint32(mem.Bytes(a)[4+4*i:])))
					want = append(want, i)
				}
				if s == Reverse {
					slices.Reverse(want)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%d CTAs in clusters of %d, %s: they began as %d, want %d", n, cluster, s, got, want)
				}
			}
		}
	}
}
