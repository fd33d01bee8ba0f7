package emu

import (
	"errors"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"
)

// TestAnyInstructionIsDecodedOrRefused builds instructions at random from the table: known opcodes with
// modifiers, types and operands that fit more or less. Whatever they are, the text is malformed, or running it
// ends in a result or a report.
func TestAnyInstructionIsDecodedOrRefused(t *testing.T) {
	mods := strings.Fields(`sync aligned rn rz rm ftz sat relu satfinite approx full lo hi wide cc shared global
		local param const v2 v4 relaxed gpu cta acquire release add min cas exch inc m8n8 x1 x4 trans m16n8k16 row
		col up idx bfly all any ballot eq lt nan and or xor warp arrive red popc ca cg async commit_group wait_group
		mbarrier noinc to pack rni rzi NaN xorsign abs wrap l r clamp f4e uni init parity test_wait expect_tx proxy sc`)
	operands := strings.Fields(`%r1 %r2 %r3 %rd1 %rd0 %h1 %h2 %f1 %f2 %d1 %p1 %p2 !%p1 5 -1 0f3F800000 [%rd0]
		[%rd1+4] [%r1] {%r1,%r2} {%r1,%r2,%r3,%r4} {%h1,%h2} %r1|%p1 _ buf [p] %tid.x (%r1) {%f1,%f2,%f3,%f4} [5] L %p1|%p2`)
	registers := map[int]string{1: "%p1 %p2", 16: "%h1 %h2", 32: "%r1 %r2 %r3", 64: "%rd0 %rd1"}
	r := rand.New(rand.NewPCG(1, 1))
	pick := func(l []string) string { return l[r.IntN(len(l))] }
	supported := map[string]bool{}
	for range 20000 {
		f := families[r.IntN(len(families))]
		text := f.op
		for range r.IntN(4) {
			text += "." + pick(mods)
		}
		if ts := strings.Fields(f.types); len(ts) > 0 && ts[0] != anyType {
			text += "." + pick(ts)
		}
		kind := types[text[strings.LastIndexByte(text, '.')+1:]]
		var args []string
		for range f.min + r.IntN(f.max-f.min+1) {
			if likely := registers[kind.width()]; likely != "" && r.IntN(3) > 0 {
				args = append(args, pick(strings.Fields(likely)))
			} else {
				args = append(args, pick(operands))
			}
		}
		text += " " + strings.Join(args, ", ") + ";"
		m, err := Parse("t", kernel(`.shared .align 16 .b8 buf[256];
	mov.b32 %r1, 64; mov.b32 %r2, 3; mov.b32 %r3, 7; mov.b32 %f1, 0f3F800000; mov.b32 %f2, %r1; mov.b64 %d1, %rd0;
	mov.b16 %h1, 77; mov.b16 %h2, 3; setp.lt.u32 %p1, %r0, 7; setp.lt.u32 %p2, %r0, 9;
L:
	`+text))
		var malformed *SyntaxError
		if errors.As(err, &malformed) {
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if m.Entry("k").Unsupported == nil {
			supported[f.op] = true
		}
		mem := NewMemory()
		a := mem.Alloc("buf", make([]byte, 256), 256)
		m.Run(t.Context(), "k", mem, []Arg{le64(a)}, Options{Block: [3]int{64, 1, 1}, MaxSteps: 5000, Stats: true})
	}
	if len(supported) < len(families)/2 {
		var l []string
		for op := range supported {
			l = append(l, op)
		}
		sort.Strings(l)
		t.Errorf("only %d families were ever decoded, the test is too weak: %v", len(l), l)
	}
}
