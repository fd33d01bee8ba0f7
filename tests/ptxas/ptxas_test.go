package ptxas

import (
	"reflect"
	"testing"
)

const log = `ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized
ptxas warning : Pragma 'next knob 0x1790' unsupported
ptxas info    : 64 bytes gmem
ptxas info    : Compiling entry function 'gemm' for 'sm_90a'
ptxas info    : Function properties for helper
    16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Function properties for gemm
    8 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 155856 bytes smem
`

func TestReportsAreReadFromTheLog(t *testing.T) {
	r := parse(log)
	want := []Kernel{{Name: "gemm", Registers: 255, Barriers: 1, Shared: 155856, Stack: 8, SpillStores: 12, SpillLoad: 20}}
	if !reflect.DeepEqual(r.Kernels, want) {
		t.Errorf("kernels are %+v, want %+v", r.Kernels, want)
	}
	if len(r.Warnings) != 1 || !Serious(r.Warnings[0]) {
		t.Errorf("warnings are %q, want the one with C7510, which is serious", r.Warnings)
	}
}

func TestThreadsAndTargetAreReadFromTheText(t *testing.T) {
	text := ".version 8.0\n.target sm_90a\n.visible .entry f(\n.param .u64 p\n)\n.reqntid 64, 2, 1\n{\nret;\n}\n.visible .entry g()\n{\nret;\n}\n"
	if n := threads(text, "f"); n != 128 {
		t.Errorf("f has %d threads, want 128", n)
	}
	if n := threads(text, "g"); n != 0 {
		t.Errorf("g has %d threads, want none given", n)
	}
	if s := Target(text); s != "sm_90a" {
		t.Errorf("target is %q", s)
	}
}

func TestHintsAreAdded(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"entry @k(%a: tile<i32>) {", "entry @k(%a: tile<i32>) optimization_hints=<sm_80 = {" + MoreWarps + "}> {"},
		{"entry @k() optimization_hints=<default = {}> {", "entry @k() optimization_hints=<sm_80 = {" + MoreWarps + "}, default = {}> {"},
		{"entry @k() optimization_hints=<sm_80 = {occupancy = 2}> {", "entry @k() optimization_hints=<sm_80 = {" + MoreWarps + ", occupancy = 2}> {"},
		{"  %0 = addi %a, %a : tile<i32>", "  %0 = addi %a, %a : tile<i32>"},
	} {
		if got := WithMoreWarps(c.line, 80); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.line, got, c.want)
		}
	}
}
