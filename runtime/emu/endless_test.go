package emu

import (
	"strings"
	"testing"
)

// Loops that no branch will leave are reported soon, others are not, however long they run. Each kernel begins with %r1 = 0, %r2 = 0 (a step),
// %r3 = 4.
func TestEndlessLoopsAreReported(t *testing.T) {
	const start = "mov.b32 %r1, 0; mov.b32 %r2, 0; mov.b32 %r3, 4; mov.b32 %f1, 0f00000000; mov.b32 %f2, 0f3F800000; mov.b32 %r5, 0; mov.b32 %r6, 0;\n"
	const step = "add.s32 %r1, %r1, %r2; setp.lt.s32 %p1, %r1, %r3; @%p1 bra L;"
	for _, c := range []struct {
		name, body string
		kind       Kind
	}{
		{"a step of 0 beside a sum that changes", "L: add.rn.f32 %f1, %f1, %f2;" + step + "st.global.f32 [%rd1], %f1;", Endless},
		{"a step of 0 beside a store", "L: add.rn.f32 %f1, %f1, %f2; st.global.f32 [%rd1], %f1;" + step, Endless},
		{"a step of 0 that memory gave", "st.global.u32 [%rd1], %r2; ld.global.u32 %r2, [%rd1];\nL:" + step, Endless},
		{"an endless loop around one that ends", "L: mov.b32 %r4, 0;\nM: add.s32 %r4, %r4, 1; setp.lt.s32 %p2, %r4, 20; @%p2 bra M;" + step, Endless},
		{"rounds that take turns", "L: xor.b32 %r5, %r5, 1; and.b32 %r5, %r5, 1; setp.eq.s32 %p2, %r5, 0; @%p2 bra M; add.s32 %r6, %r6, 1;\nM:" + step, Endless},
		{"branches of single lanes", "L: setp.lt.u32 %p2, %r0, 7; @%p2 bra M; add.rn.f32 %f1, %f1, %f2;\nM:" + step, Endless},
		{"a loop without a condition", "L: add.s32 %r1, %r1, 1; bra L;", Endless},
		{"lanes that do not exit with others", "setp.lt.u32 %p2, %r0, 7; @%p2 exit;\nL:" + step, Endless},
		{"a step of 0 behind a guard", "mov.b32 %r4, 0; setp.gt.s32 %p3, %r3, 0;\nL: @!%p3 add.s32 %r4, %r4, 1; setp.lt.s32 %p1, %r4, %r3; @%p1 bra L;", Endless},

		{"a long loop", "mov.b32 %r2, 1; mov.b32 %r3, 1000000;\nL:" + step, -1},
		{"a count that only a guard changes", "mov.b32 %r2, 1; mov.b32 %r4, 0; mov.b32 %r3, 400;" +
			"\nL: add.s32 %r4, %r4, 1; setp.eq.s32 %p2, %r4, 1000; @%p2 add.s32 %r1, %r1, 1; @%p2 mov.b32 %r4, 0; setp.lt.s32 %p1, %r1, %r3; @%p1 bra L;", -1},
		{"a trap that a count reaches", "mov.b32 %r4, 0;\nL: add.s32 %r4, %r4, 1; setp.eq.s32 %p2, %r4, 1000000; @%p2 trap;" + step, Trap},
		{"a count in memory", "mov.b32 %r3, 200000; st.global.u32 [%rd1], %r2;" +
			"\nL: ld.global.u32 %r1, [%rd1]; add.s32 %r1, %r1, 1; st.global.u32 [%rd1], %r1; setp.lt.s32 %p1, %r1, %r3; @%p1 bra L;", -1},
		{"a count of which another lane tells", "mov.b32 %r2, 1; mov.b32 %r3, 300000; mov.b32 %r4, 0;" +
			"\nL: add.s32 %r4, %r4, 1; shfl.sync.idx.b32 %r1, %r4, 3, 31, 0xffffffff; setp.lt.s32 %p1, %r1, %r3; @%p1 bra L;", -1},
		{"the time", "L: mov.u32 %r1, %clock; setp.lt.u32 %p1, %r1, 20000000; @%p1 bra L;", -1},
	} {
		r := report(t, kernel(start+c.body), Options{MaxSteps: 1 << 24})
		switch {
		case r == nil && c.kind >= 0:
			t.Errorf("%s: no report", c.name)
		case r != nil && r.Kind != c.kind:
			t.Errorf("%s: %v", c.name, r)
		case c.kind == Endless && (!strings.Contains(r.Instr, "bra") || r.Line == 0):
			t.Errorf("%s: not at a branch: %v", c.name, r)
		}
	}
}
