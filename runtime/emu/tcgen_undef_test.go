package emu

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestUndefinedTensorMemory: undefined bits go through stores and products, and are reported where they reach global memory.
func TestUndefinedTensorMemory(t *testing.T) {
	c := productCase{kind: "f16", a: "f16", b: "f16", d: "f32", m: 128, n: 32, steps: 1, swB: 128, aTmem: true}
	ones := make([][]uint64, 32)
	for i := range ones {
		ones[i] = make([]uint64, 64)
	}
	smem, desc, step := tileOf(ones, 16, 128, false, false, "f16")
	product := c.part(0, desc, 8, step)
	lane7 := "setp.ne.u32 %p9, %r1, 7;\n@%p9 mov.b32 %q0, 0;\n"
	for _, x := range []struct {
		name, all, part string
		lane, byteAt    int
	}{
		{"a stored register", lane7 + "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r9 + 5], {%q0};\ntcgen05.wait::st.sync.aligned;", "", 7, 7*2048 + 20},
		{"a row of A makes the row of D", lane7 + fmt.Sprintf("tcgen05.st.sync.aligned.32x32b.x1.b32 [%%r9 + %d], {%%q0};\ntcgen05.wait::st.sync.aligned;", colA+3), product, 7, 7 * 2048},
		{"the upper half of an f16", "", strings.Replace(product, "0x8080010", "0x8080000", 1), 0, 0},
		{"unpacking", "mov.b32 %q0, 0; tcgen05.st.sync.aligned.32x32b.x1.unpack::16b.b32 [%r9 + 9], {%q0};\ntcgen05.wait::st.sync.aligned;", "", 0, 36},
	} {
		_, _, err := runTcgen(t, smem, new(tmemImage), x.all, x.part, Options{})
		r, ok := err.(*Report)
		if !ok || r.Kind != Undefined || r.Lane != x.lane || !strings.Contains(r.Msg, fmt.Sprintf("'out' byte %d", x.byteAt)) {
			t.Errorf("%s: got %v, want lane %d byte %d", x.name, err, x.lane, x.byteAt)
		}
	}
	if _, _, err := runTcgen(t, smem, new(tmemImage), "", product, Options{}); err != nil {
		t.Errorf("all is defined: %v", err)
	}
}

// TestAnyTcgen05IsDecodedOrRefused: instructions at random are malformed, or end in a result or a report.
func TestAnyTcgen05IsDecodedOrRefused(t *testing.T) {
	verbs := strings.Fields("alloc dealloc relinquish_alloc_permit mma ld st wait::ld wait::st cp shift commit fence::before_thread_sync")
	mods := strings.Fields(`cta_group::1 cta_group::1 cta_group::1 cta_group::2 sync aligned sync.aligned shared::cta b32 b64 kind::f16 kind::i8 kind::tf32 kind::f8f6f4
		kind::mxf4 kind::mxf4nvf4 block_scale block16 scale_vec::1X ws 32x32b 16x64b 16x256b 16x32bx2 x1 x2 x128 pack::16b unpack::16b 128x256b
		32x128b warpx4 b8x16 b4x16_p64 down mbarrier::arrive::one shared::cluster multicast::cluster collector::a::fill`)
	operands := strings.Fields("[%r5] [%r9] [%r3] [%r9+600] [%rd1] %r5 %rd1 %r1 32 5 -1 %p1 !%p1 {%q0} {%q0,%q1} {%q0,%q1,%q2,%q3} [%r5+70000]")
	r := rand.New(rand.NewPCG(2, 3))
	pick := func(l []string) string { return l[r.IntN(len(l))] }
	ran := 0
	for range 1000 {
		text := "tcgen05." + pick(verbs)
		for range r.IntN(5) {
			text += "." + pick(mods)
		}
		var args []string
		for range r.IntN(8) {
			args = append(args, pick(operands))
		}
		text += " " + strings.Join(args, ", ") + ";\n"
		m, err := Parse("t", strings.Replace(tcgenText(16, "mov.b32 %q0, 0; mov.b32 %q1, 1; mov.b32 %q2, 2; mov.b32 %q3, 3;\n"+text, ""), "setp.lt.u32 %p4, %r11, 512;", "setp.lt.u32 %p4, %r11, 8;", 2))
		var malformed *SyntaxError
		if errors.As(err, &malformed) {
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if m.Entry("k").Unsupported != nil {
			continue
		}
		ran++
		mem := NewMemory()
		var args8 []Arg
		for range 4 {
			args8 = append(args8, le64(mem.Alloc("x", make([]byte, 4*tmemLanes*tmemColumns), 256)))
		}
		m.Run(t.Context(), "k", mem, args8, Options{MaxSteps: 20000})
	}
	if ran < 25 {
		t.Errorf("only %d were ever decoded, the test is too weak", ran)
	}
}
